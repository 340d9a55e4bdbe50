/* model/exchange/import.c: imports a file of another program as a matrix folder or a model directory. */
#include "model/exchange/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/input.h"
#include "model/meta/meta.h"
#include "model/read/load.h"
#include "model/write/matrix_writer.h"

furrow_element_type fw_import_element_type(fw_array_type type) {
  switch (type) {
  case FW_ARRAY_F64: return FURROW_ELEMENT_F64;
  case FW_ARRAY_F32:
  case FW_ARRAY_F16: return FURROW_ELEMENT_F32;
  case FW_ARRAY_I64:
  case FW_ARRAY_U64:
  case FW_ARRAY_U32: return FURROW_ELEMENT_I64;
  default: return FURROW_ELEMENT_I32;
  }
}

furrow_status fw_import_start(const fw_import *job, fw_import_matrix *m, fw_array_type type, const char *format,
                              furrow_error *err) {
  const furrow_model_import_params *p = job->params;
  const furrow_matrix_format *found;
  *m = (fw_import_matrix){
      .spec = *p->spec, .axis = p->vectors, .type = fw_import_element_type(type), .all_rows = p->spec->rows != 0};
  if (!m->spec.format) m->spec.format = format ? format : FW_DEFAULT_FORMAT;
  if (!m->spec.name) m->spec.name = job->name;
  FW_TRY(furrow_matrix_format_find(m->spec.format, &found, err));
  if (m->axis == FURROW_AXIS_AUTO)
    m->axis = found->flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? FURROW_AXIS_COLUMNS : FURROW_AXIS_ROWS;
  if (m->spec.row_type < 0) return FURROW_OK;
  const furrow_matrix_row_type *row_type = furrow_matrix_row_type_get(m->spec.row_type);
  if (!row_type || row_type->objects)
    return fw_fail(err, FURROW_E_ARGUMENT, "spec.row_type %d is not a type of numbers", (int)m->spec.row_type);
  m->type = row_type->element;
  return FURROW_OK;
}

/* ---- Ids ------------------------------------------------------------------------------------------------ */

furrow_status fw_import_read_ids(const fw_import *job, fw_import_ids *ids, uint64_t vectors, furrow_error *err) {
  char *path = NULL;
  fw_array_reader *reader = NULL;
  void *memory = NULL;
  furrow_status status = fw_exchange_ids_path(&path, job->path, job->params->ids, err);
  if (status != FURROW_OK || !path) return status;
  if (job->params->ids || fw_path_exists(path)) {
    status = fw_array_open(&reader, path, FW_ARRAY_NPY, err);
    if (status == FURROW_OK) status = fw_array_read_flat(reader, FW_ARRAY_I64, &memory, &ids->count, err);
    ids->ids = memory;
    if (status == FURROW_OK && vectors != FW_ARRAY_UNKNOWN && ids->count != vectors) {
      status = fw_fail(err, FURROW_E_FORMAT, "%zu %s for %llu %s", ids->count, fw_plural(ids->count, "id", "ids"),
                       (unsigned long long)vectors, fw_plural(vectors, "vector", "vectors"));
      fw_error_set_file(err, path);
    }
  }
  fw_array_close(reader);
  fw_free(path);
  return status;
}

typedef struct id_position {
  int64_t id;
  size_t place;
} id_position;

static int by_id(const void *a, const void *b) {
  const id_position *x = a, *y = b;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

static furrow_status fail_id(furrow_error *err, const char *file, furrow_status status, int64_t id, size_t place,
                             const char *what) {
  fw_fail(err, status, "vector %zu: the id %lld %s", place, (long long)id, what);
  fw_error_set_file(err, file);
  return status;
}

/* Sorts a copy of ids that do not ascend, to find duplicates. */
static furrow_status check_unique(const fw_import_ids *ids, const char *file, size_t *place, furrow_error *err) {
  id_position *positions;
  furrow_status status = FW_ALLOC(&positions, ids->count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < ids->count; i++) positions[i] = (id_position){ids->ids[i], i};
  qsort(positions, ids->count, sizeof *positions, by_id);
  for (size_t i = 1; i < ids->count && status == FURROW_OK; i++) {
    if (positions[i].id != positions[i - 1].id) continue;
    *place = positions[i].place;
    status = fail_id(err, file, FURROW_E_FORMAT, positions[i].id, *place, "occurs twice");
  }
  fw_free(positions);
  return status;
}

furrow_status fw_import_check_ids(const fw_import_ids *ids, furrow_axis axis, const char *file, size_t *place,
                                  furrow_error *err) {
  bool ascends = true;
  size_t unused;
  if (!place) place = &unused;
  if (!ids->ids) return FURROW_OK;
  for (size_t i = 0; i < ids->count; i++) {
    const int64_t id = ids->ids[i];
    *place = i;
    if (axis == FURROW_AXIS_ROWS && (id < 0 || id >= INT32_MAX))
      return fail_id(err, file, FURROW_E_RANGE, id, i, "is not a row: rows are 0 to 2147483646");
    ascends = ascends && (i == 0 || ids->ids[i - 1] < id);
  }
  return ascends ? FURROW_OK : check_unique(ids, file, place, err);
}

/* ---- The job -------------------------------------------------------------------------------------------- */

/* The name of a matrix is the last component of its folder's path. */
static furrow_status name_of(char **name, const char *path, furrow_error *err) {
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') begin--;
  return fw_strndup(name, path + begin, end - begin, err);
}

static furrow_status import_format(fw_import *job, furrow_error *err) {
  switch (job->format) {
  case FURROW_EXCHANGE_NPZ: return fw_import_npz(job, err);
  case FURROW_EXCHANGE_TSV: return fw_import_tsv(job, err);
  case FURROW_EXCHANGE_LIBSVM: return fw_import_libsvm(job, err);
  case FURROW_EXCHANGE_TEXT: return fw_import_vectors(job, err);
  case FURROW_EXCHANGE_SAFETENSORS: return fw_import_tensors(job, err);
  default: return fw_import_dense(job, err);
  }
}

/* The caller's parameters and the structs they point at, completed with defaults; no pointer is NULL. */
typedef struct known_params {
  furrow_model_import_params import;
  furrow_matrix_spec spec;
  furrow_matrix_write_params write;
} known_params;

static furrow_status read_params(known_params *known, const furrow_model_import_params *given, furrow_error *err) {
  furrow_model_import_params_init(&known->import);
  furrow_matrix_spec_init(&known->spec);
  furrow_matrix_write_params_init(&known->write);
  FW_TRY(FW_PARAMS_READ(&known->import, given, furrow_model_import_params, err));
  FW_TRY(FW_PARAMS_READ(&known->spec, known->import.spec, furrow_matrix_spec, err));
  FW_TRY(FW_PARAMS_READ(&known->write, known->import.write, furrow_matrix_write_params, err));
  known->import.spec = &known->spec;
  known->import.write = &known->write;
  return FURROW_OK;
}

furrow_status furrow_model_import(const char *path, const char *target, const furrow_model_import_params *params,
                                  furrow_model_import_result *result, furrow_error *err) {
  known_params known;
  char *name = NULL;
  FW_TRY(read_params(&known, params, err));
  fw_import job = {.params = &known.import, .path = path, .target = target, .format = known.import.format};
  job.memory = known.import.memory ? known.import.memory : FW_DEFAULT_MEMORY;
  furrow_status status = fw_exchange_format_of(&job.format, path, err);
  if (status == FURROW_OK) status = name_of(&name, target, err);
  if (status == FURROW_OK && strcmp(path, "-") != 0) status = fw_check_path_overlap(path, target, err);
  job.name = name;
  if (status == FURROW_OK) status = import_format(&job, err);
  if (status == FURROW_OK && result) fw_info_write(result, &job.result, sizeof job.result);
  fw_free(name);
  return status;
}
