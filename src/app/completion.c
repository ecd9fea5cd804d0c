/* SPDX-License-Identifier: Apache-2.0 */
/* rung completion - small scripts for bash, zsh and fish that ask this program what may come next:
 *
 *     rung completion words -- board cr          the words so far; the last one is incomplete
 *
 * It prints a candidate per line, a tab and a description, or nothing where the shell should complete file names. */
#include "cli/command.h"

#include <string.h>

static const char bash_script[] =
    "# bash completion for rung; made by: rung completion bash\n"
    "_rung() {\n"
    "    local IFS=$'\\n' word=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=($(rung completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null |\n"
    "        cut -f 1))\n"
    "    [[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
    "}\n"
    "complete -o filenames -F _rung rung\n";

static const char zsh_script[] =
    "#compdef rung\n"
    "# zsh completion for rung; made by: rung completion zsh\n"
    "local -a found\n"
    "found=(${(f)\"$(rung completion words -- \"${(@)words[2,CURRENT]}\" 2>/dev/null |\n"
    "    tr '\\t' ':')\"})\n"
    "if (( $#found )); then _describe rung found; else _files; fi\n";

static const char fish_script[] =
    "# fish completion for rung; made by: rung completion fish\n"
    "function __rung_complete\n"
    "    rung completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null\n"
    "end\n"
    "complete -c rung -f -n 'count (__rung_complete) >/dev/null' -a '(__rung_complete)'\n";

/* ---- candidates ---- */

static void offer(const char *start, const char *word, size_t len, const char *help) {
    if (strncmp(word, start, strlen(start)) == 0)
        printf("%.*s\t%s\n", (int)len, word, help);
}

/* First words of commands, each once. */
static void offer_commands(const char *start) {
    const char *last = "";
    for (size_t i = 0; i < rung_command_count; i++) {
        const rung_command *c = rung_command_table[i].command;
        size_t len = strcspn(c->name, " ");
        if (strncmp(last, c->name, len + 1) != 0 || !c->name[len])
            offer(start, c->name, len, c->name[len] ? "several commands" : c->summary);
        last = c->name;
    }
    offer(start, "help", 4, "explain a command");
}

static void offer_options(const rung_command *c, const char *start) {
    for (size_t i = 0; i < c->option_count; i++)
        if (!rung_option_is_operand(&c->options[i]))
            offer(start, c->options[i].name, strlen(c->options[i].name), c->options[i].help);
    offer(start, "--help", 6, "explain this command");
}

/* "text|json": one of these; "N" and "every=MS": anything. */
static void offer_values(const rung_option *o, const char *start) {
    if (!strchr(o->value, '|') || strchr(o->value, '='))
        return;
    for (const char *word = o->value; *word; word += strspn(word, "|")) {
        size_t len = strcspn(word, "|");
        offer(start, word, len, o->help);
        word += len;
    }
}

static void complete(size_t count, const char *const *words) {
    size_t used;
    const char *start = count ? words[count - 1] : "", *before = count > 1 ? words[count - 2] : "";
    const rung_command *c = rung_command_find(count, words, &used);
    if (count < 2 || (count == 2 && strcmp(before, "help") == 0)) {
        offer_commands(start);
        return;
    }
    for (size_t i = 0; count == 2 && i < rung_command_count; i++) {
        const rung_command *one = rung_command_table[i].command;
        if (rung_command_is_of(one, before))
            offer(start, strchr(one->name, ' ') + 1, strlen(strchr(one->name, ' ') + 1),
                  one->summary);
    }
    if (!c || count <= used)
        return;
    for (size_t i = 0; i < c->option_count; i++)
        if (c->options[i].value && strcmp(c->options[i].name, before) == 0) {
            offer_values(&c->options[i], start);
            return;
        }
    if (start[0] == '-')
        offer_options(c, start);
}

/* ---- the command ---- */

typedef struct completion_args {
    rung_words words;
} completion_args;

static const rung_option completion_options[] = {
    RUNG_OPERAND_MANY(completion_args, words, "SHELL",
                      "bash, zsh or fish; the scripts use: words -- WORD ..."),
};

static int run_completion(const rung_command *self, void *args) {
    const rung_words *w = &((const completion_args *)args)->words;
    const char *shell = w->word[0];
    if (strcmp(shell, "words") == 0)
        complete(w->count - 1, w->word + 1);
    else if (strcmp(shell, "bash") == 0)
        fputs(bash_script, stdout);
    else if (strcmp(shell, "zsh") == 0)
        fputs(zsh_script, stdout);
    else if (strcmp(shell, "fish") == 0)
        fputs(fish_script, stdout);
    else
        return rung_command_refuse(self, RUNG_EXIT_USAGE,
                                   "SHELL: expected bash, zsh or fish, not \"%s\"", shell);
    return RUNG_EXIT_OK;
}

const rung_command rung_command_completion = {
    .name = "completion",
    .summary = "print a completion script for a shell",
    .details = "Packages install these scripts. By hand:\n"
               "\n"
               "  source <(rung completion bash)\n"
               "  rung completion zsh > \"${fpath[1]}/_rung\"\n"
               "  rung completion fish > ~/.config/fish/completions/rung.fish\n",
    RUNG_OPTIONS(completion_args, completion_options),
    .run = run_completion,
};
