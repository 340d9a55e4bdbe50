/* tests/fuzz/fuzz_encode.c: any bytes as a raw log: a schema is proposed, a dictionary learned, rows are encoded.
 *
 * None of it depends on threads, chunks or the level of instructions, nor do errors and their places. The first byte
 * chooses the schema and what is done with bad records, the second the size of chunks. */
#include "base/buffer.h"
#include "fuzz/harness/fuzz_check.h"
#include "fuzz/harness/isa_harness.h"
#include "fuzz/harness/parser_harness.h"
#include "rows/encode/encoder.h"

#define LOG "memory://fuzz-log"
#define DIRECTORY "memory://fuzz-encoder"

/* Columns of every kind; what a log does not have is an error, so that most inputs use few of them. */
static const char *const schemas[] = {
    NULL, /* proposed */
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\",\"min_count\":2}}}",
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"n\":{\"as\":\"number\",\"scale\":\"standard\"},"
    "\"b\":{\"as\":\"number\",\"scale\":\"bins\",\"bins\":3},\"l\":{\"as\":\"number\",\"scale\":\"log\"}}}",
    "{\"columns\":{\"s\":{\"as\":\"set\",\"separator\":\"|\"},\"v\":{\"as\":\"set\",\"separator\":\"; \","
    "\"values\":true},\"note\":{\"as\":\"text\"},\"h\":{\"as\":\"category\",\"hash\":7}}}",
    "{\"columns\":{\"w\":{\"as\":\"weight\"},\"g\":{\"as\":\"group\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"t\":{\"as\":\"time\",\"role\":\"time\",\"parts\":[\"hour\","
    "\"weekday\",\"age\"]}},\"cross\":[{\"of\":[\"u\",\"t.hour\"],\"bits\":10}],\"history\":2}",
    "{\"columns\":{\"y\":{\"as\":\"label\",\"unit\":\"%\"},\"n\":{\"as\":\"number\",\"decimal\":\".\",\"unit\":\"$\"},"
    "\"c\":{\"as\":\"number\",\"decimal\":\",\",\"scale\":\"none\"},\"w\":{\"as\":\"weight\",\"decimal\":\",\"}}}",
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"d\":{\"as\":\"time\",\"unit\":\"day-first\",\"parts\":[\"month\",\"age\"]"
    "},"
    "\"m\":{\"as\":\"time\",\"unit\":\"month-first\",\"parts\":[\"hour\",\"monthday\"]}}}",
};
enum { SCHEMAS = sizeof schemas / sizeof *schemas };

static void same_errors(furrow_status a, const furrow_error *one, furrow_status b, const furrow_error *other) {
  check(a == b);
  if (a != FURROW_OK) same_place(one, other, "an error that is not the same");
}

/* ---- The schema ---- */

static furrow_status propose(furrow_schema **schema, furrow_on_bad on_bad, uint32_t threads, furrow_error *err) {
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.on_bad = on_bad;
  params.threads = threads;
  params.bin_numbers = true;
  memset(err, 0, sizeof *err);
  return furrow_schema_propose(schema, LOG, &params, err);
}

/* NULL: the log is not one. */
static furrow_schema *propose_twice(furrow_on_bad on_bad) {
  furrow_schema *schema = NULL, *other = NULL;
  furrow_error err = {0}, other_err = {0};
  char *text = NULL, *other_text = NULL;
  size_t size = 0, other_size = 0;
  use_isa(next_isa(FW_ISA_GENERIC));
  const furrow_status status = propose(&schema, on_bad, 1, &err);
  choose_isa(2);
  same_errors(status, &err, propose(&other, on_bad, 3, &other_err), &other_err);
  if (status == FURROW_OK) {
    check(furrow_schema_text(schema, true, &text, &size, NULL) == FURROW_OK);
    check(furrow_schema_text(other, true, &other_text, &other_size, NULL) == FURROW_OK);
    check(size == other_size && memcmp(text, other_text, size) == 0);
  }
  furrow_free(text);
  furrow_free(other_text);
  furrow_schema_free(other);
  return schema;
}

/* ---- The dictionary ---- */

static furrow_status build(furrow_encoder **encoder, const furrow_schema *schema, furrow_on_bad on_bad,
                           uint32_t threads, furrow_error *err) {
  furrow_encoder_params params;
  furrow_encoder_params_init(&params);
  params.on_bad = on_bad;
  params.threads = threads;
  memset(err, 0, sizeof *err);
  return furrow_encoder_build(encoder, LOG, schema, &params, err);
}

static void same_dictionaries(const furrow_encoder *a, const furrow_encoder *b) {
  fw_buffer schemas_of[2] = {{0}, {0}};
  const void *bytes[2];
  size_t sizes[2];
  check(fw_encoder_files(a, &schemas_of[0], &bytes[0], &sizes[0], NULL) == FURROW_OK);
  check(fw_encoder_files(b, &schemas_of[1], &bytes[1], &sizes[1], NULL) == FURROW_OK);
  check(sizes[0] == sizes[1] && memcmp(bytes[0], bytes[1], sizes[0]) == 0);
  for (size_t i = 0; i < 2; i++) fw_buffer_clear(&schemas_of[i]);
}

static furrow_encoder *build_twice(const furrow_schema *schema, furrow_on_bad on_bad) {
  furrow_encoder *encoder = NULL, *other = NULL;
  furrow_error err = {0}, other_err = {0};
  use_isa(next_isa(FW_ISA_GENERIC));
  const furrow_status status = build(&encoder, schema, on_bad, 1, &err);
  choose_isa(2);
  same_errors(status, &err, build(&other, schema, on_bad, 3, &other_err), &other_err);
  if (status == FURROW_OK) same_dictionaries(encoder, other);
  furrow_encoder_free(other);
  return encoder;
}

/* ---- Rows ---- */

static void encode(const furrow_encoder *encoder, furrow_on_bad on_bad, uint8_t chunk) {
  furrow_parser_params params;
  reading first, other;
  char *uri = NULL;
  check(furrow_encoder_save(encoder, DIRECTORY, true, NULL) == FURROW_OK);
  check(furrow_encoder_uri(LOG, DIRECTORY, &uri, NULL) == FURROW_OK);
  furrow_parser_params_init(&params);
  params.key_type = FURROW_KEY_U64;
  params.on_bad = on_bad;
  params.threads = 1;
  use_isa(next_isa(FW_ISA_GENERIC));
  if (read_all(uri, &params, &first)) {
    for (EACH_ISA(isa)) {
      use_isa(isa);
      params.threads = 1 + (unsigned)isa;
      params.chunk_bytes = isa == next_isa(FW_ISA_GENERIC) ? 1 : 1u + chunk;
      require(read_all(uri, &params, &other), "it opens only once");
      same_reading(&first, &other, "another level, thread or chunk encodes otherwise");
    }
  }
  furrow_free(uri);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  const furrow_on_bad on_bad = data[0] & 1 ? FURROW_ON_BAD_SKIP : FURROW_ON_BAD_ERROR;
  const char *text = schemas[data[0] / 2 % SCHEMAS];
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  check(furrow_memory_file_add(LOG, data + 2, size - 2, NULL, NULL, NULL) == FURROW_OK);
  if (text)
    check(furrow_schema_parse(&schema, text, strlen(text), NULL) == FURROW_OK);
  else
    schema = propose_twice(on_bad);
  if (schema) encoder = build_twice(schema, on_bad);
  if (encoder) encode(encoder, on_bad, data[1]);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
  check(furrow_memory_file_remove(LOG, NULL) == FURROW_OK);
  return 0;
}
