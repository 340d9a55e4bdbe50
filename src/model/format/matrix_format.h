/* model/format/matrix_format.h: the built-in formats, and helpers for formats. */
#ifndef FW_MODEL_FORMAT_MATRIX_FORMAT_H
#define FW_MODEL_FORMAT_MATRIX_FORMAT_H

#include "furrow/model.h"

extern const furrow_matrix_format fw_value_binary, fw_col_id_value_binary, fw_row_id_col_id_value_binary,
    fw_binary_column;
extern const furrow_matrix_format fw_value_text, fw_col_id_value_text, fw_row_id_col_id_value_text, fw_text_column;
extern const furrow_matrix_format fw_snapshot, fw_angel1;

/* Registers all of the formats or none. */
furrow_status fw_matrix_formats_register(const furrow_matrix_format *const *formats, size_t count,
                                         furrow_error *err) FURROW_MUST_USE;

#define FW_ANGEL_FORMATS "com.tencent.angel.model.output.format."

/* The size of an element; the type must be valid. */
static inline size_t fw_element_bytes(furrow_element_type type) {
  return type == FURROW_ELEMENT_F64 || type == FURROW_ELEMENT_I64 ? 8 : 4;
}

/* Fails with E_RANGE if one of these columns of the panel does not fit in 32 bits. */
furrow_status fw_format_check_keys(const furrow_panel *panel, size_t first, size_t count,
                                   furrow_error *err) FURROW_MUST_USE;

/* Whether the byte may occur in the separator of a text format: not if numbers, NaN, Infinity or line ends contain
 * it. */
bool fw_may_separate(char c);

/* Adds the position to an error that is already set: the offset in the bytes passed to decode, and the wrong text (may
 * be NULL). Returns the status. */
furrow_status fw_format_error_at(furrow_error *err, furrow_status status, size_t offset, const char *token,
                                 size_t length);

/* dst[i * dst_stride] = src[i * src_stride] for i < count. Returns count, or the first i whose element does not fit: a
 * fraction, NaN or infinity for an integer type, or a number outside the type's range. */
size_t fw_elements_copy(void *dst, size_t dst_stride, furrow_element_type to, const void *src, size_t src_stride,
                        furrow_element_type from, size_t count);

#endif
