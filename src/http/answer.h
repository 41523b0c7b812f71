/* Status lines of answers, and the end of a request. Private to http/. */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include "http/http.h"

/* "HTTP/1.1 200 OK\r\n"; the status must be one of the table's. */
struct str http_status_line(int status);
/* Frees a request, wherever it came from. */
void http_request_free(struct http_request *request);

#endif
