/* comm/launch.c - see launch.h: the environment of launchers, and the way into the module. */
#include "comm/launch.h"

#include <stdlib.h>

#include "comm/backend_module.h"

/* Variables by which launchers tell a process its place; the first row whose rank is set counts. Open MPI's come first:
 * its ranks under Slurm have Slurm's too. */
static const struct row {
    const char *launcher, *rank, *world;
} rows[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"MPICH", "PMI_RANK", "PMI_SIZE"},
    {"PALS", "PALS_RANKID", "PALS_NRANKS"},
    {"JSM", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS"},
    {"PMIx", "PMIX_RANK", "PMIX_SIZE"},
};

static int number_in(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    long n = text ? strtol(text, &end, 10) : -1;
    return text && end != text && !*end && n >= 0 && n <= 1 << 20 ? (int)n : -1;
}

struct launch_hint launch_look(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rank = number_in(rows[i].rank);
        if (rank >= 0)
            return (struct launch_hint){rows[i].launcher, rank, number_in(rows[i].world)};
    }
    return (struct launch_hint){NULL, -1, -1};
}

int launch_open(struct launch *l, struct err *e)
{
    const struct backend_module *module;
    struct launch_hint hint = launch_look();
    *l = (struct launch){.world = 1};
    if (!hint.launcher)
        return err_set(e, ERR_USAGE,
                       "--comm mpi is for ranks that a launcher starts; put it in front: mpirun -n 2, or srun -n 2");
    if (backend_load(backend_find("mpi"), &module, e))
        return -1;
    l->ops = module->launch;
    if (l->ops->open(l, e)) {
        l->ops = NULL;
        return -1;
    }
    if (l->world == 1 && hint.world > 1) {
        launch_close(l, 0);
        return err_set(e, ERR_CONFIG,
                       "%s started %d ranks, but MPI sees one alone: the launcher belongs to another MPI than %.120s "
                       "(with srun, see srun --mpi=list)",
                       hint.launcher, hint.world, l->library);
    }
    return 0;
}

int launch_gather(struct launch *l, const void *mine, size_t bytes, void *all, struct err *e)
{
    return l->ops->gather(l, mine, bytes, all, e);
}

int launch_transport(struct launch *l, struct transport *t, struct err *e)
{
    return l->ops->transport(l, t, e);
}

int launch_tell(struct launch *l, bool failed, const char *text, size_t bytes, double seconds, struct err *e)
{
    return l->ops->tell(l, failed, text, bytes, seconds, e);
}

int launch_hear(struct launch *l, int rank, char **text, size_t *bytes, double seconds, struct err *e)
{
    return l->ops->hear(l, rank, text, bytes, seconds, e);
}

void launch_close(struct launch *l, int code)
{
    if (l->ops)
        l->ops->close(l, code);
    l->ops = NULL;
}
