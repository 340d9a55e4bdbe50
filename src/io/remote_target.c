/* io/remote_target.c: what is written to a server is complete on this machine before the first byte is sent. */
#include "io/remote_target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/file_system.h"

/* ---- One file ------------------------------------------------------------------------------------------- */

static furrow_status path_inside(char **path, const char *folder, const char *inside, furrow_error *err) {
  fw_buffer text = {0};
  fw_buffer_format(&text, "%s%s%s", folder, inside[0] ? "/" : "", inside);
  const furrow_status status = fw_buffer_take(&text, path, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

static furrow_status fail_call(const fw_target *t, const char *inside, furrow_status status, furrow_error *said,
                               furrow_error *err) {
  char *path = NULL;
  if (status == FURROW_OK) return FURROW_OK;
  if (path_inside(&path, t->path, inside, NULL) == FURROW_OK) fw_error_set_file(said, path);
  status = fw_callback_failed(status, said, t->path, err);
  fw_free(path);
  return status;
}

furrow_status fw_target_look(const fw_target *t, bool *there, bool *is_folder, furrow_error *err) {
  const furrow_file_system *calls = fw_file_system_calls(t->system);
  furrow_file_info info = {.kind = FURROW_FILE_REGULAR};
  furrow_error error;
  fw_callback_begin(&error, "look at the file");
  const furrow_status status = calls->stat(calls->user, t->rest, &info, &error);
  *there = status == FURROW_OK;
  *is_folder = *there && info.kind == FURROW_FILE_FOLDER;
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : fail_call(t, "", status, &error, err);
}

furrow_status fw_target_check(const fw_target *t, const char *inside, furrow_error *err) {
  furrow_error error;
  char *path = NULL;
  FW_TRY(path_inside(&path, t->rest, inside, err));
  fw_callback_begin(&error, "write");
  const furrow_status status = t->store->check(fw_file_system_calls(t->system)->user, path, &error);
  fw_free(path);
  return fail_call(t, "", status, &error, err);
}

furrow_status fw_target_begin(const fw_target *t, const char *inside, int fd, uint64_t size, void **upload,
                              furrow_error *err) {
  furrow_error error;
  char *path = NULL;
  FW_TRY(path_inside(&path, t->rest, inside, err));
  fw_callback_begin(&error, "write");
  const furrow_status status = t->store->begin(fw_file_system_calls(t->system)->user, path, fd, size, upload, &error);
  fw_free(path);
  return fail_call(t, inside, status, &error, err);
}

furrow_status fw_target_finish(const fw_target *t, void *upload, bool only_new, furrow_error *err) {
  furrow_error error;
  fw_callback_begin(&error, "write");
  const furrow_status status = t->store->finish(fw_file_system_calls(t->system)->user, upload, only_new, &error);
  return fail_call(t, "", status, &error, err);
}

void fw_target_drop(const fw_target *t, void *upload) {
  if (upload) t->store->close(fw_file_system_calls(t->system)->user, upload);
}

furrow_status fw_target_remove(const fw_target *t, const char *inside, furrow_error *err) {
  furrow_error error;
  char *path = NULL;
  FW_TRY(path_inside(&path, t->rest, inside, err));
  fw_callback_begin(&error, "remove the file");
  const furrow_status status = t->store->remove(fw_file_system_calls(t->system)->user, path, &error);
  fw_free(path);
  return fail_call(t, inside, status, &error, err);
}

/* ---- Paths anywhere -------------------------------------------------------------------------------------- */

static furrow_status fail_errno(const char *path, const char *what, furrow_error *err) {
  const furrow_status status = errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO;
  fw_fail_errno(err, status, errno, "%s", what);
  fw_error_set_file(err, path);
  return status;
}

static furrow_status change_there(const fw_file_system *system, const char *rest, const char *path, const char *to,
                                  furrow_error *err) {
  const fw_remote_store *store = fw_file_system_store(system);
  void *user = fw_file_system_calls(system)->user;
  furrow_error error;
  if (!store) return fw_fail_to_write(path, err);
  fw_callback_begin(&error, to ? "rename the file" : "remove the file");
  const furrow_status status = to ? store->rename(user, rest, to, &error) : store->remove(user, rest, &error);
  return status == FURROW_OK ? status : fw_callback_failed(status, &error, path, err);
}

furrow_status fw_path_remove(const char *path, furrow_error *err) {
  fw_file_system *system;
  const char *rest;
  FW_TRY(fw_file_system_hold(path, &system, &rest, err));
  furrow_status status = FURROW_OK;
  if (system)
    status = change_there(system, rest, path, NULL, err);
  else if (unlink(rest) != 0 && errno != ENOENT)
    status = fail_errno(path, "cannot be removed", err);
  fw_file_system_let_go(system);
  return status;
}

furrow_status fw_path_rename(const char *from, const char *to, furrow_error *err) {
  fw_file_system *system, *other = NULL;
  const char *rest, *to_rest;
  FW_TRY(fw_file_system_hold(from, &system, &rest, err));
  furrow_status status = fw_file_system_hold(to, &other, &to_rest, err);
  if (status == FURROW_OK && system)
    status = change_there(system, rest, from, to_rest, err);
  else if (status == FURROW_OK && rename(rest, to_rest) != 0)
    status = fail_errno(from, "cannot be renamed", err);
  fw_file_system_let_go(other);
  fw_file_system_let_go(system);
  return status;
}
