/* rows/schema/propose_meaning.c: finds label, weight, group, user, item and time by name and content, and reports
 * doubts. */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "rows/schema/column_names.h"
#include "rows/schema/propose.h"

void fw_evidence_close(fw_evidence *e) {
  e->distinct = fw_column_sketch_distinct(&e->sketch, &e->exact);
}

bool fw_evidence_is_unique(const fw_evidence *e) {
  enum { LEAST_ROWS = 20 }; /* with fewer rows, values may all differ by chance */
  return e->sketch.cells >= LEAST_ROWS && (double)e->distinct >= 0.95 * (double)e->sketch.cells;
}

static fw_evidence *find_meant(fw_evidence *columns, size_t count, fw_meaning meaning) {
  for (size_t i = 0; i < count; i++)
    if (columns[i].meaning == meaning) return &columns[i];
  return NULL;
}

static bool is_free(const fw_evidence *e) {
  return e->meaning == FW_MEANS_NOTHING && e->sketch.cells > 0;
}

/* Whether its values can be identifiers: integers or texts, but not fractions or lists of several elements. */
static bool can_be_id(const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  if (s->lists > 0) return s->elements[FW_SEPARATOR_LIST].elements == s->lists;
  fw_time_unit unit;
  return s->integers == s->numbers.count && !(fw_column_sketch_unit(s, &unit) && fw_time_unit_is_text(unit));
}

/* Whether nearly all cells can be times; numbers count only if the column's name means a time. */
static bool can_be_time(const fw_evidence *e) {
  fw_time_unit unit;
  if (!fw_column_sketch_unit(&e->sketch, &unit)) return false;
  return fw_time_unit_is_text(unit) || fw_role_name_priority(FW_ROLE_TIME, e->name) != SIZE_MAX;
}

/* ---- Priorities: the least one wins, SIZE_MAX does not qualify ---- */

/* Whether it has numbers, or names of classes. */
static bool can_be_label(const fw_evidence *e) {
  if (e->sketch.lists > 0) return false;
  return fw_column_sketch_mostly_numbers(&e->sketch) || (e->exact && e->distinct >= 2);
}

static size_t priority_of_label(const fw_evidence *e) {
  return can_be_label(e) ? fw_label_name_priority(e->name) : SIZE_MAX;
}

static size_t priority_of_likely_label(const fw_evidence *e) {
  return can_be_label(e) ? fw_likely_label_name_priority(e->name) : SIZE_MAX;
}

static size_t priority_of_weight(const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  return fw_is_weight_name(e->name) && s->numbers.count > 0 && s->numbers.count == fw_column_sketch_present(s) &&
                 s->numbers.least >= 0
             ? 0
             : SIZE_MAX;
}

static size_t priority_of_group(const fw_evidence *e) {
  return fw_is_group_name(e->name) && can_be_id(e) ? 0 : SIZE_MAX;
}

static size_t priority_of_user(const fw_evidence *e) {
  return can_be_id(e) ? fw_role_name_priority(FW_ROLE_USER, e->name) : SIZE_MAX;
}

static size_t priority_of_item(const fw_evidence *e) {
  return can_be_id(e) ? fw_role_name_priority(FW_ROLE_ITEM, e->name) : SIZE_MAX;
}

/* A column of times whose name does not mean a time comes last. */
static size_t priority_of_time(const fw_evidence *e) {
  if (!can_be_time(e)) return SIZE_MAX;
  const size_t priority = fw_role_name_priority(FW_ROLE_TIME, e->name);
  return priority == SIZE_MAX ? SIZE_MAX - 1 : priority;
}

static fw_evidence *find_best(fw_evidence *columns, size_t count, size_t (*priority)(const fw_evidence *)) {
  fw_evidence *best = NULL;
  size_t least = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    const size_t r = is_free(&columns[i]) ? priority(&columns[i]) : SIZE_MAX;
    if (r >= least) continue;
    least = r;
    best = &columns[i];
  }
  return best;
}

static void find_meaning(fw_evidence *columns, size_t count, fw_meaning meaning,
                         size_t (*priority)(const fw_evidence *)) {
  if (find_meant(columns, count, meaning)) return;
  fw_evidence *best = find_best(columns, count, priority);
  if (best) best->meaning = meaning;
}

/* Marks labels by another name: the value that the model predicts must not be a feature. */
static void mark_other_labels(fw_evidence *columns, size_t count) {
  const fw_evidence *label = NULL;
  for (size_t i = 0; i < count; i++)
    if (columns[i].meaning == FW_MEANS_LABEL) label = &columns[i];
  for (size_t i = 0; i < count; i++)
    if (is_free(&columns[i]) && fw_is_outcome_name(columns[i].name)) columns[i].other = label ? label->name : "";
}

/* If no user (or no item) occurs twice, the column is taken for an identifier of rows. The exception is a log without a
 * label in which the other identifier repeats: a log with one event per user (or item). */
static void drop_row_ids(fw_evidence *columns, size_t count) {
  fw_evidence *user = find_meant(columns, count, FW_MEANS_USER), *item = find_meant(columns, count, FW_MEANS_ITEM);
  const bool unique_user = user && fw_evidence_is_unique(user), unique_item = item && fw_evidence_is_unique(item);
  const bool label = find_meant(columns, count, FW_MEANS_LABEL) != NULL;
  if (unique_user && !user->given && (label || !item || unique_item)) user->meaning = FW_MEANS_NOTHING;
  if (unique_item && !item->given && (label || !user || unique_user)) item->meaning = FW_MEANS_NOTHING;
}

/* If a user is known and no name says item, the only identifier that repeats is the item. */
static void find_only_id(fw_evidence *columns, size_t count) {
  enum { LEAST = 10 };
  fw_evidence *only = NULL;
  if (find_meant(columns, count, FW_MEANS_ITEM) || !find_meant(columns, count, FW_MEANS_USER)) return;
  for (size_t i = 0; i < count; i++) {
    fw_evidence *e = &columns[i];
    if (!is_free(e) || !fw_is_id_name(e->name) || !can_be_id(e)) continue;
    if (e->distinct < LEAST || (double)e->distinct > 0.9 * (double)e->sketch.cells) continue;
    if (only) return;
    only = e;
  }
  if (only) only->meaning = FW_MEANS_ITEM;
}

/* Fails if several columns may be the label: a wrong guess would be noticed late. */
static furrow_status check_labels(const fw_evidence *columns, size_t count, size_t (*priority_of)(const fw_evidence *),
                                  furrow_error *err) {
  fw_buffer names = {0};
  size_t several = 0, best = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    const size_t priority = is_free(&columns[i]) ? priority_of(&columns[i]) : SIZE_MAX;
    if (priority == SIZE_MAX) continue;
    fw_buffer_format(&names, "%s%s", several > 0 ? ", " : "", columns[i].name);
    several++;
    if (priority < best) best = priority;
  }
  fw_buffer_byte(&names, 0);
  furrow_status status = fw_buffer_status(&names, err);
  if (status == FURROW_OK && several > 1 && best > 0)
    status = fw_fail(err, FURROW_E_ARGUMENT, "label: several columns may be it, by their names: %s; name one, or \"\"",
                     names.bytes);
  fw_buffer_clear(&names);
  return status;
}

static furrow_status find_label(fw_evidence *columns, size_t count, size_t (*priority)(const fw_evidence *),
                                furrow_error *err) {
  if (find_meant(columns, count, FW_MEANS_LABEL)) return FURROW_OK;
  FW_TRY(check_labels(columns, count, priority, err));
  find_meaning(columns, count, FW_MEANS_LABEL, priority);
  return FURROW_OK;
}

furrow_status fw_evidence_find_meanings(fw_evidence *columns, size_t count, unsigned unwanted, furrow_error *err) {
  static const struct {
    fw_meaning meaning;
    size_t (*priority)(const fw_evidence *e);
  } others[] = {{FW_MEANS_WEIGHT, priority_of_weight},
                {FW_MEANS_USER, priority_of_user},
                {FW_MEANS_ITEM, priority_of_item},
                {FW_MEANS_GROUP, priority_of_group},
                {FW_MEANS_TIME, priority_of_time}};
  const unsigned sides = 1u << FW_MEANS_USER | 1u << FW_MEANS_ITEM;
  if (!(unwanted & 1u << FW_MEANS_LABEL)) FW_TRY(find_label(columns, count, priority_of_label, err));
  if (!(unwanted & 1u << FW_MEANS_LABEL)) FW_TRY(find_label(columns, count, priority_of_likely_label, err));
  if ((unwanted & sides) != sides) mark_other_labels(columns, count); /* the rows may be events */
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (!(unwanted & 1u << others[i].meaning)) find_meaning(columns, count, others[i].meaning, others[i].priority);
    if (others[i].meaning == FW_MEANS_ITEM) drop_row_ids(columns, count);
  }
  if (!(unwanted & 1u << FW_MEANS_ITEM)) find_only_id(columns, count);
  return FURROW_OK;
}

/* ---- Doubts: guesses that training must not rely on ---- */

/* A number with more values is an amount rather than a grade. */
enum { MOST_GRADES = 11, LARGEST_GRADE = 100 };

static bool are_grades(const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  return fw_column_sketch_mostly_numbers(s) && s->padded == 0 && e->distinct <= MOST_GRADES &&
         s->cells >= 2 * e->distinct && s->numbers.least >= -LARGEST_GRADE && s->numbers.most <= LARGEST_GRADE;
}

/* Whether the classes are words such as no and yes. */
static bool are_answers(const fw_evidence *e) {
  const fw_value_set *set = &e->sketch.values;
  const fw_counted_value *found[2];
  size_t n = 0;
  if (set->count != 2) return false;
  for (size_t i = 0; i < set->capacity; i++)
    if (set->slots[i].count > 0) found[n++] = &set->slots[i];
  const char *texts = set->texts.bytes;
  return fw_class_order(texts + found[0]->at, found[0]->length, texts + found[1]->at, found[1]->length) != 0;
}

static bool may_be_label(const fw_evidence *e) {
  if (e->distinct < 2) return false;
  if (e->other) return true; /* its name says so */
  if (!e->exact || e->sketch.lists > 0) return false;
  if (e->meaning != FW_MEANS_NOTHING || fw_is_id_name(e->name) || fw_is_row_number_name(e->name)) return false;
  return are_grades(e) || are_answers(e);
}

static furrow_status check_no_label(const fw_evidence *columns, size_t count, furrow_error *err) {
  const char *first = NULL;
  fw_buffer names = {0};
  for (size_t i = 0; i < count; i++) {
    if (!may_be_label(&columns[i])) continue;
    fw_buffer_format(&names, "%s%s", first ? ", " : "", columns[i].name);
    if (!first) first = columns[i].name;
  }
  fw_buffer_byte(&names, 0);
  furrow_status status = fw_buffer_status(&names, err);
  if (status == FURROW_OK && first) {
    status = fw_fail(err, FURROW_E_ARGUMENT, "no column is known to be the label; %s may be one", names.bytes);
    fw_error_set_hint(err, "--label %s, or --label '' if the log has none", first);
  }
  fw_buffer_clear(&names);
  return status;
}

static furrow_status check_classes(const fw_column *label, furrow_error *err) {
  if (label->class_count != 2) return FURROW_OK;
  const char *negative = label->classes[0], *positive = label->classes[1];
  if (fw_class_order(negative, strlen(negative), positive, strlen(positive)) != 0) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "the label %s has the classes %s and %s: which is the positive one?", label->name,
          positive, negative);
  fw_error_set_hint(err,
                    "write the schema (furrow rows schema LOG --out schema.json), with \"classes\": [\"%s\", \"%s\"] "
                    "if %s is",
                    negative, positive, positive);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_evidence_check_doubts(const fw_evidence *columns, size_t count, bool label,
                                       const furrow_schema *schema, furrow_error *err) {
  const fw_column *found = fw_schema_of_kind(schema, FW_AS_LABEL);
  if (!fw_schema_of_role(schema, FW_ROLE_USER) || !fw_schema_of_role(schema, FW_ROLE_ITEM)) return FURROW_OK;
  if (found) return check_classes(found, err);
  return label ? check_no_label(columns, count, err) : FURROW_OK;
}
