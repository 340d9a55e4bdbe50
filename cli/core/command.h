/* cli/core/command.h: a command as data: its name, options and function.
 *
 * The commands form a tree: furrow, nouns, verbs. A command with verbs lists them in its --help; a command that can run
 * has tables of options and a function. To add a noun, write its command, declare it in commands.h and list it in
 * main.c.
 */
#ifndef CLI_CORE_COMMAND_H
#define CLI_CORE_COMMAND_H

#include "core/options.h"
#include "core/output.h"

typedef struct command {
  const char *name;
  const char *summary;                /* one line for the help of the level above */
  const char *example;                /* shell lines that --help shows first */
  const char *one_of;                 /* usage line: options of which one is required; NULL: none */
  const char *about;                  /* paragraphs for --help; NULL: none */
  void (*more)(output *out);          /* prints lists that come from the library; NULL: none */
  const struct command *const *verbs; /* ends with NULL; NULL: none */
  const option *operands;             /* ends with an entry without a name; NULL: none */
  const option_group *groups;         /* ends with a group without a title; NULL: none */
  size_t size;                        /* size of the struct that the options fill; zeroed before init */
  void (*init)(void *values);         /* sets the defaults that are not zero; NULL: none */
  furrow_status (*run)(const void *values, output *out, furrow_error *err);
  bool hidden;       /* only for scripts; not listed in help */
  bool on_all_ranks; /* under mpirun every process runs it (core/ranks.h); false: only rank 0 runs it */
} command;

/* The command furrow itself. */
extern const command root_command;

/* Called before a command runs, with the values of its options; a failure is the command's. */
typedef furrow_status command_check(const command *cmd, const void *values, furrow_error *err);
void command_set_check(command_check *check);

/* Finds the command that argv[1 …] names, runs it, prints its error, and returns the exit code. */
int command_main(const command *root, int argc, char **argv);

/* The root and the words (argv) that command_main was given, for commands about commands. */
const command *command_root(void);
char **command_words(void);
/* Returns the verb of that name, or NULL. */
const command *command_verb(const command *cmd, const char *name);
/* Prints the usage line without the line end. */
void print_usage(output *out, const command *cmd, const char *path);
/* Writes "-x, --name ARGUMENT" as the help shows it. */
void option_heading(const option *o, char *text, size_t size);

/* Prints text in lines of at most 100 characters; all but the first are indented. */
void print_wrapped(output *out, const char *text, size_t indent, size_t column);

#endif
