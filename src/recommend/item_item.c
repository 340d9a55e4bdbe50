/* recommend/item_item.c: solves the weights between items. */
#include "recommend/item_item.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/math/solve.h"
#include "vector/data/parallel.h"

enum { PART = 16 };

#define DAMPING 20.0 /* rows that are added to an item's own when neighbours are compared */
#define ORDER_GAP 3.0

/* ---- Sparse matrices ------------------------------------------------------------------------------------ */

void fw_sparse_rows_clear(fw_sparse_rows *rows) {
  fw_free(rows->offset);
  fw_free(rows->column);
  fw_free(rows->value);
  *rows = (fw_sparse_rows){0};
}

furrow_status fw_sparse_rows_transpose(const fw_sparse_rows *rows, fw_sparse_rows *columns, furrow_error *err) {
  const size_t count = rows->offset[rows->rows];
  *columns = (fw_sparse_rows){.rows = rows->columns, .columns = rows->rows};
  FW_TRY(FW_ALLOC_ZERO(&columns->offset, rows->columns + 2, err));
  FW_TRY(FW_ALLOC(&columns->column, count, err));
  FW_TRY(FW_ALLOC(&columns->value, count, err));
  size_t *end = columns->offset + 1; /* end[c] grows from the begin to the end of column c */
  for (size_t i = 0; i < count; i++) end[rows->column[i] + 1]++;
  for (size_t c = 1; c <= rows->columns; c++) end[c] += end[c - 1];
  for (size_t r = 0; r < rows->rows; r++)
    for (size_t i = rows->offset[r]; i < rows->offset[r + 1]; i++) {
      const size_t at = end[rows->column[i]]++;
      columns->column[at] = (uint32_t)r;
      columns->value[at] = rows->value[i];
    }
  return FURROW_OK;
}

/* ---- Workers -------------------------------------------------------------------------------------------- */

typedef struct neighbour {
  float nearness;
  uint32_t column;
} neighbour;

/* Scratch of one thread. */
typedef struct worker {
  struct worker *next;
  float *together; /* for each column: (X'x_j), 0 between two items */
  uint32_t *touched;
  neighbour *near;     /* all columns that were touched */
  uint32_t *begins;    /* for each row: where its neighbours begin in `positions`, 0 between two items */
  uint32_t *used;      /* rows that have neighbours */
  uint32_t *positions; /* numbers of neighbours, row by row */
  float *values;       /* values of these neighbours in the row */
  size_t position_capacity, value_capacity;
  float *gram, *factor; /* K x K */
  float *right, *x;     /* K */
} worker;

/* What was solved for one item. */
typedef struct solved {
  size_t count;
  uint32_t *column; /* count neighbours, ascending */
  float *weight;    /* l2_count * count */
} solved;

typedef struct job {
  const fw_sparse_rows *rows, *columns;
  const fw_item_item_params *params;
  float *nearness; /* for each column: 1 / sqrt(rows + damping) */
  solved *solved;  /* for each item */
  pthread_mutex_t lock;
  worker *idle;
} job;

static void free_worker(worker *w) {
  if (!w) return;
  fw_free(w->together);
  fw_free(w->touched);
  fw_free(w->near);
  fw_free(w->begins);
  fw_free(w->used);
  fw_free(w->positions);
  fw_free(w->values);
  fw_free(w->gram);
  fw_free(w->factor);
  fw_free(w->right);
  fw_free(w->x);
  fw_free(w);
}

static furrow_status fill_worker(worker *w, const job *j, furrow_error *err) {
  const size_t k = j->params->neighbours, columns = j->rows->columns, rows = j->rows->rows;
  FW_TRY(FW_ALLOC_ZERO(&w->together, columns, err));
  FW_TRY(FW_ALLOC(&w->touched, columns, err));
  FW_TRY(FW_ALLOC(&w->near, columns, err));
  FW_TRY(FW_ALLOC_ZERO(&w->begins, rows, err));
  FW_TRY(FW_ALLOC(&w->used, rows, err));
  FW_TRY(FW_ALLOC_ROWS(&w->gram, k, k, err));
  FW_TRY(FW_ALLOC_ROWS(&w->factor, k, k, err));
  FW_TRY(FW_ALLOC(&w->right, k, err));
  return FW_ALLOC(&w->x, k, err);
}

static furrow_status take_worker(job *j, worker **taken, furrow_error *err) {
  pthread_mutex_lock(&j->lock);
  worker *w = j->idle;
  if (w) j->idle = w->next;
  pthread_mutex_unlock(&j->lock);
  furrow_status status = FURROW_OK;
  if (!w) {
    status = FW_ALLOC_ZERO(&w, 1, err);
    if (status == FURROW_OK) status = fill_worker(w, j, err);
  }
  return FW_HAND_OVER(status, taken, w, free_worker);
}

static void give_worker(job *j, worker *w) {
  pthread_mutex_lock(&j->lock);
  w->next = j->idle;
  j->idle = w;
  pthread_mutex_unlock(&j->lock);
}

/* ---- Neighbours ----------------------------------------------------------------------------------------- */

static bool is_nearer(const neighbour *a, const neighbour *b) {
  return a->nearness > b->nearness || (a->nearness == b->nearness && a->column < b->column);
}

static void swap_neighbours(neighbour *a, neighbour *b) {
  const neighbour kept = *a;
  *a = *b;
  *b = kept;
}

/* Moves the k nearest of n to the front, in any order: quickselect. No two are equally near. */
static void select_nearest(neighbour *list, size_t n, size_t k) {
  size_t low = 0, high = n;
  while (low < k && k < high) {
    size_t at = low;
    swap_neighbours(&list[low + (high - low) / 2], &list[high - 1]);
    for (size_t i = low; i < high - 1; i++)
      if (is_nearer(&list[i], &list[high - 1])) swap_neighbours(&list[at++], &list[i]);
    swap_neighbours(&list[at], &list[high - 1]);
    if (k <= at)
      high = at;
    else
      low = at + 1;
  }
}

static int compare_columns(const void *a, const void *b) {
  const neighbour *x = a, *y = b;
  return x->column < y->column ? -1 : x->column > y->column;
}

static float order_share(const job *j, size_t source, size_t target) {
  const double order = j->params->order;
  if (order <= 0) return 1;
  const double before = source < target ? 2 * exp(-(double)(target - source - 1) / ORDER_GAP) : 0;
  return (float)(1 - order + order * before);
}

static size_t place_of(const fw_sparse_rows *rows, size_t row, uint32_t column) {
  size_t at = rows->offset[row];
  while (rows->column[at] != column) at++;
  return at;
}

/* Sums X'x_j over the rows of item j; returns the number of columns that were touched. */
static size_t sum_together(const job *j, worker *w, uint32_t item) {
  const fw_sparse_rows *rows = j->rows, *columns = j->columns;
  size_t touched = 0;
  for (size_t c = columns->offset[item]; c < columns->offset[item + 1]; c++) {
    const size_t row = columns->column[c], place = j->params->order > 0 ? place_of(rows, row, item) : 0;
    for (size_t i = rows->offset[row]; i < rows->offset[row + 1]; i++) {
      const uint32_t s = rows->column[i];
      const float share = order_share(j, i, place);
      if (s == item || share == 0) continue;
      if (w->together[s] == 0) w->touched[touched++] = s;
      w->together[s] += columns->value[c] * rows->value[i] * share;
    }
  }
  return touched;
}

/* Writes the nearest columns, ascending, to w->near and the right side to w->right; returns their number. */
static size_t find_neighbours(const job *j, worker *w, uint32_t item) {
  const size_t touched = sum_together(j, w, item);
  size_t k = touched < j->params->neighbours ? touched : j->params->neighbours;
  for (size_t i = 0; i < touched; i++) {
    const uint32_t s = w->touched[i];
    w->near[i] = (neighbour){.nearness = w->together[s] * j->nearness[s], .column = s};
  }
  select_nearest(w->near, touched, k);
  if (k > 1) qsort(w->near, k, sizeof *w->near, compare_columns);
  for (size_t i = 0; i < k; i++) w->right[i] = w->together[w->near[i].column];
  for (size_t i = 0; i < touched; i++) w->together[w->touched[i]] = 0;
  return k;
}

/* ---- The equations of one item -------------------------------------------------------------------------- */

/* Lists the neighbours of each row that has some. */
static furrow_status list_positions(const job *j, worker *w, size_t k, size_t *used, furrow_error *err) {
  const fw_sparse_rows *columns = j->columns;
  size_t count = 0, rows = 0;
  for (size_t a = 0; a < k; a++) {
    const uint32_t s = w->near[a].column;
    for (size_t c = columns->offset[s]; c < columns->offset[s + 1]; c++)
      if (w->begins[columns->column[c]]++ == 0) w->used[rows++] = columns->column[c];
    count += columns->offset[s + 1] - columns->offset[s];
  }
  *used = rows;
  FW_TRY(FW_GROW(&w->positions, &w->position_capacity, count, err));
  FW_TRY(FW_GROW(&w->values, &w->value_capacity, count, err));
  count = 0;
  for (size_t r = 0; r < rows; r++) {
    const uint32_t n = w->begins[w->used[r]];
    w->begins[w->used[r]] = (uint32_t)count;
    count += n;
  }
  for (size_t a = 0; a < k; a++) {
    const uint32_t s = w->near[a].column;
    for (size_t c = columns->offset[s]; c < columns->offset[s + 1]; c++) {
      const size_t at = w->begins[columns->column[c]]++;
      w->positions[at] = (uint32_t)a;
      w->values[at] = columns->value[c];
    }
  }
  return FURROW_OK;
}

/* The upper half of X'X of the neighbours. Afterwards begins is 0 again. */
static void sum_gram(worker *w, size_t k, size_t used) {
  size_t at = 0;
  memset(w->gram, 0, k * k * sizeof *w->gram);
  for (size_t r = 0; r < used; r++) {
    const size_t end = w->begins[w->used[r]];
    for (size_t a = at; a < end; a++) {
      float *row = w->gram + w->positions[a] * k;
      const float value = w->values[a];
      for (size_t b = a; b < end; b++) row[w->positions[b]] += value * w->values[b];
    }
    w->begins[w->used[r]] = 0;
    at = end;
  }
}

static furrow_status solve_item(const job *j, worker *w, uint32_t item, furrow_error *err) {
  const size_t k = find_neighbours(j, w, item), strengths = j->params->l2_count;
  solved *to = &j->solved[item];
  size_t used = 0;
  if (k == 0) return FURROW_OK;
  FW_TRY(list_positions(j, w, k, &used, err));
  sum_gram(w, k, used);
  FW_TRY(FW_ALLOC(&to->column, k, err));
  FW_TRY(FW_ALLOC_ROWS(&to->weight, strengths, k, err));
  to->count = k;
  for (size_t i = 0; i < k; i++) to->column[i] = w->near[i].column;
  for (size_t l = 0; l < strengths; l++) {
    memcpy(w->factor, w->gram, k * k * sizeof *w->gram);
    for (size_t i = 0; i < k; i++) w->factor[i * k + i] += (float)j->params->l2[l];
    memcpy(to->weight + l * k, w->right, k * sizeof *w->right);
    fw_solve_table()->positive(k, w->factor, to->weight + l * k);
  }
  return FURROW_OK;
}

static furrow_status solve_part(void *context, size_t first, size_t count, furrow_error *err) {
  job *j = context;
  worker *w = NULL;
  FW_TRY(take_worker(j, &w, err));
  furrow_status status = FURROW_OK;
  for (size_t i = first; status == FURROW_OK && i < first + count; i++) status = solve_item(j, w, (uint32_t)i, err);
  if (status == FURROW_OK)
    give_worker(j, w);
  else
    free_worker(w);
  return status;
}

/* ---- All items ------------------------------------------------------------------------------------------ */

typedef struct step {
  job *job;
  size_t first;
} step;

static furrow_status solve_step_part(void *context, size_t first, size_t count, furrow_error *err) {
  const step *s = context;
  return solve_part(s->job, s->first + first, count, err);
}

/* Solves in steps and reports the progress after each. */
static furrow_status solve_all(job *j, furrow_error *err) {
  const size_t items = j->params->items, size = 4096;
  for (size_t first = 0; first < items; first += size) {
    step s = {.job = j, .first = first};
    const size_t n = items - first < size ? items - first : size;
    FW_TRY(fw_parallel_run(j->params->pool, n, PART, solve_step_part, &s, err));
    FW_TRY(fw_report_progress(j->params->progress, j->params->progress_user, "solving", first + n, items, err));
  }
  return FURROW_OK;
}

/* Collects the weights of one strength: a row for each column that gives weights. */
static furrow_status collect_weights(const job *j, size_t strength, fw_sparse_rows *weights, furrow_error *err) {
  const size_t items = j->params->items;
  fw_sparse_rows by_item = {.rows = items, .columns = j->rows->columns};
  size_t count = 0;
  for (size_t i = 0; i < items; i++) count += j->solved[i].count;
  furrow_status status = FW_ALLOC(&by_item.offset, items + 1, err);
  if (status == FURROW_OK) status = FW_ALLOC(&by_item.column, count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&by_item.value, count, err);
  count = 0;
  for (size_t i = 0; status == FURROW_OK && i < items; i++) {
    const solved *s = &j->solved[i];
    by_item.offset[i] = count;
    if (s->count > 0) memcpy(by_item.column + count, s->column, s->count * sizeof *s->column);
    if (s->count > 0) memcpy(by_item.value + count, s->weight + strength * s->count, s->count * sizeof *s->weight);
    count += s->count;
    by_item.offset[i + 1] = count;
  }
  if (status == FURROW_OK) status = fw_sparse_rows_transpose(&by_item, weights, err);
  fw_sparse_rows_clear(&by_item);
  return status;
}

static furrow_status measure_columns(job *j, furrow_error *err) {
  FW_TRY(FW_ALLOC(&j->nearness, j->rows->columns, err));
  for (size_t c = 0; c < j->rows->columns; c++) {
    double squares = DAMPING;
    for (size_t i = j->columns->offset[c]; i < j->columns->offset[c + 1]; i++)
      squares += (double)j->columns->value[i] * j->columns->value[i];
    j->nearness[c] = (float)(1 / sqrt(squares));
  }
  return FURROW_OK;
}

furrow_status fw_item_item_solve(const fw_sparse_rows *rows, const fw_item_item_params *params, fw_sparse_rows *weights,
                                 furrow_error *err) {
  fw_sparse_rows columns = {0};
  job j = {.rows = rows, .columns = &columns, .params = params};
  pthread_mutex_init(&j.lock, NULL);
  furrow_status status = fw_sparse_rows_transpose(rows, &columns, err);
  if (status == FURROW_OK) status = measure_columns(&j, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&j.solved, params->items, err);
  if (status == FURROW_OK) status = solve_all(&j, err);
  for (size_t l = 0; status == FURROW_OK && l < params->l2_count; l++)
    status = collect_weights(&j, l, &weights[l], err);
  for (worker *next; j.idle; j.idle = next) {
    next = j.idle->next;
    free_worker(j.idle);
  }
  for (size_t i = 0; j.solved && i < params->items; i++) {
    fw_free(j.solved[i].column);
    fw_free(j.solved[i].weight);
  }
  fw_free(j.solved);
  fw_free(j.nearness);
  fw_sparse_rows_clear(&columns);
  pthread_mutex_destroy(&j.lock);
  return status;
}
