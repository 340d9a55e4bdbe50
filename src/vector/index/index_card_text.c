/* vector/index/index_card_text.c: the file of a card: JSON whose last member is a digest of the bytes before it.
 * docs/formats/index_card.md describes it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "base/number_out.h"
#include "vector/index/index_card.h"

#define VERSION 1
#define MAGIC "{\"card\":"
static const char digest_key[] = ",\n\"digest\": \"";
enum { HEX = 16, ENDING = HEX + 3 /* "} and the line end */ };

/* ---- Writing -------------------------------------------------------------------------------------------- */

static void put_real(fw_buffer *text, double value) {
  char number[FURROW_JSON_NUMBER_TEXT];
  fw_buffer_append(text, number, furrow_json_write_f64(number, value));
}

static void put_part(fw_buffer *text, const char *name, const fw_card_part *part) {
  const char *between = "";
  fw_buffer_format(text, "\"%s\": {\"vectors\": %" PRIu64 ", \"digest\": \"%016" PRIx64 "\", \"distances\": [", name,
                   part->vectors, part->digest);
  for (size_t i = 0; i < FW_CARD_BINS; i++) {
    if (part->bins[i] == 0) continue;
    fw_buffer_format(text, "%s[", between);
    put_real(text, (double)fw_card_bin_start(i));
    fw_buffer_format(text, ",%" PRIu64 "]", part->bins[i]);
    between = ",";
  }
  fw_buffer_text(text, "]},\n");
}

static void put_recall(fw_buffer *text, const fw_card_recall *recall) {
  if (isnan(recall->recall)) {
    fw_buffer_text(text, "\"recall\": null");
    return;
  }
  fw_buffer_text(text, "\"recall\": {\"share\": ");
  put_real(text, recall->recall);
  fw_buffer_format(text, ", \"k\": %" PRIu64 ", \"queries\": %" PRIu64 ", \"vectors\": %" PRIu64 "}", recall->k,
                   recall->queries, recall->vectors);
}

furrow_status fw_card_write(const fw_card *card, const fw_index_stamp *stamp, fw_buffer *text, furrow_error *err) {
  fw_buffer_format(
      text, MAGIC " %d,\n\"index\": {\"bytes\": %" PRIu64 ", \"digest\": \"%016" PRIx64 "\"},\n\"factory\": ", VERSION,
      stamp->size, stamp->digest);
  fw_buffer_json_string(text, card->factory, strlen(card->factory), false);
  fw_buffer_text(text, ",\n");
  put_part(text, "built", &card->built);
  put_part(text, "added", &card->added);
  fw_buffer_format(text, "\"removed\": %" PRIu64 ",\n", card->removed);
  put_recall(text, &card->recall);
  FW_TRY(fw_buffer_status(text, err));
  const uint64_t digest = XXH3_64bits(text->bytes, text->size);
  fw_buffer_format(text, "%s%016" PRIx64 "\"}\n", digest_key, digest);
  return fw_buffer_status(text, err);
}

static furrow_status write_object(const void *object, const fw_index_stamp *stamp, fw_buffer *text, furrow_error *err) {
  return fw_card_write(object, stamp, text, err);
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

typedef furrow_status (*member_reader)(furrow_json *json, void *to, furrow_error *err);

/* A member of an object. All must be there, in this order. */
typedef struct member {
  const char *key;
  member_reader read;
  void *to;
} member;

static furrow_status read_members(furrow_json *json, const member *members, size_t count, furrow_error *err) {
  furrow_json_text key;
  FW_TRY(furrow_json_object(json, err));
  for (size_t i = 0; i < count; i++) {
    const furrow_status status = furrow_json_member(json, &key, err);
    if (status != FURROW_OK && status != FURROW_END) return status;
    if (status == FURROW_END || !furrow_json_is(key, members[i].key))
      return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "must have \"%s\" here", members[i].key);
    FW_TRY(members[i].read(json, members[i].to, err));
  }
  const furrow_status status = furrow_json_member(json, &key, err);
  if (status == FURROW_END) return FURROW_OK;
  if (status != FURROW_OK) return status;
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a part of a card");
}
#define READ_MEMBERS(json, members, err) read_members(json, members, sizeof(members) / sizeof *(members), err)

static furrow_status read_count(furrow_json *json, void *to, furrow_error *err) {
  int64_t number;
  FW_TRY(furrow_json_i64(json, &number, err));
  if (number < 0) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is negative");
  *(uint64_t *)to = (uint64_t)number;
  return FURROW_OK;
}

static furrow_status read_version(furrow_json *json, void *to, furrow_error *err) {
  (void)to;
  uint64_t version;
  FW_TRY(read_count(json, &version, err));
  if (version == VERSION) return FURROW_OK;
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is a version that this release does not read");
}

static furrow_status read_digest(furrow_json *json, void *to, furrow_error *err) {
  furrow_json_text hex;
  uint64_t value = 0;
  FW_TRY(furrow_json_string(json, &hex, err));
  bool good = hex.size == HEX;
  for (size_t i = 0; good && i < HEX; i++) {
    const char c = hex.bytes[i];
    good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (!good) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not 16 hexadecimal digits");
  *(uint64_t *)to = value;
  return FURROW_OK;
}

static furrow_status read_stamp(furrow_json *json, void *to, furrow_error *err) {
  fw_index_stamp *stamp = to;
  const member members[] = {{"bytes", read_count, &stamp->size}, {"digest", read_digest, &stamp->digest}};
  return READ_MEMBERS(json, members, err);
}

static furrow_status read_factory(furrow_json *json, void *to, furrow_error *err) {
  furrow_json_text text;
  FW_TRY(furrow_json_string(json, &text, err));
  if (text.size >= FW_CARD_FACTORY || memchr(text.bytes, 0, text.size))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a factory string");
  memcpy(to, text.bytes, text.size);
  return FURROW_OK;
}

/* Announces an element that must be there. */
static furrow_status next_element(furrow_json *json, furrow_error *err) {
  const furrow_status status = furrow_json_element(json, err);
  if (status != FURROW_END) return status;
  return furrow_json_fail(json, furrow_json_next_offset(json), NULL, err, "must have a start and a count");
}

/* The start of a bin and its count. The bin must come after `least`. */
static furrow_status read_bin(furrow_json *json, fw_card_part *part, size_t *least, uint64_t *measured,
                              furrow_error *err) {
  double start;
  uint64_t count;
  FW_TRY(furrow_json_array(json, err));
  FW_TRY(next_element(json, err));
  FW_TRY(furrow_json_f64(json, &start, err));
  const size_t bin = start >= 0 && start <= 0x1p32 ? fw_card_bin((float)start) : 0;
  if ((double)fw_card_bin_start(bin) != start || bin < *least)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not the start of the next bin of distances");
  FW_TRY(next_element(json, err));
  FW_TRY(read_count(json, &count, err));
  if (count == 0 || count > part->vectors - *measured)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is 0, or more than there are vectors");
  if (furrow_json_element(json, err) != FURROW_END)
    return furrow_json_fail(json, furrow_json_next_offset(json), NULL, err, "must have a start and a count");
  part->bins[bin] = count;
  *measured += count;
  *least = bin + 1;
  return FURROW_OK;
}

static furrow_status read_bins(furrow_json *json, void *to, furrow_error *err) {
  uint64_t measured = 0;
  size_t least = 0;
  furrow_status status;
  FW_TRY(furrow_json_array(json, err));
  while ((status = furrow_json_element(json, err)) == FURROW_OK) FW_TRY(read_bin(json, to, &least, &measured, err));
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status read_part(furrow_json *json, void *to, furrow_error *err) {
  fw_card_part *part = to;
  const member members[] = {
      {"vectors", read_count, &part->vectors}, {"digest", read_digest, &part->digest}, {"distances", read_bins, part}};
  return READ_MEMBERS(json, members, err);
}

static furrow_status read_share(furrow_json *json, void *to, furrow_error *err) {
  FW_TRY(furrow_json_f64(json, to, err));
  if (*(double *)to >= 0 && *(double *)to <= 1) return FURROW_OK;
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a share, 0 to 1");
}

static furrow_status read_recall(furrow_json *json, void *to, furrow_error *err) {
  fw_card_recall *recall = to;
  const member members[] = {{"share", read_share, &recall->recall},
                            {"k", read_count, &recall->k},
                            {"queries", read_count, &recall->queries},
                            {"vectors", read_count, &recall->vectors}};
  if (furrow_json_peek(json) != FURROW_JSON_NULL) return READ_MEMBERS(json, members, err);
  recall->recall = NAN;
  return furrow_json_null(json, err);
}

static furrow_status read_all(furrow_json *json, fw_card *card, furrow_error *err) {
  uint64_t digest;
  const member members[] = {{"card", read_version, NULL},
                            {"index", read_stamp, &card->file.stamp},
                            {"factory", read_factory, card->factory},
                            {"built", read_part, &card->built},
                            {"added", read_part, &card->added},
                            {"removed", read_count, &card->removed},
                            {"recall", read_recall, &card->recall},
                            {"digest", read_digest, &digest}};
  FW_TRY(READ_MEMBERS(json, members, err));
  return furrow_json_end(json, err);
}

/* The digest is where a writer puts it, so that it is checked before anything is parsed. */
static furrow_status check_digest(const char *text, size_t size, const char *path, furrow_error *err) {
  char ending[64];
  const size_t length = sizeof digest_key - 1 + ENDING;
  if (size < sizeof MAGIC - 1 || memcmp(text, MAGIC, sizeof MAGIC - 1) != 0)
    return fw_companion_refuse(err, path, 0, "is not the card of an index");
  const size_t before = size < length ? 0 : size - length;
  snprintf(ending, sizeof ending, "%s%016" PRIx64 "\"}\n", digest_key, XXH3_64bits(text, before));
  if (before > 0 && memcmp(text + before, ending, length) == 0) return FURROW_OK;
  return fw_companion_refuse(err, path, before, "is damaged: the digest at its end does not match");
}

furrow_status fw_card_read(fw_card *card, const char *text, size_t size, const char *path, furrow_error *err) {
  furrow_json json;
  fw_card *read = NULL;
  FW_TRY(check_digest(text, size, path, err));
  FW_TRY(FW_ALLOC_ZERO(&read, 1, err));
  fw_json_open(&json, text, size, path);
  const furrow_status status = read_all(&json, read, err);
  fw_json_close(&json);
  if (status == FURROW_OK) {
    read->built_all = true;
    *card = *read;
  }
  fw_free(read);
  return status;
}

static furrow_status view_object(void *object, const void *bytes, size_t size, const char *path, furrow_error *err) {
  fw_card *card = object;
  const fw_companion file = card->file;
  const furrow_status status = fw_card_read(card, bytes, size, path, err);
  const fw_index_stamp stamp = card->file.stamp;
  card->file = file;
  if (status == FURROW_OK) card->file.stamp = stamp;
  return status;
}

static void clear_object(void *object) {
  fw_card *card = object;
  fw_companion_clear(&card->file);
  *card = (fw_card){0};
}

const fw_companion_kind fw_card_kind = {
    .ending = ".card",
    .magic = MAGIC,
    .version = VERSION,
    .noun = "card",
    .belong = "belongs",
    .file = "the card of an index",
    .absent = "has no card",
    .hint = "delete the file: the index is complete without it",
    .object_size = sizeof(fw_card),
    .view = view_object,
    .clear = clear_object,
    .write = write_object,
};
