/* vector/search/pq_scan.c: scans lists of product quantizer codes: lower bounds first, then exact sums for the rest. */
#include <math.h>

#include "vector/index/direct_map.h"
#include "vector/index/pack_codes.h"
#include "vector/quantizer/pq.h"
#include "vector/search/pq_lists.h"

void fw_pq_list_fetch(const fw_pq_lists *lists, size_t list) {
  const fw_pq_list *l = &lists->list[list];
  const size_t n = l->size < FW_BLOCK_GROUP * FW_BLOCK ? l->size : FW_BLOCK_GROUP * FW_BLOCK;
  for (size_t i = 0; lists->blocks && i < n * fw_pq_rows(lists->pq); i += 64) __builtin_prefetch(l->codes + i, 0, 2);
  for (size_t i = 0; lists->extra && i < n; i += 16) __builtin_prefetch(lists->extra + l->extra_at + i, 0, 2);
}

int64_t fw_pq_lists_id(const fw_pq_lists *lists, int64_t location) {
  const fw_pq_list *l = &lists->list[fw_location_list(location)];
  const size_t i = fw_location_offset(location);
  return l->ids ? (int64_t)fw_get_le64(l->ids + 8 * i) : (int64_t)i;
}

static inline void offer_code(const fw_pq_lists *lists, const fw_scan_params *scan_params, size_t i, float key,
                              fw_sink *sink) {
  const int64_t location = fw_location_make(scan_params->list, i);
  if (!lists->similarity && key == -INFINITY) return; /* the distance overflows a float: not a result */
  if (scan_params->id_filter->filter && !fw_id_filter_test(scan_params->id_filter, fw_pq_lists_id(lists, location)))
    return;
  fw_sink_take(sink, key, location);
}

/* The number of codes summed at once: a single sum would wait for each of its additions. */
enum { SUMS = 4 };

static void sum_codes(const fw_lut *table, const uint8_t *const at[SUMS], const size_t stride[SUMS], float sums[SUMS]) {
  const uint8_t *p0 = at[0], *p1 = at[1], *p2 = at[2], *p3 = at[3];
  const float *values = table->values;
  float a = values[*p0], b = values[*p1], c = values[*p2], d = values[*p3];
  for (size_t m = 1; m < table->m; m++) {
    values += table->width;
    a += values[*(p0 += stride[0])];
    b += values[*(p1 += stride[1])];
    c += values[*(p2 += stride[2])];
    d += values[*(p3 += stride[3])];
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

static void sum_nibbles(const fw_lut *table, const uint8_t *const at[SUMS], const size_t stride[SUMS],
                        float sums[SUMS]) {
  const uint8_t *p0 = at[0], *p1 = at[1], *p2 = at[2], *p3 = at[3];
  const float *values = table->values;
  float a = 0, b = 0, c = 0, d = 0;
  for (size_t m = 0; m < table->m; m += 2, values += 2 * FW_LUT_NIBBLES) {
    const unsigned n0 = *p0, n1 = *p1, n2 = *p2, n3 = *p3;
    a += values[n0 & 15];
    b += values[n1 & 15];
    c += values[n2 & 15];
    d += values[n3 & 15];
    if (m + 1 == table->m) break;
    a += values[16 + (n0 >> 4)];
    b += values[16 + (n1 >> 4)];
    c += values[16 + (n2 >> 4)];
    d += values[16 + (n3 >> 4)];
    p0 += stride[0];
    p1 += stride[1];
    p2 += stride[2];
    p3 += stride[3];
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

/* The scan of a list whose codes are filtered by lower bounds. */
typedef struct pq_scan {
  const fw_pq_lists *lists;
  const fw_lut *table;
  const fw_scan_params *scan_params;
  const fw_pq_list *list;
  fw_code_list codes;
  float slack, cap; /* no key above base + cap is a result */
} pq_scan;

/* A key is the sum of a code's values, plus (base + extra). It is computed for vectors that the bounds do not
 * exclude. */
static inline float make_key(const pq_scan *p, size_t i, float sum) {
  return sum + (p->scan_params->base + (p->codes.extra ? p->codes.extra[i] : 0));
}

static inline void rescore(const pq_scan *p, size_t i, float sum, fw_sink *sink) {
  const float key = make_key(p, i, sum);
  if (key < sink->worst && i < p->scan_params->upto) offer_code(p->lists, p->scan_params, i, key, sink);
}

/* Computes the keys of the vectors at some positions, in order. */
static void rescore_positions(const pq_scan *p, const uint32_t *positions, size_t n, fw_sink *sink) {
  size_t i = 0;
  for (; i + SUMS <= n; i += SUMS) {
    const uint8_t *at[SUMS];
    size_t stride[SUMS];
    float sums[SUMS];
    for (size_t j = 0; j < SUMS; j++) {
      const size_t b = positions[i + j] / FW_BLOCK;
      at[j] = p->codes.codes + b * FW_BLOCK * fw_lut_rows(p->table) + positions[i + j] % FW_BLOCK;
      stride[j] = fw_block_width(p->codes.n, b);
    }
    if (p->table->nibbles)
      sum_nibbles(p->table, at, stride, sums);
    else
      sum_codes(p->table, at, stride, sums);
    for (size_t j = 0; j < SUMS; j++) rescore(p, positions[i + j], sums[j], sink);
  }
  for (; i < n; i++) rescore(p, positions[i], fw_lut_sum(p->table, p->codes.codes, p->codes.n, positions[i]), sink);
}

/* Computes all sums of a block at once, and offers the vectors whose bits are set. */
static void rescore_block(const pq_scan *p, size_t b, uint64_t mask, fw_sink *sink) {
  const uint8_t *block = p->codes.codes + b * FW_BLOCK * fw_lut_rows(p->table);
  float sums[FW_BLOCK];
  fw_scan_table()->sum_block(p->table, block, fw_block_width(p->codes.n, b), sums);
  for (; mask; mask &= mask - 1) {
    const size_t i = (size_t)__builtin_ctzll(mask);
    rescore(p, b * FW_BLOCK + i, sums[i], sink);
  }
}

/* Offers the vectors of blocks first … end-1 whose bits are set. */
static void rescore_masks(const pq_scan *p, size_t first, size_t end, const uint64_t *masks, fw_sink *sink) {
  enum { MANY = 6 }; /* from this number of vectors per block on, summing the whole block is faster */
  const bool whole = p->table->nibbles && fw_scan_table()->sum_block;
  uint32_t positions[FW_BLOCK_GROUP * FW_BLOCK];
  size_t n = 0;
  for (size_t b = first; b < end; b++) {
    uint64_t mask = masks[b - first];
    if (whole && __builtin_popcountll(mask) >= MANY) {
      rescore_positions(p, positions, n, sink);
      rescore_block(p, b, mask, sink);
      n = 0;
      continue;
    }
    for (; mask; mask &= mask - 1) positions[n++] = (uint32_t)(b * FW_BLOCK) + (uint32_t)__builtin_ctzll(mask);
  }
  rescore_positions(p, positions, n, sink);
}

/* ---- Bounds --------------------------------------------------------------------------------------------- */

static float limit_of(const pq_scan *p, float worst) {
  const float most = worst - p->scan_params->base;
  return (most < p->cap ? most : p->cap) + p->slack;
}

/* While the sink is not full, no vector can be skipped, so the bounds of the first blocks are computed beforehand: if k
 * of them are at most u, no vector with a value above u + m * step is among the k best. These blocks are then filtered
 * by their bounds. Returns the number of blocks. */
static size_t scan_first(pq_scan *p, fw_sink *sink) {
  enum { MOST = FW_BLOCK_GROUP * FW_BLOCK };
  float bounds[MOST], maxima[MOST];
  uint32_t positions[MOST + 16];
  const fw_scan *scan = fw_scan_table();
  const size_t whole = p->scan_params->upto / FW_BLOCK, blocks = whole < FW_BLOCK_GROUP ? whole : FW_BLOCK_GROUP;
  const size_t n = blocks * FW_BLOCK, groups = 4 * sink->k > 3 * FW_BLOCK ? n : FW_BLOCK;
  if (p->scan_params->id_filter->filter || 2 * sink->k > n) return 0;
  if (p->table->step == 0 || !isfinite(p->slack)) return 0;
  scan->bounds(p->table, &p->codes, blocks, bounds);
  scan->maxima(bounds, n, groups, maxima);
  p->cap = (float)p->table->m * p->table->step - scan->kth_bound(maxima, groups, sink->k);
  const size_t count = scan->find_not_below(bounds, n, -limit_of(p, sink->worst), positions);
  rescore_positions(p, positions, count, sink);
  return blocks;
}

/* Restricts the scan to the blocks before `end`, so that kernels do not read past it. */
static pq_scan scan_upto(const pq_scan *p, size_t end) {
  pq_scan some = *p;
  if (end * FW_BLOCK >= p->codes.n) return some;
  some.codes.n = end * FW_BLOCK;
  some.codes.ahead = p->codes.codes + end * FW_BLOCK * fw_lut_rows(p->table);
  if (p->codes.extra) some.codes.extra_ahead = p->codes.extra + end * FW_BLOCK;
  return some;
}

/* Skips vectors whose lower bound is not below the worst key. If few vectors pass, the quick bounds suffice. */
static void scan_blocks(const pq_scan *p, size_t begin, size_t end, fw_sink *sink) {
  const fw_scan *scan = fw_scan_table();
  const pq_scan some = scan_upto(p, end);
  for (size_t next = begin; next < end;) {
    uint64_t masks[FW_BLOCK_GROUP];
    const bool quick = scan->sift_quickly && sink->count >= sink->k;
    const size_t first =
        (quick ? scan->sift_quickly : scan->sift)(p->table, &some.codes, &next, limit_of(p, sink->worst), masks);
    rescore_masks(&some, first, next, masks, sink);
  }
}

/* ---- Groups --------------------------------------------------------------------------------------------- */

/* The group table of a query and a list. */
typedef struct group_scan {
  const pq_scan *p;
  double low, step; /* key >= base + low + step * (sum of bytes) */
  float slack;
  _Alignas(64) uint8_t least[FW_GROUP_MOST_M * FW_GROUPS];
} group_scan;

/* Bytes are |y - p|^2 in steps, rounded down twice, if that is below 256; the offsets keep them from being negative
 * before they wrap around. */
static void use_terms(group_scan *g, const fw_pq_lists *lists) {
  enum { MARGIN = 6 }; /* truncation of both numbers and the offset, and less than a step of rounding for each */
  const fw_scan_params *scan_params = g->p->scan_params;
  const size_t m = lists->pq->m, size = m * FW_LUT_BYTES;
  float squares[FW_GROUP_MOST_M];
  uint8_t offsets[FW_GROUP_MOST_M];
  int64_t total = 0;
  fw_scan_table()->part_squares(scan_params->query, scan_params->centroid, m, fw_pq_dsub(lists->pq), squares);
  for (size_t k = 0; k < m; k++) {
    const int32_t offset = (int32_t)(squares[k] * (1 / lists->step)) + MARGIN;
    total += offset;
    offsets[k] = (uint8_t)offset;
  }
  g->step = (double)lists->step;
  g->low = -(double)total * g->step;
  g->slack += fw_lut_slack(g->p->table, 0, g->p->list->terms_most);
  fw_scan_table()->group_table(g->p->table->wrapped, lists->terms + scan_params->list * size, offsets, m, g->least);
}

/* Returns false if groups cannot be used for this query and list. */
static bool begin_groups(group_scan *g, const pq_scan *p) {
  const fw_pq_lists *lists = p->lists;
  const fw_lut *table = p->table;
  if (!lists->order || table->m > FW_GROUP_MOST_M || !isfinite(p->slack)) return false;
  g->p = p;
  g->slack = p->slack;
  if (!lists->extra) {
    g->low = (double)table->low;
    g->step = (double)table->step;
    if (g->step > 0) fw_scan_table()->group_table(table->bytes, NULL, NULL, table->m, g->least);
    return g->step > 0;
  }
  const bool precise = isfinite(p->list->terms_most) && p->scan_params->base < lists->step * 0x1p20F;
  if (!lists->terms || !p->scan_params->centroid || !table->wraps || !precise) return false;
  use_terms(g, lists);
  return true;
}

/* Finds the largest sum of groups of a vector whose key may be below the worst. Returns false if there is none. */
static bool find_limit(const group_scan *g, float worst, uint32_t *limit) {
  const double steps = ((double)(limit_of(g->p, worst) + g->slack) - g->low) / g->step;
  if (steps < 0) return false;
  *limit = steps < 65535 ? (uint32_t)(steps + (double)fw_group_rows(g->p->table->m)) / FW_GROUP_ROWS : 65535;
  return true;
}

/* While a block is scanned, prefetches a part of the next list's terms. */
static void fetch_terms(const pq_scan *p, size_t block) {
  enum { LINES = 16 };
  const size_t size = p->table->m * FW_LUT_BYTES, from = block * LINES * 64;
  const uint8_t *terms = p->lists->terms ? p->lists->terms + p->scan_params->next * size : NULL;
  for (size_t i = from; terms && i < from + (size_t)LINES * 64 && i < size; i += 64) __builtin_prefetch(terms + i);
}

/* If many vectors pass, this and the next blocks are scanned with the full bounds, which is faster than a sum for each
 * vector, before groups are tried again. */
static void scan_groups(const group_scan *g, size_t begin, size_t end, fw_sink *sink) {
  enum { PAUSE = 15 };
  const pq_scan *p = g->p;
  const fw_scan *scan = fw_scan_table();
  uint32_t limit;
  for (size_t next = begin; next < end && find_limit(g, sink->worst, &limit);) {
    uint64_t masks[FW_BLOCK_GROUP];
    fetch_terms(p, next);
    const size_t first = scan->sift_groups(g->least, p->table->m, &p->codes, &next, limit, masks);
    uint32_t count = 0;
    for (size_t b = first; b < next; b++) count += (uint32_t)__builtin_popcountll(masks[b - first]);
    if (count <= scan->group_most * (next - first)) {
      rescore_masks(p, first, next < end ? next : end, masks, sink);
      continue;
    }
    next = first + PAUSE < end ? first + PAUSE : end;
    scan_blocks(p, first, next, sink);
  }
}

/* Groups skip most vectors of a list if the worst key is good enough, which is not the case in the first list. */
static void scan_list(pq_scan *p, fw_sink *sink) {
  enum { FIRST = 16 }; /* blocks before groups are tried */
  const size_t blocks = (p->scan_params->upto + FW_BLOCK - 1) / FW_BLOCK;
  size_t next = 0;
  group_scan g;
  if (sink->count < sink->k) {
    next = scan_first(p, sink);
    const size_t end = blocks < FIRST ? blocks : FIRST;
    scan_blocks(p, next, end, sink);
    next = end;
  }
  if (next == blocks) return;
  if (sink->count >= sink->k && begin_groups(&g, p))
    scan_groups(&g, next, blocks, sink);
  else
    scan_blocks(p, next, blocks, sink);
}

static void scan_plain(const fw_pq_lists *lists, const fw_lut *table, const fw_scan_params *scan_params,
                       fw_sink *sink) {
  const fw_pq *pq = lists->pq;
  const fw_pq_list *l = &lists->list[scan_params->list];
  const size_t code_size = fw_pq_code_size(pq);
  for (size_t i = 0; i < scan_params->upto; i++) {
    const uint8_t *code = l->codes + i * code_size;
    float key = 0;
    for (size_t m = 0; m < pq->m; m++) key += table->values[m * table->width + fw_pq_number(code, pq->nbits, m)];
    key += scan_params->base + (lists->extra ? lists->extra[l->extra_at + i] : 0);
    if (key < sink->worst) offer_code(lists, scan_params, i, key, sink);
  }
}

void fw_pq_list_scan(const fw_pq_lists *lists, const fw_lut *table, const fw_scan_params *scan_params, fw_sink *sink) {
  const fw_pq_list *l = &lists->list[scan_params->list], *after = &lists->list[scan_params->next];
  if (lists->pending) fw_pq_list_pack(lists, scan_params->list);
  if (!lists->blocks) {
    scan_plain(lists, table, scan_params, sink);
    return;
  }
  pq_scan p = {.lists = lists,
               .table = table,
               .scan_params = scan_params,
               .list = l,
               .codes = {.n = l->size,
                         .codes = l->codes,
                         .extra = lists->extra ? lists->extra + l->extra_at : NULL,
                         .ahead = after->codes,
                         .extra_ahead = lists->extra ? lists->extra + after->extra_at : NULL},
               .slack = fw_lut_slack(table, scan_params->base, l->extra_most),
               .cap = INFINITY};
  scan_list(&p, sink);
}
