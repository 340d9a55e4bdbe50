/* cli/draw/html_page.h: an HTML page in one file, readable on phones, with light and dark colours, without a network.
 */
#ifndef CLI_DRAW_HTML_PAGE_H
#define CLI_DRAW_HTML_PAGE_H

#include "draw/chart.h"

void page_begin(FILE *out, const char *title);
void page_end(FILE *out);

void page_section(FILE *out, const char *id, const char *title);
void page_section_end(FILE *out);

/* Starts a figure with a title; drawing and caption follow up to page_figure_end. wide: as wide as the page. */
void page_figure(FILE *out, const char *title, bool wide);
void page_figure_end(FILE *out);
/* Prints the legend; curves without a name are left out. */
void page_key(FILE *out, const chart *c);
/* A whole figure: title, key, chart, caption (plain HTML). */
void page_chart(FILE *out, const chart *c, const char *caption);

/* Numbers for people: 2,000,000; 62.5 MB; 3.2 µs. */
enum { PAGE_NUMBER = 32 };
const char *page_count(char text[PAGE_NUMBER], double value);
const char *page_bytes(char text[PAGE_NUMBER], double bytes);
const char *page_seconds(char text[PAGE_NUMBER], double seconds);

#endif
