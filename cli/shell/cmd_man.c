/* cli/shell/cmd_man.c: furrow man: the pages of the manual, made from the tables that --help is made from. */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/text_file.h"
#include "furrow/version.h"

enum { NAME_TEXT = 128 };

typedef struct man_values {
  const char *folder;
  bool force;
} man_values;

static const option man_operands[] = {{.name = "DIR",
                                       .kind = OPTION_TEXT,
                                       .help = "the folder to write to; it must exist",
                                       .offset = offsetof(man_values, folder),
                                       .required = true},
                                      {0}};

static const option man_options[] = {
    {.name = "force", .kind = OPTION_FLAG, .help = "replace existing pages", .offset = offsetof(man_values, force)},
    {0}};

static const option_group man_groups[] = {{.title = "Options", .options = man_options}, {0}};

/* ---- roff ----------------------------------------------------------------------------------------------- */

/* Escapes text for roff: a line must not begin with . or ', and dashes and backslashes are special. */
static void put_text(FILE *page, const char *text, size_t size) {
  bool line_start = true;
  for (size_t i = 0; i < size; i++) {
    const char c = text[i];
    if (line_start && (c == '.' || c == '\'')) fputs("\\&", page);
    switch (c) {
    case '\\': fputs("\\e", page); break;
    case '-': fputs("\\-", page); break;
    case '\'': fputs("\\(aq", page); break;
    case '`': fputs("\\(ga", page); break;
    case '^': fputs("\\(ha", page); break;
    case '~': fputs("\\(ti", page); break;
    default: fputc(c, page); break;
    }
    line_start = c == '\n';
  }
}

static void put_line(FILE *page, const char *text) {
  put_text(page, text, strlen(text));
  fputc('\n', page);
}

static void put_title(FILE *page, const char *title) {
  fputs(".SH ", page);
  for (; *title; title++) fputc(toupper((unsigned char)*title), page);
  fputc('\n', page);
}

/* Prints lines unchanged. */
static void put_literal(FILE *page, const char *text, size_t size) {
  fputs(".RS 2\n.nf\n", page);
  put_text(page, text, size);
  if (size && text[size - 1] != '\n') fputc('\n', page);
  fputs(".fi\n.RE\n", page);
}

static void put_paragraphs(FILE *page, const char *text) {
  while (*text) {
    const size_t n = strcspn(text, "\n");
    put_text(page, text, n);
    fputc('\n', page);
    text += n + strspn(text + n, "\n");
    if (*text) fputs(".PP\n", page);
  }
}

/* ---- Parts of a page ------------------------------------------------------------------------------------ */

static void put_option(FILE *page, const option *o) {
  char heading[256];
  option_heading(o, heading, sizeof heading);
  fputs(".TP\n.B ", page);
  put_line(page, heading);
  put_line(page, o->help);
}

/* Captures what a function prints; help texts are far smaller than the buffer. */
static furrow_status put_printed(FILE *page, void (*print)(output *out), furrow_error *err) {
  output printed;
  furrow_status status = output_open(&printed, err);
  if (status != FURROW_OK) return status;
  print(&printed);
  const size_t skip = printed.used && printed.data[0] == '\n';
  put_literal(page, printed.data + skip, printed.used - skip);
  output_close(&printed);
  return FURROW_OK;
}

static furrow_status put_usage(FILE *page, const command *cmd, const char *path, furrow_error *err) {
  output printed;
  furrow_status status = output_open(&printed, err);
  if (status != FURROW_OK) return status;
  put_title(page, "Synopsis");
  print_usage(&printed, cmd, path);
  put_text(page, printed.data, printed.used);
  fputc('\n', page);
  output_close(&printed);
  return FURROW_OK;
}

static void put_groups(FILE *page, const command *cmd) {
  const char *title = "";
  if (cmd->operands) put_title(page, "Operands");
  for (const option *o = cmd->operands; o && o->name; o++) put_option(page, o);
  if (cmd->groups || !cmd->verbs) put_title(page, "Options");
  for (const option_group *group = cmd->groups; group && group->title; group++) {
    if (strcmp(title, group->title) != 0) fprintf(page, ".SS %s\n", group->title);
    title = group->title;
    for (const option *o = group->options; o->name; o++) put_option(page, o);
  }
  if (cmd->verbs) return;
  fputs(".SS Common\n", page);
  for (const option *o = common_options; o->name; o++)
    if (!option_is_named(cmd->groups, o->name)) put_option(page, o);
  for (const option *o = process_options; cmd->on_all_ranks && o->name; o++) put_option(page, o);
}

static void put_verbs(FILE *page, const command *cmd, const char *name) {
  put_title(page, "Commands");
  for (const command *const *verb = cmd->verbs; *verb; verb++) {
    if ((*verb)->hidden) continue;
    fprintf(page, ".TP\n.BR %s\\-%s (1)\n", name, (*verb)->name);
    put_line(page, (*verb)->summary);
  }
}

/* name: "furrow-rows-dump"; path: "furrow rows dump" */
static furrow_status put_page(FILE *page, const command *cmd, const char *name, const char *path, furrow_error *err) {
  fprintf(page, ".TH \"%s\" \"1\" \"\" \"Furrow %s\" \"Furrow\"\n", name, furrow_version());
  put_title(page, "Name");
  put_text(page, name, strlen(name));
  fputs(" \\- ", page);
  put_line(page, cmd->summary ? cmd->summary : cmd->about);
  furrow_status status = put_usage(page, cmd, path, err);
  if (cmd->about) {
    put_title(page, "Description");
    put_paragraphs(page, cmd->about);
  }
  put_groups(page, cmd);
  if (cmd->verbs) put_verbs(page, cmd, name);
  if (status == FURROW_OK && cmd->more) {
    put_title(page, cmd == command_root() ? "Exit status" : "Notes");
    status = put_printed(page, cmd->more, err);
  }
  put_title(page, "Examples");
  put_literal(page, cmd->example, strlen(cmd->example));
  return status;
}

/* ---- Pages ---------------------------------------------------------------------------------------------- */

static furrow_status write_page(const man_values *man, const command *cmd, const char *name, const char *path,
                                furrow_error *err) {
  char file[4096];
  text_file page;
  if (snprintf(file, sizeof file, "%s/%s.1", man->folder, name) >= (int)sizeof file)
    return fail_file(err, FURROW_E_ARGUMENT, man->folder, "the path is too long", 0);
  furrow_status status = text_file_begin(&page, err);
  if (status != FURROW_OK) return status;
  status = put_page(page.out, cmd, name, path, err);
  const furrow_status written = text_file_end(&page, file, man->force, err);
  return status == FURROW_OK ? written : status;
}

/* Writes the pages of a command and of the commands below it. */
static furrow_status write_pages(const man_values *man, const command *cmd, const char *name, const char *path,
                                 furrow_error *err) {
  furrow_status status = write_page(man, cmd, name, path, err);
  for (const command *const *verb = cmd->verbs; status == FURROW_OK && verb && *verb; verb++) {
    char name_below[NAME_TEXT], path_below[NAME_TEXT];
    if ((*verb)->hidden) continue;
    snprintf(name_below, sizeof name_below, "%s-%s", name, (*verb)->name);
    snprintf(path_below, sizeof path_below, "%s %s", path, (*verb)->name);
    status = write_pages(man, *verb, name_below, path_below, err);
  }
  return status;
}

static furrow_status man_run(const void *values, output *out, furrow_error *err) {
  const command *root = command_root();
  const char *folder = ((const man_values *)values)->folder;
  (void)out;
  if (command_verb(root, folder) && access(folder, F_OK) != 0) {
    fail_token(err, folder, "man takes a folder to write to");
    return add_hint(err, "the page is furrow-%s(1): man furrow-%s, or furrow %s --help", folder, folder, folder);
  }
  return write_pages(values, root, root->name, root->name, err);
}

const command man_command = {
    .name = "man",
    .summary = "write the pages of the manual",
    .example = "furrow man /usr/share/man/man1",
    .about = "Writes a page for each command: furrow.1, furrow-rows.1, furrow-rows-dump.1 and so on.",
    .operands = man_operands,
    .groups = man_groups,
    .size = sizeof(man_values),
    .run = man_run,
    .hidden = true,
};
