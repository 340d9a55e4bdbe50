/* examples/05_train.c: a factorization machine: trained, saved, and asked what it thinks of a row.
 *
 *   05_train [DIR]     where to save it; without one, a directory that is taken away again
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/furrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define USERS 40
#define ITEMS 60

/* Users like items of their own kind: whether user u clicks item i is known from u % 3 and i % 3 alone. */
static furrow_status make_rows(furrow_container *rows, furrow_error *err) {
  furrow_status status = FURROW_OK;
  unsigned draw = 1;
  for (int n = 0; n < 6000 && status == FURROW_OK; n++) {
    draw = draw * 1664525 + 1013904223;
    const uint32_t user = (draw >> 8) % USERS, item = (draw >> 18) % ITEMS;
    const uint32_t features[2] = {user, USERS + item};
    const float label = user % 3 == item % 3 ? 1 : 0;
    const furrow_row row = {.label = {&label}, .length = 2, .index = {features}};
    status = furrow_container_push_row(rows, &row, err);
  }
  return status;
}

static furrow_status configure(furrow_learn_conf *conf, furrow_error *err) {
  static const char *const settings[][2] = {
      {"rank", "4"}, {"range", "100"}, {"lr", "0.5"}, {"optimizer", "sgd"}, {"init-embedding", "0.1"}};
  furrow_status status = furrow_learn_conf_set_algorithm(conf, "fm", err);
  for (size_t i = 0; i < sizeof settings / sizeof *settings && status == FURROW_OK; i++)
    status = furrow_learn_conf_set(conf, settings[i][0], settings[i][1], err);
  return status;
}

/* A loop of the program itself; furrow_trainer_fit has one for data in files, with epochs, validation and checkpoints.
 */
static furrow_status train(furrow_trainer *trainer, const furrow_rowblock *rows, furrow_error *err) {
  double loss = 0;
  furrow_status status = FURROW_OK;
  for (int epoch = 0; epoch < 30; epoch++) {
    for (size_t at = 0; at + 50 <= rows->size && status == FURROW_OK; at += 50) {
      furrow_rowblock batch;
      status = furrow_rowblock_slice(rows, at, at + 50, &batch, err);
      if (status == FURROW_OK) status = furrow_trainer_step(trainer, &batch, &loss, err);
    }
  }
  if (status == FURROW_OK) printf("the last batch's loss is %s\n", loss < 0.2 ? "small" : "large");
  return status;
}

static furrow_status make_model(const char *folder, furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  furrow_container *rows = NULL;
  furrow_rowblock block;
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, err);
  if (status == FURROW_OK) status = make_rows(rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  if (status == FURROW_OK) status = furrow_learn_conf_create(&conf, err);
  if (status == FURROW_OK) status = configure(conf, err);
  if (status == FURROW_OK) status = furrow_trainer_create(&trainer, conf, NULL, err);
  if (status == FURROW_OK) status = train(trainer, &block, err);
  if (status == FURROW_OK) status = furrow_trainer_save(trainer, folder, NULL, err);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  furrow_container_free(rows);
  return status;
}

static furrow_status ask(const char *folder, furrow_error *err) {
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *scratch = NULL;
  furrow_status status = furrow_scorer_load(&scorer, folder, NULL, err);
  if (status == FURROW_OK) status = furrow_scorer_scratch_create(&scratch, scorer, err);
  for (uint32_t item = 0; item < 3 && status == FURROW_OK; item++) {
    const uint32_t features[2] = {7, USERS + item}; /* user 7 likes items 1, 4, 7 … */
    const furrow_row row = {.length = 2, .index = {features}};
    furrow_score score;
    status = furrow_scorer_score_row(scorer, scratch, &row, &score, err);
    if (status == FURROW_OK) printf("item %u: %s\n", item, score.proba > 0.5 ? "yes" : "no");
  }
  furrow_scorer_scratch_free(scratch);
  furrow_scorer_free(scorer);
  return status;
}

int main(int argc, char **argv) {
  char folder[] = "05_train.XXXXXX", model[64], command[128];
  furrow_error err;
  if (argc < 2 && !mkdtemp(folder)) return 1;
  snprintf(model, sizeof model, "%s/fm", folder);
  const char *target = argc > 1 ? argv[1] : model;
  furrow_status status = make_model(target, &err);
  if (status == FURROW_OK) status = ask(target, &err);
  if (status != FURROW_OK) {
    char text[1024];
    furrow_error_to_text(&err, text, sizeof text);
    fprintf(stderr, "05_train: %s\n", text);
  }
  snprintf(command, sizeof command, "rm -r %s", folder);
  if (argc < 2 && system(command) != 0) return 1;
  return furrow_status_exit_code(status);
}
