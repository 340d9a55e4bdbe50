/* tests/unit/io/test_remote_texts.c: hashes, signatures, lists of objects and profiles, without a server. */
#include <stdlib.h>
#include <string.h>

#include "io/remote/s3_credentials.h"
#include "io/remote/s3_list.h"
#include "io/remote/s3_roles.h"
#include "io/remote/sha256.h"
#include "io/remote/sigv4.h"
#include "support/cmocka_all.h"

/* ---- Hashes: FIPS 180-4 and RFC 4231 ---- */

static void hashes_are_those_of_the_standard(void **state) {
  (void)state;
  char hex[2 * FW_SHA256_SIZE + 1];
  fw_sha256_hex("", 0, hex);
  assert_string_equal(hex, FW_SIGV4_NO_BODY);
  fw_sha256_hex("abc", 3, hex);
  assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  fw_sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
  assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  char *million = malloc(1000000);
  assert_non_null(million);
  memset(million, 'a', 1000000);
  fw_sha256_hex(million, 1000000, hex);
  assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  for (size_t step = 1; step < 200; step += 7) { /* in pieces of any size */
    fw_sha256 hash;
    unsigned char digest[FW_SHA256_SIZE];
    char again[2 * FW_SHA256_SIZE + 1];
    fw_sha256_begin(&hash);
    for (size_t at = 0; at < 1000; at += step) fw_sha256_add(&hash, million, step < 1000 - at ? step : 1000 - at);
    fw_sha256_end(&hash, digest);
    fw_hex(digest, sizeof digest, again);
    fw_sha256_hex(million, 1000, hex);
    assert_string_equal(again, hex);
  }
  free(million);
}

static void codes_are_those_of_the_standard(void **state) {
  (void)state;
  unsigned char digest[FW_SHA256_SIZE], key[131];
  char hex[2 * FW_SHA256_SIZE + 1];
  fw_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, digest);
  fw_hex(digest, sizeof digest, hex);
  assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  memset(key, 0xaa, sizeof key);
  fw_hmac_sha256(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First", 54, digest);
  fw_hex(digest, sizeof digest, hex);
  assert_string_equal(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* ---- Signatures: the examples of Amazon's description of Signature Version 4 for S3 ---- */

static void signatures_are_those_of_the_examples(void **state) {
  (void)state;
  static const struct {
    const char *path, *query, *range, *signature;
  } examples[] = {
      {"/test.txt", "", "bytes=0-9", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
      {"/", "lifecycle=", "", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
      {"/", "max-keys=2&prefix=J", "", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
  };
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    const fw_sigv4 request = {.method = "GET",
                              .path = examples[i].path,
                              .query = examples[i].query,
                              .host = "examplebucket.s3.amazonaws.com",
                              .range = examples[i].range,
                              .body_hash = FW_SIGV4_NO_BODY,
                              .time = "20130524T000000Z",
                              .region = "us-east-1",
                              .service = "s3",
                              .access_key = "AKIAIOSFODNN7EXAMPLE",
                              .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                              .token = ""};
    fw_buffer text = {0};
    fw_sigv4_sign(&text, &request);
    fw_buffer_byte(&text, 0);
    assert_int_equal(fw_buffer_status(&text, NULL), FURROW_OK);
    assert_string_equal(strstr(text.bytes, "Signature=") + 10, examples[i].signature);
    assert_non_null(strstr(text.bytes, "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"));
    fw_buffer_clear(&text);
  }
}

static void keys_are_encoded(void **state) {
  (void)state;
  fw_buffer text = {0};
  fw_sigv4_encode(&text, "a/b c+\xc3\xbc~-._=&%", true);
  fw_buffer_byte(&text, ' ');
  fw_sigv4_encode(&text, "a/b", false);
  fw_buffer_byte(&text, 0);
  assert_string_equal(text.bytes, "a/b%20c%2B%C3%BC~-._%3D%26%25 a%2Fb");
  fw_buffer_clear(&text);
}

/* ---- Lists ---- */

static furrow_status take_name(void *listing, const char *name, furrow_error *err) {
  (void)err;
  fw_buffer_format(listing, "%s|", name);
  return FURROW_OK;
}

/* Checks the names of a list, and its token; status and names of one that is refused. */
static void expect_list(const char *xml, const char *prefix, furrow_status expected, const char *names,
                        const char *token) {
  fw_buffer found = {0}, next = {0};
  size_t count = 0;
  furrow_error err;
  assert_int_equal(fw_s3_list_parse(xml, strlen(xml), prefix, take_name, &found, &next, &count, &err), expected);
  fw_buffer_byte(&found, 0);
  fw_buffer_byte(&next, 0);
  assert_string_equal(found.bytes, names);
  assert_string_equal(next.bytes, token);
  fw_buffer_clear(&found);
  fw_buffer_clear(&next);
}

#define LIST(inside) "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\">" inside "</ListBucketResult>"

static void names_of_a_list_are_found(void **state) {
  (void)state;
  expect_list(LIST(""), "", FURROW_OK, "", "");
  expect_list(LIST("<Prefix>a/</Prefix><Contents><Key>a/</Key></Contents><Contents><Key>a/x&amp;&lt;&#38;&#xFC;</Key>"
                   "<Size>1</Size></Contents><CommonPrefixes><Prefix>a/b c/</Prefix></CommonPrefixes>"),
              "a/", FURROW_OK, "x&<&\xc3\xbc|b c|", "");
  expect_list(LIST("<IsTruncated>true</IsTruncated><NextContinuationToken>1+/=&amp;</NextContinuationToken>"
                   "<Contents><Key>k</Key></Contents>"),
              "", FURROW_OK, "k|", "1+/=&");
  expect_list(LIST("<IsTruncated>true</IsTruncated>"), "", FURROW_E_FORMAT, "", "");
  expect_list(LIST("<Contents><Key>b/x</Key></Contents>"), "a/", FURROW_E_FORMAT, "", "");
  expect_list(LIST("<Contents><Key>a/x//y</Key></Contents>"), "a/", FURROW_OK, "", "");
  expect_list("<html>", "", FURROW_E_FORMAT, "", "");
  expect_list("<ListBucketResult><Contents><Key>a</Key>", "", FURROW_E_FORMAT, "", "");
  expect_list("", "", FURROW_E_FORMAT, "", "");
}

/* ---- Profiles ---- */

static void sections_of_profiles_are_read(void **state) {
  (void)state;
  static const char text[] = "aws_access_key_id = none\n[default]\naws_access_key_id=D\n\n# [work]\n[ work ]\r\n"
                             "aws_access_key_id = A B\r\naws_secret_access_key=s=/+ \ns3 =\n  region = nested\n"
                             "region=eu-west-1\nregion = second\n[other]\nregion = other\nsso_session = x";
  fw_s3_settings s = {0};
  bool found = false, needs_program = false;
  furrow_error err;
  assert_int_equal(fw_s3_settings_parse(&s, text, strlen(text), "work", &found, &needs_program, &err), FURROW_OK);
  assert_true(found && !needs_program);
  assert_string_equal(s.access_key, "A B");
  assert_string_equal(s.secret_key, "s=/+");
  assert_string_equal(s.region, "eu-west-1");
  assert_string_equal(s.token, "");
  found = false;
  assert_int_equal(fw_s3_settings_parse(&s, text, strlen(text), "wor", &found, &needs_program, &err), FURROW_OK);
  assert_false(found);
  assert_int_equal(fw_s3_settings_parse(&s, text, strlen(text), "other", &found, &needs_program, &err), FURROW_OK);
  assert_true(found && needs_program);
  assert_string_equal(s.region, "eu-west-1"); /* what is known stays */

  char large[400] = "[x]\naws_secret_access_key = ";
  memset(large + strlen(large), 'k', 300);
  assert_int_equal(fw_s3_settings_parse(&(fw_s3_settings){0}, large, strlen(large), "x", &found, &needs_program, &err),
                   FURROW_E_FORMAT);
  assert_null(strstr(err.message, "kkk"));
}

/* ---- Roles ---- */

static void expect_role(const char *text, furrow_status expected, int64_t expected_end) {
  fw_s3_settings s = {0};
  int64_t expires = -1;
  furrow_error err;
  assert_int_equal(fw_s3_role_parse(&s, text, strlen(text), &expires, &err), expected);
  assert_string_equal(s.secret_key, expected == FURROW_OK ? "secret" : "");
  if (expected == FURROW_OK) assert_int_equal(expires, expected_end);
  if (expected != FURROW_OK) assert_null(strstr(err.message, "secret"));
}

static void credentials_of_roles_are_read(void **state) {
  (void)state;
#define KEYS "\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"secret\""
  expect_role("{" KEYS "}", FURROW_OK, 0);
  expect_role("{" KEYS ", \"Token\": \"t\", \"Expiration\": \"1970-01-02T00:00:01Z\"}", FURROW_OK, 86401);
  expect_role("{\"Expiration\": \"2024-02-29T23:59:59.123Z\", " KEYS "}", FURROW_OK, 1709251199);
  expect_role("{\"Expiration\": \"2026-12-31T12:00:00+00:00\", \"x\": [{}], " KEYS "}", FURROW_OK, 1798718400);
  static const char *const wrong[] = {"",
                                      "{}",
                                      "[]",
                                      "{" KEYS,
                                      "{" KEYS "} x",
                                      "{" KEYS ", \"Expiration\": \"soon\"}",
                                      "{" KEYS ", \"Expiration\": \"2026-13-01T00:00:00Z\"}",
                                      "{" KEYS ", \"Token\": \"a\\r\\nb\"}",
                                      "{" KEYS ", \"Token\": 1}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) expect_role(wrong[i], FURROW_E_FORMAT, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hashes_are_those_of_the_standard),
      cmocka_unit_test(codes_are_those_of_the_standard),
      cmocka_unit_test(signatures_are_those_of_the_examples),
      cmocka_unit_test(keys_are_encoded),
      cmocka_unit_test(names_of_a_list_are_found),
      cmocka_unit_test(sections_of_profiles_are_read),
      cmocka_unit_test(credentials_of_roles_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
