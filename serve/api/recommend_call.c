/* serve/api/recommend_call.c: :recommend, items for users, and :similar, items like an item. */
#include <stdio.h>
#include <string.h>

#include "api/documents.h"
#include "api/instances.h"
#include "api/problem.h"
#include "base/error.h"
#include "core/fail.h"
#include "http/json_put.h"

enum {
  MOST_RESULTS = 1 << 20, /* of a request: subjects times k */
  RESULTS_AT_ONCE = 1 << 14,
  KEPT_BYTES = 1 << 20, /* memory that a thread keeps from request to request */
  MOST_WARNINGS = 32,   /* about a context; the others are counted */
  MOST_REASONS = 10     /* of an item */
};

/* A text of the request: a place in memory->text, followed by a 0. */
typedef struct text_span {
  size_t at, size;
} text_span;

/* Texts of one list of the request, as they follow each other in memory->numbers. */
typedef struct text_list_span {
  size_t first, count;
  bool is_given;
} text_list_span;

/* A decoded request. The subjects are users or, for :similar, items. */
typedef struct recommend_request {
  call *c;
  model_version *version;
  bool is_similar;
  text_list_span subjects, only, exclude;
  text_list_span context; /* column, value, column, value … */
  int64_t k;
  bool exclude_seen;
  bool include_seen; /* also recommend items that users took in the log of the recommender */
  bool skips_unknown;
  int64_t reasons; /* for each item */
  /* As found, in memory->results */
  uint64_t *numbers;              /* numbers of the subjects; FURROW_NO_ITEM: not known to the model */
  furrow_recommendation *results; /* results of some subjects */
  uint64_t *known;                /* numbers of the subjects that the model knows */
  uint8_t *allowed;               /* NULL: all items */
  furrow_pair *pairs;             /* pairs of the context */
} recommend_request;

/* ---- Reading the request ---- */

static text_span *span_at(const recommend_request *r, size_t i) {
  return (text_span *)(void *)r->c->memory->numbers.bytes + i;
}

static const char *text_at(const recommend_request *r, size_t i) {
  return r->c->memory->text.bytes + span_at(r, i)->at;
}

static furrow_status keep_text(recommend_request *r, furrow_json_text text, furrow_error *err) {
  thread_memory *memory = r->c->memory;
  const text_span span = {memory->text.size, text.size};
  fw_buffer_append(&memory->text, text.bytes, text.size);
  fw_buffer_append(&memory->text, "", 1);
  fw_buffer_append(&memory->numbers, &span, sizeof span);
  return memory->text.missing || memory->numbers.missing ? fail_memory(err) : FURROW_OK;
}

static size_t kept_count(const recommend_request *r) {
  return r->c->memory->numbers.size / sizeof(text_span);
}

/* Keeps a name: a string, or a number as it is written. */
static furrow_status keep_name(recommend_request *r, furrow_json *json, furrow_error *err) {
  furrow_json_text text;
  FW_TRY((furrow_json_peek(json) == FURROW_JSON_NUMBER ? furrow_json_skip : furrow_json_string)(json, &text, err));
  return keep_text(r, text, err);
}

static furrow_status answer_too_much(recommend_request *r, const char *what, uint64_t most) {
  problem_set(r->c->answer, 413, "%s: the most is %llu", what, (unsigned long long)most);
  return FURROW_E_CANCELLED;
}

static furrow_status keep_names(recommend_request *r, furrow_json *json, text_list_span *list, uint64_t most,
                                const char *too_many, furrow_error *err) {
  *list = (text_list_span){.first = kept_count(r), .is_given = true};
  FW_TRY(furrow_json_array(json, err));
  furrow_status status;
  while ((status = furrow_json_element(json, err)) == FURROW_OK) {
    if (list->count == most) return answer_too_much(r, too_many, most);
    FW_TRY(keep_name(r, json, err));
    list->count++;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status read_subjects(void *into, furrow_json *json, furrow_error *err) {
  recommend_request *r = into;
  return keep_names(r, json, &r->subjects, r->c->service->limits.max_rows, "too many of them in one request", err);
}

/* Returns the longest list of items: names may be repeated or unknown, but a longer list is a mistake. */
static uint64_t most_items(const recommend_request *r) {
  return furrow_recommender_item_count(r->version->recommender) + r->c->service->limits.max_rows;
}

static furrow_status read_only(void *into, furrow_json *json, furrow_error *err) {
  recommend_request *r = into;
  return keep_names(r, json, &r->only, most_items(r), "too many items in \"only\"", err);
}

static furrow_status read_exclude(void *into, furrow_json *json, furrow_error *err) {
  recommend_request *r = into;
  return keep_names(r, json, &r->exclude, most_items(r), "too many items in \"exclude\"", err);
}

static furrow_status read_k(void *into, furrow_json *json, furrow_error *err) {
  recommend_request *r = into;
  FW_TRY(furrow_json_i64(json, &r->k, err));
  if (r->k < 1) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a positive number");
  if ((uint64_t)r->k > r->c->service->limits.max_results)
    return answer_too_much(r, "k is too large", r->c->service->limits.max_results);
  return FURROW_OK;
}

/* Whether the recommender itself leaves out items that users took in its log, because that log does not repeat. */
static bool leaves_out_own(const furrow_recommender *recommender) {
  furrow_recommender_figures figures;
  furrow_recommender_figures_init(&figures);
  furrow_recommender_get_figures(recommender, &figures);
  return figures.of_log && figures.repeats < 0.1;
}

static furrow_status read_exclude_seen(void *into, furrow_json *json, furrow_error *err) {
  recommend_request *r = into;
  bool excludes;
  FW_TRY(furrow_json_bool(json, &excludes, err));
  if (excludes && !r->version->seen && !leaves_out_own(r->version->recommender))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err,
                            "cannot be true: the server was not given a log of what users have seen (--seen)");
  r->exclude_seen = excludes && r->version->seen;
  r->include_seen = !excludes;
  return FURROW_OK;
}

static furrow_status read_reasons(void *into, furrow_json *json, furrow_error *err) {
  recommend_request *r = into;
  FW_TRY(furrow_json_i64(json, &r->reasons, err));
  if (r->reasons < 0 || r->reasons > MOST_REASONS)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a number from 0 to %d", MOST_REASONS);
  if (r->reasons > 0 && r->version->scorer)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err,
                            "is for recommenders of a log (furrow train --model recommender)");
  return FURROW_OK;
}

static furrow_status read_unknown(void *into, furrow_json *json, furrow_error *err) {
  recommend_request *r = into;
  furrow_json_text text;
  FW_TRY(furrow_json_string(json, &text, err));
  r->skips_unknown = furrow_json_is(text, "skip");
  if (r->skips_unknown || furrow_json_is(text, "error")) return FURROW_OK;
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is neither \"error\" nor \"skip\"");
}

/* Keeps a cell: a string, or a number or boolean as it is written; null means missing and is kept as a NULL text. */
static furrow_status keep_cell(recommend_request *r, furrow_json *json, furrow_error *err) {
  furrow_json_text text;
  switch (furrow_json_peek(json)) {
  case FURROW_JSON_NUMBER:
  case FURROW_JSON_BOOL: FW_TRY(furrow_json_skip(json, &text, err)); break;
  case FURROW_JSON_NULL:
    FW_TRY(furrow_json_null(json, err));
    FW_TRY(keep_text(r, (furrow_json_text){"", 0}, err));
    span_at(r, kept_count(r) - 1)->size = SIZE_MAX;
    return FURROW_OK;
  default: FW_TRY(furrow_json_string(json, &text, err)); break;
  }
  if (memchr(text.bytes, 0, text.size))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "contains a 0 byte");
  return keep_text(r, text, err);
}

static furrow_status read_context(void *into, furrow_json *json, furrow_error *err) {
  enum { MOST_CELLS = 4096 };
  recommend_request *r = into;
  furrow_json_text key;
  furrow_status status;
  if (!r->version->scorer)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err,
                            "does not apply: this recommender knows users and items alone");
  r->context = (text_list_span){.first = kept_count(r), .is_given = true};
  FW_TRY(furrow_json_object(json, err));
  while ((status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    if (r->context.count == MOST_CELLS) return answer_too_much(r, "too many cells in \"context\"", MOST_CELLS);
    if (memchr(key.bytes, 0, key.size))
      return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "contains a 0 byte");
    FW_TRY(keep_text(r, key, err));
    FW_TRY(keep_cell(r, json, err));
    r->context.count++;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static bool read_request(recommend_request *r) {
  static const request_member of_users[] = {{"users", read_subjects},
                                            {"k", read_k},
                                            {"exclude_seen", read_exclude_seen},
                                            {"context", read_context},
                                            {"only", read_only},
                                            {"exclude", read_exclude},
                                            {"unknown", read_unknown},
                                            {"reasons", read_reasons}};
  static const request_member of_items[] = {{"items", read_subjects},
                                            {"k", read_k},
                                            {"only", read_only},
                                            {"exclude", read_exclude},
                                            {"unknown", read_unknown}};
  thread_memory *memory = r->c->memory;
  buffer_recycle(&memory->text, KEPT_BYTES);
  buffer_recycle(&memory->numbers, KEPT_BYTES);
  buffer_recycle(&memory->results, KEPT_BYTES);
  const bool is_read = r->is_similar ? request_members_read(r->c, of_items, sizeof of_items / sizeof *of_items, r)
                                     : request_members_read(r->c, of_users, sizeof of_users / sizeof *of_users, r);
  if (is_read && !r->subjects.is_given)
    problem_set(r->c->answer, 400, "the request has no member \"%s\"", r->is_similar ? "items" : "users");
  return is_read && r->subjects.is_given;
}

/* ---- Names to numbers ---- */

static void answer_not_found(recommend_request *r, furrow_status status, const furrow_error *err, const char *member,
                             size_t i) {
  char pointer[64];
  snprintf(pointer, sizeof pointer, "/%s/%zu", member, i);
  problem_set_error(r->c->answer, status, err, pointer);
}

/* Passes no error, so that the library does not search for a similar name, which takes time. */
static bool find_subjects(recommend_request *r) {
  const furrow_recommender *recommender = r->version->recommender;
  for (size_t i = 0; i < r->subjects.count; i++) {
    furrow_error err = {0}, *wanted = r->skips_unknown ? NULL : &err;
    const char *name = text_at(r, r->subjects.first + i);
    const size_t size = span_at(r, r->subjects.first + i)->size;
    const furrow_status status = (r->is_similar ? furrow_recommender_find_item : furrow_recommender_find_user)(
        recommender, name, size, &r->numbers[i], wanted);
    if (status == FURROW_OK) continue;
    r->numbers[i] = FURROW_NO_ITEM;
    if (r->skips_unknown && status == FURROW_E_NOT_FOUND) continue;
    answer_not_found(r, status, &err, r->is_similar ? "items" : "users", i);
    return false;
  }
  return true;
}

/* Excluding an item that the model does not know has no effect, because such an item is never recommended. But a list
 * of the only allowed items is an error if it has such an item. */
static bool set_allowed(recommend_request *r, const text_list_span *list, uint8_t allowed) {
  const bool skips = r->skips_unknown || !allowed;
  for (size_t i = 0; i < list->count; i++) {
    furrow_error err = {0};
    uint64_t item = 0;
    const furrow_status status =
        furrow_recommender_find_item(r->version->recommender, text_at(r, list->first + i),
                                     span_at(r, list->first + i)->size, &item, skips ? NULL : &err);
    if (status == FURROW_OK) r->allowed[item] = allowed;
    if (status == FURROW_OK || (skips && status == FURROW_E_NOT_FOUND)) continue;
    answer_not_found(r, status, &err, allowed ? "only" : "exclude", i);
    return false;
  }
  return true;
}

static bool find_allowed(recommend_request *r) {
  if (!r->allowed) return true;
  memset(r->allowed, r->only.is_given ? 0 : 1, furrow_recommender_item_count(r->version->recommender));
  return set_allowed(r, &r->only, 1) && set_allowed(r, &r->exclude, 0);
}

static void set_pairs(recommend_request *r) {
  for (size_t i = 0; i < r->context.count; i++) {
    const size_t cell = r->context.first + 2 * i;
    r->pairs[i] = (furrow_pair){.column = text_at(r, cell),
                                .value = span_at(r, cell + 1)->size == SIZE_MAX ? NULL : text_at(r, cell + 1)};
  }
}

/* The number of subjects in one call of the library. */
static size_t batch_size(const recommend_request *r) {
  const size_t most = (size_t)r->k < RESULTS_AT_ONCE ? RESULTS_AT_ONCE / (size_t)r->k : 1;
  return r->is_similar ? 1 : r->subjects.count < most ? r->subjects.count : most;
}

/* One reservation, cut into the arrays: the widest elements first. */
static bool reserve_memory(recommend_request *r) {
  const size_t items = furrow_recommender_item_count(r->version->recommender), n = r->subjects.count;
  const size_t batch = batch_size(r), results = batch * (size_t)r->k, pairs = r->context.count;
  const bool masked = r->only.is_given || r->exclude.is_given;
  char *memory =
      fw_buffer_reserve(&r->c->memory->results, results * sizeof *r->results + pairs * sizeof *r->pairs +
                                                    (n + batch) * sizeof *r->numbers + (masked ? items : 0) + 1);
  if (!memory) return false;
  r->results = (furrow_recommendation *)(void *)memory;
  r->pairs = (furrow_pair *)(void *)(r->results + results);
  r->numbers = (uint64_t *)(void *)(r->pairs + pairs);
  r->known = r->numbers + n;
  r->allowed = masked ? (uint8_t *)(r->known + batch) : NULL;
  return true;
}

/* ---- Finding and answering ---- */

static void put_item(const model_version *v, uint64_t item, fw_buffer *body) {
  const char *name = furrow_recommender_item_name(v->recommender, item);
  fw_buffer_text(body, "{\"item\":");
  json_put_text(body, name, strlen(name));
  if (v->items) put_text(body, "name", furrow_item_table_get(v->items, item, 0));
}

/* Writes the items of the user that speak for an item: ,"because":[…]. */
static void put_reasons(const recommend_request *r, uint64_t user, uint64_t item, fw_buffer *body) {
  furrow_recommend_reason reasons[MOST_REASONS];
  size_t count = 0;
  if (r->reasons == 0) return;
  fw_buffer_text(body, ",\"because\":[");
  if (furrow_recommender_explain(r->version->recommender, user, item, reasons, (size_t)r->reasons, &count, NULL) !=
      FURROW_OK)
    count = 0;
  for (size_t i = 0; i < count; i++) {
    if (i > 0) fw_buffer_text(body, ",");
    put_item(r->version, reasons[i].item, body);
    put_number(body, "part", reasons[i].part);
    fw_buffer_text(body, "}");
  }
  fw_buffer_text(body, "]");
}

static void put_results(recommend_request *r, size_t subject, const furrow_recommendation *results) {
  fw_buffer *body = &r->c->answer->body;
  const model_version *v = r->version;
  const text_span *span = span_at(r, r->subjects.first + subject);
  fw_buffer_text(body, subject > 0 ? ",{" : "{");
  fw_buffer_text(body, r->is_similar ? "\"item\":" : "\"user\":");
  json_put_text(body, text_at(r, r->subjects.first + subject), span->size);
  fw_buffer_text(body, results ? ",\"items\":[" : ",\"known\":false,\"items\":[");
  for (int64_t i = 0; results && i < r->k && results[i].item != FURROW_NO_ITEM; i++) {
    if (i > 0) fw_buffer_text(body, ",");
    put_item(v, results[i].item, body);
    put_number(body, r->is_similar ? "similarity" : "score", results[i].score);
    put_reasons(r, r->numbers[subject], results[i].item, body);
    fw_buffer_text(body, "}");
  }
  fw_buffer_text(body, "]}");
}

static furrow_status find_similar(recommend_request *r, const furrow_recommend_params *params, furrow_error *err) {
  for (size_t i = 0; i < r->subjects.count; i++) {
    const bool is_known = r->numbers[i] != FURROW_NO_ITEM;
    furrow_status status = FURROW_OK;
    if (is_known) status = furrow_recommender_similar(r->version->recommender, r->numbers[i], params, r->results, err);
    if (status != FURROW_OK) {
      answer_not_found(r, status, err, "items", i);
      return FURROW_E_CANCELLED;
    }
    put_results(r, i, is_known ? r->results : NULL);
  }
  return FURROW_OK;
}

static size_t pack_known(const uint64_t *numbers, size_t count, uint64_t *known) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    if (numbers[i] != FURROW_NO_ITEM) known[n++] = numbers[i];
  return n;
}

static furrow_status find_for_users(recommend_request *r, const furrow_recommend_params *params, furrow_error *err) {
  const size_t at_once = batch_size(r);
  for (size_t first = 0; first < r->subjects.count; first += at_once) {
    const size_t n = r->subjects.count - first < at_once ? r->subjects.count - first : at_once;
    const size_t users = pack_known(r->numbers + first, n, r->known);
    if (users > 0)
      FW_TRY(furrow_recommender_recommend(r->version->recommender, r->known, users, params, r->results, err));
    const furrow_recommendation *next = r->results;
    for (size_t i = first; i < first + n; i++) {
      const bool is_known = r->numbers[i] != FURROW_NO_ITEM;
      put_results(r, i, is_known ? next : NULL);
      if (is_known) next += r->k;
    }
  }
  return FURROW_OK;
}

/* Answers with the context cell of an error: the library names its column in the token or at the start of its
 * message. */
static void refuse_context(recommend_request *r, furrow_status status, const furrow_error *err) {
  char pointer[256] = "/context";
  const char *found = NULL;
  for (size_t i = 0; i < r->context.count; i++) {
    const char *column = r->pairs[i].column;
    const size_t size = strlen(column);
    const bool is_token = status == FURROW_E_ARGUMENT && strcmp(err->token, column) == 0;
    const bool is_named = strncmp(err->message, "column ", 7) == 0 && strncmp(err->message + 7, column, size) == 0 &&
                          strncmp(err->message + 7 + size, ": ", 2) == 0;
    if ((is_token || is_named) && (!found || size > strlen(found))) found = column;
  }
  if (found) json_pointer_add(pointer, sizeof pointer, found, strlen(found));
  problem_set_error(r->c->answer, status, err, r->context.count > 0 ? pointer : NULL);
}

/* A cell of the context as a JSON pointer. */
static void point_to_cell(const char *column, char *pointer, size_t size) {
  snprintf(pointer, size, "/context");
  json_pointer_add(pointer, size, column, strlen(column));
}

/* Returns why a cell is implausible; NULL: it is plausible. */
static const char *cell_problem(const event_column *column, const char *value) {
  const size_t size = strlen(value);
  if (column->check == CHECK_TIME && event_column_is_far(column, value, size))
    return "the time is before the year 1900 or after 3000";
  return column->check == CHECK_NUMBER && event_cell_is_bool(value, size) ? "true or false, but not a number" : NULL;
}

/* Refuses a time in another unit than its column's, and true for a number, as predictions do. */
static bool has_plausible_cells(recommend_request *r) {
  const event_columns *columns = r->context.count > 0 ? instances_columns(r->version) : NULL;
  for (size_t i = 0; columns && i < r->context.count; i++) {
    const furrow_pair *cell = &r->pairs[i];
    const event_column *column = event_columns_find(columns, cell->column, strlen(cell->column));
    const char *problem = column && cell->value ? cell_problem(column, cell->value) : NULL;
    if (!problem) continue;
    char pointer[256];
    furrow_error err = {0};
    point_to_cell(cell->column, pointer, sizeof pointer);
    fail(&err, FURROW_E_PARSE, "%s", problem);
    if (column->check == CHECK_TIME)
      add_hint(&err, "%.60s has %s, such as %s", column->name, column->unit->text, column->unit->example);
    else
      add_hint(&err, "the column has numbers: 1 for true, 0 for false if that is meant");
    problem_set_error(r->c->answer, FURROW_E_PARSE, &err, pointer);
    return false;
  }
  return true;
}

/* The warnings of an answer. */
typedef struct context_warnings {
  fw_buffer *body;
  size_t count;
} context_warnings;

static void put_unknown(void *user, const event_column *column, const char *value, size_t size) {
  context_warnings *w = user;
  char pointer[256], text[384];
  if (w->count++ >= MOST_WARNINGS) return;
  point_to_cell(column->name, pointer, sizeof pointer);
  snprintf(text, sizeof text, "%s: the model does not know the value %.*s", pointer + 1, (int)(size < 80 ? size : 80),
           value);
  fw_buffer_text(w->body, w->count == 1 ? ",\"warnings\":[" : ",");
  json_put_text(w->body, text, strlen(text));
}

/* Warns about values that the model does not know, which count as missing. */
static void put_warnings(recommend_request *r, fw_buffer *body) {
  const event_columns *columns = r->context.count > 0 ? instances_columns(r->version) : NULL;
  context_warnings warnings = {.body = body};
  for (size_t i = 0; columns && i < r->context.count; i++) {
    const furrow_pair *cell = &r->pairs[i];
    const event_column *column = event_columns_find(columns, cell->column, strlen(cell->column));
    if (column && cell->value)
      event_column_tell_unknown(column, r->version->encoder, cell->value, strlen(cell->value), put_unknown, &warnings);
  }
  if (warnings.count > MOST_WARNINGS)
    fw_buffer_format(body, ",\"and %zu more warnings\"", warnings.count - MOST_WARNINGS);
  if (warnings.count > 0) fw_buffer_text(body, "]");
}

static void find_and_answer(recommend_request *r) {
  furrow_recommend_params params;
  furrow_error err = {0};
  fw_buffer *body = &r->c->answer->body;
  furrow_recommend_params_init(&params);
  params.k = (size_t)r->k;
  params.threads = 1;
  params.allowed = r->allowed;
  params.seen = r->exclude_seen ? r->version->seen : NULL;
  params.include_seen = r->include_seen;
  params.context = r->pairs;
  params.context_count = r->context.count;
  fw_buffer_text(body, r->is_similar ? "{\"similar\":[" : "{\"recommendations\":[");
  const furrow_status status = (r->is_similar ? find_similar : find_for_users)(r, &params, &err);
  if (status == FURROW_E_CANCELLED) return;
  if (status != FURROW_OK) {
    refuse_context(r, status, &err);
    return;
  }
  fw_buffer_text(body, "]");
  put_warnings(r, body);
  fw_buffer_text(body, "}\n");
  r->c->answer->type = "application/json";
}

static void work_on(recommend_request *r) {
  const uint64_t items = furrow_recommender_item_count(r->version->recommender);
  if (!read_request(r)) return;
  r->c->rows = r->subjects.count;
  if ((uint64_t)r->k > items) r->k = items > 0 ? (int64_t)items : 1;
  if (r->subjects.count > MOST_RESULTS / (size_t)r->k) {
    answer_too_much(r, "too many results: users or items times k", MOST_RESULTS);
    return;
  }
  if (!reserve_memory(r)) {
    problem_set(r->c->answer, 503, "there is not enough memory");
    return;
  }
  set_pairs(r);
  if (has_plausible_cells(r) && find_subjects(r) && find_allowed(r)) find_and_answer(r);
}

static void answer_recommend(call *c, bool is_similar) {
  model_version *v = served_model_get(c->model);
  if (!v)
    problem_set(c->answer, 503, "no version of the model is ready");
  else if (!v->recommender)
    problem_set(c->answer, 422, "the model was not trained from a log of users and items");
  else if (is_similar && !v->compares)
    problem_set(c->answer, 422, "this model cannot compare items");
  else
    work_on(
        &(recommend_request){.c = c, .version = v, .is_similar = is_similar, .k = 10, .exclude_seen = v->seen != NULL});
  if (v) shared_release(&v->shared);
}

void recommend_handler(call *c) {
  answer_recommend(c, false);
}

void similar_handler(call *c) {
  answer_recommend(c, true);
}
