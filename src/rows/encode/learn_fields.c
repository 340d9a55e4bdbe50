/* rows/encode/learn_fields.c: counts texts and measures numbers, with the same result for any number of threads. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "rows/encode/learn_fields.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void fw_learned_clear(fw_learned *learned) {
  fw_text_counter_clear(&learned->texts);
  fw_number_stats_clear(&learned->numbers);
}

bool fw_field_learns(const fw_field *field) {
  switch (field->kind) {
  case FW_FIELD_CATEGORY:
  case FW_FIELD_SET:
  case FW_FIELD_WORDS: return field->hash_bits == 0;
  case FW_FIELD_NUMBER: return field->column->scale != FW_SCALE_NONE;
  case FW_FIELD_BINS:
  case FW_FIELD_AGE: return true;
  default: return false;
  }
}

/* ---- One thread ----------------------------------------------------------------------------------------- */

/* The numbers of a field in a batch. */
typedef struct number_cells {
  double *numbers;
  bool *missing;
} number_cells;

typedef struct learner {
  const furrow_encoder *encoder;
  const fw_encode_view *view;
  const fw_table *table;
  const fw_table_cursor *cursor;
  const fw_table_batch *batch;
  bool *found; /* for each slot: whether some record has the column */
  /* the following arrays are made for the first batch */
  fw_learned *learned; /* statistics of all fields */
  fw_field_selection selection;
  double *numbers;     /* for each field of the view, as many as a batch has records */
  bool *missing;       /* the same: whether the number is missing */
  fw_time_cells times; /* times of the column that was read last */
  bool bad[FW_TABLE_RECORDS];
  fw_buffer word;
  uint64_t piece, record; /* position of the batch in the data */
} learner;

static const fw_field *field_at(const learner *l, size_t i) {
  return &l->encoder->dictionary.fields[l->view->fields[i]];
}

static const fw_table_cell *cells_of(const learner *l, size_t slot) {
  return fw_table_cells(l->batch, slot);
}

/* ---- Which records count ---- */

static furrow_status refuse_cell(learner *l, size_t slot, size_t record, const char *message, furrow_error *err) {
  if (l->bad[record]) return FURROW_OK;
  l->bad[record] = true;
  return fw_table_refuse(l->table, l->cursor, l->batch, slot, record, message, err);
}

static number_cells numbers_of(const learner *l, size_t i) {
  return (number_cells){l->numbers + i * l->batch->capacity, l->missing + i * l->batch->capacity};
}

static furrow_status read_times(learner *l, const fw_field *field, size_t slot, number_cells to, furrow_error *err) {
  const fw_time_cells *t = &l->times;
  fw_time_cells_read(&l->times, l->batch, slot, field->column);
  for (size_t i = 0; i < l->batch->records; i++)
    if (t->bad[i]) FW_TRY(refuse_cell(l, slot, i, t->bad[i], err));
  memcpy(to.numbers, t->seconds, l->batch->records * sizeof *to.numbers);
  memcpy(to.missing, t->missing, l->batch->records * sizeof *to.missing);
  return FURROW_OK;
}

static furrow_status read_numbers(learner *l, const fw_field *field, size_t slot, number_cells to, furrow_error *err) {
  const fw_table_cell *cells = cells_of(l, slot);
  for (size_t i = 0; i < l->batch->records; i++) {
    const char *bad = fw_cell_number(&cells[i], field->column, &to.numbers[i], &to.missing[i]);
    if (bad) FW_TRY(refuse_cell(l, slot, i, bad, err));
  }
  return FURROW_OK;
}

static furrow_status ignore_element(void *user, const fw_cell_element *element, furrow_error *err) {
  (void)user, (void)element, (void)err;
  return FURROW_OK;
}

static furrow_status check_values(learner *l, const fw_field *field, size_t slot, furrow_error *err) {
  for (size_t i = 0; i < l->batch->records; i++) {
    const char *bad;
    FW_TRY(fw_cell_elements(&cells_of(l, slot)[i], field->column, &l->word, ignore_element, NULL, &bad, err));
    if (bad) FW_TRY(refuse_cell(l, slot, i, bad, err));
  }
  return FURROW_OK;
}

static furrow_status check_single(learner *l, size_t slot, furrow_error *err) {
  const fw_table_cell *cells = cells_of(l, slot);
  for (size_t i = 0; i < l->batch->records; i++)
    if (fw_cell_is_list(&cells[i])) FW_TRY(refuse_cell(l, slot, i, "a list, but one value is expected", err));
  return FURROW_OK;
}

static furrow_status check_field(learner *l, size_t i, furrow_error *err) {
  const fw_field *field = field_at(l, i);
  const size_t slot = l->view->field_slot[i];
  switch (field->kind) {
  case FW_FIELD_CATEGORY: return check_single(l, slot, err);
  case FW_FIELD_SET: return field->column->values ? check_values(l, field, slot, err) : FURROW_OK;
  case FW_FIELD_NUMBER:
  case FW_FIELD_BINS: return read_numbers(l, field, slot, numbers_of(l, i), err);
  case FW_FIELD_PART:
  case FW_FIELD_AGE: return read_times(l, field, slot, numbers_of(l, i), err);
  default: return FURROW_OK;
  }
}

/* Checks the cells that are not features: the label, the weight, the key of a table. */
static furrow_status check_others(learner *l, furrow_error *err) {
  const fw_encode_view *view = l->view;
  for (size_t i = 0; i < l->batch->records; i++) {
    float number;
    const char *bad = NULL;
    if (view->label != SIZE_MAX) bad = fw_cell_label(&cells_of(l, view->label)[i], view->label_column, &number);
    if (bad) FW_TRY(refuse_cell(l, view->label, i, bad, err));
    bad = NULL;
    if (view->weight != SIZE_MAX) bad = fw_cell_weight(&cells_of(l, view->weight)[i], view->weight_column, &number);
    if (bad) FW_TRY(refuse_cell(l, view->weight, i, bad, err));
    if (view->key != SIZE_MAX && cells_of(l, view->key)[i].kind != FW_TABLE_TEXT)
      FW_TRY(refuse_cell(l, view->key, i, "the key is missing", err));
  }
  return FURROW_OK;
}

/* ---- Counting and measuring ---- */

/* Cells whose texts are counted at a time: the parts of the counter that they need stay in the first-level cache. */
enum { COUNTED = 64 };

static furrow_status count_some(fw_learned *learned, const fw_table_cell *cells, const bool *bad, size_t n,
                                furrow_error *err) {
  uint64_t hashes[COUNTED];
  for (size_t i = 0; i < n; i++) {
    hashes[i] = XXH3_64bits(cells[i].text, cells[i].length);
    fw_text_counter_prefetch(&learned->texts, hashes[i]);
  }
  for (size_t i = 0; i < n; i++) fw_text_counter_prefetch_record(&learned->texts, hashes[i]);
  for (size_t i = 0; i < n; i++) {
    if (bad[i] || cells[i].kind == FW_TABLE_MISSING) continue;
    learned->present++;
    FW_TRY(fw_text_counter_add(&learned->texts, hashes[i], cells[i].text, cells[i].length, 1, err));
  }
  return FURROW_OK;
}

static furrow_status count_texts(const learner *l, fw_learned *learned, size_t slot, furrow_error *err) {
  const fw_table_cell *cells = cells_of(l, slot);
  const size_t n = l->batch->records;
  for (size_t i = 0; i < n; i += COUNTED)
    FW_TRY(count_some(learned, cells + i, l->bad + i, n - i < COUNTED ? n - i : COUNTED, err));
  return FURROW_OK;
}

typedef struct counted_cell {
  fw_text_counter *texts; /* NULL: hashed, so nothing is counted */
  size_t elements;
} counted_cell;

static furrow_status count_element(void *user, const fw_cell_element *element, furrow_error *err) {
  counted_cell *cell = user;
  cell->elements++;
  const uint64_t hash = XXH3_64bits(element->text, element->length);
  return fw_text_counter_add(cell->texts, hash, element->text, element->length, 1, err);
}

static furrow_status count_elements(learner *l, const fw_field *field, fw_learned *learned, size_t slot,
                                    furrow_error *err) {
  const fw_table_cell *cells = cells_of(l, slot);
  for (size_t i = 0; i < l->batch->records; i++) {
    const char *bad;
    counted_cell cell = {.texts = &learned->texts};
    if (l->bad[i]) continue;
    FW_TRY(fw_cell_elements(&cells[i], field->column, &l->word, count_element, &cell, &bad, err));
    learned->present += cell.elements > 0;
  }
  return FURROW_OK;
}

static furrow_status measure_numbers(const learner *l, const fw_field *field, fw_learned *learned, number_cells cells,
                                     furrow_error *err) {
  const bool learns = fw_field_learns(field);
  for (size_t i = 0; i < l->batch->records; i++) {
    if (l->bad[i] || cells.missing[i]) continue;
    learned->present++;
    if (learns) FW_TRY(fw_number_stats_add(&learned->numbers, l->piece, l->record + i, cells.numbers[i], err));
  }
  return FURROW_OK;
}

static furrow_status learn_field(learner *l, size_t i, furrow_error *err) {
  const fw_field *field = field_at(l, i);
  const size_t slot = l->view->field_slot[i];
  fw_learned *learned = &l->learned[l->view->fields[i]];
  if (field->kind > FW_FIELD_WORDS) return measure_numbers(l, field, learned, numbers_of(l, i), err);
  if (field->hash_bits) return FURROW_OK;
  if (field->kind == FW_FIELD_CATEGORY) return count_texts(l, learned, slot, err);
  return count_elements(l, field, learned, slot, err);
}

static void find_slots(learner *l) {
  for (size_t k = 0; k < l->batch->filled_count; k++) {
    const size_t s = l->batch->filled[k];
    for (size_t i = 0; i < l->batch->records && !l->found[s]; i++)
      l->found[s] = cells_of(l, s)[i].kind != FW_TABLE_MISSING;
  }
}

static furrow_status make_arrays(learner *l, size_t records, furrow_error *err) {
  FW_TRY(fw_field_selection_init(&l->selection, l->view, err));
  FW_TRY(FW_ALLOC_ROWS(&l->numbers, l->view->field_count, records, err));
  FW_TRY(FW_ALLOC_ROWS(&l->missing, l->view->field_count, records, err));
  return FW_ALLOC_ZERO(&l->learned, l->encoder->dictionary.count, err);
}

static furrow_status take_batch(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  learner *l = user;
  if (l->piece != piece) l->record = 0;
  l->piece = piece;
  l->cursor = cursor;
  l->batch = batch;
  l->times.read = false;
  memset(l->bad, 0, sizeof l->bad);
  if (!l->learned) FW_TRY(make_arrays(l, batch->capacity, err));
  find_slots(l);
  fw_field_selection_set(&l->selection, l->view, batch);
  for (size_t k = 0; k < l->selection.count; k++) FW_TRY(check_field(l, l->selection.fields[k], err));
  FW_TRY(check_others(l, err));
  for (size_t k = 0; k < l->selection.count; k++) FW_TRY(learn_field(l, l->selection.fields[k], err));
  l->record += batch->records;
  return FURROW_OK;
}

/* ---- All threads ---------------------------------------------------------------------------------------- */

static furrow_status make_learner(learner *l, const furrow_encoder *encoder, const fw_encode_view *view,
                                  const fw_table *table, furrow_error *err) {
  *l = (learner){.encoder = encoder, .view = view, .table = table, .piece = UINT64_MAX};
  return FW_ALLOC_ZERO(&l->found, view->slots, err);
}

static void clear_learner(learner *l) {
  for (size_t i = 0; l->learned && i < l->encoder->dictionary.count; i++) fw_learned_clear(&l->learned[i]);
  fw_free(l->learned);
  fw_free(l->found);
  fw_field_selection_clear(&l->selection);
  fw_free(l->numbers);
  fw_free(l->missing);
  fw_buffer_clear(&l->word);
}

/* Adds the statistics of a learner; if there are none yet, moves them. */
static furrow_status gather_learned(fw_learned *all, learner *l, furrow_error *err) {
  for (size_t i = 0; l->learned && i < l->view->field_count; i++) {
    fw_learned *one = &l->learned[l->view->fields[i]], *sum = &all[l->view->fields[i]];
    if (sum->present == 0) {
      *sum = *one;
      memset(one, 0, sizeof *one);
      continue;
    }
    FW_TRY(fw_text_counter_merge(&sum->texts, &one->texts, err));
    FW_TRY(fw_number_stats_merge(&sum->numbers, &one->numbers, err));
    sum->present += one->present;
  }
  return FURROW_OK;
}

/* Combines the results of all learners in the slots of the first learner. */
static furrow_status join_found(learner *learners, uint32_t threads, const furrow_comm *comm, furrow_error *err) {
  const size_t slots = learners[0].view->slots;
  void *memory = NULL;
  size_t bytes = 0;
  for (size_t s = 0; s < slots; s++)
    for (uint32_t i = 1; i < threads; i++) learners[0].found[s] |= learners[i].found[s];
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_gather_all(comm, learners[0].found, slots * sizeof(bool), &memory, &bytes, NULL, err));
  const bool *all = memory;
  for (size_t i = 0; i < slots * comm->ranks; i++) learners[0].found[i % slots] |= all[i];
  fw_free(memory);
  return FURROW_OK;
}

/* Whether few records of the log that a dictionary learned from before had a cell of the column. */
static bool is_rare(const learner *l, size_t slot) {
  const fw_encode_view *view = l->view;
  bool rare = view->slot_begin[slot] < view->slot_begin[slot + 1];
  for (size_t k = view->slot_begin[slot]; k < view->slot_begin[slot + 1]; k++)
    rare &= field_at(l, view->slot_fields[k])->sparse;
  return rare;
}

/* Formats without a header may have any columns: a column that no record has is an error. */
static furrow_status check_found(const fw_table_layout *layout, const learner *l, furrow_error *err) {
  const fw_encode_view *view = l->view;
  for (size_t s = 0; s < view->slots; s++) {
    const bool found = l->found[s] || is_rare(l, s) || fw_table_layout_column(layout, view->names[s]) != SIZE_MAX;
    if (!found) return fw_fail(err, FURROW_E_FORMAT, "no record has the column %s of the schema", view->names[s]);
  }
  return FURROW_OK;
}

static furrow_status scan_source(fw_table_source *source, const fw_table *table, const fw_table_scan_params *params,
                                 learner *learners, uint32_t threads, furrow_parser_stats *stats, furrow_error *err) {
  void **users;
  FW_TRY(FW_ALLOC(&users, threads, err));
  for (uint32_t i = 0; i < threads; i++) users[i] = &learners[i];
  const furrow_status status = fw_table_scan(source, table, params, users, take_batch, stats, err);
  fw_free((void *)users);
  return status;
}

/* Joins the statistics of this rank's threads, then of all ranks. */
static furrow_status join_learned(const fw_table_layout *layout, learner *learners, uint32_t threads,
                                  const furrow_comm *comm, fw_learned *learned, furrow_parser_stats *stats,
                                  furrow_error *err) {
  FW_TRY(fw_rank_stats_join(comm, stats, err));
  FW_TRY(join_found(learners, threads, comm, err));
  if (stats->rows > 0) FW_TRY(check_found(layout, learners, err));
  furrow_status status = FURROW_OK;
  for (uint32_t i = 0; i < threads && status == FURROW_OK; i++) status = gather_learned(learned, &learners[i], err);
  FW_TRY(fw_comm_all_ok(comm, status, err));
  const fw_encode_view *view = learners[0].view;
  for (size_t i = 0; i < view->field_count; i++) {
    FW_TRY(fw_learned_join(&learned[view->fields[i]], comm, err));
    learned[view->fields[i]].missing = stats->rows - learned[view->fields[i]].present;
  }
  return FURROW_OK;
}

furrow_status fw_learn_fields(fw_table_source *source, const furrow_encoder *encoder, const fw_encode_view *view,
                              const fw_table_scan_params *params, const furrow_comm *comm, fw_learned *learned,
                              furrow_parser_stats *stats, furrow_error *err) {
  const uint32_t threads = fw_table_scan_threads(params);
  fw_table *table = NULL;
  learner *learners = NULL;
  furrow_status status = FW_ALLOC_ZERO(&learners, threads, err);
  if (status == FURROW_OK)
    status = fw_table_create(&table, fw_table_source_layout(source), view->names, view->slots, NULL, err);
  for (uint32_t i = 0; i < threads && status == FURROW_OK; i++)
    status = make_learner(&learners[i], encoder, view, table, err);
  if (status == FURROW_OK) status = scan_source(source, table, params, learners, threads, stats, err);
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK)
    status = join_learned(fw_table_source_layout(source), learners, threads, comm, learned, stats, err);
  for (uint32_t i = 0; learners && i < threads; i++) clear_learner(&learners[i]);
  fw_free(learners);
  fw_table_free(table);
  return status;
}

/* ---- All ranks ------------------------------------------------------------------------------------------ */

/* The message about a field's statistics; the texts, sums and sampled numbers follow it. */
typedef struct sent_field {
  uint64_t present, text_bytes, numbers, sampled;
  double least, most;
} sent_field;

static furrow_status write_learned(const fw_learned *learned, fw_buffer *out, furrow_error *err) {
  const fw_number_stats *numbers = &learned->numbers;
  const sent_field head = {.present = learned->present,
                           .text_bytes = learned->texts.size,
                           .numbers = numbers->count,
                           .sampled = numbers->sampled,
                           .least = numbers->least,
                           .most = numbers->most};
  fw_buffer_append(out, &head, sizeof head);
  fw_buffer_append(out, learned->texts.records, learned->texts.size);
  fw_buffer_append(out, numbers->sums, numbers->count > 0 ? sizeof *numbers->sums : 0);
  fw_buffer_append(out, numbers->sample, numbers->sampled * sizeof *numbers->sample);
  return fw_buffer_status(out, err);
}

/* Adds the statistics in another rank's message and moves *at past it. */
static furrow_status add_learned(fw_learned *sum, char **at, furrow_error *err) {
  sent_field head;
  memcpy(&head, *at, sizeof head);
  char *texts = *at + sizeof head, *after = texts + head.text_bytes;
  char *sample = after + (head.numbers > 0 ? sizeof(fw_number_sums) : 0);
  fw_number_sums sums;
  if (head.numbers > 0) memcpy(&sums, after, sizeof sums);
  *at = sample + head.sampled * sizeof(fw_sampled_number);
  const fw_text_counter counted = {.records = texts, .size = head.text_bytes};
  const fw_number_stats numbers = {.count = head.numbers,
                                   .sums = &sums,
                                   .sample = (fw_sampled_number *)(void *)sample,
                                   .sampled = head.sampled,
                                   .least = head.least,
                                   .most = head.most};
  sum->present += head.present;
  FW_TRY(fw_text_counter_merge(&sum->texts, &counted, err));
  return fw_number_stats_merge(&sum->numbers, &numbers, err);
}

furrow_status fw_learned_join(fw_learned *learned, const furrow_comm *comm, furrow_error *err) {
  fw_buffer mine = {0};
  fw_learned sum = {0};
  void *all = NULL;
  size_t bytes = 0;
  if (comm->ranks == 1) return FURROW_OK;
  furrow_status status = fw_comm_all_ok(comm, write_learned(learned, &mine, err), err);
  if (status == FURROW_OK) status = fw_comm_gather_all(comm, mine.bytes, mine.size, &all, &bytes, NULL, err);
  fw_buffer_clear(&mine);
  if (status != FURROW_OK) return status;
  char *at = all;
  fw_learned_clear(learned);
  *learned = (fw_learned){0};
  for (unsigned r = 0; r < comm->ranks && status == FURROW_OK; r++) status = add_learned(&sum, &at, err);
  fw_free(all);
  *learned = sum;
  return fw_comm_all_ok(comm, status, err);
}

/* ---- The result for a field ----------------------------------------------------------------------------- */

/* The texts of a field: those it had before, then new ones. */
typedef struct text_list {
  const fw_string_table *before; /* NULL: none */
  uint64_t *counts;              /* of these */
  const fw_counted_text **found; /* the new ones, the most frequent first */
  size_t count;
} text_list;

static size_t count_before(const text_list *list) {
  return list->before ? list->before->count : 0;
}

static furrow_status build_texts(const text_list *list, fw_buffer *image, furrow_error *err) {
  enum { AHEAD = 16 };
  const size_t before = count_before(list);
  fw_buffer bytes = {0};
  uint64_t *offsets;
  FW_TRY(FW_ALLOC(&offsets, before + list->count + 1, err));
  for (size_t i = 0; i < before; i++) {
    size_t length;
    const char *text = fw_string_table_text(list->before, i, &length);
    offsets[i] = bytes.size;
    fw_buffer_append(&bytes, text, length);
  }
  for (size_t i = 0; i < list->count; i++) {
    if (i + AHEAD < list->count) __builtin_prefetch(list->found[i + AHEAD]);
    offsets[before + i] = bytes.size;
    fw_buffer_append(&bytes, list->found[i]->text, list->found[i]->length);
  }
  offsets[before + list->count] = bytes.size;
  furrow_status status = fw_buffer_status(&bytes, err);
  const fw_texts texts = {.bytes = bytes.bytes, .offsets = offsets, .count = before + list->count};
  if (status == FURROW_OK) status = fw_string_table_build(image, &texts, NULL, err);
  fw_buffer_clear(&bytes);
  fw_free(offsets);
  return status;
}

/* A table is read again when a dictionary grows, a log is another one. */
static uint64_t add_counts(const fw_field *field, uint64_t before, uint64_t found) {
  if (field->table == SIZE_MAX) return before + found;
  return before > found ? before : found;
}

static bool takes_name(fw_name_limit *limit, uint64_t count) {
  if (!limit || count > limit->count) return true;
  if (count < limit->count || limit->ties == 0) return false;
  limit->ties--;
  return true;
}

/* Texts that are too rare count as unknown. */
static furrow_status keep_texts(fw_field *field, const fw_field *before, text_list *list, fw_name_limit *limit,
                                fw_field_image *image, furrow_error *err) {
  size_t kept = 0, frequent = 0;
  uint64_t unknown = 0;
  while (frequent < list->count && list->found[frequent]->count >= field->column->min_count) frequent++;
  while (kept < frequent && takes_name(limit, list->found[kept]->count)) kept++;
  for (size_t i = kept; i < list->count; i++) unknown += list->found[i]->count;
  if (limit) limit->left_out += frequent - kept;
  field->unknown = add_counts(field, before ? before->unknown : 0, unknown);
  list->count = kept;
  FW_TRY(build_texts(list, &image->texts, err));
  for (size_t i = 0; i < count_before(list); i++) fw_put_u64(&image->counts, list->counts[i]);
  for (size_t i = 0; i < kept; i++) fw_put_u64(&image->counts, list->found[i]->count);
  FW_TRY(fw_buffer_status(&image->counts, err));
  field->size = FW_LOCAL_FIRST + count_before(list) + kept;
  return fw_string_table_open(&field->texts, image->texts.bytes, image->texts.size, err);
}

/* Counts the texts that the field had, and leaves the new ones in the list. */
static furrow_status part_texts(const fw_field *field, const fw_field *before, const fw_text_counter *texts,
                                text_list *list, furrow_error *err) {
  FW_TRY(fw_text_counter_sort(texts, &list->found, err));
  list->count = texts->count;
  if (!before) return FURROW_OK;
  list->before = &before->texts;
  list->count = 0;
  FW_TRY(FW_ALLOC(&list->counts, before->texts.count, err));
  for (size_t i = 0; i < before->texts.count; i++) list->counts[i] = fw_get_le64(before->counts + 8 * i);
  for (size_t i = 0; i < texts->count; i++) {
    const fw_counted_text *text = list->found[i];
    const size_t known = fw_string_table_find_hashed(&before->texts, text->hash, text->text, text->length);
    if (known == FW_STRING_TABLE_NONE)
      list->found[list->count++] = text;
    else
      list->counts[known] = add_counts(field, list->counts[known], text->count);
  }
  return FURROW_OK;
}

static void clear_texts(text_list *list) {
  fw_free((void *)list->found);
  fw_free(list->counts);
}

static furrow_status finish_texts(fw_field *field, const fw_field *before, const fw_text_counter *texts,
                                  fw_name_limit *limit, fw_field_image *image, furrow_error *err) {
  text_list list = {0};
  furrow_status status = part_texts(field, before, texts, &list, err);
  if (status == FURROW_OK) status = keep_texts(field, before, &list, limit, image, err);
  clear_texts(&list);
  return status;
}

furrow_status fw_learned_new_counts(const fw_field *field, const fw_field *before, const fw_learned *learned,
                                    fw_buffer *counts, furrow_error *err) {
  text_list list = {0};
  furrow_status status = part_texts(field, before, &learned->texts, &list, err);
  for (size_t i = 0; status == FURROW_OK && i < list.count && list.found[i]->count >= field->column->min_count; i++)
    fw_buffer_append(counts, &list.found[i]->count, sizeof list.found[i]->count);
  clear_texts(&list);
  return status == FURROW_OK ? fw_buffer_status(counts, err) : status;
}

static furrow_status finish_bins(fw_field *field, fw_number_stats *numbers, fw_field_image *image, furrow_error *err) {
  double edges[FW_BINS_MOST];
  field->edge_count = fw_number_stats_edges(numbers, field->column->bins, edges);
  for (size_t i = 0; i < field->edge_count; i++) fw_put_f64(&image->edges, edges[i]);
  field->edges = (const unsigned char *)image->edges.bytes;
  field->size = field->edge_count + 2;
  return fw_buffer_status(&image->edges, err);
}

static void finish_number(fw_field *field, fw_number_stats *numbers) {
  uint64_t count;
  double mean, deviation;
  fw_number_stats_moments(numbers, &count, &mean, &deviation);
  field->size = 2;
  field->factor = 1;
  if (field->kind == FW_FIELD_AGE) {
    field->newest = numbers->most;
    mean = (numbers->most - mean) / 86400;
    deviation /= 86400;
  }
  if (!fw_field_learns(field)) return;
  field->mean = mean;
  if (deviation > 0 && isfinite(1 / deviation)) field->factor = 1 / deviation;
}

/* Whether fewer than a quarter of the records have a cell: then missing cells must not be features, because there may
 * be far more of them than bytes in the log. */
static bool is_sparse(const fw_learned *learned) {
  return learned->missing > 3 * learned->present;
}

/* The values of a number stay what they were: scaled in the same way, in the same bins. */
static furrow_status keep_numbers(fw_field *field, const fw_field *before, fw_field_image *image, furrow_error *err) {
  field->size = before->size;
  field->mean = before->mean;
  field->factor = before->factor;
  field->newest = before->newest;
  field->edge_count = before->edge_count;
  if (before->edge_count > 0) fw_buffer_append(&image->edges, before->edges, 8 * before->edge_count);
  field->edges = (const unsigned char *)image->edges.bytes;
  return fw_buffer_status(&image->edges, err);
}

furrow_status fw_learned_finish(fw_field *field, const fw_field *before, fw_learned *learned, fw_name_limit *limit,
                                fw_field_image *image, furrow_error *err) {
  field->missing = add_counts(field, before ? before->missing : 0, learned->missing);
  field->sparse = before ? before->sparse : fw_field_has_missing(field) && is_sparse(learned);
  if (before && !fw_field_has_texts(field) && field->kind != FW_FIELD_HISTORY)
    return keep_numbers(field, before, image, err);
  switch (field->kind) {
  case FW_FIELD_CATEGORY:
  case FW_FIELD_SET:
  case FW_FIELD_WORDS:
    if (field->hash_bits == 0) return finish_texts(field, before, &learned->texts, limit, image, err);
    field->missing = 0;
    field->size = (uint64_t)1 << field->hash_bits;
    return FURROW_OK;
  case FW_FIELD_BINS: return finish_bins(field, &learned->numbers, image, err);
  case FW_FIELD_NUMBER:
  case FW_FIELD_AGE: finish_number(field, &learned->numbers); return FURROW_OK;
  case FW_FIELD_PART: field->size = (uint64_t)fw_time_part_values(field->part) + 1; return FURROW_OK;
  case FW_FIELD_CROSS: field->size = (uint64_t)1 << field->hash_bits; return FURROW_OK;
  case FW_FIELD_HISTORY: return FURROW_OK; /* as many as there are items */
  }
  return FURROW_OK;
}
