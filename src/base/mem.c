/* base/mem.c: allocation with checked sizes. */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

/* The caller's pointer may have any type (FW_ALLOC), so it is read and written as bytes. */
static void *get_pointer(void **memory) {
  void *p;
  memcpy(&p, memory, sizeof p);
  return p;
}

static void set_pointer(void **memory, void *p) {
  memcpy(memory, &p, sizeof p);
}

furrow_status fw_alloc(void **memory, size_t count, size_t size, furrow_error *err) {
  size_t bytes;
  if (!fw_size_mul(count, size, &bytes)) return fw_fail_memory(err, SIZE_MAX);
  void *p = malloc(bytes ? bytes : 1);
  if (!p) return fw_fail_memory(err, bytes);
  set_pointer(memory, p);
  return FURROW_OK;
}

furrow_status fw_alloc_zero(void **memory, size_t count, size_t size, furrow_error *err) {
  void *p = calloc(count ? count : 1, size ? size : 1);
  if (!p) return fw_fail_memory(err, size != 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size);
  set_pointer(memory, p);
  return FURROW_OK;
}

furrow_status fw_realloc(void **memory, size_t count, size_t size, furrow_error *err) {
  size_t bytes;
  if (!fw_size_mul(count, size, &bytes)) return fw_fail_memory(err, SIZE_MAX);
  void *p = realloc(get_pointer(memory), bytes ? bytes : 1);
  if (!p) return fw_fail_memory(err, bytes);
  set_pointer(memory, p);
  return FURROW_OK;
}

furrow_status fw_grow(void **memory, size_t *capacity, size_t count, size_t size, furrow_error *err) {
  if (count <= *capacity) return FURROW_OK;
  size_t wanted = *capacity + *capacity / 2;
  if (wanted < count) wanted = count;
  if (wanted < 16) wanted = 16;
  furrow_status status = fw_realloc(memory, wanted, size, err);
  if (status == FURROW_OK) *capacity = wanted;
  return status;
}

furrow_status fw_strndup(char **copy, const char *text, size_t n, furrow_error *err) {
  void *p = NULL;
  size_t bytes;
  if (!fw_size_add(n, 1, &bytes)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_alloc(&p, bytes, 1, err));
  if (n) memcpy(p, text, n);
  ((char *)p)[n] = 0;
  *copy = p;
  return FURROW_OK;
}

void fw_free(void *memory) {
  free(memory);
}

void fw_prefer_large_pages(void *memory, size_t bytes) {
  const size_t much = (size_t)4 << 20;
  if (bytes < much) return;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  /* Rounded outwards, so that the pages of a large block stay one mapping, which realloc can grow without a copy. */
  const uintptr_t begin = (uintptr_t)memory / page * page;
  const uintptr_t end = ((uintptr_t)memory + bytes + page - 1) / page * page;
  (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

/* The size of a reservation is stored before its first byte. */
enum { RESERVED_HEADER = 64 };

furrow_status fw_reserve(void **memory, size_t bytes, furrow_error *err) {
  size_t all;
  if (!fw_size_add(bytes, RESERVED_HEADER, &all)) return fw_fail_memory(err, SIZE_MAX);
  void *start = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return fw_fail_memory(err, bytes);
  memcpy(start, &all, sizeof all);
  *memory = (uint8_t *)start + RESERVED_HEADER;
  return FURROW_OK;
}

void fw_release(void *memory) {
  size_t all;
  if (!memory) return;
  void *start = (uint8_t *)memory - RESERVED_HEADER;
  memcpy(&all, start, sizeof all);
  munmap(start, all);
}

void furrow_free(void *memory) {
  fw_free(memory);
}
