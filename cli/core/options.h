/* cli/core/options.h: the option tables of the commands.
 *
 * A command has a struct for the values of its options, and tables that say which option fills which field. The tables
 * drive parsing, checks, suggestions and --help:
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

typedef enum option_kind {                  /* type of the field that it fills */
                           OPTION_FLAG = 1, /* bool, true when the option is given */
                           OPTION_TEXT,     /* const char *, as written */
                           OPTION_ENUM,     /* int (or an enum): the index in `choices` */
                           OPTION_U32,      /* uint32_t */
                           OPTION_U64,      /* uint64_t */
                           OPTION_THREADS,  /* uint32_t, at most MOST_THREADS */
                           OPTION_REAL,     /* double */
                           OPTION_COUNT32,  /* int32_t, 1 or more */
                           OPTION_COUNT64,  /* int64_t, 1 or more */
                           OPTION_BYTES,    /* size_t; 65536, 64KiB, 8MiB, 1GiB */
                           OPTION_LIST,  /* text_list: may be given several times; as last operand it takes all words */
                           OPTION_PARSED /* any type: `parse` reads it */
} option_kind;

enum { MOST_TEXTS = 1024, MOST_THREADS = 1024 };

typedef struct text_list {
  const char *texts[MOST_TEXTS];
  size_t count;
} text_list;

typedef struct option {
  const char *name; /* "threads" for --threads; an operand has the name of the usage line ("URI"). NULL ends a table */
  char letter;      /* 'q' if -q is another way to write it; 0: none */
  option_kind kind;
  const char *argument; /* name of the value in the help; NULL: the choices */
  const char *help;
  size_t offset;       /* offset of the field in the group's struct */
  const char *choices; /* OPTION_ENUM: "u32|u64"; OPTION_TEXT: words for shell completion, others are accepted */
  furrow_status (*parse)(const char *text, void *field, furrow_error *err); /* OPTION_PARSED */
  bool required;
  bool may_be_empty; /* OPTION_LIST: also takes empty words */
  bool watched;      /* the value names a model directory that the command reads to its end: it must not be replaced */
  bool from_query;   /* the value names data, which --sql (query_options) can give instead */
  bool written;      /* the value names a file, or a model directory (DIR), that the command writes: core/written.h */
} option;

/* Options that --help lists together and that fill one struct, which may be part of the command's struct. --help joins
 * consecutive groups of the same title. */
typedef struct option_group {
  const char *title;     /* NULL ends a list of groups */
  const option *options; /* ends with an entry without a name */
  size_t offset;         /* offset of the group's struct in the command's struct */
} option_group;

/* Options that many commands have, as entries of their tables; `at` is the offset of the field. */
#define JSON_OPTION(at) \
  { .name = "json", .kind = OPTION_FLAG, .help = "report as JSON", .offset = (at) }
#define FORCE_OPTION(at) \
  { .name = "force", .kind = OPTION_FLAG, .help = "replace existing files", .offset = (at) }
#define QUIET_OPTION(at)                                                                                     \
  {                                                                                                          \
    .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .help = "print no notes and no progress on stderr", \
    .offset = (at)                                                                                           \
  }
/* more: text that is appended to the help, or "". */
#define THREADS_OPTION(at, more)                                                           \
  {                                                                                        \
    .name = "threads", .kind = OPTION_THREADS, .argument = "T",                            \
    .help = "threads to use (0, the default: one for each processor)" more, .offset = (at) \
  }
#define ON_BAD_OPTION(at)                                                                                        \
  {                                                                                                              \
    .name = "on-bad", .kind = OPTION_ENUM, .choices = "error|skip",                                              \
    .help = "what to do about a malformed row: stop with an error, or skip and count it (error)", .offset = (at) \
  }

/* The same as tables of one option, whose field is at the group's offset. */
extern const option json_options[];    /* bool */
extern const option quiet_options[];   /* bool */
extern const option threads_options[]; /* uint32_t */
extern const option memory_options[];  /* size_t, 0: not given */
extern const option plugin_options[];  /* --plugin: registers the formats at once, fills no field */

/* --sql and --database: the option or operand that is marked `from_query` gets the name of the query's result. */
extern const option query_options[];
#define QUERY_PATH "memory://sql"

/* Options of every command. A command's own option of the same name takes precedence. */
typedef struct common_values {
  bool quiet, verbose, help;
  bool mpi;                   /* core/ranks.c looks for it before the words are parsed */
  double rank_timeout;        /* seconds; 0: the default */
  const char *sql, *database; /* of query_options */
} common_values;

extern const option common_options[];
/* Options about processes: every command accepts them; commands that run on all ranks list them. */
extern const option process_options[];

/* Reads argv[0 … argc-1] into `values`. `path` is the command as typed, for messages. `operands` (a table or NULL)
 * takes the words that are not options, in order. If --help or -h is among the words, sets common->help and reads
 * nothing else. */
furrow_status options_parse(const char *path, const option_group *groups, const option *operands, int argc, char **argv,
                            void *values, common_values *common, furrow_error *err);

/* Returns whether the groups have an option of that name. */
bool option_is_named(const option_group *groups, const char *name);
/* Writes "--name" for "the key `name`" and "key `name`" in a message of the library, if the groups have that option.
 * The text does not become longer. */
void options_replace_keys(const option_group *groups, char *text);

/* Returns the candidate that a mistyped word most likely stands for, or NULL. */
const char *closest_word(const char *word, const char *const *candidates, size_t count);

/* Readers for OPTION_PARSED functions; the whole text must be the number. */
bool read_u64(const char *text, uint64_t *value);
bool read_real(const char *text, double *value);

#endif
