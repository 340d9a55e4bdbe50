/* vector/file/index_read_transform.c: reads the transforms of an index. In a file the dimensions of a transform follow
 * its arrays, so the arrays are checked afterwards. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/file/index_read.h"

enum { MOST_TRANSFORMS = 1000 };

static bool is_fourcc(const fw_transform *t, const char *fourcc) {
  return memcmp(t->fourcc, fourcc, 4) == 0;
}

static void read_linear(fw_cursor *c, fw_transform *t) {
  t->have_bias = fw_cursor_read_bool(c, "have_bias", "whether b is added");
  t->a = fw_cursor_read_vector(c, "A", FW_FIELD_F32, FW_ANY_COUNT, &t->a_count, "[d_out][d_in]");
  fw_expect_finite(c, t->a, t->a_count);
  t->b = fw_cursor_read_vector(c, "b", FW_FIELD_F32, FW_ANY_COUNT, &t->b_count, "[d_out]");
  fw_expect_finite(c, t->b, t->b_count);
}

static void read_mean(fw_cursor *c, fw_transform *t) {
  t->mean = fw_cursor_read_vector(c, "mean", FW_FIELD_F32, FW_ANY_COUNT, &t->mean_count, "[d_in]");
  fw_expect_finite(c, t->mean, t->mean_count);
}

/* There are three generations: Pcam has all fields, PcAm lacks epsilon, PCAm also lacks balanced_bins. */
static void read_pca(fw_cursor *c, fw_transform *t, const char *generation) {
  t->eigen_power = fw_cursor_read_f32(c, "eigen_power", "power of the eigenvalues: 0 PCA, -0.5 whitening");
  if (strcmp(generation, "Pcam") == 0) t->epsilon = fw_cursor_read_f32(c, "epsilon", "added to the eigenvalues");
  t->random_rotation = fw_cursor_read_bool(c, "random_rotation", "a random rotation follows");
  if (strcmp(generation, "PCAm") != 0)
    t->balanced_bins = fw_cursor_read_i32(c, "balanced_bins", "bins of equal variance");
  read_mean(c, t);
  t->eigenvalues =
      fw_cursor_read_vector(c, "eigenvalues", FW_FIELD_F32, FW_ANY_COUNT, &t->eigen_count, "of the covariance");
  t->pca = fw_cursor_read_vector(c, "PCAMat", FW_FIELD_F32, FW_ANY_COUNT, &t->pca_count, "eigenvectors");
  read_linear(c, t);
}

static void read_transform(fw_cursor *c, fw_transform *t, unsigned depth);

static void read_itq(fw_cursor *c, fw_transform *t, unsigned depth) {
  read_mean(c, t);
  t->do_pca = fw_cursor_read_bool(c, "do_pca", "a PCA comes first");
  t->nested = fw_cursor_alloc(c, 2, sizeof *t->nested);
  if (!t->nested) return;
  memset(t->nested, 0, 2 * sizeof *t->nested);
  static const char *const names[] = {"itq", "pca_then_itq"};
  for (size_t i = 0; i < 2; i++) {
    size_t mark = fw_cursor_enter(c, names[i]);
    read_transform(c, &t->nested[i], depth + 1);
    fw_cursor_leave(c, mark);
  }
}

static void read_own_fields(fw_cursor *c, fw_transform *t, unsigned depth) {
  if (is_fourcc(t, "LTra") || is_fourcc(t, "rrot")) {
    read_linear(c, t);
  } else if (is_fourcc(t, "Pcam") || is_fourcc(t, "PcAm") || is_fourcc(t, "PCAm")) {
    char generation[5] = {0};
    memcpy(generation, t->fourcc, 4);
    memcpy(t->fourcc, "Pcam", 4); /* the fourcc used for writing */
    read_pca(c, t, generation);
  } else if (is_fourcc(t, "VNrm")) {
    t->norm = fw_cursor_read_f32(c, "norm", "the norm that becomes 1");
  } else if (is_fourcc(t, "VCnt")) {
    read_mean(c, t);
  } else if (is_fourcc(t, "RmDT")) {
    t->map = fw_cursor_read_vector(c, "map", FW_FIELD_I32, FW_ANY_COUNT, &t->map_count, "input of each output; -1: 0");
  } else if (is_fourcc(t, "Viqm")) {
    t->max_iter = fw_cursor_read_i32(c, "max_iter", "iterations of the training");
    t->seed = fw_cursor_read_u32(c, "seed", "of the training");
    read_linear(c, t);
  } else if (is_fourcc(t, "Viqt") && depth == 0) {
    read_itq(c, t, depth);
  } else if (is_fourcc(t, "HRot")) {
    t->seed = fw_cursor_read_u32(c, "seed", "of the signs");
  } else {
    fw_cursor_fail(c, FURROW_E_UNSUPPORTED, "is of a transform that Furrow does not read");
    if (c->err) fw_error_set_token(c->err, t->fourcc, 4);
  }
}

/* ---- Checks --------------------------------------------------------------------------------------------- */

static void expect_count(fw_cursor *c, const char *what, size_t count, uint64_t want, bool optional) {
  if (count == want || (optional && count == 0)) return;
  fw_cursor_reject(c, "makes %s need %" PRIu64 " %s, but it has %zu", what, want, fw_plural(want, "number", "numbers"),
                   count);
}

static void check_map(fw_cursor *c, const fw_transform *t) {
  expect_count(c, "map", t->map_count, (uint64_t)t->d_out, false);
  for (size_t i = 0; fw_cursor_good(c) && i < t->map_count; i++)
    if (t->map[i] < -1 || t->map[i] >= t->d_in)
      fw_cursor_reject(c, "is contradicted by map: output %zu comes from %" PRId32 " of %" PRId32 " %s", i, t->map[i],
                       t->d_in, fw_plural((uint64_t)t->d_in, "input", "inputs"));
}

/* Arrays of an untrained transform may be empty. */
static void check_transform(fw_cursor *c, const fw_transform *t) {
  uint64_t in = (uint64_t)t->d_in, out = (uint64_t)t->d_out;
  bool linear = is_fourcc(t, "LTra") || is_fourcc(t, "rrot") || is_fourcc(t, "Pcam") || is_fourcc(t, "Viqm");
  if (linear) {
    expect_count(c, "A", t->a_count, in * out, !t->trained);
    expect_count(c, "b", t->b_count, out, !t->trained || !t->have_bias);
  }
  if (is_fourcc(t, "Pcam") || is_fourcc(t, "VCnt") || is_fourcc(t, "Viqt"))
    expect_count(c, "mean", t->mean_count, in, !t->trained);
  if (is_fourcc(t, "RmDT")) check_map(c, t);
  if ((is_fourcc(t, "VNrm") || is_fourcc(t, "VCnt")) && in != out)
    fw_cursor_reject(c, "comes with %" PRId32 " %s and %" PRId32 " %s, which must be equal", t->d_in,
                     fw_plural(in, "input", "inputs"), t->d_out, fw_plural(out, "output", "outputs"));
  if (is_fourcc(t, "Viqt") && t->trained && (t->nested[1].d_in != t->d_in || t->nested[1].d_out != t->d_out))
    fw_cursor_reject(c, "is contradicted by pca_then_itq, which makes %" PRId32 " of %" PRId32, t->nested[1].d_out,
                     t->nested[1].d_in);
}

static int32_t read_dimension(fw_cursor *c, const char *name, const char *meaning) {
  int32_t d = fw_cursor_read_i32(c, name, meaning);
  if (fw_cursor_good(c) && (d <= 0 || d > FW_INDEX_MAX_D))
    fw_cursor_reject(c, "is %" PRId32 ", but must be 1 to %d", d, FW_INDEX_MAX_D);
  return d;
}

static const char *explain_transform(const char *fourcc) {
  static const char *const known[][2] = {
      {"LTra", "linear, also what was trained as OPQ"},
      {"rrot", "random rotation"},
      {"Pcam", "PCA"},
      {"PcAm", "PCA of before 2021"},
      {"PCAm", "PCA of before 2017"},
      {"VNrm", "normalisation"},
      {"VCnt", "centering"},
      {"RmDT", "other order or number of dimensions"},
      {"Viqm", "rotation found by ITQ"},
      {"Viqt", "ITQ"},
      {"HRot", "Hadamard rotation"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (memcmp(known[i][0], fourcc, 4) == 0) return known[i][1];
  return NULL;
}

static void read_transform(fw_cursor *c, fw_transform *t, unsigned depth) {
  fw_cursor_read_fourcc(c, "fourcc", explain_transform, t->fourcc);
  if (fw_cursor_good(c)) read_own_fields(c, t, depth);
  t->d_in = read_dimension(c, "d_in", "dimension that comes in");
  t->d_out = read_dimension(c, "d_out", "dimension that goes out");
  t->trained = fw_cursor_read_bool(c, "is_trained", "ready for vectors");
  if (fw_cursor_good(c)) check_transform(c, t);
}

/* ---- The chain of transforms ---------------------------------------------------------------------------- */

static void read_chain(fw_cursor *c, furrow_index *index, size_t count) {
  int32_t d = index->d;
  for (size_t i = 0; fw_cursor_good(c) && i < count; i++) {
    fw_transform *t = &index->transforms.list[i];
    size_t mark = fw_cursor_enter_item(c, "transforms", i);
    index->transforms.count = i + 1;
    read_transform(c, t, 0);
    if (t->d_in != d)
      fw_cursor_reject(c, "ends a transform of %" PRId32 " %s, but %" PRId32 " %s here", t->d_in,
                       fw_plural((uint64_t)t->d_in, "input", "inputs"), d, fw_plural((uint64_t)d, "comes", "come"));
    d = t->d_out;
    fw_cursor_leave(c, mark);
  }
}

void fw_read_transforms(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  int32_t count = fw_cursor_read_i32(c, "nt", "transforms, applied in order");
  if (count < 0 || count > MOST_TRANSFORMS)
    fw_cursor_reject(c, "is %" PRId32 ", but must be 0 to %d", count, MOST_TRANSFORMS);
  index->transforms.list = fw_cursor_alloc(c, (size_t)count, sizeof *index->transforms.list);
  if (!index->transforms.list) return;
  memset(index->transforms.list, 0, (size_t)count * sizeof *index->transforms.list);
  read_chain(c, index, (size_t)count);
  fw_read_index(r, "index", &index->child[0]);
  if (!index->child[0]) fw_cursor_reject_at(c, c->field_at, "index", "is null, but is required");
  int32_t d = count > 0 ? index->transforms.list[count - 1].d_out : index->d;
  fw_expect_d(r, index->child[0], "index", d);
}
