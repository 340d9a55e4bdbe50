/* tests/unit/learn/test_param_mixing.c: a training by several ranks, which here are threads with a communicator of
 * their own.
 */
#include "learn/net/param_mixing.h"
#include "support/made_clicks.h"
#include "support/made_net.h"
#include "support/thread_ranks.h"

enum { RANKS = 3 };

static int write_data(void **state) {
  return enter_dir(state) == 0 && write_clicks("clicks", 3000, 1, 1) && write_clicks("test", 900, 2, 1) ? 0 : -1;
}

/* ---- Threads as ranks ----------------------------------------------------------------------------------- */

typedef struct rank {
  furrow_comm comm;
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
    ranks[i].trainer->comm = &ranks[i].comm;
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

/* ---- FTRL that keeps first weights ---- */

typedef struct mixed {
  furrow_comm comm;
  fw_net *net;
  fw_pass *pass;
  furrow_status status;
} mixed;

static void *mix(void *context) {
  mixed *m = context;
  m->status = fw_mix_parameters(&m->comm, m->net, NULL);
  return NULL;
}

/* A row of feature 1 with value 0: no gradient, but FTRL computes the weight from its state anew. */
static void step_without_gradient(mixed *m) {
  uint64_t key = 1;
  fw_minibatch batch = {.rows = 1, .uses = 1, .label = made_array(1, sizeof(float))};
  batch.offset = made_array(2, sizeof(uint32_t));
  batch.value = made_array(1, sizeof(float));
  batch.offset[1] = 1;
  batch_number(&batch, &key);
  net_step(m->net, m->pass, &batch, &(fw_step){.number = 1, .rate = 0.1, .scale = 1});
  batch_free(&batch);
}

/* One rank has seen the feature, the others have not. */
static void first_weights_survive_a_mean(void **state) {
  (void)state;
  const int32_t types[] = {T_DOUBLE_DENSE, T_FLOAT_DENSE};
  for (size_t i = 0; i < 2; i++) {
    made_plan made;
    mixed ranks[RANKS];
    plan_start(&made, types[i], 3);
    made.plan.train.ftrl_keeps_first_weights = true;
    plan_loss(&made, plan_input(&made, "input", 1, FW_ACTIVATION_IDENTITY), FW_LOSS_L2);
    plan_optimizer(&made, &(fw_optimizer){.type = FW_OPTIMIZER_FTRL, .lr = NAN, .a = 0.3, .b = 0.1, .l1 = 0.01});
    for (unsigned r = 0; r < RANKS; r++) {
      ranks[r] = (mixed){.comm = thread_comm(r, RANKS), .net = net_make(&made, 5)};
      ranks[r].pass = pass_make(ranks[r].net);
    }
    const void *numbers = fw_net_feature(ranks[2].net, 0, 1, 0);
    const double before = types[i] == T_DOUBLE_DENSE ? *(const double *)numbers : (double)*(const float *)numbers;
    step_without_gradient(&ranks[0]);
    run_threads(RANKS, mix, ranks, sizeof *ranks);
    step_without_gradient(&ranks[2]);
    const double after = types[i] == T_DOUBLE_DENSE ? *(const double *)numbers : (double)*(const float *)numbers;
    assert_true(before != 0 && fabs(after - before) < 1e-5);
    for (unsigned r = 0; r < RANKS; r++) {
      assert_int_equal(ranks[r].status, FURROW_OK);
      fw_pass_free(ranks[r].pass);
      fw_net_free(ranks[r].net);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_end_with_the_same_net),
      cmocka_unit_test(features_that_appear_cannot_be_mixed),
      cmocka_unit_test(first_weights_survive_a_mean),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
