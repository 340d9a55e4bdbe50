/* tests/unit/rows/test_reject_dictionary.c: every check of a dictionary refuses its own mistake: the place and the
 * message, in a file whose digest is right otherwise. */
#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/endian.h"
#include "base/mem.h"
#include "rows/encode/encoder.h"
#include "support/encoded_rows.h"

#define LOG "memory://log.csv"
#define TABLE_FILE "memory://table.csv"

static const char schema_text[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\",\"min_count\":2},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\","
    "\"parts\":[\"hour\",\"age\"]},\"n\":{\"as\":\"number\",\"scale\":\"bins\",\"bins\":3},"
    "\"s\":{\"as\":\"set\",\"separator\":\"|\"},\"h\":{\"as\":\"category\",\"hash\":4},"
    "\"genre\":{\"as\":\"category\"},\"price\":{\"as\":\"number\",\"scale\":\"standard\"}},"
    "\"tables\":{\"" TABLE_FILE "\":\"i\"},\"cross\":[{\"of\":[\"u\",\"t.hour\"],\"bits\":4}],\"history\":2}";
static const char plain_schema[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"i\":{\"as\":\"category\"}}}";

/* The fields of the first schema. */
enum { USER, ITEM, HOUR, AGE, BINS, SET, HASHED, GENRE, PRICE, CROSS, HISTORY, FIELDS, SCHEMA_COLUMNS = 9 };
#define FIELD(number) (FW_DICT_HEADER + (size_t)(number)*FW_DICT_FIELD)
#define IN_FIELD(number, member) (FIELD(number) + FW_DICT_FIELD_##member)
#define COLUMN(number) (FIELD(FIELDS) + 4 * (size_t)(number))
#define TABLE (FIELD(FIELDS) + (4 * SCHEMA_COLUMNS + 7) / 8 * 8)
#define IN_TABLE(member) (TABLE + FW_DICT_TABLE_##member)

typedef struct dictionary {
  furrow_encoder *encoder;
  const char *schema;
  const unsigned char *image;
  size_t size;
} dictionary;

static dictionary full, plain;

static void build(dictionary *d, const char *schema) {
  fw_buffer text = {0};
  const void *bytes = NULL;
  d->schema = schema;
  d->encoder = build_encoder(LOG, schema);
  assert_int_equal(fw_encoder_files(d->encoder, &text, &bytes, &d->size, NULL), FURROW_OK);
  d->image = bytes;
  fw_buffer_clear(&text);
}

static int build_both(void **state) {
  (void)state;
  put_text(LOG, "y,u,i,t,n,s,h\n1,a,m1,0,1,p|q,x\n2,a,m2,5000,2,p,y\n3,b,m1,5000,3,,\n4,a,m3,90000,4,q|r,z\n");
  put_text(TABLE_FILE, "i,genre,price\nm1,drama,1\nm2,crime,2\n");
  build(&full, schema_text);
  build(&plain, plain_schema);
  assert_int_equal(fw_get_le32(full.image + FW_DICT_AT_FIELDS), FIELDS);
  return 0;
}

static int free_both(void **state) {
  (void)state;
  furrow_encoder_free(full.encoder);
  furrow_encoder_free(plain.encoder);
  return 0;
}

static void seal(unsigned char *image, size_t size) {
  fw_put_le64(image + FW_DICT_AT_DIGEST, XXH3_64bits(image + FW_DICT_AT_SCHEMA, size - FW_DICT_AT_SCHEMA));
}

static unsigned char *copy_of(const dictionary *d) {
  void *copy = NULL;
  assert_int_equal(fw_alloc(&copy, d->size, 1, NULL), FURROW_OK);
  return memcpy(copy, d->image, d->size);
}

/* Takes the image. */
static void refuse(const dictionary *d, unsigned char *image, size_t size, uint64_t offset, const char *message) {
  furrow_schema *schema = NULL;
  fw_dictionary opened;
  furrow_error err = {0};
  assert_int_equal(furrow_schema_parse(&schema, d->schema, strlen(d->schema), NULL), FURROW_OK);
  void *again = NULL;
  assert_int_equal(fw_alloc(&again, size, 1, NULL), FURROW_OK);
  memcpy(again, image, size);
  const furrow_status status = fw_dictionary_open(&opened, schema, image, size, &err);
  if (status != FURROW_E_FORMAT || err.offset != offset || !strstr(err.message, message))
    fail_msg("%s, byte %" PRIu64 ": %s\n    not byte %" PRIu64 ": %s", furrow_status_name(status), err.offset,
             err.message, offset, message);
  assert_int_equal(fw_dictionary_open(&opened, schema, again, size, NULL), FURROW_E_FORMAT);
  furrow_schema_free(schema);
}

/* ---- Numbers ---- */

typedef struct lie {
  size_t at;
  int64_t skip; /* HERE, or: not at `at`, but so many bytes behind what the offset at `at` leads to */
  size_t width;
  uint64_t value;
  uint64_t offset;
  const char *message;
} lie;

#define HERE INT64_MIN
#define INFINITE UINT64_C(0x7ff0000000000000)
#define NOT_A_NUMBER UINT64_C(0x7ff8000000000000)
#define FAR_AWAY (UINT64_MAX - 7)

static const char outside[] = "a section lies outside of the file";
static const char edges[] = "edges of bins do not ascend";
static const char no_feature[] = "a table has a feature that does not exist";

static const lie lies[] = {
    {0, HERE, 1, 'f', 0, "not a dictionary of Furrow's"},
    {FW_DICT_AT_VERSION, HERE, 4, 4, FW_DICT_AT_VERSION, "of a version that is not known"},
    {FW_DICT_AT_VERSION, HERE, 4, 2, FW_DICT_AT_VERSION, "of a version that does not fit its fields"},
    {FW_DICT_AT_SIZE, HERE, 8, 96, FW_DICT_AT_SIZE, "cut short, or longer than it says"},
    {FW_DICT_AT_SCHEMA, HERE, 8, 1, FW_DICT_AT_SCHEMA, "made with another schema"},
    {FW_DICT_AT_FIELDS, HERE, 4, UINT32_MAX, FW_DICT_AT_COLUMNS, "not the columns and tables of the schema"},
    {FW_DICT_AT_COLUMNS, HERE, 4, 8, FW_DICT_AT_COLUMNS, "not the columns and tables of the schema"},
    {FW_DICT_AT_TABLES, HERE, 4, 0, FW_DICT_AT_COLUMNS, "not the columns and tables of the schema"},
    {COLUMN(7), HERE, 4, 2, COLUMN(7), "a column refers to a table that does not exist"},
    {FW_DICT_AT_FEATURES, HERE, 8, 1, FW_DICT_AT_FEATURES, "the number of its features is wrong"},
    /* fields */
    {IN_FIELD(USER, KIND), HERE, 4, FW_FIELD_SET, FIELD(USER), "a field differs from the schema's"},
    {IN_FIELD(USER, SIDE), HERE, 4, FURROW_SIDE_ITEM, FIELD(USER), "a field differs from the schema's"},
    {IN_FIELD(HASHED, HASH_BITS), HERE, 4, 5, FIELD(HASHED), "a field differs from the schema's"},
    {IN_FIELD(PRICE, SPARSE), HERE, 4, 1, FW_DICT_AT_VERSION, "of a version that does not fit its fields"},
    {IN_FIELD(PRICE, SPARSE), HERE, 4, 2, IN_FIELD(PRICE, SPARSE), "a field is sparse but must not be"},
    {IN_FIELD(HASHED, SPARSE), HERE, 4, 1, IN_FIELD(HASHED, SPARSE), "a field is sparse but must not be"},
    {IN_FIELD(BINS, EDGE_COUNT), HERE, 8, FW_BINS_MOST, IN_FIELD(BINS, EDGE_COUNT), "too many edges"},
    {IN_FIELD(USER, EDGE_COUNT), HERE, 8, 1, IN_FIELD(USER, EDGE_COUNT), "too many edges"},
    {IN_FIELD(PRICE, MEAN), HERE, 8, INFINITE, IN_FIELD(PRICE, MEAN), "a scale is not finite"},
    {IN_FIELD(PRICE, FACTOR), HERE, 8, NOT_A_NUMBER, IN_FIELD(PRICE, MEAN), "a scale is not finite"},
    {IN_FIELD(AGE, NEWEST), HERE, 8, INFINITE, IN_FIELD(AGE, MEAN), "a scale is not finite"},
    {IN_FIELD(USER, TEXTS_SIZE), HERE, 8, 0, FIELD(USER), "a field has texts but must not have any, or lacks them"},
    {IN_FIELD(HASHED, TEXTS_SIZE), HERE, 8, 8, FIELD(HASHED), "a field has texts but must not have any, or lacks them"},
    {IN_FIELD(USER, TEXTS), HERE, 8, FAR_AWAY, IN_FIELD(USER, TEXTS), outside},
    {IN_FIELD(USER, TEXTS), HERE, 8, 100, IN_FIELD(USER, TEXTS), outside},
    {IN_FIELD(USER, TEXTS_SIZE), HERE, 8, FAR_AWAY, IN_FIELD(USER, TEXTS), outside},
    {IN_FIELD(USER, COUNTS), HERE, 8, FAR_AWAY, IN_FIELD(USER, COUNTS), outside},
    {IN_FIELD(BINS, EDGES), HERE, 8, 97, IN_FIELD(BINS, EDGES), outside},
    {IN_FIELD(BINS, EDGES), 0, 8, NOT_A_NUMBER, IN_FIELD(BINS, EDGES), edges},
    {IN_FIELD(BINS, EDGES), 8, 8, 0, IN_FIELD(BINS, EDGES), edges},
    {IN_FIELD(BINS, EDGES), 8, 8, INFINITE, IN_FIELD(BINS, EDGES), edges},
    {IN_FIELD(ITEM, FIRST), HERE, 8, 1, IN_FIELD(ITEM, FIRST), "do not follow the previous field's"},
    {IN_FIELD(HOUR, FEATURES), HERE, 8, 9, IN_FIELD(HOUR, FIRST), "do not follow the previous field's"},
    /* the table */
    {IN_TABLE(KEYS_SIZE), HERE, 8, 0, TABLE, "a table has no keys"},
    {IN_TABLE(KEYS), HERE, 8, FAR_AWAY, IN_TABLE(KEYS), outside},
    {IN_TABLE(OFFSETS), HERE, 8, FAR_AWAY, IN_TABLE(OFFSETS), outside},
    {IN_TABLE(OFFSETS), 0, 8, 1, IN_TABLE(OFFSETS), "offsets of a table do not ascend"},
    {IN_TABLE(OFFSETS), 8, 8, 5, IN_TABLE(OFFSETS), "offsets of a table do not ascend"},
    {IN_TABLE(OFFSETS), 16, 8, 5, IN_TABLE(OFFSETS), "offsets of a table do not ascend"},
    {IN_TABLE(INDEX), HERE, 8, FAR_AWAY, IN_TABLE(INDEX), outside},
    {IN_TABLE(FIELD), HERE, 8, FAR_AWAY, IN_TABLE(FIELD), outside},
    {IN_TABLE(VALUE), HERE, 8, FAR_AWAY, IN_TABLE(VALUE), outside},
    {IN_TABLE(FIELD), 0, 4, FIELDS, TABLE, no_feature},
    {IN_TABLE(INDEX), 0, 8, 0, TABLE, no_feature},
    {IN_TABLE(INDEX), 0, 8, 1000, TABLE, no_feature},
    {IN_TABLE(VALUE), 0, 4, 0x7f800000, TABLE, no_feature},
    /* histories */
    {FW_DICT_AT_USERS, HERE, 8, 0, FW_DICT_AT_USERS, "the number of users is wrong"},
    {FW_DICT_AT_USERS, HERE, 8, 1, FW_DICT_AT_USERS, "the number of users is wrong"},
    {FW_DICT_AT_HISTORY_OFFSETS, HERE, 8, FAR_AWAY, FW_DICT_AT_HISTORY_OFFSETS, outside},
    {FW_DICT_AT_HISTORY_TIMES, HERE, 8, FAR_AWAY, FW_DICT_AT_HISTORY_TIMES, outside},
    {FW_DICT_AT_HISTORY_ITEMS, HERE, 8, FAR_AWAY, FW_DICT_AT_HISTORY_ITEMS, outside},
    {FW_DICT_AT_HISTORY_OFFSETS, 0, 8, 1, FW_DICT_AT_HISTORY_OFFSETS, "offsets of histories do not ascend"},
    {FW_DICT_AT_HISTORY_OFFSETS, 8, 8, 99, FW_DICT_AT_HISTORY_OFFSETS, "offsets of histories do not ascend"},
    {FW_DICT_AT_HISTORY_ITEMS, 0, 8, 5, FW_DICT_AT_HISTORY_ITEMS, "a history has an item that does not exist"},
};

static void numbers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    const lie *l = &lies[i];
    unsigned char *copy = copy_of(&full), bytes[8];
    const size_t at = l->skip == HERE ? l->at : (size_t)fw_get_le64(copy + l->at) + (size_t)l->skip;
    fw_put_le64(bytes, l->value);
    memcpy(copy + at, bytes, l->width);
    seal(copy, full.size);
    refuse(&full, copy, full.size, l->offset, l->message);
  }
}

/* Sections that end where the file does, and 8 bytes later. */
static void sections_at_the_end(void **state) {
  (void)state;
  unsigned char *copy = copy_of(&full);
  fw_put_le64(copy + IN_FIELD(BINS, EDGES), full.size - 8);
  seal(copy, full.size);
  refuse(&full, copy, full.size, IN_FIELD(BINS, EDGES), outside);
  copy = copy_of(&full);
  memset(copy + full.size - 16, 0, 16); /* edges that do not ascend, but are there */
  fw_put_le64(copy + IN_FIELD(BINS, EDGES), full.size - 16);
  seal(copy, full.size);
  refuse(&full, copy, full.size, IN_FIELD(BINS, EDGES), edges);
}

static void other_mistakes(void **state) {
  (void)state;
  unsigned char *copy = copy_of(&full);
  copy[FW_DICT_AT_RECORDS] ^= 1;
  refuse(&full, copy, full.size, FW_DICT_AT_DIGEST, "damaged: the digest does not match");
  copy = copy_of(&full);
  refuse(&full, copy, FW_DICT_HEADER - 1, 0, "not a dictionary of Furrow's");
  /* one field too few, whose record has what the schema says of the columns */
  copy = copy_of(&full);
  fw_put_le32(copy + FW_DICT_AT_FIELDS, FIELDS - 1);
  memcpy(copy + FIELD(FIELDS - 1), full.image + COLUMN(0), 4 * SCHEMA_COLUMNS);
  seal(copy, full.size);
  refuse(&full, copy, full.size, FW_DICT_AT_FIELDS, "not the fields of the schema");
  /* users, and no history */
  copy = copy_of(&plain);
  fw_put_le64(copy + FW_DICT_AT_USERS, 1);
  seal(copy, plain.size);
  refuse(&plain, copy, plain.size, FW_DICT_AT_USERS, "the number of users is wrong");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers),
      cmocka_unit_test(sections_at_the_end),
      cmocka_unit_test(other_mistakes),
  };
  return cmocka_run_group_tests(tests, build_both, free_both);
}
