/* vector/edit/same_quantizers.h: whether vectors of one index mean the same in another. */
#ifndef FW_VECTOR_EDIT_SAME_QUANTIZERS_H
#define FW_VECTOR_EDIT_SAME_QUANTIZERS_H

#include "vector/index/index.h"

/* Two indexes of the same kinds, with the same dimensions, metric, transforms, centroids and quantizers: what one
 * stores of a vector, the other would, too. E_ARGUMENT names what does not agree. */
furrow_status fw_check_same_quantizers(const furrow_index *a, const furrow_index *b, furrow_error *err) FURROW_MUST_USE;

#endif
