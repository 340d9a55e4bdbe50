/* serve/page/page.c: the page to try what is served. */
#include "api/service.h"

#pragma weak page_handler
void page_handler(call *c) {
  c->answer->status = 501;
}
