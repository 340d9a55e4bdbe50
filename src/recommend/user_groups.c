/* recommend/user_groups.c: groups of users who share a feature of a table, and what they take. */
#include "recommend/user_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "rows/encode/encoder.h"

enum {
  BINS = 10,         /* groups of a column of numbers: equally many users in each */
  LEAST_USERS = 5,   /* of a group; what fewer users share says little of taste, and much of them */
  MOST_OF_USER = 64, /* groups of a user; words of a text may be more */
  FEW_EVENTS = 4     /* events that are added to an item's, so that one event of a rare item does not say much */
};
#define SURE 4.0 /* standard deviations by which a group has to differ */

/* ---- Features of users ---------------------------------------------------------------------------------- */

/* Adds the features that a user has by tables. */
static furrow_status add_user(const furrow_recommender *r, uint64_t user, furrow_container *rows, fw_sparse_rows *all,
                              size_t capacity[2], furrow_error *err) {
  const fw_field *fields = r->encoder->dictionary.fields;
  furrow_rowblock block;
  furrow_container_clear(rows);
  FW_TRY(fw_recommender_push_user(r, user, rows, err));
  FW_TRY(furrow_container_get_block(rows, &block, err));
  const furrow_row row = furrow_rowblock_row(&block, 0);
  size_t end = all->offset[user];
  FW_TRY(FW_GROW(&all->column, &capacity[0], end + row.length, err));
  FW_TRY(FW_GROW(&all->value, &capacity[1], end + row.length, err));
  for (size_t i = 0; i < row.length && end - all->offset[user] < MOST_OF_USER; i++) {
    const fw_field *field = &fields[furrow_row_get_field(&row, i)];
    if (field->table == SIZE_MAX || field->kind == FW_FIELD_HISTORY) continue;
    all->column[end] = (uint32_t)furrow_row_get_index(&row, i);
    all->value[end++] = (float)furrow_row_get_value(&row, i);
  }
  all->offset[user + 1] = end;
  return FURROW_OK;
}

static int compare_floats(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return x < y ? -1 : x > y;
}

/* The values at which the bins of a number begin, except the first: equally many users in each. */
static void find_bins(float *values, size_t count, float *begins) {
  if (count > 1) qsort(values, count, sizeof *values, compare_floats);
  for (size_t bin = 1; count > 0 && bin < BINS; bin++) begins[bin - 1] = values[bin * count / BINS];
}

/* Replaces the features that are numbers by groups: BINS of each field f, from d->features + f * BINS on. */
static furrow_status split_numbers(const furrow_recommender *r, fw_sparse_rows *all, furrow_error *err) {
  const fw_dictionary *d = &r->encoder->dictionary;
  fw_sparse_rows users = {0}; /* of each feature */
  uint32_t *field = NULL;     /* of each feature that is a number, from 1 on; 0 for the others */
  float *begins = NULL;
  furrow_status status = fw_sparse_rows_transpose(all, &users, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&field, all->columns, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&begins, d->count * (BINS - 1), err);
  for (size_t f = 0; status == FURROW_OK && f < d->count; f++) {
    const uint64_t first = d->fields[f].first;
    if (d->fields[f].side != FURROW_SIDE_USER || !fw_field_is_number(&d->fields[f])) continue;
    field[first] = (uint32_t)f + 1;
    find_bins(users.value + users.offset[first], users.offset[first + 1] - users.offset[first],
              begins + f * (BINS - 1));
  }
  for (size_t i = 0; status == FURROW_OK && i < all->offset[all->rows]; i++) {
    const size_t f = field[all->column[i]];
    size_t bin = 0;
    if (f == 0) continue;
    while (bin + 1 < BINS && all->value[i] >= begins[(f - 1) * (BINS - 1) + bin]) bin++;
    all->column[i] = (uint32_t)(d->features + (f - 1) * BINS + bin);
  }
  fw_sparse_rows_clear(&users);
  fw_free(field);
  fw_free(begins);
  return status;
}

/* Numbers the groups that enough users share, and leaves the others out. */
static furrow_status number_groups(fw_sparse_rows *all, furrow_error *err) {
  uint32_t *users = NULL, groups = 0;
  size_t end = 0;
  FW_TRY(FW_ALLOC_ZERO(&users, all->columns, err));
  for (size_t i = 0; i < all->offset[all->rows]; i++) users[all->column[i]]++;
  for (size_t g = 0; g < all->columns; g++) users[g] = users[g] >= LEAST_USERS ? ++groups : 0;
  for (size_t u = 0, from = 0; u < all->rows; u++) {
    const size_t to = all->offset[u + 1];
    for (; from < to; from++) {
      const uint32_t number = users[all->column[from]];
      if (number == 0) continue;
      all->column[end] = number - 1;
      all->value[end++] = 1;
    }
    all->offset[u + 1] = end;
  }
  all->columns = groups;
  fw_free(users);
  return FURROW_OK;
}

furrow_status fw_user_groups_find(const furrow_recommender *r, fw_sparse_rows *groups, furrow_error *err) {
  const fw_dictionary *d = &r->encoder->dictionary;
  furrow_container *rows = NULL;
  size_t capacity[2] = {0};
  *groups = (fw_sparse_rows){.rows = r->users.count, .columns = d->features + d->count * BINS};
  furrow_status status = FW_ALLOC_ZERO(&groups->offset, groups->rows + 1, err);
  if (status == FURROW_OK && groups->columns >= INT32_MAX) groups->columns = 0;
  if (status != FURROW_OK || groups->columns == 0 || d->table_count == 0) {
    groups->columns = 0;
    return status;
  }
  status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  for (uint64_t u = 0; status == FURROW_OK && u < r->users.count; u++)
    status = add_user(r, u, rows, groups, capacity, err);
  if (status == FURROW_OK) status = split_numbers(r, groups, err);
  if (status == FURROW_OK) status = number_groups(groups, err);
  furrow_container_free(rows);
  return status;
}

/* ---- What groups take ----------------------------------------------------------------------------------- */

/* Scratch of one computation: how many users took each item. */
typedef struct counting {
  const fw_group_params *params;
  uint32_t *all;     /* of all users that count */
  uint32_t *popular; /* the items, the most popular first */
  uint32_t *of;      /* of one group, 0 between two groups */
  uint32_t *listed;  /* items that a user of the group took */
  double total;
} counting;

static bool counts(const counting *c, size_t user) {
  return !c->params->held || !c->params->held[user];
}

static int compare_counts(const void *a, const void *b, void *user) {
  const uint32_t *all = user, x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  if (all[x] != all[y]) return all[x] > all[y] ? -1 : 1;
  return x < y ? -1 : x > y;
}

static furrow_status start_counting(counting *c, furrow_error *err) {
  const fw_sparse_rows *taken = c->params->taken;
  FW_TRY(FW_ALLOC(&c->popular, taken->columns, err));
  FW_TRY(FW_ALLOC_ZERO(&c->all, taken->columns, err));
  FW_TRY(FW_ALLOC_ZERO(&c->of, taken->columns, err));
  FW_TRY(FW_ALLOC(&c->listed, taken->columns, err));
  for (size_t u = 0; u < taken->rows; u++)
    for (size_t i = taken->offset[u]; counts(c, u) && i < taken->offset[u + 1]; i++, c->total++)
      c->all[taken->column[i]]++;
  for (size_t i = 0; i < taken->columns; i++) c->popular[i] = (uint32_t)i;
  qsort_r(c->popular, taken->columns, sizeof *c->popular, compare_counts, c->all);
  return FURROW_OK;
}

/* Counts what the users of a group took; returns how many different items. */
static size_t count_group(counting *c, const fw_sparse_rows *members, size_t group) {
  const fw_sparse_rows *taken = c->params->taken;
  size_t listed = 0;
  for (size_t m = members->offset[group]; m < members->offset[group + 1]; m++) {
    const size_t user = members->column[m];
    if (!counts(c, user)) continue;
    for (size_t i = taken->offset[user]; i < taken->offset[user + 1]; i++)
      if (c->of[taken->column[i]]++ == 0) c->listed[listed++] = taken->column[i];
  }
  fw_sort_u32(c->listed, listed);
  return listed;
}

/* Whether a group takes other items than all users do: a chi-square statistic over the items of which one event or more
 * would be expected. Groups of a column that has nothing to do with taste would only add noise to the product. */
static bool differs(const counting *c, size_t listed) {
  double events = 0, statistic = 0, variance = 0;
  for (size_t i = 0; i < listed; i++) events += c->of[c->listed[i]];
  for (size_t i = 0; i < c->params->taken->columns; i++) {
    const uint32_t item = c->popular[i];
    const double expected = c->all[item] * events / c->total, more = c->of[item] - expected;
    if (!(expected >= 1)) break;
    statistic += more * more / expected - 1;
    variance += 2 + 1 / expected; /* of a Poisson variable */
  }
  return statistic > 0 && statistic > SURE * sqrt(variance);
}

static float factor_of(const counting *c, uint32_t item) {
  const double share = (c->all[item] + FEW_EVENTS) / c->total;
  const double factor = pow(1 + c->of[item] / (c->params->prior * share), c->params->power);
  return (float)fmin(factor, FW_GROUP_FACTOR_MOST);
}

static furrow_status add_group(counting *c, const fw_sparse_rows *members, size_t group, fw_sparse_rows *factors,
                               size_t capacity[2], furrow_error *err) {
  const size_t counted = count_group(c, members, group), at = factors->offset[group];
  const size_t listed = differs(c, counted) ? counted : 0;
  FW_TRY(FW_GROW(&factors->column, &capacity[0], at + listed, err));
  FW_TRY(FW_GROW(&factors->value, &capacity[1], at + listed, err));
  for (size_t i = 0; i < listed; i++) {
    factors->column[at + i] = c->listed[i];
    factors->value[at + i] = factor_of(c, c->listed[i]);
  }
  for (size_t i = 0; i < counted; i++) c->of[c->listed[i]] = 0;
  factors->offset[group + 1] = at + listed;
  return FURROW_OK;
}

furrow_status fw_user_groups_solve(const fw_sparse_rows *groups, const fw_group_params *params, fw_sparse_rows *factors,
                                   furrow_error *err) {
  fw_sparse_rows members = {0};
  counting c = {.params = params};
  size_t capacity[2] = {0};
  *factors = (fw_sparse_rows){.rows = groups->columns, .columns = params->taken->columns};
  furrow_status status = fw_sparse_rows_transpose(groups, &members, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&factors->offset, groups->columns + 1, err);
  if (status == FURROW_OK) status = start_counting(&c, err);
  for (size_t g = 0; status == FURROW_OK && g < groups->columns; g++)
    status = add_group(&c, &members, g, factors, capacity, err);
  fw_sparse_rows_clear(&members);
  fw_free(c.all);
  fw_free(c.popular);
  fw_free(c.of);
  fw_free(c.listed);
  return status;
}
