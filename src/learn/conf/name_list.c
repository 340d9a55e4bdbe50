/* learn/conf/name_list.c: lists of names as the text of a key. */
#include <string.h>

#include "learn/conf/model_json.h"

static bool is_plain(unsigned char byte) {
  return byte >= 32 && byte != ',' && byte != '%';
}

void fw_names_append(fw_buffer *list, const char *name, size_t size) {
  static const char digits[] = "0123456789ABCDEF";
  for (size_t i = 0; i < size; i++) {
    const unsigned char byte = (unsigned char)name[i];
    const char coded[3] = {'%', digits[byte >> 4], digits[byte & 15]};
    if (is_plain(byte))
      fw_buffer_append(list, &name[i], 1);
    else
      fw_buffer_append(list, coded, sizeof coded);
  }
}

static int digit_of(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *fw_next_name(const char *list, char *name, size_t *size) {
  size_t n = 0;
  for (; *list && *list != ','; list++) {
    const int high = *list == '%' ? digit_of(list[1]) : -1, low = high >= 0 ? digit_of(list[2]) : -1;
    name[n++] = low >= 0 ? (char)(high * 16 + low) : *list;
    if (low >= 0) list += 2;
  }
  *size = n;
  return *list ? list + 1 : NULL;
}
