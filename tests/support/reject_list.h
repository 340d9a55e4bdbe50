/* tests/support/reject_list.h: the folders of tests/reject and their lists, a line for each file that must be refused.
 */
#ifndef REJECT_LIST_H
#define REJECT_LIST_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "support/cmocka_all.h"
#include "support/test_env.h"

enum { REJECT_LINE = 1024 };

/* tests/reject/FOLDER/NAME; "" for the folder itself. It lies beside the folder of this header. */
static inline void reject_path(char path[TEST_PATH], const char *folder, const char *name) {
  static const char here[] = __FILE__;
  const char *support = strstr(here, "support/reject_list.h");
  assert_non_null(support);
  snprintf(path, TEST_PATH, "%.*sreject/%s%s%s", (int)(support - here), here, folder, folder[0] && name[0] ? "/" : "",
           name);
}

static inline FILE *reject_list_open(const char *folder) {
  char path[TEST_PATH];
  reject_path(path, folder, "list");
  FILE *list = fopen(path, "r");
  if (!list) skip(); /* the sources are not where they were */
  return list;
}

/* The next line that is no comment; false: there is none. */
static inline bool reject_list_next(FILE *list, char line[REJECT_LINE]) {
  while (fgets(line, REJECT_LINE, list))
    if (line[0] != '#') return true;
  return false;
}

static inline size_t reject_list_count(const char *folder) {
  char line[REJECT_LINE];
  size_t count = 0;
  FILE *list = reject_list_open(folder);
  while (reject_list_next(list, line)) count++;
  fclose(list);
  return count;
}

/* What is in a folder beside its list. */
static inline size_t reject_file_count(const char *folder) {
  char path[TEST_PATH];
  size_t count = 0;
  reject_path(path, folder, "");
  DIR *handle = opendir(path);
  assert_non_null(handle);
  for (struct dirent *d; (d = readdir(handle)) != NULL;) count += d->d_name[0] != '.' && strcmp(d->d_name, "list") != 0;
  closedir(handle);
  return count;
}

/* No file of the folder is forgotten in its list. */
static inline void reject_list_is_complete(const char *folder) {
  const size_t listed = reject_list_count(folder);
  assert_int_equal(reject_file_count(folder), listed);
  assert_true(listed > 0);
}

#endif
