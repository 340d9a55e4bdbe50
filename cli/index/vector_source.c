/* cli/index/vector_source.c: the vectors and ids that the index commands read. */
#include "index/vector_source.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sort.h"
#include "core/fail.h"
#include "core/text_file.h"

const option vector_options[] = {
    {.name = "kind",
     .kind = OPTION_TEXT,
     .argument = "KIND",
     .help = "kind of the vector files, if their names do not show it: fvecs bvecs ivecs fbin ibin u8bin i8bin npy npz "
             "safetensors parquet f32, and as text csv tsv (numbers, with or without names) txt vec (word2vec, GloVe)",
     .offset = offsetof(vector_values, kind)},
    {.name = "array",
     .kind = OPTION_TEXT,
     .argument = "NAME",
     .help = "the array that has the vectors, in npz and safetensors files with several",
     .offset = offsetof(vector_values, array)},
    {.name = "column",
     .kind = OPTION_TEXT,
     .argument = "NAME",
     .help = "the column that has the vectors, in Parquet files and queries with several of lists",
     .offset = offsetof(vector_values, column)},
    {.name = "dim",
     .kind = OPTION_U64,
     .argument = "D",
     .help = "dimension of the vectors in f32 files, which do not store it",
     .offset = offsetof(vector_values, dim)},
    {0}};

furrow_status vector_source_open(furrow_vectors_reader **vectors, const char *path, const vector_values *values,
                                 size_t d, furrow_error *err) {
  furrow_vectors_reader_params params;
  if (d && values->dim && values->dim != d)
    return fail(err, FURROW_E_ARGUMENT, "--dim is %" PRIu64 ", but the vectors must have %zu elements", values->dim, d);
  furrow_vectors_reader_params_init(&params);
  params.kind = values->kind;
  params.array = values->array;
  params.column = values->column;
  params.ids = values->ids;
  params.names = values->names;
  params.d = d ? d : (size_t)values->dim;
  furrow_status status = furrow_vectors_reader_open(vectors, path, &params, err);
  if (status == FURROW_E_ARGUMENT && !values->kind && strcmp(path, "-") == 0)
    return fail(err, status, "the kind of the vectors on standard input is unknown"),
           add_hint(err, "name it with --kind");
  if (status != FURROW_OK) return status;
  if (furrow_vectors_reader_count(*vectors) > 0) return FURROW_OK;
  furrow_vectors_reader_close(*vectors);
  *vectors = NULL;
  return fail_file(err, FURROW_E_FORMAT, path, "has no vectors", 0);
}

bool vector_source_is_table(const char *path, const vector_values *values) {
  if (values->kind) return strcmp(values->kind, "parquet") == 0;
  return path && (path_ends(path, ".parquet") || strcmp(path, QUERY_PATH) == 0);
}

const char *vector_source_column(const char *path, const vector_values *values, const char *name) {
  static const char *const endings[] = {".npy", ".i64", ".ivecs", ".ibin", ".txt"};
  if (!name || strchr(name, '/') || !vector_source_is_table(path, values)) return NULL;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (path_ends(name, endings[i])) return NULL;
  return name;
}

uint64_t vector_source_total(const furrow_vectors_reader *vectors) {
  const uint64_t count = furrow_vectors_reader_count(vectors);
  return count == FURROW_COUNT_UNKNOWN ? 0 : count;
}

/* ---- Blocks --------------------------------------------------------------------------------------------- */

furrow_status vector_block_init(vector_block *block, size_t d, size_t most, size_t memory, furrow_error *err) {
  const size_t row = d * sizeof(float) + sizeof(int64_t);
  if (memory && most > memory / row) most = memory / row;
  if (most == 0) most = 1;
  if (most > SIZE_MAX / row) return fail_memory(err);
  *block = (vector_block){.d = d, .capacity = most};
  block->values = malloc(most * d * sizeof(float));
  block->ids = malloc(most * sizeof(int64_t));
  if (block->values && block->ids) return FURROW_OK;
  vector_block_clear(block);
  return fail_memory(err);
}

void vector_block_clear(vector_block *block) {
  free(block->values);
  free(block->ids);
  *block = (vector_block){0};
}

furrow_status vector_block_read(vector_block *block, furrow_vectors_reader *vectors, furrow_error *err) {
  size_t got = 0;
  furrow_status status = furrow_vectors_reader_next(vectors, block->capacity, block->values, block->ids, &got, err);
  if (status != FURROW_OK) return status;
  block->first += block->count;
  block->count = got;
  return FURROW_OK;
}

static bool make_larger(vector_block *block) {
  const size_t capacity = 2 * block->capacity;
  float *values = realloc(block->values, capacity * block->d * sizeof(float));
  if (values) block->values = values;
  int64_t *ids = values ? realloc(block->ids, capacity * sizeof(int64_t)) : NULL;
  if (!ids) return false;
  block->ids = ids;
  block->capacity = capacity;
  return true;
}

furrow_status vector_block_read_all(vector_block *block, furrow_vectors_reader *vectors, furrow_error *err) {
  const uint64_t known = furrow_vectors_reader_count(vectors);
  size_t got = 1;
  furrow_status status = vector_block_init(block, furrow_vectors_reader_dimension(vectors),
                                           known == FURROW_COUNT_UNKNOWN ? 1024 : (size_t)known + 1, 0, err);
  while (status == FURROW_OK) {
    const size_t done = block->count;
    status = furrow_vectors_reader_next(vectors, block->capacity - done, block->values + done * block->d,
                                        block->ids + done, &got, err);
    if (status != FURROW_OK) break;
    block->count += got;
    if (block->count < block->capacity) return FURROW_OK;
    if (!make_larger(block)) status = fail_memory(err);
  }
  vector_block_clear(block);
  return status;
}

/* ---- Vectors that are refused --------------------------------------------------------------------------- */

const char *vector_fault(const float *vector, size_t d) {
  if (furrow_first_invalid_vector(vector, 1, d) == 1) return NULL;
  for (size_t i = 0; i < d; i++)
    if (!isfinite(vector[i])) return isnan(vector[i]) ? "has a NaN" : "has an infinity";
  return "is too large: the square of its norm is not a finite float";
}

furrow_status query_explain(const furrow_vectors_reader *queries, const vector_block *block, furrow_status status,
                            furrow_error *err) {
  if (status != FURROW_E_RANGE || !block->values) return status;
  const size_t bad = furrow_first_invalid_vector(block->values, block->count, block->d);
  if (bad == block->count) return status;
  return fail_in(err, status, furrow_vectors_reader_path(queries), "query %" PRIu64 " %s", block->first + bad,
                 vector_fault(block->values + bad * block->d, block->d));
}

/* ---- Ids ------------------------------------------------------------------------------------------------ */

static bool read_side(const char *text, size_t length, int64_t missing, int64_t *value) {
  char copy[24], *end = NULL;
  if (length >= sizeof copy) return false;
  memcpy(copy, text, length);
  copy[length] = 0;
  *value = missing;
  if (length == 0) return true;
  errno = 0;
  const long long number = strtoll(copy, &end, 10);
  if (errno || *end || copy[0] == ' ' || copy[0] == '+') return false;
  *value = number;
  return true;
}

bool read_id_range(const char *text, int64_t *first, int64_t *end) {
  const char *colon = strchr(text, ':');
  int64_t from, upto;
  if (!colon || !read_side(text, (size_t)(colon - text), INT64_MIN, &from) ||
      !read_side(colon + 1, strlen(colon + 1), INT64_MAX, &upto))
    return false;
  *first = from;
  *end = upto;
  return true;
}

furrow_status vector_source_open_matrix(furrow_vectors_reader **vectors, const matrix_values *values, size_t d,
                                        size_t memory, unsigned threads, furrow_error *err) {
  furrow_vectors_reader_params params;
  furrow_vectors_reader_params_init(&params);
  params.d = d;
  params.vectors = values->axis;
  params.memory = memory;
  params.threads = threads;
  if (values->ids && !read_id_range(values->ids, &params.first_id, &params.end_id))
    return fail_token(err, values->ids, "with --from-model, --ids takes a range A:B");
  if (values->ids && params.first_id >= params.end_id) return fail_token(err, values->ids, "the range of ids is empty");
  return furrow_vectors_reader_open_matrix(vectors, values->path, &params, err);
}

/* Returns whether a text is a list of ids separated by commas. */
static bool is_list(const char *text) {
  const size_t length = strspn(text, "-0123456789,");
  return length > 0 && text[length] == 0 && strcmp(text, "-") != 0;
}

static furrow_status read_list(furrow_ids *ids, const char *text, furrow_error *err) {
  char *copy = strdup(text), *rest = copy, *word;
  furrow_status status = copy ? FURROW_OK : fail_memory(err);
  size_t count = 1;
  for (const char *s = text; *s; s++) count += *s == ',';
  if (status == FURROW_OK && !(ids->ids = malloc(count * sizeof *ids->ids))) status = fail_memory(err);
  while (status == FURROW_OK && (word = strsep(&rest, ",")))
    if (!*word)
      status = fail_token(err, text, "the list of ids has an empty member");
    else if (!read_side(word, strlen(word), 0, &ids->ids[ids->count++]))
      status = fail_token(err, word, "is not an id");
  free(copy);
  return status;
}

/* Finds the ids of names that a file lists. */
static furrow_status find_names(furrow_ids *ids, const furrow_name_list *list, const char *path,
                                const furrow_id_names *names, furrow_error *err) {
  size_t missing = 0, first = 0;
  ids->ids = malloc((list->count + 1) * sizeof *ids->ids);
  if (!ids->ids) return fail_memory(err);
  for (size_t i = 0; i < list->count; i++) {
    if (furrow_id_names_find(names, list->names[i], strlen(list->names[i]), &ids->ids[ids->count]))
      ids->count++;
    else if (missing++ == 0)
      first = i;
  }
  if (missing == 0) return FURROW_OK;
  if (missing == 1)
    fail_token(err, list->names[first], "is not a name in the index");
  else
    fail_token(err, list->names[first], "is the first of %zu names that are not in the index", missing);
  snprintf(err->file, sizeof err->file, "%s", path);
  err->line = first + 1;
  return err->status = FURROW_E_NOT_FOUND;
}

static furrow_status read_file(furrow_ids *ids, const char *path, bool only_names, const furrow_id_names *names,
                               furrow_error *err) {
  furrow_name_list list;
  furrow_name_list_init(&list);
  furrow_status status =
      only_names ? furrow_name_list_load(&list, path, err) : furrow_ids_or_names_load(ids, &list, path, err);
  if (status == FURROW_OK && (only_names || list.names)) {
    if (names)
      status = find_names(ids, &list, path, names, err);
    else
      status = fail_file(err, FURROW_E_ARGUMENT, path, "has names, but the ids of the index have none", 0);
  }
  furrow_name_list_clear(&list);
  return status;
}

furrow_status id_filter_ids_read(id_filter_ids *filter_ids, const id_filter_values *values,
                                 const furrow_id_names *names, furrow_error *err) {
  furrow_id_filter *filter = &filter_ids->filter;
  const char *text = values->ids ? values->ids : values->names;
  furrow_status status = FURROW_OK;
  furrow_ids_init(&filter_ids->ids);
  furrow_id_filter_init(filter);
  const bool is_file = values->names || path_is_there(text);
  if (!is_file && strchr(text, ':')) {
    if (!read_id_range(text, &filter->first, &filter->end))
      return fail_token(err, text, "a range of ids has the form A:B");
    return filter->first < filter->end ? FURROW_OK : fail_token(err, text, "the range of ids is empty");
  }
  if (!is_file && is_list(text))
    status = read_list(&filter_ids->ids, text, err);
  else
    status = read_file(&filter_ids->ids, text, values->names, names, err);
  if (status != FURROW_OK) return status;
  qsort(filter_ids->ids.ids, filter_ids->ids.count, sizeof *filter_ids->ids.ids, fw_compare_i64);
  filter->kind = FURROW_ID_FILTER_SORTED;
  filter->sorted = filter_ids->ids.ids;
  filter->sorted_count = filter_ids->ids.count;
  return FURROW_OK;
}

void id_filter_ids_clear(id_filter_ids *filter_ids) {
  furrow_ids_clear(&filter_ids->ids);
}
