/* tests/fuzz/harness/trained_model.h: a small model, trained on a text in memory and saved. */
#ifndef FUZZ_TRAINED_MODEL_H
#define FUZZ_TRAINED_MODEL_H

#include <string.h>

#include "furrow/furrow.h"
#include "fuzz/harness/fuzz_check.h"

static inline void set_key(furrow_learn_conf *conf, const char *key, const char *value) {
  check(furrow_learn_conf_set(conf, key, value, NULL) == FURROW_OK);
}

static inline void save_encoder(const char *data, const char *schema_text, const char *place) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  check(furrow_schema_parse(&schema, schema_text, strlen(schema_text), NULL) == FURROW_OK);
  check(furrow_encoder_build(&encoder, data, schema, NULL, NULL) == FURROW_OK);
  check(furrow_encoder_save(encoder, place, true, NULL) == FURROW_OK);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

/* Trains a model of `text`, which stays as memory://NAME, and saves it as `folder`. schema NULL: a model of rows. */
static inline void train_model(const char *algorithm, const char *text, const char *name, const char *schema,
                               const char *folder) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  char data[64], place[64];
  snprintf(data, sizeof data, "memory://%s", name);
  snprintf(place, sizeof place, "memory://encoder-%s", name);
  check(furrow_memory_file_add(data, text, strlen(text), NULL, NULL, NULL) == FURROW_OK);
  check(furrow_learn_conf_create(&conf, NULL) == FURROW_OK);
  check(furrow_learn_conf_set_algorithm(conf, algorithm, NULL) == FURROW_OK);
  if (schema) save_encoder(data, schema, place);
  if (schema) set_key(conf, "encoder", place);
  set_key(conf, "epochs", "2");
  set_key(conf, "valid-ratio", "0");
  check(furrow_trainer_create(&trainer, conf, NULL, NULL) == FURROW_OK);
  check(furrow_trainer_fit(trainer, data, NULL, NULL, NULL) == FURROW_OK);
  check(furrow_trainer_save(trainer, folder, NULL, NULL) == FURROW_OK);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
}

#endif
