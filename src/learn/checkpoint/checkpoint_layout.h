/* learn/checkpoint/checkpoint_layout.h: the bytes of a checkpoint (docs/formats/checkpoint.md), for writing and
 * reading. */
#ifndef FW_LEARN_CHECKPOINT_CHECKPOINT_LAYOUT_H
#define FW_LEARN_CHECKPOINT_CHECKPOINT_LAYOUT_H

#include "base/endian.h"
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
  /* header of a part: these fields replace epochs, best, halvings and best steps */
  FW_AT_PART_RANK = FW_AT_EPOCHS,
  FW_AT_PART_RANKS = FW_AT_BEST,
  FW_AT_PART_UNUSED = FW_AT_HALVINGS,
  FW_AT_PART_ID = FW_AT_BEST_STEPS
};

/* A checkpoint of several ranks has this after its history: the id of its parts, then the bytes and the digest of the
 * payload of each. */
enum { FW_CHECKPOINT_PARTS_ID = 8, FW_CHECKPOINT_PART_RECORD = 16 };

/* An epoch as FW_CHECKPOINT_EPOCH bytes. */
void fw_checkpoint_put_epoch(unsigned char *at, const fw_epoch *epoch);
void fw_checkpoint_get_epoch(const unsigned char *at, fw_epoch *epoch);

/* FOLDER/checkpoint, to be freed with fw_free. */
furrow_status fw_checkpoint_name_file(char **path, const char *folder, furrow_error *err) FURROW_MUST_USE;
/* A rank's part is stored next to the checkpoint, as checkpoint.<id, 16 hexadecimal digits>.<rank>-of-<ranks> */
furrow_status fw_checkpoint_name_part(char **path, const char *checkpoint, uint64_t id, unsigned rank, unsigned ranks,
                                      furrow_error *err) FURROW_MUST_USE;

/* Whether the parameters are in parts of several ranks. */
static inline bool fw_checkpoint_is_in_parts(const unsigned char *header) {
  return fw_get_le32(header + FW_AT_VERSION) == FW_CHECKPOINT_PARTS_VERSION;
}
/* The records of the parts, which follow header and history. */
static inline const unsigned char *fw_checkpoint_table(const unsigned char *head) {
  return head + FW_CHECKPOINT_HEADER + (size_t)fw_get_le32(head + FW_AT_EPOCHS) * FW_CHECKPOINT_EPOCH;
}
/* Header, history and records of parts, checked. */
furrow_status fw_checkpoint_read_head(const char *path, unsigned char **head, furrow_error *err) FURROW_MUST_USE;

/* ---- The folder of checkpoints ---- */

/* Which files of a folder to keep; the others are removed. */
typedef struct fw_checkpoint_wanted {
  bool all;     /* temporary files of checkpoints, too */
  bool damaged; /* keep all parts: it is unknown which belong to the checkpoint */
  bool keeps;   /* parts of this checkpoint */
  uint64_t kept;
} fw_checkpoint_wanted;

/* Refuses other files, which may be large, by their first bytes. */
furrow_status fw_checkpoint_check_magic(const char *path, furrow_error *err) FURROW_MUST_USE;
/* Makes the folder if it does not exist. */
furrow_status fw_checkpoint_make_folder(const char *folder, furrow_error *err) FURROW_MUST_USE;
/* Removes left-over files. A file that stays does no harm. */
furrow_status fw_checkpoint_remove_left(const char *folder, fw_checkpoint_wanted wanted,
                                        furrow_error *err) FURROW_MUST_USE;

#endif
