/* learn/data/samples.h: from a URI to the data that epochs are made from, in memory or read again in each pass. */
#ifndef FW_LEARN_DATA_SAMPLES_H
#define FW_LEARN_DATA_SAMPLES_H

#include "comm/collectives.h"
#include "io/uri.h"
#include "learn/conf/settle.h"
#include "learn/data/holdout.h"
#include "learn/data/scaling.h"

/* Other files read the first members; the rest belongs to samples.c and sample_reader.c. */
typedef struct fw_samples {
  char *format;            /* the parser's: the one that was given, or that was found */
  const furrow_comm *comm; /* the ranks that share the rows */
  /* The number of this rank's first row among all rows, from 0, and the rows of all ranks. Streamed rows of one process
   * are not counted: both are 0. */
  uint64_t first_row, all_rows;
  int index_base;     /* what was found where the conf has `auto`; -1: the conf says it, or the format has none */
  bool uri_says_base; /* the URI itself has indexing_mode 0 or 1 */
  char *
      found_label; /* the csv column that was taken for the labels by its name; NULL: it was given, or none was found */
  fw_uri uri;      /* with the arguments that the conf adds */
  furrow_parser_params params;
  bool trees; /* of the conf */
  bool once;  /* the files cannot be read again */
  int base;   /* of the conf; -1: auto */
  /* csv: the names of its features, encoded and separated by commas, and a name that two of them have; the columns of
   * labels and weights; NULL: there is none, or it is not known */
  char *columns, *column_twice, *label_column, *weight_column, *delimiter;
  /* At the first row, for the first pass or for loading; it owns rows that a program has in memory. */
  furrow_parser *parser;
  bool in_memory;
  furrow_container *container; /* in memory: owns the block; NULL: the parser does */
  furrow_rowblock block;
  furrow_parser_stats stats; /* in memory: of the loading */
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
/* From now on rows come in other units; `scaling` must outlive the samples. */
furrow_status fw_samples_scale(fw_samples *samples, const fw_scaling *scaling, furrow_error *err) FURROW_MUST_USE;
/* All rows; NULL: they are streamed. */
const furrow_rowblock *fw_samples_block(const fw_samples *samples);
/* The same before they were scaled. */
const furrow_rowblock *fw_samples_raw_block(const fw_samples *samples);
/* Whether they are streamed from what can be read only once. */
bool fw_samples_pass_once(const fw_samples *samples);
/* Leaves out the rows of a fold, of rows in memory that are not scaled; all ranks do. *left_out (may be NULL) gets
 * them, to be freed with furrow_container_free. */
furrow_status fw_samples_leave_out(fw_samples *samples, const fw_holdout *holdout, unsigned fold,
                                   furrow_container **left_out, furrow_error *err) FURROW_MUST_USE;
/* Takes rows in memory in place of its own, which are not scaled; frees them with itself, after a failure at once. */
furrow_status fw_samples_take(fw_samples *samples, furrow_container *rows, furrow_error *err) FURROW_MUST_USE;
/* The name of the data in messages. */
const char *fw_samples_name(const fw_samples *samples);
/* Settles the keys of csv data that `conf` does not have: the names of its columns, of the label, the delimiter. The
 * texts are valid while the samples are open. */
furrow_status fw_samples_settle_columns(fw_samples *samples, const furrow_learn_conf *conf, fw_settled *settled,
                                        furrow_error *err) FURROW_MUST_USE;
/* What was left out and skipped when the rows were loaded; nothing of streamed ones. */
void fw_samples_get_stats(const fw_samples *samples, furrow_parser_stats *stats);

/* Whether the indices of a format count from 0 or 1, as the data says. */
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

#endif
