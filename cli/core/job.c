/* cli/core/job.c: a long job: shows its progress, and a signal stops it. */
#include "core/job.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/shown_text.h"
#include "core/text_file.h"

void job_watch(job *j, const char *what, bool quiet) {
  progress_start(&j->progress, !quiet, what, 0);
}

void job_start(job *j, const char *what, bool quiet) {
  interrupt_catch();
  job_watch(j, what, quiet);
}

bool job_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
  job *j = user;
  (void)phase;
  j->progress.total = total;
  progress_update(&j->progress, done);
  return !interrupt_came();
}

void job_stop(job *j) {
  progress_stop(&j->progress);
}

static void add_job_hint(furrow_status status, bool folder, bool force, const char *memory, furrow_error *err) {
  if (status == FURROW_E_CANCELLED) interrupt_check(err); /* names the signal */
  if (status == FURROW_E_EXISTS && !force && !err->hint[0] && path_is_there(err->file) &&
      path_is_folder(err->file) == folder)
    add_hint(err, "--force replaces it");
  else if (status == FURROW_E_MEMORY && memory)
    add_hint(err, "%s", memory);
}

void job_hint(furrow_status status, bool force, const char *memory, furrow_error *err) {
  add_job_hint(status, true, force, memory, err);
}

void file_job_hint(furrow_status status, bool force, const char *memory, furrow_error *err) {
  add_job_hint(status, false, force, memory, err);
}

furrow_status job_check_out(const char *folder, bool force, furrow_error *err) {
  furrow_model_writer *writer = NULL;
  furrow_matrix_write_params params;
  furrow_matrix_write_params_init(&params);
  params.overwrite = force;
  furrow_status status = furrow_model_writer_open(&writer, folder, &params, err);
  furrow_model_writer_close(writer); /* opened only as a check; without a commit nothing is written */
  job_hint(status, force, NULL, err);
  return status;
}

void print_note(bool quiet, const char *format, ...) {
  char text[2048];
  va_list args;
  if (quiet) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  say("furrow: note: %s\n", text);
}
