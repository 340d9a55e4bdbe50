/* cli/model/matrix_summary.h: the summary of a matrix for 'model info'. */
#ifndef CLI_MODEL_MATRIX_SUMMARY_H
#define CLI_MODEL_MATRIX_SUMMARY_H

#include "core/job.h"
#include "furrow/model.h"
#include "model/model_conf.h"

typedef struct matrix_summary {
  const char *folder;
  furrow_matrix_source_params params;
  furrow_matrix_meta *own_meta; /* metadata of matrix_summary_from_meta */
  furrow_matrix_source *source; /* source of matrix_summary_from_files */
  const furrow_matrix_meta *meta;
  const char *meta_name;              /* NULL: not known */
  const furrow_matrix_format *format; /* NULL: unknown format */
  const furrow_matrix_row_type *type; /* NULL: unknown */
  const char *separator;              /* NULL: not a text format, or unknown */
  furrow_layer_kind layer;
  const graph_text *graph;
  size_t saved_rows;
  int32_t first_row, last_row; /* first and last of the saved ones */
  size_t files, row_blocks, col_blocks;
  bool hash;
  uint64_t bytes;
  int64_t elements; /* -1: not known */
  bool with_stats;
  furrow_matrix_stats stats;
} matrix_summary;

/* Starts an empty summary. Close it, even after a failure of the next two. */
void matrix_summary_start(matrix_summary *f, const char *folder, const furrow_matrix_source_params *params,
                          const graph_text *graph);
/* Fills it from the metadata alone. */
furrow_status matrix_summary_from_meta(matrix_summary *f, furrow_error *err);
/* Fills it from all files. */
furrow_status matrix_summary_from_files(matrix_summary *f, unsigned threads, job *j, furrow_error *err);
void matrix_summary_close(matrix_summary *f);

/* Share of elements that are not 0 among saved rows x columns; NaN: unknown. */
double matrix_summary_density(const matrix_summary *f);
/* Elements of a partition; -1: the metadata does not say. */
int64_t part_elements(const furrow_partition_meta *part);

#endif
