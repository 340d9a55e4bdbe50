/* io/file_system.c: file systems by name: memory, and the ones that programs register. */
#include "io/file_system.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"

struct fw_file_system {
  furrow_file_system calls;           /* of a registered system */
  const furrow_file_system *built_in; /* NULL: it is a registered one */
  char *name;
  size_t holders; /* references, the table's included; under the lock */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fw_file_system **systems;
static size_t nsystems, capacity;

/* Never released. The first is not replaced by a registered one. */
static fw_file_system built_in[] = {
    {.name = (char *)"memory", .built_in = &fw_memory_system}, {.name = (char *)"http", .built_in = &fw_remote_http},
    {.name = (char *)"https", .built_in = &fw_remote_https},   {.name = (char *)"s3", .built_in = &fw_remote_s3},
    {.name = (char *)"s3a", .built_in = &fw_remote_s3},        {.name = (char *)"s3n", .built_in = &fw_remote_s3},
    {.name = (char *)"gs", .built_in = &fw_remote_gs},
};

/* Services that a user may expect to work. */
static const char *const known[] = {"ftp",   "hdfs", "viewfs", "webhdfs", "azure", "wasb",
                                    "wasbs", "abfs", "abfss",  "oss",     "cos",   "cosn"};

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char name_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.";

/* ---- Names ---------------------------------------------------------------------------------------------- */

static size_t name_length(const char *text) {
  return strspn(text, letters) == 0 ? 0 : strspn(text, name_letters);
}

/* Length of x in "x://…" (a letter, then letters, digits, + - .), or 0. */
static size_t scheme_length(const char *path) {
  const size_t n = name_length(path);
  return strncmp(path + n, "://", 3) == 0 ? n : 0;
}

static bool is_named(const char *name, const char *text, size_t length) {
  return strlen(name) == length && strncasecmp(name, text, length) == 0;
}

/* Call it under the lock. Returns the index in the table, or nsystems. */
static size_t place_of(const char *name, size_t length) {
  size_t i = 0;
  while (i < nsystems && !is_named(systems[i]->name, name, length)) i++;
  return i;
}

/* file://HOST/PATH: the host must be empty or this machine. */
static furrow_status local_rest(const char **rest, furrow_error *err) {
  static const char self[] = "localhost";
  const char *path = *rest;
  if (strncasecmp(path, self, sizeof self - 1) == 0 && path[sizeof self - 1] == '/') path += sizeof self - 1;
  if (path[0] != '/') {
    fw_fail(err, FURROW_E_ARGUMENT, "file:// needs an absolute path: file:///path");
    fw_error_set_file(err, path);
    return FURROW_E_ARGUMENT;
  }
  *rest = path;
  return FURROW_OK;
}

static furrow_status fail_unknown(const char *path, size_t length, furrow_error *err) {
  bool expected = false;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) expected |= is_named(known[i], path, length);
  fw_fail(err, FURROW_E_UNSUPPORTED, "%.*s:// %s", (int)(length < 64 ? length : 64), path,
          expected ? "is not built in" : "is not the name of a file system");
  fw_error_set_file(err, path);
  return FURROW_E_UNSUPPORTED;
}

/* ---- Holding -------------------------------------------------------------------------------------------- */

furrow_status fw_file_system_hold(const char *path, fw_file_system **system, const char **rest, furrow_error *err) {
  const size_t n = scheme_length(path);
  *system = NULL;
  *rest = n ? path + n + 3 : path;
  if (n == 0) return FURROW_OK;
  if (is_named("file", path, n)) return local_rest(rest, err);
  pthread_mutex_lock(&lock);
  const size_t i = place_of(path, n);
  if (i < nsystems) {
    *system = systems[i];
    systems[i]->holders++;
  }
  pthread_mutex_unlock(&lock);
  for (size_t k = 0; !*system && k < sizeof built_in / sizeof *built_in; k++)
    if (is_named(built_in[k].name, path, n)) *system = &built_in[k];
  return *system ? FURROW_OK : fail_unknown(path, n, err);
}

void fw_file_system_let_go(fw_file_system *system) {
  if (!system || system->built_in) return;
  pthread_mutex_lock(&lock);
  const bool last = --system->holders == 0;
  pthread_mutex_unlock(&lock);
  if (!last) return;
  if (system->calls.release) system->calls.release(system->calls.user);
  fw_free(system->name);
  fw_free(system);
}

const furrow_file_system *fw_file_system_calls(const fw_file_system *system) {
  return system->built_in ? system->built_in : &system->calls;
}

const fw_remote_store *fw_file_system_store(const fw_file_system *system) {
  return system->built_in ? fw_remote_store_of(system->built_in) : NULL;
}

furrow_status fw_path_to_read(const char **path, furrow_error *err) {
  fw_file_system *system;
  const char *rest;
  FW_TRY(fw_file_system_hold(*path, &system, &rest, err));
  if (!system) *path = rest;
  fw_file_system_let_go(system);
  return FURROW_OK;
}

static furrow_status fail_unsupported(const char *path, const char *what, furrow_error *err) {
  fw_fail(err, FURROW_E_UNSUPPORTED, "%s", what);
  fw_error_set_file(err, path);
  return FURROW_E_UNSUPPORTED;
}

furrow_status fw_fail_to_write(const char *path, furrow_error *err) {
  return fail_unsupported(path, "this file system can be read, not written", err);
}

furrow_status fw_path_to_write(const char **path, furrow_error *err) {
  fw_file_system *system;
  const char *rest;
  FW_TRY(fw_file_system_hold(*path, &system, &rest, err));
  const furrow_status status = system && !fw_file_system_store(system) ? fw_fail_to_write(*path, err) : FURROW_OK;
  if (!system) *path = rest;
  fw_file_system_let_go(system);
  return status;
}

furrow_status fw_path_to_local(const char **path, const char *what, furrow_error *err) {
  fw_file_system *system;
  const char *rest;
  FW_TRY(fw_file_system_hold(*path, &system, &rest, err));
  if (!system) *path = rest;
  fw_file_system_let_go(system);
  return system ? fail_unsupported(*path, what, err) : FURROW_OK;
}

/* ---- Errors of callers' functions ----------------------------------------------------------------------- */

void fw_callback_begin(furrow_error *said, const char *what) {
  (void)fw_fail(said, FURROW_E_IO, "the file system cannot %s", what);
}

furrow_status fw_callback_failed(furrow_status status, furrow_error *said, const char *path, furrow_error *err) {
  status = fw_failed_status(status);
  said->status = status;
  if (!said->file[0]) fw_error_set_file(said, path);
  if (err) *err = *said;
  return status;
}

/* ---- Registering ---------------------------------------------------------------------------------------- */

static furrow_status check_system(const char *name, const furrow_file_system *calls, furrow_error *err) {
  const size_t n = name_length(name);
  if (n == 0 || name[n]) {
    fw_fail(err, FURROW_E_ARGUMENT, "the name of a file system is a letter, then letters, digits, +, - and .");
    fw_error_set_token(err, name, strlen(name));
    return FURROW_E_ARGUMENT;
  }
  if (!calls->stat || !calls->open || !calls->read_at || !calls->close)
    return fw_fail(err, FURROW_E_ARGUMENT, "file system %s lacks its stat, open, read_at or close", name);
  return FURROW_OK;
}

static furrow_status fail_taken(const char *name, furrow_error *err) {
  return fw_fail(err, FURROW_E_EXISTS, "there is a file system named %s already", name);
}

/* Takes ownership of the system, unless it fails. */
static furrow_status add_system(fw_file_system *system, furrow_error *err) {
  const size_t n = strlen(system->name);
  if (is_named("file", system->name, n) || is_named(built_in[0].name, system->name, n))
    return fail_taken(system->name, err);
  pthread_mutex_lock(&lock);
  furrow_status status = place_of(system->name, n) < nsystems ? fail_taken(system->name, err) : FURROW_OK;
  if (status == FURROW_OK) status = FW_GROW(&systems, &capacity, nsystems + 1, err);
  if (status == FURROW_OK) systems[nsystems++] = system;
  pthread_mutex_unlock(&lock);
  return status;
}

furrow_status furrow_file_system_register(const char *name, const furrow_file_system *system, furrow_error *err) {
  furrow_file_system full;
  furrow_file_system_init(&full);
  FW_TRY(FW_PARAMS_READ(&full, system, furrow_file_system, err));
  FW_TRY(check_system(name, &full, err));
  fw_file_system *made;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  *made = (fw_file_system){.calls = full, .holders = 1};
  furrow_status status = fw_strndup(&made->name, name, strlen(name), err);
  if (status == FURROW_OK) status = add_system(made, err);
  if (status != FURROW_OK) {
    fw_free(made->name);
    fw_free(made);
  }
  return status;
}

furrow_status furrow_file_system_unregister(const char *name, furrow_error *err) {
  pthread_mutex_lock(&lock);
  const size_t i = place_of(name, strlen(name));
  fw_file_system *found = i < nsystems ? systems[i] : NULL;
  if (found) systems[i] = systems[--nsystems];
  pthread_mutex_unlock(&lock);
  if (!found) {
    fw_fail(err, FURROW_E_NOT_FOUND, "there is no registered file system of that name");
    fw_error_set_token(err, name, strlen(name));
    return FURROW_E_NOT_FOUND;
  }
  fw_file_system_let_go(found);
  return FURROW_OK;
}
