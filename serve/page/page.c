/* serve/page/page.c: the page to try what is served. */
#include "page/page.h"

#include "api/service.h"

void page_handler(call *c) {
  c->answer->type = "text/html; charset=utf-8";
  c->answer->fixed = page_document;
  c->answer->fixed_size = page_document_size;
  c->answer->headers = page_headers;
}
