/* learn/checkpoint/checkpoint_load.c: reads a checkpoint: the whole, or the features of one rank from the parts of all
 * ranks, or only its header and history. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "learn/checkpoint/checkpoint_layout.h"

/* ---- Checks ---------------------------------------------------------------------------------------------------- */

/* E_FORMAT at a byte of the file. */
__attribute__((format(printf, 3, 4))) static furrow_status damaged(furrow_error *err, uint64_t offset,
                                                                   const char *format, ...) {
  char text[192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fw_fail(err, FURROW_E_FORMAT, "%s", text);
  if (err) err->offset = offset;
  return FURROW_E_FORMAT;
}

/* Checks the magic number, the version, the header's digest and the size of the file. */
static furrow_status check_fields(const unsigned char *bytes, uint64_t size, bool part, furrow_error *err) {
  const char *magic = part ? FW_CHECKPOINT_PART_MAGIC : FW_CHECKPOINT_MAGIC;
  if (size < FW_CHECKPOINT_HEADER || memcmp(bytes, magic, 8) != 0)
    return damaged(err, 0, "not a %s of a training", part ? "checkpoint's part" : "checkpoint");
  const uint32_t version = fw_get_le32(bytes + FW_AT_VERSION);
  if (version != FW_CHECKPOINT_PARTS_VERSION && (part || version != FW_CHECKPOINT_VERSION))
    return damaged(err, FW_AT_VERSION, "the checkpoint is of version %" PRIu32 ", this reads version %d", version,
                   FW_CHECKPOINT_VERSION);
  if (fw_get_le64(bytes + FW_AT_HEADER_DIGEST) != XXH3_64bits(bytes, FW_AT_HEADER_DIGEST))
    return damaged(err, FW_AT_HEADER_DIGEST, "the checkpoint is damaged: its header's digest is wrong");
  if ((version == FW_CHECKPOINT_VERSION || part) && fw_get_le32(bytes + FW_AT_RANKS))
    return damaged(err, FW_AT_RANKS, "unused bytes of the checkpoint's header are not 0");
  const uint64_t payload = fw_get_le64(bytes + FW_AT_PAYLOAD_BYTES), have = size - FW_CHECKPOINT_HEADER;
  if (payload != have)
    return damaged(err, FW_AT_PAYLOAD_BYTES,
                   "the checkpoint is cut short or too long: %" PRIu64 " bytes follow its header, not %" PRIu64, have,
                   payload);
  return FURROW_OK;
}

/* Whether the digest matches the payload. */
static furrow_status check_digest(const unsigned char *header, uint64_t digest, furrow_error *err) {
  if (fw_get_le64(header + FW_AT_PAYLOAD_DIGEST) == digest) return FURROW_OK;
  return damaged(err, FW_AT_PAYLOAD_DIGEST, "the checkpoint is damaged: its digest is wrong");
}

/* The sizes of the three parts must add up to the size of the payload. */
static furrow_status check_parts(const unsigned char *bytes, furrow_error *err) {
  const uint64_t payload = fw_get_le64(bytes + FW_AT_PAYLOAD_BYTES);
  const uint64_t epochs = fw_get_le32(bytes + FW_AT_EPOCHS), snapshot = fw_get_le64(bytes + FW_AT_SNAPSHOT_BYTES);
  const uint64_t best = fw_get_le64(bytes + FW_AT_BEST_BYTES);
  if (epochs > payload / FW_CHECKPOINT_EPOCH) return damaged(err, FW_AT_EPOCHS, "more epochs than the bytes can hold");
  const uint64_t left = payload - epochs * FW_CHECKPOINT_EPOCH;
  if (snapshot > left || best != left - snapshot)
    return damaged(err, FW_AT_SNAPSHOT_BYTES, "the sizes of the parts do not add up");
  if (fw_get_le32(bytes + FW_AT_BEST) > epochs)
    return damaged(err, FW_AT_BEST, "the best epoch is not one of the recorded epochs");
  if (fw_get_le32(bytes + FW_AT_HALVINGS) > FW_HALVINGS_MAX)
    return damaged(err, FW_AT_HALVINGS, "the rate was halved more often than possible");
  if (fw_get_le64(bytes + FW_AT_BEST_STEPS) > fw_get_le64(bytes + FW_AT_STEPS))
    return damaged(err, FW_AT_BEST_STEPS, "the best epoch has more updates than all epochs together");
  const uint64_t ranks = fw_get_le32(bytes + FW_AT_RANKS);
  if (fw_checkpoint_is_in_parts(bytes) &&
      (ranks == 0 || best > 0 || snapshot != FW_CHECKPOINT_PARTS_ID + ranks * FW_CHECKPOINT_PART_RECORD))
    return damaged(err, FW_AT_RANKS, "the number of parts differs from the number of their records");
  return FURROW_OK;
}

/* All three, of a file in memory. */
static furrow_status check_header(const unsigned char *bytes, size_t size, furrow_error *err) {
  FW_TRY(check_fields(bytes, size, false, err));
  FW_TRY(check_digest(bytes, XXH3_64bits(bytes + FW_CHECKPOINT_HEADER, size - FW_CHECKPOINT_HEADER), err));
  return check_parts(bytes, err);
}

/* E_STALE: it is of another configuration. */
static furrow_status check_plan(const unsigned char *bytes, const fw_snapshot_ops *snapshot_ops, furrow_error *err) {
  uint64_t fingerprint;
  FW_TRY(fw_plan_fingerprint(snapshot_ops->plan, &fingerprint, err));
  if (fw_get_le64(bytes + FW_AT_FINGERPRINT) == fingerprint &&
      fw_get_le32(bytes + FW_AT_ELEMENT) == snapshot_ops->element)
    return FURROW_OK;
  fw_fail(err, FURROW_E_STALE, "the checkpoint is of a training with another configuration");
  if (err) err->offset = FW_AT_FINGERPRINT;
  return FURROW_E_STALE;
}

static furrow_status decode_history(const unsigned char *bytes, fw_checkpoint *checkpoint, furrow_error *err) {
  const size_t epochs = fw_get_le32(bytes + FW_AT_EPOCHS);
  FW_TRY(FW_ALLOC(&checkpoint->history, epochs, err));
  checkpoint->epochs = epochs;
  for (size_t i = 0; i < epochs; i++) {
    const size_t at = FW_CHECKPOINT_HEADER + i * FW_CHECKPOINT_EPOCH;
    if (fw_get_le32(bytes + at + 4) > 1)
      return damaged(err, at + 4, "the best epoch is not one of the recorded epochs");
    fw_checkpoint_get_epoch(bytes + at, &checkpoint->history[i]);
    const uint32_t number = checkpoint->history[i].shown.epoch;
    if (number != i + 1) return damaged(err, at, "epoch %" PRIu32 " of the history is not %zu", number, i + 1);
  }
  fw_epochs_link(checkpoint->history, epochs);
  return FURROW_OK;
}

static void take_numbers(const unsigned char *header, fw_checkpoint *checkpoint) {
  checkpoint->steps = fw_get_le64(header + FW_AT_STEPS);
  checkpoint->best = fw_get_le32(header + FW_AT_BEST);
  checkpoint->halvings = fw_get_le32(header + FW_AT_HALVINGS);
  checkpoint->best_steps = fw_get_le64(header + FW_AT_BEST_STEPS);
}

/* ---- From memory ---------------------------------------------------------------------------------------------------
 */

/* Decodes the net or forest, and keeps the bytes of the best epoch. */
static furrow_status decode_snapshots(const unsigned char *bytes, fw_checkpoint *checkpoint,
                                      const fw_snapshot_ops *snapshot_ops, furrow_error *err) {
  const size_t snapshot = fw_get_le64(bytes + FW_AT_SNAPSHOT_BYTES), best = fw_get_le64(bytes + FW_AT_BEST_BYTES);
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

/* Decodes into a checkpoint of zeros, which the caller clears if this fails. */
static furrow_status decode_checkpoint(const unsigned char *bytes, size_t size, fw_checkpoint *made,
                                       const fw_snapshot_ops *snapshot_ops, furrow_error *err) {
  FW_TRY(check_header(bytes, size, err));
  FW_TRY(check_plan(bytes, snapshot_ops, err));
  if (fw_checkpoint_is_in_parts(bytes))
    return damaged(err, FW_AT_RANKS, "the checkpoint has its parameters in other files");
  FW_TRY(decode_history(bytes, made, err));
  take_numbers(bytes, made);
  return decode_snapshots(bytes, made, snapshot_ops, err);
}

static furrow_status give(fw_checkpoint *checkpoint, fw_checkpoint *made, furrow_status status) {
  if (status == FURROW_OK)
    *checkpoint = *made;
  else
    fw_checkpoint_clear(made);
  return status;
}

furrow_status fw_checkpoint_decode(const unsigned char *bytes, size_t size, fw_checkpoint *checkpoint,
                                   const fw_snapshot_ops *snapshot_ops, furrow_error *err) {
  fw_checkpoint made = {0};
  return give(checkpoint, &made, decode_checkpoint(bytes, size, &made, snapshot_ops, err));
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

/* Starts as all zeros; must be closed, even if opening fails. */
typedef struct opened_file {
  fw_input *input;
  uint64_t size;
  unsigned char header[FW_CHECKPOINT_HEADER]; /* padded with zeros if the file is shorter */
} opened_file;

static furrow_status open_file(opened_file *file, const char *path, furrow_error *err) {
  struct stat info;
  size_t got = 0;
  FW_TRY(fw_input_open_regular(&file->input, path, err));
  if (fw_input_stat(file->input, &info, NULL) != FURROW_OK || !S_ISREG(info.st_mode))
    return fw_fail(err, FURROW_E_FORMAT, "a checkpoint is a regular file");
  file->size = (uint64_t)info.st_size;
  return fw_input_read_at(file->input, file->header, FW_CHECKPOINT_HEADER, 0, &got, err);
}

/* Reads exactly `size` bytes; for fw_snapshot_range. */
static furrow_status read_bytes(const void *input, uint64_t at, void *bytes, size_t size, furrow_error *err) {
  size_t got = 0;
  FW_TRY(fw_input_read_at(input, bytes, size, at, &got, err));
  return got == size ? FURROW_OK : damaged(err, at + got, "the checkpoint ends while it is read");
}

static furrow_status digest_file(const fw_input *input, uint64_t size, uint64_t *digest, furrow_error *err) {
  enum { PIECE = 1 << 18 };
  XXH3_state_t *hash = XXH3_createState();
  unsigned char *piece = NULL;
  furrow_status status = hash ? FW_ALLOC(&piece, PIECE, err) : fw_fail_memory(err, 576);
  if (status == FURROW_OK) XXH3_64bits_reset(hash);
  for (uint64_t at = FW_CHECKPOINT_HEADER, n; status == FURROW_OK && at < size; at += n) {
    n = size - at < PIECE ? size - at : PIECE;
    status = read_bytes(input, at, piece, (size_t)n, err);
    if (status == FURROW_OK) XXH3_64bits_update(hash, piece, (size_t)n);
  }
  if (status == FURROW_OK) *digest = XXH3_64bits_digest(hash);
  XXH3_freeState(hash);
  fw_free(piece);
  return status;
}

/* Reads header, history and records: a file that names parts has nothing else, a whole checkpoint begins with them. */
static furrow_status read_head(const opened_file *file, unsigned char **head, furrow_error *err) {
  const unsigned char *header = file->header;
  FW_TRY(check_fields(header, file->size, false, err));
  FW_TRY(check_parts(header, err));
  const bool in_parts = fw_checkpoint_is_in_parts(header);
  const uint64_t snapshots = fw_get_le64(header + FW_AT_SNAPSHOT_BYTES) + fw_get_le64(header + FW_AT_BEST_BYTES);
  const size_t kept = (size_t)(file->size - (in_parts ? 0 : snapshots));
  FW_TRY(FW_ALLOC(head, kept, err));
  FW_TRY(read_bytes(file->input, 0, *head, kept, err));
  return in_parts ? check_header(*head, kept, err) : FURROW_OK;
}

furrow_status fw_checkpoint_read_head(const char *path, unsigned char **head, furrow_error *err) {
  opened_file file = {0};
  unsigned char *made = NULL;
  furrow_status status = open_file(&file, path, err);
  if (status == FURROW_OK) status = read_head(&file, &made, err);
  fw_input_close(file.input);
  return FW_HAND_OVER(status, head, made, fw_free);
}

/* `bytes` are to be freed, also if this fails. */
static furrow_status read_file(const char *path, unsigned char **bytes, size_t *size, furrow_error *err) {
  opened_file file = {0};
  furrow_status status = open_file(&file, path, err);
  if (status == FURROW_OK) status = FW_ALLOC(bytes, (size_t)file.size, err);
  if (status == FURROW_OK) status = fw_input_read_at(file.input, *bytes, (size_t)file.size, 0, size, err);
  fw_input_close(file.input);
  return status;
}

/* ---- Of several ranks, or by several --------------------------------------------------------------------------- */

/* A checkpoint whose parameters are read some at a time, from its parts or from the checkpoint itself. */
typedef struct loading {
  const char *path;
  const fw_snapshot_ops *snapshot_ops;
  const furrow_comm *comm;
  unsigned char *head; /* header, history, records of parts */
  bool in_parts;
  unsigned parts; /* 1: the checkpoint itself */
  bool has_best;
} loading;

/* A file with parameters. */
typedef struct opened_part {
  opened_file file;
  char *path;
  uint64_t start; /* where its parameters begin */
  uint64_t snapshot_bytes, best_bytes;
} opened_part;

static furrow_status check_part(const loading *l, unsigned rank, const opened_part *part, furrow_error *err) {
  const unsigned char *header = part->file.header, *record = fw_checkpoint_table(l->head) + FW_CHECKPOINT_PARTS_ID +
                                                             (size_t)rank * FW_CHECKPOINT_PART_RECORD;
  FW_TRY(check_fields(header, part->file.size, true, err));
  const uint32_t its_rank = fw_get_le32(header + FW_AT_PART_RANK), ranks = fw_get_le32(header + FW_AT_PART_RANKS);
  if (its_rank != rank || ranks != l->parts)
    return damaged(err, FW_AT_PART_RANK, "the part is %" PRIu32 "-of-%" PRIu32 ", not %u-of-%u", its_rank, ranks, rank,
                   l->parts);
  if (memcmp(header + FW_AT_PART_ID, fw_checkpoint_table(l->head), 8) != 0 ||
      memcmp(header + FW_AT_PAYLOAD_BYTES, record, FW_CHECKPOINT_PART_RECORD) != 0 ||
      memcmp(header + FW_AT_FINGERPRINT, l->head + FW_AT_FINGERPRINT, 16) != 0 ||
      memcmp(header + FW_AT_ELEMENT, l->head + FW_AT_ELEMENT, 4) != 0)
    return damaged(err, FW_AT_PART_ID, "the part is of another checkpoint");
  const uint64_t payload = part->file.size - FW_CHECKPOINT_HEADER,
                 snapshot = fw_get_le64(header + FW_AT_SNAPSHOT_BYTES);
  if (snapshot > payload || fw_get_le64(header + FW_AT_BEST_BYTES) != payload - snapshot)
    return damaged(err, FW_AT_SNAPSHOT_BYTES, "the sizes of the parts do not add up");
  if (fw_get_le32(header + FW_AT_PART_UNUSED))
    return damaged(err, FW_AT_PART_UNUSED, "unused bytes of the checkpoint's header are not 0");
  return FURROW_OK;
}

static furrow_status open_part(const loading *l, unsigned rank, opened_part *part, furrow_error *err) {
  const uint64_t history = fw_get_le32(l->head + FW_AT_EPOCHS) * (uint64_t)FW_CHECKPOINT_EPOCH;
  FW_TRY(l->in_parts ? fw_checkpoint_name_part(&part->path, l->path, fw_get_le64(fw_checkpoint_table(l->head)), rank,
                                               l->parts, err)
                     : fw_strndup(&part->path, l->path, strlen(l->path), err));
  furrow_status status = open_file(&part->file, part->path, err);
  if (status == FURROW_E_NOT_FOUND) /* which would mean that none was saved */
    status = fw_fail(err, FURROW_E_FORMAT, "part %u-of-%u of the checkpoint is missing", rank, l->parts);
  if (status == FURROW_OK && l->in_parts) status = check_part(l, rank, part, err);
  if (status == FURROW_OK && !l->in_parts && memcmp(part->file.header, l->head, FW_CHECKPOINT_HEADER) != 0)
    status = damaged(err, 0, "the checkpoint was replaced while it was read");
  part->start = FW_CHECKPOINT_HEADER + (l->in_parts ? 0 : history);
  part->snapshot_bytes = fw_get_le64(part->file.header + FW_AT_SNAPSHOT_BYTES);
  part->best_bytes = fw_get_le64(part->file.header + FW_AT_BEST_BYTES);
  return status;
}

static furrow_status verify_part(loading *l, unsigned rank, opened_part *part, furrow_error *err) {
  uint64_t digest = 0;
  FW_TRY(open_part(l, rank, part, err));
  FW_TRY(digest_file(part->file.input, part->file.size, &digest, err));
  return check_digest(part->file.header, digest, err);
}

/* Takes this rank's features from a part: those of the last epoch, or of the best one. */
static furrow_status take_part(loading *l, unsigned rank, bool best, uint64_t *taken, opened_part *part,
                               furrow_error *err) {
  FW_TRY(open_part(l, rank, part, err));
  if (rank == 0) l->has_best = part->best_bytes > 0;
  if (l->has_best != (part->best_bytes > 0))
    return damaged(err, FW_AT_BEST_BYTES, "some parts have a best epoch, and some have none");
  if (best && !l->has_best) return FURROW_OK;
  fw_snapshot_range range = {.read = read_bytes, .from = part->file.input, .rank = rank, .ranks = l->parts};
  range.begin = part->start + (best ? part->snapshot_bytes : 0);
  range.end = range.begin + (best ? part->best_bytes : part->snapshot_bytes);
  range.dense = rank == 0;
  furrow_status status = l->snapshot_ops->take(l->snapshot_ops->object, &range, taken, err);
  if (status == FURROW_E_FORMAT && err) err->offset += range.begin;
  return status;
}

/* Errors name the part. */
static furrow_status end_part(opened_part *part, furrow_status status, furrow_error *err) {
  if (status != FURROW_OK && part->path && !(err && err->file[0])) fw_error_set_file(err, part->path);
  fw_input_close(part->file.input);
  fw_free(part->path);
  return status;
}

static furrow_status append(void *to, const void *bytes, size_t size, furrow_error *err) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, err);
}

static furrow_status take_parts(loading *l, bool best, uint64_t *taken, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (unsigned r = 0; status == FURROW_OK && r < l->parts; r++) {
    opened_part part = {0};
    status = end_part(&part, take_part(l, r, best, taken, &part, err), err);
  }
  return status;
}

/* Reads the best epoch first and keeps its bytes; then the last epoch, which has at least the same features, replaces
 * it in the object. */
static furrow_status take_all(loading *l, fw_checkpoint *made, furrow_error *err) {
  const fw_snapshot_ops *ops = l->snapshot_ops;
  uint64_t taken = 0;
  FW_TRY(take_parts(l, true, &taken, err));
  if (l->has_best) FW_TRY(ops->write(ops->object, append, &made->best_snapshot, err));
  taken = 0;
  FW_TRY(take_parts(l, false, &taken, err));
  if (ops->count(ops->object) == taken) return FURROW_OK;
  return damaged(err, FW_AT_BEST, "the best epoch has features that the last one does not have");
}

/* Every rank checks some files; then each reads its own features from all. */
static furrow_status load_parts(loading *l, fw_checkpoint *made, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (unsigned r = l->comm->rank; status == FURROW_OK && r < l->parts; r += l->comm->ranks) {
    opened_part part = {0};
    status = end_part(&part, verify_part(l, r, &part, err), err);
  }
  FW_TRY(fw_comm_share_status(l->comm, status, err));
  return take_all(l, made, err);
}

static furrow_status load_head(loading *l, fw_checkpoint *made, furrow_error *err) {
  FW_TRY(fw_checkpoint_read_head(l->path, &l->head, err));
  l->in_parts = fw_checkpoint_is_in_parts(l->head);
  l->parts = l->in_parts ? fw_get_le32(l->head + FW_AT_RANKS) : 1;
  FW_TRY(check_plan(l->head, l->snapshot_ops, err));
  take_numbers(l->head, made);
  return decode_history(l->head, made, err);
}

static furrow_status load_by_part(loading *l, fw_checkpoint *made, furrow_error *err) {
  furrow_status status = fw_comm_share_status(l->comm, load_head(l, made, err), err);
  if (status == FURROW_OK) status = load_parts(l, made, err);
  fw_free(l->head);
  return status;
}

/* ---- Whole, or in parts ---------------------------------------------------------------------------------------- */

static furrow_status load_whole(const char *path, fw_checkpoint *checkpoint, const fw_snapshot_ops *snapshot_ops,
                                furrow_error *err) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  furrow_status status = read_file(path, &bytes, &size, err);
  if (status == FURROW_OK) status = decode_checkpoint(bytes, size, checkpoint, snapshot_ops, err);
  fw_free(bytes);
  return status;
}

/* Finds out by the version of the file whether the parameters are in parts. */
static furrow_status find_parts(const char *path, bool *parts, furrow_error *err) {
  opened_file file = {0};
  const furrow_status status = open_file(&file, path, err);
  fw_input_close(file.input);
  *parts = memcmp(file.header, FW_CHECKPOINT_MAGIC, 8) == 0 && fw_checkpoint_is_in_parts(file.header);
  return status;
}

static furrow_status load_either(const char *path, fw_checkpoint *checkpoint, const fw_snapshot_ops *snapshot_ops,
                                 const furrow_comm *comm, furrow_error *err) {
  loading l = {.path = path, .snapshot_ops = snapshot_ops, .comm = comm};
  bool parts = false;
  FW_TRY(fw_comm_share_status(comm, find_parts(path, &parts, err), err));
  if (snapshot_ops->take && (parts || comm->ranks > 1)) return load_by_part(&l, checkpoint, err);
  return load_whole(path, checkpoint, snapshot_ops, err);
}

/* All ranks continue from the checkpoint that the first rank finds, or none does. */
static furrow_status find_checkpoint(const char *path, const furrow_comm *comm, furrow_error *err) {
  struct stat info;
  furrow_status status = fw_path_stat(path, &info, err);
  if (comm->ranks == 1) return status;
  uint32_t found = (uint32_t)status;
  FW_TRY(comm->broadcast(comm, &found, sizeof found, 0, err));
  if (status == (furrow_status)found) return status;
  status = fw_fail(err, FURROW_E_STATE, "%s a checkpoint that the first process %s",
                   found ? "there is" : "there is not", found ? "does not find" : "finds");
  fw_error_set_hint(err, "all processes must see the same file system");
  return status;
}

furrow_status fw_checkpoint_load(const char *folder, fw_checkpoint *checkpoint, const fw_snapshot_ops *snapshot_ops,
                                 const furrow_comm *comm, furrow_error *err) {
  char *path = NULL;
  fw_checkpoint made = {0};
  furrow_status status = fw_comm_share_status(comm, fw_checkpoint_name_file(&path, folder, err), err);
  if (status == FURROW_OK) {
    status = find_checkpoint(path, comm, err);
    const bool none = status == FURROW_E_NOT_FOUND; /* on all ranks */
    if (status == FURROW_OK) status = load_either(path, &made, snapshot_ops, comm, err);
    if (!none) status = fw_comm_share_status(comm, status, err);
    if (status != FURROW_OK && err && !err->file[0]) fw_error_set_file(err, path);
  }
  fw_free(path);
  return give(checkpoint, &made, status);
}

/* ---- What a checkpoint says of itself ---- */

/* An info and the epoch that it shows. */
typedef struct inspected {
  furrow_checkpoint_info info;
  fw_epoch last;
} inspected;

/* Sums the bytes of the parts from their records, if there are parts. */
static uint64_t bytes_of_parts(const unsigned char *bytes) {
  uint64_t sum = 0;
  for (uint32_t r = 0; fw_checkpoint_is_in_parts(bytes) && r < fw_get_le32(bytes + FW_AT_RANKS); r++)
    sum += FW_CHECKPOINT_HEADER +
           fw_get_le64(fw_checkpoint_table(bytes) + FW_CHECKPOINT_PARTS_ID + (size_t)r * FW_CHECKPOINT_PART_RECORD);
  return sum;
}

static furrow_status inspect(const unsigned char *bytes, size_t size, inspected *made, furrow_error *err) {
  fw_checkpoint checkpoint = {0};
  furrow_status status = check_header(bytes, size, err);
  if (status == FURROW_OK) status = decode_history(bytes, &checkpoint, err);
  if (status == FURROW_OK) {
    made->info = (furrow_checkpoint_info){.bytes = size + bytes_of_parts(bytes),
                                          .number_size = fw_get_le32(bytes + FW_AT_ELEMENT),
                                          .steps = fw_get_le64(bytes + FW_AT_STEPS),
                                          .epochs = (uint32_t)checkpoint.epochs,
                                          .best = fw_get_le32(bytes + FW_AT_BEST)};
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
  inspected *made = NULL;
  const bool folder = fw_path_stat(path, &found, NULL) == FURROW_OK && S_ISDIR(found.st_mode);
  furrow_status status =
      folder ? fw_checkpoint_name_file(&file, path, err) : fw_strndup(&file, path, strlen(path), err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&made, 1, err);
  if (status == FURROW_OK) status = fw_checkpoint_check_magic(file, err);
  if (status == FURROW_OK) status = read_file(file, &bytes, &size, err);
  if (status == FURROW_OK) status = inspect(bytes, size, made, err);
  if (status == FURROW_OK)
    *info = &made->info;
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
