/* vector/data/vectors_table.c: reads vectors from a column of a table: Parquet files, queries, Arrow in memory.
 *
 * A vector is a list of numbers. The column of ids has integers, which are the ids, or texts, which are names. Nulls
 * and lists of other lengths are errors with the file and the row: what is left out or filled up would be another
 * vector. */
#include "vector/data/vectors_table.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "array/array_type.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "columns/arrow_values.h"
#include "io/fileset.h"
#include "io/table_file.h"
#include "vector/data/id_names.h"

enum { MOST_NAMED = 8 }; /* columns that a message names */

typedef enum column_role { VECTOR, ID, NAME, ROLES } column_role;

typedef struct table_vectors {
  furrow_vectors_reader head;
  fw_fileset files;
  char *columns[ROLES]; /* their names; NULL: not wanted */
  size_t file;          /* number of the file that is open */
  fw_table_file table;
  fw_columns_reader *reader; /* NULL: none is open */
  const fw_arrow_leaf *leaves[ROLES];
  const struct ArrowArray *batch; /* NULL: the next one is not read yet */
  fw_arrow_column in[ROLES];
  int64_t at;      /* next row of the batch */
  uint64_t before; /* rows of the file before the batch */
  uint64_t next;   /* next vector */
  bool lost;       /* a read failed */
  /* of a query: what a whole pass read */
  XXH3_state_t *digest;
  bool known;
  uint64_t seen;
  fw_buffer *names; /* gets the names, a line each; NULL: they are not wanted now */
} table_vectors;

/* ---- Errors --------------------------------------------------------------------------------------------- */

static furrow_status fail_table(const table_vectors *t, furrow_status status, const char *message, furrow_error *err) {
  fw_fail(err, status, "%s", message);
  fw_error_set_file(err, t->files.files[t->file].path);
  return status;
}

/* Names the column and the row, which counts from 1. */
static furrow_status fail_row(const table_vectors *t, column_role role, furrow_status status, const char *message,
                              furrow_error *err) {
  fw_fail(err, status, "column %s: %s", t->columns[role], message);
  fw_error_set_file(err, t->files.files[t->file].path);
  if (err) err->line = t->before + (uint64_t)t->at + 1;
  return status;
}

/* ---- Columns -------------------------------------------------------------------------------------------- */

static bool is_number(const fw_arrow_type *type) {
  return (type->storage == FW_ARROW_INTS || type->storage == FW_ARROW_FLOATS) && fw_typed_is_number(type->type);
}

static bool is_vector(const fw_arrow_leaf *leaf) {
  return leaf->type.storage != FW_ARROW_UNSUPPORTED && leaf->type.type.kind == FW_TYPED_LIST && !leaf->dictionary &&
         is_number(&leaf->element);
}

static bool is_integer(const fw_arrow_type *type) {
  const fw_typed_type t = type->type;
  return is_number(type) && (t.kind == FW_TYPED_I64 || t.kind == FW_TYPED_U64 ||
                             (t.kind == FW_TYPED_DECIMAL && t.digits == 0)); /* DuckDB's HUGEINT */
}

static bool is_text(const fw_arrow_type *type) {
  return type->storage != FW_ARROW_UNSUPPORTED && type->storage != FW_ARROW_NULL && type->type.kind == FW_TYPED_TEXT;
}

static const fw_arrow_leaf *find_leaf(const fw_arrow_leaves *all, const char *name) {
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->leaves[i].name, name) == 0) return &all->leaves[i];
  return NULL;
}

/* Appends the names of the columns of vectors, or of all. */
static furrow_status fail_columns(const table_vectors *t, const fw_arrow_leaves *all, bool any, furrow_status status,
                                  const char *message, furrow_error *err) {
  fw_buffer text = {0};
  size_t named = 0;
  fw_buffer_text(&text, message);
  for (size_t i = 0; i < all->count && named <= MOST_NAMED; i++) {
    if (!any && !is_vector(&all->leaves[i])) continue;
    fw_buffer_text(&text, named ? ", " : ": ");
    fw_buffer_text(&text, named++ == MOST_NAMED ? "..." : all->leaves[i].name);
  }
  fw_buffer_byte(&text, 0);
  fail_table(t, status, fw_buffer_status(&text, NULL) == FURROW_OK ? text.bytes : message, err);
  fw_buffer_clear(&text);
  return status;
}

static furrow_status choose_vector(table_vectors *t, const fw_arrow_leaves *all, furrow_error *err) {
  const char *only = NULL;
  size_t count = 0;
  for (size_t i = 0; i < all->count; i++) {
    if (!is_vector(&all->leaves[i])) continue;
    only = all->leaves[i].name;
    count++;
  }
  if (count == 1) return fw_strndup(&t->columns[VECTOR], only, strlen(only), err);
  if (count == 0)
    return fail_columns(t, all, true, FURROW_E_FORMAT, "has no column of lists of numbers; its columns are", err);
  fail_columns(t, all, false, FURROW_E_ARGUMENT, "has several columns of vectors, so the name of one is needed", err);
  fw_error_set_hint(err, "give the name as the option `column` (--column)");
  return FURROW_E_ARGUMENT;
}

/* Finds the columns in the first file. Ids that are texts are names. */
static furrow_status choose_columns(table_vectors *t, const fw_arrow_leaves *all, furrow_error *err) {
  if (!t->columns[VECTOR]) FW_TRY(choose_vector(t, all, err));
  for (size_t i = 0; i < ROLES; i++) {
    if (!t->columns[i] || find_leaf(all, t->columns[i])) continue;
    fail_columns(t, all, true, FURROW_E_NOT_FOUND, "has no column of this name; its columns are", err);
    fw_error_set_token(err, t->columns[i], strlen(t->columns[i]));
    return FURROW_E_NOT_FOUND;
  }
  if (!t->columns[ID] || !is_text(&find_leaf(all, t->columns[ID])->type)) return FURROW_OK;
  if (t->columns[NAME])
    return fail_table(t, FURROW_E_ARGUMENT,
                      "its ids are texts, which are names, so another column of names cannot be used", err);
  t->columns[NAME] = t->columns[ID];
  t->columns[ID] = NULL;
  return FURROW_OK;
}

static furrow_status check_types(const table_vectors *t, furrow_error *err) {
  static const char *const wrong[ROLES] = {"is not a column of lists of numbers", "has neither integers nor texts",
                                           "has neither texts nor numbers"};
  for (size_t i = 0; i < ROLES; i++) {
    const fw_arrow_leaf *leaf = t->leaves[i];
    if (!leaf) continue;
    const bool right = i == VECTOR ? is_vector(leaf)
                       : i == ID   ? is_integer(&leaf->type)
                                   : is_text(&leaf->type) || is_number(&leaf->type);
    if (right) continue;
    fail_table(t, FURROW_E_FORMAT, wrong[i], err);
    fw_error_set_token(err, t->columns[i], strlen(t->columns[i]));
    return FURROW_E_FORMAT;
  }
  return FURROW_OK;
}

/* ---- Batches -------------------------------------------------------------------------------------------- */

static void close_table(table_vectors *t) {
  fw_columns_reader_close(t->reader);
  fw_table_file_close(&t->table);
  t->reader = NULL;
  t->batch = NULL;
}

/* Names the file in an error that does not. */
static furrow_status in_file(const table_vectors *t, furrow_status status, furrow_error *err) {
  const bool placed = status == FURROW_OK || status == FURROW_END || !err || err->file[0];
  if (!placed && status != FURROW_E_NOT_FOUND) fw_error_set_file(err, t->files.files[t->file].path);
  return status;
}

/* Opens the file for reading its columns. */
static furrow_status open_columns(table_vectors *t, furrow_error *err) {
  const char *names[ROLES];
  size_t count = 0;
  for (size_t i = 0; i < ROLES; i++) {
    bool twice = false; /* one column may have two roles */
    for (size_t k = 0; t->columns[i] && k < count; k++) twice |= strcmp(names[k], t->columns[i]) == 0;
    if (t->columns[i] && !twice) names[count++] = t->columns[i];
  }
  FW_TRY(fw_table_file_open(&t->table, t->files.files[t->file].path, err));
  FW_TRY(fw_columns_batches_open(&t->reader, t->table.columns, names, count, err));
  for (size_t i = 0; i < ROLES; i++)
    t->leaves[i] = t->columns[i] ? fw_columns_batches_leaf(t->reader, t->columns[i]) : NULL;
  t->before = 0;
  t->at = 0;
  return check_types(t, err);
}

static bool find_column(const fw_arrow_leaf *leaf, const struct ArrowArray *batch, fw_arrow_column *in) {
  if (!fw_arrow_column_find(leaf, batch, in)) return false;
  if (leaf->dictionary)
    return in->array->dictionary && fw_arrow_fits(&leaf->keys, in->array) &&
           fw_arrow_fits(&leaf->type, in->array->dictionary);
  if (!fw_arrow_fits(&leaf->type, in->array)) return false;
  return leaf->type.type.kind != FW_TYPED_LIST || fw_arrow_fits(&leaf->element, in->array->children[0]);
}

/* A pass over a query must see the rows of the other passes: a query without ORDER BY may return another order. */
static furrow_status check_pass(table_vectors *t, furrow_error *err) {
  if (!t->digest) return FURROW_OK;
  const uint64_t digest = XXH3_64bits_digest(t->digest);
  const bool same = !t->known || t->seen == digest;
  t->known = true;
  t->seen = digest;
  if (same) return FURROW_OK;
  fail_table(t, FURROW_E_STATE, "the query returned other rows, or another order, when it ran again", err);
  fw_error_set_hint(err, "give it an ORDER BY that decides between all rows, or write its result to a Parquet file");
  return FURROW_E_STATE;
}

/* Finds the next batch that has rows; *ended: there is none. */
static furrow_status next_batch(table_vectors *t, bool *ended, furrow_error *err) {
  *ended = false;
  for (;;) {
    if (!t->reader) FW_TRY(in_file(t, open_columns(t, err), err));
    if (t->batch) t->before += (uint64_t)t->batch->length;
    t->batch = NULL;
    t->at = 0;
    const struct ArrowArray *batch = NULL;
    const furrow_status status = in_file(t, fw_columns_batches_next(t->reader, &batch, err), err);
    if (status == FURROW_END && t->file + 1 == t->files.nfiles) {
      *ended = true;
      return FURROW_OK;
    }
    if (status == FURROW_END) {
      close_table(t);
      t->file++;
      continue;
    }
    FW_TRY(status);
    if (batch->length < 0 || batch->offset < 0) return in_file(t, fw_arrow_misfit(err), err);
    for (size_t i = 0; i < ROLES; i++)
      if (t->leaves[i] && !find_column(t->leaves[i], batch, &t->in[i])) return in_file(t, fw_arrow_misfit(err), err);
    t->batch = batch;
    if (batch->length > 0) return FURROW_OK;
  }
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

/* A value of the present row: array and place, of a dictionary within its values. */
static furrow_status find_value(const table_vectors *t, column_role role, const struct ArrowArray **array, int64_t *i,
                                furrow_error *err) {
  const fw_arrow_leaf *leaf = t->leaves[role];
  const fw_arrow_column *in = &t->in[role];
  *array = in->array;
  *i = in->offset + t->at;
  bool null = (in->around_count > 0 && fw_arrow_row_is_null(in, t->at)) ||
              fw_arrow_is_null(leaf->dictionary ? &leaf->keys : &leaf->type, *array, *i);
  if (!null && leaf->dictionary) {
    const int64_t key = fw_arrow_int(&leaf->keys, (*array)->buffers[1], *i);
    *array = in->array->dictionary;
    if (key < 0 || key >= (*array)->length) return in_file(t, fw_arrow_misfit(err), err);
    *i = key + (*array)->offset;
    null = fw_arrow_is_null(&leaf->type, *array, *i);
  }
  return null ? fail_row(t, role, FURROW_E_FORMAT, "the value is null", err) : FURROW_OK;
}

static fw_array_type element_type(const fw_arrow_type *type) {
  static const fw_array_type reals[] = {FW_ARRAY_F16, FW_ARRAY_F32, FW_ARRAY_F64};
  static const fw_array_type signed_ones[] = {FW_ARRAY_I8, FW_ARRAY_I16, FW_ARRAY_I32, FW_ARRAY_I64};
  static const fw_array_type others[] = {FW_ARRAY_U8, FW_ARRAY_U16, FW_ARRAY_U32, FW_ARRAY_U64};
  const int log = type->width == 8 ? 3 : type->width == 4 ? 2 : type->width == 2;
  if (type->storage == FW_ARROW_FLOATS) return reals[log - 1];
  return type->is_signed ? signed_ones[log] : others[log];
}

static furrow_status fail_element(const table_vectors *t, size_t element, const char *text, size_t size,
                                  furrow_error *err) {
  char message[64];
  snprintf(message, sizeof message, "element %zu does not fit a 32-bit float", element);
  fail_row(t, VECTOR, FURROW_E_RANGE, message, err);
  fw_error_set_token(err, text, size);
  return FURROW_E_RANGE;
}

static furrow_status read_decimals(const table_vectors *t, const struct ArrowArray *child, int64_t begin, float *out,
                                   furrow_error *err) {
  const fw_arrow_type *of = &t->leaves[VECTOR]->element;
  for (size_t k = 0; k < t->head.d; k++) {
    char value[16], text[FW_TYPED_TEXT_BYTES];
    fw_arrow_value(of, child, begin + (int64_t)k, value);
    const size_t size = fw_typed_text(of->type, value, text);
    if (fw_read_f32(text, text + size, &out[k]) != text + size) return fail_element(t, k, text, size, err);
  }
  return FURROW_OK;
}

/* The elements of the present row: those from *begin on of *child. */
static furrow_status find_elements(const table_vectors *t, const struct ArrowArray **child, int64_t *begin,
                                   int64_t *count, furrow_error *err) {
  const fw_arrow_type *type = &t->leaves[VECTOR]->type;
  const struct ArrowArray *array;
  int64_t i;
  FW_TRY(find_value(t, VECTOR, &array, &i, err));
  const bool fixed = type->storage == FW_ARROW_FIXED;
  *child = array->children[0];
  *begin = fixed ? i * (int64_t)type->width : fw_arrow_offset(type, array, i);
  *count = fixed ? (int64_t)type->width : fw_arrow_offset(type, array, i + 1) - *begin;
  if (*begin < 0 || *count < 0 || *begin > (*child)->length || *count > (*child)->length - *begin)
    return in_file(t, fw_arrow_misfit(err), err);
  *begin += (*child)->offset;
  return FURROW_OK;
}

static furrow_status read_vector(const table_vectors *t, float *out, furrow_error *err) {
  const fw_arrow_type *of = &t->leaves[VECTOR]->element;
  const struct ArrowArray *child;
  int64_t begin, count;
  char message[80];
  FW_TRY(find_elements(t, &child, &begin, &count, err));
  if ((size_t)count != t->head.d) {
    snprintf(message, sizeof message, "has %lld %s, not %zu", (long long)count,
             fw_plural((uint64_t)count, "element", "elements"), t->head.d);
    return fail_row(t, VECTOR, FURROW_E_FORMAT, message, err);
  }
  for (int64_t k = 0; child->null_count != 0 && k < count; k++) {
    if (!fw_arrow_is_null(of, child, begin + k)) continue;
    snprintf(message, sizeof message, "element %lld is null", (long long)k);
    return fail_row(t, VECTOR, FURROW_E_FORMAT, message, err);
  }
  if (of->type.kind == FW_TYPED_DECIMAL) return read_decimals(t, child, begin, out, err);
  const char *values = (const char *)child->buffers[1] + (size_t)begin * of->width;
  const fw_array_type type = element_type(of);
  if (type == FW_ARRAY_F32) {
    memcpy(out, values, t->head.d * sizeof *out);
    return FURROW_OK;
  }
  const size_t done = fw_array_convert(FW_ARRAY_F32, out, type, values, t->head.d);
  if (done == t->head.d) return FURROW_OK;
  char text[32];
  fw_array_element_text(text, type, values, done);
  return fail_element(t, done, text, strlen(text), err);
}

static furrow_status read_id(const table_vectors *t, int64_t *id, furrow_error *err) {
  const fw_arrow_type *type = &t->leaves[ID]->type;
  const struct ArrowArray *array;
  int64_t i;
  __int128 wide = 0;
  char value[16] = {0};
  FW_TRY(find_value(t, ID, &array, &i, err));
  fw_arrow_value(type, array, i, value);
  memcpy(id, value, sizeof *id);
  memcpy(&wide, value, sizeof wide);
  if (type->type.kind == FW_TYPED_DECIMAL ? wide == *id : type->type.kind == FW_TYPED_I64 || *id >= 0) return FURROW_OK;
  char text[FW_TYPED_TEXT_BYTES];
  const size_t size = fw_typed_text(type->type, value, text);
  fail_row(t, ID, FURROW_E_RANGE, "does not fit a 64-bit integer", err);
  fw_error_set_token(err, text, size);
  return FURROW_E_RANGE;
}

/* Reads the name of the present row: into the names that are collected, and into the digest. */
static furrow_status read_name(table_vectors *t, furrow_error *err) {
  const fw_arrow_type *type = &t->leaves[NAME]->type;
  const struct ArrowArray *array;
  int64_t i;
  char value[16] = {0}, written[FW_TYPED_TEXT_BYTES];
  fw_arrow_text text = {written, 0};
  if (!t->names && !t->digest) return FURROW_OK;
  FW_TRY(find_value(t, NAME, &array, &i, err));
  if (!is_text(type)) {
    fw_arrow_value(type, array, i, value);
    text.size = fw_typed_text(type->type, value, written);
  } else if (!fw_arrow_load_text(type, array, i, &text)) {
    return in_file(t, fw_arrow_misfit(err), err);
  }
  if (t->digest) {
    (void)!XXH3_64bits_update(t->digest, &text.size, sizeof text.size);
    if (text.size > 0) (void)!XXH3_64bits_update(t->digest, text.bytes, text.size);
  }
  if (!t->names) return FURROW_OK;
  const char *fault = fw_name_fault(text.bytes, text.size);
  if (fault) {
    fail_row(t, NAME, FURROW_E_PARSE, fault, err);
    fw_error_set_token(err, text.bytes, text.size);
    return FURROW_E_PARSE;
  }
  fw_buffer_append(t->names, text.bytes, text.size);
  fw_buffer_byte(t->names, '\n');
  return fw_buffer_status(t->names, err);
}

static furrow_status read_row(table_vectors *t, float *out, int64_t *id, furrow_error *err) {
  FW_TRY(read_vector(t, out, err));
  *id = (int64_t)t->next;
  if (t->columns[ID]) FW_TRY(read_id(t, id, err));
  if (t->columns[NAME]) FW_TRY(read_name(t, err));
  if (t->digest) {
    (void)!XXH3_64bits_update(t->digest, out, t->head.d * sizeof *out);
    (void)!XXH3_64bits_update(t->digest, id, sizeof *id);
  }
  t->at++;
  t->next++;
  return FURROW_OK;
}

static furrow_status read_rows(table_vectors *t, size_t rows, float *out, int64_t *ids, size_t *got,
                               furrow_error *err) {
  for (size_t n = 0; n < rows; *got = ++n) {
    int64_t id;
    bool ended = false;
    if (!t->batch || t->at == t->batch->length) FW_TRY(next_batch(t, &ended, err));
    if (ended) return check_pass(t, err);
    FW_TRY(read_row(t, out + n * t->head.d, &id, err));
    if (ids) ids[n] = id;
  }
  return FURROW_OK;
}

static furrow_status next_of_table(furrow_vectors_reader *v, size_t rows, float *out, int64_t *ids, size_t *got,
                                   furrow_error *err) {
  table_vectors *t = (table_vectors *)v;
  size_t n = 0;
  if (t->lost) return fw_fail(err, FURROW_E_STATE, "an earlier read failed");
  const furrow_status status = read_rows(t, rows, out, ids, &n, err);
  t->lost = status != FURROW_OK;
  if (status == FURROW_OK) *got = n;
  return status;
}

static void begin_pass(table_vectors *t) {
  close_table(t);
  t->file = 0;
  t->next = 0;
  t->lost = false;
  if (t->digest) XXH3_64bits_reset(t->digest);
}

static furrow_status rewind_table(furrow_vectors_reader *v, furrow_error *err) {
  table_vectors *t = (table_vectors *)v;
  (void)err;
  if (t->next > 0 || t->lost) begin_pass(t);
  return FURROW_OK;
}

static furrow_status names_of_table(furrow_vectors_reader *v, furrow_name_list *list, furrow_error *err) {
  table_vectors *t = (table_vectors *)v;
  fw_buffer names = {0};
  float *out = NULL;
  char *bytes = NULL;
  size_t size = 0, got = 1;
  begin_pass(t);
  t->names = &names;
  furrow_status status = FW_ALLOC(&out, v->d, err);
  while (status == FURROW_OK && got > 0) status = next_of_table(v, 1, out, NULL, &got, err);
  t->names = NULL;
  t->lost = true; /* the next pass begins at the first row */
  fw_free(out);
  if (status == FURROW_OK) status = fw_buffer_take(&names, &bytes, &size, err);
  if (status == FURROW_OK) status = fw_name_list_parse(list, bytes, size, v->path, 1, err);
  if (status != FURROW_OK) fw_free(bytes);
  fw_buffer_clear(&names);
  return status;
}

static void close_reader(furrow_vectors_reader *v) {
  table_vectors *t = (table_vectors *)v;
  close_table(t);
  for (size_t i = 0; i < ROLES; i++) fw_free(t->columns[i]);
  fw_fileset_clear(&t->files);
  XXH3_freeState(t->digest);
  fw_free(v->path);
  fw_free(t);
}

static const fw_vectors_methods table_methods = {
    .next = next_of_table, .rewind = rewind_table, .close = close_reader, .names = names_of_table};

/* ---- Opening -------------------------------------------------------------------------------------------- */

/* Opens the files, finds the columns and the number of rows. */
static furrow_status open_files(table_vectors *t, furrow_error *err) {
  fw_arrow_leaves all = {0};
  furrow_status status = fw_fileset_open(&t->files, (char *[]){t->head.path}, 1, err);
  t->head.count = 0;
  for (t->file = 0; status == FURROW_OK && t->file < t->files.nfiles; t->file++) {
    const fw_file *file = &t->files.files[t->file];
    uint64_t rows = 0;
    if (file->kind != FW_FILE_COLUMNS) return fail_table(t, FURROW_E_FORMAT, "is not a Parquet file", err);
    status = fw_table_file_open(&t->table, file->path, err);
    if (status == FURROW_OK && t->file == 0) status = fw_columns_find_leaves(t->table.columns, &all, err);
    if (status == FURROW_OK && t->file == 0) status = choose_columns(t, &all, err);
    if (status == FURROW_OK) status = fw_columns_count(t->table.columns, &rows, err);
    in_file(t, status, err);
    fw_table_file_close(&t->table);
    fw_arrow_leaves_clear(&all);
    t->head.count += rows;
    t->head.once |= file->once;
  }
  t->file = 0;
  return status;
}

/* Finds the dimension: that of the type, or of the first row. */
static furrow_status find_dimension(table_vectors *t, size_t d, furrow_error *err) {
  const struct ArrowArray *child;
  int64_t begin, count;
  bool ended = false;
  t->head.d = d;
  FW_TRY(next_batch(t, &ended, err));
  if (ended) {
    if (t->leaves[VECTOR]->type.storage == FW_ARROW_FIXED && d == 0) t->head.d = t->leaves[VECTOR]->type.width;
    return FURROW_OK;
  }
  FW_TRY(find_elements(t, &child, &begin, &count, err));
  if (count == 0) return fail_row(t, VECTOR, FURROW_E_FORMAT, "has no elements", err);
  if (d > 0 && (size_t)count != d) {
    fw_fail(err, FURROW_E_FORMAT, "has vectors of %lld %s, not of %zu", (long long)count,
            fw_plural((uint64_t)count, "element", "elements"), d);
    fw_error_set_file(err, t->files.files[t->file].path);
    return FURROW_E_FORMAT;
  }
  t->head.d = (size_t)count;
  return FURROW_OK;
}

static furrow_status open_table(table_vectors *t, const char *path, const furrow_vectors_reader_params *params,
                                furrow_error *err) {
  const char *const given[ROLES] = {params->column, params->ids, params->names};
  FW_TRY(fw_strndup(&t->head.path, path, strlen(path), err));
  for (size_t i = 0; i < ROLES; i++)
    if (given[i]) FW_TRY(fw_strndup(&t->columns[i], given[i], strlen(given[i]), err));
  FW_TRY(open_files(t, err));
  t->head.have_ids = t->columns[ID] != NULL;
  t->head.have_names = t->columns[NAME] != NULL;
  if (t->head.once) {
    t->digest = XXH3_createState();
    if (!t->digest) return fw_fail_memory(err, SIZE_MAX);
    XXH3_64bits_reset(t->digest);
  }
  return find_dimension(t, params->d, err);
}

furrow_status fw_table_vectors_open(furrow_vectors_reader **vectors, const char *path,
                                    const furrow_vectors_reader_params *params, furrow_error *err) {
  table_vectors *t = NULL;
  FW_TRY(FW_ALLOC_ZERO(&t, 1, err));
  t->head.methods = &table_methods;
  const furrow_status status = open_table(t, path, params, err);
  if (status != FURROW_OK) {
    close_reader(&t->head);
    return status;
  }
  *vectors = &t->head;
  return FURROW_OK;
}

furrow_status fw_vectors_are_table(const char *path, const char *kind, bool *table, furrow_error *err) {
  *table = kind ? strcmp(kind, "parquet") == 0 : fw_data_path_ends(path, "parquet");
  return *table || kind ? FURROW_OK : fw_table_is_in_memory(path, table, err);
}
