/* cli/rows/rows_source.c: how the rows commands read rows, and the options for it. */
#include "rows/rows_source.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/ranks.h"
#include "core/shown_text.h"

/* ---- Options -------------------------------------------------------------------------------------------- */

static furrow_status parse_part(const char *text, void *field, furrow_error *err) {
  char first[16];
  const char *slash = strchr(text, '/');
  size_t n = slash ? (size_t)(slash - text) : sizeof first;
  uint64_t part, nparts;
  if (n >= sizeof first) return fail_token(err, text, "--part takes I/N, such as 0/4");
  memcpy(first, text, n);
  first[n] = 0;
  if (!read_u64(first, &part) || !read_u64(slash + 1, &nparts))
    return fail_token(err, text, "--part takes I/N, such as 0/4");
  if (nparts == 0 || nparts > UINT32_MAX)
    return fail_token(err, text, "--part I/N takes an N between 1 and 4294967295");
  if (part >= nparts)
    return fail_token(err, text, "parts count from 0: the last of %" PRIu64 " is %" PRIu64, nparts, nparts - 1);
  *(part_of *)field = (part_of){(uint32_t)part, (uint32_t)nparts};
  return FURROW_OK;
}

#define AT(field) offsetof(source_values, field)
const option source_options[] = {
    {.name = "format",
     .kind = OPTION_TEXT,
     .argument = "F",
     .choices = "auto|libsvm|libfm|libffm|csv|dummy|dense|cache",
     .help = "format of the text (auto: recognise it); 'furrow rows --help' lists the formats",
     .offset = AT(format)},
    {.name = "part",
     .kind = OPTION_PARSED,
     .argument = "I/N",
     .help = "read part I (from 0) of N; each row belongs to exactly one part",
     .offset = AT(part),
     .parse = parse_part},
    {.name = "index",
     .kind = OPTION_ENUM,
     .choices = "u32|u64",
     .help = "type of indices and fields (u32)",
     .offset = AT(index)},
    {.name = "value",
     .kind = OPTION_ENUM,
     .choices = "f32|i32|i64",
     .help = "type of values and labels (f32)",
     .offset = AT(value)},
    ON_BAD_OPTION(AT(on_bad)),
    THREADS_OPTION(AT(threads), ""),
    {.name = "chunk",
     .kind = OPTION_BYTES,
     .argument = "BYTES",
     .help = "bytes of text per block, such as 64KiB or 8MiB",
     .offset = AT(chunk)},
    {.name = "max-line",
     .kind = OPTION_BYTES,
     .argument = "BYTES",
     .help = "how far a line may reach past the end of its block (128MiB)",
     .offset = AT(max_line)},
    {.name = "api",
     .kind = OPTION_ENUM,
     .choices = "parser|iter",
     .help = "read block by block (parser), or load all rows into memory first (iter)",
     .offset = AT(api)},
    QUIET_OPTION(AT(quiet)),
    {0}};
#undef AT

void source_values_init(source_values *values) {
  *values = (source_values){.format = "auto", .part = {0, 1}};
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

bool source_is_stdin(const char *uri) {
  size_t n = strcspn(uri, ";?#");
  return (n == 1 && uri[0] == '-') || (n == 5 && memcmp(uri, "stdin", 5) == 0);
}

furrow_status source_divide(source_values *values, const char *uri, furrow_error *err) {
  if (ranks_count() == 1) return FURROW_OK;
  if (source_is_stdin(uri)) {
    fail(err, FURROW_E_ARGUMENT, "standard input cannot be divided among %u ranks", ranks_count());
    return add_hint(err, "write it to a file that all ranks see, or start one process");
  }
  if (values->part.nparts > 1)
    return fail(err, FURROW_E_ARGUMENT, "--part cannot be used with %u ranks, each of which reads its own part",
                ranks_count());
  values->part = (part_of){ranks_number(), ranks_count()};
  values->divided = true;
  return furrow_rows_compare_files(uri, ranks_comm(), err);
}

/* A file that 'convert --to cache' wrote begins with this (docs/formats/row_cache.md). */
bool source_is_cache(const char *uri) {
  static const char magic[] = "FURROWRC";
  char head[sizeof magic - 1];
  struct stat found;
  /* opening and closing a pipe would lose the data that its writer writes in between */
  if (source_is_stdin(uri) || stat(uri, &found) != 0 || !S_ISREG(found.st_mode)) return false;
  int fd = open(uri, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = pread(fd, head, sizeof head, 0);
  close(fd);
  return n == (ssize_t)sizeof head && memcmp(head, magic, sizeof head) == 0;
}

/* The size of a compressed file cannot be compared with the bytes of text read. */
static bool looks_compressed(const char *uri) {
  return strstr(uri, ".gz") || strstr(uri, ".zst");
}

static void params_from(furrow_parser_params *params, const source_values *values) {
  furrow_parser_params_init(params);
  params->format = values->format;
  params->part = values->part.part;
  params->nparts = values->part.nparts;
  params->key_type = values->index;
  params->value_type = values->value;
  params->threads = values->threads;
  params->on_bad = values->on_bad;
  params->chunk_bytes = values->chunk;
  params->max_line_bytes = values->max_line;
  params->whole_chunks = values->whole_chunks && values->divided;
}

static furrow_status open_container(source *s, furrow_error *err) {
  if (s->values->part.nparts != 1 && !s->values->divided)
    return fail(err, FURROW_E_ARGUMENT, "a row cache cannot be read in parts");
  furrow_status status = furrow_container_create(&s->container, s->values->index, s->values->value, err);
  if (status == FURROW_OK) status = furrow_container_load(s->container, s->uri, err);
  if (status == FURROW_OK) status = furrow_container_get_block(s->container, &s->container_block, err);
  return status;
}

static void start_progress(source *s, uint64_t total) {
  const bool wanted = !s->values->quiet && !s->values->no_progress && ranks_number() == 0;
  progress_start(&s->progress, wanted, "reading", total);
}

/* Names the option for an index or a field of more than 32 bits, where the library advises keys of another type. Its
 * hints about other numbers stay. */
static void add_key_hint(furrow_status status, furrow_error *err) {
  if (status == FURROW_E_RANGE && strstr(err->hint, "keys of type u64"))
    add_hint(err, "--index u64 reads larger indices and fields");
}

/* The iterator does not name the format; a second parser, which reads no row, does. */
static furrow_status open_iter(source *s, furrow_parser_params *params, furrow_error *err) {
  furrow_status status = furrow_blockiter_open(&s->iter, s->uri, params, err);
  add_key_hint(status, err);
  if (status != FURROW_OK || source_is_stdin(s->uri)) return status;
  params->threads = 1;
  return furrow_parser_open(&s->parser, s->uri, params, err);
}

bool cache_guard_begin(const char *uri) {
  return strchr(uri, '#') && interrupt_catch();
}

furrow_status cache_guard_end(bool guarded, furrow_status status, furrow_error *err) {
  interrupt_release(guarded, status); /* if all went well, the cache is complete: nothing to report */
  return status == FURROW_OK ? interrupt_check(err) : status;
}

static furrow_status open_guarded(source *s, furrow_parser_params *params, furrow_error *err) {
  const bool guarded = cache_guard_begin(s->uri);
  return cache_guard_end(guarded, open_iter(s, params, err), err);
}

furrow_status source_open(source *s, const char *uri, const source_values *values, furrow_error *err) {
  *s = (source){.uri = uri, .values = values};
  bool cache = strcmp(values->format, "cache") == 0;
  if (cache || (strcmp(values->format, "auto") == 0 && source_is_cache(uri))) return open_container(s, err);
  furrow_parser_params params;
  params_from(&params, values);
  if (values->api == SOURCE_ITER || strchr(uri, '#')) return open_guarded(s, &params, err);
  furrow_status status = furrow_parser_open(&s->parser, uri, &params, err);
  if (status != FURROW_OK) return status;
  uint64_t total = looks_compressed(uri) ? 0 : furrow_parser_bytes_total(s->parser);
  start_progress(s, total);
  return FURROW_OK;
}

furrow_status source_column_names(source *s, uint64_t columns, const char *const **names, furrow_error *err) {
  if (!s->parser || furrow_parser_column_count(s->parser) == 0 || columns == 0) return FURROW_OK;
  free(s->names);
  s->names = calloc(columns, sizeof *s->names);
  if (!s->names) return fail(err, FURROW_E_MEMORY, "out of memory for the names of the columns");
  for (uint64_t i = 0; i < columns; i++) s->names[i] = furrow_parser_column_name(s->parser, i);
  *names = s->names;
  return FURROW_OK;
}

void source_close(source *s) {
  free(s->names);
  progress_stop(&s->progress);
  furrow_parser_close(s->parser);
  furrow_blockiter_close(s->iter);
  furrow_container_free(s->container);
  *s = (source){0};
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

/* A row cache file is one block, which belongs to rank 0. */
static furrow_status next_of_container(source *s, const furrow_rowblock **block) {
  if (s->container_given || s->container_block.size == 0) return FURROW_END;
  if (s->values->divided && s->values->part.part > 0) return FURROW_END;
  s->container_given = true;
  s->stats.rows = s->container_block.size;
  s->stats.features = s->container_block.offset[s->container_block.size] - s->container_block.offset[0];
  *block = &s->container_block;
  return FURROW_OK;
}

static furrow_status next_of_iter(source *s, const furrow_rowblock **block, furrow_error *err) {
  const furrow_status status = furrow_blockiter_next_block(s->iter, block, err);
  add_key_hint(status, err);
  return status;
}

furrow_status source_next(source *s, const furrow_rowblock **block, furrow_error *err) {
  if (s->container) return next_of_container(s, block);
  if (s->iter) return next_of_iter(s, block, err);
  const furrow_status status = furrow_parser_next_block(s->parser, block, err);
  if (status == FURROW_OK) {
    progress_update(&s->progress, furrow_parser_bytes_read(s->parser));
  } else {
    progress_stop(&s->progress);
    add_key_hint(status, err);
  }
  return status;
}

furrow_status source_before_first(source *s, furrow_error *err) {
  s->container_given = false;
  if (s->container) return FURROW_OK;
  if (s->iter) return furrow_blockiter_rewind(s->iter, err);
  start_progress(s, s->progress.total);
  return furrow_parser_rewind(s->parser, err);
}

/* ---- Telling -------------------------------------------------------------------------------------------- */

void source_get_stats(const source *s, furrow_parser_stats *stats) {
  if (s->container)
    *stats = s->stats;
  else if (s->iter)
    furrow_blockiter_get_stats(s->iter, stats);
  else
    furrow_parser_get_stats(s->parser, stats);
}

const char *source_format(const source *s) {
  if (s->parser) return furrow_parser_format(s->parser);
  return s->container ? "cache" : s->values->format;
}

const char *source_format_reason(const source *s) {
  if (s->parser) return furrow_parser_format_reason(s->parser);
  return s->container ? "content: a row cache" : "not reported by the block iterator";
}

/* Adds the statistics of the rows that follow. */
static void add_stats(furrow_parser_stats *into, const furrow_parser_stats *next) {
  if (into->bad_rows == 0) into->first_bad = next->first_bad;
  if (into->ignored == 0) into->first_ignored = next->first_ignored;
  into->rows += next->rows;
  into->features += next->features;
  into->bytes += next->bytes;
  into->bad_rows += next->bad_rows;
  into->ignored += next->ignored;
  into->recoded += next->recoded;
}

furrow_status join_stats(furrow_parser_stats *stats, furrow_error *err) {
  void *memory = NULL;
  if (ranks_count() == 1) return FURROW_OK;
  const furrow_status status = ranks_gather(stats, sizeof *stats, &memory, err);
  if (status != FURROW_OK) return status;
  const furrow_parser_stats *all = memory;
  *stats = all[0];
  for (unsigned r = 1; r < ranks_count(); r++) add_stats(stats, &all[r]);
  free(memory);
  return FURROW_OK;
}

furrow_status source_join_stats(const source *s, furrow_parser_stats *stats, furrow_error *err) {
  furrow_parser_stats_init(stats);
  source_get_stats(s, stats);
  return join_stats(stats, err);
}

static void print_note(uint64_t count, const char *one, const char *many, const furrow_error *first) {
  char place[1024];
  if (count == 0) return;
  furrow_error_to_text(first, place, sizeof place);
  if (count == 1)
    say("furrow: note: 1 %s: %s\n", one, place);
  else
    say("furrow: note: %" PRIu64 " %s, the first: %s\n", count, many, place);
}

void print_notes(const furrow_parser_stats *stats) {
  print_note(stats->bad_rows, "malformed row was skipped", "malformed rows were skipped", &stats->first_bad);
  print_note(stats->ignored, "piece of meaningless text was skipped", "pieces of meaningless text were skipped",
             &stats->first_ignored);
  if (stats->recoded > 0)
    say("furrow: note: %" PRIu64 " %s not UTF-8 and %s read as Windows-1252\n", stats->recoded,
        stats->recoded == 1 ? "cell is" : "cells are", stats->recoded == 1 ? "was" : "were");
  if (stats->side_weights > 0)
    say("furrow: note: the weights of %" PRIu64 " rows are from the file .weight next to the data\n",
        stats->side_weights);
  if (stats->side_groups > 0)
    say("furrow: note: %" PRIu64 " groups of rows are from the file .query next to the data\n", stats->side_groups);
}

void source_print_notes(source *s, const furrow_parser_stats *stats) {
  progress_stop(&s->progress);
  if (!s->values->quiet && ranks_number() == 0) print_notes(stats);
}
