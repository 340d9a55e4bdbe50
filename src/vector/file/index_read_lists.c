/* vector/file/index_read_lists.c: reads inverted lists: their sizes, and their contents or the location of the
 * contents. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/file/index_read.h"
#include "vector/index/inverted_lists.h"
#include "vector/index/pack_codes.h"

/* The limit of lists without any bytes in the file (a quantizer may have cells without centroids); large files may
 * exceed it a little. */
#define FREE_LISTS ((uint64_t)1 << 21)

static void spread(fw_cursor *c, fw_lists *lists) {
  if (!fw_cursor_good(c)) return;
  if (lists->nlist > FREE_LISTS + c->size / 16)
    fw_cursor_reject(c, "comes with %zu lists, too many for a file of %" PRIu64 " bytes", lists->nlist, c->size);
  else
    c->status = fw_lists_allocate(lists, c->err);
}

/* ---- Contents in the file ------------------------------------------------------------------------------- */

static void alloc_slabs(fw_cursor *c, fw_lists *lists) {
  size_t codes = 0, ids = 0;
  for (size_t i = 0; i < lists->nlist; i++) {
    codes += fw_lists_code_bytes(lists, i);
    ids += fw_lists_size(lists, i);
  }
  lists->codes = fw_cursor_alloc(c, codes, 1);
  lists->ids = fw_cursor_alloc(c, ids, 8);
}

/* Reads the next `size` bytes as codes or ids: as a view into the file, or into the next piece of a slab. */
static uint8_t *read_piece(fw_index_reader *r, const char *name, fw_field_type type, size_t count, uint8_t **slab,
                           const char *meaning) {
  if (r->borrow) return (uint8_t *)(uintptr_t)fw_cursor_view(&r->c, name, type, count, meaning);
  uint8_t *piece = *slab;
  fw_cursor_read_raw(&r->c, name, type, piece, count, meaning);
  *slab += count * (type == FW_FIELD_I64 ? 8 : 1);
  return piece;
}

/* For each non-empty list, its codes and then its ids. */
static void read_plain(fw_index_reader *r, fw_lists *lists) {
  fw_cursor *c = &r->c;
  if (!r->borrow) alloc_slabs(c, lists);
  uint8_t *codes = lists->codes, *ids = lists->ids;
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++) {
    fw_list *list = &lists->list[i];
    if (list->size == 0) continue;
    size_t mark = fw_cursor_enter_item(c, "", i);
    list->codes = read_piece(r, "codes", FW_FIELD_BYTES, fw_lists_code_bytes(lists, i), &codes, "[size][code size]");
    list->ids = read_piece(r, "ids", FW_FIELD_I64, list->size, &ids, "of the vectors of the list");
    fw_cursor_leave(c, mark);
  }
}

/* ---- Contents for searching only ------------------------------------------------------------------------ */

bool fw_reader_packs_codes(const fw_index_reader *r, const fw_ivf *ivf) {
  return r->pack && !r->borrow && ivf->pq.m > 0 && fw_pq_is_packable(&ivf->pq);
}

void fw_alloc_packed(fw_cursor *c, fw_lists *lists, const fw_pq *pq) {
  size_t bytes = FW_BLOCK + FW_PACKED_ALIGNMENT; /* kernels read past the last list */
  for (size_t i = 0; i < lists->nlist; i++) bytes += fw_packed_bytes(fw_lists_size(lists, i), fw_pq_rows(pq));
  lists->codes = fw_cursor_alloc(c, bytes, 1);
  if (!lists->codes) return;
  fw_prefer_large_pages(lists->codes, bytes);
  memset(lists->codes + bytes - FW_BLOCK - FW_PACKED_ALIGNMENT, 0, FW_BLOCK + FW_PACKED_ALIGNMENT);
  uint8_t *at = fw_packed_align(lists->codes);
  for (size_t i = 0; i < lists->nlist; i++) {
    lists->list[i].codes = at;
    at += fw_packed_bytes(lists->list[i].size, fw_pq_rows(pq));
  }
  lists->packed = true;
  if (!lists->order) c->status = fw_code_order_create(&lists->order, pq, c->err);
}

/* Like read_plain, but codes pass through a small buffer, so that they are never in memory twice. */
static void read_packed(fw_index_reader *r, fw_lists *lists, const fw_pq *pq) {
  fw_cursor *c = &r->c;
  const size_t piece = fw_pack_piece(lists->code_size) * lists->code_size;
  fw_alloc_packed(c, lists, pq);
  lists->ids = fw_cursor_alloc(c, (size_t)fw_lists_stored(lists), 8);
  if (lists->ids) fw_prefer_large_pages(lists->ids, 8 * (size_t)fw_lists_stored(lists));
  uint8_t *buffer = fw_cursor_alloc(c, piece, 1), *ids = lists->ids;
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++) {
    fw_list *list = &lists->list[i];
    fw_packing p = {.pq = pq, .order = lists->order, .to = list->codes};
    if (list->size == 0) continue;
    size_t mark = fw_cursor_enter_item(c, "", i);
    fw_cursor_read_chunks(c, "codes", list->size * lists->code_size, piece, buffer, fw_pack_next, &p,
                          "[size][code size]");
    list->ids = read_piece(r, "ids", FW_FIELD_I64, list->size, &ids, "of the vectors of the list");
    fw_cursor_leave(c, mark);
  }
  fw_free(buffer);
}

void fw_pack_own_codes(fw_cursor *c, fw_lists *lists, size_t i, const fw_pq *pq) {
  fw_list *list = &lists->list[i];
  lists->packed = true;
  if (!lists->order) c->status = fw_code_order_create(&lists->order, pq, c->err);
  if (list->size == 0 || !fw_cursor_good(c)) return;
  /* the list frees this pointer, so it cannot be aligned here; kernels accept that */
  const size_t used = fw_block_padded(list->size) * fw_pq_rows(pq);
  const size_t bytes = fw_packed_bytes(list->size, fw_pq_rows(pq)) + FW_BLOCK;
  uint8_t *packed = fw_cursor_alloc(c, bytes, 1);
  if (!packed) return;
  const bool blocks = lists->kind == FURROW_LISTS_BLOCKS;
  const fw_code_source from = {.pq = pq, .codes = list->codes, .blocks = blocks ? lists : NULL, .order = lists->order};
  fw_pack_codes(&from, list->size, packed);
  memset(packed + used, 0, bytes - used);
  fw_free(list->codes);
  list->codes = packed;
}

static void read_contents(fw_index_reader *r, fw_ivf *ivf) {
  if (fw_reader_packs_codes(r, ivf))
    read_packed(r, &ivf->lists, &ivf->pq);
  else
    read_plain(r, &ivf->lists);
}

/* ---- ilar ----------------------------------------------------------------------------------------------- */

/* Sets the size of a list; *left is the number of bytes of the file that no list has claimed yet. */
static void set_size(fw_cursor *c, fw_lists *lists, uint64_t list, uint64_t size, uint64_t file_offset,
                     uint64_t *left) {
  uint64_t each = lists->code_size + 8;
  if (size > *left / each) {
    fw_cursor_reject_at(c, file_offset, "sizes",
                        "give list %" PRIu64 " %" PRIu64 " %s of %" PRIu64 " bytes, but only %" PRIu64 " %s left", list,
                        size, fw_plural(size, "vector", "vectors"), each, *left,
                        fw_plural(*left, "byte is", "bytes are"));
    return;
  }
  *left -= size * each;
  lists->list[list].size = (size_t)size;
}

static void set_full_sizes(fw_cursor *c, fw_lists *lists, const uint64_t *sizes) {
  uint64_t file_offset = c->field_at, left = fw_cursor_left(c);
  bool any = false;
  for (size_t i = 0; i < lists->nlist; i++) any = any || sizes[i] > 0;
  if (any) spread(c, lists);
  for (size_t i = 0; any && fw_cursor_good(c) && i < lists->nlist; i++)
    set_size(c, lists, i, sizes[i], file_offset + 8 * i, &left);
}

static void set_sparse_sizes(fw_cursor *c, fw_lists *lists, const uint64_t *pairs, size_t count) {
  uint64_t file_offset = c->field_at, left = fw_cursor_left(c);
  if (count > 0) spread(c, lists);
  for (size_t i = 0; fw_cursor_good(c) && i + 1 < count; i += 2) {
    if (pairs[i] >= lists->nlist || (i > 0 && pairs[i] <= pairs[i - 2]))
      fw_cursor_reject_at(c, file_offset + 8 * i, "sizes",
                          "name list %" PRIu64 ", which does not exist, or is not in order", pairs[i]);
    else if (pairs[i + 1] == 0)
      fw_cursor_reject_at(c, file_offset + 8 * i + 8, "sizes", "name list %" PRIu64 ", which is empty", pairs[i]);
    else
      set_size(c, lists, pairs[i], pairs[i + 1], file_offset + 8 * i + 8, &left);
  }
}

static const char *explain_sizes(const char *form) {
  if (memcmp(form, "full", 4) == 0) return "sizes of all lists follow";
  return memcmp(form, "sprs", 4) == 0 ? "sizes of lists with vectors follow" : NULL;
}

static void read_sizes(fw_cursor *c, fw_lists *lists) {
  char form[4];
  fw_cursor_read_fourcc(c, "sizes_form", explain_sizes, form);
  if (!fw_cursor_good(c)) return;
  bool full = memcmp(form, "full", 4) == 0;
  if (!full && memcmp(form, "sprs", 4) != 0) {
    fw_cursor_reject(c, "is neither full nor sprs");
    if (c->err) fw_error_set_token(c->err, form, 4);
    return;
  }
  size_t count = 0;
  uint64_t *sizes = fw_cursor_read_vector(c, "sizes", FW_FIELD_U64, full ? lists->nlist : FW_ANY_COUNT, &count,
                                          full ? "vectors of each list" : "pairs of list and vectors");
  if (fw_cursor_good(c) && full) set_full_sizes(c, lists, sizes);
  if (fw_cursor_good(c) && !full && count % 2 != 0)
    fw_cursor_reject(c, "have an odd count, %zu, but come in pairs", count);
  if (fw_cursor_good(c) && !full) set_sparse_sizes(c, lists, sizes, count);
  fw_free(sizes);
  if (fw_cursor_good(c) && full != fw_lists_are_full(lists)) lists->sizes_form = full ? FW_SIZES_FULL : FW_SIZES_SPARSE;
}

static void read_inline(fw_index_reader *r, fw_ivf *ivf) {
  fw_lists *lists = &ivf->lists;
  lists->kind = FURROW_LISTS_INLINE;
  read_sizes(&r->c, lists);
  if (fw_cursor_good(&r->c) && lists->list) read_contents(r, ivf);
}

/* ---- Lists whose contents have separate counts ---------------------------------------------------------- */

void fw_read_own_ids(fw_cursor *c, fw_list *list) {
  size_t count = fw_cursor_read_count(c, "ids", 8, FW_ANY_COUNT);
  uint8_t *ids = count > 0 ? fw_cursor_alloc(c, count, 8) : NULL;
  fw_cursor_read_raw(c, "ids", FW_FIELD_I64, ids, ids ? count : 0, "of the vectors of the list");
  if (!ids) return;
  list->ids = ids;
  list->size = list->capacity = count;
}

void fw_read_own_codes(fw_cursor *c, fw_list *list, fw_field_type type, uint64_t expected, const char *meaning) {
  size_t size = type == FW_FIELD_F32 ? 4 : 1, count = fw_cursor_read_count(c, "codes", size, expected);
  uint8_t *codes = count > 0 ? fw_cursor_alloc(c, count, size) : NULL;
  fw_cursor_read_raw(c, "codes", type, codes, codes ? count : 0, meaning);
  list->codes = codes;
}

/* ---- ilbl: for each list, including empty ones, its ids and then its blocks ----------------------------- */

static void read_block_list(fw_index_reader *r, fw_lists *lists, size_t i) {
  fw_list *list = &lists->list[i];
  fw_read_own_ids(&r->c, list);
  uint64_t blocks = list->size / lists->block_vectors + (list->size % lists->block_vectors != 0);
  fw_read_own_codes(&r->c, list, FW_FIELD_BYTES, fw_expect_product(&r->c, blocks, lists->block_bytes), "blocks");
}

static void read_blocks(fw_index_reader *r, fw_lists *lists, const fw_ivf *ivf) {
  fw_cursor *c = &r->c;
  lists->kind = FURROW_LISTS_BLOCKS;
  lists->code_size = 0;
  uint64_t vectors = fw_cursor_read_u64(c, "n_per_block", "vectors of a block");
  if (vectors != (uint64_t)ivf->bbs) fw_cursor_reject(c, "is %" PRIu64 ", but bbs is %" PRId32, vectors, ivf->bbs);
  uint64_t bytes = fw_cursor_read_u64(c, "block_size", "bytes of a block");
  uint64_t want = (uint64_t)ivf->bbs * ivf->m2 / 2;
  if (bytes != want) fw_cursor_reject(c, "is %" PRIu64 ", but must be %" PRIu64, bytes, want);
  if (fw_cursor_good(c) && lists->nlist > fw_cursor_left(c) / 16)
    fw_cursor_reject_at(c, c->at, "0/ids/count",
                        "and the others of %zu lists need more bytes than the %" PRIu64 " left", lists->nlist,
                        fw_cursor_left(c));
  if (!fw_cursor_good(c)) return;
  lists->block_vectors = (size_t)vectors;
  lists->block_bytes = (size_t)bytes;
  c->status = fw_lists_allocate(lists, c->err);
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++) {
    size_t mark = fw_cursor_enter_item(c, "", i);
    read_block_list(r, lists, i);
    if (fw_cursor_good(c) && fw_reader_packs_codes(r, ivf)) fw_pack_own_codes(c, lists, i, &ivf->pq);
    fw_cursor_leave(c, mark);
  }
}

/* ---- ilod ----------------------------------------------------------------------------------------------- */

/* Checks that a list is within the data file, and that all lists together are not larger than it; *left is the number
 * of bytes that no list has claimed yet. */
static void check_disk_list(fw_cursor *c, const fw_lists *lists, size_t i, uint64_t file_offset, uint64_t *left) {
  const fw_disk_list *at = &lists->disk->lists[i];
  uint64_t bytes, end, each = lists->code_size + 8;
  if (at->size > at->capacity)
    fw_cursor_reject_at(c, file_offset, "lists", "give list %zu %" PRIu64 " %s with a capacity of %" PRIu64, i,
                        at->size, fw_plural(at->size, "vector", "vectors"), at->capacity);
  if (at->capacity == 0) return;
  if (__builtin_mul_overflow(at->capacity, each, &bytes) || __builtin_add_overflow(at->offset, bytes, &end) ||
      end > lists->disk->total_size)
    fw_cursor_reject_at(c, file_offset, "lists",
                        "put list %zu at byte %" PRIu64 " with a capacity of %" PRIu64 " %s, beyond the %" PRIu64
                        " bytes of the data file",
                        i, at->offset, at->capacity, fw_plural(at->capacity, "vector", "vectors"),
                        lists->disk->total_size);
  else if (at->size > *left / each)
    fw_cursor_reject_at(c, file_offset, "lists",
                        "overlap: with list %zu they have more than the %" PRIu64 " bytes of the data file", i,
                        lists->disk->total_size);
  else
    *left -= at->size * each;
}

/* Each list is within the data file. */
static void check_disk_overlap(fw_cursor *c, const fw_lists *lists, uint64_t file_offset) {
  const uint64_t each = lists->code_size + 8;
  fw_disk_list *sorted = NULL;
  size_t count = 0;
  if (fw_cursor_good(c)) c->status = fw_lists_sort_by_offset(lists, &sorted, &count, c->err);
  for (size_t i = 1; fw_cursor_good(c) && i < count; i++)
    if (sorted[i - 1].offset + sorted[i - 1].capacity * each > sorted[i].offset)
      fw_cursor_reject_at(c, file_offset, "lists", "overlap in the data file, the first at byte %" PRIu64,
                          sorted[i].offset);
  fw_free(sorted);
}

static void read_file_name(fw_cursor *c, fw_disk *disk) {
  size_t size = fw_cursor_read_count(c, "filename", 1, FW_ANY_COUNT);
  disk->file_name = fw_cursor_alloc(c, size + 1, 1);
  if (!disk->file_name) return;
  fw_cursor_read_elements(c, "filename", FW_FIELD_CHARS, disk->file_name, size,
                          "the path of the data file, as its writer used it");
  disk->file_name[size] = 0;
  disk->file_name_size = size;
  if (fw_cursor_good(c) && strlen(disk->file_name) != size) fw_cursor_reject(c, "has a byte 0 in it");
}

static void read_disk_tables(fw_cursor *c, fw_lists *lists) {
  fw_disk *disk = lists->disk;
  size_t count = fw_cursor_read_count(c, "lists", sizeof *disk->lists, lists->nlist);
  disk->lists = fw_cursor_alloc(c, count, sizeof *disk->lists);
  if (disk->lists)
    fw_cursor_read_elements(c, "lists", FW_FIELD_U64, disk->lists, 3 * count, "size, capacity, offset of each");
  uint64_t file_offset = c->field_at;
  count = fw_cursor_read_count(c, "slots", sizeof *disk->slots, FW_ANY_COUNT);
  disk->slots = fw_cursor_alloc(c, count, sizeof *disk->slots);
  disk->slot_count = disk->slots ? count : 0;
  if (disk->slots)
    fw_cursor_read_elements(c, "slots", FW_FIELD_U64, disk->slots, 2 * count, "offset and bytes of free slots");
  read_file_name(c, disk);
  disk->total_size = fw_cursor_read_u64(c, "totsize", "bytes of the data file");
  uint64_t left = disk->total_size;
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++)
    check_disk_list(c, lists, i, file_offset + 24 * i, &left);
  check_disk_overlap(c, lists, file_offset);
}

static void read_on_disk(fw_index_reader *r, fw_ivf *ivf) {
  fw_cursor *c = &r->c;
  fw_lists *lists = &ivf->lists;
  lists->kind = FURROW_LISTS_ON_DISK;
  lists->disk = fw_cursor_alloc(c, 1, sizeof *lists->disk);
  if (!lists->disk) return;
  *lists->disk = (fw_disk){0};
  read_disk_tables(c, lists);
  if (!fw_cursor_good(c)) return;
  c->status = fw_lists_allocate(lists, c->err);
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++)
    lists->list[i].size = (size_t)lists->disk->lists[i].size;
  if (fw_cursor_good(c)) fw_read_disk_lists(r, ivf);
}

/* ---- Lists of any kind ---------------------------------------------------------------------------------- */

static void reject_lists(fw_cursor *c, const char fourcc[4], furrow_index_kind kind) {
  if (memcmp(fourcc, "ilpn", 4) == 0 || memcmp(fourcc, "ilp2", 4) == 0)
    fw_cursor_fail(c, FURROW_E_UNSUPPORTED, "is of lists that Furrow does not read: Panorama");
  else
    fw_cursor_reject(c, "is not a kind of lists that %s can have", furrow_index_kind_name(kind));
  if (c->err) fw_error_set_token(c->err, fourcc, 4);
}

static void read_shape(fw_cursor *c, fw_lists *lists, bool blocks) {
  uint64_t nlist = fw_cursor_read_u64(c, "nlist", "inverted lists, as above");
  if (nlist != lists->nlist)
    fw_cursor_reject(c, "is %" PRIu64 ", but the index has %zu %s", nlist, lists->nlist,
                     fw_plural(lists->nlist, "list", "lists"));
  uint64_t code_size = fw_cursor_read_u64(c, "code_size", "bytes of a vector in a list");
  uint64_t want = blocks ? UINT64_MAX : lists->code_size;
  if (code_size != want)
    fw_cursor_reject(c, "is %" PRIu64 ", but the quantizer makes codes of %" PRIu64 " %s", code_size, want,
                     fw_plural(want, "byte", "bytes"));
}

static const char *explain_lists(const char *fourcc) {
  static const char *const known[][2] = {{"il00", "no lists"},
                                         {"ilar", "lists in this file"},
                                         {"ilod", "lists in a data file"},
                                         {"ilbl", "lists in this file, codes in blocks"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (memcmp(known[i][0], fourcc, 4) == 0) return known[i][1];
  return NULL;
}

static void read_named_lists(fw_index_reader *r, fw_ivf *ivf, furrow_index_kind kind, const char fourcc[4]) {
  fw_cursor *c = &r->c;
  fw_lists *lists = &ivf->lists;
  bool blocks = kind == FURROW_INDEX_IVF_PQ_FAST;
  if (memcmp(fourcc, "il00", 4) == 0) {
    lists->kind = FURROW_LISTS_NONE;
  } else if (!blocks && memcmp(fourcc, "ilar", 4) == 0) {
    read_shape(c, lists, false);
    read_inline(r, ivf);
  } else if (!blocks && memcmp(fourcc, "ilod", 4) == 0) {
    read_shape(c, lists, false);
    read_on_disk(r, ivf);
  } else if (blocks && memcmp(fourcc, "ilbl", 4) == 0) {
    read_shape(c, lists, true);
    read_blocks(r, lists, ivf);
  } else {
    reject_lists(c, fourcc, kind);
  }
}

void fw_read_lists(fw_index_reader *r, fw_ivf *ivf, furrow_index_kind kind) {
  fw_cursor *c = &r->c;
  if (!fw_cursor_good(c)) return;
  ivf->lists.nlist = ivf->nlist;
  ivf->lists.code_size = ivf->code_size;
  size_t mark = fw_cursor_enter(c, "lists");
  char fourcc[4];
  fw_cursor_read_fourcc(c, "fourcc", explain_lists, fourcc);
  if (fw_cursor_good(c)) read_named_lists(r, ivf, kind, fourcc);
  fw_cursor_leave(c, mark);
}
