/* kern/math/gather.h: sums over scattered numbers: the weights of a row's features, and the gradients of a feature's
 * uses.
 *
 * There is a table for floats and one for doubles; `void` stands for that type here. Each sum adds its terms in
 * order, so every instruction set level gives the same bits. */
#ifndef FW_KERN_MATH_GATHER_H
#define FW_KERN_MATH_GATHER_H

#include <stddef.h>
#include <stdint.h>

/* out[row] = start + the sum over the row's uses of value * record[feature], n numbers each. */
typedef struct fw_gather_rows {
  size_t n;
  const uint32_t *offset;  /* uses of row i are offset[i] … offset[i+1]-1 */
  size_t uses;             /* number of uses of all rows */
  const uint32_t *feature; /* feature of each use */
  const float *value;      /* NULL: all 1 */
  void *const *record;     /* the record of each feature */
  size_t at;               /* offset of the n numbers in a record */
  const void *start;       /* NULL: zeros */
  void *out, *squares;     /* squares: the same of (value * record)^2; NULL: not wanted */
  size_t stride;           /* numbers from one row to the next, in both */
} fw_gather_rows;

/* sum[feature] = the sum over the feature's uses of value * from[place], n numbers each; with `squares`, 2 * record
 * * the sum of value^2 * squares[place] is added. */
typedef struct fw_gather_uses {
  size_t n;
  const uint32_t *offset; /* uses of feature i are use[offset[i]] … use[offset[i+1]-1] */
  size_t uses;            /* number of uses of all features, which limits prefetching; 0: no prefetching */
  const uint32_t *use;    /* needed only if there are values */
  const uint32_t *place;  /* place of each use, in the same order */
  const float *value;     /* value[use]; NULL: all 1 */
  const void *from, *squares;
  size_t stride; /* numbers from one place to the next, in both */
  void *const *record;
  size_t at; /* offset of the n numbers in a record */
} fw_gather_uses;

typedef struct fw_gather {
  void (*rows)(const fw_gather_rows *job, size_t begin, size_t end);
  /* Sums for features begin … end-1; the first sum is stored at the start of `sum`. */
  void (*uses)(const fw_gather_uses *job, size_t begin, size_t end, void *sum);
} fw_gather;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_gather *fw_gather_table_f32(void);
const fw_gather *fw_gather_table_f64(void);
void fw_gather_fill_generic(fw_gather *f32, fw_gather *f64);
void fw_gather_fill_avx2(fw_gather *f32, fw_gather *f64);

#endif
