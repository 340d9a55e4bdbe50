/* tests/support/meta_bytes.h: metadata for tests, made by hand. */
#ifndef META_BYTES_H
#define META_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define META_CAPACITY 65536

/* The genuine metadata of a bias: one row, one column. */
static const char meta_of_bias[] =
    "{\"matrixId\":1,\"matrixName\":\"input_bias\",\"formatClassName\":"
    "\"com.tencent.angel.model.output.format.ColIdValueTextRowFormat\",\"rowType\":7,\"row\":1,\"col\":1,\"blockRow\":"
    "1,"
    "\"blockCol\":100,\"options\":{\"feature.index.range.end\":\"1\",\"feature.index.range.start\":\"0\"},"
    "\"partMetas\":"
    "{\"0\":{\"partId\":0,\"startRow\":0,\"endRow\":1,\"startCol\":0,\"endCol\":1,\"nnz\":1,\"saveRowNum\":1,"
    "\"saveColNum\":0,\"saveColElemNum\":0,\"fileName\":\"0\",\"offset\":0,\"length\":15,\"rowMetas\":{\"0\":"
    "{\"rowId\":0,\"offset\":0,\"elementNum\":1,\"saveType\":0}}}}}";

/* Bytes that are put together number by number, big-endian. */
typedef struct meta_bytes {
  unsigned char bytes[META_CAPACITY];
  size_t size;
} meta_bytes;

static inline void meta_put(meta_bytes *m, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; i--) m->bytes[m->size++] = (unsigned char)(value >> (8 * i));
}

static inline void meta_put_bytes(meta_bytes *m, const void *bytes, size_t size) {
  memcpy(m->bytes + m->size, bytes, size);
  m->size += size;
}

static inline void meta_put_text(meta_bytes *m, const char *text) {
  meta_put(m, strlen(text), 2);
  meta_put_bytes(m, text, strlen(text));
}

/* A file of JSON: its length and the text. */
static inline void meta_put_json(meta_bytes *m, const char *json) {
  meta_put(m, strlen(json), 4);
  meta_put_bytes(m, json, strlen(json));
}

#endif
