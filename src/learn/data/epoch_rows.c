/* learn/data/epoch_rows.c: the rows of an epoch in their order. */
#include "learn/data/epoch_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

/* Streamed rows are shuffled among so many (and those of the block that fills it up). */
enum { WINDOW_ROWS = 1 << 16 };

struct fw_epoch_rows {
  fw_samples *samples;
  const fw_data_conf *data;
  fw_epoch_rows_params params;
  bool counted;
  uint64_t rows, positives; /* of the share */
  double keep[2];           /* chance of a negative and of a positive row to be used */
  /* the epoch */
  uint32_t epoch;
  uint64_t sample_seed;
  fw_sample_pass *pass;     /* streamed */
  furrow_container *window; /* streamed and shuffled: the blocks that `block` is made of */
  furrow_rowblock block;    /* rows at hand */
  uint64_t first_row;       /* number of its first row in the data */
  bool ended;               /* no block follows */
  bool ordered;             /* rows are taken by `order`, else all as they come */
  bool together;            /* order, count and at are of the rows of all ranks, else of the block */
  uint32_t *order;
  size_t count, at, order_capacity; /* rows to be taken from the block, and taken */
};

uint64_t fw_valid_every(double ratio) {
  return ratio > 0 ? (uint64_t)ceil(1 / ratio) : 0;
}

/* ---- Which rows ----------------------------------------------------------------------------------------- */

static const furrow_comm *comm_of(const fw_epoch_rows *epoch_rows) {
  return fw_samples_comm(epoch_rows->samples);
}

/* `row` is its number among the rows of all ranks. */
static bool is_held_out(const fw_epoch_rows *epoch_rows, uint64_t row) {
  const fw_epoch_rows_params *p = &epoch_rows->params;
  if (p->holdout) return p->holdout->fold_of[row - fw_samples_first_row(epoch_rows->samples)] == p->fold;
  if (p->share > 0) return (double)(fw_rng_hash(p->seed ^ 0x686f6c64, row) >> 11) * 0x1p-53 < p->share;
  return p->every && row % p->every == 0;
}

static bool is_in_subset(const fw_epoch_rows *epoch_rows, uint64_t row) {
  const fw_epoch_rows_params *p = &epoch_rows->params;
  if (p->subset == FW_SUBSET_ALL) return true;
  return is_held_out(epoch_rows, row) == (p->subset == FW_SUBSET_VALID);
}

/* Whether a row of the share is used in this epoch: by a number drawn for the row, so that it does not matter which
 * rows were looked at before. */
static bool is_used(const fw_epoch_rows *epoch_rows, const furrow_rowblock *block, size_t i, uint64_t row) {
  double chance = epoch_rows->params.sample_ratio;
  if (epoch_rows->params.posneg_ratio > 0) {
    const furrow_row sample = furrow_rowblock_row(block, i);
    chance *= epoch_rows->keep[fw_label_of(epoch_rows->data, &sample) > 0];
  }
  if (chance >= 1) return true;
  return (double)(fw_rng_hash(epoch_rows->sample_seed, row) >> 11) * 0x1p-53 < chance;
}

static bool holds_out(const fw_epoch_rows_params *p) {
  return p->holdout || p->share > 0 || p->every;
}

static bool takes_all(const fw_epoch_rows *epoch_rows) {
  const fw_epoch_rows_params *p = &epoch_rows->params;
  return (p->subset == FW_SUBSET_ALL || (p->subset == FW_SUBSET_TRAIN && !holds_out(p))) && p->sample_ratio >= 1 &&
         p->posneg_ratio <= 0;
}

/* ---- Counts --------------------------------------------------------------------------------------------- */

typedef struct row_counter {
  fw_epoch_rows *epoch_rows;
  uint64_t next_row;
} row_counter;

static furrow_status count_block(void *user, const furrow_rowblock *block, furrow_error *err) {
  row_counter *counter = user;
  fw_epoch_rows *epoch_rows = counter->epoch_rows;
  (void)err;
  for (size_t i = 0; i < block->size; i++) {
    if (!is_in_subset(epoch_rows, counter->next_row++)) continue;
    const furrow_row row = furrow_rowblock_row(block, i);
    epoch_rows->rows++;
    epoch_rows->positives += fw_label_of(epoch_rows->data, &row) > 0;
  }
  return FURROW_OK;
}

/* The surplus of one class is left out: positives / negatives become the ratio. */
static void set_chances(fw_epoch_rows *epoch_rows) {
  const double positives = (double)epoch_rows->positives,
               negatives = (double)(epoch_rows->rows - epoch_rows->positives);
  const double wanted = epoch_rows->params.posneg_ratio * negatives;
  epoch_rows->keep[0] = epoch_rows->keep[1] = 1;
  if (positives > wanted) {
    epoch_rows->keep[1] = wanted / positives;
  } else if (wanted > 0) {
    epoch_rows->keep[0] = positives / wanted;
  }
}

/* Adds up what the ranks have counted. */
static furrow_status add_counts(fw_epoch_rows *epoch_rows, furrow_status status, furrow_error *err) {
  int64_t sums[2] = {(int64_t)epoch_rows->rows, (int64_t)epoch_rows->positives};
  FW_TRY(fw_comm_share_status(comm_of(epoch_rows), status, err));
  FW_TRY(fw_comm_sum_i64(comm_of(epoch_rows), sums, 2, err));
  epoch_rows->rows = (uint64_t)sums[0];
  epoch_rows->positives = (uint64_t)sums[1];
  return FURROW_OK;
}

static furrow_status count_rows(fw_epoch_rows *epoch_rows, furrow_error *err) {
  if (epoch_rows->counted) return FURROW_OK;
  row_counter counter = {epoch_rows, fw_samples_first_row(epoch_rows->samples)};
  epoch_rows->rows = epoch_rows->positives = 0;
  furrow_status status = fw_samples_visit(epoch_rows->samples, count_block, &counter, err);
  status = add_counts(epoch_rows, status, err);
  epoch_rows->counted = status == FURROW_OK;
  if (epoch_rows->counted && epoch_rows->params.posneg_ratio > 0) set_chances(epoch_rows);
  return status;
}

furrow_status fw_epoch_rows_count(fw_epoch_rows *epoch_rows, uint64_t *rows, furrow_error *err) {
  FW_TRY(count_rows(epoch_rows, err));
  *rows = epoch_rows->rows;
  return FURROW_OK;
}

uint64_t fw_epoch_rows_known_rows(const fw_epoch_rows *epoch_rows) {
  const fw_epoch_rows_params *p = &epoch_rows->params;
  const furrow_rowblock *own = fw_samples_block(epoch_rows->samples);
  if (epoch_rows->counted) return epoch_rows->rows;
  if (!own) return 0;
  const uint64_t all = fw_samples_all_rows(epoch_rows->samples);
  uint64_t valid = p->every ? (all + p->every - 1) / p->every : 0;
  if (p->holdout) valid = p->holdout->rows[p->fold];
  if (p->holdout && own->size) valid = (uint64_t)((double)valid * (double)all / (double)own->size);
  return p->subset == FW_SUBSET_ALL ? all : p->subset == FW_SUBSET_VALID ? valid : all - valid;
}

static furrow_status too_many_rows(uint64_t rows, furrow_error *err) {
  fw_fail(err, FURROW_E_RANGE, "%" PRIu64 " rows in memory, %u at most", rows, UINT32_MAX);
  fw_error_set_hint(err, "stream the rows");
  return FURROW_E_RANGE;
}

furrow_status fw_epoch_rows_list(const fw_epoch_rows *epoch_rows, uint32_t **rows, size_t *count, furrow_error *err) {
  const size_t all = fw_samples_block(epoch_rows->samples)->size;
  const uint64_t first = fw_samples_first_row(epoch_rows->samples);
  if (all > UINT32_MAX) return too_many_rows(all, err);
  FW_TRY(FW_ALLOC(rows, all + 1, err));
  *count = 0;
  for (size_t i = 0; i < all; i++)
    if (is_in_subset(epoch_rows, first + i)) (*rows)[(*count)++] = (uint32_t)i;
  return FURROW_OK;
}

void fw_epoch_rows_get_stats(const fw_epoch_rows *epoch_rows, furrow_parser_stats *stats) {
  if (epoch_rows->pass)
    fw_sample_pass_get_stats(epoch_rows->pass, stats);
  else
    fw_samples_get_stats(epoch_rows->samples, stats);
}

/* ---- Order ---------------------------------------------------------------------------------------------- */

/* Seeds of an epoch: of the sample, and of the order of the rows at hand. */
static uint64_t epoch_seed(const fw_epoch_rows *epoch_rows, uint64_t use) {
  return fw_rng_hash(fw_rng_hash(epoch_rows->params.seed, epoch_rows->epoch), use);
}

static furrow_status reserve_order(fw_epoch_rows *epoch_rows, uint64_t rows, furrow_error *err) {
  if (rows > UINT32_MAX) return too_many_rows(rows, err);
  return FW_GROW(&epoch_rows->order, &epoch_rows->order_capacity, rows, err);
}

static void shuffle_order(fw_epoch_rows *epoch_rows, uint64_t first_row) {
  fw_rng rng;
  if (!epoch_rows->params.shuffle) return;
  fw_rng_init(&rng, epoch_seed(epoch_rows, 2 + first_row));
  fw_rng_shuffle(&rng, epoch_rows->order, epoch_rows->count, sizeof *epoch_rows->order);
}

static bool is_chosen(const fw_epoch_rows *epoch_rows, size_t i) {
  const uint64_t row = epoch_rows->first_row + i;
  return is_in_subset(epoch_rows, row) && is_used(epoch_rows, &epoch_rows->block, i, row);
}

/* All rows, one after the other, unless they are shuffled or some are left out. */
static void start_order(fw_epoch_rows *epoch_rows, uint64_t rows) {
  epoch_rows->at = 0;
  epoch_rows->count = rows;
  epoch_rows->ordered = epoch_rows->params.shuffle || !takes_all(epoch_rows);
}

/* The next row in this order. */
static size_t take_next(fw_epoch_rows *epoch_rows) {
  const size_t at = epoch_rows->at++;
  return epoch_rows->ordered ? epoch_rows->order[at] : at;
}

/* Chooses the rows to be taken from the block and their order. */
static furrow_status choose_rows(fw_epoch_rows *epoch_rows, furrow_error *err) {
  const furrow_rowblock *block = &epoch_rows->block;
  start_order(epoch_rows, block->size);
  if (!epoch_rows->ordered) return FURROW_OK;
  FW_TRY(reserve_order(epoch_rows, block->size, err));
  epoch_rows->count = 0;
  const bool all = takes_all(epoch_rows);
  for (size_t i = 0; i < block->size; i++)
    if (all || is_chosen(epoch_rows, i)) epoch_rows->order[epoch_rows->count++] = (uint32_t)i;
  shuffle_order(epoch_rows, epoch_rows->first_row);
  return FURROW_OK;
}

/* ---- The order of the rows of all ranks ---- */

/* A rank's rows: how many, and a bit for each that is chosen. */
static size_t bits_size(uint64_t rows) {
  return sizeof(uint64_t) + (size_t)(rows + 7) / 8;
}

static furrow_status mark_chosen(const fw_epoch_rows *epoch_rows, unsigned char **marks, furrow_error *err) {
  const uint64_t rows = epoch_rows->block.size;
  FW_TRY(FW_ALLOC_ZERO(marks, bits_size(rows), err));
  memcpy(*marks, &rows, sizeof rows);
  for (size_t i = 0; i < rows; i++)
    if (is_chosen(epoch_rows, i)) (*marks)[sizeof rows + i / 8] |= (unsigned char)(1 << i % 8);
  return FURROW_OK;
}

static void list_chosen(fw_epoch_rows *epoch_rows, const unsigned char *marks) {
  uint64_t first = 0, rows;
  epoch_rows->count = 0;
  for (unsigned rank = 0; rank < comm_of(epoch_rows)->ranks; rank++, marks += bits_size(rows), first += rows) {
    memcpy(&rows, marks, sizeof rows);
    for (uint64_t i = 0; i < rows; i++)
      if (marks[sizeof rows + i / 8] >> i % 8 & 1) epoch_rows->order[epoch_rows->count++] = (uint32_t)(first + i);
  }
}

/* Every rank has the whole order, in which it looks for its own rows. */
static furrow_status choose_together(fw_epoch_rows *epoch_rows, furrow_error *err) {
  const furrow_comm *comm = comm_of(epoch_rows);
  const uint64_t all = fw_samples_all_rows(epoch_rows->samples);
  unsigned char *marks = NULL;
  void *gathered = NULL;
  size_t total;
  start_order(epoch_rows, all);
  if (!epoch_rows->ordered) return FURROW_OK;
  furrow_status status = reserve_order(epoch_rows, all, err);
  if (status == FURROW_OK) status = mark_chosen(epoch_rows, &marks, err);
  status = fw_comm_share_status(comm, status, err);
  if (status == FURROW_OK)
    status = fw_comm_gather_all(comm, marks, bits_size(epoch_rows->block.size), &gathered, &total, NULL, err);
  if (status == FURROW_OK) list_chosen(epoch_rows, gathered);
  if (status == FURROW_OK) shuffle_order(epoch_rows, 0);
  fw_free(gathered);
  fw_free(marks);
  return status;
}

/* ---- Blocks --------------------------------------------------------------------------------------------- */

/* Gathers blocks to be shuffled together. */
static furrow_status next_window(fw_epoch_rows *epoch_rows, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  furrow_status status = FURROW_OK;
  if (epoch_rows->window) furrow_container_clear(epoch_rows->window);
  while (status == FURROW_OK && (!epoch_rows->window || furrow_container_size(epoch_rows->window) < WINDOW_ROWS)) {
    status = fw_sample_pass_next(epoch_rows->pass, &block, err);
    if (status == FURROW_OK && !epoch_rows->window)
      status = furrow_container_create(&epoch_rows->window, block->key_type, block->value_type, err);
    if (status == FURROW_OK) status = furrow_container_push_block(epoch_rows->window, block, err);
  }
  if (status != FURROW_OK && status != FURROW_END) return status;
  if (!epoch_rows->window || furrow_container_size(epoch_rows->window) == 0) return FURROW_END;
  return furrow_container_get_block(epoch_rows->window, &epoch_rows->block, err);
}

static furrow_status next_block(fw_epoch_rows *epoch_rows, furrow_error *err) {
  epoch_rows->first_row += epoch_rows->block.size;
  const furrow_rowblock *block = &epoch_rows->block;
  furrow_status status = FURROW_END;
  if (!epoch_rows->ended && epoch_rows->pass) {
    status =
        epoch_rows->params.shuffle ? next_window(epoch_rows, err) : fw_sample_pass_next(epoch_rows->pass, &block, err);
  }
  if (status == FURROW_OK) {
    epoch_rows->block = *block;
    return choose_rows(epoch_rows, err);
  }
  epoch_rows->block.size = epoch_rows->count = epoch_rows->at = 0;
  epoch_rows->ended = status == FURROW_END;
  return status;
}

static furrow_status start_pass(fw_epoch_rows *epoch_rows, furrow_error *err) {
  return epoch_rows->pass ? fw_sample_pass_rewind(epoch_rows->pass, err)
                          : fw_sample_pass_open(&epoch_rows->pass, epoch_rows->samples, err);
}

furrow_status fw_epoch_rows_start(fw_epoch_rows *epoch_rows, uint32_t epoch, furrow_error *err) {
  const furrow_rowblock *all = fw_samples_block(epoch_rows->samples);
  epoch_rows->epoch = epoch;
  epoch_rows->sample_seed = epoch_seed(epoch_rows, 1);
  epoch_rows->first_row = fw_samples_first_row(epoch_rows->samples);
  epoch_rows->ended = false;
  epoch_rows->block.size = epoch_rows->count = epoch_rows->at = 0;
  epoch_rows->together = epoch_rows->params.together && all && comm_of(epoch_rows)->ranks > 1;
  if (epoch_rows->params.posneg_ratio > 0) FW_TRY(count_rows(epoch_rows, err));
  if (all) epoch_rows->block = *all;
  if (epoch_rows->together) return choose_together(epoch_rows, err);
  return fw_comm_share_status(comm_of(epoch_rows), all ? choose_rows(epoch_rows, err) : start_pass(epoch_rows, err),
                              err);
}

/* The i-th row of the block, at `position` of the batch where ranks share one. */
static furrow_status add_row(const fw_epoch_rows *epoch_rows, fw_batcher *batcher, size_t i, size_t position,
                             uint64_t *number, furrow_error *err) {
  const furrow_row row = furrow_rowblock_row(&epoch_rows->block, i);
  *number = epoch_rows->first_row + i + 1;
  furrow_status status = epoch_rows->together ? fw_batcher_add_at(batcher, &row, (uint32_t)position, err)
                                              : fw_batcher_add(batcher, &row, err);
  if (status == FURROW_OK) return status;
  fw_error_prefix_row(err, *number);
  fw_error_set_file(err, fw_samples_name(epoch_rows->samples));
  return status;
}

/* The rank's own of the next rows of all. */
static furrow_status fill_own(fw_epoch_rows *epoch_rows, fw_batcher *batcher, size_t rows, uint64_t *number,
                              size_t *count, furrow_error *err) {
  const uint64_t first = epoch_rows->first_row, size = epoch_rows->block.size;
  size_t n = 0;
  for (size_t position = 0; position < rows && epoch_rows->at < epoch_rows->count; position++) {
    const uint64_t row = take_next(epoch_rows);
    if (row < first || row - first >= size) continue;
    FW_TRY(add_row(epoch_rows, batcher, (size_t)(row - first), position, &number[n], err));
    n++;
  }
  *count = n;
  return FURROW_OK;
}

furrow_status fw_epoch_rows_fill(void *source, fw_batcher *batcher, size_t rows, uint64_t *number, size_t *count,
                                 furrow_error *err) {
  fw_epoch_rows *epoch_rows = source;
  furrow_status status = FURROW_OK;
  size_t n = 0;
  if (epoch_rows->together) return fill_own(epoch_rows, batcher, rows, number, count, err);
  while (status == FURROW_OK && n < rows) {
    if (epoch_rows->at == epoch_rows->count) {
      status = next_block(epoch_rows, err);
    } else {
      status = add_row(epoch_rows, batcher, take_next(epoch_rows), 0, &number[n], err);
      n++;
    }
  }
  if (status == FURROW_END) status = FURROW_OK;
  if (status == FURROW_OK) *count = n;
  return status;
}

void fw_epoch_rows_claim(void *source, size_t rows, size_t *first, size_t *count) {
  fw_epoch_rows *epoch_rows = source;
  const size_t left = epoch_rows->count - epoch_rows->at;
  *first = epoch_rows->at;
  *count = left < rows ? left : rows;
  epoch_rows->at += *count;
}

/* Inlined by force: a call that does nothing else is dropped. */
static inline __attribute__((always_inline)) void ask_for_row(const furrow_rowblock *block, size_t i) {
  const size_t line = 64, key = block->key_type == FURROW_KEY_U64 ? sizeof(uint64_t) : sizeof(uint32_t);
  const char *index = (const char *)block->index.any;
  for (size_t at = block->offset[i] * key; at < block->offset[i + 1] * key; at += line) __builtin_prefetch(index + at);
}

furrow_status fw_epoch_rows_add(void *source, size_t first, size_t count, fw_batcher *batcher, uint64_t *number,
                                furrow_error *err) {
  enum { NEAR = 4, FAR = 8 }; /* rows whose features, and whose offsets, are prefetched */
  const fw_epoch_rows *epoch_rows = source;
  const furrow_rowblock *block = &epoch_rows->block;
  const uint32_t *order = epoch_rows->ordered ? epoch_rows->order + first : NULL;
  for (size_t i = 0; i < count; i++) {
    if (order && i + FAR < count) __builtin_prefetch(&block->offset[order[i + FAR]]);
    if (order && i + NEAR < count) ask_for_row(block, order[i + NEAR]);
    FW_TRY(add_row(epoch_rows, batcher, order ? order[i] : first + i, 0, &number[i], err));
  }
  return FURROW_OK;
}

/* ---- Open and close ------------------------------------------------------------------------------------- */

furrow_status fw_epoch_rows_open(fw_epoch_rows **epoch_rows, fw_samples *samples, const fw_data_conf *data,
                                 const fw_epoch_rows_params *params, furrow_error *err) {
  FW_TRY(FW_ALLOC(epoch_rows, 1, err));
  **epoch_rows = (fw_epoch_rows){.samples = samples, .data = data, .params = *params};
  return FURROW_OK;
}

void fw_epoch_rows_close(fw_epoch_rows *epoch_rows) {
  if (!epoch_rows) return;
  fw_sample_pass_close(epoch_rows->pass);
  furrow_container_free(epoch_rows->window);
  fw_free(epoch_rows->order);
  fw_free(epoch_rows);
}
