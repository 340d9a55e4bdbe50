/* learn/forest/walker.h: scores rows with a forest: its nodes packed for walking. Immutable; a space for each thread.
 */
#ifndef FW_LEARN_FOREST_WALKER_H
#define FW_LEARN_FOREST_WALKER_H

#include "furrow/rows.h"
#include "learn/forest/forest.h"

typedef struct fw_walker fw_walker;
typedef struct fw_walk_space fw_walk_space;

/* rate: what leaves are multiplied with. The forest must outlive the walker. */
furrow_status fw_walker_create(fw_walker **walker, const fw_forest *forest, double rate, furrow_error *err)
    __attribute__((warn_unused_result));
void fw_walker_free(fw_walker *walker);

furrow_status fw_walk_space_create(fw_walk_space **space, const fw_walker *walker, furrow_error *err)
    __attribute__((warn_unused_result));
void fw_walk_space_free(fw_walk_space *space);

/* Rows begin … end-1 of a block, features as the model numbers them: `classes` outputs of each, added up in the order
 * of the trees, to out. Allocates nothing. A feature that no node asks for is passed over; of one that stands twice in
 * a row the first counts. */
void fw_walker_rows(const fw_walker *walker, fw_walk_space *space, const furrow_rowblock *block, size_t begin,
                    size_t end, double *out);
void fw_walker_row(const fw_walker *walker, fw_walk_space *space, const furrow_row *row, double *out);

#endif
