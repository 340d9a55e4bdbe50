/* learn/nodes/node_file.c: forest.nodes, byte by byte (docs/formats/forest_nodes.md). */
#include "learn/nodes/node_forest.h"

#include <sys/stat.h>

#include <xxhash.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/input.h"

static const char magic[8] = {'F', 'U', 'R', 'R', 'O', 'W', 'N', 'F'};
enum { VERSION = 1, HEADER = 96, NODE_BYTES = 32, TREE_BYTES = 8 };
enum {
  AT_VERSION = 8,
  AT_FLAGS = 12,
  AT_SIZE = 16,
  AT_DIGEST = 24,
  AT_CLASSES = 32, /* the digest is of the bytes from here on */
  AT_LINK = 36,
  AT_TREES = 40,
  AT_NODES = 48,
  AT_FEATURES = 56,
  AT_SETS = 64,
  AT_WORDS = 72,
  AT_DIVISOR = 80,
  AT_SCALE = 88
};
enum { FLAG_LESS = 1, FLAG_SINGLE = 2, FLAG_ABSENT_ZERO = 4, FLAG_STATS = 8, FLAGS = 15 };

static void put_f64(void *to, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  fw_put_le64(to, bits);
}

static double get_f64(const void *from) {
  const uint64_t bits = fw_get_le64(from);
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* ---- Writing ---- */

static void put_node(unsigned char *to, const fw_split_node *node) {
  uint32_t gain;
  memcpy(&gain, &node->gain, sizeof gain);
  put_f64(to, node->value);
  put_f64(to + 8, node->cover);
  fw_put_le32(to + 16, gain);
  fw_put_le32(to + 20, (uint32_t)node->feature);
  fw_put_le32(to + 24, node->right);
  fw_put_le32(to + 28, node->flags);
}

static uint64_t file_size(const fw_node_forest *forest) {
  return HEADER + 8 * forest->classes + TREE_BYTES * forest->trees + NODE_BYTES * forest->nodes + 8 * forest->sets +
         4 * forest->set_begin[forest->sets];
}

static void put_header(unsigned char *header, const fw_node_forest *forest) {
  memcpy(header, magic, sizeof magic);
  fw_put_le32(header + AT_VERSION, VERSION);
  fw_put_le32(header + AT_FLAGS, (forest->less ? FLAG_LESS : 0) | (forest->single ? FLAG_SINGLE : 0) |
                                     (forest->absent_zero ? FLAG_ABSENT_ZERO : 0) | (forest->stats ? FLAG_STATS : 0));
  fw_put_le64(header + AT_SIZE, file_size(forest));
  fw_put_le32(header + AT_CLASSES, (uint32_t)forest->classes);
  fw_put_le32(header + AT_LINK, (uint32_t)forest->link);
  fw_put_le64(header + AT_TREES, forest->trees);
  fw_put_le64(header + AT_NODES, forest->nodes);
  fw_put_le64(header + AT_FEATURES, forest->features);
  fw_put_le64(header + AT_SETS, forest->sets);
  fw_put_le64(header + AT_WORDS, forest->set_begin[forest->sets]);
  put_f64(header + AT_DIVISOR, forest->divisor);
  put_f64(header + AT_SCALE, forest->scale);
}

void fw_node_forest_write(const fw_node_forest *forest, fw_buffer *out) {
  unsigned char bytes[HEADER] = {0};
  const size_t first = out->size;
  put_header(bytes, forest);
  fw_buffer_append(out, bytes, HEADER);
  for (size_t c = 0; c < forest->classes; c++) {
    put_f64(bytes, forest->base[c]);
    fw_buffer_append(out, bytes, 8);
  }
  for (size_t t = 0; t < forest->trees; t++) {
    fw_put_le32(bytes, (uint32_t)(forest->begin[t + 1] - forest->begin[t]));
    fw_put_le32(bytes + 4, forest->class_of[t]);
    fw_buffer_append(out, bytes, TREE_BYTES);
  }
  for (size_t i = 0; i < forest->nodes; i++) {
    put_node(bytes, &forest->node[i]);
    fw_buffer_append(out, bytes, NODE_BYTES);
  }
  for (size_t s = 0; s < forest->sets; s++) {
    fw_put_le64(bytes, forest->set_begin[s + 1]);
    fw_buffer_append(out, bytes, 8);
  }
  for (size_t w = 0; w < forest->set_begin[forest->sets]; w++) {
    fw_put_le32(bytes, forest->words[w]);
    fw_buffer_append(out, bytes, 4);
  }
  if (out->missing) return;
  unsigned char *written = (unsigned char *)out->bytes + first;
  fw_put_le64(written + AT_DIGEST, XXH3_64bits(written + AT_CLASSES, out->size - first - AT_CLASSES));
}

/* ---- Reading ---- */

typedef struct counts {
  size_t classes, trees, nodes, features, sets, words;
} counts;

static furrow_status fail_at(size_t offset, furrow_error *err, const char *what) {
  fw_fail(err, FURROW_E_FORMAT, "%s", what);
  if (err) err->offset = offset;
  return FURROW_E_FORMAT;
}

/* A count of things of `unit` bytes that the file must still have. */
static bool take_count(const unsigned char *at, size_t unit, uint64_t *left, size_t *count) {
  const uint64_t n = fw_get_le64(at);
  if (n > *left / unit) return false;
  *left -= n * unit;
  *count = (size_t)n;
  return true;
}

static furrow_status check_header(const unsigned char *bytes, size_t size, counts *n, furrow_error *err) {
  if (size < HEADER || memcmp(bytes, magic, sizeof magic) != 0)
    return fail_at(0, err, "not a file of nodes of a forest");
  if (fw_get_le32(bytes + AT_VERSION) != VERSION) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "version %u of forest.nodes is not known here; %d is the latest",
            fw_get_le32(bytes + AT_VERSION), VERSION);
    if (err) err->offset = AT_VERSION;
    return FURROW_E_UNSUPPORTED;
  }
  if (fw_get_le64(bytes + AT_SIZE) != size)
    return fail_at(AT_SIZE, err, "the file does not have the size that it names");
  if (fw_get_le64(bytes + AT_DIGEST) != XXH3_64bits(bytes + AT_CLASSES, size - AT_CLASSES))
    return fail_at(AT_DIGEST, err, "the digest does not fit the bytes: the file is damaged");
  if (fw_get_le32(bytes + AT_FLAGS) & ~(uint32_t)FLAGS) return fail_at(AT_FLAGS, err, "a flag is unknown");
  if (fw_get_le32(bytes + AT_LINK) >= FW_LINKS) return fail_at(AT_LINK, err, "the link is unknown");
  uint64_t left = size - HEADER;
  n->classes = fw_get_le32(bytes + AT_CLASSES);
  n->features = (size_t)fw_get_le64(bytes + AT_FEATURES);
  if (n->classes > left / 8) return fail_at(AT_CLASSES, err, "more classes than the file has bytes for");
  left -= 8 * (uint64_t)n->classes;
  if (!take_count(bytes + AT_TREES, TREE_BYTES, &left, &n->trees))
    return fail_at(AT_TREES, err, "more trees than the file has bytes for");
  if (!take_count(bytes + AT_NODES, NODE_BYTES, &left, &n->nodes) || n->nodes > FW_NODES_MOST)
    return fail_at(AT_NODES, err, "more nodes than the file has bytes for");
  if (!take_count(bytes + AT_SETS, 8, &left, &n->sets))
    return fail_at(AT_SETS, err, "more sets than the file has bytes for");
  if (!take_count(bytes + AT_WORDS, 4, &left, &n->words) || left > 0)
    return fail_at(AT_WORDS, err, "the sets do not have the bytes that are left");
  return FURROW_OK;
}

static furrow_status reserve(fw_node_forest *forest, const counts *n, furrow_error *err) {
  FW_TRY(FW_GROW(&forest->begin, &forest->tree_capacity[0], n->trees + 1, err));
  FW_TRY(FW_GROW(&forest->class_of, &forest->tree_capacity[1], n->trees, err));
  FW_TRY(FW_GROW(&forest->node, &forest->node_capacity, n->nodes, err));
  FW_TRY(FW_GROW(&forest->set_begin, &forest->set_capacity, n->sets + 1, err));
  return FW_GROW(&forest->words, &forest->word_capacity, n->words, err);
}

static void get_node(fw_split_node *node, const unsigned char *from) {
  const uint32_t gain = fw_get_le32(from + 16);
  node->value = get_f64(from);
  node->cover = get_f64(from + 8);
  memcpy(&node->gain, &gain, sizeof gain);
  node->feature = (int32_t)fw_get_le32(from + 20);
  node->right = fw_get_le32(from + 24);
  node->flags = fw_get_le32(from + 28);
}

static furrow_status take_trees(fw_node_forest *forest, const unsigned char *at, const counts *n, furrow_error *err) {
  for (size_t t = 0; t < n->trees; t++, at += TREE_BYTES) {
    const uint32_t nodes = fw_get_le32(at);
    if (nodes == 0 || nodes > n->nodes - forest->begin[t])
      return fw_fail(err, FURROW_E_FORMAT, "tree %zu has %u nodes, but %zu are left", t, nodes,
                     n->nodes - (size_t)forest->begin[t]);
    forest->begin[t + 1] = forest->begin[t] + nodes;
    forest->class_of[t] = fw_get_le32(at + 4);
  }
  forest->trees = n->trees;
  if (forest->begin[n->trees] != n->nodes) return fw_fail(err, FURROW_E_FORMAT, "nodes are left after the last tree");
  return FURROW_OK;
}

static furrow_status take_sets(fw_node_forest *forest, const unsigned char *at, const counts *n, furrow_error *err) {
  for (size_t s = 0; s < n->sets; s++, at += 8) {
    const uint64_t end = fw_get_le64(at);
    if (end < forest->set_begin[s] || end > n->words)
      return fw_fail(err, FURROW_E_FORMAT, "set %zu ends outside of the words", s);
    forest->set_begin[s + 1] = end;
  }
  forest->sets = n->sets;
  if (forest->set_begin[n->sets] != n->words) return fw_fail(err, FURROW_E_FORMAT, "words are left after the last set");
  for (size_t w = 0; w < n->words; w++, at += 4) forest->words[w] = fw_get_le32(at);
  return FURROW_OK;
}

static furrow_status read_body(fw_node_forest *forest, const unsigned char *bytes, const counts *n, furrow_error *err) {
  const uint32_t flags = fw_get_le32(bytes + AT_FLAGS);
  const unsigned char *at = bytes + HEADER;
  FW_TRY(reserve(forest, n, err));
  forest->less = (flags & FLAG_LESS) != 0;
  forest->single = (flags & FLAG_SINGLE) != 0;
  forest->absent_zero = (flags & FLAG_ABSENT_ZERO) != 0;
  forest->stats = (flags & FLAG_STATS) != 0;
  forest->link = (fw_link)fw_get_le32(bytes + AT_LINK);
  forest->features = n->features;
  forest->divisor = get_f64(bytes + AT_DIVISOR);
  forest->scale = get_f64(bytes + AT_SCALE);
  for (size_t c = 0; c < n->classes; c++, at += 8) forest->base[c] = get_f64(at);
  FW_TRY(take_trees(forest, at, n, err));
  at += TREE_BYTES * n->trees;
  for (size_t i = 0; i < n->nodes; i++, at += NODE_BYTES) get_node(&forest->node[i], at);
  forest->nodes = n->nodes;
  FW_TRY(take_sets(forest, at, n, err));
  return fw_node_forest_check(forest, err);
}

furrow_status fw_node_forest_read(fw_node_forest **forest, const void *bytes, size_t size, const char *file,
                                  furrow_error *err) {
  fw_node_forest *made = NULL;
  counts n = {0};
  furrow_status status = check_header(bytes, size, &n, err);
  if (status == FURROW_OK) status = fw_node_forest_create(&made, n.classes, err);
  if (status == FURROW_E_RANGE) status = fail_at(AT_CLASSES, err, "the number of classes is not valid");
  if (status == FURROW_OK) status = read_body(made, bytes, &n, err);
  if (status != FURROW_OK && file) fw_error_set_file(err, file);
  return FW_HAND_OVER(status, forest, made, fw_node_forest_free);
}

furrow_status fw_node_bytes_load(unsigned char **bytes, size_t *size, const char *path, furrow_error *err) {
  fw_input *input = NULL;
  struct stat info;
  FW_TRY(fw_input_open_regular(&input, path, err));
  furrow_status status = fw_input_stat(input, &info, err);
  if (status == FURROW_OK) status = FW_ALLOC(bytes, (size_t)info.st_size, err);
  if (status == FURROW_OK) status = fw_input_read_at(input, *bytes, (size_t)info.st_size, 0, size, err);
  fw_input_close(input);
  return status;
}

furrow_status fw_node_forest_load(fw_node_forest **forest, const char *path, furrow_error *err) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  furrow_status status = fw_node_bytes_load(&bytes, &size, path, err);
  if (status == FURROW_OK) status = fw_node_forest_read(forest, bytes, size, path, err);
  fw_free(bytes);
  return status;
}
