/* vector/data/id_names.h: names of ids, as the bytes of the names file that is stored next to an index
 * (docs/formats/index_names.md). */
#ifndef FW_VECTOR_DATA_ID_NAMES_H
#define FW_VECTOR_DATA_ID_NAMES_H

#include "furrow/vector_data.h"
#include "io/string_table.h"
#include "vector/data/companion.h"

#define FW_ID_NAMES_MAGIC "FURROWIN"
#define FW_ID_NAMES_VERSION 1
#define FW_ID_NAMES_HEADER 64

enum {
  FW_ID_NAMES_AT_VERSION = 8,
  FW_ID_NAMES_AT_IDS = 12, /* 1: ids are stored; 0: they are 0, 1, 2 … */
  FW_ID_NAMES_AT_COUNT = 16,
  FW_ID_NAMES_AT_INDEX_SIZE = 24,
  FW_ID_NAMES_AT_INDEX_DIGEST = 32,
  FW_ID_NAMES_AT_IDS_DIGEST = 40,
  FW_ID_NAMES_AT_ZERO = 48,
  FW_ID_NAMES_AT_DIGEST = 56 /* digest of the header bytes before it */
};

typedef struct fw_named_id {
  int64_t id;
  const char *text;
  size_t size;
} fw_named_id;

/* Appends a table of the names in the list. Fails with E_EXISTS if two names are equal; their positions are twins[0] <
 * twins[1]. */
furrow_status fw_named_ids_build(fw_buffer *image, const fw_named_id *list, size_t count, size_t twins[2],
                                 furrow_error *err) FURROW_MUST_USE;

/* The bytes of a names file, and views into them. */
struct furrow_id_names {
  fw_companion file;
  const unsigned char *ids; /* ascending, little-endian; NULL: 0, 1, 2 … */
  fw_string_table table;    /* text i is the name of the i-th id */
};

static inline int64_t fw_id_names_id(const furrow_id_names *names, size_t i) {
  return names->ids ? (int64_t)fw_get_le64(names->ids + 8 * i) : (int64_t)i;
}

/* The position of an id among the ascending ids; their count if it has no name. */
size_t fw_id_names_number(const furrow_id_names *names, int64_t id);

/* Describes what is wrong with a name, e.g. "a name is empty"; NULL if it is valid. */
const char *fw_name_fault(const char *text, size_t size);
/* Parses the lines of a text as names; bytes[size] must be writable. The list takes ownership of `bytes`, except on
 * failure. Fails with E_PARSE, the line (they count from first_line) and `path`. */
furrow_status fw_name_list_parse(furrow_name_list *list, char *bytes, size_t size, const char *path, size_t first_line,
                                 furrow_error *err) FURROW_MUST_USE;

/* Checks the bytes of a names file and sets the views. Errors name `path` and the offset. */
furrow_status fw_id_names_view(furrow_id_names *names, const void *bytes, size_t size, const char *path,
                               furrow_error *err) FURROW_MUST_USE;
/* Frees the bytes and leaves an empty set of names. */
void fw_id_names_clear(furrow_id_names *names);

#endif
