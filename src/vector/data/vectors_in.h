/* vector/data/vectors_in.h: what every source of vectors is: a head, and functions behind it. */
#ifndef FW_VECTOR_DATA_VECTORS_IN_H
#define FW_VECTOR_DATA_VECTORS_IN_H

#include "furrow/vector_data.h"

typedef struct fw_vectors_methods {
  /* Up to `rows` vectors; ids may be NULL. */
  furrow_status (*next)(furrow_vectors_reader *v, size_t rows, float *out, int64_t *ids, size_t *got,
                        furrow_error *err);
  furrow_status (*rewind)(furrow_vectors_reader *v, furrow_error *err);
  void (*close)(furrow_vectors_reader *v); /* frees it, too */
} fw_vectors_methods;

/* The first member of the struct of each source. */
struct furrow_vectors_reader {
  const fw_vectors_methods *methods;
  char *path;
  size_t d;
  uint64_t count; /* FURROW_COUNT_UNKNOWN */
  bool have_ids;
};

#endif
