/* tests/unit/array/test_reject_array.c: each file of tests/reject/array is refused as its list says, and leaves no
 * folder. */
#include "array/array.h"
#include "furrow/exchange.h"
#include "support/own_dir.h"
#include "support/reject_list.h"

typedef struct entry {
  char file[128], status[16], offset[24], message[256];
} entry;

static bool read_entry(FILE *list, entry *e) {
  char line[REJECT_LINE];
  if (!reject_list_next(list, line)) return false;
  if (sscanf(line, "%127s %15s %23s %255[^\n]", e->file, e->status, e->offset, e->message) != 4)
    fail_msg("the list has a line that is not one: %s", line);
  return true;
}

/* Kinds that no exchange format has are read as arrays. */
static furrow_status read_file(const char *path, furrow_error *err) {
  const char *ending = strrchr(path, '.');
  fw_array_reader *reader = NULL;
  char rows[4096];
  size_t got;
  if (strcmp(ending, ".ivecs") != 0 && strcmp(ending, ".bvecs") != 0 && strcmp(ending, ".u8bin") != 0)
    return furrow_model_import(path, "folder", NULL, NULL, err);
  furrow_status status = fw_array_open(&reader, path, FW_ARRAY_AUTO, err);
  if (status == FURROW_OK) status = fw_array_read(reader, rows, 4, &got, err);
  fw_array_close(reader);
  return status;
}

static void listed_files(void **state) {
  (void)state;
  entry e;
  FILE *list = reject_list_open("array");
  while (read_entry(list, &e)) {
    char path[TEST_PATH], offset[24] = "-";
    furrow_error err = {.offset = FURROW_NO_OFFSET};
    reject_path(path, "array", e.file);
    const furrow_status status = read_file(path, &err);
    if (err.offset != FURROW_NO_OFFSET) snprintf(offset, sizeof offset, "%llu", (unsigned long long)err.offset);
    const bool place = strcmp(e.offset, "*") == 0 || strcmp(e.offset, offset) == 0;
    if (strcmp(furrow_status_name(status), e.status) != 0 || !place ||
        strncmp(err.message, e.message, strlen(e.message)) != 0)
      fail_msg("%s: %s %s %s\n    not %s %s %s", e.file, furrow_status_name(status), offset, err.message, e.status,
               e.offset, e.message);
    assert_non_null(strstr(err.file, e.file));
    assert_int_equal(read_file(path, NULL), status);
    assert_int_equal(access("folder", F_OK), -1);
  }
  fclose(list);
}

static void all_files_are_listed(void **state) {
  (void)state;
  reject_list_is_complete("array");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(listed_files),
      cmocka_unit_test(all_files_are_listed),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
