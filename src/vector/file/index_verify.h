/* vector/file/index_verify.h: the parts of verify: one check of a loaded index each. */
#ifndef FW_VECTOR_FILE_INDEX_VERIFY_H
#define FW_VECTOR_FILE_INDEX_VERIFY_H

#include "vector/index/index.h"

typedef struct fw_verifier {
  const char *file;
  const furrow_index_load_params *params;
  void (*on_finding)(void *user, const furrow_index_finding *finding);
  void *user;
  furrow_status fatal;  /* of the first fatal finding; OK: none yet */
  furrow_status status; /* OK, unless the checks themselves failed (memory) */
  furrow_error *err;
  char path[192]; /* of the index that is being checked, ends with /; "" for the outer one */
} fw_verifier;

/* What a finding is: FW_FINDING_REMARK, or an error. */
typedef enum fw_finding_kind { FW_FINDING_REMARK, FW_FINDING_FATAL } fw_finding_kind;

/* Reports a finding about `field` of the index that is being checked, `within` bytes after its beginning. */
void fw_found(fw_verifier *v, fw_finding_kind kind, const char *field, uint64_t within, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Numbers that are NaN or infinite. */
void fw_verify_finite(fw_verifier *v, fw_finding_kind kind, const char *field, const float *numbers, uint64_t count);
/* Ids of all lists of an IVF index are unique and not negative. `field` is the subject of the findings. */
void fw_verify_list_ids(fw_verifier *v, const furrow_index *index, const char *field);
/* They, or those of an id map, are below `limit`, because `reader` takes them as places. */
void fw_verify_id_limit(fw_verifier *v, const furrow_index *index, const char *field, int64_t limit,
                        const char *reader);
/* Ids in an array. */
void fw_verify_ids(fw_verifier *v, const char *field, const int64_t *ids, size_t count);
void fw_verify_direct_map(fw_verifier *v, const furrow_index *index);
void fw_verify_disk(fw_verifier *v, const furrow_index *index);
void fw_verify_graph(fw_verifier *v, const furrow_index *index);

#endif
