/* tests/plugin/plugin_format.c: a format in a shared object: records are a column id and a value, each a byte.
 *
 * Built several times: as it should be; with PLUGIN_SIZE larger than the library's, as of a newer header; with
 * PLUGIN_TAKEN, whose second format has a name that is taken; and with PLUGIN_NOTHING, which has no formats at all. */
#include "furrow/model.h"

#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(furrow_matrix_format)
#endif

#ifndef PLUGIN_NOTHING

static void record_size(const furrow_matrix_format_context *context, size_t *least, size_t *most) {
  (void)context;
  *least = *most = 2;
}

static furrow_status decode(const furrow_matrix_format_context *context, const char *bytes, size_t size, bool last,
                            size_t *used, furrow_matrix_records *records, furrow_error *err) {
  (void)err;
  if (last && size % 2) return FURROW_E_FORMAT;
  size_t n = size / 2 < records->capacity ? size / 2 : records->capacity;
  for (size_t i = 0; i < n; i++) {
    records->col_ids[i] = bytes[2 * i];
    if (context->type == FURROW_ELEMENT_F32)
      ((float *)records->values)[i] = bytes[2 * i + 1];
    else
      ((int32_t *)records->values)[i] = bytes[2 * i + 1];
  }
  records->count = n;
  *used = 2 * n;
  return FURROW_OK;
}

static const furrow_matrix_format byte_pairs = {.size = PLUGIN_SIZE,
                                                .flags = FURROW_MATRIX_FORMAT_COL_IDS,
#ifdef PLUGIN_TAKEN
                                                .name = "UntakenFormat",
                                                .class_name = "org.example.UntakenFormat",
#else
                                                .name = "BytePairsFormat",
                                                .class_name = "org.example.BytePairsFormat",
#endif
                                                .about = "column id and value, a byte each",
                                                .record_size = record_size,
                                                .decode = decode};

#ifdef PLUGIN_TAKEN
static const furrow_matrix_format taken = {.size = sizeof(furrow_matrix_format),
                                           .flags = FURROW_MATRIX_FORMAT_COL_IDS,
                                           .name = "TextColumn",
                                           .class_name = "org.example.TextColumn",
                                           .about = "the name of another",
                                           .record_size = record_size,
                                           .decode = decode};
FURROW_API const furrow_matrix_format *const furrow_plugin_matrix_formats[] = {&byte_pairs, &taken, NULL};
#else
FURROW_API const furrow_matrix_format *const furrow_plugin_matrix_formats[] = {&byte_pairs, NULL};
#endif

#else
int plugin_of_something_else;
#endif
