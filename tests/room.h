/*
 * tests/room.h - whether this machine had time for what was just measured, so that an upper limit of time means something.
 *
 *     room_open(&room);  ... measure ...  if (room_close(&room)) the limit holds
 *
 * It had none with a sanitizer, with more runnable processes than half its processors in the last minute, when the hypervisor
 * gave processor time to others, or when a thread that only naps was woken late meanwhile. Lower limits need no room: what
 * takes its time on an idle machine takes it on a busy one. One owner thread.
 */
#ifndef TESTS_ROOM_H
#define TESTS_ROOM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct room {
    pthread_t thread;
    atomic_bool over;
    uint64_t from_ns;
    double late_s, stolen_s;
};

void room_open(struct room *room);
bool room_close(struct room *room);

#endif
