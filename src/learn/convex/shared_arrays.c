/* learn/convex/shared_arrays.c: arrays of which every rank has a part: joined, or moved to other ranks. */
#include "learn/convex/shared_arrays.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

furrow_status fw_share_keys(const furrow_comm *comm, uint64_t **keys, size_t *count, furrow_error *err) {
  void *all = NULL;
  size_t size = 0, kept = 0;
  FW_TRY(fw_comm_gather_all(comm, *keys, *count * sizeof **keys, &all, &size, NULL, err));
  uint64_t *joined = all;
  fw_sort_u64(joined, size / sizeof *joined);
  for (size_t i = 0; i < size / sizeof *joined; i++)
    if (i == 0 || joined[i] != joined[i - 1]) joined[kept++] = joined[i];
  fw_free(*keys);
  *keys = joined;
  *count = kept;
  return FURROW_OK;
}

furrow_status fw_share_sizes(const furrow_comm *comm, size_t **sizes, size_t count, furrow_error *err) {
  const furrow_status status = fw_comm_all_ok(comm, FW_ALLOC(sizes, count, err), err);
  if (status != FURROW_OK) fw_free(*sizes);
  return status;
}

furrow_status fw_share_move(const furrow_comm *comm, void **array, size_t bytes, const size_t *begin, size_t *count,
                            furrow_error *err) {
  size_t *sizes = NULL, total = 0;
  void *received = NULL;
  FW_TRY(fw_share_sizes(comm, &sizes, 2 * comm->ranks, err));
  size_t *send = sizes, *receive = sizes + comm->ranks;
  for (unsigned r = 0; r < comm->ranks; r++) send[r] = (begin[r + 1] - begin[r]) * bytes;
  furrow_status status = fw_comm_exchange_all(comm, *array, send, &received, receive, err);
  if (status == FURROW_OK) {
    for (unsigned r = 0; r < comm->ranks; r++) total += receive[r];
    fw_free(*array);
    *array = received;
    if (count) *count = total / bytes;
  }
  fw_free(sizes);
  return status;
}

furrow_status fw_share_gather(const furrow_comm *comm, const void *own, void *all, size_t bytes, const size_t *begin,
                              furrow_error *err) {
  size_t *sizes = NULL;
  FW_TRY(fw_share_sizes(comm, &sizes, comm->ranks, err));
  for (unsigned r = 0; r < comm->ranks; r++) sizes[r] = (begin[r + 1] - begin[r]) * bytes;
  const furrow_status status = comm->gather(comm, own, sizes[comm->rank], all, sizes, err);
  fw_free(sizes);
  return status;
}
