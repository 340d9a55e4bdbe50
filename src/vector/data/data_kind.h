/* vector/data/data_kind.h: what a file of vectors or ids is, by its kind or by the ending of its name. */
#ifndef FW_VECTOR_DATA_DATA_KIND_H
#define FW_VECTOR_DATA_DATA_KIND_H

#include "array/array.h"

typedef struct fw_data_kind {
  bool raw; /* elements without any header */
  fw_array_kind array;
} fw_data_kind;

/* name: "fvecs", or the name for raw elements ("f32", "i64"); NULL: the ending of path. E_ARGUMENT: neither tells. */
furrow_status fw_data_kind_find(fw_data_kind *kind, const char *path, const char *name, const char *raw_name,
                                furrow_error *err) FURROW_MUST_USE;
/* Whether a path ends in a dot and `ending`, before .gz or .zst. */
bool fw_data_path_ends(const char *path, const char *ending);

#endif
