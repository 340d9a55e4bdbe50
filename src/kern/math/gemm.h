/* kern/math/gemm.h: products of small and medium-sized float matrices, row-major. */
#ifndef FW_KERN_MATH_GEMM_H
#define FW_KERN_MATH_GEMM_H

#include <stdbool.h>
#include <stddef.h>

/* c (m x n) = a * b, or c += with `add`. ld: numbers from one row to the next. Every element is a sum over k, in an
 * order that depends only on the shapes. */
typedef void fw_gemm_function(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb,
                              float *c, size_t ldc, bool add);

/* Some columns of a left matrix: the element (row, col) is x[row * by_row + col * by_col]. */
typedef struct fw_gemm_part {
  const float *x;
  size_t by_row, by_col, cols;
} fw_gemm_part;

enum { FW_GEMM_PARTS = 4, FW_GEMM_ALIGN = 16 };

/* Computes m rows of columns begin_col … end_col-1 of a * b. The columns of a are the columns of its parts, one
 * after the other; b is packed and has n columns; begin_col is a multiple of FW_GEMM_ALIGN. The result has the same
 * bits as `nn`. */
typedef struct fw_gemm_job {
  size_t m, n;
  size_t begin_col, end_col;
  const fw_gemm_part *parts;
  size_t part_count; /* 1 … FW_GEMM_PARTS */
  const float *packed;
  float *c; /* destination of column begin_col of the first row */
  size_t ldc;
  const float *bias; /* n numbers to add to each row; NULL: none */
  bool add;          /* adds to c; not with a bias */
  bool relu;         /* negative results become 0 */
} fw_gemm_job;

/* Packs a right matrix, k x n: the element (row, col) is b[row * by_row + col * by_col], and one of both strides is
 * 1. Writes rows begin_row … end_row-1 of columns begin_col … end_col-1. */
typedef struct fw_gemm_pack {
  size_t k, n;
  const float *b;
  size_t by_row, by_col;
  size_t begin_row, end_row, begin_col, end_col;
  float *packed;
} fw_gemm_pack;

typedef struct fw_gemm {
  fw_gemm_function *nn;                      /* a is m x k, b is k x n */
  fw_gemm_function *nt;                      /* a is m x k, b is n x k and is transposed */
  fw_gemm_function *tn;                      /* a is k x m and is transposed; b is k x n */
  size_t (*packed_size)(size_t k, size_t n); /* numbers of a packed matrix */
  void (*pack)(const fw_gemm_pack *job);     /* several threads may pack parts of one matrix at the same time */
  void (*multiply)(const fw_gemm_job *job);
} fw_gemm;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_gemm *fw_gemm_table(void);
void fw_gemm_fill_generic(fw_gemm *gemm);
void fw_gemm_fill_avx2(fw_gemm *gemm);
void fw_gemm_fill_avx512(fw_gemm *gemm);
void fw_gemm_fill_neon(fw_gemm *gemm);

#endif
