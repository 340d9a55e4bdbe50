/* array/bytes_in.c: reads bytes from a plain file by offset, from a stream in order, or inflates a part of a file. */
#include "array/bytes_in.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/input.h"
#include "io/stream.h"

#define PACKED_BUFFER ((size_t)128 * 1024)

struct fw_bytes_in {
  char *path;
  const fw_input *input; /* NULL: a stream */
  fw_input *own;         /* the input, if it has to be closed here */
  fw_stream *stream;
  z_stream *inflater;
  unsigned char *packed; /* PACKED_BUFFER bytes, for the inflater */
  uint64_t packed_left;  /* deflated bytes of the part that have not been read yet */
  uint64_t packed_at;    /* their offset in the file */
  uint64_t base;         /* offset of the first byte in the file */
  uint64_t size;
  uint64_t at;
  bool checked;
  uint32_t crc, wanted_crc;
  uint64_t crc_at; /* the number of bytes that the CRC covers so far */
};

furrow_status fw_bytes_in_fail(const fw_bytes_in *in, uint64_t offset, furrow_error *err, furrow_status status,
                               const char *format, ...) {
  char message[sizeof err->message];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  fw_fail(err, status, "%s", message);
  fw_error_set_file(err, in->path);
  if (err) err->offset = in->base + offset;
  return status;
}

static furrow_status create_bytes_in(fw_bytes_in **in, const char *path, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_bytes_in), err);
  if (status != FURROW_OK) return status;
  fw_bytes_in *made = memory;
  made->size = FW_BYTES_UNKNOWN;
  status = fw_strndup(&made->path, path, strlen(path), err);
  if (status != FURROW_OK) {
    fw_free(made);
    return status;
  }
  *in = made;
  return FURROW_OK;
}

static furrow_status open_plain(fw_bytes_in *in, furrow_error *err) {
  struct stat info;
  FW_TRY(fw_input_open(&in->own, in->path, err));
  in->input = in->own;
  FW_TRY(fw_input_stat(in->input, &info, err));
  if (!S_ISREG(info.st_mode)) {
    fw_fail(err, FURROW_E_ARGUMENT, "%s", S_ISDIR(info.st_mode) ? "a directory, not a file" : "not a regular file");
    fw_error_set_file(err, in->path);
    return FURROW_E_ARGUMENT;
  }
  in->size = (uint64_t)info.st_size;
  return FURROW_OK;
}

furrow_status fw_bytes_in_open_plain(fw_bytes_in **in, const char *path, furrow_error *err) {
  fw_bytes_in *made = NULL;
  furrow_status status = create_bytes_in(&made, path, err);
  if (status == FURROW_OK) status = open_plain(made, err);
  return FW_HAND_OVER(status, in, made, fw_bytes_in_close);
}

static furrow_status open_found(fw_bytes_in **in, const fw_file *file, furrow_error *err) {
  if (file->kind == FW_FILE_PLAIN) return fw_bytes_in_open_plain(in, file->path, err);
  fw_bytes_in *made = NULL;
  furrow_status status = create_bytes_in(&made, file->path, err);
  if (status == FURROW_OK) status = fw_stream_open(&made->stream, file, err);
  return FW_HAND_OVER(status, in, made, fw_bytes_in_close);
}

furrow_status fw_bytes_in_open(fw_bytes_in **in, const char *path, furrow_error *err) {
  fw_fileset set = {0};
  char *paths[] = {(char *)path};
  furrow_status status = fw_fileset_open(&set, paths, 1, err);
  if (status == FURROW_OK && set.nfiles != 1) {
    status = fw_fail(err, FURROW_E_ARGUMENT, "%zu files, but one is expected", set.nfiles);
    fw_error_set_file(err, path);
  }
  if (status == FURROW_OK) status = open_found(in, &set.files[0], err);
  fw_fileset_clear(&set);
  return status;
}

static furrow_status start_inflater(fw_bytes_in *in, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc(&memory, PACKED_BUFFER, 1, err);
  if (status != FURROW_OK) return status;
  in->packed = memory;
  status = fw_alloc_zero(&memory, 1, sizeof(z_stream), err);
  if (status != FURROW_OK) return status;
  if (inflateInit2(memory, -MAX_WBITS) != Z_OK) {
    fw_free(memory);
    return fw_fail_memory(err, (size_t)1 << MAX_WBITS);
  }
  in->inflater = memory;
  return FURROW_OK;
}

furrow_status fw_bytes_in_open_part(fw_bytes_in **in, const fw_bytes_in *file, const fw_bytes_part *part,
                                    furrow_error *err) {
  fw_bytes_in *made = NULL;
  furrow_status status = create_bytes_in(&made, file->path, err);
  if (status != FURROW_OK) return status;
  made->input = file->input;
  made->base = file->base + part->offset;
  made->size = part->deflated ? part->full_size : part->size;
  made->checked = part->checked;
  made->wanted_crc = part->crc;
  made->packed_left = part->size;
  made->packed_at = made->base;
  if (part->deflated) status = start_inflater(made, err);
  return FW_HAND_OVER(status, in, made, fw_bytes_in_close);
}

void fw_bytes_in_close(fw_bytes_in *in) {
  if (!in) return;
  fw_input_close(in->own);
  if (in->stream) fw_stream_close(in->stream);
  if (in->inflater) inflateEnd(in->inflater);
  fw_free(in->inflater);
  fw_free(in->packed);
  fw_free(in->path);
  fw_free(in);
}

const char *fw_bytes_in_path(const fw_bytes_in *in) {
  return in->path;
}

uint64_t fw_bytes_in_size(const fw_bytes_in *in) {
  return in->size;
}

uint64_t fw_bytes_in_offset(const fw_bytes_in *in) {
  return in->at;
}

bool fw_bytes_in_can_seek(const fw_bytes_in *in) {
  return !in->stream && !in->inflater;
}

furrow_status fw_bytes_in_seek(fw_bytes_in *in, uint64_t offset, furrow_error *err) {
  if (offset == in->at) return FURROW_OK;
  if (!fw_bytes_in_can_seek(in))
    return fw_bytes_in_fail(in, in->at, err, FURROW_E_STATE, "a stream or compressed: it can only be read in order");
  in->at = offset;
  return FURROW_OK;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status fill_packed(fw_bytes_in *in, furrow_error *err) {
  size_t want = in->packed_left < PACKED_BUFFER ? (size_t)in->packed_left : PACKED_BUFFER, got;
  FW_TRY(fw_input_read_at(in->input, in->packed, want, in->packed_at, &got, err));
  if (got < want) return fw_bytes_in_fail(in, 0, err, FURROW_E_FORMAT, "the file became shorter while it was read");
  in->packed_at += got;
  in->packed_left -= got;
  in->inflater->next_in = in->packed;
  in->inflater->avail_in = (uInt)got;
  return FURROW_OK;
}

static furrow_status fail_inflate(const fw_bytes_in *in, furrow_error *err, const char *why) {
  fw_bytes_in_fail(in, 0, err, FURROW_E_FORMAT, "the deflated bytes are damaged: %s", why);
  if (err) err->offset = in->packed_at - in->inflater->avail_in;
  return FURROW_E_FORMAT;
}

/* Inflates one step into buffer; *ended: the deflated data has ended. */
static furrow_status inflate_step(fw_bytes_in *in, void *buffer, size_t size, size_t *got, bool *ended,
                                  furrow_error *err) {
  z_stream *z = in->inflater;
  if (z->avail_in == 0 && in->packed_left > 0) {
    FW_TRY(fill_packed(in, err));
  }
  const uInt avail = size < UINT32_MAX ? (uInt)size : UINT32_MAX;
  z->next_out = buffer;
  z->avail_out = avail;
  const int result = inflate(z, Z_NO_FLUSH);
  *got = avail - z->avail_out;
  *ended = result == Z_STREAM_END;
  if (result == Z_OK || result == Z_STREAM_END) return FURROW_OK;
  if (result == Z_MEM_ERROR) return fw_fail_memory(err, (size_t)1 << MAX_WBITS);
  return fail_inflate(in, err, result == Z_DATA_ERROR ? z->msg : "cut short");
}

/* size is at most what the directory says is left. After the last byte, the deflated data must end as well. */
static furrow_status inflate_bytes(fw_bytes_in *in, char *buffer, size_t size, furrow_error *err) {
  bool ended = false;
  size_t done = 0, got = 0;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && done < size) {
    if (ended) return fail_inflate(in, err, "fewer bytes than the directory says");
    status = inflate_step(in, buffer + done, size - done, &got, &ended, err);
    done += got;
  }
  char more;
  while (status == FURROW_OK && in->at + size == in->size && !ended) {
    status = inflate_step(in, &more, 1, &got, &ended, err);
    if (status == FURROW_OK && got) return fail_inflate(in, err, "more bytes than the directory says");
  }
  if (status == FURROW_OK && ended && (in->packed_left || in->inflater->avail_in))
    return fail_inflate(in, err, "other bytes follow");
  return status;
}

/* Updates the CRC with the bytes just read. Only bytes that are read in order from the first one can be checked. */
static furrow_status check_crc(fw_bytes_in *in, const void *buffer, size_t size, furrow_error *err) {
  if (!in->checked || in->at != in->crc_at) return FURROW_OK;
  in->crc = (uint32_t)crc32_z(in->crc, buffer, size);
  in->crc_at += size;
  if (in->crc_at < in->size || in->crc == in->wanted_crc) return FURROW_OK;
  return fw_bytes_in_fail(in, 0, err, FURROW_E_FORMAT, "the checksum is %08x, not %08x", (unsigned)in->crc,
                          (unsigned)in->wanted_crc);
}

static furrow_status read_place(fw_bytes_in *in, void *buffer, size_t size, size_t *got, furrow_error *err) {
  const uint64_t left = in->size > in->at ? in->size - in->at : 0;
  size_t n = size < left ? size : (size_t)left;
  furrow_status status;
  if (in->inflater) {
    status = inflate_bytes(in, buffer, n, err);
  } else {
    status = fw_input_read_at(in->input, buffer, n, in->base + in->at, &n, err);
  }
  if (status == FURROW_OK) status = check_crc(in, buffer, n, err);
  if (status == FURROW_OK) *got = n;
  return status;
}

furrow_status fw_bytes_in_read(fw_bytes_in *in, void *buffer, size_t size, size_t *got, furrow_error *err) {
  size_t n = 0;
  furrow_status status =
      in->stream ? fw_stream_read(in->stream, buffer, size, &n, err) : read_place(in, buffer, size, &n, err);
  if (status != FURROW_OK) return status;
  in->at += n;
  *got = n;
  return FURROW_OK;
}

furrow_status fw_bytes_in_read_all(fw_bytes_in *in, void *buffer, size_t size, const char *what, furrow_error *err) {
  size_t got;
  furrow_status status = fw_bytes_in_read(in, buffer, size, &got, err);
  if (status != FURROW_OK || got == size) return status;
  return fw_bytes_in_fail(in, in->at, err, FURROW_E_FORMAT, "ends within %s", what);
}
