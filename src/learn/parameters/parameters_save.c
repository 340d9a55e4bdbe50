/* learn/parameters/parameters_save.c: parameters as a model directory: a matrix for each, graph.json. */

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/parameters/parameters.h"
#include "model/write/matrix_writer.h"

#define PANEL_NUMBERS 65536 /* of a panel that is written at once */
#define FEW_COLUMNS 1000000 /* up to this number of columns rows are dense, even if few columns have a feature */

/* Which features are saved. */
typedef struct saved_features {
  uint64_t *keys; /* keys of this rank, ascending; NULL: 0 … count-1 */
  size_t count;
  bool open;      /* columns may have no feature */
  uint64_t total; /* number of features of all ranks */
  uint64_t end;   /* largest key + 1 */
} saved_features;

/* ---- Shape and type of a matrix ---- */

static furrow_layer_kind kind_of(const fw_plan *plan, const fw_parameter *parameter) {
  switch (plan->graph.layers[parameter->layer].type) {
  case FW_LAYER_EMBEDDING: return FURROW_LAYER_EMBEDDING;
  case FW_LAYER_FC: return FURROW_LAYER_FC;
  default: return FURROW_LAYER_INPUT;
  }
}

/* Kind 0 of the element type: dense, int keys. */
static int32_t dense_type(int32_t row_type) {
  return row_type / 7 * 7;
}

/* Kinds 3 and 5: sparse, int or long keys. */
static int32_t sparse_type(int32_t row_type, int64_t cols) {
  return dense_type(row_type) + (cols > INT32_MAX ? 5 : 3);
}

static bool is_dense(int32_t row_type) {
  return furrow_matrix_row_type_get(row_type)->dense;
}

/* The row type of features, usually the configured one. An open range may have columns without a feature: they are
 * written as zeros of a dense row only if they are few. */
static int32_t feature_type(const fw_plan *plan, const saved_features *features, int64_t cols) {
  const int32_t row_type = plan->model.row_type;
  const bool few = cols <= FEW_COLUMNS || (cols <= INT32_MAX && (uint64_t)cols / 2 <= features->total);
  return is_dense(row_type) && features->open && !few ? sparse_type(row_type, cols) : row_type;
}

/* A format of values alone puts the elements of a sparse row into the first columns when it is read. */
static furrow_status check_keys(const fw_plan *plan, const fw_parameter *parameter, int32_t row_type, int64_t cols,
                                const furrow_matrix_format *format, furrow_error *err) {
  if (is_dense(row_type) || format->flags & FURROW_MATRIX_FORMAT_COL_IDS) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "%s keeps values without their columns, so %s cannot be saved with sparse rows",
          format->name, parameter->name);
  if (is_dense(plan->model.row_type))
    fw_error_set_hint(err,
                      "few of its %lld columns have a feature; choose a format with columns, such as ColIdValueBinary, "
                      "or train with the key `range` to save every column",
                      (long long)cols);
  else
    fw_error_set_hint(err, "choose a format with columns, such as ColIdValueBinary, or a dense model-type");
  return FURROW_E_ARGUMENT;
}

/* The number of columns; an open range ends after its largest feature. */
static int64_t columns_of(const fw_parameter *parameter, const saved_features *features) {
  if (parameter->cols > 0) return (int64_t)parameter->cols;
  return features->total > 0 ? (int64_t)features->end : 1;
}

/* As on Angel's servers, the matrix has rows for the weights, for the optimizer's state and for a gradient; only the
 * weights are saved. */
static furrow_status plan_matrix(furrow_matrix_meta **meta, const fw_plan *plan, const fw_parameter *parameter,
                                 size_t id, int32_t row_type, int64_t cols, const fw_save_params *params,
                                 furrow_error *err) {
  int32_t *saved = NULL;
  furrow_status status = FW_ALLOC(&saved, parameter->rows, err);
  if (status != FURROW_OK) return status;
  for (size_t r = 0; r < parameter->rows; r++) saved[r] = (int32_t)r;
  const fw_optimizer_type optimizer = plan->graph.layers[parameter->layer].optimizer.type;
  const size_t blocks = parameter->bias ? 1 : fw_optimizer_state(optimizer) + 2;
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  spec.matrix_id = (int32_t)id;
  spec.name = parameter->name;
  spec.format = furrow_layer_formats_get(params->formats, kind_of(plan, parameter))->name;
  spec.row_type = row_type;
  spec.rows = (int32_t)(parameter->rows * blocks);
  spec.cols = cols;
  spec.saved_rows = saved;
  spec.saved_row_count = parameter->rows;
  spec.servers = params->servers;
  if (params->part_size > 0) spec.part_size = params->part_size;
  status = furrow_matrix_plan(meta, &spec, err);
  fw_free(saved);
  return status;
}

/* ---- Weights of features from the ranks that have them to the ranks that write them ----
 *
 * The columns of a partition are contiguous, while rank key % ranks has the weights of feature `key`. The exchange goes
 * in rounds: every rank asks for some columns of the partition that it writes, and every rank answers with the weights
 * of its own features among them, as many as fit into a buffer. No rank keeps more than its own features and that
 * buffer. */

/* What a rank asks for in a round. */
typedef struct column_request {
  int64_t start, end;   /* columns start … end-1; none: the rank has all that it needs */
  uint32_t first, rows; /* numbers first … first+rows-1 of each */
  uint64_t failed;      /* the rank cannot go on */
} column_request;

/* What a rank has sent: features by ascending key, and `rows` numbers of each. */
typedef struct columns_part {
  const uint64_t *keys;
  const char *numbers;
  size_t count;
} columns_part;

typedef struct column_exchange {
  const fw_parameters *p;
  const furrow_comm *comm;
  size_t parameter, element;
  const uint64_t *keys;
  size_t key_count;
  size_t numbers;      /* numbers that one rank sends to another in a round */
  size_t buffer_bytes; /* bytes that one rank sends to another at most */
  column_request *requests;
  size_t *request_sizes, *count_sizes, *send_sizes, *receive_sizes;
  uint64_t *send_counts, *receive_counts;
  columns_part *parts;
  char *send, *receive; /* a buffer for each rank */
} column_exchange;

/* The first of ascending keys that is not below `col`. */
static size_t first_key_from(const uint64_t *keys, size_t count, int64_t col) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if ((int64_t)keys[middle] < col)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Of an answer: keys, numbers, and what makes the keys of the next one aligned. */
static size_t answer_bytes(const column_exchange *x, size_t count, size_t rows) {
  return count * sizeof(uint64_t) + (count * rows * x->element + 7) / 8 * 8;
}

/* The number of columns that a request for `rows` rows may span such that one round brings all their features. */
static size_t exchange_span(const column_exchange *x, size_t rows) {
  return x->numbers / rows * x->comm->ranks; /* each rank has one of `ranks` consecutive columns */
}

/* ---- Create, free ---- */

static furrow_status allocate(column_exchange *x, furrow_error *err) {
  const size_t ranks = x->comm->ranks;
  size_t *sizes = NULL;
  uint64_t *counts = NULL;
  furrow_status status = FW_ALLOC(&x->requests, ranks, err);
  if (status == FURROW_OK) status = FW_ALLOC(&sizes, 4 * ranks, err);
  x->request_sizes = sizes;
  if (status == FURROW_OK) status = FW_ALLOC(&counts, 2 * ranks, err);
  x->send_counts = counts;
  if (status == FURROW_OK) status = FW_ALLOC(&x->parts, ranks, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&x->send, ranks, x->buffer_bytes, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&x->receive, ranks, x->buffer_bytes, err);
  if (status != FURROW_OK) return status;
  x->count_sizes = sizes + ranks;
  x->send_sizes = sizes + 2 * ranks;
  x->receive_sizes = sizes + 3 * ranks;
  x->receive_counts = counts + ranks;
  for (size_t r = 0; r < ranks; r++) {
    x->request_sizes[r] = sizeof *x->requests;
    x->count_sizes[r] = sizeof *x->send_counts;
  }
  return FURROW_OK;
}

static void exchange_free(column_exchange *x) {
  if (!x) return;
  fw_free(x->requests);
  fw_free(x->request_sizes);
  fw_free(x->send_counts);
  fw_free(x->parts);
  fw_free(x->send);
  fw_free(x->receive);
  fw_free(x);
}

/* `keys` are the rank's own features, ascending. A round brings at most `numbers` numbers, but one column at least from
 * each rank. Collective, as every call but free. */
static furrow_status exchange_create(column_exchange **exchange, const fw_parameters *p, size_t parameter,
                                     const uint64_t *keys, size_t count, size_t numbers, furrow_error *err) {
  const furrow_comm *comm = p->comm;
  const size_t rows = p->list[parameter].rows;
  column_exchange *made = NULL;
  furrow_status status = FW_ALLOC_ZERO(&made, 1, err);
  if (status == FURROW_OK) {
    *made = (column_exchange){.p = p, .comm = comm, .parameter = parameter, .keys = keys, .key_count = count};
    made->element = p->element;
    made->numbers = numbers / comm->ranks > rows ? numbers / comm->ranks : rows;
    made->buffer_bytes = answer_bytes(made, made->numbers, 1);
    status = allocate(made, err);
  }
  status = fw_comm_share_status(comm, status, err);
  return FW_HAND_OVER(status, exchange, made, exchange_free);
}

/* ---- A round ---- */

/* Keys, then numbers. */
static size_t answer(const column_exchange *x, const column_request *request, char *to) {
  if (request->start >= request->end) return 0;
  const size_t first = first_key_from(x->keys, x->key_count, request->start);
  const size_t end = first_key_from(x->keys, x->key_count, request->end), most = x->numbers / request->rows;
  const size_t count = end - first < most ? end - first : most, bytes = request->rows * x->element;
  memset(to, 0, answer_bytes(x, count, request->rows));
  memcpy(to, x->keys + first, count * sizeof *x->keys);
  to += count * sizeof *x->keys;
  for (size_t i = 0; i < count; i++, to += bytes) {
    const char *from = fw_parameters_feature(x->p, x->parameter, x->keys[first + i], 0);
    memcpy(to, from + request->first * x->element, bytes);
  }
  return count;
}

/* Sizes of the answers of all ranks, then the answers. */
static furrow_status send_answers(column_exchange *x, size_t rows, furrow_error *err) {
  char *to = x->send;
  for (unsigned r = 0; r < x->comm->ranks; r++, to += x->send_sizes[r - 1]) {
    x->send_counts[r] = answer(x, &x->requests[r], to);
    x->send_sizes[r] = answer_bytes(x, x->send_counts[r], x->requests[r].rows);
  }
  FW_TRY(x->comm->exchange(x->comm, x->send_counts, x->count_sizes, x->receive_counts, x->count_sizes, err));
  for (unsigned r = 0; r < x->comm->ranks; r++) x->receive_sizes[r] = answer_bytes(x, x->receive_counts[r], rows);
  return x->comm->exchange(x->comm, x->send, x->send_sizes, x->receive, x->receive_sizes, err);
}

/* A rank whose answer is full may have more features after the last one it sent. */
static void divide(column_exchange *x, const column_request *request, int64_t *end) {
  const char *at = x->receive;
  *end = request->end;
  for (unsigned r = 0; r < x->comm->ranks; r++) {
    columns_part *part = &x->parts[r];
    part->count = x->receive_counts[r];
    part->keys = (const uint64_t *)(const void *)at;
    part->numbers = at + part->count * sizeof *part->keys;
    at += x->receive_sizes[r];
    if (part->count == 0 || part->count < x->numbers / request->rows) continue;
    const int64_t behind = (int64_t)part->keys[part->count - 1] + 1;
    if (behind < *end) *end = behind;
  }
}

/* One round. *parts has an entry for each rank, valid until the next round; together they have all features of columns
 * start … *end-1. *done: no rank asks for anything any more. `mine` is a failure of this rank: all ranks
 * return it. */
static furrow_status exchange_run(column_exchange *x, const column_request *request, furrow_status mine,
                                  const columns_part **parts, int64_t *end, bool *done, furrow_error *err) {
  const furrow_comm *comm = x->comm;
  column_request asked = *request;
  furrow_error lost;
  asked.failed = mine != FURROW_OK;
  furrow_status status =
      comm->gather(comm, &asked, sizeof asked, x->requests, x->request_sizes, mine == FURROW_OK ? err : &lost);
  bool more = false, failed = false;
  for (unsigned r = 0; status == FURROW_OK && r < comm->ranks; r++) {
    failed |= x->requests[r].failed;
    more |= x->requests[r].start < x->requests[r].end;
  }
  if (failed) return fw_comm_share_status(comm, mine, err);
  if (status == FURROW_OK && more) status = send_answers(x, request->rows, err);
  if (status != FURROW_OK) return status;
  if (more) divide(x, request, end);
  *parts = x->parts;
  *done = !more;
  return FURROW_OK;
}

/* ---- Elements ---- */

/* One matrix that is being written. */
typedef struct writing {
  const fw_parameters *p;
  size_t parameter;
  const fw_parameter *about;
  const furrow_comm *comm;
  int32_t servers;
  furrow_element_type type;
  const uint64_t *keys; /* keys of this rank's features, ascending; NULL: all columns are its own */
  size_t key_count;
  bool sparse;      /* only columns with a feature have elements */
  int32_t *row_ids; /* 0 … rows - 1 */
  char *values;     /* values of a panel */
  int64_t *col_ids;
  size_t *taken; /* columns of each rank's, in a panel */
  furrow_matrix_writer *writer;
} writing;

/* Numbers first … first+rows-1 of a column to `to`: zeros of one that has no feature. */
static void copy_column(const writing *w, int64_t col, size_t first, size_t rows, char *to) {
  const size_t size = furrow_element_size(w->type);
  const char *from = NULL;
  if (w->about->by_feature)
    from = fw_parameters_feature(w->p, w->parameter, (uint64_t)col, 0);
  else
    from = (const char *)fw_parameters_dense(w->p, w->parameter, 0) + (size_t)col * size;
  if (from)
    memcpy(to, from + first * size, rows * size);
  else
    memset(to, 0, rows * size);
}

/* Writes w->values: rows first … first+rows-1 of `count` columns, w->col_ids of a sparse matrix or col, col + 1 … */
static furrow_status write_panel(writing *w, size_t first, size_t rows, int64_t col, size_t count, furrow_error *err) {
  const furrow_panel panel = {.rows = rows,
                              .row_ids = w->row_ids + first,
                              .cols = count,
                              .col_ids = w->sparse ? w->col_ids : NULL,
                              .first_col = col,
                              .type = w->type,
                              .values.any = w->values};
  return furrow_matrix_writer_write_panel(w->writer, &panel, err);
}

/* Writes rows first … first+rows-1 of `count` columns: the columns w->keys[at], w->keys[at + 1] … if sparse, else col,
 * col + 1 … */
static furrow_status put_panel(writing *w, size_t first, size_t rows, int64_t col, size_t at, size_t count,
                               furrow_error *err) {
  const size_t size = furrow_element_size(w->type);
  for (size_t c = 0; c < count; c++) {
    const int64_t id = w->sparse ? (int64_t)w->keys[at + c] : col + (int64_t)c;
    w->col_ids[c] = id;
    copy_column(w, id, first, rows, w->values + c * rows * size);
  }
  return write_panel(w, first, rows, col, count, err);
}

/* `rows` rows of a partition, panel by panel. */
static furrow_status put_rows(writing *w, const furrow_partition_meta *part, size_t first, size_t rows,
                              furrow_error *err) {
  const size_t most = PANEL_NUMBERS / rows > 0 ? PANEL_NUMBERS / rows : 1;
  const size_t from = w->sparse ? first_key_from(w->keys, w->key_count, part->start_col) : 0;
  const size_t end =
      w->sparse ? first_key_from(w->keys, w->key_count, part->end_col) : (size_t)(part->end_col - part->start_col);
  furrow_status status = FURROW_OK;
  for (size_t at = from; status == FURROW_OK && at < end; at += most) {
    const size_t count = end - at < most ? end - at : most;
    status = put_panel(w, first, rows, part->start_col + (int64_t)(at - from), at, count, err);
  }
  return status;
}

/* Rows that are written at once. */
static size_t row_step(const writing *w, const furrow_matrix_format *format) {
  return format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? w->about->rows : 1;
}

static furrow_status put_part(writing *w, const furrow_matrix_meta *meta, const furrow_matrix_format *format, size_t i,
                              furrow_error *err) {
  furrow_status status = furrow_matrix_writer_begin_partition(w->writer, i, err);
  const size_t rows = w->about->rows, step = row_step(w, format);
  for (size_t first = 0; status == FURROW_OK && first < rows; first += step)
    status = put_rows(w, &meta->parts[i], first, step, err);
  return status;
}

static furrow_status reserve_values(writing *w, furrow_error *err) {
  const size_t rows = w->about->rows, ranks = w->comm->ranks;
  const size_t numbers = rows * ranks > PANEL_NUMBERS ? rows * ranks : PANEL_NUMBERS;
  furrow_status status = FW_ALLOC_ROWS(&w->values, numbers, furrow_element_size(w->type), err);
  if (status == FURROW_OK) status = FW_ALLOC(&w->col_ids, PANEL_NUMBERS, err);
  if (status == FURROW_OK) status = FW_ALLOC(&w->taken, ranks, err);
  if (status == FURROW_OK) status = FW_ALLOC(&w->row_ids, rows, err);
  for (size_t r = 0; status == FURROW_OK && r < rows; r++) w->row_ids[r] = (int32_t)r;
  return status;
}

/* ---- Elements of several ranks ---- */

/* Partition i belongs to server i % servers, and a server to a rank. */
static bool is_own_part(const writing *w, const furrow_partition_meta *part) {
  return (uint32_t)(part->part_id % w->servers) % w->comm->ranks == w->comm->rank;
}

/* Where a rank is in the partitions that it writes. */
typedef struct part_cursor {
  size_t part, first; /* rows from `first` on are being written */
  int64_t col;        /* columns before it are written */
  bool begun;         /* the partition has */
} part_cursor;

/* Moves on to the next row or partition with columns to write; false: there is none. */
static furrow_status advance(writing *w, const furrow_matrix_meta *meta, size_t step, part_cursor *at,
                             furrow_error *err) {
  for (; at->part < meta->part_count; at->part++, at->begun = false) {
    const furrow_partition_meta *part = &meta->parts[at->part];
    if (!is_own_part(w, part)) continue;
    if (!at->begun) {
      FW_TRY(furrow_matrix_writer_begin_partition(w->writer, at->part, err));
      *at = (part_cursor){.part = at->part, .col = part->start_col, .begun = true};
    } else if (at->col >= part->end_col) {
      at->first += step;
      at->col = part->start_col;
    }
    if (at->first < w->about->rows && part->start_col < part->end_col) break;
  }
  return FURROW_OK;
}

static column_request request_of(const writing *w, const column_exchange *exchange, const furrow_matrix_meta *meta,
                                 size_t step, const part_cursor *at) {
  column_request request = {.rows = (uint32_t)step, .first = (uint32_t)at->first};
  if (at->part >= meta->part_count) return request;
  const size_t span = exchange_span(exchange, step);
  request.start = at->col;
  request.end = meta->parts[at->part].end_col;
  if (!w->sparse && request.end - at->col > (int64_t)span) request.end = at->col + (int64_t)span;
  return request;
}

/* The columns of all ranks among start … end-1, one by one, or between zeros; returns how many they are. */
static size_t join_parts(writing *w, const columns_part *parts, const column_request *request, int64_t end) {
  const size_t bytes = request->rows * furrow_element_size(w->type);
  for (unsigned r = 0; r < w->comm->ranks; r++) w->taken[r] = 0;
  if (!w->sparse) memset(w->values, 0, (size_t)(end - request->start) * bytes);
  for (size_t n = 0;; n++) {
    unsigned least = w->comm->ranks;
    for (unsigned r = 0; r < w->comm->ranks; r++) {
      const columns_part *part = &parts[r];
      if (w->taken[r] == part->count || (int64_t)part->keys[w->taken[r]] >= end) continue;
      if (least == w->comm->ranks || part->keys[w->taken[r]] < parts[least].keys[w->taken[least]]) least = r;
    }
    if (least == w->comm->ranks) return w->sparse ? n : (size_t)(end - request->start);
    const size_t i = w->taken[least]++;
    const int64_t key = (int64_t)parts[least].keys[i];
    const size_t to = w->sparse ? n : (size_t)(key - request->start);
    w->col_ids[n] = key;
    memcpy(w->values + to * bytes, parts[least].numbers + i * bytes, bytes);
  }
}

/* Each rank writes its own partitions, while all ranks send it the weights of their features. */
static furrow_status put_exchanged(writing *w, const furrow_matrix_meta *meta, const furrow_matrix_format *format,
                                   column_exchange *exchange, furrow_error *err) {
  const size_t step = row_step(w, format);
  part_cursor at = {0};
  furrow_status status = FURROW_OK;
  for (bool done = false; !done;) {
    const columns_part *parts = NULL;
    int64_t end = 0;
    if (status == FURROW_OK) status = advance(w, meta, step, &at, err);
    const column_request request = request_of(w, exchange, meta, step, &at);
    status = exchange_run(exchange, &request, status, &parts, &end, &done, err);
    if (status != FURROW_OK) return status;
    if (request.start >= request.end) continue;
    const size_t count = join_parts(w, parts, &request, end);
    status = write_panel(w, at.first, step, request.start, count, err);
    at.col = end;
  }
  return status;
}

/* What the ranks have written of each partition, for the metadata, which the first one writes. */
static furrow_status gather_counts(writing *w, const furrow_matrix_meta *meta, furrow_error *err) {
  const size_t each = 2 + w->about->rows;
  int64_t *numbers = NULL;
  furrow_status status = FW_ALLOC_ZERO(&numbers, meta->part_count * each, err);
  for (size_t i = 0; status == FURROW_OK && i < meta->part_count; i++)
    if (is_own_part(w, &meta->parts[i])) fw_writer_get_part(w->writer, i, numbers + i * each);
  status = fw_comm_share_status(w->comm, status, err);
  if (status == FURROW_OK) status = fw_comm_sum_i64(w->comm, numbers, meta->part_count * each, err);
  for (size_t i = 0; status == FURROW_OK && fw_comm_is_first(w->comm) && i < meta->part_count; i++)
    if (!is_own_part(w, &meta->parts[i])) status = fw_writer_take_part(w->writer, i, numbers + i * each, err);
  fw_free(numbers);
  return status;
}

/* ---- A matrix ---- */

/* nnz as Angel's servers count it: the elements of all rows, saved or not. State has the elements of its weights; the
 * gradient is cleared after each update, which leaves zeros in a dense row and nothing in a sparse one. */
static furrow_status count_elements(const writing *w, furrow_matrix_meta *meta, furrow_error *err) {
  const size_t all = (size_t)meta->row / w->about->rows;
  const size_t blocks = !is_dense(meta->row_type) && all > 1 ? all - 1 : all;
  int64_t *cols = NULL;
  furrow_status status = FW_ALLOC(&cols, meta->part_count, err);
  for (size_t i = 0; status == FURROW_OK && i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    cols[i] = part->end_col - part->start_col;
    if (w->sparse)
      cols[i] = (int64_t)(first_key_from(w->keys, w->key_count, part->end_col) -
                          first_key_from(w->keys, w->key_count, part->start_col));
  }
  status = fw_comm_share_status(w->comm, status, err);
  if (status == FURROW_OK && w->sparse) status = fw_comm_sum_i64(w->comm, cols, meta->part_count, err);
  for (size_t i = 0; status == FURROW_OK && i < meta->part_count; i++)
    meta->parts[i].nnz = cols[i] * (int64_t)(w->about->rows * blocks);
  fw_free(cols);
  return status;
}

/* The first rank makes the folder; then the others find it. */
static furrow_status open_writer(writing *w, furrow_model_writer *model, const furrow_matrix_meta *meta,
                                 const fw_save_params *params, furrow_error *err) {
  furrow_status status = reserve_values(w, err);
  for (int round = 0; round < 2; round++) {
    if (status == FURROW_OK && fw_comm_is_first(w->comm) == (round == 0))
      status = furrow_matrix_writer_open_in(&w->writer, model, meta, &params->write, err);
    status = fw_comm_share_status(w->comm, status, err);
  }
  return status;
}

/* Weights of features of several ranks are exchanged; all else is here. */
static furrow_status put_parts(writing *w, const furrow_matrix_meta *meta, const furrow_matrix_format *format,
                               furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (w->comm->ranks > 1 && w->about->by_feature) {
    column_exchange *exchange = NULL;
    FW_TRY(exchange_create(&exchange, w->p, w->parameter, w->keys, w->key_count, PANEL_NUMBERS, err));
    status = put_exchanged(w, meta, format, exchange, err);
    exchange_free(exchange);
    return status;
  }
  for (size_t part = 0; status == FURROW_OK && part < meta->part_count; part++)
    if (is_own_part(w, &meta->parts[part])) status = put_part(w, meta, format, part, err);
  return status;
}

static furrow_status commit_matrix(writing *w, const furrow_matrix_meta *meta, furrow_status status,
                                   furrow_error *err) {
  if (w->comm->ranks > 1) {
    if (status == FURROW_OK) status = fw_writer_finish_parts(w->writer, err);
    status = fw_comm_share_status(w->comm, status, err);
    if (status == FURROW_OK) status = gather_counts(w, meta, err);
  }
  if (status == FURROW_OK && fw_comm_is_first(w->comm)) status = furrow_matrix_writer_commit(w->writer, err);
  return fw_comm_share_status(w->comm, status, err);
}

static furrow_status put_matrix(furrow_model_writer *model, const fw_parameters *p, size_t i,
                                const saved_features *features, const fw_save_params *params, furrow_error *err) {
  const fw_plan *plan = p->plan;
  const fw_parameter *about = &p->list[i];
  writing w = {.p = p, .parameter = i, .about = about, .comm = p->comm, .servers = params->servers};
  const int64_t cols = columns_of(about, features);
  const int32_t row_type = about->by_feature ? feature_type(plan, features, cols) : dense_type(plan->model.row_type);
  const furrow_matrix_format *format = furrow_layer_formats_get(params->formats, kind_of(plan, about));
  FW_TRY(check_keys(plan, about, row_type, cols, format, err));
  w.sparse = about->by_feature && !is_dense(row_type);
  if (about->by_feature) w.keys = features->keys, w.key_count = features->count;
  furrow_matrix_meta *meta = NULL;
  furrow_status status = plan_matrix(&meta, plan, about, i, row_type, cols, params, err);
  status = fw_comm_share_status(w.comm, status, err);
  if (status == FURROW_OK) status = count_elements(&w, meta, err);
  if (status == FURROW_OK) {
    w.type = furrow_matrix_row_type_get(meta->row_type)->element;
    status = open_writer(&w, model, meta, params, err);
  }
  if (status == FURROW_OK) status = commit_matrix(&w, meta, put_parts(&w, meta, format, err), err);
  furrow_matrix_writer_close(w.writer);
  fw_free(w.values);
  fw_free(w.col_ids);
  fw_free(w.row_ids);
  fw_free(w.taken);
  furrow_matrix_meta_free(meta);
  return status;
}

/* ---- The directory ---- */

static furrow_status list_features(saved_features *features, const fw_parameters *p, furrow_error *err) {
  const furrow_comm *comm = p->comm;
  furrow_status status = fw_comm_share_status(comm, fw_parameters_keys(p, &features->keys, &features->count, err), err);
  if (status != FURROW_OK) return status;
  int64_t total = (int64_t)features->count;
  features->open = fw_parameters_are_open(p);
  if (features->keys && features->count) features->end = features->keys[features->count - 1] + 1;
  FW_TRY(fw_comm_max_u64(comm, &features->end, 1, err));
  FW_TRY(fw_comm_sum_i64(comm, &total, 1, err));
  features->total = (uint64_t)total;
  return FURROW_OK;
}

/* The first rank opens the directory; the others fill it with it. */
static furrow_status open_model(furrow_model_writer **model, const furrow_comm *comm, const char *folder,
                                const fw_save_params *params, furrow_error *err) {
  char temporary[256] = "";
  furrow_status status = FURROW_OK;
  if (fw_comm_is_first(comm)) status = furrow_model_writer_open(model, folder, &params->write, err);
  if (comm->ranks == 1) return status;
  if (*model) snprintf(temporary, sizeof temporary, "%s", fw_model_writer_temporary(*model));
  FW_TRY(fw_comm_share_status(comm, status, err));
  FW_TRY(comm->broadcast(comm, temporary, sizeof temporary, 0, err));
  if (!fw_comm_is_first(comm)) status = fw_model_writer_join(model, folder, temporary, err);
  return fw_comm_share_status(comm, status, err);
}

furrow_status fw_parameters_save(const fw_parameters *p, const furrow_learn_conf *conf, const fw_buffer *about,
                                 const char *folder, const furrow_trainer_save_params *params, furrow_error *err) {
  const furrow_comm *comm = p->comm;
  fw_save_params used;
  FW_TRY(fw_save_params_read(&used, params, comm->ranks, err));
  furrow_model_writer *model = NULL;
  saved_features features = {0};
  furrow_status status = list_features(&features, p, err);
  if (status == FURROW_OK) status = open_model(&model, comm, folder, &used, err);
  for (size_t i = 0; status == FURROW_OK && i < p->count; i++) status = put_matrix(model, p, i, &features, &used, err);
  if (status == FURROW_OK && fw_comm_is_first(comm)) {
    status = fw_model_put_graph(model, conf, about, err);
    if (status == FURROW_OK) status = furrow_model_writer_commit(model, err);
  }
  status = fw_comm_share_status(comm, status, err);
  furrow_model_writer_close(model);
  fw_free(features.keys);
  return status;
}
