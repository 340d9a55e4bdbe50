/* serve/api/index_requests.c: decodes and checks the requests for an index. */
#include "api/index_requests.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "base/error.h"
#include "core/fail.h"
#include "core/options.h"
#include "http/json_put.h"
#include "indexes/attribute_texts.h"
#include "indexes/fresh_vectors.h"
#include "indexes/index_base.h"

enum {
  MOST_RESULTS = 1 << 20, /* vectors * k */
  MANY_FILTER_IDS = 1024, /* sorting more ids is too slow for a loop thread */
  MOST_FILTER_IDS = 1000000,
  MANY_QUERIES = 16,   /* more queries are too slow for a loop thread */
  LONG_SCAN = 1 << 20, /* scanning more bytes is too slow for a loop thread */
  KEEP_BYTES = 1 << 20 /* memory that a thread keeps for the next request */
};

/* One request while it is read. */
typedef struct reading {
  furrow_json *json;
  const index_view *view;
  const service_limits *limits;
  thread_memory *memory;
  request_fault *fault;
  size_t most; /* elements of an array of ids or names */
  size_t d;
  size_t n;       /* vectors that were read */
  size_t missing; /* ids or names to remove that do not exist */
  unsigned given; /* bit set of the members that were given */
} reading;

enum { MOST_EF_SEARCH = 1 << 16, MOST_K_FACTOR = 1000 }; /* memory that one query takes */
enum { MOST_MISSING = 100 };                             /* that an answer names */

static const char *const search_members[] = {"vectors",   "ids",    "names", "k",      "nprobe",    "k_factor",
                                             "ef_search", "filter", "where", "recall", "attributes"};
enum { VECTORS, IDS, NAMES, K, NPROBE, K_FACTOR, EF_SEARCH, FILTER, WHERE, RECALL, SHOWN, SEARCH_MEMBERS };
static const char *const add_members[] = {"vectors", "ids", "names", "replace", "attributes", "first_id"};
enum { REPLACE = 3, ATTRIBUTES, FIRST_ID, ADD_MEMBERS };

#define BIT(member) (1u << (member))
#define RAW_TYPE "application/octet-stream"

/* ---- Faults ---- */

/* Sets the pointer to the value that an error of the JSON reader is about. */
static furrow_status at_value(reading *r, furrow_status status) {
  char *pointer = r->fault->pointer;
  if (status == FURROW_OK || status == FURROW_END || pointer[0]) return status;
  json_pointer_read(pointer, sizeof r->fault->pointer, r->json);
  return status;
}

/* Fails about the value that was read last. */
static furrow_status refuse_value(reading *r, const char *what) {
  return at_value(r, furrow_json_fail(r->json, furrow_json_offset(r->json), NULL, &r->fault->error, "%s", what));
}

/* The same for a whole array or object, of which the last value read is only a part. */
static furrow_status refuse_whole(reading *r, const char *what) {
  const furrow_status status = refuse_value(r, what);
  r->fault->error.token[0] = 0;
  return status;
}

/* Fails with 413: a limit of the server is exceeded. */
static furrow_status refuse_size(request_fault *fault, const char *pointer, const char *what, size_t most) {
  fault->status = 413;
  snprintf(fault->pointer, sizeof fault->pointer, "%s", pointer);
  return fail(&fault->error, FURROW_E_RANGE, "%s: this server takes at most %zu", what, most);
}

/* Fails about the whole request, or about its i-th vector. */
static furrow_status refuse_vector(request_fault *fault, size_t i, const char *what) {
  snprintf(fault->pointer, sizeof fault->pointer, "/vectors/%zu", i);
  return fail(&fault->error, FURROW_E_RANGE, "vectors/%zu %s", i, what);
}

static furrow_status refuse_request(request_fault *fault, const char *what) {
  return fail(&fault->error, FURROW_E_ARGUMENT, "%s", what);
}

/* Fails with 422: the index has no names. */
static furrow_status refuse_names(reading *r) {
  fail(&r->fault->error, FURROW_E_UNSUPPORTED, "this index has no names");
  add_hint(&r->fault->error, "use ids, or give it names with furrow index names");
  return at_value(r, FURROW_E_UNSUPPORTED);
}

/* The same for attributes. */
static furrow_status refuse_attributes(reading *r) {
  fail(&r->fault->error, FURROW_E_UNSUPPORTED, "this index has no attributes");
  add_hint(&r->fault->error, "give it some with furrow index attributes");
  return at_value(r, FURROW_E_UNSUPPORTED);
}

/* ---- Members ---- */

/* Fails about a member itself, not about its value. */
static furrow_status refuse_member(reading *r, furrow_json_text key, const char *what) {
  char *token = r->fault->error.token;
  const furrow_status status = refuse_value(r, what);
  snprintf(token, sizeof r->fault->error.token, "%.*s", key.size < 60 ? (int)key.size : 60, key.bytes);
  return status;
}

static furrow_status unknown_member(reading *r, furrow_json_text key, const char *const *members, size_t count) {
  const furrow_status status = refuse_member(r, key, "is not a member of this request");
  const char *near = closest_word(r->fault->error.token, members, count);
  return near ? add_hint(&r->fault->error, "did you mean \"%s\"?", near) : status;
}

/* Finds the next member of the request and refuses duplicates. *member: its number. */
static furrow_status next_member(reading *r, const char *const *members, size_t count, size_t *member) {
  furrow_json_text key;
  FW_TRY(at_value(r, furrow_json_member(r->json, &key, &r->fault->error)));
  for (*member = 0; *member < count; ++*member)
    if (furrow_json_is(key, members[*member])) break;
  if (*member == count) return unknown_member(r, key, members, count);
  if (r->given & BIT(*member)) return refuse_member(r, key, "occurs twice");
  r->given |= BIT(*member);
  return FURROW_OK;
}

/* Refuses parameters in the URL, which would be ignored. */
static furrow_status refuse_parameters(request_fault *fault, http_text query) {
  char name[32];
  size_t length = 0;
  while (length < query.size && length < sizeof name - 1 && query.at[length] != '=' && query.at[length] != '&')
    length++;
  snprintf(name, sizeof name, "%.*s", (int)length, query.at);
  fail(&fault->error, FURROW_E_ARGUMENT, "a request in JSON has no parameters in its address");
  return add_hint(&fault->error, "write \"%s\" into the JSON; parameters belong to bodies of bytes (%s)", name,
                  RAW_TYPE);
}

/* Whether a raw body begins like JSON, which float32 numbers seldom do. */
static bool looks_like_json(const request_text *text) {
  size_t i = 0;
  while (i < text->size && memchr(" \t\r\n", text->body[i], 4)) i++;
  return i < text->size && memchr("{[", text->body[i], 2);
}

static furrow_status begin_json(reading *r, const request_text *text) {
  r->json = thread_json(r->memory);
  if (!r->json) return fail_memory(&r->fault->error);
  if (text->query.size > 0) return refuse_parameters(r->fault, text->query);
  if (text->size == 0) {
    fail(&r->fault->error, FURROW_E_ARGUMENT, "the body is empty");
    return add_hint(&r->fault->error, "send a JSON object; /openapi.json has examples");
  }
  furrow_json_start(r->json, text->body, text->size, NULL);
  return at_value(r, furrow_json_object(r->json, &r->fault->error));
}

/* The same for requests that may be bytes. */
static furrow_status begin_vectors_json(reading *r, const request_text *text) {
  const furrow_status status = begin_json(r, text);
  if (status == FURROW_OK || text->size == 0 || looks_like_json(text)) return status;
  return add_hint(&r->fault->error, "vectors as bytes need the header Content-Type: %s", RAW_TYPE);
}

static furrow_status end_json(reading *r, furrow_status status) {
  return status == FURROW_END ? at_value(r, furrow_json_end(r->json, &r->fault->error)) : status;
}

/* Reads an integer from first to last. */
static furrow_status read_integer(reading *r, int64_t first, int64_t last, int64_t *value) {
  char what[80];
  FW_TRY(at_value(r, furrow_json_i64(r->json, value, &r->fault->error)));
  if (*value >= first && *value <= last) return FURROW_OK;
  snprintf(what, sizeof what, "is not an integer of %lld … %lld", (long long)first, (long long)last);
  return refuse_value(r, what);
}

/* Cuts a default value to a limit. */
static size_t at_most(size_t value, size_t most) {
  return value < most ? value : most;
}

static furrow_status read_k(reading *r, size_t *k) {
  int64_t value;
  FW_TRY(read_integer(r, 1, INT64_MAX, &value));
  *k = (size_t)value;
  return FURROW_OK;
}

static furrow_status check_k(request_fault *fault, size_t n, size_t k, const service_limits *limits) {
  if (k > limits->max_results) return refuse_size(fault, "/k", "k is too large", limits->max_results);
  if (n > MOST_RESULTS / k) return refuse_size(fault, "/k", "k times the number of queries is too large", MOST_RESULTS);
  return FURROW_OK;
}

/* ---- Vectors ---- */

static float *grow_vectors(reading *r) {
  fw_buffer *numbers = &r->memory->numbers;
  float *at = (float *)(void *)fw_buffer_reserve(numbers, r->d * sizeof(float));
  if (at) fw_buffer_advance(numbers, r->d * sizeof(float));
  return at;
}

/* Reserves space for one more vector; fails at the limit on the rows of a request. */
static furrow_status next_vector(reading *r, const char *pointer, float **vector) {
  if (r->n == r->limits->max_rows)
    return refuse_size(r->fault, pointer, "there are too many vectors", r->limits->max_rows);
  *vector = grow_vectors(r);
  return *vector ? FURROW_OK : fail_memory(&r->fault->error);
}

static furrow_status fail_dimension(reading *r) {
  char what[80];
  snprintf(what, sizeof what, "does not have %zu numbers", r->d);
  return refuse_vector(r->fault, r->n, what);
}

/* Fails about an element that furrow_json_f32_elements does not read. */
static furrow_status fail_number(reading *r) {
  double value;
  FW_TRY(at_value(r, furrow_json_f64(r->json, &value, &r->fault->error)));
  return refuse_value(r, "is too large for a float32");
}

static furrow_status read_vector(reading *r, float *vector) {
  FW_TRY(at_value(r, furrow_json_array(r->json, &r->fault->error)));
  const size_t count = furrow_json_f32_elements(r->json, vector, r->d);
  const furrow_status status = furrow_json_element(r->json, &r->fault->error);
  if (status != FURROW_OK && status != FURROW_END) return at_value(r, status);
  if (status == FURROW_OK && count < r->d) return fail_number(r);
  return status == FURROW_END && count == r->d ? FURROW_OK : fail_dimension(r);
}

static furrow_status read_vectors(reading *r) {
  furrow_error *err = &r->fault->error;
  furrow_status status = at_value(r, furrow_json_array(r->json, err));
  while (status == FURROW_OK && (status = furrow_json_element(r->json, err)) == FURROW_OK) {
    float *vector = NULL;
    status = next_vector(r, "/vectors", &vector);
    if (status == FURROW_OK) status = read_vector(r, vector);
    r->n++;
  }
  return status == FURROW_END ? FURROW_OK : at_value(r, status);
}

/* Reads vectors of little-endian float32. */
static furrow_status read_raw_vectors(reading *r, const request_text *text) {
  const size_t row = r->d * sizeof(float);
  char what[96];
  if (text->size == 0 || text->size % row != 0) {
    snprintf(what, sizeof what, "the body is not a number of vectors of %zu float32", r->d);
    return refuse_request(r->fault, what);
  }
  r->n = text->size / row;
  if (r->n > r->limits->max_rows) return refuse_size(r->fault, "", "there are too many vectors", r->limits->max_rows);
  fw_buffer_append(&r->memory->numbers, text->body, text->size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (size_t i = 0; i < r->memory->numbers.size / 4 && !r->memory->numbers.missing; i++) {
    uint32_t *bits = (uint32_t *)(void *)r->memory->numbers.bytes + i;
    *bits = __builtin_bswap32(*bits);
  }
#endif
  return r->memory->numbers.missing ? fail_memory(&r->fault->error) : FURROW_OK;
}

/* Refuses NaN, infinities, and vectors whose length does not fit a float. */
static furrow_status check_vectors(reading *r) {
  const float *vectors = (const float *)(const void *)r->memory->numbers.bytes;
  if (r->n == 0) return refuse_request(r->fault, "the request has no vectors");
  const size_t bad = furrow_first_invalid_vector(vectors, r->n, r->d);
  return bad == r->n ? FURROW_OK : refuse_vector(r->fault, bad, "has a number that is not finite or too large");
}

/* ---- Ids and names ---- */

static furrow_status add_id(reading *r, fw_buffer *to, int64_t id) {
  fw_buffer_append(to, &id, sizeof id);
  return to->missing ? fail_memory(&r->fault->error) : FURROW_OK;
}

static furrow_status read_name(reading *r, furrow_json_text *name) {
  FW_TRY(at_value(r, furrow_json_string(r->json, name, &r->fault->error)));
  return memchr(name->bytes, 0, name->size) ? refuse_value(r, "has a character 0") : FURROW_OK;
}

/* Fails about the array of the current element: it has too many elements. */
static furrow_status refuse_more(reading *r) {
  char pointer[sizeof r->fault->pointer];
  at_value(r, FURROW_E_RANGE);
  char *last = strrchr(r->fault->pointer, '/');
  if (last) *last = 0;
  memcpy(pointer, r->fault->pointer, sizeof pointer);
  return refuse_size(r->fault, pointer, "there are too many", r->most);
}

/* Calls `one` for each element of an array. */
static furrow_status read_elements(reading *r, furrow_status (*one)(reading *r, fw_buffer *to), fw_buffer *to) {
  size_t count = 0;
  furrow_status status = at_value(r, furrow_json_array(r->json, &r->fault->error));
  while (status == FURROW_OK && (status = at_value(r, furrow_json_element(r->json, &r->fault->error))) == FURROW_OK)
    status = count++ < r->most ? one(r, to) : refuse_more(r);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status one_id(reading *r, fw_buffer *to) {
  int64_t id;
  FW_TRY(read_integer(r, 0, INT64_MAX, &id));
  return add_id(r, to, id);
}

static furrow_status find_name(reading *r, int64_t *id) {
  furrow_json_text name;
  FW_TRY(read_name(r, &name));
  if (index_view_find(r->view, name.bytes, name.size, id)) return FURROW_OK;
  refuse_value(r, "is not the name of a vector");
  return r->fault->error.status = FURROW_E_NOT_FOUND;
}

static furrow_status one_named_id(reading *r, fw_buffer *to) {
  int64_t id;
  FW_TRY(find_name(r, &id));
  return add_id(r, to, id);
}

/* ---- Searching ---- */

/* Adds the stored vector of an id as a query. */
static furrow_status add_stored(reading *r, int64_t id, const char *pointer) {
  float *vector = NULL;
  FW_TRY(next_vector(r, pointer, &vector));
  r->n++;
  return at_value(r, index_view_vector(r->view, id, vector, &r->fault->error));
}

static furrow_status one_query_id(reading *r, fw_buffer *to) {
  int64_t id;
  (void)to;
  FW_TRY(read_integer(r, 0, INT64_MAX, &id));
  return add_stored(r, id, "/ids");
}

static furrow_status one_query_name(reading *r, fw_buffer *to) {
  int64_t id;
  (void)to;
  FW_TRY(find_name(r, &id));
  return add_stored(r, id, "/names");
}

static furrow_status read_range(reading *r, furrow_id_filter *filter) {
  fw_buffer *ends = &r->memory->text;
  FW_TRY(read_elements(r, one_id, ends));
  if (ends->size != 2 * sizeof(int64_t))
    return refuse_whole(r, "is not an array of two ids: the first, and the one after the last");
  memcpy(&filter->first, ends->bytes, sizeof(int64_t));
  memcpy(&filter->end, ends->bytes + sizeof(int64_t), sizeof(int64_t));
  filter->kind = FURROW_ID_FILTER_RANGE;
  return filter->first <= filter->end ? FURROW_OK : refuse_whole(r, "ends before it begins");
}

static void sort_filter(furrow_id_filter *filter, fw_buffer *text) {
  int64_t *ids = (int64_t *)(void *)text->bytes;
  filter->kind = FURROW_ID_FILTER_SORTED;
  filter->sorted = ids;
  filter->sorted_count = sort_ids(ids, text->size / sizeof *ids);
}

static furrow_status read_filter(reading *r, furrow_id_filter *filter) {
  static const char *const kinds[] = {"ids", "exclude", "range", "names"};
  enum { KIND_IDS, KIND_EXCLUDE, KIND_RANGE, KIND_NAMES, KINDS };
  const unsigned given = r->given;
  fw_buffer *text = &r->memory->text;
  size_t kind = 0, members = 0;
  furrow_id_filter_init(filter);
  furrow_status status = at_value(r, furrow_json_object(r->json, &r->fault->error));
  r->given = 0;
  r->most = MOST_FILTER_IDS;
  while (status == FURROW_OK && (status = next_member(r, kinds, KINDS, &kind)) == FURROW_OK) {
    if (++members > 1) return refuse_whole(r, "is a second filter, but only one is allowed");
    if (kind == KIND_NAMES && !r->view->base->names) return refuse_names(r);
    filter->invert = kind == KIND_EXCLUDE;
    status =
        kind == KIND_RANGE ? read_range(r, filter) : read_elements(r, kind == KIND_NAMES ? one_named_id : one_id, text);
    if (status == FURROW_OK && kind != KIND_RANGE) sort_filter(filter, text);
  }
  r->given = given;
  r->most = r->limits->max_rows;
  if (status != FURROW_END) return status;
  return members == 1 ? FURROW_OK : refuse_whole(r, "has none of \"ids\", \"exclude\", \"range\", \"names\"");
}

static furrow_status read_k_factor(reading *r, float *k_factor) {
  double value;
  FW_TRY(at_value(r, furrow_json_f64(r->json, &value, &r->fault->error)));
  *k_factor = (float)value;
  return value >= 1 && value <= MOST_K_FACTOR ? FURROW_OK : refuse_value(r, "is not a number of 1 … 1000");
}

static furrow_status read_where(reading *r, const char **where) {
  furrow_json_text text;
  fw_buffer *to = &r->memory->attributes;
  FW_TRY(read_name(r, &text));
  fw_buffer_append(to, text.bytes, text.size);
  fw_buffer_append(to, "", 1);
  *where = to->bytes;
  return to->missing ? fail_memory(&r->fault->error) : FURROW_OK;
}

static furrow_status read_recall(reading *r, double *recall) {
  FW_TRY(at_value(r, furrow_json_f64(r->json, recall, &r->fault->error)));
  return *recall > 0 && *recall <= 1 ? FURROW_OK : refuse_value(r, "is not a number above 0, at most 1");
}

/* Reads the names of columns. */
static furrow_status read_shown(reading *r, search_request *request) {
  furrow_json_text name;
  furrow_status status = at_value(r, furrow_json_array(r->json, &r->fault->error));
  while (status == FURROW_OK && (status = at_value(r, furrow_json_element(r->json, &r->fault->error))) == FURROW_OK) {
    size_t column = 0;
    FW_TRY(read_name(r, &name));
    if (!attribute_column_find(r->view->base->attributes, name.bytes, name.size, &column))
      return refuse_value(r, "is not a column of the index's attributes");
    for (size_t i = 0; i < request->shown_count; i++)
      if (request->shown[i] == column) return refuse_value(r, "occurs twice");
    if (request->shown_count == MOST_SHOWN) return refuse_more(r);
    request->shown[request->shown_count++] = (uint16_t)column;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* Returns why an option has no effect for this index, so that it is refused; NULL: it has one. */
static const char *why_not(const index_base *base, size_t member) {
  if (member == NPROBE && base->ivf_info.nlist == 0) return "has no effect: this index has no lists";
  if (member == K_FACTOR && !base->is_refined) return "has no effect: this index does not refine results";
  if (member == EF_SEARCH && !base->has_graph) return "has no effect: this index has no HNSW graph";
  return NULL;
}

static furrow_status read_search_member(reading *r, size_t member, search_request *request) {
  int64_t value = 0;
  const char *reason = why_not(r->view->base, member);
  if (reason) return refuse_whole(r, reason);
  if (member == NAMES && !r->view->base->names) return refuse_names(r);
  if ((member == WHERE || member == SHOWN) && !r->view->base->attributes) return refuse_attributes(r);
  switch (member) {
  case VECTORS: return read_vectors(r);
  case IDS: return read_elements(r, one_query_id, NULL);
  case NAMES: return read_elements(r, one_query_name, NULL);
  case K: return read_k(r, &request->query.k);
  case NPROBE:
    FW_TRY(read_integer(r, 1, INT64_MAX, &value));
    request->query.nprobe = (uint64_t)value;
    return FURROW_OK;
  case K_FACTOR: return read_k_factor(r, &request->query.k_factor);
  case EF_SEARCH:
    FW_TRY(read_integer(r, 1, MOST_EF_SEARCH, &value));
    request->query.ef_search = (int32_t)value;
    return FURROW_OK;
  case WHERE: return read_where(r, &request->query.where);
  case RECALL: return read_recall(r, &request->query.recall);
  case SHOWN: return read_shown(r, request);
  default: request->query.filter = &request->filter; return read_filter(r, &request->filter);
  }
}

static bool is_one_bit(unsigned bits) {
  return bits != 0 && (bits & (bits - 1)) == 0;
}

/* Decoding stored vectors may scan all lists, and filters look at all attributes, so such requests go to a worker. */
static furrow_status read_search_json(reading *r, const request_text *text, bool on_loop, search_request *request) {
  size_t member;
  furrow_status status = begin_vectors_json(r, text);
  while (status == FURROW_OK && (status = next_member(r, search_members, SEARCH_MEMBERS, &member)) == FURROW_OK) {
    request->is_long = on_loop && (member == IDS || member == NAMES || member == WHERE || member == SHOWN);
    if (request->is_long) return FURROW_OK;
    status = read_search_member(r, member, request);
  }
  FW_TRY(end_json(r, status));
  if (!is_one_bit(r->given & (BIT(VECTORS) | BIT(IDS) | BIT(NAMES))))
    return refuse_request(r->fault, "a search has exactly one of \"vectors\", \"ids\" and \"names\"");
  if ((r->given & BIT(RECALL)) && !(r->given & BIT(WHERE)))
    return refuse_request(r->fault, "\"recall\" needs \"where\": other searches are as good as \"nprobe\"");
  return FURROW_OK;
}

/* ---- Query strings of raw requests ---- */

/* Copies a text and cuts it if it is too long. */
static void copy_word(char word[32], const char *text, size_t size) {
  const size_t length = size < 32 ? size : 31;
  memcpy(word, text, length);
  word[length] = 0;
}

/* Removes "name=value" from the front of the query. A value that is too long for any parameter becomes "", which every
 * parameter refuses. */
static bool next_parameter(http_text *query, char name[32], char value[32]) {
  if (query->size == 0) return false;
  const char *and = memchr(query->at, '&', query->size);
  const size_t size = and? (size_t)(and-query->at) : query->size;
  const char *equals = memchr(query->at, '=', size);
  const size_t length = equals ? (size_t)(equals - query->at) : size;
  copy_word(name, query->at, length);
  copy_word(value, equals ? equals + 1 : "", equals && size - length - 1 < 32 ? size - length - 1 : 0);
  *query = (http_text){query->at + size + (and? 1 : 0), query->size - size - (and? 1 : 0)};
  return true;
}

static furrow_status fail_parameter(request_fault *fault, const char *name, const char *what) {
  return fail(&fault->error, FURROW_E_ARGUMENT, "the parameter %s %s", name, what);
}

/* Finds the number of a parameter among names and refuses duplicates. */
static furrow_status find_parameter(reading *r, const char *name, const char *const *names, size_t count,
                                    unsigned allowed, size_t *which) {
  for (*which = 0; *which < count; ++*which)
    if ((allowed & BIT(*which)) && strcmp(name, names[*which]) == 0) break;
  if (*which == count) return fail_parameter(r->fault, name, "does not belong to this request");
  if (r->given & BIT(*which)) return fail_parameter(r->fault, name, "occurs twice");
  r->given |= BIT(*which);
  return FURROW_OK;
}

static furrow_status parse_integer(request_fault *fault, const char *name, const char *value, int64_t first,
                                   int64_t last, int64_t *number) {
  size_t digits = strspn(value, "0123456789");
  *number = digits > 0 && digits < 19 && !value[digits] ? strtoll(value, NULL, 10) : -1;
  return *number >= first && *number <= last ? FURROW_OK
                                             : fail_parameter(fault, name, "is not an integer, or out of its range");
}

/* "12" or "1.25": strtof takes more than that (spaces, signs, hexadecimal digits, nan). */
static bool parse_decimal(const char *value, float *number) {
  static const char digits[] = "0123456789";
  size_t length = strspn(value, digits);
  const bool has_digits = length > 0;
  if (value[length] == '.') {
    const size_t fraction = strspn(value + length + 1, digits);
    length += fraction > 0 ? 1 + fraction : 0;
  }
  *number = strtof(value, NULL);
  return has_digits && !value[length];
}

static furrow_status parse_search_parameter(reading *r, size_t which, const char *value, index_query *query) {
  int64_t number = 0;
  const char *reason = why_not(r->view->base, which);
  if (reason) return fail_parameter(r->fault, search_members[which], reason);
  if (which == K_FACTOR) {
    return parse_decimal(value, &query->k_factor) && query->k_factor >= 1 && query->k_factor <= MOST_K_FACTOR
               ? FURROW_OK
               : fail_parameter(r->fault, "k_factor", "is not a number of 1 … 1000");
  }
  FW_TRY(parse_integer(r->fault, search_members[which], value, 1, which == EF_SEARCH ? MOST_EF_SEARCH : INT64_MAX,
                       &number));
  if (which == K)
    query->k = (size_t)number;
  else if (which == NPROBE)
    query->nprobe = (uint64_t)number;
  else
    query->ef_search = (int32_t)number;
  return FURROW_OK;
}

static furrow_status read_search_raw(reading *r, const request_text *text, search_request *request) {
  http_text query = text->query;
  char name[32], value[32];
  size_t which;
  while (next_parameter(&query, name, value)) {
    FW_TRY(find_parameter(r, name, search_members, SEARCH_MEMBERS,
                          BIT(K) | BIT(NPROBE) | BIT(K_FACTOR) | BIT(EF_SEARCH), &which));
    FW_TRY(parse_search_parameter(r, which, value, &request->query));
  }
  return read_raw_vectors(r, text);
}

/* ---- What a search costs ---- */

/* Estimates the bytes that one query scans. */
static double scan_bytes(const index_view *view, const index_query *query) {
  const furrow_index_info *ivf = &view->base->ivf_info, *info = &view->base->info;
  const double vector = 4.0 * info->d;
  double scanned = vector * (double)(view->fresh ? view->fresh->count : 0);
  if (ivf->nlist > 0) {
    const bool is_open = query->filter && query->nprobe == 0; /* all, if results are few */
    const uint64_t wanted = query->nprobe > 0 ? query->nprobe : is_open ? ivf->nlist : view->base->nprobe;
    const double nprobe = (double)(wanted < ivf->nlist ? wanted : ivf->nlist);
    scanned += nprobe * (double)ivf->stored / (double)ivf->nlist * (double)(ivf->code_size > 0 ? ivf->code_size : 16);
  } else if (ivf->kind == FURROW_INDEX_HNSW) {
    scanned += 32 * vector * (query->ef_search > 0 ? query->ef_search : ivf->ef_search);
  } else {
    scanned += (double)info->ntotal * (ivf->code_size > 0 ? (double)ivf->code_size : vector);
  }
  if (query->k_factor > 0) scanned += vector * (double)query->k * (double)query->k_factor;
  return scanned;
}

static bool is_long_search(const index_view *view, const search_request *request) {
  return request->n > MANY_QUERIES || (request->query.filter && request->filter.sorted_count > MANY_FILTER_IDS) ||
         (double)request->n * scan_bytes(view, &request->query) > LONG_SCAN;
}

static reading begin_reading(const index_view *view, const service_limits *limits, thread_memory *memory,
                             request_fault *fault) {
  fault->pointer[0] = 0;
  fault->status = 0;
  buffer_recycle(&memory->numbers, KEEP_BYTES);
  buffer_recycle(&memory->text, KEEP_BYTES);
  buffer_recycle(&memory->results, KEEP_BYTES);
  buffer_recycle(&memory->attributes, KEEP_BYTES);
  return (reading){.view = view,
                   .limits = limits,
                   .memory = memory,
                   .fault = fault,
                   .most = limits ? limits->max_rows : 0,
                   .d = view ? (size_t)view->base->info.d : 0};
}

furrow_status search_request_read(search_request *request, const request_text *text, const index_view *view,
                                  const service_limits *limits, thread_memory *memory, bool on_loop,
                                  request_fault *fault) {
  reading r = begin_reading(view, limits, memory, fault);
  request->query = (index_query){.k = at_most(10, limits->max_results), .recall = 0.95, .threads = 1};
  request->shown_count = 0;
  request->is_long = false;
  FW_TRY(text->raw ? read_search_raw(&r, text, request) : read_search_json(&r, text, on_loop, request));
  if (request->is_long) return FURROW_OK;
  FW_TRY(check_vectors(&r));
  FW_TRY(check_k(fault, r.n, request->query.k, limits));
  request->n = r.n;
  request->vectors = (const float *)(const void *)memory->numbers.bytes;
  request->is_long = on_loop && is_long_search(view, request);
  return FURROW_OK;
}

/* ---- Adding ---- */

static furrow_status one_text(reading *r, fw_buffer *to) {
  furrow_json_text name;
  FW_TRY(read_name(r, &name));
  fw_buffer_append(to, name.bytes, name.size);
  fw_buffer_append(to, "", 1);
  return to->missing ? fail_memory(&r->fault->error) : FURROW_OK;
}

/* null: none, or what the id has. */
static furrow_status one_row(reading *r, fw_buffer *to) {
  if (furrow_json_peek(r->json) != FURROW_JSON_NULL)
    return at_value(r, attribute_text_read(r->json, r->view->base->attributes, to, &r->fault->error));
  FW_TRY(at_value(r, furrow_json_null(r->json, &r->fault->error)));
  fw_buffer_append(to, "", 1);
  return to->missing ? fail_memory(&r->fault->error) : FURROW_OK;
}

static furrow_status read_add_json(reading *r, const request_text *text, bool *replace) {
  size_t member;
  furrow_status status = begin_vectors_json(r, text);
  while (status == FURROW_OK && (status = next_member(r, add_members, ATTRIBUTES + 1, &member)) == FURROW_OK) {
    if (member == VECTORS)
      status = read_vectors(r);
    else if (member == IDS)
      status = read_elements(r, one_id, &r->memory->results);
    else if (member == NAMES)
      status = r->view->base->names ? read_elements(r, one_text, &r->memory->text) : refuse_names(r);
    else if (member == ATTRIBUTES)
      status = r->view->base->attributes ? read_elements(r, one_row, &r->memory->attributes) : refuse_attributes(r);
    else
      status = at_value(r, furrow_json_bool(r->json, replace, &r->fault->error));
  }
  return end_json(r, status);
}

/* ids are first_id, first_id + 1 … */
static furrow_status count_from(reading *r, int64_t first) {
  int64_t *ids = (int64_t *)(void *)fw_buffer_reserve(&r->memory->results, r->n * sizeof *ids);
  if (!ids) return fail_memory(&r->fault->error);
  if (first > INT64_MAX - (int64_t)r->n) return fail_parameter(r->fault, "first_id", "is too large");
  for (size_t i = 0; i < r->n; i++) ids[i] = first + (int64_t)i;
  fw_buffer_advance(&r->memory->results, r->n * sizeof *ids);
  r->given |= BIT(IDS);
  return FURROW_OK;
}

static furrow_status read_add_raw(reading *r, const request_text *text, bool *replace) {
  http_text query = text->query;
  char name[32], value[32];
  int64_t first = 0;
  size_t which;
  while (next_parameter(&query, name, value)) {
    FW_TRY(find_parameter(r, name, add_members, ADD_MEMBERS, BIT(REPLACE) | BIT(FIRST_ID), &which));
    if (which == FIRST_ID) FW_TRY(parse_integer(r->fault, name, value, 0, INT64_MAX, &first));
    if (which == REPLACE && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
      return fail_parameter(r->fault, name, "is neither true nor false");
    if (which == REPLACE) *replace = strcmp(value, "true") == 0;
  }
  FW_TRY(read_raw_vectors(r, text));
  return r->given & BIT(FIRST_ID) ? count_from(r, first) : FURROW_OK;
}

static size_t count_texts(const fw_buffer *text) {
  size_t count = 0;
  for (size_t i = 0; i < text->size; i++) count += text->bytes[i] == 0;
  return count;
}

static furrow_status check_count(reading *r, size_t member, size_t count) {
  if (!(r->given & BIT(member)) || count == r->n) return FURROW_OK;
  snprintf(r->fault->pointer, sizeof r->fault->pointer, "/%s", add_members[member]);
  return fail(&r->fault->error, FURROW_E_ARGUMENT, "%s has %zu elements for %zu vectors", add_members[member], count,
              r->n);
}

/* Elements are stored in the order of the request, so among equal ones the lower pointer comes first. */
static int by_place(const void *a, const void *b) {
  return (a > b) - (a < b);
}

static int compare_ids(const void *a, const void *b) {
  const int64_t *x = *(const int64_t *const *)a, *y = *(const int64_t *const *)b;
  return *x != *y ? (*x > *y) - (*x < *y) : by_place(x, y);
}

static int compare_texts(const void *a, const void *b) {
  const char *x = *(const char *const *)a, *y = *(const char *const *)b;
  const int order = strcmp(x, y);
  return order != 0 ? order : by_place(x, y);
}

static bool is_same_id(const void *a, const void *b) {
  return *(const int64_t *)a == *(const int64_t *)b;
}

static bool is_same_text(const void *a, const void *b) {
  return strcmp(a, b) == 0;
}

/* Sorts pointers to the elements, and returns the first duplicate; NULL: there is none. */
static const void *find_second(const void **elements, size_t n, int (*compare)(const void *, const void *),
                               bool (*is_same)(const void *, const void *)) {
  const void *second = NULL;
  qsort(elements, n, sizeof *elements, compare);
  for (size_t i = 1; i < n; i++)
    if (is_same(elements[i - 1], elements[i]) && (!second || elements[i] < second)) second = elements[i];
  return second;
}

static furrow_status refuse_second(reading *r, size_t member, size_t place) {
  snprintf(r->fault->pointer, sizeof r->fault->pointer, "/%s/%zu", add_members[member], place);
  return fail(&r->fault->error, FURROW_E_ARGUMENT, "%s/%zu repeats an earlier element", add_members[member], place);
}

/* scratch: space for n pointers. */
static furrow_status check_ids_differ(reading *r, const int64_t *ids, const void **scratch) {
  for (size_t i = 0; i < r->n; i++) scratch[i] = &ids[i];
  const int64_t *second = find_second(scratch, r->n, compare_ids, is_same_id);
  return second ? refuse_second(r, IDS, (size_t)(second - ids)) : FURROW_OK;
}

static furrow_status check_names_differ(reading *r, const char *const *names, const void **scratch) {
  for (size_t i = 0; i < r->n; i++) scratch[i] = names[i];
  const char *second = find_second(scratch, r->n, compare_texts, is_same_text);
  for (size_t i = 0; second && i < r->n; i++)
    if (names[i] == second) return refuse_second(r, NAMES, i);
  return FURROW_OK;
}

static void list_texts(const char **list, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++, text += strlen(text) + 1) list[i] = text;
}

/* Lays out memory->results: the given ids, if any, then space for the new ids, then pointers to names and to rows of
 * attributes. Until the new ids are known their space is scratch. */
static furrow_status lay_out(reading *r, index_addition *addition, int64_t **new_ids) {
  fw_buffer *results = &r->memory->results;
  const bool has_ids = r->given & BIT(IDS), has_names = r->given & BIT(NAMES);
  const bool has_rows = r->given & BIT(ATTRIBUTES);
  const size_t array = r->n * sizeof(int64_t), list = r->n * sizeof(char *);
  char *end = fw_buffer_reserve(results, array + (has_names ? list : 0) + (has_rows ? list : 0));
  if (!end) return fail_memory(&r->fault->error);
  *new_ids = (int64_t *)(void *)end;
  addition->ids = has_ids ? (const int64_t *)(const void *)results->bytes : NULL;
  const char **texts = (const char **)(void *)(end + array);
  const char **rows = (const char **)(void *)(end + array + (has_names ? list : 0));
  if (has_names) list_texts(texts, r->memory->text.bytes, r->n);
  if (has_rows) list_texts(rows, r->memory->attributes.bytes, r->n);
  addition->names = has_names ? texts : NULL;
  addition->attributes = has_rows ? rows : NULL;
  _Static_assert(sizeof(void *) <= sizeof(int64_t), "pointers fit into the space of ids");
  if (has_ids) FW_TRY(check_ids_differ(r, addition->ids, (const void **)(void *)end));
  return has_names ? check_names_differ(r, texts, (const void **)(void *)end) : FURROW_OK;
}

furrow_status add_request_read(index_addition *addition, int64_t **new_ids, const request_text *text,
                               const index_view *view, const service_limits *limits, thread_memory *memory,
                               request_fault *fault) {
  reading r = begin_reading(view, limits, memory, fault);
  *addition = (index_addition){0};
  FW_TRY(text->raw ? read_add_raw(&r, text, &addition->replace) : read_add_json(&r, text, &addition->replace));
  FW_TRY(check_vectors(&r));
  FW_TRY(check_count(&r, IDS, memory->results.size / sizeof(int64_t)));
  FW_TRY(check_count(&r, NAMES, count_texts(&memory->text)));
  FW_TRY(check_count(&r, ATTRIBUTES, count_texts(&memory->attributes)));
  addition->n = r.n;
  addition->vectors = (const float *)(const void *)memory->numbers.bytes;
  return lay_out(&r, addition, new_ids);
}

/* ---- Removing, and the rest ---- */

/* Collects missing ids or names as JSON in `text`. Returns the buffer for the next one; NULL: there are enough. */
static fw_buffer *next_missing(reading *r) {
  fw_buffer *text = &r->memory->text;
  if (r->missing++ >= MOST_MISSING) return NULL;
  if (text->size > 0) fw_buffer_append(text, ",", 1);
  return text;
}

static furrow_status one_name_to_remove(reading *r, fw_buffer *to) {
  furrow_json_text name;
  int64_t id;
  FW_TRY(read_name(r, &name));
  if (index_view_find(r->view, name.bytes, name.size, &id)) return add_id(r, to, id);
  fw_buffer *missing = next_missing(r);
  if (missing) json_put_text(missing, name.bytes, name.size);
  return FURROW_OK;
}

static furrow_status read_removal(reading *r, bool names) {
  if (names && !r->view->base->names) return refuse_names(r);
  return read_elements(r, names ? one_name_to_remove : one_id, &r->memory->results);
}

static void find_missing_ids(reading *r, const int64_t *ids, size_t n) {
  for (size_t i = 0; i < n; i++) {
    fw_buffer *missing = index_view_has(r->view, ids[i]) ? NULL : next_missing(r);
    if (missing) fw_buffer_i64(missing, ids[i]);
  }
}

furrow_status remove_request_read(remove_request *request, const request_text *text, const index_view *view,
                                  const service_limits *limits, thread_memory *memory, request_fault *fault) {
  static const char *const members[] = {"ids", "names"};
  reading r = begin_reading(view, limits, memory, fault);
  size_t member;
  furrow_status status = begin_json(&r, text);
  while (status == FURROW_OK && (status = next_member(&r, members, 2, &member)) == FURROW_OK)
    status = read_removal(&r, member == 1);
  FW_TRY(end_json(&r, status));
  if (!is_one_bit(r.given)) return refuse_request(fault, "a removal has exactly one of \"ids\" and \"names\"");
  int64_t *ids = (int64_t *)(void *)memory->results.bytes;
  const size_t n = memory->results.size / sizeof *ids;
  request->ids = ids;
  request->n = n > 0 ? sort_ids(ids, n) : 0;
  if (r.given & 1) find_missing_ids(&r, ids, request->n);
  request->missing_count = r.missing;
  request->missing = (http_text){memory->text.bytes, memory->text.size};
  return memory->text.missing ? fail_memory(&fault->error) : FURROW_OK;
}

furrow_status curve_request_read(curve_request *request, const request_text *text, const service_limits *limits,
                                 thread_memory *memory, request_fault *fault) {
  static const char *const members[] = {"queries", "k"};
  reading r = begin_reading(NULL, limits, memory, fault);
  size_t member;
  *request = (curve_request){.queries = at_most(200, limits->max_rows), .k = at_most(10, limits->max_results)};
  if (text->size == 0) return FURROW_OK;
  furrow_status status = begin_json(&r, text);
  while (status == FURROW_OK && (status = next_member(&r, members, 2, &member)) == FURROW_OK)
    status = read_k(&r, member == 0 ? &request->queries : &request->k);
  FW_TRY(end_json(&r, status));
  if (request->queries > limits->max_rows)
    return refuse_size(fault, "/queries", "there are too many queries", limits->max_rows);
  return check_k(fault, request->queries, request->k, limits);
}

furrow_status empty_request_read(const request_text *text, thread_memory *memory, request_fault *fault) {
  reading r = begin_reading(NULL, NULL, memory, fault);
  size_t member;
  if (text->size == 0) return FURROW_OK;
  furrow_status status = begin_json(&r, text);
  while (status == FURROW_OK) status = next_member(&r, NULL, 0, &member);
  return end_json(&r, status);
}
