/* tests/unit/vector/test_index_reject.c: each file of tests/reject/index is refused as index_list says: status, byte,
 * token, message. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "furrow/vector.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

typedef struct entry {
  char file[128], status[20], token[16], message[256];
  unsigned long long offset;
} entry;

static void reject_path(char path[TEST_PATH], const char *name) {
  char inside[256];
  snprintf(inside, sizeof inside, "tests/reject/%s", name);
  test_source_path(path, inside);
}

static void check(const entry *e) {
  char path[TEST_PATH], name[160], wanted[512], found[512];
  snprintf(name, sizeof name, "index/%s", e->file);
  reject_path(path, name);
  snprintf(wanted, sizeof wanted, "%s %llu %s %s", e->status, e->offset, e->token, e->message);
  for (int map = 0; map < 2; map++) {
    furrow_index_load_params params;
    furrow_index *index = NULL;
    furrow_error err = {0};
    furrow_index_load_params_init(&params);
    params.memory_map = map;
    furrow_status status = furrow_index_load(&index, path, &params, &err);
    snprintf(found, sizeof found, "%s %llu %s %s", furrow_status_name(status), (unsigned long long)err.offset,
             err.token[0] ? err.token : "-", err.message);
    if (strcmp(found, wanted) != 0) fail_msg("%s: %s\n    not %s", e->file, found, wanted);
    assert_int_equal(furrow_index_load(&index, path, &params, NULL), status);
    assert_null(index);
    assert_non_null(strstr(path, err.file));
  }
}

static void files_are_refused_as_listed(void **state) {
  (void)state;
  char path[TEST_PATH], line[1024];
  size_t count = 0, files = 0;
  reject_path(path, "index_list");
  FILE *list = fopen(path, "r");
  assert_non_null(list);
  while (fgets(line, sizeof line, list)) {
    entry e;
    if (line[0] == '#') continue;
    int n = sscanf(line, "%127s %19s %llu %15s %255[^\n]", e.file, e.status, &e.offset, e.token, e.message);
    if (n != 5) fail_msg("the list has a line that is not one: %s", line);
    check(&e);
    count++;
  }
  fclose(list);
  /* and every file is listed */
  reject_path(path, "index");
  DIR *entries = opendir(path);
  assert_non_null(entries);
  for (struct dirent *d; (d = readdir(entries)) != NULL;) files += d->d_name[0] != '.';
  closedir(entries);
  assert_int_equal(files, count);
  assert_true(count > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(files_are_refused_as_listed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
