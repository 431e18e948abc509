/*
 * cli/cmd_run.c - the default command: what this node is, a run on it, its result on stdout and in a file.
 *
 * Start at run_command(). cmd_soak.c is another command that is a run; what is made of a run is in job_judge.c and
 * job_deliver.c. The order matters: everything that can be wrong with the request is found before anything takes time,
 * OpenBLAS's kernel is settled before anything uses it (that may start the program again), and the rate of products is
 * measured on the threads and right before the steps it is compared with. With several ranks all of them come through here;
 * the others tell rank 0 at the end what they have measured, and only rank 0 speaks.
 */
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/job.h"
#include "cli/live.h"
#include "cli/node.h"
#include "cli/output.h"
#include "cli/predict_run.h"
#include "cli/work.h"
#include "report/store.h"
#include "report/table.h"
#include "report/table_predict.h"

static volatile sig_atomic_t stop;
static struct peers *volatile waited_for; /* peers, while there is no step that could be finished first */

static struct launched *volatile ended_at_once; /* a launcher leaves no time for the step in progress */

static bool quiet; /* a worker: rank 0 speaks */

/* The first signal ends the run after the step in progress, the second one ends the program. */
static void on_signal(int number)
{
    static const char text[] = "\nstopping after this step; once more to stop at once\n";
    (void)number;
    if (ended_at_once) {
        stop = 1;
        launched_abandon(ended_at_once);
        return;
    }
    if (stop)
        _exit(ERR_INTERRUPTED);
    stop = 1;
    ssize_t unheard = quiet ? 0 : write(STDERR_FILENO, text, sizeof text - 1);
    (void)unheard;
    if (waited_for)
        peers_interrupt(waited_for);
}

static void catch_signals(bool worker)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    quiet = worker;
    sigaction(SIGTERM, &action, NULL);
    node_catch_hangup(&action); /* a closed terminal: what was measured is worth keeping */
    if (worker)                 /* Ctrl-C reaches all ranks; rank 0 tells the others when to stop */
        action.sa_handler = SIG_IGN;
    sigaction(SIGINT, &action, NULL);
}

static struct counters counters_now(const struct probe *probe)
{
    return (struct counters){probe_throttled_now(probe), probe_heat_events_now(probe), probe_stolen_s_now(probe),
                             clock_now_ns()};
}

/* Tells the notes that came since the last time. */
static void tell(struct job *s)
{
    struct notes fresh = {.dropped = s->notes.dropped};
    for (int i = s->notes_told; i < s->notes.n; i++)
        memcpy(fresh.text[fresh.n++], s->notes.text[i], sizeof fresh.text[0]);
    s->notes_told = s->notes.n;
    output_notes(s->in, &fresh);
}

/* How long the run will take in seconds, from the rate of products just measured; NaN if that is unknown. A step
 * is taken to need 1.3 times its weight products: attention and all that is no product come on top. */
static double expected_s(const struct run *run, double flops_per_s)
{
    const struct run_options *o = &run->options;
    double tokens = (double)run->net.B * run->net.T * o->accum;
    double step_s = 1.3 * tokens * model_flops_per_token(&run->net.layout) / flops_per_s;
    double timed_s = o->steps >= 0 ? o->steps * step_s : fmax(o->time_s, 5 * step_s);
    double floor_s = o->floor && o->steps > 0 ? fmax(timed_s / RUN_FLOOR_SHARE, RUN_FLOOR_MIN * step_s / 1.3) : 0;
    double alone_s = o->world > 1 && o->baseline && o->steps != 0 ? 2 * fmax(3 * step_s, 2) + step_s : 0;
    if (o->rehearse)
        alone_s += 3 * 1.6 * step_s;
    return alone_s + o->warmup * step_s + timed_s + floor_s + o->eval_batches * step_s / (3 * o->accum);
}

static void tell_plan(const struct job *s)
{
    const struct run *run = &s->run;
    const struct run_options *o = &run->options;
    char length[96], duration[48] = "", accum[32] = "", ranks[48] = "";
    bool unequal = o->shares || (o->global_batch && o->global_batch % (o->world * o->accum));
    if (o->world > 1)
        snprintf(ranks, sizeof ranks, unequal ? "%d ranks, on this one " : "%d ranks, each ", o->world);
    if (o->accum > 1)
        snprintf(accum, sizeof accum, " x %d", o->accum);
    if (o->steps >= 0)
        snprintf(length, sizeof length, "%d timed step%s", o->steps, o->steps == 1 ? "" : "s");
    else
        snprintf(length, sizeof length, "timed steps for %g s, at least 5", o->time_s);
    double seconds = expected_s(run, s->rate.flops_per_s);
    char text[64] = "";
    if (isfinite(seconds))
        snprintf(text, sizeof text, "; about %s",
                 table_seconds(duration, sizeof duration, seconds < 1 ? 1 : round(seconds)));
    output_say("plan: %s, %sbatch %d x %d%s, %d thread%s; %d warm-up step%s, then %s%s", run->spec.name, ranks,
               run->net.B, run->net.T, accum, o->threads, o->threads == 1 ? "" : "s", o->warmup,
               o->warmup == 1 ? "" : "s", length, text);
}

/* The communication thread inherits where this one may run: on every CPU of the rank, not on this thread's alone. */
static void roam(void *probe, bool on)
{
    struct probe *p = probe;
    if (on) {
        probe_roam_part(p);
    } else {
        struct notes none = {0};
        probe_bind_part(p, p->first_place, p->threads, &none, NULL);
    }
}

/* What this node offers to this rank. */
static int look_around(struct job *s, struct err *e)
{
    struct run_options *o = &s->options.run;
    static char source[160];
    static struct notes unheard;
    if (probe_read(&s->probe, s->options.sysroot, s->options.threads, &s->notes, e))
        return -1;
    if (ranks_meet(&s->ranks, &s->probe.affinity.usable, e))
        return -1;
    if (s->ranks.sharing > 1)
        probe_share_threads(&s->probe, s->ranks.sharing, s->options.threads,
                            s->options.compute.replay ? &unheard : &s->notes); /* who sleeps needs no turn */
    o->threads = s->probe.threads;
    double quota_cpus = s->probe.cgroup.quota_cpus / s->ranks.here;
    o->quota_cpus = isfinite(quota_cpus) ? quota_cpus : 0;
    o->memory_limit_bytes = isfinite(s->probe.memory.limit_bytes) ? s->probe.memory.limit_bytes / s->ranks.here : 0;
    o->memory_limit_source = s->probe.memory.limit_source;
    if (s->ranks.here > 1) {
        snprintf(source, sizeof source, "%.100s, divided by %d ranks", s->probe.memory.limit_source, s->ranks.here);
        o->memory_limit_source = source;
    }
    return 0;
}

/* From here on there are other ranks, and they go the same way. */
static int join(struct job *s, struct err *e)
{
    struct run_options *o = &s->run.options;
    if (o->world == 1)
        return 0;
    if (o->rank == 0)
        probe_unbind_self(&s->probe); /* OpenMP may have tied this thread down, and workers inherit that */
    json_t *plan = s->ranks.peers.list.n ? work_train_plan(&s->options, &s->run) : NULL;
    int result = ranks_start(&s->ranks, &s->options, plan, s->in, e);
    json_decref(plan);
    if (s->ranks.peers.list.n) /* setting up the session had its own way with signals */
        catch_signals(false);
    if (result)
        return -1;
    if (s->ranks.peers.open)
        waited_for = &s->ranks.peers;
    o->team = &s->ranks.team;
    o->abandon = s->ranks.lost;
    if (o->threads > 1 && !o->replay) {
        o->roam = roam;
        o->roam_ctx = &s->probe;
    }
    if (!team_reduces(o->team))
        notes_add(&s->notes,
                  "--comm null: no gradient is exchanged, so each rank trains by itself and the losses are not "
                  "those of data-parallel training; the times show what all the rest costs");
    return 0;
}

static void tell_prediction(const struct job *s)
{
    char *line = s->prediction ? table_prediction_line(s->prediction) : NULL;
    if (line)
        output_say("predicted: %s", line);
    free(line);
}

/* After the rehearsal, before the first distributed step. */
static void foretell(void *ctx, const struct run *run)
{
    struct job *s = ctx;
    struct err e;
    json_t *made = predict_run_rehearsed(run, &e);
    if (!made) {
        s->unpredicted = e;
        return;
    }
    json_decref(s->prediction);
    s->prediction = made;
    progress_clear(&s->progress);
    tell_prediction(s);
}

/* What this run will be, as far as it was measured before: the alone run and the link are older than this one. A run that
 * rehearses knows better. */
static void predict_first(struct job *s)
{
    char folder[PATH_MAX];
    struct err *e = &s->unpredicted;
    if (s->run.options.rank > 0 || s->ranks.peers.list.n == 0)
        return;
    if (!s->options.predict_first)
        err_set(e, ERR_USAGE, "--no-predict");
    else if (s->run.options.rehearse)
        err_set(e, ERR_USAGE, "the run ended before its rehearsal");
    else if (s->options.emulate)
        err_set(e, ERR_USAGE, "the link is emulated, and was measured as it is");
    else if (s->options.compute.replay)
        err_set(e, ERR_USAGE, "computing is replayed");
    else if (s->run.unequal)
        err_set(e, ERR_USAGE, "unequal shares are not predicted before a run");
    else if (store_place(folder, sizeof folder, s->options.results_dir, e) == 0)
        s->prediction = predict_run_before(&s->run, folder, &s->ranks.peers.list, s->ranks.local_addr,
                                           s->ranks.node ? s->ranks.node : s->probe.name, s->options.backend->name, e);
    tell_prediction(s);
}

/* OpenBLAS's kernel. May start the program again. */
static int settle_kernel(struct job *s, struct err *e)
{
    struct model_spec known;
    if (model_spec_find(&known, s->options.run.model, e))
        return -1;
    return blas_choice_apply(&s->blas, s->in->full_argv, &s->notes, e);
}

static int load_replay(struct job *s, struct err *e)
{
    const struct compute *c = &s->options.compute;
    if (!c->replay)
        return 0;
    for (int i = 0; i < c->slow_n; i++)
        if (c->slow[i].rank >= s->run.options.world)
            return err_set(e, ERR_USAGE, "--compute: slow=%d:%g names rank %d of %d", c->slow[i].rank,
                           c->slow[i].factor, c->slow[i].rank, s->run.options.world);
    s->replay.slow = compute_slow(c, s->run.options.rank);
    notes_add(&s->notes,
              "--compute replay: computation is slept through as it was recorded, so nothing is learned, and what "
              "communication takes from computing does not show");
    return *c->path ? compute_load(c, &s->replay, &s->run, e) : 0;
}

/* Everything before the first step. */
static int prepare(struct job *s, struct err *e)
{
    struct run_options *o = &s->options.run;
    if (!s->ranks.launched.launch.ops && settle_kernel(s, e))
        return -1;
    if (look_around(s, e))
        return -1;
    o->stop = &stop;
    if (s->ranks.peers.list.n && s->options.predict_first && o->baseline && o->steps != 0 &&
        s->options.backend->kind != BACKEND_NOTHING) {
        o->rehearse = true;
        o->foretell = foretell;
        o->foretell_ctx = s;
    }
    if (o->rank > 0)
        o->save = NULL;
    if (s->options.compute.replay)
        o->replay = &s->replay;
    if (run_plan(&s->run, o, &s->notes, e) || load_replay(s, e))
        return -1;
    if (join(s, e))
        return -1;
    predict_first(s); /* the session has told from which address its link goes out */
    gemm_set_threads(o->threads);
    if (gemm_threads() < o->threads)
        notes_add(&s->notes, "this OpenBLAS was built for %d threads at most: products run on so many, the rest on %d",
                  gemm_threads(), o->threads);
    if (!o->replay && probe_bind_part(&s->probe, s->ranks.seat * o->threads, o->threads, &s->notes, e))
        return -1;
    if (o->world > 1 && team_barrier(&s->ranks.team, e)) /* so that all measure at once, as they will work */
        return -1;
    s->rate = gemm_measure(o->threads, JOB_RATE_SECONDS);
    if (o->rank > 0)
        return 0;
    store_doubt(&s->notes, s->options.results_dir);
    tell_plan(s);
    tell(s);
    return 0;
}

/* What the watching thread holds for a moment is not the run's. */
static void hush(void *watch, bool on)
{
    watch_pause(watch, on);
}

/* One rank of a node takes its readings. */
static void start_watching(struct job *s)
{
    struct ranks *ranks = &s->ranks;
    s->watches = ranks->seat == 0;
    if (!s->watches)
        return;
    health_open(&s->health, &s->probe);
    watch_start(&s->watch, &s->health, &s->probe, s->probe.threads * ranks->sharing);
    s->run.options.hush = hush;
    s->run.options.hush_ctx = &s->watch;
}

static void tell_others(void *ranks, const struct step_word *word)
{
    ranks_tell_step(ranks, word);
}

static bool hear_other(void *ranks, int rank, struct step_word *word)
{
    return ranks_step(ranks, rank, word);
}

static void execute(struct job *s)
{
    waited_for = NULL;
    progress_init(&s->progress);
    clock_utc(s->started);
    start_watching(s);
    s->before = counters_now(&s->probe);
    struct live live = {.progress = s->ranks.rank == 0 ? &s->progress : NULL,
                        .run = &s->run,
                        .fd = s->options.live,
                        .tell = tell_others,
                        .hear = hear_other,
                        .others = &s->ranks};
    s->executed = run_execute(&s->run, live_show, &live, &s->notes, &s->err) == 0;
    s->after = counters_now(&s->probe);
    watch_stop(&s->watch);
    progress_clear(&s->progress);
    if (s->executed && s->run.interrupted && s->run.n == 0)
        err_set(&s->err, ERR_INTERRUPTED, "interrupted before the first timed step was done: nothing was measured");
    else if (s->executed && s->run.interrupted)
        err_set(&s->err, ERR_INTERRUPTED, "interrupted after %d timed step%s; what was measured is kept", s->run.n,
                s->run.n == 1 ? "" : "s");
    if (!s->executed && stop && s->ranks.launched.launch.ops) {
        s->run.interrupted = true;
        err_set(&s->err, ERR_INTERRUPTED,
                "ended by a signal after %d timed step%s (Ctrl-C, or the launcher because another rank has died)%s",
                s->run.n, s->run.n == 1 ? "" : "s",
                s->run.n && s->ranks.rank == 0 ? "; what was measured is kept" : "");
    }
    job_judge(s);
    ranks_leave(&s->ranks, &s->run, &s->notes, &s->err);
    job_doubt_emulation(s);
    if (s->ranks.rank == 0)
        tell(s);
}

/* The request cannot be met, or a rank was lost before the first step. */
static int give_up(struct job *s)
{
    waited_for = NULL;
    ranks_leave(&s->ranks, &s->run, &s->notes, &s->err);
    if (s->ranks.rank > 0)
        return job_report(s);
    tell(s);
    return output_fail(s->in, &s->err);
}

/* Under a launcher the error is mostly everybody's, and rank 0 tells it: mpirun ends the others then. Who is still there
 * after a while has an error of its own. */
static int fail(const struct invocation *in, struct err *e)
{
    int rank = launch_look().rank;
    if (rank > 0) {
        nanosleep(&(struct timespec){.tv_sec = 5}, NULL);
        err_context(e, "rank %d", rank);
    }
    return output_fail(in, e);
}

/* mpirun -n 2 of a run that knows nothing of it is two runs that disturb each other. */
static void note_launcher(struct job *s)
{
    struct launch_hint hint = launch_look();
    if (hint.world > 1 && s->options.backend->kind != BACKEND_LAUNCHED && !s->options.worker)
        notes_add(&s->notes,
                  "this is one of %d processes that %s started, and each of them is a run of its own; with --comm mpi "
                  "they are the ranks of one run",
                  hint.world, hint.launcher);
}

int run_command(const struct invocation *in, const struct run_kind *kind)
{
    static struct job s; /* a net's layout and trace are too large for a stack */
    struct err e;
    int code;
    s.in = in;
    s.kind = kind;
    if (options_parse(&s.options, kind->options, in->argc, in->argv, &e))
        return fail(in, &e);
    if (s.options.help || s.options.version)
        return output_help(in, &s.options, kind->options, kind->purpose);
    if (kind->settle)
        kind->settle(&s.options);
    if (s.options.backend->kind == BACKEND_LAUNCHED && settle_kernel(&s, &e))
        return fail(in, &e);
    if (ranks_place(&s.ranks, &s.options, &e))
        return fail(in, &e);
    if (s.ranks.launched.launch.ops)
        ended_at_once = &s.ranks.launched;
    s.options.run.rank = s.ranks.rank;
    s.options.run.world = s.ranks.world;
    note_launcher(&s);
    catch_signals(s.ranks.rank > 0);
    if (prepare(&s, &s.err)) {
        code = give_up(&s);
    } else {
        s.err.code = ERR_OK;
        execute(&s);
        code = s.ranks.rank > 0 ? job_report(&s) : job_deliver(&s);
    }
    ranks_fini(&s.ranks);
    run_fini(&s.run);
    replay_fini(&s.replay);
    judge_fini(&s.judgement);
    probe_fini(&s.probe);
    return code;
}

int cmd_run(const struct invocation *in)
{
    static const struct run_kind kind = {
        .options = OPTIONS_RUN,
        .purpose = "Trains on this node, measures every part of a step and saves the result.\n"};
    return run_command(in, &kind);
}
