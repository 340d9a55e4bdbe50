/* vector/file/index_read.c: reads an index of any kind: its header, its parts, and its nested indexes. */
#include "vector/file/index_read.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/index/inverted_lists.h"
#include "vector/index/pack_codes.h"

enum { OFFSET_D = 4, OFFSET_NTOTAL = 8 }; /* in the header, relative to the fourcc */

/* ---- Consistency of parts ------------------------------------------------------------------------------- */

void fw_expect_d(fw_index_reader *r, const furrow_index *index, const char *name, int32_t want) {
  if (!fw_cursor_good(&r->c) || !index || index->d == want) return;
  size_t mark = fw_cursor_enter(&r->c, name);
  fw_cursor_reject_at(&r->c, index->file_offset + OFFSET_D, "d",
                      "is %" PRId32 ", but vectors of %" PRId32 " %s come here", index->d, want,
                      fw_plural((uint64_t)want, "dimension", "dimensions"));
  fw_cursor_leave(&r->c, mark);
}

void fw_expect_ntotal(fw_index_reader *r, const furrow_index *index, const char *name, int64_t want) {
  if (!fw_cursor_good(&r->c) || !index || index->ntotal == want) return;
  size_t mark = fw_cursor_enter(&r->c, name);
  fw_cursor_reject_at(&r->c, index->file_offset + OFFSET_NTOTAL, "ntotal", "is %" PRId64 ", but must be %" PRId64,
                      index->ntotal, want);
  fw_cursor_leave(&r->c, mark);
}

void fw_expect_finite(fw_cursor *c, const float *numbers, size_t count) {
  for (size_t i = 0; fw_cursor_good(c) && i < count; i++)
    if (!isfinite(numbers[i]))
      fw_cursor_reject_at(c, c->field_at + 4 * i, c->field, "has a number that is not finite, number %zu of %zu", i,
                          count);
}

uint64_t fw_expect_product(fw_cursor *c, uint64_t a, uint64_t b) {
  uint64_t product;
  /* FW_ANY_COUNT is reserved */
  if (!__builtin_mul_overflow(a, b, &product) && product < FW_ANY_COUNT) return product;
  fw_cursor_reject(c, "leads to a size of %" PRIu64 " * %" PRIu64 ", which no file has", a, b);
  return 0;
}

/* ---- Common parts --------------------------------------------------------------------------------------- */

static const char *explain_metric(int32_t metric) {
  return furrow_distance_metric_name((furrow_distance_metric)metric);
}

static void read_metric(fw_cursor *c, furrow_index *index) {
  int32_t metric = fw_cursor_read_enum(c, "metric_type", explain_metric);
  if (!fw_cursor_good(c)) return;
  if (!furrow_distance_metric_name((furrow_distance_metric)metric)) {
    fw_cursor_reject(c, "is %" PRId32 ", which is not a metric", metric);
    return;
  }
  index->metric = (furrow_distance_metric)metric;
  if (metric > 1) index->metric_arg = fw_cursor_read_f32(c, "metric_arg", "argument of the metric (p of Lp)");
}

static void read_header(fw_cursor *c, furrow_index *index) {
  index->d = fw_cursor_read_i32(c, "d", "dimension of the vectors");
  if (index->d <= 0 || index->d > FW_INDEX_MAX_D)
    fw_cursor_reject(c, "is %" PRId32 ", but must be 1 to %d", index->d, FW_INDEX_MAX_D);
  index->ntotal = fw_cursor_read_i64(c, "ntotal", "vectors added");
  if (index->ntotal < 0) fw_cursor_reject(c, "is %" PRId64 ", but must not be negative", index->ntotal);
  index->dummy[0] = fw_cursor_read_i64(c, "dummy/0", "not used, 1048576");
  index->dummy[1] = fw_cursor_read_i64(c, "dummy/1", "not used, 1048576");
  index->trained = fw_cursor_read_bool(c, "is_trained", "ready for vectors");
  read_metric(c, index);
}

void fw_read_pq(fw_index_reader *r, const char *name, fw_pq *pq, int32_t d) {
  fw_cursor *c = &r->c;
  size_t mark = fw_cursor_enter(c, name);
  uint64_t pq_d = fw_cursor_read_u64(c, "d", "dimension of the vectors it encodes");
  if (pq_d != (uint64_t)d)
    fw_cursor_reject(c, "is %" PRIu64 ", but the vectors have %" PRId32 " %s", pq_d, d,
                     fw_plural((uint64_t)d, "dimension", "dimensions"));
  uint64_t m = fw_cursor_read_u64(c, "M", "sub-quantizers");
  if (fw_cursor_good(c) && (m == 0 || m > pq_d || pq_d % m != 0))
    fw_cursor_reject(c, "is %" PRIu64 ", which does not divide the dimension %" PRIu64, m, pq_d);
  uint64_t nbits = fw_cursor_read_u64(c, "nbits", "bits of each sub-quantizer's code");
  if (nbits < 1 || nbits > FW_PQ_MAX_NBITS)
    fw_cursor_reject(c, "is %" PRIu64 ", but must be 1 to %d", nbits, FW_PQ_MAX_NBITS);
  if (fw_cursor_good(c)) {
    pq->d = (size_t)pq_d;
    pq->m = (size_t)m;
    pq->nbits = (unsigned)nbits;
    pq->centroids = fw_cursor_read_vector(c, "centroids", FW_FIELD_F32, pq_d << nbits, NULL, "[M][2^nbits][d / M]");
    fw_expect_finite(c, pq->centroids, (size_t)pq_d << nbits);
  }
  fw_cursor_leave(c, mark);
}

static float read_k_factor(fw_cursor *c) {
  float k_factor = fw_cursor_read_f32(c, "k_factor", "candidates for each result that is wanted");
  if (fw_cursor_good(c) && !(isfinite(k_factor) && k_factor >= 1))
    fw_cursor_reject(c, "is %g, but must be finite and at least 1", (double)k_factor);
  return k_factor;
}

/* ---- Graphs: links must stay inside the graph ----------------------------------------------------------- */

/* cum must start with 0, never decrease, and have at least one level. */
static void check_cum(fw_cursor *c, const fw_hnsw *graph) {
  if (!fw_cursor_good(c)) return;
  if (graph->cum_count < 2 || graph->cum[0] != 0) fw_cursor_reject(c, "does not begin with 0 and the links of a level");
  for (size_t i = 1; fw_cursor_good(c) && i < graph->cum_count; i++)
    if (graph->cum[i] < graph->cum[i - 1])
      fw_cursor_reject(c, "falls from %" PRId32 " to %" PRId32 " at level %zu", graph->cum[i - 1], graph->cum[i], i);
}

static void check_levels(fw_cursor *c, const fw_hnsw *graph, size_t n) {
  for (size_t i = 0; fw_cursor_good(c) && i < n; i++)
    if (graph->levels[i] < 1 || (size_t)graph->levels[i] >= graph->cum_count)
      fw_cursor_reject_at(c, c->field_at + 4 * i, "levels",
                          "has %" PRId32 " for vector %zu, but levels are from 1 to %zu", graph->levels[i], i,
                          graph->cum_count - 1);
}

static void check_offsets(fw_cursor *c, const fw_hnsw *graph, size_t n) {
  uint64_t at = 0;
  for (size_t i = 0; fw_cursor_good(c) && i <= n; i++) {
    if (graph->offsets[i] != at)
      fw_cursor_reject_at(c, c->field_at + 8 * i, "offsets",
                          "has %" PRIu64 " for vector %zu, but the levels lead to %" PRIu64, graph->offsets[i], i, at);
    if (i < n) at += (uint64_t)graph->cum[graph->levels[i]];
  }
}

/* A link on level l must lead to a vector that is on level l, because its links on that level are followed. */
static void check_links(fw_cursor *c, const fw_hnsw *graph, size_t i, size_t n) {
  const int32_t *links = graph->neighbors + graph->offsets[i];
  for (int32_t level = 0; level < graph->levels[i]; level++) {
    for (int32_t k = graph->cum[level]; k < graph->cum[level + 1]; k++) {
      if (links[k] == -1) continue;
      if (links[k] < 0 || (size_t)links[k] >= n || graph->levels[links[k]] <= level) {
        fw_cursor_reject_at(c, c->field_at + 4 * (graph->offsets[i] + (uint64_t)k), "neighbors",
                            "leads from vector %zu on level %" PRId32 " to %" PRId32 ", which does not exist", i, level,
                            links[k]);
        return;
      }
    }
  }
}

/* The search starts at the entry point on level max_level. */
static void check_entry(fw_cursor *c, const fw_hnsw *graph, size_t n) {
  int32_t entry = graph->entry_point, level = graph->max_level;
  if (!fw_cursor_good(c)) return;
  if (n == 0) {
    if (entry != -1 || level != -1) fw_cursor_reject(c, "and entry_point must be -1 without vectors");
  } else if (entry < 0 || (size_t)entry >= n || level < 0 || graph->levels[entry] <= level) {
    fw_cursor_reject(c, "is %" PRId32 ", but the entry point %" PRId32 " is not on that level", level, entry);
  }
}

static void read_graph(fw_cursor *c, fw_hnsw *graph, size_t n) {
  graph->probas = fw_cursor_read_vector(c, "assign_probas", FW_FIELD_F64, FW_ANY_COUNT, &graph->proba_count,
                                        "chance of each top level");
  graph->cum = fw_cursor_read_vector(c, "cum_nneighbor_per_level", FW_FIELD_I32, FW_ANY_COUNT, &graph->cum_count,
                                     "links up to each level, summed");
  check_cum(c, graph);
  graph->levels = fw_cursor_read_vector(c, "levels", FW_FIELD_I32, n, NULL, "of each vector; 1: the lowest alone");
  check_levels(c, graph, n);
  graph->offsets = fw_cursor_read_vector(c, "offsets", FW_FIELD_U64, (uint64_t)n + 1, NULL, "where its links begin");
  check_offsets(c, graph, n);
  if (!fw_cursor_good(c)) return;
  graph->neighbors = fw_cursor_read_vector(c, "neighbors", FW_FIELD_I32, graph->offsets[n], NULL, "links; -1: none");
  for (size_t i = 0; fw_cursor_good(c) && i < n; i++) check_links(c, graph, i, n);
}

static void read_hnsw(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_hnsw *graph = &index->hnsw;
  if (index->ntotal > INT32_MAX) {
    fw_cursor_reject_at(c, index->file_offset + 8, "ntotal", "is %" PRId64 ", but links have 32 bits", index->ntotal);
    return;
  }
  read_graph(c, graph, (size_t)index->ntotal);
  graph->entry_point = fw_cursor_read_i32(c, "entry_point", "vector where a search begins");
  graph->max_level = fw_cursor_read_i32(c, "max_level", "and its level, from 0 on");
  check_entry(c, graph, (size_t)index->ntotal);
  graph->ef_construction = fw_cursor_read_i32(c, "efConstruction", "candidates when building");
  graph->ef_search = fw_cursor_read_i32(c, "efSearch", "candidates when searching");
  graph->upper_beam = fw_cursor_read_i32(c, "upper_beam", "not used, 1");
  const bool pack = r->pack;
  r->pack = false; /* links lead to single codes */
  fw_read_index(r, "storage", &index->child[0]);
  r->pack = pack;
  if (!fw_cursor_good(c)) return;
  const furrow_index *storage = index->child[0];
  const char *fourcc = storage ? fw_hnsw_fourcc(storage) : NULL;
  if (!fourcc || memcmp(fourcc, index->read_as, 4) != 0)
    fw_cursor_reject_at(c, storage ? storage->file_offset : c->field_at, "storage/fourcc",
                        "is not that of the storage of %.4s", index->read_as);
  fw_expect_d(r, storage, "storage", index->d);
  fw_expect_ntotal(r, storage, "storage", index->ntotal);
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

static void read_flat(fw_index_reader *r, furrow_index *index) {
  uint64_t count = fw_expect_product(&r->c, (uint64_t)index->ntotal, (uint64_t)index->d);
  index->flat.vectors = fw_cursor_read_vector(&r->c, "vectors", FW_FIELD_F32, count, NULL, "[ntotal][d]");
  if (r->quantizers > 0) fw_expect_finite(&r->c, index->flat.vectors, (size_t)count);
}

/* Packs codes that are only searched into blocks. */
static void read_packed_codes(fw_cursor *c, fw_pq_index *own, size_t n, uint64_t size) {
  const size_t code_size = fw_pq_code_size(&own->pq), piece = fw_pack_piece(code_size) * code_size;
  const size_t codes_size = fw_cursor_read_count(c, "codes", 1, size);
  size_t bytes = fw_packed_bytes(n, fw_pq_rows(&own->pq)) + FW_BLOCK + FW_PACKED_ALIGNMENT;
  own->packed_memory = fw_cursor_alloc(c, bytes, 1);
  uint8_t *buffer = fw_cursor_alloc(c, piece, 1);
  if (fw_cursor_good(c)) c->status = fw_code_order_create(&own->order, &own->pq, c->err);
  if (own->packed_memory) {
    fw_prefer_large_pages(own->packed_memory, bytes);
    own->packed = fw_packed_align(own->packed_memory);
    memset(own->packed + fw_packed_bytes(n, fw_pq_rows(&own->pq)), 0, FW_BLOCK);
    fw_packing p = {.pq = &own->pq, .order = own->order, .to = own->packed};
    fw_cursor_read_chunks(c, "codes", codes_size, piece, buffer, fw_pack_next, &p, "[ntotal][code size]");
  }
  fw_free(buffer);
}

static void read_pq_index(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_pq_index *own = &index->pq;
  fw_read_pq(r, "pq", &own->pq, index->d);
  if (!fw_cursor_good(c)) return;
  uint64_t size = fw_expect_product(c, (uint64_t)index->ntotal, fw_pq_code_size(&own->pq));
  if (index->search_only && fw_pq_is_packable(&own->pq))
    read_packed_codes(c, own, (size_t)index->ntotal, size);
  else
    own->codes = fw_cursor_read_vector(c, "codes", FW_FIELD_BYTES, size, NULL, "[ntotal][code size]");
  own->search_type = fw_cursor_read_i32(c, "search_type", "0 plain, others for polysemous codes");
  own->encode_signs = fw_cursor_read_bool(c, "encode_signs", "not used");
  own->polysemous_ht = fw_cursor_read_i32(c, "polysemous_ht", "Hamming threshold");
}

static void read_sq_index(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_read_sq(c, &index->sq.sq, index);
  if (!fw_cursor_good(c)) return;
  const uint64_t size = fw_expect_product(c, (uint64_t)index->ntotal, index->sq.sq.code_size);
  index->sq.codes = fw_cursor_read_vector(c, "codes", FW_FIELD_BYTES, size, NULL, "[ntotal][code size]");
}

/* Unpacks blocks of 4-bit codes. */
static void unpack_blocks(fw_cursor *c, furrow_index *index, const uint8_t *blocks, const fw_lists *shape) {
  fw_pq_index *own = &index->pq;
  const size_t size = fw_pq_code_size(&own->pq), n = (size_t)index->ntotal;
  own->codes = fw_cursor_alloc(c, n, size);
  if (!own->codes) return;
  memset(own->codes, 0, n * size);
  for (size_t i = 0; i < n; i++)
    for (size_t m = 0; m < own->pq.m; m++)
      fw_pq_put_number(own->codes + i * size, 4, m, fw_block_get(shape, blocks, i, m));
}

static void read_pq_fast(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_pq_index *own = &index->pq;
  const uint64_t nbits_offset = c->at + 16; /* after pq/d and pq/M */
  fw_read_pq(r, "pq", &own->pq, index->d);
  own->implem = fw_cursor_read_i32(c, "implem", "way of searching, 0: any");
  own->bbs = fw_read_bbs(c);
  own->qbs = fw_cursor_read_i32(c, "qbs", "queries that are searched together, 0: any");
  const int64_t padded = fw_cursor_read_i64(c, "ntotal2", "vectors, rounded up to whole blocks");
  if (!fw_cursor_good(c)) return;
  const int64_t bbs = own->bbs, blocks = index->ntotal / bbs + (index->ntotal % bbs > 0);
  if (padded / bbs != blocks || padded % bbs != 0)
    fw_cursor_reject(c, "is %" PRId64 ", but %" PRId64 " vectors are in %" PRId64 " blocks", padded, index->ntotal,
                     blocks);
  const uint64_t m2 = fw_cursor_read_u64(c, "M2", "sub-quantizers in a block, M rounded up to even");
  fw_check_fast_pq(c, &own->pq, nbits_offset, m2, c->field_at);
  if (!fw_cursor_good(c)) return;
  const fw_lists shape = {.block_vectors = (size_t)bbs, .block_bytes = (size_t)bbs * (size_t)m2 / 2};
  const uint64_t size = fw_expect_product(c, (uint64_t)blocks, shape.block_bytes);
  uint8_t *packed = fw_cursor_read_vector(c, "codes", FW_FIELD_BYTES, size, NULL, "blocks");
  if (packed) unpack_blocks(c, index, packed, &shape);
  fw_free(packed);
}

/* A key is the concatenation of the M numbers, so there are 2^(M * nbits) keys. */
static void read_multi(fw_index_reader *r, furrow_index *index) {
  fw_pq *pq = &index->pq.pq;
  fw_read_pq(r, "pq", pq, index->d);
  if (!fw_cursor_good(&r->c)) return;
  bool fits = pq->m * pq->nbits < 63;
  if (!fits || (index->ntotal != 0 && (uint64_t)index->ntotal != (uint64_t)1 << (pq->m * pq->nbits)))
    fw_cursor_reject_at(&r->c, index->file_offset + OFFSET_NTOTAL, "ntotal",
                        "is %" PRId64 ", but M is %zu and nbits %u, which makes 2^%zu cells", index->ntotal, pq->m,
                        pq->nbits, pq->m * pq->nbits);
}

/* Fails if child i of a wrapper is missing. */
static bool has_child(fw_index_reader *r, const furrow_index *index, size_t i) {
  if (fw_cursor_good(&r->c) && !index->child[i])
    fw_cursor_reject_at(&r->c, r->c.field_at, furrow_index_child_name(index, i), "is null, but is required");
  return fw_cursor_good(&r->c);
}

/* The results of an index inside are positions in the index around it. Inside of transforms, whose own ntotal may be
 * wrong, it must not have more of them. */
static void check_positions(fw_index_reader *r, const furrow_index *index, const char *name) {
  const furrow_index *inner = fw_skip_transforms(index->child[0]);
  if (!fw_index_has_dense_ids(inner) || inner->ntotal <= index->ntotal) return;
  fw_cursor_reject_at(&r->c, inner->file_offset + OFFSET_NTOTAL, name,
                      "has an index of %" PRId64 " vectors inside of its transforms, but there are %" PRId64,
                      inner->ntotal, index->ntotal);
}

static void read_id_map(fw_index_reader *r, furrow_index *index) {
  fw_read_index(r, "index", &index->child[0]);
  if (!has_child(r, index, 0)) return;
  fw_expect_d(r, index->child[0], "index", index->d);
  fw_expect_ntotal(r, index->child[0], "index", index->ntotal);
  check_positions(r, index, "index");
  index->id_map.ids = fw_cursor_read_vector(&r->c, "id_map", FW_FIELD_I64, (uint64_t)index->ntotal, NULL,
                                            "ids from outside, by number");
}

static void read_refine(fw_index_reader *r, furrow_index *index) {
  for (size_t i = 0; i < 2; i++) {
    const char *name = furrow_index_child_name(index, i);
    const bool pack = r->pack;
    r->pack = pack && i == 0; /* codes of the refinement are decoded one by one */
    fw_read_index(r, name, &index->child[i]);
    r->pack = pack;
    if (!has_child(r, index, i)) return;
    fw_expect_d(r, index->child[i], name, index->d);
    fw_expect_ntotal(r, index->child[i], name, index->ntotal);
  }
  check_positions(r, index, "base");
  index->k_factor = read_k_factor(&r->c);
}

static void read_ivf_pqr(fw_index_reader *r, furrow_index *index) {
  fw_ivf *ivf = &index->ivf;
  fw_read_ivf(r, index);
  fw_read_pq(r, "refine_pq", &ivf->refine_pq, index->d);
  if (!fw_cursor_good(&r->c)) return;
  uint64_t size = fw_expect_product(&r->c, (uint64_t)index->ntotal, fw_pq_code_size(&ivf->refine_pq));
  ivf->refine_codes = fw_cursor_read_vector(&r->c, "refine_codes", FW_FIELD_BYTES, size, &ivf->refine_size, "by id");
  ivf->k_factor = read_k_factor(&r->c);
}

static void read_kind(fw_index_reader *r, furrow_index *index) {
  switch (index->kind) {
  case FURROW_INDEX_FLAT: read_flat(r, index); break;
  case FURROW_INDEX_HNSW: read_hnsw(r, index); break;
  case FURROW_INDEX_PQ: read_pq_index(r, index); break;
  case FURROW_INDEX_PQ_FAST: read_pq_fast(r, index); break;
  case FURROW_INDEX_SQ: read_sq_index(r, index); break;
  case FURROW_INDEX_MULTI: read_multi(r, index); break;
  case FURROW_INDEX_ID_MAP: read_id_map(r, index); break;
  case FURROW_INDEX_TRANSFORM: fw_read_transforms(r, index); break;
  case FURROW_INDEX_REFINE: read_refine(r, index); break;
  case FURROW_INDEX_IVF_PQR: read_ivf_pqr(r, index); break;
  default: fw_read_ivf(r, index); break;
  }
}

/* ---- The index ------------------------------------------------------------------------------------------ */

static void reject_fourcc(fw_cursor *c, const char fourcc[4]) {
  const char *what = fw_index_unsupported(fourcc);
  if (what)
    fw_cursor_fail(c, FURROW_E_UNSUPPORTED, "is of a kind that Furrow does not read: %s", what);
  else
    fw_cursor_reject(c, "is not that of an index");
  if (c->err && !fw_cursor_good(c)) fw_error_set_token(c->err, fourcc, 4);
}

static const char *explain_index(const char *fourcc) {
  const fw_index_name *name = fw_index_named(fourcc);
  if (name) return furrow_index_kind_name(name->kind);
  return memcmp(fourcc, FW_FOURCC_NULL, 4) == 0 ? "no index" : fw_index_unsupported(fourcc);
}

static void read_named(fw_index_reader *r, furrow_index **index) {
  fw_cursor *c = &r->c;
  char fourcc[4];
  fw_cursor_read_fourcc(c, "fourcc", explain_index, fourcc);
  if (!fw_cursor_good(c) || memcmp(fourcc, FW_FOURCC_NULL, 4) == 0) return;
  const fw_index_name *name = fw_index_named(fourcc);
  if (!name) {
    reject_fourcc(c, fourcc);
    return;
  }
  uint64_t file_offset = c->field_at;
  furrow_index *made = NULL;
  c->status = fw_index_create(&made, name->kind, 0, FURROW_METRIC_L2, c->err);
  if (!made) return;
  *index = made;
  made->file_offset = file_offset;
  made->search_only = r->pack && !r->borrow;
  memcpy(made->fourcc, name->written_as, 4);
  memcpy(made->read_as, fourcc, 4);
  read_header(c, made);
  if (fw_cursor_good(c)) read_kind(r, made);
}

void fw_read_index(fw_index_reader *r, const char *name, furrow_index **index) {
  fw_cursor *c = &r->c;
  if (!fw_cursor_good(c)) return;
  size_t mark = *name ? fw_cursor_enter(c, name) : c->path_size;
  if (c->depth == FW_CURSOR_DEPTH)
    fw_cursor_reject(c, "is followed by one more index inside of %d others", FW_CURSOR_DEPTH);
  c->depth++;
  read_named(r, index);
  c->depth--;
  fw_cursor_leave(c, mark);
}
