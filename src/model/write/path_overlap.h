/* model/write/path_overlap.h: whether a target and its source are apart. */
#ifndef FW_MODEL_WRITE_PATH_OVERLAP_H
#define FW_MODEL_WRITE_PATH_OVERLAP_H

#include "furrow/model.h"

/* E_ARGUMENT where one lies in the other: a target in its source would become a part of what is read, or replace it; a
 * source in its target would vanish with what is replaced. */
furrow_status fw_check_path_overlap(const char *source, const char *target, furrow_error *err) FURROW_MUST_USE;

#endif
