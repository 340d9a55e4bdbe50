/* cli/model/cmd_model_trees.c: furrow model trees: prints or draws the trees of a gbdt model. */
#include <stddef.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/text_file.h"
#include "model/model_source.h"

#define ALL UINT64_MAX

typedef struct trees_values {
  const char *path, *svg, *dot;
  uint64_t tree, first; /* ALL: not given */
  bool json, force;
  uint32_t threads;
} trees_values;

static const option trees_operands[] = {{.name = "DIR",
                                         .kind = OPTION_TEXT,
                                         .help = "a gbdt model directory, Furrow's or Angel's",
                                         .offset = offsetof(trees_values, path),
                                         .required = true,
                                         .watched = true},
                                        {0}};

#define AT(field) offsetof(trees_values, field)
static const option trees_options[] = {
    {.name = "tree",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "only this tree (the first is 0)",
     .offset = AT(tree)},
    {.name = "first", .kind = OPTION_U64, .argument = "N", .help = "only the first N trees", .offset = AT(first)},
    {0}};

static const option picture_options[] = {{.name = "svg",
                                          .kind = OPTION_TEXT,
                                          .argument = "FILE",
                                          .help = "draw one tree (--tree, or the first) instead of printing",
                                          .offset = AT(svg),
                                          .written = true},
                                         {.name = "dot",
                                          .kind = OPTION_TEXT,
                                          .argument = "FILE",
                                          .help = "write the trees for graphviz instead of printing",
                                          .offset = AT(dot),
                                          .written = true},
                                         FORCE_OPTION(AT(force)),
                                         {0}};
#undef AT

static const option_group trees_groups[] = {
    {.title = "Which trees", .options = trees_options},
    {.title = "Pictures", .options = picture_options},
    {.title = "Options", .options = json_options, .offset = offsetof(trees_values, json)},
    {.title = "Options", .options = threads_options, .offset = offsetof(trees_values, threads)},
    {.title = "Options", .options = plugin_options},
    {0}};

static void trees_init(void *values) {
  ((trees_values *)values)->tree = ALL;
  ((trees_values *)values)->first = ALL;
}

/* Selects trees first … end-1. */
static furrow_status choose_trees(const trees_values *v, const furrow_scorer *scorer, size_t *first, size_t *end,
                                  furrow_error *err) {
  furrow_forest_info info;
  furrow_forest_info_init(&info);
  furrow_scorer_get_forest_info(scorer, &info);
  if (v->tree != ALL && v->first != ALL)
    return fail(err, FURROW_E_ARGUMENT, "--tree and --first cannot be used together");
  if (v->tree != ALL && v->tree >= info.trees)
    return fail(err, FURROW_E_RANGE, "there is no tree %llu: the model has %zu trees", (unsigned long long)v->tree,
                info.trees);
  if (v->first == 0) return fail(err, FURROW_E_ARGUMENT, "--first must be at least 1");
  *first = v->tree != ALL ? (size_t)v->tree : 0;
  *end = v->tree != ALL ? *first + 1 : v->first < info.trees ? (size_t)v->first : info.trees;
  return FURROW_OK;
}

static furrow_status write_trees(const furrow_scorer *scorer, furrow_describe_format kind, size_t first, size_t end,
                                 const char *path, bool force, furrow_error *err) {
  char *text = NULL;
  size_t size = 0;
  furrow_status status = furrow_scorer_describe_trees(scorer, kind, first, end, &text, &size, err);
  if (status == FURROW_OK) status = text_file_write(path, text, size, force, err);
  furrow_free(text);
  return status;
}

/* Prints one tree at a time, so that the text of a large forest is never in memory as a whole; JSON is one value. */
static furrow_status print_trees(const furrow_scorer *scorer, bool json, size_t first, size_t end, output *out,
                                 furrow_error *err) {
  const furrow_describe_format kind = json ? FURROW_DESCRIBE_JSON : FURROW_DESCRIBE_TEXT;
  furrow_status status = FURROW_OK;
  for (size_t tree = first, step = json ? end - first : 1; status == FURROW_OK && tree < end; tree += step) {
    char *text = NULL;
    size_t size = 0;
    status = furrow_scorer_describe_trees(scorer, kind, tree, tree + step, &text, &size, err);
    if (status != FURROW_OK) break;
    if (tree > first) output_text(out, "\n");
    output_bytes(out, text, size);
    furrow_free(text);
    if (out->errnum) break;
  }
  return status;
}

static furrow_status trees_run(const void *values, output *out, furrow_error *err) {
  const trees_values *v = values;
  furrow_scorer *scorer = NULL;
  size_t first = 0, end = 0;
  furrow_status status = forest_open(&scorer, v->path, v->threads, err);
  if (status == FURROW_OK) status = choose_trees(v, scorer, &first, &end, err);
  if (status == FURROW_OK && v->svg)
    status = write_trees(scorer, FURROW_DESCRIBE_SVG, first, first + 1, v->svg, v->force, err);
  if (status == FURROW_OK && v->dot)
    status = write_trees(scorer, FURROW_DESCRIBE_DOT, first, end, v->dot, v->force, err);
  if (status == FURROW_OK && (v->json || (!v->svg && !v->dot)))
    status = print_trees(scorer, v->json, first, end, out, err);
  furrow_scorer_free(scorer);
  return status;
}

const command model_trees_command = {
    .name = "trees",
    .summary = "print or draw the trees of a gbdt model",
    .example = "furrow model trees clicks --first 2\nfurrow model trees clicks --tree 7 --svg tree7.svg",
    .about = "Prints a line for each node: its condition and where rows without the feature go (absent). If the model "
             "stores them (trained with --node-stats yes), the gain of the split and the cover, which is the sum of "
             "the hessians of the node's rows, follow. The children of a node are indented below it, each after the "
             "answer that leads to it. Features are columns of the model, counted from 0. Leaves are printed as "
             "stored: the score of a row is the sum of its leaves times the learning rate.",
    .operands = trees_operands,
    .groups = trees_groups,
    .size = sizeof(trees_values),
    .init = trees_init,
    .run = trees_run,
};
