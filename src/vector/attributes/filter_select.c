/* vector/attributes/filter_select.c: finds the ids that a filter expression keeps. The expression is evaluated while it
 * is read, by recursive descent: first for no rows, which finds its mistakes, then for all rows, as bitmaps.
 *
 *   either = both { or both }        condition = column [ comparison value | [not] in ( value {, value} )
 *   both   = one { and one }                            | is [not] missing ]
 *   one    = not one | ( either ) | condition | true | false */
#include "base/error.h"
#include "base/mem.h"
#include "vector/attributes/filter_scan.h"

enum { MOST_DEPTH = 64, MOST_CONDITIONS = 1000 };

struct furrow_selection {
  furrow_id_filter filter;
  int64_t *ids; /* ascending */
  size_t count;
  uint8_t *bitmap; /* by id; NULL: the ids are too far apart */
};

typedef struct selecting {
  const furrow_attributes *attributes;
  fw_filter_scan scan;
  size_t n, bytes; /* rows, and bytes of their bits */
  unsigned depth, conditions;
  furrow_error *err;
} selecting;

static furrow_status next(selecting *s) {
  return fw_filter_next(&s->scan, s->err);
}

static furrow_status fail_here(const selecting *s, const char *message) {
  return fw_filter_fail(&s->scan, s->scan.begin, s->scan.at, s->err, "%s", message);
}

/* Bits of rows beyond the last are 0. */
static void invert(const selecting *s, uint8_t *bits) {
  for (size_t i = 0; i < s->bytes; i++) bits[i] = (uint8_t)~bits[i];
  if (s->n % 8) bits[s->bytes - 1] &= (uint8_t)((1U << s->n % 8) - 1);
}

/* ---- Conditions ----------------------------------------------------------------------------------------- */

static furrow_status fail_column(const selecting *s) {
  const furrow_attributes *attributes = s->attributes;
  fw_buffer names = {0};
  fail_here(s, attributes->column_count ? "there is no column of this name" : "the attributes have no columns");
  for (size_t i = 0; i < attributes->column_count; i++) {
    const fw_attribute *column = &attributes->columns[i];
    if (i > 0) fw_buffer_text(&names, ", ");
    fw_buffer_append(&names, column->name, column->name_size);
  }
  fw_buffer_byte(&names, 0);
  if (attributes->column_count && fw_buffer_status(&names, NULL) == FURROW_OK)
    fw_error_set_hint(s->err, "the columns are %s", names.bytes);
  fw_buffer_clear(&names);
  return FURROW_E_ARGUMENT;
}

/* The values of in (…), whose parenthesis is the current token. */
static furrow_status read_list(selecting *s, fw_condition *condition) {
  if (s->scan.token != FW_WORD_OPEN) return fail_here(s, "a list in parentheses is missing here, after in");
  do {
    FW_TRY(next(s));
    FW_TRY(fw_condition_add(condition, &s->scan, s->err));
    FW_TRY(next(s));
  } while (s->scan.token == FW_WORD_COMMA);
  if (s->scan.token != FW_WORD_CLOSE) return fail_here(s, "a comma or the end of the list is missing here");
  condition->comparison = FW_WORD_EQUAL;
  return next(s);
}

static furrow_status read_missing(selecting *s, fw_condition *condition) {
  FW_TRY(next(s));
  condition->negated = s->scan.token == FW_WORD_NOT;
  if (condition->negated) FW_TRY(next(s));
  if (s->scan.token != FW_WORD_MISSING) return fail_here(s, "after is there must be missing or not missing");
  condition->comparison = FW_WORD_MISSING;
  return next(s);
}

static furrow_status read_comparison(selecting *s, fw_condition *condition) {
  condition->comparison = s->scan.token;
  const bool ordered = s->scan.token > FW_WORD_UNEQUAL;
  if (ordered && condition->column->type == FURROW_COLUMN_SET)
    return fail_here(s, "a set has no order: its elements are compared by =, != and in");
  FW_TRY(next(s));
  FW_TRY(fw_condition_add(condition, &s->scan, s->err));
  return next(s);
}

/* What follows the name of the column. */
static furrow_status read_condition(selecting *s, fw_condition *condition, const char *name, const char *name_end) {
  const fw_filter_word token = s->scan.token;
  if (token >= FW_WORD_EQUAL) return read_comparison(s, condition);
  if (token == FW_WORD_IS) return read_missing(s, condition);
  if (token == FW_WORD_NOT || token == FW_WORD_IN) {
    condition->negated = token == FW_WORD_NOT;
    if (condition->negated) FW_TRY(next(s));
    if (s->scan.token != FW_WORD_IN) return fail_here(s, "after a column, not must be followed by in");
    FW_TRY(next(s));
    return read_list(s, condition);
  }
  condition->comparison = FW_WORD_TRUE;
  if (condition->column->type == FURROW_COLUMN_NUMBER) return FURROW_OK;
  return fw_filter_fail(&s->scan, name, name_end, s->err,
                        "this column is not a number, so a comparison must follow it");
}

static furrow_status test_column(selecting *s, uint8_t *bits) {
  const char *name = s->scan.begin, *name_end = s->scan.at;
  fw_condition condition = {.column = fw_attributes_find(s->attributes, s->scan.value.bytes, s->scan.value.size - 1)};
  if (!condition.column) return fail_column(s);
  if (++s->conditions > MOST_CONDITIONS)
    return fail_here(s, "there are more than 1000 conditions; in (…) compares a column with many values");
  furrow_status status = next(s);
  if (status == FURROW_OK) status = read_condition(s, &condition, name, name_end);
  if (status == FURROW_OK && s->n > 0) status = fw_condition_test(&condition, s->n, bits, s->err);
  fw_condition_clear(&condition);
  return status;
}

/* ---- Expressions ---------------------------------------------------------------------------------------- */

static furrow_status test_either(selecting *s, uint8_t *bits);

static furrow_status test_parentheses(selecting *s, uint8_t *bits) {
  FW_TRY(next(s));
  FW_TRY(test_either(s, bits));
  if (s->scan.token != FW_WORD_CLOSE) return fail_here(s, "a closing parenthesis, and, or is missing here");
  return next(s);
}

/* Sets bits, which are 0 before. */
static furrow_status test_one(selecting *s, uint8_t *bits) {
  bool inverted = false;
  for (; s->scan.token == FW_WORD_NOT; inverted = !inverted) FW_TRY(next(s));
  switch (s->scan.token) {
  case FW_WORD_OPEN: FW_TRY(test_parentheses(s, bits)); break;
  case FW_WORD_COLUMN: FW_TRY(test_column(s, bits)); break;
  case FW_WORD_TRUE:
  case FW_WORD_FALSE:
    inverted = inverted != (s->scan.token == FW_WORD_TRUE);
    FW_TRY(next(s));
    break;
  case FW_WORD_END: return fail_here(s, "the filter ends where a condition is missing");
  default:
    fail_here(s, "a condition begins with the name of a column");
    fw_error_set_hint(s->err, "for example: price < 10 and lang in (\"de\", \"fr\")");
    return FURROW_E_ARGUMENT;
  }
  if (inverted && s->n > 0) invert(s, bits);
  return FURROW_OK;
}

/* Tests operands that are connected by `word`: single ones by and, groups of those by or. */
static furrow_status test_chain(selecting *s, fw_filter_word word, uint8_t *bits) {
  const bool either = word == FW_WORD_OR;
  uint8_t *other = NULL;
  furrow_status status = either ? test_chain(s, FW_WORD_AND, bits) : test_one(s, bits);
  while (status == FURROW_OK && s->scan.token == word) {
    if (!other) status = FW_ALLOC(&other, s->bytes, s->err);
    if (status != FURROW_OK) break;
    memset(other, 0, s->bytes);
    status = next(s);
    if (status == FURROW_OK) status = either ? test_chain(s, FW_WORD_AND, other) : test_one(s, other);
    for (size_t i = 0; status == FURROW_OK && i < s->bytes; i++)
      bits[i] = either ? bits[i] | other[i] : bits[i] & other[i];
  }
  fw_free(other);
  return status;
}

static furrow_status test_either(selecting *s, uint8_t *bits) {
  if (++s->depth > MOST_DEPTH) return fail_here(s, "more than 64 parentheses are open here");
  FW_TRY(test_chain(s, FW_WORD_OR, bits));
  s->depth--;
  return FURROW_OK;
}

/* Evaluates the expression for the first n rows. */
static furrow_status evaluate(const furrow_attributes *attributes, const char *expression, size_t n, uint8_t *bits,
                              furrow_error *err) {
  selecting s = {.attributes = attributes, .scan = {.text = expression}, .n = n, .bytes = (n + 7) / 8, .err = err};
  furrow_status status = next(&s);
  if (status == FURROW_OK) status = test_either(&s, bits);
  if (status == FURROW_OK && s.scan.token != FW_WORD_END)
    status = fail_here(&s, "and, or, or the end of the filter is missing here");
  fw_buffer_clear(&s.scan.value);
  return status;
}

/* ---- Selections ----------------------------------------------------------------------------------------- */

/* A bitmap by id takes no more memory than 8 bytes for each row; otherwise ids are looked up in the sorted array. */
static furrow_status make_bitmap(furrow_selection *made, const furrow_attributes *attributes, furrow_error *err) {
  const int64_t last = made->count ? made->ids[made->count - 1] : -1;
  furrow_id_filter *filter = &made->filter;
  furrow_id_filter_init(filter);
  filter->kind = FURROW_ID_FILTER_SORTED;
  filter->sorted = made->ids;
  filter->sorted_count = made->count;
  if (made->count == 0 || made->ids[0] < 0 || (uint64_t)last / 64 > attributes->count) return FURROW_OK;
  filter->bitmap_bytes = (size_t)last / 8 + 1;
  FW_TRY(FW_ALLOC_ZERO(&made->bitmap, filter->bitmap_bytes, err));
  for (size_t i = 0; i < made->count; i++) made->bitmap[made->ids[i] / 8] |= (uint8_t)(1U << made->ids[i] % 8);
  filter->bitmap = made->bitmap;
  filter->kind = FURROW_ID_FILTER_BITMAP;
  return FURROW_OK;
}

static furrow_status take_ids(furrow_selection *made, const furrow_attributes *attributes, const uint8_t *bits,
                              furrow_error *err) {
  for (size_t i = 0; i < (attributes->count + 7) / 8; i++) made->count += (size_t)__builtin_popcount(bits[i]);
  FW_TRY(FW_ALLOC(&made->ids, made->count, err));
  size_t at = 0;
  for (size_t i = 0; i < attributes->count; i++)
    if (bits[i / 8] >> i % 8 & 1) made->ids[at++] = fw_attributes_id(attributes, i);
  return make_bitmap(made, attributes, err);
}

furrow_status furrow_attributes_select(const furrow_attributes *attributes, const char *expression,
                                       furrow_selection **selection, furrow_error *err) {
  furrow_selection *made = NULL;
  uint8_t *bits = NULL;
  FW_TRY(evaluate(attributes, expression, 0, NULL, err));
  furrow_status status = FW_ALLOC_ZERO(&bits, attributes->count / 8 + 1, err);
  if (status == FURROW_OK) status = evaluate(attributes, expression, attributes->count, bits, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&made, 1, err);
  if (status == FURROW_OK) status = take_ids(made, attributes, bits, err);
  fw_free(bits);
  return FW_HAND_OVER(status, selection, made, furrow_selection_free);
}

void furrow_selection_free(furrow_selection *selection) {
  if (!selection) return;
  fw_free(selection->ids);
  fw_free(selection->bitmap);
  fw_free(selection);
}

size_t furrow_selection_count(const furrow_selection *selection) {
  return selection->count;
}

const furrow_id_filter *furrow_selection_filter(const furrow_selection *selection) {
  return &selection->filter;
}

int64_t furrow_selection_id(const furrow_selection *selection, size_t i) {
  return i < selection->count ? selection->ids[i] : -1;
}
