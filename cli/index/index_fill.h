/* cli/index/index_fill.h: vectors that go into an index: where they come from, which ids they get. */
#ifndef CLI_INDEX_INDEX_FILL_H
#define CLI_INDEX_INDEX_FILL_H

#include "index/index_job.h"
#include "index/vector_source.h"

typedef enum on_nan { ON_NAN_ERROR, ON_NAN_SKIP } on_nan;

/* What the options of fill_options fill; `vectors` is for vector_options. */
typedef struct fill_values {
  const char *base, *model, *ids;
  vector_values vectors;
  furrow_axis axis; /* of a model's matrix */
  on_nan on_nan;
  size_t memory;
  uint32_t threads;
  bool quiet;
} fill_values;

extern const option fill_options[];
void fill_values_init(fill_values *values);

/* Vectors on their way into an index. */
typedef struct filling {
  const fill_values *values;
  furrow_vectors_reader *vectors;
  furrow_ids ids; /* of --ids; otherwise those of the vectors, or none */
  vector_block block;
  uint64_t added, skipped;
} filling;

/* Opens the vectors (d elements each, 0: any) and their ids. Close it, also after a failure. */
furrow_status fill_open(filling *fill, const fill_values *values, size_t d, furrow_error *err);
void fill_close(filling *fill);

/* Reads the next block. Vectors that the library refuses are an error, or (--on-nan skip) stay for it to pass over. */
furrow_status fill_read(filling *fill, furrow_error *err);

/* Adds the block in hand. */
furrow_status fill_add_block(filling *fill, furrow_index *index, furrow_error *err);
/* Adds all that is left. */
furrow_status fill_add_all(filling *fill, furrow_index *index, index_job *job, furrow_error *err);

#endif
