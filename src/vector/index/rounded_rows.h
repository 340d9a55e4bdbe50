/* vector/index/rounded_rows.h: the vectors of an index rounded to 7 bits per number, in rows of bytes. Their distances
 * take a quarter of the memory traffic of floats. They lead a traversal of a graph to the right vectors; the exact
 * distances of the few that it finds decide the results. All arithmetic is on integers, so that it does not depend on
 * the instructions of the processor. */
#ifndef FW_VECTOR_INDEX_ROUNDED_ROWS_H
#define FW_VECTOR_INDEX_ROUNDED_ROWS_H

#include "base/pool.h"
#include "vector/index/index.h"

enum { FW_ROUNDED_LEAST = 4096, FW_ROUNDED_MAX_D = 1 << 14 };

typedef struct fw_rounded {
  size_t n, d, stride; /* stride: d, rounded up to 64 */
  uint8_t *rows;       /* [n][stride], aligned to 64 bytes; NULL: the vectors are not rounded */
  float *squares;      /* IP: the squared length of each row; NULL: L2 */
  float *centre;       /* [d]: subtracted from vectors before they are rounded */
  float step;
  void *memory;
} fw_rounded;

/* Rounds the vectors of a FLAT, SQ or PQ index with L2 or IP. `rounded->rows` stays NULL if there are fewer than
 * FW_ROUNDED_LEAST, or if vectors are so near to each other that rounding would hide which are the nearest. */
furrow_status fw_rounded_create(fw_rounded *rounded, const furrow_index *storage, fw_pool *pool,
                                furrow_error *err) FURROW_MUST_USE;
void fw_rounded_clear(fw_rounded *rounded);
/* Rounds a query to x (`stride` bytes, aligned to 64). Returns false if its numbers are outside of the range of the
 * rows. */
bool fw_rounded_query(const fw_rounded *rounded, const float *query, uint8_t *x, float *square);
/* keys[i]: smaller is nearer; of x, a rounded query or a row, and row ids[i]. square: |x|^2 (IP). */
void fw_rounded_keys(const fw_rounded *rounded, const uint8_t *x, float square, const int32_t *ids, size_t n,
                     float *keys);

/* Returns row i of a FLAT, SQ or PQ index: the vector itself, or decoded to `scratch` (d floats). */
const float *fw_row_vector(const furrow_index *storage, size_t i, float *scratch);

#endif
