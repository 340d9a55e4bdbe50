/* vector/search/pq_scan.c: scans lists of product quantizer codes: lower bounds first, then exact sums for the rest. */
#include <math.h>

#include "vector/index/direct_map.h"
#include "vector/quantizer/pq.h"
#include "vector/search/pack_codes.h"
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

static inline void offer(const fw_pq_lists *lists, const fw_scan_params *scan_params, size_t i, float key,
                         fw_sink *sink) {
  const int64_t location = fw_location_make(scan_params->list, i);
  if (!lists->similarity && key == -INFINITY) return; /* too large for a float: not a result */
  if (scan_params->id_filter->filter && !fw_id_filter_test(scan_params->id_filter, fw_pq_lists_id(lists, location)))
    return;
  fw_sink_take(sink, key, location);
}

/* While the sink is not full no vector could be skipped. So the bounds of the first vectors are computed beforehand: if
 * k of them are at most u, no vector with a value above u + m * step is among the k best. Infinity: there is no such
 * cap. */
static float find_cap(const fw_lut *table, const fw_code_list *codes, const fw_scan_params *scan_params, float slack,
                      const fw_sink *sink) {
  float bounds[FW_BLOCK_GROUP * FW_BLOCK], maxima[FW_BLOCK_GROUP * FW_BLOCK], heap[FW_BLOCK_GROUP * FW_BLOCK];
  const size_t whole = scan_params->upto / FW_BLOCK, blocks = whole < FW_BLOCK_GROUP ? whole : FW_BLOCK_GROUP;
  const size_t n = blocks * FW_BLOCK;
  if (sink->k == 0 || sink->count >= sink->k || scan_params->id_filter->filter || 2 * sink->k > n) return INFINITY;
  if (table->step == 0 || !isfinite(slack)) return INFINITY;
  const size_t groups = 4 * sink->k > 3 * FW_BLOCK ? n : FW_BLOCK;
  fw_scan_table()->bounds(table, codes, blocks, bounds);
  fw_scan_table()->maxima(bounds, n, groups, maxima);
  const float least = sink->capacity ? fw_kth_smallest(maxima, groups, groups - sink->k + 1)
                                     : fw_kth_largest(maxima, groups, sink->k, heap);
  return (float)table->m * table->step - least;
}

/* Sums several codes of a block at once: a single sum would wait for each of its additions. */
enum { SUMS = 4 };

static void sum_codes(const fw_lut *table, const uint8_t *block, size_t width, const uint32_t at[SUMS],
                      float sums[SUMS]) {
  const uint8_t *p0 = block + at[0], *p1 = block + at[1], *p2 = block + at[2], *p3 = block + at[3];
  const float *values = table->values;
  float a = values[*p0], b = values[*p1], c = values[*p2], d = values[*p3];
  for (size_t m = 1, to = width; m < table->m; m++, to += width) {
    values += table->width;
    a += values[p0[to]];
    b += values[p1[to]];
    c += values[p2[to]];
    d += values[p3[to]];
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

static void sum_nibbles(const fw_lut *table, const uint8_t *block, size_t width, const uint32_t at[SUMS],
                        float sums[SUMS]) {
  const uint8_t *p0 = block + at[0], *p1 = block + at[1], *p2 = block + at[2], *p3 = block + at[3];
  const float *values = table->values;
  float a = 0, b = 0, c = 0, d = 0;
  for (size_t m = 0, to = 0; m < table->m; m += 2, to += width, values += 2 * FW_LUT_NIBBLES) {
    const unsigned n0 = p0[to], n1 = p1[to], n2 = p2[to], n3 = p3[to];
    a += values[n0 & 15];
    b += values[n1 & 15];
    c += values[n2 & 15];
    d += values[n3 & 15];
    if (m + 1 == table->m) break;
    a += values[16 + (n0 >> 4)];
    b += values[16 + (n1 >> 4)];
    c += values[16 + (n2 >> 4)];
    d += values[16 + (n3 >> 4)];
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

/* A list that is being filtered by bounds. */
typedef struct passage {
  const fw_pq_lists *lists;
  const fw_lut *table;
  const fw_scan_params *scan_params;
  const fw_pq_list *list;
  const float *extra;
} passage;

/* A key is the sum of the values of a code, plus (base + extra). It is computed for the vectors that the bounds do not
 * exclude. */
static inline void judge(const passage *p, size_t i, float sum, fw_sink *sink) {
  const float key = sum + (p->scan_params->base + (p->extra ? p->extra[i] : 0));
  if (key < sink->worst && i < p->scan_params->upto) offer(p->lists, p->scan_params, i, key, sink);
}

static void judge_all(const passage *p, size_t b, uint64_t mask, const float *sums, fw_sink *sink) {
  for (; mask; mask &= mask - 1) {
    const size_t i = (size_t)__builtin_ctzll(mask);
    judge(p, b * FW_BLOCK + i, sums[i], sink);
  }
}

static void judge_block(const passage *p, size_t b, uint64_t mask, fw_sink *sink) {
  enum { MANY = 6 }; /* vectors of a block, from which on all sums are faster */
  const uint8_t *block = p->list->codes + b * FW_BLOCK * fw_lut_rows(p->table);
  const size_t width = fw_block_width(p->list->size, b);
  float all[FW_BLOCK];
  if (p->table->nibbles && fw_scan_table()->sum_block && __builtin_popcountll(mask) >= MANY) {
    fw_scan_table()->sum_block(p->table, block, width, all);
    judge_all(p, b, mask, all, sink);
    return;
  }
  for (int left = __builtin_popcountll(mask); left >= SUMS; left -= SUMS) {
    uint32_t at[SUMS];
    float sums[SUMS];
    for (int j = 0; j < SUMS; j++, mask &= mask - 1) at[j] = (uint32_t)__builtin_ctzll(mask);
    if (p->table->nibbles)
      sum_nibbles(p->table, block, width, at, sums);
    else
      sum_codes(p->table, block, width, at, sums);
    for (int j = 0; j < SUMS; j++) judge(p, b * FW_BLOCK + at[j], sums[j], sink);
  }
  for (; mask; mask &= mask - 1) {
    const size_t i = b * FW_BLOCK + (size_t)__builtin_ctzll(mask);
    judge(p, i, fw_lut_sum(p->table, p->list->codes, p->list->size, i), sink);
  }
}

/* The bounds skip vectors that cannot be below the worst. */
static void scan_blocks(const fw_pq_lists *lists, const fw_lut *table, const fw_scan_params *scan_params,
                        fw_sink *sink) {
  const fw_pq_list *l = &lists->list[scan_params->list], *after = &lists->list[scan_params->next];
  const fw_scan *scan = fw_scan_table();
  const float *extra = lists->extra ? lists->extra + l->extra_at : NULL;
  const passage p = {.lists = lists, .table = table, .scan_params = scan_params, .list = l, .extra = extra};
  uint32_t skip = 0;
  const fw_code_list codes = {.n = l->size,
                              .codes = l->codes,
                              .extra = extra,
                              .ahead = after->codes,
                              .extra_ahead = lists->extra ? lists->extra + after->extra_at : NULL,
                              .skip = &skip};
  const float slack = fw_lut_slack(table, scan_params->base, l->extra_most);
  const float cap = find_cap(table, &codes, scan_params, slack, sink);
  const size_t blocks = (scan_params->upto + FW_BLOCK - 1) / FW_BLOCK;
  size_t next = 0;
  while (next < blocks) {
    uint64_t masks[FW_BLOCK_GROUP];
    const float worst = sink->worst - scan_params->base;
    const size_t first = scan->sift(table, &codes, &next, (worst < cap ? worst : cap) + slack, masks);
    for (size_t b = first; b < next && b < blocks; b++) judge_block(&p, b, masks[b - first], sink);
  }
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
    if (key < sink->worst) offer(lists, scan_params, i, key, sink);
  }
}

void fw_pq_list_scan(const fw_pq_lists *lists, const fw_lut *table, const fw_scan_params *scan_params, fw_sink *sink) {
  if (lists->blocks)
    scan_blocks(lists, table, scan_params, sink);
  else
    scan_plain(lists, table, scan_params, sink);
}
