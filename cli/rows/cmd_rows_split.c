/* cli/rows/cmd_rows_split.c: furrow rows split: rows dealt out to several files by chance, the same for the same seed;
 * records of a raw log copied to several files by user and time, or by group. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/progress.h"
#include "core/ranks.h"
#include "core/report.h"
#include "core/text_file.h"
#include "core/written.h"
#include "furrow/table.h"
#include "rows/rows_sink.h"
#include "rows/rows_source.h"

enum { MOST_OUTPUTS = 64, NAME_TEXT = 64, ENDING_TEXT = 16 };

typedef struct fraction_list {
  size_t count;
  double share[MOST_OUTPUTS];
} fraction_list;

typedef struct name_list {
  size_t count;
  char name[MOST_OUTPUTS][NAME_TEXT];
} name_list;

typedef struct split_values {
  source_values source;
  sink_values sink;
  const char *uri, *out;
  const char *user, *time, *group;
  double last;
  fraction_list fractions;
  name_list names;
  uint64_t seed;
  bool json;
  bool log; /* rows of a table are dealt out as they are */
} split_values;

/* ---- Options -------------------------------------------------------------------------------------------- */

static furrow_status parse_fractions(const char *text, void *field, furrow_error *err) {
  fraction_list list = {0};
  double sum = 0;
  for (const char *at = text;; at++) {
    char number[32];
    size_t n = strcspn(at, ",");
    if (n >= sizeof number || list.count == MOST_OUTPUTS)
      return fail_token(err, text, "--fractions takes up to %d numbers", MOST_OUTPUTS);
    memcpy(number, at, n);
    number[n] = 0;
    double *share = &list.share[list.count++];
    if (!read_real(number, share) || *share <= 0 || *share > 1)
      return fail_token(err, number, "--fractions takes positive numbers separated by commas, such as 0.8,0.1,0.1");
    sum += *share;
    at += n;
    if (!*at) break;
  }
  if (fabs(sum - 1) > 1e-6) return fail_token(err, text, "--fractions add up to %.9g, not to 1", sum);
  *(fraction_list *)field = list;
  return FURROW_OK;
}

static furrow_status parse_names(const char *text, void *field, furrow_error *err) {
  name_list *list = field;
  list->count = 0;
  for (const char *at = text;; at++) {
    size_t n = strcspn(at, ",");
    if (n == 0 || n >= NAME_TEXT || memchr(at, '/', n) || list->count == MOST_OUTPUTS)
      return fail_token(err, text, "--names takes up to %d names without a slash, such as train,test", MOST_OUTPUTS);
    char *name = list->name[list->count];
    memcpy(name, at, n);
    name[n] = 0;
    for (size_t i = 0; i < list->count; i++)
      if (strcmp(list->name[i], name) == 0) return fail_token(err, name, "--names contains a name twice");
    list->count++;
    at += n;
    if (!*at) break;
  }
  return FURROW_OK;
}

static furrow_status parse_last(const char *text, void *field, furrow_error *err) {
  double *last = field;
  if (!read_real(text, last) || !(*last > 0) || *last > 1e15 || (*last >= 1 && *last != floor(*last)))
    return fail_token(err, text, "--last takes a share below 1, such as 0.2, or a number of rows");
  return FURROW_OK;
}

#define AT(field) offsetof(split_values, field)
static const option split_operands[] = {{.name = "URI",
                                         .kind = OPTION_TEXT,
                                         .help = "the rows to read",
                                         .offset = AT(uri),
                                         .required = true,
                                         .from_query = true},
                                        {0}};

static const option split_options[] = {
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "DIR|PREFIX",
     .help = "a directory for files NAME.FORMAT (created if it ends in /), or a prefix for files PREFIX.NAME.FORMAT",
     .offset = AT(out),
     .required = true},
    {.name = "fractions",
     .kind = OPTION_PARSED,
     .argument = "F,F...",
     .help = "share of the rows for each file; the shares add up to 1",
     .offset = AT(fractions),
     .parse = parse_fractions},
    {.name = "names",
     .kind = OPTION_PARSED,
     .argument = "N,N...",
     .help = "names of the files (train,test or train,valid,test)",
     .offset = AT(names),
     .parse = parse_names},
    {.name = "seed", .kind = OPTION_U64, .argument = "S", .help = "seed of the split (0)", .offset = AT(seed)},
    JSON_OPTION(AT(json)),
    {0}};

static const option log_options[] = {
    {.name = "time",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "time column: writes two files, with the latest rows in the second",
     .offset = AT(time)},
    {.name = "user",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "with --time: the last rows of each value of this column",
     .offset = AT(user)},
    {.name = "last",
     .kind = OPTION_PARSED,
     .argument = "SHARE|N",
     .help = "with --time: rows of the second file: a share below 1, or a number of rows",
     .offset = AT(last),
     .parse = parse_last},
    {.name = "group",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "with --fractions: rows with the same value of this column stay together",
     .offset = AT(group)},
    {0}};

static const option_group split_groups[] = {{.title = "Splitting", .options = split_options},
                                            {.title = "Raw logs", .options = log_options},
                                            {.title = "Writing", .options = sink_options, .offset = AT(sink)},
                                            {.title = "Reading", .options = source_options, .offset = AT(source)},
                                            {.title = "Reading", .options = query_options},
                                            {.title = "Reading", .options = plugin_options},
                                            {0}};
#undef AT

static void split_init(void *values) {
  split_values *split = values;
  source_values_init(&split->source);
  sink_values_init(&split->sink);
}

static bool reads_as_usual(const source_values *given) {
  source_values usual;
  source_values_init(&usual);
  return strcmp(given->format, usual.format) == 0 && given->part.nparts == usual.part.nparts &&
         given->index == usual.index && given->value == usual.value && given->chunk == usual.chunk &&
         given->max_line == usual.max_line && given->api == usual.api;
}

static bool writes_as_usual(const sink_values *given) {
  sink_values usual;
  sink_values_init(&usual);
  return given->to == usual.to && given->columns == usual.columns && given->delimiter == usual.delimiter &&
         given->header == usual.header && given->with_weight == usual.with_weight && given->zeros == usual.zeros &&
         given->index_base == usual.index_base && given->drop_fields == usual.drop_fields;
}

/* Whether records of a raw log are copied, rather than rows parsed and written. */
static bool copies_records(const split_values *split) {
  return split->time || split->group || split->user || split->last > 0 || split->log;
}

/* Whether the input is a table by its name, and no option asks to read or write it in another way: then its cells are
 * copied unchanged. */
static bool is_log(const split_values *split) {
  static const char *const endings[] = {".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"};
  static const char *const packed[] = {".gz", ".zst", ""};
  const char *uri = split->uri;
  const size_t n = strlen(uri);
  if (strcmp(uri, QUERY_PATH) == 0) return reads_as_usual(&split->source) && writes_as_usual(&split->sink);
  if (strpbrk(uri, "?#") || !reads_as_usual(&split->source) || !writes_as_usual(&split->sink)) return false;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    for (size_t k = 0; k < sizeof packed / sizeof *packed; k++) {
      char ending[16];
      const int m = snprintf(ending, sizeof ending, "%s%s", endings[i], packed[k]);
      if (n > (size_t)m && strcmp(uri + n - m, ending) == 0) return true;
    }
  return false;
}

static furrow_status check_options(const split_values *split, furrow_error *err) {
  if (!copies_records(split)) {
    if (split->fractions.count > 0) return FURROW_OK;
    fail(err, FURROW_E_ARGUMENT, "one of --fractions and --time is required");
    return add_hint(err, "--fractions 0.8,0.2 splits at random, --time COL --last 0.2 by time");
  }
  if (split->time && split->group) return fail(err, FURROW_E_ARGUMENT, "--time and --group cannot be used together");
  if (!split->time && !split->group && (split->user || split->last > 0))
    return fail(err, FURROW_E_ARGUMENT, "%s needs --time", split->user ? "--user" : "--last");
  if (split->group && (split->user || split->last > 0))
    return fail(err, FURROW_E_ARGUMENT, "--group and %s cannot be used together", split->user ? "--user" : "--last");
  if (split->time && !(split->last > 0)) return fail(err, FURROW_E_ARGUMENT, "--time needs --last");
  if (split->time && split->fractions.count > 0)
    return fail(err, FURROW_E_ARGUMENT, "--time and --fractions cannot be used together");
  if (split->group && split->fractions.count == 0) return fail(err, FURROW_E_ARGUMENT, "--group needs --fractions");
  return FURROW_OK;
}

/* Options for rows that are parsed. */
static furrow_status check_unused(const split_values *split, furrow_error *err) {
  if (reads_as_usual(&split->source) && writes_as_usual(&split->sink)) return FURROW_OK;
  fail(err, FURROW_E_ARGUMENT, "with --time and --group, records are copied as they are");
  return add_hint(err, "of the options for reading and writing, only --on-bad, --quiet and --force have a meaning");
}

/* ---- The hand that deals -------------------------------------------------------------------------------- */

/* bounds[i] of 2^64 is the share of the outputs up to i; the last takes what rounding leaves. */
static void make_bounds(const fraction_list *fractions, uint64_t *bounds) {
  double sum = 0;
  for (size_t i = 0; i < fractions->count; i++) {
    sum += fractions->share[i];
    bounds[i] = sum >= 1 || i + 1 == fractions->count ? UINT64_MAX : (uint64_t)ldexp(sum, 64);
  }
}

static size_t output_of(const uint64_t *bounds, uint64_t seed, uint64_t row) {
  uint64_t chance = fw_rng_hash(seed, row);
  size_t i = 0;
  while (chance >= bounds[i] && bounds[i] != UINT64_MAX) i++;
  return i;
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

typedef struct split_file {
  char *path;
  furrow_rows_writer *writer;
  uint64_t rows, features;
} split_file;

typedef struct split_job {
  const split_values *values;
  name_list names;
  sink_format format;
  char ending[ENDING_TEXT]; /* ending of the files */
  const char *directory;    /* directory created for the files; NULL: it existed */
  uint64_t bounds[MOST_OUTPUTS];
  size_t count;
  split_file files[MOST_OUTPUTS];
} split_job;

static furrow_status choose_names(split_job *job, furrow_error *err) {
  static const char *const usual[] = {"train", "valid", "test"};
  const split_values *split = job->values;
  job->names = split->names;
  if (job->names.count == 0) {
    for (size_t i = 0; i < job->count; i++) {
      const char *name = job->count == 2 ? usual[2 * i] : usual[i % 3];
      if (job->count == 2 || job->count == 3)
        snprintf(job->names.name[i], NAME_TEXT, "%s", name);
      else
        snprintf(job->names.name[i], NAME_TEXT, "part%zu", i);
    }
    job->names.count = job->count;
  }
  if (job->names.count != job->count)
    return fail(err, FURROW_E_ARGUMENT, "--names has %zu names for %zu fractions", job->names.count, job->count);
  return FURROW_OK;
}

static furrow_status make_directory(split_job *job, furrow_error *err) {
  const char *out = job->values->out;
  size_t n = strlen(out);
  struct stat found;
  if (n == 0) return fail(err, FURROW_E_ARGUMENT, "--out is empty");
  if (out[n - 1] != '/' || path_is_named(out) || stat(out, &found) == 0) return FURROW_OK;
  if (ranks_number() > 0) return FURROW_OK;
  interrupt_note_directory(out);
  if (mkdir(out, 0777) != 0) {
    interrupt_note_directory(NULL);
    return fail_file(err, FURROW_E_IO, out, "cannot create the directory", errno);
  }
  job->directory = out;
  return names_sync(out, err);
}

static furrow_status name_files(split_job *job, furrow_error *err) {
  const char *out = job->values->out;
  size_t n = strlen(out);
  struct stat found;
  const bool named = path_is_named(out), exists = !named && stat(out, &found) == 0;
  if (!named && !exists && errno != ENOENT && errno != ENOTDIR)
    return fail_file(err, FURROW_E_IO, out, "cannot be read", errno);
  const bool is_folder = named ? out[n - 1] == '/' || path_is_folder(out) : exists && S_ISDIR(found.st_mode);
  const char *between = !is_folder ? "." : out[n - 1] == '/' ? "" : "/";
  for (size_t i = 0; i < job->count; i++) {
    split_file *file = &job->files[i];
    if (asprintf(&file->path, "%s%s%s%s", out, between, job->names.name[i], job->ending) < 0) return fail_memory(err);
    const furrow_status status = written_check_path(file->path, job->values->sink.force, err);
    if (status != FURROW_OK) return status;
  }
  return FURROW_OK;
}

static furrow_status open_files(split_job *job, source *s, furrow_error *err) {
  furrow_rows_writer_params params;
  furrow_status status = ranks_all_ok(sink_params(&job->values->sink, job->format, s, &params, err), err);
  for (size_t i = 0; i < job->count && status == FURROW_OK; i++) {
    split_file *file = &job->files[i];
    status = furrow_rows_writer_open(&file->writer, file->path, &params, err);
  }
  return status;
}

static furrow_status commit_files(split_job *job, furrow_error *err) {
  furrow_rows_writer *writers[MOST_OUTPUTS];
  for (size_t i = 0; i < job->count; i++) writers[i] = job->files[i].writer;
  return furrow_rows_writer_commit_all(writers, job->count, err);
}

static void close_files(split_job *job, bool failed) {
  for (size_t i = 0; i < job->count; i++) {
    split_file *file = &job->files[i];
    furrow_rows_writer_close(file->writer);
    free(file->path);
  }
  if (failed && job->directory) rmdir(job->directory);
  interrupt_note_directory(NULL);
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static furrow_status deal_block(split_job *job, const furrow_rowblock *block, uint64_t first_row, furrow_error *err) {
  for (size_t i = 0; i < block->size; i++) {
    furrow_row row = furrow_rowblock_row(block, i);
    split_file *file = &job->files[output_of(job->bounds, job->values->seed, first_row + i)];
    furrow_status status = furrow_rows_writer_write_row(file->writer, &row, err);
    if (status != FURROW_OK) return status;
    file->rows++;
    file->features += row.length;
  }
  return FURROW_OK;
}

/* The number of this rank's first row among all rows. */
static furrow_status count_before(source *s, uint64_t *before, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  uint64_t mine = 0;
  void *all = NULL;
  furrow_status status;
  *before = 0;
  if (ranks_count() == 1) return FURROW_OK;
  while ((status = source_next(s, &block, err)) == FURROW_OK) mine += block->size;
  if (status == FURROW_END) status = source_before_first(s, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = ranks_gather(&mine, sizeof mine, &all, err);
  for (unsigned r = 0; r < ranks_number() && status == FURROW_OK; r++) *before += ((const uint64_t *)all)[r];
  free(all);
  return status;
}

static furrow_status deal_rows(split_job *job, source *s, uint64_t rows, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  furrow_status status;
  while ((status = source_next(s, &block, err)) == FURROW_OK) {
    if ((status = deal_block(job, block, rows, err)) != FURROW_OK) return status;
    if ((status = interrupt_check(err)) != FURROW_OK) return status;
    rows += block->size;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static void split_report(const split_job *job, output *out) {
  report r;
  out->stored = true;
  report_start(&r, out, job->values->json);
  if (!job->values->time) report_u64(&r, "seed", job->values->seed);
  if (r.json) report_list(&r, "files");
  for (size_t i = 0; i < job->count; i++) {
    const split_file *file = &job->files[i];
    if (copies_records(job->values))
      report_line(&r, job->names.name[i], "%" PRIu64 " rows: %s", file->rows, file->path);
    else
      report_line(&r, job->names.name[i], "%" PRIu64 " rows, %" PRIu64 " features: %s", file->rows, file->features,
                  file->path);
    if (!r.json) continue;
    report_section(&r, NULL);
    report_text(&r, "name", job->names.name[i]);
    report_text(&r, "path", file->path);
    report_u64(&r, "rows", file->rows);
    if (!copies_records(job->values)) report_u64(&r, "features", file->features);
    report_end(&r);
  }
  if (r.json) report_end(&r);
  report_finish(&r);
}

/* ---- Records of a raw log ------------------------------------------------------------------------------- */

/* Takes the ending of the log's name, without the ending of a compression. Typed columns are written as csv. */
static void choose_ending(split_job *job) {
  const char *uri = job->values->uri;
  size_t n = strcspn(uri, ";?#");
  static const char parquet[] = ".parquet";
  const size_t m = strlen(parquet);
  if (strcmp(uri, QUERY_PATH) == 0 || (n > m && memcmp(uri + n - m, parquet, m) == 0)) {
    snprintf(job->ending, sizeof job->ending, ".csv");
    return;
  }
  static const char *const packed[] = {".gz", ".zst"};
  for (size_t i = 0; i < 2; i++) {
    const size_t p = strlen(packed[i]);
    if (n > p && memcmp(uri + n - p, packed[i], p) == 0) n -= p;
  }
  const char *dot = memrchr(uri, '.', n), *slash = memrchr(uri, '/', n);
  const size_t length = dot && (!slash || dot > slash + 1) && dot > uri ? (size_t)(uri + n - dot) : 0;
  if (length > 1 && length < ENDING_TEXT && !strpbrk(dot, "*["))
    snprintf(job->ending, sizeof job->ending, "%.*s", (int)length, dot);
  else
    snprintf(job->ending, sizeof job->ending, ".txt");
}

static bool draw_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
  progress *line = user;
  (void)phase;
  line->total = total;
  progress_update(line, done);
  return !interrupt_came();
}

static furrow_status copy_log(split_job *job, furrow_parser_stats *stats, furrow_error *err) {
  const split_values *split = job->values;
  const char *paths[MOST_OUTPUTS];
  uint64_t rows[MOST_OUTPUTS];
  furrow_table_split_params params;
  progress line;
  furrow_table_split_params_init(&params);
  params.time = split->time;
  params.user = split->user;
  params.last = split->last;
  params.group = split->group;
  params.shares = split->time ? NULL : split->fractions.share;
  params.seed = split->seed;
  params.overwrite = split->sink.force;
  params.on_bad = split->source.on_bad;
  params.stats = stats;
  params.comm = ranks_comm();
  params.progress = draw_progress;
  params.progress_user = &line;
  for (size_t i = 0; i < job->count; i++) paths[i] = job->files[i].path;
  progress_start(&line, !split->source.quiet, "reading", 0);
  furrow_status status = furrow_table_split(split->uri, paths, job->count, &params, rows, err);
  progress_stop(&line);
  if (status == FURROW_E_CANCELLED) return interrupt_check(err);
  for (size_t i = 0; i < job->count && status == FURROW_OK; i++) job->files[i].rows = rows[i];
  return status;
}

static furrow_status split_log(split_job *job, furrow_parser_stats *stats, furrow_error *err) {
  furrow_parser_stats_init(stats);
  choose_ending(job);
  furrow_status status = check_unused(job->values, err);
  if (status == FURROW_OK) status = choose_names(job, err);
  if (status == FURROW_OK) status = make_directory(job, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = name_files(job, err);
  for (size_t i = 0; i < job->count && status == FURROW_OK; i++)
    status = written_check_apart(job->files[i].path, job->values->uri, err);
  status = ranks_all_ok(status, err);
  return status == FURROW_OK ? copy_log(job, stats, err) : status;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

/* The format of the source, if it can be written. */
static sink_format choose_format(const split_values *split, const source *s) {
  sink_format format = split->sink.to;
  if (format == SINK_FORMATS) format = sink_format_named(source_format(s));
  return format == SINK_FORMATS ? SINK_LIBSVM : format;
}

/* What all ranks wrote. */
static furrow_status join_counts(split_job *job, furrow_error *err) {
  for (size_t i = 0; i < job->count; i++) {
    split_file *file = &job->files[i];
    const uint64_t mine[2] = {file->rows, file->features};
    void *all = NULL;
    const furrow_status status = ranks_gather(mine, sizeof mine, &all, err);
    if (status != FURROW_OK) return status;
    file->rows = file->features = 0;
    for (unsigned r = 0; r < ranks_count(); r++) {
      file->rows += ((const uint64_t *)all)[2 * r];
      file->features += ((const uint64_t *)all)[2 * r + 1];
    }
    free(all);
  }
  return FURROW_OK;
}

static furrow_status split_source(split_job *job, source *s, furrow_error *err) {
  uint64_t before = 0;
  furrow_status status = choose_names(job, err);
  job->format = choose_format(job->values, s);
  snprintf(job->ending, sizeof job->ending, "%s", sink_format_ending(job->format));
  make_bounds(&job->values->fractions, job->bounds);
  if (status == FURROW_OK) status = make_directory(job, err);
  if ((status = ranks_all_ok(status, err)) == FURROW_OK) status = name_files(job, err);
  if ((status = ranks_all_ok(status, err)) == FURROW_OK) status = count_before(s, &before, err);
  if (status == FURROW_OK) status = open_files(job, s, err);
  if (status == FURROW_OK) status = deal_rows(job, s, before, err);
  if ((status = ranks_all_ok(status, err)) == FURROW_OK) status = join_counts(job, err);
  if ((status = ranks_all_ok(status, err)) == FURROW_OK) status = commit_files(job, err);
  return ranks_all_ok(status, err);
}

static furrow_status run_rows(split_job *job, output *out, furrow_error *err) {
  furrow_parser_stats stats;
  source s;
  furrow_status status = ranks_all_ok(source_open(&s, job->values->uri, &job->values->source, err), err);
  if (status == FURROW_OK) status = split_source(job, &s, err);
  if (status == FURROW_OK) split_report(job, out);
  if (status == FURROW_OK) status = source_join_stats(&s, &stats, err);
  if (status == FURROW_OK) source_print_notes(&s, &stats);
  source_close(&s);
  return status;
}

static furrow_status run_log(split_job *job, output *out, furrow_error *err) {
  furrow_parser_stats stats;
  const furrow_status status = split_log(job, &stats, err);
  if (status == FURROW_OK) split_report(job, out);
  if (status == FURROW_OK && !job->values->source.quiet) print_notes(&stats);
  return status;
}

static furrow_status split_run(const void *values, output *out, furrow_error *err) {
  split_values used = *(const split_values *)values;
  const split_values *split = &used;
  split_job *job = calloc(1, sizeof *job);
  if (!job) return fail_memory(err);
  used.log = used.fractions.count > 0 && is_log(split);
  job->values = split;
  job->count = split->time ? 2 : split->fractions.count;
  interrupt_catch();
  furrow_status status = check_options(split, err);
  source_values divided = used.source;
  if (status == FURROW_OK) status = source_divide(&divided, split->uri, err);
  if (!copies_records(split)) used.source = divided; /* the library divides a raw log itself */
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = copies_records(split) ? run_log(job, out, err) : run_rows(job, out, err);
  close_files(job, status != FURROW_OK);
  free(job);
  return status;
}

const command rows_split_command = {
    .name = "split",
    .summary = "split rows into files such as train, valid and test: at random, by time or by group",
    .example = "furrow rows split all.libsvm --out data/ --fractions 0.8,0.1,0.1 --seed 7\n"
               "furrow rows split log.csv --out log --fractions 0.9,0.1 --names fit,check\n"
               "furrow rows split ratings.csv --out data/ --user userId --time timestamp --last 0.2",
    .about = "The seed and the number of a row decide which file the row goes to, so the same seed gives the same "
             "files for any number of threads. The files appear only when all of them are complete. With --time and "
             "--group, and where the name of the file ends in .csv, .tsv or .jsonl, records of a raw log (csv, tsv, "
             "JSON lines, Vowpal Wabbit's text) are copied as they are, with "
             "the header. Of a user's n rows, the last n times SHARE (rounded) go to the second file, but at least one "
             "row stays in the first; rows of the same time keep their order. Under mpirun every rank reads a "
             "part; the files are the same as with one process.",
    .one_of = "--fractions F,F... | --time COL",
    .operands = split_operands,
    .groups = split_groups,
    .size = sizeof(split_values),
    .init = split_init,
    .run = split_run,
    .on_all_ranks = true,
};
