/* array/zip.h: zip archives, such as npz files. Members are read stored or deflated, and written stored. */
#ifndef FW_ARRAY_ZIP_H
#define FW_ARRAY_ZIP_H

#include "array/bytes_in.h"
#include "io/atomic_file.h"

/* ---- Records (APPNOTE 6.3): signatures, sizes, offsets of fields ---- */

/* A member is a local header, name, extra fields and data. At the end of the file there is an entry for each member
 * (header, name, extra fields, comment), then the end record; before that, if a number needs it, the zip64 end
 * record and a locator with its offset. */
#define FW_ZIP_LOCAL 0x04034b50u
#define FW_ZIP_LOCAL_SIZE 30
#define FW_ZIP_ENTRY 0x02014b50u
#define FW_ZIP_ENTRY_SIZE 46
#define FW_ZIP_END 0x06054b50u
#define FW_ZIP_END_SIZE 22
#define FW_ZIP_END64 0x06064b50u
#define FW_ZIP_END64_SIZE 56
#define FW_ZIP_LOCATOR 0x07064b50u
#define FW_ZIP_LOCATOR_SIZE 20

#define FW_ZIP_EXTRA64 1 /* extra field: whichever of size, packed size and offset (64 bits each) did not fit */
#define FW_ZIP_FULL16 0xffffu
#define FW_ZIP_FULL32 0xffffffffu
#define FW_ZIP_STORED 0
#define FW_ZIP_DEFLATED 8
#define FW_ZIP_VERSION64 45 /* version needed for zip64 */

/* ---- Reading (zip_in.c) ---- */

typedef struct fw_zip fw_zip;

/* Reads and checks the directory: every member is within the file, members do not overlap, names are unique, and no
 * member claims to be larger than its bytes can be. */
furrow_status fw_zip_open(fw_zip **zip, const char *path, furrow_error *err) FURROW_MUST_USE;
void fw_zip_close(fw_zip *zip);

size_t fw_zip_count(const fw_zip *zip);
const char *fw_zip_name(const fw_zip *zip, size_t member);
/* Finds the member with that name; returns false if there is none. */
bool fw_zip_find(const fw_zip *zip, const char *name, size_t *member);
/* Opens the bytes of a member; their CRC is checked when the last one has been read. The archive must stay open.
 * E_UNSUPPORTED: encrypted, or a compression other than deflate. */
furrow_status fw_zip_member_open(const fw_zip *zip, size_t member, fw_bytes_in **in, furrow_error *err) FURROW_MUST_USE;
/* Fails with E_FORMAT and the path of the archive. */
furrow_status fw_zip_fail(const fw_zip *zip, furrow_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Writing, with zip64 where numbers need it (zip_out.c) ---- */

typedef struct fw_zip_writer fw_zip_writer;

/* The archive appears under its name when it is complete. */
furrow_status fw_zip_writer_open(fw_zip_writer **writer, const char *path, bool replace,
                                 furrow_error *err) FURROW_MUST_USE;
/* Begins a member, whose first `header` bytes are written when it ends. */
furrow_status fw_zip_writer_begin(fw_zip_writer *writer, const char *name, size_t header,
                                  furrow_error *err) FURROW_MUST_USE;
furrow_status fw_zip_writer_write(fw_zip_writer *writer, const void *data, size_t size,
                                  furrow_error *err) FURROW_MUST_USE;
/* Ends the member; header: its first bytes. */
furrow_status fw_zip_writer_end(fw_zip_writer *writer, const void *header, furrow_error *err) FURROW_MUST_USE;
uint64_t fw_zip_writer_bytes(const fw_zip_writer *writer);
furrow_status fw_zip_writer_commit(fw_zip_writer *writer, fw_atomic_file *companion, furrow_error *err) FURROW_MUST_USE;
void fw_zip_writer_close(fw_zip_writer *writer);

#endif
