/* serve/catalog/file_print.c: fingerprints of files. */
#include "catalog/file_print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

/* FNV-1a */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
  for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
  return hash;
}

void file_print_add(file_print *print, const char *name, const struct stat *info) {
  const int64_t facts[] = {(int64_t)info->st_size, (int64_t)info->st_mtim.tv_sec, (int64_t)info->st_mtim.tv_nsec,
                           (int64_t)info->st_ino, (int64_t)info->st_dev};
  uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), name, strlen(name) + 1);
  hash = hash_bytes(hash, facts, sizeof facts);
  print->hash += hash ^ (hash >> 29);
  print->bytes += (uint64_t)info->st_size;
}

bool file_print_add_path(file_print *print, const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return false;
  file_print_add(print, path, &info);
  return true;
}

bool file_print_equals(const file_print *a, const file_print *b) {
  return a->hash == b->hash && a->bytes == b->bytes;
}

furrow_status index_print_get(file_print *print, const char *path, furrow_error *err) {
  char *names = NULL;
  *print = (file_print){0};
  if (!file_print_add_path(print, path))
    return fail_file(err, errno == ENOENT || errno == ENOTDIR ? FURROW_E_NOT_FOUND : FURROW_E_IO, path,
                     "cannot be found", errno);
  if (asprintf(&names, "%s.names", path) < 0) return fail_memory(err);
  file_print_add_path(print, names);
  free(names);
  return FURROW_OK;
}
