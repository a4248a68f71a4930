/*
 * The windows of a meter. Pure: runs wherever the owner runs. Invariant: after roll, now lies in the
 * present window.
 */
#include "replica/meter.h"

static void roll(struct replica_meter *m, int64_t now_ms)
{
    int64_t elapsed_ms = now_ms - m->start_ms;
    if (elapsed_ms >= 2 * (int64_t)REPLICA_METER_WINDOW_MS || elapsed_ms < 0) {
        *m = (struct replica_meter){.start_ms = now_ms};
    } else if (elapsed_ms >= REPLICA_METER_WINDOW_MS) {
        m->start_ms += REPLICA_METER_WINDOW_MS;
        m->before = m->bytes;
        m->bytes = 0;
    }
}

void replica_meter_add(struct replica_meter *m, int64_t bytes, int64_t now_ms)
{
    roll(m, now_ms);
    m->bytes += bytes;
}

int64_t replica_meter_rate(struct replica_meter *m, int64_t now_ms)
{
    roll(m, now_ms);
    int64_t left_ms = REPLICA_METER_WINDOW_MS - (now_ms - m->start_ms);
    int64_t counted = m->bytes + m->before / REPLICA_METER_WINDOW_MS * left_ms +
                      m->before % REPLICA_METER_WINDOW_MS * left_ms / REPLICA_METER_WINDOW_MS;
    return counted / (REPLICA_METER_WINDOW_MS / 1000);
}
