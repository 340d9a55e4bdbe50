/* tests/fuzz/fuzz_model.c: model directories of which one file is hostile: loaded, scored with, explained, or refused.
 *
 * The first byte chooses the model, the second the file; the rest is what is in it. Rows have the same scores alone and
 * in a block. */
#include "fuzz/harness/trained_model.h"

enum { MODELS = 3, FILES = 8, ROWS = 5 };

static const char *const algorithms[MODELS] = {"lr", "fm", "softmax"};
static const char *const files[FILES] = {
    "graph.json",   "furrow.json",      "input_weight/0",        "input_weight/_meta",
    "input_bias/0", "input_bias/_meta", "embedding_embedding/0", "embedding_embedding/_meta"};
static const char row_text[] = "1 1:1 3:0.5\n0 2:1 3:2\n1 1:2 4:1\n0 2:0.5 4:3\n1 1:1\n0 2:3\n";

/* A file of a model and its own bytes. */
typedef struct model_file {
  char path[TEST_PATH];
  char bytes[4096];
  size_t size;
} model_file;

static char folders[MODELS][TEST_PATH];
static model_file originals[MODELS][FILES];

static void keep_file(model_file *file, const char *folder, const char *name) {
  check(snprintf(file->path, sizeof file->path, "%s/%s", folder, name) < (int)sizeof file->path);
  FILE *from = fopen(file->path, "rb");
  if (!from) return; /* this model does not have it */
  file->size = fread(file->bytes, 1, sizeof file->bytes, from);
  check(file->size > 0 && file->size < sizeof file->bytes);
  fclose(from);
}

static void make_models(void) {
  for (size_t i = 0; i < MODELS; i++) {
    train_model(algorithms[i], row_text, "rows.libsvm", NULL, fuzz_folder(folders[i], algorithms[i]));
    check(furrow_memory_file_remove("memory://rows.libsvm", NULL) == FURROW_OK);
    for (size_t k = 0; k < FILES; k++) keep_file(&originals[i][k], folders[i], files[k]);
  }
}

/* Features that the model has, and others. */
static furrow_rowblock make_rows(void) {
  static const uint64_t offset[ROWS + 1] = {0, 2, 3, 3, 5, 6};
  static const uint32_t index[] = {0, 2, 1, 3, 0, 4000000000u};
  static const float value[] = {1, -2, 0.5f, 1e30f, 3, 1};
  return (furrow_rowblock){.size = ROWS,
                           .offset = offset,
                           .index.u32 = index,
                           .value.f32 = value,
                           .key_type = FURROW_KEY_U32,
                           .value_type = FURROW_VALUE_F32};
}

static void use_scorer(const furrow_scorer *scorer) {
  furrow_scorer_scratch *scratch = NULL;
  furrow_score scores[ROWS], alone[1];
  furrow_contributions contributions;
  furrow_error err = {0};
  const furrow_rowblock rows = make_rows();
  check(furrow_scorer_scratch_create(&scratch, scorer, NULL) == FURROW_OK);
  const furrow_status status = furrow_scorer_score_block(scorer, scratch, &rows, scores, &err);
  check(status == FURROW_OK || err.message[0]);
  for (size_t i = 0; i < ROWS; i++) {
    const furrow_row row = furrow_rowblock_row(&rows, i);
    const furrow_status one = furrow_scorer_score_row(scorer, scratch, &row, alone, &err);
    check(status != FURROW_OK || (one == FURROW_OK && memcmp(alone, &scores[i], sizeof *alone) == 0));
    furrow_contributions_init(&contributions);
    const furrow_status explained = furrow_scorer_contributions(scorer, scratch, &row, &contributions, &err);
    check(explained == FURROW_OK || err.message[0]);
  }
  furrow_scorer_scratch_free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  furrow_scorer *scorer = NULL;
  furrow_error err = {0};
  if (!folders[0][0]) make_models();
  if (size < 2) return 0;
  const size_t model = data[0] % MODELS;
  const model_file *file = &originals[model][data[1] % FILES];
  if (file->size == 0) return 0;
  check(test_write_file(file->path, data + 2, size - 2));
  const furrow_status status = furrow_scorer_load(&scorer, folders[model], NULL, &err);
  check((status == FURROW_OK) == (scorer != NULL) && (status == FURROW_OK || (err.message[0] && err.status == status)));
  if (scorer) use_scorer(scorer);
  furrow_scorer_free(scorer);
  check(test_write_file(file->path, file->bytes, file->size));
  return 0;
}
