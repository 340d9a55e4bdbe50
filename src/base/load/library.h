/* base/load/library.h: shared libraries of the system that are loaded when they are first needed, so that Furrow is
 * built and runs without them. */
#ifndef FW_BASE_LIBRARY_H
#define FW_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

typedef void fw_function(void);

typedef struct fw_library {
  const char *what;         /* what needs it, for the message: "xz data" */
  const char *const *files; /* names that the dynamic linker finds, best first; NULL ends them */
  const char *install;      /* how to get it */
  const char *const *names; /* the functions; NULL ends them */
  fw_function **functions;  /* in the same order; filled in by the first load. Cast to their types */
  bool loaded;              /* under the lock of library.c */
} fw_library;

/* Loads the library, unless that has been done. It stays loaded.
 * E_UNSUPPORTED: it is not installed, or lacks a function. Threads: any. */
furrow_status fw_library_load(fw_library *library, furrow_error *err) FURROW_MUST_USE;

#endif
