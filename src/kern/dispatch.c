/* kern/dispatch.c: fills the tables of kernels, once. */
#include "kern/dispatch.h"

#include <pthread.h>

#include "furrow/version.h"

/* ---- The kernels of each level -------------------------------------------------------------------------- */

static void fill_generic(fw_kernels *k) {
  fw_tokenizer_fill_generic(&k->tokenizer);
  fw_digits_fill_generic(&k->digits);
  fw_scan_fill_generic(&k->scan);
  fw_products_fill_generic(&k->products);
  fw_gemm_fill_generic(&k->gemm);
  fw_traverse_fill_generic(&k->traverse);
  fw_trees_fill_generic(&k->trees);
  fw_gather_fill_generic(&k->gather_f32, &k->gather_f64);
  fw_pairs_fill_generic(&k->pairs_f32, &k->pairs_f64);
  fw_steps_fill_generic(&k->steps_f32, &k->steps_f64);
  fw_solve_fill_generic(&k->solve);
}

#if defined(__x86_64__)
static void fill_avx2(fw_kernels *k) {
  fw_tokenizer_fill_avx2(&k->tokenizer);
  fw_digits_fill_avx2(&k->digits);
  fw_scan_fill_avx2(&k->scan);
  fw_products_fill_avx2(&k->products);
  fw_gemm_fill_avx2(&k->gemm);
  fw_trees_fill_avx2(&k->trees);
  fw_gather_fill_avx2(&k->gather_f32, &k->gather_f64);
  fw_pairs_fill_avx2(&k->pairs_f32, &k->pairs_f64);
  fw_steps_fill_avx2(&k->steps_f32, &k->steps_f64);
  fw_solve_fill_avx2(&k->solve);
}

static void fill_avx512(fw_kernels *k) {
  fw_tokenizer_fill_avx512(&k->tokenizer);
  fw_scan_fill_avx512(&k->scan);
  fw_products_fill_avx512(&k->products);
  fw_gemm_fill_avx512(&k->gemm);
  fw_traverse_fill_avx512(&k->traverse);
  fw_trees_fill_avx512(&k->trees);
}
#elif defined(__aarch64__)
static void fill_neon(fw_kernels *k) {
  fw_tokenizer_fill_neon(&k->tokenizer);
  fw_scan_fill_neon(&k->scan);
  fw_products_fill_neon(&k->products);
  fw_gemm_fill_neon(&k->gemm);
}
#endif

fw_kernels fw_kernels_at(fw_isa isa) {
  fw_kernels k = {.isa = isa};
  fill_generic(&k);
#if defined(__x86_64__)
  if (isa >= FW_ISA_AVX2) fill_avx2(&k);
  if (isa >= FW_ISA_AVX512) fill_avx512(&k);
#elif defined(__aarch64__)
  if (isa == FW_ISA_NEON) fill_neon(&k);
#endif
  return k;
}

/* ---- The tables of this process ------------------------------------------------------------------------- */

static fw_kernels kernels;
static pthread_once_t kernels_once = PTHREAD_ONCE_INIT;

static void fill_kernels(void) {
  kernels = fw_kernels_at(fw_isa_choose());
}

static const fw_kernels *chosen(void) {
  pthread_once(&kernels_once, fill_kernels);
  return &kernels;
}

const char *furrow_isa(void) {
  return fw_isa_name(chosen()->isa);
}

const fw_tokenizer *fw_tokenizer_table(void) {
  return &chosen()->tokenizer;
}

const fw_digits *fw_digits_table(void) {
  return &chosen()->digits;
}

const fw_scan *fw_scan_table(void) {
  return &chosen()->scan;
}

const fw_products *fw_products_table(void) {
  return &chosen()->products;
}

const fw_gemm *fw_gemm_table(void) {
  return &chosen()->gemm;
}

const fw_traverse *fw_traverse_table(void) {
  return &chosen()->traverse;
}

const fw_trees *fw_trees_table(void) {
  return &chosen()->trees;
}

const fw_gather *fw_gather_table_f32(void) {
  return &chosen()->gather_f32;
}

const fw_gather *fw_gather_table_f64(void) {
  return &chosen()->gather_f64;
}

const fw_pairs *fw_pairs_table_f32(void) {
  return &chosen()->pairs_f32;
}

const fw_pairs *fw_pairs_table_f64(void) {
  return &chosen()->pairs_f64;
}

const fw_steps *fw_steps_table_f32(void) {
  return &chosen()->steps_f32;
}

const fw_steps *fw_steps_table_f64(void) {
  return &chosen()->steps_f64;
}

const fw_solve *fw_solve_table(void) {
  return &chosen()->solve;
}
