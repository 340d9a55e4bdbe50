/* bench/bench_vector.c: times Furrow over an index; jobs, options and output in vector_bench.h. Two jobs more:
 *
 *   bench_vector error INDEX BASE.fbin        mean squared distance of 20,000 vectors from what is stored for them
 *   bench_vector one-list COUNT INDEX         makes an index of one list, d 256, M 32, nbits 8
 *   bench_vector verify INDEX -               checks it
 */
#include <furrow/furrow.h>

#include "base/rng.h"
#include "vector_bench.h"

static furrow_index *made;
static furrow_searcher *ready;
static furrow_error err;

static bool good(furrow_status status) {
  char text[512];
  if (status == FURROW_OK) return true;
  furrow_error_to_text(&err, text, sizeof text);
  fprintf(stderr, "bench_vector: %s\n", text);
  return false;
}

/* ---- The engine ----------------------------------------------------------------------------------------- */

static bool create(const vector_options *options, size_t d) {
  furrow_index_spec spec;
  furrow_index_spec_init(&spec);
  spec.d = (int32_t)d;
  spec.factory = options->factory;
  spec.ef_construction = (int32_t)options->ef_construction;
  if (!spec.factory) {
    spec.nlist = options->nlist;
    spec.m = options->m;
    spec.nbits = (unsigned)options->nbits;
    spec.refine_flat = options->refine;
  }
  return good(furrow_index_create(&made, &spec, &err));
}

static bool train(const vector_options *options, const bench_vectors *base) {
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  params.threads = options->threads;
  if (options->seed) params.seed = options->seed;
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(made, &info);
  if (info.trained) return true;
  return good(furrow_index_train(made, base->at, base->n, &params, &err));
}

static bool add(const vector_options *options, const bench_vectors *base) {
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  params.threads = options->threads;
  return good(furrow_index_add(made, base->at, base->n, &params, NULL, &err));
}

static bool save(const char *path) {
  furrow_index_save_params params;
  furrow_index_save_params_init(&params);
  params.overwrite = true;
  return good(furrow_index_save(made, path, &params, &err));
}

static bool load(const vector_options *options, const char *path) {
  furrow_searcher_params params;
  furrow_index_load_params load_params;
  furrow_searcher_params_init(&params);
  furrow_index_load_params_init(&load_params);
  params.threads = options->threads;
  load_params.search_only = true;
  return good(furrow_index_load(&made, path, &load_params, &err)) &&
         good(furrow_searcher_create(&ready, made, &params, &err));
}

static bool search(const vector_options *options, const vector_setting *setting, const float *queries, size_t n,
                   float *distances, int64_t *ids) {
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.nprobe = setting->nprobe;
  params.ef_search = (int32_t)setting->nprobe;
  params.k_factor = (float)setting->k_factor;
  params.threads = options->threads;
  return good(furrow_searcher_search(ready, queries, n, options->k, &params, distances, ids, &err));
}

/* ---- Other jobs ----------------------------------------------------------------------------------------- */

static bool report_error(const char *path, const char *base_path) {
  bench_vectors base;
  if (!bench_map_vectors(&base, base_path) || !good(furrow_index_load(&made, path, NULL, &err)) ||
      !good(furrow_index_set_direct_map(made, FURROW_DIRECT_MAP_ARRAY, &err)))
    return false;
  const size_t count = base.n < 20000 ? base.n : 20000;
  float *decoded = malloc(base.d * sizeof *decoded);
  double sum = 0;
  bool fine = decoded != NULL;
  for (size_t i = 0; i < count && fine; i++) {
    const size_t id = i * (base.n / count);
    fine = good(furrow_index_reconstruct(made, (int64_t)id, decoded, &err));
    for (size_t j = 0; j < base.d && fine; j++) {
      double difference = (double)decoded[j] - (double)base.at[id * base.d + j];
      sum += difference * difference;
    }
  }
  if (fine) printf("{\"program\": \"furrow\", \"job\": \"error\", \"error\": %.9g}\n", sum / (double)count);
  free(decoded);
  return fine;
}

/* The i-th of the vectors of the index of one list. */
static void fill(float *vectors, size_t count, fw_rng *rng) {
  for (size_t i = 0; i < count * 256; i++) vectors[i] = (float)(fw_rng_next(rng) >> 40) * (1.0f / (1 << 24));
}

static bool make_one_list(const vector_options *options, size_t count, const char *path) {
  const size_t block = 65536;
  vector_options shape = *options;
  bench_vectors part = {.d = 256};
  fw_rng rng;
  float *vectors = malloc(block * 256 * sizeof *vectors);
  shape.nlist = 1;
  shape.m = 32;
  shape.nbits = 8;
  part.at = vectors;
  bool fine = vectors && create(&shape, 256);
  fw_rng_init(&rng, 1);
  for (size_t at = 0; at < count && fine; at += part.n) {
    part.n = count - at < block ? count - at : block;
    fill(vectors, part.n, &rng);
    bench_clock start = bench_now();
    if (at == 0) {
      fine = train(&shape, &part);
      bench_clock end = bench_now();
      fprintf(stderr, "trained in %.2f s (%.2f s of processor time)\n", end.wall - start.wall, end.cpu - start.cpu);
    }
    fine = fine && add(&shape, &part);
  }
  free(vectors);
  return fine && save(path);
}

static void ignore_finding(void *user, const furrow_index_finding *finding) {
  (void)user;
  (void)finding;
}

static bool report_verify(const vector_engine *engine, const vector_options *options, const char *path) {
  bench_clock start = bench_now();
  if (!good(furrow_index_verify(path, NULL, ignore_finding, NULL, &err))) return false;
  bench_clock end = bench_now();
  bench_vector_line(engine, options, "verify", end.wall - start.wall, end.cpu - start.cpu);
  printf("}\n");
  return true;
}

int main(int argc, char **argv) {
  static const vector_engine engine = {"furrow", create, train, add, save, load, search};
  vector_options options;
  int code;
  if (!bench_vector_options(argc, argv, &options)) return 2;
  if (strcmp(options.job, "error") == 0) {
    code = report_error(options.first, options.second) ? 0 : 1;
  } else if (strcmp(options.job, "one-list") == 0) {
    code = make_one_list(&options, (size_t)atoll(options.first), options.second) ? 0 : 1;
  } else if (strcmp(options.job, "verify") == 0) {
    code = report_verify(&engine, &options, options.first) ? 0 : 1;
  } else {
    code = bench_vector_main(&engine, &options);
  }
  furrow_searcher_free(ready);
  furrow_index_free(made);
  return code;
}
