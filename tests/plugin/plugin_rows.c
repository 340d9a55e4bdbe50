/* tests/plugin/plugin_rows.c: a shared object with a format of rows and a function that registers a file system.
 *
 * Built several times: as it should be; with PLUGIN_INIT_FAILS; and with PLUGIN_HALF, whose matrix format is not
 * complete, so that its format of rows must not stay. */
#include <stdio.h>
#include <string.h>

#include "furrow/furrow.h"

/* One row for each byte of a line: 'a' is index 0. */
static furrow_status parse_line(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                                furrow_error *err) {
  (void)state;
  furrow_status status = furrow_rowbuilder_label(row, 1, err);
  for (size_t i = 0; i < length && status == FURROW_OK; i++)
    status = furrow_rowbuilder_feature(row, (uint64_t)(line[i] - 'a'), 1, err);
  return status;
}

#ifdef PLUGIN_HALF
#define ROWS_NAME "half_letters"
#else
#define ROWS_NAME "letters"
#endif
static const furrow_rows_format letters = {
    .size = sizeof(furrow_rows_format), .name = ROWS_NAME, .description = "letters", .parse_line = parse_line};
FURROW_API const furrow_rows_format *const furrow_plugin_rows_formats[] = {&letters, NULL};

#ifdef PLUGIN_HALF
static const furrow_matrix_format nameless = {.name = NULL};
FURROW_API const furrow_matrix_format *const furrow_plugin_matrix_formats[] = {&nameless, NULL};
#else

/* ---- A file system of one file: plugged://abc ---- */

static furrow_status stat_one(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  (void)user, (void)err;
  info->length = 4;
  return strcmp(path, "abc") == 0 ? FURROW_OK : FURROW_E_NOT_FOUND;
}

static furrow_status open_one(void *user, const char *path, void **file, furrow_error *err) {
  (void)user, (void)path, (void)err;
  *file = NULL;
  return FURROW_OK;
}

static furrow_status read_one(void *user, void *file, void *buffer, size_t length, uint64_t offset, size_t *got,
                              furrow_error *err) {
  (void)user, (void)file, (void)err;
  *got = 0;
  if (length == 0 || offset >= 4) return FURROW_OK;
  memcpy(buffer, &"abc\n"[offset], 1);
  *got = 1;
  return FURROW_OK;
}

static void close_one(void *user, void *file) {
  (void)user, (void)file;
}

furrow_status furrow_plugin_init(furrow_error *err) {
#ifdef PLUGIN_INIT_FAILS
  snprintf(err->message, sizeof err->message, "not today");
  (void)stat_one, (void)open_one, (void)read_one, (void)close_one;
  return FURROW_E_UNSUPPORTED;
#else
  furrow_file_system calls;
  furrow_file_system_init(&calls);
  calls.stat = stat_one;
  calls.open = open_one;
  calls.read_at = read_one;
  calls.close = close_one;
  return furrow_file_system_register("plugged", &calls, err);
#endif
}
#endif
