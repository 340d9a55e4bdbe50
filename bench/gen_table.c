/* bench/gen_table.c: makes tables that trees can learn from, as libsvm text.
 *
 *   gen_table KIND ROWS [--seed S] [--binary FILE] > file
 *
 *   binary      28 real features, as in the HIGGS data set: 21 measured, 7 worked out from them; label 0 or 1
 *   real        the same features; the label is a number
 *   classes     the same features; label 0 … 4
 *   missing     as binary, but every seventh feature or so is not there
 *   sparse      39 one-hot features a row, of 100,000, by a power law; label 0 or 1
 *
 * Indices are 1-based. FILE gets the same rows as 32-bit floats: the label, then 28 values (NaN: not there), or 39
 * 0-based indices. No function of libm is used, so that the same arguments give the same bytes.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/splitmix.h"

enum { MEASURED = 21, FEATURES = 28, FIELDS = 39, FIELD_IDS = 2564, CLASSES = 5 };

typedef enum table_kind { BINARY, REAL, SOME_CLASSES, MISSING, SPARSE, KINDS } table_kind;
static const char *const kind_names[KINDS] = {"binary", "real", "classes", "missing", "sparse"};

typedef struct options {
  table_kind kind;
  uint64_t rows, seed;
  const char *binary;
} options;

/* ---- Real features ---- */

/* Two sorts: around 0, and from 0 on with a long tail. */
static float measure(uint64_t *rng, int f) {
  const double x = bell(fw_splitmix64(rng));
  return (float)(f % 3 == 2 ? x * x + 0.3 * uniform(rng) : x);
}

static void fill_row(uint64_t *rng, float *x) {
  for (int f = 0; f < MEASURED; f++) x[f] = measure(rng, f);
  for (int f = MEASURED; f < FEATURES; f++) {
    const float a = x[f - MEASURED], b = x[2 * (f - MEASURED) + 1], c = x[20 - (f - MEASURED)];
    x[f] = a * b + 0.5F * c * c;
  }
}

/* What the label follows: steps, products, a bump; most of it is not linear. */
static double truth(const float *x) {
  double z =
      0.8 * x[0] * x[1] - 0.6 * x[3] * x[4] + (x[5] > 0.7F ? 0.9 : -0.3) + (x[6] > 0 && x[7] < 0.5F ? 0.7 : -0.2);
  z += 0.5 * (double)x[9] - 0.4 / (1 + (double)x[10] * x[10]) + 0.3 * (double)x[21] - 0.25 * (double)x[24];
  return z + (x[12] * x[13] > 0 ? 0.4 : -0.4) * (double)(x[2] < 1.5F ? x[2] : 1.5F);
}

static float label_of(table_kind kind, uint64_t *rng, double z) {
  if (kind == REAL) return (float)(10 + 2 * z + 0.5 * bell(fw_splitmix64(rng)));
  if (kind != SOME_CLASSES) return uniform(rng) < 1 / (1 + exponential(-1.5 * z)) ? 1 : 0;
  const double place = (z + 0.4 * bell(fw_splitmix64(rng)) + 2.5) * (CLASSES / 5.0);
  return (float)(place < 0 ? 0 : place >= CLASSES ? CLASSES - 1 : (int)place);
}

static void print_real(float label, const float *x) {
  printf("%.6g", (double)label);
  for (int f = 0; f < FEATURES; f++)
    if (!isnan(x[f])) printf(" %d:%.9g", f + 1, (double)x[f]);
  putchar('\n');
}

static void make_real(const options *o, FILE *binary) {
  uint64_t rng = o->seed;
  for (uint64_t row = 0; row < o->rows; row++) {
    float x[FEATURES];
    fill_row(&rng, x);
    const float label = label_of(o->kind, &rng, truth(x));
    for (int f = 0; o->kind == MISSING && f < FEATURES; f++)
      if (below(&rng, 7) == 0) x[f] = NAN;
    print_real(label, x);
    if (binary) fwrite(&label, sizeof label, 1, binary);
    if (binary) fwrite(x, sizeof x, 1, binary);
  }
}

/* ---- One-hot features ---- */

/* A feature's part in the label, from its number alone: most of them say something. */
static double weight_of(uint32_t id) {
  uint64_t rng = 0x7ab1e + (uint64_t)id * 1000003;
  return 0.35 * bell(fw_splitmix64(&rng));
}

static void make_sparse(const options *o, FILE *binary) {
  uint64_t rng = o->seed;
  for (uint64_t row = 0; row < o->rows; row++) {
    float ids[FIELDS];
    double z = -1;
    for (uint32_t f = 0; f < FIELDS; f++) {
      const double u = uniform(&rng), share = u * u * u * u;
      const uint32_t id = f * FIELD_IDS + (uint32_t)(share * FIELD_IDS);
      z += weight_of(id) + (f % 5 == 0 && id % 7 == 0 ? 0.5 : 0);
      ids[f] = (float)id;
    }
    const float label = uniform(&rng) < 1 / (1 + exponential(-z)) ? 1 : 0;
    printf("%d", (int)label);
    for (uint32_t f = 0; f < FIELDS; f++) printf(" %u:1", (uint32_t)ids[f] + 1);
    putchar('\n');
    if (binary) fwrite(&label, sizeof label, 1, binary);
    if (binary) fwrite(ids, sizeof ids, 1, binary);
  }
}

/* ---- Arguments ---- */

static bool read_options(options *o, int argc, char **argv) {
  *o = (options){.kind = KINDS, .seed = 1};
  if (argc < 3) return false;
  for (table_kind k = BINARY; k < KINDS; k++)
    if (strcmp(argv[1], kind_names[k]) == 0) o->kind = k;
  o->rows = strtoull(argv[2], NULL, 10);
  for (int i = 3; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    if (strcmp(argv[i], "--seed") == 0)
      o->seed = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--binary") == 0)
      o->binary = argv[i + 1];
    else
      return false;
  }
  return o->kind != KINDS && o->rows > 0;
}

int main(int argc, char **argv) {
  options o;
  if (!read_options(&o, argc, argv)) {
    fprintf(stderr, "usage: gen_table binary|real|classes|missing|sparse ROWS [--seed S] [--binary FILE]\n");
    return 2;
  }
  FILE *binary = o.binary ? fopen(o.binary, "wb") : NULL;
  if (o.binary && !binary) {
    perror(o.binary);
    return 1;
  }
  if (o.kind == SPARSE)
    make_sparse(&o, binary);
  else
    make_real(&o, binary);
  const bool written = !binary || (fclose(binary) == 0);
  return fflush(stdout) == 0 && !ferror(stdout) && written ? 0 : 1;
}
