/* comm/peer_list.c - see peer_list.h. */
#include "comm/peer_list.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "comm/peer_text.h"

static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:%@[]-";

static int parse_port(const char *text, int *port)
{
    size_t n = strlen(text);
    if (n < 1 || n > 5 || strspn(text, "0123456789") != n)
        return -1;
    *port = atoi(text);
    return *port >= 1 && *port <= 65535 ? 0 : -1;
}

static int take_host(struct peer *peer, const char *from, size_t n)
{
    const char *at = memchr(from, '@', n);
    if (n == 0 || n >= sizeof peer->login)
        return -1;
    memcpy(peer->login, from, n);
    peer->login[n] = '\0';
    n -= at ? (size_t)(at + 1 - from) : 0;
    from = at ? at + 1 : from;
    if (n == 0 || n >= sizeof peer->host)
        return -1;
    memcpy(peer->host, from, n);
    peer->host[n] = '\0';
    return *peer->host == '-' || strpbrk(peer->host, "[]@") ? -1 : 0; /* nor behind a bracket */
}

/* name, name:port, address, [address], [address]:port; several colons without brackets are an IPv6 address. */
static int split(struct peer *peer, const char *word)
{
    const char *colon = strchr(word, ':');
    peer->port = PEER_PORT;
    if (*word == '[') {
        const char *end = strchr(word, ']');
        if (!end || take_host(peer, word + 1, (size_t)(end - word) - 1) || !strchr(peer->host, ':'))
            return -1;
        return end[1] == '\0' ? 0 : end[1] == ':' ? parse_port(end + 2, &peer->port) : -1;
    }
    if (!colon || strchr(colon + 1, ':'))
        return take_host(peer, word, strlen(word));
    return take_host(peer, word, (size_t)(colon - word)) || parse_port(colon + 1, &peer->port) ? -1 : 0;
}

/* ssh:NAME, tcp:NAME, or neither. */
static const char *take_way(struct peer *peer, const char *word)
{
    peer->way = strncmp(word, "ssh:", 4) == 0 ? PEER_SSH : strncmp(word, "tcp:", 4) == 0 ? PEER_TCP : PEER_ANY;
    return peer->way == PEER_ANY ? word : word + 4;
}

static int parse_one(struct peer *peer, const char *word, struct err *e)
{
    char shown[PEER_TEXT_BYTES];
    word = take_way(peer, word);
    peer_text_clean(shown, sizeof shown, word);
    if (!*word)
        return err_set(e, ERR_USAGE, "the list of peers has an empty name in it");
    if (*word == '-')
        return err_set(e, ERR_USAGE, "'%s' is no peer: a name does not begin with a minus sign", shown);
    if (word[strspn(word, allowed)])
        return err_set(e, ERR_USAGE, "'%s' is no peer: only letters, digits and . _ : %% @ [ ] - may stand there",
                       shown);
    if (split(peer, word))
        return err_set(e, ERR_USAGE, "'%s' is no peer: write NAME, ADDRESS, NAME:PORT or [ADDRESS]:PORT", shown);
    if (peer->way == PEER_SSH && peer->port != PEER_PORT)
        return err_set(e, ERR_USAGE, "'ssh:%s' has a port: a node that is started by ssh tells where it listens",
                       shown);
    const char *format = peer->port == PEER_PORT ? "%s" : strchr(peer->host, ':') ? "[%s]:%d" : "%s:%d";
    char name[sizeof peer->name];
    snprintf(name, sizeof name, format, peer->host, peer->port);
    memcpy(peer->name, name, sizeof name);
    return 0;
}

/* The host's name, its first part, and either with .local behind it. */
static bool is_own_name(const char *host)
{
    char own[HOST_NAME_MAX + 1], first[sizeof own];
    if (gethostname(own, sizeof own))
        return false;
    own[sizeof own - 1] = '\0';
    snprintf(first, sizeof first, "%.*s", (int)strcspn(own, "."), own);
    size_t n = strlen(host), bare = n > 6 && strcasecmp(host + n - 6, ".local") == 0 ? n - 6 : n;
    return strcasecmp(host, "localhost") == 0 || strcasecmp(host, own) == 0 ||
           (bare == strlen(first) && strncasecmp(host, first, bare) == 0);
}

int peer_list_parse(struct peer_list *list, const char *text, bool this_host, struct err *e)
{
    list->n = 0;
    if (!*text)
        return err_set(e, ERR_USAGE, "the list of peers is empty");
    char *copy = strdup(text), *rest = copy, *word;
    int result = copy ? 0 : err_set(e, ERR_MEMORY, "out of memory");
    while (result == 0 && (word = strsep(&rest, ","))) {
        struct peer *peer = &list->peer[list->n];
        if (list->n == PEERS_MAX) {
            result = err_set(e, ERR_USAGE, "more than %d peers", PEERS_MAX);
            break;
        }
        result = parse_one(peer, word, e);
        for (int i = 0; result == 0 && i < list->n; i++)
            if (strcasecmp(list->peer[i].name, peer->name) == 0)
                result = err_set(e, ERR_USAGE, "%s is in the list of peers twice", peer->name);
        if (result == 0 && !this_host && is_own_name(peer->host))
            result = err_set(e, ERR_USAGE, "peer is this host: %s; name the other machines only", peer->name);
        list->n++;
    }
    free(copy);
    return result;
}
