/* model/exchange/exchange_job.h: what the files of export and import share. */
#ifndef FW_MODEL_EXCHANGE_EXCHANGE_JOB_H
#define FW_MODEL_EXCHANGE_EXCHANGE_JOB_H

#include "array/array_type.h"
#include "furrow/exchange.h"
#include "model/exchange/vectors.h"

_Static_assert((int)FW_ARRAY_F64 == (int)FURROW_ELEMENT_F64 && (int)FW_ARRAY_F32 == (int)FURROW_ELEMENT_F32 &&
                   (int)FW_ARRAY_I64 == (int)FURROW_ELEMENT_I64 && (int)FW_ARRAY_I32 == (int)FURROW_ELEMENT_I32,
               "types of elements are types of arrays");

/* The format, or what the ending of the path says; E_ARGUMENT if it says nothing. */
furrow_status fw_exchange_format_of(furrow_exchange_format *format, const char *path,
                                    furrow_error *err) FURROW_MUST_USE;
/* path.ids.npy, or ids if it is set; *copy is NULL where there is no such file: ids is "", or the path is "-". Free it.
 */
furrow_status fw_exchange_ids_path(char **copy, const char *path, const char *ids, furrow_error *err) FURROW_MUST_USE;

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

#endif
