/* Until the real ones are there. */
#include "api/serve_settings.h"
#include "api/service.h"
#include "core/fail.h"
#include "edit/fresh_vectors.h"
#define W __attribute__((weak))
#pragma GCC diagnostic ignored "-Wunused-parameter"
W void predict_handler(call *c) {
  c->answer->status = 501;
}
W void explain_handler(call *c) {
  c->answer->status = 501;
}
W void recommend_handler(call *c) {
  c->answer->status = 501;
}
W void similar_handler(call *c) {
  c->answer->status = 501;
}
W void search_handler(call *c) {
  c->answer->status = 501;
}
W void add_handler(call *c) {
  c->answer->status = 501;
}
W void remove_handler(call *c) {
  c->answer->status = 501;
}
W void checkpoint_handler(call *c) {
  c->answer->status = 501;
}
W void curve_handler(call *c) {
  c->answer->status = 501;
}
W void reload_model_handler(call *c) {
  c->answer->status = 501;
}
W void reload_index_handler(call *c) {
  c->answer->status = 501;
}
W void models_handler(call *c) {
  c->answer->status = 501;
}
W void indexes_handler(call *c) {
  c->answer->status = 501;
}
W furrow_status served_model_create(served_model **model, const model_source *source, unsigned threads,
                                    furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "served_model_create is not written yet");
}
W void served_model_free(served_model *model) {
}
W const char *served_model_name(const served_model *model) {
  return 0;
}
W const char *served_model_path(const served_model *model) {
  return 0;
}
W furrow_status served_model_reload(served_model *model, bool force, reload_result *result, furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "served_model_reload is not written yet");
}
W bool served_model_has_newer(served_model *model) {
  return 0;
}
W model_version *served_model_get(served_model *model) {
  return 0;
}
W bool served_model_last_error(served_model *model, char *text, size_t size) {
  return 0;
}
W furrow_scorer_scratch *model_version_scratch(model_version *version, unsigned thread) {
  return 0;
}
W furrow_status served_index_create(served_index **index, const index_source *source, furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "served_index_create is not written yet");
}
W void served_index_free(served_index *index) {
}
W const char *served_index_name(const served_index *index) {
  return 0;
}
W const char *served_index_path(const served_index *index) {
  return 0;
}
W bool served_index_is_writable(const served_index *index) {
  return 0;
}
W furrow_status served_index_reload(served_index *index, bool force, reload_result *result, furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "served_index_reload is not written yet");
}
W bool served_index_has_newer(served_index *index) {
  return 0;
}
W index_view *served_index_get(served_index *index) {
  return 0;
}
W bool served_index_last_error(served_index *index, char *text, size_t size) {
  return 0;
}
W furrow_status index_view_search(const index_view *view, const float *queries, size_t n, const index_query *query,
                                  float *distances, int64_t *ids, furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "index_view_search is not written yet");
}
W furrow_status index_view_vector(const index_view *view, int64_t id, float *vector, furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "index_view_vector is not written yet");
}
W const char *index_view_name(const index_view *view, int64_t id, size_t *size) {
  return 0;
}
W bool index_view_find(const index_view *view, const char *name, size_t size, int64_t *id) {
  return 0;
}
W uint64_t index_view_count(const index_view *view) {
  return 0;
}
W furrow_status served_index_add(served_index *index, const index_addition *addition, int64_t *ids, furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "served_index_add is not written yet");
}
W furrow_status served_index_remove(served_index *index, const int64_t *ids, size_t n, uint64_t *removed,
                                    furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "served_index_remove is not written yet");
}
W furrow_status served_index_checkpoint(served_index *index, furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "served_index_checkpoint is not written yet");
}
W void served_index_get_figures(served_index *index, edit_figures *figures) {
}
W http_parsed http_parse_head(http_head *head, const char *data, size_t size) {
  return (http_parsed){0};
}
W http_text http_header_value(const http_head *head, const char *name) {
  return (http_text){0};
}
W bool http_text_is(http_text text, const char *literal) {
  return 0;
}
W http_parsed http_parse_chunks(http_chunks *chunks, char *data, size_t size, size_t *content) {
  return (http_parsed){0};
}
W furrow_status http_server_start(http_server **server, const http_settings *settings, const http_hooks *hooks,
                                  furrow_error *err) {
  return fail(err, FURROW_E_UNSUPPORTED, "http_server_start is not written yet");
}
W void http_server_address(const http_server *server, char *text, size_t size) {
}
W void http_server_get_figures(const http_server *server, http_figures *figures) {
}
W void http_request_finish(http_request *request) {
}
W bool http_server_stop(http_server *server, unsigned drain_ms) {
  return 0;
}
W void http_server_free(http_server *server) {
}
W uint64_t clock_ns(void) {
  return 0;
}
