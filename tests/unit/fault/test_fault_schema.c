/* tests/unit/fault/test_fault_schema.c: the n-th allocation, system call or collective fails, for every n: schemas that
 * are read and proposed, logs that are split and encoded, and rows that are written, by one process or by several
 * ranks, say so, leak nothing and leave no file behind. */
#include "support/cmocka_all.h"

#include "base/error.h"
#include "call_faults.h"
#include "furrow/io.h"
#include "furrow/table.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"
#include "support/thread_ranks.h"

static const char schema_text[] =
    "{\"columns\": {\"l\": {\"as\": \"label\", \"classes\": [\"no\", \"yes\"]}, \"u\": {\"as\": \"category\", "
    "\"role\": "
    "\"user\", \"why\": \"because\"}, \"i\": {\"as\": \"category\", \"role\": \"item\"}, \"t\": {\"as\": \"time\"}, "
    "\"g\": {\"as\": \"set\", \"separator\": \";\"}}, \"tables\": {\"a.csv\": {\"key\": \"u\", \"column\": \"id\"}}, "
    "\"cross\": [\"user\", \"hour\"], \"history\": 3}";

static furrow_status read_schema(void) {
  furrow_schema *schema = NULL;
  char *text = NULL;
  furrow_status status = furrow_schema_parse(&schema, schema_text, sizeof schema_text - 1, NULL);
  assert_int_equal(status == FURROW_OK, schema != NULL);
  if (status == FURROW_OK) status = furrow_schema_text(schema, true, &text, NULL, NULL);
  furrow_schema_free(schema);
  furrow_free(text);
  return status;
}

static furrow_status propose(const char *log, const char *table) {
  furrow_schema_propose_params params;
  furrow_schema *schema = NULL;
  furrow_schema_propose_params_init(&params);
  params.threads = 1;
  params.bin_numbers = true;
  params.tables = &table;
  params.table_count = table ? 1 : 0;
  const furrow_status status = furrow_schema_propose(&schema, log, &params, NULL);
  assert_int_equal(status == FURROW_OK, schema != NULL);
  furrow_schema_free(schema);
  return status;
}

static furrow_status propose_csv(void) {
  return propose("log.csv", "items.csv=item");
}

static furrow_status propose_json(void) {
  return propose("log.jsonl", NULL);
}

/* Bytes of a file; 0: it is not there. */
static size_t size_of(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

static bool renames_fail; /* a file that is there already, whole, stays where what follows fails */

/* The file is there if the job went well, with the bytes that it had the first time; it is removed. */
static void expect_file(const char *path, furrow_status status, size_t *bytes) {
  const size_t found = size_of(path);
  if (*bytes == 0) *bytes = found;
  assert_true(found == *bytes || (status != FURROW_OK && found == 0));
  if (status != FURROW_OK && !renames_fail) assert_int_equal(found, 0);
  remove(path);
}

static furrow_status split_log(void) {
  static const char *const paths[] = {"train.csv", "test.csv"};
  static size_t bytes[2];
  furrow_table_split_params params;
  furrow_table_split_params_init(&params);
  params.user = "user";
  params.time = "time";
  params.last = 0.3;
  const furrow_status status = furrow_table_split("log.csv", paths, 2, &params, NULL, NULL);
  for (size_t i = 0; i < 2; i++) expect_file(paths[i], status, &bytes[i]);
  return status;
}

static void make_files(void) {
  FILE *log = fopen("log.csv", "w"), *items = fopen("items.csv", "w"), *json = fopen("log.jsonl", "w");
  assert_true(log && items && json);
  fputs("user,item,time,clicked,tags,price\n", log);
  fputs("item,genres,name\n", items);
  for (int i = 0; i < 120; i++) {
    fprintf(log, "u%d,%d,2024-05-%02d,%s,a%d;b%d;c%d,%g\n", i % 9, i % 7, 1 + i % 28, i % 3 ? "no" : "yes", i % 3,
            i % 5, i % 4, 0.5 * i);
    fprintf(items, "%d,x|y%d,name %d\n", i, i % 2, i);
    fprintf(json, "{\"user\": \"u%d\", \"tags\": [\"a%d\"], \"b\": {\"c\": %d}}\n", i % 9, i % 4, i % 50);
  }
  assert_true(fclose(log) == 0 && fclose(items) == 0 && fclose(json) == 0);
}

/* ---- Rows that are written ---- */

enum { ROWS = 3, FEATURES = 40 };

static furrow_status write_rows(const char *path, const furrow_rows_writer_params *params, size_t *bytes) {
  static uint32_t index[ROWS * FEATURES];
  static float value[ROWS * FEATURES], label[ROWS], weight[ROWS];
  static uint64_t offset[ROWS + 1];
  for (uint32_t i = 0; i < ROWS * FEATURES; i++) {
    index[i] = i % FEATURES;
    value[i] = 0.125F * (float)(i % 64);
  }
  for (size_t i = 0; i <= ROWS; i++) offset[i] = i * FEATURES;
  furrow_rowblock block = {
      .size = ROWS, .offset = offset, .label = {.f32 = label}, .index = {.u32 = index}, .value = {.f32 = value}};
  if (params->with_weight) block.weight = weight;
  furrow_rows_writer *writer = NULL;
  furrow_status status = furrow_rows_writer_open(&writer, path, params, NULL);
  if (status == FURROW_OK) status = furrow_rows_writer_write_block(writer, &block, NULL);
  if (status == FURROW_OK) status = furrow_rows_writer_commit(writer, NULL);
  furrow_rows_writer_close(writer);
  expect_file(path, status, bytes);
  return status;
}

static furrow_status write_csv(void) {
  static size_t bytes;
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  params.format = "csv";
  params.columns = FEATURES;
  params.header = true;
  params.with_weight = true;
  return write_rows("rows", &params, &bytes);
}

static furrow_status write_libsvm(void) {
  static size_t bytes;
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  return write_rows("rows", &params, &bytes);
}

static furrow_status write_cache(void) {
  static size_t bytes;
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  params.format = "cache";
  return write_rows("rows", &params, &bytes);
}

/* Fails the 1st, 2nd … allocation of a job, until there is none left to fail. */
static void fail_each(furrow_status (*job)(void)) {
  assert_int_equal(job(), FURROW_OK); /* what is made once in a process, is made now */
  const long before = atomic_load(&alloc_live);
  long n = 0;
  do {
    alloc_fail_at(++n);
    const furrow_status status = job();
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    assert_true(status == FURROW_OK || (failed && status == FURROW_E_MEMORY)); /* OK: there was another way */
    assert_int_equal(atomic_load(&alloc_live), before);
    if (!failed) break;
  } while (n < 100000);
  assert_true(n > 3);
}

static void every_allocation(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  make_files();
  fail_each(read_schema);
  fail_each(propose_csv);
  fail_each(propose_json);
  fail_each(split_log);
  fail_each(write_csv);
  fail_each(write_libsvm);
  fail_each(write_cache);
  assert_int_equal(test_entries("."), 3); /* no temporary file is left */
}

/* ---- Encoders ---- */

static const char encoder_text[] =
    "{\"columns\": {\"clicked\": {\"as\": \"label\", \"classes\": [\"no\", \"yes\"]}, \"user\": {\"as\": \"category\", "
    "\"role\": \"user\"}, \"item\": {\"as\": \"category\", \"role\": \"item\"}, \"time\": {\"as\": \"time\", \"role\": "
    "\"time\", \"unit\": \"text\"}, \"tags\": {\"as\": \"set\", \"separator\": \";\"}, \"price\": {\"as\": \"number\", "
    "\"scale\": \"bins\", \"bins\": 4}, \"name\": {\"as\": \"text\"}}, \"tables\": {\"items.csv\": \"item\"}}";

static furrow_encoder *build_encoder(const furrow_comm *comm, furrow_status *status) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_encoder_params params;
  furrow_encoder_params_init(&params);
  params.threads = 1;
  params.comm = comm;
  *status = furrow_schema_parse(&schema, encoder_text, sizeof encoder_text - 1, NULL);
  if (*status == FURROW_OK) *status = furrow_encoder_build(&encoder, "log.csv", schema, &params, NULL);
  assert_int_equal(*status == FURROW_OK, encoder != NULL);
  furrow_schema_free(schema);
  return encoder;
}

static furrow_encoder *kept;

static furrow_status save_over(const char *folder) {
  fault_spares_fstat = true; /* a temporary that cannot be looked at is left to the next process */
  const furrow_status status = furrow_encoder_save(kept, folder, true, NULL);
  fault_spares_fstat = false;
  atomic_store(&fault_countdown, -1);
  return status;
}

static furrow_status load_and_compare(const char *folder) {
  furrow_encoder *found = NULL;
  const furrow_status status = furrow_encoder_load(&found, folder, NULL);
  if (status == FURROW_OK) assert_int_equal(furrow_encoder_feature_count(found), furrow_encoder_feature_count(kept));
  furrow_encoder_free(found);
  return status;
}

/* Whatever happens, the folder has an encoder. */
static furrow_status save_alone(void) {
  const furrow_status status = save_over("alone");
  assert_int_equal(load_and_compare("alone"), FURROW_OK);
  return status;
}

/* Two files are replaced one after the other, so that there may be none, but never one of each; the next save mends
 * it, and what else is in the folder stays. */
static furrow_status save_beside_others(void) {
  const furrow_status status = save_over("others"), loaded = load_and_compare("others");
  assert_true(loaded == FURROW_OK || (status != FURROW_OK && loaded == FURROW_E_NOT_FOUND));
  if (loaded != FURROW_OK) assert_int_equal(save_over("others"), FURROW_OK);
  assert_int_equal(load_and_compare("others"), FURROW_OK);
  assert_int_equal(size_of("others/note"), 5);
  return status;
}

/* ---- System calls ---- */

/* Fails the 1st, 2nd … system call of a job, until there is none left to fail. */
static void fail_each_call(furrow_status (*job)(void)) {
  assert_int_equal(job(), FURROW_OK);
  const size_t descriptors = open_descriptors();
  long n = 0;
  for (bool met = true; met;) {
    fault_at(FAULT_ERROR, ++n);
    const furrow_status status = job();
    met = atomic_load(&fault_met);
    fault_at(FAULT_ERROR, 0);
    const bool unknown = status == FURROW_E_EXISTS && strcmp(fault_call, "stat") == 0; /* it may be there */
    if (status != FURROW_OK && (!met || (status != FURROW_E_IO && !unknown)))
      fail_msg("call %ld, %s: %s", n, fault_call, furrow_status_name(status));
    assert_int_equal(open_descriptors(), descriptors);
    assert_true(n < 5000);
  }
  assert_true(n > 3);
}

static void every_system_call(void **state) {
  (void)state;
  furrow_status status;
  renames_fail = true;
  make_files();
  fail_each_call(propose_csv);
  fail_each_call(split_log);
  fail_each_call(write_csv);
  fail_each_call(write_libsvm);
  fail_each_call(write_cache);
  kept = build_encoder(NULL, &status);
  assert_int_equal(status, FURROW_OK);
  assert_int_equal(mkdir("others", 0777), 0);
  assert_true(test_write_text("others/note", "kept\n"));
  fail_each_call(save_alone);
  fail_each_call(save_beside_others);
  furrow_encoder_free(kept);
}

/* ---- Collectives of several ranks ---- */

enum { RANKS = 2 };

typedef struct rank {
  furrow_comm comm;
  furrow_status (*job)(const furrow_comm *comm, furrow_error *err);
  furrow_status status;
  furrow_error err;
} rank;

static long collectives[RANKS]; /* of each rank, until one fails; below 0: none will */

/* Where it fails, all ranks have come there. */
static furrow_status lose(const furrow_comm *comm, furrow_error *err) {
  if (collectives[comm->rank] < 0 || --collectives[comm->rank] > 0) return FURROW_OK;
  (void)thread_barrier(comm, err);
  return fw_fail(err, FURROW_E_IO, "the network is down");
}

static furrow_status lossy_exchange(const furrow_comm *comm, const void *send, const size_t *send_size, void *receive,
                                    const size_t *receive_size, furrow_error *err) {
  const furrow_status status = lose(comm, err);
  return status == FURROW_OK ? thread_exchange(comm, send, send_size, receive, receive_size, err) : status;
}

static furrow_status lossy_gather(const furrow_comm *comm, const void *bytes, size_t size, void *all,
                                  const size_t *sizes, furrow_error *err) {
  const furrow_status status = lose(comm, err);
  return status == FURROW_OK ? thread_gather(comm, bytes, size, all, sizes, err) : status;
}

static furrow_status lossy_broadcast(const furrow_comm *comm, void *bytes, size_t size, unsigned root,
                                     furrow_error *err) {
  const furrow_status status = lose(comm, err);
  return status == FURROW_OK ? thread_broadcast(comm, bytes, size, root, err) : status;
}

static furrow_status lossy_barrier(const furrow_comm *comm, furrow_error *err) {
  const furrow_status status = lose(comm, err);
  return status == FURROW_OK ? thread_barrier(comm, err) : status;
}

static void *run_rank(void *item) {
  rank *r = item;
  r->status = r->job(&r->comm, &r->err);
  return NULL;
}

/* Runs the job on all ranks, of which the n-th collective fails; returns whether there were so many. */
static bool run_ranks(furrow_status (*job)(const furrow_comm *, furrow_error *), long n, rank ranks[RANKS]) {
  for (unsigned r = 0; r < RANKS; r++) {
    ranks[r] = (rank){.comm = thread_comm(r, RANKS), .job = job};
    ranks[r].comm.exchange = lossy_exchange;
    ranks[r].comm.gather = lossy_gather;
    ranks[r].comm.broadcast = lossy_broadcast;
    ranks[r].comm.barrier = lossy_barrier;
    collectives[r] = n > 0 ? n : -1;
  }
  run_threads(RANKS, run_rank, ranks, sizeof *ranks);
  return collectives[0] <= 0;
}

/* Fails the 1st, 2nd … collective on all ranks: all of them say so. */
static void fail_each_collective(furrow_status (*job)(const furrow_comm *, furrow_error *)) {
  rank ranks[RANKS];
  for (int i = 0; i < 2; i++) {
    (void)run_ranks(job, 0, ranks);
    for (unsigned r = 0; r < RANKS; r++) assert_int_equal(ranks[r].status, FURROW_OK);
  }
  const long before = atomic_load(&alloc_live);
  const size_t entries = test_entries(".");
  long n = 0;
  for (bool lost = true; lost;) {
    lost = run_ranks(job, ++n, ranks);
    for (unsigned r = 0; r < RANKS; r++) {
      if (ranks[r].status != (lost ? FURROW_E_IO : FURROW_OK))
        fail_msg("collective %ld, rank %u: %s", n, r, furrow_status_name(ranks[r].status));
      if (lost) assert_string_equal(ranks[r].err.message, "the network is down");
    }
    if (FAILING_ALLOC && atomic_load(&alloc_live) != before) fail_msg("collective %ld: memory is lost", n);
    assert_int_equal(test_entries("."), entries);
    assert_true(n < 5000);
  }
  assert_true(n > 2);
}

static furrow_status propose_together(const furrow_comm *comm, const char *log, furrow_error *err) {
  furrow_schema_propose_params params;
  furrow_schema *schema = NULL;
  furrow_schema_propose_params_init(&params);
  params.threads = 1;
  params.comm = comm;
  const furrow_status status = furrow_schema_propose(&schema, log, &params, err);
  assert_int_equal(status == FURROW_OK, schema != NULL);
  furrow_schema_free(schema);
  return status;
}

static furrow_status propose_csv_together(const furrow_comm *comm, furrow_error *err) {
  return propose_together(comm, "log.csv", err);
}

static furrow_status propose_late_columns_together(const furrow_comm *comm, furrow_error *err) {
  return propose_together(comm, "late.jsonl", err);
}

static furrow_status encode_together(const furrow_comm *comm, furrow_error *err) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_encoder_params params;
  furrow_encoder_params_init(&params);
  params.threads = 1;
  params.comm = comm;
  furrow_status status = furrow_schema_parse(&schema, encoder_text, sizeof encoder_text - 1, err);
  if (status == FURROW_OK) status = furrow_encoder_build(&encoder, "log.csv", schema, &params, err);
  assert_int_equal(status == FURROW_OK, encoder != NULL);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
  return status;
}

/* By time or by chance; no file of a split that failed before its files were complete. */
static furrow_status split_together(const furrow_comm *comm, bool by_time, furrow_error *err) {
  static const char *const paths[] = {"train.csv", "test.csv"};
  static const double shares[] = {0.5, 0.5};
  furrow_table_split_params params;
  furrow_table_split_params_init(&params);
  params.comm = comm;
  params.overwrite = true;
  params.user = by_time ? "user" : NULL;
  params.time = by_time ? "time" : NULL;
  params.last = 0.3;
  params.shares = by_time ? NULL : shares;
  return furrow_table_split("log.csv", paths, 2, &params, NULL, err);
}

static furrow_status split_by_time_together(const furrow_comm *comm, furrow_error *err) {
  return split_together(comm, true, err);
}

static furrow_status split_by_chance_together(const furrow_comm *comm, furrow_error *err) {
  return split_together(comm, false, err);
}

static furrow_status write_together(const furrow_comm *comm, const char *format, furrow_error *err) {
  static const uint32_t index[] = {0, 2};
  static const float label = 1;
  const furrow_row row = {.label = {.f32 = &label}, .length = 2, .index = {.u32 = index}};
  furrow_rows_writer *writer = NULL;
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  params.comm = comm;
  params.format = format;
  params.columns = 3;
  params.header = true;
  params.overwrite = true;
  furrow_status status = furrow_rows_writer_open(&writer, "together", &params, err);
  if (status == FURROW_OK) status = furrow_rows_writer_write_row(writer, &row, err);
  if (status == FURROW_OK) status = furrow_rows_writer_commit(writer, err);
  furrow_rows_writer_close(writer);
  return status;
}

static furrow_status write_csv_together(const furrow_comm *comm, furrow_error *err) {
  return write_together(comm, "csv", err);
}

static furrow_status write_cache_together(const furrow_comm *comm, furrow_error *err) {
  return write_together(comm, "cache", err);
}

/* Each rank has a file of its own, or none. */
static const char *seen_by[RANKS];

static furrow_status compare_own_files(const furrow_comm *comm, furrow_error *err) {
  return furrow_rows_compare_files(seen_by[comm->rank], comm, err);
}

static void ranks_that_see_other_files(void **state) {
  (void)state;
  static const struct {
    const char *first, *second;
    furrow_status status;
  } cases[] = {
      {"a/log", "b/log", FURROW_OK},        {"a/log", "b/longer", FURROW_E_STALE}, {"a/log", "log", FURROW_OK},
      {"a/log", "b/other", FURROW_E_STALE}, {"a/log", "nothing", FURROW_OK},       {"a/log", "", FURROW_OK},
  };
  rank ranks[RANKS];
  assert_true(mkdir("a", 0777) == 0 && mkdir("b", 0777) == 0);
  assert_true(test_write_text("a/log", "1 2:3\n") && test_write_text("b/log", "0 2:3\n"));
  assert_true(test_write_text("b/longer", "0 2:3\n1\n") && test_write_text("b/other", "0 2:3\n"));
  assert_true(test_write_text("log", "0 2:3\n"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    seen_by[0] = cases[i].first;
    seen_by[1] = cases[i].second;
    (void)run_ranks(compare_own_files, 0, ranks);
    for (unsigned r = 0; r < RANKS; r++) {
      assert_int_equal(ranks[r].status, cases[i].status);
      if (cases[i].status == FURROW_OK) continue;
      assert_string_equal(ranks[r].err.file, seen_by[r]);
      assert_memory_equal(ranks[r].err.message, "rank 1 sees other files than rank 0: 1 with ", 44);
    }
  }
  furrow_error err = {0};
  assert_int_equal(furrow_rows_compare_files("nothing", NULL, &err), FURROW_OK); /* alone */
  assert_int_equal(furrow_rows_compare_files("log", &(furrow_comm){0}, &err), FURROW_E_ARGUMENT);
}

static furrow_status compare_files(const furrow_comm *comm, furrow_error *err) {
  return furrow_rows_compare_files("log.csv", comm, err);
}

static void every_collective(void **state) {
  (void)state;
  make_files();
  FILE *late = fopen("late.jsonl", "w");
  assert_non_null(late);
  for (int i = 0; i < 3000; i++) /* more than is looked at for the names of columns */
    fprintf(late, "{\"user\": \"u%d\", \"tags\": [\"a%d\"]%s}\n", i % 9, i % 4,
            i == 2900   ? ", \"later\": 1"
            : i == 2800 ? ", \"late\": 2"
                        : "");
  assert_int_equal(fclose(late), 0);
  fail_each_collective(propose_csv_together);
  fail_each_collective(propose_late_columns_together);
  fail_each_collective(encode_together);
  fail_each_collective(split_by_time_together);
  fail_each_collective(split_by_chance_together);
  fail_each_collective(write_csv_together);
  fail_each_collective(write_cache_together);
  fail_each_collective(compare_files);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(every_allocation),
      IN_FOLDER(every_system_call),
      IN_FOLDER(every_collective),
      IN_FOLDER(ranks_that_see_other_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
