/* rows/text/csv_columns.c: finds the label, the weight and the features among the columns of a csv. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "rows/block/elements.h"
#include "rows/text/csv.h"

/* ---- Arguments ------------------------------------------------------------------------------------------ */

/* Reads a column argument: a number, or a name that the header will resolve. */
static furrow_status column_arg(const furrow_args *args, const char *argument, size_t *column, char **name,
                                furrow_error *err) {
  const char *text = furrow_args_text(args, argument);
  const char *end = text + strlen(text);
  int64_t number = 0;
  bool overflow = false;
  *column = FW_CSV_NO_COLUMN;
  if (fw_read_i64(text, end, &number, &overflow) != end) return fw_uri_decode(name, text, strlen(text), err);
  if (overflow) return fw_fail(err, FURROW_E_ARGUMENT, "%s is out of range", argument);
  if (number >= 0) *column = (size_t)number;
  return FURROW_OK;
}

/* Reads the comma-separated names of `columns`. */
static furrow_status wanted_arg(fw_csv *csv, const char *text, furrow_error *err) {
  size_t capacity = 0;
  if (!*text) return FURROW_OK;
  for (const char *p = text; p;) {
    const size_t length = strcspn(p, ",");
    FW_TRY(FW_GROW(&csv->wanted, &capacity, csv->nwanted + 1, err));
    FW_TRY(fw_uri_decode(&csv->wanted[csv->nwanted], p, length, err));
    csv->nwanted++;
    p = p[length] ? p + length + 1 : NULL;
  }
  return FURROW_OK;
}

furrow_status fw_csv_read_columns(fw_csv *csv, const furrow_args *args, furrow_error *err) {
  csv->ignore_extra = strcmp(furrow_args_text(args, "extra"), "ignore") == 0;
  csv->label_optional = strcmp(furrow_args_text(args, "label"), "optional") == 0;
  FW_TRY(column_arg(args, "label_column", &csv->label_column, &csv->label_name, err));
  FW_TRY(column_arg(args, "weight_column", &csv->weight_column, &csv->weight_name, err));
  return wanted_arg(csv, furrow_args_text(args, "columns"), err);
}

static void free_names(char **names, size_t count) {
  for (size_t i = 0; i < count; i++) fw_free(names[i]);
  fw_free((void *)names);
}

void fw_csv_clear_columns(fw_csv *csv) {
  free_names(csv->names, csv->nnames);
  free_names(csv->wanted, csv->nwanted);
  fw_free(csv->label_name);
  fw_free(csv->weight_name);
  fw_free(csv->roles);
  fw_free(csv->skipped);
  fw_free(csv->kept);
  fw_free(csv->order);
}

/* ---- Header --------------------------------------------------------------------------------------------- */

furrow_status fw_csv_keep_names(fw_csv *csv, const char *line, const char *end, bool cut, furrow_error *err) {
  size_t capacity = 0;
  fw_cell cell;
  csv->names_cut = cut;
  for (const char *p = line; p;) {
    if (!fw_cell_next(&csv->rules, &p, end, &cell)) { /* the head may end inside a quoted name */
      csv->names_cut = true;
      return FURROW_OK;
    }
    FW_TRY(FW_GROW(&csv->names, &capacity, csv->nnames + 1, err));
    FW_TRY(fw_cell_copy(&cell, &csv->names[csv->nnames], err));
    csv->nnames++;
  }
  if (cut && csv->nnames > 0) fw_free(csv->names[--csv->nnames]); /* it may be incomplete */
  if (!cut) csv->width = csv->nnames;
  return FURROW_OK;
}

/* ---- Label and weight ----------------------------------------------------------------------------------- */

static furrow_status fail_name(furrow_error *err, furrow_status status, const char *name, const char *message) {
  (void)fw_fail(err, status, "%s", message);
  fw_error_set_token(err, name, strlen(name));
  return status;
}

/* Suggests a name of the header that differs only in the case of its letters. */
static void hint_at_name(const fw_csv *csv, const char *name, furrow_error *err) {
  for (size_t i = 0; i < csv->nnames; i++)
    if (strcasecmp(csv->names[i], name) == 0) fw_error_set_hint(err, "the header has %s", csv->names[i]);
}

/* Finds the column of that name; FW_CSV_NO_COLUMN if there is none. */
static furrow_status look_up(const fw_csv *csv, const char *name, size_t *column, furrow_error *err) {
  *column = FW_CSV_NO_COLUMN;
  for (size_t i = 0; i < csv->nnames; i++) {
    if (strcmp(csv->names[i], name) != 0) continue;
    if (*column != FW_CSV_NO_COLUMN)
      return fail_name(err, FURROW_E_FORMAT, name, "the header has two columns of that name");
    *column = i;
  }
  return FURROW_OK;
}

static furrow_status find_special(const fw_csv *csv, const char *argument, const char *name, bool optional,
                                  size_t *column, furrow_error *err) {
  if (name) FW_TRY(look_up(csv, name, column, err));
  const bool beyond = csv->width > 0 && *column != FW_CSV_NO_COLUMN && *column >= csv->width;
  if (optional && beyond) *column = FW_CSV_NO_COLUMN;
  if (optional && csv->nnames > 0) return FURROW_OK;
  if (beyond)
    return fw_fail(err, FURROW_E_ARGUMENT, "%s is %zu, but the header has %zu columns (counted from 0)", argument,
                   *column, csv->width);
  if (!name || *column != FW_CSV_NO_COLUMN) return FURROW_OK;
  (void)fw_fail(err, FURROW_E_ARGUMENT, "%s is neither a number nor the name of a column%s", argument,
                csv->nnames ? "" : ": there is no header");
  fw_error_set_token(err, name, strlen(name));
  hint_at_name(csv, name, err);
  return FURROW_E_ARGUMENT;
}

/* ---- Features ------------------------------------------------------------------------------------------- */

/* A name and the number of its column. */
typedef struct named {
  const char *name;
  size_t column;
} named;

static int compare_named(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Returns all names, sorted; the caller frees them. */
static furrow_status sort_names(named **sorted, char *const *names, size_t count, furrow_error *err) {
  FW_TRY(FW_ALLOC(sorted, count, err));
  for (size_t i = 0; i < count; i++) (*sorted)[i] = (named){names[i], i};
  qsort(*sorted, count, sizeof(named), compare_named);
  return FURROW_OK;
}

static bool is_special(const fw_csv *csv, size_t column) {
  return column == csv->label_column || column == csv->weight_column;
}

/* Sets the roles of the columns that are wanted. */
static furrow_status assign_roles(const fw_csv *csv, const named *sorted, furrow_error *err) {
  for (size_t i = 0; i < csv->nwanted; i++) {
    const named key = {csv->wanted[i], 0};
    const named *found = bsearch(&key, sorted, csv->width, sizeof key, compare_named);
    if (!found) {
      furrow_status status = fail_name(err, FURROW_E_FORMAT, key.name, "the csv has no column of that name");
      hint_at_name(csv, key.name, err);
      return status;
    }
    const named *end = sorted + csv->width;
    if ((found > sorted && compare_named(found - 1, found) == 0) ||
        (found + 1 < end && !compare_named(found, found + 1)))
      return fail_name(err, FURROW_E_FORMAT, key.name, "the header has two columns of that name");
    if (is_special(csv, found->column))
      return fail_name(err, FURROW_E_ARGUMENT, key.name, "a column is named as a feature and as the label or weight");
    if (csv->roles[found->column] != FW_CSV_NO_COLUMN)
      return fail_name(err, FURROW_E_ARGUMENT, key.name, "columns names a column twice");
    csv->roles[found->column] = i;
  }
  return FURROW_OK;
}

/* Lists the ignored columns, and the features of the others. */
static furrow_status list_kept(fw_csv *csv, furrow_error *err) {
  size_t kept = 0;
  for (size_t i = 0; i < csv->width; i++) {
    if (is_special(csv, i)) continue;
    if (csv->roles[i] != FW_CSV_NO_COLUMN) {
      csv->order[csv->roles[i]] = kept;
      csv->kept[kept++] = csv->roles[i];
      continue;
    }
    csv->skipped[csv->nskipped++] = i;
    if (csv->ignore_extra) continue;
    furrow_status status = fail_name(err, FURROW_E_FORMAT, csv->names[i], "the csv has a column that is not expected");
    fw_error_set_hint(err, "read FILE?extra=ignore (FILE?…&extra=ignore) to leave such columns out");
    return status;
  }
  return FURROW_OK;
}

static furrow_status make_lists(fw_csv *csv, furrow_error *err) {
  FW_TRY(FW_ALLOC(&csv->roles, csv->width, err));
  FW_TRY(FW_ALLOC(&csv->skipped, csv->width, err));
  FW_TRY(FW_ALLOC(&csv->kept, csv->width, err));
  FW_TRY(FW_ALLOC(&csv->order, csv->nwanted, err));
  for (size_t i = 0; i < csv->width; i++) csv->roles[i] = FW_CSV_NO_COLUMN;
  return FURROW_OK;
}

static furrow_status find_features(fw_csv *csv, furrow_error *err) {
  if (!csv->wanted) return FURROW_OK;
  if (csv->width == 0) {
    (void)fw_fail(err, FURROW_E_FORMAT, "%s",
                  csv->nnames ? "the header is malformed or too long to find columns in it"
                              : "there is no header to find the columns in");
    fw_error_set_hint(err, csv->nnames ? "header=yes takes the first line for a header"
                                       : "header=yes takes the first line for a header; data that is not csv needs "
                                         "the name of its format, such as libsvm");
    return FURROW_E_FORMAT;
  }
  named *sorted = NULL;
  furrow_status status = make_lists(csv, err);
  if (status == FURROW_OK) status = sort_names(&sorted, csv->names, csv->width, err);
  if (status == FURROW_OK) status = assign_roles(csv, sorted, err);
  if (status == FURROW_OK) status = list_kept(csv, err);
  fw_free(sorted);
  if (status != FURROW_OK) return status;
  while (csv->first_moved < csv->nwanted && csv->kept[csv->first_moved] == csv->first_moved) csv->first_moved++;
  if (csv->first_moved < csv->nwanted || csv->nskipped > 0) return FURROW_OK;
  fw_free(csv->roles); /* all columns, in the order of the file */
  csv->roles = NULL;
  return FURROW_OK;
}

furrow_status fw_csv_find_columns(fw_csv *csv, furrow_error *err) {
  FW_TRY(find_special(csv, "label_column", csv->label_name, csv->label_optional, &csv->label_column, err));
  FW_TRY(find_special(csv, "weight_column", csv->weight_name, false, &csv->weight_column, err));
  if (csv->label_column != FW_CSV_NO_COLUMN && csv->label_column == csv->weight_column)
    return fw_fail(err, FURROW_E_ARGUMENT, "label_column and weight_column are the same column");
  return find_features(csv, err);
}

/* ---- The order of features ------------------------------------------------------------------------------ */

static uint64_t index_at(const furrow_container *out, size_t i) {
  return furrow_keys_get((furrow_keys){.any = out->index}, out->key_type, i);
}

static void swap_features(furrow_container *out, size_t a, size_t b) {
  const size_t size = furrow_value_size(out->value_type);
  const uint64_t index = index_at(out, a);
  char value[8];
  fw_store_index(out->key_type, out->index, a, index_at(out, b));
  fw_store_index(out->key_type, out->index, b, index);
  memcpy(value, (char *)out->value + a * size, size);
  memcpy((char *)out->value + a * size, (char *)out->value + b * size, size);
  memcpy((char *)out->value + b * size, value, size);
}

/* Moves element `at` of a heap of `count` features down to where it belongs. */
static void sift_down(furrow_container *out, size_t begin, size_t at, size_t count) {
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && index_at(out, begin + child) < index_at(out, begin + child + 1)) child++;
    if (index_at(out, begin + at) >= index_at(out, begin + child)) return;
    swap_features(out, begin + at, begin + child);
  }
}

void fw_csv_sort_row(furrow_container *out, size_t begin, size_t count) {
  size_t sorted = 1;
  while (sorted < count && index_at(out, begin + sorted - 1) < index_at(out, begin + sorted)) sorted++;
  if (sorted >= count) return;
  for (size_t i = count / 2; i-- > 0;) sift_down(out, begin, i, count);
  for (size_t n = count; n-- > 1;) {
    swap_features(out, begin, begin + n);
    sift_down(out, begin, 0, n);
  }
}

/* Sorts the values of a row that has all features, from the order of the file to the order of the features. */
static void order_full_row(const fw_csv *csv, furrow_container *out, size_t begin, void *scratch) {
  const size_t size = furrow_value_size(out->value_type);
  char *values = (char *)out->value + begin * size;
  memcpy(scratch, values, csv->nwanted * size);
  for (size_t i = 0; i < csv->nwanted; i++) {
    memcpy(values + i * size, (char *)scratch + csv->order[i] * size, size);
    fw_store_index(out->key_type, out->index, begin + i, i);
  }
}

void fw_csv_sort_rows(const fw_csv *csv, furrow_container *out, uint64_t *scratch) {
  const size_t moved = csv->first_moved;
  for (size_t i = 0; i < out->rows && moved < csv->nwanted; i++) {
    const size_t begin = out->offset[i], count = out->offset[i + 1] - begin;
    /* a line that was parsed on the slow path is sorted already */
    if (count == csv->nwanted && index_at(out, begin + moved) == csv->kept[moved])
      order_full_row(csv, out, begin, scratch);
    else
      fw_csv_sort_row(out, begin, count);
  }
}

/* ---- Information about the columns ----------------------------------------------------------------------- */

size_t fw_csv_column_count(const void *state) {
  const fw_csv *csv = state;
  if (csv->wanted) return csv->nwanted;
  const bool two = csv->weight_column < csv->nnames && csv->weight_column != csv->label_column;
  return csv->nnames - (csv->label_column < csv->nnames) - two;
}

const char *fw_csv_column_name(const void *state, size_t column) {
  const fw_csv *csv = state;
  if (csv->wanted) return column < csv->nwanted ? csv->wanted[column] : NULL;
  const size_t a = csv->label_column, b = csv->weight_column, first = a < b ? a : b, second = a < b ? b : a;
  column += column >= first;
  if (second != first) column += column >= second;
  return column < csv->nnames ? csv->names[column] : NULL;
}

size_t fw_csv_special_column(const void *state, bool weight, const char **name) {
  const fw_csv *csv = state;
  const size_t column = weight ? csv->weight_column : csv->label_column;
  if (column < csv->nnames) *name = csv->names[column];
  return !weight && !csv->labels ? FW_CSV_NO_COLUMN : column;
}
