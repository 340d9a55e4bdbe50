/* cli/shell/cmd_complete.c: furrow complete: list completions of the last of some words. For the scripts of shells. */
#include "core/commands.h"
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct complete_values {
  text_list words; /* the words after "furrow"; the last one, perhaps empty, is to be completed */
} complete_values;

static const option complete_operands[] = {{.name = "WORD...",
                                            .kind = OPTION_LIST,
                                            .may_be_empty = true,
                                            .help = "the words so far; the last one is completed",
                                            .offset = offsetof(complete_values, words)},
                                           {0}};

typedef struct completing {
  output *out;
  const command *cmd;   /* command that the words name */
  const char *word;     /* the word to complete */
  const text_list *all; /* all words of the line */
  size_t first;         /* index of the first word after the command's name */
} completing;

static bool begins(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static void put_candidate(const completing *c, const char *before, const char *word, const char *about) {
  output_format(c->out, "%s%s\t%.*s\n", before, word, (int)strcspn(about, "\n"), about);
}

/* ---- Values --------------------------------------------------------------------------------------------- */

/* DIR, PREFIX and … are placeholders; yes, SGD and u32 are literal values. */
static bool is_placeholder(const char *choices) {
  for (; *choices; choices++)
    if (islower((unsigned char)*choices) || isdigit((unsigned char)*choices)) return false;
  return true;
}

/* The words that an option takes, separated by |; NULL: it takes any value. */
static const char *choices_of(const option *o) {
  if (o->choices) return o->choices;
  if (!o->argument || !strchr(o->argument, '|') || is_placeholder(o->argument)) return NULL;
  return o->argument;
}

static bool is_number(const option *o) {
  return o->kind == OPTION_U32 || o->kind == OPTION_U64 || o->kind == OPTION_THREADS || o->kind == OPTION_REAL ||
         o->kind == OPTION_COUNT32 || o->kind == OPTION_COUNT64 || o->kind == OPTION_BYTES;
}

/* `before` is the prefix of the candidates: "--index=" if the shell treats it as one word. */
static void put_values(const completing *c, const option *o, const char *before, const char *start) {
  const char *choices = choices_of(o);
  char word[64];
  if (!choices) {
    if (!is_number(o)) output_text(c->out, ":files\n");
    return;
  }
  while (*choices) {
    const size_t n = strcspn(choices, "|");
    if (n < sizeof word) {
      memcpy(word, choices, n);
      word[n] = 0;
      if (begins(word, start) && (isalnum((unsigned char)word[0]) || word[0] == '-'))
        put_candidate(c, before, word, "");
    }
    choices += n + (choices[n] == '|');
  }
}

/* ---- Options -------------------------------------------------------------------------------------------- */

static bool is_named(const option *o, const char *word, size_t length) {
  if (word[0] == '-' && length == 2) return o->letter && o->letter == word[1];
  return length > 2 && strlen(o->name) == length - 2 && memcmp(o->name, word + 2, length - 2) == 0;
}

/* The option that a word names, up to a =; NULL: none. */
static const option *option_of(const command *cmd, const char *word) {
  const size_t length = strcspn(word, "=");
  if (word[0] != '-' || word[1] == 0) return NULL;
  for (const option_group *group = cmd->groups; group && group->title; group++)
    for (const option *o = group->options; o->name; o++)
      if (is_named(o, word, length)) return o;
  for (const option *o = common_options; o->name; o++)
    if (is_named(o, word, length)) return o;
  for (const option *o = process_options; o->name; o++)
    if (is_named(o, word, length)) return o;
  return NULL;
}

static bool was_given(const completing *c, const option *o) {
  for (size_t i = c->first; i + 1 < c->all->count; i++)
    if (option_of(c->cmd, c->all->texts[i]) == o) return true;
  return false;
}

static void put_option(const completing *c, const option *o) {
  char word[128];
  snprintf(word, sizeof word, "--%s", o->name);
  if (begins(word, c->word) && (o->kind == OPTION_LIST || !was_given(c, o))) put_candidate(c, "", word, o->help);
}

static void put_options(const completing *c) {
  for (const option_group *group = c->cmd->groups; group && group->title; group++)
    for (const option *o = group->options; o->name; o++) put_option(c, o);
  for (const option *o = common_options; o->name; o++)
    if (!option_is_named(c->cmd->groups, o->name)) put_option(c, o);
  for (const option *o = process_options; c->cmd->on_all_ranks && o->name; o++) put_option(c, o);
}

/* ---- Words ---------------------------------------------------------------------------------------------- */

static void put_verbs(const completing *c) {
  for (const command *const *verb = c->cmd->verbs; *verb; verb++)
    if (!(*verb)->hidden && begins((*verb)->name, c->word)) put_candidate(c, "", (*verb)->name, (*verb)->summary);
}

/* The operand that the word to complete belongs to. */
static const option *operand_in_hand(const completing *c) {
  const option *operand = c->cmd->operands;
  for (size_t i = c->first; operand && operand->name && i + 1 < c->all->count; i++) {
    const option *o = option_of(c->cmd, c->all->texts[i]);
    if (o && o->kind != OPTION_FLAG && !strchr(c->all->texts[i], '='))
      i++;
    else if (!o && operand->kind != OPTION_LIST)
      operand++;
  }
  return operand && operand->name ? operand : NULL;
}

/* The option whose value is being completed; NULL: none. bash splits --name=value into three words. */
static const option *option_in_hand(completing *c) {
  const char *const *texts = c->all->texts;
  size_t at = c->all->count - 1;
  if (at > c->first && strcmp(c->word, "=") == 0)
    c->word = "";
  else if (at > c->first + 1 && strcmp(texts[at - 1], "=") == 0)
    at--;
  const option *o = at > c->first ? option_of(c->cmd, texts[at - 1]) : NULL;
  return o && o->kind != OPTION_FLAG && !strchr(texts[at - 1], '=') ? o : NULL;
}

static void complete_leaf(completing *c) {
  const option *o = option_in_hand(c), *operand;
  const char *equals = strchr(c->word, '=');
  char before[96];
  if (o) {
    put_values(c, o, "", c->word);
  } else if (c->word[0] == '-' && equals && (o = option_of(c->cmd, c->word))) {
    snprintf(before, sizeof before, "%.*s", (int)(equals + 1 - c->word), c->word);
    put_values(c, o, before, equals + 1);
  } else if (c->word[0] == '-') {
    put_options(c);
  } else if ((operand = operand_in_hand(c))) {
    put_values(c, operand, "", c->word);
  }
}

static furrow_status complete_run(const void *values, output *out, furrow_error *err) {
  const text_list *words = &((const complete_values *)values)->words;
  completing c = {.out = out, .cmd = command_root(), .all = words};
  (void)err;
  if (words->count == 0) return FURROW_OK;
  c.word = words->texts[words->count - 1];
  for (; c.cmd->verbs && c.first + 1 < words->count; c.first++) {
    const command *verb = command_verb(c.cmd, words->texts[c.first]);
    if (strcmp(words->texts[c.first], "help") == 0) continue;
    if (!verb) return FURROW_OK;
    c.cmd = verb;
  }
  if (!c.cmd->verbs)
    complete_leaf(&c);
  else if (c.word[0] == '-')
    put_options(&c);
  else
    put_verbs(&c);
  return FURROW_OK;
}

const command complete_command = {
    .name = "complete",
    .summary = "list completions of the last of some words",
    .example = "furrow complete -- rows d",
    .about = "Used by the scripts of 'furrow completion'. Prints a line for each candidate: the word, a tab, a "
             "description. The line :files stands for file names.",
    .operands = complete_operands,
    .size = sizeof(complete_values),
    .run = complete_run,
    .hidden = true,
};
