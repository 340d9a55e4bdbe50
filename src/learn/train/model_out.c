/* learn/train/model_out.c: the parameters of a net as a model directory: a matrix for each, graph.json. */
#include "learn/train/model_out.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/train/column_exchange.h"
#include "model/write/matrix_writer.h"

#define PANEL_NUMBERS 65536 /* of a panel that is written at once */
#define FEW_COLUMNS 1000000 /* so many are written densely, however few of them have a feature */

/* The features of a net. */
typedef struct saved_features {
  uint64_t *keys; /* of this rank, ascending; NULL: 0 … count-1 */
  size_t count;
  bool open;      /* columns may have no feature */
  uint64_t total; /* of all ranks */
  uint64_t end;   /* behind the largest key */
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

/* The row type of features: that of the configuration, but columns without a feature, which an open range may have, are
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

/* A feature's last column; an open range ends behind its largest feature. */
static int64_t columns_of(const fw_parameter *parameter, const saved_features *features) {
  if (parameter->cols > 0) return (int64_t)parameter->cols;
  return features->total > 0 ? (int64_t)features->end : 1;
}

/* Rows of the matrix are those of its weights, of the optimizer's state and of a gradient, as on Angel's servers; the
 * weights are saved. */
static furrow_status plan_matrix(furrow_matrix_meta **meta, const fw_plan *plan, const fw_parameter *parameter,
                                 size_t id, int32_t row_type, int64_t cols, const fw_save_params *params,
                                 furrow_error *err) {
  int32_t *saved = NULL;
  furrow_status status = fw_alloc((void **)&saved, parameter->rows, sizeof *saved, err);
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

/* ---- Elements ---- */

/* One matrix that is being written. */
typedef struct writing {
  const fw_net *net;
  size_t parameter;
  const fw_parameter *about;
  const furrow_comm *comm;
  int32_t servers;
  furrow_element_type type;
  const uint64_t *keys; /* of this rank's features, ascending; NULL: all columns are its own */
  size_t key_count;
  bool sparse;      /* only columns with a feature have elements */
  int32_t *row_ids; /* 0 … rows - 1 */
  char *values;     /* of a panel */
  int64_t *col_ids;
  size_t *taken; /* columns of each rank's, in a panel */
  furrow_matrix_writer *writer;
} writing;

/* Numbers first … first+rows-1 of a column to `to`: zeros of one that has no feature. */
static void copy_column(const writing *w, int64_t col, size_t first, size_t rows, char *to) {
  const size_t size = furrow_element_size(w->type);
  const char *from = NULL;
  if (w->about->by_feature)
    from = fw_net_feature(w->net, w->parameter, (uint64_t)col, 0);
  else
    from = (const char *)fw_net_dense(w->net, w->parameter, 0) + (size_t)col * size;
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

/* Writes rows first … first+rows-1 of `count` columns: those of w->keys from `at` on, or col, col + 1 … */
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
  const size_t from = w->sparse ? fw_first_key(w->keys, w->key_count, part->start_col) : 0;
  const size_t end =
      w->sparse ? fw_first_key(w->keys, w->key_count, part->end_col) : (size_t)(part->end_col - part->start_col);
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

static furrow_status ensure_capacity(writing *w, furrow_error *err) {
  const size_t rows = w->about->rows, ranks = w->comm->ranks;
  const size_t numbers = rows * ranks > PANEL_NUMBERS ? rows * ranks : PANEL_NUMBERS;
  furrow_status status = fw_alloc((void **)&w->values, numbers, furrow_element_size(w->type), err);
  if (status == FURROW_OK) status = fw_alloc((void **)&w->col_ids, PANEL_NUMBERS, sizeof *w->col_ids, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&w->taken, ranks, sizeof *w->taken, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&w->row_ids, rows, sizeof *w->row_ids, err);
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

static fw_column_request request_of(const writing *w, const fw_column_exchange *exchange,
                                    const furrow_matrix_meta *meta, size_t step, const part_cursor *at) {
  fw_column_request request = {.rows = (uint32_t)step, .first = (uint32_t)at->first};
  if (at->part >= meta->part_count) return request;
  const size_t span = fw_column_exchange_span(exchange, step);
  request.start = at->col;
  request.end = meta->parts[at->part].end_col;
  if (!w->sparse && request.end - at->col > (int64_t)span) request.end = at->col + (int64_t)span;
  return request;
}

/* The columns of all ranks among start … end-1, one by one, or between zeros; returns how many they are. */
static size_t join_parts(writing *w, const fw_columns_part *parts, const fw_column_request *request, int64_t end) {
  const size_t bytes = request->rows * furrow_element_size(w->type);
  for (unsigned r = 0; r < w->comm->ranks; r++) w->taken[r] = 0;
  if (!w->sparse) memset(w->values, 0, (size_t)(end - request->start) * bytes);
  for (size_t n = 0;; n++) {
    unsigned least = w->comm->ranks;
    for (unsigned r = 0; r < w->comm->ranks; r++) {
      const fw_columns_part *part = &parts[r];
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
                                   fw_column_exchange *exchange, furrow_error *err) {
  const size_t step = row_step(w, format);
  part_cursor at = {0};
  furrow_status status = FURROW_OK;
  for (bool done = false; !done;) {
    const fw_columns_part *parts = NULL;
    int64_t end = 0;
    if (status == FURROW_OK) status = advance(w, meta, step, &at, err);
    const fw_column_request request = request_of(w, exchange, meta, step, &at);
    status = fw_column_exchange_run(exchange, &request, status, &parts, &end, &done, err);
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
  furrow_status status = fw_alloc_zero((void **)&numbers, meta->part_count * each, sizeof *numbers, err);
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
  furrow_status status = fw_alloc((void **)&cols, meta->part_count, sizeof *cols, err);
  for (size_t i = 0; status == FURROW_OK && i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    cols[i] = part->end_col - part->start_col;
    if (w->sparse)
      cols[i] = (int64_t)(fw_first_key(w->keys, w->key_count, part->end_col) -
                          fw_first_key(w->keys, w->key_count, part->start_col));
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
  furrow_status status = ensure_capacity(w, err);
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
    fw_column_exchange *exchange = NULL;
    FW_TRY(fw_column_exchange_create(&exchange, w->net, w->parameter, w->keys, w->key_count, PANEL_NUMBERS, err));
    status = put_exchanged(w, meta, format, exchange, err);
    fw_column_exchange_free(exchange);
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

static furrow_status put_matrix(furrow_model_writer *model, const fw_net *net, const fw_plan *plan, size_t i,
                                const saved_features *features, const fw_save_params *params, furrow_error *err) {
  const fw_parameter *about = fw_net_parameter(net, i);
  writing w = {.net = net, .parameter = i, .about = about, .comm = fw_net_comm(net), .servers = params->servers};
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

static furrow_status list_features(saved_features *features, const fw_net *net, furrow_error *err) {
  const furrow_comm *comm = fw_net_comm(net);
  furrow_status status = fw_comm_share_status(comm, fw_net_features(net, &features->keys, &features->count, err), err);
  if (status != FURROW_OK) return status;
  int64_t total = (int64_t)features->count;
  features->open = fw_net_is_open(net);
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

furrow_status fw_model_save(const fw_net *net, const fw_plan *plan, const furrow_learn_conf *conf,
                            const fw_buffer *about, const char *folder, const furrow_trainer_save_params *params,
                            furrow_error *err) {
  const furrow_comm *comm = fw_net_comm(net);
  fw_save_params used;
  FW_TRY(fw_save_params_read(&used, params, comm->ranks, err));
  furrow_model_writer *model = NULL;
  saved_features features = {0};
  furrow_status status = list_features(&features, net, err);
  if (status == FURROW_OK) status = open_model(&model, comm, folder, &used, err);
  for (size_t i = 0; status == FURROW_OK && i < fw_net_parameters(net); i++)
    status = put_matrix(model, net, plan, i, &features, &used, err);
  if (status == FURROW_OK && fw_comm_is_first(comm)) {
    status = fw_model_put_graph(model, conf, about, err);
    if (status == FURROW_OK) status = furrow_model_writer_commit(model, err);
  }
  status = fw_comm_share_status(comm, status, err);
  furrow_model_writer_close(model);
  fw_free(features.keys);
  return status;
}
