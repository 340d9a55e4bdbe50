/* learn/train/model_out.c: the parameters of a net as a model directory: a matrix for each, graph.json. */
#include "learn/train/model_out.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "rows/encode/encoder.h"

#define PANEL_NUMBERS 65536 /* of a panel that is written at once */
#define FEW_COLUMNS 1000000 /* so many are written densely, however few of them have a feature */

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
static int32_t feature_type(const fw_plan *plan, const uint64_t *keys, size_t key_count, int64_t cols) {
  const int32_t row_type = plan->model.row_type;
  const bool few = cols <= FEW_COLUMNS || (cols <= INT32_MAX && (uint64_t)cols / 2 <= key_count);
  return is_dense(row_type) && keys && !few ? sparse_type(row_type, cols) : row_type;
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
static int64_t columns_of(const fw_parameter *parameter, const uint64_t *keys, size_t count) {
  if (parameter->cols > 0) return (int64_t)parameter->cols;
  return count > 0 ? (int64_t)keys[count - 1] + 1 : 1;
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
  furrow_element_type type;
  const uint64_t *keys; /* of features; NULL: every column has an element */
  size_t key_count;
  int32_t *row_ids; /* 0 … rows - 1 */
  char *values;     /* of a panel */
  int64_t *col_ids;
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

/* Writes rows first … first+rows-1 of `count` columns: those of w->keys from `at` on, or col, col + 1 … */
static furrow_status put_panel(writing *w, size_t first, size_t rows, int64_t col, size_t at, size_t count,
                               furrow_error *err) {
  const size_t size = furrow_element_size(w->type);
  for (size_t c = 0; c < count; c++) {
    const int64_t id = w->keys ? (int64_t)w->keys[at + c] : col + (int64_t)c;
    w->col_ids[c] = id;
    copy_column(w, id, first, rows, w->values + c * rows * size);
  }
  const furrow_panel panel = {.rows = rows,
                              .row_ids = w->row_ids + first,
                              .cols = count,
                              .col_ids = w->keys ? w->col_ids : NULL,
                              .first_col = col,
                              .type = w->type,
                              .values.any = w->values};
  return furrow_matrix_writer_write_panel(w->writer, &panel, err);
}

/* The first key that is not below `col`. */
static size_t first_key(const writing *w, int64_t col) {
  size_t low = 0, high = w->key_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if ((int64_t)w->keys[middle] < col)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* `rows` rows of a partition, panel by panel. */
static furrow_status put_rows(writing *w, const furrow_partition_meta *part, size_t first, size_t rows,
                              furrow_error *err) {
  const size_t most = PANEL_NUMBERS / rows > 0 ? PANEL_NUMBERS / rows : 1;
  const size_t from = w->keys ? first_key(w, part->start_col) : 0;
  const size_t end = w->keys ? first_key(w, part->end_col) : (size_t)(part->end_col - part->start_col);
  furrow_status status = FURROW_OK;
  for (size_t at = from; status == FURROW_OK && at < end; at += most) {
    const size_t count = end - at < most ? end - at : most;
    status = put_panel(w, first, rows, part->start_col + (int64_t)(at - from), at, count, err);
  }
  return status;
}

static furrow_status put_part(writing *w, const furrow_matrix_meta *meta, const furrow_matrix_format *format, size_t i,
                              furrow_error *err) {
  furrow_status status = furrow_matrix_writer_begin_partition(w->writer, i, err);
  const size_t rows = w->about->rows;
  const size_t step = format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? rows : 1;
  for (size_t first = 0; status == FURROW_OK && first < rows; first += step)
    status = put_rows(w, &meta->parts[i], first, step, err);
  return status;
}

static furrow_status ensure_capacity(writing *w, furrow_error *err) {
  const size_t rows = w->about->rows;
  const size_t numbers = rows > PANEL_NUMBERS ? rows : PANEL_NUMBERS;
  furrow_status status = fw_alloc((void **)&w->values, numbers, furrow_element_size(w->type), err);
  if (status == FURROW_OK) status = fw_alloc((void **)&w->col_ids, PANEL_NUMBERS, sizeof *w->col_ids, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&w->row_ids, rows, sizeof *w->row_ids, err);
  for (size_t r = 0; status == FURROW_OK && r < rows; r++) w->row_ids[r] = (int32_t)r;
  return status;
}

/* nnz as Angel's servers count it: the elements of all rows, saved or not. State has the elements of its weights; the
 * gradient is cleared after each update, which leaves zeros in a dense row and nothing in a sparse one. */
static void count_elements(const writing *w, furrow_matrix_meta *meta) {
  const size_t all = (size_t)meta->row / w->about->rows;
  const size_t blocks = !is_dense(meta->row_type) && all > 1 ? all - 1 : all;
  for (size_t i = 0; i < meta->part_count; i++) {
    furrow_partition_meta *part = &meta->parts[i];
    const int64_t cols = w->keys ? (int64_t)(first_key(w, part->end_col) - first_key(w, part->start_col))
                                 : part->end_col - part->start_col;
    part->nnz = cols * (int64_t)(w->about->rows * blocks);
  }
}

static furrow_status put_matrix(furrow_model_writer *model, const fw_net *net, const fw_plan *plan, size_t i,
                                const uint64_t *keys, size_t key_count, const fw_save_params *params,
                                furrow_error *err) {
  const fw_parameter *about = fw_net_parameter(net, i);
  writing w = {.net = net, .parameter = i, .about = about};
  const int64_t cols = columns_of(about, keys, key_count);
  const int32_t row_type =
      about->by_feature ? feature_type(plan, keys, key_count, cols) : dense_type(plan->model.row_type);
  const furrow_matrix_format *format = furrow_layer_formats_get(params->formats, kind_of(plan, about));
  FW_TRY(check_keys(plan, about, row_type, cols, format, err));
  if (about->by_feature && !is_dense(row_type)) w.keys = keys, w.key_count = key_count;
  furrow_matrix_meta *meta = NULL;
  furrow_status status = plan_matrix(&meta, plan, about, i, row_type, cols, params, err);
  if (status != FURROW_OK) return status;
  count_elements(&w, meta);
  w.type = furrow_matrix_row_type_get(meta->row_type)->element;
  status = ensure_capacity(&w, err);
  if (status == FURROW_OK) status = furrow_matrix_writer_open_in(&w.writer, model, meta, &params->write, err);
  for (size_t part = 0; status == FURROW_OK && part < meta->part_count; part++)
    status = put_part(&w, meta, format, part, err);
  if (status == FURROW_OK) status = furrow_matrix_writer_commit(w.writer, err);
  furrow_matrix_writer_close(w.writer);
  fw_free(w.values);
  fw_free(w.col_ids);
  fw_free(w.row_ids);
  furrow_matrix_meta_free(meta);
  return status;
}

/* ---- The directory ---- */

/* A model of raw logs has what reads them. */
static furrow_status put_encoder(furrow_model_writer *model, const furrow_learn_conf *conf, furrow_error *err) {
  const char *directory = furrow_learn_conf_get(conf, "encoder");
  furrow_encoder *encoder = NULL;
  fw_buffer schema = {0};
  const void *dictionary = NULL;
  size_t size = 0;
  if (!directory[0]) return FURROW_OK;
  FW_TRY(furrow_encoder_load(&encoder, directory, err));
  furrow_status status = fw_encoder_files(encoder, &schema, &dictionary, &size, err);
  if (status == FURROW_OK)
    status = furrow_model_writer_write_file(model, FW_SCHEMA_NAME, schema.bytes, schema.size, err);
  if (status == FURROW_OK) status = furrow_model_writer_write_file(model, FW_DICTIONARY_NAME, dictionary, size, err);
  fw_buffer_clear(&schema);
  furrow_encoder_free(encoder);
  return status;
}

furrow_status fw_model_put_graph(furrow_model_writer *model, const furrow_learn_conf *conf, const fw_buffer *about,
                                 furrow_error *err) {
  char *text = NULL;
  size_t size = 0;
  furrow_status status = furrow_learn_conf_describe(conf, FURROW_DESCRIBE_ANGEL, 0, &text, &size, err);
  if (status == FURROW_OK) status = furrow_model_writer_write_file(model, "graph.json", text, size, err);
  furrow_free(text);
  if (status == FURROW_OK) status = put_encoder(model, conf, err);
  if (status != FURROW_OK || !about) return status;
  return furrow_model_writer_write_file(model, "furrow.json", about->bytes, about->size, err);
}

furrow_status fw_save_params_read(fw_save_params *params, const furrow_trainer_save_params *given, furrow_error *err) {
  furrow_trainer_save_params used;
  furrow_trainer_save_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, given, furrow_trainer_save_params, err));
  *params = (fw_save_params){.formats = used.formats, .servers = used.servers, .part_size = used.part_size};
  furrow_matrix_write_params_init(&params->write);
  FW_TRY(FW_PARAMS_READ(&params->write, used.write, furrow_matrix_write_params, err));
  params->write.overwrite = used.overwrite;
  if (used.formats) params->write.separator = furrow_layer_formats_separator(used.formats);
  if (params->servers == 0) params->servers = 1;
  return FURROW_OK;
}

furrow_status fw_model_save(const fw_net *net, const fw_plan *plan, const furrow_learn_conf *conf,
                            const fw_buffer *about, const char *folder, const furrow_trainer_save_params *params,
                            furrow_error *err) {
  fw_save_params used;
  FW_TRY(fw_save_params_read(&used, params, err));
  furrow_model_writer *model = NULL;
  uint64_t *keys = NULL;
  size_t key_count = 0;
  furrow_status status = fw_net_features(net, &keys, &key_count, err);
  if (status == FURROW_OK) status = furrow_model_writer_open(&model, folder, &used.write, err);
  for (size_t i = 0; status == FURROW_OK && i < fw_net_parameters(net); i++)
    status = put_matrix(model, net, plan, i, keys, key_count, &used, err);
  if (status == FURROW_OK) status = fw_model_put_graph(model, conf, about, err);
  if (status == FURROW_OK) status = furrow_model_writer_commit(model, err);
  furrow_model_writer_close(model);
  fw_free(keys);
  return status;
}
