/* model/jobs/verify.h: the findings and checks of verify. */
#ifndef FW_MODEL_JOBS_VERIFY_H
#define FW_MODEL_JOBS_VERIFY_H

#include "furrow/model.h"

/* Findings about one partition, or about the matrix as a whole, in the order of discovery. May be zero-initialized; not
 * thread-safe. */
typedef struct fw_findings {
  furrow_matrix_finding *items; /* own their texts */
  size_t count, capacity;
  bool unreadable;   /* bytes of the partition are missing */
  bool more_digits;  /* a double was read that needs more than six decimals */
  bool six_decimals; /* a double was read that needs all six decimals */
} fw_findings;

#define FW_REMARK_STATUS FURROW_OK

/* Adds a finding: a remark if the status is FW_REMARK_STATUS, otherwise a fatal finding with that status. Fails only if
 * memory runs out. */
furrow_status fw_findings_add(fw_findings *list, furrow_status status, int32_t part_id, const char *file,
                              uint64_t offset, furrow_error *err, const char *format, ...)
    __attribute__((warn_unused_result, format(printf, 7, 8)));
/* Adds the error of a failed call as a finding. */
furrow_status fw_findings_add_error(fw_findings *list, int32_t part_id, const furrow_error *error,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_findings_clear(fw_findings *list);

/* The state of a verification. `parts` has a list for each partition, and a last one for findings about no
 * partition. */
typedef struct fw_verification {
  const char *folder, *meta_path;
  const furrow_matrix_meta *meta;
  const furrow_matrix_format *format;     /* NULL: not known */
  const furrow_matrix_row_type *row_type; /* NULL: not known */
  fw_findings *parts;
} fw_verification;

static inline fw_findings *fw_verification_common(const fw_verification *v) {
  return &v->parts[v->meta->part_count];
}

/* Fails with the first error of the metadata or the data files of a matrix folder that furrow_matrix_verify would find,
 * without reading a record. Readers find only some of them: they look at one partition after the other. */
furrow_status fw_matrix_check_layout(const char *folder, furrow_error *err) FURROW_MUST_USE;

/* Checks that data files exist, are long enough, have no overlaps, gaps or unused bytes, and are named after their
 * lowest partition. */
furrow_status fw_verify_files(fw_verification *v, furrow_error *err) FURROW_MUST_USE;
/* Checks that the metadata is consistent: options, the grid of partitions, blocks, rows, counts. */
furrow_status fw_verify_layout(fw_verification *v, furrow_error *err) FURROW_MUST_USE;
/* The column range of the matrix: from the options, otherwise 0 … col. Returns false if it is unknown. */
bool fw_verify_columns(const furrow_matrix_meta *meta, int64_t *first, int64_t *end);
/* Checks every record of partition `part`; `source` contains only this partition. Fails only if memory runs out. */
furrow_status fw_verify_records(fw_verification *v, const furrow_matrix_source *source, size_t part,
                                furrow_error *err) FURROW_MUST_USE;

/* E_UNSUPPORTED: the model has no matrices, only a forest of another program (listing.c). */
furrow_status fw_listing_check_matrices(const furrow_model_listing *listing, furrow_error *err) FURROW_MUST_USE;

#endif
