/* vector/data/names_in.c: names in text files, one for each line. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "vector/data/id_names.h"

const char *fw_name_fault(const char *text, size_t size) {
  if (size == 0) return "a name is empty";
  if (fw_utf8_check(text, text + size)) return "a name is not UTF-8";
  for (size_t i = 0; i < size; i++)
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) return "a name has a control character";
  return NULL;
}

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

/* Finds a name that comes twice, by a table of them all. */
static furrow_status check_twins(const furrow_name_list *names, const char *path, furrow_error *err) {
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
    snprintf(message, sizeof message, "line %zu has the same name", twins[0] + 1);
    status = fail_line(err, path, twins[1] + 1, list[twins[1]].text, list[twins[1]].size, message);
  }
  fw_buffer_clear(&image);
  fw_free(memory);
  return status;
}

/* Cuts the text into lines. */
static furrow_status cut_lines(furrow_name_list *list, char *at, char *end, const char *path, furrow_error *err) {
  void *names = NULL;
  size_t capacity = 0;
  furrow_status status = fw_grow(&names, &capacity, 1, sizeof *list->names, err);
  while (status == FURROW_OK && at < end) {
    char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
    if (!stop) stop = end;
    if (stop > at && stop[-1] == '\r') stop--;
    const char *fault = fw_name_fault(at, (size_t)(stop - at));
    if (fault)
      status = fail_line(err, path, list->count + 1, at, (size_t)(stop - at), fault);
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

furrow_status fw_name_list_parse(furrow_name_list *list, char *bytes, size_t size, const char *path,
                                 furrow_error *err) {
  const size_t mark = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  furrow_name_list found = {0};
  furrow_status status = cut_lines(&found, bytes + mark, bytes + size, path, err);
  if (status == FURROW_OK) status = check_twins(&found, path, err);
  if (status != FURROW_OK) {
    fw_free((void *)found.names);
    return status;
  }
  found.bytes = bytes;
  *list = found;
  return FURROW_OK;
}
