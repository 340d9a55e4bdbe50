/* vector/index_write.h: writes an index to anything that takes bytes. */
#ifndef FW_VECTOR_INDEX_WRITE_H
#define FW_VECTOR_INDEX_WRITE_H

#include "vector/index.h"

/* Writing does not report: the first failure stays in status, and nothing is written after it. */
typedef struct fw_index_writer {
  furrow_status (*write)(void *to, const void *bytes, size_t size, furrow_error *err); /* NULL: bytes are counted */
  void *to;
  uint64_t size;     /* so far */
  bool inline_lists; /* lists on disk become part of the file */
  furrow_status status;
  furrow_error *err;
} fw_index_writer;

/* index may be NULL: one that is not there. */
void fw_write_index(fw_index_writer *w, const furrow_index *index);

#endif
