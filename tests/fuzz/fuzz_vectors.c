/* tests/fuzz/fuzz_vectors.c: any bytes as a file of vectors and as a file of ids, of every kind.
 *
 * What is read does not depend on the size of blocks; written and read again it is the same bits. The first byte
 * chooses the kind. */
#include <string.h>

#include "furrow/vector_data.h"
#include "fuzz/harness/fuzz_check.h"

enum { D = 3, MOST_VALUES = 1 << 11 };

typedef struct vectors {
  furrow_status status;
  size_t count, d;
  float *values;
} vectors;

/* There is a name for each vector, and the reader is where it was. */
static void read_names(furrow_vectors_reader *reader) {
  furrow_name_list list = {0};
  furrow_error err = {0};
  if (!furrow_vectors_reader_has_names(reader)) return;
  const furrow_status status = furrow_vectors_reader_names(reader, &list, &err);
  check(status == FURROW_OK || (err.message[0] && !list.names));
  for (size_t i = 0; i < list.count; i++) check(list.names[i][0]);
  furrow_name_list_clear(&list);
  check(furrow_vectors_reader_rewind(reader, NULL) == FURROW_OK);
}

/* In blocks of so many; NULL values: there are too many of them. */
static vectors read_vectors(const char *path, const furrow_vectors_reader_params *params, size_t rows) {
  vectors v = {.status = FURROW_OK};
  furrow_vectors_reader *reader = NULL;
  furrow_error err = {0};
  size_t got = 1;
  v.status = furrow_vectors_reader_open(&reader, path, params, &err);
  check(v.status == FURROW_OK || err.message[0]);
  if (v.status != FURROW_OK) return v;
  v.d = furrow_vectors_reader_dimension(reader);
  read_names(reader);
  if (v.d > 0 && v.d * rows <= MOST_VALUES) {
    v.values = calloc(2 * MOST_VALUES, sizeof *v.values);
    check(v.values != NULL);
    while (v.status == FURROW_OK && got > 0 && v.count * v.d < MOST_VALUES) {
      v.status = furrow_vectors_reader_next(reader, rows, v.values + v.count * v.d, NULL, &got, &err);
      if (v.status == FURROW_OK) v.count += got;
    }
  }
  furrow_vectors_reader_close(reader);
  return v;
}

static void require_same(const vectors *a, const vectors *b) {
  const bool cut = a->values && b->values && (a->count * a->d >= MOST_VALUES || b->count * b->d >= MOST_VALUES);
  check(a->status == b->status || cut);
  if (!a->values || !b->values || a->status != FURROW_OK) return;
  const size_t count = a->count < b->count ? a->count : b->count;
  check(a->d == b->d && (a->count == b->count || count * a->d >= MOST_VALUES));
  check(memcmp(a->values, b->values, count * a->d * sizeof *a->values) == 0);
}

static void write_vectors(const vectors *v) {
  static const char *const kinds[] = {"fvecs", "fbin", "npy", "f32"};
  if (v->status != FURROW_OK || !v->values || v->count == 0 || v->count * v->d >= MOST_VALUES) return;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    furrow_vectors_writer_params params;
    furrow_vectors_reader_params reader;
    furrow_vectors_writer *writer = NULL;
    char path[TEST_PATH];
    furrow_vectors_writer_params_init(&params);
    params.kind = kinds[i];
    params.dim = v->d;
    params.overwrite = true;
    check(furrow_vectors_writer_open(&writer, fuzz_folder(path, "vectors"), &params, NULL) == FURROW_OK);
    check(furrow_vectors_writer_write(writer, v->values, v->count, NULL) == FURROW_OK);
    check(furrow_vectors_writer_commit(writer, NULL) == FURROW_OK);
    furrow_vectors_writer_close(writer);
    furrow_vectors_reader_params_init(&reader);
    reader.kind = kinds[i];
    reader.d = v->d;
    const vectors again = read_vectors(path, &reader, 1);
    require_same(v, &again);
    free(again.values);
  }
}

static void write_ids(const furrow_ids *ids) {
  furrow_vectors_writer_params params;
  furrow_vectors_writer *writer = NULL;
  furrow_ids again;
  char path[TEST_PATH];
  if (ids->count == 0 || ids->dim == 0) return;
  furrow_vectors_writer_params_init(&params);
  params.kind = "npy";
  params.ids = params.overwrite = true;
  params.dim = ids->dim;
  check(furrow_vectors_writer_open(&writer, fuzz_folder(path, "ids"), &params, NULL) == FURROW_OK);
  check(furrow_vectors_writer_write(writer, ids->ids, ids->count / ids->dim, NULL) == FURROW_OK);
  check(furrow_vectors_writer_commit(writer, NULL) == FURROW_OK);
  furrow_vectors_writer_close(writer);
  furrow_ids_init(&again);
  check(furrow_ids_load(&again, path, "npy", NULL) == FURROW_OK);
  check(again.count == ids->count && again.dim == ids->dim);
  check(memcmp(again.ids, ids->ids, ids->count * sizeof *ids->ids) == 0);
  furrow_ids_clear(&again);
}

static void read_ids(const char *path, const char *kind) {
  furrow_ids ids;
  furrow_error err = {0};
  furrow_ids_init(&ids);
  const furrow_status status = furrow_ids_load(&ids, path, kind, &err);
  check(status == FURROW_OK || (err.message[0] && !ids.ids));
  if (status == FURROW_OK) write_ids(&ids);
  furrow_ids_clear(&ids);
}

static void read_ids_or_names(const char *path) {
  furrow_ids ids;
  furrow_name_list list = {0};
  furrow_error err = {0};
  furrow_ids_init(&ids);
  const furrow_status status = furrow_ids_or_names_load(&ids, &list, path, &err);
  check(status == FURROW_OK || err.message[0]);
  check(!ids.ids || !list.names);
  for (size_t i = 0; i < list.count; i++) check(list.names[i][0]);
  furrow_ids_clear(&ids);
  furrow_name_list_clear(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const kinds[] = {"npy", "fvecs", "ivecs", "bvecs", "fbin", "ibin", "u8bin",      "i8bin",
                                      "f32", "csv",   "tsv",   "txt",   "vec",  "npz",  "safetensors"};
  static const char *const id_kinds[] = {"npy", "ivecs", "ibin", "i64", "txt"};
  furrow_vectors_reader_params params;
  if (size == 0) return 0;
  const char *path = fuzz_path(data + 1, size - 1);
  furrow_vectors_reader_params_init(&params);
  params.kind = kinds[data[0] % 15];
  params.d = strcmp(params.kind, "f32") == 0 ? D : 0;
  const vectors one = read_vectors(path, &params, 1), many = read_vectors(path, &params, 7);
  require_same(&one, &many);
  write_vectors(&one);
  free(one.values);
  free(many.values);
  read_ids(path, id_kinds[data[0] % 5]);
  read_ids_or_names(path);
  return 0;
}
