/*
 * cli/output.h - what a command says: exactly one result on stdout, everything else on stderr.
 *
 * With --json stdout carries one document whatever happens, so a command ends in exactly one of
 * output_json(), output_text() or output_fail(). All of them flush and check the write: a full disk or a
 * closed pipe makes the exit code 74. Called by the main thread only.
 *
 *     if (something(&e))
 *         return output_fail(in, &e);
 *     return output_json(in, document, ERR_OK);
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/err.h"
#include "base/json.h"
#include "base/notes.h"
#include "cli/commands.h"
#include "cli/options.h"

/* How the user can start this program again. The launcher `bench` executes build trees' ddpbench and cannot
 * pass its own name on, so a program that runs from a build tree with the launcher beside or above it is
 * called "./bench" when the launcher is in the current folder and by the launcher's full path otherwise.
 * In every other case it is argv[0] as it was typed. The result is static. */
const char *output_program_name(const char *argv0);

/* A document with schema_version and tool filled in, for a command to add to. */
json_t *output_document(void);

/* A JSON string; bytes that are no UTF-8 (file names, arguments) become '?' if there are any. */
json_t *output_string(const char *text);

/* The same; NULL for NULL or "", which stand for a text that is not known (json_known). */
json_t *output_string_if(const char *text);

/* Sets document["error"] to {"code", "name", "message"}. */
void output_set_error(json_t *document, const struct err *e);

/* Prints and frees the document; returns code, or 74 if it could not be written. */
int output_json(const struct invocation *in, json_t *document, int code);

/* Prints text on stdout as it is; returns code, or 74 if it could not be written. */
int output_text(const struct invocation *in, const char *text, int code);

/* Answers --help, with purpose as the text before the list of options, and --version. */
int output_help(const struct invocation *in, const struct options *o, enum options_of command, const char *purpose);

/* One sentence on stderr; with --json also a document that holds the error. Returns the exit code. */
int output_fail(const struct invocation *in, const struct err *e);

/* A line of talk on stderr: "./bench: warning: ..." for each note. */
void output_notes(const struct invocation *in, const struct notes *notes);

/* A line of talk on stderr, newline added. */
void output_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "PROGRAM: warning: TEXT"; any thread. */
void output_warn(const char *program, const char *text);

/* Colours and cursor movement are wanted on this stream: a terminal, NO_COLOR unset or empty, not TERM=dumb. */
bool output_is_terminal(int fd);
bool output_wants_colour(int fd);

#endif
