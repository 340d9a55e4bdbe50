/* tests/fuzz/fuzz_id_names.c: files of names, and lists of names, from hostile bytes.
 *
 * The first byte of the input says what the rest is: 0, a file of names as it is; 1, one whose digests are made right,
 * so that everything behind them is reached; 2, a text whose lines are names. What is accepted must be sound: every
 * name can be read and looked up; written and read again the names are the same. */
#include <string.h>

#include "base/mem.h"
#include "fuzz/harness/fuzz_check.h"
#include "vector/data/id_names.h"

/* Makes the digests right, as far as the parts are there. */
static void complete(uint8_t *file, size_t size) {
  if (size < FW_ID_NAMES_HEADER) return;
  const uint64_t count = fw_get_le64(file + FW_ID_NAMES_AT_COUNT);
  const size_t rest = size - FW_ID_NAMES_HEADER;
  size_t ids = fw_get_le32(file + FW_ID_NAMES_AT_IDS) == 1 && count <= rest / 8 ? 8 * (size_t)count : 0;
  uint8_t *table = file + FW_ID_NAMES_HEADER + ids;
  if (rest - ids >= 8) fw_put_le64(table, XXH3_64bits(table + 8, rest - ids - 8));
  fw_put_le64(file + FW_ID_NAMES_AT_IDS_DIGEST, XXH3_64bits(file + FW_ID_NAMES_HEADER, ids));
  fw_put_le64(file + FW_ID_NAMES_AT_DIGEST, XXH3_64bits(file, FW_ID_NAMES_AT_DIGEST));
}

static void use_names(const furrow_id_names *names) {
  const bool sound = fw_string_table_verify(&names->table, NULL) == FURROW_OK;
  const char *text;
  int64_t id = 0, before = 0, found = 0;
  size_t size = 0, again = 0;
  for (size_t i = 0; (text = furrow_id_names_at(names, i, &id, &size)); i++) {
    check(i == 0 || id > before);
    check(!fw_name_fault(text, size));
    check(furrow_id_names_text(names, id, &again) == text && again == size);
    const bool there = furrow_id_names_find(names, text, size, &found);
    check(!sound || (there && found == id));
    before = id;
  }
  furrow_id_names_find(names, "another name", 12, &found);
}

/* The same ids and names, as a file of Furrow's own. */
static furrow_id_names *copy_names(const furrow_id_names *names) {
  const size_t count = furrow_id_names_count(names);
  furrow_id_names *copy = NULL;
  int64_t *ids = calloc(count + 1, sizeof *ids);
  char **texts = calloc(count + 1, sizeof *texts);
  check(ids && texts);
  for (size_t i = 0; i < count; i++) {
    size_t size = 0;
    const char *text = furrow_id_names_at(names, i, &ids[i], &size);
    texts[i] = strndup(text, size);
    check(texts[i] && strlen(texts[i]) == size);
  }
  check(furrow_id_names_create(&copy, NULL) == FURROW_OK);
  check(furrow_id_names_add(copy, ids, (const char *const *)texts, count, NULL) == FURROW_OK);
  for (size_t i = 0; i < count; i++) free(texts[i]);
  free(texts);
  free(ids);
  return copy;
}

static void require_same(const furrow_id_names *a, const furrow_id_names *b) {
  check(furrow_id_names_count(a) == furrow_id_names_count(b));
  for (size_t i = 0; i < furrow_id_names_count(a); i++) {
    int64_t ids[2];
    size_t sizes[2];
    const char *first = furrow_id_names_at(a, i, &ids[0], &sizes[0]);
    const char *second = furrow_id_names_at(b, i, &ids[1], &sizes[1]);
    check(ids[0] == ids[1] && sizes[0] == sizes[1] && memcmp(first, second, sizes[0]) == 0);
  }
}

/* Negative ids cannot be added. */
static void write_again(const furrow_id_names *names) {
  int64_t first = 0;
  size_t size;
  if (furrow_id_names_count(names) == 0) return;
  furrow_id_names_at(names, 0, &first, &size);
  if (first < 0 || fw_string_table_verify(&names->table, NULL) != FURROW_OK) return;
  furrow_id_names *copy = copy_names(names), *again = NULL, view = {0};
  require_same(names, copy);
  check(fw_id_names_view(&view, copy->file.bytes, copy->file.size, "fuzz", NULL) == FURROW_OK);
  require_same(names, &view);
  again = copy_names(&view);
  check(again->file.size == copy->file.size && memcmp(again->file.bytes, copy->file.bytes, copy->file.size) == 0);
  furrow_id_names_free(again);
  furrow_id_names_free(copy);
}

static void read_file(uint8_t *bytes, size_t size, bool make_right) {
  furrow_id_names names = {0};
  furrow_error err;
  if (make_right) complete(bytes, size);
  const furrow_status status = fw_id_names_view(&names, bytes, size, "fuzz", &err);
  check(status == FURROW_OK || (status == FURROW_E_FORMAT && err.offset <= size));
  if (status != FURROW_OK) return;
  use_names(&names);
  write_again(&names);
}

static void read_lines(const uint8_t *data, size_t size) {
  furrow_name_list list = {0};
  furrow_error err;
  void *bytes = NULL;
  check(fw_alloc(&bytes, size + 1, 1, NULL) == FURROW_OK);
  memcpy(bytes, data, size);
  const furrow_status status = fw_name_list_parse(&list, bytes, size, "fuzz", 1, &err);
  check(status == FURROW_OK || (status == FURROW_E_PARSE && err.line > 0));
  for (size_t i = 0; i < list.count; i++) check(!fw_name_fault(list.names[i], strlen(list.names[i])));
  if (status == FURROW_OK) {
    furrow_id_names *names = NULL;
    check(furrow_id_names_create(&names, NULL) == FURROW_OK);
    check(furrow_id_names_add(names, NULL, list.names, list.count, NULL) == FURROW_OK);
    use_names(names);
    write_again(names);
    furrow_id_names_free(names);
    furrow_name_list_clear(&list);
  } else {
    fw_free(bytes);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  if (data[0] >= 2) {
    read_lines(data + 1, size - 1);
    return 0;
  }
  uint8_t *copy = malloc(size); /* of its own, so that a read behind the end is seen */
  check(copy != NULL);
  memcpy(copy, data + 1, size - 1);
  read_file(copy, size - 1, data[0] == 1);
  free(copy);
  return 0;
}
