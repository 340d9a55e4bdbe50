/* cli/demo/cmd_demo.c: furrow demo: the whole pipeline from a raw log with names to recommendations, on generated data.
 */
#include <inttypes.h>
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
  bool force, quiet, json;
} demo_values;

#define AT(field) offsetof(demo_values, field)
static const option demo_options[] = {
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help = "folder for all files (furrow-demo); the files of an earlier demo are replaced",
     .offset = AT(out)},
    {.name = "rows", .kind = OPTION_COUNT64, .argument = "N", .help = "events in the log (300000)", .offset = AT(rows)},
    {.name = "users", .kind = OPTION_COUNT32, .argument = "N", .help = "users (2000)", .offset = AT(users)},
    {.name = "items", .kind = OPTION_COUNT32, .argument = "N", .help = "items (1000)", .offset = AT(items)},
    {.name = "seed", .kind = OPTION_U64, .argument = "S", .help = "seed of the generated data (1)", .offset = AT(seed)},
    {.name = "threads",
     .kind = OPTION_THREADS,
     .argument = "T",
     .help = "threads of each command (0: one for each processor); the number does not change the models",
     .offset = AT(threads)},
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
  *(demo_values *)values = (demo_values){.rows = 300000, .users = 2000, .items = 1000, .seed = 1, .out = "furrow-demo"};
}

static furrow_status check_values(const demo_values *values, furrow_error *err) {
  if (values->rows < 1000) return fail(err, FURROW_E_ARGUMENT, "--rows must be at least 1000");
  if (values->rows > 100000000) return fail(err, FURROW_E_ARGUMENT, "--rows must be at most 100000000");
  if (values->users < 20 || values->users > values->rows / 20)
    return fail(err, FURROW_E_ARGUMENT, "--users must be from 20 to a twentieth of --rows");
  if (values->items < 100 || values->items > 1000000)
    return fail(err, FURROW_E_ARGUMENT, "--items must be from 100 to 1000000");
  return FURROW_OK;
}

/* ---- Data ---- */

static furrow_status make_data(demo_results *all, furrow_error *err) {
  const double began = now_seconds();
  demo_heading(&all->runner,
               "Generate the log of a shop whose click probabilities are known, and a table of its items");
  furrow_status status = demo_write_log(&all->world, "log.csv", err);
  if (status == FURROW_OK) status = demo_write_items(&all->world, "items.csv", err);
  if (status != FURROW_OK) return status;
  demo_did(&all->runner, "generate the log", began, "generated log.csv (%" PRIu64 " events), items.csv (%u items)",
           all->world.size.rows, all->world.size.items);
  demo_heading(&all->runner, "Look at the log: what is each column?");
  status =
      demo_run(&all->runner, "look at the log", err,
               "furrow rows schema log.csv --table items.csv=item --out schema.json%s --force", all->runner.threads);
  if (status == FURROW_OK) status = furrow_schema_load(&all->schema, "schema.json", err);
  demo_heading(&all->runner, "Keep the last fifth of each user's events for the test");
  if (status == FURROW_OK)
    status = demo_run(&all->runner, "split the log", err,
                      "furrow rows split log.csv --user user --time time --last 0.2 --out ./%s --force",
                      all->runner.threads);
  if (status == FURROW_OK) status = demo_log_read(&all->train, &all->world, "train.csv", err);
  if (status == FURROW_OK) status = demo_log_read(&all->test, &all->world, "test.csv", err);
  return status;
}

/* ---- Models ---- */

static furrow_status train_recommender_of(demo_results *all, furrow_error *err) {
  demo_heading(&all->runner, "Find the best recommender for the log: it compares several on each user's last events");
  return demo_run(
      &all->runner, "train the recommender", err,
      "furrow train --model recommender --train train.csv --schema schema.json --out shop.model%s --force%s",
      all->runner.threads, all->runner.show ? "" : " -q");
}

static furrow_status train_models(demo_results *all, furrow_error *err) {
  static const char *const options[DEMO_MODELS] = {"--rank 15 --l2 1e-3", "--rank 15 --fc 32,16 --l2 1e-3"};
  static const char *const titles[DEMO_MODELS] = {"train FM", "train DeepFM"};
  furrow_status status = FURROW_OK;
  demo_heading(&all->runner,
               "Train models of clicks: a factorization machine (FM), and one with a net on top (DeepFM)");
  for (size_t i = 0; i < DEMO_MODELS && status == FURROW_OK; i++) {
    const char *name = all->models[i].name;
    status = demo_run(&all->runner, titles[i], err,
                      "furrow train --model %s %s --train train.csv --schema schema.json --out %s.model "
                      "--history %s.history.csv --curve %s.curve.svg%s --force",
                      name, options[i], name, name, name, all->runner.threads);
  }
  return status;
}

#define RANK_LINE                                                                                            \
  "furrow eval --model %s.model --data test.csv --rank --relevant-from 1 --exclude train.csv%s --json -q > " \
  "%s.rank.json"

static furrow_status evaluate_recommender(demo_results *all, uint32_t threads, furrow_error *err) {
  const furrow_status status =
      demo_run(&all->runner, "rank with the recommender", err, RANK_LINE, "shop", all->runner.threads, "shop");
  return status == FURROW_OK ? demo_score_ranking(&all->recommender, "shop.model", threads, err) : status;
}

static furrow_status load_model(demo_model *model, uint32_t threads, furrow_error *err) {
  char folder[64], history[64];
  snprintf(folder, sizeof folder, "%s.model", model->name);
  snprintf(history, sizeof history, "%s.history.csv", model->name);
  furrow_status status = demo_load_history(model, history, err);
  if (status == FURROW_OK) status = demo_load_quality(model, folder, "test.csv", threads, err);
  if (status == FURROW_OK) status = demo_score_ranking(&model->ranking, folder, threads, err);
  if (status == FURROW_OK) status = demo_load_matrices(model, folder, threads, err);
  return status;
}

static furrow_status evaluate_models(demo_results *all, uint32_t threads, furrow_error *err) {
  furrow_status status = FURROW_OK;
  demo_heading(&all->runner,
               "Evaluate all three on the test rows: ten recommended items for each user, and predicted clicks");
  status = evaluate_recommender(all, threads, err);
  for (size_t i = 0; i < DEMO_MODELS && status == FURROW_OK; i++) {
    const char *name = all->models[i].name;
    status = demo_run(&all->runner, i ? "evaluate DeepFM" : "evaluate FM", err,
                      "furrow eval --model %s.model --data test.csv%s --json > %s.eval.json", name, all->runner.threads,
                      name);
    if (status == FURROW_OK)
      status = demo_run(&all->runner, i ? "rank with DeepFM" : "rank with FM", err, RANK_LINE, name,
                        all->runner.threads, name);
    if (status == FURROW_OK)
      status = demo_run(&all->runner, i ? "describe DeepFM" : "describe FM", err,
                        "furrow model info %s.model%s --json > %s.info.json", name, all->runner.threads, name);
    if (status == FURROW_OK) status = load_model(&all->models[i], threads, err);
  }
  if (status == FURROW_OK) status = demo_score_truth(&all->world, &all->test, &all->truth, err);
  if (status == FURROW_OK) status = demo_score_popular(&all->world, &all->train, &all->test, &all->popular, err);
  if (status == FURROW_OK) demo_print_quality(all);
  return status;
}

/* ---- Recommendations ---- */

static furrow_status recommend(demo_results *all, furrow_error *err) {
  const demo_event one = demo_query(&all->world, 0), two = demo_query(&all->world, 1);
  char first[DEMO_NAME], second[DEMO_NAME], item[DEMO_NAME];
  demo_item_name(all->train.events[0].item, item);
  demo_user_name(one.user, first);
  demo_user_name(two.user, second);
  demo_heading(&all->runner, "Recommend items that a user has not seen: to two users, with reasons, and to all users");
  furrow_status status = demo_run(&all->runner, "recommend to two users", err,
                                  "furrow recommend --model shop.model --users %s,%s --exclude train.csv --items "
                                  "items.csv --name title --explain %d -k %d%s -q",
                                  first, second, DEMO_REASONS, DEMO_SHOWN, all->runner.threads);
  if (status == FURROW_OK)
    status = demo_run(&all->runner, "recommend to all users", err,
                      "furrow recommend --model shop.model --exclude train.csv --items items.csv --name title --csv "
                      "--out recommended.csv%s --force -q",
                      all->runner.threads);
  demo_heading(&all->runner, "Find the items that are most similar to one, by the FM's vectors");
  if (status == FURROW_OK)
    status = demo_run(&all->runner, "find similar items", err,
                      "furrow recommend --model fm.model --like %s --items items.csv --name title -k %d%s -q", item,
                      DEMO_SHOWN, all->runner.threads);
  if (status == FURROW_OK)
    status = demo_examples_make(all->examples, &all->world, "shop.model", &all->train, &all->test, err);
  if (status == FURROW_OK) status = demo_likes_make(all->likes, &all->world, "fm.model", err);
  return status;
}

/* ---- The index ---- */

/* About 60 to 130 items per list, and as many bits per sub-quantizer as the items can train. */
static void choose_index(uint32_t items, uint32_t *nlist, uint32_t *nbits) {
  *nlist = 4;
  while (*nlist < 1024 && *nlist * 128 <= items) *nlist *= 2;
  *nbits = items >= 4000 ? 8 : items >= 1000 ? 6 : 4;
}

static furrow_status export_vectors_of(demo_results *all, furrow_error *err) {
  demo_heading(&all->runner, "Export the FM's vectors of items and users, with their names");
  furrow_status status =
      demo_run(&all->runner, "export item vectors", err,
               "furrow model export fm.model items.fbin --vectors item%s --force", all->runner.threads);
  if (status == FURROW_OK)
    status = demo_run(&all->runner, "export user vectors", err,
                      "furrow model export fm.model users.fbin --vectors query%s --force", all->runner.threads);
  if (status == FURROW_OK)
    status = demo_plane_make(&all->plane, &all->world, "items.fbin", "items.fbin.names.txt", err);
  return status;
}

static furrow_status build_indexes(demo_results *all, furrow_error *err) {
  static const char *const extra[DEMO_INDEXES] = {"", " --refine-flat --k-factor 4"};
  static const char *const names[DEMO_INDEXES] = {"items", "refined"};
  uint32_t nlist, nbits;
  choose_index(all->world.size.items, &nlist, &nbits);
  all->nprobe = nlist < 16 ? nlist / 2 : nlist / 4;
  furrow_status status = export_vectors_of(all, err);
  demo_heading(&all->runner, "Build two indexes of the items: codes only, and codes with the vectors");
  for (size_t i = 0; i < DEMO_INDEXES && status == FURROW_OK; i++) {
    status = demo_run(&all->runner, i ? "build the refined index" : "build the index", err,
                      "furrow index build --base items.fbin --ids items.fbin.names.txt --out %s.index --metric ip "
                      "--nlist %u --m 8 --nbits %u%s%s --force -q",
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
  demo_heading(&all->runner, "Search: the ten items with the largest inner product for each user, by name");
  furrow_status status = demo_run(&all->runner, "search the index", err,
                                  "furrow index search refined.index users.fbin -k %d --nprobe %u%s > nearest.txt",
                                  DEMO_NEAR, all->nprobe, all->runner.threads);
  demo_heading(&all->runner, "Measure recall and speed for several numbers of probed lists");
  for (size_t i = 0; i < DEMO_INDEXES && status == FURROW_OK; i++) {
    status = demo_run(&all->runner, i ? "measure the refined index" : "measure the index", err,
                      "furrow index recall %s.index users.fbin --base items.fbin -k %d --nprobe %s%s -q > "
                      "%s.recall.txt",
                      names[i], DEMO_NEAR, probes, all->runner.threads, names[i]);
    snprintf(file, sizeof file, "%s.recall.txt", names[i]);
    if (status == FURROW_OK) status = demo_load_curve(&all->indexes[i], file, err);
  }
  return status;
}

/* ---- All of it ---- */

static void start_results(demo_results *all, const demo_values *values, output *out) {
  *all = (demo_results){.runner = {.out = out, .show = !values->quiet && !values->json},
                        .models = {{.name = "fm", .title = "FM"}, {.name = "deepfm", .title = "DeepFM"}},
                        .indexes = {{.name = "items.index", .title = "codes"},
                                    {.name = "refined.index", .title = "codes, then vectors of the best"}}};
  if (values->threads > 0)
    snprintf(all->runner.threads, sizeof all->runner.threads, " --threads %" PRIu32, values->threads);
}

static void clear_results(demo_results *all) {
  free(all->fields);
  furrow_schema_free(all->schema);
  demo_log_clear(&all->train);
  demo_log_clear(&all->test);
  demo_plane_clear(&all->plane);
  demo_world_clear(&all->world);
}

static furrow_status walk(demo_results *all, const demo_values *values, furrow_error *err) {
  const double began = now_seconds();
  furrow_status status = make_data(all, err);
  if (status == FURROW_OK) status = train_recommender_of(all, err);
  if (status == FURROW_OK) status = train_models(all, err);
  if (status == FURROW_OK) status = evaluate_models(all, values->threads, err);
  if (status == FURROW_OK) status = recommend(all, err);
  if (status == FURROW_OK) status = build_indexes(all, err);
  if (status == FURROW_OK) status = search_indexes(all, err);
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
    .summary = "run the whole pipeline on a generated log and write a report",
    .example = "furrow demo\nfurrow demo --rows 60000 --users 400 --items 300 --out small-demo",
    .about = "Generates the log of a shop, with names of users and items and with known click probabilities, and runs "
             "every step on it: schema, split, training, evaluation, recommendations, index building, search. It "
             "prints each command before it runs it; to repeat one, paste it into a shell in the folder DIR. The "
             "report, DIR/report.html, opens in any browser and needs no network. All files stay in DIR.",
    .groups = demo_groups,
    .size = sizeof(demo_values),
    .init = demo_init,
    .run = run_demo,
};
