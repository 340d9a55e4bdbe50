/* learn/data/sample_reader.c: rows for scoring, read as training reads them: from a URI, or lines of text in memory,
 * without a file or a thread. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/samples.h"
#include "rows/registry.h"

struct furrow_sample_reader {
  fw_plan *plan;
  fw_samples *data;
  fw_sample_pass *pass;
  bool compared; /* the columns of the first rows */
};

/* Rows to be scored do not show whether indices count from 0 or 1: without feature 0 they look like data that counts
 * from 1. So the model or the URI must set the base. */
static furrow_status check_base(const furrow_sample_reader *samples, furrow_error *err) {
  if (samples->data->index_base < 0 || samples->data->uri_says_base) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "index-base=auto: rows that are scored do not tell which index is the first");
  fw_error_set_hint(err, "set the key `index-base` to that of the training data: 0 or 1");
  return FURROW_E_ARGUMENT;
}

furrow_status furrow_sample_reader_open(furrow_sample_reader **samples, const furrow_learn_conf *conf, const char *uri,
                                        const furrow_parser_params *params, furrow_error *err) {
  furrow_sample_reader *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = fw_plan_of_conf(&made->plan, conf, err);
  if (status == FURROW_OK) made->plan->data.label_optional = true;
  if (status == FURROW_OK)
    status = fw_samples_open(&made->data, uri, &made->plan->data, params, true, fw_comm_self(), err);
  if (status == FURROW_OK) status = check_base(made, err);
  if (status == FURROW_OK) status = fw_sample_pass_open(&made->pass, made->data, err);
  return FW_HAND_OVER(status, samples, made, furrow_sample_reader_close);
}

static uint64_t end_of_features(const furrow_rowblock *block) {
  uint64_t end = 0;
  if (block->size == 0) return 0;
  for (uint64_t i = block->offset[0]; i < block->offset[block->size]; i++) {
    const uint64_t feature = furrow_keys_get(block->index, block->key_type, i);
    if (feature >= end) end = feature + 1;
  }
  return end;
}

/* Columns without names are identified by their number alone, so rows to be scored must have as many columns as the
 * training data; later blocks (first: false) may lack the last ones. */
static furrow_status check_columns(const fw_data_conf *data, const char *format, const furrow_rowblock *block,
                                   bool first, furrow_error *err) {
  const bool table = strcmp(format, "csv") == 0 || strcmp(format, "dense") == 0;
  if (!table || data->columns || data->range <= 0) return FURROW_OK;
  const uint64_t end = end_of_features(block), wanted = (uint64_t)data->range;
  if (end <= wanted && (end == wanted || !first || block->size == 0)) return FURROW_OK;
  fw_fail(err, FURROW_E_RANGE, "the rows have %" PRIu64 " columns of features, but the model was trained on %" PRIu64,
          end, wanted);
  if (end + 1 == wanted && data->has_label)
    fw_error_set_hint(err, "set the key `has-label` to no if the rows have no label");
  return FURROW_E_RANGE;
}

furrow_status furrow_sample_reader_next(furrow_sample_reader *samples, const furrow_rowblock **block,
                                        furrow_error *err) {
  FW_TRY(fw_sample_pass_next(samples->pass, block, err));
  const furrow_status status =
      check_columns(&samples->plan->data, samples->data->format, *block, !samples->compared, err);
  samples->compared = true;
  if (status != FURROW_OK) fw_error_set_file(err, fw_samples_name(samples->data));
  return status;
}

void furrow_sample_reader_get_stats(const furrow_sample_reader *samples, furrow_parser_stats *stats) {
  fw_sample_pass_get_stats(samples->pass, stats);
}

void furrow_sample_reader_close(furrow_sample_reader *samples) {
  if (!samples) return;
  fw_sample_pass_close(samples->pass);
  fw_samples_close(samples->data);
  fw_plan_free(samples->plan);
  fw_free(samples);
}

/* ---- Lines in memory ---- */

typedef struct line_format {
  fw_format format;
  furrow_args *args;
  void *state;
  bool open;
} line_format;

struct furrow_line_reader {
  fw_plan *plan;
  line_format own;
  line_format dummy; /* replaces libsvm for indices without values, as for files */
  fw_buffer copy;    /* copy of the text, with padding */
  fw_chunk chunk;
  furrow_rowblock block;
};

static bool takes_label(const furrow_rows_format *format) {
  for (size_t i = 0; i < format->nargs; i++)
    if (strcmp(format->args[i].name, "has_label") == 0) return true;
  return false;
}

static furrow_status open_format(line_format *f, const char *name, const fw_data_conf *data, furrow_error *err) {
  fw_uri uri = {0};
  FW_TRY(fw_format_find(name, &f->format, err));
  const furrow_rows_format *format = &f->format.public;
  furrow_status status = FURROW_OK;
  if (!data->has_label && takes_label(format)) status = fw_uri_add_arg(&uri, "has_label", "no", err);
  if (status == FURROW_OK) status = fw_args_create(&f->args, format, &uri, err);
  if (status == FURROW_OK && format->open) status = format->open(f->args, &f->state, err);
  f->open = status == FURROW_OK;
  if (f->open && fw_samples_has_index_base(name)) f->format.set_base(f->state, data->index_base > 0);
  fw_uri_clear(&uri);
  return status;
}

static void close_format(line_format *f) {
  if (f->open && f->format.public.close) f->format.public.close(f->state);
  fw_args_free(f->args);
}

static furrow_status check_format(const fw_data_conf *data, furrow_error *err) {
  if (data->encoder || strcmp(data->format, "csv") == 0 || strcmp(data->format, "auto") == 0)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "lines of this model's data mean nothing without their header");
  if (fw_samples_has_index_base(data->format) && data->index_base < 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "index-base=auto: it is not known which index is the first");
  return FURROW_OK;
}

furrow_status furrow_line_reader_create(furrow_line_reader **reader, const furrow_learn_conf *conf, furrow_error *err) {
  furrow_line_reader *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = fw_plan_of_conf(&made->plan, conf, err);
  const fw_data_conf *data = status == FURROW_OK ? &made->plan->data : NULL;
  if (status == FURROW_OK) status = check_format(data, err);
  if (status == FURROW_OK) status = open_format(&made->own, data->format, data, err);
  if (status == FURROW_OK && strcmp(data->format, "libsvm") == 0)
    status = open_format(&made->dummy, "dummy", data, err);
  if (status == FURROW_OK)
    status = furrow_container_create(&made->chunk.out, data->long_keys ? FURROW_KEY_U64 : FURROW_KEY_U32,
                                     FURROW_VALUE_F32, err);
  return FW_HAND_OVER(status, reader, made, furrow_line_reader_free);
}

void furrow_line_reader_free(furrow_line_reader *reader) {
  if (!reader) return;
  close_format(&reader->own);
  close_format(&reader->dummy);
  fw_chunk_clear(&reader->chunk);
  fw_buffer_clear(&reader->copy);
  fw_plan_free(reader->plan);
  fw_free(reader);
}

/* Copies the lines into a padded buffer, and terminates the last one. */
static furrow_status take_text(furrow_line_reader *r, const char *lines, size_t size, furrow_error *err) {
  static const char pad[FW_KERN_PAD] = {0};
  fw_buffer *copy = &r->copy;
  fw_buffer_reset(copy);
  fw_buffer_append(copy, pad, sizeof pad);
  fw_buffer_append(copy, lines, size);
  if (size > 0 && lines[size - 1] != '\n') fw_buffer_byte(copy, '\n');
  fw_buffer_append(copy, pad, sizeof pad);
  FW_TRY(fw_buffer_status(copy, err));
  r->chunk.text.lines = copy->bytes + sizeof pad;
  r->chunk.text.length = copy->size - 2 * sizeof pad;
  r->chunk.text.file_end = true;
  return FURROW_OK;
}

/* The number of the line that begins at an offset. */
static uint64_t line_at(const fw_text *text, uint64_t offset) {
  uint64_t line = 1;
  for (uint64_t i = 0; i < offset && i < text->length; i++) line += text->lines[i] == '\n';
  return line;
}

static furrow_status parse(furrow_line_reader *r, furrow_error *err) {
  fw_chunk *chunk = &r->chunk;
  const fw_text *text = &chunk->text;
  line_format *f = &r->own;
  if (r->dummy.open && strcmp(fw_sniff_format(text->lines, text->length, true, 1000).format, "dummy") == 0)
    f = &r->dummy;
  chunk->format = &f->format;
  chunk->state = f->state;
  if (f->format.look) FW_TRY(f->format.look(f->state, text->lines, text->length, true, err));
  furrow_status status = fw_chunk_parse(chunk, err);
  if (status == FURROW_OK && chunk->stats.ignored > 0) {
    if (err) *err = chunk->stats.first_ignored;
    status = FURROW_E_PARSE;
    if (err) err->status = status;
  }
  if (status != FURROW_OK && err && err->offset != FURROW_NO_OFFSET) err->line = line_at(text, err->offset);
  return status;
}

furrow_status furrow_line_reader_read(furrow_line_reader *reader, const char *lines, size_t size,
                                      const furrow_rowblock **block, furrow_error *err) {
  FW_TRY(take_text(reader, lines, size, err));
  FW_TRY(parse(reader, err));
  FW_TRY(furrow_container_get_block(reader->chunk.out, &reader->block, err));
  FW_TRY(check_columns(&reader->plan->data, reader->own.format.public.name, &reader->block, true, err));
  *block = &reader->block;
  return FURROW_OK;
}
