/* tests/unit/fault/test_fault_learn_snapshot.c: snapshots of nets whose n-th read or write fails, for every n, and
 * snapshots whose features are not those of the net. */
#include "support/rank_nets.h"

/* ---- A snapshot in memory, of which a read fails ---- */

typedef struct source {
  const fw_buffer *bytes;
  long fails; /* the read that does; 0: none */
} source;

static long reads;

static furrow_status read_some(const void *from, uint64_t at, void *bytes, size_t size, furrow_error *e) {
  const source *s = from;
  if (++reads == s->fails) {
    if (e) *e = (furrow_error){.status = FURROW_E_IO, .message = "the disk broke"};
    return FURROW_E_IO;
  }
  if (at + size > s->bytes->size) return FURROW_E_STATE;
  memcpy(bytes, s->bytes->bytes + at, size);
  return FURROW_OK;
}

static furrow_status take(rank_net *r, const fw_buffer *bytes, long fails, bool fill, uint64_t *taken) {
  const source from = {bytes, fails};
  const fw_snapshot_range range = {.read = read_some, .from = &from, .end = bytes->size, .ranks = 1, .dense = true};
  reads = 0;
  return fw_parameters_snapshot_take(r->net, &range, fill, taken, &r->error);
}

static furrow_status create(rank_net *r, const fw_plan *plan) {
  *r = (rank_net){.comm = *fw_comm_self(), .plan = plan, .salt = 3};
  return rank_make(r);
}

static fw_buffer snapshot_of_new(const fw_plan *plan) {
  rank_net made;
  fw_buffer bytes = {0};
  assert_int_equal(create(&made, plan), FURROW_OK);
  assert_int_equal(rank_fill(made.net, made.salt, RANK_NET_KEYS, &made.error), FURROW_OK);
  assert_int_equal(fw_parameters_snapshot_write(made.net, rank_append, &bytes, &made.error), FURROW_OK);
  fw_parameters_free(made.net);
  return bytes;
}

/* ---- Tests ---- */

/* *taken stays as it is, and the net can still be filled. */
static void a_read_that_fails(void **state) {
  (void)state;
  for (int open = 0; open < 2; open++) {
    fw_plan *plan = rank_plan(open);
    fw_buffer bytes = snapshot_of_new(plan), again = {0};
    for (int fill = 0; fill < 2; fill++) {
      rank_net r;
      uint64_t taken = 7;
      long all = 0;
      assert_int_equal(create(&r, plan), FURROW_OK);
      assert_int_equal(take(&r, &bytes, 0, false, &taken), FURROW_OK);
      assert_int_equal(taken, 7 + (open ? RANK_NET_KEYS : RANK_NET_RANGE));
      for (long n = 1; n == 1 || n <= all; n++) {
        taken = 7;
        if (take(&r, &bytes, n, fill, &taken) == FURROW_OK) break;
        assert_int_equal(r.error.status, FURROW_E_IO);
        assert_string_equal(r.error.message, "the disk broke");
        assert_int_equal(taken, 7);
        all = n + 1;
      }
      assert_true(all > 1 + fill);
      taken = 0;
      assert_int_equal(take(&r, &bytes, 0, true, &taken), FURROW_OK);
      assert_int_equal(fw_parameters_snapshot_write(r.net, rank_append, &again, &r.error), FURROW_OK);
      rank_assert_same(&again, &bytes);
      fw_buffer_clear(&again);
      fw_parameters_free(r.net);
    }
    fw_buffer_clear(&bytes);
    fw_plan_free(plan);
  }
}

typedef struct full_disk {
  long writes, fails;
} full_disk;

static furrow_status write_some(void *to, const void *bytes, size_t size, furrow_error *e) {
  full_disk *disk = to;
  (void)bytes, (void)size;
  if (++disk->writes != disk->fails) return FURROW_OK;
  if (e) *e = (furrow_error){.status = FURROW_E_IO, .message = "the disk is full"};
  return FURROW_E_IO;
}

static void a_write_that_fails(void **state) {
  (void)state;
  for (int open = 0; open < 2; open++) {
    fw_plan *plan = rank_plan(open);
    rank_net r;
    full_disk disk = {0};
    assert_int_equal(create(&r, plan), FURROW_OK);
    assert_int_equal(rank_fill(r.net, r.salt, RANK_NET_KEYS, &r.error), FURROW_OK);
    assert_int_equal(fw_parameters_snapshot_write(r.net, write_some, &disk, &r.error), FURROW_OK);
    const long all = disk.writes;
    assert_true(all > 4);
    for (long n = 1; n <= all; n++) {
      disk = (full_disk){0, n};
      r.error = (furrow_error){0};
      assert_int_equal(fw_parameters_snapshot_write(r.net, write_some, &disk, &r.error), FURROW_E_IO);
      assert_string_equal(r.error.message, "the disk is full");
      assert_int_equal(disk.writes, n); /* nothing follows it */
    }
    fw_parameters_free(r.net);
    fw_plan_free(plan);
  }
}

/* Keys of an open net lie behind its dense arrays and their number. */
static void a_feature_beyond_the_range(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("lr", "range=1000 model-type=T_DOUBLE_SPARSE optimizer=sgd");
  fw_plan *plan = NULL;
  rank_net r;
  fw_buffer bytes = {0};
  uint64_t taken = 0;
  assert_int_equal(fw_plan_of_conf(&plan, conf, &err), FURROW_OK);
  assert_int_equal(create(&r, plan), FURROW_OK);
  assert_true(fw_parameters_are_open(r.net));
  assert_int_equal(fw_parameters_make(r.net, 999, &r.error), FURROW_OK);
  assert_int_equal(fw_parameters_snapshot_write(r.net, rank_append, &bytes, &r.error), FURROW_OK);
  assert_int_equal(take(&r, &bytes, 0, false, &taken), FURROW_OK);
  assert_int_equal(taken, 1);
  size_t at = 0;
  while (at + 8 <= bytes.size && memcmp(bytes.bytes + at, "\xe7\x03\0\0\0\0\0\0", 8) != 0) at++;
  assert_true(at + 8 <= bytes.size);
  bytes.bytes[at] = (char)0xe8; /* 1000 */
  assert_int_equal(take(&r, &bytes, 0, true, &taken), FURROW_E_FORMAT);
  assert_string_equal(r.error.message, "a feature is beyond the model's range");
  assert_int_equal(taken, 1);
  fw_buffer_clear(&bytes);
  fw_parameters_free(r.net);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_read_that_fails),
      cmocka_unit_test(a_write_that_fails),
      cmocka_unit_test(a_feature_beyond_the_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
