/*
 * cli/options.c - see options.h. Start at option_rows[] (option_rows.h): a row says where a value goes, what is accepted and what
 * --help prints. argp does the parsing; check_names() runs before it because argp accepts abbreviations and
 * words its errors itself.
 */
#include "cli/options.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/option_rows.h"
#include "comm/ssh_start.h"

enum { KEY_FIRST = 256 };

static const struct option_row *find(const char *name, size_t length, int command)
{
    for (int i = 0; i < option_rows_n; i++)
        if ((option_rows[i].commands & command) && strlen(option_rows[i].name) == length &&
            !strncmp(option_rows[i].name, name, length))
            return &option_rows[i];
    return NULL;
}

/* What a row accepts, in words. */
static const char *accepted(const struct option_row *row, char *buf, size_t size)
{
    if (row->kind == INT)
        snprintf(buf, size, "a whole number from %.0f to %.0f", row->low, row->high);
    else if (row->kind == U64)
        snprintf(buf, size, "a whole number from 0 to %" PRId64, INT64_MAX);
    else if (row->kind == REAL)
        snprintf(buf, size, "a number from %g to %g, with a point for decimals", row->low, row->high);
    else
        snprintf(buf, size, "a value (%s)", row->argument);
    return buf;
}

/* Digits only: no sign, no space, no other base. */
static int parse_u64(const char *s, uint64_t *value)
{
    if (!*s || s[strspn(s, "0123456789")])
        return -1;
    errno = 0;
    unsigned long long v = strtoull(s, NULL, 10);
    *value = v;
    return errno == ERANGE ? -1 : 0;
}

/* Plain decimal, with an exponent if it must be: strtod() would also take blanks, hexadecimal, inf and nan.
 * The program never calls setlocale(LC_NUMERIC), so the point is a point. */
static int parse_real(const char *s, double *value)
{
    char *end;
    if (!strchr("0123456789.", *s) || !*s || s[strspn(s, "0123456789.eE+-")])
        return -1;
    *value = strtod(s, &end);
    return *end || end == s || !isfinite(*value) ? -1 : 0;
}

static int refuse(const struct option_row *row, const char *value, struct err *e)
{
    char what[128];
    if (!*value && row->kind == TEXT)
        return err_set(e, ERR_USAGE, "option --%s takes %s, not an empty text", row->name,
                       accepted(row, what, sizeof what));
    return err_set(e, ERR_USAGE, "option --%s takes %s, not '%.80s'", row->name, accepted(row, what, sizeof what),
                   value);
}

static int store(struct options *o, const struct option_row *row, const char *value, struct err *e)
{
    void *to = (char *)o + row->offset;
    uint64_t u = 0;
    double x = 0;
    switch (row->kind) {
    case INT:
        if (parse_u64(value, &u) || (double)u < row->low || (double)u > row->high)
            return refuse(row, value, e);
        *(int *)to = (int)u;
        break;
    case U64:
        if (parse_u64(value, &u) || u > INT64_MAX) /* JSON's integers here are signed */
            return refuse(row, value, e);
        *(uint64_t *)to = u;
        break;
    case REAL:
        if (parse_real(value, &x) || x < row->low || x > row->high)
            return refuse(row, value, e);
        *(double *)to = x;
        break;
    case TEXT:
        if (!*value)
            return refuse(row, value, e);
        *(const char **)to = value;
        break;
    case ON:
    case OFF:
        *(bool *)to = row->kind == ON;
        break;
    }
    return 0;
}

static int unknown(const char *arg, size_t length, int command, struct err *e)
{
    const char *words[OPTION_ROWS_MAX + 1];
    int n = 0;
    for (int i = 0; i < option_rows_n; i++)
        if ((option_rows[i].commands & command) && option_rows[i].help)
            words[n++] = option_rows[i].name;
    words[n] = NULL;
    char name[64];
    const char *bare = arg + strspn(arg, "-");
    snprintf(name, sizeof name, "%.*s", (int)(length - (size_t)(bare - arg)), bare);
    const char *near = suggest_nearest(name, words);
    if (near)
        return err_set(e, ERR_USAGE, "unknown option '%.*s'; did you mean --%s?", (int)length, arg, near);
    return err_set(e, ERR_USAGE, "unknown option '%.*s'; --help lists the options", (int)length, arg);
}

static int stray(const char *arg, int command, struct err *e)
{
    const char *model =
        command & (OPTIONS_RUN | OPTIONS_INFO | OPTIONS_SOAK) ? suggest_nearest(arg, model_names) : NULL;
    if (model)
        return err_set(e, ERR_USAGE, "unexpected argument '%.80s'; did you mean --model %s?", arg, model);
    return err_set(e, ERR_USAGE, "unexpected argument '%.80s'; options are written --name value", arg);
}

/* The row that the first length characters of an argument name. */
static const struct option_row *named(const char *arg, size_t length, int command)
{
    return strncmp(arg, "--", 2) == 0 ? find(arg + 2, length - 2, command)
           : strcmp(arg, "-o") == 0   ? find("output", strlen("output"), command)
                                      : NULL;
}

/* Refuses what argp would guess or word in its own way. After this every argument is a known option, in
 * full, with the number of values it takes. */
static int check_names(int command, int argc, char *const *argv, struct err *e)
{
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (arg[0] != '-' || !arg[1] || strcmp(arg, "--") == 0)
            return stray(arg, command, e);
        if (strcmp(arg, "-h") == 0 || strcmp(arg, "-V") == 0)
            continue;
        const char *equals = strchr(arg, '=');
        size_t length = equals ? (size_t)(equals - arg) : strlen(arg);
        const struct option_row *row = named(arg, length, command);
        if (!row)
            return unknown(arg, length > 80 ? 80 : length, command, e);
        if (!row->argument && equals)
            return err_set(e, ERR_USAGE, "option --%s takes no value, but was given '%.80s'", row->name, equals + 1);
        if (row->argument && !equals) {
            char what[128];
            if (++i == argc || strncmp(argv[i], "--", 2) == 0)
                return err_set(e, ERR_USAGE, "option --%s needs %s", row->name, accepted(row, what, sizeof what));
        }
    }
    return 0;
}

struct input {
    struct options *options;
    struct err *err;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct input *in = state->input;
    if (key == 'h')
        in->options->help = true;
    else if (key == 'V')
        in->options->version = true;
    else if (key == 'o')
        return store(in->options, find("output", strlen("output"), OPTIONS_TRACE), arg ? arg : "", in->err) ? EINVAL
                                                                                                            : 0;
    else if (key >= KEY_FIRST && key < KEY_FIRST + option_rows_n)
        return store(in->options, &option_rows[key - KEY_FIRST], arg ? arg : "", in->err) ? EINVAL : 0;
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static const char *heading(enum option_group group, int command)
{
    if (group != PREDICT)
        return option_headings[group];
    return command & OPTIONS_PREDICT   ? "What is predicted:"
           : command & OPTIONS_COMPARE ? "How they are compared:"
                                       : "Which runs, and what of them:";
}

/* argp's own table for a command: room for every row, every heading and the end. */
static void fill_argp(struct argp_option *list, int command)
{
    bool headed[OTHER + 1] = {false};
    for (int i = 0; i < option_rows_n; i++) {
        const struct option_row *row = &option_rows[i];
        if (!(row->commands & command))
            continue;
        if (!headed[row->group] && heading(row->group, command))
            *list++ = (struct argp_option){.doc = heading(row->group, command), .group = (int)row->group};
        headed[row->group] = true;
        int key = KEY_FIRST + i;
        if (row->offset == offsetof(struct options, help))
            key = 'h';
        else if (row->offset == offsetof(struct options, version))
            key = 'V';
        else if (row->offset == offsetof(struct options, output))
            key = 'o';
        *list++ = (struct argp_option){.name = row->name,
                                       .key = key,
                                       .arg = row->argument,
                                       .flags = row->help ? 0 : OPTION_HIDDEN,
                                       .doc = row->help ? row->help : "",
                                       .group = (int)row->group};
    }
    *list = (struct argp_option){0};
}

enum { ARGP_ROWS = OPTION_ROWS_MAX + OTHER + 2 };

/* Rules that join options. */
static int settle(struct options *o, struct err *e)
{
    if (strcmp(o->dtype, "fp32") != 0)
        return err_set(e, ERR_USAGE, "option --dtype takes fp32 in this version, not '%.80s'", o->dtype);
    if (strcmp(o->schedule, "split") == 0)
        o->run.schedule = SCHEDULE_SPLIT;
    else if (strcmp(o->schedule, "ddp") != 0)
        return err_set(e, ERR_USAGE, "option --schedule takes ddp or split, not '%.80s'", o->schedule);
    o->backend = backend_find(o->comm);
    if (!o->backend)
        return err_set(e, ERR_USAGE, "option --comm takes tcp, gloo, mpi or null, not '%.80s'", o->comm);
    if (o->backend->kind == BACKEND_LAUNCHED && (o->run.world > 1 || o->peers))
        return err_set(e, ERR_USAGE, "option --comm %s takes its ranks from mpirun or srun; leave out --%s", o->comm,
                       o->peers ? "peers" : "spawn");
    if (backend_check(o->backend, e))
        return -1;
    if (o->emulate && emulate_parse(&o->link, o->emulate, e))
        return err_context(e, "option --emulate");
    if (o->emulate && strcmp(o->comm, "tcp") != 0)
        return err_set(e, ERR_USAGE, "--emulate paces the connections of --comm tcp; --comm %s has none of them",
                       o->comm);
    if (strcmp(o->optimizer_per_bucket, "yes") == 0)
        o->run.update = RUN_UPDATE_BUCKET;
    else if (strcmp(o->optimizer_per_bucket, "no") == 0)
        o->run.update = RUN_UPDATE_END;
    else if (strcmp(o->optimizer_per_bucket, "auto") != 0)
        return err_set(e, ERR_USAGE, "option --optimizer-per-bucket takes yes, no or auto, not '%.80s'",
                       o->optimizer_per_bucket);
    if (compute_parse(&o->compute, o->compute_text, e))
        return err_context(e, "option --compute");
    if (o->compute.replay && (o->run.save || o->run.eval_batches))
        return err_set(e, ERR_USAGE, "--compute replay trains nothing: --%s does not go with it",
                       o->run.save ? "save" : "eval");
    if (o->run.batch && o->run.global_batch)
        return err_set(e, ERR_USAGE,
                       "--batch %d is per rank and --global-batch %d over all of them: give one of the two",
                       o->run.batch, o->run.global_batch);
    if (o->key_stdin && o->key_file)
        return err_set(e, ERR_USAGE, "--key-stdin and --key-file are two keys: give one of the two");
    if (o->remote && ssh_start_check_remote(o->remote, e))
        return -1;
    if (o->clear && (o->encrypt || o->require_encrypt))
        return err_set(e, ERR_USAGE, "--clear and --%s contradict each other",
                       o->encrypt ? "encrypt" : "require-encrypt");
    if (o->peers && !o->clear && (o->run.data || o->run.checkpoint || o->run.save))
        o->encrypt = true;
    if (o->encrypt && o->backend->kind != BACKEND_RING && o->backend->kind != BACKEND_NOTHING)
        return err_set(e, ERR_USAGE, "--comm %s carries gradients in clear%s", o->comm,
                       o->peers && (o->run.data || o->run.checkpoint || o->run.save)
                           ? ": allow that with --clear here and on the other nodes, or take --comm tcp"
                           : ", so it does not go with --encrypt");
    if (isnan(o->run.split))
        o->run.split = o->run.eval_batches > 0 ? 0.9 : 1;
    return 0;
}

int options_parse(struct options *o, enum options_of command, int argc, char *const *argv, struct err *e)
{
    *o = option_defaults;
    if (check_names((int)command, argc, argv, e))
        return -1;
    struct argp_option list[ARGP_ROWS];
    fill_argp(list, (int)command);
    struct argp argp = {.options = list, .parser = parse};
    char **copy = malloc(((size_t)argc + 1) * sizeof *copy); /* argp may reorder what it is given */
    if (!copy)
        return err_set(e, ERR_MEMORY, "out of memory");
    memcpy(copy, argv, (size_t)argc * sizeof *copy);
    copy[argc] = NULL;
    struct err said = {ERR_USAGE, "the options cannot be read"};
    struct input in = {o, &said};
    error_t failed = argp_parse(&argp, argc, copy, ARGP_SILENT, NULL, &in);
    free(copy);
    if (failed)
        return err_set(e, said.code, "%s", said.text);
    return o->help || o->version ? 0 : settle(o, e);
}

char **options_words(enum options_of command, int argc, char *const *argv, const char **words, int max)
{
    char **rest = calloc((size_t)argc + 2, sizeof *rest);
    int n = 0, kept = 0;
    if (!rest)
        return NULL;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i], *equals = strchr(arg, '=');
        if (i > 0 && arg[0] != '-') {
            if (n < max)
                words[n++] = arg;
            continue;
        }
        rest[kept++] = argv[i];
        const struct option_row *row = i > 0 && !equals ? named(arg, strlen(arg), (int)command) : NULL;
        if (row && row->argument && i + 1 < argc)
            rest[kept++] = argv[++i];
    }
    if (n < max)
        words[n] = NULL;
    return rest;
}

void options_each(enum options_of command, void (*visit)(void *ctx, const char *name, bool takes_value), void *ctx)
{
    for (int i = 0; i < option_rows_n; i++)
        if ((option_rows[i].commands & (int)command) && option_rows[i].help)
            visit(ctx, option_rows[i].name, option_rows[i].argument != NULL);
}

char *options_help(enum options_of command, const char *synopsis, const char *before, const char *after)
{
    struct argp_option list[ARGP_ROWS];
    fill_argp(list, (int)command);
    struct argp argp = {.options = list, .parser = parse};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    fprintf(f, "Usage: %s\n\n%s\n", synopsis, before);
    argp_help(&argp, f, ARGP_HELP_LONG, (char *)"ddpbench");
    fprintf(f, "%s", after);
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
