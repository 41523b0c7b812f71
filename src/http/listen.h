/* Where the server listens. Private to http/. */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

struct http_server;

void http_listeners_close(struct http_server *server);
/* Accepts connections that had to wait, as far as there is room now. */
void http_listeners_resume(struct http_server *server);

#endif
