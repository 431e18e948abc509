/*
 * comm/overlap.c - see overlap.h; start reading at serve().
 *
 * The thread looks at one thing only: is bucket number `done` ready? The lock is never held while bytes move.
 */
#include "comm/overlap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "comm/slice.h"

/* Called with the lock held. */
static bool has_work(const struct overlap *o)
{
    return o->failure.code == ERR_OK && o->done < o->n && o->is_ready[o->done];
}

static void *serve(void *argument)
{
    struct overlap *o = argument;
    prctl(PR_SET_NAME, "ddp-comm");
    pthread_mutex_lock(&o->lock);
    o->slice_ns = slice_shorten();
    for (;;) {
        while (!o->stop && !has_work(o))
            pthread_cond_wait(&o->work, &o->lock);
        if (o->stop)
            break;
        int b = o->done;
        struct overlap_bucket bucket = o->bucket[b];
        struct call call = {.step = o->step, .bucket = (uint32_t)b};
        struct err e = {0};
        pthread_mutex_unlock(&o->lock);
        int rc = transport_allreduce(o->transport, bucket.data, bucket.n, &call, &e);
        pthread_mutex_lock(&o->lock);
        o->record[b].call = call;
        if (rc)
            o->failure = e;
        else
            o->done++;
        pthread_cond_signal(&o->progress);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

static void free_arrays(struct overlap *o)
{
    free(o->record);
    free(o->is_ready);
    *o = (struct overlap){0};
}

int overlap_start(struct overlap *o, struct transport *transport, int buckets_max, struct err *e)
{
    *o = (struct overlap){.transport = transport, .buckets_max = buckets_max};
    if (buckets_max < 1)
        return err_set(e, ERR_USAGE, "%d buckets are none", buckets_max);
    o->record = calloc((size_t)buckets_max, sizeof *o->record);
    o->is_ready = calloc((size_t)buckets_max, sizeof *o->is_ready);
    if (!o->record || !o->is_ready) {
        free_arrays(o);
        return err_set(e, ERR_MEMORY, "no memory for the records of %d buckets", buckets_max);
    }
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->work, NULL);
    pthread_cond_init(&o->progress, NULL);
    int rc = pthread_create(&o->thread, NULL, serve, o);
    if (rc) {
        free_arrays(o);
        return err_set(e, ERR_CANNOT_CREATE, "no communication thread: %s", strerror(rc));
    }
    o->running = true;
    return 0;
}

int overlap_begin(struct overlap *o, uint32_t step, const struct overlap_bucket *buckets, int n, struct err *e)
{
    int rc = 0;
    if (n < 0 || n > o->buckets_max)
        return err_set(e, ERR_USAGE, "%d buckets where at most %d were planned", n, o->buckets_max);
    pthread_mutex_lock(&o->lock);
    if (o->failure.code) {
        if (e)
            *e = o->failure;
        rc = -1;
    } else if (o->done < o->n) {
        rc = err_set(e, ERR_USAGE, "step %u begins while step %u has %d of %d buckets reduced", step, o->step, o->done,
                     o->n);
    } else {
        memset(o->is_ready, 0, (size_t)o->buckets_max * sizeof *o->is_ready);
        memset(o->record, 0, (size_t)o->buckets_max * sizeof *o->record);
        o->step = step;
        o->bucket = buckets;
        o->n = n;
        o->done = 0;
    }
    pthread_mutex_unlock(&o->lock);
    return rc;
}

void overlap_ready(struct overlap *o, int b)
{
    uint64_t now = clock_now_ns();
    pthread_mutex_lock(&o->lock);
    if (b >= 0 && b < o->n && !o->is_ready[b]) {
        o->record[b].ready_ns = now;
        o->is_ready[b] = true;
        if (b == o->done)
            pthread_cond_signal(&o->work);
    }
    pthread_mutex_unlock(&o->lock);
}

int overlap_wait(struct overlap *o, int n, struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&o->lock);
    for (int b = 0; b < n && b < o->n && rc == 0; b++)
        if (!o->is_ready[b] && o->failure.code == ERR_OK)
            rc = err_set(e, ERR_USAGE, "bucket %d is waited for and was never ready", b);
    while (rc == 0 && o->failure.code == ERR_OK && o->done < (n < o->n ? n : o->n))
        pthread_cond_wait(&o->progress, &o->lock);
    if (rc == 0 && o->failure.code) {
        if (e)
            *e = o->failure;
        rc = -1;
    }
    pthread_mutex_unlock(&o->lock);
    return rc;
}

void overlap_stop(struct overlap *o)
{
    if (!o->running)
        return;
    pthread_mutex_lock(&o->lock);
    o->stop = true;
    pthread_cond_signal(&o->work);
    pthread_mutex_unlock(&o->lock);
    pthread_join(o->thread, NULL);
    pthread_cond_destroy(&o->work);
    pthread_cond_destroy(&o->progress);
    pthread_mutex_destroy(&o->lock);
    free_arrays(o);
}
