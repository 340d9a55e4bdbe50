/* io/stream.c: reads the bytes of a file in order, through a decoder. */
#include "io/stream.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/recordio.h"
#include "io/table_file.h"

struct fw_stream {
  fw_source source;
  char *path;
  const fw_decoder *decoder;
  void *state;
  uint64_t given;      /* bytes of text returned so far */
  fw_table_file table; /* of typed columns */
  furrow_error error;  /* error of the read that failed; later reads report it again */
};

/* ---- compressions ---- */

typedef struct codec {
  const char *name;
  const fw_decoder *decoder; /* NULL: recognised, but not supported */
  fw_file_kind kind;
  size_t offset, length; /* offset and length of the bytes that identify it */
  const char *magic;
} codec;

static const codec codecs[] = {
    {"gzip", &fw_decoder_gzip, FW_FILE_GZIP, 0, 2, "\x1f\x8b"},
    {"zstd", &fw_decoder_zstd, FW_FILE_ZSTD, 0, 4, "\x28\xb5\x2f\xfd"},
    {"zstd", &fw_decoder_zstd, FW_FILE_ZSTD, 1, 3, "\x2a\x4d\x18"}, /* 5? 2a 4d 18: begins with a skippable frame */
    {"bzip2", &fw_decoder_bzip2, FW_FILE_BZIP2, 4, 6, "1AY&SY"},    /* BZh and a digit, then a block */
    {"bzip2", &fw_decoder_bzip2, FW_FILE_BZIP2, 4, 6, "\x17\x72\x45\x38\x50\x90"}, /* … or the end of an empty stream */
    {"xz", &fw_decoder_xz, FW_FILE_XZ, 0, 6, "\xfd\x37zXZ\0"},
    {"RecordIO", &fw_decoder_recordio, FW_FILE_RECORDIO, 0, 4, FW_RECORDIO_MAGIC},
    {"zip", NULL, FW_FILE_PLAIN, 0, 4, "PK\3\4"},
    {"zip", NULL, FW_FILE_PLAIN, 0, 4, "PK\5\6"},
    {"lz4", &fw_decoder_lz4, FW_FILE_LZ4, 0, 4, "\x04\x22\x4d\x18"},
    {"lz4 of its old format", NULL, FW_FILE_PLAIN, 0, 4, "\x02\x21\x4c\x18"},
    {"snappy", NULL, FW_FILE_PLAIN, 0, 10, "\xff\x06\0\0sNaPpY"},
    {"7z", NULL, FW_FILE_PLAIN, 0, 6, "7z\xbc\xaf\x27\x1c"},
    {"compress (.Z)", NULL, FW_FILE_PLAIN, 0, 2, "\x1f\x9d"},
};

static const codec *find_codec(const unsigned char *head, size_t size) {
  for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
    const codec *c = &codecs[i];
    if (size >= c->offset + c->length && memcmp(head + c->offset, c->magic, c->length) == 0) return c;
  }
  return NULL;
}

furrow_status fw_codec_detect(fw_file_kind *kind, const unsigned char *head, size_t size, const char *path,
                              furrow_error *err) {
  const codec *found = find_codec(head, size);
  if (found && !found->decoder) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "compressed with %s, which is not supported (gzip, zstd, xz, bzip2 and lz4 are)",
            found->name);
    fw_error_set_file(err, path);
    return FURROW_E_UNSUPPORTED;
  }
  *kind = found ? found->kind : fw_json_array_begins(head, size) ? FW_FILE_JSON : FW_FILE_PLAIN;
  return FURROW_OK;
}

/* ---- the file's own bytes ---- */

/* Reads once from the file. 0 bytes mean that it has ended; it is then not read again (a terminal would continue). */
static furrow_status read_source(fw_source *source, void *buffer, size_t size, size_t *got, furrow_error *err) {
  *got = 0;
  if (source->ended) return FURROW_OK;
  FW_TRY(fw_input_read_some(source->input, buffer, size, source->taken, got, err));
  source->ended = *got == 0;
  source->taken += *got;
  return FURROW_OK;
}

furrow_status fw_source_fill(fw_source *source, size_t wanted, furrow_error *err) {
  size_t unused = fw_source_unused(source);
  if (unused >= wanted) return FURROW_OK;
  memmove(source->buffer, source->buffer + source->used, unused);
  source->used = 0;
  source->filled = unused;
  while (source->filled < wanted && !source->ended) {
    size_t got = 0;
    FW_TRY(read_source(source, source->buffer + source->filled, FW_SOURCE_BUFFER - source->filled, &got, err));
    source->filled += got;
  }
  return FURROW_OK;
}

furrow_status fw_source_fail(const fw_source *source, const char *name, const char *what, const char *why,
                             furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "%s data %s%s%s (after byte %llu of the compressed file)", name, what,
                 why ? ": " : "", why ? why : "", (unsigned long long)fw_source_offset(source));
}

/* ---- plain text: first the bytes that were inspected, then directly into the caller's buffer ---- */

static furrow_status create_plain(void **state, furrow_error *err) {
  (void)err;
  *state = NULL;
  return FURROW_OK;
}

static furrow_status read_plain(void *state, fw_source *source, void *buffer, size_t size, size_t *got,
                                furrow_error *err) {
  (void)state;
  size_t unused = fw_source_unused(source), n = unused < size ? unused : size;
  memcpy(buffer, source->buffer + source->used, n);
  source->used += n;
  *got = n;
  while (*got < size && !source->ended) {
    FW_TRY(read_source(source, (char *)buffer + *got, size - *got, &n, err));
    *got += n;
  }
  return FURROW_OK;
}

static void free_plain(void *state) {
  (void)state;
}

static const fw_decoder decoder_plain = {create_plain, read_plain, free_plain};

static const fw_decoder *decoder_of(fw_file_kind kind) {
  for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++)
    if (codecs[i].decoder && codecs[i].kind == kind) return codecs[i].decoder;
  return kind == FW_FILE_JSON ? &fw_decoder_json_array : &decoder_plain;
}

/* ---- columns ---- */

static furrow_status create_columns(void **state, furrow_error *err) {
  (void)state, (void)err;
  return FURROW_OK; /* start_columns has opened it */
}

static furrow_status read_columns(void *state, fw_source *source, void *buffer, size_t size, size_t *got,
                                  furrow_error *err) {
  (void)source;
  return fw_columns_reader_read(state, buffer, size, got, err);
}

static void free_columns(void *state) {
  fw_columns_reader_close(state);
}

static const fw_decoder decoder_columns = {create_columns, read_columns, free_columns};

static furrow_status start_columns(fw_stream *stream, const char *const *names, size_t count, furrow_error *err) {
  fw_columns_reader *reader = NULL;
  FW_TRY(fw_table_file_open(&stream->table, stream->path, err));
  FW_TRY(fw_columns_reader_open(&reader, stream->table.columns, names, count, err));
  stream->state = reader;
  stream->decoder = &decoder_columns;
  return FURROW_OK;
}

/* ---- streams ---- */

/* The kind of a pipe is detected from the first bytes that come out of it. */
static furrow_status find_kind(fw_stream *stream, fw_file_kind *kind, furrow_error *err) {
  if (*kind != FW_FILE_PIPE) return FURROW_OK;
  fw_source *source = &stream->source;
  FW_TRY(fw_source_fill(source, FW_CODEC_HEAD, err));
  return fw_codec_detect(kind, source->buffer, fw_source_unused(source), source->path, err);
}

static furrow_status start_stream(fw_stream *stream, const fw_file *file, furrow_error *err) {
  fw_file_kind kind = file->kind;
  furrow_status status = fw_strndup(&stream->path, file->path, strlen(file->path), err);
  if (status != FURROW_OK) return status;
  stream->source.path = stream->path;
  status = FW_ALLOC(&stream->source.buffer, FW_SOURCE_BUFFER, err);
  if (status != FURROW_OK) return status;
  fw_input **input = &stream->source.input;
  status = strcmp(stream->path, "-") == 0 ? fw_input_open_stdin(input, err) : fw_input_open(input, stream->path, err);
  if (status == FURROW_OK) status = find_kind(stream, &kind, err);
  if (status != FURROW_OK) return status;
  const fw_decoder *decoder = decoder_of(kind);
  status = decoder->create(&stream->state, err);
  if (status == FURROW_OK) stream->decoder = decoder;
  return status;
}

furrow_status fw_stream_open_columns(fw_stream **stream, const fw_file *file, const char *const *names, size_t count,
                                     furrow_error *err) {
  fw_stream *opened;
  if (file->kind != FW_FILE_COLUMNS) return fw_stream_open(stream, file, err);
  FW_TRY(FW_ALLOC_ZERO(&opened, 1, err));
  furrow_status status = fw_strndup(&opened->path, file->path, strlen(file->path), err);
  if (status == FURROW_OK) {
    status = start_columns(opened, names, count, err);
    if (status != FURROW_OK && status != FURROW_E_NOT_FOUND && err && !err->file[0]) fw_error_set_file(err, file->path);
  }
  return FW_HAND_OVER(status, stream, opened, fw_stream_close);
}

furrow_status fw_stream_open(fw_stream **stream, const fw_file *file, furrow_error *err) {
  if (file->kind == FW_FILE_COLUMNS) return fw_stream_open_columns(stream, file, NULL, 0, err);
  fw_stream *opened;
  furrow_status status = FW_ALLOC_ZERO(&opened, 1, err);
  if (status != FURROW_OK) return status;
  status = start_stream(opened, file, err);
  return FW_HAND_OVER(status, stream, opened, fw_stream_close);
}

furrow_status fw_stream_read(fw_stream *stream, void *buffer, size_t size, size_t *got, furrow_error *err) {
  size_t n = 0;
  if (stream->error.status == FURROW_OK && size > 0) {
    furrow_status status = stream->decoder->read(stream->state, &stream->source, buffer, size, &n, &stream->error);
    stream->given += n;
    if (status != FURROW_OK) {
      fw_error_set_file(&stream->error, stream->path);
      stream->error.offset = stream->given;
    }
  }
  if (stream->error.status != FURROW_OK) {
    if (err) *err = stream->error;
    return stream->error.status;
  }
  *got = n;
  return FURROW_OK;
}

uint64_t fw_stream_consumed(const fw_stream *stream) {
  return fw_source_offset(&stream->source);
}

void fw_stream_close(fw_stream *stream) {
  if (!stream) return;
  if (stream->decoder) stream->decoder->free(stream->state);
  fw_table_file_close(&stream->table);
  fw_input_close(stream->source.input);
  fw_free(stream->source.buffer);
  fw_free(stream->path);
  fw_free(stream);
}
