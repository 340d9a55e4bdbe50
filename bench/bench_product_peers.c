/* bench/bench_product_peers.c: Furrow's matrix products beside those of OpenBLAS and oneDNN, one thread.
 *
 *   bench_product_peers [--isa avx2|avx512] [--quick] [--rounds N] [--json] [--only NAME]
 *
 * The shapes are those of training: the three products of a fully connected layer for a batch, and the products of
 * k-means, product quantizers and searching. Furrow cuts a batch into tasks of 32 rows, multiplies them with weights
 * that are packed once for an update (the packing counts), and cuts the gradient of weights into tasks: that is what is
 * timed for it. A peer gets the same tasks, and the whole batch in one call; the ratio is with the faster of the two.
 * `nearest` finds the nearest of k centroids: the peer multiplies and looks for the largest score; a second line has
 * its product alone, which is less than the work asked for.
 *
 * --isa starts the program again with FURROW_ISA, OPENBLAS_CORETYPE and ONEDNN_MAX_CPU_ISA set for that level, because
 * the libraries read them when they are loaded. */
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "contest.h"
#include "kern/math/gemm.h"
#include "kern/products/products.h"

#ifdef HAVE_OPENBLAS
#include <cblas.h>
#endif
#ifdef HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

enum { TASK_ROWS = 32, TASK_WEIGHTS = 3072, NET_SHAPES = 9 }; /* the first nine shapes are those of one net */

typedef enum product_kind { FORWARD, TO_INPUT, TO_WEIGHTS, NEAREST, SCORES } product_kind;

/* A layer: m rows of the batch, k inputs, n outputs. Vectors: m vectors, n centroids, k dimensions. */
typedef struct shape {
  const char *where;
  product_kind kind;
  size_t m, n, k;
} shape;

static const shape shapes[] = {
    {"DeepFM, first layer, forward", FORWARD, 1024, 100, 312},
    {"DeepFM, first layer, gradient of the input", TO_INPUT, 1024, 100, 312},
    {"DeepFM, first layer, gradient of weights", TO_WEIGHTS, 1024, 100, 312},
    {"second layer, forward", FORWARD, 1024, 100, 100},
    {"second layer, gradient of the input", TO_INPUT, 1024, 100, 100},
    {"second layer, gradient of weights", TO_WEIGHTS, 1024, 100, 100},
    {"last layer, forward", FORWARD, 1024, 1, 100},
    {"last layer, gradient of the input", TO_INPUT, 1024, 1, 100},
    {"last layer, gradient of weights", TO_WEIGHTS, 1024, 1, 100},
    {"PNN, first layer, forward", FORWARD, 1024, 100, 1053},
    {"PNN, first layer, gradient of the input", TO_INPUT, 1024, 100, 1053},
    {"PNN, first layer, gradient of weights", TO_WEIGHTS, 1024, 100, 1053},
    {"NFM, first layer, forward", FORWARD, 1024, 100, 8},
    {"NFM, first layer, gradient of the input", TO_INPUT, 1024, 100, 8},
    {"NFM, first layer, gradient of weights", TO_WEIGHTS, 1024, 100, 8},
    {"DeepFM, first layer, forward", FORWARD, 128, 100, 312},
    {"DeepFM, first layer, gradient of the input", TO_INPUT, 128, 100, 312},
    {"DeepFM, first layer, gradient of weights", TO_WEIGHTS, 128, 100, 312},
    {"DeepFM, first layer, forward", FORWARD, 8192, 100, 312},
    {"DeepFM, first layer, gradient of the input", TO_INPUT, 8192, 100, 312},
    {"DeepFM, first layer, gradient of weights", TO_WEIGHTS, 8192, 100, 312},
    {"DeepFM, first layer, one row scored", FORWARD, 1, 100, 312},
    {"k-means of lists, nearest", NEAREST, 768, 1024, 128},
    {"adding, nearest of lists", NEAREST, 768, 4096, 128},
    {"codes, nearest of sub-centroids", NEAREST, 192, 256, 8},
    {"codes, nearest of sub-centroids", NEAREST, 192, 256, 4},
    {"searching, scores of lists", SCORES, 24, 4096, 128},
    {"searching one, scores of lists", SCORES, 1, 4096, 128},
    {"exact search, scores", SCORES, 16, 1024, 128},
};

typedef void product_function(char kind, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                              size_t ldb, float *c, size_t ldc, bool add);

typedef struct job {
  const shape *shape;
  product_function *product;
  bool whole;             /* in one call */
  float *x, *w, *grad;    /* m x k, k x n, m x n */
  float *centroids;       /* n x k */
  float *out;             /* of any of the products */
  float *half_square;     /* of each centroid */
  float *packed_weights;  /* NULL: they are not packed */
  float *bias;            /* of a forward product with packed weights: zeros */
  fw_packed packed;       /* centroids */
  const fw_packed *using; /* NULL: not ours */
  bool looks;             /* for the largest score behind the product */
  uint32_t *best;
  float *score;
} job;

/* ---- The products ---- */

static void ours(char kind, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb,
                 float *c, size_t ldc, bool add) {
  const fw_gemm *gemm = fw_gemm_table();
  (kind == 'n' ? gemm->nn : kind == 't' ? gemm->nt : gemm->tn)(m, n, k, a, lda, b, ldb, c, ldc, add);
}

/* kind: n a b; t a b', l a' b */
#ifdef HAVE_OPENBLAS
static void openblas(char kind, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb,
                     float *c, size_t ldc, bool add) {
  cblas_sgemm(CblasRowMajor, kind == 'l' ? CblasTrans : CblasNoTrans, kind == 't' ? CblasTrans : CblasNoTrans, (int)m,
              (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, add ? 1 : 0, c, (int)ldc);
}
#endif

#ifdef HAVE_ONEDNN
static void onednn(char kind, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb,
                   float *c, size_t ldc, bool add) {
  dnnl_sgemm(kind == 'l' ? 'T' : 'N', kind == 't' ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k, 1, a,
             (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, add ? 1 : 0, c, (dnnl_dim_t)ldc);
}
#endif

/* ---- A batch ---- */

/* c (m x n) = a b, with b packed first; the element (row, col) of b is b[row * by_row + col * by_col]. */
static void multiply_packed(const job *j, size_t n, size_t k, const float *a, const float *b, size_t by_row,
                            size_t by_col) {
  const fw_gemm *gemm = fw_gemm_table();
  const size_t m = j->shape->m;
  gemm->pack(&(fw_gemm_pack){k, n, b, by_row, by_col, 0, k, 0, n, j->packed_weights});
  for (size_t i = 0; i < m; i += TASK_ROWS) {
    const fw_gemm_part part = {a + i * k, k, 1, k};
    gemm->multiply(&(fw_gemm_job){.m = m - i < TASK_ROWS ? m - i : TASK_ROWS,
                                  .n = n,
                                  .end_col = n,
                                  .parts = &part,
                                  .part_count = 1,
                                  .packed = j->packed_weights,
                                  .c = j->out + i * n,
                                  .ldc = n,
                                  .bias = j->bias});
  }
}

/* out = x w, over zeros, as a layer adds to its bias */
static void forward(const job *j) {
  const shape *s = j->shape;
  if (j->packed_weights) {
    multiply_packed(j, s->n, s->k, j->x, j->w, s->n, 1);
    return;
  }
  const size_t step = j->whole ? s->m : TASK_ROWS;
  memset(j->out, 0, s->m * s->n * sizeof *j->out);
  for (size_t i = 0; i < s->m; i += step)
    j->product('n', s->m - i < step ? s->m - i : step, s->n, s->k, j->x + i * s->k, s->k, j->w, s->n, j->out + i * s->n,
               s->n, true);
}

static void to_input(const job *j) {
  const shape *s = j->shape;
  if (j->packed_weights) {
    multiply_packed(j, s->k, s->n, j->grad, j->w, 1, s->n);
    return;
  }
  const size_t step = j->whole ? s->m : TASK_ROWS;
  for (size_t i = 0; i < s->m; i += step)
    j->product('t', s->m - i < step ? s->m - i : step, s->k, s->n, j->grad + i * s->n, s->n, j->w, s->n,
               j->out + i * s->k, s->k, false);
}

static void to_weights(const job *j) {
  const shape *s = j->shape;
  const fw_gemm *gemm = fw_gemm_table();
  const size_t step = j->whole ? s->k : TASK_WEIGHTS / s->n / 8 * 8;
  if (j->packed_weights) {
    gemm->pack(&(fw_gemm_pack){s->m, s->n, j->grad, s->n, 1, 0, s->m, 0, s->n, j->packed_weights});
    for (size_t i = 0; i < s->k; i += step) {
      const fw_gemm_part part = {j->x + i, 1, s->k, s->m};
      gemm->multiply(&(fw_gemm_job){.m = s->k - i < step ? s->k - i : step,
                                    .n = s->n,
                                    .end_col = s->n,
                                    .parts = &part,
                                    .part_count = 1,
                                    .packed = j->packed_weights,
                                    .c = j->out + i * s->n,
                                    .ldc = s->n});
    }
    return;
  }
  for (size_t i = 0; i < s->k; i += step)
    j->product('l', s->k - i < step ? s->k - i : step, s->n, s->m, j->x + i, s->k, j->grad, s->n, j->out + i * s->n,
               s->n, false);
}

/* The first largest of n scores, two registers of 8 at a time: a loop that costs a peer little. */
#if defined(__x86_64__)
#define WITH_AVX2 __attribute__((target("avx2")))
#else
#define WITH_AVX2
#endif

typedef float floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(32)));

WITH_AVX2 static uint32_t largest(const float *scores, const float *bias, size_t n, float *score) {
  floats top[2];
  ints where[2], at[2] = {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}};
  for (int v = 0; v < 2; v++) {
    top[v] = *(const floats *)(scores + v * 8) - *(const floats *)(bias + v * 8);
    where[v] = at[v];
  }
  for (size_t j = 16; j < n; j += 16)
    for (int v = 0; v < 2; v++) {
      const floats next = *(const floats *)(scores + j + v * 8) - *(const floats *)(bias + j + v * 8);
      const ints more = (ints)(next > top[v]);
      at[v] += 16;
      top[v] = (floats)(((ints)next & more) | ((ints)top[v] & ~more));
      where[v] = (at[v] & more) | (where[v] & ~more);
    }
  float tops[16];
  int32_t found_at[16];
  memcpy(tops, top, sizeof tops);
  memcpy(found_at, where, sizeof found_at);
  int best = 0;
  for (int i = 1; i < 16; i++)
    if (tops[i] > tops[best] || (tops[i] >= tops[best] && found_at[i] < found_at[best])) best = i;
  *score = tops[best];
  return (uint32_t)found_at[best];
}

static void nearest(const job *j) {
  const shape *s = j->shape;
  if (j->using) {
    fw_products_table()->nearest(j->using, j->x, s->m, s->k, j->best, j->score);
    return;
  }
  j->product('t', s->m, s->n, s->k, j->x, s->k, j->centroids, s->k, j->out, s->n, false);
  for (size_t i = 0; j->looks && i < s->m; i++)
    j->best[i] = largest(j->out + i * s->n, j->half_square, s->n, &j->score[i]);
}

static void scores(const job *j) {
  const shape *s = j->shape;
  if (j->using)
    fw_products_table()->scores(j->using, j->x, s->m, s->k, j->out, s->n);
  else
    j->product('t', s->m, s->n, s->k, j->x, s->k, j->centroids, s->k, j->out, s->n, false);
}

static void work(void *context) {
  static void (*const all[])(const job *) = {forward, to_input, to_weights, nearest, scores};
  const job *j = context;
  all[j->shape->kind](j);
}

/* ---- One shape ---- */

static float *numbers(fw_rng *rng, size_t n) {
  float *made = aligned_alloc(64, (n + 16) * sizeof *made / 64 * 64 + 64);
  if (!made) abort();
  for (size_t i = 0; i < n; i++) made[i] = (float)fw_rng_normal(rng);
  return made;
}

static size_t out_size(const shape *s) {
  return s->kind == TO_INPUT ? s->m * s->k : s->kind == TO_WEIGHTS ? s->k * s->n : s->m * s->n;
}

static job make_job(const shape *s) {
  fw_rng rng;
  fw_rng_init(&rng, 1);
  job j = {.shape = s, .product = ours, .x = numbers(&rng, s->m * s->k), .w = numbers(&rng, s->k * s->n)};
  j.grad = numbers(&rng, s->m * s->n);
  j.out = numbers(&rng, out_size(s));
  const bool packs = s->kind <= TO_WEIGHTS && s->n > 1 && s->m > 1; /* as layers do */
  if (packs) {
    const size_t rows = s->kind == FORWARD ? s->k : s->kind == TO_INPUT ? s->n : s->m;
    const size_t columns = s->kind == TO_INPUT ? s->k : s->n;
    const size_t size = fw_gemm_table()->packed_size(rows, columns);
    j.packed_weights = numbers(&rng, size);
    memset(j.packed_weights, 0, size * sizeof *j.packed_weights);
    j.bias = s->kind == FORWARD ? calloc(columns, sizeof *j.bias) : NULL;
  }
  if (s->kind != NEAREST && s->kind != SCORES) return j;
  furrow_error err;
  const bool l2 = s->kind == NEAREST;
  j.centroids = j.w;
  j.half_square = numbers(&rng, s->n);
  for (size_t i = 0; i < s->n; i++) {
    double sum = 0;
    for (size_t d = 0; d < s->k; d++) sum += (double)j.w[i * s->k + d] * (double)j.w[i * s->k + d];
    j.half_square[i] = (float)(sum / 2);
  }
  j.best = calloc(s->m, sizeof *j.best);
  j.score = calloc(s->m, sizeof *j.score);
  if (!j.best || !j.score || fw_packed_create(&j.packed, j.centroids, s->n, s->k, s->k, l2, &err) != FURROW_OK ||
      (l2 && fw_packed_add_sketch(&j.packed, j.centroids, s->k, l2, &err) != FURROW_OK))
    abort();
  return j;
}

static void free_job(job *j) {
  free(j->x);
  free(j->w);
  free(j->grad);
  free(j->out);
  free(j->packed_weights);
  free(j->bias);
  free(j->half_square);
  free(j->best);
  free(j->score);
  fw_packed_clear(&j->packed);
}

/* Whether a contestant found what Furrow found. */
static bool same_result(contestant *first, contestant *other) {
  job *a = first->context, *b = other->context;
  const size_t n = out_size(a->shape);
  if (a->shape->kind == NEAREST) {
    if (!b->using && !b->looks) return true;
    uint32_t *best = malloc(a->shape->m * sizeof *best);
    size_t same = 0;
    if (!best) abort();
    first->work(a);
    memcpy(best, a->best, a->shape->m * sizeof *best);
    other->work(b);
    for (size_t i = 0; i < a->shape->m; i++) same += best[i] == b->best[i];
    free(best);
    return same * 1000 >= a->shape->m * 995;
  }
  float *out = malloc(n * sizeof *out);
  if (!out) abort();
  first->work(a);
  memcpy(out, a->out, n * sizeof *out);
  memset(b->out, 0, n * sizeof *out);
  other->work(b);
  bool same = true;
  for (size_t i = 0; i < n; i++) same &= fabsf(out[i] - b->out[i]) <= 1e-3F * (1 + sqrtf((float)a->shape->m));
  free(out);
  return same;
}

typedef struct peer {
  const char *name;
  product_function *product;
} peer;

static const peer peers[] = {
#ifdef HAVE_OPENBLAS
    {"OpenBLAS", openblas},
#endif
#ifdef HAVE_ONEDNN
    {"oneDNN", onednn},
#endif
    {NULL, NULL},
};

static void print_figure(const contest_options *o, const shape *s, const char *isa, const contestant *us,
                         const contestant *other) {
  const double flops = 2e-9 * (double)s->m * (double)s->n * (double)s->k;
  const char *form = o->json ? "{\"what\": \"%s\", \"m\": %zu, \"k\": %zu, \"n\": %zu, \"isa\": \"%s\", \"us\": %.2f, "
                               "\"gflops\": %.1f, \"peer\": \"%s\", \"peer_us\": %.2f, \"peer_gflops\": %.1f, "
                               "\"ratio\": %.2f}\n"
                             : "%-44s %5zu x %4zu x %4zu %-6s %9.2f us %6.1f GF/s   %-22s %9.2f us %6.1f GF/s %6.2f\n";
  printf(form, s->where, s->m, s->k, s->n, isa, us->seconds * 1e6, flops / us->seconds, other->name,
         other->seconds * 1e6, flops / other->seconds, other->ratio);
  fflush(stdout);
}

/* ---- All products of an update ---- */

typedef struct net_sum {
  double ours, peer[sizeof peers / sizeof *peers];
} net_sum;

static net_sum net;

static void add_to_net(const shape *s, const contestant *us, const contestant *other, size_t peer_index) {
  if (s >= shapes + NET_SHAPES) return;
  if (peer_index == 0) net.ours += us->seconds;
  net.peer[peer_index] += other->seconds;
}

static void print_net(const contest_options *o, const char *isa) {
  for (size_t i = 0; peers[i].name; i++) {
    const char *form = o->json ? "{\"what\": \"%s\", \"isa\": \"%s\", \"us\": %.2f, \"peer\": \"%s\", "
                                 "\"peer_us\": %.2f, \"ratio\": %.2f}\n"
                               : "%-44s %-6s %9.2f us   %-10s %9.2f us %6.2f\n";
    printf(form, "DeepFM, all products of a batch of 1024", isa, net.ours * 1e6, peers[i].name, net.peer[i] * 1e6,
           net.peer[i] / net.ours);
  }
}

/* How many outputs of a layer have the same bits when their row is multiplied alone and in a batch of 1024. */
static void print_sameness(const char *name, product_function *product) {
  const shape s = {"", FORWARD, 1024, 100, 312};
  job j = make_job(&s);
  float *alone = calloc(s.m * s.n, sizeof *alone);
  if (!alone) abort();
  j.product = product;
  j.whole = true;
  if (product != ours) {
    free(j.packed_weights);
    j.packed_weights = NULL;
  }
  forward(&j);
  size_t same = 0;
  for (size_t i = 0; i < s.m; i++) product('n', 1, s.n, s.k, j.x + i * s.k, s.k, j.w, s.n, alone + i * s.n, s.n, true);
  for (size_t i = 0; i < s.m * s.n; i++) same += memcmp(&alone[i], &j.out[i], sizeof *alone) == 0;
  printf("%s: %zu of %zu outputs have the same bits in a batch and alone\n", name, same, s.m * s.n);
  free(alone);
  free_job(&j);
}

/* ---- The program ---- */

static bool run_shape(const shape *s, const contest_options *o, const char *isa) {
  job jobs[CONTEST_MOST];
  contestant all[CONTEST_MOST];
  char names[CONTEST_MOST][32];
  size_t count = 0, first_peer = 0;
  const bool vectors = s->kind == NEAREST || s->kind == SCORES;
  jobs[0] = make_job(s);
  if (vectors) jobs[0].using = &jobs[0].packed;
  all[count++] = (contestant){.name = "Furrow", .work = work, .context = &jobs[0]};
  first_peer = count;
  for (const peer *p = peers; p->name; p++) {
    for (int variant = 0; variant < 2; variant++) {
      if (s->kind == SCORES && variant > 0) continue;
      jobs[count] = jobs[0];
      jobs[count].using = NULL;
      jobs[count].packed_weights = NULL;
      jobs[count].product = p->product;
      jobs[count].whole = variant == 1;
      jobs[count].looks = variant == 0;
      snprintf(names[count], sizeof names[count], "%s%s", p->name,
               s->kind == NEAREST  ? (variant ? ", product alone" : "")
               : s->kind == SCORES ? ""
               : variant           ? ", one call"
                                   : ", by tasks");
      all[count] = (contestant){.name = names[count], .work = work, .context = &jobs[count]};
      count++;
    }
  }
  if (!vectors) {
    jobs[count] = jobs[0];
    jobs[count].whole = true;
    jobs[count].packed_weights = NULL;
    all[count] = (contestant){.name = "Furrow, one call", .work = work, .context = &jobs[count]};
    count++;
  }
  bool good = true;
  for (size_t i = first_peer; i < count; i++)
    if (!same_result(&all[0], &all[i])) {
      fprintf(stderr, "bench_product_peers: %s: %s does not find what Furrow finds\n", s->where, all[i].name);
      good = false;
    }
  if (o->only) {
    for (size_t i = 0; i < count; i++)
      if (strcmp(all[i].name, o->only) == 0) contest_time(&all[i], o->rounds);
  } else {
    contest_run(all, count, o);
    for (size_t i = first_peer; i < count; i++) {
      const bool paired = !vectors && i + 1 < count && (i - first_peer) % 2 == 0;
      /* of tasks and one call, the faster */
      if (paired) {
        const size_t better = all[i].seconds <= all[i + 1].seconds ? i : i + 1;
        print_figure(o, s, isa, &all[0], &all[better]);
        add_to_net(s, &all[0], &all[better], (i - first_peer) / 2);
        i++;
      } else {
        print_figure(o, s, isa, &all[0], &all[i]);
      }
    }
  }
  free_job(&jobs[0]);
  return good;
}

/* Starts the program again with the environment of a level. */
static int restart(char **argv, const char *isa) {
  const bool wide = strcmp(isa, "avx512") == 0;
  const bool named = wide || strcmp(isa, "avx2") == 0;
  if (named) setenv("FURROW_ISA", isa, 1);
  if (named) setenv("OPENBLAS_CORETYPE", wide ? "SkylakeX" : "Haswell", 1); /* it does not know newer processors */
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  if (named) setenv("ONEDNN_MAX_CPU_ISA", wide ? "ALL" : "AVX2", 1);
  setenv("BENCH_PRODUCT_LEVEL", isa, 1);
  execv("/proc/self/exe", argv);
  perror("bench_product_peers");
  return 1;
}

int main(int argc, char **argv) {
  contest_options o = {.rounds = 15, .least = 0.005};
  const char *isa = NULL;
  int rest = 1;
  char *left[32] = {argv[0]};
  int count = 1;
  for (int i = 1; i < argc && count < 31; i++) {
    if (strcmp(argv[i], "--isa") == 0 && i + 1 < argc)
      isa = argv[++i];
    else
      left[count++] = argv[i];
  }
  if (!contest_parse(count, left, &o, &rest) || rest != count ||
      (isa && strcmp(isa, "avx2") != 0 && strcmp(isa, "avx512") != 0)) {
    fprintf(stderr, "usage: bench_product_peers [--isa avx2|avx512] [--quick] [--rounds N] [--json] [--only NAME]\n");
    return 2;
  }
#if defined(__x86_64__)
  if (!isa) isa = fw_isa_choose() >= FW_ISA_AVX512 ? "avx512" : "avx2";
#else
  if (!isa) isa = "widest"; /* of all three */
#endif
  const char *level = getenv("BENCH_PRODUCT_LEVEL");
  if (!level || strcmp(level, isa) != 0) return restart(argv, isa);
#ifdef HAVE_OPENBLAS
  openblas_set_num_threads(1);
  if (!o.json) printf("%s, %s\n", openblas_get_config(), openblas_get_corename());
#else
  fprintf(stderr, "bench_product_peers: built without OpenBLAS (libopenblas-dev)\n");
#endif
#ifdef HAVE_ONEDNN
  const dnnl_version_t *v = dnnl_version();
  if (!o.json) printf("oneDNN %d.%d.%d\n", v->major, v->minor, v->patch);
#else
  fprintf(stderr, "bench_product_peers: built without oneDNN (libdnnl-dev)\n");
#endif
  bool good = true;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) good &= run_shape(&shapes[i], &o, isa);
  if (o.only) return good ? 0 : 1;
  print_net(&o, isa);
  if (!o.json) {
    print_sameness("Furrow", ours);
    for (const peer *p = peers; p->name; p++) print_sameness(p->name, p->product);
  }
  return good ? 0 : 1;
}
