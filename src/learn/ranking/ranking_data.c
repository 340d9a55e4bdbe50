/* learn/ranking/ranking_data.c: rows of users and items, taken apart. */
#include "learn/ranking/ranking_data.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "learn/net/net_solver.h"

/* ---- Numbers of keys ---- */

static void first_number(const void *context, uint64_t key, void *record) {
  (void)context, (void)key;
  *(uint32_t *)record = FW_NO_NUMBER;
}

static furrow_status numbers_init(fw_ranking_numbers *numbers, furrow_error *err) {
  const fw_features_params params = {.bytes = sizeof(uint32_t), .first = first_number};
  return fw_features_create(&numbers->table, &params, err);
}

static void numbers_clear(fw_ranking_numbers *numbers) {
  fw_features_free(numbers->table);
  fw_free(numbers->key);
}

/* Returns the number of a key; FW_NO_NUMBER: it is not known, and `grow` is false. */
static furrow_status number_of(fw_ranking_numbers *numbers, uint64_t key, bool grow, uint32_t *number,
                               furrow_error *err) {
  void *record = fw_features_find(numbers->table, key);
  *number = record ? *(uint32_t *)record : FW_NO_NUMBER;
  if (record || !grow) return FURROW_OK;
  if (numbers->count >= FW_NO_NUMBER) return fw_fail(err, FURROW_E_RANGE, "more than 4294967295 features or items");
  FW_TRY(FW_GROW(&numbers->key, &numbers->capacity, numbers->count + 1, err));
  FW_TRY(fw_features_make(numbers->table, key, &record, err));
  numbers->key[numbers->count] = key;
  *number = *(uint32_t *)record = (uint32_t)numbers->count++;
  return FURROW_OK;
}

/* ---- Uses ---- */

static void uses_clear(fw_ranking_uses *uses) {
  fw_free(uses->offset);
  fw_free(uses->feature);
  fw_free(uses->value);
}

static size_t uses_size(const fw_ranking_uses *uses) {
  return uses->count > 0 ? uses->offset[uses->count] : 0;
}

/* ---- Rows ---- */

bool fw_ranking_is_positive(const fw_ranking_conf *conf, double label) {
  return conf->has_positive_from ? label >= conf->positive_from : label > 0;
}

bool fw_ranking_is_item_field(const fw_ranking_conf *conf, uint64_t field) {
  for (size_t i = 0; i < conf->item_field_count; i++)
    if (conf->item_fields[i] == field) return true;
  return false;
}

static furrow_status check_fields(const fw_ranking_conf *conf, const furrow_rowblock *rows, furrow_error *err) {
  if (conf->item_field_count == 0) {
    fw_fail(err, FURROW_E_ARGUMENT, "which fields are the item's is not known");
    fw_error_set_hint(err, "set the key `item-fields`, the field of the item's id first");
    return FURROW_E_ARGUMENT;
  }
  if (rows->size == 0 || rows->field.any) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "the rows have no fields: users and items cannot be told apart");
  fw_error_set_hint(err, "libffm and libfm rows have fields: LABEL FIELD:INDEX:VALUE …");
  return FURROW_E_ARGUMENT;
}

static furrow_status item_key(const fw_ranking_conf *conf, const furrow_row *row, uint64_t *key, furrow_error *err) {
  size_t found = 0;
  for (size_t i = 0; i < row->length; i++) {
    if (furrow_row_get_field(row, i) != conf->item_fields[0]) continue;
    *key = furrow_row_get_index(row, i);
    found++;
  }
  if (found == 1) return FURROW_OK;
  const unsigned long long field = conf->item_fields[0];
  if (found == 0) fw_fail(err, FURROW_E_RANGE, "no feature in the field %llu, which has the item's id", field);
  if (found > 1) fw_fail(err, FURROW_E_RANGE, "%zu features in the field %llu, which has the item's id", found, field);
  fw_error_set_hint(err, "the first of the key `item-fields` is the field of the item's id");
  return FURROW_E_RANGE;
}

/* The field that has the user's id: the first of user-fields, else the first of the row that is not the item's. */
static uint64_t user_field(const fw_ranking_conf *conf, const furrow_row *row) {
  uint64_t least = UINT64_MAX;
  if (conf->user_field_count > 0) return conf->user_fields[0];
  for (size_t i = 0; i < row->length; i++) {
    const uint64_t field = furrow_row_get_field(row, i);
    if (field < least && !fw_ranking_is_item_field(conf, field)) least = field;
  }
  return least;
}

/* One number for the features in the user's field; false: there are none. */
static bool user_key(const fw_ranking_conf *conf, const furrow_row *row, uint64_t *key) {
  const uint64_t field = user_field(conf, row);
  size_t found = 0;
  for (size_t i = 0; i < row->length; i++) {
    if (furrow_row_get_field(row, i) != field || field == UINT64_MAX) continue;
    const uint64_t feature = furrow_row_get_index(row, i);
    *key = found++ == 0 ? feature : fw_rng_hash(*key, feature);
  }
  return found > 0;
}

/* Adds a row: the features of one side of an event. */
static furrow_status add_side(fw_ranking_data *data, fw_ranking_uses *uses, const furrow_row *row, bool of_item,
                              bool grow, furrow_error *err) {
  size_t at = uses_size(uses);
  FW_TRY(FW_GROW(&uses->feature, &uses->feature_capacity, at + row->length, err));
  FW_TRY(FW_GROW(&uses->value, &uses->value_capacity, at + row->length, err));
  FW_TRY(FW_GROW(&uses->offset, &uses->offset_capacity, uses->count + 2, err));
  for (size_t i = 0; i < row->length; i++) {
    const double value = furrow_row_get_value(row, i);
    if (fw_ranking_is_item_field(data->conf, furrow_row_get_field(row, i)) != of_item) continue;
    if (!isfinite(value)) return fw_fail(err, FURROW_E_RANGE, "the value %g is not finite", value);
    FW_TRY(number_of(&data->features, furrow_row_get_index(row, i), grow, &uses->feature[at], err));
    uses->value[at] = (float)value;
    at += uses->feature[at] != FW_NO_NUMBER;
  }
  uses->offset[0] = 0;
  uses->offset[++uses->count] = at;
  return FURROW_OK;
}

static furrow_status push_event(fw_ranking_events *to, uint32_t user, uint32_t item, float weight, furrow_error *err) {
  const size_t need = to->count + 1;
  FW_TRY(FW_GROW(&to->user, &to->user_capacity, need, err));
  FW_TRY(FW_GROW(&to->item, &to->item_capacity, need, err));
  FW_TRY(FW_GROW(&to->weight, &to->weight_capacity, need, err));
  to->user[to->count] = user;
  to->item[to->count] = item;
  to->weight[to->count++] = weight;
  return FURROW_OK;
}

/* Each row without a known user counts as a user of its own. */
static furrow_status find_user(fw_ranking_data *data, const furrow_row *row, uint32_t *user, furrow_error *err) {
  uint64_t key = 0;
  if (!user_key(data->conf, row, &key)) key = fw_rng_hash(UINT64_MAX, data->users.count);
  return number_of(&data->users, key, true, user, err);
}

static furrow_status add_row(fw_ranking_data *data, fw_ranking_events *to, const furrow_row *row, bool grow,
                             furrow_error *err) {
  const float weight = furrow_row_get_weight(row);
  uint64_t key = 0;
  uint32_t item = FW_NO_NUMBER, user = FW_NO_NUMBER;
  if (!fw_ranking_is_positive(data->conf, furrow_row_get_label(row))) {
    data->other_rows += to == &data->train;
    return FURROW_OK;
  }
  if (!(weight >= 0) || isinf(weight)) return fw_fail(err, FURROW_E_RANGE, "the weight %g is not one", (double)weight);
  FW_TRY(item_key(data->conf, row, &key, err));
  FW_TRY(number_of(&data->items, key, grow, &item, err));
  if (item == FW_NO_NUMBER) {
    data->unknown_items++;
    return FURROW_OK;
  }
  if (item == data->item_uses.count) FW_TRY(add_side(data, &data->item_uses, row, true, true, err));
  FW_TRY(find_user(data, row, &user, err));
  FW_TRY(add_side(data, &to->side, row, false, grow, err));
  return push_event(to, user, item, weight, err);
}

furrow_status fw_ranking_data_add(fw_ranking_data *data, fw_ranking_events *to, const furrow_rowblock *rows,
                                  const uint32_t *use, size_t count, bool grow, furrow_error *err) {
  const size_t n = use ? count : rows->size;
  FW_TRY(check_fields(data->conf, rows, err));
  for (size_t i = 0; i < n; i++) {
    const size_t at = use ? use[i] : i;
    const furrow_row row = furrow_rowblock_row(rows, at);
    const furrow_status status = add_row(data, to, &row, grow, err);
    if (status == FURROW_E_RANGE) fw_error_prefix_row(err, at + 1);
    FW_TRY(status);
  }
  return FURROW_OK;
}

furrow_status fw_ranking_data_init(fw_ranking_data *data, const fw_ranking_conf *conf, furrow_error *err) {
  *data = (fw_ranking_data){.conf = conf};
  FW_TRY(numbers_init(&data->features, err));
  FW_TRY(numbers_init(&data->items, err));
  return numbers_init(&data->users, err);
}

static void events_clear(fw_ranking_events *events) {
  fw_free(events->user);
  fw_free(events->item);
  fw_free(events->weight);
  uses_clear(&events->side);
}

void fw_ranking_data_clear(fw_ranking_data *data) {
  numbers_clear(&data->features);
  numbers_clear(&data->items);
  numbers_clear(&data->users);
  uses_clear(&data->item_uses);
  events_clear(&data->train);
  events_clear(&data->valid);
  fw_free(data->popularity);
  fw_free(data->seen_offset);
  fw_free(data->seen);
  *data = (fw_ranking_data){0};
}

/* ---- Who has what ---- */

/* Items by user, each once. */
static furrow_status list_seen(fw_ranking_data *data, furrow_error *err) {
  const fw_ranking_events *train = &data->train;
  const size_t users = data->users.count;
  FW_TRY(FW_ALLOC_ZERO(&data->seen_offset, users + 2, err));
  FW_TRY(FW_ALLOC(&data->seen, train->count, err));
  size_t *end = data->seen_offset + 1; /* of each user, while they are filled */
  for (size_t i = 0; i < train->count; i++) end[train->user[i] + 1]++;
  for (size_t u = 1; u <= users; u++) end[u] += end[u - 1];
  for (size_t i = 0; i < train->count; i++) data->seen[end[train->user[i]]++] = train->item[i];
  size_t kept = 0;
  for (size_t u = 0, begin = 0; u < users; u++) {
    const size_t last = end[u];
    fw_sort_u32(data->seen + begin, last - begin);
    data->seen_offset[u] = kept;
    for (size_t i = begin; i < last; i++)
      if (i == begin || data->seen[i] != data->seen[i - 1]) data->seen[kept++] = data->seen[i];
    begin = last;
  }
  data->seen_offset[users] = kept;
  return FURROW_OK;
}

static furrow_status find_shared(fw_ranking_data *data, furrow_error *err) {
  unsigned char *taken = NULL;
  FW_TRY(FW_ALLOC_ZERO(&taken, data->features.count, err));
  const size_t uses = uses_size(&data->item_uses);
  for (size_t i = 0; i < uses; i++) data->shared |= taken[data->item_uses.feature[i]]++ > 0;
  fw_free(taken);
  return FURROW_OK;
}

static furrow_status check_enough(const fw_ranking_data *data, furrow_error *err) {
  if (data->train.count == 0) {
    fw_fail(err, FURROW_E_ARGUMENT, "no row is a positive: all %llu labels are %s",
            (unsigned long long)data->other_rows, data->conf->has_positive_from ? "below positive-from" : "0 or less");
    fw_error_set_hint(err, "a row is a positive if its label is above 0, or from the key `positive-from` on");
    return FURROW_E_ARGUMENT;
  }
  if (data->items.count > 1) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "all rows have the same item: there is nothing to rank it against");
  fw_error_set_hint(err, "the first of the key `item-fields` is the field of the item's id");
  return FURROW_E_ARGUMENT;
}

furrow_status fw_ranking_data_finish(fw_ranking_data *data, furrow_error *err) {
  FW_TRY(check_enough(data, err));
  FW_TRY(FW_ALLOC_ZERO(&data->popularity, data->items.count, err));
  for (size_t i = 0; i < data->train.count; i++) data->popularity[data->train.item[i]]++;
  FW_TRY(list_seen(data, err));
  return find_shared(data, err);
}

bool fw_ranking_data_has(const fw_ranking_data *data, uint32_t user, uint32_t item) {
  size_t low = data->seen_offset[user], high = data->seen_offset[user + 1];
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (data->seen[middle] == item) return true;
    if (data->seen[middle] < item)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

/* ---- Rows for validation ---- */

/* Numbers the users of positives; rows that are not positives have none. */
static furrow_status number_users(fw_ranking_numbers *users, uint32_t *user, const furrow_rowblock *rows,
                                  const fw_ranking_conf *conf, furrow_error *err) {
  for (size_t i = 0; i < rows->size; i++) {
    const furrow_row row = furrow_rowblock_row(rows, i);
    uint64_t key = 0;
    user[i] = FW_NO_NUMBER;
    if (!fw_ranking_is_positive(conf, furrow_row_get_label(&row)) || !user_key(conf, &row, &key)) continue;
    FW_TRY(number_of(users, key, true, &user[i], err));
  }
  return FURROW_OK;
}

/* Positives of a user that are still to come, and how many of them are to be held out. */
typedef struct user_rows {
  size_t left, wanted;
} user_rows;

/* Holds out a user's last rows if rows are in the order of time; otherwise draws without replacement, row by row, so
 * that the order of the rows does not matter. */
static bool is_held_out(user_rows *of, bool last, uint64_t seed, size_t row) {
  const bool out = last ? of->left <= of->wanted : fw_rng_hash(seed, row) % of->left < of->wanted;
  of->left--;
  of->wanted -= out;
  return out;
}

static furrow_status draw_rows(fw_holdout *holdout, const uint32_t *user, size_t rows, size_t users,
                               const fw_ranking_share *share, furrow_error *err) {
  user_rows *of = NULL;
  FW_TRY(FW_ALLOC_ZERO(&of, users, err));
  for (size_t i = 0; i < rows; i++)
    if (user[i] != FW_NO_NUMBER) of[user[i]].left++;
  for (size_t u = 0; u < users; u++) {
    const size_t out = (size_t)floor(share->ratio * (double)of[u].left + 0.5);
    of[u].wanted = out < of[u].left ? out : of[u].left - 1;
  }
  for (size_t i = 0; i < rows; i++) {
    const bool out = user[i] != FW_NO_NUMBER && is_held_out(&of[user[i]], share->last, share->seed, i);
    holdout->fold_of[i] = out ? 0 : 1;
    holdout->rows[holdout->fold_of[i]]++;
  }
  fw_free(of);
  return FURROW_OK;
}

furrow_status fw_ranking_hold_out(fw_holdout *holdout, const furrow_rowblock *rows, const fw_ranking_conf *conf,
                                  const fw_ranking_share *share, furrow_error *err) {
  fw_ranking_numbers users = {0};
  uint32_t *user = NULL;
  *holdout = (fw_holdout){0};
  FW_TRY(check_fields(conf, rows, err));
  FW_TRY(FW_ALLOC(&holdout->fold_of, rows->size, err));
  furrow_status status = FW_ALLOC(&user, rows->size, err);
  if (status == FURROW_OK) status = numbers_init(&users, err);
  if (status == FURROW_OK) status = number_users(&users, user, rows, conf, err);
  if (status == FURROW_OK) status = draw_rows(holdout, user, rows->size, users.count, share, err);
  numbers_clear(&users);
  fw_free(user);
  return status;
}
