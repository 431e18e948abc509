/* cli/main.c - which command, then its exit code. The rest is in cmd_NAME.c. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "config.h"
#include "model/blas_choice.h"

const struct command commands[] = {
    {"run", cmd_run, "train on this node, measure every part of a step, save the result (the default)", OPTIONS_RUN},
    {"probe", cmd_probe, "what this node is: processors, caches, limits, clocks, heat, product rate, memory rate",
     OPTIONS_PROBE},
    {"info", cmd_info, "what a model is: parameters, gradient bytes, operations per token, memory for a batch",
     OPTIONS_INFO},
    {"soak", cmd_soak, "the load of training for some minutes: how the time of a step drifts with heat", OPTIONS_SOAK},
    {"predict", cmd_predict, "what more nodes would bring, how sure that is, and what would change it",
     OPTIONS_PREDICT},
    {"serve", cmd_serve, "wait for another node and work with it", OPTIONS_SERVE},
    {"link", cmd_link, "one link between two nodes: latency, rates, what they cost, how computing slows beside it",
     OPTIONS_LINK},
    {"peers", cmd_peers, "the nodes this one is paired with: list, check, forget", OPTIONS_PEERS},
    {"report", cmd_report, "a saved result as a page with figures, in the terminal, or as CSV, Markdown and others",
     OPTIONS_REPORT},
    {"demo", cmd_demo,
     "straggler, wifi, bucket or batch: up to three minutes that show what slows data-parallel training", OPTIONS_DEMO},
    {"trace", cmd_trace, "what every rank did when, of a saved run, for a trace viewer", OPTIONS_TRACE},
    {"compare", cmd_compare, "is B faster than A? saved runs, one or several of each", OPTIONS_COMPARE},
    {"history", cmd_history, "the saved runs over time: a list, a drawing, a check for what became slower",
     OPTIONS_HISTORY},
    {"doctor", cmd_doctor, "what this machine lacks for a good measurement, and what to do about it", OPTIONS_DOCTOR},
    {"completion", cmd_completion, "completion for bash, on standard output", OPTIONS_COMPLETION},
    {NULL, NULL, NULL, 0},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static int help(const struct invocation *in)
{
    char synopsis[512], before[2048];
    snprintf(synopsis, sizeof synopsis, "%s [COMMAND] [OPTION...]", in->program);
    int n = snprintf(before, sizeof before,
                     "Measures data-parallel training on CPU nodes: real training steps, part by part.\n\nCommands:\n");
    for (const struct command *c = commands; c->name; c++)
        n += snprintf(before + n, sizeof before - (size_t)n, "  %-10s %s\n", c->name, c->help);
    snprintf(before + n, sizeof before - (size_t)n,
             "\n'%s COMMAND --help' lists the options of a command; those of run are:\n", in->program);
    char *text = options_help(
        OPTIONS_RUN, synopsis, before,
        "\nExit status: 0 measured, 1 slower (compare, history --check), 64 usage, 65 bad data file, 66 missing file,\n"
        "68 unknown host, 69 peer missing or busy, 70 wrong result, 71 out of memory, 73 cannot create, 74\n"
        "input/output, 75 peer lost, 76 peers that do not fit together, 77 not paired, 78 configuration, 130\n"
        "interrupted.\n");
    if (!text)
        return output_fail(in, &(struct err){ERR_MEMORY, "out of memory"});
    int code = output_text(in, text, ERR_OK);
    free(text);
    return code;
}

static int unknown(const struct invocation *in)
{
    const char *words[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        words[i] = commands[i].name;
    struct err e;
    const char *near = suggest_nearest(in->command, words);
    if (near)
        err_set(&e, ERR_USAGE, "unknown command '%.80s'; did you mean %s?", in->command, near);
    else
        err_set(&e, ERR_USAGE, "unknown command '%.80s'; '%s --help' lists the commands", in->command, in->program);
    return output_fail(in, &e);
}

/* A result never lands in a file that happened to take descriptor 1 or 2. */
static void reserve_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    static char line[BUFSIZ];
    reserve_standard_descriptors();
    setvbuf(stderr, line, _IOLBF, sizeof line); /* a line is one write: those of other ranks do not get into it */
    signal(SIGPIPE, SIG_IGN);                   /* a closed pipe or a size limit is a failed write with an exit code */
    signal(SIGXFSZ, SIG_IGN);
    int code;
    if (blas_choice_child(argc, argv, &code))
        return code;

    struct invocation in = {.program = output_program_name(argc > 0 ? argv[0] : NULL),
                            .command = "run",
                            .full_argc = argc,
                            .full_argv = argv,
                            .argc = argc,
                            .argv = argv};
    if (argc > 1 && argv[1][0] != '-') {
        in.command = argv[1];
        in.command_given = true;
        in.argc--;
        in.argv++;
    }
    for (int i = 1; i < in.argc; i++)
        in.json |= strcmp(in.argv[i], "--json") == 0;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return help(&in);
    for (const struct command *c = commands; c->name; c++)
        if (strcmp(c->name, in.command) == 0)
            return c->function(&in);
    return unknown(&in);
}
