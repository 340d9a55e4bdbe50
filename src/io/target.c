/* io/target.c: follows links, holds the directory open, and picks a temporary name that no other process has. */
#include "io/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"

#define MAX_LINKS 40
#define SUFFIX ".furrow-"
#define SUFFIX_RANDOM 6
#define SUFFIX_CHECK 3 /* of them, check letters */
/* The bytes of a name that its temporary name keeps. */
#define NAME_KEPT (FW_TARGET_MAX_NAME - 1 - (int)sizeof SUFFIX - SUFFIX_RANDOM)

furrow_status fw_target_fail_errno(const fw_target *target, furrow_error *err, int errnum, const char *what) {
  furrow_status status = errnum == ENOENT || errnum == ENOTDIR ? FURROW_E_NOT_FOUND : FURROW_E_IO;
  fw_fail_errno(err, status, errnum, "%s", what);
  fw_error_set_file(err, target->path);
  return status;
}

furrow_status fw_target_fail(const fw_target *target, furrow_error *err, furrow_status status, const char *what) {
  fw_fail(err, status, "%s", what);
  fw_error_set_file(err, target->path);
  return status;
}

/* ---- the final path ---- */

/* The last component of a path. */
static char *base_name(char *path) {
  char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Replaces *path by the target of the link there. A relative target is relative to the directory of the link. */
static furrow_status follow_link(char **path, const char *link, size_t length, furrow_error *err) {
  size_t kept = link[0] == '/' ? 0 : (size_t)(base_name(*path) - *path);
  char *followed;
  FW_TRY(FW_ALLOC(&followed, kept + length + 1, err));
  memcpy(followed, *path, kept);
  memcpy(followed + kept, link, length);
  followed[kept + length] = 0;
  fw_free(*path);
  *path = followed;
  return FURROW_OK;
}

/* Whether a link is in a directory that everybody can write to, and belongs neither to this user nor to the owner of
 * the directory. The kernel does not follow such links either if fs.protected_symlinks is set. */
static bool is_planted(const char *path) {
  struct stat link, folder;
  char parent[PATH_MAX];
  const char *slash = strrchr(path, '/');
  const size_t length = slash ? (size_t)(slash - path) + 1 : 1;
  if (length >= sizeof parent || lstat(path, &link) != 0) return false;
  memcpy(parent, slash ? path : ".", length);
  parent[length] = 0;
  if (stat(parent, &folder) != 0) return false;
  const bool shared = (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH);
  return shared && link.st_uid != geteuid() && link.st_uid != folder.st_uid;
}

/* realpath works only for existing paths; this also follows a link to a path that does not exist yet. */
static furrow_status follow_links(fw_target *target, furrow_error *err) {
  char link[PATH_MAX];
  furrow_status status = fw_strndup(&target->resolved, target->path, strlen(target->path), err);
  for (int i = 0; status == FURROW_OK; i++) {
    ssize_t n = readlink(target->resolved, link, sizeof link);
    if (n < 0) break; /* not a link: the file itself, or nothing */
    if (is_planted(target->resolved)) return fw_target_fail_errno(target, err, EACCES, "a link that another user made");
    if (i == MAX_LINKS) return fw_target_fail_errno(target, err, ELOOP, "cannot create");
    if ((size_t)n == sizeof link) return fw_target_fail_errno(target, err, ENAMETOOLONG, "cannot create");
    status = follow_link(&target->resolved, link, (size_t)n, err);
  }
  if (status == FURROW_OK) target->name = base_name(target->resolved);
  return status;
}

static furrow_status open_directory(fw_target *target, furrow_error *err) {
  char *directory;
  size_t length = (size_t)(target->name - target->resolved);
  furrow_status status = fw_strndup(&directory, length ? target->resolved : ".", length ? length : 1, err);
  if (status != FURROW_OK) return status;
  target->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int errnum = errno;
  fw_free(directory);
  return target->directory >= 0 ? FURROW_OK : fw_target_fail_errno(target, err, errnum, "cannot open its directory");
}

static uint64_t random_bits(const fw_target *target, unsigned attempt) {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == (ssize_t)sizeof bits) return bits;
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  bits = ((uint64_t)now.tv_nsec << 32) ^ (uint64_t)getpid() ^ (uint64_t)(uintptr_t)target ^ attempt;
  return bits * UINT64_C(0x9e3779b97f4a7c15);
}

/* Picks a name in TMPDIR that nobody has. */
static furrow_status find_there(fw_target *target, furrow_error *err) {
  const char *folder = getenv("TMPDIR"), *end = target->rest + strlen(target->rest);
  fw_buffer text = {0};
  target->store = fw_file_system_store(target->system);
  if (!target->rest[0] || end[-1] == '/')
    return fw_target_fail(target, err, FURROW_E_ARGUMENT, "not the name of a file");
  fw_buffer_format(&text, "%s/furrow-upload-%016llx", folder && folder[0] ? folder : "/tmp",
                   (unsigned long long)random_bits(target, 0));
  furrow_status status = fw_buffer_take(&text, &target->resolved, NULL, err);
  fw_buffer_clear(&text);
  if (status != FURROW_OK) return status;
  target->name = base_name(target->resolved);
  status = open_directory(target, err);
  if (status != FURROW_OK) fw_error_set_hint(err, "TMPDIR names the folder of files that are to be sent");
  return status;
}

furrow_status fw_target_find(fw_target *target, const char *path, furrow_error *err) {
  target->directory = -1;
  FW_TRY(fw_path_to_write(&path, err));
  furrow_status status = fw_strndup(&target->path, path, strlen(path), err);
  if (status == FURROW_OK) status = fw_file_system_hold(target->path, &target->system, &target->rest, err);
  if (status == FURROW_OK && target->system) return find_there(target, err);
  if (status == FURROW_OK) status = follow_links(target, err);
  if (status != FURROW_OK) return status;
  if (!target->name[0]) return fw_target_fail(target, err, FURROW_E_ARGUMENT, "not the name of a file");
  return open_directory(target, err);
}

void fw_target_clear(fw_target *target) {
  if (target->directory >= 0) close(target->directory);
  fw_file_system_let_go(target->system);
  fw_free(target->resolved);
  fw_free(target->path);
  *target = (fw_target){.directory = -1};
}

/* ---- the temporary name ---- */

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* The last letters of a temporary name are a checksum of the letters before them, so no other file has such a name
 * by chance. */
static void fill_check(char *name, size_t length) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < length - SUFFIX_CHECK; i++) hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
  for (size_t i = length - SUFFIX_CHECK; i < length; i++, hash /= sizeof letters - 1)
    name[i] = letters[hash % (sizeof letters - 1)];
}

/* A name that would become too long is truncated. */
static void make_temporary(char temporary[FW_TARGET_MAX_NAME + 1], const char *name, uint64_t bits) {
  char random[SUFFIX_RANDOM + 1] = "";
  for (int i = 0; i < SUFFIX_RANDOM; i++, bits /= sizeof letters - 1) random[i] = letters[bits % (sizeof letters - 1)];
  snprintf(temporary, FW_TARGET_MAX_NAME + 1, ".%.*s" SUFFIX "%s", NAME_KEPT, name, random);
  fill_check(temporary, strlen(temporary));
}

void fw_target_pick_name(fw_target *target, unsigned attempt) {
  make_temporary(target->temporary, target->name, random_bits(target, attempt));
}

furrow_status furrow_temporary_path(char **temporary, const char *path, uint64_t number, furrow_error *err) {
  char name[FW_TARGET_MAX_NAME + 1];
  const char *slash = strrchr(path, '/');
  const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
  make_temporary(name, path + folder, number);
  FW_TRY(FW_ALLOC(temporary, folder + strlen(name) + 1, err));
  memcpy(*temporary, path, folder);
  strcpy(*temporary + folder, name);
  return FURROW_OK;
}

bool fw_target_is_temporary(const char *name) {
  const size_t length = strlen(name), end = strlen(SUFFIX) + SUFFIX_RANDOM;
  return name[0] == '.' && length > end + 1 && memcmp(name + length - end, SUFFIX, strlen(SUFFIX)) == 0;
}

bool fw_target_is_drawn(const char *name) {
  char drawn[FW_TARGET_MAX_NAME + 1];
  const size_t length = strlen(name);
  if (!fw_target_is_temporary(name) || length >= sizeof drawn) return false;
  memcpy(drawn, name, length + 1);
  fill_check(drawn, length);
  return strcmp(drawn, name) == 0;
}

bool fw_target_of_temporary(char name[FW_TARGET_MAX_NAME + 1], const char *temporary) {
  const size_t length = strlen(temporary) - 1 - strlen(SUFFIX) - SUFFIX_RANDOM;
  if (length >= NAME_KEPT) return false;
  memcpy(name, temporary + 1, length);
  name[length] = 0;
  return true;
}

/* ---- bytes ---- */

int fw_write_at(int fd, const void *data, size_t size, uint64_t offset) {
  const char *bytes = data;
  if (offset > INT64_MAX || size > INT64_MAX - offset) return EFBIG;
  while (size > 0) {
    ssize_t n = pwrite(fd, bytes, size < SSIZE_MAX ? size : SSIZE_MAX, (off_t)offset);
    if (n > 0) {
      bytes += n;
      size -= (size_t)n;
      offset += (uint64_t)n;
    } else if (n == 0 || errno != EINTR) {
      return n == 0 ? ENOSPC : errno;
    }
  }
  return 0;
}
