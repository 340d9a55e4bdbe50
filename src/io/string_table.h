/* io/string_table.h: a table of texts in a file, with lookups by number and by content.
 *
 * An image is a run of bytes that is used in place, in a mapped file or in memory; it may be part of a larger file,
 * at a multiple of 8 bytes. All numbers are little-endian.
 *
 *   offset  bytes
 *   0       8                digest: XXH3-64 (seed 0) of bytes 8 … end of the image
 *   8       8                count, at most FW_STRING_TABLE_MOST
 *   16      8                text bytes
 *   24      4                slot bits b: the least with 2^b >= 2 * count
 *   28      4                0
 *   32      8 * (count + 1)  offsets: text i is the text bytes offsets[i] … offsets[i+1] - 1
 *   …       text bytes       then zeros up to a multiple of 8
 *   …       8 * 2^b          slots: 0 is empty; else the upper 32 bits of the text's hash above its number + 1
 *
 * Texts are inserted in the order of their numbers, each into the first empty slot from (hash mod 2^b) on; the first
 * slot follows the last. At least half of the slots are empty, and a slot holds most of the hash, so a lookup rarely
 * reads a text that is not the wanted one. */
#ifndef FW_IO_STRING_TABLE_H
#define FW_IO_STRING_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/endian.h"
#include "base/mem.h"
#include "furrow/status.h"

#define FW_STRING_TABLE_MOST ((size_t)UINT32_MAX - 1)
#define FW_STRING_TABLE_NONE SIZE_MAX

/* ---- Building ---- */

/* Texts stored one after the other: text i is bytes[offsets[i]] … bytes[offsets[i+1] - 1]. Any bytes; may be empty. */
typedef struct fw_texts {
  const char *bytes;
  const uint64_t *offsets; /* count + 1 ascending offsets; NULL if count is 0 */
  size_t count;
} fw_texts;

/* Appends the image of a table to `out`, whose size must be a multiple of 8. All texts must differ: otherwise
 * E_EXISTS, and twins[0] < twins[1] (twins may be NULL) are the numbers of two equal texts, with the least possible
 * twins[1]. E_RANGE: too many texts; E_MEMORY. After a failure `out` is unchanged. */
furrow_status fw_string_table_build(fw_buffer *out, const fw_texts *texts, size_t twins[2],
                                    furrow_error *err) FURROW_MUST_USE;

/* ---- Looking up ---- */

/* A view of an image, which must stay in place. Callers read `count` and `size`; the other fields are for the
 * functions below. */
typedef struct fw_string_table {
  size_t count;
  size_t size; /* bytes of the image, a multiple of 8 */
  const unsigned char *offsets, *slots;
  const char *bytes;
  uint64_t mask; /* slots - 1 */
} fw_string_table;

/* Opens the image that begins at `image` and has at most `size` bytes. Checks the digest, that everything is inside
 * of the image, and that no lookup can leave it or loop forever. E_FORMAT: the message says what is wrong, and
 * err->offset is the byte of the image. */
furrow_status fw_string_table_open(fw_string_table *table, const void *image, size_t size,
                                   furrow_error *err) FURROW_MUST_USE;
/* Checks that each text is found under its number, so that all texts differ. Opening an image does not check this; it
 * can be wrong only in an image that another program made. E_FORMAT. */
furrow_status fw_string_table_verify(const fw_string_table *table, furrow_error *err) FURROW_MUST_USE;

/* Returns text i < count, which has no terminating 0. */
static inline const char *fw_string_table_text(const fw_string_table *table, size_t i, size_t *size) {
  const uint64_t from = fw_get_le64(table->offsets + 8 * i);
  *size = (size_t)(fw_get_le64(table->offsets + 8 * i + 8) - from);
  return table->bytes + from;
}
static inline bool fw_string_table_is_text(const fw_string_table *table, size_t i, const void *text, size_t size) {
  size_t found;
  const char *bytes = fw_string_table_text(table, i, &found);
  return found == size && fw_same_bytes(bytes, text, size);
}

static inline uint64_t fw_string_table_hash(const void *text, size_t size) {
  return XXH3_64bits(text, size);
}

/* Batch lookups hide the memory latency: hash each text and prefetch its slot; then guess the numbers and prefetch
 * their offsets; prefetch the texts; finally compare, and look up the texts whose guess was wrong. */
static inline void fw_string_table_prefetch(const fw_string_table *table, uint64_t hash) {
  __builtin_prefetch(table->slots + 8 * (hash & table->mask));
}
/* Returns the number of the first text that may have that hash; FW_STRING_TABLE_NONE if none has it. */
static inline size_t fw_string_table_guess(const fw_string_table *table, uint64_t hash) {
  for (uint64_t at = hash & table->mask;; at = (at + 1) & table->mask) {
    const uint64_t slot = fw_get_le64(table->slots + 8 * at);
    if (slot == 0) return FW_STRING_TABLE_NONE;
    if ((slot ^ hash) >> 32 == 0) return (size_t)(uint32_t)slot - 1;
  }
}
static inline void fw_string_table_prefetch_offset(const fw_string_table *table, size_t i) {
  __builtin_prefetch(table->offsets + 8 * i);
  __builtin_prefetch(table->offsets + 8 * i + 8);
}
static inline void fw_string_table_prefetch_text(const fw_string_table *table, size_t i) {
  const char *text = table->bytes + fw_get_le64(table->offsets + 8 * i);
  __builtin_prefetch(text);
  __builtin_prefetch(text + 16); /* may be in the next cache line */
}
/* Returns the number of a text, or FW_STRING_TABLE_NONE. */
size_t fw_string_table_find_hashed(const fw_string_table *table, uint64_t hash, const void *text, size_t size);
static inline size_t fw_string_table_find(const fw_string_table *table, const void *text, size_t size) {
  return fw_string_table_find_hashed(table, fw_string_table_hash(text, size), text, size);
}

#endif
