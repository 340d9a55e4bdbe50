/* serve/api/request_members.c: the body of a request: a JSON object whose members are all known, each once. */
#include "api/request_members.h"

#include <stdio.h>
#include <string.h>

#include "api/json_pointer.h"
#include "api/problem.h"
#include "api/serve_settings.h"
#include "core/fail.h"
#include "core/options.h"

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
    if (*seen & UINT32_C(1) << i) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is there twice");
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
  FAIL_TRY(furrow_json_object(json, err));
  furrow_status status;
  while ((status = furrow_json_member(json, &key, err)) == FURROW_OK)
    FAIL_TRY(read_member(json, key, members, count, &seen, into, err));
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
