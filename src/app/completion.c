/* SPDX-License-Identifier: Apache-2.0 */
/* rung completion - scripts for bash, zsh and fish, from the table of commands.
 *
 * A script completes commands, options, and the values of options that have a fixed list of words. Elsewhere the shell
 * completes file names. */
#include "cli/command.h"

#include <string.h>

/* ---- words of the table ---- */

static size_t first_word(const char *name) {
    return strcspn(name, " ");
}

static bool is_first_of_its_family(size_t i) {
    size_t len = first_word(rung_command_table[i]->name);
    for (size_t k = 0; k < i; k++)
        if (first_word(rung_command_table[k]->name) == len &&
            memcmp(rung_command_table[k]->name, rung_command_table[i]->name, len) == 0)
            return false;
    return true;
}

/* Text inside single quotes of a shell, with a backslash before each of `special`. */
static void put_quoted(FILE *out, const char *text, const char *special) {
    for (; *text; text++) {
        if (strchr(special, *text))
            fputc('\\', out);
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, 0}, out);
    }
}

static void put_first_words(FILE *out) {
    for (size_t i = 0; i < rung_command_count; i++)
        if (is_first_of_its_family(i))
            fprintf(out, "%.*s ", (int)first_word(rung_command_table[i]->name),
                    rung_command_table[i]->name);
    fputs("help", out);
}

static const char *summary(const rung_command *c) {
    return strchr(c->name, ' ') ? "several commands" : c->summary;
}

/* A case for each first word with second words: at its place the second words are what to choose from. */
static void put_families(FILE *out, const char *before, const char *behind) {
    for (size_t i = 0; i < rung_command_count; i++) {
        const char *family = rung_command_table[i]->name;
        size_t len = first_word(family);
        if (!family[len] || !is_first_of_its_family(i))
            continue;
        fprintf(out, "    %.*s)\n        if (%s", (int)len, family, before);
        for (size_t k = i; k < rung_command_count; k++)
            if (strncmp(rung_command_table[k]->name, family, len + 1) == 0)
                fprintf(out, "%s ", rung_command_table[k]->name + len + 1);
        fputs(behind, out);
    }
}

static void put_options(FILE *out, const rung_command *c) {
    for (size_t i = 0; i < c->option_count; i++)
        if (!rung_option_is_operand(&c->options[i]))
            fprintf(out, "%s ", c->options[i].name);
    fputs("--help", out);
}

/* "text|json": words to choose from; "N" and "every=MS": something else. */
static bool has_choices(const rung_option *o) {
    return o->value && strchr(o->value, '|') && !strchr(o->value, '=');
}

static void put_choices(FILE *out, const char *choices) {
    for (; *choices; choices++)
        fputc(*choices == '|' ? ' ' : *choices, out);
}

/* ---- bash ---- */

static void put_bash_choices(FILE *out) {
    for (size_t i = 0; i < rung_command_count; i++) {
        const rung_command *c = rung_command_table[i];
        for (size_t k = 0; k < c->option_count; k++)
            if (has_choices(&c->options[k])) {
                fprintf(out, "    '%s/%s') words='", c->name, c->options[k].name);
                put_choices(out, c->options[k].value);
                fputs("' ;;\n", out);
            }
    }
}

static void print_bash(FILE *out) {
    fputs(
        "# bash completion for rung; made by: rung completion bash\n"
        "_rung() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= name=\n"
        "    name=${COMP_WORDS[1]}\n"
        "    case \"$name\" in\n",
        out);
    put_families(out, "( COMP_CWORD == 2 )); then COMPREPLY=($(compgen -W '",
                 "' -- \"$word\")); return; fi\n        name=\"$name ${COMP_WORDS[2]}\" ;;\n");
    fputs("    esac\n    if (( COMP_CWORD == 1 )); then words='", out);
    put_first_words(out);
    fputs("'; else\n    case \"$name/$before\" in\n", out);
    put_bash_choices(out);
    fputs("    *) case \"$name\" in\n", out);
    for (size_t i = 0; i < rung_command_count; i++) {
        fprintf(out, "    '%s') words='", rung_command_table[i]->name);
        put_options(out, rung_command_table[i]);
        fputs("' ;;\n", out);
    }
    fputs("    help) words='", out);
    put_first_words(out);
    fputs("' ;;\n    esac\n"
          "    [[ $word == -* || $name == help ]] || words= ;;\n"
          "    esac\n    fi\n"
          "    if [[ -n $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\"));\n"
          "    else COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
          "}\n"
          "complete -o filenames -F _rung rung\n",
          out);
}

/* ---- zsh ---- */

#define ZSH_SPECIAL "[]:\\" /* inside the brackets of _arguments */

static void put_zsh_option(FILE *out, const rung_option *o) {
    fprintf(out, " \\\n            '%s[", o->name);
    put_quoted(out, o->help, ZSH_SPECIAL);
    fputs("]", out);
    if (has_choices(o)) {
        fputs(":value:(", out);
        put_choices(out, o->value);
        fputc(')', out);
    } else if (o->value) {
        fprintf(out, ":%s:_files", o->value[0] >= 'A' && o->value[0] <= 'Z' ? o->value : "value");
    }
    fputc('\'', out);
}

static void print_zsh(FILE *out) {
    fputs("#compdef rung\n# zsh completion for rung; made by: rung completion zsh\n"
          "local name=${words[2]} skip=2\n"
          "if (( CURRENT == 2 )); then\n    local -a commands=(\n",
          out);
    for (size_t i = 0; i < rung_command_count; i++) {
        const char *name = rung_command_table[i]->name;
        size_t len = first_word(name);
        if (!is_first_of_its_family(i))
            continue;
        fprintf(out, "        '%.*s:", (int)len, name);
        put_quoted(out, summary(rung_command_table[i]), ZSH_SPECIAL);
        fputs("'\n", out);
    }
    fputs("        'help:about a command')\n    _describe command commands\n    return\nfi\ncase "
          "$name in\n",
          out);
    put_families(out, "( CURRENT == 3 )); then compadd ",
                 "; return; fi\n        name=\"$name ${words[3]}\" skip=3 ;;\n");
    fputs("esac\nshift $(( skip - 1 )) words\n(( CURRENT -= skip - 1 ))\ncase $name in\n", out);
    for (size_t i = 0; i < rung_command_count; i++) {
        const rung_command *c = rung_command_table[i];
        fprintf(out, "    '%s')\n        _arguments", c->name);
        for (size_t k = 0; k < c->option_count; k++)
            if (!rung_option_is_operand(&c->options[k]))
                put_zsh_option(out, &c->options[k]);
        fputs(" \\\n            '*:word:_files' ;;\n", out);
    }
    fputs("    help) compadd ", out);
    put_first_words(out);
    fputs(" ;;\nesac\n", out);
}

/* ---- fish ---- */

static void print_fish_option(FILE *out, const char *seen, const rung_option *o) {
    fprintf(out, "complete -c rung -n '%s' -l %s", seen, o->name + 2);
    if (has_choices(o)) {
        fputs(" -x -a '", out);
        put_choices(out, o->value);
        fputc('\'', out);
    } else if (o->value) {
        fputs(" -r", out);
    }
    fputs(" -d '", out);
    put_quoted(out, o->help, "");
    fputs("'\n", out);
}

static void print_fish(FILE *out) {
    char seen[160];
    fputs("# fish completion for rung; made by: rung completion fish\n", out);
    for (size_t i = 0; i < rung_command_count; i++) {
        const rung_command *c = rung_command_table[i];
        size_t len = first_word(c->name);
        if (is_first_of_its_family(i)) {
            fprintf(out, "complete -c rung -f -n __fish_use_subcommand -a %.*s -d '", (int)len,
                    c->name);
            put_quoted(out, summary(c), "");
            fputs("'\n", out);
        }
        snprintf(seen, sizeof seen, "__fish_seen_subcommand_from %.*s", (int)len, c->name);
        if (c->name[len]) {
            fprintf(out, "complete -c rung -f -n '%s' -a %s -d '", seen, c->name + len + 1);
            put_quoted(out, c->summary, "");
            fputs("'\n", out);
            snprintf(seen, sizeof seen,
                     "__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s",
                     (int)len, c->name, c->name + len + 1);
        }
        for (size_t k = 0; k < c->option_count; k++)
            if (!rung_option_is_operand(&c->options[k]))
                print_fish_option(out, seen, &c->options[k]);
    }
}

/* ---- the command ---- */

bool rung_completion_print(const char *shell, FILE *out) {
    if (strcmp(shell, "bash") == 0)
        print_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(out);
    else if (strcmp(shell, "fish") == 0)
        print_fish(out);
    else
        return false;
    return true;
}

typedef struct completion_args {
    const char *shell;
} completion_args;

static const rung_option completion_options[] = {
    RUNG_OPERAND(completion_args, shell, "SHELL", "bash, zsh or fish"),
};

static int run_completion(const rung_command *self, void *args) {
    const char *shell = ((const completion_args *)args)->shell;
    if (rung_completion_print(shell, stdout))
        return RUNG_EXIT_OK;
    return rung_command_refuse(self, RUNG_EXIT_USAGE,
                               "SHELL: expected bash, zsh or fish, not \"%s\"", shell);
}

const rung_command rung_command_completion = {
    .group = RUNG_GROUP_HELP,
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
