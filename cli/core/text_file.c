/* cli/core/text_file.c: small text files, which appear complete or not at all. */
#include "core/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/written.h"
#include "furrow/io.h"

enum { PATH_BYTES = 4096 };

bool path_ends(const char *path, const char *ending) {
  const size_t n = strlen(path), m = strlen(ending);
  return n >= m && strcmp(path + n - m, ending) == 0;
}

const char *path_folder(const char *path, char *folder, size_t size) {
  const char *slash = strrchr(path, '/');
  snprintf(folder, size, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  return slash ? slash + 1 : path;
}

furrow_status text_file_check(const char *path, bool force, furrow_error *err) {
  char folder[PATH_BYTES];
  const furrow_status status = written_check_path(path, force, err);
  if (status != FURROW_OK || path_is_named(path)) return status;
  if (strlen(path) >= sizeof folder) return fail_file(err, FURROW_E_ARGUMENT, path, "the path is too long", 0);
  path_folder(path, folder, sizeof folder);
  return access(folder, W_OK | X_OK) == 0 ? FURROW_OK : fail_file(err, FURROW_E_IO, path, "cannot be written", errno);
}

bool path_is_named(const char *path) {
  return strstr(path, "://") != NULL;
}

bool path_is_there(const char *path) {
  furrow_file_info info;
  if (!path_is_named(path)) return access(path, F_OK) == 0;
  return furrow_path_look(path, &info, NULL) != FURROW_E_NOT_FOUND;
}

bool path_is_folder(const char *path) {
  furrow_file_info info;
  return furrow_path_look(path, &info, NULL) == FURROW_OK && info.kind == FURROW_FILE_FOLDER;
}

furrow_status names_sync(const char *path, furrow_error *err) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  while (length > 0 && path[length - 1] != '/') length--;
  char *folder = length ? strndup(path, length) : strdup(".");
  if (!folder) return fail_memory(err);
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int errnum = fd < 0 || fsync(fd) != 0 ? errno : 0;
  if (fd >= 0) close(fd);
  free(folder);
  if (errnum == 0 || errnum == EINVAL || (fd < 0 && errnum == EACCES)) return FURROW_OK;
  return fail_file(err, FURROW_E_IO, path, "written, but its directory cannot be synced to disk", errnum);
}

furrow_status text_file_write(const char *path, const char *text, size_t size, bool force, furrow_error *err) {
  furrow_status status = text_file_check(path, force, err);
  if (status != FURROW_OK) return status;
  const bool fresh = interrupt_catch();
  status = furrow_file_save(path, text, size, force, err);
  interrupt_release(fresh, status);
  return status;
}

furrow_status text_file_begin(text_file *file, furrow_error *err) {
  *file = (text_file){0};
  file->out = open_memstream(&file->text, &file->size);
  return file->out ? FURROW_OK : fail_memory(err);
}

bool text_file_close(text_file *file) {
  const bool failed = ferror(file->out) != 0;
  return fclose(file->out) == 0 && !failed && file->text; /* NULL: memory ran out in fclose */
}

furrow_status text_file_end(text_file *file, const char *path, bool force, furrow_error *err) {
  furrow_status status = text_file_close(file) ? FURROW_OK : FURROW_E_MEMORY;
  if (status != FURROW_OK && path) (void)fail_memory(err);
  if (status == FURROW_OK && path) status = text_file_write(path, file->text, file->size, force, err);
  free(file->text);
  return status;
}
