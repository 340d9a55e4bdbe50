/* io/file_system.h: where a path leads: files of this machine, or a file system whose paths begin with name://. */
#ifndef FW_IO_FILE_SYSTEM_H
#define FW_IO_FILE_SYSTEM_H

#include <stdbool.h>

#include "furrow/io.h"

/* A file system in use. It stays, unregistered or not, until the last who holds it lets it go. */
typedef struct fw_file_system fw_file_system;

/* Finds the file system of a path and holds it; *rest is what follows "name://". *system is NULL for files of this
 * machine, of which *rest is the path ("file:///x" and "file://localhost/x" are "/x"). E_UNSUPPORTED: no file system of
 * that name; E_ARGUMENT: file:// without an absolute path. */
furrow_status fw_file_system_hold(const char *path, fw_file_system **system, const char **rest,
                                  furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_file_system_let_go(fw_file_system *system);
/* Its functions. */
const furrow_file_system *fw_file_system_calls(const fw_file_system *system);

/* What a function of a file system said, as the library says it: the status, unless it is not one of a failure; the
 * message, or "cannot WHAT"; the file. `said` was filled by fw_callback_begin before the call. */
furrow_status fw_callback_failed(furrow_status status, furrow_error *said, const char *path, furrow_error *err);
void fw_callback_begin(furrow_error *said, const char *what);

/* Replaces *path by what the functions of io take: file:// is left out. E_UNSUPPORTED: no file system of that name. */
furrow_status fw_path_to_read(const char **path, furrow_error *err) FURROW_MUST_USE;
/* The same for a path to write, which must be of this machine. */
furrow_status fw_path_to_write(const char **path, furrow_error *err) FURROW_MUST_USE;

/* ---- Memory --------------------------------------------------------------------------------------------- */

/* The file system of the name "memory". */
extern const furrow_file_system fw_memory_system;

/* Something in memory that has a path and is not a file. */
typedef struct fw_memory_entry fw_memory_entry;

/* Adds a thing of a kind ("rows"; NULL: a file) at memory://…; release(user) is called once, when it has been removed
 * and nobody holds it. E_ARGUMENT: not such a path; E_EXISTS: the path is taken. */
furrow_status fw_memory_add(const char *path, const char *kind, const void *thing, size_t length,
                            void (*release)(void *user), void *user, furrow_error *err) FURROW_MUST_USE;
/* Removes what has this kind. E_NOT_FOUND: nothing does. */
furrow_status fw_memory_remove(const char *path, const char *kind, furrow_error *err) FURROW_MUST_USE;
/* Holds the thing of that kind at a path; *entry is NULL when there is none. */
furrow_status fw_memory_hold(const char *path, const char *kind, fw_memory_entry **entry,
                             furrow_error *err) FURROW_MUST_USE;
const void *fw_memory_thing(const fw_memory_entry *entry);
/* Takes NULL. */
void fw_memory_let_go(fw_memory_entry *entry);

#endif
