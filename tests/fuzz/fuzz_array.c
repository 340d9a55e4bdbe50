/* tests/fuzz/fuzz_array.c: files of arrays from hostile bytes.
 *
 * The first byte of the input chooses what the rest is: npy, fvecs, ivecs, bvecs, fbin, ibin, u8bin, i8bin, npz,
 * safetensors. Whatever opens is read to its end in pieces, and again by row where it can seek. */
#include <string.h>

#include "array/array.h"
#include "array/safetensors_in.h"
#include "array/zip_in.h"
#include "fuzz/fuzz_check.h"

#define ARRAY_KINDS 8
#define MOST_ROWS 100000 /* compressed files can have very many */

/* Reads all rows; what the header announced must be there, and nothing else. */
static void read_rows(fw_array_reader *reader, size_t file_size) {
  const fw_array_info *info = fw_array_get_info(reader);
  const size_t size = fw_array_type_size(info->type);
  uint64_t rows = 0;
  size_t got = 1;
  if (info->rows == 0) return;
  check(info->dim > 0);
  if (info->can_seek) check(info->rows <= file_size && info->dim <= file_size);
  if (info->dim * size > (size_t)1 << 24) return;
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

static void fuzz_file(const char *path, fw_array_kind kind, size_t size) {
  fw_array_reader *reader = NULL;
  if (fw_array_open(&reader, path, kind, NULL) == FURROW_OK) read_rows(reader, size);
  fw_array_close(reader);
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
