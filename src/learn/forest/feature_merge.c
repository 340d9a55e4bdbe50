/* learn/forest/feature_merge.c: the end of the first pass where rows are divided over ranks.
 *
 * The step of the sample is the least power of two by which the sample is small enough. A rank's own sample has at most
 * as many values as the sample of all ranks' rows, so its step is not larger than the common step, and every rank only
 * has to thin out its rows. Features get their numbers in the order of ranks, as one process would give them. Each rank
 * chooses the cuts of some features: it gets the values of these. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/forest/feature_stats.h"

/* A feature of a rank as it is sent; `values` numbers of another array belong to it: all of a category, or the least
 * and the most. */
typedef struct sent_feature {
  uint64_t id;
  uint32_t count, values;
} sent_feature;

typedef struct feature_list {
  sent_feature *feature;
  float *value;
  uint64_t features, values;
} feature_list;

static void clear_list(feature_list *list) {
  fw_free(list->feature);
  fw_free(list->value);
  *list = (feature_list){0};
}

static furrow_status make_list(feature_list *list, furrow_error *err) {
  FW_TRY(FW_ALLOC(&list->feature, list->features, err));
  return FW_ALLOC(&list->value, list->values, err);
}

/* ---- What this rank knows ---- */

/* The values of a feature that others have to know. */
static size_t values_of(const fw_feature_stats *s, uint32_t number, float *value) {
  const seen *feature = fw_feature_stats_find(s, s->ids[number]);
  const value_set *set = fw_feature_stats_set(s, number);
  const float both[2] = {feature->least, feature->most};
  const size_t n = set ? set->count : feature->least < feature->most ? 2 : 1;
  if (value) memcpy(value, set ? set->value : both, n * sizeof *value);
  return n;
}

static furrow_status list_own(const fw_feature_stats *s, feature_list *list, furrow_error *err) {
  list->features = s->count;
  list->values = 0;
  for (uint32_t i = 0; i < s->count; i++) list->values += values_of(s, i, NULL);
  FW_TRY(make_list(list, err));
  float *value = list->value;
  for (uint32_t i = 0; i < s->count; i++) {
    const uint32_t n = (uint32_t)values_of(s, i, value);
    list->feature[i] = (sent_feature){s->ids[i], fw_feature_stats_find(s, s->ids[i])->count, n};
    value += n;
  }
  return FURROW_OK;
}

/* Resets the counts of features: they are counted again from the lists of all ranks. */
static void forget(fw_feature_stats *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    seen *feature = fw_feature_stats_find(s, s->ids[i]);
    feature->number = FW_NOT_MET;
    feature->count = 0;
  }
  fw_feature_stats_drop_sets(s);
  s->count = 0;
}

/* ---- Lists of all ranks ---- */

static furrow_status take_list(fw_feature_stats *s, const feature_list *list, furrow_error *err) {
  const float *value = list->value;
  for (size_t i = 0; i < list->features; i++) {
    const sent_feature *sent = &list->feature[i];
    const bool category = fw_feature_stats_is_category(s, sent->id);
    void *record = NULL;
    if (s->dense)
      record = &s->columns[sent->id];
    else
      FW_TRY(fw_features_make(s->features, sent->id, &record, err));
    seen *feature = record;
    for (uint32_t k = 0; k < sent->values; k++)
      FW_TRY(fw_feature_stats_note(s, feature, sent->id, *value++, category, err));
    feature->count += sent->count;
  }
  return FURROW_OK;
}

/* The list of rank `root`, on all ranks; `status` is what came before. */
static furrow_status broadcast_list(const furrow_comm *comm, unsigned root, furrow_status status, feature_list *list,
                                    furrow_error *err) {
  uint64_t size[2] = {list->features, list->values};
  FW_TRY(fw_comm_share_status(comm, status, err));
  FW_TRY(comm->broadcast(comm, size, sizeof size, root, err));
  if (comm->rank != root) {
    *list = (feature_list){.features = size[0], .values = size[1]};
    status = make_list(list, err);
  }
  FW_TRY(fw_comm_share_status(comm, status, err));
  FW_TRY(comm->broadcast(comm, list->feature, size[0] * sizeof *list->feature, root, err));
  return comm->broadcast(comm, list->value, size[1] * sizeof *list->value, root, err);
}

static furrow_status merge_lists(fw_feature_stats *s, const furrow_comm *comm, feature_list *own, furrow_error *err) {
  furrow_status status = FURROW_OK;
  forget(s);
  for (unsigned root = 0; root < comm->ranks; root++) {
    feature_list other = {0}, *list = root == comm->rank ? own : &other;
    const furrow_status sent = broadcast_list(comm, root, status, list, err);
    if (sent == FURROW_OK) status = take_list(s, list, err);
    clear_list(&other);
    if (sent != FURROW_OK) return sent;
  }
  return fw_comm_share_status(comm, status, err);
}

/* ---- Rows of all ranks ---- */

/* A rank without rows does not know whether rows are dense or sparse, so ranks share it. */
static furrow_status find_kind(fw_feature_stats *s, const furrow_comm *comm, furrow_error *err) {
  uint64_t kind[4] = {s->columns != NULL, s->features != NULL, s->column_count, s->columns ? ~s->column_count : 0};
  FW_TRY(fw_comm_max_u64(comm, kind, 4, err));
  if ((kind[0] && kind[1]) || (kind[0] && kind[2] != ~kind[3]))
    return fw_fail(err, FURROW_E_STATE, "rows do not have the same columns as earlier rows");
  furrow_status status = FURROW_OK;
  if (kind[0] && !s->columns) status = fw_feature_stats_make_columns(s, kind[2], err);
  if (kind[1] && !s->features) status = fw_feature_stats_make_features(s, err);
  return fw_comm_share_status(comm, status, err);
}

static furrow_status find_step(fw_feature_stats *s, const furrow_comm *comm, furrow_error *err) {
  uint64_t step = s->step;
  FW_TRY(fw_comm_max_u64(comm, &step, 1, err));
  while (s->step < step) fw_feature_stats_thin(s);
  for (;; fw_feature_stats_thin(s)) {
    int64_t size[2] = {(int64_t)s->sample.count, (int64_t)s->sample.rows};
    FW_TRY(fw_comm_sum_i64(comm, size, 2, err));
    if ((size_t)size[0] <= FW_SAMPLE_VALUES || size[1] <= 1) return FURROW_OK;
  }
}

/* Writes which rank chooses the cuts of each feature: about as many uses for each, in the order of ranks. */
static void divide_features(fw_feature_stats *s, const furrow_comm *comm, uint32_t *owner) {
  uint64_t total = 0, before = 0;
  for (uint32_t i = 0; i < s->count; i++) total += fw_feature_stats_find(s, s->ids[i])->count;
  s->chosen_from = s->chosen_to = 0;
  for (uint32_t i = 0; i < s->count; i++) {
    owner[i] = (uint32_t)((double)before / (double)(total + 1) * comm->ranks);
    before += fw_feature_stats_find(s, s->ids[i])->count;
    s->chosen_from += owner[i] < comm->rank;
    s->chosen_to += owner[i] <= comm->rank;
  }
}

/* Orders the sample by the rank that gets it; sizes[rank]: bytes for it. */
static void order_sample(const fw_feature_stats *s, const uint32_t *owner, unsigned ranks, sampled *ordered,
                         size_t *sizes, size_t *at) {
  for (unsigned r = 0; r < ranks; r++) sizes[r] = 0;
  for (size_t i = 0; i < s->sample.count; i++) sizes[owner[s->sample.value[i].number]] += sizeof *ordered;
  for (unsigned r = 0; r < ranks; r++) at[r] = r > 0 ? at[r - 1] + sizes[r - 1] / sizeof *ordered : 0;
  for (size_t i = 0; i < s->sample.count; i++) ordered[at[owner[s->sample.value[i].number]]++] = s->sample.value[i];
}

/* Every rank gets what all ranks have sampled of its features; `own` has the features as they were numbered when the
 * sample was made, and takes the numbers that they have now in place of their counts. */
static furrow_status exchange_sample(fw_feature_stats *s, const furrow_comm *comm, feature_list *own,
                                     furrow_error *err) {
  void *received = NULL;
  uint32_t *owner = NULL;
  sampled *ordered = NULL;
  size_t *sizes = NULL;
  for (size_t i = 0; i < own->features; i++)
    own->feature[i].count = fw_feature_stats_find(s, own->feature[i].id)->number - 1;
  for (size_t i = 0; i < s->sample.count; i++)
    s->sample.value[i].number = own->feature[s->sample.value[i].number].count;
  furrow_status status = FW_ALLOC(&owner, s->count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&ordered, s->sample.count, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&sizes, comm->ranks, 2, err);
  status = fw_comm_share_status(comm, status, err);
  if (status == FURROW_OK) {
    divide_features(s, comm, owner);
    order_sample(s, owner, comm->ranks, ordered, sizes, sizes + comm->ranks);
    status = fw_comm_exchange_all(comm, ordered, sizes, &received, sizes + comm->ranks, err);
  }
  if (status == FURROW_OK) {
    fw_free(s->sample.value);
    s->sample.value = received;
    s->sample.count = 0;
    for (unsigned r = 0; r < comm->ranks; r++) s->sample.count += sizes[comm->ranks + r] / sizeof *ordered;
    s->sample.capacity = s->sample.count;
    s->comm = comm;
  }
  fw_free(owner);
  fw_free(ordered);
  fw_free(sizes);
  return status;
}

furrow_status fw_feature_stats_merge(fw_feature_stats *s, const furrow_comm *comm, furrow_error *err) {
  feature_list own = {0};
  uint64_t before = 0;
  fw_feature_stats_finish(s);
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_offset(comm, s->rows, &before, &s->rows, err));
  FW_TRY(find_kind(s, comm, err));
  FW_TRY(find_step(s, comm, err));
  furrow_status status = fw_comm_share_status(comm, list_own(s, &own, err), err);
  if (status == FURROW_OK) status = merge_lists(s, comm, &own, err);
  if (status == FURROW_OK) status = exchange_sample(s, comm, &own, err);
  clear_list(&own);
  return status;
}
