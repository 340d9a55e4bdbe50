// tests/interop/programs/faiss_peer.cc: what faiss_index.sh and faiss_answers.sh ask of Faiss.
//
//   faiss_peer make FOLDER                     index files of many kinds, with a few hundred vectors in each
//   faiss_peer vectors COUNT SEED OUT.fbin     vectors; 600 of seed 1 are those of the index files
//   faiss_peer rewrite IN OUT                  reads an index and writes it
//   faiss_peer search IN                       the ids and distances of a few searches, as text
//   faiss_peer compare IN QUERIES.fbin K NPROBE IDS.i64 DISTANCES.f32
//       whether it finds the same; ids may differ between vectors that are as near as one another
#include <faiss/IVFlib.h>
#include <faiss/IndexIDMap.h>
#include <faiss/IndexIVF.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/IndexIVFPQR.h>
#include <faiss/IndexRefine.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

static const int d = 16, n = 600;

static std::vector<float> vectors(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(count) * d);
  for (float &v : x) v = normal(random);
  return x;
}

static void save(const faiss::Index &index, const std::string &folder, const std::string &name) {
  faiss::write_index(&index, (folder + "/" + name + ".index").c_str());
}

static void make(const std::string &folder) {
  // np: no polysemous training, which takes minutes
  static const char *const kinds[][2] = {
      {"flat", "Flat"},
      {"ivfpq8", "IVF16,PQ4np"},
      {"ivfpq4", "IVF16,PQ4x4np"},
      {"ivfpq6", "IVF16,PQ8x6np"},
      {"ivfflat", "IVF16,Flat"},
      {"hnsw", "HNSW8,Flat"},
      {"ivfhnsw", "IVF16_HNSW8,PQ4np"},
      {"opq", "OPQ4_8,IVF16,PQ4np"},
      {"pca", "PCA8,IVF16,PQ4np"},
      {"pcar", "PCAR8,Flat"},
      {"rr", "RR8,IVF16,PQ4np"},
      {"norm", "L2norm,IVF16,PQ4np"},
      {"itq", "ITQ8,IVF16,PQ4np"},
      {"pad", "Pad20,IVF16,PQ4np"},
      {"pq", "PQ4np"},
      {"imi", "IMI2x3,PQ4np"},
      {"sq", "IVF16,SQ8"},
      {"sq4", "IVF16,SQ4"},
      {"sq6", "IVF16,SQ6"},
      {"sqhalf", "IVF16,SQfp16"},
      {"fast", "IVF16,PQ4x4fs"},
      {"fast64", "IVF16,PQ8x4fs_64"},
      {"fastr", "IVF16,PQ4x4fsr"},
      {"refine", "IVF16,PQ4np,RFlat"},
      {"idmap", "IDMap,Flat"},
      {"idmap2", "IDMap2,IVF16,PQ4np"},
      {"pqr", "IVF16,PQ4+8"},
      {"sparse", "IVF256,PQ2x4np"},
  };
  const std::vector<float> x = vectors(n, 1);
  std::vector<faiss::Index::idx_t> ids(n);
  for (int i = 0; i < n; i++) ids[static_cast<size_t>(i)] = 1000 + 3 * i;
  for (const auto &kind : kinds) {
    std::unique_ptr<faiss::Index> index(faiss::index_factory(d, kind[1]));
    save(*index, folder, std::string(kind[0]) + "_untrained");
    index->train(n, x.data());
    save(*index, folder, std::string(kind[0]) + "_trained");
    if (std::strncmp(kind[0], "idmap", 5) == 0)
      index->add_with_ids(n, x.data(), ids.data());
    else
      index->add(std::strcmp(kind[0], "sparse") == 0 ? 60 : n, x.data());
    save(*index, folder, kind[0]);
  }
  std::unique_ptr<faiss::Index> index(faiss::index_factory(d, "IVF16,PQ4np", faiss::METRIC_INNER_PRODUCT));
  index->train(n, x.data());
  save(*index, folder, "ip_trained");
  index->add(n, x.data());
  save(*index, folder, "ip");
  index.reset(faiss::index_factory(d, "IVF16,PQ4np"));
  index->train(n, x.data());
  auto *ivf = dynamic_cast<faiss::IndexIVF *>(index.get());
  ivf->set_direct_map_type(faiss::DirectMap::Array);
  ivf->add(n, x.data());
  save(*ivf, folder, "map_array");
  ivf->reset();
  ivf->set_direct_map_type(faiss::DirectMap::Hashtable);
  ivf->add_with_ids(n, x.data(), ids.data());
  save(*ivf, folder, "map_hash");
}

static void search(const char *path) {
  std::unique_ptr<faiss::Index> index(faiss::read_index(path));
  const std::vector<float> q = vectors(10, 2);
  std::vector<float> distances(50);
  std::vector<faiss::Index::idx_t> ids(50);
  index->search(10, q.data(), 5, distances.data(), ids.data());
  for (size_t i = 0; i < 50; i++)
    std::printf("%lld %.9g\n", static_cast<long long>(ids[i]), static_cast<double>(distances[i]));
}

static void write_vectors(int count, unsigned seed, const char *path) {
  const std::vector<float> x = vectors(count, seed);
  const uint32_t head[2] = {static_cast<uint32_t>(count), d};
  std::FILE *file = std::fopen(path, "wb");
  if (!file || std::fwrite(head, 4, 2, file) != 2 || std::fwrite(x.data(), 4, x.size(), file) != x.size() ||
      std::fclose(file) != 0)
    throw std::runtime_error(std::string(path) + " is not written");
}

template <typename T> static std::vector<T> read_all(const char *path, long skip) {
  std::FILE *file = std::fopen(path, "rb");
  if (!file) throw std::runtime_error(std::string(path) + " is not there");
  std::vector<T> found;
  T one;
  std::fseek(file, skip, SEEK_SET);
  while (std::fread(&one, sizeof one, 1, file) == 1) found.push_back(one);
  std::fclose(file);
  return found;
}

// The IVF index inside; nullptr: there is none.
static faiss::IndexIVF *ivf_of(faiss::Index *index) {
  if (auto *map = dynamic_cast<faiss::IndexIDMap *>(index)) return ivf_of(map->index);
  if (auto *refine = dynamic_cast<faiss::IndexRefine *>(index)) return ivf_of(refine->base_index);
  return faiss::ivflib::try_extract_index_ivf(index);
}

// Distances must agree place by place. Then another id at a place means that both are as near; only a few are.
static bool compare(char **argv) {
  std::unique_ptr<faiss::Index> index(faiss::read_index(argv[0]));
  const std::vector<float> q = read_all<float>(argv[1], 8), distances = read_all<float>(argv[5], 0);
  const std::vector<int64_t> ids = read_all<int64_t>(argv[4], 0);
  const size_t k = std::strtoul(argv[2], nullptr, 10), nq = q.size() / static_cast<size_t>(index->d);
  faiss::IndexIVF *ivf = ivf_of(index.get());
  if (ivf) ivf->nprobe = std::strtoul(argv[3], nullptr, 10);
  std::vector<float> their_distances(nq * k);
  std::vector<faiss::Index::idx_t> their_ids(nq * k);
  index->search(static_cast<faiss::Index::idx_t>(nq), q.data(), static_cast<faiss::Index::idx_t>(k),
                their_distances.data(), their_ids.data());
  size_t others = 0;
  if (ids.size() != nq * k || distances.size() != nq * k) throw std::runtime_error("not as many answers");
  for (size_t i = 0; i < nq * k; i++) {
    others += ids[i] != their_ids[i];
    const float a = distances[i], b = their_distances[i];
    if ((ids[i] < 0) == (their_ids[i] < 0) && std::fabs(a - b) <= 2e-5f * std::fmax(1, std::fabs(b))) continue;
    std::printf("query %zu, place %zu: %lld at %.9g, Faiss has %lld at %.9g\n", i / k, i % k,
                static_cast<long long>(ids[i]), static_cast<double>(a), static_cast<long long>(their_ids[i]),
                static_cast<double>(b));
    return false;
  }
  if (others * 200 <= ids.size()) return true;
  std::printf("%zu of %zu ids are others\n", others, ids.size());
  return false;
}

int main(int argc, char **argv) {
  try {
    if (argc == 3 && std::strcmp(argv[1], "make") == 0) {
      make(argv[2]);
    } else if (argc == 4 && std::strcmp(argv[1], "rewrite") == 0) {
      std::unique_ptr<faiss::Index> index(faiss::read_index(argv[2]));
      faiss::write_index(index.get(), argv[3]);
    } else if (argc == 3 && std::strcmp(argv[1], "search") == 0) {
      search(argv[2]);
    } else if (argc == 5 && std::strcmp(argv[1], "vectors") == 0) {
      write_vectors(std::atoi(argv[2]), static_cast<unsigned>(std::atoi(argv[3])), argv[4]);
    } else if (argc == 8 && std::strcmp(argv[1], "compare") == 0) {
      return compare(argv + 2) ? 0 : 1;
    } else {
      return 2;
    }
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
