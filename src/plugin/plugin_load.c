/* plugin/plugin_load.c: loads formats and file systems from shared objects. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "furrow/io.h"
#include "model/format/matrix_format.h"
#include "rows/registry.h"

/* Opens a shared object. A name without a directory means a file in the working directory, not a system library. */
static furrow_status open_object(const char *name, void **object, furrow_error *err) {
  void *path = NULL;
  FW_TRY(fw_alloc(&path, strlen(name) + 3, 1, err));
  snprintf(path, strlen(name) + 3, "%s%s", strchr(name, '/') ? "" : "./", name);
  void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  fw_free(path);
  if (!opened) return fw_fail(err, FURROW_E_NOT_FOUND, "cannot be loaded: %s", dlerror());
  *object = opened;
  return FURROW_OK;
}

typedef furrow_status (*init_function)(furrow_error *err);

/* The symbols that a shared object may export. */
typedef struct exports {
  init_function init;
  const furrow_matrix_format *const *matrix_formats;
  const furrow_rows_format *const *rows_formats;
  size_t nmatrix, nrows;
} exports;

static void find_exports(void *object, exports *found) {
  *(void **)&found->init = dlsym(object, "furrow_plugin_init");
  found->matrix_formats = dlsym(object, "furrow_plugin_matrix_formats");
  found->rows_formats = dlsym(object, "furrow_plugin_rows_formats");
  while (found->matrix_formats && found->matrix_formats[found->nmatrix]) found->nmatrix++;
  while (found->rows_formats && found->rows_formats[found->nrows]) found->nrows++;
}

static furrow_status call_init(init_function init, furrow_error *err) {
  furrow_error said;
  (void)fw_fail(&said, FURROW_E_STATE, "its furrow_plugin_init failed");
  furrow_status status = init(&said);
  if (status == FURROW_OK) return FURROW_OK;
  if (status == FURROW_END) status = FURROW_E_STATE;
  said.status = status;
  if (err) *err = said;
  return status;
}

/* Registers all formats, or none. */
static furrow_status register_all(const exports *found, furrow_error *err) {
  FW_TRY(fw_rows_formats_register(found->rows_formats, found->nrows, err));
  const furrow_status status = fw_matrix_formats_register(found->matrix_formats, found->nmatrix, err);
  if (status != FURROW_OK) fw_rows_formats_remove(found->rows_formats, found->nrows);
  return status;
}

furrow_status furrow_plugin_load(const char *path, furrow_error *err) {
  void *object = NULL;
  exports found = {0};
  furrow_status status = open_object(path, &object, err);
  if (status == FURROW_OK) {
    find_exports(object, &found);
    if (!found.init && found.nmatrix + found.nrows == 0)
      status = fw_fail(err, FURROW_E_FORMAT,
                       "not a plugin: it has neither furrow_plugin_init nor a format in "
                       "furrow_plugin_matrix_formats or furrow_plugin_rows_formats");
  }
  if (status == FURROW_OK && found.init) status = call_init(found.init, err);
  if (status == FURROW_OK) status = register_all(&found, err);
  if (status != FURROW_OK) {
    if (object && !found.init) dlclose(object); /* if its init ran, other code may still point into it */
    fw_error_set_file(err, path);
  }
  return status;
}
