/* array/bytes_in.h: a source of bytes: a file, a stream, a part of a file, a compressed part of a file. */
#ifndef FW_ARRAY_BYTES_IN_H
#define FW_ARRAY_BYTES_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

#define FW_BYTES_UNKNOWN UINT64_MAX

typedef struct fw_bytes_in fw_bytes_in;

/* Opens a file, which may be compressed (gzip, zstd); "-" is standard input. */
furrow_status fw_bytes_in_open(fw_bytes_in **in, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Opens a file without detecting compression. */
furrow_status fw_bytes_in_open_plain(fw_bytes_in **in, const char *path, furrow_error *err) FURROW_MUST_USE;

/* A part of a plain file. */
typedef struct fw_bytes_part {
  uint64_t offset, size; /* in the file; the caller has checked that they are inside of it */
  bool deflated;
  uint64_t full_size; /* size of the inflated bytes, if deflated */
  bool checked;       /* the bytes must have this CRC-32 once they were read from first to last */
  uint32_t crc;
} fw_bytes_part;

/* Opens the part as a source of its own; `file` must stay open. */
furrow_status fw_bytes_in_open_part(fw_bytes_in **in, const fw_bytes_in *file, const fw_bytes_part *part,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_bytes_in_close(fw_bytes_in *in);

const char *fw_bytes_in_path(const fw_bytes_in *in);
/* The number of bytes; FW_BYTES_UNKNOWN for a stream. */
uint64_t fw_bytes_in_size(const fw_bytes_in *in);
/* The offset of the next byte. */
uint64_t fw_bytes_in_offset(const fw_bytes_in *in);
bool fw_bytes_in_can_seek(const fw_bytes_in *in);
/* E_STATE unless the source can seek. */
furrow_status fw_bytes_in_seek(fw_bytes_in *in, uint64_t offset, furrow_error *err) FURROW_MUST_USE;

/* Fills buffer: *got < size only at the end. */
furrow_status fw_bytes_in_read(fw_bytes_in *in, void *buffer, size_t size, size_t *got,
                               furrow_error *err) FURROW_MUST_USE;
/* Reads exactly size bytes, or fails with E_FORMAT: "ends within WHAT". */
furrow_status fw_bytes_in_read_all(fw_bytes_in *in, void *buffer, size_t size, const char *what,
                                   furrow_error *err) FURROW_MUST_USE;

/* fw_fail with the file and the offset in it (`offset` is relative to this source). */
furrow_status fw_bytes_in_fail(const fw_bytes_in *in, uint64_t offset, furrow_error *err, furrow_status status,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
