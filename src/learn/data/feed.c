/* learn/data/feed.c: the rows of an epoch in their order. */
#include "learn/data/feed.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "learn/data/samples.h"
#include "learn/net/lane.h"

/* Streamed rows are shuffled among so many (and those of the block that fills it up). */
enum { WINDOW_ROWS = 1 << 16 };

struct fw_feed {
  fw_samples *samples;
  const fw_data_conf *data;
  fw_feed_params params;
  bool counted;
  uint64_t rows, positives; /* of the share */
  double keep[2];           /* chance of a negative and of a positive row to be used */
  /* the epoch */
  uint32_t epoch;
  uint64_t sample_seed;
  fw_pass_over *pass;       /* streamed */
  furrow_container *window; /* streamed and shuffled: the blocks that `block` is made of */
  furrow_rowblock block;    /* rows at hand */
  uint64_t first_row;       /* number of its first row in the data */
  bool ended;               /* no block follows */
  bool ordered;             /* rows are taken by `order`, else all as they come */
  uint32_t *order;
  size_t count, at, order_room; /* rows to be taken from the block, and taken */
};

uint64_t fw_valid_every(double ratio) {
  return ratio > 0 ? (uint64_t)ceil(1 / ratio) : 0;
}

/* ---- Which rows ----------------------------------------------------------------------------------------- */

static bool is_in_share(const fw_feed *feed, uint64_t row) {
  const fw_feed_params *p = &feed->params;
  if (p->share == FW_SHARE_ALL) return true;
  return (p->every && row % p->every == 0) == (p->share == FW_SHARE_VALID);
}

/* Whether a row of the share is used in this epoch: by a number drawn for the row, so that it does not matter which
 * rows were looked at before. */
static bool is_used(const fw_feed *feed, const furrow_rowblock *block, size_t i, uint64_t row) {
  double chance = feed->params.sample_ratio;
  if (feed->params.posneg_ratio > 0) {
    const furrow_row sample = furrow_rowblock_row(block, i);
    chance *= feed->keep[fw_label_of(feed->data, &sample) > 0];
  }
  if (chance >= 1) return true;
  return (double)(fw_rng_hash(feed->sample_seed, row) >> 11) * 0x1p-53 < chance;
}

static bool takes_all(const fw_feed *feed) {
  const fw_feed_params *p = &feed->params;
  return (p->share == FW_SHARE_ALL || (p->share == FW_SHARE_TRAIN && !p->every)) && p->sample_ratio >= 1 &&
         p->posneg_ratio <= 0;
}

/* ---- Counts --------------------------------------------------------------------------------------------- */

static void count_block(fw_feed *feed, const furrow_rowblock *block, uint64_t first_row) {
  for (size_t i = 0; i < block->size; i++) {
    if (!is_in_share(feed, first_row + i)) continue;
    const furrow_row row = furrow_rowblock_row(block, i);
    feed->rows++;
    feed->positives += fw_label_of(feed->data, &row) > 0;
  }
}

static furrow_status count_pass(fw_feed *feed, furrow_error *err) {
  fw_pass_over *pass = NULL;
  const furrow_rowblock *block;
  uint64_t first_row = 0;
  furrow_status status = fw_pass_over_open(&pass, feed->samples, err);
  while (status == FURROW_OK && (status = fw_pass_over_next(pass, &block, err)) == FURROW_OK) {
    count_block(feed, block, first_row);
    first_row += block->size;
  }
  fw_pass_over_close(pass);
  return status == FURROW_END ? FURROW_OK : status;
}

/* The surplus of one class is left out: positives / negatives become the ratio. */
static void set_chances(fw_feed *feed) {
  const double positives = (double)feed->positives, negatives = (double)(feed->rows - feed->positives);
  const double wanted = feed->params.posneg_ratio * negatives;
  feed->keep[0] = feed->keep[1] = 1;
  if (positives > wanted) {
    feed->keep[1] = wanted / positives;
  } else if (wanted > 0) {
    feed->keep[0] = positives / wanted;
  }
}

static furrow_status count_rows(fw_feed *feed, furrow_error *err) {
  if (feed->counted) return FURROW_OK;
  const furrow_rowblock *all = fw_samples_block(feed->samples);
  furrow_status status = FURROW_OK;
  feed->rows = feed->positives = 0;
  if (all) {
    count_block(feed, all, 0);
  } else {
    status = count_pass(feed, err);
  }
  feed->counted = status == FURROW_OK;
  if (feed->counted && feed->params.posneg_ratio > 0) set_chances(feed);
  return status;
}

furrow_status fw_feed_count(fw_feed *feed, uint64_t *rows, furrow_error *err) {
  furrow_status status = count_rows(feed, err);
  if (status == FURROW_OK) *rows = feed->rows;
  return status;
}

uint64_t fw_feed_known_rows(const fw_feed *feed) {
  const fw_feed_params *p = &feed->params;
  const furrow_rowblock *all = fw_samples_block(feed->samples);
  if (feed->counted) return feed->rows;
  if (!all) return 0;
  const uint64_t valid = p->every ? (all->size + p->every - 1) / p->every : 0;
  return p->share == FW_SHARE_ALL ? all->size : p->share == FW_SHARE_VALID ? valid : all->size - valid;
}

void fw_feed_get_stats(const fw_feed *feed, furrow_parser_stats *stats) {
  if (feed->pass)
    fw_pass_over_get_stats(feed->pass, stats);
  else
    fw_samples_get_stats(feed->samples, stats);
}

/* ---- Order ---------------------------------------------------------------------------------------------- */

/* Seeds of an epoch: of the sample, and of the order of the rows at hand. */
static uint64_t epoch_seed(const fw_feed *feed, uint64_t use) {
  return fw_rng_hash(fw_rng_hash(feed->params.seed, feed->epoch), use);
}

/* Chooses the rows to be taken from the block and their order. */
static furrow_status choose_rows(fw_feed *feed, furrow_error *err) {
  const furrow_rowblock *block = &feed->block;
  feed->at = 0;
  feed->count = block->size;
  feed->ordered = feed->params.shuffle || !takes_all(feed);
  if (!feed->ordered) return FURROW_OK;
  if (block->size > UINT32_MAX) return fw_fail(err, FURROW_E_RANGE, "%zu rows in memory: stream them", block->size);
  void *order = feed->order;
  furrow_status status = fw_grow(&order, &feed->order_room, block->size, sizeof *feed->order, err);
  feed->order = order;
  if (status != FURROW_OK) return status;
  feed->count = 0;
  for (size_t i = 0; i < block->size; i++)
    if (is_in_share(feed, feed->first_row + i) && is_used(feed, block, i, feed->first_row + i))
      feed->order[feed->count++] = (uint32_t)i;
  if (feed->params.shuffle) {
    fw_rng rng;
    fw_rng_init(&rng, epoch_seed(feed, 2 + feed->first_row));
    fw_rng_shuffle(&rng, feed->order, feed->count, sizeof *feed->order);
  }
  return FURROW_OK;
}

/* ---- Blocks --------------------------------------------------------------------------------------------- */

/* Gathers blocks to be shuffled together. */
static furrow_status next_window(fw_feed *feed, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  furrow_status status = FURROW_OK;
  if (feed->window) furrow_container_clear(feed->window);
  while (status == FURROW_OK && (!feed->window || furrow_container_size(feed->window) < WINDOW_ROWS)) {
    status = fw_pass_over_next(feed->pass, &block, err);
    if (status == FURROW_OK && !feed->window)
      status = furrow_container_create(&feed->window, block->key_type, block->value_type, err);
    if (status == FURROW_OK) status = furrow_container_push_block(feed->window, block, err);
  }
  if (status != FURROW_OK && status != FURROW_END) return status;
  if (!feed->window || furrow_container_size(feed->window) == 0) return FURROW_END;
  return furrow_container_get_block(feed->window, &feed->block, err);
}

static furrow_status next_block(fw_feed *feed, furrow_error *err) {
  feed->first_row += feed->block.size;
  const furrow_rowblock *block = &feed->block;
  furrow_status status = FURROW_END;
  if (!feed->ended && feed->pass) {
    status = feed->params.shuffle ? next_window(feed, err) : fw_pass_over_next(feed->pass, &block, err);
  }
  if (status == FURROW_OK) {
    feed->block = *block;
    return choose_rows(feed, err);
  }
  feed->block.size = feed->count = feed->at = 0;
  feed->ended = status == FURROW_END;
  return status;
}

furrow_status fw_feed_start(fw_feed *feed, uint32_t epoch, furrow_error *err) {
  feed->epoch = epoch;
  feed->sample_seed = epoch_seed(feed, 1);
  feed->first_row = 0;
  feed->ended = false;
  feed->block.size = feed->count = feed->at = 0;
  furrow_status status = feed->params.posneg_ratio > 0 ? count_rows(feed, err) : FURROW_OK;
  if (status != FURROW_OK) return status;
  const furrow_rowblock *all = fw_samples_block(feed->samples);
  if (all) {
    feed->block = *all;
    return choose_rows(feed, err);
  }
  return feed->pass ? fw_pass_over_rewind(feed->pass, err) : fw_pass_over_open(&feed->pass, feed->samples, err);
}

static furrow_status add_row(fw_feed *feed, fw_batcher *batcher, uint64_t *number, furrow_error *err) {
  const size_t i = feed->ordered ? feed->order[feed->at] : feed->at;
  const furrow_row row = furrow_rowblock_row(&feed->block, i);
  feed->at++;
  *number = feed->first_row + i + 1;
  furrow_status status = fw_batcher_add(batcher, &row, err);
  if (status == FURROW_OK) return status;
  fw_blame_row(err, *number);
  fw_error_set_file(err, fw_samples_name(feed->samples));
  return status;
}

furrow_status fw_feed_fill(void *source, fw_batcher *batcher, size_t rows, uint64_t *number, size_t *count,
                           furrow_error *err) {
  fw_feed *feed = source;
  furrow_status status = FURROW_OK;
  size_t n = 0;
  while (status == FURROW_OK && n < rows) {
    if (feed->at == feed->count) {
      status = next_block(feed, err);
    } else {
      status = add_row(feed, batcher, &number[n], err);
      n++;
    }
  }
  if (status == FURROW_END) status = FURROW_OK;
  if (status == FURROW_OK) *count = n;
  return status;
}

/* ---- Open and close ------------------------------------------------------------------------------------- */

furrow_status fw_feed_open(fw_feed **feed, fw_samples *samples, const fw_data_conf *data, const fw_feed_params *params,
                           furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **feed, err);
  if (status != FURROW_OK) return status;
  *feed = memory;
  **feed = (fw_feed){.samples = samples, .data = data, .params = *params};
  return FURROW_OK;
}

void fw_feed_close(fw_feed *feed) {
  if (!feed) return;
  fw_pass_over_close(feed->pass);
  furrow_container_free(feed->window);
  fw_free(feed->order);
  fw_free(feed);
}
