/* model/exchange/exchange_job.h: declarations shared by export and import. */
#ifndef FW_MODEL_EXCHANGE_EXCHANGE_JOB_H
#define FW_MODEL_EXCHANGE_EXCHANGE_JOB_H

#include "array/array_type.h"
#include "array/temp_store.h"
#include "furrow/exchange.h"

_Static_assert((int)FW_ARRAY_F64 == (int)FURROW_ELEMENT_F64 && (int)FW_ARRAY_F32 == (int)FURROW_ELEMENT_F32 &&
                   (int)FW_ARRAY_I64 == (int)FURROW_ELEMENT_I64 && (int)FW_ARRAY_I32 == (int)FURROW_ELEMENT_I32,
               "types of elements are types of arrays");

/* Keeps *format if it is set, otherwise derives it from the extension of the path; fails with E_ARGUMENT if the
 * extension is unknown. */
furrow_status fw_exchange_format_of(furrow_exchange_format *format, const char *path,
                                    furrow_error *err) FURROW_MUST_USE;
/* Copies ids if it is set, otherwise makes path.ids.npy. *copy is NULL if no ids file is wanted: ids is "", or the path
 * is "-". The caller frees *copy. */
furrow_status fw_exchange_ids_path(char **copy, const char *path, const char *ids, furrow_error *err) FURROW_MUST_USE;

/* ---- A stored matrix as a sequence of vectors (its rows or its columns) ---------------------------------- */

/* Consecutive vectors with elements at the same indices, borrowed. A vector may be delivered in several pieces with
 * ascending indices; count is then 1. */
typedef struct fw_vectors {
  size_t count;
  const int64_t *ids; /* ascending; NULL: first_id, first_id + 1, … */
  int64_t first_id;
  size_t size;            /* elements per vector */
  const int64_t *indices; /* ascending; NULL: first_index, … */
  int64_t first_index;
  furrow_element_type type;
  furrow_elements values; /* vector by vector */
} fw_vectors;

static inline int64_t fw_vectors_id(const fw_vectors *v, size_t i) {
  return v->ids ? v->ids[i] : v->first_id + (int64_t)i;
}
static inline int64_t fw_vectors_index(const fw_vectors *v, size_t j) {
  return v->indices ? v->indices[j] : v->first_index + (int64_t)j;
}

typedef furrow_status (*fw_vectors_visitor)(void *user, const fw_vectors *vectors, furrow_error *err);

/* How to scan a matrix. */
typedef struct fw_vectors_plan {
  const furrow_matrix_source *source;
  const furrow_matrix_selection *selection;
  furrow_axis axis; /* never AUTO */
  unsigned threads;
  size_t memory;
  size_t row_count; /* saved rows of the selection, ascending */
  int32_t *rows;
  int64_t first_col, end_col; /* bounds of the column ids, as far as known from the metadata */
  uint64_t bytes;             /* size of the partitions */
  uint64_t most_elements;     /* upper bound of the number of elements */
  furrow_progress progress;
  void *user;
} fw_vectors_plan;

/* Fills in rows, columns and sizes from the metadata. The caller sets source, selection and axis first, and calls
 * fw_vectors_plan_clear at the end. */
furrow_status fw_vectors_plan_init(fw_vectors_plan *plan, furrow_error *err) FURROW_MUST_USE;
void fw_vectors_plan_clear(fw_vectors_plan *plan);
/* Narrows first_col and end_col to the columns that have elements if the metadata does not have them (hash partitions).
 * Reads the whole matrix. */
furrow_status fw_vectors_plan_columns(fw_vectors_plan *plan, furrow_error *err) FURROW_MUST_USE;

/* Calls visit for all vectors by ascending id. A saved row without elements is visited with size 0; a column without
 * elements is not visited. */
furrow_status fw_vectors_visit(const fw_vectors_plan *plan, fw_vectors_visitor visit, void *user,
                               furrow_error *err) FURROW_MUST_USE;

/* ---- Export --------------------------------------------------------------------------------------------- */

typedef struct fw_export {
  const furrow_model_export_params *params;
  furrow_exchange_format format;
  const char *path;
  const char *ids_path; /* NULL: none */
  fw_vectors_plan plan; /* plan of the current matrix */
  furrow_element_type type;
  furrow_element_type out_type; /* for dense files */
  furrow_model_export_result result;
  furrow_path_watch *watch; /* watch of the source; NULL: it has ended */
} fw_export;

/* Ends the watch of the source, if it has not ended, before a file is committed. E_STATE: it was replaced. */
furrow_status fw_export_end_watch(fw_export *job, furrow_status status, furrow_error *err) FURROW_MUST_USE;

furrow_status fw_export_dense(fw_export *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_export_npz(fw_export *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_export_tsv(fw_export *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_export_libsvm(fw_export *job, furrow_error *err) FURROW_MUST_USE;

/* Opens the source and sets the job's plan and types. Close it with fw_export_close_source. */
furrow_status fw_export_open_source(fw_export *job, const char *folder, furrow_matrix_source **source,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_export_close_source(fw_export *job, furrow_matrix_source *source);
/* Writes all matrices of a model to one file. */
furrow_status fw_export_tensors(fw_export *job, const furrow_model_listing *listing, furrow_error *err) FURROW_MUST_USE;

/* ---- Suffixes of tensor names and of keys in __metadata__, after the matrix's name ---------------------- */

/* A dense matrix is one tensor with the matrix's name; a sparse matrix is three tensors. */
#define FW_TENSOR_INDICES ".indices"
#define FW_TENSOR_BEGINS ".indptr"
#define FW_TENSOR_DATA ".data"
#define FW_TENSOR_IDS ".ids" /* ids of the vectors, unless they are 0, 1, 2 … */

/* Keys of __metadata__; all values are text. */
#define FW_TENSOR_MATRIX_ID ".matrix_id"
#define FW_TENSOR_ROW_TYPE ".row_type"
#define FW_TENSOR_FORMAT ".format"
#define FW_TENSOR_VECTORS ".vectors" /* "rows" or "columns" */
#define FW_TENSOR_ROWS ".rows"       /* rows of the matrix, saved or not */
#define FW_TENSOR_FIRST_COL ".first_col"
#define FW_TENSOR_END_COL ".end_col"
#define FW_TENSOR_SAVED_ROWS \
  ".saved_rows" /* column vectors: the row ids of their elements, unless they are 0, 1, 2 … */

/* ---- Sparse to dense: fills missing elements with zeros (export_dense.c) --------------------------------- */

typedef furrow_status (*fw_put_elements)(void *user, const void *elements, size_t count, furrow_error *err);

typedef struct fw_dense_encoder {
  const fw_vectors_plan *plan;
  furrow_element_type from, to;
  fw_put_elements put_values; /* elements of type `to` */
  fw_put_elements put_ids;    /* int64_t ids; NULL: the ids are not needed */
  void *user;
  size_t dim;
  bool open; /* a vector is incomplete; `id` and `filled` belong to it */
  int64_t id;
  size_t filled;
  bool counting; /* ids are 0, 1, 2 … so far */
  uint64_t vectors, absent;
  char *scratch; /* converted elements, or zeros */
} fw_dense_encoder;

/* Returns the length of the dense vectors; fails with E_RANGE if it is too large. */
furrow_status fw_dense_dimension(const fw_vectors_plan *plan, size_t *dim, furrow_error *err) FURROW_MUST_USE;
/* The caller sets the members from plan to user first, and calls fw_dense_encoder_clear at the end. */
furrow_status fw_dense_encoder_init(fw_dense_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
/* Writes all vectors of the plan. */
furrow_status fw_dense_encoder_run(fw_dense_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
void fw_dense_encoder_clear(fw_dense_encoder *encoder);

/* ---- Vectors as the three CSR arrays: indices, data, indptr (export_npz.c) ------------------------------- */

typedef struct fw_csr_encoder {
  const fw_vectors_plan *plan;
  const char *temp_path; /* temporary files are created in the folder of this file */
  furrow_status (*put_indices)(void *user, const void *bytes, size_t size, furrow_error *err);
  void *user;
  bool negative;                      /* negative indices are allowed */
  bool wide;                          /* indices and offsets have 64 bits, otherwise 32 */
  fw_temp_store *data, *begins, *ids; /* little-endian; ids have 64 bits */
  uint64_t vectors, elements;
  int64_t most;  /* largest index; -1: there is none */
  bool counting; /* ids are 0, 1, 2 … so far */
  bool open;
  int64_t id;
  char *scratch;
} fw_csr_encoder;

/* The caller sets the members from plan to user first, and calls fw_csr_encoder_clear at the end. */
furrow_status fw_csr_encoder_init(fw_csr_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
/* Passes the indices of all vectors to put_indices and stores the rest in temporary files. Fails with E_RANGE at a
 * negative index that is not allowed. */
furrow_status fw_csr_encoder_run(fw_csr_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
/* Returns an exclusive upper bound of the indices. */
int64_t fw_csr_encoder_dimension(const fw_csr_encoder *encoder);
void fw_csr_encoder_clear(fw_csr_encoder *encoder);

#endif
