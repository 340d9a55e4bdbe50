/* tests/fuzz/nodes/fuzz_xgboost_json.c: models of xgboost as JSON, from hostile bytes. */
#include "fuzz/nodes/node_harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  import_nodes(data, size);
  return 0;
}
