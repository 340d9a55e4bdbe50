/* learn/net/rank_batch.c: updates and scores of a net whose rows and features are divided among ranks.
 *
 * Every rank has some of a batch's rows, and every rank has some of the features (fw_feature_owner). For each batch
 *
 *   1. ranks tell each other what of the batch they have: labels of rows, and for each rank the uses of its features;
 *   2. the owners of features send a notice whether they have failed, then their weights, to the other ranks whose
 *      rows have these features;
 *   3. forward and backward pass of a rank's own rows, with these copies and the records of its own features;
 *   4. outputs, terms of the tally and gradients of rows go to all ranks, gradients of uses to the owners of their
 *      features, gradients of dense arrays are added up;
 *   5. owners update their features, over the rows of all ranks in the order that one process would have; dense arrays
 *      are updated by all ranks alike.
 *
 * A header of fixed size goes to every rank first; all sizes follow from it. There is one buffer for what is sent and
 * one for what is received. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/features.h"
#include "learn/net/net_solver.h"

enum { HAS_FAILED = 1, HAS_VALUES = 2, HAS_WEIGHTS = 4, HAS_WIDE_KEYS = 8, HAS_POSITIONS = 16 };

/* What a rank sends to another: all its rows, and the features and uses in them that belong to the other rank. */
typedef struct header {
  uint32_t rows, keys, uses, flags;
} header;

/* An owner sends this before its weights. */
typedef struct notice {
  uint64_t failed, features; /* features: how many have a record there */
} notice;

/* The rank that a feature belongs to, and its number among the features that are sent to this rank. */
typedef struct home {
  uint32_t owner, number;
} home;

/* The positions for writing the next use that is sent to a rank. */
typedef struct use_writer {
  uint32_t *number, *row_begin; /* number of the feature; begin of the row */
  uint32_t *row_uses;           /* NULL: the rank has no feature of the batch */
  float *value;                 /* NULL: all 1 */
  uint32_t *use;                /* in fw_rank_batch.uses; NULL: not listed */
} use_writer;

/* Sums of headers. */
typedef struct totals {
  size_t rows, keys, uses;
  uint32_t flags;
} totals;

typedef struct bytes {
  void *at;
  size_t capacity;
} bytes;

struct fw_rank_batch {
  fw_net *net;
  const furrow_comm *comm;
  const fw_net_rank_ops *ops;
  fw_net_sizes sizes;
  uint64_t max_features;
  fw_batcher *batcher; /* joins the parts of all ranks */
  /* The rows of all ranks in their order, with outputs and losses when they have been gathered; its batch is NULL at
   * the end of the data. Its pass is the one of the rank's own features. */
  fw_batch_slot whole;
  void *dense; /* gradients of dense arrays */
  /* for each rank */
  header *sent, *received;
  fw_batch_part *parts;
  use_writer *writers;
  size_t *send_size, *receive_size;
  /* features of the rank's own rows, grouped by the rank that they belong to, and the uses whose gradients are sent;
   * home: for each feature */
  uint32_t *order; /* all three lie here */
  size_t order_capacity;
  uint32_t *features, *uses;
  home *home;
  bytes send, receive;
  bytes weights; /* received: records of the pass of rows point into it */
};

/* ---- Create, free ---- */

void fw_rank_batch_free(fw_rank_batch *b) {
  if (!b) return;
  fw_batcher_free(b->batcher);
  fw_batch_slot_clear(&b->whole);
  void *const memory[] = {b->dense,        b->sent,  b->received, b->parts,      b->writers,   b->send_size,
                          b->receive_size, b->order, b->send.at,  b->receive.at, b->weights.at};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) fw_free(memory[i]);
  fw_free(b);
}

static furrow_status create_lists(fw_rank_batch *b, furrow_error *err) {
  const unsigned ranks = b->comm->ranks;
  FW_TRY(FW_ALLOC_ZERO(&b->sent, ranks, err));
  FW_TRY(FW_ALLOC_ZERO(&b->received, ranks, err));
  FW_TRY(FW_ALLOC_ZERO(&b->parts, ranks, err));
  FW_TRY(FW_ALLOC_ZERO(&b->writers, ranks, err));
  FW_TRY(FW_ALLOC_ZERO(&b->send_size, ranks, err));
  FW_TRY(FW_ALLOC_ZERO(&b->receive_size, ranks, err));
  return fw_alloc_zero(&b->dense, b->sizes.dense + 1, b->net->parameters->element, err);
}

static furrow_status create_batcher(fw_rank_batch *b, furrow_error *err) {
  const fw_plan *plan = b->net->parameters->plan;
  fw_batcher_params rules = fw_plan_rules(plan);
  rules.unlisted = b->net->ops->sums_by_row(b->net);
  b->whole = (fw_batch_slot){.net = b->net, .graph = &plan->graph, .task_rows = FW_TASK_ROWS};
  FW_TRY(fw_batcher_create(&b->batcher, &rules, err));
  return fw_batch_slot_init_pass(&b->whole, err);
}

furrow_status fw_rank_batch_create(fw_rank_batch **batch, fw_net *net, uint64_t max_features, furrow_error *err) {
  fw_rank_batch *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->net = net;
  made->comm = net->parameters->comm;
  made->ops = net->ops->ranks;
  made->sizes = made->ops->sizes(net);
  made->max_features = max_features;
  furrow_status status = create_lists(made, err);
  if (status == FURROW_OK) status = create_batcher(made, err);
  return FW_HAND_OVER(status, batch, made, fw_rank_batch_free);
}

/* ---- What a rank has ---- */

static furrow_status list_by_owner(fw_rank_batch *b, const fw_minibatch *batch, furrow_error *err) {
  const size_t listed = b->sizes.use ? batch->uses : 0;
  FW_TRY(FW_GROW(&b->order, &b->order_capacity, 3 * batch->features + listed, err));
  b->home = (home *)b->order;
  b->features = b->order + 2 * batch->features;
  b->uses = b->features + batch->features;
  for (size_t f = 0; f < batch->features; f++) {
    const uint32_t owner = fw_feature_owner(batch->key[f], b->comm->ranks);
    b->home[f] = (home){owner, b->sent[owner].keys++};
  }
  for (size_t use = 0; use < batch->uses; use++) b->sent[b->home[batch->feature[use]].owner].uses++;
  return FURROW_OK;
}

/* Lists the features by owner, in the order of ranks. */
static void list_features(fw_rank_batch *b, const fw_minibatch *batch) {
  size_t *begin = b->send_size, keys = 0; /* free for now */
  for (unsigned r = 0; r < b->comm->ranks; keys += b->sent[r++].keys) begin[r] = keys;
  for (size_t f = 0; f < batch->features; f++) b->features[begin[b->home[f].owner] + b->home[f].number] = (uint32_t)f;
}

static uint32_t flags_of(const fw_minibatch *batch) {
  uint32_t flags = batch->value ? HAS_VALUES : 0;
  if (batch->weight) flags |= HAS_WEIGHTS;
  if (batch->position) flags |= HAS_POSITIONS;
  uint64_t bits = 0;
  for (size_t f = 0; f < batch->features; f++) bits |= batch->key[f];
  return bits > UINT32_MAX ? flags | HAS_WIDE_KEYS : flags;
}

/* Headers for all ranks, and the lists by owner. */
static furrow_status describe_own(fw_rank_batch *b, fw_batch_slot *own, furrow_status status, furrow_error *err) {
  memset(b->sent, 0, b->comm->ranks * sizeof *b->sent);
  if (status == FURROW_OK && !own->batch) status = fw_batcher_finish(own->batcher, &own->batch, err);
  if (status == FURROW_OK) status = list_by_owner(b, own->batch, err);
  if (status == FURROW_OK) list_features(b, own->batch);
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

/* Writes everything except the uses, and stores the positions for the uses. */
static void put_part(const fw_minibatch *batch, const header *h, const uint32_t *features, char *to,
                     use_writer *writer) {
  to = put_keys(h, batch->key, features, to);
  if (batch->position) put(&to, batch->position, h->rows);
  put(&to, batch->label, h->rows);
  if (batch->weight) put(&to, batch->weight, h->rows);
  *writer = (use_writer){.row_uses = h->keys ? (uint32_t *)(void *)to : NULL};
  if (h->keys) to += h->rows * sizeof(uint32_t);
  writer->number = writer->row_begin = (uint32_t *)(void *)to;
  if (batch->value) writer->value = (float *)(void *)(writer->number + h->uses);
}

/* Uses go to the owners of their features: the number of the feature there, and the value. */
static void put_row(const fw_rank_batch *b, const fw_minibatch *batch, size_t row) {
  use_writer *const writers = b->writers;
  for (uint32_t use = batch->offset[row]; use < batch->offset[row + 1]; use++) {
    const home at = b->home[batch->feature[use]];
    use_writer *to = &writers[at.owner];
    *to->number++ = at.number;
    if (to->value) *to->value++ = batch->value[use];
    if (to->use) *to->use++ = use;
  }
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    if (writers[r].row_uses) *writers[r].row_uses++ = (uint32_t)(writers[r].number - writers[r].row_begin);
    writers[r].row_begin = writers[r].number;
  }
}

static void put_parts(const fw_rank_batch *b, const fw_minibatch *batch) {
  const uint32_t *features = b->features;
  uint32_t *uses = b->uses;
  char *to = b->send.at;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    put_part(batch, &b->sent[r], features, to, &b->writers[r]);
    if (b->sizes.use) b->writers[r].use = uses;
    to += b->send_size[r];
    features += b->sent[r].keys;
    uses += b->sent[r].uses;
  }
  for (size_t row = 0; batch->uses && row < batch->rows; row++) put_row(b, batch, row);
}

static const void *take_array(const char **from, size_t count) {
  const void *taken = *from;
  *from += count * sizeof(uint32_t);
  return taken;
}

static void take_part(fw_batch_part *part, const header *h, const char *from) {
  *part = (fw_batch_part){.rows = h->rows, .keys = h->keys, .uses = h->uses, .key = from};
  part->key_type = h->flags & HAS_WIDE_KEYS ? FURROW_KEY_U64 : FURROW_KEY_U32;
  from += h->keys * key_size(h);
  if (h->flags & HAS_POSITIONS) part->position = take_array(&from, h->rows);
  part->label = take_array(&from, h->rows);
  if (h->flags & HAS_WEIGHTS) part->weight = take_array(&from, h->rows);
  if (h->keys) part->row_uses = take_array(&from, h->rows);
  part->use_key = take_array(&from, h->uses);
  if (h->flags & HAS_VALUES) part->value = take_array(&from, h->uses);
}

static void take_parts(fw_rank_batch *b) {
  const char *from = b->receive.at;
  for (unsigned r = 0; r < b->comm->ranks; from += b->receive_size[r++]) take_part(&b->parts[r], &b->received[r], from);
}

/* ---- Memory ---- */

static size_t row_bytes(const fw_rank_batch *b) {
  return b->whole.graph->outputs * sizeof(double) + sizeof(fw_row_terms) + b->sizes.row;
}

/* Bytes of a rank's sum of losses, followed by the outputs, terms and gradients of its rows. */
static size_t gathered_size(const fw_rank_batch *b, size_t rows, bool gradients) {
  size_t of_row = b->whole.graph->outputs * sizeof(double);
  if (b->whole.has_terms) of_row += sizeof(fw_row_terms);
  if (gradients) of_row += b->sizes.row;
  return padded(sizeof(double) + rows * of_row);
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static furrow_status reserve_bytes(bytes *buffer, size_t size, furrow_error *err) {
  return fw_grow(&buffer->at, &buffer->capacity, size + 1, 1, err);
}

/* Reserves buffers for all that is sent and received for the batch. */
static furrow_status reserve_buffers(fw_rank_batch *b, const totals *own, const totals *all, furrow_error *err) {
  const fw_net_sizes *s = &b->sizes;
  size_t send = 0, receive = 0;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    send += b->send_size[r] = part_size(&b->sent[r]);
    receive += b->receive_size[r] = part_size(&b->received[r]);
  }
  const size_t margin = b->comm->ranks * 4 * sizeof(double); /* for padding, sums of losses and notices */
  send = larger(larger(send, all->keys * s->weights), larger(own->rows * row_bytes(b), own->uses * s->use));
  receive = larger(receive, larger(all->rows * row_bytes(b), all->uses * s->use));
  FW_TRY(reserve_bytes(&b->send, send + margin, err));
  FW_TRY(reserve_bytes(&b->weights, own->keys * s->weights + margin, err));
  return reserve_bytes(&b->receive, receive + margin, err);
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

/* The rows of all ranks with the features of this one, and its records. */
static furrow_status join_parts(fw_rank_batch *b, bool grow, furrow_error *err) {
  fw_batch_slot *whole = &b->whole;
  take_parts(b);
  FW_TRY(fw_batcher_join(b->batcher, b->parts, b->comm->ranks, &whole->batch, err));
  return b->ops->begin_features(b->net, whole->pass, whole->batch, grow, b->dense, err);
}

/* ---- Step 2: weights ---- */

/* Checks this rank's notice and the notices of the other ranks. E_RANGE: too many features, of all ranks together. */
static furrow_status check_notices(const fw_rank_batch *b, notice own, furrow_status status, furrow_error *err) {
  const char *from = b->weights.at;
  for (unsigned r = 0; r < b->comm->ranks; from += b->receive_size[r++]) {
    notice said = {0};
    if (r != b->comm->rank) memcpy(&said, from, sizeof said);
    own.failed |= said.failed;
    own.features += said.features;
  }
  if (status != FURROW_OK) return status;
  if (own.failed) return fw_fail(err, FURROW_E_STATE, "another process failed");
  if (b->max_features && fw_parameters_are_open(b->net->parameters) && own.features > b->max_features)
    return fw_fail(err, FURROW_E_RANGE, "the data has more than %" PRIu64 " features", b->max_features);
  return FURROW_OK;
}

/* If this rank has failed, the receivers ignore everything except the notice. */
static void put_weights(fw_rank_batch *b, const notice *said) {
  char *to = b->send.at;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    const fw_batch_part *part = &b->parts[r];
    const bool other = r != b->comm->rank;
    b->send_size[r] = other ? sizeof *said + part->keys * b->sizes.weights : 0;
    b->receive_size[r] = other ? sizeof *said + b->sent[r].keys * b->sizes.weights : 0;
    if (!other) continue;
    memcpy(to, said, sizeof *said);
    if (!said->failed) b->ops->put_weights(b->net, b->whole.pass, part->feature, part->keys, to + sizeof *said);
    to += b->send_size[r];
  }
}

/* Both passes use the records of the rank's own features, because updates wait for all gradients. */
static void take_weights(const fw_rank_batch *b, const fw_batch_slot *own) {
  const fw_batch_part *mine = &b->parts[b->comm->rank];
  const uint32_t *features = b->features;
  char *from = b->weights.at;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    if (r == b->comm->rank)
      b->ops->share_records(b->whole.pass, mine->feature, mine->keys, own->pass, features);
    else
      b->ops->take_weights(b->net, own->pass, features, b->sent[r].keys, from + sizeof(notice));
    features += b->sent[r].keys;
    from += b->receive_size[r];
  }
}

/* `status`: how the parts were joined. */
static furrow_status exchange_weights(fw_rank_batch *b, const fw_batch_slot *own, furrow_status status,
                                      furrow_error *err) {
  const notice mine = {.failed = status != FURROW_OK, .features = fw_parameters_feature_count(b->net->parameters)};
  furrow_error lost;
  put_weights(b, &mine);
  const furrow_status exchanged = b->comm->exchange(b->comm, b->send.at, b->send_size, b->weights.at, b->receive_size,
                                                    status == FURROW_OK ? err : &lost);
  if (exchanged != FURROW_OK) return status == FURROW_OK ? exchanged : status;
  FW_TRY(check_notices(b, mine, status, err));
  take_weights(b, own);
  return FURROW_OK;
}

/* Steps 1 and 2: `own` has been filled, with status `filled`; it may be empty. With `grow` new features get their
 * records. If one rank fails, all fail. */
static furrow_status begin_rank_batch(fw_rank_batch *b, fw_batch_slot *own, furrow_status filled, bool grow,
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
  mine.rows = own->batch->rows; /* every rank gets all rows */
  status = reserve_buffers(b, &mine, &all, err);
  if (status == FURROW_OK) status = fw_batch_slot_reserve(&b->whole, all.rows, err);
  if (status == FURROW_OK) status = b->ops->begin_rows(b->net, own->pass, own->batch, err);
  FW_TRY(fw_comm_share_status(b->comm, status, err));
  put_parts(b, own->batch);
  FW_TRY(b->comm->exchange(b->comm, b->send.at, b->send_size, b->receive.at, b->receive_size, err));
  return exchange_weights(b, own, join_parts(b, grow, err), err);
}

/* ---- Step 4: outputs and gradients ---- */

static void put_gathered(const fw_rank_batch *b, const fw_batch_slot *own, bool gradients) {
  const size_t rows = own->batch->rows, outputs = rows * own->graph->outputs;
  double *loss = b->send.at, *out = loss + 1;
  fw_row_terms *terms = (fw_row_terms *)(void *)(out + outputs);
  *loss = 0;
  for (size_t i = 0; i < fw_batch_slot_tasks(own); i++) *loss += own->loss[i];
  if (outputs) memcpy(out, own->out, outputs * sizeof *out);
  if (rows && own->has_terms) memcpy(terms, own->terms, rows * sizeof *terms);
  if (gradients && b->sizes.row) b->ops->put_rows(b->net, own->pass, own->has_terms ? terms + rows : terms);
}

static void take_gathered(fw_rank_batch *b, const fw_batch_part *part, bool gradients, const char *from) {
  const size_t outputs = b->whole.graph->outputs;
  const double *numbers = (const double *)(const void *)from;
  b->whole.loss[0] += *numbers++;
  for (size_t i = 0; i < part->rows; i++)
    for (size_t k = 0; k < outputs; k++) b->whole.out[part->row[i] * outputs + k] = *numbers++;
  const fw_row_terms *terms = (const fw_row_terms *)(const void *)numbers;
  for (size_t i = 0; b->whole.has_terms && i < part->rows; i++) b->whole.terms[part->row[i]] = *terms++;
  if (gradients && b->sizes.row) b->ops->take_rows(b->net, b->whole.pass, part->row, part->rows, terms);
}

/* Gradients of uses go to the owners of their features, in the order in which the uses themselves went. */
static furrow_status exchange_uses(fw_rank_batch *b, const fw_batch_slot *own, furrow_error *err) {
  const size_t size = b->sizes.use;
  const uint32_t *uses = b->uses;
  char *to = b->send.at;
  for (unsigned r = 0; r < b->comm->ranks; r++) {
    b->ops->put_uses(b->net, own->pass, uses, b->sent[r].uses, to);
    b->send_size[r] = b->sent[r].uses * size;
    b->receive_size[r] = b->parts[r].uses * size;
    to += b->send_size[r];
    uses += b->sent[r].uses;
  }
  FW_TRY(b->comm->exchange(b->comm, b->send.at, b->send_size, b->receive.at, b->receive_size, err));
  const char *from = b->receive.at;
  for (unsigned r = 0; r < b->comm->ranks; from += b->receive_size[r++])
    b->ops->take_uses(b->net, b->whole.pass, b->parts[r].use, b->parts[r].uses, from);
  return FURROW_OK;
}

/* The outputs of all rows, and with `gradients` the gradients of rows and uses. */
static furrow_status gather_outputs(fw_rank_batch *b, const fw_batch_slot *own, bool gradients, furrow_error *err) {
  b->whole.has_terms = own->has_terms;
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

/* Whether all outputs and the sum of the losses are numbers: the same for all ranks. */
static bool is_sound(const fw_rank_batch *b) {
  const fw_batch_slot *whole = &b->whole;
  bool sound = isfinite(whole->loss[0]) != 0;
  for (size_t i = 0; i < whole->batch->rows * whole->graph->outputs; i++) sound &= isfinite(whole->out[i]) != 0;
  return sound;
}

/* The numbers of all rows, for messages. */
static furrow_status gather_numbers(fw_rank_batch *b, const fw_batch_slot *own, furrow_error *err) {
  for (unsigned r = 0; r < b->comm->ranks; r++) b->receive_size[r] = b->parts[r].rows * sizeof(uint64_t);
  FW_TRY(
      b->comm->gather(b->comm, own->number, own->batch->rows * sizeof(uint64_t), b->receive.at, b->receive_size, err));
  const uint64_t *number = b->receive.at;
  for (unsigned r = 0; r < b->comm->ranks; r++)
    for (size_t i = 0; i < b->parts[r].rows; i++) b->whole.number[b->parts[r].row[i]] = *number++;
  return FURROW_OK;
}

/* ---- Dense arrays ---- */

static furrow_status add_dense(fw_rank_batch *b, furrow_error *err) {
  const size_t count = b->sizes.dense;
  if (b->net->parameters->element == sizeof(float)) return fw_comm_sum_f32(b->comm, b->dense, count, err);
  return fw_comm_sum_f64(b->comm, b->dense, count, err);
}

/* ---- Batches one after the other ---- */

/* One batch in flight. In the first phase, the first task fills the following batch, the other tasks are rows. In the
 * last phase, the first task counts the scores if they are wanted, the other tasks are parameters. */
typedef struct flight {
  fw_net_solver *solver;
  fw_rank_batch *batch;
  fw_batch_slot *own, *next; /* batches of this rank */
  const fw_row_source *from;
  const fw_step *step; /* NULL: scoring */
  fw_tally *tally;
  bool counts;          /* each rank computes the terms of its own rows, and all ranks count all rows */
  furrow_status filled; /* how `next` was filled, or `own` before it is begun */
  furrow_error error;
} flight;

static void run_rows(void *context, size_t i) {
  flight *f = context;
  if (i == 0)
    f->filled = fw_batch_slot_fill(f->next, f->from, &f->error);
  else
    fw_batch_slot_rows(f->own, f->step, i - 1);
  if (i > 0 && f->counts) fw_batch_slot_find_terms(f->own, i - 1);
}

static void run_dense(void *context, size_t i) {
  const flight *f = context;
  f->batch->ops->sum_dense(f->solver->net, f->own->pass, f->batch->dense, i);
}

static void run_sums(void *context, size_t i) {
  flight *f = context;
  f->solver->net->ops->sum(f->solver->net, f->batch->whole.pass, i);
}

static void run_parameters(void *context, size_t i) {
  flight *f = context;
  if (i > 0)
    f->solver->net->ops->update(f->solver->net, f->batch->whole.pass, f->step, i - 1);
  else if (f->tally)
    fw_tally_batch(f->tally, &f->batch->whole);
}

/* Makes a batch of all ranks from the rows in `own`. */
static furrow_status begin(flight *f, bool grow, furrow_error *err) {
  if (f->filled != FURROW_OK && err) *err = f->error;
  return begin_rank_batch(f->batch, f->own, f->filled, grow, err);
}

static void swap_slots(flight *f) {
  fw_batch_slot *done = f->own;
  f->own = f->next;
  f->next = done;
}

/* Forward pass, and with a step the backward pass; outputs and gradients go to all ranks. */
static furrow_status pass_rows(flight *f, furrow_error *err) {
  f->own->has_terms = f->counts;
  fw_spin_pool_run(f->solver->pool, 1 + fw_batch_slot_tasks(f->own), run_rows, f);
  FW_TRY(gather_outputs(f->batch, f->own, f->step != NULL, err));
  if (is_sound(f->batch)) return FURROW_OK;
  f->solver->steps->diverged = true;
  FW_TRY(gather_numbers(f->batch, f->own, err));
  double loss;
  const fw_batch_slot *whole = &f->batch->whole;
  return f->step ? fw_batch_slot_loss(whole, &loss, err) : fw_batch_slot_check(whole, err);
}

static furrow_status update_parameters(flight *f, furrow_error *err) {
  fw_net_solver *t = f->solver;
  const fw_pass *pass = f->batch->whole.pass;
  fw_spin_pool_run(t->pool, f->batch->ops->dense_tasks(t->net), run_dense, f);
  FW_TRY(add_dense(f->batch, err));
  fw_spin_pool_run(t->pool, t->net->ops->sum_tasks(pass), run_sums, f);
  fw_spin_pool_run(t->pool, 1 + t->net->ops->update_tasks(t->net, pass), run_parameters, f);
  t->steps->count++;
  return FURROW_OK;
}

static furrow_status update(flight *f, uint32_t epoch, double *loss, furrow_error *err) {
  const fw_step step = fw_train_steps_next(f->solver->steps, &f->solver->plan->train, epoch);
  f->step = &step;
  furrow_status status = pass_rows(f, err);
  if (status == FURROW_OK) status = update_parameters(f, err);
  if (status == FURROW_OK) status = fw_batch_slot_loss(&f->batch->whole, loss, err);
  f->step = NULL;
  return status;
}

furrow_status fw_net_run_ranks(fw_net_solver *solver, const fw_net_job *job, double *loss, furrow_error *err) {
  flight f = {.solver = solver,
              .batch = solver->ranks,
              .own = &solver->slots[0],
              .next = &solver->slots[1],
              .from = job->from,
              .tally = job->train ? job->user : NULL,
              .counts = job->take == fw_tally_batch};
  const fw_batch_slot *whole = &f.batch->whole;
  uint64_t rows = 0;
  f.filled = fw_batch_slot_fill(f.own, f.from, &f.error);
  furrow_status status = begin(&f, job->train, err);
  while (status == FURROW_OK && whole->batch) {
    FW_TRY(job->train ? update(&f, job->epoch, loss, err) : pass_rows(&f, err));
    if (!job->train) job->take(job->user, whole);
    rows += whole->batch->rows;
    if (job->done && f.filled == FURROW_OK) f.filled = job->done(job->done_user, rows, &f.error);
    swap_slots(&f);
    status = begin(&f, job->train, err);
  }
  return status;
}
