/* model/meta/meta_load.c: finds and reads the metadata file of a matrix folder. */
#include <string.h>
#include <sys/stat.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/file_system.h"
#include "io/input.h"
#include "model/meta/meta.h"

static furrow_status fail_at(furrow_error *err, furrow_status status, const char *path, const char *message) {
  fw_fail(err, status, "%s", message);
  fw_error_set_file(err, path);
  return status;
}

/* ---- Bytes ---- */

static furrow_status read_json_file(fw_meta_owner **owner, const char *bytes, size_t size, const char *file,
                                    furrow_error *err) {
  const int32_t length = (int32_t)fw_get_be32(bytes);
  if (length >= 0 && (uint64_t)length <= size - 4)
    return fw_meta_read_json(owner, bytes + 4, (size_t)length, file, err);
  fw_fail(err, FURROW_E_FORMAT, "the length of the JSON is %d, but %zu %s", length, size - 4,
          fw_plural(size - 4, "byte follows", "bytes follow"));
  if (err) err->offset = 0;
  fw_error_set_file(err, file);
  return FURROW_E_FORMAT;
}

/* The form is recognized by the name (psmeta) or by byte 4: JSON begins there, and for Angel 1.x it belongs to the
 * length of the matrix's name, which is smaller than a '{' there would make it. */
static furrow_status read_owner(fw_meta_owner **owner, const char *bytes, size_t size, const char *file,
                                furrow_error *err) {
  const char *slash = strrchr(file, '/');
  if (strncmp(slash ? slash + 1 : file, "psmeta", 6) == 0)
    return fw_meta_read_binary(owner, FURROW_META_PSMETA, bytes, size, file, err);
  if (size > 0 && bytes[0] == '{')
    return fail_at(err, FURROW_E_FORMAT, file, "the JSON has no length (4 bytes) in front of it");
  if (size < 5) return fail_at(err, FURROW_E_FORMAT, file, "the file is too short for metadata");
  if (memchr("{ \t\r\n", bytes[4], 5)) return read_json_file(owner, bytes, size, file, err);
  return fw_meta_read_binary(owner, FURROW_META_ANGEL1, bytes, size, file, err);
}

/* A server does not know the shape of the matrix, so the rows are taken from its partitions. */
static furrow_matrix_meta *finished(fw_meta_owner *owner) {
  furrow_matrix_meta *meta = &owner->meta;
  if (meta->origin != FURROW_META_PSMETA) return meta;
  meta->col = meta->block_col = meta->block_row = -1;
  for (size_t i = 0; i < meta->part_count; i++)
    if (meta->parts[i].end_row > meta->row) meta->row = meta->parts[i].end_row;
  return meta;
}

furrow_status furrow_matrix_meta_read(furrow_matrix_meta **meta, const void *bytes, size_t size, const char *name,
                                      furrow_error *err) {
  fw_meta_owner *owner = NULL;
  furrow_status status = read_owner(&owner, bytes, size, name ? name : "", err);
  if (status == FURROW_OK) *meta = finished(owner);
  return status;
}

/* ---- Files ---- */

/* The file's path and contents; may be zero-initialized. */
typedef struct meta_file {
  char *path, *bytes;
  size_t size;
} meta_file;

static void clear_file(meta_file *file) {
  fw_free(file->path);
  fw_free(file->bytes);
  *file = (meta_file){0};
}

static furrow_status read_bytes(meta_file *file, furrow_error *err) {
  struct stat info = {0};
  fw_input *input = NULL;
  /* a folder with this name is ignored, but a pipe or device counts as metadata, and reading it would block */
  if (fw_path_stat(file->path, &info, NULL) == FURROW_OK && !S_ISREG(info.st_mode))
    return fail_at(err, S_ISDIR(info.st_mode) ? FURROW_E_NOT_FOUND : FURROW_E_FORMAT, file->path,
                   "that is not a regular file");
  furrow_status status = fw_input_open(&input, file->path, err);
  if (status == FURROW_E_NOT_FOUND && lstat(file->path, &info) == 0)
    return fail_at(err, FURROW_E_IO, file->path, "a symbolic link that leads nowhere");
  if (status != FURROW_OK) return status;
  status = FW_ALLOC(&file->bytes, (size_t)info.st_size, err);
  if (status == FURROW_OK) status = fw_input_read_at(input, file->bytes, (size_t)info.st_size, 0, &file->size, err);
  fw_input_close(input);
  return status;
}

/* Fails with E_NOT_FOUND if the file does not exist. */
static furrow_status read_file(meta_file *file, const char *folder, const char *name, furrow_error *err) {
  meta_file made = {0};
  furrow_status status = fw_path_join(&made.path, folder, name, err);
  if (status == FURROW_OK) status = read_bytes(&made, err);
  if (status == FURROW_OK)
    *file = made;
  else
    clear_file(&made);
  return status;
}

static furrow_status load_file(fw_meta_owner **owner, const char *folder, const char *name, furrow_error *err) {
  meta_file file = {0};
  furrow_status status = read_file(&file, folder, name, err);
  if (status == FURROW_OK) status = read_owner(owner, file.bytes, file.size, file.path, err);
  clear_file(&file);
  return status;
}

static furrow_status fail_different(furrow_error *err, const char *folder) {
  fail_at(err, FURROW_E_FORMAT, folder, "ambiguous: _meta and meta differ");
  fw_error_set_hint(err, "name the metadata file to use");
  return FURROW_E_FORMAT;
}

/* Loads _meta or meta; E_NOT_FOUND if neither exists. */
static furrow_status load_either(fw_meta_owner **owner, const char *folder, furrow_error *err) {
  meta_file now = {0}, then = {0};
  furrow_status status = read_file(&now, folder, "_meta", err);
  if (status == FURROW_OK || status == FURROW_E_NOT_FOUND) {
    furrow_status other = read_file(&then, folder, "meta", err);
    if (other != FURROW_E_NOT_FOUND) status = other;
  }
  const bool both = now.path && then.path;
  if (status == FURROW_OK && both && (now.size != then.size || memcmp(now.bytes, then.bytes, now.size) != 0))
    status = fail_different(err, folder);
  const meta_file *file = now.path ? &now : &then;
  if (status == FURROW_OK) status = read_owner(owner, file->bytes, file->size, file->path, err);
  clear_file(&now);
  clear_file(&then);
  return status;
}

/* ---- Files of servers ---- */

/* psmeta.<server> files, sorted by name. */
typedef struct server_files {
  fw_dir_names list;
  char **paths;
  fw_meta_owner **owners;
} server_files;

bool fw_is_server_meta(void *user, const char *name) {
  (void)user;
  return strncmp(name, "psmeta.", 7) == 0 && name[7];
}

static void clear_servers(server_files *servers) {
  for (size_t i = 0; i < servers->list.count; i++) {
    if (servers->paths) fw_free(servers->paths[i]);
    if (servers->owners && servers->owners[i]) furrow_matrix_meta_free(&servers->owners[i]->meta);
  }
  fw_free(servers->paths);
  fw_free(servers->owners);
  fw_dir_names_clear(&servers->list);
}

static furrow_status read_servers(server_files *servers, const char *folder, furrow_error *err) {
  furrow_status status = FW_ALLOC_ZERO(&servers->paths, servers->list.count, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&servers->owners, servers->list.count, err);
  for (size_t i = 0; i < servers->list.count && status == FURROW_OK; i++) {
    meta_file file = {0};
    status = read_file(&file, folder, servers->list.names[i], err);
    if (status == FURROW_OK) status = read_owner(&servers->owners[i], file.bytes, file.size, file.path, err);
    servers->paths[i] = file.path;
    fw_free(file.bytes);
  }
  return status;
}

static furrow_status load_servers(fw_meta_owner **owner, const char *folder, furrow_error *err) {
  server_files servers = {0};
  furrow_status status = fw_dir_names_read(&servers.list, folder, fw_is_server_meta, NULL, err);
  const size_t count = servers.list.count;
  if (status == FURROW_OK && count == 0)
    status = fail_at(err, FURROW_E_NOT_FOUND, folder, "the folder has no metadata: neither _meta nor meta nor psmeta");
  if (status == FURROW_OK) status = read_servers(&servers, folder, err);
  if (status == FURROW_OK)
    status = fw_meta_merge(owner, servers.owners, (const char *const *)servers.paths, count, err);
  clear_servers(&servers);
  return status;
}

furrow_status furrow_matrix_meta_load(furrow_matrix_meta **meta, const char *folder, const char *name,
                                      furrow_error *err) {
  const char *path = folder;
  fw_meta_owner *owner = NULL;
  if (!folder || !folder[0]) return fw_fail(err, FURROW_E_ARGUMENT, "no folder of a matrix is given");
  furrow_status status = fw_path_to_read(&path, err);
  if (status != FURROW_OK) return status;
  if (name) {
    status = load_file(&owner, path, name, err);
  } else {
    status = load_either(&owner, path, err);
    if (status == FURROW_E_NOT_FOUND) status = load_file(&owner, path, "psmeta", err);
    if (status == FURROW_E_NOT_FOUND) status = load_servers(&owner, path, err);
  }
  if (status == FURROW_OK) *meta = finished(owner);
  return status;
}
