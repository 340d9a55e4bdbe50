/* tests/fuzz/fuzz_learn_journal.c: journals of models that learn, from hostile bytes.
 *
 * The text after the first byte is parsed: what is accepted is sound, and the same when it is written and read again.
 * If the first byte is not 0, the text is the journal of a folder whose newest version has that number: what is cut off
 * is never a whole line, what is opened opens again, and takes a record that can be removed. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/journal/learn_journal.h"
#include "fuzz/harness/fuzz_check.h"

static void check_records(const fw_journal *journal) {
  for (size_t i = 0; i < journal->count; i++) {
    const fw_journal_record *r = &journal->records[i], *before = i > 0 ? r - 1 : NULL;
    check(r->version >= 2 && r->file && r->file[0] && r->to >= r->from && r->to <= INT64_MAX);
    check(r->copy_of < r->version && (r->copy_of > 0) == (r->events == 0) && (r->copy_of > 0) == (r->to == r->from));
    if (!before) continue;
    check(r->version == before->version + 1);
    check(strcmp(r->file, before->file) != 0 || strcmp(r->file, "-") == 0 || r->from == before->to);
  }
}

static void check_same(const fw_journal *a, const fw_journal *b) {
  check(a->count == b->count);
  for (size_t i = 0; i < a->count; i++) {
    const fw_journal_record *x = &a->records[i], *y = &b->records[i];
    check(x->version == y->version && x->from == y->from && x->to == y->to && x->events == y->events);
    check(x->copy_of == y->copy_of && x->digest == y->digest && strcmp(x->file, y->file) == 0);
  }
}

static void check_written(const fw_journal *journal) {
  fw_journal again = {.fd = -1};
  fw_buffer text = {0};
  furrow_error err;
  for (size_t i = 0; i < journal->count; i++) fw_journal_write(&text, &journal->records[i]);
  check(!text.missing && fw_journal_parse(&again, text.bytes, text.size, &err) == FURROW_OK);
  check(again.size == text.size);
  check_same(journal, &again);
  fw_journal_close(&again);
  fw_buffer_clear(&text);
}

static void parse(const char *text, size_t size) {
  fw_journal journal = {.fd = -1};
  furrow_error err;
  const furrow_status status = fw_journal_parse(&journal, text, size, &err);
  check(status == FURROW_OK ? journal.size == size
                            : status == FURROW_E_FORMAT && err.line == journal.count + 1 && err.message[0]);
  check(journal.size <= size);
  check_records(&journal);
  check_written(&journal);
  fw_journal_close(&journal);
}

static uint64_t size_of(const char *path) {
  struct stat info;
  check(stat(path, &info) == 0);
  return (uint64_t)info.st_size;
}

/* Opens it again: nothing more is cut off. A record is added and removed. */
static void open_again(const char *folder, const fw_journal *first, uint64_t oldest, uint64_t newest) {
  fw_journal journal;
  furrow_error err;
  check(fw_journal_open(&journal, folder, oldest, newest, &err) == FURROW_OK);
  check(journal.size == first->size && size_of(journal.path) == first->size);
  check_same(first, &journal);
  const fw_journal_record *last = journal.count > 0 ? &journal.records[journal.count - 1] : NULL;
  fw_journal_record next = {.version = last ? last->version + 1 : newest + 1, .file = "next", .to = 9, .events = 2};
  if (last && strcmp(last->file, "next") == 0) next.from = last->to, next.to = last->to + 9;
  if (next.version < 2 || next.version > INT64_MAX || next.to > INT64_MAX) next.version = 0;
  if (next.version > 0) {
    check(fw_journal_append(&journal, &next, &err) == FURROW_OK && size_of(journal.path) == journal.size);
    check_records(&journal);
    check(fw_journal_drop_last(&journal, &err) == FURROW_OK);
    check_same(first, &journal);
    check(journal.size == first->size && size_of(journal.path) == first->size);
  }
  fw_journal_close(&journal);
}

static void open_folder(const char *text, size_t size, uint64_t oldest, uint64_t newest) {
  char folder[TEST_PATH], path[TEST_PATH];
  fw_journal journal;
  furrow_error err;
  fuzz_folder(folder, "journal");
  check(mkdir(folder, 0777) == 0 || access(folder, W_OK) == 0);
  fuzz_folder(path, "journal/" FW_JOURNAL_NAME);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  check(fd >= 0 && write(fd, text, size) == (ssize_t)size && close(fd) == 0);
  const furrow_status status = fw_journal_open(&journal, folder, oldest, newest, &err);
  const uint64_t left = size_of(path);
  check_records(&journal);
  if (status == FURROW_OK) {
    check(left == journal.size);
    const char *end = memchr(text + left, '\n', size - left);
    check(!end || (end + 1 == text + size && memchr(text + left, 0, size - left)));
    open_again(folder, &journal, oldest, newest);
  } else {
    check(status == FURROW_E_FORMAT && left == size && err.message[0] && err.file[0] && err.line == journal.count + 1);
  }
  fw_journal_close(&journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  char *text = malloc(size > 1 ? size - 1 : 1); /* no longer, so that reading beyond it is noticed */
  check(text != NULL);
  memcpy(text, data + 1, size - 1);
  parse(text, size - 1);
  if (data[0] > 0) open_folder(text, size - 1, data[0] % 2 ? 1 : data[0], data[0]);
  free(text);
  return 0;
}
