/* vector/file/shards_file.h: the manifest of an index in several files: docs/formats/index_shards.md. */
#ifndef FW_VECTOR_FILE_SHARDS_FILE_H
#define FW_VECTOR_FILE_SHARDS_FILE_H

#include "base/buffer.h"
#include "comm/collectives.h"
#include "vector/file/index_write.h"

#define FW_SHARDS_FORMAT "furrow-shards"
#define FW_SHARDS_VERSION 1

enum { FW_SHARDS_MOST = 4096, FW_SHARD_NAME = 255 };

/* A shard: a file in the folder of the manifest; its name has no folder. */
typedef struct fw_shard_entry {
  char file[FW_SHARD_NAME + 1];
  uint64_t vectors, bytes, digest; /* digest: XXH3-64 of the file */
} fw_shard_entry;

typedef struct fw_shards_manifest {
  uint64_t d, vectors;
  uint64_t quantizers; /* the fw_shards_digest of each shard */
  fw_shard_entry *shards;
  size_t count;
} fw_shards_manifest;

/* Parses the text of a manifest; errors name `path`. The caller clears it, even after a failure. */
furrow_status fw_shards_manifest_parse(fw_shards_manifest *manifest, const char *text, size_t size, const char *path,
                                       furrow_error *err) FURROW_MUST_USE;
void fw_shards_manifest_clear(fw_shards_manifest *manifest);
/* Appends the text of a manifest. */
void fw_shards_manifest_write(const fw_shards_manifest *manifest, fw_buffer *text);

/* Computes a digest of what all shards of an index have in common. */
furrow_status fw_shards_digest(const furrow_index *index, uint64_t *digest, furrow_error *err) FURROW_MUST_USE;
/* Checks that the ids of the index are explicit, so that ids of several shards can be distinct. Fails with
 * E_UNSUPPORTED otherwise. */
furrow_status fw_shards_check_kind(const furrow_index *index, furrow_error *err) FURROW_MUST_USE;
/* Makes the path of a file in the folder of the manifest; the caller frees it with fw_free. */
furrow_status fw_shards_path(char **path, const char *manifest, const char *file, furrow_error *err) FURROW_MUST_USE;

#endif
