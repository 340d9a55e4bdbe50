/* tests/fuzz/serve/fuzz_serve_search.c: requests to an index from hostile bytes.
 *
 * The first byte says which request it is; of raw ones the query string comes first, to the end of its line. What is
 * accepted keeps every promise that its user relies on, and is searched with. */
#include <math.h>
#include <string.h>

#include "api/index_requests.h"
#include "fuzz/harness/fuzz_check.h"
#include "indexes/attribute_texts.h"

enum { D = 4, COUNT = 40, MOST_ROWS = 20, MOST_RESULTS = 50 };

static const service_limits limits = {.max_rows = MOST_ROWS, .max_results = MOST_RESULTS};

/* Two lists of vectors, whose ids are 0, 3, 6 …, with names. */
static furrow_index *make_index(void) {
  furrow_index *index = NULL;
  furrow_index_spec spec;
  furrow_index_add_params params;
  float vectors[COUNT * D];
  int64_t ids[COUNT];
  for (int i = 0; i < COUNT * D; i++) vectors[i] = (float)((i * 37) % 101) / 10;
  for (int i = 0; i < COUNT; i++) ids[i] = 3 * i;
  furrow_index_spec_init(&spec);
  furrow_index_add_params_init(&params);
  spec.d = D;
  spec.nlist = 2;
  params.ids = ids;
  params.threads = 1;
  check(furrow_index_create(&index, &spec, NULL) == FURROW_OK);
  check(furrow_index_train(index, vectors, COUNT, NULL, NULL) == FURROW_OK);
  check(furrow_index_add(index, vectors, COUNT, &params, NULL, NULL) == FURROW_OK);
  return index;
}

static furrow_id_names *make_names(const furrow_index *index) {
  furrow_id_names *names = NULL;
  char texts[COUNT][16];
  const char *pointers[COUNT];
  for (int i = 0; i < COUNT; i++) {
    snprintf(texts[i], sizeof texts[i], "n%d", i);
    pointers[i] = texts[i];
  }
  check(furrow_id_names_create(&names, NULL) == FURROW_OK);
  check(furrow_id_names_set(names, index, pointers, COUNT, NULL) == FURROW_OK);
  return names;
}

static furrow_attributes *make_attributes(void) {
  static const char *const elements[] = {"a", "b"};
  furrow_attributes *attributes = NULL;
  int64_t ids[COUNT];
  double numbers[COUNT];
  const char *texts[COUNT];
  uint64_t starts[COUNT + 1];
  for (int i = 0; i < COUNT; i++) {
    ids[i] = 3 * i;
    numbers[i] = i % 7 ? i : NAN;
    texts[i] = i % 5 ? elements[i % 2] : NULL;
    starts[i] = i < COUNT / 2 ? 0 : i == COUNT / 2 ? 1 : 2;
  }
  starts[COUNT] = 2;
  const furrow_column columns[] = {{.name = "n", .type = FURROW_COLUMN_NUMBER, .numbers = numbers},
                                   {.name = "t", .type = FURROW_COLUMN_TEXT, .texts = texts},
                                   {.name = "s", .type = FURROW_COLUMN_SET, .texts = elements, .starts = starts},
                                   {.name = "d", .type = FURROW_COLUMN_TIME, .numbers = numbers}};
  check(furrow_attributes_create(&attributes, NULL) == FURROW_OK);
  check(furrow_attributes_set(attributes, ids, COUNT, columns, 4, NULL) == FURROW_OK);
  return attributes;
}

static const index_view *view(void) {
  static index_base base;
  static index_view made = {.base = &base};
  if (base.index) return &made;
  base.index = make_index();
  base.names = make_names(base.index);
  base.attributes = make_attributes();
  base.by_id = base.has_graph = base.is_refined = true; /* all options are taken */
  base.nprobe = 1;
  furrow_index_info_init(&base.info);
  furrow_index_get_info(base.index, &base.info);
  base.ivf_info = base.info;
  check(furrow_searcher_create(&base.searcher, base.index, NULL, NULL) == FURROW_OK);
  return &made;
}

static void check_fault(const request_fault *fault) {
  check(fault->error.message[0] && strlen(fault->pointer) < sizeof fault->pointer);
  check(!fault->pointer[0] || fault->pointer[0] == '/');
}

static void check_search(const request_text *text, thread_memory *memory, bool on_loop) {
  static float distances[MOST_ROWS * MOST_RESULTS];
  static int64_t ids[MOST_ROWS * MOST_RESULTS];
  request_fault fault = {0};
  search_request r;
  if (search_request_read(&r, text, view(), &limits, memory, on_loop, &fault) != FURROW_OK) {
    check_fault(&fault);
    return;
  }
  if (r.is_long) {
    check(on_loop);
    return;
  }
  check(r.n >= 1 && r.n <= MOST_ROWS && r.query.k >= 1 && r.query.k <= MOST_RESULTS);
  check(furrow_first_invalid_vector(r.vectors, r.n, D) == r.n);
  check(!r.query.filter || r.query.filter == &r.filter);
  check(r.shown_count <= furrow_attributes_column_count(view()->base->attributes));
  const furrow_status status = index_view_search(view(), r.vectors, r.n, &r.query, distances, ids, &fault.error);
  if (status != FURROW_OK) {
    check(r.query.where && status == FURROW_E_ARGUMENT && fault.error.column > 0);
    check(fault.error.column <= strlen(r.query.where) + 1);
    return;
  }
  for (size_t i = 0; i < r.n * r.query.k; i++) {
    check(ids[i] == -1 || (ids[i] % 3 == 0 && ids[i] < 3 * COUNT));
    check(ids[i] == -1 || !r.query.filter || furrow_id_filter_keeps(&r.filter, ids[i]));
  }
}

/* What was read is set, and the rows that are written again are the same. */
static void check_rows(const index_addition *a, const int64_t *ids) {
  furrow_attributes *made = NULL, *again = NULL;
  fw_buffer first = {0}, second = {0};
  const char *texts[MOST_ROWS];
  size_t at[MOST_ROWS];
  if (!a->attributes) return;
  check(furrow_attributes_create(&made, NULL) == FURROW_OK && furrow_attributes_create(&again, NULL) == FURROW_OK);
  check(attribute_texts_set(made, view()->base->attributes, ids, a->attributes, a->n, NULL) == FURROW_OK);
  for (size_t i = 0; i < a->n; i++) {
    at[i] = first.size;
    attribute_text_put(&first, made, ids[i]);
    fw_buffer_append(&first, "", 1);
  }
  for (size_t i = 0; i < a->n; i++) texts[i] = first.bytes + at[i];
  check(attribute_texts_set(again, view()->base->attributes, ids, texts, a->n, NULL) == FURROW_OK);
  for (size_t i = 0; i < a->n; i++) {
    attribute_text_put(&second, again, ids[i]);
    fw_buffer_append(&second, "", 1);
  }
  check(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
  fw_buffer_clear(&first);
  fw_buffer_clear(&second);
  furrow_attributes_free(made);
  furrow_attributes_free(again);
}

static void check_add(const request_text *text, thread_memory *memory) {
  request_fault fault = {0};
  index_addition a;
  int64_t *new_ids;
  if (add_request_read(&a, &new_ids, text, view(), &limits, memory, &fault) != FURROW_OK) {
    check_fault(&fault);
    return;
  }
  check(a.n >= 1 && a.n <= MOST_ROWS && furrow_first_invalid_vector(a.vectors, a.n, D) == a.n);
  for (size_t i = 0; i < a.n; i++) {
    check(!a.ids || a.ids[i] >= 0);
    for (size_t j = 0; a.ids && j < i; j++) check(a.ids[i] != a.ids[j]);
    check(!a.names || strlen(a.names[i]) <= text->size);
    for (size_t j = 0; a.names && j < i; j++) check(strcmp(a.names[i], a.names[j]) != 0);
    new_ids[i] = (int64_t)i;
  }
  check_rows(&a, new_ids);
}

static void check_remove(const request_text *text, thread_memory *memory) {
  request_fault fault = {0};
  remove_request r;
  if (remove_request_read(&r, text, view(), &limits, memory, &fault) != FURROW_OK)
    check_fault(&fault);
  else
    for (size_t i = 0; i < r.n; i++) check(i < MOST_ROWS && r.ids[i] >= 0 && (i == 0 || r.ids[i] > r.ids[i - 1]));
}

static void check_others(const request_text *text, thread_memory *memory) {
  request_fault fault = {0};
  curve_request r;
  if (curve_request_read(&r, text, &limits, memory, &fault) != FURROW_OK)
    check_fault(&fault);
  else
    check(r.queries >= 1 && r.queries <= MOST_ROWS && r.k >= 1 && r.k <= MOST_RESULTS);
  if (empty_request_read(text, memory, &fault) != FURROW_OK) check_fault(&fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static thread_memory memory;
  if (size == 0) return 0;
  request_text text = {.body = (const char *)data + 1, .size = size - 1, .raw = data[0] == 'S' || data[0] == 'A'};
  const char *line = text.raw ? memchr(text.body, '\n', text.size) : NULL;
  if (line) {
    text.query = (http_text){text.body, (size_t)(line - text.body)};
    text.size -= text.query.size + 1;
    text.body = line + 1;
  }
  switch (data[0]) {
  case 'a':
  case 'A': check_add(&text, &memory); break;
  case 'r': check_remove(&text, &memory); break;
  case 'o': check_others(&text, &memory); break;
  default: check_search(&text, &memory, true); check_search(&text, &memory, false);
  }
  return 0;
}
