/* tests/unit/vector/test_mapped_file.c: another program shortens a file that is mapped: calls fail, the process goes
 * on, and SIGBUS of the host stays the host's. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "furrow/vector_data.h"
#include "io/file_map.h"
#include "support/index_check.h"
#include "support/own_dir.h"

enum { D = 16, COUNT = 6000, NLIST = 8, K = 5, QUERIES = 4, SEARCHERS = 3, TRIES = 16, MOST_SEARCHES = 100000 };

static float *vectors;
static size_t file_size;

/* ---- An index ------------------------------------------------------------------------------------------- */

static float number(size_t i) {
  return (float)((i * 2654435761u) >> 8 & 0xffff) / 65536.0f;
}

static furrow_index *make_index(uint64_t m) {
  furrow_index_spec spec;
  furrow_index *index = NULL;
  furrow_index_spec_init(&spec);
  spec.d = D;
  spec.nlist = NLIST;
  spec.m = m;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  assert_int_equal(furrow_index_train(index, vectors, COUNT, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_add(index, vectors, COUNT, NULL, NULL, NULL), FURROW_OK);
  return index;
}

static void save_index(const char *path, uint64_t m) {
  furrow_index *index = make_index(m);
  furrow_index_save_params params;
  struct stat info;
  furrow_index_save_params_init(&params);
  params.overwrite = true;
  assert_int_equal(furrow_index_save(index, path, &params, NULL), FURROW_OK);
  furrow_index_free(index);
  assert_int_equal(stat(path, &info), 0);
  file_size = (size_t)info.st_size;
}

/* cmocka takes SIGBUS for each test: ours is put back, as by a host that leaves it to the library. */
static struct sigaction library;

static furrow_index *load_mapped(const char *path) {
  furrow_index_load_params params;
  furrow_index *index = NULL;
  furrow_index_load_params_init(&params);
  params.memory_map = true;
  if (library.sa_sigaction) sigaction(SIGBUS, &library, NULL);
  assert_int_equal(furrow_index_load(&index, path, &params, NULL), FURROW_OK);
  return index;
}

static int make_vectors(void **state) {
  vectors = malloc(COUNT * D * sizeof *vectors);
  for (size_t i = 0; vectors && i < COUNT * D; i++) vectors[i] = number(i);
  return vectors ? enter_dir(state) : -1;
}

static int free_vectors(void **state) {
  free(vectors);
  return leave_dir(state);
}

static furrow_status search(const furrow_searcher *searcher, unsigned threads, float *distances, int64_t *ids,
                            furrow_error *err) {
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.nprobe = NLIST;
  params.threads = threads;
  return furrow_searcher_search(searcher, vectors, QUERIES, K, &params, distances, ids, err);
}

/* ---- Cut while it is searched ----------------------------------------------------------------------------- */

typedef struct searching {
  const furrow_searcher *searcher;
  const float *distances; /* the right ones */
  const int64_t *ids;
  unsigned threads;
  atomic_int *started, *wrong, *cut;
  furrow_status last;
  furrow_error error;
} searching;

/* Searches until it fails, and for a while after the file was cut. */
static void *search_on(void *context) {
  searching *s = context;
  float distances[QUERIES * K];
  int64_t ids[QUERIES * K];
  int after = 0;
  for (size_t i = 0; s->last == FURROW_OK && after < MOST_SEARCHES; i++) {
    after += atomic_load(s->cut);
    s->last = search(s->searcher, s->threads, distances, ids, &s->error);
    if (s->last == FURROW_OK &&
        (memcmp(distances, s->distances, sizeof distances) != 0 || memcmp(ids, s->ids, sizeof ids) != 0))
      atomic_fetch_add(s->wrong, 1);
    if (i == 0) atomic_fetch_add(s->started, 1);
  }
  return NULL;
}

static void cut_while_searching(const char *path, uint64_t m, size_t attempt) {
  float distances[QUERIES * K];
  int64_t ids[QUERIES * K];
  atomic_int started = 0, wrong = 0, cut = 0;
  searching all[SEARCHERS];
  pthread_t threads[SEARCHERS];
  furrow_searcher *searcher = NULL;
  save_index(path, m);
  furrow_index *index = load_mapped(path);
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  assert_int_equal(search(searcher, 1, distances, ids, NULL), FURROW_OK);
  for (unsigned i = 0; i < SEARCHERS; i++) {
    all[i] = (searching){searcher, distances, ids, i + 1, &started, &wrong, &cut, FURROW_OK, {0}};
    assert_int_equal(pthread_create(&threads[i], NULL, search_on, &all[i]), 0);
  }
  while (atomic_load(&started) < SEARCHERS) sched_yield();
  assert_int_equal(truncate(path, (off_t)(attempt == 2 ? file_size - 1 : file_size * attempt / TRIES)), 0);
  atomic_store(&cut, 1);
  for (unsigned i = 0; i < SEARCHERS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(all[i].last, FURROW_E_IO);
    assert_string_equal(all[i].error.file, path);
    assert_non_null(strstr(all[i].error.message, "shortened"));
  }
  assert_int_equal(wrong, 0);
  furrow_searcher_free(searcher);
  furrow_index_free(index);
}

static void test_cut_while_searching(void **state) {
  (void)state;
  for (size_t i = 0; i < TRIES; i++) cut_while_searching("cut.index", i % 2 ? 0 : 4, i);
}

/* ---- Cut before each call ------------------------------------------------------------------------------- */

static void test_last_page(void **state) {
  (void)state;
  save_index("a.index", 0);
  furrow_index *index = load_mapped("a.index");
  furrow_list_view list;
  assert_int_equal(furrow_index_list(index, 0, &list, NULL), FURROW_OK);
  assert_int_equal(truncate("a.index", (off_t)file_size - 1), 0); /* no signal comes: the page is still there */
  assert_int_equal(furrow_index_list(index, 0, &list, NULL), FURROW_E_IO);
  assert_int_equal(truncate("a.index", (off_t)file_size), 0); /* it grows again, but not with the bytes that it had */
  assert_int_equal(furrow_index_list(index, 0, &list, NULL), FURROW_E_IO);
  furrow_index_free(index);
}

static void no_finding(void *user, const furrow_index_finding *finding) {
  (void)finding;
  ++*(int *)user;
}

/* Whatever a call would read: it fails, and what it would write is not there. */
static void call_all(furrow_index *index, furrow_index *whole) {
  furrow_searcher *searcher = NULL;
  furrow_ids ids = {0};
  furrow_error err;
  const int64_t id = 3;
  float vector[D];
  furrow_index_save_params save;
  furrow_index_save_params_init(&save);
  save.unique_ids = true;
  assert_int_equal(furrow_index_reconstruct(index, 17, vector, &err), FURROW_E_IO);
  assert_string_equal(err.file, "a.index");
  assert_int_equal(furrow_index_reconstruct(index, COUNT + 9, vector, NULL), FURROW_E_IO); /* not E_NOT_FOUND */
  assert_int_equal(furrow_index_save(index, "b.index", NULL, NULL), FURROW_E_IO);
  assert_int_equal(furrow_index_save(index, "b.index", &save, NULL), FURROW_E_IO);
  assert_int_equal(furrow_index_save_shards(index, "b.index", NULL, NULL), FURROW_E_IO);
  assert_int_not_equal(access("b.index", F_OK), 0);
  assert_int_equal(furrow_index_get_ids(index, &ids, NULL), FURROW_E_IO);
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_E_IO);
  assert_null(searcher);
  assert_int_equal(furrow_index_next_id(index), -1);
  assert_int_equal(furrow_index_merge(whole, index, COUNT, NULL), FURROW_E_IO);
  assert_int_equal(furrow_index_add(index, vectors, 4, NULL, NULL, NULL), FURROW_E_IO);
  assert_int_equal(furrow_index_update(index, &id, vectors, 1, NULL), FURROW_E_IO);
  furrow_id_filter filter;
  furrow_id_filter_init(&filter);
  filter.first = 5;
  filter.end = 9;
  assert_int_equal(furrow_index_remove(index, &filter, NULL, NULL), FURROW_E_IO);
  assert_int_equal(furrow_index_set_direct_map(index, FURROW_DIRECT_MAP_HASHTABLE, NULL), FURROW_E_IO);
}

static void test_each_call(void **state) {
  (void)state;
  save_index("a.index", 4);
  furrow_index *index = load_mapped("a.index"), *whole = make_index(4);
  assert_int_equal(truncate("a.index", 4096), 0);
  call_all(index, whole);
  furrow_index_free(index);
  furrow_index_free(whole);
}

/* A file that is cut before it is mapped is one that is cut short, as ever. */
static void test_cut_before(void **state) {
  int findings = 0;
  furrow_index_load_params params;
  (void)state;
  furrow_index_load_params_init(&params);
  params.memory_map = true;
  save_index("a.index", 4);
  assert_int_equal(truncate("a.index", (off_t)file_size - 1), 0);
  assert_int_equal(furrow_index_verify("a.index", &params, no_finding, &findings, NULL), FURROW_E_FORMAT);
  assert_int_equal(findings, 1);
}

static void test_table_is_full(void **state) {
  static fw_file_map *maps[FW_FILE_MAPS_MOST + 1];
  fw_input *input = NULL;
  size_t count = 0;
  furrow_error err;
  (void)state;
  assert_true(test_write_file("small", "12345", 5));
  assert_int_equal(fw_input_open(&input, "small", NULL), FURROW_OK);
  while (fw_file_map_open(&maps[count], input, 5, "small", &err) == FURROW_OK) count++; /* or no descriptors are left */
  assert_in_range(count, 100, FW_FILE_MAPS_MOST);
  assert_int_equal(err.status, FURROW_E_IO);
  fw_file_map_close(maps[--count]);
  assert_int_equal(fw_file_map_open(&maps[count++], input, 5, "small", NULL), FURROW_OK);
  for (size_t i = 0; i < count; i++) assert_memory_equal(fw_file_map_bytes(maps[i]), "12345", 5);
  while (count > 0) fw_file_map_close(maps[--count]);
  fw_input_close(input);
}

/* ---- The host's own faults -------------------------------------------------------------------------------- */

static sigjmp_buf back;
static void *volatile fault_at;
static atomic_int host_calls;

static void on_host_fault(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)context;
  host_calls++;
  fault_at = info->si_addr;
  siglongjmp(back, 1);
}

/* A page that is not there, of a map that is not Furrow's. */
static volatile char *map_nothing(void) {
  const int fd = open("empty", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  return map == MAP_FAILED ? NULL : map;
}

/* Exit status: what went wrong; 0: nothing. */
static int host_with_handler(void) {
  float vector[D];
  const struct sigaction own = {.sa_sigaction = on_host_fault, .sa_flags = SA_SIGINFO};
  volatile char *nothing = map_nothing();
  sigaction(SIGBUS, &own, NULL);
  furrow_index *index = load_mapped("a.index");
  if (!nothing || truncate("a.index", 4096) != 0) return 2;
  for (volatile int i = 0; i < 3; i++) {
    if (sigsetjmp(back, 1) == 0) {
      (void)nothing[1];
      return 3;
    }
    if (host_calls != i + 1 || fault_at != nothing + 1) return 4;
    if (furrow_index_reconstruct(index, 17, vector, NULL) != FURROW_E_IO) return 5;
  }
  if (host_calls != 3) return 6;
  furrow_index_free(index);
  return 0;
}

static int host_dies(bool sent) {
  volatile char *nothing = map_nothing();
  furrow_index *index = load_mapped("a.index");
  if (!nothing) return 0;
  if (sent)
    raise(SIGBUS);
  else
    (void)nothing[0];
  furrow_index_free(index);
  return 0;
}

static int host_ignores(void) {
  signal(SIGBUS, SIG_IGN);
  furrow_index *index = load_mapped("a.index");
  raise(SIGBUS);
  furrow_index_free(index);
  return 7;
}

/* After a fork, both have a map and both are told. */
static int search_in_child(furrow_index *index) {
  float vector[D];
  if (truncate("a.index", 4096) != 0) return 2;
  return furrow_index_reconstruct(index, 17, vector, NULL) == FURROW_E_IO ? 0 : 3;
}

/* Programs of their own: the handler is installed once in a process, and cmocka installs others for each test. */
typedef enum host { HANDLER, DIES, DIES_SENT, IGNORES } host;

static int be_host(host kind) {
  switch (kind) {
  case HANDLER: return host_with_handler();
  case DIES: return host_dies(false);
  case DIES_SENT: return host_dies(true);
  default: return host_ignores();
  }
}

static int wait_for(pid_t child) {
  int status = 0;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static int run_host(host kind) {
  char number[] = {(char)('0' + (int)kind), 0}, name[] = "host";
  const pid_t child = fork();
  if (child == 0) {
    close(STDERR_FILENO); /* what a sanitizer says about a child that is meant to die */
    execv("/proc/self/exe", (char *[]){name, number, NULL});
    _exit(99);
  }
  return wait_for(child);
}

/* A sanitizer's handler exits with 1. */
static bool died(int status) {
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS || WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) == 1;
}

static void test_host(void **state) {
  (void)state;
  save_index("a.index", 4);
  assert_true(died(run_host(DIES)));
  assert_true(died(run_host(DIES_SENT)));
  assert_int_equal(WEXITSTATUS(run_host(IGNORES)), 7);
  const int status = run_host(HANDLER);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_fork(void **state) {
  float vector[D];
  (void)state;
  save_index("a.index", 4);
  furrow_index *index = load_mapped("a.index");
  const pid_t child = fork();
  if (child == 0) _exit(search_in_child(index));
  const int status = wait_for(child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(furrow_index_reconstruct(index, 17, vector, NULL), FURROW_E_IO);
  furrow_index_free(index);
}

static void install_first(void) {
  fw_input *input = NULL;
  fw_file_map *map = NULL;
  if (fw_input_open(&input, "/proc/self/exe", NULL) == FURROW_OK &&
      fw_file_map_open(&map, input, 1, "program", NULL) == FURROW_OK)
    sigaction(SIGBUS, NULL, &library);
  fw_file_map_close(map);
  fw_input_close(input);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_host),          cmocka_unit_test(test_fork),
      cmocka_unit_test(test_last_page),     cmocka_unit_test(test_each_call),
      cmocka_unit_test(test_cut_before),    cmocka_unit_test(test_cut_while_searching),
      cmocka_unit_test(test_table_is_full),
  };
  if (argc > 1) return be_host((host)(argv[1][0] - '0'));
  install_first();
  return cmocka_run_group_tests_name("mapped_file", tests, make_vectors, free_vectors);
}
