/* model/convert_copy.c: a matrix that does not change: every record is read and checked, then the files are copied. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/stream.h"
#include "io/target.h"
#include "model/convert.h"

#define BUFFER_SIZE ((size_t)1 << 20)

/* ---- reading ---- */

typedef struct checker {
  fw_convert *convert;
  const furrow_matrix_meta *meta;
  atomic_uchar *begun; /* partitions whose bytes were told */
  atomic_ullong elements;
} checker;

static furrow_status check_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  checker *c = user;
  const bool first = !atomic_exchange(&c->begun[part], 1);
  atomic_fetch_add(&c->elements, panel->rows * panel->cols);
  return fw_convert_tell(c->convert, first ? (uint64_t)c->meta->parts[part].length : 0, err);
}

static furrow_status check_source(fw_convert *convert, const furrow_matrix_source *source, furrow_error *err) {
  checker c = {.convert = convert, .meta = furrow_matrix_source_meta(source)};
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, c.meta->part_count, sizeof *c.begun, err);
  if (status != FURROW_OK) return status;
  c.begun = memory;
  status = furrow_matrix_visit(source, NULL, convert->threads, check_panel, &c, err);
  convert->result.elements += atomic_load(&c.elements);
  fw_free(memory);
  return status;
}

/* ---- copying ---- */

static furrow_status copy_bytes(int from, const char *path, int to, const char *to_path, const char *name,
                                uint64_t *size, furrow_error *err) {
  void *buffer = NULL;
  size_t got = 0;
  furrow_status status = fw_alloc(&buffer, BUFFER_SIZE, 1, err);
  *size = 0;
  while (status == FURROW_OK) {
    status = fw_file_read_at(from, path, buffer, BUFFER_SIZE, *size, &got, err);
    if (status != FURROW_OK || got == 0) break;
    const int errnum = fw_write_at(to, buffer, got, *size);
    if (errnum != 0) status = fw_fail_file(err, errnum, to_path, name, "cannot write");
    *size += got;
  }
  fw_free(buffer);
  return status;
}

static furrow_status join_path(char **path, const char *folder, const char *name, furrow_error *err) {
  const size_t a = strlen(folder), b = strlen(name);
  void *memory;
  furrow_status status = fw_alloc(&memory, a + b + 2, 1, err);
  if (status != FURROW_OK) return status;
  *path = memory;
  memcpy(*path, folder, a);
  (*path)[a] = '/';
  memcpy(*path + a + 1, name, b + 1);
  return FURROW_OK;
}

furrow_status fw_copy_file(const char *from, const char *name, int fd, const char *new_name, const char *to,
                           uint64_t *size, furrow_error *err) {
  char *path;
  int source = -1, target = -1;
  furrow_status status = join_path(&path, from, name, err);
  if (status != FURROW_OK) return status;
  status = fw_file_open(&source, path, err);
  if (status != FURROW_OK) goto done;
  target = openat(fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (target < 0) {
    status = fw_fail_file(err, errno, to, new_name, "cannot create");
    goto done;
  }
  status = copy_bytes(source, path, target, to, new_name, size, err);
done:
  if (target >= 0) close(target);
  if (source >= 0) fw_file_close(source);
  fw_free(path);
  return status;
}

/* Files that are left behind by writers: Angel's, and Furrow's (.name.furrow-abcdef). */
static bool is_temporary(const char *name) {
  const char *mark = strstr(name, ".furrow-");
  return strncmp(name, "_tmp.", 5) == 0 || (name[0] == '.' && mark && mark > name && strlen(mark) == 14);
}

static bool is_data_file(const furrow_matrix_meta *meta, const char *name) {
  for (size_t i = 0; i < meta->part_count; i++)
    if (strcmp(meta->parts[i].file_name, name) == 0) return true;
  return false;
}

static furrow_status copy_entry(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                                const char *name, int fd, const char *path, furrow_error *err) {
  const bool renamed = plan->meta_name && strcmp(name, furrow_matrix_source_meta_name(source)) == 0;
  uint64_t size;
  furrow_status status =
      fw_copy_file(furrow_matrix_source_folder(source), name, fd, renamed ? plan->meta_name : name, path, &size, err);
  if (status == FURROW_OK && is_data_file(furrow_matrix_source_meta(source), name)) convert->result.bytes += size;
  return status == FURROW_OK ? fw_convert_tell(convert, 0, err) : status;
}

static furrow_status copy_entries(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                                  DIR *handle, int fd, const char *path, furrow_error *err) {
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK) {
    struct stat info;
    errno = 0;
    struct dirent *entry = readdir(handle);
    if (!entry && errno != 0)
      return fw_fail_file(err, errno, furrow_matrix_source_folder(source), "", "cannot read the directory");
    if (!entry) break;
    if (is_temporary(entry->d_name) || fstatat(dirfd(handle), entry->d_name, &info, 0) != 0) continue;
    if (S_ISREG(info.st_mode)) status = copy_entry(convert, source, plan, entry->d_name, fd, path, err);
  }
  return status;
}

furrow_status fw_convert_copy(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                              int fd, const char *path, furrow_error *err) {
  furrow_status status = check_source(convert, source, err);
  if (status != FURROW_OK) return status;
  DIR *handle = opendir(furrow_matrix_source_folder(source));
  if (!handle) return fw_fail_file(err, errno, furrow_matrix_source_folder(source), "", "cannot list the directory");
  status = copy_entries(convert, source, plan, handle, fd, path, err);
  closedir(handle);
  return status;
}
