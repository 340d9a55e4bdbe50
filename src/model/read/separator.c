/* model/read/separator.c: detects the field separator of a text matrix from its first record.
 *
 * The metadata does not contain it. The first field is a column or row id (digits), and the second begins like a
 * number. The bytes between them are the separator if the format can read the record with it. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/input.h"
#include "model/format/matrix_format.h"
#include "model/read/source.h"

enum { HEAD = 4096, PAD = 64, LONGEST = 64 };

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool starts_word(const char *s, const char *end, const char *word) {
  const size_t length = strlen(word);
  return (size_t)(end - s) >= length && memcmp(s, word, length) == 0;
}

/* Whether a number may begin at s: [+-] then a digit, a point with a digit, or one of Java's two words. */
static bool starts_number(const char *s, const char *end) {
  if (s < end && (*s == '+' || *s == '-')) s++;
  if (s == end) return false;
  if (is_digit(*s)) return true;
  if (*s == '.') return s + 1 < end && is_digit(s[1]);
  return starts_word(s, end, "NaN") || starts_word(s, end, "Infinity");
}

/* Returns the number of bytes between the first two fields; 0 if they cannot be determined. */
static size_t between_fields(const char *text, size_t size, const char **begin) {
  const char *s = text, *end = text + size;
  if (s < end && (*s == '+' || *s == '-')) s++;
  const char *digits = s;
  while (s < end && is_digit(*s)) s++;
  if (s == digits) return 0;
  *begin = s;
  for (; s < end && !starts_number(s, end); s++)
    if (!fw_may_separate(*s)) return 0;
  const size_t length = (size_t)(s - *begin);
  return s < end && length <= LONGEST ? length : 0;
}

/* The length of the first record, without its line end. */
static size_t first_line(const char *text, size_t size) {
  const char *end = memchr(text, '\n', size);
  return end ? (size_t)(end - text) : size;
}

/* Whether the format can read the first record with this separator. Lines longer than the buffer are accepted. */
static furrow_status reads_with(const furrow_matrix_source *source, const fw_source_part *part, const char *text,
                                size_t size, const char *separator, bool *good, furrow_error *err) {
  uint64_t state[4];
  furrow_matrix_format_context context = fw_source_context(source, part, state);
  context.separator = separator;
  context.separator_length = strlen(separator);
  if (part->meta->row_count > 0) {
    context.row_id = part->row_ids[0];
    context.save_type = part->meta->rows[part->by_id[0]].save_type;
  }
  const size_t line = first_line(text, size);
  *good = line == size && size < (uint64_t)part->meta->length;
  if (*good) return FURROW_OK;
  int64_t *ids;
  const size_t values = context.record_values + PAD;
  furrow_status status = FW_ALLOC(&ids, values + 2 * (PAD + 1), err);
  if (status != FURROW_OK) return status;
  furrow_matrix_records records = {.capacity = 1, .values = ids + 2 * (PAD + 1)};
  if (source->format->flags & FURROW_MATRIX_FORMAT_COL_IDS) records.col_ids = ids;
  if (source->format->flags & FURROW_MATRIX_FORMAT_ROW_IDS) records.row_ids = (int32_t *)(ids + PAD + 1);
  size_t used = 0;
  status = source->format->decode(&context, text, line, true, &used, &records, NULL);
  *good = status == FURROW_OK && records.count == 1;
  fw_free(ids);
  return status == FURROW_E_MEMORY ? fw_fail_memory(err, 0) : FURROW_OK;
}

static furrow_status keep_separator(furrow_matrix_source *source, const char *text, size_t length, furrow_error *err) {
  char *copy;
  FW_TRY(FW_ARENA_TAKE(&source->arena, &copy, length + 1, err));
  memcpy(copy, text, length);
  copy[length] = 0;
  source->separator = copy;
  return FURROW_OK;
}

static furrow_status fail_unclear(const fw_source_part *part, const char *text, size_t size, furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "partition %d: the separator cannot be determined", (int)part->meta->part_id);
  fw_error_set_hint(err, "give the separator");
  fw_error_set_file(err, part->file->path);
  fw_error_set_token(err, text, first_line(text, size));
  if (err) err->offset = (uint64_t)part->meta->offset;
  return FURROW_E_FORMAT;
}

static furrow_status choose_separator(furrow_matrix_source *source, const fw_source_part *part, const char *text,
                                      size_t size, furrow_error *err) {
  const char *begin = text;
  char found[LONGEST + 1] = "";
  const size_t length = between_fields(text, size, &begin);
  memcpy(found, begin, length);
  /* a comma is accepted without a test: reading reports what is wrong with the record */
  if (strcmp(found, ",") == 0) return FURROW_OK;
  bool good = false;
  FW_TRY(reads_with(source, part, text, size, length > 0 ? found : ",", &good, err));
  if (good) return length > 0 ? keep_separator(source, found, length, err) : FURROW_OK;
  if (begin < text + size && *begin == ',') return FURROW_OK;
  return fail_unclear(part, text, size, err);
}

furrow_status fw_source_find_separator(furrow_matrix_source *source, furrow_error *err) {
  const unsigned fields = FURROW_MATRIX_FORMAT_BY_COLUMN | FURROW_MATRIX_FORMAT_ROW_IDS | FURROW_MATRIX_FORMAT_COL_IDS;
  if (!(source->format->flags & FURROW_MATRIX_FORMAT_TEXT) || !(source->format->flags & fields)) return FURROW_OK;
  size_t i = 0;
  while (i < source->meta->part_count && source->meta->parts[i].length == 0) i++;
  if (i == source->meta->part_count) return FURROW_OK;
  const fw_source_part *part = &source->parts[i];
  char head[PAD + HEAD + PAD] = {0};
  size_t size = part->meta->length < HEAD ? (size_t)part->meta->length : HEAD, got = 0;
  fw_input *input = NULL;
  furrow_status status = fw_source_open_file(source, part, &input, err);
  if (status != FURROW_OK) return status;
  status = fw_input_read_at(input, head + PAD, size, (uint64_t)part->meta->offset, &got, err);
  if (status == FURROW_OK) status = choose_separator(source, part, head + PAD, got, err);
  fw_input_close(input);
  return status;
}
