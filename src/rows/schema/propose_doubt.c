/* rows/schema/propose_doubt.c: what a proposal can only guess, and what training must not rest on. */
#include <string.h>

#include "base/error.h"
#include "rows/schema/class_names.h"
#include "rows/schema/column_names.h"
#include "rows/schema/propose.h"

/* A number with more values is rather an amount than a grade. */
enum { MOST_GRADES = 11, LARGEST_GRADE = 100 };

static bool are_grades(const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  return fw_column_sketch_mostly_numbers(s) && s->padded == 0 && e->distinct <= MOST_GRADES &&
         s->cells >= 2 * e->distinct && s->least >= -LARGEST_GRADE && s->most <= LARGEST_GRADE;
}

/* As no and yes. */
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
