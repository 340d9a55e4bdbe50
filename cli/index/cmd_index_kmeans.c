/* cli/index/cmd_index_kmeans.c: furrow index kmeans: finds centroids of vectors. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "core/commands.h"
#include "core/fail.h"
#include "core/written.h"
#include "index/index_job.h"
#include "index/vector_source.h"

enum { BLOCK_VECTORS = 1 << 16, BLOCK_MEMORY = 256 << 20, SAMPLE_PER_CENTROID = 256 };

typedef struct kmeans_values {
  const char *path, *centroids, *clusters;
  int64_t k;
  uint64_t train_size, seed;
  uint32_t rounds, threads;
  vector_values vectors;
  bool spherical, force, json, quiet;
} kmeans_values;

static const option kmeans_operands[] = {{.name = "VECTORS",
                                          .kind = OPTION_TEXT,
                                          .help = "a file of vectors, which is read twice",
                                          .offset = offsetof(kmeans_values, path),
                                          .required = true,
                                          .from_query = true},
                                         {0}};

static const option kmeans_options[] = {
    {.name = "k",
     .letter = 'k',
     .kind = OPTION_COUNT64,
     .argument = "K",
     .help = "number of centroids",
     .offset = offsetof(kmeans_values, k),
     .required = true},
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write the centroids to a file: .npy .fvecs .fbin .f32",
     .offset = offsetof(kmeans_values, centroids),
     .written = true,
     .required = true},
    {.name = "out-clusters",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write the number of the nearest centroid of each vector to a file: .npy .i64 .ivecs .ibin",
     .offset = offsetof(kmeans_values, clusters),
     .written = true},
    {.name = "rounds",
     .kind = OPTION_COUNT32,
     .argument = "N",
     .help = "rounds at most (25); fewer if no vector changes its cluster any more",
     .offset = offsetof(kmeans_values, rounds)},
    {.name = "spherical",
     .kind = OPTION_FLAG,
     .help = "centroids have unit length, and the nearest one has the largest inner product",
     .offset = offsetof(kmeans_values, spherical)},
    {.name = "train-size",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "a random sample of at most N vectors is in memory and trained with (0: 256 for each centroid)",
     .offset = offsetof(kmeans_values, train_size)},
    {.name = "seed",
     .kind = OPTION_U64,
     .argument = "S",
     .help = "seed of the sample and the training (1234); the same seed gives the same centroids",
     .offset = offsetof(kmeans_values, seed)},
    THREADS_OPTION(offsetof(kmeans_values, threads), "; the number does not change the result"),
    FORCE_OPTION(offsetof(kmeans_values, force)),
    JSON_OPTION(offsetof(kmeans_values, json)),
    QUIET_OPTION(offsetof(kmeans_values, quiet)),
    {0}};

static const option_group kmeans_groups[] = {
    {.title = "Options", .options = kmeans_options},
    {.title = "Vectors", .options = vector_options, .offset = offsetof(kmeans_values, vectors)},
    {.title = "Vectors", .options = query_options},
    {.title = "Vectors", .options = plugin_options},
    {0}};

static void kmeans_init(void *values) {
  kmeans_values *kmeans = values;
  kmeans->seed = 1234;
  kmeans->rounds = 25;
}

/* The job from beginning to end. */
typedef struct clustering {
  const kmeans_values *values;
  furrow_kmeans_params params;
  index_job job;
  furrow_vectors_reader *vectors;
  vector_block block;
  furrow_reservoir *sample;
  furrow_vectors_writer *centroids_file, *clusters_file;
  size_t k;
  float *centroids;
  uint32_t *nearest; /* nearest of a block */
  uint64_t *sizes;   /* sizes of the clusters */
  uint64_t count;    /* vectors */
  size_t trained_on;
  double objective;
} clustering;

/* ---- Opening -------------------------------------------------------------------------------------------- */

static furrow_status open_writer(furrow_vectors_writer **file, const char *path, bool ids, size_t dim, bool force,
                                 furrow_error *err) {
  furrow_vectors_writer_params params;
  furrow_vectors_writer_params_init(&params);
  if (!path) return FURROW_OK;
  params.ids = ids;
  params.dim = dim;
  params.flat = ids;
  params.overwrite = force;
  return furrow_vectors_writer_open(file, path, &params, err);
}

static furrow_status check_values(const kmeans_values *values, furrow_error *err) {
  const char *const paths[] = {values->centroids, values->clusters};
  if (strcmp(values->path, "-") == 0)
    return fail(err, FURROW_E_ARGUMENT, "the vectors are read twice, so they cannot come from standard input");
  if (values->train_size && values->train_size < (uint64_t)values->k)
    return fail(err, FURROW_E_ARGUMENT, "--train-size is %" PRIu64 ", but --k %" PRId64 " needs at least as many",
                values->train_size, values->k);
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < 2; i++) {
    if (!paths[i]) continue;
    if (strcmp(paths[i], "-") == 0)
      return fail(err, FURROW_E_ARGUMENT, "results cannot be written to standard output; name a file");
    status = written_check_path(paths[i], values->force, err);
  }
  return status;
}

static furrow_status check_count(const clustering *c, uint64_t count, furrow_error *err) {
  if (count >= c->k) return FURROW_OK;
  return fail_in(err, FURROW_E_ARGUMENT, c->values->path, "has %" PRIu64 " vector%s, too few for --k %zu", count,
                 count == 1 ? "" : "s", c->k);
}

static furrow_status open_all(clustering *c, furrow_error *err) {
  const kmeans_values *values = c->values;
  furrow_status status = vector_source_open(&c->vectors, values->path, &values->vectors, 0, err);
  if (status != FURROW_OK) return status;
  const size_t d = furrow_vectors_reader_dimension(c->vectors);
  status = check_count(c, furrow_vectors_reader_count(c->vectors), err); /* an unknown count is large */
  if (status == FURROW_OK) status = vector_block_init(&c->block, d, BLOCK_VECTORS, BLOCK_MEMORY, err);
  if (status != FURROW_OK) return status;
  status = open_writer(&c->centroids_file, values->centroids, false, d, values->force, err);
  if (status == FURROW_OK) status = open_writer(&c->clusters_file, values->clusters, true, 1, values->force, err);
  return status;
}

/* ---- The two passes ------------------------------------------------------------------------------------- */

static furrow_status read_block(clustering *c, furrow_error *err) {
  vector_block *block = &c->block;
  furrow_status status = vector_block_read(block, c->vectors, err);
  if (status != FURROW_OK) return status;
  const size_t bad = furrow_first_invalid_vector(block->values, block->count, block->d);
  if (bad == block->count) return FURROW_OK;
  return fail_in(err, FURROW_E_RANGE, c->values->path, "vector %" PRIu64 " %s", block->first + bad,
                 vector_fault(block->values + bad * block->d, block->d));
}

static furrow_status draw_sample(clustering *c, furrow_error *err) {
  const uint64_t total = vector_source_total(c->vectors), most = c->values->train_size;
  const size_t size = most                                    ? (size_t)most
                      : c->k > SIZE_MAX / SAMPLE_PER_CENTROID ? SIZE_MAX
                                                              : c->k * SAMPLE_PER_CENTROID;
  index_job_step(&c->job, "sample", total);
  furrow_status status = furrow_reservoir_create(&c->sample, c->block.d, size, c->values->seed, err);
  while (status == FURROW_OK) {
    status = read_block(c, err);
    if (status != FURROW_OK || c->block.count == 0) break;
    status = furrow_reservoir_add(c->sample, c->block.values, c->block.count, err);
    if (status == FURROW_OK) status = index_job_update(&c->job, "sample", c->block.first + c->block.count, total, err);
  }
  if (status != FURROW_OK) return status;
  c->count = furrow_reservoir_seen(c->sample);
  return check_count(c, c->count, err);
}

static furrow_status find_centroids(clustering *c, furrow_error *err) {
  if (c->k <= SIZE_MAX / sizeof(float) / c->block.d) c->centroids = malloc(c->k * c->block.d * sizeof *c->centroids);
  c->sizes = calloc(c->k, sizeof *c->sizes);
  if (!c->centroids || !c->sizes) return fail_memory(err);
  c->trained_on = furrow_reservoir_count(c->sample);
  c->params.sample_per_centroid = c->trained_on; /* all of the sample */
  furrow_status status = furrow_kmeans(furrow_reservoir_vectors(c->sample), c->trained_on, c->block.d, c->k, &c->params,
                                       c->centroids, err);
  furrow_reservoir_free(c->sample);
  c->sample = NULL;
  return index_job_status(status, err);
}

static furrow_status write_clusters(const clustering *c, furrow_error *err) {
  if (!c->clusters_file) return FURROW_OK;
  for (size_t i = 0; i < c->block.count; i++) c->block.ids[i] = c->nearest[i];
  return furrow_vectors_writer_write(c->clusters_file, c->block.ids, c->block.count, err);
}

static furrow_status assign_all(clustering *c, furrow_error *err) {
  vector_block *block = &c->block;
  c->nearest = malloc(block->capacity * sizeof *c->nearest);
  if (!c->nearest) return fail_memory(err);
  index_job_step(&c->job, "assign", c->count);
  block->first = block->count = 0;
  furrow_status status = furrow_vectors_reader_rewind(c->vectors, err);
  while (status == FURROW_OK) {
    double objective = 0;
    status = read_block(c, err);
    if (status != FURROW_OK || block->count == 0) break;
    status = furrow_kmeans_assign(block->values, block->count, block->d, c->centroids, c->k, &c->params, c->nearest,
                                  &objective, err);
    if (status == FURROW_OK) status = write_clusters(c, err);
    for (size_t i = 0; status == FURROW_OK && i < block->count; i++) c->sizes[c->nearest[i]]++;
    c->objective += objective;
    if (status == FURROW_OK) status = index_job_update(&c->job, "assign", block->first + block->count, c->count, err);
  }
  if (status == FURROW_OK && block->first != c->count)
    status = fail_in(err, FURROW_E_STALE, c->values->path, "changed while it was read");
  return status;
}

static furrow_status write_files(const clustering *c, furrow_error *err) {
  const furrow_status status = furrow_vectors_writer_write(c->centroids_file, c->centroids, c->k, err);
  if (status != FURROW_OK) return status;
  if (!c->clusters_file) return furrow_vectors_writer_commit(c->centroids_file, err);
  return furrow_vectors_writer_commit_pair(c->centroids_file, c->clusters_file, err);
}

/* ---- Report --------------------------------------------------------------------------------------------- */

/* Imbalance: 1 if all clusters have the same size, k if one cluster has all vectors. */
static void report_sizes(clustering *c, report *r) {
  size_t empty = 0;
  double squares = 0;
  qsort(c->sizes, c->k, sizeof *c->sizes, fw_compare_u64);
  for (size_t i = 0; i < c->k; i++) {
    empty += c->sizes[i] == 0;
    squares += (double)c->sizes[i] * (double)c->sizes[i];
  }
  report_section(r, "cluster sizes");
  report_u64(r, "smallest", c->sizes[0]);
  report_u64(r, "median", c->sizes[c->k / 2]);
  report_u64(r, "largest", c->sizes[c->k - 1]);
  report_u64(r, "empty", empty);
  report_f64(r, "imbalance", squares * (double)c->k / ((double)c->count * (double)c->count));
  report_end(r);
}

static void report_clusters(clustering *c, output *out) {
  const kmeans_values *values = c->values;
  report r;
  report_start(&r, out, values->json);
  report_written(&r, values->centroids);
  if (values->clusters) report_text(&r, "clusters", values->clusters);
  report_u64(&r, "vectors", c->count);
  report_u64(&r, "dimension", c->block.d);
  report_u64(&r, "centroids", c->k);
  report_u64(&r, "trained on", c->trained_on);
  report_f64(&r, "objective", c->objective);
  report_f64(&r, values->spherical ? "mean inner product" : "mean squared distance", c->objective / (double)c->count);
  report_sizes(c, &r);
  index_job_report(&c->job, &r);
  report_finish(&r);
}

static furrow_status kmeans_run(const void *values, output *out, furrow_error *err) {
  clustering c = {.values = values};
  furrow_status status = check_values(c.values, err);
  if (status != FURROW_OK) return status;
  c.k = (size_t)c.values->k;
  furrow_kmeans_params_init(&c.params);
  c.params.rounds = c.values->rounds;
  c.params.seed = c.values->seed;
  c.params.spherical = c.values->spherical;
  c.params.threads = c.values->threads;
  c.params.progress = index_job_progress;
  c.params.user = &c.job;
  index_job_start(&c.job, c.values->quiet);
  status = open_all(&c, err);
  if (status == FURROW_OK) status = draw_sample(&c, err);
  if (status == FURROW_OK) status = find_centroids(&c, err);
  if (status == FURROW_OK) status = assign_all(&c, err);
  if (status == FURROW_OK) status = write_files(&c, err);
  index_job_stop(&c.job);
  if (status == FURROW_OK) report_clusters(&c, out);
  furrow_vectors_writer_close(c.centroids_file);
  furrow_vectors_writer_close(c.clusters_file);
  furrow_reservoir_free(c.sample);
  free(c.centroids);
  free(c.nearest);
  free(c.sizes);
  vector_block_clear(&c.block);
  furrow_vectors_reader_close(c.vectors);
  return status;
}

const command index_kmeans_command = {
    .name = "kmeans",
    .summary = "find centroids of vectors (k-means)",
    .example = "furrow index kmeans vectors.npy --k 1000 --out centroids.npy\n"
               "furrow index kmeans vectors.fvecs --k 64 --out centroids.npy --out-clusters clusters.npy --spherical",
    .about =
        "The initial centroids are vectors drawn by k-means++: far from each other, each the best of a few candidates. "
        "In each round every vector belongs to its nearest centroid, and each centroid moves to the mean of its "
        "vectors; an empty cluster takes half of a large one. The "
        "objective is the sum of the squared distances of all vectors to their nearest centroids, or with "
        "--spherical of the inner products. The imbalance is 1 if all clusters have the same size, and K if all "
        "vectors are in one.",
    .operands = kmeans_operands,
    .groups = kmeans_groups,
    .size = sizeof(kmeans_values),
    .init = kmeans_init,
    .run = kmeans_run,
};
