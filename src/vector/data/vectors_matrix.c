/* vector/data/vectors_matrix.c: reads vectors from a matrix in Angel's formats: its columns or its rows, a part at a
 * time.
 *
 * A part is a range of columns (or rows) that is loaded at once. Its size is found by halving the remaining range until
 * it fits in memory, as estimated by the matrix reader. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "vector/data/vectors_in.h"

#define MOST_D (1 << 20)
#define DEFAULT_MEMORY ((size_t)1 << 30)

typedef struct matrix_vectors {
  furrow_vectors_reader head;
  furrow_matrix_source *source;
  bool by_column;
  size_t memory;
  unsigned threads;
  int32_t *rows; /* saved rows, ascending; by_column: the elements of a vector */
  size_t row_count;
  int64_t first_col,
      end_col;        /* columns of the matrix; by_column: the selected ones, otherwise the elements of a vector */
  int64_t first, end; /* by_column: columns; otherwise positions in rows */
  /* the part in memory: from <= x < upto */
  furrow_matrix *part;
  int64_t from, upto;
  int64_t *cols; /* by_column: columns of the part that have elements, ascending */
  size_t col_count;
  size_t *cursor; /* for each panel of the part: its first unread column */
  size_t next;    /* position in cols, or row of the part */
} matrix_vectors;

static furrow_status fail_matrix(const matrix_vectors *m, furrow_error *err, furrow_status status, const char *what) {
  fw_fail(err, status, "%s", what);
  fw_error_set_file(err, m->head.path);
  return status;
}

static furrow_status fail_too_long(const matrix_vectors *m, const char *vectors, const char *others,
                                   furrow_error *err) {
  fw_fail(err, FURROW_E_RANGE, "its %s are too long for vectors", vectors);
  fw_error_set_file(err, m->head.path);
  fw_error_set_hint(err, "vectors may be its %s", others);
  return FURROW_E_RANGE;
}

/* ---- Facts from the metadata ---------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

static furrow_status collect_rows(matrix_vectors *m, furrow_error *err) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(m->source);
  void *memory = NULL;
  size_t capacity = 0, count = 0, kept = 0;
  for (size_t i = 0; i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    furrow_status status = fw_grow(&memory, &capacity, count + part->row_count, sizeof(int32_t), err);
    m->rows = memory;
    if (status != FURROW_OK) return status;
    for (size_t r = 0; r < part->row_count; r++) m->rows[count++] = part->rows[r].row_id;
  }
  if (count == 0) return FURROW_OK;
  qsort(m->rows, count, sizeof *m->rows, by_number);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || m->rows[kept - 1] != m->rows[i]) m->rows[kept++] = m->rows[i];
  m->row_count = kept;
  return FURROW_OK;
}

/* Finds the range of columns; false for hash partitions, which have none. */
static bool column_range(matrix_vectors *m) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(m->source);
  m->first_col = INT64_MAX;
  m->end_col = INT64_MIN;
  for (size_t i = 0; i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    if (part->start_col == 0 && part->end_col == 0) {
      m->first_col = INT64_MIN;
      m->end_col = INT64_MAX;
      return false;
    }
    if (part->start_col < m->first_col) m->first_col = part->start_col;
    if (part->end_col > m->end_col) m->end_col = part->end_col;
  }
  if (m->first_col > m->end_col) m->first_col = m->end_col = 0;
  return true;
}

/* ---- Parts ---------------------------------------------------------------------------------------------- */

static void drop_part(matrix_vectors *m) {
  furrow_matrix_free(m->part);
  fw_free(m->cols);
  fw_free(m->cursor);
  m->part = NULL;
  m->cols = NULL;
  m->cursor = NULL;
  m->col_count = m->next = 0;
}

static void select_range(const matrix_vectors *m, int64_t from, int64_t upto, furrow_matrix_selection *selection) {
  furrow_matrix_selection_init(selection);
  if (m->by_column) {
    selection->first_col = from;
    selection->end_col = upto;
  } else {
    selection->rows = m->rows + from;
    selection->row_count = (size_t)(upto - from);
  }
}

/* Halves the range `from … end` until it fits. */
static furrow_status choose_part(const matrix_vectors *m, int64_t from, int64_t *upto, furrow_error *err) {
  furrow_matrix_selection selection;
  uint64_t width = (uint64_t)m->end - (uint64_t)from;
  size_t size = 0;
  for (; width > 0; width /= 2) {
    *upto = (int64_t)((uint64_t)from + width);
    select_range(m, from, *upto, &selection);
    const size_t before = size;
    size = furrow_matrix_load_size(m->source, &selection);
    if (size <= m->memory) return FURROW_OK;
    if (before == size && width < UINT64_C(1) << 20) break; /* it does not get smaller */
  }
  fw_fail(err, FURROW_E_MEMORY, "a part of the matrix needs %zu bytes of memory, more than the limit of %zu", size,
          m->memory);
  fw_error_set_file(err, m->head.path);
  return FURROW_E_MEMORY;
}

static int by_column_id(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

/* Makes the union of the columns of all panels. */
static furrow_status collect_columns(matrix_vectors *m, furrow_error *err) {
  const size_t panels = furrow_matrix_panel_count(m->part);
  void *memory = NULL;
  size_t all = 0, kept = 0, at = 0;
  for (size_t p = 0; p < panels; p++) all += furrow_matrix_panel(m->part, p)->cols;
  FW_TRY(fw_alloc(&memory, all, sizeof(int64_t), err));
  m->cols = memory;
  for (size_t p = 0; p < panels; p++) {
    const furrow_panel *panel = furrow_matrix_panel(m->part, p);
    for (size_t c = 0; c < panel->cols; c++) m->cols[at++] = furrow_panel_col(panel, c);
  }
  if (panels > 1) qsort(m->cols, all, sizeof *m->cols, by_column_id);
  for (size_t i = 0; i < all; i++)
    if (kept == 0 || m->cols[kept - 1] != m->cols[i]) m->cols[kept++] = m->cols[i];
  m->col_count = kept;
  furrow_status status = fw_alloc_zero(&memory, panels, sizeof(size_t), err);
  if (status == FURROW_OK) m->cursor = memory;
  return status;
}

static furrow_status load_part(matrix_vectors *m, int64_t from, furrow_error *err) {
  furrow_matrix_load_params params;
  furrow_matrix_selection selection;
  int64_t upto = 0;
  drop_part(m);
  FW_TRY(choose_part(m, from, &upto, err));
  furrow_matrix_load_params_init(&params);
  params.threads = m->threads;
  select_range(m, from, upto, &selection);
  params.selection = &selection;
  furrow_status status = furrow_matrix_load_source(&m->part, m->source, &params, err);
  if (status == FURROW_OK && m->by_column) status = collect_columns(m, err);
  if (status != FURROW_OK) return status;
  m->from = from;
  m->upto = upto;
  return FURROW_OK;
}

/* ---- Vectors -------------------------------------------------------------------------------------------- */

/* The position of a row among the saved rows. */
static size_t find_row(const matrix_vectors *m, int32_t row) {
  const int32_t *found = bsearch(&row, m->rows, m->row_count, sizeof row, by_number);
  return found ? (size_t)(found - m->rows) : 0;
}

static void put_column(matrix_vectors *m, int64_t col, float *out) {
  memset(out, 0, m->head.d * sizeof *out);
  for (size_t p = 0; p < furrow_matrix_panel_count(m->part); p++) {
    const furrow_panel *panel = furrow_matrix_panel(m->part, p);
    size_t *c = &m->cursor[p];
    while (*c < panel->cols && furrow_panel_col(panel, *c) < col) ++*c;
    if (*c == panel->cols || furrow_panel_col(panel, *c) != col) continue;
    const bool together = panel->rows == m->row_count;
    for (size_t r = 0; r < panel->rows; r++)
      out[together ? r : find_row(m, panel->row_ids[r])] = (float)furrow_panel_get(panel, r, *c);
  }
}

static void put_row(const matrix_vectors *m, int32_t row, float *out) {
  furrow_matrix_row_view view;
  memset(out, 0, m->head.d * sizeof *out);
  if (!furrow_matrix_row(m->part, row, &view)) return;
  for (size_t i = 0; i < view.count; i++) {
    const int64_t at = furrow_matrix_row_view_col(&view, i) - m->first_col;
    if (at >= 0 && (uint64_t)at < m->head.d) out[at] = (float)furrow_matrix_row_view_get(&view, i);
  }
}

static size_t part_vectors(const matrix_vectors *m) {
  return m->by_column ? m->col_count : (size_t)(m->upto - m->from);
}

/* Reads up to `rows` vectors of the part. */
static size_t take_vectors(matrix_vectors *m, size_t rows, float *out, int64_t *ids) {
  const size_t left = part_vectors(m) - m->next, n = rows < left ? rows : left;
  for (size_t i = 0; i < n; i++, m->next++) {
    const int64_t id = m->by_column ? m->cols[m->next] : m->rows[(size_t)m->from + m->next];
    if (m->by_column)
      put_column(m, id, out + i * m->head.d);
    else
      put_row(m, (int32_t)id, out + i * m->head.d);
    if (ids) ids[i] = id;
  }
  return n;
}

static furrow_status next_of_matrix(furrow_vectors_reader *v, size_t rows, float *out, int64_t *ids, size_t *got,
                                    furrow_error *err) {
  matrix_vectors *m = (matrix_vectors *)v;
  size_t done = 0;
  while (m->first < m->end) {
    if (m->part) done += take_vectors(m, rows - done, out + done * v->d, ids ? ids + done : NULL);
    if (done == rows || (m->part && m->upto == m->end)) break;
    furrow_status status = load_part(m, m->part ? m->upto : m->first, err);
    if (status != FURROW_OK) return status;
  }
  *got = done;
  return FURROW_OK;
}

static furrow_status rewind_matrix(furrow_vectors_reader *v, furrow_error *err) {
  matrix_vectors *m = (matrix_vectors *)v;
  if (!m->part || m->from != m->first) return m->first < m->end ? load_part(m, m->first, err) : FURROW_OK;
  m->next = 0;
  if (m->cursor) memset(m->cursor, 0, furrow_matrix_panel_count(m->part) * sizeof *m->cursor);
  return FURROW_OK;
}

static void close_matrix(furrow_vectors_reader *v) {
  matrix_vectors *m = (matrix_vectors *)v;
  drop_part(m);
  furrow_matrix_source_close(m->source);
  fw_free(m->rows);
  fw_free(v->path);
  fw_free(m);
}

static const fw_vectors_methods matrix_methods = {
    .next = next_of_matrix, .rewind = rewind_matrix, .close = close_matrix};

/* ---- Opening -------------------------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void choose_columns(matrix_vectors *m, const furrow_vectors_reader_params *params) {
  column_range(m);
  m->first = larger(m->first_col, params->first_id);
  m->end = larger(m->first, smaller(m->end_col, params->end_id));
  m->head.d = m->row_count;
}

/* Finds the columns that have elements. Hash partitions have no range, so the whole matrix is read. */
static furrow_status measure_rows(matrix_vectors *m, furrow_error *err) {
  FW_TRY(load_part(m, m->first, err));
  if (m->upto != m->end)
    return fail_matrix(m, err, FURROW_E_MEMORY, "hash partitions, whose rows do not fit the memory, have no dimension");
  m->first_col = INT64_MAX;
  m->end_col = INT64_MIN;
  for (size_t p = 0; p < furrow_matrix_panel_count(m->part); p++) {
    const furrow_panel *panel = furrow_matrix_panel(m->part, p);
    if (panel->cols == 0) continue;
    m->first_col = smaller(m->first_col, furrow_panel_col(panel, 0));
    m->end_col = larger(m->end_col, furrow_panel_col(panel, panel->cols - 1) + 1);
  }
  if (m->first_col > m->end_col) m->first_col = m->end_col = 0;
  return FURROW_OK;
}

static furrow_status choose_rows(matrix_vectors *m, const furrow_vectors_reader_params *params, furrow_error *err) {
  const bool has_range = column_range(m);
  while ((size_t)m->first < m->row_count && m->rows[m->first] < params->first_id) m->first++;
  for (m->end = m->first; (size_t)m->end < m->row_count && m->rows[m->end] < params->end_id;) m->end++;
  m->head.count = (uint64_t)(m->end - m->first);
  FW_TRY(has_range || m->head.count == 0 ? FURROW_OK : measure_rows(m, err));
  const uint64_t d = m->head.count == 0 ? 0 : (uint64_t)m->end_col - (uint64_t)m->first_col;
  if (d > MOST_D) return fail_too_long(m, "rows", "columns", err);
  m->head.d = (size_t)d;
  return FURROW_OK;
}

static furrow_status open_source(matrix_vectors *m, const furrow_vectors_reader_params *params, furrow_error *err) {
  furrow_status status = furrow_matrix_source_open(&m->source, m->head.path, NULL, err);
  if (status == FURROW_OK) status = collect_rows(m, err);
  if (status != FURROW_OK) return status;
  m->by_column = params->vectors == FURROW_AXIS_COLUMNS ||
                 (params->vectors == FURROW_AXIS_AUTO &&
                  (furrow_matrix_source_format(m->source)->flags & FURROW_MATRIX_FORMAT_BY_COLUMN) != 0);
  if (!m->by_column) return choose_rows(m, params, err);
  choose_columns(m, params);
  if (m->head.d > MOST_D) return fail_too_long(m, "columns", "rows", err);
  if (m->first < m->end) status = load_part(m, m->first, err);
  /* the count is known if everything is in memory */
  if (status == FURROW_OK && (m->first == m->end || m->upto == m->end)) m->head.count = m->col_count;
  return status;
}

furrow_status furrow_vectors_reader_open_matrix(furrow_vectors_reader **vectors, const char *folder,
                                                const furrow_vectors_reader_params *params, furrow_error *err) {
  furrow_vectors_reader_params p;
  void *memory;
  furrow_vectors_reader_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_vectors_reader_params, err));
  FW_TRY(fw_alloc_zero(&memory, 1, sizeof(matrix_vectors), err));
  matrix_vectors *m = memory;
  m->head.methods = &matrix_methods;
  m->head.count = FURROW_COUNT_UNKNOWN;
  m->head.have_ids = true;
  m->memory = p.memory ? p.memory : DEFAULT_MEMORY;
  m->threads = p.threads;
  furrow_status status = fw_strndup(&m->head.path, folder, strlen(folder), err);
  if (status == FURROW_OK) status = open_source(m, &p, err);
  if (status == FURROW_OK && p.d != 0 && m->head.d != p.d && m->head.count != 0) {
    status = fw_fail(err, FURROW_E_FORMAT, "has vectors of %zu %s, not of %zu", m->head.d,
                     fw_plural(m->head.d, "element", "elements"), p.d);
    fw_error_set_file(err, folder);
  }
  if (status == FURROW_OK)
    *vectors = &m->head;
  else
    close_matrix(&m->head);
  return status;
}
