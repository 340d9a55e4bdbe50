/* learn/net/net_copy.c: the weights of one net for another. */
#include <string.h>

#include "base/mem.h"
#include "learn/net/net.h"

static size_t size_of(const fw_plan *plan) {
  return furrow_element_size(furrow_matrix_row_type_get(plan->model.row_type)->element);
}

static furrow_status copy_feature(fw_net *to, const fw_net *from, uint64_t key, size_t size, furrow_error *err) {
  furrow_status status = fw_net_is_open(to) ? fw_net_make_feature(to, key, err) : FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < fw_net_parameters(from); i++) {
    const fw_parameter *about = fw_net_parameter(from, i);
    if (about->by_feature) memcpy(fw_net_feature(to, i, key, 0), fw_net_feature(from, i, key, 0), about->rows * size);
  }
  return status;
}

furrow_status fw_net_copy_weights(fw_net *to, const fw_net *from, furrow_error *err) {
  const size_t size = size_of(fw_net_plan(from));
  for (size_t i = 0; i < fw_net_parameters(from); i++) {
    const fw_parameter *about = fw_net_parameter(from, i);
    if (!about->by_feature) memcpy(fw_net_dense(to, i, 0), fw_net_dense(from, i, 0), about->cols * size);
  }
  uint64_t *keys = NULL;
  size_t count = 0;
  furrow_status status = fw_net_features(from, &keys, &count, err);
  for (size_t f = 0; status == FURROW_OK && f < count; f++)
    status = copy_feature(to, from, keys ? keys[f] : f, size, err);
  fw_free(keys);
  return status;
}
