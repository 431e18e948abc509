/* cli/output.c - see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "report/clean.h"
#include "version.h"

enum { SCHEMA_VERSION = 1 };

static bool beside(char *path, size_t size, const char *folder, const char *name)
{
    int n = snprintf(path, size, "%s/%s", folder, name);
    return n > 0 && (size_t)n < size && access(path, F_OK) == 0;
}

/* The launcher that belongs to a program in a build tree; false for an installed program. */
static bool find_launcher(char *launcher, size_t size)
{
    char folder[PATH_MAX], path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (n <= 0)
        return false;
    folder[n] = '\0';
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = '\0';
    if (!beside(path, sizeof path, folder, "config.status"))
        return false;
    if (beside(launcher, size, folder, "bench"))
        return true;
    slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return beside(launcher, size, folder, "bench");
}

const char *output_program_name(const char *argv0)
{
    static char launcher[PATH_MAX];
    char here[PATH_MAX];
    if (!argv0 || !*argv0)
        return PACKAGE_NAME;
    if (!find_launcher(launcher, sizeof launcher))
        return argv0;
    size_t folder = (size_t)(strrchr(launcher, '/') - launcher);
    if (getcwd(here, sizeof here) && strlen(here) == folder && strncmp(here, launcher, folder) == 0)
        return "./bench";
    return launcher;
}

json_t *output_document(void)
{
    json_t *d = json_object();
    json_object_set_new(d, "schema_version", json_integer(SCHEMA_VERSION));
    json_object_set_new(d, "tool", json_pack("{s:s, s:s}", "name", PACKAGE_NAME, "version", DDPBENCH_VERSION));
    return d;
}

/* A message may quote bytes of the command line or a file name that are no UTF-8, which jansson refuses. */
json_t *output_string(const char *text)
{
    json_t *s = json_string(text);
    if (s)
        return s;
    size_t n = strlen(text);
    char *clean = malloc(n + 1);
    if (!clean)
        return json_null();
    for (size_t i = 0; i <= n; i++)
        clean[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    s = json_string(clean);
    free(clean);
    return s;
}

json_t *output_string_if(const char *text)
{
    return text && *text ? output_string(text) : NULL;
}

void output_set_error(json_t *document, const struct err *e)
{
    json_t *error = json_object();
    json_object_set_new(error, "code", json_integer(e->code));
    json_object_set_new(error, "name", json_string(err_code_name(e->code)));
    json_object_set_new(error, "message", output_string(e->text));
    json_object_set_new(document, "error", error);
}

/* errno is that of the write if ok is false. */
static int flushed(const struct invocation *in, bool ok, int code)
{
    if (ok && fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno != EPIPE) /* `| head` has seen enough; the status says it */
        fprintf(stderr, "%s: cannot write the result to stdout: %s\n", in->program, strerror(errno ? errno : EIO));
    return ERR_IO;
}

int output_json(const struct invocation *in, json_t *document, int code)
{
    char *text = json_dumps(document, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(document);
    if (!text) {
        fprintf(stderr, "%s: out of memory while writing the result\n", in->program);
        return ERR_MEMORY;
    }
    errno = 0;
    bool ok = fputs(text, stdout) >= 0 && putchar('\n') != EOF;
    free(text);
    return flushed(in, ok, code);
}

int output_text(const struct invocation *in, const char *text, int code)
{
    errno = 0;
    return flushed(in, fputs(text, stdout) >= 0, code);
}

/* What a command takes besides options. */
static const char *operands(const char *command)
{
    static const struct {
        const char *command, *operands;
    } takes[] = {
        {"link", " NAME"},
        {"predict", " [RUN|last]"},
        {"report", " RUN|last"},
        {"trace", " RUN|last"},
        {"compare", " A B"},
        {"completion", " bash"},
        {"peers", " list|check|forget"},
        {"demo", " straggler|wifi|bucket|batch"},
    };
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
        if (strcmp(command, takes[i].command) == 0)
            return takes[i].operands;
    return "";
}

int output_help(const struct invocation *in, const struct options *o, enum options_of command, const char *purpose)
{
    char synopsis[512];
    if (!o->help)
        return output_text(in, PACKAGE_NAME " " DDPBENCH_VERSION "\n", ERR_OK);
    snprintf(synopsis, sizeof synopsis, "%s %s%s [OPTION...]", in->program, in->command, operands(in->command));
    char *text = options_help(command, synopsis, purpose, "");
    if (!text)
        return output_fail(in, &(struct err){ERR_MEMORY, "out of memory"});
    int code = output_text(in, text, ERR_OK);
    free(text);
    return code;
}

/* Texts of documents and peers stand in errors and warnings: nothing in them acts on a terminal. */
static void tell(const char *program, const char *kind, const char *text)
{
    flockfile(stderr);
    fprintf(stderr, "%s: %s", program, kind);
    clean_put(stderr, text);
    fputc('\n', stderr);
    funlockfile(stderr);
}

int output_fail(const struct invocation *in, const struct err *e)
{
    tell(in->program, "", e->text);
    if (!in->json)
        return e->code;
    json_t *d = output_document();
    output_set_error(d, e);
    return output_json(in, d, e->code);
}

void output_notes(const struct invocation *in, const struct notes *notes)
{
    for (int i = 0; i < notes->n; i++)
        output_warn(in->program, notes->text[i]);
    if (notes->dropped)
        fprintf(stderr, "%s: warning: %d more warnings\n", in->program, notes->dropped);
}

void output_warn(const char *program, const char *text)
{
    tell(program, "warning: ", text);
}

void output_say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

bool output_is_terminal(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

bool output_wants_colour(int fd)
{
    const char *no = getenv("NO_COLOR");
    return !(no && *no) && output_is_terminal(fd);
}
