/* serve/models/model_version.c: loads one version of a model: read, check, load, warm. */
#include "models/model_version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "core/fail.h"
#include "http/json_put.h"
#include "learn/model_names.h"
#include "models/instance_decoder.h"
#include "shared/loaded_files.h"

static void free_classes(const model_version *version) {
  for (size_t i = 0; version->classes && i < version->class_count; i++) free(version->classes[i]);
  free((void *)version->classes);
}

static void free_version(shared *self) {
  model_version *v = (model_version *)self;
  for (unsigned i = 0; v->scratch && i < v->threads; i++) furrow_scorer_scratch_free(v->scratch[i]);
  free((void *)v->scratch);
  free_classes(v);
  instance_decoder_free(v->decoder);
  furrow_events_free(v->seen);
  furrow_item_table_free(v->items);
  furrow_recommender_free(v->recommender);
  furrow_scorer_free(v->own_scorer);
  furrow_learn_conf_free(v->conf);
  free(v->folder);
  free(v);
}

furrow_scorer_scratch *model_version_scratch(model_version *version, unsigned thread) {
  furrow_scorer_scratch **scratch = &version->scratch[thread];
  if (!*scratch && furrow_scorer_scratch_create(scratch, version->scorer, NULL) != FURROW_OK) return NULL;
  return *scratch;
}

/* ---- Checking ---- */

static furrow_status check_matrices(const char *folder, unsigned threads, furrow_error *err) {
  const furrow_matrix_verify_params params = FURROW_INIT(furrow_matrix_verify_params, .threads = threads);
  furrow_model_listing *listing = NULL;
  FW_TRY(furrow_model_listing_load(&listing, folder, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < listing->matrix_count; i++)
    status = furrow_matrix_verify(listing->matrices[i].folder, &params, err);
  furrow_model_listing_free(listing);
  return status;
}

/* ---- Classes ---- */

/* The list of class-names, each as it stands in the JSON. */
typedef struct own_names {
  furrow_json_text *texts; /* texts of each class; NULL: the model has none */
  size_t count;
} own_names;

static furrow_status fail_names(const model_version *v, size_t count, furrow_error *err) {
  return fail_in(err, FURROW_E_FORMAT, v->folder,
                 "class-names is not a list with a string, a number or a boolean for each of the %zu classes", count);
}

static furrow_status read_names(furrow_json *json, own_names *names, furrow_error *err) {
  size_t count = 0;
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK) {
    const furrow_json_kind kind = furrow_json_peek(json);
    const bool is_name = kind == FURROW_JSON_STRING || kind == FURROW_JSON_NUMBER || kind == FURROW_JSON_BOOL;
    if (count == names->count || !is_name) return FURROW_E_FORMAT;
    status = furrow_json_skip(json, &names->texts[count++], err);
  }
  if (status != FURROW_END) return status;
  return count == names->count ? furrow_json_end(json, err) : FURROW_E_FORMAT;
}

static furrow_status get_names(const model_version *v, own_names *names, furrow_error *err) {
  const char *text = furrow_learn_conf_get(furrow_scorer_conf(v->scorer), "class-names");
  furrow_json *json = NULL;
  if (!text || !*text || names->count == 0) return FURROW_OK;
  FW_TRY(furrow_json_create(&json, err));
  names->texts = calloc(names->count, sizeof *names->texts);
  furrow_status status = names->texts ? FURROW_OK : fail_memory(err);
  furrow_json_start(json, text, strlen(text), NULL);
  if (status == FURROW_OK) status = read_names(json, names, err);
  if (status == FURROW_E_FORMAT) status = fail_names(v, names->count, err);
  furrow_json_free(json);
  return status;
}

/* Class i of rows has name i. The labels of a log are texts, numbered in the order of the schema: there the text of a
 * label is the number of the name. */
static size_t name_position(const model_version *v, size_t i) {
  const char *text = class_name(v->scorer, furrow_scorer_class_label(v->scorer, i));
  char *end = NULL;
  if (!text) return i;
  const double place = strtod(text, &end);
  return end != text && !*end && place >= 0 && place < 1e9 && place == trunc(place) ? (size_t)place : SIZE_MAX;
}

static furrow_status write_class(const model_version *v, const own_names *names, size_t i, fw_buffer *text,
                                 furrow_error *err) {
  const double label = furrow_scorer_class_label(v->scorer, i);
  const char *name = class_name(v->scorer, label);
  const size_t place = name_position(v, i);
  if (names->texts && place >= names->count) return fail_names(v, names->count, err);
  if (names->texts)
    fw_buffer_append(text, names->texts[place].bytes, names->texts[place].size);
  else if (name)
    json_put_text(text, name, strlen(name));
  else
    json_put_f64(text, label);
  fw_buffer_append(text, "", 1);
  return text->missing ? fail_memory(err) : FURROW_OK;
}

static furrow_status make_classes(model_version *v, const own_names *names, furrow_error *err) {
  fw_buffer text = {0};
  furrow_status status = FURROW_OK;
  v->classes = (char **)calloc(v->class_count + 1, sizeof *v->classes);
  if (!v->classes) return fail_memory(err);
  for (size_t i = 0; i < v->class_count && status == FURROW_OK; i++) {
    buffer_recycle(&text, SIZE_MAX);
    status = write_class(v, names, i, &text, err);
    if (status == FURROW_OK && !(v->classes[i] = strdup(text.bytes))) status = fail_memory(err);
  }
  fw_buffer_clear(&text);
  return status;
}

/* Fills in version->classes: of each class the name that the model keeps for it (the setting class-names, or the schema
 * of a log), or its label. */
static furrow_status make_version_classes(model_version *version, furrow_error *err) {
  while (!isnan(furrow_scorer_class_label(version->scorer, version->class_count))) version->class_count++;
  own_names names = {.count = version->class_count};
  furrow_status status = get_names(version, &names, err);
  if (status == FURROW_OK) status = make_classes(version, &names, err);
  free(names.texts);
  return status;
}

/* Labels ascend. */
const char *model_class_of(const model_version *version, double label) {
  size_t first = 0, end = version->class_count;
  while (first < end) {
    const size_t middle = first + (end - first) / 2;
    const double found = furrow_scorer_class_label(version->scorer, middle);
    if (found == label) return version->classes[middle];
    if (found < label)
      first = middle + 1;
    else
      end = middle;
  }
  return NULL;
}

/* ---- Loading ---- */

static furrow_status load_conf(model_version *v, const char *folder, furrow_error *err) {
  FW_TRY(furrow_learn_conf_create(&v->conf, err));
  return furrow_learn_conf_load_model(v->conf, folder, err);
}

/* A model of users and items has a recommender, which brings the scorer; others have the scorer alone. A recommender
 * of a log has none. */
static furrow_status load_scorer(model_version *v, const char *folder, unsigned threads, furrow_error *err) {
  furrow_scorer_params params;
  furrow_recommender_params recommending;
  furrow_scorer_params_init(&params);
  furrow_recommender_params_init(&recommending);
  params.threads = recommending.threads = threads;
  const furrow_status status = furrow_recommender_open(&v->recommender, folder, &recommending, err);
  if (status != FURROW_OK && status != FURROW_E_UNSUPPORTED) return status;
  if (status == FURROW_E_UNSUPPORTED) FW_TRY(furrow_scorer_load(&v->own_scorer, folder, &params, err));
  v->scorer = v->recommender ? furrow_recommender_scorer(v->recommender) : v->own_scorer;
  v->encoder = v->recommender ? furrow_recommender_encoder(v->recommender) : furrow_scorer_encoder(v->scorer);
  return FURROW_OK;
}

/* FILE:COLUMN; the file may have colons, too. */
static furrow_status load_items(model_version *v, const char *text, furrow_error *err) {
  const char *colon = strrchr(text, ':');
  if (!colon || colon == text || !colon[1]) return fail_token(err, text, "a table of items is given as FILE:COLUMN");
  char *file = unmapped_path(text);
  if (!file) return fail_memory(err);
  *strrchr(file, ':') = 0;
  const char *column = colon + 1;
  const furrow_status status = furrow_item_table_load(&v->items, v->recommender, file, &column, 1, err);
  free(file);
  return status;
}

static furrow_status load_seen(model_version *v, const char *log, unsigned threads, furrow_error *err) {
  furrow_events_params params;
  furrow_events_params_init(&params);
  params.threads = threads;
  char *file = unmapped_path(log); /* a pipe would be waited for */
  if (!file) return fail_memory(err);
  const furrow_status status = furrow_events_load(&v->seen, v->recommender, file, &params, err);
  free(file);
  return status;
}

static furrow_status load_tables(model_version *v, const model_source *source, unsigned threads, furrow_error *err) {
  if ((source->items || source->seen) && !v->recommender)
    return fail(err, FURROW_E_ARGUMENT, "the model does not have users and items: it takes neither --items nor --seen");
  furrow_status status = source->items ? load_items(v, source->items, err) : FURROW_OK;
  if (status == FURROW_OK && source->seen) status = load_seen(v, source->seen, threads, err);
  if (status != FURROW_OK) unmapped_error(err);
  return status;
}

/* ---- What it is ---- */

static const char *setting(const model_version *v, const char *key) {
  const char *value = furrow_learn_conf_get(furrow_scorer_conf(v->scorer), key);
  return value ? value : "";
}

static const char *task_of(const model_version *v, const model_facts *facts) {
  if (facts->ranks) return "ranking";
  if (furrow_scorer_class_count(v->scorer) > 1) return "multiclass";
  return isnan(furrow_scorer_class_label(v->scorer, 0)) ? "regression" : "binary";
}

/* Of libsvm, libffm and libfm; other rows count from 0. */
static unsigned index_base_of(const model_version *v) {
  const char *format = setting(v, "format"), *base = setting(v, "index-base");
  return !v->encoder && strncmp(format, "lib", 3) == 0 && strcmp(base, "1") == 0;
}

/* Counts the features of a model of rows: the named ones, or the configured range; else what the training data had,
 * and, if the model does not say that, up to the last feature that has a weight or a split. So the number does not
 * depend on which features a training happened to use. */
static furrow_status count_features(model_version *v, furrow_error *err) {
  uint64_t *ids = NULL;
  size_t count = 0, names = 0;
  const long long range = atoll(setting(v, "range"));
  v->index_base = index_base_of(v);
  while (!v->encoder && furrow_scorer_feature_name(v->scorer, names)) names++;
  if (v->encoder || names > 0 || range > 0) {
    v->features = v->encoder ? furrow_encoder_feature_count(v->encoder) : names > 0 ? names : (uint64_t)range;
    return FURROW_OK;
  }
  FW_TRY(furrow_scorer_features(v->scorer, 0, UINT64_MAX, &ids, &count, err));
  if (count > 0 && ids[count - 1] >= v->features) v->features = ids[count - 1] + 1;
  furrow_free(ids);
  return FURROW_OK;
}

/* ---- The first row ---- */

/* Scores an event without cells, or a row without features: the score of the bias, or of missing values. */
static furrow_status score_one(model_version *v, furrow_container *rows, furrow_error *err) {
  furrow_scorer_scratch *scratch = model_version_scratch(v, 0);
  furrow_rowblock block;
  furrow_row row = {0};
  furrow_score score;
  furrow_contributions contributions;
  if (!scratch) return fail_memory(err);
  if (v->encoder) {
    FW_TRY(furrow_encoder_push_event(v->encoder, NULL, 0, rows, err));
    FW_TRY(furrow_container_get_block(rows, &block, err));
    row = furrow_rowblock_row(&block, 0);
  }
  const furrow_status status = furrow_scorer_score_row(v->scorer, scratch, &row, &score, err);
  if (status == FURROW_E_RANGE && !v->encoder) return FURROW_OK; /* a net whose rows have a number of features */
  if (status != FURROW_OK) return status;
  if (!isfinite(score.pred)) return fail_file(err, FURROW_E_RANGE, v->folder, "the score of a row is not finite", 0);
  furrow_contributions_init(&contributions);
  v->explains = furrow_scorer_contributions(v->scorer, scratch, &row, &contributions, err) == FURROW_OK;
  return FURROW_OK;
}

static furrow_status warm_scorer(model_version *v, furrow_error *err) {
  furrow_container *rows = NULL;
  FW_TRY(furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err));
  const furrow_status status = score_one(v, rows, err);
  furrow_container_free(rows);
  return status;
}

/* ---- The time of a row ---- */

enum { MEASURED_ROWS = 8, MEASURED_FEATURES = 128, TRIALS = 3 };

static uint64_t thread_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A row as long as requests may have them: an event has each field, although its values are missing. */
static furrow_status push_typical(const model_version *v, furrow_container *rows, furrow_error *err) {
  uint64_t index[MEASURED_FEATURES];
  float value[MEASURED_FEATURES];
  furrow_row row = {.index = {index}, .value = {value}, .key_type = FURROW_KEY_U64, .value_type = FURROW_VALUE_F32};
  if (v->encoder) return furrow_encoder_push_event(v->encoder, NULL, 0, rows, err);
  for (; row.length < MEASURED_FEATURES && row.length < v->features; row.length++) {
    index[row.length] = row.length;
    value[row.length] = 1;
  }
  return furrow_container_push_row(rows, &row, err);
}

/* As :predict scores rows: several classes take another pass. */
static furrow_status score_typical(const model_version *v, furrow_scorer_scratch *scratch, const furrow_rowblock *rows,
                                   double *probabilities, furrow_error *err) {
  furrow_score scores[MEASURED_ROWS];
  FW_TRY(furrow_scorer_score_block(v->scorer, scratch, rows, scores, err));
  for (size_t i = 0; probabilities && i < rows->size; i++) {
    const furrow_row row = furrow_rowblock_row(rows, i);
    FW_TRY(furrow_scorer_class_probabilities(v->scorer, scratch, &row, probabilities, err));
  }
  return FURROW_OK;
}

/* Takes the best of some trials, because other load slows some of them down. A model whose rows have fields may not
 * take such rows: then the time is measured with the first request. */
static void time_rows(model_version *v, const furrow_rowblock *rows, double *probabilities) {
  furrow_scorer_scratch *scratch = model_version_scratch(v, 0);
  uint64_t best = UINT64_MAX;
  for (int i = 0; scratch && i < TRIALS; i++) {
    const uint64_t begin = thread_ns();
    if (score_typical(v, scratch, rows, probabilities, NULL) != FURROW_OK) return;
    const uint64_t taken = thread_ns() - begin;
    if (taken < best) best = taken;
  }
  if (best != UINT64_MAX) v->row_ns = best / MEASURED_ROWS + 1;
}

static furrow_status measure_scorer(model_version *v, furrow_error *err) {
  const size_t classes = furrow_scorer_class_count(v->scorer);
  furrow_container *rows = NULL;
  furrow_rowblock block;
  double *probabilities = classes > 1 ? calloc(classes, sizeof *probabilities) : NULL;
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  for (int i = 0; i < MEASURED_ROWS && status == FURROW_OK; i++) status = push_typical(v, rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  if (status == FURROW_OK) time_rows(v, &block, probabilities);
  furrow_container_free(rows);
  free(probabilities);
  return status;
}

/* Whether a recommender of a log has an item that others are similar to. */
static bool compares_items(const model_version *v) {
  furrow_recommend_params params;
  furrow_recommendation result;
  furrow_recommend_params_init(&params);
  params.k = params.threads = 1;
  for (uint64_t i = 0; i < furrow_recommender_item_count(v->recommender); i++)
    if (furrow_recommender_similar(v->recommender, i, &params, &result, NULL) == FURROW_OK) return true;
  return false;
}

static furrow_status warm_recommender(model_version *v, unsigned threads, furrow_error *err) {
  furrow_prepare_params preparing;
  furrow_recommend_params params;
  furrow_recommender_info info;
  furrow_recommendation result;
  const uint64_t first = 0;
  furrow_prepare_params_init(&preparing);
  preparing.keep = false;
  preparing.threads = threads;
  FW_TRY(furrow_recommender_prepare(v->recommender, &preparing, err));
  furrow_recommender_info_init(&info);
  furrow_recommender_get_info(v->recommender, &info);
  v->compares = info.vector_size > 0 || (!v->scorer && compares_items(v));
  if (furrow_recommender_user_count(v->recommender) == 0) return FURROW_OK;
  furrow_recommend_params_init(&params);
  params.k = params.threads = 1;
  return furrow_recommender_recommend(v->recommender, &first, 1, &params, &result, err);
}

/* ---- All of it ---- */

static furrow_status prepare_scorer(model_version *v, furrow_error *err) {
  FW_TRY(count_features(v, err));
  FW_TRY(make_version_classes(v, err));
  FW_TRY(warm_scorer(v, err));
  return measure_scorer(v, err);
}

static furrow_status load_all(model_version *v, const model_source *source, const char *folder, unsigned threads,
                              furrow_error *err) {
  model_facts facts;
  FW_TRY(model_facts_read(&facts, folder, err));
  if (!facts.recommends) FW_TRY(load_conf(v, folder, err));
  FW_TRY(check_matrices(folder, threads, err));
  FW_TRY(load_scorer(v, folder, threads, err));
  snprintf(v->algorithm, sizeof v->algorithm, "%s", facts.algorithm[0] ? facts.algorithm : "graph");
  v->features = facts.features;
  v->task = task_of(v, &facts);
  FW_TRY(load_tables(v, source, threads, err));
  if (v->scorer) FW_TRY(prepare_scorer(v, err));
  return v->recommender ? warm_recommender(v, threads, err) : FURROW_OK;
}

static furrow_status create_version(model_version **version, const version_folder *folder, unsigned users,
                                    furrow_error *err) {
  model_version *v = calloc(1, sizeof *v);
  if (!v) return fail_memory(err);
  shared_init(&v->shared, free_version);
  v->number = folder->number;
  v->bytes = folder->print.bytes;
  v->loaded_at = (int64_t)time(NULL);
  v->threads = users > 0 ? users : 1;
  v->folder = strdup(folder->path);
  v->scratch = (furrow_scorer_scratch **)calloc(v->threads, sizeof *v->scratch);
  *version = v;
  if (v->folder && v->scratch) return FURROW_OK;
  shared_release(&v->shared);
  return fail_memory(err);
}

furrow_status model_version_load(model_version **version, const model_source *source, const version_folder *folder,
                                 unsigned threads, unsigned users, furrow_error *err) {
  model_version *v = NULL;
  FW_TRY(unmapped_files_register(err));
  FW_TRY(create_version(&v, folder, users, err));
  char *unmapped = unmapped_path(folder->path);
  furrow_status status = unmapped ? load_all(v, source, unmapped, threads, err) : fail_memory(err);
  if (status == FURROW_OK) status = version_folder_check(folder, err);
  if (status == FURROW_OK) {
    *version = v;
  } else {
    unmapped_error(err);
    shared_release(&v->shared);
  }
  free(unmapped);
  return status;
}
