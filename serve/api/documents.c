/* serve/api/documents.c: what the answers about models and about indexes share. */
#include "api/documents.h"
#include "core/shown_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- Members ---- */

static void put_name(bytes *body, const char *name) {
  bytes_format(body, ",\"%s\":", name);
}

void put_text(bytes *body, const char *name, const char *text) {
  put_name(body, name);
  if (text)
    bytes_json(body, text, strlen(text));
  else
    bytes_text(body, "null");
}

void put_count(bytes *body, const char *name, uint64_t count) {
  put_name(body, name);
  bytes_u64(body, count);
}

void put_number(bytes *body, const char *name, double number) {
  put_name(body, name);
  bytes_f64(body, number);
}

void put_flag(bytes *body, const char *name, bool flag) {
  put_name(body, name);
  bytes_text(body, flag ? "true" : "false");
}

void put_time(bytes *body, const char *name, int64_t seconds) {
  const time_t when = (time_t)seconds;
  struct tm parts;
  char text[32] = "";
  if (gmtime_r(&when, &parts)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  put_text(body, name, text);
}

bytes *put_more(http_answer *answer) {
  bytes *body = &answer->body;
  if (body->failed || body->size < 2) return NULL;
  body->size -= 2; /* "}\n" */
  return body;
}

void put_end(bytes *body) {
  bytes_text(body, "}\n");
}

/* ---- Reloads ---- */

void tell_reload(const char *what, const char *name, furrow_status status, const reload_result *result,
                 const furrow_error *err) {
  char text[1024];
  if (status == FURROW_OK && !result->changed) return;
  if (status == FURROW_OK) {
    say("furrow: %s %s: version %llu is served\n", what, name, (unsigned long long)result->version);
    return;
  }
  furrow_error_to_text(err, text, sizeof text);
  say("furrow: %s %s: not reloaded, version %llu stays: %s\n", what, name, (unsigned long long)result->version, text);
}

void answer_reload(http_answer *answer, const char *name, const reload_result *result) {
  bytes *body = &answer->body;
  answer->type = "application/json";
  bytes_text(body, "{\"name\":");
  bytes_json(body, name, strlen(name));
  put_count(body, "version", result->version);
  put_flag(body, "changed", result->changed);
  put_end(body);
}
