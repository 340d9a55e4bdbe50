/* model/exchange/exchange_job.h: what the files of export and import share. */
#ifndef FW_MODEL_EXCHANGE_EXCHANGE_JOB_H
#define FW_MODEL_EXCHANGE_EXCHANGE_JOB_H

#include "array/array_type.h"
#include "array/temp_store.h"
#include "furrow/exchange.h"

_Static_assert((int)FW_ARRAY_F64 == (int)FURROW_ELEMENT_F64 && (int)FW_ARRAY_F32 == (int)FURROW_ELEMENT_F32 &&
                   (int)FW_ARRAY_I64 == (int)FURROW_ELEMENT_I64 && (int)FW_ARRAY_I32 == (int)FURROW_ELEMENT_I32,
               "types of elements are types of arrays");

/* The format, or what the ending of the path says; E_ARGUMENT if it says nothing. */
furrow_status fw_exchange_format_of(furrow_exchange_format *format, const char *path,
                                    furrow_error *err) FURROW_MUST_USE;
/* path.ids.npy, or ids if it is set; *copy is NULL where there is no such file: ids is "", or the path is "-". Free it.
 */
furrow_status fw_exchange_ids_path(char **copy, const char *path, const char *ids, furrow_error *err) FURROW_MUST_USE;

/* ---- A stored matrix as a sequence of vectors: its rows, or its columns ---------------------------------- */

/* Vectors that follow each other and have elements at the same indices, borrowed. A vector may come in several pieces,
 * one after the other, indices ascending (then count is 1). */
typedef struct fw_vectors {
  size_t count;
  const int64_t *ids; /* ascending; NULL: first_id, first_id + 1, … */
  int64_t first_id;
  size_t size;            /* elements of each */
  const int64_t *indices; /* ascending; NULL: first_index, … */
  int64_t first_index;
  furrow_element_type type;
  furrow_elements values; /* vector after vector */
} fw_vectors;

static inline int64_t fw_vectors_id(const fw_vectors *v, size_t i) {
  return v->ids ? v->ids[i] : v->first_id + (int64_t)i;
}
static inline int64_t fw_vectors_index(const fw_vectors *v, size_t j) {
  return v->indices ? v->indices[j] : v->first_index + (int64_t)j;
}

typedef furrow_status (*fw_vectors_visitor)(void *user, const fw_vectors *vectors, furrow_error *err);

/* How to go through a matrix. */
typedef struct fw_vectors_plan {
  const furrow_matrix_source *source;
  const furrow_matrix_selection *selection;
  furrow_axis axis; /* not AUTO */
  unsigned threads;
  size_t memory;
  size_t row_count; /* saved rows of the selection, ascending */
  int32_t *rows;
  int64_t first_col, end_col; /* where columns may be; as far as the metadata tells */
  uint64_t bytes;             /* of the partitions */
  uint64_t most_elements;     /* at most so many there are */
  furrow_progress progress;
  void *user;
} fw_vectors_plan;

/* Fills rows, columns, bytes from the metadata; source, selection and axis are set. Free with clear. */
furrow_status fw_vectors_plan_init(fw_vectors_plan *plan, furrow_error *err) FURROW_MUST_USE;
void fw_vectors_plan_clear(fw_vectors_plan *plan);
/* Narrows first_col and end_col to the columns that have elements, where partitions (hash) do not tell. Reads all. */
furrow_status fw_vectors_plan_columns(fw_vectors_plan *plan, furrow_error *err) FURROW_MUST_USE;

/* Calls visit for all vectors, ids ascending. Rows: also for a saved row without elements (size 0). Columns: only those
 * that have an element. */
furrow_status fw_vectors_visit(const fw_vectors_plan *plan, fw_vectors_visitor visit, void *user,
                               furrow_error *err) FURROW_MUST_USE;

/* ---- Export --------------------------------------------------------------------------------------------- */

typedef struct fw_export {
  const furrow_model_export_params *params;
  furrow_exchange_format format;
  const char *path;
  const char *ids_path; /* NULL: none */
  fw_vectors_plan plan; /* of the matrix at hand */
  furrow_element_type type;
  furrow_element_type out_type; /* dense files */
  furrow_model_export_result result;
} fw_export;

furrow_status fw_export_dense(fw_export *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_export_npz(fw_export *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_export_tsv(fw_export *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_export_libsvm(fw_export *job, furrow_error *err) FURROW_MUST_USE;

/* A source for the job: plan, types. Close with fw_export_close_source. */
furrow_status fw_export_open_source(fw_export *job, const char *folder, furrow_matrix_source **source,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_export_close_source(fw_export *job, furrow_matrix_source *source);
/* All matrices of a model into one file. */
furrow_status fw_export_tensors(fw_export *job, const furrow_model_listing *listing, furrow_error *err) FURROW_MUST_USE;

/* ---- Names of tensors, and in __metadata__: what follows a matrix's name -------------------------------- */

/* A dense matrix is one tensor with its name. A sparse one is three. */
#define FW_TENSOR_INDICES ".indices"
#define FW_TENSOR_BEGINS ".indptr"
#define FW_TENSOR_DATA ".data"
#define FW_TENSOR_IDS ".ids" /* of the vectors, where they are not 0, 1, 2 … */

/* In __metadata__, all as text. */
#define FW_TENSOR_MATRIX_ID ".matrix_id"
#define FW_TENSOR_ROW_TYPE ".row_type"
#define FW_TENSOR_FORMAT ".format"
#define FW_TENSOR_VECTORS ".vectors" /* rows, columns */
#define FW_TENSOR_ROWS ".rows"       /* of the matrix, saved or not */
#define FW_TENSOR_FIRST_COL ".first_col"
#define FW_TENSOR_END_COL ".end_col"
#define FW_TENSOR_SAVED_ROWS ".saved_rows" /* columns: the rows that their elements are of, unless 0, 1, 2 … */

/* ---- Vectors with holes become vectors without, one after the other (export_dense.c) --------------------- */

typedef furrow_status (*fw_put_elements)(void *user, const void *elements, size_t count, furrow_error *err);

typedef struct fw_dense_encoder {
  const fw_vectors_plan *plan;
  furrow_element_type from, to;
  fw_put_elements put_values; /* elements of type `to` */
  fw_put_elements put_ids;    /* int64_t; NULL: not wanted */
  void *user;
  size_t dim;
  bool open; /* a vector has begun: its id, and how many of its elements were put */
  int64_t id;
  size_t filled;
  bool counting; /* ids are 0, 1, 2 … so far */
  uint64_t vectors, absent;
  char *scratch; /* elements that are converted, or zeros */
} fw_dense_encoder;

/* Elements of a vector: E_RANGE if they are too many. */
furrow_status fw_dense_dimension(const fw_vectors_plan *plan, size_t *dim, furrow_error *err) FURROW_MUST_USE;
/* plan … user are set. Clear it afterwards. */
furrow_status fw_dense_encoder_init(fw_dense_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
/* Puts all vectors of the plan. */
furrow_status fw_dense_encoder_run(fw_dense_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
void fw_dense_encoder_clear(fw_dense_encoder *encoder);

/* ---- Vectors as the three arrays of compressed sparse rows: indices, data, begins (export_npz.c) --------- */

typedef struct fw_csr_encoder {
  const fw_vectors_plan *plan;
  const char *beside; /* path of a file: temporary files lie in its folder */
  furrow_status (*put_indices)(void *user, const void *bytes, size_t size, furrow_error *err);
  void *user;
  bool negative;                      /* indices may be */
  bool wide;                          /* 64-bit indices and beginnings; otherwise 32-bit ones */
  fw_temp_store *data, *begins, *ids; /* little-endian; ids 64-bit */
  uint64_t vectors, elements;
  int64_t most;  /* largest index; -1: none */
  bool counting; /* ids are 0, 1, 2 … */
  bool open;
  int64_t id;
  char *scratch;
} fw_csr_encoder;

/* plan … user are set. Clear it afterwards. */
furrow_status fw_csr_encoder_init(fw_csr_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
/* Hands out the indices of all vectors, keeps the rest in temporary files. E_RANGE: an index is negative, unless it may
 * be. */
furrow_status fw_csr_encoder_run(fw_csr_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
/* How many indices there can be: all are less. */
int64_t fw_csr_encoder_dimension(const fw_csr_encoder *encoder);
void fw_csr_encoder_clear(fw_csr_encoder *encoder);

#endif
