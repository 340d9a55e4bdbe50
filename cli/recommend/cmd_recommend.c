/* cli/recommend/cmd_recommend.c: furrow recommend: the best items for users, by name. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "core/commands.h"
#include "core/fail.h"
#include "core/report.h"
#include "core/shown_text.h"
#include "core/text_file.h"
#include "recommend/recommend_job.h"

enum { RESULTS_AT_ONCE = 1 << 20 };

typedef enum on_unknown { UNKNOWN_ERROR, UNKNOWN_SKIP } on_unknown;

typedef struct recommend_values {
  const char *model, *users, *events, *like, *name, *out;
  finding_values finding;
  int on_unknown;
  uint32_t threads, explain;
  bool json, csv, force, quiet;
} recommend_values;

#define AT(field) offsetof(recommend_values, field)
static const option model_options[] = {
    {.name = "model",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help = "a model that was trained from a raw log",
     .offset = AT(model),
     .required = true},
    {.name = "users",
     .kind = OPTION_TEXT,
     .argument = "USERS",
     .help = "all (the default), a file with one user per line, or users with commas between them",
     .offset = AT(users)},
    {.name = "on-unknown",
     .kind = OPTION_ENUM,
     .choices = "error|skip",
     .help = "what to do about a user that the model does not know: stop with an error, or skip it (error)",
     .offset = AT(on_unknown)},
    {.name = "events",
     .kind = OPTION_TEXT,
     .argument = "LOG",
     .help = "recommend to the users of this log from their events in it, even if the model does not know the users "
             "(recommender, fm)",
     .offset = AT(events)},
    {.name = "like",
     .kind = OPTION_TEXT,
     .argument = "ITEM",
     .help = "find the items that are most similar to this one instead (the cosine of their vectors)",
     .offset = AT(like)},
    {0}};
static const option output_options[] = {
    {.name = "name",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "also print this column of the table of items (--items)",
     .offset = AT(name)},
    {.name = "explain",
     .kind = OPTION_U32,
     .argument = "N",
     .help = "recommender: for each item, also print up to N of the user's items that contributed most to its score",
     .offset = AT(explain)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print a JSON object for each user, one per line",
     .offset = AT(json)},
    {.name = "csv", .kind = OPTION_FLAG, .help = "print csv with a header", .offset = AT(csv)},
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write to this file instead of standard output; .parquet: a table with a row for each item",
     .offset = AT(out),
     .written = true},
    FORCE_OPTION(AT(force)),
    QUIET_OPTION(AT(quiet)),
    {0}};

static const option_group recommend_groups[] = {{.title = "Options", .options = model_options},
                                                {.title = "Options", .options = threads_options, .offset = AT(threads)},
                                                {.title = "Items", .options = finding_options, .offset = AT(finding)},
                                                {.title = "Items", .options = query_options},
                                                {.title = "Output", .options = output_options},
                                                {0}};
#undef AT

typedef struct recommending {
  const recommend_values *values;
  recommend_job job;
  furrow_item_table *names;
  uint64_t *users;
  size_t count, capacity;
  uint64_t skipped; /* users that the model does not know */
  uint64_t without; /* users for whom no item is left */
  furrow_recommendation *results;
  const furrow_new_users *new_users; /* NULL: users of the model */
  furrow_recommend_reason *reasons;  /* values->explain, of one result */
  size_t reason_count;
  output *out;
  furrow_table_writer *table; /* of a Parquet file; NULL: text */
} recommending;

/* Whom results are for. */
typedef struct subject {
  const char *name;
  uint64_t number; /* number of the model's user, or of the new user */
} subject;

/* ---- Users ---------------------------------------------------------------------------------------------- */

static furrow_status add_user(recommending *r, uint64_t user, furrow_error *err) {
  void *users = r->users;
  if (fw_grow(&users, &r->capacity, r->count + 1, sizeof *r->users, NULL) != FURROW_OK) return fail_memory(err);
  r->users = users;
  r->users[r->count++] = user;
  return FURROW_OK;
}

static furrow_status take_user(void *to, const char *name, furrow_error *err) {
  recommending *r = to;
  uint64_t user = 0;
  const bool skip = r->values->on_unknown == UNKNOWN_SKIP; /* then no similar name is searched for, which takes time */
  const furrow_status status =
      furrow_recommender_find_user(r->job.recommender, name, strlen(name), &user, skip ? NULL : err);
  if (status == FURROW_OK) return add_user(r, user, err);
  r->skipped += skip;
  return skip ? FURROW_OK : status;
}

static furrow_status take_listed(recommending *r, const char *list, furrow_error *err) {
  char *copy = strdup(list), *rest = copy, *name;
  furrow_status status = copy ? FURROW_OK : fail_memory(err);
  while (status == FURROW_OK && (name = strsep(&rest, ",")))
    status = *name ? take_user(r, name, err) : fail_token(err, list, "--users has an empty name");
  free(copy);
  return status;
}

static bool is_file(const char *path) {
  return strcmp(path, "-") == 0 || (path_is_there(path) && !path_is_folder(path));
}

static furrow_status find_users(recommending *r, furrow_error *err) {
  const char *users = r->values->users;
  const uint64_t all = furrow_recommender_user_count(r->job.recommender);
  furrow_status status = FURROW_OK;
  if (!users || strcmp(users, "all") == 0)
    for (uint64_t i = 0; status == FURROW_OK && i < all; i++) status = add_user(r, i, err);
  else
    status = is_file(users) ? for_each_name(users, take_user, r, err) : take_listed(r, users, err);
  if (status == FURROW_OK && r->count == 0) status = fail(err, FURROW_E_ARGUMENT, "there are no users to recommend to");
  if (status == FURROW_OK && r->skipped > 0 && !r->values->quiet)
    say("furrow: note: skipped %" PRIu64 " %s that the model does not know\n", r->skipped,
        r->skipped == 1 ? "user" : "users");
  return status;
}

/* ---- Printing ------------------------------------------------------------------------------------------- */

/* A tab or line end in a name would look like the next column or line. */
static void put_plain(output *out, const char *text) {
  for (; *text; text++) output_bytes(out, (unsigned char)*text < ' ' ? " " : text, 1);
}

static void put_csv(output *out, const char *text) {
  if (!text[strcspn(text, ",\"\r\n")]) {
    output_data(out, text);
    return;
  }
  output_data(out, "\"");
  for (; *text; text++) output_bytes(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
  output_data(out, "\"");
}

/* Finds the user's items that speak for a result. */
static void find_reasons(recommending *r, const subject *of, uint64_t item) {
  const size_t most = r->values->explain;
  r->reason_count = 0;
  if (most == 0) return;
  const furrow_status status =
      r->new_users
          ? furrow_recommender_explain_new(r->job.recommender, r->new_users, of->number, item, r->reasons, most,
                                           &r->reason_count, NULL)
          : furrow_recommender_explain(r->job.recommender, of->number, item, r->reasons, most, &r->reason_count, NULL);
  if (status != FURROW_OK) r->reason_count = 0;
}

/* The name of an item for people: its cell of the table of items, or its name in the log. */
static const char *shown_name(const recommending *r, uint64_t item) {
  const char *cell = r->names ? furrow_item_table_get(r->names, item, 0) : "";
  return cell[0] ? cell : furrow_recommender_item_name(r->job.recommender, item);
}

/* The reasons in one cell, with semicolons between them. */
static void write_reasons(const recommending *r, fw_buffer *text) {
  for (size_t i = 0; i < r->reason_count; i++) {
    if (i > 0) fw_buffer_text(text, "; ");
    fw_buffer_text(text, shown_name(r, r->reasons[i].item));
  }
  fw_buffer_byte(text, 0);
}

static void put_reasons(const recommending *r, void (*put)(output *, const char *)) {
  fw_buffer text = {0};
  write_reasons(r, &text);
  if (fw_buffer_status(&text, NULL) == FURROW_OK) put(r->out, text.bytes);
  fw_buffer_clear(&text);
}

static void put_line(recommending *r, const subject *of, size_t position, const furrow_recommendation *result) {
  void (*put)(output *, const char *) = r->values->csv ? put_csv : put_plain;
  const char *between = r->values->csv ? "," : "\t";
  put(r->out, of->name);
  output_format(r->out, "%s%zu%s", between, position, between);
  put(r->out, furrow_recommender_item_name(r->job.recommender, result->item));
  output_text(r->out, between);
  output_decimals(r->out, result->score);
  if (r->names) {
    output_text(r->out, between);
    put(r->out, furrow_item_table_get(r->names, result->item, 0));
  }
  if (r->values->explain > 0) {
    find_reasons(r, of, result->item);
    output_text(r->out, between);
    put_reasons(r, put);
  }
  output_text(r->out, "\n");
}

static void put_json_reasons(recommending *r, const subject *of, uint64_t item) {
  find_reasons(r, of, item);
  output_text(r->out, ", \"because\": [");
  for (size_t i = 0; i < r->reason_count; i++) {
    output_text(r->out, i > 0 ? ", {\"item\": " : "{\"item\": ");
    output_json_text(r->out, furrow_recommender_item_name(r->job.recommender, r->reasons[i].item));
    output_format(r->out, ", \"part\": %.9g", r->reasons[i].part);
    if (r->names) {
      output_text(r->out, ", \"name\": ");
      output_json_text(r->out, furrow_item_table_get(r->names, r->reasons[i].item, 0));
    }
    output_text(r->out, "}");
  }
  output_text(r->out, "]");
}

static void put_json(recommending *r, const subject *of, const furrow_recommendation *results) {
  output_format(r->out, "{\"%s\": ", r->values->like ? "like" : "user");
  output_json_text(r->out, of->name);
  output_text(r->out, ", \"items\": [");
  for (size_t i = 0; i < r->job.params.k && results[i].item != FURROW_NO_ITEM; i++) {
    output_text(r->out, i > 0 ? ", {\"item\": " : "{\"item\": ");
    output_json_text(r->out, furrow_recommender_item_name(r->job.recommender, results[i].item));
    output_format(r->out, ", \"score\": %.9g", results[i].score);
    if (r->names) {
      output_text(r->out, ", \"name\": ");
      output_json_text(r->out, furrow_item_table_get(r->names, results[i].item, 0));
    }
    if (r->values->explain > 0) put_json_reasons(r, of, results[i].item);
    output_text(r->out, "}");
  }
  output_text(r->out, "]}\n");
}

static void put_cell(furrow_table_writer *table, const char *text) {
  furrow_table_put_text(table, text, strlen(text));
}

static furrow_status put_row(recommending *r, const subject *of, size_t position, const furrow_recommendation *result,
                             furrow_error *err) {
  put_cell(r->table, of->name);
  furrow_table_put_integer(r->table, (int64_t)position);
  put_cell(r->table, furrow_recommender_item_name(r->job.recommender, result->item));
  furrow_table_put_real(r->table, result->score);
  if (r->names) put_cell(r->table, furrow_item_table_get(r->names, result->item, 0));
  if (r->values->explain > 0) {
    fw_buffer text = {0};
    find_reasons(r, of, result->item);
    write_reasons(r, &text);
    const bool made = fw_buffer_status(&text, NULL) == FURROW_OK;
    put_cell(r->table, made ? text.bytes : "");
    fw_buffer_clear(&text);
    if (!made) return fail_memory(err);
  }
  return furrow_table_writer_end_row(r->table, err);
}

static furrow_status put_results(recommending *r, const subject *of, const furrow_recommendation *results,
                                 furrow_error *err) {
  furrow_status status = FURROW_OK;
  r->without += results[0].item == FURROW_NO_ITEM;
  if (r->values->json) {
    put_json(r, of, results);
    return FURROW_OK;
  }
  for (size_t i = 0; status == FURROW_OK && i < r->job.params.k && results[i].item != FURROW_NO_ITEM; i++)
    if (r->table)
      status = put_row(r, of, i + 1, &results[i], err);
    else
      put_line(r, of, i + 1, &results[i]);
  return status;
}

static furrow_status open_table(recommending *r, furrow_error *err) {
  furrow_table_column columns[6] = {{r->values->like ? "like" : "user", FURROW_CELL_TEXT},
                                    {"rank", FURROW_CELL_I64},
                                    {"item", FURROW_CELL_TEXT},
                                    {"score", FURROW_CELL_F64}};
  size_t count = 4;
  furrow_table_writer_params params;
  furrow_table_writer_params_init(&params);
  params.overwrite = r->values->force;
  if (!r->values->out || !path_ends(r->values->out, ".parquet")) return FURROW_OK;
  if (r->names) columns[count++] = (furrow_table_column){r->values->name, FURROW_CELL_TEXT};
  if (r->values->explain > 0) columns[count++] = (furrow_table_column){"because", FURROW_CELL_TEXT};
  return furrow_table_writer_open(&r->table, r->values->out, columns, count, &params, err);
}

static void put_header(const recommending *r) {
  if (!r->values->csv) return;
  output_text(r->out, r->values->like ? "like,rank,item,score" : "user,rank,item,score");
  if (r->names) {
    output_text(r->out, ",");
    put_csv(r->out, r->values->name);
  }
  if (r->values->explain > 0) output_text(r->out, ",because");
  output_text(r->out, "\n");
}

/* ---- Running -------------------------------------------------------------------------------------------- */

static furrow_status reserve_results(recommending *r, size_t users, furrow_error *err) {
  r->results = calloc(users, r->job.params.k * sizeof *r->results);
  return r->results ? FURROW_OK : fail_memory(err);
}

static furrow_status recommend_like(recommending *r, furrow_error *err) {
  uint64_t item = 0;
  const char *like = r->values->like;
  furrow_status status = furrow_recommender_find_item(r->job.recommender, like, strlen(like), &item, err);
  if (status == FURROW_OK) status = reserve_results(r, 1, err);
  if (status == FURROW_OK)
    status = furrow_recommender_similar(r->job.recommender, item, &r->job.params, r->results, err);
  if (status != FURROW_OK) return status;
  put_header(r);
  status = put_results(r, &(subject){.name = like, .number = item}, r->results, err);
  return status == FURROW_OK ? output_flush(r->out, err) : status;
}

static void note_new_users(const recommending *r, const furrow_new_users *users) {
  furrow_events_info info;
  furrow_events_info_init(&info);
  furrow_new_users_get_info(users, &info);
  if (!r->values->quiet && info.unknown_items > 0)
    say("furrow: note: %s has %" PRIu64 " %s with items that the model does not know\n", r->values->events,
        info.unknown_items, info.unknown_items == 1 ? "event" : "events");
}

static furrow_status recommend_new(recommending *r, furrow_error *err) {
  furrow_events_params params;
  furrow_new_users *users = NULL;
  furrow_events_params_init(&params);
  params.threads = r->values->threads;
  furrow_status status = furrow_new_users_load(&users, r->job.recommender, r->values->events, &params, err);
  const size_t count = status == FURROW_OK ? furrow_new_users_count(users) : 0;
  if (status == FURROW_OK && count == 0)
    status = fail_in(err, FURROW_E_ARGUMENT, r->values->events, "no user has an event with an item of the model");
  if (status == FURROW_OK) note_new_users(r, users);
  if (status == FURROW_OK) status = reserve_results(r, count, err);
  if (status == FURROW_OK)
    status = furrow_recommender_recommend_new(r->job.recommender, users, &r->job.params, r->results, err);
  if (status == FURROW_OK) put_header(r);
  r->new_users = users;
  for (size_t i = 0; status == FURROW_OK && i < count; i++)
    status = put_results(r, &(subject){.name = furrow_new_users_name(users, i), .number = i},
                         r->results + i * r->job.params.k, err);
  if (status == FURROW_OK) status = output_flush(r->out, err);
  r->new_users = NULL;
  furrow_new_users_free(users);
  return status;
}

static furrow_status recommend_users(recommending *r, furrow_error *err) {
  const size_t k = r->job.params.k, most = k < RESULTS_AT_ONCE ? RESULTS_AT_ONCE / k : 1;
  furrow_status status = find_users(r, err);
  if (status == FURROW_OK) status = recommend_job_prepare(&r->job, r->count, err);
  if (status == FURROW_OK) status = reserve_results(r, r->count < most ? r->count : most, err);
  if (status == FURROW_OK) put_header(r);
  for (size_t first = 0; status == FURROW_OK && first < r->count; first += most) {
    const size_t n = r->count - first < most ? r->count - first : most;
    status = furrow_recommender_recommend(r->job.recommender, r->users + first, n, &r->job.params, r->results, err);
    for (size_t i = 0; status == FURROW_OK && i < n; i++)
      status = put_results(r,
                           &(subject){.name = furrow_recommender_user_name(r->job.recommender, r->users[first + i]),
                                      .number = r->users[first + i]},
                           r->results + i * k, err);
    if (status == FURROW_OK) status = output_flush(r->out, err);
  }
  return status;
}

static furrow_status check_recommend_values(const recommend_values *values, furrow_error *err) {
  if (values->out && path_ends(values->out, ".parquet") && (values->json || values->csv))
    return fail(err, FURROW_E_ARGUMENT, "%s and an --out that is Parquet cannot be used together",
                values->json ? "--json" : "--csv");
  if (values->json && values->csv) return fail(err, FURROW_E_ARGUMENT, "--json and --csv cannot be used together");
  if (values->name && !values->finding.items) return fail(err, FURROW_E_ARGUMENT, "--name needs --items");
  if (values->finding.items && !values->name && values->finding.where.count == 0)
    return fail(err, FURROW_E_ARGUMENT, "--items needs --name or --where");
  if (values->force && !values->out) return fail(err, FURROW_E_ARGUMENT, "--force needs --out");
  if (values->like || values->events) {
    const char *which = values->like ? "--like" : "--events";
    if (values->like && values->explain > 0)
      return fail(err, FURROW_E_ARGUMENT, "--explain cannot be used with --like");
    if (values->like && values->events)
      return fail(err, FURROW_E_ARGUMENT, "--like and --events cannot be used together");
    if (values->users || values->finding.exclude || values->finding.context.count > 0)
      return fail(err, FURROW_E_ARGUMENT, "--users, --exclude and --context cannot be used with %s", which);
    if (values->finding.exact || values->finding.candidates || values->finding.recall != 0)
      return fail(err, FURROW_E_ARGUMENT,
                  "%s compares all items: --exact, --candidates and --recall cannot be used with it", which);
  }
  return values->out ? text_file_check(values->out, values->force, err) : FURROW_OK;
}

static furrow_status prepare_reasons(recommending *r, furrow_error *err) {
  if (r->values->explain == 0) return FURROW_OK;
  if (!recommend_job_is_of_log(&r->job))
    return fail(err, FURROW_E_ARGUMENT, "--explain is for recommenders of a log (train --model recommender)");
  r->reasons = calloc(r->values->explain, sizeof *r->reasons);
  return r->reasons ? FURROW_OK : fail_memory(err);
}

static void note_without(const recommending *r) {
  const bool again = recommend_job_is_of_log(&r->job) && !r->job.params.include_seen;
  if (r->without == 0 || r->values->quiet) return;
  say("furrow: note: for %" PRIu64 " %s no item is left%s\n", r->without, r->without == 1 ? "user" : "users",
      again ? "; --include-seen also recommends items that they took" : "");
}

static furrow_status find_items(recommending *r, furrow_error *err) {
  if (r->values->like) return recommend_like(r, err);
  const furrow_status status = r->values->events ? recommend_new(r, err) : recommend_users(r, err);
  if (status == FURROW_OK) note_without(r);
  return status;
}

static furrow_status run_to(const recommend_values *values, output *out, furrow_error *err) {
  recommending r = {.values = values, .out = out};
  const finding_values *finding = &values->finding;
  furrow_status status = recommend_job_open(&r.job, values->model, finding, values->threads, values->quiet, err);
  const uint64_t items = status == FURROW_OK ? furrow_recommender_item_count(r.job.recommender) : 0;
  if (status == FURROW_OK && r.job.params.k > items) r.job.params.k = items;
  if (status == FURROW_OK && values->name) status = recommend_job_load_items(&r.job, values->name, &r.names, err);
  if (status == FURROW_OK) recommend_job_warn(&r.job);
  if (status == FURROW_OK) status = prepare_reasons(&r, err);
  if (status == FURROW_OK) status = open_table(&r, err);
  if (status == FURROW_OK) status = find_items(&r, err);
  if (status == FURROW_OK && r.table) status = furrow_table_writer_commit(r.table, err);
  furrow_table_writer_close(r.table);
  free(r.reasons);
  furrow_item_table_free(r.names);
  recommend_job_close(&r.job);
  free(r.users);
  free(r.results);
  return status;
}

static furrow_status run_recommend(const void *given, output *out, furrow_error *err) {
  const recommend_values *values = given;
  furrow_status status = check_recommend_values(values, err);
  const bool direct = !values->out || path_ends(values->out, ".parquet");
  if (status != FURROW_OK || direct) return status == FURROW_OK ? run_to(values, out, err) : status;
  output to = {0};
  text_file file = {0};
  status = text_file_begin(&file, err);
  if (status != FURROW_OK) return status;
  status = output_open(&to, err);
  to.file = file.out;
  if (status == FURROW_OK) status = run_to(values, &to, err);
  output_close(&to);
  const furrow_status ended = text_file_end(&file, status == FURROW_OK ? values->out : NULL, values->force, err);
  return status == FURROW_OK ? ended : status;
}

const command recommend_command = {
    .name = "recommend",
    .summary = "find the best items for users, by name: prints user, rank, item, score",
    .example = "furrow recommend --model movies.model --users 17,42 --exclude ratings.csv\n"
               "furrow recommend --model movies.model --users all -k 20 --exclude ratings.csv --out best.csv --csv\n"
               "furrow recommend --model movies.model --like 260 --items movies.csv --name title",
    .about = "Takes a model that was trained from a raw log with a user and an item column. Scores are the output of "
             "the model for user and item, as predict prints them (pred). fm and linear models compare the vectors of "
             "all items, or an index of them where that costs less; it is kept in the model directory. deepfm scores "
             "the candidates that its fm part finds, other models score all items. Prints a line for each item: user, "
             "rank, item, score, with tabs between them.",
    .groups = recommend_groups,
    .size = sizeof(recommend_values),
    .run = run_recommend,
};
