/* io/remote/remote_file.c: a file of a server, read by requests for ranges of it, several at a time and ahead of the
 * reader.
 *
 * A file has up to SLOTS ranges in memory, each of which a thread fetches. Reads that follow each other are a run. What
 * is fetched ahead of a run is at most as much as has been read of it, and never beyond the end that was announced by
 * expect, so that reading a part of a file costs little more than the part. Every response must be about the same
 * version of the file: its length, its ETag and its date are compared. A transfer that breaks is continued at the byte
 * where it broke. A server that ignores ranges is read by one thread in order. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/process/process_stop.h"
#include "io/remote/remote.h"

enum { SLOTS = 12, THREADS_MOST = 64, TEXT_SIZE = 2048 };
#define SLOT_SIZE ((uint64_t)4 << 20)
#define SLOT_LEAST ((uint64_t)64 << 10)
#define WINDOW (8 * SLOT_SIZE) /* fetched ahead at most */
#define UNKNOWN UINT64_MAX

typedef enum slot_state { EMPTY, QUEUED, FETCHING, READY, FAILED } slot_state;

/* A range of the file. */
typedef struct slot {
  slot_state state;
  uint64_t begin;
  size_t size, filled; /* bytes wanted, and fetched so far */
  unsigned char *bytes;
  size_t capacity;
  unsigned readers; /* that copy from it now */
} slot;

typedef struct remote_file {
  const fw_remote_service *service;
  char *path;
  pthread_mutex_t lock;
  pthread_cond_t work, news; /* a slot was queued; a slot has more bytes, or has ended */
  slot slots[SLOTS];
  pthread_t threads[THREADS_MOST];
  unsigned nthreads, nidle, most_threads;
  atomic_bool closing;

  /* what the server says about the file */
  uint64_t length; /* UNKNOWN until the end was seen */
  char etag[256];
  int64_t modified;
  bool ranges, no_ranges; /* the server is known to answer with ranges, or without */
  bool streaming;         /* a thread reads the whole file in order */
  furrow_error error;     /* why a slot failed, the last time */

  /* the run: reads from run_begin on; everything before run_next was queued */
  uint64_t run_begin, run_next;
  uint64_t expect_begin, expect_end;
} remote_file;

/* ---- One response --------------------------------------------------------------------------------------- */

/* A request in flight: the slot that it fills, and what its response turned out to be. */
typedef struct fetch {
  remote_file *file;
  slot *slot;
  bool looked;       /* the headers were compared */
  bool enough;       /* the transfer was ended because nothing more is wanted */
  bool whole;        /* the response is the whole file */
  uint64_t position; /* in the file, of the next byte of the body */
  furrow_status status;
  furrow_error error;
  char text[TEXT_SIZE]; /* start of the body of an error */
  size_t text_size;
} fetch;

static bool refuse(fetch *f, furrow_status status, const char *why) {
  f->status = fw_fail(&f->error, status, "%s", why);
  return false;
}

static bool is_success(const fw_http_response *r) {
  return r->status >= 200 && r->status < 300;
}

/* Compares what the response says about the file with what is known. */
static bool same_version(fetch *f, const fw_http_response *r, uint64_t length) {
  static const char changed[] = "the file changed while it was read";
  remote_file *file = f->file;
  if (r->etag[0] && !file->etag[0]) memcpy(file->etag, r->etag, sizeof file->etag);
  if (r->modified && !file->modified) file->modified = r->modified;
  if (strcmp(r->etag, file->etag) != 0 && r->etag[0]) return refuse(f, FURROW_E_STATE, changed);
  if (r->modified && r->modified != file->modified) return refuse(f, FURROW_E_STATE, changed);
  if (length == UNKNOWN) return true;
  if (file->length == UNKNOWN) file->length = length;
  return length == file->length || refuse(f, FURROW_E_STATE, changed);
}

static bool look_at_range(fetch *f, const fw_http_response *r) {
  if (!r->has_range || r->from != f->position || r->to > f->slot->begin + f->slot->size ||
      (r->has_total && r->to > r->total))
    return refuse(f, FURROW_E_IO, "the server sends another range than the one that was requested");
  if (r->has_length && r->length != r->to - r->from)
    return refuse(f, FURROW_E_IO, "the server sends another number of bytes than the range has that it announces");
  f->file->ranges = true;
  return same_version(f, r, r->has_total ? r->total : UNKNOWN);
}

/* The same for a server that says 200 and leaves out which range it sends. */
static bool look_at_own_range(fetch *f, const fw_http_response *r) {
  const uint64_t wanted = f->slot->begin + f->slot->size - f->position;
  if (r->has_length && r->length > wanted)
    return refuse(f, FURROW_E_IO, "the server sends another number of bytes than the range has that was requested");
  f->file->ranges = true;
  return true;
}

static bool look_at_whole(fetch *f, const fw_http_response *r) {
  if (!r->framed) return refuse(f, FURROW_E_IO, "the server does not say how long the file is");
  f->whole = f->file->no_ranges = f->file->streaming = true;
  f->position = 0;
  return same_version(f, r, r->has_length ? r->length : UNKNOWN);
}

static bool look(fetch *f, const fw_http_response *r) {
  f->looked = true;
  if (!is_success(r)) return true;
  pthread_mutex_lock(&f->file->lock);
  const bool own = f->file->service->own_ranges && r->status == 200;
  const bool good = own                ? look_at_own_range(f, r)
                    : r->status == 206 ? look_at_range(f, r)
                    : r->status == 200 ? look_at_whole(f, r)
                                       : refuse(f, FURROW_E_IO, "the server answers without a file");
  pthread_cond_broadcast(&f->file->work); /* more threads may ask now */
  pthread_mutex_unlock(&f->file->lock);
  return good;
}

/* ---- The body ------------------------------------------------------------------------------------------- */

static slot *find_queued(remote_file *file, uint64_t begin) {
  for (size_t i = 0; i < SLOTS; i++)
    if (file->slots[i].state == QUEUED && file->slots[i].begin == begin) return &file->slots[i];
  return NULL;
}

static bool any_queued(const remote_file *file) {
  for (size_t i = 0; i < SLOTS; i++)
    if (file->slots[i].state == QUEUED) return true;
  return false;
}

static void end_slot(remote_file *file, slot *s, slot_state state) {
  s->state = state;
  pthread_cond_broadcast(&file->news);
}

static bool is_closing(void *user) {
  return atomic_load_explicit(&((const fetch *)user)->file->closing, memory_order_relaxed);
}

static void wait_a_moment(pthread_cond_t *condition, pthread_mutex_t *lock) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 50000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(condition, lock, &until);
}

/* The slot is full and the body, which is the whole file, goes on: continues with the slot that comes next, as soon as
 * the reader wants it. Returns false if the reader wants something else. */
static bool next_slot(fetch *f) {
  remote_file *file = f->file;
  pthread_mutex_lock(&file->lock);
  end_slot(file, f->slot, READY);
  slot *next = NULL;
  while (!(next = find_queued(file, f->position)) && !any_queued(file) && !is_closing(f) && !fw_is_stopped())
    wait_a_moment(&file->work, &file->lock);
  if (next) {
    next->state = FETCHING;
    f->slot = next;
  }
  pthread_mutex_unlock(&file->lock);
  return next != NULL;
}

/* Returns how many of the bytes are before the slot. */
static size_t count_before(const fetch *f, size_t size) {
  const uint64_t at = f->slot->begin + f->slot->filled;
  const uint64_t before = at > f->position ? at - f->position : 0;
  return before < size ? (size_t)before : size;
}

static bool fill(fetch *f, const unsigned char *bytes, size_t size) {
  while (size > 0) {
    size_t n = f->whole ? count_before(f, size) : 0;
    if (n == 0) {
      slot *s = f->slot;
      const size_t space = s->size - s->filled;
      if (space == 0) {
        if (!f->whole) return refuse(f, FURROW_E_IO, "the server sends more bytes than were requested");
        if (next_slot(f)) continue;
        f->enough = true;
        return false;
      }
      n = size < space ? size : space;
      memcpy(s->bytes + s->filled, bytes, n);
      pthread_mutex_lock(&f->file->lock);
      s->filled += n;
      pthread_cond_broadcast(&f->file->news);
      pthread_mutex_unlock(&f->file->lock);
    }
    f->position += n;
    bytes += n;
    size -= n;
  }
  return true;
}

static bool take_body(void *user, const fw_http_response *r, const void *bytes, size_t size) {
  fetch *f = user;
  if (!f->looked && !look(f, r)) return false;
  if (is_success(r)) return fill(f, bytes, size);
  const size_t space = sizeof f->text - f->text_size, n = size < space ? size : space;
  memcpy(f->text + f->text_size, bytes, n);
  f->text_size += n;
  return true;
}

/* ---- A slot --------------------------------------------------------------------------------------------- */

static bool is_complete(const fetch *f) {
  const slot *s = f->slot;
  return s->filled == s->size || s->begin + s->filled == f->file->length;
}

/* The body ended as the server meant it to: a whole file of unknown length now has one. */
static void note_end(fetch *f, const fw_http_response *r) {
  if (!f->whole || r->failure[0] || f->status != FURROW_OK) return;
  pthread_mutex_lock(&f->file->lock);
  if (f->file->length == UNKNOWN) f->file->length = f->position;
  pthread_mutex_unlock(&f->file->lock);
}

static furrow_status fail_fetch(fetch *f, const fw_http_response *r) {
  if (f->status != FURROW_OK) return f->status;
  if (r->status == 416)
    return fw_fail(&f->error, FURROW_E_STATE, "the file changed while it was read: it is shorter (HTTP status 416)");
  if (is_success(r) && !r->failure[0])
    return fw_fail(&f->error, FURROW_E_IO, "the server sends fewer bytes than it announced");
  return f->file->service->fail(r, f->text, f->text_size, &f->error);
}

static void end_streaming(remote_file *file) {
  pthread_mutex_lock(&file->lock);
  file->streaming = false;
  pthread_mutex_unlock(&file->lock);
}

/* Asks once for what is missing in the slot. *again: that failed in a way that may pass. */
static furrow_status ask_once(fetch *f, fw_http_response *r, bool *again) {
  remote_file *file = f->file;
  f->position = f->slot->begin + f->slot->filled;
  f->looked = f->whole = f->enough = false;
  f->status = FURROW_OK;
  f->text_size = 0;
  fw_remote_ask ask = {.method = "GET",
                       .path = file->path,
                       .query = "",
                       .from = f->position,
                       .to = f->slot->begin + f->slot->size,
                       .etag = file->etag,
                       .take = take_body,
                       .stopped = is_closing,
                       .user = f};
  if (file->length == UNKNOWN) ask.from = ask.to = 0;
  const furrow_status status = fw_remote_send(file->service, &ask, r, &f->error);
  if (status == FURROW_OK && !f->looked && is_success(r) && !r->failure[0]) (void)look(f, r);
  end_streaming(file);
  if (status != FURROW_OK) return status;
  note_end(f, r);
  if (f->status != FURROW_OK || f->enough) return f->status;
  *again = !is_complete(f);
  if (!*again) return FURROW_OK;
  if (fw_http_may_repeat(r) || (is_success(r) && !r->failure[0])) return FURROW_OK;
  return fail_fetch(f, r);
}

/* Fetches the slot, and repeats what fails as long as bytes come. */
static furrow_status fetch_slot(fetch *f) {
  const unsigned most = fw_http_get_settings().retries;
  for (unsigned n = 0;;) {
    fw_http_response r;
    bool again = false;
    const uint64_t before = f->slot->begin + f->slot->filled;
    FW_TRY(ask_once(f, &r, &again));
    if (!again) return FURROW_OK;
    if (is_closing(f)) return fw_fail(&f->error, FURROW_E_CANCELLED, "the file is closed");
    n = f->slot->begin + f->slot->filled > before ? 0 : n + 1;
    if (n > most) return fail_fetch(f, &r);
    if (n > 0) FW_TRY(fw_http_wait(n - 1, &r, is_closing, f, &f->error));
  }
}

static slot *first_queued(remote_file *file) {
  slot *first = NULL;
  for (size_t i = 0; i < SLOTS; i++) {
    slot *s = &file->slots[i];
    if (s->state == QUEUED && (!first || s->begin < first->begin)) first = s;
  }
  return first;
}

/* Whether another request may begin: until the server has shown that it answers with ranges, there is only one. */
static bool may_ask(const remote_file *file) {
  if (file->ranges && !file->no_ranges) return true;
  if (file->streaming) return false;
  for (size_t i = 0; i < SLOTS; i++)
    if (file->slots[i].state == FETCHING) return false;
  return true;
}

static void *fetch_slots(void *user) {
  remote_file *file = user;
  pthread_mutex_lock(&file->lock);
  while (!atomic_load(&file->closing)) {
    slot *s = may_ask(file) ? first_queued(file) : NULL;
    if (!s) {
      file->nidle++;
      wait_a_moment(&file->work, &file->lock);
      file->nidle--;
      continue;
    }
    s->state = FETCHING;
    pthread_mutex_unlock(&file->lock);
    fetch f = {.file = file, .slot = s};
    const furrow_status status = fetch_slot(&f);
    pthread_mutex_lock(&file->lock);
    if (status != FURROW_OK) file->error = f.error;
    /* a slot that was left because the reader wants another place is complete */
    if (f.slot->state == FETCHING) end_slot(file, f.slot, status == FURROW_OK ? READY : FAILED);
    pthread_cond_broadcast(&file->work);
  }
  pthread_mutex_unlock(&file->lock);
  return NULL;
}

/* ---- Which ranges are fetched; under the lock ------------------------------------------------------------ */

static slot *find_slot(remote_file *file, uint64_t offset) {
  for (size_t i = 0; i < SLOTS; i++) {
    slot *s = &file->slots[i];
    if (s->state != EMPTY && offset >= s->begin && offset - s->begin < s->size) return s;
  }
  return NULL;
}

/* Returns a slot that can be used for another range: an empty one, or the one that is farthest behind the offset. If
 * the reader cannot go on without (`must`), also one that is ahead. */
static slot *free_slot(remote_file *file, uint64_t offset, bool must) {
  slot *best = NULL;
  for (size_t i = 0; i < SLOTS; i++) {
    slot *s = &file->slots[i];
    if (s->state == EMPTY) return s;
    const bool ended = s->state == READY || s->state == FAILED;
    if ((!ended && !(must && s->state == QUEUED)) || s->readers > 0) continue;
    if (!must && s->begin + s->size > offset) continue;
    const bool behind = s->begin + s->size <= offset, best_behind = best && best->begin + best->size <= offset;
    if (!best || (behind && !best_behind) ||
        (behind == best_behind && (behind ? s->begin < best->begin : s->begin > best->begin)))
      best = s;
  }
  return best;
}

static void start_thread(remote_file *file) {
  if (file->nidle > 0 || file->nthreads >= file->most_threads) return;
  if (file->nthreads > 0 && !may_ask(file)) return;
  if (pthread_create(&file->threads[file->nthreads], NULL, fetch_slots, file) == 0) file->nthreads++;
}

/* Queues the range; *queued is false if all slots are in use. */
static furrow_status queue(remote_file *file, uint64_t begin, uint64_t size, uint64_t offset, bool must, bool *queued,
                           furrow_error *err) {
  slot *s = free_slot(file, offset, must);
  *queued = s != NULL;
  if (!s) return FURROW_OK;
  s->state = EMPTY;
  if (s->capacity < size) {
    fw_free(s->bytes);
    s->bytes = NULL;
    s->capacity = 0;
    FW_TRY(FW_ALLOC(&s->bytes, (size_t)size, err));
    s->capacity = (size_t)size;
  }
  s->begin = begin;
  s->size = (size_t)size;
  s->filled = 0;
  s->state = QUEUED;
  pthread_cond_broadcast(&file->work);
  start_thread(file);
  return file->nthreads > 0 ? FURROW_OK : fw_fail(err, FURROW_E_MEMORY, "a thread cannot be started");
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t add(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Queues what the read needs, and what comes after it. */
static furrow_status plan(remote_file *file, uint64_t offset, uint64_t size, furrow_error *err) {
  const bool expected = offset >= file->expect_begin && offset < file->expect_end;
  const bool covered = find_slot(file, offset) != NULL;
  const uint64_t reach = add(file->run_next, expected ? WINDOW : 0);
  bool queued = true;
  if (offset < file->run_begin || offset > reach) {
    if (covered) return FURROW_OK;
    file->run_begin = file->run_next = offset;
  } else if (offset < file->run_next && !covered) { /* was dropped: a reader that is late */
    const uint64_t bytes = least(size > SLOT_LEAST ? size : SLOT_LEAST, SLOT_SIZE);
    return queue(file, offset, least(bytes, file->length - offset), offset, true, &queued, err);
  }
  const uint64_t wanted = add(offset, size), read = least(offset - file->run_begin, WINDOW);
  uint64_t target = add(wanted, expected ? WINDOW : read);
  if (expected) target = least(target, file->expect_end > wanted ? file->expect_end : wanted);
  target = least(least(target, add(offset, WINDOW)), file->length);
  while (queued && file->run_next < target) {
    uint64_t bytes = least(target - file->run_next, SLOT_SIZE);
    if (!expected && bytes < SLOT_LEAST) bytes = SLOT_LEAST;
    bytes = least(bytes, file->length - file->run_next);
    const bool must = offset >= file->run_next;
    if (!expected && file->run_next >= wanted && bytes < least(read, SLOT_SIZE)) break; /* slots double in size */
    FW_TRY(queue(file, file->run_next, bytes, offset, must, &queued, err));
    if (queued) file->run_next += bytes;
  }
  return FURROW_OK;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

/* Copies from a slot without the lock, which must be held before and is held afterwards. */
static size_t copy_slot(remote_file *file, slot *s, void *buffer, size_t size, uint64_t offset) {
  const size_t at = (size_t)(offset - s->begin), left = s->filled - at, n = size < left ? size : left;
  s->readers++;
  pthread_mutex_unlock(&file->lock);
  memcpy(buffer, s->bytes + at, n);
  pthread_mutex_lock(&file->lock);
  s->readers--;
  return n;
}

static furrow_status read_locked(remote_file *file, void *buffer, size_t size, uint64_t offset, size_t *got,
                                 furrow_error *err) {
  *got = 0;
  while (size > 0 && offset < file->length) {
    FW_TRY(plan(file, offset, size, err));
    slot *s = find_slot(file, offset);
    if (s && offset - s->begin < s->filled) {
      *got = copy_slot(file, s, buffer, size, offset);
      return FURROW_OK;
    }
    if (s && s->state == FAILED) {
      s->state = EMPTY; /* the next read of these bytes asks again */
      *err = file->error;
      return file->error.status;
    }
    if (s && s->state == READY) /* was ended before it was full */
      s->size = s->filled;
    else
      wait_a_moment(&file->news, &file->lock);
    FW_TRY(fw_check_stopped(err));
  }
  return FURROW_OK;
}

furrow_status fw_remote_read_at(void *user, void *file, void *buffer, size_t length, uint64_t offset, size_t *got,
                                furrow_error *err) {
  (void)user;
  remote_file *f = file;
  pthread_mutex_lock(&f->lock);
  const furrow_status status = read_locked(f, buffer, length, offset, got, err);
  pthread_mutex_unlock(&f->lock);
  return status;
}

void fw_remote_expect(void *user, void *file, uint64_t begin, uint64_t end) {
  (void)user;
  remote_file *f = file;
  pthread_mutex_lock(&f->lock);
  f->run_begin = f->run_next = f->expect_begin = begin;
  f->expect_end = end;
  pthread_mutex_unlock(&f->lock);
}

/* ---- Looking at a file ---------------------------------------------------------------------------------- */

/* A program looks at a file right before it opens it: what was found is kept for a moment. If the file has changed
 * since, reading it fails. */
enum { KEPT = 64, KEPT_SECONDS = 2 };

typedef struct kept_look {
  const fw_remote_service *service;
  char *path;
  struct timespec when;
  fw_http_response response;
} kept_look;

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static kept_look kept[KEPT];
static size_t next_kept;

static void keep(const fw_remote_service *service, const char *path, const fw_http_response *response) {
  char *copy = NULL;
  if (fw_strndup(&copy, path, strlen(path), NULL) != FURROW_OK) return; /* it is only asked for once more */
  pthread_mutex_lock(&kept_lock);
  kept_look *k = &kept[next_kept++ % KEPT];
  fw_free(k->path);
  *k = (kept_look){.service = service, .path = copy, .response = *response};
  clock_gettime(CLOCK_MONOTONIC, &k->when);
  pthread_mutex_unlock(&kept_lock);
}

static bool find_kept(const fw_remote_service *service, const char *path, fw_http_response *response) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  bool found = false;
  pthread_mutex_lock(&kept_lock);
  for (size_t i = 1; i <= KEPT && !found; i++) {
    const kept_look *k = &kept[(next_kept + KEPT - i) % KEPT];
    found =
        k->path && k->service == service && now.tv_sec - k->when.tv_sec < KEPT_SECONDS && strcmp(k->path, path) == 0;
    if (found) *response = k->response;
  }
  pthread_mutex_unlock(&kept_lock);
  return found;
}

/* Asks for the headers of the file; where HEAD is not allowed, for its first byte. */
static furrow_status look_at(const fw_remote_service *service, const char *path, fw_http_response *r,
                             furrow_error *err) {
  fw_buffer body = {0};
  if (service->look) return service->look(service, path, r, err);
  fw_remote_ask ask = {.method = "HEAD", .path = path, .query = ""};
  furrow_status status = fw_remote_fetch(service, &ask, r, &body, err);
  const int code = r->status;
  if (status == FURROW_OK && !r->failure[0] && (code == 400 || code == 403 || code == 405 || code == 501)) {
    ask.method = "GET";
    ask.to = 1;
    fw_buffer_reset(&body);
    status = fw_remote_fetch(service, &ask, r, &body, err);
    if (status == FURROW_OK && (r->status == 206 || r->status == 416)) {
      r->has_length = r->has_total;
      r->length = r->total;
      if (r->status == 416 && r->has_total) r->status = 200; /* an empty file has no first byte */
    }
  }
  if (status == FURROW_OK && r->is_folder)
    status = fw_fail(err, FURROW_E_NOT_FOUND, "that is a folder of the server, which has no list of files");
  if (status == FURROW_OK && (!is_success(r) || r->failure[0])) status = service->fail(r, body.bytes, body.size, err);
  fw_buffer_clear(&body);
  return status;
}

/* The date has seconds; the tag tells two changes within one second apart. */
static int64_t change_of(const fw_http_response *r) {
  uint64_t hash = 14695981039346656037u;
  for (const char *p = r->etag; *p; p++) hash = (hash ^ (unsigned char)*p) * 1099511628211u;
  if (!r->modified && !r->etag[0]) return 0;
  return (r->modified < INT32_MAX ? r->modified : INT32_MAX) * 1000000000 + (int64_t)(hash % 999999999) + 1;
}

furrow_status fw_remote_stat(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  const fw_remote_service *service = user;
  fw_http_response r;
  FW_TRY(look_at(service, path, &r, err));
  info->kind = r.has_length ? FURROW_FILE_REGULAR : FURROW_FILE_STREAM;
  info->length = r.has_length ? r.length : 0;
  info->changed_ns = change_of(&r);
  keep(service, path, &r);
  return FURROW_OK;
}

/* ---- Opening and closing -------------------------------------------------------------------------------- */

furrow_status fw_remote_open(void *user, const char *path, void **file, furrow_error *err) {
  const fw_remote_service *service = user;
  fw_http_response r;
  remote_file *opened = NULL;
  if (!find_kept(service, path, &r)) FW_TRY(look_at(service, path, &r, err));
  FW_TRY(FW_ALLOC_ZERO(&opened, 1, err));
  const furrow_status status = fw_strndup(&opened->path, path, strlen(path), err);
  if (status != FURROW_OK) {
    fw_free(opened);
    return status;
  }
  const unsigned most = fw_http_get_settings().requests;
  opened->service = service;
  opened->most_threads = most < THREADS_MOST ? most : THREADS_MOST;
  opened->length = r.has_length ? r.length : UNKNOWN;
  memcpy(opened->etag, r.etag, sizeof opened->etag);
  opened->modified = r.modified;
  pthread_mutex_init(&opened->lock, NULL);
  pthread_cond_init(&opened->work, NULL);
  pthread_cond_init(&opened->news, NULL);
  *file = opened;
  return FURROW_OK;
}

void fw_remote_close(void *user, void *file) {
  (void)user;
  remote_file *f = file;
  atomic_store(&f->closing, true);
  pthread_mutex_lock(&f->lock);
  pthread_cond_broadcast(&f->work);
  const unsigned nthreads = f->nthreads;
  pthread_mutex_unlock(&f->lock);
  for (unsigned i = 0; i < nthreads; i++) pthread_join(f->threads[i], NULL);
  for (size_t i = 0; i < SLOTS; i++) fw_free(f->slots[i].bytes);
  pthread_cond_destroy(&f->news);
  pthread_cond_destroy(&f->work);
  pthread_mutex_destroy(&f->lock);
  fw_free(f->path);
  fw_free(f);
}
