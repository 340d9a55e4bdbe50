/* learn/conf/decay.c: the learning rate of a step.
 *
 * StandardDecay        lr / sqrt(1 + alpha n)
 * WarmRestarts         from lr down to lr / 10 along half a cosine in `intervals` steps, then again from a top that is
 *                      divided by sqrt(1 + restarts * alpha), over twice as many steps
 * CorrectionDecay      lr / sqrt(1 + alpha m) * (1 - beta) / (1 - beta^m). Angel counts m from 0, where it divides by
 *                      0 and the first epoch makes every weight infinite; here m = n, so that the first rate is
 *                      lr / sqrt(1 + alpha)
 * ConstantLearningRate lr */
#include <math.h>

#include "learn/conf/conf.h"

static double warm_restarts(const fw_train_conf *train, uint64_t n) {
  const double least = train->lr / 10;
  double top = train->lr, length = train->decay_intervals, step = (double)n;
  for (unsigned restarts = 1; step > length; restarts++) {
    step -= length;
    length *= 2;
    top /= sqrt(1 + restarts * train->decay_alpha);
  }
  return least + 0.5 * (top - least) * (1 + cos(step / length * 3.14159265358979323846));
}

double fw_decay_rate(const fw_train_conf *train, uint64_t n) {
  const double m = (double)n;
  switch (train->decay) {
  case FW_DECAY_STANDARD: return train->lr / sqrt(1 + train->decay_alpha * m);
  case FW_DECAY_WARM_RESTARTS: return warm_restarts(train, n);
  case FW_DECAY_CORRECTION:
    return train->lr / sqrt(1 + train->decay_alpha * m) * (1 - train->decay_beta) / (1 - pow(train->decay_beta, m));
  case FW_DECAY_CONSTANT: break;
  }
  return train->lr;
}
