/*
 * cli/commands.h - the commands of the program and what each of them is given.
 *
 * One file per command, cli/cmd_NAME.c, with one function cmd_NAME(). A command parses its own arguments
 * (cli/options.h), prints its result on stdout and its talk on stderr (cli/output.h) and returns the exit
 * code; only main() exits. A new command is a row in the table in main.c and one file.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stdbool.h>

struct invocation {
    const char *program; /* how texts name the program, e.g. "./bench"; see cli/output.h */
    const char *command; /* "run", also if the user left the word out */
    bool command_given;  /* the word was on the command line */
    int argc;            /* the command's own arguments: argv[0] is the command, argv[argc] NULL */
    char **argv;
    int full_argc; /* what main() was given, for the record and for starting again */
    char **full_argv;
    bool json; /* --json is among the arguments, known before they are parsed */
};

struct command {
    const char *name;
    int (*function)(const struct invocation *in);
    const char *help; /* one line */
    int options;      /* enum options_of, for completion */
};

/* Ends with a row of NULLs. */
extern const struct command commands[];

int cmd_run(const struct invocation *in);
int cmd_probe(const struct invocation *in);
int cmd_info(const struct invocation *in);
int cmd_serve(const struct invocation *in);
int cmd_predict(const struct invocation *in);
int cmd_link(const struct invocation *in);
int cmd_peers(const struct invocation *in);
int cmd_soak(const struct invocation *in);
int cmd_trace(const struct invocation *in);
int cmd_compare(const struct invocation *in);
int cmd_history(const struct invocation *in);
int cmd_doctor(const struct invocation *in);
int cmd_completion(const struct invocation *in);
int cmd_report(const struct invocation *in);
int cmd_demo(const struct invocation *in);

#endif
