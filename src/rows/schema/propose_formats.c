/* rows/schema/propose_formats.c: decides how the numbers and the dates of each column are written, and which texts
 * among them stand for missing values. A column whose cells
 * fit a decimal point and a decimal comma, or the day first and the month first, follows the other columns of the
 * table; the doubt is reported. */
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "rows/schema/column_names.h"
#include "rows/schema/propose.h"

/* ---- Markers of missing values ---- */

enum {
  MANY_NUMBERS = 33, /* integers with fewer values may be categories, as may the texts among them: S, M, 38, 40 */
  MANY_AMOUNTS = 10, /* the same limit for other numbers and for dates */
  MANY_EACH = 10     /* numbers with different values for each marker */
};
static const double few_mistakes = 0.05; /* a share of the cells */

/* Whether a text can hardly be the name of a category: #DIV/0!, ***, <NA>, 0000-00-00. */
static bool is_sure_marker(const char *text) {
  const unsigned char c = (unsigned char)text[0];
  return c < 0x80 && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static uint64_t count_dates(const fw_column_sketch *s) {
  const uint64_t day = s->times[FW_UNIT_DAY_FIRST].count, month = s->times[FW_UNIT_MONTH_FIRST].count;
  return s->times[FW_UNIT_TEXT].count + (day > month ? day : month);
}

/* Returns the number of the column's cells that stand for missing values among numbers or dates: they have a few texts,
 * and the other cells are numbers or dates with too many values for a category. */
static uint64_t find_markers(const fw_evidence *e) {
  const fw_column_sketch *s = &e->sketch;
  const uint64_t marked = fw_column_sketch_markers(s), cells = fw_column_sketch_present(s), rest = cells - marked;
  const uint64_t amounts = s->forms[FW_FORM_FRACTION].count + s->written.cells, dates = count_dates(s);
  const uint64_t numbers = s->forms[FW_FORM_WHOLE].count + amounts;
  uint64_t kinds = 0;
  bool sure = true;
  if (marked == 0 || fw_says_id(e->name) || s->padded > 0 || s->long_integers > 0) return 0;
  for (size_t i = 0; i < FW_SKETCH_MARKERS; i++) {
    if (s->markers.markers[i].count == 0) continue;
    kinds++;
    sure &= is_sure_marker(s->markers.markers[i].text);
  }
  if (20 * numbers < 19 * rest && 100 * dates < 99 * rest) return 0;
  if (e->distinct <= 2 * kinds) return 0;
  if (sure || (double)marked <= few_mistakes * (double)cells) return marked;
  const uint64_t values = e->distinct - kinds, many = amounts + dates > 0 ? MANY_AMOUNTS : MANY_NUMBERS;
  return 2 * rest >= cells && values >= many && values >= MANY_EACH * kinds ? marked : 0;
}

/* ---- Numbers ---- */

/* The decimal mark, as far as the cells of a column show it. */
typedef enum mark {
  MARK_NONE, /* unknown: the column has no fractions, or is not a column of numbers */
  MARK_POINT,
  MARK_COMMA,
  MARK_EITHER
} mark;

/* What is known about the table. */
typedef struct table_marks {
  char delimiter; /* 0: none */
  mark other;     /* the decimal mark of the columns in which it is certain */
} table_marks;

/* Least shares of cells that are numbers: for a column of numbers, and for a doubt that the column may be one. */
static const double nearly_all = 0.95, half = 0.5;

static bool is_share(uint64_t count, const fw_column_sketch *s, double share) {
  return count > 0 && (double)count >= share * (double)fw_column_sketch_present(s);
}

/* Returns the unit that most numbers of the column have; "": none. */
static const char *find_unit(const fw_column_sketch *s) {
  const uint64_t numbers = s->forms[FW_FORM_WHOLE].count + s->forms[FW_FORM_FRACTION].count + s->written.cells;
  for (size_t i = 0; i < FW_SKETCH_UNITS && !s->written.many_units; i++) {
    const fw_counted_unit *unit = &s->written.units[i];
    if (2 * unit->count > numbers && !fw_utf8_check(unit->text, unit->text + strlen(unit->text))) return unit->text;
  }
  return "";
}

/* The number of cells with another unit. */
static uint64_t count_other_units(const fw_column_sketch *s, const char *unit) {
  uint64_t others = 0;
  for (size_t i = 0; i < FW_SKETCH_UNITS; i++)
    if (strcmp(s->written.units[i].text, unit) != 0) others += s->written.units[i].count;
  return others;
}

/* Whether the cells that people may have written as numbers are lists, such as 101,202 or 1,2,3. */
static bool are_lists(const fw_column_sketch *s) {
  const fw_written_sketch *w = &s->written;
  return s->lists > 0 || 20 * (w->cells - w->lists) < w->cells || 100 * w->jumbled > w->cells;
}

/* Whether people wrote numbers with that unit, or without one. */
static bool are_written(const fw_column_sketch *s, const char *unit) {
  return s->written.cells > count_other_units(s, unit) && !s->written.many_units && !are_lists(s);
}

/* If cells with commas need no quotes, a comma rarely separates the elements of a list. */
static mark find_mark(const fw_column_sketch *s, const char *unit, char delimiter, double share) {
  const bool commas = delimiter && delimiter != ',';
  const uint64_t whole = s->forms[FW_FORM_WHOLE].count, fractions = s->forms[FW_FORM_FRACTION].count;
  const uint64_t others = count_other_units(s, unit);
  uint64_t point = whole + fractions, comma = whole + s->forms[FW_FORM_COMMA].count;
  if (!are_written(s, unit)) {
    if (fractions == 0 || !is_share(point, s, share)) return MARK_NONE;
    return comma == point && s->written.open > 0 ? MARK_EITHER : MARK_POINT;
  }
  point += s->forms[FW_FORM_POINT].count;
  point -= others < point ? others : point;
  comma -= others < comma ? others : comma;
  if (!is_share(point > comma ? point : comma, s, share)) return MARK_NONE;
  if (point > comma) return MARK_POINT;
  if (comma > point) return commas || unit[0] || s->written.both > 0 || s->written.chains > 0 ? MARK_COMMA : MARK_NONE;
  return s->written.open > 0 ? MARK_EITHER : MARK_POINT;
}

/* Whether some cell is a number with a decimal point and not with a decimal comma. */
static bool is_sure_of_point(const fw_column_sketch *s, mark found) {
  return found == MARK_POINT &&
         s->forms[FW_FORM_POINT].count + s->forms[FW_FORM_FRACTION].count > s->forms[FW_FORM_COMMA].count;
}

/* The doubt about a column that has no format although most of its cells look like numbers; NULL: none. */
static const char *doubt_of_texts(const fw_column_sketch *s) {
  const fw_written_sketch *w = &s->written;
  if (are_lists(s) || 2 * w->cells <= fw_column_sketch_present(s)) return NULL;
  if (w->many_units || count_other_units(s, "") > 0) return "most cells are numbers, but they have different units";
  return "the cells may be numbers with a decimal comma; {\"as\": \"number\", \"decimal\": \",\"} reads them so";
}

/* Whether points seem to separate groups of digits: several numbers have points, and no number without points is large
 * enough for groups. */
static bool look_grouped(const fw_written_sketch *w) {
  return w->grouped.least < w->grouped.most && w->plain.most < 1000;
}

/* Decides on a column in which three digits follow each point, and there are no commas. `written`: some cell is not a
 * number as programs write it. */
static mark settle_points(fw_evidence *e, const table_marks *table, bool written) {
  const fw_written_sketch *w = &e->sketch.written;
  const bool grouped = look_grouped(w) && table->delimiter;
  if (table->other == MARK_COMMA) {
    e->doubt = "points are taken to separate groups of digits, because other columns have decimal commas; "
               "\"decimal\": \".\" takes them for decimal points";
    return MARK_COMMA;
  }
  if (table->other == MARK_NONE && grouped && table->delimiter == ';') {
    e->doubt = "points are taken to separate groups of digits, because three digits follow each of them and the "
               "delimiter is a semicolon; \"decimal\": \".\" takes them for decimal points";
    return MARK_COMMA;
  }
  if (table->other == MARK_EITHER)
    e->doubt = "a point is taken for the decimal mark, but other columns have decimal commas; \"decimal\": \",\" takes "
               "points to separate groups of digits";
  else if (table->other == MARK_NONE ? grouped || written : grouped && w->plain.count > 0) /* 1.173 and 992 */
    e->doubt = "a point is taken for the decimal mark, but three digits follow each point; \"decimal\": \",\" takes "
               "points to separate groups of digits";
  return MARK_POINT;
}

/* Decides on a column whose cells fit a point and a comma. */
static mark settle_either(fw_evidence *e, const table_marks *table, bool written) {
  if (!written || e->sketch.written.commas == 0) return settle_points(e, table, written);
  if (table->other == MARK_POINT) return MARK_POINT;
  if (table->other == MARK_COMMA || table->delimiter == ';') {
    e->doubt = table->other == MARK_COMMA
                   ? "a comma is taken for the decimal mark, as in other columns; \"decimal\": \".\" takes it to "
                     "separate groups of digits"
                   : "a comma is taken for the decimal mark, because the delimiter is a semicolon; \"decimal\": \".\" "
                     "takes it to separate groups of digits";
    return MARK_COMMA;
  }
  e->doubt = "a comma is taken to separate groups of digits; \"decimal\": \",\" takes it for the decimal mark";
  return MARK_POINT;
}

static fw_number_format choose_format(fw_evidence *e, mark found, const table_marks *table, const char *unit) {
  fw_number_format format = {0};
  const bool written = are_written(&e->sketch, unit);
  e->doubt = found == MARK_NONE ? doubt_of_texts(&e->sketch) : NULL;
  if (found == MARK_EITHER) found = settle_either(e, table, written);
  const bool point = written && e->sketch.forms[FW_FORM_POINT].count > count_other_units(&e->sketch, unit);
  if (found == MARK_NONE || (found == MARK_POINT && !point)) return format;
  format.decimal = found == MARK_COMMA ? ',' : '.';
  strcpy(format.unit, unit);
  return format;
}

static furrow_status settle_numbers(fw_evidence *columns, size_t count, char delimiter, furrow_error *err) {
  bool points = false, with_comma = false;
  for (size_t i = 0; i < count; i++) {
    const fw_column_sketch *s = &columns[i].sketch;
    const mark found = find_mark(s, find_unit(s), delimiter, half);
    points |= is_sure_of_point(s, found);
    with_comma |= found == MARK_COMMA;
  }
  const table_marks table = {.delimiter = delimiter,
                             .other = points && with_comma ? MARK_EITHER
                                      : points             ? MARK_POINT
                                      : with_comma         ? MARK_COMMA
                                                           : MARK_NONE};
  for (size_t i = 0; i < count; i++) {
    fw_evidence *e = &columns[i];
    const char *unit = find_unit(&e->sketch);
    e->likely = choose_format(e, find_mark(&e->sketch, unit, delimiter, half), &table, unit);
    const fw_number_format format = choose_format(e, find_mark(&e->sketch, unit, delimiter, nearly_all), &table, unit);
    FW_TRY(fw_column_sketch_settle(&e->sketch, &format, err));
  }
  return FURROW_OK;
}

/* ---- Dates ---- */

/* Whether the column has dates, all of which are valid with the day first and with the month first. */
static bool has_either_order(const fw_column_sketch *s) {
  fw_time_unit unit;
  const uint64_t day = s->times[FW_UNIT_DAY_FIRST].count;
  return day > 0 && day == s->times[FW_UNIT_MONTH_FIRST].count && fw_column_sketch_unit(s, &unit);
}

static void settle_order(fw_evidence *e, bool day, bool month) {
  fw_column_sketch *s = &e->sketch;
  if (!has_either_order(s)) return;
  if (s->dotted == s->times[FW_UNIT_DAY_FIRST].count) { /* 1.2.2023 */
    s->order = FW_UNIT_DAY_FIRST;
  } else if (day && !month) {
    s->order = FW_UNIT_DAY_FIRST;
    e->doubt = "the day is taken to come first, as in other columns; \"unit\": \"month-first\" reads the month first";
  } else {
    s->order = FW_UNIT_MONTH_FIRST;
    e->doubt = month && !day
                   ? "the month is taken to come first, as in other columns; \"unit\": \"day-first\" reads the "
                     "day first"
                   : "the cells do not say whether the day or the month comes first; the month is a guess; "
                     "\"unit\": \"day-first\" reads the day first";
  }
}

static void settle_dates(fw_evidence *columns, size_t count) {
  bool day = false, month = false;
  for (size_t i = 0; i < count; i++) {
    const fw_column_sketch *s = &columns[i].sketch;
    fw_time_unit unit;
    if (!fw_column_sketch_unit(s, &unit) || has_either_order(s)) continue;
    day |= unit == FW_UNIT_DAY_FIRST;
    month |= unit == FW_UNIT_MONTH_FIRST;
  }
  for (size_t i = 0; i < count; i++) settle_order(&columns[i], day, month);
}

furrow_status fw_evidence_settle_formats(fw_evidence *columns, size_t count, char delimiter, furrow_error *err) {
  for (size_t i = 0; i < count; i++) columns[i].sketch.marked = find_markers(&columns[i]);
  FW_TRY(settle_numbers(columns, count, delimiter, err));
  settle_dates(columns, count);
  for (size_t i = 0; i < count; i++) {
    fw_column_sketch *s = &columns[i].sketch;
    fw_time_unit unit;
    if (!fw_column_sketch_mostly_numbers(s) && !fw_column_sketch_unit(s, &unit)) s->marked = 0;
  }
  return FURROW_OK;
}
