/* vector/index/index.h: an index in memory: a tree of indexes, each with a header and the parts of its kind.
 *
 * Comments give the names that Faiss uses if they differ. All arrays belong to the index that points at them, except
 * codes and ids of lists, which may be views (struct fw_list). */
#ifndef FW_VECTOR_INDEX_INDEX_H
#define FW_VECTOR_INDEX_INDEX_H

#include "base/endian.h"
#include "furrow/vector.h"
#include "vector/quantizer/assign.h"
#include "vector/quantizer/pq.h"
#include "vector/quantizer/sq.h"
#include "vector/quantizer/transform.h"

#define FW_INDEX_DUMMY (1 << 20) /* both unused header numbers, as every release of Faiss writes them */
#define FW_INDEX_MAX_D (1 << 20)
#define FW_NO_OFFSET UINT64_MAX /* ilod: a list that was never used */

/* ---- Inverted lists ---- */

/* codes: size * code_size bytes. ids: size little-endian i64 at any address (fw_list_id).
 * capacity 0: a view into a slab, the mapped file or the data file. capacity > 0: the list owns both arrays, which have
 * this capacity in vectors. A list gets its own arrays before it grows or changes. */
typedef struct fw_list {
  uint8_t *codes, *ids;
  size_t size, capacity;
} fw_list;

static inline int64_t fw_list_id(const fw_list *list, size_t i) {
  return (int64_t)fw_get_le64(list->ids + 8 * i);
}

typedef enum fw_sizes_form {
  FW_SIZES_BY_RULE, /* full if more than half (nlist / 2) of the lists have vectors */
  FW_SIZES_FULL,    /* read from a file that does not follow the rule, and kept */
  FW_SIZES_SPARSE
} fw_sizes_form;

/* A list in the data file of ilod: capacity * code_size bytes of codes at offset, followed by capacity * 8 bytes of
 * ids. */
typedef struct fw_disk_list {
  uint64_t size, capacity, offset;
} fw_disk_list;

typedef struct fw_disk_slot {
  uint64_t offset, capacity; /* in bytes */
} fw_disk_slot;

/* The contents of ilod, kept as they were read. Slots (free ranges of bytes) are wrong in real files: nothing may rely
 * on them. */
typedef struct fw_disk {
  fw_disk_list *lists; /* nlist elements */
  size_t slot_count;
  fw_disk_slot *slots;
  char *file_name; /* ends with a 0 */
  size_t file_name_size;
  char *path; /* path of the data file, even if it is missing; NULL: unknown */
  uint64_t total_size;
  struct fw_file_map *map; /* the mapped data file; NULL: not mapped */
  struct fw_input *held;   /* lists are views into its memory; NULL: none */
  bool missing;            /* the data file is missing: lists have sizes but no contents */
} fw_disk;

typedef struct fw_lists {
  furrow_lists_kind kind;
  size_t nlist;
  size_t code_size;            /* BLOCKS: 0 */
  bool packed;                 /* codes are in blocks (vector/index/pack_codes.h), which only a searcher reads, */
  struct fw_code_order *order; /* renumbered by `order`; NULL: not renumbered */
  fw_list *list;               /* nlist elements; NULL: all lists are empty */
  uint8_t *codes, *ids;        /* slabs that lists may be views into; may be NULL */
  fw_sizes_form sizes_form;    /* INLINE */
  fw_disk *disk;               /* ON_DISK, otherwise NULL */
  struct fw_file_map
      *map; /* the map that lists may be views into, owned by the outermost index or by disk; NULL: none */
  /* BLOCKS (FastScan): the codes of a list are ceil(size / block_vectors) blocks of block_bytes */
  size_t block_vectors, block_bytes;
} fw_lists;

static inline size_t fw_lists_size(const fw_lists *lists, size_t i) {
  return lists->list ? lists->list[i].size : 0;
}
/* The size of the codes of list i in bytes. */
size_t fw_lists_code_bytes(const fw_lists *lists, size_t i);
/* The number of vectors in all lists. */
uint64_t fw_lists_stored(const fw_lists *lists);

/* Whether ilar states the sizes of all lists (full), not only of non-empty ones (sprs). */
bool fw_lists_are_full(const fw_lists *lists);

/* An id and its location: list << 32 | offset; negative: none. */
typedef struct fw_id_location {
  int64_t id, location;
} fw_id_location;

typedef struct fw_direct_map {
  furrow_direct_map type;
  size_t count;
  int64_t *locations;    /* ARRAY: for ids 0 … count-1 */
  fw_id_location *pairs; /* HASHTABLE: in the order of the file, which is the order of Faiss's hash table */
} fw_direct_map;

/* ---- Kinds ---- */

typedef struct fw_flat {
  float *vectors; /* ntotal * d floats */
} fw_flat;

/* The graph in the layout of Faiss: vector i is on levels 0 … levels[i]-1; its links on level l are
 * neighbors[offsets[i] + cum[l] … offsets[i] + cum[l+1] - 1]; -1 marks a free slot. */
typedef struct fw_hnsw {
  size_t proba_count;
  double *probas;   /* assign_probas: probabilities of a new vector's top level */
  size_t cum_count; /* maximal number of levels, + 1 */
  int32_t *cum;     /* cum_nneighbor_per_level */
  int32_t *levels;
  uint64_t *offsets; /* ntotal + 1 elements */
  int32_t *neighbors;
  int32_t entry_point, max_level, ef_construction, ef_search, upper_beam;
} fw_hnsw;

typedef struct fw_ivf {
  size_t nlist, nprobe;
  fw_direct_map direct_map;
  fw_lists lists;
  size_t code_size; /* per vector, also for BLOCKS */
  bool by_residual;
  fw_pq pq; /* IVF_PQ, IVF_PQR, IVF_PQ_FAST */
  /* IVF_PQR: codes of the difference between a vector and its first code, by id */
  fw_pq refine_pq;
  size_t refine_size; /* in bytes */
  uint8_t *refine_codes;
  float k_factor;
  fw_sq sq; /* IVF_SQ */
  /* IVF_PQ_FAST: vectors per block, sub-quantizers rounded up to even, and two search settings */
  int32_t bbs, implem;
  size_t m2, qbs2;
} fw_ivf;

typedef struct fw_pq_index {
  fw_pq pq;
  uint8_t *codes;  /* ntotal codes; NULL for MULTI. PQ_FAST: in blocks only in its file */
  uint8_t *packed; /* the same in blocks (vector/index/pack_codes.h) instead of codes; NULL: codes are not packed */
  void *packed_memory;
  struct fw_code_order *order; /* the numbering of packed codes */
  int32_t search_type, polysemous_ht;
  bool encode_signs;
  int32_t bbs, implem, qbs; /* PQ_FAST: vectors per block, and two search settings */
} fw_pq_index;

typedef struct fw_sq_index {
  fw_sq sq;
  uint8_t *codes; /* ntotal codes */
} fw_sq_index;

typedef struct fw_id_map {
  int64_t *ids; /* ntotal elements */
} fw_id_map;

/* ---- The index ---- */

#define FW_INDEX_CHILDREN 2

/* The quantizers of an index, prepared for adding vectors. They are kept with the index, so that adding vectors one at
 * a time costs no more per vector than adding many. Trained quantizers do not change. */
typedef struct fw_encoder {
  fw_assigner assigner;            /* IVF kinds */
  fw_pq_coder coder, refine_coder; /* empty if the index has no such quantizer */
} fw_encoder;

struct furrow_index {
  furrow_index_kind kind;
  char fourcc[4];       /* for writing */
  char read_as[4];      /* the fourcc in the file; legacy kinds have another one */
  uint64_t file_offset; /* offset of the fourcc in its file */
  int32_t d;
  int64_t ntotal;
  int64_t dummy[2]; /* FW_INDEX_DUMMY */
  bool trained;
  bool search_only; /* codes may be packed (fw_lists.packed), so only a searcher may read them */
  furrow_distance_metric metric;
  float metric_arg;
  furrow_index *child[FW_INDEX_CHILDREN]; /* named in index_kinds.c; NULL: none, or stored as null */
  union {
    fw_flat flat;
    fw_hnsw hnsw;
    fw_pq_index pq;
    fw_sq_index sq;
    fw_ivf ivf;
    fw_id_map id_map;
    fw_transforms transforms;
    float k_factor; /* REFINE */
  };
  int64_t next_id;         /* outermost index: one more than its largest id below FW_IDS_END; 0: unknown */
  int64_t least_id;        /* outermost index: smaller ids are not given to new vectors; 0: all are free */
  fw_encoder *encoder;     /* IVF_*, PQ, PQ_FAST: the quantizers prepared for adding; NULL: nothing was added yet */
  struct fw_file_map *map; /* outermost index: the file that lists are views into; NULL: none */
  struct fw_input *held;   /* the same for a file that is held in memory */
  struct fw_card *card; /* outermost index: what it was built from (vector/index/index_card.h); NULL: it has no card */
};

/* the fourcc of a missing index */
#define FW_FOURCC_NULL "null"

static inline bool fw_index_is_ivf(const furrow_index *index) {
  return index->kind >= FURROW_INDEX_IVF_FLAT && index->kind <= FURROW_INDEX_IVF_PQ_FAST;
}
/* Returns the product quantizer of an index, index->ivf.pq or index->pq.pq; NULL if its kind has none. */
const fw_pq *fw_index_pq(const furrow_index *index);
/* Returns the scalar quantizer of an index, index->ivf.sq or index->sq.sq; NULL if its kind has none. */
const fw_sq *fw_index_sq(const furrow_index *index);

/* Kinds that store one row for each vector, a vector or its code, in the order of ids: FLAT, PQ, SQ, PQ_FAST. */

/* The size of a row in bytes; 0 if the kind has no rows. */
size_t fw_index_row_size(const furrow_index *index);
/* ntotal rows; NULL if there are none. */
void *fw_index_rows(const furrow_index *index);
/* Replaces the rows, for example after they were reallocated. */
void fw_index_set_rows(furrow_index *index, void *rows);

/* Creates an index of a kind with d, metric, fourcc and the common header fields, without vectors or parts. */
furrow_status fw_index_create(furrow_index **index, furrow_index_kind kind, int32_t d, furrow_distance_metric metric,
                              furrow_error *err) FURROW_MUST_USE;
/* Fails with E_STATE if the index was loaded with search_only. Every function that reads codes or changes the index
 * calls this first. */
furrow_status fw_index_check_whole(const furrow_index *index, furrow_error *err) FURROW_MUST_USE;
/* Fails if a searcher refuses the index. E_STATE: it is not trained, or has no quantizer or no lists; E_UNSUPPORTED or
 * E_FORMAT: its parts are of kinds that are not searched, or do not belong together. */
furrow_status fw_index_check_searchable(const furrow_index *index, furrow_error *err) FURROW_MUST_USE;
/* Every function that reads codes or ids of lists ends with this. Returns `status`, or E_IO if a mapped file was
 * shortened in the meantime, so that the data that was read is invalid. */
furrow_status fw_index_finish(const furrow_index *index, furrow_status status, furrow_error *err) FURROW_MUST_USE;
/* Allocates lists->list, nlist empty lists, unless it exists. */
furrow_status fw_lists_allocate(fw_lists *lists, furrow_error *err) FURROW_MUST_USE;

void fw_lists_clear(fw_lists *lists);

/* ---- Quantizers of an index, prepared for new vectors ---- */

/* Creates an assigner over a coarse quantizer, which it borrows. Fails with E_UNSUPPORTED for other kinds. */
furrow_status fw_assigner_create(fw_assigner *assigner, const furrow_index *quantizer,
                                 furrow_error *err) FURROW_MUST_USE;
/* Returns the encoder of an IVF or PQ index, prepared for n vectors; the first call creates it. */
furrow_status fw_encoder_get(furrow_index *index, const float *vectors, size_t n, const fw_encoder **encoder,
                             furrow_error *err) FURROW_MUST_USE;

/* ---- Ids ---- */

/* The index itself, or the one inside its transforms; its ids are the ids of the results. */
static inline const furrow_index *fw_skip_transforms(const furrow_index *index) {
  while (index->kind == FURROW_INDEX_TRANSFORM) index = index->child[0];
  return index;
}

/* Vectors that are added without ids get smaller ids. Larger ids, such as hashes, are reserved for callers: such an id
 * does not use up all smaller ids. */
#define FW_IDS_END ((int64_t)1 << 62)

/* Whether the ids of the index are 0, 1, 2 …: then a removed id is not left free. */
bool fw_index_counts_ids(const furrow_index *index);
/* Returns the next id by the ids that the index has now, at most FW_IDS_END. Scans them, unless they are known. */
int64_t fw_index_next_stored_id(const furrow_index *index);

/* Whether ids must be 0 … ntotal-1, because vectors or codes are stored in that order. An id map has explicit ids; the
 * ids of the index inside it are dense. */
static inline bool fw_index_has_dense_ids(const furrow_index *index) {
  index = fw_skip_transforms(index);
  return (!fw_index_is_ivf(index) && index->kind != FURROW_INDEX_ID_MAP) || index->kind == FURROW_INDEX_IVF_PQR;
}

/* Like furrow_index_reconstruct, but after a failure the contents of `vector` are undefined. For a coarse quantizer, id
 * is the list. */
furrow_status fw_reconstruct(const furrow_index *index, int64_t id, float *vector, furrow_error *err) FURROW_MUST_USE;
/* Decodes the vector at a location of the lists, without the refinement of IVF_PQR; `scratch` has d floats. */
furrow_status fw_ivf_decode(const furrow_index *index, int64_t location, float *vector, float *scratch,
                            furrow_error *err) FURROW_MUST_USE;

/* ---- Kinds in files ---- */

typedef struct fw_index_name {
  char fourcc[5];
  furrow_index_kind kind;
  char written_as[5]; /* the fourcc that replaces a legacy one; otherwise the same */
} fw_index_name;

/* Finds the name with a fourcc (4 bytes); NULL if Furrow does not read that kind. */
const fw_index_name *fw_index_named(const char *fourcc);
/* The name of a new index of this kind. */
const fw_index_name *fw_index_name_of(furrow_index_kind kind, furrow_distance_metric metric);
/* The fourcc of an HNSW graph around a storage; NULL if a graph cannot be around such an index. */
const char *fw_hnsw_fourcc(const furrow_index *storage);
/* Describes a fourcc that Faiss reads but Furrow does not; NULL if Faiss does not know it, either. */
const char *fw_index_unsupported(const char *fourcc);

#endif
