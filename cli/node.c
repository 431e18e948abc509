/* cli/node.c - see node.h. */
#include "cli/node.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/output.h"
#include "comm/wait.h"
#include "config.h"

enum { CODE_ATTEMPTS = 3, KEY_LINE_S = 10 };

static int signal_fd = -1;
static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
    uint64_t one = 1;
    (void)number;
    if (signalled || write(signal_fd, &one, sizeof one) < 0)
        _exit(ERR_INTERRUPTED);
    signalled = 1;
}

/* 64 digits and the end of the line, byte by byte: what follows is somebody else's. */
static int read_key_line(unsigned char key[static CRYPTO_KEY_BYTES], struct err *e)
{
    char line[2 * CRYPTO_KEY_BYTES + 2] = "";
    uint64_t deadline_ns = wait_deadline(KEY_LINE_S);
    size_t n = 0;
    if (isatty(STDIN_FILENO))
        return err_set(e, ERR_USAGE,
                       "--key-stdin takes a key from another program; on a terminal leave it out and pair");
    while (n + 1 < sizeof line && (n == 0 || line[n - 1] != '\n')) {
        struct err late;
        if (wait_ready(STDIN_FILENO, POLLIN, deadline_ns, -1, "standard input", &late) ||
            read(STDIN_FILENO, line + n, 1) != 1)
            break;
        n++;
    }
    bool whole = n == sizeof line - 1 && line[n - 1] == '\n';
    if (whole)
        line[n - 1] = '\0';
    int result = whole ? crypto_unhex(key, CRYPTO_KEY_BYTES, line) : -1;
    crypto_wipe(line, sizeof line);
    return result ? err_set(e, ERR_DATA, "standard input does not begin with a line of 64 hexadecimal digits") : 0;
}

int node_open(struct node *node, const char *program, const struct options *options, struct err *e)
{
    char name[256] = "";
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    *node = (struct node){.program = program, .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (node->stop_fd < 0)
        return err_set(e, ERR_MEMORY, "no descriptor left: %m");
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (keystore_open(&node->store, NULL, e))
        return -1;
    if (options->key_file && keystore_read_key(node->key, options->key_file, e))
        return -1;
    if (options->key_stdin && read_key_line(node->key, e))
        return -1;
    int inherited;
    if (options->key_file && sscanf(options->key_file, "/dev/fd/%d", &inherited) == 1)
        fcntl(inherited, F_SETFD, FD_CLOEXEC); /* no process of ours needs the key */
    node->has_key = options->key_file || options->key_stdin;
    gethostname(name, sizeof name - 1);
    peer_text_clean(node->name, sizeof node->name, name);
    if (!*node->name)
        snprintf(node->name, sizeof node->name, "unnamed");
    signal_fd = node->stop_fd;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    node_catch_hangup(&action);
    return 0;
}

void node_catch_hangup(const struct sigaction *action)
{
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, action, NULL);
}

void node_close(struct node *node)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    node_catch_hangup(&(struct sigaction){.sa_handler = SIG_DFL});
    if (node->stop_fd >= 0)
        close(node->stop_fd);
    crypto_wipe(node->key, sizeof node->key);
}

/* A line from the terminal; -1 at its end, 1 after a signal. */
static int read_line(const struct node *node, int tty, char *line, size_t size)
{
    struct pollfd p[] = {{tty, POLLIN, 0}, {node->stop_fd, POLLIN, 0}};
    while (poll(p, 2, -1) < 0)
        ;
    if (p[1].revents)
        return 1;
    ssize_t n = read(tty, line, size - 1);
    if (n <= 0)
        return -1;
    line[n] = '\0';
    return 0;
}

int node_ask_code(void *node, const char *peer, char code[static CODE_TEXT_BYTES])
{
    char line[128];
    int result = -1, stopped = 0, tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (tty < 0)
        return -1;
    dprintf(tty, "%s and this node have not met. Type the code that %s shows.\n", peer, peer);
    for (int i = 0; i < CODE_ATTEMPTS && result; i++) {
        dprintf(tty, "code: ");
        stopped = read_line(node, tty, line, sizeof line);
        if (stopped)
            break;
        result = code_normalize(code, line);
        if (result)
            dprintf(tty, "a code is twelve letters and digits, such as k7qm-2xpr-9wtd\n");
    }
    crypto_wipe(line, sizeof line);
    close(tty);
    return stopped > 0 ? 1 : result;
}

/* ---- calling others ---- */

static void warn(void *ctx, const char *text)
{
    const struct node *node = ctx;
    output_warn(node->program, text);
}

struct session_options node_call(struct node *node, const struct options *options)
{
    return (struct session_options){.store = &node->store,
                                    .interface = options->iface,
                                    .file_key = node->has_key ? node->key : NULL,
                                    .own_name = node->name,
                                    .version = PACKAGE_VERSION,
                                    .peer_timeout_s = options->peer_timeout_s,
                                    .this_host = options->test_this_host,
                                    .stop_fd = node->stop_fd,
                                    .ask_code = node_ask_code,
                                    .warn = warn,
                                    .ctx = node};
}

int node_connect(struct session *session, const struct session_options *call, struct err *e)
{
    if (session_connect(session, call, e))
        return -1;
    for (int i = 0; i < session->peers_n; i++)
        if (session->peers[i].paired)
            output_say("paired with %s: no code is asked for from now on", session->peers[i].name);
    return 0;
}
