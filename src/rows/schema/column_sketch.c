/* rows/schema/column_sketch.c: statistics of the cells of a column. */
#include "rows/schema/column_sketch.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "base/utf8.h"
#include "kern/text/time_cell.h"
#include "rows/text/cells.h"

/* ---- Distinct values ---- */

enum { REGISTERS = 1 << FW_SKETCH_BITS };

enum { FEW_MOST = REGISTERS / 16 }; /* a table of more would not be much smaller than all registers */

/* Returns the place of a register in the table of the few, or the free place where it belongs. */
static uint32_t *find_few(uint32_t *few, uint32_t capacity, uint32_t number) {
  uint32_t at = number & (capacity - 1);
  while (few[at] != 0 && few[at] >> 8 != number + 1) at = (at + 1) & (capacity - 1);
  return &few[at];
}

static furrow_status use_registers(fw_distinct *d, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&d->registers, REGISTERS, err));
  for (uint32_t i = 0; i < d->few_capacity; i++)
    if (d->few[i] != 0) d->registers[(d->few[i] >> 8) - 1] = (uint8_t)d->few[i];
  fw_free(d->few);
  d->few = NULL;
  d->few_count = d->few_capacity = 0;
  return FURROW_OK;
}

static furrow_status grow_few(fw_distinct *d, furrow_error *err) {
  const uint32_t capacity = d->few_capacity ? 2 * d->few_capacity : 4;
  uint32_t *few;
  FW_TRY(FW_ALLOC_ZERO(&few, capacity, err));
  for (uint32_t i = 0; i < d->few_capacity; i++)
    if (d->few[i] != 0) *find_few(few, capacity, (d->few[i] >> 8) - 1) = d->few[i];
  fw_free(d->few);
  d->few = few;
  d->few_capacity = capacity;
  return FURROW_OK;
}

/* Raises the register to at least `run_length`. */
static furrow_status raise_register(fw_distinct *d, uint32_t number, uint8_t run_length, furrow_error *err) {
  if (d->few_count == FEW_MOST) FW_TRY(use_registers(d, err));
  if (d->registers) {
    if (run_length > d->registers[number]) d->registers[number] = run_length;
    return FURROW_OK;
  }
  if (2 * d->few_count >= d->few_capacity) FW_TRY(grow_few(d, err));
  uint32_t *few = find_few(d->few, d->few_capacity, number);
  d->few_count += *few == 0;
  if ((uint8_t)*few < run_length) *few = (number + 1) << 8 | run_length;
  return FURROW_OK;
}

furrow_status fw_distinct_add(fw_distinct *distinct, uint64_t hash, furrow_error *err) {
  const uint64_t rest = hash << FW_SKETCH_BITS | (uint64_t)1 << (FW_SKETCH_BITS - 1); /* ends the run of zeros */
  return raise_register(distinct, (uint32_t)(hash >> (64 - FW_SKETCH_BITS)), (uint8_t)(__builtin_clzll(rest) + 1), err);
}

void fw_distinct_clear(fw_distinct *distinct) {
  fw_free(distinct->registers);
  fw_free(distinct->few);
  *distinct = (fw_distinct){0};
}

static furrow_status merge_distinct(fw_distinct *into, const fw_distinct *from, furrow_error *err) {
  for (uint32_t i = 0; from->registers && i < REGISTERS; i++)
    if (from->registers[i] > 0) FW_TRY(raise_register(into, i, from->registers[i], err));
  for (uint32_t i = 0; i < from->few_capacity; i++)
    if (from->few[i] != 0) FW_TRY(raise_register(into, (from->few[i] >> 8) - 1, (uint8_t)from->few[i], err));
  return FURROW_OK;
}

/* The estimator of Ertl ("New cardinality estimation algorithms for HyperLogLog sketches", 2017), which needs no
 * tables to correct the bias of the original one in the middle of its range: sigma handles empty registers, tau full
 * ones. */
static double sigma(double x) {
  double y = 1, z = x, before;
  if (x == 1) return INFINITY;
  do {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  } while (z != before);
  return z;
}

static double tau(double x) {
  double y = 1, z = 1 - x, before;
  if (x == 0 || x == 1) return 0;
  do {
    x = sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  } while (z != before);
  return z / 3;
}

double fw_distinct_count(const fw_distinct *distinct) {
  enum { FULL = 64 - FW_SKETCH_BITS + 1 };
  double counts[FULL + 1] = {0};
  for (size_t i = 0; distinct->registers && i < REGISTERS; i++) counts[distinct->registers[i]]++;
  for (uint32_t i = 0; i < distinct->few_capacity; i++)
    if (distinct->few[i] != 0) counts[(uint8_t)distinct->few[i]]++;
  if (!distinct->registers) counts[0] = REGISTERS - distinct->few_count;
  double z = REGISTERS * tau(1 - counts[FULL] / REGISTERS);
  for (int k = FULL - 1; k >= 1; k--) z = 0.5 * (z + counts[k]);
  z += REGISTERS * sigma(counts[0] / REGISTERS);
  return (double)REGISTERS * REGISTERS / (2 * M_LN2 * z);
}

/* ---- Values while they are few ---- */

enum { VALUE_TEXT = 200 }; /* most bytes of a value that is counted */

static void drop_values(fw_value_set *set) {
  fw_free(set->slots);
  fw_buffer_clear(&set->texts);
  *set = (fw_value_set){.most = set->most, .many = true};
}

/* Returns the slot of the value, or the free slot where it belongs. */
static fw_counted_value *find_slot(const fw_value_set *set, fw_counted_value *slots, size_t capacity, uint64_t hash,
                                   const char *text, size_t length) {
  size_t i = hash & (capacity - 1);
  for (; slots[i].count > 0; i = (i + 1) & (capacity - 1)) {
    const fw_counted_value *v = &slots[i];
    if (v->hash == hash && v->length == length && memcmp(set->texts.bytes + v->at, text, length) == 0) break;
  }
  return &slots[i];
}

static furrow_status grow_values(fw_value_set *set, furrow_error *err) {
  fw_counted_value *slots;
  const size_t capacity = set->capacity ? 2 * set->capacity : 4;
  FW_TRY(FW_ALLOC_ZERO(&slots, capacity, err));
  for (size_t i = 0; i < set->capacity; i++) {
    const fw_counted_value *v = &set->slots[i];
    if (v->count > 0) *find_slot(set, slots, capacity, v->hash, set->texts.bytes + v->at, v->length) = *v;
  }
  fw_free(set->slots);
  set->slots = slots;
  set->capacity = capacity;
  return FURROW_OK;
}

static furrow_status count_value(fw_value_set *set, uint64_t hash, const char *text, size_t length, uint64_t count,
                                 furrow_error *err) {
  if (set->many) return FURROW_OK;
  if (length > VALUE_TEXT) {
    drop_values(set);
    return FURROW_OK;
  }
  if (2 * set->count >= set->capacity) FW_TRY(grow_values(set, err));
  fw_counted_value *v = find_slot(set, set->slots, set->capacity, hash, text, length);
  if (v->count == 0) {
    if (set->count == set->most) {
      drop_values(set);
      return FURROW_OK;
    }
    const size_t at = set->texts.size;
    fw_buffer_append(&set->texts, text, length);
    FW_TRY(fw_buffer_status(&set->texts, err));
    *v = (fw_counted_value){.hash = hash, .at = (uint32_t)at, .length = (uint32_t)length};
    set->count++;
  }
  v->count += count;
  return FURROW_OK;
}

static furrow_status merge_values(fw_value_set *into, const fw_value_set *from, furrow_error *err) {
  if (from->many) drop_values(into);
  for (size_t i = 0; i < from->capacity && !into->many; i++) {
    const fw_counted_value *v = &from->slots[i];
    if (v->count == 0) continue;
    FW_TRY(count_value(into, v->hash, from->texts.bytes + v->at, v->length, v->count, err));
  }
  return FURROW_OK;
}

/* ---- Examples: the values with the least hashes, so that they do not depend on the order ---- */

static bool offer_example(fw_example *examples, size_t count, uint64_t hash, const char *text, size_t length) {
  size_t i = count;
  if (hash >= examples[count - 1].hash) return false;
  for (size_t k = 0; k < count; k++)
    if (examples[k].hash == hash) return false;
  while (i > 0 && examples[i - 1].hash > hash) i--;
  memmove(&examples[i + 1], &examples[i], (count - 1 - i) * sizeof *examples);
  examples[i].hash = hash;
  examples[i].length = (uint32_t)(length < UINT32_MAX ? length : UINT32_MAX);
  memcpy(examples[i].text, text, length < FW_SKETCH_EXAMPLE_TEXT ? length : FW_SKETCH_EXAMPLE_TEXT);
  return true;
}

static void merge_examples(fw_example *into, const fw_example *from, size_t count) {
  for (size_t i = 0; i < count && from[i].hash != UINT64_MAX; i++) {
    /* its text may be truncated; no more of it was kept */
    const uint32_t length = from[i].length;
    if (!offer_example(into, count, from[i].hash, from[i].text,
                       length < FW_SKETCH_EXAMPLE_TEXT ? length : FW_SKETCH_EXAMPLE_TEXT))
      continue;
    for (size_t k = 0; k < count; k++)
      if (into[k].hash == from[i].hash) into[k].length = length;
  }
}

/* ---- Elements ---- */

char fw_separator_char(fw_separator separator) {
  static const char characters[] = {
#define FW_X(name, character) character,
      FW_SEPARATORS(FW_X)
#undef FW_X
  };
  return characters[separator];
}

static bool is_integer(const char *text, const char *end) {
  int64_t value;
  bool overflow = false;
  return text < end && fw_read_i64(text, end, &value, &overflow) == end;
}

static bool is_finite_number(const char *text, const char *end, double *value) {
  return text < end && fw_read_f64(text, end, value) == end && isfinite(*value);
}

static bool has_value(const char *text, const char *end) {
  const char *colon = memrchr(text, ':', (size_t)(end - text));
  double value;
  return colon && colon > text && is_finite_number(colon + 1, end, &value);
}

static furrow_status add_element(fw_element_sketch *e, const char *text, const char *end, furrow_error *err) {
  if (text == end) return FURROW_OK;
  const bool valued = has_value(text, end);
  const char *name_end = valued ? (const char *)memrchr(text, ':', (size_t)(end - text)) : end;
  e->elements++;
  e->valued += valued;
  e->integers += is_integer(text, end);
  return fw_distinct_add(&e->distinct, XXH3_64bits(text, (size_t)(name_end - text)), err);
}

static furrow_status add_elements(fw_element_sketch *e, char separator, const char *text, const char *end,
                                  furrow_error *err) {
  e->cells++;
  for (const char *next;; text = next + 1) {
    next = memchr(text, separator, (size_t)(end - text));
    if (!next) break;
    FW_TRY(add_element(e, text, next, err));
    e->separators++;
    if (next + 1 < end && next[1] == ' ' && separator != ' ') {
      e->blanks++;
      next++;
    }
  }
  return add_element(e, text, end, err);
}

static furrow_status merge_elements(fw_element_sketch *into, const fw_element_sketch *from, furrow_error *err) {
  into->cells += from->cells;
  into->elements += from->elements;
  into->separators += from->separators;
  into->blanks += from->blanks;
  into->valued += from->valued;
  into->integers += from->integers;
  return merge_distinct(&into->distinct, &from->distinct, err);
}

/* ---- Numbers ---- */

static uint32_t magnitude_of(double value) {
  int exponent;
  const double mantissa = frexp(value, &exponent); /* 0.5 … 1 */
  const int i = (exponent + 32) * 4 + (int)((mantissa - 0.5) * 8);
  return i < 0 ? 0 : i >= FW_SKETCH_MAGNITUDES ? FW_SKETCH_MAGNITUDES - 1 : (uint32_t)i;
}

/* Counts n numbers of that size. The histogram has the steps from the least to the largest number. */
static furrow_status count_magnitude(fw_number_sketch *s, uint32_t step, uint64_t n, furrow_error *err) {
  const uint32_t before = s->magnitude_first, count = s->magnitude_count;
  const uint32_t first = count == 0 || step < before ? step : before;
  const uint32_t last = count == 0 || step >= before + count ? step : before + count - 1;
  if (last - first + 1 > count) {
    uint64_t *grown;
    FW_TRY(FW_ALLOC_ZERO(&grown, last - first + 1, err));
    if (count > 0) memcpy(grown + (before - first), s->magnitudes, count * sizeof *grown);
    fw_free(s->magnitudes);
    s->magnitudes = grown;
    s->magnitude_first = first;
    s->magnitude_count = last - first + 1;
  }
  s->magnitudes[step - first] += n;
  return FURROW_OK;
}

static furrow_status add_number(fw_number_sketch *s, double value, furrow_error *err) {
  if (s->count++ == 0) s->least = s->most = value;
  if (value < s->least) s->least = value;
  if (value > s->most) s->most = value;
  return value > 0 ? count_magnitude(s, magnitude_of(value), 1, err) : FURROW_OK;
}

static furrow_status merge_numbers(fw_number_sketch *into, const fw_number_sketch *from, furrow_error *err) {
  if (from->count == 0) return FURROW_OK;
  if (into->count == 0 || from->least < into->least) into->least = from->least;
  if (into->count == 0 || from->most > into->most) into->most = from->most;
  into->count += from->count;
  for (uint32_t k = 0; k < from->magnitude_count; k++)
    if (from->magnitudes[k] > 0) FW_TRY(count_magnitude(into, from->magnitude_first + k, from->magnitudes[k], err));
  return FURROW_OK;
}

double fw_number_sketch_mean(const fw_number_sketch *s) {
  double sum = 0;
  for (uint32_t k = 0; k < s->magnitude_count; k++) {
    const uint32_t step = s->magnitude_first + k;
    sum += (double)s->magnitudes[k] * ldexp(0.5 + ((double)(step % 4) + 0.5) / 8, (int)(step / 4) - 32);
  }
  return s->count > 0 ? sum / (double)s->count : 0;
}

/* ---- Numbers as people write them ---- */

static void merge_range(fw_range *into, const fw_range *from) {
  if (from->count == 0) return;
  if (into->count == 0 || from->least < into->least) into->least = from->least;
  if (into->count == 0 || from->most > into->most) into->most = from->most;
  into->count += from->count;
}

static void add_to_range(fw_range *range, double value) {
  merge_range(range, &(fw_range){.count = 1, .least = value, .most = value});
}

static void count_unit(fw_written_sketch *s, const char *text, size_t length, uint64_t count,
                       const fw_example *example) {
  if (length == 0 || count == 0) return;
  for (size_t i = 0; i < FW_SKETCH_UNITS; i++) {
    fw_counted_unit *unit = &s->units[i];
    if (unit->count == 0) {
      memcpy(unit->text, text, length);
      unit->text[length] = 0;
      unit->example.hash = UINT64_MAX;
    } else if (strlen(unit->text) != length || memcmp(unit->text, text, length) != 0) {
      continue;
    }
    unit->count += count;
    merge_examples(&unit->example, example, 1);
    return;
  }
  s->many_units = true;
}

static void merge_written(fw_written_sketch *into, const fw_written_sketch *from) {
  into->cells += from->cells;
  into->lists += from->lists;
  into->jumbled += from->jumbled;
  into->both += from->both;
  into->open += from->open;
  into->commas += from->commas;
  into->chains += from->chains;
  merge_range(&into->grouped, &from->grouped);
  merge_range(&into->plain, &from->plain);
  into->many_units |= from->many_units;
  for (size_t i = 0; i < FW_SKETCH_UNITS; i++) {
    const fw_counted_unit *unit = &from->units[i];
    count_unit(into, unit->text, strlen(unit->text), unit->count, &unit->example);
  }
}

/* Adds the number that the parts are with this decimal mark, if they are one. */
static furrow_status add_form(fw_column_sketch *s, const fw_number_parts *parts, fw_number_form form, double *value,
                              bool *is, furrow_error *err) {
  *is = fw_number_of_parts(parts, form == FW_FORM_POINT ? '.' : ',', value) && isfinite(*value);
  return *is ? add_number(&s->forms[form], *value, err) : FURROW_OK;
}

/* Counts the marks of a number; NULL: it is not one with that decimal mark. */
static void count_marks(fw_written_sketch *w, const fw_number_parts *parts, const double *by_point,
                        const double *by_comma) {
  const size_t digits = (size_t)(parts->digits_end - parts->digits);
  const bool points = memchr(parts->digits, '.', digits), commas = memchr(parts->digits, ',', digits);
  w->both += points && commas;
  w->open += by_point && by_comma && *by_point != *by_comma;
  w->commas += commas;
  w->chains += points && !commas && !by_point;
  if (points && !commas && by_comma) add_to_range(&w->grouped, *by_comma);
  if (!points && !commas && by_point) add_to_range(&w->plain, fabs(*by_point));
}

/* *is: people may have written the text as a number. */
static furrow_status add_written(fw_column_sketch *s, uint64_t hash, const char *text, const char *end, bool *is,
                                 furrow_error *err) {
  fw_number_parts parts;
  fw_written_sketch *w = &s->written;
  double by_point = 0, by_comma = 0;
  bool point, comma;
  *is = false;
  if (!fw_number_split(text, (size_t)(end - text), &parts) || !fw_number_unit_is_likely(&parts)) return FURROW_OK;
  FW_TRY(add_form(s, &parts, FW_FORM_POINT, &by_point, &point, err));
  FW_TRY(add_form(s, &parts, FW_FORM_COMMA, &by_comma, &comma, err));
  *is = point || comma;
  w->jumbled += !*is;
  if (!*is) return FURROW_OK;
  w->cells++;
  w->lists += fw_number_may_be_list(&parts);
  count_marks(w, &parts, point ? &by_point : NULL, comma ? &by_comma : NULL);
  fw_example cell = {.hash = UINT64_MAX};
  offer_example(&cell, 1, hash, text, (size_t)(end - text));
  count_unit(w, parts.unit, (size_t)(parts.unit_end - parts.unit), 1, &cell);
  merge_examples(&s->odd[FW_ODD_WRITTEN], &cell, 1);
  if (!point) merge_examples(&s->odd[FW_ODD_POINT], &cell, 1);
  if (!comma) merge_examples(&s->odd[FW_ODD_COMMA], &cell, 1);
  return FURROW_OK;
}

/* A number of a program with a point in it is another number where points separate groups of digits. */
static furrow_status add_fraction(fw_column_sketch *s, uint64_t hash, const char *text, const char *end, double value,
                                  furrow_error *err) {
  fw_number_parts parts;
  const char *point = memchr(text, '.', (size_t)(end - text));
  double by_comma = 0;
  bool comma = false;
  FW_TRY(add_number(&s->forms[FW_FORM_FRACTION], value, err));
  /* most of them have a point that three digits do not follow */
  if ((!point || end - point == 4) && fw_number_split(text, (size_t)(end - text), &parts))
    FW_TRY(add_form(s, &parts, FW_FORM_COMMA, &by_comma, &comma, err));
  s->written.open += comma && value != by_comma;
  if (comma && point) add_to_range(&s->written.grouped, by_comma);
  if (!comma) offer_example(&s->odd[FW_ODD_COMMA], 1, hash, text, (size_t)(end - text));
  return FURROW_OK;
}

uint64_t fw_column_sketch_numbers(const fw_column_sketch *s, const fw_number_format *format) {
  uint64_t count = s->forms[FW_FORM_WHOLE].count, others = 0;
  if (format->decimal != ',') count += s->forms[FW_FORM_FRACTION].count;
  if (format->decimal) count += s->forms[format->decimal == '.' ? FW_FORM_POINT : FW_FORM_COMMA].count;
  for (size_t i = 0; format->decimal && i < FW_SKETCH_UNITS; i++)
    if (strcmp(s->written.units[i].text, format->unit) != 0) others += s->written.units[i].count;
  return count - (others < count ? others : count);
}

const fw_example *fw_column_sketch_refused(const fw_column_sketch *s, const fw_number_format *format) {
  const fw_odd odd = !format->decimal ? FW_ODD_WRITTEN : format->decimal == '.' ? FW_ODD_POINT : FW_ODD_COMMA;
  if (s->odd[FW_ODD_TEXT].hash != UINT64_MAX) return &s->odd[FW_ODD_TEXT];
  if (s->odd[odd].hash != UINT64_MAX) return &s->odd[odd];
  for (size_t i = 0; format->decimal && i < FW_SKETCH_UNITS; i++) {
    const fw_counted_unit *unit = &s->written.units[i];
    if (unit->count > 0 && strcmp(unit->text, format->unit) != 0) return &unit->example;
  }
  return NULL;
}

furrow_status fw_column_sketch_settle(fw_column_sketch *s, const fw_number_format *format, furrow_error *err) {
  const char decimal = format->decimal;
  s->format = *format;
  FW_TRY(merge_numbers(&s->numbers, &s->forms[FW_FORM_WHOLE], err));
  if (decimal != ',') FW_TRY(merge_numbers(&s->numbers, &s->forms[FW_FORM_FRACTION], err));
  if (decimal == '.') FW_TRY(merge_numbers(&s->numbers, &s->forms[FW_FORM_POINT], err));
  if (decimal == ',') FW_TRY(merge_numbers(&s->numbers, &s->forms[FW_FORM_COMMA], err));
  s->numbers.count = fw_column_sketch_numbers(s, format);
  return FURROW_OK;
}

/* ---- Markers ---- */

static void count_marker(fw_marker_sketch *s, const char *text, size_t length, uint64_t count) {
  if (count == 0) return;
  for (size_t i = 0; i < FW_SKETCH_MARKERS; i++) {
    fw_counted_marker *marker = &s->markers[i];
    if (marker->count == 0) {
      memcpy(marker->text, text, length);
      marker->text[length] = 0;
    } else if (strlen(marker->text) != length || memcmp(marker->text, text, length) != 0) {
      continue;
    }
    marker->count += count;
    return;
  }
  s->many = true;
}

static void merge_markers(fw_marker_sketch *into, const fw_marker_sketch *from) {
  into->many |= from->many;
  for (size_t i = 0; i < FW_SKETCH_MARKERS; i++)
    count_marker(into, from->markers[i].text, strlen(from->markers[i].text), from->markers[i].count);
}

static bool is_word(const char *text, size_t length, const char *word) {
  return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* true and false are numbers where numbers are expected. */
static bool may_be_marker(const char *text, size_t length) {
  if (length > FW_SKETCH_MARKER_TEXT || fw_utf8_check(text, text + length)) return false;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] < ' ' || (text[i] >= '1' && text[i] <= '9')) return false;
  return !is_word(text, length, "true") && !is_word(text, length, "false");
}

uint64_t fw_column_sketch_markers(const fw_column_sketch *s) {
  uint64_t count = 0;
  for (size_t i = 0; i < FW_SKETCH_MARKERS && !s->markers.many; i++) count += s->markers.markers[i].count;
  return count;
}

/* ---- Times ---- */

static void merge_times(fw_time_sketch *into, const fw_time_sketch *from) {
  if (from->count == 0) return;
  if (into->count == 0 || from->least < into->least) into->least = from->least;
  if (into->count == 0 || from->most > into->most) into->most = from->most;
  into->count += from->count;
  into->hours |= from->hours;
  into->weekdays |= from->weekdays;
  into->months |= from->months;
}

static void add_time(fw_column_sketch *s, fw_time_unit unit, double seconds) {
  const fw_time_sketch one = {.count = 1,
                              .least = seconds,
                              .most = seconds,
                              .hours = 1u << fw_time_part_of(seconds, FW_PART_HOUR),
                              .weekdays = 1u << fw_time_part_of(seconds, FW_PART_WEEKDAY),
                              .months = 1u << fw_time_part_of(seconds, FW_PART_MONTH)};
  merge_times(&s->times[unit], &one);
}

/* From 1973 to 2096 the ranges of the units do not overlap. */
static void add_epoch(fw_column_sketch *s, double value) {
  for (fw_time_unit unit = FW_UNIT_SECONDS; unit < FW_UNIT_TEXT; unit++) {
    const double seconds = value / fw_time_unit_scale(unit);
    if (seconds < 1e8 || seconds >= 4e9) continue;
    add_time(s, unit, seconds);
    return;
  }
}

/* Adds a text that may be a date, and the orders of day and month that it may have; returns whether it is one. */
static bool add_date(fw_column_sketch *s, uint64_t hash, const char *text, const char *end) {
  const size_t length = (size_t)(end - text);
  double seconds;
  bool short_year = false, either = false;
  if (fw_time_parse_date(text, length, FW_UNIT_TEXT, &seconds, &short_year)) {
    add_time(s, FW_UNIT_TEXT, seconds);
    s->short_years += short_year;
    return true;
  }
  for (fw_time_unit unit = FW_UNIT_DAY_FIRST; unit < FW_TIME_UNIT_COUNT; unit++) {
    if (!fw_time_parse_date(text, length, unit, &seconds, &short_year)) continue;
    add_time(s, unit, seconds);
    either = true;
  }
  s->dotted += either && length > 2 && (text[1] == '.' || text[2] == '.');
  s->short_years += either && short_year;
  if (!either) offer_example(&s->odd[FW_ODD_DATE], 1, hash, text, length);
  return either;
}

/* ---- Cells ---- */

/* Whether encoders treat the text as a missing number; *infinite: it is a word for infinity. */
static bool is_absent(const char *text, const char *end, bool *infinite) {
  const fw_cell words = {.begin = text, .end = end};
  double value = 0;
  const bool number = fw_read_f64(text, end, &value) == end;
  *infinite = number && fw_number_is_infinity(text, (size_t)(end - text), value);
  return fw_cell_is_missing(&words) || *infinite || (number && isnan(value));
}

static uint64_t count_words(const char *text, const char *end) {
  uint64_t words = 0;
  bool inside = false;
  for (; text < end; text++) {
    const bool blank = *text == ' ' || *text == '\t' || *text == '\n' || *text == '\r';
    words += !blank && !inside;
    inside = !blank;
  }
  return words;
}

static furrow_status add_text(fw_column_sketch *s, uint64_t hash, const char *text, const char *end,
                              furrow_error *err) {
  bool written;
  FW_TRY(add_written(s, hash, text, end, &written, err));
  if (!written) offer_example(&s->odd[FW_ODD_TEXT], 1, hash, text, (size_t)(end - text));
  s->words += count_words(text, end);
  s->bytes += (uint64_t)(end - text);
  if (!add_date(s, hash, text, end) && !written && may_be_marker(text, (size_t)(end - text)))
    count_marker(&s->markers, text, (size_t)(end - text), 1);
  for (fw_separator i = FW_SEPARATOR_BAR; i < FW_SEPARATOR_LIST; i++)
    if (memchr(text, fw_separator_char(i), (size_t)(end - text)))
      FW_TRY(add_elements(&s->elements[i], fw_separator_char(i), text, end, err));
  return FURROW_OK;
}

void fw_column_sketch_init(fw_column_sketch *s, size_t values) {
  memset(s, 0, sizeof *s);
  s->order = FW_UNIT_MONTH_FIRST;
  s->values.most = values;
  for (size_t i = 0; i < FW_ODD_COUNT; i++) s->odd[i].hash = UINT64_MAX;
  for (size_t i = 0; i < FW_SKETCH_EXAMPLES; i++) s->examples[i].hash = UINT64_MAX;
}

void fw_column_sketch_clear(fw_column_sketch *s) {
  for (size_t i = 0; i < FW_FORM_COUNT; i++) fw_free(s->forms[i].magnitudes);
  fw_free(s->numbers.magnitudes);
  fw_distinct_clear(&s->distinct);
  fw_free(s->values.slots);
  fw_buffer_clear(&s->values.texts);
  for (size_t i = 0; i < FW_SEPARATOR_COUNT; i++) fw_distinct_clear(&s->elements[i].distinct);
}

furrow_status fw_column_sketch_add(fw_column_sketch *s, const char *text, size_t length, bool list, furrow_error *err) {
  const char *end = text + length;
  if (length == 0 && !list) {
    s->missing++;
    return FURROW_OK;
  }
  const uint64_t hash = XXH3_64bits(text, length);
  double value = 0;
  s->cells++;
  FW_TRY(fw_distinct_add(&s->distinct, hash, err));
  offer_example(s->examples, FW_SKETCH_EXAMPLES, hash, text, length);
  FW_TRY(count_value(&s->values, hash, text, length, 1, err));
  s->lists += list;
  if (list) return add_elements(&s->elements[FW_SEPARATOR_LIST], fw_separator_char(FW_SEPARATOR_LIST), text, end, err);
  if (!is_finite_number(text, end, &value)) {
    bool infinite;
    if (!is_absent(text, end, &infinite)) return add_text(s, hash, text, end, err);
    s->absent++;
    s->infinite += infinite;
    return FURROW_OK;
  }
  add_epoch(s, value);
  offer_example(&s->odd[FW_ODD_DATE], 1, hash, text, length);
  if (!is_integer(text, end)) return add_fraction(s, hash, text, end, value, err);
  add_to_range(&s->written.plain, fabs(value));
  s->integers++;
  const fw_cell_code code = fw_cell_code_of(text, end);
  s->padded += code == FW_CODE_PADDED;
  s->long_integers += code == FW_CODE_LONG;
  return add_number(&s->forms[FW_FORM_WHOLE], value, err);
}

furrow_status fw_column_sketch_merge(fw_column_sketch *into, const fw_column_sketch *from, furrow_error *err) {
  into->cells += from->cells;
  into->missing += from->missing;
  into->lists += from->lists;
  into->integers += from->integers;
  into->padded += from->padded;
  into->long_integers += from->long_integers;
  into->absent += from->absent;
  into->infinite += from->infinite;
  into->words += from->words;
  into->bytes += from->bytes;
  into->dotted += from->dotted;
  into->short_years += from->short_years;
  for (size_t i = 0; i < FW_TIME_UNIT_COUNT; i++) merge_times(&into->times[i], &from->times[i]);
  FW_TRY(merge_distinct(&into->distinct, &from->distinct, err));
  merge_examples(into->examples, from->examples, FW_SKETCH_EXAMPLES);
  for (size_t i = 0; i < FW_ODD_COUNT; i++) merge_examples(&into->odd[i], &from->odd[i], 1);
  merge_written(&into->written, &from->written);
  merge_markers(&into->markers, &from->markers);
  for (size_t i = 0; i < FW_FORM_COUNT; i++) FW_TRY(merge_numbers(&into->forms[i], &from->forms[i], err));
  for (size_t i = 0; i < FW_SEPARATOR_COUNT; i++) FW_TRY(merge_elements(&into->elements[i], &from->elements[i], err));
  return merge_values(&into->values, &from->values, err);
}

bool fw_column_sketch_mostly_numbers(const fw_column_sketch *s) {
  return s->numbers.count > 0 && (double)s->numbers.count >= 0.95 * (double)fw_column_sketch_present(s);
}

fw_time_sketch fw_column_sketch_times(const fw_column_sketch *s, fw_time_unit unit) {
  fw_time_sketch times = s->times[unit];
  if (unit > FW_UNIT_TEXT) merge_times(&times, &s->times[FW_UNIT_TEXT]);
  return times;
}

bool fw_column_sketch_unit(const fw_column_sketch *s, fw_time_unit *unit) {
  const double enough = 0.99 * (double)fw_column_sketch_present(s);
  for (*unit = FW_UNIT_SECONDS; *unit <= FW_UNIT_TEXT; ++*unit)
    if (s->times[*unit].count > 0 && (double)s->times[*unit].count >= enough) return true;
  const uint64_t day = s->times[FW_UNIT_DAY_FIRST].count, month = s->times[FW_UNIT_MONTH_FIRST].count;
  *unit = day > month ? FW_UNIT_DAY_FIRST : month > day ? FW_UNIT_MONTH_FIRST : s->order;
  return s->times[*unit].count > 0 && (double)fw_column_sketch_times(s, *unit).count >= enough;
}

uint64_t fw_column_sketch_distinct(const fw_column_sketch *s, bool *exact) {
  *exact = !s->values.many;
  if (*exact) return s->values.count;
  const uint64_t about = (uint64_t)(fw_distinct_count(&s->distinct) + 0.5);
  return about < s->cells ? about : s->cells;
}

/* ---- Sketches of the parts of several ranks -------------------------------------------------------------- */

/* A sketch is sent as its bytes in memory, followed by the arrays that its pointers point to, in the order of its
 * fields. The receiver sets the pointers to the received arrays, and merges. */

/* Parts begin at multiples of 8. */
static void put_padded(fw_buffer *out, const void *bytes, size_t size) {
  static const char zeros[8] = {0};
  fw_buffer_append(out, bytes, size);
  fw_buffer_append(out, zeros, (8 - size % 8) % 8);
}

static void write_distinct(const fw_distinct *d, fw_buffer *out) {
  if (d->registers) put_padded(out, d->registers, REGISTERS);
  if (d->few) put_padded(out, d->few, d->few_capacity * sizeof *d->few);
}

static void write_sketch(const fw_column_sketch *s, fw_buffer *out) {
  put_padded(out, s, sizeof *s);
  for (size_t i = 0; i < FW_FORM_COUNT; i++) {
    const fw_number_sketch *n = &s->forms[i];
    if (n->magnitudes) put_padded(out, n->magnitudes, n->magnitude_count * sizeof *n->magnitudes);
  }
  write_distinct(&s->distinct, out);
  if (s->values.slots) put_padded(out, s->values.slots, s->values.capacity * sizeof *s->values.slots);
  if (s->values.texts.bytes) put_padded(out, s->values.texts.bytes, s->values.texts.size);
  for (size_t i = 0; i < FW_SEPARATOR_COUNT; i++) write_distinct(&s->elements[i].distinct, out);
}

static void *take_padded(char **at, size_t size) {
  void *here = *at;
  *at += (size + 7) / 8 * 8;
  return here;
}

static void read_distinct(fw_distinct *d, char **at) {
  if (d->registers) d->registers = take_padded(at, REGISTERS);
  if (d->few) d->few = take_padded(at, d->few_capacity * sizeof *d->few);
}

/* Reads the sketch that begins at *at and moves *at past it; the sketch borrows the received bytes. */
static void read_sketch(fw_column_sketch *s, char **at) {
  memcpy(s, take_padded(at, sizeof *s), sizeof *s);
  for (size_t i = 0; i < FW_FORM_COUNT; i++) {
    fw_number_sketch *n = &s->forms[i];
    if (n->magnitudes) n->magnitudes = take_padded(at, n->magnitude_count * sizeof *n->magnitudes);
  }
  read_distinct(&s->distinct, at);
  if (s->values.slots) s->values.slots = take_padded(at, s->values.capacity * sizeof *s->values.slots);
  if (s->values.texts.bytes) s->values.texts.bytes = take_padded(at, s->values.texts.size);
  for (size_t i = 0; i < FW_SEPARATOR_COUNT; i++) read_distinct(&s->elements[i].distinct, at);
}

furrow_status fw_column_sketch_join(fw_column_sketch *sketch, const furrow_comm *comm, furrow_error *err) {
  fw_buffer mine = {0};
  void *all = NULL;
  size_t bytes = 0;
  const size_t most = sketch->values.most;
  if (comm->ranks == 1) return FURROW_OK;
  write_sketch(sketch, &mine);
  furrow_status status = fw_comm_all_ok(comm, fw_buffer_status(&mine, err), err);
  if (status == FURROW_OK) status = fw_comm_gather_all(comm, mine.bytes, mine.size, &all, &bytes, NULL, err);
  fw_buffer_clear(&mine);
  if (status != FURROW_OK) return status;
  fw_column_sketch_clear(sketch);
  fw_column_sketch_init(sketch, most);
  char *at = all;
  for (unsigned r = 0; r < comm->ranks && status == FURROW_OK; r++) {
    fw_column_sketch part;
    read_sketch(&part, &at);
    status = fw_column_sketch_merge(sketch, &part, err);
  }
  fw_free(all);
  return fw_comm_all_ok(comm, status, err);
}
