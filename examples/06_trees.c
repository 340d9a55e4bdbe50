/* examples/06_trees.c: grows boosted trees from a file, scores rows, and lists the important features.
 *
 *   06_trees
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/furrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A flat is expensive if it is large and near the centre; its colour does not matter. */
static int write_rows(const char *path) {
  FILE *file = fopen(path, "w");
  unsigned draw = 1;
  if (!file) return 1;
  for (int n = 0; n < 4000; n++) {
    draw = draw * 1664525 + 1013904223;
    const unsigned size = (draw >> 8) % 150 + 20, distance = (draw >> 16) % 30, colour = (draw >> 24) % 7;
    fprintf(file, "%d 1:%u 2:%u 3:%u\n", size > 80 && distance < 12, size, distance, colour);
  }
  return fclose(file);
}

static furrow_status ask(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, float size, float distance,
                         furrow_error *err) {
  const uint32_t features[2] = {0, 1}; /* the file counts from 1 */
  const float values[2] = {size, distance};
  const furrow_row row = {.length = 2, .index = {features}, .value = {values}};
  furrow_score score;
  furrow_status status = furrow_scorer_score_row(scorer, scratch, &row, &score, err);
  if (status == FURROW_OK)
    printf("%.0f square metres, %.0f km away: %s\n", (double)size, (double)distance,
           score.label > 0 ? "dear" : "cheap");
  return status;
}

static furrow_status show_importance(const furrow_scorer *scorer, furrow_error *err) {
  static const char *const names[] = {"size", "distance", "colour"};
  furrow_feature_importance *list = NULL;
  size_t count = 0;
  furrow_status status = furrow_scorer_feature_importance(scorer, &list, &count, err);
  if (status == FURROW_OK && count >= 2)
    printf("what counts: %s and %s\n", names[list[0].feature < list[1].feature ? list[0].feature : list[1].feature],
           names[list[0].feature < list[1].feature ? list[1].feature : list[0].feature]);
  furrow_free(list);
  return status;
}

int main(void) {
  char path[] = "06_trees.XXXXXX";
  static const char *const settings[] = {"trees=20", "depth=3", "lr=0.3", "splits=64", NULL};
  furrow_error err;
  furrow_trainer *trainer = NULL;
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *scratch = NULL;
  const int fd = mkstemp(path);
  if (fd < 0 || close(fd) != 0 || write_rows(path) != 0) return 1;
  furrow_status status =
      furrow_train(&trainer, "gbdt", path, NULL, &FURROW_INIT(furrow_train_params, .settings = settings), &err);
  if (status == FURROW_OK) status = furrow_scorer_create(&scorer, trainer, &err);
  if (status == FURROW_OK) status = furrow_scorer_scratch_create(&scratch, scorer, &err);
  if (status == FURROW_OK) status = ask(scorer, scratch, 120, 3, &err);
  if (status == FURROW_OK) status = ask(scorer, scratch, 120, 25, &err);
  if (status == FURROW_OK) status = ask(scorer, scratch, 30, 3, &err);
  if (status == FURROW_OK) status = show_importance(scorer, &err);
  if (status != FURROW_OK) {
    char text[512];
    furrow_error_to_text(&err, text, sizeof text);
    fprintf(stderr, "%s\n", text);
  }
  furrow_scorer_scratch_free(scratch);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
  unlink(path);
  return furrow_status_exit_code(status);
}
