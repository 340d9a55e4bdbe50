/* vector/data/vectors_out.c: writes rows of floats or of ids to a file that appears when it is complete. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "furrow/vector_data.h"
#include "io/atomic_file.h"
#include "vector/data/vectors_in.h"

#define PIECE 4096 /* elements converted at a time */

struct furrow_vectors_writer {
  furrow_vectors_writer_params params;
  fw_array_writer *array; /* NULL: plain elements, written to `file` */
  bool narrow;            /* ids are written with 32 bits */
  fw_atomic_file *file;
};

/* The element type of an array file for floats or ids; false if it supports none. */
static bool element_type(fw_array_kind kind, bool ids, fw_array_type *type) {
  switch (kind) {
  case FW_ARRAY_NPY: *type = ids ? FW_ARRAY_I64 : FW_ARRAY_F32; return true;
  case FW_ARRAY_FVECS:
  case FW_ARRAY_FBIN: *type = FW_ARRAY_F32; return !ids;
  case FW_ARRAY_IVECS:
  case FW_ARRAY_IBIN: *type = FW_ARRAY_I32; return ids;
  default: return false;
  }
}

static furrow_status open_array(furrow_vectors_writer *out, const char *path, fw_array_kind kind, furrow_error *err) {
  fw_array_write_params params = {.kind = kind,
                                  .dim = out->params.dim,
                                  .flat = out->params.flat && kind == FW_ARRAY_NPY,
                                  .rows = FW_ARRAY_UNKNOWN,
                                  .replace = out->params.overwrite};
  if (!element_type(kind, out->params.ids, &params.type)) {
    fw_fail(err, FURROW_E_ARGUMENT, "%s are written to %s files only", out->params.ids ? "ids" : "floats",
            out->params.ids ? ".ivecs .ibin .npy .i64" : ".fvecs .fbin .npy .f32");
    fw_error_set_file(err, path);
    return FURROW_E_ARGUMENT;
  }
  out->narrow = params.type == FW_ARRAY_I32;
  return fw_array_writer_open(&out->array, path, &params, err);
}

static furrow_status open_raw(furrow_vectors_writer *out, const char *path, furrow_error *err) {
  furrow_status status = fw_atomic_file_open(&out->file, path, err);
  if (status == FURROW_OK && !out->params.overwrite) fw_atomic_file_keep_existing(out->file);
  return status;
}

furrow_status furrow_vectors_writer_open(furrow_vectors_writer **out, const char *path,
                                         const furrow_vectors_writer_params *params, furrow_error *err) {
  furrow_vectors_writer_params p;
  fw_data_kind kind;
  void *memory;
  furrow_vectors_writer_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_vectors_writer_params, err));
  if (p.dim == 0) return fw_fail(err, FURROW_E_ARGUMENT, "dim must be set");
  FW_TRY(fw_data_kind_find(&kind, path, p.kind, p.ids ? "i64" : "f32", err));
  FW_TRY(fw_alloc_zero(&memory, 1, sizeof(furrow_vectors_writer), err));
  furrow_vectors_writer *made = memory;
  made->params = p;
  furrow_status status = kind.raw ? open_raw(made, path, err) : open_array(made, path, kind.array, err);
  return FW_HAND_OVER(status, out, made, furrow_vectors_writer_close);
}

static furrow_status fail_narrow(int64_t id, furrow_error *err) {
  fw_fail(err, FURROW_E_RANGE, "id %lld does not fit in 32 bits", (long long)id);
  fw_error_set_hint(err, "files .i64 and .npy have ids of 64 bits");
  return FURROW_E_RANGE;
}

static furrow_status put_narrow(furrow_vectors_writer *out, const int64_t *ids, size_t count, furrow_error *err) {
  int32_t piece[PIECE];
  for (size_t done = 0; done < count;) {
    const size_t n = count - done < PIECE ? count - done : PIECE;
    for (size_t i = 0; i < n; i++) {
      const int64_t id = ids[done + i];
      if (id < INT32_MIN || id > INT32_MAX) return fail_narrow(id, err);
      piece[i] = (int32_t)id;
    }
    furrow_status status = fw_array_writer_put(out->array, piece, n, err);
    if (status != FURROW_OK) return status;
    done += n;
  }
  return FURROW_OK;
}

static furrow_status put_file(void *file, const void *bytes, size_t size, furrow_error *err) {
  return fw_atomic_file_write(file, bytes, size, err);
}

furrow_status furrow_vectors_writer_write(furrow_vectors_writer *out, const void *rows, size_t n, furrow_error *err) {
  const size_t count = n * out->params.dim;
  if (out->file) {
    const size_t size = out->params.ids ? sizeof(int64_t) : sizeof(float);
    return fw_put_le_elements(put_file, out->file, rows, size, count, err);
  }
  return out->narrow ? put_narrow(out, rows, count, err) : fw_array_writer_put(out->array, rows, count, err);
}

furrow_status furrow_vectors_writer_commit(furrow_vectors_writer *out, furrow_error *err) {
  return out->file ? fw_atomic_file_commit(out->file, err) : fw_array_writer_commit(out->array, err);
}

static furrow_status complete_file(furrow_vectors_writer *out, fw_atomic_file **file, furrow_error *err) {
  *file = out->file;
  return out->file ? FURROW_OK : fw_array_writer_complete(out->array, file, err);
}

furrow_status furrow_vectors_writer_commit_pair(furrow_vectors_writer *out, furrow_vectors_writer *beside,
                                                furrow_error *err) {
  fw_atomic_file *file = NULL, *other = NULL;
  FW_TRY(complete_file(out, &file, err));
  FW_TRY(complete_file(beside, &other, err));
  return fw_atomic_files_commit((fw_atomic_file *[]){file, other}, 2, err);
}

furrow_status furrow_vectors_writer_commit_text(furrow_vectors_writer *out, const char *path, const char *text,
                                                size_t length, furrow_error *err) {
  fw_atomic_file *file = NULL, *other = NULL;
  FW_TRY(complete_file(out, &file, err));
  FW_TRY(fw_atomic_file_open(&other, path, err));
  if (!out->params.overwrite) fw_atomic_file_keep_existing(other);
  furrow_status status = fw_atomic_file_write(other, text, length, err);
  if (status == FURROW_OK) status = fw_atomic_files_commit((fw_atomic_file *[]){file, other}, 2, err);
  fw_atomic_file_close(other);
  return status;
}

void furrow_vectors_writer_close(furrow_vectors_writer *out) {
  if (!out) return;
  fw_array_writer_close(out->array);
  fw_atomic_file_close(out->file);
  fw_free(out);
}
