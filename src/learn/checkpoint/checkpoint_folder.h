/* learn/checkpoint/checkpoint_folder.h: what is in the folder of checkpoints besides the checkpoint. */
#ifndef FW_LEARN_CHECKPOINT_CHECKPOINT_FOLDER_H
#define FW_LEARN_CHECKPOINT_CHECKPOINT_FOLDER_H

#include "learn/checkpoint/checkpoint.h"

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
