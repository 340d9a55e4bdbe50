/* learn/data/minibatch.h: a mini-batch in the form that a net takes: rows as arrays, with numbered features.
 *
 * Each different feature of a batch has a local number, in order of first appearance; uses of a feature are listed by
 * feature too, so that updates run over features while the forward pass runs over rows. */
#ifndef FW_LEARN_DATA_MINIBATCH_H
#define FW_LEARN_DATA_MINIBATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/rows.h"
#include "learn/conf/conf.h"

/* ---- Local ids of features (local_ids.c) ---- */

typedef struct fw_local_ids {
  uint64_t *key; /* key of each number */
  size_t count, capacity;
  uint64_t range; /* keys must be below; 0: open */
  /* For a known range that is not too large: an array over the range, owned or shared with another fw_local_ids */
  struct fw_local_id_array *array, *own;
  /* Otherwise a hash table */
  struct fw_local_id_entry *table;
  uint64_t seed;  /* seed of hashes */
  unsigned shift; /* 64 - log2(size of the table) */
  uint32_t stamp; /* stamp of this batch */
} fw_local_ids;

/* Initializes the caller's struct; to be cleared after a failure, too. `beside` (may be NULL) is another one with the
 * same range, which must outlive this one and shares its array with it, so that both use the same cache lines. Then
 * only one of them may be in use at a time, from start to finish. */
furrow_status fw_local_ids_init(fw_local_ids *local_ids, uint64_t range, const fw_local_ids *beside,
                                furrow_error *err) FURROW_MUST_USE;
void fw_local_ids_clear(fw_local_ids *local_ids);

/* Starts a batch: no key has a number. */
void fw_local_ids_start(fw_local_ids *local_ids);
/* Reserves memory for n more keys. */
furrow_status fw_local_ids_reserve(fw_local_ids *local_ids, size_t n, furrow_error *err) FURROW_MUST_USE;
/* E_RANGE: the key is beyond the range (0: there is none). */
furrow_status fw_local_ids_check(uint64_t range, uint64_t largest, furrow_error *err) FURROW_MUST_USE;
/* Adds the features of a row, for which capacity must be reserved. E_RANGE: one is beyond the range. */
furrow_status fw_local_ids_add(fw_local_ids *local_ids, const furrow_row *row, uint32_t *number,
                               furrow_error *err) FURROW_MUST_USE;
/* Ends the batch: fills `number` with the numbers of all rows' features, in the order of the calls of
 * fw_local_ids_add. */
furrow_status fw_local_ids_finish(fw_local_ids *local_ids, uint32_t *number, size_t uses,
                                  furrow_error *err) FURROW_MUST_USE;

typedef struct fw_minibatch {
  size_t rows;
  float *label;       /* transformed; NaN: there is none */
  float *weight;      /* NULL: all 1 */
  uint64_t *qid;      /* group of each row, for a loss that ranks the rows of a group; else NULL */
  uint32_t *position; /* positions of rows in the batch of all ranks, ascending; NULL: row i is at i */
  uint64_t first_row; /* number of its first row in the data, for errors (streamed data; else in the epoch) */
  /* sparse data; NULL for dense data */
  uint32_t *offset; /* rows + 1: uses of row i are offset[i] … offset[i+1]-1 */
  size_t uses;
  uint32_t *feature; /* uses: the local number */
  float *value;      /* uses; NULL: all 1 */
  uint32_t
      *place; /* position of a use's vector in an embedding with fixed slots: row * slots + slot. NULL: use i is at i */
  size_t features;      /* different ones */
  uint64_t *key;        /* features: the feature's id, 0-based */
  uint32_t *use_offset; /* features + 1 */
  uint32_t *use_row;    /* the rows of uses by feature, ascending for each */
  uint32_t *use;        /* the numbers of these uses; NULL if there are neither values nor slots */
  uint32_t *use_place;  /* the positions of these uses; `use` itself if place is NULL */
  /* dense data */
  float *x; /* rows * columns; NULL for sparse data */
  size_t columns;
} fw_minibatch;

/* Builds batches from rows; keeps its memory from one to the next. */
typedef struct fw_batcher fw_batcher;

typedef struct fw_batcher_params {
  bool dense;     /* features are columns 0 … range - 1 of x */
  uint64_t range; /* keys must be below; 0: open */
  size_t slots;   /* features that every row must have (data->short_rows: at most); 0: any number */
  bool plain;     /* for scoring: features are not numbered (use i is feature i), uses not listed by feature */
  bool unlisted;  /* uses are not listed by feature: use_offset and what follows it are NULL */
  bool by_field;  /* slots are fields (several features of one are pooled), else features by ascending id */
  const struct fw_batcher *beside; /* NULL, or one with the same range: see fw_local_ids_init */
  const fw_data_conf *data;        /* label transform, has_label */
  const fw_graph *graph;           /* every row must have a label that the graph's loss accepts. NULL: labels are
                                      optional */
} fw_batcher_params;

/* The rules for every row of a plan's data. The plan must outlive the result. */
fw_batcher_params fw_plan_rules(const fw_plan *plan);

/* "row N: " before an error's message. */
void fw_error_prefix_row(furrow_error *err, uint64_t number);

/* A label after the transform. */
double fw_transform_label(const fw_data_conf *data, double label);
/* A row's label after the transform; NaN: it has none. */
double fw_label_of(const fw_data_conf *data, const furrow_row *row);
/* The same for training, with the row's weight, including the weight of its class. E_RANGE: a label that the loss does
 * not take, or an invalid weight. */
furrow_status fw_row_label(const fw_data_conf *data, const fw_graph *graph, const furrow_row *row, double *label,
                           double *weight, furrow_error *err) FURROW_MUST_USE;

furrow_status fw_batcher_create(fw_batcher **batcher, const fw_batcher_params *rules,
                                furrow_error *err) FURROW_MUST_USE;
void fw_batcher_free(fw_batcher *batcher);
/* Starts a batch; adds a row (E_RANGE: an index beyond the range, a wrong number of features, a field beyond the slots,
 * a label that the loss cannot take: the message says which, the caller adds the place); numbers features and uses. The
 * batch is valid until the next start. After a failure start again. */
void fw_batcher_start(fw_batcher *batcher);
furrow_status fw_batcher_add(fw_batcher *batcher, const furrow_row *row, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_batcher_finish(fw_batcher *batcher, fw_minibatch **batch, furrow_error *err) FURROW_MUST_USE;
/* The same for a row of a batch of several ranks, with its position; positions ascend. Either all rows of a batch have
 * a position or none has. */
furrow_status fw_batcher_add_at(fw_batcher *batcher, const furrow_row *row, uint32_t position,
                                furrow_error *err) FURROW_MUST_USE;

/* One rank's part of a batch: all rows of that rank, but only the uses of features that belong to the receiving
 * rank. */
typedef struct fw_batch_part {
  size_t rows, keys, uses;
  const uint32_t *position;  /* positions of the rows; NULL: the rows follow the rows of the previous part */
  const float *label;        /* rows */
  const float *weight;       /* rows; NULL: all 1 */
  const uint32_t *row_uses;  /* rows: how many uses; NULL: none */
  const void *key;           /* keys: different features */
  furrow_key_type key_type;  /* type of the keys */
  const uint32_t *use_key;   /* uses: the number of the key */
  const float *value;        /* uses; NULL: all 1 */
  uint32_t *row;             /* set by fw_batcher_join: rows: the row in the batch */
  uint32_t *feature;         /* keys: the feature in the batch */
  uint32_t *use;             /* uses: the use in the batch */
  size_t next_row, next_use; /* scratch */
} fw_batch_part;

/* Makes a batch of the rows of all parts, by position; uses are in the order of rows, and within a row in the order of
 * its part. In embeddings with slots, use i is at i. */
furrow_status fw_batcher_join(fw_batcher *batcher, fw_batch_part *parts, size_t count, fw_minibatch **batch,
                              furrow_error *err) FURROW_MUST_USE;

#endif
