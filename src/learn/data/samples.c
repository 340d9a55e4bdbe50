/* learn/data/samples.c: the data that epochs are made from: one block in memory, or passes over files. */
#include "learn/data/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "base/params.h"
#include "io/fileset.h"
#include "io/uri.h"
#include "learn/data/minibatch.h"
#include "rows/block/block_reader.h"
#include "rows/encode/encoder.h"
#include "rows/schema/column_names.h"

struct fw_samples {
  char *uri; /* with the index base of the conf */
  char *name;
  char *format;
  int index_base; /* see fw_samples_index_base */
  bool uri_says_base;
  int base; /* of the conf; -1: auto */
  bool cached;
  bool trees;   /* of the conf */
  bool encoded; /* raw logs are read through an encoder */
  bool once;    /* the files cannot be read again */
  char *label;  /* the column of csv data that was found to have the labels; NULL: none was */
  furrow_parser_params params;
  furrow_blockiter *iter;      /* in memory without a cache: owns the block */
  furrow_container *container; /* in memory from a cache: so does this */
  furrow_rowblock block;
  furrow_parser_stats stats; /* in memory: of the loading */
  bool in_memory;
  const fw_scaling *scaling; /* NULL: rows come as they are */
  fw_scaled_block scaled;    /* in memory */
  const furrow_comm *comm;
  uint64_t first_row, all_rows; /* see fw_samples_first_row */
  bool failed;                  /* to open them, which all ranks know */
};

struct fw_sample_pass {
  const fw_samples *samples;
  furrow_parser *parser;
  furrow_blockiter *iter; /* with a cache */
  fw_scaled_block scaled;
};

/* ---- The URI -------------------------------------------------------------------------------------------- */

bool fw_samples_has_index_base(const char *format) {
  return strcmp(format, "libsvm") == 0 || strcmp(format, "libffm") == 0 || strcmp(format, "libfm") == 0;
}

/* Whether a file can be read only once. */
static furrow_status find_pipes(fw_samples *samples, const fw_uri *uri, furrow_error *err) {
  fw_fileset set = {0};
  const furrow_status status = fw_fileset_open(&set, uri->paths, uri->npaths, err);
  for (size_t i = 0; status == FURROW_OK && i < set.nfiles; i++) samples->once |= set.files[i].kind == FW_FILE_PIPE;
  fw_fileset_clear(&set);
  return status == FURROW_E_MEMORY ? status : FURROW_OK; /* reading the rows reports what else is wrong */
}

/* Whether the data looks like dummy text. */
static furrow_status looks_like_dummy(const fw_samples *samples, const fw_uri *parsed, bool *dummy, furrow_error *err) {
  furrow_parser *parser = NULL;
  furrow_parser_params params = samples->params;
  params.format = "auto";
  params.threads = 1;
  const furrow_status status = furrow_parser_open(&parser, parsed->paths[0], &params, err);
  *dummy = status == FURROW_OK && strcmp(furrow_parser_format(parser), "dummy") == 0;
  furrow_parser_close(parser);
  return status == FURROW_E_MEMORY ? status : FURROW_OK;
}

/* The format that the parser will use, to be freed with fw_free. */
static furrow_status find_format(char **format, const fw_samples *samples, const char *uri, const char *given,
                                 furrow_error *err) {
  furrow_parser *parser = NULL;
  if (fw_memory_rows_in_uri(uri)) given = fw_format_memory.name; /* whatever the conf says of files */
  if (strcmp(given, "auto") == 0 && samples->encoded) given = fw_format_table.public.name;
  if (strcmp(given, "auto") == 0 && samples->once) given = "libsvm"; /* to look into a pipe is to empty it */
  if (strcmp(given, "auto") != 0) return fw_strndup(format, given, strlen(given), err);
  furrow_status status = furrow_parser_open(&parser, uri, &samples->params, err);
  if (status == FURROW_OK) {
    const char *found = furrow_parser_format(parser);
    status = fw_strndup(format, found, strlen(found), err);
  }
  furrow_parser_close(parser);
  return status;
}

/* Angel's libsvm text has values. Indices without values are its dummy text, which counts from 0: as libsvm, which
 * counts from 1, it would be read as other features. */
static furrow_status take_dummy(fw_samples *samples, const fw_uri *parsed, furrow_error *err) {
  if (strcmp(samples->format, "libsvm") != 0 || fw_uri_arg_value(parsed, "indexing_mode")) return FURROW_OK;
  bool dummy = false;
  if (!samples->once) FW_TRY(looks_like_dummy(samples, parsed, &dummy, err));
  if (!dummy) return FURROW_OK;
  fw_free(samples->format);
  samples->format = NULL;
  return fw_strndup(&samples->format, "dummy", strlen("dummy"), err);
}

/* Arguments that a URI does not have itself. */
typedef struct arguments {
  const fw_uri *parsed;
  fw_buffer text; /* "key=value&key=value" */
} arguments;

/* False: there is no value, or the URI has the argument. */
static bool begin_argument(arguments *a, const char *key, const char *value) {
  if (!value || (a->parsed && fw_uri_arg_value(a->parsed, key))) return false;
  fw_buffer_format(&a->text, "%s%s=", a->text.size > 0 ? "&" : "", key);
  return true;
}

/* The value as it stands in a URI. */
static void add_argument(arguments *a, const char *key, const char *value) {
  if (begin_argument(a, key, value)) fw_buffer_text(&a->text, value);
}

static void add_escaped(arguments *a, const char *key, const char *value) {
  if (begin_argument(a, key, value)) fw_uri_encode(&a->text, value);
}

/* csv takes the byte as it stands. What would end the argument stays escaped, and csv refuses it. */
static void add_delimiter(arguments *a, const char *value) {
  if (value && strpbrk(value, "&#"))
    add_escaped(a, "delimiter", value);
  else
    add_argument(a, "delimiter", value ? value : "auto");
}

/* The URI with the arguments, to be freed. Clears them. */
static furrow_status join_arguments(char **changed, const char *uri, arguments *a, furrow_error *err) {
  const char *end = strchr(uri, '#');
  const size_t head = end ? (size_t)(end - uri) : strlen(uri);
  fw_buffer text = {0};
  fw_buffer_append(&text, uri, head);
  if (a->text.size > 0) fw_buffer_text(&text, memchr(uri, '?', head) ? "&" : "?");
  if (a->text.size > 0) fw_buffer_append(&text, a->text.bytes, a->text.size);
  fw_buffer_text(&text, uri + head);
  furrow_status status = fw_buffer_status(&a->text, err);
  if (status == FURROW_OK) status = fw_buffer_take(&text, changed, NULL, err);
  fw_buffer_clear(&text);
  fw_buffer_clear(&a->text);
  return status;
}

static furrow_status add_index_base(char **changed, const char *uri, int base, furrow_error *err) {
  arguments a = {0};
  add_argument(&a, "indexing_mode", base < 0 ? "-1" : base ? "1" : "0");
  return join_arguments(changed, uri, &a, err);
}

static bool begins_with_label(const char *format) {
  return fw_samples_has_index_base(format) || strcmp(format, "dummy") == 0 || strcmp(format, "dense") == 0;
}

/* ---- The label of csv data ---- */

bool furrow_learn_is_label_name(const char *name) {
  return fw_label_name_rank(name) != SIZE_MAX;
}

/* The one column whose name says that it has the labels; *label stays NULL if there is none, or several. */
static furrow_status find_label_name(char **label, const furrow_parser *parser, furrow_error *err) {
  const char *found = NULL;
  for (size_t i = 0; i < furrow_parser_column_count(parser); i++) {
    const char *name = furrow_parser_column_name(parser, i);
    if (!name || !furrow_learn_is_label_name(name)) continue;
    if (found) return FURROW_OK;
    found = name;
  }
  return found ? fw_strndup(label, found, strlen(found), err) : FURROW_OK;
}

/* Training needs labels: where nobody names their column, the header may. */
static furrow_status find_label(fw_samples *samples, const fw_uri *parsed, const char *uri, const fw_data_conf *data,
                                furrow_error *err) {
  furrow_parser *parser = NULL;
  const bool named = data->label_column || fw_uri_arg_value(parsed, "label_column");
  if (strcmp(samples->format, "csv") != 0 || named || !data->has_label || data->label_optional || samples->once)
    return FURROW_OK;
  furrow_parser_params params = samples->params;
  params.format = "csv";
  char *text = NULL;
  arguments a = {.parsed = parsed};
  add_delimiter(&a, data->delimiter);
  furrow_status status = join_arguments(&text, uri, &a, err);
  if (status == FURROW_OK) status = furrow_parser_open(&parser, text, &params, err);
  if (status == FURROW_OK) status = find_label_name(&samples->label, parser, err);
  furrow_parser_close(parser);
  fw_free(text);
  return status == FURROW_E_MEMORY ? status : FURROW_OK; /* reading the rows reports what else is wrong */
}

/* Keys of tables say nothing of other rows. A model of csv data may score them all the same. */
static furrow_status check_table_keys(const fw_samples *samples, const fw_data_conf *data, furrow_error *err) {
  const char *key = data->label_column ? "label-column" : data->weight_column ? "weight-column" : NULL;
  if (!key || data->label_optional || strcmp(samples->format, "csv") == 0) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "%s is for csv data, but this is %s", key, samples->format);
}

/* The URI with what the conf says about rows and the URI does not; to be freed. */
static furrow_status add_arguments(char **changed, const fw_samples *samples, const fw_uri *parsed, const char *uri,
                                   const fw_data_conf *data, furrow_error *err) {
  arguments a = {.parsed = parsed};
  FW_TRY(check_table_keys(samples, data, err));
  if (!data->has_label && begins_with_label(samples->format)) add_argument(&a, "has_label", "no");
  if (strcmp(samples->format, fw_format_table.public.name) == 0) {
    add_escaped(&a, "encoder", data->encoder);
    add_escaped(&a, "delimiter", data->delimiter);
    if (data->label_optional) add_argument(&a, "label", "optional");
  }
  if (strcmp(samples->format, "csv") == 0) {
    add_delimiter(&a, data->delimiter);
    if (data->has_label) add_escaped(&a, "label_column", samples->label ? samples->label : data->label_column);
    add_escaped(&a, "weight_column", data->weight_column);
    add_argument(&a, "columns", data->columns);
    if (data->label_optional && data->label_column) add_argument(&a, "label", "optional");
  }
  return join_arguments(changed, uri, &a, err);
}

/* found[0]: a block has features; found[1]: an index, or a field, is 0. */
static void look_for_zero(const furrow_rowblock *block, uint64_t found[2]) {
  for (uint64_t i = block->offset[0]; i < block->offset[block->size] && !found[1]; i++) {
    found[0] = 1;
    found[1] = furrow_keys_get(block->index, block->key_type, i) == 0 ||
               (block->field.any && furrow_keys_get(block->field, block->key_type, i) == 0);
  }
}

/* The rule of the parser, for data of which each rank reads its part. The URI has indexing_mode=0. */
static furrow_status find_shared_base(fw_samples *samples, const char *uri, furrow_error *err) {
  uint64_t found[2] = {0};
  furrow_parser *parser = NULL;
  furrow_status status = furrow_parser_open(&parser, uri, &samples->params, err);
  while (status == FURROW_OK && !found[1] && (status = furrow_parser_next(parser, err)) == FURROW_OK)
    look_for_zero(furrow_parser_value(parser), found);
  furrow_parser_close(parser);
  status = fw_comm_share_status(samples->comm, status == FURROW_END ? FURROW_OK : status, err);
  samples->failed = status != FURROW_OK;
  if (status == FURROW_OK) status = fw_comm_max_u64(samples->comm, found, 2, err);
  samples->index_base = found[0] && !found[1];
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

/* The URI with the base of the conf, or with the one that is found; an indexing_mode of the URI itself wins. */
static furrow_status settle_index_base(fw_samples *samples, const char *uri, bool fixed, int base, furrow_error *err) {
  char *text = NULL;
  furrow_status status = FURROW_OK;
  if (base < 0 && !fixed && samples->once) {
    base = samples->index_base = 1; /* an index 0 is an error then, which names the key */
  } else if (base < 0 && !fixed && samples->comm->ranks > 1) {
    status = add_index_base(&text, uri, 0, err);
    if (status == FURROW_OK) status = find_shared_base(samples, text, err);
    fw_free(text);
    base = samples->index_base;
  } else if (base < 0) {
    if (!fixed) status = add_index_base(&text, uri, base, err);
    if (status == FURROW_OK) status = find_index_base(&samples->index_base, samples, fixed ? uri : text, err);
    fw_free(text);
    base = samples->index_base;
  }
  if (status != FURROW_OK) return status;
  return fixed ? fw_strndup(&samples->uri, uri, strlen(uri), err) : add_index_base(&samples->uri, uri, base, err);
}

static furrow_status complete_uri(fw_samples *samples, const char *uri, const fw_data_conf *data, furrow_error *err) {
  fw_uri parsed = {0};
  furrow_status status = fw_uri_parse(&parsed, uri, err);
  if (status != FURROW_OK) return status;
  const char *given = fw_uri_arg_value(&parsed, "format");
  if (!given) given = samples->params.format;
  samples->cached = parsed.cachefile != NULL;
  samples->encoded = data->encoder != NULL;
  status = fw_strndup(&samples->name, parsed.paths[0], strlen(parsed.paths[0]), err);
  if (status == FURROW_OK && !fw_memory_rows_in_uri(uri)) status = find_pipes(samples, &parsed, err);
  if (status == FURROW_OK) status = find_format(&samples->format, samples, uri, given, err);
  if (status == FURROW_OK) status = take_dummy(samples, &parsed, err);
  char *full = NULL;
  if (status == FURROW_OK) status = find_label(samples, &parsed, uri, data, err);
  if (status == FURROW_OK) status = add_arguments(&full, samples, &parsed, uri, data, err);
  if (status == FURROW_OK) samples->params.format = samples->format;
  if (status == FURROW_OK && fw_samples_has_index_base(samples->format)) {
    const char *mode = fw_uri_arg_value(&parsed, "indexing_mode");
    const bool fixed = mode != NULL;
    samples->uri_says_base = mode && mode[0] != '-';       /* -1: it is to be found */
    const int base = data->encoder ? 0 : data->index_base; /* features of an encoder count from 0 */
    status = settle_index_base(samples, full, fixed, base, err);
  } else if (status == FURROW_OK) {
    samples->uri = full;
    full = NULL;
  }
  fw_free(full);
  fw_uri_clear(&parsed);
  return status;
}

/* The number that begins a text; UINT64_MAX: it does not begin with one, or with one that does not fit. */
static uint64_t leading_number(const char *text) {
  uint64_t number = 0;
  bool overflow = false;
  const char *after = fw_read_u64(text, text + strlen(text), &number, &overflow);
  return after && !overflow ? number : UINT64_MAX;
}

/* Adds what to do about an index, or a field, that is 0 or too large: it is in the token. */
static furrow_status add_index_hint(const fw_samples *samples, furrow_status status, furrow_error *err) {
  if (status != FURROW_E_RANGE || !err) return status;
  const bool has_fields = samples->format && fw_format_has_fields(samples->format);
  const char *colon = has_fields ? strchr(err->token, ':') : NULL;
  const uint64_t first = leading_number(err->token), second = colon ? leading_number(colon + 1) : first;
  const bool large = (first != UINT64_MAX && first > UINT32_MAX) || (second != UINT64_MAX && second > UINT32_MAX);
  if (large && samples->trees)
    fw_error_set_hint(err, "trees split by features up to 2147483647; hash larger ones into that range");
  else if (large && samples->params.key_type == FURROW_KEY_U32)
    fw_error_set_hint(err, "a model-type of T_FLOAT_SPARSE_LONGKEY takes larger indices");
  else if ((first == 0 || second == 0) && samples->base != 0)
    fw_error_set_hint(err, "set the key `index-base` to 0 for data that counts from 0");
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
  if (status != FURROW_OK) return add_index_hint(samples, status, err);
  samples->in_memory = true;
  if (samples->cached) return load_cached(samples, err);
  status = furrow_blockiter_next(samples->iter, err);
  if (status == FURROW_OK) samples->block = *furrow_blockiter_value(samples->iter);
  furrow_blockiter_get_stats(samples->iter, &samples->stats);
  return status == FURROW_END ? FURROW_OK : status;
}

/* Streamed rows of one rank; alone they need not be counted. */
static furrow_status count_streamed(const fw_samples *samples, uint64_t *rows, furrow_error *err) {
  fw_sample_pass *pass = NULL;
  const furrow_rowblock *block;
  if (samples->comm->ranks == 1) return FURROW_OK;
  furrow_status status = fw_sample_pass_open(&pass, samples, err);
  while (status == FURROW_OK && (status = fw_sample_pass_next(pass, &block, err)) == FURROW_OK) *rows += block->size;
  fw_sample_pass_close(pass);
  return status == FURROW_END ? FURROW_OK : status;
}

/* Where the rows of this rank are among all rows. */
static furrow_status number_rows(fw_samples *samples, furrow_status status, furrow_error *err) {
  uint64_t rows = samples->block.size;
  if (status == FURROW_OK && !samples->in_memory) status = count_streamed(samples, &rows, err);
  if (!samples->failed) status = fw_comm_share_status(samples->comm, status, err);
  samples->failed = status != FURROW_OK;
  FW_TRY(status);
  return fw_comm_offset(samples->comm, rows, &samples->first_row, &samples->all_rows, err);
}

furrow_status fw_samples_open(fw_samples **samples, const char *uri, const fw_data_conf *data,
                              const furrow_parser_params *params, bool stream, const furrow_comm *comm,
                              furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **samples, err);
  status = fw_comm_share_status(comm, status, err);
  if (status != FURROW_OK) {
    fw_free(memory);
    return status;
  }
  fw_samples *s = memory;
  furrow_parser_stats_init(&s->stats);
  furrow_parser_params *p = &s->params;
  furrow_parser_params_init(p);
  status = FW_PARAMS_READ(p, params, furrow_parser_params, err);
  s->comm = comm;
  s->index_base = -1;
  s->base = data->index_base;
  s->trees = data->trees;
  if (!p->format || strcmp(p->format, "auto") == 0) p->format = data->format;
  if (data->long_keys) p->key_type = FURROW_KEY_U64;
  p->part = p->part * comm->ranks + comm->rank;
  p->nparts *= comm->ranks;
  if (comm->ranks > 1) {
    const furrow_status same = furrow_rows_compare_files(uri, comm, status == FURROW_OK ? err : NULL);
    if (status == FURROW_OK) status = same;
  }
  if (status == FURROW_OK) status = add_index_hint(s, complete_uri(s, uri, data, err), err);
  if (status == FURROW_OK && s->once && comm->ranks > 1)
    status = fw_fail(err, FURROW_E_ARGUMENT, "standard input, or a pipe, cannot be read in parts by several processes");
  if (status == FURROW_OK && !stream) status = load(s, err);
  status = number_rows(s, status, err);
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
  fw_scaled_block_clear(&samples->scaled);
  fw_free(samples->uri);
  fw_free(samples->name);
  fw_free(samples->label);
  fw_free(samples->format);
  fw_free(samples);
}

furrow_status fw_samples_scale(fw_samples *samples, const fw_scaling *scaling, furrow_error *err) {
  samples->scaling = scaling;
  return samples->in_memory ? fw_scaled_block_fill(&samples->scaled, scaling, &samples->block, err) : FURROW_OK;
}

/* Copies the rows that are in the fold, or those that are not. */
static furrow_status copy_rows(furrow_container **copy, const furrow_rowblock *rows, const fw_holdout *holdout,
                               unsigned fold, bool in_fold, furrow_error *err) {
  furrow_container *made = NULL;
  furrow_status status = furrow_container_create(&made, rows->key_type, rows->value_type, err);
  for (size_t i = 0; status == FURROW_OK && i < rows->size; i++) {
    const furrow_row row = furrow_rowblock_row(rows, i);
    if ((holdout->fold_of[i] == fold) == in_fold) status = furrow_container_push_row(made, &row, err);
  }
  if (status == FURROW_OK)
    *copy = made;
  else
    furrow_container_free(made);
  return status;
}

furrow_status fw_samples_leave_out(fw_samples *samples, const fw_holdout *holdout, unsigned fold,
                                   furrow_container **left_out, furrow_error *err) {
  furrow_container *kept = NULL, *out = NULL;
  furrow_status status = copy_rows(&kept, &samples->block, holdout, fold, false, err);
  if (status == FURROW_OK && left_out) status = copy_rows(&out, &samples->block, holdout, fold, true, err);
  status = fw_comm_share_status(samples->comm, status, err);
  if (status != FURROW_OK) {
    furrow_container_free(kept);
    furrow_container_free(out);
    return status;
  }
  status = fw_samples_take(samples, kept, err);
  if (status == FURROW_OK && left_out)
    *left_out = out;
  else
    furrow_container_free(out);
  return status;
}

furrow_status fw_samples_take(fw_samples *samples, furrow_container *rows, furrow_error *err) {
  furrow_rowblock block;
  const furrow_status status = fw_comm_share_status(samples->comm, furrow_container_get_block(rows, &block, err), err);
  if (status != FURROW_OK) {
    furrow_container_free(rows);
    return status;
  }
  furrow_blockiter_close(samples->iter);
  furrow_container_free(samples->container);
  samples->iter = NULL;
  samples->container = rows;
  samples->block = block;
  return number_rows(samples, FURROW_OK, err);
}

const furrow_rowblock *fw_samples_block(const fw_samples *samples) {
  if (!samples->in_memory) return NULL;
  return samples->scaling ? &samples->scaled.block : &samples->block;
}

const furrow_rowblock *fw_samples_raw_block(const fw_samples *samples) {
  return samples->in_memory ? &samples->block : NULL;
}

uint64_t fw_samples_first_row(const fw_samples *samples) {
  return samples->first_row;
}

uint64_t fw_samples_all_rows(const fw_samples *samples) {
  return samples->all_rows;
}

const furrow_comm *fw_samples_comm(const fw_samples *samples) {
  return samples->comm;
}

const char *fw_samples_found_label(const fw_samples *samples) {
  return samples->label;
}

bool fw_samples_pass_once(const fw_samples *samples) {
  return samples->once && !samples->in_memory && !samples->cached;
}

int fw_samples_index_base(const fw_samples *samples) {
  return samples->index_base;
}

bool fw_samples_uri_says_base(const fw_samples *samples) {
  return samples->uri_says_base;
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

/* ---- Columns -------------------------------------------------------------------------------------------- */

/* Sets a key unless it is set; `value` may be NULL. */
static furrow_status keep_text(furrow_learn_conf *conf, const char *key, const char *value, furrow_error *err) {
  if (!value || furrow_learn_conf_get(conf, key)[0]) return FURROW_OK;
  return furrow_learn_conf_set(conf, key, value, err);
}

/* An argument of the URI, as it was meant; a name of the header comes first. */
static furrow_status keep_argument(furrow_learn_conf *conf, const char *key, const fw_uri *uri, const char *argument,
                                   const char *name, furrow_error *err) {
  const char *given = fw_uri_arg_value(uri, argument);
  char *decoded = NULL;
  if (name || !given || strcmp(given, "auto") == 0) return keep_text(conf, key, name, err);
  FW_TRY(fw_uri_decode(&decoded, given, strlen(given), err));
  furrow_status status = keep_text(conf, key, decoded, err);
  fw_free(decoded);
  return status;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Columns of one name cannot be found again. */
static furrow_status check_names(const furrow_parser *parser, size_t count, furrow_error *err) {
  const char **names = NULL;
  furrow_status status = FURROW_OK;
  FW_TRY(fw_alloc((void **)&names, count + 1, sizeof *names, err));
  for (size_t i = 0; i < count; i++) {
    const char *name = furrow_parser_column_name(parser, i);
    names[i] = name ? name : "";
  }
  qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 1; status == FURROW_OK && i < count; i++)
    if (names[i][0] && strcmp(names[i], names[i - 1]) == 0) {
      status = fw_fail(err, FURROW_E_ARGUMENT, "the header has two columns of that name");
      fw_error_set_token(err, names[i], strlen(names[i]));
    }
  fw_free((void *)names);
  return status;
}

static furrow_status keep_names(furrow_learn_conf *conf, const furrow_parser *parser, furrow_error *err) {
  fw_buffer list = {0};
  char *text = NULL;
  const size_t count = furrow_parser_column_count(parser);
  FW_TRY(check_names(parser, count, err));
  for (size_t i = 0; i < count; i++) {
    const char *name = furrow_parser_column_name(parser, i);
    if (i > 0) fw_buffer_text(&list, ",");
    fw_uri_encode(&list, name ? name : "");
  }
  furrow_status status = fw_buffer_take(&list, &text, NULL, err);
  if (status == FURROW_OK && count > 0) status = keep_text(conf, "columns", text, err);
  fw_buffer_clear(&list);
  fw_free(text);
  return status;
}

furrow_status fw_samples_keep_columns(const fw_samples *samples, furrow_learn_conf *conf, furrow_error *err) {
  fw_uri uri = {0};
  furrow_parser *parser = NULL;
  if (strcmp(samples->format, "csv") != 0) return FURROW_OK;
  FW_TRY(fw_uri_parse(&uri, samples->uri, err));
  furrow_status status = FURROW_OK;
  if (!samples->once) {
    status = furrow_parser_open(&parser, samples->uri, &samples->params, err);
    if (status == FURROW_OK) status = keep_names(conf, parser, err);
  }
  const char *label = parser ? furrow_parser_label_name(parser) : NULL;
  const char *weight = parser ? furrow_parser_weight_name(parser) : NULL;
  if (status == FURROW_OK) status = keep_argument(conf, "label-column", &uri, "label_column", label, err);
  if (status == FURROW_OK) status = keep_argument(conf, "weight-column", &uri, "weight_column", weight, err);
  if (status == FURROW_OK) status = keep_argument(conf, "delimiter", &uri, "delimiter", NULL, err);
  furrow_parser_close(parser);
  fw_uri_clear(&uri);
  return status;
}

/* ---- Passes --------------------------------------------------------------------------------------------- */

furrow_status fw_sample_pass_open(fw_sample_pass **pass, const fw_samples *samples, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **pass, err);
  if (status != FURROW_OK) return status;
  fw_sample_pass *p = memory;
  p->samples = samples;
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
  return add_index_hint(samples, status, err);
}

void fw_sample_pass_close(fw_sample_pass *pass) {
  if (!pass) return;
  furrow_parser_close(pass->parser);
  furrow_blockiter_close(pass->iter);
  fw_scaled_block_clear(&pass->scaled);
  fw_free(pass);
}

furrow_status fw_sample_pass_next(fw_sample_pass *pass, const furrow_rowblock **block, furrow_error *err) {
  furrow_status status = pass->iter ? furrow_blockiter_next(pass->iter, err) : furrow_parser_next(pass->parser, err);
  if (status != FURROW_OK) return add_index_hint(pass->samples, status, err);
  *block = pass->iter ? furrow_blockiter_value(pass->iter) : furrow_parser_value(pass->parser);
  const fw_scaling *scaling = pass->samples->scaling;
  if (!scaling) return FURROW_OK;
  FW_TRY(fw_scaled_block_fill(&pass->scaled, scaling, *block, err));
  *block = &pass->scaled.block;
  return FURROW_OK;
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
