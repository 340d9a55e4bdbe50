/* cli/recommend/recommend_job.c: a recommender, the users and the items that count. */
#include "recommend/recommend_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/shown_text.h"

#define AT(field) offsetof(finding_values, field)
const option finding_options[] = {
    {.name = "k",
     .letter = 'k',
     .kind = OPTION_COUNT64,
     .argument = "K",
     .help = "items for each user (10)",
     .offset = AT(k)},
    {.name = "exclude",
     .kind = OPTION_TEXT,
     .argument = "LOG",
     .help = "leave out the items that a user has in this log",
     .offset = AT(exclude),
     .from_query = true},
    {.name = "include-seen",
     .kind = OPTION_FLAG,
     .help = "recommender: also recommend items that the user took in the training log (default: only if users of that "
             "log take items repeatedly)",
     .offset = AT(include_seen)},
    {.name = "items",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "a table of the items: csv, tsv or JSON lines with the log's column of items",
     .offset = AT(items)},
    {.name = "where",
     .kind = OPTION_LIST,
     .argument = "COL=VALUE",
     .help = "only items with this value in the table of items; may be given several times",
     .offset = AT(where)},
    {.name = "only",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "only the items of this file, one per line",
     .offset = AT(only)},
    {.name = "without",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "none of the items of this file, one per line",
     .offset = AT(without)},
    {.name = "context",
     .kind = OPTION_LIST,
     .argument = "COL=VALUE",
     .help = "context of the recommendations: columns that are neither the user's nor the item's; may be given "
             "several times (features of columns that are not given are left out)",
     .offset = AT(context)},
    {.name = "exact",
     .kind = OPTION_FLAG,
     .help = "score every item with the model, however long that takes",
     .offset = AT(exact)},
    {.name = "candidates",
     .kind = OPTION_COUNT64,
     .argument = "N",
     .help = "deepfm: items that its fm part finds and the model scores (500, and at least 10 for each of the K)",
     .offset = AT(candidates)},
    {.name = "recall",
     .kind = OPTION_REAL,
     .argument = "R",
     .help = "use an index that finds this share of the best items (0.99 where an index is chosen)",
     .offset = AT(recall)},
    {0}};
#undef AT

/* ---- Files of names ------------------------------------------------------------------------------------- */

static furrow_status read_names(FILE *file, const char *path,
                                furrow_status (*take)(void *user, const char *name, furrow_error *err), void *user,
                                furrow_error *err) {
  char *line = NULL;
  size_t capacity = 0;
  ssize_t length;
  furrow_status status = FURROW_OK;
  errno = 0;
  while (status == FURROW_OK && (length = getline(&line, &capacity, file)) >= 0) {
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) line[--length] = 0;
    if (memchr(line, 0, (size_t)length)) status = fail_file(err, FURROW_E_FORMAT, path, "not a file of names", 0);
    if (status == FURROW_OK && length > 0) status = take(user, line, err);
  }
  if (status == FURROW_OK && ferror(file)) status = fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
  free(line);
  return status;
}

furrow_status for_each_name(const char *path, furrow_status (*take)(void *user, const char *name, furrow_error *err),
                            void *user, furrow_error *err) {
  if (strcmp(path, "-") == 0) return read_names(stdin, path, take, user, err);
  FILE *file = fopen(path, "rbe");
  if (!file) return fail_file(err, errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO, path, "cannot be opened", errno);
  const furrow_status status = read_names(file, path, take, user, err);
  fclose(file);
  return status;
}

/* ---- Items that are allowed ----------------------------------------------------------------------------- */

typedef struct listed {
  const recommend_job *job;
  uint8_t *there; /* a byte for each item */
  uint64_t known, unknown;
} listed;

static furrow_status take_item(void *user, const char *name, furrow_error *err) {
  listed *list = user;
  uint64_t item = 0;
  (void)err; /* without one no similar name is looked for, which takes time; there is no other failure */
  if (furrow_recommender_find_item(list->job->recommender, name, strlen(name), &item, NULL) == FURROW_OK) {
    list->there[item] = 1;
    list->known++;
  } else {
    list->unknown++;
  }
  return FURROW_OK;
}

/* Restricts items to the names in a file, or to all other items. */
static furrow_status allow_listed(recommend_job *job, const char *path, bool keep, furrow_error *err) {
  const uint64_t count = furrow_recommender_item_count(job->recommender);
  listed list = {.job = job, .there = calloc(count, 1)};
  if (!list.there) return fail_memory(err);
  furrow_status status = for_each_name(path, take_item, &list, err);
  if (status == FURROW_OK && list.known == 0)
    status = fail_in(err, FURROW_E_ARGUMENT, path, "the model knows none of these items");
  for (uint64_t i = 0; status == FURROW_OK && i < count; i++) job->allowed[i] &= list.there[i] == keep;
  if (status == FURROW_OK && list.unknown > 0 && !job->quiet)
    say("furrow: note: %s has %" PRIu64 " %s that the model does not know\n", path, list.unknown,
        list.unknown == 1 ? "item" : "items");
  free(list.there);
  return status;
}

/* Splits COL=VALUE; the column is a copy. */
static furrow_status split_pair(const char *name, const char *text, char **column, const char **value,
                                furrow_error *err) {
  const char *sign = strchr(text, '=');
  if (!sign || sign == text) return fail_token(err, text, "%s needs COL=VALUE", name);
  *column = strndup(text, (size_t)(sign - text));
  *value = sign + 1;
  return *column ? FURROW_OK : fail_memory(err);
}

/* Whether a cell is the value, or a set that has it: elements are separated by | or ;. */
static bool has_value(const char *cell, const char *value) {
  const size_t length = strlen(value);
  if (strcmp(cell, value) == 0) return true;
  for (const char *at = cell; length > 0 && *at;) {
    const size_t n = strcspn(at, "|;");
    const size_t blanks = strspn(at, " ") < n ? strspn(at, " ") : n;
    size_t end = n;
    while (end > blanks && at[end - 1] == ' ') end--;
    if (end - blanks == length && memcmp(at + blanks, value, length) == 0) return true;
    at += n + (at[n] != 0);
  }
  return false;
}

furrow_status recommend_job_load_items(recommend_job *job, const char *column, furrow_item_table **table,
                                       furrow_error *err) {
  const uint64_t items = furrow_recommender_item_count(job->recommender);
  const furrow_status status = furrow_item_table_load(table, job->recommender, job->values->items, &column, 1, err);
  if (status != FURROW_OK || job->quiet || job->lacking_told) return status;
  const uint64_t found = furrow_item_table_count(*table);
  job->lacking_told = true;
  if (found < items)
    say("furrow: warning: the table of items has no row for %" PRIu64 " of the model's %" PRIu64 " items\n",
        items - found, items);
  return status;
}

static furrow_status allow_where(recommend_job *job, const char *text, furrow_error *err) {
  furrow_item_table *table = NULL;
  char *column = NULL;
  const char *value = NULL;
  uint64_t kept = 0;
  furrow_status status = split_pair("--where", text, &column, &value, err);
  if (status == FURROW_OK) status = recommend_job_load_items(job, column, &table, err);
  for (uint64_t i = 0; status == FURROW_OK && i < furrow_recommender_item_count(job->recommender); i++) {
    const bool is = has_value(furrow_item_table_get(table, i, 0), value);
    job->allowed[i] &= is;
    kept += is;
  }
  if (status == FURROW_OK && kept == 0)
    status = fail_token(err, text, "no item of the model has this value in the table of items");
  furrow_item_table_free(table);
  free(column);
  return status;
}

static furrow_status find_allowed(recommend_job *job, furrow_error *err) {
  const finding_values *values = job->values;
  if (values->where.count > 0 && !values->items) return fail(err, FURROW_E_ARGUMENT, "--where needs --items");
  if (values->where.count == 0 && !values->only && !values->without) return FURROW_OK;
  const uint64_t count = furrow_recommender_item_count(job->recommender);
  job->allowed = malloc(count ? count : 1);
  if (!job->allowed) return fail_memory(err);
  memset(job->allowed, 1, count);
  furrow_status status = values->only ? allow_listed(job, values->only, true, err) : FURROW_OK;
  if (status == FURROW_OK && values->without) status = allow_listed(job, values->without, false, err);
  for (size_t i = 0; status == FURROW_OK && i < values->where.count; i++)
    status = allow_where(job, values->where.texts[i], err);
  if (status == FURROW_OK && !memchr(job->allowed, 1, count))
    status = fail(err, FURROW_E_ARGUMENT, "no item is left: --only, --without and --where exclude all of them");
  job->params.allowed = job->allowed;
  return status;
}

/* ---- The rest ------------------------------------------------------------------------------------------- */

static furrow_status read_context(recommend_job *job, furrow_error *err) {
  const text_list *given = &job->values->context;
  furrow_status status = FURROW_OK;
  if (given->count == 0) return FURROW_OK;
  job->context = calloc(given->count, sizeof *job->context);
  if (!job->context) return fail_memory(err);
  for (size_t i = 0; status == FURROW_OK && i < given->count; i++) {
    char *column = NULL;
    status = split_pair("--context", given->texts[i], &column, &job->context[i].value, err);
    job->context[i].column = column;
  }
  job->params.context = job->context;
  job->params.context_count = given->count;
  return status;
}

static void note_unknown_users(const recommend_job *job, const char *path, const furrow_events *events) {
  furrow_events_info info;
  furrow_events_info_init(&info);
  furrow_events_get_info(events, &info);
  if (!job->quiet && info.unknown_users > 0 && info.unknown_users == info.rows)
    say("furrow: warning: the model knows none of the users of %s\n", path);
}

static furrow_status read_seen(recommend_job *job, furrow_error *err) {
  furrow_events_params params;
  furrow_events_params_init(&params);
  params.threads = job->params.threads;
  if (!job->values->exclude) return FURROW_OK;
  const furrow_status status = furrow_events_load(&job->seen, job->recommender, job->values->exclude, &params, err);
  if (status == FURROW_OK) note_unknown_users(job, job->values->exclude, job->seen);
  job->params.seen = job->seen;
  return status;
}

static bool show_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
  recommend_job *job = user;
  (void)phase;
  job->progress.total = total;
  progress_update(&job->progress, done);
  return true;
}

bool recommend_job_is_of_log(const recommend_job *job) {
  furrow_recommender_figures figures;
  furrow_recommender_figures_init(&figures);
  furrow_recommender_get_figures(job->recommender, &figures);
  return figures.of_log;
}

void recommend_job_warn(const recommend_job *job) {
  furrow_recommender_figures figures;
  furrow_recommender_figures_init(&figures);
  furrow_recommender_get_figures(job->recommender, &figures);
  if (!job->quiet && figures.gain < -figures.gain_error)
    say("furrow: warning: the model orders items worse than their popularity does (NDCG %.4f, most popular items "
        "%.4f); "
        "furrow train --model recommender --train LOG --out MODEL does better\n",
        figures.ndcg, figures.popular_ndcg);
}

static furrow_status check_finding_values(const finding_values *values, furrow_error *err) {
  if (values->exact && (values->candidates || values->recall != 0))
    return fail(err, FURROW_E_ARGUMENT, "--exact cannot be used with --candidates or --recall");
  if (values->recall != 0 && !(values->recall > 0 && values->recall <= 1))
    return fail(err, FURROW_E_ARGUMENT, "--recall must be above 0 and at most 1");
  return FURROW_OK;
}

furrow_status recommend_job_open(recommend_job *job, const char *model, const finding_values *values, uint32_t threads,
                                 bool quiet, furrow_error *err) {
  furrow_recommender_params params;
  furrow_recommender_params_init(&params);
  *job = (recommend_job){.values = values, .quiet = quiet};
  furrow_recommend_params_init(&job->params);
  params.threads = job->params.threads = threads;
  if (values->k) job->params.k = (size_t)values->k;
  job->params.candidates = (size_t)values->candidates;
  job->params.include_seen = values->include_seen;
  job->params.progress = show_progress;
  job->params.progress_user = job;
  furrow_status status = check_finding_values(values, err);
  if (status == FURROW_OK) status = furrow_recommender_open(&job->recommender, model, &params, err);
  if (status == FURROW_OK && values->include_seen && !recommend_job_is_of_log(job))
    status = fail(err, FURROW_E_ARGUMENT, "--include-seen is for recommenders of a log: this model knows no events");
  if (status == FURROW_OK) status = find_allowed(job, err);
  if (status == FURROW_OK) status = read_context(job, err);
  if (status == FURROW_OK) status = read_seen(job, err);
  return status;
}

static void note_method(const recommend_job *job) {
  furrow_recommender_info info;
  furrow_recommender_info_init(&info);
  furrow_recommender_get_info(job->recommender, &info);
  if (info.context_fields > 0 && job->params.context_count == 0)
    say("furrow: note: %zu %s neither the user's nor the item's, and left out of the rows (--context COL=VALUE sets "
        "them)\n",
        info.context_fields, info.context_fields == 1 ? "field is" : "fields are");
  if (info.method == FURROW_RECOMMEND_INDEX)
    say("furrow: note: %s index: nlist %" PRIu64 ", m %" PRIu64 ", nprobe %" PRIu64
        ", %zu candidates for each item; it finds %.4f of the best items of %zu users\n",
        info.built ? info.kept ? "made and kept an" : "made an" : "found the model's", info.nlist, info.m, info.nprobe,
        info.fetch, info.recall, info.sample);
  else if (job->values->recall > 0)
    say("furrow: note: no index: the vectors of all items are compared, which is as fast\n");
}

furrow_status recommend_job_prepare(recommend_job *job, uint64_t users, furrow_error *err) {
  furrow_prepare_params params;
  furrow_prepare_params_init(&params);
  params.users = users ? users : 1;
  params.k = job->params.k;
  params.candidates = job->params.candidates;
  params.threads = job->params.threads;
  if (job->values->recall > 0) params.recall = job->values->recall;
  if (job->values->recall > 0) params.method = FURROW_RECOMMEND_INDEX;
  if (job->values->exact) params.method = FURROW_RECOMMEND_EXACT;
  const furrow_status status = furrow_recommender_prepare(job->recommender, &params, err);
  if (status == FURROW_OK && !job->quiet) note_method(job);
  progress_start(&job->progress, status == FURROW_OK && !job->quiet, "recommending", users);
  job->progress.unit = "users";
  return status;
}

void recommend_job_close(recommend_job *job) {
  progress_stop(&job->progress);
  for (size_t i = 0; job->context && i < job->values->context.count; i++) free((void *)job->context[i].column);
  free(job->context);
  free(job->allowed);
  furrow_events_free(job->seen);
  furrow_recommender_free(job->recommender);
}
