/* rows/encode/encoder_build.c: builds a dictionary from a log and its tables, or lets one grow.
 *
 * The tables and the log are read once to count texts and measure numbers. Then the features of all fields are
 * numbered, the rows of the tables are encoded, and, if there is a history, the log is read once more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/fileset.h"
#include "rows/block/elements.h"
#include "rows/encode/history.h"
#include "rows/encode/learn_fields.h"

typedef struct build {
  const char *uri; /* uri of the log */
  const furrow_schema *schema;
  furrow_encoder_params params;
  const fw_dictionary *before; /* the dictionary that grows; NULL: there is none */
  const furrow_comm *comm;
  fw_table_source *log; /* NULL: a pipe, which is read only when rows are encoded */
  fw_table_source **tables;
  size_t *column_table;   /* table of each column; SIZE_MAX: the log */
  furrow_encoder encoder; /* as far as it is known */
  fw_learned *learned;    /* statistics of each field */
  fw_field_image *fields;
  fw_joined_image *joined;
  fw_history_image history;
  fw_name_limit limit;
  uint64_t tables_kept; /* tables that are gone */
} build;

static fw_table_scan_params scan_params(const build *b, bool one_thread) {
  return (fw_table_scan_params){.threads = one_thread ? 1 : b->params.threads,
                                .on_bad = b->params.on_bad,
                                .progress = b->params.progress,
                                .progress_user = b->params.progress_user};
}

/* ---- The table of each column --------------------------------------------------------------------------- */

/* Opens a table of the schema, by its name or in the caller's folder. */
static furrow_status open_table(const build *b, size_t i, furrow_error *err) {
  const char *uri = b->schema->tables[i].uri;
  fw_uri parsed = {0};
  furrow_status status = fw_uri_parse(&parsed, uri, err);
  const bool here = status == FURROW_OK && fw_path_exists(parsed.paths[0]);
  fw_uri_clear(&parsed);
  FW_TRY(status);
  if (here || !b->params.folder || uri[0] == '/') return fw_table_source_open(&b->tables[i], uri, err);
  fw_buffer path = {0};
  fw_buffer_format(&path, "%s/%s", b->params.folder, uri);
  fw_buffer_byte(&path, 0);
  status = fw_buffer_status(&path, err);
  if (status == FURROW_OK) status = fw_table_source_open(&b->tables[i], path.bytes, err);
  fw_buffer_clear(&path);
  return status;
}

/* A pipe can be read only once, which is left to the encoding. */
static furrow_status open_log(build *b, furrow_error *err) {
  fw_uri uri = {0};
  fw_fileset set = {0};
  bool pipe = false;
  furrow_status status = fw_uri_parse(&uri, b->uri, err);
  if (status == FURROW_OK) status = fw_fileset_open(&set, uri.paths, uri.npaths, err);
  for (size_t i = 0; i < set.nfiles && status == FURROW_OK; i++) pipe |= set.files[i].kind == FW_FILE_PIPE;
  fw_fileset_clear(&set);
  fw_uri_clear(&uri);
  if (status != FURROW_OK || pipe) return status;
  return fw_table_source_open(&b->log, b->uri, err);
}

static bool has_column(const fw_table_source *source, const char *name) {
  return fw_table_layout_column(fw_table_source_layout(source), name) != SIZE_MAX;
}

/* Whether a column must belong to the log. */
static bool is_of_log(const furrow_schema *schema, const fw_column *column) {
  for (size_t i = 0; i < schema->table_count; i++)
    if (strcmp(schema->tables[i].key, column->name) == 0) return true;
  return column->kind == FW_AS_LABEL || column->kind == FW_AS_WEIGHT || column->kind == FW_AS_GROUP ||
         column->role != FW_ROLE_NONE;
}

static size_t table_of(const build *b, const fw_column *column) {
  if (b->log ? has_column(b->log, column->name) : is_of_log(b->schema, column)) return SIZE_MAX;
  for (size_t i = 0; i < b->schema->table_count; i++)
    if (has_column(b->tables[i], column->name)) return i;
  if (!b->log) return SIZE_MAX;
  return fw_table_is_complete(fw_table_source_layout(b->log)) ? b->schema->table_count : SIZE_MAX;
}

static furrow_status fail_absent(const build *b, const char *absent, furrow_error *err) {
  const fw_table_layout *layout = b->log ? fw_table_source_layout(b->log) : NULL;
  fw_buffer names = {0};
  for (size_t i = 0; layout && i < layout->columns && names.size < 200; i++)
    fw_buffer_format(&names, "%s%s", i ? ", " : "", layout->names[i]);
  fw_buffer_byte(&names, 0);
  fw_fail(err, FURROW_E_FORMAT, "the schema has columns that the data does not have: %s", absent);
  fw_error_set_file(err, b->uri);
  if (layout && fw_buffer_status(&names, NULL) == FURROW_OK)
    fw_error_set_hint(err, "the log has the columns %.200s", names.bytes);
  fw_buffer_clear(&names);
  return FURROW_E_FORMAT;
}

static furrow_status find_columns(build *b, furrow_error *err) {
  const size_t tables = b->schema->table_count;
  fw_buffer absent = {0};
  for (size_t i = 0; i < b->schema->count; i++) {
    const fw_column *column = &b->schema->columns[i];
    size_t *table = &b->column_table[i];
    *table = SIZE_MAX;
    if (column->kind == FW_AS_IGNORE) continue;
    *table = table_of(b, column);
    if (*table == tables || (is_of_log(b->schema, column) && *table != SIZE_MAX))
      fw_buffer_format(&absent, "%s%s", absent.size ? ", " : "", column->name);
  }
  for (size_t i = 0; i < tables; i++) {
    if (!has_column(b->tables[i], b->schema->tables[i].column))
      fw_buffer_format(&absent, "%s%s (the key of %s)", absent.size ? ", " : "", b->schema->tables[i].column,
                       b->schema->tables[i].uri);
  }
  const bool complete = absent.size == 0;
  fw_buffer_byte(&absent, 0);
  furrow_status status = fw_buffer_status(&absent, err);
  if (status == FURROW_OK && !complete) status = fail_absent(b, absent.bytes, err);
  fw_buffer_clear(&absent);
  return status;
}

/* The columns of a dictionary that grows stay where they are, even if a table is gone. */
static furrow_status keep_columns(build *b, furrow_error *err) {
  const furrow_schema *schema = b->schema;
  fw_buffer absent = {0};
  for (size_t i = 0; i < schema->count; i++) b->column_table[i] = SIZE_MAX;
  for (size_t i = 0; i < b->before->count; i++)
    if (b->before->fields[i].column)
      b->column_table[b->before->fields[i].column - schema->columns] = b->before->fields[i].table;
  for (size_t i = 0; i < schema->count; i++) {
    const fw_column *column = &schema->columns[i];
    const size_t table = b->column_table[i];
    const fw_table_source *source = table == SIZE_MAX ? b->log : b->tables[table];
    if (column->kind == FW_AS_IGNORE || !source || !fw_table_is_complete(fw_table_source_layout(source))) continue;
    if (!has_column(source, column->name)) fw_buffer_format(&absent, "%s%s", absent.size ? ", " : "", column->name);
  }
  const bool complete = absent.size == 0;
  fw_buffer_byte(&absent, 0);
  furrow_status status = fw_buffer_status(&absent, err);
  if (status == FURROW_OK && !complete) status = fail_absent(b, absent.bytes, err);
  fw_buffer_clear(&absent);
  return status;
}

/* Rows of a table that is gone are taken from the dictionary that grows. */
static furrow_status open_or_keep_table(build *b, size_t i, furrow_error *err) {
  const furrow_status status = open_table(b, i, err);
  if (status != FURROW_E_NOT_FOUND || !b->before) return status;
  b->tables_kept++;
  return FURROW_OK;
}

static furrow_status make_lists(build *b, furrow_error *err) {
  const furrow_schema *schema = b->schema;
  FW_TRY(FW_ALLOC_ZERO(&b->tables, schema->table_count, err));
  FW_TRY(FW_ALLOC_ZERO(&b->joined, schema->table_count, err));
  return FW_ALLOC(&b->column_table, schema->count, err);
}

static furrow_status plan_build(build *b, furrow_error *err) {
  fw_dictionary *d = &b->encoder.dictionary;
  FW_TRY(fw_schema_check(b->schema, err));
  FW_TRY(make_lists(b, err));
  FW_TRY(open_log(b, err));
  for (size_t i = 0; i < b->schema->table_count; i++) FW_TRY(open_or_keep_table(b, i, err));
  FW_TRY(b->before ? keep_columns(b, err) : find_columns(b, err));
  FW_TRY(fw_dictionary_plan(d, b->schema, b->column_table, err));
  for (size_t i = 0; b->before && i < d->count; i++) d->fields[i].sparse = b->before->fields[i].sparse;
  if (b->before) d->records = b->before->records;
  FW_TRY(FW_ALLOC_ZERO(&b->learned, d->count, err));
  FW_TRY(FW_ALLOC_ZERO(&b->fields, d->count, err));
  return fw_encode_view_log(&b->encoder.log, b->schema, d, false, err);
}

/* ---- Texts and numbers ---------------------------------------------------------------------------------- */

static furrow_status learn_log(build *b, furrow_error *err) {
  const fw_dictionary *d = &b->encoder.dictionary;
  fw_table_scan_params params = scan_params(b, false);
  furrow_parser_stats stats = {.size = sizeof stats};
  params.part = b->comm->rank;
  params.nparts = b->comm->ranks;
  params.whole_pieces = true;
  /* Finding the sparse columns is worth a pass over the data only for formats in which a missing cell takes no byte. */
  const bool lines = b->log && !fw_table_is_complete(fw_table_source_layout(b->log));
  bool learns = d->history_field != SIZE_MAX;
  for (size_t i = 0; i < d->count; i++)
    learns |= d->fields[i].table == SIZE_MAX &&
              (fw_field_learns(&d->fields[i]) || (lines && fw_field_has_missing(&d->fields[i])));
  if (!learns) return FURROW_OK;
  if (!b->log) {
    fw_fail(err, FURROW_E_ARGUMENT, "standard input is read once, but a dictionary needs the log twice");
    fw_error_set_hint(err, "save the log to a file, or hash all categories (\"hash\": 18)");
    return FURROW_E_ARGUMENT;
  }
  furrow_status status =
      fw_learn_fields(b->log, &b->encoder, &b->encoder.log, &params, b->comm, b->learned, &stats, err);
  b->encoder.dictionary.records = stats.rows + (b->before ? b->before->records : 0);
  if (status == FURROW_OK && stats.rows == 0)
    status = fw_fail(err, FURROW_E_FORMAT, "the log has no records%s", stats.bad_rows > 0 ? " that can be read" : "");
  if (status == FURROW_E_FORMAT && err && !err->file[0]) fw_error_set_file(err, b->uri);
  return status;
}

static furrow_status learn_table(build *b, size_t table, furrow_error *err) {
  if (!b->tables[table]) return FURROW_OK;
  if (!fw_table_source_repeats(b->tables[table]))
    return fw_fail(err, FURROW_E_ARGUMENT, "table %s: it is read twice, which a pipe cannot be",
                   b->schema->tables[table].uri);
  const fw_dictionary *d = &b->encoder.dictionary;
  const fw_table_scan_params params = scan_params(b, false);
  furrow_parser_stats stats = {.size = sizeof stats};
  fw_encode_view view = {0};
  furrow_status status = fw_encode_view_joined(&view, b->schema, d, table, err);
  if (status == FURROW_OK)
    status = fw_learn_fields(b->tables[table], &b->encoder, &view, &params, fw_comm_self(), b->learned, &stats, err);
  if (status == FURROW_E_FORMAT && err && !err->file[0]) fw_error_set_file(err, b->schema->tables[table].uri);
  fw_encode_view_clear(&view);
  return status;
}

/* ---- Users and items of tables -------------------------------------------------------------------------------------
 */

typedef struct name_adder {
  const fw_field *field;
  fw_text_counter *texts;
  uint64_t matched; /* rows whose name the log has */
} name_adder;

static furrow_status add_names(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                               furrow_error *err) {
  name_adder *to = user;
  (void)piece, (void)cursor;
  for (size_t i = 0; i < batch->records; i++) {
    const fw_table_cell *cell = &fw_table_cells(batch, 0)[i];
    if (cell->kind != FW_TABLE_TEXT) continue;
    const uint64_t hash = fw_string_table_hash(cell->text, cell->length);
    const size_t before = to->texts->count;
    FW_TRY(fw_text_counter_add(to->texts, hash, cell->text, cell->length, 0, err));
    if (to->texts->count == before)
      to->matched++;
    else /* as often as a name must occur to be kept */
      FW_TRY(fw_text_counter_add(to->texts, hash, cell->text, cell->length, to->field->column->min_count, err));
  }
  return FURROW_OK;
}

static furrow_status fail_keys(const fw_side_table *table, furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "table %s: its column %s has none of the values that the log has in %s",
                 table->uri, table->column, table->key);
}

/* Adds the names of one table; *without gets the number of the log's names that it does not have. */
static furrow_status add_table_names(build *b, size_t t, const fw_field *field, fw_text_counter *texts,
                                     uint64_t *without, furrow_error *err) {
  const fw_side_table *side = &b->schema->tables[t];
  const char *names[1] = {side->column};
  const uint64_t of_log = texts->count;
  name_adder adder = {.field = field, .texts = texts};
  void *const users[] = {&adder};
  const fw_table_scan_params params = scan_params(b, true);
  furrow_parser_stats stats = {.size = sizeof stats};
  fw_table *table = NULL;
  FW_TRY(fw_table_create(&table, fw_table_source_layout(b->tables[t]), names, 1, NULL, err));
  furrow_status status = fw_table_scan(b->tables[t], table, &params, users, add_names, &stats, err);
  fw_table_free(table);
  if (status == FURROW_OK && adder.matched == 0) status = fail_keys(side, err);
  if (status == FURROW_OK && without && of_log > adder.matched) *without = of_log - adder.matched;
  return status;
}

/* Adds the names of a field that only the table which is joined by it has. */
static furrow_status learn_table_names(build *b, size_t field, uint64_t *without, furrow_error *err) {
  const fw_dictionary *d = &b->encoder.dictionary;
  if (field == SIZE_MAX || !fw_field_has_texts(&d->fields[field])) return FURROW_OK;
  for (size_t t = 0; t < b->schema->table_count; t++)
    if (b->tables[t] && strcmp(b->schema->tables[t].key, d->fields[field].column->name) == 0)
      return add_table_names(b, t, &d->fields[field], &b->learned[field].texts, without, err);
  return FURROW_OK;
}

static furrow_status learn_side_names(build *b, furrow_error *err) {
  const fw_dictionary *d = &b->encoder.dictionary;
  if (!b->params.table_items) return FURROW_OK;
  FW_TRY(learn_table_names(b, d->item_field, b->params.items_without_row, err));
  return learn_table_names(b, d->user_field, b->params.users_without_row, err);
}

/* ---- Features ------------------------------------------------------------------------------------------- */

static const fw_field *field_before(const build *b, size_t i) {
  return b->before ? &b->before->fields[i] : NULL;
}

static furrow_status finish_fields(build *b, bool names, furrow_error *err) {
  fw_dictionary *d = &b->encoder.dictionary;
  for (size_t i = 0; i < d->count; i++) {
    fw_field *field = &d->fields[i];
    if (fw_field_has_texts(field) != names) continue;
    FW_TRY(fw_learned_finish(field, field_before(b, i), &b->learned[i], b->params.max_features ? &b->limit : NULL,
                             &b->fields[i], err));
    fw_learned_clear(&b->learned[i]);
    memset(&b->learned[i], 0, sizeof b->learned[i]);
  }
  return FURROW_OK;
}

/* Features that a name of the field needs: names of items are also those of the history. */
static uint64_t features_of_name(const fw_dictionary *d, size_t field) {
  return d->history_field != SIZE_MAX && field == d->item_field ? 2 : 1;
}

/* The features that there are without new names. */
static uint64_t other_features(const build *b) {
  const fw_dictionary *d = &b->encoder.dictionary;
  uint64_t count = 0;
  if (b->before) return b->before->features;
  for (size_t i = 0; i < d->count; i++)
    count += fw_field_has_texts(&d->fields[i]) ? FW_LOCAL_FIRST * features_of_name(d, i) : d->fields[i].size;
  return count;
}

typedef struct name_count {
  uint64_t count, features;
} name_count;

static int more_frequent(const void *a, const void *b) {
  const uint64_t x = ((const name_count *)a)->count, y = ((const name_count *)b)->count;
  return (x < y) - (x > y);
}

/* The counts of all names that the fields could get. */
static furrow_status list_new_names(const build *b, name_count **list, size_t *count, furrow_error *err) {
  const fw_dictionary *d = &b->encoder.dictionary;
  size_t capacity = 0;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < d->count && status == FURROW_OK; i++) {
    fw_buffer counts = {0};
    if (!fw_field_has_texts(&d->fields[i])) continue;
    status = fw_learned_new_counts(&d->fields[i], field_before(b, i), &b->learned[i], &counts, err);
    const size_t n = counts.size / sizeof(uint64_t);
    if (status == FURROW_OK) status = FW_GROW(list, &capacity, *count + n, err);
    for (size_t k = 0; k < n && status == FURROW_OK; k++) {
      name_count *name = &(*list)[(*count)++];
      memcpy(&name->count, counts.bytes + k * sizeof(uint64_t), sizeof(uint64_t));
      name->features = features_of_name(d, i);
    }
    fw_buffer_clear(&counts);
  }
  return status;
}

/* Chooses the most frequent names, as many as max_features lets in. */
static furrow_status limit_names(build *b, furrow_error *err) {
  const uint64_t most = b->params.max_features, others = other_features(b);
  uint64_t left = most > others ? most - others : 0;
  name_count *list = NULL;
  size_t count = 0, taken = 0;
  if (most == 0) return FURROW_OK;
  furrow_status status = list_new_names(b, &list, &count, err);
  if (count > 1) qsort(list, count, sizeof *list, more_frequent);
  for (; status == FURROW_OK && taken < count && list[taken].features <= left; taken++) left -= list[taken].features;
  b->limit = (fw_name_limit){0};
  if (status == FURROW_OK && taken < count) {
    b->limit.count = list[taken].count;
    for (size_t i = 0; i < taken; i++) b->limit.ties += list[i].count == b->limit.count;
  }
  fw_free(list);
  return status;
}

/* Gives the names that a field got the indices after those of all features. */
static furrow_status number_added(build *b, size_t i, furrow_error *err) {
  fw_dictionary *d = &b->encoder.dictionary;
  const fw_field *before = &b->before->fields[i];
  fw_field *field = &d->fields[i];
  fw_buffer *image = &b->fields[i].added;
  field->first = before->first;
  field->added = before->added + (field->size - before->size);
  if (field->added == 0) return FURROW_OK;
  if (before->added > 0) fw_buffer_append(image, before->added_index, 8 * before->added);
  for (uint64_t k = before->size; k < field->size; k++) fw_put_u64(image, d->features++);
  field->added_index = (const unsigned char *)image->bytes;
  return fw_buffer_status(image, err);
}

/* Numbers the features of all fields. */
static furrow_status number_features(build *b, furrow_error *err) {
  fw_dictionary *d = &b->encoder.dictionary;
  FW_TRY(finish_fields(b, false, err));
  FW_TRY(limit_names(b, err));
  FW_TRY(finish_fields(b, true, err));
  if (b->params.names_left_out) *b->params.names_left_out = b->limit.left_out;
  if (b->before) d->features = b->before->features;
  for (size_t i = 0; i < d->count; i++) {
    fw_field *field = &d->fields[i];
    if (field->kind == FW_FIELD_HISTORY) field->size = d->fields[d->item_field].size;
    if (b->before) {
      FW_TRY(number_added(b, i, err));
      continue;
    }
    field->first = d->features;
    d->features += field->size;
  }
  return FURROW_OK;
}

/* ---- Joined tables -------------------------------------------------------------------------------------- */

typedef struct joiner {
  build *b;
  const fw_encode_view *view;
  const fw_table *table;
  fw_encode_scratch scratch;
  fw_encode_out out;
  fw_buffer keys, offsets; /* texts of the keys, and their offsets */
} joiner;

static furrow_status join_batch(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  joiner *j = user;
  (void)piece;
  FW_TRY(fw_encode_batch(&j->b->encoder, j->view, j->table, cursor, batch, &j->scratch, &j->out, err));
  for (size_t i = 0; i < batch->records; i++) {
    const fw_table_cell *key = &fw_table_cells(batch, j->view->key)[i];
    if (j->scratch.bad[i]) continue;
    fw_buffer_append(&j->offsets, &(uint64_t){j->keys.size}, sizeof(uint64_t));
    fw_buffer_append(&j->keys, key->text, key->length);
  }
  FW_TRY(fw_buffer_status(&j->offsets, err));
  return fw_buffer_status(&j->keys, err);
}

static furrow_status fail_twins(const joiner *j, const fw_side_table *table, const size_t *twins, furrow_error *err) {
  const uint64_t *offsets = (const uint64_t *)j->offsets.bytes;
  fw_fail(err, FURROW_E_FORMAT, "table %s: rows %zu and %zu have the same key", table->uri, twins[0] + 1, twins[1] + 1);
  fw_error_set_token(err, j->keys.bytes + offsets[twins[0]], (size_t)(offsets[twins[0] + 1] - offsets[twins[0]]));
  return FURROW_E_FORMAT;
}

static furrow_status keep_row(const fw_joined *before, size_t i, furrow_container *rows, furrow_error *err) {
  const uint64_t from = fw_get_le64(before->offsets + 8 * i), to = fw_get_le64(before->offsets + 8 * i + 8);
  FW_TRY(
      fw_container_reserve(rows, rows->rows + 1, rows->features + (to - from), FW_COLUMN_FIELD | FW_COLUMN_VALUE, err));
  for (uint64_t k = from; k < to; k++, rows->features++) {
    fw_store_index(rows->key_type, rows->index, rows->features, fw_get_le64(before->index + 8 * k));
    fw_store_index(rows->key_type, rows->field, rows->features, fw_get_le32(before->field + 4 * k));
    ((float *)rows->value)[rows->features] = fw_get_f32(before->value + 4 * k);
  }
  rows->offset[++rows->rows] = rows->features;
  return FURROW_OK;
}

/* Appends the rows of the dictionary that grows whose keys the table does not have any more. */
static furrow_status keep_rows(joiner *j, size_t table, furrow_error *err) {
  const fw_joined *before = &j->b->before->tables[table];
  furrow_container *rows = j->out.rows;
  fw_buffer image = {0};
  fw_string_table keys = {0};
  fw_buffer_append(&j->offsets, &(uint64_t){j->keys.size}, sizeof(uint64_t));
  furrow_status status = fw_buffer_status(&j->offsets, err);
  const fw_texts texts = {.bytes = j->keys.bytes, .offsets = (const uint64_t *)j->offsets.bytes, .count = rows->rows};
  if (status == FURROW_OK) status = fw_string_table_build(&image, &texts, NULL, err);
  if (status == FURROW_OK) status = fw_string_table_open(&keys, image.bytes, image.size, err);
  j->offsets.size -= sizeof(uint64_t);
  for (size_t i = 0; i < before->keys.count && status == FURROW_OK; i++) {
    size_t length;
    const char *key = fw_string_table_text(&before->keys, i, &length);
    if (fw_string_table_find(&keys, key, length) != FW_STRING_TABLE_NONE) continue;
    fw_buffer_append(&j->offsets, &(uint64_t){j->keys.size}, sizeof(uint64_t));
    fw_buffer_append(&j->keys, key, length);
    status = keep_row(before, i, rows, err);
  }
  fw_buffer_clear(&image);
  return status;
}

static furrow_status write_joined(joiner *j, size_t table, furrow_error *err) {
  fw_joined_image *image = &j->b->joined[table];
  const furrow_container *rows = j->out.rows;
  size_t twins[2];
  fw_buffer_append(&j->offsets, &(uint64_t){j->keys.size}, sizeof(uint64_t));
  FW_TRY(fw_buffer_status(&j->offsets, err));
  const fw_texts texts = {.bytes = j->keys.bytes, .offsets = (const uint64_t *)j->offsets.bytes, .count = rows->rows};
  const furrow_status status = fw_string_table_build(&image->keys, &texts, twins, err);
  if (status == FURROW_E_EXISTS) return fail_twins(j, &j->b->schema->tables[table], twins, err);
  FW_TRY(status);
  fw_put_u64(&image->offsets, 0);
  for (size_t i = 0; i < rows->rows; i++) fw_put_u64(&image->offsets, rows->offset[i + 1]);
  for (size_t i = 0; i < rows->features; i++) {
    uint32_t bits;
    memcpy(&bits, (const float *)rows->value + i, sizeof bits);
    fw_put_u64(&image->index, ((const uint64_t *)rows->index)[i]);
    fw_put_u32(&image->field, (uint32_t)((const uint64_t *)rows->field)[i]);
    fw_put_u32(&image->value, bits);
  }
  const fw_buffer *const all[] = {&image->offsets, &image->index, &image->field, &image->value};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) FW_TRY(fw_buffer_status(all[i], err));
  return FURROW_OK;
}

/* Reports the rows that were read and left out to the caller. */
static void count_rows(const build *b, const furrow_parser_stats *table) {
  furrow_parser_stats *all = b->params.stats;
  if (!all) return;
  if (all->bad_rows == 0) all->first_bad = table->first_bad;
  all->rows += table->rows;
  all->bad_rows += table->bad_rows;
  all->bytes += table->bytes;
}

/* Rejects a table without any key of the log: another column is meant, or the keys are written differently. */
static furrow_status check_keys(const build *b, size_t t, furrow_error *err) {
  const fw_side_table *table = &b->schema->tables[t];
  const fw_dictionary *d = &b->encoder.dictionary;
  const fw_field *field = NULL;
  fw_string_table keys;
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].column && strcmp(d->fields[i].column->name, table->key) == 0) field = &d->fields[i];
  if (!field || !fw_field_has_texts(field) || field->texts.count == 0) return FURROW_OK;
  FW_TRY(fw_string_table_open(&keys, b->joined[t].keys.bytes, b->joined[t].keys.size, err));
  for (size_t i = 0; i < field->texts.count; i++) {
    size_t length;
    const char *text = fw_string_table_text(&field->texts, i, &length);
    if (fw_string_table_find(&keys, text, length) != FW_STRING_TABLE_NONE) return FURROW_OK;
  }
  return fail_keys(table, err);
}

static furrow_status join_table(build *b, size_t t, furrow_error *err) {
  fw_encode_view view = {0};
  fw_table *table = NULL;
  joiner j = {.b = b, .view = &view};
  void *const users[] = {&j};
  const fw_table_scan_params params = scan_params(b, true);
  furrow_parser_stats stats = {.size = sizeof stats};
  furrow_status status = fw_encode_view_joined(&view, b->schema, &b->encoder.dictionary, t, err);
  if (status == FURROW_OK && b->tables[t])
    status = fw_table_create(&table, fw_table_source_layout(b->tables[t]), view.names, view.slots, NULL, err);
  j.table = table;
  if (status == FURROW_OK) status = furrow_container_create(&j.out.rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  if (status == FURROW_OK && table)
    status = fw_table_scan(b->tables[t], table, &params, users, join_batch, &stats, err);
  if (status == FURROW_OK && b->before) status = keep_rows(&j, t, err);
  if (status == FURROW_OK) status = write_joined(&j, t, err);
  if (status == FURROW_OK) status = check_keys(b, t, err);
  if (status == FURROW_OK) count_rows(b, &stats);
  furrow_container_free(j.out.rows);
  fw_encode_scratch_clear(&j.scratch);
  fw_buffer_clear(&j.keys);
  fw_buffer_clear(&j.offsets);
  fw_table_free(table);
  fw_encode_view_clear(&view);
  return status;
}

/* ---- Histories ------------------------------------------------------------------------------------------ */

typedef struct historian {
  build *b;
  const fw_encode_view *view;
  const fw_table *table;
  fw_history *history;
  fw_encode_scratch scratch;
  fw_encode_out out;
} historian;

static furrow_status remember_batch(void *user, uint64_t piece, const fw_table_cursor *cursor,
                                    const fw_table_batch *batch, furrow_error *err) {
  historian *h = user;
  (void)piece;
  h->out.event_count = 0;
  FW_TRY(fw_encode_batch(&h->b->encoder, h->view, h->table, cursor, batch, &h->scratch, &h->out, err));
  const fw_event *event = h->out.events;
  for (size_t i = 0; i < batch->records; i++) {
    const uint32_t *items;
    size_t count;
    if (h->scratch.bad[i]) continue;
    const furrow_status status = fw_history_take(h->history, event++, &items, &count, err);
    if (status != FURROW_OK && err) err->offset = batch->begins[i];
    FW_TRY(status);
  }
  return FURROW_OK;
}

static furrow_status write_history(historian *h, furrow_error *err) {
  fw_history_image *image = &h->b->history;
  const fw_dictionary *d = &h->b->encoder.dictionary;
  image->users = d->fields[d->user_field].size;
  uint64_t total = 0;
  fw_put_u64(&image->offsets, 0);
  for (uint64_t user = 0; user < image->users; user++) {
    const uint32_t *items;
    size_t count;
    double time;
    fw_history_end(h->history, user, &items, &count, &time);
    for (size_t i = 0; i < count; i++) fw_put_u64(&image->items, items[i]);
    fw_put_u64(&image->offsets, total += count);
    fw_put_f64(&image->times, count > 0 ? time : -1e300); /* a user without items has no time to continue from */
  }
  FW_TRY(fw_buffer_status(&image->items, err));
  FW_TRY(fw_buffer_status(&image->times, err));
  return fw_buffer_status(&image->offsets, err);
}

static void go_on_with_histories(fw_dictionary *d, const fw_dictionary *before) {
  d->history_users = before->history_users;
  d->history_offsets = before->history_offsets;
  d->history_items = before->history_items;
  d->history_times = before->history_times;
}

static furrow_status learn_history(build *b, furrow_error *err) {
  const fw_dictionary *d = &b->encoder.dictionary;
  fw_encode_view view = {0};
  fw_table *table = NULL;
  historian h = {.b = b, .view = &view};
  void *const users[] = {&h};
  const fw_table_scan_params params = scan_params(b, true);
  furrow_parser_stats stats = {.size = sizeof stats};
  if (d->history_field == SIZE_MAX) return FURROW_OK;
  if (b->before) go_on_with_histories(&b->encoder.dictionary, b->before);
  furrow_status status = fw_encode_view_log(&view, b->schema, d, true, err);
  if (status == FURROW_OK)
    status = fw_table_create(&table, fw_table_source_layout(b->log), view.names, view.slots, NULL, err);
  h.table = table;
  if (status == FURROW_OK) status = fw_history_create(&h.history, d, b->schema->history, err);
  if (status == FURROW_OK) status = fw_table_scan(b->log, table, &params, users, remember_batch, &stats, err);
  if (status == FURROW_OK) status = write_history(&h, err);
  fw_history_free(h.history);
  fw_free(h.out.events);
  fw_encode_scratch_clear(&h.scratch);
  fw_table_free(table);
  fw_encode_view_clear(&view);
  return status;
}

/* ---- The whole build ------------------------------------------------------------------------------------ */

static furrow_status learn_tables(build *b, furrow_error *err) {
  FW_TRY(plan_build(b, err));
  for (size_t i = 0; i < b->schema->table_count; i++) FW_TRY(learn_table(b, i, err));
  return FURROW_OK;
}

/* Only the log is divided among ranks. */
static furrow_status learn_fields(build *b, furrow_error *err) {
  FW_TRY(fw_comm_all_ok(b->comm, learn_tables(b, err), err));
  FW_TRY(learn_log(b, err));
  FW_TRY(learn_side_names(b, err));
  FW_TRY(number_features(b, err));
  for (size_t i = 0; i < b->schema->table_count; i++) FW_TRY(join_table(b, i, err));
  return learn_history(b, err);
}

static furrow_status finish_build(const build *b, furrow_encoder **encoder, furrow_error *err) {
  const fw_dictionary_parts parts = {.schema = b->schema,
                                     .dictionary = &b->encoder.dictionary,
                                     .column_table = b->column_table,
                                     .fields = b->fields,
                                     .tables = b->joined,
                                     .history = &b->history};
  fw_buffer image = {0}, text = {0};
  char *bytes = NULL;
  size_t size = 0;
  furrow_schema *schema = NULL;
  furrow_status status = fw_dictionary_write(&parts, &image, err);
  if (status == FURROW_OK) status = fw_buffer_take(&image, &bytes, &size, err);
  if (status == FURROW_OK) status = fw_schema_write(b->schema, true, &text, err);
  if (status == FURROW_OK) status = fw_schema_read(&schema, text.bytes, text.size, NULL, err);
  if (status == FURROW_OK)
    status = fw_encoder_create(encoder, schema, bytes, size, err);
  else
    fw_free(bytes);
  fw_buffer_clear(&image);
  fw_buffer_clear(&text);
  return status;
}

static void clear_build(build *b) {
  const fw_dictionary *d = &b->encoder.dictionary;
  for (size_t i = 0; i < d->count; i++) {
    if (b->learned) fw_learned_clear(&b->learned[i]);
    if (!b->fields) continue;
    fw_buffer_clear(&b->fields[i].texts);
    fw_buffer_clear(&b->fields[i].counts);
    fw_buffer_clear(&b->fields[i].edges);
    fw_buffer_clear(&b->fields[i].added);
  }
  for (size_t i = 0; i < b->schema->table_count; i++) {
    if (b->tables) fw_table_source_close(b->tables[i]);
    if (!b->joined) continue;
    fw_joined_image *t = &b->joined[i];
    fw_buffer *const all[] = {&t->keys, &t->offsets, &t->index, &t->field, &t->value};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) fw_buffer_clear(all[k]);
  }
  fw_buffer_clear(&b->history.offsets);
  fw_buffer_clear(&b->history.items);
  fw_buffer_clear(&b->history.times);
  fw_table_source_close(b->log);
  fw_encode_view_clear(&b->encoder.log);
  fw_dictionary_clear(&b->encoder.dictionary);
  fw_free((void *)b->tables);
  fw_free(b->joined);
  fw_free(b->column_table);
  fw_free(b->learned);
  fw_free(b->fields);
}

/* ---- Growth --------------------------------------------------------------------------------------------- */

/* Lists the columns of the log that the schema does not have. */
static furrow_status list_new_columns(const build *b, char text[256], furrow_error *err) {
  const fw_table_layout *layout = b->log ? fw_table_source_layout(b->log) : NULL;
  fw_buffer names = {0};
  for (size_t i = 0; layout && i < layout->columns; i++) {
    bool known = fw_schema_find(b->schema, layout->names[i]) != NULL;
    for (size_t t = 0; t < b->schema->table_count; t++)
      known |= strcmp(b->schema->tables[t].key, layout->names[i]) == 0;
    if (!known) fw_buffer_format(&names, "%s%s", names.size ? ", " : "", layout->names[i]);
  }
  fw_buffer_byte(&names, 0);
  const furrow_status status = fw_buffer_status(&names, err);
  if (status == FURROW_OK) snprintf(text, 256, "%s%s", names.size > 256 ? "… " : "", names.bytes);
  fw_buffer_clear(&names);
  return status;
}

static furrow_status report_growth(const build *b, furrow_encoder_growth *growth, furrow_error *err) {
  furrow_encoder_growth full;
  const fw_dictionary *d = &b->encoder.dictionary;
  furrow_encoder_growth_init(&full);
  if (!growth) return FURROW_OK;
  for (size_t i = 0; i < d->count; i++) full.names += d->fields[i].texts.count - b->before->fields[i].texts.count;
  full.features = d->features - b->before->features;
  full.tables_kept = b->tables_kept;
  FW_TRY(list_new_columns(b, full.columns, err));
  fw_info_write(growth, &full, sizeof full);
  return FURROW_OK;
}

static furrow_status run_build(build *b, const furrow_encoder_params *params, furrow_encoder **encoder,
                               furrow_encoder_growth *growth, furrow_error *err) {
  furrow_encoder_params_init(&b->params);
  FW_TRY(FW_PARAMS_READ(&b->params, params, furrow_encoder_params, err));
  FW_TRY(fw_comm_of(&b->comm, b->params.comm, err));
  furrow_encoder *made = NULL;
  furrow_status status = learn_fields(b, err);
  if (status == FURROW_OK) status = finish_build(b, &made, err);
  if (status == FURROW_OK && b->before) status = report_growth(b, growth, err);
  status = fw_comm_all_ok(b->comm, status, err);
  if (status == FURROW_OK)
    *encoder = made;
  else
    furrow_encoder_free(made);
  clear_build(b);
  return status;
}

furrow_status furrow_encoder_build(furrow_encoder **encoder, const char *uri, const furrow_schema *schema,
                                   const furrow_encoder_params *params, furrow_error *err) {
  build b = {.uri = uri, .schema = schema, .encoder = {.schema = schema}};
  return run_build(&b, params, encoder, NULL, err);
}

furrow_status furrow_encoder_grow(furrow_encoder **grown, const furrow_encoder *encoder, const char *uri,
                                  const furrow_encoder_params *params, furrow_encoder_growth *growth,
                                  furrow_error *err) {
  const furrow_schema *schema = encoder->schema;
  build b = {.uri = uri, .schema = schema, .before = &encoder->dictionary, .encoder = {.schema = schema}};
  return run_build(&b, params, grown, growth, err);
}
