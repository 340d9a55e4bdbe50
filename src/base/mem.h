/* base/mem.h: allocation with checked sizes. A size of 0 gives a pointer that can be freed. */
#ifndef FW_BASE_MEM_H
#define FW_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "furrow/status.h"

/* *product = a * b, *sum = a + b; returns false and leaves the result untouched when it overflows. */
static inline bool fw_size_mul(size_t a, size_t b, size_t *product) {
  size_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *product = r;
  return true;
}
static inline bool fw_size_add(size_t a, size_t b, size_t *sum) {
  size_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *sum = r;
  return true;
}

/* Allocates `count` elements of `size` bytes, not cleared. Fails with E_MEMORY and leaves *memory untouched. */
furrow_status fw_alloc(void **memory, size_t count, size_t size, furrow_error *err) FURROW_MUST_USE;
/* The same, cleared to zeros. */
furrow_status fw_alloc_zero(void **memory, size_t count, size_t size, furrow_error *err) FURROW_MUST_USE;
/* Resizes *memory (NULL: allocates), keeping its contents. */
furrow_status fw_realloc(void **memory, size_t count, size_t size, furrow_error *err) FURROW_MUST_USE;
/* Ensures that *memory, allocated for *capacity elements, holds at least `count`. Grows by at least half. */
furrow_status fw_grow(void **memory, size_t *capacity, size_t count, size_t size, furrow_error *err) FURROW_MUST_USE;
/* Copies n bytes and adds a terminating 0. */
furrow_status fw_strndup(char **copy, const char *text, size_t n, furrow_error *err) FURROW_MUST_USE;
void fw_free(void *memory);
/* Requests large pages for memory that is read in random order. Call it before the first write; small blocks are not
 * affected. */
void fw_prefer_large_pages(void *memory, size_t bytes);
/* Reserves zeroed bytes that take memory only where they are used, so that they may be more than the machine has. */
furrow_status fw_reserve(void **memory, size_t bytes, furrow_error *err) FURROW_MUST_USE;
/* Frees memory of fw_reserve. Accepts NULL. */
void fw_release(void *memory);

/* Whether n bytes are equal. Short runs are compared as two words that may overlap, without a call. */
static inline bool fw_same_bytes(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  if (n >= 8 && n <= 16) {
    uint64_t p[2], q[2];
    memcpy(&p[0], x, 8);
    memcpy(&q[0], y, 8);
    memcpy(&p[1], x + n - 8, 8);
    memcpy(&q[1], y + n - 8, 8);
    return ((p[0] ^ q[0]) | (p[1] ^ q[1])) == 0;
  }
  if (n >= 4 && n < 8) {
    uint32_t p[2], q[2];
    memcpy(&p[0], x, 4);
    memcpy(&q[0], y, 4);
    memcpy(&p[1], x + n - 4, 4);
    memcpy(&q[1], y + n - 4, 4);
    return ((p[0] ^ q[0]) | (p[1] ^ q[1])) == 0;
  }
  return n == 0 || memcmp(a, b, n) == 0;
}

/* fw_alloc, fw_alloc_zero, fw_realloc and fw_grow for typed pointers: `p` is the address of a T *, and the element
 * size is sizeof(T). Anything but a pointer to a pointer does not compile; `p` is evaluated once. */
#define FW_ALLOC(p, count, err) fw_alloc((void **)(p), count, sizeof **(p), err)
#define FW_ALLOC_ZERO(p, count, err) fw_alloc_zero((void **)(p), count, sizeof **(p), err)
#define FW_REALLOC(p, count, err) fw_realloc((void **)(p), count, sizeof **(p), err)
#define FW_GROW(p, capacity, count, err) fw_grow((void **)(p), capacity, count, sizeof **(p), err)
/* Rows of `width` elements each; width * sizeof(T) must not overflow. */
#define FW_ALLOC_ROWS(p, rows, width, err) fw_alloc((void **)(p), rows, (width) * sizeof **(p), err)
#define FW_ALLOC_ZERO_ROWS(p, rows, width, err) fw_alloc_zero((void **)(p), rows, (width) * sizeof **(p), err)

#endif
