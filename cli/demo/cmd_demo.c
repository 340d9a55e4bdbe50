/* cli/demo/cmd_demo.c: furrow demo: the whole pipeline from a click log to recommendations, on generated data. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/progress.h"
#include "demo/demo_results.h"

typedef struct demo_values {
  int64_t rows;
  int32_t users, items;
  uint64_t seed;
  const char *out;
  uint32_t threads;
  bool keep, force, quiet, json;
} demo_values;

#define AT(field) offsetof(demo_values, field)
static const option demo_options[] = {
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help = "folder for all files (furrow-demo); the files of an earlier demo are replaced",
     .offset = AT(out)},
    {.name = "rows",
     .kind = OPTION_COUNT64,
     .argument = "N",
     .help = "events in the log (2000000)",
     .offset = AT(rows)},
    {.name = "users", .kind = OPTION_COUNT32, .argument = "N", .help = "users (3000)", .offset = AT(users)},
    {.name = "items", .kind = OPTION_COUNT32, .argument = "N", .help = "items (8000)", .offset = AT(items)},
    {.name = "seed", .kind = OPTION_U64, .argument = "S", .help = "seed of the generated data (1)", .offset = AT(seed)},
    {.name = "threads",
     .kind = OPTION_THREADS,
     .argument = "T",
     .help = "threads of each command (0: one for each processor); the number does not change the models",
     .offset = AT(threads)},
    {.name = "keep",
     .kind = OPTION_FLAG,
     .help = "also keep the scores of all candidates, which are large files",
     .offset = AT(keep)},
    {.name = "force",
     .kind = OPTION_FLAG,
     .help = "use a folder that holds other files; those with the names of the demo's files are replaced",
     .offset = AT(force)},
    {.name = "json", .kind = OPTION_FLAG, .help = "print the results as JSON, and no commands", .offset = AT(json)},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .help = "print nothing", .offset = AT(quiet)},
    {0}};
#undef AT

static const option_group demo_groups[] = {{.title = "Options", .options = demo_options}, {0}};

static void demo_init(void *values) {
  *(demo_values *)values =
      (demo_values){.rows = 2000000, .users = 3000, .items = 8000, .seed = 1, .out = "furrow-demo"};
}

static furrow_status check_values(const demo_values *values, furrow_error *err) {
  if (values->rows < 1000) return fail(err, FURROW_E_ARGUMENT, "--rows must be at least 1000");
  if (values->rows > 1000000000) return fail(err, FURROW_E_ARGUMENT, "--rows must be at most 1000000000");
  if (values->users < 20 || values->users > 10000000)
    return fail(err, FURROW_E_ARGUMENT, "--users must be from 20 to 10000000");
  if (values->items < 100 || values->items > 1000000)
    return fail(err, FURROW_E_ARGUMENT, "--items must be from 100 to 1000000");
  return FURROW_OK;
}

/* ---- Data ---- */

static furrow_status make_data(demo_results *all, furrow_error *err) {
  const demo_size *size = &all->world.size;
  const double began = now_seconds();
  demo_heading(&all->runner,
               "Generate a click log with known click probabilities: hidden topics, tastes, effects of the hour");
  furrow_status status = demo_write_clicks(&all->world, "clicks.libsvm", err);
  if (status == FURROW_OK) status = demo_write_items(&all->world, "items.tsv", err);
  if (status == FURROW_OK) status = demo_write_users(&all->world, "users.tsv", err);
  if (status == FURROW_OK) status = demo_write_queries(&all->world, all->queries, "queries.libsvm", err);
  if (status != FURROW_OK) return status;
  demo_did(&all->runner, "generate the data", began,
           "generated clicks.libsvm (%" PRIu64
           " events), items.tsv, users.tsv, queries.libsvm (%u users with an hour and a device)",
           size->rows, all->queries);
  status = demo_run(&all->runner, "read the log", err, "furrow rows info clicks.libsvm%s", all->runner.threads);
  demo_heading(&all->runner, "Split it into rows to train on, to choose the best epoch with, and to test with");
  if (status == FURROW_OK)
    status = demo_run(&all->runner, "split the log", err,
                      "furrow rows split clicks.libsvm --out ./ --fractions 0.8,0.1,0.1 --seed 7%s --force",
                      all->runner.threads);
  return status;
}

/* ---- Models ---- */

/* Batch size and regularisation for a log of that many events. */
static const char *batch_options(uint64_t rows) {
  if (rows >= 1000000) return "--batch 1000 --l2 2e-5";
  return rows >= 200000 ? "--batch 500 --l2 5e-5" : "--batch 200 --l2 1e-4";
}

static furrow_status train_models(demo_results *all, furrow_error *err) {
  static const char *const options[DEMO_MODELS] = {"--lr 0.03 --epochs 12",
                                                   "--fields 4 --fc 32,16 --lr 0.02 --epochs 8"};
  static const char *const titles[DEMO_MODELS] = {"train FM", "train DeepFM"};
  furrow_status status = FURROW_OK;
  demo_heading(&all->runner,
               "Train a factorization machine (FM) and one with a net on top (DeepFM) on user, item, hour and device");
  for (size_t i = 0; i < DEMO_MODELS && status == FURROW_OK; i++) {
    const char *name = all->models[i].name;
    status = demo_run(&all->runner, titles[i], err,
                      "furrow train --model %s --rank 7 --train train.libsvm --valid valid.libsvm --out %s.model "
                      "--range %u --optimizer adam %s %s --init-embedding 0.3 --patience 2 --keep-best "
                      "--history %s.history.csv --curve %s.curve.svg%s --force",
                      name, name, demo_feature_count(&all->world), options[i], batch_options(all->world.size.rows),
                      name, name, all->runner.threads);
  }
  return status;
}

static furrow_status load_model(demo_model *model, uint32_t threads, furrow_error *err) {
  char folder[64], history[64];
  snprintf(folder, sizeof folder, "%s.model", model->name);
  snprintf(history, sizeof history, "%s.history.csv", model->name);
  furrow_status status = demo_load_history(model, history, err);
  if (status == FURROW_OK) status = demo_load_quality(model, folder, "test.libsvm", threads, err);
  if (status == FURROW_OK) status = demo_load_matrices(model, folder, threads, err);
  return status;
}

static furrow_status evaluate_models(demo_results *all, uint32_t threads, furrow_error *err) {
  furrow_status status = FURROW_OK;
  demo_heading(&all->runner, "Evaluate them on the test rows and compare with the true probabilities");
  for (size_t i = 0; i < DEMO_MODELS && status == FURROW_OK; i++) {
    const char *name = all->models[i].name;
    status = demo_run(&all->runner, i ? "evaluate DeepFM" : "evaluate FM", err,
                      "furrow eval --model %s.model --data test.libsvm%s --json > %s.eval.json", name,
                      all->runner.threads, name);
    if (status == FURROW_OK)
      status = demo_run(&all->runner, i ? "describe DeepFM" : "describe FM", err,
                        "furrow model info %s.model%s --json > %s.info.json", name, all->runner.threads, name);
    if (status == FURROW_OK) status = load_model(&all->models[i], threads, err);
  }
  if (status == FURROW_OK) status = demo_score_truth(&all->world, "test.libsvm", &all->truth, err);
  if (status == FURROW_OK) demo_print_truth(all);
  return status;
}

/* ---- The index ---- */

/* About 60 to 130 items per list, and as many bits per sub-quantizer as the items can train. */
static void choose_index(uint32_t items, uint32_t *nlist, uint32_t *nbits) {
  *nlist = 4;
  while (*nlist < 1024 && *nlist * 128 <= items) *nlist *= 2;
  *nbits = items >= 4000 ? 8 : items >= 1000 ? 6 : 4;
}

static furrow_status build_indexes(demo_results *all, furrow_error *err) {
  static const char *const extra[DEMO_INDEXES] = {"", " --refine-flat --k-factor 4"};
  static const char *const names[DEMO_INDEXES] = {"items", "refined"};
  const uint32_t users = all->world.size.users, items = all->world.size.items;
  uint32_t nlist, nbits;
  choose_index(items, &nlist, &nbits);
  all->nprobe = nlist < 16 ? nlist / 2 : nlist / 4;
  demo_heading(&all->runner,
               "Export the FM's item vectors and build two indexes: codes only, and codes with the vectors");
  furrow_status status =
      demo_run(&all->runner, "export item vectors", err,
               "furrow model export fm.model items.fbin --vectors item --cols %u:%u --no-ids%s --force", users,
               users + items, all->runner.threads);
  for (size_t i = 0; i < DEMO_INDEXES && status == FURROW_OK; i++) {
    status = demo_run(
        &all->runner, i ? "build the refined index" : "build the index", err,
        "furrow index build --base items.fbin --out %s.index --metric ip --nlist %u --m 4 --nbits %u%s%s --force",
        names[i], nlist, nbits, extra[i], all->runner.threads);
    if (status == FURROW_OK)
      status = demo_run(&all->runner, i ? "describe the refined index" : "describe the index", err,
                        "furrow index info %s.index --json > %s.info.json", names[i], names[i]);
    if (status == FURROW_OK) status = demo_load_index(&all->indexes[i], err);
  }
  if (status == FURROW_OK)
    status = demo_run(&all->runner, "map the file", err, "furrow index map items.index --json > items.map.json");
  if (status == FURROW_OK) status = demo_load_fields(all, "items.index", err);
  return status;
}

static void list_probes(const demo_results *all, char *text, size_t size) {
  const uint32_t nlist = (uint32_t)all->indexes[0].nlist;
  size_t used = 0;
  for (uint32_t probe = 1; probe <= nlist && used < size; probe *= 2)
    used += (size_t)snprintf(text + used, size - used, "%s%u", probe > 1 ? "," : "", probe);
}

static furrow_status search_indexes(demo_results *all, furrow_error *err) {
  static const char *const names[DEMO_INDEXES] = {"items", "refined"};
  char probes[96], file[64];
  list_probes(all, probes, sizeof probes);
  demo_heading(&all->runner, "Export user vectors and find the ten items with the largest inner product for each");
  furrow_status status =
      demo_run(&all->runner, "export queries", err,
               "furrow model export fm.model queries.fbin --vectors query --data queries.libsvm --no-ids%s --force",
               all->runner.threads);
  for (size_t i = 0; i < DEMO_INDEXES && status == FURROW_OK; i++)
    status = demo_run(&all->runner, i ? "search the refined index" : "search the index", err,
                      "furrow index search %s.index queries.fbin -k %d --nprobe %u --out-ids %s.ids.ibin --out-dist "
                      "%s.near.fbin%s --force",
                      names[i], DEMO_NEAR, all->nprobe, names[i], names[i], all->runner.threads);
  demo_heading(&all->runner, "Measure recall and speed for several numbers of probed lists");
  for (size_t i = 0; i < DEMO_INDEXES && status == FURROW_OK; i++) {
    status = demo_run(&all->runner, i ? "measure the refined index" : "measure the index", err,
                      "furrow index recall %s.index queries.fbin --base items.fbin -k %d --nprobe %s%s > %s.recall.txt",
                      names[i], DEMO_NEAR, probes, all->runner.threads, names[i]);
    snprintf(file, sizeof file, "%s.recall.txt", names[i]);
    if (status == FURROW_OK) status = demo_load_curve(&all->indexes[i], file, err);
  }
  return status;
}

/* ---- The index against the model ---- */

static furrow_status score_candidates(demo_results *all, furrow_error *err) {
  const double began = now_seconds();
  demo_heading(&all->runner, "Score every item for some of these users, without an index");
  furrow_status status = demo_write_candidates(&all->world, all->compared_users, "candidates.libsvm", err);
  if (status != FURROW_OK) return status;
  demo_did(&all->runner, "generate the candidates", began,
           "generated candidates.libsvm (%u users with each of the %u items)", all->compared_users,
           all->world.size.items);
  for (size_t i = 0; i < DEMO_MODELS && status == FURROW_OK; i++)
    status = demo_run(&all->runner, i ? "score with DeepFM" : "score with FM", err,
                      "furrow predict --model %s.model --data candidates.libsvm --scores %s.scores.f32%s --force",
                      all->models[i].name, all->models[i].name, all->runner.threads);
  return status;
}

static furrow_status compare(demo_results *all, const demo_scores scores[DEMO_MODELS], demo_found found[DEMO_INDEXES],
                             furrow_error *err) {
  static const char *const files[DEMO_INDEXES][2] = {{"items.ids.ibin", "items.near.fbin"},
                                                     {"refined.ids.ibin", "refined.near.fbin"}};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < DEMO_INDEXES && status == FURROW_OK; i++) {
    status = demo_found_load(&found[i], all->compared_users, files[i][0], files[i][1], err);
    if (status == FURROW_OK) all->indexes[i].overlap = demo_overlap(&scores[0], &found[i]);
  }
  all->agreement = demo_agreement(&scores[1], &scores[0]);
  if (status == FURROW_OK)
    status = demo_examples_make(all->examples, &all->world, "fm.model", "train.libsvm", &scores[0], &found[0], err);
  if (status == FURROW_OK) status = demo_plane_make(&all->plane, "items.fbin", err);
  return status;
}

/* The score of a found item equals the sum of its parts up to rounding; returns the largest difference. */
static double largest_gap(const demo_results *all) {
  double gap = 0;
  for (size_t e = 0; e < DEMO_EXAMPLES; e++) {
    const demo_example *example = &all->examples[e];
    for (size_t i = 0; i < DEMO_SHOWN; i++) {
      const demo_hit *hit = &example->hits[i];
      const double parts = example->query_part + hit->user_item + hit->context_item + hit->item_own;
      gap = fmax(gap, fabs(parts - hit->exact));
    }
  }
  return gap;
}

static furrow_status evaluate_indexes(demo_results *all, furrow_error *err) {
  demo_scores scores[DEMO_MODELS] = {0};
  demo_found found[DEMO_INDEXES] = {0};
  furrow_status status = score_candidates(all, err);
  if (status == FURROW_OK)
    status = demo_scores_load(&scores[0], &all->world, all->compared_users, "fm.scores.f32", err);
  if (status == FURROW_OK)
    status = demo_scores_load(&scores[1], &all->world, all->compared_users, "deepfm.scores.f32", err);
  if (status == FURROW_OK) status = compare(all, scores, found, err);
  if (status == FURROW_OK) all->largest_gap = largest_gap(all);
  for (size_t i = 0; i < 2; i++) demo_scores_clear(&scores[i]), demo_found_clear(&found[i]);
  return status;
}

/* ---- All of it ---- */

/* Number of users that are scored with every item, in at most two million rows. */
static uint32_t count_compared(uint32_t items) {
  const uint32_t many = 2000000 / items;
  return many > 100 ? 100 : many < DEMO_EXAMPLES ? DEMO_EXAMPLES : many;
}

static void start_results(demo_results *all, const demo_values *values, output *out) {
  *all = (demo_results){.runner = {.out = out, .show = !values->quiet && !values->json},
                        .models = {{.name = "fm", .title = "FM"}, {.name = "deepfm", .title = "DeepFM"}},
                        .indexes = {{.name = "items.index", .title = "codes"},
                                    {.name = "refined.index", .title = "codes, then vectors of the best"}},
                        .queries = 1000,
                        .compared_users = count_compared((uint32_t)values->items)};
  if (values->threads > 0)
    snprintf(all->runner.threads, sizeof all->runner.threads, " --threads %" PRIu32, values->threads);
}

static void clear_results(demo_results *all) {
  free(all->fields);
  demo_plane_clear(&all->plane);
  demo_world_clear(&all->world);
}

static furrow_status walk(demo_results *all, const demo_values *values, furrow_error *err) {
  const double began = now_seconds();
  furrow_status status = make_data(all, err);
  if (status == FURROW_OK) status = train_models(all, err);
  if (status == FURROW_OK) status = evaluate_models(all, values->threads, err);
  if (status == FURROW_OK) status = build_indexes(all, err);
  if (status == FURROW_OK) status = search_indexes(all, err);
  if (status == FURROW_OK) status = evaluate_indexes(all, err);
  if (!values->keep) demo_folder_trim();
  all->seconds = now_seconds() - began;
  return status;
}

/* Prints the cd command; quotes a name with special characters. */
static void print_folder(const char *folder, output *out) {
  const bool plain =
      strspn(folder, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/") == strlen(folder);
  output_format(out, plain ? "$ cd %s\n" : "$ cd '%s'\n", folder);
}

static furrow_status run_demo(const void *values, output *out, furrow_error *err) {
  const demo_values *demo = values;
  const demo_size size = {
      .rows = (uint64_t)demo->rows, .users = (uint32_t)demo->users, .items = (uint32_t)demo->items, .seed = demo->seed};
  demo_results all;
  start_results(&all, demo, out);
  furrow_status status = check_values(demo, err);
  if (status == FURROW_OK) status = demo_folder_enter(demo->out, demo->force, err);
  interrupt_catch();
  if (status == FURROW_OK) status = demo_world_make(&all.world, &size, err);
  if (status == FURROW_OK && all.runner.show) print_folder(demo->out, out);
  if (status == FURROW_OK) status = walk(&all, demo, err);
  if (status == FURROW_OK) demo_folder_list(&all);
  if (status == FURROW_OK) status = demo_page_write(&all, "report.html", err);
  if (status == FURROW_OK && all.runner.show) demo_print_results(&all, demo->out);
  if (status == FURROW_OK && demo->json) demo_print_json(&all, demo->out, out);
  clear_results(&all);
  if (status != FURROW_OK && interrupt_came()) status = demo_stopped(err);
  return status;
}

const command demo_command = {
    .name = "demo",
    .summary = "run the whole pipeline on generated data (log, models, vectors, index) and write a report",
    .example = "furrow demo\nfurrow demo --rows 200000 --items 2000 --out small-demo",
    .about = "Generates a click log whose true click probabilities are known and runs every step on it: training, "
             "evaluation, index building, search. It prints each command before it runs it; to repeat one, paste it "
             "into a shell in the folder DIR. The report, DIR/report.html, opens in any browser and needs no network. "
             "All files stay in DIR.",
    .groups = demo_groups,
    .size = sizeof(demo_values),
    .init = demo_init,
    .run = run_demo,
};
