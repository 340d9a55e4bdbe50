/* cli/info/path_vectors.c: indexes and files of arrays for 'furrow info'. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/text_file.h"
#include "furrow/exchange.h"
#include "furrow/vector.h"
#include "info/path_kind.h"

/* ---- Indexes -------------------------------------------------------------------------------------------- */

/* For a file that is not an index the walk ends at the first field, the fourcc. */
static furrow_status see_field(void *user, const furrow_index_field *field) {
  (void)field;
  return ++*(int *)user < 2 ? FURROW_OK : FURROW_END;
}

static bool is_index(const path_inspection *look) {
  int fields = 0;
  furrow_error err;
  if (look->folder) return false;
  const furrow_status status = furrow_index_for_each_field(look->path, NULL, see_field, &fields, &err);
  return fields > 1 || status == FURROW_E_UNSUPPORTED;
}

static void report_index(report *r, const furrow_index *index) {
  const furrow_index *ivf = furrow_index_ivf(index);
  furrow_index_info info, lists;
  furrow_index_info_init(&info);
  furrow_index_info_init(&lists);
  furrow_index_get_info(index, &info);
  report_text(r, "holds", furrow_index_kind_name(info.kind));
  report_text(r, "fourcc", info.fourcc);
  report_i64(r, "dimension", info.d);
  report_i64(r, "vectors", info.ntotal);
  report_text(r, "metric", furrow_distance_metric_name(info.metric));
  report_bool(r, "trained", info.trained);
  if (!ivf) return;
  furrow_index_get_info(ivf, &lists);
  report_u64(r, "lists", lists.nlist);
  if (lists.code_size) report_u64(r, "code size", lists.code_size);
}

static furrow_status report_index_at(report *r, const char *path, furrow_error *err) {
  furrow_index_load_params params;
  furrow_index *index = NULL;
  furrow_index_load_params_init(&params);
  params.memory_map = true;
  params.lists_optional = true;
  furrow_status status = furrow_index_load(&index, path, &params, err);
  if (status != FURROW_OK) return status;
  report_index(r, index);
  furrow_index_free(index);
  return FURROW_OK;
}

static furrow_status describe_index(path_inspection *look, furrow_error *err) {
  path_advise(look, "furrow index verify @");
  path_advise(look, "furrow index map @ | head");
  furrow_status status = report_index_at(look->r, look->path, err);
  if (status != FURROW_OK) return status;
  path_advise(look, "furrow index info @");
  path_advise(look, "furrow index search @ QUERIES.fvecs -k 10");
  return FURROW_OK;
}

/* ---- Folders of LangChain ------------------------------------------------------------------------------- */

static bool put_langchain_index(const path_inspection *look, char path[PATH_MAX]) {
  return look->folder && snprintf(path, PATH_MAX, "%s/index.faiss", look->path) < PATH_MAX;
}

static bool is_langchain(const path_inspection *look) {
  char path[PATH_MAX];
  const path_inspection file = {.path = path};
  return put_langchain_index(look, path) && is_index(&file);
}

/* The pickle next to the index has texts and their ids. It is not opened: a pickle can run any program. */
static furrow_status describe_langchain(path_inspection *look, furrow_error *err) {
  char path[PATH_MAX];
  put_langchain_index(look, path);
  path_advise(look, "furrow index verify @/index.faiss");
  furrow_status status = report_index_at(look->r, path, err);
  if (status != FURROW_OK) return status;
  path_advise(look, "furrow index names @/index.faiss --set TITLES.txt");
  path_advise(look, "furrow index search @/index.faiss QUERIES.fvecs -k 10");
  return FURROW_OK;
}

/* ---- Arrays --------------------------------------------------------------------------------------------- */

static furrow_status see_nothing(void *user, const furrow_array_info *array) {
  (void)user;
  (void)array;
  return FURROW_OK;
}

static bool is_arrays(const path_inspection *look) {
  furrow_error err;
  return !look->folder && furrow_arrays_for_each(look->path, see_nothing, NULL, &err) != FURROW_E_ARGUMENT;
}

/* Summary of the arrays; the advice depends on the last one. */
typedef struct arrays_summary {
  report *r;
  size_t count;
  bool ids;                    /* integers of the size that ids have */
  uint64_t vectors, dimension; /* vectors 0: unknown */
} arrays_summary;

static void put_shape(char *text, size_t size, const furrow_array_info *array) {
  size_t used = 0;
  if (array->dimensions == 0) snprintf(text, size, "1");
  for (size_t i = 0; i < array->dimensions && used < size; i++) {
    const char *sign = i ? " x " : "";
    if (array->shape[i] == FURROW_COUNT_UNKNOWN)
      used += (size_t)snprintf(text + used, size - used, "%s?", sign);
    else
      used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64, sign, array->shape[i]);
  }
}

static void report_array(report *r, const furrow_array_info *array) {
  char shape[256] = "";
  put_shape(shape, sizeof shape, array);
  if (!r->json) {
    report_line(r, array->name[0] ? array->name : "array", "%s, %s", shape, array->type);
    return;
  }
  report_section(r, NULL);
  report_text(r, "name", array->name);
  report_text(r, "type", array->type);
  report_list(r, "shape");
  for (size_t i = 0; i < array->dimensions; i++) {
    if (array->shape[i] == FURROW_COUNT_UNKNOWN)
      report_none(r, NULL);
    else
      report_u64(r, NULL, array->shape[i]);
  }
  report_end(r);
  report_end(r);
}

static furrow_status see_array(void *user, const furrow_array_info *array) {
  arrays_summary *summary = user;
  if (summary->count++ == 0) {
    report_text(summary->r, "format", array->file);
    if (summary->r->json) report_list(summary->r, "arrays");
  }
  report_array(summary->r, array);
  summary->ids = array->type[0] == 'i' && array->type[1] >= '4';
  summary->vectors = array->dimensions == 2 && array->shape[0] != FURROW_COUNT_UNKNOWN ? array->shape[0] : 0;
  summary->dimension = array->dimensions == 2 ? array->shape[1] : 1;
  return FURROW_OK;
}

/* Without options, build chooses an index and the settings of its searches. */
static void advise_build(path_inspection *look, const arrays_summary *summary) {
  if (summary->vectors < 2 || summary->dimension == 0) return;
  path_advise(look, "furrow index build --base @ --out @.index");
  path_advise(look, "furrow index search @.index @ -k 10 | head");
}

static void advise_arrays(path_inspection *look, const arrays_summary *summary) {
  const char *path = look->path;
  if (path_ends(path, ".npz") || path_ends(path, ".safetensors")) {
    path_advise(look, "furrow model import @ @.model");
    path_advise(look, "furrow model info @.model");
    return;
  }
  if (path_ends(path, ".npy") || path_ends(path, ".fvecs") || path_ends(path, ".fbin"))
    path_advise(look, "furrow model import @ @.matrix");
  advise_build(look, summary);
  if (summary->ids) path_advise(look, "furrow index recall INDEX QUERIES.fvecs --truth @");
}

static furrow_status describe_arrays(path_inspection *look, furrow_error *err) {
  arrays_summary summary = {.r = look->r};
  furrow_status status = furrow_arrays_for_each(look->path, see_array, &summary, err);
  if (summary.count && look->r->json) report_end(look->r);
  if (status == FURROW_OK) advise_arrays(look, &summary);
  return status;
}

const path_kind index_kind = {"index", "a vector index in Faiss's format", is_index, describe_index};
const path_kind langchain_kind = {"langchain", "an index in Faiss's format with LangChain's pickle, which is not read",
                                  is_langchain, describe_langchain};
const path_kind arrays_kind = {"arrays", "vectors or tensors in the format of another program", is_arrays,
                               describe_arrays};
