/* tests/unit/io/test_temporary.c: what killed processes leave is removed by the next one, and nothing else is. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/atomic_dir.h"
#include "io/atomic_file.h"
#include "io/target.h"
#include "io/temporary.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

/* ---- processes ---- */

/* A process of its own: each looks at a directory anew. */
static pid_t begin(int (*work)(int), int argument) {
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) _exit(work(argument));
  assert_true(child > 0);
  return child;
}

static int ended(pid_t child) {
  int code = -1;
  assert_int_equal(waitpid(child, &code, 0), child);
  return code;
}

static void run(int (*work)(int), int argument) {
  assert_int_equal(ended(begin(work, argument)), 0);
}

static furrow_status may_replace(const char *path, furrow_error *err) {
  (void)path, (void)err;
  return FURROW_OK;
}

static bool put_file(int fd, const char *name) {
  const int file = openat(fd, name, O_WRONLY | O_CREAT, 0666);
  return file >= 0 && write(file, "text", 4) == 4 && close(file) == 0;
}

static furrow_status save_file(const char *path, const char *text) {
  return furrow_file_save(path, text, strlen(text), true, NULL);
}

/* How far a process comes before it kills itself; END: to the end. */
enum { AT_BEGIN, IN_BETWEEN, END, STEPS };

static int save_some_file(int step) {
  fw_atomic_file *file = NULL;
  if (fw_atomic_file_open(&file, "x", NULL) != FURROW_OK) return 1;
  if (step == AT_BEGIN) raise(SIGKILL);
  if (fw_atomic_file_write(file, "text", 4, NULL) != FURROW_OK) return 2;
  if (step == IN_BETWEEN) raise(SIGKILL);
  const furrow_status status = fw_atomic_file_commit(file, NULL);
  fw_atomic_file_close(file);
  return status == FURROW_OK ? 0 : 3;
}

static int save_some_dir(int step) {
  fw_atomic_dir *made = NULL;
  int inner = -1;
  if (fw_atomic_dir_open(&made, "d", may_replace, NULL) != FURROW_OK) return 1;
  if (step == AT_BEGIN) raise(SIGKILL);
  if (!put_file(fw_atomic_dir_fd(made), "a")) return 2;
  if (fw_dir_make(&inner, fw_atomic_dir_fd(made), "b", "d", NULL) != FURROW_OK || !put_file(inner, "c")) return 3;
  close(inner);
  if (step == IN_BETWEEN) raise(SIGKILL);
  const furrow_status status = fw_atomic_dir_commit(made, NULL);
  fw_atomic_dir_close(made);
  return status == FURROW_OK ? 0 : 4;
}

/* ---- what is there ---- */

static int hidden(void) {
  DIR *handle = opendir(".");
  int n = 0;
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));)
    n += entry->d_name[0] == '.' && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(handle);
  return n;
}

/* ---- tests ---- */

static void the_next_process_removes_what_is_left(void **state) {
  (void)state;
  int (*const works[])(int) = {save_some_file, save_some_dir};
  for (int w = 0; w < 2; w++)
    for (int step = AT_BEGIN; step < END; step++) {
      assert_int_equal(ended(begin(works[w], step)) & 127, SIGKILL);
      assert_int_equal(hidden(), 1);
      run(works[1 - w], END); /* what it writes need not be the same */
      assert_int_equal(hidden(), 0);
    }
}

/* The temporary of a process that lives stays, and becomes what it was to be. */
static void a_live_process_keeps_its_own(void **state) {
  (void)state;
  fw_atomic_file *file = NULL;
  fw_atomic_dir *made = NULL;
  assert_int_equal(fw_atomic_file_open(&file, "mine", NULL), FURROW_OK);
  assert_int_equal(fw_atomic_dir_open(&made, "folder", NULL, NULL), FURROW_OK);
  assert_true(put_file(fw_atomic_dir_fd(made), "a"));
  for (int i = 0; i < 3; i++) {
    run(save_some_file, END);
    run(save_some_dir, END);
  }
  assert_int_equal(hidden(), 2);
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_dir_commit(made, NULL), FURROW_OK);
  fw_atomic_file_close(file);
  fw_atomic_dir_close(made);
  assert_int_equal(hidden(), 0);
  assert_int_equal(access("folder/a", F_OK) | access("mine", F_OK), 0);
}

/* A file whose own name is a temporary one belongs to its writer until that is closed, and is a leftover then. */
static void a_staged_file_stays_locked(void **state) {
  (void)state;
  fw_atomic_file *file = NULL;
  char *path = NULL;
  assert_int_equal(furrow_temporary_path(&path, "./part", 1, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_open(&file, path, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  run(save_some_file, END);
  assert_int_equal(access(path, F_OK), 0);
  fw_atomic_file_close(file);
  furrow_free(path);
  run(save_some_file, END);
  assert_int_equal(hidden(), 0);
}

/* A name that a process would have drawn for a file that is to be called `name`. */
static const char *draw(fw_target *target, const char *name) {
  assert_int_equal(fw_target_find(target, name, NULL), FURROW_OK);
  fw_target_pick_name(target, 0);
  return target->temporary;
}

static void other_things_stay(void **state) {
  (void)state;
  fw_target link = {.directory = -1}, pipe = {.directory = -1}, others = {.directory = -1};
  static const char *const files[] = {".x.furrow-abcde", ".x.furrow-abcdefg", ".x.furrow-abc.ef", "x.furrow-abcdef",
                                      ".furrow-abcdef",  ".x.other-abcdef",   ".x.furrow-backup", ".x.furrow-123456"};
  assert_true(test_write_text("text", "x"));
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) assert_true(test_write_text(files[i], "x"));
  assert_int_equal(symlink("text", draw(&link, "l")), 0);
  assert_int_equal(mkfifo(draw(&pipe, "p"), 0600), 0);
  const bool other_user =
      geteuid() == 0 && test_write_text(draw(&others, "o"), "x") && chown(others.temporary, 12345, (gid_t)-1) == 0;
  const int before = hidden();
  run(save_some_file, END);
  run(save_some_dir, END);
  assert_int_equal(hidden(), before);
  assert_int_equal(access("text", F_OK), 0);
  if (other_user) assert_int_equal(unlink(others.temporary), 0);
  fw_target_clear(&link);
  fw_target_clear(&pipe);
  fw_target_clear(&others);
}

/* A directory that is being exchanged has, for a moment, the temporary name: its target is locked then. */
static void what_is_being_exchanged_stays(void **state) {
  (void)state;
  fw_target target = {.directory = -1};
  assert_int_equal(mkdir("m", 0777) | mkdir(draw(&target, "m"), 0777), 0);
  const int fd = open("m", O_RDONLY | O_DIRECTORY);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  run(save_some_file, END);
  assert_int_equal(access(target.temporary, F_OK), 0);
  close(fd);
  run(save_some_file, END);
  assert_int_equal(hidden(), 0);
  fw_target_clear(&target);
}

/* Processes that save, are killed and clean up at the same time: each save works, and in the end nothing is left. */
static int save_and_die(int number) {
  for (int i = 0; i < 40; i++) {
    const pid_t child = fork();
    if (child == 0) {
      char path[32];
      snprintf(path, sizeof path, "%d", number);
      if (i % 3 == 1) _exit(save_some_dir(i % 2));
      if (i % 3 == 2) _exit(save_some_file(i % 2));
      _exit(save_file(path, path) == FURROW_OK ? 0 : 1);
    }
    int code = 0;
    if (child < 0 || waitpid(child, &code, 0) != child) return 1;
    if (i % 3 == 0 && code != 0) return 2;
  }
  return 0;
}

static void cleaners_and_writers_do_not_meet(void **state) {
  (void)state;
  enum { MANY = 4 };
  pid_t children[MANY];
  for (int i = 0; i < MANY; i++) children[i] = begin(save_and_die, i);
  for (int i = 0; i < MANY; i++) assert_int_equal(ended(children[i]), 0);
  run(save_some_file, END);
  assert_int_equal(hidden(), 0);
}

/* What a signal handler calls before it ends the process. */
static int save_and_clean_up(int step) {
  fw_atomic_file *file = NULL;
  fw_atomic_dir *made = NULL;
  int inner = -1;
  if (fw_atomic_file_open(&file, "x", NULL) != FURROW_OK) return 1;
  if (fw_atomic_dir_open(&made, "d", NULL, NULL) != FURROW_OK) return 2;
  if (!put_file(fw_atomic_dir_fd(made), "a")) return 3;
  if (fw_dir_make(&inner, fw_atomic_dir_fd(made), "b", "d", NULL) != FURROW_OK) return 4;
  for (int i = 0; i < 200; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    if (!put_file(inner, name)) return 5;
  }
  if (step == END) furrow_process_clean_up();
  return 0;
}

static void a_process_that_ends_at_once_can_clean_up(void **state) {
  (void)state;
  run(save_and_clean_up, AT_BEGIN);
  assert_int_equal(hidden(), 2); /* that is, it has something to remove */
  run(save_some_file, END);
  assert_int_equal(hidden(), 0);
  run(save_and_clean_up, END);
  assert_int_equal(hidden(), 0);
}

/* ---- a writer that is overtaken ---- */

static bool overtaken; /* another process cleans up before the next lock */

int flock(int fd, int operation) {
  static int (*next)(int, int);
  if (!next) next = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
  if (overtaken) {
    overtaken = false;
    assert_int_equal(hidden(), 1);
    run(save_some_file, END);
    assert_int_equal(hidden(), 0);
  }
  return next(fd, operation);
}

/* What is made is a leftover to others until it is locked. */
static void a_writer_that_is_overtaken_begins_again(void **state) {
  (void)state;
  fw_atomic_file *file = NULL;
  fw_atomic_dir *made = NULL;
  overtaken = true;
  assert_int_equal(fw_atomic_file_open(&file, "mine", NULL), FURROW_OK);
  assert_false(overtaken);
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  fw_atomic_file_close(file);
  overtaken = true;
  assert_int_equal(fw_atomic_dir_open(&made, "folder", NULL, NULL), FURROW_OK);
  assert_false(overtaken);
  assert_true(put_file(fw_atomic_dir_fd(made), "a"));
  assert_int_equal(fw_atomic_dir_commit(made, NULL), FURROW_OK);
  fw_atomic_dir_close(made);
  assert_int_equal(access("folder/a", F_OK) | access("mine", F_OK), 0);
  assert_int_equal(hidden(), 0);
}

/* ---- pairs ---- */

static int renames_left; /* until another process replaces the same pair; 0: none does */
static pid_t other;

static int replace_pair(int number) {
  char text[16];
  snprintf(text, sizeof text, "%d", number);
  fw_atomic_file *file = NULL, *beside = NULL;
  furrow_status status = fw_atomic_file_open(&file, "v", NULL);
  if (status == FURROW_OK) status = fw_atomic_file_open(&beside, "v.ids", NULL);
  if (status == FURROW_OK) status = fw_atomic_file_write(file, text, strlen(text), NULL);
  if (status == FURROW_OK) status = fw_atomic_file_write(beside, text, strlen(text), NULL);
  if (status == FURROW_OK) status = fw_atomic_files_commit((fw_atomic_file *[]){file, beside}, 2, NULL);
  fw_atomic_file_close(file);
  fw_atomic_file_close(beside);
  return status == FURROW_OK ? 0 : 1;
}

/* The test program's own version of what the writer calls. Before the last rename, another process is given the time to
 * come in between: it ends in it, unless it has to wait. */
int renameat(int from, const char *old, int to, const char *new) {
  static int (*next)(int, const char *, int, const char *);
  if (!next) next = (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
  if (renames_left > 0 && --renames_left == 0) {
    siginfo_t info = {0};
    other = begin(replace_pair, 2);
    for (int i = 0; i < 50 && waitid(P_PID, (id_t)other, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid; i++)
      usleep(10000);
  }
  return next(from, old, to, new);
}

static int read_number(const char *path) {
  int number = -1;
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%d", &number), 1);
  fclose(file);
  return number;
}

static void two_pairs_do_not_mix(void **state) {
  (void)state;
  assert_int_equal(replace_pair(0), 0);
  renames_left = 2;
  assert_int_equal(replace_pair(1), 0);
  assert_int_equal(renames_left, 0);
  assert_int_equal(ended(other), 0);
  assert_int_equal(read_number("v"), 2);
  assert_int_equal(read_number("v.ids"), 2);
}

/* ---- locks that go over to what is put in place ---- */

static int lock_fails(int is_dir) {
  furrow_file_lock *lock = NULL;
  furrow_error err;
  return furrow_file_lock_open(&lock, is_dir ? "d" : "x", &err) == FURROW_E_STATE &&
                 strstr(err.message, "is changing it")
             ? 0
             : 1;
}

static int save_fails(int is_dir) {
  furrow_error err;
  fw_atomic_dir *made = NULL;
  const furrow_status status =
      is_dir ? fw_atomic_dir_open(&made, "d", may_replace, &err) : furrow_file_save("x", "other", 5, true, &err);
  return status == FURROW_E_STATE && strstr(err.message, "is changing it") ? 0 : 1;
}

static void a_lock_goes_over_to_what_replaces_it(void **state) {
  (void)state;
  for (int is_dir = 0; is_dir < 2; is_dir++) {
    int (*const save)(int) = is_dir ? save_some_dir : save_some_file;
    furrow_file_lock *lock = NULL;
    assert_int_equal(save(END), 0);
    assert_int_equal(furrow_file_lock_open(&lock, is_dir ? "d" : "x", NULL), FURROW_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(save(END), 0);
    run(lock_fails, is_dir);
    if (!is_dir) run(save_fails, is_dir); /* each of these waits for a second */
    furrow_file_lock_close(lock);
    run(save, END);
  }
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(the_next_process_removes_what_is_left),
      IN_DIR(a_live_process_keeps_its_own),
      IN_DIR(a_staged_file_stays_locked),
      IN_DIR(other_things_stay),
      IN_DIR(what_is_being_exchanged_stays),
      IN_DIR(cleaners_and_writers_do_not_meet),
      IN_DIR(a_writer_that_is_overtaken_begins_again),
      IN_DIR(a_process_that_ends_at_once_can_clean_up),
      IN_DIR(two_pairs_do_not_mix),
      IN_DIR(a_lock_goes_over_to_what_replaces_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
