/* tests/unit/fault/test_fault_schema.c: the n-th allocation fails, for every n: schemas that are read and proposed, and
 * logs that are split, say so, leak nothing and leave no file behind. */
#include "support/cmocka_all.h"

#include "furrow/io.h"
#include "furrow/table.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"

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

static furrow_status split_log(void) {
  static const char *const paths[] = {"train.csv", "test.csv"};
  furrow_table_split_params params;
  furrow_table_split_params_init(&params);
  params.user = "user";
  params.time = "time";
  params.last = 0.3;
  const furrow_status status = furrow_table_split("log.csv", paths, 2, &params, NULL, NULL);
  for (size_t i = 0; i < 2; i++) assert_int_equal(access(paths[i], F_OK) == 0, status == FURROW_OK);
  remove("train.csv");
  remove("test.csv");
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
  assert_int_equal(test_entries("."), 3); /* no temporary file is left */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(every_allocation, enter_dir, leave_dir)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
