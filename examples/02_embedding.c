/* examples/02_embedding.c: reads vectors of an embedding that Angel stored, and finds the longest one.
 *
 *   02_embedding [FOLDER [FEATURE]]     FOLDER: a matrix folder such as deepfm/embedding_embedding
 *
 * Without FOLDER the program writes a small matrix.
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/furrow.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Reading a whole matrix into memory --------------------------------------------------------------- */

/* The vector of a feature: its column, one element of each saved row. */
static furrow_status print_vector(const char *folder, int64_t feature, furrow_error *err) {
  furrow_matrix *m = NULL;
  furrow_status status = furrow_matrix_load(&m, folder, NULL, err);
  if (status != FURROW_OK) return status;
  const size_t rows = furrow_matrix_row_count(m);
  float *vector = furrow_matrix_type(m) == FURROW_ELEMENT_F32 ? malloc((rows + 1) * sizeof *vector) : NULL;
  if (vector) {
    const size_t n = furrow_matrix_column(m, feature, NULL, vector);
    printf("feature %lld:", (long long)feature);
    for (size_t i = 0; i < n; i++) printf(" %g", (double)vector[i]);
    printf("%s\n", n > 0 ? "" : " not there");
  }
  free(vector);
  furrow_matrix_free(m);
  return FURROW_OK;
}

/* ---- Reading a matrix of any size: one partition after the other, on several threads ------------------ */

typedef struct longest {
  int64_t feature[64]; /* one for each partition, so that threads share nothing */
  double norm[64];
} longest;

static furrow_status find_longest(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  longest *l = user;
  (void)err;
  for (size_t c = 0; c < panel->cols && part < 64; c++) {
    double sum = 0;
    for (size_t r = 0; r < panel->rows; r++) sum += furrow_panel_get(panel, r, c) * furrow_panel_get(panel, r, c);
    if (sum <= l->norm[part]) continue;
    l->norm[part] = sum;
    l->feature[part] = furrow_panel_col(panel, c);
  }
  return FURROW_OK;
}

static furrow_status print_longest(const char *folder, furrow_error *err) {
  furrow_matrix_source *source = NULL;
  longest l = {.norm = {0}};
  furrow_status status = furrow_matrix_source_open(&source, folder, NULL, err);
  if (status != FURROW_OK) return status;
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  printf("%s: %s, %zu partitions\n", meta->matrix_name, furrow_matrix_source_format(source)->name, meta->part_count);
  status = furrow_matrix_for_each_panel(source, NULL, find_longest, &l, err);
  size_t best = 0;
  for (size_t p = 1; p < 64; p++)
    if (l.norm[p] > l.norm[best]) best = p;
  if (status == FURROW_OK)
    printf("longest: feature %lld, length %.4f\n", (long long)l.feature[best], sqrt(l.norm[best]));
  furrow_matrix_source_close(source);
  return status;
}

/* ---- Writing: an embedding of 40 features with 4 factors, in partitions of 10 columns ----------------- */

#define FACTORS 4
#define FEATURES 40

static furrow_status write_sample(const char *folder, furrow_error *err) {
  static const int32_t rows[FACTORS] = {0, 1, 2, 3};
  float values[FACTORS * FEATURES];
  for (int i = 0; i < FACTORS * FEATURES; i++) values[i] = (float)((i * 37 + 11) % 64 - 32) / 64;
  const furrow_panel panel = {
      .rows = FACTORS, .row_ids = rows, .cols = FEATURES, .type = FURROW_ELEMENT_F32, .values = {.f32 = values}};
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  spec.name = "embedding_embedding";
  spec.format = "TextColumnFormat";
  spec.rows = FACTORS;
  spec.cols = FEATURES;
  spec.block_cols = 10;
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *plan = NULL;
  furrow_status status = furrow_matrix_create(&matrix, &panel, 1, err);
  if (status == FURROW_OK) status = furrow_matrix_plan(&plan, &spec, err);
  if (status == FURROW_OK) status = furrow_matrix_save(matrix, folder, plan, NULL, err);
  furrow_matrix_meta_free(plan);
  furrow_matrix_free(matrix);
  return status;
}

/* Removes the files of write_sample: the metadata and the data files of the partitions. */
static void remove_sample(const char *folder) {
  static const char *const names[] = {"_meta", "0", "1", "2", "3", ""};
  char path[128];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    remove(path);
  }
}

int main(int argc, char **argv) {
  char parent[] = "/tmp/furrow-embedding-XXXXXX", sample[64] = "";
  const char *folder = argc > 1 ? argv[1] : sample;
  furrow_error err = {.status = FURROW_OK};
  furrow_status status = FURROW_OK;
  if (argc < 2) {
    if (!mkdtemp(parent)) {
      perror(parent);
      return 1;
    }
    snprintf(sample, sizeof sample, "%s/embedding", parent);
    status = write_sample(sample, &err);
  }
  if (status == FURROW_OK) status = print_vector(folder, argc > 2 ? atoll(argv[2]) : 17, &err);
  if (status == FURROW_OK) status = print_longest(folder, &err);
  if (sample[0]) {
    remove_sample(sample);
    rmdir(parent);
  }
  if (status == FURROW_OK) return 0;
  char text[512];
  furrow_error_to_text(&err, text, sizeof text);
  fprintf(stderr, "02_embedding: %s\n", text);
  return furrow_status_exit_code(status);
}
