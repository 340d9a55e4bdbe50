/* cli/index/cmd_index_estimate.c: furrow index estimate: size, memory and time of an index before it is built. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/progress.h"
#include "core/report.h"
#include "index/spec_options.h"

typedef struct estimate_values {
  spec_values spec;
  uint64_t n, dim;
  uint32_t threads;
  furrow_direct_map direct_map;
  bool ids, only_sizes, json;
} estimate_values;

static const option estimate_options[] = {
    {.name = "count",
     .letter = 'n',
     .kind = OPTION_U64,
     .argument = "N",
     .help = "vectors",
     .offset = offsetof(estimate_values, n),
     .required = true},
    {.name = "dim",
     .letter = 'd',
     .kind = OPTION_U64,
     .argument = "D",
     .help = "elements of a vector",
     .offset = offsetof(estimate_values, dim),
     .required = true},
    {.name = "direct-map",
     .kind = OPTION_ENUM,
     .choices = "none|array|hash",
     .help = "map from ids to positions in the lists",
     .offset = offsetof(estimate_values, direct_map)},
    {.name = "own-ids",
     .kind = OPTION_FLAG,
     .help = "the vectors come with ids; an index with a refinement stores the ids twice",
     .offset = offsetof(estimate_values, ids)},
    {.name = "only-sizes",
     .kind = OPTION_FLAG,
     .help = "estimate sizes only, without times; measures nothing",
     .offset = offsetof(estimate_values, only_sizes)},
    {.name = "threads",
     .kind = OPTION_THREADS,
     .argument = "T",
     .help = "threads for the measurements (0: one for each processor)",
     .offset = offsetof(estimate_values, threads)},
    JSON_OPTION(offsetof(estimate_values, json)),
    {0}};

static const option_group estimate_groups[] = {
    {.title = "Options", .options = estimate_options},
    {.title = "The index", .options = spec_options, .offset = offsetof(estimate_values, spec)},
    {0}};

/* ---- Size: the layouts of docs/formats/faiss-ivfpq.md --------------------------------------------------- */

typedef struct index_size {
  uint64_t codes;      /* codes of all vectors; IVF flat: the vectors */
  uint64_t ids;        /* ids in the lists and in an id map */
  uint64_t centroids;  /* centroids of the lists */
  uint64_t graph;      /* HNSW graph over the centroids, without the centroids */
  uint64_t quantizers; /* centroids of sub-quantizers */
  uint64_t refinement; /* second codes, or vectors */
  uint64_t direct_map;
  uint64_t rest; /* headers, sizes of lists, transforms */
  uint64_t total;
  bool exact; /* false: levels of a graph are random, or few vectors leave lists empty */
} index_size;

enum {
  HEADER = 37,                         /* fourcc, d, ntotal, two dummies, trained, metric */
  COUNT = 8,                           /* before the elements of an array */
  PQ_HEADER = 24 + COUNT,              /* d, m, nbits */
  LISTS_HEADER = 4 + 8 + 8 + 4 + COUNT /* ilar, nlist, code size, full */
};

static uint64_t code_size(uint64_t m, unsigned nbits) {
  return (m * nbits + 7) / 8;
}

static uint64_t pq_floats(uint64_t d, unsigned nbits) {
  return 4 * (d << nbits);
}

/* Bytes of levels and links of a graph of n vectors: level l has probability m^-l (1 - 1/m), down to 1e-9. */
static uint64_t graph_bytes(uint64_t n, uint64_t m) {
  uint64_t levels = 0;
  while (pow((double)m, -(double)levels) * (1 - 1 / (double)m) >= 1e-9) levels++;
  const double links = (double)n * (2 * (double)m + (double)m / ((double)m - 1));
  return HEADER + (COUNT + 8 * levels) + (COUNT + 4 * (levels + 1)) + (COUNT + 4 * n) + (COUNT + 8 * (n + 1)) + COUNT +
         4 * (uint64_t)links + 5 * 4;
}

/* The transforms and the index around them. */
static uint64_t transform_bytes(const furrow_index_spec *spec, uint64_t inner_d) {
  const uint64_t tail = 4 + 4 + 1;
  uint64_t bytes = 0;
  if (spec->normalize) bytes += 4 + 4 + tail;
  if (spec->opq) bytes += 4 + 1 + COUNT + 4 * inner_d * (uint64_t)spec->d + COUNT + tail;
  return bytes ? bytes + HEADER + 4 : 0;
}

/* Sizes for n vectors. The spec is one that furrow_index_create takes. */
static void compute_size(index_size *size, const furrow_index_spec *spec, uint64_t n, furrow_direct_map map) {
  const uint64_t d = spec->opq && spec->opq_d ? (uint64_t)spec->opq_d : (uint64_t)spec->d, nlist = spec->nlist;
  *size = (index_size){.exact = spec->hnsw_m == 0 && n >= 16 * nlist};
  size->centroids = 4 * nlist * d;
  size->rest = HEADER + 8 + 8 + HEADER + COUNT + 1 + COUNT + LISTS_HEADER + 8 * nlist;
  if (spec->hnsw_m) size->graph = graph_bytes(nlist, spec->hnsw_m);
  size->codes = n * (spec->m ? code_size(spec->m, spec->nbits) : 4 * d);
  size->ids = 8 * n;
  if (spec->m) {
    size->quantizers = pq_floats(d, spec->nbits);
    size->rest += 1 + 8 + PQ_HEADER;
  }
  if (map == FURROW_DIRECT_MAP_ARRAY) size->direct_map = 8 * n;
  if (map == FURROW_DIRECT_MAP_HASHTABLE) size->direct_map = COUNT + 16 * n;
  if (spec->refine_m) {
    size->quantizers += pq_floats(d, spec->refine_nbits);
    size->refinement = n * code_size(spec->refine_m, spec->refine_nbits);
    size->rest += PQ_HEADER + COUNT + 4;
  }
  if (spec->refine_flat) {
    size->refinement += 4 * n * (uint64_t)spec->d;
    size->rest += HEADER + HEADER + COUNT + 4;
  }
  size->rest += transform_bytes(spec, d);
  if (spec->id_map) {
    size->ids += 8 * n;
    size->rest += HEADER + COUNT;
  }
  size->total = size->codes + size->ids + size->centroids + size->graph + size->quantizers + size->refinement +
                size->direct_map + size->rest;
}

/* ---- Measuring ------------------------------------------------------------------------------------------ */

/* Seconds for one vector: in a round of training lists, in a round of training quantizers, adding. */
typedef struct rates {
  double coarse, pq, add;
} rates;

/* Times of a trial, while it runs. */
typedef struct stopwatch {
  double began;             /* the current step */
  double round, quantizers; /* the fastest round for lists after the first one, all of the quantizers */
} stopwatch;

enum {
  TRIAL_LISTS = 1024,
  TRIAL_VECTORS = 1 << 14,
  TRIAL_PART = 1 << 12, /* vectors for each thread, at least */
  TRIAL_FLOATS = 1 << 22,
  TRIAL_ROUNDS = 3, /* for lists; for quantizers */
  TRIAL_PQ_ROUNDS = 5,
  LEAST_VECTORS = 512
};

/* Skips the first round, which also finds out which method is fastest; a large build does that only once. */
static bool add_seconds(void *user, const char *phase, uint64_t done, uint64_t total) {
  stopwatch *w = user;
  const double now = now_seconds(), passed = now - w->began;
  (void)total;
  if (phase[0] != 'c')
    w->quantizers += passed;
  else if (done > 1 && passed < w->round)
    w->round = passed;
  w->began = now;
  return true;
}

static float next_noise(uint64_t *state) { /* xorshift */
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (float)(*state >> 40) * 0x1p-24F - 0.5F;
}

/* Vectors in clusters, which are wider in lower dimensions. Embeddings have such clusters, and they make building
 * faster than comparing everything. */
static void fill_with_clusters(float *values, size_t n, size_t d, size_t clusters) {
  uint64_t state = 88172645463325252U;
  for (size_t i = 0; i < n; i++) {
    const float *centre = values + (size_t)((next_noise(&state) + 0.5F) * (float)clusters) * d;
    for (size_t k = 0; k < d; k++) {
      const float width = 1 / ((float)k + 4), noise = next_noise(&state) * sqrtf(width * sqrtf(width));
      values[i * d + k] = i < clusters ? noise : centre[k] + noise * 0.7F;
    }
  }
}

/* Adds twice: the first call also prepares the quantizers. */
static furrow_status time_adding(furrow_index *index, const float *vectors, size_t n, unsigned threads, double *seconds,
                                 furrow_error *err) {
  furrow_index_add_params add;
  furrow_index_add_params_init(&add);
  add.threads = threads;
  furrow_status status = furrow_index_add(index, vectors, n, &add, NULL, err);
  const double began = now_seconds();
  if (status == FURROW_OK) status = furrow_index_add(index, vectors, n, &add, NULL, err);
  *seconds = now_seconds() - began;
  return status;
}

static furrow_status time_trial(const furrow_index_spec *spec, const float *vectors, size_t n, unsigned threads,
                                unsigned pq_rounds, rates *r, furrow_error *err) {
  furrow_index_train_params train;
  stopwatch w = {.round = INFINITY};
  furrow_index *index = NULL;
  furrow_index_train_params_init(&train);
  train.threads = threads;
  train.coarse_rounds = TRIAL_ROUNDS;
  train.pq_rounds = pq_rounds;
  train.progress = add_seconds;
  train.user = &w;
  furrow_status status = furrow_index_create(&index, spec, err);
  w.began = now_seconds();
  if (status == FURROW_OK) status = furrow_index_train(index, vectors, n, &train, err);
  if (status == FURROW_OK) status = time_adding(index, vectors, n, threads, &r->add, err);
  const double residuals = w.round < w.quantizers ? w.round : 0; /* quantizers are trained with those */
  r->coarse = isfinite(w.round) ? w.round / (double)n : 0;
  r->pq = (w.quantizers - residuals) / ((double)n * (double)pq_rounds);
  r->add /= (double)n;
  furrow_index_free(index);
  return status;
}

/* Vectors of a trial: enough that all threads have work, few enough that it is short. */
static size_t trial_vectors(size_t d, unsigned threads) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  const size_t used = threads > 0 ? threads : processors > 0 ? (size_t)processors : 1;
  size_t n = used * TRIAL_PART > TRIAL_VECTORS ? used * TRIAL_PART : TRIAL_VECTORS;
  if (n > TRIAL_FLOATS / d) n = TRIAL_FLOATS / d;
  return n > LEAST_VECTORS ? n : LEAST_VECTORS;
}

/* Extrapolates times to more lists than a trial has: times are assumed to grow as they do from a quarter of the trial's
 * lists to all of them. */
static double extend_rate(double quarter, double all, double lists, double wanted) {
  const double slope = all > quarter ? (all - quarter) / (0.75 * lists) : all / lists;
  return all + slope * (wanted - lists);
}

/* Builds a small index of the same kind, and another where it has fewer lists than the wanted one. */
static furrow_status measure_rates(const furrow_index_spec *wanted, unsigned threads, rates *r, furrow_error *err) {
  const size_t d = (size_t)wanted->d, n = trial_vectors(d, threads);
  const uint64_t most = n / 8 < TRIAL_LISTS ? n / 8 : TRIAL_LISTS;
  furrow_index_spec spec;
  furrow_index_spec_init(&spec);
  spec.d = wanted->d;
  spec.metric = wanted->metric;
  spec.nlist = wanted->nlist < most ? wanted->nlist : most;
  spec.m = wanted->m;
  spec.nbits = wanted->nbits < 8 ? wanted->nbits : 8;
  float *vectors = malloc(n * d * sizeof *vectors);
  if (!vectors) return fail_memory(err);
  fill_with_clusters(vectors, n, d, (size_t)(2 * spec.nlist < n ? 2 * spec.nlist : n));
  furrow_status status = time_trial(&spec, vectors, n, threads, TRIAL_PQ_ROUNDS, r, err);
  const double larger = pow(2, (double)wanted->nbits - spec.nbits); /* more centroids per sub-quantizer */
  if (larger > 1) r->add += (larger - 1) * fmax(r->add - r->coarse, 0);
  r->pq *= larger;
  if (status == FURROW_OK && spec.nlist < wanted->nlist) {
    rates quarter = {0};
    const double lists = (double)spec.nlist, all = (double)wanted->nlist;
    spec.nlist = (spec.nlist + 3) / 4;
    status = time_trial(&spec, vectors, n, threads, 1, &quarter, err);
    r->coarse = extend_rate(quarter.coarse, r->coarse, lists, all);
    r->add = extend_rate(quarter.add, r->add, lists, all);
  }
  free(vectors);
  return status;
}

/* ---- Report --------------------------------------------------------------------------------------------- */

static void put_bytes(report *r, const char *name, uint64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double amount = (double)bytes;
  size_t unit = 0;
  if (r->json) {
    report_u64(r, name, bytes);
    return;
  }
  for (; amount >= 1024 && unit < 4; unit++) amount /= 1024;
  if (unit == 0)
    report_line(r, name, "%" PRIu64, bytes);
  else
    report_line(r, name, "%" PRIu64 " (%.1f %s)", bytes, amount, units[unit]);
}

static void put_part(report *r, const char *name, uint64_t bytes) {
  if (bytes || r->json) put_bytes(r, name, bytes);
}

static void report_sizes(report *r, const index_size *size, uint64_t n) {
  put_bytes(r, size->exact || r->json ? "file" : "file about", size->total);
  if (r->json) report_bool(r, "exact", size->exact);
  report_section(r, "of these");
  put_part(r, "codes", size->codes);
  put_part(r, "ids", size->ids);
  put_part(r, "centroids", size->centroids);
  put_part(r, "graph", size->graph);
  put_part(r, "quantizers", size->quantizers);
  put_part(r, "refinement", size->refinement);
  put_part(r, "direct map", size->direct_map);
  put_part(r, "rest", size->rest);
  report_end(r);
  if (n) report_f64(r, "bytes per vector", (double)size->total / (double)n);
}

/* A searcher holds a copy of the codes in blocks, a number for each vector, and the centroids. */
static void report_memory(report *r, const index_size *size, const furrow_index_spec *spec, uint64_t n,
                          uint64_t sample) {
  const uint64_t blocks = spec->m && spec->nbits <= 8 ? n * (spec->m + 4) + spec->nlist * 8 * spec->m : 0;
  const uint64_t training = 2 * 4 * sample * (uint64_t)spec->d;
  const uint64_t building = size->total + 4 * (uint64_t)65536 * (uint64_t)spec->d;
  report_section(r, "memory");
  put_bytes(r, "training", training);
  put_bytes(r, "building", building);
  put_bytes(r, "peak of build", training > building ? training : building);
  put_bytes(r, "loaded", size->total);
  put_bytes(r, "searching", size->total + blocks + size->centroids);
  report_end(r);
}

static void put_seconds(report *r, const char *name, double seconds) {
  if (r->json)
    report_f64(r, name, seconds);
  else if (seconds < 120)
    report_line(r, name, "%.3g s", seconds);
  else if (seconds < 7200)
    report_line(r, name, "%.3g min", seconds / 60);
  else
    report_line(r, name, "%.3g h", seconds / 3600);
}

/* Rounds over all vectors that take as long as the given ones: many vectors start with a third of them, for half of the
 * rounds. */
static double whole_rounds(unsigned rounds, double vectors, double centroids, double d) {
  const bool few = vectors / 3 >= 48 * centroids && vectors * centroids * d >= 0x1p24;
  return few ? (double)(rounds / 2) / 3 + (double)(rounds - rounds / 2) : (double)rounds;
}

static void report_times(report *r, const rates *rate, const furrow_index_spec *spec, uint64_t n, uint64_t sample) {
  furrow_index_train_params train;
  furrow_index_train_params_init(&train);
  const double d = (double)spec->d, ksub = spec->m ? pow(2, (double)spec->nbits) : 0, nlist = (double)spec->nlist;
  const double looked_at = fmin((double)sample, (double)train.sample_per_list * nlist);
  const double coded = fmin((double)sample, (double)train.sample_per_list * ksub);
  const double dsub = spec->m ? d / (double)spec->m : 0;
  report_section(r, r->json ? "seconds" : "time, roughly");
  put_seconds(r, "coarse", rate->coarse * looked_at * whole_rounds(train.coarse_rounds, looked_at, nlist, d));
  put_seconds(r, "pq", coded * (rate->pq * whole_rounds(train.pq_rounds, coded, ksub, dsub) + rate->coarse));
  put_seconds(r, "add", rate->add * (double)n);
  report_end(r);
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static furrow_status check_estimate_values(const estimate_values *values, furrow_error *err) {
  if (values->dim == 0 || values->dim > 1 << 20) return fail(err, FURROW_E_ARGUMENT, "--dim must be from 1 to 1048576");
  if (values->n > UINT64_C(1) << 40) return fail(err, FURROW_E_ARGUMENT, "--count must be at most 2^40");
  if (values->spec.nlist > UINT64_C(1) << 32) return fail(err, FURROW_E_ARGUMENT, "--nlist must be at most 2^32");
  return spec_check(&values->spec, err);
}

static void estimate_init(void *values) {
  estimate_values *estimate = values;
  spec_values_init(&estimate->spec);
}

static furrow_status estimate_run(const void *values, output *out, furrow_error *err) {
  const estimate_values *estimate = values;
  furrow_index_spec spec;
  furrow_index *index = NULL;
  index_size size;
  rates rate = {0};
  furrow_status status = check_estimate_values(estimate, err);
  if (status != FURROW_OK) return status;
  spec_from_values(&estimate->spec, (int32_t)estimate->dim, &spec);
  spec.id_map = estimate->ids && (spec.refine_flat || spec.refine_m);
  status = spec_create(&index, &spec, err); /* reports what is wrong with the spec */
  if (status == FURROW_OK && !estimate->only_sizes) status = measure_rates(&spec, estimate->threads, &rate, err);
  if (status == FURROW_OK) {
    uint64_t sample = furrow_index_train_sample_size(index, NULL);
    report r;
    if (sample > estimate->n) sample = estimate->n;
    compute_size(&size, &spec, estimate->n, estimate->direct_map);
    report_start(&r, out, estimate->json);
    report_sizes(&r, &size, estimate->n);
    report_u64(&r, "training vectors", sample);
    report_memory(&r, &size, &spec, estimate->n, sample);
    if (!estimate->only_sizes) report_times(&r, &rate, &spec, estimate->n, sample);
    report_finish(&r);
  }
  furrow_index_free(index);
  return status;
}

const command index_estimate_command = {
    .name = "estimate",
    .summary = "estimate the size, memory and time of an index",
    .example = "furrow index estimate -n 100000000 -d 128 --nlist 65536 --m 32 --hnsw 32\n"
               "furrow index estimate -n 1000000 -d 96 --nlist 1024 --m 16 --only-sizes",
    .about = "The file size is exact, and the lines below it add up to it; with a graph, or with few vectors per list, "
             "it is approximate. The lines about memory do not add up: each is for one step, a build needs the larger "
             "of training and building, and searching includes the loaded index. Times are rough: they are scaled from "
             "small indexes that are built on this machine from clustered vectors, and leave out rotations, graphs, "
             "refinements and files.",
    .groups = estimate_groups,
    .size = sizeof(estimate_values),
    .init = estimate_init,
    .run = estimate_run,
};
