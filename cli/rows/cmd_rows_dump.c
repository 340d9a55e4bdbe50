/* cli/rows/cmd_rows_dump.c: furrow rows dump: a line of text for every row. */
#include <stddef.h>
#include <unistd.h>

#include "core/commands.h"
#include "rows/rows_source.h"

typedef struct dump_values {
  source_values source;
  const char *uri;
  uint64_t head;
} dump_values;

static const option dump_operands[] = {{.name = "URI",
                                        .kind = OPTION_TEXT,
                                        .help = "the rows to read",
                                        .offset = offsetof(dump_values, uri),
                                        .required = true},
                                       {0}};

static const option dump_options[] = {{.name = "head",
                                       .kind = OPTION_U64,
                                       .argument = "N",
                                       .help = "stop after N rows",
                                       .offset = offsetof(dump_values, head)},
                                      {0}};

static const option_group dump_groups[] = {
    {.title = "Options", .options = dump_options},
    {.title = "Reading", .options = source_options, .offset = offsetof(dump_values, source)},
    {.title = "Reading", .options = plugin_options},
    {0}};

static void dump_init(void *values) {
  dump_values *dump = values;
  source_values_init(&dump->source);
  dump->head = UINT64_MAX;
}

/* ---- Lines ---------------------------------------------------------------------------------------------- */

enum {
  HEAD_TEXT = 4 * NUMBER_TEXT,        /* label, weight, qid */
  FEATURE_TEXT = 3 * NUMBER_TEXT + 3, /* field:index:value and a blank */
  FEATURES_AT_ONCE = 1024
};

static inline char *put_absent(char *at) {
  *at = '-';
  return at + 1;
}

static inline char *put_value(char *at, furrow_values values, furrow_value_type type, size_t i) {
  if (!values.any) return put_absent(at);
  if (type == FURROW_VALUE_F32) return put_f32(at, values.f32[i]);
  return put_i64(at, type == FURROW_VALUE_I32 ? values.i32[i] : values.i64[i]);
}

static inline char *put_index(char *at, furrow_keys indices, furrow_key_type type, size_t i) {
  return indices.any ? put_u64(at, furrow_keys_get(indices, type, i)) : put_absent(at);
}

static char *put_head(char *at, const furrow_row *row) {
  at = put_value(at, row->label, row->value_type, 0);
  *at++ = ' ';
  at = row->weight ? put_f32(at, *row->weight) : put_absent(at);
  *at++ = ' ';
  at = row->qid ? put_u64(at, *row->qid) : put_absent(at);
  *at++ = ' ';
  *at++ = '|';
  return at;
}

static char *put_features(char *at, const furrow_row *row, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) {
    *at++ = ' ';
    at = put_index(at, row->field, row->key_type, i);
    *at++ = ':';
    at = put_index(at, row->index, row->key_type, i);
    *at++ = ':';
    at = put_value(at, row->value, row->value_type, i);
  }
  return at;
}

static void print_row(output *out, const furrow_row *row) {
  output_upto(out, put_head(output_reserve(out, HEAD_TEXT), row));
  for (size_t i = 0; i < row->length; i += FEATURES_AT_ONCE) {
    size_t count = row->length - i < FEATURES_AT_ONCE ? row->length - i : FEATURES_AT_ONCE;
    output_upto(out, put_features(output_reserve(out, count * FEATURE_TEXT), row, i, i + count));
  }
  *output_reserve(out, 1) = '\n';
  out->used++;
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static furrow_status dump_rows(source *s, uint64_t head, output *out, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  furrow_status status = FURROW_OK;
  for (uint64_t left = head; left > 0 && (status = source_next(s, &block, err)) == FURROW_OK;) {
    size_t count = block->size < left ? block->size : (size_t)left;
    for (size_t i = 0; i < count; i++) {
      furrow_row row = furrow_rowblock_row(block, i);
      print_row(out, &row);
    }
    left -= count;
    if (out->errnum) return output_flush(out, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status dump_run(const void *values, output *out, furrow_error *err) {
  const dump_values *dump = values;
  source s;
  source_values reading = dump->source;
  reading.no_progress = isatty(STDOUT_FILENO);
  furrow_status status = source_open(&s, dump->uri, &reading, err);
  if (status == FURROW_OK) status = dump_rows(&s, dump->head, out, err);
  if (status == FURROW_OK) status = output_flush(out, err);
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  if (status == FURROW_OK) {
    source_get_stats(&s, &stats);
    source_print_notes(&s, &stats);
  }
  source_close(&s);
  return status;
}

const command rows_dump_command = {
    .name = "dump",
    .summary = "print the rows, one per line",
    .example = "furrow rows dump --head 3 train.libsvm\nzcat log.gz | furrow rows dump --format libffm -",
    .about = "A line is: label weight qid | field:index:value ...\nNumbers are printed as %.9g. A - stands for an "
             "array that the data does not have.",
    .operands = dump_operands,
    .groups = dump_groups,
    .size = sizeof(dump_values),
    .init = dump_init,
    .run = dump_run,
};
