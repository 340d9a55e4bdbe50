/* learn/data/epoch_rows.h: what an epoch takes of samples: which rows, in which order. Both depend on the seed, the
 * epoch and a row's number alone. */
#ifndef FW_LEARN_DATA_EPOCH_ROWS_H
#define FW_LEARN_DATA_EPOCH_ROWS_H

#include "learn/data/minibatch.h"
#include "learn/data/samples.h"

typedef enum fw_row_subset {
  FW_SUBSET_ALL,
  FW_SUBSET_TRAIN, /* without the rows for validation */
  FW_SUBSET_VALID  /* the others */
} fw_row_subset;

typedef struct fw_epoch_rows_params {
  fw_row_subset subset;
  /* Validation rows: the rows of a fold, a share that is drawn by the seed (streamed rows), or Angel's choice. */
  const fw_holdout *holdout; /* NULL: see below */
  unsigned fold;
  double share;        /* 0: see below */
  uint64_t every;      /* row 0, every, 2 * every …, see fw_valid_every; 0: none */
  double sample_ratio; /* 1: all rows */
  double posneg_ratio; /* <= 0: as they come */
  bool shuffle;
  uint64_t seed;
  /* Several ranks with rows in memory: an epoch has the order that one process would have, over the rows of all ranks;
   * of each batch a rank takes its own rows, with their positions. Else each rank has an order of its own rows. */
  bool together;
} fw_epoch_rows_params;

typedef struct fw_epoch_rows fw_epoch_rows;

/* The data conf and the samples must outlive it. */
furrow_status fw_epoch_rows_open(fw_epoch_rows **epoch_rows, fw_samples *samples, const fw_data_conf *data,
                                 const fw_epoch_rows_params *params, furrow_error *err) FURROW_MUST_USE;
void fw_epoch_rows_close(fw_epoch_rows *epoch_rows);

/* Every n-th row is for validation. Returns n = ceil(1 / ratio), as Angel does; 0: no row is. */
uint64_t fw_valid_every(double ratio);
/* Rows of the share, before sampling, of all ranks (which all call it). Streamed samples are read once if that is not
 * known yet. */
furrow_status fw_epoch_rows_count(fw_epoch_rows *epoch_rows, uint64_t *rows, furrow_error *err) FURROW_MUST_USE;
/* Rows of the share of all ranks, about, as far as they are known without reading; 0: not known. */
uint64_t fw_epoch_rows_known_rows(const fw_epoch_rows *epoch_rows);
/* The rows of the share, by their place in memory, ascending. To be freed with fw_free. */
furrow_status fw_epoch_rows_list(const fw_epoch_rows *epoch_rows, uint32_t **rows, size_t *count,
                                 furrow_error *err) FURROW_MUST_USE;
/* What was left out and skipped when the samples were loaded, or in the last pass. */
void fw_epoch_rows_get_stats(const fw_epoch_rows *epoch_rows, furrow_parser_stats *stats);

/* Goes to the first row of an epoch. All ranks call it; a failure of one is a failure of all. */
furrow_status fw_epoch_rows_start(fw_epoch_rows *epoch_rows, uint32_t epoch, furrow_error *err) FURROW_MUST_USE;
/* Reads the next rows; fits fw_row_source.fill, whose first argument is the fw_epoch_rows. Rows are numbered from 1 in
 * the data of all ranks. Together with other ranks, `rows` is the size of the batch of all ranks, and *count may be 0
 * before the end. */
furrow_status fw_epoch_rows_fill(void *epoch_rows, fw_batcher *batcher, size_t rows, uint64_t *number, size_t *count,
                                 furrow_error *err) FURROW_MUST_USE;

/* The same in two steps, for rows in memory that are not divided among ranks: fit fw_row_source.claim and add. */
void fw_epoch_rows_claim(void *epoch_rows, size_t rows, size_t *first, size_t *count);
furrow_status fw_epoch_rows_add(void *epoch_rows, size_t first, size_t count, fw_batcher *batcher, uint64_t *number,
                                furrow_error *err) FURROW_MUST_USE;

#endif
