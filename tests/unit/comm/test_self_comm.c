/* tests/unit/comm/test_self_comm.c: the communicator of a process that is alone, and checks of one that a caller
 * brings. */
#include <string.h>

#include "comm/collectives.h"
#include "support/cmocka_all.h"

static void one_process_talks_to_itself(void **state) {
  (void)state;
  const furrow_comm *self = NULL;
  char got[8] = "", text[] = "abc";
  const size_t three = 3, none = 0;
  assert_int_equal(fw_comm_of(&self, NULL, NULL), FURROW_OK);
  assert_ptr_equal(self, fw_comm_self());
  assert_int_equal(self->ranks, 1);
  assert_int_equal(self->rank, 0);
  assert_int_equal(self->exchange(self, "abc", &three, got, &three, NULL), FURROW_OK);
  assert_string_equal(got, "abc");
  assert_int_equal(self->exchange(self, NULL, &none, NULL, &none, NULL), FURROW_OK);
  assert_int_equal(self->gather(self, "def", 3, got, &three, NULL), FURROW_OK);
  assert_string_equal(got, "def");
  assert_int_equal(self->gather(self, NULL, 0, NULL, &none, NULL), FURROW_OK);
  assert_int_equal(self->broadcast(self, text, 3, 0, NULL), FURROW_OK);
  assert_string_equal(text, "abc");
  assert_int_equal(self->barrier(self, NULL), FURROW_OK);
}

static void communicators_are_checked(void **state) {
  (void)state;
  static const char lacks[] = "comm: exchange, gather, broadcast and barrier are required";
  static const struct {
    int change;
    const char *message;
  } cases[] = {{0, lacks}, {1, lacks}, {2, lacks}, {3, lacks}, {4, "comm: rank 0 of 0"}, {5, "comm: rank 2 of 2"},
               {6, lacks}};
  const furrow_comm *found = NULL;
  furrow_comm own = *fw_comm_self();
  own.ranks = 2;
  assert_int_equal(fw_comm_of(&found, &own, NULL), FURROW_OK);
  assert_ptr_equal(found, &own);
  own.size = offsetof(furrow_comm, settle); /* what an older header lacks need not be there */
  assert_int_equal(fw_comm_of(&found, &own, NULL), FURROW_OK);
  found = NULL;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_comm given = own;
    furrow_error err;
    if (cases[i].change == 0) given.exchange = NULL;
    if (cases[i].change == 1) given.gather = NULL;
    if (cases[i].change == 2) given.broadcast = NULL;
    if (cases[i].change == 3) given.barrier = NULL;
    if (cases[i].change == 4) given.ranks = 0;
    if (cases[i].change == 5) given.rank = 2;
    if (cases[i].change == 6) given.size = offsetof(furrow_comm, barrier); /* of an older header */
    assert_int_equal(fw_comm_of(&found, &given, &err), FURROW_E_ARGUMENT);
    assert_string_equal(err.message, cases[i].message);
    assert_null(found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_process_talks_to_itself),
      cmocka_unit_test(communicators_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
