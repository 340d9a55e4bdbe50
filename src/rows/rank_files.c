/* rows/rank_files.c: checks that all ranks see the same files. A stale copy on one machine would be read as a part
 * of different data. */
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "comm/collectives.h"
#include "furrow/rows.h"
#include "io/fileset.h"
#include "io/uri.h"

/* The names and sizes of the files that a rank sees. Contents are not compared. */
typedef struct seen_files {
  uint64_t known; /* 0: they could not be inspected; opening them will report why */
  uint64_t files, bytes, digest;
} seen_files;

static uint64_t digest_of(const fw_fileset *set) {
  uint64_t digest = 0;
  for (size_t i = 0; i < set->nfiles; i++) {
    const char *slash = strrchr(set->files[i].path, '/'), *name = slash ? slash + 1 : set->files[i].path;
    digest = XXH3_64bits_withSeed(name, strlen(name), digest + set->files[i].size);
  }
  return digest;
}

static seen_files look_at(const char *text) {
  fw_uri uri = {0};
  fw_fileset set = {0};
  seen_files seen = {0};
  if (fw_uri_parse(&uri, text, NULL) == FURROW_OK && fw_fileset_open(&set, uri.paths, uri.npaths, NULL) == FURROW_OK)
    seen = (seen_files){1, set.nfiles, set.size, digest_of(&set)};
  fw_fileset_clear(&set);
  fw_uri_clear(&uri);
  return seen;
}

static furrow_status compare_files(const seen_files *all, const furrow_comm *comm, furrow_error *err) {
  for (unsigned r = 0; r < comm->ranks; r++)
    if (!all[r].known) return FURROW_OK;
  for (unsigned r = 1; r < comm->ranks; r++) {
    if (memcmp(&all[r], &all[0], sizeof *all) == 0) continue;
    fw_fail(err, FURROW_E_STALE,
            "rank %u sees other files than rank 0: %" PRIu64 " with %" PRIu64 " bytes, not %" PRIu64 " with %" PRIu64,
            r, all[r].files, all[r].bytes, all[0].files, all[0].bytes);
    fw_error_set_hint(err, "all processes need the same files: a shared file system, or the same copies");
    return FURROW_E_STALE;
  }
  return FURROW_OK;
}

furrow_status furrow_rows_compare_files(const char *uri, const furrow_comm *comm, furrow_error *err) {
  const furrow_comm *ranks = NULL;
  FW_TRY(fw_comm_of(&ranks, comm, err));
  if (ranks->ranks == 1) return FURROW_OK;
  const seen_files mine = look_at(uri);
  void *all = NULL;
  size_t total = 0;
  FW_TRY(fw_comm_gather_all(ranks, &mine, sizeof mine, &all, &total, NULL, err));
  const furrow_status status = compare_files(all, ranks, err);
  if (status != FURROW_OK) fw_error_set_file(err, uri);
  fw_free(all);
  return status;
}
