/* rows/schema/propose_decide.c: decides on the kind of a column from its statistics, and writes the reason as a
 * sentence. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_out.h"
#include "base/utf8.h"
#include "rows/schema/column_names.h"
#include "rows/schema/propose.h"
#include "rows/text/cells.h"

/* Limits that the sentences mention. */
enum {
  FEW_INTEGERS = 32,   /* integers with at most this many values are categories, if there are enough rows per value */
  ROWS_PER_CODE = 50,  /* fewer do not tell the weight of each value; with numbers the other values help */
  FEW_NAMES = 64,      /* texts with blanks and at most this many values are names, if there are 10 rows per value */
  MANY_VALUES = 10000, /* categories with more values lose the values that occur once */
  TEXT_WORDS = 5,      /* average number of words of a cell that make it a text */
  MOST_CLASSES = 1000, /* most classes of a label */
  FEW_CELLS = 100,     /* with fewer cells, a | counts as a separator more readily */
  SET_ELEMENTS = 10000 /* most different elements of a set */
};
static const double skewed = 20; /* largest number divided by the mean */

/* ---- Sentences ---- */

/* Whether an example can be shown in a line of text. */
static bool is_printable(const char *text, size_t length) {
  if (fw_utf8_check(text, text + length)) return false;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == 127) return false;
  return true;
}

static void say_example(fw_buffer *why, const fw_example *example) {
  char list[FW_SKETCH_EXAMPLE_TEXT];
  size_t n = example->length < FW_SKETCH_EXAMPLE_TEXT ? example->length : FW_SKETCH_EXAMPLE_TEXT;
  const bool cut = example->length > n;
  for (size_t i = 0; i < n; i++) list[i] = example->text[i] == '\x1f' ? ' ' : example->text[i];
  while (cut && n > 0 && ((unsigned char)list[n - 1] & 0xC0) == 0x80) n--; /* removes a truncated character, too */
  if (cut && n > 0) n--;
  if (!is_printable(list, n)) {
    fw_buffer_format(why, "%u bytes", example->length);
    return;
  }
  fw_buffer_append(why, list, n);
  if (cut) fw_buffer_text(why, "…");
}

static void say_examples(fw_buffer *why, const fw_column_sketch *s) {
  const char *before = " such as ";
  for (size_t i = 0; i < FW_SKETCH_EXAMPLES && s->examples[i].hash != UINT64_MAX; i++) {
    fw_buffer_text(why, before);
    say_example(why, &s->examples[i]);
    before = ", ";
  }
}

static void say_number(fw_buffer *why, double value) {
  char text[FW_NUMBER_TEXT];
  if (value == floor(value) && fabs(value) < 1e15)
    fw_buffer_append(why, text, fw_write_f64(text, value));
  else
    fw_buffer_format(why, "%.6g", value);
}

static void say_range(fw_buffer *why, const char *what, const fw_column_sketch *s) {
  fw_buffer_format(why, "%s from ", what);
  say_number(why, s->numbers.least);
  fw_buffer_text(why, " to ");
  say_number(why, s->numbers.most);
}

/* Whether all cells are numbers; words for missing values do not count. */
static bool are_numbers(const fw_column_sketch *s) {
  return s->numbers.count > 0 && s->numbers.count == fw_column_sketch_present(s);
}
static bool are_integers(const fw_column_sketch *s) {
  return are_numbers(s) && s->integers == s->numbers.count;
}

/* Lists the markers, sorted by text, and returns their number. */
static size_t sort_markers(const fw_column_sketch *s, const char *sorted[FW_SKETCH_MARKERS]) {
  size_t n = 0;
  for (size_t i = 0; i < FW_SKETCH_MARKERS; i++) {
    const fw_counted_marker *marker = &s->markers.markers[i];
    if (marker->count == 0) continue;
    size_t k = n++;
    for (; k > 0 && strcmp(sorted[k - 1], marker->text) > 0; k--) sorted[k] = sorted[k - 1];
    sorted[k] = marker->text;
  }
  return n;
}

/* Writes how many cells have markers, and which. */
static void say_markers(fw_buffer *out, const fw_column_sketch *s) {
  const char *sorted[FW_SKETCH_MARKERS];
  const unsigned long long cells = s->marked;
  const size_t n = sort_markers(s, sorted);
  fw_buffer_format(out, "%llu %s (", cells, fw_plural(cells, "text", "texts"));
  for (size_t i = 0; i < n; i++) fw_buffer_format(out, "%s%s", i > 0 ? ", " : "", sorted[i]);
  fw_buffer_byte(out, ')');
}

/* Describes the numbers, and the cells that are not numbers. */
static void say_numbers(fw_buffer *why, const fw_column_sketch *s) {
  const unsigned long long texts = fw_column_sketch_present(s) - s->numbers.count, infinite = s->infinite;
  const unsigned long long absent = s->absent - infinite;
  say_range(why, are_integers(s) ? "integers" : "numbers", s);
  if (s->format.decimal) say_examples(why, s);
  if (absent > 0) fw_buffer_format(why, ", %llu times NA or the like", absent);
  if (infinite > 0) fw_buffer_format(why, ", %llu times inf, which counts as missing", infinite);
  if (s->marked > 0) fw_buffer_text(why, ", ");
  if (s->marked > 0) say_markers(why, s);
  if (texts > 0) fw_buffer_format(why, " but for %llu %s such as ", texts, fw_plural(texts, "text", "texts"));
  if (texts > 0) say_example(why, fw_column_sketch_refused(s, &s->format));
  if (!s->format.decimal) return;
  if (s->format.decimal == ',' && s->written.commas == 0)
    fw_buffer_text(why, "; points separate groups of digits");
  else
    fw_buffer_format(why, "; the decimal mark is a %s", s->format.decimal == ',' ? "comma" : "point");
  if (s->format.unit[0]) fw_buffer_format(why, ", the unit is %s", s->format.unit);
}

static void say_cells(fw_buffer *why, const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  if (s->lists > 0) {
    fw_buffer_format(why, "lists of %.1f elements on average",
                     (double)s->elements[FW_SEPARATOR_LIST].elements / (double)s->lists);
  } else if (fw_column_sketch_mostly_numbers(s)) {
    say_numbers(why, s);
  } else {
    fw_buffer_text(why, "texts");
    say_examples(why, s);
  }
}

/* Describes the cells: all sentences begin with this. */
static void say_facts(fw_buffer *why, const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  const unsigned long long rows = s->cells + s->missing, distinct = e->distinct, missing = s->missing;
  if (s->cells == 0) {
    fw_buffer_format(why, "empty in all %llu rows", rows);
    return;
  }
  say_cells(why, e);
  fw_buffer_format(why, ", %s%llu distinct %s in %llu %s", e->exact ? "" : "about ", distinct,
                   fw_plural(distinct, "value", "values"), rows, fw_plural(rows, "row", "rows"));
  if (missing > 0) fw_buffer_format(why, ", %llu of them empty", missing);
}

/* A decision about a column; the reason follows the facts. */
typedef struct decision {
  const fw_evidence *evidence;
  fw_column *column;
  const char *doubt; /* what it is unsure of; NULL: nothing */
  fw_buffer unsure;  /* the text of `doubt`, if it was written for this column */
  fw_buffer why;
  furrow_error *err;
} decision;

static furrow_status decide(decision *d, fw_column_kind kind, const char *reason) {
  if (reason[0]) fw_buffer_format(&d->why, "; %s", reason);
  return fw_column_set_kind(d->column, kind, d->err);
}

/* Begins another doubt in `unsure`, after the previous ones. */
static void add_doubt(decision *d) {
  const bool written = d->unsure.size > 0;
  if (written) d->unsure.size--; /* the 0 that set_doubt wrote */
  if (d->doubt) fw_buffer_format(&d->unsure, "%s; ", written ? "" : d->doubt);
}

/* Takes the text of `unsure` for the doubt. */
static furrow_status set_doubt(decision *d) {
  fw_buffer_byte(&d->unsure, 0);
  FW_TRY(fw_buffer_status(&d->unsure, d->err));
  d->doubt = d->unsure.bytes;
  return FURROW_OK;
}

static const char *said(const decision *d, const char *by_name, const char *given) {
  return d->evidence->given ? given : by_name;
}

/* ---- Labels ---- */

static int compare_texts(const char *a, size_t n, const char *b, size_t m) {
  const int order = memcmp(a, b, n < m ? n : m);
  return order != 0 ? order : (n > m) - (n < m);
}

/* Returns the values of a set, sorted by text. */
static furrow_status sorted_values(const fw_value_set *set, fw_counted_value **values, furrow_error *err) {
  size_t n = 0;
  fw_counted_value *list;
  FW_TRY(FW_ALLOC(&list, set->count, err));
  for (size_t i = 0; i < set->capacity; i++) {
    if (set->slots[i].count == 0) continue;
    const fw_counted_value v = set->slots[i];
    size_t k = n++;
    for (; k > 0 &&
           compare_texts(set->texts.bytes + list[k - 1].at, list[k - 1].length, set->texts.bytes + v.at, v.length) > 0;
         k--)
      list[k] = list[k - 1];
    list[k] = v;
  }
  *values = list;
  return FURROW_OK;
}

static furrow_status add_classes(decision *d, const fw_counted_value *values, size_t count) {
  const fw_value_set *set = &d->evidence->sketch.values;
  for (size_t i = 0; i < count; i++) {
    const char *text = set->texts.bytes + values[i].at;
    if (fw_utf8_check(text, text + values[i].length) || memchr(text, 0, values[i].length))
      return fw_fail(d->err, FURROW_E_FORMAT, "column %s: a name of a class is not text in UTF-8", d->evidence->name);
    FW_TRY(fw_text_list_add(&d->column->classes, &d->column->class_count, text, values[i].length, d->err));
  }
  return FURROW_OK;
}

/* Puts the positive one of two classes last. */
static void order_classes(decision *d, fw_counted_value values[2]) {
  const char *texts = d->evidence->sketch.values.texts.bytes;
  const int order = fw_class_order(texts + values[0].at, values[0].length, texts + values[1].at, values[1].length);
  if (order > 0 || (order == 0 && values[0].count < values[1].count)) {
    const fw_counted_value first = values[0];
    values[0] = values[1];
    values[1] = first;
  }
  const int n = (int)values[1].length;
  const char *positive = texts + values[1].at;
  if (order != 0)
    fw_buffer_format(&d->why, "; %.*s, by its name, is the positive class", n, positive);
  else
    fw_buffer_format(&d->why, "; the names do not say which class is positive: %.*s, the rarer one, is a guess", n,
                     positive);
}

static bool is_missing_class(const char *texts, const fw_counted_value *value) {
  const char *text = texts + value->at;
  return fw_cell_is_missing_class(&(fw_cell){.begin = text, .end = text + value->length});
}

/* Moves the values that are names of classes to the front and returns their number; all are where fewer than two would
 * be left. */
static size_t drop_missing(decision *d, fw_counted_value *values, size_t count) {
  const char *texts = d->evidence->sketch.values.texts.bytes;
  size_t missing = 0, kept = 0;
  for (size_t i = 0; i < count; i++) missing += is_missing_class(texts, &values[i]);
  if (missing == 0 || count - missing < 2) return count;
  for (size_t i = 0; i < count; i++) {
    if (is_missing_class(texts, &values[i]))
      fw_buffer_format(&d->why, "; %.*s counts as missing", (int)values[i].length, texts + values[i].at);
    else
      values[kept++] = values[i];
  }
  return kept;
}

static furrow_status set_classes(decision *d) {
  const fw_value_set *set = &d->evidence->sketch.values;
  fw_counted_value *values = NULL;
  FW_TRY(sorted_values(set, &values, d->err));
  const size_t count = drop_missing(d, values, set->count);
  if (count == 2) order_classes(d, values);
  const furrow_status status = add_classes(d, values, count);
  fw_free(values);
  return status;
}

static furrow_status refuse_meaning(decision *d, const char *what, const char *why) {
  return fw_fail(d->err, FURROW_E_ARGUMENT, "column %s cannot be the %s: %s", d->evidence->name, what, why);
}

static furrow_status decide_label(decision *d) {
  const fw_column_sketch *s = &d->evidence->sketch;
  FW_TRY(decide(d, FW_AS_LABEL, said(d, "the name says label", "named as the label")));
  if (s->cells == 0) return refuse_meaning(d, "label", "it is empty");
  if (s->lists > 0) return refuse_meaning(d, "label", "it has lists");
  if (fw_column_sketch_mostly_numbers(s)) { /* reading the log rejects the other cells */
    d->column->format = s->format;
    return FURROW_OK;
  }
  if (d->evidence->distinct < 2) return refuse_meaning(d, "label", "all of its cells have the same text");
  if (!d->evidence->exact || d->evidence->distinct > MOST_CLASSES)
    return refuse_meaning(d, "label", "it has more than 1000 different texts");
  return set_classes(d);
}

/* ---- Numbers, times ---- */

static furrow_status decide_weight(decision *d) {
  const fw_column_sketch *s = &d->evidence->sketch;
  if (!are_numbers(s)) return refuse_meaning(d, "weight", "not all of its cells are numbers");
  if (s->numbers.least < 0) return refuse_meaning(d, "weight", "it has negative numbers");
  FW_TRY(decide(d, FW_AS_WEIGHT, said(d, "the name says weight", "named as the weight")));
  d->column->format = s->format;
  return FURROW_OK;
}

static bool has_several(uint32_t bits) {
  return (bits & (bits - 1)) != 0;
}

static void say_unit(fw_buffer *why, fw_time_unit unit) {
  if (fw_time_unit_is_text(unit))
    fw_buffer_format(why, "; dates%s",
                     unit == FW_UNIT_DAY_FIRST     ? " with the day first"
                     : unit == FW_UNIT_MONTH_FIRST ? " with the month first"
                                                   : "");
  else
    fw_buffer_format(why, "; times since 1970 in %s", fw_time_unit_name(unit));
}

/* The parts that have several values. The month and the age are for times that span months. */
static unsigned choose_parts(const fw_time_sketch *times) {
  unsigned parts = 0;
  const bool months = times->most - times->least >= 60 * 86400.0;
  if (has_several(times->hours)) parts |= 1u << FW_PART_HOUR;
  if (has_several(times->weekdays)) parts |= 1u << FW_PART_WEEKDAY;
  if (months) parts |= 1u << FW_PART_MONTH | 1u << FW_PART_AGE;
  return parts;
}

/* The rule of time_cell.h puts years of two digits into one range, whatever the column is about. */
static furrow_status doubt_short_years(decision *d) {
  const unsigned long long count = d->evidence->sketch.short_years;
  add_doubt(d);
  fw_buffer_format(&d->unsure,
                   "%llu %s a year of two digits, which is taken to be from 1969 to 2068; write four digits if that is "
                   "wrong",
                   count, fw_plural(count, "date has", "dates have"));
  return set_doubt(d);
}

static furrow_status decide_time(decision *d) {
  const fw_column_sketch *s = &d->evidence->sketch;
  fw_time_unit unit = FW_UNIT_SECONDS;
  const bool found = fw_column_sketch_unit(s, &unit);
  if (!found && !are_numbers(s)) return refuse_meaning(d, "time", "its cells are neither numbers nor dates");
  if (found) say_unit(&d->why, unit);
  const bool role = d->evidence->meaning == FW_MEANS_TIME;
  FW_TRY(decide(d, FW_AS_TIME, !role ? "" : said(d, "the time of the event", "named as the time")));
  const fw_time_sketch times = fw_column_sketch_times(s, unit);
  d->column->unit = found ? unit : FW_UNIT_SECONDS;
  d->column->parts = found ? choose_parts(&times) : 0;
  if (role) d->column->role = FW_ROLE_TIME;
  return found && fw_time_unit_is_text(unit) && s->short_years > 0 ? doubt_short_years(d) : FURROW_OK;
}

static furrow_status decide_number(decision *d) {
  const fw_column_sketch *s = &d->evidence->sketch;
  const double mean = fw_number_sketch_mean(&s->numbers);
  const bool binary = are_integers(s) && s->numbers.least >= 0 && s->numbers.most <= 1;
  const bool log = s->numbers.least >= 0 && s->numbers.most > skewed * mean;
  FW_TRY(decide(d, FW_AS_NUMBER,
                binary ? "0 and 1 stay as they are"
                : log  ? "the largest is far above the mean, so the logarithm is scaled"
                       : ""));
  d->column->format = s->format;
  d->column->scale = binary ? FW_SCALE_NONE : log ? FW_SCALE_LOG : FW_SCALE_STANDARD;
  return FURROW_OK;
}

/* ---- Categories, sets, texts ---- */

static furrow_status decide_category(decision *d, const char *reason) {
  FW_TRY(decide(d, FW_AS_CATEGORY, reason));
  if (d->evidence->distinct <= MANY_VALUES) return FURROW_OK;
  d->column->min_count = 2;
  fw_buffer_text(&d->why, "; values that occur once are left out");
  return FURROW_OK;
}

static furrow_status decide_role(decision *d, fw_role role, const char *by_name, const char *given) {
  if (d->evidence->sketch.cells == 0) return refuse_meaning(d, fw_role_name(role), "it is empty");
  FW_TRY(decide(d, FW_AS_CATEGORY, said(d, by_name, given)));
  d->column->role = role;
  return FURROW_OK;
}

static furrow_status set_separator(decision *d, fw_separator separator) {
  const fw_element_sketch *e = &d->evidence->sketch.elements[separator];
  char text[3] = {fw_separator_char(separator), 0, 0};
  if (e->separators > 0 && e->blanks == e->separators) text[1] = ' ';
  FW_TRY(fw_column_set_text(&d->column->separator, text, d->err));
  fw_buffer_format(&d->why, "; split at \"%s\" there are %s%.0f different elements", text,
                   e->elements < 100 ? "" : "about ", fw_distinct_count(&e->distinct));
  return FURROW_OK;
}

static furrow_status decide_set(decision *d, fw_separator separator) {
  const fw_element_sketch *e = &d->evidence->sketch.elements[separator];
  FW_TRY(decide(d, FW_AS_SET, ""));
  if (separator != FW_SEPARATOR_LIST) FW_TRY(set_separator(d, separator));
  d->column->values = e->elements > 0 && e->valued == e->elements;
  if (d->column->values) fw_buffer_text(&d->why, "; each has a value after a colon");
  if (fw_distinct_count(&e->distinct) <= MANY_VALUES) return FURROW_OK;
  d->column->min_count = 2;
  fw_buffer_text(&d->why, "; elements that occur once are left out");
  return FURROW_OK;
}

/* Whether texts with blanks are names rather than sets: "New York" among names of one word, or few texts that repeat.
 */
static bool are_names(const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  return 2 * s->elements[FW_SEPARATOR_BLANK].cells < s->cells ||
         (e->exact && e->distinct <= FEW_NAMES && s->cells >= 10 * e->distinct);
}

/* Whether splitting at this separator gives far fewer different elements than cells: genres, tags, lists of numbers. */
static bool splits_at(const fw_evidence *e, fw_separator separator) {
  const fw_element_sketch *s = &e->sketch.elements[separator];
  if (s->cells == 0 || (double)s->cells < 0.05 * (double)e->sketch.cells) return false;
  const double elements = fw_distinct_count(&s->distinct);
  const bool integers = s->integers == s->elements;
  if (separator == FW_SEPARATOR_BAR && e->sketch.cells < FEW_CELLS) return elements <= 0.75 * (double)s->elements;
  if (integers) return elements <= 0.5 * (double)s->elements;
  if (separator == FW_SEPARATOR_BLANK && (elements > 200 || are_names(e))) return false; /* words of a language */
  return elements <= SET_ELEMENTS && elements <= 0.5 * (double)e->distinct && elements <= 0.2 * (double)s->elements;
}

static bool find_separator(const fw_evidence *e, fw_separator *separator) {
  for (*separator = FW_SEPARATOR_BAR; *separator < FW_SEPARATOR_LIST; ++*separator)
    if (splits_at(e, *separator)) return true;
  return false;
}

/* Writes a doubt: how many cells differ from most cells, and what to write if the column is what most cells are. */
static furrow_status doubt_of_most(decision *d, uint64_t others, const char *what, const fw_example *example,
                                   const char *member, const char *unit) {
  fw_buffer_format(&d->unsure, "cells that are not %s: %llu of %llu, such as ", what, (unsigned long long)others,
                   (unsigned long long)fw_column_sketch_present(&d->evidence->sketch));
  say_example(&d->unsure, example);
  fw_buffer_format(&d->unsure, "; {%s", member);
  if (unit[0]) fw_buffer_format(&d->unsure, ", \"unit\": \"%s\"", unit);
  fw_buffer_format(&d->unsure, "} reads the column as %s once these cells are empty or in \"missing\"", what);
  return set_doubt(d);
}

/* Reports a column of texts if more than half of its cells are numbers or dates. */
static furrow_status doubt_texts(decision *d) {
  const fw_evidence *e = d->evidence;
  const fw_column_sketch *s = &e->sketch;
  const uint64_t present = fw_column_sketch_present(s), numbers = fw_column_sketch_numbers(s, &e->likely);
  const fw_example *refused = fw_column_sketch_refused(s, &e->likely), *undated = &s->odd[FW_ODD_DATE];
  fw_time_unit unit;
  if (fw_column_sketch_unit(s, &unit)) return FURROW_OK;
  const uint64_t dates = fw_column_sketch_times(s, unit).count;
  if (2 * dates > present && undated->hash != UINT64_MAX)
    return doubt_of_most(d, present - dates, "dates", undated, "\"as\": \"time\"",
                         fw_time_unit_name(s->times[unit].count > 0 ? unit : FW_UNIT_TEXT));
  const bool codes = fw_says_id(e->name) || s->padded > 0 || s->long_integers > 0;
  if (codes || 2 * numbers <= present || !refused) return FURROW_OK;
  return doubt_of_most(d, present - numbers, "numbers", refused,
                       e->likely.decimal == ','   ? "\"as\": \"number\", \"decimal\": \",\""
                       : e->likely.decimal == '.' ? "\"as\": \"number\", \"decimal\": \".\""
                                                  : "\"as\": \"number\"",
                       e->likely.unit);
}

static furrow_status decide_strings(decision *d, bool table) {
  const fw_evidence *e = d->evidence;
  const uint64_t texts = fw_column_sketch_present(&e->sketch) - e->sketch.numbers.count;
  const double words = texts > 0 ? (double)e->sketch.words / (double)texts : 0;
  fw_separator separator;
  if (find_separator(e, &separator)) return decide_set(d, separator);
  if (words >= TEXT_WORDS && e->distinct > 100) {
    fw_buffer_format(&d->why, "; %.1f words on average", words);
    FW_TRY(decide(d, FW_AS_TEXT, "words that occur once are left out"));
    d->column->min_count = 2;
    return FURROW_OK;
  }
  const bool unique = fw_evidence_is_unique(e);
  if (unique && words >= 2) {
    if (!table) d->doubt = "titles or names are ignored; {\"as\": \"text\"} makes their words features";
    return decide(d, FW_AS_IGNORE, "a title or name that is different in nearly every row");
  }
  if (unique)
    return decide(d, FW_AS_IGNORE,
                  table ? "different in nearly every row of the table" : "different in nearly every row");
  return decide_category(d, "");
}

static furrow_status decide_list(decision *d) {
  const fw_element_sketch *e = &d->evidence->sketch.elements[FW_SEPARATOR_LIST];
  if (d->evidence->sketch.lists == d->evidence->sketch.cells && e->elements == d->evidence->sketch.lists &&
      e->valued == 0)
    return decide_category(d, "each list has one element");
  return decide_set(d, FW_SEPARATOR_LIST);
}

/* Whether integers are names rather than amounts. */
static bool are_codes(const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  if (s->format.decimal) return false;
  if (s->padded > 0 || s->long_integers > 0) return true;
  if (s->integers < s->numbers.count) return false;
  if (fw_is_id_name(e->name)) return true;
  if (e->amounts) return false;
  const bool binary = s->numbers.least >= 0 && s->numbers.most <= 1 && are_integers(s);
  return !binary && e->exact && e->distinct <= FEW_INTEGERS && s->cells >= ROWS_PER_CODE * e->distinct;
}

static furrow_status decide_numbers(decision *d) {
  const fw_evidence *e = d->evidence;
  const fw_column_sketch *s = &e->sketch;
  const bool unique = are_integers(s) && fw_evidence_is_unique(e);
  if (unique && (fw_says_id(e->name) || s->long_integers > 0))
    return decide(d, FW_AS_IGNORE, "an identifier that is different in nearly every row");
  if (are_codes(e)) {
    const bool few = !fw_is_id_name(e->name) && s->padded == 0 && s->long_integers == 0;
    if (few)
      d->doubt = "integers with few values are taken for categories; {\"as\": \"number\"} takes them for amounts";
    return decide_category(d, fw_is_id_name(e->name) ? "the name says id"
                              : s->padded > 0        ? "zeros stand before some of them"
                              : s->long_integers > 0 ? "too many digits for a number"
                                                     : "few values that repeat");
  }
  if (unique && s->numbers.most - s->numbers.least < 1.05 * (double)s->numbers.count)
    d->doubt = "each integer occurs once: {\"as\": \"ignore\"} if it is the number of the row";
  return decide_number(d);
}

static furrow_status decide_content(decision *d, bool table) {
  const fw_evidence *e = d->evidence;
  const fw_column_sketch *s = &e->sketch;
  fw_time_unit unit;
  if (s->cells == 0) return decide(d, FW_AS_IGNORE, "");
  if (e->distinct == 1 && s->missing == 0 && s->cells > 1) return decide(d, FW_AS_IGNORE, "always the same");
  if (s->lists > 0) return decide_list(d);
  const bool named = fw_role_name_priority(FW_ROLE_TIME, e->name) != SIZE_MAX;
  if (fw_column_sketch_unit(s, &unit) && (fw_time_unit_is_text(unit) || named)) return decide_time(d);
  if (fw_column_sketch_mostly_numbers(s)) return decide_numbers(d);
  FW_TRY(decide_strings(d, table));
  return doubt_texts(d);
}

/* Lists the markers as missing values of a column of numbers or times, and reports them. */
static furrow_status set_missing(decision *d) {
  const fw_column_sketch *s = &d->evidence->sketch;
  const char *sorted[FW_SKETCH_MARKERS];
  fw_column *c = d->column;
  const bool numbers = c->kind == FW_AS_NUMBER || c->kind == FW_AS_WEIGHT || (c->kind == FW_AS_LABEL && !c->classes);
  if (s->marked == 0 || !(numbers || c->kind == FW_AS_TIME)) return FURROW_OK;
  const size_t n = sort_markers(s, sorted);
  for (size_t i = 0; i < n; i++)
    FW_TRY(fw_text_list_add(&c->missing, &c->missing_count, sorted[i], strlen(sorted[i]), d->err));
  add_doubt(d);
  say_markers(&d->unsure, s);
  fw_buffer_format(&d->unsure, " %s as missing", fw_plural(s->marked, "counts", "count"));
  if (c->kind == FW_AS_NUMBER) fw_buffer_text(&d->unsure, "; {\"as\": \"category\"} makes every text a value");
  return set_doubt(d);
}

static furrow_status decide_column(decision *d, bool table) {
  const fw_evidence *e = d->evidence;
  if (e->other) {
    fw_buffer_format(&d->why, "; the name says label, but %s", e->other[0] ? e->other : "it is not taken for one");
    if (e->other[0]) fw_buffer_text(&d->why, " is the label");
    return decide(d, FW_AS_IGNORE, "");
  }
  switch (e->meaning) {
  case FW_MEANS_LABEL: return decide_label(d);
  case FW_MEANS_WEIGHT: return decide_weight(d);
  case FW_MEANS_GROUP: return decide(d, FW_AS_GROUP, said(d, "the name says group", "named as the group"));
  case FW_MEANS_USER: return decide_role(d, FW_ROLE_USER, "the name says user", "named as the user");
  case FW_MEANS_ITEM:
    return decide_role(d, FW_ROLE_ITEM,
                       fw_role_name_priority(FW_ROLE_ITEM, e->name) != SIZE_MAX ? "the name says item"
                                                                                : "the only id besides the user",
                       "named as the item");
  case FW_MEANS_TIME: return decide_time(d);
  case FW_MEANS_TAG: return decide(d, FW_AS_IGNORE, "the tags of rows");
  default: return decide_content(d, table);
  }
}

furrow_status fw_evidence_decide(const fw_evidence *evidence, bool table, furrow_schema *schema, furrow_error *err) {
  decision d = {.evidence = evidence, .doubt = evidence->doubt, .err = err};
  FW_TRY(fw_schema_add(schema, evidence->name, strlen(evidence->name), FW_AS_IGNORE, &d.column, err));
  say_facts(&d.why, evidence);
  furrow_status status = decide_column(&d, table);
  if (status == FURROW_OK) status = set_missing(&d);
  if (status == FURROW_OK) status = fw_column_set_text(&d.column->unsure, d.doubt, err);
  if (status == FURROW_OK) {
    fw_free(d.column->why);
    d.column->why = NULL;
    status = fw_buffer_take(&d.why, &d.column->why, NULL, err);
  }
  fw_buffer_clear(&d.why);
  fw_buffer_clear(&d.unsure);
  return status;
}
