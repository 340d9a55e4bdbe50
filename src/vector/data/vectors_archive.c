/* vector/data/vectors_archive.c: finds and opens the array of vectors in an npz or safetensors file. */
#include "vector/data/vectors_archive.h"

#include <string.h>

#include "array/npy.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "vector/data/vectors_in.h"

enum { MOST_NAMED = 8, MOST_NAME = 60 }; /* arrays that a message names, and bytes of a name */

#define NONE SIZE_MAX

fw_archive_kind fw_archive_kind_find(const char *path, const char *name) {
  if (name ? strcmp(name, "npz") == 0 : fw_data_path_ends(path, "npz")) return FW_ARCHIVE_NPZ;
  if (name ? strcmp(name, "safetensors") == 0 : fw_data_path_ends(path, "safetensors")) return FW_ARCHIVE_SAFETENSORS;
  return FW_ARCHIVE_NONE;
}

/* ---- Arrays of an archive ------------------------------------------------------------------------------- */

static size_t count_arrays(const fw_vectors_archive *a) {
  return a->zip ? fw_zip_count(a->zip) : fw_safetensors_count(a->tensors);
}

/* The name of an array, *size bytes: NumPy appends .npy to the names of members. */
static const char *array_name(const fw_vectors_archive *a, size_t i, size_t *size) {
  const char *name = a->zip ? fw_zip_name(a->zip, i) : fw_safetensors_tensor(a->tensors, i)->name;
  *size = strlen(name);
  if (a->zip && *size > 4 && strcmp(name + *size - 4, ".npy") == 0) *size -= 4;
  return name;
}

/* Whether a member of an npz file is an array of numbers with two dimensions. */
static furrow_status is_matrix(const fw_zip *zip, size_t member, bool *matrix, furrow_error *err) {
  fw_bytes_in *in = NULL;
  fw_npy_header head;
  fw_array_type type;
  FW_TRY(fw_zip_member_open(zip, member, &in, err));
  const furrow_status status = fw_npy_read_header(&head, in, err);
  fw_bytes_in_close(in);
  *matrix =
      status == FURROW_OK && head.dimensions == 2 && fw_array_type_find_npy(head.descr, strlen(head.descr), &type);
  /* structures and files that are not arrays have no vectors */
  return status == FURROW_E_UNSUPPORTED || status == FURROW_E_FORMAT ? FURROW_OK : status;
}

static furrow_status has_vectors(const fw_vectors_archive *a, size_t i, bool *found, furrow_error *err) {
  if (a->zip) return is_matrix(a->zip, i, found, err);
  const fw_tensor *t = fw_safetensors_tensor(a->tensors, i);
  *found = t->readable && t->dimensions == 2;
  return FURROW_OK;
}

/* ---- Choosing one --------------------------------------------------------------------------------------- */

/* Appends the names of some arrays, after a colon. all: also of those that cannot have the vectors. */
static void name_arrays(const fw_vectors_archive *a, bool all, fw_buffer *text) {
  size_t named = 0;
  for (size_t i = 0, size; i < count_arrays(a); i++) {
    bool found = all;
    if (!all && has_vectors(a, i, &found, NULL) != FURROW_OK) continue;
    if (!found) continue;
    if (named++ == MOST_NAMED) {
      fw_buffer_text(text, ", ...");
      return;
    }
    const char *name = array_name(a, i, &size);
    fw_buffer_format(text, "%s%.*s", named == 1 ? ": " : ", ", size < MOST_NAME ? (int)size : MOST_NAME, name);
  }
}

static furrow_status fail_arrays(const fw_vectors_archive *a, const char *path, furrow_status status, bool all,
                                 const char *what, furrow_error *err) {
  fw_buffer text = {0};
  name_arrays(a, all, &text);
  const bool named = fw_buffer_status(&text, NULL) == FURROW_OK;
  fw_fail(err, status, "%s%.*s", what, named ? (int)text.size : 0, named && text.size > 0 ? text.bytes : "");
  fw_error_set_file(err, path);
  fw_buffer_clear(&text);
  return status;
}

static furrow_status find_named(const fw_vectors_archive *a, const char *path, const char *name, size_t *found,
                                furrow_error *err) {
  for (size_t i = 0, size; i < count_arrays(a); i++) {
    const char *own = array_name(a, i, &size);
    if (strcmp(own, name) != 0 && (strlen(name) != size || memcmp(own, name, size) != 0)) continue;
    *found = i;
    return FURROW_OK;
  }
  fail_arrays(a, path, FURROW_E_NOT_FOUND, true, "has no array of this name; it has", err);
  fw_error_set_token(err, name, strlen(name));
  return FURROW_E_NOT_FOUND;
}

static furrow_status find_only(const fw_vectors_archive *a, const char *path, size_t *found, furrow_error *err) {
  *found = NONE;
  for (size_t i = 0; i < count_arrays(a); i++) {
    bool matrix = false;
    FW_TRY(has_vectors(a, i, &matrix, err));
    if (!matrix) continue;
    if (*found != NONE) {
      fail_arrays(a, path, FURROW_E_ARGUMENT, false, "has several arrays of vectors, so the name of one is needed",
                  err);
      fw_error_set_hint(err, "give the name as the option `array` (--array)");
      return FURROW_E_ARGUMENT;
    }
    *found = i;
  }
  if (*found != NONE) return FURROW_OK;
  return fail_arrays(a, path, FURROW_E_FORMAT, true, "has no array of numbers with two dimensions", err);
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static furrow_status open_member(const fw_zip *zip, size_t member, fw_array_reader **reader, furrow_error *err) {
  fw_bytes_in *in = NULL;
  FW_TRY(fw_zip_member_open(zip, member, &in, err));
  return fw_array_take(reader, in, FW_ARRAY_NPY, err);
}

void fw_vectors_archive_close(fw_vectors_archive *archive) {
  fw_zip_close(archive->zip);
  fw_safetensors_close(archive->tensors);
  *archive = (fw_vectors_archive){0};
}

furrow_status fw_vectors_archive_open(fw_vectors_archive *archive, fw_array_reader **reader, const char *path,
                                      fw_archive_kind kind, const char *name, furrow_error *err) {
  fw_vectors_archive a = {0};
  size_t found = NONE;
  if (strcmp(path, "-") == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "an archive of arrays cannot be read from standard input");
  furrow_status status =
      kind == FW_ARCHIVE_NPZ ? fw_zip_open(&a.zip, path, err) : fw_safetensors_open(&a.tensors, path, err);
  if (status == FURROW_OK) status = name ? find_named(&a, path, name, &found, err) : find_only(&a, path, &found, err);
  if (status == FURROW_OK)
    status = a.zip ? open_member(a.zip, found, reader, err)
                   : fw_safetensors_read(a.tensors, fw_safetensors_tensor(a.tensors, found), reader, err);
  if (status == FURROW_OK)
    *archive = a;
  else
    fw_vectors_archive_close(&a);
  return status;
}
