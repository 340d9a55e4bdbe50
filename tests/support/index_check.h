/* tests/support/index_check.h: what tests of index files share: reading bytes, writing bytes, places of fields. */
#ifndef INDEX_CHECK_H
#define INDEX_CHECK_H

#include "furrow/vector.h"
#include "support/cmocka_all.h"
#include "support/sample_index.h"
#include "support/test_env.h"
#include "vector/file/index_write.h"

static const furrow_index_save_params overwriting = {.size = sizeof(furrow_index_save_params), .overwrite = true};

static inline furrow_status append_bytes(void *to, uint64_t offset, const void *bytes, size_t size, furrow_error *err) {
  (void)offset, (void)err;
  put(to, bytes, size);
  return FURROW_OK;
}

/* The bytes of an index. */
static inline void write_bytes(const furrow_index *index, index_file *out) {
  fw_index_writer w = {.write = append_bytes, .to = out};
  fw_write_index(&w, index);
  assert_int_equal(w.status, FURROW_OK);
  assert_int_equal(w.size, out->size);
}

static inline void read_whole(const char *path, index_file *f) {
  FILE *file = fopen(path, "rb");
  char buffer[4096];
  size_t n;
  assert_non_null(file);
  while ((n = fread(buffer, 1, sizeof buffer, file)) > 0) put(f, buffer, n);
  fclose(file);
}

static inline void assert_same_bytes(const index_file *a, const index_file *b) {
  assert_int_equal(a->size, b->size);
  assert_memory_equal(a->bytes, b->bytes, a->size);
}

static inline furrow_status read_bytes(const index_file *f, bool map, furrow_index **index, furrow_error *err) {
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  params.memory_map = map;
  return furrow_index_read(index, f->bytes, f->size, NULL, &params, err);
}

/* ---- Fields of a file ---- */

typedef struct field_search {
  const char *path;
  uint64_t offset, size, next;
  bool found, gap;
} field_search;

static inline furrow_status look_at_field(void *user, const furrow_index_field *field) {
  field_search *s = user;
  s->gap = s->gap || field->offset != s->next;
  s->next = field->offset + field->size;
  if (s->path && strcmp(field->path, s->path) == 0) {
    s->offset = field->offset;
    s->size = field->size;
    s->found = true;
  }
  return FURROW_OK;
}

/* The place of a field in a good file, which is written to `scratch` for it. */
static inline uint64_t place_of(const index_file *f, const char *scratch, const char *path) {
  field_search s = {.path = path};
  furrow_error err = {0};
  assert_true(test_write_file(scratch, f->bytes, f->size));
  assert_int_equal(furrow_index_for_each_field(scratch, NULL, look_at_field, &s, &err), FURROW_OK);
  if (!s.found) print_error("no field %s\n", path);
  assert_true(s.found);
  return s.offset;
}

#endif
