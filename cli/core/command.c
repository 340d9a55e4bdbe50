/* cli/core/command.c: finds a command in the tree, runs it, prints its help. */
#include "core/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/progress.h"
#include "core/ranks.h"
#include "core/shown_text.h"
#include "furrow/io.h"
#include "furrow/version.h"

static const command *the_root;
static char **the_words;
static command_check *the_check;

enum { LINE_WIDTH = 100, HELP_COLUMN = 28, PATH_TEXT = 128 };

/* ---- Help ----------------------------------------------------------------------------------------------- */

static void spaces(output *out, size_t count) {
  output_format(out, "%*s", (int)count, "");
}

void print_wrapped(output *out, const char *text, size_t indent, size_t column) {
  while (*text) {
    size_t word = strcspn(text, " \n");
    if (column > indent && column + 1 + word > LINE_WIDTH) {
      output_text(out, "\n");
      column = 0;
    }
    if (column < indent) {
      spaces(out, indent - column);
      column = indent;
    } else if (column > indent) {
      output_text(out, " ");
      column++;
    }
    output_bytes(out, text, word);
    column += word;
    text += word;
    for (; *text == ' ' || *text == '\n'; text++) {
      if (*text == '\n') {
        output_text(out, "\n");
        column = 0;
      }
    }
  }
  output_text(out, "\n");
}

/* Characters of a text, not bytes. */
static size_t text_width(const char *text) {
  size_t width = 0;
  for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
  return width;
}

void option_heading(const option *o, char *text, size_t size) {
  const char *argument = o->argument ? o->argument : o->choices;
  char letter[8] = "";
  if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
  bool operand = o->name[0] >= 'A' && o->name[0] <= 'Z';
  snprintf(text, size, "%s%s%s%s%s", letter, operand ? "" : "--", o->name, argument ? " " : "",
           argument ? argument : "");
}

static void print_option(output *out, const option *o) {
  char text[128] = "  ";
  option_heading(o, text + 2, sizeof text - 2);
  output_text(out, text);
  size_t column = text_width(text);
  if (column + 2 > HELP_COLUMN) {
    output_text(out, "\n");
    column = 0;
  }
  spaces(out, HELP_COLUMN - column);
  print_wrapped(out, o->help, HELP_COLUMN, HELP_COLUMN);
}

void print_usage(output *out, const command *cmd, const char *path) {
  output_format(out, "%s%s", path, cmd->verbs ? " COMMAND" : "");
  if (cmd->groups && !cmd->verbs) {
    for (const option_group *group = cmd->groups; group->title; group++)
      for (const option *o = group->options; o->name; o++)
        if (o->required) output_format(out, " --%s %s", o->name, o->argument ? o->argument : o->choices);
    if (cmd->one_of) output_format(out, strchr(cmd->one_of, '|') ? " (%s)" : " %s", cmd->one_of);
    output_text(out, " [options]");
  }
  for (const option *o = cmd->operands; o && o->name; o++) output_format(out, o->required ? " %s" : " [%s]", o->name);
}

static void print_example(output *out, const char *example) {
  output_text(out, strchr(example, '\n') ? "Examples:\n" : "Example:\n");
  while (*example) {
    size_t n = strcspn(example, "\n");
    output_format(out, "  %.*s\n", (int)n, example);
    example += n + (example[n] == '\n');
  }
  output_text(out, "\n");
}

static void print_verbs(output *out, const command *const *verbs, const char *path) {
  output_text(out, "\nCommands:\n");
  for (; *verbs; verbs++)
    if (!(*verbs)->hidden) output_format(out, "  %-10s %s\n", (*verbs)->name, (*verbs)->summary);
  output_format(out, "\n'%s COMMAND --help' describes each command.\n", path);
}

static void print_common(output *out, const command *cmd) {
  output_text(out, "\nCommon:\n");
  for (const option *o = common_options; o->name; o++)
    if (!option_is_named(cmd->groups, o->name)) print_option(out, o);
  for (const option *o = process_options; cmd->on_all_ranks && o->name; o++) print_option(out, o);
}

static void print_help(output *out, const command *cmd, const char *path) {
  print_example(out, cmd->example);
  output_text(out, "Usage: ");
  print_usage(out, cmd, path);
  output_text(out, "\n");
  if (cmd->about) {
    output_text(out, "\n");
    print_wrapped(out, cmd->about, 0, 0);
  }
  if (cmd->operands) output_text(out, "\n");
  for (const option *o = cmd->operands; o && o->name; o++) print_option(out, o);
  if (cmd->verbs) print_verbs(out, cmd->verbs, path);
  const char *title = "";
  for (const option_group *group = cmd->groups; group && group->title; group++) {
    if (strcmp(title, group->title) != 0) output_format(out, "\n%s:\n", group->title);
    title = group->title;
    for (const option *o = group->options; o->name; o++) print_option(out, o);
  }
  if (cmd->run && !cmd->verbs) print_common(out, cmd);
  if (cmd->more) cmd->more(out);
}

/* ---- Running -------------------------------------------------------------------------------------------- */

const command *command_verb(const command *cmd, const char *name) {
  for (const command *const *verb = cmd->verbs; *verb; verb++)
    if (strcmp((*verb)->name, name) == 0) return *verb;
  return NULL;
}

static furrow_status unknown_verb(const command *cmd, const char *path, const char *word, furrow_error *err) {
  const char *names[32];
  size_t count = 0;
  for (const command *const *verb = cmd->verbs; *verb && count < 32; verb++)
    if (!(*verb)->hidden) names[count++] = (*verb)->name;
  const char *closest = closest_word(word, names, count);
  fail(err, FURROW_E_ARGUMENT, "'%s' has no command '%.64s'", path, word);
  return closest ? add_hint(err, "did you mean '%s'?", closest) : add_hint(err, "'%s --help' lists the commands", path);
}

/* --verbose */
static void print_cost(double began) {
  struct rusage used;
  if (getrusage(RUSAGE_SELF, &used) != 0) return;
  const double user = (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
  const double system = (double)used.ru_stime.tv_sec + 1e-6 * (double)used.ru_stime.tv_usec;
  say("furrow: %.3f s, %.3f s of processor time, %.1f MB of memory at most, %s instructions\n", now_seconds() - began,
      user + system, (double)used.ru_maxrss * 1024e-6, furrow_isa());
}

/* The library's messages name keys; where the command has an option for a key, names the option instead. */
static void name_options(const command *cmd, furrow_error *err) {
  if (strstr(err->message, "(max_line_bytes)") && option_is_named(cmd->groups, "max-line"))
    add_hint(err, "--max-line BYTES allows longer ones");
  options_replace_keys(cmd->groups, err->message);
  options_replace_keys(cmd->groups, err->hint);
}

/* Runs the command while the models of its operands, from the first one on, are watched. */
static furrow_status run_watched(const command *cmd, const option *operand, const void *values, output *out,
                                 furrow_error *err) {
  while (operand && operand->name && !operand->watched) operand++;
  if (!operand || !operand->name) return cmd->run(values, out, err);
  furrow_path_watch *watch = NULL;
  const char *path = *(const char *const *)((const char *)values + operand->offset);
  const furrow_status status = furrow_path_watch_begin(&watch, path, err);
  if (status != FURROW_OK) return status;
  return furrow_path_watch_end(watch, run_watched(cmd, operand + 1, values, out, err), err);
}

static furrow_status check_and_run(const command *cmd, const void *values, output *out, furrow_error *err) {
  const furrow_status status = the_check ? the_check(cmd, values, err) : FURROW_OK;
  return status == FURROW_OK ? run_watched(cmd, cmd->operands, values, out, err) : status;
}

static furrow_status run_leaf(const command *cmd, const char *path, int argc, char **argv, output *out,
                              furrow_error *err) {
  common_values common;
  const double began = now_seconds();
  void *values = calloc(1, cmd->size ? cmd->size : 1);
  if (!values) return fail_memory(err);
  if (cmd->init) cmd->init(values);
  furrow_status status = options_parse(path, cmd->groups, cmd->operands, argc, argv, values, &common, err);
  if (status == FURROW_OK && common.help)
    print_help(out, cmd, path);
  else if (status == FURROW_OK && ranks_begin(cmd->on_all_ranks, common.rank_timeout, &status, err))
    status = check_and_run(cmd, values, out, err);
  if (status != FURROW_OK) name_options(cmd, err);
  free(values);
  if (common.verbose) print_cost(began);
  return status;
}

/* Whether a word names a command, or is --mpi, which may come between such words. */
static bool is_word(const char *text) {
  return text[0] != '-' || strcmp(text, "--mpi") == 0;
}

/* Follows the words down the tree of commands, then runs the command it reaches. */
static furrow_status run_words(const command *cmd, int argc, char **argv, output *out, furrow_error *err) {
  char path[PATH_TEXT];
  bool help = false;
  snprintf(path, sizeof path, "%s", cmd->name);
  for (; cmd->verbs && argc > 0 && is_word(argv[0]); argc--, argv++) {
    if (argv[0][0] == '-') continue;
    if (strcmp(argv[0], "help") == 0) {
      help = true;
      continue;
    }
    const command *verb = command_verb(cmd, argv[0]);
    if (!verb) return unknown_verb(cmd, path, argv[0], err);
    cmd = verb;
    strncat(path, " ", sizeof path - strlen(path) - 1);
    strncat(path, cmd->name, sizeof path - strlen(path) - 1);
  }
  if (cmd->verbs && argc == 0 && !help) {
    fail(err, FURROW_E_ARGUMENT, "'%s' needs a command", path);
    return add_hint(err, "'%s --help' lists the commands", path);
  }
  if (help) return print_help(out, cmd, path), FURROW_OK;
  return run_leaf(cmd, path, argc, argv, out, err);
}

const command *command_root(void) {
  return the_root;
}

char **command_words(void) {
  return the_words;
}

void command_set_check(command_check *check) {
  the_check = check;
}

/* A complete change did not fail: a user who runs the command again would make the change twice. */
static int say_unreported(const output *out, furrow_status status, const furrow_error *err) {
  if (status == FURROW_OK) {
    say("furrow: done, but the report could not be written to standard output: %s\n", strerror(out->errnum));
    output_say_last(out);
  } else {
    say("furrow: done, but the report is incomplete: %s\n", err->message);
  }
  return EXIT_UNREPORTED;
}

/* Whether only the report of a complete change failed. Several processes fail together; E_STATE: what was stored may be
 * a mixture. */
static bool is_unreported(const output *out, furrow_status status, furrow_status flushed) {
  if (!out->stored) return false;
  if (status == FURROW_OK) return flushed == FURROW_E_IO;
  return status != FURROW_END && status != FURROW_E_STATE && ranks_count() == 1 && !interrupt_came();
}

int command_main(const command *root, int argc, char **argv) {
  the_root = root;
  the_words = argv;
  output out;
  furrow_error err = {0};
  int exit_code = 0;
  furrow_status status = output_open(&out, &err);
  if (status == FURROW_OK) {
    status = run_words(root, argc - 1, argv + 1, &out, &err);
    /* output from before a failure is still written; the first failure is reported */
    furrow_error flush_err = {0};
    furrow_status flushed = output_flush(&out, &flush_err);
    exit_code = out.exit_code;
    if (is_unreported(&out, status, flushed)) {
      exit_code = say_unreported(&out, status, &err);
      status = FURROW_OK;
    } else if (status == FURROW_OK) {
      status = flushed;
      err = flush_err;
    }
    if (interrupt_came() && (status == FURROW_E_CANCELLED || out.errnum == EINTR)) status = interrupt_check(&err);
    output_close(&out);
  }
  return ranks_finish(status, &err, exit_code);
}
