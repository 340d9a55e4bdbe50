/* array/zip.h: a zip archive, as npz files are: its members read, stored or deflated; and written, all stored. */
#ifndef FW_ARRAY_ZIP_H
#define FW_ARRAY_ZIP_H

#include "array/bytes_in.h"
#include "io/atomic_file.h"

/* ---- Records (APPNOTE 6.3): signatures, sizes, offsets of fields ---- */

/* A member: local header, name, extra fields, data. At the end of the file: an entry for each member (header, name,
 * extra fields, comment), then the end record; before that, if a number needs it, the zip64 end record and a locator
 * that has its place. */
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

#define FW_ZIP_EXTRA64 1 /* extra field: those of size, packed size, offset (64 bits) that did not fit */
#define FW_ZIP_FULL16 0xffffu
#define FW_ZIP_FULL32 0xffffffffu
#define FW_ZIP_STORED 0
#define FW_ZIP_DEFLATED 8
#define FW_ZIP_VERSION64 45 /* with zip64 */

/* ---- Reading (zip_in.c) ---- */

typedef struct fw_zip fw_zip;

/* Reads and checks the directory: every member lies within the file, none overlaps another, no name comes twice, no
 * member claims to be larger than its bytes can be. */
furrow_status fw_zip_open(fw_zip **zip, const char *path, furrow_error *err) FURROW_MUST_USE;
void fw_zip_close(fw_zip *zip);

size_t fw_zip_count(const fw_zip *zip);
const char *fw_zip_name(const fw_zip *zip, size_t member);
/* The member with that name; false: there is none. */
bool fw_zip_find(const fw_zip *zip, const char *name, size_t *member);
/* Its bytes, checked against their CRC when the last one has been read. The archive must stay open.
 * E_UNSUPPORTED: encrypted, or a compression other than deflate. */
furrow_status fw_zip_member_open(const fw_zip *zip, size_t member, fw_bytes_in **in, furrow_error *err) FURROW_MUST_USE;
/* E_FORMAT at the archive. */
furrow_status fw_zip_fail(const fw_zip *zip, furrow_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Writing, with zip64 where numbers need it (zip_out.c) ---- */

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
