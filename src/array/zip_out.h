/* array/zip_out.h: writes a zip archive of stored members, with zip64 where numbers need it. */
#ifndef FW_ARRAY_ZIP_OUT_H
#define FW_ARRAY_ZIP_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"
#include "io/atomic_file.h"

typedef struct fw_zip_writer fw_zip_writer;

/* The archive appears when it is complete. */
furrow_status fw_zip_writer_open(fw_zip_writer **writer, const char *path, bool replace,
                                 furrow_error *err) FURROW_MUST_USE;
/* Begins a member, whose first `header` bytes come when it ends. */
furrow_status fw_zip_writer_begin(fw_zip_writer *writer, const char *name, size_t header,
                                  furrow_error *err) FURROW_MUST_USE;
furrow_status fw_zip_writer_write(fw_zip_writer *writer, const void *data, size_t size,
                                  furrow_error *err) FURROW_MUST_USE;
/* Ends it; header: its first bytes. */
furrow_status fw_zip_writer_end(fw_zip_writer *writer, const void *header, furrow_error *err) FURROW_MUST_USE;
uint64_t fw_zip_writer_bytes(const fw_zip_writer *writer);
furrow_status fw_zip_writer_commit(fw_zip_writer *writer, fw_atomic_file *beside, furrow_error *err) FURROW_MUST_USE;
void fw_zip_writer_close(fw_zip_writer *writer);

#endif
