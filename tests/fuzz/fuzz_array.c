/* tests/fuzz/fuzz_array.c: files of arrays from hostile bytes.
 *
 * The first byte of the input chooses what the rest is: npy, fvecs, ivecs, bvecs, fbin, ibin, u8bin, i8bin, npz,
 * safetensors. Whatever opens is read to its end in pieces, and again by row where it can seek; written and read again
 * it is the same. */
#include <string.h>

#include "array/array.h"
#include "array/safetensors.h"
#include "array/zip.h"
#include "fuzz/harness/fuzz_check.h"

#define ARRAY_KINDS 8
#define MOST_ROWS 100000             /* compressed files can have very many */
#define MOST_BYTES ((size_t)1 << 16) /* of what is written again */

/* Reads all rows; what the header announced must be there, and nothing else. */
static void read_rows(fw_array_reader *reader, size_t file_size) {
  const fw_array_info *info = fw_array_get_info(reader);
  const size_t size = fw_array_type_size(info->type);
  uint64_t rows = 0;
  size_t got = 1;
  if (info->rows == 0) return;
  check(info->dim > 0);
  if (info->can_seek) check(info->rows <= file_size && info->dim <= file_size);
  if (info->dim > (size_t)1 << 20) return; /* rows are read as numbers of 8 bytes */
  const size_t piece = 1 + 4096 / (info->dim * size);
  char *out = malloc(piece * info->dim * 8);
  check(out != NULL);
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && got > 0 && rows < MOST_ROWS) {
    status = fw_array_read_as(reader, FW_ARRAY_F64, out, piece, &got, NULL);
    if (status == FURROW_OK) rows += got;
  }
  if (status == FURROW_OK && got == 0 && info->rows != FW_ARRAY_UNKNOWN) check(rows == info->rows);
  if (info->can_seek && fw_array_seek(reader, info->rows - 1, NULL) == FURROW_OK) {
    status = fw_array_read(reader, out, 1, &got, NULL);
    check(status != FURROW_OK || got == 1);
    status = fw_array_read_part(reader, 0, info->dim / 2, info->dim - info->dim / 2, FW_ARRAY_I64, out, NULL);
    (void)status;
  }
  free(out);
}

/* ---- Written again ---- */

/* All elements; NULL: too many, or they cannot be read. */
static char *read_elements(fw_array_reader *reader, size_t *bytes) {
  const fw_array_info *info = fw_array_get_info(reader);
  const size_t size = fw_array_type_size(info->type);
  size_t got = 0;
  if (info->rows == 0 || info->dim == 0 || info->rows > MOST_BYTES || info->dim > MOST_BYTES) return NULL;
  *bytes = (size_t)info->rows * info->dim * size;
  if (*bytes > MOST_BYTES) return NULL;
  char *elements = malloc(*bytes);
  check(elements != NULL);
  if (fw_array_read(reader, elements, (size_t)info->rows, &got, NULL) == FURROW_OK) {
    check(got == info->rows);
    return elements;
  }
  free(elements);
  return NULL;
}

static void check_written(const char *path, fw_array_kind kind, const fw_array_info *wanted, const char *elements) {
  fw_array_reader *reader = NULL;
  size_t bytes = 0;
  check(fw_array_open(&reader, path, kind, NULL) == FURROW_OK);
  const fw_array_info *info = fw_array_get_info(reader);
  check(info->type == wanted->type && info->rows == wanted->rows && info->dim == wanted->dim);
  check(info->flat == wanted->flat);
  char *again = read_elements(reader, &bytes);
  check(again && memcmp(again, elements, bytes) == 0);
  free(again);
  fw_array_close(reader);
}

static void write_again(const char *from, fw_array_kind kind) {
  fw_array_reader *reader = NULL;
  fw_array_writer *writer = NULL;
  char path[TEST_PATH];
  size_t bytes = 0;
  if (fw_array_open(&reader, from, kind, NULL) != FURROW_OK) return;
  const fw_array_info *info = fw_array_get_info(reader);
  const fw_array_write_params params = {
      .kind = kind, .type = info->type, .dim = info->dim, .flat = info->flat, .rows = info->rows, .replace = true};
  char *elements = info->type == FW_ARRAY_F16 ? NULL : read_elements(reader, &bytes); /* F16 is never written */
  if (elements) {
    check(fw_array_writer_open(&writer, fuzz_folder(path, "again"), &params, NULL) == FURROW_OK);
    check(fw_array_writer_put(writer, elements, bytes / fw_array_type_size(info->type), NULL) == FURROW_OK);
    check(fw_array_writer_commit(writer, NULL) == FURROW_OK);
    check_written(path, kind, info, elements);
  }
  free(elements);
  fw_array_writer_close(writer);
  fw_array_close(reader);
}

/* The bytes of a member; NULL: too many, or they cannot be read. */
static char *read_member(const fw_zip *zip, size_t member, size_t *size) {
  fw_bytes_in *in = NULL;
  char *bytes = NULL;
  if (fw_zip_member_open(zip, member, &in, NULL) != FURROW_OK) return NULL;
  if (fw_bytes_in_size(in) <= MOST_BYTES) {
    bytes = malloc(MOST_BYTES + 1);
    check(bytes != NULL);
    if (fw_bytes_in_read(in, bytes, MOST_BYTES + 1, size, NULL) != FURROW_OK) {
      free(bytes);
      bytes = NULL;
    }
  }
  fw_bytes_in_close(in);
  return bytes;
}

static void check_zip(const fw_zip *zip, const char *path) {
  fw_zip *again = NULL;
  check(fw_zip_open(&again, path, NULL) == FURROW_OK);
  check(fw_zip_count(again) == fw_zip_count(zip));
  for (size_t i = 0; i < fw_zip_count(zip); i++) {
    size_t sizes[2] = {0, 0};
    check(strcmp(fw_zip_name(zip, i), fw_zip_name(again, i)) == 0);
    char *first = read_member(zip, i, &sizes[0]), *second = read_member(again, i, &sizes[1]);
    check(first && second && sizes[0] == sizes[1] && memcmp(first, second, sizes[0]) == 0);
    free(first);
    free(second);
  }
  fw_zip_close(again);
}

static void write_zip_again(const fw_zip *zip) {
  fw_zip_writer *writer = NULL;
  char path[TEST_PATH];
  bool whole = fw_zip_count(zip) > 0;
  check(fw_zip_writer_open(&writer, fuzz_folder(path, "again.npz"), true, NULL) == FURROW_OK);
  for (size_t i = 0; whole && i < fw_zip_count(zip); i++) {
    size_t size = 0;
    char *bytes = read_member(zip, i, &size);
    whole = bytes != NULL;
    if (whole) {
      check(fw_zip_writer_begin(writer, fw_zip_name(zip, i), 0, NULL) == FURROW_OK);
      check(fw_zip_writer_write(writer, bytes, size, NULL) == FURROW_OK);
      check(fw_zip_writer_end(writer, NULL, NULL) == FURROW_OK);
    }
    free(bytes);
  }
  if (whole) {
    check(fw_zip_writer_commit(writer, NULL, NULL) == FURROW_OK);
    check_zip(zip, path);
  }
  fw_zip_writer_close(writer);
}

/* The elements of a tensor of at most two dimensions; NULL: there are none, too many, or it is F16. */
static char *read_tensor(const fw_safetensors *file, const fw_tensor *tensor, size_t *bytes) {
  fw_array_reader *reader = NULL;
  char *elements = NULL;
  if (!tensor->readable || tensor->type == FW_ARRAY_F16) return NULL;
  if (fw_safetensors_read(file, tensor, &reader, NULL) == FURROW_OK) elements = read_elements(reader, bytes);
  fw_array_close(reader);
  return elements;
}

static void check_tensors(const fw_safetensors *file, const char *path) {
  fw_safetensors *again = NULL;
  check(fw_safetensors_open(&again, path, NULL) == FURROW_OK);
  for (size_t i = 0; i < fw_safetensors_count(again); i++) {
    const fw_tensor *b = fw_safetensors_tensor(again, i), *a = fw_safetensors_find(file, b->name);
    size_t sizes[2] = {0, 0};
    check(a && a->type == b->type && a->dimensions == b->dimensions);
    check(memcmp(a->shape, b->shape, a->dimensions * sizeof *a->shape) == 0);
    char *first = read_tensor(file, a, &sizes[0]), *second = read_tensor(again, b, &sizes[1]);
    check(first && second && sizes[0] == sizes[1] && memcmp(first, second, sizes[0]) == 0);
    free(first);
    free(second);
  }
  fw_safetensors_close(again);
}

static size_t header_size(const fw_safetensors *file) {
  size_t size = 1000;
  for (size_t i = 0; i < fw_safetensors_count(file); i++)
    size += FW_SAFETENSORS_TENSOR + fw_safetensors_text(fw_safetensors_tensor(file, i)->name);
  return size;
}

static void write_tensors_again(const fw_safetensors *file) {
  fw_safetensors_writer *writer = NULL;
  char path[TEST_PATH];
  fuzz_folder(path, "again.safetensors");
  check(fw_safetensors_writer_open(&writer, path, header_size(file), true, NULL) == FURROW_OK);
  for (size_t i = 0; i < fw_safetensors_count(file); i++) {
    const fw_tensor *t = fw_safetensors_tensor(file, i);
    size_t bytes = 0;
    char *elements = read_tensor(file, t, &bytes);
    if (!elements) continue;
    fw_swap_le(elements, fw_array_type_size(t->type), bytes / fw_array_type_size(t->type));
    check(fw_safetensors_writer_begin(writer, t->name, t->type, NULL) == FURROW_OK);
    check(fw_safetensors_writer_write(writer, elements, bytes, NULL) == FURROW_OK);
    const uint64_t rows = t->dimensions > 0 ? t->shape[0] : 1, columns = t->dimensions > 1 ? t->shape[1] : 1;
    check(fw_safetensors_writer_end(writer, (int)t->dimensions, rows, columns, NULL) == FURROW_OK);
    free(elements);
  }
  check(fw_safetensors_writer_commit(writer, NULL) == FURROW_OK);
  check_tensors(file, path);
  fw_safetensors_writer_close(writer);
}

/* ---- One input ---- */

static void fuzz_file(const char *path, fw_array_kind kind, size_t size) {
  fw_array_reader *reader = NULL;
  if (fw_array_open(&reader, path, kind, NULL) == FURROW_OK) read_rows(reader, size);
  fw_array_close(reader);
  write_again(path, kind);
}

static void fuzz_zip(const char *path, size_t size) {
  fw_zip *zip = NULL;
  if (fw_zip_open(&zip, path, NULL) != FURROW_OK) return;
  for (size_t i = 0; i < fw_zip_count(zip); i++) {
    fw_bytes_in *in = NULL;
    fw_array_reader *reader = NULL;
    size_t found;
    check(fw_zip_find(zip, fw_zip_name(zip, i), &found) && found == i);
    if (fw_zip_member_open(zip, i, &in, NULL) != FURROW_OK) continue;
    if (fw_array_take(&reader, in, FW_ARRAY_NPY, NULL) == FURROW_OK) read_rows(reader, size);
    fw_array_close(reader);
  }
  write_zip_again(zip);
  fw_zip_close(zip);
}

static void fuzz_tensors(const char *path, size_t size) {
  fw_safetensors *file = NULL;
  uint64_t at = 0;
  if (fw_safetensors_open(&file, path, NULL) != FURROW_OK) return;
  for (size_t i = 0; i < fw_safetensors_count(file); i++) {
    const fw_tensor *tensor = fw_safetensors_tensor(file, i);
    fw_array_reader *reader = NULL;
    check(tensor->begin == at && tensor->end >= at && tensor->end <= size);
    check(fw_safetensors_find(file, tensor->name) == tensor);
    at = tensor->end;
    if (fw_safetensors_read(file, tensor, &reader, NULL) == FURROW_OK) read_rows(reader, size);
    fw_array_close(reader);
  }
  fw_safetensors_note(file, "format");
  write_tensors_again(file);
  fw_safetensors_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const char *path = fuzz_path(data + 1, size - 1);
  const unsigned kind = data[0] % (ARRAY_KINDS + 2);
  if (kind < ARRAY_KINDS)
    fuzz_file(path, (fw_array_kind)(kind + 1), size);
  else if (kind == ARRAY_KINDS)
    fuzz_zip(path, size);
  else
    fuzz_tensors(path, size);
  return 0;
}
