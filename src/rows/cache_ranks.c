/* rows/cache_ranks.c: a row cache that several ranks write.
 *
 * Where a record ends depends on all rows before it, so the parts' bytes cannot simply be concatenated. The ranks
 * parse in parallel and keep their rows in caches of their own; the first rank copies the columns of all of them
 * into one file. */
#include "rows/cache.h"

#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/target.h"

/* Picks a unique hidden name in the directory of the file. */
static furrow_status name_part(fw_cache_part *part, furrow_error *err) {
  fw_target target = {.directory = -1};
  fw_buffer path = {0};
  size_t size = 0;
  furrow_status status = fw_target_find(&target, part->path, err);
  if (status == FURROW_OK) {
    fw_target_pick_name(&target, part->comm->rank);
    fw_buffer_append(&path, target.resolved, (size_t)(target.name - target.resolved));
    fw_buffer_append(&path, target.temporary, strlen(target.temporary) + 1);
    status = fw_buffer_take(&path, &part->part, &size, err);
  }
  fw_buffer_clear(&path);
  fw_target_clear(&target);
  return status;
}

furrow_status fw_cache_part_open(fw_cache_part *part, const char *path, const furrow_rows_writer_params *params,
                                 fw_cache_writer **writer, furrow_error *err) {
  part->comm = params->comm;
  part->overwrite = params->overwrite;
  FW_TRY(fw_strndup(&part->path, path, strlen(path), err));
  FW_TRY(name_part(part, err));
  return fw_cache_writer_open(writer, part->part, params->key_type, params->value_type, FW_CACHE_UNKNOWN_SOURCE, 0,
                              err);
}

/* ---- The first rank ---- */

static furrow_status add_part(fw_cache_writer *whole, const char *path, furrow_error *err) {
  fw_cache_reader *reader = NULL;
  furrow_container *rows = NULL;
  furrow_status status = fw_cache_reader_open(&reader, path, err);
  if (status != FURROW_OK) {
    fw_error_set_hint(err, "all ranks must see the same directory");
    return status;
  }
  const fw_cache_info *info = fw_cache_reader_info(reader);
  status = furrow_container_create(&rows, info->key_type, info->value_type, err);
  while (status == FURROW_OK && (status = fw_cache_reader_next(reader, rows, err)) == FURROW_OK) {
    const furrow_rowblock block = fw_container_block(rows);
    status = fw_cache_writer_push_block(whole, &block, err);
  }
  furrow_container_free(rows);
  fw_cache_reader_close(reader);
  return status == FURROW_END ? FURROW_OK : status;
}

/* `parts`: the paths of the ranks' caches, each terminated by a 0. */
static furrow_status join_parts(fw_cache_part *part, const fw_cache_info *info, const char *parts,
                                fw_atomic_file **file, furrow_error *err) {
  FW_TRY(fw_cache_writer_open(&part->whole, part->path, info->key_type, info->value_type, FW_CACHE_UNKNOWN_SOURCE, 0,
                              err));
  if (!part->overwrite) fw_cache_writer_keep_existing(part->whole);
  for (unsigned r = 0; r < part->comm->ranks; r++, parts += strlen(parts) + 1)
    FW_TRY(add_part(part->whole, parts, err));
  return fw_cache_writer_complete(part->whole, file, err);
}

furrow_status fw_cache_part_complete(fw_cache_part *part, fw_cache_writer *writer, fw_atomic_file **file,
                                     furrow_error *err) {
  const furrow_comm *comm = part->comm;
  void *paths = NULL;
  size_t bytes = 0;
  furrow_status status = fw_cache_writer_commit(writer, err);
  part->complete = status == FURROW_OK;
  FW_TRY(fw_comm_all_ok(comm, status, err));
  FW_TRY(fw_comm_gather_all(comm, part->part, strlen(part->part) + 1, &paths, &bytes, NULL, err));
  if (fw_comm_is_first(comm)) status = join_parts(part, fw_cache_writer_info(writer), paths, file, err);
  fw_free(paths);
  return fw_comm_all_ok(comm, status, err);
}

void fw_cache_part_clear(fw_cache_part *part) {
  if (part->complete) unlink(part->part);
  fw_cache_writer_close(part->whole);
  fw_free(part->path);
  fw_free(part->part);
  *part = (fw_cache_part){0};
}
