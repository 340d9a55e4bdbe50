/* io/stream.h: the uncompressed bytes of one file, from its start. */
#ifndef FW_IO_STREAM_H
#define FW_IO_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/fileset.h"
#include "io/input.h"

typedef struct fw_stream fw_stream;

furrow_status fw_stream_open(fw_stream **stream, const fw_file *file, furrow_error *err) FURROW_MUST_USE;
/* The same for a file of typed columns, of which only some are wanted (NULL: all), in the order of the file. */
furrow_status fw_stream_open_columns(fw_stream **stream, const fw_file *file, const char *const *names, size_t count,
                                     furrow_error *err) FURROW_MUST_USE;
/* Fills buffer: *got < size only at the end of the data. E_IO when reading fails; E_FORMAT when compressed data is
 * damaged, truncated or followed by other bytes. Several gzip members, zstd or lz4 frames, xz or
 * bzip2 streams in a row are one text. */
furrow_status fw_stream_read(fw_stream *stream, void *buffer, size_t size, size_t *got,
                             furrow_error *err) FURROW_MUST_USE;
/* Bytes read from the file itself so far (before decompression). */
uint64_t fw_stream_consumed(const fw_stream *stream);
void fw_stream_close(fw_stream *stream);

/* ---- Detecting and decoding compressed data; for the streams and the list of files ----------------------- */

#define FW_SOURCE_BUFFER ((size_t)256 * 1024)
#define FW_CODEC_HEAD 16 /* first bytes of a file that suffice to detect every compression */

/* The raw bytes of a file, read through a buffer. */
typedef struct fw_source {
  const char *path;
  fw_input *input;
  bool ended;
  unsigned char *buffer; /* FW_SOURCE_BUFFER bytes */
  size_t used, filled;   /* in the buffer: bytes consumed, bytes read */
  uint64_t taken;        /* bytes read from the file */
} fw_source;

/* Reads until at least `wanted` unused bytes are in the buffer (contiguous, from buffer + used) or the file ends.
 * wanted <= FW_SOURCE_BUFFER. */
furrow_status fw_source_fill(fw_source *source, size_t wanted, furrow_error *err) FURROW_MUST_USE;
/* The offset in the file of the next byte to be consumed. */
static inline uint64_t fw_source_offset(const fw_source *source) {
  return source->taken - (source->filled - source->used);
}
static inline size_t fw_source_unused(const fw_source *source) {
  return source->filled - source->used;
}

/* Turns a source into text. */
typedef struct fw_decoder {
  furrow_status (*create)(void **state, furrow_error *err);
  /* Fills buffer; *got (0 at the call) is less than size only at the end of the data. Unlike elsewhere, *got also
   * counts the bytes before a failure, so that the failure has an offset. */
  furrow_status (*read)(void *state, fw_source *source, void *buffer, size_t size, size_t *got, furrow_error *err);
  void (*free)(void *state);
} fw_decoder;

extern const fw_decoder fw_decoder_gzip;
extern const fw_decoder fw_decoder_zstd;
extern const fw_decoder fw_decoder_recordio;   /* a line for every record */
extern const fw_decoder fw_decoder_json_array; /* a line for every object */
/* Whether the first bytes of a file are those of an array of JSON objects. */
bool fw_json_array_begins(const unsigned char *head, size_t size);
/* Their create fails with E_UNSUPPORTED if the library that each needs is not installed. */
extern const fw_decoder fw_decoder_xz;
extern const fw_decoder fw_decoder_bzip2;
extern const fw_decoder fw_decoder_lz4;

/* E_FORMAT: "NAME data WHAT: WHY (after byte N of the compressed file)"; why may be NULL. */
furrow_status fw_source_fail(const fw_source *source, const char *name, const char *what, const char *why,
                             furrow_error *err);

/* Detects PLAIN, an array of JSON, or a compression from the first bytes of a file (FW_CODEC_HEAD, or all it has).
 * E_UNSUPPORTED names a compression that is recognised but not supported. */
furrow_status fw_codec_detect(fw_file_kind *kind, const unsigned char *head, size_t size, const char *path,
                              furrow_error *err) FURROW_MUST_USE;

#endif
