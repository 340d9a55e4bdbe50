// tests/interop/programs/faiss_trainer.cc: what faiss_train.sh asks of Faiss.
//
//   faiss_trainer data BASE QUERIES               vectors to train with and to look for, as plain floats
//   faiss_trainer compare KIND l2|ip BASE INDEX   how well an index of Furrow's encodes its vectors, against one of the
//                                                 same kind that Faiss trains; fails if it is worse by over 0.5 %
//   faiss_trainer answers INDEX QUERIES IDS DISTANCES NPROBE PERMILLE
//                                                 whether Faiss finds in it what Furrow found (10 of each query); so
//                                                 many of a thousand may be others
#include <faiss/IndexIVF.h>
#include <faiss/IndexPreTransform.h>
#include <faiss/IndexRefine.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

static const int d = 32, k = 10;

// Around 300 centres, with dimensions that depend on each other.
static std::vector<float> vectors(int count, unsigned seed) {
  std::mt19937 random(seed), fixed(7);
  std::normal_distribution<float> normal;
  std::vector<float> centres(300 * d), x(static_cast<size_t>(count) * d);
  for (float &v : centres) v = normal(fixed);
  for (int i = 0; i < count; i++) {
    const float *centre = &centres[random() % 300 * d];
    const float common = normal(random);
    for (int j = 0; j < d; j++)
      x[static_cast<size_t>(i) * d + j] = centre[j] + 0.3f * common * static_cast<float>(j % 5) + 0.5f * normal(random);
  }
  return x;
}

template <class T> static std::vector<T> load(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(1);
  fseek(file, 0, SEEK_END);
  std::vector<T> out(static_cast<size_t>(ftell(file)) / sizeof(T));
  rewind(file);
  if (fread(out.data(), sizeof(T), out.size(), file) != out.size()) exit(1);
  fclose(file);
  return out;
}

static void store(const char *path, const std::vector<float> &x) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(x.data(), sizeof(float), x.size(), file) != x.size() || fclose(file) != 0) exit(1);
}

// Mean square distance between vectors and what their codes stand for.
static double error_of(const faiss::Index &index, const std::vector<float> &x) {
  const auto n = static_cast<faiss::Index::idx_t>(x.size() / d);
  std::vector<uint8_t> codes(static_cast<size_t>(n) * index.sa_code_size());
  std::vector<float> back(x.size());
  index.sa_encode(n, x.data(), codes.data());
  index.sa_decode(n, codes.data(), back.data());
  double sum = 0;
  for (size_t i = 0; i < x.size(); i++) sum += (x[i] - back[i]) * static_cast<double>(x[i] - back[i]);
  return sum / static_cast<double>(n);
}

static int compare(const char *kind, const char *metric, const char *base, const char *path) {
  const std::vector<float> x = load<float>(base);
  const auto n = static_cast<faiss::Index::idx_t>(x.size() / d);
  std::unique_ptr<faiss::Index> ours(faiss::read_index(path));
  std::unique_ptr<faiss::Index> theirs(
      faiss::index_factory(d, kind, strcmp(metric, "ip") == 0 ? faiss::METRIC_INNER_PRODUCT : faiss::METRIC_L2));
  theirs->train(n, x.data());
  const double a = error_of(*ours, x), b = error_of(*theirs, x);
  printf("%s %s: error %.6f, Faiss %.6f (%+.2f %%)\n", kind, metric, a, b, b > 0 ? 100 * (a / b - 1) : 0);
  if (ours->ntotal != n || ours->metric_type != theirs->metric_type) return 1;
  return a <= 1.005 * b ? 0 : 1;
}

static faiss::IndexIVF *ivf_of(faiss::Index *index) {
  if (auto *refine = dynamic_cast<faiss::IndexRefine *>(index)) return ivf_of(refine->base_index);
  if (auto *chain = dynamic_cast<faiss::IndexPreTransform *>(index)) return ivf_of(chain->index);
  return dynamic_cast<faiss::IndexIVF *>(index);
}

// Of neighbours at like distances either may come first, so a few may be others.
static int answers(char **v) {
  std::unique_ptr<faiss::Index> index(faiss::read_index(v[0]));
  const std::vector<float> queries = load<float>(v[1]), distances = load<float>(v[3]);
  const std::vector<int64_t> ids = load<int64_t>(v[2]);
  const size_t n = queries.size() / d;
  std::vector<float> their_distances(n * k);
  std::vector<faiss::Index::idx_t> their_ids(n * k);
  ivf_of(index.get())->nprobe = static_cast<size_t>(atoi(v[4]));
  index->search(static_cast<faiss::Index::idx_t>(n), queries.data(), k, their_distances.data(), their_ids.data());
  if (ids.size() != n * k || distances.size() != n * k) return 1;
  size_t other = 0;
  for (size_t i = 0; i < n * k; i++) {
    const float gap = std::fabs(distances[i] - their_distances[i]);
    other += ids[i] != their_ids[i] || !(gap <= 1e-3f + 1e-4f * std::fabs(their_distances[i]));
  }
  printf("%s: %zu of %zu answers are others\n", v[0], other, n * k);
  return other * 1000 > n * k * static_cast<size_t>(atoi(v[5])) ? 1 : 0;
}

int main(int argc, char **argv) {
  const std::string job = argc > 1 ? argv[1] : "";
  if (job == "data" && argc == 4) {
    store(argv[2], vectors(8000, 1)); // no more than both look at (256 for each list): another sample is other codes
    store(argv[3], vectors(100, 2));
    return 0;
  }
  if (job == "compare" && argc == 6) return compare(argv[2], argv[3], argv[4], argv[5]);
  if (job == "answers" && argc == 8) return answers(argv + 2);
  return 2;
}
