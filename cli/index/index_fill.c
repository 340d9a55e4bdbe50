/* cli/index/index_fill.c: vectors to add to an index: their source and their ids. */
#include "index/index_fill.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "core/fail.h"
#include "core/interrupt.h"

enum { BLOCK_VECTORS = 1 << 16 };

const option fill_options[] = {
    {.name = "base",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "vectors to add; - is standard input",
     .offset = offsetof(fill_values, base)},
    {.name = "from-model",
     .kind = OPTION_TEXT,
     .argument = "FOLDER",
     .help = "vectors to add from one of Angel's matrices, MODEL/MATRIX",
     .offset = offsetof(fill_values, model)},
    {.name = "by",
     .kind = OPTION_ENUM,
     .choices = "auto|row|column",
     .help = "what a vector of a matrix is (auto: a column if the matrix is stored by columns)",
     .offset = offsetof(fill_values, axis)},
    {.name = "ids",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "ids of the vectors, one for each: .npy .i64 .ivecs .ibin .txt; with --from-model also A:B, the range of "
             "ids to add",
     .offset = offsetof(fill_values, ids)},
    {.name = "on-nan",
     .kind = OPTION_ENUM,
     .choices = "error|skip",
     .help = "what to do about a vector that has a NaN or an infinity or is too large: stop with an error, or skip it "
             "(error)",
     .offset = offsetof(fill_values, on_nan)},
    {.name = "memory",
     .kind = OPTION_BYTES,
     .argument = "BYTES",
     .help = "memory for the training sample and a block of vectors to add (2GiB)",
     .offset = offsetof(fill_values, memory)},
    {.name = "threads",
     .kind = OPTION_THREADS,
     .argument = "T",
     .help = "threads to use (0: one for each processor); the number does not change the result",
     .offset = offsetof(fill_values, threads)},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .help = "print no notes and no progress on stderr",
     .offset = offsetof(fill_values, quiet)},
    {0}};

void fill_values_init(fill_values *values) {
  values->memory = (size_t)2 << 30;
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static furrow_status open_model(filling *fill, size_t d, furrow_error *err) {
  const fill_values *values = fill->values;
  const matrix_values matrix = {.path = values->model, .axis = values->axis, .ids = values->ids};
  return vector_source_open_matrix(&fill->vectors, &matrix, d, values->memory / 2, values->threads, err);
}

static furrow_status open_ids(filling *fill, furrow_error *err) {
  const char *path = fill->values->ids;
  furrow_status status = furrow_ids_load(&fill->ids, path, NULL, err);
  if (status != FURROW_OK) return status;
  const uint64_t count = furrow_vectors_reader_count(fill->vectors);
  if (fill->ids.dim == 1 && (count == FURROW_COUNT_UNKNOWN || count == fill->ids.count)) return FURROW_OK;
  if (fill->ids.dim != 1)
    return fail_file(err, FURROW_E_FORMAT, path, "has rows of several ids, but one id per vector is needed", 0);
  return fail_in(err, FURROW_E_FORMAT, path, "has %zu id%s for %" PRIu64 " vector%s", fill->ids.count,
                 fill->ids.count == 1 ? "" : "s", count, count == 1 ? "" : "s");
}

furrow_status fill_open(filling *fill, const fill_values *values, size_t d, furrow_error *err) {
  furrow_status status = FURROW_OK;
  *fill = (filling){.values = values};
  if (values->memory == 0) return fail(err, FURROW_E_ARGUMENT, "--memory must be more than 0");
  if (values->axis != FURROW_AXIS_AUTO && !values->model)
    return fail(err, FURROW_E_ARGUMENT, "--by needs --from-model");
  if (!values->base == !values->model)
    return fail(err, FURROW_E_ARGUMENT, "exactly one of --base and --from-model is needed");
  if (values->model)
    status = open_model(fill, d, err);
  else
    status = vector_source_open(&fill->vectors, values->base, &values->vectors, d, err);
  if (status == FURROW_OK && values->ids && !values->model) status = open_ids(fill, err);
  if (status != FURROW_OK) return status;
  if (furrow_vectors_reader_dimension(fill->vectors) == 0)
    return fail_file(err, FURROW_E_FORMAT, furrow_vectors_reader_path(fill->vectors), "has no vectors", 0);
  return vector_block_init(&fill->block, furrow_vectors_reader_dimension(fill->vectors), BLOCK_VECTORS,
                           values->memory / 4, err);
}

void fill_close(filling *fill) {
  vector_block_clear(&fill->block);
  furrow_ids_clear(&fill->ids);
  furrow_vectors_reader_close(fill->vectors);
  fill->vectors = NULL;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

furrow_status fill_read(filling *fill, furrow_error *err) {
  vector_block *block = &fill->block;
  furrow_status status = vector_block_read(block, fill->vectors, err);
  if (status != FURROW_OK || fill->values->on_nan != ON_NAN_ERROR) return status;
  const size_t bad = furrow_first_invalid_vector(block->values, block->count, block->d);
  if (bad == block->count) return FURROW_OK;
  fail_in(err, FURROW_E_RANGE, furrow_vectors_reader_path(fill->vectors), "vector %" PRIu64 " %s", block->first + bad,
          vector_fault(block->values + bad * block->d, block->d));
  return add_hint(err, "--on-nan skip leaves out such vectors");
}

/* ---- Adding --------------------------------------------------------------------------------------------- */

static furrow_status ids_of_block(const filling *fill, const int64_t **ids, furrow_error *err) {
  const vector_block *block = &fill->block;
  *ids = furrow_vectors_reader_has_ids(fill->vectors) ? block->ids : NULL;
  if (!fill->ids.ids) return FURROW_OK;
  if (block->first + block->count > fill->ids.count)
    return fail_in(err, FURROW_E_FORMAT, fill->values->ids, "has %zu ids, fewer than there are vectors",
                   fill->ids.count);
  *ids = fill->ids.ids + block->first;
  return FURROW_OK;
}

furrow_status fill_add_block(filling *fill, furrow_index *index, furrow_error *err) {
  furrow_index_add_params params;
  uint64_t skipped = 0;
  furrow_index_add_params_init(&params);
  params.threads = fill->values->threads;
  params.skip_nan = fill->values->on_nan == ON_NAN_SKIP;
  furrow_status status = ids_of_block(fill, &params.ids, err);
  if (status == FURROW_OK)
    status = furrow_index_add(index, fill->block.values, fill->block.count, &params, &skipped, err);
  if (status != FURROW_OK) return status;
  fill->added += fill->block.count - skipped;
  fill->skipped += skipped;
  return FURROW_OK;
}

furrow_status fill_add_all(filling *fill, furrow_index *index, index_job *job, furrow_error *err) {
  const uint64_t count = furrow_vectors_reader_count(fill->vectors), total = count == FURROW_COUNT_UNKNOWN ? 0 : count;
  furrow_status status = interrupt_check(err);
  while (status == FURROW_OK) {
    status = fill_read(fill, err);
    if (status != FURROW_OK || fill->block.count == 0) break;
    status = fill_add_block(fill, index, err);
    if (status == FURROW_OK) status = index_job_update(job, "add", fill->added + fill->skipped, total, err);
  }
  if (status == FURROW_OK && fill->ids.ids && fill->ids.count > fill->added + fill->skipped)
    status = fail_in(err, FURROW_E_FORMAT, fill->values->ids, "has %zu ids for %" PRIu64 " vectors", fill->ids.count,
                     fill->added + fill->skipped);
  return status;
}
