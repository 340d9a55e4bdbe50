/* io/file_map.c: mapped files, and the handler of SIGBUS. */
#include "io/file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- The table that the handler searches ----------------------------------------------------------------- */

/* A range of addresses. The handler cannot wait for a lock, so it reads version, range, version; the range is valid
 * if both versions are the same even number. */
typedef struct mapped_range {
  atomic_uint version; /* odd: being changed */
  atomic_uintptr_t begin, end;
  atomic_bool lost;
} mapped_range;

struct fw_file_map {
  void *bytes;
  size_t size;
  int fd; /* for checking the size of the file */
  mapped_range *range;
  char *path;
};

static mapped_range ranges[FW_FILE_MAPS_MOST];
static atomic_size_t ranges_used;                               /* later entries were never used */
static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER; /* protects changes */
static uintptr_t page_size;
static struct sigaction handler_before;

/* Call it under the lock. */
static void set_range(mapped_range *range, uintptr_t begin, uintptr_t end) {
  atomic_fetch_add(&range->version, 1);
  atomic_store(&range->begin, begin);
  atomic_store(&range->end, end);
  atomic_store(&range->lost, false);
  atomic_fetch_add(&range->version, 1);
}

static mapped_range *add_range(uintptr_t begin, uintptr_t end) {
  mapped_range *found = NULL;
  pthread_mutex_lock(&ranges_lock);
  for (size_t i = 0; i < FW_FILE_MAPS_MOST && !found; i++)
    if (atomic_load(&ranges[i].end) == 0) {
      found = &ranges[i];
      set_range(found, begin, end);
      if (i >= atomic_load(&ranges_used)) atomic_store(&ranges_used, i + 1);
    }
  pthread_mutex_unlock(&ranges_lock);
  return found;
}

static void remove_range(mapped_range *range) {
  pthread_mutex_lock(&ranges_lock);
  set_range(range, 0, 0);
  pthread_mutex_unlock(&ranges_lock);
}

/* ---- The handler: nothing here but plain system calls and atomics ----------------------------------------- */

static bool range_has(const mapped_range *range, uintptr_t address, uintptr_t *end) {
  const unsigned version = atomic_load(&range->version);
  const uintptr_t from = atomic_load(&range->begin);
  *end = atomic_load(&range->end);
  return version % 2 == 0 && version == atomic_load(&range->version) && from <= address && address < *end;
}

/* The thread that faulted is using the range, so nobody changes it in the meantime. */
static bool give_zeros(uintptr_t address) {
  const size_t used = atomic_load(&ranges_used);
  for (size_t i = 0; i < used; i++) {
    uintptr_t end;
    if (!range_has(&ranges[i], address, &end)) continue;
    atomic_store(&ranges[i].lost, true);
    const uintptr_t page = address / page_size * page_size;
    return mmap((void *)page, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  }
  return false;
}

/* Handles the signal as the kernel would without our handler. */
static void pass_on(int number, siginfo_t *info, void *context) {
  const bool sent = info->si_code <= 0; /* sent by a program, not raised by an access, which would be repeated */
  if (handler_before.sa_handler == SIG_IGN && sent) return;
  /* not covered by tests: the signal ends the process before coverage is written */
  if (handler_before.sa_handler == SIG_DFL || handler_before.sa_handler == SIG_IGN) {
    signal(number, SIG_DFL);
    if (sent) raise(number); /* delivered when this handler returns */
    return;
  }
  if (handler_before.sa_flags & SA_RESETHAND) signal(number, SIG_DFL);
  if (handler_before.sa_flags & SA_SIGINFO)
    handler_before.sa_sigaction(number, info, context);
  else
    handler_before.sa_handler(number);
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
  const int kept = errno;
  if (info->si_code <= 0 || !give_zeros((uintptr_t)info->si_addr)) pass_on(number, info, context);
  errno = kept;
}

/* Keeps the mask and the flags of the previous handler. SA_ONSTACK: hosts with small stacks give their threads a
 * separate stack for signals. */
static void install_handler(void) {
  struct sigaction own = {0};
  page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
  sigaction(SIGBUS, NULL, &handler_before);
  own.sa_sigaction = on_bus_error;
  own.sa_mask = handler_before.sa_mask;
  own.sa_flags = (handler_before.sa_flags & (SA_NODEFER | SA_RESTART)) | SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &own, NULL);
}

/* ---- Maps ------------------------------------------------------------------------------------------------ */

static furrow_status fail_map(furrow_error *err, const char *path, int errnum, const char *message) {
  fw_fail_errno(err, FURROW_E_IO, errnum, "%s", message);
  fw_error_set_file(err, path);
  return FURROW_E_IO;
}

static furrow_status fill_map(fw_file_map *map, const fw_input *input, const char *path, furrow_error *err) {
  FW_TRY(fw_strndup(&map->path, path, strlen(path), err));
  map->fd = fcntl(fw_input_descriptor(input), F_DUPFD_CLOEXEC, 0);
  if (map->fd < 0) return fail_map(err, path, errno, "cannot be kept open");
  void *at = mmap(NULL, map->size, PROT_READ, MAP_PRIVATE, map->fd, 0);
  if (at == MAP_FAILED) return fail_map(err, path, errno, "cannot be mapped");
  map->bytes = at;
  const uintptr_t begin = (uintptr_t)at, end = (begin + map->size + page_size - 1) / page_size * page_size;
  map->range = add_range(begin, end);
  return map->range ? FURROW_OK : fail_map(err, path, EMFILE, "cannot be mapped: too many files are mapped");
}

furrow_status fw_file_map_open(fw_file_map **map, const fw_input *input, uint64_t size, const char *path,
                               furrow_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  fw_file_map *made;
  if (size > SIZE_MAX / 2) return fail_map(err, path, EFBIG, "cannot be mapped");
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  pthread_once(&once, install_handler);
  made->size = (size_t)size;
  made->fd = -1;
  const furrow_status status = fill_map(made, input, path, err);
  return FW_HAND_OVER(status, map, made, fw_file_map_close);
}

void fw_file_map_close(fw_file_map *map) {
  if (!map) return;
  if (map->range) remove_range(map->range);
  if (map->bytes) munmap(map->bytes, map->size);
  if (map->fd >= 0) close(map->fd);
  fw_free(map->path);
  fw_free(map);
}

const void *fw_file_map_bytes(const fw_file_map *map) {
  return map->bytes;
}

size_t fw_file_map_size(const fw_file_map *map) {
  return map->size;
}

furrow_status fw_file_map_check(const fw_file_map *map, furrow_error *err) {
  struct stat info;
  if (!map) return FURROW_OK;
  if (fstat(map->fd, &info) != 0 || info.st_size < (off_t)map->size) atomic_store(&map->range->lost, true);
  if (!atomic_load(&map->range->lost)) return FURROW_OK;
  fw_fail(err, FURROW_E_IO, "the file was shortened while it was in use, or its disk failed");
  fw_error_set_file(err, map->path);
  fw_error_set_hint(err, "load it again; to replace a file, rename the new one over it");
  return FURROW_E_IO;
}
