#ifndef FW_LEARN_TRAIN_FOLD_H
#define FW_LEARN_TRAIN_FOLD_H
#include "learn/data/scaling.h"
#include "learn/net/net.h"
furrow_status fw_fold_scaling(fw_net *net, const fw_plan *plan, const fw_scaling *scaling, furrow_error *err) FURROW_MUST_USE;
bool fw_fold_can_centre(const fw_plan *plan);
bool fw_fold_can_scale_labels(const fw_plan *plan);
#endif
