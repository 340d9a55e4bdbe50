/* vector/file/index_compat.h: what older Faiss reads: the layouts that it knows, and what is written for it instead. */
#ifndef FW_VECTOR_FILE_INDEX_COMPAT_H
#define FW_VECTOR_FILE_INDEX_COMPAT_H

#include "vector/index/index.h"

/* A release of Faiss: 1.6.3 is 10603. FW_COMPAT_NEWEST: whatever is written here is read. */
typedef uint32_t fw_compat;
#define FW_COMPAT_NEWEST 0
#define FW_COMPAT_LISTS 10201    /* Iw..: lists are a part of their own (ilar); before, Iv..: ids here, codes there */
#define FW_COMPAT_SQ_PLAIN 10501 /* IwSq: scalar quantizer codes without residuals; before, IwSQ: residuals always */
#define FW_COMPAT_PCA 10702      /* Pcam: with epsilon; before, PcAm */

static inline bool fw_compat_reads(fw_compat release, fw_compat first) {
  return release == FW_COMPAT_NEWEST || release >= first;
}

/* "1.6.3", or "1.6" for the first of them; NULL: the newest. E_ARGUMENT lists what there is. */
furrow_status fw_compat_parse(fw_compat *release, const char *text, furrow_error *err) FURROW_MUST_USE;
/* Whether an index can be written for a release. E_UNSUPPORTED names the part and the first release that reads it; the
 * token is the fourcc. E_STATE: only because it is not trained. */
furrow_status fw_compat_check(const furrow_index *index, fw_compat release, bool inline_lists,
                              furrow_error *err) FURROW_MUST_USE;
/* The fourcc that an index has in a file for a release. */
const char *fw_compat_fourcc(const furrow_index *index, fw_compat release);

#endif
