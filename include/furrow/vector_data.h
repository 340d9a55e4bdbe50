/* furrow/vector_data.h: the vectors that an index is built of and searched with: read, drawn, searched exactly,
 * written.
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
 */
#ifndef FURROW_VECTOR_DATA_H
#define FURROW_VECTOR_DATA_H

#include "furrow/exchange.h"
#include "furrow/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Vectors, one block after the other ----------------------------------------------------------------- */

/* Vectors that are being read. */
typedef struct furrow_vectors_reader furrow_vectors_reader;

typedef struct furrow_vectors_reader_params {
  const char *kind; /* NULL: by the ending of the name (before .gz, .zst). "npy", "fvecs", "ivecs", "bvecs", "fbin",
                       "ibin", "u8bin", "i8bin"; "f32": 32-bit floats without any header, little-endian */
  size_t d;         /* 0: what the file says; must be set for f32. E_FORMAT where the file says otherwise */
  /* of matrices */
  furrow_axis vectors;      /* AUTO: columns if a column format stored the matrix, else rows */
  int64_t first_id, end_id; /* ids of the vectors, end exclusive; INT64_MIN, INT64_MAX: all */
  size_t memory;            /* 1 GiB: for the part of the matrix that is in memory at a time */
  unsigned threads;         /* 0: as many as there are processors */
} furrow_vectors_reader_params;

FURROW_API void furrow_vectors_reader_params_init(furrow_vectors_reader_params *params);

/* A file, also compressed; "-" is standard input, whose kind must be given. Elements of other types become floats.
 * E_ARGUMENT: the name does not tell the kind, or d is missing. params NULL: the defaults. */
FURROW_API furrow_status furrow_vectors_reader_open(furrow_vectors_reader **vectors, const char *path,
                                                    const furrow_vectors_reader_params *params,
                                                    furrow_error *err) FURROW_MUST_USE;
/* The vectors of a matrix as Angel stores it, by ascending id: columns (their ids are feature ids) or rows (row ids).
 * What the matrix has no element for is 0; a column without any element is no vector. E_MEMORY: a part that cannot be
 * made smaller needs more than params->memory. */
FURROW_API furrow_status furrow_vectors_reader_open_matrix(furrow_vectors_reader **vectors, const char *folder,
                                                           const furrow_vectors_reader_params *params,
                                                           furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
FURROW_API void furrow_vectors_reader_close(furrow_vectors_reader *vectors);

FURROW_API const char *furrow_vectors_reader_path(const furrow_vectors_reader *vectors);
/* Elements of a vector; 0 only if there are no vectors. */
FURROW_API size_t furrow_vectors_reader_dimension(const furrow_vectors_reader *vectors);
/* FURROW_COUNT_UNKNOWN: a stream, or a matrix that is read in parts. */
FURROW_API uint64_t furrow_vectors_reader_count(const furrow_vectors_reader *vectors);
/* Whether the vectors have ids of their own. Otherwise ids count from 0. */
FURROW_API bool furrow_vectors_reader_has_ids(const furrow_vectors_reader *vectors);

/* Reads up to `rows` vectors; *got is less only at the end. ids (may be NULL) has room for as many. */
FURROW_API furrow_status furrow_vectors_reader_next(furrow_vectors_reader *vectors, size_t rows, float *out,
                                                    int64_t *ids, size_t *got, furrow_error *err) FURROW_MUST_USE;
/* From the first vector again; E_STATE for a stream that has been read from. */
FURROW_API furrow_status furrow_vectors_reader_rewind(furrow_vectors_reader *vectors,
                                                      furrow_error *err) FURROW_MUST_USE;

/* ---- Ids ------------------------------------------------------------------------------------------------ */

/* Rows of ids; `dim` of them in a row. */
typedef struct furrow_ids {
  int64_t *ids; /* count of them */
  size_t count, dim;
} furrow_ids;

/* A file of integers: npy, ivecs, ibin; i64: 64-bit integers without any header, little-endian; txt: numbers between
 * blanks, commas and line ends. kind NULL: by the ending of the name; of any other name: txt. */
FURROW_API furrow_status furrow_ids_load(furrow_ids *ids, const char *path, const char *kind,
                                         furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_ids_clear(furrow_ids *ids);

/* ---- A sample of a stream ------------------------------------------------------------------------------- */

/* At most `size` of the vectors that went by, each with the same chance (a reservoir). Which ones depends on the seed
 * and on the count of vectors alone, not on the sizes of the blocks, nor on the machine. */
typedef struct furrow_reservoir furrow_reservoir;

FURROW_API furrow_status furrow_reservoir_create(furrow_reservoir **sample, size_t d, size_t size, uint64_t seed,
                                                 furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_reservoir_free(furrow_reservoir *sample);
FURROW_API furrow_status furrow_reservoir_add(furrow_reservoir *sample, const float *vectors, size_t n,
                                              furrow_error *err) FURROW_MUST_USE;
/* How many went by, and how many are kept. */
FURROW_API uint64_t furrow_reservoir_seen(const furrow_reservoir *sample);
FURROW_API size_t furrow_reservoir_count(const furrow_reservoir *sample);
/* The kept ones; the sample's own until the next add. In the order they came, unless some were left out. */
FURROW_API const float *furrow_reservoir_vectors(const furrow_reservoir *sample);

/* ---- The truth ------------------------------------------------------------------------------------------ */

typedef struct furrow_exact_search_params {
  furrow_distance_metric metric; /* L2; or IP */
  unsigned threads;              /* 0: as many as there are processors */
  furrow_index_progress progress;
  void *user;
} furrow_exact_search_params;

FURROW_API void furrow_exact_search_params_init(furrow_exact_search_params *params);
/* The k nearest of all vectors of `base`, from where it stands to its end: as furrow_searcher_search gives them, by
 * comparing each with each. E_RANGE: a query with a NaN or an infinity, or too large (its square). A base vector with a
 * NaN is never near. */
FURROW_API furrow_status furrow_exact_search(furrow_vectors_reader *base, const float *queries, size_t n, size_t k,
                                             const furrow_exact_search_params *params, float *distances, int64_t *ids,
                                             furrow_error *err) FURROW_MUST_USE;

/* ---- Writing -------------------------------------------------------------------------------------------- */

/* A file of rows of floats or of ids that appears when it is complete. */
typedef struct furrow_vectors_writer furrow_vectors_writer;

typedef struct furrow_vectors_writer_params {
  const char *kind; /* NULL: by the ending. Floats: "fvecs", "fbin", "npy", "f32"; ids: "ivecs", "ibin", "npy", "i64" */
  bool ids;         /* rows of 64-bit ids; otherwise of floats */
  size_t dim;       /* must be set */
  bool flat;        /* npy: one dimension; dim is 1 */
  bool keep_existing;
} furrow_vectors_writer_params;

FURROW_API void furrow_vectors_writer_params_init(furrow_vectors_writer_params *params);
FURROW_API furrow_status furrow_vectors_writer_open(furrow_vectors_writer **out, const char *path,
                                                    const furrow_vectors_writer_params *params,
                                                    furrow_error *err) FURROW_MUST_USE;
/* n rows of floats (ids: of int64_t). E_RANGE: an id that 32 bits do not hold, in ivecs and ibin. */
FURROW_API furrow_status furrow_vectors_writer_write(furrow_vectors_writer *out, const void *rows, size_t n,
                                                     furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_vectors_writer_commit(furrow_vectors_writer *out, furrow_error *err) FURROW_MUST_USE;
/* Frees; removes what was not committed. Takes NULL. */
FURROW_API void furrow_vectors_writer_close(furrow_vectors_writer *out);

#ifdef __cplusplus
}
#endif

#endif
