/* vector/index/inverted_lists.c: adds, removes and moves entries of inverted lists; statistics. */
#include "vector/index/inverted_lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"

/* ---- Codes in blocks ------------------------------------------------------------------------------------- */

enum { GROUP = 32, HALF = 16 };

/* The number of sub-quantizers in a block, which is even. */
static size_t block_m(const fw_lists *lists) {
  return lists->block_bytes / lists->block_vectors * 2;
}

/* The offset of the byte of vector i and sub-quantizer m; *shift is 0 for its low half, 4 for the high half. */
static size_t byte_of(const fw_lists *lists, size_t i, size_t m, unsigned *shift) {
  size_t block = i / lists->block_vectors, in_block = i % lists->block_vectors;
  size_t groups = lists->block_vectors / GROUP, group = in_block / GROUP, v = in_block % GROUP;
  size_t low = v % HALF, byte = low < 8 ? 2 * low : 2 * (low - 8) + 1;
  *shift = v < HALF ? 0 : 4;
  return block * lists->block_bytes + (m / 2 * groups + group) * GROUP + m % 2 * HALF + byte;
}

unsigned fw_block_get(const fw_lists *lists, const uint8_t *codes, size_t i, size_t m) {
  unsigned shift;
  size_t at = byte_of(lists, i, m, &shift);
  return codes[at] >> shift & 15u;
}

static void block_set(const fw_lists *lists, uint8_t *codes, size_t i, size_t m, unsigned value) {
  unsigned shift;
  size_t at = byte_of(lists, i, m, &shift);
  codes[at] = (uint8_t)((codes[at] & ~(15u << shift)) | value << shift);
}

void fw_block_put(const fw_lists *lists, uint8_t *codes, size_t i, const uint8_t *code) {
  for (size_t m = 0; m < block_m(lists); m++) block_set(lists, codes, i, m, code[m / 2] >> 4 * (m % 2) & 15u);
}

void fw_block_copy(const fw_lists *lists, uint8_t *codes, size_t to, const uint8_t *other, size_t from) {
  for (size_t m = 0; m < block_m(lists); m++) block_set(lists, codes, to, m, fw_block_get(lists, other, from, m));
}

void fw_block_clear(const fw_lists *lists, uint8_t *codes, size_t i) {
  for (size_t m = 0; m < block_m(lists); m++) block_set(lists, codes, i, m, 0);
}

/* ---- Changing lists -------------------------------------------------------------------------------------- */

static int compare_offsets(const void *a, const void *b) {
  const fw_disk_list *x = a, *y = b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

furrow_status fw_lists_sort_by_offset(const fw_lists *lists, fw_disk_list **sorted, size_t *count, furrow_error *err) {
  fw_disk_list *used = NULL;
  size_t n = 0;
  FW_TRY(FW_ALLOC(&used, lists->nlist, err));
  for (size_t i = 0; i < lists->nlist; i++)
    if (lists->disk->lists[i].capacity > 0) used[n++] = lists->disk->lists[i];
  qsort(used, n, sizeof *used, compare_offsets);
  *sorted = used;
  *count = n;
  return FURROW_OK;
}

furrow_status fw_lists_check_contents(const fw_lists *lists, furrow_error *err) {
  if (lists->kind == FURROW_LISTS_NONE) return fw_fail(err, FURROW_E_STATE, "the index has no lists");
  if (lists->disk && lists->disk->missing)
    return fw_fail(err, FURROW_E_STATE, "the data file of the lists, %s, is missing", lists->disk->file_name);
  return FURROW_OK;
}

furrow_status fw_lists_begin_edit(fw_lists *lists, furrow_error *err) {
  FW_TRY(fw_lists_check_contents(lists, err));
  return fw_lists_allocate(lists, err);
}

void fw_lists_end_edit(fw_lists *lists) {
  /* lists->disk stays: views may point into its map */
  if (lists->kind == FURROW_LISTS_ON_DISK) lists->kind = FURROW_LISTS_INLINE;
  lists->sizes_form = FW_SIZES_BY_RULE;
}

/* The size of the codes of `count` vectors. */
static bool code_bytes(const fw_lists *lists, size_t count, size_t *bytes) {
  if (lists->kind != FURROW_LISTS_BLOCKS) return fw_size_mul(count, lists->code_size, bytes);
  return fw_size_mul(count / lists->block_vectors + (count % lists->block_vectors != 0), lists->block_bytes, bytes);
}

/* Copies a view into arrays that the list owns. */
static furrow_status leave_view(fw_lists *lists, size_t i, size_t capacity, size_t bytes, furrow_error *err) {
  fw_list *list = &lists->list[i];
  void *codes = NULL, *ids = NULL;
  furrow_status status = fw_alloc_zero(&codes, 1, bytes, err);
  if (status == FURROW_OK) status = fw_alloc(&ids, capacity, 8, err);
  if (status != FURROW_OK) {
    fw_free(codes);
    return status;
  }
  if (list->size > 0) {
    memcpy(codes, list->codes, fw_lists_code_bytes(lists, i));
    memcpy(ids, list->ids, 8 * list->size);
  }
  list->codes = codes;
  list->ids = ids;
  list->capacity = capacity;
  return FURROW_OK;
}

furrow_status fw_list_reserve(fw_lists *lists, size_t i, size_t capacity, furrow_error *err) {
  fw_list *list = &lists->list[i];
  size_t bytes;
  if (capacity < list->size) capacity = list->size;
  if (capacity == 0 || list->capacity >= capacity) return FURROW_OK;
  if (!code_bytes(lists, capacity, &bytes)) return fw_fail_memory(err, SIZE_MAX);
  if (list->capacity == 0) return leave_view(lists, i, capacity, bytes, err);
  void *codes = list->codes, *ids = list->ids;
  FW_TRY(fw_realloc(&codes, bytes, 1, err));
  list->codes = codes;
  FW_TRY(fw_realloc(&ids, capacity, 8, err));
  list->ids = ids;
  list->capacity = capacity;
  return FURROW_OK;
}

furrow_status fw_list_own(fw_lists *lists, size_t i, furrow_error *err) {
  if (lists->codes) return FURROW_OK; /* if there are slabs, lists are views into them */
  return fw_list_reserve(lists, i, lists->list[i].size, err);
}

/* ---- Entries -------------------------------------------------------------------------------------------- */

void fw_list_copy_entry(const fw_lists *lists, fw_list *list, size_t to, const fw_list *other, size_t from,
                        int64_t id) {
  size_t size = lists->code_size;
  if (lists->kind == FURROW_LISTS_BLOCKS)
    fw_block_copy(lists, list->codes, to, other->codes, from);
  else if (list != other || to != from)
    memcpy(list->codes + to * size, other->codes + from * size, size);
  fw_list_set_id(list, to, id);
}

/* A new block is zeroed. */
static void begin_block(const fw_lists *lists, fw_list *list) {
  if (lists->kind == FURROW_LISTS_BLOCKS && list->size % lists->block_vectors == 0)
    memset(list->codes + list->size / lists->block_vectors * lists->block_bytes, 0, lists->block_bytes);
}

void fw_list_append_code(const fw_lists *lists, fw_list *list, const uint8_t *code, int64_t id) {
  begin_block(lists, list);
  if (lists->kind == FURROW_LISTS_BLOCKS)
    fw_block_put(lists, list->codes, list->size, code);
  else
    memcpy(list->codes + list->size * lists->code_size, code, lists->code_size);
  fw_list_set_id(list, list->size++, id);
}

void fw_list_append_entry(const fw_lists *lists, fw_list *list, const fw_list *other, size_t from, int64_t id) {
  begin_block(lists, list);
  fw_list_copy_entry(lists, list, list->size, other, from, id);
  list->size++;
}

void fw_list_append_list(const fw_lists *lists, fw_list *list, const fw_list *other, int64_t id_shift) {
  size_t count = other->size, size = lists->code_size;
  if (lists->kind == FURROW_LISTS_BLOCKS) {
    for (size_t k = 0; k < count; k++) fw_list_append_entry(lists, list, other, k, fw_list_id(other, k) + id_shift);
    return;
  }
  if (count == 0) return;
  memcpy(list->codes + list->size * size, other->codes, count * size);
  for (size_t k = 0; k < count; k++) fw_list_set_id(list, list->size + k, fw_list_id(other, k) + id_shift);
  list->size += count;
}

void fw_list_remove(const fw_lists *lists, fw_list *list, size_t i) {
  size_t last = list->size - 1;
  if (i != last) fw_list_copy_entry(lists, list, i, list, last, fw_list_id(list, last));
  if (lists->kind == FURROW_LISTS_BLOCKS) fw_block_clear(lists, list->codes, last);
  list->size = last;
}

/* ---- Statistics ------------------------------------------------------------------------------------------ */

/* Bucket b counts lists of 2^(b-1) … 2^b - 1 vectors. */
static unsigned bucket_of(uint64_t size) {
  return size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);
}

furrow_status furrow_index_get_list_stats(const furrow_index *index, furrow_list_stats *stats, furrow_error *err) {
  if (!fw_index_is_ivf(index)) return fw_fail(err, FURROW_E_ARGUMENT, "the index has no inverted lists");
  const fw_lists *lists = &index->ivf.lists;
  size_t nlist = index->ivf.nlist;
  furrow_list_stats s = {.nlist = nlist, .min = UINT64_MAX};
  double squares = 0;
  for (size_t i = 0; lists->list && i < nlist; i++) {
    uint64_t size = lists->list[i].size;
    s.histogram[bucket_of(size)]++;
    s.stored += size;
    if (size < s.min) s.min = size;
    if (size > s.max) s.max = size;
    squares += (double)size * (double)size;
  }
  if (!lists->list) {
    s.histogram[0] = nlist;
    s.min = 0;
  }
  s.empty = s.histogram[0];
  s.mean = (double)s.stored / (double)nlist;
  s.imbalance = s.stored ? (double)nlist * squares / ((double)s.stored * (double)s.stored) : (double)NAN;
  fw_info_write(stats, &s, sizeof s);
  return FURROW_OK;
}
