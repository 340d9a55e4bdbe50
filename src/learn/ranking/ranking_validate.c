/* learn/ranking/ranking_validate.c: how a factorization machine ranks all items for users of whose rows some were held
 * out.
 */
#include "base/error.h"
#include "kern/math/gemm.h"
#include "learn/ranking/ranking_machine.h"

enum { TOP = 10, USERS_AT_ONCE = 8, ROUND = 64, USERS_MAX = 4096 };

/* Users with rows for validation, and all items. */
typedef struct validation {
  fw_ranking_trainer *trainer;
  fw_arena memory; /* memory of all arrays below */
  size_t users;
  size_t *offset;      /* users + 1 */
  uint32_t *row;       /* rows of each user, in their order */
  float *q, *own;      /* of items */
  size_t first;        /* user of this round */
  float *p;            /* ROUND users */
  float *scores;       /* ROUND * items */
  double *loss, *ndcg; /* of users */
} validation;

/* Lists users with validation rows; if there are very many, an evenly spread selection. */
static void list_users(validation *v, size_t *end) {
  const fw_ranking_data *data = v->trainer->data;
  const fw_ranking_events *rows = &data->valid;
  const size_t each = data->users.count / USERS_MAX + 1;
  memset(end, 0, (data->users.count + 1) * sizeof *end);
  for (size_t i = 0; i < rows->count; i++) end[rows->user[i] + 1] += rows->user[i] % each == 0;
  for (size_t u = 1; u <= data->users.count; u++) end[u] += end[u - 1];
  for (size_t i = 0; i < rows->count; i++)
    if (rows->user[i] % each == 0) v->row[end[rows->user[i]]++] = (uint32_t)i;
  v->offset[0] = 0;
  for (size_t u = 0; u < data->users.count; u++)
    if (end[u] > v->offset[v->users]) v->offset[++v->users] = end[u];
}

static furrow_status make_validation(validation *v, furrow_error *err) {
  const fw_ranking_trainer *t = v->trainer;
  const size_t rows = t->data->valid.count, items = t->data->items.count, users = t->data->users.count;
  size_t *end = NULL;
  FW_TRY(FW_ARENA_TAKE(&v->memory, &end, users + 1, err));
  FW_TRY(FW_ARENA_TAKE(&v->memory, &v->offset, users + 1, err));
  FW_TRY(FW_ARENA_TAKE(&v->memory, &v->row, rows, err));
  list_users(v, end);
  FW_TRY(fw_ranking_zeros(&v->memory, &v->q, items, t->factors, err));
  FW_TRY(fw_ranking_zeros(&v->memory, &v->own, items, 1, err));
  FW_TRY(fw_ranking_zeros(&v->memory, &v->p, ROUND, t->factors, err));
  FW_TRY(fw_ranking_zeros(&v->memory, &v->scores, ROUND, items, err));
  FW_TRY(FW_ARENA_TAKE(&v->memory, &v->loss, v->users, err));
  return FW_ARENA_TAKE(&v->memory, &v->ndcg, v->users, err);
}

static void sum_all_items(void *context, size_t task) {
  validation *v = context;
  const fw_ranking_trainer *t = v->trainer;
  const size_t end = fw_ranking_least(t->data->items.count, (task + 1) * FW_RANKING_ITEMS_AT_ONCE), d = t->factors;
  for (size_t i = task * FW_RANKING_ITEMS_AT_ONCE; i < end; i++)
    v->own[i] = fw_ranking_score_item(t, (uint32_t)i, v->q + i * d);
}

/* The items with the highest scores, best first; of the same score the earlier number first. */
static size_t best_items(const float *scores, size_t items, uint32_t top[TOP]) {
  size_t count = 0;
  for (size_t i = 0; i < items; i++) {
    if (!(scores[i] > -INFINITY) || (count == TOP && !(scores[i] > scores[top[TOP - 1]]))) continue;
    size_t at = count < TOP ? count++ : TOP - 1;
    for (; at > 0 && scores[i] > scores[top[at - 1]]; at--) top[at] = top[at - 1];
    top[at] = (uint32_t)i;
  }
  return count;
}

static double ideal_gain(size_t relevant) {
  double sum = 0;
  for (size_t i = 0; i < relevant && i < TOP; i++) sum += 1 / log2((double)i + 2);
  return sum;
}

/* Whether the user has the item in his rows for validation, before `end`. */
static bool is_held_out(const validation *v, size_t user, size_t end, uint32_t item) {
  for (size_t i = v->offset[user]; i < end; i++)
    if (v->trainer->data->valid.item[v->row[i]] == item) return true;
  return false;
}

/* An item that is held out and in training rows, too, is not ranked. */
static void judge_user(validation *v, size_t user, float *scores) {
  const fw_ranking_data *data = v->trainer->data;
  const size_t items = data->items.count;
  const uint32_t number = data->valid.user[v->row[v->offset[user]]];
  uint32_t top[TOP];
  size_t relevant = 0;
  double gain = 0, sum = 0;
  for (size_t i = 0; i < items; i++) scores[i] += v->own[i];
  for (size_t i = data->seen_offset[number]; i < data->seen_offset[number + 1]; i++) scores[data->seen[i]] = -INFINITY;
  for (size_t i = v->offset[user]; i < v->offset[user + 1]; i++) {
    const uint32_t item = data->valid.item[v->row[i]];
    if (!(scores[item] > -INFINITY) || is_held_out(v, user, i, item)) continue;
    sum += (double)scores[item];
    relevant++;
  }
  const size_t count = best_items(scores, items, top);
  for (size_t i = 0; i < count; i++)
    if (is_held_out(v, user, v->offset[user + 1], top[i])) gain += 1 / log2((double)i + 2);
  const float most = fw_largest(scores, items);
  v->ndcg[user] = relevant > 0 ? gain / ideal_gain(relevant) : NAN;
  v->loss[user] = log((double)fw_exp_all(scores, items, most)) + (double)most - sum / (double)relevant;
}

static void run_users(void *context, size_t task) {
  validation *v = context;
  const fw_ranking_trainer *t = v->trainer;
  const size_t begin = task * USERS_AT_ONCE, items = t->data->items.count, d = t->factors;
  const size_t end = fw_ranking_least(v->users - v->first, begin + USERS_AT_ONCE);
  for (size_t u = begin; u < end; u++)
    fw_ranking_sum_vectors(t, &t->data->valid.side, v->row[v->offset[v->first + u]], v->p + u * d);
  fw_gemm_table()->nt(end - begin, items, d, v->p + begin * d, d, v->q, d, v->scores + begin * items, items, false);
  for (size_t u = begin; u < end; u++) judge_user(v, v->first + u, v->scores + u * items);
}

static furrow_status validate(validation *v, fw_ranking_validation *figures, furrow_error *err) {
  fw_spin_pool *pool = v->trainer->params.pool;
  FW_TRY(make_validation(v, err));
  fw_spin_pool_run(pool, fw_ranking_tasks(v->trainer->data->items.count, FW_RANKING_ITEMS_AT_ONCE), sum_all_items, v);
  for (v->first = 0; v->first < v->users; v->first += ROUND)
    fw_spin_pool_run(pool, fw_ranking_tasks(fw_ranking_least(ROUND, v->users - v->first), USERS_AT_ONCE), run_users, v);
  *figures = (fw_ranking_validation){.rows = v->trainer->data->valid.count};
  for (size_t u = 0; u < v->users; u++) {
    if (isnan(v->ndcg[u])) continue;
    figures->users++;
    figures->ndcg += v->ndcg[u];
    figures->loss += v->loss[u];
  }
  figures->ndcg /= (double)figures->users; /* 0 / 0: NaN */
  figures->loss /= (double)figures->users;
  return FURROW_OK;
}

furrow_status fw_ranking_trainer_validate(fw_ranking_trainer *t, fw_ranking_validation *figures, furrow_error *err) {
  validation v = {.trainer = t};
  const furrow_status status = validate(&v, figures, err);
  fw_arena_clear(&v.memory);
  return status;
}
