/* vector/file/regular_file.c: a file that can be read at any place and mapped. */
#include "vector/file/regular_file.h"

#include "base/error.h"

static furrow_status refuse(const char *path, furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "is no regular file, which an index must be");
  if (err) fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_open_regular(fw_input **input, uint64_t *size, const char *path, furrow_error *err) {
  struct stat info;
  /* looked at before it is opened, which may wait for ever, and after, when it stays what it is */
  if (fw_path_stat(path, &info, NULL) == FURROW_OK && !S_ISREG(info.st_mode)) return refuse(path, err);
  fw_input *opened = NULL;
  furrow_status status = fw_input_open(&opened, path, err);
  if (status != FURROW_OK) return status;
  if (fw_input_stat(opened, &info, NULL) != FURROW_OK || !S_ISREG(info.st_mode)) {
    fw_input_close(opened);
    return refuse(path, err);
  }
  *input = opened;
  *size = (uint64_t)info.st_size;
  return FURROW_OK;
}
