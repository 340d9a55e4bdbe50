/* learn/train/fit_net.c: epochs of a net: batches, hogwild, the best epoch as an image. */
#include "base/error.h"
#include "base/mem.h"
#include "learn/data/samples.h"
#include "learn/net/net_image.h"
#include "learn/net/ranks.h"
#include "learn/train/fit.h"

enum { VALID_ROWS = 512 };

/* Rows of a batch: as the conf says, or those of an epoch over the updates that it is to have. */
static furrow_status choose_batch(fw_fit *f, furrow_error *err) {
  const fw_train_conf *train = &f->trainer->plan->train;
  f->batch = train->batch;
  if (f->batch > 0) return FURROW_OK;
  uint64_t rows = 0;
  furrow_status status = fw_feed_count(f->train, &rows, err);
  const uint64_t updates = train->updates ? train->updates : 1;
  f->batch = rows ? (size_t)((rows + updates - 1) / updates) : 1;
  return status;
}

static furrow_status renew_hogwild(fw_fit *f, furrow_error *err) {
  fw_hogwild_free(f->hogwild);
  f->hogwild = NULL;
  return f->trainer->hogwild ? fw_hogwild_create(&f->hogwild, f->trainer, err) : FURROW_OK;
}

static furrow_status begin(fw_fit *f, furrow_error *err) {
  furrow_status status = choose_batch(f, err);
  return status == FURROW_OK ? renew_hogwild(f, err) : status;
}

/* ---- An epoch ------------------------------------------------------------------------------------------- */

static furrow_status train_rows(fw_fit *f, const fw_rows_from *from, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  fw_lane *lanes[FW_LANES] = {&t->lanes[0], &t->lanes[1], &t->lanes[2]};
  uint64_t rows = 0;
  furrow_status status = fw_lane_fill(lanes[0], from, err);
  if (status == FURROW_OK) status = fw_lane_begin(lanes[0], true, err);
  if (status == FURROW_OK) status = fw_lane_fill(lanes[1], from, err);
  while (status == FURROW_OK && lanes[0]->batch) {
    double loss;
    status = fw_trainer_update(t, lanes, from, f->epoch, f->tally, &loss, err);
    rows += lanes[0]->batch->rows;
    if (status == FURROW_OK) status = fw_fit_progress(f, rows, err);
    fw_lane *done = lanes[0];
    lanes[0] = lanes[1];
    lanes[1] = lanes[2];
    lanes[2] = done;
  }
  if (status == FURROW_E_RANGE && err && !err->file[0]) fw_error_set_file(err, fw_samples_name(f->samples));
  return status;
}

static furrow_status train_epoch(fw_fit *f, furrow_epoch *epoch, furrow_error *err) {
  const double start = fw_fit_seconds();
  const fw_rows_from from = {fw_feed_fill, f->train, f->batch};
  f->reported = 0;
  fw_tally_clear(f->tally);
  epoch->learning_rate = fw_trainer_step_at(f->trainer, f->trainer->steps + 1, epoch->epoch).rate;
  furrow_status status = fw_feed_start(f->train, epoch->epoch, err);
  if (status == FURROW_OK && f->hogwild) {
    status = fw_hogwild_epoch(f->hogwild, &from, epoch->epoch, f->tally, fw_fit_progress, f, err);
  } else if (status == FURROW_OK) {
    status = train_rows(f, &from, err);
  }
  if (status == FURROW_OK) status = fw_ranks_mix(f->trainer->comm, f->trainer->net, err);
  if (status == FURROW_OK) status = fw_tally_reduce(f->tally, f->trainer->comm, err);
  if (status != FURROW_OK) return status;
  fw_tally_metrics(f->tally, &epoch->train);
  epoch->seconds = fw_fit_seconds() - start;
  return epoch->train.rows > 0 ? FURROW_OK : fw_fit_no_rows(f, err);
}

static furrow_status score_valid(fw_fit *f, furrow_error *err) {
  const fw_rows_from from = {fw_feed_fill, f->valid, VALID_ROWS};
  furrow_status status = fw_feed_start(f->valid, 0, err);
  return status == FURROW_OK ? fw_trainer_score(f->trainer, &from, f->tally, err) : status;
}

/* ---- The best epoch, checkpoints ------------------------------------------------------------------------ */

static furrow_status append_image(void *to, const void *bytes, size_t size, furrow_error *err) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, err);
}

static furrow_status keep(fw_fit *f, furrow_error *err) {
  fw_buffer_reset(&f->best_image);
  return fw_net_image_write(f->trainer->net, append_image, &f->best_image, err);
}

static furrow_status restore(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  const fw_buffer *image = &f->best_image;
  fw_net *net = NULL;
  furrow_status status = fw_trainer_new_net(t, &net, err);
  if (status == FURROW_OK) status = fw_net_image_read(net, (const unsigned char *)image->bytes, image->size, err);
  if (status == FURROW_OK) status = fw_trainer_adopt(t, net, err);
  if (status != FURROW_OK) fw_net_free(net);
  return status;
}

static furrow_status make(const furrow_trainer *trainer, fw_imaged *made, furrow_error *err) {
  fw_net *net = NULL;
  furrow_status status = fw_trainer_new_net(trainer, &net, err);
  if (status == FURROW_OK) *made = fw_net_imaged(net);
  return status;
}

static furrow_status adopt(furrow_trainer *trainer, void *made, furrow_error *err) {
  return fw_trainer_adopt(trainer, made, err);
}

static void drop(void *made) {
  fw_net_free(made);
}

static fw_imaged imaged(const furrow_trainer *trainer) {
  return fw_net_imaged(trainer->net);
}

const fw_fit_way fw_fit_net = {.begin = begin,
                               .train = train_epoch,
                               .score_valid = score_valid,
                               .keep = keep,
                               .restore = restore,
                               .make = make,
                               .adopt = adopt,
                               .drop = drop,
                               .imaged = imaged,
                               .keeps_images = true};
