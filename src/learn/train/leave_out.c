/* learn/train/leave_out.c: rows that a fit leaves out: a fold, which is scored at the end, or all but a share. */
#include "learn/train/leave_out.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/params.h"
#include "learn/data/samples.h"
#include "learn/train/prepare.h"

static bool takes_share(const furrow_trainer_fit_params *params) {
  return params->share != 0 && params->share != 1;
}

static furrow_status check(const fw_fit *f, furrow_error *err) {
  const furrow_trainer_fit_params *p = &f->params;
  if (p->folds == 1 || p->folds > FW_FOLDS_MAX)
    return fw_fail(err, FURROW_E_ARGUMENT, "folds is %u; it must be 2 to %d, or 0 for none", p->folds, FW_FOLDS_MAX);
  if (p->fold > 0 && p->fold >= p->folds)
    return fw_fail(err, FURROW_E_ARGUMENT, "fold is %u; of %u folds it must be less", p->fold, p->folds);
  if (!(p->share >= 0 && p->share <= 1))
    return fw_fail(err, FURROW_E_ARGUMENT, "share is %g; it must be 0 to 1", p->share);
  if ((p->folds || takes_share(p)) && !fw_samples_block(f->samples))
    return fw_fail(err, FURROW_E_ARGUMENT, "folds, or a share of the rows, need rows in memory, not streamed ones");
  if ((p->folds || takes_share(p)) && p->checkpoint)
    return fw_fail(err, FURROW_E_ARGUMENT, "a checkpoint is of all rows; folds, or a share of the rows, have none");
  return FURROW_OK;
}

static furrow_status leave_out_fold(fw_fit *f, furrow_error *err) {
  const furrow_trainer_fit_params *p = &f->params;
  const uint64_t rows = fw_samples_all_rows(f->samples);
  fw_holdout holdout = {0};
  if (rows < p->folds) {
    fw_fail(err, FURROW_E_ARGUMENT, "there are %" PRIu64 " rows, fewer than the %u folds", rows, p->folds);
    fw_error_set_file(err, fw_samples_name(f->samples));
    return FURROW_E_ARGUMENT;
  }
  furrow_status status = fw_fit_draw(f, &holdout, p->folds, 0, err);
  if (status == FURROW_OK) status = fw_samples_leave_out(f->samples, &holdout, p->fold, &f->fold_rows, err);
  fw_holdout_clear(&holdout);
  return status;
}

static furrow_status leave_out_rest(fw_fit *f, furrow_error *err) {
  fw_holdout holdout = {0};
  furrow_status status = fw_fit_draw(f, &holdout, 1, f->params.share, err);
  if (status == FURROW_OK) status = fw_samples_leave_out(f->samples, &holdout, 1, NULL, err);
  fw_holdout_clear(&holdout);
  return status;
}

furrow_status fw_fit_leave_out(fw_fit *f, furrow_error *err) {
  const furrow_trainer_fit_params *p = &f->params;
  furrow_learn_metrics_init(&f->trainer->fold);
  FW_TRY(check(f, err));
  if (p->folds == 0 && !takes_share(p)) return FURROW_OK;
  FW_TRY(fw_fit_settle_labels(f, err)); /* a class may have all its rows in the fold */
  if (p->folds > 0) FW_TRY(leave_out_fold(f, err));
  return takes_share(p) ? leave_out_rest(f, err) : FURROW_OK;
}

furrow_status fw_fit_score_fold(fw_fit *f, furrow_error *err) {
  furrow_rowblock rows;
  if (!f->fold_rows) return FURROW_OK;
  FW_TRY(furrow_container_get_block(f->fold_rows, &rows, err));
  return furrow_trainer_evaluate(f->trainer, &rows, &f->trainer->fold, err);
}

void furrow_trainer_get_fold_metrics(const furrow_trainer *trainer, furrow_learn_metrics *metrics) {
  fw_info_write(metrics, &trainer->fold, sizeof trainer->fold);
}
