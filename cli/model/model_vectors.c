/* cli/model/model_vectors.c: exports items or queries of a factorization machine as vectors (furrow model export
 * --vectors). */
#include "model/model_vectors.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/report.h"
#include "core/text_file.h"
#include "furrow/io.h"
#include "furrow/learn.h"
#include "furrow/vector_data.h"

#define AT(field) offsetof(vectors_values, field)
const option vectors_options[] = {
    {.name = "vectors",
     .kind = OPTION_ENUM,
     .choices = "none|item|query",
     .help = "export search vectors of an fm or deepfm model, for items or for queries; their inner products rank "
             "items as the model does",
     .offset = AT(of)},
    {.name = "data",
     .kind = OPTION_TEXT,
     .argument = "URI",
     .help = "rows, one for each vector; without it, every feature (of --cols) is an item, or, of a model that was "
             "trained from a raw log, every item or user by name",
     .offset = AT(data)},
    {.name = "format",
     .kind = OPTION_TEXT,
     .argument = "F",
     .help = "format of the rows (the format of the training data)",
     .offset = AT(format)},
    {0}};
#undef AT

typedef struct making {
  const vectors_job *job;
  furrow_scorer *scorer;
  furrow_vectors_writer *vectors, *ids;
  const furrow_encoder *names; /* items or users by name; NULL: rows or features with numbers */
  text_file names_file;
  char ids_path[4096];
  float *vector;
  size_t size;
  uint64_t count;
} making;

static furrow_status open_file(furrow_vectors_writer **file, const making *m, const char *path, bool ids,
                               furrow_error *err) {
  furrow_vectors_writer_params params;
  furrow_vectors_writer_params_init(&params);
  params.ids = ids;
  params.dim = ids ? 1 : m->size;
  params.flat = ids;
  params.overwrite = m->job->force;
  return furrow_vectors_writer_open(file, path, &params, err);
}

static furrow_status open_files(making *m, furrow_error *err) {
  const vectors_job *job = m->job;
  const char *ending = job->ids ? "" : m->names ? ".names.txt" : ".ids.npy";
  if (snprintf(m->ids_path, sizeof m->ids_path, "%s%s", job->ids ? job->ids : job->file, ending) >=
      (int)sizeof m->ids_path)
    return fail_file(err, FURROW_E_ARGUMENT, job->file, "the path is too long", 0);
  furrow_status status = open_file(&m->vectors, m, job->file, false, err);
  if (status != FURROW_OK || job->no_ids) return status;
  if (!m->names) return open_file(&m->ids, m, m->ids_path, true, err);
  status = text_file_check(m->ids_path, job->force, err);
  return status == FURROW_OK ? text_file_begin(&m->names_file, err) : status;
}

static furrow_status put_row(making *m, const furrow_row *row, int64_t id, furrow_error *err) {
  furrow_status status = m->job->values->of == VECTORS_ITEM
                             ? furrow_scorer_item_vector(m->scorer, row, m->vector, err)
                             : furrow_scorer_query_vector(m->scorer, row, m->vector, NULL, err);
  if (status == FURROW_OK) status = furrow_vectors_writer_write(m->vectors, m->vector, 1, err);
  if (status == FURROW_OK && m->ids) status = furrow_vectors_writer_write(m->ids, &id, 1, err);
  if (status == FURROW_OK) m->count++;
  return status == FURROW_OK ? interrupt_check(err) : status;
}

static furrow_status put_data(making *m, furrow_error *err) {
  furrow_sample_reader *samples = NULL;
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.threads = m->job->threads;
  if (m->job->values->format) params.format = m->job->values->format;
  const furrow_rowblock *block = NULL;
  furrow_status status =
      furrow_sample_reader_open(&samples, furrow_scorer_conf(m->scorer), m->job->values->data, &params, err);
  while (status == FURROW_OK && (status = furrow_sample_reader_next(samples, &block, err)) == FURROW_OK) {
    for (size_t i = 0; status == FURROW_OK && i < block->size; i++) {
      const furrow_row row = furrow_rowblock_row(block, i);
      status = put_row(m, &row, (int64_t)m->count, err);
    }
  }
  furrow_sample_reader_close(samples);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status put_features(making *m, furrow_error *err) {
  const vectors_job *job = m->job;
  uint64_t *features = NULL;
  size_t count = 0;
  const uint64_t first = job->first > 0 ? (uint64_t)job->first : 0;
  const uint64_t end = job->end > 0 ? (uint64_t)job->end : 0;
  furrow_status status = furrow_scorer_features(m->scorer, first, end, &features, &count, err);
  if (status == FURROW_OK && count == 0)
    status = fail_in(err, FURROW_E_ARGUMENT, job->model, "the model has no feature %s",
                     first > 0 || end > 0 ? "in --cols" : "to export");
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    const furrow_row row = {.length = 1, .index = {&features[i]}, .key_type = FURROW_KEY_U64};
    status = put_row(m, &row, (int64_t)features[i], err);
  }
  furrow_free(features);
  return status;
}

/* ---- Items and users by name ---- */

static furrow_status put_name(making *m, uint64_t feature, furrow_error *err) {
  furrow_encoder_feature found;
  if (m->job->no_ids) return FURROW_OK;
  furrow_status status = furrow_encoder_get_feature(m->names, feature, &found, err);
  if (status != FURROW_OK) return status;
  if (memchr(found.name, '\n', found.length) || memchr(found.name, '\r', found.length))
    return fail_in(err, FURROW_E_UNSUPPORTED, m->job->model, "a name has a line end, so names do not fit into lines"),
           add_hint(err, "use --no-ids");
  fprintf(m->names_file.out, "%.*s\n", (int)found.length, found.name);
  return FURROW_OK;
}

/* The vector of one side of a row: the features of an item or a user, with those of its tables. */
static furrow_status put_named(making *m, furrow_container *rows, furrow_side side, uint64_t feature,
                               furrow_error *err) {
  furrow_rowblock block;
  furrow_container_clear(rows);
  furrow_status status = furrow_encoder_push_side(m->names, side, feature, rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  if (status != FURROW_OK) return status;
  const furrow_row row = furrow_rowblock_row(&block, 0);
  status = put_row(m, &row, 0, err);
  return status == FURROW_OK ? put_name(m, feature, err) : status;
}

static furrow_status put_names(making *m, furrow_error *err) {
  const bool items = m->job->values->of == VECTORS_ITEM;
  const furrow_side side = items ? FURROW_SIDE_ITEM : FURROW_SIDE_USER;
  const size_t place = furrow_encoder_side_field(m->names, side);
  furrow_encoder_field field = {0};
  furrow_container *rows = NULL;
  if (place != SIZE_MAX) furrow_encoder_get_field(m->names, place, &field);
  if (field.entries == 0)
    return fail_in(err, FURROW_E_UNSUPPORTED, m->job->model, "the model knows no %s by name", items ? "item" : "user"),
           add_hint(err, "export rows with --data, or features with --cols");
  const uint64_t end = field.first + field.count;
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  for (uint64_t i = end - field.entries; status == FURROW_OK && i < end; i++) status = put_named(m, rows, side, i, err);
  furrow_container_free(rows);
  return status;
}

static void print_report(const making *m, output *out) {
  report r;
  report_start(&r, out, m->job->json);
  report_text(&r, "written", m->job->file);
  report_u64(&r, "vectors", m->count);
  report_u64(&r, "dimension", m->size);
  if (m->names && !m->job->no_ids) report_text(&r, "names", m->ids_path);
  report_finish(&r);
}

static furrow_status load(making *m, furrow_error *err) {
  const vectors_job *job = m->job;
  furrow_scorer_params params;
  furrow_scorer_params_init(&params);
  params.threads = job->threads;
  furrow_status status = furrow_scorer_load(&m->scorer, job->model, &params, err);
  if (status == FURROW_OK) status = furrow_scorer_vector_size(m->scorer, &m->size, err);
  if (status != FURROW_OK) return status;
  if (!job->values->data && !job->cols) m->names = furrow_scorer_encoder(m->scorer);
  if (job->values->of == VECTORS_QUERY && !job->values->data && !m->names)
    return fail(err, FURROW_E_ARGUMENT, "--vectors query needs --data URI: a row for each query");
  m->vector = calloc(m->size, sizeof *m->vector);
  return m->vector ? open_files(m, err) : fail_memory(err);
}

static furrow_status commit(making *m, furrow_error *err) {
  const text_file *names = &m->names_file;
  furrow_status status = interrupt_check(err);
  if (status != FURROW_OK) return status;
  if (m->ids) return furrow_vectors_writer_commit_pair(m->vectors, m->ids, err);
  if (!names->out) return furrow_vectors_writer_commit(m->vectors, err);
  if (fflush(names->out) != 0 || !names->text) return fail_memory(err);
  return furrow_vectors_writer_commit_text(m->vectors, m->ids_path, names->text, names->size, err);
}

furrow_status export_vectors(const vectors_job *job, output *out, furrow_error *err) {
  making m = {.job = job};
  interrupt_catch();
  furrow_status status = load(&m, err);
  if (status == FURROW_OK && m.names)
    status = put_names(&m, err);
  else if (status == FURROW_OK)
    status = job->values->data ? put_data(&m, err) : put_features(&m, err);
  if (status == FURROW_OK) status = commit(&m, err);
  if (status == FURROW_OK) print_report(&m, out);
  if (m.names_file.out) (void)text_file_end(&m.names_file, NULL, false, NULL);
  furrow_vectors_writer_close(m.ids);
  furrow_vectors_writer_close(m.vectors);
  furrow_scorer_free(m.scorer);
  free(m.vector);
  return status;
}
