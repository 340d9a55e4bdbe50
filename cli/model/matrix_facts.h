/* cli/model/matrix_facts.h: what 'model info' tells about a matrix. */
#ifndef CLI_MODEL_MATRIX_FACTS_H
#define CLI_MODEL_MATRIX_FACTS_H

#include "furrow/model.h"
#include "model/model_conf.h"
#include "model/model_job.h"

typedef struct matrix_facts {
  const char *folder;
  furrow_matrix_source_params params;
  furrow_matrix_meta *own_meta; /* of facts_from_meta */
  furrow_matrix_source *source; /* of facts_read */
  const furrow_matrix_meta *meta;
  const char *meta_name;              /* NULL: not known */
  const furrow_matrix_format *format; /* NULL: no such format is known */
  const furrow_matrix_row_type *type; /* NULL: not told */
  const char *separator;              /* NULL: not of text, or not known */
  furrow_layer_kind layer;
  const graph_text *graph;
  size_t saved_rows;
  int32_t first_row, last_row; /* of the saved ones */
  size_t files, row_blocks, col_blocks;
  bool hash;
  uint64_t bytes;
  int64_t elements; /* -1: not known */
  bool with_stats;
  furrow_matrix_stats stats;
} matrix_facts;

/* Nothing is known yet. Close it, after a failure of the next two, too. */
void facts_start(matrix_facts *f, const char *folder, const furrow_matrix_source_params *params,
                 const graph_text *graph);
/* From the metadata alone. */
furrow_status facts_from_meta(matrix_facts *f, furrow_error *err);
/* From all files. */
furrow_status facts_from_files(matrix_facts *f, unsigned threads, job *j, furrow_error *err);
void facts_close(matrix_facts *f);

/* Elements that are not 0, among saved rows x columns; NaN: not known. */
double facts_density(const matrix_facts *f);
/* Elements of a partition; -1: the metadata does not say. */
int64_t part_elements(const furrow_partition_meta *part);

#endif
