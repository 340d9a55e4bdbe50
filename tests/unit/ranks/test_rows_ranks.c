/* tests/unit/ranks/test_rows_ranks.c: files, schemas, encoders and splits that several ranks make, which here are
 * threads, have the bytes of one process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/rng.h"
#include "furrow/io.h"
#include "furrow/table.h"
#include "support/test_env.h"
#include "support/thread_ranks.h"

enum { MOST_RANKS = 5, LONG_PATH = TEST_PATH + 32 };

/* One rank of a job: what it does with its files, which all ranks name alike. */
typedef struct rank_job {
  furrow_comm comm;
  const char *uri, *format, *schema;
  char path[2][LONG_PATH];
  furrow_table_split_params split;
  uint64_t rows[2];
  bool fails; /* this rank alone */
  furrow_status status;
  furrow_error err;
} rank_job;

static char folder[TEST_PATH];

static int make_folder(void **state) {
  (void)state;
  return test_make_dir(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return test_remove_dir(folder) ? 0 : -1;
}

/* Runs body on `ranks` ranks; with `name` and the number of ranks in their paths. */
static void run_job(const rank_job *plan, unsigned ranks, void *(*body)(void *), rank_job *jobs) {
  for (unsigned r = 0; r < ranks; r++) {
    jobs[r] = *plan;
    jobs[r].comm = thread_comm(r, ranks);
    jobs[r].fails = plan->fails && r + 1 == ranks;
    for (int i = 0; i < 2; i++) snprintf(jobs[r].path[i], LONG_PATH, "%s/%u.%d", folder, ranks, i);
  }
  run_threads(ranks, body, jobs, sizeof *jobs);
}

static char *read_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("%s is not there", path);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static void expect_same_files(const char *found, const char *wanted) {
  size_t n = 0, m = 0;
  char *a = read_bytes(found, &n), *b = read_bytes(wanted, &m);
  assert_int_equal(n, m);
  assert_memory_equal(a, b, n);
  free(a);
  free(b);
}

static void remove_files(const rank_job *job, int files) {
  for (int i = 0; i < files; i++) assert_int_equal(remove(job->path[i]), 0);
}

/* One process first, then more ranks: the same files, and nothing beside them. */
static void expect_same(const rank_job *plan, void *(*body)(void *), int files) {
  rank_job one, jobs[MOST_RANKS];
  run_job(plan, 1, body, &one);
  if (one.status != FURROW_OK) fail_msg("%s", one.err.message);
  for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++) {
    run_job(plan, ranks, body, jobs);
    for (unsigned r = 0; r < ranks; r++) {
      if (jobs[r].status != FURROW_OK) fail_msg("%s", jobs[r].err.message);
      assert_memory_equal(jobs[r].rows, one.rows, sizeof one.rows);
    }
    for (int i = 0; i < files; i++) expect_same_files(jobs[0].path[i], one.path[i]);
    assert_int_equal(test_entries(folder), 2 * (size_t)files);
    remove_files(&jobs[0], files);
  }
  remove_files(&one, files);
}

static void add_log(const char *path, const fw_buffer *text) {
  assert_int_equal(fw_buffer_status(text, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_file_add(path, text->bytes, text->size, NULL, NULL, NULL), FURROW_OK);
}

static void remove_log(const char *path, fw_buffer *text) {
  assert_int_equal(furrow_memory_file_remove(path, NULL), FURROW_OK);
  fw_buffer_clear(text);
}

/* ---- Writers -------------------------------------------------------------------------------------------- */

static furrow_status write_part(rank_job *job, furrow_parser *parser, furrow_rows_writer *writer) {
  furrow_status status;
  while ((status = furrow_parser_next(parser, &job->err)) == FURROW_OK)
    if ((status = furrow_rows_writer_write_block(writer, furrow_parser_value(parser), &job->err)) != FURROW_OK) break;
  return status == FURROW_END ? furrow_rows_writer_commit(writer, &job->err) : status;
}

static void *convert(void *item) {
  rank_job *job = item;
  furrow_parser *parser = NULL;
  furrow_rows_writer *writer = NULL;
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  params.format = job->format;
  params.columns = 40;
  params.header = true;
  params.comm = &job->comm;
  job->status = furrow_parser_open_part(&parser, job->uri, job->comm.rank, job->comm.ranks, "libsvm", &job->err);
  if (job->status == FURROW_OK) job->status = furrow_rows_writer_open(&writer, job->path[0], &params, &job->err);
  if (job->status == FURROW_OK) job->status = write_part(job, parser, writer);
  furrow_rows_writer_close(writer);
  furrow_parser_close(parser);
  return NULL;
}

static void make_rows(fw_buffer *text, size_t rows) {
  fw_rng rng;
  fw_rng_init(&rng, 3);
  for (size_t i = 0; i < rows; i++) {
    fw_buffer_format(text, "%d", (int)(fw_rng_next(&rng) % 2));
    for (unsigned k = 0; k < 40; k += 1 + (unsigned)(fw_rng_next(&rng) % 9))
      fw_buffer_format(text, " %u:%.7g", k, fw_rng_normal(&rng));
    fw_buffer_byte(text, '\n');
  }
}

static void writers_make_one_file(void **state) {
  static const char *const formats[] = {"libsvm", "libffm", "csv", "cache"};
  static const size_t rows[] = {700, 3, 1, 0};
  (void)state;
  for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
    fw_buffer text = {0};
    make_rows(&text, rows[n]);
    add_log("memory://rows", &text);
    for (size_t f = 0; f < 4; f++) {
      const rank_job plan = {.uri = "memory://rows", .format = formats[f]};
      expect_same(&plan, convert, 1);
    }
    remove_log("memory://rows", &text);
  }
}

/* A writer whose last rank cannot go on: all fail, and nothing is left. */
static void *commit_into_nothing(void *item) {
  rank_job *job = item;
  furrow_rows_writer *writer = NULL;
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  params.format = job->format;
  params.comm = &job->comm;
  const float label = 1;
  const furrow_row row = {.label = {.f32 = &label}};
  job->status = furrow_rows_writer_open(&writer, job->path[0], &params, &job->err);
  if (job->status == FURROW_OK) job->status = furrow_rows_writer_write_row(writer, &row, &job->err);
  if (job->status == FURROW_OK) job->status = furrow_rows_writer_commit(writer, &job->err);
  furrow_rows_writer_close(writer);
  return NULL;
}

static void an_existing_file_stays(void **state) {
  static const char *const formats[] = {"libsvm", "cache"};
  (void)state;
  for (size_t f = 0; f < 2; f++) {
    const rank_job plan = {.format = formats[f]};
    rank_job jobs[MOST_RANKS];
    run_job(&plan, 3, commit_into_nothing, jobs);
    for (unsigned r = 0; r < 3; r++) assert_int_equal(jobs[r].status, FURROW_OK);
    run_job(&plan, 3, commit_into_nothing, jobs);
    assert_int_equal(jobs[0].status, FURROW_E_EXISTS);
    for (unsigned r = 1; r < 3; r++) assert_int_equal(jobs[r].status, FURROW_E_STATE);
    assert_int_equal(test_entries(folder), 1);
    remove_files(&jobs[0], 1);
  }
}

static void ranks_do_not_share_an_output(void **state) {
  furrow_rows_writer *writer = NULL;
  furrow_rows_writer_params params;
  furrow_error err;
  const furrow_comm comm = thread_comm(0, 2);
  (void)state;
  furrow_rows_writer_params_init(&params);
  params.comm = &comm;
  assert_int_equal(furrow_rows_writer_open(&writer, "-", &params, &err), FURROW_E_UNSUPPORTED);
  furrow_output output;
  furrow_output_init(&output);
  assert_int_equal(furrow_rows_writer_open_output(&writer, &output, &params, &err), FURROW_E_ARGUMENT);
  assert_null(writer);
}

/* ---- Parts of whole chunks ------------------------------------------------------------------------------ */

static void parts_of_whole_chunks_have_the_blocks_of_the_whole(void **state) {
  fw_buffer text = {0};
  (void)state;
  make_rows(&text, 500);
  add_log("memory://rows", &text);
  size_t sizes[512], blocks = 0;
  for (uint32_t nparts = 1; nparts < 9; nparts++) {
    size_t at = 0;
    for (uint32_t part = 0; part < nparts; part++) {
      furrow_parser *parser = NULL;
      furrow_parser_params params;
      furrow_parser_params_init(&params);
      params.part = part;
      params.nparts = nparts;
      params.chunk_bytes = 1000;
      params.whole_chunks = true;
      assert_int_equal(furrow_parser_open(&parser, "memory://rows;memory://rows", &params, NULL), FURROW_OK);
      for (; furrow_parser_next(parser, NULL) == FURROW_OK; at++) {
        const size_t size = furrow_parser_value(parser)->size;
        if (nparts == 1) sizes[blocks++] = size;
        assert_true(at < blocks);
        assert_int_equal(size, sizes[at]);
      }
      furrow_parser_close(parser);
    }
    assert_int_equal(at, blocks);
  }
  remove_log("memory://rows", &text);
}

/* ---- Raw logs ------------------------------------------------------------------------------------------- */

/* Several pieces of 512 KiB, if rows are many. */
static void make_log(fw_buffer *text, size_t rows) {
  fw_rng rng;
  fw_rng_init(&rng, 4);
  fw_buffer_text(text, "user,item,click,when,price\n");
  for (size_t i = 0; i < rows; i++) {
    const uint64_t user = fw_rng_next(&rng) % 300, item = fw_rng_next(&rng) % 2000, chance = fw_rng_next(&rng);
    const double price = 10 * fw_rng_normal(&rng);
    const bool click = (chance % 4 == 0) != (price * price > 60); /* a curve of the price */
    fw_buffer_format(text, "u%u,i%u,%d,%u,%.6g\n", (unsigned)user, (unsigned)item, click,
                     1500000000u + (unsigned)(chance % 5000), price);
  }
}

static void *propose(void *item) {
  rank_job *job = item;
  furrow_schema *schema = NULL;
  furrow_schema_propose_params params;
  char *text = NULL;
  size_t size = 0;
  furrow_schema_propose_params_init(&params);
  params.comm = &job->comm;
  params.threads = 1;
  params.bin_numbers = true;
  job->status = furrow_schema_propose(&schema, job->uri, &params, &job->err);
  if (job->status == FURROW_OK) job->status = furrow_schema_text(schema, true, &text, &size, &job->err);
  FILE *file = text && job->comm.rank == 0 ? fopen(job->path[0], "wb") : NULL;
  if (file) {
    if (fwrite(text, 1, size, file) != size) job->status = FURROW_E_IO;
    fclose(file);
  }
  furrow_free(text);
  furrow_schema_free(schema);
  return NULL;
}

static void proposals_are_those_of_one_process(void **state) {
  fw_buffer text = {0}, json = {0};
  (void)state;
  make_log(&text, 3000);
  add_log("memory://log.csv", &text);
  expect_same(&(rank_job){.uri = "memory://log.csv"}, propose, 1);
  remove_log("memory://log.csv", &text);
  for (unsigned i = 0; i < 4000; i++) /* columns that turn up late, in parts of different ranks */
    fw_buffer_format(&json, "{\"a\": %u, \"b\": \"x%u\"%s}\n", i, i % 7,
                     i == 3900   ? ", \"c\": 1"
                     : i == 1900 ? ", \"d\": 2"
                                 : "");
  add_log("memory://log.jsonl", &json);
  expect_same(&(rank_job){.uri = "memory://log.jsonl"}, propose, 1);
  remove_log("memory://log.jsonl", &json);
}

/* Every rank keeps its own dictionary: all of them must be equal. */
static void *encode(void *item) {
  rank_job *job = item;
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_encoder_params params;
  char path[LONG_PATH + 16];
  snprintf(path, sizeof path, "%s.%u", job->path[0], job->comm.rank);
  furrow_encoder_params_init(&params);
  params.comm = &job->comm;
  params.threads = 2;
  job->status = furrow_schema_parse(&schema, job->schema, strlen(job->schema), &job->err);
  if (job->status == FURROW_OK)
    job->status =
        furrow_encoder_build(&encoder, job->fails ? "memory://nothing" : job->uri, schema, &params, &job->err);
  if (job->status == FURROW_OK) job->status = furrow_encoder_save(encoder, path, false, &job->err);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
  return NULL;
}

#define SCHEMA(price)                                                                                                  \
  "{\"columns\": {\"click\": {\"as\": \"label\"}, \"user\": {\"as\": \"category\"}, \"item\": {\"as\": \"category\", " \
  "\"min_count\": 9}, \"price\": {\"as\": \"number\", " price "}}}"

static void encoders_are_those_of_one_process(void **state) {
  static const char *const schemas[] = {SCHEMA("\"scale\": \"standard\""), SCHEMA("\"scale\": \"bins\", \"bins\": 9")};
  fw_buffer text = {0};
  (void)state;
  make_log(&text, 60000);
  add_log("memory://log.csv", &text);
  for (size_t i = 0; i < 2; i++) {
    const rank_job plan = {.uri = "memory://log.csv", .schema = schemas[i]};
    for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks += 2) {
      rank_job jobs[MOST_RANKS];
      run_job(&plan, ranks, encode, jobs);
      for (unsigned r = 0; r < ranks; r++) {
        char path[LONG_PATH + 64], one[LONG_PATH];
        if (jobs[r].status != FURROW_OK) fail_msg("%s", jobs[r].err.message);
        snprintf(path, sizeof path, "%s.%u/dictionary.furrow", jobs[r].path[0], r);
        snprintf(one, sizeof one, "%s/1.0.0/dictionary.furrow", folder);
        expect_same_files(path, one);
      }
    }
    assert_true(test_remove_dir(folder));
    assert_true(test_make_dir(folder));
  }
  remove_log("memory://log.csv", &text);
}

static void one_rank_without_a_log_fails_all(void **state) {
  fw_buffer text = {0};
  rank_job jobs[MOST_RANKS];
  (void)state;
  make_log(&text, 20);
  add_log("memory://log.csv", &text);
  const rank_job plan = {.uri = "memory://log.csv", .schema = SCHEMA("\"scale\": \"none\""), .fails = true};
  run_job(&plan, 3, encode, jobs);
  assert_int_equal(jobs[0].status, FURROW_E_STATE);
  assert_int_equal(jobs[1].status, FURROW_E_STATE);
  assert_int_equal(jobs[2].status, FURROW_E_NOT_FOUND);
  assert_int_equal(test_entries(folder), 0);
  remove_log("memory://log.csv", &text);
}

static void *split(void *item) {
  rank_job *job = item;
  const char *paths[] = {job->path[0], job->path[1]};
  job->split.comm = &job->comm;
  job->status = furrow_table_split(job->uri, paths, 2, &job->split, job->rows, &job->err);
  return NULL;
}

static void splits_are_those_of_one_process(void **state) {
  static const double shares[] = {0.7, 0.3};
  static const size_t rows[] = {5000, 12, 4};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fw_buffer text = {0};
    make_log(&text, rows[i]);
    add_log("memory://log.csv", &text);
    rank_job plan = {.uri = "memory://log.csv"};
    furrow_table_split_params_init(&plan.split);
    plan.split.time = "when";
    plan.split.last = 0.3;
    expect_same(&plan, split, 2);
    plan.split.user = rows[i] > 100 ? "user" : NULL; /* of a few rows, every user has one */
    expect_same(&plan, split, 2);
    furrow_table_split_params_init(&plan.split);
    plan.split.shares = shares;
    plan.split.seed = 2;
    expect_same(&plan, split, 2);
    plan.split.group = "item";
    expect_same(&plan, split, 2);
    remove_log("memory://log.csv", &text);
  }
}

/* Only the last date says that the month comes first, and only one rank reads it. */
static void orders_of_dates_are_those_of_all_ranks(void **state) {
  fw_buffer text = {0};
  (void)state;
  fw_buffer_text(&text, "when,x\n2024-01-31,0\n");
  for (int i = 0; i < 400; i++) fw_buffer_format(&text, "%d/%d/2024,%d\n", 1 + i * 5 % 12, 1 + i * 7 % 12, i);
  fw_buffer_text(&text, "2/13/2024,400\n");
  add_log("memory://log.csv", &text);
  rank_job plan = {.uri = "memory://log.csv"};
  furrow_table_split_params_init(&plan.split);
  plan.split.time = "when";
  plan.split.last = 0.3;
  expect_same(&plan, split, 2);
  remove_log("memory://log.csv", &text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writers_make_one_file),
      cmocka_unit_test(an_existing_file_stays),
      cmocka_unit_test(ranks_do_not_share_an_output),
      cmocka_unit_test(parts_of_whole_chunks_have_the_blocks_of_the_whole),
      cmocka_unit_test(proposals_are_those_of_one_process),
      cmocka_unit_test(encoders_are_those_of_one_process),
      cmocka_unit_test(one_rank_without_a_log_fails_all),
      cmocka_unit_test(splits_are_those_of_one_process),
      cmocka_unit_test(orders_of_dates_are_those_of_all_ranks),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
