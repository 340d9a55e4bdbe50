/* array/array_kind.h: the table of kinds of array files; for the reader and the writer. */
#ifndef FW_ARRAY_ARRAY_KIND_H
#define FW_ARRAY_ARRAY_KIND_H

#include "array/array.h"

typedef enum fw_array_layout { FW_ARRAY_LAYOUT_NPY, FW_ARRAY_LAYOUT_VECS, FW_ARRAY_LAYOUT_BIN } fw_array_layout;

#define FW_ARRAY_VECS_PREFIX 4 /* bytes before each row */
#define FW_ARRAY_BIN_HEADER 8

typedef struct fw_array_kind_traits {
  const char *ending;
  fw_array_layout layout;
  fw_array_type type;
} fw_array_kind_traits;

/* Of a kind that is not AUTO. */
const fw_array_kind_traits *fw_array_kind_get(fw_array_kind kind);

#endif
