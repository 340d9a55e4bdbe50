/* learn/conf/recommended_rates.c: learning rates of optimizers, by Furrow's own defaults. */
#include <math.h>

#include "learn/conf/conf_data.h"

double fw_recommended_rate(fw_optimizer_type type) {
  switch (type) {
  case FW_OPTIMIZER_SGD: return 0.05;
  case FW_OPTIMIZER_MOMENTUM: return 0.01;
  case FW_OPTIMIZER_ADAGRAD: return 0.1;
  case FW_OPTIMIZER_ADADELTA: return 1;
  case FW_OPTIMIZER_ADAM: return 0.002;
  case FW_OPTIMIZER_FTRL: break;
  }
  return NAN; /* of FTRL, whose rate is alpha */
}
