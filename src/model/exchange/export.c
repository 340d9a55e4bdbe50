/* model/exchange/export.c: writes a matrix, or all matrices of a model, to a file of another program. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "model/exchange/exchange_job.h"
#include "model/jobs/verify.h"
#include "model/read/load.h"
#include "model/write/matrix_writer.h"

/* Chooses the element type of the output: the requested one, or one that the format supports. */
static furrow_status choose_type(fw_export *job, furrow_error *err) {
  const furrow_model_export_params *p = job->params;
  const bool floats = job->format == FURROW_EXCHANGE_FVECS || job->format == FURROW_EXCHANGE_FBIN;
  const bool any = job->format == FURROW_EXCHANGE_NPY || job->format == FURROW_EXCHANGE_SAFETENSORS;
  job->out_type = floats ? FURROW_ELEMENT_F32 : job->type;
  if (!p->convert) return FURROW_OK;
  if (furrow_element_size(p->type) == 0) return fw_fail(err, FURROW_E_ARGUMENT, "params.type is not an element type");
  if (floats && p->type != FURROW_ELEMENT_F32)
    return fw_fail(err, FURROW_E_ARGUMENT, "%s holds 32-bit floats only", furrow_exchange_format_name(job->format));
  if (!floats && !any && p->type != job->type)
    return fw_fail(err, FURROW_E_ARGUMENT, "%s keeps the type of the elements",
                   furrow_exchange_format_name(job->format));
  job->out_type = p->type;
  return FURROW_OK;
}

furrow_status fw_export_open_source(fw_export *job, const char *folder, furrow_matrix_source **source,
                                    furrow_error *err) {
  const furrow_model_export_params *p = job->params;
  furrow_matrix_source *opened = NULL;
  furrow_status status = furrow_matrix_source_open(&opened, folder, p->source, err);
  if (status != FURROW_OK) return status;
  const bool by_column = furrow_matrix_source_format(opened)->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  const furrow_axis natural = by_column ? FURROW_AXIS_COLUMNS : FURROW_AXIS_ROWS;
  job->type = furrow_matrix_source_row_type(opened)->element;
  job->plan = (fw_vectors_plan){.source = opened,
                                .selection = p->selection,
                                .axis = p->vectors == FURROW_AXIS_AUTO ? natural : p->vectors,
                                .threads = p->threads,
                                .memory = p->memory ? p->memory : FW_DEFAULT_MEMORY,
                                .progress = p->progress,
                                .user = p->progress_user};
  status = choose_type(job, err);
  if (status == FURROW_OK) status = fw_vectors_plan_init(&job->plan, err);
  if (status == FURROW_OK)
    *source = opened;
  else
    fw_export_close_source(job, opened);
  return status;
}

furrow_status fw_export_end_watch(fw_export *job, furrow_status status, furrow_error *err) {
  furrow_path_watch *watch = job->watch;
  job->watch = NULL;
  return watch ? furrow_path_watch_end(watch, status, err) : status;
}

void fw_export_close_source(fw_export *job, furrow_matrix_source *source) {
  fw_vectors_plan_clear(&job->plan);
  furrow_matrix_source_close(source);
}

static furrow_status export_one(fw_export *job, furrow_error *err) {
  switch (job->format) {
  case FURROW_EXCHANGE_NPZ: return fw_export_npz(job, err);
  case FURROW_EXCHANGE_TSV: return fw_export_tsv(job, err);
  case FURROW_EXCHANGE_LIBSVM: return fw_export_libsvm(job, err);
  default: return fw_export_dense(job, err);
  }
}

static furrow_status export_listing(fw_export *job, const furrow_model_listing *listing, furrow_error *err) {
  furrow_matrix_source *source = NULL;
  if (job->format == FURROW_EXCHANGE_SAFETENSORS) return fw_export_tensors(job, listing, err);
  if (listing->matrix_count != 1) {
    fw_fail(err, FURROW_E_ARGUMENT, "a model of %zu matrices, and %s holds one", listing->matrix_count,
            furrow_exchange_format_name(job->format));
    fw_error_set_hint(err, "name the folder of one matrix, or write safetensors");
    fw_error_set_file(err, listing->path);
    return FURROW_E_ARGUMENT;
  }
  furrow_status status = fw_export_open_source(job, listing->matrices[0].folder, &source, err);
  if (status != FURROW_OK) return status;
  status = fw_export_end_watch(job, status, err); /* the matrix has its own */
  if (status == FURROW_OK) status = export_one(job, err);
  job->result.matrices = 1;
  fw_export_close_source(job, source);
  return status;
}

/* Checked before the work, so that a long export does not fail at its end. */
static furrow_status check_free(const char *path, bool overwrite, furrow_error *err) {
  if (!path || overwrite || strcmp(path, "-") == 0 || !fw_path_exists(path)) return FURROW_OK;
  fw_fail(err, FURROW_E_EXISTS, "there is a file of that name already");
  fw_error_set_file(err, path);
  return FURROW_E_EXISTS;
}

static furrow_status check_format(furrow_exchange_format format, furrow_error *err) {
  if (format != FURROW_EXCHANGE_TEXT) return FURROW_OK;
  fw_fail(err, FURROW_E_UNSUPPORTED, "text can only be imported");
  fw_error_set_hint(err, "tsv and libsvm are text, too");
  return FURROW_E_UNSUPPORTED;
}

/* The output must not replace anything that is read: it must not lie in the model, nor in a matrix folder (a link). */
static furrow_status check_apart(const furrow_model_listing *listing, const char *path, furrow_error *err) {
  if (!path || strcmp(path, "-") == 0) return FURROW_OK;
  furrow_status status = fw_check_path_overlap(listing->path, path, err);
  for (size_t i = 0; i < listing->matrix_count && status == FURROW_OK; i++)
    status = fw_check_path_overlap(listing->matrices[i].folder, path, err);
  return status;
}

furrow_status furrow_model_export(const char *source, const char *path, const furrow_model_export_params *given,
                                  furrow_model_export_result *result, furrow_error *err) {
  furrow_model_export_params params;
  furrow_model_listing *listing = NULL;
  char *ids = NULL;
  furrow_model_export_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_model_export_params, err));
  fw_export job = {.params = &params, .path = path, .format = params.format};
  furrow_status status = fw_exchange_format_of(&job.format, path, err);
  if (status == FURROW_OK) status = check_format(job.format, err);
  const bool second = job.format <= FURROW_EXCHANGE_FBIN;
  if (status == FURROW_OK && second) status = fw_exchange_ids_path(&ids, path, params.ids, err);
  job.ids_path = ids;
  if (status == FURROW_OK) status = check_free(path, params.overwrite, err);
  if (status == FURROW_OK) status = check_free(ids, params.overwrite, err);
  if (status == FURROW_OK) status = furrow_path_watch_begin(&job.watch, source, err);
  if (status == FURROW_OK) status = furrow_model_listing_load(&listing, source, err);
  if (status == FURROW_OK) status = fw_listing_check_matrices(listing, err);
  if (status == FURROW_OK) status = check_apart(listing, path, err);
  if (status == FURROW_OK) status = check_apart(listing, ids, err);
  if (status == FURROW_OK) status = export_listing(&job, listing, err);
  status = fw_export_end_watch(&job, status, err);
  if (status == FURROW_OK && result) fw_info_write(result, &job.result, sizeof job.result);
  furrow_model_listing_free(listing);
  fw_free(ids);
  return status;
}
