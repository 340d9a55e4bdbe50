/* vector/file/index_write.c: writes an index in the layout of docs/formats/faiss-ivfpq.md. */
#include "vector/file/index_write.h"
#include "vector/index/stored_ids.h"

#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "comm/collectives.h"
#include "io/atomic_file.h"
#include "io/file_map.h"
#include "vector/attributes/attribute_rows.h"
#include "vector/index/index_card.h"
#include "vector/index/inverted_lists.h"

/* ---- Fields --------------------------------------------------------------------------------------------- */

static void put_bytes(fw_index_writer *w, const void *bytes, size_t size) {
  if (w->status != FURROW_OK) return;
  const uint64_t offset = w->size;
  w->size += size;
  if (w->write && size > 0 && !(w->own ? w->skip_own : w->skip_common))
    w->status = w->write(w->to, offset, bytes, size, w->err);
}

static void put_u8(fw_index_writer *w, uint8_t value) {
  put_bytes(w, &value, 1);
}

static void put_u32(fw_index_writer *w, uint32_t value) {
  uint8_t bytes[4];
  fw_put_le32(bytes, value);
  put_bytes(w, bytes, sizeof bytes);
}

static void put_i32(fw_index_writer *w, int32_t value) {
  put_u32(w, (uint32_t)value);
}

static void put_u64(fw_index_writer *w, uint64_t value) {
  uint8_t bytes[8];
  fw_put_le64(bytes, value);
  put_bytes(w, bytes, sizeof bytes);
}

static void put_f32(fw_index_writer *w, float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  put_u32(w, word);
}

/* Writes elements of 4 or 8 bytes. */
static void put_elements(fw_index_writer *w, const void *elements, size_t count, size_t size) {
  if (!FW_BIG_ENDIAN || !w->write) {
    put_bytes(w, elements, count * size);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    if (size == 4)
      put_u32(w, ((const uint32_t *)elements)[i]);
    else
      put_u64(w, ((const uint64_t *)elements)[i]);
  }
}

/* Writes a count and the elements. */
static void put_vector(fw_index_writer *w, const void *elements, uint64_t count, size_t size) {
  put_u64(w, count);
  if (size == 1)
    put_bytes(w, elements, (size_t)count);
  else
    put_elements(w, elements, (size_t)count, size);
}

/* ---- Parts written by ranks ----------------------------------------------------------------------------- */

/* The number of vectors of an index, over all ranks. */
static uint64_t total_of(const fw_index_writer *w, const furrow_index *index) {
  return w->part ? w->part->total : (uint64_t)index->ntotal;
}

/* Starts an array with `size` bytes per vector, and moves to this rank's part of it. `before` is the number of vectors
 * of the ranks before this one, `total` that number over all ranks. Returns the end of the array. */
static uint64_t begin_own(fw_index_writer *w, uint64_t before, uint64_t total, uint64_t size) {
  const uint64_t end = w->size + total * size;
  w->size += before * size;
  w->own = w->part != NULL;
  return end;
}

static void end_own(fw_index_writer *w, uint64_t end) {
  w->own = false;
  w->size = end;
}

/* Writes a count and `each` elements per vector. */
static void put_by_vector(fw_index_writer *w, const void *elements, uint64_t n, uint64_t each, size_t size) {
  const uint64_t before = w->part ? w->part->before : 0, total = w->part ? w->part->total : n;
  put_u64(w, total * each);
  const uint64_t end = begin_own(w, before, total, each * size);
  if (size == 1)
    put_bytes(w, elements, (size_t)(n * each));
  else
    put_elements(w, elements, (size_t)(n * each), size);
  end_own(w, end);
}

/* ---- Parts ---------------------------------------------------------------------------------------------- */

static void put_header(fw_index_writer *w, const furrow_index *index) {
  put_bytes(w, fw_compat_fourcc(index, w->compat), 4);
  put_i32(w, index->d);
  put_u64(w, total_of(w, index));
  put_u64(w, (uint64_t)index->dummy[0]);
  put_u64(w, (uint64_t)index->dummy[1]);
  put_u8(w, index->trained);
  put_i32(w, (int32_t)index->metric);
  if (index->metric > FURROW_METRIC_L2) put_f32(w, index->metric_arg);
}

static void put_pq(fw_index_writer *w, const fw_pq *pq) {
  put_u64(w, pq->d);
  put_u64(w, pq->m);
  put_u64(w, pq->nbits);
  put_vector(w, pq->centroids, pq->d << pq->nbits, 4);
}

static void put_hnsw(fw_index_writer *w, const furrow_index *index) {
  const fw_hnsw *graph = &index->hnsw;
  uint64_t n = (uint64_t)index->ntotal;
  put_vector(w, graph->probas, graph->proba_count, 8);
  put_vector(w, graph->cum, graph->cum_count, 4);
  put_vector(w, graph->levels, n, 4);
  put_vector(w, graph->offsets, n + 1, 8);
  const bool own = w->own;
  w->own = w->own || w->skip_own; /* for a digest: see fw_index_common_digest */
  put_vector(w, graph->neighbors, graph->offsets[n], 4);
  w->own = own;
  put_i32(w, graph->entry_point);
  put_i32(w, graph->max_level);
  put_i32(w, graph->ef_construction);
  put_i32(w, graph->ef_search);
  put_i32(w, graph->upper_beam);
}

static void put_pq_index(fw_index_writer *w, const furrow_index *index) {
  const fw_pq_index *own = &index->pq;
  put_pq(w, &own->pq);
  put_by_vector(w, own->codes, (uint64_t)index->ntotal, fw_pq_code_size(&own->pq), 1);
  put_i32(w, own->search_type);
  put_u8(w, own->encode_signs);
  put_i32(w, own->polysemous_ht);
}

/* Writes codes as blocks of 4-bit codes. */
static void put_code_blocks(fw_index_writer *w, const furrow_index *index, const fw_lists *shape) {
  const size_t size = fw_pq_code_size(&index->pq.pq), n = (size_t)index->ntotal;
  uint8_t *block = NULL;
  if (w->status == FURROW_OK) w->status = FW_ALLOC(&block, shape->block_bytes, w->err);
  for (size_t i = 0; w->status == FURROW_OK && i < n; i += shape->block_vectors) {
    memset(block, 0, shape->block_bytes);
    for (size_t k = i; k < n && k < i + shape->block_vectors; k++)
      fw_block_put(shape, block, k - i, index->pq.codes + k * size);
    put_bytes(w, block, shape->block_bytes);
  }
  fw_free(block);
}

static void put_pq_fast(fw_index_writer *w, const furrow_index *index) {
  const fw_pq_index *own = &index->pq;
  const uint64_t bbs = (uint64_t)own->bbs, m2 = own->pq.m + own->pq.m % 2;
  const uint64_t blocks = ((uint64_t)index->ntotal + bbs - 1) / bbs;
  const fw_lists shape = {.block_vectors = (size_t)bbs, .block_bytes = (size_t)(bbs * m2 / 2)};
  put_pq(w, &own->pq);
  put_i32(w, own->implem);
  put_i32(w, own->bbs);
  put_i32(w, own->qbs);
  put_u64(w, blocks * bbs);
  put_u64(w, m2);
  put_u64(w, blocks * shape.block_bytes);
  put_code_blocks(w, index, &shape);
}

static void put_sq(fw_index_writer *w, const fw_sq *sq) {
  put_i32(w, sq->qtype);
  put_i32(w, sq->range_stat);
  put_f32(w, sq->range_arg);
  put_u64(w, sq->d);
  put_u64(w, sq->code_size);
  put_vector(w, sq->trained, sq->trained_count, 4);
}

/* ---- Transforms ----------------------------------------------------------------------------------------- */

static void put_linear(fw_index_writer *w, const fw_transform *t) {
  put_u8(w, t->have_bias);
  put_vector(w, t->a, t->a_count, 4);
  put_vector(w, t->b, t->b_count, 4);
}

static void put_pca(fw_index_writer *w, const fw_transform *t) {
  bool epsilon = fw_compat_reads(w->compat, FW_COMPAT_PCA);
  put_bytes(w, epsilon ? "Pcam" : "PcAm", 4);
  put_f32(w, t->eigen_power);
  if (epsilon) put_f32(w, t->epsilon);
  put_u8(w, t->random_rotation);
  put_i32(w, t->balanced_bins);
  put_vector(w, t->mean, t->mean_count, 4);
  put_vector(w, t->eigenvalues, t->eigen_count, 4);
  put_vector(w, t->pca, t->pca_count, 4);
  put_linear(w, t);
}

static void put_transform(fw_index_writer *w, const fw_transform *t);

static void put_itq(fw_index_writer *w, const fw_transform *t) {
  put_vector(w, t->mean, t->mean_count, 4);
  put_u8(w, t->do_pca);
  put_transform(w, &t->nested[0]);
  put_transform(w, &t->nested[1]);
}

static void put_itq_matrix(fw_index_writer *w, const fw_transform *t) {
  put_i32(w, t->max_iter);
  put_u32(w, t->seed);
  put_linear(w, t);
}

static void put_transform(fw_index_writer *w, const fw_transform *t) {
  bool pca = memcmp(t->fourcc, "Pcam", 4) == 0;
  if (!pca) put_bytes(w, t->fourcc, 4);
  if (pca)
    put_pca(w, t);
  else if (memcmp(t->fourcc, "VNrm", 4) == 0)
    put_f32(w, t->norm);
  else if (memcmp(t->fourcc, "VCnt", 4) == 0)
    put_vector(w, t->mean, t->mean_count, 4);
  else if (memcmp(t->fourcc, "RmDT", 4) == 0)
    put_vector(w, t->map, t->map_count, 4);
  else if (memcmp(t->fourcc, "Viqm", 4) == 0)
    put_itq_matrix(w, t);
  else if (memcmp(t->fourcc, "Viqt", 4) == 0)
    put_itq(w, t);
  else if (memcmp(t->fourcc, "HRot", 4) == 0)
    put_u32(w, t->seed);
  else
    put_linear(w, t);
  put_i32(w, t->d_in);
  put_i32(w, t->d_out);
  put_u8(w, t->trained);
}

static void put_transforms(fw_index_writer *w, const fw_transforms *transforms) {
  put_i32(w, (int32_t)transforms->count);
  for (size_t i = 0; i < transforms->count; i++) put_transform(w, &transforms->list[i]);
}

/* ---- Lists ---------------------------------------------------------------------------------------------- */

/* The number of vectors of list i in all joined lists, including other ranks' lists. */
static uint64_t joined_size(const fw_index_writer *w, const fw_joined_lists *joined, size_t count, size_t i) {
  uint64_t size = 0;
  if (w->part) return w->part->list_size[i];
  for (size_t k = 0; k < count; k++) size += fw_lists_size(joined[k].lists, i);
  return size;
}

/* Like fw_lists_are_full. */
static bool joined_are_full(const fw_index_writer *w, const fw_joined_lists *joined, size_t count, uint64_t used) {
  return count == 1 && !w->part ? fw_lists_are_full(joined->lists) : used > joined->lists->nlist / 2;
}

static void put_sizes(fw_index_writer *w, const fw_joined_lists *joined, size_t count) {
  size_t nlist = joined->lists->nlist;
  uint64_t used = 0;
  for (size_t i = 0; i < nlist; i++) used += joined_size(w, joined, count, i) > 0;
  bool full = joined_are_full(w, joined, count, used);
  put_bytes(w, full ? "full" : "sprs", 4);
  put_u64(w, full ? nlist : 2 * used);
  for (size_t i = 0; i < nlist; i++) {
    uint64_t size = joined_size(w, joined, count, i);
    if (!full && size == 0) continue;
    if (!full) put_u64(w, i);
    put_u64(w, size);
  }
}

static void put_ids(fw_index_writer *w, const fw_list *list, int64_t shift) {
  enum { BLOCK = 512 };
  uint8_t shifted[8 * BLOCK];
  if (shift == 0) {
    put_bytes(w, list->ids, list->size * 8);
    return;
  }
  for (size_t k = 0, in_block = 0; k < list->size; k++) {
    fw_put_le64(shifted + 8 * in_block++, (uint64_t)fw_list_id(list, k) + (uint64_t)shift);
    if (in_block < BLOCK && k + 1 < list->size) continue;
    put_bytes(w, shifted, 8 * in_block);
    in_block = 0;
  }
}

/* Starts list i, with `size` bytes per vector, and moves to this rank's part of it. */
static uint64_t begin_list(fw_index_writer *w, const fw_joined_lists *joined, size_t count, size_t i, size_t size) {
  return begin_own(w, w->part ? w->part->list_before[i] : 0, joined_size(w, joined, count, i), size);
}

static void put_joined_codes(fw_index_writer *w, const fw_joined_lists *joined, size_t count, size_t i) {
  const uint64_t end = begin_list(w, joined, count, i, joined->lists->code_size);
  for (size_t k = 0; k < count; k++)
    if (fw_lists_size(joined[k].lists, i) > 0)
      put_bytes(w, joined[k].lists->list[i].codes, joined[k].lists->list[i].size * joined->lists->code_size);
  end_own(w, end);
}

static void put_joined_ids(fw_index_writer *w, const fw_joined_lists *joined, size_t count, size_t i) {
  const uint64_t end = begin_list(w, joined, count, i, 8);
  const int64_t shift = w->part && w->part->shift_ids ? (int64_t)w->part->before : 0;
  for (size_t k = 0; k < count; k++)
    if (fw_lists_size(joined[k].lists, i) > 0) put_ids(w, &joined[k].lists->list[i], joined[k].id_shift + shift);
  end_own(w, end);
}

static void put_codes_and_ids(fw_index_writer *w, const fw_joined_lists *joined, size_t count) {
  for (size_t i = 0; w->status == FURROW_OK && i < joined->lists->nlist; i++) {
    put_joined_codes(w, joined, count, i);
    put_joined_ids(w, joined, count, i);
  }
}

static void put_inline(fw_index_writer *w, const fw_joined_lists *joined, size_t count) {
  const fw_lists *first = joined->lists;
  put_bytes(w, "ilar", 4);
  put_u64(w, first->nlist);
  put_u64(w, first->code_size);
  put_sizes(w, joined, count);
  put_codes_and_ids(w, joined, count);
}

/* Iv..: the ids of every list before the direct map, and the codes of every list at the end. */
static void put_legacy_ids(fw_index_writer *w, const fw_joined_lists *joined, size_t count) {
  for (size_t i = 0; w->status == FURROW_OK && i < joined->lists->nlist; i++) {
    put_u64(w, joined_size(w, joined, count, i));
    put_joined_ids(w, joined, count, i);
  }
}

static void put_legacy_codes(fw_index_writer *w, const fw_joined_lists *joined, size_t count) {
  for (size_t i = 0; w->status == FURROW_OK && i < joined->lists->nlist; i++) {
    put_u64(w, joined_size(w, joined, count, i) * joined->lists->code_size);
    put_joined_codes(w, joined, count, i);
  }
}

static void put_on_disk(fw_index_writer *w, const fw_lists *lists) {
  const fw_disk *disk = lists->disk;
  put_bytes(w, "ilod", 4);
  put_u64(w, lists->nlist);
  put_u64(w, lists->code_size);
  put_u64(w, lists->nlist);
  put_elements(w, disk->lists, 3 * lists->nlist, 8);
  put_u64(w, disk->slot_count);
  put_elements(w, disk->slots, 2 * disk->slot_count, 8);
  put_vector(w, disk->file_name, disk->file_name_size, 1);
  put_u64(w, disk->total_size);
}

/* The size of the data file of an index without vectors: Faiss cannot map an empty file. It is one free slot. */
enum { UNUSED_DATA = 32 };

/* Lists in a new data file: one after the other, without gaps, as Faiss merges lists. */
static void put_new_disk(fw_index_writer *w, const fw_joined_lists *joined, size_t count) {
  const fw_lists *first = joined->lists;
  uint64_t end = 0, stored = 0;
  for (size_t k = 0; k < count; k++) stored += fw_lists_stored(joined[k].lists);
  put_bytes(w, "ilod", 4);
  put_u64(w, first->nlist);
  put_u64(w, first->code_size);
  put_u64(w, first->nlist);
  for (size_t i = 0; i < first->nlist; i++) {
    const uint64_t size = joined_size(w, joined, count, i);
    put_u64(w, size);
    put_u64(w, size); /* the capacity */
    put_u64(w, stored > 0 ? end : FW_NO_OFFSET);
    end += size * (first->code_size + 8);
  }
  const fw_disk_slot unused = {0, UNUSED_DATA};
  put_u64(w, stored > 0 ? 0 : 1);
  if (stored == 0) put_elements(w, &unused, 2, 8);
  put_vector(w, w->lists_file, strlen(w->lists_file), 1);
  put_u64(w, stored > 0 ? end : UNUSED_DATA);
}

static void put_blocks(fw_index_writer *w, const fw_lists *lists) {
  put_bytes(w, "ilbl", 4);
  put_u64(w, lists->nlist);
  put_u64(w, UINT64_MAX);
  put_u64(w, lists->block_vectors);
  put_u64(w, lists->block_bytes);
  for (size_t i = 0; w->status == FURROW_OK && i < lists->nlist; i++) {
    size_t size = fw_lists_size(lists, i);
    put_u64(w, size);
    if (size) put_bytes(w, lists->list[i].ids, size * 8);
    put_u64(w, fw_lists_code_bytes(lists, i));
    if (size) put_bytes(w, lists->list[i].codes, fw_lists_code_bytes(lists, i));
  }
}

/* Whether the contents of the lists are written into the file. */
static bool puts_inline(const fw_index_writer *w, const furrow_index *index) {
  furrow_lists_kind kind = index->ivf.lists.kind;
  return w->joint == index || kind == FURROW_LISTS_INLINE || (kind == FURROW_LISTS_ON_DISK && w->inline_lists);
}

/* Writes the contents of an index's lists, and of the lists joined with them. */
static void put_contents(fw_index_writer *w, const furrow_index *index,
                         void (*put)(fw_index_writer *w, const fw_joined_lists *joined, size_t count)) {
  const fw_lists *lists = &index->ivf.lists;
  if (w->joint == index)
    put(w, w->joined, w->joined_count);
  else if (lists->disk && lists->disk->missing)
    w->status = fw_fail(w->err, FURROW_E_STATE,
                        "the data file with the lists of the index was missing when the index was loaded");
  else
    put(w, &(fw_joined_lists){.lists = lists}, 1);
}

static void put_lists(fw_index_writer *w, const furrow_index *index) {
  const fw_lists *lists = &index->ivf.lists;
  if (!fw_compat_reads(w->compat, FW_COMPAT_LISTS))
    put_contents(w, index, put_legacy_codes);
  else if (w->lists_of == index)
    put_contents(w, index, put_new_disk);
  else if (puts_inline(w, index))
    put_contents(w, index, put_inline);
  else if (lists->kind == FURROW_LISTS_BLOCKS)
    put_blocks(w, lists);
  else if (lists->kind == FURROW_LISTS_ON_DISK)
    put_on_disk(w, lists);
  else
    put_bytes(w, "il00", 4);
}

/* ---- IVF ------------------------------------------------------------------------------------------------ */

/* Writes the locations of this rank's vectors, shifted by the number of vectors that ranks before it have in the
 * list. */
static void put_locations(fw_index_writer *w, const fw_direct_map *map) {
  put_u64(w, w->part->total);
  const uint64_t end = begin_own(w, w->part->before, w->part->total, 8);
  for (size_t i = 0; i < map->count; i++) {
    const int64_t location = map->locations[i];
    const uint64_t shift = location < 0 ? 0 : w->part->list_before[(uint64_t)location >> 32];
    put_u64(w, (uint64_t)location + shift);
  }
  end_own(w, end);
}

static void put_direct_map(fw_index_writer *w, const fw_direct_map *map) {
  const bool array = map->type == FURROW_DIRECT_MAP_ARRAY;
  put_u8(w, (uint8_t)map->type);
  if (w->part && array)
    put_locations(w, map);
  else
    put_vector(w, map->locations, array ? map->count : 0, 8);
  if (map->type != FURROW_DIRECT_MAP_HASHTABLE) return;
  const uint64_t count = w->part ? w->part->pair_count : map->count;
  put_u64(w, count);
  const uint64_t end = begin_own(w, 0, count, sizeof(fw_id_location)); /* rank 0 has the pairs of all ranks */
  if (!w->part || w->part->pairs) put_elements(w, w->part ? w->part->pairs : map->pairs, 2 * count, 8);
  end_own(w, end);
}

static void put_ivf_sq(fw_index_writer *w, const fw_ivf *ivf) {
  put_sq(w, &ivf->sq);
  put_u64(w, ivf->code_size);
  if (fw_compat_reads(w->compat, FW_COMPAT_SQ_PLAIN)) put_u8(w, ivf->by_residual);
}

static void put_ivf_pq(fw_index_writer *w, const fw_ivf *ivf, bool fast) {
  put_u8(w, ivf->by_residual);
  put_u64(w, ivf->code_size);
  if (fast) {
    put_i32(w, ivf->bbs);
    put_u64(w, ivf->m2);
    put_i32(w, ivf->implem);
    put_u64(w, ivf->qbs2);
  }
  put_pq(w, &ivf->pq);
}

/* If a mapped input file was shortened, zeros may have been written: fails, so that the new file is not kept. */
static void check_maps(fw_index_writer *w, const furrow_index *index) {
  const size_t count = w->joint == index ? w->joined_count : 1;
  for (size_t i = 0; i < count; i++) {
    const fw_lists *lists = w->joint == index ? w->joined[i].lists : &index->ivf.lists;
    const furrow_status status = fw_file_map_check(lists->map, w->err);
    if (status != FURROW_OK) w->status = status;
  }
}

/* Writes the whole data file of w->lists_of. */
static void put_data(fw_index_writer *w) {
  static const uint8_t unused[UNUSED_DATA];
  put_contents(w, w->lists_of, put_codes_and_ids);
  if (w->size == 0) put_bytes(w, unused, sizeof unused);
  check_maps(w, w->lists_of);
}

static void put_ivf(fw_index_writer *w, const furrow_index *index) {
  const fw_ivf *ivf = &index->ivf;
  put_u64(w, ivf->nlist);
  put_u64(w, ivf->nprobe);
  const fw_index_part *part = w->part;
  w->part = NULL; /* all ranks have the same quantizer */
  fw_write_index(w, index->child[0]);
  w->part = part;
  if (!fw_compat_reads(w->compat, FW_COMPAT_LISTS)) put_contents(w, index, put_legacy_ids);
  put_direct_map(w, &ivf->direct_map);
  if (index->kind == FURROW_INDEX_IVF_SQ)
    put_ivf_sq(w, ivf);
  else if (index->kind != FURROW_INDEX_IVF_FLAT)
    put_ivf_pq(w, ivf, index->kind == FURROW_INDEX_IVF_PQ_FAST);
  put_lists(w, index);
  check_maps(w, index);
  if (index->kind != FURROW_INDEX_IVF_PQR) return;
  put_pq(w, &ivf->refine_pq);
  if (w->part)
    put_by_vector(w, ivf->refine_codes, (uint64_t)index->ntotal, fw_pq_code_size(&ivf->refine_pq), 1);
  else
    put_vector(w, ivf->refine_codes, ivf->refine_size, 1);
  put_f32(w, ivf->k_factor);
}

/* ---- The index ------------------------------------------------------------------------------------------ */

void fw_write_index(fw_index_writer *w, const furrow_index *index) {
  if (!index) {
    put_bytes(w, FW_FOURCC_NULL, 4);
    return;
  }
  uint64_t n = (uint64_t)index->ntotal;
  if (w->status == FURROW_OK) w->status = fw_index_check_whole(index, w->err);
  put_header(w, index);
  switch (index->kind) {
  case FURROW_INDEX_FLAT: put_by_vector(w, index->flat.vectors, n, (uint64_t)index->d, 4); break;
  case FURROW_INDEX_HNSW:
    put_hnsw(w, index);
    fw_write_index(w, index->child[0]);
    break;
  case FURROW_INDEX_PQ: put_pq_index(w, index); break;
  case FURROW_INDEX_PQ_FAST: put_pq_fast(w, index); break;
  case FURROW_INDEX_SQ:
    put_sq(w, &index->sq.sq);
    put_by_vector(w, index->sq.codes, n, index->sq.sq.code_size, 1);
    break;
  case FURROW_INDEX_MULTI: put_pq(w, &index->pq.pq); break;
  case FURROW_INDEX_ID_MAP:
    fw_write_index(w, index->child[0]);
    put_by_vector(w, index->id_map.ids, n, 1, 8);
    break;
  case FURROW_INDEX_TRANSFORM:
    put_transforms(w, &index->transforms);
    fw_write_index(w, index->child[0]);
    break;
  case FURROW_INDEX_REFINE:
    fw_write_index(w, index->child[0]);
    fw_write_index(w, index->child[1]);
    put_f32(w, index->k_factor);
    break;
  default: put_ivf(w, index); break;
  }
}

static furrow_status write_to_file(void *to, uint64_t offset, const void *bytes, size_t size, furrow_error *err) {
  (void)offset;
  return fw_atomic_file_write(to, bytes, size, err);
}

furrow_status fw_index_writer_init(fw_index_writer *w, const furrow_index *index,
                                   const furrow_index_save_params *params, furrow_error *err) {
  *w = (fw_index_writer){.inline_lists = params->inline_lists,
                         .with = {.names = params->names, .attributes = params->attributes},
                         .least_id = index->least_id,
                         .err = err};
  if (params->card && fw_card_is_kept(index->card)) w->with.card = index->card;
  FW_TRY(fw_compat_parse(&w->compat, params->compat, err));
  FW_TRY(fw_compat_check(index, w->compat, w->inline_lists || params->lists_file, err));
  return params->lists_file ? fw_lists_file_init(w, index, params, err) : FURROW_OK;
}

furrow_status fw_index_check_savable(fw_index_writer *w, const furrow_index *index,
                                     const furrow_index_save_params *params, furrow_error *err) {
  FW_TRY(fw_index_writer_init(w, index, params, err));
  return params->unique_ids ? fw_ids_check_unique(&(fw_shifted_ids){.index = index}, 1, err) : FURROW_OK;
}

/* Initializes the writer of an index with the caller's parameters. */
static furrow_status read_params(fw_index_writer *w, const furrow_index *index, furrow_index_save_params *params,
                                 const furrow_index_save_params *given, furrow_error *err) {
  furrow_index_save_params_init(params);
  FW_TRY(FW_PARAMS_READ(params, given, furrow_index_save_params, err));
  return fw_index_writer_init(w, index, params, err);
}

static fw_index_writer writer_to(fw_atomic_file *file, const fw_index_writer *writer, furrow_error *err) {
  fw_index_writer w = *writer;
  w.write = write_to_file;
  w.to = file;
  w.err = err;
  return w;
}

static furrow_status write_bytes(const furrow_index *index, fw_atomic_file *file, const fw_index_writer *writer,
                                 furrow_error *err) {
  fw_index_writer w = writer_to(file, writer, err);
  fw_write_index(&w, index);
  return w.status;
}

furrow_status fw_lists_file_write(fw_atomic_file *data, const fw_index_writer *writer, furrow_error *err) {
  fw_index_writer w = writer_to(data, writer, err);
  put_data(&w);
  return w.status;
}

static furrow_status write_hash(void *to, uint64_t offset, const void *bytes, size_t size, furrow_error *err) {
  (void)offset, (void)err;
  XXH3_64bits_update(to, bytes, size);
  return FURROW_OK;
}

furrow_status fw_index_find_stamp(const furrow_index *index, const fw_index_writer *writer, fw_index_stamp *stamp,
                                  furrow_error *err) {
  fw_index_writer w = *writer;
  XXH3_state_t *hash = XXH3_createState();
  if (!hash) return fw_fail_memory(err, 576); /* the size of the opaque type in xxhash 0.8 */
  XXH3_64bits_reset(hash);
  w.write = write_hash;
  w.to = hash;
  w.err = err;
  fw_write_index(&w, index);
  *stamp = (fw_index_stamp){.size = w.size, .digest = XXH3_64bits_digest(hash)};
  XXH3_freeState(hash);
  return w.status;
}

furrow_status fw_index_common_digest(const furrow_index *index, const fw_index_writer *writer, uint64_t *digest,
                                     furrow_error *err) {
  fw_index_writer common = *writer;
  fw_index_stamp stamp;
  common.skip_own = true;
  FW_TRY(fw_index_find_stamp(index, &common, &stamp, err));
  *digest = stamp.digest;
  return FURROW_OK;
}

/* Whether the next id must be stored in a file, because it does not follow from the ids of the index. */
static bool needs_next_id(const furrow_index *index, const fw_index_writer *writer, const char *path) {
  if (writer->least_id == 0 || writer->least_id <= fw_index_next_stored_id(index)) return false;
  return index->ntotal > 0 || fw_path_exists(path); /* otherwise it is a new index of the same quantizers */
}

static furrow_status write_file(const furrow_index *index, const char *path, bool overwrite,
                                const fw_index_writer *writer, furrow_error *err) {
  fw_companions with = writer->with;
  fw_atomic_file *file = NULL, *data = NULL;
  fw_index_stamp stamp = {0};
  const bool is_output = strcmp(path, "-") == 0;
  if (with.names && is_output)
    return fw_fail(err, FURROW_E_ARGUMENT, "an index with names cannot be written to standard output");
  if (with.attributes && is_output)
    return fw_fail(err, FURROW_E_ARGUMENT, "an index with attributes cannot be written to standard output");
  if (is_output) with.card = NULL;
  if (fw_companions_any(&with)) FW_TRY(fw_index_find_stamp(index, writer, &stamp, err));
  FW_TRY(fw_atomic_file_open_beside(&file, path, writer->first, err));
  if (!overwrite) fw_atomic_file_keep_existing(file);
  furrow_status status = fw_lists_file_open(&data, writer, path, err);
  if (status == FURROW_OK) status = write_bytes(index, file, writer, err);
  if (status == FURROW_OK && data) status = fw_lists_file_write(data, writer, err);
  if (status == FURROW_OK && data) status = fw_atomic_file_commit(data, err);
  if (status == FURROW_OK) status = fw_companions_commit(file, &with, path, &stamp, overwrite, err);
  fw_lists_file_close(data, writer, !fw_atomic_file_is_in_place(file));
  fw_atomic_file_close(file);
  return status;
}

furrow_status fw_index_write_file(const furrow_index *index, const char *path, bool overwrite,
                                  const fw_index_writer *writer, furrow_error *err) {
  const bool is_file = strcmp(path, "-") != 0, kept = is_file && needs_next_id(index, writer, path);
  if (kept && (overwrite || !fw_path_exists(path))) FW_TRY(fw_next_id_save(writer->least_id, path, err));
  FW_TRY(write_file(index, path, overwrite, writer, err));
  if (is_file && !kept) fw_next_id_drop(path);
  return FURROW_OK;
}

furrow_status furrow_index_save(const furrow_index *index, const char *path, const furrow_index_save_params *params,
                                furrow_error *err) {
  furrow_index_save_params p;
  fw_index_writer writer;
  const furrow_comm *comm = NULL;
  furrow_index_save_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_index_save_params, err));
  FW_TRY(fw_comm_of(&comm, p.comm, err));
  FW_TRY(fw_comm_all_ok(comm, fw_index_check_savable(&writer, index, &p, err), err));
  if (p.lists_file && comm->ranks > 1)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "several processes cannot write a data file of lists together");
  if (comm->ranks > 1) {
    FW_TRY(fw_index_write_together(index, path, &p, comm, &writer, err));
    if (fw_comm_is_first(comm)) fw_next_id_drop(path);
    return FURROW_OK;
  }
  if (p.names) FW_TRY(fw_id_names_fit(p.names, index, FURROW_E_ARGUMENT, NULL, err));
  if (p.attributes) FW_TRY(fw_attributes_fit_index(p.attributes, index, FURROW_E_ARGUMENT, NULL, err));
  FW_TRY(fw_lists_file_check_kept(index, &writer, path, err));
  return fw_index_write_file(index, path, p.overwrite, &writer, err);
}

furrow_status furrow_index_write(const furrow_index *index, const furrow_output *output,
                                 const furrow_index_save_params *params, furrow_error *err) {
  furrow_index_save_params p;
  fw_index_writer writer;
  fw_atomic_file *file = NULL;
  FW_TRY(read_params(&writer, index, &p, params, err));
  if (p.lists_file) return fw_fail(err, FURROW_E_ARGUMENT, "a data file of lists needs the path of its index");
  FW_TRY(fw_atomic_file_open_output(&file, output, err));
  furrow_status status = write_bytes(index, file, &writer, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  return status;
}

furrow_status furrow_index_file_size(const furrow_index *index, const furrow_index_save_params *params, uint64_t *size,
                                     furrow_error *err) {
  furrow_index_save_params p;
  fw_index_writer w;
  FW_TRY(read_params(&w, index, &p, params, err));
  fw_write_index(&w, index);
  if (w.status == FURROW_OK) *size = w.size;
  return w.status;
}
