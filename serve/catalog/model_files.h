/* serve/catalog/model_files.h: the folder of a model: which version is the newest, whether it has changed, and its
 * files as files in the library's memory.
 *
 * A server that maps the files of a model dies with SIGBUS when someone cuts one of them. So all files are read first,
 * and the model is loaded from memory://…; what the loaded model goes on using (its dictionary) keeps its bytes, the
 * rest is freed by model_files_clear.
 */
#ifndef SERVE_CATALOG_MODEL_FILES_H
#define SERVE_CATALOG_MODEL_FILES_H

#include "furrow/status.h"

/* A version that lies in the file system. */
typedef struct version_folder {
  uint64_t number;      /* 0: the source is a model directory itself */
  char *path;           /* owned */
  uint64_t fingerprint; /* of names, sizes, times and inodes of its files */
} version_folder;

/* Finds the newest version: the directory itself if it has a graph.json, otherwise its subfolder with the highest
 * number `below` that one (UINT64_MAX: any). Names are decimal numbers from 1 to 2^63 without leading zeros; everything
 * else in it is ignored.
 * Owner: the caller frees folder->path.
 * Errors: E_NOT_FOUND, there is none; E_IO; E_FORMAT, something in the folder is neither a regular file nor a folder.
 */
furrow_status version_folder_find(version_folder *folder, const char *source, uint64_t below, furrow_error *err);
/* Likewise of one file; 0: there is none, or path is NULL. */
uint64_t file_fingerprint(const char *path);

/* Files in memory. Start with {0}. */
typedef struct model_files {
  char folder[128]; /* "memory://serve/…" */
  char **paths;     /* of each file */
  size_t count, capacity;
  uint64_t bytes; /* of all files */
} model_files;

/* Reads all files of a version. Hidden files are left out. After a failure files->… is to be cleared as well.
 * Errors: E_STATE, the folder has changed since its fingerprint was taken; E_FORMAT, a link, a device …, too many files
 *         or folders in folders; E_RANGE, too many bytes; E_IO; E_MEMORY. */
furrow_status model_files_read(model_files *files, const version_folder *from, const char *name, furrow_error *err);
/* Removes them from memory. */
void model_files_clear(model_files *files);
/* Makes the file of an error the one that people know. */
void model_files_rename(const model_files *files, const char *folder, furrow_error *err);

#endif
