/* model/jobs/verify_records.c: reads every record of a partition. Errors are found by the reader; this file looks for
 * data that is valid but unusual. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "model/jobs/verify.h"

typedef struct key {
  int32_t row;
  int64_t col;
} key;

/* Observations about a partition. */
typedef struct observed {
  uint64_t elements;
  uint64_t runs; /* runs of records of one row */
  int32_t row;
  int64_t col;
  uint64_t falls; /* columns lower than the one before */
  key fall;
  uint64_t repeats; /* columns equal to the one before */
  key repeat;
  uint64_t strangers; /* columns that belong to other hash partitions */
  int64_t stranger;
  uint64_t outside; /* columns outside the matrix */
  int64_t outsider;
} observed;

typedef struct record_check {
  fw_verification *v;
  const furrow_partition_meta *part;
  fw_findings *list;
  const char *path;
  int32_t hash_parts; /* 0: a range partition */
  bool bounded;       /* the columns of the matrix are known: first … end-1 */
  int64_t first, end;
  observed seen;
} record_check;

/* ---- Scanning panels ---- */

static void look_at_column(record_check *check, int64_t col) {
  observed *s = &check->seen;
  if (check->hash_parts > 0 && furrow_matrix_hash_partition(col, check->hash_parts) != check->part->part_id &&
      s->strangers++ == 0)
    s->stranger = col;
  if (check->bounded && (col < check->first || col >= check->end) && s->outside++ == 0) s->outsider = col;
}

static void look_at_order(observed *s, int32_t row, const int64_t *cols, size_t n) {
  size_t c = 0;
  if (s->runs == 0 || s->row != row) {
    s->runs++;
    s->row = row;
    s->col = cols[c++];
  }
  for (; c < n; c++) {
    if (cols[c] < s->col && s->falls++ == 0) s->fall = (key){row, cols[c]};
    if (cols[c] == s->col && s->repeats++ == 0) s->repeat = (key){row, cols[c]};
    s->col = cols[c];
  }
}

/* A double written with "#.######" is an integral number of millionths, rounded once; up to 2^53 millionths are
 * exact. */
static void look_at_decimals(fw_findings *s, const double *x, size_t n) {
  for (size_t i = 0; i < n && !s->more_digits; i++) {
    const double millionths = nearbyint(x[i] * 1e6);
    if (!(fabs(millionths) <= 9007199254740992.0) || millionths / 1e6 != x[i])
      s->more_digits = x[i] != floor(x[i]);
    else if (!s->six_decimals)
      s->six_decimals = fmod(millionths, 10) != 0;
  }
}

static void look_at_panel(record_check *check, const furrow_panel *panel) {
  observed *s = &check->seen;
  const size_t n = panel->rows * panel->cols;
  if (n == 0) return;
  s->elements += n;
  if (panel->col_ids) {
    look_at_order(s, panel->row_ids[0], panel->col_ids, panel->cols);
    if (check->hash_parts > 0 || check->bounded)
      for (size_t c = 0; c < panel->cols; c++) look_at_column(check, panel->col_ids[c]);
  }
  if (panel->type == FURROW_ELEMENT_F64) look_at_decimals(check->list, panel->values.f64, n);
}

static furrow_status read_panels(const furrow_matrix_source *source, void (*look)(record_check *, const furrow_panel *),
                                 record_check *check, furrow_error *err) {
  furrow_partition_reader *reader = NULL;
  furrow_panel panel;
  furrow_status status = furrow_partition_reader_open(&reader, source, 0, err);
  while (status == FURROW_OK && (status = furrow_partition_reader_next(reader, &panel, err)) == FURROW_OK)
    look(check, &panel);
  furrow_partition_reader_close(reader);
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- Repeated elements ---- */

typedef struct key_list {
  record_check check; /* must be the first member: look() casts the pointer */
  key *keys;
  size_t count, capacity;
} key_list;

static void gather_keys(record_check *check, const furrow_panel *panel) {
  key_list *list = (key_list *)check;
  for (size_t c = 0; c < panel->cols && list->count < list->capacity; c++)
    list->keys[list->count++] = (key){panel->rows == 1 ? panel->row_ids[0] : 0, furrow_panel_col(panel, c)};
}

static int by_key(const void *a, const void *b) {
  const key *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return (x->col > y->col) - (x->col < y->col);
}

/* Unsorted columns hide repeated elements: reads the partition again and sorts them. */
static furrow_status find_repeats(record_check *check, const furrow_matrix_source *source, furrow_error *err) {
  key_list list = {.check = *check, .capacity = (size_t)check->seen.elements};
  furrow_status status = FW_ALLOC(&list.keys, list.capacity, err);
  if (status != FURROW_OK) return status;
  status = read_panels(source, gather_keys, &list.check, err);
  if (list.count > 1) qsort(list.keys, list.count, sizeof *list.keys, by_key);
  observed *s = &check->seen;
  s->repeats = 0;
  for (size_t i = 1; i < list.count; i++)
    if (by_key(&list.keys[i - 1], &list.keys[i]) == 0 && s->repeats++ == 0) s->repeat = list.keys[i];
  fw_free(list.keys);
  return status;
}

/* ---- Reporting ---- */

static furrow_status tell_order(const record_check *check, furrow_error *err) {
  const observed *s = &check->seen;
  const furrow_matrix_format *format = check->v->format;
  const bool by_hash_map = strcmp(format->name, "SnapshotFormat") == 0; /* stored in the order of a hash map */
  furrow_status status = FURROW_OK;
  if (s->falls > 0 && !by_hash_map)
    status = fw_findings_add(check->list, FW_REMARK_STATUS, check->part->part_id, check->path, FURROW_NO_OFFSET, err,
                             "columns are not in order: column %" PRId64 " of row %" PRId32 " follows a higher one%s",
                             s->fall.col, s->fall.row, s->falls > 1 ? ", and others do, too" : "");
  if (status == FURROW_OK && s->repeats > 0)
    status = fw_findings_add(
        check->list, FW_REMARK_STATUS, check->part->part_id, check->path, FURROW_NO_OFFSET, err,
        "%" PRIu64 " %s stored twice, the first in row %" PRId32 ", column %" PRId64 ": the last one counts",
        s->repeats, fw_plural(s->repeats, "element is", "elements are"), s->repeat.row, s->repeat.col);
  return status;
}

static furrow_status tell_strangers(const record_check *check, furrow_error *err) {
  const observed *s = &check->seen;
  const bool by_column = check->v->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  furrow_status status = FURROW_OK;
  if (s->strangers > 0)
    status =
        fw_findings_add(check->list, FW_REMARK_STATUS, check->part->part_id, check->path, FURROW_NO_OFFSET, err,
                        "%" PRIu64 " %s to another hash partition, the first is %" PRId64 " of partition %" PRId32 "%s",
                        s->strangers, fw_plural(s->strangers, "column belongs", "columns belong"), s->stranger,
                        furrow_matrix_hash_partition(s->stranger, check->hash_parts),
                        by_column ? ": Angel writes wrong columns here" : "");
  if (status == FURROW_OK && s->outside > 0)
    status = fw_findings_add(check->list, FW_REMARK_STATUS, check->part->part_id, check->path, FURROW_NO_OFFSET, err,
                             "%" PRIu64 " %s not one of the matrix (%" PRId64 " to %" PRId64 "), the first is %" PRId64,
                             s->outside, fw_plural(s->outside, "column is", "columns are"), check->first,
                             check->end - 1, s->outsider);
  return status;
}

static int32_t hash_parts_of(const furrow_matrix_meta *meta) {
  return meta->part_count > 0 ? meta->parts[meta->part_count - 1].part_id + 1 : 0;
}

furrow_status fw_verify_records(fw_verification *v, const furrow_matrix_source *source, size_t part,
                                furrow_error *err) {
  record_check check = {.v = v, .part = &v->meta->parts[part], .list = &v->parts[part]};
  char *path;
  furrow_status status = fw_path_join(&path, v->folder, check.part->file_name, err);
  if (status != FURROW_OK) return status;
  check.path = path;
  if (check.part->start_col == 0 && check.part->end_col == 0) {
    check.hash_parts = hash_parts_of(v->meta);
    check.bounded = fw_verify_columns(v->meta, &check.first, &check.end);
  }
  furrow_error found = {.status = FURROW_OK};
  status = read_panels(source, look_at_panel, &check, &found);
  const bool mixed = check.seen.falls > 0 || check.seen.runs > check.part->row_count;
  if (status == FURROW_OK && mixed && check.seen.elements > 0) status = find_repeats(&check, source, &found);
  if (status == FURROW_E_MEMORY) {
    fw_fail(err, status, "%s", found.message);
  } else if (status != FURROW_OK) {
    status = fw_findings_add_error(check.list, check.part->part_id, &found, err);
  } else {
    status = tell_order(&check, err);
    if (status == FURROW_OK) status = tell_strangers(&check, err);
  }
  fw_free(path);
  return status;
}
