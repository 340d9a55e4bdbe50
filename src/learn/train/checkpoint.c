/* learn/train/checkpoint.c: a training between two epochs, as a file; of several ranks, as a file that names a part of
 * each rank. */
#include "learn/train/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/atomic_file.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "io/target.h"

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
  AT_RANKS = 76, /* parts of the checkpoint; 0: it is whole */
  AT_BEST_STEPS = 80,
  AT_HEADER_DIGEST = 88,
  /* of a part, instead of epochs, best, halvings and best steps */
  AT_PART_RANK = AT_EPOCHS,
  AT_PART_RANKS = AT_BEST,
  AT_PART_UNUSED = AT_HALVINGS,
  AT_PART_ID = AT_BEST_STEPS
};

/* What a checkpoint of several ranks has behind its history: the id of its parts, then the bytes and the digest of the
 * payload of each. */
enum { PARTS_ID = 8, PART_RECORD = 16 };

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

/* ---- Names ---------------------------------------------------------------------------------------------- */

/* folder/checkpoint, to be freed with fw_free. */
static furrow_status name_file(char **path, const char *folder, furrow_error *err) {
  fw_buffer text = {0};
  fw_buffer_text(&text, folder);
  fw_buffer_text(&text, "/" FW_CHECKPOINT_NAME);
  furrow_status status = fw_buffer_take(&text, path, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

/* The part of a rank lies beside the checkpoint: checkpoint.<id, 16 hexadecimal digits>.<rank>-of-<ranks> */
static furrow_status name_part(char **path, const char *checkpoint, uint64_t id, unsigned rank, unsigned ranks,
                               furrow_error *err) {
  char name[64];
  fw_buffer text = {0};
  snprintf(name, sizeof name, ".%016" PRIx64 ".%u-of-%u", id, rank, ranks);
  fw_buffer_text(&text, checkpoint);
  fw_buffer_text(&text, name);
  furrow_status status = fw_buffer_take(&text, path, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

/* Whether it is the name of a part; what may follow it in the name is up to the caller. */
static bool is_part_name(const char *name, uint64_t *id, const char **end) {
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

/* ---- Saving --------------------------------------------------------------------------------------------- */

typedef struct writer {
  fw_atomic_file *file;
  XXH3_state_t *hash;
  uint64_t skip; /* bytes that are not written */
} writer;

static furrow_status write_bytes(void *to, const void *bytes, size_t size, furrow_error *err) {
  writer *w = to;
  const size_t skipped = w->skip < size ? (size_t)w->skip : size;
  w->skip -= skipped;
  XXH3_64bits_update(w->hash, (const char *)bytes + skipped, size - skipped);
  return fw_atomic_file_write(w->file, (const char *)bytes + skipped, size - skipped, err);
}

/* A checkpoint that is being saved: whole, or in parts. */
typedef struct saving {
  const char *folder;
  char *path; /* of the checkpoint */
  const fw_checkpoint *checkpoint;
  const fw_snapshot_ops *snapshot_ops;
  const furrow_comm *comm;
  uint64_t fingerprint;
  uint64_t snapshot_bytes, best_bytes; /* of the file that is being written */
  /* parts */
  uint64_t id;
  unsigned char *table;
  size_t table_bytes;
} saving;

static furrow_status write_history(writer *w, const saving *s, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < s->checkpoint->epochs; i++) {
    unsigned char bytes[FW_CHECKPOINT_EPOCH];
    put_epoch(bytes, &s->checkpoint->history[i]);
    status = write_bytes(w, bytes, sizeof bytes, err);
  }
  return status;
}

/* Parameters now and of the best epoch. What all ranks have alike is in the part of the first alone. */
static furrow_status write_snapshots(writer *w, saving *s, furrow_error *err) {
  const uint64_t start = fw_atomic_file_size(w->file);
  const uint64_t skip = fw_comm_is_first(s->comm) ? 0 : s->snapshot_ops->dense_bytes;
  const fw_buffer *best = &s->checkpoint->best_snapshot;
  w->skip = skip;
  furrow_status status = s->snapshot_ops->write(s->snapshot_ops->object, write_bytes, w, err);
  s->snapshot_bytes = fw_atomic_file_size(w->file) - start;
  w->skip = skip;
  if (status == FURROW_OK && best->size) status = write_bytes(w, best->bytes, best->size, err);
  s->best_bytes = fw_atomic_file_size(w->file) - start - s->snapshot_bytes;
  return status;
}

static furrow_status write_whole(writer *w, saving *s, furrow_error *err) {
  furrow_status status = write_history(w, s, err);
  return status == FURROW_OK ? write_snapshots(w, s, err) : status;
}

static furrow_status write_commit(writer *w, saving *s, furrow_error *err) {
  furrow_status status = write_history(w, s, err);
  s->snapshot_bytes = s->table_bytes;
  s->best_bytes = 0;
  return status == FURROW_OK ? write_bytes(w, s->table, s->table_bytes, err) : status;
}

static void head_whole(unsigned char *header, const saving *s) {
  memcpy(header + AT_MAGIC, FW_CHECKPOINT_MAGIC, 8);
  fw_put_le32(header + AT_VERSION, FW_CHECKPOINT_VERSION);
  fw_put_le32(header + AT_EPOCHS, (uint32_t)s->checkpoint->epochs);
  fw_put_le32(header + AT_BEST, s->checkpoint->best);
  fw_put_le32(header + AT_HALVINGS, s->checkpoint->halvings);
  fw_put_le64(header + AT_BEST_STEPS, s->checkpoint->best_steps);
}

static void head_commit(unsigned char *header, const saving *s) {
  head_whole(header, s);
  fw_put_le32(header + AT_VERSION, FW_CHECKPOINT_PARTS_VERSION);
  fw_put_le32(header + AT_RANKS, s->comm->ranks);
}

static void head_part(unsigned char *header, const saving *s) {
  memcpy(header + AT_MAGIC, FW_CHECKPOINT_PART_MAGIC, 8);
  fw_put_le32(header + AT_VERSION, FW_CHECKPOINT_PARTS_VERSION);
  fw_put_le32(header + AT_PART_RANK, s->comm->rank);
  fw_put_le32(header + AT_PART_RANKS, s->comm->ranks);
  fw_put_le64(header + AT_PART_ID, s->id);
}

/* The files of a checkpoint differ in their payload and in some fields of the header. */
typedef struct file_kind {
  furrow_status (*payload)(writer *w, saving *s, furrow_error *err);
  void (*head)(unsigned char *header, const saving *s);
} file_kind;

static const file_kind whole_file = {write_whole, head_whole}, commit_file = {write_commit, head_commit},
                       part_file = {write_snapshots, head_part};

static void complete_header(unsigned char *header, const writer *w, const saving *s) {
  fw_put_le32(header + AT_ELEMENT, (uint32_t)s->snapshot_ops->element);
  fw_put_le64(header + AT_PAYLOAD_BYTES, fw_atomic_file_size(w->file) - FW_CHECKPOINT_HEADER);
  fw_put_le64(header + AT_PAYLOAD_DIGEST, XXH3_64bits_digest(w->hash));
  fw_put_le64(header + AT_FINGERPRINT, s->fingerprint);
  fw_put_le64(header + AT_STEPS, s->checkpoint->steps);
  fw_put_le64(header + AT_SNAPSHOT_BYTES, s->snapshot_bytes);
  fw_put_le64(header + AT_BEST_BYTES, s->best_bytes);
  fw_put_le64(header + AT_HEADER_DIGEST, XXH3_64bits(header, AT_HEADER_DIGEST));
}

/* The file appears complete or not at all; `header` is left filled in. */
static furrow_status write_file(const char *path, const file_kind *kind, saving *s,
                                unsigned char header[FW_CHECKPOINT_HEADER], furrow_error *err) {
  writer w = {.hash = XXH3_createState()};
  memset(header, 0, FW_CHECKPOINT_HEADER);
  furrow_status status = w.hash ? fw_atomic_file_open(&w.file, path, err) : fw_fail_memory(err, 576);
  if (status == FURROW_OK) status = fw_atomic_file_write(w.file, header, FW_CHECKPOINT_HEADER, err);
  if (status == FURROW_OK) {
    XXH3_64bits_reset(w.hash);
    status = kind->payload(&w, s, err);
  }
  if (status == FURROW_OK) {
    kind->head(header, s);
    complete_header(header, &w, s);
    status = fw_atomic_file_write_at(w.file, 0, header, FW_CHECKPOINT_HEADER, err);
  }
  if (status == FURROW_OK) status = fw_atomic_file_commit(w.file, err);
  fw_atomic_file_close(w.file);
  XXH3_freeState(w.hash);
  return status;
}

static furrow_status make_folder(const char *folder, furrow_error *err) {
  if (mkdir(folder, 0777) == 0 || errno == EEXIST) return FURROW_OK;
  furrow_status status = fw_fail_errno(err, errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO, errno,
                                       "cannot make the folder of a checkpoint");
  fw_error_set_file(err, folder);
  return status;
}

/* What is to be removed from a folder. */
typedef struct wanted_parts {
  bool all;     /* temporary files of checkpoints, too */
  bool damaged; /* no parts: nobody knows which are those of the checkpoint */
  bool keeps;   /* parts of this checkpoint */
  uint64_t kept;
} wanted_parts;

/* A part of another checkpoint than the one that is kept, or what a killed process left behind. */
static bool is_left_over(void *user, const char *name) {
  const wanted_parts *wanted = user;
  static const char temporary[] = "." FW_CHECKPOINT_NAME ".furrow-";
  uint64_t id = 0;
  const char *end = "";
  if (name[0] != '.')
    return !wanted->damaged && is_part_name(name, &id, &end) && !*end && !(wanted->keeps && id == wanted->kept);
  if (!wanted->all) return false;
  return strncmp(name, temporary, sizeof temporary - 1) == 0 ||
         (is_part_name(name + 1, &id, &end) && fw_target_is_temporary(name) && end[0] == '.');
}

/* What stays does no harm. */
static furrow_status remove_left_over(const char *folder, const wanted_parts *wanted, furrow_error *err) {
  fw_dir_names left = {0};
  wanted_parts copy = *wanted;
  furrow_status status = fw_dir_names_read(&left, folder, is_left_over, &copy, err);
  for (size_t i = 0; status == FURROW_OK && i < left.count; i++) {
    char *path = NULL;
    status = fw_path_join(&path, folder, left.names[i], err);
    if (status == FURROW_OK) (void)remove(path);
    fw_free(path);
  }
  fw_dir_names_clear(&left);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

/* One process writes all: it is alone, or all have the same. */
static furrow_status save_whole(saving *s, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER];
  furrow_status status = FURROW_OK;
  if (!fw_comm_is_first(s->comm)) return status;
  status = make_folder(s->folder, err);
  if (status == FURROW_OK) status = write_file(s->path, &whole_file, s, header, err);
  return status == FURROW_OK ? remove_left_over(s->folder, &(wanted_parts){0}, err) : status;
}

/* A number that no other checkpoint in the folder has. */
static uint64_t draw_id(const saving *s) {
  struct {
    struct timespec now;
    uint64_t process, steps;
  } seed;
  memset(&seed, 0, sizeof seed);
  clock_gettime(CLOCK_REALTIME, &seed.now);
  seed.process = (uint64_t)getpid();
  seed.steps = s->checkpoint->steps;
  return XXH3_64bits(&seed, sizeof seed);
}

/* The records of all parts, for the file that names them. */
static furrow_status gather_table(saving *s, const unsigned char *header, furrow_error *err) {
  unsigned char record[PART_RECORD];
  size_t *sizes = NULL;
  memcpy(record, header + AT_PAYLOAD_BYTES, 8);
  memcpy(record + 8, header + AT_PAYLOAD_DIGEST, 8);
  s->table_bytes = PARTS_ID + (size_t)s->comm->ranks * PART_RECORD;
  furrow_status status = fw_alloc((void **)&s->table, s->table_bytes, 1, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&sizes, s->comm->ranks, sizeof *sizes, err);
  status = fw_comm_share_status(s->comm, status, err);
  if (status == FURROW_OK) {
    for (unsigned r = 0; r < s->comm->ranks; r++) sizes[r] = sizeof record;
    fw_put_le64(s->table, s->id);
    status = s->comm->gather(s->comm, record, sizeof record, s->table + PARTS_ID, sizes, err);
  }
  fw_free(sizes);
  return status;
}

/* The file that names the parts makes them the checkpoint. It may be there even after a failure of its folder's sync:
 * then the parts stay, and the next checkpoint removes those that are not its own. */
static furrow_status commit_parts(saving *s, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER];
  furrow_status status = FURROW_OK;
  if (fw_comm_is_first(s->comm)) {
    status = write_file(s->path, &commit_file, s, header, err);
    const wanted_parts others = {.keeps = true, .kept = s->id};
    if (status == FURROW_OK) status = remove_left_over(s->folder, &others, err);
  }
  return fw_comm_share_status(s->comm, status, err);
}

static furrow_status save_parts(saving *s, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER];
  char *part = NULL;
  furrow_status status = FURROW_OK;
  if (fw_comm_is_first(s->comm)) status = make_folder(s->folder, err);
  FW_TRY(fw_comm_share_status(s->comm, status, err));
  s->id = draw_id(s);
  FW_TRY(s->comm->broadcast(s->comm, &s->id, sizeof s->id, 0, err));
  status = name_part(&part, s->path, s->id, s->comm->rank, s->comm->ranks, err);
  if (status == FURROW_OK) status = write_file(part, &part_file, s, header, err);
  status = fw_comm_share_status(s->comm, status, err);
  if (status == FURROW_OK) status = gather_table(s, header, err);
  if (status == FURROW_OK)
    status = commit_parts(s, err);
  else if (part)
    (void)remove(part);
  fw_free(part);
  return status;
}

furrow_status fw_checkpoint_save(const char *folder, const fw_checkpoint *checkpoint,
                                 const fw_snapshot_ops *snapshot_ops, const furrow_comm *comm, furrow_error *err) {
  saving s = {.folder = folder, .checkpoint = checkpoint, .snapshot_ops = snapshot_ops, .comm = comm};
  furrow_status status = name_file(&s.path, folder, err);
  if (status == FURROW_OK) status = fw_plan_fingerprint(snapshot_ops->plan, &s.fingerprint, err);
  status = fw_comm_share_status(comm, status, err);
  if (status == FURROW_OK && comm->ranks > 1 && snapshot_ops->take)
    status = save_parts(&s, err);
  else if (status == FURROW_OK)
    status = fw_comm_share_status(comm, save_whole(&s, err), err);
  fw_free(s.table);
  fw_free(s.path);
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

/* Magic, version, and what the header says of itself and of the file's size. */
static furrow_status check_fields(const unsigned char *bytes, uint64_t size, bool part, furrow_error *err) {
  const char *magic = part ? FW_CHECKPOINT_PART_MAGIC : FW_CHECKPOINT_MAGIC;
  if (size < FW_CHECKPOINT_HEADER || memcmp(bytes, magic, 8) != 0)
    return fail_at(err, FURROW_E_FORMAT, 0, "not a %s of a training", part ? "checkpoint's part" : "checkpoint");
  const uint32_t version = fw_get_le32(bytes + AT_VERSION);
  if (version != FW_CHECKPOINT_PARTS_VERSION && (part || version != FW_CHECKPOINT_VERSION))
    return fail_at(err, FURROW_E_FORMAT, AT_VERSION, "the checkpoint is of version %" PRIu32 ", this reads version %d",
                   version, FW_CHECKPOINT_VERSION);
  if (fw_get_le64(bytes + AT_HEADER_DIGEST) != XXH3_64bits(bytes, AT_HEADER_DIGEST))
    return fail_at(err, FURROW_E_FORMAT, AT_HEADER_DIGEST, "the checkpoint is damaged: its header's digest is wrong");
  if ((version == FW_CHECKPOINT_VERSION || part) && fw_get_le32(bytes + AT_RANKS))
    return fail_at(err, FURROW_E_FORMAT, AT_RANKS, "unused bytes of the checkpoint's header are not 0");
  const uint64_t payload = fw_get_le64(bytes + AT_PAYLOAD_BYTES), have = size - FW_CHECKPOINT_HEADER;
  if (payload != have)
    return fail_at(err, FURROW_E_FORMAT, AT_PAYLOAD_BYTES,
                   "the checkpoint is cut short or too long: %" PRIu64 " bytes follow its header, not %" PRIu64, have,
                   payload);
  return FURROW_OK;
}

static furrow_status check_digest(const unsigned char *header, uint64_t digest, furrow_error *err) {
  if (fw_get_le64(header + AT_PAYLOAD_DIGEST) == digest) return FURROW_OK;
  return fail_at(err, FURROW_E_FORMAT, AT_PAYLOAD_DIGEST, "the checkpoint is damaged: its digest is wrong");
}

static furrow_status check_header(const unsigned char *bytes, size_t size, furrow_error *err) {
  FW_TRY(check_fields(bytes, size, false, err));
  return check_digest(bytes, XXH3_64bits(bytes + FW_CHECKPOINT_HEADER, size - FW_CHECKPOINT_HEADER), err);
}

static bool is_in_parts(const unsigned char *header) {
  return fw_get_le32(header + AT_VERSION) == FW_CHECKPOINT_PARTS_VERSION;
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
  const uint64_t ranks = fw_get_le32(bytes + AT_RANKS);
  if (is_in_parts(bytes) && (ranks == 0 || best > 0 || snapshot != PARTS_ID + ranks * PART_RECORD))
    return fail_at(err, FURROW_E_FORMAT, AT_RANKS, "the number of parts is not that of their records");
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

static void take_numbers(const unsigned char *header, fw_checkpoint *checkpoint) {
  checkpoint->steps = fw_get_le64(header + AT_STEPS);
  checkpoint->best = fw_get_le32(header + AT_BEST);
  checkpoint->halvings = fw_get_le32(header + AT_HALVINGS);
  checkpoint->best_steps = fw_get_le64(header + AT_BEST_STEPS);
}

furrow_status fw_checkpoint_decode(const unsigned char *bytes, size_t size, fw_checkpoint *checkpoint,
                                   const fw_snapshot_ops *snapshot_ops, furrow_error *err) {
  fw_checkpoint made = {0};
  furrow_status status = check_header(bytes, size, err);
  if (status == FURROW_OK) status = check_parts(bytes, err);
  if (status == FURROW_OK) status = check_plan(bytes, snapshot_ops, err);
  if (status == FURROW_OK && is_in_parts(bytes))
    status = fail_at(err, FURROW_E_FORMAT, AT_RANKS, "the checkpoint has its parameters in other files");
  if (status == FURROW_OK) status = decode_history(bytes, &made, err);
  if (status == FURROW_OK) status = decode_snapshots(bytes, &made, snapshot_ops, err);
  if (status != FURROW_OK) {
    fw_checkpoint_clear(&made);
    return status;
  }
  take_numbers(bytes, &made);
  *checkpoint = made;
  return FURROW_OK;
}

/* Opens a regular file and reads its header, or what there is of it. */
static furrow_status open_file(fw_input **input, const char *path, uint64_t *size,
                               unsigned char header[FW_CHECKPOINT_HEADER], furrow_error *err) {
  struct stat info;
  fw_input *opened = NULL;
  size_t got = 0;
  furrow_status status = fw_input_open_regular(&opened, path, err);
  if (status != FURROW_OK) return status;
  if (fw_input_stat(opened, &info, NULL) != FURROW_OK || !S_ISREG(info.st_mode))
    status = fw_fail(err, FURROW_E_FORMAT, "a checkpoint is a regular file");
  memset(header, 0, FW_CHECKPOINT_HEADER);
  if (status == FURROW_OK) status = fw_input_read_at(opened, header, FW_CHECKPOINT_HEADER, 0, &got, err);
  if (status != FURROW_OK) {
    fw_input_close(opened);
    return status;
  }
  *size = (uint64_t)info.st_size;
  *input = opened;
  return FURROW_OK;
}

/* Exactly so many bytes; for fw_snapshot_range. */
static furrow_status read_bytes(const void *input, uint64_t at, void *bytes, size_t size, furrow_error *err) {
  size_t got = 0;
  FW_TRY(fw_input_read_at(input, bytes, size, at, &got, err));
  return got == size ? FURROW_OK : fail_at(err, FURROW_E_FORMAT, at + got, "the checkpoint ends while it is read");
}

static furrow_status digest_file(const fw_input *input, uint64_t size, uint64_t *digest, furrow_error *err) {
  enum { PIECE = 1 << 18 };
  XXH3_state_t *hash = XXH3_createState();
  void *piece = NULL;
  furrow_status status = hash ? fw_alloc(&piece, PIECE, 1, err) : fw_fail_memory(err, 576);
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

/* ---- Loading of several ranks, or by several ------------------------------------------------------------ */

/* A checkpoint whose parameters are read some at a time: those of parts, or of a whole one. */
typedef struct loading {
  const char *path;
  const fw_snapshot_ops *snapshot_ops;
  const furrow_comm *comm;
  unsigned char *head; /* header, history, records of parts */
  bool in_parts;
  unsigned parts; /* 1: the checkpoint itself */
  bool has_best;
} loading;

/* A file with parameters, opened. */
typedef struct opened_part {
  fw_input *input;
  char *path;
  uint64_t size, start; /* where its parameters begin */
  uint64_t snapshot_bytes, best_bytes;
  unsigned char header[FW_CHECKPOINT_HEADER];
} opened_part;

static const unsigned char *table_of(const loading *l) {
  return l->head + FW_CHECKPOINT_HEADER + (size_t)fw_get_le32(l->head + AT_EPOCHS) * FW_CHECKPOINT_EPOCH;
}

static furrow_status check_part(const loading *l, unsigned rank, const opened_part *part, furrow_error *err) {
  const unsigned char *header = part->header, *record = table_of(l) + PARTS_ID + (size_t)rank * PART_RECORD;
  FW_TRY(check_fields(header, part->size, true, err));
  const uint32_t its_rank = fw_get_le32(header + AT_PART_RANK), ranks = fw_get_le32(header + AT_PART_RANKS);
  if (its_rank != rank || ranks != l->parts)
    return fail_at(err, FURROW_E_FORMAT, AT_PART_RANK, "the part is %" PRIu32 "-of-%" PRIu32 ", not %u-of-%u", its_rank,
                   ranks, rank, l->parts);
  if (memcmp(header + AT_PART_ID, table_of(l), 8) != 0 || memcmp(header + AT_PAYLOAD_BYTES, record, PART_RECORD) != 0 ||
      memcmp(header + AT_FINGERPRINT, l->head + AT_FINGERPRINT, 16) != 0 ||
      memcmp(header + AT_ELEMENT, l->head + AT_ELEMENT, 4) != 0)
    return fail_at(err, FURROW_E_FORMAT, AT_PART_ID, "the part is of another checkpoint");
  const uint64_t payload = part->size - FW_CHECKPOINT_HEADER, snapshot = fw_get_le64(header + AT_SNAPSHOT_BYTES);
  if (snapshot > payload || fw_get_le64(header + AT_BEST_BYTES) != payload - snapshot)
    return fail_at(err, FURROW_E_FORMAT, AT_SNAPSHOT_BYTES, "the sizes of the parts do not add up");
  if (fw_get_le32(header + AT_PART_UNUSED))
    return fail_at(err, FURROW_E_FORMAT, AT_PART_UNUSED, "unused bytes of the checkpoint's header are not 0");
  return FURROW_OK;
}

static void close_part(opened_part *part) {
  fw_input_close(part->input);
  fw_free(part->path);
}

static furrow_status open_part(const loading *l, unsigned rank, opened_part *part, furrow_error *err) {
  const uint64_t history = fw_get_le32(l->head + AT_EPOCHS) * (uint64_t)FW_CHECKPOINT_EPOCH;
  furrow_status status = l->in_parts ? name_part(&part->path, l->path, fw_get_le64(table_of(l)), rank, l->parts, err)
                                     : fw_strndup(&part->path, l->path, strlen(l->path), err);
  if (status != FURROW_OK) return status;
  status = open_file(&part->input, part->path, &part->size, part->header, err);
  if (status == FURROW_E_NOT_FOUND) /* which would mean that there is no checkpoint */
    status = fw_fail(err, FURROW_E_FORMAT, "part %u-of-%u of the checkpoint is missing", rank, l->parts);
  if (status == FURROW_OK && l->in_parts) status = check_part(l, rank, part, err);
  if (status == FURROW_OK && !l->in_parts && memcmp(part->header, l->head, FW_CHECKPOINT_HEADER) != 0)
    status = fail_at(err, FURROW_E_FORMAT, 0, "the checkpoint was replaced while it was read");
  part->start = FW_CHECKPOINT_HEADER + (l->in_parts ? 0 : history);
  part->snapshot_bytes = fw_get_le64(part->header + AT_SNAPSHOT_BYTES);
  part->best_bytes = fw_get_le64(part->header + AT_BEST_BYTES);
  return status;
}

static furrow_status verify_part(loading *l, unsigned rank, opened_part *part, furrow_error *err) {
  uint64_t digest = 0;
  FW_TRY(open_part(l, rank, part, err));
  FW_TRY(digest_file(part->input, part->size, &digest, err));
  return check_digest(part->header, digest, err);
}

/* This rank's features of a part, now or of the best epoch. */
static furrow_status take_part(loading *l, unsigned rank, bool best, uint64_t *taken, opened_part *part,
                               furrow_error *err) {
  FW_TRY(open_part(l, rank, part, err));
  if (rank == 0) l->has_best = part->best_bytes > 0;
  if (l->has_best != (part->best_bytes > 0))
    return fail_at(err, FURROW_E_FORMAT, AT_BEST_BYTES, "some parts have a best epoch, and some have none");
  if (best && !l->has_best) return FURROW_OK;
  fw_snapshot_range range = {.read = read_bytes, .from = part->input, .rank = rank, .ranks = l->parts};
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
  close_part(part);
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

/* The best epoch first: its bytes are kept, and the features of the last one, which are at least the same, take their
 * place in the object. */
static furrow_status take_all(loading *l, fw_checkpoint *made, furrow_error *err) {
  const fw_snapshot_ops *ops = l->snapshot_ops;
  uint64_t taken = 0;
  FW_TRY(take_parts(l, true, &taken, err));
  if (l->has_best) FW_TRY(ops->write(ops->object, append, &made->best_snapshot, err));
  taken = 0;
  FW_TRY(take_parts(l, false, &taken, err));
  if (ops->count(ops->object) == taken) return FURROW_OK;
  return fail_at(err, FURROW_E_FORMAT, AT_BEST, "the best epoch has features that the last one does not have");
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

/* Header, history and records: all of a file that names parts, the beginning of a whole one. */
static furrow_status read_head(loading *l, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER];
  uint64_t size = 0, kept = 0;
  fw_input *input = NULL;
  FW_TRY(open_file(&input, l->path, &size, header, err));
  furrow_status status = check_fields(header, size, false, err);
  if (status == FURROW_OK) status = check_parts(header, err);
  if (status == FURROW_OK) {
    l->in_parts = is_in_parts(header);
    l->parts = l->in_parts ? fw_get_le32(header + AT_RANKS) : 1;
    kept = size - (l->in_parts ? 0 : fw_get_le64(header + AT_SNAPSHOT_BYTES) + fw_get_le64(header + AT_BEST_BYTES));
    status = fw_alloc((void **)&l->head, kept, 1, err);
  }
  if (status == FURROW_OK) status = read_bytes(input, 0, l->head, kept, err);
  if (status == FURROW_OK && l->in_parts) status = check_header(l->head, kept, err);
  fw_input_close(input);
  return status;
}

static furrow_status load_by_part(loading *l, fw_checkpoint *checkpoint, furrow_error *err) {
  fw_checkpoint made = {0};
  furrow_status status = read_head(l, err);
  if (status == FURROW_OK) status = check_plan(l->head, l->snapshot_ops, err);
  if (status == FURROW_OK) status = decode_history(l->head, &made, err);
  status = fw_comm_share_status(l->comm, status, err);
  if (status == FURROW_OK) status = load_parts(l, &made, err);
  if (status == FURROW_OK) {
    take_numbers(l->head, &made);
    *checkpoint = made;
  } else {
    fw_checkpoint_clear(&made);
  }
  fw_free(l->head);
  return status;
}

/* ---- Loading a whole one ---- */

static furrow_status read_file(const char *path, unsigned char **bytes, size_t *size, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER];
  fw_input *input = NULL;
  void *memory = NULL;
  uint64_t length = 0;
  size_t got = 0;
  furrow_status status = open_file(&input, path, &length, header, err);
  if (status == FURROW_OK) status = fw_alloc(&memory, (size_t)length, 1, err);
  if (status == FURROW_OK) status = fw_input_read_at(input, memory, (size_t)length, 0, &got, err);
  fw_input_close(input);
  if (status == FURROW_OK) {
    *bytes = memory;
    *size = got;
  } else {
    fw_free(memory);
  }
  return status;
}

static furrow_status load_whole(const char *path, fw_checkpoint *checkpoint, const fw_snapshot_ops *snapshot_ops,
                                furrow_error *err) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  furrow_status status = read_file(path, &bytes, &size, err);
  if (status == FURROW_OK) status = fw_checkpoint_decode(bytes, size, checkpoint, snapshot_ops, err);
  fw_free(bytes);
  return status;
}

/* Whether the parameters are in parts: then the file has another version. */
static furrow_status find_parts(const char *path, bool *parts, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER];
  fw_input *input = NULL;
  uint64_t size = 0;
  FW_TRY(open_file(&input, path, &size, header, err));
  fw_input_close(input);
  *parts = memcmp(header, FW_CHECKPOINT_MAGIC, 8) == 0 && is_in_parts(header);
  return FURROW_OK;
}

static furrow_status load_either(const char *path, fw_checkpoint *checkpoint, const fw_snapshot_ops *snapshot_ops,
                                 const furrow_comm *comm, furrow_error *err) {
  loading l = {.path = path, .snapshot_ops = snapshot_ops, .comm = comm};
  bool parts = false;
  furrow_status status = fw_comm_share_status(comm, find_parts(path, &parts, err), err);
  if (status != FURROW_OK) return status;
  if (snapshot_ops->take && (parts || comm->ranks > 1)) return load_by_part(&l, checkpoint, err);
  return load_whole(path, checkpoint, snapshot_ops, err);
}

/* All ranks go on from the checkpoint that the first one finds, or none does. */
static furrow_status find_checkpoint(const char *path, const furrow_comm *comm, furrow_error *err) {
  struct stat info;
  uint32_t found = FURROW_OK;
  furrow_status status = fw_path_stat(path, &info, err);
  if (comm->ranks == 1) return status;
  found = (uint32_t)status;
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
  furrow_status status = fw_comm_share_status(comm, name_file(&path, folder, err), err);
  if (status == FURROW_OK) {
    status = find_checkpoint(path, comm, err);
    const bool none = status == FURROW_E_NOT_FOUND; /* on all ranks */
    if (status == FURROW_OK) status = load_either(path, &made, snapshot_ops, comm, err);
    if (!none) status = fw_comm_share_status(comm, status, err);
    if (status != FURROW_OK && err && !err->file[0]) fw_error_set_file(err, path);
  }
  if (status == FURROW_OK)
    *checkpoint = made;
  else
    fw_checkpoint_clear(&made);
  fw_free(path);
  return status;
}

/* Parts that the checkpoint does not name: their training was killed before it could. */
static furrow_status tidy(const char *folder, furrow_error *err) {
  wanted_parts wanted = {.all = true};
  loading l = {0};
  char *path = NULL;
  FW_TRY(name_file(&path, folder, err));
  l.path = path;
  const furrow_status status = read_head(&l, err);
  if (status == FURROW_OK && l.in_parts) wanted.kept = fw_get_le64(table_of(&l)), wanted.keeps = true;
  wanted.damaged = status == FURROW_E_FORMAT;
  fw_free(l.head);
  fw_free(path);
  if (status != FURROW_OK && status != FURROW_E_FORMAT && status != FURROW_E_NOT_FOUND) return status;
  return remove_left_over(folder, &wanted, err);
}

furrow_status fw_checkpoint_tidy(const char *folder, const furrow_comm *comm, furrow_error *err) {
  return fw_comm_share_status(comm, fw_comm_is_first(comm) ? tidy(folder, err) : FURROW_OK, err);
}

/* ---- Looking -------------------------------------------------------------------------------------------- */

/* Refuses other files, which may be large, by their first bytes. */
static furrow_status check_magic(const char *path, furrow_error *err) {
  char magic[8] = {0};
  size_t got = 0;
  fw_input *input = NULL;
  furrow_status status = fw_input_open_regular(&input, path, err);
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

/* What the records of parts say, where there are any. */
static uint64_t bytes_of_parts(const unsigned char *bytes) {
  uint64_t sum = 0;
  const loading l = {.head = (unsigned char *)bytes};
  for (uint32_t r = 0; is_in_parts(bytes) && r < fw_get_le32(bytes + AT_RANKS); r++)
    sum += FW_CHECKPOINT_HEADER + fw_get_le64(table_of(&l) + PARTS_ID + (size_t)r * PART_RECORD);
  return sum;
}

static furrow_status inspect(const unsigned char *bytes, size_t size, inspected *made, furrow_error *err) {
  fw_checkpoint checkpoint = {0};
  furrow_status status = check_header(bytes, size, err);
  if (status == FURROW_OK) status = check_parts(bytes, err);
  if (status == FURROW_OK) status = decode_history(bytes, &checkpoint, err);
  if (status == FURROW_OK) {
    made->info = (furrow_checkpoint_info){.bytes = size + bytes_of_parts(bytes),
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
