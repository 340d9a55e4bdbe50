/* learn/checkpoint/checkpoint.h: a training between two epochs, as a file: docs/formats/checkpoint.md. */
#ifndef FW_LEARN_CHECKPOINT_CHECKPOINT_H
#define FW_LEARN_CHECKPOINT_CHECKPOINT_H

#include "base/buffer.h"
#include "furrow/io.h"
#include "learn/parameters/snapshot.h"

#define FW_CHECKPOINT_NAME "checkpoint"
#define FW_CHECKPOINT_MAGIC "FWTRAIN1"
#define FW_CHECKPOINT_PART_MAGIC "FWTRPART"
enum { FW_CHECKPOINT_VERSION = 2, FW_CHECKPOINT_HEADER = 96, FW_CHECKPOINT_EPOCH = 328 };
enum { FW_CHECKPOINT_PARTS_VERSION = 3 }; /* version of a checkpoint whose parameters are in parts of several ranks */
enum { FW_HALVINGS_MAX = 3 };             /* most halvings of the learning rate in a fit, one after each divergence */

/* An epoch and its figures. */
typedef struct fw_epoch {
  furrow_epoch shown; /* the public epoch; its train and valid point to the members below */
  furrow_learn_metrics train, valid;
} fw_epoch;

/* Sets the pointers inside epochs that were created or moved. */
void fw_epochs_link(fw_epoch *epochs, size_t count);

/* The state of a training, except for its net or forest. Starts as all zeros; the caller clears it. */
typedef struct fw_checkpoint {
  uint64_t steps, best_steps; /* updates so far, and up to the best epoch */
  uint32_t best;              /* epoch, from 1; 0: none */
  uint32_t halvings;          /* halvings of the learning rate */
  size_t epochs;
  fw_epoch *history;
  fw_buffer best_snapshot; /* snapshot of the best epoch (snapshot_ops.h); empty if none is kept, or if the best epoch
                              is the last one */
} fw_checkpoint;

void fw_checkpoint_clear(fw_checkpoint *checkpoint);

/* All ranks call these. A net of several ranks is saved in parts: each rank writes its own features, and the first rank
 * also writes the dense arrays. Then the first rank writes the file that names the parts, and removes older parts. A
 * checkpoint of any number of ranks can be loaded by any other number: a rank keeps its own features. Other objects,
 * which are the same on all ranks, are saved by the first. */

/* Writes FOLDER/checkpoint in one step; the folder is made where there is none. */
furrow_status fw_checkpoint_save(const char *folder, const fw_checkpoint *checkpoint,
                                 const fw_snapshot_ops *snapshot_ops, const furrow_comm *comm,
                                 furrow_error *err) FURROW_MUST_USE;
/* Reads a checkpoint into a new object of the same plan. E_NOT_FOUND, on all ranks: there is no checkpoint; E_FORMAT:
 * it is damaged; E_STALE: it is of another configuration. */
furrow_status fw_checkpoint_load(const char *folder, fw_checkpoint *checkpoint, const fw_snapshot_ops *snapshot_ops,
                                 const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;
/* Makes the folder and locks it, for a whole training: checkpoints of two trainings would replace one another. Rank 0
 * has the lock. E_STATE: another process trains with it. */
furrow_status fw_checkpoint_lock(furrow_file_lock **lock, const char *folder, const furrow_comm *comm,
                                 furrow_error *err) FURROW_MUST_USE;
/* E_EXISTS: FOLDER/checkpoint is a file that is not a checkpoint, which saving would replace. */
furrow_status fw_checkpoint_check_replaced(const char *folder, const furrow_comm *comm,
                                           furrow_error *err) FURROW_MUST_USE;
/* Removes the files that trainings left in the folder when they were killed while saving. The folder may be missing. */
furrow_status fw_checkpoint_tidy(const char *folder, const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;

/* Reads a whole one from memory. */
furrow_status fw_checkpoint_decode(const unsigned char *bytes, size_t size, fw_checkpoint *checkpoint,
                                   const fw_snapshot_ops *snapshot_ops, furrow_error *err) FURROW_MUST_USE;

#endif
