/* learn/net/snapshot.c: arrays of numbers as bytes in a fixed order. */
#include "learn/net/snapshot.h"

#include <string.h>

#include "base/endian.h"

enum { PIECE = 1 << 16 };

void fw_snapshot_copy(void *to, const void *from, size_t count, size_t size) {
  if (!FW_BIG_ENDIAN || size == 1) {
    memcpy(to, from, count * size);
    return;
  }
  for (size_t i = 0; i < count * size; i += size) {
    if (size == 4) {
      fw_put_le32((char *)to + i, fw_get_be32((const char *)from + i));
    } else {
      fw_put_le64((char *)to + i, fw_get_be64((const char *)from + i));
    }
  }
}

furrow_status fw_snapshot_write(const void *numbers, size_t count, size_t size, fw_snapshot_sink sink, void *to,
                                furrow_error *err) {
  unsigned char piece[PIECE];
  furrow_status status = FURROW_OK;
  for (size_t done = 0, n; status == FURROW_OK && done < count; done += n) {
    n = count - done < PIECE / size ? count - done : PIECE / size;
    fw_snapshot_copy(piece, (const char *)numbers + done * size, n, size);
    status = sink(to, piece, n * size, err);
  }
  return status;
}
