/* io/fetched.c: copies of files elsewhere. */
#include "io/fetched.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/input.h"
#include "io/temporary.h"

enum { PIECE = 1 << 20 };
#define KEPT_BYTES ((uint64_t)4 << 30)

struct fw_fetched {
  fw_fetched *next; /* used before this one */
  char *path;
  struct stat info; /* of the path */
  int fd;           /* -1: none */
  char name[40];
  size_t users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fw_fetched *copies; /* the last one that was used comes first */

static void free_copy(fw_fetched *copy) {
  if (copy->fd >= 0) close(copy->fd);
  fw_free(copy->path);
  fw_free(copy);
}

/* ---- Fetching ------------------------------------------------------------------------------------------- */

static furrow_status write_piece(const fw_fetched *copy, const char *bytes, size_t size, furrow_error *err) {
  while (size > 0) {
    const ssize_t n = write(copy->fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      fw_fail_errno(err, FURROW_E_IO, errno, "cannot write a copy of the file to this machine");
      fw_error_set_hint(err, "TMPDIR names the folder of such copies");
      return FURROW_E_IO;
    }
    bytes += n;
    size -= (size_t)n;
  }
  return FURROW_OK;
}

static furrow_status copy_bytes(const fw_fetched *copy, const fw_input *input, char *piece, furrow_error *err) {
  uint64_t offset = 0;
  if (copy->info.st_size > 0) fw_input_expect(input, 0, (uint64_t)copy->info.st_size);
  for (size_t got = 1; got > 0; offset += got) {
    FW_TRY(fw_input_read_some(input, piece, PIECE, offset, &got, err));
    FW_TRY(write_piece(copy, piece, got, err));
  }
  return FURROW_OK;
}

static furrow_status fetch(fw_fetched *copy, furrow_error *err) {
  const char *folder = getenv("TMPDIR");
  fw_input *input = NULL;
  char *piece = NULL;
  furrow_status status = fw_temporary_nameless(&copy->fd, folder && folder[0] ? folder : "/tmp", err);
  if (status == FURROW_OK) status = FW_ALLOC(&piece, PIECE, err);
  if (status == FURROW_OK) status = fw_input_open(&input, copy->path, err);
  if (status == FURROW_OK) status = copy_bytes(copy, input, piece, err);
  snprintf(copy->name, sizeof copy->name, "/proc/self/fd/%d", copy->fd);
  fw_input_close(input);
  fw_free(piece);
  return status;
}

/* ---- The list of copies; under the lock ------------------------------------------------------------------ */

static bool is_copy_of(const fw_fetched *copy, const char *path, const struct stat *info) {
  return strcmp(copy->path, path) == 0 && copy->info.st_size == info->st_size &&
         copy->info.st_mtim.tv_sec == info->st_mtim.tv_sec && copy->info.st_mtim.tv_nsec == info->st_mtim.tv_nsec;
}

static void put_first(fw_fetched *copy) {
  copy->users++;
  copy->next = copies;
  copies = copy;
}

/* Returns NULL if there is none. A file whose date is unknown may have changed. */
static fw_fetched *use_again(const char *path, const struct stat *info) {
  const bool dated = info->st_mtim.tv_sec != 0 || info->st_mtim.tv_nsec != 0;
  for (fw_fetched **at = &copies; dated && *at; at = &(*at)->next) {
    fw_fetched *const copy = *at;
    if (!is_copy_of(copy, path, info)) continue;
    *at = copy->next;
    put_first(copy);
    return copy;
  }
  return NULL;
}

static void drop_old(void) {
  uint64_t bytes = 0;
  for (fw_fetched **at = &copies; *at;) {
    fw_fetched *const copy = *at;
    bytes += (uint64_t)copy->info.st_size;
    if (copy->users > 0 || bytes <= KEPT_BYTES) {
      at = &copy->next;
    } else {
      *at = copy->next;
      free_copy(copy);
    }
  }
}

/* ---- Interface ------------------------------------------------------------------------------------------ */

furrow_status fw_fetched_open(fw_fetched **copy, const char *path, furrow_error *err) {
  struct stat info;
  FW_TRY(fw_path_stat(path, &info, err));
  pthread_mutex_lock(&lock);
  fw_fetched *made = use_again(path, &info);
  pthread_mutex_unlock(&lock);
  if (!made) {
    FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
    made->fd = -1;
    made->info = info;
    furrow_status status = fw_strndup(&made->path, path, strlen(path), err);
    if (status == FURROW_OK) status = fetch(made, err);
    if (status != FURROW_OK) {
      free_copy(made);
      return status;
    }
    pthread_mutex_lock(&lock);
    put_first(made);
    pthread_mutex_unlock(&lock);
  }
  *copy = made;
  return FURROW_OK;
}

const char *fw_fetched_name(const fw_fetched *copy) {
  return copy->name;
}

void fw_fetched_close(fw_fetched *copy) {
  if (!copy) return;
  pthread_mutex_lock(&lock);
  copy->users--;
  drop_old();
  pthread_mutex_unlock(&lock);
}
