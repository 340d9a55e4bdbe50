/* cli/learn/late_parts.c: warns of parts of a log that came too late to be learned. */
#include "learn/late_parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/fail.h"
#include "core/shown_text.h"

static const char *name_of(const char *file) {
  const char *slash = strrchr(file, '/');
  return slash ? slash + 1 : file;
}

static bool is_learned(const event_tail *tail, const fw_journal *journal, const char *name) {
  for (size_t i = 0; i < journal->count; i++)
    if (strcmp(name_of(journal->records[i].file), name) == 0 && event_tail_is_of(tail, journal->records[i].file))
      return true;
  return false;
}

static bool is_named(const late_parts *late, const char *name) {
  for (size_t i = 0; i < late->count; i++)
    if (strcmp(late->named[i], name) == 0) return true;
  return false;
}

/* Whether a part has an event. One that cannot be read has none. */
static bool has_events(const event_tail *tail, const char *file) {
  event_tail part;
  furrow_error ignored;
  furrow_status status = event_tail_open(&part, tail->source, file, 0, &ignored);
  part.ended = true; /* its last line may lack its end */
  if (status == FURROW_OK) status = event_tail_fill(&part, 1, &ignored);
  const bool has = status == FURROW_OK && !event_tail_is_empty(&part);
  event_tail_close(&part);
  return has;
}

static furrow_status warn(late_parts *late, const char *name, const char *file, furrow_error *err) {
  char **named = realloc(late->named, (late->count + 1) * sizeof *named);
  if (!named) return fail_memory(err);
  late->named = named;
  if (!(named[late->count] = strdup(name))) return fail_memory(err);
  late->count++;
  say("furrow: warning: %s is not learned: it came after parts whose names sort later. A name that sorts last lets "
      "it be learned\n",
      file);
  return FURROW_OK;
}

static furrow_status judge_part(late_parts *late, const event_tail *tail, const fw_journal *journal, const char *name,
                                furrow_error *err) {
  char file[4096];
  if (name[0] == '.' || strcmp(name, name_of(tail->file)) >= 0) return FURROW_OK;
  if (is_named(late, name) || is_learned(tail, journal, name)) return FURROW_OK;
  const int n = snprintf(file, sizeof file, "%s/%s", tail->source, name);
  if (n >= (int)sizeof file) return FURROW_OK;
  if (has_events(tail, file)) return warn(late, name, file, err);
  late->waits = true;
  return FURROW_OK;
}

furrow_status late_parts_warn(late_parts *late, const event_tail *tail, const fw_journal *journal, furrow_error *err) {
  struct stat info;
  const struct dirent *entry;
  furrow_status status = FURROW_OK;
  if (!tail->folder || !tail->file || stat(tail->source, &info) != 0) return FURROW_OK;
  const bool same = info.st_mtim.tv_sec == late->changed.tv_sec && info.st_mtim.tv_nsec == late->changed.tv_nsec;
  if (same && !late->waits) return FURROW_OK;
  DIR *dir = opendir(tail->source);
  if (!dir) return fail_file(err, FURROW_E_IO, tail->source, "cannot be listed", errno);
  late->changed = info.st_mtim;
  late->waits = false;
  while (status == FURROW_OK && (entry = readdir(dir))) status = judge_part(late, tail, journal, entry->d_name, err);
  closedir(dir);
  return status;
}

void late_parts_clear(late_parts *late) {
  for (size_t i = 0; i < late->count; i++) free(late->named[i]);
  free(late->named);
  *late = (late_parts){0};
}
