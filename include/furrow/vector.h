/* furrow/vector.h: vector indexes as Faiss stores them.
 *
 * An index file is one index with others inside of it: an IVF index has a coarse quantizer, a transform or an id map
 * has the index behind it. What a file holds, byte by byte: docs/formats/faiss-ivfpq.md.
 *
 * The shortest use: what is in a file.
 *
 *   furrow_index *index = NULL;
 *   furrow_error err;
 *   furrow_index_info info;
 *   if (furrow_index_load(&index, "items.index", NULL, &err) == FURROW_OK) {
 *     furrow_index_get_info(index, &info);
 *     printf("%s, %lld vectors\n", furrow_index_kind_name(info.kind), (long long)info.ntotal);
 *   }
 *   furrow_index_free(index);
 *
 * Files are not trusted: every number is checked against the others and against the bytes that are there, before
 * memory is taken for it. What Faiss would read and then search with wrong strides is refused with the byte and the
 * field to blame.
 *
 * Threads: functions that take a const handle may run at once on one handle; anything else needs exclusive use of
 * it. Different handles are independent.
 */
#ifndef FURROW_VECTOR_H
#define FURROW_VECTOR_H

#include <stdbool.h>

#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Kinds and metrics ---------------------------------------------------------------------------------- */

/* X(name, text): what an index is. Names of children, in order, are those of furrow_index_child_name. */
#define FURROW_INDEX_KINDS(X)                                             \
  X(FLAT, "flat vectors")                                                 \
  X(HNSW, "HNSW graph over flat vectors")                                 \
  X(PQ, "product quantizer codes")                                        \
  X(MULTI, "multi-index quantizer")                                       \
  X(IVF_FLAT, "inverted lists of vectors")                                \
  X(IVF_PQ, "inverted lists of product quantizer codes")                  \
  X(IVF_PQR, "inverted lists of product quantizer codes with refinement") \
  X(IVF_SQ, "inverted lists of scalar quantizer codes")                   \
  X(IVF_PQ_FAST, "inverted lists of 4-bit codes in blocks")               \
  X(ID_MAP, "ids of one's own for another index")                         \
  X(TRANSFORM, "transforms before another index")                         \
  X(REFINE, "another index, refined by a second one")

typedef enum furrow_index_kind {
#define FURROW_X(name, text) FURROW_INDEX_##name,
  FURROW_INDEX_KINDS(FURROW_X)
#undef FURROW_X
} furrow_index_kind;

/* "flat vectors" …; "?" for a value that is no kind. */
FURROW_API const char *furrow_index_kind_name(furrow_index_kind kind);

/* X(name, number in files, text) */
#define FURROW_DISTANCE_METRICS(X)          \
  X(IP, 0, "inner product")                 \
  X(L2, 1, "L2")                            \
  X(L1, 2, "L1")                            \
  X(LINF, 3, "Linf")                        \
  X(LP, 4, "Lp")                            \
  X(CANBERRA, 20, "Canberra")               \
  X(BRAY_CURTIS, 21, "Bray-Curtis")         \
  X(JENSEN_SHANNON, 22, "Jensen-Shannon")   \
  X(JACCARD, 23, "Jaccard")                 \
  X(NAN_EUCLIDEAN, 24, "L2 that skips NaN") \
  X(GOWER, 25, "Gower")

typedef enum furrow_distance_metric {
#define FURROW_X(name, number, text) FURROW_METRIC_##name = number,
  FURROW_DISTANCE_METRICS(FURROW_X)
#undef FURROW_X
} furrow_distance_metric;

/* "inner product", "L2" …; NULL for a number that is no metric. */
FURROW_API const char *furrow_distance_metric_name(furrow_distance_metric metric);

/* ---- Files ---------------------------------------------------------------------------------------------- */

/* An index and all that is inside of it. */
typedef struct furrow_index furrow_index;

typedef struct furrow_index_load_params {
  bool map;            /* false. true: codes and ids of lists (ilar, ilod) stay in the file, which must not change */
  bool allow_trailing; /* false. true: bytes behind the index are no fault (Faiss passes over them) */
  const char *lists;   /* the data file of lists on disk (ilod); NULL: the base name that the index stores, looked for
                          beside the index. A stored path is never followed anywhere else. Opened for reading only */
  bool lists_optional; /* false. true: where that data file is missing, lists have sizes but no contents */
  bool search_only;    /* false. true: codes of product quantizers are laid out as a searcher needs them, which then
                          makes no copy. The index can be searched and asked what it is; whatever needs its codes
                          (saving, changing, decoding) gives E_STATE. No difference with `map`, or above 8 bits */
} furrow_index_load_params;

FURROW_API void furrow_index_load_params_init(furrow_index_load_params *params);

/* Reads an index file. E_NOT_FOUND: no such file (or the data file of its lists). E_FORMAT: it is no index, is cut
 * short, or contradicts itself; the error has the byte and the field ("quantizer/d is …"). E_UNSUPPORTED: an index of
 * Faiss's that is not read here; the token is its fourcc. params NULL: the defaults. Memory: about the file's size at
 * most, without lists when they are mapped. */
FURROW_API furrow_status furrow_index_load(furrow_index **index, const char *path,
                                           const furrow_index_load_params *params, furrow_error *err) FURROW_MUST_USE;
/* The same from bytes; `name` is for errors and for the folder of a data file (NULL: none, then ilod needs
 * params->lists). params->map: lists borrow the bytes, which must outlive the index. */
FURROW_API furrow_status furrow_index_read(furrow_index **index, const void *bytes, size_t size, const char *name,
                                           const furrow_index_load_params *params, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
FURROW_API void furrow_index_free(furrow_index *index);

typedef struct furrow_index_save_params {
  bool inline_lists;  /* false: lists on disk (ilod) stay in their data file, which the index names as before.
                         true: they become part of the file (ilar) */
  bool keep_existing; /* false. true: E_EXISTS where there is a file of that name */
  const char *compat; /* NULL. "1.6.3": the file is also for that release of Faiss, which may want older layouts.
                         "1.0": for Faiss of before 2018-02, when it had no numbers (IvPQ …) */
} furrow_index_save_params;

FURROW_API void furrow_index_save_params_init(furrow_index_save_params *params);

/* Writes an index file, whole or not at all; "-" is standard output. What was loaded and not changed gives the bytes it
 * was loaded from, except that legacy kinds (IvPQ …) become their successors (IwPQ …). E_STATE: inline_lists, but the
 * contents of the lists are not there (lists_optional).
 *
 * With compat, E_ARGUMENT: no release of Faiss that is known (the message lists them); E_UNSUPPORTED: the index has a
 * part that the release cannot read (the message names it and the first release that could; docs/formats/faiss-ivfpq.md
 * has them all), or E_STATE: not before it is trained. Nothing is left out to make it fit. What is read back is the
 * same index, but for an epsilon of a trained PCA. params NULL: the defaults. */
FURROW_API furrow_status furrow_index_save(const furrow_index *index, const char *path,
                                           const furrow_index_save_params *params, furrow_error *err) FURROW_MUST_USE;
/* The bytes that furrow_index_save would write. */
FURROW_API furrow_status furrow_index_file_size(const furrow_index *index, const furrow_index_save_params *params,
                                                uint64_t *size, furrow_error *err) FURROW_MUST_USE;

/* ---- What is in an index -------------------------------------------------------------------------------- */

typedef enum furrow_direct_map { /* from id to place in the lists */
                                 FURROW_DIRECT_MAP_NONE = 0,
                                 FURROW_DIRECT_MAP_ARRAY = 1,
                                 FURROW_DIRECT_MAP_HASHTABLE = 2
} furrow_direct_map;

typedef enum furrow_lists_kind {
  FURROW_LISTS_NONE,    /* il00: the lists are elsewhere, or nowhere */
  FURROW_LISTS_INLINE,  /* ilar: part of the file */
  FURROW_LISTS_ON_DISK, /* ilod: in a data file */
  FURROW_LISTS_BLOCKS   /* ilbl: part of the file, codes in blocks */
} furrow_lists_kind;

/* Plain data about one index, without those inside of it. */
typedef struct furrow_index_info {
  furrow_index_kind kind;
  char fourcc[5]; /* as in its file: "IwPQ" */
  int32_t d;      /* dimension of the vectors that it takes */
  int64_t ntotal; /* may exceed `stored`: vectors with NaN are counted, but not stored */
  bool trained;
  furrow_distance_metric metric;
  float metric_arg; /* of metrics other than inner product and L2 */
  /* kinds IVF_*; 0 otherwise */
  uint64_t nlist, nprobe;
  uint64_t stored;    /* vectors in all lists */
  uint64_t code_size; /* bytes of a stored vector, also for PQ; 0: none */
  bool by_residual;
  furrow_direct_map direct_map;
  furrow_lists_kind lists;
  const char *lists_file; /* ON_DISK: the name that is stored; NULL otherwise */
  bool lists_missing;     /* ON_DISK: the data file was not there (lists_optional) */
  /* kinds with a product quantizer; 0 otherwise */
  uint64_t m;
  unsigned nbits;
  /* IVF_PQR: of the refinement */
  uint64_t refine_m;
  unsigned refine_nbits;
  float k_factor; /* IVF_PQR, REFINE */
  /* HNSW */
  int32_t max_level, ef_construction, ef_search;
  uint64_t links; /* that lead somewhere */
  /* TRANSFORM */
  uint64_t transforms;
} furrow_index_info;

FURROW_API void furrow_index_get_info(const furrow_index *index, furrow_index_info *info);

/* The i-th index inside of this one; NULL: there is none (or it was stored as missing). Valid as long as `index`. */
FURROW_API const furrow_index *furrow_index_child(const furrow_index *index, size_t i);
/* What the i-th is to it: "quantizer", "storage", "index", "base", "refine"; NULL: a kind without an i-th. */
FURROW_API const char *furrow_index_child_name(const furrow_index *index, size_t i);
/* The IVF index: this one, or the one behind transforms, id maps and refinements; NULL: there is none. */
FURROW_API const furrow_index *furrow_index_ivf(const furrow_index *index);

/* A transform of a TRANSFORM index: E_ARGUMENT beyond the last. */
typedef struct furrow_transform_info {
  char fourcc[5]; /* "LTra" */
  int32_t d_in, d_out;
  bool trained;
} furrow_transform_info;
FURROW_API furrow_status furrow_index_get_transform_info(const furrow_index *index, size_t i,
                                                         furrow_transform_info *info,
                                                         furrow_error *err) FURROW_MUST_USE;

/* A list of an IVF index, borrowed until the index is changed or freed. */
typedef struct furrow_list_view {
  size_t size;          /* vectors */
  size_t code_size;     /* bytes of a code; 0 for lists in blocks, whose codes are blocks */
  const uint8_t *codes; /* size * code_size bytes; NULL if size is 0 or the contents are missing */
  const uint8_t *ids;   /* size little-endian 64-bit integers at any address: furrow_list_id */
} furrow_list_view;

/* E_ARGUMENT: no IVF index, or list >= nlist. */
FURROW_API furrow_status furrow_index_list(const furrow_index *index, uint64_t list, furrow_list_view *view,
                                           furrow_error *err) FURROW_MUST_USE;
/* Id i of a list; i must be below view->size, and view->ids there. */
FURROW_API int64_t furrow_list_id(const furrow_list_view *view, size_t i);

/* How the vectors are spread over the lists of an IVF index. */
#define FURROW_LIST_BUCKETS 65
typedef struct furrow_list_stats {
  uint64_t nlist, stored, empty;
  uint64_t min, max;
  double mean;
  double imbalance; /* nlist * sum of size^2 / (sum of size)^2: 1 when all are equal; NaN without vectors */
  uint64_t histogram[FURROW_LIST_BUCKETS]; /* [0]: empty lists; [b]: lists of 2^(b-1) … 2^b - 1 vectors */
} furrow_list_stats;

/* E_ARGUMENT: no IVF index. */
FURROW_API furrow_status furrow_index_get_list_stats(const furrow_index *index, furrow_list_stats *stats,
                                                     furrow_error *err) FURROW_MUST_USE;

/* ---- Looking into a file -------------------------------------------------------------------------------- */

/* One field of an index file. Texts are valid during the call. */
typedef struct furrow_index_field {
  uint64_t offset, size; /* bytes in the file */
  const char *path;      /* "quantizer/ntotal", "lists/17/ids" */
  const char *type;      /* "fourcc", "bool", "u8", "i32", "u32", "i64", "u64", "f32", "f64", "bytes" */
  uint64_t count;        /* elements of an array; 1 for a single value */
  const char *value;     /* as text; of an array the first few */
  const char *meaning;
} furrow_index_field;

/* Calls visit for every field, in the order of the file, without a gap. It is the reader of furrow_index_load that
 * tells: where a file is damaged, the fields before come first and then the error. What visit returns other than OK
 * ends the walk. Bytes behind the index are a field of their own, "trailing". The data file of lists on disk is not
 * looked at. */
FURROW_API furrow_status furrow_index_for_each_field(const char *path, const furrow_index_load_params *params,
                                                     furrow_status (*visit)(void *user,
                                                                            const furrow_index_field *field),
                                                     void *user, furrow_error *err) FURROW_MUST_USE;

/* Something that verify found. */
typedef struct furrow_index_finding {
  bool fatal;           /* an error; otherwise a remark: Faiss and Furrow read it, but it is odd */
  const char *path;     /* of the index inside the file ("" for the outer one), or of the field */
  uint64_t offset;      /* byte in the file, or FURROW_NO_OFFSET */
  furrow_status status; /* OK for a remark */
  const char *message;
} furrow_index_finding;

/* Loads a file and checks what loading does not: that direct maps lead to the ids they promise, that ids are there
 * once, that a graph reaches all its vectors, that lists on disk do not overlap, that numbers are finite. Each finding
 * is told to `found`. Returns OK when none is fatal, else the status of the first fatal one with its error. */
FURROW_API furrow_status furrow_index_verify(const char *path, const furrow_index_load_params *params,
                                             void (*found)(void *user, const furrow_index_finding *finding), void *user,
                                             furrow_error *err) FURROW_MUST_USE;

/* ---- Building ------------------------------------------------------------------------------------------- */

/* What an index is to be. */
typedef struct furrow_index_spec {
  int32_t d;                     /* must be set */
  furrow_distance_metric metric; /* L2; or IP */
  uint64_t nlist;                /* must be set */
  uint64_t m;                    /* sub-quantizers; 0: IVF_FLAT, vectors as they are */
  unsigned nbits;                /* 8; 1 … 16 */
  bool by_residual;              /* true */
  uint64_t hnsw_m;               /* 0: the coarse quantizer is flat; > 0: an HNSW graph with so many links */
  bool opq;                      /* a rotation is trained before the rest */
  int32_t opq_d;                 /* 0: d; else what the rotation reduces to */
  bool normalize;                /* vectors are made unit length first (a transform) */
  uint64_t refine_m;             /* > 0: IVF_PQR with so many sub-quantizers of refine_nbits; L2 only */
  unsigned refine_nbits;         /* 8 */
  bool refine_flat;              /* REFINE: the vectors themselves are kept, too, and decide */
  float k_factor;                /* 0: 4 for refine_m, 1 for refine_flat as Faiss */
  bool id_map;                   /* ids of one's own where the index needs 0 … n-1 inside: REFINE, IVF_PQR */
} furrow_index_spec;

FURROW_API void furrow_index_spec_init(furrow_index_spec *spec);
/* An empty, untrained index. E_ARGUMENT names the field that is wrong. */
FURROW_API furrow_status furrow_index_create(furrow_index **index, const furrow_index_spec *spec,
                                             furrow_error *err) FURROW_MUST_USE;

/* Called now and then: what is being done ("coarse", "pq", "add" …), how far of how much; a status that is not OK ends
 * the job with it. One thread at a time. */
typedef furrow_status (*furrow_index_progress)(void *user, const char *step, uint64_t done, uint64_t total,
                                               furrow_error *err);

typedef struct furrow_index_train_params {
  uint64_t seed;            /* 1234: the same seed gives the same bytes, whatever the number of threads */
  unsigned coarse_rounds;   /* 10 */
  unsigned pq_rounds;       /* 25 */
  uint64_t sample_per_list; /* 256: vectors that k-means looks at, for each centroid */
  unsigned threads;         /* 0: as many as there are processors */
  furrow_index_progress progress;
  void *user;
} furrow_index_train_params;

FURROW_API void furrow_index_train_params_init(furrow_index_train_params *params);
/* Trains on n vectors (n * d floats). E_ARGUMENT: too few, or trained already; E_RANGE: a vector, with its row,
 * that has a NaN or an infinity, or is too large: the square of its length must be a finite float. params NULL: the
 * defaults. */
FURROW_API furrow_status furrow_index_train(furrow_index *index, const float *vectors, size_t n,
                                            const furrow_index_train_params *params, furrow_error *err) FURROW_MUST_USE;
/* Of n vectors of d floats, the first that training and adding refuse: it has a NaN or an infinity, or the square of
 * its length is no finite float. n: there is none. */
FURROW_API size_t furrow_first_invalid_vector(const float *vectors, size_t n, size_t d);
/* Vectors that training would look at: giving more changes nothing but the time. A sample of that size, drawn from a
 * stream with furrow_reservoir_* (furrow/vector_data.h), trains as well. */
FURROW_API uint64_t furrow_index_train_sample_size(const furrow_index *index, const furrow_index_train_params *params);

typedef struct furrow_index_add_params {
  const int64_t *ids; /* NULL: ntotal, ntotal + 1, … */
  bool skip_nan;      /* of vectors that training would refuse. false: E_RANGE names the row; true: they are passed
                         over and counted (but not by PQ, whose codes have none for nothing) */
  unsigned threads;   /* 0: as many as there are processors */
} furrow_index_add_params;

FURROW_API void furrow_index_add_params_init(furrow_index_add_params *params);
/* Adds n vectors; all or, after a failure, none. *skipped (may be NULL): passed over. The result does not depend on
 * threads, nor on how many vectors come in one call. The first call makes the quantizers ready, which takes as much
 * memory as their centroids, more or less, and is kept with the index: after that one vector at a time is no waste.
 * E_UNSUPPORTED, with the fourcc: HNSW, MULTI, and REFINE whose refinement is neither FLAT nor PQ. */
FURROW_API furrow_status furrow_index_add(furrow_index *index, const float *vectors, size_t n,
                                          const furrow_index_add_params *params, uint64_t *skipped,
                                          furrow_error *err) FURROW_MUST_USE;

/* ---- Choosing ids --------------------------------------------------------------------------------------- */

typedef enum furrow_id_filter_kind {
  FURROW_ID_FILTER_RANGE,   /* first <= id < end */
  FURROW_ID_FILTER_SORTED,  /* id is in a sorted array */
  FURROW_ID_FILTER_BITMAP,  /* bit id of a bitmap (bit id % 8 of byte id / 8); ids beyond it are not chosen */
  FURROW_ID_FILTER_CALLBACK /* keep(user, id); from several threads */
} furrow_id_filter_kind;

typedef struct furrow_id_filter {
  furrow_id_filter_kind kind;
  bool invert; /* what it would choose is left out */
  int64_t first, end;
  const int64_t *sorted;
  size_t sorted_count;
  const uint8_t *bitmap;
  size_t bitmap_bytes;
  bool (*keep)(void *user, int64_t id);
  void *user;
} furrow_id_filter;

FURROW_API bool furrow_id_filter_keeps(const furrow_id_filter *filter, int64_t id);

/* ---- Searching ------------------------------------------------------------------------------------------ */

/* An index made ready for searching: codes in blocks for the processor's instructions, a number for each vector. It
 * borrows the index, which must not change or go meanwhile. Searches take a const searcher and may run at once.
 *
 * Its threads start with the first search that uses more than one, and stay. That search decides how many there are:
 * as many as its params ask for, but beyond the processors no more than it has work for; 0: one for each processor.
 * Later searches use these, even if they ask for more. */
typedef struct furrow_searcher furrow_searcher;

typedef struct furrow_searcher_params {
  unsigned threads; /* of making it ready; 0: as many as there are processors. Here as everywhere: at most 1024 */
} furrow_searcher_params;

FURROW_API void furrow_searcher_params_init(furrow_searcher_params *params);
/* E_STATE: not trained, or the contents of its lists are missing; E_UNSUPPORTED: a kind that is not searched. */
FURROW_API furrow_status furrow_searcher_create(furrow_searcher **searcher, const furrow_index *index,
                                                const furrow_searcher_params *params,
                                                furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_searcher_free(furrow_searcher *searcher);
/* Bytes that it takes beside the index. */
FURROW_API uint64_t furrow_searcher_memory(const furrow_searcher *searcher);

typedef struct furrow_search_params {
  uint64_t nprobe;                /* 0: what the index stores */
  uint64_t max_codes;             /* 0: no limit; else a query looks at so many codes at most */
  float k_factor;                 /* 0: what the index stores; refining kinds */
  int32_t ef_search;              /* 0: what the index stores; HNSW */
  const furrow_id_filter *filter; /* NULL: all. The result is that of filtering afterwards, with k results found */
  unsigned threads;               /* 0: as many as there are processors, but one for little work */
} furrow_search_params;

FURROW_API void furrow_search_params_init(furrow_search_params *params);
/* The k best of each of n queries: n * k distances and ids, best first. Equal distances: by ascending id (IP:
 * descending). That is their order. Which of equally near vectors are kept at all is another matter: one that is only
 * as near as the worst of k does not enter, so the first scanned stay (nearer lists first, each as it stores its
 * vectors); when a nearer one enters, of the equally worst that with the highest id (IP: lowest) leaves. Where there
 * are fewer than k, id -1 and FLT_MAX (IP: -FLT_MAX). E_RANGE, with its row: a query with a NaN (but of NAN_EUCLIDEAN)
 * or an infinity, or, of L2 and IP, one too large: the square of its length must be a finite float. Of L2,
 * a vector whose distance is too large for a float is no result. k > 0. params NULL: the defaults. */
FURROW_API furrow_status furrow_searcher_search(const furrow_searcher *searcher, const float *queries, size_t n,
                                                size_t k, const furrow_search_params *params, float *distances,
                                                int64_t *ids, furrow_error *err) FURROW_MUST_USE;

/* Everything nearer than a radius (L2: distance < radius; IP: > radius): results of query i are at
 * starts[i] … starts[i+1]-1, sorted by id. */
typedef struct furrow_range_result {
  size_t n;
  uint64_t *starts; /* n + 1 */
  int64_t *ids;
  float *distances;
} furrow_range_result;

FURROW_API furrow_status furrow_searcher_search_range(const furrow_searcher *searcher, const float *queries, size_t n,
                                                      float radius, const furrow_search_params *params,
                                                      furrow_range_result **result, furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_range_result_free(furrow_range_result *result);

/* ---- Changing an index ---------------------------------------------------------------------------------- */

/* All of these change an index whole or not at all: after a failure it is as it was. Lists on disk that change become
 * part of the index; its data file is not written to. A searcher of the index must be made anew.
 *
 * Numbered kinds keep vectors or codes in the order of their ids, which must be 0 … ntotal-1: FLAT, PQ, REFINE,
 * IVF_PQR, and whatever is behind an ID_MAP. */

/* The vector that is stored for an id, decoded: d floats. E_NOT_FOUND: no such id. Uses the direct map if there is
 * one, else looks through all lists. Transforms are turned round; what they lost (length, dimensions) stays lost.
 * E_UNSUPPORTED: one cannot be, the token is its fourcc. */
FURROW_API furrow_status furrow_index_reconstruct(const furrow_index *index, int64_t id, float *vector,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Removes what the filter keeps; *removed (may be NULL): how many. Order as Faiss leaves it: the last of a list takes
 * the place. In numbered kinds the vectors behind move up and get new ids, as in Faiss's flat index; ids of an ID_MAP
 * stay with their vectors. E_UNSUPPORTED: HNSW, IVF_PQR without an id map, and a direct map that is an array. */
FURROW_API furrow_status furrow_index_remove(furrow_index *index, const furrow_id_filter *filter, uint64_t *removed,
                                             furrow_error *err) FURROW_MUST_USE;
/* Gives ids that are there new vectors. E_NOT_FOUND names the first id that is not there, E_ARGUMENT one that comes
 * twice. In its list, the last takes the place of the old vector, and the new one goes to the end of its own. A direct
 * map that is an array is followed, so it must be right (furrow_index_verify). */
FURROW_API furrow_status furrow_index_update(furrow_index *index, const int64_t *ids, const float *vectors, size_t n,
                                             furrow_error *err) FURROW_MUST_USE;
/* Appends the vectors of `other` (not changed), ids increased by id_shift; nothing makes sure that ids stay different.
 * In numbered kinds ids go on, and id_shift is ntotal, or 0. E_ARGUMENT names what does not agree: dimension, metric,
 * lists, centroids, quantizer, transforms. E_STATE: the direct map is an array, and ids do not go on. */
FURROW_API furrow_status furrow_index_merge(furrow_index *index, const furrow_index *other, int64_t id_shift,
                                            furrow_error *err) FURROW_MUST_USE;
/* Merges files without loading their lists: `count` inputs become one file, list after list. id_shifts (NULL: all 0)
 * has one for each, also for the first. load (NULL: the defaults) says how inputs are read; its `lists` is the data
 * file of each that has lists on disk, and whether files are mapped is not for it to say. The result has no direct map,
 * and its lists are part of it, whatever save (NULL: the defaults) says. IVF_PQR, IVF_PQ_FAST, REFINE, FLAT and PQ are
 * merged in memory. The target may be one of the inputs. */
FURROW_API furrow_status furrow_index_merge_files(const char *const *paths, const int64_t *id_shifts, size_t count,
                                                  const furrow_index_load_params *load, const char *target,
                                                  const furrow_index_save_params *save,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Makes the direct map anew, or takes it away. E_STATE: an array, but ids are not below ntotal. */
FURROW_API furrow_status furrow_index_set_direct_map(furrow_index *index, furrow_direct_map type,
                                                     furrow_error *err) FURROW_MUST_USE;
/* What a file stores as its default. */
FURROW_API furrow_status furrow_index_set_nprobe(furrow_index *index, uint64_t nprobe,
                                                 furrow_error *err) FURROW_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
