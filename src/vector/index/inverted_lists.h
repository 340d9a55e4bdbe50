/* vector/index/inverted_lists.h: changes of inverted lists.
 *
 * Lists that were read are views into a slab, a mapped file or the caller's bytes. A function that changes lists first
 * calls fw_lists_begin_edit, then fw_list_reserve for each list that will grow, or fw_list_own for one that will only
 * change or shrink. These can fail, but do not change the contents. The changes and fw_lists_end_edit cannot fail. */
#ifndef FW_VECTOR_INDEX_INVERTED_LISTS_H
#define FW_VECTOR_INDEX_INVERTED_LISTS_H

#include "vector/index/index.h"

/* Fails with E_STATE if there are no lists (il00) or their contents are missing. */
furrow_status fw_lists_check_contents(const fw_lists *lists, furrow_error *err) FURROW_MUST_USE;

/* Returns the lists on disk that have a capacity, sorted by offset; the caller frees *sorted. */
furrow_status fw_lists_sort_by_offset(const fw_lists *lists, fw_disk_list **sorted, size_t *count,
                                      furrow_error *err) FURROW_MUST_USE;
/* Allocates lists->list if it does not exist. Fails with E_STATE like fw_lists_check_contents. */
furrow_status fw_lists_begin_edit(fw_lists *lists, furrow_error *err) FURROW_MUST_USE;
/* From now on sizes are written by the rule, and lists on disk become part of the index file. */
void fw_lists_end_edit(fw_lists *lists);

/* Gives list i its own arrays with a capacity of at least `capacity` vectors. */
furrow_status fw_list_reserve(fw_lists *lists, size_t i, size_t capacity, furrow_error *err) FURROW_MUST_USE;
/* Makes list i writable: it owns its arrays or is part of a slab. */
furrow_status fw_list_own(fw_lists *lists, size_t i, furrow_error *err) FURROW_MUST_USE;

/* Copies entry `from` of `other`, which may be the same list, to entry `to`, with the given id. Both lists must have
 * the same shape. */
void fw_list_copy_entry(const fw_lists *lists, fw_list *list, size_t to, const fw_list *other, size_t from, int64_t id);
/* Appends a copy of entry `from` of another list; the capacity must suffice. */
void fw_list_append_entry(const fw_lists *lists, fw_list *list, const fw_list *other, size_t from, int64_t id);
/* Appends a vector by its code, which is a string of bits even for lists with blocks of codes; the capacity must
 * suffice. */
void fw_list_append_code(const fw_lists *lists, fw_list *list, const uint8_t *code, int64_t id);
/* Appends a copy of another list, its ids increased by id_shift; the capacity must suffice. */
void fw_list_append_list(const fw_lists *lists, fw_list *list, const fw_list *other, int64_t id_shift);
/* Removes entry i; the last entry takes its place. */
void fw_list_remove(const fw_lists *lists, fw_list *list, size_t i);

static inline void fw_list_set_id(fw_list *list, size_t i, int64_t id) {
  fw_put_le64(list->ids + 8 * i, (uint64_t)id);
}

/* ---- Codes in blocks ---- */

/* 4-bit codes of lists of kind BLOCKS, one vector at a time. A block has block_vectors vectors, in groups of 32. For
 * each pair of sub-quantizers (2p, 2p + 1) the groups follow each other with 32 bytes each: 16 bytes for 2p, 16 for 2p
 * + 1. Byte j has two vectors of the group: in its low half j / 2 + 8 * (j % 2), in its high half that + 16. Unused
 * vectors are 0. */

/* The number of sub-quantizer m for vector i of a list. */
unsigned fw_block_get(const fw_lists *lists, const uint8_t *codes, size_t i, size_t m);
/* Sets the code of vector i: a string of 4 bits per sub-quantizer. If their number is odd, the last 4 bits are 0. */
void fw_block_put(const fw_lists *lists, uint8_t *codes, size_t i, const uint8_t *code);
/* Copies vector `from` of another list, or of the same one, to vector `to`. */
void fw_block_copy(const fw_lists *lists, uint8_t *codes, size_t to, const uint8_t *other, size_t from);
/* Clears the code of vector i. */
void fw_block_clear(const fw_lists *lists, uint8_t *codes, size_t i);

#endif
