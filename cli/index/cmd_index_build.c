/* cli/index/cmd_index_build.c: furrow index build: trains an index and fills it with vectors. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/ranks.h"
#include "core/written.h"
#include "index/attribute_source.h"
#include "index/build_tune.h"
#include "index/index_edit.h"
#include "index/index_fill.h"
#include "index/spec_options.h"

typedef struct build_values {
  fill_values fill;
  attribute_values attributes;
  spec_values spec;
  const char *destination, *train, *queries;
  form_values form;
  uint64_t seed, train_size;
  size_t max_bytes; /* 0: no limit */
  double recall;    /* 0: not given */
  int64_t nprobe;   /* 0: not given */
  furrow_direct_map direct_map;
  bool force, json, shards;
} build_values;

static const option build_options[] = {
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "INDEX",
     .help = "the index file to write",
     .offset = offsetof(build_values, destination),
     .required = true},
    {.name = "factory",
     .kind = OPTION_TEXT,
     .argument = "STRING",
     .help = "the index as a Faiss factory string: Flat, HNSW32, IVF1024,SQ8, OPQ16,IVF1024,PQ16x4fs,RFlat ...; "
             "replaces the options about the index below, except --metric and --k-factor",
     .offset = offsetof(build_values, spec.factory)},
    {.name = "ef-construction",
     .kind = OPTION_COUNT32,
     .argument = "N",
     .help = "with --factory HNSW...: candidates for the links of a vector (100); more improve the recall and slow the "
             "build down",
     .offset = offsetof(build_values, spec.ef_construction)},
    {.name = "recall",
     .kind = OPTION_REAL,
     .argument = "R",
     .help = "choose search settings that find this share of the 10 nearest vectors, and store them in the index (0.95 "
             "without --factory and --nlist)",
     .offset = offsetof(build_values, recall)},
    {.name = "queries",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "measure the recall with these vectors, which are not in the index (by default, with some that are)",
     .offset = offsetof(build_values, queries)},
    {.name = "max-bytes",
     .kind = OPTION_BYTES,
     .argument = "SIZE",
     .help = "choose an index whose file has at most this size",
     .offset = offsetof(build_values, max_bytes)},
    {.name = "nprobe",
     .kind = OPTION_COUNT64,
     .argument = "P",
     .help = "default number of lists that a search probes (1)",
     .offset = offsetof(build_values, nprobe)},
    {.name = "direct-map",
     .kind = OPTION_ENUM,
     .choices = "none|array|hash",
     .help = "store a map from ids to positions in the lists (array: ids must be 0, 1, 2 ...)",
     .offset = offsetof(build_values, direct_map)},
    {.name = "shards",
     .kind = OPTION_FLAG,
     .help = "each process writes the vectors that it read to a separate file, a shard; INDEX is the manifest of the "
             "shards. The machines need no shared file system, and no machine needs space for the whole index",
     .offset = offsetof(build_values, shards)},
    FORCE_OPTION(offsetof(build_values, force)),
    JSON_OPTION(offsetof(build_values, json)),
    {0}};

static const option train_options[] = {
    {.name = "train",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "vectors to train with; without it, a sample of the added vectors, which are then read twice. Without "
             "--base the index stays empty; 'furrow index add' fills it",
     .offset = offsetof(build_values, train)},
    {.name = "train-size",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "at most N training vectors (0: as many as training uses)",
     .offset = offsetof(build_values, train_size)},
    {.name = "seed",
     .kind = OPTION_U64,
     .argument = "S",
     .help = "seed of the sample and the training (1234); the same seed gives the same index",
     .offset = offsetof(build_values, seed)},
    {0}};

static const option_group build_groups[] = {
    {.title = "Options", .options = build_options},
    {.title = "Options", .options = form_options, .offset = offsetof(build_values, form)},
    {.title = "The index", .options = spec_options, .offset = offsetof(build_values, spec)},
    {.title = "Training", .options = train_options},
    {.title = "Vectors", .options = fill_options, .offset = offsetof(build_values, fill)},
    {.title = "Vectors", .options = attribute_options, .offset = offsetof(build_values, attributes)},
    {.title = "Vectors", .options = vector_options, .offset = offsetof(build_values, fill.vectors)},
    {.title = "Vectors", .options = query_options},
    {.title = "Vectors", .options = plugin_options},
    {0}};

static void build_init(void *values) {
  build_values *build = values;
  fill_values_init(&build->fill);
  spec_values_init(&build->spec);
  build->seed = 1234;
}

/* The job from beginning to end. */
typedef struct building {
  const build_values *values;
  index_job job;
  filling fill;
  furrow_index *index;
  furrow_id_names *names; /* NULL: none */
  attribute_source table;
  furrow_attributes *attributes; /* NULL: none */
  furrow_reservoir *sample;
  uint64_t trained_on;      /* sum of all processes, as are the next two */
  uint64_t added, left_out; /* vectors */
  build_parts parts;        /* with --lists-file: the parts before `index` */
  bool empty;               /* only --train: no vectors are added */
  bool chosen;              /* the kind of the index was chosen here */
  furrow_index_selection selection;
  furrow_index_tuning tuning; /* recall 0: not tuned */
  double error, norm;         /* mean squares of the quantization error and of the vectors; NaN: unknown */
} building;

/* ---- Training ------------------------------------------------------------------------------------------- */

static void train_params(building *b, furrow_index_train_params *params) {
  furrow_index_train_params_init(params);
  params->seed = b->values->seed;
  params->threads = b->values->fill.threads;
  params->progress = index_job_progress;
  params->user = &b->job;
  params->comm = ranks_comm();
}

/* Number of training vectors that fit in memory. A block of vectors gets a quarter of the memory; reading a matrix also
 * takes from the sample's part. */
static size_t sample_size(building *b, const filling *fill) {
  furrow_index_train_params params;
  train_params(b, &params);
  const size_t memory = b->values->fill.memory, kept = (fill->values->model ? 2 : 1) * (memory / 4);
  const uint64_t most = (memory - kept) / (furrow_vectors_reader_dimension(fill->vectors) * sizeof(float));
  uint64_t size = furrow_index_train_sample_size(b->index, &params);
  if (b->values->train_size && b->values->train_size < size) size = b->values->train_size;
  const uint64_t count = ranks_count() > 1 ? fill->total : furrow_vectors_reader_count(fill->vectors);
  if (size > count) size = count;
  if (size > most)
    print_note(b->values->fill.quiet, "training can use %" PRIu64 " vector%s, but --memory has space for only %" PRIu64,
               size, size == 1 ? "" : "s", most);
  if (size > most) size = most;
  return size > 0 ? (size_t)size : 1;
}

static furrow_status sample_block(building *b, const vector_block *block, furrow_error *err) {
  if (b->values->fill.on_nan == ON_NAN_ERROR) return furrow_reservoir_add(b->sample, block->values, block->count, err);
  furrow_status status = FURROW_OK;
  for (size_t i = 0, n; status == FURROW_OK && i < block->count; i += n + 1) {
    n = furrow_first_invalid_vector(block->values + i * block->d, block->count - i, block->d);
    status = furrow_reservoir_add(b->sample, block->values + i * block->d, n, err);
  }
  return status;
}

/* The vectors of this process that can be in the sample. With --on-nan skip they are read to count them. */
static furrow_status count_valid(building *b, filling *fill, uint64_t *count, furrow_error *err) {
  furrow_status status = FURROW_OK;
  *count = furrow_vectors_reader_count(fill->vectors);
  if (b->values->fill.on_nan == ON_NAN_ERROR) return FURROW_OK;
  for (*count = 0; status == FURROW_OK;) {
    status = fill_read(fill, err);
    if (status != FURROW_OK || fill->block.count == 0) break;
    for (size_t i = 0; i < fill->block.count; i++)
      *count += furrow_first_invalid_vector(fill->block.values + i * fill->block.d, 1, fill->block.d) > 0;
  }
  return status == FURROW_OK ? fill_rewind(fill, err) : status;
}

/* Several processes draw the same sample as one process; each keeps the vectors of the sample that it reads. */
static furrow_status begin_sample(building *b, filling *fill, furrow_error *err) {
  const size_t d = furrow_vectors_reader_dimension(fill->vectors), size = sample_size(b, fill);
  uint64_t count = 0, first = 0, total = 0;
  if (ranks_count() == 1) return furrow_reservoir_create(&b->sample, d, size, b->values->seed, err);
  furrow_status status = ranks_all_ok(count_valid(b, fill, &count, err), err);
  if (status == FURROW_OK) status = ranks_offset(count, &first, &total, err);
  if (status != FURROW_OK) return status;
  return furrow_reservoir_create_part(&b->sample, d, size, b->values->seed, first, count, total, err);
}

/* Draws a sample from all vectors of `fill`. */
static furrow_status draw_sample(building *b, filling *fill, furrow_error *err) {
  const uint64_t total = vector_source_total(fill->vectors);
  index_job_step(&b->job, "sample", total);
  furrow_status status = begin_sample(b, fill, err);
  while (status == FURROW_OK) {
    status = fill_read(fill, err);
    if (status != FURROW_OK || fill->block.count == 0) break;
    status = sample_block(b, &fill->block, err);
    if (status == FURROW_OK)
      status = index_job_update(&b->job, "sample", fill->block.first - fill->first + fill->block.count, total, err);
  }
  return status;
}

static furrow_status draw_from_file(building *b, furrow_error *err) {
  fill_values values = b->values->fill;
  filling fill;
  values.base = b->values->train;
  values.model = values.ids = values.names = NULL;
  values.only_vectors = true;
  if (!vector_source_is_table(values.base, &values.vectors)) values.vectors.column = NULL; /* it is of the base */
  values.axis = FURROW_AXIS_AUTO;
  furrow_status status = fill_open(&fill, &values, furrow_vectors_reader_dimension(b->fill.vectors), err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = fill_take_part(&fill, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = draw_sample(b, &fill, err);
  fill_close(&fill);
  return status;
}

static furrow_status draw_from_base(building *b, furrow_error *err) {
  furrow_status status = draw_sample(b, &b->fill, err);
  return status == FURROW_OK ? fill_rewind(&b->fill, err) : status;
}

static furrow_status train(building *b, furrow_error *err) {
  furrow_index_train_params params;
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(b->index, &info);
  if (info.trained) return FURROW_OK;
  const build_values *values = b->values;
  train_params(b, &params);
  furrow_status status = values->train ? draw_from_file(b, err) : draw_from_base(b, err);
  status = ranks_all_ok(status, err);
  if (status != FURROW_OK) return status;
  const size_t own = furrow_reservoir_count(b->sample);
  uint64_t before;
  status = ranks_offset(own, &before, &b->trained_on, err);
  if (status != FURROW_OK) return status;
  params.positions = furrow_reservoir_positions(b->sample);
  index_job_step(&b->job, "coarse", 0);
  status = furrow_index_train(b->index, furrow_reservoir_vectors(b->sample), own, &params, err);
  status = index_job_status(status, err);
  furrow_reservoir_free(b->sample);
  b->sample = NULL;
  return status;
}

/* ---- Adding --------------------------------------------------------------------------------------------- */

enum { TRIED = 256 };

/* Whether an id occurs twice: the index decodes only one of its vectors. */
static bool is_repeated(const int64_t *ids, size_t count, size_t i) {
  size_t found = 0;
  for (size_t k = 0; k < count; k++) found += ids[k] == ids[i];
  return found > 1;
}

/* Measures the quantization error of the first vectors, while the lists are short. */
static furrow_status measure_error(building *b, furrow_error *err) {
  const vector_block *block = &b->fill.block;
  const int64_t *ids = b->fill.ids.ids                                  ? b->fill.ids.ids
                       : furrow_vectors_reader_has_ids(b->fill.vectors) ? block->ids
                                                                        : NULL;
  float *decoded = malloc(block->d * sizeof *decoded);
  double error = 0, norm = 0;
  size_t tried = 0;
  furrow_status found = decoded ? FURROW_OK : fail_memory(err);
  for (size_t i = 0; found != FURROW_E_MEMORY && i < block->count && i < TRIED; i++) {
    const float *vector = block->values + i * block->d;
    if (vector_fault(vector, block->d) || (ids && is_repeated(ids, block->count, i))) continue;
    found = furrow_index_reconstruct(b->index, ids ? ids[i] : (int64_t)i, decoded, err);
    if (found != FURROW_OK) continue;
    for (size_t j = 0; j < block->d; j++) {
      error += (double)(vector[j] - decoded[j]) * (double)(vector[j] - decoded[j]);
      norm += (double)vector[j] * (double)vector[j];
    }
    tried++;
  }
  free(decoded);
  if (tried > 0) {
    b->error = error / (double)tried;
    b->norm = norm / (double)tried;
  }
  return found == FURROW_E_MEMORY ? found : FURROW_OK;
}

/* Sets the direct map before vectors are added, because an array is refused for ids that do not count from 0. */
static furrow_status set_up(building *b, furrow_error *err) {
  const build_values *values = b->values;
  furrow_status status = FURROW_OK;
  if (values->nprobe) status = furrow_index_set_nprobe(b->index, (uint64_t)values->nprobe, err);
  if (status == FURROW_OK && values->direct_map == FURROW_DIRECT_MAP_ARRAY)
    status = furrow_index_set_direct_map(b->index, values->direct_map, err);
  return status;
}

/* Whether search settings are found after the vectors were added. */
static bool tunes(const building *b) {
  return !b->values->nprobe && (b->chosen || b->values->recall > 0);
}

/* With --lists-file, lists that have a quarter of the memory become a part. Search settings and direct maps are found
 * in a whole index. */
static furrow_status begin_parts(building *b, furrow_error *err) {
  const build_values *values = b->values;
  if (!values->form.lists_file || values->direct_map != FURROW_DIRECT_MAP_NONE || tunes(b)) return FURROW_OK;
  return build_parts_begin(&b->parts, b->index, values->destination, values->fill.memory / 4, err);
}

static furrow_status add_vectors(building *b, furrow_error *err) {
  const uint64_t total = vector_source_total(b->fill.vectors);
  index_job_step(&b->job, "add", total);
  furrow_status status = fill_begin_names(&b->fill, b->index, NULL, err);
  if (status == FURROW_OK) status = begin_parts(b, err);
  if (status == FURROW_OK) status = fill_read(&b->fill, err);
  if (status == FURROW_OK && b->fill.block.count > 0) status = fill_add_block(&b->fill, b->index, err);
  if (status == FURROW_OK) status = index_job_update(&b->job, "add", b->fill.added + b->fill.skipped, total, err);
  /* decoded vectors of unit length cannot be compared with the vectors of the file */
  if (status == FURROW_OK && !scales_vectors(b->index) && ranks_number() == 0) status = measure_error(b, err);
  if (status == FURROW_OK) status = fill_add_all(&b->fill, &b->index, &b->parts, &b->job, err);
  status = ranks_all_ok(status, err);
  uint64_t before;
  if (status == FURROW_OK) status = ranks_offset(b->fill.added, &before, &b->added, err);
  if (status == FURROW_OK) status = ranks_offset(b->fill.skipped, &before, &b->left_out, err);
  if (status == FURROW_OK) status = fill_finish_names(&b->fill, &b->names, err);
  return ranks_all_ok(status, err);
}

/* Whether searches find all: the index compares a query with the vectors themselves. */
static bool is_exact(const furrow_index *index) {
  furrow_index_info info;
  furrow_transform_info t;
  furrow_index_info_init(&info);
  furrow_transform_info_init(&t);
  furrow_index_get_info(index, &info);
  if (info.kind == FURROW_INDEX_FLAT) return true;
  if (info.kind != FURROW_INDEX_ID_MAP && info.kind != FURROW_INDEX_TRANSFORM) return false;
  for (size_t i = 0; furrow_index_get_transform_info(index, i, &t, NULL) == FURROW_OK; i++)
    if (strcmp(t.fourcc, "VNrm") != 0) return false;
  return is_exact(furrow_index_child(index, 0));
}

/* Whether the recall can be measured, which one process does. */
static bool is_measurable(const building *b) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(b->index, &info);
  return !is_exact(b->index) && !b->empty && !b->values->shards && ranks_count() == 1 && info.ntotal > 0 &&
         (info.metric == FURROW_METRIC_L2 || info.metric == FURROW_METRIC_IP);
}

/* A recall that was asked for, but would not be measured, is refused before the work. */
static furrow_status check_measurable(const building *b, furrow_error *err) {
  const build_values *values = b->values;
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(b->index, &info);
  if (values->recall == 0 || !tunes(b) || is_exact(b->index)) return FURROW_OK;
  if (values->shards || ranks_count() > 1)
    fail(err, FURROW_E_ARGUMENT, "--recall cannot be used with --shards or several processes: one process measures it");
  else if (b->empty)
    fail(err, FURROW_E_ARGUMENT, "--recall cannot be used without vectors: --base or --from-model");
  else if (info.metric != FURROW_METRIC_L2 && info.metric != FURROW_METRIC_IP)
    fail(err, FURROW_E_ARGUMENT, "--recall cannot be used with the metric %s",
         furrow_distance_metric_name(info.metric));
  else
    return FURROW_OK;
  return add_hint(err, "--nprobe sets the number of lists; 'furrow index recall' measures what searches find");
}

static furrow_status tune(building *b, furrow_error *err) {
  const build_values *values = b->values;
  const furrow_index *ivf = furrow_index_ivf(b->index);
  furrow_index_tuning_init(&b->tuning);
  if (!tunes(b)) return FURROW_OK;
  if (is_measurable(b)) {
    const double recall = values->recall > 0 ? values->recall : 0.95;
    const furrow_status status = build_tune(b->index, &b->fill, values->queries, recall, &b->job, &b->tuning, err);
    if (status == FURROW_OK && !b->tuning.reached)
      print_note(values->fill.quiet, "searches find at most a share of %.3f, less than --recall", b->tuning.recall);
    return status;
  }
  if (!ivf) return FURROW_OK;
  furrow_index_info lists;
  furrow_index_info_init(&lists);
  furrow_index_get_info(ivf, &lists);
  const uint64_t nprobe = furrow_default_nprobe(lists.nlist);
  if (ranks_number() == 0 && !b->empty)
    print_note(values->fill.quiet, "searches probe %" PRIu64 " of %" PRIu64 " lists; their recall was not measured",
               nprobe, lists.nlist);
  return furrow_index_set_nprobe(b->index, nprobe, err);
}

static void save_params(const build_values *values, furrow_index_save_params *params) {
  furrow_index_save_params_init(params);
  params->overwrite = values->force;
  params->compat = values->form.compat;
  params->lists_file = values->form.lists_file;
  params->card = true;
  params->unique_ids = !values->fill.repeated_ids;
}

/* Rank 0 has only its own vectors, and parts are several indexes: for the report it loads the file that was written. */
static furrow_status load_written(building *b, furrow_error *err) {
  furrow_index_load_params params;
  furrow_index *written = NULL;
  furrow_index_load_params_init(&params);
  params.memory_map = true;
  furrow_status status = furrow_index_load(&written, b->values->destination, &params, err);
  if (status != FURROW_OK) return status;
  furrow_index_free(b->index);
  b->index = written;
  return FURROW_OK;
}

/* Rank 0 gets the ids of all processes. Ids that the index counts are shifted as in the file that will be written. */
static furrow_status collect_ids(const building *b, id_list *ids, furrow_error *err) {
  furrow_index_info info;
  uint64_t before = 0, total;
  void *all = NULL;
  size_t size = 0;
  furrow_status status = build_parts_ids(&b->parts, ids, err);
  if (status == FURROW_OK) status = id_list_add(ids, b->index, err);
  if (ranks_count() == 1) return status;
  status = ranks_all_ok(status, err);
  furrow_index_info_init(&info);
  furrow_index_get_info(b->index, &info);
  if (status == FURROW_OK) status = ranks_offset((uint64_t)info.ntotal, &before, &total, err);
  if (!fill_counts_itself(b->index)) before = 0;
  for (size_t i = 0; i < ids->count; i++) ids->ids[i] += (int64_t)before;
  if (status == FURROW_OK) status = ranks_collect(ids->ids, ids->count * sizeof *ids->ids, &all, &size, err);
  id_list_clear(ids);
  *ids = (id_list){.ids = all, .count = all ? size / sizeof *ids->ids : 0};
  return status;
}

/* Rank 0 joins the table with the ids of all processes. */
static furrow_status join_attributes(building *b, furrow_error *err) {
  const attribute_values *values = &b->values->attributes;
  id_list ids = {0};
  if (!values->path) return FURROW_OK;
  furrow_status status = collect_ids(b, &ids, err);
  if (status == FURROW_OK && ranks_number() == 0)
    status = attribute_source_join_ids(&b->table, values, &b->attributes, ids.ids, ids.count, b->names, err);
  id_list_clear(&ids);
  return ranks_all_ok(status, err);
}

static furrow_status write_index(building *b, furrow_error *err) {
  furrow_index_save_params params;
  const build_values *values = b->values;
  furrow_status status = FURROW_OK;
  if (values->direct_map == FURROW_DIRECT_MAP_HASHTABLE)
    status = furrow_index_set_direct_map(b->index, values->direct_map, err);
  if (status == FURROW_OK) status = interrupt_check(err);
  status = ranks_all_ok(status, err);
  index_job_step(&b->job, "save", 0);
  save_params(values, &params);
  params.comm = ranks_comm();
  if (status == FURROW_OK) status = join_attributes(b, err);
  params.names = b->names;
  params.attributes = b->attributes;
  if (status != FURROW_OK) return status;
  if (values->shards)
    return explain_repeated(furrow_index_save_shards(b->index, values->destination, &params, err), err);
  const bool parts = b->parts.count > 0;
  status = parts ? build_parts_save(&b->parts, b->index, &params, err)
                 : furrow_index_save(b->index, values->destination, &params, err);
  status = explain_repeated(status, err);
  return status == FURROW_OK && (parts || ranks_count() > 1) && ranks_number() == 0 ? load_written(b, err) : status;
}

/* ---- Report --------------------------------------------------------------------------------------------- */

static furrow_status report_build(building *b, output *out, furrow_error *err) {
  const furrow_index *ivf = furrow_index_ivf(b->index);
  furrow_index_info info, lists;
  furrow_index_info_init(&info);
  furrow_index_info_init(&lists);
  furrow_list_stats stats;
  furrow_list_stats_init(&stats);
  uint64_t size = 0;
  char *factory = NULL;
  report r;
  furrow_index_save_params params;
  save_params(b->values, &params);
  furrow_status status = furrow_index_file_size(b->index, &params, &size, err);
  if (status == FURROW_OK) status = furrow_index_factory(b->index, &factory, err);
  if (status != FURROW_OK) return status;
  furrow_index_get_info(b->index, &info);
  furrow_index_get_info(ivf ? ivf : b->index, &lists);
  report_start(&r, out, b->values->json);
  report_written(&r, b->values->destination);
  if (b->values->shards) report_u64(&r, "shards", ranks_count());
  report_text(&r, "kind", furrow_index_kind_name(info.kind));
  report_text(&r, "factory", factory);
  furrow_free(factory);
  report_i64(&r, "dimension", info.d);
  report_text(&r, "metric", furrow_distance_metric_name(info.metric));
  report_u64(&r, "trained with", b->trained_on);
  report_u64(&r, "vectors", b->added);
  if (b->left_out || r.json) report_u64(&r, "left out", b->left_out);
  if (b->names) report_u64(&r, "names", furrow_id_names_count(b->names));
  attributes_report(&r, b->attributes, &b->table);
  if (lists.nlist > 0 || r.json) report_u64(&r, "lists", lists.nlist);
  if (b->tuning.recall > 0) {
    report_f64(&r, "recall", b->tuning.recall);
    if (b->tuning.nprobe > 0) report_u64(&r, "nprobe", b->tuning.nprobe);
    if (b->tuning.ef_search > 0) report_u64(&r, "ef search", (uint64_t)b->tuning.ef_search);
    if (b->tuning.k_factor > 0) report_f64(&r, "k factor", (double)b->tuning.k_factor);
  }
  if (ivf && furrow_index_get_list_stats(ivf, &stats, NULL) == FURROW_OK && (stats.stored > 0 || r.json))
    report_f64(&r, "imbalance", stats.imbalance);
  report_u64(&r, b->values->shards ? "bytes of the first shard" : "bytes", size);
  index_lists_report(&r, b->values->form.lists_file);
  if (!isnan(b->error)) {
    report_f64(&r, "quantization error", b->error);
    if (r.json) report_f64(&r, "relative error", b->norm > 0 ? b->error / b->norm : NAN);
    report_line(&r, "relative error", "%.2f %% of the square norm", 100 * b->error / b->norm);
  }
  const double seconds = index_job_step_seconds(&b->job, "add");
  if (r.json) report_f64(&r, "vectors per second", seconds > 0 ? (double)b->added / seconds : NAN);
  if (seconds > 0) report_line(&r, "added", "%.0f vectors/s", (double)b->added / seconds);
  index_job_report(&b->job, &r);
  report_finish(&r);
  return FURROW_OK;
}

/* ---- Command -------------------------------------------------------------------------------------------- */

/* Refuses standard input before anything is opened: a rank would wait for it without end. */
static furrow_status check_input(const char *path, furrow_error *err) {
  if (!path || strcmp(path, "-") != 0 || ranks_count() == 1) return FURROW_OK;
  fail(err, FURROW_E_ARGUMENT, "several processes cannot read standard input");
  return add_hint(err, "name a file that all processes can read: each reads its own part");
}

/* Whether the kind of the index is to be chosen: the options name nothing but its metric. */
static bool is_chosen(const build_values *values) {
  const spec_values *s = &values->spec;
  return !s->factory && s->nlist == 0 && s->m == SPEC_NO_M && !s->nbits && !s->hnsw && !s->opq && !s->opq_dim &&
         !s->no_residual && !s->refine_flat && !s->refine_m && !s->refine_nbits && s->k_factor == 0 &&
         !s->ef_construction;
}

static furrow_status check_build_values(const build_values *values, furrow_error *err) {
  const fill_values *fill = &values->fill;
  if (strcmp(values->destination, "-") == 0)
    return fail(err, FURROW_E_ARGUMENT, "an index cannot be written to standard output");
  if (fill->base && strcmp(fill->base, "-") == 0 && !values->train)
    return fail(err, FURROW_E_ARGUMENT, "standard input cannot be read twice"),
           add_hint(err, "name the training vectors with --train FILE");
  if (fill->ids && !fill->base && !fill->model)
    return fail(err, FURROW_E_ARGUMENT, "--ids needs --base or --from-model");
  if (fill->names && !fill->base && !fill->model)
    return fail(err, FURROW_E_ARGUMENT, "--names needs --base or --from-model");
  if (values->shards && values->direct_map == FURROW_DIRECT_MAP_ARRAY)
    return fail(err, FURROW_E_ARGUMENT, "--direct-map array cannot be used with --shards: ids of a shard have gaps");
  if (values->form.lists_file && (values->shards || ranks_count() > 1))
    return fail(err, FURROW_E_ARGUMENT, "--lists-file cannot be used with --shards or several processes");
  if (values->shards && values->spec.refine_flat && values->spec.refine_m > 0)
    return fail(err, FURROW_E_ARGUMENT, "--shards takes one of --refine-flat and --refine-m");
  if (values->direct_map == FURROW_DIRECT_MAP_ARRAY && ranks_count() > 1 && (fill->ids || fill->model))
    return fail(err, FURROW_E_ARGUMENT, "--direct-map array cannot be used with given ids in several processes"),
           add_hint(err, "--direct-map hash accepts any ids");
  if (values->attributes.path && !fill->base && !fill->model)
    return fail(err, FURROW_E_ARGUMENT, "--attributes needs --base or --from-model");
  if (values->recall < 0 || values->recall > 1)
    return fail(err, FURROW_E_ARGUMENT, "--recall must be above 0 and at most 1");
  if (values->queries && !is_chosen(values) && values->recall == 0)
    return fail(err, FURROW_E_ARGUMENT, "--queries needs --recall");
  if (values->queries && (values->nprobe || values->shards || ranks_count() > 1))
    return fail(err, FURROW_E_ARGUMENT, "--queries cannot be used with --nprobe, --shards or several processes");
  if (values->max_bytes && !is_chosen(values))
    return fail(err, FURROW_E_ARGUMENT, "--max-bytes cannot be used with --factory or --nlist, which fix the size");
  furrow_status status = is_chosen(values) ? FURROW_OK : spec_check(&values->spec, err);
  const char *const inputs[] = {fill->base,  values->train,          values->queries, fill->model ? NULL : fill->ids,
                                fill->names, values->attributes.path};
  for (size_t i = 0; status == FURROW_OK && i < sizeof inputs / sizeof *inputs; i++) {
    status = check_input(inputs[i], err);
    if (status == FURROW_OK) status = written_check_apart(values->destination, inputs[i], err);
    if (status == FURROW_OK) status = index_names_check_apart(values->destination, inputs[i], err);
  }
  if (status == FURROW_OK) status = edit_check_lists_file(values->destination, values->form.lists_file, err);
  return status == FURROW_OK ? edit_check_target(values->destination, values->force, err) : status;
}

/* Chooses the factory string. */
static furrow_status choose(building *b, furrow_index_spec *spec, bool ids, furrow_error *err) {
  const uint64_t count = ranks_count() > 1 ? b->fill.total : furrow_vectors_reader_count(b->fill.vectors);
  furrow_index_wish wish;
  furrow_index_wish_init(&wish);
  furrow_index_selection_init(&b->selection);
  if (b->empty || count == FURROW_COUNT_UNKNOWN) {
    fail(err, FURROW_E_ARGUMENT, "an index cannot be chosen, because the number of vectors is unknown");
    return add_hint(err, "name the index with --factory");
  }
  wish.n = count;
  wish.d = spec->d;
  wish.metric = spec->metric;
  wish.normalize = spec->normalize;
  wish.ids = ids;
  wish.max_bytes = b->values->max_bytes;
  if (b->values->recall > 0) wish.recall = b->values->recall;
  const furrow_status status = furrow_index_choose(&wish, &b->selection, err);
  spec->factory = b->selection.factory;
  spec->normalize = false;
  return status;
}

static furrow_status create(building *b, furrow_error *err) {
  furrow_index_spec spec;
  spec_from_values(&b->values->spec, (int32_t)furrow_vectors_reader_dimension(b->fill.vectors), &spec);
  const bool ids = b->values->fill.ids || b->values->fill.model || b->fill.names.names || b->values->shards;
  b->chosen = is_chosen(b->values);
  if (b->chosen) {
    const furrow_status status = choose(b, &spec, ids, err);
    if (status != FURROW_OK) return status;
  }
  spec.id_map = ids && (spec.factory || spec.refine_flat || spec.refine_m > 0);
  return spec_create(&b->index, &spec, err);
}

/* Checks before the training whether the older Faiss can read the index, and whether it has lists for a data file;
 * E_STATE only means that it is not trained yet. */
static furrow_status check_form(const building *b, furrow_error *err) {
  furrow_index_save_params params;
  uint64_t size;
  if (!b->values->form.compat && !b->values->form.lists_file) return FURROW_OK;
  save_params(b->values, &params);
  furrow_status status = furrow_index_file_size(b->index, &params, &size, err);
  return status == FURROW_E_STATE ? FURROW_OK : status;
}

static furrow_status build_run(const void *values, output *out, furrow_error *err) {
  build_values own = *(const build_values *)values;
  building b = {.values = &own, .error = NAN};
  furrow_status status = check_build_values(b.values, err);
  if (status != FURROW_OK) return status;
  if (!own.train && !own.fill.base && !own.fill.model)
    return fail(err, FURROW_E_ARGUMENT, "one of --base, --from-model and --train is needed");
  b.empty = own.train && !own.fill.base && !own.fill.model;
  if (b.empty) {
    own.fill.base = own.train;
    own.train = NULL;
  }
  index_job_start(&b.job, b.values->fill.quiet || ranks_number() > 0);
  status = ranks_all_ok(fill_open(&b.fill, &b.values->fill, 0, err), err);
  if (status == FURROW_OK) status = fill_take_part(&b.fill, err);
  if (status == FURROW_OK && ranks_number() == 0)
    status = attribute_source_open(&b.table, &own.attributes, NULL, b.fill.names.names != NULL, err);
  if (status == FURROW_OK) status = create(&b, err);
  if (status == FURROW_OK) status = check_form(&b, err);
  if (status == FURROW_OK) status = check_measurable(&b, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = train(&b, err);
  if (status == FURROW_OK) status = set_up(&b, err);
  if (status == FURROW_OK && !b.empty) status = add_vectors(&b, err);
  if (status == FURROW_OK) status = tune(&b, err);
  if (status == FURROW_OK) status = write_index(&b, err);
  index_job_stop(&b.job);
  out->stored = status == FURROW_OK;
  if (status == FURROW_OK && ranks_number() == 0) status = report_build(&b, out, err);
  furrow_reservoir_free(b.sample);
  fill_close(&b.fill);
  furrow_id_names_free(b.names);
  furrow_attributes_free(b.attributes);
  attribute_source_clear(&b.table);
  build_parts_clear(&b.parts);
  furrow_index_free(b.index);
  return status;
}

const command index_build_command = {
    .name = "build",
    .summary = "train an index, fill it with vectors and write it",
    .example = "furrow index build --base base.fvecs --out items.index\n"
               "furrow index build --base base.fvecs --out items.index --recall 0.99 --max-bytes 2GiB\n"
               "furrow index build --base base.fvecs --out items.index --factory OPQ16,IVF1024,PQ16x4fs,RFlat\n"
               "furrow index build --base base.fvecs --out items.index --nlist 1024 --m 16\n"
               "furrow index build --base base.fbin --train learn.fbin --out items.index --nlist 4096 --m 32 --opq\n"
               "furrow index build --base films.npy --ids titles.txt --out films.index --nlist 64 --m 8\n"
               "mpirun -n 8 furrow index build --base base.fbin --out items.index --nlist 4096 --m 32\n"
               "furrow index build --from-model deepfm/embedding_embedding --out items.index --nlist 256 --m 4",
    .one_of = "--base FILE | --from-model FOLDER | --train FILE",
    .about =
        "Builds an index that Faiss can read. Without options about the index, the number and the dimension of the "
        "vectors choose one: flat vectors as long as comparing all of them is fast, then an IVFPQ index that is "
        "refined "
        "by the vectors. The settings of searches are then measured on some of the vectors, so that searches find the "
        "share --recall of the nearest, and are stored in the index. --factory names any index; --nlist and --m "
        "describe an IVFPQ index (IVF flat with --m 0). "
        "Vectors are read block by block; the "
        "index is in memory until the complete file is written, except for the lists of --lists-file. A good nlist is "
        "between sqrt(n) and 16 * sqrt(n). "
        "m must divide the dimension; with 8 bits it is also the size of a code in bytes.\n\nAn index stores ids "
        "that are numbers. If --ids is a text whose first line is not numbers, each line is the name of a vector; "
        "the ids then count from 0, and the names are stored next to the index, in INDEX.names. Copy or move both "
        "files together. The other commands use the names; Faiss ignores them. --attributes works "
        "the same way: a table with columns of numbers, texts, sets and times, which searches filter with --where. The "
        "types of the columns follow from their cells, and the report says them.\n\nUnder mpirun every process reads "
        "and encodes its own part of the vectors, all train together, and the file is written by all of them, "
        "with the vectors in the order of the input.",
    .groups = build_groups,
    .size = sizeof(build_values),
    .init = build_init,
    .run = build_run,
    .on_all_ranks = true,
};
