/* learn/nodes/node_forest.h: forests of sparse nodes, as xgboost and LightGBM train them.
 *
 * A tree is a list of nodes in preorder: the left child of a split follows it, the right child is named. A split
 * compares a number or tests whether a category is in a set; rows without the feature have a side of their own.
 * forest.nodes is such a forest as a file (docs/formats/forest_nodes.md). */
#ifndef FW_LEARN_NODES_NODE_FOREST_H
#define FW_LEARN_NODES_NODE_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "furrow/learn.h"
#include "furrow/rows.h"

#define FW_NODES_FILE "forest.nodes" /* its name in a model directory */

enum {
  FW_NODE_DEPTH_MOST = 1000,      /* splits on a path */
  FW_NODE_CLASSES_MOST = 1048576, /* as the key `classes` */
};
#define FW_NODES_MOST ((uint64_t)1 << 31) /* nodes of all trees */

/* What a split does. */
enum {
  FW_NODE_DEFAULT_LEFT = 1, /* rows whose value is missing go to the left */
  FW_NODE_SET = 2,          /* the value is a category, and `value` is the number of a set */
  FW_NODE_SET_LEFT = 4,     /* members of the set go to the left, others to the right; else the other way round */
  FW_NODE_ZERO_MISSING = 8, /* 0 is missing; so is NaN, with the next flag */
  FW_NODE_NAN_ZERO = 16,    /* NaN is 0 */
  FW_NODE_FLAGS = 31
};

typedef struct fw_split_node {
  double value;    /* threshold, number of a set, or what the leaf adds to the score */
  double cover;    /* weight of the rows that reached the node in training; 0 unless the forest has statistics */
  float gain;      /* of the split; 0 of leaves and without statistics */
  int32_t feature; /* -1: a leaf */
  uint32_t right;  /* right child, counted from the root; 0 of leaves */
  uint32_t flags;
} fw_split_node;

/* How a prediction of numbers follows from the score; of classes the loss says it. */
typedef enum fw_link {
  FW_LINK_NONE,
  FW_LINK_EXP,           /* e^z */
  FW_LINK_LOGISTIC,      /* 1 / (1 + e^-z) */
  FW_LINK_SIGNED_SQUARE, /* z |z| */
  FW_LINK_LOG1P_EXP,     /* ln(1 + e^z) */
  FW_LINK_HINGE,         /* not of numbers: two classes by the sign of z, without probabilities */
  FW_LINKS
} fw_link;

/* The score of class c is scale * (base[c] + the sum of the leaves of its trees) / divisor. */
typedef struct fw_node_forest {
  size_t classes, trees, nodes, features, sets;
  bool less;        /* numbers below the threshold go to the left; else numbers up to it */
  bool single;      /* base, leaves and thresholds are floats, and sums are rounded to floats after each tree */
  bool absent_zero; /* a feature that a row does not have is 0; else it is missing */
  bool stats;       /* gains and covers are known */
  fw_link link;
  double divisor, scale;
  double *base;
  uint32_t *class_of; /* class of each tree */
  uint64_t *begin;    /* trees + 1: first node of each tree */
  fw_split_node *node;
  uint64_t *set_begin; /* sets + 1: first word of each set; bit c % 32 of word c / 32 is category c */
  uint32_t *words;
  size_t tree_capacity[2], node_capacity, set_capacity, word_capacity;
} fw_node_forest;

/* An empty forest, whose plain members the caller sets; base is 0. E_RANGE: too many classes, or none. */
furrow_status fw_node_forest_create(fw_node_forest **forest, size_t classes, furrow_error *err) FURROW_MUST_USE;
void fw_node_forest_free(fw_node_forest *forest);

/* A tree as other programs number its nodes: the root is 0, children are any others. */
typedef struct fw_loose_tree {
  size_t count;
  const int64_t *left, *right; /* left < 0: a leaf */
  const fw_split_node *node;   /* `right` does not count */
} fw_loose_tree;
/* Appends a tree. E_FORMAT: children that do not form a tree. Nodes that the root does not reach are left out. */
furrow_status fw_node_forest_add(fw_node_forest *forest, const fw_loose_tree *tree, uint32_t class_of,
                                 furrow_error *err) FURROW_MUST_USE;
/* Appends a set of categories, whose number is forest->sets - 1 then. */
furrow_status fw_node_forest_add_set(fw_node_forest *forest, const uint32_t *words, size_t count,
                                     furrow_error *err) FURROW_MUST_USE;
/* E_FORMAT, naming tree and node: children that do not form a tree, a feature or a set that does not exist, a number
 * that is not finite (a threshold: NaN), a tree deeper than FW_NODE_DEPTH_MOST, a class that does not exist. */
furrow_status fw_node_forest_check(const fw_node_forest *forest, furrow_error *err) FURROW_MUST_USE;

/* Splits on the longest path of a tree. */
unsigned fw_node_tree_depth(const fw_node_forest *forest, size_t tree);
void fw_node_forest_info(const fw_node_forest *forest, furrow_forest_info *info);
/* As furrow_scorer_feature_importance gives it. */
furrow_status fw_node_forest_importance(const fw_node_forest *forest, furrow_feature_importance **list, size_t *count,
                                        furrow_error *err) FURROW_MUST_USE;
/* The features of all splits, ascending, to be freed with fw_free. */
furrow_status fw_node_forest_features(const fw_node_forest *forest, uint64_t **features, size_t *count,
                                      furrow_error *err) FURROW_MUST_USE;

/* Whether a row goes to the left of a split; x is NaN where the value is missing. */
bool fw_node_goes_left(const fw_node_forest *forest, const fw_split_node *node, float x);
/* The score as it is predicted. */
double fw_link_apply(fw_link link, double score);

/* ---- Bytes (node_file.c) -------------------------------------------------------------------------------- */

/* Reads a whole file; free *bytes with fw_free, also after a failure. */
furrow_status fw_node_bytes_load(unsigned char **bytes, size_t *size, const char *path,
                                 furrow_error *err) FURROW_MUST_USE;

void fw_node_forest_write(const fw_node_forest *forest, fw_buffer *out);
/* Checks sizes before it allocates, and the forest by fw_node_forest_check. `file` is for errors; may be NULL. */
furrow_status fw_node_forest_read(fw_node_forest **forest, const void *bytes, size_t size, const char *file,
                                  furrow_error *err) FURROW_MUST_USE;
/* Reads a file of nodes. E_NOT_FOUND; E_FORMAT; E_IO. */
furrow_status fw_node_forest_load(fw_node_forest **forest, const char *path, furrow_error *err) FURROW_MUST_USE;

/* ---- Scores (node_predictor.c) -------------------------------------------------------------------------- */

typedef struct fw_node_predictor fw_node_predictor;
typedef struct fw_node_scratch fw_node_scratch;

/* The forest must outlive the predictor. */
furrow_status fw_node_predictor_create(fw_node_predictor **predictor, const fw_node_forest *forest,
                                       furrow_error *err) FURROW_MUST_USE;
void fw_node_predictor_free(fw_node_predictor *predictor);
furrow_status fw_node_scratch_create(fw_node_scratch **scratch, const fw_node_predictor *predictor,
                                     furrow_error *err) FURROW_MUST_USE;
void fw_node_scratch_free(fw_node_scratch *scratch);

/* Scores rows begin … end-1 of a block: `classes` numbers of each. Allocates nothing. Values are floats. Of a feature
 * that stands twice in a row the first counts. */
void fw_node_predict_rows(const fw_node_predictor *predictor, fw_node_scratch *scratch, const furrow_rowblock *block,
                          size_t begin, size_t end, double *out);
void fw_node_predict_row(const fw_node_predictor *predictor, fw_node_scratch *scratch, const furrow_row *row,
                         double *out);

/* ---- Text (node_text.c) --------------------------------------------------------------------------------- */

/* Trees first … end-1; the buffer reports that memory ran out. */
void fw_node_trees_text(fw_buffer *out, const fw_node_forest *forest, const char *const *names, size_t name_count,
                        size_t first, size_t end);
void fw_node_trees_json(fw_buffer *out, const fw_node_forest *forest, const char *const *names, size_t name_count,
                        size_t first, size_t end);

#endif
