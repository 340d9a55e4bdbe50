/* serve/api/model_calls.c: documents of models, and :reload. */
#include <math.h>
#include <string.h>

#include "api/documents.h"
#include "api/problem.h"
#include "http/json_put.h"

/* ---- :reload ---- */

/* The operator gets the whole path of a file, the client only the part after the model's path. */
static void refuse_version(call *c, furrow_status status, const furrow_error *err, uint64_t version) {
  char text[1024];
  served_model_error_text(c->model, err, text, sizeof text);
  problem_set(c->answer, status == FURROW_E_MEMORY ? 503 : 409, "version %llu stays: %.400s",
              (unsigned long long)version, text);
  fw_buffer *body = put_more(c->answer);
  if (!body) return;
  put_text(body, "code", furrow_status_name(status));
  if (err->hint[0]) put_text(body, "hint", err->hint);
  put_count(body, "version", version);
  put_end(body);
}

void reload_model_handler(call *c) {
  furrow_error err = {0};
  reload_result result = {0};
  char refused[1024];
  if (!request_members_read(c, NULL, 0, NULL)) return;
  const furrow_status status = served_model_reload(c->model, false, &result, &err);
  tell_reload("model", served_model_name(c->model), status, &result, &err);
  if (result.is_older) served_model_error_text(c->model, &err, refused, sizeof refused);
  if (status == FURROW_OK)
    answer_reload(c->answer, served_model_name(c->model), &result, result.is_older ? refused : NULL);
  else
    refuse_version(c, status, &err, result.version);
}

/* ---- Documents ---- */

static void put_classes(fw_buffer *body, const model_version *v) {
  fw_buffer_text(body, ",\"classes\":[");
  for (size_t i = 0; i < v->class_count; i++) {
    if (i > 0) fw_buffer_text(body, ",");
    fw_buffer_text(body, v->classes[i]);
  }
  fw_buffer_text(body, "]");
}

static void put_columns(fw_buffer *body, const furrow_schema *schema) {
  fw_buffer_text(body, ",\"columns\":[");
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    fw_buffer_text(body, i > 0 ? ",{\"name\":" : "{\"name\":");
    json_put_text(body, column.name, strlen(column.name));
    put_text(body, "as", column.as);
    put_text(body, "role", column.role);
    fw_buffer_text(body, "}");
  }
  fw_buffer_text(body, "]");
}

static void put_abilities(fw_buffer *body, const model_version *v) {
  const struct {
    bool is_able;
    const char *name;
  } calls[] = {{v->scorer != NULL, "predict"},
               {v->explains, "explain"},
               {v->recommender != NULL, "recommend"},
               {v->compares, "similar"},
               {v->recommender != NULL, "suggest"}};
  const char *before = "";
  fw_buffer_text(body, ",\"can\":[");
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (!calls[i].is_able) continue;
    fw_buffer_format(body, "%s\"%s\"", before, calls[i].name);
    before = ",";
  }
  fw_buffer_text(body, "]");
}

/* Writes the candidates among which a recommender of a log was chosen, and their quality on events that were held
 * out. */
static void put_ranking(fw_buffer *body, const furrow_recommender *recommender) {
  furrow_recommender_figures figures;
  furrow_recommender_figures_init(&figures);
  furrow_recommender_get_figures(recommender, &figures);
  if (!figures.of_log) return;
  fw_buffer_format(body, ",\"ranking\":{\"k\":%zu", figures.k);
  put_count(body, "users", figures.users);
  put_number(body, "repeats", figures.repeats);
  fw_buffer_text(body, ",\"candidates\":[");
  for (size_t i = 0; i < figures.candidate_count; i++) {
    const furrow_recommender_candidate *c = &figures.candidates[i];
    fw_buffer_text(body, i > 0 ? ",{\"name\":" : "{\"name\":");
    json_put_text(body, c->name, strlen(c->name));
    put_number(body, "ndcg", c->ndcg);
    put_number(body, "gain", c->gain);
    put_number(body, "gain_error", c->gain_error);
    put_flag(body, "chosen", c->chosen);
    fw_buffer_text(body, "}");
  }
  fw_buffer_text(body, "]}");
}

static void put_version(fw_buffer *body, const model_version *v) {
  put_text(body, "algorithm", v->algorithm);
  put_text(body, "kind", !v->scorer ? "recommender" : v->encoder ? "events" : "rows");
  if (!v->encoder) put_flag(body, "named", furrow_scorer_feature_name(v->scorer, 0) != NULL);
  put_text(body, "task", v->task);
  put_classes(body, v);
  if (v->encoder) put_columns(body, furrow_encoder_schema(v->encoder));
  if (v->scorer) put_count(body, "features", v->features);
  if (!v->encoder) put_count(body, "index_base", v->index_base);
  put_count(body, "bytes", v->bytes);
  put_time(body, "loaded_at", v->loaded_at);
  if (v->recommender) {
    put_count(body, "users", furrow_recommender_user_count(v->recommender));
    put_count(body, "items", furrow_recommender_item_count(v->recommender));
    put_ranking(body, v->recommender);
  }
  put_abilities(body, v);
}

/* Writes the figures of all calls; the times are from the call that is used most. */
static void put_figures(fw_buffer *body, const service *s, size_t target) {
  metrics_summary all = {.p50_ms = NAN, .p99_ms = NAN};
  uint64_t most = 0;
  for (route_kind route = ROUTE_PREDICT; route <= ROUTE_SIMILAR; route++) {
    metrics_summary one = {0};
    metrics_summarize(s->metrics, route, target, &one);
    all.requests += one.requests;
    all.errors += one.errors;
    if (one.requests <= most) continue;
    most = one.requests;
    all.p50_ms = one.p50_ms;
    all.p99_ms = one.p99_ms;
  }
  put_count(body, "requests", all.requests);
  put_count(body, "errors", all.errors);
  put_number(body, "p50_ms", all.p50_ms);
  put_number(body, "p99_ms", all.p99_ms);
}

/* Writes the status document of TensorFlow Serving, for its clients. */
static void put_status(fw_buffer *body, const model_version *v) {
  fw_buffer_text(body, ",\"model_version_status\":[");
  if (v)
    fw_buffer_format(
        body,
        "{\"version\":\"%llu\",\"state\":\"AVAILABLE\",\"status\":{\"error_code\":\"OK\",\"error_message\":"
        "\"\"}}",
        (unsigned long long)v->number);
  fw_buffer_text(body, "]");
}

static void put_model(fw_buffer *body, const service *s, size_t target, bool is_single) {
  served_model *model = s->models[target];
  model_version *v = served_model_get(model);
  char error[1024];
  fw_buffer_text(body, "{\"name\":");
  json_put_text(body, served_model_name(model), strlen(served_model_name(model)));
  put_count(body, "version", v ? v->number : 0);
  put_text(body, "state", v ? "AVAILABLE" : "UNAVAILABLE");
  if (v) put_version(body, v);
  put_text(body, "last_error", served_model_last_error(model, error, sizeof error) ? error : NULL);
  put_figures(body, s, target);
  if (is_single) put_status(body, v);
  fw_buffer_text(body, "}");
  if (v) shared_release(&v->shared);
}

void models_handler(call *c) {
  fw_buffer *body = &c->answer->body;
  const service *s = c->service;
  c->answer->type = "application/json";
  if (!c->model) fw_buffer_text(body, "{\"models\":[");
  for (size_t i = 0, put = 0; i < s->model_count; i++) {
    if (c->model && c->model != s->models[i]) continue;
    if (put++ > 0) fw_buffer_text(body, ",");
    put_model(body, s, i, c->model != NULL);
  }
  fw_buffer_text(body, c->model ? "\n" : "]}\n");
}
