/* rows/encode/dictionary.h: what an encoder has learned: fields, their features and names, joined tables, histories.
 *
 * The file (docs/formats/dictionary.md) is used in memory as it is. All offsets in it are checked when it is opened. */
#ifndef FW_ROWS_ENCODE_DICTIONARY_H
#define FW_ROWS_ENCODE_DICTIONARY_H

#include "io/input.h"
#include "io/string_table.h"
#include "rows/schema/schema.h"

#define FW_DICTIONARY_NAME "dictionary.furrow"
#define FW_SCHEMA_NAME "schema.json"

/* X(name): how the features of a field are made */
#define FW_FIELD_KINDS(X)                                                                          \
  X(CATEGORY) /* one text */                                                                       \
  X(SET)      /* elements of a cell */                                                             \
  X(WORDS)    /* words of a cell */                                                                \
  X(NUMBER)   /* one feature for the value, and one feature for missing (or for present) values */ \
  X(BINS)     /* one feature per bin, and one for missing values */                                \
  X(PART)     /* a part of a time with few values, and one feature for missing values */           \
  X(AGE)      /* days up to the newest time: a number */                                           \
  X(CROSS)    /* features of several fields, hashed */                                             \
  X(HISTORY)  /* the user's earlier items */

typedef enum fw_field_kind {
#define FW_X(name) FW_FIELD_##name,
  FW_FIELD_KINDS(FW_X)
#undef FW_X
} fw_field_kind;

/* Features of texts: unknown, missing, then the texts. Hashed fields have neither of the first two. */
enum { FW_LOCAL_UNKNOWN, FW_LOCAL_MISSING, FW_LOCAL_FIRST };

typedef struct fw_field {
  /* from the schema */
  char *name;
  fw_field_kind kind;
  furrow_side side;
  const fw_column *column; /* NULL: a cross or the history */
  size_t table;            /* the joined table that has the column; SIZE_MAX: the log */
  fw_time_part part;
  unsigned hash_bits;
  size_t crossed[FW_CROSSED_MOST]; /* fields of a cross */
  size_t crossed_count;
  /* learned */
  uint64_t first, size; /* features first … first + size - added - 1, then those of added_index */
  uint64_t added;       /* features that the field got when the dictionary grew */
  const unsigned char *added_index;
  uint64_t unknown, missing; /* cells or elements in the training data */
  bool sparse; /* few records had a cell: a missing cell has no feature, and the last feature of a number marks present
                  cells */
  double mean, factor;         /* NUMBER, AGE: the value is (x - mean) * factor */
  double newest;               /* AGE: newest time in seconds */
  fw_string_table texts;       /* count 0: none */
  const unsigned char *counts; /* counts of the texts */
  const unsigned char *edges;  /* BINS */
  size_t edge_count;
} fw_field;

/* Features that are joined by a key. */
typedef struct fw_joined {
  fw_string_table keys;
  const unsigned char *offsets; /* key i has the features offsets[i] … offsets[i+1] - 1 of the following arrays */
  const unsigned char *index, *field, *value;
} fw_joined;

typedef struct fw_dictionary {
  fw_field *fields;
  size_t count;
  fw_joined *tables; /* as many as the schema has */
  size_t table_count;
  uint64_t features, records;
  uint64_t own_features; /* those before the dictionary grew; each later one is in a list of its field */
  uint32_t *added_field; /* the field of each later feature */
  size_t user_field, item_field, history_field; /* SIZE_MAX: none */
  uint64_t history_users;                       /* number of features of the user field; 0: there is no history */
  const unsigned char *history_offsets, *history_items, *history_times;
  const unsigned char *image;
  size_t size;
  fw_input *input; /* holds the image; NULL: the image is on the heap */
} fw_dictionary;

/* Plans the fields of a schema before anything is learned; column_table[i]: the table of column i, SIZE_MAX: the
 * log. */
furrow_status fw_dictionary_plan(fw_dictionary *dictionary, const furrow_schema *schema, const size_t *column_table,
                                 furrow_error *err) FURROW_MUST_USE;
/* Opens an image on the heap (fw_free) and takes ownership of it, even if it fails. */
furrow_status fw_dictionary_open(fw_dictionary *dictionary, const furrow_schema *schema, void *image, size_t size,
                                 furrow_error *err) FURROW_MUST_USE;
/* Opens a file. */
furrow_status fw_dictionary_load(fw_dictionary *dictionary, const furrow_schema *schema, const char *path,
                                 furrow_error *err) FURROW_MUST_USE;
void fw_dictionary_clear(fw_dictionary *dictionary);

static inline double fw_get_f64(const unsigned char *bytes) {
  const uint64_t bits = fw_get_le64(bytes);
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}
static inline float fw_get_f32(const unsigned char *bytes) {
  const uint32_t bits = fw_get_le32(bytes);
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* Whether the field has a dictionary of texts. */
static inline bool fw_field_has_texts(const fw_field *field) {
  return field->kind <= FW_FIELD_WORDS && field->hash_bits == 0;
}
/* Whether its value is a number. */
static inline bool fw_field_is_number(const fw_field *field) {
  return field->kind == FW_FIELD_NUMBER || field->kind == FW_FIELD_AGE;
}
/* Whether missing cells can be features. */
static inline bool fw_field_has_missing(const fw_field *field) {
  return field->kind <= FW_FIELD_AGE && field->hash_bits == 0;
}
/* Whether a row may have several features of the field. */
static inline bool fw_field_is_list(const fw_field *field) {
  return field->kind == FW_FIELD_SET || field->kind == FW_FIELD_WORDS || field->kind == FW_FIELD_HISTORY;
}

/* ---- Features of a field: numbered from 0 within the field ---- */

#define FW_LOCAL_NONE UINT64_MAX

static inline uint64_t fw_field_feature(const fw_field *field, uint64_t local) {
  const uint64_t own = field->size - field->added;
  return local < own ? field->first + local : fw_get_le64(field->added_index + 8 * (local - own));
}
/* Returns FW_LOCAL_NONE for a feature of another field. */
uint64_t fw_field_local(const fw_field *field, uint64_t feature);
/* The number of the field of a feature, which must be below `features`. */
size_t fw_dictionary_field_of(const fw_dictionary *dictionary, uint64_t feature);
/* Whether `grown` is `dictionary` with more names: all its features have the same indices and meanings. */
bool fw_dictionary_extends(const fw_dictionary *grown, const fw_dictionary *dictionary);

/* About the sum of the squares of each feature's values over the rows of the logs: *sums has `features` numbers, to be
 * freed with fw_free. */
furrow_status fw_dictionary_feature_sums(const fw_dictionary *dictionary, const furrow_schema *schema, float **sums,
                                         furrow_error *err) FURROW_MUST_USE;

/* Computes a digest of the schema. */
furrow_status fw_schema_digest(const furrow_schema *schema, uint64_t *digest, furrow_error *err) FURROW_MUST_USE;

/* ---- Layout of the file ---- */

#define FW_DICTIONARY_MAGIC "FURROWDC"
/* Version 2 has sparse fields, version 3 has grown: the oldest version that fits is written. */
enum { FW_DICTIONARY_VERSION = 1, FW_DICTIONARY_VERSION_SPARSE = 2, FW_DICTIONARY_VERSION_GROWN = 3 };
/* offsets in the header, in the record of a field, and in the record of a table */
enum {
  FW_DICT_AT_VERSION = 8,
  FW_DICT_AT_FIELDS = 12,
  FW_DICT_AT_SIZE = 16,
  FW_DICT_AT_DIGEST = 24,
  FW_DICT_AT_SCHEMA = 32, /* the digest covers the bytes from here on */
  FW_DICT_AT_FEATURES = 40,
  FW_DICT_AT_RECORDS = 48,
  FW_DICT_AT_COLUMNS = 56,
  FW_DICT_AT_TABLES = 60,
  FW_DICT_AT_USERS = 64,
  FW_DICT_AT_HISTORY_OFFSETS = 72,
  FW_DICT_AT_HISTORY_ITEMS = 80,
  FW_DICT_AT_HISTORY_TIMES = 88,
  FW_DICT_HEADER = 96,

  FW_DICT_FIELD_KIND = 0,
  FW_DICT_FIELD_SIDE = 4,
  FW_DICT_FIELD_HASH_BITS = 8,
  FW_DICT_FIELD_SPARSE = 12,
  FW_DICT_FIELD_FIRST = 16,
  FW_DICT_FIELD_FEATURES = 24,
  FW_DICT_FIELD_UNKNOWN = 32,
  FW_DICT_FIELD_MISSING = 40,
  FW_DICT_FIELD_MEAN = 48,
  FW_DICT_FIELD_FACTOR = 56,
  FW_DICT_FIELD_NEWEST = 64,
  FW_DICT_FIELD_TEXTS = 72,
  FW_DICT_FIELD_TEXTS_SIZE = 80,
  FW_DICT_FIELD_COUNTS = 88,
  FW_DICT_FIELD_EDGES = 96,
  FW_DICT_FIELD_EDGE_COUNT = 104,
  FW_DICT_FIELD = 112,
  FW_DICT_FIELD_ADDED = 112, /* version 3 */
  FW_DICT_FIELD_ADDED_COUNT = 120,
  FW_DICT_FIELD_GROWN = 128,

  FW_DICT_TABLE_KEYS = 0,
  FW_DICT_TABLE_KEYS_SIZE = 8,
  FW_DICT_TABLE_OFFSETS = 16,
  FW_DICT_TABLE_FEATURES = 24,
  FW_DICT_TABLE_INDEX = 32,
  FW_DICT_TABLE_FIELD = 40,
  FW_DICT_TABLE_VALUE = 48,
  FW_DICT_TABLE = 56
};

/* ---- The parts of a dictionary file that is written ------------------------------------------------------ */

/* Sections of a field, in the form in which they are stored in the file. */
typedef struct fw_field_image {
  fw_buffer texts, counts, edges, added;
} fw_field_image;

/* Sections of a joined table. */
typedef struct fw_joined_image {
  fw_buffer keys, offsets, index, field, value;
} fw_joined_image;

typedef struct fw_history_image {
  uint64_t users;
  fw_buffer offsets, items, times;
} fw_history_image;

typedef struct fw_dictionary_parts {
  const furrow_schema *schema;
  const fw_dictionary *dictionary; /* fields with everything that was learned */
  const size_t *column_table;
  const fw_field_image *fields;
  const fw_joined_image *tables;
  const fw_history_image *history;
} fw_dictionary_parts;

void fw_put_u32(fw_buffer *out, uint32_t number);
void fw_put_u64(fw_buffer *out, uint64_t number);
void fw_put_f64(fw_buffer *out, double number);

/* Writes the bytes of the file. */
furrow_status fw_dictionary_write(const fw_dictionary_parts *parts, fw_buffer *out, furrow_error *err) FURROW_MUST_USE;

#endif
