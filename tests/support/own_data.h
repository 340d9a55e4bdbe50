/* tests/support/own_data.h: data in wild units for trainings with Furrow's own defaults. */
#ifndef OWN_DATA_H
#define OWN_DATA_H

#include "support/made_clicks.h"

/* ---- Files ---- */

static inline FILE *begin_file(const char *path) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  return file;
}

/* The four features of a row in units that no optimizer likes: large, tiny, far from 0, and 0 or 40. */
static inline void write_features(FILE *file, const double z[4]) {
  fprintf(file, " 1:%.7g 2:%.7g 3:%.7g", 1500 * z[0] + 9000, 1e-4 * z[1], 20 * z[2] - 700);
  if (z[3] > 0) fprintf(file, " 4:40");
  fputc('\n', file);
}

/* Rows of `classes` clouds, in turn; row i has label[i % classes]. */
static inline void write_blobs(const char *path, size_t rows, size_t classes, const float *label, uint64_t seed) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    const double angle = 6.28 * (double)(i % classes) / (double)classes;
    double z[4];
    for (size_t k = 0; k < 4; k++) z[k] = fw_rng_normal(&rng);
    z[0] += 3 * cos(angle);
    z[1] += 3 * sin(angle);
    fprintf(file, "%.9g", (double)label[i % classes]);
    write_features(file, z);
  }
  assert_int_equal(fclose(file), 0);
}

/* Labels around 5000, a linear function of the features and noise. */
static inline void write_quantities(const char *path, size_t rows) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (size_t i = 0; i < rows; i++) {
    double z[4];
    for (size_t k = 0; k < 4; k++) z[k] = fw_rng_normal(&rng);
    fprintf(file, "%.7g", 5000 + 300 * z[0] - 200 * z[1] + 100 * (z[3] > 0) + 50 * fw_rng_normal(&rng));
    write_features(file, z);
  }
  assert_int_equal(fclose(file), 0);
}

/* Labels 1 and 2 by chance, from a linear score (interaction 0) or from a product of two features. */
static inline void write_chances(const char *path, size_t rows, double interaction, uint64_t seed) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    double z[4];
    for (size_t k = 0; k < 4; k++) z[k] = fw_rng_normal(&rng);
    const double score = interaction > 0 ? interaction * z[0] * z[1] : 1.2 * z[0] - z[1] + 0.5 * z[2];
    fprintf(file, "%d", fw_rng_double(&rng) < 1 / (1 + exp(-score)) ? 2 : 1);
    write_features(file, z);
  }
  assert_int_equal(fclose(file), 0);
}

/* Two classes by `ids` of which most are rare, so that more L2 than usual is better. */
static inline void write_rare_ids(const char *path, size_t rows, uint64_t seed) {
  enum { IDS = 400 };
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    const unsigned a = (unsigned)fw_rng_below(&rng, IDS), b = (unsigned)fw_rng_below(&rng, IDS);
    const double score = 0.4 * (sin(a) + cos(3 * b));
    fprintf(file, "%d %u:1 %u:1\n", fw_rng_double(&rng) < 1 / (1 + exp(-score)), 1 + a, 1 + IDS + b);
  }
  assert_int_equal(fclose(file), 0);
}

/* Two classes that the features do not tell apart. */
static inline void write_noise(const char *path, size_t rows) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, 7);
  for (size_t i = 0; i < rows; i++) {
    fprintf(file, "%d", fw_rng_below(&rng, 2) != 0);
    for (int k = 1; k <= 6; k++) fprintf(file, " %d:%.4f", k, fw_rng_double(&rng));
    fprintf(file, "\n");
  }
  assert_int_equal(fclose(file), 0);
}

/* ---- Rows ---- */

typedef struct own_rows {
  furrow_blockiter *iter;
  furrow_rowblock block;
} own_rows;

/* As the models read them: from index 1. */
static inline own_rows read_rows(const char *path) {
  own_rows rows = {0};
  char uri[TEST_PATH + 32];
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.format = "libsvm";
  snprintf(uri, sizeof uri, "%s?indexing_mode=1", path);
  assert_int_equal(furrow_blockiter_open(&rows.iter, uri, &params, &err), FURROW_OK);
  assert_int_equal(furrow_blockiter_next(rows.iter, &err), FURROW_OK);
  rows.block = *furrow_blockiter_value(rows.iter);
  return rows;
}

static inline void close_rows(own_rows *rows) {
  furrow_blockiter_close(rows->iter);
}

/* ---- Trainers ---- */

static inline furrow_trainer *own_trainer(const char *algorithm, const char *settings, unsigned threads,
                                          const char *load) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_trainer *trainer = NULL;
  furrow_trainer_params_init(&params);
  params.threads = threads;
  params.load = load;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, algorithm, &err), FURROW_OK);
  conf_set_all(conf, settings);
  if (furrow_trainer_create(&trainer, conf, &params, &err) != FURROW_OK) fail_msg("%s: %s", algorithm, err.message);
  furrow_learn_conf_free(conf);
  return trainer;
}

/* Whether some note has the text in it; *warning: what kind it is. */
static inline bool has_note(const furrow_trainer *trainer, const char *text, bool *warning) {
  const char *note;
  for (size_t i = 0; (note = furrow_trainer_get_note(trainer, i, warning)); i++)
    if (strstr(note, text)) return true;
  return false;
}

#endif
