/* tests/unit/test_reject_meta.c: each file of tests/reject/meta is refused as its list says: status, byte, message. A
 * name that begins with psmeta is of that form. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "furrow/model.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

typedef struct entry {
  char file[128], status[16], message[256];
  long long offset; /* -1: none */
} entry;

/* The folder lies beside that of this source. */
static void reject_path(char path[TEST_PATH], const char *name) {
  static const char here[] = __FILE__;
  const char *unit = strstr(here, "unit/test_reject_meta.c");
  assert_non_null(unit);
  snprintf(path, TEST_PATH, "%.*sreject/meta%s%s", (int)(unit - here), here, name[0] ? "/" : "", name);
}

static FILE *open_list(void) {
  char path[TEST_PATH];
  reject_path(path, "list");
  FILE *list = fopen(path, "r");
  if (!list) skip(); /* the sources are not where they were */
  return list;
}

static bool read_entry(FILE *list, entry *e) {
  char line[1024];
  while (fgets(line, sizeof line, list)) {
    if (line[0] == '#') continue;
    if (sscanf(line, "%127s %15s %lld %255[^\n]", e->file, e->status, &e->offset, e->message) != 4)
      fail_msg("the list has a line that is not one: %s", line);
    return true;
  }
  return false;
}

static void check(const entry *e) {
  char folder[TEST_PATH], path[TEST_PATH], wanted[512], found[512];
  furrow_matrix_meta *meta = NULL;
  furrow_error err = {0};
  reject_path(folder, "");
  reject_path(path, e->file);
  const furrow_status status = furrow_matrix_meta_load(&meta, folder, e->file, &err);
  const long long offset = err.offset == FURROW_NO_OFFSET ? -1 : (long long)err.offset;
  snprintf(wanted, sizeof wanted, "%s %lld %s", e->status, e->offset, e->message);
  snprintf(found, sizeof found, "%s %lld %s", furrow_status_name(status), offset, err.message);
  if (strcmp(found, wanted) != 0) fail_msg("%s: %s\n    not %s", e->file, found, wanted);
  assert_null(meta);
  assert_non_null(strstr(path, err.file));
}

static void listed_files(void **state) {
  (void)state;
  entry e;
  FILE *list = open_list();
  while (read_entry(list, &e)) check(&e);
  fclose(list);
}

/* No file of the folder is forgotten in the list. */
static void all_files_are_listed(void **state) {
  (void)state;
  entry e;
  char path[TEST_PATH];
  size_t listed = 0, found = 0;
  FILE *list = open_list();
  while (read_entry(list, &e)) listed++;
  fclose(list);
  reject_path(path, "");
  DIR *folder = opendir(path);
  assert_non_null(folder);
  for (struct dirent *d; (d = readdir(folder)) != NULL;) found += d->d_name[0] != '.';
  closedir(folder);
  assert_int_equal(found, listed + 1);
  assert_true(listed > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(listed_files),
      cmocka_unit_test(all_files_are_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
