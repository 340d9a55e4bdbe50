/* learn/score/trees.c: the trees of a scorer: their shape, nodes, importance, descriptions. */
#include "base/error.h"
#include "base/params.h"
#include "learn/score/scorer.h"

void furrow_scorer_get_forest_info(const furrow_scorer *scorer, furrow_forest_info *info) {
  furrow_forest_info full = {0};
  if (scorer->nodes) fw_node_forest_info(scorer->nodes, &full);
  if (scorer->forest) fw_forest_info(scorer->forest, &full);
  fw_info_write(info, &full, sizeof full);
}

static furrow_status check_forest(const furrow_scorer *scorer, furrow_error *err) {
  return scorer->forest ? FURROW_OK : fw_fail(err, FURROW_E_STATE, "the model has no trees: it is not of gbdt");
}

/* The trees of a forest of nodes. */
static furrow_status describe_nodes(fw_buffer *out, const furrow_scorer *scorer, furrow_describe_format format,
                                    size_t first, size_t end, furrow_error *err) {
  const char *const *names = (const char *const *)scorer->names;
  switch (format) {
  case FURROW_DESCRIBE_TEXT: fw_node_trees_text(out, scorer->nodes, names, scorer->name_count, first, end); break;
  case FURROW_DESCRIBE_JSON: fw_node_trees_json(out, scorer->nodes, names, scorer->name_count, first, end); break;
  default: return fw_fail(err, FURROW_E_ARGUMENT, "imported trees are described as text or JSON");
  }
  return fw_buffer_status(out, err);
}

furrow_status furrow_scorer_get_tree_node(const furrow_scorer *scorer, size_t tree, size_t node,
                                          furrow_tree_node *about, furrow_error *err) {
  const fw_forest *forest = scorer->forest;
  if (scorer->nodes)
    return fw_fail(err, FURROW_E_STATE, "the nodes of imported trees do not have the numbers of full trees");
  FW_TRY(check_forest(scorer, err));
  if (tree >= forest->trees) return fw_fail(err, FURROW_E_RANGE, "there is no tree %zu of %zu", tree, forest->trees);
  if (node >= forest->nodes) return fw_fail(err, FURROW_E_RANGE, "there is no node %zu of %zu", node, forest->nodes);
  furrow_tree_node full;
  fw_forest_node(forest, tree, node, &full);
  fw_info_write(about, &full, sizeof full);
  return FURROW_OK;
}

furrow_status furrow_scorer_feature_importance(const furrow_scorer *scorer, furrow_feature_importance **list,
                                               size_t *count, furrow_error *err) {
  if (scorer->nodes) return fw_node_forest_importance(scorer->nodes, list, count, err);
  FW_TRY(check_forest(scorer, err));
  return fw_forest_importance(scorer->forest, list, count, err);
}

/* Pictures are of one tree that can be looked at. */
static furrow_status check_picture(const fw_forest *forest, size_t first, size_t end, furrow_error *err) {
  if (end - first != 1) return fw_fail(err, FURROW_E_ARGUMENT, "a picture is of one tree, not of %zu", end - first);
  const size_t leaves = fw_tree_leaves(forest, first);
  if (leaves > FW_TREE_LEAVES_DRAWN)
    return fw_fail(err, FURROW_E_RANGE, "tree %zu has %zu leaves, too many for a picture of %d", first, leaves,
                   FW_TREE_LEAVES_DRAWN);
  return FURROW_OK;
}

static furrow_status describe(fw_buffer *out, const fw_forest *forest, furrow_describe_format format, size_t first,
                              size_t end, furrow_error *err) {
  switch (format) {
  case FURROW_DESCRIBE_TEXT: fw_trees_text(out, forest, first, end); break;
  case FURROW_DESCRIBE_JSON: fw_trees_json(out, forest, first, end); break;
  case FURROW_DESCRIBE_DOT: fw_trees_dot(out, forest, first, end); break;
  case FURROW_DESCRIBE_SVG:
    FW_TRY(check_picture(forest, first, end, err));
    fw_tree_svg(out, forest, first);
    break;
  default: return fw_fail(err, FURROW_E_ARGUMENT, "trees cannot be described in this format");
  }
  return fw_buffer_status(out, err);
}

furrow_status furrow_scorer_describe_trees(const furrow_scorer *scorer, furrow_describe_format format, size_t first,
                                           size_t end, char **text, size_t *size, furrow_error *err) {
  const fw_forest *forest = scorer->forest;
  if (!scorer->nodes) FW_TRY(check_forest(scorer, err));
  const size_t trees = forest ? forest->trees : scorer->nodes->trees;
  if (first >= end || end > trees)
    return fw_fail(err, FURROW_E_RANGE, "there are no trees %zu up to %zu of %zu", first, end, trees);
  fw_buffer out = {0};
  furrow_status status =
      forest ? describe(&out, forest, format, first, end, err) : describe_nodes(&out, scorer, format, first, end, err);
  if (status == FURROW_OK) status = fw_buffer_take(&out, text, size, err);
  fw_buffer_clear(&out);
  return status;
}
