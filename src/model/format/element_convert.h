/* model/format/element_convert.h: elements of one type as elements of another, where that loses nothing but rounding.
 */
#ifndef FW_MODEL_FORMAT_ELEMENT_CONVERT_H
#define FW_MODEL_FORMAT_ELEMENT_CONVERT_H

#include "furrow/model.h"

/* dst[i * dst_stride] = src[i * src_stride] for i < count. Returns count, or the first i whose element does not fit:
 * a fraction, NaN or infinity for an integer, a number outside of the type's range. */
size_t fw_elements_copy(void *dst, size_t dst_stride, furrow_element_type to, const void *src, size_t src_stride,
                        furrow_element_type from, size_t count);

#endif
