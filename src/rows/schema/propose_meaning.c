/* rows/schema/propose_meaning.c: which columns are label, weight, group, user, item and time, by name and content. */
#include <stdint.h>

#include "base/error.h"
#include "rows/schema/column_names.h"
#include "rows/schema/propose.h"

void fw_evidence_close(fw_evidence *e) {
  e->distinct = fw_column_sketch_distinct(&e->sketch, &e->exact);
}

static bool is_given(const fw_evidence *columns, size_t count, fw_meaning meaning) {
  for (size_t i = 0; i < count; i++)
    if (columns[i].meaning == meaning) return true;
  return false;
}

static bool is_free(const fw_evidence *e) {
  return e->meaning == FW_MEANS_NOTHING && e->sketch.cells > 0;
}

/* Whether its values can be identifiers: integers or texts, not fractions or lists of several. */
static bool can_be_id(const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  if (s->lists > 0) return s->elements[FW_SEPARATOR_LIST].elements == s->lists;
  fw_time_unit unit;
  return s->integers == s->numbers && !(fw_column_sketch_unit(s, &unit) && unit == FW_UNIT_TEXT);
}

/* Whether nearly all of its cells can be times; numbers only if their name says so. */
static bool can_be_time(const fw_evidence *e) {
  fw_time_unit unit;
  if (!fw_column_sketch_unit(&e->sketch, &unit)) return false;
  return unit == FW_UNIT_TEXT || fw_role_name_rank(FW_ROLE_TIME, e->name) != SIZE_MAX;
}

/* ---- Ranks: the least counts, SIZE_MAX does not ---- */

/* Numbers, or names of classes. */
static bool can_be_label(const fw_evidence *e) {
  if (e->sketch.lists > 0) return false;
  return fw_column_sketch_mostly_numbers(&e->sketch) || (e->exact && e->distinct >= 2);
}

static size_t rank_label(const fw_evidence *e) {
  return can_be_label(e) ? fw_label_name_rank(e->name) : SIZE_MAX;
}

static size_t rank_likely_label(const fw_evidence *e) {
  return can_be_label(e) ? fw_likely_label_name_rank(e->name) : SIZE_MAX;
}

static size_t rank_weight(const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  return fw_is_weight_name(e->name) && s->numbers > 0 && s->numbers == fw_column_sketch_present(s) && s->least >= 0
             ? 0
             : SIZE_MAX;
}

static size_t rank_group(const fw_evidence *e) {
  return fw_is_group_name(e->name) && can_be_id(e) ? 0 : SIZE_MAX;
}

static size_t rank_user(const fw_evidence *e) {
  return can_be_id(e) ? fw_role_name_rank(FW_ROLE_USER, e->name) : SIZE_MAX;
}

static size_t rank_item(const fw_evidence *e) {
  return can_be_id(e) ? fw_role_name_rank(FW_ROLE_ITEM, e->name) : SIZE_MAX;
}

/* A column of times whose name does not say so comes last. */
static size_t rank_time(const fw_evidence *e) {
  if (!can_be_time(e)) return SIZE_MAX;
  const size_t rank = fw_role_name_rank(FW_ROLE_TIME, e->name);
  return rank == SIZE_MAX ? SIZE_MAX - 1 : rank;
}

static fw_evidence *find_best(fw_evidence *columns, size_t count, size_t (*rank)(const fw_evidence *)) {
  fw_evidence *best = NULL;
  size_t least = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    const size_t r = is_free(&columns[i]) ? rank(&columns[i]) : SIZE_MAX;
    if (r >= least) continue;
    least = r;
    best = &columns[i];
  }
  return best;
}

static void find_meaning(fw_evidence *columns, size_t count, fw_meaning meaning, size_t (*rank)(const fw_evidence *)) {
  if (is_given(columns, count, meaning)) return;
  fw_evidence *best = find_best(columns, count, rank);
  if (best) best->meaning = meaning;
}

/* Labels by another name: what the model is to predict must not be a feature. */
static void mark_other_labels(fw_evidence *columns, size_t count) {
  const fw_evidence *label = NULL;
  for (size_t i = 0; i < count; i++)
    if (columns[i].meaning == FW_MEANS_LABEL) label = &columns[i];
  for (size_t i = 0; i < count; i++)
    if (is_free(&columns[i]) && fw_is_outcome_name(columns[i].name)) columns[i].other = label ? label->name : "";
}

/* Where a user is known and no name says item: the only identifier that repeats. */
static void find_only_id(fw_evidence *columns, size_t count) {
  enum { LEAST = 10 };
  fw_evidence *only = NULL;
  if (is_given(columns, count, FW_MEANS_ITEM) || !is_given(columns, count, FW_MEANS_USER)) return;
  for (size_t i = 0; i < count; i++) {
    fw_evidence *e = &columns[i];
    if (!is_free(e) || !fw_is_id_name(e->name) || !can_be_id(e)) continue;
    if (e->distinct < LEAST || (double)e->distinct > 0.9 * (double)e->sketch.cells) continue;
    if (only) return;
    only = e;
  }
  if (only) only->meaning = FW_MEANS_ITEM;
}

/* A label that is not the one that was meant would be found out late. */
static furrow_status check_labels(const fw_evidence *columns, size_t count, size_t (*rank_of)(const fw_evidence *),
                                  furrow_error *err) {
  fw_buffer names = {0};
  size_t several = 0, best = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    const size_t rank = is_free(&columns[i]) ? rank_of(&columns[i]) : SIZE_MAX;
    if (rank == SIZE_MAX) continue;
    fw_buffer_format(&names, "%s%s", several > 0 ? ", " : "", columns[i].name);
    several++;
    if (rank < best) best = rank;
  }
  fw_buffer_byte(&names, 0);
  furrow_status status = fw_buffer_status(&names, err);
  if (status == FURROW_OK && several > 1 && best > 0)
    status = fw_fail(err, FURROW_E_ARGUMENT, "label: several columns may be it, by their names: %s; name one, or \"\"",
                     names.bytes);
  fw_buffer_clear(&names);
  return status;
}

static furrow_status find_label(fw_evidence *columns, size_t count, size_t (*rank)(const fw_evidence *),
                                furrow_error *err) {
  if (is_given(columns, count, FW_MEANS_LABEL)) return FURROW_OK;
  FW_TRY(check_labels(columns, count, rank, err));
  find_meaning(columns, count, FW_MEANS_LABEL, rank);
  return FURROW_OK;
}

furrow_status fw_evidence_find_meanings(fw_evidence *columns, size_t count, bool label, furrow_error *err) {
  if (label) FW_TRY(find_label(columns, count, rank_label, err));
  if (label) FW_TRY(find_label(columns, count, rank_likely_label, err));
  mark_other_labels(columns, count);
  find_meaning(columns, count, FW_MEANS_WEIGHT, rank_weight);
  find_meaning(columns, count, FW_MEANS_USER, rank_user);
  find_meaning(columns, count, FW_MEANS_ITEM, rank_item);
  find_meaning(columns, count, FW_MEANS_GROUP, rank_group);
  find_meaning(columns, count, FW_MEANS_TIME, rank_time);
  find_only_id(columns, count);
  return FURROW_OK;
}
