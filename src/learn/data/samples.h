/* learn/data/samples.h: from a URI to the data that epochs are made from, in memory or read again in each pass. */
#ifndef FW_LEARN_DATA_SAMPLES_H
#define FW_LEARN_DATA_SAMPLES_H

#include "comm/collectives.h"
#include "furrow/rows.h"
#include "io/uri.h"
#include "learn/conf/conf.h"
#include "learn/conf/conf_data.h"
#include "learn/data/minibatch.h"

/* ---- Units of features and labels (scaling.c) ----
 *
 *   feature  z = (x - mean) * factor     those that are not listed: z = x
 *   label    t = (y - label_mean) * label_factor */

typedef struct fw_scaling {
  size_t count;
  uint64_t *key; /* ascending */
  double *mean;
  double *factor;      /* above 0 */
  int64_t *slot;       /* for each feature with a mean, a slot that no other feature uses in any row; -1: unknown */
  double label_mean;   /* 0 */
  double label_factor; /* above 0; 0: labels are not scaled, whatever the mean */
} fw_scaling;

/* The caller's struct, for `count` features: means 0, factors 1, slots -1, keys to be filled in; labels stay as they
 * are. On failure there is nothing to clear. */
furrow_status fw_scaling_init(fw_scaling *scaling, size_t count, furrow_error *err) FURROW_MUST_USE;
/* Takes one of zeros. */
void fw_scaling_clear(fw_scaling *scaling);
/* From z to x and from t to y: mean -mean * factor, factor 1 / factor. *inverse is for the caller to clear. */
furrow_status fw_scaling_invert(fw_scaling *inverse, const fw_scaling *scaling, furrow_error *err) FURROW_MUST_USE;

/* A block with scaled values and labels, otherwise the same as `block`. Its arrays are kept for the next block. A
 * feature whose mean is subtracted is appended to rows that do not list it: its value 0 is not 0 in these units. */
typedef struct fw_scaled_block {
  furrow_rowblock block;
  float *value, *label;
  uint64_t *offset; /* own offset, index and field, where features were added */
  void *index, *field;
  size_t value_capacity, label_capacity, offset_capacity, index_capacity, field_capacity;
} fw_scaled_block;

furrow_status fw_scaled_block_fill(fw_scaled_block *scaled, const fw_scaling *scaling, const furrow_rowblock *block,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_scaled_block_clear(fw_scaled_block *scaled);

/* ---- Rows that are held out (holdout.c) ----
 *
 * whole groups. */

#define FW_FOLDS_MAX 255

typedef struct fw_holdout {
  unsigned char *fold_of;          /* rows of this rank: the fold that each is in; NULL: none is held out */
  uint64_t rows[FW_FOLDS_MAX + 1]; /* number of rows of each fold, of this rank */
} fw_holdout;

typedef enum fw_holdout_unit {
  FW_HOLD_ROWS,
  FW_HOLD_OF_CLASSES, /* rows, the same share of each label */
  FW_HOLD_GROUPS      /* rows with the same qid stay together; a share counts groups, not rows */
} fw_holdout_unit;
/* The unit that a loss needs. */
fw_holdout_unit fw_holdout_unit_of(fw_loss_type loss);

typedef struct fw_holdout_params {
  fw_holdout_unit unit;
  unsigned folds; /* above 1: folds 0 … folds-1 of about the same size. Else fold 0 is the share `ratio`, 1 the rest */
  double ratio;
  uint64_t seed;
  const furrow_comm *comm; /* the ranks among which the rows are divided; all of them call the function; NULL: one
                              process */
  uint64_t first_row;      /* the number of this rank's first row among the rows of all ranks */
} fw_holdout_params;

/* The same rows for any number of ranks, and for any order of the rows: their contents decide, and copies of a row are
 * held out together unless all rows have many. To be cleared after a failure, too. */
furrow_status fw_holdout_init(fw_holdout *holdout, const furrow_rowblock *rows, const fw_holdout_params *params,
                              furrow_error *err) FURROW_MUST_USE;
void fw_holdout_clear(fw_holdout *holdout);

/* ---- Weights and groups in files next to the data (side_files.c) ----
 *
 * DATA.weight has the weight of each row, DATA.query the number of rows of each group, one number on a line. */

typedef struct fw_side_files {
  const char *data; /* the path of the data */
  bool has_weights, has_groups;
  float *weight;
  size_t weights, weight_capacity;
  uint64_t *group_end; /* for each group the number of rows up to its end */
  size_t groups, group_capacity;
  size_t group_rows; /* group rows of all groups */
  uint64_t *qid;     /* qid of the last block */
  size_t qid_capacity;
} fw_side_files;

/* Reads the files that exist. `files` starts as zeros, and is cleared after a failure, too; `data` must outlive it.
 * E_PARSE: a line is not a number. */
furrow_status fw_side_files_read(fw_side_files *files, const char *data, furrow_error *err) FURROW_MUST_USE;
void fw_side_files_clear(fw_side_files *files);
/* Gives a block, which begins with row number `first`, its weights and groups, valid until the next call. E_FORMAT: the
 * files end before the block; E_ARGUMENT: the rows already have weights or groups. */
furrow_status fw_side_files_add(fw_side_files *files, uint64_t first, furrow_rowblock *block,
                                furrow_error *err) FURROW_MUST_USE;
/* Called after the last row. E_FORMAT: the files have entries for more rows. */
furrow_status fw_side_files_end(const fw_side_files *files, uint64_t rows, furrow_error *err) FURROW_MUST_USE;

/* ---- Samples ---- */

/* Other files read the first members; the rest belongs to samples.c and sample_reader.c. */
typedef struct fw_samples {
  char *format;            /* the parser's format, given or found */
  const furrow_comm *comm; /* the ranks that share the rows */
  /* The number of this rank's first row among all rows, from 0, and the rows of all ranks. Streamed rows of one process
   * are not counted: both are 0. */
  uint64_t first_row, all_rows;
  int index_base;     /* the base that was found for index-base=auto; -1: the conf sets the base, or the format has
                         none */
  bool uri_says_base; /* the URI has indexing_mode 0 or 1 */
  char *
      found_label; /* the csv column that was taken for the labels by its name; NULL: it was given, or none was found */
  fw_uri uri;      /* with the arguments that the conf adds */
  furrow_parser_params params;
  bool trees; /* whether gbdt is the algorithm of the conf */
  bool once;  /* the files cannot be read again */
  int base;   /* index base of the conf; -1: auto */
  /* csv: the names of its features, encoded and separated by commas, and a name that two of them have; the columns of
   * labels and weights; NULL: there is none, or it is not known */
  char *columns, *column_twice, *label_column, *weight_column, *delimiter;
  /* At the first row, for the first pass or for loading; it owns rows that a program has in memory. */
  furrow_parser *parser;
  bool in_memory;
  furrow_container *container; /* in memory: owns the block; NULL: the parser does */
  furrow_rowblock block;
  furrow_parser_stats stats; /* rows in memory: what was read and skipped */
  fw_side_files side;        /* side files of data that is a single file */
  const fw_scaling *scaling; /* NULL: rows come as they are */
  fw_scaled_block scaled;    /* in memory */
  bool failed;               /* opening failed, which all ranks know */
} fw_samples;

/* Opens `uri` in the format of `data` (unless params name one) as part comm->rank of comm->ranks. Not streamed: all
 * rows are read now. A #cachefile is used in both cases. */
furrow_status fw_samples_open(fw_samples **samples, const char *uri, const fw_data_conf *data,
                              const furrow_parser_params *params, bool stream, const furrow_comm *comm,
                              furrow_error *err) FURROW_MUST_USE;
void fw_samples_close(fw_samples *samples);
/* From now on rows are scaled; `scaling` must outlive the samples. */
furrow_status fw_samples_scale(fw_samples *samples, const fw_scaling *scaling, furrow_error *err) FURROW_MUST_USE;
/* Samples of rows that were taken from others, before scaling; takes the container, after a failure, too. */
furrow_status fw_samples_of_rows(fw_samples **samples, const fw_samples *others, furrow_container *rows,
                                 furrow_error *err) FURROW_MUST_USE;
/* All rows; NULL: they are streamed. */
const furrow_rowblock *fw_samples_block(const fw_samples *samples);
/* The same before they were scaled. */
const furrow_rowblock *fw_samples_raw_block(const fw_samples *samples);
/* Whether rows are streamed from a source that can be read only once. */
bool fw_samples_pass_once(const fw_samples *samples);
/* Leaves out the rows of a fold. The rows must be in memory and not scaled; all ranks call it. *left_out (may be NULL)
 * gets these rows, to be freed with furrow_container_free. */
furrow_status fw_samples_leave_out(fw_samples *samples, const fw_holdout *holdout, unsigned fold,
                                   furrow_container **left_out, furrow_error *err) FURROW_MUST_USE;
/* Replaces the rows, which must not be scaled, by other rows in memory, and takes ownership of them, also after a
 * failure. */
furrow_status fw_samples_take(fw_samples *samples, furrow_container *rows, furrow_error *err) FURROW_MUST_USE;
/* The name of the data in messages. */
const char *fw_samples_name(const fw_samples *samples);
/* Settles the keys of csv data that `conf` does not have: the names of its columns, of the label, the delimiter. The
 * texts are valid while the samples are open. */
furrow_status fw_samples_settle_columns(fw_samples *samples, const furrow_learn_conf *conf, fw_settled *settled,
                                        furrow_error *err) FURROW_MUST_USE;
/* Fills in what was left out and skipped when the rows were loaded; zeros for streamed rows. */
void fw_samples_get_stats(const fw_samples *samples, furrow_parser_stats *stats);

/* Whether a format has indices that count from 0 or from 1, depending on the data. */
bool fw_samples_has_index_base(const char *format);

/* Calls `take` for the rows of this rank: all in one block if they are in memory, else block by block in a pass. */
typedef furrow_status (*fw_block_taker)(void *user, const furrow_rowblock *block, furrow_error *err);
furrow_status fw_samples_visit(fw_samples *samples, fw_block_taker take, void *user, furrow_error *err) FURROW_MUST_USE;

/* One pass over streamed samples. */
typedef struct fw_sample_pass fw_sample_pass;

furrow_status fw_sample_pass_open(fw_sample_pass **pass, fw_samples *samples, furrow_error *err) FURROW_MUST_USE;
void fw_sample_pass_close(fw_sample_pass *pass);
/* The next block, valid until the next call; END at the end. */
furrow_status fw_sample_pass_next(fw_sample_pass *pass, const furrow_rowblock **block,
                                  furrow_error *err) FURROW_MUST_USE;
void fw_sample_pass_get_stats(const fw_sample_pass *pass, furrow_parser_stats *stats);
furrow_status fw_sample_pass_rewind(fw_sample_pass *pass, furrow_error *err) FURROW_MUST_USE;

/* ---- The rows of an epoch (epoch_rows.c) ----
 *
 * epoch and a row's number alone. */

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
   * of each batch a rank takes its own rows, with their positions. Otherwise each rank orders only its own rows. */
  bool together;
} fw_epoch_rows_params;

typedef struct fw_epoch_rows fw_epoch_rows;

/* The data conf and the samples must outlive it. */
furrow_status fw_epoch_rows_open(fw_epoch_rows **epoch_rows, fw_samples *samples, const fw_data_conf *data,
                                 const fw_epoch_rows_params *params, furrow_error *err) FURROW_MUST_USE;
void fw_epoch_rows_close(fw_epoch_rows *epoch_rows);

/* Every n-th row is for validation. Returns n = ceil(1 / ratio), as Angel does; 0: no row is. */
uint64_t fw_valid_every(double ratio);
/* Returns the number of rows of the subset on all ranks, before sampling; all ranks call it. Streamed samples are read
 * once if the number is not known yet. */
furrow_status fw_epoch_rows_count(fw_epoch_rows *epoch_rows, uint64_t *rows, furrow_error *err) FURROW_MUST_USE;
/* Returns about how many rows the subset has on all ranks, as far as known without reading; 0: not known. */
uint64_t fw_epoch_rows_known_rows(const fw_epoch_rows *epoch_rows);
/* Whether the row of this number among the rows of all ranks is in the subset. */
bool fw_epoch_rows_has(const fw_epoch_rows *epoch_rows, uint64_t row);
/* Lists the rows of the subset by position in memory, ascending. To be freed with fw_free. */
furrow_status fw_epoch_rows_list(const fw_epoch_rows *epoch_rows, uint32_t **rows, size_t *count,
                                 furrow_error *err) FURROW_MUST_USE;
/* What was left out and skipped when the samples were loaded, or in the last pass. */
void fw_epoch_rows_get_stats(const fw_epoch_rows *epoch_rows, furrow_parser_stats *stats);

/* Goes to the first row of an epoch. All ranks call it; if one rank fails, all fail. */
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
