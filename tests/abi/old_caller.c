/* tests/abi/old_caller.c: a program that was compiled with older headers runs with this library.
 *
 * Structs that can grow are declared here as an older header had them: their first fields. Each test calls the library
 * with such a struct through a cast. It lies at the end of a page, and the page behind it cannot be touched, so a field
 * that the library reads or writes beyond the caller's size ends the test with a segmentation fault.
 *
 * A new struct is a typedef of its first fields, `OLD(name)` for one of them, and a call whose result shows that the
 * fields which are not there had their defaults. These typedefs never change: they are what programs were compiled
 * with. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/params.h"
#include "furrow/furrow.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

/* ---- Structs at the end of a page ----------------------------------------------------------------------- */

enum { CANARY = 0xa5 };

static unsigned char *page;
static size_t page_size, used; /* used: by the struct, at the end of the page */

static int map_page(void **state) {
  (void)state;
  page_size = (size_t)sysconf(_SC_PAGESIZE);
  page = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || mprotect(page + page_size, page_size, PROT_NONE) != 0) return -1;
  memset(page, CANARY, page_size);
  used = 0;
  return 0;
}

/* Bytes before the struct are not the library's either. */
static int unmap_page(void **state) {
  (void)state;
  for (size_t i = 0; i < page_size - used; i++)
    if (page[i] != CANARY) return -1;
  return munmap(page, 2 * page_size);
}

/* A struct of an older header as its _init left it: zeros and its size. One for each test. */
static void *old_struct(size_t size) {
  assert_int_equal(used, 0);
  used = size;
  void *start = memset(page + page_size - size, 0, size);
  return memcpy(start, &size, sizeof size);
}
#define OLD(type) ((type *)old_struct(sizeof(type)))

/* ---- What a struct of the library does ------------------------------------------------------------------ */

typedef struct example_params {
  size_t size;
  uint64_t first;
  double added; /* 2.5 */
} example_params;

typedef struct example_info {
  size_t size;
  uint64_t first;
  double added;
} example_info;

/* An entry point as they all are: reads the params, fills in the info. */
static furrow_status example_run(const example_params *params, example_info *info, furrow_error *err) {
  example_params p = {.size = sizeof p, .added = 2.5};
  FW_TRY(FW_PARAMS_READ(&p, params, example_params, err));
  const example_info full = {.first = p.first, .added = p.added};
  fw_info_write(info, &full, sizeof full);
  return FURROW_OK;
}

typedef struct old_example {
  size_t size;
  uint64_t first;
} old_example;

static void example_params_end_early(void **state) {
  (void)state;
  old_example *params = OLD(old_example);
  example_info info = {.size = sizeof info};
  params->first = 7;
  assert_int_equal(example_run((const example_params *)params, &info, NULL), FURROW_OK);
  assert_int_equal(info.first, 7);
  assert_true(info.added == 2.5);
}

static void example_info_ends_early(void **state) {
  (void)state;
  old_example *info = OLD(old_example);
  const example_params params = {sizeof params, 7, 1};
  assert_int_equal(example_run(&params, (example_info *)info, NULL), FURROW_OK);
  assert_int_equal(info->first, 7);
  assert_int_equal(info->size, sizeof *info);
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static void write_rows(char path[TEST_PATH], char dir[TEST_PATH], const char *text) {
  assert_true(test_make_dir(dir));
  test_path(path, dir, "rows");
  assert_true(test_write_text(path, text));
}

typedef struct old_parser_params {
  size_t size;
  const char *format;
  uint32_t part, nparts;
} old_parser_params;

/* Without its later fields: keys are u32, and a row that does not fit ends the reading. */
static void parser_params_end_early(void **state) {
  (void)state;
  char dir[TEST_PATH], path[TEST_PATH];
  write_rows(path, dir, "1 1:0.5 3:2\n0 2:1.5\n1 4294967296:1\n");
  old_parser_params *params = OLD(old_parser_params);
  params->format = "libsvm";
  params->nparts = 1;
  furrow_parser *parser = NULL;
  furrow_error err;
  assert_int_equal(furrow_parser_open(&parser, path, (const furrow_parser_params *)params, &err), FURROW_OK);
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK) status = furrow_parser_next(parser, &err);
  assert_int_equal(status, FURROW_E_RANGE);
  assert_int_equal(err.line, 3);
  furrow_parser_close(parser);
  params->size = 0;
  assert_int_equal(furrow_parser_open(&parser, path, (const furrow_parser_params *)params, &err), FURROW_E_ARGUMENT);
  assert_true(test_remove_dir(dir));
}

typedef struct old_parser_stats {
  size_t size;
  uint64_t rows, features;
} old_parser_stats;

static void parser_stats_end_early(void **state) {
  (void)state;
  char dir[TEST_PATH], path[TEST_PATH];
  write_rows(path, dir, "1 1:0.5 3:2\n0 2:1.5\n");
  old_parser_stats *stats = OLD(old_parser_stats);
  furrow_parser *parser = NULL;
  assert_int_equal(furrow_parser_open(&parser, path, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
  furrow_parser_get_stats(parser, (furrow_parser_stats *)stats);
  assert_int_equal(stats->rows, 2);
  assert_int_equal(stats->features, 3);
  furrow_parser_close(parser);
  assert_true(test_remove_dir(dir));
}

typedef struct old_rows_writer_params {
  size_t size;
  const char *format;
} old_rows_writer_params;

/* Without its later fields: a file that exists is refused, indexes are written as they are. */
static void rows_writer_params_end_early(void **state) {
  (void)state;
  char dir[TEST_PATH], path[TEST_PATH];
  write_rows(path, dir, "");
  old_rows_writer_params *params = OLD(old_rows_writer_params);
  params->format = "libsvm";
  furrow_rows_writer *writer = NULL;
  furrow_status status = furrow_rows_writer_open(&writer, path, (const furrow_rows_writer_params *)params, NULL);
  if (status == FURROW_OK) status = furrow_rows_writer_commit(writer, NULL);
  furrow_rows_writer_close(writer);
  assert_int_equal(status, FURROW_E_EXISTS);
  assert_true(test_remove_dir(dir));
}

/* ---- Learning ------------------------------------------------------------------------------------------- */

typedef struct old_trainer_params {
  size_t size;
  unsigned threads;
} old_trainer_params;

/* Without its later fields: a new model is trained, not an existing one. */
static void trainer_params_end_early(void **state) {
  (void)state;
  old_trainer_params *params = OLD(old_trainer_params);
  params->threads = 1;
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "lr", NULL), FURROW_OK);
  assert_int_equal(furrow_trainer_create(&trainer, conf, (const furrow_trainer_params *)params, NULL), FURROW_OK);
  furrow_trainer_free(trainer);
  params->size = 0;
  assert_int_equal(furrow_trainer_create(&trainer, conf, (const furrow_trainer_params *)params, NULL),
                   FURROW_E_ARGUMENT);
  furrow_learn_conf_free(conf);
}

/* ---- Indexes -------------------------------------------------------------------------------------------- */

enum { D = 4, N = 256 };

static furrow_index *make_index(void) {
  static float vectors[N * D];
  furrow_index *index = NULL;
  furrow_index_spec spec;
  furrow_index_spec_init(&spec);
  spec.d = D;
  spec.nlist = 4;
  for (size_t i = 0; i < N * D; i++) vectors[i] = (float)(i * 2654435761U % 1000) / 1000;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  assert_int_equal(furrow_index_train(index, vectors, N, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_add(index, vectors, N, NULL, NULL, NULL), FURROW_OK);
  return index;
}

typedef struct old_index_info {
  size_t size;
  furrow_index_kind kind;
  char fourcc[5];
  int32_t d;
  int64_t ntotal;
} old_index_info;

static void index_info_ends_early(void **state) {
  (void)state;
  old_index_info *info = OLD(old_index_info);
  furrow_index *index = make_index();
  furrow_index_get_info(index, (furrow_index_info *)info);
  assert_int_equal(info->kind, FURROW_INDEX_IVF_FLAT);
  assert_int_equal(info->d, D);
  assert_int_equal(info->ntotal, N);
  furrow_index_free(index);
}

typedef struct old_search_params {
  size_t size;
  uint64_t nprobe;
} old_search_params;

/* Without its later fields: no limit of codes, no filter. */
static void search_params_end_early(void **state) {
  (void)state;
  old_search_params *params = OLD(old_search_params);
  static const float query[D] = {0.5F, 0.5F, 0.5F, 0.5F};
  float distances[N];
  int64_t ids[N];
  furrow_index *index = make_index();
  furrow_searcher *searcher = NULL;
  params->nprobe = 4;
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  assert_int_equal(
      furrow_searcher_search(searcher, query, 1, N, (const furrow_search_params *)params, distances, ids, NULL),
      FURROW_OK);
  assert_true(ids[N - 1] >= 0); /* every vector was found */
  furrow_searcher_free(searcher);
  furrow_index_free(index);
}

/* ---- Matrices ------------------------------------------------------------------------------------------- */

typedef struct old_matrix_spec {
  size_t size;
  int32_t matrix_id, row_type;
  const char *name, *format;
  int32_t rows, hash_parts;
  int64_t cols;
} old_matrix_spec;

/* Without its later fields: one server, range partitions of Angel's size, all rows saved. */
static void matrix_spec_ends_early(void **state) {
  (void)state;
  old_matrix_spec *spec = OLD(old_matrix_spec);
  furrow_matrix_meta *meta = NULL;
  spec->name = "weight";
  spec->row_type = -1;
  spec->rows = 2;
  spec->cols = 1000000;
  assert_int_equal(furrow_matrix_plan(&meta, (const furrow_matrix_spec *)spec, NULL), FURROW_OK);
  assert_int_equal(meta->part_count, 4);
  assert_int_equal(meta->parts[0].row_count, 2);
  furrow_matrix_meta_free(meta);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, map_page, unmap_page)

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(example_params_end_early), CASE(example_info_ends_early),      CASE(parser_params_end_early),
      CASE(parser_stats_end_early),   CASE(rows_writer_params_end_early), CASE(trainer_params_end_early),
      CASE(index_info_ends_early),    CASE(search_params_end_early),      CASE(matrix_spec_ends_early),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
