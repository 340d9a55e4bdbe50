/* tests/fuzz/nodes/fuzz_lightgbm.c: models of LightGBM from hostile bytes; the first line is put right. */
#include "fuzz/nodes/node_harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fw_buffer text = {0};
  fw_buffer_text(&text, "tree\n");
  fw_buffer_append(&text, data, size);
  check(fw_buffer_status(&text, NULL) == FURROW_OK);
  import_nodes((const uint8_t *)text.bytes, text.size);
  fw_buffer_clear(&text);
  return 0;
}
