/* cli/core/command.h: a command as data: what it is called, what it takes, what it does.
 *
 * The commands form a tree: furrow, nouns, verbs. A level that has verbs lists them in its --help; a level that can run
 * has tables of options and a function. To add a noun, write its command and list it in main.c.
 */
#ifndef CLI_CORE_COMMAND_H
#define CLI_CORE_COMMAND_H

#include "core/options.h"
#include "core/output.h"

typedef struct command {
  const char *name;
  const char *summary;                /* one line, for the level above */
  const char *example;                /* what --help shows first: lines of shell */
  const char *one_of;                 /* options one of which is needed, for the usage line; NULL: none */
  const char *about;                  /* paragraphs for --help; NULL: none */
  void (*more)(output *out);          /* prints what only the library knows; NULL: nothing */
  const struct command *const *verbs; /* up to a NULL; NULL: none */
  const option *operands;             /* up to the one without a name; NULL: none */
  const option_group *groups;         /* up to the one without a title; NULL: none */
  size_t size;                        /* of the struct that the options fill: zeros before init */
  void (*init)(void *values);         /* sets what is not zero by default; NULL: nothing */
  furrow_status (*run)(const void *values, output *out, furrow_error *err);
  bool hidden; /* for scripts: the level above does not list it */
} command;

/* furrow itself. */
extern const command root_command;

/* Finds the command that argv[1 …] names, runs it, says what went wrong, and returns the exit code. */
int command_main(const command *root, int argc, char **argv);

/* The root that command_main was given: for commands that are about commands. */
const command *command_root(void);
/* The verb of that name; NULL: there is none. */
const command *command_verb(const command *cmd, const char *name);
/* The usage line, without its end. */
void print_usage(output *out, const command *cmd, const char *path);
/* "--name ARGUMENT" as the help shows it; letter, too. */
void option_heading(const option *o, char *text, size_t size);

/* Prints text broken into lines of at most 100 characters, the later ones indented. */
void print_wrapped(output *out, const char *text, size_t indent, size_t column);

#endif
