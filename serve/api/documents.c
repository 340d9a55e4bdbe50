/* serve/api/documents.c: JSON of requests and answers. */
#include "api/documents.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/problem.h"
#include "base/error.h"
#include "core/fail.h"
#include "core/options.h"
#include "core/shown_text.h"
#include "http/json_put.h"

/* ---- Members of a request ---- */

enum { MOST_MEMBERS = 32 };

static furrow_status fail_unknown(furrow_json *json, furrow_json_text key, const request_member *members, size_t count,
                                  furrow_error *err) {
  const char *names[MOST_MEMBERS];
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)(key.size < sizeof word ? key.size : sizeof word - 1), key.bytes);
  for (size_t i = 0; i < count; i++) names[i] = members[i].name;
  const char *closest = closest_word(word, names, count);
  furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a member of this request");
  snprintf(err->token, sizeof err->token, "%s", word);
  return closest ? add_hint(err, "did you mean \"%s\"?", closest) : FURROW_E_FORMAT;
}

static furrow_status read_member(furrow_json *json, furrow_json_text key, const request_member *members, size_t count,
                                 uint32_t *seen, void *into, furrow_error *err) {
  for (size_t i = 0; i < count; i++) {
    if (!furrow_json_is(key, members[i].name)) continue;
    if (*seen & UINT32_C(1) << i) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "occurs twice");
    *seen |= UINT32_C(1) << i;
    return members[i].read(into, json, err);
  }
  if (furrow_json_is(key, "signature_name")) return furrow_json_skip(json, NULL, err);
  return fail_unknown(json, key, members, count, err);
}

static furrow_status read_object(furrow_json *json, const request_member *members, size_t count, void *into,
                                 furrow_error *err) {
  furrow_json_text key;
  uint32_t seen = 0;
  FW_TRY(furrow_json_object(json, err));
  furrow_status status;
  while ((status = furrow_json_member(json, &key, err)) == FURROW_OK)
    FW_TRY(read_member(json, key, members, count, &seen, into, err));
  return status == FURROW_END ? furrow_json_end(json, err) : status;
}

bool request_members_read(call *c, const request_member *members, size_t count, void *into) {
  furrow_json *json = thread_json(c->memory);
  furrow_error err = {0};
  char pointer[256];
  if (!json) {
    problem_set(c->answer, 503, "there is not enough memory");
    return false;
  }
  if (c->request->body_size == 0) return true;
  furrow_json_start(json, c->request->body, c->request->body_size, NULL);
  const furrow_status status = read_object(json, members, count, into, &err);
  if (status == FURROW_OK) return true;
  if (status == FURROW_E_CANCELLED) return false;
  json_pointer_read(pointer, sizeof pointer, json);
  problem_set_error(c->answer, status, &err, pointer);
  return false;
}

/* ---- Members of an answer ---- */

static void put_name(fw_buffer *body, const char *name) {
  fw_buffer_format(body, ",\"%s\":", name);
}

void put_text(fw_buffer *body, const char *name, const char *text) {
  put_name(body, name);
  if (text)
    json_put_text(body, text, strlen(text));
  else
    fw_buffer_text(body, "null");
}

void put_count(fw_buffer *body, const char *name, uint64_t count) {
  put_name(body, name);
  json_put_u64(body, count);
}

void put_number(fw_buffer *body, const char *name, double number) {
  put_name(body, name);
  json_put_f64(body, number);
}

void put_flag(fw_buffer *body, const char *name, bool flag) {
  put_name(body, name);
  fw_buffer_text(body, flag ? "true" : "false");
}

void put_time(fw_buffer *body, const char *name, int64_t seconds) {
  const time_t when = (time_t)seconds;
  struct tm parts;
  char text[32] = "";
  if (gmtime_r(&when, &parts)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  put_text(body, name, text);
}

fw_buffer *put_more(http_answer *answer) {
  fw_buffer *body = &answer->body;
  if (body->missing || body->size < 2) return NULL;
  body->size -= 2; /* "}\n" */
  return body;
}

void put_end(fw_buffer *body) {
  fw_buffer_text(body, "}\n");
}

/* ---- Reloads ---- */

void tell_reload(const char *what, const char *name, furrow_status status, const reload_result *result,
                 const furrow_error *err) {
  char text[1024];
  if (status == FURROW_OK && !result->changed) return;
  if (status != FURROW_OK || result->is_older) furrow_error_to_text(err, text, sizeof text);
  if (status == FURROW_OK && result->is_older) {
    say("furrow: %s %s: version %llu is served, since the newest was refused: %s\n", what, name,
        (unsigned long long)result->version, text);
    return;
  }
  if (status == FURROW_OK) {
    say("furrow: %s %s: version %llu is served\n", what, name, (unsigned long long)result->version);
    return;
  }
  say("furrow: %s %s: not reloaded, version %llu stays: %s\n", what, name, (unsigned long long)result->version, text);
}

void answer_reload(http_answer *answer, const char *name, const reload_result *result, const char *refused) {
  fw_buffer *body = &answer->body;
  answer->type = "application/json";
  fw_buffer_text(body, "{\"name\":");
  json_put_text(body, name, strlen(name));
  put_count(body, "version", result->version);
  put_flag(body, "changed", result->changed);
  if (refused) put_text(body, "refused", refused);
  put_end(body);
}
