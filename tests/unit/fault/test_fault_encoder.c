/* tests/unit/fault/test_fault_encoder.c: the n-th allocation, read or open fails, for every n, while an encoder is
 * made, saved, loaded or used: it says so, leaks nothing, and what it gives is right. A program that ends while it
 * saves leaves the old encoder or the new one. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "furrow/io.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/failing_calls.h"
#include "support/own_dir.h"
#include "support/row_digest.h"

static const char schema_text[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\",\"min_count\":2},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\","
    "\"parts\":[\"hour\",\"age\"]},\"n\":{\"as\":\"number\",\"scale\":\"bins\",\"bins\":3},"
    "\"s\":{\"as\":\"set\",\"separator\":\"|\"},\"h\":{\"as\":\"category\",\"hash\":4},\"w\":{\"as\":\"text\"},"
    "\"genre\":{\"as\":\"category\"},\"price\":{\"as\":\"number\",\"scale\":\"standard\"}},"
    "\"tables\":{\"table.csv\":\"i\"},\"cross\":[{\"of\":[\"u\",\"t.hour\"],\"bits\":4}],\"history\":2}";

static furrow_schema *schema;
static furrow_encoder *encoder;
static uint64_t wanted;

/* ---- Jobs ---- */

static furrow_status build(void) {
  furrow_encoder *made = NULL;
  furrow_encoder_params params;
  furrow_encoder_params_init(&params);
  params.threads = 1;
  const furrow_status status = furrow_encoder_build(&made, "log.csv", schema, &params, NULL);
  assert_true((status == FURROW_OK) == (made != NULL));
  if (made) assert_int_equal(furrow_encoder_feature_count(made), furrow_encoder_feature_count(encoder));
  furrow_encoder_free(made);
  return status;
}

static furrow_status load(void) {
  furrow_encoder *made = NULL;
  const furrow_status status = furrow_encoder_load(&made, "kept", NULL);
  assert_true((status == FURROW_OK) == (made != NULL));
  furrow_encoder_free(made);
  return status;
}

static furrow_status save(void) {
  return furrow_encoder_save(encoder, "again", true, NULL);
}

/* Where nothing is yet. */
static furrow_status save_new(void) {
  const furrow_status status = furrow_encoder_save(encoder, "new", false, NULL);
  atomic_store(&alloc_countdown, -1);
  assert_int_equal(access("new", F_OK) == 0, status == FURROW_OK);
  if (status == FURROW_OK) assert_true(test_remove_dir("new"));
  return status;
}

static furrow_status name_uri(void) {
  char *uri = NULL;
  const furrow_status status = furrow_encoder_uri("log.csv?header=yes#cache", "a folder", &uri, NULL);
  assert_int_equal(status == FURROW_OK, uri != NULL);
  if (uri) assert_string_equal(uri, "log.csv?header=yes&format=table&encoder=a%20folder#cache");
  furrow_free(uri);
  return status;
}

static furrow_status save_in_memory(void) {
  return furrow_encoder_save(encoder, "memory://again", true, NULL);
}

static furrow_status read_rows(void) {
  furrow_parser *parser = NULL;
  furrow_parser_params params;
  uint64_t digest = 0;
  furrow_parser_params_init(&params);
  params.threads = 1;
  params.chunk_bytes = 100;
  furrow_status status = furrow_parser_open(&parser, "log.csv?format=table&encoder=kept&label=optional", &params, NULL);
  while (status == FURROW_OK && (status = furrow_parser_next(parser, NULL)) == FURROW_OK) {
    const furrow_rowblock *block = furrow_parser_value(parser);
    for (size_t i = 0; i < block->size; i++) {
      const furrow_row row = furrow_rowblock_row(block, i);
      digest_row(&digest, &row);
    }
  }
  furrow_parser_close(parser);
  if (status != FURROW_END) return status;
  if (wanted == 0) wanted = digest;
  assert_true(digest == wanted);
  return FURROW_OK;
}

static furrow_status push(void) {
  furrow_container *rows = NULL;
  const furrow_pair pairs[] = {{"u", "a"}, {"i", "m1"}, {"w", "some words"}, {"s", "p|q"}, {"y", "1"}};
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, NULL);
  if (status == FURROW_OK) status = furrow_encoder_push_event(encoder, pairs, 5, rows, NULL);
  if (status == FURROW_OK) assert_int_equal(furrow_container_size(rows), 1);
  furrow_container_free(rows);
  return status;
}

static furrow_status push_user(void) {
  furrow_container *rows = NULL;
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, NULL);
  if (status == FURROW_OK) status = furrow_encoder_push_side(encoder, FURROW_SIDE_USER, 2, rows, NULL);
  if (status == FURROW_OK) assert_int_equal(furrow_container_size(rows), 1);
  furrow_container_free(rows);
  return status;
}

/* ---- Faults ---- */

static void make(void) {
  assert_true(test_write_text("log.csv", "y,u,i,t,n,s,h,w\n1,a,m1,0,1,p|q,x,one two\n2,a,m2,5000,2,p,y,\n"
                                         "3,b,m1,5000,3,,,two\n4,a,m3,90000,4,q|r,z,\"thr\"\"ee\"\n"));
  assert_true(test_write_text("table.csv", "i,genre,price\nm1,drama,1\nm2,crime,2\n"));
  assert_int_equal(furrow_schema_parse(&schema, schema_text, sizeof schema_text - 1, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_build(&encoder, "log.csv", schema, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_save(encoder, "kept", true, NULL), FURROW_OK);
}

static void forget(void) {
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

/* Fails the 1st, 2nd … allocation of a job, until there is none left to fail. */
static void fail_each_allocation(furrow_status (*job)(void)) {
  assert_int_equal(job(), FURROW_OK); /* what is made once in a process, is made now */
  const long before = atomic_load(&alloc_live);
  long n = 0;
  do {
    alloc_fail_at(++n);
    const furrow_status status = job();
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    const bool told = status == FURROW_E_MEMORY || (job == save_new && status == FURROW_E_IO); /* by opendir */
    if (status != FURROW_OK && (!failed || !told)) /* OK: there was another way */
      fail_msg("allocation %ld: %s", n, furrow_status_name(status));
    assert_int_equal(atomic_load(&alloc_live), before);
    if (!failed) break;
  } while (n < 100000);
  assert_true(n > 3);
}

static void every_allocation(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  make();
  fail_each_allocation(build);
  fail_each_allocation(load);
  fail_each_allocation(read_rows);
  fail_each_allocation(push);
  fail_each_allocation(push_user);
  fail_each_allocation(save);
  fail_each_allocation(save_new);
  assert_int_equal(name_uri(), FURROW_OK);
  forget();
}

/* In memory, a file that is replaced is gone if the new one cannot be made: the next save makes it. */
static void every_allocation_in_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  make();
  assert_int_equal(save_in_memory(), FURROW_OK);
  for (long n = 1; n < 1000; n++) {
    alloc_fail_at(n);
    const furrow_status status = save_in_memory();
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    assert_true(status == FURROW_OK || (failed && status == FURROW_E_MEMORY));
    assert_int_equal(save_in_memory(), FURROW_OK);
    if (!failed) break;
  }
  forget();
}

static void every_read(void **state) {
  (void)state;
  furrow_status (*const jobs[])(void) = {build, load, read_rows};
  make();
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(jobs[i](), FURROW_OK);
    for (long n = 1; n < 1000; n++) {
      call_fail_at(n);
      const furrow_status status = jobs[i]();
      const bool failed = atomic_load(&call_failed);
      call_fail_at(0);
      assert_true(status == FURROW_OK || (failed && status == FURROW_E_IO));
      if (!failed) break;
    }
  }
  forget();
}

/* ---- A program that is killed while it saves ---- */

static long steps_left = -1; /* until the program is killed; below 0: it is not */

static void step(void) {
  if (steps_left >= 0 && steps_left-- == 0) raise(SIGKILL);
}

int fsync(int fd) {
  static int (*next)(int);
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  step();
  return next(fd);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  static int (*next)(int, const char *, int, const char *);
  if (!next) next = (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
  step();
  const int result = next(from_folder, from, to_folder, to);
  step();
  return result;
}

/* Replaces the encoder of a directory by another. Returns whether it was killed at its n-th step. */
static bool save_and_kill(const char *directory, long n) {
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    steps_left = n;
    _exit(furrow_encoder_save(encoder, directory, true, NULL) == FURROW_OK ? 0 : 1);
  }
  int code = 0;
  assert_int_equal(waitpid(child, &code, 0), child);
  assert_true(WIFSIGNALED(code) ? WTERMSIG(code) == SIGKILL : WEXITSTATUS(code) == 0);
  return WIFSIGNALED(code);
}

/* What a directory has after the other encoder in it was replaced, and that was killed. */
enum { OLD, NONE, NEW };

static unsigned find_stage(const char *directory, const furrow_encoder *other) {
  furrow_encoder *loaded = NULL;
  const furrow_status status = furrow_encoder_load(&loaded, directory, NULL);
  if (status != FURROW_OK) {
    assert_int_equal(status, FURROW_E_NOT_FOUND);
    return NONE;
  }
  const uint64_t features = furrow_encoder_feature_count(loaded);
  furrow_encoder_free(loaded);
  if (features == furrow_encoder_feature_count(other)) return OLD;
  assert_int_equal(features, furrow_encoder_feature_count(encoder));
  return NEW;
}

/* Which stages are seen when the n-th step is the last, for every n; they come in their order. */
static void kill_at_each_step(const char *directory, bool seen[3]) {
  static const char other_text[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\"}}}";
  furrow_schema *other_schema = NULL;
  furrow_encoder *other = NULL;
  unsigned stage = OLD;
  bool killed = true;
  make();
  assert_int_equal(furrow_schema_parse(&other_schema, other_text, sizeof other_text - 1, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_build(&other, "log.csv", other_schema, NULL, NULL), FURROW_OK);
  for (long n = 0; killed; n++) {
    assert_int_equal(furrow_encoder_save(other, directory, true, NULL), FURROW_OK);
    killed = save_and_kill(directory, n);
    const unsigned now = find_stage(directory, other);
    assert_true(now >= stage); /* never back */
    stage = now;
    seen[now] = true;
  }
  furrow_encoder_free(other);
  furrow_schema_free(other_schema);
  forget();
}

static void killed_save(void **state) {
  (void)state;
  bool seen[3] = {false};
  kill_at_each_step("killed", seen);
  assert_true(seen[OLD] && !seen[NONE] && seen[NEW]);
}

/* A directory with other files is not replaced as a whole. */
static void killed_save_beside_others(void **state) {
  (void)state;
  bool seen[3] = {false};
  assert_int_equal(mkdir("killed", 0777), 0);
  fclose(fopen("killed/notes", "w"));
  kill_at_each_step("killed", seen);
  assert_true(seen[OLD] && seen[NEW]);
  assert_int_equal(access("killed/notes", F_OK), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_allocation, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(every_allocation_in_memory, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(every_read, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(killed_save, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(killed_save_beside_others, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
