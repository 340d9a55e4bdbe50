/* model/jobs/convert.c: converts a model or a matrix to another format, row type, partitioning or number of files. */
#include "model/jobs/convert.h"

#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "furrow/io.h"
#include "io/file_system.h"
#include "model/jobs/verify.h"
#include "model/read/load.h"
#include "model/write/matrix_writer.h"

furrow_status fw_convert_progress(fw_convert *convert, uint64_t bytes, furrow_error *err) {
  if (!convert->params->progress) return FURROW_OK;
  pthread_mutex_lock(&convert->lock);
  convert->done += bytes;
  furrow_status status = fw_report_progress(convert->params->progress, convert->params->progress_user, "reading",
                                            convert->done, convert->total, err);
  pthread_mutex_unlock(&convert->lock);
  return status;
}

/* ---- one matrix ---- */

/* The target of a matrix: a standalone folder (model NULL), or a folder of a model. */
typedef struct place {
  const char *path, *name;
  furrow_model_writer *model;
} place;

static furrow_status copy_matrix(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                                 const place *to, furrow_error *err) {
  fw_atomic_dir *own = NULL;
  int fd;
  if (to->model) {
    furrow_status status = fw_model_writer_enter(to->model, to->name, &fd, err);
    if (status != FURROW_OK) return status;
    status = fw_convert_copy(convert, source, plan, fd, to->path, err);
    close(fd);
    fw_model_writer_leave(to->model, to->name, status == FURROW_OK);
    return status;
  }
  const fw_dir_check check = convert->params->write->overwrite ? fw_model_check_overwrite : NULL;
  furrow_status status = fw_atomic_dir_open(&own, to->path, check, err);
  if (status != FURROW_OK) return status;
  status = fw_convert_copy(convert, source, plan, fw_atomic_dir_fd(own), to->path, err);
  if (status == FURROW_OK) status = fw_atomic_dir_commit(own, err);
  fw_atomic_dir_close(own);
  return status;
}

static furrow_status write_matrix(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                                  const place *to, furrow_error *err) {
  furrow_matrix_writer *writer = NULL;
  furrow_status status = to->model
                             ? fw_matrix_writer_open_as(&writer, to->model, to->name, plan->meta, &plan->write, err)
                             : furrow_matrix_writer_open(&writer, to->path, plan->meta, &plan->write, err);
  if (status == FURROW_OK) status = fw_convert_write(convert, source, plan, writer, err);
  if (status == FURROW_OK) status = furrow_matrix_writer_commit(writer, err);
  furrow_matrix_writer_close(writer);
  return status;
}

static furrow_status convert_matrix(fw_convert *convert, const furrow_model_entry *entry, const place *to,
                                    furrow_error *err) {
  furrow_matrix_source *source = NULL;
  fw_convert_plan plan;
  furrow_status status = furrow_matrix_source_open(&source, entry->folder, convert->params->source, err);
  if (status != FURROW_OK) return status;
  status = fw_convert_plan_make(&plan, source, convert->params, entry->name, err);
  if (status == FURROW_OK) {
    status = plan.copy ? copy_matrix(convert, source, &plan, to, err) : write_matrix(convert, source, &plan, to, err);
    fw_convert_plan_clear(&plan);
  }
  furrow_matrix_source_close(source);
  if (status == FURROW_OK) convert->result.matrices++;
  return status;
}

/* ---- a model ---- */

static furrow_status copy_files(fw_convert *convert, const furrow_model_listing *listing, furrow_model_writer *model,
                                furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < listing->file_count && status == FURROW_OK; i++) {
    uint64_t size;
    const char *name = listing->files[i].name;
    status = fw_copy_file(convert, listing->path, name, fw_model_writer_fd(model), name, fw_model_writer_path(model),
                          &size, err);
    convert->result.files += status == FURROW_OK;
  }
  return status;
}

/* Ends the watch of the source: its matrices and files belong together. */
static furrow_status end_watch(fw_convert *convert, furrow_status status, furrow_error *err) {
  furrow_path_watch *watch = convert->watch;
  convert->watch = NULL;
  return watch ? furrow_path_watch_end(watch, status, err) : status;
}

static furrow_status convert_model(fw_convert *convert, const furrow_model_listing *listing, const char *target,
                                   furrow_error *err) {
  furrow_model_writer *model;
  furrow_status status = furrow_model_writer_open(&model, target, convert->params->write, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < listing->matrix_count && status == FURROW_OK; i++) {
    const place to = {.path = target, .name = listing->matrices[i].name, .model = model};
    status = convert_matrix(convert, &listing->matrices[i], &to, err);
  }
  if (status == FURROW_OK) status = copy_files(convert, listing, model, err);
  status = end_watch(convert, status, err);
  if (status == FURROW_OK) status = furrow_model_writer_commit(model, err);
  furrow_model_writer_close(model);
  return status;
}

/* Adds up the sizes of all partitions, the total of the progress. */
static furrow_status add_up(fw_convert *convert, const furrow_model_listing *listing, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (!convert->params->progress) return FURROW_OK;
  for (size_t i = 0; i < listing->matrix_count && status == FURROW_OK; i++) {
    furrow_matrix_meta *meta = NULL;
    status = furrow_matrix_meta_load(&meta, listing->matrices[i].folder, convert->params->source->meta_name, err);
    for (size_t p = 0; status == FURROW_OK && p < meta->part_count; p++)
      convert->total += (uint64_t)meta->parts[p].length;
    if (status == FURROW_OK) furrow_matrix_meta_free(meta);
  }
  return status == FURROW_OK ? fw_convert_progress(convert, 0, err) : status;
}

/* The caller's parameters and the structs they point at, completed with defaults; no pointer is NULL. */
typedef struct known_params {
  furrow_model_convert_params convert;
  furrow_matrix_source_params source;
  furrow_matrix_selection selection;
  furrow_matrix_write_params write;
} known_params;

static furrow_status read_params(known_params *known, const furrow_model_convert_params *given, furrow_error *err) {
  furrow_model_convert_params_init(&known->convert);
  furrow_matrix_source_params_init(&known->source);
  furrow_matrix_selection_init(&known->selection);
  furrow_matrix_write_params_init(&known->write);
  FW_TRY(FW_PARAMS_READ(&known->convert, given, furrow_model_convert_params, err));
  FW_TRY(FW_PARAMS_READ(&known->source, known->convert.source, furrow_matrix_source_params, err));
  FW_TRY(FW_PARAMS_READ(&known->selection, known->convert.selection, furrow_matrix_selection, err));
  FW_TRY(FW_PARAMS_READ(&known->write, known->convert.write, furrow_matrix_write_params, err));
  known->convert.source = &known->source;
  known->convert.selection = &known->selection;
  known->convert.write = &known->write;
  if (known->convert.memory == 0) known->convert.memory = FW_DEFAULT_MEMORY;
  return FURROW_OK;
}

furrow_status furrow_model_convert(const char *source, const char *target, const furrow_model_convert_params *params,
                                   furrow_model_convert_result *result, furrow_error *err) {
  known_params known;
  FW_TRY(read_params(&known, params, err));
  fw_convert convert = {.params = &known.convert, .lock = PTHREAD_MUTEX_INITIALIZER};
  furrow_model_listing *listing = NULL;
  const char *path = target;
  convert.threads = known.write.threads ? known.write.threads : fw_processor_count();
  furrow_status status = fw_path_to_write(&path, err);
  if (status == FURROW_OK) status = furrow_path_watch_begin(&convert.watch, source, err);
  if (status == FURROW_OK) status = furrow_model_listing_load(&listing, source, err);
  if (status == FURROW_OK) status = fw_listing_check_matrices(listing, err);
  if (status == FURROW_OK) status = fw_check_path_overlap(listing->path, path, err);
  if (status == FURROW_OK) status = add_up(&convert, listing, err);
  if (status == FURROW_OK && listing->single) status = end_watch(&convert, status, err); /* the matrix has its own */
  if (status == FURROW_OK && listing->single) {
    const place to = {.path = path, .name = listing->matrices[0].name};
    status = convert_matrix(&convert, &listing->matrices[0], &to, err);
  } else if (status == FURROW_OK) {
    status = convert_model(&convert, listing, path, err);
  }
  status = end_watch(&convert, status, err);
  furrow_model_listing_free(listing);
  pthread_mutex_destroy(&convert.lock);
  if (status == FURROW_OK && result) fw_info_write(result, &convert.result, sizeof convert.result);
  return status;
}
