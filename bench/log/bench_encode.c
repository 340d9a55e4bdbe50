/* bench/log/bench_encode.c: times what Furrow does with a raw log.
 *
 *   bench_encode JOB LOG [--schema FILE] [--encoder DIR] [--threads T] [--repeat N]
 *
 *   read         the text is cut into cells, nothing else
 *   propose      furrow_schema_propose
 *   hash         rows in memory, through the encoder that was made of the schema before
 *   dictionary   both passes: the dictionary is learned and saved to DIR, then rows in memory
 *
 * A first pass, not timed, digests the rows, so that runs can be compared byte by byte. One line of JSON for each timed
 * pass; MB are 10^6 bytes of the log.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "bench_clock.h"
#include "furrow/table.h"
#include "rows/table/text_table.h"

typedef struct options {
  const char *job, *log, *schema, *encoder;
  uint32_t threads, repeat;
} options;

typedef struct found {
  uint64_t rows, features, digest;
  double learn; /* seconds of processor time of the first of two passes */
} found;

static bool read_options(options *o, int argc, char **argv) {
  static const struct option names[] = {{"schema", required_argument, NULL, 's'},
                                        {"encoder", required_argument, NULL, 'e'},
                                        {"threads", required_argument, NULL, 't'},
                                        {"repeat", required_argument, NULL, 'r'},
                                        {NULL, 0, NULL, 0}};
  bool good = true;
  int c;
  *o = (options){.threads = 1, .repeat = 1};
  while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
    if (c == 's') o->schema = optarg;
    if (c == 'e') o->encoder = optarg;
    if (c == 't') o->threads = (uint32_t)atoi(optarg);
    if (c == 'r') o->repeat = (uint32_t)atoi(optarg);
    good = good && c != '?';
  }
  if (good && optind == argc - 2) {
    o->job = argv[optind];
    o->log = argv[optind + 1];
    const bool rows = strcmp(o->job, "hash") == 0 || strcmp(o->job, "dictionary") == 0;
    if (rows ? o->schema && o->encoder : strcmp(o->job, "read") == 0 || strcmp(o->job, "propose") == 0) return true;
  }
  fprintf(stderr, "usage: bench_encode read|propose|hash|dictionary LOG [--schema FILE] [--encoder DIR] [--threads T] "
                  "[--repeat N]\n");
  return false;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status count_cells(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                 furrow_error *err) {
  found *f = user;
  (void)piece, (void)cursor, (void)err;
  f->rows += batch->records;
  return FURROW_OK;
}

static furrow_status read_cells(const options *o, found *f, furrow_error *err) {
  enum { MOST_THREADS = 64 };
  found each[MOST_THREADS] = {0};
  void *users[MOST_THREADS];
  fw_table_source *source = NULL;
  fw_table *table = NULL;
  const fw_table_scan_params params = {.threads = o->threads};
  for (size_t i = 0; i < MOST_THREADS; i++) users[i] = &each[i];
  furrow_status status = fw_table_source_open(&source, o->log, err);
  if (status == FURROW_OK) {
    const fw_table_layout *layout = fw_table_source_layout(source);
    status = fw_table_create(&table, layout, (const char *const *)layout->names, layout->columns, NULL, err);
    f->features = layout->columns;
  }
  if (status == FURROW_OK) status = fw_table_scan(source, table, &params, users, count_cells, NULL, err);
  for (size_t i = 0; i < MOST_THREADS; i++) f->rows += each[i].rows;
  f->features *= f->rows;
  fw_table_free(table);
  fw_table_source_close(source);
  return status;
}

static furrow_status propose(const options *o, found *f, furrow_error *err) {
  furrow_schema *schema = NULL;
  furrow_schema_propose_params params;
  furrow_parser_stats stats = {.size = sizeof stats};
  char *text = NULL;
  size_t size = 0;
  furrow_schema_propose_params_init(&params);
  params.threads = o->threads;
  params.stats = &stats;
  furrow_status status = furrow_schema_propose(&schema, o->log, &params, err);
  if (status == FURROW_OK) status = furrow_schema_text(schema, true, &text, &size, err);
  f->rows = stats.rows;
  f->digest = XXH3_64bits(text, size);
  furrow_free(text);
  furrow_schema_free(schema);
  return status;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

enum { STREAMS = 4 };

/* The same bytes however the rows are cut into blocks: a stream for each column. */
static void digest_block(XXH3_state_t *const *streams, const furrow_rowblock *block) {
  const size_t first = block->offset[0], count = block->offset[block->size] - first;
  XXH3_64bits_update(streams[0], block->index.u32 + first, count * sizeof(uint32_t));
  XXH3_64bits_update(streams[1], block->field.u32 + first, count * sizeof(uint32_t));
  if (block->value.any) XXH3_64bits_update(streams[2], block->value.f32 + first, count * sizeof(float));
  if (block->label.any) XXH3_64bits_update(streams[3], block->label.f32, block->size * sizeof(float));
}

static furrow_status parse(const options *o, XXH3_state_t *const *streams, found *f, furrow_error *err) {
  char *uri = NULL;
  furrow_parser *parser = NULL;
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.threads = o->threads;
  params.key_type = FURROW_KEY_U32;
  furrow_status status = furrow_encoder_uri(o->log, o->encoder, &uri, err);
  if (status == FURROW_OK) status = furrow_parser_open(&parser, uri, &params, err);
  const furrow_rowblock *block;
  while (status == FURROW_OK && (status = furrow_parser_next_block(parser, &block, err)) == FURROW_OK) {
    f->rows += block->size;
    f->features += block->offset[block->size] - block->offset[0];
    if (streams) digest_block(streams, block);
  }
  furrow_parser_close(parser);
  furrow_free(uri);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status digest_rows(const options *o, found *f, furrow_error *err) {
  XXH3_state_t *streams[STREAMS];
  uint64_t digests[STREAMS];
  for (int i = 0; i < STREAMS; i++) XXH3_64bits_reset(streams[i] = XXH3_createState());
  const furrow_status status = parse(o, streams, f, err);
  for (int i = 0; i < STREAMS; i++) {
    digests[i] = XXH3_64bits_digest(streams[i]);
    XXH3_freeState(streams[i]);
  }
  f->digest = XXH3_64bits(digests, sizeof digests);
  return status;
}

static furrow_status learn(const options *o, furrow_error *err) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_encoder_params params;
  furrow_encoder_params_init(&params);
  params.threads = o->threads;
  furrow_status status = furrow_schema_load(&schema, o->schema, err);
  if (status == FURROW_OK) status = furrow_encoder_build(&encoder, o->log, schema, &params, err);
  if (status == FURROW_OK) status = furrow_encoder_save(encoder, o->encoder, true, err);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
  return status;
}

/* ---- Passes --------------------------------------------------------------------------------------------- */

static furrow_status run_job(const options *o, bool first, found *f, furrow_error *err) {
  const double start = bench_now().cpu;
  if (strcmp(o->job, "read") == 0) return read_cells(o, f, err);
  if (strcmp(o->job, "propose") == 0) return propose(o, f, err);
  furrow_status status = FURROW_OK;
  if (first || strcmp(o->job, "dictionary") == 0) {
    status = learn(o, err);
    f->learn = bench_now().cpu - start;
  }
  if (status == FURROW_OK) status = first ? digest_rows(o, f, err) : parse(o, NULL, f, err);
  return status;
}

static void report(const options *o, bench_clock start, bench_clock end, const found *f, uint64_t digest) {
  struct stat log;
  const double bytes = stat(o->log, &log) == 0 ? (double)log.st_size : 0;
  const double seconds = end.wall - start.wall, cpu = end.cpu - start.cpu;
  printf("{\"program\": \"furrow\", \"job\": \"%s\", \"threads\": %" PRIu32
         ", \"seconds\": %.6f, \"cpu_seconds\": %.6f, "
         "\"learn_cpu_seconds\": %.6f, \"mb_per_s\": %.1f, \"mb_per_cpu_s\": %.1f, \"rows\": %" PRIu64
         ", \"features\": %" PRIu64 ", \"digest\": \"%016" PRIx64 "\", \"peak_rss_mb\": %.1f}\n",
         o->job, o->threads, seconds, cpu, f->learn, bytes / seconds / 1e6, bytes / cpu / 1e6, f->rows, f->features,
         digest, bench_peak_memory());
  fflush(stdout);
}

int main(int argc, char **argv) {
  options o;
  found first = {0};
  if (!read_options(&o, argc, argv)) return 2;
  for (uint32_t i = 0; i <= o.repeat; i++) {
    furrow_error err;
    found f = {0};
    const bench_clock start = bench_now();
    const furrow_status status = run_job(&o, i == 0, &f, &err);
    const bench_clock end = bench_now();
    if (status != FURROW_OK) {
      char text[1024];
      furrow_error_to_text(&err, text, sizeof text);
      fprintf(stderr, "bench_encode: %s\n", text);
      return furrow_status_exit_code(status);
    }
    if (i == 0) first = f;
    if (f.rows != first.rows || f.features != first.features) {
      fprintf(stderr, "bench_encode: pass %" PRIu32 " found other rows than the first\n", i);
      return 1;
    }
    if (i > 0) report(&o, start, end, &f, first.digest);
  }
  return 0;
}
