/* cli/demo/demo_print.c: prints the results of the demo as text and as JSON. */
#include <inttypes.h>

#include "core/report.h"
#include "demo/demo_results.h"

void demo_print_truth(const demo_results *all) {
  if (!all->runner.show) return;
  output_format(all->runner.out, "%-22s %10s %10s\n", "test rows", "logloss", "AUC");
  output_format(all->runner.out, "%-22s %10.5f %10s\n", "the click rate", all->truth.rate_logloss, "0.50000");
  for (size_t i = 0; i < DEMO_MODELS; i++)
    output_format(all->runner.out, "%-22s %10.5f %10.5f\n", all->models[i].title, all->models[i].logloss,
                  all->models[i].auc);
  output_format(all->runner.out, "%-22s %10.5f %10.5f\n", "true probabilities", all->truth.logloss, all->truth.auc);
}

static void print_demo_example(const demo_results *all, const demo_example *example, output *out) {
  const demo_entity *user = &all->world.users[example->query.user];
  output_format(out, "\nuser %u (likes %s%s%s; clicked %u of %u), at %u:00 on a %s:\n", example->query.user,
                demo_topic(user->topic), user->second == user->topic ? "" : ", ",
                user->second == user->topic ? "" : demo_topic(user->second), example->clicked, example->shown,
                example->query.hour, demo_device(example->query.device));
  for (size_t i = 0; i < DEMO_SHOWN; i++) {
    const demo_hit *hit = &example->hits[i];
    char title[DEMO_TITLE];
    demo_title(&all->world, hit->item, title);
    output_format(out, "  %-28s %-10s exact %6.3f  index %6.3f  rank %4u  true probability %.2f\n", title,
                  demo_topic(all->world.items[hit->item].topic), hit->exact, hit->by_index, hit->exact_rank,
                  hit->chance);
  }
}

void demo_print_results(demo_results *all, const char *folder) {
  output *out = all->runner.out;
  output_format(out,
                "of the model's 10 best items the index finds %.2f and the refined index %.2f; both probe %u lists\n",
                all->indexes[0].overlap * 10, all->indexes[1].overlap * 10, all->nprobe);
  demo_heading(&all->runner, "Recommendations for some users");
  for (size_t e = 0; e < 2; e++) print_demo_example(all, &all->examples[e], out);
  output_format(out, "\nthe demo took %.1f seconds; open %s/report.html\n", all->seconds, folder);
}

/* ---- JSON ---- */

static void report_models(report *r, const demo_results *all) {
  report_section(r, "test");
  report_u64(r, "rows", all->truth.rows);
  report_f64(r, "click rate", all->truth.click_rate);
  report_f64(r, "rate logloss", all->truth.rate_logloss);
  report_f64(r, "optimal logloss", all->truth.logloss);
  report_f64(r, "optimal auc", all->truth.auc);
  report_end(r);
  report_list(r, "models");
  for (size_t i = 0; i < DEMO_MODELS; i++) {
    report_section(r, NULL);
    report_text(r, "name", all->models[i].name);
    report_f64(r, "logloss", all->models[i].logloss);
    report_f64(r, "auc", all->models[i].auc);
    report_end(r);
  }
  report_end(r);
}

static void report_indexes(report *r, const demo_results *all) {
  report_list(r, "indexes");
  for (size_t i = 0; i < DEMO_INDEXES; i++) {
    report_section(r, NULL);
    report_text(r, "name", all->indexes[i].name);
    report_f64(r, "bytes", all->indexes[i].bytes);
    report_u64(r, "nprobe", all->nprobe);
    report_f64(r, "overlap at 10", all->indexes[i].overlap);
    report_end(r);
  }
  report_end(r);
  report_u64(r, "users compared", all->compared_users);
  report_f64(r, "agreement of models at 10", all->agreement);
  report_f64(r, "largest gap of parts", all->largest_gap);
}

static void report_steps(report *r, const demo_results *all) {
  report_list(r, "steps");
  for (size_t i = 0; i < all->runner.count; i++) {
    const demo_step *step = &all->runner.steps[i];
    report_section(r, NULL);
    report_text(r, "title", step->title);
    if (step->command) report_text(r, "command", step->line);
    report_f64(r, "seconds", step->seconds);
    report_f64(r, "cpu seconds", step->cpu_seconds);
    report_u64(r, "memory", step->memory);
    report_end(r);
  }
  report_end(r);
  report_list(r, "files");
  for (size_t i = 0; i < all->file_count; i++) {
    report_section(r, NULL);
    report_text(r, "name", all->files[i].name);
    report_u64(r, "bytes", all->files[i].bytes);
    report_end(r);
  }
  report_end(r);
}

void demo_print_json(const demo_results *all, const char *folder, output *out) {
  report r;
  report_start(&r, out, true);
  report_text(&r, "folder", folder);
  report_u64(&r, "rows", all->world.size.rows);
  report_u64(&r, "users", all->world.size.users);
  report_u64(&r, "items", all->world.size.items);
  report_u64(&r, "seed", all->world.size.seed);
  report_models(&r, all);
  report_indexes(&r, all);
  report_steps(&r, all);
  report_f64(&r, "seconds", all->seconds);
  report_finish(&r);
}
