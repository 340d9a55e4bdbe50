/* vector/attributes/filter_scan.c: splits a filter expression into words. The language: furrow/attributes.h. */
#include "vector/attributes/filter_scan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "base/error.h"
#include "base/number_in.h"

furrow_status fw_filter_fail(const fw_filter_scan *scan, const char *at, const char *end, furrow_error *err,
                             const char *format, ...) {
  char message[sizeof err->message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  fw_fail(err, FURROW_E_ARGUMENT, "%s", message);
  if (end > at) fw_error_set_token(err, at, (size_t)(end - at));
  if (err) {
    err->line = 1;
    err->column = (uint64_t)(at - scan->text) + 1;
  }
  return FURROW_E_ARGUMENT;
}

static bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool continues_name(char c) {
  return starts_name(c) || is_digit(c) || c == '.';
}

/* The text up to the next quote. A backslash takes a quote or a backslash as it is. */
static furrow_status scan_quoted(fw_filter_scan *scan, char quote, const char *what, furrow_error *err) {
  const char *at = scan->begin + 1;
  for (; *at && *at != quote; at++) {
    if (*at == '\\' && (at[1] == quote || at[1] == '\\')) at++;
    fw_buffer_byte(&scan->value, *at);
  }
  if (!*at) return fw_filter_fail(scan, scan->begin, at, err, "%s does not end: the quote %c is missing", what, quote);
  scan->at = at + 1;
  return FURROW_OK;
}

static furrow_status scan_number(fw_filter_scan *scan, furrow_error *err) {
  const char *end = scan->begin + strlen(scan->begin), *stop = fw_read_f64(scan->begin, end, &scan->number);
  const char *word = stop ? stop : scan->begin + 1;
  while (continues_name(*word)) word++;
  if (!stop || stop != word || !isfinite(scan->number))
    return fw_filter_fail(scan, scan->begin, word, err, "this is not a number");
  scan->token = FW_WORD_NUMBER;
  scan->at = stop;
  return FURROW_OK;
}

static void scan_word(fw_filter_scan *scan) {
  static const struct {
    const char *word;
    fw_filter_word token;
  } words[] = {{"and", FW_WORD_AND},     {"or", FW_WORD_OR}, {"not", FW_WORD_NOT},         {"true", FW_WORD_TRUE},
               {"false", FW_WORD_FALSE}, {"in", FW_WORD_IN}, {"missing", FW_WORD_MISSING}, {"is", FW_WORD_IS}};
  const char *at = scan->begin;
  while (continues_name(*at)) at++;
  scan->at = at;
  const size_t size = (size_t)(at - scan->begin);
  scan->token = FW_WORD_COLUMN;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i].word) == size && strncasecmp(words[i].word, scan->begin, size) == 0)
      scan->token = words[i].token;
  if (scan->token == FW_WORD_COLUMN) fw_buffer_append(&scan->value, scan->begin, size);
}

static furrow_status scan_sign(fw_filter_scan *scan, furrow_error *err) {
  static const struct {
    const char *sign;
    fw_filter_word token;
  } signs[] = {{"<=", FW_WORD_AT_MOST}, {">=", FW_WORD_AT_LEAST}, {"!=", FW_WORD_UNEQUAL}, {"<>", FW_WORD_UNEQUAL},
               {"==", FW_WORD_EQUAL},   {"=", FW_WORD_EQUAL},     {"<", FW_WORD_LESS},     {">", FW_WORD_GREATER},
               {"(", FW_WORD_OPEN},     {")", FW_WORD_CLOSE},     {",", FW_WORD_COMMA}};
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    const size_t size = strlen(signs[i].sign);
    if (strncmp(scan->begin, signs[i].sign, size) != 0) continue;
    scan->token = signs[i].token;
    scan->at = scan->begin + size;
    return FURROW_OK;
  }
  return fw_filter_fail(scan, scan->begin, scan->begin + 1, err, "this character has no meaning in a filter");
}

static furrow_status scan_token(fw_filter_scan *scan, furrow_error *err) {
  const char c = *scan->begin;
  if (c == '"' || c == '\'') {
    scan->token = FW_WORD_TEXT;
    return scan_quoted(scan, c, "a text", err);
  }
  if (c == '`') {
    scan->token = FW_WORD_COLUMN;
    return scan_quoted(scan, c, "the name of a column", err);
  }
  if (is_digit(c) || c == '-' || c == '+' || c == '.') return scan_number(scan, err);
  if (starts_name(c)) return scan_word(scan), FURROW_OK;
  return scan_sign(scan, err);
}

furrow_status fw_filter_next(fw_filter_scan *scan, furrow_error *err) {
  const char *at = scan->at ? scan->at : scan->text;
  while (*at == ' ' || (*at >= '\t' && *at <= '\r')) at++;
  scan->begin = scan->at = at;
  fw_buffer_reset(&scan->value);
  scan->token = FW_WORD_END;
  if (*at) FW_TRY(scan_token(scan, err));
  fw_buffer_byte(&scan->value, 0);
  return fw_buffer_status(&scan->value, err);
}
