/* cli/core/progress.c: a line on the terminal that shows the progress of a job. */
#include "core/progress.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const double first_after = 0.5, again_after = 0.2; /* seconds */

double now_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_start(progress *p, bool wanted, const char *what, uint64_t total) {
  *p = (progress){.on = wanted && isatty(STDERR_FILENO), .what = what, .total = total};
  if (p->on) p->began = p->drawn = now_seconds();
}

static int put_time(char *text, size_t size, double seconds) {
  if (seconds < 100) return snprintf(text, size, "%.0f s", ceil(seconds));
  if (seconds < 6000) return snprintf(text, size, "%.0f min", seconds / 60);
  return snprintf(text, size, "%.1f h", seconds / 3600);
}

/* 1234567 as "1.23 M" */
static int put_count(char *text, size_t size, double count) {
  if (count < 1e4) return snprintf(text, size, "%.0f", count);
  if (count < 1e6) return snprintf(text, size, "%.3g k", count * 1e-3);
  if (count < 1e9) return snprintf(text, size, "%.3g M", count * 1e-6);
  return snprintf(text, size, "%.4g G", count * 1e-9);
}

static int put_amount(const progress *p, char *text, size_t size, double done, double rate) {
  char count[32], speed[32];
  if (!p->unit) return snprintf(text, size, "%.0f MB, %.0f MB/s", done * 1e-6, rate * 1e-6);
  put_count(count, sizeof count, done);
  put_count(speed, sizeof speed, rate);
  return snprintf(text, size, "%s %s, %s/s", count, p->unit, speed);
}

void progress_update(progress *p, uint64_t done) {
  if (!p->on) return;
  double now = now_seconds();
  if (now - p->drawn < again_after || now - p->began < first_after) return;
  p->drawn = now;
  double rate = (double)done / (now - p->began);
  char line[160], amount[96], left[32];
  put_amount(p, amount, sizeof amount, (double)done, rate);
  int n = snprintf(line, sizeof line, "%s: %s", p->what, amount);
  if (p->total > 0 && done <= p->total && rate > 0) {
    put_time(left, sizeof left, (double)(p->total - done) / rate);
    n +=
        snprintf(line + n, sizeof line - (size_t)n, ", %.0f%%, %s left", 100.0 * (double)done / (double)p->total, left);
  }
  fprintf(stderr, "\r%-*s", p->shown, line);
  if (n > p->shown) p->shown = n;
}

void progress_stop(progress *p) {
  if (p->on && p->shown) fprintf(stderr, "\r%*s\r", p->shown, "");
  p->on = false;
}
