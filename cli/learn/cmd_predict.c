/* cli/learn/cmd_predict.c: furrow predict: the scores of rows, as Angel writes them. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/report.h"
#include "core/text_file.h"
#include "core/written.h"
#include "furrow/table.h"
#include "furrow/vector_data.h"
#include "learn/explaining.h"
#include "learn/model_names.h"
#include "learn/raw_log.h"

typedef enum sample_id { SID_AUTO, SID_FIRST, SID_ROW } sample_id;

typedef enum contributions_by { BY_FEATURE, BY_COLUMN } contributions_by;

typedef struct predict_values {
  scoring_values scoring;
  sample_id sid;
  contributions_by by;
  const char *scores;
  bool json, force, contributions, probabilities, header;
  uint64_t top;     /* 0: all */
  text_list events; /* COLUMN=VALUE of one event */
} predict_values;

#define AT(field) offsetof(predict_values, field)
static const option predict_options[] = {
    {.name = "sid",
     .kind = OPTION_ENUM,
     .choices = "auto|first|row",
     .help = "id of a row: first, the number at the start of its line (its label), or row, its number from 0 (auto: "
             "first; for raw logs row)",
     .offset = AT(sid)},
    {.name = "scores",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help =
         "write pred, proba and label of each row as floats to a file (.npy, .f32, .fbin, .fvecs) instead of printing; "
         ".parquet: a table with sid and, with --probabilities, a column for each class, too",
     .offset = AT(scores),
     .written = true},
    {.name = "probabilities",
     .kind = OPTION_FLAG,
     .help = "print the probability of each class after the label: LABEL:P,LABEL:P…",
     .offset = AT(probabilities)},
    {.name = "header",
     .kind = OPTION_FLAG,
     .help = "begin with a line of the names of the columns; with --probabilities, each class is a column",
     .offset = AT(header)},
    {.name = "contributions",
     .kind = OPTION_FLAG,
     .help =
         "print what each feature contributes to pred, the largest first (lr, svm, linear, robust, softmax, fm, gbdt)",
     .offset = AT(contributions)},
    {.name = "by",
     .kind = OPTION_ENUM,
     .choices = "feature|column",
     .help = "with --contributions: print a value for each feature, or for each column of the data the sum of its "
             "features, below a line with the names of the columns (feature)",
     .offset = AT(by)},
    {.name = "top",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "with --contributions: print the N largest of each row (all)",
     .offset = AT(top)},
    {.name = "event",
     .kind = OPTION_LIST,
     .argument = "COLUMN=VALUE",
     .help = "instead of --data: one event, one option for each column; for models of raw logs",
     .offset = AT(events)},
    {.name = "json", .kind = OPTION_FLAG, .help = "print a JSON object for each row", .offset = AT(json)},
    FORCE_OPTION(AT(force)),
    {0}};
#undef AT

static const option_group predict_groups[] = {
    {.title = "Options", .options = scoring_options, .offset = offsetof(predict_values, scoring)},
    {.title = "Options", .options = query_options},
    {.title = "Options", .options = graph_options, .offset = offsetof(predict_values, scoring)},
    {.title = "Options", .options = plugin_options},
    {.title = "Output", .options = predict_options},
    {0}};

typedef struct predicting {
  const predict_values *values;
  scoring scoring;
  furrow_score *scores;
  size_t capacity;
  furrow_vectors_writer *file;
  furrow_table_writer *table; /* of a Parquet file */
  explaining explaining;
  sample_id sid;         /* not SID_AUTO */
  size_t classes;        /* with --probabilities: 2, or the number of classes of softmax */
  double *probabilities; /* probabilities of a row */
} predicting;

/* Writes the fewest digits that read back to the same float; integers without an exponent. */
static void put_first(char *text, size_t size, double first) {
  int digits = 1;
  if (first == trunc(first)) {
    snprintf(text, size, "%.0f", first);
    return;
  }
  do snprintf(text, size, "%.*g", digits, first);
  while (digits++ < 9 && strtof(text, NULL) != (float)first);
}

/* Writes the id as text. Ids are read as floats, so 2^24 may have been 2^24 + 1 in the file. */
static furrow_status put_sid(const predicting *p, const furrow_rowblock *block, size_t i, char *text, size_t size,
                             furrow_error *err) {
  const uint64_t row = p->scoring.rows + i;
  if (p->sid == SID_ROW || !block->label.any) {
    snprintf(text, size, "%" PRIu64, row);
    return FURROW_OK;
  }
  const double first = furrow_values_get(block->label, block->value_type, i);
  if (fabs(first) >= 16777216)
    return fail(err, FURROW_E_RANGE, "row %" PRIu64 " begins with %.9g, which is too large for an id", row + 1, first),
           add_hint(err, "--sid row numbers the rows instead");
  put_first(text, size, first);
  return FURROW_OK;
}

static void put_object(output *out, const char *sid, const furrow_score *score, const char *name) {
  output_format(out, "{\"sid\":\"%s\",\"pred\":%.9g,\"proba\":%.9g,\"label\":", sid, score->pred, score->proba);
  if (name)
    output_json_text(out, name);
  else
    output_format(out, "%.9g", score->label);
}

static void put_line(output *out, const char *sid, const furrow_score *score, const char *name) {
  output_text(out, sid);
  output_text(out, ",");
  output_decimals(out, score->pred);
  output_text(out, ",");
  output_decimals(out, score->proba);
  output_text(out, ",");
  if (name) {
    output_class_begin(out, name);
    output_class_end(out, name);
  } else {
    output_decimals(out, score->label);
  }
}

/* ---- Probabilities of classes ---- */

static furrow_status open_probabilities(predicting *p, furrow_error *err) {
  const furrow_scorer *scorer = p->scoring.scorer;
  const size_t count = furrow_scorer_class_count(scorer);
  if (!p->values->probabilities) return FURROW_OK;
  if (isnan(furrow_scorer_class_label(scorer, 0)))
    return fail(err, FURROW_E_ARGUMENT, "--probabilities is for models of classes; this one predicts numbers");
  p->classes = count > 1 ? count : 2;
  p->probabilities = calloc(p->classes, sizeof *p->probabilities);
  return p->probabilities ? FURROW_OK : fail_memory(err);
}

/* With two classes the library gives only the probability of the positive one. */
static furrow_status find_probabilities(const predicting *p, const furrow_row *row, furrow_error *err) {
  const bool two = furrow_scorer_class_count(p->scoring.scorer) == 1;
  double *positive = p->probabilities + (two ? 1 : 0);
  furrow_status status = furrow_scorer_class_probabilities(p->scoring.scorer, p->scoring.space, row, positive, err);
  if (status == FURROW_OK && two) p->probabilities[0] = 1 - *positive;
  return status;
}

static void put_probability(const predicting *p, size_t i, const char *label, output *out) {
  if (p->values->json) {
    if (i > 0) output_text(out, ",");
    output_json_text(out, label);
    output_format(out, ":%.9g", p->probabilities[i]);
  } else {
    output_text(out, ",");
    if (!p->values->header) {
      output_class_begin(out, label);
      output_text(out, ":");
    }
    output_decimals(out, p->probabilities[i]);
    if (!p->values->header) output_class_end(out, label);
  }
}

static furrow_status put_probabilities(const predicting *p, const furrow_row *row, output *out, furrow_error *err) {
  if (p->classes == 0) return FURROW_OK;
  furrow_status status = find_probabilities(p, row, err);
  if (status != FURROW_OK) return status;
  if (p->values->json) output_text(out, ",\"probabilities\":{");
  for (size_t i = 0; i < p->classes; i++) {
    const furrow_scorer *scorer = p->scoring.scorer;
    char text[CLASS_LABEL_SIZE];
    put_probability(p, i, class_label(text, scorer, furrow_scorer_class_label(scorer, i)), out);
  }
  if (p->values->json) output_text(out, "}");
  return FURROW_OK;
}

/* ---- Parquet ---- */

static bool has_class_names(const predicting *p) {
  return class_name(p->scoring.scorer, 0) != NULL;
}

static furrow_status open_table(predicting *p, furrow_error *err) {
  const size_t count = 4 + p->classes;
  furrow_table_writer_params params;
  furrow_table_column *columns = calloc(count, sizeof *columns);
  char(*labels)[CLASS_LABEL_SIZE] = calloc(count, sizeof *labels);
  furrow_table_writer_params_init(&params);
  params.overwrite = p->values->force;
  furrow_status status = columns && labels ? FURROW_OK : fail_memory(err);
  if (status == FURROW_OK) {
    columns[0] = (furrow_table_column){"sid", p->sid == SID_ROW ? FURROW_CELL_I64 : FURROW_CELL_F64};
    columns[1] = (furrow_table_column){"pred", FURROW_CELL_F64};
    columns[2] = (furrow_table_column){"proba", FURROW_CELL_F64};
    columns[3] = (furrow_table_column){"label", has_class_names(p) ? FURROW_CELL_TEXT : FURROW_CELL_F64};
    for (size_t i = 0; i < p->classes; i++) {
      const double label = furrow_scorer_class_label(p->scoring.scorer, i);
      columns[4 + i] = (furrow_table_column){class_label(labels[i], p->scoring.scorer, label), FURROW_CELL_F64};
    }
    status = furrow_table_writer_open(&p->table, p->values->scores, columns, count, &params, err);
  }
  free(columns);
  free(labels);
  return status;
}

static furrow_status put_cells(predicting *p, const furrow_rowblock *block, size_t i, furrow_error *err) {
  const furrow_score *score = &p->scores[i];
  const furrow_row row = furrow_rowblock_row(block, i);
  const char *name = class_name(p->scoring.scorer, score->label);
  if (p->sid == SID_ROW)
    furrow_table_put_integer(p->table, (int64_t)(p->scoring.rows + i));
  else
    furrow_table_put_real(p->table, block->label.any ? furrow_values_get(block->label, block->value_type, i)
                                                     : (double)(p->scoring.rows + i));
  furrow_table_put_real(p->table, score->pred);
  furrow_table_put_real(p->table, score->proba);
  if (!has_class_names(p))
    furrow_table_put_real(p->table, score->label);
  else if (name)
    furrow_table_put_text(p->table, name, strlen(name));
  else
    furrow_table_put_null(p->table);
  const furrow_status status = p->classes > 0 ? find_probabilities(p, &row, err) : FURROW_OK;
  for (size_t k = 0; status == FURROW_OK && k < p->classes; k++) furrow_table_put_real(p->table, p->probabilities[k]);
  return status == FURROW_OK ? furrow_table_writer_end_row(p->table, err) : status;
}

static furrow_status put_table(predicting *p, const furrow_rowblock *block, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < block->size; i++) {
    char sid[32];
    status = put_sid(p, block, i, sid, sizeof sid, err); /* an id that is too large is refused */
    if (status == FURROW_OK) status = put_cells(p, block, i, err);
  }
  return status;
}

/* ---- Blocks ---- */

static void put_header(const predicting *p, output *out) {
  if (!p->values->header) return;
  output_text(out, "sid,pred,proba,label");
  for (size_t i = 0; i < p->classes; i++) {
    char text[CLASS_LABEL_SIZE];
    const char *label = class_label(text, p->scoring.scorer, furrow_scorer_class_label(p->scoring.scorer, i));
    output_text(out, ",");
    output_class_begin(out, label);
    output_class_end(out, label);
  }
  output_text(out, "\n");
}

static furrow_status put_text(predicting *p, const furrow_rowblock *block, output *out, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && !out->errnum && i < block->size; i++) {
    char sid[32];
    status = put_sid(p, block, i, sid, sizeof sid, err);
    if (status != FURROW_OK) break;
    const furrow_row row = furrow_rowblock_row(block, i);
    if (p->values->contributions) {
      status = explain_row(&p->explaining, &row, sid, out, err);
      continue;
    }
    const char *name = class_name(p->scoring.scorer, p->scores[i].label);
    (p->values->json ? put_object : put_line)(out, sid, &p->scores[i], name);
    status = put_probabilities(p, &row, out, err);
    output_text(out, p->values->json ? "}\n" : "\n");
  }
  return status == FURROW_OK ? output_flush(out, err) : status;
}

static furrow_status put_floats(const predicting *p, size_t rows, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < rows; i++) {
    const furrow_score *s = &p->scores[i];
    const float row[3] = {(float)s->pred, (float)s->proba, (float)s->label};
    status = furrow_vectors_writer_write(p->file, row, 1, err);
  }
  return status;
}

static furrow_status check_scores(const predicting *p, size_t rows, furrow_error *err) {
  for (size_t i = 0; i < rows; i++) {
    const furrow_score *s = &p->scores[i];
    if (!isfinite(s->pred) || isnan(s->proba) || isnan(s->label))
      return fail_in(err, FURROW_E_RANGE, p->values->scoring.data,
                     "row %" PRIu64 ": the score is infinite or not a number", p->scoring.rows + i + 1);
  }
  return FURROW_OK;
}

static furrow_status score_block(predicting *p, const furrow_rowblock *block, output *out, furrow_error *err) {
  if (block->size > p->capacity) {
    furrow_score *scores = realloc(p->scores, block->size * sizeof *scores);
    if (!scores) return fail_memory(err);
    p->scores = scores;
    p->capacity = block->size;
  }
  furrow_status status = furrow_scorer_score_block(p->scoring.scorer, p->scoring.space, block, p->scores, err);
  if (status != FURROW_OK) {
    scoring_locate_error(&p->scoring, block, err);
    return status;
  }
  status = check_scores(p, block->size, err);
  if (status != FURROW_OK) return status;
  if (p->table) return put_table(p, block, err);
  return p->file ? put_floats(p, block->size, err) : put_text(p, block, out, err);
}

static bool to_table(const predict_values *values) {
  return values->scores && path_ends(values->scores, ".parquet");
}

static furrow_status open_file(predicting *p, furrow_error *err) {
  furrow_vectors_writer_params params;
  if (!p->values->scores) return FURROW_OK;
  furrow_vectors_writer_params_init(&params);
  params.dim = 3;
  params.overwrite = p->values->force;
  interrupt_catch();
  furrow_status status = written_check_path(p->values->scores, p->values->force, err);
  if (status != FURROW_OK) return status;
  return to_table(p->values) ? open_table(p, err)
                             : furrow_vectors_writer_open(&p->file, p->values->scores, &params, err);
}

static furrow_status check_options(const predict_values *values, furrow_error *err) {
  if (values->contributions && values->scores)
    return fail(err, FURROW_E_ARGUMENT, "--contributions and --scores cannot be used together");
  if (values->probabilities && ((values->scores && !to_table(values)) || values->contributions))
    return fail(err, FURROW_E_ARGUMENT, "--probabilities and %s cannot be used together",
                values->scores ? "--scores" : "--contributions");
  if (values->header && (values->json || values->scores || values->contributions))
    return fail(err, FURROW_E_ARGUMENT, "--header and %s cannot be used together",
                values->json     ? "--json"
                : values->scores ? "--scores"
                                 : "--contributions");
  if (values->events.count > 0 && values->scoring.data)
    return fail(err, FURROW_E_ARGUMENT, "--event and --data cannot be used together");
  if (values->top > 0 && !values->contributions) return fail(err, FURROW_E_ARGUMENT, "--top is for --contributions");
  if (values->by == BY_COLUMN && !values->contributions)
    return fail(err, FURROW_E_ARGUMENT, "--by column is for --contributions");
  if (values->by == BY_COLUMN && values->top > 0)
    return fail(err, FURROW_E_ARGUMENT, "--top and --by column cannot be used together: a line has all columns");
  return FURROW_OK;
}

static furrow_status run_predict(const void *values, output *out, furrow_error *err) {
  predict_values used = *(const predict_values *)values;
  const predict_values *predict = &used;
  predicting p = {.values = predict};
  const furrow_rowblock *block = NULL;
  const bool event = predict->events.count > 0;
  used.scoring.unlabelled = used.sid != SID_FIRST;
  used.scoring.event = event;
  furrow_status status = check_options(predict, err);
  if (status == FURROW_OK && event) status = one_event_write(&predict->events, &used.scoring.data, err);
  if (status == FURROW_OK) status = scoring_open(&p.scoring, &predict->scoring, err);
  if (status == FURROW_OK && event)
    status = one_event_check(&predict->events, furrow_scorer_encoder(p.scoring.scorer), err);
  p.sid = predict->sid;
  if (status == FURROW_OK && p.sid == SID_AUTO) p.sid = furrow_scorer_encoder(p.scoring.scorer) ? SID_ROW : SID_FIRST;
  p.explaining = (explaining){
      .scoring = &p.scoring, .json = predict->json, .by_column = predict->by == BY_COLUMN, .top = predict->top};
  if (status == FURROW_OK) status = open_probabilities(&p, err);
  if (status == FURROW_OK) status = open_file(&p, err);
  if (status == FURROW_OK) status = explain_heading(&p.explaining, out, err);
  if (status == FURROW_OK) put_header(&p, out);
  while (status == FURROW_OK && (status = scoring_next(&p.scoring, &block, err)) == FURROW_OK)
    status = score_block(&p, block, out, err);
  if (status == FURROW_END && p.table)
    status = furrow_table_writer_commit(p.table, err);
  else if (status == FURROW_END)
    status = p.file ? furrow_vectors_writer_commit(p.file, err) : FURROW_OK;
  if (status == FURROW_OK) scoring_print_notes(&p.scoring);
  if (status == FURROW_OK && event && !predict->scoring.quiet)
    one_event_print_notes(&predict->events, furrow_scorer_encoder(p.scoring.scorer));
  furrow_vectors_writer_close(p.file);
  furrow_table_writer_close(p.table);
  scoring_close(&p.scoring);
  explaining_clear(&p.explaining);
  free(p.scores);
  free(p.probabilities);
  return status;
}

const command predict_command = {
    .name = "predict",
    .summary = "score rows with a model; prints sid,pred,proba,label",
    .example = "furrow predict --model clicks.model --data new.libsvm > scores.csv\n"
               "furrow predict --model clicks.model --data new.libsvm --scores scores.npy\n"
               "furrow predict --model clicks.model --data new.libsvm --contributions --top 5\n"
               "furrow predict --model titanic.model --data new.csv --contributions --by column\n"
               "furrow predict --model ratings.model --event userId=1 --event movieId=10",
    .about =
        "Prints a line for each row, as Angel does: the row's id (the number at the start of its line; of raw logs the "
        "number of the row, from 0), the output of "
        "the graph, the probability of the positive or most likely class (0 for regression), and the predicted label, "
        "or the name of its class, where the schema of a raw log has names. "
        "Numbers have six decimals; those below 0.0001 have an exponent.\n"
        "With --contributions a line is sid,pred,bias,FEATURE:VALUE,…: bias and all values add up to pred. Models of "
        "several "
        "classes have a line for each class: sid,label of the class,pred,bias,… Features are columns of the model, "
        "counted from 0. With --by column a line is sid,pred,bias and the sum of the values of each column's features, "
        "and the first line has the names; of csv and raw logs. "
        "Values of gbdt are Shapley values, as xgboost's pred_contribs; not for a model that was trained with "
        "--node-stats no.",
    .one_of = "--data URI | --event COLUMN=VALUE",
    .groups = predict_groups,
    .size = sizeof(predict_values),
    .run = run_predict,
};
