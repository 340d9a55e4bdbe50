/* learn/parameters/parameters_load.c: the parameters of a net from the matrices of a model directory. */
#include "learn/parameters/parameters.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "model/jobs/verify.h"

/* One matrix that is being read. */
typedef struct reading {
  fw_parameters *p;
  size_t parameter;
  const fw_parameter *about;
  bool open; /* features get their records as they come */
  const char *folder;
} reading;

static furrow_status misfit(const reading *in, furrow_error *err) {
  fw_error_set_file(err, in->folder);
  return FURROW_E_FORMAT;
}

/* Where the numbers of a column are; *at: the index of row 0 among them. *numbers is NULL for a feature of another
 * rank.
 */
static furrow_status place_of(const reading *in, int64_t col, void **numbers, size_t *at, furrow_error *err) {
  const fw_parameter *about = in->about;
  if (col < 0 || (about->cols > 0 && (uint64_t)col >= about->cols)) {
    fw_fail(err, FURROW_E_FORMAT, "%s has column %lld, but the layer has %llu columns", about->name, (long long)col,
            (unsigned long long)about->cols);
    return misfit(in, err);
  }
  if (!about->by_feature) {
    *numbers = fw_parameters_dense(in->p, in->parameter, 0);
    *at = (size_t)col;
    return FURROW_OK;
  }
  if (!fw_parameters_own(in->p, (uint64_t)col)) {
    *numbers = NULL;
    return FURROW_OK;
  }
  FW_TRY(fw_parameters_make(in->p, (uint64_t)col, err));
  *numbers = fw_parameters_feature(in->p, in->parameter, (uint64_t)col, 0);
  *at = 0;
  return FURROW_OK;
}

/* A weight that is too large for the model's numbers is infinite in it. */
static furrow_status check_weight(const reading *in, double weight, int32_t row, int64_t col, furrow_error *err) {
  if (in->p->element == sizeof(float) ? isfinite((float)weight) : isfinite(weight)) return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "%s has %g in row %d, column %lld, which is not a finite number", in->about->name,
          weight, (int)row, (long long)col);
  return misfit(in, err);
}

static furrow_status take_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  (void)part;
  const reading *in = user;
  const size_t rows = in->about->rows;
  for (size_t c = 0; c < panel->cols; c++) {
    void *numbers = NULL;
    size_t at = 0;
    FW_TRY(place_of(in, furrow_panel_col(panel, c), &numbers, &at, err));
    for (size_t r = 0; numbers && r < panel->rows; r++) {
      const size_t row = (size_t)panel->row_ids[r];
      if (row >= rows) continue;
      const double weight = furrow_panel_get(panel, r, c);
      FW_TRY(check_weight(in, weight, panel->row_ids[r], furrow_panel_col(panel, c), err));
      fw_parameters_put(in->p, numbers, at + row, weight);
    }
  }
  return FURROW_OK;
}

/* ---- Whether a matrix fits ---- */

static bool has_row(const furrow_matrix_meta *meta, int32_t row) {
  for (size_t p = 0; p < meta->part_count; p++)
    for (size_t r = 0; r < meta->parts[p].row_count; r++)
      if (meta->parts[p].rows[r].row_id == row) return true;
  return false;
}

/* Checks that the matrix has all rows of its layer; a dense array must also have the layer's number of columns. */
static furrow_status check_shape(const reading *in, const furrow_matrix_source *source, furrow_error *err) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  const fw_parameter *about = in->about;
  if (meta->row >= 0 && (size_t)meta->row < about->rows) {
    fw_fail(err, FURROW_E_FORMAT, "%s has %d rows, but the layer has %zu", about->name, meta->row, about->rows);
    return misfit(in, err);
  }
  if (!about->by_feature && meta->col >= 0 && (uint64_t)meta->col != about->cols) {
    fw_fail(err, FURROW_E_FORMAT, "%s has %lld columns, but the layer has %llu", about->name, (long long)meta->col,
            (unsigned long long)about->cols);
    return misfit(in, err);
  }
  for (size_t r = 0; r < about->rows; r++) {
    if (has_row(meta, (int32_t)r)) continue;
    fw_fail(err, FURROW_E_FORMAT, "%s has no row %zu, but the layer has %zu", about->name, r, about->rows);
    return misfit(in, err);
  }
  return FURROW_OK;
}

/* ---- Weights that were stored out x in ---- */

static void transpose(const void *from, void *to, size_t out, size_t in, size_t size) {
  for (size_t i = 0; i < in; i++)
    for (size_t j = 0; j < out; j++)
      memcpy((char *)to + (i * out + j) * size, (const char *)from + (j * in + i) * size, size);
}

static furrow_status transpose_weights(const reading *in, const fw_layer *layer, furrow_error *err) {
  const size_t size = in->p->element;
  void *weights = fw_parameters_dense(in->p, in->parameter, 0), *copy = NULL;
  FW_TRY(fw_alloc(&copy, in->about->cols, size, err));
  memcpy(copy, weights, in->about->cols * size);
  transpose(copy, weights, layer->width, layer->in_width, size);
  fw_free(copy);
  return FURROW_OK;
}

/* ---- One matrix, all matrices ---- */

static bool is_there(const char *folder) {
  struct stat info;
  return fw_path_stat(folder, &info, NULL) == FURROW_OK;
}

static furrow_status read_matrix(reading *in, unsigned threads, furrow_error *err) {
  furrow_matrix_source *source = NULL;
  furrow_status status = furrow_matrix_source_open(&source, in->folder, NULL, err);
  if (status == FURROW_E_NOT_FOUND && !is_there(in->folder)) { /* a format or a file may be missing, too */
    fw_fail(err, status, "the matrix is missing, but the graph has it");
    fw_error_set_file(err, in->folder);
  }
  if (status != FURROW_OK) return status;
  furrow_matrix_scan_params params;
  furrow_matrix_scan_params_init(&params);
  params.threads = in->open ? 1 : threads;
  status = fw_matrix_check_layout(in->folder, err);
  if (status == FURROW_OK) status = check_shape(in, source, err);
  if (status == FURROW_OK) status = furrow_matrix_for_each_panel(source, &params, take_panel, in, err);
  furrow_matrix_source_close(source);
  return status;
}

static furrow_status load_parameter(fw_parameters *p, const char *folder, size_t i, furrow_fc_order fc_order,
                                    unsigned threads, furrow_error *err) {
  const fw_parameter *about = &p->list[i];
  const fw_layer *layer = &p->plan->graph.layers[about->layer];
  char *path = NULL;
  FW_TRY(fw_path_join(&path, folder, about->name, err));
  reading in = {.p = p, .parameter = i, .about = about, .folder = path};
  in.open = about->by_feature && fw_parameters_are_open(p);
  furrow_status status = read_matrix(&in, threads, err);
  if (status == FURROW_OK && fc_order == FURROW_FC_OUT_IN && layer->type == FW_LAYER_FC && !about->bias)
    status = transpose_weights(&in, layer, err);
  fw_free(path);
  return status;
}

static bool no_name(void *user, const char *name) {
  (void)user, (void)name;
  return false;
}

furrow_status fw_parameters_load(fw_parameters *p, const char *folder, furrow_fc_order fc_order, unsigned threads,
                                 furrow_error *err) {
  fw_dir_names none = {0};
  furrow_status status = fw_dir_names_read(&none, folder, no_name, NULL, err); /* whether it is there at all */
  fw_dir_names_clear(&none);
  for (size_t i = 0; status == FURROW_OK && i < p->count; i++)
    status = load_parameter(p, folder, i, fc_order, threads, err);
  return status;
}
