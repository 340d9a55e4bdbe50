/* vector/file/index_write_disk.c: a new data file with the lists of an index (ilod).
 *
 * No single step can give two files their names, and the index does not say which contents its data file must have. So
 * a data file is always new: it gets its name first, then the index does. So whenever the process is stopped, the
 * previous index still has its own, separate data file. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/file_system.h"
#include "io/input.h"
#include "vector/file/index_write.h"
#include "vector/index/inverted_lists.h"

/* ---- Checks --------------------------------------------------------------------------------------------- */

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

furrow_status fw_lists_file_init(fw_index_writer *w, const furrow_index *index, const furrow_index_save_params *params,
                                 furrow_error *err) {
  const furrow_index *ivf = furrow_index_ivf(index);
  const char *name = last_part(params->lists_file);
  if (params->inline_lists)
    return fw_fail(err, FURROW_E_ARGUMENT, "lists are written to the index file here, so lists_file cannot be used");
  if (!ivf)
    return fw_fail(err, FURROW_E_ARGUMENT, "an index of %s has no inverted lists for a data file",
                   furrow_index_kind_name(fw_skip_transforms(index)->kind));
  if (ivf->ivf.lists.kind == FURROW_LISTS_BLOCKS)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the lists of an index of %s cannot be in a data file",
                   furrow_index_kind_name(ivf->kind));
  if (!fw_compat_reads(w->compat, FW_COMPAT_LISTS))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "lists in a data file are read by Faiss since 1.2.1");
  if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "the data file of the lists needs a name");
  FW_TRY(fw_lists_check_contents(&ivf->ivf.lists, err));
  w->lists_of = ivf;
  w->lists_file = params->lists_file;
  return FURROW_OK;
}

static furrow_status stat_folder(const char *path, struct stat *found, furrow_error *err) {
  const char *slash = strrchr(path, '/');
  char *folder = NULL;
  const size_t length = slash ? (size_t)(slash - path) + 1 : 0;
  FW_TRY(FW_ALLOC(&folder, length + 2, err));
  memcpy(folder, slash ? path : ".", length ? length : 1);
  folder[length ? length : 1] = 0;
  furrow_status status = FURROW_OK;
  if (stat(folder, found) != 0) {
    status = errno == ENOENT || errno == ENOTDIR ? FURROW_E_NOT_FOUND : FURROW_E_IO;
    fw_fail_errno(err, status, errno, "cannot look at its directory");
    fw_error_set_file(err, path);
  }
  fw_free(folder);
  return status;
}

static furrow_status fail_data(furrow_error *err, furrow_status status, const char *data, const char *message) {
  fw_fail(err, status, "%s", message);
  fw_error_set_file(err, data);
  return status;
}

/* A reader looks for the data file in the folder of the index alone. */
static furrow_status check_place(const char *data, const char *index, furrow_error *err) {
  struct stat a, b;
  FW_TRY(stat_folder(data, &a, err));
  FW_TRY(stat_folder(index, &b, err));
  if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
    return fail_data(err, FURROW_E_ARGUMENT, data,
                     "the data file of the lists must be in the folder of the index, where readers look for it");
  if (strcmp(last_part(data), last_part(index)) == 0)
    return fail_data(err, FURROW_E_ARGUMENT, data, "the index and the data file of its lists need different names");
  return FURROW_OK;
}

/* Whether two paths are the same file. */
static bool is_same(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(a, b) == 0) return true;
  if (!fw_path_is_local(a) || !fw_path_is_local(b)) return false;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether two files are in the same folder, and have the same name there. */
static bool is_same_place(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(last_part(a), last_part(b)) != 0 || !fw_path_is_local(a) || !fw_path_is_local(b)) return false;
  if (stat_folder(a, &x, NULL) != FURROW_OK || stat_folder(b, &y, NULL) != FURROW_OK) return false;
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

furrow_status fw_lists_file_check_kept(const furrow_index *index, const fw_index_writer *writer, const char *path,
                                       furrow_error *err) {
  const furrow_index *ivf = furrow_index_ivf(index);
  const fw_disk *disk = ivf && ivf->ivf.lists.kind == FURROW_LISTS_ON_DISK ? ivf->ivf.lists.disk : NULL;
  fw_buffer text = {0};
  char *wanted = NULL;
  if (!disk || !disk->path || writer->inline_lists || writer->lists_file || strcmp(path, "-") == 0) return FURROW_OK;
  fw_buffer_append(&text, path, (size_t)(last_part(path) - path));
  fw_buffer_text(&text, last_part(disk->file_name));
  furrow_status status = fw_buffer_take(&text, &wanted, NULL, err);
  if (status == FURROW_OK && !is_same(disk->path, wanted) &&
      (fw_path_exists(disk->path) || !is_same_place(disk->path, wanted))) {
    status = fw_fail(err, FURROW_E_ARGUMENT,
                     "its lists stay in the data file %s, but readers would look for them in %s", disk->path, wanted);
    fw_error_set_file(err, path);
    fw_error_set_hint(err, "lists_file writes them to a new data file; inline_lists copies them into the index");
  }
  fw_buffer_clear(&text);
  fw_free(wanted);
  return status;
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

furrow_status fw_lists_file_open(fw_atomic_file **data, const fw_index_writer *writer, const char *path,
                                 furrow_error *err) {
  if (!writer->lists_file) return FURROW_OK;
  const char *local = writer->lists_file;
  FW_TRY(fw_path_to_local(&local, "a data file of lists is mapped, so it must be on this machine", err));
  if (strcmp(path, "-") == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "an index with a data file cannot be written to standard output");
  FW_TRY(check_place(writer->lists_file, path, err));
  if (fw_path_exists(writer->lists_file)) {
    fail_data(err, FURROW_E_EXISTS, writer->lists_file,
              "exists already, and a data file of lists is never replaced: an index may use it");
    fw_error_set_hint(err, "name a new file, or remove this one if no index uses it");
    return FURROW_E_EXISTS;
  }
  FW_TRY(fw_atomic_file_open_beside(data, writer->lists_file, path, err));
  fw_atomic_file_keep_existing(*data);
  return FURROW_OK;
}

void fw_lists_file_close(fw_atomic_file *data, const fw_index_writer *writer, bool drop) {
  if (!data) return;
  if (drop && fw_atomic_file_is_in_place(data)) unlink(writer->lists_file);
  fw_atomic_file_close(data);
}
