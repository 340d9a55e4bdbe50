/* serve/indexes/fresh_vectors.c: vectors that are not in the index file yet: an append-only store that all views share.
 *
 * A thread that searches may read the following while another thread changes the store:
 *   - entries below view->stored, and everything in them but gone_at, which is atomic: a change sets it to its own
 *   number, which is larger than the number of any older view - slots of the tables: the writer stores an entry after
 *   it is complete (release), a reader loads it (acquire). A
 *     slot may have an entry that is newer than the view; `before` leads from there to older ones of the same key
 *   - hidden ids, likewise: each has the number of the change that hid it
 * Tables grow by copying; a view keeps its own table, which has all of its entries. */
#include "indexes/fresh_vectors.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "core/fail.h"
#include "indexes/attribute_texts.h"

enum {
  CHUNKS = 1 << 16,      /* that a store may have */
  CHUNK_BYTES = 1 << 19, /* of vectors, about */
  TEXT_BYTES = 1 << 16,  /* of names that are allocated together */
  FIRST_SLOTS = 1 << 10
};
static const uint32_t NONE = UINT32_MAX;
static const uint64_t NEVER = UINT64_MAX;

typedef struct fresh_entry {
  int64_t id;
  _Atomic uint64_t gone_at;        /* number of the change that replaced or removed it */
  uint32_t before_id, before_name; /* the entry before it with that id or name */
  uint32_t name_size;
  const char *name;       /* NULL: none */
  const char *attributes; /* NULL: the base has them */
} fresh_entry;

typedef struct fresh_chunk {
  float *vectors;
  fresh_entry entries[];
} fresh_chunk;

/* Open addressing: a slot has the newest entry of its key plus 1, or 0. */
typedef struct fresh_table {
  struct fresh_table *smaller; /* for views that are older */
  uint64_t seed;
  size_t used, mask;
  _Atomic uint32_t slots[];
} fresh_table;

typedef struct fresh_text {
  struct fresh_text *next;
  char bytes[];
} fresh_text;

typedef struct hidden_id {
  _Atomic uint64_t id;   /* plus 1; 0: the slot is empty */
  uint64_t hidden_since; /* number of the change */
} hidden_id;

/* Hash table of the base's ids that are hidden; they stay hidden. */
typedef struct fresh_hidden {
  struct fresh_hidden *smaller;
  uint64_t seed;
  size_t used, mask;
  hidden_id slots[];
} fresh_hidden;

/* Owned by the writer and all views together. */
typedef struct fresh_store {
  shared shared;
  uint32_t d;
  bool is_ip, normalizes;
  unsigned chunk_bits; /* log2 of the entries of a chunk */
  fresh_table *by_id, *by_name;
  fresh_hidden *hidden;
  fresh_text *texts;
  fresh_chunk *chunks[CHUNKS];
} fresh_store;

struct fresh_vectors {
  fresh_store *store;
  uint64_t version;
  size_t stored, count;
  size_t text_left; /* bytes of the first of texts that are free */
  char *text_at;
  uint64_t bytes;
};

/* ---- Entries ---- */

static fresh_entry *entry_at(const fresh_store *store, uint32_t at) {
  return &store->chunks[at >> store->chunk_bits]->entries[at & ((1U << store->chunk_bits) - 1)];
}

static float *vector_at(const fresh_store *store, uint32_t at) {
  return store->chunks[at >> store->chunk_bits]->vectors + (at & ((1U << store->chunk_bits) - 1)) * (size_t)store->d;
}

static bool is_seen(const fresh_entry *entry, uint64_t version) {
  return atomic_load_explicit(&entry->gone_at, memory_order_relaxed) > version;
}

/* ---- Distances ---- */

/* Sixteen partial sums, which compilers keep in vector registers. */
static float square_distance(const float *a, const float *b, size_t d) {
  float sums[16] = {0};
  size_t i = 0;
  for (; i + 16 <= d; i += 16)
    for (size_t j = 0; j < 16; j++) {
      const float difference = a[i + j] - b[i + j];
      sums[j] += difference * difference;
    }
  for (; i < d; i++) sums[i % 16] += (a[i] - b[i]) * (a[i] - b[i]);
  for (size_t step = 8; step > 0; step /= 2)
    for (size_t j = 0; j < step; j++) sums[j] += sums[j + step];
  return sums[0];
}

static float inner_product(const float *a, const float *b, size_t d) {
  float sums[16] = {0};
  size_t i = 0;
  for (; i + 16 <= d; i += 16)
    for (size_t j = 0; j < 16; j++) sums[j] += a[i + j] * b[i + j];
  for (; i < d; i++) sums[i % 16] += a[i] * b[i];
  for (size_t step = 8; step > 0; step /= 2)
    for (size_t j = 0; j < step; j++) sums[j] += sums[j + step];
  return sums[0];
}

/* Scales as the index does. */
static void scale_to_unit(float *vector, size_t d) {
  const float square = inner_product(vector, vector, d);
  const float factor = square > 0 ? 1.0F / sqrtf(square) : 1.0F;
  for (size_t i = 0; i < d; i++) vector[i] *= factor;
}

/* ---- Tables ---- */

static uint64_t hash_word(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdU;
  return hash ^ hash >> 32;
}

static uint64_t hash_id(uint64_t seed, int64_t id) {
  return hash_word(hash_word(seed, (uint64_t)id), 0x9e3779b97f4a7c15U);
}

static uint64_t hash_name(const fresh_table *table, const char *name, size_t size) {
  uint64_t hash = hash_word(table->seed, size);
  for (; size >= 8; size -= 8, name += 8) {
    uint64_t word;
    memcpy(&word, name, sizeof word);
    hash = hash_word(hash, word);
  }
  uint64_t rest = 0;
  memcpy(&rest, name, size);
  return hash_word(hash_word(hash, rest), 0x9e3779b97f4a7c15U);
}

/* Returns the slot of an id, or the empty slot where it would be stored. */
static size_t find_id(const fresh_store *store, const fresh_table *table, int64_t id, uint32_t *entry) {
  for (size_t at = hash_id(table->seed, id) & table->mask;; at = (at + 1) & table->mask) {
    const uint32_t held = atomic_load_explicit(&table->slots[at], memory_order_acquire);
    *entry = held - 1;
    if (held == 0 || entry_at(store, held - 1)->id == id) return at;
  }
}

static size_t find_name(const fresh_store *store, const fresh_table *table, const char *name, size_t size,
                        uint32_t *entry) {
  for (size_t at = hash_name(table, name, size) & table->mask;; at = (at + 1) & table->mask) {
    const uint32_t held = atomic_load_explicit(&table->slots[at], memory_order_acquire);
    *entry = held - 1;
    if (held == 0) return at;
    const fresh_entry *found = entry_at(store, held - 1);
    if (found->name_size == size && memcmp(found->name, name, size) == 0) return at;
  }
}

static void store_entry(fresh_table *table, size_t at, uint32_t entry) {
  if (atomic_load_explicit(&table->slots[at], memory_order_relaxed) == 0) table->used++;
  atomic_store_explicit(&table->slots[at], entry + 1, memory_order_release);
}

/* A random seed keeps clients from choosing ids or names that collide in one slot. */
static uint64_t draw_seed(const void *place) {
  uint64_t seed;
  return getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed ? seed : (uint64_t)(uintptr_t)place;
}

static fresh_table *make_table(size_t slots, uint64_t *memory) {
  fresh_table *table = calloc(1, sizeof *table + slots * sizeof *table->slots);
  if (!table) return NULL;
  table->mask = slots - 1;
  table->seed = draw_seed(table);
  *memory += sizeof *table + slots * sizeof *table->slots;
  return table;
}

static void free_tables(fresh_table *table) {
  while (table) {
    fresh_table *smaller = table->smaller;
    free(table);
    table = smaller;
  }
}

/* Makes space for n more keys: at least half of the slots stay empty. */
static furrow_status grow_table(fresh_vectors *fresh, fresh_table **table, bool by_name, size_t n, furrow_error *err) {
  const fresh_store *store = fresh->store;
  fresh_table *old = *table;
  size_t slots = old->mask + 1;
  while (slots / 2 < old->used + n) slots *= 2;
  if (slots == old->mask + 1) return FURROW_OK;
  fresh_table *grown = make_table(slots, &fresh->bytes);
  if (!grown) return fail_memory(err);
  for (size_t i = 0; i <= old->mask; i++) {
    const uint32_t held = atomic_load_explicit(&old->slots[i], memory_order_relaxed);
    if (held == 0) continue;
    const fresh_entry *entry = entry_at(store, held - 1);
    uint32_t none;
    store_entry(grown,
                by_name ? find_name(store, grown, entry->name, entry->name_size, &none)
                        : find_id(store, grown, entry->id, &none),
                held - 1);
  }
  grown->smaller = old;
  *table = grown;
  return FURROW_OK;
}

/* ---- Hidden ids ---- */

static fresh_hidden *make_hidden(size_t slots, uint64_t *memory) {
  fresh_hidden *hidden = calloc(1, sizeof *hidden + slots * sizeof *hidden->slots);
  if (!hidden) return NULL;
  hidden->mask = slots - 1;
  hidden->seed = draw_seed(hidden);
  *memory += sizeof *hidden + slots * sizeof *hidden->slots;
  return hidden;
}

static void free_hidden(fresh_hidden *hidden) {
  while (hidden) {
    fresh_hidden *smaller = hidden->smaller;
    free(hidden);
    hidden = smaller;
  }
}

/* Returns the slot of an id, or the empty slot where it would be stored. */
static size_t find_hidden(const fresh_hidden *hidden, int64_t id) {
  for (size_t at = hash_id(hidden->seed, id) & hidden->mask;; at = (at + 1) & hidden->mask) {
    const uint64_t held = atomic_load_explicit(&hidden->slots[at].id, memory_order_acquire);
    if (held == 0 || held == (uint64_t)id + 1) return at;
  }
}

static bool is_hidden(const fresh_hidden *hidden, int64_t id, uint64_t version) {
  const hidden_id *found = &hidden->slots[find_hidden(hidden, id)];
  return atomic_load_explicit(&found->id, memory_order_acquire) != 0 && found->hidden_since <= version;
}

static void hide(fresh_hidden *hidden, int64_t id, uint64_t version) {
  hidden_id *place = &hidden->slots[find_hidden(hidden, id)];
  if (atomic_load_explicit(&place->id, memory_order_relaxed) != 0) return;
  place->hidden_since = version;
  atomic_store_explicit(&place->id, (uint64_t)id + 1, memory_order_release);
  hidden->used++;
}

static furrow_status grow_hidden(fresh_vectors *fresh, size_t n, furrow_error *err) {
  fresh_hidden *old = fresh->store->hidden;
  size_t slots = old->mask + 1;
  while (slots / 2 < old->used + n) slots *= 2;
  if (slots == old->mask + 1) return FURROW_OK;
  fresh_hidden *grown = make_hidden(slots, &fresh->bytes);
  if (!grown) return fail_memory(err);
  for (size_t i = 0; i <= old->mask; i++) {
    const uint64_t held = atomic_load_explicit(&old->slots[i].id, memory_order_relaxed);
    if (held != 0) hide(grown, (int64_t)(held - 1), old->slots[i].hidden_since);
  }
  grown->smaller = old;
  fresh->store->hidden = grown;
  return FURROW_OK;
}

/* ---- The store ---- */

static void free_store(shared *self) {
  fresh_store *store = (fresh_store *)self;
  for (size_t i = 0; i < CHUNKS && store->chunks[i]; i++) {
    free(store->chunks[i]->vectors);
    free(store->chunks[i]);
  }
  while (store->texts) {
    fresh_text *next = store->texts->next;
    free(store->texts);
    store->texts = next;
  }
  free_tables(store->by_id);
  free_tables(store->by_name);
  free_hidden(store->hidden);
  free(store);
}

static unsigned choose_chunk_bits(uint32_t d) {
  unsigned bits = 4;
  while (bits < 10 && ((size_t)4 * d << (bits + 1)) <= CHUNK_BYTES) bits++;
  return bits;
}

furrow_status fresh_vectors_create(fresh_vectors **fresh, uint32_t d, furrow_distance_metric metric, bool normalizes,
                                   furrow_error *err) {
  if (metric != FURROW_METRIC_L2 && metric != FURROW_METRIC_IP)
    return fail(err, FURROW_E_UNSUPPORTED,
                "vectors cannot be added to an index whose metric is neither L2 nor inner product");
  if (d == 0 || d > INT32_MAX) return fail(err, FURROW_E_ARGUMENT, "vectors of %u numbers", (unsigned)d);
  fresh_vectors *made = calloc(1, sizeof *made);
  fresh_store *store = calloc(1, sizeof *store);
  if (!made || !store) {
    free(made);
    free(store);
    return fail_memory(err);
  }
  shared_init(&store->shared, free_store);
  store->d = d;
  store->normalizes = normalizes;
  store->is_ip = metric == FURROW_METRIC_IP;
  store->chunk_bits = choose_chunk_bits(d);
  made->store = store;
  made->bytes = sizeof *made + sizeof *store;
  store->hidden = make_hidden(FIRST_SLOTS, &made->bytes);
  store->by_id = make_table(FIRST_SLOTS, &made->bytes);
  store->by_name = make_table(FIRST_SLOTS, &made->bytes);
  if (!store->hidden || !store->by_id || !store->by_name) {
    fresh_vectors_free(made);
    return fail_memory(err);
  }
  *fresh = made;
  return FURROW_OK;
}

void fresh_vectors_free(fresh_vectors *fresh) {
  if (!fresh) return;
  shared_release(&fresh->store->shared);
  free(fresh);
}

uint64_t fresh_vectors_memory(const fresh_vectors *fresh) {
  return fresh->bytes;
}

/* ---- Views ---- */

static void free_view(shared *self) {
  fresh_view *view = (fresh_view *)self;
  furrow_attributes_free(atomic_load_explicit(&view->attributes, memory_order_acquire));
  shared_release(&view->store->shared);
  free(view);
}

static void fill_view(const fresh_vectors *fresh, fresh_view *view) {
  shared_init(&view->shared, free_view);
  shared_keep(&fresh->store->shared);
  view->store = fresh->store;
  view->hidden = fresh->store->hidden;
  view->hidden_count = fresh->store->hidden->used;
  view->count = fresh->count;
  view->stored = fresh->stored;
  view->version = fresh->version;
  view->by_id = fresh->store->by_id;
  view->by_name = fresh->store->by_name;
  atomic_init(&view->attributes, NULL);
}

furrow_status fresh_vectors_view(const fresh_vectors *fresh, fresh_view **view, furrow_error *err) {
  fresh_view *made = malloc(sizeof *made);
  if (!made) return fail_memory(err);
  fill_view(fresh, made);
  *view = made;
  return FURROW_OK;
}

static const fresh_entry *seen_entry(const fresh_view *view, uint32_t at, bool by_name, uint32_t *found) {
  while (at != NONE) {
    const fresh_entry *entry = entry_at(view->store, at);
    *found = at;
    if (at < view->stored && is_seen(entry, view->version)) return entry;
    at = by_name ? entry->before_name : entry->before_id;
  }
  return NULL;
}

static const fresh_entry *entry_of_id(const fresh_view *view, int64_t id, uint32_t *at) {
  uint32_t newest;
  find_id(view->store, view->by_id, id, &newest);
  return seen_entry(view, newest, false, at);
}

const float *fresh_view_vector(const fresh_view *view, int64_t id) {
  uint32_t at;
  return entry_of_id(view, id, &at) ? vector_at(view->store, at) : NULL;
}

bool fresh_view_get(const fresh_view *view, int64_t id, fresh_item *item) {
  uint32_t at;
  const fresh_entry *entry = entry_of_id(view, id, &at);
  if (entry) *item = (fresh_item){entry->id, vector_at(view->store, at), entry->name, entry->attributes};
  return entry != NULL;
}

const char *fresh_view_name(const fresh_view *view, int64_t id, size_t *size) {
  uint32_t at;
  const fresh_entry *entry = entry_of_id(view, id, &at);
  if (!entry || !entry->name) return NULL;
  *size = entry->name_size;
  return entry->name;
}

bool fresh_view_find(const fresh_view *view, const char *name, size_t size, int64_t *id) {
  uint32_t at;
  find_name(view->store, view->by_name, name, size, &at);
  const fresh_entry *entry = seen_entry(view, at, true, &at);
  if (entry) *id = entry->id;
  return entry != NULL;
}

bool fresh_view_hides(const fresh_view *view, int64_t id) {
  return view->hidden_count > 0 && is_hidden(view->hidden, id, view->version);
}

bool fresh_view_next_hidden(const fresh_view *view, size_t *at, int64_t *id) {
  while (*at <= view->hidden->mask) {
    const hidden_id *place = &view->hidden->slots[(*at)++];
    const uint64_t held = atomic_load_explicit(&place->id, memory_order_acquire);
    if (held == 0 || place->hidden_since > view->version) continue;
    *id = (int64_t)(held - 1);
    return true;
  }
  return false;
}

bool fresh_view_next(const fresh_view *view, size_t *at, fresh_item *item) {
  for (; *at < view->stored; ++*at) {
    const uint32_t entry_number = (uint32_t)*at;
    const fresh_entry *entry = entry_at(view->store, entry_number);
    if (!is_seen(entry, view->version)) continue;
    *item = (fresh_item){entry->id, vector_at(view->store, entry_number), entry->name, entry->attributes};
    ++*at;
    return true;
  }
  return false;
}

int64_t fresh_view_stored_id(const fresh_view *view, size_t at) {
  return entry_at(view->store, (uint32_t)at)->id;
}

/* ---- Attributes ---- */

/* Lists the ids of a view and their attributes as texts; `rows` takes those that come from the base. */
static size_t list_texts(const fresh_view *view, const furrow_attributes *base, int64_t *ids, size_t *offsets,
                         const char **texts, fw_buffer *rows) {
  fresh_item item;
  size_t n = 0;
  for (size_t at = 0; n < view->count && fresh_view_next(view, &at, &item); n++) {
    ids[n] = item.id;
    texts[n] = item.attributes;
    offsets[n] = rows->size;
    if (item.attributes) continue;
    attribute_text_put(rows, base, item.id);
    fw_buffer_append(rows, "", 1);
  }
  for (size_t i = 0; i < n; i++)
    if (!texts[i]) texts[i] = rows->bytes + offsets[i];
  return n;
}

static furrow_status make_attributes(const fresh_view *view, const furrow_attributes *base, furrow_attributes **made,
                                     furrow_error *err) {
  fw_buffer rows = {0};
  int64_t *ids = malloc((view->count + 1) * sizeof *ids);
  size_t *offsets = malloc((view->count + 1) * sizeof *offsets);
  const char **texts = malloc((view->count + 1) * sizeof *texts);
  furrow_status status = ids && offsets && texts ? FURROW_OK : fail_memory(err);
  if (status == FURROW_OK) {
    const size_t n = list_texts(view, base, ids, offsets, texts, &rows);
    status = rows.missing ? fail_memory(err) : furrow_attributes_create(made, err);
    if (status == FURROW_OK) status = attribute_texts_set(*made, base, ids, texts, n, err);
  }
  free(ids);
  free(offsets);
  free(texts);
  fw_buffer_clear(&rows);
  return status;
}

/* Several searches may make them at once; the first that is done counts. */
furrow_status fresh_view_attributes(const fresh_view *view, const furrow_attributes *base,
                                    const furrow_attributes **attributes, furrow_error *err) {
  _Atomic(furrow_attributes *) *held = (_Atomic(furrow_attributes *) *)&view->attributes;
  furrow_attributes *made = atomic_load_explicit(held, memory_order_acquire), *none = NULL;
  *attributes = made;
  if (made) return FURROW_OK;
  const furrow_status status = make_attributes(view, base, &made, err);
  if (status != FURROW_OK) {
    furrow_attributes_free(made);
    return status;
  }
  *attributes = made;
  if (!atomic_compare_exchange_strong(held, &none, made)) {
    furrow_attributes_free(made);
    *attributes = none;
  }
  return FURROW_OK;
}

/* ---- Changes ---- */

static furrow_status reserve_chunks(fresh_vectors *fresh, size_t n, furrow_error *err) {
  fresh_store *store = fresh->store;
  const size_t entries = (size_t)1 << store->chunk_bits;
  const size_t needed = (fresh->stored + n + entries - 1) >> store->chunk_bits;
  if (needed > CHUNKS) return fail(err, FURROW_E_MEMORY, "too many vectors wait for the next checkpoint");
  for (size_t i = fresh->stored >> store->chunk_bits; i < needed; i++) {
    if (store->chunks[i]) continue;
    fresh_chunk *chunk = malloc(sizeof *chunk + entries * sizeof *chunk->entries);
    float *vectors = aligned_alloc(64, (entries * store->d * sizeof *vectors + 63) & ~(size_t)63);
    if (!chunk || !vectors) {
      free(chunk);
      free(vectors);
      return fail_memory(err);
    }
    chunk->vectors = vectors;
    store->chunks[i] = chunk;
    fresh->bytes += sizeof *chunk + entries * (sizeof *chunk->entries + store->d * sizeof *vectors);
  }
  return FURROW_OK;
}

/* Makes space for the names and attributes of a change, one after the other. */
static furrow_status reserve_text(fresh_vectors *fresh, const index_change *change, furrow_error *err) {
  size_t size = 0;
  for (size_t i = 0; change->names && i < change->n; i++) size += strlen(change->names[i]) + 1;
  for (size_t i = 0; change->attributes && i < change->n; i++) size += strlen(change->attributes[i]) + 1;
  if (size <= fresh->text_left) return FURROW_OK;
  const size_t capacity = size > TEXT_BYTES ? size : TEXT_BYTES;
  fresh_text *text = malloc(sizeof *text + capacity);
  if (!text) return fail_memory(err);
  text->next = fresh->store->texts;
  fresh->store->texts = text;
  fresh->text_at = text->bytes;
  fresh->text_left = capacity;
  fresh->bytes += sizeof *text + capacity;
  return FURROW_OK;
}

static const char *keep_text(fresh_vectors *fresh, const char *text, size_t size) {
  char *kept = fresh->text_at;
  memcpy(kept, text, size + 1);
  fresh->text_at += size + 1;
  fresh->text_left -= size + 1;
  return kept;
}

static void set_name(fresh_vectors *fresh, uint32_t at, const char *name) {
  fresh_entry *entry = entry_at(fresh->store, at);
  fresh_table *table = fresh->store->by_name;
  const size_t size = strlen(name);
  entry->name = keep_text(fresh, name, size);
  entry->name_size = (uint32_t)size;
  const size_t slot_number = find_name(fresh->store, table, name, size, &entry->before_name);
  store_entry(table, slot_number, at);
}

/* Removes the newest entry of an id, if it still exists. */
static void remove_entry(fresh_vectors *fresh, uint32_t newest) {
  if (newest == NONE) return;
  fresh_entry *entry = entry_at(fresh->store, newest);
  if (!is_seen(entry, fresh->version)) return;
  atomic_store_explicit(&entry->gone_at, fresh->version, memory_order_relaxed);
  fresh->count--;
}

static void set_entry(fresh_vectors *fresh, int64_t id, const float *vector, const char *name, const char *attributes) {
  const fresh_store *store = fresh->store;
  const uint32_t at = (uint32_t)fresh->stored++;
  fresh_entry *entry = entry_at(store, at);
  entry->id = id;
  atomic_init(&entry->gone_at, NEVER);
  entry->name = NULL;
  entry->name_size = 0;
  entry->before_name = NONE;
  entry->attributes = attributes ? keep_text(fresh, attributes, strlen(attributes)) : NULL;
  memcpy(vector_at(store, at), vector, store->d * sizeof *vector);
  if (store->normalizes) scale_to_unit(vector_at(store, at), store->d);
  const size_t slot_number = find_id(store, store->by_id, id, &entry->before_id);
  remove_entry(fresh, entry->before_id);
  if (name) set_name(fresh, at, name);
  store_entry(store->by_id, slot_number, at);
  fresh->count++;
}

static void change_entries(fresh_vectors *fresh, const index_change *change, fresh_is_in_base is_in_base, void *user) {
  fresh_store *store = fresh->store;
  fresh->version++;
  for (size_t i = 0; i < change->n; i++) {
    const int64_t id = change->ids[i];
    uint32_t newest;
    if (is_in_base(user, id)) hide(store->hidden, id, fresh->version);
    if (change->kind == CHANGE_SET) {
      set_entry(fresh, id, change->vectors + i * store->d, change->names ? change->names[i] : NULL,
                change->attributes ? change->attributes[i] : NULL);
    } else {
      find_id(store, store->by_id, id, &newest);
      remove_entry(fresh, newest);
    }
  }
}

static furrow_status reserve_set(fresh_vectors *fresh, const index_change *change, furrow_error *err) {
  FW_TRY(reserve_chunks(fresh, change->n, err));
  FW_TRY(grow_table(fresh, &fresh->store->by_id, false, change->n, err));
  if (change->names || change->attributes) FW_TRY(reserve_text(fresh, change, err));
  return change->names ? grow_table(fresh, &fresh->store->by_name, true, change->n, err) : FURROW_OK;
}

/* Reserves all memory before anything is changed. */
furrow_status fresh_vectors_apply(fresh_vectors *fresh, const index_change *change, fresh_is_in_base is_in_base,
                                  void *user, fresh_view **view, furrow_error *err) {
  if (change->kind == CHANGE_SET) FW_TRY(reserve_set(fresh, change, err));
  FW_TRY(grow_hidden(fresh, change->n, err));
  fresh_view *made = view ? malloc(sizeof *made) : NULL;
  if (view && !made) return fail_memory(err);
  change_entries(fresh, change, is_in_base, user);
  if (!view) return FURROW_OK;
  fill_view(fresh, made);
  *view = made;
  return FURROW_OK;
}

/* ---- After a checkpoint ---- */

/* Lists the ids whose last change came after a view and removed them. Returns their number. */
static size_t list_removed(const fresh_vectors *fresh, const fresh_view *now, const fresh_view *since, int64_t *ids) {
  size_t n = 0;
  uint32_t at;
  for (size_t i = 0; i < fresh->stored; i++) {
    const fresh_entry *entry = entry_at(fresh->store, (uint32_t)i);
    const uint64_t gone_at = atomic_load_explicit(&entry->gone_at, memory_order_relaxed);
    if (gone_at != NEVER && gone_at > since->version && !entry_of_id(now, entry->id, &at)) ids[n++] = entry->id;
  }
  int64_t id;
  for (size_t i = 0; fresh_view_next_hidden(now, &i, &id);)
    if (!fresh_view_hides(since, id) && !entry_of_id(now, id, &at)) ids[n++] = id;
  return n;
}

static furrow_status rebase(const fresh_view *now, const fresh_view *since, fresh_vectors *rebased, int64_t *removed,
                            size_t removed_count, fresh_is_in_base is_in_base, void *user, furrow_error *err) {
  const index_change removal = {.kind = CHANGE_REMOVE, .n = removed_count, .ids = removed};
  if (removed_count > 0) FW_TRY(fresh_vectors_apply(rebased, &removal, is_in_base, user, NULL, err));
  fresh_item item;
  for (size_t at = since->stored; fresh_view_next(now, &at, &item);) {
    const index_change change = {.kind = CHANGE_SET,
                                 .n = 1,
                                 .ids = &item.id,
                                 .vectors = item.vector,
                                 .names = item.name ? &item.name : NULL,
                                 .attributes = item.attributes ? &item.attributes : NULL};
    FW_TRY(fresh_vectors_apply(rebased, &change, is_in_base, user, NULL, err));
  }
  return FURROW_OK;
}

furrow_status fresh_vectors_rebase(const fresh_vectors *fresh, const fresh_view *since, fresh_is_in_base is_in_base,
                                   void *user, fresh_vectors **rebased, furrow_error *err) {
  const fresh_store *store = fresh->store;
  fresh_view *now = NULL;
  fresh_vectors *made = NULL;
  int64_t *removed = malloc((fresh->stored + store->hidden->used + 1) * sizeof *removed);
  furrow_status status = removed ? fresh_vectors_view(fresh, &now, err) : fail_memory(err);
  if (status == FURROW_OK)
    status = fresh_vectors_create(&made, store->d, store->is_ip ? FURROW_METRIC_IP : FURROW_METRIC_L2, false, err);
  if (status == FURROW_OK) {
    const size_t n = list_removed(fresh, now, since, removed);
    status = rebase(now, since, made, removed, n, is_in_base, user, err);
    made->store->normalizes = store->normalizes; /* what was copied has unit length already */
  }
  if (now) shared_release(&now->shared);
  free(removed);
  if (status == FURROW_OK)
    *rebased = made;
  else
    fresh_vectors_free(made);
  return status;
}

/* ---- After changes that could not be logged ---- */

/* Lists the ids that a view has removed. Ids of vectors that were fresh count as well: see fresh_view_stored_id. */
static size_t list_gone(const fresh_view *view, int64_t *ids) {
  size_t n = 0;
  uint32_t found;
  int64_t id;
  for (size_t at = 0; at < view->stored; at++)
    if (!entry_of_id(view, fresh_view_stored_id(view, at), &found)) ids[n++] = fresh_view_stored_id(view, at);
  for (size_t at = 0; fresh_view_next_hidden(view, &at, &id);)
    if (!entry_of_id(view, id, &found)) ids[n++] = id;
  return n;
}

/* Stores all vectors in the order of their changes, replaced ones included. */
static furrow_status copy_view(const fresh_view *view, fresh_vectors *copy, int64_t *gone, fresh_is_in_base is_in_base,
                               void *user, furrow_error *err) {
  for (size_t at = 0; at < view->stored; at++) {
    const fresh_entry *entry = entry_at(view->store, (uint32_t)at);
    const index_change change = {.kind = CHANGE_SET,
                                 .n = 1,
                                 .ids = &entry->id,
                                 .vectors = vector_at(view->store, (uint32_t)at),
                                 .names = entry->name ? &entry->name : NULL,
                                 .attributes = entry->attributes ? &entry->attributes : NULL};
    FW_TRY(fresh_vectors_apply(copy, &change, is_in_base, user, NULL, err));
  }
  const index_change removal = {.kind = CHANGE_REMOVE, .n = list_gone(view, gone), .ids = gone};
  return removal.n > 0 ? fresh_vectors_apply(copy, &removal, is_in_base, user, NULL, err) : FURROW_OK;
}

furrow_status fresh_vectors_restore(const fresh_view *view, fresh_is_in_base is_in_base, void *user,
                                    fresh_vectors **restored, furrow_error *err) {
  const fresh_store *store = view->store;
  fresh_vectors *made = NULL;
  int64_t *gone = malloc((view->stored + view->hidden_count + 1) * sizeof *gone);
  furrow_status status = gone ? FURROW_OK : fail_memory(err);
  if (status == FURROW_OK)
    status = fresh_vectors_create(&made, store->d, store->is_ip ? FURROW_METRIC_IP : FURROW_METRIC_L2, false, err);
  if (status == FURROW_OK) {
    status = copy_view(view, made, gone, is_in_base, user, err);
    made->store->normalizes = store->normalizes; /* what was copied has unit length already */
  }
  free(gone);
  if (status == FURROW_OK)
    *restored = made;
  else
    fresh_vectors_free(made);
  return status;
}

/* ---- Searching ---- */

/* Whether (distance, id) comes before an entry of a row of results; an entry with id -1 is empty. */
static bool comes_before(bool is_ip, float distance, int64_t id, float other, int64_t other_id) {
  if (other_id < 0) return true;
  if (distance == other) return is_ip ? id > other_id : id < other_id;
  return is_ip ? distance > other : distance < other;
}

static void insert(bool is_ip, float distance, int64_t id, size_t k, float *distances, int64_t *ids) {
  if (!comes_before(is_ip, distance, id, distances[k - 1], ids[k - 1])) return;
  size_t first = 0, end = k - 1;
  while (first < end) {
    const size_t middle = first + (end - first) / 2;
    if (comes_before(is_ip, distance, id, distances[middle], ids[middle]))
      end = middle;
    else
      first = middle + 1;
  }
  memmove(distances + first + 1, distances + first, (k - 1 - first) * sizeof *distances);
  memmove(ids + first + 1, ids + first, (k - 1 - first) * sizeof *ids);
  distances[first] = distance;
  ids[first] = id;
}

static void search(const fresh_view *view, const float *queries, size_t n, size_t k, const furrow_id_filter *filter,
                   float *distances, int64_t *ids) {
  const bool is_ip = view->store->is_ip;
  const size_t d = view->store->d;
  fresh_item item;
  for (size_t at = 0; k > 0 && fresh_view_next(view, &at, &item);) {
    if (filter && !furrow_id_filter_keeps(filter, item.id)) continue;
    for (size_t q = 0; q < n; q++) {
      const float *query = queries + q * d;
      const float distance = is_ip ? inner_product(query, item.vector, d) : square_distance(query, item.vector, d);
      /* A distance that is too large for a float is not a result, as in furrow_searcher_search. */
      if (distance >= -FLT_MAX && distance <= FLT_MAX)
        insert(is_ip, distance, item.id, k, distances + q * k, ids + q * k);
    }
  }
}

furrow_status fresh_view_search(const fresh_view *view, const float *queries, size_t n, size_t k,
                                const furrow_id_filter *filter, float *distances, int64_t *ids, furrow_error *err) {
  const size_t d = view->store->d;
  float *scaled = NULL;
  if (view->store->normalizes) {
    scaled = malloc((n * d + 1) * sizeof *scaled);
    if (!scaled) return fail_memory(err);
    memcpy(scaled, queries, n * d * sizeof *scaled);
    for (size_t q = 0; q < n; q++) scale_to_unit(scaled + q * d, d);
  }
  search(view, scaled ? scaled : queries, n, k, filter, distances, ids);
  free(scaled);
  return FURROW_OK;
}
