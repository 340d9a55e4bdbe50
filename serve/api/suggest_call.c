/* serve/api/suggest_call.c: :suggest, names of users or items that fit what someone types. */
#include <string.h>
#include <strings.h>

#include "api/documents.h"
#include "api/problem.h"
#include "base/error.h"
#include "core/fail.h"
#include "http/json_put.h"

enum { KEPT_BYTES = 1 << 16 };

typedef struct suggest_request {
  call *c;
  const model_version *version;
  const char *member; /* "users" or "items"; NULL: none was given */
  int64_t k;
} suggest_request;

/* ---- Reading the request ---- */

static furrow_status keep_typed(suggest_request *r, const char *member, furrow_json *json, furrow_error *err) {
  fw_buffer *kept = &r->c->memory->text;
  furrow_json_text text;
  if (r->member)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "cannot be used together with \"%s\"",
                            r->member);
  FW_TRY(furrow_json_string(json, &text, err));
  if (memchr(text.bytes, 0, text.size))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "contains a 0 byte");
  r->member = member;
  fw_buffer_append(kept, text.bytes, text.size);
  fw_buffer_append(kept, "", 1);
  return kept->missing ? fail_memory(err) : FURROW_OK;
}

static furrow_status read_users(void *into, furrow_json *json, furrow_error *err) {
  return keep_typed(into, "users", json, err);
}

static furrow_status read_items(void *into, furrow_json *json, furrow_error *err) {
  return keep_typed(into, "items", json, err);
}

static furrow_status read_k(void *into, furrow_json *json, furrow_error *err) {
  suggest_request *r = into;
  FW_TRY(furrow_json_i64(json, &r->k, err));
  if (r->k < 1) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a positive number");
  if ((uint64_t)r->k <= r->c->service->limits.max_results) return FURROW_OK;
  problem_set(r->c->answer, 413, "k is too large: the most is %zu", r->c->service->limits.max_results);
  return FURROW_E_CANCELLED;
}

static bool read_request(suggest_request *r) {
  static const request_member members[] = {{"users", read_users}, {"items", read_items}, {"k", read_k}};
  buffer_recycle(&r->c->memory->text, KEPT_BYTES);
  if (!request_members_read(r->c, members, sizeof members / sizeof *members, r)) return false;
  if (!r->member) problem_set(r->c->answer, 400, "the request has neither \"users\" nor \"items\"");
  return r->member != NULL;
}

/* ---- Answering ---- */

/* The title of an item; "": it has none. */
static const char *title_of(const suggest_request *r, uint64_t item) {
  return r->version->items ? furrow_item_table_get(r->version->items, item, 0) : "";
}

/* Capital letters count as small ones, and a title may have the text anywhere. */
static bool fits(const char *name, const char *title, const char *typed) {
  return strncasecmp(name, typed, strlen(typed)) == 0 || (*title && strcasestr(title, typed));
}

/* Writes names in the order of the dictionary, the most frequent first. */
static void put_names(const suggest_request *r, bool items) {
  const furrow_recommender *recommender = r->version->recommender;
  const char *typed = r->c->memory->text.bytes;
  fw_buffer *body = &r->c->answer->body;
  const uint64_t count =
      items ? furrow_recommender_item_count(recommender) : furrow_recommender_user_count(recommender);
  fw_buffer_format(body, "{\"%s\":[", r->member);
  int64_t found = 0;
  for (uint64_t i = 0; i < count && found < r->k; i++) {
    const char *name =
        items ? furrow_recommender_item_name(recommender, i) : furrow_recommender_user_name(recommender, i);
    const char *title = items ? title_of(r, i) : "";
    if (!fits(name, title, typed)) continue;
    if (found++ > 0) fw_buffer_text(body, ",");
    if (items) fw_buffer_text(body, "{\"item\":");
    json_put_text(body, name, strlen(name));
    if (items && r->version->items) put_text(body, "name", title);
    if (items) fw_buffer_text(body, "}");
  }
  fw_buffer_text(body, "]}\n");
  r->c->answer->type = "application/json";
}

void suggest_handler(call *c) {
  model_version *v = served_model_get(c->model);
  suggest_request r = {.c = c, .version = v, .k = 10};
  if (!v)
    problem_set(c->answer, 503, "no version of the model is ready");
  else if (!v->recommender)
    problem_set(c->answer, 422, "the model was not trained from a log of users and items");
  else if (read_request(&r))
    put_names(&r, strcmp(r.member, "items") == 0);
  if (v) shared_release(&v->shared);
}
