/* cli/core/options.h: the option tables that every command is made of.
 *
 * A command has a struct of its own for what the user chose, and tables that say which option fills which field. The
 * tables drive the parsing, the checks, the suggestions and --help:
 *
 *   typedef struct sum_values { uint32_t threads; bool json; const char *path; } sum_values;
 *
 *   static const option sum_options[] = {
 *       {.name = "threads", .kind = OPTION_THREADS, .argument = "T", .help = "threads to use (0: all)",
 *        .offset = offsetof(sum_values, threads)},
 *       {.name = "json", .kind = OPTION_FLAG, .help = "report as JSON", .offset = offsetof(sum_values, json)},
 *       {0}};
 *
 * Options are written --name value or --name=value, -x value or -xvalue, before or after the operands; -- ends them.
 */
#ifndef CLI_CORE_OPTIONS_H
#define CLI_CORE_OPTIONS_H

#include <stdbool.h>

#include "furrow/status.h"

typedef enum option_kind {                  /* the field that it fills */
                           OPTION_FLAG = 1, /* bool, true when it is named */
                           OPTION_TEXT,     /* const char *, as written */
                           OPTION_ENUM,     /* int (or an enum): the place in `choices` */
                           OPTION_U32,      /* uint32_t */
                           OPTION_U64,      /* uint64_t */
                           OPTION_THREADS,  /* uint32_t, MOST_THREADS at most */
                           OPTION_REAL,     /* double */
                           OPTION_COUNT32,  /* int32_t, 1 or more */
                           OPTION_COUNT64,  /* int64_t, 1 or more */
                           OPTION_BYTES,    /* size_t; 65536, 64KiB, 8MiB, 1GiB */
                           OPTION_LIST, /* text_list: may be given again and again; the last operand: takes all words */
                           OPTION_PARSED /* anything: `parse` reads it */
} option_kind;

enum { MOST_TEXTS = 1024, MOST_THREADS = 1024 };

typedef struct text_list {
  const char *texts[MOST_TEXTS];
  size_t count;
} text_list;

typedef struct option {
  const char *name; /* "threads" for --threads; of an operand what the usage line calls it ("URI"). NULL ends a table */
  char letter;      /* 'q' when -q will do as well; 0: none */
  option_kind kind;
  const char *argument; /* what the help calls the value; NULL: the choices themselves */
  const char *help;
  size_t offset;       /* of the field in the struct of its group */
  const char *choices; /* OPTION_CHOICE: "u32|u64"; OPTION_TEXT: words that a shell offers, others are taken too */
  furrow_status (*parse)(const char *text, void *field, furrow_error *err); /* OPTION_PARSED */
  bool required;
} option;

/* Options that belong together in --help and fill one struct, which may be part of the command's struct. Groups of one
 * title in a row are one to the user. */
typedef struct option_group {
  const char *title;     /* NULL ends a list of groups */
  const option *options; /* up to the one without a name */
  size_t offset;         /* of the group's struct in the command's struct */
} option_group;

/* What every command takes. A command that has an option of the same name of its own gets that one. */
typedef struct common_values {
  bool quiet, verbose, help;
} common_values;

extern const option common_options[];

/* Reads argv[0 … argc-1] into `values`. `path` is what the user calls the command, for messages. `operands` (a table,
 * may be NULL) takes what is no option, in order. common->help is set when --help or -h was met, and nothing else
 * counts then. */
furrow_status options_parse(const char *path, const option_group *groups, const option *operands, int argc, char **argv,
                            void *values, common_values *common, furrow_error *err);

/* Whether a table of groups has an option of that name. */
bool option_is_named(const option_group *groups, const char *name);

/* The candidate that a mistyped word was most likely meant to be, or NULL. */
const char *closest_word(const char *word, const char *const *candidates, size_t count);

/* Readers for OPTION_PARSED functions and values inside of values: the whole text must be the number. */
bool read_u64(const char *text, uint64_t *value);
bool read_real(const char *text, double *value);

#endif
