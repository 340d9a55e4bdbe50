/* cli/demo/demo_results.h: the results of the demo, for its report. */
#ifndef CLI_DEMO_DEMO_RESULTS_H
#define CLI_DEMO_DEMO_RESULTS_H

#include <stdio.h>

#include "core/output.h"
#include "demo/demo_quality.h"

enum { DEMO_STEPS = 32, DEMO_LINE = 512 };

typedef struct demo_step {
  const char *title;    /* short description */
  char line[DEMO_LINE]; /* "furrow train --model fm …"; for a step of the demo itself: what it wrote */
  bool command;         /* false: the demo did it itself */
  double seconds, cpu_seconds;
  uint64_t memory; /* peak in bytes; 0: unknown */
} demo_step;

typedef struct demo_runner {
  output *out;
  bool show;        /* print commands and their output */
  char threads[32]; /* " --threads 2", or "" */
  demo_step steps[DEMO_STEPS];
  size_t count;
} demo_runner;

/* Prints a heading: "# Training". */
void demo_heading(demo_runner *runner, const char *text);
/* Runs a line "furrow …" in a child process; words are separated by blanks, and "> FILE" at the end redirects the
 * output. Returns the status of the command, which prints its own error; E_STATE: stopped by a signal. */
furrow_status demo_run(demo_runner *runner, const char *title, furrow_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Returns the error of a demo that was stopped by a signal. */
furrow_status demo_stopped(furrow_error *err);
/* Records a step that the demo did itself since `began`. */
void demo_did(demo_runner *runner, const char *title, double began, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

enum {
  DEMO_MODELS = 2,
  DEMO_INDEXES = 2,
  DEMO_FILES = 32,
  DEMO_EPOCHS = 64,
  DEMO_BINS = 10,     /* of the calibration */
  DEMO_MATRICES = 16, /* of a model */
  DEMO_POINTS = 16    /* of a recall curve */
};

typedef struct demo_epoch {
  double number, train_loss, train_auc, valid_loss, valid_auc;
} demo_epoch;

typedef struct demo_bin {
  double rows, mean_prediction, mean_label;
} demo_bin;

typedef struct demo_matrix {
  char name[64], format[64], row_type[64], layer[32];
  double rows, saved_rows, columns, block_columns, partitions, files, bytes, elements;
  double min, max, mean, deviation;
} demo_matrix;

typedef struct demo_model {
  const char *name, *title; /* "fm", "FM" */
  demo_epoch epochs[DEMO_EPOCHS];
  size_t epoch_count;
  double logloss, auc; /* figures of the test rows */
  demo_ranking ranking;
  demo_bin bins[DEMO_BINS];
  demo_matrix matrices[DEMO_MATRICES];
  size_t matrix_count;
} demo_model;

/* One setting of `furrow index recall`. */
typedef struct demo_point {
  double nprobe, recall, seconds, queries_per_second;
} demo_point;

typedef struct demo_index {
  const char *name, *title; /* "items.index" */
  double bytes, nlist, code_size, mean_list, imbalance;
  demo_point points[DEMO_POINTS];
  size_t point_count;
} demo_index;

/* A field of the index file. */
typedef struct demo_field {
  char name[64];
  double offset, size;
} demo_field;

typedef struct demo_file {
  char name[64];
  uint64_t bytes;
} demo_file;

typedef struct demo_results {
  demo_world world;
  demo_log train, test;
  furrow_schema *schema;
  demo_runner runner;
  demo_truth truth;
  demo_model models[DEMO_MODELS];
  demo_index indexes[DEMO_INDEXES];
  demo_field *fields; /* fields of the first index's file */
  size_t field_count;
  uint32_t nprobe; /* nprobe of the search in the report */
  double popular;  /* NDCG@10 of the most popular items */
  demo_ranking recommender;
  demo_example examples[DEMO_EXAMPLES];
  demo_like likes[DEMO_LIKE];
  demo_plane plane;
  demo_file files[DEMO_FILES];
  size_t file_count;
  double seconds; /* seconds of the whole demo */
} demo_results;

/* Each reads what a step of the demo wrote. The history is the file of `train --history`, the curve is what `index
 * recall` printed; everything else comes from calls of the library. */
furrow_status demo_load_history(demo_model *model, const char *path, furrow_error *err);
furrow_status demo_load_quality(demo_model *model, const char *folder, const char *rows, uint32_t threads,
                                furrow_error *err);
furrow_status demo_load_matrices(demo_model *model, const char *folder, uint32_t threads, furrow_error *err);
furrow_status demo_load_index(demo_index *index, furrow_error *err);
furrow_status demo_load_curve(demo_index *index, const char *path, furrow_error *err);
furrow_status demo_load_fields(demo_results *all, const char *path, furrow_error *err);

/* Returns the point of an index at the demo's nprobe; NULL: not measured. */
const demo_point *demo_point_of(const demo_results *all, size_t index);
/* Returns the share of the ten best items that an index finds with it; NaN: not measured. */
double demo_recall(const demo_results *all, size_t index);

/* Prints the quality of the models, of the true probabilities and of the most popular items. */
void demo_print_quality(const demo_results *all);
/* Prints the final results and the path of the report. */
void demo_print_results(demo_results *all, const char *folder);
void demo_print_json(const demo_results *all, const char *folder, output *out);
/* Writes report.html. */
furrow_status demo_page_write(const demo_results *results, const char *path, furrow_error *err);

/* ---- The folder (demo_folder.c) ---- */

/* Creates the folder, or removes the demo's files, by name, from an existing one, and makes it the working folder.
 * E_EXISTS: it holds other files and `force` is not set; --force keeps those files. */
furrow_status demo_folder_enter(const char *path, bool force, furrow_error *err);
/* Lists the files and their sizes; a model directory counts as one. */
void demo_folder_list(demo_results *results);

/* ---- Figures of the report (demo_figures.c) ---- */

/* Loss and AUC of both models over the epochs, on training and validation rows. */
void figure_training(FILE *out, const demo_results *all);
/* Logloss and AUC on the test rows, between the click rate and the true probabilities. */
void figure_quality(FILE *out, const demo_results *all);
/* NDCG@10 of the recommender, of the models and of the most popular items. */
void figure_ranking(FILE *out, const demo_results *all);
/* Calibration: share of clicks over predicted probability. */
void figure_calibration(FILE *out, const demo_results *all);
/* Projection of the items' vectors, coloured by category. */
void figure_plane(FILE *out, const demo_results *all);
/* Histogram of the list sizes. */
void figure_lists(FILE *out, const demo_results *all);
/* Recall and queries per second. */
void figure_recall(FILE *out, const demo_results *all);
/* The bytes of the index file. */
void figure_bytes(FILE *out, const demo_results *all);
/* The matrices of a model. */
void figure_tree(FILE *out, const demo_model *model);

#endif
