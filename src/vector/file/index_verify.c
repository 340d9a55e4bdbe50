/* vector/file/index_verify.c: checks a file beyond what loading needs, and reports findings. */
#include "vector/file/index_verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"

/* ---- Findings ------------------------------------------------------------------------------------------- */

static void tell(fw_verifier *v, const furrow_index_finding *finding) {
  if (v->on_finding) v->on_finding(v->user, finding);
  if (!finding->fatal || v->fatal != FURROW_OK) return;
  v->fatal = finding->status;
  fw_fail(v->err, finding->status, "%s%s%s", finding->path, finding->path[0] ? ": " : "", finding->message);
  if (!v->err) return;
  v->err->offset = finding->offset;
  fw_error_set_file(v->err, v->file);
}

/* ---- Where a field is: asked of the reader, for findings are rare --------------------------------------- */

typedef struct field_search {
  const char *path;
  size_t length;
  uint64_t offset; /* FURROW_NO_OFFSET as long as nothing was found */
} field_search;

/* The field itself, or else the first one in the part of that name. */
static furrow_status search_field(void *user, const furrow_index_field *field) {
  field_search *s = user;
  if (strcmp(field->path, s->path) == 0) {
    s->offset = field->offset;
    return FURROW_END;
  }
  bool inside = strncmp(field->path, s->path, s->length) == 0 && (s->length == 0 || field->path[s->length] == '/');
  if (inside && s->offset == FURROW_NO_OFFSET) s->offset = field->offset;
  return FURROW_OK;
}

static uint64_t offset_of_field(const fw_verifier *v, const char *path, uint64_t within) {
  field_search s = {.path = path, .length = strlen(path), .offset = FURROW_NO_OFFSET};
  furrow_status status = furrow_index_for_each_field(v->file, v->params, search_field, &s, NULL);
  return status == FURROW_END ? s.offset + within : s.offset;
}

void fw_found(fw_verifier *v, fw_finding_kind kind, const char *field, uint64_t within, const char *format, ...) {
  char message[256], path[256];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  snprintf(path, sizeof path, "%s%s", v->path, field);
  furrow_index_finding finding = {.fatal = kind == FW_FINDING_FATAL,
                                  .path = path,
                                  .offset = offset_of_field(v, path, within),
                                  .status = kind == FW_FINDING_FATAL ? FURROW_E_FORMAT : FURROW_OK,
                                  .message = message};
  tell(v, &finding);
}

/* Reports why the file, or the data file of its lists, could not be loaded. */
static void tell_error(fw_verifier *v, furrow_status status, const furrow_error *error) {
  char message[sizeof error->message + sizeof error->file + sizeof error->token + 8];
  bool other = error->file[0] && strcmp(error->file, v->file) != 0;
  snprintf(message, sizeof message, "%s%s%s%s%s%s", other ? error->file : "", other ? ": " : "", error->message,
           error->token[0] ? " (" : "", error->token, error->token[0] ? ")" : "");
  furrow_index_finding finding = {
      .fatal = true, .path = "", .offset = error->offset, .status = status, .message = message};
  if (v->on_finding) v->on_finding(v->user, &finding);
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

void fw_verify_finite(fw_verifier *v, fw_finding_kind kind, const char *field, const float *numbers, uint64_t count) {
  uint64_t bad = 0, first = 0;
  for (uint64_t i = 0; i < count; i++)
    if (!isfinite(numbers[i]) && bad++ == 0) first = i;
  if (bad > 0)
    fw_found(v, kind, field, 4 * first,
             "%" PRIu64 " of %" PRIu64 " numbers %s not finite, the first is number %" PRIu64, bad, count,
             fw_plural(bad, "is", "are"), first);
}

static void verify_pq(fw_verifier *v, const char *field, const fw_pq *pq) {
  fw_verify_finite(v, FW_FINDING_FATAL, field, pq->centroids, (uint64_t)pq->d << pq->nbits);
}

/* Faiss writes 0 for the bits after those of the last sub-quantizer. */
static void verify_padding(fw_verifier *v, const furrow_index *index) {
  const fw_lists *lists = &index->ivf.lists;
  unsigned used = (unsigned)(index->ivf.pq.m * index->ivf.pq.nbits % 8);
  size_t size = lists->code_size;
  uint64_t bad = 0;
  if (used == 0 || size == 0) return;
  for (size_t i = 0; lists->list && i < lists->nlist; i++) {
    const fw_list *list = &lists->list[i];
    for (size_t k = 0; list->codes && k < list->size; k++) bad += (list->codes[k * size + size - 1] >> used) != 0;
  }
  if (bad > 0)
    fw_found(v, FW_FINDING_REMARK, "lists", 0, "%" PRIu64 " %s bits set behind the last part", bad,
             fw_plural(bad, "code has", "codes have"));
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

static void verify_header(fw_verifier *v, const furrow_index *index) {
  if (index->dummy[0] != FW_INDEX_DUMMY || index->dummy[1] != FW_INDEX_DUMMY)
    fw_found(v, FW_FINDING_REMARK, "dummy", 0, "the two numbers without use are not %d", FW_INDEX_DUMMY);
  if (memcmp(index->fourcc, index->read_as, 4) != 0)
    fw_found(v, FW_FINDING_REMARK, "fourcc", 0, "a legacy kind, which is written as %.4s today", index->fourcc);
}

static void verify_ivf(fw_verifier *v, const furrow_index *index) {
  const fw_ivf *ivf = &index->ivf;
  uint64_t stored = fw_lists_stored(&ivf->lists);
  if (!index->child[0]) fw_found(v, FW_FINDING_REMARK, "quantizer", 0, "is missing: the index cannot be searched");
  if (ivf->lists.kind == FURROW_LISTS_NONE)
    fw_found(v, FW_FINDING_REMARK, "lists", 0, "are missing: the index cannot be searched");
  else if ((uint64_t)index->ntotal > stored)
    fw_found(v, FW_FINDING_REMARK, "ntotal", 0,
             "is %" PRId64 ", but the lists have %" PRIu64 " %s: the others were not finite", index->ntotal, stored,
             fw_plural(stored, "vector", "vectors"));
  if (fw_index_pq(index)) {
    verify_pq(v, "pq/centroids", &ivf->pq);
    if (index->kind != FURROW_INDEX_IVF_PQ_FAST) verify_padding(v, index);
  }
  if (index->kind == FURROW_INDEX_IVF_PQR) verify_pq(v, "refine_pq/centroids", &ivf->refine_pq);
  if (index->kind == FURROW_INDEX_IVF_PQR) fw_verify_id_limit(v, index, "lists", index->ntotal, "refinement");
  fw_verify_list_ids(v, index, "lists");
  fw_verify_direct_map(v, index);
  if (ivf->lists.disk) fw_verify_disk(v, index);
}

/* What the index inside finds is the place of a vector or a name of its own. */
static void verify_inner_ids(fw_verifier *v, const furrow_index *index, const char *field, const char *reader) {
  const furrow_index *inner = index->child[0];
  while (inner && (inner->kind == FURROW_INDEX_TRANSFORM || inner->kind == FURROW_INDEX_REFINE))
    inner = inner->child[0];
  if (inner && (inner->kind == FURROW_INDEX_ID_MAP || fw_index_is_ivf(inner)))
    fw_verify_id_limit(v, inner, field, index->ntotal, reader);
}

static void verify_refine(fw_verifier *v, const furrow_index *index) {
  if (index->k_factor > 1000)
    fw_found(v, FW_FINDING_REMARK, "k_factor", 0, "is %g; newer Faiss takes 1 to 1000", (double)index->k_factor);
  verify_inner_ids(v, index, "base", "refinement");
}

static void verify_transforms(fw_verifier *v, const furrow_index *index) {
  if (index->child[0]->ntotal != index->ntotal)
    fw_found(v, FW_FINDING_REMARK, "ntotal", 0, "is %" PRId64 ", but the index behind has %" PRId64, index->ntotal,
             index->child[0]->ntotal);
  for (size_t i = 0; i < index->transforms.count; i++) {
    const fw_transform *t = &index->transforms.list[i];
    char field[64], a[72], b[72];
    snprintf(field, sizeof field, "transforms/%zu", i);
    snprintf(a, sizeof a, "%s/A", field);
    snprintf(b, sizeof b, "%s/b", field);
    if (t->trained != index->trained && index->trained)
      fw_found(v, FW_FINDING_REMARK, field, 0, "is not trained, but the index is");
    fw_verify_finite(v, FW_FINDING_FATAL, a, t->a, t->a_count);
    fw_verify_finite(v, FW_FINDING_FATAL, b, t->b, t->b_count);
  }
}

static void verify_kind(fw_verifier *v, const furrow_index *index, bool quantizer) {
  uint64_t count = (uint64_t)index->ntotal;
  switch (index->kind) {
  case FURROW_INDEX_FLAT:
    fw_verify_finite(v, quantizer ? FW_FINDING_FATAL : FW_FINDING_REMARK, "vectors", index->flat.vectors,
                     count * (uint64_t)index->d);
    break;
  case FURROW_INDEX_HNSW: fw_verify_graph(v, index); break;
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_MULTI: verify_pq(v, "pq/centroids", &index->pq.pq); break;
  case FURROW_INDEX_ID_MAP:
    fw_verify_ids(v, "id_map", index->id_map.ids, (size_t)count);
    verify_inner_ids(v, index, "index", "id map");
    break;
  case FURROW_INDEX_TRANSFORM: verify_transforms(v, index); break;
  case FURROW_INDEX_REFINE: verify_refine(v, index); break;
  default: verify_ivf(v, index); break;
  }
}

/* quantizer: the index is, or is part of, a coarse quantizer, so its vectors are centroids. */
static void verify_index(fw_verifier *v, const furrow_index *index, bool quantizer) {
  if (v->status != FURROW_OK) return;
  verify_header(v, index);
  verify_kind(v, index, quantizer);
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++) {
    if (!index->child[i]) continue;
    size_t mark = strlen(v->path);
    snprintf(v->path + mark, sizeof v->path - mark, "%s/", furrow_index_child_name(index, i));
    verify_index(v, index->child[i], quantizer || fw_index_is_ivf(index));
    v->path[mark] = 0;
  }
}

furrow_status furrow_index_verify(const char *path, const furrow_index_load_params *params,
                                  void (*on_finding)(void *user, const furrow_index_finding *finding), void *user,
                                  furrow_error *err) {
  furrow_error error;
  furrow_index *index = NULL;
  furrow_index_load_params whole;
  furrow_index_load_params_init(&whole);
  FW_TRY(FW_PARAMS_READ(&whole, params, furrow_index_load_params, err));
  fw_verifier v = {.file = path, .params = &whole, .on_finding = on_finding, .user = user, .err = &error};
  whole.search_only = false;
  furrow_status status = furrow_index_load(&index, path, &whole, &error);
  if (status != FURROW_OK) {
    tell_error(&v, status, &error);
  } else {
    verify_index(&v, index, false);
    status = v.status != FURROW_OK ? v.status : v.fatal;
    const furrow_status lost = fw_index_finish(index, FURROW_OK, &error);
    if (lost != FURROW_OK) tell_error(&v, lost, &error);
    if (lost != FURROW_OK) status = lost;
  }
  furrow_index_free(index);
  if (status != FURROW_OK && err) *err = error;
  return status;
}
