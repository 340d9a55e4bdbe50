/* learn/checkpoint/checkpoint_folder.c: the folder of checkpoints: whose it is, and what killed trainings left in it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/target.h"
#include "learn/checkpoint/checkpoint_layout.h"

furrow_status fw_checkpoint_make_folder(const char *folder, furrow_error *err) {
  if (mkdir(folder, 0777) == 0 || errno == EEXIST) return fw_path_sync_names(folder, err);
  furrow_status status = fw_fail_errno(err, errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO, errno,
                                       "cannot make the folder of a checkpoint");
  fw_error_set_file(err, folder);
  return status;
}

static furrow_status lock_folder(furrow_file_lock **lock, const char *folder, furrow_error *err) {
  FW_TRY(fw_checkpoint_make_folder(folder, err));
  return furrow_file_lock_open(lock, folder, err);
}

furrow_status fw_checkpoint_lock(furrow_file_lock **lock, const char *folder, const furrow_comm *comm,
                                 furrow_error *err) {
  return fw_comm_share_status(comm, fw_comm_is_first(comm) ? lock_folder(lock, folder, err) : FURROW_OK, err);
}

static furrow_status check_replaced(const char *folder, furrow_error *err) {
  char *path = NULL;
  FW_TRY(fw_checkpoint_name_file(&path, folder, err));
  furrow_status status = fw_checkpoint_check_magic(path, err);
  if (status == FURROW_E_NOT_FOUND) status = FURROW_OK;
  if (status == FURROW_E_FORMAT) {
    status = fw_fail(err, FURROW_E_EXISTS, "is in the way: it is not a checkpoint of a training");
    fw_error_set_file(err, path);
  }
  fw_free(path);
  return status;
}

furrow_status fw_checkpoint_check_replaced(const char *folder, const furrow_comm *comm, furrow_error *err) {
  return fw_comm_share_status(comm, fw_comm_is_first(comm) ? check_replaced(folder, err) : FURROW_OK, err);
}

/* ---- What is left over ----------------------------------------------------------------------------------------- */

/* A part of another checkpoint than the one that is kept, or what a killed process left behind. */
static bool is_left_over(void *user, const char *name) {
  const fw_checkpoint_wanted *wanted = user;
  static const char temporary[] = "." FW_CHECKPOINT_NAME ".furrow-";
  uint64_t id = 0;
  const char *end = "";
  if (name[0] != '.')
    return !wanted->damaged && fw_checkpoint_is_part(name, &id, &end) && !*end &&
           !(wanted->keeps && id == wanted->kept);
  if (!wanted->all) return false;
  return strncmp(name, temporary, sizeof temporary - 1) == 0 ||
         (fw_checkpoint_is_part(name + 1, &id, &end) && fw_target_is_temporary(name) && end[0] == '.');
}

/* What stays does no harm. */
furrow_status fw_checkpoint_remove_left(const char *folder, const fw_checkpoint_wanted *wanted, furrow_error *err) {
  fw_dir_names left = {0};
  fw_checkpoint_wanted copy = *wanted;
  furrow_status status = fw_dir_names_read(&left, folder, is_left_over, &copy, err);
  for (size_t i = 0; status == FURROW_OK && i < left.count; i++) {
    char *path = NULL;
    status = fw_path_join(&path, folder, left.names[i], err);
    if (status == FURROW_OK) (void)remove(path);
    if (status == FURROW_OK && i + 1 == left.count) status = fw_path_sync_names(path, err);
    fw_free(path);
  }
  fw_dir_names_clear(&left);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

/* Parts that the checkpoint does not name: their training was killed before it could. */
static furrow_status tidy(const char *folder, furrow_error *err) {
  fw_checkpoint_wanted wanted = {.all = true};
  unsigned char *head = NULL;
  char *path = NULL;
  FW_TRY(fw_checkpoint_name_file(&path, folder, err));
  const furrow_status status = fw_checkpoint_read_head(path, &head, err);
  if (status == FURROW_OK && fw_checkpoint_is_in_parts(head))
    wanted.kept = fw_get_le64(fw_checkpoint_table(head)), wanted.keeps = true;
  wanted.damaged = status == FURROW_E_FORMAT;
  fw_free(head);
  fw_free(path);
  if (status != FURROW_OK && status != FURROW_E_FORMAT && status != FURROW_E_NOT_FOUND) return status;
  return fw_checkpoint_remove_left(folder, &wanted, err);
}

furrow_status fw_checkpoint_tidy(const char *folder, const furrow_comm *comm, furrow_error *err) {
  return fw_comm_share_status(comm, fw_comm_is_first(comm) ? tidy(folder, err) : FURROW_OK, err);
}
