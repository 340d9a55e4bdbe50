/* tests/unit/learn/test_epoch_rows.c: from a URI to the rows of an epoch, in their order. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/data/samples.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"
#include "support/thread_ranks.h"

enum { ROWS = 1000 };

static furrow_error err;
static const fw_data_conf data = {.format = "libsvm", .index_base = 1, .has_label = true};

/* Row n (from 1) is "label n:1", and every fourth label is 1, the others -1. */
static int write_data(void **state) {
  if (enter_dir(state) != 0) return -1;
  char *text = malloc(ROWS * 32);
  size_t used = 0;
  for (int n = 1; text && n <= ROWS; n++) used += (size_t)sprintf(text + used, "%d %d:1\n", n % 4 ? -1 : 1, n);
  bool good = text && test_write_file("data", text, used);
  free(text);
  return good ? 0 : -1;
}

typedef struct setup {
  const char *uri;
  bool stream;
  fw_epoch_rows_params params;
  furrow_comm comm;
} setup;

#define SETUP .params = {.sample_ratio = 1}, .comm = {.ranks = 1}

/* An open feed and what it stands on. */
typedef struct opened {
  fw_samples *samples;
  fw_epoch_rows *epoch_rows;
  fw_batcher *batcher;
} opened;

static furrow_status open_epoch_rows(opened *o, const setup *s) {
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.threads = 1;
  params.chunk_bytes = 500; /* many blocks */
  *o = (opened){0};
  furrow_status status = fw_samples_open(&o->samples, s->uri, &data, &params, s->stream, &s->comm, &err);
  if (status == FURROW_OK) status = fw_epoch_rows_open(&o->epoch_rows, o->samples, &data, &s->params, &err);
  const fw_batcher_params rules = {.data = &data};
  if (status == FURROW_OK) status = fw_batcher_create(&o->batcher, &rules, &err);
  return status;
}

static void close_epoch_rows(opened *o) {
  fw_epoch_rows_close(o->epoch_rows);
  fw_samples_close(o->samples);
  fw_batcher_free(o->batcher);
}

/* The numbers of an epoch's rows; checks that each row is the one of its number. */
static furrow_status take_epoch(opened *o, uint32_t epoch, size_t batch_rows, uint64_t *numbers, size_t *count) {
  furrow_status status = fw_epoch_rows_start(o->epoch_rows, epoch, &err);
  size_t got = 1, n = 0;
  while (status == FURROW_OK && got > 0) {
    fw_minibatch *batch = NULL;
    fw_batcher_start(o->batcher);
    status = fw_epoch_rows_fill(o->epoch_rows, o->batcher, batch_rows, numbers + n, &got, &err);
    if (status == FURROW_OK) status = fw_batcher_finish(o->batcher, &batch, &err);
    if (status != FURROW_OK) break;
    assert_int_equal(batch->rows, got);
    for (size_t i = 0; i < got; i++) {
      assert_int_equal(batch->key[batch->feature[i]] + 1, numbers[n + i]);
      assert_true(batch->label[i] == (numbers[n + i] % 4 ? -1 : 1));
    }
    n += got;
    assert_true(n <= ROWS);
  }
  *count = n;
  return status;
}

static size_t epoch_of(const setup *s, uint32_t epoch, size_t batch_rows, uint64_t *numbers) {
  opened o;
  size_t count = 0;
  assert_int_equal(open_epoch_rows(&o, s), FURROW_OK);
  assert_int_equal(take_epoch(&o, epoch, batch_rows, numbers, &count), FURROW_OK);
  close_epoch_rows(&o);
  return count;
}

static uint64_t numbers[ROWS + 64], others[ROWS + 64];

static void sources_give_the_same_rows(void **state) {
  (void)state;
  static const setup setups[] = {{SETUP, .uri = "data"},
                                 {SETUP, .uri = "data", .stream = true},
                                 {SETUP, .uri = "data#cache"},
                                 {SETUP, .uri = "data#cache", .stream = true}};
  for (size_t i = 0; i < sizeof setups / sizeof *setups; i++) {
    for (size_t batch = 1; batch < 2 * ROWS; batch = batch * 5 + 2) {
      assert_int_equal(epoch_of(&setups[i], 1, batch, numbers), ROWS);
      for (size_t n = 0; n < ROWS; n++) assert_int_equal(numbers[n], n + 1);
    }
  }
}

static void validation_takes_every_nth_row(void **state) {
  (void)state;
  assert_int_equal(fw_valid_every(0.05), 20);
  assert_int_equal(fw_valid_every(0.3), 4);
  assert_int_equal(fw_valid_every(1), 1);
  assert_int_equal(fw_valid_every(0), 0);
  for (int stream = 0; stream < 2; stream++) {
    setup s = {SETUP, .uri = "data", .stream = stream};
    s.params.every = 7;
    s.params.subset = FW_SUBSET_VALID;
    assert_int_equal(epoch_of(&s, 1, 10, numbers), (ROWS + 6) / 7);
    for (size_t n = 0; n < (ROWS + 6) / 7; n++) assert_int_equal(numbers[n], 7 * n + 1);
    s.params.subset = FW_SUBSET_TRAIN;
    const size_t count = epoch_of(&s, 1, 10, numbers);
    assert_int_equal(count, ROWS - (ROWS + 6) / 7);
    for (size_t n = 0; n < count; n++) assert_int_equal(numbers[n], n + n / 6 + 2);
    s.params.every = 0; /* no validation: all rows are for training */
    assert_int_equal(epoch_of(&s, 1, 10, numbers), ROWS);
  }
}

static int by_number(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void shuffled_epochs_are_permutations(void **state) {
  (void)state;
  for (int stream = 0; stream < 2; stream++) {
    setup s = {SETUP, .uri = "data", .stream = stream};
    s.params.shuffle = true;
    s.params.seed = 5;
    assert_int_equal(epoch_of(&s, 1, 64, numbers), ROWS);
    assert_int_equal(epoch_of(&s, 1, 99, others), ROWS);
    assert_memory_equal(numbers, others, sizeof numbers[0] * ROWS); /* they do not depend on the batch's size */
    assert_int_equal(epoch_of(&s, 2, 64, others), ROWS);
    assert_memory_not_equal(numbers, others, sizeof numbers[0] * ROWS);
    s.params.seed = 6;
    assert_int_equal(epoch_of(&s, 1, 64, others), ROWS);
    assert_memory_not_equal(numbers, others, sizeof numbers[0] * ROWS);
    size_t moved = 0;
    for (size_t n = 0; n < ROWS; n++) moved += numbers[n] != n + 1;
    assert_true(moved > ROWS * 9 / 10);
    qsort(numbers, ROWS, sizeof *numbers, by_number);
    for (size_t n = 0; n < ROWS; n++) assert_int_equal(numbers[n], n + 1);
  }
}

/* One feed, several epochs: the same as a feed for each. */
static void epochs_stand_alone(void **state) {
  (void)state;
  for (int stream = 0; stream < 2; stream++) {
    setup s = {SETUP, .uri = "data", .stream = stream};
    s.params.shuffle = true;
    opened o;
    assert_int_equal(open_epoch_rows(&o, &s), FURROW_OK);
    for (uint32_t epoch = 3; epoch > 0; epoch--) {
      size_t count;
      assert_int_equal(take_epoch(&o, epoch, 50, numbers, &count), FURROW_OK);
      assert_int_equal(epoch_of(&s, epoch, 50, others), count);
      assert_memory_equal(numbers, others, sizeof numbers[0] * count);
    }
    close_epoch_rows(&o);
  }
}

static void samples_are_drawn_by_row(void **state) {
  (void)state;
  setup s = {SETUP, .uri = "data"};
  s.params.sample_ratio = 0.3;
  const size_t count = epoch_of(&s, 1, 64, numbers);
  assert_in_range(count, 240, 360);
  s.stream = true;
  assert_int_equal(epoch_of(&s, 1, 64, others), count);
  assert_memory_equal(numbers, others, sizeof numbers[0] * count);
  const size_t next = epoch_of(&s, 2, 64, others);
  assert_true(next != count || memcmp(numbers, others, sizeof numbers[0] * count) != 0);
}

static void positives_and_negatives_are_balanced(void **state) {
  (void)state;
  static const double ratios[] = {1, 0.1};
  for (size_t i = 0; i < 2; i++) {
    setup s = {SETUP, .uri = "data"};
    s.params.posneg_ratio = ratios[i];
    const size_t count = epoch_of(&s, 1, 64, numbers);
    size_t positives = 0;
    for (size_t n = 0; n < count; n++) positives += numbers[n] % 4 == 0;
    const double ratio = (double)positives / (double)(count - positives);
    assert_true(ratio > ratios[i] * 0.8 && ratio < ratios[i] * 1.25);
    assert_true(ratios[i] < 1.0 / 3 ? count - positives == 750 : positives == 250); /* only the surplus is left out */
    s.stream = true;
    assert_int_equal(epoch_of(&s, 1, 64, others), count);
    assert_memory_equal(numbers, others, sizeof numbers[0] * count);
  }
}

static void rows_are_counted(void **state) {
  (void)state;
  for (int stream = 0; stream < 2; stream++) {
    setup s = {SETUP, .uri = "data", .stream = stream};
    s.params.every = 10;
    s.params.subset = FW_SUBSET_TRAIN;
    opened o;
    uint64_t rows = 0;
    assert_int_equal(open_epoch_rows(&o, &s), FURROW_OK);
    assert_int_equal(fw_epoch_rows_known_rows(o.epoch_rows), stream ? 0 : 900);
    assert_int_equal(fw_epoch_rows_count(o.epoch_rows, &rows, &err), FURROW_OK);
    assert_int_equal(rows, 900);
    assert_int_equal(fw_epoch_rows_known_rows(o.epoch_rows), 900);
    close_epoch_rows(&o);
    s.params.subset = FW_SUBSET_VALID;
    assert_int_equal(open_epoch_rows(&o, &s), FURROW_OK);
    assert_int_equal(fw_epoch_rows_known_rows(o.epoch_rows), stream ? 0 : 100);
    close_epoch_rows(&o);
    s.params.subset = FW_SUBSET_ALL;
    assert_int_equal(open_epoch_rows(&o, &s), FURROW_OK);
    assert_int_equal(fw_epoch_rows_known_rows(o.epoch_rows), stream ? 0 : 1000);
    close_epoch_rows(&o);
  }
}

/* Of one rank: how many rows it has, and before it. */
typedef struct rank_rows {
  furrow_comm comm;
  furrow_status status;
  uint64_t rows, first, all;
} rank_rows;

static void *count_rank(void *item) {
  rank_rows *r = item;
  fw_samples *samples = NULL;
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.threads = 1;
  r->status = fw_samples_open(&samples, "data", &data, &params, false, &r->comm, NULL);
  if (r->status != FURROW_OK) return NULL;
  r->rows = fw_samples_block(samples)->size;
  r->first = samples->first_row;
  r->all = samples->all_rows;
  fw_samples_close(samples);
  return NULL;
}

static void ranks_share_the_rows(void **state) {
  (void)state;
  size_t count = 0;
  rank_rows ranks[3] = {{.comm = thread_comm(0, 3)}, {.comm = thread_comm(1, 3)}, {.comm = thread_comm(2, 3)}};
  run_threads(3, count_rank, ranks, sizeof *ranks);
  for (unsigned rank = 0; rank < 3; rank++) {
    assert_int_equal(ranks[rank].status, FURROW_OK);
    assert_in_range(ranks[rank].rows, 200, 500);
    assert_int_equal(ranks[rank].first, count);
    assert_int_equal(ranks[rank].all, ROWS);
    count += ranks[rank].rows;
  }
  assert_int_equal(count, ROWS);
}

/* ---- What is wrong with the data ------------------------------------------------------------------------ */

static furrow_status read_all(const char *uri, bool stream) {
  setup s = {SETUP, .uri = "data", .stream = stream};
  s.uri = uri;
  opened o;
  size_t count;
  furrow_status status = open_epoch_rows(&o, &s);
  if (status == FURROW_OK) status = take_epoch(&o, 1, 10, numbers, &count);
  close_epoch_rows(&o);
  return status;
}

static void errors_have_a_place(void **state) {
  (void)state;
  assert_true(test_write_text("zero", "1 1:1\n1 0:1\n"));
  assert_true(test_write_text("bad", "1 1:1\n1 x1:1\n"));
  assert_true(test_write_text("large", "1 1:1\n1 5000000000:1\n"));
  for (int stream = 0; stream < 2; stream++) {
    assert_int_equal(read_all("zero", stream), FURROW_E_RANGE);
    assert_int_equal(err.line, 2);
    assert_string_equal(err.hint, "set the key `index-base` to 0 for data that counts from 0");
    assert_int_equal(read_all("large", stream), FURROW_E_RANGE);
    assert_int_equal(err.line, 2);
    assert_string_equal(err.hint, "a model-type of T_FLOAT_SPARSE_LONGKEY takes larger indices");
    assert_int_equal(read_all("zero?indexing_mode=1", stream), FURROW_E_RANGE);
    assert_int_equal(read_all("bad", stream), FURROW_E_PARSE);
    assert_int_equal(err.line, 2);
    assert_int_equal(read_all("nothing", stream), FURROW_E_NOT_FOUND);
    assert_int_equal(read_all("data?what=1", stream), FURROW_E_ARGUMENT);
  }
}

static void allocations_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (int kind = 0; kind < 4; kind++) {
    furrow_status status = FURROW_E_MEMORY;
    for (long n = 1; status != FURROW_OK; n++) {
      setup s = {SETUP, .uri = "data", .stream = kind & 1};
      s.params.shuffle = kind & 2;
      opened o;
      size_t count = 0;
      const long live = alloc_live;
      alloc_fail_at(n);
      status = open_epoch_rows(&o, &s);
      if (status == FURROW_OK) status = take_epoch(&o, 1, 100, numbers, &count);
      close_epoch_rows(&o);
      assert_int_equal(status, alloc_failed ? FURROW_E_MEMORY : FURROW_OK);
      alloc_fail_at(0);
      assert_int_equal(alloc_live, live);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sources_give_the_same_rows),
      cmocka_unit_test(validation_takes_every_nth_row),
      cmocka_unit_test(shuffled_epochs_are_permutations),
      cmocka_unit_test(epochs_stand_alone),
      cmocka_unit_test(samples_are_drawn_by_row),
      cmocka_unit_test(positives_and_negatives_are_balanced),
      cmocka_unit_test(rows_are_counted),
      cmocka_unit_test(ranks_share_the_rows),
      cmocka_unit_test(errors_have_a_place),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
