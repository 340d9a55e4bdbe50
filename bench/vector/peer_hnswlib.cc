// bench/vector/peer_hnswlib.cc: times hnswlib over a graph of links; jobs, options and output in vector_bench.h. --m is
// the number of links of a vector, --ef-construction the candidates of building (200); --nprobe is ef.
//
// hnswlib uses the instructions that it is compiled for: bench_vector_frontier.py compiles this once for each level.
#include <hnswlib/hnswlib.h>

#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "vector_bench.h"

static std::unique_ptr<hnswlib::L2Space> space;
static std::unique_ptr<hnswlib::HierarchicalNSW<float>> graph;
static size_t links, width;

static bool create(const vector_options *options, size_t d) {
  space.reset(new hnswlib::L2Space(d));
  links = options->m;
  width = options->ef_construction > 0 ? options->ef_construction : 200;
  return true;
}

static bool train(const vector_options *, const bench_vectors *) {
  return true;
}

// The first point alone, then all threads take the next one.
static bool add(const vector_options *options, const bench_vectors *base) {
  graph.reset(new hnswlib::HierarchicalNSW<float>(space.get(), base->n, links, width));
  std::atomic<size_t> next(1);
  std::vector<std::thread> threads;
  const auto work = [&] {
    for (size_t i; (i = next++) < base->n;) graph->addPoint(base->at + i * base->d, i);
  };
  if (base->n > 0) graph->addPoint(base->at, 0);
  for (uint32_t t = 1; t < options->threads; t++) threads.emplace_back(work);
  work();
  for (std::thread &thread : threads) thread.join();
  return true;
}

static bool save(const char *path) {
  graph->saveIndex(path);
  return true;
}

// A file says at which bytes of an element its vector begins and ends (numbers 5 and 4 of its head), but not d.
static size_t dimension_of(const char *path) {
  size_t head[6] = {0};
  FILE *file = fopen(path, "rb");
  const bool good = file && fread(head, sizeof head, 1, file) == 1;
  if (file) fclose(file);
  return good ? (head[4] - head[5]) / sizeof(float) : 0;
}

static bool load(const vector_options *, const char *path) {
  space.reset(new hnswlib::L2Space(dimension_of(path)));
  graph.reset(new hnswlib::HierarchicalNSW<float>(space.get(), path));
  return true;
}

static bool search(const vector_options *options, const vector_setting *setting, const float *queries, size_t n,
                   float *distances, int64_t *ids) {
  const size_t d = *static_cast<size_t *>(space->get_dist_func_param()), k = options->k;
  graph->setEf(setting->nprobe);
  for (size_t i = 0; i < n; i++) {
    auto found = graph->searchKnn(queries + i * d, k);
    for (size_t j = k; j-- > 0;) {
      ids[i * k + j] = j < found.size() ? static_cast<int64_t>(found.top().second) : -1;
      distances[i * k + j] = j < found.size() ? found.top().first : 0;
      if (j < found.size()) found.pop();
    }
  }
  return true;
}

int main(int argc, char **argv) {
  static const vector_engine engine = {"hnswlib", create, train, add, save, load, search};
  vector_options options;
  if (!bench_vector_options(argc, argv, &options)) return 2;
  try {
    return bench_vector_main(&engine, &options);
  } catch (const std::exception &error) {
    fprintf(stderr, "peer_hnswlib: %s\n", error.what());
    return 1;
  }
}
