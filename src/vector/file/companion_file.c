/* vector/file/companion_file.c: reads and writes files next to an index that belong to its bytes, and replaces them
 * together with it: names of ids, attributes, the card. docs/formats/index_names.md describes the steps. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/file_lock.h"
#include "io/remote_target.h"
#include "io/target.h"
#include "vector/file/companion_file.h"
#include "vector/file/index_read.h"
#include "vector/index/index_card.h"

#define PIECE ((size_t)1 << 20)

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status fail_file(furrow_error *err, furrow_status status, const char *path, const char *message) {
  fw_fail(err, status, "%s", message);
  fw_error_set_file(err, path);
  return status;
}

/* The two files that may contain what belongs to an index. */
typedef struct companion_paths {
  char *settled, *staged;
} companion_paths;

static void forget_paths(companion_paths *paths) {
  fw_free(paths->settled);
  fw_free(paths->staged);
  *paths = (companion_paths){0};
}

/* The bytes of a path before the query of an address. */
static size_t name_length(const char *path) {
  const bool address = strncasecmp(path, "http://", 7) == 0 || strncasecmp(path, "https://", 8) == 0;
  return address ? strcspn(path, "?#") : strlen(path);
}

static furrow_status append_endings(char **path, const char *index_path, const char *ending, const char *second,
                                    furrow_error *err) {
  fw_buffer text = {0};
  const size_t length = name_length(index_path);
  fw_buffer_append(&text, index_path, length);
  fw_buffer_text(&text, ending);
  fw_buffer_text(&text, second);
  fw_buffer_text(&text, index_path + length);
  furrow_status status = fw_buffer_take(&text, path, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

static furrow_status name_files(companion_paths *paths, const fw_companion_kind *kind, const char *index_path,
                                furrow_error *err) {
  *paths = (companion_paths){0};
  FW_TRY(append_endings(&paths->settled, index_path, kind->ending, "", err));
  furrow_status status = append_endings(&paths->staged, index_path, kind->ending, ".new", err);
  if (status != FURROW_OK) forget_paths(paths);
  return status;
}

/* If the index path is a link, the file is stored next to the link's target, unless one exists next to the link. */
static furrow_status find_paths(companion_paths *paths, const fw_companion_kind *kind, const char *index_path,
                                furrow_error *err) {
  char to[PATH_MAX];
  struct stat info;
  FW_TRY(name_files(paths, kind, index_path, err));
  if (!fw_path_is_local(index_path) || lstat(index_path, &info) != 0 || !S_ISLNK(info.st_mode) ||
      fw_path_exists(paths->settled) || fw_path_exists(paths->staged) || !realpath(index_path, to))
    return FURROW_OK;
  forget_paths(paths);
  return name_files(paths, kind, to, err);
}

/* Reads all bytes of a file. They are not mapped (io/file_map.h), because offsets in them decide what is read next. */
static furrow_status read_image(fw_companion *file, const fw_input *input, uint64_t size, const char *path,
                                furrow_error *err) {
  void *memory = NULL;
  size_t got = 0;
  if (size > SIZE_MAX / 2) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_alloc(&memory, (size_t)size, 1, err));
  file->image = (fw_buffer){.bytes = memory, .size = (size_t)size, .capacity = (size_t)size};
  FW_TRY(fw_input_read_at(input, memory, (size_t)size, 0, &got, err));
  if (got == size) return FURROW_OK;
  fail_file(err, FURROW_E_FORMAT, path, "is cut short");
  if (err) err->offset = got;
  return FURROW_E_FORMAT;
}

/* Gets the bytes of a file; takes *input if the bytes are held in memory. */
static furrow_status get_bytes(fw_companion *file, fw_input **input, uint64_t size, const char *path,
                               const void **bytes, size_t *length, furrow_error *err) {
  *bytes = fw_input_memory(*input, length);
  if (*bytes) {
    file->held = *input;
    *input = NULL;
    return FURROW_OK;
  }
  *length = (size_t)size;
  FW_TRY(read_image(file, *input, size, path, err));
  *bytes = file->image.bytes;
  return FURROW_OK;
}

/* Opens a file. The object is zeroed before, and after a failure. */
static furrow_status open_file(const fw_companion_kind *kind, void *object, const char *path, furrow_error *err) {
  fw_input *input = NULL;
  uint64_t size = 0;
  const void *bytes = NULL;
  size_t length = 0;
  furrow_status status = fw_open_regular(&input, &size, path, err);
  if (status == FURROW_E_NOT_FOUND) /* a dangling link, which is not the same as having no file */
    status = fail_file(err, FURROW_E_FORMAT, path, "is a link to a file that is not there");
  if (status == FURROW_OK) status = get_bytes(object, &input, size, path, &bytes, &length, err);
  if (status == FURROW_OK) status = kind->view(object, bytes, length, path, err);
  if (status != FURROW_OK) kind->clear(object);
  fw_input_close(input);
  return status;
}

static furrow_status hash_input(const fw_input *input, uint64_t size, fw_index_stamp *stamp, furrow_error *err) {
  XXH3_state_t *hash = XXH3_createState();
  void *piece = NULL;
  size_t got = 1;
  if (!hash) return fw_fail_memory(err, 576); /* the size of the opaque type in xxhash 0.8 */
  XXH3_64bits_reset(hash);
  furrow_status status = fw_alloc(&piece, PIECE, 1, err);
  for (uint64_t at = 0; status == FURROW_OK && at < size && got > 0; at += got) {
    status = fw_input_read_at(input, piece, PIECE, at, &got, err);
    if (status == FURROW_OK) XXH3_64bits_update(hash, piece, got);
  }
  *stamp = (fw_index_stamp){.size = size, .digest = XXH3_64bits_digest(hash)};
  fw_free(piece);
  XXH3_freeState(hash);
  return status;
}

furrow_status fw_index_stamp_of_file(const char *path, fw_index_stamp *stamp, furrow_error *err) {
  fw_input *input = NULL;
  uint64_t size = 0;
  FW_TRY(fw_open_regular(&input, &size, path, err));
  furrow_status status = hash_input(input, size, stamp, err);
  fw_input_close(input);
  return status;
}

/* Opens a file if it exists, is valid and belongs to the index; otherwise the object stays zeroed. */
static furrow_status open_if_fits(const fw_companion_kind *kind, void *object, const char *path,
                                  const fw_index_stamp *stamp, bool *opened, furrow_error *err) {
  const fw_companion *file = object;
  *opened = false;
  if (!fw_path_exists(path)) return FURROW_OK;
  const furrow_status status = open_file(kind, object, path, err);
  if (status != FURROW_OK) return status == FURROW_E_FORMAT ? FURROW_OK : status;
  *opened = file->stamp.size == stamp->size && file->stamp.digest == stamp->digest;
  if (!*opened) kind->clear(object);
  return FURROW_OK;
}

/* A file that an interrupted save left staged belongs to the index if the index was written. */
static furrow_status open_fitting(const fw_companion_kind *kind, void *object, const companion_paths *paths,
                                  const char *index_path, furrow_error *err) {
  fw_index_stamp stamp;
  bool opened = false;
  const bool settled = fw_path_exists(paths->settled);
  if (!settled && !fw_path_exists(paths->staged)) return fail_file(err, FURROW_E_NOT_FOUND, index_path, kind->absent);
  FW_TRY(fw_index_stamp_of_file(index_path, &stamp, err));
  FW_TRY(open_if_fits(kind, object, paths->settled, &stamp, &opened, err));
  if (!opened) FW_TRY(open_if_fits(kind, object, paths->staged, &stamp, &opened, err));
  if (opened) return FURROW_OK;
  if (!settled) return fail_file(err, FURROW_E_NOT_FOUND, index_path, kind->absent);
  FW_TRY(open_file(kind, object, paths->settled, err));
  kind->clear(object);
  fw_fail(err, FURROW_E_FORMAT, "the %s %s to another index, or to this one before it was changed", kind->noun,
          kind->belong);
  fw_error_set_file(err, paths->settled);
  fw_error_set_hint(err, "%s", kind->hint);
  return FURROW_E_FORMAT;
}

furrow_status fw_companion_load(const fw_companion_kind *kind, void **object, const char *index_path,
                                furrow_error *err) {
  companion_paths paths;
  void *memory = NULL;
  FW_TRY(find_paths(&paths, kind, index_path, err));
  furrow_status status = fw_alloc_zero(&memory, 1, kind->object_size, err);
  if (status == FURROW_OK) status = open_fitting(kind, memory, &paths, index_path, err);
  forget_paths(&paths);
  return FW_HAND_OVER(status, object, memory, fw_free);
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

/* Whether a file exists; fails with E_EXISTS if it is of another kind. */
static furrow_status check_kind(const fw_companion_kind *kind, const char *path, bool *there, furrow_error *err) {
  fw_input *input = NULL;
  uint64_t size = 0;
  char magic[8] = "";
  size_t got = 0;
  *there = fw_path_exists(path);
  if (!*there) return FURROW_OK;
  FW_TRY(fw_open_regular(&input, &size, path, err));
  furrow_status status = fw_input_read_at(input, magic, sizeof magic, 0, &got, err);
  fw_input_close(input);
  if (status != FURROW_OK || memcmp(magic, kind->magic, 8) == 0) return status;
  fw_fail(err, FURROW_E_EXISTS, "is in the way: it is not %s", kind->file);
  fw_error_set_file(err, path);
  return FURROW_E_EXISTS;
}

/* Moves a file that an earlier save left staged to its place if it belongs to the current index, so that it is not lost
 * when another one is staged. */
static furrow_status settle_earlier(const fw_companion_kind *kind, const companion_paths *paths, const char *index_path,
                                    furrow_error *err) {
  void *object = NULL;
  fw_index_stamp stamp;
  if (!fw_path_exists(paths->staged) || !fw_path_exists(index_path)) return FURROW_OK;
  FW_TRY(fw_index_stamp_of_file(index_path, &stamp, err));
  FW_TRY(fw_alloc_zero(&object, 1, kind->object_size, err));
  bool opened = false;
  furrow_status status = open_if_fits(kind, object, paths->staged, &stamp, &opened, err);
  if (opened) kind->clear(object);
  fw_free(object);
  return opened ? fw_path_rename(paths->staged, paths->settled, err) : status;
}

/* Writes the bytes of a file with another stamp in their header. */
static furrow_status write_stamped(fw_atomic_file *file, const fw_companion *own, const fw_index_stamp *stamp,
                                   furrow_error *err) {
  unsigned char header[FW_COMPANION_HEADER];
  memcpy(header, own->bytes, sizeof header);
  fw_put_le64(header + FW_COMPANION_AT_INDEX_SIZE, stamp->size);
  fw_put_le64(header + FW_COMPANION_AT_INDEX_DIGEST, stamp->digest);
  fw_put_le64(header + FW_COMPANION_AT_DIGEST, XXH3_64bits(header, FW_COMPANION_AT_DIGEST));
  FW_TRY(fw_atomic_file_write(file, header, sizeof header, err));
  return fw_atomic_file_write(file, own->bytes + sizeof header, own->size - sizeof header, err);
}

/* `first`: the file whose permissions this one gets. */
static furrow_status write_file(const fw_companion_kind *kind, const fw_companion *own, const char *path,
                                const char *first, const fw_index_stamp *stamp, furrow_error *err) {
  fw_atomic_file *file = NULL;
  fw_buffer text = {0};
  furrow_status status = fw_atomic_file_open_beside(&file, path, first, err);
  if (status == FURROW_OK && kind->write) status = kind->write(own, stamp, &text, err);
  if (status == FURROW_OK)
    status =
        kind->write ? fw_atomic_file_write(file, text.bytes, text.size, err) : write_stamped(file, own, stamp, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  fw_buffer_clear(&text);
  return status;
}

/* Prepares for an index with this file: writes it to PATH.….new, with the permissions of the one that it will replace,
 * or else of the index. */
static furrow_status stage(const fw_companion_kind *kind, const fw_companion *file, const companion_paths *paths,
                           const char *index_path, const fw_index_stamp *stamp, bool overwrite, furrow_error *err) {
  bool there = false;
  FW_TRY(check_kind(kind, paths->settled, &there, err));
  if (there && !overwrite) return fail_file(err, FURROW_E_EXISTS, paths->settled, "exists already");
  FW_TRY(check_kind(kind, paths->staged, &there, err));
  FW_TRY(settle_earlier(kind, paths, index_path, err));
  FW_TRY(fw_path_remove(paths->staged, err));
  return write_file(kind, file, paths->staged, fw_path_exists(paths->settled) ? paths->settled : index_path, stamp,
                    err);
}

/* Prepares for an index without such a file: moves the old index's file to PATH.….new. There, loading finds it as long
 * as the old index is in place; it does not match any other index. */
static furrow_status set_aside(const fw_companion_kind *kind, const companion_paths *paths, const char *index_path,
                               furrow_error *err) {
  bool there = false;
  FW_TRY(check_kind(kind, paths->staged, &there, err));
  if (there) FW_TRY(settle_earlier(kind, paths, index_path, err));
  FW_TRY(check_kind(kind, paths->settled, &there, err));
  if (!there) return FURROW_OK;
  FW_TRY(fw_path_rename(paths->settled, paths->staged, err));
  if (fw_path_sync_names(paths->staged, err) == FURROW_OK) return FURROW_OK;
  (void)!fw_path_rename(paths->staged, paths->settled, NULL);
  return fail_file(err, FURROW_E_IO, paths->settled, "cannot be moved aside: its directory cannot be synced to disk");
}

/* ---- With its index ------------------------------------------------------------------------------------- */

/* A file that is committed together with an index. */
typedef struct joining {
  const fw_companion_kind *kind;
  const fw_companion *file; /* NULL: the index has none */
  companion_paths paths;
  bool prepared;
} joining;

enum { KINDS = 3 };

/* Call when the index is in place: moves the staged file to its place, or removes it if the index has none. */
static furrow_status settle(const joining *j, const char *index_path, furrow_error *err) {
  const char *ending = j->kind->ending, *noun = j->kind->noun;
  furrow_error why;
  const furrow_status status =
      j->file ? fw_path_rename(j->paths.staged, j->paths.settled, &why) : fw_path_remove(j->paths.staged, &why);
  if (status == FURROW_OK) return FURROW_OK;
  if (j->file)
    fw_fail(err, status, "written, but the file of its %s, %s.new, cannot be renamed to %s: %s", noun, ending, ending,
            why.message);
  else
    fw_fail(err, status, "written, but the %s of the index before it, %s.new, cannot be removed: %s", noun, ending,
            why.message);
  fw_error_set_file(err, index_path);
  return status;
}

/* Call if the index was not written, or if it is in place but its directory was not synced. */
static void undo(const joining *j, const char *index_path) {
  if (!j->prepared) return;
  (void)!settle_earlier(j->kind, &j->paths, index_path, NULL);
  if (j->file) (void)!fw_path_remove(j->paths.staged, NULL);
}

static furrow_status prepare(joining *j, const char *index_path, const fw_index_stamp *stamp, bool overwrite,
                             furrow_error *err) {
  const furrow_status status = j->file ? stage(j->kind, j->file, &j->paths, index_path, stamp, overwrite, err)
                                       : set_aside(j->kind, &j->paths, index_path, err);
  j->prepared = status == FURROW_OK;
  return status;
}

static furrow_status commit_all(fw_atomic_file *file, joining all[KINDS], const char *index_path,
                                const fw_index_stamp *stamp, bool overwrite, furrow_error *err) {
  furrow_status status = fw_atomic_file_lock_folder(file, err);
  for (int i = 0; status == FURROW_OK && i < KINDS; i++)
    if (all[i].paths.settled) status = prepare(&all[i], index_path, stamp, overwrite, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  if (status != FURROW_OK) {
    for (int i = 0; i < KINDS; i++) undo(&all[i], index_path);
    return status;
  }
  for (int i = 0; i < KINDS; i++) {
    const furrow_status settled =
        all[i].prepared ? settle(&all[i], index_path, status == FURROW_OK ? err : NULL) : FURROW_OK;
    if (status == FURROW_OK) status = settled;
  }
  return status;
}

furrow_status fw_companions_commit(fw_atomic_file *file, const fw_companions *with, const char *path,
                                   const fw_index_stamp *stamp, bool overwrite, furrow_error *err) {
  joining all[KINDS] = {{.kind = &fw_names_kind, .file = (const fw_companion *)with->names},
                        {.kind = &fw_attributes_kind, .file = (const fw_companion *)with->attributes},
                        {.kind = &fw_card_kind, .file = (const fw_companion *)with->card}};
  furrow_status status = FURROW_OK;
  if (!fw_companions_any(with) && (!overwrite || strcmp(path, "-") == 0)) return fw_atomic_file_commit(file, err);
  for (int i = 0; status == FURROW_OK && i < KINDS; i++)
    if (all[i].file || overwrite) status = find_paths(&all[i].paths, all[i].kind, path, err);
  if (status == FURROW_OK) status = commit_all(file, all, path, stamp, overwrite, err);
  for (int i = 0; i < KINDS; i++) forget_paths(&all[i].paths);
  return status;
}

/* ---- Alone ---------------------------------------------------------------------------------------------- */

/* Locks the folder, so that the file cannot be combined with an index that another process saves. */
static furrow_status lock_folder(fw_target *folder, const char *index_path, furrow_error *err) {
  *folder = (fw_target){.directory = -1};
  FW_TRY(fw_target_find(folder, index_path, err));
  return fw_target_lock(folder, err);
}

furrow_status fw_companion_save(const fw_companion_kind *kind, const fw_companion *file, const char *index_path,
                                furrow_error *err) {
  fw_index_stamp stamp;
  fw_target folder;
  companion_paths paths;
  FW_TRY(find_paths(&paths, kind, index_path, err));
  furrow_status status = lock_folder(&folder, index_path, err);
  if (status == FURROW_OK) status = fw_index_stamp_of_file(index_path, &stamp, err);
  if (status == FURROW_OK) status = stage(kind, file, &paths, index_path, &stamp, true, err);
  if (status == FURROW_OK) status = fw_path_rename(paths.staged, paths.settled, err);
  fw_target_clear(&folder);
  forget_paths(&paths);
  return status;
}

static furrow_status discard_file(const char *path, bool there, furrow_error *err) {
  if (!there) return FURROW_OK;
  FW_TRY(fw_path_remove(path, err));
  return fw_path_sync_names(path, err);
}

furrow_status fw_companion_discard(const fw_companion_kind *kind, const char *index_path, furrow_error *err) {
  companion_paths paths;
  fw_target folder;
  FW_TRY(find_paths(&paths, kind, index_path, err));
  furrow_status status = lock_folder(&folder, index_path, err);
  bool settled = false, staged = false;
  if (status == FURROW_OK) status = check_kind(kind, paths.settled, &settled, err);
  if (status == FURROW_OK) status = check_kind(kind, paths.staged, &staged, err);
  if (status == FURROW_OK) status = discard_file(paths.settled, settled, err);
  if (status == FURROW_OK) status = discard_file(paths.staged, staged, err);
  fw_target_clear(&folder);
  forget_paths(&paths);
  return status;
}
