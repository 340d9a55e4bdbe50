/* io/recordio.h: dmlc-core's RecordIO, whose records hold lines of text.
 *
 * A record is the magic number, a number of 32 bits with the kind of the record in its upper 3 bits and the length in
 * the others, the bytes, and zeros up to a multiple of four; all little-endian. Where the magic number stands in the
 * bytes, at a multiple of four, it is left out, and the record is split there. */
#ifndef FW_IO_RECORDIO_H
#define FW_IO_RECORDIO_H

#include "base/buffer.h"

#define FW_RECORDIO_MAGIC "\x0a\x23\xd7\xce"
enum { FW_RECORDIO_ALIGN = 4 };

/* Returns the index of the first head of a record at or after bytes[from]; bytes[0] is at `offset` of its file.
 * `length` or more if there is none, or none of which the head is whole. */
size_t fw_recordio_find(const char *bytes, size_t length, uint64_t offset, size_t from);
/* Makes lines of whole records, in place: heads and padding become line ends, so that every line stays where it was.
 * E_FORMAT: something else is among them; err->offset is its index. */
furrow_status fw_recordio_to_lines(char *bytes, size_t length, furrow_error *err) FURROW_MUST_USE;
/* Counts the records that begin in the bytes. */
uint64_t fw_recordio_count(const char *bytes, size_t length, uint64_t offset);

/* Appends a record for every whole line; *rest is the line that has not ended yet. */
void fw_recordio_from_lines(fw_buffer *records, fw_buffer *rest, const char *lines, size_t length);

#endif
