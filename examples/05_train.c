/* examples/05_train.c: trains a factorization machine, saves it, loads it and scores rows.
 *
 *   05_train [DIR]     where to save the model; without DIR the program uses a temporary directory
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/furrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define USERS 40
#define ITEMS 60

/* Users like items of their own kind: user u clicks item i if u % 3 and i % 3 are equal. */
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

/* Rows in memory have a name, by which they are read like a file. */
static furrow_status make_model(const char *folder, furrow_error *err) {
  static const char *const settings[] = {"rank=4", "range=100", "epochs=10", NULL};
  furrow_trainer *trainer = NULL;
  furrow_container *rows = NULL;
  furrow_rowblock block;
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, err);
  if (status == FURROW_OK) status = make_rows(rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  if (status == FURROW_OK) status = furrow_memory_rows_add("memory://clicks", &block, NULL, NULL, err);
  if (status == FURROW_OK)
    status = furrow_train(&trainer, "fm", "memory://clicks", folder,
                          &FURROW_INIT(furrow_train_params, .settings = settings), err);
  if (status == FURROW_OK) status = furrow_memory_rows_remove("memory://clicks", err);
  for (size_t i = 0; status == FURROW_OK && i < furrow_trainer_epoch_count(trainer); i++)
    if (furrow_trainer_get_epoch(trainer, i)->best)
      printf("epoch %zu: auc %.3f\n", i + 1, furrow_trainer_get_epoch(trainer, i)->valid->auc);
  furrow_trainer_free(trainer);
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
