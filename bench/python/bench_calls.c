/* bench/python/bench_calls.c: the calls that bench_calls_peers.py makes from Python, in a loop of C.
 *
 *   bench_calls search INDEX QUERIES K    QUERIES: d floats for each query, nothing else
 *   bench_calls score MODEL ROW           ROW: a float for each feature
 *
 * Each line of the standard input is a job, "NPROBE BATCH CALLS" (of scores the first two are ignored). The answer is
 * a line: seconds of the clock, seconds of the processor, a sum of the results. So the caller can take turns with a
 * process that has everything loaded. */
#include <furrow/furrow.h>

#include "bench_clock.h"

static furrow_error err;

static void check(furrow_status status) {
  char text[512];
  if (status == FURROW_OK) return;
  furrow_error_to_text(&err, text, sizeof text);
  fprintf(stderr, "%s\n", text);
  exit(1);
}

static float *read_floats(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) exit(2);
  *count = (size_t)ftell(file) / sizeof(float);
  rewind(file);
  float *floats = malloc(*count * sizeof *floats + 1);
  if (!floats || fread(floats, sizeof *floats, *count, file) != *count) exit(2);
  fclose(file);
  return floats;
}

typedef struct job {
  unsigned long nprobe, batch, calls;
} job;

typedef double (*run_job)(void *user, const job *todo);

static void answer_jobs(run_job run, void *user) {
  char line[128];
  while (fgets(line, sizeof line, stdin)) {
    job todo;
    if (sscanf(line, "%lu %lu %lu", &todo.nprobe, &todo.batch, &todo.calls) != 3) exit(2);
    const bench_clock began = bench_now();
    const double sum = run(user, &todo);
    const bench_clock ended = bench_now();
    printf("%.9f %.9f %.17g\n", ended.wall - began.wall, ended.cpu - began.cpu, sum);
    fflush(stdout);
  }
}

/* ---- Searching ------------------------------------------------------------------------------------------- */

typedef struct search {
  furrow_searcher *searcher;
  float *queries, *distances;
  int64_t *ids;
  size_t d, count, k;
} search;

static double run_search(void *user, const job *todo) {
  search *self = user;
  double sum = 0;
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.nprobe = todo->nprobe;
  params.threads = 1;
  if (todo->batch == 0 || todo->batch > self->count) exit(2);
  const size_t groups = self->count / todo->batch;
  for (size_t i = 0; i < todo->calls; i++) {
    const float *queries = self->queries + i % groups * todo->batch * self->d;
    check(furrow_searcher_search(self->searcher, queries, todo->batch, self->k, &params, self->distances, self->ids,
                                 &err));
    sum += (double)self->ids[0];
  }
  return sum;
}

static void bench_search(char **argv) {
  search self = {.k = strtoul(argv[4], NULL, 10)};
  furrow_index *index = NULL;
  furrow_index_info info;
  furrow_index_info_init(&info);
  check(furrow_index_load(&index, argv[2], NULL, &err));
  furrow_index_get_info(index, &info);
  check(furrow_searcher_create(&self.searcher, index, NULL, &err));
  self.d = (size_t)info.d;
  self.queries = read_floats(argv[3], &self.count);
  self.count /= self.d;
  self.distances = malloc(self.count * self.k * sizeof *self.distances);
  self.ids = malloc(self.count * self.k * sizeof *self.ids);
  if (!self.distances || !self.ids) exit(2);
  answer_jobs(run_search, &self);
  free(self.ids);
  free(self.distances);
  free(self.queries);
  furrow_searcher_free(self.searcher);
  furrow_index_free(index);
}

/* ---- Scoring --------------------------------------------------------------------------------------------- */

typedef struct scoring {
  furrow_scorer *scorer;
  furrow_scorer_scratch *scratch;
  furrow_row row;
} scoring;

static double run_score(void *user, const job *todo) {
  scoring *self = user;
  furrow_score score = {0};
  double sum = 0;
  for (size_t i = 0; i < todo->calls; i++) {
    check(furrow_scorer_score_row(self->scorer, self->scratch, &self->row, &score, &err));
    sum += score.label;
  }
  return sum;
}

static void bench_score(char **argv) {
  scoring self = {0};
  float *values = read_floats(argv[3], &self.row.length);
  uint32_t *indices = malloc(self.row.length * sizeof *indices + 1);
  if (!indices) exit(2);
  for (size_t i = 0; i < self.row.length; i++) indices[i] = (uint32_t)i;
  self.row.index.u32 = indices;
  self.row.value.f32 = values;
  check(furrow_scorer_load(&self.scorer, argv[2], NULL, &err));
  check(furrow_scorer_scratch_create(&self.scratch, self.scorer, &err));
  answer_jobs(run_score, &self);
  furrow_scorer_scratch_free(self.scratch);
  furrow_scorer_free(self.scorer);
  free(indices);
  free(values);
}

int main(int argc, char **argv) {
  if (argc == 5 && strcmp(argv[1], "search") == 0)
    bench_search(argv);
  else if (argc == 4 && strcmp(argv[1], "score") == 0)
    bench_score(argv);
  else
    return fprintf(stderr, "usage: bench_calls search INDEX QUERIES K | score MODEL ROW\n"), 2;
  return 0;
}
