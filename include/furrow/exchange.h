/* furrow/exchange.h: matrices to and from the files of other programs.
 *
 * npy, fvecs, fbin and safetensors hold dense vectors; npz (SciPy's CSR), tsv and libsvm hold what there is.
 *
 * A vector is a row of the matrix or, for an embedding, a column: the values of all saved rows for one feature id.
 * Files that have no place for the ids get a second file beside them (PATH.ids.npy, 64-bit).
 */
#ifndef FURROW_EXCHANGE_H
#define FURROW_EXCHANGE_H

#include "furrow/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, text, ending of a file's name, what it holds) */
#define FURROW_EXCHANGE_FORMATS(X)                                                                           \
  X(NPY, "npy", ".npy", "NumPy array, vectors one after the other; ids in a second file")                    \
  X(NPZ, "npz", ".npz", "SciPy sparse matrix (CSR) as scipy.sparse.save_npz writes it")                      \
  X(FVECS, "fvecs", ".fvecs", "32-bit floats, each vector after its length; ids in a second file")           \
  X(FBIN, "fbin", ".fbin", "two 32-bit counts, then 32-bit floats; ids in a second file")                    \
  X(SAFETENSORS, "safetensors", ".safetensors", "named tensors: a whole model in one file, ids as NAME.ids") \
  X(TSV, "tsv", ".tsv", "row, column, value in a line, sorted")                                              \
  X(LIBSVM, "libsvm", ".libsvm", "a vector in a line: id index:value …")

typedef enum furrow_exchange_format {
  FURROW_EXCHANGE_AUTO, /* by the ending of the file's name */
#define FURROW_X(name, text, ending, about) FURROW_EXCHANGE_##name,
  FURROW_EXCHANGE_FORMATS(FURROW_X)
#undef FURROW_X
} furrow_exchange_format;

/* By name; E_ARGUMENT lists the names. */
FURROW_API furrow_status furrow_exchange_format_find(const char *name, furrow_exchange_format *format,
                                                     furrow_error *err) FURROW_MUST_USE;
/* "npy" …; "?" for a value that is no format. */
FURROW_API const char *furrow_exchange_format_name(furrow_exchange_format format);

typedef enum furrow_axis {
  FURROW_AXIS_AUTO,   /* columns if a column format stored the matrix, else rows */
  FURROW_AXIS_ROWS,   /* a vector is a row */
  FURROW_AXIS_COLUMNS /* a vector is a column: all saved rows of one feature */
} furrow_axis;

typedef struct furrow_model_export_params {
  furrow_matrix_source_params source;
  furrow_matrix_selection selection;
  furrow_exchange_format format;
  furrow_axis vectors;
  const char *ids;          /* path of the second file; NULL: PATH.ids.npy; "": none is written */
  furrow_element_type type; /* dense files: what elements are written as; only if `convert` */
  bool convert;
  bool replace;
  unsigned threads;
  size_t memory; /* 1 GiB */
  furrow_model_progress progress;
  void *user;
} furrow_model_export_params;

FURROW_API void furrow_model_export_params_init(furrow_model_export_params *params);

typedef struct furrow_model_export_result {
  size_t matrices;
  uint64_t vectors, dimension; /* of the last matrix */
  uint64_t elements;           /* written; dense files: with the zeros for what was absent */
  uint64_t absent;             /* dense files: zeros that stand for no element */
  uint64_t bytes;              /* of the file */
  uint64_t ids_bytes;          /* of the second file; 0: there is none */
} furrow_model_export_result;

/* Writes one matrix (a folder, or a model directory with one matrix; safetensors: all matrices of a model directory) to
 * a file, which appears when it is complete and must not lie in the source. "-" is standard output where the format
 * needs no look back (npy, fbin, fvecs, tsv, libsvm). Elements that a dense file has and the matrix has not are 0.
 * Dense vectors by row of a matrix whose columns reach further than 2^31 are refused (E_RANGE): choose columns, or a
 * sparse format. params NULL: the defaults. */
FURROW_API furrow_status furrow_model_export(const char *source, const char *path,
                                             const furrow_model_export_params *params,
                                             furrow_model_export_result *result, furrow_error *err) FURROW_MUST_USE;

/* What the fields of the spec mean to an import:
 *   name        NULL: that of the target folder (safetensors: of the tensor). Several tensors have their own names, and
 *               the target is a model directory
 *   format      NULL: RowIdColIdValueTextRowFormat, or what the tensors' metadata says
 *   rows, cols  0: as many as the data needs
 *   row_type    -1: the type of the data (text: float), dense or sparse as it is
 *   first_col   by rows, the column of a vector's first element; by columns without ids, that of the first vector
 *   saved_rows  dense files by columns: the rows that the elements of a vector belong to; by rows: all that the file
 *               has, and perhaps more. Other files: elements of rows that it does not list are left out. NULL: all
 *               rows; where the file lists rows (vectors by rows) and `rows` is 0, those */
typedef struct furrow_model_import_params {
  furrow_exchange_format format;
  furrow_axis vectors; /* AUTO: columns if spec.format is a column format, else rows */
  const char *ids;     /* npy of 64-bit ids of the vectors; NULL: PATH.ids.npy if it is there, else 0, 1, … */
  furrow_matrix_spec spec;
  furrow_matrix_write_params write;
  size_t memory;
  furrow_model_progress progress;
  void *user;
} furrow_model_import_params;

FURROW_API void furrow_model_import_params_init(furrow_model_import_params *params);

typedef struct furrow_model_import_result {
  size_t matrices;
  int64_t rows, cols; /* of the last matrix */
  uint64_t elements;
  uint64_t left_out; /* of rows that saved_rows does not list */
} furrow_model_import_result;

/* Reads a file and writes a matrix folder (a safetensors file: a model directory unless it has one tensor). */
FURROW_API furrow_status furrow_model_import(const char *path, const char *target,
                                             const furrow_model_import_params *params,
                                             furrow_model_import_result *result, furrow_error *err) FURROW_MUST_USE;

/* ---- What is in a file of arrays ------------------------------------------------------------------------ */

#define FURROW_COUNT_UNKNOWN UINT64_MAX

/* An array of a file. Texts and shape are valid during the call. */
typedef struct furrow_array_info {
  const char *file;      /* kind of the file: "npy", "fvecs", "npz" … */
  const char *name;      /* of a tensor, or of a member of an npz; "" where the file is one array */
  const char *type;      /* of its elements, as NumPy writes it: "f4", "i8", "U3"; safetensors: "F32" … */
  size_t dimensions;     /* 0: one element */
  const uint64_t *shape; /* FURROW_COUNT_UNKNOWN: how many rows shows at the end alone (compressed fvecs) */
} furrow_array_info;

/* Tells `visit` of every array of a file whose name ends in .npy, .fvecs, .ivecs, .bvecs, .fbin, .ibin, .u8bin, .i8bin
 * (also with .gz or .zst behind it), .npz or .safetensors. Headers are read and checked against the size of the file;
 * elements are not looked at. E_ARGUMENT: the name ends otherwise. What visit returns other than OK ends it. */
FURROW_API furrow_status furrow_arrays_for_each(const char *path,
                                                furrow_status (*visit)(void *user, const furrow_array_info *array),
                                                void *user, furrow_error *err) FURROW_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
