/* model/format/matrix_format.c: finds matrix formats by name, built-in and registered ones. */
#include "model/format/matrix_format.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"

static const furrow_matrix_format *const built_in[] = {&fw_value_binary,
                                                       &fw_col_id_value_binary,
                                                       &fw_row_id_col_id_value_binary,
                                                       &fw_binary_column,
                                                       &fw_value_text,
                                                       &fw_col_id_value_text,
                                                       &fw_row_id_col_id_value_text,
                                                       &fw_text_column,
                                                       &fw_snapshot,
                                                       &fw_angel1};
#define BUILT_IN (sizeof built_in / sizeof built_in[0])

/* Registered formats are copied and never freed, because callers hold pointers to them. The list only grows. */
static pthread_mutex_t added_lock = PTHREAD_MUTEX_INITIALIZER;
static furrow_matrix_format **added;
static size_t added_count, added_capacity;

/* ---- Finding -------------------------------------------------------------------------------------------- */

/* Call with the lock held. */
static const furrow_matrix_format *format_at(size_t i) {
  if (i < BUILT_IN) return built_in[i];
  return i - BUILT_IN < added_count ? added[i - BUILT_IN] : NULL;
}

const furrow_matrix_format *furrow_matrix_format_at(size_t i) {
  pthread_mutex_lock(&added_lock);
  const furrow_matrix_format *format = format_at(i);
  pthread_mutex_unlock(&added_lock);
  return format;
}

static size_t without_end(const char *name, size_t length, const char *end) {
  const size_t n = strlen(end);
  return length > n && strncasecmp(name + length - n, end, n) == 0 ? length - n : length;
}

/* The length of the name without "Format", then without "Row". */
static size_t stem_length(const char *name) {
  return without_end(name, without_end(name, strlen(name), "Format"), "Row");
}

static bool same_name(const char *a, const char *b) {
  return stem_length(a) == stem_length(b) && strncasecmp(a, b, stem_length(a)) == 0;
}

/* Call with the lock held. Accepts all names of a format. */
static const furrow_matrix_format *format_named(const char *name) {
  const furrow_matrix_format *format;
  for (size_t i = 0; (format = format_at(i)) != NULL; i++)
    if (strcmp(format->class_name, name) == 0 || same_name(format->name, name)) return format;
  return NULL;
}

static void list_names(char *text, size_t size) {
  const furrow_matrix_format *format;
  size_t used = 0;
  for (size_t i = 0; (format = furrow_matrix_format_at(i)) != NULL && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%.*s", i ? ", " : "", (int)stem_length(format->name),
                             format->name);
}

furrow_status furrow_matrix_format_find(const char *name, const furrow_matrix_format **format, furrow_error *err) {
  pthread_mutex_lock(&added_lock);
  const furrow_matrix_format *found = format_named(name);
  pthread_mutex_unlock(&added_lock);
  if (!found) {
    char names[200] = "";
    list_names(names, sizeof names);
    const furrow_status status = fw_fail(err, FURROW_E_NOT_FOUND, "no such format");
    fw_error_set_hint(err, "the formats are %s", names);
    fw_error_set_token(err, name, strlen(name));
    return status;
  }
  *format = found;
  return FURROW_OK;
}

/* ---- Registering ---------------------------------------------------------------------------------------- */

static bool is_name(const char *name) {
  if (!name || !isalpha((unsigned char)name[0])) return false;
  while (isalnum((unsigned char)*name) || *name == '_') name++;
  return *name == 0;
}

/* Reads a format's table, which may have an older size, and checks it. */
static furrow_status read_format(furrow_matrix_format *format, const furrow_matrix_format *given, furrow_error *err) {
  furrow_matrix_format_init(format);
  FW_TRY(FW_PARAMS_READ(format, given, furrow_matrix_format, err));
  const unsigned all = FURROW_MATRIX_FORMAT_TEXT | FURROW_MATRIX_FORMAT_BY_COLUMN | FURROW_MATRIX_FORMAT_ROW_IDS |
                       FURROW_MATRIX_FORMAT_COL_IDS;
  if (!is_name(format->name))
    return fw_fail(err, FURROW_E_ARGUMENT, "name of a format: a letter, then letters, digits and _");
  if (!format->class_name || !format->about || !format->record_size || !format->decode)
    return fw_fail(err, FURROW_E_ARGUMENT, "format %s lacks its class_name, about, record_size or decode",
                   format->name);
  const char *dot = strrchr(format->class_name, '.');
  if (strcmp(dot ? dot + 1 : format->class_name, format->name) != 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "class_name of format %s does not end with its name", format->name);
  if (format->flags & ~all) return fw_fail(err, FURROW_E_ARGUMENT, "format %s has unknown flags", format->name);
  if ((format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN) &&
      (format->flags & (FURROW_MATRIX_FORMAT_COL_IDS | FURROW_MATRIX_FORMAT_ROW_IDS)) != FURROW_MATRIX_FORMAT_COL_IDS)
    return fw_fail(err, FURROW_E_ARGUMENT, "flags of format %s: a column format has column ids and no row ids",
                   format->name);
  return FURROW_OK;
}

/* Call with the lock held. */
static furrow_status add_format(const furrow_matrix_format *format, furrow_error *err) {
  const char *const names[2] = {format->name, format->class_name};
  furrow_matrix_format *copy;
  for (size_t k = 0; k < 2; k++)
    if (format_named(names[k])) return fw_fail(err, FURROW_E_EXISTS, "format %s already exists", names[k]);
  FW_TRY(FW_GROW(&added, &added_capacity, added_count + 1, err));
  FW_TRY(FW_ALLOC(&copy, 1, err));
  *copy = *format;
  added[added_count++] = copy;
  return FURROW_OK;
}

/* Call with the lock held. Adds all formats or none. */
static furrow_status add_formats(const furrow_matrix_format *const *formats, size_t count, furrow_error *err) {
  const size_t before = added_count;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    furrow_matrix_format format;
    status = read_format(&format, formats[i], err);
    if (status == FURROW_OK) status = add_format(&format, err);
  }
  while (status != FURROW_OK && added_count > before) fw_free(added[--added_count]);
  return status;
}

furrow_status fw_matrix_formats_register(const furrow_matrix_format *const *formats, size_t count, furrow_error *err) {
  pthread_mutex_lock(&added_lock);
  furrow_status status = add_formats(formats, count, err);
  pthread_mutex_unlock(&added_lock);
  return status;
}

furrow_status furrow_matrix_format_register(const furrow_matrix_format *format, furrow_error *err) {
  return fw_matrix_formats_register(&format, 1, err);
}

/* ---- Helpers for formats -------------------------------------------------------------------------------- */

furrow_status fw_format_check_keys(const furrow_panel *panel, size_t first, size_t count, furrow_error *err) {
  for (size_t c = first; c < first + count; c++) {
    const int64_t col = furrow_panel_col(panel, c);
    if (col != (int32_t)col)
      return fw_fail(err, FURROW_E_RANGE, "column id %lld does not fit the 32 bits of the row type", (long long)col);
    if (!panel->col_ids && c + 1 < first + count)
      c = first + count - 2; /* without col_ids, only the first and last column matter */
  }
  return FURROW_OK;
}

bool fw_may_separate(char c) {
  const char lower = (char)(c | 0x20);
  return c != '\n' && c != '\r' && c != '\0' && c != '+' && c != '-' && c != '.' && !(c >= '0' && c <= '9') &&
         !(lower >= 'a' && lower <= 'z');
}

furrow_status fw_format_error_at(furrow_error *err, furrow_status status, size_t offset, const char *token,
                                 size_t length) {
  if (err) err->offset = offset;
  if (token) fw_error_set_token(err, token, length);
  return status;
}
