/* model/jobs/verify.h: what the parts of verify share: the findings, the checks. */
#ifndef FW_MODEL_JOBS_VERIFY_H
#define FW_MODEL_JOBS_VERIFY_H

#include "furrow/model.h"

/* What was found about one partition, or about none, in the order of finding. All zeros: nothing. One thread. */
typedef struct fw_findings {
  furrow_matrix_finding *items; /* with texts of their own */
  size_t count, capacity;
  bool unreadable;   /* bytes of the partition are missing */
  bool more_digits;  /* a double was read that six decimals do not hold */
  bool six_decimals; /* … that needs all six */
} fw_findings;

#define FW_REMARK_STATUS FURROW_OK

/* Adds a finding: a remark with FW_REMARK_STATUS, else a fatal one with that status. Fails only for want of memory. */
furrow_status fw_findings_add(fw_findings *list, furrow_status status, int32_t part_id, const char *file,
                              uint64_t offset, furrow_error *err, const char *format, ...)
    __attribute__((warn_unused_result, format(printf, 7, 8)));
/* Adds the error of a call that failed. */
furrow_status fw_findings_add_error(fw_findings *list, int32_t part_id, const furrow_error *error,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_findings_clear(fw_findings *list);

/* A check at work. `parts` has a list for each partition, and one for what belongs to none behind them. */
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

/* Data files: there, long enough, used without overlap, gap or rest, named after their lowest partition. */
furrow_status fw_verify_files(fw_verification *v, furrow_error *err) FURROW_MUST_USE;
/* The metadata against itself: options, the grid of partitions, blocks, rows, counts. */
furrow_status fw_verify_layout(fw_verification *v, furrow_error *err) FURROW_MUST_USE;
/* The columns of the matrix: what the options say, else 0 … col; false: not known. */
bool fw_verify_columns(const furrow_matrix_meta *meta, int64_t *first, int64_t *end);
/* Every record of partition `part`. `source` has this partition alone. Fails only for want of memory. */
furrow_status fw_verify_records(fw_verification *v, const furrow_matrix_source *source, size_t part,
                                furrow_error *err) FURROW_MUST_USE;

#endif
