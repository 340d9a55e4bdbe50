/* tests/unit/serve/test_fresh_vectors.c: vectors that are not in the index file yet: random changes beside plain
 * arrays, readers beside a writer. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

#include "indexes/fresh_vectors.h"

enum { D = 5, IDS = 200, BASE = 100, K = 7, MOST = 8 };

/* ---- Plain arrays that say the same ------------------------------------------------------------------------ */

typedef struct oracle {
  bool is_fresh[IDS], is_hidden[IDS];
  float vectors[IDS][D];
  char names[IDS][16];
  char attributes[IDS][16];
} oracle;

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below) {
  random_state = random_state * 6364136223846793005U + 1442695040888963407U;
  return (uint32_t)((random_state >> 33) % below);
}

static bool in_base(void *user, int64_t id) {
  return id < *(const int64_t *)user;
}

static int64_t base_size = BASE;

static void apply_plain(oracle *o, const index_change *change) {
  for (size_t i = 0; i < change->n; i++) {
    const size_t id = (size_t)change->ids[i];
    o->is_hidden[id] = o->is_hidden[id] || (int64_t)id < base_size;
    o->is_fresh[id] = change->kind == CHANGE_SET;
    o->names[id][0] = 0;
    o->attributes[id][0] = 0;
    if (change->kind == CHANGE_REMOVE) continue;
    memcpy(o->vectors[id], change->vectors + i * D, sizeof o->vectors[id]);
    if (change->names) snprintf(o->names[id], sizeof o->names[id], "%s", change->names[i]);
    if (change->attributes) snprintf(o->attributes[id], sizeof o->attributes[id], "%s", change->attributes[i]);
  }
}

/* A change of up to MOST ids. Few values, so that distances are often equal. */
static void draw_change(index_change *change) {
  static int64_t ids[MOST];
  static float vectors[MOST * D];
  static char texts[MOST][16];
  static char rows[MOST][16];
  static const char *names[MOST], *attributes[MOST];
  static unsigned named;
  change->n = 1 + draw(MOST);
  change->kind = draw(3) ? CHANGE_SET : CHANGE_REMOVE;
  for (size_t i = 0; i < change->n; i++) {
    ids[i] = draw(IDS);
    for (size_t j = 0; j < D; j++) vectors[i * D + j] = (float)draw(3);
    snprintf(texts[i], sizeof texts[i], "name %u", named++);
    names[i] = texts[i];
    snprintf(rows[i], sizeof rows[i], "{\"a\":%d}", (int)draw(100));
    attributes[i] = rows[i];
  }
  change->attributes = draw(2) ? attributes : NULL;
  change->ids = ids;
  change->vectors = vectors;
  change->names = draw(2) ? names : NULL;
}

/* ---- Comparing --------------------------------------------------------------------------------------------- */

static furrow_error err;

static void check_entries(const fresh_view *view, const oracle *o) {
  size_t count = 0, hidden = 0, size;
  for (int64_t id = 0; id < IDS; id++) {
    int64_t found = -1;
    const float *vector = fresh_view_vector(view, id);
    const char *name = fresh_view_name(view, id, &size);
    assert_int_equal(vector != NULL, o->is_fresh[id]);
    if (vector) assert_memory_equal(vector, o->vectors[id], sizeof o->vectors[id]);
    assert_int_equal(name != NULL, o->is_fresh[id] && o->names[id][0]);
    if (name) {
      assert_string_equal(name, o->names[id]);
      assert_int_equal(size, strlen(name));
      assert_true(fresh_view_find(view, name, size, &found));
      assert_int_equal(found, id);
    }
    assert_int_equal(fresh_view_hides(view, id), o->is_hidden[id]);
    hidden += o->is_hidden[id];
    count += o->is_fresh[id];
  }
  assert_int_equal(view->count, count);
  assert_int_equal(view->hidden_count, hidden);
  int64_t hidden_id;
  for (size_t at = 0; fresh_view_next_hidden(view, &at, &hidden_id); hidden--) assert_true(o->is_hidden[hidden_id]);
  assert_int_equal(hidden, 0);
  fresh_item item;
  for (size_t at = 0; fresh_view_next(view, &at, &item); count--) {
    assert_true(o->is_fresh[item.id]);
    assert_memory_equal(item.vector, o->vectors[item.id], sizeof o->vectors[item.id]);
    assert_string_equal(item.name ? item.name : "", o->names[item.id]);
    assert_string_equal(item.attributes ? item.attributes : "", o->attributes[item.id]);
  }
  assert_int_equal(count, 0);
  assert_false(fresh_view_find(view, "no such name", 12, &(int64_t){0}));
}

static bool is_before(bool is_ip, float a, int64_t a_id, float b, int64_t b_id) {
  if (a != b) return is_ip ? a > b : a < b;
  return is_ip ? a_id > b_id : a_id < b_id;
}

static void insert_plain(bool is_ip, float distance, int64_t id, size_t *n, float *distances, int64_t *ids) {
  size_t at = *n;
  while (at > 0 && is_before(is_ip, distance, id, distances[at - 1], ids[at - 1])) at--;
  for (size_t i = (*n)++; i > at; i--) {
    distances[i] = distances[i - 1];
    ids[i] = ids[i - 1];
  }
  distances[at] = distance;
  ids[at] = id;
}

static float plain_distance(bool is_ip, const float *a, const float *b) {
  float sum = 0;
  for (size_t i = 0; i < D; i++) sum += is_ip ? a[i] * b[i] : (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/* Two queries over some results of the base, which are not hidden. */
static void check_search(const fresh_view *view, const oracle *o, bool is_ip, const furrow_id_filter *filter) {
  float queries[2 * D], distances[2 * K];
  int64_t ids[2 * K];
  for (size_t i = 0; i < 2 * D; i++) queries[i] = (float)draw(3);
  for (size_t q = 0; q < 2; q++) {
    float all[IDS + K];
    int64_t all_ids[IDS + K];
    size_t n = 0;
    const size_t base = draw(K + 1);
    for (size_t i = 0; i < base; i++) insert_plain(is_ip, (float)draw(12), 1000 + (int64_t)i, &n, all, all_ids);
    for (size_t i = 0; i < K; i++) {
      distances[q * K + i] = i < n ? all[i] : is_ip ? -FLT_MAX : FLT_MAX;
      ids[q * K + i] = i < n ? all_ids[i] : -1;
    }
    for (int64_t id = 0; id < IDS; id++)
      if (o->is_fresh[id] && (!filter || furrow_id_filter_keeps(filter, id)))
        insert_plain(is_ip, plain_distance(is_ip, queries + q * D, o->vectors[id]), id, &n, all, all_ids);
    fresh_view_search(view, queries + q * D, 1, K, filter, distances + q * K, ids + q * K, &err);
    for (size_t i = 0; i < K; i++) {
      assert_int_equal(ids[q * K + i], i < n ? all_ids[i] : -1);
      if (i < n) assert_true(distances[q * K + i] == all[i]);
    }
  }
  float together[2 * K];
  int64_t together_ids[2 * K], alone_ids[K];
  float alone[K];
  for (size_t i = 0; i < 2 * K; i++) {
    together[i] = is_ip ? -FLT_MAX : FLT_MAX;
    together_ids[i] = -1;
  }
  memcpy(alone, together, sizeof alone);
  memcpy(alone_ids, together_ids, sizeof alone_ids);
  fresh_view_search(view, queries, 2, K, filter, together, together_ids, &err);
  fresh_view_search(view, queries + D, 1, K, filter, alone, alone_ids, &err);
  assert_memory_equal(alone_ids, together_ids + K, sizeof alone_ids);
}

static void check_view(const fresh_view *view, const oracle *o, bool is_ip) {
  furrow_id_filter filter;
  furrow_id_filter_init(&filter);
  filter.first = 20;
  filter.end = 150;
  check_entries(view, o);
  check_search(view, o, is_ip, NULL);
  check_search(view, o, is_ip, &filter);
}

/* ---- Tests ------------------------------------------------------------------------------------------------- */

static void run_random(furrow_distance_metric metric, uint64_t seed) {
  enum { CHANGES = 400, KEPT = 10 };
  static oracle now, kept[KEPT];
  fresh_view *views[KEPT] = {0};
  fresh_vectors *fresh = NULL;
  memset(&now, 0, sizeof now);
  random_state = seed;
  base_size = BASE;
  assert_int_equal(fresh_vectors_create(&fresh, D, metric, false, &err), FURROW_OK);
  for (size_t i = 0; i < CHANGES; i++) {
    index_change change;
    fresh_view *view = NULL;
    draw_change(&change);
    assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &base_size, &view, &err), FURROW_OK);
    apply_plain(&now, &change);
    check_view(view, &now, metric == FURROW_METRIC_IP);
    const size_t at = draw(KEPT); /* old views say what they said */
    if (views[at]) check_view(views[at], &kept[at], metric == FURROW_METRIC_IP);
    if (views[at]) shared_release(&views[at]->shared);
    views[at] = view;
    kept[at] = now;
  }
  assert_true(fresh_vectors_memory(fresh) > CHANGES * D * sizeof(float));
  fresh_vectors_free(fresh);
  for (size_t i = 0; i < KEPT; i++) {
    if (!views[i]) continue;
    check_view(views[i], &kept[i], metric == FURROW_METRIC_IP);
    shared_release(&views[i]->shared);
  }
}

static void test_random_l2(void **state) {
  (void)state;
  run_random(FURROW_METRIC_L2, 1);
}

static void test_random_ip(void **state) {
  (void)state;
  run_random(FURROW_METRIC_IP, 2);
}

static bool in_new_base(void *user, int64_t id) {
  return ((const bool *)user)[id];
}

/* After a checkpoint the base has everything of a view; what came later stays. */
static void test_rebase(void **state) {
  (void)state;
  random_state = 3;
  for (unsigned round = 0; round < 60; round++) {
    oracle now = {0}, wanted = {0};
    bool base[IDS], changed[IDS] = {0};
    fresh_vectors *fresh = NULL, *rebased = NULL;
    fresh_view *since = NULL, *view = NULL;
    index_change change;
    assert_int_equal(fresh_vectors_create(&fresh, D, FURROW_METRIC_L2, false, &err), FURROW_OK);
    for (uint32_t i = draw(40); i > 0; i--) {
      draw_change(&change);
      assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &base_size, NULL, &err), FURROW_OK);
      apply_plain(&now, &change);
    }
    assert_int_equal(fresh_vectors_view(fresh, &since, &err), FURROW_OK);
    for (int64_t id = 0; id < IDS; id++) base[id] = now.is_fresh[id] || (id < base_size && !now.is_hidden[id]);
    for (uint32_t i = draw(40); i > 0; i--) {
      draw_change(&change);
      assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &base_size, NULL, &err), FURROW_OK);
      apply_plain(&now, &change);
      for (size_t j = 0; j < change.n; j++) changed[change.ids[j]] = true;
    }
    wanted = now;
    for (int64_t id = 0; id < IDS; id++) {
      wanted.is_hidden[id] = changed[id] && base[id];
      if (!changed[id]) wanted.is_fresh[id] = false, wanted.names[id][0] = wanted.attributes[id][0] = 0;
    }
    assert_int_equal(fresh_vectors_rebase(fresh, since, in_new_base, base, &rebased, &err), FURROW_OK);
    fresh_vectors_free(fresh);
    shared_release(&since->shared);
    assert_int_equal(fresh_vectors_view(rebased, &view, &err), FURROW_OK);
    check_view(view, &wanted, false);
    shared_release(&view->shared);
    fresh_vectors_free(rebased);
  }
}

/* Changes after a view are forgotten; what a checkpoint may have to remove from a file is not. */
static void test_restore(void **state) {
  (void)state;
  random_state = 9;
  for (int round = 0; round < 60; round++) {
    const unsigned kept = draw(60), forgotten = draw(60);
    oracle then = {0}, now;
    fresh_vectors *fresh = NULL, *restored = NULL;
    fresh_view *published = NULL, *view = NULL;
    bool is_stored[IDS] = {0};
    index_change change;
    assert_int_equal(fresh_vectors_create(&fresh, D, FURROW_METRIC_L2, false, &err), FURROW_OK);
    for (unsigned i = 0; i < kept; i++) {
      draw_change(&change);
      apply_plain(&then, &change);
      for (size_t j = 0; change.kind == CHANGE_SET && j < change.n; j++) is_stored[change.ids[j]] = true;
      assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &base_size, NULL, &err), FURROW_OK);
    }
    assert_int_equal(fresh_vectors_view(fresh, &published, &err), FURROW_OK);
    for (unsigned i = 0; i < forgotten; i++) {
      draw_change(&change);
      assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &base_size, NULL, &err), FURROW_OK);
    }
    assert_int_equal(fresh_vectors_restore(published, in_base, &base_size, &restored, &err), FURROW_OK);
    assert_int_equal(fresh_vectors_view(restored, &view, &err), FURROW_OK);
    shared_release(&published->shared);
    fresh_vectors_free(fresh);
    check_view(view, &then, false);
    bool still_stored[IDS] = {0};
    for (size_t at = 0; at < view->stored; at++) still_stored[fresh_view_stored_id(view, at)] = true;
    assert_memory_equal(still_stored, is_stored, sizeof is_stored);
    shared_release(&view->shared);
    now = then; /* it takes changes */
    for (unsigned i = 0; i < 20; i++) {
      draw_change(&change);
      apply_plain(&now, &change);
      assert_int_equal(fresh_vectors_apply(restored, &change, in_base, &base_size, NULL, &err), FURROW_OK);
    }
    assert_int_equal(fresh_vectors_view(restored, &view, &err), FURROW_OK);
    check_view(view, &now, false);
    shared_release(&view->shared);
    fresh_vectors_free(restored);
  }
}

static void test_what_is_refused(void **state) {
  (void)state;
  fresh_vectors *fresh = NULL;
  assert_int_equal(fresh_vectors_create(&fresh, D, FURROW_METRIC_L1, false, &err), FURROW_E_UNSUPPORTED);
  assert_int_equal(fresh_vectors_create(&fresh, 0, FURROW_METRIC_L2, false, &err), FURROW_E_ARGUMENT);
  assert_null(fresh);
}

/* Every length of vectors, beside sums in double. */
static void test_distances(void **state) {
  (void)state;
  random_state = 5;
  for (uint32_t d = 1; d < 80; d++)
    for (int is_ip = 0; is_ip < 2; is_ip++) {
      float vector[80], query[80], distance = is_ip ? -FLT_MAX : FLT_MAX;
      double wanted = 0;
      int64_t id = 4, found = -1;
      for (uint32_t i = 0; i < d; i++) {
        vector[i] = (float)draw(1000) / 500 - 1;
        query[i] = (float)draw(1000) / 500 - 1;
        const double difference = (double)vector[i] - query[i];
        wanted += is_ip ? (double)vector[i] * query[i] : difference * difference;
      }
      fresh_vectors *fresh = NULL;
      fresh_view *view = NULL;
      const index_change change = {CHANGE_SET, 1, &id, vector, NULL, NULL};
      assert_int_equal(fresh_vectors_create(&fresh, d, is_ip ? FURROW_METRIC_IP : FURROW_METRIC_L2, false, &err),
                       FURROW_OK);
      assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &base_size, &view, &err), FURROW_OK);
      fresh_view_search(view, query, 1, 1, NULL, &distance, &found, &err);
      assert_int_equal(found, id);
      assert_true(fabs(distance - wanted) < 1e-4);
      shared_release(&view->shared);
      fresh_vectors_free(fresh);
    }
}

/* Vectors and queries are scaled to unit length; copies after a checkpoint are the same bits. */
static void test_unit_length(void **state) {
  (void)state;
  const int64_t ids_set[] = {1, 2, 3};
  const float vectors[3 * D] = {[0] = 3, [1] = 4, [D + 1] = 1e-15F}, queries[2 * D] = {[0] = 30, [1] = 40};
  for (int is_ip = 0; is_ip < 2; is_ip++) {
    fresh_vectors *fresh = NULL, *rebased = NULL, *restored = NULL;
    fresh_view *empty = NULL, *view = NULL, *copy = NULL, *again = NULL;
    const index_change change = {CHANGE_SET, 3, ids_set, vectors, NULL, NULL};
    assert_int_equal(fresh_vectors_create(&fresh, D, is_ip ? FURROW_METRIC_IP : FURROW_METRIC_L2, true, &err),
                     FURROW_OK);
    assert_int_equal(fresh_vectors_view(fresh, &empty, &err), FURROW_OK);
    assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &base_size, &view, &err), FURROW_OK);
    assert_int_equal(fresh_vectors_rebase(fresh, empty, in_base, &base_size, &rebased, &err), FURROW_OK);
    assert_int_equal(fresh_vectors_view(rebased, &copy, &err), FURROW_OK);
    assert_int_equal(fresh_vectors_restore(view, in_base, &base_size, &restored, &err), FURROW_OK);
    assert_int_equal(fresh_vectors_view(restored, &again, &err), FURROW_OK);
    for (int i = 0; i < 3; i++) {
      const fresh_view *searched = i == 0 ? view : i == 1 ? copy : again;
      float distances[2 * 3];
      int64_t ids[2 * 3] = {-1, -1, -1, -1, -1, -1};
      assert_int_equal(fresh_view_search(searched, queries, 2, 3, NULL, distances, ids, &err), FURROW_OK);
      assert_int_equal(ids[0], 1);
      assert_true(fabs(distances[0] - is_ip) < 1e-6);
      assert_int_equal(ids[1], 2);
      assert_true(fabs(distances[1] - (is_ip ? 0.8 : 0.4)) < 1e-6);
      assert_true(fabs(distances[2] - (is_ip ? 0 : 1)) < 1e-6); /* the zero vector stays, */
      assert_true(distances[3] == 0);                           /* also as a query */
      assert_memory_equal(fresh_view_vector(searched, 1), fresh_view_vector(view, 1), D * sizeof(float));
    }
    shared_release(&empty->shared);
    shared_release(&view->shared);
    shared_release(&copy->shared);
    shared_release(&again->shared);
    fresh_vectors_free(fresh);
    fresh_vectors_free(rebased);
    fresh_vectors_free(restored);
  }
}

/* A distance that is too large for a float is not a result of L2. */
static void test_too_far(void **state) {
  (void)state;
  const int64_t id = 1;
  const float vector[D] = {1.8e19F}, query[D] = {-1.8e19F};
  float distance = FLT_MAX;
  int64_t found = -1;
  fresh_vectors *fresh = NULL;
  fresh_view *view = NULL;
  const index_change change = {CHANGE_SET, 1, &id, vector, NULL, NULL};
  assert_int_equal(fresh_vectors_create(&fresh, D, FURROW_METRIC_L2, false, &err), FURROW_OK);
  assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &base_size, &view, &err), FURROW_OK);
  fresh_view_search(view, query, 1, 1, NULL, &distance, &found, &err);
  assert_int_equal(found, -1);
  shared_release(&view->shared);
  fresh_vectors_free(fresh);
}

/* Whichever allocation fails, nothing is changed; afterwards the change can be made. */
static void test_without_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  random_state = 6;
  oracle now = {0};
  fresh_vectors *fresh = NULL;
  fresh_view *view = NULL;
  assert_int_equal(fresh_vectors_create(&fresh, D, FURROW_METRIC_L2, false, &err), FURROW_OK);
  for (unsigned i = 0; i < 1500; i++) {
    index_change change;
    draw_change(&change);
    for (long n = 1;; n++) {
      alloc_fail_at(n);
      const furrow_status status = fresh_vectors_apply(fresh, &change, in_base, &base_size, &view, &err);
      alloc_fail_at(0);
      if (status == FURROW_OK) break;
      assert_int_equal(status, FURROW_E_MEMORY);
      if (i % 100 != 0) continue;
      assert_int_equal(fresh_vectors_view(fresh, &view, &err), FURROW_OK);
      check_entries(view, &now);
      shared_release(&view->shared);
    }
    apply_plain(&now, &change);
    shared_release(&view->shared);
  }
  fresh_vectors_free(fresh);
}

/* ---- Readers and a writer ---------------------------------------------------------------------------------- */

typedef struct crowd {
  slot views;
  atomic_bool done;
  atomic_long searches;
} crowd;

/* The vector of id i after change v is (i, v, v, v, v), named "i v": whatever a view says must fit together. */
static void *read_views(void *user) {
  crowd *c = user;
  uint64_t random = (uint64_t)(uintptr_t)&random;
  while (!atomic_load(&c->done)) {
    fresh_view *view = (fresh_view *)slot_get(&c->views);
    float query[D] = {0}, distances[K];
    int64_t ids[K], found;
    for (size_t i = 0; i < K; i++) distances[i] = FLT_MAX, ids[i] = -1;
    fresh_view_search(view, query, 1, K, NULL, distances, ids, &err);
    for (size_t i = 0; i < K && ids[i] >= 0; i++) {
      const float *vector = fresh_view_vector(view, ids[i]);
      char wanted[32];
      size_t size = 0;
      if (!vector || vector[0] != (float)ids[i] || vector[1] != vector[4]) abort();
      const char *name = fresh_view_name(view, ids[i], &size);
      snprintf(wanted, sizeof wanted, "%d %d", (int)vector[0], (int)vector[1]);
      if (!name || strcmp(name, wanted) != 0) abort();
      if (!fresh_view_find(view, name, size, &found) || found != ids[i]) abort();
    }
    size_t seen = 0;
    fresh_item item;
    for (size_t at = 0; fresh_view_next(view, &at, &item);) seen++;
    if (seen != view->count) abort();
    seen = 0;
    for (size_t at = 0; fresh_view_next_hidden(view, &at, &found); seen++)
      if (!fresh_view_hides(view, found)) abort();
    if (seen != view->hidden_count) abort();
    shared_release(&view->shared);
    atomic_fetch_add(&c->searches, 1);
  }
  return NULL;
}

static void write_views(crowd *c, fresh_vectors *fresh, unsigned changes) {
  for (unsigned v = 1; v <= changes; v++) {
    const int64_t id = draw(IDS);
    const float f = (float)v, vector[D] = {(float)id, f, f, f, f};
    char text[32];
    const char *name = text;
    snprintf(text, sizeof text, "%d %u", (int)id, v);
    const index_change change = {draw(4) ? CHANGE_SET : CHANGE_REMOVE, 1, &id, vector, &name, NULL};
    fresh_view *view = NULL;
    assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &base_size, &view, &err), FURROW_OK);
    slot_set(&c->views, &view->shared);
  }
}

static void test_readers_beside_a_writer(void **state) {
  (void)state;
  enum { READERS = 3 };
  crowd c = {0};
  pthread_t readers[READERS];
  fresh_vectors *fresh = NULL;
  fresh_view *view = NULL;
  random_state = 7;
  slot_init(&c.views);
  assert_int_equal(fresh_vectors_create(&fresh, D, FURROW_METRIC_L2, false, &err), FURROW_OK);
  assert_int_equal(fresh_vectors_view(fresh, &view, &err), FURROW_OK);
  slot_set(&c.views, &view->shared);
  for (int i = 0; i < READERS; i++) assert_int_equal(pthread_create(&readers[i], NULL, read_views, &c), 0);
  write_views(&c, fresh, 5000);
  atomic_store(&c.done, true);
  for (int i = 0; i < READERS; i++) assert_int_equal(pthread_join(readers[i], NULL), 0);
  fresh_vectors_free(fresh);
  slot_clear(&c.views);
}

/* ---- Speed ------------------------------------------------------------------------------------------------- */

/* Of this thread: on a busy machine time passes without it. */
static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Prints figures; only a cost that grows with what is there already would take longer than the limit. */
static void test_many_one_by_one(void **state) {
  (void)state;
  enum { MANY = 100000, WIDE = 128, ROUNDS = 10 };
  static float vector[WIDE], distances[10];
  static int64_t ids[10];
  fresh_vectors *fresh = NULL;
  fresh_view *view = NULL;
  random_state = 8;
  assert_int_equal(fresh_vectors_create(&fresh, WIDE, FURROW_METRIC_L2, false, &err), FURROW_OK);
  double begin = seconds();
  for (int64_t id = 0; id < MANY; id++) {
    char text[32];
    const char *name = text;
    snprintf(text, sizeof text, "item %d", (int)id);
    for (size_t i = 0; i < WIDE; i += 16) vector[i] = (float)draw(1000);
    const index_change change = {CHANGE_SET, 1, &id, vector, &name, NULL};
    if (view) shared_release(&view->shared);
    assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, &(int64_t){0}, &view, &err), FURROW_OK);
  }
  const double added = seconds() - begin;
  begin = seconds();
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < 10; i++) distances[i] = FLT_MAX, ids[i] = -1;
    fresh_view_search(view, vector, 1, 10, NULL, distances, ids, &err);
    assert_int_equal(ids[0], MANY - 1);
  }
  const double searched = (seconds() - begin) / ROUNDS;
  print_message("%d vectors of %d numbers: added in %.2f s, %.1f MiB; searched in %.2f ms, %.1f GFLOP/s\n", MANY, WIDE,
                added, (double)fresh_vectors_memory(fresh) / (1 << 20), searched * 1e3, 3e-9 * MANY * WIDE / searched);
  assert_true(added < 30);
  shared_release(&view->shared);
  fresh_vectors_free(fresh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_l2),       cmocka_unit_test(test_random_ip),
      cmocka_unit_test(test_rebase),          cmocka_unit_test(test_restore),
      cmocka_unit_test(test_what_is_refused), cmocka_unit_test(test_distances),
      cmocka_unit_test(test_unit_length),     cmocka_unit_test(test_too_far),
      cmocka_unit_test(test_without_memory),  cmocka_unit_test(test_readers_beside_a_writer),
      cmocka_unit_test(test_many_one_by_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
