/* array/array_reader.c: reads rows of a file, in order or by number. */
#include <string.h>

#include "array/array.h"
#include "array/npy.h"
#include "base/error.h"
#include "base/mem.h"

#define BUFFER_SIZE ((size_t)1 << 20)

/* ---- Kinds, by the endings of names --------------------------------------------------------------------- */

static const fw_array_kind_traits kinds[] = {
#define FW_X(name, ending, layout, type) {ending, FW_ARRAY_LAYOUT_##layout, FW_ARRAY_##type},
    FW_ARRAY_KINDS(FW_X)
#undef FW_X
};
#define KINDS (sizeof kinds / sizeof kinds[0])

const fw_array_kind_traits *fw_array_kind_get(fw_array_kind kind) {
  return &kinds[kind - 1];
}

static bool ends_in(const char *path, size_t length, const char *ending) {
  const size_t n = strlen(ending);
  return length > n && memcmp(path + length - n, ending, n) == 0;
}

furrow_status fw_array_kind_of(fw_array_kind *kind, const char *path, furrow_error *err) {
  size_t length = strlen(path);
  if (ends_in(path, length, ".gz")) length -= 3;
  if (ends_in(path, length, ".zst")) length -= 4;
  for (size_t i = 0; i < KINDS; i++) {
    if (!ends_in(path, length, kinds[i].ending)) continue;
    *kind = (fw_array_kind)(i + 1);
    return FURROW_OK;
  }
#define FW_X(name, ending, layout, type) " " ending
  fw_fail(err, FURROW_E_ARGUMENT, "the name has none of the endings" FW_ARRAY_KINDS(FW_X));
#undef FW_X
  fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}

/* ---- Readers -------------------------------------------------------------------------------------------- */

struct fw_array_reader {
  fw_bytes_in *in;
  fw_array_info info;
  bool swapped;
  uint64_t start;   /* offset of the first row */
  size_t prefix;    /* bytes before each row */
  size_t row_bytes; /* bytes of a row without its prefix */
  uint64_t next;    /* the row to read next */
  bool seen_end;    /* whether it was checked that nothing follows the last row */
  char *buffer;     /* for rows with their prefixes, or for elements to be converted */
  size_t capacity;  /* bytes of the buffer */
};

const fw_array_info *fw_array_get_info(const fw_array_reader *reader) {
  return &reader->info;
}

const char *fw_array_path(const fw_array_reader *reader) {
  return fw_bytes_in_path(reader->in);
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static furrow_status fail_open(const fw_array_reader *r, uint64_t offset, furrow_error *err, const char *what) {
  return fw_bytes_in_fail(r->in, offset, err, FURROW_E_FORMAT, "%s", what);
}

/* Checks rows × dim against the size of the file. */
static furrow_status check_counts(fw_array_reader *r, uint64_t dim, furrow_error *err) {
  fw_array_info *info = &r->info;
  const uint64_t size = fw_bytes_in_size(r->in), left = size - r->start;
  const size_t element = fw_array_type_size(info->type);
  uint64_t row, all;
  if (dim == 0 && info->rows > 0) return fail_open(r, 0, err, "its rows have no elements");
  if (__builtin_mul_overflow(dim, (uint64_t)element, &row) || row > SIZE_MAX / 4 ||
      __builtin_mul_overflow(row + r->prefix, info->rows, &all))
    return fail_open(r, 0, err, "its counts are too large");
  if (size == FW_BYTES_UNKNOWN && row > FW_ARRAY_STREAM_ROW)
    return fw_bytes_in_fail(r->in, 0, err, FURROW_E_RANGE, "rows of %llu bytes are too long for a stream",
                            (unsigned long long)row);
  if (size != FW_BYTES_UNKNOWN && all != left)
    return fw_bytes_in_fail(r->in, 0, err, FURROW_E_FORMAT, "%llu %s of %llu %s %s announced, %llu %s there",
                            (unsigned long long)info->rows, fw_plural(info->rows, "row", "rows"),
                            (unsigned long long)row, fw_plural(row, "byte", "bytes"),
                            fw_plural(info->rows, "is", "are"), (unsigned long long)left,
                            fw_plural(left, "byte is", "bytes are"));
  info->dim = (size_t)dim;
  r->row_bytes = (size_t)row;
  return FURROW_OK;
}

static furrow_status open_npy(fw_array_reader *r, furrow_error *err) {
  fw_npy_header h;
  FW_TRY(fw_npy_read_header(&h, r->in, err));
  if (!fw_array_type_find_npy(h.descr, strlen(h.descr), &r->info.type))
    return fw_bytes_in_fail(r->in, 0, err, FURROW_E_UNSUPPORTED, "elements of type '%s' are not supported", h.descr);
  if (h.dimensions > 2)
    return fw_bytes_in_fail(r->in, 0, err, FURROW_E_UNSUPPORTED, "%zu dimensions, not 1 or 2", h.dimensions);
  if (h.fortran_order) {
    fw_bytes_in_fail(r->in, 0, err, FURROW_E_UNSUPPORTED, "an array in Fortran order is not read");
    fw_error_set_hint(err, "numpy.ascontiguousarray makes an array that can be read");
    return FURROW_E_UNSUPPORTED;
  }
  r->swapped = h.swapped;
  r->start = h.size;
  r->info.rows = h.dimensions > 0 ? h.shape[0] : 1;
  r->info.flat = h.dimensions < 2;
  return check_counts(r, h.dimensions == 2 ? h.shape[1] : 1, err);
}

static furrow_status open_bin(fw_array_reader *r, furrow_error *err) {
  unsigned char head[FW_ARRAY_BIN_HEADER];
  FW_TRY(fw_bytes_in_read_all(r->in, head, sizeof head, "the counts", err));
  r->start = sizeof head;
  r->info.rows = fw_get_le32(head);
  return check_counts(r, fw_get_le32(head + 4), err);
}

/* The prefix of the first row gives the length of all rows. It is read again with the row; from a stream, it is
 * kept. */
static furrow_status open_vecs(fw_array_reader *r, furrow_error *err) {
  unsigned char head[FW_ARRAY_VECS_PREFIX];
  size_t got;
  furrow_status status = fw_bytes_in_read(r->in, head, sizeof head, &got, err);
  if (status != FURROW_OK) return status;
  r->prefix = FW_ARRAY_VECS_PREFIX;
  r->info.rows = 0;
  if (got == 0) return FURROW_OK;
  if (got < sizeof head) return fail_open(r, 0, err, "ends within the first count");
  const uint32_t dim = fw_get_le32(head);
  const uint64_t size = fw_bytes_in_size(r->in);
  if (dim == 0 || dim > INT32_MAX)
    return fw_bytes_in_fail(r->in, 0, err, FURROW_E_FORMAT, "the first vector has %d elements", (int)(int32_t)dim);
  if (size == FW_BYTES_UNKNOWN) {
    status = check_counts(r, dim, err);
    r->info.rows = FW_ARRAY_UNKNOWN;
    return status;
  }
  const uint64_t stride = (uint64_t)dim * fw_array_type_size(r->info.type) + FW_ARRAY_VECS_PREFIX;
  if (size % stride != 0)
    return fw_bytes_in_fail(r->in, 0, err, FURROW_E_FORMAT, "%llu %s not a whole number of vectors of %u %s",
                            (unsigned long long)size, fw_plural(size, "byte is", "bytes are"), (unsigned)dim,
                            fw_plural(dim, "element", "elements"));
  r->info.rows = size / stride;
  return check_counts(r, dim, err);
}

static furrow_status make_buffer(fw_array_reader *r, furrow_error *err) {
  void *memory;
  const size_t stride = r->info.rows ? r->row_bytes + r->prefix : 0; /* without rows, the dimension is not checked */
  r->capacity = stride > BUFFER_SIZE ? stride : BUFFER_SIZE;
  furrow_status status = fw_alloc(&memory, r->capacity, 1, err);
  if (status == FURROW_OK) r->buffer = memory;
  return status;
}

static furrow_status open_kind(fw_array_reader *r, fw_array_kind kind, furrow_error *err) {
  if (kind == FW_ARRAY_AUTO) {
    FW_TRY(fw_array_kind_of(&kind, fw_bytes_in_path(r->in), err));
  }
  const fw_array_kind_traits *traits = fw_array_kind_get(kind);
  r->swapped = FW_BIG_ENDIAN;
  r->info.type = traits->type;
  r->info.can_seek = fw_bytes_in_can_seek(r->in);
  switch (traits->layout) {
  case FW_ARRAY_LAYOUT_NPY: return open_npy(r, err);
  case FW_ARRAY_LAYOUT_VECS: return open_vecs(r, err);
  default: return open_bin(r, err);
  }
}

static furrow_status create_reader(fw_array_reader **reader, fw_bytes_in *in, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_array_reader), err);
  if (status == FURROW_OK) {
    *reader = memory;
    (*reader)->in = in;
  } else {
    fw_bytes_in_close(in);
  }
  return status;
}

static furrow_status finish_open(fw_array_reader **reader, fw_array_reader *made, furrow_status status,
                                 furrow_error *err) {
  if (status == FURROW_OK) status = make_buffer(made, err);
  return FW_HAND_OVER(status, reader, made, fw_array_close);
}

furrow_status fw_array_take(fw_array_reader **reader, fw_bytes_in *in, fw_array_kind kind, furrow_error *err) {
  fw_array_reader *made = NULL;
  FW_TRY(create_reader(&made, in, err));
  return finish_open(reader, made, open_kind(made, kind, err), err);
}

furrow_status fw_array_take_raw(fw_array_reader **reader, fw_bytes_in *in, const fw_array_info *info,
                                furrow_error *err) {
  fw_array_reader *made = NULL;
  FW_TRY(create_reader(&made, in, err));
  made->info = *info;
  made->info.can_seek = fw_bytes_in_can_seek(in);
  made->swapped = FW_BIG_ENDIAN;
  return finish_open(reader, made, check_counts(made, info->dim, err), err);
}

furrow_status fw_array_open(fw_array_reader **reader, const char *path, fw_array_kind kind, furrow_error *err) {
  fw_bytes_in *in = NULL;
  furrow_status status = fw_bytes_in_open(&in, path, err);
  return status == FURROW_OK ? fw_array_take(reader, in, kind, err) : status;
}

void fw_array_close(fw_array_reader *reader) {
  if (!reader) return;
  fw_bytes_in_close(reader->in);
  fw_free(reader->buffer);
  fw_free(reader);
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status check_end(fw_array_reader *r, furrow_error *err) {
  char byte;
  size_t got = 0;
  if (r->seen_end) return FURROW_OK;
  FW_TRY(fw_bytes_in_read(r->in, &byte, 1, &got, err));
  if (got) return fail_open(r, fw_bytes_in_offset(r->in) - 1, err, "continues after the last row");
  r->seen_end = true;
  return FURROW_OK;
}

static furrow_status check_prefix(const fw_array_reader *r, const char *row, uint64_t offset, furrow_error *err) {
  const uint32_t dim = fw_get_le32(row);
  if (dim == r->info.dim) return FURROW_OK;
  return fw_bytes_in_fail(r->in, offset, err, FURROW_E_FORMAT, "a vector of %d %s among vectors of %zu",
                          (int)(int32_t)dim, fw_plural(dim, "element", "elements"), r->info.dim);
}

/* Reads rows and removes their prefixes. The prefix of a stream's first row was read when it was opened. */
static furrow_status read_vecs(fw_array_reader *r, char *out, size_t rows, size_t *got, furrow_error *err) {
  const size_t stride = r->row_bytes + r->prefix;
  size_t done = 0, bytes = 0;
  while (done < rows) {
    const size_t want = rows - done < r->capacity / stride ? rows - done : r->capacity / stride;
    const size_t known = r->next + done == 0 && fw_bytes_in_offset(r->in) == r->prefix ? r->prefix : 0;
    const uint64_t offset = fw_bytes_in_offset(r->in) - known;
    if (known) fw_put_le32(r->buffer, (uint32_t)r->info.dim);
    furrow_status status = fw_bytes_in_read(r->in, r->buffer + known, want * stride - known, &bytes, err);
    if (status != FURROW_OK) return status;
    bytes += known;
    if (bytes % stride != 0) return fail_open(r, offset + bytes, err, "ends within a vector");
    for (size_t i = 0; i < bytes / stride; i++, done++) {
      status = check_prefix(r, r->buffer + i * stride, offset + i * stride, err);
      if (status != FURROW_OK) return status;
      memcpy(out + done * r->row_bytes, r->buffer + i * stride + r->prefix, r->row_bytes);
    }
    if (bytes < want * stride) break;
  }
  *got = done;
  return FURROW_OK;
}

static furrow_status read_rows(fw_array_reader *r, char *out, size_t rows, size_t *got, furrow_error *err) {
  if (r->prefix) return read_vecs(r, out, rows, got, err);
  *got = rows;
  return fw_bytes_in_read_all(r->in, out, rows * r->row_bytes, "the rows", err);
}

furrow_status fw_array_read(fw_array_reader *r, void *out, size_t rows, size_t *got, furrow_error *err) {
  const uint64_t left = r->info.rows == FW_ARRAY_UNKNOWN ? rows : r->info.rows - r->next;
  size_t n = rows < left ? rows : (size_t)left;
  if (n) {
    FW_TRY(read_rows(r, out, n, &n, err));
  }
  if (r->info.rows != FW_ARRAY_UNKNOWN && r->next + n == r->info.rows) {
    FW_TRY(check_end(r, err));
  }
  if (r->swapped) fw_swap_bytes(out, fw_array_type_size(r->info.type), n * r->info.dim);
  r->next += n;
  *got = n;
  return FURROW_OK;
}

/* elements[i] is element `place` of the row. */
static furrow_status fail_element(const fw_array_reader *r, const void *elements, size_t i, uint64_t row, size_t place,
                                  fw_array_type as, furrow_error *err) {
  char text[32];
  fw_array_element_text(text, r->info.type, elements, i);
  fw_fail(err, FURROW_E_RANGE, "element %zu of vector %llu does not fit %s", place, (unsigned long long)row,
          as == FW_ARRAY_F32   ? "a 32-bit float"
          : as == FW_ARRAY_I32 ? "a 32-bit integer"
                               : "a 64-bit integer");
  fw_error_set_file(err, fw_array_path(r));
  fw_error_set_token(err, text, strlen(text));
  return FURROW_E_RANGE;
}

/* Reads rows into a temporary buffer, piece by piece, and converts them into the caller's memory. */
static furrow_status convert_rows(fw_array_reader *r, fw_array_type as, char *out, size_t rows, size_t *got,
                                  furrow_error *err) {
  furrow_status status = FURROW_OK;
  size_t done = 0, n = 1;
  void *piece = NULL;
  const size_t most = r->row_bytes > BUFFER_SIZE || r->row_bytes == 0 ? 1 : BUFFER_SIZE / r->row_bytes;
  const size_t step = rows < most ? rows : most, out_row = r->info.dim * fw_array_type_size(as);
  status = fw_alloc(&piece, step, r->row_bytes, err);
  while (status == FURROW_OK && done < rows && n > 0) {
    status = fw_array_read(r, piece, rows - done < step ? rows - done : step, &n, err);
    if (status != FURROW_OK) break;
    const size_t count = n * r->info.dim, good = fw_array_convert(as, out + done * out_row, r->info.type, piece, count);
    if (good < count)
      status = fail_element(r, piece, good, r->next - n + good / r->info.dim, good % r->info.dim, as, err);
    done += n;
  }
  fw_free(piece);
  if (status == FURROW_OK) *got = done;
  return status;
}

furrow_status fw_array_read_as(fw_array_reader *r, fw_array_type as, void *out, size_t rows, size_t *got,
                               furrow_error *err) {
  return as == r->info.type ? fw_array_read(r, out, rows, got, err) : convert_rows(r, as, out, rows, got, err);
}

furrow_status fw_array_seek(fw_array_reader *r, uint64_t row, furrow_error *err) {
  if (row == r->next) return FURROW_OK;
  if (row > r->info.rows) return fw_fail(err, FURROW_E_ARGUMENT, "there is no row %llu", (unsigned long long)row);
  furrow_status status = fw_bytes_in_seek(r->in, r->start + row * (r->row_bytes + r->prefix), err);
  if (status == FURROW_OK) r->next = row;
  return status;
}

furrow_status fw_array_read_part(fw_array_reader *r, uint64_t row, size_t first, size_t count, fw_array_type as,
                                 void *out, furrow_error *err) {
  const size_t element = fw_array_type_size(r->info.type);
  uint64_t offset = r->start + row * (r->row_bytes + r->prefix) + r->prefix + first * (uint64_t)element;
  furrow_status status = FURROW_OK;
  char *to = out;
  for (size_t done = 0, n; done < count && status == FURROW_OK; done += n, offset += n * element) {
    n = count - done < r->capacity / element ? count - done : r->capacity / element;
    status = fw_bytes_in_seek(r->in, offset, err);
    if (status == FURROW_OK) status = fw_bytes_in_read_all(r->in, r->buffer, n * element, "the rows", err);
    if (status != FURROW_OK) break;
    if (r->swapped) fw_swap_bytes(r->buffer, element, n);
    const size_t good = fw_array_convert(as, to + done * fw_array_type_size(as), r->info.type, r->buffer, n);
    if (good < n) status = fail_element(r, r->buffer, good, row, first + done + good, as, err);
  }
  r->next = FW_ARRAY_UNKNOWN; /* forces a seek before the next read */
  return status;
}

furrow_status fw_array_read_flat(fw_array_reader *r, fw_array_type as, void **elements, size_t *count,
                                 furrow_error *err) {
  void *all;
  size_t got;
  if (r->info.dim != 1 && r->info.rows != 0)
    return fw_bytes_in_fail(r->in, 0, err, FURROW_E_FORMAT, "rows of %zu elements, but one is expected", r->info.dim);
  if (r->info.rows == FW_ARRAY_UNKNOWN)
    return fw_bytes_in_fail(r->in, 0, err, FURROW_E_STATE, "the number of rows is not known");
  furrow_status status = fw_alloc(&all, (size_t)r->info.rows, fw_array_type_size(as), err);
  if (status != FURROW_OK) return status;
  status = fw_array_read_as(r, as, all, (size_t)r->info.rows, &got, err);
  if (status != FURROW_OK) {
    fw_free(all);
    return status;
  }
  *elements = all;
  *count = got;
  return FURROW_OK;
}
