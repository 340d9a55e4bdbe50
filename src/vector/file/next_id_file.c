/* vector/file/next_id_file.c: the file next to an index that says which ids its removed vectors had. Its layout:
 * docs/formats/index_next_id.md. */
#include <errno.h>
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
#include "io/dir_names.h"
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

/* Reads the number of a file; 0: there is no such file, or it is of another kind. */
static int64_t read_number(const char *path) {
  char text[MOST_TEXT];
  fw_input *input = NULL;
  uint64_t size = 0;
  size_t got = 0;
  int64_t number = 0;
  bool overflow = false;
  if (!fw_path_exists(path) || fw_open_regular(&input, &size, path, NULL) != FURROW_OK) return 0;
  const bool read = size < sizeof text && fw_input_read_at(input, text, sizeof text, 0, &got, NULL) == FURROW_OK;
  fw_input_close(input);
  if (!read || got < sizeof title || memcmp(text, title, sizeof title - 1) != 0 || text[got - 1] != '\n') return 0;
  const char *end = text + got - 1;
  if (fw_read_i64(text + sizeof title - 1, end, &number, &overflow) != end || overflow) return 0;
  return number > 0 && number <= FW_IDS_END ? number : 0;
}

furrow_status fw_next_id_load(furrow_index *index, const char *path, furrow_error *err) {
  char *file = NULL;
  if (fw_index_counts_ids(index)) return FURROW_OK;
  FW_TRY(name_file(&file, path, err));
  index->least_id = read_number(file);
  fw_free(file);
  return FURROW_OK;
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

furrow_status fw_next_id_save(const furrow_index *index, const char *path, furrow_error *err) {
  char *file = NULL;
  furrow_status status = FURROW_OK;
  if (index->least_id <= fw_index_next_stored_id(index)) return FURROW_OK;
  if (index->ntotal == 0 && !fw_path_exists(path)) return FURROW_OK; /* a new index of the same quantizers */
  FW_TRY(name_file(&file, path, err));
  if (fw_path_exists(file) && read_number(file) == 0) {
    status = fw_fail(err, FURROW_E_EXISTS, "is in the way: it does not tell the next id of an index");
    fw_error_set_file(err, file);
  }
  if (status == FURROW_OK) status = write_number(index->least_id, file, path, err);
  fw_free(file);
  return status;
}

furrow_status fw_next_id_drop(const furrow_index *index, const char *path, furrow_error *err) {
  char *file = NULL;
  furrow_status status = FURROW_OK;
  FW_TRY(name_file(&file, path, err));
  if (read_number(file) > 0 && (!index || index->least_id <= fw_index_next_stored_id(index))) {
    if (unlink(file) != 0 && errno != ENOENT) {
      status = fw_fail_errno(err, FURROW_E_IO, errno, "cannot be removed");
      fw_error_set_file(err, file);
    }
    if (status == FURROW_OK) status = fw_path_sync_names(file, err);
  }
  fw_free(file);
  return status;
}
