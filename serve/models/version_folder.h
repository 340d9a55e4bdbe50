/* serve/models/version_folder.h: the folder of a model: which version is the newest, and whether it has changed. */
#ifndef SERVE_MODELS_VERSION_FOLDER_H
#define SERVE_MODELS_VERSION_FOLDER_H

#include "shared/loaded_files.h"

/* A version in the file system. */
typedef struct version_folder {
  uint64_t number;  /* 0: the source is a model directory itself */
  char *path;       /* owned */
  file_print print; /* identity of its files */
} version_folder;

/* Finds the newest version: the directory itself if it has a graph.json or a furrow.json, otherwise its subfolder with
 * the highest number `below` that one (UINT64_MAX: any). Names are decimal numbers from 1 to 2^63 without leading
 * zeros; everything else in it is ignored. Owner: the caller frees folder->path. Errors: E_NOT_FOUND, there is none;
 * E_IO; E_FORMAT, something in the folder is neither a regular file nor a folder (a link would lead out of it), or
 * there are too many files, or folders in folders. If a numbered folder was found, folder->number is set nevertheless.
 */
furrow_status version_folder_find(version_folder *folder, const char *source, uint64_t below, furrow_error *err);
/* Checks, after the files were read, that they have not changed since they were found: data from before and after a
 * change does not belong together.
 * Errors: E_STATE, they have changed; otherwise as version_folder_find. */
furrow_status version_folder_check(const version_folder *folder, furrow_error *err);

#endif
