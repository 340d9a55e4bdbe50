/* learn/conf/recommended_rates.c: learning rates that are sensible without knowing the data.
 *
 * A gradient is the mean over the rows of a batch in every optimizer, so a rate means the same with any size of batch.
 */
#include "learn/conf/conf.h"

double fw_recommended_rate(fw_optimizer_type type) {
  switch (type) {
  case FW_OPTIMIZER_SGD: return 0.05;
  case FW_OPTIMIZER_MOMENTUM: return 0.01;
  case FW_OPTIMIZER_ADAGRAD: return 0.01;
  case FW_OPTIMIZER_ADADELTA: return 1;
  case FW_OPTIMIZER_ADAM: return 0.01;
  case FW_OPTIMIZER_FTRL: return 0.3;
  case FW_OPTIMIZER_PUBLISHED_ADAGRAD: break;
  }
  return 0.1;
}
