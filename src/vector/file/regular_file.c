/* vector/file/regular_file.c: a file that can be read at any place and mapped. */
#include "vector/file/regular_file.h"

#include <sys/stat.h>

#include "base/error.h"
#include "io/stream.h"

static furrow_status refuse(const char *path, furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "is no regular file, which an index must be");
  if (err) fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_open_regular(int *fd, uint64_t *size, const char *path, furrow_error *err) {
  struct stat info;
  /* looked at before it is opened, which may wait for ever, and after, when it stays what it is */
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return refuse(path, err);
  int opened;
  furrow_status status = fw_file_open(&opened, path, err);
  if (status != FURROW_OK) return status;
  if (fstat(opened, &info) != 0 || !S_ISREG(info.st_mode)) {
    fw_file_close(opened);
    return refuse(path, err);
  }
  *fd = opened;
  *size = (uint64_t)info.st_size;
  return FURROW_OK;
}
