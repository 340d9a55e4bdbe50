/* serve/api/state_calls.c: calls for operators and their tools: liveness, readiness, metrics, the API's document, and
 * the page to try it.
 */
#include <string.h>

#include "api/problem.h"
#include "api/service.h"
#include "page/page.h"

extern const unsigned char openapi_json[];
extern const size_t openapi_json_size;

static void answer_text(call *c, const char *text) {
  c->answer->type = "text/plain; charset=utf-8";
  c->answer->fixed = text;
  c->answer->fixed_size = strlen(text);
}

void health_handler(call *c) {
  answer_text(c, "ok\n");
}

/* Returns the name of a model or index without a loaded version; NULL: all have one. */
static const char *find_missing(const service *s) {
  for (size_t i = 0; i < s->model_count; i++) {
    model_version *version = served_model_get(s->models[i]);
    if (!version) return served_model_name(s->models[i]);
    shared_release(&version->shared);
  }
  for (size_t i = 0; i < s->index_count; i++) {
    index_view *view = served_index_get(s->indexes[i]);
    if (!view) return served_index_name(s->indexes[i]);
    shared_release(&view->shared);
  }
  return NULL;
}

/* Returns the name of a writable index that refuses changes; NULL: there is none. */
static const char *find_refusing(const service *s) {
  for (size_t i = 0; i < s->index_count; i++) {
    edit_figures figures;
    served_index_get_figures(s->indexes[i], &figures);
    if (figures.refuses) return served_index_name(s->indexes[i]);
  }
  return NULL;
}

void ready_handler(call *c) {
  const char *missing = find_missing(c->service);
  const char *refusing = c->service->ready_needs_writing ? find_refusing(c->service) : NULL;
  if (atomic_load(&c->service->draining))
    problem_set(c->answer, 503, "the server is stopping");
  else if (missing)
    problem_set(c->answer, 503, "%s has no version that can be served", missing);
  else if (refusing)
    problem_set(c->answer, 503, "%s refuses changes, because its log cannot be written", refusing);
  else
    answer_text(c, "ready\n");
}

void metrics_handler(call *c) {
  c->answer->type = "text/plain; version=0.0.4; charset=utf-8";
  metrics_write(c->service, &c->answer->body);
}

/* The document has FURROW_VERSION where the version of the library belongs. */
void openapi_handler(call *c) {
  static const char mark[] = "FURROW_VERSION";
  const char *text = (const char *)openapi_json, *at = strstr(text, mark);
  const size_t before = at ? (size_t)(at - text) : openapi_json_size;
  fw_buffer *body = &c->answer->body;
  c->answer->type = "application/json";
  fw_buffer_append(body, text, before);
  if (!at) return;
  fw_buffer_text(body, furrow_version());
  fw_buffer_append(body, at + sizeof mark - 1, openapi_json_size - before - (sizeof mark - 1));
}

void page_handler(call *c) {
  c->answer->type = "text/html; charset=utf-8";
  c->answer->fixed = page_document;
  c->answer->fixed_size = page_document_size;
  c->answer->headers = page_headers;
}
