/* rows/text/sparse.h: the formats that consist of label[:weight] and feature tokens: libsvm, libfm and dummy. */
#ifndef FW_ROWS_TEXT_SPARSE_H
#define FW_ROWS_TEXT_SPARSE_H

#include "rows/text/format.h"

typedef enum fw_sparse_kind {
  FW_SPARSE_LIBSVM, /* label[:weight] [qid:n] index[:value] … */
  FW_SPARSE_LIBFM,  /* label[:weight] field:index[:value] … */
  FW_SPARSE_DUMMY   /* label index … */
} fw_sparse_kind;

typedef struct fw_sparse {
  fw_sparse_kind kind;
  uint32_t base;   /* subtracted from every index and field: 0 or 1 */
  bool unlabelled; /* lines begin with a feature */
  bool unchecked;  /* the arguments say whether there is a label, so the look of the data is not checked */
} fw_sparse;

/* Parse a chunk on the fast path, one function per format (state: fw_sparse). */
furrow_status fw_libsvm_chunk(const void *state, fw_chunk *chunk, furrow_error *err);
furrow_status fw_libfm_chunk(const void *state, fw_chunk *chunk, furrow_error *err);
furrow_status fw_dummy_chunk(const void *state, fw_chunk *chunk, furrow_error *err);

#endif
