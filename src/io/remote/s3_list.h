/* io/remote/s3_list.h: the names in an answer to ListObjectsV2. */
#ifndef FW_IO_S3_LIST_H
#define FW_IO_S3_LIST_H

#include <stdbool.h>

#include "base/buffer.h"
#include "furrow/io.h"

/* Calls found for what follows `prefix` in every key and every common prefix (without the slash at its end). *next is
 * the token for the rest of the list; empty: this is the end. *count is increased by the number of names.
 * E_FORMAT: not such an answer. */
furrow_status fw_s3_list_parse(const char *xml, size_t size, const char *prefix, furrow_file_name found, void *listing,
                               fw_buffer *next, size_t *count, furrow_error *err) FURROW_MUST_USE;

/* Appends the text of the first element of that name; false if there is none. */
bool fw_s3_element(const char *xml, size_t size, const char *name, fw_buffer *text);

#endif
