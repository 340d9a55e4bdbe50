/* recommend/judge.c: how a model that scores rows orders items for users.
 *
 * Such a model was not trained to order items: a model of ratings puts obscure items first. Each user's last events are
 * held out, the model is trained once more, with its own settings and dictionary, on the earlier events, and recommends
 * from them. Its figures and those of the most popular items are a member "ranking" of furrow.json. A large log is
 * represented by a part of its users, so that this costs a bounded amount of work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/atomic_dir.h"
#include "io/atomic_file.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "io/uri.h"
#include "learn/train/trainer.h"
#include "recommend/events.h"
#include "recommend/log_model.h"

enum { USERS_BY_VECTORS = 1000, USERS_BY_SCORES = 100 };

#define EVENTS_MOST 2e5 /* of a larger log, only users with about that many events take part */
#define LAST_SHARE 0.2  /* share of each user's events that is held out */
#define PAIRS_MOST 2e6  /* pairs of user and item that a model without vectors scores */

/* ---- Files of a trial ----------------------------------------------------------------------------------- */

/* Parts of the log and a model, in a directory next to the judged model (in TMPDIR if that is on a server), which
 * disappears. */
typedef struct trial {
  const char *model;                       /* the judged model */
  const furrow_recommender_params *params; /* of the call */
  fw_atomic_dir *dir;
  char *part, *rest, *earlier, *later, *folder; /* paths in dir */
  const char *arguments;                        /* "?kind=json" of the log, or "" */
} trial;

#define INSIDE "trial"

static void trial_close(trial *t) {
  fw_atomic_dir_close(t->dir);
  fw_free(t->part);
  fw_free(t->rest);
  fw_free(t->earlier);
  fw_free(t->later);
  fw_free(t->folder);
}

static furrow_status trial_open(trial *t, const char *log, furrow_error *err) {
  const struct {
    char **path;
    const char *name;
  } files[] = {
      {&t->part, "part"}, {&t->rest, "rest"}, {&t->earlier, "earlier"}, {&t->later, "later"}, {&t->folder, "model"}};
  const size_t length = strcspn(log, "?");
  fw_buffer name = {0};
  const char *temporary = getenv("TMPDIR"), *folder = temporary && temporary[0] ? temporary : "/tmp";
  int inside = -1;
  t->arguments = log + length;
  if (fw_path_is_local(t->model)) {
    size_t end = strlen(t->model);
    while (end > 1 && t->model[end - 1] == '/') end--;
    fw_buffer_append(&name, t->model, end);
  } else { /* a trial is not sent to a server */
    fw_buffer_format(&name, "%s/furrow-%ld", folder, (long)getpid());
  }
  fw_buffer_text(&name, ".trial");
  fw_buffer_byte(&name, 0);
  furrow_status status = fw_buffer_status(&name, err);
  if (status == FURROW_OK) status = fw_atomic_dir_open(&t->dir, (const char *)name.bytes, NULL, err);
  /* the directory itself is locked, so files are written into one of its own */
  if (status == FURROW_OK) status = fw_dir_make(&inside, fw_atomic_dir_fd(t->dir), INSIDE, t->model, err);
  if (inside >= 0) (void)close(inside);
  size_t end = status == FURROW_OK ? name.size : 0;
  while (end > 0 && name.bytes[end - 1] != '/') end--;
  for (size_t i = 0; status == FURROW_OK && i < sizeof files / sizeof *files; i++) {
    fw_buffer path = {0};
    size_t size = 0;
    fw_buffer_append(&path, name.bytes, end);
    fw_buffer_format(&path, "%s/" INSIDE "/%s", fw_atomic_dir_temporary(t->dir), files[i].name);
    status = fw_buffer_take(&path, files[i].path, &size, err);
  }
  fw_buffer_clear(&name);
  return status;
}

/* A file of the trial, with the arguments of the log, whose layout it has. */
static furrow_status trial_uri(const trial *t, const char *path, char **uri, furrow_error *err) {
  fw_buffer text = {0};
  size_t size = 0;
  fw_buffer_format(&text, "%s%s", path, t->arguments);
  return fw_buffer_take(&text, uri, &size, err);
}

/* ---- Events that are held out --------------------------------------------------------------------------- */

static const char *time_column(const furrow_recommender *r) {
  const furrow_schema *schema = furrow_encoder_schema(r->encoder);
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    if (strcmp(column.role, "time") == 0) return column.name;
  }
  return NULL;
}

static void init_split(furrow_table_split_params *params) {
  furrow_table_split_params_init(params);
  params->overwrite = true;
  params->on_bad = FURROW_ON_BAD_SKIP;
}

/* Copies the events of a part of the users; *log becomes that part. */
static furrow_status take_part(const furrow_recommender *r, const trial *t, double share, char **log,
                               furrow_error *err) {
  const char *const paths[] = {t->part, t->rest};
  const double shares[] = {share, 1 - share};
  furrow_table_split_params params;
  init_split(&params);
  params.group = r->users.column;
  params.shares = shares;
  FW_TRY(furrow_table_split(*log, paths, 2, &params, NULL, err));
  (void)unlink(t->rest); /* it goes with the directory at the latest */
  fw_free(*log);
  *log = NULL;
  return trial_uri(t, t->part, log, err);
}

/* Splits a log by each user's time; without times, or if some of them cannot be read, by chance. */
static furrow_status split_log(const furrow_recommender *r, const trial *t, const char *log, furrow_error *err) {
  const char *const paths[] = {t->earlier, t->later};
  const double shares[] = {1 - LAST_SHARE, LAST_SHARE};
  furrow_table_split_params params;
  init_split(&params);
  params.time = time_column(r);
  params.user = params.time ? r->users.column : NULL;
  params.last = params.time ? LAST_SHARE : 0;
  furrow_status status = FURROW_E_PARSE;
  if (params.time) status = furrow_table_split(log, paths, 2, &params, NULL, err);
  if (status != FURROW_E_PARSE) return status;
  init_split(&params);
  params.shares = shares;
  return furrow_table_split(log, paths, 2, &params, NULL, err);
}

static furrow_status read_events(const furrow_recommender *r, const trial *t, const char *path, bool every_label,
                                 fw_interactions *events, furrow_error *err) {
  furrow_events_params reading;
  fw_interactions_info info = {.every_label = every_label};
  char *uri = NULL;
  furrow_events_params_init(&reading);
  reading.threads = t->params->threads;
  reading.on_bad = FURROW_ON_BAD_SKIP;
  furrow_status status = trial_uri(t, path, &uri, err);
  if (status == FURROW_OK) status = fw_interactions_read(events, r, uri, &reading, &info, err);
  fw_free(uri);
  return status;
}

/* ---- The model without them ----------------------------------------------------------------------------- */

/* Trains the model of the trial on the earlier events. */
static furrow_status train_again(const trial *t, furrow_error *err) {
  fw_repeated_fit with = {.encoder = t->model,
                          .threads = t->params->threads,
                          .on_bad = FURROW_ON_BAD_SKIP,
                          .progress = t->params->progress,
                          .progress_user = t->params->progress_user};
  furrow_trainer *trainer = NULL;
  char *earlier = NULL;
  furrow_status status = trial_uri(t, t->earlier, &earlier, err);
  with.data = earlier;
  if (status == FURROW_OK) status = fw_trainer_repeat(&trainer, t->params->trainer, &with, err);
  if (status == FURROW_OK) status = furrow_trainer_save(trainer, t->folder, NULL, err);
  furrow_trainer_free(trainer);
  fw_free(earlier);
  return status;
}

/* Items by falling number of earlier events. */
static furrow_status order_items(const fw_interactions *earlier, uint32_t **by_popularity, furrow_error *err) {
  float *counts = NULL;
  furrow_status status = FW_ALLOC_ZERO(&counts, earlier->items, err);
  for (size_t i = 0; status == FURROW_OK && i < earlier->offset[earlier->users]; i++) counts[earlier->item[i]]++;
  if (status == FURROW_OK) status = fw_taste_order(counts, earlier->items, by_popularity, err);
  fw_free(counts);
  return status;
}

/* The dictionary keeps each user's last items, for features of recommendations: lets them end with the earlier events.
 * *offsets and *items, which the caller frees, take the place of the dictionary's. */
static furrow_status end_histories(furrow_recommender *r, const fw_interactions *earlier, unsigned char **offsets,
                                   unsigned char **items, furrow_error *err) {
  fw_dictionary *d = &r->encoder->dictionary;
  const size_t most = r->encoder->schema->history;
  const uint64_t user_names = FW_LOCAL_FIRST, item_names = FW_LOCAL_FIRST; /* both fields have dictionaries */
  uint64_t kept = 0;
  FW_TRY(FW_ALLOC(offsets, 8 * (d->history_users + 1), err));
  FW_TRY(FW_ALLOC(items, 8 * earlier->offset[earlier->users], err));
  fw_put_le64(*offsets, 0);
  for (uint64_t u = 0; u < d->history_users; u++) {
    fw_user_events events = {0};
    if (u >= user_names && u - user_names < earlier->users) events = fw_interactions_of(earlier, u - user_names);
    for (size_t i = events.count > most ? events.count - most : 0; i < events.count; i++)
      fw_put_le64(*items + 8 * kept++, item_names + events.item[i]);
    fw_put_le64(*offsets + 8 * (u + 1), kept);
  }
  d->history_offsets = *offsets;
  d->history_items = *items;
  return FURROW_OK;
}

static size_t users_to_judge(const furrow_recommender *r) {
  if (r->kind == FW_VECTORS_ALL) return USERS_BY_VECTORS;
  const double most = PAIRS_MOST / (double)(r->items.count > 0 ? r->items.count : 1);
  return most < 10 ? 10 : most < USERS_BY_SCORES ? (size_t)most : USERS_BY_SCORES;
}

/* Lets the model of the trial recommend the later events. */
static furrow_status evaluate(const trial *t, furrow_rank_figures *figures, furrow_error *err) {
  furrow_recommend_params recommending;
  fw_interactions earlier = {0}, later = {0}, all_earlier = {0};
  furrow_events *seen = NULL, *truth = NULL;
  furrow_recommender *r = NULL;
  unsigned char *offsets = NULL, *items = NULL;
  furrow_recommend_params_init(&recommending);
  recommending.threads = t->params->threads;
  furrow_status status = furrow_recommender_open(&r, t->folder, t->params, err);
  if (status == FURROW_OK) status = read_events(r, t, t->earlier, false, &earlier, err);
  if (status == FURROW_OK) status = read_events(r, t, t->later, false, &later, err);
  if (status == FURROW_OK) status = fw_events_from(&seen, &earlier, SIZE_MAX, err);
  if (status == FURROW_OK) status = fw_events_from(&truth, &later, users_to_judge(r), err);
  if (status == FURROW_OK && r->encoder->dictionary.history_users > 0) {
    status = read_events(r, t, t->earlier, true, &all_earlier, err);
    if (status == FURROW_OK) status = end_histories(r, &all_earlier, &offsets, &items, err);
  }
  if (status == FURROW_OK) status = order_items(&earlier, &r->by_popularity, err);
  recommending.seen = seen;
  if (status == FURROW_OK) status = furrow_recommender_evaluate(r, truth, &recommending, figures, err);
  furrow_recommender_free(r);
  fw_free(offsets);
  fw_free(items);
  furrow_events_free(seen);
  furrow_events_free(truth);
  fw_interactions_clear(&earlier);
  fw_interactions_clear(&later);
  fw_interactions_clear(&all_earlier);
  return status;
}

static furrow_status measure(const furrow_recommender *r, const char *log, trial *t, furrow_rank_figures *figures,
                             furrow_error *err) {
  furrow_events_params counting;
  furrow_events *events = NULL;
  furrow_events_info info;
  char *part = NULL;
  furrow_events_params_init(&counting);
  furrow_events_info_init(&info);
  counting.threads = t->params->threads;
  counting.on_bad = FURROW_ON_BAD_SKIP;
  furrow_status status = furrow_events_load(&events, r, log, &counting, err);
  if (status == FURROW_OK) furrow_events_get_info(events, &info);
  furrow_events_free(events);
  if (status == FURROW_OK) status = trial_open(t, log, err);
  if (status == FURROW_OK) status = fw_strndup(&part, log, strlen(log), err);
  if (status == FURROW_OK && (double)info.rows > EVENTS_MOST)
    status = take_part(r, t, EVENTS_MOST / (double)info.rows, &part, err);
  if (status == FURROW_OK) status = split_log(r, t, part, err);
  if (status == FURROW_OK) status = train_again(t, err);
  if (status == FURROW_OK) status = evaluate(t, figures, err);
  fw_free(part);
  return status;
}

/* ---- The member of furrow.json -------------------------------------------------------------------------- */

static void put_ranking(fw_buffer *text, const furrow_rank_figures *figures) {
  fw_json_out json = {.out = text};
  fw_json_out_open(&json);
  fw_json_out_member_unsigned(&json, "k", figures->k);
  fw_json_out_member_unsigned(&json, "users", figures->users);
  fw_json_out_member_real(&json, "ndcg", figures->ndcg.mean);
  fw_json_out_member_real(&json, "popular", figures->popular_ndcg.mean);
  fw_json_out_member_real(&json, "gain", figures->popular_gain);
  fw_json_out_member_real(&json, "gain_error", figures->popular_gain_error);
  fw_json_out_close(&json);
}

static furrow_status write_file(const char *path, const fw_buffer *text, furrow_error *err) {
  fw_atomic_file *file = NULL;
  FW_TRY(fw_atomic_file_open(&file, path, err));
  furrow_status status = fw_atomic_file_write(file, text->bytes, text->size, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  return status;
}

/* Writes furrow.json again, with the figures as its last member. */
static furrow_status store_ranking(const char *folder, const furrow_rank_figures *figures, furrow_error *err) {
  char *path = NULL, *text = NULL;
  fw_buffer ranking = {0}, all = {0};
  size_t size = 0;
  FW_TRY(fw_path_join(&path, folder, "furrow.json", err));
  furrow_status status = fw_path_read_json(&text, &size, path, err);
  while (status == FURROW_OK && size > 0 && text[size - 1] != '}') size--;
  if (status == FURROW_OK && size > 1) {
    size_t end = size - 1;
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' ')) end--;
    put_ranking(&ranking, figures);
    fw_buffer_append(&all, text, end);
    fw_buffer_text(&all, ",\n  \"ranking\" : ");
    for (size_t i = 0; i < ranking.size; i++) { /* one level deeper */
      fw_buffer_byte(&all, ranking.bytes[i]);
      if (ranking.bytes[i] == '\n' && i + 1 < ranking.size) fw_buffer_text(&all, "  ");
    }
    fw_buffer_text(&all, "\n}\n");
    status = fw_buffer_status(&all, err);
  }
  if (status == FURROW_OK && all.size > 0) status = write_file(path, &all, err);
  fw_buffer_clear(&ranking);
  fw_buffer_clear(&all);
  fw_free(text);
  fw_free(path);
  return status;
}

static furrow_status see_ranking(void *user, const char *member, const char *text) {
  fw_stored_ranking *to = user;
  if (!text || strncmp(member, "ranking/", 8) != 0) return FURROW_OK;
  const double value = strtod(text, NULL);
  to->there = true;
  if (strcmp(member + 8, "ndcg") == 0) to->ndcg = value;
  if (strcmp(member + 8, "popular") == 0) to->popular = value;
  if (strcmp(member + 8, "gain") == 0) to->gain = value;
  if (strcmp(member + 8, "gain_error") == 0) to->gain_error = value;
  return FURROW_OK;
}

furrow_status fw_stored_ranking_load(fw_stored_ranking *ranking, const char *folder, furrow_error *err) {
  char *path = NULL;
  *ranking = (fw_stored_ranking){0};
  FW_TRY(fw_path_join(&path, folder, "furrow.json", err));
  furrow_status status = FURROW_OK;
  if (fw_path_exists(path)) status = furrow_model_json_for_each(path, see_ranking, ranking, err);
  fw_free(path);
  return status;
}

furrow_status furrow_recommender_judge(const char *model, const char *log, const furrow_recommender_params *params,
                                       furrow_rank_figures *figures, furrow_error *err) {
  furrow_recommender *r = NULL;
  furrow_recommender_params used;
  furrow_recommender_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_recommender_params, err));
  if (!used.trainer) return fw_fail(err, FURROW_E_ARGUMENT, "params->trainer is NULL: which training made the model?");
  FW_TRY(furrow_recommender_open(&r, model, &used, err));
  trial t = {.model = model, .params = &used};
  furrow_status status = r->log_model ? fw_fail(err, FURROW_E_UNSUPPORTED, "a recommender of a log has figures already")
                                      : measure(r, log, &t, figures, err);
  trial_close(&t);
  if (status == FURROW_OK) status = store_ranking(model, figures, err);
  furrow_recommender_free(r);
  return status;
}
