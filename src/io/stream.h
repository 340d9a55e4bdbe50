/* io/stream.h: the bytes of one file from its start, uncompressed. */
#ifndef FW_IO_STREAM_H
#define FW_IO_STREAM_H

#include "io/fileset.h"

typedef struct fw_stream fw_stream;

furrow_status fw_stream_open(fw_stream **stream, const fw_file *file, furrow_error *err) FURROW_MUST_USE;
/* Fills buffer: *got < size only at the end of the data. E_IO when reading fails; E_FORMAT when compressed data is
 * damaged, cut short or followed by other bytes. Several gzip members or zstd frames in a row are one text. */
furrow_status fw_stream_read(fw_stream *stream, void *buffer, size_t size, size_t *got,
                             furrow_error *err) FURROW_MUST_USE;
/* Bytes taken from the file itself so far (compressed ones, where it is compressed). */
uint64_t fw_stream_consumed(const fw_stream *stream);
void fw_stream_close(fw_stream *stream);

#endif
