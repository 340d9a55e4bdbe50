/* vector/file/index_cursor.h: reads the fields of an index file sequentially, and reports each to a callback.
 *
 * Functions that read return no status: the first failure stays in cursor->status, and every later read returns 0 or
 * NULL or does nothing. So one check after a run of fields suffices; a count that could not be read is 0, so loops end.
 * Every read is checked against the remaining bytes, and no array is allocated before that.
 *
 * Names and meanings of fields are constants. The callback gets both. Errors name the field with its path:
 * "quantizer/vectors/count". */
#ifndef FW_VECTOR_FILE_INDEX_CURSOR_H
#define FW_VECTOR_FILE_INDEX_CURSOR_H

#include <stdbool.h>

#include "furrow/vector.h"
#include "io/input.h"

enum { FW_CURSOR_PATH = 192, FW_CURSOR_DEPTH = 32, FW_CURSOR_WINDOW = 1 << 16 };

/* X(name, bytes, text) */
#define FW_FIELD_TYPES(X) \
  X(FOURCC, 4, "fourcc")  \
  X(BOOL, 1, "bool")      \
  X(U8, 1, "u8")          \
  X(BYTES, 1, "bytes")    \
  X(CHARS, 1, "chars")    \
  X(I32, 4, "i32")        \
  X(U32, 4, "u32")        \
  X(I64, 8, "i64")        \
  X(U64, 8, "u64")        \
  X(F32, 4, "f32")        \
  X(F64, 8, "f64")

typedef enum fw_field_type {
#define FW_X(name, bytes, text) FW_FIELD_##name,
  FW_FIELD_TYPES(FW_X)
#undef FW_X
} fw_field_type;

typedef furrow_status (*fw_field_fn)(void *user, const furrow_index_field *field);

typedef struct fw_cursor {
  const uint8_t *bytes; /* the whole file; NULL: it is read through the window */
  const fw_input *input;
  const char *file; /* for errors; may be NULL */
  uint64_t size, at;
  uint8_t *window; /* FW_CURSOR_WINDOW bytes if bytes is NULL */
  uint64_t window_at;
  size_t window_size;
  char path[FW_CURSOR_PATH]; /* path of the current part, ends with / */
  size_t path_size;
  const char *field;      /* the last field: its name in that part ("" before the first), */
  const char *field_part; /* a part of it ("" or "/count"), */
  uint64_t field_at;      /* offset of that field */
  unsigned depth;         /* depth of nested indexes */
  fw_field_fn on_field;   /* may be NULL */
  void *user;
  furrow_status status;
  furrow_error *err;
} fw_cursor;

/* Starts a cursor over bytes, or over an open file of that size. The latter allocates the window, which fw_cursor_clear
 * frees. */
void fw_cursor_over_bytes(fw_cursor *c, const void *bytes, uint64_t size, const char *file, furrow_error *err);
furrow_status fw_cursor_over_file(fw_cursor *c, const fw_input *input, uint64_t size, const char *file,
                                  furrow_error *err) FURROW_MUST_USE;
void fw_cursor_clear(fw_cursor *c);

static inline bool fw_cursor_good(const fw_cursor *c) {
  return c->status == FURROW_OK;
}
static inline uint64_t fw_cursor_left(const fw_cursor *c) {
  return c->size - c->at;
}

/* The following fields belong to part `name`, or to name/number, until fw_cursor_leave. name may be "". */
size_t fw_cursor_enter(fw_cursor *c, const char *name);
size_t fw_cursor_enter_item(fw_cursor *c, const char *name, uint64_t number);
/* Returns to the part that was current before fw_cursor_enter returned `mark`. */
void fw_cursor_leave(fw_cursor *c, size_t mark);

/* Single values. A bool byte that is neither 0 nor 1 is an error. If the meaning depends on the value, `explain`
 * returns it (NULL: it has none). */
void fw_cursor_read_fourcc(fw_cursor *c, const char *name, const char *(*explain)(const char *fourcc), char fourcc[4]);
int32_t fw_cursor_read_enum(fw_cursor *c, const char *name, const char *(*explain)(int32_t value));
bool fw_cursor_read_bool(fw_cursor *c, const char *name, const char *meaning);
uint8_t fw_cursor_read_u8(fw_cursor *c, const char *name, const char *meaning);
int32_t fw_cursor_read_i32(fw_cursor *c, const char *name, const char *meaning);
uint32_t fw_cursor_read_u32(fw_cursor *c, const char *name, const char *meaning);
int64_t fw_cursor_read_i64(fw_cursor *c, const char *name, const char *meaning);
uint64_t fw_cursor_read_u64(fw_cursor *c, const char *name, const char *meaning);
float fw_cursor_read_f32(fw_cursor *c, const char *name, const char *meaning);

#define FW_ANY_COUNT UINT64_MAX

/* Reads the count of an array ("name/count"). Fails if the rest of the file is shorter than that many elements of
 * `size` bytes, or if the count is not `expected` (unless that is FW_ANY_COUNT). */
size_t fw_cursor_read_count(fw_cursor *c, const char *name, size_t size, uint64_t expected);
/* Reads a count and its elements into memory that the caller frees with fw_free. After a failure returns NULL and sets
 * *count to 0. */
void *fw_cursor_read_vector(fw_cursor *c, const char *name, fw_field_type type, uint64_t expected, size_t *count,
                            const char *meaning);
/* Reads elements without a count into the caller's memory; _raw: in the byte order of the file. */
void fw_cursor_read_raw(fw_cursor *c, const char *name, fw_field_type type, void *elements, size_t count,
                        const char *meaning);
void fw_cursor_read_elements(fw_cursor *c, const char *name, fw_field_type type, void *elements, size_t count,
                             const char *meaning);
/* Reads bytes through `scratch` in pieces of `piece` bytes (the last may be smaller), and passes each to `give`. */
typedef void (*fw_chunk_consumer)(void *context, const uint8_t *bytes, size_t size);
void fw_cursor_read_chunks(fw_cursor *c, const char *name, size_t size, size_t piece, uint8_t *buffer,
                           fw_chunk_consumer give, void *context, const char *meaning);
/* Skips elements and returns their address. Only if c->bytes is not NULL. */
const uint8_t *fw_cursor_view(fw_cursor *c, const char *name, fw_field_type type, size_t count, const char *meaning);
/* Skips elements and reports them. */
void fw_cursor_skip(fw_cursor *c, const char *name, fw_field_type type, uint64_t count, const char *meaning);
/* Allocates elements whose count was checked. Returns NULL after a failure. */
void *fw_cursor_alloc(fw_cursor *c, size_t count, size_t size);

/* Fails with a message about the last field, e.g. "is 7, but …". Does nothing after a failure. Call it before leaving
 * the part of the field. */
void fw_cursor_reject(fw_cursor *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a field at another offset; `field` is its name within the current part. */
void fw_cursor_reject_at(fw_cursor *c, uint64_t offset, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Fails with any status, and the offset of the last field. */
void fw_cursor_fail(fw_cursor *c, furrow_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
