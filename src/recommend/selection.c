/* recommend/selection.c: searches for the best rule. */
#include "recommend/selection.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { ROUNDS = 2 };

/* Limit on the multiplications of a trial; the recommender that is saved may cost more (recommend/recipe.h). */
#define WEIGHTS_WORK 6e8
#define FACTORS_WORK 1e8
#define SCORES_WORK 4e8

#define WORTH 1.003 /* a setting has to be better by that factor: the best of many is so by luck */

static const double strengths[] = {5, 20, 60, 200, 600, 2000};
enum { STRENGTHS = sizeof strengths / sizeof *strengths };

const char *fw_candidate_name(fw_candidate_kind kind) {
  static const char *const names[FW_CANDIDATES] = {"popular",          "own-history", "user-features", "item-item",
                                                   "item-item-recent", "factors",     "blend",         "features"};
  return names[kind];
}

/* ---- One line of the search ----------------------------------------------------------------------------- */

/* The best recipe of one kind so far. */
typedef struct line {
  fw_contest *c;
  const fw_recipe_means *means;
  fw_recipe recipe;
  fw_made_taste made; /* the tables of the recipe, computed from the earlier events */
  double best;        /* its NDCG */
  size_t step;        /* it was compared for users 0, step, 2 step … */
  fw_candidate_kind kind;
} line;

/* Tries the rule with the tables of the best recipe; keeps the rule if it is better. */
static furrow_status try_rule(line *l, const fw_taste_rule *rule, furrow_error *err) {
  fw_taste taste = fw_made_taste_view(&l->made);
  double mean = 0;
  taste.rule = *rule;
  FW_TRY(fw_contest_compare(l->c, &taste, l->step, &mean, err));
  if (mean <= l->best * (l->best > 0 ? WORTH : 1)) return FURROW_OK;
  l->best = mean;
  l->made.rule = l->recipe.rule = *rule;
  return FURROW_OK;
}

/* Computes the tables of another recipe and compares it under several rules; keeps the best if it is better. */
static furrow_status try_recipe(line *l, const fw_recipe *recipe, const fw_taste_rule *rules, size_t count,
                                furrow_error *err) {
  line other = {.c = l->c, .recipe = *recipe, .best = -1, .step = l->step};
  furrow_status status = fw_recipe_make(recipe, &l->c->earlier, l->means, &other.made, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++) status = try_rule(&other, &rules[i], err);
  if (status == FURROW_OK && other.best > l->best) {
    const fw_made_taste worse = l->made;
    l->best = other.best;
    l->recipe = other.recipe;
    l->made = other.made;
    other.made = worse;
  }
  fw_made_taste_clear(&other.made);
  return status;
}

/* One setting of a rule and the values that are tried. */
typedef struct axis {
  size_t offset;
  double values[9];
  size_t count;
} axis;

#define AXIS(field, ...) \
  { offsetof(fw_taste_rule, field), {__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double) }

static const axis recency_axes[] = {AXIS(recency, 0, 1, 2, 3, 5, 8, 15, 30, 60), AXIS(always, 0, .05, .1, .2, .4, .8)};
static const axis rating_axes[] = {AXIS(rating, 0, .15, .3, .5)};
static const axis popular_axes[] = {AXIS(popular, 0, .0003, .001, .003, .01)};
static const axis own_axes[] = {AXIS(own, 0, .1, .3, 1, 3, 10), AXIS(own_recency, 0, 3, 10, 30, 100),
                                AXIS(own_always, 0, .03, .1, .3)};
static const axis blend_axes[] = {AXIS(factors, .3, 1, 3, 10)};

static furrow_status try_axes(line *l, const axis *axes, size_t count, furrow_error *err) {
  for (size_t a = 0; a < count; a++)
    for (size_t i = 0; i < axes[a].count; i++) {
      fw_taste_rule rule = l->recipe.rule;
      double *setting = (double *)((char *)&rule + axes[a].offset);
      if (*setting == axes[a].values[i]) continue;
      *setting = axes[a].values[i];
      FW_TRY(try_rule(l, &rule, err));
    }
  return FURROW_OK;
}

#define TRY_AXES(l, axes, err) try_axes(l, axes, sizeof(axes) / sizeof *(axes), err)

static furrow_status tune_rule(line *l, furrow_error *err) {
  const fw_interactions *events = &l->c->earlier;
  const bool learned = l->recipe.weights || l->recipe.factors;
  for (int round = 0; round < ROUNDS; round++) {
    const double before = l->best;
    if (l->c->repeats) FW_TRY(TRY_AXES(l, own_axes, err));
    if (events->timed && learned) FW_TRY(TRY_AXES(l, recency_axes, err));
    if (events->rated && learned) FW_TRY(TRY_AXES(l, rating_axes, err));
    FW_TRY(TRY_AXES(l, popular_axes, err));
    if (l->best == before) break;
  }
  return FURROW_OK;
}

/* Compares the recipe of the line by all users. */
static furrow_status judge(line *l, fw_candidate_kind kind, fw_rule_selection *selection, furrow_error *err) {
  const fw_taste taste = fw_made_taste_view(&l->made);
  FW_TRY(fw_contest_compare(l->c, &taste, 1, &l->best, err));
  selection->candidates[kind] = fw_contest_candidate(l->c);
  l->kind = kind;
  return FURROW_OK;
}

/* The rules that a line of learned recipes begins with: all events alike, and recent events more. */
static size_t first_rules(const fw_contest *c, fw_taste_rule rules[2]) {
  rules[0] = (fw_taste_rule){.repeats = c->repeats, .own = c->repeats ? 1 : 0};
  rules[1] = rules[0];
  rules[1].recency = 5;
  rules[1].always = .1;
  return c->earlier.timed ? 2 : 1;
}

/* ---- Popular items and own history ---------------------------------------------------------------------- */

/* The most popular items, of all time or of late. */
static furrow_status try_popular(line *l, fw_rule_selection *selection, furrow_error *err) {
  static const double trends[] = {0, .5, .2, .07, .02};
  for (size_t i = 0; i < (l->c->earlier.timed ? sizeof trends / sizeof *trends : 1); i++) {
    const fw_recipe recipe = {.trend = trends[i], .rule = {.popular = 1, .repeats = l->c->repeats}};
    FW_TRY(try_recipe(l, &recipe, &recipe.rule, 1, err));
    if (i > 0) continue;
    /* the candidate that others are compared with is the most popular items of all time */
    memcpy(l->c->popular_ndcg, l->c->ndcg, l->c->count * sizeof *l->c->ndcg);
    selection->candidates[FW_CANDIDATE_POPULAR] = fw_contest_candidate(l->c);
  }
  return FURROW_OK;
}

static furrow_status try_own(line *l, fw_rule_selection *selection, furrow_error *err) {
  const fw_taste_rule rule = {.own = 1, .repeats = true};
  const double before = l->best;
  if (!l->c->repeats) return FURROW_OK;
  FW_TRY(try_rule(l, &rule, err));
  selection->candidates[FW_CANDIDATE_OWN] = fw_contest_candidate(l->c);
  if (l->best > before) l->kind = FW_CANDIDATE_OWN;
  return FURROW_OK;
}

/* ---- Groups of users ------------------------------------------------------------------------------------ */

#define SURE 2.0 /* standard errors that a gain has to be worth */

/* Compares what is popular in groups. Each half of the users is compared by what the others took, so that nobody is
 * recommended to by their own events. Users are marked in held, 0 before and afterwards. */
static furrow_status compare_halves(line *l, const fw_recipe *recipe, uint8_t *held, double *mean, furrow_error *err) {
  fw_recipe_means means = *l->means;
  fw_contest *c = l->c;
  furrow_status status = FURROW_OK;
  means.held = held;
  *mean = 0;
  for (c->from = 0; status == FURROW_OK && c->from < 2; c->from++) {
    fw_made_taste made = {0};
    double half = 0;
    for (size_t i = c->from; i < c->count; i += 2) held[c->users[i]] = 1;
    status = fw_recipe_make(recipe, &c->earlier, &means, &made, err);
    const fw_taste taste = fw_made_taste_view(&made);
    if (status == FURROW_OK) status = fw_contest_compare(c, &taste, 2, &half, err);
    for (size_t i = c->from; i < c->count; i += 2) held[c->users[i]] = 0;
    *mean += half / 2;
    fw_made_taste_clear(&made);
  }
  c->from = 0;
  return status;
}

/* Tries the settings of groups; those that are best and surely better than popular items, if there are any, go to
 * l->recipe. */
static furrow_status try_group_settings(line *l, fw_recipe recipe, const double *popular, uint8_t *held,
                                        fw_rule_selection *selection, furrow_error *err) {
  static const double priors[] = {3000, 1000, 300, 100, 30}, powers[] = {1, .5};
  double best = -1, mean = 0;
  for (size_t i = 0; i < sizeof powers / sizeof *powers * (sizeof priors / sizeof *priors); i++) {
    recipe.group_prior = priors[i / 2];
    recipe.group_power = powers[i % 2];
    FW_TRY(compare_halves(l, &recipe, held, &mean, err));
    if (mean <= best * (best > 0 ? WORTH : 1)) continue;
    best = mean;
    selection->candidates[FW_CANDIDATE_GROUPS] = fw_contest_candidate(l->c);
    const fw_candidate more = fw_contest_against(l->c, popular);
    if (more.gain <= SURE * more.error) continue;
    l->best = mean;
    l->recipe = recipe;
  }
  return FURROW_OK;
}

/* What is popular among users with the same features. l->best stays below 0 unless that is better than what is popular
 * among all, of late or of all time. */
static furrow_status try_groups(line *l, const line *simple, fw_rule_selection *selection, furrow_error *err) {
  const fw_interactions *earlier = &l->c->earlier;
  const fw_recipe recipe = {.trend = simple->recipe.trend, .rule = {.popular = 1, .repeats = l->c->repeats}};
  fw_taste taste = fw_made_taste_view(&simple->made);
  double *popular = NULL, mean = 0;
  uint8_t *held = NULL;
  taste.rule = recipe.rule;
  if (!earlier->groups || l->c->count < 2) return FURROW_OK;
  furrow_status status = FW_ALLOC_ZERO(&held, earlier->users, err);
  if (status == FURROW_OK) status = FW_ALLOC(&popular, l->c->count, err);
  if (status == FURROW_OK) status = fw_contest_compare(l->c, &taste, 1, &mean, err);
  for (size_t i = 0; status == FURROW_OK && i < l->c->count; i++) popular[i] = l->c->ndcg[i];
  if (status == FURROW_OK) status = try_group_settings(l, recipe, popular, held, selection, err);
  fw_free(popular);
  fw_free(held);
  l->kind = FW_CANDIDATE_GROUPS;
  if (status != FURROW_OK || l->best < 0) return status;
  return fw_recipe_make(&l->recipe, earlier, l->means, &l->made, err);
}

/* Lets the popularity of a line be that in groups, and count as much as is best. That may cost its users a hundredth of
 * their NDCG: they have events, and others, who have none, need it. */
static furrow_status join_groups(line *l, const line *groups, fw_rule_selection *selection, furrow_error *err) {
  static const double populars[] = {0, .0003, .001, .003, .01, .03, .1, .3, 1};
  fw_taste taste = fw_made_taste_view(&l->made);
  fw_recipe recipe = l->recipe;
  fw_candidate figures = {0};
  double mean = 0;
  taste.groups = &groups->made.groups;
  for (size_t i = 0; i < sizeof populars / sizeof *populars; i++) {
    taste.rule.popular = populars[i];
    FW_TRY(fw_contest_compare(l->c, &taste, 1, &mean, err));
    if (mean <= figures.ndcg * (i > 0 ? WORTH : 1)) continue;
    figures = fw_contest_candidate(l->c);
    recipe.rule.popular = populars[i];
  }
  if (figures.ndcg < .99 * l->best) return FURROW_OK;
  recipe.group_prior = groups->recipe.group_prior;
  recipe.group_power = groups->recipe.group_power;
  l->recipe = recipe;
  l->made.rule = recipe.rule;
  l->best = figures.ndcg;
  selection->candidates[l->kind] = figures;
  return FURROW_OK;
}

/* Groups may take part in the leader, or lead. */
static furrow_status use_groups(line **leader, line *groups, fw_rule_selection *selection, furrow_error *err) {
  if (groups->best < 0) return FURROW_OK;
  if ((*leader)->kind != FW_CANDIDATE_POPULAR) FW_TRY(join_groups(*leader, groups, selection, err));
  if (groups->best > (*leader)->best) *leader = groups;
  return FURROW_OK;
}

/* ---- Item-item weights ---------------------------------------------------------------------------------- */

/* Compares the weights of all strengths under the first rules, with the popularity of the simple line; the best
 * strength and rule go to *recipe. */
static furrow_status try_strengths(const line *l, const line *simple, fw_recipe *recipe, fw_rule_selection *selection,
                                   furrow_error *err) {
  fw_sparse_rows weights[STRENGTHS] = {{0}};
  fw_taste_rule rules[2];
  const size_t rule_count = first_rules(l->c, rules);
  double plain = 0, best = -1, mean = 0;
  furrow_status status = fw_recipe_solve(recipe, &l->c->earlier, l->means, strengths, STRENGTHS, weights, err);
  for (size_t i = 0; status == FURROW_OK && i < STRENGTHS; i++)
    for (size_t r = 0; status == FURROW_OK && r < rule_count; r++) {
      fw_taste taste = fw_made_taste_view(&simple->made);
      taste.weights = &weights[i];
      taste.rule = rules[r];
      status = fw_contest_compare(l->c, &taste, l->step, &mean, err);
      if (status == FURROW_OK && r == 0 && mean > plain) {
        plain = mean;
        selection->candidates[FW_CANDIDATE_ITEMS] = fw_contest_candidate(l->c);
      }
      if (status != FURROW_OK || mean <= best) continue;
      best = mean;
      recipe->l2 = strengths[i];
      recipe->rule = rules[r];
    }
  for (size_t i = 0; i < STRENGTHS; i++) fw_sparse_rows_clear(&weights[i]);
  return status;
}

static furrow_status try_items(line *l, const line *simple, fw_rule_selection *selection, furrow_error *err) {
  static const double orders[] = {.5, 1};
  fw_recipe recipe = {
      .weights = true, .trend = simple->recipe.trend, .neighbours = fw_recipe_neighbours(&l->c->earlier, WEIGHTS_WORK)};
  FW_TRY(try_strengths(l, simple, &recipe, selection, err));
  FW_TRY(try_recipe(l, &recipe, &recipe.rule, 1, err));
  FW_TRY(tune_rule(l, err));
  for (size_t i = 0; l->c->earlier.timed && i < sizeof orders / sizeof *orders; i++) {
    recipe = l->recipe;
    recipe.order = orders[i];
    FW_TRY(try_recipe(l, &recipe, &recipe.rule, 1, err));
  }
  recipe = l->recipe;
  for (size_t i = 0; i < STRENGTHS; i++) {
    const bool is_next =
        (i > 0 && strengths[i - 1] == recipe.l2) || (i + 1 < STRENGTHS && strengths[i + 1] == recipe.l2);
    fw_recipe other = recipe;
    other.l2 = strengths[i];
    if (is_next) FW_TRY(try_recipe(l, &other, &other.rule, 1, err));
  }
  FW_TRY(tune_rule(l, err));
  return judge(l, FW_CANDIDATE_RECENT, selection, err);
}

/* ---- Factors -------------------------------------------------------------------------------------------- */

/* Settings of factors and the values that are tried: `others` in multiples of FACTOR_BASE / items. With the l2 that the
 * search starts from, the regularisation of a user without events is then 5. */
static const double factor_others[] = {1. / 9, 1. / 5, 1. / 3, .6, 1, 1.7, 3, 5, 9, 15, 27};
static const double factor_l2[] = {.004, .008, .016, .03, .045};
#define FACTOR_BASE 170
enum {
  FACTOR_OTHERS = sizeof factor_others / sizeof *factor_others,
  FACTOR_L2 = sizeof factor_l2 / sizeof *factor_l2,
  FIRST_OTHERS = 4,
  FIRST_L2 = 3
};

static furrow_status try_factors_of(line *l, size_t size, double trend, const size_t at[2], furrow_error *err) {
  const fw_recipe recipe = {.factors = true,
                            .trend = trend,
                            .factor_size = size,
                            .factor_others = factor_others[at[0]] * FACTOR_BASE / (double)l->c->earlier.items,
                            .factor_l2 = factor_l2[at[1]]};
  fw_taste_rule rules[2];
  const size_t count = first_rules(l->c, rules);
  for (size_t i = 0; i < count; i++) rules[i].factors = 1;
  return try_recipe(l, &recipe, rules, count, err);
}

/* Follows one setting upwards, or else downwards, as long as the result becomes better. */
static furrow_status follow(line *l, size_t size, double trend, size_t at[2], size_t which, furrow_error *err) {
  const size_t count = which == 0 ? FACTOR_OTHERS : FACTOR_L2, first = at[which];
  for (int direction = 1; direction >= -1 && at[which] == first; direction -= 2)
    for (size_t i = first; direction > 0 ? i + 1 < count : i > 0;) {
      size_t next[2] = {at[0], at[1]};
      const double before = l->best;
      next[which] = i = direction > 0 ? i + 1 : i - 1;
      FW_TRY(try_factors_of(l, size, trend, next, err));
      if (l->best <= before) break;
      at[which] = i;
    }
  return FURROW_OK;
}

/* As many users as a fixed amount of work allows. */
static size_t factors_step(const fw_contest *c, size_t size) {
  const double n = (double)size, users = (double)c->count, events = (double)c->earlier.offset[c->earlier.users];
  const double share = c->earlier.users > 0 ? users / (double)c->earlier.users : 0;
  const double work = users * n * ((double)c->earlier.items + n * n / 6) + share * events * n * n / 2;
  return work > SCORES_WORK ? (size_t)(work / SCORES_WORK) : 1;
}

/* With all events, of which a fifth is held out here, longer vectors gain more than shorter ones. */
#define LONGER_GAINS 1.02

/* Tries vectors of twice the length, which need more regularisation; *better: they are kept. */
static furrow_status try_longer(line *l, size_t size, double trend, size_t at[2], bool *better, furrow_error *err) {
  line longer = {.c = l->c, .means = l->means, .best = -1, .step = factors_step(l->c, size)};
  const fw_taste taste = fw_made_taste_view(&l->made);
  size_t there[2] = {at[0], at[1]};
  l->step = longer.step;
  FW_TRY(fw_contest_compare(l->c, &taste, l->step, &l->best, err)); /* by the same users */
  furrow_status status = try_factors_of(&longer, size, trend, there, err);
  if (status == FURROW_OK) status = follow(&longer, size, trend, there, 0, err);
  *better = status == FURROW_OK && longer.best * LONGER_GAINS > l->best;
  if (*better) {
    const line shorter = *l;
    *l = longer;
    longer = shorter;
    memcpy(at, there, sizeof there);
  }
  fw_made_taste_clear(&longer.made);
  return status;
}

static furrow_status try_factors(line *l, double trend, fw_rule_selection *selection, furrow_error *err) {
  const size_t size = fw_recipe_factor_size(&l->c->earlier, FACTORS_WORK);
  size_t at[2] = {FIRST_OTHERS, FIRST_L2};
  l->step = factors_step(l->c, size);
  FW_TRY(try_factors_of(l, size, trend, at, err));
  for (size_t which = 0; which < 2; which++) FW_TRY(follow(l, size, trend, at, which, err));
  if (at[1] != FIRST_L2) FW_TRY(follow(l, size, trend, at, 0, err));
  const size_t full = fw_recipe_factor_size(&l->c->earlier, FW_RECIPE_FACTORS_WORK);
  bool better = true;
  for (size_t longer = 2 * size; better && longer <= full; longer *= 2)
    FW_TRY(try_longer(l, longer, trend, at, &better, err));
  FW_TRY(tune_rule(l, err));
  return judge(l, FW_CANDIDATE_FACTORS, selection, err);
}

/* ---- Both, and features --------------------------------------------------------------------------------- */

/* Tries weights and factors together. *l borrows the tables of the other lines. */
static furrow_status try_blend(line *l, const line *items, const line *factors, fw_rule_selection *selection,
                               furrow_error *err) {
  *l = *items;
  l->recipe.factors = l->made.has_factors = true;
  l->recipe.factor_size = factors->recipe.factor_size;
  l->recipe.factor_others = factors->recipe.factor_others;
  l->recipe.factor_l2 = factors->recipe.factor_l2;
  l->made.factors = factors->made.factors;
  l->step = factors->step;
  l->best = -1;
  FW_TRY(TRY_AXES(l, blend_axes, err));
  return judge(l, FW_CANDIDATE_BLEND, selection, err);
}

static bool has_items_without_events(const fw_contest *c) {
  const fw_interactions *parts[2] = {&c->earlier, &c->later};
  size_t count = 0;
  for (size_t i = 0; i < 2; i++) count += parts[i]->offset[parts[i]->users];
  if (count < c->earlier.items) return true;
  uint8_t *has = NULL;
  if (FW_ALLOC_ZERO(&has, c->earlier.items, NULL) != FURROW_OK) return false;
  for (size_t p = 0; p < 2; p++)
    for (size_t i = 0; i < parts[p]->offset[parts[p]->users]; i++) has[parts[p]->item[i]] = 1;
  const bool without = memchr(has, 0, c->earlier.items) != NULL;
  fw_free(has);
  return without;
}

/* Features of items; *leader becomes *l if they are used. That is so if they are better. Items without events can be
 * recommended by their features alone, which held-out events cannot show: then features may cost a hundredth of the
 * NDCG. */
static furrow_status try_features(line *l, line **leader, fw_rule_selection *selection, furrow_error *err) {
  static const double contents[] = {.3, 1, 3, 10};
  fw_recipe recipe = (*leader)->recipe;
  if (!l->means->features || !(recipe.weights || recipe.factors)) return FURROW_OK;
  const double worth = has_items_without_events(l->c) ? .99 : 1;
  l->step = (*leader)->step;
  FW_TRY(try_recipe(l, &recipe, &recipe.rule, 1, err));
  l->best *= worth;
  for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
    recipe.content = contents[i];
    FW_TRY(try_recipe(l, &recipe, &recipe.rule, 1, err));
  }
  if (l->recipe.content == 0) return FURROW_OK;
  FW_TRY(tune_rule(l, err));
  FW_TRY(judge(l, FW_CANDIDATE_CONTENT, selection, err));
  if (l->best > worth * (*leader)->best) *leader = l;
  return FURROW_OK;
}

/* ---- Users with few events ------------------------------------------------------------------------------ */

enum { FEW_EVENTS = 4 };
#define COMMON_MOST 0.4 /* share of the most popular items in the lists */

/* Lets popular items count more for users with few events, as long as that is better for them and their lists do not
 * become too similar. */
static furrow_status try_few(line *l, const line *groups, furrow_error *err) {
  static const double values[] = {.02, .05, .1, .2, .3, .5, .7, 1, 1.4, 2};
  fw_taste taste = fw_made_taste_view(&l->made);
  double best = 0, mean = 0;
  if (l->recipe.group_prior > 0) taste.groups = &groups->made.groups;
  if (!l->recipe.weights && !l->recipe.factors) return FURROW_OK;
  l->c->first = FEW_EVENTS;
  furrow_status status = fw_contest_compare(l->c, &taste, l->step, &best, err);
  for (size_t i = 0; status == FURROW_OK && i < sizeof values / sizeof *values; i++) {
    taste.rule.few = values[i];
    status = fw_contest_compare(l->c, &taste, l->step, &mean, err);
    if (status != FURROW_OK || fw_contest_common(l->c, l->step) > COMMON_MOST) break;
    if (mean <= best) continue;
    best = mean;
    l->recipe.rule.few = values[i];
  }
  l->c->first = 0;
  return status;
}

/* ---- The search ----------------------------------------------------------------------------------------- */

enum { SIMPLE, GROUPS, ITEMS, FACTORS, BLEND, FEATURES, LINES };

static line *better(line *a, line *b) {
  return b->best > a->best ? b : a;
}

static furrow_status run_lines(line *lines, fw_rule_selection *selection, furrow_error *err) {
  FW_TRY(try_popular(&lines[SIMPLE], selection, err));
  FW_TRY(try_own(&lines[SIMPLE], selection, err));
  FW_TRY(try_groups(&lines[GROUPS], &lines[SIMPLE], selection, err));
  FW_TRY(try_items(&lines[ITEMS], &lines[SIMPLE], selection, err));
  FW_TRY(try_factors(&lines[FACTORS], lines[SIMPLE].recipe.trend, selection, err));
  FW_TRY(try_blend(&lines[BLEND], &lines[ITEMS], &lines[FACTORS], selection, err));
  line *leader = &lines[SIMPLE];
  for (size_t i = ITEMS; i <= BLEND; i++) leader = better(leader, &lines[i]);
  FW_TRY(try_features(&lines[FEATURES], &leader, selection, err));
  FW_TRY(use_groups(&leader, &lines[GROUPS], selection, err));
  FW_TRY(try_few(leader, &lines[GROUPS], err));
  selection->recipe = leader->recipe;
  selection->chosen = leader->kind;
  return FURROW_OK;
}

furrow_status fw_select(const fw_interactions *all, const fw_selection_params *params, fw_rule_selection *selection,
                        furrow_error *err) {
  fw_contest c = {
      .k = params->k, .pool = params->means.pool, .progress = params->progress, .progress_user = params->progress_user};
  line lines[LINES];
  for (size_t i = 0; i < LINES; i++) lines[i] = (line){.c = &c, .means = &params->means, .best = -1, .step = 1};
  *selection = (fw_rule_selection){.recipe = {.rule = {.popular = 1}}};
  furrow_status status = fw_contest_hold(&c, all, err);
  selection->users = c.count;
  selection->repeats = c.repeated;
  if (status == FURROW_OK && c.count > 0) status = run_lines(lines, selection, err);
  selection->recipe.rule.repeats = c.repeats;
  selection->recipe.neighbours = fw_recipe_neighbours(all, FW_RECIPE_WEIGHTS_WORK);
  for (size_t i = 0; i < LINES; i++)
    if (i != BLEND) fw_made_taste_clear(&lines[i].made);
  fw_contest_clear(&c);
  return status;
}
