/* cli/index/index_fill.c: vectors to add to an index: their source and their ids. */
#include "index/index_fill.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/ranks.h"
#include "index/index_edit.h"

enum { BLOCK_VECTORS = 1 << 16 };

const option fill_options[] = {
    {.name = "base",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "vectors to add; - is standard input. Names in a text file become the names of the ids",
     .offset = offsetof(fill_values, base),
     .from_query = true},
    {.name = "from-model",
     .kind = OPTION_TEXT,
     .argument = "FOLDER",
     .help = "vectors to add from one of Angel's matrices, MODEL/MATRIX",
     .offset = offsetof(fill_values, model)},
    {.name = "by",
     .kind = OPTION_ENUM,
     .choices = "auto|row|column",
     .help =
         "part of the matrix that is a vector: a row or a column (auto: a column if the matrix is stored by columns)",
     .offset = offsetof(fill_values, axis)},
    {.name = "ids",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "ids of the vectors, one for each: .npy .i64 .ivecs .ibin .txt, or text with a name on each line; of a "
             "table (Parquet, --sql) its column of integers or texts; with --from-model A:B, the range of ids to add",
     .offset = offsetof(fill_values, ids)},
    {.name = "names",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help =
         "names of the vectors, one on each line, even if they look like numbers; of a table its column; written to "
         "INDEX.names",
     .offset = offsetof(fill_values, names)},
    {.name = "repeated-ids",
     .kind = OPTION_FLAG,
     .help = "allow an id to occur more than once (otherwise an error)",
     .offset = offsetof(fill_values, repeated_ids)},
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
    THREADS_OPTION(offsetof(fill_values, threads), "; the number does not change the result"),
    QUIET_OPTION(offsetof(fill_values, quiet)),
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

/* --ids and --names may name columns of a table. */
static furrow_status open_base(filling *fill, size_t d, furrow_error *err) {
  const fill_values *values = fill->values;
  vector_values vectors = values->vectors;
  vectors.ids = vector_source_column(values->base, &values->vectors, values->ids);
  vectors.names = vector_source_column(values->base, &values->vectors, values->names);
  fill->ids_column = vectors.ids != NULL;
  fill->names_column = vectors.names != NULL;
  return vector_source_open(&fill->vectors, values->base, &vectors, d, err);
}

/* Checks that there is one id or name for each vector, if the number of vectors is known. */
static furrow_status check_count(const filling *fill, const char *path, size_t found, const char *what,
                                 furrow_error *err) {
  const uint64_t count = furrow_vectors_reader_count(fill->vectors);
  if (count == FURROW_COUNT_UNKNOWN || count == found) return FURROW_OK;
  return fail_in(err, FURROW_E_FORMAT, path, "has %zu %s%s for %" PRIu64 " vector%s", found, what,
                 found == 1 ? "" : "s", count, count == 1 ? "" : "s");
}

static furrow_status open_ids(filling *fill, furrow_error *err) {
  const char *path = fill->values->ids;
  furrow_status status = furrow_ids_or_names_load(&fill->ids, &fill->names, path, err);
  if (status == FURROW_E_PARSE && !fill->names.names && err->line == 0)
    add_hint(err, "the first line has numbers, so this is a file of numbers; --names FILE takes every line as a name");
  if (status != FURROW_OK) return status;
  if (fill->names.names) {
    fill->names_path = path;
    return FURROW_OK;
  }
  if (fill->ids.dim != 1)
    return fail_file(err, FURROW_E_FORMAT, path, "has rows of several ids, but one id per vector is needed", 0);
  return check_count(fill, path, fill->ids.count, "id", err);
}

/* Reads the names that a text file has for its vectors. */
static furrow_status open_own_names(filling *fill, furrow_error *err) {
  if (fill->values->only_vectors) return FURROW_OK;
  fill->names_path = fill->values->base;
  const furrow_status status = furrow_vectors_reader_names(fill->vectors, &fill->names, err);
  if (status != FURROW_E_STATE) return status;
  return fail_file(err, FURROW_E_ARGUMENT, fill->names_path, "has names, which are read before the vectors", 0),
         add_hint(err, "write the vectors to a file first; a stream cannot be read twice");
}

static furrow_status open_names(filling *fill, furrow_error *err) {
  const char *path = fill->names_column ? NULL : fill->values->names;
  if (path && fill->names.names)
    return fail_file(err, FURROW_E_ARGUMENT, fill->values->ids, "has names already, so --names cannot be used", 0);
  if (path) {
    furrow_status status = furrow_name_list_load(&fill->names, path, err);
    if (status != FURROW_OK) return status;
    fill->names_path = path;
  }
  if (!fill->names.names && (!fill->values->ids || fill->ids_column) && furrow_vectors_reader_has_names(fill->vectors))
    return open_own_names(fill, err);
  return fill->names.names ? check_count(fill, fill->names_path, fill->names.count, "name", err) : FURROW_OK;
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
    status = open_base(fill, d, err);
  if (status == FURROW_OK && values->ids && !values->model && !fill->ids_column) status = open_ids(fill, err);
  if (status == FURROW_OK) status = open_names(fill, err);
  if (status != FURROW_OK) return status;
  if (furrow_vectors_reader_dimension(fill->vectors) == 0)
    return fail_file(err, FURROW_E_FORMAT, furrow_vectors_reader_path(fill->vectors), "has no vectors", 0);
  return vector_block_init(&fill->block, furrow_vectors_reader_dimension(fill->vectors), BLOCK_VECTORS,
                           values->memory / 4, err);
}

void fill_close(filling *fill) {
  vector_block_clear(&fill->block);
  furrow_ids_clear(&fill->ids);
  furrow_name_list_clear(&fill->names);
  free(fill->named_ids);
  free((void *)fill->id_names);
  free(fill->named_rows);
  fill->named_ids = NULL;
  fill->named_rows = NULL;
  fill->id_names = NULL;
  furrow_vectors_reader_close(fill->vectors);
  fill->vectors = NULL;
}

/* ---- Parts of several processes ------------------------------------------------------------------------- */

/* Finds the number of vectors; if the file does not contain it, all vectors are read once. */
static furrow_status count_vectors(filling *fill, uint64_t *count, furrow_error *err) {
  furrow_status status = FURROW_OK;
  size_t got = 1;
  *count = furrow_vectors_reader_count(fill->vectors);
  if (*count != FURROW_COUNT_UNKNOWN) return FURROW_OK;
  for (*count = 0; status == FURROW_OK && got > 0; *count += got)
    status = furrow_vectors_reader_next(fill->vectors, fill->block.capacity, fill->block.values, NULL, &got, err);
  return status == FURROW_OK ? furrow_vectors_reader_rewind(fill->vectors, err) : status;
}

/* Compares the counts of all ranks: with an older copy of the file, a rank would read the wrong part. */
static furrow_status compare_counts(const filling *fill, furrow_error *err) {
  void *all = NULL;
  furrow_status status = ranks_gather(&fill->total, sizeof fill->total, &all, err);
  const uint64_t *counts = all;
  for (unsigned r = 1; status == FURROW_OK && r < ranks_count(); r++)
    if (counts[r] != counts[0])
      status = fail_in(err, FURROW_E_STALE, furrow_vectors_reader_path(fill->vectors),
                       "rank %u sees %" PRIu64 " vectors, and rank 0 %" PRIu64, r, counts[r], counts[0]);
  free(all);
  return status;
}

furrow_status fill_take_part(filling *fill, furrow_error *err) {
  if (ranks_count() == 1) return FURROW_OK;
  furrow_status status = ranks_all_ok(count_vectors(fill, &fill->total, err), err);
  if (status == FURROW_OK) status = compare_counts(fill, err);
  if (status != FURROW_OK) return status;
  fill->first = fill->block.first = ranks_first(fill->total, ranks_number());
  const uint64_t end = ranks_first(fill->total, ranks_number() + 1);
  return furrow_vectors_reader_restrict(fill->vectors, fill->first, end - fill->first, err);
}

furrow_status fill_rewind(filling *fill, furrow_error *err) {
  fill->block.first = fill->first;
  fill->block.count = 0;
  return furrow_vectors_reader_rewind(fill->vectors, err);
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

/* ---- Names ---------------------------------------------------------------------------------------------- */

static furrow_status check_new(const filling *fill, const furrow_id_names *names, furrow_error *err) {
  for (size_t i = 0; i < fill->names.count; i++) {
    const char *name = fill->names.names[i];
    int64_t id;
    if (!furrow_id_names_find(names, name, strlen(name), &id)) continue;
    fail_token(err, name, "id %" PRId64 " of the index has this name already", id);
    snprintf(err->file, sizeof err->file, "%s", fill->names_path);
    if (fill->names_path != fill->values->base) err->line = i + 1; /* vectors may have a first line of another kind */
    return err->status = FURROW_E_EXISTS;
  }
  return FURROW_OK;
}

furrow_status fill_begin_names(filling *fill, const furrow_index *index, const furrow_id_names *names,
                               furrow_error *err) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  if (names && !fill->names.names)
    return fail(err, FURROW_E_ARGUMENT, "the ids of the index have names, so the new vectors need names, too"),
           add_hint(err, "--names FILE has one on each line");
  if (!fill->names.names) return FURROW_OK;
  if (!names && info.ntotal > 0)
    return fail_file(err, FURROW_E_ARGUMENT, fill->names_path, "has names, but the ids of the index have none", 0),
           add_hint(err, "'furrow index names INDEX --set FILE' names the vectors of an index");
  furrow_status status = names ? check_new(fill, names, err) : FURROW_OK;
  if (status != FURROW_OK) return status;
  fill->first_id = furrow_index_next_id(index);
  if (fill->first_id < 0)
    return fail(err, FURROW_E_ARGUMENT, "the ids below 2^62 are used up, so no id is left for a new vector");
  fill->named_ids = malloc((fill->names.count + 1) * sizeof *fill->named_ids);
  fill->id_names = malloc((fill->names.count + 1) * sizeof *fill->id_names);
  if (ranks_count() > 1) fill->named_rows = malloc((fill->names.count + 1) * sizeof *fill->named_rows);
  const bool made = fill->named_ids && fill->id_names && (fill->named_rows || ranks_count() == 1);
  return made ? FURROW_OK : fail_memory(err);
}

/* Keeps the names of the current block. Lists leave out a vector that is skipped, and so do names; other indexes keep
 * an id for it. */
static void keep_names(filling *fill, const furrow_index *index, const int64_t *ids, uint64_t skipped) {
  const bool left_out = skipped > 0 && is_list_index(index);
  const vector_block *block = &fill->block;
  for (size_t i = 0; fill->names.names && i < block->count; i++) {
    const uint64_t number = block->first + i;
    if (left_out && vector_fault(block->values + i * block->d, block->d)) continue;
    fill->named_ids[fill->named] = ids ? ids[i] : fill->first_id + (int64_t)number;
    if (fill->named_rows) fill->named_rows[fill->named] = number;
    fill->id_names[fill->named++] = fill->names.names[number];
  }
}

/* Rank 0 gets the named vectors of all processes. */
static furrow_status collect_names(filling *fill, furrow_error *err) {
  void *ids = NULL, *rows = NULL;
  size_t bytes = 0;
  furrow_status status = ranks_collect(fill->named_ids, fill->named * sizeof(int64_t), &ids, &bytes, err);
  if (status == FURROW_OK) status = ranks_collect(fill->named_rows, fill->named * sizeof(uint64_t), &rows, &bytes, err);
  if (status == FURROW_OK && ranks_number() == 0) {
    fill->named = bytes / sizeof(uint64_t);
    memcpy(fill->named_ids, ids, bytes);
    for (size_t i = 0; i < fill->named; i++) fill->id_names[i] = fill->names.names[((const uint64_t *)rows)[i]];
  }
  free(ids);
  free(rows);
  return status;
}

furrow_status fill_finish_names(filling *fill, furrow_id_names **names, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (!fill->names.names) return FURROW_OK;
  if (ranks_count() > 1) {
    status = collect_names(fill, err);
    if (status != FURROW_OK || ranks_number() > 0) return status;
  }
  if (!*names) status = furrow_id_names_create(names, err);
  if (status == FURROW_OK) status = furrow_id_names_add(*names, fill->named_ids, fill->id_names, fill->named, err);
  return status;
}

/* ---- Adding --------------------------------------------------------------------------------------------- */

static furrow_status check_enough(const filling *fill, const char *path, size_t found, const char *what,
                                  furrow_error *err) {
  if (fill->block.first + fill->block.count <= found) return FURROW_OK;
  return fail_in(err, FURROW_E_FORMAT, path, "has %zu %s, fewer than there are vectors", found, what);
}

bool fill_counts_itself(const furrow_index *index) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  if (has_implicit_ids(index)) return true;
  if (ranks_count() == 1 || !is_list_index(index)) return false;
  furrow_index_get_info(furrow_index_ivf(index), &info);
  return info.direct_map == FURROW_DIRECT_MAP_ARRAY || info.kind == FURROW_INDEX_IVF_PQR;
}

/* *ids: NULL, the index counts: new ids follow the largest one. Names and several processes need to know the ids. */
static furrow_status ids_of_block(filling *fill, const furrow_index *index, const int64_t **ids, furrow_error *err) {
  vector_block *block = &fill->block;
  furrow_status status = FURROW_OK;
  *ids = furrow_vectors_reader_has_ids(fill->vectors) ? block->ids : NULL;
  if (fill->names.names) status = check_enough(fill, fill->names_path, fill->names.count, "names", err);
  if (status == FURROW_OK && fill->ids.ids) {
    status = check_enough(fill, fill->values->ids, fill->ids.count, "ids", err);
    *ids = fill->ids.ids + block->first;
  } else if (status == FURROW_OK && (fill->names.names || ranks_count() > 1) && !*ids && !fill_counts_itself(index)) {
    for (size_t i = 0; i < block->count; i++) block->ids[i] = fill->first_id + (int64_t)(block->first + i);
    *ids = block->ids;
  }
  return status;
}

furrow_status fill_add_block(filling *fill, furrow_index *index, furrow_error *err) {
  furrow_index_add_params params;
  uint64_t skipped = 0;
  furrow_index_add_params_init(&params);
  params.threads = fill->values->threads;
  params.skip_nan = fill->values->on_nan == ON_NAN_SKIP;
  furrow_status status = ids_of_block(fill, index, &params.ids, err);
  if (status == FURROW_OK)
    status = furrow_index_add(index, fill->block.values, fill->block.count, &params, &skipped, err);
  if (status != FURROW_OK) return status;
  keep_names(fill, index, params.ids, skipped);
  fill->added += fill->block.count - skipped;
  fill->skipped += skipped;
  return FURROW_OK;
}

static furrow_status check_used(const filling *fill, const char *path, size_t found, const char *what,
                                furrow_error *err) {
  const uint64_t vectors = ranks_count() > 1 ? fill->total : fill->added + fill->skipped;
  if (found <= vectors) return FURROW_OK;
  return fail_in(err, FURROW_E_FORMAT, path, "has %zu %s for %" PRIu64 " vectors", found, what, vectors);
}

static furrow_status begin_next_part(const filling *fill, furrow_index **index, build_parts *parts, furrow_error *err) {
  const bool counted = !fill->ids.ids && !furrow_vectors_reader_has_ids(fill->vectors);
  return parts ? build_parts_next(parts, index, counted ? fill->added + fill->skipped : 0, err) : FURROW_OK;
}

furrow_status fill_add_all(filling *fill, furrow_index **index, build_parts *parts, index_job *job, furrow_error *err) {
  const uint64_t total = vector_source_total(fill->vectors);
  furrow_status status = interrupt_check(err);
  while (status == FURROW_OK) {
    status = fill_read(fill, err);
    if (status != FURROW_OK || fill->block.count == 0) break;
    status = begin_next_part(fill, index, parts, err);
    if (status == FURROW_OK) status = fill_add_block(fill, *index, err);
    if (status == FURROW_OK) status = index_job_update(job, "add", fill->added + fill->skipped, total, err);
  }
  if (status == FURROW_OK && fill->ids.ids) status = check_used(fill, fill->values->ids, fill->ids.count, "ids", err);
  if (status == FURROW_OK && fill->names.names)
    status = check_used(fill, fill->names_path, fill->names.count, "names", err);
  return status;
}
