/* learn/net/hogwild.h: an epoch in which threads update without waiting for each other.
 *
 * Each thread takes batches of its own and writes weights that others read and write at the same time (Niu, Recht, Ré,
 * Wright, "Hogwild!", 2011): an update may be lost, which sparse data makes rare. What must not go wrong has a lock:
 * taking rows, and making records of new features. The result is not repeatable. */
#ifndef FW_LEARN_NET_HOGWILD_H
#define FW_LEARN_NET_HOGWILD_H

#include "learn/train/trainer.h"

typedef struct fw_hogwild fw_hogwild;

/* Places for the threads of the trainer. */
furrow_status fw_hogwild_create(fw_hogwild **hogwild, furrow_trainer *trainer, furrow_error *err) FURROW_MUST_USE;
void fw_hogwild_free(fw_hogwild *hogwild);

/* Updates with all batches of `from`; the scores are counted in `tally`. `done` is called on this thread with the rows
 * so far. */
furrow_status fw_hogwild_epoch(fw_hogwild *hogwild, const fw_row_source *from, uint32_t epoch, fw_tally *tally,
                               fw_rows_progress done, void *user, furrow_error *err) FURROW_MUST_USE;

#endif
