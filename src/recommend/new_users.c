/* recommend/new_users.c: recommends to users that the model does not know, from their events.
 *
 * In a factorization machine a user contributes a vector q and a number c: z(user, item) = b + c + own part of the item
 * + <q, v>. Given the vectors v of the items in a user's events and the labels, the most likely q and c minimise
 *   sum of loss(z, label) + 1/2 sum over j of (p_j - mean_j)^2 / variance_j,   p = (q, c),
 * where mean and variance are estimated from users that the model knows. The curvature of the loss is at most h (1 for
 * squares, 1/4 for the logistic loss), so each step with the matrix h X'X + 1 / variance lowers the objective; for
 * squares one step reaches the minimum.
 *
 * Models trained with a ranking loss order items: the loss of a positive event is that of a softmax over the items,
 * -z + ln(sum over items of exp(z)), which c and b do not change. A logistic loss would not do: all popular items have
 * scores of about 5, where it is flat, so that the events would say nothing. Few events have to find the few directions
 * in which users differ, so the whole covariance of the users is known, not only the variances. Steps are taken with
 * the matrix n covariance of v + inverse covariance of p, where n is the number of events and the covariance of v is
 * that for the mean user; a step is halved until it lowers the objective. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "learn/data/minibatch.h"
#include "learn/score/scorer.h"
#include "recommend/events.h"
#include "recommend/log_model.h"
#include "vector/data/parallel.h"

enum { PRIOR_USERS = 1000, MOST_STEPS = 200, MOST_ORDER_STEPS = 30, MOST_HALVINGS = 20, PART = 16 };

/* Items of a softmax: the most frequent ones, and an even selection of the others, which weigh more. */
enum { FREQUENT_ITEMS = 2048, OTHER_ITEMS = 2048 };

#define LEAST_VARIANCE 1e-6
#define RIDGE 0.01 /* share of the mean variance that is added to all of them before the covariance is inverted */

/* The loss of a user's events. */
typedef enum fold_loss { FOLD_SQUARES, FOLD_LOGISTIC, FOLD_ORDER } fold_loss;

typedef struct new_event {
  size_t name; /* offset of the user's name in `names`, ends with a 0 */
  size_t order;
  double time;
  uint32_t item;
  float label;
} new_event;

/* A user's events are first … first + count - 1: ascending by item, each item once; for a recommender of a log all
 * events, the earliest first. */
typedef struct newcomer {
  size_t first, count, order;
} newcomer;

struct furrow_new_users {
  fw_buffer names;
  new_event *events;
  size_t event_count, event_capacity;
  newcomer *users; /* in the order of their first events */
  size_t count, capacity;
  float *queries;  /* d floats for each user */
  double *levels;  /* b + c for each user */
  uint32_t *items; /* the events' items */
  /* only for a recommender of a log, in place of queries, levels and items */
  fw_interactions log;   /* user i has the events of users[i] */
  fw_sparse_rows groups; /* groups of users that the model knows, if it uses groups; log.groups views them */
  furrow_events_info info;
};

/* The distribution of the parameters of known users. */
typedef struct prior {
  fold_loss loss;
  size_t size; /* d: the elements of q, then c */
  double bias;
  double *mean, *precision;
  /* FOLD_ORDER: */
  uint32_t *items; /* of the softmax */
  double *weights; /* ln of how many items each of them stands for */
  size_t item_count;
  double *covariance; /* of the items' vectors: size * size, the lower half */
  double *inverse;    /* of the covariance of the users' parameters: size * size */
} prior;

/* ---- Linear equations ----------------------------------------------------------------------------------- */

/* Cholesky decomposition of the lower half of a positive definite matrix of n rows. */
static void factorise(double *m, size_t n) {
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b <= a; b++) {
      double sum = m[a * n + b];
      for (size_t k = 0; k < b; k++) sum -= m[a * n + k] * m[b * n + k];
      m[a * n + b] = a == b ? sqrt(sum) : sum / m[b * n + b];
    }
}

static void solve(const double *m, size_t n, double *x) {
  for (size_t a = 0; a < n; a++) {
    for (size_t k = 0; k < a; k++) x[a] -= m[a * n + k] * x[k];
    x[a] /= m[a * n + a];
  }
  for (size_t a = n; a-- > 0;) {
    for (size_t k = a + 1; k < n; k++) x[a] -= m[k * n + a] * x[k];
    x[a] /= m[a * n + a];
  }
}

/* ---- The prior ------------------------------------------------------------------------------------------ */

static fold_loss loss_of(const furrow_recommender *r) {
  switch (r->scorer->plan->graph.loss) {
  case FW_LOSS_L2:
  case FW_LOSS_HUBER: return FOLD_SQUARES;
  case FW_LOSS_LOG:
  case FW_LOSS_HINGE:
  case FW_LOSS_CROSS_ENTROPY: return FOLD_LOGISTIC;
  default: return FOLD_ORDER;
  }
}

static void add_user(prior *p, const float *query, double c, double *squares) {
  for (size_t j = 0; j < p->size; j++) {
    const double x = j + 1 < p->size ? query[j] : c;
    p->mean[j] += x;
    squares[j] += x * x;
    for (size_t k = 0; p->inverse && k <= j; k++) p->inverse[j * p->size + k] += x * (k + 1 < p->size ? query[k] : c);
  }
}

static furrow_status add_users(const furrow_recommender *r, prior *p, size_t count, double *squares,
                               furrow_error *err) {
  furrow_container *rows = NULL;
  furrow_rowblock block;
  float *query = NULL;
  furrow_status status = fw_recommender_make_rows(r, &rows, err);
  if (status == FURROW_OK) status = FW_ALLOC(&query, r->d, err);
  for (uint64_t i = 0; status == FURROW_OK && i < count; i++)
    status = fw_recommender_push_user(r, i * (r->users.count / count), rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    const furrow_row row = furrow_rowblock_row(&block, i);
    double rest = 0;
    status = furrow_scorer_query_vector(r->scorer, &row, query, &rest, err);
    if (status == FURROW_OK) add_user(p, query, rest - p->bias, squares);
  }
  furrow_container_free(rows);
  fw_free(query);
  return status;
}

/* Lists the items of the softmax. Items are numbered by falling frequency. */
static furrow_status list_items(const furrow_recommender *r, prior *p, furrow_error *err) {
  const size_t n = r->items.count, frequent = n < FREQUENT_ITEMS ? n : FREQUENT_ITEMS, rest = n - frequent;
  const size_t others = rest < OTHER_ITEMS ? rest : OTHER_ITEMS;
  p->item_count = frequent + others;
  FW_TRY(FW_ALLOC(&p->items, p->item_count, err));
  FW_TRY(FW_ALLOC_ZERO(&p->weights, p->item_count, err));
  for (size_t i = 0; i < frequent; i++) p->items[i] = (uint32_t)i;
  for (size_t i = 0; i < others; i++) {
    p->items[frequent + i] = (uint32_t)(frequent + i * rest / others);
    p->weights[frequent + i] = log((double)rest / (double)others);
  }
  return FURROW_OK;
}

/* The chances of the items of the softmax for a user; returns ln of the sum of their exp. */
static double find_chances(const furrow_recommender *r, const prior *p, const double *user, double *chances) {
  const size_t last = p->size - 1;
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < p->item_count; i++) {
    const float *v = r->vectors + (size_t)p->items[i] * r->d;
    double z = p->weights[i] + v[last];
    for (size_t j = 0; j < last; j++) z += user[j] * v[j];
    chances[i] = z;
    most = z > most ? z : most;
  }
  for (size_t i = 0; i < p->item_count; i++) sum += chances[i] = exp(chances[i] - most);
  for (size_t i = 0; i < p->item_count; i++) chances[i] /= sum;
  return most + log(sum);
}

/* Adds the mean of the items' vectors, times a factor. */
static void add_mean_item(const furrow_recommender *r, const prior *p, const double *chances, double factor,
                          double *to) {
  for (size_t i = 0; i < p->item_count; i++) {
    const float *v = r->vectors + (size_t)p->items[i] * r->d;
    for (size_t j = 0; j + 1 < p->size; j++) to[j] += factor * chances[i] * v[j];
  }
}

/* The covariance of the items' vectors for the mean user. */
static furrow_status find_covariance(const furrow_recommender *r, prior *p, furrow_error *err) {
  const size_t n = p->size, last = n - 1;
  double *chances = NULL;
  if (p->loss != FOLD_ORDER) return FURROW_OK;
  FW_TRY(list_items(r, p, err));
  FW_TRY(FW_ALLOC_ZERO(&p->covariance, n * n, err));
  FW_TRY(FW_ALLOC_ZERO(&chances, p->item_count + n, err));
  double *mean = chances + p->item_count;
  find_chances(r, p, p->mean, chances);
  add_mean_item(r, p, chances, 1, mean);
  for (size_t i = 0; i < p->item_count; i++) {
    const float *v = r->vectors + (size_t)p->items[i] * r->d;
    for (size_t a = 0; a < last; a++)
      for (size_t b = 0; b <= a; b++) p->covariance[a * n + b] += chances[i] * (v[a] - mean[a]) * (v[b] - mean[b]);
  }
  fw_free(chances);
  return FURROW_OK;
}

/* Turns the sums of products of the users' parameters into the inverse of their covariance. */
static furrow_status invert_covariance(prior *p, size_t users, furrow_error *err) {
  const size_t n = p->size;
  double *m = NULL, trace = 0;
  if (p->loss != FOLD_ORDER) return FURROW_OK;
  FW_TRY(FW_ALLOC(&m, n * n, err));
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b <= a; b++) m[a * n + b] = p->inverse[a * n + b] / (double)users - p->mean[a] * p->mean[b];
  for (size_t a = 0; a < n; a++) trace += m[a * n + a];
  for (size_t a = 0; a < n; a++) m[a * n + a] += RIDGE * trace / (double)n + LEAST_VARIANCE;
  factorise(m, n);
  for (size_t a = 0; a < n; a++) {
    double *column = p->inverse + a * n; /* it is symmetric */
    memset(column, 0, n * sizeof *column);
    column[a] = 1;
    solve(m, n, column);
  }
  fw_free(m);
  return FURROW_OK;
}

static furrow_status make_prior(const furrow_recommender *r, prior *p, furrow_error *err) {
  const size_t count = r->users.count < PRIOR_USERS ? r->users.count : PRIOR_USERS;
  *p = (prior){.loss = loss_of(r), .size = r->d};
  FW_TRY(FW_ALLOC_ZERO(&p->mean, p->size, err));
  FW_TRY(FW_ALLOC_ZERO(&p->precision, p->size, err));
  if (p->loss == FOLD_ORDER) FW_TRY(FW_ALLOC_ZERO(&p->inverse, p->size * p->size, err));
  FW_TRY(furrow_scorer_bias(r->scorer, &p->bias, err));
  FW_TRY(add_users(r, p, count, p->precision, err));
  for (size_t j = 0; j < p->size; j++) {
    p->mean[j] /= (double)count;
    const double variance = p->precision[j] / (double)count - p->mean[j] * p->mean[j];
    p->precision[j] = 1 / (variance > LEAST_VARIANCE ? variance : LEAST_VARIANCE);
  }
  FW_TRY(invert_covariance(p, count, err));
  return find_covariance(r, p, err);
}

static void clear_prior(prior *p) {
  fw_free(p->mean);
  fw_free(p->precision);
  fw_free(p->items);
  fw_free(p->weights);
  fw_free(p->covariance);
  fw_free(p->inverse);
}

/* ---- One user ------------------------------------------------------------------------------------------- */

typedef struct fold {
  const furrow_recommender *r;
  const prior *p;
  const new_event *events;
  size_t count;
  double *matrix; /* size * size, the lower half; overwritten with its Cholesky factor */
  double *x, *step, *at;
  double *trial, *chances; /* FOLD_ORDER */
} fold;

/* Writes the features x of event i (the last one belongs to c) and returns the constant part of z. */
static double event_features(const fold *f, size_t i, double *x) {
  const size_t last = f->p->size - 1;
  const float *v = f->r->vectors + (size_t)f->events[i].item * f->r->d;
  for (size_t j = 0; j < last; j++) x[j] = v[j];
  x[last] = 1;
  return v[last] + f->p->bias;
}

static double slope_of(const fold *f, double z, double label) {
  if (f->p->loss == FOLD_SQUARES) return z - label;
  const double y = label > 0 ? 1 : -1;
  return -y / (1 + exp(z * y));
}

static void make_matrix(const fold *f) {
  const size_t n = f->p->size;
  const double most = f->p->loss == FOLD_SQUARES ? 1 : 0.25;
  memset(f->matrix, 0, n * n * sizeof *f->matrix);
  for (size_t j = 0; j < n; j++) f->matrix[j * n + j] = f->p->precision[j];
  for (size_t i = 0; i < f->count; i++) {
    event_features(f, i, f->x);
    for (size_t a = 0; a < n; a++)
      for (size_t b = 0; b <= a; b++) f->matrix[a * n + b] += most * f->x[a] * f->x[b];
  }
}

/* Takes one step and returns its length relative to the norm of the new parameters. */
static double take_step(const fold *f) {
  const size_t n = f->p->size;
  double moved = 0, length = 0;
  for (size_t j = 0; j < n; j++) f->step[j] = f->p->precision[j] * (f->at[j] - f->p->mean[j]);
  for (size_t i = 0; i < f->count; i++) {
    double z = event_features(f, i, f->x);
    for (size_t j = 0; j < n; j++) z += f->x[j] * f->at[j];
    const double slope = slope_of(f, z, f->events[i].label);
    for (size_t j = 0; j < n; j++) f->step[j] += slope * f->x[j];
  }
  solve(f->matrix, f->p->size, f->step);
  for (size_t j = 0; j < n; j++) {
    f->at[j] -= f->step[j];
    moved += f->step[j] * f->step[j];
    length += f->at[j] * f->at[j];
  }
  return sqrt(moved) / (sqrt(length) + 1e-9);
}

/* ---- One user of a model that orders items ------------------------------------------------------------------ */

/* The objective at a user's parameters, and its gradient. */
static double order_objective(const fold *f, const double *at, double *gradient) {
  const prior *p = f->p;
  const size_t last = p->size - 1;
  double objective = 0;
  for (size_t j = 0; j < p->size; j++) {
    gradient[j] = 0;
    for (size_t k = 0; k < p->size; k++) gradient[j] += p->inverse[j * p->size + k] * (at[k] - p->mean[k]);
    objective += 0.5 * gradient[j] * (at[j] - p->mean[j]);
  }
  const double level = find_chances(f->r, p, at, f->chances);
  for (size_t i = 0; i < f->count; i++) {
    const float *v = f->r->vectors + (size_t)f->events[i].item * f->r->d;
    double z = v[last];
    for (size_t j = 0; j < last; j++) {
      z += at[j] * v[j];
      gradient[j] -= v[j];
    }
    objective += level - z;
  }
  add_mean_item(f->r, p, f->chances, (double)f->count, gradient);
  return objective;
}

static void make_order_matrix(const fold *f) {
  const size_t n = f->p->size;
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b <= a; b++)
      f->matrix[a * n + b] = (double)f->count * f->p->covariance[a * n + b] + f->p->inverse[a * n + b];
}

/* `x` is the gradient, `trial` a point that may become `at`. */
static void follow_order(const fold *f) {
  const size_t n = f->p->size;
  double objective = order_objective(f, f->at, f->x), size = 1;
  for (size_t i = 0; i < MOST_ORDER_STEPS; i++) {
    double lower = objective;
    memcpy(f->step, f->x, n * sizeof *f->step);
    solve(f->matrix, f->p->size, f->step);
    for (size_t h = 0; h < MOST_HALVINGS; h++, size /= 2) {
      for (size_t j = 0; j < n; j++) f->trial[j] = f->at[j] - size * f->step[j];
      lower = order_objective(f, f->trial, f->x);
      if (lower < objective) break;
    }
    if (!(lower < objective)) return;
    memcpy(f->at, f->trial, n * sizeof *f->at);
    const bool settled = objective - lower < 1e-7 * (fabs(lower) + 1);
    objective = lower;
    if (settled) return;
    size = size < 1 ? 2 * size : 1;
  }
}

/* ---- All users ------------------------------------------------------------------------------------------ */

static void fold_to(const fold *f) {
  memcpy(f->at, f->p->mean, f->p->size * sizeof *f->at);
  if (f->p->loss == FOLD_ORDER)
    make_order_matrix(f);
  else
    make_matrix(f);
  factorise(f->matrix, f->p->size);
  if (f->p->loss == FOLD_ORDER) {
    follow_order(f);
    return;
  }
  for (size_t i = 0; i < MOST_STEPS && take_step(f) > 1e-9; i++) continue;
}

static furrow_status fold_user(const furrow_recommender *r, const prior *p, const new_event *events, size_t count,
                               float *query, double *level, furrow_error *err) {
  const size_t n = p->size;
  double *memory = NULL;
  FW_TRY(FW_ALLOC(&memory, n * n + 4 * n + p->item_count, err));
  const fold f = {.r = r,
                  .p = p,
                  .events = events,
                  .count = count,
                  .matrix = memory,
                  .x = memory + n * n,
                  .step = memory + n * n + n,
                  .at = memory + n * n + 2 * n,
                  .trial = memory + n * n + 3 * n,
                  .chances = memory + n * n + 4 * n};
  fold_to(&f);
  for (size_t j = 0; j + 1 < n; j++) query[j] = (float)f.at[j];
  query[n - 1] = 1;
  *level = p->bias + f.at[n - 1];
  fw_free(memory);
  return FURROW_OK;
}

typedef struct folding {
  const furrow_recommender *r;
  const prior *p;
  furrow_new_users *users;
} folding;

static furrow_status fold_part(void *context, size_t first, size_t count, furrow_error *err) {
  const folding *f = context;
  for (size_t i = first; i < first + count; i++) {
    const newcomer *user = &f->users->users[i];
    FW_TRY(fold_user(f->r, f->p, f->users->events + user->first, user->count, f->users->queries + i * f->r->d,
                     &f->users->levels[i], err));
  }
  return FURROW_OK;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

typedef struct reading {
  const furrow_recommender *r;
  furrow_new_users *to;
} reading;

static furrow_status take_event(void *user, const fw_log_event *event, furrow_error *err) {
  const reading *of = user;
  const fw_table_cell *who = event->user, *item = event->item;
  furrow_new_users *to = of->to;
  uint64_t number = 0;
  to->info.rows++;
  if (who->kind != FW_TABLE_TEXT || memchr(who->text, 0, who->length)) {
    to->info.unknown_users++;
    return FURROW_OK;
  }
  if (!fw_entries_find(of->r, &of->r->items, item, &number)) {
    to->info.unknown_items += item->kind != FW_TABLE_MISSING;
    return FURROW_OK;
  }
  const float label = (float)event->label;
  FW_TRY(FW_GROW(&to->events, &to->event_capacity, to->event_count + 1, err));
  to->events[to->event_count] =
      (new_event){.name = to->names.size,
                  .order = to->event_count,
                  .time = event->time,
                  .item = (uint32_t)number,
                  .label = of->r->log_model ? label : fw_transform_label(&of->r->scorer->plan->data, label)};
  to->event_count++;
  fw_buffer_append(&to->names, who->text, who->length);
  fw_buffer_byte(&to->names, 0);
  return fw_buffer_status(&to->names, err);
}

static int compare_events(const void *a, const void *b, void *names) {
  const new_event *x = a, *y = b;
  const int order = strcmp((const char *)names + x->name, (const char *)names + y->name);
  if (order != 0) return order;
  if (x->item != y->item) return x->item < y->item ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_new_times(const void *a, const void *b, void *names) {
  const new_event *x = a, *y = b;
  const int order = strcmp((const char *)names + x->name, (const char *)names + y->name);
  if (order != 0) return order;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_users(const void *a, const void *b) {
  const newcomer *x = a, *y = b;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* Groups the events by user. Unless all events count, the last one of a user's events with the same item does. */
static furrow_status group_events(furrow_new_users *to, bool all, furrow_error *err) {
  size_t kept = 0;
  if (to->event_count == 0) return FURROW_OK;
  qsort_r(to->events, to->event_count, sizeof *to->events, all ? compare_new_times : compare_events, to->names.bytes);
  for (size_t i = 0; i < to->event_count; i++) {
    const new_event *e = &to->events[i], *before = kept ? &to->events[kept - 1] : NULL;
    const bool same = before && strcmp(to->names.bytes + before->name, to->names.bytes + e->name) == 0;
    if (!same) {
      FW_TRY(FW_GROW(&to->users, &to->capacity, to->count + 1, err));
      to->users[to->count++] = (newcomer){.first = kept, .order = e->order};
    }
    newcomer *user = &to->users[to->count - 1];
    if (e->order < user->order) user->order = e->order;
    if (same && !all && before->item == e->item) kept--;
    to->events[kept++] = *e;
    user->count = kept - user->first;
  }
  to->event_count = kept;
  qsort(to->users, to->count, sizeof *to->users, compare_users);
  return FURROW_OK;
}

static furrow_status fold_all(const furrow_recommender *r, furrow_new_users *to, unsigned threads, furrow_error *err) {
  prior p = {0};
  fw_pool *pool = NULL;
  folding f = {.r = r, .p = &p, .users = to};
  furrow_status status = FW_ALLOC_ROWS(&to->queries, to->count, r->d, err);
  if (status == FURROW_OK) status = FW_ALLOC(&to->levels, to->count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&to->items, to->event_count, err);
  for (size_t i = 0; status == FURROW_OK && i < to->event_count; i++) to->items[i] = to->events[i].item;
  if (status == FURROW_OK) status = make_prior(r, &p, err);
  if (status == FURROW_OK) status = fw_parallel_start(&pool, threads, err);
  if (status == FURROW_OK) status = fw_parallel_run(pool, to->count, PART, fold_part, &f, err);
  fw_pool_free(pool);
  clear_prior(&p);
  if (status != FURROW_OK) return status;
  const size_t bad = furrow_first_invalid_vector(to->queries, to->count, r->d);
  if (bad == to->count) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "the events of the user %s do not lead to a finite vector",
                 furrow_new_users_name(to, bad));
}

/* The events in the order of the users, as a recommender of a log takes them. */
static furrow_status make_log(const furrow_recommender *r, furrow_new_users *to, furrow_error *err) {
  fw_interactions *log = &to->log;
  size_t at = 0;
  *log = (fw_interactions){.users = to->count,
                           .items = r->items.count,
                           .in_order = r->log_model->events.in_order,
                           .deviation = r->log_model->events.deviation};
  FW_TRY(FW_ALLOC_ZERO(&log->offset, to->count + 1, err));
  FW_TRY(FW_ALLOC(&log->item, to->event_count, err));
  FW_TRY(FW_ALLOC(&log->time, to->event_count, err));
  FW_TRY(FW_ALLOC(&log->strength, to->event_count, err));
  for (size_t u = 0; u < to->count; u++) {
    const new_event *events = to->events + to->users[u].first;
    for (size_t i = 0; i < to->users[u].count; i++, at++) {
      log->item[at] = events[i].item;
      log->time[at] = events[i].time;
      log->strength[at] = r->log_model->events.rated ? events[i].label : 0;
    }
    log->offset[u + 1] = at;
    if (r->log_model->events.rated)
      fw_interactions_rate(log->strength + log->offset[u], to->users[u].count, log->deviation);
  }
  return FURROW_OK;
}

/* Copies the groups of users whose names the model knows. */
static furrow_status find_groups(const furrow_recommender *r, furrow_new_users *to, furrow_error *err) {
  const fw_sparse_rows *known = r->log_model->events.groups;
  size_t capacity = 0, end = 0;
  if (!known) return FURROW_OK;
  FW_TRY(FW_ALLOC_ZERO(&to->groups.offset, to->count + 1, err));
  for (size_t i = 0; i < to->count; i++) {
    const char *name = furrow_new_users_name(to, i);
    uint64_t user = 0;
    const bool found = furrow_recommender_find_user(r, name, strlen(name), &user, NULL) == FURROW_OK;
    const size_t from = found ? known->offset[user] : 0, count = found ? known->offset[user + 1] - from : 0;
    FW_TRY(FW_GROW(&to->groups.column, &capacity, end + count + 1, err));
    for (size_t g = 0; g < count; g++) to->groups.column[end++] = known->column[from + g];
    to->groups.offset[i + 1] = end;
  }
  to->log.groups = &to->groups;
  return FURROW_OK;
}

static furrow_status load_events(furrow_new_users *made, const furrow_recommender *r, const char *uri,
                                 const furrow_events_params *params, furrow_error *err) {
  reading of = {.r = r, .to = made};
  void *const users[1] = {&of};
  furrow_events_params one = *params;
  one.threads = 1; /* keeps the events in the order of the log */
  const bool of_log = r->log_model != NULL;
  const fw_event_log log = {.r = r,
                            .uri = uri,
                            .params = &one,
                            .labels = of_log || loss_of(r) != FOLD_ORDER,
                            .times = of_log,
                            .optional = of_log,
                            .take = take_event};
  if (of_log && one.from == -HUGE_VAL && !isnan(r->log_model->positive)) one.from = r->log_model->positive;
  FW_TRY(fw_event_log_read(&log, users, &made->info.below, &made->info.bad, err));
  FW_TRY(group_events(made, of_log, err));
  made->info.users = made->count;
  if (of_log) FW_TRY(make_log(r, made, err));
  if (of_log) return find_groups(r, made, err);
  return fold_all(r, made, params->threads, err);
}

furrow_status furrow_new_users_load(furrow_new_users **users, const furrow_recommender *recommender, const char *uri,
                                    const furrow_events_params *params, furrow_error *err) {
  furrow_events_params used;
  furrow_new_users *made = NULL;
  furrow_events_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_events_params, err));
  if (!recommender->log_model && (recommender->kind != FW_VECTORS_ALL || recommender->d < 2))
    return fw_fail(err, FURROW_E_UNSUPPORTED,
                   "recommending to new users needs a recommender of a log or a factorization machine (fm)");
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  const furrow_status status = load_events(made, recommender, uri, &used, err);
  return FW_HAND_OVER(status, users, made, furrow_new_users_free);
}

void furrow_new_users_free(furrow_new_users *users) {
  if (!users) return;
  fw_buffer_clear(&users->names);
  fw_free(users->events);
  fw_free(users->users);
  fw_free(users->queries);
  fw_free(users->levels);
  fw_free(users->items);
  fw_interactions_clear(&users->log);
  fw_sparse_rows_clear(&users->groups);
  fw_free(users);
}

size_t furrow_new_users_count(const furrow_new_users *users) {
  return users->count;
}

const char *furrow_new_users_name(const furrow_new_users *users, size_t i) {
  return i < users->count ? users->names.bytes + users->events[users->users[i].first].name : NULL;
}

void furrow_new_users_get_info(const furrow_new_users *users, furrow_events_info *info) {
  fw_info_write(info, &users->info, sizeof users->info);
}

/* ---- Recommending --------------------------------------------------------------------------------------- */

typedef struct searching {
  const furrow_recommender *r;
  const furrow_new_users *users;
  const furrow_recommend_params *params;
  furrow_recommendation *results;
} searching;

static void write_results(const searching *s, size_t user, const fw_scored *found, size_t wanted) {
  for (size_t i = 0; i < s->params->k; i++) {
    const bool there = i < wanted && found[i].item != FW_NO_ITEM;
    s->results[user * s->params->k + i] =
        (furrow_recommendation){.item = there ? found[i].item : FURROW_NO_ITEM,
                                .score = there ? s->users->levels[user] + found[i].score : -INFINITY};
  }
}

static furrow_status search_part(void *context, size_t first, size_t count, furrow_error *err) {
  const searching *s = context;
  const size_t k = fw_recommender_wanted(s->r, s->params->k, 0);
  fw_item_set seen[FW_SEARCH_USERS];
  fw_scored *found = NULL;
  uint64_t compared = 0;
  FW_TRY(FW_ALLOC_ROWS(&found, count, k, err));
  for (size_t i = 0; i < count; i++) {
    const newcomer *user = &s->users->users[first + i];
    seen[i] = (fw_item_set){.items = s->users->items + user->first, .count = user->count};
  }
  const fw_item_query query = {.queries = s->users->queries + first * s->r->d,
                               .count = count,
                               .k = k,
                               .allowed = s->params->allowed,
                               .seen = seen};
  const furrow_status status = fw_item_search_run(s->r->search, &query, found, &compared, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++) write_results(s, first + i, found + i * k, k);
  fw_free(found);
  return status;
}

furrow_status furrow_recommender_recommend_new(const furrow_recommender *recommender, const furrow_new_users *users,
                                               const furrow_recommend_params *params, furrow_recommendation *results,
                                               furrow_error *err) {
  furrow_recommend_params used;
  fw_pool *pool = NULL;
  furrow_recommend_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_recommend_params, err));
  if (used.k == 0 || used.k > UINT32_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "k must be 1 to 4294967295");
  if (used.context_count > 0)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "items for new users cannot be chosen with a context");
  used.seen = NULL; /* it is about users of the model */
  if (recommender->log_model)
    return fw_events_recommend(recommender, &users->log, NULL, users->count, &used, results, err);
  searching s = {.r = recommender, .users = users, .params = &used, .results = results};
  furrow_status status = fw_parallel_start(&pool, used.threads, err);
  if (status == FURROW_OK) status = fw_parallel_run(pool, users->count, FW_SEARCH_USERS, search_part, &s, err);
  fw_pool_free(pool);
  return status;
}

furrow_status furrow_recommender_explain_new(const furrow_recommender *recommender, const furrow_new_users *users,
                                             size_t i, uint64_t item, furrow_recommend_reason *reasons, size_t count,
                                             size_t *found, furrow_error *err) {
  return fw_events_explain(recommender, &users->log, i, item, reasons, count, found, err);
}
