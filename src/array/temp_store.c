/* array/temp_store.c: a buffer that spills to a nameless file when it is full. */
#include "array/temp_store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/input.h"
#include "io/temporary.h"

#define BUFFER_SIZE ((size_t)1 << 20)

struct fw_temp_store {
  char *folder;
  int fd; /* -1: none yet */
  char *buffer;
  size_t filled;
  uint64_t flushed;
};

static furrow_status fail_errno(const fw_temp_store *store, furrow_error *err, const char *what) {
  fw_fail_errno(err, FURROW_E_IO, errno, "%s", what);
  fw_error_set_file(err, store->folder);
  return FURROW_E_IO;
}

static furrow_status start_store(fw_temp_store *store, const char *near_path, furrow_error *err) {
  const char *slash = strrchr(near_path, '/');
  const size_t length = slash ? (size_t)(slash - near_path) : 0;
  void *memory;
  furrow_status status = length ? fw_strndup(&store->folder, near_path, length, err)
                                : fw_strndup(&store->folder, slash ? "/" : ".", 1, err);
  if (status == FURROW_OK) status = fw_alloc(&memory, BUFFER_SIZE, 1, err);
  if (status == FURROW_OK) store->buffer = memory;
  return status;
}

furrow_status fw_temp_store_open(fw_temp_store **store, const char *near_path, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_temp_store), err);
  if (status != FURROW_OK) return status;
  fw_temp_store *made = memory;
  made->fd = -1;
  status = start_store(made, near_path, err);
  return FW_HAND_OVER(status, store, made, fw_temp_store_close);
}

static furrow_status flush_store(fw_temp_store *store, const char *data, size_t size, furrow_error *err) {
  if (store->fd < 0) FW_TRY(fw_temporary_nameless(&store->fd, store->folder, err));
  while (size > 0) {
    const ssize_t n = write(store->fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(store, err, "cannot write to a temporary file");
    data += n;
    size -= (size_t)n;
    store->flushed += (uint64_t)n;
  }
  return FURROW_OK;
}

furrow_status fw_temp_store_write(fw_temp_store *store, const void *data, size_t size, furrow_error *err) {
  if (size > BUFFER_SIZE - store->filled) {
    FW_TRY(flush_store(store, store->buffer, store->filled, err));
    store->filled = 0;
    if (size >= BUFFER_SIZE) return flush_store(store, data, size, err);
  }
  if (size) memcpy(store->buffer + store->filled, data, size);
  store->filled += size;
  return FURROW_OK;
}

uint64_t fw_temp_store_size(const fw_temp_store *store) {
  return store->flushed + store->filled;
}

furrow_status fw_temp_store_drain(fw_temp_store *store, fw_temp_store_sink sink, void *context, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (store->flushed == 0) return sink(context, store->buffer, store->filled, err);
  status = flush_store(store, store->buffer, store->filled, err);
  store->filled = 0;
  for (uint64_t at = 0; at < store->flushed && status == FURROW_OK;) {
    size_t got = 0;
    status = fw_descriptor_read_at(store->fd, store->folder, store->buffer, BUFFER_SIZE, at, &got, err);
    if (status == FURROW_OK && got == 0) status = fw_fail(err, FURROW_E_IO, "a temporary file became shorter");
    if (status == FURROW_OK) status = sink(context, store->buffer, got, err);
    at += got;
  }
  return status;
}

void fw_temp_store_close(fw_temp_store *store) {
  if (!store) return;
  if (store->fd >= 0) close(store->fd);
  fw_free(store->folder);
  fw_free(store->buffer);
  fw_free(store);
}
