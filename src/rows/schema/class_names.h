/* rows/schema/class_names.h: which of two classes is the positive one, by their names. Case does not count. */
#ifndef FW_ROWS_SCHEMA_CLASS_NAMES_H
#define FW_ROWS_SCHEMA_CLASS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Below 0: a is the negative class and b the positive one; above 0: the other way round; 0: the names do not say. */
int fw_class_order(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
