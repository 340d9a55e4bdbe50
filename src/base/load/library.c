/* base/load/library.c: loads shared libraries once for all threads. */
#include "base/load/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static furrow_status fail_absent(const fw_library *library, furrow_error *err) {
  fw_fail(err, FURROW_E_UNSUPPORTED, "%s needs the library %s, which is not installed", library->what,
          library->files[0]);
  fw_error_set_hint(err, "%s", library->install);
  return FURROW_E_UNSUPPORTED;
}

static furrow_status find_functions(fw_library *library, void *object, furrow_error *err) {
  for (size_t i = 0; library->names[i]; i++) {
    void *const symbol = dlsym(object, library->names[i]);
    memcpy(&library->functions[i], &symbol, sizeof symbol);
    if (symbol) continue;
    fw_fail(err, FURROW_E_UNSUPPORTED, "%s needs a newer version of the library %s: %s is missing", library->what,
            library->files[0], library->names[i]);
    return FURROW_E_UNSUPPORTED;
  }
  library->loaded = true;
  return FURROW_OK;
}

furrow_status fw_library_load(fw_library *library, furrow_error *err) {
  void *object = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; !library->loaded && !object && library->files[i]; i++)
    object = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
  furrow_status status = FURROW_OK;
  if (!library->loaded) status = object ? find_functions(library, object, err) : fail_absent(library, err);
  if (object && status != FURROW_OK) dlclose(object);
  pthread_mutex_unlock(&lock);
  return status;
}
