/* cli/learn/cmd_learn.c: furrow learn: a model that learns from a log that grows.
 *
 * The model is a folder of versions, as furrow serve takes it. A version is made from the version before it and a run
 * of events; the journal has the run before the version appears, whole, under its number. So a process that was killed
 * makes the same version again. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/journal/learn_journal.h"
#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/progress.h"
#include "core/report.h"
#include "core/shown_text.h"
#include "furrow/io.h"
#include "furrow/json.h"
#include "furrow/model.h"
#include "learn/event_tail.h"
#include "learn/late_parts.h"
#include "learn/model_names.h"
#include "learn/raw_log.h"
#include "learn/scoring.h"

typedef struct stream_values {
  const char *model, *follow, *replay;
  uint64_t every, rollback, max_features, keep;
  uint32_t seconds, threads;
  double lr;
  bool once, json, quiet;
} stream_values;

#define AT(field) offsetof(stream_values, field)
static const option stream_options[] = {
    {.name = "model",
     .kind = OPTION_TEXT,
     .argument = "FOLDER",
     .help = "the versions of a model of a raw log: FOLDER/1, which furrow train wrote, FOLDER/2 …",
     .offset = AT(model),
     .required = true},
    {.name = "follow",
     .kind = OPTION_TEXT,
     .argument = "LOG",
     .help = "the events: a file that grows, a folder of parts, which are read in the order of their names, or - for "
             "standard input; lines of JSON, or csv and tsv with a header",
     .offset = AT(follow)},
    {.name = "every",
     .kind = OPTION_U64,
     .argument = "K",
     .help = "make a version of every K events (1000)",
     .offset = AT(every)},
    {.name = "seconds",
     .kind = OPTION_U32,
     .argument = "S",
     .help = "also make a version of fewer events, S seconds after the last one (0: never)",
     .offset = AT(seconds)},
    {.name = "once",
     .kind = OPTION_FLAG,
     .help = "end when all events that are there are learned, the last of them in a version of fewer",
     .offset = AT(once)},
    {.name = "keep",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "keep the first version and the last N (10; 0: all)",
     .offset = AT(keep)},
    {.name = "max-features",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "have at most N features: the rarest names count as unknown (0: no limit)",
     .offset = AT(max_features)},
    {.name = "lr",
     .kind = OPTION_REAL,
     .argument = "RATE",
     .help = "the learning rate of models that are not solved exactly (0: the model's)",
     .offset = AT(lr)},
    {.name = "replay",
     .kind = OPTION_TEXT,
     .argument = "FOLDER",
     .help =
         "make all versions again from the first one, the journal and the events that it names, in another folder, and "
         "end; without --follow",
     .offset = AT(replay)},
    {.name = "rollback",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "return to version N: its copy becomes the next version; events that were learned are not learned again",
     .offset = AT(rollback)},
    THREADS_OPTION(AT(threads), "; the number does not change the model"),
    {.name = "json", .kind = OPTION_FLAG, .help = "print a line of JSON for each version", .offset = AT(json)},
    QUIET_OPTION(AT(quiet)),
    {0}};
#undef AT

static const option_group stream_groups[] = {{.title = "Options", .options = stream_options}, {0}};

static void stream_init(void *values) {
  stream_values *v = values;
  v->every = 1000;
  v->keep = 10;
}

typedef struct stream {
  const stream_values *values;
  output *out;
  const char *folder; /* where versions are made */
  char algorithm[32];
  bool exact, headed;
  fw_journal journal;
  event_tail tail;
  late_parts late;
  uint64_t version; /* the newest */
  uint64_t refused; /* the first events of the tail that cannot be learned without more; 0: none */
  double last;      /* time of the last version */
} stream;

enum { PATH_SIZE = 4096 };

static furrow_status version_path(char path[PATH_SIZE], const char *folder, uint64_t version, furrow_error *err) {
  const int n = snprintf(path, PATH_SIZE, "%s/%" PRIu64, folder, version);
  return n < PATH_SIZE ? FURROW_OK : fail_token(err, folder, "the path is too long");
}

/* ---- Versions ------------------------------------------------------------------------------------------- */

static bool parse_version(const char *name, uint64_t *version) {
  char *end;
  if (name[0] < '1' || name[0] > '9' || strlen(name) > 18) return false;
  *version = strtoull(name, &end, 10);
  return *end == 0;
}

/* The highest number of a folder; *version 0: there is none. least: the lowest. */
static furrow_status find_versions(const char *folder, uint64_t *version, uint64_t *least, furrow_error *err) {
  DIR *dir = opendir(folder);
  const struct dirent *entry;
  uint64_t number;
  *version = *least = 0;
  if (!dir)
    return fail_file(err, errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO, folder, "cannot be listed", errno);
  while ((errno = 0, entry = readdir(dir))) {
    if (!parse_version(entry->d_name, &number)) continue;
    if (number > *version) *version = number;
    if (*least == 0 || number < *least) *least = number;
  }
  const int failed = errno;
  closedir(dir);
  return failed ? fail_file(err, FURROW_E_IO, folder, "cannot be listed", failed) : FURROW_OK;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at) {
  (void)info, (void)kind, (void)at;
  return remove(path);
}

static furrow_status remove_version(const stream *s, uint64_t version, furrow_error *err) {
  char path[PATH_SIZE];
  const furrow_status status = version_path(path, s->folder, version, err);
  if (status != FURROW_OK || nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0) return status;
  return fail_file(err, FURROW_E_IO, path, "cannot be removed", errno);
}

/* Removes versions that are no longer kept, also those that a process that was killed left; the first one is what a
 * replay begins with. */
static furrow_status remove_old(const stream *s, furrow_error *err) {
  const uint64_t first = s->journal.count > 0 ? s->journal.records[0].version - 1 : s->version;
  const struct dirent *entry;
  uint64_t version;
  furrow_status status = FURROW_OK;
  if (s->values->keep == 0 || s->version <= s->values->keep) return FURROW_OK;
  DIR *dir = opendir(s->folder);
  if (!dir) return fail_file(err, FURROW_E_IO, s->folder, "cannot be listed", errno);
  while (status == FURROW_OK && (entry = readdir(dir)))
    if (parse_version(entry->d_name, &version) && version > first && version <= s->version - s->values->keep)
      status = remove_version(s, version, err);
  closedir(dir);
  return status;
}

/* ---- One version ---------------------------------------------------------------------------------------- */

static const char *events_name(const stream *s) {
  const char *file = s->tail.file;
  const size_t n = strlen(file);
  if (s->tail.header.size == 0) return "memory://furrow/events.jsonl";
  return strcmp(file + n - 4, ".tsv") == 0 ? "memory://furrow/events.tsv" : "memory://furrow/events.csv";
}

/* Makes a file in memory of the header and the events. */
static furrow_status put_events(const stream *s, size_t bytes, furrow_error *err) {
  fw_buffer text = {0};
  char *taken = NULL;
  size_t size = 0;
  fw_buffer_append(&text, s->tail.header.bytes, s->tail.header.size);
  fw_buffer_append(&text, s->tail.text.bytes, bytes);
  furrow_status status = fw_buffer_take(&text, &taken, &size, err);
  if (status == FURROW_OK) status = furrow_memory_file_add(events_name(s), taken, size, free, taken, err);
  if (status != FURROW_OK) free(taken);
  fw_buffer_clear(&text);
  return status;
}

/* Scores events with the model that has not learned them. */
static furrow_status judge(const stream *s, const char *model, const char *uri, furrow_learn_metrics *metrics,
                           furrow_error *err) {
  const scoring_values values = {
      .model = model, .data = uri, .threads = s->values->threads, .on_bad = FURROW_ON_BAD_SKIP, .quiet = true};
  scoring scored = {0};
  furrow_evaluation *evaluation = NULL;
  const furrow_rowblock *block;
  furrow_status status = scoring_open(&scored, &values, err);
  if (status == FURROW_OK) status = furrow_evaluation_create(&evaluation, scored.scorer, err);
  while (status == FURROW_OK && (status = scoring_next(&scored, &block, err)) == FURROW_OK)
    status = furrow_evaluation_add_block(evaluation, scored.space, block, err);
  if (status == FURROW_END) status = FURROW_OK;
  if (status == FURROW_OK) furrow_evaluation_get_metrics(evaluation, metrics);
  furrow_evaluation_free(evaluation);
  scoring_close(&scored);
  return status;
}

static furrow_status set_number(furrow_learn_conf *conf, const char *key, double number, furrow_error *err) {
  char text[32];
  snprintf(text, sizeof text, "%.17g", number);
  return furrow_learn_conf_set(conf, key, text, err);
}

/* Other models see each event once, with their own rate, which does not fall. */
static furrow_status set_one_pass(const stream *s, const char *model, furrow_learn_conf *conf, furrow_error *err) {
  furrow_learn_conf *trained = NULL;
  double rate = s->values->lr;
  furrow_status status = furrow_learn_conf_create(&trained, err);
  if (status == FURROW_OK) status = furrow_learn_conf_load_model(trained, model, err);
  if (status == FURROW_OK && rate <= 0) rate = strtod(furrow_learn_conf_get(trained, "lr"), NULL);
  furrow_learn_conf_free(trained);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "epochs", "1", err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "valid-ratio", "0", err);
  return status == FURROW_OK && rate > 0 ? set_number(conf, "lr", rate, err) : status;
}

static furrow_status train_further(const stream *s, const char *model, const char *uri, const char *target,
                                   const furrow_learn_conf *conf, furrow_error *err) {
  furrow_trainer_params params;
  furrow_trainer_fit_params fit;
  furrow_trainer_save_params save;
  furrow_parser_params parser;
  furrow_trainer *trainer = NULL;
  furrow_trainer_params_init(&params);
  furrow_trainer_fit_params_init(&fit);
  furrow_trainer_save_params_init(&save);
  furrow_parser_params_init(&parser);
  params.load = model;
  params.threads = parser.threads = s->values->threads;
  parser.on_bad = FURROW_ON_BAD_SKIP;
  fit.parser = &parser;
  save.overwrite = true;
  furrow_status status = furrow_trainer_create(&trainer, conf, &params, err);
  if (status == FURROW_OK) status = furrow_trainer_fit(trainer, uri, NULL, &fit, err);
  if (status == FURROW_OK) status = furrow_trainer_save(trainer, target, &save, err);
  furrow_trainer_free(trainer);
  return status;
}

static furrow_status learn_events(const stream *s, const char *model, const char *uri, const char *target,
                                  furrow_error *err) {
  const learn_origin origin = {.algorithm = s->algorithm};
  const encoder_reading reading = {.threads = s->values->threads,
                                   .on_bad = FURROW_ON_BAD_SKIP,
                                   .quiet = true,
                                   .max_features = s->values->max_features};
  static const learn_values no_keys;
  static const text_list none;
  learn_settings settings = {0};
  furrow_encoder *encoder = NULL;
  furrow_status status = furrow_encoder_load(&encoder, model, err);
  if (status == FURROW_OK) status = grow_encoder(&encoder, uri, &reading, err);
  if (status == FURROW_OK) status = furrow_encoder_save(encoder, ENCODER_IN_MEMORY, true, err);
  if (status == FURROW_OK) status = learn_settings_make(&settings, &origin, &no_keys, &none, err);
  if (status == FURROW_OK) status = raw_log_use_encoder(settings.conf, err);
  if (status == FURROW_OK && !s->exact) status = set_one_pass(s, model, settings.conf, err);
  if (status == FURROW_OK) status = train_further(s, model, uri, target, settings.conf, err);
  learn_settings_clear(&settings);
  furrow_encoder_free(encoder);
  return status;
}

static void json_number(output *out, const char *name, double number) {
  char text[FURROW_JSON_NUMBER_TEXT];
  const size_t size = furrow_json_write_f64(text, number);
  output_format(out, ",\"%s\":%.*s", name, (int)size, text);
}

static void print_version(stream *s, const fw_journal_record *record, const furrow_learn_metrics *m) {
  output *out = s->out;
  if (s->values->json) {
    output_format(out, "{\"version\":%" PRIu64 ",\"events\":%" PRIu64 ",\"rows\":%" PRIu64, record->version,
                  record->events, m->rows);
    json_number(out, "auc", m->auc);
    json_number(out, "loss", m->loss);
    json_number(out, "logloss", m->logloss);
    json_number(out, "mean_label", m->mean_label);
    json_number(out, "mean_prediction", m->mean_prediction);
    output_text(out, ",\"file\":");
    output_json_text(out, record->file);
    output_format(out, ",\"to\":%" PRIu64 "}\n", record->to);
  } else {
    if (!s->headed) output_text(out, "version     events       auc      loss   label     prediction\n");
    s->headed = true;
    output_format(out, "%7" PRIu64 " %10" PRIu64 "  %8.5f  %8.5f  %.5f   %.5f\n", record->version, record->events,
                  m->auc, m->loss, m->mean_label, m->mean_prediction);
  }
  output_push(out);
}

/* The events were read from memory, but their log is what the user knows. */
static furrow_status name_log(const fw_journal_record *record, const char *uri, furrow_status status,
                              furrow_error *err) {
  if (!err) return status;
  char *found = strstr(err->message, uri), rest[sizeof err->message];
  if (strcmp(err->file, uri) == 0) {
    snprintf(err->file, sizeof err->file, "%s", record->file);
    err->line = 0; /* it counts from the first of these events */
    err->offset = FURROW_NO_OFFSET;
  }
  if (found) {
    snprintf(rest, sizeof rest, "%s", found + strlen(uri));
    snprintf(found, (size_t)(err->message + sizeof err->message - found), "%s%s", record->file, rest);
  }
  if (!err->hint[0])
    add_hint(err, "the events are the bytes %" PRIu64 " to %" PRIu64 " of %.200s", record->from, record->to,
             record->file);
  return status;
}

/* Makes the version of a record, whose bytes are at the start of the tail's text. */
static furrow_status make_version(stream *s, const fw_journal_record *record, furrow_error *err) {
  char model[PATH_SIZE], target[PATH_SIZE];
  furrow_learn_metrics metrics;
  furrow_learn_metrics_init(&metrics);
  furrow_status status = version_path(model, s->folder, record->copy_of ? record->copy_of : record->version - 1, err);
  if (status == FURROW_OK) status = version_path(target, s->folder, record->version, err);
  if (status != FURROW_OK) return status;
  if (record->copy_of > 0) {
    status = furrow_model_convert(model, target, NULL, NULL, err);
    if (status == FURROW_OK) s->version = record->version;
    return status;
  }
  status = put_events(s, (size_t)(record->to - record->from), err);
  if (status != FURROW_OK) return status;
  const char *uri = events_name(s);
  status = judge(s, model, uri, &metrics, err);
  if (status == FURROW_OK) status = learn_events(s, model, uri, target, err);
  const furrow_status removed = furrow_memory_file_remove(uri, status == FURROW_OK ? err : NULL);
  if (status == FURROW_OK) status = removed;
  if (status != FURROW_OK) return name_log(record, uri, status, err);
  s->version = record->version;
  if (metrics.rows < record->events && !s->values->quiet)
    say("furrow: warning: version %" PRIu64 ": %" PRIu64 " events could not be read, and were left out\n",
        record->version, record->events - metrics.rows);
  print_version(s, record, &metrics);
  return FURROW_OK;
}

/* Whether events are at fault: all of one class, without labels, none that can be read. */
static bool are_unfit(furrow_status status) {
  return status == FURROW_E_ARGUMENT || status == FURROW_E_FORMAT || status == FURROW_E_PARSE ||
         status == FURROW_E_RANGE;
}

/* Takes back the record of events that cannot be learned alone. `status` says why. */
static furrow_status refuse_lines(stream *s, uint64_t lines, bool last, furrow_status status, furrow_error *err) {
  furrow_error failure;
  const furrow_status dropped = fw_journal_drop_last(&s->journal, &failure);
  if (dropped != FURROW_OK) {
    if (err) *err = failure;
    return dropped;
  }
  if (last) return status;
  say("furrow: warning: %" PRIu64 " events cannot be learned without those that follow: %s\n", lines,
      err ? err->message : "");
  s->refused = lines;
  s->last = now_seconds();
  return FURROW_OK;
}

/* Learns the first lines of the tail. last: no more can be added to them. */
static furrow_status learn_lines(stream *s, uint64_t lines, bool last, furrow_error *err) {
  const size_t bytes = event_tail_bytes(&s->tail, lines);
  const fw_journal_record record = {.version = s->version + 1,
                                    .from = s->tail.from,
                                    .to = s->tail.from + bytes,
                                    .events = lines,
                                    .digest = fw_journal_digest(s->tail.text.bytes, bytes),
                                    .file = s->tail.file};
  furrow_status status = fw_journal_append(&s->journal, &record, err);
  if (status != FURROW_OK) return status;
  status = make_version(s, &record, err);
  if (are_unfit(status)) return refuse_lines(s, lines, last, status, err);
  if (status != FURROW_OK) return status;
  event_tail_drop(&s->tail, bytes, lines);
  s->refused = 0;
  s->last = now_seconds();
  return remove_old(s, err);
}

/* ---- Going on ------------------------------------------------------------------------------------------- */

/* Reads the events of a record again. */
static furrow_status read_record_again(stream *s, const fw_journal_record *record, furrow_error *err) {
  event_tail_close(&s->tail);
  furrow_status status = event_tail_open(&s->tail, record->file, record->file, record->from, err);
  if (status == FURROW_OK) status = event_tail_read_again(&s->tail, record->to, err);
  if (status != FURROW_OK) return status;
  const bool same = s->tail.text.size == record->to - record->from &&
                    fw_journal_digest(s->tail.text.bytes, s->tail.text.size) == record->digest;
  if (!same)
    return fail_in(err, FURROW_E_STATE, record->file, "the events of version %" PRIu64 " have changed",
                   record->version);
  return FURROW_OK;
}

/* A version of which only the journal knows is made again. */
static furrow_status make_last_version(stream *s, furrow_error *err) {
  const fw_journal_record *last = &s->journal.records[s->journal.count - 1];
  if (strcmp(last->file, "-") == 0 && last->copy_of == 0) {
    say("furrow: warning: version %" PRIu64 " was not finished, and its %" PRIu64
        " events came from standard input: they are lost\n",
        last->version, last->events);
    return fw_journal_drop_last(&s->journal, err);
  }
  furrow_status status = last->copy_of > 0 ? FURROW_OK : read_record_again(s, last, err);
  if (status != FURROW_OK) return status;
  status = make_version(s, last, err);
  return are_unfit(status) && last->copy_of == 0 ? fw_journal_drop_last(&s->journal, err) : status;
}

/* Compares the journal with the versions, and makes the last one if it is missing. */
static furrow_status recover(stream *s, furrow_error *err) {
  uint64_t least = 0;
  furrow_status status = find_versions(s->folder, &s->version, &least, err);
  if (status != FURROW_OK) return status;
  if (s->version == 0) {
    fail_in(err, FURROW_E_NOT_FOUND, s->folder, "there is no version of a model");
    return add_hint(err, "write the first one with furrow train … --out %.300s/1", s->folder);
  }
  if (s->journal.count == 0) return FURROW_OK;
  const uint64_t last = s->journal.records[s->journal.count - 1].version;
  if (last == s->version + 1) return make_last_version(s, err);
  if (last == s->version) return FURROW_OK;
  fail_in(err, FURROW_E_STATE, s->journal.path, "it ends with version %" PRIu64 ", but the newest version is %" PRIu64,
          last, s->version);
  return add_hint(err,
                  "a model that was trained in another way begins a journal of its own: put it into another folder "
                  "as version 1");
}

/* The last record of events of the log that is followed; NULL: there is none. */
static const fw_journal_record *find_record(const stream *s) {
  for (size_t i = s->journal.count; i > 0; i--) {
    const fw_journal_record *record = &s->journal.records[i - 1];
    if (record->copy_of == 0 && event_tail_is_of(&s->tail, record->file)) return record;
  }
  return NULL;
}

/* Goes on after the last events of the log that were learned, if these are still what they were. */
static furrow_status open_tail(stream *s, furrow_error *err) {
  const char *log = s->values->follow;
  event_tail_close(&s->tail);
  furrow_status status = event_tail_open(&s->tail, log, NULL, 0, err);
  if (status != FURROW_OK) return status;
  const fw_journal_record *last = find_record(s);
  if (strcmp(log, "-") == 0 && !s->values->quiet)
    say("furrow: note: standard input cannot be read again: events that are in no version when the process ends are "
        "lost\n");
  if (strcmp(log, "-") != 0 && !last && s->journal.count > 0 && !s->values->quiet)
    say("furrow: note: no version has learned from %s yet: it is learned from its start\n", log);
  if (!last) return FURROW_OK;
  status = read_record_again(s, last, err);
  event_tail_close(&s->tail);
  return status == FURROW_OK ? event_tail_open(&s->tail, log, last->file, last->to, err) : status;
}

/* After a signal: what was made stays. */
static furrow_status check_stop(const stream *s, furrow_status status, furrow_error *err) {
  if (!interrupt_came() || (status != FURROW_OK && status != FURROW_E_CANCELLED)) return status;
  fail_in(err, FURROW_E_STATE, s->folder, "stopped by a signal; version %" PRIu64 " is the newest", s->version);
  return s->values->replay ? FURROW_E_STATE : add_hint(err, "the same command goes on after it");
}

/* Waits for events; a signal ends it. */
static void wait_a_moment(void) {
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

static bool is_due(const stream *s) {
  return s->values->seconds > 0 && now_seconds() - s->last >= s->values->seconds;
}

static furrow_status follow_step(stream *s, bool *done, furrow_error *err) {
  const uint64_t wanted = s->refused > 0 ? 2 * s->refused : s->values->every;
  bool moved = false;
  furrow_status status = event_tail_fill(&s->tail, wanted, err);
  if (status != FURROW_OK) return status;
  if (s->tail.lines >= wanted) return learn_lines(s, wanted, false, err);
  const bool ended = s->tail.ended;
  if (s->tail.lines > 0 && ended) return learn_lines(s, s->tail.lines, true, err);
  if (s->tail.lines > s->refused && is_due(s)) return learn_lines(s, s->tail.lines, false, err);
  status = event_tail_next_part(&s->tail, &moved, err);
  if (status != FURROW_OK || moved || (!ended && s->tail.ended)) return status;
  if (s->values->once && s->tail.lines > 0) return learn_lines(s, s->tail.lines, true, err);
  status = late_parts_warn(&s->late, &s->tail, &s->journal, err);
  if (status != FURROW_OK) return status;
  *done = s->values->once || (ended && !s->tail.folder);
  if (!*done) wait_a_moment();
  return *done ? FURROW_OK : event_tail_check(&s->tail, err);
}

static furrow_status follow(stream *s, furrow_error *err) {
  bool done = false;
  furrow_status status = open_tail(s, err);
  s->last = now_seconds();
  while (status == FURROW_OK && !done && !interrupt_came()) status = follow_step(s, &done, err);
  return check_stop(s, status, err);
}

/* ---- Rollback, replay ----------------------------------------------------------------------------------- */

static int compare_versions(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The hint names the versions that can be returned to. */
static furrow_status fail_no_version(const stream *s, furrow_error *err) {
  enum { MOST = 4096, SHOWN = 20 };
  uint64_t versions[MOST];
  size_t count = 0;
  char text[240] = "";
  const struct dirent *entry;
  DIR *dir = opendir(s->folder);
  while (dir && count < MOST && (entry = readdir(dir)))
    count += parse_version(entry->d_name, &versions[count]) && versions[count] < s->version;
  if (dir) closedir(dir);
  qsort(versions, count, sizeof *versions, compare_versions);
  const size_t first = count > SHOWN ? count - SHOWN : 0; /* the last ones are those that people return to */
  for (size_t i = first, n = 0; i < count && n < sizeof text - 24; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRIu64, i > first ? ", " : "", versions[i]);
  fail_in(err, FURROW_E_NOT_FOUND, s->folder, "there is no earlier version %" PRIu64, s->values->rollback);
  return count > 0 ? add_hint(err, "the versions before %" PRIu64 ": %s%s", s->version, first > 0 ? "… " : "", text)
                   : FURROW_E_NOT_FOUND;
}

static furrow_status roll_back(stream *s, furrow_error *err) {
  char path[PATH_SIZE];
  const uint64_t wanted = s->values->rollback;
  furrow_status status = version_path(path, s->folder, wanted, err);
  if (status != FURROW_OK) return status;
  if (wanted >= s->version || access(path, F_OK) != 0) return fail_no_version(s, err);
  if (s->journal.count == 0) return fail_in(err, FURROW_E_STATE, s->folder, "no events were learned");
  const fw_journal_record *last = &s->journal.records[s->journal.count - 1];
  const fw_journal_record record = {
      .version = s->version + 1, .from = last->to, .to = last->to, .copy_of = wanted, .file = last->file};
  status = fw_journal_append(&s->journal, &record, err);
  if (status == FURROW_OK) status = make_version(s, &s->journal.records[s->journal.count - 1], err);
  if (status == FURROW_OK && !s->values->quiet)
    say("furrow: note: version %" PRIu64 " is version %" PRIu64 " again\n", s->version, wanted);
  return status;
}

static furrow_status replay(stream *s, furrow_error *err) {
  char first[PATH_SIZE], target[PATH_SIZE];
  if (s->journal.count == 0) return fail_in(err, FURROW_E_STATE, s->folder, "no events were learned");
  const uint64_t base = s->journal.records[0].version - 1;
  furrow_status status = version_path(first, s->folder, base, err);
  if (status == FURROW_OK) status = version_path(target, s->values->replay, base, err);
  if (status == FURROW_OK && mkdir(s->values->replay, 0777) != 0)
    status = fail_file(err, FURROW_E_EXISTS, s->values->replay, "cannot be made", errno);
  if (status == FURROW_OK) status = furrow_model_convert(first, target, NULL, NULL, err);
  s->folder = s->values->replay;
  s->version = base;
  for (size_t i = 0; status == FURROW_OK && i < s->journal.count && !interrupt_came(); i++) {
    const fw_journal_record *record = &s->journal.records[i];
    if (strcmp(record->file, "-") == 0 && record->copy_of == 0)
      return fail_in(err, FURROW_E_UNSUPPORTED, s->journal.path,
                     "version %" PRIu64 " has learned from standard input, which is gone", record->version);
    if (record->copy_of == 0) status = read_record_again(s, record, err);
    if (status == FURROW_OK) status = make_version(s, record, err);
  }
  return check_stop(s, status, err);
}

/* ---- The command ---------------------------------------------------------------------------------------- */

static furrow_status check_model(stream *s, uint64_t version, furrow_error *err) {
  char path[PATH_SIZE];
  model_facts facts = {0};
  furrow_status status = version_path(path, s->folder, version, err);
  if (status == FURROW_OK) status = model_facts_read(&facts, path, err);
  if (status != FURROW_OK) return status;
  static const char *const exact[] = {"lr", "linear", "robust", "softmax"};
  for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) s->exact |= strcmp(facts.algorithm, exact[i]) == 0;
  snprintf(s->algorithm, sizeof s->algorithm, "%s", facts.algorithm);
  if (facts.ranks || !facts.algorithm[0] || strcmp(facts.algorithm, "gbdt") == 0)
    return fail_in(err, FURROW_E_UNSUPPORTED, path, "a model of %s does not learn from a stream",
                   facts.algorithm[0] ? facts.algorithm : "Angel's");
  return FURROW_OK;
}

static furrow_status check_folder(const stream *s, furrow_error *err) {
  static const char *const names[] = {"graph.json", "furrow.json"};
  const stream_values *v = s->values;
  if (!v->follow && !v->replay && v->rollback == 0)
    return fail(err, FURROW_E_ARGUMENT, "--follow LOG is missing, the events to learn");
  if (v->follow && v->replay) {
    fail(err, FURROW_E_ARGUMENT, "--follow and --replay cannot be used together");
    return add_hint(err, "--replay reads the events that the journal names, and ends after them");
  }
  if (v->every == 0) return fail(err, FURROW_E_ARGUMENT, "--every must be at least 1");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[PATH_SIZE];
    const int n = snprintf(path, sizeof path, "%s/%s", s->folder, names[i]);
    if (n >= PATH_SIZE || access(path, F_OK) != 0) continue;
    fail_token(err, s->folder, "--model is a model, but versions need a folder around them");
    return add_hint(err, "move the model into a folder, as its version 1: FOLDER/1");
  }
  return FURROW_OK;
}

static furrow_status run_stream(const void *values, output *out, furrow_error *err) {
  const stream_values *v = values;
  stream s = {.values = v, .out = out, .folder = v->model, .journal = {.fd = -1}, .tail = {.fd = -1}};
  furrow_file_lock *lock = NULL;
  uint64_t newest = 0, oldest = 0;
  furrow_status status = check_folder(&s, err);
  if (status == FURROW_OK) status = find_versions(s.folder, &newest, &oldest, err);
  if (status == FURROW_OK && newest > 0) status = check_model(&s, newest, err);
  if (status == FURROW_OK) status = furrow_file_lock_open(&lock, s.folder, err);
  interrupt_catch();
  if (status == FURROW_OK) status = find_versions(s.folder, &newest, &oldest, err);
  if (status == FURROW_OK) status = fw_journal_open(&s.journal, s.folder, oldest, newest, err);
  if (status == FURROW_OK) status = recover(&s, err);
  if (status == FURROW_OK && v->rollback > 0) status = roll_back(&s, err);
  if (status == FURROW_OK && v->replay) status = replay(&s, err);
  if (status == FURROW_OK && v->follow) status = follow(&s, err);
  event_tail_close(&s.tail);
  late_parts_clear(&s.late);
  fw_journal_close(&s.journal);
  furrow_file_lock_close(lock);
  return status;
}

const command learn_command = {
    .name = "learn",
    .summary = "learn from a log that grows, and make versions of a model that furrow serve takes",
    .example = "furrow train --model fm --train ratings.csv --schema auto --out shop/1\n"
               "furrow learn --model shop --follow events.jsonl\n"
               "furrow learn --model shop --follow parts/ --every 10000 --seconds 60 --json\n"
               "furrow learn --model shop --rollback 3",
    .about =
        "Each version learns a run of events, with the names of users and items that are new in it. Before an event is "
        "learned, the version before scores it: auc, loss, mean label and mean prediction are of events that the model "
        "had not seen. lr, linear, robust and softmax stay near the weights that earlier events determine; fm and nets "
        "take one step for each batch, at a rate that does not fall.\n\n"
        "FOLDER/journal.jsonl says which bytes of the log each version has learned (docs/formats/learn_journal.md). A "
        "process that was killed goes on there: no event is lost or learned twice, and with --every alone the versions "
        "are the same, byte for byte, as without the interruption. Standard input cannot be read again.",
    .groups = stream_groups,
    .size = sizeof(stream_values),
    .init = stream_init,
    .run = run_stream,
};
