/* vector/search/pq_lists.h: codes of a product quantizer prepared for searching.
 *
 * Sub-quantizers of up to 8 bits: the codes of a list are in blocks (kern/scan/scan.h), with a byte per sub-quantizer.
 * Larger ones are read from the index.
 *
 * Distances, with the decoded vector r and a shift s that keeps numbers small:
 *   L2, residuals:   |q-c-r|^2 = |q-c|^2 + (|r|^2 + 2 <c-s, r>) - 2 <q-s, r>      s: the median of the centroids c
 *   L2, no residual: |q-r|^2   = |q-s|^2 + sum over m of |r_m-s_m|^2 - 2 <q_m-s_m, r_m-s_m>    s: the median of all r
 *   L2, residuals of one list: the same for q-c in place of q: then there is no extra term
 *   IP:              -<q, c+r> = -<q, c> - <q, r>
 * The first term belongs to the list (base), the term in brackets to the vector (extra, one float each), and the last
 * term comes from the query's lookup table. */
#ifndef FW_VECTOR_SEARCH_PQ_LISTS_H
#define FW_VECTOR_SEARCH_PQ_LISTS_H

#include "base/arena.h"
#include "base/pool.h"
#include "kern/products/products.h"
#include "kern/scan/scan.h"
#include "vector/data/id_filter.h"
#include "vector/index/index.h"
#include "vector/search/coarse.h"
#include "vector/search/sink.h"

typedef struct fw_pq_list {
  size_t size;
  const uint8_t *ids; /* as in fw_list; NULL: 0, 1, … */
  size_t extra_at;    /* offset in extra */
  float extra_most;   /* the largest |extra| */
  float terms_most;   /* the sum over m of the largest absolute value in fw_pq_lists.terms; infinite: there are none */
  const uint8_t *codes;
} fw_pq_list;

typedef struct fw_pq_lists {
  const fw_pq *pq;
  bool similarity, residual,
      blocks; /* residual: codes of residuals of more than one list, each list with its own terms */
  size_t nlist;
  fw_pq_list *list;
  uint8_t *codes; /* blocks of all lists (vector/index/pack_codes.h); NULL: the codes of the index are used */
  void *codes_memory;
  const struct fw_code_order *order; /* renumbering of codes in blocks; NULL: not renumbered */
  struct fw_code_order *own_order;   /* the code order if it does not belong to the index */
  float *extra;                      /* L2 with residuals, otherwise NULL */
  void *extra_memory;
  /* The terms of extras in steps (fw_scan.wrap): [nlist][m][FW_LUT_BYTES]. NULL: there are no extras, or the lists are
   * short. */
  uint8_t *terms;
  void *terms_memory;
  float step, longest; /* longest: the largest norm of a sub-quantizer's centroid */
  float *shift;        /* d numbers for queries, s or c + s, then d numbers s for decoded codes; NULL: 0 */
  /* Lists of a mapped data file are packed when they are first scanned, so that only these lists are read and take
   * memory. NULL: all lists are packed. */
  struct fw_pq_pending *pending;
  fw_packed *parts; /* centroids of each sub-quantizer, biased so that scores of -2 q (IP: -q) are values */
  uint64_t memory;  /* size of all arrays in bytes */
} fw_pq_lists;

/* Prepares the lists of an IVF index, or the codes of a PQ index as one list. coarse: for residuals. list_sizes: NULL,
 * or for a shard the sizes of the lists over all shards, so that distances are rounded as in a single index. */
furrow_status fw_pq_lists_create(fw_pq_lists *lists, const furrow_index *index, const fw_coarse *coarse,
                                 const int64_t *list_sizes, fw_pool *pool, furrow_error *err) FURROW_MUST_USE;
void fw_pq_lists_clear(fw_pq_lists *lists);

/* Allocates the lookup tables of n queries. */
furrow_status fw_pq_tables_take(const fw_pq_lists *lists, fw_arena *arena, size_t n, fw_lut **tables, float **scratch,
                                furrow_error *err) FURROW_MUST_USE;
/* Computes the lookup tables of n queries (n * d floats). */
void fw_pq_tables_fill(const fw_pq_lists *lists, const float *queries, size_t n, fw_lut *tables, float *scratch);

/* For queries that probe several lists: computes fw_lut.wrapped, which groups need in lists after the first. scratch
 * must be unchanged since fw_pq_tables_fill. */
void fw_pq_tables_wrap(const fw_pq_lists *lists, size_t n, fw_lut *tables, const float *scratch);

/* The parameters of a scan. */
typedef struct fw_scan_params {
  size_t list;
  size_t next; /* the next list to be scanned, for prefetching; may be the same */
  float base;  /* added to every key */
  size_t upto; /* number of vectors to scan */
  const fw_id_filter *id_filter;
  const float *query, *centroid; /* the list's centroid; NULL: the scan does not use terms */
} fw_scan_params;

/* Offers locations to the sink: list << 32 | offset. */
void fw_pq_list_scan(const fw_pq_lists *lists, const fw_lut *table, const fw_scan_params *scan_params, fw_sink *sink);

/* Packs a list of lists->pending, unless it is packed. Several threads may call it at once. */
void fw_pq_list_pack(const fw_pq_lists *lists, size_t list);
/* Prefetches the start of a list that will be scanned soon. */
void fw_pq_list_fetch(const fw_pq_lists *lists, size_t list);
/* The number of sub-quantizer m in code i of a list. */
uint32_t fw_pq_list_number(const fw_pq_lists *lists, const fw_pq_list *list, size_t i, size_t m);
/* Decodes code i of a list to d floats. */
void fw_pq_list_decode(const fw_pq_lists *lists, size_t list, size_t i, float *vector);
/* Returns the id at a location. */
int64_t fw_pq_lists_id(const fw_pq_lists *lists, int64_t location);

#endif
