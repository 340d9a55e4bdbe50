/* learn/forest/forest_trees.h: a forest for people: nodes, importance, trees as text and pictures. */
#ifndef FW_LEARN_FOREST_FOREST_TREES_H
#define FW_LEARN_FOREST_FOREST_TREES_H

#include "base/buffer.h"
#include "furrow/learn.h"
#include "learn/forest/forest.h"

enum { FW_TREE_LEAVES_DRAWN = 2048 }; /* most leaves of a picture */

void fw_forest_info(const fw_forest *forest, furrow_forest_info *info);
void fw_forest_node(const fw_forest *forest, size_t tree, size_t node, furrow_tree_node *about);
/* The name of a feature, or "feature N". `escape` (NULL: none) writes each byte that means something else there. */
typedef void (*fw_escape_byte)(fw_buffer *out, char byte);
void fw_buffer_feature(fw_buffer *out, const fw_forest *forest, int32_t feature, fw_escape_byte escape);

/* As furrow_scorer_feature_importance gives it. */
furrow_status fw_forest_importance(const fw_forest *forest, furrow_feature_importance **list, size_t *count,
                                   furrow_error *err) FURROW_MUST_USE;

size_t fw_tree_leaves(const fw_forest *forest, size_t tree);

/* Trees first … end-1; the buffer reports that memory ran out. */
void fw_trees_text(fw_buffer *out, const fw_forest *forest, size_t first, size_t end);
void fw_trees_json(fw_buffer *out, const fw_forest *forest, size_t first, size_t end);
void fw_trees_dot(fw_buffer *out, const fw_forest *forest, size_t first, size_t end);
/* One tree. */
void fw_tree_svg(fw_buffer *out, const fw_forest *forest, size_t tree);

#endif
