/* vector/data/companion.h: files next to an index that belong to its bytes: names of ids (INDEX.names), attributes
 * (INDEX.attributes), the card (INDEX.card). Names and attributes have a header of 64 bytes that begins and ends in the
 * same way, the card is a text; vector/file/companion_file.c reads them, and replaces them together with the index. */
#ifndef FW_VECTOR_DATA_COMPANION_H
#define FW_VECTOR_DATA_COMPANION_H

#include "base/buffer.h"
#include "base/endian.h"
#include "furrow/status.h"
#include "io/input.h"

#define FW_COMPANION_HEADER 64

enum {
  FW_COMPANION_AT_VERSION = 8,
  FW_COMPANION_AT_IDS = 12, /* 1: ids are stored after the header; 0: they are 0, 1, 2 … */
  FW_COMPANION_AT_INDEX_SIZE = 24,
  FW_COMPANION_AT_INDEX_DIGEST = 32,
  FW_COMPANION_AT_DIGEST = 56 /* XXH3-64 of the header bytes before it */
};

/* Identifies the index file that a file belongs to. */
typedef struct fw_index_stamp {
  uint64_t size, digest; /* digest: XXH3-64 */
} fw_index_stamp;

static inline fw_index_stamp fw_companion_stamp(const unsigned char *header) {
  return (fw_index_stamp){.size = fw_get_le64(header + FW_COMPANION_AT_INDEX_SIZE),
                          .digest = fw_get_le64(header + FW_COMPANION_AT_INDEX_DIGEST)};
}

/* The bytes of such a file, owned or held. The first member of the objects that views them. */
typedef struct fw_companion {
  const unsigned char *bytes;
  size_t size;
  fw_index_stamp stamp;
  fw_buffer image; /* bytes that were made or read */
  fw_input *held;  /* a file that is held in memory */
} fw_companion;

/* Frees the bytes; all zeros afterwards. */
void fw_companion_clear(fw_companion *file);

/* A kind of such files. Objects are structs that begin with an fw_companion. */
typedef struct fw_companion_kind {
  const char *ending; /* ".names" */
  const char *magic;  /* 8 bytes */
  uint32_t version;
  const char *noun;   /* "names", in messages */
  const char *belong; /* its verb: "belong" */
  const char *file;   /* "a file of names" */
  const char *absent; /* "has no names of ids" */
  const char *hint;   /* what to do about a file that belongs to another index */
  size_t object_size;
  /* Checks the bytes and sets the views of the object, `bytes` and `size` of its fw_companion, too; E_FORMAT. */
  furrow_status (*view)(void *object, const void *bytes, size_t size, const char *path, furrow_error *err);
  void (*clear)(void *object); /* leaves zeros */
  /* Writes the whole file. NULL: it is the bytes of the fw_companion, with another stamp in their header. */
  furrow_status (*write)(const void *object, const fw_index_stamp *stamp, fw_buffer *text, furrow_error *err);
} fw_companion_kind;

extern const fw_companion_kind fw_names_kind, fw_attributes_kind;

/* E_FORMAT: a file is damaged at an offset. */
furrow_status fw_companion_refuse(furrow_error *err, const char *path, uint64_t offset, const char *message);
/* Checks what all kinds have in common: magic, version, digest of the header. */
furrow_status fw_companion_check_header(const fw_companion_kind *kind, const unsigned char *bytes, size_t size,
                                        const char *path, furrow_error *err) FURROW_MUST_USE;
/* Checks that stored ids ascend. */
furrow_status fw_companion_check_ids(const unsigned char *ids, size_t count, const char *path,
                                     furrow_error *err) FURROW_MUST_USE;
/* The position of an id among `count` ascending ones (NULL: 0, 1, 2 …); count if it is not there. */
size_t fw_companion_find_id(const unsigned char *ids, size_t count, int64_t id);

#endif
