/* vector/data/id_names.h: names of ids, as the bytes of the file that is stored next to an index
 * (docs/formats/index_names.md). */
#ifndef FW_VECTOR_DATA_ID_NAMES_H
#define FW_VECTOR_DATA_ID_NAMES_H

#include "furrow/vector_data.h"
#include "io/input.h"
#include "io/string_table.h"

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
  FW_ID_NAMES_AT_DIGEST = 56 /* of the header before it */
};

typedef struct fw_named_id {
  int64_t id;
  const char *text;
  size_t size;
} fw_named_id;

/* Appends a table of the names of a list. E_EXISTS: two are equal, twins[0] < twins[1]. */
furrow_status fw_named_ids_build(fw_buffer *image, const fw_named_id *list, size_t count, size_t twins[2],
                                 furrow_error *err) FURROW_MUST_USE;

/* The bytes of an index file that names belong to. */
typedef struct fw_index_stamp {
  uint64_t size, digest; /* XXH3-64 */
} fw_index_stamp;

/* The bytes of a file of names, wherever they are, and views of them. */
struct furrow_id_names {
  const unsigned char *bytes;
  size_t size;
  fw_index_stamp stamp;
  const unsigned char *ids; /* ascending, little-endian; NULL: 0, 1, 2 … */
  fw_string_table table;    /* text i is the name of the i-th id */
  fw_buffer image;          /* names that were made or changed, or read */
  fw_input *held;           /* a file in memory */
};

static inline int64_t fw_id_names_id(const furrow_id_names *names, size_t i) {
  return names->ids ? (int64_t)fw_get_le64(names->ids + 8 * i) : (int64_t)i;
}

/* The number of an id among the ascending ids; their count where it has no name. */
size_t fw_id_names_number(const furrow_id_names *names, int64_t id);

/* What is wrong with a text as a name: "a name is empty"; NULL: nothing. */
const char *fw_name_fault(const char *text, size_t size);
/* Takes the lines of a text as names; bytes[size] is writable. The list owns `bytes` unless this fails. E_PARSE with
 * the line and `path`. */
furrow_status fw_name_list_parse(furrow_name_list *list, char *bytes, size_t size, const char *path,
                                 furrow_error *err) FURROW_MUST_USE;

/* Checks the bytes of a file and sets the views. Errors name `path` and the byte. */
furrow_status fw_id_names_view(furrow_id_names *names, const void *bytes, size_t size, const char *path,
                               furrow_error *err) FURROW_MUST_USE;
/* Frees the bytes: no names. */
void fw_id_names_clear(furrow_id_names *names);

#endif
