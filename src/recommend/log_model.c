/* recommend/log_model.c: a recommender of a log as a model directory. */
#include "recommend/log_model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "furrow/model.h"
#include "furrow/version.h"
#include "io/dir_names.h"
#include "io/uri.h"
#include "rows/encode/encoder.h"

#define ALGORITHM "recommender"
#define SETTING_MOST 1e6
#define SETTING_LEAST 1e-9 /* of factors */

enum { EVENT_USER, EVENT_ITEM, EVENT_TIME, EVENT_STRENGTH, EVENT_ROWS };

void fw_log_model_free(fw_log_model *log_model) {
  if (!log_model) return;
  fw_made_taste_clear(&log_model->made);
  fw_interactions_clear(&log_model->events);
  fw_sparse_rows_clear(&log_model->groups);
  fw_free(log_model);
}

/* ---- furrow.json ---------------------------------------------------------------------------------------- */

/* Members of "recommender" and where they are in a recipe. */
static const struct setting {
  const char *name;
  size_t offset;
} numbers[] = {{"recency", offsetof(fw_recipe, rule.recency)},
               {"always", offsetof(fw_recipe, rule.always)},
               {"rating", offsetof(fw_recipe, rule.rating)},
               {"own", offsetof(fw_recipe, rule.own)},
               {"own_recency", offsetof(fw_recipe, rule.own_recency)},
               {"own_always", offsetof(fw_recipe, rule.own_always)},
               {"popular", offsetof(fw_recipe, rule.popular)},
               {"few", offsetof(fw_recipe, rule.few)},
               {"factors", offsetof(fw_recipe, rule.factors)},
               {"factor_others", offsetof(fw_recipe, factor_others)},
               {"factor_l2", offsetof(fw_recipe, factor_l2)},
               {"l2", offsetof(fw_recipe, l2)},
               {"order", offsetof(fw_recipe, order)},
               {"features", offsetof(fw_recipe, content)},
               {"trend", offsetof(fw_recipe, trend)},
               {"group_prior", offsetof(fw_recipe, group_prior)},
               {"group_power", offsetof(fw_recipe, group_power)}},
  flags[] = {{"repeats", offsetof(fw_recipe, rule.repeats)},
             {"weights", offsetof(fw_recipe, weights)},
             {"vectors", offsetof(fw_recipe, factors)}};
enum { NUMBERS = sizeof numbers / sizeof *numbers, FLAGS = sizeof flags / sizeof *flags };

static void put_recipe(fw_json_out *json, const fw_recipe *recipe) {
  fw_json_out_key(json, ALGORITHM);
  fw_json_out_open(json);
  for (size_t i = 0; i < NUMBERS; i++)
    fw_json_out_member_real(json, numbers[i].name, *(const double *)((const char *)recipe + numbers[i].offset));
  for (size_t i = 0; i < FLAGS; i++)
    fw_json_out_member_bool(json, flags[i].name, *(const bool *)((const char *)recipe + flags[i].offset));
  fw_json_out_member_unsigned(json, "neighbours", recipe->neighbours);
  fw_json_out_close(json);
}

static void put_figures(fw_json_out *json, const fw_log_model *log_model) {
  const fw_rule_selection *selection = &log_model->selection;
  fw_json_out_key(json, "ranking");
  fw_json_out_open(json);
  fw_json_out_member(json, "chosen", fw_candidate_name(selection->chosen));
  fw_json_out_member_unsigned(json, "k", log_model->k);
  fw_json_out_member_unsigned(json, "users", selection->users);
  fw_json_out_member_real(json, "repeats", selection->repeats);
  for (fw_candidate_kind i = 0; i < FW_CANDIDATES; i++) {
    const fw_candidate *c = &selection->candidates[i];
    if (!c->there) continue;
    fw_json_out_key(json, fw_candidate_name(i));
    fw_json_out_open(json);
    fw_json_out_member_real(json, "ndcg", c->ndcg);
    fw_json_out_member_real(json, "gain", c->gain);
    fw_json_out_member_real(json, "gain_error", c->error);
    fw_json_out_close(json);
  }
  fw_json_out_close(json);
}

static furrow_status write_json(const fw_log_model *log_model, fw_buffer *text, furrow_error *err) {
  fw_json_out json = {.out = text};
  fw_json_out_open(&json);
  fw_json_out_member_unsigned(&json, "version", 1);
  fw_json_out_member(&json, "furrow", FURROW_VERSION);
  fw_json_out_member(&json, "algorithm", ALGORITHM);
  fw_json_out_key(&json, "data");
  fw_json_out_open(&json);
  fw_json_out_member(&json, "format", "table");
  fw_json_out_member_unsigned(&json, "rows", log_model->events.offset[log_model->events.users]);
  if (log_model->events.rated) fw_json_out_member_real(&json, "rating_deviation", log_model->events.deviation);
  if (log_model->events.in_order) fw_json_out_member_bool(&json, "in_order", true);
  if (!isnan(log_model->positive)) fw_json_out_member_real(&json, "positive", log_model->positive);
  fw_json_out_close(&json);
  put_recipe(&json, &log_model->selection.recipe);
  fw_json_out_key(&json, "figures");
  fw_json_out_open(&json);
  put_figures(&json, log_model);
  fw_json_out_close(&json);
  fw_json_out_close(&json);
  fw_buffer_byte(text, '\n');
  return fw_buffer_status(text, err);
}

/* ---- Reading furrow.json -------------------------------------------------------------------------------- */

/* The last part of a member's path if the path begins so; otherwise NULL. */
static const char *member_below(const char *member, const char *above) {
  const size_t length = strlen(above);
  return strncmp(member, above, length) == 0 ? member + length : NULL;
}

static double read_number(const char *text) {
  char *end = NULL;
  const double number = strtod(text, &end);
  return *text && *end == '\0' ? number : NAN;
}

/* A value of another type becomes NaN, which check_recipe refuses; *wrong becomes the name of a flag that is not a
 * boolean. */
static void see_setting(fw_recipe *recipe, const char *name, const char *text, const char **wrong) {
  for (size_t i = 0; i < NUMBERS; i++)
    if (strcmp(name, numbers[i].name) == 0) *(double *)((char *)recipe + numbers[i].offset) = read_number(text);
  for (size_t i = 0; i < FLAGS; i++) {
    const bool is_true = strcmp(text, "true") == 0;
    if (strcmp(name, flags[i].name) != 0) continue;
    *(bool *)((char *)recipe + flags[i].offset) = is_true;
    if (!is_true && strcmp(text, "false") != 0) *wrong = flags[i].name;
  }
  if (strcmp(name, "neighbours") == 0) recipe->neighbours = strtoull(text, NULL, 10);
}

static void see_candidate(fw_rule_selection *selection, const char *name, const char *text) {
  for (fw_candidate_kind i = 0; i < FW_CANDIDATES; i++) {
    const char *what = member_below(name, fw_candidate_name(i));
    fw_candidate *c = &selection->candidates[i];
    if (!what || what[0] != '/') continue;
    c->there = true;
    if (strcmp(what, "/ndcg") == 0) c->ndcg = strtod(text, NULL);
    if (strcmp(what, "/gain") == 0) c->gain = strtod(text, NULL);
    if (strcmp(what, "/gain_error") == 0) c->error = strtod(text, NULL);
  }
}

typedef struct json_reading {
  fw_log_model *to;
  const char *wrong; /* a member that is not a boolean; NULL: none */
} json_reading;

static furrow_status see_member(void *user, const char *member, const char *text) {
  json_reading *reading = user;
  fw_log_model *to = reading->to;
  const char *name = member_below(member, ALGORITHM "/");
  if (!text) return FURROW_OK;
  if (name) see_setting(&to->selection.recipe, name, text, &reading->wrong);
  if (strcmp(member, "data/rating_deviation") == 0) to->events.deviation = strtod(text, NULL);
  if (strcmp(member, "data/in_order") == 0) to->events.in_order = strcmp(text, "true") == 0;
  if (strcmp(member, "data/positive") == 0) to->positive = strtod(text, NULL);
  name = member_below(member, "figures/ranking/");
  if (!name) return FURROW_OK;
  see_candidate(&to->selection, name, text);
  if (strcmp(name, "k") == 0) to->k = strtoull(text, NULL, 10);
  if (strcmp(name, "users") == 0) to->selection.users = strtoull(text, NULL, 10);
  if (strcmp(name, "repeats") == 0) to->selection.repeats = strtod(text, NULL);
  for (fw_candidate_kind i = 0; strcmp(name, "chosen") == 0 && i < FW_CANDIDATES; i++)
    if (strcmp(text, fw_candidate_name(i)) == 0) to->selection.chosen = i;
  return FURROW_OK;
}

static furrow_status check_recipe(const fw_log_model *of, const char *wrong, furrow_error *err) {
  const fw_recipe *recipe = &of->selection.recipe;
  if (wrong) return fw_fail(err, FURROW_E_FORMAT, "recommender/%s is not true or false", wrong);
  if (!(of->events.deviation >= 0 && of->events.deviation <= FLT_MAX))
    return fw_fail(err, FURROW_E_FORMAT, "data/rating_deviation is not a number of at least 0");
  for (size_t i = 0; i < NUMBERS; i++) {
    const double number = *(const double *)((const char *)recipe + numbers[i].offset);
    if (!(number >= 0 && number <= SETTING_MOST))
      return fw_fail(err, FURROW_E_FORMAT, "recommender/%s is not a number from 0 to a million", numbers[i].name);
  }
  if (recipe->factors && !(recipe->factor_others >= SETTING_LEAST && recipe->factor_l2 >= SETTING_LEAST))
    return fw_fail(err, FURROW_E_FORMAT, "recommender/factor_others and factor_l2 are not numbers above 0");
  return FURROW_OK;
}

static furrow_status read_json(fw_log_model *to, const char *folder, furrow_error *err) {
  json_reading reading = {.to = to};
  char *path = NULL;
  FW_TRY(fw_path_join(&path, folder, "furrow.json", err));
  furrow_status status = furrow_model_json_for_each(path, see_member, &reading, err);
  if (status == FURROW_OK) {
    status = check_recipe(to, reading.wrong, err);
    if (status != FURROW_OK) fw_error_set_file(err, path);
  }
  fw_free(path);
  return status;
}

/* ---- Matrices written ----------------------------------------------------------------------------------- */

typedef struct matrix_shape {
  const char *name, *row_type;
  int32_t id, rows;
  int64_t cols;
} matrix_shape;

static furrow_status plan_matrix(furrow_matrix_meta **meta, const matrix_shape *shape, furrow_error *err) {
  const furrow_matrix_row_type *type = NULL;
  furrow_matrix_spec spec;
  FW_TRY(furrow_matrix_row_type_find(shape->row_type, &type, err));
  furrow_matrix_spec_init(&spec);
  spec.matrix_id = shape->id;
  spec.name = shape->name;
  spec.format = "ColIdValueBinary";
  spec.row_type = type->number;
  spec.rows = shape->rows;
  spec.cols = shape->cols;
  spec.block_cols = shape->cols; /* a row is not divided */
  return furrow_matrix_plan(meta, &spec, err);
}

static furrow_status write_matrix(furrow_model_writer *model, const matrix_shape *shape, const furrow_panel *panels,
                                  size_t count, const furrow_matrix_write_params *params, furrow_error *err) {
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *meta = NULL;
  furrow_matrix_writer *writer = NULL;
  furrow_status status = furrow_matrix_borrow(&matrix, panels, count, NULL, NULL, err);
  if (status == FURROW_OK) status = plan_matrix(&meta, shape, err);
  if (status == FURROW_OK) status = furrow_matrix_writer_open_in(&writer, model, meta, params, err);
  if (status == FURROW_OK) status = furrow_matrix_writer_write_matrix(writer, matrix, err);
  if (status == FURROW_OK) status = furrow_matrix_writer_commit(writer, err);
  furrow_matrix_writer_close(writer);
  furrow_matrix_meta_free(meta);
  furrow_matrix_free(matrix);
  return status;
}

static furrow_status write_sparse(furrow_model_writer *model, const char *name, int32_t id,
                                  const fw_sparse_rows *weights, const furrow_matrix_write_params *params,
                                  furrow_error *err) {
  const size_t rows = weights->rows, count = weights->offset[rows];
  const matrix_shape shape = {
      .name = name, .row_type = "T_FLOAT_SPARSE", .id = id, .rows = (int32_t)rows, .cols = (int64_t)weights->columns};
  furrow_panel *panels = NULL;
  int64_t *columns = NULL;
  int32_t *ids = NULL;
  furrow_status status = FW_ALLOC_ZERO(&panels, rows, err);
  if (status == FURROW_OK) status = FW_ALLOC(&columns, count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&ids, rows, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++) columns[i] = weights->column[i];
  for (size_t r = 0; status == FURROW_OK && r < rows; r++) {
    ids[r] = (int32_t)r;
    panels[r] = (furrow_panel){.rows = 1,
                               .row_ids = &ids[r],
                               .cols = weights->offset[r + 1] - weights->offset[r],
                               .col_ids = columns + weights->offset[r],
                               .type = FURROW_ELEMENT_F32,
                               .values.f32 = weights->value + weights->offset[r]};
  }
  if (status == FURROW_OK) status = write_matrix(model, &shape, panels, rows, params, err);
  fw_free(panels);
  fw_free(columns);
  fw_free(ids);
  return status;
}

static furrow_status write_factors(furrow_model_writer *model, const fw_factors *factors,
                                   const furrow_matrix_write_params *params, furrow_error *err) {
  const matrix_shape shape = {.name = "factors",
                              .row_type = "T_FLOAT_DENSE",
                              .id = 3,
                              .rows = (int32_t)factors->items,
                              .cols = (int64_t)factors->size};
  furrow_panel *panels = NULL;
  int32_t *ids = NULL;
  furrow_status status = FW_ALLOC_ZERO(&panels, factors->items, err);
  if (status == FURROW_OK) status = FW_ALLOC(&ids, factors->items, err);
  for (size_t r = 0; status == FURROW_OK && r < factors->items; r++) {
    ids[r] = (int32_t)r;
    panels[r] = (furrow_panel){.rows = 1,
                               .row_ids = &ids[r],
                               .cols = factors->size,
                               .type = FURROW_ELEMENT_F32,
                               .values.f32 = factors->vectors + r * factors->size};
  }
  if (status == FURROW_OK) status = write_matrix(model, &shape, panels, factors->items, params, err);
  fw_free(panels);
  fw_free(ids);
  return status;
}

static furrow_status write_popularity(furrow_model_writer *model, const fw_made_taste *made,
                                      const furrow_matrix_write_params *params, furrow_error *err) {
  const matrix_shape shape = {
      .name = "popularity", .row_type = "T_FLOAT_DENSE", .id = 1, .rows = 1, .cols = (int64_t)made->items};
  const int32_t row = 0;
  const furrow_panel panel = {
      .rows = 1, .row_ids = &row, .cols = made->items, .type = FURROW_ELEMENT_F32, .values.f32 = made->popularity};
  return write_matrix(model, &shape, &panel, 1, params, err);
}

static void fill_events(const fw_interactions *events, double *values) {
  const size_t count = events->offset[events->users];
  for (size_t u = 0; u < events->users; u++)
    for (size_t i = events->offset[u]; i < events->offset[u + 1]; i++) {
      values[EVENT_USER * count + i] = (double)u;
      values[EVENT_ITEM * count + i] = events->item[i];
      values[EVENT_TIME * count + i] = events->time[i];
      values[EVENT_STRENGTH * count + i] = events->strength[i];
    }
}

static furrow_status write_events(furrow_model_writer *model, const fw_interactions *events,
                                  const furrow_matrix_write_params *params, furrow_error *err) {
  static const int32_t ids[EVENT_ROWS] = {0, 1, 2, 3};
  const size_t count = events->offset[events->users];
  const matrix_shape shape = {
      .name = "events", .row_type = "T_DOUBLE_DENSE", .id = 2, .rows = EVENT_ROWS, .cols = (int64_t)count};
  furrow_panel panels[EVENT_ROWS];
  double *values = NULL;
  FW_TRY(FW_ALLOC_ROWS(&values, count, EVENT_ROWS, err));
  fill_events(events, values);
  for (size_t r = 0; r < EVENT_ROWS; r++)
    panels[r] = (furrow_panel){
        .rows = 1, .row_ids = &ids[r], .cols = count, .type = FURROW_ELEMENT_F64, .values.f64 = values + r * count};
  const furrow_status status = write_matrix(model, &shape, panels, EVENT_ROWS, params, err);
  fw_free(values);
  return status;
}

static furrow_status write_encoder(furrow_model_writer *model, const furrow_encoder *encoder, furrow_error *err) {
  fw_buffer schema = {0};
  const void *dictionary = NULL;
  size_t size = 0;
  furrow_status status = fw_encoder_files(encoder, &schema, &dictionary, &size, err);
  if (status == FURROW_OK)
    status = furrow_model_writer_write_file(model, FW_SCHEMA_NAME, schema.bytes, schema.size, err);
  if (status == FURROW_OK) status = furrow_model_writer_write_file(model, FW_DICTIONARY_NAME, dictionary, size, err);
  fw_buffer_clear(&schema);
  return status;
}

furrow_status fw_log_model_save(const fw_log_model *log_model, const furrow_encoder *encoder, const char *folder,
                                const furrow_matrix_write_params *params, furrow_error *err) {
  furrow_model_writer *model = NULL;
  fw_buffer json = {0};
  furrow_status status = furrow_model_writer_open(&model, folder, params, err);
  if (status == FURROW_OK) status = write_json(log_model, &json, err);
  if (status == FURROW_OK) status = furrow_model_writer_write_file(model, "furrow.json", json.bytes, json.size, err);
  if (status == FURROW_OK) status = write_encoder(model, encoder, err);
  if (status == FURROW_OK && log_model->made.has_weights)
    status = write_sparse(model, "item_item", 0, &log_model->made.weights, params, err);
  if (status == FURROW_OK && log_model->made.has_factors)
    status = write_factors(model, &log_model->made.factors, params, err);
  if (status == FURROW_OK && log_model->made.has_groups)
    status = write_sparse(model, "user_groups", 4, &log_model->made.groups, params, err);
  if (status == FURROW_OK) status = write_popularity(model, &log_model->made, params, err);
  if (status == FURROW_OK) status = write_events(model, &log_model->events, params, err);
  if (status == FURROW_OK) status = furrow_model_writer_commit(model, err);
  furrow_model_writer_close(model);
  fw_buffer_clear(&json);
  return status;
}

/* ---- Matrices read -------------------------------------------------------------------------------------- */

static furrow_status fail_matrix(const char *folder, const char *name, const char *what, furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "the matrix %s %s", name, what);
  fw_error_set_file(err, folder);
  return FURROW_E_FORMAT;
}

/* Loads a matrix of the model whose elements have this type. */
static furrow_status load_matrix(furrow_matrix **matrix, const char *folder, const char *name, furrow_element_type type,
                                 unsigned threads, furrow_error *err) {
  furrow_matrix_load_params params;
  furrow_matrix *made = NULL;
  char *path = NULL;
  furrow_matrix_load_params_init(&params);
  params.threads = threads;
  FW_TRY(fw_path_join(&path, folder, name, err));
  furrow_status status = furrow_matrix_load(&made, path, &params, err);
  fw_free(path);
  if (status == FURROW_OK && furrow_matrix_type(made) != type)
    status = fail_matrix(folder, name, "has elements of another type", err);
  return FW_HAND_OVER(status, matrix, made, furrow_matrix_free);
}

/* Copies the matrix `name` of weights->rows rows and weights->columns columns. */
static furrow_status copy_sparse(fw_sparse_rows *weights, const furrow_matrix *matrix, const char *name,
                                 const char *folder, furrow_error *err) {
  size_t at = 0;
  FW_TRY(FW_ALLOC_ZERO(&weights->offset, weights->rows + 1, err));
  FW_TRY(FW_ALLOC(&weights->column, furrow_matrix_count(matrix), err));
  FW_TRY(FW_ALLOC(&weights->value, furrow_matrix_count(matrix), err));
  for (size_t r = 0; r < weights->rows; r++) {
    furrow_matrix_row_view row;
    furrow_matrix_row(matrix, (int32_t)r, &row);
    for (size_t i = 0; i < row.count; i++, at++) {
      const int64_t column = furrow_matrix_row_view_col(&row, i);
      const double value = furrow_matrix_row_view_get(&row, i);
      if (column < 0 || (uint64_t)column >= weights->columns)
        return fail_matrix(folder, name, "has too many columns", err);
      if (!isfinite(value)) return fail_matrix(folder, name, "has a weight that is not finite", err);
      weights->column[at] = (uint32_t)column;
      weights->value[at] = (float)value;
    }
    weights->offset[r + 1] = at;
  }
  if (at < furrow_matrix_count(matrix)) return fail_matrix(folder, name, "has too many rows", err);
  return FURROW_OK;
}

static furrow_status read_sparse(fw_sparse_rows *weights, const char *name, const char *folder, unsigned threads,
                                 furrow_error *err) {
  furrow_matrix *matrix = NULL;
  FW_TRY(load_matrix(&matrix, folder, name, FURROW_ELEMENT_F32, threads, err));
  const furrow_status status = copy_sparse(weights, matrix, name, folder, err);
  furrow_matrix_free(matrix);
  return status;
}

static furrow_status read_weights(fw_log_model *to, const char *folder, size_t items, unsigned threads,
                                  furrow_error *err) {
  to->made.weights.rows = to->made.weights.columns = items;
  return read_sparse(&to->made.weights, "item_item", folder, threads, err);
}

/* The groups of the users follow from the dictionary. */
static furrow_status read_groups(fw_log_model *to, const char *folder, const furrow_recommender *r, unsigned threads,
                                 furrow_error *err) {
  fw_sparse_rows *factors = &to->made.groups;
  FW_TRY(fw_user_groups_find(r, &to->groups, err));
  to->events.groups = &to->groups;
  factors->rows = to->groups.columns;
  factors->columns = r->items.count;
  FW_TRY(read_sparse(factors, "user_groups", folder, threads, err));
  for (size_t i = 0; i < factors->offset[factors->rows]; i++)
    if (!(factors->value[i] >= 1 && factors->value[i] <= FW_GROUP_FACTOR_MOST))
      return fail_matrix(folder, "user_groups", "has a factor that is not 1 to 1000", err);
  return FURROW_OK;
}

static furrow_status copy_factors(float *vectors, size_t size, const furrow_matrix *matrix, size_t items,
                                  const char *folder, furrow_error *err) {
  for (size_t r = 0; r < items; r++) {
    furrow_matrix_row_view row;
    if (!furrow_matrix_row(matrix, (int32_t)r, &row) || row.count != size || furrow_matrix_row_view_col(&row, 0) != 0)
      return fail_matrix(folder, "factors", "does not have a vector for each item", err);
    for (size_t k = 0; k < size; k++) {
      vectors[r * size + k] = (float)furrow_matrix_row_view_get(&row, k);
      if (!isfinite(vectors[r * size + k]))
        return fail_matrix(folder, "factors", "has a number that is not finite", err);
    }
  }
  return FURROW_OK;
}

static furrow_status read_factors(fw_log_model *to, const char *folder, size_t items, unsigned threads,
                                  furrow_error *err) {
  const fw_recipe *recipe = &to->selection.recipe;
  furrow_matrix *matrix = NULL;
  furrow_matrix_row_view row;
  float *vectors = NULL;
  FW_TRY(load_matrix(&matrix, folder, "factors", FURROW_ELEMENT_F32, threads, err));
  const size_t size = furrow_matrix_row(matrix, 0, &row) ? row.count : 0;
  const fw_factors_params params = {.size = size, .others = recipe->factor_others, .l2 = recipe->factor_l2};
  furrow_status status = FURROW_OK;
  if (size == 0 || size > FW_FACTORS_MOST)
    status = fail_matrix(folder, "factors", "has vectors of another length", err);
  else
    status = FW_ALLOC_ROWS(&vectors, items, size, err);
  if (status == FURROW_OK) status = copy_factors(vectors, size, matrix, items, folder, err);
  furrow_matrix_free(matrix);
  if (status == FURROW_OK) return fw_factors_from(&to->made.factors, vectors, items, &params, err);
  fw_free(vectors);
  return status;
}

static furrow_status copy_popularity(fw_made_taste *made, const furrow_matrix *matrix, const char *folder,
                                     furrow_error *err) {
  furrow_matrix_row_view row;
  if (!furrow_matrix_row(matrix, 0, &row) || row.count != made->items || furrow_matrix_row_view_col(&row, 0) != 0)
    return fail_matrix(folder, "popularity", "does not have a number for each item", err);
  FW_TRY(FW_ALLOC(&made->popularity, made->items, err));
  for (size_t i = 0; i < made->items; i++) {
    made->popularity[i] = (float)furrow_matrix_row_view_get(&row, i);
    if (!isfinite(made->popularity[i]))
      return fail_matrix(folder, "popularity", "has a number that is not finite", err);
  }
  return fw_taste_order(made->popularity, made->items, &made->by_popularity, err);
}

static furrow_status read_popularity(fw_log_model *to, const char *folder, unsigned threads, furrow_error *err) {
  furrow_matrix *matrix = NULL;
  FW_TRY(load_matrix(&matrix, folder, "popularity", FURROW_ELEMENT_F32, threads, err));
  const furrow_status status = copy_popularity(&to->made, matrix, folder, err);
  furrow_matrix_free(matrix);
  return status;
}

/* Whether a number is an integer from `least` to most-1. */
static bool is_number(double value, size_t least, size_t most) {
  return value >= (double)least && value < (double)most && floor(value) == value;
}

static furrow_status copy_events(fw_interactions *to, const furrow_matrix *matrix, const char *folder,
                                 furrow_error *err) {
  furrow_matrix_row_view rows[EVENT_ROWS];
  size_t user = 0;
  for (int32_t r = 0; r < EVENT_ROWS; r++)
    if (!furrow_matrix_row(matrix, r, &rows[r]) || rows[r].count != rows[0].count)
      return fail_matrix(folder, "events", "does not have four numbers for each event", err);
  const size_t count = rows[0].count;
  FW_TRY(FW_ALLOC_ZERO(&to->offset, to->users + 1, err));
  FW_TRY(FW_ALLOC(&to->item, count, err));
  FW_TRY(FW_ALLOC(&to->time, count, err));
  FW_TRY(FW_ALLOC(&to->strength, count, err));
  for (size_t i = 0; i < count; i++) {
    const double who = furrow_matrix_row_view_get(&rows[EVENT_USER], i);
    const double item = furrow_matrix_row_view_get(&rows[EVENT_ITEM], i);
    if (!is_number(who, user, to->users)) return fail_matrix(folder, "events", "is not sorted by known users", err);
    if (!is_number(item, 0, to->items)) return fail_matrix(folder, "events", "has an unknown item", err);
    user = (size_t)who;
    to->offset[user + 1]++;
    to->item[i] = (uint32_t)item;
    to->time[i] = furrow_matrix_row_view_get(&rows[EVENT_TIME], i);
    to->strength[i] = (float)furrow_matrix_row_view_get(&rows[EVENT_STRENGTH], i);
    to->timed = to->timed || to->time[i] != to->time[0];
    if (!isfinite(to->time[i]) || !(fabsf(to->strength[i]) <= 2))
      return fail_matrix(folder, "events", "has a time or a strength out of range", err);
  }
  for (size_t u = 0; u < to->users; u++) to->offset[u + 1] += to->offset[u];
  return FURROW_OK;
}

static furrow_status read_events(fw_log_model *to, const char *folder, unsigned threads, furrow_error *err) {
  furrow_matrix *matrix = NULL;
  FW_TRY(load_matrix(&matrix, folder, "events", FURROW_ELEMENT_F64, threads, err));
  const furrow_status status = copy_events(&to->events, matrix, folder, err);
  furrow_matrix_free(matrix);
  return status;
}

static furrow_status load_learned(fw_log_model *to, const char *folder, const furrow_recommender *r, unsigned threads,
                                  furrow_error *err) {
  const size_t users = r->users.count, items = r->items.count;
  to->positive = NAN;
  FW_TRY(read_json(to, folder, err));
  to->made.rule = to->selection.recipe.rule;
  to->made.items = items;
  to->made.has_weights = to->selection.recipe.weights;
  to->events.users = users;
  to->events.items = items;
  to->events.rated = to->events.deviation > 0;
  to->made.has_factors = to->selection.recipe.factors;
  to->made.has_groups = to->selection.recipe.group_prior > 0;
  if (to->made.has_weights) FW_TRY(read_weights(to, folder, items, threads, err));
  if (to->made.has_groups) FW_TRY(read_groups(to, folder, r, threads, err));
  if (to->made.has_factors) FW_TRY(read_factors(to, folder, items, threads, err));
  FW_TRY(read_popularity(to, folder, threads, err));
  return read_events(to, folder, threads, err);
}

furrow_status fw_log_model_load(fw_log_model **log_model, const char *folder, const furrow_recommender *r,
                                unsigned threads, furrow_error *err) {
  fw_log_model *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  const furrow_status status = load_learned(made, folder, r, threads, err);
  return FW_HAND_OVER(status, log_model, made, fw_log_model_free);
}
