/* learn/conf/recommended_forest.c: Furrow's own defaults of boosted trees. */
#include <stddef.h>

#include "learn/conf/conf_data.h"

const char *fw_recommended_forest(fw_key key) {
  switch (key) {
  case FW_KEY_TREES: return "200";
  case FW_KEY_LEVELS: return "6";
  case FW_KEY_SPLITS: return "254";
  case FW_KEY_LR: return "0.1";
  case FW_KEY_MIN_CHILD_WEIGHT: return "5";
  default: return NULL;
  }
}
