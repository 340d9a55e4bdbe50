/* learn/parameters/column_exchange.c: weights of features from the ranks that have them to the ranks that write them.
 */
#include "learn/parameters/column_exchange.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

struct fw_column_exchange {
  const fw_parameters *p;
  const furrow_comm *comm;
  size_t parameter, element;
  const uint64_t *keys;
  size_t key_count;
  size_t numbers;      /* that one rank sends to another in a round */
  size_t buffer_bytes; /* for what one rank sends to another */
  fw_column_request *requests;
  size_t *request_sizes, *count_sizes, *send_sizes, *receive_sizes;
  uint64_t *send_counts, *receive_counts;
  fw_columns_part *parts;
  char *send, *receive; /* a buffer for each rank */
};

size_t fw_first_key(const uint64_t *keys, size_t count, int64_t col) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if ((int64_t)keys[middle] < col)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Of an answer: keys, numbers, and what makes the keys of the next one aligned. */
static size_t answer_bytes(const fw_column_exchange *x, size_t count, size_t rows) {
  return count * sizeof(uint64_t) + (count * rows * x->element + 7) / 8 * 8;
}

size_t fw_column_exchange_span(const fw_column_exchange *x, size_t rows) {
  return x->numbers / rows * x->comm->ranks; /* every rank has one of so many neighbours */
}

/* ---- Create, free ---- */

static furrow_status allocate(fw_column_exchange *x, furrow_error *err) {
  const size_t ranks = x->comm->ranks;
  size_t *sizes = NULL;
  uint64_t *counts = NULL;
  furrow_status status = fw_alloc((void **)&x->requests, ranks, sizeof *x->requests, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&sizes, 4 * ranks, sizeof *sizes, err);
  x->request_sizes = sizes;
  if (status == FURROW_OK) status = fw_alloc((void **)&counts, 2 * ranks, sizeof *counts, err);
  x->send_counts = counts;
  if (status == FURROW_OK) status = fw_alloc((void **)&x->parts, ranks, sizeof *x->parts, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&x->send, ranks, x->buffer_bytes, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&x->receive, ranks, x->buffer_bytes, err);
  if (status != FURROW_OK) return status;
  x->count_sizes = sizes + ranks;
  x->send_sizes = sizes + 2 * ranks;
  x->receive_sizes = sizes + 3 * ranks;
  x->receive_counts = counts + ranks;
  for (size_t r = 0; r < ranks; r++) {
    x->request_sizes[r] = sizeof *x->requests;
    x->count_sizes[r] = sizeof *x->send_counts;
  }
  return FURROW_OK;
}

furrow_status fw_column_exchange_create(fw_column_exchange **exchange, const fw_parameters *p, size_t parameter,
                                        const uint64_t *keys, size_t count, size_t numbers, furrow_error *err) {
  const furrow_comm *comm = p->comm;
  const size_t rows = p->list[parameter].rows;
  fw_column_exchange *made = NULL;
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status == FURROW_OK) {
    *made = (fw_column_exchange){.p = p, .comm = comm, .parameter = parameter, .keys = keys, .key_count = count};
    made->element = p->element;
    made->numbers = numbers / comm->ranks > rows ? numbers / comm->ranks : rows;
    made->buffer_bytes = answer_bytes(made, made->numbers, 1);
    status = allocate(made, err);
  }
  status = fw_comm_share_status(comm, status, err);
  if (status == FURROW_OK)
    *exchange = made;
  else
    fw_column_exchange_free(made);
  return status;
}

void fw_column_exchange_free(fw_column_exchange *x) {
  if (!x) return;
  fw_free(x->requests);
  fw_free(x->request_sizes);
  fw_free(x->send_counts);
  fw_free(x->parts);
  fw_free(x->send);
  fw_free(x->receive);
  fw_free(x);
}

/* ---- A round ---- */

/* Keys, then numbers. */
static size_t answer(const fw_column_exchange *x, const fw_column_request *request, char *to) {
  if (request->start >= request->end) return 0;
  const size_t first = fw_first_key(x->keys, x->key_count, request->start);
  const size_t end = fw_first_key(x->keys, x->key_count, request->end), most = x->numbers / request->rows;
  const size_t count = end - first < most ? end - first : most, bytes = request->rows * x->element;
  memset(to, 0, answer_bytes(x, count, request->rows));
  memcpy(to, x->keys + first, count * sizeof *x->keys);
  to += count * sizeof *x->keys;
  for (size_t i = 0; i < count; i++, to += bytes) {
    const char *from = fw_parameters_feature(x->p, x->parameter, x->keys[first + i], 0);
    memcpy(to, from + request->first * x->element, bytes);
  }
  return count;
}

/* Sizes of the answers of all ranks, then the answers. */
static furrow_status send_answers(fw_column_exchange *x, size_t rows, furrow_error *err) {
  char *to = x->send;
  for (unsigned r = 0; r < x->comm->ranks; r++, to += x->send_sizes[r - 1]) {
    x->send_counts[r] = answer(x, &x->requests[r], to);
    x->send_sizes[r] = answer_bytes(x, x->send_counts[r], x->requests[r].rows);
  }
  FW_TRY(x->comm->exchange(x->comm, x->send_counts, x->count_sizes, x->receive_counts, x->count_sizes, err));
  for (unsigned r = 0; r < x->comm->ranks; r++) x->receive_sizes[r] = answer_bytes(x, x->receive_counts[r], rows);
  return x->comm->exchange(x->comm, x->send, x->send_sizes, x->receive, x->receive_sizes, err);
}

/* A rank whose answer is full may have more features behind its last. */
static void divide(fw_column_exchange *x, const fw_column_request *request, int64_t *end) {
  const char *at = x->receive;
  *end = request->end;
  for (unsigned r = 0; r < x->comm->ranks; r++) {
    fw_columns_part *part = &x->parts[r];
    part->count = x->receive_counts[r];
    part->keys = (const uint64_t *)(const void *)at;
    part->numbers = at + part->count * sizeof *part->keys;
    at += x->receive_sizes[r];
    if (part->count == 0 || part->count < x->numbers / request->rows) continue;
    const int64_t behind = (int64_t)part->keys[part->count - 1] + 1;
    if (behind < *end) *end = behind;
  }
}

furrow_status fw_column_exchange_run(fw_column_exchange *x, const fw_column_request *request, furrow_status mine,
                                     const fw_columns_part **parts, int64_t *end, bool *done, furrow_error *err) {
  const furrow_comm *comm = x->comm;
  fw_column_request asked = *request;
  furrow_error lost;
  asked.failed = mine != FURROW_OK;
  furrow_status status =
      comm->gather(comm, &asked, sizeof asked, x->requests, x->request_sizes, mine == FURROW_OK ? err : &lost);
  bool more = false, failed = false;
  for (unsigned r = 0; status == FURROW_OK && r < comm->ranks; r++) {
    failed |= x->requests[r].failed;
    more |= x->requests[r].start < x->requests[r].end;
  }
  if (failed) return fw_comm_share_status(comm, mine, err);
  if (status == FURROW_OK && more) status = send_answers(x, request->rows, err);
  if (status != FURROW_OK) return status;
  if (more) divide(x, request, end);
  *parts = x->parts;
  *done = !more;
  return FURROW_OK;
}
