/* tests/unit/ranks/test_save_ranks.c: models that several ranks, which here are threads, load and save: the bytes are
 * those of one process that writes the files of as many servers. */
#include <dirent.h>
#include <sys/stat.h>

#include "support/made_clicks.h"
#include "support/thread_ranks.h"

enum { MOST_RANKS = 5 };

static const struct model {
  const char *algorithm, *settings;
} models[] = {
    {"lr", "range=120 lr=0.1"},
    {"svm", "range=120 lr=0.1 model-type=T_DOUBLE_DENSE"},
    {"fm", "lr=0.05 rank=4"}, /* a dense type without a range */
    {"fm", "lr=0.05 rank=3 range=120 model-type=T_DOUBLE_SPARSE"},
    {"fm", "lr=0.05 rank=3 model-type=T_FLOAT_SPARSE"},
    {"deepfm", "lr=0.02 rank=4 fields=6 fc=10,7 model-type=T_FLOAT_SPARSE_LONGKEY"},
    {"deepfm", "lr=0.02 rank=4 fields=6 fc=10,7 model-type=T_DOUBLE_SPARSE_LONGKEY"},
    {"wide_and_deep", "lr=0.02 rank=4 fields=6 fc=10 range=120"},
    {"dnn", "lr=0.1 range=120 input-width=12 fc=5 init-input=0.05"},
    {"softmax", "lr=0.1 range=120 classes=2 label=ZeroOneTrans"},
    {"lr", "range=120 format=dense lr=0.1"}, /* no weight is by feature */
};
enum { MODELS = sizeof models / sizeof *models };

static const char *const formats[][3] = {
    {"RowIdColIdValueTextRow", "RowIdColIdValueTextRow", "ColIdValueTextRow"},
    {"ColIdValueBinaryRow", "BinaryColumn", "RowIdColIdValueBinaryRow"},
    {"RowIdColIdValueBinaryRow", "ColIdValueBinaryRow", "ValueBinaryRow"},
    {"TextColumn", "TextColumn", "ValueTextRow"},
    {"ValueBinaryRow", "ValueTextRow", "BinaryColumn"}, /* for dense rows alone */
};
enum { FORMATS = sizeof formats / sizeof *formats };

static furrow_layer_formats *formats_of(const char *const names[3]) {
  static const char *const keys[] = {"ml.simpleinputlayer.matrix.output.format", "ml.embedding.matrix.output.format",
                                     "ml.fclayer.matrix.output.format"};
  furrow_layer_formats *made = NULL;
  assert_int_equal(furrow_layer_formats_create(&made, &err), FURROW_OK);
  for (size_t k = 0; k < 3; k++) assert_int_equal(furrow_layer_formats_set(made, keys[k], names[k], &err), FURROW_OK);
  return made;
}

/* ---- Ranks ---- */

typedef struct saving {
  furrow_comm comm;
  const furrow_layer_formats *formats;
  const char *load, *folder;
  int64_t part_size;
  int32_t servers;
  fw_buffer snapshot;
  furrow_status status;
  furrow_error error;
} saving;

static furrow_trainer_save_params save_params(const saving *s) {
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.formats = s->formats;
  params.part_size = s->part_size;
  params.overwrite = true;
  params.servers = s->servers;
  return params;
}

static void *load_and_save(void *item) {
  saving *s = item;
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_trainer *trainer = NULL;
  furrow_trainer_params_init(&params);
  params.threads = 1;
  params.load = s->load;
  params.comm = &s->comm;
  s->status = furrow_learn_conf_create(&conf, &s->error);
  if (s->status == FURROW_OK) s->status = furrow_learn_conf_load_model(conf, s->load, &s->error);
  if (s->status == FURROW_OK) s->status = furrow_trainer_create(&trainer, conf, &params, &s->error);
  if (s->status == FURROW_OK) {
    const furrow_trainer_save_params used = save_params(s);
    s->status = furrow_trainer_save(trainer, s->folder, &used, &s->error);
  }
  if (s->status == FURROW_OK) s->snapshot = snapshot_of(trainer);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return NULL;
}

/* Statuses are those of the ranks. */
static void save_by(unsigned ranks, const saving *what, saving *items) {
  for (unsigned r = 0; r < ranks; r++) {
    items[r] = *what;
    items[r].comm = thread_comm(r, ranks);
  }
  run_threads(ranks, load_and_save, items, sizeof *items);
}

static void save_or_fail(unsigned ranks, const saving *what) {
  saving items[MOST_RANKS];
  save_by(ranks, what, items);
  for (unsigned r = 0; r < ranks; r++) {
    if (items[r].status != FURROW_OK) fail_msg("rank %u: %s: %s", r, items[r].error.file, items[r].error.message);
    fw_buffer_clear(&items[r].snapshot);
  }
}

/* ---- The same bytes ---- */

static void read_text(const char *path, fw_buffer *to) {
  FILE *file = fopen(path, "rb");
  char bytes[4096];
  if (!file) fail_msg("%s is missing", path);
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;) fw_buffer_append(to, bytes, n);
  fclose(file);
}

static size_t assert_same_tree(const char *a, const char *b) {
  size_t count = 0;
  DIR *list = opendir(a);
  if (!list) fail_msg("%s is missing", a);
  for (struct dirent *entry; (entry = readdir(list));) {
    char x[512], y[512];
    struct stat info;
    if (entry->d_name[0] == '.') continue;
    snprintf(x, sizeof x, "%s/%s", a, entry->d_name);
    snprintf(y, sizeof y, "%s/%s", b, entry->d_name);
    count++;
    assert_int_equal(stat(x, &info), 0);
    if (S_ISDIR(info.st_mode)) {
      assert_int_equal(assert_same_tree(x, y), test_entries(y));
      continue;
    }
    fw_buffer one = {0}, two = {0};
    read_text(x, &one);
    read_text(y, &two);
    if (one.size != two.size || (one.size && memcmp(one.bytes, two.bytes, one.size) != 0))
      fail_msg("%s is not %s", x, y);
    fw_buffer_clear(&one);
    fw_buffer_clear(&two);
  }
  closedir(list);
  return count;
}

static void fail_finding(void *user, const furrow_matrix_finding *finding) {
  (void)user;
  fail_msg("%s", finding->message);
}

static void verify(const char *folder) {
  DIR *list = opendir(folder);
  assert_non_null(list);
  for (struct dirent *entry; (entry = readdir(list));) {
    char path[512];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    assert_int_equal(stat(path, &info), 0);
    if (entry->d_name[0] == '.' || !S_ISDIR(info.st_mode)) continue;
    furrow_matrix_verify_params params;
    furrow_matrix_verify_params_init(&params);
    params.found = fail_finding;
    if (furrow_matrix_verify(path, &params, &err) != FURROW_OK) fail_msg("%s: %s", path, err.message);
  }
  closedir(list);
}

static void train(const struct model *model, const char *data) {
  char settings[256];
  snprintf(settings, sizeof settings, "epochs=1 %s", model->settings);
  furrow_trainer *trainer = new_trainer(model->algorithm, settings, 1, false);
  fit_or_fail(trainer, data, NULL, NULL);
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.overwrite = true;
  if (furrow_trainer_save(trainer, "trained", &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  furrow_trainer_free(trainer);
}

/* Each model in each format with one number of ranks, such that each format and each model meets every number; with
 * FURROW_FULL=1 all combinations. */
static void ranks_write_the_files_of_servers(void **state) {
  (void)state;
  for (size_t i = 0; i < MODELS * FORMATS; i++) {
    const struct model *model = &models[i / FORMATS];
    const bool sparse = strstr(model->settings, "SPARSE") != NULL;
    if (i % FORMATS == 0) train(model, strstr(model->settings, "format=dense") ? "dense" : "clicks");
    if (i % FORMATS == FORMATS - 1 && sparse) continue;
    furrow_layer_formats *layers = formats_of(formats[i % FORMATS]);
    saving what = {.formats = layers, .load = "trained", .folder = "one", .part_size = 50};
    for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
      if (!test_is_full() && ranks != 1 + (i + i / FORMATS) % MOST_RANKS) continue;
      what.folder = "one";
      what.servers = (int32_t)ranks;
      save_or_fail(1, &what);
      what.folder = "many";
      what.servers = 0;
      save_or_fail(ranks, &what);
      assert_int_equal(assert_same_tree("one", "many"), test_entries("many"));
      verify("many");
    }
    furrow_layer_formats_free(layers);
  }
}

/* Ranks without a partition, partitions of all ranks on one of them. */
static void servers_and_ranks_may_differ(void **state) {
  (void)state;
  train(&models[4], "clicks");
  saving what = {.load = "trained", .folder = "one"};
  for (int32_t servers = 1; servers <= 7; servers += 3)
    for (int64_t size = 7; size < 1000; size *= 10) {
      what.servers = servers;
      what.part_size = size;
      what.folder = "one";
      save_or_fail(1, &what);
      what.folder = "many";
      save_or_fail(3, &what);
      assert_int_equal(assert_same_tree("one", "many"), test_entries("many"));
    }
}

/* More features than fit one round, in partitions of many and of few. */
static void many_features_take_rounds(void **state) {
  (void)state;
  static const struct model wide[] = {{"fm", "lr=0.05 rank=3 range=150000"},
                                      {"fm", "lr=0.05 rank=3 model-type=T_FLOAT_SPARSE_LONGKEY"}};
  static const char *const used[] = {"ColIdValueBinaryRow", "BinaryColumn", "ColIdValueBinaryRow"};
  furrow_layer_formats *layers = formats_of(used);
  for (size_t i = 0; i < 4; i++) {
    train(&wide[i % 2], "wide");
    saving what = {.formats = i < 2 ? layers : NULL, .load = "trained", .folder = "one", .servers = 3};
    what.part_size = i == 3 ? 20000 : 0;
    save_or_fail(1, &what);
    what.folder = "many";
    save_or_fail(3, &what);
    assert_int_equal(assert_same_tree("one", "many"), test_entries("many"));
  }
  furrow_layer_formats_free(layers);
}

/* Every feature is on one rank, and has the numbers that it has in one process. */
static void a_rank_loads_its_own_features(void **state) {
  (void)state;
  train(&models[2], "clicks");
  saving one, many[3];
  const saving what = {.load = "trained", .folder = "many"};
  save_by(1, &what, &one);
  save_by(3, &what, many);
  assert_int_equal(one.status, FURROW_OK);
  size_t bytes = 0;
  for (unsigned r = 0; r < 3; r++) {
    assert_int_equal(many[r].status, FURROW_OK);
    assert_true(many[r].snapshot.size < one.snapshot.size / 2);
    bytes += many[r].snapshot.size;
    fw_buffer_clear(&many[r].snapshot);
  }
  assert_true(bytes >= one.snapshot.size && bytes < one.snapshot.size + 200); /* dense arrays are on all ranks */
  fw_buffer_clear(&one.snapshot);
}

static int write_data(void **state) {
  if (enter_dir(state) != 0 || !write_clicks("clicks", 1000, 1, 1)) return -1;
  FILE *dense = fopen("dense", "w"), *wide = fopen("wide", "w");
  if (!dense || !wide) return -1;
  for (size_t row = 0; row < 2500; row++) {
    fprintf(wide, "%d", row % 3 ? 1 : -1);
    for (size_t c = 0; c < 50; c++) fprintf(wide, " %zu:1", (row * 50 + c) * 6 / 5 + 1);
    fputc('\n', wide);
  }
  for (size_t row = 0; row < 200; row++) {
    fprintf(dense, "%d", row % 3 ? 1 : -1);
    for (size_t c = 0; c < 120; c++) fprintf(dense, " %zu", (row * 7 + c * 3) % 5);
    fputc('\n', dense);
  }
  return fclose(dense) == 0 && fclose(wide) == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_write_the_files_of_servers),
      cmocka_unit_test(servers_and_ranks_may_differ),
      cmocka_unit_test(many_features_take_rounds),
      cmocka_unit_test(a_rank_loads_its_own_features),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
