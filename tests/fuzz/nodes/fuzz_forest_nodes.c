/* tests/fuzz/nodes/fuzz_forest_nodes.c: files of nodes from hostile bytes. The digest is put right, so that what it
 * covers is reached. */
#include <xxhash.h>

#include "base/endian.h"
#include "fuzz/nodes/node_harness.h"

enum { AT_SIZE = 16, AT_DIGEST = 24, AT_COVERED = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fw_node_forest *forest = NULL;
  furrow_error err = {0};
  uint8_t *bytes = malloc(size + 1);
  check(bytes);
  if (size > 0) memcpy(bytes, data, size);
  if (size >= AT_COVERED) {
    fw_put_le64(bytes + AT_SIZE, size);
    fw_put_le64(bytes + AT_DIGEST, XXH3_64bits(bytes + AT_COVERED, size - AT_COVERED));
  }
  const furrow_status status = fw_node_forest_read(&forest, bytes, size, "nodes", &err);
  if (status == FURROW_OK)
    use_nodes(forest);
  else
    check(err.status == status && err.message[0]);
  fw_node_forest_free(forest);
  free(bytes);
  return 0;
}
