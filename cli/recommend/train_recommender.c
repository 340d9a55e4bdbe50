/* cli/recommend/train_recommender.c: furrow train --model recommender: fits a recommender to a log. */
#include "recommend/train_recommender.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/report.h"
#include "core/shown_text.h"
#include "furrow/recommend.h"

static const char *describe(const char *candidate) {
  static const struct {
    const char *name, *text;
  } texts[] = {{"popular", "the most popular items"},
               {"own-history", "what the user took most often"},
               {"user-features", "popular where users have the same features"},
               {"item-item", "items by the user's items"},
               {"item-item-recent", "the same, tuned (recency, ratings, order)"},
               {"factors", "vectors of users and items"},
               {"blend", "item-item weights and vectors"},
               {"features", "the best of these, with features of items"}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strcmp(texts[i].name, candidate) == 0) return texts[i].text;
  return candidate;
}

static const char *chosen_name(const furrow_recommender_figures *figures) {
  for (size_t i = 0; i < figures->candidate_count; i++)
    if (figures->candidates[i].chosen) return figures->candidates[i].name;
  return "popular";
}

static void print_table(const furrow_recommender_figures *figures, output *out) {
  output_format(out, "%-42s %9s %20s\n", "recommends", "NDCG", "more than popular");
  for (size_t i = 0; i < figures->candidate_count; i++) {
    const furrow_recommender_candidate *c = &figures->candidates[i];
    char gain[48] = "";
    if (i > 0) snprintf(gain, sizeof gain, "%+.4f ± %.4f", c->gain, c->gain_error);
    output_format(out, "%-42s %9.4f %20s%s\n", describe(c->name), c->ndcg, gain, c->chosen ? "  chosen" : "");
  }
  if (figures->user_features && strcmp(chosen_name(figures), "user-features") != 0)
    output_text(out, "(the chosen one includes what is popular among users with the same features)\n");
  output_format(out,
                "(NDCG of %zu items on held-out events of %" PRIu64
                " users: the last fifth of each user's, or a random fifth "
                "without times)\n\n",
                figures->k, figures->users);
}

static void report_candidates(report *r, const furrow_recommender_figures *figures) {
  report_list(r, "candidates");
  for (size_t i = 0; i < figures->candidate_count; i++) {
    const furrow_recommender_candidate *c = &figures->candidates[i];
    report_section(r, NULL);
    report_text(r, "name", c->name);
    report_f64(r, "ndcg", c->ndcg);
    report_f64(r, "gain", c->gain);
    report_f64(r, "gain error", c->gain_error);
    report_bool(r, "chosen", c->chosen);
    report_end(r);
  }
  report_end(r);
}

static void print_warnings(const furrow_recommender_figures *figures) {
  if (figures->users == 0)
    say("furrow: warning: no user has two events, so nothing could be compared: the most popular items are "
        "recommended\n");
  else if (figures->users < 100)
    say("furrow: note: only %" PRIu64 " %s events that could be held out, so the choice is uncertain\n", figures->users,
        figures->users == 1 ? "user has" : "users have");
  if (figures->repeats >= 0.1)
    say("furrow: note: %.0f %% of the last events repeat an item that the user had taken before, so such items are "
        "recommended, too (leave them out with recommend --exclude LOG)\n",
        100 * figures->repeats);
}

/* Whether a column of the schema has the role `what`, or is a `what`. */
static bool has_column(const furrow_schema *schema, const char *what) {
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    if (strcmp(column.role, what) == 0 || strcmp(column.as, what) == 0) return true;
  }
  return false;
}

/* What the log lacks. */
static void print_lacks(const furrow_recommender *recommender, const furrow_recommender_figures *figures) {
  const furrow_schema *schema = furrow_encoder_schema(furrow_recommender_encoder(recommender));
  if (furrow_recommender_user_count(recommender) == 1)
    say("furrow: warning: the log has one user: recommendations come from what several users took\n");
  if (furrow_recommender_item_count(recommender) == 1)
    say("furrow: warning: the log has one item: there is nothing to choose from\n");
  if (figures->nameless > 0)
    say("furrow: warning: %" PRIu64 " rows of the log do not count: their user or item is empty, or too rare\n",
        figures->nameless);
  if (figures->copies > figures->events / 10)
    say("furrow: warning: %.0f %% of the events have the user, item and time of another event: if the log has rows "
        "twice, "
        "remove the copies, which count as repeat purchases\n",
        100.0 * (double)figures->copies / (double)figures->events);
  if (figures->one_label && has_column(schema, "label"))
    say("furrow: warning: all events have the same label, so it does not say what users wanted: all events count\n");
  if (!has_column(schema, "time"))
    say("furrow: note: no column has the times of events, so recent events count as much as early ones (--time COL "
        "names it)\n");
}

static void tell(const recommender_training *t, const furrow_recommender *recommender, output *out) {
  furrow_recommender_figures figures;
  report r;
  furrow_recommender_figures_init(&figures);
  furrow_recommender_get_figures(recommender, &figures);
  if (!t->quiet) print_lacks(recommender, &figures);
  if (!t->quiet) print_warnings(&figures);
  if (t->quiet && !t->json) return;
  if (!t->json && figures.candidate_count > 0) print_table(&figures, out);
  report_start(&r, out, t->json);
  report_text(&r, "model", t->out);
  report_text(&r, "chosen", chosen_name(&figures));
  report_u64(&r, "users", furrow_recommender_user_count(recommender));
  report_u64(&r, "items", furrow_recommender_item_count(recommender));
  if (t->json) report_u64(&r, "compared users", figures.users);
  if (t->json) report_u64(&r, "k", figures.k);
  if (t->json) report_f64(&r, "repeats", figures.repeats);
  if (t->json) report_bool(&r, "user features", figures.user_features);
  if (t->json) report_candidates(&r, &figures);
  report_finish(&r);
}

static furrow_status fit_recommender(furrow_recommender **recommender, const recommender_training *t,
                                     furrow_encoder *encoder, furrow_error *err) {
  furrow_recommender_fit_params params;
  job j;
  furrow_recommender_fit_params_init(&params);
  params.threads = t->threads;
  params.on_bad = t->on_bad;
  params.progress = job_progress;
  params.progress_user = &j;
  job_start(&j, "choosing", t->quiet);
  furrow_status status = furrow_recommender_fit(recommender, t->log, encoder, &params, err);
  job_stop(&j);
  return status == FURROW_E_CANCELLED ? interrupt_check(err) : status;
}

furrow_status train_recommender(const recommender_training *t, output *out, furrow_error *err) {
  const encoder_reading reading = {.threads = t->threads, .on_bad = t->on_bad, .quiet = t->quiet, .table_items = true};
  furrow_encoder *encoder = NULL;
  furrow_recommender *recommender = NULL;
  furrow_status status = job_check_out(t->out, t->force, err);
  if (status == FURROW_OK)
    status = make_encoder(&encoder, t->log, t->schema ? t->schema : "auto", t->columns, &reading, err);
  if (status == FURROW_OK) status = fit_recommender(&recommender, t, encoder, err);
  if (recommender) encoder = NULL; /* the recommender owns it */
  if (status == FURROW_OK) status = furrow_recommender_save(recommender, t->out, t->force, err);
  job_hint(status, t->force, NULL, err);
  if (status == FURROW_OK) tell(t, recommender, out);
  furrow_recommender_free(recommender);
  furrow_encoder_free(encoder);
  return status;
}
