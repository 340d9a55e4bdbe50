/* learn/checkpoint/checkpoint_layout.h: the bytes of a checkpoint (docs/formats/checkpoint.md), for those that write
 * and read it. */
#ifndef FW_LEARN_CHECKPOINT_CHECKPOINT_LAYOUT_H
#define FW_LEARN_CHECKPOINT_CHECKPOINT_LAYOUT_H

#include "io/input.h"
#include "learn/checkpoint/checkpoint.h"

/* Places of the header's fields. */
enum {
  FW_AT_MAGIC = 0,
  FW_AT_VERSION = 8,
  FW_AT_ELEMENT = 12,
  FW_AT_PAYLOAD_BYTES = 16,
  FW_AT_PAYLOAD_DIGEST = 24,
  FW_AT_FINGERPRINT = 32,
  FW_AT_STEPS = 40,
  FW_AT_EPOCHS = 48,
  FW_AT_BEST = 52,
  FW_AT_SNAPSHOT_BYTES = 56,
  FW_AT_BEST_BYTES = 64,
  FW_AT_HALVINGS = 72,
  FW_AT_RANKS = 76, /* parts of the checkpoint; 0: it is whole */
  FW_AT_BEST_STEPS = 80,
  FW_AT_HEADER_DIGEST = 88,
  /* of a part, instead of epochs, best, halvings and best steps */
  FW_AT_PART_RANK = FW_AT_EPOCHS,
  FW_AT_PART_RANKS = FW_AT_BEST,
  FW_AT_PART_UNUSED = FW_AT_HALVINGS,
  FW_AT_PART_ID = FW_AT_BEST_STEPS
};

/* What a checkpoint of several ranks has behind its history: the id of its parts, then the bytes and the digest of the
 * payload of each. */
enum { FW_CHECKPOINT_PARTS_ID = 8, FW_CHECKPOINT_PART_RECORD = 16 };

/* An epoch as FW_CHECKPOINT_EPOCH bytes. */
void fw_checkpoint_put_epoch(unsigned char *at, const fw_epoch *epoch);
void fw_checkpoint_get_epoch(const unsigned char *at, fw_epoch *epoch);

/* FOLDER/checkpoint, to be freed with fw_free. */
furrow_status fw_checkpoint_name_file(char **path, const char *folder, furrow_error *err) FURROW_MUST_USE;
/* The part of a rank lies beside the checkpoint: checkpoint.<id, 16 hexadecimal digits>.<rank>-of-<ranks> */
furrow_status fw_checkpoint_name_part(char **path, const char *checkpoint, uint64_t id, unsigned rank, unsigned ranks,
                                      furrow_error *err) FURROW_MUST_USE;
/* Whether it is the name of a part; *end is what follows it in the name. */
bool fw_checkpoint_is_part(const char *name, uint64_t *id, const char **end);

/* E_FORMAT at a byte of the file. */
furrow_status fw_checkpoint_damaged(furrow_error *err, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses other files, which may be large, by their first bytes. */
furrow_status fw_checkpoint_check_magic(const char *path, furrow_error *err) FURROW_MUST_USE;
/* Magic, version, and what the header says of itself and of the file's size. */
furrow_status fw_checkpoint_check_fields(const unsigned char *bytes, uint64_t size, bool part,
                                         furrow_error *err) FURROW_MUST_USE;
/* Whether the digest is that of the payload. */
furrow_status fw_checkpoint_check_digest(const unsigned char *header, uint64_t digest,
                                         furrow_error *err) FURROW_MUST_USE;
/* The three parts of the payload must add up to it. */
furrow_status fw_checkpoint_check_parts(const unsigned char *bytes, furrow_error *err) FURROW_MUST_USE;
/* All three, of a file in memory. */
furrow_status fw_checkpoint_check_header(const unsigned char *bytes, size_t size, furrow_error *err) FURROW_MUST_USE;
/* E_STALE: it is of another configuration. */
furrow_status fw_checkpoint_check_plan(const unsigned char *bytes, const fw_snapshot_ops *snapshot_ops,
                                       furrow_error *err) FURROW_MUST_USE;

/* Whether the parameters are in parts of several ranks. */
bool fw_checkpoint_is_in_parts(const unsigned char *header);
/* The records of the parts, behind header and history. */
const unsigned char *fw_checkpoint_table(const unsigned char *head);
furrow_status fw_checkpoint_decode_history(const unsigned char *bytes, fw_checkpoint *checkpoint,
                                           furrow_error *err) FURROW_MUST_USE;
void fw_checkpoint_take_numbers(const unsigned char *header, fw_checkpoint *checkpoint);

/* Header, history and records of parts, checked. */
furrow_status fw_checkpoint_read_head(const char *path, unsigned char **head, furrow_error *err) FURROW_MUST_USE;

/* ---- The folder of checkpoints ---- */

/* What is to be removed from a folder. */
typedef struct fw_checkpoint_wanted {
  bool all;     /* temporary files of checkpoints, too */
  bool damaged; /* no parts: nobody knows which are those of the checkpoint */
  bool keeps;   /* parts of this checkpoint */
  uint64_t kept;
} fw_checkpoint_wanted;

/* Makes it where there is none. */
furrow_status fw_checkpoint_make_folder(const char *folder, furrow_error *err) FURROW_MUST_USE;
/* What stays does no harm. */
furrow_status fw_checkpoint_remove_left(const char *folder, const fw_checkpoint_wanted *wanted,
                                        furrow_error *err) FURROW_MUST_USE;

#endif
