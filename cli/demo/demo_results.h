/* cli/demo/demo_results.h: all that the demo found out, for its report. */
#ifndef CLI_DEMO_DEMO_RESULTS_H
#define CLI_DEMO_DEMO_RESULTS_H

#include "core/json_text.h"
#include "demo/demo_quality.h"
#include "demo/demo_run.h"

enum { DEMO_MODELS = 2, DEMO_INDEXES = 2, DEMO_FILES = 32 };

/* A model: what `train --history`, `eval --json` and `model info --json` say. */
typedef struct demo_model {
  const char *name, *title; /* "fm", "FM" */
  json_text history, eval, info;
} demo_model;

/* An index: what `index info`, `map` and `recall` say. */
typedef struct demo_index {
  const char *name, *title; /* "items.index" */
  json_text info, recall;
  double overlap; /* share of the model's ten best that it finds */
} demo_index;

typedef struct demo_file {
  char name[64];
  uint64_t bytes;
} demo_file;

typedef struct demo_results {
  demo_world world;
  demo_runner runner;
  demo_truth truth;
  demo_model models[DEMO_MODELS];
  demo_index indexes[DEMO_INDEXES];
  json_text map;
  uint32_t queries, judged; /* searched for; compared with the scores of all items */
  uint32_t nprobe;          /* of the search that is shown */
  double agreement;         /* of the two models' ten best */
  double largest_gap;       /* between the score of an example and the sum of its parts */
  demo_example examples[DEMO_EXAMPLES];
  demo_plane plane;
  demo_file files[DEMO_FILES];
  size_t file_count;
  double seconds; /* all of it */
} demo_results;

/* Models beside the truth, in a few lines. */
void demo_print_truth(const demo_results *all);
/* What was found in the end, where the report is. */
void demo_print_results(demo_results *all, const char *folder);
void demo_print_json(const demo_results *all, const char *folder, output *out);
/* Writes report.html. */
furrow_status demo_page_write(const demo_results *results, const char *path, furrow_error *err);

#endif
