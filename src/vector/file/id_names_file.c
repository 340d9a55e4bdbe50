/* vector/file/id_names_file.c: reads and writes the names file next to an index, and checks that it belongs to the
 * index. Its layout: docs/formats/index_names.md. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "furrow/io.h"
#include "io/dir_names.h"
#include "io/file_lock.h"
#include "vector/file/index_read.h"
#include "vector/file/index_write.h"

#define PIECE ((size_t)1 << 20)

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status fail_file(furrow_error *err, furrow_status status, const char *path, const char *message) {
  fw_fail(err, status, "%s", message);
  fw_error_set_file(err, path);
  return status;
}

static furrow_status append_ending(char **path, const char *index_path, const char *ending, furrow_error *err) {
  fw_buffer text = {0};
  fw_buffer_text(&text, index_path);
  fw_buffer_text(&text, ending);
  furrow_status status = fw_buffer_take(&text, path, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

/* The two files that may contain the names of an index. */
typedef struct names_paths {
  char *settled, *staged;
} names_paths;

static void forget_paths(names_paths *paths) {
  fw_free(paths->settled);
  fw_free(paths->staged);
}

static furrow_status name_files(names_paths *paths, const char *index_path, furrow_error *err) {
  *paths = (names_paths){0};
  FW_TRY(append_ending(&paths->settled, index_path, ".names", err));
  furrow_status status = append_ending(&paths->staged, index_path, ".names.new", err);
  if (status != FURROW_OK) fw_free(paths->settled);
  return status;
}

/* If the index path is a link, the names are stored next to the link's target, unless a names file exists next to the
 * link. */
static furrow_status find_paths(names_paths *paths, const char *index_path, furrow_error *err) {
  char to[PATH_MAX];
  struct stat info;
  FW_TRY(name_files(paths, index_path, err));
  if (!fw_path_is_local(index_path) || lstat(index_path, &info) != 0 || !S_ISLNK(info.st_mode) ||
      fw_path_exists(paths->settled) || fw_path_exists(paths->staged) || !realpath(index_path, to))
    return FURROW_OK;
  forget_paths(paths);
  return name_files(paths, to, err);
}

/* Reads all bytes of a file. They are not mapped (io/file_map.h), because offsets in them decide what is read next. */
static furrow_status read_image(furrow_id_names *names, const fw_input *input, uint64_t size, const char *path,
                                furrow_error *err) {
  void *memory = NULL;
  size_t got = 0;
  if (size > SIZE_MAX / 2) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_alloc(&memory, (size_t)size, 1, err));
  names->image = (fw_buffer){.bytes = memory, .size = (size_t)size, .capacity = (size_t)size};
  FW_TRY(fw_input_read_at(input, memory, (size_t)size, 0, &got, err));
  if (got == size) return FURROW_OK;
  fail_file(err, FURROW_E_FORMAT, path, "is cut short");
  if (err) err->offset = got;
  return FURROW_E_FORMAT;
}

/* Gets the bytes of a file; takes *input if the bytes are held in memory. */
static furrow_status get_bytes(furrow_id_names *names, fw_input **input, uint64_t size, const char *path,
                               const void **bytes, size_t *length, furrow_error *err) {
  *bytes = fw_input_memory(*input, length);
  if (*bytes) {
    names->held = *input;
    *input = NULL;
    return FURROW_OK;
  }
  *length = (size_t)size;
  FW_TRY(read_image(names, *input, size, path, err));
  *bytes = names->image.bytes;
  return FURROW_OK;
}

/* Opens a names file. *names is zeroed before, and after a failure. */
static furrow_status open_names(furrow_id_names *names, const char *path, furrow_error *err) {
  fw_input *input = NULL;
  uint64_t size = 0;
  const void *bytes = NULL;
  size_t length = 0;
  furrow_status status = fw_open_regular(&input, &size, path, err);
  if (status == FURROW_E_NOT_FOUND) /* a dangling link, which is not the same as having no names */
    status = fail_file(err, FURROW_E_FORMAT, path, "is a link to a file that is not there");
  if (status == FURROW_OK) status = get_bytes(names, &input, size, path, &bytes, &length, err);
  if (status == FURROW_OK) status = fw_id_names_view(names, bytes, length, path, err);
  if (status != FURROW_OK) fw_id_names_clear(names);
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

/* Opens a names file if it exists, is valid and belongs to the index; otherwise *names stays zeroed. */
static furrow_status open_if_fits(furrow_id_names *names, const char *path, const fw_index_stamp *stamp, bool *opened,
                                  furrow_error *err) {
  *opened = false;
  if (!fw_path_exists(path)) return FURROW_OK;
  const furrow_status status = open_names(names, path, err);
  if (status != FURROW_OK) return status == FURROW_E_FORMAT ? FURROW_OK : status;
  *opened = names->stamp.size == stamp->size && names->stamp.digest == stamp->digest;
  if (!*opened) fw_id_names_clear(names);
  return FURROW_OK;
}

static furrow_status fail_without(furrow_error *err, const char *index_path) {
  fw_fail(err, FURROW_E_NOT_FOUND, "has no names of ids");
  fw_error_set_file(err, index_path);
  return FURROW_E_NOT_FOUND;
}

/* Names that an interrupted save left staged belong to the index if the index was written. */
static furrow_status open_fitting(furrow_id_names *names, const names_paths *paths, const char *index_path,
                                  furrow_error *err) {
  fw_index_stamp stamp;
  bool opened = false;
  const bool settled = fw_path_exists(paths->settled);
  if (!settled && !fw_path_exists(paths->staged)) return fail_without(err, index_path);
  FW_TRY(fw_index_stamp_of_file(index_path, &stamp, err));
  FW_TRY(open_if_fits(names, paths->settled, &stamp, &opened, err));
  if (!opened) FW_TRY(open_if_fits(names, paths->staged, &stamp, &opened, err));
  if (opened) return FURROW_OK;
  if (!settled) return fail_without(err, index_path);
  FW_TRY(open_names(names, paths->settled, err));
  fw_id_names_clear(names);
  fw_fail(err, FURROW_E_FORMAT, "the names belong to another index, or to this one before it was changed");
  fw_error_set_file(err, paths->settled);
  fw_error_set_hint(err, "name the ids of the index again, or delete the file to do without names");
  return FURROW_E_FORMAT;
}

furrow_status furrow_id_names_load(furrow_id_names **names, const char *index_path, furrow_error *err) {
  names_paths paths;
  void *memory = NULL;
  FW_TRY(find_paths(&paths, index_path, err));
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(furrow_id_names), err);
  if (status == FURROW_OK) status = open_fitting(memory, &paths, index_path, err);
  if (status == FURROW_OK)
    *names = memory;
  else
    fw_free(memory);
  forget_paths(&paths);
  return status;
}

/* ---- With its index ------------------------------------------------------------------------------------- */

furrow_status fw_id_names_load_if_there(furrow_id_names **names, const char *path, furrow_error *err) {
  const furrow_status status = furrow_id_names_load(names, path, err);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

/* The stamp shows that the names belong to the current file at the path. The watch shows whether that is the file that
 * was read; if not, names that do not match are a result of the replacement. */
furrow_status furrow_index_load_with_names(furrow_index **index, furrow_id_names **names, const char *path,
                                           const furrow_index_load_params *params, furrow_error *err) {
  furrow_path_watch *watch = NULL;
  furrow_index *loaded = NULL;
  furrow_id_names *found = NULL;
  FW_TRY(furrow_path_watch_begin(&watch, path, err));
  furrow_status status = furrow_index_load(&loaded, path, params, err);
  if (status == FURROW_OK) status = fw_id_names_load_if_there(&found, path, err);
  status = furrow_path_watch_end(watch, status, err);
  if (status == FURROW_OK) {
    *index = loaded;
    *names = found;
  } else {
    furrow_index_free(loaded);
    furrow_id_names_free(found);
  }
  return status;
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

/* Whether a names file exists; fails with E_EXISTS if it is another kind of file. */
static furrow_status check_kind(const char *path, bool *there, furrow_error *err) {
  fw_input *input = NULL;
  uint64_t size = 0;
  char magic[8] = "";
  size_t got = 0;
  *there = fw_path_exists(path);
  if (!*there) return FURROW_OK;
  FW_TRY(fw_open_regular(&input, &size, path, err));
  furrow_status status = fw_input_read_at(input, magic, sizeof magic, 0, &got, err);
  fw_input_close(input);
  if (status == FURROW_OK && memcmp(magic, FW_ID_NAMES_MAGIC, 8) != 0)
    status = fail_file(err, FURROW_E_EXISTS, path, "is in the way: it is not a file of names");
  return status;
}

static furrow_status rename_file(const char *from, const char *to, furrow_error *err) {
  if (rename(from, to) == 0) return FURROW_OK;
  fw_fail_errno(err, FURROW_E_IO, errno, "cannot be renamed");
  fw_error_set_file(err, from);
  return FURROW_E_IO;
}

/* Moves names that an earlier save left staged to their place if they belong to the current index, so that they are not
 * lost when other names are staged. */
static furrow_status settle_earlier_names(const names_paths *paths, const char *index_path, furrow_error *err) {
  furrow_id_names names = {0};
  fw_index_stamp stamp;
  if (!fw_path_exists(paths->staged) || !fw_path_exists(index_path)) return FURROW_OK;
  FW_TRY(fw_index_stamp_of_file(index_path, &stamp, err));
  bool opened;
  FW_TRY(open_if_fits(&names, paths->staged, &stamp, &opened, err));
  if (!opened) return FURROW_OK;
  fw_id_names_clear(&names);
  return rename_file(paths->staged, paths->settled, err);
}

/* `first`: the file whose permissions the names get. */
static furrow_status write_names(const furrow_id_names *names, const char *path, const char *first,
                                 const fw_index_stamp *stamp, furrow_error *err) {
  unsigned char header[FW_ID_NAMES_HEADER];
  fw_atomic_file *file = NULL;
  memcpy(header, names->bytes, sizeof header);
  fw_put_le64(header + FW_ID_NAMES_AT_INDEX_SIZE, stamp->size);
  fw_put_le64(header + FW_ID_NAMES_AT_INDEX_DIGEST, stamp->digest);
  fw_put_le64(header + FW_ID_NAMES_AT_DIGEST, XXH3_64bits(header, FW_ID_NAMES_AT_DIGEST));
  FW_TRY(fw_atomic_file_open_beside(&file, path, first, err));
  furrow_status status = fw_atomic_file_write(file, header, sizeof header, err);
  if (status == FURROW_OK)
    status = fw_atomic_file_write(file, names->bytes + sizeof header, names->size - sizeof header, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  return status;
}

static furrow_status unlink_if_there(const char *path) {
  return unlink(path) == 0 || errno == ENOENT ? FURROW_OK : FURROW_E_IO;
}

/* Prepares for an index with these names: writes them to PATH.names.new, with the permissions of the names that they
 * will replace, or else of the index. */
static furrow_status stage_names(const furrow_id_names *names, const names_paths *paths, const char *index_path,
                                 const fw_index_stamp *stamp, bool overwrite, furrow_error *err) {
  bool there = false;
  FW_TRY(check_kind(paths->settled, &there, err));
  if (there && !overwrite) return fail_file(err, FURROW_E_EXISTS, paths->settled, "exists already");
  FW_TRY(check_kind(paths->staged, &there, err));
  FW_TRY(settle_earlier_names(paths, index_path, err));
  if (unlink_if_there(paths->staged) != FURROW_OK) {
    fw_fail_errno(err, FURROW_E_IO, errno, "cannot be removed");
    fw_error_set_file(err, paths->staged);
    return FURROW_E_IO;
  }
  return write_names(names, paths->staged, fw_path_exists(paths->settled) ? paths->settled : index_path, stamp, err);
}

/* Prepares for an index without names: moves the old index's names to PATH.names.new. There, loading finds them as long
 * as the old index is in place; they do not match any other index. */
static furrow_status set_names_aside(const names_paths *paths, const char *index_path, furrow_error *err) {
  bool there = false;
  FW_TRY(check_kind(paths->staged, &there, err));
  if (there) FW_TRY(settle_earlier_names(paths, index_path, err));
  FW_TRY(check_kind(paths->settled, &there, err));
  if (!there) return FURROW_OK;
  FW_TRY(rename_file(paths->settled, paths->staged, err));
  if (fw_path_sync_names(paths->staged, err) == FURROW_OK) return FURROW_OK;
  (void)!rename(paths->staged, paths->settled);
  return fail_file(err, FURROW_E_IO, paths->settled, "cannot be moved aside: its directory cannot be synced to disk");
}

/* Call when the index is in place: moves the staged names to their place, or removes them if it has none. */
static furrow_status settle_names(const names_paths *paths, bool named, const char *index_path, furrow_error *err) {
  const furrow_status status =
      named ? rename_file(paths->staged, paths->settled, NULL) : unlink_if_there(paths->staged);
  if (status == FURROW_OK) return FURROW_OK;
  fw_fail_errno(err, status, errno,
                named ? "written, but the file of its names, .names.new, cannot be renamed to .names"
                      : "written, but the names of the index before it, .names.new, cannot be removed");
  fw_error_set_file(err, index_path);
  return status;
}

/* Call if the index was not written, or if it is in place but its directory was not synced. */
static void undo_staging(const names_paths *paths, bool named, const char *index_path) {
  (void)!settle_earlier_names(paths, index_path, NULL);
  if (named) unlink(paths->staged);
}

static furrow_status commit_both(fw_atomic_file *file, const furrow_id_names *names, const names_paths *paths,
                                 const char *index_path, const fw_index_stamp *stamp, bool overwrite,
                                 furrow_error *err) {
  FW_TRY(fw_atomic_file_lock_folder(file, err));
  FW_TRY(names ? stage_names(names, paths, index_path, stamp, overwrite, err)
               : set_names_aside(paths, index_path, err));
  const furrow_status status = fw_atomic_file_commit(file, err);
  if (status == FURROW_OK) return settle_names(paths, names, index_path, err);
  undo_staging(paths, names, index_path);
  return status;
}

furrow_status fw_id_names_commit(fw_atomic_file *file, const furrow_id_names *names, const char *path,
                                 const fw_index_stamp *stamp, bool overwrite, furrow_error *err) {
  names_paths paths;
  if (!names && (!overwrite || strcmp(path, "-") == 0)) return fw_atomic_file_commit(file, err);
  FW_TRY(find_paths(&paths, path, err));
  const furrow_status status = commit_both(file, names, &paths, path, stamp, overwrite, err);
  forget_paths(&paths);
  return status;
}

/* Locks the folder, so that these names cannot be combined with an index that another process saves. */
static furrow_status lock_folder(fw_target *folder, const char *index_path, furrow_error *err) {
  *folder = (fw_target){.directory = -1};
  FW_TRY(fw_target_find(folder, index_path, err));
  return fw_target_lock(folder, err);
}

furrow_status furrow_id_names_save(const furrow_id_names *names, const char *index_path, furrow_error *err) {
  fw_index_stamp stamp;
  fw_target folder;
  names_paths paths;
  FW_TRY(find_paths(&paths, index_path, err));
  furrow_status status = lock_folder(&folder, index_path, err);
  if (status == FURROW_OK) status = fw_index_stamp_of_file(index_path, &stamp, err);
  if (status == FURROW_OK) status = stage_names(names, &paths, index_path, &stamp, true, err);
  if (status == FURROW_OK) status = rename_file(paths.staged, paths.settled, err);
  fw_target_clear(&folder);
  forget_paths(&paths);
  return status;
}

static furrow_status discard_file(const char *path, bool there, furrow_error *err) {
  if (!there) return FURROW_OK;
  if (unlink(path) == 0) return fw_path_sync_names(path, err);
  fw_fail_errno(err, FURROW_E_IO, errno, "cannot be removed");
  fw_error_set_file(err, path);
  return FURROW_E_IO;
}

furrow_status furrow_id_names_discard(const char *index_path, furrow_error *err) {
  names_paths paths;
  fw_target folder;
  FW_TRY(find_paths(&paths, index_path, err));
  furrow_status status = lock_folder(&folder, index_path, err);
  bool settled = false, staged = false;
  if (status == FURROW_OK) status = check_kind(paths.settled, &settled, err);
  if (status == FURROW_OK) status = check_kind(paths.staged, &staged, err);
  if (status == FURROW_OK) status = discard_file(paths.settled, settled, err);
  if (status == FURROW_OK) status = discard_file(paths.staged, staged, err);
  fw_target_clear(&folder);
  forget_paths(&paths);
  return status;
}
