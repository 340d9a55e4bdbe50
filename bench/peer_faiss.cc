// bench/peer_faiss.cc: times Faiss over an index; jobs, options and output in vector_bench.h.
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVF.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/IndexRefine.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>
#include <omp.h>

#include <exception>
#include <memory>

#include "vector_bench.h"

static std::unique_ptr<faiss::Index> index_;

static bool create(const vector_options *options, size_t d) {
  if (options->factory) {
    index_.reset(faiss::index_factory(static_cast<int>(d), options->factory));
    auto *graph = dynamic_cast<faiss::IndexHNSW *>(index_.get());
    if (graph && options->ef_construction > 0) graph->hnsw.efConstruction = static_cast<int>(options->ef_construction);
    return true;
  }
  auto *quantizer = new faiss::IndexFlatL2(static_cast<int64_t>(d));
  auto *made = new faiss::IndexIVFPQ(quantizer, d, options->nlist, options->m, options->nbits);
  made->own_fields = true;
  if (options->seed) made->cp.seed = made->pq.cp.seed = static_cast<int>(options->seed);
  index_.reset(made);
  return true;
}

static bool train(const vector_options *, const bench_vectors *base) {
  index_->train(static_cast<int64_t>(base->n), base->at);
  return true;
}

static bool add(const vector_options *, const bench_vectors *base) {
  index_->add(static_cast<int64_t>(base->n), base->at);
  return true;
}

static bool save(const char *path) {
  faiss::write_index(index_.get(), path);
  return true;
}

static bool load(const vector_options *, const char *path) {
  index_.reset(faiss::read_index(path));
  return true;
}

static bool search(const vector_options *options, const vector_setting *setting, const float *queries, size_t n,
                   float *distances, int64_t *ids) {
  faiss::Index *base = index_.get();
  if (auto *refine = dynamic_cast<faiss::IndexRefine *>(base)) {
    refine->k_factor = static_cast<float>(setting->k_factor);
    base = refine->base_index;
  }
  if (auto *ivf = dynamic_cast<faiss::IndexIVF *>(base)) ivf->nprobe = setting->nprobe;
  if (auto *graph = dynamic_cast<faiss::IndexHNSW *>(base)) graph->hnsw.efSearch = static_cast<int>(setting->nprobe);
  index_->search(static_cast<int64_t>(n), queries, static_cast<int64_t>(options->k), distances, ids);
  return true;
}

int main(int argc, char **argv) {
  static const vector_engine engine = {"faiss", create, train, add, save, load, search};
  vector_options options;
  if (!bench_vector_options(argc, argv, &options)) return 2;
  omp_set_num_threads(static_cast<int>(options.threads));
  try {
    return bench_vector_main(&engine, &options);
  } catch (const std::exception &error) {
    fprintf(stderr, "peer_faiss: %s\n", error.what());
    return 1;
  }
}
