/*
 * cli/cmd_completion.c - completion for a shell, made from the tables of commands and options. Start at render().
 */
#include "config.h" /* _GNU_SOURCE, for open_memstream */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "model/spec.h"
#include "report/export.h"

static const char purpose[] = "completion for a shell, on standard output.\n\n"
                              "  completion bash    then:  source <(ddpbench completion bash)\n\n"
                              "'make install' puts it where bash looks for it.\n";

/* Options whose value is one of a few words; the others are completed as files. */
static const struct {
    const char *where, *words; /* a pattern of COMMAND/OPTION */
} values[] = {
    {"*/--schedule", "ddp split"},  {"*/--comm", "tcp gloo mpi null"},
    {"*/--dtype", "fp32"},          {"*/--optimizer-per-bucket", "auto yes no"},
    {"*/--compute", "real replay"}, {"*/--overlap", "buckets none"},
    {"*/--plot", "term"},           {"history/--format", "csv json openmetrics github-action-benchmark bencher"},
};

static void put_option(void *ctx, const char *name, bool takes_value)
{
    (void)takes_value;
    fprintf(ctx, " --%s", name);
}

/* In a completed word list every word stands as it is: names of commands and options are letters and dashes. */
static char *render(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    fprintf(f, "# bash completion for ddpbench and its launcher; made by 'ddpbench completion bash'\n"
               "_ddpbench()\n{\n"
               "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=run words=\n"
               "    COMPREPLY=()\n"
               "    [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} != -* ]] && command=${COMP_WORDS[1]}\n"
               "    case $command/$previous in\n"
               "    */--model) words='");
    for (int i = 0; model_names[i]; i++)
        fprintf(f, "%s%s", i ? " " : "", model_names[i]);
    fprintf(f, "' ;;\n");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        fprintf(f, "    %s) words='%s' ;;\n", values[i].where, values[i].words);
    fprintf(f, "    report/--format) words='html");
    for (const struct export_format *x = export_formats; x->name; x++)
        fprintf(f, " %s", x->name);
    fprintf(f, "' ;;\n");
    fprintf(f, "    esac\n"
               "    if [[ -n $words ]]; then\n"
               "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
               "        return\n"
               "    fi\n"
               "    case $command in\n");
    for (const struct command *c = commands; c->name; c++) {
        if (!c->options)
            continue;
        fprintf(f, "    %s) words='", c->name);
        options_each(c->options, put_option, f);
        fprintf(f, "' ;;\n");
    }
    fprintf(f, "    esac\n"
               "    [[ $COMP_CWORD -eq 1 ]] && words=\"$words");
    for (const struct command *c = commands; c->name; c++)
        fprintf(f, " %s", c->name);
    fprintf(f, "\"\n"
               "    if [[ $word == -* || $COMP_CWORD -eq 1 ]]; then\n"
               "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
               "    fi\n"
               "}\n"
               "complete -o default -F _ddpbench ddpbench bench ./bench\n");
    return fclose(f) == 0 ? text : (free(text), NULL);
}

int cmd_completion(const struct invocation *in)
{
    struct options o;
    struct err e;
    const char *words[2];
    char **rest = options_words(OPTIONS_COMPLETION, in->argc, in->argv, words, 2);
    int argc = 0;
    while (rest && rest[argc])
        argc++;
    int failed =
        !rest ? err_set(&e, ERR_MEMORY, "out of memory") : options_parse(&o, OPTIONS_COMPLETION, argc, rest, &e);
    free(rest);
    if (failed)
        return output_fail(in, &e);
    if (o.help || o.version)
        return output_help(in, &o, OPTIONS_COMPLETION, purpose);
    if (!words[0] || strcmp(words[0], "bash") != 0 || words[1]) {
        err_set(&e, ERR_USAGE, "completion takes the name of a shell: bash");
        return output_fail(in, &e);
    }
    char *text = render();
    int code = text ? output_text(in, text, ERR_OK) : output_fail(in, &(struct err){ERR_MEMORY, "out of memory"});
    free(text);
    return code;
}
