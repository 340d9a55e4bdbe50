/* furrow/vector.h: vector indexes as Faiss stores them.
 *
 * An index file is one index with others inside of it: an IVF index has a coarse quantizer; a transform or an id map
 * wraps another index. docs/formats/faiss-ivfpq.md describes the file byte by byte.
 *
 * The shortest uses: the nearest vectors of a query, with their names; and what is in a file.
 *
 *   furrow_searcher *searcher = NULL;
 *   furrow_error err;
 *   float distances[10];
 *   int64_t ids[10];
 *   size_t size;
 *   furrow_status status = furrow_searcher_open(&searcher, "items.index", NULL, &err);
 *   if (status == FURROW_OK) status = furrow_searcher_search(searcher, query, 1, 10, NULL, distances, ids, &err);
 *   const char *name = status == FURROW_OK ? furrow_searcher_name(searcher, ids[0], &size) : NULL;
 *   if (name) printf("%.*s\n", (int)size, name);
 *   furrow_searcher_free(searcher);
 *
 *   furrow_index *index = NULL;
 *   furrow_index_info info;
 *   furrow_index_info_init(&info);
 *   if (furrow_index_load(&index, "items.index", NULL, &err) == FURROW_OK) {
 *     furrow_index_get_info(index, &info);
 *     printf("%s, %lld vectors\n", furrow_index_kind_name(info.kind), (long long)info.ntotal);
 *   }
 *   furrow_index_free(index);
 *
 * Files are not trusted: every number is checked against the others and against the bytes of the file before memory is
 * allocated for it. A file that Faiss would read and then search with wrong strides is refused; the error names the
 * byte and the field.
 *
 * Threads: functions that take a const handle may run at once on one handle; anything else needs exclusive use of
 * it. Different handles are independent.
 */
#ifndef FURROW_VECTOR_H
#define FURROW_VECTOR_H

#include <string.h>

#include "furrow/comm.h"
#include "furrow/io.h"
#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Kinds and metrics ---------------------------------------------------------------------------------- */

/* X(name, text): the kinds of indexes. furrow_index_child_name names the indexes inside of each. */
#define FURROW_INDEX_KINDS(X)                                             \
  X(FLAT, "flat vectors")                                                 \
  X(HNSW, "HNSW graph")                                                   \
  X(PQ, "product quantizer codes")                                        \
  X(MULTI, "multi-index quantizer")                                       \
  X(IVF_FLAT, "inverted lists of vectors")                                \
  X(IVF_PQ, "inverted lists of product quantizer codes")                  \
  X(IVF_PQR, "inverted lists of product quantizer codes with refinement") \
  X(IVF_SQ, "inverted lists of scalar quantizer codes")                   \
  X(IVF_PQ_FAST, "inverted lists of 4-bit codes in blocks")               \
  X(ID_MAP, "custom ids for another index")                               \
  X(TRANSFORM, "transforms before another index")                         \
  X(REFINE, "another index, refined by a second one")                     \
  X(SQ, "scalar quantizer codes")                                         \
  X(PQ_FAST, "4-bit codes in blocks")

/* The kind of an index. */
typedef enum furrow_index_kind {
#define FURROW_X(name, text) FURROW_INDEX_##name,
  FURROW_INDEX_KINDS(FURROW_X)
#undef FURROW_X
} furrow_index_kind;

/* Returns: the text of a kind ("flat vectors"); "?" for a value that is not a kind.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_index_kind_name(furrow_index_kind kind);

/* X(name, number in files, text): the metrics that an index file may name. */
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

/* How near two vectors are. L2 is the squared distance, as in Faiss. */
typedef enum furrow_distance_metric {
#define FURROW_X(name, number, text) FURROW_METRIC_##name = number,
  FURROW_DISTANCE_METRICS(FURROW_X)
#undef FURROW_X
} furrow_distance_metric;

/* Returns: the text of a metric ("inner product"); NULL for a number that is not a metric.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_distance_metric_name(furrow_distance_metric metric);

/* ---- Files ---------------------------------------------------------------------------------------------- */

/* An index and everything inside of it. */
typedef struct furrow_index furrow_index;

/* How an index is read. */
typedef struct furrow_index_load_params {
  size_t size;         /* set by furrow_index_load_params_init */
  bool memory_map;     /* false. true: codes and ids of lists (ilar, ilod) stay in the file, which must not change */
  bool allow_trailing; /* false. true: bytes after the end of the index are accepted (Faiss ignores them) */
  const char *lists; /* the data file of lists on disk (ilod); NULL: the base name that the index stores, in the folder
                        of the index. A stored path never leads to another folder. Opened for reading only */
  bool lists_optional; /* false. true: where that data file is missing, lists have sizes but no contents */
  bool search_only;    /* false. true: codes of product quantizers are laid out as a searcher needs them, so that a
                          searcher makes no copy. Such an index can be searched and described; functions that need its
                          codes (save, change, decode) give E_STATE. No effect with memory_map or above 8 bits */
  bool card; /* false. true: the card of the index is loaded, too (furrow/card.h), which reads the bytes of the
                file once more. One that does not fit is not used: furrow_index_get_card says why */
} furrow_index_load_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_index_load_params_init(furrow_index_load_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Reads an index file. params NULL: the defaults. Takes about as many bytes of memory as the file has, at most; mapped
 * lists take none.
 *
 * With params->memory_map: if another program shortens the file, the process goes on, and every later call that reads
 * lists of the index gives E_IO (its out-parameters are then undefined). For that, the first mapped index of a process
 * installs a handler of SIGBUS, which passes on every fault outside of Furrow's maps. A program with its own handler
 * installs it before, or calls the previous handler for faults that are not its own. Threads that search must not block
 * SIGBUS.
 * Errors: E_NOT_FOUND, there is no such file (or no data file of its lists); E_FORMAT, the file is not an index, is
 *         cut short, or contradicts itself: the error has the byte and the field ("quantizer/d is …"); E_UNSUPPORTED,
 *         a kind that Faiss reads but Furrow does not: the token is its fourcc; E_IO; E_MEMORY.
 * Owner:  the caller frees *index with furrow_index_free. */
FURROW_API furrow_status furrow_index_load(furrow_index **index, const char *path,
                                           const furrow_index_load_params *params, furrow_error *err) FURROW_MUST_USE;
/* Reads an index from bytes. `name` is for errors and for the folder of a data file (NULL: none, then ilod needs
 * params->lists). With params->memory_map lists borrow the bytes, which must outlive the index.
 * Errors: as furrow_index_load.
 * Owner:  the caller frees *index with furrow_index_free. */
FURROW_API furrow_status furrow_index_read(furrow_index **index, const void *bytes, size_t size, const char *name,
                                           const furrow_index_load_params *params, furrow_error *err) FURROW_MUST_USE;
/* Frees an index and everything inside of it. Takes NULL. */
FURROW_API void furrow_index_free(furrow_index *index);

/* Names of ids: furrow/vector_data.h. */
typedef struct furrow_id_names furrow_id_names;

/* Attributes of ids: furrow/attributes.h. */
typedef struct furrow_attributes furrow_attributes;

/* Reads an index file and the names of its ids, and makes sure that they belong together: that the names were written
 * for these bytes of the index, and that the index was not replaced while both were read. *names is NULL where the
 * index has none. params NULL: the defaults.
 * Errors: E_STATE, the file was replaced or changed meanwhile; E_FORMAT, the names are damaged or belong to another
 *         index (err->file is that of the names); otherwise as furrow_index_load.
 * Owner:  the caller frees *index with furrow_index_free and *names with furrow_id_names_free. */
FURROW_API furrow_status furrow_index_load_with_names(furrow_index **index, furrow_id_names **names, const char *path,
                                                      const furrow_index_load_params *params,
                                                      furrow_error *err) FURROW_MUST_USE;

/* The same with the attributes of the ids; *attributes is NULL where the index has none.
 * Errors: as furrow_index_load_with_names.
 * Owner:  the caller frees *index with furrow_index_free, *names with furrow_id_names_free and *attributes with
 *         furrow_attributes_free. */
FURROW_API furrow_status furrow_index_load_with_attributes(furrow_index **index, furrow_id_names **names,
                                                           furrow_attributes **attributes, const char *path,
                                                           const furrow_index_load_params *params,
                                                           furrow_error *err) FURROW_MUST_USE;

/* How an index is written. */
typedef struct furrow_index_save_params {
  size_t size;        /* set by furrow_index_save_params_init */
  bool inline_lists;  /* false: lists on disk (ilod) stay in their data file, which the index names as before; so the
                         index must be in the folder of that file, where readers look for it. true: they become part of
                         the file (ilar). lists_file writes a new data file */
  bool overwrite;     /* false: E_EXISTS if there is a file of that name */
  const char *compat; /* NULL. "1.6.3": that release of Faiss can read the file, too, which may need older layouts.
                         "1.0": Faiss from before 2018-02, when its releases had no numbers (IvPQ …) */
  const furrow_id_names *names; /* NULL: none; with overwrite, the names of the old index are removed. Names of all ids
                                   of the index, written to PATH.names. If the program is killed, an index has its own
                                   names or none, never the names of another */
  const furrow_comm *comm; /* NULL. Processes that write one file together, on a file system that all of them see: see
                              furrow_index_save. Only rank 0's `names` count */
  bool shift_ids;  /* false: with comm, ids in lists stay as they are. true: each rank's ids are increased by the number
                      of vectors (ntotal) of the ranks before it, as dense ids always are */
  bool unique_ids; /* false: an id may occur more than once, as in Faiss. true: duplicate ids are E_EXISTS, and nothing
                      is written; with comm, each rank compares its own ids alone */
  const char *lists_file; /* NULL. The contents of the lists are written to this new data file (ilod), which the index
                             names by this path. It must be in the folder of the index: there the lists are found again.
                             An existing file is never replaced, not even with overwrite: an index may use it. If the
                             program is killed, the index is the old one with its lists or the new one with its lists,
                             and a data file that no index names may be left over */
  const furrow_attributes *attributes; /* NULL: none; with overwrite, the attributes of the old index are removed. A row
                                          for each id of the index, written to PATH.attributes like the names. With
                                          comm, only rank 0's count, with rows for the ids of all ranks */
  bool card; /* false: with overwrite, the card of the old index is removed. true: the card of the index, if it has one,
                is written to PATH.card like the names (furrow/card.h); shards have none */
} furrow_index_save_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_index_save_params_init(furrow_index_save_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Writes an index file, whole or not at all; "-" is standard output. An index that was loaded and not changed gives the
 * bytes that it was loaded from, except that legacy kinds (IvPQ …) become their successors (IwPQ …). With compat
 * nothing is left out to make the index fit; reading the file gives the same index, except for the epsilon of a trained
 * PCA. An index without names that replaces an index with names removes the names: they belong to the old index. params
 * NULL: the defaults.
 *
 * With params->comm the call is collective. Every rank has an index with the same quantizers and its own vectors; the
 * file has the bytes of one index with the vectors of all ranks, rank 0's first. Each rank writes its vectors at their
 * offsets; rank 0 renames the file when all vectors are on disk. If one rank fails, all do, and the old file stays.
 * Dense ids (see "Changing an index") and arrays of direct maps continue from rank to rank. Rank 0 builds a hash table
 * of all ids, which takes 16 bytes of memory for each.
 * Errors: E_EXISTS, the file (or its file of names) exists and params->overwrite is false, or PATH.names is another
 *         kind of file; E_ARGUMENT, an id that has no name in params->names or no row in params->attributes, or these
 *         for standard output; E_STATE,
 * inline_lists or lists_file, but the contents of the lists are missing (lists_optional), or the index is search_only,
 * or compat needs a trained index; E_EXISTS, lists_file exists; E_ARGUMENT, lists_file for an index without lists, with
 * inline_lists, for standard output or in another folder, or an index whose lists stay in a data file that would not be
 * found from the path; E_UNSUPPORTED, lists_file with comm or for codes in blocks;
 * E_ARGUMENT, compat does not name a release of Faiss (the message lists them); E_UNSUPPORTED,
 * the index has a part that the release cannot read (the message names it and the first release that can), or, with
 * comm, lists that are not part of the file or have codes in blocks; E_ARGUMENT, with comm: the quantizers of two ranks
 * differ, or the path is standard output; E_STATE, another rank failed; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_index_save(const furrow_index *index, const char *path,
                                           const furrow_index_save_params *params, furrow_error *err) FURROW_MUST_USE;
/* Passes the bytes of furrow_index_save to a function of the caller, in order. After a failure some may have been
 * passed. params->overwrite and names have no effect.
 * Errors: what output->write returned; E_ARGUMENT, output has no write, or params->lists_file; otherwise the errors of
 * furrow_index_save. */
FURROW_API furrow_status furrow_index_write(const furrow_index *index, const furrow_output *output,
                                            const furrow_index_save_params *params, furrow_error *err) FURROW_MUST_USE;
/* Counts the bytes that furrow_index_save would write to the index file.
 * Errors: as furrow_index_save, except for errors of writing. */
FURROW_API furrow_status furrow_index_file_size(const furrow_index *index, const furrow_index_save_params *params,
                                                uint64_t *size, furrow_error *err) FURROW_MUST_USE;

/* ---- What is in an index -------------------------------------------------------------------------------- */

/* How an IVF index finds the position of an id in its lists. */
typedef enum furrow_direct_map {
  FURROW_DIRECT_MAP_NONE = 0,     /* no map: all lists are searched */
  FURROW_DIRECT_MAP_ARRAY = 1,    /* an array; ids are 0 … ntotal-1 */
  FURROW_DIRECT_MAP_HASHTABLE = 2 /* a hash table */
} furrow_direct_map;

/* Where the lists of an IVF index are. */
typedef enum furrow_lists_kind {
  FURROW_LISTS_NONE,    /* il00: not in this file */
  FURROW_LISTS_INLINE,  /* ilar: part of the file */
  FURROW_LISTS_ON_DISK, /* ilod: in a data file */
  FURROW_LISTS_BLOCKS   /* ilbl: part of the file, codes in blocks */
} furrow_lists_kind;

/* Plain data about one index, not about the indexes inside of it. */
typedef struct furrow_index_info {
  size_t size;                   /* set by furrow_index_info_init */
  furrow_index_kind kind;        /* what it is */
  char fourcc[5];                /* as in its file: "IwPQ" */
  int32_t d;                     /* dimension of the vectors that it takes */
  int64_t ntotal;                /* may exceed `stored`: vectors with NaN are counted, but not stored */
  bool trained;                  /* whether vectors can be added */
  furrow_distance_metric metric; /* how vectors are compared */
  float metric_arg;              /* argument of metrics other than inner product and L2 */
  /* kinds IVF_*; 0 otherwise */
  uint64_t nlist;               /* lists */
  uint64_t nprobe;              /* lists that a search probes by default */
  uint64_t stored;              /* vectors in all lists */
  uint64_t code_size;           /* bytes of a stored vector, also for PQ, SQ, PQ_FAST; 0: none */
  bool by_residual;             /* codes are of vectors minus their coarse centroid */
  furrow_direct_map direct_map; /* how positions of ids are found */
  furrow_lists_kind lists;      /* where lists are */
  const char *lists_file;       /* ON_DISK: the name that is stored, valid as long as the index; NULL otherwise */
  bool lists_missing;           /* ON_DISK: the data file was not there (lists_optional) */
  /* kinds with a product quantizer; 0 otherwise */
  uint64_t m;     /* sub-quantizers */
  unsigned nbits; /* bits of a sub-quantizer's code */
  /* IVF_PQR: the quantizer of the refinement */
  uint64_t refine_m;     /* sub-quantizers */
  unsigned refine_nbits; /* bits of a sub-quantizer's code */
  float k_factor;        /* IVF_PQR, REFINE: candidates for each result */
  /* HNSW */
  int32_t max_level;       /* the highest level of the graph */
  int32_t ef_construction; /* candidates while building */
  int32_t ef_search;       /* candidates while searching, by default */
  uint64_t links;          /* links between vectors, on all levels */
  /* TRANSFORM */
  uint64_t transforms; /* how many */
} furrow_index_info;

/* Sets the size, and everything else to 0. */
static inline void furrow_index_info_init(furrow_index_info *info) {
  memset(info, 0, sizeof *info);
  info->size = sizeof *info;
}

/* Fills *info, which furrow_index_info_init has initialised. Takes time for HNSW, whose links are counted. */
FURROW_API void furrow_index_get_info(const furrow_index *index, furrow_index_info *info);

/* Returns: the i-th index inside of this one; NULL: there is none (or it was stored as missing).
 * Owner:   `index`; valid until it is freed. */
FURROW_API const furrow_index *furrow_index_child(const furrow_index *index, size_t i);
/* Returns: what the i-th index inside is to this one: "quantizer", "storage", "index", "base", "refine"; NULL: this
 *          kind has no i-th.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_index_child_name(const furrow_index *index, size_t i);
/* Returns: the IVF index: this one, or the one inside of transforms, id maps and refinements; NULL: there is none.
 * Owner:   `index`; valid until it is freed. */
FURROW_API const furrow_index *furrow_index_ivf(const furrow_index *index);

/* One transform of a TRANSFORM index. */
typedef struct furrow_transform_info {
  size_t size;    /* set by furrow_transform_info_init */
  char fourcc[5]; /* as in its file: "LTra" */
  int32_t d_in;   /* dimension before it */
  int32_t d_out;  /* dimension after it */
  bool trained;   /* whether it can be applied */
} furrow_transform_info;

/* Sets the size, and everything else to 0. */
static inline void furrow_transform_info_init(furrow_transform_info *info) {
  memset(info, 0, sizeof *info);
  info->size = sizeof *info;
}

/* Fills *info, which furrow_transform_info_init has initialised, with the i-th transform.
 * Errors: E_ARGUMENT, the index has no i-th transform. */
FURROW_API furrow_status furrow_index_get_transform_info(const furrow_index *index, size_t i,
                                                         furrow_transform_info *info,
                                                         furrow_error *err) FURROW_MUST_USE;

/* A list of an IVF index. Layout fixed. */
typedef struct furrow_list_view {
  size_t count;         /* vectors */
  size_t code_size;     /* bytes of a code; 0 for lists in blocks, whose codes are blocks */
  const uint8_t *codes; /* count * code_size bytes; NULL if count is 0 or the contents are missing */
  const uint8_t *ids;   /* count little-endian 64-bit integers at any address: furrow_list_id */
} furrow_list_view;

/* Gives a view of one list.
 * Errors: E_ARGUMENT, the index is not an IVF index, or list >= nlist.
 *         E_IO, the mapped file of the lists was shortened: what earlier views showed may have been zeros.
 * Owner:  the index; pointers of the view are valid until it is changed or freed. */
FURROW_API furrow_status furrow_index_list(const furrow_index *index, uint64_t list, furrow_list_view *view,
                                           furrow_error *err) FURROW_MUST_USE;
/* Returns: the i-th id of a list. i must be below view->count, and view->ids must not be NULL. */
FURROW_API int64_t furrow_list_id(const furrow_list_view *view, size_t i);

/* Buckets of the histogram in furrow_list_stats. */
#define FURROW_LIST_BUCKETS 65

/* How the vectors are spread over the lists of an IVF index. */
typedef struct furrow_list_stats {
  size_t size;      /* set by furrow_list_stats_init */
  uint64_t nlist;   /* lists */
  uint64_t stored;  /* vectors in all lists */
  uint64_t empty;   /* lists without vectors */
  uint64_t min;     /* vectors of the shortest list */
  uint64_t max;     /* vectors of the longest list */
  double mean;      /* vectors of a list */
  double imbalance; /* nlist * sum of length^2 / (sum of length)^2: 1 when all are equal; NaN without vectors */
  uint64_t histogram[FURROW_LIST_BUCKETS]; /* [0]: empty lists; [b]: lists of 2^(b-1) … 2^b - 1 vectors */
} furrow_list_stats;

/* Sets the size, and everything else to 0. */
static inline void furrow_list_stats_init(furrow_list_stats *stats) {
  memset(stats, 0, sizeof *stats);
  stats->size = sizeof *stats;
}

/* Fills *stats, which furrow_list_stats_init has initialised.
 * Errors: E_ARGUMENT, the index is not an IVF index. */
FURROW_API furrow_status furrow_index_get_list_stats(const furrow_index *index, furrow_list_stats *stats,
                                                     furrow_error *err) FURROW_MUST_USE;

/* ---- Looking into a file -------------------------------------------------------------------------------- */

/* One field of an index file. Made by the library; texts are valid during the call. */
typedef struct furrow_index_field {
  uint64_t offset;     /* offset of its first byte in the file */
  uint64_t size;       /* its bytes */
  const char *path;    /* "quantizer/ntotal", "lists/17/ids" */
  const char *type;    /* "fourcc", "bool", "u8", "i32", "u32", "i64", "u64", "f32", "f64", "bytes" */
  uint64_t count;      /* elements of an array; 1 for a single value */
  const char *value;   /* as text; of an array the first few elements */
  const char *meaning; /* meaning of the field */
} furrow_index_field;

/* Calls on_field for every field, in the order of the file, without a gap. The fields are the ones that
 * furrow_index_load reads; for a damaged file the call gives the fields before the damage and then fails. Bytes after
 * the end of the index are a field named "trailing". The data file of lists on disk is not read. params NULL: the
 * defaults.
 * Errors: what on_field returned, if that is not OK; otherwise the errors of furrow_index_load. */
FURROW_API furrow_status furrow_index_for_each_field(const char *path, const furrow_index_load_params *params,
                                                     furrow_status (*on_field)(void *user,
                                                                               const furrow_index_field *field),
                                                     void *user, furrow_error *err) FURROW_MUST_USE;

/* Something that furrow_index_verify found. Made by the library; texts are valid during the call. */
typedef struct furrow_index_finding {
  bool fatal;           /* an error; otherwise a remark: Faiss and Furrow read it, but it is odd */
  const char *path;     /* path of the index inside the file ("" for the outer one), or of the field */
  uint64_t offset;      /* byte in the file, or FURROW_NO_OFFSET */
  furrow_status status; /* status of the error; OK for a remark */
  const char *message;  /* what is wrong, one line, no full stop */
  bool by_scan; /* an error that only a scan of all ids finds: loading accepts the file, and a search may, too */
} furrow_index_finding;

/* Loads a file, checks that it can be searched, and scans what loading does not look at. Calls on_finding for each
 * finding. params NULL: the defaults. Loading or furrow_searcher_create refuses whatever is an error here, except for
 * what only a scan finds (by_scan): ids of lists outside the id map or the refinement that they are positions of, and
 * entries of direct maps that lead to another id. A file without errors is loaded and searched; one that is not trained
 * or has no lists gets a remark instead that it cannot be searched.
 * Errors: the status of the first fatal finding, with its error; E_MEMORY. OK if no finding is fatal. */
FURROW_API furrow_status furrow_index_verify(const char *path, const furrow_index_load_params *params,
                                             void (*on_finding)(void *user, const furrow_index_finding *finding),
                                             void *user, furrow_error *err) FURROW_MUST_USE;

/* ---- Building ------------------------------------------------------------------------------------------- */

/* What an index is to be: a factory string, or fields for the most common kinds.
 *
 * A factory string has the same parts as in Faiss, between commas. Codes: "Flat"; "SQ8" (SQ6, SQ4, SQfp16, SQbf16);
 * "PQ16" (PQ16x4: of 4 bits); "PQ16x4fs" (in blocks). Lists before them: "IVF1024"; "IVF1024_HNSW32". Transforms before
 * these: "L2norm"; "PCA64" (PCAR64, PCAW64, PCAWR64); "OPQ16" or "OPQ16_64"; "RR" or "RR64". A refinement after them:
 * "RFlat"; "Refine(SQ8)". An id map around everything: "IDMap" or "IDMap2", as the first or the last part. */
typedef struct furrow_index_spec {
  size_t size;                   /* set by furrow_index_spec_init */
  int32_t d;                     /* dimension of the vectors; must be set */
  furrow_distance_metric metric; /* L2; or IP; any but LP for flat vectors (factory) */
  uint64_t nlist;                /* lists; must be set without a factory string */
  uint64_t m;                    /* sub-quantizers; 0: IVF_FLAT, which stores vectors as they are */
  unsigned nbits;                /* 8; 1 … 16: bits of a sub-quantizer's code */
  bool by_residual;              /* true: codes are of vectors minus their coarse centroid */
  uint64_t hnsw_m;         /* 0: the coarse quantizer is flat; > 0: an HNSW graph with hnsw_m links for each vector */
  bool opq;                /* false. true: a rotation is trained before everything else */
  int32_t opq_d;           /* 0: d; else the dimension that the rotation reduces to */
  bool normalize;          /* false. true: a transform scales vectors to unit length first */
  uint64_t refine_m;       /* 0. > 0: IVF_PQR with refine_m sub-quantizers of refine_nbits; L2 only */
  unsigned refine_nbits;   /* 8 */
  bool refine_flat;        /* false. true: REFINE, which also stores the vectors themselves and ranks the results by
                              them */
  float k_factor;          /* 0: 4 for refine_m, 1 for refine_flat as Faiss */
  bool id_map;             /* false. true: custom ids also for kinds that need ids 0 … n-1 (REFINE, IVF_PQR), by an id
                              map around them. With a factory string, an id map is added only if it is needed */
  const char *factory;     /* NULL. A factory string, which replaces all fields above except d, metric, k_factor and
                              id_map */
  int32_t ef_construction; /* 0: 100. Candidates for the links of an HNSW graph (factory): more candidates improve the
                              recall of searches and slow adding down */
} furrow_index_spec;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_index_spec_init(furrow_index_spec *spec) {
  memset(spec, 0, sizeof *spec);
  spec->size = sizeof *spec;
  spec->metric = FURROW_METRIC_L2;
  spec->nbits = 8;
  spec->by_residual = true;
  spec->refine_nbits = 8;
}

/* Makes an empty index. It is not trained, unless there is nothing to train (flat vectors, fp16).
 * Errors: E_ARGUMENT, a field, or a part of the factory string, is wrong, which the message names; E_UNSUPPORTED, the
 *         factory string has a part that Furrow cannot build: the token is that part; E_MEMORY.
 * Owner:  the caller frees *index with furrow_index_free. */
FURROW_API furrow_status furrow_index_create(furrow_index **index, const furrow_index_spec *spec,
                                             furrow_error *err) FURROW_MUST_USE;
/* Writes the factory string of an index. One of an index that was loaded may have parts that furrow_index_create
 * refuses (ITQ64, IMI2x8). A linear transform counts as OPQ for the product quantizer after it.
 * Errors: E_MEMORY.
 * Owner:  the caller frees *text with furrow_free. */
FURROW_API furrow_status furrow_index_factory(const furrow_index *index, char **text,
                                              furrow_error *err) FURROW_MUST_USE;

/* How an index is trained. */
typedef struct furrow_index_train_params {
  size_t size;               /* set by furrow_index_train_params_init */
  uint64_t seed;             /* 1234: the same seed gives the same bytes, whatever the number of threads */
  unsigned coarse_rounds;    /* 10: rounds of k-means for the lists */
  unsigned pq_rounds;        /* 25: rounds of k-means for each sub-quantizer */
  uint64_t sample_per_list;  /* 256: vectors that k-means uses for each centroid */
  unsigned threads;          /* 0: one for each processor. Here as everywhere: at most 1024 */
  furrow_progress progress;  /* NULL. Phases are "opq", "coarse", "pq", "refine"; they count rounds or sub-quantizers */
  void *user;                /* first argument of progress */
  const furrow_comm *comm;   /* NULL. Processes that train one index together: each has a part of the vectors, and all
                                end with the same index. The call is collective then */
  const uint64_t *positions; /* NULL: rank 0's vectors come first, then rank 1's …; else the positions of this rank's
                                vectors among all vectors, ascending. If the positions follow the order of the vectors
                                in one process, the result differs from that process's result only by the rounding of
                                sums */
} furrow_index_train_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_index_train_params_init(furrow_index_train_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->seed = 1234;
  params->coarse_rounds = 10;
  params->pq_rounds = 25;
  params->sample_per_list = 256;
}

/* Trains an index on n vectors (n * d floats), which are only read. params NULL: the defaults. After a failure the
 * index is as it was.
 * Errors: E_ARGUMENT, there are too few vectors, or the index is trained already; E_RANGE, a vector has a NaN or an
 *         infinity, or is too large: the square of its length must be a finite float (the message has its row);
 *         E_UNSUPPORTED, a kind that cannot be trained; E_CANCELLED; E_MEMORY. */
FURROW_API furrow_status furrow_index_train(furrow_index *index, const float *vectors, size_t n,
                                            const furrow_index_train_params *params, furrow_error *err) FURROW_MUST_USE;
/* Returns: the first of n vectors of d floats that training and adding refuse: it has a NaN or an infinity, or the
 *          square of its length is not a finite float. n: there is none. */
FURROW_API size_t furrow_first_invalid_vector(const float *vectors, size_t n, size_t d);
/* Returns: the number of vectors that training uses; more vectors only take more time. A sample of that size, drawn
 *          from a stream with furrow_reservoir_add (furrow/vector_data.h), trains as well. 0: there is nothing to
 *          train, or params is not initialised. */
FURROW_API uint64_t furrow_index_train_sample_size(const furrow_index *index, const furrow_index_train_params *params);

/* How vectors are added. */
typedef struct furrow_index_add_params {
  size_t size;        /* set by furrow_index_add_params_init */
  const int64_t *ids; /* NULL: consecutive ids from furrow_index_next_id on; else n ids, which are only read */
  bool skip_nan;      /* false: E_RANGE for a vector that training would refuse. true: such vectors are not stored, but
                         counted (not by PQ, which has no code for them) */
  unsigned threads;   /* 0: one for each processor */
  bool count_ids; /* false. true: if ids is NULL, ids are ntotal, ntotal + 1, … as in Faiss; after removals, some of
                     these may be in use */
} furrow_index_add_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_index_add_params_init(furrow_index_add_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Returns: the id of the next vector that is added without one: one more than the largest id below 2^62 that the index
 *          has or had, and at least ntotal. Larger ids, such as hashes, do not count. The ids of vectors that were
 *          removed are not given again; furrow_index_save keeps this in a file next to the index (INDEX.nextid), and
 *          furrow_index_load reads it. An index without vectors that is saved under a new name begins at 0, and one
 * whose ids are the positions of its vectors renumbers them. -1: there is none, because all ids below 2^62 are used up,
 * or the mapped file of the index was shortened. May scan all ids. */
FURROW_API int64_t furrow_index_next_id(const furrow_index *index);
/* Raises the next id to `next`, at most 2^62: for ids that are known to have been used elsewhere. A smaller one, and an
 * index whose ids are positions, change nothing. */
FURROW_API void furrow_index_set_next_id(furrow_index *index, int64_t next);

/* Adds n vectors (n * d floats), which are only read: all of them or, after a failure, none. *skipped (may be NULL) is
 * how many were not stored. The result does not depend on threads, nor on how many vectors come in one call. The first
 * call prepares the quantizers, which takes about as much memory as their centroids and is kept with the index: adding
 * one vector at a time is fast after that. params NULL: the defaults.
 * Errors: E_STATE, the index is not trained or is search_only; E_RANGE, a vector that training would refuse (the
 *         message has its row); E_UNSUPPORTED, with the fourcc: HNSW, MULTI, and REFINE whose refinement is not
 *         FLAT, PQ, PQ_FAST or SQ; E_ARGUMENT, ids that the kind does not take, the id -1, which means "none" in
 * results, or no ids are left; E_MEMORY. */
FURROW_API furrow_status furrow_index_add(furrow_index *index, const float *vectors, size_t n,
                                          const furrow_index_add_params *params, uint64_t *skipped,
                                          furrow_error *err) FURROW_MUST_USE;

/* ---- Filters of ids ------------------------------------------------------------------------------------- */

/* How a filter decides. */
typedef enum furrow_id_filter_kind {
  FURROW_ID_FILTER_RANGE,   /* first <= id < end; end INT64_MAX: there is no end */
  FURROW_ID_FILTER_SORTED,  /* id is in a sorted array */
  FURROW_ID_FILTER_BITMAP,  /* bit id of a bitmap (bit id % 8 of byte id / 8); 0 for ids beyond it */
  FURROW_ID_FILTER_CALLBACK /* keep(user, id); from several threads */
} furrow_id_filter_kind;

/* A set of ids. Arrays are the caller's, and must stay as they are while the filter is used. */
typedef struct furrow_id_filter {
  size_t size;                          /* set by furrow_id_filter_init */
  furrow_id_filter_kind kind;           /* RANGE */
  bool invert;                          /* false. true: the filter is inverted */
  int64_t first, end;                   /* RANGE: 0, 0, so that nothing is kept */
  const int64_t *sorted;                /* SORTED: ascending */
  size_t sorted_count;                  /* SORTED: ids in `sorted` */
  const uint8_t *bitmap;                /* BITMAP */
  size_t bitmap_bytes;                  /* BITMAP: its bytes */
  bool (*keep)(void *user, int64_t id); /* CALLBACK; must not block */
  void *user;                           /* CALLBACK: first argument of keep */
} furrow_id_filter;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_id_filter_init(furrow_id_filter *filter) {
  memset(filter, 0, sizeof *filter);
  filter->size = sizeof *filter;
}

/* Returns: whether the filter keeps an id; false also for a filter that is not initialised. */
FURROW_API bool furrow_id_filter_keeps(const furrow_id_filter *filter, int64_t id);

/* ---- Searching ------------------------------------------------------------------------------------------ */

/* An index prepared for searching: codes in blocks for the processor's instructions, a number for each vector. One from
 * furrow_searcher_open owns its index and the names of its ids. One from furrow_searcher_create borrows the index,
 * which must not be changed or freed while the searcher is used. Searches take a const searcher and may run at once.
 *
 * Its threads start with the first search that uses more than one, and stay. That search decides their number: the
 * number in its params (0: one for each processor), but more than the number of processors only if it has work for
 * them. Later searches use these threads, even if they ask for more. */
typedef struct furrow_searcher furrow_searcher;

/* How a searcher is prepared. */
typedef struct furrow_searcher_params {
  size_t size;      /* set by furrow_searcher_params_init */
  unsigned threads; /* 0: one for each processor; only while preparing */
} furrow_searcher_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_searcher_params_init(furrow_searcher_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Prepares an index for searching. params NULL: the defaults.
 * Errors: E_STATE, the index is not trained, or the contents of its lists are missing; E_UNSUPPORTED, a kind or a
 *         metric that cannot be searched; E_MEMORY.
 * Owner:  the caller frees *searcher with furrow_searcher_free, before the index. */
FURROW_API furrow_status furrow_searcher_create(furrow_searcher **searcher, const furrow_index *index,
                                                const furrow_searcher_params *params,
                                                furrow_error *err) FURROW_MUST_USE;

/* How an index is opened for searching. */
typedef struct furrow_searcher_open_params {
  size_t size;                          /* set by furrow_searcher_open_params_init */
  const furrow_index_load_params *load; /* NULL: the defaults */
  const furrow_comm *comm; /* NULL. Processes that search the shards of a manifest together, as with furrow_shards_open;
                              each rank loads a copy of an index file. Rank 0 alone has the names */
  bool skip_names;         /* false. true: names are not loaded */
  unsigned threads;        /* 0: one for each processor; only while preparing */
  bool attributes;         /* false. true: attributes are loaded, too (furrow_searcher_attributes). Rank 0 alone has
                              them, of all shards together */
} furrow_searcher_open_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_searcher_open_params_init(furrow_searcher_open_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Loads an index file, or the shards of a manifest, with the names of the ids where there are any, and prepares it for
 * searching. Index and names belong together, as with furrow_index_load_with_names. A manifest is searched
 * as furrow_shards_search does it. params NULL: the defaults. Collective with params->comm.
 * Errors: as furrow_index_load_with_names and furrow_searcher_create; for a manifest, as furrow_shards_open.
 * Owner:  the caller frees *searcher with furrow_searcher_free. */
FURROW_API furrow_status furrow_searcher_open(furrow_searcher **searcher, const char *path,
                                              const furrow_searcher_open_params *params,
                                              furrow_error *err) FURROW_MUST_USE;
/* Ends the threads of a searcher and frees it, with what it owns. Takes NULL. */
FURROW_API void furrow_searcher_free(furrow_searcher *searcher);
/* Returns: the bytes that a searcher takes in addition to the index, at most: lists of a mapped data file are prepared
 * when they are first probed. */
FURROW_API uint64_t furrow_searcher_memory(const furrow_searcher *searcher);
/* Returns: the dimension of the vectors. */
FURROW_API size_t furrow_searcher_dimension(const furrow_searcher *searcher);
/* Returns: the number of vectors (ntotal), of all shards together. */
FURROW_API uint64_t furrow_searcher_vectors(const furrow_searcher *searcher);
/* Returns: the index that is searched, or the first shard, which has the quantizers of all; NULL: another rank has it.
 * Owner:   the searcher, or the caller who gave the index to furrow_searcher_create; valid until the searcher is freed.
 */
FURROW_API const furrow_index *furrow_searcher_index(const furrow_searcher *searcher);
/* Returns: the names of the ids, as furrow_searcher_open found them; NULL: there are none.
 * Owner:   the searcher; valid until it is freed. */
FURROW_API const furrow_id_names *furrow_searcher_names(const furrow_searcher *searcher);
/* Returns: the name of an id, *size bytes, not terminated by a 0; NULL: it has none.
 * Owner:   the searcher; valid until it is freed. */
FURROW_API const char *furrow_searcher_name(const furrow_searcher *searcher, int64_t id, size_t *size);

/* Returns: the attributes of the ids, as furrow_searcher_open found them; NULL: there are none, or they were not
 *          loaded.
 * Owner:   the searcher; valid until it is freed. */
FURROW_API const furrow_attributes *furrow_searcher_attributes(const furrow_searcher *searcher);

/* How a search is done. */
typedef struct furrow_search_params {
  size_t size;                    /* set by furrow_search_params_init */
  uint64_t nprobe;                /* 0: what the index stores; else lists that each query probes */
  uint64_t max_codes;             /* 0: no limit; else the most codes that a query scans */
  float k_factor;                 /* 0: what the index stores; refining kinds */
  int32_t ef_search;              /* 0: what the index stores; HNSW: candidates, but at least k */
  const furrow_id_filter *filter; /* NULL: all ids. Filters before ranking, so that k results pass the filter */
  unsigned threads;               /* 0: one for each processor, but a single one for little work */
} furrow_search_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_search_params_init(furrow_search_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Finds the k best vectors for each of n queries (n * d floats): n * k distances and ids, best first; equal distances
 * by ascending id (IP: descending). Where there are fewer than k results, the remaining entries have id -1 and distance
 * FLT_MAX (IP: -FLT_MAX). params NULL: the defaults.
 *
 * Ties: a vector that is only as near as the worst of k results does not replace it, so the vectors that were scanned
 * first stay (nearer lists first, each in the order of its vectors). When a nearer vector replaces one of several
 * equally bad results, it replaces the one with the highest id (IP: lowest). With L2, a vector whose distance is too
 * large for a float is never a result.
 * Errors: E_ARGUMENT, k is 0, or params are wrong; E_RANGE, a query has a NaN (except for NAN_EUCLIDEAN) or an
 *         infinity or, of L2 and IP, is too large: the square of its length must be a finite float (the message has
 *         its row); E_MEMORY. */
FURROW_API furrow_status furrow_searcher_search(const furrow_searcher *searcher, const float *queries, size_t n,
                                                size_t k, const furrow_search_params *params, float *distances,
                                                int64_t *ids, furrow_error *err) FURROW_MUST_USE;

/* Results of a range search. Made by the library. */
typedef struct furrow_range_result {
  size_t n;         /* queries */
  uint64_t *starts; /* n + 1: results of query i are at starts[i] … starts[i+1]-1, sorted by id */
  int64_t *ids;     /* ids of all results */
  float *distances; /* distances of all results */
} furrow_range_result;

/* Finds all vectors within a radius (L2: distance < radius; IP: > radius). params NULL: the defaults.
 * Errors: E_ARGUMENT, radius is NaN, or params are wrong; E_RANGE, a query as in furrow_searcher_search;
 *         E_UNSUPPORTED, a kind without range search; E_MEMORY.
 * Owner:  the caller frees *result with furrow_range_result_free. */
FURROW_API furrow_status furrow_searcher_search_range(const furrow_searcher *searcher, const float *queries, size_t n,
                                                      float radius, const furrow_search_params *params,
                                                      furrow_range_result **result, furrow_error *err) FURROW_MUST_USE;
/* Frees the results of a range search. Takes NULL. */
FURROW_API void furrow_range_result_free(furrow_range_result *result);

/* ---- Choosing and tuning -------------------------------------------------------------------------------- */

/* Requirements on an index, for furrow_index_choose. */
typedef struct furrow_index_wish {
  size_t size;                   /* set by furrow_index_wish_init */
  uint64_t n;                    /* vectors; must be set */
  int32_t d;                     /* their dimension; must be set */
  furrow_distance_metric metric; /* L2; or IP */
  bool normalize;                /* false. true: vectors are scaled to unit length first (cosine, with IP) */
  bool ids;           /* false. true: vectors have custom ids, which may need an id map (furrow_index_spec.id_map) */
  double recall;      /* 0.95: share of the nearest vectors that searches should find. 1: exact search */
  uint64_t max_bytes; /* 0: no limit; else the most bytes of the index file */
} furrow_index_wish;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_index_wish_init(furrow_index_wish *wish) {
  memset(wish, 0, sizeof *wish);
  wish->size = sizeof *wish;
  wish->metric = FURROW_METRIC_L2;
  wish->recall = 0.95;
}

/* What furrow_index_choose found. */
typedef struct furrow_index_selection {
  size_t size;       /* set by furrow_index_selection_init */
  char factory[128]; /* the factory string */
  uint64_t bytes;    /* approximate size of the file */
  uint64_t nlist;    /* lists of an index for n vectors, if it has lists */
  uint64_t nprobe;   /* furrow_default_nprobe(nlist) */
  uint64_t m;        /* sub-quantizers of codes for such vectors; 0: there are too few vectors for codes */
} furrow_index_selection;

/* Sets the size, and everything else to 0. */
static inline void furrow_index_selection_init(furrow_index_selection *selection) {
  memset(selection, 0, sizeof *selection);
  selection->size = sizeof *selection;
}

/* Chooses an index: flat vectors as long as comparing all of them is fast, then lists of product quantizer codes whose
 * candidates are refined by the vectors. If that is larger than max_bytes, vectors and codes become shorter. The result
 * depends on the wish alone. Fills *selection, which furrow_index_selection_init has initialised.
 * Errors: E_ARGUMENT, a field is wrong, or no index is as small as max_bytes. */
FURROW_API furrow_status furrow_index_choose(const furrow_index_wish *wish, furrow_index_selection *selection,
                                             furrow_error *err) FURROW_MUST_USE;
/* Returns: the lists to probe where nothing is known about the vectors: a quarter, but 8 to 128. */
FURROW_API uint64_t furrow_default_nprobe(uint64_t nlist);

/* How settings are found. */
typedef struct furrow_index_tune_params {
  size_t size;            /* set by furrow_index_tune_params_init */
  double recall;          /* 0.95: share of the true neighbours that a search should find */
  const int64_t *own_ids; /* NULL: queries are not in the index; else their ids there, which do not count as results.
                           * The settings are then for queries that are not in the index. A graph is searched without
                           * its own vectors: at most a sixteenth of them, the first queries, is used */
  unsigned threads;       /* 0: one for each processor; does not change the result */
} furrow_index_tune_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_index_tune_params_init(furrow_index_tune_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->recall = 0.95;
}

/* The settings that were found. */
typedef struct furrow_index_tuning {
  size_t size;       /* set by furrow_index_tuning_init */
  bool reached;      /* whether the settings reach the recall; otherwise they are the best that were found */
  double recall;     /* of these queries */
  uint64_t nprobe;   /* lists to probe; 0: the index has none */
  float k_factor;    /* candidates for each result; 0: the index has no refinement */
  int32_t ef_search; /* candidates in the graph; 0: the index is not an HNSW graph */
} furrow_index_tuning;

/* Sets the size, and everything else to 0. */
static inline void furrow_index_tuning_init(furrow_index_tuning *tuning) {
  memset(tuning, 0, sizeof *tuning);
  tuning->size = sizeof *tuning;
}

/* Finds the settings (nprobe, ef_search, k_factor) that reach a recall with the least work, and stores them in the
 * index, so that searches and files have them. truth has the k nearest vectors of each of n queries, -1 where there are
 * fewer; the work is counted, so the same vectors give the same settings. Fills *result, which furrow_index_tuning_init
 * has initialised. After a failure the index is as it was. A searcher of the index stays usable.
 * Errors: E_ARGUMENT, n or k is 0, or recall is wrong; E_UNSUPPORTED, own_ids with a graph whose links cannot be
 *         changed; otherwise the errors of furrow_searcher_create and furrow_searcher_search. */
FURROW_API furrow_status furrow_index_tune(furrow_index *index, const float *queries, size_t n, const int64_t *truth,
                                           size_t k, const furrow_index_tune_params *params,
                                           furrow_index_tuning *result, furrow_error *err) FURROW_MUST_USE;

/* ---- Shards --------------------------------------------------------------------------------------------- */

/* An index in several files: shards, which have the same quantizers and different vectors, and a manifest that names
 * them (docs/formats/index_shards.md). Processes write one each, and search one each, without a file system that all of
 * them see.
 *
 *   furrow_shards *shards = NULL;
 *   furrow_status status = furrow_shards_open(&shards, "items.index", NULL, &err);
 *   if (status == FURROW_OK)
 *     status = furrow_shards_search(shards, queries, n, k, NULL, distances, ids, &err);
 *   furrow_shards_free(shards);
 */
typedef struct furrow_shards furrow_shards;

/* Writes an index as shards. With params->comm the call is collective, and every rank writes its own index as a shard:
 * PATH.shard0-0123456789abcdef, where the last part is a digest of its bytes. Then rank 0 writes the manifest, `path`,
 * and the names and attributes of the ids of all shards, PATH.names and PATH.attributes, which loading compares with
 * the manifest. If something fails or is killed before that, an older manifest and its shards are unchanged; shards
 * that only the old manifest names are removed at the end.
 * Errors:  E_UNSUPPORTED, ids of the index are dense (see "Changing an index"): it needs an id map; E_ARGUMENT, the
 *          quantizers of two ranks differ; otherwise the errors of furrow_index_save. */
FURROW_API furrow_status furrow_index_save_shards(const furrow_index *index, const char *path,
                                                  const furrow_index_save_params *params,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Returns: whether a file is a manifest of shards rather than an index, by its first bytes; also false if it cannot be
 *          read. */
FURROW_API bool furrow_is_shards(const char *path);

/* How shards are opened. */
typedef struct furrow_shards_params {
  size_t size;                          /* set by furrow_shards_params_init */
  const furrow_index_load_params *load; /* NULL: the defaults */
  const furrow_comm *comm;              /* NULL. Processes that search together: shard s is loaded by rank s % ranks */
  bool manifest_only;                   /* false. true: no shard is loaded, and nothing can be searched */
  bool check_digests;                   /* false. true: all bytes of the shards are compared with the manifest */
  unsigned threads;                     /* 0: one for each processor; only while preparing */
} furrow_shards_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_shards_params_init(furrow_shards_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Opens a manifest and loads its shards. With params->comm the call is collective: rank 0 reads the manifest, and each
 * rank loads its own shards, from the folder of the same path. params NULL: the defaults.
 * Errors: E_NOT_FOUND, the manifest or a shard is missing; E_FORMAT, the file is not a manifest, or a shard differs
 *         from what it says: size, number of vectors, dimension or quantizer; E_UNSUPPORTED, a later version, or a kind
 *         that cannot be searched in shards; E_STATE, another rank failed; otherwise the errors of furrow_index_load.
 * Owner:  the caller frees *shards with furrow_shards_free. */
FURROW_API furrow_status furrow_shards_open(furrow_shards **shards, const char *path,
                                            const furrow_shards_params *params, furrow_error *err) FURROW_MUST_USE;
/* Frees shards. Takes NULL. */
FURROW_API void furrow_shards_free(furrow_shards *shards);

/* Returns: the number of shards. */
FURROW_API size_t furrow_shards_count(const furrow_shards *shards);
/* Returns: vectors (ntotal) of all shards, or of shard i, as the manifest says; 0: there is no such shard. */
FURROW_API uint64_t furrow_shards_vectors(const furrow_shards *shards);
FURROW_API uint64_t furrow_shards_vectors_of(const furrow_shards *shards, size_t i);
/* Returns: bytes of the file of shard i, as the manifest says; 0: there is no such shard. */
FURROW_API uint64_t furrow_shards_bytes_of(const furrow_shards *shards, size_t i);
/* Returns: the dimension of the vectors. */
FURROW_API size_t furrow_shards_dimension(const furrow_shards *shards);
/* Returns: the path of the file of shard i; NULL: there is no such shard.
 * Owner:   the shards; valid until they are freed. */
FURROW_API const char *furrow_shards_path(const furrow_shards *shards, size_t i);
/* Returns: shard i; NULL: it is not loaded here.
 * Owner:   the shards; valid until they are freed. */
FURROW_API const furrow_index *furrow_shards_index(const furrow_shards *shards, size_t i);

/* Finds the k best of each of n queries in all shards: the results of furrow_searcher_search in the index that
 * furrow_index_merge_files makes of them, in the order of the manifest, also where distances are equal. Collective with
 * a communicator: all ranks have the same arguments and get the same results.
 * Errors: E_UNSUPPORTED, params->max_codes; E_STATE, manifest_only, or another rank failed; otherwise the errors of
 *         furrow_searcher_search. */
FURROW_API furrow_status furrow_shards_search(const furrow_shards *shards, const float *queries, size_t n, size_t k,
                                              const furrow_search_params *params, float *distances, int64_t *ids,
                                              furrow_error *err) FURROW_MUST_USE;
/* Finds everything nearer than a radius in all shards, as furrow_searcher_search_range does in one index. Collective
 * with a communicator.
 * Errors: E_STATE, manifest_only, or another rank failed; otherwise the errors of furrow_searcher_search_range.
 * Owner:  the caller frees *result with furrow_range_result_free. */
FURROW_API furrow_status furrow_shards_search_range(const furrow_shards *shards, const float *queries, size_t n,
                                                    float radius, const furrow_search_params *params,
                                                    furrow_range_result **result, furrow_error *err) FURROW_MUST_USE;

/* ---- Changing an index ---------------------------------------------------------------------------------- */

/* All functions of this section change an index completely or not at all: after a failure it is unchanged. Lists on
 * disk that change become part of the index; their data file is not written. A searcher of the index must be freed and
 * created again.
 *
 * Kinds with dense ids keep vectors or codes in the order of their ids, which must be 0 … ntotal-1: FLAT, PQ, SQ,
 * PQ_FAST, REFINE, IVF_PQR, and the index inside of an ID_MAP. */

/* Decodes the vector that is stored for an id: d floats. Uses the direct map if there is one, else searches all lists.
 * Transforms are reversed; what they lost (length, dimensions) stays lost.
 * Errors: E_NOT_FOUND, there is no such id; E_UNSUPPORTED, a transform that cannot be reversed (the token is its
 *         fourcc), or a kind that cannot be decoded; E_STATE, the index is search_only, or its contents are missing;
 *         E_MEMORY. */
FURROW_API furrow_status furrow_index_reconstruct(const furrow_index *index, int64_t id, float *vector,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Removes the ids that the filter keeps; *removed (may be NULL) is how many. The order is as Faiss leaves it: the last
 * vector of a list takes the place of a removed one. With dense ids, the vectors after a removed one move up and get
 * new ids, as in Faiss's flat index; ids of an ID_MAP stay with their vectors.
 * Errors: E_ARGUMENT, filter is NULL or wrong; E_UNSUPPORTED, HNSW, IVF_PQR without an id map, and a direct map that
 *         is an array; E_STATE, the index is search_only, or its contents are missing; E_MEMORY. */
FURROW_API furrow_status furrow_index_remove(furrow_index *index, const furrow_id_filter *filter, uint64_t *removed,
                                             furrow_error *err) FURROW_MUST_USE;
/* Gives n ids that are stored new vectors (n * d floats). In a list, the last vector replaces the old one, and the new
 * one is appended to its own list. A direct map that is an array is trusted: furrow_index_verify checks it.
 * Errors: E_NOT_FOUND, names the first id that is not stored; E_ARGUMENT, an id comes twice; E_RANGE, a vector that
 *         training would refuse; E_UNSUPPORTED, a kind that cannot be changed; E_STATE, as for furrow_index_remove;
 *         E_MEMORY. */
FURROW_API furrow_status furrow_index_update(furrow_index *index, const int64_t *ids, const float *vectors, size_t n,
                                             furrow_error *err) FURROW_MUST_USE;
/* Appends the vectors of `other` (not changed), with id_shift added to their ids; duplicate ids are not detected here
 * (saving can check them: unique_ids). Dense ids continue: id_shift is ntotal, or 0.
 * Errors: E_ARGUMENT, names what differs: dimension, metric, lists, centroids, quantizer, transforms; E_RANGE, an id
 *         becomes too large; E_STATE, the direct map is an array and ids do not continue, or as for
 *         furrow_index_remove; E_UNSUPPORTED, a kind that cannot be merged; E_MEMORY. */
FURROW_API furrow_status furrow_index_merge(furrow_index *index, const furrow_index *other, int64_t id_shift,
                                            furrow_error *err) FURROW_MUST_USE;
/* Merges files without loading their lists: `count` inputs become one file, list after list. id_shifts (NULL: all 0)
 * has an entry for each input, including the first. load (NULL: the defaults) says how inputs are read, except for
 * memory_map; its `lists` is the data file of each input that has lists on disk. The result has no direct map, and its
 * lists are part of it or in save->lists_file (save NULL: the defaults); save->names are the names for the result.
 * IVF_PQR, IVF_PQ_FAST, REFINE, FLAT and PQ are merged in memory. With save->overwrite the target may be one of the
 * inputs.
 * Errors: as furrow_index_load, furrow_index_merge and furrow_index_save; E_ARGUMENT, count is 0. */
FURROW_API furrow_status furrow_index_merge_files(const char *const *paths, const int64_t *id_shifts, size_t count,
                                                  const furrow_index_load_params *load, const char *target,
                                                  const furrow_index_save_params *save,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Writes one index file with the vectors of `count` indexes of one training, list after list, in order. Ids stay as
 * they are, and ids of parts without stored ids continue. Mapped parts take no memory, so that an index can be built
 * that is larger than the memory. The result has no direct map. Afterwards, also after a failure, the parts can only be
 * freed.
 * Errors: E_UNSUPPORTED, an index that has more than lists, or lists of codes in blocks; otherwise as
 *         furrow_index_merge_files. */
FURROW_API furrow_status furrow_index_save_parts(furrow_index *const *parts, size_t count, const char *path,
                                                 const furrow_index_save_params *save,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Rebuilds the direct map as `type`, or removes it.
 * Errors: E_STATE, `type` is an array, but an id is not below ntotal, or as for furrow_index_remove; E_ARGUMENT, the
 *         index has no lists; E_MEMORY. */
FURROW_API furrow_status furrow_index_set_direct_map(furrow_index *index, furrow_direct_map type,
                                                     furrow_error *err) FURROW_MUST_USE;
/* Sets the number of lists that a search probes by default, which is stored in the file. A searcher of the index stays
 * usable, and its next searches use the new number.
 * Errors: E_ARGUMENT, nprobe is 0, or the index has no lists. */
FURROW_API furrow_status furrow_index_set_nprobe(furrow_index *index, uint64_t nprobe,
                                                 furrow_error *err) FURROW_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
