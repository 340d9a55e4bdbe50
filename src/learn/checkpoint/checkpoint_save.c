/* learn/checkpoint/checkpoint_save.c: writes a checkpoint: one file, or a part for each rank and a file that names the
 * parts. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/atomic_file.h"
#include "learn/checkpoint/checkpoint_layout.h"

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
  char *path; /* path of the checkpoint */
  const fw_checkpoint *checkpoint;
  const fw_snapshot_ops *snapshot_ops;
  const furrow_comm *comm;
  uint64_t fingerprint;
  uint64_t snapshot_bytes, best_bytes; /* bytes of both snapshots of the file that is being written */
  /* parts */
  uint64_t id;
  unsigned char *table;
  size_t table_bytes;
} saving;

static furrow_status write_history(writer *w, const saving *s, furrow_error *err) {
  for (size_t i = 0; i < s->checkpoint->epochs; i++) {
    unsigned char bytes[FW_CHECKPOINT_EPOCH];
    fw_checkpoint_put_epoch(bytes, &s->checkpoint->history[i]);
    FW_TRY(write_bytes(w, bytes, sizeof bytes, err));
  }
  return FURROW_OK;
}

/* Writes the parameters, and the parameters of the best epoch. Only the first rank's part has the arrays that all ranks
 * share. */
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

/* The kinds of files: a whole checkpoint, the file that names the parts of ranks, and a part. */
typedef enum file_kind { WHOLE, COMMIT, PART } file_kind;

static furrow_status write_payload(writer *w, saving *s, file_kind kind, furrow_error *err) {
  if (kind != PART) FW_TRY(write_history(w, s, err));
  if (kind != COMMIT) return write_snapshots(w, s, err);
  s->snapshot_bytes = s->table_bytes;
  s->best_bytes = 0;
  return write_bytes(w, s->table, s->table_bytes, err);
}

static void fill_header(unsigned char *header, const writer *w, const saving *s, file_kind kind) {
  memcpy(header + FW_AT_MAGIC, kind == PART ? FW_CHECKPOINT_PART_MAGIC : FW_CHECKPOINT_MAGIC, 8);
  fw_put_le32(header + FW_AT_VERSION, kind == WHOLE ? FW_CHECKPOINT_VERSION : FW_CHECKPOINT_PARTS_VERSION);
  if (kind == PART) {
    fw_put_le32(header + FW_AT_PART_RANK, s->comm->rank);
    fw_put_le32(header + FW_AT_PART_RANKS, s->comm->ranks);
    fw_put_le64(header + FW_AT_PART_ID, s->id);
  } else {
    fw_put_le32(header + FW_AT_EPOCHS, (uint32_t)s->checkpoint->epochs);
    fw_put_le32(header + FW_AT_BEST, s->checkpoint->best);
    fw_put_le32(header + FW_AT_HALVINGS, s->checkpoint->halvings);
    fw_put_le32(header + FW_AT_RANKS, kind == COMMIT ? s->comm->ranks : 0);
    fw_put_le64(header + FW_AT_BEST_STEPS, s->checkpoint->best_steps);
  }
  fw_put_le32(header + FW_AT_ELEMENT, (uint32_t)s->snapshot_ops->element);
  fw_put_le64(header + FW_AT_PAYLOAD_BYTES, fw_atomic_file_size(w->file) - FW_CHECKPOINT_HEADER);
  fw_put_le64(header + FW_AT_PAYLOAD_DIGEST, XXH3_64bits_digest(w->hash));
  fw_put_le64(header + FW_AT_FINGERPRINT, s->fingerprint);
  fw_put_le64(header + FW_AT_STEPS, s->checkpoint->steps);
  fw_put_le64(header + FW_AT_SNAPSHOT_BYTES, s->snapshot_bytes);
  fw_put_le64(header + FW_AT_BEST_BYTES, s->best_bytes);
  fw_put_le64(header + FW_AT_HEADER_DIGEST, XXH3_64bits(header, FW_AT_HEADER_DIGEST));
}

/* The file appears complete or not at all; `header` is left filled in. */
static furrow_status write_file(const char *path, file_kind kind, saving *s, unsigned char header[FW_CHECKPOINT_HEADER],
                                furrow_error *err) {
  writer w = {.hash = XXH3_createState()};
  memset(header, 0, FW_CHECKPOINT_HEADER);
  furrow_status status = w.hash ? fw_atomic_file_open_beside(&w.file, path, s->path, err) : fw_fail_memory(err, 576);
  if (status == FURROW_OK) status = fw_atomic_file_write(w.file, header, FW_CHECKPOINT_HEADER, err);
  if (status == FURROW_OK) {
    XXH3_64bits_reset(w.hash);
    status = write_payload(&w, s, kind, err);
  }
  if (status == FURROW_OK) {
    fill_header(header, &w, s, kind);
    status = fw_atomic_file_write_at(w.file, 0, header, FW_CHECKPOINT_HEADER, err);
  }
  if (status == FURROW_OK) status = fw_atomic_file_commit(w.file, err);
  fw_atomic_file_close(w.file);
  XXH3_freeState(w.hash);
  return status;
}

/* The first rank writes everything: it is the only one, or all ranks have the same object. */
static furrow_status save_whole(saving *s, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER];
  if (!fw_comm_is_first(s->comm)) return FURROW_OK;
  FW_TRY(fw_checkpoint_make_folder(s->folder, err));
  FW_TRY(write_file(s->path, WHOLE, s, header, err));
  return fw_checkpoint_remove_left(s->folder, (fw_checkpoint_wanted){0}, err);
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
  unsigned char record[FW_CHECKPOINT_PART_RECORD];
  size_t *sizes = NULL;
  memcpy(record, header + FW_AT_PAYLOAD_BYTES, 8);
  memcpy(record + 8, header + FW_AT_PAYLOAD_DIGEST, 8);
  s->table_bytes = FW_CHECKPOINT_PARTS_ID + (size_t)s->comm->ranks * FW_CHECKPOINT_PART_RECORD;
  furrow_status status = FW_ALLOC(&s->table, s->table_bytes, err);
  if (status == FURROW_OK) status = FW_ALLOC(&sizes, s->comm->ranks, err);
  status = fw_comm_share_status(s->comm, status, err);
  if (status == FURROW_OK) {
    for (unsigned r = 0; r < s->comm->ranks; r++) sizes[r] = sizeof record;
    fw_put_le64(s->table, s->id);
    status = s->comm->gather(s->comm, record, sizeof record, s->table + FW_CHECKPOINT_PARTS_ID, sizes, err);
  }
  fw_free(sizes);
  return status;
}

/* Writes the file that names the parts, which commits the checkpoint. The file may exist even if syncing its folder
 * failed; so the parts stay then, and the next checkpoint removes them. */
static furrow_status commit_parts(saving *s, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER];
  if (!fw_comm_is_first(s->comm)) return FURROW_OK;
  FW_TRY(write_file(s->path, COMMIT, s, header, err));
  return fw_checkpoint_remove_left(s->folder, (fw_checkpoint_wanted){.keeps = true, .kept = s->id}, err);
}

static furrow_status save_parts(saving *s, furrow_error *err) {
  unsigned char header[FW_CHECKPOINT_HEADER];
  char *part = NULL;
  furrow_status status = FURROW_OK;
  if (fw_comm_is_first(s->comm)) status = fw_checkpoint_make_folder(s->folder, err);
  FW_TRY(fw_comm_share_status(s->comm, status, err));
  s->id = draw_id(s);
  FW_TRY(s->comm->broadcast(s->comm, &s->id, sizeof s->id, 0, err));
  status = fw_checkpoint_name_part(&part, s->path, s->id, s->comm->rank, s->comm->ranks, err);
  if (status == FURROW_OK) status = write_file(part, PART, s, header, err);
  status = fw_comm_share_status(s->comm, status, err);
  if (status == FURROW_OK) status = gather_table(s, header, err);
  if (status == FURROW_OK)
    status = fw_comm_share_status(s->comm, commit_parts(s, err), err);
  else if (part)
    (void)remove(part);
  fw_free(part);
  return status;
}

furrow_status fw_checkpoint_save(const char *folder, const fw_checkpoint *checkpoint,
                                 const fw_snapshot_ops *snapshot_ops, const furrow_comm *comm, furrow_error *err) {
  saving s = {.folder = folder, .checkpoint = checkpoint, .snapshot_ops = snapshot_ops, .comm = comm};
  furrow_status status = fw_checkpoint_name_file(&s.path, folder, err);
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
