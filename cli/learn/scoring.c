/* cli/learn/scoring.c: a model and the rows that it scores: what predict and eval share. */
#include "learn/scoring.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sort.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/shown_text.h"
#include "core/text_file.h"
#include "furrow/io.h"
#include "rows/rows_source.h"

/* ---- Users, items and other values that the model does not know ---- */

static void start_side(unknown_side *side, const furrow_encoder *encoder, furrow_side which) {
  const size_t field = encoder ? furrow_encoder_side_field(encoder, which) : SIZE_MAX;
  *side = (unknown_side){.used = field != SIZE_MAX, .number = field};
  if (side->used) furrow_encoder_get_field(encoder, field, &side->field);
}

/* Whether most cells of the training data had a value of the dictionary: if few had one, other data has few, too. */
static bool has_learned(const furrow_encoder *encoder, size_t number, const furrow_encoder_field *field) {
  enum { COUNTED = 1000 }; /* the most frequent come first */
  uint64_t cells = 0;
  furrow_encoder_feature feature;
  furrow_error ignored;
  for (uint64_t i = 0; i < field->entries && i < COUNTED; i++)
    if (furrow_encoder_get_feature(encoder, furrow_encoder_entry(encoder, number, i), &feature, &ignored) == FURROW_OK)
      cells += feature.count;
  return cells >= field->unknown + field->missing;
}

/* Whether a field is a column of categories or sets, neither user nor item. */
static bool is_category(const furrow_encoder *encoder, const furrow_encoder_field *field) {
  const furrow_schema *schema = furrow_encoder_schema(encoder);
  for (size_t i = 0; field->entries > 0 && i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    if (strcmp(column.name, field->name) != 0) continue;
    return !column.role[0] && (strcmp(column.as, "category") == 0 || strcmp(column.as, "set") == 0);
  }
  return false;
}

furrow_status unknown_names_start(unknown_names *names, const furrow_encoder *encoder, furrow_error *err) {
  *names = (unknown_names){.encoder = encoder};
  start_side(&names->user, encoder, FURROW_SIDE_USER);
  start_side(&names->item, encoder, FURROW_SIDE_ITEM);
  if (!encoder) return FURROW_OK;
  const size_t count = furrow_encoder_field_count(encoder);
  names->columns = calloc(count + 1, sizeof *names->columns);
  if (!names->columns) return fail_memory(err);
  for (size_t i = 0; i < count; i++) {
    unknown_side *column = &names->columns[names->column_count];
    furrow_encoder_get_field(encoder, i, &column->field);
    column->number = i;
    column->used = is_category(encoder, &column->field) && has_learned(encoder, i, &column->field);
    names->column_count += column->used;
  }
  return FURROW_OK;
}

void unknown_names_clear(unknown_names *names) {
  free(names->columns);
  *names = (unknown_names){0};
}

/* The first feature of a field with a dictionary stands for values that are not in the dictionary. */
static void count_side(unknown_side *side, const furrow_encoder *encoder, const furrow_rowblock *block) {
  const uint64_t unknown = side->field.entries > 0 ? side->field.first : UINT64_MAX;
  if (!side->used) return;
  for (size_t row = 0; row < block->size; row++) {
    bool known = false;
    for (uint64_t i = block->offset[row]; i < block->offset[row + 1] && !known; i++) {
      const uint64_t feature = furrow_keys_get(block->index, block->key_type, i);
      known = feature != unknown && furrow_encoder_field_of(encoder, feature) == side->number;
    }
    side->rows += !known;
  }
}

/* The column whose features include this one; NULL: none. */
static unknown_side *find_column(const unknown_names *names, uint64_t feature) {
  const size_t field = furrow_encoder_field_of(names->encoder, feature);
  size_t low = 0, high = names->column_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    unknown_side *column = &names->columns[middle];
    if (field == column->number) return column;
    if (field < column->number)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

/* The same as count_side for all columns in one pass. Call it after the rows were counted. */
static void count_columns(unknown_names *names, const furrow_rowblock *block) {
  const uint64_t before = names->rows - block->size;
  for (size_t i = 0; i < names->column_count; i++) names->columns[i].rows += block->size;
  for (size_t row = 0; names->column_count > 0 && row < block->size; row++)
    for (uint64_t i = block->offset[row]; i < block->offset[row + 1]; i++) {
      const uint64_t feature = furrow_keys_get(block->index, block->key_type, i), number = before + row + 1;
      unknown_side *column = find_column(names, feature);
      if (!column || feature == column->field.first || column->seen == number) continue;
      column->seen = number;
      column->rows--;
    }
}

void unknown_names_count(unknown_names *names, const furrow_rowblock *block) {
  names->rows += block->size;
  count_side(&names->user, names->encoder, block);
  count_side(&names->item, names->encoder, block);
  count_columns(names, block);
}

static void print_side(const unknown_side *side, const char *what, uint64_t rows) {
  if (side->rows == 0) return;
  if (rows == 1)
    say("furrow: note: the model does not know the %s (%s)\n", what, side->field.name);
  else if (side->rows == rows)
    say("furrow: warning: no row has %s %s that the model knows: is the column right (%s)?\n",
        what[0] == 'i' ? "an" : "a", what, side->field.name);
  else
    say("furrow: note: %" PRIu64 " of %" PRIu64 " rows have %s %s that the model does not know\n", side->rows, rows,
        what[0] == 'i' ? "an" : "a", what);
}

/* "red, green" */
static void list_values(const furrow_encoder *encoder, const unknown_side *column, char *text, size_t size) {
  enum { SHOWN = 3 };
  size_t used = 0;
  furrow_encoder_feature feature;
  furrow_error ignored;
  text[0] = 0;
  for (uint64_t i = 0; i < column->field.entries && i < SHOWN && used < size; i++)
    if (furrow_encoder_get_feature(encoder, furrow_encoder_entry(encoder, column->number, i), &feature, &ignored) ==
        FURROW_OK)
      used += (size_t)snprintf(text + used, size - used, "%s%.*s", i ? ", " : "",
                               feature.length < 40 ? (int)feature.length : 40, feature.name);
}

/* A column that is nearly unknown is likely to be spelled in another way; one that is unknown in some rows has new
 * values. */
static void print_columns(const unknown_names *names, const furrow_encoder *encoder) {
  enum { ENOUGH = 10, LISTED = 5 };
  size_t some = 0;
  if (!encoder) return;
  for (size_t i = 0; i < names->column_count; i++) {
    const unknown_side *column = &names->columns[i];
    char values[160];
    const bool nearly = names->rows >= ENOUGH && (double)column->rows >= 0.95 * (double)names->rows;
    some += column->rows > 0 && !nearly;
    if (!nearly) continue;
    list_values(encoder, column, values, sizeof values);
    say("furrow: warning: column %s: %" PRIu64 " of %" PRIu64
        " rows have a value that the model does not know, or none; it knows values such as %s: is the column spelled "
        "as in the training data?\n",
        column->field.name, column->rows, names->rows, values);
  }
  if (some == 0) return;
  say("furrow: note: values that the model does not know, or none:");
  for (size_t i = 0, listed = 0; i < names->column_count && listed < LISTED; i++) {
    const unknown_side *column = &names->columns[i];
    if (column->rows == 0 || (names->rows >= ENOUGH && (double)column->rows >= 0.95 * (double)names->rows)) continue;
    say("%s %s in %" PRIu64 " of %" PRIu64 " rows", listed++ ? "," : "", column->field.name, column->rows, names->rows);
  }
  if (some > LISTED) say(", and %zu more columns", some - LISTED);
  say("\n");
}

void unknown_names_print(const unknown_names *names, const furrow_encoder *encoder) {
  print_side(&names->user, "user", names->rows);
  print_side(&names->item, "item", names->rows);
  print_columns(names, encoder);
}

/* ---- Options and opening ---- */

#define AT(field) offsetof(scoring_values, field)
const option scoring_options[] = {
    {.name = "model",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help = "a model directory, Furrow's or Angel's",
     .offset = AT(model),
     .required = true},
    {.name = "data",
     .kind = OPTION_TEXT,
     .argument = "URI",
     .help = "the rows",
     .offset = AT(data),
     .from_query = true},
    {.name = "format",
     .kind = OPTION_TEXT,
     .argument = "F",
     .choices = "libsvm|libffm|dummy|dense|csv",
     .help = "format of the rows: libsvm, libffm, dummy, dense, csv (the format of the training data)",
     .offset = AT(format)},
    {.name = "fc-order",
     .kind = OPTION_ENUM,
     .choices = "in-out|out-in",
     .help = "order of the weights of fc layers: as Angel's trainer writes them, or as its serving does",
     .offset = AT(fc_order)},
    ON_BAD_OPTION(AT(on_bad)),
    THREADS_OPTION(AT(threads), ""),
    QUIET_OPTION(AT(quiet)),
    {0}};

const option graph_options[] = {
    {.name = "conf",
     .kind = OPTION_TEXT,
     .argument = "FILE.json",
     .help = "Angel's JSON file, for a model without graph.json",
     .offset = AT(conf)},
    {.name = "algorithm",
     .kind = OPTION_TEXT,
     .argument = "NAME",
     .choices = LEARN_ALGORITHMS,
     .help = "algorithm of a model without graph.json: lr, fm, gbdt …",
     .offset = AT(algorithm)},
    {.name = "define",
     .letter = 'D',
     .kind = OPTION_LIST,
     .argument = "KEY=VALUE",
     .help = "a setting by Angel's name or its short name: ml.data.label.trans.class=PosNegTrans, index-base=0",
     .offset = AT(define)},
    {0}};
#undef AT

/* The format decides whether rows have fields. A model of dense data keeps its format, and a model of sparse data does
 * not take dense rows: their matrices differ. */
static furrow_status take_format(furrow_learn_conf *conf, const char *format, furrow_error *err) {
  if (!format || strcmp(format, "dense") == 0 || strcmp(furrow_learn_conf_get(conf, "format"), "dense") == 0)
    return FURROW_OK;
  return furrow_learn_conf_set(conf, "format", format, err);
}

/* Makes the configuration from the model, or from --conf or --algorithm, and then applies the definitions. */
static furrow_status make_settings(learn_settings *settings, const scoring_values *values, furrow_error *err) {
  const learn_values none = {0};
  const bool own = !values->conf && !values->algorithm;
  const learn_origin from = {.model = own ? values->model : NULL, .json = values->conf, .algorithm = values->algorithm};
  furrow_status status = learn_settings_make(settings, &from, &none, &values->define, err);
  if (status == FURROW_OK && values->algorithm) /* it is Angel's model, which does not describe its data */
    status = furrow_learn_conf_set(settings->conf, "defaults", "angel", err);
  if (status == FURROW_E_NOT_FOUND && own && path_is_there(values->model))
    add_hint(err, "name the graph of a model without graph.json with --algorithm or --conf");
  return status == FURROW_OK ? take_format(settings->conf, values->format, err) : status;
}

/* Whether the rows of a raw log are read without labels. A cache holds labels, which eval needs. */
static bool leaves_labels(const scoring *s, const furrow_learn_conf *conf) {
  const char *uri = s->values->data, *format = furrow_learn_conf_get(conf, "format");
  return s->values->unlabelled && furrow_scorer_encoder(s->scorer) && !s->values->format &&
         (strcmp(format, "table") == 0 || strcmp(format, "auto") == 0) && !strchr(uri, '#') &&
         !strstr(uri, "format=") && !strstr(uri, "label=");
}

static furrow_status open_uri(scoring *s, const furrow_learn_conf *conf, const furrow_parser_params *params,
                              furrow_error *err) {
  const char *uri = s->values->data;
  if (!leaves_labels(s, conf)) return furrow_sample_reader_open(&s->samples, conf, uri, params, err);
  const size_t size = strlen(uri) + sizeof "?label=none";
  char *text = malloc(size);
  if (!text) return fail_memory(err);
  snprintf(text, size, "%s%clabel=none", uri, strchr(uri, '?') ? '&' : '?');
  const furrow_status status = furrow_sample_reader_open(&s->samples, conf, text, params, err);
  free(text);
  return status;
}

static furrow_status open_rows(scoring *s, const furrow_learn_conf *conf, furrow_error *err) {
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  if (s->values->format) params.format = s->values->format;
  params.threads = s->values->threads;
  params.on_bad = s->values->on_bad;
  return open_uri(s, conf, &params, err);
}

static furrow_status load_model(furrow_scorer **scorer, const scoring_values *values, furrow_error *err) {
  learn_settings settings = {0};
  furrow_scorer_params params;
  furrow_scorer_params_init(&params);
  params.fc_order = (furrow_fc_order)values->fc_order;
  params.threads = values->threads;
  furrow_status status = make_settings(&settings, values, err);
  if (status == FURROW_OK && !values->quiet) learn_settings_print_notes(&settings);
  params.conf = settings.conf;
  if (status == FURROW_OK) status = furrow_scorer_load(scorer, values->model, &params, err);
  learn_settings_clear(&settings);
  return status;
}

furrow_status scoring_load(furrow_scorer **scorer, const scoring_values *values, furrow_error *err) {
  furrow_path_watch *watch = NULL;
  furrow_scorer *loaded = NULL;
  furrow_status status = furrow_path_watch_begin(&watch, values->model, err);
  if (status == FURROW_OK) status = furrow_path_watch_end(watch, load_model(&loaded, values, err), err);
  if (status == FURROW_OK)
    *scorer = loaded;
  else
    furrow_scorer_free(loaded);
  return status;
}

static furrow_status open_both(scoring *s, furrow_error *err) {
  const scoring_values *values = s->values;
  furrow_status status = load_model(&s->scorer, values, err);
  if (status == FURROW_OK) status = furrow_scorer_scratch_create(&s->space, s->scorer, err);
  if (status == FURROW_OK) status = unknown_names_start(&s->names, furrow_scorer_encoder(s->scorer), err);
  const bool guarded = cache_guard_begin(values->data);
  if (status == FURROW_OK) status = open_rows(s, furrow_scorer_conf(s->scorer), err);
  return cache_guard_end(guarded, status, err);
}

/* The rows of a raw log are read with the model's dictionary, which is read once more for that. */
furrow_status scoring_open(scoring *s, const scoring_values *values, furrow_error *err) {
  furrow_path_watch *watch = NULL;
  *s = (scoring){.values = values};
  if (!values->data) return fail(err, FURROW_E_ARGUMENT, "--data URI is missing, the rows");
  furrow_status status = furrow_path_watch_begin(&watch, values->model, err);
  if (status == FURROW_OK) status = furrow_path_watch_end(watch, open_both(s, err), err);
  progress_start(&s->progress, status == FURROW_OK && !values->quiet, "scoring", 0);
  s->progress.unit = "rows";
  return status;
}

void scoring_close(scoring *s) {
  progress_stop(&s->progress);
  unknown_names_clear(&s->names);
  furrow_sample_reader_close(s->samples);
  furrow_scorer_scratch_free(s->space);
  furrow_scorer_free(s->scorer);
  *s = (scoring){0};
}

/* ---- Features that the model does not have ---- */

static uint64_t end_of(const furrow_rowblock *block, uint64_t from, uint64_t to) {
  uint64_t end = 0;
  for (uint64_t i = from; i < to; i++) {
    const uint64_t feature = furrow_keys_get(block->index, block->key_type, i);
    if (feature >= end) end = feature + 1;
  }
  return end;
}

/* Counts in the first rows; later ones are most likely of the same kind. */
static furrow_status compare_features(scoring *s, const furrow_rowblock *block, furrow_error *err) {
  enum { MOST_ROWS = 1000 };
  const size_t rows = block->size < MOST_ROWS ? block->size : MOST_ROWS;
  uint64_t *ids = NULL;
  size_t count = 0;
  if (s->compared || rows == 0) return FURROW_OK;
  s->compared = true;
  const uint64_t from = block->offset[0], to = block->offset[rows];
  furrow_status status = furrow_scorer_features(s->scorer, 0, end_of(block, from, to), &ids, &count, err);
  for (uint64_t i = from; status == FURROW_OK && i < to; i++) {
    const uint64_t feature = furrow_keys_get(block->index, block->key_type, i);
    const bool known = count > 0 && bsearch(&feature, ids, count, sizeof *ids, fw_compare_u64);
    s->known += known;
    s->unknown += !known;
  }
  furrow_free(ids);
  return status;
}

/* Trees split by few features; other models know every feature that they were trained on. */
static void note_unknown(const scoring *s) {
  furrow_forest_info forest;
  furrow_forest_info_init(&forest);
  furrow_scorer_get_forest_info(s->scorer, &forest);
  const uint64_t all = s->known + s->unknown;
  if (s->unknown == 0 || (forest.trees > 0 ? s->known > 0 : 2 * s->unknown < all)) return;
  say("furrow: warning: the model does not have %" PRIu64 " of the first %" PRIu64
      " features, which count as 0; are they counted from another base (index-base), or of another kind of data?\n",
      s->unknown, all);
}

void scoring_print_notes(const scoring *s) {
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  if (s->values->quiet) return;
  furrow_sample_reader_get_stats(s->samples, &stats);
  print_notes(&stats);
  note_unknown(s);
  unknown_names_print(&s->names, s->values->event ? NULL : furrow_scorer_encoder(s->scorer));
}

furrow_status scoring_next(scoring *s, const furrow_rowblock **block, furrow_error *err) {
  s->rows += s->size;
  s->size = 0;
  furrow_status status = interrupt_check(err);
  if (status == FURROW_OK) status = furrow_sample_reader_next(s->samples, block, err);
  if (status == FURROW_OK) {
    s->size = (*block)->size;
    progress_update(&s->progress, s->rows);
    unknown_names_count(&s->names, *block);
    status = compare_features(s, *block, err);
  } else {
    progress_stop(&s->progress);
  }
  return status;
}

void scoring_locate_error(const scoring *s, const furrow_rowblock *block, furrow_error *err) {
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    furrow_score score;
    furrow_error own;
    const furrow_status status = furrow_scorer_score_row(s->scorer, s->space, &row, &score, &own);
    if (status == FURROW_OK) continue;
    fail_in(err, status, s->values->data, "row %" PRIu64 ": %.200s", s->rows + i + 1, own.message);
    snprintf(err->hint, sizeof err->hint, "%s", own.hint);
    return;
  }
  if (!err->file[0]) snprintf(err->file, sizeof err->file, "%s", s->values->data);
}
