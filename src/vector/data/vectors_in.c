/* vector/data/vectors_in.c: reads vectors from array files, plain floats and memory. */
#include "vector/data/vectors_in.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/input.h"
#include "vector/data/vectors_archive.h"
#include "vector/data/vectors_table.h"

/* ---- Kinds of files -------------------------------------------------------------------------------------- */

bool fw_data_path_ends(const char *path, const char *ending) {
  size_t length = strlen(path);
  const size_t n = strlen(ending);
  if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
    length -= 3;
  else if (length > 4 && strcmp(path + length - 4, ".zst") == 0)
    length -= 4;
  return length > n + 1 && path[length - n - 1] == '.' && memcmp(path + length - n, ending, n) == 0;
}

static furrow_status fail_kind(const char *path, const char *name, const char *raw_name, furrow_error *err) {
#define FW_X(kind, ending, layout, type) " " ending
  if (name)
    fw_fail(err, FURROW_E_ARGUMENT, "not a kind of file; known are .%s" FW_ARRAY_KINDS(FW_X), raw_name);
  else
    fw_fail(err, FURROW_E_ARGUMENT, "the name does not end in .%s" FW_ARRAY_KINDS(FW_X) ", so its kind is unknown",
            raw_name);
#undef FW_X
  if (name)
    fw_error_set_token(err, name, strlen(name));
  else
    fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_data_kind_find(fw_data_kind *kind, const char *path, const char *name, const char *raw_name,
                                furrow_error *err) {
  char named[32];
  fw_data_kind found = {0};
  if (name) snprintf(named, sizeof named, "x.%s", name);
  const char *tells = name ? named : path;
  found.raw = fw_data_path_ends(tells, raw_name);
  if (!found.raw && fw_array_kind_of(&found.array, tells, NULL) != FURROW_OK)
    return fail_kind(path, name, raw_name, err);
  *kind = found;
  return FURROW_OK;
}

furrow_status fw_check_rereadable(const char *path, furrow_error *err) {
  struct stat found;
  if (strcmp(path, "-") != 0 && fw_path_stat(path, &found, NULL) == FURROW_OK && S_ISREG(found.st_mode))
    return FURROW_OK;
  fw_fail(err, FURROW_E_STATE, "is a stream, which cannot be read twice");
  fw_error_set_file(err, path);
  return FURROW_E_STATE;
}

/* ---- Any source ----------------------------------------------------------------------------------------- */

const char *furrow_vectors_reader_path(const furrow_vectors_reader *vectors) {
  return vectors->path;
}

size_t furrow_vectors_reader_dimension(const furrow_vectors_reader *vectors) {
  return vectors->d;
}

uint64_t furrow_vectors_reader_count(const furrow_vectors_reader *vectors) {
  return vectors->count;
}

bool furrow_vectors_reader_has_ids(const furrow_vectors_reader *vectors) {
  return vectors->have_ids;
}

bool furrow_vectors_reader_has_names(const furrow_vectors_reader *vectors) {
  return vectors->have_names;
}

furrow_status furrow_vectors_reader_names(furrow_vectors_reader *vectors, furrow_name_list *list, furrow_error *err) {
  furrow_name_list names = {0};
  if (!vectors->have_names) return fw_fail(err, FURROW_E_ARGUMENT, "the vectors have no names");
  FW_TRY(vectors->methods->names(vectors, &names, err));
  const furrow_status status = furrow_vectors_reader_rewind(vectors, err);
  if (status == FURROW_OK)
    *list = names;
  else
    furrow_name_list_clear(&names);
  return status;
}

furrow_status furrow_vectors_reader_next(furrow_vectors_reader *vectors, size_t rows, float *out, int64_t *ids,
                                         size_t *got, furrow_error *err) {
  if (!vectors->restricted) return vectors->methods->next(vectors, rows, out, ids, got, err);
  size_t n = 0;
  FW_TRY(vectors->methods->next(vectors, rows < vectors->left ? rows : (size_t)vectors->left, out, ids, &n, err));
  vectors->left -= n;
  *got = n;
  return FURROW_OK;
}

static furrow_status fail_short(const furrow_vectors_reader *vectors, uint64_t first, uint64_t count,
                                furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "has no vectors %llu to %llu", (unsigned long long)first,
          (unsigned long long)(first + count - 1));
  fw_error_set_file(err, vectors->path);
  return FURROW_E_ARGUMENT;
}

/* Reads and drops vectors up to the first of the part. */
static furrow_status skip_vectors(furrow_vectors_reader *vectors, furrow_error *err) {
  enum { FLOATS = 1 << 16 };
  const size_t d = vectors->d > 0 ? vectors->d : 1, block = FLOATS / d + 1;
  void *memory = NULL;
  size_t got = 1;
  FW_TRY(fw_alloc(&memory, block, d * sizeof(float), err));
  furrow_status status = FURROW_OK;
  for (uint64_t left = vectors->first; status == FURROW_OK && left > 0 && got > 0; left -= got) {
    status = vectors->methods->next(vectors, left < block ? (size_t)left : block, memory, NULL, &got, err);
    if (status == FURROW_OK && got == 0) status = fail_short(vectors, vectors->first, vectors->count, err);
  }
  fw_free(memory);
  return status;
}

furrow_status furrow_vectors_reader_rewind(furrow_vectors_reader *vectors, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (!vectors->restricted) return vectors->methods->rewind(vectors, err);
  if (!vectors->methods->seek || !vectors->methods->seek(vectors, vectors->first, &status, err)) {
    const uint64_t count = vectors->count;
    status = vectors->methods->rewind(vectors, err);
    vectors->count = count; /* a reopened file has all of its vectors */
    if (status == FURROW_OK) status = skip_vectors(vectors, err);
  }
  vectors->left = status == FURROW_OK ? vectors->count : 0;
  return status;
}

furrow_status furrow_vectors_reader_restrict(furrow_vectors_reader *vectors, uint64_t first, uint64_t count,
                                             furrow_error *err) {
  const furrow_vectors_reader before = *vectors;
  uint64_t end;
  if (before.once) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "a query cannot be read in parts");
    fw_error_set_hint(err, "write its result to a Parquet file");
    return FURROW_E_UNSUPPORTED;
  }
  if (__builtin_add_overflow(first, count, &end) ||
      end > before.count) /* the count is the largest number if it is unknown */
    return fail_short(vectors, first, count, err);
  vectors->restricted = true;
  vectors->first = before.first + first;
  vectors->count = count;
  const furrow_status status = furrow_vectors_reader_rewind(vectors, err);
  if (status != FURROW_OK) {
    vectors->restricted = before.restricted;
    vectors->first = before.first;
    vectors->count = before.count;
  }
  return status;
}

void furrow_vectors_reader_close(furrow_vectors_reader *vectors) {
  if (vectors) vectors->methods->close(vectors);
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

typedef struct file_vectors {
  furrow_vectors_reader head;
  fw_data_kind kind;
  fw_archive_kind archive_kind;
  fw_vectors_archive archive;
  char *array_name;       /* of an archive; NULL: its only array of vectors */
  fw_array_reader *array; /* NULL: plain floats */
  fw_bytes_in *bytes;     /* bytes of plain floats */
  uint64_t next;          /* next row */
  bool lost;              /* a read failed: the position in the file is unknown */
} file_vectors;

static furrow_status read_raw(file_vectors *f, size_t rows, float *out, size_t *got, furrow_error *err) {
  const size_t row = f->head.d * sizeof(float);
  const uint64_t offset = fw_bytes_in_offset(f->bytes);
  size_t bytes = 0;
  FW_TRY(fw_bytes_in_read(f->bytes, out, rows * row, &bytes, err));
  if (bytes % row != 0)
    return fw_bytes_in_fail(f->bytes, offset + bytes, err, FURROW_E_FORMAT, "ends within a vector of %zu %s", f->head.d,
                            fw_plural(f->head.d, "float", "floats"));
  fw_swap_le(out, sizeof(float), bytes / sizeof(float));
  *got = bytes / row;
  return FURROW_OK;
}

static furrow_status next_of_file(furrow_vectors_reader *v, size_t rows, float *out, int64_t *ids, size_t *got,
                                  furrow_error *err) {
  file_vectors *f = (file_vectors *)v;
  size_t n = 0;
  furrow_status status = FURROW_OK;
  if (!f->array && !f->bytes) return fw_fail(err, FURROW_E_STATE, "the file could not be opened again");
  if (f->array)
    status = fw_array_read_as(f->array, FW_ARRAY_F32, out, rows, &n, err);
  else
    status = read_raw(f, rows, out, &n, err);
  f->lost = f->lost || status != FURROW_OK;
  if (status != FURROW_OK) return status;
  for (size_t i = 0; ids && i < n; i++) ids[i] = (int64_t)(f->next + i);
  f->next += n;
  *got = n;
  return FURROW_OK;
}

static furrow_status open_file(file_vectors *f, furrow_error *err);

static void close_reader(file_vectors *f) {
  fw_array_close(f->array);
  fw_bytes_in_close(f->bytes);
  fw_vectors_archive_close(&f->archive);
  f->array = NULL;
  f->bytes = NULL;
}

/* Reopens a compressed file, which cannot seek. */
static furrow_status open_again(file_vectors *f, furrow_error *err) {
  FW_TRY(fw_check_rereadable(f->head.path, err));
  close_reader(f);
  return open_file(f, err);
}

/* Whether the file could seek; *status is the result. */
static bool seek_file(furrow_vectors_reader *v, uint64_t to, furrow_status *status, furrow_error *err) {
  file_vectors *f = (file_vectors *)v;
  if (f->array && fw_array_get_info(f->array)->can_seek)
    *status = fw_array_seek(f->array, to, err);
  else if (f->bytes && fw_bytes_in_can_seek(f->bytes))
    *status = fw_bytes_in_seek(f->bytes, to * v->d * sizeof(float), err);
  else
    return false;
  if (*status == FURROW_OK) f->next = to;
  return true;
}

static furrow_status rewind_file(furrow_vectors_reader *v, furrow_error *err) {
  file_vectors *f = (file_vectors *)v;
  furrow_status status = FURROW_OK;
  if (f->next == 0 && !f->lost) return FURROW_OK;
  if (!seek_file(v, 0, &status, err)) status = open_again(f, err);
  if (status != FURROW_OK) return status;
  f->next = 0;
  f->lost = false;
  return FURROW_OK;
}

static void close_file(furrow_vectors_reader *v) {
  file_vectors *f = (file_vectors *)v;
  close_reader(f);
  fw_free(f->array_name);
  fw_free(v->path);
  fw_free(f);
}

static const fw_vectors_methods file_methods = {
    .next = next_of_file, .rewind = rewind_file, .close = close_file, .seek = seek_file};

static furrow_status open_array(file_vectors *f, const char *path, furrow_error *err) {
  if (f->archive_kind != FW_ARCHIVE_NONE)
    FW_TRY(fw_vectors_archive_open(&f->archive, &f->array, path, f->archive_kind, f->array_name, err));
  else
    FW_TRY(fw_array_open(&f->array, path, f->kind.array, err));
  const fw_array_info *info = fw_array_get_info(f->array);
  f->head.count = info->rows == FW_ARRAY_UNKNOWN ? FURROW_COUNT_UNKNOWN : info->rows;
  if (info->rows == 0 || f->head.d == 0 || f->head.d == info->dim) {
    f->head.d = info->dim ? info->dim : f->head.d;
    return FURROW_OK;
  }
  furrow_status status = fw_fail(err, FURROW_E_FORMAT, "has vectors of %zu %s, not of %zu", info->dim,
                                 fw_plural(info->dim, "element", "elements"), f->head.d);
  fw_error_set_file(err, path);
  return status;
}

static furrow_status open_raw(file_vectors *f, const char *path, furrow_error *err) {
  if (f->head.d == 0 || f->head.d > SIZE_MAX / 64) {
    fw_fail(err, FURROW_E_ARGUMENT, "plain floats need the dimension of the vectors");
    fw_error_set_file(err, path);
    return FURROW_E_ARGUMENT;
  }
  FW_TRY(fw_bytes_in_open(&f->bytes, path, err));
  const uint64_t size = fw_bytes_in_size(f->bytes), row = f->head.d * sizeof(float);
  f->head.count = size == FW_BYTES_UNKNOWN ? FURROW_COUNT_UNKNOWN : size / row;
  if (size == FW_BYTES_UNKNOWN || size % row == 0) return FURROW_OK;
  return fw_bytes_in_fail(f->bytes, size, err, FURROW_E_FORMAT, "%llu %s not a whole number of vectors of %zu %s",
                          (unsigned long long)size, fw_plural(size, "byte is", "bytes are"), f->head.d,
                          fw_plural(f->head.d, "float", "floats"));
}

static furrow_status open_file(file_vectors *f, furrow_error *err) {
  return f->kind.raw ? open_raw(f, f->head.path, err) : open_array(f, f->head.path, err);
}

static furrow_status refuse_columns(const furrow_vectors_reader_params *params, const char *path, furrow_error *err) {
  if (!params->column && !params->ids && !params->names) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "has no named columns, which only tables have: Parquet files and queries");
  fw_error_set_file(err, path);
  fw_error_set_hint(err, "name the kind `parquet` (--kind) for a directory of Parquet files");
  return FURROW_E_ARGUMENT;
}

furrow_status furrow_vectors_reader_open(furrow_vectors_reader **vectors, const char *path,
                                         const furrow_vectors_reader_params *params, furrow_error *err) {
  furrow_vectors_reader_params p;
  fw_data_kind kind = {0};
  fw_text_kind text;
  void *memory;
  furrow_vectors_reader_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_vectors_reader_params, err));
  bool table;
  FW_TRY(fw_vectors_are_table(path, p.kind, &table, err));
  if (table) return fw_table_vectors_open(vectors, path, &p, err);
  FW_TRY(refuse_columns(&p, path, err));
  if (fw_text_kind_find(&text, path, p.kind)) return fw_text_vectors_open(vectors, path, &text, p.d, err);
  const fw_archive_kind archive = fw_archive_kind_find(path, p.kind);
  if (archive == FW_ARCHIVE_NONE && fw_data_kind_find(&kind, path, p.kind, "f32", err) != FURROW_OK) {
    fw_error_set_hint(
        err, "also npz, safetensors and parquet; as text csv or tsv (numbers, with or without names), txt or vec "
             "(word2vec, GloVe)");
    return FURROW_E_ARGUMENT;
  }
  FW_TRY(fw_alloc_zero(&memory, 1, sizeof(file_vectors), err));
  file_vectors *f = memory;
  f->head.methods = &file_methods;
  f->head.d = p.d;
  f->kind = kind;
  f->archive_kind = archive;
  furrow_status status = fw_strndup(&f->head.path, path, strlen(path), err);
  if (status == FURROW_OK && p.array) status = fw_strndup(&f->array_name, p.array, strlen(p.array), err);
  if (status == FURROW_OK) status = open_file(f, err);
  if (status == FURROW_OK)
    *vectors = &f->head;
  else
    close_file(&f->head);
  return status;
}

/* ---- Memory --------------------------------------------------------------------------------------------- */

typedef struct memory_vectors {
  furrow_vectors_reader head;
  furrow_vectors_memory array; /* the caller's array, with stride set */
  size_t next;                 /* next vector */
} memory_vectors;

static furrow_status next_of_memory(furrow_vectors_reader *v, size_t rows, float *out, int64_t *ids, size_t *got,
                                    furrow_error *err) {
  memory_vectors *m = (memory_vectors *)v;
  const furrow_vectors_memory *array = &m->array;
  const size_t left = array->count - m->next, n = rows < left ? rows : left;
  (void)err;
  for (size_t i = 0; i < n; i++)
    memcpy(out + i * array->d, array->vectors + (m->next + i) * array->stride, array->d * sizeof *out);
  for (size_t i = 0; ids && i < n; i++) ids[i] = array->ids ? array->ids[m->next + i] : (int64_t)(m->next + i);
  m->next += n;
  *got = n;
  return FURROW_OK;
}

static furrow_status rewind_memory(furrow_vectors_reader *v, furrow_error *err) {
  (void)err;
  ((memory_vectors *)v)->next = 0;
  return FURROW_OK;
}

static void close_memory(furrow_vectors_reader *v) {
  const furrow_vectors_memory array = ((memory_vectors *)v)->array;
  fw_free(v->path);
  fw_free(v);
  if (array.release) array.release(array.user);
}

static bool seek_memory(furrow_vectors_reader *v, uint64_t to, furrow_status *status, furrow_error *err) {
  (void)err;
  ((memory_vectors *)v)->next = (size_t)to;
  *status = FURROW_OK;
  return true;
}

static const fw_vectors_methods memory_methods = {
    .next = next_of_memory, .rewind = rewind_memory, .close = close_memory, .seek = seek_memory};

static furrow_status check_memory(const furrow_vectors_memory *array, furrow_error *err) {
  size_t floats, bytes;
  if (array->d == 0) return fw_fail(err, FURROW_E_ARGUMENT, "d must be set");
  if (array->stride < array->d)
    return fw_fail(err, FURROW_E_ARGUMENT, "stride is %zu, but a vector has %zu %s", array->stride, array->d,
                   fw_plural(array->d, "float", "floats"));
  if (array->count > 0 && !array->vectors) return fw_fail(err, FURROW_E_ARGUMENT, "vectors is NULL");
  if (!fw_size_mul(array->count, array->stride, &floats) || !fw_size_mul(floats, sizeof(float), &bytes))
    return fw_fail(err, FURROW_E_ARGUMENT, "count is %zu: memory cannot hold that many vectors", array->count);
  return FURROW_OK;
}

furrow_status furrow_vectors_reader_open_memory(furrow_vectors_reader **vectors, const furrow_vectors_memory *memory,
                                                furrow_error *err) {
  furrow_vectors_memory array;
  void *made;
  furrow_vectors_memory_init(&array);
  FW_TRY(FW_PARAMS_READ(&array, memory, furrow_vectors_memory, err));
  if (array.stride == 0) array.stride = array.d;
  FW_TRY(check_memory(&array, err));
  FW_TRY(fw_alloc_zero(&made, 1, sizeof(memory_vectors), err));
  memory_vectors *m = made;
  m->head = (furrow_vectors_reader){
      .methods = &memory_methods, .d = array.d, .count = array.count, .have_ids = array.ids != NULL};
  furrow_status status = fw_strndup(&m->head.path, "", 0, err);
  if (status == FURROW_OK) {
    m->array = array;
    *vectors = &m->head;
  } else {
    close_memory(&m->head); /* m->array is still zero, so nothing is released */
  }
  return status;
}
