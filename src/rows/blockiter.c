/* rows/blockiter.c: a data set as one block in memory, or block by block from a cache file. */
#include "rows/blockiter.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/pool.h"
#include "io/fileset.h"
#include "io/input.h"
#include "io/process/process_stop.h"
#include "io/uri.h"
#include "rows/block/block_reader.h"
#include "rows/block/elements.h"
#include "rows/cache.h"
#include "rows/parser.h"
#include "rows/text/chunk.h"

struct furrow_blockiter {
  furrow_container *current;
  uint64_t num_col;
  furrow_parser_stats stats;
  bool has_block;
  furrow_rowblock block;
  furrow_parser *owner; /* keeps rows in memory alive; NULL: none */
  bool borrows;         /* the block is the caller's rows in memory */
  furrow_rowblock borrowed;
  furrow_status ended; /* FURROW_OK, or the status that every next returns until before_first */
  furrow_error why;

  /* Used with a cache. While a task runs, only the task uses reader, ahead and ahead_…; after waiting for the pool, the
   * caller may use them again. */
  fw_cache_reader *reader; /* NULL: all rows are in `current` */
  fw_pool *pool;           /* NULL: records are read on demand */
  furrow_container *ahead; /* the record after the current one */
  furrow_status ahead_status;
  furrow_error ahead_error;
};

/* ---- The source of a cache ------------------------------------------------------------------------------ */

/* Increased when the same text gives other rows than before, which makes older caches stale. */
#define ROWS_REVISION 1

static void stamp_number(XXH3_state_t *hash, uint64_t number) {
  unsigned char bytes[8];
  fw_put_le64(bytes, number);
  XXH3_64bits_update(hash, bytes, sizeof bytes);
}

/* Hashes the length first, so that "ab","c" and "a","bc" differ. */
static void stamp_string(XXH3_state_t *hash, const char *text) {
  size_t length = strlen(text);
  stamp_number(hash, length);
  XXH3_64bits_update(hash, text, length);
}

static void stamp_file(XXH3_state_t *hash, const fw_file *file) {
  char resolved[PATH_MAX];
  stamp_string(hash, realpath(file->path, resolved) ? resolved : file->path);
  stamp_number(hash, file->size);
  stamp_number(hash, (uint64_t)file->mtime_ns);
}

static void stamp_params(XXH3_state_t *hash, const furrow_parser_params *params) {
  stamp_string(hash, params->format);
  stamp_number(hash, params->part);
  stamp_number(hash, params->nparts);
  stamp_number(hash, params->on_bad == FURROW_ON_BAD_SKIP);
  stamp_number(hash, params->max_line_bytes ? params->max_line_bytes : FW_MAX_LINE_BYTES);
  stamp_string(hash, furrow_key_type_name(params->key_type));
  stamp_string(hash, furrow_value_type_name(params->value_type));
}

/* Computes one number from everything that the rows depend on; FW_CACHE_UNKNOWN_SOURCE if they come from a pipe or
 * from a file whose time of change is not known. */
static furrow_status source_stamp(const fw_uri *uri, const furrow_parser_params *params, uint64_t *stamp,
                                  furrow_error *err) {
  fw_fileset set = {0};
  furrow_status status = fw_fileset_open(&set, uri->paths, uri->npaths, err);
  if (status != FURROW_OK) return status;
  bool unknown = false;
  XXH3_state_t *hash = XXH3_createState();
  if (!hash) {
    status = fw_fail_memory(err, 576);
    goto done;
  }
  XXH3_64bits_reset(hash);
  stamp_number(hash, ROWS_REVISION);
  stamp_number(hash, set.nfiles);
  for (size_t i = 0; i < set.nfiles; i++) {
    unknown |= set.files[i].kind == FW_FILE_PIPE;
    unknown |= set.files[i].mtime_ns == 0 && !fw_path_is_local(set.files[i].path);
    stamp_file(hash, &set.files[i]);
  }
  stamp_number(hash, uri->nargs);
  for (size_t i = 0; i < uri->nargs; i++) {
    stamp_string(hash, uri->args[i].key);
    stamp_string(hash, uri->args[i].value);
  }
  stamp_params(hash, params);
  uint64_t digest = XXH3_64bits_digest(hash);
  if (digest == FW_CACHE_UNKNOWN_SOURCE) digest = 1;
  *stamp = unknown ? FW_CACHE_UNKNOWN_SOURCE : digest;
done:
  XXH3_freeState(hash);
  fw_fileset_clear(&set);
  return status;
}

/* ---- Parsing -------------------------------------------------------------------------------------------- */

/* The largest index + 1, limited to the largest number. */
static uint64_t columns_of(uint64_t features, uint64_t max_index) {
  if (features == 0) return 0;
  return max_index == UINT64_MAX ? UINT64_MAX : max_index + 1;
}

/* Passes every block of the data set to `take`. */
static furrow_status parse_all(furrow_parser *parser,
                               furrow_status (*take)(void *to, const furrow_rowblock *block, furrow_error *err),
                               void *to, furrow_parser_stats *stats, furrow_error *err) {
  const furrow_rowblock *block;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && (status = furrow_parser_next_block(parser, &block, err)) == FURROW_OK) {
    status = fw_parser_check_memory(parser, err);
    if (status == FURROW_OK) status = take(to, block, err);
    if (status == FURROW_OK) status = fw_check_stopped(err);
  }
  if (status != FURROW_END) return status;
  furrow_parser_get_stats(parser, stats);
  return FURROW_OK;
}

static furrow_status take_into_memory(void *to, const furrow_rowblock *block, furrow_error *err) {
  return furrow_container_push_block(to, block, err);
}

static furrow_status take_into_cache(void *to, const furrow_rowblock *block, furrow_error *err) {
  return fw_cache_writer_push_block(to, block, err);
}

static uint64_t columns_of_block(const furrow_rowblock *block) {
  const size_t begin = (size_t)block->offset[0], count = (size_t)(block->offset[block->size] - block->offset[0]);
  const char *index = block->index.any;
  return columns_of(
      count, count ? fw_largest_index(index + begin * furrow_key_size(block->key_type), block->key_type, count) : 0);
}

static furrow_status open_in_memory(furrow_blockiter *iter, const fw_uri *uri, const furrow_parser_params *params,
                                    furrow_error *err) {
  furrow_parser *parser = NULL;
  FW_TRY(fw_parser_open(&parser, uri, params, err));
  iter->borrows = fw_parser_whole(parser, &iter->borrowed);
  if (iter->borrows) { /* rows in memory are not copied */
    iter->owner = parser;
    iter->num_col = columns_of_block(&iter->borrowed);
    furrow_parser_get_stats(parser, &iter->stats);
    return FURROW_OK;
  }
  const furrow_status status = parse_all(parser, take_into_memory, iter->current, &iter->stats, err);
  furrow_parser_close(parser);
  if (status == FURROW_OK) iter->num_col = columns_of(iter->current->features, iter->current->max_index);
  return status;
}

/* ---- The cache ------------------------------------------------------------------------------------------ */

static furrow_status cache_name(char **name, const char *cachefile, const furrow_parser_params *params,
                                furrow_error *err) {
  char suffix[48] = "";
  if (params->nparts > 1) snprintf(suffix, sizeof suffix, ".split%u.part%u", params->nparts, params->part);
  size_t length = strlen(cachefile), bytes = length + strlen(suffix) + 1;
  FW_TRY(FW_ALLOC(name, bytes, err));
  memcpy(*name, cachefile, length);
  memcpy(*name + length, suffix, bytes - length);
  return FURROW_OK;
}

static bool is_absent(const char *path) {
  struct stat st;
  return lstat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Adds a hint on what to do about a cache that cannot be used, unless the error has a hint already. */
static void add_hint(furrow_error *err, furrow_status status) {
  if (!err || err->hint[0] || (status != FURROW_E_FORMAT && status != FURROW_E_STALE)) return;
  fw_error_set_hint(err, "delete the cache or name another one");
}

__attribute__((format(printf, 3, 4))) static furrow_status fail_stale(furrow_error *err, const char *name,
                                                                      const char *format, ...) {
  char text[192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  furrow_status status = fw_fail(err, FURROW_E_STALE, "%s", text);
  fw_error_set_file(err, name);
  add_hint(err, status);
  return status;
}

/* Checks that an existing cache holds the requested data. */
static furrow_status check_source(const fw_cache_info *info, const furrow_parser_params *params, uint64_t stamp,
                                  const char *name, furrow_error *err) {
  if (info->key_type != params->key_type || info->value_type != params->value_type) {
    return fail_stale(err, name, "the row cache holds %s/%s rows, but %s/%s are requested",
                      furrow_key_type_name(info->key_type), furrow_value_type_name(info->value_type),
                      furrow_key_type_name(params->key_type), furrow_value_type_name(params->value_type));
  }
  if (info->stamp == FW_CACHE_UNKNOWN_SOURCE || stamp == FW_CACHE_UNKNOWN_SOURCE) {
    return fail_stale(err, name, "it is not known whether the row cache was made from this data");
  }
  if (info->stamp != stamp) {
    return fail_stale(err, name, "the row cache was made from other files, arguments or part, or they have changed");
  }
  return FURROW_OK;
}

/* The source that a cache file is built from. */
typedef struct cache_source {
  const fw_uri *uri;
  const furrow_parser_params *params;
  uint64_t stamp;
} cache_source;

/* Fails with E_STALE and `message` if the source has changed since its stamp was computed. */
static furrow_status check_unchanged(const cache_source *source, const char *name, const char *message,
                                     furrow_error *err) {
  uint64_t now;
  furrow_status status = source_stamp(source->uri, source->params, &now, err);
  if (status != FURROW_OK || now == source->stamp) return status;
  status = fw_fail(err, FURROW_E_STALE, "%s", message);
  fw_error_set_file(err, name);
  return status;
}

/* E_EXISTS: another process has made the cache in the meantime. */
static furrow_status build_cache(const cache_source *source, const char *name, size_t record_bytes,
                                 furrow_parser_stats *stats, furrow_error *err) {
  const furrow_parser_params *params = source->params;
  fw_cache_writer *writer = NULL;
  furrow_parser *parser = NULL;
  furrow_status status =
      fw_cache_writer_open(&writer, name, params->key_type, params->value_type, source->stamp, record_bytes, err);
  if (status == FURROW_OK) fw_cache_writer_keep_existing(writer);
  if (status == FURROW_OK) status = fw_parser_open(&parser, source->uri, params, err);
  if (status == FURROW_OK) status = parse_all(parser, take_into_cache, writer, stats, err);
  furrow_parser_close(parser);
  if (status == FURROW_OK) {
    status = check_unchanged(source, name, "the files changed while the row cache was made from them", err);
  }
  if (status == FURROW_OK) status = fw_cache_writer_commit(writer, err);
  fw_cache_writer_close(writer);
  if (status != FURROW_OK) return status;
  status = check_unchanged(source, name, "the row cache would lie among the files it is made from", err);
  if (status != FURROW_OK) unlink(name); /* it could never be used */
  return status;
}

static void read_ahead(void *context) {
  furrow_blockiter *iter = context;
  iter->ahead_status = fw_cache_reader_next(iter->reader, iter->ahead, &iter->ahead_error);
  add_hint(&iter->ahead_error, iter->ahead_status);
}

static furrow_status start_ahead(furrow_blockiter *iter, furrow_error *err) {
  return iter->pool ? fw_pool_submit(iter->pool, read_ahead, iter, err) : FURROW_OK;
}

/* Makes `ahead` and its status the current ones. */
static void finish_ahead(furrow_blockiter *iter) {
  if (iter->pool) {
    fw_pool_wait(iter->pool);
  } else {
    read_ahead(iter);
  }
}

/* Opens the cache; makes it first if it does not exist. */
static furrow_status open_cache(furrow_blockiter *iter, cache_source *source, size_t record_bytes, furrow_error *err) {
  char *name = NULL;
  furrow_status status = cache_name(&name, source->uri->cachefile, source->params, err);
  if (status != FURROW_OK) return status;
  status = source_stamp(source->uri, source->params, &source->stamp, err);
  bool found = !is_absent(name);
  if (status == FURROW_OK && !found) status = build_cache(source, name, record_bytes, &iter->stats, err);
  if (status == FURROW_E_EXISTS) {
    furrow_parser_stats_init(&iter->stats);
    found = true; /* it may hold other data */
    status = FURROW_OK;
  }
  if (status == FURROW_OK) {
    status = fw_cache_reader_open(&iter->reader, name, err);
    add_hint(err, status);
  }
  if (status == FURROW_OK && found) {
    const fw_cache_info *info = fw_cache_reader_info(iter->reader);
    status = check_source(info, source->params, source->stamp, name, err);
    iter->stats.rows = info->rows;
    iter->stats.features = info->features;
  }
  fw_free(name);
  return status;
}

static furrow_status open_cached(furrow_blockiter *iter, cache_source *source, size_t record_bytes, furrow_error *err) {
  furrow_status status = open_cache(iter, source, record_bytes, err);
  if (status != FURROW_OK) return status;
  const fw_cache_info *info = fw_cache_reader_info(iter->reader);
  iter->num_col = columns_of(info->features, info->max_index);
  status = furrow_container_create(&iter->ahead, info->key_type, info->value_type, err);
  if (status == FURROW_OK && source->params->threads != 1) status = fw_pool_create(&iter->pool, 1, err);
  if (status == FURROW_OK) status = start_ahead(iter, err);
  return status;
}

/* ---- The iterator --------------------------------------------------------------------------------------- */

static furrow_status check_params(const furrow_parser_params *params, furrow_error *err) {
  if (params->nparts == 0 || params->part >= params->nparts) {
    return fw_fail(err, FURROW_E_ARGUMENT, "part %u of %u: part must be below nparts", params->part, params->nparts);
  }
  return FURROW_OK;
}

furrow_status fw_blockiter_open(furrow_blockiter **iter, const fw_uri *uri, const furrow_parser_params *params,
                                size_t record_bytes, furrow_error *err) {
  furrow_parser_params chosen;
  furrow_parser_params_init(&chosen);
  FW_TRY(FW_PARAMS_READ(&chosen, params, furrow_parser_params, err));
  if (!chosen.format) chosen.format = "auto";
  FW_TRY(check_params(&chosen, err));
  furrow_blockiter *it = NULL;
  FW_TRY(FW_ALLOC_ZERO(&it, 1, err));
  furrow_parser_stats_init(&it->stats);
  furrow_status status = furrow_container_create(&it->current, chosen.key_type, chosen.value_type, err);
  if (status == FURROW_OK && uri->cachefile) {
    cache_source source = {.uri = uri, .params = &chosen};
    status = open_cached(it, &source, record_bytes, err);
  } else if (status == FURROW_OK) {
    status = open_in_memory(it, uri, &chosen, err);
  }
  return FW_HAND_OVER(status, iter, it, furrow_blockiter_close);
}

furrow_status furrow_blockiter_open(furrow_blockiter **iter, const char *uri, const furrow_parser_params *params,
                                    furrow_error *err) {
  fw_uri parsed = {0};
  FW_TRY(fw_uri_parse(&parsed, uri, err));
  const furrow_status status = fw_blockiter_open(iter, &parsed, params, 0, err);
  fw_uri_clear(&parsed);
  return status;
}

void furrow_blockiter_close(furrow_blockiter *iter) {
  if (!iter) return;
  fw_pool_free(iter->pool); /* freed first, because its task uses the other members */
  fw_cache_reader_close(iter->reader);
  furrow_parser_close(iter->owner);
  furrow_container_free(iter->ahead);
  furrow_container_free(iter->current);
  fw_free(iter);
}

/* Ends the iteration with END or an error, which every later next repeats. */
static furrow_status end_with(furrow_blockiter *iter, furrow_status status, const furrow_error *why,
                              furrow_error *err) {
  iter->ended = status;
  iter->has_block = false;
  if (status == FURROW_END) return status;
  if (why != &iter->why) iter->why = *why;
  if (err) *err = iter->why;
  return status;
}

static furrow_status next_record(furrow_blockiter *iter, furrow_error *err) {
  finish_ahead(iter);
  if (iter->ahead_status != FURROW_OK) return end_with(iter, iter->ahead_status, &iter->ahead_error, err);
  furrow_container *record = iter->ahead;
  iter->ahead = iter->current;
  iter->current = record;
  furrow_status status = start_ahead(iter, &iter->why);
  return status == FURROW_OK ? status : end_with(iter, status, &iter->why, err);
}

furrow_status furrow_blockiter_next(furrow_blockiter *iter, furrow_error *err) {
  if (iter->ended != FURROW_OK) return end_with(iter, iter->ended, &iter->why, err);
  if (iter->reader) {
    FW_TRY(next_record(iter, err));
  } else if (iter->has_block) {
    return end_with(iter, FURROW_END, &iter->why, err);
  }
  iter->block = iter->borrows ? iter->borrowed : fw_container_block(iter->current);
  iter->has_block = true;
  return FURROW_OK;
}

const furrow_rowblock *furrow_blockiter_value(const furrow_blockiter *iter) {
  return iter->has_block ? &iter->block : NULL;
}

furrow_status furrow_blockiter_next_block(furrow_blockiter *iter, const furrow_rowblock **block, furrow_error *err) {
  FW_TRY(furrow_blockiter_next(iter, err));
  *block = &iter->block;
  return FURROW_OK;
}

furrow_status furrow_blockiter_rewind(furrow_blockiter *iter, furrow_error *err) {
  iter->has_block = false;
  iter->ended = FURROW_OK;
  if (!iter->reader) return FURROW_OK;
  if (iter->pool) fw_pool_wait(iter->pool);
  fw_cache_reader_rewind(iter->reader);
  furrow_status status = start_ahead(iter, &iter->why);
  return status == FURROW_OK ? status : end_with(iter, status, &iter->why, err);
}

uint64_t furrow_blockiter_num_col(const furrow_blockiter *iter) {
  return iter->num_col;
}

void furrow_blockiter_get_stats(const furrow_blockiter *iter, furrow_parser_stats *stats) {
  fw_info_write(stats, &iter->stats, sizeof iter->stats);
}
