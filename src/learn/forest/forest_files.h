/* learn/forest/forest_files.h: a forest as a model directory, as Angel writes it.
 *
 * gbdt.split.feature (T_INT_DENSE), gbdt.split.value and gbdt.node.predict (T_DOUBLE_DENSE): a row for each tree, a
 * column for each node. Beside Angel's three: gbdt.split.missing (T_INT_DENSE, missing_flipped), only if a node needs
 * it; gbdt.split.gain and gbdt.node.grad.stats (gradients, then hessians), which Angel names but does not save, if the
 * plan says so (node-stats). */
#ifndef FW_LEARN_FOREST_FOREST_FILES_H
#define FW_LEARN_FOREST_FOREST_FILES_H

#include "base/buffer.h"
#include "learn/conf/conf.h"
#include "learn/forest/forest.h"

/* `conf` gives graph.json, `about` (may be NULL) is the text of furrow.json. params NULL: the defaults. */
furrow_status fw_forest_save(const fw_forest *forest, const fw_plan *plan, const furrow_learn_conf *conf,
                             const fw_buffer *about, const char *folder, const furrow_trainer_save_params *params,
                             furrow_error *err) FURROW_MUST_USE;
/* Reads a model directory, ours or Angel's; classes and range (features) as the plan has them, levels and trees as the
 * matrices have them. E_NOT_FOUND names the matrix that is missing; E_FORMAT the one that does not fit, and tree and
 * node of what is wrong in it. */
furrow_status fw_forest_load(fw_forest **forest, const fw_plan *plan, const char *folder, unsigned threads,
                             furrow_error *err) FURROW_MUST_USE;
/* Whether a folder looks like one: it has gbdt.split.feature. */
bool fw_forest_is_at(const char *folder);

#endif
