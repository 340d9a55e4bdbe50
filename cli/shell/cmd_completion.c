/* cli/shell/cmd_completion.c: furrow completion: the script that lets a shell complete words of the command. */
#include "core/commands.h"
#include <stddef.h>

typedef enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH } shell;

typedef struct completion_values {
  shell shell;
} completion_values;

static const option completion_operands[] = {{.name = "SHELL",
                                              .kind = OPTION_ENUM,
                                              .choices = "bash|zsh|fish",
                                              .help = "bash, zsh or fish",
                                              .offset = offsetof(completion_values, shell),
                                              .required = true},
                                             {0}};

/* Each script calls 'furrow complete', which prints a line for each candidate: word, tab, description; or ":files". */
static const char *const scripts[] = {
    [SHELL_BASH] = "# bash completion for furrow, made by 'furrow completion bash'\n"
                   "_furrow() {\n"
                   "  local word files=\n"
                   "  COMPREPLY=()\n"
                   "  while IFS=$'\\t' read -r word _; do\n"
                   "    if [ \"$word\" = :files ]; then files=yes; else COMPREPLY+=(\"$word\"); fi\n"
                   "  done < <(\"${COMP_WORDS[0]}\" complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
                   "  if [ -n \"$files\" ]; then\n"
                   "    compopt -o filenames 2>/dev/null\n"
                   "    word=${COMP_WORDS[COMP_CWORD]}\n"
                   "    [ \"$word\" != = ] || word=\n"
                   "    while IFS= read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -f -- \"$word\")\n"
                   "  fi\n"
                   "}\n"
                   "complete -F _furrow furrow\n",
    [SHELL_ZSH] = "#compdef furrow\n"
                  "# zsh completion for furrow, made by 'furrow completion zsh'\n"
                  "_furrow() {\n"
                  "  local line files=\n"
                  "  local -a found\n"
                  "  for line in \"${(@f)$(${words[1]} complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
                  "    if [[ $line == ':files' ]]; then\n"
                  "      files=yes\n"
                  "    elif [[ -n $line ]]; then\n"
                  "      found+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
                  "    fi\n"
                  "  done\n"
                  "  (( ! $#found )) || _describe -t words word found\n"
                  "  [[ -z $files ]] || _files\n"
                  "}\n"
                  "if [ \"$funcstack[1]\" = _furrow ]; then _furrow \"$@\"; else compdef _furrow furrow; fi\n",
    [SHELL_FISH] = "# fish completion for furrow, made by 'furrow completion fish'\n"
                   "function __furrow_complete\n"
                   "    set -l words (commandline -opc) (commandline -ct)\n"
                   "    for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)\n"
                   "        if test \"$line\" = ':files'\n"
                   "            __fish_complete_path (commandline -ct)\n"
                   "        else\n"
                   "            echo $line\n"
                   "        end\n"
                   "    end\n"
                   "end\n"
                   "complete -c furrow -f -a '(__furrow_complete)'\n",
};

static furrow_status completion_run(const void *values, output *out, furrow_error *err) {
  const completion_values *completion = values;
  (void)err;
  output_text(out, scripts[completion->shell]);
  return FURROW_OK;
}

const command completion_command = {
    .name = "completion",
    .summary = "print the script with which bash, zsh or fish complete commands and options",
    .example = "source <(furrow completion bash)\n"
               "furrow completion zsh > ~/.zsh/completions/_furrow\n"
               "furrow completion fish > ~/.config/fish/completions/furrow.fish",
    .about = "'make install' installs the scripts of all three shells.",
    .operands = completion_operands,
    .size = sizeof(completion_values),
    .run = completion_run,
};
