/* cli/demo/demo_print.c: prints the results of the demo as text and as JSON. */
#include <inttypes.h>

#include "core/report.h"
#include "demo/demo_results.h"

void demo_print_quality(const demo_results *all) {
  output *out = all->runner.out;
  if (!all->runner.show) return;
  output_format(out, "%-22s %10s %10s %10s\n", "test", "logloss", "AUC", "NDCG@10");
  output_format(out, "%-22s %10.5f %10s %10s\n", "the click rate", all->truth.rate_logloss, "0.50000", "-");
  output_format(out, "%-22s %10s %10s %10.5f\n", "the most popular items", "-", "-", all->popular);
  output_format(out, "%-22s %10s %10s %10.5f\n", "recommender", "-", "-", all->recommender.ndcg);
  for (size_t i = 0; i < DEMO_MODELS; i++)
    output_format(out, "%-22s %10.5f %10.5f %10.5f\n", all->models[i].title, all->models[i].logloss, all->models[i].auc,
                  all->models[i].ranking.ndcg);
  output_format(out, "%-22s %10.5f %10.5f %10s\n", "true probabilities", all->truth.logloss, all->truth.auc, "-");
}

static const char *outcome_of(const demo_hit *hit) {
  return hit->clicked ? "clicked later" : hit->shown ? "shown later" : "";
}

static void print_demo_example(const demo_results *all, const demo_example *example, output *out) {
  const demo_world *world = &all->world;
  char name[DEMO_NAME], title[DEMO_TITLE];
  demo_user_name(example->query.user, name);
  output_format(out, "\n%s clicked on %u of %u items, at last on\n", name, example->clicked, example->shown);
  for (uint32_t i = 0; i < example->past_count && i < 3; i++) {
    demo_title(world, example->past[i], title);
    output_format(out, "  %-32s %s\n", title, demo_category(world->items[example->past[i]].category));
  }
  output_text(out, "and gets\n");
  for (size_t i = 0; i < DEMO_SHOWN && example->hits[i].item < world->size.items; i++) {
    const demo_hit *hit = &example->hits[i];
    demo_title(world, hit->item, title);
    output_format(out, "  %-32s %-10s true probability %.2f  %s\n", title,
                  demo_category(world->items[hit->item].category), hit->chance, outcome_of(hit));
    for (size_t r = 0; r < hit->reason_count; r++) {
      demo_title(world, hit->reasons[r], title);
      output_format(out, "%s%s%s", r ? ", " : "    because of ", title, r + 1 < hit->reason_count ? "" : "\n");
    }
  }
}

void demo_print_results(demo_results *all, const char *folder) {
  output *out = all->runner.out;
  output_format(out, "of the 10 best items the index finds %.2f and the refined index %.2f; both probe %u lists\n",
                10 * demo_recall(all, 0), 10 * demo_recall(all, 1), all->nprobe);
  demo_heading(&all->runner, "What two users clicked on, and what they get");
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
  report_u64(r, "users", all->models[0].ranking.users);
  report_f64(r, "ndcg of most popular", all->popular);
  report_end(r);
  report_section(r, "recommender");
  report_f64(r, "ndcg", all->recommender.ndcg);
  report_f64(r, "recall", all->recommender.recall);
  report_f64(r, "hit", all->recommender.hit);
  report_f64(r, "coverage", all->recommender.coverage);
  report_end(r);
  report_list(r, "models");
  for (size_t i = 0; i < DEMO_MODELS; i++) {
    report_section(r, NULL);
    report_text(r, "name", all->models[i].name);
    report_f64(r, "logloss", all->models[i].logloss);
    report_f64(r, "auc", all->models[i].auc);
    report_f64(r, "ndcg", all->models[i].ranking.ndcg);
    report_f64(r, "recall", all->models[i].ranking.recall);
    report_f64(r, "hit", all->models[i].ranking.hit);
    report_f64(r, "coverage", all->models[i].ranking.coverage);
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
    report_f64(r, "recall at 10", demo_recall(all, i));
    report_end(r);
  }
  report_end(r);
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
