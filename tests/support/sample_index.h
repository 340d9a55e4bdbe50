/* tests/support/sample_index.h: small index files of every kind, laid down byte by byte as docs/formats/faiss-ivfpq.md
 * says, without the writer that is tested with them. */
#ifndef SAMPLE_INDEX_H
#define SAMPLE_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"

typedef struct index_file {
  uint8_t *bytes;
  size_t size, capacity;
  float number; /* the next of the numbers that fill arrays */
} index_file;

/* ---- Fields ---- */

static inline void put(index_file *f, const void *bytes, size_t size) {
  if (f->size + size > f->capacity) {
    f->capacity = 2 * (f->size + size);
    f->bytes = realloc(f->bytes, f->capacity);
    if (!f->bytes) abort();
  }
  if (size) memcpy(f->bytes + f->size, bytes, size);
  f->size += size;
}

static inline void put_fourcc(index_file *f, const char *fourcc) {
  put(f, fourcc, 4);
}

static inline void put_byte(index_file *f, unsigned value) {
  uint8_t byte = (uint8_t)value;
  put(f, &byte, 1);
}

static inline void put_word(index_file *f, int64_t value) {
  uint8_t bytes[4];
  fw_put_le32(bytes, (uint32_t)value);
  put(f, bytes, 4);
}

static inline void put_long(index_file *f, int64_t value) {
  uint8_t bytes[8];
  fw_put_le64(bytes, (uint64_t)value);
  put(f, bytes, 8);
}

static inline void put_real(index_file *f, float value) {
  uint32_t word;
  memcpy(&word, &value, 4);
  put_word(f, word);
}

/* `count` numbers, all different. */
static inline void put_reals(index_file *f, size_t count) {
  for (size_t i = 0; i < count; i++) put_real(f, f->number += 0.25f);
}

static inline void put_real_vector(index_file *f, size_t count) {
  put_long(f, (int64_t)count);
  put_reals(f, count);
}

static inline void put_codes(index_file *f, size_t size) {
  for (size_t i = 0; i < size; i++) put_byte(f, (unsigned)(7 * i + 1));
}

static inline void index_file_clear(index_file *f) {
  free(f->bytes);
  *f = (index_file){0};
}

/* ---- Parts ---- */

static inline void put_header(index_file *f, const char *fourcc, int d, int64_t ntotal, bool trained, int metric) {
  put_fourcc(f, fourcc);
  put_word(f, d);
  put_long(f, ntotal);
  put_long(f, 1 << 20);
  put_long(f, 1 << 20);
  put_byte(f, trained);
  put_word(f, metric);
  if (metric > 1) put_real(f, 3);
}

static inline void put_flat(index_file *f, const char *fourcc, int d, int64_t n, int metric) {
  put_header(f, fourcc, d, n, true, metric);
  put_real_vector(f, (size_t)n * (size_t)d);
}

static inline void put_pq(index_file *f, int64_t d, int64_t m, int64_t nbits) {
  put_long(f, d);
  put_long(f, m);
  put_long(f, nbits);
  put_real_vector(f, (size_t)d << nbits);
}

static inline void put_no_map(index_file *f) {
  put_byte(f, 0);
  put_long(f, 0);
}

/* Lists as ilar. Ids go up in steps of `step`. */
static inline void put_lists(index_file *f, size_t nlist, size_t code_size, const size_t *sizes, bool full, int step) {
  int64_t id = 0;
  size_t used = 0;
  put_fourcc(f, "ilar");
  put_long(f, (int64_t)nlist);
  put_long(f, (int64_t)code_size);
  for (size_t i = 0; i < nlist; i++) used += sizes[i] > 0;
  put_fourcc(f, full ? "full" : "sprs");
  put_long(f, (int64_t)(full ? nlist : 2 * used));
  for (size_t i = 0; i < nlist; i++) {
    if (!full && sizes[i] == 0) continue;
    if (!full) put_long(f, (int64_t)i);
    put_long(f, (int64_t)sizes[i]);
  }
  for (size_t i = 0; i < nlist; i++) {
    put_codes(f, sizes[i] * code_size);
    for (size_t k = 0; k < sizes[i]; k++, id += step) put_long(f, id);
  }
}

/* An HNSW graph of n vectors in a ring on level 0, the first two also on level 1; 4 links below, 2 above. The vectors
 * follow. */
static inline void put_graph(index_file *f, int d, int n, int metric) {
  put_header(f, "IHNf", d, n, true, metric);
  put_long(f, 2); /* assign_probas, f64 */
  put_long(f, 0x3fe8000000000000);
  put_long(f, 0x3fd0000000000000);
  put_long(f, 3); /* cum_nneighbor_per_level */
  put_word(f, 0);
  put_word(f, 4);
  put_word(f, 6);
  put_long(f, n); /* levels */
  for (int i = 0; i < n; i++) put_word(f, i < 2 ? 2 : 1);
  put_long(f, n + 1); /* offsets */
  int64_t at = 0;
  for (int i = 0; i <= n; at += i < 2 ? 6 : 4, i++) put_long(f, at);
  put_long(f, 4 * n + 4); /* neighbors */
  for (int i = 0; i < n; i++) {
    put_word(f, (i + 1) % n);
    put_word(f, (i + n - 1) % n);
    put_word(f, -1);
    put_word(f, -1);
    if (i < 2) put_word(f, 1 - i);
    if (i < 2) put_word(f, -1);
  }
  put_word(f, 1);  /* entry_point */
  put_word(f, 1);  /* max_level */
  put_word(f, 40); /* efConstruction */
  put_word(f, 16); /* efSearch */
  put_word(f, 1);  /* upper_beam */
}

static inline void put_hnsw(index_file *f, int d, int n) {
  put_graph(f, d, n, 1);
  put_flat(f, "IxF2", d, n, 1);
}

/* The beginning of an IVF index with a flat quantizer: nlist 4, d 4. */
static inline void put_ivf(index_file *f, const char *fourcc, int64_t ntotal) {
  put_header(f, fourcc, 4, ntotal, true, 1);
  put_long(f, 4);
  put_long(f, 2);
  put_flat(f, "IxF2", 4, 4, 1);
}

/* by_residual, code_size, PQ with two parts */
static inline void put_ivf_pq(index_file *f, int64_t nbits) {
  put_byte(f, 1);
  put_long(f, (2 * nbits + 7) / 8);
  put_pq(f, 4, 2, nbits);
}

static const size_t sample_sizes[4] = {2, 0, 3, 1};
static const size_t sample_sparse[4] = {0, 0, 5, 1};

static inline void put_ivfpq(index_file *f) {
  put_ivf(f, "IwPQ", 6);
  put_no_map(f);
  put_ivf_pq(f, 4);
  put_lists(f, 4, 1, sample_sizes, true, 1);
}

static inline void put_linear(index_file *f, size_t in, size_t out, bool bias) {
  put_byte(f, bias);
  put_real_vector(f, in * out);
  put_real_vector(f, bias ? out : 0);
}

static inline void put_transform_end(index_file *f, int in, int out) {
  put_word(f, in);
  put_word(f, out);
  put_byte(f, 1);
}

/* ---- Whole files ---- */

static inline void sample_flat(index_file *f) {
  put_flat(f, "IxF2", 3, 2, 1);
}
static inline void sample_flat_ip(index_file *f) {
  put_flat(f, "IxFI", 3, 2, 0);
}
static inline void sample_flat_lp(index_file *f) {
  put_flat(f, "IxFl", 3, 2, 4);
}
static inline void sample_sparse_lists(index_file *f) {
  put_ivf(f, "IwPQ", 7); /* one vector has no place */
  put_no_map(f);
  put_ivf_pq(f, 8);
  put_lists(f, 4, 2, sample_sparse, false, 100);
}
static inline void sample_sparse_by_half(index_file *f) { /* full, though the rule says sprs */
  put_ivf(f, "IwPQ", 6);
  put_no_map(f);
  put_ivf_pq(f, 8);
  put_lists(f, 4, 2, sample_sparse, true, 1);
}
static inline void sample_untrained(index_file *f) {
  static const size_t none[4] = {0};
  put_header(f, "IwPQ", 4, 0, false, 1);
  put_long(f, 4);
  put_long(f, 1);
  put_flat(f, "IxF2", 4, 0, 1);
  put_no_map(f);
  put_ivf_pq(f, 3);
  put_lists(f, 4, 1, none, false, 1);
}
static inline void sample_no_lists(index_file *f) {
  put_ivf(f, "IwPQ", 6);
  put_no_map(f);
  put_ivf_pq(f, 4);
  put_fourcc(f, "il00");
}
static inline void sample_map_array(index_file *f) {
  static const int64_t locations[7] = {
      0, 1, (int64_t)2 << 32, ((int64_t)2 << 32) + 1, ((int64_t)2 << 32) + 2, (int64_t)3 << 32, -1};
  put_ivf(f, "IwPQ", 7);
  put_byte(f, 1);
  put_long(f, 7);
  for (int i = 0; i < 7; i++) put_long(f, locations[i]);
  put_ivf_pq(f, 4);
  put_lists(f, 4, 1, sample_sizes, true, 1);
}
static inline void sample_map_hash(index_file *f) {
  put_ivf(f, "IwPQ", 6);
  put_byte(f, 2);
  put_long(f, 0);
  put_long(f, 3);
  put_long(f, 500);
  put_long(f, (int64_t)3 << 32);
  put_long(f, 0);
  put_long(f, 0);
  put_long(f, 300);
  put_long(f, ((int64_t)2 << 32) + 1);
  put_ivf_pq(f, 4);
  put_lists(f, 4, 1, sample_sizes, true, 100);
}
static inline void put_refinement(index_file *f) {
  put_pq(f, 4, 4, 2);
  put_long(f, 6);
  put_codes(f, 6);
  put_real(f, 4);
}
static inline void sample_ivfpqr(index_file *f) {
  put_ivf(f, "IwQR", 6);
  put_no_map(f);
  put_ivf_pq(f, 4);
  put_lists(f, 4, 1, sample_sizes, true, 1);
  put_refinement(f);
}
static inline void sample_ivfflat(index_file *f) {
  put_ivf(f, "IwFl", 6);
  put_no_map(f);
  put_lists(f, 4, 16, sample_sizes, true, 1);
}
static inline void sample_id_map(index_file *f) {
  put_header(f, "IxMp", 4, 6, true, 1);
  put_ivfpq(f);
  put_long(f, 6);
  for (int i = 0; i < 6; i++) put_long(f, 1000 - i);
}
static inline void sample_id_map2(index_file *f) {
  put_header(f, "IxM2", 3, 2, true, 1);
  put_flat(f, "IxF2", 3, 2, 1);
  put_long(f, 2);
  put_long(f, 11);
  put_long(f, -5);
}
static inline void sample_refine(index_file *f) {
  put_header(f, "IxRF", 4, 6, true, 1);
  put_ivfpq(f);
  put_flat(f, "IxF2", 4, 6, 1);
  put_real(f, 10);
}
static inline void sample_hnsw(index_file *f) {
  put_hnsw(f, 3, 5);
}
static inline void sample_ivf_hnsw(index_file *f) {
  put_header(f, "IwPQ", 4, 6, true, 0);
  put_long(f, 4);
  put_long(f, 2);
  put_hnsw(f, 4, 4);
  put_no_map(f);
  put_ivf_pq(f, 5);
  put_lists(f, 4, 2, sample_sizes, true, 1);
}
static inline void sample_pq(index_file *f) {
  put_header(f, "IxPq", 6, 3, true, 1);
  put_pq(f, 6, 3, 2);
  put_long(f, 3);
  put_codes(f, 3);
  put_word(f, 0);
  put_byte(f, 0);
  put_word(f, 2);
}
static inline void sample_multi(index_file *f) {
  static const size_t sizes[16] = {[3] = 2, [15] = 1};
  put_header(f, "IwPQ", 4, 3, true, 1);
  put_long(f, 16);
  put_long(f, 5);
  put_header(f, "Imiq", 4, 16, true, 1);
  put_pq(f, 4, 2, 2);
  put_no_map(f);
  put_ivf_pq(f, 4);
  put_lists(f, 16, 1, sizes, false, 1);
}
static inline void put_sq(index_file *f) {
  put_word(f, 0);
  put_word(f, 0);
  put_real(f, 0);
  put_long(f, 4);
  put_long(f, 4);
  put_real_vector(f, 8);
  put_long(f, 4);
}
static inline void sample_ivfsq(index_file *f) {
  put_ivf(f, "IwSq", 6);
  put_no_map(f);
  put_sq(f);
  put_byte(f, 0);
  put_lists(f, 4, 4, sample_sizes, true, 1);
}
static inline void sample_fast(index_file *f) {
  put_ivf(f, "IwPf", 6);
  put_no_map(f);
  put_byte(f, 0);
  put_long(f, 1); /* code_size */
  put_word(f, 32);
  put_long(f, 2);
  put_word(f, 0);
  put_long(f, 0);
  put_pq(f, 4, 2, 4);
  put_fourcc(f, "ilbl");
  put_long(f, 4);
  put_long(f, -1);
  put_long(f, 32);
  put_long(f, 32);
  for (int i = 0; i < 4; i++) {
    put_long(f, (int64_t)sample_sizes[i]);
    for (size_t k = 0; k < sample_sizes[i]; k++) put_long(f, 10 * i + (int64_t)k);
    put_long(f, sample_sizes[i] ? 32 : 0);
    if (sample_sizes[i]) put_codes(f, 32);
  }
}
static inline void sample_transforms(index_file *f) {
  put_header(f, "IxPT", 4, 3, true, 1);
  put_word(f, 8);
  put_fourcc(f, "VNrm");
  put_real(f, 2);
  put_transform_end(f, 4, 4);
  put_fourcc(f, "VCnt");
  put_real_vector(f, 4);
  put_transform_end(f, 4, 4);
  put_fourcc(f, "RmDT");
  put_long(f, 5);
  for (int i = 0; i < 5; i++) put_word(f, i - 1);
  put_transform_end(f, 4, 5);
  put_fourcc(f, "Pcam");
  put_real(f, -0.5f);
  put_real(f, 0);
  put_byte(f, 1);
  put_word(f, 0);
  put_real_vector(f, 5);
  put_real_vector(f, 5);
  put_real_vector(f, 25);
  put_linear(f, 5, 4, true);
  put_transform_end(f, 5, 4);
  put_fourcc(f, "LTra");
  put_linear(f, 4, 2, false);
  put_transform_end(f, 4, 2);
  put_fourcc(f, "rrot");
  put_linear(f, 2, 4, true);
  put_transform_end(f, 2, 4);
  put_fourcc(f, "Viqt");
  put_real_vector(f, 4);
  put_byte(f, 1);
  put_fourcc(f, "Viqm");
  put_word(f, 50);
  put_word(f, 123);
  put_linear(f, 2, 2, false);
  put_transform_end(f, 2, 2);
  put_fourcc(f, "LTra");
  put_linear(f, 4, 2, true);
  put_transform_end(f, 4, 2);
  put_transform_end(f, 4, 2);
  put_fourcc(f, "HRot");
  put_word(f, 12345);
  put_transform_end(f, 2, 2);
  put_flat(f, "IxF2", 2, 3, 1);
}

typedef struct sample_index {
  const char *name;
  void (*make)(index_file *f);
} sample_index;

static const sample_index samples[] = {{"flat", sample_flat},
                                       {"flat_ip", sample_flat_ip},
                                       {"flat_lp", sample_flat_lp},
                                       {"ivfpq", put_ivfpq},
                                       {"sparse_lists", sample_sparse_lists},
                                       {"sparse_by_half", sample_sparse_by_half},
                                       {"untrained", sample_untrained},
                                       {"no_lists", sample_no_lists},
                                       {"map_array", sample_map_array},
                                       {"map_hash", sample_map_hash},
                                       {"ivfpqr", sample_ivfpqr},
                                       {"ivfflat", sample_ivfflat},
                                       {"id_map", sample_id_map},
                                       {"id_map2", sample_id_map2},
                                       {"refine", sample_refine},
                                       {"hnsw", sample_hnsw},
                                       {"ivf_hnsw", sample_ivf_hnsw},
                                       {"pq", sample_pq},
                                       {"multi", sample_multi},
                                       {"ivfsq", sample_ivfsq},
                                       {"fast", sample_fast},
                                       {"transforms", sample_transforms}};

enum { SAMPLES = sizeof samples / sizeof *samples };

/* ---- Legacy files, each with the file of today that has the same in it ---- */

static inline void put_legacy(index_file *f, const char *fourcc, bool floats, size_t code_size,
                              void (*quantizer)(index_file *f), void (*end)(index_file *f)) {
  int64_t id = 0;
  put_ivf(f, fourcc, 6);
  for (int i = 0; i < 4; i++) {
    put_long(f, (int64_t)sample_sizes[i]);
    for (size_t k = 0; k < sample_sizes[i]; k++) put_long(f, id++);
  }
  put_no_map(f);
  if (quantizer) quantizer(f);
  for (int i = 0; i < 4; i++) {
    put_long(f, (int64_t)(sample_sizes[i] * code_size / (floats ? 4 : 1)));
    put_codes(f, sample_sizes[i] * code_size);
  }
  if (end) end(f);
}
static inline void put_pq_of_4(index_file *f) {
  put_ivf_pq(f, 4);
}
static inline void legacy_IvPQ(index_file *f) {
  put_legacy(f, "IvPQ", false, 1, put_pq_of_4, NULL);
}
static inline void legacy_IvQR(index_file *f) {
  put_legacy(f, "IvQR", false, 1, put_pq_of_4, put_refinement);
}
static inline void legacy_IvFl(index_file *f) {
  put_legacy(f, "IvFl", true, 16, NULL, NULL);
}
static inline void legacy_IvFL(index_file *f) {
  put_legacy(f, "IvFL", false, 16, NULL, NULL);
}
static inline void legacy_IvSQ(index_file *f) {
  put_legacy(f, "IvSQ", false, 4, put_sq, NULL);
}
static inline void legacy_IwSQ(index_file *f) {
  put_ivf(f, "IwSQ", 6);
  put_no_map(f);
  put_sq(f);
  put_lists(f, 4, 4, sample_sizes, true, 1);
}
static inline void sq_by_residual(index_file *f) {
  put_ivf(f, "IwSq", 6);
  put_no_map(f);
  put_sq(f);
  put_byte(f, 1);
  put_lists(f, 4, 4, sample_sizes, true, 1);
}
static inline void put_pca(index_file *f, int generation) {
  static const char *const names[] = {"PCAm", "PcAm", "Pcam"};
  put_header(f, "IxPT", 2, 1, true, 1);
  put_word(f, 1);
  put_fourcc(f, names[generation]);
  put_real(f, 0);
  if (generation > 1) put_real(f, 0);
  put_byte(f, 0);
  if (generation > 0) put_word(f, 0);
  put_real_vector(f, 2);
  put_real_vector(f, 2);
  put_real_vector(f, 4);
  put_linear(f, 2, 2, true);
  put_transform_end(f, 2, 2);
  put_flat(f, "IxF2", 2, 1, 1);
}
static inline void legacy_PCAm(index_file *f) {
  put_pca(f, 0);
}
static inline void legacy_PcAm(index_file *f) {
  put_pca(f, 1);
}
static inline void pca_of_today(index_file *f) {
  put_pca(f, 2);
}

static const struct {
  const char *name;
  void (*make)(index_file *f), (*today)(index_file *f);
} legacies[] = {{"IvPQ", legacy_IvPQ, put_ivfpq},      {"IvQR", legacy_IvQR, sample_ivfpqr},
                {"IvFl", legacy_IvFl, sample_ivfflat}, {"IvFL", legacy_IvFL, sample_ivfflat},
                {"IvSQ", legacy_IvSQ, sq_by_residual}, {"IwSQ", legacy_IwSQ, sq_by_residual},
                {"PCAm", legacy_PCAm, pca_of_today},   {"PcAm", legacy_PcAm, pca_of_today}};

enum { LEGACIES = sizeof legacies / sizeof *legacies };

#endif
