/* cli/doctor_host.c - see doctor_host.h. */
#include "config.h" /* _GNU_SOURCE */

#include "cli/doctor_host.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/peer_list.h"
#include "report/store.h"

static bool in_path(const char *program)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        if (snprintf(file, sizeof file, "%.*s/%s", (int)n, path, program) < (int)sizeof file && access(file, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

static void install(struct doctor_finding *f, const char *package)
{
    if (access("/etc/debian_version", F_OK) == 0)
        doctor_remedy(f, "sudo apt-get install %s", package);
    else
        doctor_remedy(f, "install what has it; on Debian that is the package %s", package);
}

static void blas(struct doctor_finding *f, const struct blas_choice *c, const struct notes *notes, const char *failed)
{
    if (failed) {
        doctor_say(f, DOCTOR_IMPOSSIBLE, "%.230s", failed);
        install(f, "libopenblas0-openmp, and unset OPENBLAS_CORETYPE");
    } else if (notes->n > 0) {
        doctor_say(f, DOCTOR_ATTENTION, "%.230s", notes->text[0]);
        if (c->origin == BLAS_USER)
            doctor_remedy(f, "unset OPENBLAS_CORETYPE");
        else
            doctor_remedy(f, "install a newer OpenBLAS: its kernels for this processor are faster than what runs now");
    } else {
        doctor_say(f, DOCTOR_FINE, "%s of OpenBLAS %s", c->core, c->version);
    }
}

static void program(struct doctor_finding *f, const char *name, const char *package, const char *loss)
{
    if (in_path(name)) {
        doctor_say(f, DOCTOR_FINE, "%s is there", name);
    } else {
        doctor_say(f, DOCTOR_ATTENTION, "%s is not in PATH: %s", name, loss);
        install(f, package);
    }
}

/* A key of the user's own, an agent, or at least the name of one in ~/.ssh. */
static void ssh_keys(struct doctor_finding *f)
{
    const char *home = getenv("HOME"), *agent = getenv("SSH_AUTH_SOCK");
    char folder[PATH_MAX];
    bool key = false;
    snprintf(folder, sizeof folder, "%s/.ssh", home ? home : "");
    DIR *d = opendir(folder);
    for (const struct dirent *entry; d && (entry = readdir(d));) {
        size_t n = strlen(entry->d_name);
        key = key || (strncmp(entry->d_name, "id_", 3) == 0 && !(n > 4 && strcmp(entry->d_name + n - 4, ".pub") == 0));
    }
    if (d)
        closedir(d);
    if (key || (agent && access(agent, F_OK) == 0)) {
        doctor_say(f, DOCTOR_FINE, key ? "a key is in ~/.ssh" : "an agent is running");
    } else {
        doctor_say(f, DOCTOR_ATTENTION, "no key in ~/.ssh and no agent: --peers cannot start other nodes by ssh");
        doctor_remedy(f, "ssh-keygen -t ed25519 && ssh-copy-id HOST, or start 'ddpbench serve' there by hand");
    }
}

static void own_name(struct doctor_finding *f)
{
    char name[256] = "";
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    gethostname(name, sizeof name - 1);
    int failed = getaddrinfo(name, NULL, &hints, &found);
    if (failed) {
        doctor_say(f, DOCTOR_ATTENTION, "this host's own name, %.100s, is not known to itself: %s", name,
                   gai_strerror(failed));
        doctor_remedy(f, "echo '127.0.1.1 %.100s' | sudo tee -a /etc/hosts", name);
        return;
    }
    freeaddrinfo(found);
    doctor_say(f, DOCTOR_FINE, "%.100s is known", name);
}

static void port(struct doctor_finding *f)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(PEER_PORT), .sin6_addr = in6addr_any};
    struct sockaddr_in at4 = {.sin_family = AF_INET, .sin_port = htons(PEER_PORT)};
    int s = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, failed;
    if (s >= 0) {
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        failed = bind(s, (struct sockaddr *)&at, sizeof at) || listen(s, 1);
    } else {
        s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        failed = s < 0 || bind(s, (struct sockaddr *)&at4, sizeof at4) || listen(s, 1);
    }
    int error = errno;
    if (s >= 0)
        close(s);
    if (!failed) {
        doctor_say(f, DOCTOR_FINE, "%d is free", PEER_PORT);
    } else {
        doctor_say(f, DOCTOR_ATTENTION, "%d cannot be listened on: %s", PEER_PORT, strerror(error));
        doctor_remedy(f, "see who has it (ss -ltnp 'sport = :%d'), or take another: serve --port N", PEER_PORT);
    }
}

/* Whether a line of a file begins like that. */
static bool has_line(const char *path, const char *start)
{
    char line[256];
    bool found = false;
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = strncmp(line, start, strlen(start)) == 0;
    if (f)
        fclose(f);
    return found;
}

/* Rules themselves are for root; which of the usual front ends is on can be seen by everybody. */
static void firewall(struct doctor_finding *f)
{
    if (has_line("/etc/ufw/ufw.conf", "ENABLED=yes")) {
        doctor_say(f, DOCTOR_ATTENTION, "ufw is on: other nodes may not reach 'serve' here");
        doctor_remedy(f, "sudo ufw allow %d/tcp", PEER_PORT);
    } else if (access("/run/firewalld", F_OK) == 0) {
        doctor_say(f, DOCTOR_ATTENTION, "firewalld is on: other nodes may not reach 'serve' here");
        doctor_remedy(f, "sudo firewall-cmd --add-port=%d/tcp", PEER_PORT);
    } else if (has_line("/proc/net/ip_tables_names", "filter")) {
        doctor_say(f, DOCTOR_UNKNOWN, "rules of iptables are loaded; what they say only root may read");
        doctor_remedy(f,
                      "sudo iptables -S INPUT; to let it through: sudo iptables -I INPUT -p tcp --dport %d -j ACCEPT",
                      PEER_PORT);
    } else {
        doctor_say(f, DOCTOR_UNKNOWN, "neither ufw nor firewalld is on; other rules cannot be seen from here");
    }
}

/* The folder, or what there is of the way to it. */
static const char *nearest(char there[PATH_MAX], const char *folder)
{
    snprintf(there, PATH_MAX, "%s", folder);
    while (access(there, F_OK) != 0) {
        char *slash = strrchr(there, '/');
        if (!slash)
            return strcpy(there, ".");
        slash[slash == there] = '\0';
        if (slash == there)
            break;
    }
    return there;
}

static void results(struct doctor_finding *f, const struct options *o)
{
    char folder[PATH_MAX], there[PATH_MAX];
    struct err e;
    if (store_place(folder, sizeof folder, o->results_dir, &e)) {
        doctor_say(f, DOCTOR_ATTENTION, "%.230s", e.text);
        doctor_remedy(f, "give a folder with --results-dir");
    } else if (access(nearest(there, folder), W_OK | X_OK) != 0) {
        doctor_say(f, DOCTOR_ATTENTION, "%.150s cannot be written to: %s", there, strerror(errno));
        doctor_remedy(f, "give another folder with --results-dir");
    } else {
        doctor_say(f, DOCTOR_FINE, "%.200s", folder);
    }
}

void doctor_host_examine(struct doctor *d, const struct options *o, const struct blas_choice *choice,
                         const struct notes *blas_notes, const char *blas_failed)
{
    blas(doctor_add(d, "BLAS kernel"), choice, blas_notes, blas_failed);
    program(doctor_add(d, "plots"), "gnuplot", "gnuplot-nox", "reports are without plots");
    program(doctor_add(d, "ssh"), "ssh", "openssh-client", "--peers cannot start other nodes");
    ssh_keys(doctor_add(d, "ssh keys"));
    own_name(doctor_add(d, "host name"));
    port(doctor_add(d, "port"));
    firewall(doctor_add(d, "firewall"));
    results(doctor_add(d, "results"), o);
}
