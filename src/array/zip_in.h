/* array/zip_in.h: a zip archive, as npz files are: its members, stored or deflated. */
#ifndef FW_ARRAY_ZIP_IN_H
#define FW_ARRAY_ZIP_IN_H

#include "array/bytes_in.h"

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

#endif
