/* bench/bench_clock.h: what benchmarks in C and C++ measure with: time and memory of this process. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct bench_clock {
  double wall, cpu; /* seconds; cpu: of all threads, user and system */
} bench_clock;

static inline double bench_wall(void) {
  struct timespec wall;
  clock_gettime(CLOCK_MONOTONIC, &wall);
  return (double)wall.tv_sec + (double)wall.tv_nsec * 1e-9;
}

static inline bench_clock bench_now(void) {
  struct rusage used;
  bench_clock now;
  now.wall = bench_wall();
  getrusage(RUSAGE_SELF, &used);
  now.cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
            (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
  return now;
}

/* A line of /proc/self/status in MB, or `otherwise` KB where there is none. */
static inline double bench_status_line(const char *name, long otherwise) {
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) otherwise = atol(line + strlen(name));
  }
  if (status != NULL) fclose(status);
  return (double)otherwise * 1024 / 1e6;
}

/* Linux keeps ru_maxrss over exec, so that a small program would report what started it; VmHWM is its own. */
static inline double bench_peak_memory(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return bench_status_line("VmHWM:", used.ru_maxrss);
}

/* Of now, mapped files as far as they are resident. */
static inline double bench_memory(void) {
  return bench_status_line("VmRSS:", 0);
}

#endif
