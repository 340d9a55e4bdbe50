/* bench/bench_model.c: how fast matrix folders are read and written.
 *
 *   bench_model make FORMAT FOLDER [ELEMENTS [SEED]]   writes a matrix of normal floats; the same arguments, the same
 * bytes bench_model JOB FOLDER [--threads T] [--repeat N] [--to FORMAT] [--target PATH]
 *
 *   visit    every element, in panels                      load     into memory
 *   save     from memory to --target, as it was            convert  to --target in format --to
 *   export   to --target, fbin                             verify   everything
 *   statistics                                             mean, deviation …
 *   strtod   (a peer) files read whole, every number of them by strtol and strtof
 *   bytes    (a peer) files read in pieces, words added up: no program that looks at all bytes is faster
 *
 * One line of JSON per timed pass. MB are 10^6 bytes of data files: those that are read, or for save those written. */
#include <furrow/furrow.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "rows_bench.h"

typedef struct bench_job {
  const char *job, *folder, *to, *target;
  unsigned threads, repeat;
} bench_job;

static furrow_error last;

static void check(furrow_status status) {
  char text[512];
  if (status == FURROW_OK) return;
  furrow_error_to_text(&last, text, sizeof text);
  fprintf(stderr, "bench_model: %s\n", text);
  exit(1);
}

static void *must_alloc(size_t bytes) {
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory) exit(1);
  return memory;
}

/* ---- Data ---- */

/* Column formats get the shape of an embedding with 8 factors, others that of weights: one row. */
static void make(const char *name, const char *folder, size_t elements, uint64_t seed) {
  const furrow_matrix_format *format = NULL;
  check(furrow_matrix_format_find(name, &format, &last));
  const bool by_column = format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN,
             sparse = format->flags & FURROW_MATRIX_FORMAT_COL_IDS;
  static const int32_t ids[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const size_t rows = by_column ? 8 : 1, cols = elements / rows;
  float *values = must_alloc(rows * cols * sizeof *values);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows * cols; i++) values[i] = (float)(0.1 * fw_rng_normal(&rng));
  const furrow_panel panel = {
      .rows = rows, .row_ids = ids, .cols = cols, .type = FURROW_ELEMENT_F32, .values = {.f32 = values}};
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  spec.name = "bench";
  spec.format = name;
  spec.row_type = sparse && !by_column ? 10 : 7; /* T_FLOAT_SPARSE, T_FLOAT_DENSE */
  spec.rows = (int32_t)rows;
  spec.cols = (int64_t)cols;
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *plan = NULL;
  furrow_matrix_write_params write;
  furrow_matrix_write_params_init(&write);
  write.overwrite = true;
  check(furrow_matrix_create(&matrix, &panel, 1, &last));
  check(furrow_matrix_plan(&plan, &spec, &last));
  check(furrow_matrix_save(matrix, folder, plan, &write, &last));
  furrow_matrix_meta_free(plan);
  furrow_matrix_free(matrix);
  free(values);
}

/* ---- Jobs; each returns what it found, so that passes and programs can be compared ---- */

typedef struct found {
  uint64_t elements;
  double sum;
} found;

typedef struct part_sums {
  double *sums; /* by partition */
  uint64_t *counts;
} part_sums;

static furrow_status add_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  part_sums *s = user;
  (void)err;
  const size_t n = panel->rows * panel->cols;
  s->counts[part] += n;
  if (panel->type == FURROW_ELEMENT_F32) s->sums[part] += bench_sum_f32(panel->values.f32, n);
  return FURROW_OK;
}

static found visit(const bench_job *job, const furrow_matrix_source *source) {
  const size_t parts = furrow_matrix_source_meta(source)->part_count;
  part_sums s = {calloc(parts + 1, sizeof(double)), calloc(parts + 1, sizeof(uint64_t))};
  if (!s.sums || !s.counts) exit(1);
  furrow_matrix_scan_params scan;
  furrow_matrix_scan_params_init(&scan);
  scan.threads = job->threads;
  check(furrow_matrix_for_each_panel(source, &scan, add_panel, &s, &last));
  found f = {0};
  for (size_t p = 0; p < parts; p++) {
    f.sum += s.sums[p];
    f.elements += s.counts[p];
  }
  free(s.sums);
  free(s.counts);
  return f;
}

static furrow_matrix *load(const bench_job *job, const furrow_matrix_source *source) {
  furrow_matrix_load_params params;
  furrow_matrix *matrix = NULL;
  furrow_matrix_load_params_init(&params);
  params.threads = job->threads;
  check(furrow_matrix_load_source(&matrix, source, &params, &last));
  return matrix;
}

static void save(const bench_job *job, const furrow_matrix_source *source, const furrow_matrix *matrix) {
  furrow_matrix_write_params params;
  furrow_matrix_write_params_init(&params);
  params.threads = job->threads;
  params.overwrite = true;
  check(furrow_matrix_save(matrix, job->target, furrow_matrix_source_meta(source), &params, &last));
}

static found convert(const bench_job *job) {
  furrow_model_convert_params params;
  furrow_model_convert_result result;
  furrow_matrix_write_params write;
  furrow_matrix_write_params_init(&write);
  write.threads = job->threads;
  write.overwrite = true;
  furrow_model_convert_params_init(&params);
  furrow_model_convert_result_init(&result);
  params.format = job->to;
  params.write = &write;
  check(furrow_model_convert(job->folder, job->target, &params, &result, &last));
  return (found){result.elements, 0};
}

static found export_fbin(const bench_job *job) {
  furrow_model_export_params params;
  furrow_model_export_result result;
  furrow_model_export_result_init(&result);
  furrow_model_export_params_init(&params);
  params.format = FURROW_EXCHANGE_FBIN;
  params.ids = "";
  params.threads = job->threads;
  params.overwrite = true;
  check(furrow_model_export(job->folder, job->target, &params, &result, &last));
  return (found){result.elements, 0};
}

/* ---- Peers ---- */

/* A data file, whole, with a 0 behind it. */
static char *read_whole(const char *folder, const char *name, size_t *size) {
  char path[4096];
  struct stat info;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file || fstat(fileno(file), &info) != 0) exit(1);
  char *bytes = must_alloc((size_t)info.st_size + 1);
  *size = fread(bytes, 1, (size_t)info.st_size, file);
  bytes[*size] = 0;
  fclose(file);
  return bytes;
}

/* key,key,value[,value…] as a C programmer would read it. */
static void read_numbers(const char *text, int keys, found *f) {
  char *p = (char *)text;
  while (*p) {
    for (int k = 0; k < keys; k++) p = (strtol(p, &p, 10), p + 1);
    for (;;) {
      f->sum += (double)strtof(p, &p);
      f->elements++;
      if (*p++ == '\n') break;
    }
  }
}

/* A file in pieces that stay in the cache, as words. */
static uint64_t add_words(const char *folder, const char *name) {
  static uint64_t words[1 << 15];
  char path[4096];
  uint64_t sum = 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int fd = open(path, O_RDONLY);
  for (ssize_t n; fd >= 0 && (n = read(fd, words, sizeof words)) > 0;)
    for (size_t i = 0; i < (size_t)n / sizeof *words; i++) sum += words[i];
  if (fd >= 0) close(fd);
  return sum;
}

static found peer(const bench_job *job, const furrow_matrix_source *source) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  const unsigned flags = furrow_matrix_source_format(source)->flags;
  const int keys = !!(flags & FURROW_MATRIX_FORMAT_COL_IDS) + !!(flags & FURROW_MATRIX_FORMAT_ROW_IDS);
  const bool numbers = strcmp(job->job, "strtod") == 0;
  found f = {0};
  for (size_t p = 0; p < meta->part_count; p++) {
    if (meta->parts[p].offset > 0) continue; /* each file once, at its first partition */
    if (!numbers) {
      f.elements += add_words(job->folder, meta->parts[p].file_name);
      continue;
    }
    size_t size;
    char *bytes = read_whole(job->folder, meta->parts[p].file_name, &size);
    read_numbers(bytes, keys, &f);
    free(bytes);
  }
  return f;
}

/* ---- Passes ---- */

static uint64_t bytes_of(const furrow_matrix_source *source) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  uint64_t n = 0;
  for (size_t p = 0; p < meta->part_count; p++) n += (uint64_t)meta->parts[p].length;
  return n;
}

static found run_job(const bench_job *job, const furrow_matrix_source *source, const furrow_matrix *matrix) {
  found f = {0};
  if (strcmp(job->job, "visit") == 0) {
    f = visit(job, source);
  } else if (strcmp(job->job, "load") == 0) {
    furrow_matrix *loaded = load(job, source);
    f.elements = furrow_matrix_count(loaded);
    furrow_matrix_free(loaded);
  } else if (strcmp(job->job, "save") == 0) {
    save(job, source, matrix);
    f.elements = furrow_matrix_count(matrix);
  } else if (strcmp(job->job, "convert") == 0) {
    f = convert(job);
  } else if (strcmp(job->job, "export") == 0) {
    f = export_fbin(job);
  } else if (strcmp(job->job, "verify") == 0) {
    furrow_matrix_verify_params params;
    furrow_matrix_verify_params_init(&params);
    params.threads = job->threads;
    check(furrow_matrix_verify(job->folder, &params, &last));
  } else if (strcmp(job->job, "statistics") == 0) {
    furrow_matrix_stats stats;
    furrow_matrix_stats_params params;
    furrow_matrix_stats_init(&stats);
    furrow_matrix_stats_params_init(&params);
    params.threads = job->threads;
    check(furrow_matrix_compute_stats(source, &params, &stats, &last));
    f.elements = stats.elements;
  } else {
    f = peer(job, source);
  }
  return f;
}

static void run_passes(const bench_job *job) {
  furrow_matrix_source *source = NULL;
  check(furrow_matrix_source_open(&source, job->folder, NULL, &last));
  furrow_matrix *matrix = strcmp(job->job, "save") == 0 ? load(job, source) : NULL;
  const uint64_t bytes = bytes_of(source);
  for (unsigned pass = 0; pass < job->repeat; pass++) {
    const bench_clock start = bench_now();
    const found f = run_job(job, source, matrix);
    const bench_clock end = bench_now();
    printf("{\"job\": \"%s\", \"threads\": %u, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"bytes\": %" PRIu64
           ", \"mb_per_s\": %.1f, \"elements\": %" PRIu64 ", \"sum\": %.9g, \"peak_rss_mb\": %.1f}\n",
           job->job, job->threads, end.wall - start.wall, end.cpu - start.cpu, bytes,
           (double)bytes / (end.wall - start.wall) / 1e6, f.elements, f.sum, bench_peak_memory());
    fflush(stdout);
  }
  furrow_matrix_free(matrix);
  furrow_matrix_source_close(source);
}

static int usage(void) {
  fputs("usage: bench_model make FORMAT FOLDER [ELEMENTS [SEED]]\n"
        "       bench_model JOB FOLDER [--threads T] [--repeat N] [--to FORMAT] [--target PATH]\n",
        stderr);
  return 2;
}

static bool parse(int argc, char **argv, bench_job *job) {
  static const struct option names[] = {{"threads", required_argument, NULL, 't'},
                                        {"repeat", required_argument, NULL, 'r'},
                                        {"to", required_argument, NULL, 'f'},
                                        {"target", required_argument, NULL, 'o'},
                                        {NULL, 0, NULL, 0}};
  int c;
  while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
    if (c == 't') job->threads = (unsigned)atoi(optarg);
    if (c == 'r') job->repeat = (unsigned)atoi(optarg);
    if (c == 'f') job->to = optarg;
    if (c == 'o') job->target = optarg;
    if (c == '?') return false;
  }
  if (optind != argc - 2) return false;
  job->job = argv[optind];
  job->folder = argv[optind + 1];
  return true;
}

int main(int argc, char **argv) {
  bench_job job = {.threads = 1, .repeat = 1};
  if (argc > 3 && strcmp(argv[1], "make") == 0) {
    make(argv[2], argv[3], argc > 4 ? strtoull(argv[4], NULL, 10) : 10000000,
         argc > 5 ? strtoull(argv[5], NULL, 10) : 1);
    return 0;
  }
  if (!parse(argc, argv, &job)) return usage();
  run_passes(&job);
  return 0;
}
