/* learn/train/prepare.c: what the configuration leaves to the data, settled before the first epoch: format, labels and
 * classes, loss, fields, solver, epochs, strength. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/conf_data.h"
#include "learn/data/data_facts.h"
#include "learn/data/samples.h"
#include "learn/train/fit.h"
#include "rows/encode/encoder.h"

furrow_status fw_prepared_share(const fw_prepared *d, furrow_status status, furrow_error *err) {
  return fw_comm_share_status(d->trainer->comm, status, err);
}

/* ---- What the encoder of a raw log says ---- */

static bool has_sides(const furrow_encoder *encoder) {
  return furrow_encoder_side_field(encoder, FURROW_SIDE_USER) != SIZE_MAX &&
         furrow_encoder_side_field(encoder, FURROW_SIDE_ITEM) != SIZE_MAX;
}

/* The fields of one side, its id first. Fields that do not belong to the item count as the user's. */
static fw_settled_fields side_of(const furrow_encoder *encoder, bool item, uint64_t *list) {
  const size_t id = furrow_encoder_side_field(encoder, item ? FURROW_SIDE_ITEM : FURROW_SIDE_USER);
  size_t count = 0;
  list[count++] = id;
  for (size_t i = 0; i < furrow_encoder_field_count(encoder); i++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, i, &field);
    if (i != id && (field.side == FURROW_SIDE_ITEM) == item) list[count++] = i;
  }
  return (fw_settled_fields){list, count};
}

/* The field that has the hours of events. */
static fw_settled_count hour_field_of(const fw_prepared *d, const fw_dictionary *dictionary) {
  if (!d->trainer->plan->ranking.same_hour || fw_conf_is_set(d->trainer->conf, FW_KEY_HOUR_FIELD))
    return (fw_settled_count){0};
  for (size_t i = 0; i < dictionary->count; i++) {
    const fw_field *field = &dictionary->fields[i];
    if (field->kind == FW_FIELD_PART && field->part == FW_PART_HOUR && field->column->role == FW_ROLE_TIME)
      return (fw_settled_count){true, i};
  }
  return (fw_settled_count){0};
}

enum { HINTED_COLUMNS = 8 };

/* Rows of a log with items may be ranked; those of a table need one of its columns for the label. */
static furrow_status refuse_without_label(const furrow_schema *schema, furrow_error *err) {
  fw_buffer names = {0};
  fw_fail(err, FURROW_E_ARGUMENT, "the log has no label: there is nothing to tell its rows apart");
  if (fw_schema_of_role(schema, FW_ROLE_ITEM)) {
    fw_error_set_hint(err, "name the column of the label, or train fm, which ranks items; `negatives` draws rows that "
                           "were not taken for any model of two classes");
    return FURROW_E_ARGUMENT;
  }
  for (size_t i = 0; i < schema->count && i < HINTED_COLUMNS; i++)
    fw_buffer_format(&names, "%s%s", i ? ", " : "", schema->columns[i].name);
  fw_buffer_byte(&names, 0);
  if (fw_buffer_status(&names, NULL) == FURROW_OK)
    fw_error_set_hint(err, "name the column of the label; the columns are %s%s", names.bytes,
                      schema->count > HINTED_COLUMNS ? ", …" : "");
  fw_buffer_clear(&names);
  return FURROW_E_ARGUMENT;
}

/* A log without labels says who took what: a model of it ranks. */
static furrow_status find_ranking_loss(const fw_prepared *d, const furrow_encoder *encoder, fw_settled_loss *loss,
                                       furrow_error *err) {
  const fw_plan *plan = d->trainer->plan;
  const bool ranks = fw_loss_ranks(plan->graph.loss) || plan->ranking.negatives > 0;
  if (ranks || fw_schema_of_kind(encoder->schema, FW_AS_LABEL)) return FURROW_OK;
  const char *algorithm = plan->model.algorithm;
  const furrow_learn_conf *conf = d->trainer->conf;
  const bool items = fw_schema_of_role(encoder->schema, FW_ROLE_ITEM) || fw_conf_is_set(conf, FW_KEY_ITEM_FIELDS);
  if (algorithm && strcmp(algorithm, "fm") == 0 && items && !fw_conf_is_set(conf, FW_KEY_LOSS)) {
    *loss = (fw_settled_loss){true, FW_LOSS_SAMPLED_SOFTMAX};
    return fw_trainer_note(d->trainer, false, err,
                           "the log has no label: the model learns to rank items, with SampledSoftmaxLoss");
  }
  return refuse_without_label(encoder->schema, err);
}

/* All ranks must have the same dictionary: otherwise they would number the same feature differently. */
static furrow_status compare_encoders(const fw_prepared *d, furrow_status loaded, furrow_error *err) {
  const furrow_comm *comm = d->trainer->comm;
  char digest[17] = "", first[17];
  if (comm->ranks == 1) return loaded;
  if (loaded == FURROW_OK) loaded = fw_encoder_digest(d->trainer->plan->data.encoder, digest, err);
  FW_TRY(fw_comm_share_status(comm, loaded, err));
  memcpy(first, digest, sizeof first);
  FW_TRY(comm->broadcast(comm, first, sizeof first, 0, err));
  furrow_status status = FURROW_OK;
  if (memcmp(first, digest, sizeof first) != 0) {
    status = fw_fail(err, FURROW_E_STATE, "the encoder of rank %u is not that of rank 0", comm->rank);
    fw_error_set_hint(err, "encode the log first (furrow rows encode), or let all processes read the same files");
  }
  return fw_comm_share_status(comm, status, err);
}

/* `lists`: twice as many numbers as there are fields. */
static furrow_status settle_encoder(fw_prepared *d, const furrow_encoder *encoder, uint64_t *lists, furrow_error *err) {
  const furrow_learn_conf *conf = d->trainer->conf;
  const fw_column *label = fw_schema_of_kind(encoder->schema, FW_AS_LABEL);
  const size_t fields = furrow_encoder_field_count(encoder);
  const bool sides = has_sides(encoder);
  fw_settled settled = {.hour_field = hour_field_of(d, &encoder->dictionary)};
  /* Numbers that users give items are ratings; a schema names the classes of other labels. */
  d->ratings = label && !label->classes && sides;
  d->named_classes = label && label->classes;
  d->in_order = encoder->schema->history > 0; /* a history refuses logs in another order */
  if (sides && !fw_conf_is_set(conf, FW_KEY_ITEM_FIELDS) && !fw_conf_is_set(conf, FW_KEY_USER_FIELDS)) {
    settled.item_fields = side_of(encoder, true, lists);
    settled.user_fields = side_of(encoder, false, lists + fields);
  }
  FW_TRY(find_ranking_loss(d, encoder, &settled.loss, err));
  return fw_trainer_settle(d->trainer, &settled, err);
}

furrow_status fw_prepare_encoder(fw_prepared *d, furrow_error *err) {
  const char *folder = d->trainer->plan->data.encoder;
  furrow_encoder *encoder = NULL;
  uint64_t *lists = NULL;
  if (!folder) return FURROW_OK;
  furrow_status status = compare_encoders(d, furrow_encoder_load(&encoder, folder, err), err);
  if (status == FURROW_OK) status = FW_ALLOC(&lists, 2 * furrow_encoder_field_count(encoder), err);
  if (status == FURROW_OK) status = settle_encoder(d, encoder, lists, err);
  fw_free(lists);
  furrow_encoder_free(encoder);
  return status;
}

/* ---- Labels ---- */

/* Notes labels that are neither 0 and 1 nor -1 and 1, and the number of classes. */
static furrow_status note_labels(const fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  const double first = facts->labels[0], second = facts->labels[1];
  char low[FW_LABEL_TEXT], high[FW_LABEL_TEXT];
  fw_label_text(low, first);
  fw_label_text(high, facts->labels[facts->label_count - 1]);
  if (d->trainer->plan->graph.loss == FW_LOSS_SOFTMAX)
    return fw_trainer_note(d->trainer, false, err, "the labels have %zu values, from %s to %s: a class each",
                           facts->label_count, low, high);
  if ((first == 0 || first == -1) && second == 1) return FURROW_OK;
  return fw_trainer_note(d->trainer, false, err,
                         "the labels are %s and %s: two classes, of which %s is the positive one", low, high, high);
}

/* Nets have an output for each class. */
static furrow_status settle_classes(const fw_prepared *d, furrow_error *err) {
  furrow_trainer *t = d->trainer;
  if (!fw_builtin_takes_classes(t->plan->model.algorithm)) return FURROW_OK; /* fw_labels_find refuses them */
  FW_TRY(fw_trainer_note(t, false, err, "the labels are several classes, not two: the loss is %s",
                         fw_loss_name(FW_LOSS_SOFTMAX)));
  return fw_trainer_settle(t, &(fw_settled){.loss = {true, FW_LOSS_SOFTMAX}}, err);
}

/* Nets predict numbers, and several classes, with other losses. */
static furrow_status settle_net(const fw_prepared *d, bool numbers, furrow_error *err) {
  furrow_trainer *t = d->trainer;
  if (fw_conf_is_set(t->conf, FW_KEY_LOSS)) return FURROW_OK;
  if (!numbers) return settle_classes(d, err);
  FW_TRY(fw_trainer_note(t, false, err, "the labels are %s, not two classes: they are predicted as %s, with %s",
                         d->ratings ? "ratings" : "numbers", d->ratings ? "numbers" : "such",
                         fw_loss_name(FW_LOSS_L2)));
  return fw_trainer_settle(t, &(fw_settled){.loss = {true, FW_LOSS_L2}}, err);
}

static furrow_status settle_trees(const fw_prepared *d, bool numbers, furrow_error *err) {
  furrow_trainer *t = d->trainer;
  if (fw_conf_is_set(t->conf, FW_KEY_OBJECTIVE)) return FURROW_OK;
  const char *objective = fw_objective_name(numbers ? FW_LOSS_L2 : FW_LOSS_SOFTMAX);
  FW_TRY(fw_trainer_note(t, false, err, "the labels are %s, not two classes: the objective is %s",
                         d->ratings ? "ratings"
                         : numbers  ? "numbers"
                                    : "several classes",
                         objective));
  return fw_trainer_settle(t, &(fw_settled){.objective = objective}, err);
}

/* More labels than two decide what models are trained for whose loss can be chosen. */
static furrow_status settle_loss(const fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  const furrow_trainer *t = d->trainer;
  if (!d->from_scratch || !fw_conf_recommends(t->conf) || !fw_labels_decide(t->plan, facts)) return FURROW_OK;
  const bool numbers = !d->named_classes && (d->ratings || fw_labels_are_numbers(facts));
  return t->forest ? settle_trees(d, numbers, err) : settle_net(d, numbers, err);
}

/* The numbers of classes have an order and distances, which their names may not have. */
static furrow_status note_class_numbers(const fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  const bool numbers = fw_loss_is_regression(d->trainer->plan->graph.loss);
  if (!d->named_classes || !numbers || facts->label_count < 3) return FURROW_OK;
  return fw_trainer_note(
      d->trainer, true, err, "the labels are names of %zu classes, but the model predicts their numbers, 0, 1, 2 …: %s",
      facts->label_count,
      d->trainer->forest ? "gbdt without an objective predicts classes" : "softmax and gbdt predict classes");
}

/* Labels become classes. */
static furrow_status settle_labels(const fw_prepared *d, const fw_data_facts *facts, fw_settled *settled,
                                   furrow_error *err) {
  bool listed = false;
  FW_TRY(settle_loss(d, facts, err));
  FW_TRY(note_class_numbers(d, facts, err));
  FW_TRY(fw_labels_find(d->trainer->plan, facts, &listed, err));
  if (!listed) return FURROW_OK;
  settled->labels = (fw_settled_labels){facts->labels, facts->label_count};
  settled->classes = (fw_settled_count){d->trainer->plan->open_classes, facts->label_count};
  return note_labels(d, facts, err);
}

furrow_status fw_prepare_labels(fw_prepared *d, furrow_error *err) {
  fw_data_facts facts = {0};
  fw_settled settled = {0};
  const fw_data_conf *data = &d->trainer->plan->data;
  if (!data->finds_labels && d->from_scratch && data->label_count > 0)
    return fw_labels_check_exact(data->labels, data->label_count, err);
  if (!data->finds_labels) return FURROW_OK;
  furrow_status status = fw_data_facts_read(&facts, d->samples, false, err);
  if (status == FURROW_OK) status = settle_labels(d, &facts, &settled, err);
  if (status == FURROW_OK) status = fw_trainer_settle(d->trainer, &settled, err);
  fw_data_facts_clear(&facts);
  return status;
}

/* ---- The solver ---- */

/* The largest number of parameters: the solver keeps about twenty numbers for each. */
enum { FACTOR_PARAMETERS_MAX = 1 << 23 };

/* L-BFGS keeps a vector in memory for each feature of a factorization machine, and there are at most `end` features. */
static furrow_status check_size(const fw_prepared *d, const fw_data_facts *facts, bool *fits, furrow_error *err) {
  const fw_graph *graph = &d->trainer->plan->graph;
  uint64_t factors = 0;
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].type == FW_LAYER_EMBEDDING) factors = graph->layers[i].factors;
  *fits = !facts || facts->end < FACTOR_PARAMETERS_MAX / (1 + factors);
  if (*fits) return FURROW_OK;
  return fw_trainer_note(
      d->trainer, false, err,
      "features up to %" PRIu64 " are too many for the solver lbfgs: the optimizers train the vectors", facts->end - 1);
}

/* The exact minimum needs all rows in memory, and starts from scratch. Vectors need a strength, too, or rows to choose
 * it by. facts NULL: they were not read. */
static furrow_status choose_solver(fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  const furrow_trainer *t = d->trainer;
  const fw_data_conf *data = &t->plan->data;
  const bool all = data->sample_ratio >= 1 && data->posneg_ratio <= 0 && !d->params.stream;
  const bool pairs = t->plan->train.lbfgs_pairs;
  d->goes_on = t->loaded && !t->trained && t->earlier && t->comm->ranks == 1;
  d->exact = t->plan->train.lbfgs && all && (!t->loaded || d->goes_on);
  if (pairs) d->exact &= d->from_scratch && (d->own_valid || data->valid_ratio > 0 || t->plan->train.own_l2);
  if (d->exact && pairs) FW_TRY(check_size(d, facts, &d->exact, err));
  d->solver = !d->exact ? &fw_solve_net : pairs ? &fw_solve_factors : &fw_solve_linear;
  if (fw_loss_ranks(t->plan->graph.loss)) d->solver = &fw_solve_ranking;
  if (t->forest) d->solver = &fw_solve_forest;
  return FURROW_OK;
}

/* ---- Other keys ---- */

/* The format that was found; for rows in memory, the format that a file of them would have. */
static const char *format_of(const fw_prepared *d, const fw_data_facts *facts) {
  const char *found = d->samples->format;
  const furrow_rows_format *known;
  if (strcmp(d->trainer->plan->data.format, "auto") != 0) return NULL;
  if (furrow_rows_format_find(found, &known, NULL) == FURROW_OK) return found;
  return facts->fields > 0 ? "libffm" : "libsvm";
}

/* A slot for each field, or for each feature of the longest row; at least two, for their products. */
static void settle_fields(const fw_prepared *d, const fw_data_facts *facts, fw_settled *settled) {
  const uint64_t found = facts->fields > 0 ? facts->fields : facts->longest;
  if (!d->trainer->plan->open_fields) return;
  settled->short_rows = facts->fields == 0 && (facts->shortest < facts->longest || found < 2);
  settled->fields = (fw_settled_count){true, found > 2 ? found : 2};
}

/* Where the Huber loss turns linear: 1.35 deviations of the labels, as is usual, not a distance of 1 in any unit. */
static fw_settled_real delta_of(const fw_prepared *d, const fw_data_facts *facts) {
  const furrow_learn_conf *conf = d->trainer->conf;
  const double deviation = facts->rows > 0 ? sqrt(facts->label_squares / (double)facts->rows) : 0;
  const bool set = fw_conf_is_set(conf, FW_KEY_HUBER_DELTA) || fw_conf_is_set(conf, FW_KEY_ROBUST_DELTA);
  if (d->trainer->plan->graph.loss != FW_LOSS_HUBER || !(deviation > 0) || !fw_conf_recommends(conf) || set)
    return (fw_settled_real){0};
  return (fw_settled_real){true, 1.35 * deviation};
}

/* Tables have a number of columns, which rows to be scored must have, too. */
static fw_settled_count range_of(const fw_prepared *d, const fw_data_facts *facts) {
  const char *format = d->samples->format;
  const bool table = strcmp(format, "csv") == 0 || strcmp(format, "dense") == 0;
  const bool open = !fw_conf_is_set(d->trainer->conf, FW_KEY_RANGE) && facts->end > 0 && facts->end <= INT32_MAX;
  return (fw_settled_count){table && open, facts->end};
}

/* Small data gets more epochs (docs/design/defaults.md). */
static fw_settled_count epochs_of(const fw_prepared *d, const fw_data_facts *facts) {
  enum { MANY_ROWS = 100000, PASSED = 20000000 };
  const fw_train_conf *train = &d->trainer->plan->train;
  const uint64_t rows = facts->rows ? facts->rows : 1;
  uint64_t epochs = 20; /* of ten iterations each */
  if (train->epochs > 0) return (fw_settled_count){0};
  if (!d->exact && train->patience > 0) epochs = PASSED / rows > 200 ? 200 : PASSED / rows < 40 ? 40 : PASSED / rows;
  if (!d->exact && train->patience == 0) epochs = rows > MANY_ROWS ? 10 : 64000 / rows > 30 ? 64000 / rows : 30;
  if (fw_samples_pass_once(d->samples)) epochs = 1;
  return (fw_settled_count){true, epochs};
}

/* A strength that is about as strong as the default of the exact minimum. FTRL applies it once over all updates; other
 * optimizers add it to the mean gradient of each batch. */
static fw_settled_real strength_of(fw_prepared *d, const fw_data_facts *facts, uint32_t epochs) {
  const fw_plan *plan = d->trainer->plan;
  const double batch = plan->train.batch ? plan->train.batch : 1, rows = facts->rows ? (double)facts->rows : 1e6;
  if (d->exact || strcmp(furrow_learn_conf_get(d->trainer->conf, "l2"), "auto") != 0) return (fw_settled_real){0};
  d->l2_by_epochs = plan->graph.layers[0].optimizer.type == FW_OPTIMIZER_FTRL;
  return (fw_settled_real){true, d->l2_by_epochs ? epochs / batch : 1 / rows};
}

static bool is_open(const fw_prepared *d, fw_key key) {
  return !fw_conf_is_set(d->trainer->conf, key);
}

/* Whether vectors meet in fc layers alone: no layer multiplies them. */
static bool has_no_products(const fw_graph *graph) {
  bool vectors = false, products = false;
  for (size_t i = 0; i < graph->count; i++) {
    vectors |= graph->layers[i].type == FW_LAYER_EMBEDDING;
    products |= graph->layers[i].type == FW_LAYER_BI_INNER || graph->layers[i].type == FW_LAYER_BI_INNER_SUM ||
                graph->layers[i].type == FW_LAYER_BI_INTERACTION;
  }
  return vectors && !products;
}

static bool has_fc(const fw_graph *graph) {
  bool found = false;
  for (size_t i = 0; i < graph->count; i++) found |= graph->layers[i].type == FW_LAYER_FC;
  return found;
}

/* Steps of a net (docs/design/defaults.md): batches are small if there are few rows, and patience lasts for a number of
 * steps. Rows of a few features out of many, such as users and items, need large steps: otherwise a net learns the rows
 * by heart before it finds what they have in common. Long rows need smaller ones where fc layers alone combine them.
 * With many rows, features that all rows have need less L2, and features of few rows need more: fc layers, which all
 * rows use, get less than the features of sparse rows. */
static void settle_steps(fw_prepared *d, const fw_data_facts *facts, fw_settled *settled) {
  enum {
    LEAST_BATCH = 32,
    MOST_BATCH = 1024,
    BATCHES = 128,
    PATIENT_STEPS = 300,
    LEAST_PATIENCE = 4,
    SPARSE = 8,
    SHORT_ROW = 16,
    FC_SHARE = 10,
    MOST_TRIED = 4000000
  };
  const fw_train_conf *train = &d->trainer->plan->train;
  const double rows = (double)facts->rows;
  const bool sparse = facts->end > SPARSE * (uint64_t)facts->longest, dense = facts->end < 2 * (uint64_t)facts->longest;
  const bool own = train->recommended && train->patience > 0 && d->from_scratch && facts->rows > 0;
  if (!own || d->solver != &fw_solve_net || !is_open(d, FW_KEY_OPTIMIZER)) return;
  uint64_t batch = LEAST_BATCH;
  while (batch < MOST_BATCH && 2 * batch * BATCHES <= facts->rows) batch *= 2;
  const bool given = !is_open(d, FW_KEY_BATCH) || !is_open(d, FW_KEY_UPDATES);
  if (given && train->batch > 0) batch = train->batch;
  const uint64_t patience = (PATIENT_STEPS * batch + facts->rows - 1) / facts->rows;
  settled->batch = (fw_settled_count){!given, batch};
  settled->patience =
      (fw_settled_count){is_open(d, FW_KEY_PATIENCE), patience > LEAST_PATIENCE ? patience : LEAST_PATIENCE};
  const double many = fmax(1, cbrt(rows / 8000));
  const double wide = has_no_products(&d->trainer->plan->graph) ? fmin(1, SHORT_ROW / (double)facts->longest) : 1;
  settled->lr = (fw_settled_real){is_open(d, FW_KEY_LR), sparse ? 0.01 / many * wide : 0.003};
  const double l2 = dense ? fmin(1e-4, 0.5 / rows) : sparse ? 1e-4 * many : 1e-4;
  const bool own_fc = sparse && has_fc(&d->trainer->plan->graph) && is_open(d, FW_KEY_FC_L2);
  settled->l2 = (fw_settled_real){is_open(d, FW_KEY_L2), l2};
  settled->fc_l2 = (fw_settled_real){settled->l2.set && own_fc, l2 / FC_SHARE};
  const bool open = settled->lr.set && settled->l2.set && is_open(d, FW_KEY_FC_L2) && is_open(d, FW_KEY_EPOCHS);
  d->tries_steps =
      open && !d->params.stream && facts->rows >= FW_STRENGTH_ROWS && facts->rows * facts->longest <= MOST_TRIED;
}

/* Checks that everything is configured that cannot be found before the only pass over a stream. */
static furrow_status check_known(const fw_prepared *d, furrow_error *err) {
  const fw_plan *plan = d->trainer->plan;
  if (!fw_samples_pass_once(d->samples) || !(plan->open_fields || plan->open_classes)) return FURROW_OK;
  const char *key = plan->open_fields ? "fields" : "classes";
  fw_fail(err, FURROW_E_ARGUMENT, "the number of %s is not known, and the data can be read only once", key);
  fw_error_set_hint(err, "set the key `%s`, or keep the rows in memory", key);
  return FURROW_E_ARGUMENT;
}

static furrow_status settle_facts(fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  furrow_trainer *t = d->trainer;
  fw_settled settled = {.format = format_of(d, facts)};
  const char *label = d->samples->found_label;
  d->rows = facts->rows;
  d->longest = facts->longest;
  FW_TRY(check_known(d, err));
  FW_TRY(fw_samples_settle_columns(d->samples, t->conf, &settled, err));
  if (label) FW_TRY(fw_trainer_note(t, false, err, "the column %.200s has the labels, as its name says", label));
  FW_TRY(settle_labels(d, facts, &settled, err));
  settle_fields(d, facts, &settled);
  FW_TRY(choose_solver(d, facts, err));
  settled.epochs = epochs_of(d, facts);
  settled.huber_delta = delta_of(d, facts);
  settled.range = range_of(d, facts);
  settled.l2 = strength_of(d, facts, settled.epochs.set ? (uint32_t)settled.epochs.value : t->plan->train.epochs);
  settle_steps(d, facts, &settled);
  return fw_trainer_settle(t, &settled, err);
}

/* ---- All of it ---- */

/* What furrow.json says of the data. */
static void remember(const fw_prepared *d, const fw_data_facts *facts) {
  const fw_scaling *scaling = &d->scaling;
  fw_seen_data *seen = &d->trainer->seen;
  *seen = (fw_seen_data){.rows = facts->rows,
                         .digest = facts->digest,
                         .features = facts->end,
                         .scaled = scaling->count,
                         .label_mean = scaling->label_mean,
                         .label_factor = scaling->label_factor,
                         .exact = d->exact && !d->trainer->plan->train.lbfgs_pairs};
  for (size_t i = 0; i < scaling->count; i++) seen->centred += scaling->mean[i] != 0;
}

/* Reads the facts of the training data where Furrow's own defaults count; otherwise only the index base is settled,
 * which holds for validation data, too, and is saved with the model. */
static furrow_status settle_data(fw_prepared *d, furrow_error *err) {
  furrow_trainer *t = d->trainer;
  fw_data_facts facts = {0};
  const int base = d->samples->index_base;
  const char *weights = t->plan->data.class_weights;
  const bool weighs = weights && strcmp(weights, "none") != 0;
  const bool finds_base = t->plan->data.index_base < 0 && base >= 0;
  FW_TRY(fw_prepared_share(d, finds_base ? fw_trainer_settle_base(t, base, err) : FURROW_OK, err));
  if (!t->plan->train.recommended && !t->plan->data.scale && !weighs) return choose_solver(d, NULL, err);
  furrow_status status = FURROW_OK;
  if (!fw_samples_pass_once(d->samples)) status = fw_data_facts_read(&facts, d->samples, t->plan->data.scale, err);
  const furrow_trainer_fit_params *p = &d->params;
  if (status == FURROW_OK)
    status = fw_prepared_share(d, fw_report_progress(p->progress, p->progress_user, "preparing", 0, 0, err), err);
  if (status == FURROW_OK) status = settle_facts(d, &facts, err);
  if (status == FURROW_OK) status = fw_prepare_units(d, &facts, err);
  if (status == FURROW_OK && t->plan->train.recommended) status = fw_prepare_leaks(d, &facts, err);
  if (status == FURROW_OK && t->plan->train.recommended) status = fw_prepare_curves(d, &facts, err);
  if (status == FURROW_OK) remember(d, &facts);
  fw_data_facts_clear(&facts);
  return status;
}

/* Few rows choose a number of trees by chance: they are held out only if the configuration says so, and a forest goes
 * on with them only by a number that is set. */
static furrow_status choose_valid_ratio(fw_prepared *d, furrow_error *err) {
  enum { FEWEST_ROWS = 100 };
  const furrow_trainer *t = d->trainer;
  const bool few = t->seen.rows > 0 && t->seen.rows < FEWEST_ROWS;
  const bool by_default = t->forest && !fw_conf_is_set(t->conf, FW_KEY_VALID_RATIO) && t->plan->train.recommended;
  d->valid_ratio = by_default && few ? 0 : t->plan->data.valid_ratio;
  if (!few || !by_default || d->from_scratch || d->own_valid || t->plan->data.valid_ratio <= 0) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "%" PRIu64 " rows are too few to choose how many trees are added to a model",
          t->seen.rows);
  fw_error_set_hint(err, "set the key `trees`, or train with at least %d rows", FEWEST_ROWS);
  fw_error_set_file(err, fw_samples_name(d->samples));
  return FURROW_E_ARGUMENT;
}

/* A failure of one rank is shared where the other ranks share theirs. */
furrow_status fw_prepare(fw_prepared *d, const char *train, const char *valid, furrow_error *err) {
  d->from_scratch = !d->trainer->loaded && !d->trainer->trained;
  d->own_valid = valid != NULL;
  furrow_status status = fw_prepared_share(d, fw_prepare_encoder(d, err), err);
  if (status == FURROW_OK) status = fw_prepare_samples(d, train, valid, err);
  if (status == FURROW_OK) status = settle_data(d, err);
  if (status == FURROW_OK) status = choose_valid_ratio(d, err);
  FW_TRY(fw_prepared_share(d, status, err));
  return fw_prepare_epoch_rows(d, valid, err);
}
