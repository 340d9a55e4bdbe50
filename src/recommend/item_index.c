/* recommend/item_index.c: builds, saves, loads, tunes and searches the index of the items' vectors. */
#include "recommend/item_index.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "furrow/io.h"
#include "io/digest.h"
#include "io/input.h"
#include "io/remote_target.h"
#include "rows/encode/encoder.h"
#include "vector/file/index_write.h"

enum { MOST_SEEN = 1000, MOST_FETCH = 32, LEAST_PROBES = 4, MOST_FACTS = 4096, NAME_BYTES = 32 };

#define DONE SIZE_MAX

static const char index_name[] = "items.index", facts_name[] = "items.json";

void fw_item_index_clear(fw_item_index *index) {
  furrow_searcher_free(index->searcher);
  furrow_index_free(index->index);
  *index = (fw_item_index){0};
}

/* ---- Building ------------------------------------------------------------------------------------------- */

static furrow_status pad_vectors(const fw_item_index *x, const float *vectors, size_t n, float **padded,
                                 furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO_ROWS(padded, n, x->padded, err));
  for (size_t i = 0; i < n; i++) memcpy(*padded + i * x->padded, vectors + i * x->d, x->d * sizeof **padded);
  return FURROW_OK;
}

static furrow_status build_index(fw_item_index *x, unsigned threads, furrow_error *err) {
  furrow_index_spec spec;
  furrow_index_wish wish;
  furrow_index_selection chosen;
  furrow_index_train_params train;
  furrow_index_add_params add;
  furrow_index_spec_init(&spec);
  furrow_index_wish_init(&wish);
  furrow_index_selection_init(&chosen);
  furrow_index_train_params_init(&train);
  furrow_index_add_params_init(&add);
  wish.n = x->n;
  wish.d = (int32_t)x->padded;
  FW_TRY(furrow_index_choose(&wish, &chosen, err));
  spec.d = (int32_t)x->padded;
  spec.metric = FURROW_METRIC_IP;
  spec.nlist = chosen.nlist;
  spec.m = chosen.m > 0 ? chosen.m : x->padded / 2; /* where vectors are few, codes may be large */
  train.sample_per_list = 64;
  train.threads = add.threads = threads;
  float *padded = NULL;
  furrow_status status = pad_vectors(x, x->vectors, x->n, &padded, err);
  if (status == FURROW_OK) status = furrow_index_create(&x->index, &spec, err);
  if (status == FURROW_OK) status = furrow_index_train(x->index, padded, x->n, &train, err);
  if (status == FURROW_OK) status = furrow_index_add(x->index, padded, x->n, &add, NULL, err);
  fw_free(padded);
  x->built = true;
  return status;
}

/* ---- The files ------------------------------------------------------------------------------------------ */

static uint64_t digest_of(const fw_item_index *x) {
  return fw_digest_elements(x->vectors, sizeof *x->vectors, x->n * x->d, x->d);
}

static furrow_status path_of(char **path, const char *folder, const char *name, furrow_error *err) {
  const size_t size = strlen(folder) + NAME_BYTES;
  FW_TRY(FW_ALLOC(path, size, err));
  snprintf(*path, size, "%s/%s", folder, name);
  return FURROW_OK;
}

static furrow_status read_digest(const char *text, size_t size, const char *path, uint64_t *digest, furrow_error *err) {
  furrow_json json;
  furrow_json_text key, value;
  fw_json_open(&json, text, size, path);
  furrow_status status = furrow_json_object(&json, err);
  while (status == FURROW_OK && (status = furrow_json_member(&json, &key, err)) == FURROW_OK) {
    char number[17] = {0};
    if (!furrow_json_is(key, "vectors")) {
      status = furrow_json_skip(&json, NULL, err);
      continue;
    }
    status = furrow_json_string(&json, &value, err);
    if (status == FURROW_OK && value.size == 16) memcpy(number, value.bytes, 16);
    if (status == FURROW_OK && sscanf(number, "%16" SCNx64, digest) != 1) *digest = 0;
  }
  if (status == FURROW_END) status = furrow_json_end(&json, err);
  fw_json_close(&json);
  return status;
}

/* Returns whether the digest in the folder matches these vectors. */
static bool files_fit(const fw_item_index *x, const char *path) {
  char text[MOST_FACTS];
  fw_input *input = NULL;
  size_t size = 0;
  uint64_t digest = 0;
  const bool fits = fw_input_open_regular(&input, path, NULL) == FURROW_OK &&
                    fw_input_read_at(input, text, sizeof text, 0, &size, NULL) == FURROW_OK &&
                    read_digest(text, size, path, &digest, NULL) == FURROW_OK && digest == digest_of(x);
  fw_input_close(input);
  return fits;
}

static bool index_fits(const fw_item_index *x) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(x->index, &info);
  return info.kind == FURROW_INDEX_IVF_PQ && info.metric == FURROW_METRIC_IP && (size_t)info.d == x->padded &&
         info.ntotal >= 0 && (uint64_t)info.ntotal == x->n && info.stored == x->n && info.trained;
}

static bool load_index(fw_item_index *x, const char *path, const char *facts) {
  if (!files_fit(x, facts) || furrow_index_load(&x->index, path, NULL, NULL) != FURROW_OK) return false;
  if (index_fits(x)) return true;
  furrow_index_free(x->index);
  x->index = NULL;
  return false;
}

static furrow_status write_facts(const fw_item_index *x, const char *path, const char *first, furrow_error *err) {
  fw_buffer text = {0};
  fw_atomic_file *file = NULL;
  fw_buffer_format(&text, "{\"vectors\": \"%016" PRIx64 "\"}\n", digest_of(x));
  furrow_status status = fw_buffer_status(&text, err);
  if (status == FURROW_OK) status = fw_atomic_file_open_beside(&file, path, first, err);
  if (status == FURROW_OK) status = fw_atomic_file_write(file, text.bytes, text.size, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  fw_buffer_clear(&text);
  return status;
}

static furrow_status write_index(const fw_item_index *x, const char *path, const char *first, furrow_error *err) {
  furrow_index_save_params params;
  fw_index_writer writer;
  furrow_index_save_params_init(&params);
  FW_TRY(fw_index_check_savable(&writer, x->index, &params, err));
  writer.first = first;
  return fw_index_write_file(x->index, path, true, &writer, err);
}

/* An index counts only if items.json is there. It is removed first and written last, so an interrupted save leaves no
 * index. Both have the permissions of the dictionary. */
static bool save_index(const fw_item_index *x, const char *folder, const char *path, const char *facts) {
  char *first = NULL;
  if (fw_path_remove(facts, NULL) != FURROW_OK || path_of(&first, folder, FW_DICTIONARY_NAME, NULL) != FURROW_OK)
    return false;
  const bool saved = write_index(x, path, first, NULL) == FURROW_OK && write_facts(x, facts, first, NULL) == FURROW_OK;
  fw_free(first);
  return saved;
}

static furrow_status paths_of(char **path, char **facts, const char *folder, furrow_error *err) {
  const furrow_status status = path_of(path, folder, index_name, err);
  return status == FURROW_OK ? path_of(facts, folder, facts_name, err) : status;
}

void fw_item_index_keep(fw_item_index *index, const char *folder) {
  char *path = NULL, *facts = NULL;
  furrow_file_lock *lock = NULL; /* held by another process: its index stays */
  if (!index->kept && paths_of(&path, &facts, folder, NULL) == FURROW_OK &&
      furrow_file_lock_open(&lock, folder, NULL) == FURROW_OK)
    index->kept = save_index(index, folder, path, facts);
  furrow_file_lock_close(lock);
  fw_free(path);
  fw_free(facts);
}

static furrow_status load_or_build(fw_item_index *x, const char *folder, unsigned threads, furrow_error *err) {
  char *path = NULL, *facts = NULL;
  furrow_status status = paths_of(&path, &facts, folder, err);
  if (status == FURROW_OK) x->kept = load_index(x, path, facts);
  if (status == FURROW_OK && !x->kept) status = build_index(x, threads, err);
  fw_free(path);
  fw_free(facts);
  return status;
}

furrow_status fw_item_index_open(fw_item_index *index, const char *folder, const float *vectors, size_t n, size_t d,
                                 unsigned threads, furrow_error *err) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  *index = (fw_item_index){.vectors = vectors, .n = n, .d = d, .padded = (d + 3) / 4 * 4};
  furrow_status status = load_or_build(index, folder, threads, err);
  if (status == FURROW_OK) status = furrow_searcher_create(&index->searcher, index->index, NULL, err);
  if (status == FURROW_OK) {
    furrow_index_get_info(index->index, &info);
    index->nlist = info.nlist;
    index->m = info.m;
  } else {
    fw_item_index_clear(index);
  }
  return status;
}

/* ---- Tuning --------------------------------------------------------------------------------------------- */

double fw_item_pair_cost(size_t d) {
  return 0.75 + 0.02 * (double)d;
}

/* The constants were measured with one thread. The terms: the query's tables, the coarse search, the codes, the
 * results. */
static double cost_of(const fw_item_index *x, uint64_t nprobe, size_t fetched) {
  const double codes = (double)x->n * (double)nprobe / (double)x->nlist;
  return 10000 + (double)x->nlist * fw_item_pair_cost(x->d) + codes * 0.36 * (double)x->m + 100.0 * (double)fetched;
}

/* found[f]: how many of the k items are among the first k * f results, f = 1 … MOST_FETCH. */
static void count_found(const fw_scored *truth, size_t k, const int64_t *ids, size_t n, uint64_t *found) {
  for (size_t i = 0; i < k && truth[i].item != FW_NO_ITEM; i++)
    for (size_t at = 0; at < n; at++)
      if (ids[at] == (int64_t)truth[i].item) {
        for (size_t f = at / k + 1; f <= MOST_FETCH; f++) found[f]++;
        break;
      }
}

/* Keeps a setting if it is better than the current one: it reaches the recall at a lower cost, or the current one does
 * not reach it and the new one finds more. */
static void keep_better_setting(fw_item_index *x, uint64_t nprobe, size_t fetch, size_t k, double found,
                                double recall) {
  const double cost = cost_of(x, nprobe, fetch * k);
  const bool was_enough = x->nprobe > 0 && x->recall >= recall, is_enough = found >= recall;
  const bool better = is_enough ? !was_enough || cost < x->cost : !was_enough && (x->nprobe == 0 || found > x->recall);
  if (!better) return;
  x->nprobe = nprobe;
  x->fetch = fetch;
  x->recall = found;
  x->cost = cost;
}

static uint64_t count_truth(const fw_scored *truth, size_t count) {
  uint64_t n = 0;
  for (size_t i = 0; i < count; i++) n += truth[i].item != FW_NO_ITEM;
  return n;
}

typedef struct trial {
  float *padded, *distances;
  int64_t *ids;
  size_t n; /* results per query */
} trial;

static furrow_status try_probes(fw_item_index *x, trial *t, size_t count, const fw_scored *truth, size_t k,
                                uint64_t nprobe, double recall, unsigned threads, furrow_error *err) {
  uint64_t found[MOST_FETCH + 1] = {0};
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.nprobe = nprobe;
  params.threads = threads;
  FW_TRY(furrow_searcher_search(x->searcher, t->padded, count, t->n, &params, t->distances, t->ids, err));
  for (size_t i = 0; i < count; i++) count_found(truth + i * k, k, t->ids + i * t->n, t->n, found);
  const uint64_t all = count_truth(truth, count * k);
  for (size_t f = 1; f <= MOST_FETCH; f *= 2)
    keep_better_setting(x, nprobe, f, k, all ? (double)found[f] / (double)all : 1, recall);
  return FURROW_OK;
}

furrow_status fw_item_index_tune(fw_item_index *index, const float *queries, size_t count, const fw_scored *truth,
                                 size_t k, double recall, unsigned threads, furrow_error *err) {
  trial t = {.n = k * MOST_FETCH};
  index->nprobe = 0;
  furrow_status status = pad_vectors(index, queries, count, &t.padded, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&t.distances, count, t.n, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&t.ids, count, t.n, err);
  for (uint64_t nprobe = LEAST_PROBES; status == FURROW_OK; nprobe += nprobe / 2) {
    const bool last = nprobe >= index->nlist;
    if (last) nprobe = index->nlist;
    status = try_probes(index, &t, count, truth, k, nprobe, recall, threads, err);
    if (last || (index->recall >= recall && cost_of(index, nprobe, k) > index->cost)) break;
  }
  fw_free(t.padded);
  fw_free(t.distances);
  fw_free(t.ids);
  return status;
}

/* ---- Searching ------------------------------------------------------------------------------------------ */

static void rescore_results(const fw_item_index *x, const fw_item_query *query, size_t user, const int64_t *ids,
                            size_t n, fw_scored *results) {
  fw_best best = {.heap = results, .k = query->k};
  for (size_t i = 0; i < n && ids[i] >= 0; i++) {
    if ((uint64_t)ids[i] >= x->n) continue; /* the file may hold any id */
    const uint32_t item = (uint32_t)ids[i];
    if (query->seen && fw_item_set_has(&query->seen[user], item)) continue;
    fw_best_offer(&best, fw_item_product(query->queries + user * x->d, x->vectors + (size_t)item * x->d, x->d), item);
  }
  fw_scored_sort(results, best.count);
  for (size_t i = best.count; i < query->k; i++) results[i] = (fw_scored){.score = -INFINITY, .item = FW_NO_ITEM};
}

/* Returns how many results to ask the index for: the wanted ones and as many as the user has already seen, rounded up
 * to a power of two so that users can be searched together. The result depends on this user only. 0: the user has seen
 * too many items and needs the exact search. */
static size_t results_for(const fw_item_index *x, const fw_item_query *query, size_t user) {
  const size_t seen = query->seen ? query->seen[user].count : 0;
  if (seen > MOST_SEEN) return 0;
  size_t n = 1;
  while (n < query->k * x->fetch + seen) n *= 2;
  return n < x->n ? n : x->n;
}

static furrow_status search_group(const fw_item_index *x, const fw_item_query *query, const size_t *users, size_t count,
                                  size_t n, fw_scored *results, furrow_error *err) {
  furrow_search_params params;
  trial t = {.n = n};
  furrow_search_params_init(&params);
  params.nprobe = x->nprobe;
  params.threads = 1;
  furrow_status status = FW_ALLOC_ZERO_ROWS(&t.padded, count, x->padded, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&t.distances, count, n, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&t.ids, count, n, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++)
    memcpy(t.padded + i * x->padded, query->queries + users[i] * x->d, x->d * sizeof *t.padded);
  if (status == FURROW_OK)
    status = furrow_searcher_search(x->searcher, t.padded, count, n, &params, t.distances, t.ids, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++)
    rescore_results(x, query, users[i], t.ids + i * n, n, results + users[i] * query->k);
  fw_free(t.padded);
  fw_free(t.distances);
  fw_free(t.ids);
  return status;
}

furrow_status fw_item_index_run(const fw_item_index *index, const fw_item_query *query, fw_scored *results,
                                furrow_error *err) {
  size_t needs[FW_SEARCH_USERS], users[FW_SEARCH_USERS];
  for (size_t i = 0; i < query->count; i++) needs[i] = results_for(index, query, i);
  for (size_t i = 0; i < query->count; i++) {
    const size_t n = needs[i];
    size_t count = 0;
    if (n == DONE) continue;
    for (size_t j = i; j < query->count; j++) {
      if (needs[j] != n) continue;
      users[count++] = j;
      needs[j] = DONE;
    }
    if (n > 0) FW_TRY(search_group(index, query, users, count, n, results, err));
    for (size_t j = 0; n == 0 && j < count; j++)
      rescore_results(index, query, users[j], NULL, 0, results + users[j] * query->k);
  }
  return FURROW_OK;
}
