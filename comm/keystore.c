/* comm/keystore.c - see keystore.h. Secrets pass through buffers that are wiped on every way out. */
#include "config.h" /* _GNU_SOURCE, for mkostemp */

#include "comm/keystore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"

enum { FILE_BYTES_MAX = 4096, MACHINE_BYTES = 80, HEX_NODE = 2 * GREETING_NODE_BYTES, HEX_KEY = 2 * CRYPTO_KEY_BYTES };

static int cannot(const char *doing, const char *path, struct err *e)
{
    return err_set(e, errno == ENOSPC || errno == EDQUOT || errno == EIO ? ERR_IO : ERR_CANNOT_CREATE,
                   "cannot %s %.300s: %m", doing, path);
}

/* ---- files ---- */

/* The file's bytes and an end; ERR_NO_INPUT if it is not there. private: refuse what others may read. */
static int read_file(const char *path, char text[static FILE_BYTES_MAX + 1], struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_set(e, errno == ENOENT ? ERR_NO_INPUT : ERR_IO, "cannot read %.300s: %m", path);
    struct stat st;
    int result = 0;
    if (fstat(fd, &st))
        result = err_set(e, ERR_IO, "cannot read %.300s: %m", path);
    else if (S_ISREG(st.st_mode) && (st.st_mode & 077))
        result =
            err_set(e, ERR_NOT_PAIRED, "%.300s holds a key and others may read it (mode %03o); run: chmod 600 %.60s",
                    path, st.st_mode & 0777, path);
    else if (S_ISREG(st.st_mode) && st.st_uid != geteuid() && st.st_uid != 0)
        result = err_set(e, ERR_NOT_PAIRED, "%.300s holds a key and belongs to somebody else", path);
    size_t n = 0;
    while (result == 0 && n < FILE_BYTES_MAX) {
        ssize_t got = read(fd, text + n, FILE_BYTES_MAX - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            result = err_set(e, errno == EISDIR ? ERR_DATA : ERR_IO, "cannot read %.300s: %m", path);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    text[n] = '\0';
    close(fd);
    return result;
}

static int write_file(const char *path, const char *text, struct err *e)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
        return err_set(e, ERR_CANNOT_CREATE, "the path is too long: %.200s...", path);
    int fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
    if (fd < 0)
        return cannot("write", path, e);
    size_t n = strlen(text);
    int result = write(fd, text, n) == (ssize_t)n && fsync(fd) == 0 ? 0 : cannot("write", path, e);
    close(fd);
    if (result == 0 && rename(temporary, path))
        result = cannot("write", path, e);
    if (result)
        unlink(temporary);
    return result;
}

/* A folder that only its owner may enter. */
static int private_folder(const char *path, struct err *e)
{
    struct stat st;
    if (mkdir(path, 0700) == 0)
        return 0;
    if (errno != EEXIST || stat(path, &st) || !S_ISDIR(st.st_mode))
        return cannot("make the folder", path, e);
    if ((st.st_mode & 077) == 0 || chmod(path, 0700) == 0)
        return 0;
    return err_set(e, ERR_NOT_PAIRED, "others may enter %.300s, where keys are kept, and that cannot be changed: %m",
                   path);
}

static int usual_folder(char *folder, size_t size, struct err *e)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;
    if (xdg && xdg[0] == '/') /* the XDG specification: a relative path is to be ignored */
        n = snprintf(folder, size, "%s/ddpbench", xdg);
    else if (home && *home)
        n = snprintf(folder, size, "%s/.local/state/ddpbench", home);
    else
        return err_set(e, ERR_CANNOT_CREATE, "no place for keys: neither XDG_STATE_HOME nor HOME is set");
    if (n < 0 || (size_t)n >= size)
        return err_set(e, ERR_CANNOT_CREATE, "the path of the state folder is too long");
    for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(folder, 0700); /* if it fails, so does what follows, with the better message */
        *slash = '/';
    }
    return 0;
}

int keystore_number(unsigned char node[static GREETING_NODE_BYTES], const char *machine, struct err *e)
{
    unsigned char digest[CRYPTO_KEY_BYTES];
    struct crypto_piece pieces[] = {{node, GREETING_NODE_BYTES}, {machine, strlen(machine)}};
    if (!*machine)
        return 0;
    if (crypto_digest(digest, pieces, 2, e))
        return -1;
    memcpy(node, digest, GREETING_NODE_BYTES);
    return 0;
}

/* Its first line; "" for a machine without one, or one that is still to be set up. */
static void machine_id(char line[static MACHINE_BYTES])
{
    FILE *f = fopen("/etc/machine-id", "re");
    if (!f || !fgets(line, MACHINE_BYTES, f) || strcmp(line, "uninitialized\n") == 0)
        *line = '\0';
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = '\0';
}

/* Made at the first use. Two processes may make it at once: the first link wins. */
static int load_node(struct keystore *store, struct err *e)
{
    char path[PATH_MAX], text[FILE_BYTES_MAX + 1], made[PATH_MAX], machine[MACHINE_BYTES];
    struct err missing;
    snprintf(path, sizeof path, "%s/node", store->folder);
    if (read_file(path, text, &missing)) {
        if (missing.code != ERR_NO_INPUT)
            return err_set(e, missing.code, "%s", missing.text);
        if (crypto_random(store->node, sizeof store->node, e))
            return -1;
        crypto_hex(text, store->node, sizeof store->node);
        snprintf(made, sizeof made, "%s/node.%ld", store->folder, (long)getpid());
        if (write_file(made, text, e))
            return -1;
        int linked = link(made, path);
        int error = errno;
        unlink(made);
        errno = error;
        if (linked && errno != EEXIST)
            return cannot("write", path, e);
        if (read_file(path, text, e))
            return -1;
    }
    text[strcspn(text, "\n")] = '\0';
    if (crypto_unhex(store->node, sizeof store->node, text))
        return err_set(e, ERR_DATA, "%.300s is damaged: it should hold %d hexadecimal digits; remove it", path,
                       HEX_NODE);
    machine_id(machine);
    return keystore_number(store->node, machine, e);
}

int keystore_open(struct keystore *store, const char *folder, struct err *e)
{
    char path[PATH_MAX];
    *store = (struct keystore){.folder = ""};
    if (folder && snprintf(store->folder, sizeof store->folder, "%s", folder) >= (int)sizeof store->folder)
        return err_set(e, ERR_CANNOT_CREATE, "the path is too long: %.200s...", folder);
    if (!folder && usual_folder(store->folder, sizeof store->folder, e))
        return -1;
    snprintf(path, sizeof path, "%s/peers", store->folder);
    if (private_folder(store->folder, e) || private_folder(path, e))
        return -1;
    return load_node(store, e);
}

/* ---- peers ---- */

static void peer_path(const struct keystore *store, const unsigned char *node, char path[static PATH_MAX])
{
    char hex[HEX_NODE + 1];
    crypto_hex(hex, node, GREETING_NODE_BYTES);
    snprintf(path, PATH_MAX, "%s/peers/%s", store->folder, hex);
}

static int parse_peer(struct keystore_peer *peer, const char *text)
{
    json_t *d = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *names = json_object_get(d, "names");
    const char *key = json_string_value(json_object_get(d, "key"));
    const char *since = json_string_value(json_object_get(d, "since"));
    int result = key && since ? crypto_unhex(peer->key, sizeof peer->key, key) : -1;
    snprintf(peer->since, sizeof peer->since, "%.20s", since ? since : "");
    peer->names_n = 0;
    for (size_t i = 0; i < json_array_size(names); i++)
        keystore_add_name(peer, json_string_value(json_array_get(names, i)));
    if (key)
        crypto_wipe((char *)key, strlen(key)); /* jansson's copy, about to be freed */
    json_decref(d);
    return result;
}

int keystore_find(const struct keystore *store, const unsigned char node[static GREETING_NODE_BYTES],
                  struct keystore_peer *peer, struct err *e)
{
    char path[PATH_MAX], text[FILE_BYTES_MAX + 1];
    struct err problem = {0};
    peer_path(store, node, path);
    int result = read_file(path, text, &problem);
    if (result && problem.code == ERR_NO_INPUT)
        return 0;
    memcpy(peer->node, node, sizeof peer->node);
    if (result)
        err_set(e, problem.code, "%s", problem.text);
    else if (parse_peer(peer, text))
        result = err_set(e, ERR_DATA, "%.300s is damaged; remove it and pair again", path);
    crypto_wipe(text, sizeof text);
    return result ? -1 : 1;
}

/* The next file of peers/ that has a number for its name. */
static bool next_node(DIR *folder, unsigned char node[static GREETING_NODE_BYTES])
{
    for (const struct dirent *at; (at = readdir(folder));)
        if (crypto_unhex(node, GREETING_NODE_BYTES, at->d_name) == 0)
            return true;
    return false;
}

static DIR *open_peers(const struct keystore *store, struct err *e)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/peers", store->folder);
    DIR *folder = opendir(path);
    if (!folder)
        err_set(e, ERR_IO, "cannot read %.300s: %m", path);
    return folder;
}

bool keystore_is_called(const struct keystore_peer *peer, const char *name)
{
    for (int i = 0; i < peer->names_n; i++)
        if (strcasecmp(peer->names[i], name) == 0)
            return true;
    return false;
}

int keystore_find_name(const struct keystore *store, const char *name, struct keystore_peer *peer, struct err *e)
{
    DIR *folder = open_peers(store, e);
    unsigned char node[GREETING_NODE_BYTES];
    int found = folder ? 0 : -1;
    while (found == 0 && next_node(folder, node)) {
        found = keystore_find(store, node, peer, e);
        if (found == 1 && !keystore_is_called(peer, name))
            found = 0;
    }
    if (folder)
        closedir(folder);
    if (found != 1)
        crypto_wipe(peer, sizeof *peer);
    return found;
}

void keystore_add_name(struct keystore_peer *peer, const char *name)
{
    char clean[PEER_TEXT_BYTES];
    peer_text_clean(clean, sizeof clean, name);
    if (!*clean || keystore_is_called(peer, clean))
        return;
    if (peer->names_n == KEYSTORE_NAMES_MAX) {
        memmove(peer->names[0], peer->names[1], sizeof peer->names - sizeof peer->names[0]);
        peer->names_n--;
    }
    memcpy(peer->names[peer->names_n++], clean, sizeof clean);
}

int keystore_save(const struct keystore *store, const struct keystore_peer *peer, struct err *e)
{
    char path[PATH_MAX], hex[HEX_KEY + 1], text[FILE_BYTES_MAX], since[21];
    clock_utc(since);
    json_t *names = json_array();
    for (int i = 0; i < peer->names_n; i++)
        json_array_append_new(names, json_string(peer->names[i]));
    char *list = json_dumps(names, 0);
    json_decref(names);
    if (!list)
        return err_set(e, ERR_MEMORY, "out of memory");
    crypto_hex(hex, peer->key, sizeof peer->key);
    snprintf(text, sizeof text, "{\"key\": \"%s\", \"names\": %s, \"since\": \"%s\"}\n", hex, list,
             *peer->since ? peer->since : since);
    free(list);
    peer_path(store, peer->node, path);
    int result = write_file(path, text, e);
    crypto_wipe(hex, sizeof hex);
    crypto_wipe(text, sizeof text);
    return result;
}

int keystore_list(const struct keystore *store, struct keystore_peer *peers, int max, struct err *e)
{
    DIR *folder = open_peers(store, e);
    unsigned char node[GREETING_NODE_BYTES];
    int n = 0, found = 0;
    while (folder && found >= 0 && n < max && next_node(folder, node)) {
        found = keystore_find(store, node, &peers[n], e);
        crypto_wipe(peers[n].key, sizeof peers[n].key);
        n += found == 1;
    }
    if (!folder)
        return -1;
    closedir(folder);
    return found < 0 ? -1 : n;
}

int keystore_forget(const struct keystore *store, const char *name, struct err *e)
{
    char path[PATH_MAX], shown[PEER_TEXT_BYTES];
    unsigned char node[GREETING_NODE_BYTES];
    struct keystore_peer peer = {0};
    int found = 0;
    peer_text_clean(shown, sizeof shown, name);
    if (crypto_unhex(node, sizeof node, name) == 0) {
        memcpy(peer.node, node, sizeof node); /* also if the file is damaged */
        peer_path(store, node, path);
        found = access(path, F_OK) == 0;
    } else {
        found = keystore_find_name(store, name, &peer, e);
    }
    crypto_wipe(peer.key, sizeof peer.key);
    if (found < 0)
        return -1;
    if (!found)
        return err_set(e, ERR_NO_HOST, "no paired node is called %s; 'peers list' shows them", shown);
    peer_path(store, peer.node, path);
    return unlink(path) == 0 ? 0 : cannot("remove", path, e);
}

int keystore_read_key(unsigned char key[static CRYPTO_KEY_BYTES], const char *path, struct err *e)
{
    char text[FILE_BYTES_MAX + 1];
    int result = read_file(path, text, e);
    if (result == 0) {
        text[strcspn(text, "\r\n")] = '\0';
        if (crypto_unhex(key, CRYPTO_KEY_BYTES, text))
            result = err_set(e, ERR_DATA, "%.300s is no key file: it should hold one line of %d hexadecimal digits",
                             path, HEX_KEY);
    }
    crypto_wipe(text, sizeof text);
    return result;
}
