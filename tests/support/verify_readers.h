/* tests/support/verify_readers.h: verify accepts what the readers of an index file accept.
 *
 * What verify passes is loaded in every way, searched, decoded and written. What verify calls an error is refused by
 * loading or by the searcher, unless only a scan of all ids finds it. */
#ifndef VERIFY_READERS_H
#define VERIFY_READERS_H

#include <math.h>
#include <string.h>

#include "furrow/vector.h"
#include "furrow/vector_data.h"

typedef struct verdict {
  bool by_scan;    /* an error was found by a scan */
  bool others;     /* another error was found */
  bool incomplete; /* a remark says that the index cannot be searched */
} verdict;

static inline void take_verdict(void *user, const furrow_index_finding *finding) {
  verdict *v = user;
  v->by_scan = v->by_scan || (finding->fatal && finding->by_scan);
  v->others = v->others || (finding->fatal && !finding->by_scan);
  v->incomplete = v->incomplete || (!finding->fatal && strncmp(finding->message, "cannot be searched: ", 20) == 0);
}

/* A reader says that the file is wrong. Other statuses are about what is asked of the index, or of the machine. */
static inline bool is_about_file(furrow_status status) {
  return status == FURROW_E_FORMAT || status == FURROW_E_PARSE || status == FURROW_E_RANGE || status == FURROW_E_IO;
}

/* Searches by k and by radius, with one query; the radius finds everything. */
static inline furrow_status search_both(const furrow_searcher *searcher, furrow_status *range, furrow_error *err) {
  enum { K = 4, MOST_D = 1024 };
  float query[MOST_D], distances[K];
  int64_t ids[K];
  furrow_search_params params;
  furrow_range_result *found = NULL;
  if (furrow_searcher_dimension(searcher) > MOST_D) return FURROW_OK;
  for (size_t i = 0; i < MOST_D; i++) query[i] = (float)(i % 7) - 2.5f;
  furrow_search_params_init(&params);
  params.nprobe = 4;
  params.threads = 1;
  const furrow_status status = furrow_searcher_search(searcher, query, 1, K, &params, distances, ids, err);
  *range = furrow_searcher_search_range(searcher, query, 1, 1e30f, &params, &found, NULL);
  furrow_range_result_free(found);
  return status;
}

static inline furrow_status decode_all(const furrow_index *index, furrow_error *err) {
  furrow_index_info info;
  furrow_ids ids;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  furrow_ids_init(&ids);
  furrow_status status = furrow_index_get_ids(index, &ids, err);
  float *vector = malloc((size_t)info.d * sizeof *vector);
  for (size_t i = 0; vector && status == FURROW_OK && i < ids.count && i < 100; i++)
    status = furrow_index_reconstruct(index, ids.ids[i], vector, err);
  free(vector);
  furrow_ids_clear(&ids);
  return status;
}

/* Returns the difference, with the reader's message in *err; NULL: none. *passes: verify found no
 * error. */
static inline const char *find_difference(const char *path, const furrow_index_load_params *given, bool *passes,
                                          furrow_error *err) {
  verdict v = {0};
  furrow_searcher_params one_thread;
  const furrow_status verified = furrow_index_verify(path, given, take_verdict, &v, err);
  const bool passed = verified == FURROW_OK;
  furrow_searcher_params_init(&one_thread);
  one_thread.threads = 1;
  *passes = passed;
  if (passed == (v.by_scan || v.others) && verified != FURROW_E_MEMORY) return "the status and the findings of verify";
  bool refused = false;
  for (unsigned way = 0; way < 3; way++) { /* copied, mapped, packed for searching */
    furrow_index_load_params params = *given;
    furrow_index *index = NULL;
    furrow_searcher *searcher = NULL;
    furrow_status ranged = FURROW_OK;
    params.memory_map = way == 1;
    params.search_only = way == 2;
    furrow_status status = furrow_index_load(&index, path, &params, err);
    const bool loaded = status == FURROW_OK;
    if (loaded) status = furrow_searcher_create(&searcher, index, &one_thread, err);
    const bool opened = status == FURROW_OK;
    if (opened) status = search_both(searcher, &ranged, err);
    const furrow_status decoded = loaded && way != 2 && passed ? decode_all(index, err) : FURROW_OK;
    furrow_searcher_free(searcher);
    furrow_index_free(index);
    if (way > 0 && refused != !opened) return "the ways of loading";
    refused = !opened;
    if (passed && !loaded) return "verify passes, but loading fails";
    if (passed && !opened && !(v.incomplete && status == FURROW_E_STATE)) return "verify passes, but no searcher opens";
    if (passed && opened && (v.incomplete || status != FURROW_OK)) return "verify passes, but a search fails";
    if (passed && opened && is_about_file(ranged)) return "verify passes, but a search by radius fails";
    if (passed && is_about_file(decoded)) return "verify passes, but a vector cannot be decoded";
    if (v.others && opened) return "verify finds an error, but a searcher opens";
  }
  return NULL;
}

#endif
