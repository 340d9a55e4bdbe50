/* cli/index/cmd_index_search.c: furrow index search: finds the nearest vectors for queries. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/progress.h"
#include "core/ranks.h"
#include "core/report.h"
#include "furrow/attributes.h"
#include "furrow/init.h"
#include "index/index_searcher.h"
#include "index/index_source.h"
#include "index/search_sink.h"
#include "index/vector_source.h"

enum { BLOCK_QUERIES = 4096, BLOCK_RESULTS = 1 << 22 };

typedef struct search_values {
  const char *path, *queries;
  int64_t k; /* 0: not given */
  double range, recall;
  const char *where;
  search_filter_values filter_ids;
  result_values result;
  vector_values vectors;
  index_source_values source;
  bool quiet;
} search_values;

static const option search_operands[] = {{.name = "INDEX",
                                          .kind = OPTION_TEXT,
                                          .help = "the index file, or a manifest of shards",
                                          .offset = offsetof(search_values, path),
                                          .required = true},
                                         {.name = "QUERIES",
                                          .kind = OPTION_TEXT,
                                          .help = "file of vectors; - is standard input",
                                          .offset = offsetof(search_values, queries),
                                          .required = true,
                                          .from_query = true},
                                         {0}};

static const option search_options[] = {
    {.name = "k",
     .letter = 'k',
     .kind = OPTION_COUNT64,
     .argument = "K",
     .help = "find the K nearest vectors of each query (10; at most 4194304)",
     .offset = offsetof(search_values, k)},
    {.name = "range",
     .kind = OPTION_REAL,
     .argument = "R",
     .help = "find all vectors nearer than R (inner product: above R) instead of the K nearest",
     .offset = offsetof(search_values, range)},
    {.name = "where",
     .kind = OPTION_TEXT,
     .argument = "FILTER",
     .help = "find only vectors whose attributes match: 'price < 10 and lang in (\"de\", \"fr\") and not sold'; see "
             "'furrow index attributes --help'",
     .offset = offsetof(search_values, where)},
    {.name = "recall",
     .kind = OPTION_REAL,
     .argument = "R",
     .help = "with --where: find this share of the nearest matching vectors, by as much work as it takes (0.95)",
     .offset = offsetof(search_values, recall)},
    QUIET_OPTION(offsetof(search_values, quiet)),
    {0}};

static const option_group search_groups[] = {
    {.title = "Options", .options = search_options},
    {.title = "Options", .options = search_filter_options, .offset = offsetof(search_values, filter_ids)},
    {.title = "Results", .options = result_options, .offset = offsetof(search_values, result)},
    {.title = "Vectors", .options = vector_options, .offset = offsetof(search_values, vectors)},
    {.title = "Vectors", .options = query_options},
    {.title = "Vectors", .options = plugin_options},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(search_values, source)},
    {0}};

static void search_init(void *values) {
  ((search_values *)values)->range = NAN;
}

typedef struct searching {
  const search_values *values;
  furrow_searcher *searcher;
  furrow_selection *selection; /* of --where; NULL: all vectors */
  furrow_filtered *filtered;   /* NULL: a plain search */
  bool shards;
  furrow_vectors_reader *queries;
  id_filter_ids ids;
  furrow_search_params params;
  vector_block block;
  size_t k;
  float *distances;
  int64_t *found;
  result_sink sink;
  uint64_t count;
  double seconds; /* seconds of the searches alone */
} searching;

static bool by_range(const searching *s) {
  return !isnan(s->values->range);
}

/* ---- Making ready --------------------------------------------------------------------------------------- */

/* Checks that no file to write has the names of the index, which no option names. */
static furrow_status check_apart(const search_values *values, furrow_error *err) {
  const char *const outputs[] = {values->result.ids, values->result.distances, values->result.starts,
                                 values->result.table};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < sizeof outputs / sizeof *outputs; i++)
    status = index_names_check_apart(values->path, outputs[i], err);
  return status;
}

static furrow_status check_search_values(const search_values *values, furrow_error *err) {
  if (!isnan(values->range) && values->k) return fail(err, FURROW_E_ARGUMENT, "-k and --range cannot be used together");
  if (values->where && (values->filter_ids.filter.ids || values->filter_ids.filter.names))
    return fail(err, FURROW_E_ARGUMENT, "--where cannot be used with --filter-ids or --filter-names");
  if (values->recall != 0 && !values->where) return fail(err, FURROW_E_ARGUMENT, "--recall needs --where");
  if (values->recall < 0 || values->recall > 1)
    return fail(err, FURROW_E_ARGUMENT, "--recall must be above 0 and at most 1");
  if (isnan(values->range) && values->result.starts) return fail(err, FURROW_E_ARGUMENT, "--out-starts needs --range");
  furrow_status status = check_apart(values, err);
  return status == FURROW_OK ? result_check(&values->result, err) : status;
}

static furrow_status open_queries(searching *s, furrow_error *err) {
  const search_values *values = s->values;
  const furrow_status status =
      vector_source_open(&s->queries, values->queries, &values->vectors, furrow_searcher_dimension(s->searcher), err);
  if (status != FURROW_OK) return status;
  return search_filter_params(&values->filter_ids, furrow_searcher_names(s->searcher), &s->params, &s->ids, err);
}

/* Selects the vectors that match --where. */
static furrow_status open_where(searching *s, furrow_error *err) {
  const search_values *values = s->values;
  const furrow_attributes *attributes = furrow_searcher_attributes(s->searcher);
  if (!values->where) return FURROW_OK;
  if (!attributes) {
    fail_file(err, FURROW_E_STATE, values->path, "has no attributes that --where could compare", 0);
    return add_hint(err, "'furrow index attributes INDEX --set FILE' sets them");
  }
  furrow_status status = furrow_attributes_select(attributes, values->where, &s->selection, err);
  if (status != FURROW_OK) {
    if (status == FURROW_E_ARGUMENT) snprintf(err->file, sizeof err->file, "--where");
    return status;
  }
  if (furrow_selection_count(s->selection) == 0) print_note(values->quiet, "no vector matches --where");
  s->params.filter = furrow_selection_filter(s->selection);
  return FURROW_OK;
}

/* Prepares a search with --where, of shards on all ranks together. */
static furrow_status prepare_where(searching *s, furrow_error *err) {
  const search_values *values = s->values;
  const double recall = values->recall > 0 ? values->recall : 0.95;
  if (!values->where || by_range(s)) return FURROW_OK;
  return furrow_filtered_create(&s->filtered, s->searcher,
                                &FURROW_INIT(furrow_filtered_params, .search = &s->params, .recall = recall), err);
}

static furrow_status reserve_results(searching *s, furrow_error *err) {
  s->k = s->values->k ? (size_t)s->values->k : 10;
  if (s->k > BLOCK_RESULTS) return fail(err, FURROW_E_ARGUMENT, "-k must be at most %d", BLOCK_RESULTS);
  const int64_t there = (int64_t)furrow_searcher_vectors(s->searcher);
  if (!by_range(s) && (int64_t)s->k > there && s->values->k)
    print_note(s->values->quiet, "the index has %" PRId64 " vector%s, fewer than the %zu results that -k asks for",
               there, there == 1 ? "" : "s", s->k);
  size_t most = by_range(s) ? BLOCK_QUERIES : BLOCK_RESULTS / s->k;
  if (most > BLOCK_QUERIES) most = BLOCK_QUERIES;
  const uint64_t known = s->queries ? furrow_vectors_reader_count(s->queries) : FURROW_COUNT_UNKNOWN;
  if (known < most) most = (size_t)known;
  furrow_status status = vector_block_init(&s->block, furrow_searcher_dimension(s->searcher), most, 0, err);
  if (status != FURROW_OK || by_range(s)) return status;
  s->distances = malloc(s->block.capacity * s->k * sizeof *s->distances);
  s->found = malloc(s->block.capacity * s->k * sizeof *s->found);
  return s->distances && s->found ? FURROW_OK : fail_memory(err);
}

/* ---- Searching ------------------------------------------------------------------------------------------ */

static furrow_status search_block(searching *s, furrow_error *err) {
  const vector_block *block = &s->block;
  furrow_range_result *range = NULL;
  const double began = now_seconds();
  furrow_status status;
  if (by_range(s))
    status = furrow_searcher_search_range(s->searcher, block->values, block->count, (float)s->values->range, &s->params,
                                          &range, err);
  else if (s->filtered)
    status = furrow_filtered_search(s->filtered, block->values, block->count, s->k, s->distances, s->found, err);
  else
    status =
        furrow_searcher_search(s->searcher, block->values, block->count, s->k, &s->params, s->distances, s->found, err);
  s->seconds += now_seconds() - began;
  if (status != FURROW_OK) return s->queries ? query_explain(s->queries, block, status, err) : status;
  s->count += block->count;
  if (ranks_number() > 0) { /* rank 0 has the same results, and writes them */
    furrow_range_result_free(range);
    return FURROW_OK;
  }
  if (by_range(s))
    status = result_put_range(&s->sink, block->first, range, err);
  else
    status = result_put(&s->sink, block->first, block->count, s->k, s->distances, s->found, err);
  furrow_range_result_free(range);
  return status;
}

/* ---- Shards of several processes ------------------------------------------------------------------------- */

/* Sends rank 0's filter to all ranks. Options only make ranges and sorted ids; of a selection, which may be a bitmap,
 * the ids are sorted, too. */
static furrow_status share_filter(searching *s, furrow_error *err) {
  const furrow_comm *comm = ranks_comm();
  furrow_id_filter filter;
  furrow_id_filter_init(&filter);
  if (s->params.filter) filter = *s->params.filter;
  if (filter.kind == FURROW_ID_FILTER_BITMAP) filter.kind = FURROW_ID_FILTER_SORTED;
  struct {
    int64_t first, end;
    uint64_t count;
    uint8_t used, kind, invert;
  } shared = {.first = filter.first,
              .end = filter.end,
              .count = filter.sorted_count,
              .used = s->params.filter != NULL,
              .kind = (uint8_t)filter.kind,
              .invert = filter.invert};
  furrow_status status = comm->broadcast(comm, &shared, sizeof shared, 0, err);
  if (status != FURROW_OK || !shared.used) return status;
  if (comm->rank > 0) s->ids.ids.ids = malloc((size_t)(shared.count + 1) * sizeof(int64_t));
  status = ranks_all_ok(comm->rank == 0 || s->ids.ids.ids ? FURROW_OK : fail_memory(err), err);
  if (status != FURROW_OK) return status;
  int64_t *sorted = comm->rank > 0 ? s->ids.ids.ids : (int64_t *)(uintptr_t)filter.sorted;
  if (shared.count > 0) status = comm->broadcast(comm, sorted, (size_t)shared.count * sizeof *sorted, 0, err);
  if (comm->rank == 0) return status;
  furrow_id_filter_init(&s->ids.filter);
  s->ids.filter.kind = (furrow_id_filter_kind)shared.kind;
  s->ids.filter.invert = shared.invert;
  s->ids.filter.first = shared.first;
  s->ids.filter.end = shared.end;
  s->ids.filter.sorted = sorted;
  s->ids.filter.sorted_count = (size_t)shared.count;
  s->params.filter = &s->ids.filter;
  return status;
}

/* Rank 0 reads the next queries and sends them to all ranks. *more: there are some. */
static furrow_status next_block(searching *s, furrow_status status, bool *more, furrow_error *err) {
  const furrow_comm *comm = s->shards ? ranks_comm() : NULL;
  vector_block *block = &s->block;
  if (ranks_number() == 0) {
    if (status == FURROW_OK) status = interrupt_check(err);
    if (status == FURROW_OK) status = vector_block_read(block, s->queries, err);
  }
  if (comm) {
    status = ranks_all_ok(status, err);
    uint64_t count = block->count;
    if (status == FURROW_OK) status = comm->broadcast(comm, &count, sizeof count, 0, err);
    if (status == FURROW_OK && count > 0)
      status = comm->broadcast(comm, block->values, (size_t)count * block->d * sizeof(float), 0, err);
    block->count = (size_t)count;
  }
  *more = status == FURROW_OK && block->count > 0;
  return status;
}

static furrow_status search_all(searching *s, furrow_error *err) {
  bool more = true;
  furrow_status status = next_block(s, FURROW_OK, &more, err);
  while (more) status = next_block(s, search_block(s, err), &more, err);
  return status;
}

/* Opens everything. Of several processes only rank 0 opens the queries and the names. */
static furrow_status open_all(searching *s, output *out, furrow_error *err) {
  const search_values *values = s->values;
  const furrow_searcher_open_params params = FURROW_INIT(
      furrow_searcher_open_params, .threads = values->filter_ids.threads, .attributes = values->where != NULL);
  furrow_status status = index_searcher_open(&s->searcher, values->path, s->shards, &values->source, &params, err);
  const bool first = ranks_number() == 0;
  if (status == FURROW_OK && first) status = open_queries(s, err);
  if (status == FURROW_OK && first) status = open_where(s, err);
  if (status == FURROW_OK && !first) {
    search_filter_values plain = values->filter_ids;
    plain.filter = (id_filter_values){0};
    plain.without = false;
    status = search_filter_params(&plain, NULL, &s->params, NULL, err);
  }
  if (status == FURROW_OK) status = reserve_results(s, err);
  if (status == FURROW_OK && first)
    status =
        result_open(&s->sink, &values->result, by_range(s) ? 0 : s->k, furrow_searcher_names(s->searcher), out, err);
  if (s->shards && ranks_count() > 1) {
    status = ranks_all_ok(status, err);
    if (status == FURROW_OK) status = share_filter(s, err);
  }
  return status == FURROW_OK && (first || s->shards) ? prepare_where(s, err) : status;
}

static void report_search(const searching *s, output *out) {
  const result_values *result = &s->values->result;
  report r;
  if (!result_to_files(result)) return;
  report_start(&r, out, result->json);
  if (result->ids) report_text(&r, "ids", result->ids);
  if (result->distances) report_text(&r, "distances", result->distances);
  if (result->starts) report_text(&r, "starts", result->starts);
  if (result->table) report_text(&r, "table", result->table);
  report_u64(&r, "queries", s->count);
  if (s->selection) report_u64(&r, "matching vectors", furrow_selection_count(s->selection));
  if (by_range(s))
    report_u64(&r, "results", s->sink.total);
  else
    report_u64(&r, "k", s->k);
  if (result->json) {
    report_f64(&r, "seconds", s->seconds);
    report_f64(&r, "queries per second", s->seconds > 0 ? (double)s->count / s->seconds : NAN);
  }
  report_line(&r, "seconds", "%.4f", s->seconds);
  report_line(&r, "queries per second", "%.0f", s->seconds > 0 ? (double)s->count / s->seconds : 0);
  report_finish(&r);
}

/* Whether the path is a manifest: rank 0 looks, because others may not see it. */
static furrow_status look_for_shards(searching *s, furrow_error *err) {
  uint64_t before, shards = ranks_number() == 0 && furrow_is_shards(s->values->path);
  const furrow_status status = ranks_offset(shards, &before, &shards, err);
  s->shards = shards > 0;
  return status;
}

static furrow_status search_run(const void *values, output *out, furrow_error *err) {
  searching s = {.values = values};
  furrow_status status = ranks_number() == 0 ? check_search_values(s.values, err) : FURROW_OK;
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = look_for_shards(&s, err);
  if (status != FURROW_OK || (!s.shards && ranks_number() > 0)) return status; /* rank 0 searches an index alone */
  if (result_to_files(&s.values->result)) interrupt_catch();
  status = open_all(&s, out, err);
  if (status == FURROW_OK) status = search_all(&s, err);
  if (status == FURROW_OK && ranks_number() == 0) status = result_finish(&s.sink, err);
  if (status == FURROW_OK && ranks_number() == 0) report_search(&s, out);
  result_close(&s.sink);
  vector_block_clear(&s.block);
  free(s.distances);
  free(s.found);
  if (ranks_number() > 0) {
    free(s.ids.ids.ids);
    s.ids.ids = (furrow_ids){0};
  }
  id_filter_ids_clear(&s.ids);
  furrow_vectors_reader_close(s.queries);
  furrow_filtered_free(s.filtered);
  furrow_selection_free(s.selection);
  furrow_searcher_free(s.searcher);
  return status;
}

const command index_search_command = {
    .name = "search",
    .summary = "find the nearest vectors for queries",
    .example = "furrow index search items.index queries.fvecs -k 10 --nprobe 16\n"
               "furrow index search items.index queries.fbin -k 100 --out-ids found.ivecs --out-dist found.fvecs\n"
               "furrow index search items.index queries.npy --range 0.25 --filter-ids 0:1000000\n"
               "furrow index search items.index queries.npy --where 'price < 10 and not sold'",
    .about =
        "Prints a line for each query: its number, then id:distance pairs, nearest first. If the ids have names, it "
        "prints names instead, with tabs between the pairs; --numbers prints the ids. With --out-ids or "
        "--out-dist it writes the results to files, a row for each query; with --range the results follow each "
        "other without rows, and --out-starts says where the results of each query begin. In files, -1 fills up rows "
        "with fewer than K results. Shards are searched as if they were one index; under mpirun each process searches "
        "its own. With --where, as much of the index is searched as it takes to find the share --recall of the nearest "
        "vectors that match, and K of them wherever K match.",
    .operands = search_operands,
    .groups = search_groups,
    .size = sizeof(search_values),
    .init = search_init,
    .run = search_run,
    .on_all_ranks = true,
};
