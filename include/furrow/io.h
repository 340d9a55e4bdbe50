/* furrow/io.h: where bytes come from and go to.
 *
 * Every function of the library that takes a path to read (rows, models, indexes, vectors, arrays, configurations)
 * takes a file or folder of this machine, file:///path, and name://path of a file system that the program knows:
 * "memory", the servers http://, https://, s3:// and gs:// (docs/formats/remote.md), and the file systems that the
 * program registers. Servers are asked through libcurl, which is loaded when the first such path is read.
 *
 *   furrow_memory_file_add("memory://train.libsvm", text, length, NULL, NULL, &err);
 *   furrow_parser_open(&parser, "memory://train.libsvm", NULL, &err);
 *   ...
 *   furrow_memory_file_remove("memory://train.libsvm", &err);
 *
 * Every function that takes a path to write takes a file or folder of this machine, and s3:// and gs://. What is
 * written to a server is made in the folder TMPDIR (/tmp) first, and sent at the end: it appears there whole or not at
 * all. Other file systems can only be read: E_UNSUPPORTED. Functions with a furrow_output write to the caller instead:
 *
 *   furrow_output output;
 *   furrow_output_init(&output);
 *   output.write = send_to_socket;   (called with one piece after the other)
 *   output.user = &socket;
 *
 * Threads: functions of this header may be called from any thread.
 */
#ifndef FURROW_IO_H
#define FURROW_IO_H

#include <string.h>

#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Files in memory ------------------------------------------------------------------------------------- */

/* Makes the caller's bytes readable as a file, without a copy. The path is "memory://" and a name, which may have
 * slashes: memory://model/weight/_meta lies in the folder memory://model/weight, so that a whole model can be in
 * memory. release(user), unless it is NULL, is called once, when the file has been removed and no reader uses it any
 * more; until then the bytes must not change. It is not called when this function fails. bytes NULL: an empty file.
 * Errors:  E_ARGUMENT, the path does not have this form; E_EXISTS, a file or folder in memory has that path;
 *          E_MEMORY. */
FURROW_API furrow_status furrow_memory_file_add(const char *path, const void *bytes, size_t length,
                                                void (*release)(void *user), void *user,
                                                furrow_error *err) FURROW_MUST_USE;
/* Removes a file from memory. A file that is open now can be read to its end, and a mapped index keeps its bytes. A
 * parser or block iterator opens its files when it comes to them, also after a rewind: close it first.
 * Errors:  E_NOT_FOUND, no file is at that path; E_ARGUMENT, not a path in memory. */
FURROW_API furrow_status furrow_memory_file_remove(const char *path, furrow_error *err) FURROW_MUST_USE;

/* ---- File systems ---------------------------------------------------------------------------------------- */

/* What is at a path. */
typedef enum furrow_file_kind {
  FURROW_FILE_REGULAR, /* bytes of a known number, read at any place */
  FURROW_FILE_FOLDER,  /* has other files and folders in it */
  FURROW_FILE_STREAM   /* bytes of an unknown number: read once, in order. Rows, vectors and arrays may be such files */
} furrow_file_kind;

/* What a file system reports about a path. The library makes it, all zeros; it may grow at its end. */
typedef struct furrow_file_info {
  furrow_file_kind kind; /* what it is */
  uint64_t length;       /* bytes of a regular file */
  int64_t changed_ns; /* last change in nanoseconds since 1970; 0: unknown, in which case a row cache made from the file
                         is not reused */
} furrow_file_info;

/* Takes the name of an entry of a folder: its last part, without slashes. The name is copied.
 * Returns: FURROW_OK, or a status that ends the listing and becomes its result. */
typedef furrow_status (*furrow_file_name)(void *listing, const char *name, furrow_error *err);

/* The functions of a file system. Paths are the part after "name://". A function that fails returns the status that the
 * caller of the library gets, and may set err->message; err is never NULL, and the file's name is added.
 * Threads: any of them may be called from several threads at once, also for one file. */
typedef struct furrow_file_system {
  size_t size; /* set by furrow_file_system_init */
  void *user;  /* first argument of all */
  /* Fills in what is at the path; E_NOT_FOUND: nothing is there. Required. */
  furrow_status (*stat)(void *user, const char *path, furrow_file_info *info, furrow_error *err);
  /* Calls found(listing, name, err) for every entry of a folder, in any order, and returns its failures. The path has
   * no slash at its end and is "" for the root folder. NULL: there are no folders. */
  furrow_status (*list)(void *user, const char *path, furrow_file_name found, void *listing, furrow_error *err);
  /* Opens a file; *file is passed to the functions that follow. Required. */
  furrow_status (*open)(void *user, const char *path, void **file, furrow_error *err);
  /* Reads up to `length` bytes at `offset`, at least one unless the file ends there; *got is set to their number. A
   * stream is read in order. Required. */
  furrow_status (*read_at)(void *user, void *file, void *buffer, size_t length, uint64_t offset, size_t *got,
                           furrow_error *err);
  /* Gives the whole content of a file as memory that stays valid until the file is closed, so that nothing is read or
   * copied. NULL, or *bytes left NULL: the library calls read_at. */
  furrow_status (*memory)(void *user, void *file, const void **bytes, size_t *length, furrow_error *err);
  /* Closes a file. Required. */
  void (*close)(void *user, void *file);
  /* Called once, when the file system has been unregistered and no file of it is open. May be NULL. */
  void (*release)(void *user);
  /* Says that the bytes from `begin` to before `end` will be read, more or less in order, so that they can be fetched
   * ahead. `end` may be past the end of the file. NULL: the file system does not want to know. */
  void (*expect)(void *user, void *file, uint64_t begin, uint64_t end);
} furrow_file_system;

/* Sets the size, and everything else to 0. */
static inline void furrow_file_system_init(furrow_file_system *calls) {
  memset(calls, 0, sizeof *calls);
  calls->size = sizeof *calls;
}

/* Makes name://path readable. The struct is copied. The name is a letter, then letters, digits, +, - and . in any case;
 * names of services (s3, hdfs, http …) are free, and what is registered replaces what is built in.
 * Errors:  E_EXISTS, the name is taken, or is file or memory; E_ARGUMENT, the name or a function that is missing;
 *          E_UNSUPPORTED, the struct is of a newer header; E_MEMORY. */
FURROW_API furrow_status furrow_file_system_register(const char *name, const furrow_file_system *system,
                                                     furrow_error *err) FURROW_MUST_USE;
/* Unregisters a file system. Files that are open stay open; a parser opens each file when it reaches it.
 * Errors:  E_NOT_FOUND, no such name was registered. */
FURROW_API furrow_status furrow_file_system_unregister(const char *name, furrow_error *err) FURROW_MUST_USE;

/* Says what is at a path, of this machine or of any file system: links are followed.
 * Errors:  E_NOT_FOUND, nothing is there; E_ARGUMENT, neither a file nor a folder nor a pipe; E_UNSUPPORTED, no file
 *          system of that name; E_IO. */
FURROW_API furrow_status furrow_path_look(const char *path, furrow_file_info *info, furrow_error *err) FURROW_MUST_USE;

/* Reads up to `size` bytes at `offset` of a file anywhere; *got is less only at its end. Every call opens the file: it
 * is for a look at its head, not for all of it.
 * Errors:  E_NOT_FOUND; E_ARGUMENT, not a regular file; E_UNSUPPORTED, as furrow_path_look; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_path_read(const char *path, uint64_t offset, void *buffer, size_t size, size_t *got,
                                          furrow_error *err) FURROW_MUST_USE;

/* ---- Bytes out ------------------------------------------------------------------------------------------- */

/* A function of the caller that receives bytes, in order. */
typedef struct furrow_output {
  size_t size; /* set by furrow_output_init */
  /* Takes all of the next `length` bytes and returns FURROW_OK, or a status that ends the writing; the library's caller
   * gets that status. err is never NULL; its message may be set. Calls come one at a time. Required. */
  furrow_status (*write)(void *user, const void *bytes, size_t length, furrow_error *err);
  void *user; /* first argument of the callback */
} furrow_output;

/* Sets the size, and everything else to 0. */
static inline void furrow_output_init(furrow_output *out) {
  memset(out, 0, sizeof *out);
  out->size = sizeof *out;
}

/* Writes a file that appears complete or not at all: on this machine it is written under a temporary name, synced and
 * renamed. "-" is standard output.
 * Errors:  E_EXISTS, the file exists and `overwrite` is false; E_STATE, another process has locked it; E_NOT_FOUND, its
 *          directory does not exist; E_ARGUMENT, not a regular file; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_file_save(const char *path, const void *bytes, size_t length, bool overwrite,
                                          furrow_error *err) FURROW_MUST_USE;

/* Checks before a long job that furrow_file_save, or another function that writes a file, could write to the path now.
 * On this machine it makes a temporary file and removes it; a server is asked to begin an upload, which is ended at
 * once.
 * Errors:  those of furrow_file_save; E_UNSUPPORTED, the file system can only be read. */
FURROW_API furrow_status furrow_file_check(const char *path, bool overwrite, furrow_error *err) FURROW_MUST_USE;

/* Makes the path under which a program writes a file before it renames it to `path`: hidden, in the same directory.
 * While the library writes it, it is locked; if the process is killed, the next process that saves there removes it.
 * The same number gives the same path.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees it with furrow_free. */
FURROW_API furrow_status furrow_temporary_path(char **temporary, const char *path, uint64_t number,
                                               furrow_error *err) FURROW_MUST_USE;

/* ---- Snapshots ------------------------------------------------------------------------------------------- */

/* A file or directory that is read in several steps: what another program puts in its place meanwhile must not be mixed
 * with it. The functions that load models, encoders and indexes with their names watch for this themselves; a program
 * that calls several of them for one path watches it as well. */
typedef struct furrow_path_watch furrow_path_watch;

/* Begins to watch a path; it may be missing. The path is copied.
 * Errors:  E_IO, the path cannot be looked at; E_MEMORY.
 * Owner:   the caller, who ends it with furrow_path_watch_end. */
FURROW_API furrow_status furrow_path_watch_begin(furrow_path_watch **watch, const char *path,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Ends the watch and frees it, whatever it returns. `status` is the result of what was read meanwhile, which is
 * returned if the path is still the same. A file that was changed in place counts as replaced, a directory in which
 * files were changed does not.
 * Errors:  `status`; E_STATE, the path was replaced since the begin, by another file or directory or by none: what was
 *          read may be a mixture, and a failure may come from that (E_MEMORY stays E_MEMORY); E_IO, the path cannot
 *          be looked at. */
FURROW_API furrow_status furrow_path_watch_end(furrow_path_watch *watch, furrow_status status,
                                               furrow_error *err) FURROW_MUST_USE;

/* ---- Locks ----------------------------------------------------------------------------------------------- */

/* A lock on a file or a directory that a program reads, changes and replaces. */
typedef struct furrow_file_lock furrow_file_lock;

/* Locks a regular file of this machine, or a directory (a model), so that no other program that takes the lock changes
 * it meanwhile: open the lock, load the file, change it, save it, close the lock. The lock does not prevent reading.
 * When the library in this process replaces the file, the new file is locked instead; another process that saves there
 * without the lock gets E_STATE. The lock works between programs on one machine, and between machines where the file
 * system supports it; on file systems without locks it has no effect.
 * Errors:  E_STATE, another process holds the lock (the message names it), or this process already does; E_NOT_FOUND;
 *          E_ARGUMENT, neither a regular file nor a directory; E_IO; E_MEMORY.
 * Owner:   the caller, who frees it with furrow_file_lock_close. */
FURROW_API furrow_status furrow_file_lock_open(furrow_file_lock **lock, const char *path,
                                               furrow_error *err) FURROW_MUST_USE;
/* Unlocks the file. Takes NULL. */
FURROW_API void furrow_file_lock_close(furrow_file_lock *lock);

/* ---- Signals --------------------------------------------------------------------------------------------- */

/* Announces that the process will end: calls that wait for a pipe or a terminal, make a row cache or load rows fail
 * with E_CANCELLED, now and later.
 * Threads: any; async-signal-safe, so signal handlers may call it. */
FURROW_API void furrow_process_interrupt(void);
/* Removes the temporary files and directories of all saves that this process has begun and not finished. A signal
 * handler calls it right before it ends the process: unfinished saves cannot be completed afterwards.
 * Threads: any; async-signal-safe. */
FURROW_API void furrow_process_clean_up(void);

/* ---- Plugins --------------------------------------------------------------------------------------------- */

/* Marks the symbols that a plugin defines and the library looks up: furrow_plugin_init, furrow_plugin_rows_formats
 * (rows.h), furrow_plugin_matrix_formats (model.h). */
#define FURROW_PLUGIN_API FURROW_API

/* A plugin defines this function, not the library. The library calls it when the plugin is loaded, before its formats
 * are added; it may register anything. err is never NULL.
 * Returns: FURROW_OK, or what furrow_plugin_load is to return. */
FURROW_PLUGIN_API furrow_status furrow_plugin_init(furrow_error *err);

/* Loads a shared object that defines one or more of furrow_plugin_init, furrow_plugin_rows_formats and
 * furrow_plugin_matrix_formats, and adds all its formats, or none. The object stays loaded. A path without a slash is a
 * file of the working directory. The object calls the library of the program that loads it, so it must not be linked
 * with its own copy.
 * Errors:  E_NOT_FOUND, it cannot be loaded; E_FORMAT, it defines none of these symbols; E_EXISTS, a name is taken;
 *          E_ARGUMENT, a format is not complete; and what its furrow_plugin_init returns. */
FURROW_API furrow_status furrow_plugin_load(const char *path, furrow_error *err) FURROW_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
