/* tests/fuzz/fuzz_shards.c: manifests of shards from hostile bytes. What is accepted is sound: names are those of files
 * beside the manifest, sums are right; written and read again it is the same. */
#include <string.h>

#include "base/mem.h"
#include "fuzz/harness/fuzz_check.h"
#include "vector/file/shards_file.h"

static void use_manifest(const fw_shards_manifest *m) {
  uint64_t sum = 0;
  check(m->count > 0 && m->count <= FW_SHARDS_MOST);
  check(m->d > 0 && m->d <= FW_INDEX_MAX_D);
  for (size_t i = 0; i < m->count; i++) {
    const char *file = m->shards[i].file;
    char *path = NULL;
    check(file[0] && !strchr(file, '/') && strcmp(file, ".") != 0 && strcmp(file, "..") != 0);
    check(strlen(file) <= FW_SHARD_NAME);
    check(fw_shards_path(&path, "folder/manifest", file, NULL) == FURROW_OK);
    check(strncmp(path, "folder/", 7) == 0 && strcmp(path + 7, file) == 0);
    fw_free(path);
    sum += m->shards[i].vectors;
  }
  check(sum == m->vectors);
}

static void write_again(const fw_shards_manifest *m) {
  fw_buffer text = {0};
  fw_shards_manifest again;
  fw_shards_manifest_write(m, &text);
  check(fw_shards_manifest_parse(&again, text.bytes, text.size, "fuzz", NULL) == FURROW_OK);
  check(again.count == m->count && again.d == m->d && again.vectors == m->vectors);
  check(again.quantizers == m->quantizers);
  check(memcmp(again.shards, m->shards, m->count * sizeof *m->shards) == 0);
  fw_shards_manifest_clear(&again);
  fw_buffer_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fw_shards_manifest m;
  furrow_error err;
  char *copy = malloc(size + 1); /* of its own, so that a read behind the end is seen */
  check(copy != NULL);
  if (size) memcpy(copy, data, size);
  const furrow_status status = fw_shards_manifest_parse(&m, copy, size, "fuzz", &err);
  check(status == FURROW_OK || status == FURROW_E_FORMAT || status == FURROW_E_UNSUPPORTED);
  if (status == FURROW_OK) {
    use_manifest(&m);
    write_again(&m);
  }
  fw_shards_manifest_clear(&m);
  free(copy);
  return 0;
}
