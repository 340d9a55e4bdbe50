/* tests/cli/data/little_format.c: a format in a plugin: column id and value as doubles of this machine. */
#include <string.h>

#include "furrow/model.h"

enum { RECORD = 2 * sizeof(double) };

static void record_size(const furrow_matrix_format_context *context, size_t *least, size_t *most) {
  (void)context;
  *least = *most = RECORD;
}

static furrow_status decode(const furrow_matrix_format_context *context, const char *bytes, size_t size, bool last,
                            size_t *used, furrow_matrix_records *records, furrow_error *err) {
  size_t count = size / RECORD < records->capacity ? size / RECORD : records->capacity;
  if ((last && size % RECORD) || context->type != FURROW_ELEMENT_F32) {
    if (err) *err = (furrow_error){.status = FURROW_E_FORMAT, .offset = size, .message = "half a pair"};
    return FURROW_E_FORMAT;
  }
  for (size_t i = 0; i < count; i++) {
    double pair[2];
    memcpy(pair, bytes + i * RECORD, RECORD);
    records->col_ids[i] = (int64_t)pair[0];
    ((float *)records->values)[i] = (float)pair[1];
  }
  records->count = count;
  *used = count * RECORD;
  return FURROW_OK;
}

static furrow_status encode(const furrow_matrix_format_context *context, const furrow_panel *panel, size_t first,
                            size_t count, char *out, size_t *written, furrow_error *err) {
  (void)context;
  (void)err;
  for (size_t i = 0; i < count; i++) {
    double pair[2] = {(double)furrow_panel_col(panel, first + i), furrow_panel_get(panel, 0, first + i)};
    memcpy(out + i * RECORD, pair, RECORD);
  }
  *written = count * RECORD;
  return FURROW_OK;
}

static const furrow_matrix_format little = {.size = sizeof(furrow_matrix_format),
                                            .flags = FURROW_MATRIX_FORMAT_COL_IDS,
                                            .name = "LittleFormat",
                                            .class_name = "org.example.LittleFormat",
                                            .about = "pairs of doubles",
                                            .record_size = record_size,
                                            .decode = decode,
                                            .encode = encode};

const furrow_matrix_format *const furrow_plugin_matrix_formats[] = {&little, NULL};
