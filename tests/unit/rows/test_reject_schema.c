/* tests/unit/rows/test_reject_schema.c: each file of tests/reject/schema is refused as its list says: status, byte,
 * message. */
#include "furrow/table.h"
#include "support/reject_list.h"

typedef struct entry {
  char file[128], status[16], message[256];
  long long offset; /* -1: none */
} entry;

static bool read_entry(FILE *list, entry *e) {
  char line[REJECT_LINE];
  if (!reject_list_next(list, line)) return false;
  if (sscanf(line, "%127s %15s %lld %255[^\n]", e->file, e->status, &e->offset, e->message) != 4)
    fail_msg("the list has a line that is not one: %s", line);
  return true;
}

static void check(const entry *e) {
  char path[TEST_PATH], wanted[512], found[512];
  furrow_schema *schema = NULL;
  furrow_error err = {0};
  reject_path(path, "schema", e->file);
  const furrow_status status = furrow_schema_load(&schema, path, &err);
  const long long offset = err.offset == FURROW_NO_OFFSET ? -1 : (long long)err.offset;
  snprintf(wanted, sizeof wanted, "%s %lld %s", e->status, e->offset, e->message);
  snprintf(found, sizeof found, "%s %lld %s", furrow_status_name(status), offset, err.message);
  if (strcmp(found, wanted) != 0) fail_msg("%s: %s\n    not %s", e->file, found, wanted);
  assert_int_equal(err.status, status);
  assert_int_equal(furrow_schema_load(&schema, path, NULL), status);
  assert_null(schema);
  assert_non_null(strstr(path, err.file));
}

static void listed_files(void **state) {
  (void)state;
  entry e;
  FILE *list = reject_list_open("schema");
  while (read_entry(list, &e)) check(&e);
  fclose(list);
}

static void all_files_are_listed(void **state) {
  (void)state;
  reject_list_is_complete("schema");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(listed_files),
      cmocka_unit_test(all_files_are_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
