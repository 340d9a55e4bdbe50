/* tests/unit/learn/test_param_mixing.c: a training by several ranks, which here are threads with a communicator of
 * their own.
 */
#include "learn/net/param_mixing.h"
#include "support/made_clicks.h"
#include "support/thread_ranks.h"

enum { RANKS = 3 };

static int write_data(void **state) {
  return enter_dir(state) == 0 && write_clicks("clicks", 3000, 1, 1) && write_clicks("test", 900, 2, 1) ? 0 : -1;
}

/* ---- Threads as ranks ----------------------------------------------------------------------------------- */

typedef struct rank {
  fw_comm comm;
  furrow_trainer *trainer;
  furrow_status status;
} rank;

static void *train(void *context) {
  rank *r = context;
  r->status = furrow_trainer_fit(r->trainer, "clicks", "test", NULL, NULL);
  return NULL;
}

static void run_ranks(rank *ranks, const char *settings) {
  for (unsigned i = 0; i < RANKS; i++) {
    ranks[i] = (rank){.comm = thread_comm(i, RANKS)};
    ranks[i].trainer = new_trainer("fm", settings, 1, false);
    fw_trainer_set_comm(ranks[i].trainer, &ranks[i].comm);
  }
  run_threads(RANKS, train, ranks, sizeof *ranks);
}

static void ranks_end_with_the_same_net(void **state) {
  (void)state;
  static const char *const settings[] = {"lr=0.1 rank=4 epochs=3 range=120",
                                         "lr=0.1 rank=4 epochs=3 range=120 model-type=T_DOUBLE_DENSE"};
  for (size_t s = 0; s < 2; s++) {
    rank ranks[RANKS];
    run_ranks(ranks, settings[s]);
    fw_buffer first = snapshot_of(ranks[0].trainer);
    const size_t count = furrow_trainer_epoch_count(ranks[0].trainer);
    assert_int_equal(count, 3);
    assert_int_equal(epoch_at(ranks[0].trainer, 2)->train->rows, 3000); /* of all ranks */
    assert_int_equal(epoch_at(ranks[0].trainer, 2)->valid->rows, 900);
    assert_true(epoch_at(ranks[0].trainer, 2)->valid->auc > 0.8);
    for (unsigned i = 0; i < RANKS; i++) {
      assert_int_equal(ranks[i].status, FURROW_OK);
      fw_buffer other = snapshot_of(ranks[i].trainer);
      assert_same_snapshot(&first, &other);
      assert_memory_equal(epoch_at(ranks[i].trainer, 2)->valid, epoch_at(ranks[0].trainer, 2)->valid,
                          sizeof(furrow_learn_metrics));
      fw_buffer_clear(&other);
    }
    for (unsigned i = 0; i < RANKS; i++) furrow_trainer_free(ranks[i].trainer);
    fw_buffer_clear(&first);
  }
}

static void features_that_appear_cannot_be_mixed(void **state) {
  (void)state;
  rank ranks[RANKS];
  run_ranks(ranks, "lr=0.1 rank=4 epochs=3");
  for (unsigned i = 0; i < RANKS; i++) {
    assert_int_equal(ranks[i].status, FURROW_E_UNSUPPORTED);
    furrow_trainer_free(ranks[i].trainer);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_end_with_the_same_net),
      cmocka_unit_test(features_that_appear_cannot_be_mixed),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
