/* bench/gen_clicks.c: makes a click log whose truth is known.
 *
 *   gen_clicks ROWS [--seed S] [--fields F] [--format libsvm|libffm|dummy] [--truth FILE] > file
 *
 * A row is an event: a user, an item and a context, F fields in all, one feature of each. Ids of a field follow a power
 * law; fields have from 10 to 200,000 of them. Whether the item was clicked is drawn from a factorization machine:
 *   p = 1 / (1 + exp(-z)),  z = bias + sum of w_i + sum of <v_i, v_j> over pairs,  8 factors
 * whose numbers depend on the feature alone, so that another SEED gives other events of the same truth. FILE gets p of
 * each row as a line; the best that any model can do on these rows follows from it. Indices are 1-based in libsvm and
 * libffm, 0-based in dummy. No function of libm is used, so that the same arguments give the same bytes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/splitmix.h"

enum { RANK = 8, MOST_FIELDS = 64 };

typedef struct options {
  uint64_t rows, seed;
  uint32_t fields;
  const char *format, *truth;
} options;

/* ---- The truth ------------------------------------------------------------------------------------------ */

/* Ids of a field: user, item, then contexts that get smaller and larger in turn. */
static uint32_t size_of_field(uint32_t field) {
  static const uint32_t sizes[] = {200000, 50000, 10, 24, 100, 1000, 5000, 20000, 50, 400, 2000, 10000};
  return field < 2 ? sizes[field] : sizes[2 + (field - 2) % 10];
}

static uint32_t first_of_field(uint32_t field) {
  uint32_t first = 0;
  for (uint32_t f = 0; f < field; f++) first += size_of_field(f);
  return first;
}

typedef struct feature {
  double w, v[RANK];
} feature;

static feature feature_of(uint32_t index) {
  uint64_t rng = 0x5eed + (uint64_t)index * 1000003;
  feature f = {.w = 0.25 * bell(fw_splitmix64(&rng))};
  for (int k = 0; k < RANK; k++) f.v[k] = 0.11 * bell(fw_splitmix64(&rng));
  return f;
}

static double chance(const feature *features, uint32_t count) {
  double z = -1.2, cross = 0;
  for (uint32_t i = 0; i < count; i++) z += features[i].w;
  for (int k = 0; k < RANK; k++) {
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
      sum += features[i].v[k];
      squares += features[i].v[k] * features[i].v[k];
    }
    cross += sum * sum - squares;
  }
  return 1 / (1 + exponential(-(z + 0.5 * cross)));
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static void print_row(const options *o, bool click, const uint32_t *ids) {
  const bool dummy = strcmp(o->format, "dummy") == 0, ffm = strcmp(o->format, "libffm") == 0;
  printf("%d", click ? 1 : dummy ? -1 : 0);
  for (uint32_t f = 0; f < o->fields; f++) {
    if (dummy)
      printf(" %u", ids[f]);
    else if (ffm)
      printf(" %u:%u:1", f + 1, ids[f] + 1);
    else
      printf(" %u:1", ids[f] + 1);
  }
  putchar('\n');
}

static int make_rows(const options *o, FILE *truth) {
  uint32_t first[MOST_FIELDS], ids[MOST_FIELDS];
  feature features[MOST_FIELDS];
  uint64_t rng = o->seed;
  for (uint32_t f = 0; f < o->fields; f++) first[f] = first_of_field(f);
  for (uint64_t row = 0; row < o->rows; row++) {
    for (uint32_t f = 0; f < o->fields; f++) {
      const double u = uniform(&rng);
      ids[f] = first[f] + (uint32_t)(u * u * u * size_of_field(f));
      features[f] = feature_of(ids[f]);
    }
    const double p = chance(features, o->fields);
    print_row(o, uniform(&rng) < p, ids);
    if (truth) fprintf(truth, "%.9g\n", p);
  }
  return fflush(stdout) != 0 || ferror(stdout);
}

static bool is_format(const char *name) {
  return strcmp(name, "libsvm") == 0 || strcmp(name, "libffm") == 0 || strcmp(name, "dummy") == 0;
}

static bool read_options(options *o, int argc, char **argv) {
  *o = (options){.seed = 1, .fields = 39, .format = "libsvm"};
  if (argc < 2) return false;
  o->rows = strtoull(argv[1], NULL, 10);
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seed") == 0)
      o->seed = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--fields") == 0)
      o->fields = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--format") == 0)
      o->format = argv[i + 1];
    else if (strcmp(argv[i], "--truth") == 0)
      o->truth = argv[i + 1];
    else
      return false;
  }
  return argc % 2 == 0 && o->fields >= 2 && o->fields <= MOST_FIELDS && is_format(o->format);
}

int main(int argc, char **argv) {
  options o;
  if (!read_options(&o, argc, argv)) {
    fprintf(stderr, "usage: gen_clicks ROWS [--seed S] [--fields F] [--format libsvm|libffm|dummy] [--truth FILE]\n");
    return 2;
  }
  FILE *truth = o.truth ? fopen(o.truth, "w") : NULL;
  if (o.truth && !truth) {
    perror(o.truth);
    return 1;
  }
  int failed = make_rows(&o, truth);
  if (truth) failed |= fclose(truth) != 0;
  return failed;
}
