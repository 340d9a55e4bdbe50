/* rows/registry.c: formats by name. */
#include "rows/registry.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "rows/encode/encoder.h"

static const fw_format *const built_in[] = {&fw_format_libsvm, &fw_format_libfm, &fw_format_libffm, &fw_format_csv,
                                            &fw_format_dummy,  &fw_format_dense, &fw_format_table};
#define BUILT_IN (sizeof built_in / sizeof built_in[0])

/* Copies of the formats that users register; the list only grows. */
static pthread_mutex_t added_lock = PTHREAD_MUTEX_INITIALIZER;
static furrow_rows_format **added;
static size_t nadded, added_capacity;

/* Early registrations that failed, under the lock. Only the first few are kept. */
enum { MOST_FAILURES = 8 };
static struct {
  char name[64];
  furrow_error error;
} failures[MOST_FAILURES];
static size_t nfailures;

/* ---- Finding -------------------------------------------------------------------------------------------- */

/* Call both under the lock. */
static const furrow_rows_format *format_at(size_t i) {
  if (i < BUILT_IN) return &built_in[i]->public;
  return i - BUILT_IN < nadded ? added[i - BUILT_IN] : NULL;
}

static const furrow_rows_format *format_named(const char *name) {
  const furrow_rows_format *format;
  for (size_t i = 0; (format = format_at(i)) != NULL; i++)
    if (strcmp(format->name, name) == 0) return format;
  return NULL;
}

const furrow_rows_format *furrow_rows_format_at(size_t i) {
  pthread_mutex_lock(&added_lock);
  const furrow_rows_format *format = format_at(i);
  pthread_mutex_unlock(&added_lock);
  return format;
}

/* Call it under the lock. Reports the failure of an early registration of that name. */
static furrow_status failure_of(const char *name, furrow_error *err) {
  for (size_t i = 0; i < nfailures; i++) {
    if (strcmp(failures[i].name, name) != 0) continue;
    if (err) *err = failures[i].error;
    return failures[i].error.status;
  }
  return FURROW_OK;
}

static furrow_status fail_unknown(const char *name, furrow_error *err) {
  char names[160];
  fw_format_names(names, sizeof names);
  furrow_status status = fw_fail(err, FURROW_E_ARGUMENT, "there is no format of that name; there are: auto, %s", names);
  fw_error_set_token(err, name, strlen(name));
  pthread_mutex_lock(&added_lock);
  if (nfailures > 0) fw_error_set_hint(err, "a format was not registered: %s", failures[0].error.message);
  pthread_mutex_unlock(&added_lock);
  return status;
}

furrow_status furrow_rows_format_find(const char *name, const furrow_rows_format **format, furrow_error *err) {
  pthread_mutex_lock(&added_lock);
  furrow_status status = failure_of(name, err);
  const furrow_rows_format *found = format_named(name);
  pthread_mutex_unlock(&added_lock);
  if (status != FURROW_OK) return status;
  if (!found) return fail_unknown(name, err);
  *format = found;
  return FURROW_OK;
}

furrow_status fw_format_find(const char *name, fw_format *format, furrow_error *err) {
  const furrow_rows_format *found = NULL;
  FW_TRY(furrow_rows_format_find(name, &found, err));
  *format = (fw_format){.public = *found};
  for (size_t i = 0; i < BUILT_IN; i++)
    if (found == &built_in[i]->public) *format = *built_in[i];
  return FURROW_OK;
}

void fw_format_names(char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  const furrow_rows_format *format;
  for (size_t i = 0; (format = furrow_rows_format_at(i)) != NULL && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", format->name);
}

/* ---- Adding --------------------------------------------------------------------------------------------- */

/* A format must have exactly one way to read rows, with all the functions it needs. */
static furrow_status check_way(const furrow_rows_format *f, furrow_error *err) {
  const int ways = !!f->parse_line + !!f->parse_chunk + !!f->open_rows;
  const int records = !!f->record_size + !!f->find_record + !!f->record_length;
  if (ways != 1)
    return fw_fail(err, FURROW_E_ARGUMENT, "format %s has %s parse_line, parse_chunk and open_rows", f->name,
                   ways ? "more than one of" : "none of");
  if (f->open_rows && !f->next_rows) return fw_fail(err, FURROW_E_ARGUMENT, "format %s has no next_rows", f->name);
  if (records > 1 || (records && !f->parse_chunk) || (f->head_bytes && !records))
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "format %s: a parse_chunk has one of record_size, find_record and record_length, or none", f->name);
  return FURROW_OK;
}

static furrow_status check_format(const furrow_rows_format *format, furrow_error *err) {
  if (!format->name || !format->name[0] || strcmp(format->name, "auto") == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "a format needs a name, and not the name \"auto\"");
  FW_TRY(check_way(format, err));
  for (size_t i = 0; i < format->nargs; i++) {
    const furrow_arg *arg = &format->args[i];
    if (!arg->name || !arg->fallback || (arg->type == FURROW_ARG_ONE_OF && !arg->one_of))
      return fw_fail(err, FURROW_E_ARGUMENT, "argument %zu of format %s is not declared in full", i, format->name);
  }
  return FURROW_OK;
}

/* Takes ownership of the copy, unless it fails. */
static furrow_status add_copy(furrow_rows_format *copy, furrow_error *err) {
  pthread_mutex_lock(&added_lock);
  furrow_status status = FURROW_OK;
  if (format_named(copy->name))
    status = fw_fail(err, FURROW_E_EXISTS, "there is a format named %s already", copy->name);
  if (status == FURROW_OK) status = FW_GROW(&added, &added_capacity, nadded + 1, err);
  if (status == FURROW_OK) added[nadded++] = copy;
  pthread_mutex_unlock(&added_lock);
  return status;
}

furrow_status furrow_rows_format_register(const furrow_rows_format *format, furrow_error *err) {
  furrow_rows_format full;
  furrow_rows_format_init(&full);
  FW_TRY(FW_PARAMS_READ(&full, format, furrow_rows_format, err));
  FW_TRY(check_format(&full, err));
  furrow_rows_format *copy;
  FW_TRY(FW_ALLOC(&copy, 1, err));
  *copy = full;
  furrow_status status = add_copy(copy, err);
  if (status != FURROW_OK) fw_free(copy);
  return status;
}

void fw_rows_formats_remove(const furrow_rows_format *const *formats, size_t count) {
  pthread_mutex_lock(&added_lock);
  for (size_t i = 0; i < count; i++)
    for (size_t k = nadded; k-- > 0;) {
      if (strcmp(added[k]->name, formats[i]->name) != 0) continue;
      fw_free(added[k]);
      memmove((void *)(added + k), (void *)(added + k + 1), (--nadded - k) * sizeof *added);
      break;
    }
  pthread_mutex_unlock(&added_lock);
}

furrow_status fw_rows_formats_register(const furrow_rows_format *const *formats, size_t count, furrow_error *err) {
  for (size_t i = 0; i < count; i++) {
    const furrow_status status = furrow_rows_format_register(formats[i], err);
    if (status == FURROW_OK) continue;
    fw_rows_formats_remove(formats, i);
    return status;
  }
  return FURROW_OK;
}

void furrow_rows_format_register_early(const furrow_rows_format *format) {
  furrow_error error;
  if (furrow_rows_format_register(format, &error) == FURROW_OK) return;
  pthread_mutex_lock(&added_lock);
  if (nfailures < MOST_FAILURES) {
    failures[nfailures].error = error;
    const char *name = format->size >= offsetof(furrow_rows_format, description) && format->name ? format->name : "";
    snprintf(failures[nfailures].name, sizeof failures[nfailures].name, "%s", name);
    nfailures++;
  }
  pthread_mutex_unlock(&added_lock);
}
