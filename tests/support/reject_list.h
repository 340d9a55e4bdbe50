/* tests/support/reject_list.h: the folders of tests/reject and their lists, a line for each file that must be refused.
 */
#ifndef REJECT_LIST_H
#define REJECT_LIST_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "furrow/status.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

enum { REJECT_LINE = 1024 };

/* tests/reject/FOLDER/NAME; "" for the folder itself. */
static inline void reject_path(char path[TEST_PATH], const char *folder, const char *name) {
  char inside[256];
  snprintf(inside, sizeof inside, "tests/reject/%s%s%s", folder, folder[0] && name[0] ? "/" : "", name);
  test_source_path(path, inside);
}

static inline FILE *reject_list_open(const char *folder) {
  char path[TEST_PATH];
  reject_path(path, folder, "list");
  FILE *list = fopen(path, "r");
  if (!list) fail_msg("%s cannot be opened", path);
  return list;
}

/* The next line that is not a comment; false: the list has ended. */
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

/* ---- Lists of folders: folder, status, file in it, byte, message ---- */

typedef struct reject_entry {
  char folder[64], status[16], file[64], offset[24], message[256];
} reject_entry;

static inline bool reject_entry_next(FILE *list, reject_entry *e) {
  char line[REJECT_LINE];
  if (!reject_list_next(list, line)) return false;
  const int n = sscanf(line, "%63s %15s %63s %23s %255[^\n]", e->folder, e->status, e->file, e->offset, e->message);
  if (n != 5) fail_msg("the list has a line that is not one: %s", line);
  return true;
}

/* Everything about the error in one line; the file without what stands before the folder. */
static inline void reject_tell(char text[512], const char *folder, furrow_status status, const furrow_error *told) {
  const char *file = strstr(told->file, folder);
  char offset[24] = "-";
  if (told->offset != FURROW_NO_OFFSET) snprintf(offset, sizeof offset, "%llu", (unsigned long long)told->offset);
  file = file ? file + strlen(folder) : "";
  snprintf(text, 512, "%s %s %s %s", furrow_status_name(status), file[0] ? file + 1 : "-", offset, told->message);
}

static inline void reject_entry_check(const reject_entry *e, furrow_status status, const furrow_error *told) {
  char wanted[512], found[512];
  snprintf(wanted, sizeof wanted, "%s %s %s %s", e->status, e->file, e->offset, e->message);
  reject_tell(found, e->folder, status, told);
  assert_int_equal(told->status, status);
  if (strcmp(found, wanted) != 0) fail_msg("%s: %s\n    not %s", e->folder, found, wanted);
}

#endif
