// tests/interop/faiss_peer.cc: what faiss_index.sh asks of Faiss.
//
//   faiss_peer make FOLDER        index files of many kinds, with a few hundred vectors in each
//   faiss_peer rewrite IN OUT     reads an index and writes it
//   faiss_peer search IN          the ids and distances of a few searches, as text
#include <faiss/IndexIDMap.h>
#include <faiss/IndexIVF.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/IndexIVFPQR.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
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
      {"fast", "IVF16,PQ4x4fs"},
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
  std::unique_ptr<faiss::Index> index(faiss::index_factory(d, "IVF16,PQ4np"));
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

int main(int argc, char **argv) {
  try {
    if (argc == 3 && std::strcmp(argv[1], "make") == 0) {
      make(argv[2]);
    } else if (argc == 4 && std::strcmp(argv[1], "rewrite") == 0) {
      std::unique_ptr<faiss::Index> index(faiss::read_index(argv[2]));
      faiss::write_index(index.get(), argv[3]);
    } else if (argc == 3 && std::strcmp(argv[1], "search") == 0) {
      search(argv[2]);
    } else {
      return 2;
    }
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
