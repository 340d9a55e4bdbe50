/* model/jobs/verify.c: checks everything in a matrix folder.
 *
 * First it checks that the metadata is consistent, then that the files match the metadata, then every partition, in
 * parallel. Findings are collected by partition and reported at the end, so their order does not depend on the number
 * of threads. */
#include "model/jobs/verify.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/pool.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "model/read/source.h"

/* ---- Findings ---- */

/* Copies all texts of the finding into one allocation, the file first. */
static furrow_status store_finding(fw_findings *list, furrow_matrix_finding finding, furrow_error *err) {
  furrow_status status = FW_GROW(&list->items, &list->capacity, list->count + 1, err);
  if (status != FURROW_OK) return status;
  const size_t file = strlen(finding.file) + 1, message = strlen(finding.message) + 1, hint = strlen(finding.hint) + 1;
  char *texts;
  status = FW_ALLOC(&texts, file + message + hint, err);
  if (status != FURROW_OK) return status;
  finding.file = memcpy(texts, finding.file, file);
  finding.message = memcpy(texts + file, finding.message, message);
  finding.hint = memcpy(texts + file + message, finding.hint, hint);
  list->items[list->count++] = finding;
  return FURROW_OK;
}

furrow_status fw_findings_add(fw_findings *list, furrow_status status, int32_t part_id, const char *file,
                              uint64_t offset, furrow_error *err, const char *format, ...) {
  char message[sizeof err->message];
  va_list args;
  va_start(args, format);
  /* the same prefix as in the readers' errors */
  const int n = part_id >= 0 ? snprintf(message, sizeof message, "partition %d: ", (int)part_id) : 0;
  vsnprintf(message + n, sizeof message - (size_t)n, format, args);
  va_end(args);
  return store_finding(
      list, (furrow_matrix_finding){status != FW_REMARK_STATUS, part_id, file, offset, status, message, ""}, err);
}

furrow_status fw_findings_add_error(fw_findings *list, int32_t part_id, const furrow_error *error, furrow_error *err) {
  char message[sizeof error->message + sizeof error->token + 16];
  const char *format = error->token[0] ? "%s (%s)" : "%s";
  snprintf(message, sizeof message, format, error->message, error->token);
  return store_finding(
      list, (furrow_matrix_finding){true, part_id, error->file, error->offset, error->status, message, error->hint},
      err);
}

void fw_findings_clear(fw_findings *list) {
  for (size_t i = 0; i < list->count; i++) fw_free((char *)list->items[i].file);
  fw_free(list->items);
  *list = (fw_findings){0};
}

/* ---- Partitions, each opened as a matrix of its own so that a broken one does not hide the others ---- */

typedef struct verify_job {
  fw_verification v;
  furrow_matrix_verify_params params;
  furrow_matrix_source_params source; /* with the separator set */
  bool layout_only;                   /* records are not read */
  furrow_status *failed;              /* for each partition: E_MEMORY or E_CANCELLED */
  pthread_mutex_t lock;               /* guards the members below and calls of the progress function */
  uint64_t done, total;
  bool stopped;
} verify_job;

static furrow_status open_part(const verify_job *job, size_t part, furrow_matrix_source **source, furrow_error *err) {
  furrow_matrix_meta alone = *job->v.meta;
  alone.part_count = 1;
  alone.parts = &job->v.meta->parts[part];
  return fw_matrix_source_open_with(source, job->v.folder, &alone, &job->source, err);
}

static furrow_status check_part(verify_job *job, size_t part, furrow_error *err) {
  fw_findings *list = &job->v.parts[part];
  if (list->unreadable) return FURROW_OK;
  furrow_matrix_source *source = NULL;
  furrow_error found = {.status = FURROW_OK};
  furrow_status status = open_part(job, part, &source, &found);
  if (status == FURROW_E_MEMORY) return fw_fail(err, status, "%s", found.message);
  if (status != FURROW_OK) return fw_findings_add_error(list, job->v.meta->parts[part].part_id, &found, err);
  status = fw_verify_records(&job->v, source, part, err);
  furrow_matrix_source_close(source);
  return status;
}

/* Reports that `bytes` more were checked. After the caller has cancelled, the callback is not called again. */
static furrow_status report_bytes(verify_job *job, uint64_t bytes, furrow_error *err) {
  furrow_status status = FURROW_E_CANCELLED;
  if (!job->params.progress) return FURROW_OK;
  pthread_mutex_lock(&job->lock);
  job->done += bytes;
  if (!job->stopped)
    status = fw_report_progress(job->params.progress, job->params.progress_user, "reading", job->done, job->total, err);
  job->stopped = status != FURROW_OK;
  pthread_mutex_unlock(&job->lock);
  return status;
}

static void check_part_in_pool(void *context, size_t part) {
  verify_job *job = context;
  job->failed[part] = report_bytes(job, 0, NULL);
  if (job->failed[part] == FURROW_OK) job->failed[part] = check_part(job, part, NULL);
  if (job->failed[part] == FURROW_OK)
    job->failed[part] = report_bytes(job, (uint64_t)job->v.meta->parts[part].length, NULL);
}

/* Finds the separator of a text format in the first partition that can be opened and is not empty. */
static furrow_status find_separator(verify_job *job, char **separator, furrow_error *err) {
  for (size_t i = 0; i < job->v.meta->part_count; i++) {
    if (job->v.parts[i].unreadable || job->v.meta->parts[i].length == 0) continue;
    furrow_matrix_source *source = NULL;
    furrow_error found = {.status = FURROW_OK};
    furrow_status status = open_part(job, i, &source, &found);
    if (status == FURROW_E_MEMORY) return fw_fail(err, status, "%s", found.message);
    if (status != FURROW_OK) continue;
    const char *text = furrow_matrix_source_separator(source);
    status = fw_strndup(separator, text, strlen(text), err);
    furrow_matrix_source_close(source);
    return status;
  }
  return FURROW_OK;
}

static furrow_status check_parts(verify_job *job, furrow_error *err) {
  const size_t n = job->v.meta->part_count;
  fw_pool *pool = NULL;
  furrow_status status = FW_ALLOC_ZERO(&job->failed, n, err);
  if (status != FURROW_OK) return status;
  const unsigned threads = job->params.threads ? job->params.threads : fw_processor_count();
  for (size_t i = 0; i < n; i++) job->total += (uint64_t)job->v.meta->parts[i].length;
  if (threads == 1) {
    for (size_t i = 0; i < n; i++) check_part_in_pool(job, i);
  } else {
    status = fw_pool_create(&pool, threads - 1, err);
    if (status == FURROW_OK) status = fw_pool_for(pool, n, check_part_in_pool, job, err);
    fw_pool_free(pool);
  }
  for (size_t i = 0; i < n && status == FURROW_OK; i++)
    if (job->failed[i] != FURROW_OK) status = fw_fail(err, job->failed[i], "%s", furrow_status_text(job->failed[i]));
  fw_free(job->failed);
  return status;
}

/* ---- The matrix ---- */

/* Finds format and row type, from the parameters or the metadata. Errors in them are found when the first partition is
 * opened, or here if there is none. */
static furrow_status find_kinds(verify_job *job, furrow_error *err) {
  fw_verification *v = &job->v;
  const char *name = job->source.format ? job->source.format : v->meta->format_class_name;
  furrow_error found = {.status = FURROW_OK};
  furrow_status status = FURROW_OK;
  if (!name)
    status = fw_fail_no_format(&found);
  else
    status = furrow_matrix_format_find(name, &v->format, &found);
  if (status != FURROW_OK) {
    fw_error_set_file(&found, v->meta_path);
    return fw_findings_add_error(fw_verification_common(v), -1, &found, err);
  }
  const int32_t number = job->source.row_type >= 0 ? job->source.row_type : v->meta->row_type;
  v->row_type = furrow_matrix_row_type_get(number);
  if (v->row_type && !v->row_type->objects) return FURROW_OK;
  fw_findings *list = fw_verification_common(v);
  status = v->row_type ? FURROW_E_UNSUPPORTED : FURROW_E_FORMAT;
  return fw_findings_add(list, status, -1, v->meta_path, FURROW_NO_OFFSET, err, "rowType %d is %s", (int)number,
                         v->row_type ? "a type of objects, which are not read" : "not a row type");
}

/* Angel's RowIdColIdValueTextRowFormat writes doubles with six decimals. */
static furrow_status check_decimals(fw_verification *v, furrow_error *err) {
  bool more = false, six = false;
  for (size_t i = 0; i < v->meta->part_count; i++) {
    more = more || v->parts[i].more_digits;
    six = six || v->parts[i].six_decimals;
  }
  if (more || !six || strcmp(v->format->name, "RowIdColIdValueTextRowFormat") != 0) return FURROW_OK;
  return fw_findings_add(fw_verification_common(v), FW_REMARK_STATUS, -1, v->folder, FURROW_NO_OFFSET, err,
                         "no value has more than six decimals: Angel writes doubles with six decimals in this format");
}

/* The path of the metadata file that was read; the folder if there are several (psmeta). */
static furrow_status find_meta_path(const verify_job *job, char **path, furrow_error *err) {
  static const char *const names[] = {"_meta", "meta", "psmeta"};
  if (job->source.meta_name) return fw_path_join(path, job->v.folder, job->source.meta_name, err);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char *found = NULL;
    furrow_status status = fw_path_join(&found, job->v.folder, names[i], err);
    if (status != FURROW_OK) return status;
    if (fw_path_exists(found)) {
      *path = found;
      return FURROW_OK;
    }
    fw_free(found);
  }
  return fw_strndup(path, job->v.folder, strlen(job->v.folder), err);
}

static furrow_status check_matrix(verify_job *job, furrow_error *err) {
  fw_verification *v = &job->v;
  char *separator = NULL, *meta_path = NULL;
  furrow_status status = find_meta_path(job, &meta_path, err);
  v->meta_path = meta_path;
  if (status == FURROW_OK) status = find_kinds(job, err);
  const bool readable = status == FURROW_OK && v->format && v->row_type && !v->row_type->objects && !job->layout_only;
  if (status == FURROW_OK) status = fw_verify_layout(v, err);
  if (status == FURROW_OK) status = fw_verify_files(v, err);
  if (status == FURROW_OK && readable) {
    if (!job->source.separator) status = find_separator(job, &separator, err);
    if (separator) job->source.separator = separator;
    if (status == FURROW_OK) status = check_parts(job, err);
    if (status == FURROW_OK) status = check_decimals(v, err);
  }
  fw_free(separator);
  fw_free(meta_path);
  return status;
}

/* Reports the findings of a list; *first is set to the first fatal one. */
static void report_findings(const fw_findings *list, const furrow_matrix_verify_params *params,
                            const furrow_matrix_finding **first) {
  for (size_t i = 0; i < list->count; i++) {
    if (params->found) params->found(params->user, &list->items[i]);
    if (list->items[i].fatal && !*first) *first = &list->items[i];
  }
}

static furrow_status tell_all(const verify_job *job, furrow_error *err) {
  const fw_verification *v = &job->v;
  const furrow_matrix_finding *first = NULL;
  report_findings(fw_verification_common(v), &job->params, &first);
  for (size_t i = 0; i < v->meta->part_count; i++) report_findings(&v->parts[i], &job->params, &first);
  if (!first) return FURROW_OK;
  fw_fail(err, first->status, "%s", first->message);
  fw_error_set_hint(err, "%s", first->hint);
  if (err) {
    err->offset = first->offset;
    if (first->file[0]) fw_error_set_file(err, first->file);
  }
  return first->status;
}

/* If the metadata cannot be read, this is the only finding. */
static furrow_status report_error(const furrow_matrix_verify_params *params, const furrow_error *error,
                                  furrow_error *err) {
  const furrow_matrix_finding finding = {true,           -1,         error->file, error->offset, error->status,
                                         error->message, error->hint};
  if (params->found && error->status != FURROW_E_MEMORY) params->found(params->user, &finding);
  if (err) *err = *error;
  return error->status;
}

static furrow_status verify(verify_job *job, furrow_error *err) {
  furrow_matrix_meta *meta = NULL;
  furrow_error error = {.status = FURROW_OK};
  furrow_status status = furrow_matrix_meta_load(&meta, job->v.folder, job->source.meta_name, &error);
  if (status != FURROW_OK) return report_error(&job->params, &error, err);
  job->v.meta = meta;
  status = FW_ALLOC_ZERO(&job->v.parts, meta->part_count + 1, err);
  if (status == FURROW_OK) {
    status = check_matrix(job, err);
    if (status == FURROW_OK) status = tell_all(job, err);
    for (size_t i = 0; i <= meta->part_count; i++) fw_findings_clear(&job->v.parts[i]);
  }
  fw_free(job->v.parts);
  furrow_matrix_meta_free(meta);
  return status;
}

furrow_status furrow_matrix_verify(const char *folder, const furrow_matrix_verify_params *given, furrow_error *err) {
  verify_job job = {.v = {.folder = folder}, .lock = PTHREAD_MUTEX_INITIALIZER};
  furrow_matrix_verify_params_init(&job.params);
  furrow_matrix_source_params_init(&job.source);
  FW_TRY(FW_PARAMS_READ(&job.params, given, furrow_matrix_verify_params, err));
  FW_TRY(FW_PARAMS_READ(&job.source, job.params.source, furrow_matrix_source_params, err));
  furrow_path_watch *watch = NULL;
  FW_TRY(furrow_path_watch_begin(&watch, folder, err));
  const furrow_status status = verify(&job, err);
  pthread_mutex_destroy(&job.lock);
  return furrow_path_watch_end(watch, status, err);
}

furrow_status fw_matrix_check_layout(const char *folder, furrow_error *err) {
  verify_job job = {.v = {.folder = folder}, .layout_only = true};
  furrow_matrix_verify_params_init(&job.params);
  furrow_matrix_source_params_init(&job.source);
  return verify(&job, err);
}
