/* vector/data/ids_in.c: reads whole files of ids and of names. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "furrow/vector_data.h"
#include "vector/data/id_names.h"
#include "vector/data/vectors_in.h"

#define PIECE ((size_t)1 << 20)

/* ---- Bytes ---------------------------------------------------------------------------------------------- */

/* A device may be endless, and the whole input is read before it is parsed. */
static furrow_status open_bytes(fw_bytes_in **in, const char *path, furrow_error *err) {
  struct stat info;
  const bool found = fw_path_stat(path, &info, NULL) == FURROW_OK;
  if (!found || !(S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))) return fw_bytes_in_open(in, path, err);
  fw_fail(err, FURROW_E_ARGUMENT, "is a device");
  fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}

/* Reads all bytes of a file or a stream. */
static furrow_status read_all(fw_bytes_in *in, char **bytes, size_t *size, furrow_error *err) {
  void *memory = NULL;
  size_t capacity = 0, used = 0, got = 1;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && got > 0) {
    status = fw_grow(&memory, &capacity, used + PIECE, 1, err);
    if (status == FURROW_OK) status = fw_bytes_in_read(in, (char *)memory + used, capacity - used, &got, err);
    if (status == FURROW_OK) used += got;
  }
  if (status != FURROW_OK) {
    fw_free(memory);
    return status;
  }
  *bytes = memory;
  *size = used;
  return FURROW_OK;
}

static furrow_status take_raw(furrow_ids *ids, fw_bytes_in *in, char *bytes, size_t size, furrow_error *err) {
  if (size % sizeof(int64_t) != 0)
    return fw_bytes_in_fail(in, size, err, FURROW_E_FORMAT, "%zu %s not a whole number of 64-bit ids", size,
                            fw_plural(size, "byte is", "bytes are"));
  fw_swap_le(bytes, sizeof(int64_t), size / sizeof(int64_t));
  furrow_ids found = {.ids = (void *)bytes, .count = size / sizeof(int64_t), .dim = 1};
  *ids = found;
  return FURROW_OK;
}

/* ---- Lines of names ------------------------------------------------------------------------------------- */

void furrow_name_list_clear(furrow_name_list *list) {
  fw_free((void *)list->names);
  fw_free(list->bytes);
  *list = (furrow_name_list){0};
}

static furrow_status fail_line(furrow_error *err, const char *path, size_t line, const char *text, size_t size,
                               const char *message) {
  fw_fail(err, FURROW_E_PARSE, "%s", message);
  fw_error_set_file(err, path);
  fw_error_set_token(err, text, size);
  if (err) err->line = line;
  return FURROW_E_PARSE;
}

/* Finds a repeated name with a table of all names. */
static furrow_status check_twins(const furrow_name_list *names, const char *path, size_t first_line,
                                 furrow_error *err) {
  fw_buffer image = {0};
  void *memory = NULL;
  size_t twins[2];
  FW_TRY(fw_alloc(&memory, names->count, sizeof(fw_named_id), err));
  fw_named_id *list = memory;
  for (size_t i = 0; i < names->count; i++)
    list[i] = (fw_named_id){.text = names->names[i], .size = strlen(names->names[i])};
  furrow_status status = fw_named_ids_build(&image, list, names->count, twins, err);
  if (status == FURROW_E_EXISTS) {
    char message[64];
    snprintf(message, sizeof message, "line %zu has the same name", twins[0] + first_line);
    status = fail_line(err, path, twins[1] + first_line, list[twins[1]].text, list[twins[1]].size, message);
  }
  fw_buffer_clear(&image);
  fw_free(memory);
  return status;
}

/* Splits the text into lines. */
static furrow_status cut_lines(furrow_name_list *list, char *at, char *end, const char *path, size_t first_line,
                               furrow_error *err) {
  void *names = NULL;
  size_t capacity = 0;
  furrow_status status = fw_grow(&names, &capacity, 1, sizeof *list->names, err);
  while (status == FURROW_OK && at < end) {
    char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
    if (!stop) stop = end;
    if (stop > at && stop[-1] == '\r') stop--;
    const char *fault = fw_name_fault(at, (size_t)(stop - at));
    if (fault)
      status = fail_line(err, path, list->count + first_line, at, (size_t)(stop - at), fault);
    else
      status = fw_grow(&names, &capacity, list->count + 1, sizeof *list->names, err);
    if (status != FURROW_OK) break;
    *stop = 0;
    ((const char **)names)[list->count++] = at;
    at = next;
  }
  list->names = names;
  return status;
}

furrow_status fw_name_list_parse(furrow_name_list *list, char *bytes, size_t size, const char *path, size_t first_line,
                                 furrow_error *err) {
  const size_t mark = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  furrow_name_list found = {0};
  furrow_status status = cut_lines(&found, bytes + mark, bytes + size, path, first_line, err);
  if (status == FURROW_OK) status = check_twins(&found, path, first_line, err);
  if (status != FURROW_OK) {
    fw_free((void *)found.names);
    return status;
  }
  found.bytes = bytes;
  *list = found;
  return FURROW_OK;
}

/* ---- Text ----------------------------------------------------------------------------------------------- */

static bool separates(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',';
}

static furrow_status fail_text(const fw_bytes_in *in, const char *bytes, const char *at, const char *end,
                               furrow_error *err) {
  const char *stop = at;
  while (stop < end && !separates(*stop)) stop++;
  fw_bytes_in_fail(in, (uint64_t)(at - bytes), err, FURROW_E_PARSE, "is not an id");
  fw_error_set_token(err, at, (size_t)(stop - at));
  return FURROW_E_PARSE;
}

static furrow_status parse_text(furrow_ids *ids, const fw_bytes_in *in, const char *bytes, size_t size,
                                furrow_error *err) {
  const char *at = bytes, *end = bytes + size;
  void *memory = NULL;
  size_t capacity = 0, count = 0;
  furrow_status status = fw_grow(&memory, &capacity, 1, sizeof(int64_t), err);
  while (status == FURROW_OK) {
    bool overflow = false;
    while (at < end && separates(*at)) at++;
    if (at == end) break;
    status = fw_grow(&memory, &capacity, count + 1, sizeof(int64_t), err);
    if (status != FURROW_OK) break;
    const char *stop = fw_read_i64(at, end, (int64_t *)memory + count, &overflow);
    if (!stop || overflow || (stop < end && !separates(*stop))) {
      status = fail_text(in, bytes, at, end, err);
      break;
    }
    at = stop;
    count++;
  }
  if (status != FURROW_OK) {
    fw_free(memory);
    return status;
  }
  *ids = (furrow_ids){.ids = memory, .count = count, .dim = 1};
  return FURROW_OK;
}

static furrow_status load_bytes(furrow_ids *ids, const char *path, bool raw, furrow_error *err) {
  fw_bytes_in *in = NULL;
  char *bytes = NULL;
  size_t size = 0;
  furrow_status status = open_bytes(&in, path, err);
  if (status == FURROW_OK) status = read_all(in, &bytes, &size, err);
  if (status == FURROW_OK) status = raw ? take_raw(ids, in, bytes, size, err) : parse_text(ids, in, bytes, size, err);
  if (status != FURROW_OK || !raw) fw_free(bytes);
  fw_bytes_in_close(in);
  return status;
}

/* Whether the first line that is not blank consists of integers; true if all lines are blank. */
static bool begins_with_ids(const char *bytes, size_t size) {
  const char *at = bytes, *end = bytes + size;
  while (at < end && separates(*at)) at++;
  while (at < end && *at != '\n') {
    int64_t id;
    bool overflow;
    if (separates(*at)) {
      at++;
      continue;
    }
    at = fw_read_i64(at, end, &id, &overflow);
    if (!at || (at < end && !separates(*at))) return false;
  }
  return true;
}

/* Reads ids if `ids` is given and the first line has integers, otherwise names. */
static furrow_status load_text(furrow_ids *ids, furrow_name_list *list, const char *path, furrow_error *err) {
  fw_bytes_in *in = NULL;
  char *bytes = NULL;
  size_t size = 0;
  furrow_status status = open_bytes(&in, path, err);
  if (status == FURROW_OK) status = read_all(in, &bytes, &size, err);
  const bool numbers = status == FURROW_OK && ids && begins_with_ids(bytes, size);
  if (numbers)
    status = parse_text(ids, in, bytes, size, err);
  else if (status == FURROW_OK)
    status = fw_name_list_parse(list, bytes, size, path, 1, err);
  if (status != FURROW_OK || numbers) fw_free(bytes);
  fw_bytes_in_close(in);
  return status;
}

/* ---- Arrays --------------------------------------------------------------------------------------------- */

static bool is_real(fw_array_type type) {
  return type == FW_ARRAY_F32 || type == FW_ARRAY_F64 || type == FW_ARRAY_F16;
}

/* Reads rows to the end; a VECS stream does not contain their number. */
static furrow_status read_rows(fw_array_reader *reader, furrow_ids *ids, furrow_error *err) {
  const fw_array_info *info = fw_array_get_info(reader);
  const size_t dim = info->dim ? info->dim : 1;
  const size_t step = info->rows == FW_ARRAY_UNKNOWN ? PIECE / dim + 1 : (size_t)info->rows + 1;
  void *memory = NULL;
  size_t capacity = 0, rows = 0, got = 1;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && got > 0) {
    status = fw_grow(&memory, &capacity, (rows + step) * dim, sizeof(int64_t), err);
    if (status == FURROW_OK)
      status = fw_array_read_as(reader, FW_ARRAY_I64, (int64_t *)memory + rows * dim, step, &got, err);
    if (status == FURROW_OK) rows += got;
    if (got < step) break;
  }
  if (status == FURROW_OK)
    *ids = (furrow_ids){.ids = memory, .count = rows * dim, .dim = dim};
  else
    fw_free(memory);
  return status;
}

static furrow_status load_array(furrow_ids *ids, const char *path, fw_array_kind kind, furrow_error *err) {
  fw_array_reader *reader = NULL;
  furrow_status status = fw_array_open(&reader, path, kind, err);
  if (status != FURROW_OK) return status;
  if (is_real(fw_array_get_info(reader)->type)) {
    status = fw_fail(err, FURROW_E_FORMAT, "has real numbers where ids are wanted");
    fw_error_set_file(err, path);
  } else {
    status = read_rows(reader, ids, err);
  }
  fw_array_close(reader);
  return status;
}

/* ---- Interface ------------------------------------------------------------------------------------------ */

/* Whether a file is text: its name does not have the extension of another kind. */
static bool is_text(const char *path) {
  fw_data_kind found;
  return fw_data_kind_find(&found, path, NULL, "i64", NULL) != FURROW_OK;
}

furrow_status furrow_ids_load(furrow_ids *ids, const char *path, const char *kind, furrow_error *err) {
  fw_data_kind found;
  if (kind ? strcmp(kind, "txt") == 0 : is_text(path)) return load_bytes(ids, path, false, err);
  FW_TRY(fw_data_kind_find(&found, path, kind, "i64", err));
  return found.raw ? load_bytes(ids, path, true, err) : load_array(ids, path, found.array, err);
}

void furrow_ids_clear(furrow_ids *ids) {
  fw_free(ids->ids);
  *ids = (furrow_ids){0};
}

furrow_status furrow_name_list_load(furrow_name_list *list, const char *path, furrow_error *err) {
  return load_text(NULL, list, path, err);
}

furrow_status furrow_ids_or_names_load(furrow_ids *ids, furrow_name_list *list, const char *path, furrow_error *err) {
  furrow_ids_init(ids);
  furrow_name_list_init(list);
  return is_text(path) ? load_text(ids, list, path, err) : furrow_ids_load(ids, path, NULL, err);
}
