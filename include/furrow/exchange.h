/* furrow/exchange.h: matrices to and from the files of other programs.
 *
 * npy, fvecs, fbin, safetensors and text hold dense vectors; npz (SciPy's CSR), tsv and libsvm hold only existing
 * elements.
 *
 *   furrow_status status = furrow_model_export("deepfm/embedding_embedding", "embedding.npy", NULL, NULL, &err);
 *
 * A vector is a row of the matrix or, for an embedding, a column: the values of all saved rows for one feature id. If a
 * file format cannot hold ids, they are written to a second file, PATH.ids.npy (64-bit).
 *
 * Threads: all functions of this header may be called from any thread, for different targets at once.
 */
#ifndef FURROW_EXCHANGE_H
#define FURROW_EXCHANGE_H

#include "furrow/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, text, ending of the file's name, description): the formats of other programs. */
#define FURROW_EXCHANGE_FORMATS(X)                                                                           \
  X(NPY, "npy", ".npy", "NumPy array, vectors one after the other; ids in a second file")                    \
  X(NPZ, "npz", ".npz", "SciPy sparse matrix (CSR) as scipy.sparse.save_npz writes it")                      \
  X(FVECS, "fvecs", ".fvecs", "32-bit floats, each vector after its length; ids in a second file")           \
  X(FBIN, "fbin", ".fbin", "two 32-bit counts, then 32-bit floats; ids in a second file")                    \
  X(SAFETENSORS, "safetensors", ".safetensors", "named tensors: a whole model in one file, ids as NAME.ids") \
  X(TSV, "tsv", ".tsv", "row, column, value in a line, sorted")                                              \
  X(LIBSVM, "libsvm", ".libsvm", "a vector in a line: id index:value …")                                     \
  X(TEXT, "text", ".txt", "a vector in a line: id value value …, with blanks or commas; only imported")

/* A format of another program. */
typedef enum furrow_exchange_format {
  FURROW_EXCHANGE_AUTO, /* by the ending of the file's name */
#define FURROW_X(name, text, ending, about) FURROW_EXCHANGE_##name,
  FURROW_EXCHANGE_FORMATS(FURROW_X)
#undef FURROW_X
} furrow_exchange_format;

/* Finds a format by name.
 * Errors: E_ARGUMENT, there is no such format (err->hint lists the names). */
FURROW_API furrow_status furrow_exchange_format_find(const char *name, furrow_exchange_format *format,
                                                     furrow_error *err) FURROW_MUST_USE;
/* Returns: "npy" …; "?" for a number that is not a format.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_exchange_format_name(furrow_exchange_format format);

/* What a vector is. */
typedef enum furrow_axis {
  FURROW_AXIS_AUTO,   /* columns if a column format stores the matrix, else rows */
  FURROW_AXIS_ROWS,   /* a vector is a row */
  FURROW_AXIS_COLUMNS /* a vector is a column: all saved rows of one feature */
} furrow_axis;

/* What furrow_model_export writes. */
typedef struct furrow_model_export_params {
  size_t size;                               /* set by furrow_model_export_params_init */
  const furrow_matrix_source_params *source; /* NULL: the defaults */
  const furrow_matrix_selection *selection;  /* NULL: everything */
  furrow_exchange_format format;             /* AUTO */
  furrow_axis vectors;                       /* AUTO */
  const char *ids;                           /* path of the second file; NULL: PATH.ids.npy; "": none is written */
  furrow_element_type type;                  /* dense files: the type of the written elements; used only if `convert` is
                                                true */
  bool convert;                              /* whether `type` is used; false: the matrix's type */
  bool overwrite;                            /* replaces existing files; false: E_EXISTS */
  unsigned threads;                          /* 0: one for each processor */
  size_t memory;                             /* bytes of elements in memory; 0: 1 GiB */
  furrow_progress progress;                  /* "reading", in bytes of data files; NULL: none */
  void *progress_user;                       /* the user pointer of progress */
} furrow_model_export_params;

/* Sets the defaults. */
static inline void furrow_model_export_params_init(furrow_model_export_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* What furrow_model_export wrote. */
typedef struct furrow_model_export_result {
  size_t size;                 /* set by furrow_model_export_result_init */
  size_t matrices;             /* how many matrices */
  uint64_t vectors, dimension; /* vectors and dimension of the last matrix */
  uint64_t elements;           /* in dense files including the zeros for absent elements */
  uint64_t absent;             /* dense files: zeros written for absent elements */
  uint64_t bytes;              /* bytes of the file */
  uint64_t ids_bytes;          /* bytes of the second file; 0: there is none */
} furrow_model_export_result;

/* Sets the size and clears the rest. */
static inline void furrow_model_export_result_init(furrow_model_export_result *result) {
  memset(result, 0, sizeof *result);
  result->size = sizeof *result;
}

/* Writes one matrix (a folder, or a model directory with one matrix; safetensors: all matrices of a model directory) to
 * a file, which appears when it is complete and must not lie in the source. "-" is standard output, for formats that
 * are written in one pass (npy, fbin, fvecs, tsv, libsvm). A dense file has 0 for elements that the matrix does not
 * store. params NULL: the defaults; result may be NULL.
 * Errors: as furrow_model_listing_load, furrow_matrix_source_open and furrow_partition_reader_next; E_ARGUMENT, a
 *         parameter is wrong, or the model has several matrices and the format holds one; E_EXISTS, there is such a
 *         file; E_RANGE, an element does not fit, or dense vectors by row of a matrix whose columns reach further than
 *         2^31 (choose columns, or a sparse format); E_CANCELLED. */
FURROW_API furrow_status furrow_model_export(const char *source, const char *path,
                                             const furrow_model_export_params *params,
                                             furrow_model_export_result *result, furrow_error *err) FURROW_MUST_USE;

/* What furrow_model_import reads and writes. Fields of the spec that are 0, -1 or NULL by default mean:
 *   name        the target folder's name (safetensors: the tensor's name). Several tensors have their own names, and
 *               the target is a model directory
 *   format      RowIdColIdValueTextRowFormat, or what the tensors' metadata says
 *   rows, cols  as many as the data needs
 *   row_type    the type of the data (text: float), dense or sparse as the data is
 *   first_col   by rows, the column of a vector's first element; by columns without ids, the column of the first vector
 *   saved_rows  all rows; if the file lists rows (vectors by rows) and `rows` is 0, the rows that it lists. If it is
 *               set: for dense files by columns, the rows that the elements of a vector belong to; for dense files by
 *               rows, at least all rows of the file; for other files, elements of rows that it does not list are left
 *               out */
typedef struct furrow_model_import_params {
  size_t size;                             /* set by furrow_model_import_params_init */
  const furrow_matrix_spec *spec;          /* NULL: the defaults */
  const furrow_matrix_write_params *write; /* NULL: the defaults */
  furrow_exchange_format format;           /* AUTO */
  furrow_axis vectors;                     /* AUTO: columns if spec->format is a column format, else rows */
  const char *ids;          /* npy of 64-bit ids of the vectors; NULL: PATH.ids.npy if there is one, else 0, 1, … */
  size_t memory;            /* bytes of elements in memory; 0: 1 GiB */
  furrow_progress progress; /* "reading", in bytes of the file; NULL: none */
  void *progress_user;      /* the user pointer of progress */
} furrow_model_import_params;

/* Sets the defaults. */
static inline void furrow_model_import_params_init(furrow_model_import_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* What furrow_model_import wrote. */
typedef struct furrow_model_import_result {
  size_t size;        /* set by furrow_model_import_result_init */
  size_t matrices;    /* how many matrices */
  int64_t rows, cols; /* rows and columns of the last matrix */
  uint64_t elements;  /* elements of all matrices */
  uint64_t left_out;  /* elements of rows that saved_rows does not list */
} furrow_model_import_result;

/* Sets the size and clears the rest. */
static inline void furrow_model_import_result_init(furrow_model_import_result *result) {
  memset(result, 0, sizeof *result);
  result->size = sizeof *result;
}

/* Reads a file and writes a matrix folder (a safetensors file: a model directory unless it has one tensor). params
 * NULL: the defaults; result may be NULL.
 * Errors: E_NOT_FOUND; E_FORMAT and E_PARSE, the file is not what its format says; E_ARGUMENT, a parameter is wrong;
 *         E_RANGE, a number does not fit; the errors of furrow_matrix_plan and furrow_matrix_writer_open; E_IO;
 *         E_MEMORY; E_CANCELLED. */
FURROW_API furrow_status furrow_model_import(const char *path, const char *target,
                                             const furrow_model_import_params *params,
                                             furrow_model_import_result *result, furrow_error *err) FURROW_MUST_USE;

/* ---- What is in a file of arrays ------------------------------------------------------------------------ */

/* A count that is unknown unless the whole file is read. */
#define FURROW_COUNT_UNKNOWN UINT64_MAX

/* An array of a file. Texts and shape are valid during the call. The library allocates it; it may grow at its end. */
typedef struct furrow_array_info {
  const char *file;      /* kind of the file: "npy", "fvecs", "npz" … */
  const char *name;      /* name of a tensor, or of a member of an npz; "" where the file is one array */
  const char *type;      /* type of its elements, as NumPy writes it: "f4", "i8", "U3"; safetensors: "F32" … */
  size_t dimensions;     /* number of elements of shape; 0: one element */
  const uint64_t *shape; /* FURROW_COUNT_UNKNOWN: rows of a compressed fvecs */
} furrow_array_info;

/* Calls visit for every array of a file whose name ends in .npy, .fvecs, .ivecs, .bvecs, .fbin, .ibin, .u8bin, .i8bin
 * (optionally followed by .gz or .zst), .npz or .safetensors. Headers are read and checked against the size of the
 * file; elements are not read.
 * Errors: E_ARGUMENT, the name ends otherwise; E_NOT_FOUND; E_FORMAT; E_IO; E_MEMORY; what visit returned other than
 * OK, which ends the call. */
FURROW_API furrow_status furrow_arrays_for_each(const char *path,
                                                furrow_status (*visit)(void *user, const furrow_array_info *array),
                                                void *user, furrow_error *err) FURROW_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
