/* examples/03_matrix_format.c: a custom matrix format, as a subclass of RowFormat is one in Angel.
 *
 * "AssignTextRowFormat" has a line for each element, as people would write it:
 *
 *   w[3,4711]=0.25
 *
 * As a program it registers the format, writes a matrix in it, reads it back, refuses a bad line, and converts the
 * matrix to one of Angel's formats. It returns 0 if all is as it should be. The same source is a plugin for the
 * command:
 *
 *   cc -shared -fPIC -DPLUGIN 03_matrix_format.c -o assign.so
 *   furrow model convert --plugin ./assign.so --format AssignTextRowFormat MODEL TARGET
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The format ----------------------------------------------------------------------------------------- */

#define LONGEST 80 /* bytes of a line with its end: two ids, a double in full precision, five signs */

static void assign_record_size(const furrow_matrix_format_context *context, size_t *least, size_t *most) {
  (void)context;
  *least = sizeof "w[0,0]=0" - 1; /* the last line may lack its end */
  *most = LONGEST;
}

/* Furrow adds the file and turns the offset into one of the file. */
static furrow_status refuse(furrow_error *err, size_t offset, const char *line, size_t length, const char *message) {
  if (err) {
    *err = (furrow_error){.status = FURROW_E_PARSE, .offset = offset};
    snprintf(err->message, sizeof err->message, "%s", message);
    snprintf(err->token, sizeof err->token, "%.*s", (int)length, line);
  }
  return FURROW_E_PARSE;
}

static void store(const furrow_matrix_format_context *context, furrow_matrix_records *records, double value) {
  const size_t i = records->count;
  switch (context->type) {
  case FURROW_ELEMENT_F64: ((double *)records->values)[i] = value; break;
  case FURROW_ELEMENT_F32: ((float *)records->values)[i] = (float)value; break;
  case FURROW_ELEMENT_I64: ((int64_t *)records->values)[i] = (int64_t)value; break;
  default: ((int32_t *)records->values)[i] = (int32_t)value; break;
  }
}

/* One line without its end; bytes have no end but their length, so it is copied for sscanf. */
static bool read_line(const furrow_matrix_format_context *context, const char *line, size_t length,
                      furrow_matrix_records *records) {
  char copy[LONGEST + 1];
  int row, end = -1;
  long long col;
  double value;
  if (length > LONGEST) return false;
  memcpy(copy, line, length);
  copy[length] = 0;
  if (sscanf(copy, "w[%d,%lld]=%lf%n", &row, &col, &value, &end) != 3 || end != (int)length) return false;
  records->row_ids[records->count] = row;
  records->col_ids[records->count] = col;
  store(context, records, value);
  records->count++;
  return true;
}

/* Whole lines only, unless there is no more to come: what is left over is given again, with more behind it. */
static furrow_status assign_decode(const furrow_matrix_format_context *context, const char *bytes, size_t size,
                                   bool last, size_t *used, furrow_matrix_records *records, furrow_error *err) {
  size_t at = 0;
  const size_t before = records->count;
  while (at < size && records->count < records->capacity) {
    const char *line = bytes + at, *end = memchr(line, '\n', size - at);
    if (!end && !last && size - at < LONGEST) break;
    const size_t length = end ? (size_t)(end - line) : size - at;
    if (!read_line(context, line, length, records)) {
      records->count = before;
      return refuse(err, at, line, length, "a line is w[row,column]=value");
    }
    at += length + (end != NULL);
  }
  *used = at;
  return FURROW_OK;
}

static furrow_status assign_encode(const furrow_matrix_format_context *context, const furrow_panel *panel, size_t first,
                                   size_t count, char *out, size_t *written, furrow_error *err) {
  (void)err;
  const int digits = context->type == FURROW_ELEMENT_F32 ? 9 : 17; /* so many keep every bit */
  size_t n = 0;
  for (size_t c = first; c < first + count; c++)
    n += (size_t)snprintf(out + n, LONGEST, "w[%d,%lld]=%.*g\n", (int)panel->row_ids[0],
                          (long long)furrow_panel_col(panel, c), digits, furrow_panel_get(panel, 0, c));
  *written = n;
  return FURROW_OK;
}

static const furrow_matrix_format assign = {
    .size = sizeof(furrow_matrix_format),
    .flags = FURROW_MATRIX_FORMAT_TEXT | FURROW_MATRIX_FORMAT_ROW_IDS | FURROW_MATRIX_FORMAT_COL_IDS,
    .name = "AssignTextRowFormat",
    .class_name = "com.example.AssignTextRowFormat",
    .about = "w[row,column]=value in a line",
    .record_size = assign_record_size,
    .decode = assign_decode,
    .encode = assign_encode,
};

/* What a plugin exports; NULL ends it. */
FURROW_API const furrow_matrix_format *const furrow_plugin_formats[] = {&assign, NULL};

#ifndef PLUGIN

/* ---- Trying it ------------------------------------------------------------------------------------------ */

static int failures;

static void check(bool holds, const char *what) {
  printf("%s: %s\n", holds ? "ok" : "WRONG", what);
  failures += !holds;
}

static const float values[2][3] = {{0.5F, -1.25F, 3e-8F}, {7, 0.1F, -0.0F}};
static const int64_t columns[3] = {2, 30, 4711};

/* Two rows of three elements in a matrix of 5000 columns. */
static furrow_status write_matrix(const char *folder, furrow_error *err) {
  static const int32_t ids[2] = {0, 1};
  furrow_panel panels[2];
  for (int r = 0; r < 2; r++)
    panels[r] = (furrow_panel){1, &ids[r], 3, columns, 0, FURROW_ELEMENT_F32, {.f32 = values[r]}};
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  spec.name = "weights";
  spec.format = "AssignTextRowFormat";
  spec.row_type = 10; /* T_FLOAT_SPARSE */
  spec.rows = 2;
  spec.cols = 5000;
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *plan = NULL;
  furrow_status status = furrow_matrix_create(&matrix, panels, 2, err);
  if (status == FURROW_OK) status = furrow_matrix_plan(&plan, &spec, err);
  if (status == FURROW_OK) status = furrow_matrix_save(matrix, folder, plan, NULL, err);
  furrow_matrix_meta_free(plan);
  furrow_matrix_free(matrix);
  return status;
}

static bool holds_values(const char *folder, furrow_error *err) {
  furrow_matrix *matrix = NULL;
  if (furrow_matrix_load(&matrix, folder, NULL, err) != FURROW_OK) return false;
  bool same = furrow_matrix_count(matrix) == 6;
  for (int r = 0; r < 2; r++)
    for (int c = 0; c < 3; c++) {
      float element = 9;
      furrow_matrix_element(matrix, r, columns[c], &element);
      same = same && memcmp(&element, &values[r][c], sizeof element) == 0;
    }
  furrow_matrix_free(matrix);
  return same;
}

static bool file_is(const char *path, const char *text) {
  char found[256] = "";
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const size_t n = fread(found, 1, sizeof found - 1, file);
  fclose(file);
  return n == strlen(text) && memcmp(found, text, n) == 0;
}

static bool damage(const char *path) {
  FILE *file = fopen(path, "r+");
  return file && fseek(file, 12, SEEK_SET) == 0 && fputc('(', file) == '(' && fclose(file) == 0;
}

static void try_format(const char *own, const char *binary, furrow_error *err) {
  char data[128];
  snprintf(data, sizeof data, "%s/0", own);
  check(furrow_matrix_format_register(&assign, err) == FURROW_OK, "the format is registered");
  check(furrow_matrix_format_register(&assign, err) == FURROW_E_EXISTS, "a name is taken once");
  check(write_matrix(own, err) == FURROW_OK, "a matrix is written in it");
  check(file_is(data, "w[0,2]=0.5\nw[0,30]=-1.25\nw[0,4711]=2.99999989e-08\n"
                      "w[1,2]=7\nw[1,30]=0.100000001\nw[1,4711]=-0\n"),
        "the file is as it should be");
  check(holds_values(own, err), "it is read back to the bit");
  furrow_model_convert_params params;
  furrow_model_convert_params_init(&params);
  params.format = "ColIdValueBinaryRowFormat";
  check(furrow_model_convert(own, binary, &params, NULL, err) == FURROW_OK && holds_values(binary, err),
        "it is converted to a format of Angel's");
  check(damage(data) && !holds_values(own, err) && err->status == FURROW_E_PARSE && err->offset == 11,
        "a bad line is refused with its place");
}

/* Takes away what was written. */
static void clean(const char *own, const char *binary, const char *parent) {
  const char *const folders[2] = {own, binary};
  static const char *const names[] = {"_meta", "0", ""};
  char path[128];
  for (size_t f = 0; f < 2; f++)
    for (size_t i = 0; i < 3; i++) {
      snprintf(path, sizeof path, "%s/%s", folders[f], names[i]);
      remove(path);
    }
  remove(parent);
}

int main(void) {
  char parent[] = "/tmp/furrow-format-XXXXXX", own[64], binary[64];
  furrow_error err = {.status = FURROW_OK};
  if (!mkdtemp(parent)) {
    perror(parent);
    return 1;
  }
  snprintf(own, sizeof own, "%s/own", parent);
  snprintf(binary, sizeof binary, "%s/binary", parent);
  try_format(own, binary, &err);
  if (failures > 0) fprintf(stderr, "the last error: %s: %s\n", err.file, err.message);
  clean(own, binary, parent);
  return failures == 0 ? 0 : 1;
}

#endif
