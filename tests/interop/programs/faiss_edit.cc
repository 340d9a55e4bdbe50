// tests/interop/programs/faiss_edit.cc: the same changes by Furrow and by Faiss: removing, merging, updating; and a
// graph that Furrow built, searched by Faiss. Exits with 1 where files or answers differ.
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVF.h>
#include <faiss/impl/IDSelector.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "furrow/vector.h"

typedef std::vector<float> floats;
typedef std::vector<int64_t> id_list;
typedef std::unique_ptr<faiss::Index> peer_index;

static const int d = 16, n = 640, more = 100;
static bool failed = false;

static void complain(const std::string &what) {
  std::printf("%s\n", what.c_str());
  failed = true;
}

static void good(furrow_status status, const furrow_error &err) {
  if (status != FURROW_OK) throw std::runtime_error(err.message);
}

static furrow_index_save_params overwriting() {
  furrow_index_save_params params;
  furrow_index_save_params_init(&params);
  params.overwrite = true;
  return params;
}

struct own_index {
  furrow_index *index = nullptr;
  explicit own_index(const char *path) {
    furrow_error err;
    good(furrow_index_load(&index, path, nullptr, &err), err);
  }
  ~own_index() {
    furrow_index_free(index);
  }
  own_index(const own_index &) = delete;
  own_index &operator=(const own_index &) = delete;
  void save(const char *path) const {
    furrow_error err;
    const furrow_index_save_params params = overwriting();
    good(furrow_index_save(index, path, &params, &err), err);
  }
};

static floats vectors(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  floats x(static_cast<size_t>(count) * d);
  for (float &v : x) v = normal(random);
  return x;
}

static std::string bytes(const char *path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

static void compare_files(const std::string &what, const char *ours, const char *theirs) {
  if (bytes(ours) != bytes(theirs)) complain(what + ": other bytes");
}

static faiss::IndexIVF *ivf_of(faiss::Index *index) {
  return dynamic_cast<faiss::IndexIVF *>(index);
}

// ---- Removing and merging: the same files ----

static void remove_range(const std::string &kind) {
  peer_index theirs(faiss::read_index("full.index"));
  theirs->remove_ids(faiss::IDSelectorRange(100, 300));
  faiss::write_index(theirs.get(), "theirs.index");
  own_index ours("full.index");
  furrow_id_filter filter;
  furrow_id_filter_init(&filter);
  filter.kind = FURROW_ID_FILTER_RANGE;
  filter.first = 100;
  filter.end = 300;
  uint64_t removed = 0;
  furrow_error err;
  good(furrow_index_remove(ours.index, &filter, &removed, &err), err);
  ours.save("ours.index");
  if (removed != 200) complain(kind + ": other vectors removed");
  compare_files(kind + " after removing", "ours.index", "theirs.index");
}

static void merge_two(const std::string &kind) {
  const floats y = vectors(more, 5);
  peer_index theirs(faiss::read_index("full.index")), other(faiss::read_index("empty.index"));
  other->add(more, y.data());
  faiss::write_index(other.get(), "other.index");
  theirs->merge_from(*other, n);
  faiss::write_index(theirs.get(), "theirs.index");
  own_index ours("full.index"), second("other.index");
  furrow_error err;
  good(furrow_index_merge(ours.index, second.index, n, &err), err);
  ours.save("ours.index");
  compare_files(kind + " after merging", "ours.index", "theirs.index");
  const char *paths[] = {"full.index", "other.index"};
  const int64_t shifts[] = {0, n};
  const furrow_index_save_params params = overwriting();
  good(furrow_index_merge_files(paths, shifts, 2, NULL, "merged.index", &params, &err), err);
  compare_files(kind + " after merging files", "merged.index", "theirs.index");
}

// ---- Updating: the same file with an array; a table has no order, so there the answers count ----

static void compare_answers(const std::string &what, faiss::Index *a, faiss::Index *b) {
  const floats q = vectors(50, 9);
  floats distances(500), others(500);
  id_list ids(500), other_ids(500);
  ivf_of(a)->nprobe = ivf_of(b)->nprobe = 16;
  a->search(50, q.data(), 10, distances.data(), ids.data());
  b->search(50, q.data(), 10, others.data(), other_ids.data());
  if (ids != other_ids || distances != others) complain(what + ": other answers");
  float x[d], y[d];
  for (int i = 0; i < n; i++) {
    a->reconstruct(i, x);
    b->reconstruct(i, y);
    if (std::memcmp(x, y, sizeof x) != 0) complain(what + ": other vectors");
  }
}

static void update_some(const char *kind, faiss::DirectMap::Type type) {
  const floats x = vectors(n, 1), y = vectors(more, 5);
  id_list all(n), ids(more);
  for (int i = 0; i < n; i++) all[static_cast<size_t>(i)] = i;
  for (int i = 0; i < more; i++) ids[static_cast<size_t>(i)] = i * 37 % n;
  peer_index theirs(faiss::index_factory(d, kind));
  theirs->train(n, x.data());
  ivf_of(theirs.get())->set_direct_map_type(type);
  if (type == faiss::DirectMap::Array)
    theirs->add(n, x.data());
  else
    theirs->add_with_ids(n, x.data(), all.data());
  faiss::write_index(theirs.get(), "full.index");
  ivf_of(theirs.get())->update_vectors(more, ids.data(), y.data());
  faiss::write_index(theirs.get(), "theirs.index");
  own_index ours("full.index");
  furrow_error err;
  good(furrow_index_update(ours.index, ids.data(), y.data(), static_cast<size_t>(more), &err), err);
  ours.save("ours.index");
  const std::string what = std::string(kind) + " after updating";
  if (type == faiss::DirectMap::Array) compare_files(what, "ours.index", "theirs.index");
  peer_index read(faiss::read_index("ours.index"));
  compare_answers(what, read.get(), theirs.get());
}

// ---- A graph of Furrow's as coarse quantizer ----

static void search_graph() {
  const int many = 20000, nlist = 256, queries = 200, k = 10;
  const floats x = vectors(many, 3), q = vectors(queries, 11);
  furrow_index_spec spec;
  furrow_index *made = nullptr;
  furrow_error err;
  furrow_index_spec_init(&spec);
  spec.d = d;
  spec.nlist = nlist;
  spec.m = 4;
  spec.nbits = 4;
  spec.hnsw_m = 16;
  good(furrow_index_create(&made, &spec, &err), err);
  good(furrow_index_train(made, x.data(), many, nullptr, &err), err);
  const furrow_index_save_params params = overwriting();
  good(furrow_index_save(made, "graph.index", &params, &err), err);
  furrow_index_free(made);
  peer_index read(faiss::read_index("graph.index"));
  faiss::write_index(read.get(), "again.index");
  compare_files("the graph", "graph.index", "again.index");
  auto *graph = dynamic_cast<faiss::IndexHNSW *>(ivf_of(read.get())->quantizer);
  if (!graph || graph->ntotal != nlist) return complain("the graph is none");
  graph->hnsw.efSearch = 64;
  faiss::IndexFlatL2 flat(d);
  flat.add(nlist, dynamic_cast<faiss::IndexFlat *>(graph->storage)->get_xb());
  floats distances(queries * k);
  id_list found(queries * k), exact(queries * k);
  graph->search(queries, q.data(), k, distances.data(), found.data());
  flat.search(queries, q.data(), k, distances.data(), exact.data());
  size_t hits = 0;
  for (size_t i = 0; i < found.size(); i++)
    for (size_t j = i / k * k; j < i / k * k + k; j++) hits += found[i] == exact[j];
  if (hits < found.size() * 95 / 100)
    complain("the graph finds " + std::to_string(hits) + " of " + std::to_string(found.size()));
}

int main() {
  try {
    for (const char *kind :
         {"IVF16,PQ4x4np", "IVF16,PQ2x8np", "IVF16,Flat", "PCA8,IVF16,PQ4x4np", "IVF16,SQ8", "IVF256,PQ4x4np"}) {
      const floats x = vectors(n, 1);
      peer_index index(faiss::index_factory(d, kind));
      index->train(n, x.data());
      faiss::write_index(index.get(), "empty.index");
      index->add(n, x.data());
      faiss::write_index(index.get(), "full.index");
      remove_range(kind);
      merge_two(kind);
    }
    for (const char *kind : {"IVF16,PQ4x4np", "IVF16,Flat"}) {
      update_some(kind, faiss::DirectMap::Array);
      update_some(kind, faiss::DirectMap::Hashtable);
    }
    search_graph();
  } catch (const std::exception &e) {
    complain(e.what());
  }
  return failed ? 1 : 0;
}
