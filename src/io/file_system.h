/* io/file_system.h: resolves a path to a local file or to a file system whose paths begin with name://. */
#ifndef FW_IO_FILE_SYSTEM_H
#define FW_IO_FILE_SYSTEM_H

#include <stdbool.h>

#include "furrow/io.h"
#include "io/remote/remote.h"

/* A file system in use. It stays valid, unregistered or not, until its last reference is released. */
typedef struct fw_file_system fw_file_system;

/* Finds the file system of a path and takes a reference to it; *rest is the text after "name://". For local files
 * *system is NULL and *rest is the path ("file:///x" and "file://localhost/x" are "/x"). E_UNSUPPORTED: no file
 * system of that name; E_ARGUMENT: file:// without an absolute path. */
furrow_status fw_file_system_hold(const char *path, fw_file_system **system, const char **rest,
                                  furrow_error *err) FURROW_MUST_USE;
/* Accepts NULL. */
void fw_file_system_let_go(fw_file_system *system);
/* The functions of the file system. */
const furrow_file_system *fw_file_system_calls(const fw_file_system *system);
/* Its functions that write; NULL: it can only be read. */
const fw_remote_store *fw_file_system_store(const fw_file_system *system);

/* Turns the failure of a file system's function into an error of the library: its status, if that is a failure; its
 * message, or "cannot WHAT"; the file. fw_callback_begin must have filled `said` before the call. */
furrow_status fw_callback_failed(furrow_status status, furrow_error *said, const char *path, furrow_error *err);
void fw_callback_begin(furrow_error *said, const char *what);

/* Replaces *path by a path that the functions of io accept: file:// is removed. E_UNSUPPORTED: no file system of
 * that name. */
furrow_status fw_path_to_read(const char **path, furrow_error *err) FURROW_MUST_USE;
/* The same for a path to write. E_UNSUPPORTED: also a file system that can only be read. */
furrow_status fw_path_to_write(const char **path, furrow_error *err) FURROW_MUST_USE;
/* The same for a file that must be on this machine; `what` says so ("files of servers cannot be …"). */
furrow_status fw_path_to_local(const char **path, const char *what, furrow_error *err) FURROW_MUST_USE;
/* Fails because the file system of the path can only be read. */
furrow_status fw_fail_to_write(const char *path, furrow_error *err);

/* ---- Memory --------------------------------------------------------------------------------------------- */

/* The file system named "memory". */
extern const furrow_file_system fw_memory_system;

/* An object in memory that has a path and is not a file. */
typedef struct fw_memory_entry fw_memory_entry;

#define FW_MEMORY_TABLE "table" /* the kind of an fw_columns */

/* Adds an object of a kind ("rows", "table"; NULL: a file) at memory://…; release(user) is called once, when it has
 * been removed and its last reference is released. E_ARGUMENT: not such a path; E_EXISTS: the path is taken. */
furrow_status fw_memory_add(const char *path, const char *kind, const void *thing, size_t length,
                            void (*release)(void *user), void *user, furrow_error *err) FURROW_MUST_USE;
/* Removes the object of this kind. E_NOT_FOUND: there is none. */
furrow_status fw_memory_remove(const char *path, const char *kind, furrow_error *err) FURROW_MUST_USE;
/* Takes a reference to the object of that kind at a path; *entry is NULL when there is none. */
furrow_status fw_memory_hold(const char *path, const char *kind, fw_memory_entry **entry,
                             furrow_error *err) FURROW_MUST_USE;
const void *fw_memory_thing(const fw_memory_entry *entry);
/* Accepts NULL. */
void fw_memory_let_go(fw_memory_entry *entry);

#endif
