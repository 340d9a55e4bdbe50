/* vector/build/add.c: adds vectors to an index.
 *
 * Everything that can fail comes first: the lists and codes of all vectors are computed, then memory is allocated.
 * After that the vectors are appended, list by list, in the order of the call. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/sort.h"
#include "vector/build/build.h"
#include "vector/data/parallel.h"
#include "vector/index/direct_map.h"
#include "vector/index/index_card.h"
#include "vector/index/inverted_lists.h"
#include "vector/quantizer/assign.h"
#include "vector/quantizer/sq.h"
#include "vector/quantizer/training_vectors.h"
#include "vector/quantizer/transform.h"

#define ADD_PART 768    /* vectors per task */
#define ENCODE_PART 192 /* vectors encoded at a time, so that their residuals stay in the cache */
#define CHECK_PART 4096
#define FILL_PART 16 /* lists per task */

/* ---- Vectors of one call -------------------------------------------------------------------------------- */

typedef struct batch {
  const float *vectors;
  size_t n;
  const int64_t *ids; /* NULL: first_id, first_id + 1, … */
  int64_t first_id;
  bool skip_nan;
  fw_pool *pool;
  bool moved;       /* the vectors were transformed */
  const bool *skip; /* rows to skip; NULL: none */
  uint64_t *skipped;
  float *distances; /* gets the distance of each vector to its centroid, for the card; NULL: not wanted */
} batch;

static int64_t id_of(const batch *b, size_t i) {
  return b->ids ? b->ids[i] : b->first_id + (int64_t)i;
}

static bool ids_go_on(const furrow_index *index, const batch *b) {
  for (size_t i = 0; i < b->n; i++)
    if (id_of(b, i) != index->ntotal + (int64_t)i) return false;
  return true;
}

static furrow_status refuse_row(size_t row, furrow_error *err) {
  return fw_fail(err, FURROW_E_RANGE, "vector %zu has a number that is not finite, or too large", row);
}

/* ---- Lists ---------------------------------------------------------------------------------------------- */

typedef struct filling {
  furrow_index *index;
  const batch *batch;
  const fw_encoder *encoder;
  uint32_t *lists;
  uint8_t *codes, *refine_codes; /* NULL: no codes, or the vectors themselves are stored */
  fw_runs runs;
} filling;

/* Encodes the refinement: the difference between the vectors and their decoded codes. `rest` is scratch for one vector
 * per row. */
static void encode_refinement(filling *f, size_t first, size_t count, const float *x, float *rest) {
  const fw_ivf *ivf = &f->index->ivf;
  size_t d = (size_t)f->index->d;
  for (size_t i = 0; i < count; i++) {
    fw_pq_decode(&ivf->pq, f->codes + (first + i) * ivf->code_size, rest + i * d);
    for (size_t k = 0; k < d; k++) rest[i * d + k] = x[i * d + k] - rest[i * d + k];
  }
  const fw_pq_coder *coder = &f->encoder->refine_coder;
  fw_pq_encode(coder, rest, count, d, f->refine_codes + first * coder->code_size);
}

/* Encodes rows whose lists are known. `scratch` has two vectors for each row. */
static void encode_rows(filling *f, size_t first, size_t count, float *scratch) {
  const furrow_index *index = f->index;
  size_t d = (size_t)index->d, size = index->ivf.code_size;
  const float *x = f->batch->vectors + first * d;
  uint8_t *codes = f->codes + first * size;
  if (index->ivf.by_residual) {
    fw_residuals(&f->encoder->assigner, x, f->lists + first, count, scratch);
    x = scratch;
  }
  if (index->kind == FURROW_INDEX_IVF_SQ)
    for (size_t i = 0; i < count; i++) fw_sq_encode(&index->ivf.sq, x + i * d, codes + i * size);
  else
    fw_pq_encode(&f->encoder->coder, x, count, d, codes);
  if (f->refine_codes) encode_refinement(f, first, count, x, scratch + count * d);
}

static furrow_status encode_part(filling *f, size_t first, size_t count, furrow_error *err) {
  void *scratch = NULL;
  const size_t most = count < ENCODE_PART ? count : ENCODE_PART;
  furrow_status status = fw_alloc(&scratch, 2 * most, (size_t)f->index->d * sizeof(float), err);
  for (size_t i = 0; status == FURROW_OK && i < count; i += most)
    encode_rows(f, first + i, count - i < most ? count - i : most, scratch);
  fw_free(scratch);
  return status;
}

static float length_of(const float *vector, size_t d) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += (double)vector[i] * (double)vector[i];
  return (float)sqrt(sum);
}

/* Measures how far vectors are from the centroids of their lists. */
static furrow_status measure_lists(filling *f, size_t first, size_t count, furrow_error *err) {
  const size_t d = (size_t)f->index->d;
  float *rest = NULL;
  FW_TRY(FW_ALLOC(&rest, d, err));
  for (size_t i = first; i < first + count; i++) {
    f->batch->distances[i] = NAN;
    if (f->lists[i] == FW_NO_GROUP) continue;
    fw_residuals(&f->encoder->assigner, f->batch->vectors + i * d, f->lists + i, 1, rest);
    f->batch->distances[i] = length_of(rest, d);
  }
  fw_free(rest);
  return FURROW_OK;
}

/* Skipped rows have no list and no code. */
static furrow_status fill_part(void *context, size_t first, size_t count, furrow_error *err) {
  filling *f = context;
  const batch *b = f->batch;
  furrow_status status =
      fw_assign(&f->encoder->assigner, b->vectors + first * (size_t)f->index->d, count, f->lists + first, err);
  size_t left_out = 0, d = (size_t)f->index->d;
  for (size_t i = first; status == FURROW_OK && i < first + count; i++) {
    if (b->skip && b->skip[i]) f->lists[i] = FW_NO_GROUP;
    if (b->moved && furrow_first_invalid_vector(b->vectors + i * d, 1, d) == 0) f->lists[i] = FW_NO_GROUP;
    if (f->lists[i] != FW_NO_GROUP) continue;
    if (!b->skip_nan) return refuse_row(i, err);
    left_out++;
  }
  if (status == FURROW_OK && b->distances) status = measure_lists(f, first, count, err);
  if (status != FURROW_OK || !f->codes) return status;
  if (left_out == 0) return encode_part(f, first, count, err);
  for (size_t i = first; status == FURROW_OK && i < first + count; i++)
    if (f->lists[i] != FW_NO_GROUP) status = encode_part(f, i, 1, err);
  return status;
}

static furrow_status make_codes(filling *f, furrow_error *err) {
  const fw_ivf *ivf = &f->index->ivf;
  size_t n = f->batch->n;
  void *lists = NULL, *codes = NULL, *refine = NULL;
  furrow_status status = fw_alloc(&lists, n, sizeof *f->lists, err);
  f->lists = lists;
  if (status == FURROW_OK && f->index->kind != FURROW_INDEX_IVF_FLAT) status = fw_alloc(&codes, n, ivf->code_size, err);
  f->codes = codes;
  if (status == FURROW_OK && ivf->refine_pq.m > 0)
    status = fw_alloc_zero(&refine, n, f->encoder->refine_coder.code_size, err);
  f->refine_codes = refine;
  return status == FURROW_OK ? fw_parallel_run(f->batch->pool, n, ADD_PART, fill_part, f, err) : status;
}

/* Adds the locations that the vectors will have to the direct map; nothing can fail after that. */
static furrow_status note_locations(filling *f, furrow_error *err) {
  fw_ivf *ivf = &f->index->ivf;
  void *memory = NULL;
  if (ivf->direct_map.type == FURROW_DIRECT_MAP_NONE) return FURROW_OK;
  furrow_status status = fw_alloc(&memory, f->batch->n, sizeof(fw_id_location), err);
  if (status != FURROW_OK) return status;
  fw_id_location *fresh = memory;
  for (size_t i = 0; i < f->batch->n; i++) fresh[i] = (fw_id_location){.id = id_of(f->batch, i), .location = -1};
  for (size_t r = 0; r < f->runs.count; r++) {
    const fw_run *run = &f->runs.run[r];
    for (size_t i = 0; i < run->count; i++)
      fresh[f->runs.member[run->first + i]].location = fw_location_make(run->list, ivf->lists.list[run->list].size + i);
  }
  status = fw_direct_map_extend(&ivf->direct_map, fresh, f->batch->n, err);
  fw_free(fresh);
  return status;
}

/* Reserves capacity for more vectors in list i. A list that grows again gets more than it needs. */
static furrow_status reserve_list(fw_lists *lists, size_t i, size_t more, furrow_error *err) {
  const fw_list *list = &lists->list[i];
  size_t need = list->size + more, half = list->size + list->size / 2;
  if (more == 0 || need <= list->capacity) return FURROW_OK;
  return fw_list_reserve(lists, i, list->capacity > 0 && need < half ? half : need, err);
}

static furrow_status reserve_lists(filling *f, furrow_error *err) {
  fw_ivf *ivf = &f->index->ivf;
  furrow_status status = fw_runs_create(&f->runs, f->lists, f->batch->n, ivf->nlist, err);
  if (status == FURROW_OK) status = fw_lists_begin_edit(&ivf->lists, err);
  for (size_t r = 0; status == FURROW_OK && r < f->runs.count; r++)
    status = reserve_list(&ivf->lists, f->runs.run[r].list, f->runs.run[r].count, err);
  if (status == FURROW_OK && f->refine_codes) {
    void *refine = ivf->refine_codes;
    status = fw_realloc(&refine, ivf->refine_size + f->batch->n * f->encoder->refine_coder.code_size, 1, err);
    ivf->refine_codes = refine;
  }
  return status == FURROW_OK ? note_locations(f, err) : status;
}

/* Cannot fail. */
static furrow_status append_part(void *context, size_t first, size_t count, furrow_error *err) {
  filling *f = context;
  const furrow_index *index = f->index;
  (void)err;
  for (size_t r = first; r < first + count; r++) {
    const fw_run *run = &f->runs.run[r];
    fw_list *list = &index->ivf.lists.list[run->list];
    for (size_t i = 0; i < run->count; i++) {
      size_t row = f->runs.member[run->first + i];
      const uint8_t *code = f->codes ? f->codes + row * index->ivf.code_size
                                     : (const uint8_t *)(f->batch->vectors + row * (size_t)index->d);
      fw_list_append_code(&index->ivf.lists, list, code, id_of(f->batch, row));
      if (!f->codes) fw_swap_le(list->codes + (list->size - 1) * index->ivf.code_size, sizeof(float), (size_t)index->d);
    }
  }
  return FURROW_OK;
}

static furrow_status append_all(filling *f, furrow_error *err) {
  fw_ivf *ivf = &f->index->ivf;
  FW_TRY(fw_parallel_run(f->batch->pool, f->runs.count, FILL_PART, append_part, f, err));
  fw_lists_end_edit(&ivf->lists);
  *f->batch->skipped += f->batch->n - f->runs.members;
  if (f->refine_codes) {
    size_t size = f->batch->n * f->encoder->refine_coder.code_size;
    memcpy(ivf->refine_codes + ivf->refine_size, f->refine_codes, size);
    ivf->refine_size += size;
  }
  f->index->ntotal += (int64_t)f->batch->n;
  return FURROW_OK;
}

static furrow_status check_ivf(const furrow_index *index, const batch *b, furrow_error *err) {
  bool by_number = index->kind == FURROW_INDEX_IVF_PQR || index->ivf.direct_map.type == FURROW_DIRECT_MAP_ARRAY;
  if (by_number && !ids_go_on(index, b))
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "ids must continue at %lld: the index stores vectors in the order of their ids",
                   (long long)index->ntotal);
  return index->kind == FURROW_INDEX_IVF_SQ ? fw_sq_check(&index->ivf.sq, err) : FURROW_OK;
}

static furrow_status add_ivf(furrow_index *index, const batch *b, furrow_error *err) {
  filling f = {.index = index, .batch = b};
  furrow_status status = check_ivf(index, b, err);
  if (status == FURROW_OK) status = fw_encoder_get(index, b->vectors, b->n, &f.encoder, err);
  if (status == FURROW_OK) status = make_codes(&f, err);
  if (status == FURROW_OK) status = reserve_lists(&f, err);
  if (status == FURROW_OK) status = append_all(&f, err);
  fw_runs_clear(&f.runs);
  fw_free(f.lists);
  fw_free(f.codes);
  fw_free(f.refine_codes);
  return status;
}

/* ---- Other kinds ---------------------------------------------------------------------------------------- */

static furrow_status add_to(furrow_index *index, const batch *b, furrow_error *err);

/* Grows an array of `count` elements by `more`. */
static furrow_status grow_array(void **array, int64_t count, size_t more, size_t size, furrow_error *err) {
  size_t all = 0;
  if (!fw_size_add((size_t)count, more, &all)) return fw_fail_memory(err, SIZE_MAX);
  return fw_realloc(array, all, size, err);
}

static furrow_status check_numbers(const furrow_index *index, const batch *b, furrow_error *err) {
  if (ids_go_on(index, b)) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "%s cannot store ids: that needs an id map around them",
                 furrow_index_kind_name(index->kind));
}

/* Vectors that become rows of an index. */
typedef struct row_filling {
  const furrow_index *index;
  const fw_encoder *encoder; /* NULL: no product quantizer */
  const batch *batch;
  uint8_t *rows; /* the new ones */
} row_filling;

/* Measures how far vectors are from what their codes decode to. */
static furrow_status measure_codes(const row_filling *f, size_t first, size_t count, furrow_error *err) {
  const size_t d = (size_t)f->index->d, size = fw_index_row_size(f->index);
  float *decoded = NULL;
  FW_TRY(FW_ALLOC(&decoded, d, err));
  for (size_t i = first; i < first + count; i++) {
    const float *x = f->batch->vectors + i * d;
    if (f->encoder)
      fw_pq_decode(&f->index->pq.pq, f->rows + i * size, decoded);
    else
      fw_sq_decode(&f->index->sq.sq, f->rows + i * size, decoded);
    for (size_t k = 0; k < d; k++) decoded[k] = x[k] - decoded[k];
    f->batch->distances[i] = length_of(decoded, d);
  }
  fw_free(decoded);
  return FURROW_OK;
}

/* Skipped vectors have no code. */
static furrow_status encode_row_part(void *context, size_t first, size_t count, furrow_error *err) {
  const row_filling *f = context;
  const size_t d = (size_t)f->index->d, size = fw_index_row_size(f->index);
  const float *x = f->batch->vectors + first * d;
  const size_t bad = furrow_first_invalid_vector(x, count, d);
  if (bad < count) return refuse_row(first + bad, err);
  if (f->encoder)
    fw_pq_encode(&f->encoder->coder, x, count, d, f->rows + first * size);
  else
    for (size_t i = 0; i < count; i++) fw_sq_encode(&f->index->sq.sq, x + i * d, f->rows + (first + i) * size);
  return f->batch->distances ? measure_codes(f, first, count, err) : FURROW_OK;
}

/* A skipped vector is stored nevertheless, so that ids stay consecutive; NaN is never among the results. */
static furrow_status copy_vectors(const row_filling *f) {
  const batch *b = f->batch;
  memcpy(f->rows, b->vectors, b->n * fw_index_row_size(f->index));
  for (size_t i = 0; b->skip && i < b->n; i++) *b->skipped += b->skip[i];
  for (size_t i = 0; b->distances && i < b->n; i++) b->distances[i] = b->skip && b->skip[i] ? NAN : -1;
  return FURROW_OK;
}

static furrow_status add_rows(furrow_index *index, const batch *b, furrow_error *err) {
  row_filling f = {.index = index, .batch = b};
  const size_t size = fw_index_row_size(index);
  void *rows = fw_index_rows(index);
  FW_TRY(check_numbers(index, b, err));
  if (fw_index_pq(index)) FW_TRY(fw_encoder_get(index, b->vectors, b->n, &f.encoder, err));
  if (fw_index_sq(index)) FW_TRY(fw_sq_check(fw_index_sq(index), err));
  FW_TRY(grow_array(&rows, index->ntotal, b->n, size, err));
  fw_index_set_rows(index, rows);
  f.rows = (uint8_t *)rows + (size_t)index->ntotal * size;
  FW_TRY(index->kind == FURROW_INDEX_FLAT ? copy_vectors(&f)
                                          : fw_parallel_run(b->pool, b->n, ADD_PART, encode_row_part, &f, err));
  index->ntotal += (int64_t)b->n;
  return FURROW_OK;
}

static furrow_status add_id_map(furrow_index *index, const batch *b, furrow_error *err) {
  void *ids = index->id_map.ids;
  batch inner = *b;
  inner.ids = NULL;
  inner.first_id = index->ntotal;
  FW_TRY(grow_array(&ids, index->ntotal, b->n, sizeof *index->id_map.ids, err));
  index->id_map.ids = ids;
  FW_TRY(add_to(index->child[0], &inner, err));
  for (size_t i = 0; i < b->n; i++) index->id_map.ids[index->ntotal + (int64_t)i] = id_of(b, i);
  index->ntotal += (int64_t)b->n;
  return FURROW_OK;
}

/* The vectors of the storage without links are removed again if the graph fails. */
static furrow_status add_graph(furrow_index *index, const batch *b, furrow_error *err) {
  furrow_index *storage = index->child[0];
  if (storage->ntotal != index->ntotal)
    return fw_fail(err, FURROW_E_STATE, "the storage of the graph has another number of vectors");
  FW_TRY(add_to(storage, b, err));
  const furrow_status status = fw_hnsw_extend(index, FW_HNSW_SEED, b->pool, err);
  if (status != FURROW_OK) storage->ntotal = index->ntotal;
  return status;
}

/* Adds to the refinement first; its new vectors are removed again if the base index fails. */
static furrow_status add_refine(furrow_index *index, const batch *b, furrow_error *err) {
  furrow_index *refinement = index->child[1];
  if (!refinement || fw_index_row_size(refinement) == 0)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "vectors cannot be added: the refinement is %s",
                   refinement ? furrow_index_kind_name(refinement->kind) : "missing");
  if (!ids_go_on(index, b)) return fw_fail(err, FURROW_E_ARGUMENT, "a refined index needs an id map around it for ids");
  int64_t count = refinement->ntotal;
  uint64_t skipped = 0; /* counted by the base index */
  batch inner = *b;
  inner.ids = NULL;
  inner.first_id = index->ntotal;
  inner.skipped = &skipped;
  inner.distances = NULL;
  FW_TRY(add_to(refinement, &inner, err));
  inner.skipped = b->skipped;
  inner.distances = b->distances;
  furrow_status status = add_to(index->child[0], &inner, err);
  if (status == FURROW_OK)
    index->ntotal += (int64_t)b->n;
  else
    refinement->ntotal = count;
  return status;
}

static furrow_status add_transform(furrow_index *index, const batch *b, furrow_error *err) {
  float *moved = NULL;
  furrow_status status = fw_transforms_run(&index->transforms, b->vectors, b->n, (size_t)index->d,
                                           (size_t)index->child[0]->d, b->pool, &moved, err);
  if (status != FURROW_OK) return status;
  batch inner = *b;
  inner.vectors = moved;
  inner.moved = true;
  status = add_to(index->child[0], &inner, err);
  if (status == FURROW_OK) index->ntotal += (int64_t)b->n;
  fw_free(moved);
  return status;
}

static furrow_status add_to(furrow_index *index, const batch *b, furrow_error *err) {
  if (fw_index_is_ivf(index)) return add_ivf(index, b, err);
  if (fw_index_row_size(index) > 0) return add_rows(index, b, err);
  switch (index->kind) {
  case FURROW_INDEX_ID_MAP: return add_id_map(index, b, err);
  case FURROW_INDEX_REFINE: return add_refine(index, b, err);
  case FURROW_INDEX_HNSW: return add_graph(index, b, err);
  case FURROW_INDEX_TRANSFORM: return add_transform(index, b, err);
  default:
    fw_fail(err, FURROW_E_UNSUPPORTED, "vectors cannot be added to an index of the kind %s",
            furrow_index_kind_name(index->kind));
    if (err) fw_error_set_token(err, index->fourcc, 4);
    fw_error_set_hint(err, "Faiss can add them");
    return FURROW_E_UNSUPPORTED;
  }
}

/* ---- The call ------------------------------------------------------------------------------------------- */

typedef struct checking {
  const float *vectors;
  size_t d;
  bool *skip;
} checking;

static furrow_status check_part(void *context, size_t first, size_t count, furrow_error *err) {
  const checking *c = context;
  const size_t bad = furrow_first_invalid_vector(c->vectors + first * c->d, count, c->d);
  return bad < count ? refuse_row(first + bad, err) : FURROW_OK;
}

static furrow_status mark_part(void *context, size_t first, size_t count, furrow_error *err) {
  const checking *c = context;
  (void)err;
  for (size_t i = first; i < first + count; i++)
    c->skip[i] = furrow_first_invalid_vector(c->vectors + i * c->d, 1, c->d) == 0;
  return FURROW_OK;
}

/* Scans the ids of all vectors once; afterwards the index knows the next id. */
static furrow_status find_first_id(furrow_index *index, const furrow_index_add_params *p, size_t n, int64_t *first,
                                   furrow_error *err) {
  *first = index->ntotal;
  if (p->ids || p->count_ids) return FURROW_OK;
  index->next_id = fw_index_next_stored_id(index);
  *first = furrow_index_next_id(index);
  if (*first < 0 || (uint64_t)n > (uint64_t)(FW_IDS_END - *first))
    return fw_fail(err, FURROW_E_ARGUMENT, "the ids below 2^62 are used up: the new vectors need explicit ids");
  return FURROW_OK;
}

/* Updates the next id, if it is known, after n vectors were added. */
static void note_added_ids(furrow_index *index, const int64_t *ids, int64_t first, size_t n) {
  if (index->next_id == 0) return;
  if (!ids && first + (int64_t)n > index->next_id) index->next_id = first + (int64_t)n;
  for (size_t i = 0; ids && i < n; i++)
    if (ids[i] >= index->next_id && ids[i] < FW_IDS_END) index->next_id = ids[i] + 1;
  if (index->next_id < index->ntotal) index->next_id = index->ntotal;
}

/* Fails at the first row that is not finite, or marks such rows in *skip. */
static furrow_status check_rows(const batch *b, size_t d, bool **skip, furrow_error *err) {
  checking c = {.vectors = b->vectors, .d = d};
  void *marks = NULL;
  const furrow_status status = fw_parallel_run(b->pool, b->n, CHECK_PART, check_part, &c, b->skip_nan ? NULL : err);
  if (status == FURROW_OK || !b->skip_nan) return status;
  FW_TRY(fw_alloc(&marks, b->n, sizeof **skip, err));
  *skip = c.skip = marks;
  return fw_parallel_run(b->pool, b->n, CHECK_PART, mark_part, &c, err);
}

/* Other negative ids are accepted, as in Faiss: 64-bit hashes may be negative. But -1 means "no result". */
static furrow_status check_ids(const int64_t *ids, size_t n, furrow_error *err) {
  for (size_t i = 0; ids && i < n; i++)
    if (ids[i] == -1)
      return fw_fail(err, FURROW_E_ARGUMENT, "the id of vector %zu is -1, which stands for no vector in results", i);
  return FURROW_OK;
}

furrow_status furrow_index_add(furrow_index *index, const float *vectors, size_t n,
                               const furrow_index_add_params *params, uint64_t *skipped, furrow_error *err) {
  furrow_index_add_params p;
  furrow_index_add_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_index_add_params, err));
  FW_TRY(fw_index_check_whole(index, err));
  if (!index->trained) return fw_fail(err, FURROW_E_STATE, "the index is not trained yet");
  FW_TRY(check_ids(p.ids, n, err));
  bool *skip = NULL;
  uint64_t count = 0;
  batch b = {.vectors = vectors, .n = n, .ids = p.ids, .skip_nan = p.skip_nan, .skipped = &count};
  FW_TRY(fw_index_finish(index, find_first_id(index, &p, n, &b.first_id, err), err));
  furrow_status status = n > ADD_PART ? fw_parallel_start(&b.pool, p.threads, err) : FURROW_OK;
  if (status == FURROW_OK) status = check_rows(&b, (size_t)index->d, &skip, err);
  b.skip = skip;
  if (status == FURROW_OK && fw_card_is_kept(index->card)) status = FW_ALLOC(&b.distances, n, err);
  if (status == FURROW_OK) status = add_to(index, &b, err);
  if (status == FURROW_OK && b.distances) fw_card_count_vectors(index->card, vectors, n, (size_t)index->d, b.distances);
  if (status == FURROW_OK && skipped) *skipped = count;
  if (status == FURROW_OK) note_added_ids(index, p.ids, b.first_id, n);
  fw_pool_free(b.pool);
  fw_free(skip);
  fw_free(b.distances);
  return fw_index_finish(index, status, err);
}

/* ---- Grouping new vectors by list ----------------------------------------------------------------------- */

enum { FEW = 16 }; /* from this number of lists per vector on, vectors are sorted instead of counting over all lists */

static void add_member(fw_runs *runs, size_t list, uint32_t row) {
  fw_run *last = runs->count > 0 ? &runs->run[runs->count - 1] : NULL;
  if (!last || last->list != list) {
    last = &runs->run[runs->count++];
    *last = (fw_run){.list = list, .first = runs->members};
  }
  last->count++;
  runs->member[runs->members++] = row;
}

static furrow_status sort_rows(fw_runs *runs, const uint32_t *list, size_t n, furrow_error *err) {
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, n, sizeof(uint64_t), err));
  uint64_t *keys = memory;
  for (size_t i = 0; i < n; i++) keys[i] = (uint64_t)list[i] << 32 | i;
  fw_sort_u64(keys, n);
  for (size_t i = 0; i < n; i++)
    if (keys[i] >> 32 != FW_NO_GROUP) add_member(runs, (size_t)(keys[i] >> 32), (uint32_t)keys[i]);
  fw_free(keys);
  return FURROW_OK;
}

static furrow_status count_lists(fw_runs *runs, const uint32_t *list, size_t n, size_t nlist, furrow_error *err) {
  fw_groups groups = {0};
  FW_TRY(fw_groups_create(&groups, nlist, n, err));
  fw_groups_fill(&groups, list, n);
  for (size_t g = 0; g < nlist; g++)
    for (size_t i = 0; i < fw_groups_size(&groups, g); i++) add_member(runs, g, groups.member[groups.start[g] + i]);
  fw_groups_clear(&groups);
  return FURROW_OK;
}

furrow_status fw_runs_create(fw_runs *runs, const uint32_t *list, size_t n, size_t nlist, furrow_error *err) {
  void *member = NULL, *run = NULL;
  furrow_status status = fw_alloc(&member, n, sizeof *runs->member, err);
  if (status == FURROW_OK) status = fw_alloc(&run, n < nlist ? n : nlist, sizeof *runs->run, err);
  fw_runs made = {.member = member, .run = run};
  if (status == FURROW_OK)
    status = n < nlist / FEW ? sort_rows(&made, list, n, err) : count_lists(&made, list, n, nlist, err);
  if (status == FURROW_OK)
    *runs = made;
  else
    fw_runs_clear(&made);
  return status;
}

void fw_runs_clear(fw_runs *runs) {
  fw_free(runs->member);
  fw_free(runs->run);
  *runs = (fw_runs){0};
}
