/* base/endian.c: reverses the bytes of array elements. */
#include "base/endian.h"

void fw_swap_bytes(void *elements, size_t size, size_t n) {
  unsigned char *p = elements;
  switch (size) {
  case 2:
    for (size_t i = 0; i < n; i++, p += 2) fw_put_le16(p, fw_get_be16(p));
    break;
  case 4:
    for (size_t i = 0; i < n; i++, p += 4) fw_put_le32(p, fw_get_be32(p));
    break;
  case 8:
    for (size_t i = 0; i < n; i++, p += 8) fw_put_le64(p, fw_get_be64(p));
    break;
  default: break;
  }
}

furrow_status fw_put_swapped(fw_bytes_sink put, void *to, const void *elements, size_t size, size_t n,
                             furrow_error *err) {
  uint64_t piece[512];
  const char *from = elements;
  furrow_status status = FURROW_OK;
  for (size_t count; n > 0 && status == FURROW_OK; n -= count, from += count * size) {
    count = n < sizeof piece / size ? n : sizeof piece / size;
    memcpy(piece, from, count * size);
    fw_swap_bytes(piece, size, count);
    status = put(to, piece, count * size, err);
  }
  return status;
}
