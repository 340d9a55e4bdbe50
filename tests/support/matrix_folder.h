/* tests/support/matrix_folder.h: matrix folders made by hand: metadata text and data bytes, right or wrong. */
#ifndef MATRIX_FOLDER_H
#define MATRIX_FOLDER_H

#include <stdarg.h>

#include "base/endian.h"
#include "support/cell_table.h"
#include "support/test_env.h"

/* A folder that is being made: its metadata so far. */
typedef struct matrix_folder {
  char name[64];
  char *json;
  size_t length, capacity;
  size_t parts, rows; /* of the metadata; of its last partition */
} matrix_folder;

static inline void folder_text(matrix_folder *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void folder_text(matrix_folder *f, const char *format, ...) {
  va_list args;
  if (f->capacity - f->length < 1024) {
    f->capacity = 2 * f->capacity + 4096;
    f->json = realloc(f->json, f->capacity);
    assert_non_null(f->json);
  }
  va_start(args, format);
  const int n = vsnprintf(f->json + f->length, f->capacity - f->length, format, args);
  va_end(args);
  assert_true(n >= 0 && (size_t)n < f->capacity - f->length);
  f->length += (size_t)n;
}

/* A name of Angel's formats, or of any other class when it has a point. */
static inline void folder_begin(matrix_folder *f, const char *name, const char *format, int row_type, int rows,
                                long long cols) {
  *f = (matrix_folder){0};
  snprintf(f->name, sizeof f->name, "%s", name);
  assert_true(mkdir(name, 0777) == 0);
  folder_text(f, "{\"matrixId\":1,\"matrixName\":\"m\",\"formatClassName\":\"%s%s\",\"rowType\":%d,",
              strchr(format, '.') ? "" : "com.tencent.angel.model.output.format.", format, row_type);
  folder_text(f, "\"row\":%d,\"col\":%lld,\"blockRow\":%d,\"blockCol\":%lld,\"options\":{},\"partMetas\":{", rows, cols,
              rows, cols);
}

typedef struct folder_part {
  int id, start_row, end_row;
  long long start_col, end_col;
  int save_col_num, save_col_elem_num;
  const char *file;
  long long offset, length;
} folder_part;

static inline void folder_add_part(matrix_folder *f, const folder_part *p) {
  folder_text(f, "%s\"%d\":{\"partId\":%d,\"startRow\":%d,\"endRow\":%d,\"startCol\":%lld,\"endCol\":%lld,",
              f->parts++ ? "}}," : "", p->id, p->id, p->start_row, p->end_row, p->start_col, p->end_col);
  folder_text(f, "\"nnz\":0,\"saveRowNum\":0,\"saveColNum\":%d,\"saveColElemNum\":%d,", p->save_col_num,
              p->save_col_elem_num);
  folder_text(f, "\"fileName\":\"%s\",\"offset\":%lld,\"length\":%lld,\"rowMetas\":{", p->file, p->offset, p->length);
  f->rows = 0;
}

static inline void folder_add_row(matrix_folder *f, int id, int elements, int save_type) {
  folder_text(f, "%s\"%d\":{\"rowId\":%d,\"offset\":0,\"elementNum\":%d,\"saveType\":%d}", f->rows++ ? "," : "", id, id,
              elements, save_type);
}

static inline void folder_write(const matrix_folder *f, const char *file, const void *bytes, size_t size) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", f->name, file);
  assert_true(test_write_file(path, bytes, size));
}

/* Writes the metadata. */
static inline void folder_end(matrix_folder *f) {
  folder_text(f, "%s", f->parts ? "}}}}" : "}}");
  char *bytes = malloc(f->length + 4);
  assert_non_null(bytes);
  fw_put_be32(bytes, (uint32_t)f->length);
  memcpy(bytes + 4, f->json, f->length);
  folder_write(f, "_meta", bytes, f->length + 4);
  free(bytes);
  free(f->json);
  f->json = NULL;
}

/* One row, one partition of columns 0 … cols-1, in a file of its own: the shortest way to a folder. */
static inline void folder_of_bytes(const char *name, const char *format, int row_type, long long cols, int elements,
                                   const void *bytes, size_t size) {
  matrix_folder f;
  folder_begin(&f, name, format, row_type, 1, cols);
  folder_add_part(&f, &(folder_part){.end_row = 1, .end_col = cols, .file = "0", .length = (long long)size});
  folder_add_row(&f, 0, elements, 0);
  folder_write(&f, "0", bytes, size);
  folder_end(&f);
}

#endif
