/* learn/checkpoint/checkpoint_layout.c: the bytes of a checkpoint: what is where, and whether it is right. */
#include "learn/checkpoint/checkpoint_layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/input.h"

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

/* The figures of metrics in their order in the file, behind the number of rows and that of binned ones. */
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
  m->ndcg = NAN; /* fit.c finds that of forests in their loss; what else ranks has no checkpoints */
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

/* Whether it is the name of a part; what may follow it in the name is up to the caller. */
bool fw_checkpoint_is_part(const char *name, uint64_t *id, const char **end) {
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

/* ---- Checks ---------------------------------------------------------------------------------------------------- */

furrow_status fw_checkpoint_damaged(furrow_error *err, uint64_t offset, const char *format, ...) {
  char text[192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fw_fail(err, FURROW_E_FORMAT, "%s", text);
  if (err) err->offset = offset;
  return FURROW_E_FORMAT;
}

/* Refuses other files, which may be large, by their first bytes. */
furrow_status fw_checkpoint_check_magic(const char *path, furrow_error *err) {
  char magic[8] = {0};
  size_t got = 0;
  fw_input *input = NULL;
  FW_TRY(fw_input_open_regular(&input, path, err));
  furrow_status status = fw_input_read_at(input, magic, sizeof magic, 0, &got, err);
  fw_input_close(input);
  if (status != FURROW_OK || memcmp(magic, FW_CHECKPOINT_MAGIC, sizeof magic) == 0) return status;
  return fw_checkpoint_damaged(err, 0, "not a checkpoint of a training");
}

bool fw_checkpoint_is_in_parts(const unsigned char *header) {
  return fw_get_le32(header + FW_AT_VERSION) == FW_CHECKPOINT_PARTS_VERSION;
}

/* Magic, version, and what the header says of itself and of the file's size. */
furrow_status fw_checkpoint_check_fields(const unsigned char *bytes, uint64_t size, bool part, furrow_error *err) {
  const char *magic = part ? FW_CHECKPOINT_PART_MAGIC : FW_CHECKPOINT_MAGIC;
  if (size < FW_CHECKPOINT_HEADER || memcmp(bytes, magic, 8) != 0)
    return fw_checkpoint_damaged(err, 0, "not a %s of a training", part ? "checkpoint's part" : "checkpoint");
  const uint32_t version = fw_get_le32(bytes + FW_AT_VERSION);
  if (version != FW_CHECKPOINT_PARTS_VERSION && (part || version != FW_CHECKPOINT_VERSION))
    return fw_checkpoint_damaged(err, FW_AT_VERSION, "the checkpoint is of version %" PRIu32 ", this reads version %d",
                                 version, FW_CHECKPOINT_VERSION);
  if (fw_get_le64(bytes + FW_AT_HEADER_DIGEST) != XXH3_64bits(bytes, FW_AT_HEADER_DIGEST))
    return fw_checkpoint_damaged(err, FW_AT_HEADER_DIGEST, "the checkpoint is damaged: its header's digest is wrong");
  if ((version == FW_CHECKPOINT_VERSION || part) && fw_get_le32(bytes + FW_AT_RANKS))
    return fw_checkpoint_damaged(err, FW_AT_RANKS, "unused bytes of the checkpoint's header are not 0");
  const uint64_t payload = fw_get_le64(bytes + FW_AT_PAYLOAD_BYTES), have = size - FW_CHECKPOINT_HEADER;
  if (payload != have)
    return fw_checkpoint_damaged(
        err, FW_AT_PAYLOAD_BYTES,
        "the checkpoint is cut short or too long: %" PRIu64 " bytes follow its header, not %" PRIu64, have, payload);
  return FURROW_OK;
}

furrow_status fw_checkpoint_check_digest(const unsigned char *header, uint64_t digest, furrow_error *err) {
  if (fw_get_le64(header + FW_AT_PAYLOAD_DIGEST) == digest) return FURROW_OK;
  return fw_checkpoint_damaged(err, FW_AT_PAYLOAD_DIGEST, "the checkpoint is damaged: its digest is wrong");
}

/* The three parts of the payload must add up to it. */
furrow_status fw_checkpoint_check_parts(const unsigned char *bytes, furrow_error *err) {
  const uint64_t payload = fw_get_le64(bytes + FW_AT_PAYLOAD_BYTES);
  const uint64_t epochs = fw_get_le32(bytes + FW_AT_EPOCHS), snapshot = fw_get_le64(bytes + FW_AT_SNAPSHOT_BYTES);
  const uint64_t best = fw_get_le64(bytes + FW_AT_BEST_BYTES);
  if (epochs > payload / FW_CHECKPOINT_EPOCH)
    return fw_checkpoint_damaged(err, FW_AT_EPOCHS, "more epochs than the bytes can hold");
  const uint64_t left = payload - epochs * FW_CHECKPOINT_EPOCH;
  if (snapshot > left || best != left - snapshot)
    return fw_checkpoint_damaged(err, FW_AT_SNAPSHOT_BYTES, "the sizes of the parts do not add up");
  if (fw_get_le32(bytes + FW_AT_BEST) > epochs)
    return fw_checkpoint_damaged(err, FW_AT_BEST, "the best epoch is none of those that there were");
  if (fw_get_le32(bytes + FW_AT_HALVINGS) > FW_HALVINGS_MAX)
    return fw_checkpoint_damaged(err, FW_AT_HALVINGS, "the rate was halved more often than it ever is");
  if (fw_get_le64(bytes + FW_AT_BEST_STEPS) > fw_get_le64(bytes + FW_AT_STEPS))
    return fw_checkpoint_damaged(err, FW_AT_BEST_STEPS, "the best epoch has more updates than all");
  const uint64_t ranks = fw_get_le32(bytes + FW_AT_RANKS);
  if (fw_checkpoint_is_in_parts(bytes) &&
      (ranks == 0 || best > 0 || snapshot != FW_CHECKPOINT_PARTS_ID + ranks * FW_CHECKPOINT_PART_RECORD))
    return fw_checkpoint_damaged(err, FW_AT_RANKS, "the number of parts is not that of their records");
  return FURROW_OK;
}

furrow_status fw_checkpoint_check_header(const unsigned char *bytes, size_t size, furrow_error *err) {
  FW_TRY(fw_checkpoint_check_fields(bytes, size, false, err));
  FW_TRY(
      fw_checkpoint_check_digest(bytes, XXH3_64bits(bytes + FW_CHECKPOINT_HEADER, size - FW_CHECKPOINT_HEADER), err));
  return fw_checkpoint_check_parts(bytes, err);
}

furrow_status fw_checkpoint_check_plan(const unsigned char *bytes, const fw_snapshot_ops *snapshot_ops,
                                       furrow_error *err) {
  uint64_t fingerprint;
  FW_TRY(fw_plan_fingerprint(snapshot_ops->plan, &fingerprint, err));
  if (fw_get_le64(bytes + FW_AT_FINGERPRINT) == fingerprint &&
      fw_get_le32(bytes + FW_AT_ELEMENT) == snapshot_ops->element)
    return FURROW_OK;
  fw_fail(err, FURROW_E_STALE, "the checkpoint is of a training with another configuration");
  if (err) err->offset = FW_AT_FINGERPRINT;
  return FURROW_E_STALE;
}

/* ---- Numbers --------------------------------------------------------------------------------------------------- */

furrow_status fw_checkpoint_decode_history(const unsigned char *bytes, fw_checkpoint *checkpoint, furrow_error *err) {
  const size_t epochs = fw_get_le32(bytes + FW_AT_EPOCHS);
  void *memory;
  FW_TRY(fw_alloc(&memory, epochs, sizeof *checkpoint->history, err));
  checkpoint->history = memory;
  checkpoint->epochs = epochs;
  for (size_t i = 0; i < epochs; i++) {
    const size_t at = FW_CHECKPOINT_HEADER + i * FW_CHECKPOINT_EPOCH;
    if (fw_get_le32(bytes + at + 4) > 1)
      return fw_checkpoint_damaged(err, at + 4, "the best epoch is none of those that there were");
    fw_checkpoint_get_epoch(bytes + at, &checkpoint->history[i]);
    const uint32_t number = checkpoint->history[i].shown.epoch;
    if (number != i + 1)
      return fw_checkpoint_damaged(err, at, "epoch %" PRIu32 " of the history is not %zu", number, i + 1);
  }
  fw_epochs_link(checkpoint->history, epochs);
  return FURROW_OK;
}

void fw_checkpoint_take_numbers(const unsigned char *header, fw_checkpoint *checkpoint) {
  checkpoint->steps = fw_get_le64(header + FW_AT_STEPS);
  checkpoint->best = fw_get_le32(header + FW_AT_BEST);
  checkpoint->halvings = fw_get_le32(header + FW_AT_HALVINGS);
  checkpoint->best_steps = fw_get_le64(header + FW_AT_BEST_STEPS);
}

const unsigned char *fw_checkpoint_table(const unsigned char *head) {
  return head + FW_CHECKPOINT_HEADER + (size_t)fw_get_le32(head + FW_AT_EPOCHS) * FW_CHECKPOINT_EPOCH;
}
