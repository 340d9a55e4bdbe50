/* columns/arrow_frames.h: batches of Arrow become frames. */
#ifndef FW_COLUMNS_ARROW_FRAMES_H
#define FW_COLUMNS_ARROW_FRAMES_H

#include "base/buffer.h"
#include "columns/frames.h"
#include "furrow/arrow.h"

/* How the values of a column lie in memory. */
typedef enum fw_arrow_storage {
  FW_ARROW_NULL,
  FW_ARROW_INTS,   /* of `width` bytes; half floats are 2 bytes of kind F32 */
  FW_ARROW_FLOATS, /* of `width` bytes */
  FW_ARROW_BITS,
  FW_ARROW_OFFSETS,    /* text, list: offsets of `width` bytes, then bytes or a child */
  FW_ARROW_VIEWS,      /* text: 16 bytes each, which are the text or where it is */
  FW_ARROW_FIXED,      /* `width` bytes, or `width` elements of a child */
  FW_ARROW_STRUCT,     /* columns of their own */
  FW_ARROW_UNSUPPORTED /* `format` says what it is */
} fw_arrow_storage;

/* The type of a column, or of the elements of a list, or of the values of a dictionary. */
typedef struct fw_arrow_type {
  fw_arrow_storage storage;
  size_t width;
  bool is_signed;
  fw_typed_type type;
  int64_t divide; /* dates in milliseconds: units of a day */
} fw_arrow_type;

/* A column that is not a struct. Its place: the number of the child in each struct around it. */
typedef struct fw_arrow_leaf {
  char *name; /* "outer.inner" within a struct */
  fw_arrow_type type;
  fw_arrow_type keys;    /* of a dictionary */
  fw_arrow_type element; /* of a list */
  bool dictionary;
  char format[24]; /* of an unsupported type, for messages */
  uint32_t *place;
  size_t depth;
} fw_arrow_leaf;

typedef struct fw_arrow_leaves {
  fw_arrow_leaf *leaves;
  size_t count, capacity;
} fw_arrow_leaves;

/* Finds the columns of a table; those of structs are called "outer.inner". E_FORMAT: it is not a struct, or it is
 * malformed. */
furrow_status fw_arrow_leaves_find(fw_arrow_leaves *leaves, const struct ArrowSchema *schema,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_arrow_leaves_clear(fw_arrow_leaves *leaves);

/* Makes frames of the batches of one table. */
typedef struct fw_frames_builder fw_frames_builder;

/* leaves: the columns of the batches, which must outlive the builder; numbers: the number of each in the head,
 * UINT32_MAX: it is not wanted, or its type is not supported. */
furrow_status fw_frames_builder_create(fw_frames_builder **builder, const fw_arrow_leaves *leaves,
                                       const uint32_t *numbers, furrow_error *err) FURROW_MUST_USE;
void fw_frames_builder_free(fw_frames_builder *builder);
/* Appends the head to the bytes. */
void fw_frames_write_head(fw_buffer *bytes, const char *const *names, size_t count);
/* Adds rows; whole frames are appended to `bytes`. E_FORMAT: the arrays do not fit the types. */
furrow_status fw_frames_add(fw_frames_builder *builder, const struct ArrowArray *batch, fw_buffer *bytes,
                            furrow_error *err) FURROW_MUST_USE;
/* Appends the last frame. */
furrow_status fw_frames_finish(fw_frames_builder *builder, fw_buffer *bytes, furrow_error *err) FURROW_MUST_USE;

#endif
