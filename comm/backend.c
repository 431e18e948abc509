/* comm/backend.c - see backend.h. */
#include "config.h"

#include "comm/backend.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "comm/backend_module.h"

#ifdef HAVE_GLOO
#define GLOO_BUILT true
#else
#define GLOO_BUILT false
#endif
#ifdef HAVE_MPI
#define MPI_BUILT true
#else
#define MPI_BUILT false
#endif

/* clang-format off */
const struct backend backends[] = {
    {"tcp",  "the ring over sockets",                          BACKEND_RING,     true,       NULL},
    {"gloo", "gloo, the library that PyTorch uses on CPUs",    BACKEND_BESIDE,   GLOO_BUILT, "libgloo-dev"},
    {"mpi",  "the system's MPI, for ranks started by mpirun",  BACKEND_LAUNCHED, MPI_BUILT,  "libopenmpi-dev"},
    {"null", "nothing is exchanged",                           BACKEND_NOTHING,  true,       NULL},
    {NULL,   NULL,                                             BACKEND_NOTHING,  false,      NULL},
};
/* clang-format on */

static const char *only_folder;

void backend_look_in(const char *folder)
{
    only_folder = folder;
}

const struct backend *backend_find(const char *name)
{
    for (const struct backend *b = backends; b->name; b++)
        if (strcmp(b->name, name) == 0)
            return b;
    return NULL;
}

/* The folder of the running program; -1 if the system does not say. */
static int own_folder(char *folder, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", folder, size - 1);
    char *slash = n > 0 ? memrchr(folder, '/', (size_t)n) : NULL;
    if (!slash)
        return -1;
    *slash = '\0';
    return 0;
}

static bool in_folder(char *path, size_t size, const char *folder, const struct backend *b)
{
    int n = snprintf(path, size, "%s/ddpbench-%s.so", folder, b->name);
    return n > 0 && (size_t)n < size && access(path, R_OK) == 0;
}

/* Beside the program, as in a build tree; where it is installed; where it would be if the whole installation were moved. */
static bool find_file(char *path, size_t size, const struct backend *b)
{
    char folder[PATH_MAX], moved[PATH_MAX + 32];
    if (only_folder)
        return in_folder(path, size, only_folder, b);
    if (own_folder(folder, sizeof folder))
        return in_folder(path, size, MODULE_FOLDER, b);
    snprintf(moved, sizeof moved, "%s/../libexec/ddpbench", folder);
    return in_folder(path, size, folder, b) || in_folder(path, size, MODULE_FOLDER, b) ||
           in_folder(path, size, moved, b);
}

static int find_module(char *path, size_t size, const struct backend *b, struct err *e)
{
    if (!b->built)
        return err_set(e, ERR_CONFIG,
                       "this program was built without the %s back-end; install %s, then run: ./bootstrap --with-%s",
                       b->name, b->package, b->name);
    if (find_file(path, size, b))
        return 0;
    return err_set(e, ERR_CONFIG,
                   "the %s back-end's module ddpbench-%s.so is neither beside the program nor in %s; install the "
                   "program again, or run ./bootstrap --with-%s",
                   b->name, b->name, only_folder ? only_folder : MODULE_FOLDER, b->name);
}

int backend_check(const struct backend *b, struct err *e)
{
    char path[PATH_MAX + 64];
    return b->package ? find_module(path, sizeof path, b, e) : 0;
}

int backend_load(const struct backend *b, const struct backend_module **module, struct err *e)
{
    char path[PATH_MAX + 64];
    if (find_module(path, sizeof path, b, e))
        return -1;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return err_set(e, ERR_CONFIG, "the %s back-end does not load (%.300s); the library comes with %s", b->name,
                       dlerror(), b->package);
    const struct backend_module *m = dlsym(handle, BACKEND_MODULE_SYMBOL);
    if (!m || m->version != BACKEND_MODULE_VERSION || m->transport_bytes != sizeof(struct transport))
        return err_set(e, ERR_CONFIG, "%.300s belongs to another version of this program; build or install both again",
                       path);
    *module = m;
    return 0;
}

int backend_open(struct transport *t, const struct backend *b, struct transport *ring, int stop_fd, struct err *e)
{
    const struct backend_module *module;
    *t = (struct transport){.rank = ring->rank, .world = ring->world};
    switch (b->kind) {
    case BACKEND_NOTHING:
        transport_open_null(t, ring->rank, ring->world);
        return 0;
    case BACKEND_BESIDE:
        return backend_load(b, &module, e) ? -1 : module->open(t, ring, stop_fd, e);
    default:
        return err_set(e, ERR_USAGE, "the %s back-end is not opened beside a ring", b->name);
    }
}
