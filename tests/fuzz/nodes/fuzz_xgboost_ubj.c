/* tests/fuzz/nodes/fuzz_xgboost_ubj.c: models of xgboost as UBJSON, from hostile bytes. What becomes JSON is JSON. */
#include "base/json_in.h"
#include "fuzz/nodes/node_harness.h"

static void read_json(const fw_buffer *text) {
  furrow_json json;
  furrow_error err = {0};
  fw_json_open(&json, text->bytes, text->size, NULL);
  furrow_status status = furrow_json_skip(&json, NULL, &err);
  if (status == FURROW_OK) status = furrow_json_end(&json, &err);
  check(status == FURROW_OK || status == FURROW_E_FORMAT); /* texts need not be UTF-8 */
  fw_json_close(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fw_buffer text = {0};
  furrow_error err = {0};
  const furrow_status status = fw_ubj_to_json(&text, data, size, &err);
  if (status == FURROW_OK)
    read_json(&text);
  else
    check(err.status == status && err.message[0] && (err.offset <= size || err.offset == FURROW_NO_OFFSET));
  check(text.size <= 16 * size + 64);
  fw_buffer_clear(&text);
  if (fw_import_probe(data, size) == FW_IMPORT_UBJ) import_nodes(data, size);
  return 0;
}
