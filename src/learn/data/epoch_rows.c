/* learn/data/epoch_rows.c: the rows of an epoch in their order. */
#include "learn/data/samples.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

/* Streamed rows are shuffled within a window of this number of rows; the block that fills it up may exceed it. */
enum { WINDOW_ROWS = 1 << 16 };

struct fw_epoch_rows {
  fw_samples *samples;
  const fw_data_conf *data;
  fw_epoch_rows_params params;
  bool counted;
  uint64_t rows, positives; /* rows and positives of the share */
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
  bool together;            /* order, count and at refer to the rows of all ranks, else to the block */
  uint32_t *order;
  size_t count, at, order_capacity; /* rows to be taken from the block; rows that were taken */
};

uint64_t fw_valid_every(double ratio) {
  return ratio > 0 ? (uint64_t)ceil(1 / ratio) : 0;
}

/* ---- Which rows ----------------------------------------------------------------------------------------- */

static const furrow_comm *comm_of(const fw_epoch_rows *e) {
  return e->samples->comm;
}

/* `row` is its number among the rows of all ranks. */
static bool is_held_out(const fw_epoch_rows *e, uint64_t row) {
  const fw_epoch_rows_params *p = &e->params;
  if (p->holdout) return p->holdout->fold_of[row - e->samples->first_row] == p->fold;
  if (p->share > 0) return (double)(fw_rng_hash(p->seed ^ 0x686f6c64, row) >> 11) * 0x1p-53 < p->share;
  return p->every && row % p->every == 0;
}

static bool is_in_subset(const fw_epoch_rows *e, uint64_t row) {
  const fw_epoch_rows_params *p = &e->params;
  if (p->subset == FW_SUBSET_ALL) return true;
  return is_held_out(e, row) == (p->subset == FW_SUBSET_VALID);
}

bool fw_epoch_rows_has(const fw_epoch_rows *e, uint64_t row) {
  return is_in_subset(e, row);
}

/* Whether a row of the share is used in this epoch: decided by a number that is drawn for the row alone, so that it
 * does not depend on other rows. */
static bool is_used(const fw_epoch_rows *e, const furrow_rowblock *block, size_t i, uint64_t row) {
  double chance = e->params.sample_ratio;
  if (e->params.posneg_ratio > 0) {
    const furrow_row sample = furrow_rowblock_row(block, i);
    chance *= e->keep[fw_label_of(e->data, &sample) > 0];
  }
  if (chance >= 1) return true;
  return (double)(fw_rng_hash(e->sample_seed, row) >> 11) * 0x1p-53 < chance;
}

static bool holds_out(const fw_epoch_rows_params *p) {
  return p->holdout || p->share > 0 || p->every;
}

static bool takes_all(const fw_epoch_rows *e) {
  const fw_epoch_rows_params *p = &e->params;
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
  fw_epoch_rows *e = counter->epoch_rows;
  (void)err;
  for (size_t i = 0; i < block->size; i++) {
    if (!is_in_subset(e, counter->next_row++)) continue;
    const furrow_row row = furrow_rowblock_row(block, i);
    e->rows++;
    e->positives += fw_label_of(e->data, &row) > 0;
  }
  return FURROW_OK;
}

/* Sets the chances of both classes so that surplus rows of one class are left out: positives / negatives becomes the
 * ratio. */
static void set_chances(fw_epoch_rows *e) {
  const double positives = (double)e->positives, negatives = (double)(e->rows - e->positives);
  const double wanted = e->params.posneg_ratio * negatives;
  e->keep[0] = e->keep[1] = 1;
  if (positives > wanted) {
    e->keep[1] = wanted / positives;
  } else if (wanted > 0) {
    e->keep[0] = positives / wanted;
  }
}

/* Adds up what the ranks have counted. */
static furrow_status add_counts(fw_epoch_rows *e, furrow_status status, furrow_error *err) {
  int64_t sums[2] = {(int64_t)e->rows, (int64_t)e->positives};
  FW_TRY(fw_comm_share_status(comm_of(e), status, err));
  FW_TRY(fw_comm_sum_i64(comm_of(e), sums, 2, err));
  e->rows = (uint64_t)sums[0];
  e->positives = (uint64_t)sums[1];
  return FURROW_OK;
}

static furrow_status count_rows(fw_epoch_rows *e, furrow_error *err) {
  if (e->counted) return FURROW_OK;
  row_counter counter = {e, e->samples->first_row};
  e->rows = e->positives = 0;
  furrow_status status = fw_samples_visit(e->samples, count_block, &counter, err);
  status = add_counts(e, status, err);
  e->counted = status == FURROW_OK;
  if (e->counted && e->params.posneg_ratio > 0) set_chances(e);
  return status;
}

furrow_status fw_epoch_rows_count(fw_epoch_rows *e, uint64_t *rows, furrow_error *err) {
  FW_TRY(count_rows(e, err));
  *rows = e->rows;
  return FURROW_OK;
}

uint64_t fw_epoch_rows_known_rows(const fw_epoch_rows *e) {
  const fw_epoch_rows_params *p = &e->params;
  const furrow_rowblock *own = fw_samples_block(e->samples);
  if (e->counted) return e->rows;
  if (!own) return 0;
  const uint64_t all = e->samples->all_rows;
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

furrow_status fw_epoch_rows_list(const fw_epoch_rows *e, uint32_t **rows, size_t *count, furrow_error *err) {
  const size_t all = fw_samples_block(e->samples)->size;
  const uint64_t first = e->samples->first_row;
  if (all > UINT32_MAX) return too_many_rows(all, err);
  FW_TRY(FW_ALLOC(rows, all + 1, err));
  *count = 0;
  for (size_t i = 0; i < all; i++)
    if (is_in_subset(e, first + i)) (*rows)[(*count)++] = (uint32_t)i;
  return FURROW_OK;
}

void fw_epoch_rows_get_stats(const fw_epoch_rows *e, furrow_parser_stats *stats) {
  if (e->pass)
    fw_sample_pass_get_stats(e->pass, stats);
  else
    fw_samples_get_stats(e->samples, stats);
}

/* ---- Order ---------------------------------------------------------------------------------------------- */

/* A seed for the epoch: for the sample, or for the order of the rows. */
static uint64_t epoch_seed(const fw_epoch_rows *e, uint64_t use) {
  return fw_rng_hash(fw_rng_hash(e->params.seed, e->epoch), use);
}

static furrow_status reserve_order(fw_epoch_rows *e, uint64_t rows, furrow_error *err) {
  if (rows > UINT32_MAX) return too_many_rows(rows, err);
  return FW_GROW(&e->order, &e->order_capacity, rows, err);
}

static void shuffle_order(fw_epoch_rows *e, uint64_t first_row) {
  fw_rng rng;
  if (!e->params.shuffle) return;
  fw_rng_init(&rng, epoch_seed(e, 2 + first_row));
  fw_rng_shuffle(&rng, e->order, e->count, sizeof *e->order);
}

static bool is_chosen(const fw_epoch_rows *e, size_t i) {
  const uint64_t row = e->first_row + i;
  return is_in_subset(e, row) && is_used(e, &e->block, i, row);
}

/* Starts with all rows in order, unless they are shuffled or some are left out. */
static void start_order(fw_epoch_rows *e, uint64_t rows) {
  e->at = 0;
  e->count = rows;
  e->ordered = e->params.shuffle || !takes_all(e);
}

/* The next row in this order. */
static size_t take_next(fw_epoch_rows *e) {
  const size_t at = e->at++;
  return e->ordered ? e->order[at] : at;
}

/* Chooses the rows to be taken from the block and their order. */
static furrow_status choose_rows(fw_epoch_rows *e, furrow_error *err) {
  const furrow_rowblock *block = &e->block;
  start_order(e, block->size);
  if (!e->ordered) return FURROW_OK;
  FW_TRY(reserve_order(e, block->size, err));
  e->count = 0;
  const bool all = takes_all(e);
  for (size_t i = 0; i < block->size; i++)
    if (all || is_chosen(e, i)) e->order[e->count++] = (uint32_t)i;
  shuffle_order(e, e->first_row);
  return FURROW_OK;
}

/* ---- The order of the rows of all ranks ---- */

/* Size of a message about a rank's rows: their number, and a bit for each row, set if the row is chosen. */
static size_t bits_size(uint64_t rows) {
  return sizeof(uint64_t) + (size_t)(rows + 7) / 8;
}

static furrow_status mark_chosen(const fw_epoch_rows *e, unsigned char **marks, furrow_error *err) {
  const uint64_t rows = e->block.size;
  FW_TRY(FW_ALLOC_ZERO(marks, bits_size(rows), err));
  memcpy(*marks, &rows, sizeof rows);
  for (size_t i = 0; i < rows; i++)
    if (is_chosen(e, i)) (*marks)[sizeof rows + i / 8] |= (unsigned char)(1 << i % 8);
  return FURROW_OK;
}

static void list_chosen(fw_epoch_rows *e, const unsigned char *marks) {
  uint64_t first = 0, rows;
  e->count = 0;
  for (unsigned rank = 0; rank < comm_of(e)->ranks; rank++, marks += bits_size(rows), first += rows) {
    memcpy(&rows, marks, sizeof rows);
    for (uint64_t i = 0; i < rows; i++)
      if (marks[sizeof rows + i / 8] >> i % 8 & 1) e->order[e->count++] = (uint32_t)(first + i);
  }
}

/* Every rank has the whole order, and finds its own rows in it. */
static furrow_status choose_together(fw_epoch_rows *e, furrow_error *err) {
  const furrow_comm *comm = comm_of(e);
  const uint64_t all = e->samples->all_rows;
  unsigned char *marks = NULL;
  void *gathered = NULL;
  size_t total;
  start_order(e, all);
  if (!e->ordered) return FURROW_OK;
  furrow_status status = reserve_order(e, all, err);
  if (status == FURROW_OK) status = mark_chosen(e, &marks, err);
  status = fw_comm_share_status(comm, status, err);
  if (status == FURROW_OK)
    status = fw_comm_gather_all(comm, marks, bits_size(e->block.size), &gathered, &total, NULL, err);
  if (status == FURROW_OK) list_chosen(e, gathered);
  if (status == FURROW_OK) shuffle_order(e, 0);
  fw_free(gathered);
  fw_free(marks);
  return status;
}

/* ---- Blocks --------------------------------------------------------------------------------------------- */

/* Gathers blocks to be shuffled together. */
static furrow_status next_window(fw_epoch_rows *e, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  furrow_status status = FURROW_OK;
  if (e->window) furrow_container_clear(e->window);
  while (status == FURROW_OK && (!e->window || furrow_container_size(e->window) < WINDOW_ROWS)) {
    status = fw_sample_pass_next(e->pass, &block, err);
    if (status == FURROW_OK && !e->window)
      status = furrow_container_create(&e->window, block->key_type, block->value_type, err);
    if (status == FURROW_OK) status = furrow_container_push_block(e->window, block, err);
  }
  if (status != FURROW_OK && status != FURROW_END) return status;
  if (!e->window || furrow_container_size(e->window) == 0) return FURROW_END;
  return furrow_container_get_block(e->window, &e->block, err);
}

static furrow_status next_block(fw_epoch_rows *e, furrow_error *err) {
  e->first_row += e->block.size;
  const furrow_rowblock *block = &e->block;
  furrow_status status = FURROW_END;
  if (!e->ended && e->pass) {
    status = e->params.shuffle ? next_window(e, err) : fw_sample_pass_next(e->pass, &block, err);
  }
  if (status == FURROW_OK) {
    e->block = *block;
    return choose_rows(e, err);
  }
  e->block.size = e->count = e->at = 0;
  e->ended = status == FURROW_END;
  return status;
}

static furrow_status start_pass(fw_epoch_rows *e, furrow_error *err) {
  return e->pass ? fw_sample_pass_rewind(e->pass, err) : fw_sample_pass_open(&e->pass, e->samples, err);
}

furrow_status fw_epoch_rows_start(fw_epoch_rows *e, uint32_t epoch, furrow_error *err) {
  const furrow_rowblock *all = fw_samples_block(e->samples);
  e->epoch = epoch;
  e->sample_seed = epoch_seed(e, 1);
  e->first_row = e->samples->first_row;
  e->ended = false;
  e->block.size = e->count = e->at = 0;
  e->together = e->params.together && all && comm_of(e)->ranks > 1;
  if (e->params.posneg_ratio > 0) FW_TRY(count_rows(e, err));
  if (all) e->block = *all;
  if (e->together) return choose_together(e, err);
  return fw_comm_share_status(comm_of(e), all ? choose_rows(e, err) : start_pass(e, err), err);
}

/* The i-th row of the block, at `position` of the batch where ranks share one. */
static furrow_status add_row(const fw_epoch_rows *e, fw_batcher *batcher, size_t i, size_t position, uint64_t *number,
                             furrow_error *err) {
  const furrow_row row = furrow_rowblock_row(&e->block, i);
  *number = e->first_row + i + 1;
  furrow_status status =
      e->together ? fw_batcher_add_at(batcher, &row, (uint32_t)position, err) : fw_batcher_add(batcher, &row, err);
  if (status == FURROW_OK) return status;
  fw_error_prefix_row(err, *number);
  fw_error_set_file(err, fw_samples_name(e->samples));
  return status;
}

/* Fills in this rank's rows among the next rows of all ranks. */
static furrow_status fill_own(fw_epoch_rows *e, fw_batcher *batcher, size_t rows, uint64_t *number, size_t *count,
                              furrow_error *err) {
  const uint64_t first = e->first_row, size = e->block.size;
  size_t n = 0;
  for (size_t position = 0; position < rows && e->at < e->count; position++) {
    const uint64_t row = take_next(e);
    if (row < first || row - first >= size) continue;
    FW_TRY(add_row(e, batcher, (size_t)(row - first), position, &number[n], err));
    n++;
  }
  *count = n;
  return FURROW_OK;
}

furrow_status fw_epoch_rows_fill(void *source, fw_batcher *batcher, size_t rows, uint64_t *number, size_t *count,
                                 furrow_error *err) {
  fw_epoch_rows *e = source;
  furrow_status status = FURROW_OK;
  size_t n = 0;
  if (e->together) return fill_own(e, batcher, rows, number, count, err);
  while (status == FURROW_OK && n < rows) {
    if (e->at == e->count) {
      status = next_block(e, err);
    } else {
      status = add_row(e, batcher, take_next(e), 0, &number[n], err);
      n++;
    }
  }
  if (status == FURROW_END) status = FURROW_OK;
  if (status == FURROW_OK) *count = n;
  return status;
}

void fw_epoch_rows_claim(void *source, size_t rows, size_t *first, size_t *count) {
  fw_epoch_rows *e = source;
  const size_t left = e->count - e->at;
  *first = e->at;
  *count = left < rows ? left : rows;
  e->at += *count;
}

/* Must be inlined: the compiler drops a call of a function that only prefetches. */
static inline __attribute__((always_inline)) void ask_for_row(const furrow_rowblock *block, size_t i) {
  const size_t line = 64, key = block->key_type == FURROW_KEY_U64 ? sizeof(uint64_t) : sizeof(uint32_t);
  const char *index = (const char *)block->index.any;
  for (size_t at = block->offset[i] * key; at < block->offset[i + 1] * key; at += line) __builtin_prefetch(index + at);
}

furrow_status fw_epoch_rows_add(void *source, size_t first, size_t count, fw_batcher *batcher, uint64_t *number,
                                furrow_error *err) {
  enum { NEAR = 4, FAR = 8 }; /* rows whose features, and whose offsets, are prefetched */
  const fw_epoch_rows *e = source;
  const furrow_rowblock *block = &e->block;
  const uint32_t *order = e->ordered ? e->order + first : NULL;
  for (size_t i = 0; i < count; i++) {
    if (order && i + FAR < count) __builtin_prefetch(&block->offset[order[i + FAR]]);
    if (order && i + NEAR < count) ask_for_row(block, order[i + NEAR]);
    FW_TRY(add_row(e, batcher, order ? order[i] : first + i, 0, &number[i], err));
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
