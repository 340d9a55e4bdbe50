/* serve/indexes/index_checkpoint.c: writes changes into an index file. */
#include "indexes/index_checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/fail.h"
#include "indexes/attribute_texts.h"
#include "indexes/index_base.h"

/* ---- Whether an index can be changed ---- */

/* Fresh vectors are compared by L2 or inner product, as they are or scaled to unit length: a transform must leave both
 * unchanged, or scale to unit length. */
static furrow_status check_transform(const furrow_index *index, size_t i, bool *normalizes, furrow_error *err) {
  furrow_transform_info transform;
  furrow_transform_info_init(&transform);
  FW_TRY(furrow_index_get_transform_info(index, i, &transform, err));
  const bool scales = strcmp(transform.fourcc, "VNrm") == 0;
  *normalizes = *normalizes || scales;
  if (scales || (strcmp(transform.fourcc, "LTra") == 0 && transform.d_in == transform.d_out)) return FURROW_OK;
  fail(err, FURROW_E_UNSUPPORTED, "the transform %s changes distances, so new vectors cannot be compared",
       transform.fourcc);
  return add_hint(err, "apply it to vectors before they are added, and build the index without it");
}

static furrow_status check_distances(const index_base *base, bool *normalizes, furrow_error *err) {
  if (base->info.metric != FURROW_METRIC_L2 && base->info.metric != FURROW_METRIC_IP)
    return fail(err, FURROW_E_UNSUPPORTED, "only indexes of L2 and inner product can be writable");
  bool is_refined = false;
  for (const furrow_index *index = base->index; index; index = furrow_index_child(index, 0)) {
    furrow_index_info info;
    furrow_index_info_init(&info);
    furrow_index_get_info(index, &info);
    bool is_normal = false;
    for (uint64_t i = 0; i < info.transforms; i++) FW_TRY(check_transform(index, (size_t)i, &is_normal, err));
    /* A refinement compares vectors before the transform. */
    if (info.kind == FURROW_INDEX_REFINE) is_refined = true;
    if (is_normal && !is_refined) *normalizes = true;
    if (info.nlist > 0 || info.kind == FURROW_INDEX_HNSW)
      break; /* indexes inside of this one quantize; they do not transform vectors */
  }
  return FURROW_OK;
}

/* Tries to add a vector with an id that does not follow the others, and to remove it. */
static furrow_status try_change(furrow_index *index, size_t d, int64_t id, furrow_error *err) {
  furrow_index_add_params params;
  furrow_id_filter filter;
  uint64_t removed = 0;
  float *vector = calloc(d, sizeof *vector);
  if (!vector) return fail_memory(err);
  furrow_index_add_params_init(&params);
  furrow_id_filter_init(&filter);
  params.ids = &id;
  params.threads = 1;
  filter.kind = FURROW_ID_FILTER_SORTED;
  filter.sorted = &id;
  filter.sorted_count = 1;
  furrow_status status = furrow_index_add(index, vector, 1, &params, NULL, err);
  if (status == FURROW_OK) status = furrow_index_remove(index, &filter, &removed, err);
  if (status == FURROW_OK && removed != 1) status = fail(err, FURROW_E_UNSUPPORTED, "vectors do not keep their ids");
  free(vector);
  return status;
}

furrow_status index_check_editable(const char *path, const index_base *base, bool *normalizes, furrow_error *err) {
  furrow_index *index = NULL;
  furrow_id_names *names = NULL;
  furrow_attributes *attributes = NULL;
  const int64_t last = base->ids.count > 0 ? base->ids.ids[base->ids.count - 1] : 0;
  FW_TRY(check_distances(base, normalizes, err));
  FW_TRY(index_file_load(&index, &names, &attributes, path, err));
  furrow_status status = try_change(index, (size_t)base->info.d, last < INT64_MAX - 8 ? last + 8 : last - 1, err);
  furrow_index_free(index);
  furrow_id_names_free(names);
  furrow_attributes_free(attributes);
  if (status == FURROW_OK || status == FURROW_E_MEMORY) return status;
  const furrow_error why = *err; /* fail_in begins with clearing *err */
  fail_in(err, FURROW_E_UNSUPPORTED, path, "this kind of index cannot be writable: %s", why.message);
  return add_hint(err, "build inverted lists: without --direct-map array, and with --ids if they are refined");
}

/* ---- Folding ---- */

/* The changes of a view, in the form that the library takes. */
typedef struct folding {
  int64_t *touched; /* ids that lose their vector, ascending */
  size_t touched_count;
  int64_t *ids; /* ids of new vectors */
  float *vectors;
  const char **names;
  const char **attributes;
  size_t n;
} folding;

static void clear_folding(folding *f) {
  free(f->touched);
  free(f->ids);
  free(f->vectors);
  free(f->names);
  free(f->attributes);
}

/* Ids that were fresh are removed as well: the file may have them from an interrupted checkpoint, or from one that
 * failed after it had written the file. */
static void sort_touched(folding *f, const fresh_view *view) {
  size_t count = 0;
  for (size_t at = 0; count < view->hidden_count && fresh_view_next_hidden(view, &at, &f->touched[count]);) count++;
  for (size_t at = 0; at < view->stored; at++) f->touched[count++] = fresh_view_stored_id(view, at);
  f->touched_count = sort_ids(f->touched, count);
}

static furrow_status collect(folding *f, const fresh_view *view, size_t d, furrow_error *err) {
  const size_t count = view->count;
  fresh_item item;
  size_t at = 0;
  *f = (folding){.touched = calloc(view->stored + view->hidden_count + 1, sizeof *f->touched),
                 .ids = calloc(count + 1, sizeof *f->ids),
                 .vectors = calloc((count + 1) * d, sizeof *f->vectors),
                 .names = calloc(count + 1, sizeof *f->names),
                 .attributes = calloc(count + 1, sizeof *f->attributes)};
  if (!f->touched || !f->ids || !f->vectors || !f->names || !f->attributes) return fail_memory(err);
  while (f->n < count && fresh_view_next(view, &at, &item)) {
    f->ids[f->n] = item.id;
    f->names[f->n] = item.name;
    f->attributes[f->n] = item.attributes;
    memcpy(f->vectors + f->n * d, item.vector, d * sizeof *f->vectors);
    f->n++;
  }
  if (f->n != count || fresh_view_next(view, &at, &item))
    return fail(err, FURROW_E_STATE, "the number of vectors differs from the number that the changes state");
  sort_touched(f, view);
  return FURROW_OK;
}

static furrow_status change_names(furrow_id_names *names, const folding *f, const furrow_id_filter *touched,
                                  furrow_error *err) {
  for (size_t i = 0; i < f->n; i++) /* the index got names while it was not served */
    if (!f->names[i]) return fail(err, FURROW_E_STATE, "the log has vectors without names, but the index has names");
  FW_TRY(furrow_id_names_remove(names, touched, false, err));
  return f->n > 0 ? furrow_id_names_add(names, f->ids, f->names, f->n, err) : FURROW_OK;
}

static furrow_status change_index(furrow_index *index, const folding *f, const furrow_id_filter *touched,
                                  furrow_error *err) {
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  params.ids = f->ids;
  params.threads = 1;
  FW_TRY(furrow_index_remove(index, touched, NULL, err));
  return f->n > 0 ? furrow_index_add(index, f->vectors, f->n, &params, NULL, err) : FURROW_OK;
}

/* Sets the rows that the changes state; other ids keep theirs, and those that are gone lose them. */
static furrow_status change_attributes(furrow_attributes *attributes, const furrow_index *index, const folding *f,
                                       furrow_error *err) {
  furrow_id_filter stated;
  size_t n = 0;
  int64_t *ids = malloc((f->n + 1) * sizeof *ids), *sorted = malloc((f->n + 1) * sizeof *sorted);
  const char **texts = malloc((f->n + 1) * sizeof *texts);
  furrow_status status = ids && sorted && texts ? FURROW_OK : fail_memory(err);
  for (size_t i = 0; status == FURROW_OK && i < f->n; i++) {
    if (!f->attributes[i]) continue;
    ids[n] = sorted[n] = f->ids[i];
    texts[n++] = f->attributes[i];
  }
  if (status == FURROW_OK && n > 0) {
    furrow_id_filter_init(&stated);
    stated.kind = FURROW_ID_FILTER_SORTED;
    stated.sorted = sorted;
    stated.sorted_count = sort_ids(sorted, n);
    status = furrow_attributes_remove(attributes, &stated, false, err);
    if (status == FURROW_OK) status = attribute_texts_set(attributes, attributes, ids, texts, n, err);
  }
  free(ids);
  free(sorted);
  free(texts);
  return status == FURROW_OK ? furrow_attributes_join(attributes, index, NULL, NULL, NULL, NULL, err) : status;
}

static furrow_status change_and_save(const char *path, furrow_index *index, furrow_id_names *names,
                                     furrow_attributes *attributes, const folding *f, furrow_error *err) {
  furrow_id_filter touched;
  furrow_index_save_params params;
  furrow_id_filter_init(&touched);
  touched.kind = FURROW_ID_FILTER_SORTED;
  touched.sorted = f->touched;
  touched.sorted_count = f->touched_count;
  FW_TRY(change_index(index, f, &touched, err));
  if (names) FW_TRY(change_names(names, f, &touched, err));
  if (attributes) FW_TRY(change_attributes(attributes, index, f, err));
  furrow_index_save_params_init(&params);
  params.overwrite = true;
  params.names = names;
  params.attributes = attributes;
  params.card = true;
  return furrow_index_save(index, path, &params, err);
}

static furrow_status check_file(const char *path, const file_print *print, furrow_error *err) {
  file_print now;
  FW_TRY(index_print_get(&now, path, err));
  if (file_print_equals(&now, print)) return FURROW_OK;
  fail_in(err, FURROW_E_STATE, path, "another program has changed the file of a writable index");
  return add_hint(err, "restart the server: it applies its log to the file that is there");
}

furrow_status index_fold(const char *path, const fresh_view *view, uint64_t next_id, file_print *print,
                         furrow_error *err) {
  furrow_index *index = NULL;
  furrow_id_names *names = NULL;
  furrow_attributes *attributes = NULL;
  furrow_index_info info;
  folding f = {0};
  FW_TRY(check_file(path, print, err));
  FW_TRY(index_file_load(&index, &names, &attributes, path, err));
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  furrow_index_set_next_id(index, (int64_t)next_id);
  furrow_status status = collect(&f, view, (size_t)info.d, err);
  if (status == FURROW_OK) status = change_and_save(path, index, names, attributes, &f, err);
  if (status == FURROW_OK) status = index_print_get(print, path, err);
  clear_folding(&f);
  furrow_index_free(index);
  furrow_id_names_free(names);
  furrow_attributes_free(attributes);
  return status;
}
