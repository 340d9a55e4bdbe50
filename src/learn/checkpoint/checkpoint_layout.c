/* learn/checkpoint/checkpoint_layout.c: epochs as bytes; the folder of checkpoints: names of files, ownership, and
 * files that killed trainings left. */
#include "learn/checkpoint/checkpoint_layout.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "io/target.h"

void fw_checkpoint_clear(fw_checkpoint *checkpoint) {
  fw_free(checkpoint->history);
  fw_buffer_clear(&checkpoint->best_snapshot);
  *checkpoint = (fw_checkpoint){0};
}

/* ---- Epochs ---------------------------------------------------------------------------------------------------- */

static void put_real(unsigned char *at, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  fw_put_le64(at, bits);
}

static double get_real(const unsigned char *at) {
  const uint64_t bits = fw_get_le64(at);
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

void fw_epochs_link(fw_epoch *epochs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    epochs[i].shown.train = &epochs[i].train;
    epochs[i].shown.valid = &epochs[i].valid;
  }
}

/* The figures of metrics in their order in the file. They follow the number of rows and the number of binned rows. */
#define METRICS_FIGURES(X)                                                                                            \
  X(weight), X(loss), X(auc), X(accuracy), X(logloss), X(rmse), X(mae), X(mean_label), X(mean_prediction), X(pr_auc), \
      X(precision), X(recall), X(f1), X(r2), X(constant_logloss), X(constant_accuracy), X(constant_rmse)
#define AT(field) offsetof(furrow_learn_metrics, field)
static const size_t figures[] = {METRICS_FIGURES(AT)};
#undef AT
enum { FIGURES = sizeof figures / sizeof *figures, METRICS_BYTES = 8 * (2 + FIGURES) };
_Static_assert(FW_CHECKPOINT_EPOCH == 24 + 2 * METRICS_BYTES, "an epoch and its figures");

static void put_metrics(unsigned char *at, const furrow_learn_metrics *m) {
  fw_put_le64(at, m->rows);
  fw_put_le64(at + 8, m->binned);
  for (size_t i = 0; i < FIGURES; i++)
    put_real(at + 16 + 8 * i, *(const double *)((const unsigned char *)m + figures[i]));
}

static void get_metrics(const unsigned char *at, furrow_learn_metrics *m) {
  furrow_learn_metrics_init(m);
  m->ndcg = NAN; /* fit.c computes the ndcg of forests from their loss; other ranking models have no checkpoints */
  m->pinball = m->deviance = m->constant_loss = NAN; /* likewise; the constant is not kept */
  m->rows = fw_get_le64(at);
  m->binned = fw_get_le64(at + 8);
  for (size_t i = 0; i < FIGURES; i++) *(double *)((unsigned char *)m + figures[i]) = get_real(at + 16 + 8 * i);
}

void fw_checkpoint_put_epoch(unsigned char *at, const fw_epoch *epoch) {
  fw_put_le32(at, epoch->shown.epoch);
  fw_put_le32(at + 4, epoch->shown.best);
  put_real(at + 8, epoch->shown.learning_rate);
  put_real(at + 16, epoch->shown.seconds);
  put_metrics(at + 24, &epoch->train);
  put_metrics(at + 24 + METRICS_BYTES, &epoch->valid);
}

void fw_checkpoint_get_epoch(const unsigned char *at, fw_epoch *epoch) {
  epoch->shown = (furrow_epoch){.epoch = fw_get_le32(at),
                                .best = fw_get_le32(at + 4) != 0,
                                .learning_rate = get_real(at + 8),
                                .seconds = get_real(at + 16)};
  get_metrics(at + 24, &epoch->train);
  get_metrics(at + 24 + METRICS_BYTES, &epoch->valid);
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

static furrow_status take_name(fw_buffer *text, char **path, furrow_error *err) {
  furrow_status status = fw_buffer_take(text, path, NULL, err);
  fw_buffer_clear(text);
  return status;
}

furrow_status fw_checkpoint_name_file(char **path, const char *folder, furrow_error *err) {
  fw_buffer text = {0};
  fw_buffer_format(&text, "%s/" FW_CHECKPOINT_NAME, folder);
  return take_name(&text, path, err);
}

furrow_status fw_checkpoint_name_part(char **path, const char *checkpoint, uint64_t id, unsigned rank, unsigned ranks,
                                      furrow_error *err) {
  fw_buffer text = {0};
  fw_buffer_format(&text, "%s.%016" PRIx64 ".%u-of-%u", checkpoint, id, rank, ranks);
  return take_name(&text, path, err);
}

/* Whether a file name begins with the name of a part; the caller checks the rest of the name. */
static bool is_part(const char *name, uint64_t *id, const char **end) {
  static const char start[] = FW_CHECKPOINT_NAME ".";
  char digits[17] = "";
  int length = 0;
  unsigned rank, ranks;
  if (strncmp(name, start, sizeof start - 1) != 0) return false;
  name += sizeof start - 1;
  if (strspn(name, "0123456789abcdef") != 16) return false;
  memcpy(digits, name, 16);
  if (sscanf(name + 16, ".%u-of-%u%n", &rank, &ranks, &length) != 2) return false;
  *id = strtoull(digits, NULL, 16);
  *end = name + 16 + length;
  return true;
}

/* ---- The folder ------------------------------------------------------------------------------------------------ */

/* Refuses other files, which may be large, by their first bytes. */
furrow_status fw_checkpoint_check_magic(const char *path, furrow_error *err) {
  char magic[8] = {0};
  size_t got = 0;
  fw_input *input = NULL;
  FW_TRY(fw_input_open_regular(&input, path, err));
  furrow_status status = fw_input_read_at(input, magic, sizeof magic, 0, &got, err);
  fw_input_close(input);
  if (status != FURROW_OK || memcmp(magic, FW_CHECKPOINT_MAGIC, sizeof magic) == 0) return status;
  fw_fail(err, FURROW_E_FORMAT, "not a checkpoint of a training");
  if (err) err->offset = 0;
  return FURROW_E_FORMAT;
}

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

/* A part of another checkpoint than the one that is kept, or a temporary file of a killed process. */
static bool is_left_over(void *user, const char *name) {
  const fw_checkpoint_wanted *wanted = user;
  static const char temporary[] = "." FW_CHECKPOINT_NAME ".furrow-";
  uint64_t id = 0;
  const char *end = "";
  if (name[0] != '.')
    return !wanted->damaged && is_part(name, &id, &end) && !*end && !(wanted->keeps && id == wanted->kept);
  if (!wanted->all) return false;
  return strncmp(name, temporary, sizeof temporary - 1) == 0 ||
         (is_part(name + 1, &id, &end) && fw_target_is_temporary(name) && end[0] == '.');
}

furrow_status fw_checkpoint_remove_left(const char *folder, fw_checkpoint_wanted wanted, furrow_error *err) {
  fw_dir_names left = {0};
  furrow_status status = fw_dir_names_read(&left, folder, is_left_over, &wanted, err);
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

/* Removes parts that the checkpoint does not name: their training was killed before it could commit them. */
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
  return fw_checkpoint_remove_left(folder, wanted, err);
}

furrow_status fw_checkpoint_tidy(const char *folder, const furrow_comm *comm, furrow_error *err) {
  return fw_comm_share_status(comm, fw_comm_is_first(comm) ? tidy(folder, err) : FURROW_OK, err);
}
