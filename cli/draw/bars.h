/* cli/draw/bars.h: bars with names as a picture (SVG), readable on light and on dark ground. */
#ifndef CLI_DRAW_BARS_H
#define CLI_DRAW_BARS_H

#include <stdbool.h>

#include "furrow/status.h"

typedef struct bar {
  char name[48];
  double value; /* 0 or more */
} bar;

furrow_status bars_write(const char *path, const char *title, const char *note, const bar *bars, size_t count,
                         bool force, furrow_error *err);

#endif
