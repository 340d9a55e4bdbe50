/* serve/api/line_writer.c: a thread that brings lines to a file. */
#include "api/line_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/shown_text.h"
#include "http/json_put.h"

enum { MOST_BYTES = 1 << 22, KEPT_BYTES = 1 << 16 };

struct line_writer {
  char *path; /* NULL: the descriptor is the caller's */
  int descriptor;
  bool has_thread;
  pthread_t thread;
  pthread_mutex_t lock; /* protects the members below */
  pthread_cond_t changed;
  fw_buffer filling; /* new lines, while the thread writes `writing` */
  uint64_t dropped;
  bool begins, reopens, stops;
  fw_buffer writing;
  bool has_failed; /* and said so */
};

static int open_path(const char *path) {
  return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
}

void line_writer_put(line_writer *writer, const fw_buffer *lines) {
  pthread_mutex_lock(&writer->lock);
  fw_buffer *to = &writer->filling;
  if (lines->missing || to->missing || lines->size > MOST_BYTES - to->size)
    writer->dropped++;
  else
    fw_buffer_append(to, lines->bytes, lines->size);
  pthread_cond_signal(&writer->changed);
  pthread_mutex_unlock(&writer->lock);
}

uint64_t line_writer_dropped(line_writer *writer) {
  pthread_mutex_lock(&writer->lock);
  const uint64_t dropped = writer->dropped;
  pthread_mutex_unlock(&writer->lock);
  return dropped;
}

/* ---- The thread ---- */

/* Says it once, until a write succeeds. */
static void tell_failure(line_writer *w, const char *what, int failed) {
  if (!w->has_failed) say("furrow: %s: %s: %s\n", w->path ? w->path : "standard output", what, strerror(failed));
  w->has_failed = true;
}

/* Continues with the old file if the new one cannot be opened. */
static void open_again(line_writer *w) {
  const int opened = w->path ? open_path(w->path) : -1;
  if (!w->path) return;
  if (opened < 0) {
    tell_failure(w, "cannot be opened again", errno);
    return;
  }
  close(w->descriptor);
  w->descriptor = opened;
}

static uint64_t count_lines(const char *bytes, size_t size) {
  uint64_t lines = 0;
  for (const char *at = bytes, *end = bytes + size; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
    lines++;
  return lines;
}

static void write_lines(line_writer *w) {
  size_t done = 0;
  int failed = w->writing.missing ? ENOMEM : 0;
  while (!failed && done < w->writing.size) {
    const ssize_t part = write(w->descriptor, w->writing.bytes + done, w->writing.size - done);
    if (part > 0) done += (size_t)part;
    if (part < 0 && errno != EINTR) failed = errno;
  }
  if (failed) {
    tell_failure(w, "lines cannot be written, and are dropped", failed);
    pthread_mutex_lock(&w->lock);
    w->dropped += count_lines(w->writing.bytes + done, w->writing.size - done);
    pthread_mutex_unlock(&w->lock);
  } else if (done > 0) {
    w->has_failed = false;
  }
  fw_buffer_reset(&w->writing);
  buffer_recycle(&w->writing, KEPT_BYTES);
}

/* Waits for lines and takes them. Returns false: there are none, and the writer ends. */
static bool take_lines(line_writer *w, bool *reopens) {
  pthread_mutex_lock(&w->lock);
  while (!w->stops && (!w->begins || (w->filling.size == 0 && !w->filling.missing && !w->reopens)))
    pthread_cond_wait(&w->changed, &w->lock);
  const fw_buffer taken = w->filling;
  w->filling = w->writing;
  w->writing = taken;
  *reopens = w->reopens;
  w->reopens = false;
  const bool goes_on = taken.size > 0 || !w->stops;
  pthread_mutex_unlock(&w->lock);
  return goes_on;
}

static void *run_writer(void *argument) {
  line_writer *w = argument;
  bool reopens;
  while (take_lines(w, &reopens)) {
    write_lines(w); /* lines from before the renaming belong to the old file */
    if (reopens) open_again(w);
  }
  return NULL;
}

/* ---- Beginning and end ---- */

static furrow_status start(line_writer *w, const char *path, int descriptor, furrow_error *err) {
  w->descriptor = path ? open_path(path) : descriptor;
  if (w->descriptor < 0) return fail_file(err, FURROW_E_IO, path, "cannot be opened for writing", errno);
  w->path = path ? strdup(path) : NULL;
  if (path && !w->path) return fail_memory(err);
  w->has_thread = pthread_create(&w->thread, NULL, run_writer, w) == 0;
  return w->has_thread ? FURROW_OK : fail(err, FURROW_E_IO, "a thread cannot be started");
}

furrow_status line_writer_create(line_writer **writer, const char *path, int descriptor, furrow_error *err) {
  line_writer *w = calloc(1, sizeof *w);
  if (!w) return fail_memory(err);
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->changed, NULL);
  const furrow_status status = start(w, path, descriptor, err);
  if (status == FURROW_OK)
    *writer = w;
  else
    line_writer_end(w);
  return status;
}

static void set_flag(line_writer *w, bool *flag) {
  pthread_mutex_lock(&w->lock);
  *flag = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
}

void line_writer_begin(line_writer *writer) {
  set_flag(writer, &writer->begins);
}

void line_writer_reopen(line_writer *writer) {
  set_flag(writer, &writer->reopens);
}

void line_writer_end(line_writer *writer) {
  if (!writer) return;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  set_flag(writer, &writer->stops);
  /* a pipe that nobody reads: the thread keeps its memory until the process ends */
  if (writer->has_thread && pthread_timedjoin_np(writer->thread, NULL, &until) != 0) return;
  if (writer->path && writer->descriptor >= 0) close(writer->descriptor);
  pthread_mutex_destroy(&writer->lock);
  pthread_cond_destroy(&writer->changed);
  fw_buffer_clear(&writer->filling);
  fw_buffer_clear(&writer->writing);
  free(writer->path);
  free(writer);
}
