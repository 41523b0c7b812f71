/* Local variables that the compiler does not set to zero. */
#ifndef BASE_LOCAL_H
#define BASE_LOCAL_H

/* For a large buffer on the way of every request, which is written before it is read: the compiler is told to zero
 * locals (CMakeLists.txt), and that takes longer than what is done with such a buffer. */
#define NOT_ZEROED __attribute__((uninitialized))

#endif
