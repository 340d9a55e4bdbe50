/* serve/api/request_access.h: who may ask: tokens, the names of the service, pages of other sites.
 *
 * A page of another site may make a browser send requests to the service. Its Origin is not the service's, or (DNS
 * rebinding: a name that was pointed at the service's address) its Host is not. So a request is answered only if its
 * Host is an address, localhost, or a name that the operator has given, and its Origin is its Host, or one that the
 * operator has given. A service with a token needs neither, since the page does not have the token; names that are
 * given are checked nevertheless.
 */
#ifndef SERVE_API_REQUEST_ACCESS_H
#define SERVE_API_REQUEST_ACCESS_H

#include "api/serve_settings.h"
#include "http/http_server.h"

typedef struct request_access {
  char *token;              /* owned; NULL: none is needed */
  bool loopback_only;       /* the address is one of this machine: so must be an address in Host */
  http_text own_name;       /* own name of --listen; empty: it has an address */
  const text_list *hosts;   /* hosts of --allowed-host: NAME or NAME:PORT */
  const text_list *origins; /* origins of --allowed-origin: SCHEME://HOST or SCHEME://HOST:PORT */
  char **headers;           /* headers of each origin: what its pages may read */
} request_access;

/* Takes the token, which may be NULL. The settings must outlive it. Errors: E_MEMORY. */
furrow_status access_init(request_access *access, const serve_values *values, char *token, furrow_error *err);
void access_clear(request_access *access);
/* Checks the head of a request, and adds the headers that the pages of an allowed origin need to its answer. is_open:
 * the route needs no token. Returns false: request->answer is filled in, with 401, 403, or 204 for a browser that asks
 * whether a page may send a request. */
bool access_check(const request_access *access, http_request *request, bool is_open);

#endif
