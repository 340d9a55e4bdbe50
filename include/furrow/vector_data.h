/* furrow/vector_data.h: vectors to build an index from and to search it with: read, sample, cluster, search exactly,
 * write them.
 *
 *   furrow_vectors_reader *base = NULL;
 *   furrow_error err;
 *   float block[1000 * 128];
 *   size_t got = 1;
 *   furrow_status status = furrow_vectors_reader_open(&base, "base.fvecs", NULL, &err);
 *   while (status == FURROW_OK && got > 0) {
 *     status = furrow_vectors_reader_next(base, 1000, block, NULL, &got, &err);
 *     …
 *   }
 *   furrow_vectors_reader_close(base);
 *
 * Threads: functions that take a const handle may run at once on one handle; anything else needs exclusive use of
 * it. Different handles are independent.
 */
#ifndef FURROW_VECTOR_DATA_H
#define FURROW_VECTOR_DATA_H

#include <string.h>

#include "furrow/exchange.h"
#include "furrow/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Vectors, one block after the other ----------------------------------------------------------------- */

/* A reader of vectors: of a file, a matrix, or memory. */
typedef struct furrow_vectors_reader furrow_vectors_reader;

/* How vectors are read. */
typedef struct furrow_vectors_reader_params {
  size_t size;      /* set by furrow_vectors_reader_params_init */
  const char *kind; /* NULL: chosen by the ending of the name (before .gz, .zst). "npy", "fvecs", "ivecs", "bvecs",
                       "fbin", "ibin", "u8bin", "i8bin"; "npz", "safetensors": one array of several (`array`); "f32":
                       32-bit floats without any header, little-endian. As text
                       (docs/formats/vectors.md): "csv", "tsv", tables of numbers; "txt", "vec", word2vec and GloVe.
                       "parquet": a column (`column`) of lists of numbers in a Parquet file, or in all files of a
                       directory or glob; tables in memory and queries (memory://…) are read so, too */
  size_t d;         /* 0: the dimension in the file; must be set for f32. E_FORMAT if the file has another one */
  /* of matrices */
  furrow_axis vectors; /* AUTO: columns if a column format stored the matrix, else rows */
  int64_t first_id;    /* INT64_MIN: from the first vector on; else from this id on */
  int64_t end_id;      /* INT64_MAX: to the last vector; else up to this id, exclusive */
  size_t memory;       /* 0: 1 GiB; bytes for the part of the matrix that is in memory at a time */
  unsigned threads;    /* 0: one for each processor */
  /* of npz and safetensors */
  const char *array; /* NULL: the only array of numbers with two dimensions; else the name of the array */
  /* of parquet and tables in memory: names of columns */
  const char *column; /* of the vectors. NULL: the only one that has lists of numbers */
  const char *ids;    /* of the ids: integers; or texts, which are names. NULL: ids count from 0 */
  const char *names;  /* of the names: texts or numbers. NULL: none */
} furrow_vectors_reader_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_vectors_reader_params_init(furrow_vectors_reader_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->first_id = INT64_MIN;
  params->end_id = INT64_MAX;
}

/* Opens a file, also a compressed one; "-" is standard input, whose kind must be given. Elements of other types become
 * floats. params NULL: the defaults.
 * Errors: E_ARGUMENT, the name does not tell the kind, d is missing, or several arrays or columns may be meant;
 *         E_NOT_FOUND, also of DuckDB's library, an array or a column; E_FORMAT, the file is not of its kind, or d
 *         differs; E_PARSE, text that does not begin with a vector; E_IO; E_MEMORY.
 * Owner:  the caller closes *vectors with furrow_vectors_reader_close. */
FURROW_API furrow_status furrow_vectors_reader_open(furrow_vectors_reader **vectors, const char *path,
                                                    const furrow_vectors_reader_params *params,
                                                    furrow_error *err) FURROW_MUST_USE;
/* Opens a matrix as Angel stores it, whose vectors come by ascending id: columns (their ids are feature ids) or rows
 * (row ids). Elements that the matrix does not store are 0; a column without any element is not a vector. params NULL:
 * the defaults.
 * Errors: E_MEMORY, a part that cannot be made smaller needs more than params->memory; E_RANGE, vectors are too long;
 *         otherwise the errors of furrow_matrix_source_open.
 * Owner:  the caller closes *vectors with furrow_vectors_reader_close. */
FURROW_API furrow_status furrow_vectors_reader_open_matrix(furrow_vectors_reader **vectors, const char *folder,
                                                           const furrow_vectors_reader_params *params,
                                                           furrow_error *err) FURROW_MUST_USE;

/* Vectors in the caller's memory, for furrow_vectors_reader_open_memory. */
typedef struct furrow_vectors_memory {
  size_t size;                 /* set by furrow_vectors_memory_init */
  const float *vectors;        /* count vectors of d floats; may be NULL if count is 0 */
  size_t count;                /* the number of vectors */
  size_t d;                    /* floats of a vector; must be set */
  size_t stride;               /* 0: d; else floats from the start of a vector to the start of the next, at least d */
  const int64_t *ids;          /* NULL: ids count from 0; else `count` of them */
  void (*release)(void *user); /* NULL. Called once, by furrow_vectors_reader_close: the memory is not read any more */
  void *user;                  /* first argument of release */
} furrow_vectors_memory;

/* Sets the size, and everything else to 0. */
static inline void furrow_vectors_memory_init(furrow_vectors_memory *memory) {
  memset(memory, 0, sizeof *memory);
  memory->size = sizeof *memory;
}

/* Opens vectors that are in memory already. They are not copied, except by furrow_vectors_reader_next into its block,
 * and must stay as they are until `release` is called or the reader is closed. After a failure release is not called.
 * The path of such a reader is "".
 * Errors: E_ARGUMENT, d is 0, stride is below d, vectors is NULL, or the array would be larger than the memory can be;
 *         E_MEMORY.
 * Owner:  the caller closes *vectors with furrow_vectors_reader_close. */
FURROW_API furrow_status furrow_vectors_reader_open_memory(furrow_vectors_reader **vectors,
                                                           const furrow_vectors_memory *memory,
                                                           furrow_error *err) FURROW_MUST_USE;
/* Closes a reader. Takes NULL. */
FURROW_API void furrow_vectors_reader_close(furrow_vectors_reader *vectors);

/* Returns: the path that was opened; "" for memory.
 * Owner:   the reader; valid until it is closed. */
FURROW_API const char *furrow_vectors_reader_path(const furrow_vectors_reader *vectors);
/* Returns: elements of a vector; 0 only if there are no vectors. */
FURROW_API size_t furrow_vectors_reader_dimension(const furrow_vectors_reader *vectors);
/* Returns: the number of vectors; FURROW_COUNT_UNKNOWN for a stream, or a matrix that is read in parts. */
FURROW_API uint64_t furrow_vectors_reader_count(const furrow_vectors_reader *vectors);
/* Returns: whether the source stores ids; otherwise ids count from 0. */
FURROW_API bool furrow_vectors_reader_has_ids(const furrow_vectors_reader *vectors);
/* Returns: whether the source has a name for each vector: text whose lines begin with one. */
FURROW_API bool furrow_vectors_reader_has_names(const furrow_vectors_reader *vectors);

/* Reads up to `rows` vectors into `out` (rows * d floats) and their ids into `ids` (`rows` of them, or NULL). *got is
 * less than `rows` only at the end, and 0 after the last.
 * Errors: E_FORMAT, the file is cut short, or a list is null or not of d numbers; E_PARSE, a line of text that is not a
 *         vector; E_RANGE, an element that is not a float; E_STATE, a query that returned other rows when it ran again;
 *         E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_vectors_reader_next(furrow_vectors_reader *vectors, size_t rows, float *out,
                                                    int64_t *ids, size_t *got, furrow_error *err) FURROW_MUST_USE;
/* Goes back to the first vector.
 * Errors: E_STATE, a stream that has been read from; E_IO. */
FURROW_API furrow_status furrow_vectors_reader_rewind(furrow_vectors_reader *vectors,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Restricts a reader to `count` of its vectors, from number `first` on, and goes to that one. From now on the reader
 * gives only these: `count` is its number of vectors, and rewinding goes back to `first`; ids do not change. A process
 * uses it to read its part of a file. If a file cannot seek, the vectors before the part are read and dropped.
 * Errors: E_ARGUMENT, there are fewer vectors; E_STATE, a stream that has been read from; E_UNSUPPORTED, a query, which
 *         has no parts; otherwise the errors of furrow_vectors_reader_next. */
FURROW_API furrow_status furrow_vectors_reader_restrict(furrow_vectors_reader *vectors, uint64_t first, uint64_t count,
                                                        furrow_error *err) FURROW_MUST_USE;

/* ---- Ids ------------------------------------------------------------------------------------------------ */

/* Rows of ids. Layout fixed. */
typedef struct furrow_ids {
  int64_t *ids; /* all ids; furrow_ids_clear frees them */
  size_t count; /* number of ids in all rows */
  size_t dim;   /* ids in a row */
} furrow_ids;

/* Makes the struct empty. */
static inline void furrow_ids_init(furrow_ids *ids) {
  memset(ids, 0, sizeof *ids);
}

/* Reads a file of integers: npy, ivecs, ibin; i64: 64-bit integers without any header, little-endian; txt: numbers
 * between blanks, commas and line ends. kind NULL: chosen by the ending of the name; txt if the ending is none of
 * these. What *ids held before is not freed.
 * Errors: E_ARGUMENT, there is no such kind; E_NOT_FOUND; E_FORMAT, the file is not of its kind, or has real numbers;
 *         E_PARSE, text that is not an id; E_IO; E_MEMORY.
 * Owner:  the caller frees ids->ids with furrow_ids_clear. */
FURROW_API furrow_status furrow_ids_load(furrow_ids *ids, const char *path, const char *kind,
                                         furrow_error *err) FURROW_MUST_USE;
/* Collects the ids of all vectors of an index, in the order in which they are stored: list after list, or
 * as the id map has them. What *ids held before is not freed.
 * Errors: E_STATE, the contents of the lists are missing; E_MEMORY.
 * Owner:  the caller frees ids->ids with furrow_ids_clear. */
FURROW_API furrow_status furrow_index_get_ids(const furrow_index *index, furrow_ids *ids,
                                              furrow_error *err) FURROW_MUST_USE;
/* Frees the ids; the struct is empty afterwards. */
FURROW_API void furrow_ids_clear(furrow_ids *ids);

/* ---- Names of ids ------------------------------------------------------------------------------------------ */

/* An index stores ids that are numbers, as Faiss does. Their names are stored next to the index, in PATH.names, a
 * mapped file that finds the name of an id and the id of a name (docs/formats/index_names.md). A name is UTF-8 without
 * control characters and not empty; no two ids have the same.
 *
 *   furrow_id_names *names = NULL;
 *   size_t size;
 *   furrow_status status = furrow_id_names_load(&names, "items.index", &err);
 *   const char *name = status == FURROW_OK ? furrow_id_names_text(names, found[0], &size) : NULL;
 *   if (name) printf("%.*s\n", (int)size, name);
 *   furrow_id_names_free(names);
 *
 * They are written with the index: furrow_index_save_params.names. */

/* Texts, one for each line of a file. Layout fixed. */
typedef struct furrow_name_list {
  const char **names; /* each ends with a 0; furrow_name_list_clear frees the array */
  size_t count;       /* number of names */
  char *bytes;        /* the memory that they point into; furrow_name_list_clear frees it */
} furrow_name_list;

/* Makes the struct empty. */
static inline void furrow_name_list_init(furrow_name_list *list) {
  memset(list, 0, sizeof *list);
}

/* Reads a text file, also a compressed one, whose lines are names; "-" is standard input. A line ends before its line
 * feed, or carriage return and line feed; a byte order mark is skipped. What *list held before is not freed.
 * Errors: E_PARSE, with the line: empty, not UTF-8, has a control character, or is the same as a line before;
 *         E_NOT_FOUND; E_IO; E_MEMORY.
 * Owner:  the caller clears *list with furrow_name_list_clear. */
FURROW_API furrow_status furrow_name_list_load(furrow_name_list *list, const char *path,
                                               furrow_error *err) FURROW_MUST_USE;
/* Reads a file of ids or of names, whichever it is: names are text whose first line (that is not blank) does not
 * consist of integers; everything else is ids, as furrow_ids_load reads them. One of the two stays empty: ids->ids or
 * list->names is NULL.
 * Errors: as furrow_ids_load and of furrow_name_list_load.
 * Owner:  the caller clears *ids with furrow_ids_clear and *list with furrow_name_list_clear. */
FURROW_API furrow_status furrow_ids_or_names_load(furrow_ids *ids, furrow_name_list *list, const char *path,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Reads the names of all vectors of a file, even if the reader is restricted to some of them, and goes back to the
 * first vector of the reader. What *list held before is not freed.
 * Errors: E_ARGUMENT, the vectors have no names; E_STATE, a stream, which cannot be read twice; E_PARSE, with the line:
 *         a name that is empty, not UTF-8, has a control character, or is the same as one before; otherwise the errors
 *         of furrow_vectors_reader_next.
 * Owner:  the caller clears *list with furrow_name_list_clear. */
FURROW_API furrow_status furrow_vectors_reader_names(furrow_vectors_reader *vectors, furrow_name_list *list,
                                                     furrow_error *err) FURROW_MUST_USE;
/* Frees the names; the struct is empty afterwards. */
FURROW_API void furrow_name_list_clear(furrow_name_list *list);

/* Makes an empty set of names.
 * Errors: E_MEMORY.
 * Owner:  the caller frees *names with furrow_id_names_free. */
FURROW_API furrow_status furrow_id_names_create(furrow_id_names **names, furrow_error *err) FURROW_MUST_USE;
/* Opens the names of an index file, whose own bytes are read once, to see that the names belong to them.
 * Errors: E_NOT_FOUND, the index has no names; E_FORMAT, the file of names is damaged, or belongs to another index or
 *         to this one before it was changed; E_IO; E_MEMORY.
 * Owner:  the caller frees *names with furrow_id_names_free. */
FURROW_API furrow_status furrow_id_names_load(furrow_id_names **names, const char *index_path,
                                              furrow_error *err) FURROW_MUST_USE;
/* Frees names. Takes NULL. */
FURROW_API void furrow_id_names_free(furrow_id_names *names);

/* Returns: the number of names. */
FURROW_API size_t furrow_id_names_count(const furrow_id_names *names);
/* Returns: the name of an id, *size bytes without a terminating 0; NULL: it has none.
 * Owner:   the names; valid until they are changed or freed. */
FURROW_API const char *furrow_id_names_text(const furrow_id_names *names, int64_t id, size_t *size);
/* Returns: the i-th name by ascending id, with its id; NULL past the last one.
 * Owner:   the names; valid until they are changed or freed. */
FURROW_API const char *furrow_id_names_at(const furrow_id_names *names, size_t i, int64_t *id, size_t *size);
/* Returns: whether there is a name; then *id is its id. */
FURROW_API bool furrow_id_names_find(const furrow_id_names *names, const char *text, size_t size, int64_t *id);

/* The next four functions change names completely or, after a failure, not at all. Each takes time in proportion to the
 * number of all names. */

/* Gives n ids their names, texts that end with a 0. ids NULL: consecutive ids after the highest id that has a name, or
 * from 0.
 * Errors: E_EXISTS, an id already has a name, or a name already has an id (the token is the name); E_ARGUMENT, a text
 *         that is not a name; E_RANGE, more names than 2^32 - 2, or no id follows; E_MEMORY. */
FURROW_API furrow_status furrow_id_names_add(furrow_id_names *names, const int64_t *ids, const char *const *texts,
                                             size_t n, furrow_error *err) FURROW_MUST_USE;
/* Removes the names of the ids that the filter keeps, as furrow_index_remove does with vectors. renumber: ids after a
 * removed one move up, as dense ids do there.
 * Errors: E_ARGUMENT, the filter is wrong; E_MEMORY. */
FURROW_API furrow_status furrow_id_names_remove(furrow_id_names *names, const furrow_id_filter *filter, bool renumber,
                                                furrow_error *err) FURROW_MUST_USE;
/* Adds the names of `other` (not changed), with id_shift added to their ids. A name that both have for the same id
 * counts once.
 * Errors: E_EXISTS, two ids would have the same name, or one id two names (the token is the name); E_RANGE, an id
 *         becomes too large; E_MEMORY. */
FURROW_API furrow_status furrow_id_names_merge(furrow_id_names *names, const furrow_id_names *other, int64_t id_shift,
                                               furrow_error *err) FURROW_MUST_USE;
/* Gives the ids of an index names, texts that end with a 0, by ascending id. Existing names are dropped.
 * Errors: E_ARGUMENT, n is not the number of ids, an id is stored twice, or a text is not a name; E_EXISTS, a name
 *         comes twice; E_STATE, the contents of the lists are missing; E_MEMORY. */
FURROW_API furrow_status furrow_id_names_set(furrow_id_names *names, const furrow_index *index,
                                             const char *const *texts, size_t n, furrow_error *err) FURROW_MUST_USE;

/* Checks that every id of an index has a name, and that each name is found. Lists whose contents are missing are not
 * checked. *unused (may be NULL) is the number of names without a vector.
 * Errors: E_FORMAT, names the first id that has none; E_MEMORY. */
FURROW_API furrow_status furrow_id_names_check(const furrow_id_names *names, const furrow_index *index,
                                               uint64_t *unused, furrow_error *err) FURROW_MUST_USE;
/* Writes the names of an existing index file, for example one that Faiss wrote: PATH.names, which is replaced if it
 * exists.
 * Errors: E_NOT_FOUND, there is no such index file; E_EXISTS, PATH.names is another kind of file; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_id_names_save(const furrow_id_names *names, const char *index_path,
                                              furrow_error *err) FURROW_MUST_USE;
/* Removes the file of names of an index file, if there is one.
 * Errors: E_EXISTS, PATH.names is another kind of file; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_id_names_discard(const char *index_path, furrow_error *err) FURROW_MUST_USE;

/* ---- A sample of a stream ------------------------------------------------------------------------------- */

/* A random sample of at most `size` of the vectors that were added, each with the same probability. The sample depends
 * only on the seed and on the number of vectors, not on the sizes of the blocks or on the machine. */
typedef struct furrow_reservoir furrow_reservoir;

/* Makes an empty sample of at most `size` vectors of d floats.
 * Errors: E_ARGUMENT, d or size is 0; E_MEMORY.
 * Owner:  the caller frees *sample with furrow_reservoir_free. */
FURROW_API furrow_status furrow_reservoir_create(furrow_reservoir **sample, size_t d, size_t size, uint64_t seed,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Makes the sample of a process that sees `count` vectors, from number `first` on, of a stream of `total` vectors. It
 * keeps the vectors of this part that furrow_reservoir_create would keep from the whole stream. So processes that have
 * a part each draw the same sample as one process that has all vectors.
 * Errors: E_ARGUMENT, d or size is 0, or the part is not within the stream; E_MEMORY.
 * Owner:  the caller frees *sample with furrow_reservoir_free. */
FURROW_API furrow_status furrow_reservoir_create_part(furrow_reservoir **sample, size_t d, size_t size, uint64_t seed,
                                                      uint64_t first, uint64_t count, uint64_t total,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Frees a sample. Takes NULL. */
FURROW_API void furrow_reservoir_free(furrow_reservoir *sample);
/* Adds n vectors of the stream (n * d floats); the sample keeps some of them.
 * Errors: E_ARGUMENT, more vectors than the part of the stream has; E_MEMORY. */
FURROW_API furrow_status furrow_reservoir_add(furrow_reservoir *sample, const float *vectors, size_t n,
                                              furrow_error *err) FURROW_MUST_USE;
/* Returns: the number of vectors that were added. */
FURROW_API uint64_t furrow_reservoir_seen(const furrow_reservoir *sample);
/* Returns: the number of vectors that are kept. */
FURROW_API size_t furrow_reservoir_count(const furrow_reservoir *sample);
/* Returns: the kept vectors, in the order of the stream as long as all are kept.
 * Owner:   the sample; valid until the next furrow_reservoir_add. */
FURROW_API const float *furrow_reservoir_vectors(const furrow_reservoir *sample);
/* Returns: the position of each kept vector in the sample of all parts, ascending, for
 *          furrow_index_train_params.positions; NULL: the sample is not of a part.
 * Owner:   the sample; valid until it is freed. */
FURROW_API const uint64_t *furrow_reservoir_positions(const furrow_reservoir *sample);

/* ---- Exact search --------------------------------------------------------------------------------------- */

/* How an exact search is done. */
typedef struct furrow_exact_search_params {
  size_t size;                   /* set by furrow_exact_search_params_init */
  furrow_distance_metric metric; /* L2; or IP */
  unsigned threads;              /* 0: one for each processor */
  furrow_progress progress;      /* NULL. The phase is "truth", which counts base vectors */
  void *user;                    /* first argument of progress */
  bool normalize;                /* false. true: queries and vectors are scaled to unit length first */
} furrow_exact_search_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_exact_search_params_init(furrow_exact_search_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->metric = FURROW_METRIC_L2;
}

/* Finds the k nearest of all vectors of `base`, from its position to its end, by comparing every query with every
 * vector: n * k distances and ids in the order of furrow_searcher_search. A base vector with a NaN is never a result.
 * params NULL: the defaults.
 * Errors: E_ARGUMENT, k is 0; E_RANGE, a query has a NaN or an infinity, or is too large (its square); E_UNSUPPORTED,
 *         another metric; E_CANCELLED; E_MEMORY; otherwise the errors of furrow_vectors_reader_next. */
FURROW_API furrow_status furrow_exact_search(furrow_vectors_reader *base, const float *queries, size_t n, size_t k,
                                             const furrow_exact_search_params *params, float *distances, int64_t *ids,
                                             furrow_error *err) FURROW_MUST_USE;

/* ---- k-means -------------------------------------------------------------------------------------------- */

/* How centroids are found. */
typedef struct furrow_kmeans_params {
  size_t size;                  /* set by furrow_kmeans_params_init */
  unsigned rounds;              /* 25: rounds of Lloyd's algorithm; fewer if nothing changes any more */
  uint64_t seed;                /* 1234: the same seed gives the same centroids, whatever the number of threads */
  uint64_t sample_per_centroid; /* 256: vectors for each centroid; if there are more, a random sample of that size is
                                   used */
  bool spherical;               /* false: the nearest centroid has the smallest distance. true: centroids have unit
                                   length, and the nearest one has the largest inner product */
  unsigned threads;             /* 0: one for each processor */
  furrow_progress progress;     /* NULL. The phase is "kmeans", which counts rounds; 0 during the start */
  void *user;                   /* first argument of progress */
} furrow_kmeans_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_kmeans_params_init(furrow_kmeans_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->rounds = 25;
  params->seed = 1234;
  params->sample_per_centroid = 256;
}

/* Finds k centroids (k * d floats) of n vectors (n * d floats), which are only read. The first centroids are vectors
 * drawn by k-means++ (the best of a few candidates each, as in scikit-learn; of many vectors, from a random sample, so
 * that it takes no longer than a few rounds), and an empty cluster takes half of a large one, as in Faiss. If k is n,
 * they are the vectors. After a failure the centroids are undefined. params NULL: the defaults.
 * Errors: E_ARGUMENT, n is less than k, or k, d or sample_per_centroid is 0; E_RANGE, a vector has a NaN or an
 *         infinity, or is too large (the message has its row); E_CANCELLED; E_MEMORY. */
FURROW_API furrow_status furrow_kmeans(const float *vectors, size_t n, size_t d, size_t k,
                                       const furrow_kmeans_params *params, float *centroids,
                                       furrow_error *err) FURROW_MUST_USE;
/* Finds the nearest of k centroids for each of n vectors. *objective (may be NULL) is the sum of the squared distances
 * to them, which k-means minimises, or with `spherical` the sum of the inner products, which it maximises. Only
 * params->spherical and params->threads are used.
 * Errors: as furrow_kmeans, except that n may be less than k; E_RANGE also for a centroid. */
FURROW_API furrow_status furrow_kmeans_assign(const float *vectors, size_t n, size_t d, const float *centroids,
                                              size_t k, const furrow_kmeans_params *params, uint32_t *nearest,
                                              double *objective, furrow_error *err) FURROW_MUST_USE;

/* ---- Writing -------------------------------------------------------------------------------------------- */

/* A writer of a file of rows, of floats or of ids. The file appears when it is complete. */
typedef struct furrow_vectors_writer furrow_vectors_writer;

/* How rows are written. */
typedef struct furrow_vectors_writer_params {
  size_t size;      /* set by furrow_vectors_writer_params_init */
  const char *kind; /* NULL: chosen by the ending of the name. Floats: "fvecs", "fbin", "npy", "f32"; ids: "ivecs",
                       "ibin", "npy", "i64" */
  bool ids;         /* false: rows of floats. true: rows of 64-bit ids */
  size_t dim;       /* elements of a row; must be set */
  bool flat;        /* false. true: npy with one dimension; dim is 1 */
  bool overwrite;   /* false: E_EXISTS where there is a file of that name */
} furrow_vectors_writer_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_vectors_writer_params_init(furrow_vectors_writer_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Begins a file; "-" is standard output, whose kind must be given.
 * Errors: E_ARGUMENT, the name does not tell the kind, the kind cannot hold floats or ids, or dim is wrong; E_EXISTS,
 *         here or at the commit; E_IO; E_MEMORY.
 * Owner:  the caller closes *out with furrow_vectors_writer_close. */
FURROW_API furrow_status furrow_vectors_writer_open(furrow_vectors_writer **out, const char *path,
                                                    const furrow_vectors_writer_params *params,
                                                    furrow_error *err) FURROW_MUST_USE;
/* Writes n rows of floats or, with params->ids, of int64_t.
 * Errors: E_RANGE, an id that 32 bits do not hold, in ivecs and ibin; E_IO. */
FURROW_API furrow_status furrow_vectors_writer_write(furrow_vectors_writer *out, const void *rows, size_t n,
                                                     furrow_error *err) FURROW_MUST_USE;
/* Completes the file, which then has its name.
 * Errors: E_EXISTS, there is a file of that name and params->overwrite is false; E_IO. */
FURROW_API furrow_status furrow_vectors_writer_commit(furrow_vectors_writer *out, furrow_error *err) FURROW_MUST_USE;
/* Completes two files that belong together, such as vectors and their ids. Where bytes cannot be written, both stay as
 * they were. A new file is never next to an old one: if a file cannot be renamed, or the program is killed between the
 * two renames, the file of `beside` may be missing.
 * Errors: as furrow_vectors_writer_commit. */
FURROW_API furrow_status furrow_vectors_writer_commit_pair(furrow_vectors_writer *out, furrow_vectors_writer *beside,
                                                           furrow_error *err) FURROW_MUST_USE;
/* Completes a file of vectors and a text file, such as their names, one on each line: the file `path` gets these bytes.
 * Errors: as furrow_vectors_writer_commit; E_NOT_FOUND, the directory of `path`; E_MEMORY. */
FURROW_API furrow_status furrow_vectors_writer_commit_text(furrow_vectors_writer *out, const char *path,
                                                           const char *text, size_t length,
                                                           furrow_error *err) FURROW_MUST_USE;
/* Frees a writer; a file that was not committed is removed. Takes NULL. */
FURROW_API void furrow_vectors_writer_close(furrow_vectors_writer *out);

#ifdef __cplusplus
}
#endif

#endif
