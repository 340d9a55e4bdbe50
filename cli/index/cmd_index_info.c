/* cli/index/cmd_index_info.c: furrow index info: summarises an index file. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/report.h"
#include "core/text_file.h"
#include "index/attribute_source.h"
#include "index/index_source.h"

typedef struct info_values {
  index_source_values source;
  const char *path;
  bool json;
} info_values;

static const option info_operands[] = {{.name = "FILE",
                                        .kind = OPTION_TEXT,
                                        .help = "the index file",
                                        .offset = offsetof(info_values, path),
                                        .required = true},
                                       {0}};

static const option info_options[] = {JSON_OPTION(offsetof(info_values, json)), {0}};

static const option_group info_groups[] = {
    {.title = "Options", .options = info_options},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(info_values, source)},
    {0}};

/* ---- One index ------------------------------------------------------------------------------------------ */

/* factory: the factory string; NULL: the index is inside of another one and has none of its own. */
static void report_header(report *r, const furrow_index_info *info, const char *factory) {
  report_text(r, "kind", furrow_index_kind_name(info->kind));
  if (factory) report_text(r, "factory", factory);
  report_text(r, "fourcc", info->fourcc);
  report_i64(r, "dimension", info->d);
  report_i64(r, "vectors", info->ntotal);
  report_text(r, "metric", furrow_distance_metric_name(info->metric));
  if (info->metric > FURROW_METRIC_L2) report_f64(r, "metric argument", (double)info->metric_arg);
  report_bool(r, "trained", info->trained);
}

static void report_quantizer(report *r, const furrow_index_info *info) {
  if (info->m > 0) {
    report_u64(r, "M", info->m);
    report_u64(r, "nbits", info->nbits);
  }
  if (info->code_size > 0) report_u64(r, "code size", info->code_size);
  if (info->refine_m > 0) {
    report_u64(r, "refine M", info->refine_m);
    report_u64(r, "refine nbits", info->refine_nbits);
  }
  if (info->k_factor > 0) report_f64(r, "k factor", (double)info->k_factor);
}

static void report_histogram(report *r, const furrow_list_stats *stats) {
  report_list(r, "list sizes");
  for (unsigned b = 0; b < FURROW_LIST_BUCKETS; b++) {
    if (stats->histogram[b] == 0) continue;
    uint64_t from = b ? (uint64_t)1 << (b - 1) : 0, upto = b ? from + (from - 1) : 0;
    char text[96];
    if (from == upto)
      snprintf(text, sizeof text, "%" PRIu64 " (%" PRIu64 ")", from, stats->histogram[b]);
    else
      snprintf(text, sizeof text, "%" PRIu64 " to %" PRIu64 " (%" PRIu64 ")", from, upto, stats->histogram[b]);
    if (!r->json) {
      report_text(r, NULL, text);
      continue;
    }
    report_section(r, NULL);
    report_u64(r, "min", from);
    report_u64(r, "max", upto);
    report_u64(r, "lists", stats->histogram[b]);
    report_end(r);
  }
  report_end(r);
}

static void report_lists(report *r, const furrow_index *index, const furrow_index_info *info) {
  static const char *const kinds[] = {"none", "in the file", "in a data file", "in the file, in blocks"};
  static const char *const maps[] = {"none", "array", "hashtable"};
  furrow_list_stats stats;
  furrow_list_stats_init(&stats);
  report_u64(r, "nlist", info->nlist);
  report_u64(r, "nprobe", info->nprobe);
  report_bool(r, "by residual", info->by_residual);
  report_text(r, "direct map", maps[info->direct_map]);
  report_text(r, "lists are", kinds[info->lists]);
  index_lists_report(r, info->lists_file);
  if (info->lists_missing) report_bool(r, "data file missing", true);
  if (info->lists == FURROW_LISTS_NONE || furrow_index_get_list_stats(index, &stats, NULL) != FURROW_OK) return;
  report_u64(r, "stored", stats.stored);
  report_u64(r, "empty lists", stats.empty);
  report_u64(r, "shortest list", stats.min);
  report_u64(r, "longest list", stats.max);
  report_f64(r, "mean list", stats.mean);
  report_f64(r, "imbalance", stats.imbalance);
  report_histogram(r, &stats);
}

static void report_graph(report *r, const furrow_index_info *info) {
  report_i64(r, "levels", info->max_level + 1);
  report_u64(r, "links", info->links);
  report_i64(r, "ef construction", info->ef_construction);
  report_i64(r, "ef search", info->ef_search);
}

static void report_transforms(report *r, const furrow_index *index, const furrow_index_info *info) {
  report_list(r, "transforms");
  for (size_t i = 0; i < info->transforms; i++) {
    furrow_transform_info t;
    furrow_transform_info_init(&t);
    char text[64];
    if (furrow_index_get_transform_info(index, i, &t, NULL) != FURROW_OK) break;
    snprintf(text, sizeof text, "%s %" PRId32 " to %" PRId32, t.fourcc, t.d_in, t.d_out);
    report_text(r, NULL, text);
  }
  report_end(r);
}

static void report_index(report *r, const furrow_index *index, const char *factory) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  report_header(r, &info, factory);
  report_quantizer(r, &info);
  if (info.nlist > 0) report_lists(r, index, &info);
  if (info.kind == FURROW_INDEX_HNSW) report_graph(r, &info);
  if (info.kind == FURROW_INDEX_TRANSFORM) report_transforms(r, index, &info);
}

/* ---- All of them ---------------------------------------------------------------------------------------- */

/* Reports the indexes inside an index, each with its path, as one flat list. */
static void report_children(report *r, const furrow_index *index, const char *path) {
  const char *name;
  for (size_t i = 0; (name = furrow_index_child_name(index, i)) != NULL; i++) {
    const furrow_index *child = furrow_index_child(index, i);
    char inner[512];
    snprintf(inner, sizeof inner, "%s%s%s", path, path[0] ? "/" : "", name);
    if (!child) continue;
    report_section(r, r->json ? NULL : inner);
    if (r->json) report_text(r, "name", inner);
    report_index(r, child, NULL);
    report_end(r);
    report_children(r, child, inner);
  }
}

static void report_file(report *r, const info_values *values, const struct stat *file, const furrow_index *index,
                        const furrow_id_names *names, const furrow_attributes *attributes, const char *factory) {
  report_text(r, "file", values->path);
  if (file) report_u64(r, "bytes", (uint64_t)file->st_size);
  report_index(r, index, factory);
  if (names) report_u64(r, "names", furrow_id_names_count(names));
  attributes_report(r, attributes, NULL);
  index_card_report(r, index);
  if (r->json) report_list(r, "inside");
  report_children(r, index, "");
  if (r->json) report_end(r);
}

/* ---- Shards --------------------------------------------------------------------------------------------- */

static void report_shards(report *r, const furrow_shards *shards) {
  if (r->json)
    report_list(r, "shards");
  else
    report_section(r, "shards");
  for (size_t i = 0; i < furrow_shards_count(shards); i++) {
    const char *path = furrow_shards_path(shards, i), *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const uint64_t vectors = furrow_shards_vectors_of(shards, i), bytes = furrow_shards_bytes_of(shards, i);
    if (!r->json) {
      report_line(r, file, "%" PRIu64 " vector%s, %" PRIu64 " bytes", vectors, vectors == 1 ? "" : "s", bytes);
      continue;
    }
    report_section(r, NULL);
    report_text(r, "file", file);
    report_u64(r, "vectors", vectors);
    report_u64(r, "bytes", bytes);
    report_end(r);
  }
  report_end(r);
}

/* Describes the first shard: all have the same quantizers. */
static furrow_status info_shards(const info_values *info, output *out, furrow_error *err) {
  furrow_shards *shards = NULL;
  furrow_index_load_params load;
  furrow_shards_params params;
  furrow_index *first = NULL;
  furrow_id_names *names = NULL;
  furrow_attributes *attributes = NULL;
  char *factory = NULL;
  report r;
  index_source_params(&info->source, &load);
  furrow_shards_params_init(&params);
  params.manifest_only = true;
  furrow_status status = furrow_shards_open(&shards, info->path, &params, err);
  if (status == FURROW_OK) status = furrow_index_load(&first, furrow_shards_path(shards, 0), &load, err);
  if (status == FURROW_OK) status = furrow_index_factory(first, &factory, err);
  if (status == FURROW_OK) {
    status = index_names_load(&names, info->path, err);
    if (status == FURROW_OK) status = index_attributes_load(&attributes, info->path, err);
    report_start(&r, out, info->json);
    report_text(&r, "file", info->path);
    report_text(&r, "kind", "shards");
    report_u64(&r, "dimension", furrow_shards_dimension(shards));
    report_u64(&r, "vectors", furrow_shards_vectors(shards));
    if (names) report_u64(&r, "names", furrow_id_names_count(names));
    attributes_report(&r, attributes, NULL);
    report_shards(&r, shards);
    report_section(&r, "first shard");
    report_index(&r, first, factory);
    report_end(&r);
    if (r.json) report_list(&r, "inside");
    report_children(&r, first, "");
    if (r.json) report_end(&r);
    report_finish(&r);
  }
  furrow_free(factory);
  furrow_id_names_free(names);
  furrow_attributes_free(attributes);
  furrow_index_free(first);
  furrow_shards_free(shards);
  return status;
}

static furrow_status info_run(const void *values, output *out, furrow_error *err) {
  const info_values *info = values;
  if (furrow_is_shards(info->path)) return info_shards(info, out, err);
  struct stat file;
  const bool is_file = stat(info->path, &file) == 0;
  if (!is_file && errno != ENOENT && !path_is_named(info->path))
    return fail_file(err, FURROW_E_IO, info->path, "cannot be read", errno);
  furrow_index_load_params params;
  furrow_index *index = NULL;
  index_source_params(&info->source, &params);
  params.lists_optional = true;
  params.card = true;
  furrow_id_names *names = NULL;
  furrow_attributes *attributes = NULL;
  report r;
  const furrow_status status = index_source_load_all(&index, &names, &attributes, info->path, &params, err);
  /* names or attributes that do not fit are an error, but after the report about the index */
  if (status != FURROW_OK && furrow_index_load(&index, info->path, &params, NULL) != FURROW_OK) return status;
  char *factory = NULL;
  const furrow_status described = furrow_index_factory(index, &factory, status == FURROW_OK ? err : NULL);
  if (described == FURROW_OK) {
    report_start(&r, out, info->json);
    report_file(&r, info, is_file ? &file : NULL, index, names, attributes, factory);
    report_finish(&r);
  }
  furrow_free(factory);
  furrow_id_names_free(names);
  furrow_attributes_free(attributes);
  furrow_index_free(index);
  return status == FURROW_OK ? described : status;
}

const command index_info_command = {
    .name = "info",
    .summary = "summarise an index file: kinds, sizes, quantizers, lists",
    .example = "furrow index info items.index\nfurrow index info --json items.index",
    .about = "The imbalance is nlist * sum(size^2) / sum(size)^2. It is 1 when all lists are equally long; otherwise "
             "it says how many times more vectors a search compares than with equal lists. The histogram of list sizes "
             "has powers of two as bounds.",
    .operands = info_operands,
    .groups = info_groups,
    .size = sizeof(info_values),
    .run = info_run,
};
