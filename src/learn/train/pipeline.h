/* learn/train/pipeline.h: batches on their way through the net of one process.
 *
 * Some threads prepare batches that follow (rows, numbers of features, records) while others train the one whose turn
 * it is; the scores of those that are done are counted, in the order of batches. What a batch does to the net depends
 * on the batches before it alone, not on who prepared what when. */
#ifndef FW_LEARN_TRAIN_PIPELINE_H
#define FW_LEARN_TRAIN_PIPELINE_H

#include "learn/train/trainer.h"

typedef struct fw_pipeline_job {
  const fw_row_source *from;
  bool train; /* else rows are only scored */
  uint32_t epoch;
  fw_scored_batch take; /* of each batch, on some thread, one after the other */
  void *user;
  fw_rows_progress done; /* after each batch, on this thread, with the rows so far; may be NULL */
  void *done_user;
} fw_pipeline_job;

/* All batches of a source. What failed first, in the order of batches, is returned: those before it are trained. */
furrow_status fw_pipeline_run(furrow_trainer *trainer, const fw_pipeline_job *job, furrow_error *err) FURROW_MUST_USE;
void fw_pipeline_free(fw_pipeline *pipeline);

#endif
