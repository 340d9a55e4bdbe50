/* vector/file/index_read_ivf.c: reads an index with inverted lists: its header, quantizers and direct map. The lists
 * themselves: index_read_lists.c. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/file/index_read.h"

/* ntotal includes vectors that are in no list (NaN). A larger difference than this is treated as damage. */
#define MOST_UNASSIGNED ((uint64_t)1 << 32)
#define MOST_LISTS ((uint64_t)1 << 40)

static bool is_legacy(const furrow_index *index) {
  return index->read_as[1] == 'v';
}

/* ---- Legacy lists (Iv…): ids of all lists in the header, codes of all lists at the end ------------------ */

static void read_legacy_ids(fw_index_reader *r, fw_ivf *ivf) {
  fw_cursor *c = &r->c;
  fw_lists *lists = &ivf->lists;
  if (fw_cursor_good(c) && ivf->nlist > fw_cursor_left(c) / 8)
    fw_cursor_reject_at(c, c->at, "lists", "of %zu counts need more bytes than the %" PRIu64 " that are left",
                        ivf->nlist, fw_cursor_left(c));
  if (!fw_cursor_good(c)) return;
  lists->kind = FURROW_LISTS_INLINE;
  lists->nlist = ivf->nlist;
  c->status = fw_lists_allocate(lists, c->err);
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++) {
    size_t mark = fw_cursor_enter_item(c, "lists", i);
    fw_read_own_ids(c, &lists->list[i]);
    fw_cursor_leave(c, mark);
  }
}

/* IvFl counts floats, the other kinds bytes. */
static void read_legacy_codes(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_lists *lists = &index->ivf.lists;
  fw_field_type type = memcmp(index->read_as, "IvFl", 4) == 0 ? FW_FIELD_F32 : FW_FIELD_BYTES;
  size_t each = index->ivf.code_size / (type == FW_FIELD_F32 ? 4 : 1);
  lists->code_size = index->ivf.code_size;
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++) {
    size_t mark = fw_cursor_enter_item(c, "lists", i);
    uint64_t count = fw_expect_product(c, lists->list[i].size, each);
    fw_read_own_codes(c, &lists->list[i], type, count, "[size][code size]");
    if (fw_cursor_good(c) && fw_reader_packs_codes(r, &index->ivf)) fw_pack_own_codes(c, lists, i, &index->ivf.pq);
    fw_cursor_leave(c, mark);
  }
}

/* ---- Direct map ----------------------------------------------------------------------------------------- */

static void read_direct_map(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_direct_map *map = &index->ivf.direct_map;
  size_t mark = fw_cursor_enter(c, "direct_map");
  uint8_t type = fw_cursor_read_u8(c, "type", "from id to location: 0 none, 1 array, 2 hashtable");
  if (type > FURROW_DIRECT_MAP_HASHTABLE) fw_cursor_reject(c, "is %u, but must be 0, 1 or 2", type);
  map->type = fw_cursor_good(c) ? (furrow_direct_map)type : FURROW_DIRECT_MAP_NONE;
  uint64_t want = map->type == FURROW_DIRECT_MAP_ARRAY ? (uint64_t)index->ntotal : 0;
  map->locations =
      fw_cursor_read_vector(c, "array", FW_FIELD_I64, want, &map->count, "list << 32 | offset; negative: nowhere");
  if (map->type == FURROW_DIRECT_MAP_HASHTABLE) {
    map->count = fw_cursor_read_count(c, "hashtable", sizeof *map->pairs, FW_ANY_COUNT);
    map->pairs = fw_cursor_alloc(c, map->count, sizeof *map->pairs);
    if (map->pairs)
      fw_cursor_read_elements(c, "hashtable", FW_FIELD_I64, map->pairs, 2 * map->count,
                              "id and location, in any order");
  }
  fw_cursor_leave(c, mark);
}

static bool location_exists(const fw_ivf *ivf, int64_t location) {
  if (location < 0) return true;
  uint64_t list = (uint64_t)location >> 32, offset = (uint64_t)location & UINT32_MAX;
  if (list >= ivf->nlist) return false;
  return ivf->lists.kind == FURROW_LISTS_NONE || offset < fw_lists_size(&ivf->lists, (size_t)list);
}

/* Call when the lists are known; the entries begin at file_offset. */
static void check_direct_map(fw_cursor *c, const fw_ivf *ivf, uint64_t file_offset) {
  const fw_direct_map *map = &ivf->direct_map;
  for (size_t i = 0; fw_cursor_good(c) && i < map->count; i++) {
    int64_t to = map->pairs ? map->pairs[i].location : map->locations[i];
    if (location_exists(ivf, to)) continue;
    fw_cursor_reject_at(c, file_offset + (map->pairs ? 16 * i + 8 : 8 * i), "direct_map",
                        "leads to list %" PRId64 ", offset %" PRId64 ", which does not exist (entry %zu)", to >> 32,
                        to & UINT32_MAX, i);
  }
}

/* ---- The parts before the lists ------------------------------------------------------------------------- */

/* An untrained index has a quantizer without centroids, or one that was trained before. */
static void check_quantizer(fw_index_reader *r, const furrow_index *index) {
  const furrow_index *quantizer = index->child[0];
  if (!fw_cursor_good(&r->c) || !quantizer) return;
  fw_expect_d(r, quantizer, "quantizer", index->d);
  if (index->trained || quantizer->ntotal != 0) fw_expect_ntotal(r, quantizer, "quantizer", (int64_t)index->ivf.nlist);
}

static void read_ivf_header(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_ivf *ivf = &index->ivf;
  uint64_t nlist = fw_cursor_read_u64(c, "nlist", "inverted lists");
  if (nlist == 0 || nlist > MOST_LISTS) fw_cursor_reject(c, "is %" PRIu64 ", but must be 1 to 2^40", nlist);
  ivf->nlist = (size_t)nlist;
  ivf->nprobe = (size_t)fw_cursor_read_u64(c, "nprobe", "lists that a search visits, unless told otherwise");
  if (ivf->nprobe == 0) fw_cursor_reject(c, "is 0, but a search must probe a list");
  r->quantizers++;
  fw_read_index(r, "quantizer", &index->child[0]);
  r->quantizers--;
  check_quantizer(r, index);
  if (is_legacy(index)) read_legacy_ids(r, ivf);
  read_direct_map(r, index);
}

static void read_code_size(fw_cursor *c, fw_ivf *ivf) {
  ivf->code_size = (size_t)fw_cursor_read_u64(c, "code_size", "bytes of a vector in a list");
}

/* The code size precedes the quantizer that determines it. */
static void check_code_size(fw_cursor *c, const fw_ivf *ivf, uint64_t file_offset, uint64_t want) {
  if (fw_cursor_good(c) && ivf->code_size != want)
    fw_cursor_reject_at(c, file_offset, "code_size", "is %zu, but the quantizer makes codes of %" PRIu64 " %s",
                        ivf->code_size, want, fw_plural(want, "byte", "bytes"));
}

int32_t fw_read_bbs(fw_cursor *c) {
  const int32_t bbs = fw_cursor_read_i32(c, "bbs", "vectors of a block");
  if (bbs <= 0 || bbs % 32 != 0) fw_cursor_reject(c, "is %" PRId32 ", but must be a multiple of 32", bbs);
  return bbs;
}

void fw_check_fast_pq(fw_cursor *c, const fw_pq *pq, uint64_t nbits_offset, uint64_t m2, uint64_t m2_offset) {
  if (!fw_cursor_good(c)) return;
  if (pq->nbits != 4) fw_cursor_reject_at(c, nbits_offset, "pq/nbits", "is %u, but must be 4", pq->nbits);
  const size_t even = pq->m + pq->m % 2;
  if (m2 != even) fw_cursor_reject_at(c, m2_offset, "M2", "is %" PRIu64 ", but must be %zu", m2, even);
}

/* Reads the fields of IwPf between the code size and the quantizer, and checks the quantizer. */
static void read_fast_part(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_ivf *ivf = &index->ivf;
  ivf->bbs = fw_read_bbs(c);
  ivf->m2 = (size_t)fw_cursor_read_u64(c, "M2", "sub-quantizers in a block, M rounded up to even");
  uint64_t m2_offset = c->field_at;
  ivf->implem = fw_cursor_read_i32(c, "implem", "way of searching, 0: any");
  ivf->qbs2 = (size_t)fw_cursor_read_u64(c, "qbs2", "queries that are searched together, 0: any");
  uint64_t nbits_offset = c->at + 16; /* after pq/d and pq/M */
  fw_read_pq(r, "pq", &ivf->pq, index->d);
  fw_check_fast_pq(c, &ivf->pq, nbits_offset, ivf->m2, m2_offset);
}

static void read_pq_part(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_ivf *ivf = &index->ivf;
  ivf->by_residual = fw_cursor_read_bool(c, "by_residual", "codes are of the difference to the centroid");
  read_code_size(c, ivf);
  uint64_t file_offset = c->field_at;
  if (index->kind == FURROW_INDEX_IVF_PQ_FAST)
    read_fast_part(r, index);
  else
    fw_read_pq(r, "pq", &ivf->pq, index->d);
  if (fw_cursor_good(c)) check_code_size(c, ivf, file_offset, fw_pq_code_size(&ivf->pq));
}

/* An untrained quantizer has no ranges yet, and some types never have. */
static void check_ranges(fw_cursor *c, const fw_sq *sq, const furrow_index *index) {
  const size_t want = fw_sq_range_bits(sq) > 0 ? 2 * fw_sq_ranges(sq) : 0;
  const bool needed = index->trained || index->ntotal > 0;
  if (want > 0 && sq->trained_count != want && (needed || sq->trained_count > 0))
    fw_cursor_reject(c, "has %zu %s for ranges, not %zu", sq->trained_count,
                     fw_plural(sq->trained_count, "number", "numbers"), want);
  fw_expect_finite(c, sq->trained, sq->trained_count);
}

void fw_read_sq(fw_cursor *c, fw_sq *sq, const furrow_index *index) {
  const int32_t d = index->d;
  size_t mark = fw_cursor_enter(c, "sq");
  sq->qtype = fw_cursor_read_i32(c, "qtype", "how a number is encoded");
  const size_t bits = fw_sq_bits(sq->qtype);
  if (bits == 0) fw_cursor_fail(c, FURROW_E_UNSUPPORTED, "is %" PRId32 ", which Furrow does not know", sq->qtype);
  sq->range_stat = fw_cursor_read_i32(c, "rangestat", "how the range was found");
  sq->range_arg = fw_cursor_read_f32(c, "rangestat_arg", "its argument");
  uint64_t sq_d = fw_cursor_read_u64(c, "d", "dimension of the vectors it encodes");
  if (sq_d != (uint64_t)d)
    fw_cursor_reject(c, "is %" PRIu64 ", but the vectors have %" PRId32 " %s", sq_d, d,
                     fw_plural((uint64_t)d, "dimension", "dimensions"));
  sq->d = (size_t)sq_d;
  sq->code_size = (size_t)fw_cursor_read_u64(c, "code_size", "bytes of a code");
  if (fw_cursor_good(c) && sq->code_size != (sq->d * bits + 7) / 8)
    fw_cursor_reject(c, "is %zu, but %zu numbers of %zu bits need %zu", sq->code_size, sq->d, bits,
                     (sq->d * bits + 7) / 8);
  sq->trained = fw_cursor_read_vector(c, "trained", FW_FIELD_F32, FW_ANY_COUNT, &sq->trained_count, "ranges");
  if (fw_cursor_good(c)) check_ranges(c, sq, index);
  fw_cursor_leave(c, mark);
}

static void read_sq_part(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_ivf *ivf = &index->ivf;
  fw_read_sq(c, &ivf->sq, index);
  read_code_size(c, ivf);
  check_code_size(c, ivf, c->field_at, ivf->sq.code_size);
  ivf->by_residual = true;
  if (memcmp(index->read_as, "IwSq", 4) == 0)
    ivf->by_residual = fw_cursor_read_bool(c, "by_residual", "codes are of the difference to the centroid");
}

/* ---- The whole index ------------------------------------------------------------------------------------ */

static void check_totals(fw_cursor *c, const furrow_index *index) {
  if (!fw_cursor_good(c) || index->ivf.lists.kind == FURROW_LISTS_NONE) return;
  uint64_t stored = fw_lists_stored(&index->ivf.lists), ntotal = (uint64_t)index->ntotal;
  if (ntotal < stored || ntotal - stored > MOST_UNASSIGNED)
    fw_cursor_reject_at(c, index->file_offset + 8, "ntotal", "is %" PRIu64 ", but the lists have %" PRIu64 " %s",
                        ntotal, stored, fw_plural(stored, "vector", "vectors"));
  if (!index->trained && stored > 0)
    fw_cursor_reject_at(c, index->file_offset + 32, "is_trained", "is 0, but the lists have %" PRIu64 " %s", stored,
                        fw_plural(stored, "vector", "vectors"));
}

void fw_read_ivf(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_ivf *ivf = &index->ivf;
  read_ivf_header(r, index);
  uint64_t after_map = c->field_at;
  if (!fw_cursor_good(c)) return;
  if (index->kind == FURROW_INDEX_IVF_SQ)
    read_sq_part(r, index);
  else if (index->kind != FURROW_INDEX_IVF_FLAT)
    read_pq_part(r, index);
  else
    ivf->code_size = 4 * (size_t)index->d;
  if (is_legacy(index))
    read_legacy_codes(r, index);
  else
    fw_read_lists(r, ivf, index->kind);
  check_direct_map(c, ivf, after_map);
  check_totals(c, index);
}
