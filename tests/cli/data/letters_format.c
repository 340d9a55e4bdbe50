/* tests/cli/data/letters_format.c: a format of rows in a plugin: a sign for the label, then a letter for each feature.
 */
#include "furrow/furrow.h"

static furrow_status parse_line(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                                furrow_error *err) {
  (void)state;
  furrow_status status = furrow_rowbuilder_label(row, length > 0 && line[0] == '+' ? 1 : -1, err);
  for (size_t i = 1; i < length && status == FURROW_OK; i++)
    status = furrow_rowbuilder_feature(row, (uint64_t)(line[i] - 'a'), 1, err);
  return status;
}

static const furrow_rows_format letters = {.size = sizeof(furrow_rows_format),
                                           .name = "letters",
                                           .description = "a sign and letters",
                                           .parse_line = parse_line};
FURROW_API const furrow_rows_format *const furrow_plugin_rows_formats[] = {&letters, NULL};
