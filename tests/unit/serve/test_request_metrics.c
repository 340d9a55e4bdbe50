/* tests/unit/serve/test_request_metrics.c: counters of requests: what the page shows of them. The text for Prometheus
 * is checked by tests/serve/test_metrics.py. */
#include <math.h>
#include <pthread.h>

#include "api/request_metrics.h"
#include "http/http_server.h"
#include "support/cmocka_all.h"

enum { MODEL, INDEX, NOTHING, THREADS = 3 };

static metrics_summary summarize(const request_metrics *m, route_kind route, size_t target) {
  metrics_summary summary;
  metrics_summarize(m, route, target, &summary);
  return summary;
}

static void nothing_counted(void **state) {
  (void)state;
  request_metrics *m = metrics_create(THREADS, 2);
  metrics_summary s = summarize(m, ROUTE_PREDICT, MODEL);
  assert_int_equal(s.requests, 0);
  assert_true(isnan(s.p50_ms) && isnan(s.p99_ms));
  metrics_free(m);
  metrics_free(NULL);
}

static void sums_over_threads(void **state) {
  (void)state;
  request_metrics *m = metrics_create(THREADS, 2);
  for (unsigned i = 0; i < 300; i++)
    metrics_count(m, i % THREADS, ROUTE_SEARCH, INDEX, i % 10 == 0 ? 400 : 200, clock_ns(), 1000000, 2, 10, 20);
  metrics_count(m, 0, ROUTE_ADD, INDEX, 599, clock_ns(), 1, 5, 0, 0); /* a status that has no counter of its own */
  metrics_summary s = summarize(m, ROUTE_SEARCH, INDEX);
  assert_int_equal(s.requests, 300);
  assert_int_equal(s.errors, 30);
  assert_int_equal(s.rows, 600);
  s = summarize(m, ROUTE_COUNT, INDEX);
  assert_int_equal(s.requests, 301);
  assert_int_equal(s.errors, 31);
  assert_int_equal(summarize(m, ROUTE_COUNT, MODEL).requests, 0);
  assert_int_equal(summarize(m, ROUTE_COUNT, NOTHING).requests, 0);
  metrics_free(m);
}

/* A bucket is an eighth to a quarter of its value wide. */
static void percentiles(void **state) {
  (void)state;
  static const double durations_ms[] = {0.02, 0.1, 1, 7.7, 130, 2000};
  for (size_t i = 0; i < sizeof durations_ms / sizeof *durations_ms; i++) {
    request_metrics *m = metrics_create(1, 0);
    const double ms = durations_ms[i];
    for (int n = 0; n < 99; n++) metrics_count(m, 0, ROUTE_OTHER, 0, 200, clock_ns(), (uint64_t)(ms * 1e6), 0, 0, 0);
    metrics_summary s = summarize(m, ROUTE_OTHER, 0);
    assert_true(fabs(s.p50_ms - ms) <= 0.25 * ms);
    assert_true(s.p50_ms <= s.p99_ms && s.p99_ms <= 1.25 * ms);
    for (int n = 0; n < 9; n++) metrics_count(m, 0, ROUTE_OTHER, 0, 200, clock_ns(), (uint64_t)(ms * 3e6), 0, 0, 0);
    s = summarize(m, ROUTE_OTHER, 0);
    assert_true(fabs(s.p50_ms - ms) <= 0.25 * ms);
    assert_true(fabs(s.p99_ms - 3 * ms) <= 0.25 * 3 * ms);
    metrics_free(m);
  }
}

static void extreme_durations(void **state) {
  (void)state;
  request_metrics *m = metrics_create(1, 0);
  metrics_count(m, 0, ROUTE_OTHER, 0, 200, clock_ns(), 0, 0, 0, 0);
  assert_true(summarize(m, ROUTE_OTHER, 0).p99_ms <= 0.011);
  metrics_count(m, 0, ROUTE_OTHER, 0, 200, clock_ns(), UINT64_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX);
  assert_true(summarize(m, ROUTE_OTHER, 0).p99_ms > 8000);
  metrics_free(m);
}

/* Percentiles forget what is older than about a minute, the sums do not. */
static void old_requests(void **state) {
  (void)state;
  const uint64_t second = 1000000000, now = clock_ns();
  if (now < 200 * second) skip(); /* the clock began too late for this */
  request_metrics *m = metrics_create(1, 0);
  metrics_count(m, 0, ROUTE_OTHER, 0, 200, now - 100 * second, second, 0, 0, 0);
  assert_true(isnan(summarize(m, ROUTE_OTHER, 0).p50_ms));
  metrics_count(m, 0, ROUTE_OTHER, 0, 200, now - 30 * second, second, 0, 0, 0);
  assert_true(fabs(summarize(m, ROUTE_OTHER, 0).p50_ms - 1000) < 250);
  for (uint64_t age = 200; age-- > 0;)
    metrics_count(m, 0, ROUTE_OTHER, 0, 200, now - age * second, second / 100, 0, 0, 0);
  assert_true(summarize(m, ROUTE_OTHER, 0).p50_ms < 13);
  assert_int_equal(summarize(m, ROUTE_OTHER, 0).requests, 202);
  metrics_free(m);
}

/* ---- Threads: each counts in its own cells while others read ---- */

typedef struct counting {
  request_metrics *metrics;
  unsigned thread;
} counting;

static void *count_many(void *argument) {
  const counting *c = argument;
  for (int i = 0; i < 20000; i++)
    metrics_count(c->metrics, c->thread, ROUTE_PREDICT, MODEL, 200, clock_ns(), 50000, 1, 1, 1);
  return NULL;
}

static void nothing_is_lost(void **state) {
  (void)state;
  request_metrics *m = metrics_create(THREADS, 1);
  counting jobs[THREADS];
  pthread_t threads[THREADS];
  for (unsigned i = 0; i < THREADS; i++) {
    jobs[i] = (counting){m, i};
    assert_int_equal(pthread_create(&threads[i], NULL, count_many, &jobs[i]), 0);
  }
  uint64_t before = 0;
  for (int i = 0; i < 100; i++) {
    const uint64_t now = summarize(m, ROUTE_PREDICT, MODEL).requests;
    assert_true(now >= before);
    before = now;
  }
  for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(summarize(m, ROUTE_PREDICT, MODEL).requests, THREADS * 20000);
  assert_int_equal(summarize(m, ROUTE_PREDICT, MODEL).rows, THREADS * 20000);
  metrics_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_counted),   cmocka_unit_test(sums_over_threads), cmocka_unit_test(percentiles),
      cmocka_unit_test(extreme_durations), cmocka_unit_test(old_requests),      cmocka_unit_test(nothing_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
