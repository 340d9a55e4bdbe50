/* cli/demo/demo_run.c: runs the steps of the demo: prints each command, runs it and measures it. */
#include "demo/demo_results.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/command.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/progress.h"
#include "core/ranks.h"
#include "core/shown_text.h"

enum { MOST_WORDS = 64 };

void demo_heading(demo_runner *runner, const char *text) {
  if (runner->show) output_format(runner->out, "\n# %s\n", text);
}

static demo_step *add_step(demo_runner *runner, const char *title, bool is_command) {
  demo_step *step = &runner->steps[runner->count < DEMO_STEPS ? runner->count++ : DEMO_STEPS - 1];
  *step = (demo_step){.title = title, .command = is_command};
  return step;
}

void demo_did(demo_runner *runner, const char *title, double began, const char *format, ...) {
  demo_step *step = add_step(runner, title, false);
  va_list args;
  va_start(args, format);
  vsnprintf(step->line, sizeof step->line, format, args);
  va_end(args);
  step->seconds = step->cpu_seconds = now_seconds() - began;
  if (runner->show) output_format(runner->out, "# %s\n", step->line);
}

/* ---- A process for each command ---- */

/* Splits a line into words; the word after > is the output file. */
static int split_words(char *line, char *words[MOST_WORDS], const char **file) {
  int count = 0;
  char *rest = NULL;
  *file = NULL;
  for (char *word = strtok_r(line, " ", &rest); word && count < MOST_WORDS - 1; word = strtok_r(NULL, " ", &rest)) {
    if (strcmp(word, ">") == 0)
      *file = strtok_r(NULL, " ", &rest);
    else
      words[count++] = word;
  }
  words[count] = NULL;
  return count;
}

static bool redirect(const char *file) {
  const int to = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (to < 0 || dup2(to, STDOUT_FILENO) < 0) {
    say("furrow: %s: cannot be written: %s\n", file, strerror(errno));
    return false;
  }
  return true;
}

/* In the child process: runs the command as if it had been typed, and exits. */
static void run_child(const demo_step *step, bool show) {
  char line[DEMO_LINE], *words[MOST_WORDS];
  const char *file = NULL;
  memcpy(line, step->line, sizeof line);
  const int count = split_words(line, words, &file);
  interrupt_forget();
  ranks_forget();
  if (!file && !show) file = "/dev/null";
  if (file && !redirect(file)) _exit(furrow_status_exit_code(FURROW_E_IO));
  const int code = command_main(&root_command, count, words);
  interrupt_finish();
  _exit(code);
}

/* Waits for the child; forwards a signal that only this process got. */
static int wait_for(pid_t child, struct rusage *usage) {
  int state = 0;
  while (wait4(child, &state, 0, usage) < 0 && errno == EINTR)
    if (interrupt_came()) kill(child, SIGTERM);
  return state;
}

static furrow_status status_of_code(int code) {
#define FURROW_X(name, number, exit_code, text) \
  if (furrow_status_exit_code(FURROW_##name) == code && FURROW_##name != FURROW_END) return FURROW_##name;
  FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
  return FURROW_E_STATE;
}

static double seconds_of(struct timeval t) {
  return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

furrow_status demo_stopped(furrow_error *err) {
  return fail(err, FURROW_E_STATE, "stopped by a signal; the finished files are still there");
}

static furrow_status step_status(const demo_step *step, int state, furrow_error *err) {
  if (interrupt_came() || WIFSIGNALED(state)) return demo_stopped(err);
  const int code = WEXITSTATUS(state);
  return code == 0 ? FURROW_OK : fail(err, status_of_code(code), "the demo stops because '%s' failed", step->line);
}

static furrow_status run_step(demo_runner *runner, demo_step *step, furrow_error *err) {
  furrow_status status = interrupt_check(err);
  if (status == FURROW_OK) status = output_flush(runner->out, err);
  if (status != FURROW_OK) return status;
  struct rusage usage = {0};
  const double began = now_seconds();
  const pid_t child = fork();
  if (child < 0) return fail(err, FURROW_E_IO, "cannot start a process: %s", strerror(errno));
  if (child == 0) run_child(step, runner->show);
  const int state = wait_for(child, &usage);
  step->seconds = now_seconds() - began;
  step->cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  step->memory = (uint64_t)usage.ru_maxrss * 1024;
  return step_status(step, state, err);
}

furrow_status demo_run(demo_runner *runner, const char *title, furrow_error *err, const char *format, ...) {
  demo_step *step = add_step(runner, title, true);
  va_list args;
  va_start(args, format);
  vsnprintf(step->line, sizeof step->line, format, args);
  va_end(args);
  if (runner->show) output_format(runner->out, "$ %s\n", step->line);
  return run_step(runner, step, err);
}
