/* learn/data/samples.c: the data behind a feed: one block in memory, or passes over files. */
#include "learn/data/samples.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/uri.h"
#include "rows/block_reader.h"

struct fw_samples {
  char *uri; /* with the arguments that the conf asks for */
  char *name;
  char *format;
  int index_base; /* see fw_samples_index_base */
  bool cached;
  furrow_parser_params params;
  furrow_blockiter *iter;      /* in memory without a cache: owns the block */
  furrow_container *container; /* in memory from a cache: so does this */
  furrow_rowblock block;
  furrow_parser_stats stats; /* in memory: of the loading */
  bool in_memory;
};

struct fw_sample_pass {
  furrow_parser *parser;
  furrow_blockiter *iter; /* with a cache */
};

/* ---- The URI -------------------------------------------------------------------------------------------- */

static bool has_index_base(const char *format) {
  return strcmp(format, "libsvm") == 0 || strcmp(format, "libffm") == 0 || strcmp(format, "libfm") == 0;
}

/* The format that the parser will use, to be freed with fw_free. */
static furrow_status find_format(char **format, const fw_samples *samples, const char *uri, const char *given,
                                 furrow_error *err) {
  furrow_parser *parser = NULL;
  if (fw_memory_rows_in_uri(uri)) given = fw_format_memory.name; /* whatever the conf says of files */
  if (strcmp(given, "auto") != 0) return fw_strndup(format, given, strlen(given), err);
  furrow_status status = furrow_parser_open(&parser, uri, &samples->params, err);
  if (status == FURROW_OK) {
    const char *found = furrow_parser_format(parser);
    status = fw_strndup(format, found, strlen(found), err);
  }
  furrow_parser_close(parser);
  return status;
}

/* The URI with indexing_mode, unless it says that itself. */
static furrow_status add_index_base(char **changed, const char *uri, int base, furrow_error *err) {
  const char *end = strchr(uri, '#');
  const size_t head = end ? (size_t)(end - uri) : strlen(uri);
  fw_buffer text = {0};
  fw_buffer_append(&text, uri, head);
  fw_buffer_text(&text, memchr(uri, '?', head) ? "&indexing_mode=" : "?indexing_mode=");
  fw_buffer_i64(&text, base);
  fw_buffer_text(&text, uri + head);
  furrow_status status = fw_buffer_take(&text, changed, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

/* Which index is the first in the data, that of all ranks. */
static furrow_status find_index_base(int *base, const fw_samples *samples, const char *uri, furrow_error *err) {
  furrow_parser *parser = NULL;
  furrow_status status = furrow_parser_open(&parser, uri, &samples->params, err);
  if (status == FURROW_OK) status = furrow_parser_next(parser, err);
  if (status == FURROW_END) status = FURROW_OK;
  if (status == FURROW_OK) *base = (int)furrow_parser_index_base(parser);
  furrow_parser_close(parser);
  return status;
}

/* The URI with the base of the conf, or with the one that is found; what the URI says itself comes first. */
static furrow_status settle_index_base(fw_samples *samples, const char *uri, bool said, int base, furrow_error *err) {
  char *text = NULL;
  furrow_status status = FURROW_OK;
  if (base < 0) {
    if (!said) status = add_index_base(&text, uri, base, err);
    if (status == FURROW_OK) status = find_index_base(&samples->index_base, samples, said ? uri : text, err);
    fw_free(text);
    base = samples->index_base;
  }
  if (status != FURROW_OK) return status;
  return said ? fw_strndup(&samples->uri, uri, strlen(uri), err) : add_index_base(&samples->uri, uri, base, err);
}

static furrow_status complete_uri(fw_samples *samples, const char *uri, const fw_data_conf *data, furrow_error *err) {
  fw_uri parsed = {0};
  furrow_status status = fw_uri_parse(&parsed, uri, err);
  if (status != FURROW_OK) return status;
  const char *given = fw_uri_arg_value(&parsed, "format");
  if (!given) given = samples->params.format;
  samples->cached = parsed.cachefile != NULL;
  status = fw_strndup(&samples->name, parsed.paths[0], strlen(parsed.paths[0]), err);
  if (status == FURROW_OK) status = find_format(&samples->format, samples, uri, given, err);
  if (status == FURROW_OK && has_index_base(samples->format)) {
    const bool said = fw_uri_arg_value(&parsed, "indexing_mode") != NULL;
    status = settle_index_base(samples, uri, said, data->index_base, err);
  } else if (status == FURROW_OK) {
    status = fw_strndup(&samples->uri, uri, strlen(uri), err);
  }
  if (status == FURROW_OK) samples->params.format = samples->format;
  fw_uri_clear(&parsed);
  return status;
}

/* What to do about an index that is 0 or too large, behind the message. */
static furrow_status advise(furrow_status status, furrow_error *err) {
  if (status != FURROW_E_RANGE || !err) return status;
  char *large = strstr(err->message, " (--index u64"); /* of the commands of rows */
  const char *advice = large ? "; a model-type of T_FLOAT_SPARSE_LONGKEY takes it"
                       : strstr(err->message, "is 0 in data that counts from 1")
                           ? "; index-base 0 reads data that counts from 0"
                           : "";
  if (large) *large = 0;
  const size_t used = strlen(err->message);
  snprintf(err->message + used, sizeof err->message - used, "%s", advice);
  return status;
}

/* ---- In memory ------------------------------------------------------------------------------------------ */

static furrow_status load_cached(fw_samples *samples, furrow_error *err) {
  furrow_status status =
      furrow_container_create(&samples->container, samples->params.key_type, samples->params.value_type, err);
  while (status == FURROW_OK && (status = furrow_blockiter_next(samples->iter, err)) == FURROW_OK)
    status = furrow_container_push_block(samples->container, furrow_blockiter_value(samples->iter), err);
  if (status == FURROW_END) status = furrow_container_get_block(samples->container, &samples->block, err);
  furrow_blockiter_get_stats(samples->iter, &samples->stats);
  furrow_blockiter_close(samples->iter);
  samples->iter = NULL;
  return status;
}

static furrow_status load(fw_samples *samples, furrow_error *err) {
  furrow_status status = furrow_blockiter_open(&samples->iter, samples->uri, &samples->params, err);
  if (status != FURROW_OK) return advise(status, err);
  samples->in_memory = true;
  if (samples->cached) return load_cached(samples, err);
  status = furrow_blockiter_next(samples->iter, err);
  if (status == FURROW_OK) samples->block = *furrow_blockiter_value(samples->iter);
  furrow_blockiter_get_stats(samples->iter, &samples->stats);
  return status == FURROW_END ? FURROW_OK : status;
}

furrow_status fw_samples_open(fw_samples **samples, const char *uri, const fw_data_conf *data,
                              const furrow_parser_params *params, bool stream, const fw_comm *comm, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **samples, err);
  if (status != FURROW_OK) return status;
  fw_samples *s = memory;
  furrow_parser_stats_init(&s->stats);
  furrow_parser_params *p = &s->params;
  furrow_parser_params_init(p);
  status = FW_PARAMS_READ(p, params, furrow_parser_params, err);
  s->index_base = -1;
  if (!p->format || strcmp(p->format, "auto") == 0) p->format = data->format;
  if (data->long_keys) p->key_type = FURROW_KEY_U64;
  p->part = p->part * comm->size + comm->rank;
  p->nparts *= comm->size;
  if (status == FURROW_OK) status = advise(complete_uri(s, uri, data, err), err);
  if (status == FURROW_OK && !stream) status = load(s, err);
  if (status == FURROW_OK) {
    *samples = s;
  } else {
    fw_samples_close(s);
  }
  return status;
}

void fw_samples_close(fw_samples *samples) {
  if (!samples) return;
  furrow_blockiter_close(samples->iter);
  furrow_container_free(samples->container);
  fw_free(samples->uri);
  fw_free(samples->name);
  fw_free(samples->format);
  fw_free(samples);
}

const furrow_rowblock *fw_samples_block(const fw_samples *samples) {
  return samples->in_memory ? &samples->block : NULL;
}

int fw_samples_index_base(const fw_samples *samples) {
  return samples->index_base;
}

const char *fw_samples_name(const fw_samples *samples) {
  return samples->name;
}

const char *fw_samples_format(const fw_samples *samples) {
  return samples->format;
}

void fw_samples_get_stats(const fw_samples *samples, furrow_parser_stats *stats) {
  fw_info_write(stats, &samples->stats, sizeof samples->stats);
}

/* ---- Passes --------------------------------------------------------------------------------------------- */

furrow_status fw_sample_pass_open(fw_sample_pass **pass, const fw_samples *samples, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **pass, err);
  if (status != FURROW_OK) return status;
  fw_sample_pass *p = memory;
  if (samples->cached) {
    status = furrow_blockiter_open(&p->iter, samples->uri, &samples->params, err);
  } else {
    status = furrow_parser_open(&p->parser, samples->uri, &samples->params, err);
  }
  if (status == FURROW_OK) {
    *pass = p;
  } else {
    fw_sample_pass_close(p);
  }
  return advise(status, err);
}

void fw_sample_pass_close(fw_sample_pass *pass) {
  if (!pass) return;
  furrow_parser_close(pass->parser);
  furrow_blockiter_close(pass->iter);
  fw_free(pass);
}

furrow_status fw_sample_pass_next(fw_sample_pass *pass, const furrow_rowblock **block, furrow_error *err) {
  furrow_status status = pass->iter ? furrow_blockiter_next(pass->iter, err) : furrow_parser_next(pass->parser, err);
  if (status == FURROW_OK) *block = pass->iter ? furrow_blockiter_value(pass->iter) : furrow_parser_value(pass->parser);
  return advise(status, err);
}

void fw_sample_pass_get_stats(const fw_sample_pass *pass, furrow_parser_stats *stats) {
  if (pass->iter)
    furrow_blockiter_get_stats(pass->iter, stats);
  else
    furrow_parser_get_stats(pass->parser, stats);
}

furrow_status fw_sample_pass_rewind(fw_sample_pass *pass, furrow_error *err) {
  return pass->iter ? furrow_blockiter_rewind(pass->iter, err) : furrow_parser_rewind(pass->parser, err);
}
