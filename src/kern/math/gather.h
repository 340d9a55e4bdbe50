/* kern/math/gather.h: sums over numbers that lie in no order: the weights of a row's features, and the gradients of a
 * feature's uses.
 *
 * There is a table for floats and one for doubles; what is `void` here is of that type. Each sum goes over its terms in
 * their order, so that every level of instructions gives the same bits. */
#ifndef FW_KERN_MATH_GATHER_H
#define FW_KERN_MATH_GATHER_H

#include <stddef.h>
#include <stdint.h>

/* out[row] = start + the sum over the row's uses of value * record[feature], n numbers each. */
typedef struct fw_gather_rows {
  size_t n;
  const uint32_t *offset;  /* uses of row i are offset[i] … offset[i+1]-1 */
  size_t uses;             /* of all rows */
  const uint32_t *feature; /* of each use */
  const float *value;      /* NULL: all 1 */
  void *const *record;     /* of each feature */
  size_t at;               /* where in a record the n numbers are */
  const void *start;       /* NULL: zeros */
  void *out, *squares;     /* squares: the same of (value * record)^2; NULL: not wanted */
  size_t stride;           /* numbers from one row to the next, of both */
} fw_gather_rows;

/* sum[feature] = the sum over the feature's uses of value * from[place], n numbers each; with `squares`, 2 * record *
 * the sum of value^2 * squares[place] is added. */
typedef struct fw_gather_uses {
  size_t n;
  const uint32_t *offset; /* uses of feature i are use[offset[i]] … use[offset[i+1]-1] */
  size_t uses;            /* of all features: memory is asked for up to there; 0: not at all */
  const uint32_t *use;    /* asked for where there are values */
  const uint32_t *place;  /* of each of the uses, in the same order */
  const float *value;     /* value[use]; NULL: all 1 */
  const void *from, *squares;
  size_t stride; /* numbers from one place to the next, of both */
  void *const *record;
  size_t at; /* where in a record the n numbers are */
} fw_gather_uses;

typedef struct fw_gather {
  void (*rows)(const fw_gather_rows *job, size_t begin, size_t end);
  /* Of features begin … end-1; the first sum goes to the start of `sum`. */
  void (*uses)(const fw_gather_uses *job, size_t begin, size_t end, void *sum);
} fw_gather;

/* The kernels of this process, and what fills them (kern/dispatch.h). */
const fw_gather *fw_gather_table_f32(void);
const fw_gather *fw_gather_table_f64(void);
void fw_gather_fill_generic(fw_gather *f32, fw_gather *f64);
void fw_gather_fill_avx2(fw_gather *f32, fw_gather *f64);

#endif
