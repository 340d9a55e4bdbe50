/* serve/page/page.h: the page to try what is served, as cmake/FurrowPage.cmake joins it from page.html, page.css and
 * page.js when the program is built. */
#ifndef SERVE_PAGE_PAGE_H
#define SERVE_PAGE_PAGE_H

#include <stddef.h>

extern const unsigned char page_document[];
extern const size_t page_document_size;
/* Header lines: what the browser lets the page do. Its policy names the script and the style by their SHA-256, so that
 * nothing else runs in it. */
extern const char page_headers[];

#endif
