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
#include "io/input.h"
#include "io/process/process_stop.h"
#include "io/uri.h"
#include "learn/data/minibatch.h"
#include "rows/block/block_reader.h"
#include "rows/blockiter.h"
#include "rows/encode/encoder.h"
#include "rows/parser.h"
#include "rows/schema/column_names.h"
#include "rows/text/format.h"

struct fw_sample_pass {
  fw_samples *samples;
  furrow_parser *parser;
  furrow_blockiter *iter; /* with a cache */
  furrow_rowblock block;  /* with weights and groups of side files */
  uint64_t row;           /* rows so far */
  fw_scaled_block scaled;
};

static bool is_csv(const fw_samples *samples) {
  return strcmp(samples->format, fw_format_csv.public.name) == 0;
}

/* ---- The format ----------------------------------------------------------------------------------------- */

bool fw_samples_has_index_base(const char *format) {
  return strcmp(format, "libsvm") == 0 || strcmp(format, "libffm") == 0 || strcmp(format, "libfm") == 0;
}

static bool begins_with_label(const char *format) {
  return fw_samples_has_index_base(format) || strcmp(format, "dummy") == 0 || strcmp(format, "dense") == 0;
}

/* Opens the files, and chooses the format that reads them. */
static furrow_status open_files(fw_samples *s, const fw_data_conf *data, furrow_error *err) {
  const char *in_uri = fw_uri_arg_value(&s->uri, "format"), *format = fw_format_libsvm.public.name;
  if (in_uri && strcmp(in_uri, "auto") != 0) s->params.format = in_uri;
  const bool automatic = strcmp(s->params.format, "auto") == 0;
  if (automatic && data->encoder) s->params.format = fw_format_table.public.name;
  FW_TRY(fw_parser_open_files(&s->parser, &s->uri, &s->params, err));
  FW_TRY(fw_parser_reads_once(s->parser, &s->once, err));
  if (s->once && s->comm->ranks > 1)
    return fw_fail(err, FURROW_E_ARGUMENT, "standard input, or a pipe, cannot be read in parts by several processes");
  if (!s->once || !automatic || data->encoder) FW_TRY(fw_parser_find_format(s->parser, &format, err));
  /* Angel's libsvm text has values. Indices without values are Angel's dummy text, which counts from 0. Read as libsvm,
   * which counts from 1, they would become other features. */
  bool dummy = false;
  if (strcmp(format, "libsvm") == 0 && !s->once && !fw_uri_arg_value(&s->uri, "indexing_mode"))
    FW_TRY(fw_parser_looks_like_dummy(s->parser, &dummy, err));
  if (dummy) format = fw_format_dummy.public.name;
  FW_TRY(fw_strndup(&s->format, format, strlen(format), err));
  s->params.format = s->format;
  return FURROW_OK;
}

/* ---- Arguments of the format ---------------------------------------------------------------------------- */

/* Adds an argument unless the URI has it already, or there is no value. */
static furrow_status add_argument(fw_samples *s, const char *key, const char *value, furrow_error *err) {
  return value ? fw_uri_add_arg(&s->uri, key, value, err) : FURROW_OK;
}

static furrow_status add_encoded(fw_samples *s, const char *key, const char *value, furrow_error *err) {
  fw_buffer text = {0};
  char *encoded = NULL;
  if (!value) return FURROW_OK;
  fw_uri_encode(&text, value);
  furrow_status status = fw_buffer_take(&text, &encoded, NULL, err);
  if (status == FURROW_OK) status = add_argument(s, key, encoded, err);
  fw_buffer_clear(&text);
  fw_free(encoded);
  return status;
}

/* csv takes the byte as it is. A byte that cannot be in a URI is encoded, and csv then refuses it. */
static furrow_status add_delimiter(fw_samples *s, const char *value, furrow_error *err) {
  if (value && strpbrk(value, "&#?")) return add_encoded(s, "delimiter", value, err);
  return add_argument(s, "delimiter", value ? value : "auto", err);
}

/* Refuses keys of tables for other formats. A model of csv data may still score rows of other formats. */
static furrow_status check_table_keys(const fw_samples *s, const fw_data_conf *data, furrow_error *err) {
  const char *key = data->label_column ? "label-column" : data->weight_column ? "weight-column" : NULL;
  if (!key || data->label_optional || is_csv(s)) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "%s is for csv data, but this is %s", key, s->format);
  if (strcmp(s->format, "table") == 0)
    fw_error_set_hint(err, "the schema of a raw log names its label: leave this out");
  return FURROW_E_ARGUMENT;
}

static furrow_status add_csv_arguments(fw_samples *s, const fw_data_conf *data, furrow_error *err) {
  const char *label = s->found_label ? s->found_label : data->label_column;
  FW_TRY(add_delimiter(s, data->delimiter, err));
  if (data->has_label) FW_TRY(add_encoded(s, "label_column", label, err));
  FW_TRY(add_encoded(s, "weight_column", data->weight_column, err));
  FW_TRY(add_argument(s, "columns", data->columns, err));
  return data->label_optional && data->label_column ? add_argument(s, "label", "optional", err) : FURROW_OK;
}

/* Adds the arguments that the conf has for rows, unless the URI has them. */
static furrow_status add_arguments(fw_samples *s, const fw_data_conf *data, furrow_error *err) {
  FW_TRY(check_table_keys(s, data, err));
  if (!data->has_label && begins_with_label(s->format)) FW_TRY(add_argument(s, "has_label", "no", err));
  if (is_csv(s)) return add_csv_arguments(s, data, err);
  if (strcmp(s->format, fw_format_table.public.name) != 0) return FURROW_OK;
  FW_TRY(add_encoded(s, "encoder", data->encoder, err));
  FW_TRY(add_encoded(s, "delimiter", data->delimiter, err));
  return data->label_optional ? add_argument(s, "label", "optional", err) : FURROW_OK;
}

/* ---- Columns of csv data -------------------------------------------------------------------------------- */

bool furrow_learn_is_label_name(const char *name) {
  return fw_label_name_priority(name) != SIZE_MAX;
}

static const char *column_name(const furrow_parser *parser, size_t i) {
  const char *name = furrow_parser_column_name(parser, i);
  return name ? name : "";
}

static furrow_status copy_text(char **copy, const char *text, furrow_error *err) {
  return text ? fw_strndup(copy, text, strlen(text), err) : FURROW_OK;
}

/* Finds the only column with the name of a label column; none if there are several. */
static furrow_status find_label_name(fw_samples *s, furrow_error *err) {
  const char *found = NULL;
  for (size_t i = 0; i < furrow_parser_column_count(s->parser); i++) {
    const char *name = column_name(s->parser, i);
    if (!furrow_learn_is_label_name(name)) continue;
    if (found) return FURROW_OK;
    found = name;
  }
  return copy_text(&s->found_label, found, err);
}

/* Training needs labels: if neither key nor URI names their column, the header may. */
static furrow_status find_label(fw_samples *s, const fw_data_conf *data, furrow_error *err) {
  const bool named = data->label_column || fw_uri_arg_value(&s->uri, "label_column");
  if (!is_csv(s) || named || !data->has_label || data->label_optional || s->once) return FURROW_OK;
  furrow_status status = add_delimiter(s, data->delimiter, err);
  if (status == FURROW_OK) status = fw_parser_begin(s->parser, s->format, &s->uri, err);
  if (status == FURROW_OK) status = find_label_name(s, err);
  return status == FURROW_E_MEMORY ? status : FURROW_OK; /* reading the rows reports what else is wrong */
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Finds a name that two columns share: such a column cannot be found again by name. */
static furrow_status find_twice(fw_samples *s, size_t count, furrow_error *err) {
  const char **names = NULL, *twice = NULL;
  FW_TRY(FW_ALLOC(&names, count + 1, err));
  for (size_t i = 0; i < count; i++) names[i] = column_name(s->parser, i);
  qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 1; !twice && i < count; i++)
    if (names[i][0] && strcmp(names[i], names[i - 1]) == 0) twice = names[i];
  const furrow_status status = copy_text(&s->column_twice, twice, err);
  fw_free((void *)names);
  return status;
}

static furrow_status note_columns(fw_samples *s, furrow_error *err) {
  fw_buffer list = {0};
  const size_t count = furrow_parser_column_count(s->parser);
  FW_TRY(find_twice(s, count, err));
  FW_TRY(copy_text(&s->label_column, furrow_parser_label_name(s->parser), err));
  FW_TRY(copy_text(&s->weight_column, furrow_parser_weight_name(s->parser), err));
  for (size_t i = 0; i < count; i++) {
    if (i > 0) fw_buffer_text(&list, ",");
    fw_uri_encode(&list, column_name(s->parser, i));
  }
  const furrow_status status = count > 0 ? fw_buffer_take(&list, &s->columns, NULL, err) : FURROW_OK;
  fw_buffer_clear(&list);
  return status;
}

/* The text for a key that is not set: the name in the header, else the decoded argument of the URI. NULL: there is
 * none, or the key is set. */
static furrow_status settle_argument(fw_samples *s, const furrow_learn_conf *conf, const char *key, char **name,
                                     const char *argument, const char **text, furrow_error *err) {
  const char *given = fw_uri_arg_value(&s->uri, argument);
  if (!*name && given && strcmp(given, "auto") != 0) FW_TRY(fw_uri_decode(name, given, strlen(given), err));
  *text = furrow_learn_conf_get(conf, key)[0] ? NULL : *name;
  return FURROW_OK;
}

furrow_status fw_samples_settle_columns(fw_samples *s, const furrow_learn_conf *conf, fw_settled *settled,
                                        furrow_error *err) {
  if (!is_csv(s)) return FURROW_OK;
  if (s->column_twice) {
    fw_fail(err, FURROW_E_ARGUMENT, "the header has two columns of that name");
    fw_error_set_token(err, s->column_twice, strlen(s->column_twice));
    return FURROW_E_ARGUMENT;
  }
  if (!furrow_learn_conf_get(conf, "columns")[0]) settled->columns = s->columns;
  FW_TRY(settle_argument(s, conf, "label-column", &s->label_column, "label_column", &settled->label_column, err));
  FW_TRY(settle_argument(s, conf, "weight-column", &s->weight_column, "weight_column", &settled->weight_column, err));
  return settle_argument(s, conf, "delimiter", &s->delimiter, "delimiter", &settled->delimiter, err);
}

/* ---- The index base ------------------------------------------------------------------------------------- */

/* Each rank reads its part; the base is found from the parts of all ranks. */
static furrow_status find_shared_base(fw_samples *s, furrow_error *err) {
  fw_base_signs signs = {0};
  const furrow_status found = fw_parser_find_signs(s->parser, &signs, err);
  const furrow_status status = fw_comm_share_status(s->comm, found, err);
  s->failed = status != FURROW_OK;
  FW_TRY(status);
  uint64_t most[] = {signs.features, signs.zeros};
  FW_TRY(fw_comm_max_u64(s->comm, most, 2, err));
  signs = (fw_base_signs){.features = most[0], .zeros = most[1]};
  fw_parser_set_base(s->parser, fw_index_base(&signs));
  return FURROW_OK;
}

/* An indexing_mode in the URI takes precedence; it may ask to detect the base. */
static furrow_status find_index_base(fw_samples *s, const char *mode, furrow_error *err) {
  if (!mode && s->comm->ranks > 1)
    FW_TRY(find_shared_base(s, err));
  else if (!s->uri_says_base)
    FW_TRY(fw_parser_find_base(s->parser, err));
  s->index_base = (int)furrow_parser_index_base(s->parser);
  return mode ? FURROW_OK : add_argument(s, "indexing_mode", s->index_base ? "1" : "0", err);
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

/* Moves the parser to the first row, and finds what the conf leaves to the data. */
static furrow_status begin_rows(fw_samples *s, const fw_data_conf *data, furrow_error *err) {
  const char *mode = fw_uri_arg_value(&s->uri, "indexing_mode");
  const bool has_base = fw_samples_has_index_base(s->format);
  int base = data->encoder ? 0 : data->index_base; /* features of an encoder count from 0 */
  if (has_base && base < 0 && !mode && s->once)
    base = s->index_base = 1; /* then an index 0 is an error, which names the key */
  const bool find_base = has_base && base < 0, find_columns = is_csv(s) && !s->once;
  s->uri_says_base = has_base && mode && mode[0] != '-'; /* -1: it is to be found */
  if (has_base && base >= 0) FW_TRY(add_argument(s, "indexing_mode", base ? "1" : "0", err));
  if (s->uri.cachefile && !find_base && !find_columns) return FURROW_OK; /* the cache may have the rows */
  FW_TRY(fw_parser_begin(s->parser, s->format, &s->uri, err));
  if (find_columns) FW_TRY(note_columns(s, err));
  return find_base ? find_index_base(s, mode, err) : FURROW_OK;
}

/* Side files need the numbers of rows, which are unknown in parts of the data. Only local files have them: a server may
 * answer any address with some page. */
static furrow_status open_side_files(fw_samples *s, furrow_error *err) {
  if (s->uri.npaths != 1 || s->once || !fw_path_is_local(s->uri.paths[0])) return FURROW_OK;
  FW_TRY(fw_side_files_read(&s->side, s->uri.paths[0], err));
  if (s->params.nparts == 1 || !(s->side.has_weights || s->side.has_groups)) return FURROW_OK;
  return fw_fail(err, FURROW_E_UNSUPPORTED, "%s%s is for data that one process reads as a whole", s->uri.paths[0],
                 s->side.has_weights ? ".weight" : ".query");
}

static furrow_status open_rows(fw_samples *s, const char *uri, const fw_data_conf *data, furrow_error *err) {
  FW_TRY(fw_uri_parse(&s->uri, uri, err));
  FW_TRY(open_files(s, data, err));
  FW_TRY(find_label(s, data, err));
  FW_TRY(add_arguments(s, data, err));
  FW_TRY(begin_rows(s, data, err));
  FW_TRY(open_side_files(s, err));
  if (!s->uri.cachefile) return FURROW_OK;
  furrow_parser_close(s->parser);
  s->parser = NULL;
  return FURROW_OK;
}

/* The number that begins a text; UINT64_MAX: it does not begin with one, or with one that does not fit. */
static uint64_t leading_number(const char *text) {
  uint64_t number = 0;
  bool overflow = false;
  const char *after = fw_read_u64(text, text + strlen(text), &number, &overflow);
  return after && !overflow ? number : UINT64_MAX;
}

/* Adds a hint about an index or a field in the token that is 0 or too large. */
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

/* stats: for a caller that keeps the rows; NULL: the rows are only visited. */
static furrow_status visit_pass(fw_samples *samples, fw_block_taker take, void *user, furrow_parser_stats *stats,
                                furrow_error *err) {
  fw_sample_pass *pass = NULL;
  const furrow_rowblock *block = NULL;
  furrow_status status = fw_sample_pass_open(&pass, samples, err);
  while (status == FURROW_OK && (status = fw_sample_pass_next(pass, &block, err)) == FURROW_OK) {
    if (stats && pass->parser) status = fw_parser_check_memory(pass->parser, err);
    if (status == FURROW_OK) status = take(user, block, err);
  }
  if (status == FURROW_END && stats) fw_sample_pass_get_stats(pass, stats);
  fw_sample_pass_close(pass);
  return status == FURROW_END ? FURROW_OK : status;
}

furrow_status fw_samples_visit(fw_samples *samples, fw_block_taker take, void *user, furrow_error *err) {
  const furrow_rowblock *all = fw_samples_block(samples);
  return all ? take(user, all, err) : visit_pass(samples, take, user, NULL, err);
}

static furrow_status take_block(void *container, const furrow_rowblock *block, furrow_error *err) {
  FW_TRY(furrow_container_push_block(container, block, err));
  return fw_check_stopped(err);
}

/* Rows that a program has in memory stay where they are. */
static furrow_status load(fw_samples *s, furrow_error *err) {
  if (s->parser && fw_parser_whole(s->parser, &s->block)) {
    furrow_parser_get_stats(s->parser, &s->stats);
  } else {
    FW_TRY(furrow_container_create(&s->container, s->params.key_type, s->params.value_type, err));
    FW_TRY(visit_pass(s, take_block, s->container, &s->stats, err));
    FW_TRY(furrow_container_get_block(s->container, &s->block, err));
  }
  s->in_memory = true;
  return FURROW_OK;
}

static furrow_status count_block(void *rows, const furrow_rowblock *block, furrow_error *err) {
  (void)err;
  *(uint64_t *)rows += block->size;
  return FURROW_OK;
}

/* Finds the position of this rank's rows among all rows. */
static furrow_status number_rows(fw_samples *samples, furrow_status status, furrow_error *err) {
  uint64_t rows = samples->block.size;
  if (status == FURROW_OK && !samples->in_memory && samples->comm->ranks > 1) /* alone they need not be counted */
    status = fw_samples_visit(samples, count_block, &rows, err);
  if (!samples->failed) status = fw_comm_share_status(samples->comm, status, err);
  samples->failed = status != FURROW_OK;
  FW_TRY(status);
  return fw_comm_offset(samples->comm, rows, &samples->first_row, &samples->all_rows, err);
}

furrow_status fw_samples_open(fw_samples **samples, const char *uri, const fw_data_conf *data,
                              const furrow_parser_params *params, bool stream, const furrow_comm *comm,
                              furrow_error *err) {
  fw_samples *s = NULL;
  furrow_status status = FW_ALLOC_ZERO(&s, 1, err);
  status = fw_comm_share_status(comm, status, err);
  if (status != FURROW_OK) {
    fw_free(s);
    return status;
  }
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
  if (status == FURROW_OK) status = add_index_hint(s, open_rows(s, uri, data, err), err);
  if (status == FURROW_OK && !stream) status = load(s, err);
  status = number_rows(s, status, err);
  return FW_HAND_OVER(status, samples, s, fw_samples_close);
}

void fw_samples_close(fw_samples *s) {
  if (!s) return;
  char *const texts[] = {s->format,        s->columns,   s->column_twice, s->label_column,
                         s->weight_column, s->delimiter, s->found_label};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) fw_free(texts[i]);
  furrow_parser_close(s->parser);
  furrow_container_free(s->container);
  fw_scaled_block_clear(&s->scaled);
  fw_side_files_clear(&s->side);
  fw_uri_clear(&s->uri);
  fw_free(s);
}

furrow_status fw_samples_scale(fw_samples *samples, const fw_scaling *scaling, furrow_error *err) {
  samples->scaling = scaling;
  return samples->in_memory ? fw_scaled_block_fill(&samples->scaled, scaling, &samples->block, err) : FURROW_OK;
}

/* Copies the rows of the fold, or all other rows. */
static furrow_status copy_rows(furrow_container **copy, const furrow_rowblock *rows, const fw_holdout *holdout,
                               unsigned fold, bool in_fold, furrow_error *err) {
  furrow_container *made = NULL;
  furrow_status status = furrow_container_create(&made, rows->key_type, rows->value_type, err);
  for (size_t i = 0; status == FURROW_OK && i < rows->size; i++) {
    const furrow_row row = furrow_rowblock_row(rows, i);
    if ((holdout->fold_of[i] == fold) == in_fold) status = furrow_container_push_row(made, &row, err);
  }
  return FW_HAND_OVER(status, copy, made, furrow_container_free);
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
  furrow_parser_close(samples->parser);
  furrow_container_free(samples->container);
  samples->parser = NULL;
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

bool fw_samples_pass_once(const fw_samples *samples) {
  return samples->once && !samples->in_memory && !samples->uri.cachefile;
}

const char *fw_samples_name(const fw_samples *samples) {
  return samples->uri.paths[0];
}

void fw_samples_get_stats(const fw_samples *samples, furrow_parser_stats *stats) {
  fw_info_write(stats, &samples->stats, sizeof samples->stats);
}

/* ---- Passes --------------------------------------------------------------------------------------------- */

furrow_status fw_sample_pass_open(fw_sample_pass **pass, fw_samples *samples, furrow_error *err) {
  fw_sample_pass *p = NULL;
  FW_TRY(FW_ALLOC_ZERO(&p, 1, err));
  furrow_status status = FURROW_OK;
  p->samples = samples;
  p->parser = samples->parser;
  samples->parser = NULL;
  if (samples->uri.cachefile)
    status = fw_blockiter_open(&p->iter, &samples->uri, &samples->params, 0, err);
  else if (!p->parser)
    status = fw_parser_open(&p->parser, &samples->uri, &samples->params, err);
  if (status == FURROW_OK)
    *pass = p;
  else
    fw_sample_pass_close(p);
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
  const furrow_status status = pass->iter ? furrow_blockiter_next_block(pass->iter, block, err)
                                          : furrow_parser_next_block(pass->parser, block, err);
  fw_side_files *side = &pass->samples->side;
  if (status == FURROW_END) FW_TRY(fw_side_files_end(side, pass->row, err));
  if (status != FURROW_OK) return add_index_hint(pass->samples, status, err);
  if (side->has_weights || side->has_groups) {
    pass->block = **block;
    FW_TRY(fw_side_files_add(side, pass->row, &pass->block, err));
    *block = &pass->block;
  }
  pass->row += (*block)->size;
  const fw_scaling *scaling = pass->samples->scaling;
  if (!scaling) return FURROW_OK;
  FW_TRY(fw_scaled_block_fill(&pass->scaled, scaling, *block, err));
  *block = &pass->scaled.block;
  return FURROW_OK;
}

void fw_sample_pass_get_stats(const fw_sample_pass *pass, furrow_parser_stats *stats) {
  furrow_parser_stats all;
  furrow_parser_stats_init(&all);
  if (pass->iter)
    furrow_blockiter_get_stats(pass->iter, &all);
  else
    furrow_parser_get_stats(pass->parser, &all);
  all.side_weights = pass->samples->side.weights;
  all.side_groups = pass->samples->side.groups;
  fw_info_write(stats, &all, sizeof all);
}

furrow_status fw_sample_pass_rewind(fw_sample_pass *pass, furrow_error *err) {
  pass->row = 0;
  return pass->iter ? furrow_blockiter_rewind(pass->iter, err) : furrow_parser_rewind(pass->parser, err);
}
