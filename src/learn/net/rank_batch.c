/* learn/net/rank_batch.c: a batch of several ranks: who has what of it, and what they send to each other.
 *
 * A header of fixed size goes to every rank first; all sizes follow from it. There is one buffer for what is sent and
 * one for what is received. */
#include "learn/net/rank_batch.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/features.h"
#include "learn/net/net_ops.h"

enum { HAS_FAILED = 1, HAS_VALUES = 2, HAS_WEIGHTS = 4, HAS_WIDE_KEYS = 8, HAS_POSITIONS = 16 };

/* What a rank has for another: all its rows, and those of their features and uses that are the other's. */
typedef struct header {
  uint32_t rows, keys, uses, flags;
} header;

/* Sums of headers. */
typedef struct totals {
  size_t rows, keys, uses;
  uint32_t flags;
} totals;

typedef struct bytes {
  void *at;
  size_t capacity;
} bytes;

/* The rows of all ranks that an update is made from, where a batch has several updates. */
typedef struct slice {
  fw_batcher *batcher;
  fw_pass *pass;
  fw_minibatch *batch;
  size_t first_row, first_use; /* in the batch */
} slice;

struct fw_rank_batch {
  fw_net *net;
  const furrow_comm *comm;
  const fw_net_rank_ops *ops;
  fw_net_sizes sizes;
  uint64_t max_features;
  fw_batcher *batcher; /* joins the parts of all ranks */
  fw_batch_slot whole; /* the result: of its members number, out and loss are allocated */
  void *dense;         /* gradients of dense arrays, for each slice */
  slice *slices;       /* at most slice_capacity */
  size_t slice_capacity, slice_count, slice_rows;
  uint32_t *cutting; /* numbers that are needed for a slice */
  size_t cutting_capacity;
  /* for each rank */
  header *sent, *received;
  fw_batch_part *parts;
  size_t *send_size, *receive_size;
  /* of the rank's own rows: features and uses by the rank that they belong to; for each feature that rank, and its
   * number among those of the rank */
  uint32_t *order; /* all four lie here */
  size_t order_capacity;
  uint32_t *features, *uses, *owner, *number;
  bytes send, receive;
};

/* ---- Create, free ---- */

void fw_rank_batch_free(fw_rank_batch *b) {
  if (!b) return;
  fw_batcher_free(b->batcher);
  fw_batch_slot_clear(&b->whole);
  void *const memory[] = {b->dense,        b->sent,  b->received, b->parts,     b->send_size,
                          b->receive_size, b->order, b->send.at,  b->receive.at};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) fw_free(memory[i]);
  for (size_t i = 0; b->slices && i < b->slice_capacity; i++) {
    fw_pass_free(b->slices[i].pass);
    fw_batcher_free(b->slices[i].batcher);
  }
  fw_free(b->slices);
  fw_free(b->cutting);
  fw_free(b);
}

static furrow_status create_lists(fw_rank_batch *b, furrow_error *err) {
  const unsigned ranks = b->comm->ranks;
  FW_TRY(fw_alloc_zero((void **)&b->sent, ranks, sizeof *b->sent, err));
  FW_TRY(fw_alloc_zero((void **)&b->received, ranks, sizeof *b->received, err));
  FW_TRY(fw_alloc_zero((void **)&b->parts, ranks, sizeof *b->parts, err));
  FW_TRY(fw_alloc_zero((void **)&b->send_size, ranks, sizeof *b->send_size, err));
  FW_TRY(fw_alloc_zero((void **)&b->receive_size, ranks, sizeof *b->receive_size, err));
  FW_TRY(fw_alloc_zero((void **)&b->slices, b->slice_capacity, sizeof *b->slices, err));
  size_t dense;
  if (!fw_size_mul(b->sizes.dense + 1, b->slice_capacity, &dense)) return fw_fail_memory(err, SIZE_MAX);
  return fw_alloc_zero(&b->dense, dense, fw_net_element_size(b->net), err);
}

static furrow_status create_batcher(fw_rank_batch *b, furrow_error *err) {
  const fw_plan *plan = fw_net_plan(b->net);
  fw_batcher_params rules = fw_plan_rules(plan);
  rules.unlisted = fw_net_sums_by_row(b->net);
  b->whole = (fw_batch_slot){.net = b->net, .graph = &plan->graph};
  FW_TRY(fw_batcher_create(&b->batcher, &rules, err));
  for (size_t i = 0; i < b->slice_capacity && b->slice_capacity > 1; i++) {
    rules.beside = b->batcher; /* joined before */
    FW_TRY(fw_batcher_create(&b->slices[i].batcher, &rules, err));
    FW_TRY(fw_pass_create(&b->slices[i].pass, b->net, err));
  }
  return fw_pass_create(&b->whole.pass, b->net, err);
}

bool fw_rank_batch_is_needed(const fw_net *net) {
  return fw_net_comm(net)->ranks > 1 || fw_net_plan(net)->train.staleness > 0;
}

furrow_status fw_rank_batch_create(fw_rank_batch **batch, fw_net *net, uint64_t max_features, furrow_error *err) {
  fw_rank_batch *made = NULL;
  FW_TRY(fw_alloc_zero((void **)&made, 1, sizeof *made, err));
  made->net = net;
  made->comm = fw_net_comm(net);
  made->ops = fw_net_ranks(net);
  made->sizes = made->ops->sizes(fw_net_real(net));
  made->max_features = max_features;
  made->slice_capacity = 1 + (size_t)fw_net_plan(net)->train.staleness;
  furrow_status status = create_lists(made, err);
  if (status == FURROW_OK) status = create_batcher(made, err);
  if (status == FURROW_OK)
    *batch = made;
  else
    fw_rank_batch_free(made);
  return status;
}

fw_batch_slot *fw_rank_batch_whole(fw_rank_batch *b) {
  return &b->whole;
}

/* ---- What a rank has ---- */

static furrow_status list_by_owner(fw_rank_batch *b, const fw_minibatch *batch, furrow_error *err) {
  void *memory = b->order;
  furrow_status status = fw_grow(&memory, &b->order_capacity, 3 * batch->features + batch->uses, sizeof *b->order, err);
  b->order = memory;
  if (status != FURROW_OK) return status;
  b->features = b->order;
  b->owner = b->features + batch->features;
  b->number = b->owner + batch->features;
  b->uses = b->number + batch->features;
  for (size_t f = 0; f < batch->features; f++) {
    b->owner[f] = fw_feature_owner(batch->key[f], b->comm->ranks);
    b->number[f] = b->sent[b->owner[f]].keys++;
  }
  for (size_t use = 0; use < batch->uses; use++) b->sent[b->owner[batch->feature[use]]].uses++;
  return FURROW_OK;
}

/* Where the features and uses of a rank begin in the lists. */
static void fill_lists(fw_rank_batch *b, const fw_minibatch *batch) {
  size_t *key_at = b->send_size, *use_at = b->receive_size; /* free for now */
  size_t keys = 0, uses = 0;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    key_at[r] = keys;
    use_at[r] = uses;
    keys += b->sent[r].keys;
    uses += b->sent[r].uses;
  }
  for (size_t f = 0; f < batch->features; f++) b->features[key_at[b->owner[f]]++] = (uint32_t)f;
  for (size_t use = 0; use < batch->uses; use++) b->uses[use_at[b->owner[batch->feature[use]]]++] = (uint32_t)use;
}

static uint32_t flags_of(const fw_minibatch *batch) {
  uint32_t flags = batch->value ? HAS_VALUES : 0;
  if (batch->weight) flags |= HAS_WEIGHTS;
  if (batch->position) flags |= HAS_POSITIONS;
  for (size_t f = 0; f < batch->features; f++)
    if (batch->key[f] > UINT32_MAX) flags |= HAS_WIDE_KEYS;
  return flags;
}

/* Headers for all ranks, and the lists by owner. */
static furrow_status describe_own(fw_rank_batch *b, fw_batch_slot *own, furrow_status status, furrow_error *err) {
  memset(b->sent, 0, b->comm->ranks * sizeof *b->sent);
  if (status == FURROW_OK && !own->batch) status = fw_batcher_finish(own->batcher, &own->batch, err);
  if (status == FURROW_OK) status = list_by_owner(b, own->batch, err);
  if (status == FURROW_OK) fill_lists(b, own->batch);
  const uint32_t flags = status == FURROW_OK ? flags_of(own->batch) : HAS_FAILED;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    b->sent[r].rows = status == FURROW_OK ? (uint32_t)own->batch->rows : 0;
    b->sent[r].flags = flags;
  }
  return status;
}

static size_t padded(size_t size) {
  return (size + 7) / 8 * 8;
}

static size_t key_size(const header *h) {
  return h->flags & HAS_WIDE_KEYS ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Bytes of a part: keys; positions, labels, weights, numbers of uses by row; keys and values by use. */
static size_t part_size(const header *h) {
  const size_t of_row = 1 + !!(h->flags & HAS_POSITIONS) + !!(h->flags & HAS_WEIGHTS) + (h->keys > 0);
  const size_t of_use = 1 + !!(h->flags & HAS_VALUES);
  return padded(h->keys * key_size(h) + sizeof(uint32_t) * (h->rows * of_row + h->uses * of_use));
}

/* ---- Parts as bytes ---- */

static void put(char **to, const void *from, size_t count) {
  if (count) memcpy(*to, from, count * sizeof(uint32_t));
  *to += count * sizeof(uint32_t);
}

static char *put_keys(const header *h, const uint64_t *key, const uint32_t *features, char *to) {
  uint64_t *wide = (uint64_t *)(void *)to;
  uint32_t *narrow = (uint32_t *)(void *)to;
  if (key_size(h) == sizeof *wide)
    for (size_t i = 0; i < h->keys; i++) wide[i] = key[features[i]];
  else
    for (size_t i = 0; i < h->keys; i++) narrow[i] = (uint32_t)key[features[i]];
  return to + h->keys * key_size(h);
}

/* How many uses of each row are the other rank's. */
static char *put_row_uses(const fw_minibatch *batch, const uint32_t *uses, size_t count, char *to) {
  uint32_t *numbers = (uint32_t *)(void *)to;
  size_t at = 0;
  for (size_t row = 0; row < batch->rows; row++) {
    const size_t before = at;
    while (at < count && uses[at] < batch->offset[row + 1]) at++;
    numbers[row] = (uint32_t)(at - before);
  }
  return to + batch->rows * sizeof *numbers;
}

/* Features of uses, by their number among those of the other rank; and values. */
static void put_uses(const fw_rank_batch *b, const fw_minibatch *batch, const uint32_t *uses, size_t count, char *to) {
  uint32_t *numbers = (uint32_t *)(void *)to;
  float *values = (float *)(void *)(numbers + count);
  for (size_t i = 0; i < count; i++) numbers[i] = b->number[batch->feature[uses[i]]];
  for (size_t i = 0; batch->value && i < count; i++) values[i] = batch->value[uses[i]];
}

static void put_part(const fw_rank_batch *b, const fw_minibatch *batch, const header *h, const uint32_t *features,
                     const uint32_t *uses, char *to) {
  to = put_keys(h, batch->key, features, to);
  if (batch->position) put(&to, batch->position, h->rows);
  put(&to, batch->label, h->rows);
  if (batch->weight) put(&to, batch->weight, h->rows);
  if (h->keys) to = put_row_uses(batch, uses, h->uses, to);
  put_uses(b, batch, uses, h->uses, to);
}

static void put_parts(const fw_rank_batch *b, const fw_minibatch *batch) {
  const uint32_t *features = b->features, *uses = b->uses;
  char *to = b->send.at;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    put_part(b, batch, &b->sent[r], features, uses, to);
    to += b->send_size[r];
    features += b->sent[r].keys;
    uses += b->sent[r].uses;
  }
}

static const void *take(const char **from, size_t count) {
  const void *taken = *from;
  *from += count * sizeof(uint32_t);
  return taken;
}

static void take_part(fw_batch_part *part, const header *h, const char *from) {
  *part = (fw_batch_part){.rows = h->rows, .keys = h->keys, .uses = h->uses, .key = from};
  part->key_type = h->flags & HAS_WIDE_KEYS ? FURROW_KEY_U64 : FURROW_KEY_U32;
  from += h->keys * key_size(h);
  if (h->flags & HAS_POSITIONS) part->position = take(&from, h->rows);
  part->label = take(&from, h->rows);
  if (h->flags & HAS_WEIGHTS) part->weight = take(&from, h->rows);
  if (h->keys) part->row_uses = take(&from, h->rows);
  part->use_key = take(&from, h->uses);
  if (h->flags & HAS_VALUES) part->value = take(&from, h->uses);
}

static void take_parts(fw_rank_batch *b) {
  const char *from = b->receive.at;
  for (unsigned r = 0; r < b->comm->ranks; from += b->receive_size[r++]) take_part(&b->parts[r], &b->received[r], from);
}

/* ---- Memory ---- */

static size_t row_bytes(const fw_rank_batch *b) {
  return b->whole.graph->outputs * sizeof(double) + b->sizes.row;
}

/* Outputs and gradients of a rank's rows, behind the sum of their losses. */
static size_t gathered_size(const fw_rank_batch *b, size_t rows, bool gradients) {
  const size_t outputs = rows * b->whole.graph->outputs * sizeof(double);
  return padded(sizeof(double) + outputs + (gradients ? rows * b->sizes.row : 0));
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static furrow_status reserve(bytes *buffer, size_t size, furrow_error *err) {
  return fw_grow(&buffer->at, &buffer->capacity, size + 1, 1, err);
}

/* Room for all that is sent and received for the batch. */
static furrow_status reserve_buffers(fw_rank_batch *b, const totals *own, const totals *all, furrow_error *err) {
  const fw_net_sizes *s = &b->sizes;
  size_t send = 0, receive = 0;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    send += b->send_size[r] = part_size(&b->sent[r]);
    receive += b->receive_size[r] = part_size(&b->received[r]);
  }
  const size_t margin = b->comm->ranks * 4 * sizeof(double);
  send = larger(larger(send, all->keys * s->weights), larger(own->rows * row_bytes(b), own->uses * s->use));
  receive = larger(larger(receive, own->keys * s->weights), larger(all->rows * row_bytes(b), all->uses * s->use));
  FW_TRY(reserve(&b->send, send + margin, err));
  return reserve(&b->receive, receive + margin, err);
}

/* ---- Step 1: what of the batch the ranks have ---- */

static furrow_status exchange_headers(const fw_rank_batch *b, furrow_error *err) {
  for (unsigned r = 0; r < b->comm->ranks; r++) b->send_size[r] = b->receive_size[r] = sizeof(header);
  return b->comm->exchange(b->comm, b->sent, b->send_size, b->received, b->receive_size, err);
}

static totals sum_headers(const header *list, unsigned ranks) {
  totals sum = {0};
  for (unsigned r = 0; r < ranks; r++) {
    sum.rows += list[r].rows;
    sum.keys += list[r].keys;
    sum.uses += list[r].uses;
    sum.flags |= list[r].flags;
  }
  return sum;
}

/* E_RANGE: too many features, of all ranks together. */
static furrow_status check_features(const fw_rank_batch *b, furrow_status status, furrow_error *err) {
  int64_t sums[2] = {status != FURROW_OK, (int64_t)fw_net_feature_count(b->net)};
  furrow_error lost;
  const furrow_status summed = fw_comm_sum_i64(b->comm, sums, 2, status == FURROW_OK ? err : &lost);
  if (status != FURROW_OK || summed != FURROW_OK) return status != FURROW_OK ? status : summed;
  if (sums[0]) return fw_fail(err, FURROW_E_STATE, "another process failed");
  if (b->max_features && fw_net_is_open(b->net) && (uint64_t)sums[1] > b->max_features)
    return fw_fail(err, FURROW_E_RANGE, "the data has more than %" PRIu64 " features", b->max_features);
  return FURROW_OK;
}

/* ---- Slices ---- */

void fw_rank_batch_set_slice(fw_rank_batch *b, size_t rows) {
  b->slice_rows = rows;
}

/* Different features of uses begin … end-1 of the whole batch, numbered by first appearance: use_key has the number of
 * each use, keys those that there are. */
static size_t number_features(const fw_minibatch *whole, size_t begin, size_t end, uint32_t *number, uint32_t *use_key,
                              uint64_t *keys) {
  size_t count = 0;
  memset(number, 0xff, whole->features * sizeof *number);
  for (size_t use = begin; use < end; use++) {
    uint32_t *known = &number[whole->feature[use]];
    if (*known == UINT32_MAX) {
      *known = (uint32_t)count;
      keys[count++] = whole->key[whole->feature[use]];
    }
    use_key[use - begin] = *known;
  }
  return count;
}

/* A part of the whole batch as a part of one rank, which is then all that there is. */
static furrow_status cut_part(fw_rank_batch *b, size_t begin, size_t end, fw_batch_part *part, furrow_error *err) {
  const fw_minibatch *whole = b->whole.batch;
  *part = (fw_batch_part){.rows = end - begin, .label = whole->label + begin, .key_type = FURROW_KEY_U64};
  if (whole->weight) part->weight = whole->weight + begin;
  if (!whole->offset) return FURROW_OK;
  const size_t first = whole->offset[begin], uses = whole->offset[end] - first;
  void *memory = b->cutting;
  const size_t numbers = 2 * whole->features + whole->features + uses + part->rows;
  furrow_status status = fw_grow(&memory, &b->cutting_capacity, numbers, sizeof *b->cutting, err);
  b->cutting = memory;
  if (status != FURROW_OK) return status;
  uint64_t *keys = memory;
  uint32_t *number = b->cutting + 2 * whole->features, *use_key = number + whole->features, *rows = use_key + uses;
  for (size_t row = begin; row < end; row++) rows[row - begin] = whole->offset[row + 1] - whole->offset[row];
  part->keys = number_features(whole, first, first + uses, number, use_key, keys);
  part->uses = uses;
  part->key = keys;
  part->use_key = use_key;
  part->row_uses = rows;
  if (whole->value) part->value = whole->value + first;
  return FURROW_OK;
}

static furrow_status cut_slice(fw_rank_batch *b, size_t i, size_t rows, furrow_error *err) {
  const fw_minibatch *whole = b->whole.batch;
  const size_t begin = i * rows, left = whole->rows - begin;
  slice *s = &b->slices[i];
  fw_batch_part part;
  FW_TRY(cut_part(b, begin, begin + (left < rows ? left : rows), &part, err));
  s->first_row = begin;
  s->first_use = whole->offset ? whole->offset[begin] : 0;
  FW_TRY(fw_batcher_join(s->batcher, &part, 1, &s->batch, err));
  char *dense = (char *)b->dense + i * b->sizes.dense * fw_net_element_size(b->net);
  return b->ops->begin_features(fw_net_real(b->net), fw_pass_real(s->pass), s->batch, false, dense, err);
}

/* Slices may have more rows than asked for where every rank brings a row of a stream at least. */
static furrow_status cut_slices(fw_rank_batch *b, furrow_error *err) {
  const size_t all = b->whole.batch->rows;
  const size_t rows = b->slice_rows ? larger(b->slice_rows, (all + b->slice_capacity - 1) / b->slice_capacity) : all;
  b->slice_count = (all + rows - 1) / rows;
  for (size_t i = 0; b->slice_count > 1 && i < b->slice_count; i++) FW_TRY(cut_slice(b, i, rows, err));
  return FURROW_OK;
}

size_t fw_rank_batch_slices(const fw_rank_batch *b) {
  return b->slice_count;
}

fw_pass *fw_rank_batch_slice(fw_rank_batch *b, size_t i) {
  slice *s = &b->slices[i];
  if (b->slice_count == 1) return b->whole.pass;
  b->ops->cut(fw_net_real(b->net), fw_pass_real(b->whole.pass), s->first_row, s->first_use, fw_pass_real(s->pass));
  return s->pass;
}

/* The rows of all ranks with the features of this one, and its records. */
static furrow_status join_parts(fw_rank_batch *b, bool grow, furrow_error *err) {
  fw_batch_slot *whole = &b->whole;
  take_parts(b);
  furrow_status status = fw_batcher_join(b->batcher, b->parts, b->comm->ranks, &whole->batch, err);
  if (status == FURROW_OK)
    status = b->ops->begin_features(fw_net_real(b->net), fw_pass_real(whole->pass), whole->batch, grow, b->dense, err);
  if (status == FURROW_OK) status = cut_slices(b, err);
  return check_features(b, status, err);
}

/* ---- Step 2: weights ---- */

static furrow_status exchange_weights(fw_rank_batch *b, const fw_batch_slot *own, furrow_error *err) {
  const size_t size = b->sizes.weights;
  char *to = b->send.at;
  if (size == 0) return FURROW_OK;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    const fw_batch_part *part = &b->parts[r];
    b->ops->put_weights(fw_net_real(b->net), fw_pass_real(b->whole.pass), part->feature, part->keys, to);
    b->send_size[r] = part->keys * size;
    b->receive_size[r] = b->sent[r].keys * size;
    to += b->send_size[r];
  }
  FW_TRY(b->comm->exchange(b->comm, b->send.at, b->send_size, b->receive.at, b->receive_size, err));
  b->ops->take_weights(fw_net_real(b->net), fw_pass_real(own->pass), b->features, own->batch->features, b->receive.at);
  return FURROW_OK;
}

furrow_status fw_rank_batch_begin(fw_rank_batch *b, fw_batch_slot *own, furrow_status filled, bool grow,
                                  furrow_error *err) {
  b->whole.batch = NULL;
  furrow_status status = describe_own(b, own, filled, err);
  furrow_error lost;
  const furrow_status exchanged = exchange_headers(b, status == FURROW_OK ? err : &lost);
  if (exchanged != FURROW_OK) return status == FURROW_OK ? exchanged : status;
  const totals all = sum_headers(b->received, b->comm->ranks);
  if (all.flags & HAS_FAILED) return fw_comm_share_status(b->comm, status, err);
  if (all.rows == 0) return FURROW_OK;
  totals mine = sum_headers(b->sent, b->comm->ranks);
  mine.rows = own->batch->rows; /* every rank gets all of them */
  status = reserve_buffers(b, &mine, &all, err);
  if (status == FURROW_OK) status = fw_batch_slot_reserve(&b->whole, all.rows, err);
  if (status == FURROW_OK) status = b->ops->begin_rows(fw_net_real(b->net), fw_pass_real(own->pass), own->batch, err);
  FW_TRY(fw_comm_share_status(b->comm, status, err));
  put_parts(b, own->batch);
  FW_TRY(b->comm->exchange(b->comm, b->send.at, b->send_size, b->receive.at, b->receive_size, err));
  FW_TRY(join_parts(b, grow, err));
  return exchange_weights(b, own, err);
}

/* ---- Step 4: outputs and gradients ---- */

static void put_gathered(const fw_rank_batch *b, const fw_batch_slot *own, bool gradients) {
  const size_t outputs = own->batch->rows * own->graph->outputs;
  double *to = b->send.at;
  *to = 0;
  for (size_t i = 0; i < fw_batch_slot_tasks(own); i++) *to += own->loss[i];
  if (outputs) memcpy(to + 1, own->out, outputs * sizeof *to);
  if (gradients && b->sizes.row) b->ops->put_rows(fw_net_real(b->net), fw_pass_real(own->pass), to + 1 + outputs);
}

static void take_gathered(fw_rank_batch *b, const fw_batch_part *part, bool gradients, const char *from) {
  const size_t outputs = b->whole.graph->outputs;
  const double *numbers = (const double *)(const void *)from;
  b->whole.loss[0] += *numbers++;
  for (size_t i = 0; i < part->rows; i++, numbers += outputs)
    memcpy(b->whole.out + part->row[i] * outputs, numbers, outputs * sizeof *numbers);
  if (gradients && b->sizes.row)
    b->ops->take_rows(fw_net_real(b->net), fw_pass_real(b->whole.pass), part->row, part->rows, numbers);
}

/* Gradients of uses go to the owners of their features, in the order in which the uses themselves went. */
static furrow_status exchange_uses(fw_rank_batch *b, const fw_batch_slot *own, furrow_error *err) {
  const size_t size = b->sizes.use;
  const uint32_t *uses = b->uses;
  char *to = b->send.at;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    b->ops->put_uses(fw_net_real(b->net), fw_pass_real(own->pass), uses, b->sent[r].uses, to);
    b->send_size[r] = b->sent[r].uses * size;
    b->receive_size[r] = b->parts[r].uses * size;
    to += b->send_size[r];
    uses += b->sent[r].uses;
  }
  FW_TRY(b->comm->exchange(b->comm, b->send.at, b->send_size, b->receive.at, b->receive_size, err));
  const char *from = b->receive.at;
  for (unsigned r = 0; r < b->comm->ranks; from += b->receive_size[r++])
    b->ops->take_uses(fw_net_real(b->net), fw_pass_real(b->whole.pass), b->parts[r].use, b->parts[r].uses, from);
  return FURROW_OK;
}

furrow_status fw_rank_batch_gather(fw_rank_batch *b, const fw_batch_slot *own, bool gradients, furrow_error *err) {
  const size_t mine = gathered_size(b, own->batch->rows, gradients);
  for (unsigned r = 0; r < b->comm->ranks; r++) b->receive_size[r] = gathered_size(b, b->parts[r].rows, gradients);
  put_gathered(b, own, gradients);
  FW_TRY(b->comm->gather(b->comm, b->send.at, mine, b->receive.at, b->receive_size, err));
  const char *from = b->receive.at;
  for (size_t i = 0; i < fw_batch_slot_tasks(&b->whole); i++) b->whole.loss[i] = 0;
  for (unsigned r = 0; r < b->comm->ranks; from += b->receive_size[r++])
    take_gathered(b, &b->parts[r], gradients, from);
  return gradients && b->sizes.use ? exchange_uses(b, own, err) : FURROW_OK;
}

bool fw_rank_batch_is_sound(const fw_rank_batch *b) {
  const fw_batch_slot *whole = &b->whole;
  bool sound = isfinite(whole->loss[0]) != 0;
  for (size_t i = 0; i < whole->batch->rows * whole->graph->outputs; i++) sound &= isfinite(whole->out[i]) != 0;
  return sound;
}

furrow_status fw_rank_batch_number(fw_rank_batch *b, const fw_batch_slot *own, furrow_error *err) {
  for (unsigned r = 0; r < b->comm->ranks; r++) b->receive_size[r] = b->parts[r].rows * sizeof(uint64_t);
  FW_TRY(
      b->comm->gather(b->comm, own->number, own->batch->rows * sizeof(uint64_t), b->receive.at, b->receive_size, err));
  const uint64_t *number = b->receive.at;
  for (unsigned r = 0; r < b->comm->ranks; r++)
    for (size_t i = 0; i < b->parts[r].rows; i++) b->whole.number[b->parts[r].row[i]] = *number++;
  return FURROW_OK;
}

/* ---- Dense arrays ---- */

size_t fw_rank_batch_dense_tasks(const fw_rank_batch *b) {
  return b->slice_count * b->ops->dense_tasks(fw_net_real(b->net));
}

/* The first of the rank's own rows that is at `row` of the whole batch, or behind it. */
static size_t own_row(const fw_batch_part *own, size_t row) {
  size_t low = 0, high = own->rows;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (own->row[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void fw_rank_batch_sum_dense(fw_rank_batch *b, const fw_batch_slot *own, size_t task) {
  const size_t tasks = b->ops->dense_tasks(fw_net_real(b->net)), i = task / tasks;
  const fw_batch_part *part = &b->parts[b->comm->rank];
  size_t begin = 0, end = part->rows;
  if (b->slice_count > 1) begin = own_row(part, b->slices[i].first_row);
  if (i + 1 < b->slice_count) end = own_row(part, b->slices[i + 1].first_row);
  char *dense = (char *)b->dense + i * b->sizes.dense * fw_net_element_size(b->net);
  b->ops->sum_dense(fw_net_real(b->net), fw_pass_real(own->pass), begin, end, dense, task % tasks);
}

furrow_status fw_rank_batch_add_dense(fw_rank_batch *b, furrow_error *err) {
  const size_t count = b->slice_count * b->sizes.dense;
  if (fw_net_element_size(b->net) == sizeof(float)) return fw_comm_sum_f32(b->comm, b->dense, count, err);
  return fw_comm_sum_f64(b->comm, b->dense, count, err);
}
