/* tests/unit/io/test_input_calls.c: files that are read where a system call fails or is interrupted, and where a file
 * system of the program's says what cannot be. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "call_rules.h"
#include "furrow/furrow.h"
#include "io/dir_names.h"
#include "io/file_map.h"
#include "io/file_system.h"
#include "io/fileset.h"
#include "io/input.h"

static int run_child(int (*work)(void)) {
  int code = -1;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) _exit(work());
  assert_int_equal(waitpid(child, &code, 0), child);
  return code;
}

/* ---- This machine --------------------------------------------------------------------------------------- */

static void opens_are_tried_again(void **state) {
  (void)state;
  static const int errnums[] = {EINTR, EWOULDBLOCK}; /* a signal; another process that has a lease */
  assert_true(test_write_text("x", "text"));
  for (size_t i = 0; i < 2; i++) {
    fw_input *input = NULL;
    char text[8] = "";
    size_t got = 0;
    fail_call("open", 1, errnums[i]);
    assert_int_equal(fw_input_open(&input, "x", NULL), FURROW_OK);
    end_rules();
    fail_call("read", 1, EINTR);
    assert_int_equal(fw_input_read_some(input, text, sizeof text, 0, &got, NULL), FURROW_OK);
    end_rules();
    assert_int_equal(got, 4);
    assert_string_equal(text, "text");
    fw_input_close(input);
  }
}

static void what_cannot_be_read_says_why(void **state) {
  (void)state;
  fw_input *input = NULL;
  furrow_error err;
  struct stat info;
  char text[8];
  size_t got = 77;
  assert_true(test_write_text("x", "text"));
  fail_call("open", 1, EMFILE);
  assert_int_equal(fw_input_open(&input, "x", &err), FURROW_E_IO);
  end_rules();
  assert_null(input);
  assert_non_null(strstr(err.message, "cannot open"));
  fail_call("stat", 1, EACCES);
  assert_int_equal(fw_path_stat("x", &info, &err), FURROW_E_IO);
  end_rules();
  assert_non_null(strstr(err.message, "cannot examine the file"));
  assert_int_equal(fw_input_open(&input, "x", NULL), FURROW_OK);
  fail_call("fstat", 1, EIO);
  assert_int_equal(fw_input_stat(input, &info, &err), FURROW_E_IO);
  end_rules();
  assert_string_equal(err.file, "x");
  fail_call("read", 1, EIO);
  assert_int_equal(fw_input_read_some(input, text, sizeof text, 3, &got, &err), FURROW_E_IO);
  end_rules();
  assert_int_equal(err.offset, 3);
  fail_call("pread", 1, EIO);
  assert_int_equal(fw_input_read_at(input, text, sizeof text, 2, &got, &err), FURROW_E_IO);
  end_rules();
  assert_int_equal(err.offset, 2);
  assert_int_equal(fw_input_read_at(input, text, 2, INT64_MAX, &got, &err), FURROW_E_IO);
  assert_int_equal(fw_input_read_at(input, text, 2, UINT64_MAX, &got, &err), FURROW_E_IO);
  assert_int_equal(got, 77);
  fw_input_close(input);
}

static void paths_of_other_systems(void **state) {
  (void)state;
  fw_input *input = NULL;
  fw_dir_names names = {0};
  struct stat info;
  furrow_error err;
  assert_int_equal(fw_path_stat("gone://x", &info, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.file, "gone://x");
  assert_int_equal(fw_input_open(&input, "gone://x", &err), FURROW_E_UNSUPPORTED);
  assert_int_equal(fw_dir_names_read(&names, "gone://x", NULL, NULL, &err), FURROW_E_UNSUPPORTED);
  assert_false(fw_path_is_local("gone://x"));
  assert_false(fw_path_is_local("memory://x"));
  assert_true(fw_path_is_local("x"));
  char path[200];
  memset(path, 'a', sizeof path);
  strcpy(path + 100, "://x"); /* what is shown of a long name is short */
  assert_int_equal(fw_path_stat(path, &info, &err), FURROW_E_UNSUPPORTED);
  assert_true(strlen(err.message) < 110);
  assert_non_null(strstr(err.message, ":// is not the name of a file system"));
}

/* A link that leads out of a folder, or nowhere. */
static void links_that_lead_out(void **state) {
  (void)state;
  assert_int_equal(mkdir("in", 0755) | mkdir("in/deep", 0755) | mkdir("inside", 0755), 0);
  assert_true(test_write_text("in/file", "x") && test_write_text("inside/file", "x"));
  assert_int_equal(symlink("file", "in/near") | symlink("../in/deep", "in/back") | symlink("../inside/file", "in/far"),
                   0);
  assert_int_equal(symlink("nowhere", "in/lost"), 0);
  assert_false(fw_path_leads_out("in/near", "in"));
  assert_false(fw_path_leads_out("in/back", "in"));
  assert_true(fw_path_leads_out("in/far", "in")); /* though its name begins alike */
  assert_true(fw_path_leads_out("in/lost", "in"));
  assert_true(fw_path_leads_out("in/near", "gone"));
  assert_false(fw_path_leads_out("in/far", "/"));
  assert_false(fw_path_leads_out("in/file", "inside")); /* no link */
  assert_false(fw_path_leads_out("in/none", "in"));
  assert_false(fw_path_leads_out("memory://x", "in"));
}

static void files_of_json_have_a_size(void **state) {
  (void)state;
  char *text = NULL;
  size_t size = 0;
  furrow_error err;
  assert_true(test_write_text("x", "{}"));
  assert_int_equal(fw_path_read_json(&text, &size, "x", &err), FURROW_OK);
  assert_int_equal(size, 2);
  assert_memory_equal(text, "{}", 2);
  furrow_free(text);
  text = NULL;
  assert_int_equal(truncate("x", (16 << 20) + 1), 0);
  assert_int_equal(fw_path_read_json(&text, &size, "x", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "too large for a file of JSON");
  assert_int_equal(fw_path_read_json(&text, &size, ".", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "that is not a regular file");
  assert_int_equal(fw_path_read_json(&text, &size, "gone", &err), FURROW_E_NOT_FOUND);
  assert_null(text);
}

static void names_are_synced_where_they_can_be(void **state) {
  (void)state;
  furrow_error err;
  assert_int_equal(mkdir("d", 0755), 0);
  assert_int_equal(fw_path_sync_names("d//", NULL), FURROW_OK); /* of the folder that has it */
  assert_int_equal(fw_path_sync_names("d/x", NULL), FURROW_OK);
  assert_int_equal(fw_path_sync_names("gone/x", &err), FURROW_E_IO);
  assert_string_equal(err.file, "gone/x");
  fail_call("fsync of a directory", 1, EINVAL);
  assert_int_equal(fw_path_sync_names("d/x", NULL), FURROW_OK);
  end_rules();
  fail_call("open", 1, EACCES);
  assert_int_equal(fw_path_sync_names("d/x", NULL), FURROW_OK);
  end_rules();
  fail_call("fsync of a directory", 1, EACCES);
  assert_int_equal(fw_path_sync_names("d/x", &err), FURROW_E_IO);
  end_rules();
  fail_call("fsync of a directory", 1, EIO);
  assert_int_equal(fw_path_sync_names("d/x", &err), FURROW_E_IO);
  end_rules();
  assert_non_null(strstr(err.message, "its directory cannot be synced to disk"));
}

/* ---- Processes that are to stop ------------------------------------------------------------------------- */

static int open_pipe_when_stopped(void) {
  fw_input *input = NULL;
  furrow_error err = {0};
  furrow_process_interrupt();
  if (fw_input_open(&input, "pipe", &err) != FURROW_E_CANCELLED || input) return 1;
  return strcmp(err.file, "pipe") == 0 && strcmp(err.message, "the process was asked to stop") == 0 ? 0 : 2;
}

static int read_pipe_when_stopped(void) {
  fw_input *input = NULL;
  furrow_error err = {0};
  char text[8];
  size_t got;
  const int writer = open("pipe", O_RDWR);
  if (writer < 0 || fw_input_open(&input, "pipe", &err) != FURROW_OK) return 1;
  furrow_process_interrupt();
  if (fw_input_read_some(input, text, sizeof text, 0, &got, &err) != FURROW_E_CANCELLED) return 2;
  fw_input_close(input);
  return strcmp(err.file, "pipe") == 0 ? 0 : 3;
}

static void a_process_that_is_to_stop_waits_for_nobody(void **state) {
  (void)state;
  assert_int_equal(mkfifo("pipe", 0600), 0);
  assert_int_equal(run_child(open_pipe_when_stopped), 0);
  assert_int_equal(run_child(read_pipe_when_stopped), 0);
}

/* ---- A file system that says what cannot be ------------------------------------------------------------- */

static struct {
  furrow_file_info info;
  size_t got;
  const char *names[4];
  furrow_status memory;
  int closed;
} said;

static furrow_status say_stat(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  (void)user, (void)path, (void)err;
  *info = said.info;
  return FURROW_OK;
}

static furrow_status say_open(void *user, const char *path, void **file, furrow_error *err) {
  (void)user, (void)path, (void)err;
  *file = &said;
  return FURROW_OK;
}

static furrow_status say_read(void *user, void *file, void *buffer, size_t length, uint64_t offset, size_t *got,
                              furrow_error *err) {
  (void)user, (void)file, (void)buffer, (void)length, (void)offset, (void)err;
  *got = said.got;
  return FURROW_OK;
}

static furrow_status say_memory(void *user, void *file, const void **bytes, size_t *length, furrow_error *err) {
  (void)user, (void)file, (void)bytes, (void)length, (void)err;
  return said.memory;
}

static furrow_status say_names(void *user, const char *path, furrow_file_name found, void *listing, furrow_error *err) {
  (void)user, (void)path;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < 4 && said.names[i] && status == FURROW_OK; i++) status = found(listing, said.names[i], err);
  return status;
}

static furrow_status say_large(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  (void)user, (void)err;
  const bool folder = strcmp(path, "d") == 0;
  *info =
      (furrow_file_info){.kind = folder ? FURROW_FILE_FOLDER : FURROW_FILE_REGULAR, .length = folder ? 0 : INT64_MAX};
  return FURROW_OK;
}

static void say_closed(void *user, void *file) {
  (void)user, (void)file;
  said.closed++;
}

static furrow_file_system liar(void) {
  furrow_file_system calls;
  furrow_file_system_init(&calls);
  calls.stat = say_stat;
  calls.open = say_open;
  calls.read_at = say_read;
  calls.close = say_closed;
  return calls;
}

static void sizes_and_counts_that_cannot_be(void **state) {
  (void)state;
  const furrow_file_system calls = liar();
  fw_input *input = NULL;
  struct stat info;
  furrow_error err;
  char text[8];
  size_t got = 77;
  assert_int_equal(furrow_file_system_register("liar", &calls, NULL), FURROW_OK);
  said.info = (furrow_file_info){.kind = FURROW_FILE_REGULAR, .length = (uint64_t)INT64_MAX + 1};
  assert_int_equal(fw_path_stat("liar://x", &info, &err), FURROW_E_RANGE);
  assert_string_equal(err.file, "liar://x");
  assert_string_equal(err.message, "the file system says that the file has 9223372036854775808 bytes");
  said.info.length = 5;
  assert_int_equal(fw_path_stat("liar://x", &info, &err), FURROW_OK);
  assert_true(S_ISREG(info.st_mode) && info.st_size == 5);
  said.info.kind = (furrow_file_kind)99;
  assert_int_equal(fw_path_stat("liar://x", &info, &err), FURROW_OK);
  assert_int_equal(info.st_mode, 0);
  assert_int_equal(fw_input_open(&input, "liar://x", &err), FURROW_OK);
  said.got = 9;
  assert_int_equal(fw_input_read_at(input, text, sizeof text, 3, &got, &err), FURROW_E_IO);
  assert_string_equal(err.message, "the file system reports 9 bytes, but only 8 were requested");
  assert_int_equal(fw_input_read_some(input, text, sizeof text, 3, &got, &err), FURROW_E_IO);
  assert_int_equal(got, 77);
  fw_input_close(input);
  assert_int_equal(said.closed, 1);
  assert_int_equal(furrow_file_system_unregister("liar", NULL), FURROW_OK);
}

static void memory_that_cannot_be_given(void **state) {
  (void)state;
  furrow_file_system calls = liar();
  fw_input *input = NULL;
  furrow_error err;
  calls.memory = say_memory;
  assert_int_equal(furrow_file_system_register("liar", &calls, NULL), FURROW_OK);
  said.closed = 0;
  said.memory = FURROW_E_STATE;
  assert_int_equal(fw_input_open(&input, "liar://x", &err), FURROW_E_STATE);
  assert_string_equal(err.file, "liar://x");
  assert_int_equal(said.closed, 1);
  assert_null(input);
  assert_int_equal(furrow_file_system_unregister("liar", NULL), FURROW_OK);
}

static void names_that_cannot_be(void **state) {
  (void)state;
  static const char *const bad[] = {"", "a/b"};
  furrow_file_system calls = liar();
  fw_dir_names names = {0};
  furrow_error err;
  assert_int_equal(furrow_file_system_register("liar", &calls, NULL), FURROW_OK);
  assert_int_equal(fw_dir_names_read(&names, "liar://d", NULL, NULL, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.message, "the file system has no directories");
  assert_int_equal(furrow_file_system_unregister("liar", NULL), FURROW_OK);
  calls.list = say_names;
  assert_int_equal(furrow_file_system_register("liar", &calls, NULL), FURROW_OK);
  for (size_t i = 0; i < 2; i++) {
    said.names[0] = bad[i];
    assert_int_equal(fw_dir_names_read(&names, "liar://d", NULL, NULL, &err), FURROW_E_FORMAT);
    assert_string_equal(err.message, "the file system lists a name with a slash");
    fw_dir_names_clear(&names);
  }
  memcpy(said.names, (const char *[]){"..", "b", ".", "b"}, sizeof said.names);
  assert_int_equal(fw_dir_names_read(&names, "liar://d", NULL, NULL, &err), FURROW_OK);
  assert_int_equal(names.count, 1);
  assert_string_equal(names.names[0], "b");
  fw_dir_names_clear(&names);
  assert_int_equal(furrow_file_system_unregister("liar", NULL), FURROW_OK);
}

/* Each file is as large as a file can be. */
static void sizes_have_a_sum(void **state) {
  (void)state;
  furrow_file_system calls = liar();
  fw_fileset set = {0};
  char *paths[] = {"liar://d"};
  furrow_error err;
  calls.stat = say_large;
  calls.list = say_names;
  said.got = 0;
  assert_int_equal(furrow_file_system_register("liar", &calls, NULL), FURROW_OK);
  memcpy(said.names, (const char *[]){"a", "b", NULL, NULL}, sizeof said.names);
  assert_int_equal(fw_fileset_open(&set, paths, 1, &err), FURROW_OK);
  assert_true(set.size == 2 * (uint64_t)INT64_MAX);
  fw_fileset_clear(&set);
  said.names[2] = "c";
  assert_int_equal(fw_fileset_open(&set, paths, 1, &err), FURROW_E_RANGE);
  assert_string_equal(err.message, "the sizes of the files add up to more than 2^64 bytes");
  fw_fileset_clear(&set);
  assert_int_equal(furrow_file_system_unregister("liar", NULL), FURROW_OK);
}

static void paths_that_stat_cannot_take(void **state) {
  (void)state;
  fw_fileset set = {0};
  furrow_error err;
  char path[400], *paths[] = {path};
  memset(path, 'a', sizeof path);
  path[300] = 0;
  assert_int_equal(fw_fileset_open(&set, paths, 1, &err), FURROW_E_IO); /* too long for a name */
  path[299] = '*';
  assert_int_equal(fw_fileset_open(&set, paths, 1, &err), FURROW_E_NOT_FOUND); /* but not for a pattern */
  strcpy(path, "a*");
  fail_call("stat", 1, EACCES);
  assert_int_equal(fw_fileset_open(&set, paths, 1, &err), FURROW_E_IO);
  end_rules();
  strcpy(path, "/proc/self/status"); /* has bytes, though its size is 0: it is read to its end */
  if (access(path, R_OK) == 0) {
    assert_int_equal(fw_fileset_open(&set, paths, 1, &err), FURROW_OK);
    assert_int_equal(set.files[0].kind, FW_FILE_PIPE);
  }
  fw_fileset_clear(&set);
}

/* A pipe with a writer, where the kernel has no second pipe to look with, and where waiting is interrupted. */
static void pipes_are_waited_for(void **state) {
  (void)state;
  fw_input *input = NULL;
  furrow_error err;
  char text[8] = "";
  size_t got = 0;
  assert_int_equal(mkfifo("pipe", 0600), 0);
  assert_int_equal(fw_input_open_regular(&input, "pipe", &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.file, "pipe");
  assert_string_equal(err.message, "not a regular file");
  const int writer = open("pipe", O_RDWR);
  assert_int_equal(write(writer, "text", 4), 4);
  fail_call("pipe2", 1, EMFILE);
  fail_call("poll", 1, EINTR);
  assert_int_equal(fw_input_open(&input, "pipe", &err), FURROW_OK);
  end_rules();
  fail_call("poll", 1, EINVAL); /* then reading says what is wrong, if anything is */
  assert_int_equal(fw_input_read_some(input, text, sizeof text, 0, &got, &err), FURROW_OK);
  end_rules();
  assert_string_equal(text, "text");
  fw_input_close(input);
  close(writer);
}

static void systems_need_their_calls(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    furrow_file_system calls = liar();
    furrow_error err;
    if (i == 0) calls.stat = NULL;
    if (i == 1) calls.open = NULL;
    if (i == 2) calls.read_at = NULL;
    if (i == 3) calls.close = NULL;
    assert_int_equal(furrow_file_system_register("liar", &calls, &err), FURROW_E_ARGUMENT);
    assert_string_equal(err.message, "file system liar lacks its stat, open, read_at or close");
  }
}

static void facts_have_names(void **state) {
  (void)state;
  char text[100] = "";
  size_t facts = 0, libraries = 0;
  while (furrow_build_fact(facts, text, sizeof text)) {
    assert_true(text[0] != 0);
    facts++;
    text[0] = 0;
  }
  while (furrow_library_version(libraries, text, sizeof text)) {
    int major = -1, minor = -1;
    assert_int_equal(sscanf(text, "%d.%d", &major, &minor), 2);
    libraries++;
  }
  assert_int_equal(facts, 6);
  assert_int_equal(libraries, 3);
  assert_string_equal(furrow_library_version(0, text, sizeof text), "zlib");
}

/* ---- Things in memory that are not files ---------------------------------------------------------------- */

static void things_are_not_files(void **state) {
  (void)state;
  static const int thing = 7;
  fw_memory_entry *entry = NULL;
  fw_input *input = NULL;
  fw_dir_names names = {0};
  struct stat info;
  furrow_error err;
  assert_int_equal(fw_memory_add("memory://m/t", "a matrix", &thing, 0, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(fw_path_stat("memory://m/t", &info, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "a matrix in memory, not a file");
  assert_int_equal(fw_input_open(&input, "memory://m/t", &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "a matrix in memory, not a file");
  assert_int_equal(fw_dir_names_read(&names, "memory://other", NULL, NULL, &err), FURROW_E_NOT_FOUND);
  assert_int_equal(fw_memory_hold("memory://m/t", "an index", &entry, NULL), FURROW_OK);
  assert_null(entry);
  assert_int_equal(fw_memory_hold("memory://m/t", NULL, &entry, NULL), FURROW_OK);
  assert_null(entry);
  char kind[] = "a matrix"; /* the words count, not where they are */
  assert_int_equal(fw_memory_hold("memory://m/t", kind, &entry, NULL), FURROW_OK);
  assert_ptr_equal(fw_memory_thing(entry), &thing);
  fw_memory_let_go(entry);
  assert_int_equal(furrow_memory_file_remove("memory://m/t", &err), FURROW_E_NOT_FOUND);
  assert_int_equal(fw_memory_remove("memory://m/t", kind, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_file_add("memory://m/f", "x", 1, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(fw_memory_remove("memory://m/f", kind, &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_memory_file_remove("memory://m/f", NULL), FURROW_OK);
}

/* ---- Maps ----------------------------------------------------------------------------------------------- */

static fw_file_map *open_map(void) {
  fw_file_map *map = NULL;
  fw_input *input = NULL;
  if (!test_write_text("x", "text") || fw_input_open(&input, "x", NULL) != FURROW_OK) return NULL;
  if (fw_file_map_open(&map, input, 4, "x", NULL) != FURROW_OK) map = NULL;
  fw_input_close(input);
  return map;
}

static void maps_that_cannot_be_made(void **state) {
  (void)state;
  fw_file_map *map = NULL;
  fw_input *input = NULL;
  furrow_error err;
  assert_true(test_write_text("x", "text"));
  assert_int_equal(fw_input_open(&input, "x", NULL), FURROW_OK);
  assert_int_equal(fw_file_map_open(&map, input, UINT64_MAX, "x", &err), FURROW_E_IO);
  assert_non_null(strstr(err.message, "cannot be mapped"));
  assert_int_equal(fw_file_map_open(&map, input, 0, "x", &err), FURROW_E_IO);
  assert_non_null(strstr(err.message, "cannot be mapped"));
  fail_call("dup", 1, EMFILE);
  assert_int_equal(fw_file_map_open(&map, input, 4, "x", &err), FURROW_E_IO);
  end_rules();
  assert_non_null(strstr(err.message, "cannot be kept open"));
  assert_string_equal(err.file, "x");
  assert_null(map);
  fw_input_close(input);
  map = open_map();
  assert_non_null(map);
  assert_int_equal(fw_file_map_check(map, NULL), FURROW_OK);
  fail_call("fstat", 1, EIO);
  assert_int_equal(fw_file_map_check(map, &err), FURROW_E_IO);
  end_rules();
  assert_string_equal(err.file, "x");
  fw_file_map_close(map);
}

static volatile sig_atomic_t caught;

static void catch_plain(int number) {
  caught = number;
}

static void catch_with_info(int number, siginfo_t *info, void *context) {
  (void)info, (void)context;
  caught = number + 1000;
}

/* A page of a file that was shortened, which is not a map of ours. */
static int lose_page(void) {
  const int fd = open("lost", O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, 4096) != 0) return 1;
  const volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED || ftruncate(fd, 0) != 0) return 2;
  return page[0]; /* not reached */
}

static int sent_to_default(void) {
  signal(SIGBUS, SIG_DFL);
  if (!open_map()) return 1;
  raise(SIGBUS);
  return 2;
}

static int lost_by_default(void) {
  signal(SIGBUS, SIG_DFL);
  return open_map() ? lose_page() : 3;
}

static int sent_to_nobody(void) {
  signal(SIGBUS, SIG_IGN);
  if (!open_map()) return 1;
  raise(SIGBUS);
  return 0;
}

static int lost_by_nobody(void) {
  signal(SIGBUS, SIG_IGN);
  return open_map() ? lose_page() : 3;
}

static int sent_to_handler(void) {
  signal(SIGBUS, catch_plain);
  if (!open_map()) return 1;
  raise(SIGBUS);
  raise(SIGBUS);
  return caught == SIGBUS ? 0 : 2;
}

static int sent_to_handler_once(void) {
  const struct sigaction once = {.sa_sigaction = catch_with_info, .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND)};
  sigaction(SIGBUS, &once, NULL);
  if (!open_map()) return 1;
  raise(SIGBUS);
  struct sigaction now;
  sigaction(SIGBUS, NULL, &now);
  return caught == SIGBUS + 1000 && now.sa_handler == SIG_DFL ? 0 : 2;
}

/* A signal that is not about a map has the effect that it would have without one. */
static void other_signals_go_where_they_went(void **state) {
  (void)state;
  static const struct {
    int (*work)(void);
    int killed;
  } cases[] = {{sent_to_default, SIGBUS}, {lost_by_default, SIGBUS}, {sent_to_nobody, 0},
               {lost_by_nobody, SIGBUS},  {sent_to_handler, 0},      {sent_to_handler_once, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int code = run_child(cases[i].work);
    if ((code & 127) != cases[i].killed || (!cases[i].killed && code)) fail_msg("case %zu: %d", i, code);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_RULES(opens_are_tried_again),
      WITH_RULES(what_cannot_be_read_says_why),
      WITH_RULES(paths_of_other_systems),
      WITH_RULES(links_that_lead_out),
      WITH_RULES(files_of_json_have_a_size),
      WITH_RULES(names_are_synced_where_they_can_be),
      WITH_RULES(a_process_that_is_to_stop_waits_for_nobody),
      WITH_RULES(sizes_and_counts_that_cannot_be),
      WITH_RULES(memory_that_cannot_be_given),
      WITH_RULES(names_that_cannot_be),
      WITH_RULES(systems_need_their_calls),
      WITH_RULES(sizes_have_a_sum),
      WITH_RULES(paths_that_stat_cannot_take),
      WITH_RULES(pipes_are_waited_for),
      WITH_RULES(things_are_not_files),
      WITH_RULES(facts_have_names),
      WITH_RULES(other_signals_go_where_they_went),
      WITH_RULES(maps_that_cannot_be_made),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
