/* tests/unit/vector/test_id_names.c: names of ids: looked up, changed, kept beside an index, refused where they do not
 * fit it. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/endian.h"
#include "furrow/vector_data.h"
#include "support/edit_index.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"
#include "support/reject_list.h"
#include "vector/data/id_names.h"

enum { D = 4, MANY = 1000 };

/* ---- Help ----------------------------------------------------------------------------------------------- */

static furrow_id_names *no_names(void) {
  furrow_id_names *names = NULL;
  assert_int_equal(furrow_id_names_create(&names, NULL), FURROW_OK);
  return names;
}

/* Names with a text before their number; ids NULL: counted. */
static furrow_id_names *made_names(const char *before, const int64_t *ids, size_t n) {
  static char texts[MANY][32];
  static const char *list[MANY];
  furrow_id_names *names = no_names();
  for (size_t i = 0; i < n; i++) {
    snprintf(texts[i], sizeof texts[i], "%s %zu", before, i);
    list[i] = texts[i];
  }
  assert_int_equal(furrow_id_names_add(names, ids, list, n, NULL), FURROW_OK);
  return names;
}

static void assert_name(const furrow_id_names *names, int64_t id, const char *wanted) {
  size_t size = 0;
  int64_t found = INT64_MIN;
  const char *text = furrow_id_names_text(names, id, &size);
  assert_non_null(text);
  assert_int_equal(size, strlen(wanted));
  assert_memory_equal(text, wanted, size);
  assert_true(furrow_id_names_find(names, wanted, size, &found));
  assert_int_equal(found, id);
}

static void assert_no_id(const furrow_id_names *names, int64_t id) {
  size_t size;
  assert_null(furrow_id_names_text(names, id, &size));
}

/* An index with n vectors; ids NULL: counted. */
static furrow_index *made_index(size_t n, uint64_t seed, const int64_t *ids) {
  static float vectors[MANY * D];
  const furrow_index_spec spec = plain_spec(D, 3, 2);
  furrow_index *index = trained_index(&spec, 3);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  fill_random(&rng, vectors, n * D);
  assert_int_equal(add_vectors(index, vectors, n, ids), FURROW_OK);
  return index;
}

static furrow_status save(const furrow_index *index, const furrow_id_names *names, const char *path, bool overwrite,
                          furrow_error *err) {
  furrow_index_save_params params;
  furrow_index_save_params_init(&params);
  params.overwrite = overwrite;
  params.names = names;
  return furrow_index_save(index, path, &params, err);
}

static void copy_file(const char *from, const char *to) {
  static char bytes[1 << 20];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  assert_true(in && out);
  const size_t size = fread(bytes, 1, sizeof bytes, in);
  assert_int_equal(fwrite(bytes, 1, size, out), size);
  fclose(in);
  assert_int_equal(fclose(out), 0);
}

/* ---- In memory ------------------------------------------------------------------------------------------ */

static void names_are_found_both_ways(void **state) {
  (void)state;
  static const int64_t ids[] = {-5, 40, 7, INT64_MAX, INT64_MIN};
  furrow_id_names *counted = made_names("item", NULL, MANY), *given = made_names("given", ids, 5);
  assert_int_equal(furrow_id_names_count(counted), MANY);
  for (int64_t i = 0; i < MANY; i++) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, "item %d", (int)i);
    assert_name(counted, i, wanted);
  }
  assert_no_id(counted, -1);
  assert_no_id(counted, MANY);
  assert_name(given, -5, "given 0");
  assert_name(given, INT64_MAX, "given 3");
  assert_name(given, INT64_MIN, "given 4");
  assert_no_id(given, 0);
  int64_t id, before = INT64_MIN;
  size_t size;
  for (size_t i = 0; furrow_id_names_at(given, i, &id, &size); i++) {
    assert_true(i == 0 || id > before);
    before = id;
  }
  assert_int_equal(before, INT64_MAX);
  assert_false(furrow_id_names_find(given, "given", 5, &id));
  furrow_id_names_free(counted);
  furrow_id_names_free(given);
}

static void what_is_not_a_name(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {{"", "a name is empty"},
             {"a\tb", "a name has a control character"},
             {"a\nb", "a name has a control character"},
             {"a\x7f", "a name has a control character"},
             {"\xc3", "a name is not UTF-8"}};
  furrow_id_names *names = made_names("n", NULL, 2);
  furrow_error err;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const char *const texts[] = {"good", bad[i].text};
    assert_int_equal(furrow_id_names_add(names, NULL, texts, 2, &err), FURROW_E_ARGUMENT);
    assert_string_equal(err.message, bad[i].message);
  }
  const char *const there = "n 1", *const twice[] = {"x", "x"}, *const fresh = "fresh";
  const int64_t taken = 1;
  assert_int_equal(furrow_id_names_add(names, NULL, &there, 1, &err), FURROW_E_EXISTS);
  assert_string_equal(err.token, "n 1");
  assert_int_equal(furrow_id_names_add(names, NULL, twice, 2, &err), FURROW_E_EXISTS);
  assert_string_equal(err.message, "ids 2 and 3 would have the same name");
  assert_int_equal(furrow_id_names_add(names, &taken, &fresh, 1, &err), FURROW_E_EXISTS);
  assert_string_equal(err.message, "id 1 has a name already, so it cannot have this one");
  assert_int_equal(furrow_id_names_count(names), 2); /* nothing has changed */
  assert_name(names, 1, "n 1");
  furrow_id_names_free(names);
}

static void no_id_follows_the_largest(void **state) {
  (void)state;
  static const int64_t ids[] = {7, INT64_MAX - 1}, largest = INT64_MAX, small = 3;
  furrow_id_names *names = made_names("n", ids, 2);
  furrow_error err;
  const char *const texts[] = {"a", "b"}, *const fresh = "fresh";
  assert_int_equal(furrow_id_names_add(names, NULL, texts, 2, &err), FURROW_E_RANGE);
  assert_string_equal(err.token, "b");
  assert_int_equal(furrow_id_names_count(names), 2);
  assert_int_equal(furrow_id_names_add(names, &largest, texts, 1, &err), FURROW_OK);
  assert_int_equal(furrow_id_names_add(names, NULL, &fresh, 1, &err), FURROW_E_RANGE);
  assert_int_equal(furrow_id_names_add(names, &small, &fresh, 1, &err), FURROW_OK); /* others can still have names */
  assert_name(names, 3, "fresh");
  assert_name(names, INT64_MAX, "a");
  furrow_id_names_free(names);
}

static void names_are_removed(void **state) {
  (void)state;
  static const int64_t gone[] = {0, 3, 4};
  furrow_id_filter filter = sorted_filter(gone, 3);
  furrow_id_names *names = made_names("n", NULL, 6), *dense = made_names("n", NULL, 6);
  assert_int_equal(furrow_id_names_remove(names, &filter, false, NULL), FURROW_OK);
  assert_int_equal(furrow_id_names_count(names), 3);
  assert_name(names, 5, "n 5");
  assert_no_id(names, 3);
  int64_t id;
  assert_false(furrow_id_names_find(names, "n 3", 3, &id));
  assert_int_equal(furrow_id_names_remove(dense, &filter, true, NULL), FURROW_OK);
  assert_name(dense, 0, "n 1");
  assert_name(dense, 1, "n 2");
  assert_name(dense, 2, "n 5");
  const char *const more = "more";
  assert_int_equal(furrow_id_names_add(names, NULL, &more, 1, NULL), FURROW_OK); /* behind all, not in a gap */
  assert_name(names, 6, "more");
  furrow_id_names_free(names);
  furrow_id_names_free(dense);
}

static void names_are_merged(void **state) {
  (void)state;
  furrow_error err;
  furrow_id_names *a = made_names("a", NULL, 3), *b = made_names("b", NULL, 2), *same = made_names("a", NULL, 2);
  assert_int_equal(furrow_id_names_merge(a, b, 0, &err), FURROW_E_EXISTS);
  assert_int_equal(furrow_id_names_merge(a, same, 3, &err), FURROW_E_EXISTS);
  assert_string_equal(err.message, "ids 0 and 3 would have the same name");
  assert_int_equal(furrow_id_names_merge(a, b, INT64_MAX, &err), FURROW_E_RANGE);
  assert_int_equal(furrow_id_names_count(a), 3);
  assert_int_equal(furrow_id_names_merge(a, b, 3, &err), FURROW_OK);
  assert_int_equal(furrow_id_names_merge(a, same, 0, &err), FURROW_OK); /* the same names for the same ids */
  assert_int_equal(furrow_id_names_count(a), 5);
  assert_name(a, 4, "b 1");
  furrow_id_names_free(a);
  furrow_id_names_free(b);
  furrow_id_names_free(same);
}

/* ---- Text ----------------------------------------------------------------------------------------------- */

static void lines_are_names(void **state) {
  (void)state;
  furrow_name_list list;
  assert_true(test_write_text("a", "\xef\xbb\xbfThe Matrix\r\n 12 Monkeys\na, b: c"));
  assert_int_equal(furrow_name_list_load(&list, "a", NULL), FURROW_OK);
  assert_int_equal(list.count, 3);
  assert_string_equal(list.names[0], "The Matrix");
  assert_string_equal(list.names[1], " 12 Monkeys");
  assert_string_equal(list.names[2], "a, b: c");
  furrow_name_list_clear(&list);
  assert_true(test_write_text("none", ""));
  assert_int_equal(furrow_name_list_load(&list, "none", NULL), FURROW_OK);
  assert_int_equal(list.count, 0);
  furrow_name_list_clear(&list);
}

static void bad_lines_are_named(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
    unsigned line;
  } bad[] = {{"a\n\nb\n", "a name is empty", 2},
             {"a\nb\n\r\n", "a name is empty", 3},
             {"a\nb\xff\n", "a name is not UTF-8", 2},
             {"a\tb\n", "a name has a control character", 1},
             {"a\nb\nc\nb\na\n", "line 2 has the same name", 4}};
  furrow_name_list list;
  furrow_error err;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_true(test_write_text("bad", bad[i].text));
    assert_int_equal(furrow_name_list_load(&list, "bad", &err), FURROW_E_PARSE);
    assert_string_equal(err.message, bad[i].message);
    assert_int_equal(err.line, bad[i].line);
    assert_string_equal(err.file, "bad");
    assert_int_equal(furrow_name_list_load(&list, "bad", NULL), FURROW_E_PARSE);
  }
}

static void the_first_line_decides(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t ids, names;
  } files[] = {{"1\n2\n", 2, 0}, {"\n 1, 2\t3\r\n4", 4, 0}, {"-7", 1, 0},    {"", 0, 0},   {"12 Monkeys\n3\n", 0, 2},
               {"a\n1\n", 0, 2}, {"1.5\n2\n", 0, 2},        {"1984b", 0, 1}, {"1-2", 0, 1}};
  furrow_ids ids;
  furrow_name_list list;
  furrow_error err;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    assert_true(test_write_text("f", files[i].text));
    assert_int_equal(furrow_ids_or_names_load(&ids, &list, "f", NULL), FURROW_OK);
    assert_int_equal(ids.count, files[i].ids);
    assert_int_equal(list.count, files[i].names);
    assert_true(!ids.ids != !list.names);
    furrow_ids_clear(&ids);
    furrow_name_list_clear(&list);
  }
  assert_true(test_write_text("f", "1\n2\nthree\n"));
  assert_int_equal(furrow_ids_or_names_load(&ids, &list, "f", &err), FURROW_E_PARSE);
  assert_string_equal(err.token, "three");
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

static void names_come_back(void **state) {
  (void)state;
  static const int64_t sparse[] = {3, 1000, 12};
  for (int kind = 0; kind < 2; kind++) {
    const int64_t *ids = kind ? sparse : NULL;
    furrow_index *index = made_index(3, 5, ids);
    furrow_id_names *names = made_names("n\xc3\xa4me", ids, 3), *loaded = NULL;
    assert_int_equal(save(index, names, "i", true, NULL), FURROW_OK);
    assert_int_equal(furrow_id_names_load(&loaded, "i", NULL), FURROW_OK);
    assert_int_equal(furrow_id_names_count(loaded), 3);
    assert_name(loaded, ids ? ids[1] : 1, "n\xc3\xa4me 1");
    uint64_t unused = 7;
    assert_int_equal(furrow_id_names_check(loaded, index, &unused, NULL), FURROW_OK);
    assert_int_equal(unused, 0);
    assert_int_not_equal(access("i.names.new", F_OK), 0);
    furrow_id_names_free(loaded);
    furrow_id_names_free(names);
    furrow_index_free(index);
  }
}

static void names_must_fit(void **state) {
  (void)state;
  furrow_index *three = made_index(3, 5, NULL), *four = made_index(4, 6, NULL), *other = made_index(3, 7, NULL);
  furrow_id_names *names = made_names("n", NULL, 3), *loaded = NULL;
  furrow_error err;
  assert_int_equal(furrow_id_names_load(&loaded, "i", &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.message, "has no names of ids");
  assert_int_equal(save(four, names, "i", false, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "id 3 has no name");
  assert_int_not_equal(access("i", F_OK), 0);
  assert_int_equal(save(three, names, "i", false, &err), FURROW_OK);
  assert_int_equal(save(three, names, "i", false, &err), FURROW_E_EXISTS);
  /* an index of the same size, written by something that knows no names */
  assert_int_equal(save(other, NULL, "j", false, &err), FURROW_OK);
  assert_int_equal(rename("j", "i"), 0);
  assert_int_equal(furrow_id_names_load(&loaded, "i", &err), FURROW_E_FORMAT);
  assert_string_equal(err.file, "i.names");
  assert_string_equal(err.message, "the names belong to another index, or to this one before it was changed");
  assert_int_equal(furrow_id_names_save(names, "i", &err), FURROW_OK);
  assert_int_equal(furrow_id_names_load(&loaded, "i", &err), FURROW_OK);
  furrow_id_names_free(loaded);
  assert_int_equal(furrow_id_names_discard("i", &err), FURROW_OK);
  assert_int_equal(furrow_id_names_discard("i", &err), FURROW_OK);
  assert_int_equal(furrow_id_names_load(&loaded, "i", &err), FURROW_E_NOT_FOUND);
  furrow_id_names_free(names);
  furrow_index_free(three);
  furrow_index_free(four);
  furrow_index_free(other);
}

/* Whatever an earlier save left waiting: names that belong to the index, to none, or nothing. */
static void an_index_without_names_replaces_one_with_names(void **state) {
  (void)state;
  furrow_index *three = made_index(3, 5, NULL), *other = made_index(3, 7, NULL);
  furrow_id_names *names = made_names("n", NULL, 3), *loaded = NULL;
  furrow_error err;
  for (int waiting = 0; waiting < 4; waiting++) {
    assert_int_equal(save(other, names, "j", true, &err), FURROW_OK);
    assert_int_equal(save(three, names, "i", true, &err), FURROW_OK);
    if (waiting == 1) assert_int_equal(rename("i.names", "i.names.new"), 0);
    if (waiting == 2) assert_int_equal(rename("j.names", "i.names.new"), 0);
    if (waiting == 3) assert_int_equal(rename("i.names", "i.names.new") | rename("j.names", "i.names"), 0);
    assert_int_equal(furrow_id_names_load(&loaded, "i", &err), FURROW_OK);
    furrow_id_names_free(loaded);
    assert_int_equal(save(other, NULL, "i", true, &err), FURROW_OK);
    assert_int_equal(furrow_id_names_load(&loaded, "i", &err), FURROW_E_NOT_FOUND);
    assert_int_not_equal(access("i.names", F_OK), 0);
    assert_int_not_equal(access("i.names.new", F_OK), 0);
  }
  furrow_id_names_free(names);
  furrow_index_free(three);
  furrow_index_free(other);
}

static void another_file_stays(void **state) {
  (void)state;
  furrow_index *index = made_index(3, 5, NULL);
  furrow_id_names *names = made_names("n", NULL, 3), *loaded = NULL;
  furrow_error err;
  assert_true(test_write_text("i.names", "my own list\n"));
  assert_int_equal(save(index, names, "i", true, &err), FURROW_E_EXISTS);
  assert_string_equal(err.file, "i.names");
  assert_int_not_equal(access("i", F_OK), 0);
  assert_int_equal(save(index, NULL, "i", true, &err), FURROW_E_EXISTS);
  assert_int_not_equal(access("i", F_OK), 0);
  assert_int_equal(save(index, NULL, "i", false, &err), FURROW_OK);
  assert_int_equal(furrow_id_names_discard("i", &err), FURROW_E_EXISTS);
  assert_int_equal(furrow_id_names_load(&loaded, "i", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "is not a file of names");
  assert_int_equal(access("i.names", F_OK), 0);
  furrow_id_names_free(names);
  furrow_index_free(index);
}

static void ids_of_an_index_are_listed(void **state) {
  (void)state;
  static const int64_t ids[] = {30, 10, 20};
  furrow_index *index = made_index(3, 5, ids), *counted = made_index(4, 5, NULL);
  furrow_ids listed;
  furrow_error err;
  int64_t sum = 0;
  assert_int_equal(furrow_index_get_ids(index, &listed, &err), FURROW_OK);
  assert_int_equal(listed.count, 3);
  assert_int_equal(listed.dim, 1);
  for (size_t i = 0; i < listed.count; i++) sum += listed.ids[i];
  assert_int_equal(sum, 60);
  furrow_ids_clear(&listed);
  assert_int_equal(furrow_index_get_ids(counted, &listed, &err), FURROW_OK);
  assert_int_equal(listed.count, 4);
  furrow_ids_clear(&listed);
  furrow_index_free(index);
  furrow_index_free(counted);
}

static void names_of_an_index_are_set(void **state) {
  (void)state;
  static const int64_t ids[] = {30, 10, 20}, twice[] = {1, 1, 2};
  static const char *const texts[] = {"ten", "twenty", "thirty"};
  furrow_index *index = made_index(3, 5, ids), *odd = made_index(3, 5, twice);
  furrow_id_names *names = made_names("old", NULL, 5);
  furrow_error err;
  assert_int_equal(furrow_id_names_set(names, index, texts, 2, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "there are 2 names for 3 ids");
  assert_int_equal(furrow_id_names_set(names, odd, texts, 3, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_id_names_count(names), 5);
  assert_int_equal(furrow_id_names_set(names, index, texts, 3, &err), FURROW_OK);
  assert_int_equal(furrow_id_names_count(names), 3);
  assert_name(names, 20, "twenty");
  furrow_id_names_free(names);
  furrow_index_free(index);
  furrow_index_free(odd);
}

/* Each file of tests/reject/index_names, beside an index, is refused as the list says: status, byte, message. */
static void files_are_refused_as_listed(void **state) {
  (void)state;
  char path[TEST_PATH], line[REJECT_LINE], file[128], status[20], message[256], found[512], wanted[512];
  unsigned long long offset;
  furrow_index *index = made_index(4, 5, NULL);
  furrow_id_names *names = NULL;
  furrow_error err;
  assert_int_equal(save(index, NULL, "i", true, NULL), FURROW_OK);
  FILE *list = reject_list_open("index_names");
  while (reject_list_next(list, line)) {
    if (sscanf(line, "%127s %19s %llu %255[^\n]", file, status, &offset, message) != 4)
      fail_msg("not a line: %s", line);
    reject_path(path, "index_names", file);
    copy_file(path, "i.names");
    snprintf(wanted, sizeof wanted, "%s %llu %s", status, offset, message);
    const furrow_status result = furrow_id_names_load(&names, "i", &err);
    snprintf(found, sizeof found, "%s %llu %s", furrow_status_name(result), (unsigned long long)err.offset,
             err.message);
    if (strcmp(found, wanted) != 0) print_error("%s: %s\n    not %s\n", file, found, wanted);
    assert_string_equal(found, wanted);
    assert_string_equal(err.file, "i.names");
    assert_int_equal(furrow_id_names_load(&names, "i", NULL), result);
  }
  fclose(list);
  reject_list_is_complete("index_names");
  furrow_index_free(index);
}

/* Files that end within the header, where ids or the table begin, and one that ends while it is read. */
static size_t short_read; /* a read of so many bytes finds none */

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
  static ssize_t (*_Atomic next)(int, void *, size_t, off_t);
  if (!next) next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  return short_read && size == short_read ? 0 : next(fd, buffer, size, offset);
}

static void files_that_end_early(void **state) {
  (void)state;
  static const int64_t ids[] = {3, 12, 1000};
  static const struct {
    size_t size;
    uint64_t offset;
    const char *message;
  } ends[] = {{7, 0, "is not a file of names"},
              {8, 8, "is cut short"},
              {63, 63, "is cut short"},
              {64, 16, "has more names than bytes for them"},
              {64 + 24, 64 + 24, "the table of texts is cut short"}};
  furrow_index *index = made_index(3, 5, ids);
  furrow_id_names *names = made_names("n", ids, 3), *loaded = NULL;
  furrow_error err;
  assert_int_equal(save(index, names, "i", true, NULL), FURROW_OK);
  copy_file("i.names", "whole");
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    copy_file("whole", "i.names");
    assert_int_equal(truncate("i.names", (off_t)ends[i].size), 0);
    assert_int_equal(furrow_id_names_load(&loaded, "i", &err), FURROW_E_FORMAT);
    assert_string_equal(err.message, ends[i].message);
    assert_int_equal(err.offset, ends[i].offset);
  }
  copy_file("whole", "i.names");
  short_read = names->file.size;
  assert_int_equal(furrow_id_names_load(&loaded, "i", &err), FURROW_E_FORMAT);
  short_read = 0;
  assert_string_equal(err.message, "is cut short");
  assert_int_equal(err.offset, 0);
  assert_null(loaded);
  furrow_id_names_free(names);
  furrow_index_free(index);
}

/* Of a link to an index, names are beside the index, or beside the link; a link to nowhere is not the same as none. */
static void links(void **state) {
  (void)state;
  furrow_index *index = made_index(3, 5, NULL);
  furrow_id_names *names = made_names("n", NULL, 3), *other = made_names("m", NULL, 3), *loaded = NULL;
  furrow_error err;
  assert_int_equal(mkdir("sub", 0755), 0);
  assert_int_equal(save(index, names, "sub/i", true, NULL), FURROW_OK);
  assert_int_equal(symlink("sub/i", "l"), 0);
  assert_int_equal(furrow_id_names_load(&loaded, "l", &err), FURROW_OK);
  assert_name(loaded, 0, "n 0");
  furrow_id_names_free(loaded);
  assert_int_equal(furrow_id_names_save(other, "sub/i", &err), FURROW_OK);
  copy_file("sub/i.names", "l.names");
  assert_int_equal(furrow_id_names_save(names, "sub/i", &err), FURROW_OK);
  assert_int_equal(furrow_id_names_load(&loaded, "l", &err), FURROW_OK);
  assert_name(loaded, 0, "m 0");
  furrow_id_names_free(loaded);
  loaded = NULL;
  assert_int_equal(remove("l.names"), 0);
  assert_int_equal(symlink("nowhere", "l.names"), 0);
  assert_int_equal(furrow_id_names_load(&loaded, "l", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "is a link to a file that is not there");
  assert_string_equal(err.file, "l.names");
  assert_null(loaded);
  furrow_id_names_free(names);
  furrow_id_names_free(other);
  furrow_index_free(index);
}

/* ---- Saves that end early ------------------------------------------------------------------------------- */

static void assert_loaded(const char *path, size_t count, const char *first) {
  furrow_id_names *names = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_id_names_load(&names, path, &err);
  if (status != FURROW_OK) print_error("%s: %s\n", err.file, err.message);
  assert_int_equal(status, FURROW_OK);
  assert_int_equal(furrow_id_names_count(names), count);
  assert_name(names, 0, first);
  furrow_id_names_free(names);
}

/* Files can have so many bytes: less than an index, more than its names. */
static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The states that a kill leaves between the three steps of a save. */
static void each_step_can_be_the_last(void **state) {
  (void)state;
  furrow_index *old = made_index(3, 5, NULL), *next = made_index(4, 6, NULL), *last = made_index(5, 7, NULL);
  furrow_id_names *olds = made_names("old", NULL, 3), *news = made_names("new", NULL, 4);
  furrow_id_names *lasts = made_names("last", NULL, 5), *none = NULL;
  furrow_error err;
  assert_int_equal(save(old, olds, "old", false, NULL), FURROW_OK);
  assert_int_equal(save(next, news, "new", false, NULL), FURROW_OK);
  copy_file("old", "i"); /* names were staged */
  copy_file("old.names", "i.names");
  copy_file("new.names", "i.names.new");
  assert_loaded("i", 3, "old 0");
  copy_file("new", "i"); /* and the index was written */
  assert_loaded("i", 4, "new 0");
  /* the next save fails, but not without having kept what is staged */
  limit_files(400);
  assert_int_equal(save(last, lasts, "i", true, &err), FURROW_E_IO);
  limit_files(RLIM_INFINITY);
  assert_loaded("i", 4, "new 0");
  assert_int_not_equal(access("i.names.new", F_OK), 0);
  assert_int_equal(save(last, lasts, "i", true, NULL), FURROW_OK);
  assert_loaded("i", 5, "last 0");
  /* of an index that had no names: those that were staged do not count until it is written */
  copy_file("old", "j");
  copy_file("new.names", "j.names.new");
  assert_int_equal(furrow_id_names_load(&none, "j", &err), FURROW_E_NOT_FOUND);
  copy_file("new", "j");
  assert_loaded("j", 4, "new 0");
  furrow_index_free(old);
  furrow_index_free(next);
  furrow_index_free(last);
  furrow_id_names_free(olds);
  furrow_id_names_free(news);
  furrow_id_names_free(lasts);
}

static void save_for_ever(const furrow_index *const index[2], furrow_id_names *const names[2]) {
  alarm(60); /* in case nobody is left to kill it */
  for (int i = 0;; i = !i)
    if (save(index[i], names[i], "i", true, NULL) != FURROW_OK) _exit(1);
}

static void a_kill_leaves_an_index_with_its_names(void **state) {
  (void)state;
  furrow_index *const index[2] = {made_index(900, 5, NULL), made_index(800, 6, NULL)};
  furrow_id_names *const names[2] = {made_names("a", NULL, 900), made_names("b", NULL, 800)};
  assert_int_equal(save(index[0], names[0], "i", true, NULL), FURROW_OK);
  for (unsigned round = 0; round < 40; round++) {
    int ended = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) save_for_ever((const furrow_index *const[2]){index[0], index[1]}, names);
    usleep(5000 + round * 777);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended));
    furrow_index *found = NULL;
    furrow_index_info info;
    furrow_index_info_init(&info);
    assert_int_equal(furrow_index_load(&found, "i", NULL, NULL), FURROW_OK);
    furrow_index_get_info(found, &info);
    assert_loaded("i", (size_t)info.ntotal, info.ntotal == 900 ? "a 0" : "b 0");
    furrow_index_free(found);
  }
  for (int i = 0; i < 2; i++) {
    furrow_index_free(index[i]);
    furrow_id_names_free(names[i]);
  }
}

/* Memory that runs out at any point of a change leaves names as they were. */
static void no_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  static const char *const texts[] = {"x", "y"};
  furrow_index *index = made_index(5, 5, NULL);
  long n = 1;
  for (bool done = false; !done; n++) {
    furrow_id_names *names = made_names("n", NULL, 3), *loaded = NULL;
    alloc_fail_at(n);
    furrow_status status = furrow_id_names_add(names, NULL, texts, 2, NULL);
    const bool added = status == FURROW_OK;
    if (added) status = save(index, names, "i", true, NULL);
    if (status == FURROW_OK) status = furrow_id_names_load(&loaded, "i", NULL);
    alloc_fail_at(0);
    done = status == FURROW_OK;
    assert_true(done || status == FURROW_E_MEMORY);
    assert_int_equal(furrow_id_names_count(names), added ? 5 : 3);
    assert_name(names, 2, "n 2");
    furrow_id_names_free(loaded);
    furrow_id_names_free(names);
  }
  assert_true(n > 10);
  furrow_index_free(index);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(names_are_found_both_ways),
      IN_DIR(what_is_not_a_name),
      IN_DIR(no_id_follows_the_largest),
      IN_DIR(names_are_removed),
      IN_DIR(names_are_merged),
      IN_DIR(lines_are_names),
      IN_DIR(bad_lines_are_named),
      IN_DIR(the_first_line_decides),
      IN_DIR(names_come_back),
      IN_DIR(names_must_fit),
      IN_DIR(an_index_without_names_replaces_one_with_names),
      IN_DIR(another_file_stays),
      IN_DIR(ids_of_an_index_are_listed),
      IN_DIR(names_of_an_index_are_set),
      IN_DIR(files_are_refused_as_listed),
      IN_DIR(files_that_end_early),
      IN_DIR(links),
      IN_DIR(each_step_can_be_the_last),
      IN_DIR(a_kill_leaves_an_index_with_its_names),
      IN_DIR(no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
