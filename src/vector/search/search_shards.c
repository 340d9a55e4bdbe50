/* vector/search/search_shards.c: searches an index that consists of several files.
 *
 * The result is the same as for one index with the lists of all shards joined, shard after shard. Each shard returns
 * every vector that was ever among its k best, probe by probe, in the order of its scan. These include all vectors that
 * would enter the sink in a scan of the joined lists, because there the worst key is never above a shard's worst key.
 * So offering them to one sink, probe by probe and shard by shard, gives the result of that scan, including which of
 * equally near vectors are kept.
 *
 * A refinement has a second step: the shards that have the best candidates compute their refined keys. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/input.h"
#include "vector/file/shards_file.h"
#include "vector/index/direct_map.h"
#include "vector/search/searcher.h"

enum { BLOCK_QUERIES = 256 }; /* queries whose candidates are gathered at a time */

typedef struct one_shard {
  char *path;
  furrow_index *index; /* NULL: belongs to another rank, or not loaded */
  furrow_searcher *searcher;
  int64_t before; /* vectors of the preceding shards */
} one_shard;

/* Properties of the index that every rank knows, even without a shard. */
typedef struct shards_facts {
  uint8_t similarity, dense, refines; /* dense: ties are decided by ids that continue from shard to shard */
  uint8_t by_location;                /* ties of candidates are decided by their locations in the lists (IVF_PQR) */
  float k_factor;
  uint64_t nlist;
} shards_facts;

struct furrow_shards {
  const furrow_comm *comm;
  fw_shards_manifest manifest;
  one_shard *shards; /* manifest.count elements */
  shards_facts facts;
  bool loaded;
};

/* ---- Opening -------------------------------------------------------------------------------------------- */

static furrow_status fail_shard(const char *path, furrow_error *err, const char *what) {
  fw_fail(err, FURROW_E_FORMAT, "%s", what);
  fw_error_set_file(err, path);
  return FURROW_E_FORMAT;
}

/* Distributes rank 0's text of the manifest. */
static furrow_status share_text(const furrow_comm *comm, char **text, size_t *size, furrow_error *err) {
  uint64_t bytes = *size;
  FW_TRY(comm->broadcast(comm, &bytes, sizeof bytes, 0, err));
  void *memory = *text;
  furrow_status status = fw_comm_is_first(comm) ? FURROW_OK : fw_alloc(&memory, (size_t)bytes + 1, 1, err);
  *text = memory;
  *size = (size_t)bytes;
  status = fw_comm_all_ok(comm, status, err);
  return status == FURROW_OK ? comm->broadcast(comm, *text, *size, 0, err) : status;
}

static furrow_status read_manifest(furrow_shards *s, const char *path, furrow_error *err) {
  char *text = NULL;
  size_t size = 0;
  furrow_status status = fw_comm_is_first(s->comm) ? fw_path_read_json(&text, &size, path, err) : FURROW_OK;
  status = fw_comm_all_ok(s->comm, status, err);
  if (status == FURROW_OK && s->comm->ranks > 1) status = share_text(s->comm, &text, &size, err);
  if (status == FURROW_OK)
    status = fw_comm_all_ok(s->comm, fw_shards_manifest_parse(&s->manifest, text, size, path, err), err);
  fw_free(text);
  return status;
}

static furrow_status check_bytes(const furrow_shards *s, size_t i, bool digests, furrow_error *err) {
  const fw_shard_entry *entry = &s->manifest.shards[i];
  const char *path = s->shards[i].path;
  struct stat found;
  fw_index_stamp stamp;
  FW_TRY(fw_path_stat(path, &found, err));
  if ((uint64_t)found.st_size != entry->bytes)
    return fail_shard(path, err, "the size of the file differs from the manifest: it was changed or truncated");
  if (!digests) return FURROW_OK;
  FW_TRY(fw_index_stamp_of_file(path, &stamp, err));
  return stamp.digest == entry->digest ? FURROW_OK
                                       : fail_shard(path, err, "the contents of the file differ from the manifest");
}

static furrow_status check_shard(const furrow_shards *s, size_t i, bool quantizers, furrow_error *err) {
  const fw_shard_entry *entry = &s->manifest.shards[i];
  const one_shard *shard = &s->shards[i];
  uint64_t digest = 0;
  if ((uint64_t)shard->index->d != s->manifest.d)
    return fail_shard(shard->path, err, "the dimension differs from the manifest");
  if ((uint64_t)shard->index->ntotal != entry->vectors)
    return fail_shard(shard->path, err, "the number of vectors differs from the manifest");
  FW_TRY(fw_shards_check_kind(shard->index, err));
  if (!quantizers) return FURROW_OK;
  FW_TRY(fw_shards_digest(shard->index, &digest, err));
  return digest == s->manifest.quantizers ? FURROW_OK
                                          : fail_shard(shard->path, err, "the quantizers differ from the manifest");
}

/* An index that was loaded for searching only has no codes to compare. */
static furrow_status load_shard(furrow_shards *s, size_t i, const furrow_shards_params *p, furrow_error *err) {
  one_shard *shard = &s->shards[i];
  furrow_index_load_params load;
  furrow_index_load_params_init(&load);
  FW_TRY(FW_PARAMS_READ(&load, p->load, furrow_index_load_params, err));
  FW_TRY(check_bytes(s, i, p->check_digests, err));
  FW_TRY(furrow_index_load(&shard->index, shard->path, p->load, err));
  return check_shard(s, i, !load.search_only, err);
}

/* Reads the properties from the first shard, which rank 0 has. */
static furrow_status find_facts(furrow_shards *s, furrow_error *err) {
  const furrow_index *index = s->shards[0].index, *ivf = furrow_index_ivf(index);
  s->facts.similarity = fw_metric_is_similarity(ivf->metric);
  s->facts.nlist = ivf->ivf.nlist;
  s->facts.dense = fw_skip_transforms(index)->kind == FURROW_INDEX_ID_MAP;
  s->facts.by_location = ivf->kind == FURROW_INDEX_IVF_PQR;
  for (; index != ivf; index = index->child[0]) {
    if (index->kind != FURROW_INDEX_REFINE) continue;
    if (s->facts.refines || s->facts.by_location)
      return fw_fail(err, FURROW_E_UNSUPPORTED, "shards with two refinements cannot be searched");
    s->facts.refines = true;
    s->facts.k_factor = index->k_factor;
  }
  if (s->facts.by_location) {
    s->facts.refines = true;
    s->facts.k_factor = ivf->ivf.k_factor;
  }
  return FURROW_OK;
}

static bool is_own(const furrow_shards *s, size_t i) {
  return i % s->comm->ranks == s->comm->rank;
}

static furrow_status check_lists(const furrow_shards *s, furrow_error *err) {
  for (size_t i = 0; i < s->manifest.count; i++)
    if (s->shards[i].index && furrow_index_ivf(s->shards[i].index)->ivf.nlist != s->facts.nlist)
      return fail_shard(s->shards[i].path, err, "the number of lists differs from that of the first shard");
  return FURROW_OK;
}

/* Searchers get the lengths of the lists over all shards: see fw_pq_lists_create. */
static furrow_status prepare_searchers(furrow_shards *s, unsigned threads, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = check_lists(s, err);
  if (status == FURROW_OK) status = fw_alloc_zero(&memory, (size_t)s->facts.nlist, sizeof(int64_t), err);
  int64_t *sizes = memory;
  status = fw_comm_all_ok(s->comm, status, err);
  for (size_t i = 0; status == FURROW_OK && i < s->manifest.count; i++)
    for (size_t k = 0; s->shards[i].index && k < s->facts.nlist; k++)
      sizes[k] += (int64_t)fw_lists_size(&furrow_index_ivf(s->shards[i].index)->ivf.lists, k);
  if (status == FURROW_OK) status = fw_comm_sum_i64(s->comm, sizes, (size_t)s->facts.nlist, err);
  for (size_t i = 0; status == FURROW_OK && i < s->manifest.count; i++)
    if (s->shards[i].index)
      status = fw_searcher_create(&s->shards[i].searcher, s->shards[i].index, sizes, threads, err);
  fw_free(sizes);
  return fw_comm_all_ok(s->comm, status, err);
}

static furrow_status load_own(furrow_shards *s, const furrow_shards_params *p, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < s->manifest.count; i++)
    if (is_own(s, i)) status = load_shard(s, i, p, err);
  if (status == FURROW_OK && fw_comm_is_first(s->comm)) status = find_facts(s, err);
  status = fw_comm_all_ok(s->comm, status, err);
  if (status == FURROW_OK && s->comm->ranks > 1)
    status = s->comm->broadcast(s->comm, &s->facts, sizeof s->facts, 0, err);
  if (status == FURROW_OK) status = prepare_searchers(s, p->threads, err);
  s->loaded = status == FURROW_OK;
  return status;
}

static furrow_status name_shards(furrow_shards *s, const char *path, furrow_error *err) {
  void *memory = NULL;
  int64_t before = 0;
  FW_TRY(fw_alloc_zero(&memory, s->manifest.count, sizeof *s->shards, err));
  s->shards = memory;
  for (size_t i = 0; i < s->manifest.count; i++) {
    s->shards[i].before = before;
    before += (int64_t)s->manifest.shards[i].vectors;
    FW_TRY(fw_shards_path(&s->shards[i].path, path, s->manifest.shards[i].file, err));
  }
  return FURROW_OK;
}

furrow_status furrow_shards_open(furrow_shards **shards, const char *path, const furrow_shards_params *params,
                                 furrow_error *err) {
  furrow_shards_params p;
  const furrow_comm *comm = NULL;
  void *memory = NULL;
  furrow_shards_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_shards_params, err));
  FW_TRY(fw_comm_of(&comm, p.comm, err));
  furrow_status status = fw_comm_all_ok(comm, fw_alloc_zero(&memory, 1, sizeof(furrow_shards), err), err);
  furrow_shards *s = memory;
  if (s) s->comm = comm;
  if (status == FURROW_OK) status = read_manifest(s, path, err);
  if (status == FURROW_OK) status = fw_comm_all_ok(comm, name_shards(s, path, err), err);
  if (status == FURROW_OK && !p.manifest_only) status = load_own(s, &p, err);
  return FW_HAND_OVER(status, shards, s, furrow_shards_free);
}

void furrow_shards_free(furrow_shards *shards) {
  if (!shards) return;
  for (size_t i = 0; shards->shards && i < shards->manifest.count; i++) {
    furrow_searcher_free(shards->shards[i].searcher);
    furrow_index_free(shards->shards[i].index);
    fw_free(shards->shards[i].path);
  }
  fw_free(shards->shards);
  fw_shards_manifest_clear(&shards->manifest);
  fw_free(shards);
}

uint64_t fw_shards_memory(const furrow_shards *shards) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < shards->manifest.count; i++)
    if (shards->shards[i].searcher) bytes += furrow_searcher_memory(shards->shards[i].searcher);
  return bytes;
}

const furrow_comm *fw_shards_comm(const furrow_shards *shards) {
  return shards->comm;
}

const furrow_searcher *fw_shards_searcher(const furrow_shards *shards, size_t i) {
  return shards->shards[i].searcher;
}

bool fw_shards_is_similarity(const furrow_shards *shards) {
  return shards->facts.similarity;
}

size_t furrow_shards_count(const furrow_shards *shards) {
  return shards->manifest.count;
}

uint64_t furrow_shards_vectors(const furrow_shards *shards) {
  return shards->manifest.vectors;
}

uint64_t furrow_shards_vectors_of(const furrow_shards *shards, size_t i) {
  return i < shards->manifest.count ? shards->manifest.shards[i].vectors : 0;
}

uint64_t furrow_shards_bytes_of(const furrow_shards *shards, size_t i) {
  return i < shards->manifest.count ? shards->manifest.shards[i].bytes : 0;
}

size_t furrow_shards_dimension(const furrow_shards *shards) {
  return (size_t)shards->manifest.d;
}

const char *furrow_shards_path(const furrow_shards *shards, size_t i) {
  return i < shards->manifest.count ? shards->shards[i].path : NULL;
}

const furrow_index *furrow_shards_index(const furrow_shards *shards, size_t i) {
  return i < shards->manifest.count ? shards->shards[i].index : NULL;
}

/* ---- Candidates of one shard ---------------------------------------------------------------------------- */

/* A vector that was among the best of its shard. */
typedef struct candidate {
  float key;
  uint32_t probe;              /* position of its list among the lists that the query probes */
  int64_t location, id, outer; /* its location in the shard, its id there, and its id in the outermost id map */
} candidate;

typedef struct candidates {
  candidate *list;
  size_t count;
} candidates;

/* The path from a searcher's root to its lists. */
typedef struct node_path {
  const fw_node *ivf, *refine; /* refine: REFINE or IVF_PQR; NULL: none */
  const furrow_index *id_map;  /* NULL: none */
  fw_outer_ids outer;
  fw_search_job job;
  const float *query, *refine_query; /* after the transforms before `ivf` and `refine` */
} node_path;

static furrow_status find_node_path(node_path *w, const fw_node *root, fw_scratch *scratch, const float *query,
                                    const fw_search_job *job, furrow_error *err) {
  *w = (node_path){.ivf = root, .query = query, .job = *job};
  for (; !fw_index_is_ivf(w->ivf->index); w->ivf = w->ivf->child) {
    const furrow_index *index = w->ivf->index;
    if (index->kind == FURROW_INDEX_TRANSFORM) FW_TRY(fw_node_transform(w->ivf, scratch, &w->query, 1, err));
    if (index->kind == FURROW_INDEX_ID_MAP) {
      w->id_map = index;
      w->outer = (fw_outer_ids){.ids = index->id_map.ids, .count = (size_t)index->ntotal};
      w->job.id_filter.outer = &w->outer;
    }
    if (index->kind != FURROW_INDEX_REFINE) continue;
    w->refine = w->ivf;
    w->refine_query = w->query;
  }
  if (w->ivf->index->kind != FURROW_INDEX_IVF_PQR) return FURROW_OK;
  w->refine = w->ivf;
  w->refine_query = w->query;
  return FURROW_OK;
}

typedef struct collecting {
  const one_shard *shard;
  const float *queries;
  size_t k; /* candidates per query */
  candidates *found;
} collecting;

/* Converts hits, whose ids are locations, to candidates. */
static furrow_status take_hits(const node_path *w, const fw_sink *sink, const size_t *ends, candidates *found,
                               furrow_error *err) {
  void *memory = NULL;
  size_t probe = 0;
  FW_TRY(fw_alloc(&memory, sink->hit_count, sizeof *found->list, err));
  *found = (candidates){.list = memory, .count = sink->hit_count};
  for (size_t i = 0; i < sink->hit_count; i++) {
    const int64_t location = sink->hits[i].id;
    while (i >= ends[probe]) probe++;
    const int64_t id =
        fw_list_id(&w->ivf->index->ivf.lists.list[fw_location_list(location)], fw_location_offset(location));
    candidate *c = &found->list[i];
    *c = (candidate){.key = sink->hits[i].key, .probe = (uint32_t)probe, .location = location, .id = id, .outer = id};
    if (w->id_map) FW_TRY(fw_id_map_rename(w->id_map, &c->outer, err));
  }
  return FURROW_OK;
}

static furrow_status collect_query(const collecting *c, size_t i, const fw_search_job *job, fw_scratch *scratch,
                                   furrow_error *err) {
  const size_t d = (size_t)c->shard->index->d, k = fw_heap_size(c->shard->index, c->k);
  node_path w;
  fw_sink sink;
  void *heap = NULL, *ends = NULL;
  FW_TRY(find_node_path(&w, c->shard->searcher->root, scratch, c->queries + i * d, job, err));
  FW_TRY(fw_arena_take(&scratch->arena, &heap, fw_sink_hits(k), sizeof(fw_hit), err));
  FW_TRY(fw_arena_take(&scratch->arena, &ends, fw_probe_count(w.ivf->index, job), sizeof(size_t), err));
  fw_sink_init_many(&sink, heap, k);
  sink.lists = true;
  const bool ids = w.ivf->index->kind != FURROW_INDEX_IVF_PQR;
  furrow_status status = fw_ivf_collect(w.ivf, scratch, w.query, &w.job, ids, &sink, ends, err);
  if (status == FURROW_OK) status = take_hits(&w, &sink, ends, &c->found[i], err);
  fw_free(sink.hits);
  return status;
}

static furrow_status collect_part(void *context, size_t begin, size_t end, const fw_search_job *job,
                                  fw_scratch *scratch, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = begin; status == FURROW_OK && i < end; i++) {
    status = collect_query(context, i, job, scratch, err);
    fw_arena_reset(&scratch->arena);
  }
  return status;
}

/* ---- Exchange between ranks ----------------------------------------------------------------------------- */

/* A block of queries, and their candidates in all shards. */
typedef struct block {
  const furrow_shards *shards;
  const furrow_search_params *params;
  const float *queries;
  size_t n;
  size_t wide, best; /* candidates and results per query, limited by the number of vectors */
  size_t k;          /* results written per query */
  float *distances;
  int64_t *ids;
  candidates *found; /* [shards][n]; for other ranks' shards, views into `received` */
  void *received;    /* NULL: nothing was received */
} block;

static furrow_status pack_candidates(const block *b, char **bytes, size_t *size, furrow_error *err) {
  fw_buffer out = {0};
  for (size_t s = 0; s < b->shards->manifest.count; s++) {
    for (size_t i = 0; is_own(b->shards, s) && i < b->n; i++) {
      const candidates *found = &b->found[s * b->n + i];
      const uint64_t count = found->count;
      fw_buffer_append(&out, &count, sizeof count);
      if (count) fw_buffer_append(&out, found->list, found->count * sizeof *found->list);
    }
  }
  const furrow_status status = fw_buffer_status(&out, err);
  if (status != FURROW_OK) {
    fw_buffer_clear(&out);
    return status;
  }
  *bytes = out.bytes;
  *size = out.size;
  return FURROW_OK;
}

/* Gives every rank the candidates of all shards. The data of the ranks is concatenated in their order. */
static furrow_status share_candidates(block *b, furrow_error *err) {
  const furrow_shards *shards = b->shards;
  const furrow_comm *comm = shards->comm;
  char *bytes = NULL;
  size_t size = 0, total = 0;
  if (comm->ranks == 1) return FURROW_OK;
  furrow_status status = fw_comm_all_ok(comm, pack_candidates(b, &bytes, &size, err), err);
  if (status == FURROW_OK) status = fw_comm_gather_all(comm, bytes, size, &b->received, &total, NULL, err);
  fw_free(bytes);
  if (status != FURROW_OK) return status;
  char *at = b->received;
  for (unsigned r = 0; r < comm->ranks; r++) {
    for (size_t s = r; s < shards->manifest.count; s += comm->ranks) {
      for (size_t i = 0; i < b->n; i++) {
        candidates *found = &b->found[s * b->n + i];
        uint64_t count;
        memcpy(&count, at, sizeof count);
        if (r == comm->rank) fw_free(found->list);
        *found = (candidates){.list = (candidate *)(void *)(at + sizeof count), .count = (size_t)count};
        at += sizeof count + (size_t)count * sizeof *found->list;
      }
    }
  }
  return FURROW_OK;
}

static void block_clear(block *b) {
  for (size_t i = 0; !b->received && b->found && i < b->shards->manifest.count * b->n; i++) fw_free(b->found[i].list);
  fw_free(b->found);
  fw_free(b->received);
}

static furrow_status collect_block(block *b, furrow_error *err) {
  const furrow_shards *shards = b->shards;
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, shards->manifest.count * b->n, sizeof *b->found, err);
  b->found = memory;
  for (size_t s = 0; status == FURROW_OK && s < shards->manifest.count; s++) {
    if (!is_own(shards, s)) continue;
    collecting c = {.shard = &shards->shards[s], .queries = b->queries, .k = b->wide, .found = b->found + s * b->n};
    status = fw_search_parallel(c.shard->searcher, b->queries, b->n, b->wide, b->params, collect_part, &c, err);
  }
  status = fw_comm_all_ok(shards->comm, status, err);
  return status == FURROW_OK ? share_candidates(b, err) : status;
}

/* ---- Merging the candidates of all shards --------------------------------------------------------------- */

/* A candidate and its shard. */
typedef struct merged_candidate {
  const candidate *from;
  size_t shard;
  int64_t tie; /* among equal keys, the larger one is dropped first */
} merged_candidate;

/* The candidates of one query, in the order of the joined scan, and scratch for selecting the best. */
typedef struct candidate_merge {
  merged_candidate *list;
  merged_candidate **by_location_order;
  fw_hit *heap;
  size_t *next; /* for each shard: the next candidate to merge */
  size_t count, capacity, k;
} candidate_merge;

static void merge_clear(candidate_merge *c) {
  fw_free(c->list);
  fw_free(c->by_location_order);
  fw_free(c->heap);
  fw_free(c->next);
  *c = (candidate_merge){0};
}

static furrow_status merge_create(candidate_merge *c, size_t shards, size_t k, furrow_error *err) {
  void *heap = NULL, *next = NULL;
  *c = (candidate_merge){.k = k};
  furrow_status status = fw_alloc(&heap, fw_sink_hits(k), sizeof *c->heap, err);
  c->heap = heap;
  if (status == FURROW_OK) status = fw_alloc(&next, shards, sizeof *c->next, err);
  c->next = next;
  return status;
}

static furrow_status merge_reserve(candidate_merge *c, size_t count, furrow_error *err) {
  void *list = c->list, *locations = c->by_location_order;
  size_t capacity = c->capacity;
  FW_TRY(fw_grow(&list, &capacity, count, sizeof *c->list, err));
  c->list = list;
  FW_TRY(fw_realloc(&locations, capacity, sizeof *c->by_location_order, err));
  c->by_location_order = locations;
  c->capacity = capacity;
  return FURROW_OK;
}

static int by_location_order(const void *a, const void *b) {
  const merged_candidate *x = *(merged_candidate *const *)a, *y = *(merged_candidate *const *)b;
  const size_t p = fw_location_list(x->from->location), q = fw_location_list(y->from->location);
  if (p != q) return p < q ? -1 : 1;
  if (x->shard != y->shard) return x->shard < y->shard ? -1 : 1;
  return x->from->location < y->from->location ? -1 : x->from->location > y->from->location;
}

/* Sets ties by the candidates' locations in the joined lists. */
static void number_locations(const candidate_merge *c) {
  for (size_t i = 0; i < c->count; i++) c->by_location_order[i] = &c->list[i];
  if (c->count > 1) qsort(c->by_location_order, c->count, sizeof(merged_candidate *), by_location_order);
  for (size_t i = 0; i < c->count; i++) c->by_location_order[i]->tie = (int64_t)i;
}

/* Appends the candidates of a probe in one shard. */
static void append_probe(candidate_merge *c, const block *b, size_t query, size_t shard, uint32_t probe) {
  const candidates *found = &b->found[shard * b->n + query];
  const shards_facts *facts = &b->shards->facts;
  for (; c->next[shard] < found->count && found->list[c->next[shard]].probe == probe; c->next[shard]++) {
    const candidate *from = &found->list[c->next[shard]];
    const int64_t id = from->id + (facts->dense ? b->shards->shards[shard].before : 0);
    c->list[c->count++] =
        (merged_candidate){.from = from, .shard = shard, .tie = fw_tie_break_id(id, facts->similarity)};
  }
}

/* Merges the candidates probe by probe, and shard by shard within a probe. */
static furrow_status merge_candidates(candidate_merge *c, const block *b, size_t query, furrow_error *err) {
  const size_t shards = b->shards->manifest.count;
  size_t count = 0;
  uint32_t last = 0;
  for (size_t s = 0; s < shards; s++) {
    const candidates *found = &b->found[s * b->n + query];
    c->next[s] = 0;
    count += found->count;
    if (found->count && found->list[found->count - 1].probe > last) last = found->list[found->count - 1].probe;
  }
  FW_TRY(merge_reserve(c, count, err));
  c->count = 0;
  for (uint32_t probe = 0; probe <= last; probe++)
    for (size_t s = 0; s < shards; s++) append_probe(c, b, query, s, probe);
  if (b->shards->facts.by_location) number_locations(c);
  return FURROW_OK;
}

static int64_t tie_of(const void *context, int64_t i) {
  return ((const merged_candidate *)context)[i].tie;
}

/* Selects the k best, sorted; the sink holds their positions in the list. */
static void select_best(candidate_merge *c, fw_sink *sink) {
  fw_sink_init_many(sink, c->heap, c->k);
  sink->source = (fw_id_source){.id_of = tie_of, .context = c->list};
  for (size_t i = 0; i < c->count; i++) fw_sink_offer(sink, c->list[i].from->key, (int64_t)i);
  fw_sink_sort_locations(sink);
}

/* ---- Refinements ---------------------------------------------------------------------------------------- */

/* The remaining candidates of a query. */
typedef struct best_candidates {
  merged_candidate *list;
  float *keys; /* refined keys, `wide` elements, initially 0 */
  size_t count;
} best_candidates;

static furrow_status keep_best(best_candidates *f, const candidate_merge *c, const fw_sink *sink,
                               const furrow_shards *shards, furrow_error *err) {
  void *list = NULL;
  FW_TRY(fw_alloc(&list, sink->count, sizeof *f->list, err));
  f->list = list;
  f->count = sink->count;
  for (size_t i = 0; i < f->count; i++) {
    merged_candidate *best = &f->list[i];
    *best = c->list[sink->heap[i].id];
    best->tie = fw_tie_break_id(best->from->id + shards->shards[best->shard].before, shards->facts.similarity);
  }
  return FURROW_OK;
}

typedef struct refining {
  size_t shard;
  const furrow_searcher *searcher;
  const float *queries;
  best_candidates *best;
} refining;

static furrow_status refine_one(const node_path *w, fw_scratch *scratch, const candidate *from, float *key,
                                furrow_error *err) {
  if (w->refine == w->ivf) return fw_pqr_key(w->ivf, scratch, w->refine_query, from->location, key, err);
  const furrow_index *refine = w->refine->index->child[1];
  if (from->id < 0 || from->id >= refine->ntotal)
    return fw_fail(err, FURROW_E_FORMAT, "the base has id %lld, but vectors to refine by end before %lld",
                   (long long)from->id, (long long)refine->ntotal);
  void *decoded = NULL;
  if (refine->kind != FURROW_INDEX_FLAT)
    FW_TRY(fw_arena_take(&scratch->arena, &decoded, (size_t)refine->d, sizeof(float), err));
  return fw_refined_key(refine, w->refine_query, from->id, decoded, key, err);
}

static furrow_status refine_query(const refining *r, size_t i, const fw_search_job *job, fw_scratch *scratch,
                                  furrow_error *err) {
  const fw_node *root = r->searcher->root;
  best_candidates *f = &r->best[i];
  node_path w;
  FW_TRY(find_node_path(&w, root, scratch, r->queries + i * (size_t)root->index->d, job, err));
  for (size_t j = 0; j < f->count; j++)
    if (f->list[j].shard == r->shard) FW_TRY(refine_one(&w, scratch, f->list[j].from, &f->keys[j], err));
  return FURROW_OK;
}

static furrow_status refine_part(void *context, size_t begin, size_t end, const fw_search_job *job, fw_scratch *scratch,
                                 furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = begin; status == FURROW_OK && i < end; i++) {
    status = refine_query(context, i, job, scratch, err);
    fw_arena_reset(&scratch->arena);
  }
  return status;
}

/* Every rank computes the keys of its own shards and leaves the others 0, so the sums over all ranks are the keys. */
static furrow_status refine_block(const block *b, best_candidates *all, furrow_error *err) {
  const furrow_shards *shards = b->shards;
  furrow_status status = FURROW_OK;
  for (size_t s = 0; status == FURROW_OK && s < shards->manifest.count; s++) {
    if (!is_own(shards, s)) continue;
    refining r = {.shard = s, .searcher = shards->shards[s].searcher, .queries = b->queries, .best = all};
    status = fw_search_parallel(r.searcher, b->queries, b->n, b->wide, b->params, refine_part, &r, err);
  }
  status = fw_comm_all_ok(shards->comm, status, err);
  return status == FURROW_OK ? fw_comm_sum_f32(shards->comm, all[0].keys, b->n * b->wide, err) : status;
}

/* The candidates are offered in the order of their first keys, as in a single index. */
static void choose_refined(const best_candidates *f, fw_sink *sink, fw_hit *heap, size_t k) {
  fw_sink_init_best(sink, heap, k);
  sink->source = (fw_id_source){.id_of = tie_of, .context = f->list};
  for (size_t i = 0; i < f->count; i++) fw_sink_offer(sink, f->keys[i], (int64_t)i);
  fw_sink_sort_locations(sink);
}

/* ---- Results -------------------------------------------------------------------------------------------- */

static void write_results(const block *b, size_t query, const fw_sink *sink, const merged_candidate *list) {
  const bool similarity = b->shards->facts.similarity;
  float *distances = b->distances + query * b->k;
  int64_t *ids = b->ids + query * b->k;
  for (size_t i = 0; i < b->k; i++) {
    const bool there = i < sink->count;
    const float key = there ? sink->heap[i].key : FLT_MAX;
    distances[i] = similarity ? -key : key;
    ids[i] = there ? list[sink->heap[i].id].from->outer : -1;
  }
}

static furrow_status finish_refined(const block *b, best_candidates *all, furrow_error *err) {
  void *heap = NULL;
  furrow_status status = refine_block(b, all, err);
  if (status == FURROW_OK) status = fw_alloc(&heap, b->best, sizeof(fw_hit), err);
  for (size_t i = 0; status == FURROW_OK && i < b->n; i++) {
    fw_sink sink;
    choose_refined(&all[i], &sink, heap, b->best);
    write_results(b, i, &sink, all[i].list);
  }
  fw_free(heap);
  return status;
}

static furrow_status search_block(block *b, furrow_error *err) {
  const furrow_shards *shards = b->shards;
  candidate_merge c = {0};
  void *memory = NULL, *keys = NULL;
  furrow_status status = collect_block(b, err);
  furrow_status own = status;
  if (own == FURROW_OK) own = merge_create(&c, shards->manifest.count, b->wide, err);
  if (own == FURROW_OK) own = fw_alloc_zero(&memory, b->n, sizeof(best_candidates), err);
  if (own == FURROW_OK && shards->facts.refines) own = fw_alloc_zero(&keys, b->n * b->wide, sizeof(float), err);
  best_candidates *all = memory;
  for (size_t i = 0; own == FURROW_OK && i < b->n; i++) {
    fw_sink sink;
    all[i].keys = keys ? (float *)keys + i * b->wide : NULL;
    own = merge_candidates(&c, b, i, err);
    if (own != FURROW_OK) break;
    select_best(&c, &sink);
    if (shards->facts.refines)
      own = keep_best(&all[i], &c, &sink, shards, err);
    else
      write_results(b, i, &sink, c.list);
  }
  if (status == FURROW_OK) status = fw_comm_all_ok(shards->comm, own, err);
  if (status == FURROW_OK && shards->facts.refines)
    status = fw_comm_all_ok(shards->comm, finish_refined(b, all, err), err);
  for (size_t i = 0; all && i < b->n; i++) fw_free(all[i].list);
  fw_free(all);
  fw_free(keys);
  merge_clear(&c);
  block_clear(b);
  return status;
}

static furrow_status check_search(const furrow_shards *shards, size_t k, furrow_search_params *p,
                                  const furrow_search_params *given, furrow_error *err) {
  furrow_search_params_init(p);
  FW_TRY(FW_PARAMS_READ(p, given, furrow_search_params, err));
  if (!shards->loaded) return fw_fail(err, FURROW_E_STATE, "the shards are not loaded (manifest_only)");
  if (k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "k is 0, but must be positive");
  if (p->max_codes > 0) return fw_fail(err, FURROW_E_UNSUPPORTED, "max_codes cannot limit a search in shards");
  return FURROW_OK;
}

furrow_status furrow_shards_search(const furrow_shards *shards, const float *queries, size_t n, size_t k,
                                   const furrow_search_params *params, float *distances, int64_t *ids,
                                   furrow_error *err) {
  furrow_search_params p;
  const furrow_index whole = {.ntotal = (int64_t)shards->manifest.vectors};
  FW_TRY(fw_comm_all_ok(shards->comm, check_search(shards, k, &p, params, err), err));
  const float factor = !shards->facts.refines ? 0 : p.k_factor > 0 ? p.k_factor : shards->facts.k_factor;
  const size_t wide = fw_heap_size(&whole, fw_expanded_k(&whole, k, factor)), best = fw_heap_size(&whole, k);
  for (size_t first = 0; first < n; first += BLOCK_QUERIES) {
    block b = {.shards = shards,
               .params = &p,
               .queries = queries + first * (size_t)shards->manifest.d,
               .n = n - first < BLOCK_QUERIES ? n - first : BLOCK_QUERIES,
               .wide = wide,
               .best = best,
               .k = k,
               .distances = distances + first * k,
               .ids = ids + first * k};
    FW_TRY(search_block(&b, err));
  }
  return FURROW_OK;
}

/* ---- Range ---------------------------------------------------------------------------------------------- */

/* Stores the results of a shard's range search as candidates. */
static furrow_status take_range(const furrow_range_result *range, candidates *found, furrow_error *err) {
  for (size_t i = 0; i < range->n; i++) {
    const size_t first = (size_t)range->starts[i], count = (size_t)(range->starts[i + 1] - range->starts[i]);
    void *memory = NULL;
    FW_TRY(fw_alloc(&memory, count, sizeof *found->list, err));
    found[i] = (candidates){.list = memory, .count = count};
    for (size_t j = 0; j < count; j++)
      found[i].list[j] = (candidate){.key = range->distances[first + j], .outer = range->ids[first + j]};
  }
  return FURROW_OK;
}

static furrow_status range_of_shards(block *b, float radius, furrow_error *err) {
  const furrow_shards *shards = b->shards;
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, shards->manifest.count * b->n, sizeof *b->found, err);
  b->found = memory;
  for (size_t s = 0; status == FURROW_OK && s < shards->manifest.count; s++) {
    furrow_range_result *range = NULL;
    if (!is_own(shards, s)) continue;
    status = furrow_searcher_search_range(shards->shards[s].searcher, b->queries, b->n, radius, b->params, &range, err);
    if (status == FURROW_OK) status = take_range(range, b->found + s * b->n, err);
    furrow_range_result_free(range);
  }
  status = fw_comm_all_ok(shards->comm, status, err);
  return status == FURROW_OK ? share_candidates(b, err) : status;
}

static furrow_status join_range(const block *b, size_t query, fw_range_hits *all, furrow_error *err) {
  void *memory = NULL;
  size_t count = 0;
  for (size_t s = 0; s < b->shards->manifest.count; s++) count += b->found[s * b->n + query].count;
  FW_TRY(fw_alloc(&memory, count, sizeof *all->hits, err));
  *all = (fw_range_hits){.hits = memory};
  for (size_t s = 0; s < b->shards->manifest.count; s++) {
    const candidates *found = &b->found[s * b->n + query];
    for (size_t i = 0; i < found->count; i++) {
      const float key = b->shards->facts.similarity ? -found->list[i].key : found->list[i].key;
      all->hits[all->count++] = (fw_hit){.key = key, .id = found->list[i].outer};
    }
  }
  fw_hits_sort_by_id(all->hits, all->count);
  return FURROW_OK;
}

furrow_status furrow_shards_search_range(const furrow_shards *shards, const float *queries, size_t n, float radius,
                                         const furrow_search_params *params, furrow_range_result **result,
                                         furrow_error *err) {
  block b = {.shards = shards, .params = params, .queries = queries, .n = n};
  void *memory = NULL;
  if (!shards->loaded) return fw_fail(err, FURROW_E_STATE, "the shards are not loaded (manifest_only)");
  furrow_status status = range_of_shards(&b, radius, err);
  if (status == FURROW_OK) status = fw_alloc_zero(&memory, n, sizeof(fw_range_hits), err);
  fw_range_hits *all = memory;
  for (size_t i = 0; status == FURROW_OK && i < n; i++) status = join_range(&b, i, &all[i], err);
  if (status == FURROW_OK) status = fw_range_result_make(all, n, shards->facts.similarity, result, err);
  for (size_t i = 0; all && i < n; i++) fw_free(all[i].hits);
  fw_free(all);
  block_clear(&b);
  return status;
}
