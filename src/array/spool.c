/* array/spool.c: a buffer, and a file without a name when that is full. */
#include "array/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/stream.h"

#define BUFFER_SIZE ((size_t)1 << 20)

struct fw_spool {
  char *folder;
  int fd; /* -1: none yet */
  char *buffer;
  size_t filled;
  uint64_t flushed;
};

static furrow_status fail_errno(const fw_spool *spool, furrow_error *err, const char *what) {
  fw_fail_errno(err, FURROW_E_IO, errno, "%s", what);
  fw_error_set_file(err, spool->folder);
  return FURROW_E_IO;
}

static furrow_status start(fw_spool *spool, const char *beside, furrow_error *err) {
  const char *slash = strrchr(beside, '/');
  const size_t length = slash ? (size_t)(slash - beside) : 0;
  void *memory;
  furrow_status status =
      length ? fw_strndup(&spool->folder, beside, length, err) : fw_strndup(&spool->folder, slash ? "/" : ".", 1, err);
  if (status == FURROW_OK) status = fw_alloc(&memory, BUFFER_SIZE, 1, err);
  if (status == FURROW_OK) spool->buffer = memory;
  return status;
}

furrow_status fw_spool_open(fw_spool **spool, const char *beside, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_spool), err);
  if (status != FURROW_OK) return status;
  fw_spool *made = memory;
  made->fd = -1;
  status = start(made, beside, err);
  if (status == FURROW_OK)
    *spool = made;
  else
    fw_spool_close(made);
  return status;
}

/* O_TMPFILE is not everywhere: then a file that loses its name at once. */
static furrow_status make_file(fw_spool *spool, furrow_error *err) {
  char name[4096];
  spool->fd = open(spool->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (spool->fd >= 0) return FURROW_OK;
  if (snprintf(name, sizeof name, "%s/.furrow-XXXXXX", spool->folder) >= (int)sizeof name) {
    errno = ENAMETOOLONG;
    return fail_errno(spool, err, "cannot create a temporary file");
  }
  spool->fd = mkostemp(name, O_CLOEXEC);
  if (spool->fd < 0) return fail_errno(spool, err, "cannot create a temporary file");
  unlink(name);
  return FURROW_OK;
}

static furrow_status flush(fw_spool *spool, const char *data, size_t size, furrow_error *err) {
  if (spool->fd < 0) {
    furrow_status status = make_file(spool, err);
    if (status != FURROW_OK) return status;
  }
  while (size > 0) {
    const ssize_t n = write(spool->fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(spool, err, "cannot write to a temporary file");
    data += n;
    size -= (size_t)n;
    spool->flushed += (uint64_t)n;
  }
  return FURROW_OK;
}

furrow_status fw_spool_write(fw_spool *spool, const void *data, size_t size, furrow_error *err) {
  if (size > BUFFER_SIZE - spool->filled) {
    furrow_status status = flush(spool, spool->buffer, spool->filled, err);
    if (status != FURROW_OK) return status;
    spool->filled = 0;
    if (size >= BUFFER_SIZE) return flush(spool, data, size, err);
  }
  if (size) memcpy(spool->buffer + spool->filled, data, size);
  spool->filled += size;
  return FURROW_OK;
}

uint64_t fw_spool_size(const fw_spool *spool) {
  return spool->flushed + spool->filled;
}

furrow_status fw_spool_drain(fw_spool *spool, fw_spool_sink sink, void *context, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (spool->flushed == 0) return sink(context, spool->buffer, spool->filled, err);
  status = flush(spool, spool->buffer, spool->filled, err);
  spool->filled = 0;
  for (uint64_t at = 0; at < spool->flushed && status == FURROW_OK;) {
    size_t got = 0;
    status = fw_file_read_at(spool->fd, spool->folder, spool->buffer, BUFFER_SIZE, at, &got, err);
    if (status == FURROW_OK && got == 0) status = fw_fail(err, FURROW_E_IO, "a temporary file became shorter");
    if (status == FURROW_OK) status = sink(context, spool->buffer, got, err);
    at += got;
  }
  return status;
}

void fw_spool_close(fw_spool *spool) {
  if (!spool) return;
  if (spool->fd >= 0) close(spool->fd);
  fw_free(spool->folder);
  fw_free(spool->buffer);
  fw_free(spool);
}
