/*
 * comm/transport_mpi.c - MPI as a transport and as what the ranks have in common, in a module of its own; see transport.h
 * and launch.h. Start at open_world().
 *
 * Everything is an operation that does not block, and finish() asks for its end: without pause for as long as a short
 * exchange takes, then with naps. A blocking call of MPI would keep a processor busy while it waits, which here has gradients
 * to compute, and could be neither given up nor interrupted. What is measured is therefore MPI_Iallreduce.
 */
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "comm/backend_module.h"
#include "comm/launch.h"

#define NAP_NS 20000u
#define EAGER_NS 200000u        /* before the first nap */
#define LOOK_NS 1000000u        /* between looks at the clock, at abandon and at what others tell */
#define GATHER_NS 600000000000u /* a rank may have much to prepare */
#define END_NS 10000000000u     /* for rank 0 to end all of them */
#define SMALL_BYTES 65536

enum { TELL_WELL = 1, TELL_FAILED = 2, COUNT_MAX = 1 << 30 };

struct world {
    MPI_Comm data, talk; /* collectives; reports to rank 0 */
    uint64_t timeout_ns;
    /* Small operations take place here: one that is given up goes on whenever MPI is called, and its caller's memory may be
     * somebody else's by then. */
    _Alignas(64) char small[SMALL_BYTES];
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
};

/* MPI's own sentence for one of its codes. */
static int failed(struct launch *l, int code, const char *what, struct err *e)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    l->broken = true;
    return err_set(e, ERR_IO, "%s: MPI says: %.300s", what, text);
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

/* Why a wait should end before what it waits for. */
static int look(struct launch *l, uint64_t since_ns, uint64_t timeout_ns, const char *what, struct err *e)
{
    struct world *w = l->state;
    int told = 0;
    MPI_Status status;
    l->broken = true;
    if (l->abandon && atomic_load_explicit(l->abandon, memory_order_relaxed))
        return err_set(e, ERR_INTERRUPTED, "%s: stopped", what);
    if (l->rank == 0 && MPI_Iprobe(MPI_ANY_SOURCE, TELL_FAILED, w->talk, &told, &status) == MPI_SUCCESS && told)
        return err_set(e, ERR_PEER_LOST, "%s: rank %d gave up", what, status.MPI_SOURCE);
    if (clock_now_ns() - since_ns > timeout_ns)
        return err_set(e, ERR_PEER_LOST, "%s: some rank has not answered for %.0f s", what, (double)timeout_ns * 1e-9);
    l->broken = false;
    return 0;
}

/* Until the request is done. */
static int finish(struct launch *l, MPI_Request *request, uint64_t timeout_ns, const char *what, struct err *e)
{
    uint64_t since_ns = clock_now_ns(), looked_ns = since_ns;
    for (;;) {
        int done = 0, code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            return failed(l, code, what, e);
        if (done)
            return 0;
        uint64_t now_ns = clock_now_ns();
        if (now_ns - looked_ns > LOOK_NS) {
            if (look(l, since_ns, timeout_ns, what, e))
                return -1;
            looked_ns = now_ns;
        }
        if (now_ns - since_ns > EAGER_NS)
            nap();
    }
}

/* ---- the transport ---- */

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum kind { ALLREDUCE, BROADCAST, BARRIER };

static int begin(const struct world *w, enum kind kind, void *data, int n, int root, MPI_Request *request)
{
    if (kind == ALLREDUCE)
        return MPI_Iallreduce(MPI_IN_PLACE, data, n, MPI_FLOAT, MPI_SUM, w->data, request);
    if (kind == BROADCAST)
        return MPI_Ibcast(data, n, MPI_BYTE, root, w->data, request);
    return MPI_Ibarrier(w->data, request);
}

/* MPI counts in int. */
static int run(struct transport *t, enum kind kind, char *data, size_t n, int root, struct call *call, struct err *e)
{
    struct launch *l = t->state;
    struct world *w = l->state;
    size_t size = kind == ALLREDUCE ? sizeof(float) : 1;
    char what[64];
    int result = 0;
    uint64_t cpu_ns = thread_cpu_ns();
    *call = (struct call){.step = call->step, .bucket = call->bucket, .opaque = true, .start_ns = clock_now_ns()};
    snprintf(what, sizeof what, "step %u, bucket %u", call->step, call->bucket);
    if (l->broken)
        result = err_set(e, ERR_PEER_LOST, "%s: an earlier operation was left unfinished", what);
    for (size_t at = 0; result == 0 && (at < n || (at == 0 && kind == BARRIER)); at += COUNT_MAX) {
        MPI_Request request;
        size_t count = n - at < COUNT_MAX ? n - at : COUNT_MAX;
        bool small = data && count * size <= SMALL_BYTES;
        char *from = data ? data + at * size : NULL;
        if (small)
            memcpy(w->small, from, count * size);
        int code = begin(w, kind, small ? w->small : from, (int)count, root, &request);
        result = code == MPI_SUCCESS ? finish(l, &request, w->timeout_ns, what, e) : failed(l, code, what, e);
        if (small && result == 0)
            memcpy(from, w->small, count * size);
    }
    t->unfinished |= result != 0;
    call->end_ns = clock_now_ns();
    call->cpu_ns = thread_cpu_ns() - cpu_ns;
    return result;
}

static int allreduce(struct transport *t, float *data, size_t n, struct call *call, struct err *e)
{
    return run(t, ALLREDUCE, (char *)data, n, 0, call, e);
}

static int broadcast(struct transport *t, void *data, size_t bytes, int root, struct call *call, struct err *e)
{
    if (root < 0 || root >= t->world)
        return err_set(e, ERR_USAGE, "no rank %d among %d to broadcast from", root, t->world);
    return run(t, BROADCAST, data, bytes, root, call, e);
}

static int barrier(struct transport *t, struct call *call, struct err *e)
{
    return run(t, BARRIER, NULL, 0, 0, call, e);
}

static void set_timeout(struct transport *t, uint64_t timeout_ns)
{
    struct launch *l = t->state;
    struct world *w = l->state;
    w->timeout_ns = timeout_ns;
}

static void close_nothing(struct transport *t)
{
    t->state = NULL;
}

static const struct transport_ops operations = {
    "mpi",         "MPI says when an all-reduce began and ended, and nothing of what happened in between",
    allreduce,     broadcast,
    barrier,       set_timeout,
    close_nothing,
};

static int open_transport(struct launch *l, struct transport *t, struct err *e)
{
    (void)e;
    *t = (struct transport){.ops = &operations, .rank = l->rank, .world = l->world, .state = l};
    return 0;
}

/* ---- the world ---- */

static int gather(struct launch *l, const void *mine, size_t bytes, void *all, struct err *e)
{
    struct world *w = l->state;
    MPI_Request request;
    int code = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, w->data, &request);
    if (code != MPI_SUCCESS)
        return failed(l, code, "gathering the ranks", e);
    return finish(l, &request, GATHER_NS, "gathering the ranks", e);
}

static int tell(struct launch *l, bool bad, const char *text, size_t bytes, double seconds, struct err *e)
{
    struct world *w = l->state;
    MPI_Request request;
    uint64_t until_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
    int done = 0, tag = bad ? TELL_FAILED : TELL_WELL;
    int code = bytes > INT_MAX ? MPI_ERR_COUNT : MPI_Isend(text, (int)bytes, MPI_CHAR, 0, tag, w->talk, &request);
    while (code == MPI_SUCCESS && !done && clock_now_ns() < until_ns) {
        code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        nap();
    }
    if (code != MPI_SUCCESS)
        return failed(l, code, "telling rank 0", e);
    if (done)
        return 0;
    l->broken = true;
    return err_set(e, ERR_PEER_LOST, "rank 0 does not listen");
}

static int hear(struct launch *l, int rank, char **text, size_t *bytes, double seconds, struct err *e)
{
    struct world *w = l->state;
    MPI_Message message;
    MPI_Status status;
    uint64_t until_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
    int there = 0, n = 0;
    for (;;) {
        int code = MPI_Improbe(rank, MPI_ANY_TAG, w->talk, &there, &message, &status);
        if (code != MPI_SUCCESS)
            return failed(l, code, "listening to the ranks", e);
        if (there)
            break;
        if (clock_now_ns() >= until_ns)
            return err_set(e, ERR_PEER_LOST, "rank %d does not tell what it measured", rank);
        nap();
    }
    MPI_Get_count(&status, MPI_CHAR, &n);
    *text = malloc((size_t)n + 1);
    if (!*text)
        return err_set(e, ERR_MEMORY, "no memory for %d bytes of a report", n);
    int code = MPI_Mrecv(*text, n, MPI_CHAR, &message, &status);
    if (code != MPI_SUCCESS) {
        free(*text);
        return failed(l, code, "listening to the ranks", e);
    }
    (*text)[n] = '\0';
    *bytes = (size_t)n;
    return 0;
}

/* A rank other than 0 whose part has ended badly: rank 0 speaks and ends all. */
static void wait_for_the_end(void)
{
    signal(SIGTERM, SIG_DFL);
    for (uint64_t until_ns = clock_now_ns() + END_NS; clock_now_ns() < until_ns;)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
}

static void close_world(struct launch *l, int code)
{
    struct world *w = l->state;
    if (code != 0) {
        if (l->rank > 0)
            wait_for_the_end();
        MPI_Abort(MPI_COMM_WORLD, code);
    } else {
        MPI_Comm_free(&w->talk);
        MPI_Comm_free(&w->data);
        MPI_Finalize();
    }
    free(w);
    l->state = NULL;
}

static int duplicate(struct launch *l, MPI_Comm *to, struct err *e)
{
    int code = MPI_Comm_dup(MPI_COMM_WORLD, to);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(*to, MPI_ERRORS_RETURN);
    return code == MPI_SUCCESS ? 0 : failed(l, code, "setting up MPI", e);
}

static void name_node(struct launch *l)
{
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length = 0;
    MPI_Get_processor_name(name, &length);
    snprintf(l->node, sizeof l->node, "%.*s", LAUNCH_NODE_BYTES - 1, name);
}

static int open_world(struct launch *l, struct err *e)
{
    int granted = MPI_THREAD_SINGLE, length = 0;
    struct world *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(e, ERR_MEMORY, "no memory for MPI");
    l->state = w;
    w->timeout_ns = GATHER_NS;
    char own[16] = ""; /* MPI's threads are told from those that compute by the name that they inherit */
    prctl(PR_GET_NAME, own);
    prctl(PR_SET_NAME, "ddp-mpi");
    int started = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &granted);
    prctl(PR_SET_NAME, own);
    if (started != MPI_SUCCESS) {
        free(w);
        return err_set(e, ERR_CONFIG, "MPI does not start");
    }
    MPI_Get_library_version(w->library, &length);
    w->library[strcspn(w->library, "\n,")] = '\0';
    l->library = w->library;
    MPI_Comm_rank(MPI_COMM_WORLD, &l->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &l->world);
    name_node(l);
    int result = 0;
    if (granted < MPI_THREAD_SERIALIZED)
        result = err_set(e, ERR_CONFIG, "%.100s lets only one thread communicate (MPI_THREAD_SERIALIZED is needed)",
                         w->library);
    if (result == 0)
        result = duplicate(l, &w->data, e) || duplicate(l, &w->talk, e) ? -1 : 0;
    if (result == 0)
        return 0;
    MPI_Finalize();
    free(w);
    l->state = NULL;
    return -1;
}

static const struct launch_ops launch = {open_world, gather, open_transport, tell, hear, close_world};

extern const struct backend_module ddpbench_backend __attribute__((visibility("default")));
const struct backend_module ddpbench_backend = {BACKEND_MODULE_VERSION, sizeof(struct transport), NULL, &launch};
