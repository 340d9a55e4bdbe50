/* learn/train/checkpoint.c: a training between two epochs, as a file. */
#include "learn/train/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/atomic_file.h"
#include "io/dir_names.h"
#include "io/input.h"

/* Places of the header's fields. */
enum {
  AT_MAGIC = 0,
  AT_VERSION = 8,
  AT_ELEMENT = 12,
  AT_PAYLOAD_BYTES = 16,
  AT_PAYLOAD_DIGEST = 24,
  AT_FINGERPRINT = 32,
  AT_STEPS = 40,
  AT_EPOCHS = 48,
  AT_BEST = 52,
  AT_SNAPSHOT_BYTES = 56,
  AT_BEST_BYTES = 64,
  AT_HALVINGS = 72,
  AT_UNUSED = 76,
  AT_BEST_STEPS = 80,
  AT_HEADER_DIGEST = 88
};

void fw_checkpoint_clear(fw_checkpoint *checkpoint) {
  fw_free(checkpoint->history);
  fw_buffer_clear(&checkpoint->best_snapshot);
  *checkpoint = (fw_checkpoint){0};
}

/* ---- Epochs --------------------------------------------------------------------------------------------- */

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
#define AT(field) offsetof(furrow_learn_metrics, field)
static const size_t figures[] = {AT(weight),
                                 AT(loss),
                                 AT(auc),
                                 AT(accuracy),
                                 AT(logloss),
                                 AT(rmse),
                                 AT(mae),
                                 AT(mean_label),
                                 AT(mean_prediction),
                                 AT(pr_auc),
                                 AT(precision),
                                 AT(recall),
                                 AT(f1),
                                 AT(r2),
                                 AT(constant_logloss),
                                 AT(constant_accuracy),
                                 AT(constant_rmse)};
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

static void put_epoch(unsigned char *at, const fw_epoch *epoch) {
  fw_put_le32(at, epoch->shown.epoch);
  fw_put_le32(at + 4, epoch->shown.best);
  put_real(at + 8, epoch->shown.learning_rate);
  put_real(at + 16, epoch->shown.seconds);
  put_metrics(at + 24, &epoch->train);
  put_metrics(at + 24 + METRICS_BYTES, &epoch->valid);
}

static void get_epoch(const unsigned char *at, fw_epoch *epoch) {
  epoch->shown = (furrow_epoch){.epoch = fw_get_le32(at),
                                .best = fw_get_le32(at + 4) != 0,
                                .learning_rate = get_real(at + 8),
                                .seconds = get_real(at + 16)};
  get_metrics(at + 24, &epoch->train);
  get_metrics(at + 24 + METRICS_BYTES, &epoch->valid);
}

/* ---- Saving --------------------------------------------------------------------------------------------- */

typedef struct writer {
  fw_atomic_file *file;
  XXH3_state_t *hash;
} writer;

static furrow_status write_bytes(void *to, const void *bytes, size_t size, furrow_error *err) {
  writer *w = to;
  XXH3_64bits_update(w->hash, bytes, size);
  return fw_atomic_file_write(w->file, bytes, size, err);
}

static furrow_status write_payload(writer *w, const fw_checkpoint *checkpoint, const fw_snapshot_ops *snapshot_ops,
                                   uint64_t *snapshot_bytes, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < checkpoint->epochs; i++) {
    unsigned char bytes[FW_CHECKPOINT_EPOCH];
    put_epoch(bytes, &checkpoint->history[i]);
    status = write_bytes(w, bytes, sizeof bytes, err);
  }
  const uint64_t start = fw_atomic_file_size(w->file);
  if (status == FURROW_OK) status = snapshot_ops->write(snapshot_ops->object, write_bytes, w, err);
  *snapshot_bytes = fw_atomic_file_size(w->file) - start;
  const fw_buffer *best = &checkpoint->best_snapshot;
  if (status == FURROW_OK && best->size) status = write_bytes(w, best->bytes, best->size, err);
  return status;
}

static void make_header(unsigned char *header, const writer *w, const fw_checkpoint *checkpoint,
                        const fw_snapshot_ops *snapshot_ops, uint64_t fingerprint, uint64_t snapshot_bytes) {
  memset(header, 0, FW_CHECKPOINT_HEADER);
  memcpy(header + AT_MAGIC, FW_CHECKPOINT_MAGIC, 8);
  fw_put_le32(header + AT_VERSION, FW_CHECKPOINT_VERSION);
  fw_put_le32(header + AT_ELEMENT, (uint32_t)snapshot_ops->element);
  fw_put_le64(header + AT_PAYLOAD_BYTES, fw_atomic_file_size(w->file) - FW_CHECKPOINT_HEADER);
  fw_put_le64(header + AT_PAYLOAD_DIGEST, XXH3_64bits_digest(w->hash));
  fw_put_le64(header + AT_FINGERPRINT, fingerprint);
  fw_put_le64(header + AT_STEPS, checkpoint->steps);
  fw_put_le32(header + AT_EPOCHS, (uint32_t)checkpoint->epochs);
  fw_put_le32(header + AT_BEST, checkpoint->best);
  fw_put_le64(header + AT_SNAPSHOT_BYTES, snapshot_bytes);
  fw_put_le64(header + AT_BEST_BYTES, checkpoint->best_snapshot.size);
  fw_put_le32(header + AT_HALVINGS, checkpoint->halvings);
  fw_put_le64(header + AT_BEST_STEPS, checkpoint->best_steps);
  fw_put_le64(header + AT_HEADER_DIGEST, XXH3_64bits(header, AT_HEADER_DIGEST));
}

/* folder/checkpoint, to be freed with fw_free. */
static furrow_status name_file(char **path, const char *folder, furrow_error *err) {
  fw_buffer text = {0};
  fw_buffer_text(&text, folder);
  fw_buffer_text(&text, "/" FW_CHECKPOINT_NAME);
  furrow_status status = fw_buffer_take(&text, path, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

static furrow_status make_folder(const char *folder, furrow_error *err) {
  if (mkdir(folder, 0777) == 0 || errno == EEXIST) return FURROW_OK;
  furrow_status status = fw_fail_errno(err, errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO, errno,
                                       "cannot make the folder of a checkpoint");
  fw_error_set_file(err, folder);
  return status;
}

furrow_status fw_checkpoint_save(const char *folder, const fw_checkpoint *checkpoint,
                                 const fw_snapshot_ops *snapshot_ops, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER] = {0};
  writer w = {.hash = XXH3_createState()};
  char *path = NULL;
  uint64_t fingerprint = 0, snapshot_bytes = 0;
  furrow_status status = w.hash ? name_file(&path, folder, err) : fw_fail_memory(err, 576);
  if (status == FURROW_OK) status = fw_plan_fingerprint(snapshot_ops->plan, &fingerprint, err);
  if (status == FURROW_OK) status = make_folder(folder, err);
  if (status == FURROW_OK) status = fw_atomic_file_open(&w.file, path, err);
  if (status == FURROW_OK) status = fw_atomic_file_write(w.file, header, sizeof header, err);
  if (status == FURROW_OK) {
    XXH3_64bits_reset(w.hash);
    status = write_payload(&w, checkpoint, snapshot_ops, &snapshot_bytes, err);
  }
  if (status == FURROW_OK) {
    make_header(header, &w, checkpoint, snapshot_ops, fingerprint, snapshot_bytes);
    status = fw_atomic_file_write_at(w.file, 0, header, sizeof header, err);
  }
  if (status == FURROW_OK) status = fw_atomic_file_commit(w.file, err);
  fw_atomic_file_close(w.file);
  XXH3_freeState(w.hash);
  fw_free(path);
  return status;
}

/* ---- Loading -------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static furrow_status fail_at(furrow_error *err, furrow_status status,
                                                                   uint64_t offset, const char *format, ...) {
  char text[192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fw_fail(err, status, "%s", text);
  if (err) err->offset = offset;
  return status;
}

static furrow_status check_header(const unsigned char *bytes, size_t size, furrow_error *err) {
  if (size < FW_CHECKPOINT_HEADER || memcmp(bytes, FW_CHECKPOINT_MAGIC, 8) != 0)
    return fail_at(err, FURROW_E_FORMAT, 0, "not a checkpoint of a training");
  const uint32_t version = fw_get_le32(bytes + AT_VERSION);
  if (version != FW_CHECKPOINT_VERSION)
    return fail_at(err, FURROW_E_FORMAT, AT_VERSION, "the checkpoint is of version %" PRIu32 ", this reads version %d",
                   version, FW_CHECKPOINT_VERSION);
  if (fw_get_le64(bytes + AT_HEADER_DIGEST) != XXH3_64bits(bytes, AT_HEADER_DIGEST))
    return fail_at(err, FURROW_E_FORMAT, AT_HEADER_DIGEST, "the checkpoint is damaged: its header's digest is wrong");
  if (fw_get_le32(bytes + AT_UNUSED))
    return fail_at(err, FURROW_E_FORMAT, AT_UNUSED, "unused bytes of the checkpoint's header are not 0");
  const uint64_t payload = fw_get_le64(bytes + AT_PAYLOAD_BYTES), have = size - FW_CHECKPOINT_HEADER;
  if (payload != have)
    return fail_at(err, FURROW_E_FORMAT, AT_PAYLOAD_BYTES,
                   "the checkpoint is cut short or too long: %" PRIu64 " bytes follow its header, not %" PRIu64, have,
                   payload);
  if (fw_get_le64(bytes + AT_PAYLOAD_DIGEST) != XXH3_64bits(bytes + FW_CHECKPOINT_HEADER, payload))
    return fail_at(err, FURROW_E_FORMAT, AT_PAYLOAD_DIGEST, "the checkpoint is damaged: its digest is wrong");
  return FURROW_OK;
}

/* The three parts of the payload must add up to it. */
static furrow_status check_parts(const unsigned char *bytes, furrow_error *err) {
  const uint64_t payload = fw_get_le64(bytes + AT_PAYLOAD_BYTES);
  const uint64_t epochs = fw_get_le32(bytes + AT_EPOCHS), snapshot = fw_get_le64(bytes + AT_SNAPSHOT_BYTES);
  const uint64_t best = fw_get_le64(bytes + AT_BEST_BYTES);
  if (epochs > payload / FW_CHECKPOINT_EPOCH)
    return fail_at(err, FURROW_E_FORMAT, AT_EPOCHS, "more epochs than the bytes can hold");
  const uint64_t left = payload - epochs * FW_CHECKPOINT_EPOCH;
  if (snapshot > left || best != left - snapshot)
    return fail_at(err, FURROW_E_FORMAT, AT_SNAPSHOT_BYTES, "the sizes of the parts do not add up");
  if (fw_get_le32(bytes + AT_BEST) > epochs)
    return fail_at(err, FURROW_E_FORMAT, AT_BEST, "the best epoch is none of those that there were");
  if (fw_get_le32(bytes + AT_HALVINGS) > FW_HALVINGS_MAX)
    return fail_at(err, FURROW_E_FORMAT, AT_HALVINGS, "the rate was halved more often than it ever is");
  if (fw_get_le64(bytes + AT_BEST_STEPS) > fw_get_le64(bytes + AT_STEPS))
    return fail_at(err, FURROW_E_FORMAT, AT_BEST_STEPS, "the best epoch has more updates than all");
  return FURROW_OK;
}

static furrow_status check_plan(const unsigned char *bytes, const fw_snapshot_ops *snapshot_ops, furrow_error *err) {
  uint64_t fingerprint;
  furrow_status status = fw_plan_fingerprint(snapshot_ops->plan, &fingerprint, err);
  if (status != FURROW_OK) return status;
  if (fw_get_le64(bytes + AT_FINGERPRINT) != fingerprint || fw_get_le32(bytes + AT_ELEMENT) != snapshot_ops->element)
    return fail_at(err, FURROW_E_STALE, AT_FINGERPRINT, "the checkpoint is of a training with another configuration");
  return FURROW_OK;
}

static furrow_status decode_history(const unsigned char *bytes, fw_checkpoint *checkpoint, furrow_error *err) {
  const size_t epochs = fw_get_le32(bytes + AT_EPOCHS);
  void *memory;
  furrow_status status = fw_alloc(&memory, epochs, sizeof *checkpoint->history, err);
  if (status != FURROW_OK) return status;
  checkpoint->history = memory;
  checkpoint->epochs = epochs;
  for (size_t i = 0; i < epochs; i++) {
    const size_t at = FW_CHECKPOINT_HEADER + i * FW_CHECKPOINT_EPOCH;
    get_epoch(bytes + at, &checkpoint->history[i]);
    const uint32_t number = checkpoint->history[i].shown.epoch;
    if (number != i + 1)
      return fail_at(err, FURROW_E_FORMAT, at, "epoch %" PRIu32 " of the history is not %zu", number, i + 1);
  }
  fw_epochs_link(checkpoint->history, epochs);
  return FURROW_OK;
}

/* The net or forest itself, and the bytes of the best epoch. */
static furrow_status decode_snapshots(const unsigned char *bytes, fw_checkpoint *checkpoint,
                                      const fw_snapshot_ops *snapshot_ops, furrow_error *err) {
  const size_t snapshot = fw_get_le64(bytes + AT_SNAPSHOT_BYTES), best = fw_get_le64(bytes + AT_BEST_BYTES);
  size_t at = FW_CHECKPOINT_HEADER + checkpoint->epochs * FW_CHECKPOINT_EPOCH;
  furrow_status status = snapshot_ops->read(snapshot_ops->object, bytes + at, snapshot, err);
  if (status == FURROW_OK && best > 0) {
    at += snapshot;
    status = snapshot_ops->check(snapshot_ops->object, bytes + at, best, err);
    fw_buffer_append(&checkpoint->best_snapshot, bytes + at, best);
  }
  if (status == FURROW_E_FORMAT && err) err->offset += at;
  return status == FURROW_OK ? fw_buffer_status(&checkpoint->best_snapshot, err) : status;
}

furrow_status fw_checkpoint_decode(const unsigned char *bytes, size_t size, fw_checkpoint *checkpoint,
                                   const fw_snapshot_ops *snapshot_ops, furrow_error *err) {
  fw_checkpoint made = {0};
  furrow_status status = check_header(bytes, size, err);
  if (status == FURROW_OK) status = check_parts(bytes, err);
  if (status == FURROW_OK) status = check_plan(bytes, snapshot_ops, err);
  if (status == FURROW_OK) status = decode_history(bytes, &made, err);
  if (status == FURROW_OK) status = decode_snapshots(bytes, &made, snapshot_ops, err);
  if (status != FURROW_OK) {
    fw_checkpoint_clear(&made);
    return status;
  }
  made.steps = fw_get_le64(bytes + AT_STEPS);
  made.best = fw_get_le32(bytes + AT_BEST);
  made.halvings = fw_get_le32(bytes + AT_HALVINGS);
  made.best_steps = fw_get_le64(bytes + AT_BEST_STEPS);
  *checkpoint = made;
  return FURROW_OK;
}

static furrow_status read_file(const char *path, unsigned char **bytes, size_t *size, furrow_error *err) {
  fw_input *input = NULL;
  struct stat info;
  void *memory = NULL;
  size_t got = 0;
  furrow_status status = fw_input_open(&input, path, err);
  if (status != FURROW_OK) return status;
  if (fw_input_stat(input, &info, NULL) != FURROW_OK || !S_ISREG(info.st_mode)) {
    status = fw_fail(err, FURROW_E_FORMAT, "a checkpoint is a regular file");
  }
  if (status == FURROW_OK) status = fw_alloc(&memory, (size_t)info.st_size, 1, err);
  if (status == FURROW_OK) status = fw_input_read_at(input, memory, (size_t)info.st_size, 0, &got, err);
  fw_input_close(input);
  if (status == FURROW_OK) {
    *bytes = memory;
    *size = got;
  } else {
    fw_free(memory);
  }
  return status;
}

static bool is_left_over(void *user, const char *name) {
  (void)user;
  return strncmp(name, "." FW_CHECKPOINT_NAME ".furrow-", sizeof "." FW_CHECKPOINT_NAME ".furrow-" - 1) == 0;
}

furrow_status fw_checkpoint_tidy(const char *folder, furrow_error *err) {
  fw_dir_names left = {0};
  furrow_status status = fw_dir_names_read(&left, folder, is_left_over, NULL, err);
  for (size_t i = 0; status == FURROW_OK && i < left.count; i++) {
    char *path = NULL;
    status = fw_path_join(&path, folder, left.names[i], err);
    if (status == FURROW_OK) (void)remove(path); /* one that stays does no harm */
    fw_free(path);
  }
  fw_dir_names_clear(&left);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

furrow_status fw_checkpoint_load(const char *folder, fw_checkpoint *checkpoint, const fw_snapshot_ops *snapshot_ops,
                                 furrow_error *err) {
  char *path = NULL;
  unsigned char *bytes = NULL;
  size_t size = 0;
  furrow_status status = name_file(&path, folder, err);
  if (status == FURROW_OK) status = read_file(path, &bytes, &size, err);
  if (status == FURROW_OK) {
    status = fw_checkpoint_decode(bytes, size, checkpoint, snapshot_ops, err);
    if (status != FURROW_OK) fw_error_set_file(err, path);
  }
  fw_free(bytes);
  fw_free(path);
  return status;
}

/* ---- Looking -------------------------------------------------------------------------------------------- */

/* Refuses other files, which may be large, by their first bytes. */
static furrow_status check_magic(const char *path, furrow_error *err) {
  char magic[8] = {0};
  size_t got = 0;
  fw_input *input = NULL;
  furrow_status status = fw_input_open(&input, path, err);
  if (status != FURROW_OK) return status;
  status = fw_input_read_at(input, magic, sizeof magic, 0, &got, err);
  fw_input_close(input);
  if (status != FURROW_OK || memcmp(magic, FW_CHECKPOINT_MAGIC, sizeof magic) == 0) return status;
  return fail_at(err, FURROW_E_FORMAT, 0, "not a checkpoint of a training");
}

/* An info and the epoch that it shows. */
typedef struct inspected {
  furrow_checkpoint_info info;
  fw_epoch last;
} inspected;

static furrow_status inspect(const unsigned char *bytes, size_t size, inspected *made, furrow_error *err) {
  fw_checkpoint checkpoint = {0};
  furrow_status status = check_header(bytes, size, err);
  if (status == FURROW_OK) status = check_parts(bytes, err);
  if (status == FURROW_OK) status = decode_history(bytes, &checkpoint, err);
  if (status == FURROW_OK) {
    made->info = (furrow_checkpoint_info){.bytes = size,
                                          .number_size = fw_get_le32(bytes + AT_ELEMENT),
                                          .steps = fw_get_le64(bytes + AT_STEPS),
                                          .epochs = (uint32_t)checkpoint.epochs,
                                          .best = fw_get_le32(bytes + AT_BEST)};
    if (checkpoint.epochs > 0) {
      made->last = checkpoint.history[checkpoint.epochs - 1];
      fw_epochs_link(&made->last, 1);
      made->info.last = &made->last.shown;
    }
  }
  fw_checkpoint_clear(&checkpoint);
  return status;
}

furrow_status furrow_checkpoint_info_load(furrow_checkpoint_info **info, const char *path, furrow_error *err) {
  struct stat found;
  char *file = NULL;
  unsigned char *bytes = NULL;
  size_t size = 0;
  void *made = NULL;
  const bool folder = fw_path_stat(path, &found, NULL) == FURROW_OK && S_ISDIR(found.st_mode);
  furrow_status status = folder ? name_file(&file, path, err) : fw_strndup(&file, path, strlen(path), err);
  if (status == FURROW_OK) status = fw_alloc_zero(&made, 1, sizeof(inspected), err);
  if (status == FURROW_OK) status = check_magic(file, err);
  if (status == FURROW_OK) status = read_file(file, &bytes, &size, err);
  if (status == FURROW_OK) status = inspect(bytes, size, made, err);
  if (status == FURROW_OK)
    *info = &((inspected *)made)->info;
  else
    fw_free(made);
  if (status != FURROW_OK && file) fw_error_set_file(err, file);
  fw_free(bytes);
  fw_free(file);
  return status;
}

void furrow_checkpoint_info_free(furrow_checkpoint_info *info) {
  fw_free(info); /* the first member of what was allocated */
}
