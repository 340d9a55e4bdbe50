/* learn/layers/loss_rows.c: the loss of rows and its gradient, where the way back begins. */
#include <math.h>

#include "learn/layers/layer.h"
#include "learn/net/losses.h"

static double weight_of(const fw_minibatch *batch, size_t row) {
  return batch->weight ? (double)batch->weight[row] : 1.0;
}

/* -ln of the label's share of the sum of exponentials; its gradient is the shares, less 1 for the label. */
static double softmax_row(const real *out, size_t width, size_t label, double weight, real *grad) {
  real most = out[0];
  for (size_t j = 1; j < width; j++) most = out[j] > most ? out[j] : most;
  double sum = 0;
  for (size_t j = 0; j < width; j++) sum += exp((double)(out[j] - most));
  if (grad) {
    for (size_t j = 0; j < width; j++) grad[j] = (real)(weight * exp((double)(out[j] - most)) / sum);
    grad[label] -= (real)weight;
  }
  return weight * (log(sum) - (double)(out[label] - most));
}

double REAL_NAME(fw_loss_rows)(const fw_graph *graph, const fw_minibatch *batch, const real *out, size_t width,
                               size_t begin, size_t end, real *grad) {
  double sum = 0;
  for (size_t i = begin; i < end; i++) {
    const double weight = weight_of(batch, i), label = (double)batch->label[i];
    if (graph->loss == FW_LOSS_SOFTMAX) {
      sum += softmax_row(out + i * width, width, (size_t)label, weight, grad ? grad + i * width : NULL);
      continue;
    }
    const double z = (double)out[i * width];
    sum += weight * fw_loss_of(graph, z, label);
    if (grad) grad[i * width] = (real)(weight * fw_loss_slope(graph, z, label));
  }
  return sum;
}
