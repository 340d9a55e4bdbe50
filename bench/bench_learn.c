/* bench/bench_learn.c: how fast models are trained and rows are scored.
 *
 *   bench_learn fit ALGORITHM DATA [--threads T] [--stream] [--epochs N] [--out DIR] [KEY=VALUE …]
 *   bench_learn score DIR DATA [--repeat N]
 *
 * fit trains as `furrow train` does; --stream reads the text anew in each epoch, so that parsing counts. score takes
 * the rows of the data one by one. One line of JSON: rows, seconds and processor seconds of an epoch (of scoring: of
 * all rows), peak memory in MB. */
#include "learn_bench.h"

typedef struct job {
  const char *what, *model, *data, *out;
  unsigned threads, epochs, repeat;
  bool stream;
} job;

/* ---- Training ---- */

typedef struct course {
  bench_clock began;
  bool whole;       /* also the first epoch is timed from its beginning */
  double wall, cpu; /* of the fastest epoch */
  uint64_t rows;
} course;

static furrow_status take_epoch(void *user, const furrow_epoch *epoch, furrow_error *err) {
  (void)err;
  course *c = user;
  const bench_clock now = bench_now();
  const double wall = now.wall - c->began.wall, cpu = now.cpu - c->began.cpu;
  const bool whole = c->whole || epoch->epoch > 1; /* the clock of the first one starts when it has begun */
  if (whole && (c->wall == 0 || wall < c->wall)) c->wall = wall;
  if (whole && (c->cpu == 0 || cpu < c->cpu)) c->cpu = cpu;
  c->rows = epoch->train.rows;
  c->began = now;
  return FURROW_OK;
}

static void fit(const job *j, char **settings, int count) {
  furrow_learn_conf *conf = read_settings(j->model, settings, count);
  furrow_trainer *trainer = NULL;
  furrow_trainer_params params;
  furrow_trainer_fit_params course_params;
  course c = {0};
  char epochs[16];
  snprintf(epochs, sizeof epochs, "%u", j->epochs);
  check(furrow_learn_conf_set(conf, "epochs", epochs, &last));
  furrow_trainer_params_init(&params);
  params.threads = j->threads;
  check(furrow_trainer_create(&trainer, conf, &params, &last));
  furrow_trainer_fit_params_init(&course_params);
  course_params.parser.threads = j->threads;
  course_params.stream = j->stream;
  course_params.epoch = take_epoch;
  course_params.progress = j->stream ? NULL : start_clock;
  course_params.user = &c;
  c.whole = j->stream;
  if (j->stream) c.began = bench_now();
  check(furrow_trainer_fit(trainer, j->data, NULL, &course_params, &last));
  if (j->out) {
    furrow_trainer_save_params model;
    furrow_trainer_save_params_init(&model);
    model.write.overwrite = true;
    check(furrow_trainer_save(trainer, j->out, &model, &last));
  }
  printf("{\"rows\":%llu,\"seconds\":%.6f,\"cpu\":%.6f,\"peak_mb\":%.1f}\n", (unsigned long long)c.rows, c.wall, c.cpu,
         bench_peak_memory());
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
}

/* ---- Scoring ---- */

static void score(const job *j) {
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *space = NULL;
  furrow_rowblock block;
  check(furrow_scorer_load(&scorer, j->model, NULL, &last));
  check(furrow_scorer_scratch_create(&space, scorer, &last));
  furrow_container *container = read_rows(scorer, j->data);
  check(furrow_container_get_block(container, &block, &last));
  double best = 0, cpu = 0, sum = 0;
  for (unsigned r = 0; r < j->repeat; r++) {
    const bench_clock began = bench_now();
    for (size_t i = 0; i < block.size; i++) {
      const furrow_row row = furrow_rowblock_row(&block, i);
      furrow_score s;
      check(furrow_scorer_score_row(scorer, space, &row, &s, &last));
      sum += s.pred;
    }
    const bench_clock ended = bench_now();
    if (r == 0 || ended.wall - began.wall < best) best = ended.wall - began.wall;
    if (r == 0 || ended.cpu - began.cpu < cpu) cpu = ended.cpu - began.cpu;
  }
  printf("{\"rows\":%zu,\"seconds\":%.6f,\"cpu\":%.6f,\"sum\":%.6g,\"peak_mb\":%.1f}\n", block.size, best, cpu, sum,
         bench_peak_memory());
  furrow_container_free(container);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
}

/* ---- Arguments ---- */

static bool read_arguments(job *j, int argc, char **argv, char **settings, int *count) {
  *j = (job){.threads = 1, .epochs = 3, .repeat = 5};
  if (argc < 4) return false;
  j->what = argv[1];
  j->model = argv[2];
  j->data = argv[3];
  for (int i = 4; i < argc; i++) {
    if (strcmp(argv[i], "--stream") == 0)
      j->stream = true;
    else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      j->threads = (unsigned)atoi(argv[++i]);
    else if (strcmp(argv[i], "--epochs") == 0 && i + 1 < argc)
      j->epochs = (unsigned)atoi(argv[++i]);
    else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
      j->repeat = (unsigned)atoi(argv[++i]);
    else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc)
      j->out = argv[++i];
    else if (strchr(argv[i], '='))
      settings[(*count)++] = argv[i];
    else
      return false;
  }
  return strcmp(j->what, "fit") == 0 || strcmp(j->what, "score") == 0;
}

int main(int argc, char **argv) {
  job j;
  int count = 0;
  char **settings = calloc((size_t)argc + 1, sizeof *settings);
  if (!settings || !read_arguments(&j, argc, argv, settings, &count)) {
    fprintf(stderr, "usage: bench_learn fit ALGORITHM DATA [options] [KEY=VALUE …] | score DIR DATA [--repeat N]\n");
    return 2;
  }
  if (strcmp(j.what, "fit") == 0)
    fit(&j, settings, count);
  else
    score(&j);
  free(settings);
  return 0;
}
