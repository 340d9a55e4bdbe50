/* learn/metrics/loss.c: losses, their derivatives, and the score of a row from its outputs. */
#include "learn/metrics/metrics.h"

#include <float.h>
#include <math.h>

#include "base/error.h"

#define CROSS_ENTROPY_EPS 1e-9 /* as Angel */

/* ln(1 + exp(x)) without overflow. */
static double softplus(double x) {
  return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double logistic(double x) {
  return 1.0 / (1.0 + exp(-x));
}

static double huber(double d, double delta) {
  return fabs(d) > delta ? delta * fabs(d) - 0.5 * delta * delta : 0.5 * d * d;
}

/* The pinball loss: for a label above the output `level` of the difference counts, for one below it the rest. */
static double pinball(double level, double z, double y) {
  return y > z ? level * (y - z) : (1 - level) * (z - y);
}

/* The Poisson deviance of exp(z). */
static double deviance(double z, double y) {
  return 2 * (exp(z) - y + (y > 0 ? y * (log(y) - z) : 0));
}

/* The predicted probability of the label y, at least eps. */
static double given(double p, double y) {
  const double right = y > 0 ? p : 1.0 - p;
  return right < CROSS_ENTROPY_EPS ? CROSS_ENTROPY_EPS : right;
}

double fw_loss_of(const fw_graph *graph, double z, double y) {
  switch (graph->loss) {
  case FW_LOSS_LOG: return softplus(-z * y);
  case FW_LOSS_HINGE: return z * y < 1 ? 1 - z * y : z != z ? z : 0;
  case FW_LOSS_L2: return 0.5 * (z - y) * (z - y);
  case FW_LOSS_HUBER: return huber(z - y, graph->layers[graph->count - 1].delta);
  case FW_LOSS_CROSS_ENTROPY: return z != z ? z : -log(given(z, y));
  case FW_LOSS_ABSOLUTE: return fabs(z - y);
  case FW_LOSS_QUANTILE: return pinball(graph->quantile, z, y);
  case FW_LOSS_POISSON: return deviance(z, y);
  default: return NAN; /* softmax, and losses of an order */
  }
}

double fw_loss_slope(const fw_graph *graph, double z, double y) {
  switch (graph->loss) {
  case FW_LOSS_LOG: return -y * logistic(-z * y);
  case FW_LOSS_HINGE: return z * y < 1 ? -y : 0;
  case FW_LOSS_L2: return z - y;
  case FW_LOSS_HUBER: {
    const double delta = graph->layers[graph->count - 1].delta;
    return fmax(-delta, fmin(delta, z - y));
  }
  case FW_LOSS_CROSS_ENTROPY: return (y > 0 ? -1.0 : 1.0) / given(z, y);
  case FW_LOSS_POISSON: return 2 * (exp(z) - y);
  default: return NAN;
  }
}

/* ---- Softmax ---- */

static size_t largest(const double *out, size_t n) {
  size_t best = 0;
  for (size_t j = 1; j < n; j++)
    if (out[j] > out[best]) best = j;
  return best;
}

/* ln of the sum of exp(out[j]). */
static double log_sum(const double *out, size_t n) {
  const double most = out[largest(out, n)];
  double sum = 0;
  for (size_t j = 0; j < n; j++) sum += exp(out[j] - most);
  return most + log(sum);
}

/* ---- All losses ---- */

double fw_loss_value(const fw_graph *graph, const double *out, double label) {
  if (graph->loss != FW_LOSS_SOFTMAX) return fw_loss_of(graph, out[0], label);
  return log_sum(out, graph->outputs) - out[(size_t)label];
}

bool fw_loss_takes(const fw_graph *graph, double label) {
  switch (graph->loss) {
  case FW_LOSS_LOG:
  case FW_LOSS_HINGE: return label == 1 || label == -1;
  case FW_LOSS_SOFTMAX: return label >= 0 && label < (double)graph->outputs && label == floor(label);
  case FW_LOSS_LAMBDA: return label >= 0 && label <= FW_GRADE_MAX && label == floor(label);
  case FW_LOSS_POISSON: return label >= 0 && isfinite(label);
  default: return isfinite(label);
  }
}

furrow_status fw_loss_refuse(const fw_graph *graph, double label, furrow_error *err) {
  if (isnan(label)) {
    fw_fail(err, FURROW_E_RANGE, "the row has no label");
    fw_error_set_hint(err, "the key `label-column` names the column of csv data that has it");
  } else {
    fw_fail(err, FURROW_E_RANGE, "%s cannot take the label %g", fw_loss_name(graph->loss), label);
    if (graph->loss == FW_LOSS_LAMBDA)
      fw_error_set_hint(err, "labels of rows that are ranked are whole numbers from 0 to %d", FW_GRADE_MAX);
    else if (graph->loss == FW_LOSS_POISSON)
      fw_error_set_hint(err, "labels are counts or rates, which are not negative");
    else
      fw_error_set_hint(err, "the key `label` says how labels are transformed");
  }
  return FURROW_E_RANGE;
}

/* The logarithm of the odds, within Angel's limits. */
static double log_odds(double p) {
  const double odds = p / (1.0 - p);
  if (odds < 1e-6) return log(1e-6);
  return odds > FLT_MAX ? log(FLT_MAX) : log(odds);
}

void fw_loss_score(const fw_graph *graph, const double *out, furrow_score *score) {
  const double z = out[0];
  const double sign = z > 0 ? 1.0 : -1.0;
  switch (graph->loss) {
  case FW_LOSS_LOG: *score = (furrow_score){z, logistic(z), sign}; return;
  case FW_LOSS_HINGE: *score = (furrow_score){z, logistic(2 * z), sign}; return;
  case FW_LOSS_CROSS_ENTROPY: *score = (furrow_score){log_odds(z), z, z > 0.5 ? 1.0 : -1.0}; return;
  case FW_LOSS_SOFTMAX: {
    const size_t best = largest(out, graph->outputs);
    *score = (furrow_score){out[best], exp(out[best] - log_sum(out, graph->outputs)), (double)best};
    return;
  }
  case FW_LOSS_POISSON: *score = (furrow_score){exp(z), 0, 0}; return;
  default: *score = (furrow_score){z, 0, 0}; /* regression or ranking: the score has no probability */
  }
}
