/* bench/bench_forest.c: how fast trees are grown and rows are scored with them.
 *
 *   bench_forest fit DATA DIR [--threads T] [KEY=VALUE …]
 *   bench_forest score DIR DATA [--threads T] [--repeat N]
 *   bench_forest rows DIR DATA [--repeat N]
 *
 * fit trains gbdt as `furrow train` does and saves the model; its time runs from the moment the rows are in memory to
 * the last tree. score takes the rows in blocks, a part for each thread; rows takes them one by one. One line of JSON:
 * rows, seconds and processor seconds, of fit also those of all rounds, peak memory in MB. */
#include <pthread.h>

#include "learn_bench.h"

typedef struct job {
  const char *what, *data, *model;
  unsigned threads, repeat;
} job;

/* ---- Training ---- */

typedef struct course {
  bench_clock began;
  double rounds; /* seconds of them */
  uint64_t rows;
} course;

static furrow_status take_round(void *user, const furrow_epoch *epoch, furrow_error *err) {
  (void)err;
  course *c = user;
  c->rounds += epoch->seconds;
  c->rows = epoch->train.rows;
  return FURROW_OK;
}

static void fit(const job *j, char **settings, int count) {
  furrow_learn_conf *conf = read_settings("gbdt", settings, count);
  furrow_trainer *trainer = NULL;
  furrow_trainer_params params;
  furrow_trainer_fit_params fit_params;
  furrow_trainer_save_params model;
  course c = {0};
  furrow_trainer_params_init(&params);
  params.threads = j->threads;
  check(furrow_trainer_create(&trainer, conf, &params, &last));
  furrow_trainer_fit_params_init(&fit_params);
  fit_params.parser.threads = j->threads;
  fit_params.epoch = take_round;
  fit_params.progress = start_clock;
  fit_params.user = &c;
  check(furrow_trainer_fit(trainer, j->data, NULL, &fit_params, &last));
  const bench_clock ended = bench_now();
  furrow_trainer_save_params_init(&model);
  model.write.overwrite = true;
  check(furrow_trainer_save(trainer, j->model, &model, &last));
  printf("{\"rows\":%llu,\"seconds\":%.6f,\"cpu\":%.6f,\"rounds\":%.6f,\"peak_mb\":%.1f}\n", (unsigned long long)c.rows,
         ended.wall - c.began.wall, ended.cpu - c.began.cpu, c.rounds, bench_peak_memory());
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
}

/* ---- Scoring ---- */

enum { BLOCK_ROWS = 4096, MOST_THREADS = 64 };

typedef struct part {
  const furrow_scorer *scorer;
  const furrow_rowblock *rows;
  size_t begin, end;
  bool one_by_one;
  furrow_score *scores;
  furrow_error error;
  furrow_status status;
} part;

static furrow_status score_block(part *p, furrow_scorer_scratch *space, size_t begin, size_t end) {
  furrow_rowblock slice;
  furrow_status status = furrow_rowblock_slice(p->rows, begin, end, &slice, &p->error);
  if (status != FURROW_OK) return status;
  return furrow_scorer_score_block(p->scorer, space, &slice, p->scores + begin, &p->error);
}

static void *score_part(void *context) {
  part *p = context;
  furrow_scorer_scratch *space = NULL;
  p->status = furrow_scorer_scratch_create(&space, p->scorer, &p->error);
  for (size_t i = p->begin; p->status == FURROW_OK && p->one_by_one && i < p->end; i++) {
    const furrow_row row = furrow_rowblock_row(p->rows, i);
    p->status = furrow_scorer_score_row(p->scorer, space, &row, &p->scores[i], &p->error);
  }
  for (size_t i = p->begin; p->status == FURROW_OK && !p->one_by_one && i < p->end; i += BLOCK_ROWS)
    p->status = score_block(p, space, i, p->end - i < BLOCK_ROWS ? p->end : i + BLOCK_ROWS);
  furrow_scorer_scratch_free(space);
  return NULL;
}

static void score_all(const job *j, const furrow_scorer *scorer, const furrow_rowblock *rows, furrow_score *scores) {
  pthread_t threads[MOST_THREADS];
  part parts[MOST_THREADS];
  const unsigned count = j->threads < MOST_THREADS ? j->threads : MOST_THREADS;
  for (unsigned t = 0; t < count; t++) {
    parts[t] = (part){.scorer = scorer, .rows = rows, .scores = scores};
    parts[t].one_by_one = strcmp(j->what, "rows") == 0;
    parts[t].begin = rows->size * t / count;
    parts[t].end = rows->size * (t + 1) / count;
    if (pthread_create(&threads[t], NULL, score_part, &parts[t]) != 0) exit(1);
  }
  for (unsigned t = 0; t < count; t++) {
    pthread_join(threads[t], NULL);
    last = parts[t].error;
    check(parts[t].status);
  }
}

static void score(const job *j) {
  furrow_scorer *scorer = NULL;
  furrow_rowblock rows;
  check(furrow_scorer_load(&scorer, j->model, NULL, &last));
  furrow_container *container = read_rows(scorer, j->data);
  check(furrow_container_get_block(container, &rows, &last));
  furrow_score *scores = calloc(rows.size + 1, sizeof *scores);
  if (!scores) exit(1);
  double wall = 0, cpu = 0, sum = 0;
  for (unsigned r = 0; r < j->repeat; r++) {
    const bench_clock began = bench_now();
    score_all(j, scorer, &rows, scores);
    const bench_clock ended = bench_now();
    if (r == 0 || ended.wall - began.wall < wall) wall = ended.wall - began.wall;
    if (r == 0 || ended.cpu - began.cpu < cpu) cpu = ended.cpu - began.cpu;
  }
  for (size_t i = 0; i < rows.size; i++) sum += scores[i].pred;
  printf("{\"rows\":%zu,\"seconds\":%.6f,\"cpu\":%.6f,\"sum\":%.9g,\"peak_mb\":%.1f}\n", rows.size, wall, cpu, sum,
         bench_peak_memory());
  free(scores);
  furrow_container_free(container);
  furrow_scorer_free(scorer);
}

/* ---- Arguments ---- */

static bool read_arguments(job *j, int argc, char **argv, char **settings, int *count) {
  *j = (job){.threads = 1, .repeat = 3};
  if (argc < 4) return false;
  j->what = argv[1];
  const bool fits = strcmp(j->what, "fit") == 0;
  j->data = argv[fits ? 2 : 3];
  j->model = argv[fits ? 3 : 2];
  for (int i = 4; i < argc; i++) {
    if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      j->threads = (unsigned)atoi(argv[++i]);
    else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
      j->repeat = (unsigned)atoi(argv[++i]);
    else if (strchr(argv[i], '='))
      settings[(*count)++] = argv[i];
    else
      return false;
  }
  return j->threads > 0 && (fits || strcmp(j->what, "score") == 0 || strcmp(j->what, "rows") == 0);
}

int main(int argc, char **argv) {
  job j;
  int count = 0;
  char **settings = calloc((size_t)argc + 1, sizeof *settings);
  if (!settings || !read_arguments(&j, argc, argv, settings, &count)) {
    fprintf(stderr, "usage: bench_forest fit DATA DIR [--threads T] [KEY=VALUE …] | score|rows DIR DATA [options]\n");
    return 2;
  }
  if (strcmp(j.what, "fit") == 0)
    fit(&j, settings, count);
  else
    score(&j);
  free(settings);
  return 0;
}
