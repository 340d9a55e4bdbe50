/* io/string_table.c: a table of texts in a file, with lookups by number and by content. */
#include "io/string_table.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { AT_DIGEST = 0, AT_COUNT = 8, AT_TEXT_BYTES = 16, AT_SLOT_BITS = 24, AT_ZERO = 28, HEADER = 32 };

/* ---- Layout --------------------------------------------------------------------------------------------- */

typedef struct layout {
  size_t text_bytes, slots;                   /* counts */
  size_t at_offsets, at_text, at_slots, size; /* offsets; size is the end */
} layout;

static unsigned slot_bits(size_t count) {
  unsigned bits = 0;
  while (((uint64_t)1 << bits) < 2 * (uint64_t)count) bits++;
  return bits;
}

/* The table has at most FW_STRING_TABLE_MOST texts, and their bytes are in memory, so no sum here overflows. */
static void plan_layout(layout *l, size_t count, uint64_t text_bytes) {
  *l = (layout){.text_bytes = (size_t)text_bytes, .slots = (size_t)1 << slot_bits(count), .at_offsets = HEADER};
  l->at_text = HEADER + 8 * (count + 1);
  l->at_slots = l->at_text + (l->text_bytes + 7) / 8 * 8;
  l->size = l->at_slots + 8 * l->slots;
}

static void set_view(fw_string_table *table, const void *image, size_t count, const layout *l) {
  const unsigned char *bytes = image;
  *table = (fw_string_table){.count = count,
                             .size = l->size,
                             .offsets = bytes + l->at_offsets,
                             .slots = bytes + l->at_slots,
                             .bytes = (const char *)bytes + l->at_text,
                             .mask = l->slots - 1};
}

/* ---- Finding -------------------------------------------------------------------------------------------- */

/* Returns the slot of a text, or the empty slot where it would be. */
static uint64_t find_slot(const fw_string_table *table, uint64_t hash, const void *text, size_t size) {
  const uint32_t tag = (uint32_t)(hash >> 32);
  for (uint64_t at = hash & table->mask;; at = (at + 1) & table->mask) {
    const uint64_t slot = fw_get_le64(table->slots + 8 * at);
    if (slot == 0) return at;
    if ((uint32_t)(slot >> 32) == tag && fw_string_table_is_text(table, (uint32_t)slot - 1, text, size)) return at;
  }
}

size_t fw_string_table_find_hashed(const fw_string_table *table, uint64_t hash, const void *text, size_t size) {
  const uint64_t slot = fw_get_le64(table->slots + 8 * find_slot(table, hash, text, size));
  return slot == 0 ? FW_STRING_TABLE_NONE : (size_t)(uint32_t)slot - 1;
}

/* ---- Building ------------------------------------------------------------------------------------------- */

/* How many texts ahead the slots are prefetched. */
enum { AHEAD = 16 };

/* Fills the slots. Returns the number of the first text that equals an earlier one, or count if all differ. */
static size_t fill_slots(unsigned char *image, const layout *l, const fw_texts *texts, size_t *twin) {
  fw_string_table view;
  uint64_t hashes[AHEAD];
  set_view(&view, image, texts->count, l);
  for (size_t i = 0; i < texts->count + AHEAD; i++) {
    const size_t ready = i - AHEAD; /* was hashed AHEAD texts ago */
    if (i >= AHEAD) {
      size_t size;
      const uint64_t hash = hashes[i % AHEAD];
      const char *text = fw_string_table_text(&view, ready, &size);
      unsigned char *slot = image + l->at_slots + 8 * find_slot(&view, hash, text, size);
      *twin = (uint32_t)fw_get_le64(slot) - 1;
      if (fw_get_le64(slot) != 0) return ready;
      fw_put_le64(slot, (hash >> 32) << 32 | (ready + 1));
    }
    if (i >= texts->count) continue;
    size_t size;
    const char *text = fw_string_table_text(&view, i, &size);
    hashes[i % AHEAD] = fw_string_table_hash(text, size);
    fw_string_table_prefetch(&view, hashes[i % AHEAD]);
  }
  return texts->count;
}

static void put_texts(unsigned char *image, const layout *l, const fw_texts *texts) {
  const uint64_t first = texts->count ? texts->offsets[0] : 0;
  fw_put_le64(image + AT_COUNT, texts->count);
  fw_put_le64(image + AT_TEXT_BYTES, l->text_bytes);
  fw_put_le32(image + AT_SLOT_BITS, slot_bits(texts->count));
  for (size_t i = 0; texts->count && i <= texts->count; i++)
    fw_put_le64(image + l->at_offsets + 8 * i, texts->offsets[i] - first);
  if (l->text_bytes) memcpy(image + l->at_text, texts->bytes + first, l->text_bytes);
}

furrow_status fw_string_table_build(fw_buffer *out, const fw_texts *texts, size_t twins[2], furrow_error *err) {
  const size_t count = texts->count;
  layout l;
  if (count > FW_STRING_TABLE_MOST)
    return fw_fail(err, FURROW_E_RANGE, "a table holds at most %zu texts", FW_STRING_TABLE_MOST);
  plan_layout(&l, count, count ? texts->offsets[count] - texts->offsets[0] : 0);
  FW_TRY(fw_buffer_status(out, err));
  const size_t size = out->size + l.size;
  size_t twin = 0;
  void *bytes = out->bytes;
  FW_TRY(fw_grow(&bytes, &out->capacity, size + 1, 1, err)); /* a buffer has space for a 0 after its bytes */
  out->bytes = bytes;
  unsigned char *image = (unsigned char *)out->bytes + out->size;
  memset(image, 0, l.size);
  put_texts(image, &l, texts);
  const size_t found = fill_slots(image, &l, texts, &twin);
  if (found < count) {
    if (twins) twins[0] = twin, twins[1] = found;
    return fw_fail(err, FURROW_E_EXISTS, "texts %zu and %zu are equal", twin, found);
  }
  fw_put_le64(image + AT_DIGEST, XXH3_64bits(image + 8, l.size - 8));
  out->size = size;
  return FURROW_OK;
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static furrow_status refuse_image(furrow_error *err, size_t offset, const char *what) {
  fw_fail(err, FURROW_E_FORMAT, "the table of texts %s", what);
  if (err) err->offset = offset;
  return FURROW_E_FORMAT;
}

static furrow_status read_header(layout *l, size_t *count, const unsigned char *image, size_t size, furrow_error *err) {
  if (size < HEADER) return refuse_image(err, size, "is cut short");
  const uint64_t texts = fw_get_le64(image + AT_COUNT), bytes = fw_get_le64(image + AT_TEXT_BYTES);
  if (texts > FW_STRING_TABLE_MOST || texts > (size - HEADER) / 8)
    return refuse_image(err, AT_COUNT, "has more texts than bytes for them");
  if (bytes > size) return refuse_image(err, AT_TEXT_BYTES, "has longer texts than bytes for them");
  if (fw_get_le32(image + AT_SLOT_BITS) != slot_bits((size_t)texts))
    return refuse_image(err, AT_SLOT_BITS, "has a wrong number of slots for its count");
  if (fw_get_le32(image + AT_ZERO) != 0) return refuse_image(err, AT_ZERO, "has a byte that is not 0 but must be");
  plan_layout(l, (size_t)texts, bytes);
  if (l->size > size) return refuse_image(err, size, "is cut short");
  if (fw_get_le64(image + AT_DIGEST) != XXH3_64bits(image + 8, l->size - 8))
    return refuse_image(err, AT_DIGEST, "is damaged: its digest does not match");
  *count = (size_t)texts;
  return FURROW_OK;
}

static furrow_status check_offsets(const unsigned char *image, const layout *l, size_t count, furrow_error *err) {
  uint64_t before = 0;
  if (fw_get_le64(image + l->at_offsets) != 0) return refuse_image(err, l->at_offsets, "does not begin with offset 0");
  for (size_t i = 1; i <= count; i++) {
    const uint64_t offset = fw_get_le64(image + l->at_offsets + 8 * i);
    if (offset < before) return refuse_image(err, l->at_offsets + 8 * i, "has offsets that descend");
    before = offset;
  }
  if (before != l->text_bytes) return refuse_image(err, l->at_offsets + 8 * count, "does not end at its last offset");
  for (size_t i = l->at_text + l->text_bytes; i < l->at_slots; i++)
    if (image[i] != 0) return refuse_image(err, i, "has a byte that is not 0 but must be");
  return FURROW_OK;
}

/* The number of used slots equals the number of texts, so at least half of the slots are empty and every lookup
 * ends. */
static furrow_status check_slots(const unsigned char *image, const layout *l, size_t count, furrow_error *err) {
  size_t used = 0;
  for (size_t i = 0; i < l->slots; i++) {
    const uint64_t slot = fw_get_le64(image + l->at_slots + 8 * i);
    if (slot == 0) continue;
    const uint32_t number = (uint32_t)slot;
    if (number == 0 || number > count)
      return refuse_image(err, l->at_slots + 8 * i, "has a slot for a text that it lacks");
    used++;
  }
  return used == count ? FURROW_OK : refuse_image(err, l->at_slots, "does not have one used slot for each text");
}

furrow_status fw_string_table_open(fw_string_table *table, const void *image, size_t size, furrow_error *err) {
  layout l;
  size_t count;
  FW_TRY(read_header(&l, &count, image, size, err));
  FW_TRY(check_offsets(image, &l, count, err));
  FW_TRY(check_slots(image, &l, count, err));
  set_view(table, image, count, &l);
  return FURROW_OK;
}

furrow_status fw_string_table_verify(const fw_string_table *table, furrow_error *err) {
  for (size_t i = 0; i < table->count; i++) {
    size_t size;
    const char *text = fw_string_table_text(table, i, &size);
    if (fw_string_table_find(table, text, size) != i)
      return refuse_image(err, HEADER + 8 * i, "does not find a text under its number");
  }
  return FURROW_OK;
}
