/* vector/index/index_kinds.c: names of kinds, metrics and children, and the fourccs that stand for kinds in files. */
#include <string.h>

#include "vector/index/index.h"

const char *furrow_index_kind_name(furrow_index_kind kind) {
  switch (kind) {
#define FURROW_X(name, text) \
  case FURROW_INDEX_##name: return text;
    FURROW_INDEX_KINDS(FURROW_X)
#undef FURROW_X
  }
  return "?";
}

const char *furrow_distance_metric_name(furrow_distance_metric metric) {
  switch (metric) {
#define FURROW_X(name, number, text) \
  case FURROW_METRIC_##name: return text;
    FURROW_DISTANCE_METRICS(FURROW_X)
#undef FURROW_X
  }
  return NULL;
}

const char *furrow_index_child_name(const furrow_index *index, size_t i) {
  static const char *const refined[] = {"base", "refine"};
  if (index->kind == FURROW_INDEX_REFINE) return i < 2 ? refined[i] : NULL;
  if (i > 0) return NULL;
  if (fw_index_is_ivf(index)) return "quantizer";
  if (index->kind == FURROW_INDEX_HNSW) return "storage";
  if (index->kind == FURROW_INDEX_ID_MAP || index->kind == FURROW_INDEX_TRANSFORM) return "index";
  return NULL;
}

/* The first name of a kind is used for new indexes. */
static const fw_index_name names[] = {
    {"IxFl", FURROW_INDEX_FLAT, "IxFl"},        {"IxF2", FURROW_INDEX_FLAT, "IxF2"},
    {"IxFI", FURROW_INDEX_FLAT, "IxFI"},        {"IHNf", FURROW_INDEX_HNSW, "IHNf"},
    {"IxPq", FURROW_INDEX_PQ, "IxPq"},          {"Imiq", FURROW_INDEX_MULTI, "Imiq"},
    {"IwFl", FURROW_INDEX_IVF_FLAT, "IwFl"},    {"IvFl", FURROW_INDEX_IVF_FLAT, "IwFl"},
    {"IvFL", FURROW_INDEX_IVF_FLAT, "IwFl"},    {"IwPQ", FURROW_INDEX_IVF_PQ, "IwPQ"},
    {"IvPQ", FURROW_INDEX_IVF_PQ, "IwPQ"},      {"IwQR", FURROW_INDEX_IVF_PQR, "IwQR"},
    {"IvQR", FURROW_INDEX_IVF_PQR, "IwQR"},     {"IwSq", FURROW_INDEX_IVF_SQ, "IwSq"},
    {"IwSQ", FURROW_INDEX_IVF_SQ, "IwSq"},      {"IvSQ", FURROW_INDEX_IVF_SQ, "IwSq"},
    {"IwPf", FURROW_INDEX_IVF_PQ_FAST, "IwPf"}, {"IxMp", FURROW_INDEX_ID_MAP, "IxMp"},
    {"IxM2", FURROW_INDEX_ID_MAP, "IxM2"},      {"IxPT", FURROW_INDEX_TRANSFORM, "IxPT"},
    {"IxRF", FURROW_INDEX_REFINE, "IxRF"},      {"IxSQ", FURROW_INDEX_SQ, "IxSQ"},
    {"IPfs", FURROW_INDEX_PQ_FAST, "IPfs"},     {"IHNs", FURROW_INDEX_HNSW, "IHNs"},
    {"IHNp", FURROW_INDEX_HNSW, "IHNp"},
};

const fw_index_name *fw_index_named(const char *fourcc) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (memcmp(names[i].fourcc, fourcc, 4) == 0) return &names[i];
  return NULL;
}

const fw_index_name *fw_index_name_of(furrow_index_kind kind, furrow_distance_metric metric) {
  if (kind == FURROW_INDEX_FLAT && metric == FURROW_METRIC_L2) return fw_index_named("IxF2");
  if (kind == FURROW_INDEX_FLAT && metric == FURROW_METRIC_IP) return fw_index_named("IxFI");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].kind == kind) return &names[i];
  return NULL;
}

const char *fw_hnsw_fourcc(const furrow_index *storage) {
  switch (storage->kind) {
  case FURROW_INDEX_FLAT: return "IHNf";
  case FURROW_INDEX_SQ: return "IHNs";
  case FURROW_INDEX_PQ: return "IHNp";
  default: return NULL;
  }
}

/* Fourccs that Faiss reads but Furrow does not. */
static const struct {
  char fourcc[5];
  const char *text;
} others[] = {
    {"IxPQ", "product quantizer codes from before 2017"},
    {"IxPo", "product quantizer codes from before 2017"},
    {"IvPC", "a compact IVFPQ of 2017, which current Faiss does not read"},
    {"IxRQ", "residual quantizer codes"},
    {"IxRq", "residual quantizer codes"},
    {"IxLS", "local search quantizer codes"},
    {"IxPR", "product residual quantizer codes"},
    {"IxPL", "product local search quantizer codes"},
    {"ImRQ", "a residual coarse quantizer"},
    {"ImLS", "a local search coarse quantizer"},
    {"IxHE", "locality sensitive hashing"},
    {"IxHe", "locality sensitive hashing"},
    {"IxLa", "lattice codes"},
    {"Ix2L", "two-level codes"},
    {"IwRQ", "inverted lists of residual quantizer codes"},
    {"IwRq", "inverted lists of residual quantizer codes"},
    {"IwLS", "inverted lists of local search quantizer codes"},
    {"IwPR", "inverted lists of product residual quantizer codes"},
    {"IwPL", "inverted lists of product local search quantizer codes"},
    {"IwSh", "spectral hashing"},
    {"IwIQ", "inverted lists with a quantizer of another dimension"},
    {"IHN2", "an HNSW graph over two-level codes"},
    {"IH00", "an HNSW graph"},
    {"INSf", "an NSG graph"},
    {"INNf", "an NN-descent graph"},
    {"IxRo", "row-wise min-max codes"},
    {"IRMf", "row-wise min-max codes"},
    {"IRMh", "row-wise min-max codes"},
    {"Ixrq", "RaBitQ codes"},
    {"Ixrr", "RaBitQ codes"},
    {"Irfn", "RaBitQ codes for fast scan"},
    {"Iwrq", "inverted lists of RaBitQ codes"},
    {"Iwrr", "inverted lists of RaBitQ codes"},
    {"Iwrn", "inverted lists of RaBitQ codes for fast scan"},
    {"IxEe", "EDEN codes"},
    {"IwEe", "inverted lists of EDEN codes"},
    {"IwFd", "inverted lists that store equal vectors once"},
    {"INSp", "an NSG graph over product quantizer codes"},
    {"INSs", "an NSG graph over scalar quantizer codes"},
    {"ILfs", "local search quantizer codes for fast scan"},
    {"IRfs", "residual quantizer codes for fast scan"},
    {"IVLf", "inverted lists of local search quantizer codes for fast scan"},
    {"IVRf", "inverted lists of residual quantizer codes for fast scan"},
};

const char *fw_index_unsupported(const char *fourcc) {
  if (memcmp(fourcc, "IB", 2) == 0) return "a binary index";
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (memcmp(others[i].fourcc, fourcc, 4) == 0) return others[i].text;
  return NULL;
}
