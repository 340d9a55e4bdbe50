/* vector/search/searcher.c: prepares an index for searching. */
#include "vector/search/searcher.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "furrow/attributes.h"
#include "furrow/vector_data.h"
#include "io/file_map.h"
#include "vector/data/parallel.h"
#include "vector/index/inverted_lists.h"
#include "vector/quantizer/transform.h"

/* ---- Nodes ---------------------------------------------------------------------------------------------- */

/* The parameters of the preparation. */
typedef struct preparing {
  fw_pool *pool;
  const int64_t *list_sizes; /* as in fw_pq_lists_create */
} preparing;

static furrow_status fill_ivf(fw_node *node, const preparing *p, furrow_error *err) {
  const furrow_index *index = node->index;
  FW_TRY(fw_coarse_create(&node->coarse, index->child[0], err));
  FW_TRY(fw_list_positions(&node->coarse, &node->list_positions, err));
  if (fw_index_pq(index)) FW_TRY(fw_pq_lists_create(&node->pq, index, &node->coarse, p->list_sizes, p->pool, err));
  return FURROW_OK;
}

static furrow_status create_node(fw_node **node, const furrow_index *index, const preparing *p, furrow_error *err);

static furrow_status fill_node(fw_node *node, const preparing *p, furrow_error *err) {
  const furrow_index *index = node->index;
  switch (index->kind) {
  case FURROW_INDEX_FLAT:
  case FURROW_INDEX_SQ: return FURROW_OK;
  case FURROW_INDEX_HNSW: /* codes are made for little memory, rounded vectors would take more */
    if (index->child[0]->kind != FURROW_INDEX_FLAT) return FURROW_OK;
    return fw_rounded_create(&node->rounded, index->child[0], p->pool, err);
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST: return fw_pq_lists_create(&node->pq, index, NULL, NULL, p->pool, err);
  case FURROW_INDEX_REFINE:
  case FURROW_INDEX_TRANSFORM:
  case FURROW_INDEX_ID_MAP: return create_node(&node->child, index->child[0], p, err);
  default: return fill_ivf(node, p, err);
  }
}

static void free_node(fw_node *node) {
  if (!node) return;
  free_node(node->child);
  fw_coarse_clear(&node->coarse);
  fw_free(node->list_positions);
  fw_pq_lists_clear(&node->pq);
  fw_rounded_clear(&node->rounded);
  fw_free(node);
}

static furrow_status create_node(fw_node **node, const furrow_index *index, const preparing *p, furrow_error *err) {
  fw_node *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->index = index;
  const furrow_status status = fill_node(made, p, err);
  return FW_HAND_OVER(status, node, made, free_node);
}

static uint64_t node_memory(const fw_node *node) {
  if (!node) return 0;
  return sizeof *node + fw_coarse_memory(&node->coarse) + node->pq.memory + node->rounded.n * node->rounded.stride +
         node_memory(node->child);
}

/* ---- Scratch memory ------------------------------------------------------------------------------------- */

furrow_status fw_scratch_create(fw_scratch **scratch, furrow_error *err) {
  void *memory = NULL;
  const furrow_status status = fw_alloc_zero(&memory, 1, sizeof **scratch, err);
  if (status == FURROW_OK) *scratch = memory;
  return status;
}

void fw_scratch_free(fw_scratch *scratch) {
  if (!scratch) return;
  fw_arena_clear(&scratch->arena);
  fw_free(scratch->visited);
  fw_free(scratch->touched);
  fw_free(scratch);
}

furrow_status fw_scratch_marks(fw_scratch *scratch, size_t n, furrow_error *err) {
  if (n <= scratch->visited_count) return FURROW_OK;
  void *visited = NULL, *touched = NULL;
  furrow_status status = fw_alloc_zero(&visited, n, 1, err);
  if (status == FURROW_OK) status = fw_alloc(&touched, n + 1, sizeof *scratch->touched, err);
  if (status != FURROW_OK) {
    fw_free(visited);
    return status;
  }
  fw_free(scratch->visited);
  fw_free(scratch->touched);
  scratch->visited = visited;
  scratch->touched = touched;
  scratch->visited_count = n;
  return FURROW_OK;
}

/* ---- The store ------------------------------------------------------------------------------------------ */

furrow_status fw_searcher_borrow(const furrow_searcher *searcher, fw_scratch **scratch, furrow_error *err) {
  fw_searcher_store *store = searcher->store;
  pthread_mutex_lock(&store->lock);
  fw_scratch *found = store->idle;
  if (found) store->idle = found->next;
  pthread_mutex_unlock(&store->lock);
  if (!found) return fw_scratch_create(scratch, err);
  *scratch = found;
  return FURROW_OK;
}

void fw_searcher_give_back(const furrow_searcher *searcher, fw_scratch *scratch) {
  fw_searcher_store *store = searcher->store;
  if (!scratch) return;
  fw_arena_reset(&scratch->arena);
  pthread_mutex_lock(&store->lock);
  scratch->next = store->idle;
  store->idle = scratch;
  pthread_mutex_unlock(&store->lock);
}

/* The first call decides the number of threads; searches do not rely on it. */
furrow_status fw_searcher_pool(const furrow_searcher *searcher, unsigned threads, fw_pool **pool, furrow_error *err) {
  fw_searcher_store *store = searcher->store;
  furrow_status status = FURROW_OK;
  pthread_mutex_lock(&store->lock);
  if (!store->pool) status = fw_pool_create(&store->pool, threads > 1 ? threads - 1 : 1, err);
  if (status == FURROW_OK) *pool = store->pool;
  pthread_mutex_unlock(&store->lock);
  return status;
}

static void free_store(fw_searcher_store *store) {
  if (!store) return;
  while (store->idle) {
    fw_scratch *scratch = store->idle;
    store->idle = scratch->next;
    fw_scratch_free(scratch);
  }
  fw_pool_free(store->pool);
  pthread_mutex_destroy(&store->lock);
  fw_free(store);
}

/* ---- The searcher --------------------------------------------------------------------------------------- */

/* The number of vectors from which on several threads prepare the lists. */
enum { MANY_VECTORS = 20000 };

static furrow_status create_root(fw_node **root, const furrow_index *index, const int64_t *list_sizes, unsigned threads,
                                 furrow_error *err) {
  preparing p = {.list_sizes = list_sizes};
  furrow_status status = fw_index_check_searchable(index, err);
  if (status == FURROW_OK && threads > 1 && index->ntotal >= MANY_VECTORS)
    status = fw_pool_create(&p.pool, threads - 1, err);
  if (status == FURROW_OK) status = create_node(root, index, &p, err);
  fw_pool_free(p.pool);
  return status;
}

/* Codes that were copied from a mapped file are no longer needed there, so their pages are released. A later access
 * reads them from the file again. */
static void release_codes(const furrow_index *index) {
  const furrow_index *ivf = furrow_index_ivf(index);
  if (!index->map || !ivf || ivf->kind != FURROW_INDEX_IVF_PQ || ivf->ivf.pq.nbits > 8 || !ivf->ivf.lists.list) return;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), map = (uintptr_t)fw_file_map_bytes(index->map);
  for (size_t i = 0; i < ivf->ivf.nlist; i++) {
    const fw_list *list = &ivf->ivf.lists.list[i];
    const uintptr_t begin = ((uintptr_t)list->codes + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)list->codes + list->size * ivf->ivf.code_size) / page * page;
    if (list->capacity == 0 && begin < end && begin >= map && end <= map + fw_file_map_size(index->map))
      (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
  }
}

furrow_status fw_searcher_create(furrow_searcher **searcher, const furrow_index *index, const int64_t *list_sizes,
                                 unsigned threads, furrow_error *err) {
  void *memory = NULL, *store = NULL;
  fw_node *root = NULL;
  furrow_status status = create_root(&root, index, list_sizes, fw_thread_count(threads), err);
  if (status == FURROW_OK) status = fw_alloc_zero(&memory, 1, sizeof **searcher, err);
  if (status == FURROW_OK) status = fw_alloc_zero(&store, 1, sizeof(fw_searcher_store), err);
  status = fw_index_finish(index, status, err);
  if (status != FURROW_OK) {
    fw_free(store);
    fw_free(memory);
    free_node(root);
    return status;
  }
  *searcher = memory;
  **searcher = (furrow_searcher){.index = index, .root = root, .store = store};
  pthread_mutex_init(&(*searcher)->store->lock, NULL);
  release_codes(index);
  return FURROW_OK;
}

furrow_status furrow_searcher_create(furrow_searcher **searcher, const furrow_index *index,
                                     const furrow_searcher_params *params, furrow_error *err) {
  furrow_searcher_params p;
  furrow_searcher_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_searcher_params, err));
  return fw_searcher_create(searcher, index, NULL, p.threads, err);
}

void furrow_searcher_free(furrow_searcher *searcher) {
  if (!searcher) return;
  free_store(searcher->store);
  free_node(searcher->root);
  furrow_shards_free(searcher->shards);
  furrow_index_free(searcher->loaded);
  furrow_id_names_free(searcher->names);
  furrow_attributes_free(searcher->attributes);
  fw_free(searcher);
}

uint64_t furrow_searcher_memory(const furrow_searcher *searcher) {
  return sizeof *searcher + (searcher->shards ? fw_shards_memory(searcher->shards) : node_memory(searcher->root));
}
