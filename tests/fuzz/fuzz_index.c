/* tests/fuzz/fuzz_index.c: index files from hostile bytes.
 *
 * What is read must be sound: every list can be looked at, verify accepts what the readers accept, and what is written
 * is read again and written to the same bytes. A copy and a view agree, and lists can be moved to a new data file. The
 * file is in a folder of its own, with a data file for lists on disk beside it: what such lists find depends on the
 * input alone. */
#include <string.h>

#include "fuzz/harness/index_harness.h"
#include "support/verify_readers.h"

static char index_path[TEST_PATH], data_path[TEST_PATH];

/* The index is a link to a file in memory. */
static void make_folder(const char *file) {
  uint8_t lists[64];
  if (index_path[0]) return;
  for (size_t i = 0; i < sizeof lists; i++) lists[i] = (uint8_t)(i % 8 ? 0 : i / 8);
  fuzz_folder(index_path, "index");
  fuzz_folder(data_path, "a.data");
  check(symlink(file, index_path) == 0 && test_write_file(data_path, lists, sizeof lists));
}

static void use_lists(const furrow_index *index) {
  furrow_list_stats stats;
  furrow_list_stats_init(&stats);
  furrow_index_info info;
  furrow_index_info_init(&info);
  int64_t sum = 0;
  check(furrow_index_get_list_stats(index, &stats, NULL) == FURROW_OK);
  furrow_index_get_info(index, &info);
  for (uint64_t i = 0; i < info.nlist && i < 100000; i++) {
    furrow_list_view list;
    check(furrow_index_list(index, i, &list, NULL) == FURROW_OK);
    for (size_t k = 0; list.ids && k < list.count; k++) sum += furrow_list_id(&list, k) >> 8;
    for (size_t k = 0; list.codes && k < list.count * list.code_size; k++) sum += list.codes[k];
  }
  volatile int64_t used = sum;
  (void)used;
}

static void use_index(const furrow_index *index) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  check(info.d > 0 && info.ntotal >= 0);
  if (furrow_index_ivf(index) == index) use_lists(index);
  for (size_t i = 0; furrow_index_child_name(index, i); i++)
    if (furrow_index_child(index, i)) use_index(furrow_index_child(index, i));
}

/* The fields follow each other without a gap. */
static furrow_status follow(void *user, const furrow_index_field *field) {
  uint64_t *end = user;
  check(field->offset == *end && field->size > 0);
  check(field->path[0] && field->type[0] && field->meaning && field->value);
  *end = field->offset + field->size;
  return FURROW_OK;
}

/* A mistake has a place in the index; only a data file that is too short has none. */
static void check_place(const furrow_error *err, size_t size) {
  if (err->offset == FURROW_NO_OFFSET)
    check(err->file[0] && strstr(err->message, "is the data file of an index"));
  else
    check(err->offset <= size && strcmp(err->file, index_path) == 0);
}

/* E_STATE: other lists of the index are missing. */
static furrow_status write_inline(const furrow_index *index, fw_buffer *out) {
  fw_index_writer w = {.write = append, .to = out, .inline_lists = true};
  fw_write_index(&w, index);
  return w.status;
}

/* Lists on disk that are written to a new data file are the same lists. */
static void move_lists(const furrow_index *index) {
  static char path[TEST_PATH], lists[TEST_PATH];
  furrow_index_save_params save;
  furrow_index_load_params load;
  furrow_index_info info;
  furrow_index *moved = NULL;
  fw_buffer first = {0}, second = {0};
  const furrow_index *ivf = furrow_index_ivf(index);
  furrow_index_info_init(&info);
  if (!ivf) return;
  furrow_index_get_info(ivf, &info);
  if (info.lists != FURROW_LISTS_ON_DISK || info.lists_missing) return;
  fuzz_folder(path, "moved");
  fuzz_folder(lists, "moved.data");
  unlink(lists);
  furrow_index_save_params_init(&save);
  save.overwrite = true;
  save.lists_file = lists;
  check(furrow_index_save(index, path, &save, NULL) == FURROW_OK);
  furrow_index_load_params_init(&load);
  load.memory_map = load.lists_optional = true;
  check(furrow_index_load(&moved, path, &load, NULL) == FURROW_OK);
  const furrow_status written = write_inline(index, &first);
  check(write_inline(moved, &second) == written && (written == FURROW_OK || written == FURROW_E_STATE));
  check(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
  furrow_index_free(moved);
  fw_buffer_clear(&first);
  fw_buffer_clear(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  furrow_index *index = NULL, *view = NULL, *again = NULL;
  furrow_index_load_params params;
  furrow_error err = {0};
  fw_buffer first = {0}, second = {0};
  uint64_t end = 0;
  bool passed;
  furrow_index_load_params_init(&params);
  params.lists_optional = true;
  make_folder(fuzz_path(data, size));
  furrow_status status = furrow_index_load(&index, index_path, &params, &err);
  if (status == FURROW_E_FORMAT) check_place(&err, size);
  furrow_status walked = furrow_index_for_each_field(index_path, &params, follow, &end, NULL);
  check(status != FURROW_OK || (walked == FURROW_OK && end == size));
  params.memory_map = true;
  check(furrow_index_read(&view, data, size, index_path, &params, NULL) == status);
  if (status == FURROW_OK) {
    use_index(index);
    use_index(view);
    write_index(index, &first);
    write_index(view, &second);
    check(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
    if (size == first.size && memcmp(data, first.bytes, 4) == 0) check(memcmp(data, first.bytes, size) == 0);
    fw_buffer_reset(&second);
    check(furrow_index_read(&again, first.bytes, first.size, index_path, &params, NULL) == FURROW_OK);
    write_index(again, &second);
    check(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
    move_lists(view);
  }
  check(!find_difference(index_path, &params, &passed, &err));
  furrow_index_free(index);
  furrow_index_free(view);
  furrow_index_free(again);
  fw_buffer_clear(&first);
  fw_buffer_clear(&second);
  return 0;
}
