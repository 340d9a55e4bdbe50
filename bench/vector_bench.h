/* bench/vector_bench.h: what the programs that time an index share, in C and C++: options, vectors, jobs and report.
 *
 *   PROGRAM build BASE.fbin INDEX [--nlist N] [--m M] [--nbits B] [--refine] [--factory TEXT]    trains, adds, saves
 *                 [--seed S] [--ef-construction N]
 *   PROGRAM search INDEX QUERIES.fbin [-k K] [--nprobe P,…] [--k-factor F,…] [--batch B,…] [--answers FILE]
 *
 * and [--threads T] for both. A program gives its engine (vector_engine) to bench_vector_main. One line of JSON for
 * each thing that was timed: "train" and "add"; "load" (from the file to an index that is ready) and one "search" for
 * each nprobe and batch. A batch is how many queries one call gets; all queries are searched in calls of that size, a
 * few first without being timed, then as often as fits into a tenth of a second, at least once; the median pass counts.
 * p50 and p99 are of single calls. --answers gets the ids of the last batch size for each nprobe: [nprobe][query][K].
 */
#ifndef VECTOR_BENCH_H
#define VECTOR_BENCH_H

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench_clock.h"

/* ---- Vectors -------------------------------------------------------------------------------------------- */

typedef struct bench_vectors {
  size_t n, d;
  const float *at;
} bench_vectors;

/* Maps an fbin file for as long as the program runs. */
static inline bool bench_map_vectors(bench_vectors *vectors, const char *path) {
  struct stat info;
  uint32_t head[2] = {0, 0};
  void *map = MAP_FAILED;
  int file = open(path, O_RDONLY);
  if (file >= 0 && fstat(file, &info) == 0 && read(file, head, sizeof head) == (ssize_t)sizeof head &&
      (uint64_t)info.st_size == 8 + (uint64_t)head[0] * head[1] * 4) {
    map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  if (file >= 0) close(file);
  if (map == MAP_FAILED) {
    fprintf(stderr, "%s: not there, or no fbin file\n", path);
    return false;
  }
  vectors->n = head[0];
  vectors->d = head[1];
  vectors->at = (const float *)map + 2;
  return true;
}

/* ---- Options -------------------------------------------------------------------------------------------- */

enum { BENCH_MANY = 16 };

typedef struct vector_options {
  const char *job, *first, *second; /* the files, in the order of the usage */
  const char *answers, *factory;
  uint32_t threads;
  bool refine;
  size_t k, nlist, m, nbits;
  size_t ef_construction; /* 0: the default */
  uint32_t seed;          /* of training; 0: the default */
  size_t nprobes[BENCH_MANY], nprobe_count, batches[BENCH_MANY], batch_count;
  size_t k_factors[BENCH_MANY], k_factor_count;
} vector_options;

/* How one search is done. */
typedef struct vector_setting {
  size_t nprobe, k_factor, batch;
} vector_setting;

/* Numbers separated by commas. */
static inline size_t bench_numbers(const char *text, size_t *numbers) {
  size_t count = 0;
  while (count < BENCH_MANY && *text) {
    char *end;
    numbers[count] = (size_t)strtoull(text, &end, 10);
    if (end == text || numbers[count] == 0 || (*end && *end != ',')) return 0;
    count++;
    text = *end ? end + 1 : end;
  }
  return count;
}

static inline bool bench_vector_options(int argc, char **argv, vector_options *options) {
  static const struct option names[] = {{"threads", required_argument, NULL, 't'},
                                        {"nlist", required_argument, NULL, 'l'},
                                        {"m", required_argument, NULL, 'm'},
                                        {"nbits", required_argument, NULL, 'n'},
                                        {"nprobe", required_argument, NULL, 'p'},
                                        {"batch", required_argument, NULL, 'b'},
                                        {"answers", required_argument, NULL, 'a'},
                                        {"k-factor", required_argument, NULL, 'f'},
                                        {"factory", required_argument, NULL, 'y'},
                                        {"seed", required_argument, NULL, 's'},
                                        {"refine", no_argument, NULL, 'r'},
                                        {"ef-construction", required_argument, NULL, 'e'},
                                        {NULL, 0, NULL, 0}};
  bool good = true;
  int c;
  memset(options, 0, sizeof *options);
  options->threads = 1;
  options->k = 10;
  options->nlist = 1024;
  options->m = 16;
  options->nbits = 8;
  options->nprobe_count = bench_numbers("1,4,16,64", options->nprobes);
  options->batch_count = bench_numbers("1,1000", options->batches);
  options->k_factor_count = bench_numbers("1", options->k_factors);
  while ((c = getopt_long(argc, argv, "k:", names, NULL)) != -1) {
    if (c == 't') options->threads = (uint32_t)atoi(optarg);
    if (c == 'k') options->k = (size_t)atoll(optarg);
    if (c == 'l') options->nlist = (size_t)atoll(optarg);
    if (c == 'm') options->m = (size_t)atoll(optarg);
    if (c == 'n') options->nbits = (size_t)atoll(optarg);
    if (c == 'p') options->nprobe_count = bench_numbers(optarg, options->nprobes);
    if (c == 'b') options->batch_count = bench_numbers(optarg, options->batches);
    if (c == 'a') options->answers = optarg;
    if (c == 'f') options->k_factor_count = bench_numbers(optarg, options->k_factors);
    if (c == 'y') options->factory = optarg;
    if (c == 's') options->seed = (uint32_t)atoll(optarg);
    if (c == 'r') options->refine = true;
    if (c == 'e') options->ef_construction = (size_t)atoll(optarg);
    good = good && c != '?';
  }
  if (!good || optind != argc - 3 || options->k == 0 || options->nprobe_count == 0 || options->batch_count == 0 ||
      options->k_factor_count == 0) {
    fprintf(stderr, "usage: %s build BASE INDEX | search INDEX QUERIES [options]; see bench/vector_bench.h\n", argv[0]);
    return false;
  }
  options->job = argv[optind];
  options->first = argv[optind + 1];
  options->second = argv[optind + 2];
  return true;
}

/* ---- Engines -------------------------------------------------------------------------------------------- */

/* What is measured. Each returns false after saying why on standard error. */
typedef struct vector_engine {
  const char *name;
  bool (*create)(const vector_options *options, size_t d);
  bool (*train)(const vector_options *options, const bench_vectors *base);
  bool (*add)(const vector_options *options, const bench_vectors *base);
  bool (*save)(const char *path);
  bool (*load)(const vector_options *options, const char *path); /* until it is ready to search */
  bool (*search)(const vector_options *options, const vector_setting *setting, const float *queries, size_t n,
                 float *distances, int64_t *ids);
} vector_engine;

static inline void bench_vector_line(const vector_engine *engine, const vector_options *options, const char *job,
                                     double seconds, double cpu_seconds) {
  printf("{\"program\": \"%s\", \"job\": \"%s\", \"threads\": %" PRIu32
         ", \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"rss_mb\": %.1f",
         engine->name, job, options->threads, seconds, cpu_seconds, bench_memory());
}

static inline bool bench_build(const vector_engine *engine, const vector_options *options) {
  bench_vectors base;
  if (!bench_map_vectors(&base, options->first) || !engine->create(options, base.d)) return false;
  float touched = 0; /* into memory, so that no disk is measured */
  for (size_t i = 0; i < base.n * base.d; i += 512) touched += base.at[i];
  bench_clock start = bench_now();
  if (!engine->train(options, &base)) return false;
  bench_clock middle = bench_now();
  if (!engine->add(options, &base)) return false;
  bench_clock end = bench_now();
  bench_vector_line(engine, options, "train", middle.wall - start.wall, middle.cpu - start.cpu);
  printf(", \"sum\": %g}\n", (double)touched);
  bench_vector_line(engine, options, "add", end.wall - middle.wall, end.cpu - middle.cpu);
  printf("}\n");
  return engine->save(options->second);
}

/* ---- Searching ------------------------------------------------------------------------------------------ */

static inline int bench_by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline double bench_at(double *numbers, size_t count, double share) {
  qsort(numbers, count, sizeof *numbers, bench_by_size);
  return numbers[(size_t)((double)(count - 1) * share)];
}

typedef struct bench_searches {
  const vector_engine *engine;
  const vector_options *options;
  bench_vectors queries;
  float *distances; /* n * k */
  int64_t *ids;
  double *calls;   /* seconds of each call of a pass */
  double *pass[3]; /* of each pass: seconds, p50, p99 */
} bench_searches;

enum { BENCH_PASSES = 64 };

static inline bool bench_pass(bench_searches *s, const vector_setting *setting, size_t limit, size_t *calls) {
  const size_t k = s->options->k, d = s->queries.d, batch = setting->batch;
  *calls = 0;
  for (size_t i = 0; i < limit; i += batch) {
    size_t n = limit - i < batch ? limit - i : batch;
    double start = bench_wall();
    if (!s->engine->search(s->options, setting, s->queries.at + i * d, n, s->distances + i * k, s->ids + i * k))
      return false;
    s->calls[(*calls)++] = bench_wall() - start;
  }
  return true;
}

static inline bool bench_one_search(bench_searches *s, const vector_setting *setting) {
  const size_t n = s->queries.n;
  size_t calls = 0, passes = 0;
  if (!bench_pass(s, setting, n < 64 ? n : 64, &calls)) return false;
  bench_clock start = bench_now(), end = start;
  while (passes < BENCH_PASSES && (passes == 0 || end.wall - start.wall < 0.1)) {
    double before = end.wall;
    if (!bench_pass(s, setting, n, &calls)) return false;
    end = bench_now();
    s->pass[0][passes] = end.wall - before;
    s->pass[1][passes] = bench_at(s->calls, calls, 0.5);
    s->pass[2][passes++] = bench_at(s->calls, calls, 0.99);
  }
  double seconds = bench_at(s->pass[0], passes, 0.5), p50 = bench_at(s->pass[1], passes, 0.5);
  bench_vector_line(s->engine, s->options, "search", seconds, (end.cpu - start.cpu) / (double)passes);
  printf(", \"nprobe\": %zu, \"k_factor\": %zu, \"batch\": %zu, \"queries\": %zu, \"passes\": %zu, \"p50_us\": %.2f, "
         "\"p99_us\": %.2f}\n",
         setting->nprobe, setting->k_factor, setting->batch, n, passes, p50 * 1e6,
         bench_at(s->pass[2], passes, 0.5) * 1e6);
  fflush(stdout);
  return true;
}

static inline bool bench_all_searches(bench_searches *s, FILE *answers) {
  const vector_options *o = s->options;
  const size_t count = s->queries.n * o->k;
  for (size_t p = 0; p < o->nprobe_count * o->k_factor_count; p++) {
    vector_setting setting = {o->nprobes[p / o->k_factor_count], o->k_factors[p % o->k_factor_count], 0};
    for (size_t b = 0; b < o->batch_count; b++) {
      setting.batch = o->batches[b];
      if (!bench_one_search(s, &setting)) return false;
    }
    if (answers && fwrite(s->ids, sizeof *s->ids, count, answers) != count) return false;
  }
  return true;
}

static inline bool bench_search(const vector_engine *engine, const vector_options *options) {
  bench_searches s = {engine, options, {0, 0, NULL}, NULL, NULL, NULL, {NULL, NULL, NULL}};
  FILE *answers = NULL;
  if (!bench_map_vectors(&s.queries, options->second)) return false;
  const double before = bench_memory();
  bench_clock start = bench_now();
  bool good = engine->load(options, options->first);
  bench_clock end = bench_now();
  if (!good) return false;
  bench_vector_line(engine, options, "load", end.wall - start.wall, end.cpu - start.cpu);
  printf(", \"grown_mb\": %.1f}\n", bench_memory() - before);
  s.distances = (float *)malloc(s.queries.n * options->k * sizeof *s.distances);
  s.ids = (int64_t *)malloc(s.queries.n * options->k * sizeof *s.ids);
  s.calls = (double *)malloc((s.queries.n + 1) * sizeof *s.calls);
  for (size_t i = 0; i < 3; i++) s.pass[i] = (double *)malloc(BENCH_PASSES * sizeof(double));
  if (options->answers) answers = fopen(options->answers, "wb");
  if (options->answers && !answers) perror(options->answers);
  good = s.distances && s.ids && s.calls && s.pass[0] && s.pass[1] && s.pass[2] && (answers || !options->answers) &&
         bench_all_searches(&s, answers);
  if (answers) good = fclose(answers) == 0 && good;
  free(s.distances);
  free(s.ids);
  free(s.calls);
  for (size_t i = 0; i < 3; i++) free(s.pass[i]);
  return good;
}

static inline int bench_vector_main(const vector_engine *engine, const vector_options *options) {
  if (strcmp(options->job, "build") == 0) return bench_build(engine, options) ? 0 : 1;
  if (strcmp(options->job, "search") == 0) return bench_search(engine, options) ? 0 : 1;
  fprintf(stderr, "no job is called %s\n", options->job);
  return 2;
}

#endif
