/* model/write/model_writer.c: writes a model directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/target.h"
#include "model/write/matrix_writer.h"

struct furrow_model_writer {
  fw_atomic_dir *dir;
  size_t open; /* matrices that are being written */
  bool joined; /* another process owns the directory and makes the folders */
  bool committed;
};

bool fw_is_file_name(const char *name) {
  return name && name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

furrow_status fw_check_meta_name(const char *name, furrow_error *err) {
  if (strcmp(name, "_meta") == 0 || strcmp(name, "meta") == 0) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "a metadata file is called _meta or meta");
  fw_error_set_token(err, name, strlen(name));
  return FURROW_E_ARGUMENT;
}

furrow_status fw_fail_file(furrow_error *err, int errnum, const char *folder, const char *name, const char *what) {
  char path[sizeof err->file];
  fw_fail_errno(err, FURROW_E_IO, errnum, "%s", what);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  fw_error_set_file(err, path);
  return FURROW_E_IO;
}

furrow_status furrow_model_writer_open(furrow_model_writer **writer, const char *folder,
                                       const furrow_matrix_write_params *given, furrow_error *err) {
  furrow_matrix_write_params params;
  furrow_matrix_write_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_write_params, err));
  furrow_model_writer *opened;
  FW_TRY(FW_ALLOC_ZERO(&opened, 1, err));
  furrow_status status =
      fw_atomic_dir_open(&opened->dir, folder, params.overwrite ? fw_model_check_overwrite : NULL, err);
  return FW_HAND_OVER(status, writer, opened, fw_free);
}

furrow_status fw_model_writer_join(furrow_model_writer **writer, const char *folder, const char *temporary,
                                   furrow_error *err) {
  furrow_model_writer *opened;
  FW_TRY(FW_ALLOC_ZERO(&opened, 1, err));
  opened->joined = true;
  furrow_status status = fw_atomic_dir_join(&opened->dir, folder, temporary, err);
  return FW_HAND_OVER(status, writer, opened, fw_free);
}

const char *fw_model_writer_temporary(const furrow_model_writer *model) {
  return fw_atomic_dir_temporary(model->dir);
}

furrow_status fw_write_file(int folder, const char *name, const void *bytes, size_t size, const char *path,
                            furrow_error *err) {
  int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST) {
    fw_fail_file(err, EEXIST, path, name, "cannot create");
    if (err) err->status = FURROW_E_EXISTS;
    return FURROW_E_EXISTS;
  }
  if (fd < 0) return fw_fail_file(err, errno, path, name, "cannot create");
  int errnum = fw_write_at(fd, bytes, size, 0);
  if (close(fd) != 0 && errnum == 0 && errno != EINTR) errnum = errno;
  return errnum == 0 ? FURROW_OK : fw_fail_file(err, errnum, path, name, "cannot write");
}

static furrow_status check_open(const furrow_model_writer *writer, furrow_error *err) {
  if (!writer->committed) return FURROW_OK;
  furrow_status status = fw_fail(err, FURROW_E_STATE, "the model is complete already");
  fw_error_set_file(err, fw_atomic_dir_path(writer->dir));
  return status;
}

furrow_status furrow_model_writer_write_file(furrow_model_writer *writer, const char *name, const void *bytes,
                                             size_t size, furrow_error *err) {
  FW_TRY(check_open(writer, err));
  if (!fw_is_file_name(name)) return fw_fail(err, FURROW_E_ARGUMENT, "not the name of a file in a model");
  return fw_write_file(fw_atomic_dir_fd(writer->dir), name, bytes, size, fw_atomic_dir_path(writer->dir), err);
}

furrow_status fw_model_writer_enter(furrow_model_writer *model, const char *name, int *fd, furrow_error *err) {
  furrow_status status = check_open(model, err);
  if (status == FURROW_OK)
    status = (model->joined ? fw_dir_enter : fw_dir_make)(fd, fw_atomic_dir_fd(model->dir), name,
                                                          fw_atomic_dir_path(model->dir), err);
  if (status == FURROW_OK) model->open++;
  return status;
}

void fw_model_writer_leave(furrow_model_writer *model, const char *name, bool complete) {
  model->open--;
  if (!complete && !model->joined) fw_dir_remove(fw_atomic_dir_fd(model->dir), name);
}

int fw_model_writer_fd(const furrow_model_writer *model) {
  return fw_atomic_dir_fd(model->dir);
}

const char *fw_model_writer_path(const furrow_model_writer *model) {
  return fw_atomic_dir_path(model->dir);
}

furrow_status furrow_model_writer_commit(furrow_model_writer *writer, furrow_error *err) {
  furrow_status status = check_open(writer, err);
  if (status != FURROW_OK) return status;
  if (writer->open > 0) {
    fw_fail(err, FURROW_E_STATE, "%zu matrices of the model are still being written", writer->open);
    fw_error_set_file(err, fw_atomic_dir_path(writer->dir));
    return FURROW_E_STATE;
  }
  status = fw_atomic_dir_commit(writer->dir, err);
  writer->committed = status == FURROW_OK;
  return status;
}

void furrow_model_writer_close(furrow_model_writer *writer) {
  if (!writer) return;
  fw_atomic_dir_close(writer->dir);
  fw_free(writer);
}
