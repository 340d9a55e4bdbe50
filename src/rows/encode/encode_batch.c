/* rows/encode/encode_batch.c: encodes batches of cells into rows, field by field.
 *
 * Each field is computed for all records of a batch: texts are hashed, the slots of their hashes are prefetched,
 * then the texts are looked up, so the memory latency is paid once for many cells. Then the fields are assembled,
 * record by record. */
#define XXH_INLINE_ALL /* hashing short texts is most of the work */
#include <xxhash.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "kern/text/time_cell.h"
#include "rows/block/elements.h"
#include "rows/encode/encoder.h"

/* The state of encoding a batch. */
typedef struct work {
  const furrow_encoder *encoder;
  const fw_encode_view *view;
  const fw_table *table;
  const fw_table_cursor *cursor;
  const fw_table_batch *batch;
  fw_encode_scratch *scratch;
} work;

void fw_encode_scratch_clear(fw_encode_scratch *s) {
  for (size_t i = 0; i < s->field_count; i++) {
    fw_free(s->fields[i].index);
    fw_free(s->fields[i].value);
    fw_free(s->fields[i].offset);
  }
  fw_free(s->fields);
  fw_field_selection_clear(&s->selection);
  fw_free(s->keys);
  fw_buffer_clear(&s->word);
  memset(s, 0, sizeof *s);
}

static const fw_table_cell *cells_of(const work *w, size_t slot) {
  return fw_table_cells(w->batch, slot);
}

/* Rejects a record because of a bad cell. */
static furrow_status refuse_cell(const work *w, size_t slot, size_t record, const char *message, furrow_error *err) {
  bool *bad = &w->scratch->bad[record];
  if (*bad) return FURROW_OK;
  *bad = true;
  return fw_table_refuse(w->table, w->cursor, w->batch, slot, record, message, err);
}

static furrow_status grow_field(fw_encoded_field *made, size_t count, bool values, furrow_error *err) {
  if (count <= made->index_capacity && (!values || count <= made->value_capacity)) return FURROW_OK;
  FW_TRY(FW_GROW(&made->index, &made->index_capacity, count, err));
  if (!values) return FURROW_OK;
  return FW_GROW(&made->value, &made->value_capacity, count, err);
}

/* ---- One text per cell ---------------------------------------------------------------------------------- */

static uint64_t hashed_feature(const fw_field *field, uint64_t hash) {
  return field->first + (hash >> (64 - field->hash_bits));
}

/* Whether a missing value is a feature: only if the training data had missing values as well, or was not inspected
 * (records 0). */
static bool has_missing_feature(const fw_dictionary *d, const fw_field *field) {
  if (field->sparse || field->hash_bits > 0) return false;
  return field->missing > 0 || (d->records == 0 && !fw_field_has_texts(field));
}

/* The same of a text. */
static uint64_t missing_feature(const work *w, const fw_field *field) {
  return has_missing_feature(&w->encoder->dictionary, field) ? field->first + FW_LOCAL_MISSING : FW_FEATURE_NONE;
}

static uint64_t found_feature(const fw_field *field, size_t found) {
  if (found != FW_STRING_TABLE_NONE) return fw_field_feature(field, FW_LOCAL_FIRST + found);
  return field->unknown > 0 ? field->first + FW_LOCAL_UNKNOWN : FW_FEATURE_NONE;
}

static uint64_t text_feature(const fw_field *field, uint64_t hash, const char *text, size_t length) {
  if (field->hash_bits) return hashed_feature(field, hash);
  return found_feature(field, fw_string_table_find_hashed(&field->texts, hash, text, length));
}

static furrow_status refuse_lists(const work *w, size_t slot, furrow_error *err) {
  const fw_table_cell *cells = cells_of(w, slot);
  for (size_t i = 0; i < w->batch->records; i++)
    if (fw_cell_is_list(&cells[i])) FW_TRY(refuse_cell(w, slot, i, "a list, but one value is expected", err));
  return FURROW_OK;
}

/* Cells whose texts are looked up at a time: the parts of the dictionary that they need stay in the first-level
 * cache. */
enum { LOOKUPS = 64 };

static void find_features(const fw_field *field, const fw_table_cell *cells, const uint64_t *hashes, size_t n,
                          uint64_t *features) {
  const fw_string_table *texts = &field->texts;
  size_t guesses[LOOKUPS];
  for (size_t i = 0; i < n; i++) fw_string_table_prefetch(texts, hashes[i]);
  for (size_t i = 0; i < n; i++) {
    guesses[i] = fw_string_table_guess(texts, hashes[i]);
    if (guesses[i] != FW_STRING_TABLE_NONE) fw_string_table_prefetch_offset(texts, guesses[i]);
  }
  for (size_t i = 0; i < n; i++)
    if (guesses[i] != FW_STRING_TABLE_NONE) fw_string_table_prefetch_text(texts, guesses[i]);
  for (size_t i = 0; i < n; i++) {
    const fw_table_cell *cell = &cells[i];
    if (guesses[i] != FW_STRING_TABLE_NONE && !fw_string_table_is_text(texts, guesses[i], cell->text, cell->length))
      guesses[i] = fw_string_table_find_hashed(texts, hashes[i], cell->text, cell->length);
    features[i] = found_feature(field, guesses[i]);
  }
}

static furrow_status encode_category(const work *w, const fw_field *field, size_t slot, fw_encoded_field *made,
                                     furrow_error *err) {
  const fw_table_cell *cells = cells_of(w, slot);
  const size_t n = w->batch->records;
  uint64_t hashes[FW_TABLE_RECORDS];
  unsigned kinds = 0;
  FW_TRY(grow_field(made, w->batch->capacity, false, err));
  for (size_t i = 0; i < n; i++) {
    hashes[i] = XXH3_64bits(cells[i].text, cells[i].length);
    kinds |= 1U << cells[i].kind;
  }
  if (kinds & 1U << FW_TABLE_LIST) FW_TRY(refuse_lists(w, slot, err));
  if (field->hash_bits) {
    for (size_t i = 0; i < n; i++) made->index[i] = hashed_feature(field, hashes[i]);
  } else {
    for (size_t i = 0; i < n; i += LOOKUPS)
      find_features(field, cells + i, hashes + i, n - i < LOOKUPS ? n - i : LOOKUPS, made->index + i);
  }
  if (!(kinds & 1U << FW_TABLE_MISSING)) return FURROW_OK;
  const uint64_t missing = missing_feature(w, field);
  for (size_t i = 0; i < n; i++) {
    if (cells[i].kind != FW_TABLE_MISSING) continue;
    made->index[i] = missing;
    w->scratch->missing += missing != FW_FEATURE_NONE;
  }
  return FURROW_OK;
}

/* ---- Sets, words ---------------------------------------------------------------------------------------- */

typedef struct list {
  const fw_field *field;
  fw_encoded_field *made;
  size_t count, elements; /* features of the batch; elements of the cell */
} list;

static furrow_status take_element(void *user, const fw_cell_element *element, furrow_error *err) {
  list *l = user;
  const uint64_t hash = XXH3_64bits(element->text, element->length);
  const uint64_t feature = text_feature(l->field, hash, element->text, element->length);
  l->elements++;
  if (feature == FW_FEATURE_NONE) return FURROW_OK;
  FW_TRY(grow_field(l->made, l->count + 1, true, err));
  l->made->index[l->count] = feature;
  l->made->value[l->count++] = element->value;
  return FURROW_OK;
}

/* Scales a set of n elements to length 1, unless its elements have values. */
static void scale_list(list *l, size_t begin) {
  const float value = (float)(1 / sqrt((double)l->elements));
  if (l->field->column->values) return;
  for (size_t i = begin; i < l->count; i++) l->made->value[i] = value;
}

static furrow_status encode_list(const work *w, const fw_field *field, size_t slot, fw_encoded_field *made,
                                 furrow_error *err) {
  const fw_table_cell *cells = cells_of(w, slot);
  const uint64_t missing = missing_feature(w, field);
  list l = {.field = field, .made = made};
  FW_TRY(FW_GROW(&made->offset, &made->offset_capacity, w->batch->capacity + 1, err));
  FW_TRY(grow_field(made, 1, true, err));
  for (size_t i = 0; i < w->batch->records; i++) {
    const char *bad = NULL;
    const size_t begin = l.count;
    made->offset[i] = (uint32_t)begin;
    l.elements = 0;
    FW_TRY(fw_cell_elements(&cells[i], field->column, &w->scratch->word, take_element, &l, &bad, err));
    if (bad) FW_TRY(refuse_cell(w, slot, i, bad, err));
    if (l.elements > 0) {
      scale_list(&l, begin);
    } else if (missing != FW_FEATURE_NONE) {
      FW_TRY(grow_field(made, l.count + 1, true, err));
      made->index[l.count] = missing;
      made->value[l.count++] = 1;
      w->scratch->missing++;
    }
  }
  made->offset[w->batch->records] = (uint32_t)l.count;
  return FURROW_OK;
}

/* ---- Numbers, times ------------------------------------------------------------------------------------- */

static size_t bin_of(const fw_field *field, double number) {
  size_t low = 0, high = field->edge_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (fw_get_f64(field->edges + 8 * middle) <= number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static double age_in_days(const fw_field *field, double seconds) {
  return (field->newest - seconds) / 86400;
}

/* Encodes a number or a time as a feature. Returns an error message, or NULL. */
static const char *place_number(const work *w, const fw_field *field, size_t i, bool missing, double number,
                                fw_encoded_field *made) {
  if (missing) {
    const bool known = has_missing_feature(&w->encoder->dictionary, field);
    made->index[i] = known ? field->first + field->size - 1 : FW_FEATURE_NONE;
    w->scratch->missing += known;
    if (made->value) made->value[i] = 1;
    return NULL;
  }
  made->index[i] = field->first;
  if (field->kind == FW_FIELD_BINS) made->index[i] += bin_of(field, number);
  if (field->kind == FW_FIELD_PART) made->index[i] += fw_time_part_of(number, field->part);
  if (!made->value) return NULL;
  const double days = field->kind == FW_FIELD_AGE ? age_in_days(field, number) : number;
  const double scaled = (days - field->mean) * field->factor;
  made->value[i] = fabs(scaled) <= FLT_MAX ? (float)scaled : 0;
  return fabs(scaled) <= FLT_MAX ? NULL : "too far from the numbers of the training data";
}

static furrow_status encode_number(const work *w, const fw_field *field, size_t slot, fw_encoded_field *made,
                                   furrow_error *err) {
  const fw_table_cell *cells = cells_of(w, slot);
  FW_TRY(grow_field(made, w->batch->capacity, field->kind == FW_FIELD_NUMBER, err));
  for (size_t i = 0; i < w->batch->records; i++) {
    double number = 0;
    bool missing = false;
    const char *bad = fw_cell_number(&cells[i], field->column, &number, &missing);
    made->index[i] = FW_FEATURE_NONE;
    if (!bad) bad = place_number(w, field, i, missing, number, made);
    if (bad) FW_TRY(refuse_cell(w, slot, i, bad, err));
  }
  return FURROW_OK;
}

static furrow_status encode_time(const work *w, const fw_field *field, size_t slot, fw_encoded_field *made,
                                 furrow_error *err) {
  fw_time_cells *t = &w->scratch->times;
  FW_TRY(grow_field(made, w->batch->capacity, field->kind == FW_FIELD_AGE, err));
  fw_time_cells_read(t, w->batch, slot, field->column);
  for (size_t i = 0; i < w->batch->records; i++) {
    made->index[i] = FW_FEATURE_NONE;
    const char *bad = t->bad[i] ? t->bad[i] : place_number(w, field, i, t->missing[i], t->seconds[i], made);
    if (bad) FW_TRY(refuse_cell(w, slot, i, bad, err));
  }
  return FURROW_OK;
}

/* ---- Crosses -------------------------------------------------------------------------------------------- */

static void encode_cross(const work *w, const fw_field *field, const fw_encoded_field *const *parts,
                         fw_encoded_field *made) {
  uint64_t features[FW_CROSSED_MOST];
  for (size_t i = 0; i < w->batch->records; i++) {
    bool whole = true;
    for (size_t k = 0; k < field->crossed_count; k++) {
      const uint64_t feature = parts[k]->index[i];
      whole &= feature != FW_FEATURE_NONE;
      fw_put_le64(&features[k], feature);
    }
    made->index[i] =
        whole ? hashed_feature(field, XXH3_64bits(features, field->crossed_count * sizeof *features)) : FW_FEATURE_NONE;
  }
}

static furrow_status encode_crosses(const work *w, furrow_error *err) {
  const fw_dictionary *d = &w->encoder->dictionary;
  const fw_encode_view *view = w->view;
  fw_encoded_field *made = w->scratch->fields + view->field_count;
  for (size_t f = 0; f < view->cross_count; f++) {
    const fw_field *field = &d->fields[view->crosses[f]];
    const fw_encoded_field *parts[FW_CROSSED_MOST] = {0};
    for (size_t k = 0; k < field->crossed_count; k++)
      parts[k] = &w->scratch->fields[view->positions[field->crossed[k]]];
    FW_TRY(grow_field(made, w->batch->capacity, false, err));
    encode_cross(w, field, parts, made++);
  }
  return FURROW_OK;
}

/* ---- Labels, weights, groups and keys ------------------------------------------------------------------- */

static furrow_status read_labels(const work *w, bool with_label, furrow_error *err) {
  const size_t slot = w->view->label;
  for (size_t i = 0; i < w->batch->records; i++) w->scratch->label[i] = 1;
  if (slot == SIZE_MAX || !with_label) return FURROW_OK;
  for (size_t i = 0; i < w->batch->records; i++) {
    const char *bad = fw_cell_label(&cells_of(w, slot)[i], w->view->label_column, &w->scratch->label[i]);
    if (bad) FW_TRY(refuse_cell(w, slot, i, bad, err));
  }
  return FURROW_OK;
}

static furrow_status read_weights(const work *w, furrow_error *err) {
  const size_t slot = w->view->weight;
  for (size_t i = 0; i < w->batch->records && slot != SIZE_MAX; i++) {
    const char *bad = fw_cell_weight(&cells_of(w, slot)[i], w->view->weight_column, &w->scratch->weight[i]);
    if (bad) FW_TRY(refuse_cell(w, slot, i, bad, err));
  }
  return FURROW_OK;
}

/* A whole number is its own group; other texts are hashed. */
static void read_groups(const work *w) {
  const size_t slot = w->view->group;
  for (size_t i = 0; i < w->batch->records && slot != SIZE_MAX; i++) {
    const fw_table_cell *cell = &cells_of(w, slot)[i];
    const char *end = cell->text + cell->length;
    bool overflow = false;
    uint64_t *group = &w->scratch->group[i];
    if (cell->kind != FW_TABLE_TEXT || fw_read_u64(cell->text, end, group, &overflow) != end || overflow)
      *group = XXH3_64bits(cell->text, cell->length);
  }
}

/* Rejects rows of a joined table that have no key. */
static furrow_status check_keys(const work *w, furrow_error *err) {
  const size_t slot = w->view->key;
  for (size_t i = 0; i < w->batch->records && slot != SIZE_MAX; i++)
    if (cells_of(w, slot)[i].kind != FW_TABLE_TEXT) FW_TRY(refuse_cell(w, slot, i, "the key is missing", err));
  return FURROW_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Where the next feature of a row is stored. The key type is a constant in each copy of the functions below. */
typedef struct target {
  furrow_container *rows;
  furrow_key_type type;
  void *index, *field;
  float *value;
  size_t at;
} target;

static ALWAYS_INLINE void put_feature(target *t, uint32_t field, uint64_t index, float value) {
  fw_store_index(t->type, t->index, t->at, index);
  fw_store_index(t->type, t->field, t->at, field);
  t->value[t->at++] = value;
}

static ALWAYS_INLINE void put_cells(const work *w, size_t record, target *t) {
  const fw_field_selection *selection = &w->scratch->selection;
  for (size_t i = 0; i < selection->count; i++) {
    const fw_encoded_field *made = &w->scratch->fields[selection->fields[i]];
    const uint32_t field = (uint32_t)w->view->fields[selection->fields[i]];
    if (!made->offset) {
      if (made->index[record] == FW_FEATURE_NONE) continue;
      put_feature(t, field, made->index[record], made->value ? made->value[record] : 1);
      if (made->present != FW_FEATURE_NONE) put_feature(t, field, made->present, 1);
      continue;
    }
    for (uint32_t k = made->offset[record]; k < made->offset[record + 1]; k++)
      put_feature(t, field, made->index[k], made->value[k]);
  }
}

static ALWAYS_INLINE void put_joined(const fw_joined *table, size_t key, target *t) {
  const uint64_t end = fw_get_le64(table->offsets + 8 * (key + 1));
  for (uint64_t i = fw_get_le64(table->offsets + 8 * key); i < end; i++)
    put_feature(t, fw_get_le32(table->field + 4 * i), fw_get_le64(table->index + 8 * i),
                fw_get_f32(table->value + 4 * i));
}

static ALWAYS_INLINE void put_crosses(const work *w, size_t record, target *t) {
  const fw_encoded_field *made = w->scratch->fields + w->view->field_count;
  for (size_t f = 0; f < w->view->cross_count; f++, made++)
    if (made->index[record] != FW_FEATURE_NONE) put_feature(t, (uint32_t)w->view->crosses[f], made->index[record], 1);
}

/* Keys of the joined tables, table by table: numbers, or FW_STRING_TABLE_NONE. */
static uint64_t *joined_of(const work *w, size_t table) {
  return w->scratch->keys + table * w->batch->capacity;
}

static furrow_status find_joined(const work *w, size_t *features, furrow_error *err) {
  const fw_dictionary *d = &w->encoder->dictionary;
  FW_TRY(FW_GROW(&w->scratch->keys, &w->scratch->key_capacity, w->view->table_count * w->batch->capacity + 1, err));
  for (size_t t = 0; t < w->view->table_count; t++) {
    const fw_joined *table = &d->tables[t];
    const fw_table_cell *cells = cells_of(w, w->view->table_key[t]);
    uint64_t *joined = joined_of(w, t);
    for (size_t i = 0; i < w->batch->records; i++) {
      joined[i] = FW_STRING_TABLE_NONE;
      if (cells[i].kind == FW_TABLE_MISSING) continue;
      joined[i] = (uint64_t)fw_string_table_find(&table->keys, cells[i].text, cells[i].length);
      if (joined[i] == FW_STRING_TABLE_NONE) continue;
      *features += fw_get_le64(table->offsets + 8 * (joined[i] + 1)) - fw_get_le64(table->offsets + 8 * joined[i]);
    }
  }
  return FURROW_OK;
}

/* An upper bound of the number of features to come. */
static size_t count_features(const work *w) {
  const fw_field_selection *selection = &w->scratch->selection;
  size_t count = w->view->cross_count * w->batch->records;
  for (size_t i = 0; i < selection->count; i++) {
    const fw_encoded_field *made = &w->scratch->fields[selection->fields[i]];
    const size_t each = made->present == FW_FEATURE_NONE ? 1 : 2;
    count += made->offset ? made->offset[w->batch->records] : each * w->batch->records;
  }
  return count;
}

static uint64_t event_feature(const work *w, size_t field, size_t record) {
  const size_t position = w->view->positions[field];
  return position == SIZE_MAX ? FW_FEATURE_NONE : w->scratch->fields[position].index[record];
}

/* Reads the time of an event; without it the history has no order. */
static furrow_status read_event(const work *w, size_t record, fw_event *event, furrow_error *err) {
  const fw_dictionary *d = &w->encoder->dictionary;
  const size_t slot = w->view->time;
  *event = (fw_event){event_feature(w, d->user_field, record), event_feature(w, d->item_field, record), 0};
  if (slot == SIZE_MAX) return FURROW_OK;
  const fw_time_cells *t = &w->scratch->times;
  const char *bad = t->missing[record] ? "the time is missing, which the history needs" : t->bad[record];
  event->time = t->seconds[record];
  return bad ? refuse_cell(w, slot, record, bad, err) : FURROW_OK;
}

static furrow_status read_events(const work *w, fw_encode_out *out, furrow_error *err) {
  FW_TRY(FW_GROW(&out->events, &out->event_capacity, out->event_count + w->batch->records, err));
  if (w->view->time != SIZE_MAX) fw_time_cells_read(&w->scratch->times, w->batch, w->view->time, w->view->time_column);
  for (size_t i = 0; i < w->batch->records; i++) {
    FW_TRY(read_event(w, i, &out->events[out->event_count], err));
    out->event_count += !w->scratch->bad[i];
  }
  return FURROW_OK;
}

static ALWAYS_INLINE void put_row(const work *w, size_t record, target *t) {
  furrow_container *rows = t->rows;
  const fw_encode_view *view = w->view;
  const fw_dictionary *d = &w->encoder->dictionary;
  ((float *)rows->label)[rows->rows] = w->scratch->label[record];
  if (view->weight != SIZE_MAX) rows->weight[rows->rows] = w->scratch->weight[record];
  if (view->group != SIZE_MAX) rows->qid[rows->rows] = w->scratch->group[record];
  put_cells(w, record, t);
  for (size_t k = 0; k < view->table_count; k++) {
    const size_t key = joined_of(w, k)[record];
    if (key != FW_STRING_TABLE_NONE) put_joined(&d->tables[k], key, t);
  }
  put_crosses(w, record, t);
  rows->offset[++rows->rows] = t->at;
}

static ALWAYS_INLINE void put_good(const work *w, furrow_container *rows, furrow_key_type type) {
  target t = {rows, type, rows->index, rows->field, rows->value, rows->features};
  for (size_t i = 0; i < w->batch->records; i++)
    if (!w->scratch->bad[i]) put_row(w, i, &t);
  rows->features = t.at;
}

static furrow_status put_rows(const work *w, fw_encode_out *out, furrow_error *err) {
  const fw_encode_view *view = w->view;
  furrow_container *rows = out->rows;
  size_t features = count_features(w);
  unsigned columns = FW_COLUMN_LABEL | FW_COLUMN_FIELD | FW_COLUMN_VALUE;
  FW_TRY(find_joined(w, &features, err));
  if (view->weight != SIZE_MAX) columns |= FW_COLUMN_WEIGHT;
  if (view->group != SIZE_MAX) columns |= FW_COLUMN_QID;
  FW_TRY(fw_container_reserve(rows, rows->rows + w->batch->records, rows->features + features, columns, err));
  rows->has_label = out->with_label;
  rows->has_weight = view->weight != SIZE_MAX;
  rows->has_qid = view->group != SIZE_MAX;
  rows->has_field = true;
  rows->has_value = w->encoder->has_values;
  if (rows->key_type == FURROW_KEY_U32)
    put_good(w, rows, FURROW_KEY_U32);
  else
    put_good(w, rows, FURROW_KEY_U64);
  return FURROW_OK;
}

/* ---- A batch -------------------------------------------------------------------------------------------- */

static void select_always(fw_encode_scratch *s, size_t position) {
  s->selection.always[position / 64] |= (uint64_t)1 << position % 64;
}

static furrow_status make_fields(const work *w, furrow_error *err) {
  fw_encode_scratch *s = w->scratch;
  if (s->fields) return FURROW_OK;
  const fw_dictionary *d = &w->encoder->dictionary;
  const fw_encode_view *view = w->view;
  const size_t count = view->field_count + view->cross_count;
  FW_TRY(fw_field_selection_init(&s->selection, view, err));
  FW_TRY(FW_ALLOC_ZERO(&s->fields, count, err));
  s->field_count = count;
  for (size_t i = 0; i < count; i++) s->fields[i].present = FW_FEATURE_NONE;
  for (size_t i = 0; i < view->field_count; i++) {
    const fw_field *field = &d->fields[view->fields[i]];
    if (has_missing_feature(d, field)) select_always(s, i);
    if (field->sparse && fw_field_is_number(field)) s->fields[i].present = field->first + field->size - 1;
  }
  for (size_t f = 0; f < view->cross_count; f++) {
    const fw_field *cross = &d->fields[view->crosses[f]];
    for (size_t k = 0; k < cross->crossed_count; k++) select_always(s, view->positions[cross->crossed[k]]);
  }
  if (!view->events) return FURROW_OK;
  if (view->positions[d->user_field] != SIZE_MAX) select_always(s, view->positions[d->user_field]);
  if (view->positions[d->item_field] != SIZE_MAX) select_always(s, view->positions[d->item_field]);
  return FURROW_OK;
}

static furrow_status encode_field(const work *w, const fw_field *field, size_t slot, fw_encoded_field *made,
                                  furrow_error *err) {
  switch (field->kind) {
  case FW_FIELD_CATEGORY: return encode_category(w, field, slot, made, err);
  case FW_FIELD_SET:
  case FW_FIELD_WORDS: return encode_list(w, field, slot, made, err);
  case FW_FIELD_PART:
  case FW_FIELD_AGE: return encode_time(w, field, slot, made, err);
  default: return encode_number(w, field, slot, made, err);
  }
}

furrow_status fw_encode_batch(const furrow_encoder *encoder, const fw_encode_view *view, const fw_table *table,
                              const fw_table_cursor *cursor, const fw_table_batch *batch, fw_encode_scratch *scratch,
                              fw_encode_out *out, furrow_error *err) {
  const work w = {encoder, view, table, cursor, batch, scratch};
  memset(scratch->bad, 0, sizeof scratch->bad);
  scratch->times.read = false;
  FW_TRY(make_fields(&w, err));
  fw_field_selection_set(&scratch->selection, view, batch);
  for (size_t k = 0; k < scratch->selection.count; k++) {
    const size_t i = scratch->selection.fields[k];
    const fw_field *field = &encoder->dictionary.fields[view->fields[i]];
    FW_TRY(encode_field(&w, field, view->field_slot[i], &scratch->fields[i], err));
  }
  FW_TRY(encode_crosses(&w, err));
  FW_TRY(read_labels(&w, out->with_label, err));
  FW_TRY(read_weights(&w, err));
  read_groups(&w);
  FW_TRY(check_keys(&w, err));
  if (view->events) FW_TRY(read_events(&w, out, err));
  return out->rows ? put_rows(&w, out, err) : FURROW_OK;
}
