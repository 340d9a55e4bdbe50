/* cli/index/index_source.c: how the index commands read an index and the names of its ids */
#include "index/index_source.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/ranks.h"
#include "core/text_file.h"
#include "core/written.h"

const option index_source_options[] = {{.name = "lists",
                                        .kind = OPTION_TEXT,
                                        .argument = "FILE",
                                        .help = "data file of the lists, if it is not in the folder of the index",
                                        .offset = offsetof(index_source_values, lists)},
                                       {.name = "allow-trailing",
                                        .kind = OPTION_FLAG,
                                        .help = "accept bytes after the end of the index",
                                        .offset = offsetof(index_source_values, allow_trailing)},
                                       {0}};

void index_source_params(const index_source_values *values, furrow_index_load_params *params) {
  furrow_index_load_params_init(params);
  params->memory_map = true;
  params->lists = values->lists;
  params->allow_trailing = values->allow_trailing;
}

furrow_status index_source_check(const char *path, furrow_error *err) {
  if (strcmp(path, "-") != 0) return FURROW_OK;
  return fail(err, FURROW_E_ARGUMENT, "an index cannot be read from standard input");
}

/* Names that do not fit; --set and --drop leave a file alone that does not begin as names do. */
static void hint_names(furrow_error *err) {
  add_hint(err, err->offset == 0
                    ? "move it away: the names are stored there"
                    : "'furrow index names INDEX --set FILE' names the vectors again, --drop removes the names");
}

/* Whether an error is about a file next to the index at `path`. */
static bool is_about(const furrow_error *err, const char *ending, const char *path) {
  const size_t length = strlen(err->file), size = strlen(ending);
  return length > size && strcmp(err->file + length - size, ending) == 0 && strcmp(err->file, path) != 0;
}

furrow_status index_names_explain(furrow_status status, const char *path, furrow_error *err) {
  if (status == FURROW_E_FORMAT && is_about(err, ".names", path)) hint_names(err);
  if (status == FURROW_E_FORMAT && is_about(err, ".attributes", path))
    add_hint(err, err->offset == 0
                      ? "move it away: the attributes are stored there"
                      : "'furrow index attributes INDEX --set FILE' sets the attributes again, --drop removes them");
  return status;
}

static furrow_status explain_shards(furrow_status status, const char *path, furrow_error *err) {
  if (status != FURROW_E_FORMAT || !furrow_is_shards(path)) return status;
  fail_file(err, FURROW_E_ARGUMENT, path, "is a manifest of shards, not an index file", 0);
  return add_hint(err, "'furrow index merge' makes one index of shards");
}

furrow_status index_source_load(furrow_index **index, const char *path, const furrow_index_load_params *params,
                                furrow_error *err) {
  furrow_status status = index_source_check(path, err);
  if (status == FURROW_OK) status = furrow_index_load(index, path, params, err);
  return explain_shards(status, path, err);
}

furrow_status index_source_load_with_names(furrow_index **index, furrow_id_names **names, const char *path,
                                           const furrow_index_load_params *params, furrow_error *err) {
  furrow_status status = index_source_check(path, err);
  if (status == FURROW_OK) status = furrow_index_load_with_names(index, names, path, params, err);
  return explain_shards(index_names_explain(status, path, err), path, err);
}

furrow_status index_source_load_all(furrow_index **index, furrow_id_names **names, furrow_attributes **attributes,
                                    const char *path, const furrow_index_load_params *params, furrow_error *err) {
  furrow_status status = index_source_check(path, err);
  if (status == FURROW_OK) status = furrow_index_load_with_attributes(index, names, attributes, path, params, err);
  return explain_shards(index_names_explain(status, path, err), path, err);
}

bool index_lists_path(const furrow_index *index, const char *path, char lists_path[PATH_MAX]) {
  const furrow_index *ivf = furrow_index_ivf(index);
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(ivf ? ivf : index, &info);
  if (!info.lists_file) return false;
  const char *end = strrchr(path, '/'), *name = strrchr(info.lists_file, '/');
  const int folder = end ? (int)(end - path) + 1 : 0;
  snprintf(lists_path, PATH_MAX, "%.*s%s", folder, path, name ? name + 1 : info.lists_file);
  return true;
}

void index_lists_report(report *r, const char *lists_file) {
  if (lists_file) report_text(r, "data file", lists_file);
}

furrow_status index_source_apart(const furrow_index *index, const char *path, const char *target, furrow_error *err) {
  char lists_path[PATH_MAX];
  if (!index_lists_path(index, path, lists_path)) return FURROW_OK;
  return written_check_apart(target, lists_path, err);
}

/* ---- Names ---- */

/* The endings of what is stored next to an index. */
static const char *const next_to[] = {".names", ".attributes", ".card"};

furrow_status id_list_add(id_list *list, const furrow_index *index, furrow_error *err) {
  furrow_ids more;
  furrow_ids_init(&more);
  furrow_status status = furrow_index_get_ids(index, &more, err);
  if (status != FURROW_OK) return status;
  int64_t *ids = realloc(list->ids, (list->count + more.count + 1) * sizeof *ids);
  if (ids) {
    list->ids = ids;
    if (more.count > 0) memcpy(ids + list->count, more.ids, more.count * sizeof *ids);
    list->count += more.count;
  }
  furrow_ids_clear(&more);
  return ids ? FURROW_OK : fail_memory(err);
}

furrow_status id_list_add_shards(id_list *list, const char *path, const index_source_values *source,
                                 furrow_error *err) {
  furrow_shards *shards = NULL;
  furrow_shards_params params;
  furrow_index_load_params load;
  if (source->lists) return fail(err, FURROW_E_ARGUMENT, "--lists cannot be used with shards");
  index_source_params(source, &load);
  furrow_shards_params_init(&params);
  params.manifest_only = true;
  furrow_status status = furrow_shards_open(&shards, path, &params, err);
  for (size_t i = 0; status == FURROW_OK && i < furrow_shards_count(shards); i++) {
    furrow_index *shard = NULL;
    status = furrow_index_load(&shard, furrow_shards_path(shards, i), &load, err);
    if (status == FURROW_OK) status = id_list_add(list, shard, err);
    furrow_index_free(shard);
  }
  furrow_shards_free(shards);
  return status;
}

void id_list_clear(id_list *list) {
  free(list->ids);
  *list = (id_list){0};
}

furrow_status index_names_load(furrow_id_names **names, const char *path, furrow_error *err) {
  const furrow_status status = furrow_id_names_load(names, path, err);
  if (status == FURROW_E_FORMAT) hint_names(err);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

furrow_status index_attributes_load(furrow_attributes **attributes, const char *path, furrow_error *err) {
  const furrow_status status = index_names_explain(furrow_attributes_load(attributes, path, err), path, err);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

furrow_status index_names_check_path(const char *target, bool force, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < sizeof next_to / sizeof *next_to; i++) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", target, next_to[i]);
    status = written_check_path(path, force, err);
  }
  return status;
}

furrow_status index_names_check_apart(const char *index_path, const char *other, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < sizeof next_to / sizeof *next_to; i++) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", index_path, next_to[i]);
    status = written_check_apart(path, other, err);
  }
  return status;
}

void index_names_report(report *r, const char *key, const furrow_id_names *names, int64_t id) {
  size_t size = 0;
  const char *name = furrow_id_names_text(names, id, &size);
  char *copy = name ? strndup(name, size) : NULL;
  if (copy)
    report_text(r, key, copy);
  else
    report_none(r, key);
  if (name && !copy) r->out->errnum = ENOMEM;
  free(copy);
}

/* ---- The card ---- */

static void report_card_vectors(report *r, const char *name, const furrow_card_vectors *v) {
  char digest[24];
  if (!r->json) {
    report_u64(r, name, v->vectors);
    if (v->measured > 0) report_line(r, "distance to centroids", "%.4g on average, 99 %% below %.4g", v->mean, v->far);
    return;
  }
  snprintf(digest, sizeof digest, "%016" PRIx64, v->digest);
  report_section(r, name);
  report_u64(r, "vectors", v->vectors);
  report_text(r, "digest", digest);
  report_u64(r, "measured", v->measured);
  report_f64(r, "mean distance", v->mean);
  report_f64(r, "median distance", v->median);
  report_f64(r, "far distance", v->far);
  report_end(r);
}

static void report_card_recall(report *r, const furrow_index_card *card) {
  const bool known = !isnan(card->recall);
  if (r->json || known) report_f64(r, "recall", card->recall);
  if (known && !r->json)
    report_line(r, "measured", "%" PRIu64 " nearest of %" PRIu64 " queries among %" PRIu64 " vectors", card->recall_k,
                card->recall_queries, card->recall_vectors);
  if (!known || !r->json) return;
  report_u64(r, "recall k", card->recall_k);
  report_u64(r, "recall queries", card->recall_queries);
  report_u64(r, "recall vectors", card->recall_vectors);
}

void index_card_report(report *r, const furrow_index *index) {
  furrow_index_card card;
  furrow_error err;
  furrow_index_card_init(&card);
  const furrow_status status = furrow_index_get_card(index, &card, &err);
  if (status == FURROW_E_NOT_FOUND) return;
  report_section(r, "card");
  if (status != FURROW_OK) {
    report_text(r, "error", err.message);
    report_end(r);
    return;
  }
  report_text(r, "factory", card.factory);
  report_card_vectors(r, "built from", &card.built);
  report_card_vectors(r, "added since", &card.added);
  report_u64(r, "removed since", card.removed);
  if (r->json || !isnan(card.distance_ratio)) report_f64(r, "distance ratio", card.distance_ratio);
  report_card_recall(r, &card);
  report_bool(r, "stale", card.stale);
  if (r->json || card.stale) report_text(r, "advice", card.advice);
  report_end(r);
}
