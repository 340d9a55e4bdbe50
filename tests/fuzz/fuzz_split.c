/* tests/fuzz/fuzz_split.c: any bytes as a log that is split: by chance, by group, by time. Every record is in one of
 * the files, and a file is a log again.
 *
 * The first byte chooses the mode of the split and what is done with bad records. */
#include <string.h>

#include "furrow/table.h"
#include "fuzz/harness/fuzz_check.h"

#define LOG "memory://fuzz-split"

static uint64_t count_records(const char *uri, furrow_on_bad on_bad, furrow_status *status) {
  furrow_schema *schema = NULL;
  furrow_schema_propose_params params;
  furrow_parser_stats stats;
  furrow_schema_propose_params_init(&params);
  furrow_parser_stats_init(&stats);
  params.threads = 1;
  params.on_bad = on_bad;
  params.label = "";
  params.stats = &stats;
  *status = furrow_schema_propose(&schema, uri, &params, NULL);
  furrow_schema_free(schema);
  return stats.rows;
}

static furrow_status split(const char *const paths[2], furrow_on_bad on_bad, unsigned mode, uint64_t rows[2]) {
  static const double shares[] = {0.5, 0.5};
  furrow_table_split_params params;
  furrow_error err = {0};
  furrow_table_split_params_init(&params);
  params.on_bad = on_bad;
  params.overwrite = true;
  params.shares = shares;
  params.group = mode == 1 ? "u" : NULL;
  params.time = mode >= 2 ? "t" : NULL;
  params.user = mode == 3 ? "u" : NULL;
  params.last = 0.5;
  const furrow_status status = furrow_table_split(LOG, paths, 2, &params, rows, &err);
  check(status == FURROW_OK || (err.status == status && err.message[0]));
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char first[TEST_PATH], second[TEST_PATH];
  const char *const paths[2] = {fuzz_folder(first, "first.csv"), fuzz_folder(second, "second.csv")};
  uint64_t rows[2] = {0, 0};
  furrow_status counted;
  if (size == 0) return 0;
  const furrow_on_bad on_bad = data[0] & 1 ? FURROW_ON_BAD_SKIP : FURROW_ON_BAD_ERROR;
  check(furrow_memory_file_add(LOG, data + 1, size - 1, NULL, NULL, NULL) == FURROW_OK);
  const unsigned mode = data[0] / 2 % 4;
  if (split(paths, on_bad, mode, rows) == FURROW_OK) {
    const uint64_t all = count_records(LOG, on_bad, &counted);
    if (counted == FURROW_OK) check(mode == 0 ? rows[0] + rows[1] == all : rows[0] + rows[1] <= all);
    for (size_t i = 0; i < 2; i++) {
      const uint64_t count = count_records(paths[i], FURROW_ON_BAD_ERROR, &counted);
      check(counted != FURROW_OK || count == rows[i] || count + 1 == rows[i]); /* its first line may look like names */
      check(unlink(paths[i]) == 0);
    }
  }
  check(access(paths[0], F_OK) != 0 && access(paths[1], F_OK) != 0);
  check(furrow_memory_file_remove(LOG, NULL) == FURROW_OK);
  return 0;
}
