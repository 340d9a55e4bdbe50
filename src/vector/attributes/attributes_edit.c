/* vector/attributes/attributes_edit.c: changes attributes: sets values, removes and merges rows, joins tables. A change
 * rebuilds all bytes. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "base/params.h"
#include "furrow/vector_data.h"
#include "vector/attributes/attribute_rows.h"
#include "vector/data/id_filter.h"

/* ---- Rows that are put together ------------------------------------------------------------------------- */

/* A row of a source, by the id that it gets. */
typedef struct id_row {
  int64_t id;
  size_t row;
} id_row;

/* The rows of new attributes: ids, and the rows of two sources. */
typedef struct plan {
  int64_t *ids;
  size_t *rows[2];
  size_t count;
} plan;

static furrow_status plan_create(plan *p, size_t most, furrow_error *err) {
  *p = (plan){0};
  furrow_status status = FW_ALLOC(&p->ids, most, err);
  for (int s = 0; status == FURROW_OK && s < 2; s++) status = FW_ALLOC(&p->rows[s], most, err);
  return status;
}

static void plan_clear(plan *p) {
  fw_free(p->ids);
  fw_free(p->rows[0]);
  fw_free(p->rows[1]);
}

static void plan_add(plan *p, int64_t id, size_t first, size_t second) {
  p->ids[p->count] = id;
  p->rows[0][p->count] = first;
  p->rows[1][p->count++] = second;
}

/* Replaces attributes by the rows of the plan; other NULL: there is one source. */
static furrow_status carry_out(furrow_attributes *attributes, const furrow_attributes *other, const plan *p,
                               furrow_error *err) {
  fw_buffer image = {0};
  furrow_status status = fw_attributes_gather(&image, (const furrow_attributes *const[]){attributes, other},
                                              (const size_t *const[]){p->rows[0], p->rows[1]}, p->ids, p->count, err);
  if (status == FURROW_OK) status = fw_attributes_replace(attributes, &image, err);
  fw_buffer_clear(&image);
  return status;
}

static int by_id(const void *a, const void *b) {
  const id_row *x = a, *y = b;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static void sort_rows(id_row *list, size_t n) {
  size_t i = 1;
  while (i < n && list[i - 1].id <= list[i].id) i++;
  if (i < n) qsort(list, n, sizeof *list, by_id);
}

/* All rows of `attributes` and those of a sorted list, which belong to `other`. */
static furrow_status unite(furrow_attributes *attributes, const furrow_attributes *other, const id_row *list, size_t n,
                           furrow_error *err) {
  plan p;
  size_t most = 0, at = 0;
  if (!fw_size_add(attributes->count, n, &most)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = plan_create(&p, most, err);
  for (size_t i = 0; status == FURROW_OK && i < attributes->count; i++) {
    const int64_t id = fw_attributes_id(attributes, i);
    for (; at < n && list[at].id < id; at++) plan_add(&p, list[at].id, SIZE_MAX, list[at].row);
    const bool both = at < n && list[at].id == id;
    plan_add(&p, id, i, both ? list[at].row : SIZE_MAX);
    at += both;
  }
  for (; status == FURROW_OK && at < n; at++) plan_add(&p, list[at].id, SIZE_MAX, list[at].row);
  if (status == FURROW_OK) status = carry_out(attributes, other, &p, err);
  plan_clear(&p);
  return status;
}

/* ---- Changes -------------------------------------------------------------------------------------------- */

furrow_status furrow_attributes_create(furrow_attributes **attributes, furrow_error *err) {
  return fw_attributes_from_columns(attributes, NULL, 0, 0, err);
}

furrow_status furrow_attributes_set(furrow_attributes *attributes, const int64_t *ids, size_t n,
                                    const furrow_column *columns, size_t count, furrow_error *err) {
  furrow_attributes *added = NULL;
  id_row *list = NULL;
  furrow_status status = fw_attributes_from_columns(&added, columns, count, n, err);
  if (status == FURROW_OK) status = FW_ALLOC(&list, n, err);
  for (size_t i = 0; status == FURROW_OK && i < n; i++) list[i] = (id_row){.id = ids[i], .row = i};
  if (status == FURROW_OK) sort_rows(list, n);
  for (size_t i = 1; status == FURROW_OK && i < n; i++)
    if (list[i].id == list[i - 1].id)
      status = fw_fail(err, FURROW_E_ARGUMENT, "id %" PRId64 " comes twice", list[i].id);
  if (status == FURROW_OK) status = unite(attributes, added, list, n, err);
  fw_free(list);
  furrow_attributes_free(added);
  return status;
}

furrow_status furrow_attributes_remove(furrow_attributes *attributes, const furrow_id_filter *filter, bool renumber,
                                       furrow_error *err) {
  furrow_id_filter full;
  plan p;
  FW_TRY(fw_id_filter_read(&full, filter, err));
  furrow_status status = plan_create(&p, attributes->count, err);
  for (size_t i = 0; status == FURROW_OK && i < attributes->count; i++) {
    const int64_t id = fw_attributes_id(attributes, i);
    if (fw_id_filter_keeps_id(&full, id)) continue;
    plan_add(&p, renumber ? id - (int64_t)(i - p.count) : id, i, SIZE_MAX);
  }
  if (status == FURROW_OK) status = carry_out(attributes, NULL, &p, err);
  plan_clear(&p);
  return status;
}

furrow_status furrow_attributes_merge(furrow_attributes *attributes, const furrow_attributes *other, int64_t id_shift,
                                      furrow_error *err) {
  id_row *list = NULL;
  furrow_status status = FW_ALLOC(&list, other->count, err);
  for (size_t i = 0; status == FURROW_OK && i < other->count; i++) {
    list[i].row = i;
    const int64_t id = fw_attributes_id(other, i);
    if (__builtin_add_overflow(id, id_shift, &list[i].id))
      status = fw_fail(err, FURROW_E_RANGE, "id %" PRId64 " would be too large", id);
  }
  if (status == FURROW_OK) status = unite(attributes, other, list, other->count, err);
  fw_free(list);
  return status;
}

/* ---- Attributes of an index ----------------------------------------------------------------------------- */

/* A join of a table with the ids of an index. */
typedef struct joining {
  const furrow_id_names *names;
  const furrow_columns *table;
  const furrow_column *key;
  furrow_ids ids; /* of the index, ascending, each once */
  id_row *list;   /* rows of the table by id */
  size_t listed;
  furrow_attributes *made; /* the other columns of the table */
  furrow_attributes_fit fit;
} joining;

static furrow_status fail_key(const joining *j, size_t row, furrow_status status, const char *message,
                              furrow_error *err) {
  const char *text = j->key->texts[row];
  fw_fail(err, status, "row %zu, column %s: %s", row + 1, j->key->name, message);
  if (text) fw_error_set_token(err, text, strlen(text));
  return status;
}

static furrow_status find_key(joining *j, const char *key, furrow_error *err) {
  for (size_t i = 0; i < j->table->count; i++)
    if (strcmp(j->table->columns[i].name, key) == 0) j->key = &j->table->columns[i];
  if (j->key && j->key->type == FURROW_COLUMN_TEXT) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "the table has no column of texts that tells which vector a row belongs to");
  fw_error_set_token(err, key, strlen(key));
  return FURROW_E_ARGUMENT;
}

/* Finds the id of a row. *known: it has one, which may not be in the index. */
static furrow_status id_of_row(const joining *j, size_t row, int64_t *id, bool *known, furrow_error *err) {
  const char *text = j->key->texts[row];
  bool overflow = false;
  if (!text) return fail_key(j, row, FURROW_E_PARSE, "a row does not tell which vector it belongs to", err);
  const size_t size = strlen(text);
  *known = j->names ? furrow_id_names_find(j->names, text, size, id) : true;
  if (j->names || (fw_read_i64(text, text + size, id, &overflow) == text + size && !overflow)) return FURROW_OK;
  return fail_key(j, row, FURROW_E_PARSE, "this is not an id", err);
}

static furrow_status list_rows(joining *j, furrow_error *err) {
  FW_TRY(FW_ALLOC(&j->list, j->table->rows, err));
  for (size_t row = 0; row < j->table->rows; row++) {
    id_row *next = &j->list[j->listed];
    bool known = false;
    next->row = row;
    FW_TRY(id_of_row(j, row, &next->id, &known, err));
    if (known)
      j->listed++;
    else
      j->fit.left_out++;
  }
  sort_rows(j->list, j->listed);
  for (size_t i = 1; i < j->listed; i++)
    if (j->list[i].id == j->list[i - 1].id)
      return fail_key(j, j->list[i].row, FURROW_E_EXISTS, "two rows belong to the same vector", err);
  return FURROW_OK;
}

/* Makes attributes of the columns other than the key. */
static furrow_status take_columns(joining *j, furrow_error *err) {
  furrow_column *columns = NULL;
  size_t count = 0;
  FW_TRY(FW_ALLOC(&columns, j->table->count, err));
  for (size_t i = 0; i < j->table->count; i++)
    if (&j->table->columns[i] != j->key) columns[count++] = j->table->columns[i];
  const furrow_status status = fw_attributes_from_columns(&j->made, columns, count, j->table->rows, err);
  fw_free(columns);
  return status;
}

static int compare_ids(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Makes ids ascending, each once. */
static void sort_ids(furrow_ids *ids) {
  size_t kept = 0;
  qsort(ids->ids, ids->count, sizeof *ids->ids, compare_ids);
  for (size_t i = 0; i < ids->count; i++)
    if (i == 0 || ids->ids[i] != ids->ids[i - 1]) ids->ids[kept++] = ids->ids[i];
  ids->count = kept;
}

static furrow_status plan_join(joining *j, const furrow_attributes *before, plan *p, furrow_error *err) {
  size_t at = 0;
  FW_TRY(plan_create(p, j->ids.count, err));
  for (size_t i = 0; i < j->ids.count; i++) {
    const int64_t id = j->ids.ids[i];
    const size_t old = fw_attributes_row(before, id);
    while (at < j->listed && j->list[at].id < id) at++;
    const bool matched = at < j->listed && j->list[at].id == id;
    j->fit.matched += matched;
    j->fit.without += !matched && old >= before->count;
    plan_add(p, id, old < before->count ? old : SIZE_MAX, matched ? j->list[at].row : SIZE_MAX);
  }
  j->fit.left_out += j->listed - j->fit.matched;
  if (j->fit.matched > 0 || !j->table || j->table->rows == 0) return FURROW_OK;
  fail_key(j, 0, FURROW_E_STATE, "no row of the table has a vector in the index; this is the first", err);
  fw_error_set_hint(err, j->names ? "rows are matched by the names of the ids" : "rows are matched by the ids");
  return FURROW_E_STATE;
}

/* Joins the table of *j with its ids. */
static furrow_status join(furrow_attributes *attributes, joining *j, const char *key, furrow_attributes_fit *fit,
                          furrow_error *err) {
  plan p = {0};
  furrow_status status = j->table ? find_key(j, key, err) : FURROW_OK;
  if (status == FURROW_OK && j->table) status = list_rows(j, err);
  if (status == FURROW_OK && j->table) status = take_columns(j, err);
  sort_ids(&j->ids);
  if (status == FURROW_OK) status = plan_join(j, attributes, &p, err);
  if (status == FURROW_OK) status = carry_out(attributes, j->made, &p, err);
  if (status == FURROW_OK && fit) fw_info_write(fit, &j->fit, sizeof j->fit);
  plan_clear(&p);
  furrow_attributes_free(j->made);
  furrow_ids_clear(&j->ids);
  fw_free(j->list);
  return status;
}

furrow_status furrow_attributes_join(furrow_attributes *attributes, const furrow_index *index,
                                     const furrow_id_names *names, const furrow_columns *table, const char *key,
                                     furrow_attributes_fit *fit, furrow_error *err) {
  joining j = {.names = names, .table = table};
  FW_TRY(furrow_index_get_ids(index, &j.ids, err));
  return join(attributes, &j, key, fit, err);
}

furrow_status furrow_attributes_join_ids(furrow_attributes *attributes, const int64_t *ids, size_t n,
                                         const furrow_id_names *names, const furrow_columns *table, const char *key,
                                         furrow_attributes_fit *fit, furrow_error *err) {
  joining j = {.names = names, .table = table};
  FW_TRY(FW_ALLOC(&j.ids.ids, n, err));
  if (n > 0) memcpy(j.ids.ids, ids, n * sizeof *ids);
  j.ids.count = n;
  return join(attributes, &j, key, fit, err);
}

furrow_status fw_attributes_fit_index(const furrow_attributes *attributes, const furrow_index *index,
                                      furrow_status wrong, uint64_t *unused, furrow_error *err) {
  joining j = {0};
  size_t at = 0;
  furrow_status status = furrow_index_get_ids(index, &j.ids, err);
  if (unused) *unused = 0;
  if (status == FURROW_E_STATE) return FURROW_OK; /* the contents of the lists are missing */
  if (status == FURROW_OK) sort_ids(&j.ids);
  for (size_t i = 0; status == FURROW_OK && i < j.ids.count; i++) {
    while (at < attributes->count && fw_attributes_id(attributes, at) < j.ids.ids[i]) at++;
    if (at < attributes->count && fw_attributes_id(attributes, at) == j.ids.ids[i]) continue;
    status = fw_fail(err, wrong, "id %" PRId64 " has no row of attributes", j.ids.ids[i]);
  }
  if (status == FURROW_OK && unused) *unused = attributes->count - j.ids.count;
  furrow_ids_clear(&j.ids);
  return status;
}

furrow_status furrow_attributes_check(const furrow_attributes *attributes, const furrow_index *index, uint64_t *unused,
                                      furrow_error *err) {
  for (size_t i = 0; i < attributes->column_count; i++) {
    const fw_attribute *column = &attributes->columns[i];
    if (!fw_column_has_numbers(column->type)) FW_TRY(fw_string_table_verify(&column->table, err));
  }
  return fw_attributes_fit_index(attributes, index, FURROW_E_FORMAT, unused, err);
}
