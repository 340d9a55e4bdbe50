#include "learn/train/fold.h"
furrow_status fw_fold_scaling(fw_net *net, const fw_plan *plan, const fw_scaling *scaling, furrow_error *err) {
  (void)net, (void)plan, (void)scaling, (void)err;
  return FURROW_OK;
}
bool fw_fold_can_centre(const fw_plan *plan) { (void)plan; return false; }
bool fw_fold_can_scale_labels(const fw_plan *plan) { (void)plan; return false; }
