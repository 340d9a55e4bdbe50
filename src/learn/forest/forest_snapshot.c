/* learn/forest/forest_snapshot.c: all of a forest as bytes: docs/formats/checkpoint.md. */
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "learn/forest/forest.h"

#define MAGIC "FWTREES1"

/* Places of the header's fields, behind which the arrays follow each other. */
enum { AT_MAGIC = 0, AT_LEVELS = 8, AT_STATS = 12, AT_CLASSES = 16, AT_TREES = 24, HEADER = 32 };

/* ---- Writing -------------------------------------------------------------------------------------------- */

static furrow_status write_arrays(const fw_forest *f, fw_snapshot_sink sink, void *to, furrow_error *err) {
  const struct {
    const void *numbers;
    size_t size;
  } arrays[] = {{f->feature, sizeof *f->feature}, {f->value, sizeof *f->value},
                {f->predict, sizeof *f->predict}, {f->missing_flipped, sizeof *f->missing_flipped},
                {f->gain, sizeof *f->gain},       {f->gradient, sizeof *f->gradient},
                {f->hessian, sizeof *f->hessian}};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < sizeof arrays / sizeof *arrays; i++)
    if (arrays[i].numbers)
      status = fw_snapshot_write(arrays[i].numbers, f->trees * f->nodes, arrays[i].size, sink, to, err);
  return status;
}

furrow_status fw_forest_snapshot_write(const fw_forest *forest, fw_snapshot_sink sink, void *to, furrow_error *err) {
  unsigned char header[HEADER];
  memcpy(header + AT_MAGIC, MAGIC, 8);
  fw_put_le32(header + AT_LEVELS, forest->levels);
  fw_put_le32(header + AT_STATS, forest->gain != NULL);
  fw_put_le64(header + AT_CLASSES, forest->classes);
  fw_put_le64(header + AT_TREES, forest->trees);
  furrow_status status = sink(to, header, sizeof header, err);
  return status == FURROW_OK ? write_arrays(forest, sink, to, err) : status;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status fail_at(furrow_error *err, size_t offset, const char *message) {
  furrow_status status = fw_fail(err, FURROW_E_FORMAT, "%s", message);
  if (err) err->offset = offset;
  return status;
}

/* Bytes of a node in all arrays. */
static size_t node_bytes(bool with_stats) {
  return sizeof(int32_t) + 2 * sizeof(double) + 1 + (with_stats ? 3 * sizeof(double) : 0);
}

static furrow_status check_header(const unsigned char *bytes, size_t size, furrow_error *err) {
  if (size < HEADER) return fail_at(err, size, "the forest ends inside its header");
  if (memcmp(bytes + AT_MAGIC, MAGIC, 8) != 0) return fail_at(err, AT_MAGIC, "not a forest");
  const uint32_t levels = fw_get_le32(bytes + AT_LEVELS);
  if (levels < 1 || levels > FW_FOREST_LEVELS) return fail_at(err, AT_LEVELS, "the number of levels cannot be");
  const uint32_t stats = fw_get_le32(bytes + AT_STATS);
  if (stats > 1) return fail_at(err, AT_STATS, "whether nodes have sums is neither 0 nor 1");
  const uint64_t classes = fw_get_le64(bytes + AT_CLASSES), trees = fw_get_le64(bytes + AT_TREES);
  if (classes < 1 || classes > INT32_MAX) return fail_at(err, AT_CLASSES, "the number of classes cannot be");
  const uint64_t nodes = (UINT64_C(1) << levels) - 1;
  if (trees % classes != 0 || trees > FW_FOREST_NODES / nodes)
    return fail_at(err, AT_TREES, "the number of trees cannot be");
  const uint64_t wanted = HEADER + trees * nodes * node_bytes(stats != 0);
  if (size < wanted) return fail_at(err, size, "the forest ends inside its nodes");
  if (size > wanted) return fail_at(err, (size_t)wanted, "bytes follow the forest");
  return FURROW_OK;
}

static const unsigned char *read_array(void *numbers, const unsigned char *from, size_t count, size_t size) {
  fw_snapshot_copy(numbers, from, count, size);
  return from + count * size;
}

static void read_arrays(fw_forest *f, const unsigned char *at) {
  const size_t count = f->trees * f->nodes;
  at = read_array(f->feature, at, count, sizeof *f->feature);
  at = read_array(f->value, at, count, sizeof *f->value);
  at = read_array(f->predict, at, count, sizeof *f->predict);
  at = read_array(f->missing_flipped, at, count, sizeof *f->missing_flipped);
  if (!f->gain) return;
  at = read_array(f->gain, at, count, sizeof *f->gain);
  at = read_array(f->gradient, at, count, sizeof *f->gradient);
  read_array(f->hessian, at, count, sizeof *f->hessian);
}

/* A node that is wrong is named by the message; the offset is that of the first node. */
static furrow_status check_nodes(const fw_forest *forest, furrow_error *err) {
  furrow_status status = fw_forest_check(forest, 0, err);
  if (status != FURROW_OK && err) err->offset = HEADER;
  return status;
}

furrow_status fw_forest_snapshot_read(fw_forest **forest, const unsigned char *bytes, size_t size, furrow_error *err) {
  furrow_status status = check_header(bytes, size, err);
  if (status != FURROW_OK) return status;
  fw_forest *made = NULL;
  status = fw_forest_create(&made, (size_t)fw_get_le64(bytes + AT_CLASSES), fw_get_le32(bytes + AT_LEVELS),
                            fw_get_le32(bytes + AT_STATS) != 0, err);
  if (status == FURROW_OK) status = fw_forest_add(made, (size_t)fw_get_le64(bytes + AT_TREES), err);
  if (status == FURROW_OK) {
    read_arrays(made, bytes + HEADER);
    status = check_nodes(made, err);
  }
  if (status == FURROW_OK)
    *forest = made;
  else
    fw_forest_free(made);
  return status;
}
