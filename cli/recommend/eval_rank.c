/* cli/recommend/eval_rank.c: furrow eval --rank: how good the recommendations of a model are. */
#include "recommend/eval_rank.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "core/fail.h"
#include "core/report.h"
#include "core/shown_text.h"

#define AT(field) offsetof(ranking_values, field)
const option ranking_options[] = {
    {.name = "rank",
     .kind = OPTION_FLAG,
     .help = "measure the recommendations for the users of the log",
     .offset = AT(on)},
    {.name = "relevant-from",
     .kind = OPTION_TEXT,
     .argument = "X",
     .help = "events are relevant if their label is at least X (the label of the positive class; without two classes: "
             "all events)",
     .offset = AT(from)},
    {0}};
#undef AT

bool ranking_values_given(const ranking_values *values) {
  const finding_values *f = &values->finding;
  return values->from || f->k || f->exclude || f->items || f->only || f->without || f->where.count > 0 ||
         f->context.count > 0 || f->exact || f->candidates || f->recall != 0;
}

static void report_figure(report *r, const char *name, const furrow_rank_figure *figure) {
  if (r->json)
    report_f64(r, name, figure->mean);
  else
    report_line(r, name, "%.6f +- %.6f", figure->mean, figure->interval);
}

/* Reports the figures of simpler recommendations, and the model's gain over them. */
static void report_baseline(report *r, const char *name, const furrow_rank_figure *ndcg, double gain,
                            double gain_error) {
  char key[64];
  if (!r->json) {
    report_line(r, name, "%.6f (the model: %+.6f, standard error %.6f)", ndcg->mean, gain, gain_error);
    return;
  }
  report_f64(r, name, ndcg->mean);
  snprintf(key, sizeof key, "gain over %s", name);
  report_f64(r, key, gain);
  snprintf(key, sizeof key, "gain error over %s", name);
  report_f64(r, key, gain_error);
}

/* from -infinity: all. */
static void report_from(report *r, double from) {
  if (!r->json && !isfinite(from))
    report_text(r, "relevant from", "all events");
  else if (isfinite(from))
    report_f64(r, "relevant from", from);
  else
    report_none(r, "relevant from");
}

static void report_figures(output *out, bool json, const furrow_rank_figures *f, const furrow_events_info *events,
                           double from) {
  const struct {
    const char *name;
    const furrow_rank_figure *figure;
  } figures[] = {{"ndcg", &f->ndcg}, {"recall", &f->recall}, {"map", &f->map}, {"mrr", &f->mrr}, {"hit", &f->hit}};
  enum { FIGURES = sizeof figures / sizeof *figures };
  report r;
  report_start(&r, out, json);
  report_u64(&r, "users", f->users);
  report_u64(&r, "k", f->k);
  for (size_t i = 0; i < FIGURES; i++) report_figure(&r, figures[i].name, figures[i].figure);
  report_f64(&r, "coverage", f->coverage);
  report_baseline(&r, "popular ndcg", &f->popular_ndcg, f->popular_gain, f->popular_gain_error);
  if (!isnan(f->own_gain)) report_baseline(&r, "own history ndcg", &f->own_ndcg, f->own_gain, f->own_gain_error);
  report_from(&r, from);
  report_u64(&r, "relevant items", f->relevant);
  report_u64(&r, "unknown items", f->unknown);
  report_u64(&r, "unknown user events", events->unknown_users);
  if (json) {
    report_section(&r, "intervals");
    for (size_t i = 0; i < FIGURES; i++) report_f64(&r, figures[i].name, figures[i].figure->interval);
    report_end(&r);
  }
  report_finish(&r);
}

static void print_notes(const ranking_values *values, const furrow_rank_figures *f, const furrow_events_info *events,
                        bool of_log) {
  if (!values->finding.exclude && !of_log)
    say("furrow: note: items that users have already seen were not left out (--exclude LOG)\n");
  if (f->popular_gain < -f->popular_gain_error)
    say("furrow: warning: the model ranks worse than the most popular items: NDCG %.4f, popular %.4f%s\n", f->ndcg.mean,
        f->popular_ndcg.mean, of_log ? "" : "; furrow train --model recommender finds a better one");
  if (f->unknown > 0)
    say("furrow: note: %" PRIu64 " of %" PRIu64
        " relevant items are not known to the model: they count, but cannot be found\n",
        f->unknown, f->relevant);
  if (events->unknown_users > 0)
    say("furrow: note: left out %" PRIu64 " %s of users that the model does not know\n", events->unknown_users,
        events->unknown_users == 1 ? "event" : "events");
  if (events->bad > 0) say("furrow: note: skipped %" PRIu64 " bad rows\n", events->bad);
}

static furrow_status events_params(const ranking_values *values, const ranking_source *source,
                                   furrow_events_params *params, furrow_error *err) {
  furrow_events_params_init(params);
  params->threads = source->threads;
  params->on_bad = source->on_bad;
  if (values->from && !read_real(values->from, &params->from))
    return fail_token(err, values->from, "--relevant-from needs a number");
  return FURROW_OK;
}

/* Relevant events have the label of the positive class; if there is no such class or the log has no labels, all events
 * are relevant. */
static furrow_status load_truth(furrow_events **truth, const recommend_job *job, const ranking_values *values,
                                const ranking_source *source, furrow_events_params *params, furrow_error *err) {
  furrow_recommender_info info;
  furrow_recommender_info_init(&info);
  furrow_recommender_get_info(job->recommender, &info);
  const bool own = !values->from && isfinite(info.positive);
  if (own) params->from = info.positive;
  const furrow_status status = furrow_events_load(truth, job->recommender, source->data, params, err);
  if (status != FURROW_E_FORMAT || !own) return status;
  params->from = -HUGE_VAL;
  return furrow_events_load(truth, job->recommender, source->data, params, err);
}

furrow_status eval_ranking_run(const ranking_values *values, const ranking_source *source, bool json, output *out,
                               furrow_error *err) {
  recommend_job job = {0};
  furrow_events *truth = NULL;
  furrow_events_params params;
  furrow_events_info events;
  furrow_rank_figures figures;
  furrow_events_info_init(&events);
  furrow_rank_figures_init(&figures);
  if (values->finding.items && values->finding.where.count == 0)
    return fail(err, FURROW_E_ARGUMENT, "--items needs --where");
  furrow_status status = events_params(values, source, &params, err);
  if (status != FURROW_OK) return status;
  status = recommend_job_open(&job, source->model, &values->finding, source->threads, source->quiet, err);
  if (status == FURROW_OK) status = load_truth(&truth, &job, values, source, &params, err);
  if (status == FURROW_OK) furrow_events_get_info(truth, &events);
  if (status == FURROW_OK) status = recommend_job_prepare(&job, events.users, err);
  if (status == FURROW_OK) status = furrow_recommender_evaluate(job.recommender, truth, &job.params, &figures, err);
  progress_stop(&job.progress);
  if (status == FURROW_OK) report_figures(out, json, &figures, &events, params.from);
  if (status == FURROW_OK && !source->quiet) print_notes(values, &figures, &events, recommend_job_is_of_log(&job));
  furrow_events_free(truth);
  recommend_job_close(&job);
  return status;
}
