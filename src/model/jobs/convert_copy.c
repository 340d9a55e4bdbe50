/* model/jobs/convert_copy.c: copies a matrix that does not change, after reading and checking every record. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "io/target.h"
#include "model/jobs/convert.h"
#include "model/read/source.h"

#define BUFFER_SIZE ((size_t)1 << 20)

/* ---- reading ---- */

typedef struct checker {
  fw_convert *convert;
  const furrow_matrix_meta *meta;
  atomic_uchar *begun; /* partitions whose bytes were reported */
  atomic_ullong elements;
} checker;

static furrow_status check_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  checker *c = user;
  const bool first = !atomic_exchange(&c->begun[part], 1);
  atomic_fetch_add(&c->elements, panel->rows * panel->cols);
  return fw_convert_progress(c->convert, first ? (uint64_t)c->meta->parts[part].length : 0, err);
}

static furrow_status check_source(fw_convert *convert, const furrow_matrix_source *source, furrow_error *err) {
  checker c = {.convert = convert, .meta = furrow_matrix_source_meta(source)};
  furrow_status status = FW_ALLOC_ZERO(&c.begun, c.meta->part_count, err);
  if (status != FURROW_OK) return status;
  furrow_matrix_scan_params params;
  furrow_matrix_scan_params_init(&params);
  params.threads = convert->threads;
  status = furrow_matrix_for_each_panel(source, &params, check_panel, &c, err);
  convert->result.elements += atomic_load(&c.elements);
  fw_free(c.begun);
  return status;
}

/* ---- copying ---- */

static furrow_status copy_bytes(fw_convert *convert, const fw_input *from, int to, const char *to_path,
                                const char *name, uint64_t *size, furrow_error *err) {
  void *buffer = NULL;
  size_t got = 0;
  furrow_status status = fw_alloc(&buffer, BUFFER_SIZE, 1, err);
  *size = 0;
  while (status == FURROW_OK) {
    status = fw_input_read_at(from, buffer, BUFFER_SIZE, *size, &got, err);
    if (status != FURROW_OK || got == 0) break;
    const int errnum = fw_write_at(to, buffer, got, *size);
    if (errnum != 0) status = fw_fail_file(err, errnum, to_path, name, "cannot write");
    *size += got;
    if (status == FURROW_OK) status = fw_convert_progress(convert, 0, err);
  }
  fw_free(buffer);
  return status;
}

/* Following the link would let the author of the folder copy any file that this user can read. */
static furrow_status refuse_link(const char *folder, const char *name, furrow_error *err) {
  fw_fail(err, FURROW_E_UNSUPPORTED, "%s is a link to a file outside the folder, and not a data file of the matrix",
          name);
  fw_error_set_file(err, folder);
  fw_error_set_hint(err, "put the file itself in its place, or remove it");
  return FURROW_E_UNSUPPORTED;
}

/* A pipe, socket or device cannot be copied, and must not be left out silently. */
static furrow_status refuse_odd(const char *folder, const char *name, furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "%s is neither a file nor a folder", name);
  fw_error_set_file(err, folder);
  return FURROW_E_FORMAT;
}

/* follow: links are allowed. Data files may be links, because their contents were checked. */
static furrow_status copy_file(fw_convert *convert, const char *from, const char *name, bool follow, int fd,
                               const char *new_name, const char *to, uint64_t *size, furrow_error *err) {
  char *path;
  fw_input *source = NULL;
  struct stat info;
  mode_t mode = 0666;
  int target = -1;
  furrow_status status = fw_path_join(&path, from, name, err);
  if (status != FURROW_OK) return status;
  status = follow || !fw_path_leads_out(path, from) ? fw_input_open(&source, path, err) : refuse_link(from, name, err);
  if (status != FURROW_OK) goto done;
  if (fw_input_stat(source, &info, NULL) == FURROW_OK)
    mode = info.st_mode & 0666; /* the copy gets at most the source's permissions */
  target = openat(fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (target < 0) {
    status = fw_fail_file(err, errno, to, new_name, "cannot create");
    goto done;
  }
  status = copy_bytes(convert, source, target, to, new_name, size, err);
done:
  if (target >= 0) close(target);
  fw_input_close(source);
  fw_free(path);
  return status;
}

furrow_status fw_copy_file(fw_convert *convert, const char *from, const char *name, int fd, const char *new_name,
                           const char *to, uint64_t *size, furrow_error *err) {
  return copy_file(convert, from, name, false, fd, new_name, to, size, err);
}

/* Whether the file is not a leftover of an interrupted writer of Angel or Furrow. */
static bool is_not_leftover(void *user, const char *name) {
  (void)user;
  return strncmp(name, "_tmp.", 5) != 0 && !fw_target_is_temporary(name);
}

static int compare_name(const void *name, const void *file) {
  return strcmp(name, strrchr(((const fw_source_file *)file)->path, '/') + 1);
}

/* The files of a source are sorted by name. */
static bool is_data_file(const furrow_matrix_source *source, const char *name) {
  return source->file_count > 0 &&
         bsearch(name, source->files, source->file_count, sizeof *source->files, compare_name) != NULL;
}

static furrow_status copy_entry(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                                const char *name, int fd, const char *path, furrow_error *err) {
  const char *folder = furrow_matrix_source_folder(source);
  const bool renamed = plan->meta_name && strcmp(name, furrow_matrix_source_meta_name(source)) == 0;
  struct stat info;
  char *full;
  uint64_t size;
  if (plan->meta_name && strcmp(name, plan->meta_name) == 0) return FURROW_OK; /* the new metadata file has this name */
  furrow_status status = fw_path_join(&full, folder, name, err);
  if (status != FURROW_OK) return status;
  const bool there = fw_path_stat(full, &info, NULL) == FURROW_OK;
  fw_free(full);
  if (there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return refuse_odd(folder, name, err);
  if (!there || !S_ISREG(info.st_mode)) return FURROW_OK;
  const bool checked = is_data_file(source, name) || strcmp(name, furrow_matrix_source_meta_name(source)) == 0;
  status = copy_file(convert, folder, name, checked, fd, renamed ? plan->meta_name : name, path, &size, err);
  if (status == FURROW_OK && is_data_file(source, name)) convert->result.bytes += size;
  return status == FURROW_OK ? fw_convert_progress(convert, 0, err) : status;
}

furrow_status fw_convert_copy(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                              int fd, const char *path, furrow_error *err) {
  fw_dir_names files = {0};
  furrow_status status = check_source(convert, source, err);
  if (status == FURROW_OK)
    status = fw_dir_names_read(&files, furrow_matrix_source_folder(source), is_not_leftover, NULL, err);
  for (size_t i = 0; i < files.count && status == FURROW_OK; i++)
    status = copy_entry(convert, source, plan, files.names[i], fd, path, err);
  fw_dir_names_clear(&files);
  return status;
}
