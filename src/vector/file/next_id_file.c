/* vector/file/next_id_file.c: the file next to an index with the next id, which is above the ids of removed vectors.
 * Its layout: docs/formats/index_next_id.md. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "io/remote_target.h"
#include "vector/file/index_read.h"
#include "vector/file/index_write.h"

static const char title[] = "furrow next id ";
enum { MOST_TEXT = 64 };

/* The file is next to the index itself, not next to a link to it. */
static furrow_status name_file(char **path, const char *index_path, furrow_error *err) {
  char resolved[PATH_MAX];
  struct stat info;
  fw_buffer text = {0};
  const bool linked = fw_path_is_local(index_path) && lstat(index_path, &info) == 0 && S_ISLNK(info.st_mode) &&
                      realpath(index_path, resolved);
  fw_buffer_format(&text, "%s.nextid", linked ? resolved : index_path);
  const furrow_status status = fw_buffer_take(&text, path, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

/* The number in a text; 0: it is of another kind. */
static int64_t parse_number(const char *text, size_t size) {
  const char *end = text + size - 1;
  int64_t number = 0;
  bool overflow = false;
  if (size < sizeof title || memcmp(text, title, sizeof title - 1) != 0 || *end != '\n') return 0;
  if (fw_read_i64(text + sizeof title - 1, end, &number, &overflow) != end || overflow) return 0;
  return number > 0 && number <= FW_IDS_END ? number : 0;
}

/* Reads the number of a file; 0: it is of another kind, or there is no such file. */
static furrow_status read_number(const char *path, int64_t *number, bool *there, furrow_error *err) {
  char text[MOST_TEXT];
  fw_input *input = NULL;
  uint64_t size = 0;
  size_t got = 0;
  struct stat info;
  *number = 0;
  furrow_status status = fw_path_stat(path, &info, err);
  *there = status == FURROW_OK;
  if (status == FURROW_E_NOT_FOUND || (status != FURROW_OK && !fw_path_is_local(path))) return FURROW_OK;
  if (status != FURROW_OK || !S_ISREG(info.st_mode)) return status;
  FW_TRY(fw_open_regular(&input, &size, path, err));
  if (size < sizeof text) status = fw_input_read_at(input, text, sizeof text, 0, &got, err);
  fw_input_close(input);
  if (status == FURROW_OK && got > 0) *number = parse_number(text, got);
  return status;
}

furrow_status fw_next_id_load(furrow_index *index, const char *path, furrow_error *err) {
  char *file = NULL;
  bool there;
  if (fw_index_counts_ids(index)) return FURROW_OK;
  FW_TRY(name_file(&file, path, err));
  const furrow_status status = read_number(file, &index->least_id, &there, err);
  fw_free(file);
  return status;
}

static furrow_status write_number(int64_t number, const char *path, const char *index_path, furrow_error *err) {
  char text[MOST_TEXT];
  fw_atomic_file *file = NULL;
  const int length = snprintf(text, sizeof text, "%s%" PRId64 "\n", title, number);
  FW_TRY(fw_atomic_file_open_beside(&file, path, index_path, err));
  furrow_status status = fw_atomic_file_write(file, text, (size_t)length, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  return status;
}

furrow_status fw_next_id_save(int64_t next, const char *path, furrow_error *err) {
  char *file = NULL;
  int64_t old;
  bool there = false;
  FW_TRY(name_file(&file, path, err));
  furrow_status status = read_number(file, &old, &there, err);
  if (status == FURROW_OK && there && old == 0) {
    status = fw_fail(err, FURROW_E_EXISTS, "is in the way: it does not tell the next id of an index");
    fw_error_set_file(err, file);
  }
  if (status == FURROW_OK) status = write_number(next, file, path, err);
  fw_free(file);
  return status;
}

void fw_next_id_drop(const char *path) {
  char *file = NULL;
  int64_t old;
  bool there;
  if (name_file(&file, path, NULL) != FURROW_OK) return;
  if (read_number(file, &old, &there, NULL) == FURROW_OK && old > 0) (void)!fw_path_remove(file, NULL);
  fw_free(file);
}
