/*
 * What of the simulated files is in memory. See sim.h for the model.
 */
#include "internal.h"

#include "base/alloc.h"

#include <stdlib.h>

/* The parts that hold [pos, pos + len) of the file: [*ret_from, *ret_to). Makes them. */
static void parts_of(struct sim_inode *inode, uint64_t pos, uint64_t len, size_t *ret_from,
                     size_t *ret_to)
{
    uint64_t end = MIN(pos + len, inode->len);
    *ret_from = (size_t)(pos / SIM_PART_BYTES);
    *ret_to = (size_t)((end + SIM_PART_BYTES - 1) / SIM_PART_BYTES);
    if (*ret_to > inode->part_count) {
        inode->parts = xrealloc(inode->parts, *ret_to * sizeof *inode->parts);
        memset(inode->parts + inode->part_count, 0,
               (*ret_to - inode->part_count) * sizeof *inode->parts);
        inode->part_count = *ret_to;
    }
}

static bool is_cold(struct sim_inode *inode, uint64_t pos, uint64_t len)
{
    size_t from = 0;
    size_t to = 0;
    parts_of(inode, pos, len, &from, &to);
    for (size_t i = from; i < to; i++) {
        if (inode->parts[i].is_cold) {
            return true;
        }
    }
    return false;
}

static void allow(struct sim_inode *inode, const struct env_range *range, int64_t now_us)
{
    size_t from = 0;
    size_t to = 0;
    parts_of(inode, range->pos, range->len, &from, &to);
    for (size_t i = from; i < to; i++) {
        inode->parts[i].allowed_us = now_us;
    }
}

static void heat(struct sim_inode *inode, uint64_t pos, uint64_t len)
{
    size_t from = 0;
    size_t to = 0;
    parts_of(inode, pos, len, &from, &to);
    for (size_t i = from; i < to; i++) {
        inode->parts[i].is_cold = false;
    }
}

void sim_inode_written(struct sim_inode *inode, uint64_t pos, uint64_t len)
{
    if (inode->parts != NULL) {
        heat(inode, pos, len);
    }
}

void sim_disk_chill(struct sim_node *n, int32_t share)
{
    struct sim_name *name;
    struct sim_name *tmp;
    struct prng *p = &n->world->cold_prng;
    sim_trace(n->world, "%s: %d%% of its files go out of memory", n->name, share);
    HASH_ITER(hh, n->disk.names, name, tmp)
    {
        size_t from = 0;
        size_t to = 0;
        if (name->inode == NULL) {
            continue;
        }
        parts_of(name->inode, 0, name->inode->len, &from, &to);
        for (size_t i = from; i < to; i++) {
            struct sim_part *part = &name->inode->parts[i];
            part->is_cold = part->is_cold || prng_chance(p, (uint64_t)share, 100);
        }
    }
}

uint64_t sim_disk_cold_sends(const struct sim_node *n)
{
    return n->disk.cold_sends;
}

uint64_t sim_disk_warmings(const struct sim_node *n)
{
    return n->disk.warmings;
}

int sim_file_read_now(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len)
{
    return is_cold(sim_file_inode(f), pos, len) ? -E_AGAIN
                                                : sim_file_read(f, ptr, len, pos, ret_len);
}

bool sim_file_is_cached(struct env_file *f, uint64_t pos, uint64_t len)
{
    struct sim_inode *inode = sim_file_inode(f);
    if (len < SIM_COLD_BYTES) {
        return true;
    }
    if (is_cold(inode, pos, len)) {
        return false;
    }
    allow(inode, &(struct env_range){.pos = pos, .len = len}, sim_of(f->env)->world->now_us);
    return true;
}

void sim_file_sent(struct env_file *f, uint64_t pos, uint64_t len)
{
    struct sim_inode *inode = sim_file_inode(f);
    struct sim_node *n = sim_of(f->env);
    size_t from = 0;
    size_t to = 0;
    parts_of(inode, pos, len, &from, &to);
    for (size_t i = from; len >= SIM_COLD_BYTES && i < to; i++) {
        const struct sim_part *part = &inode->parts[i];
        bool is_allowed =
            part->allowed_us > 0 && n->world->now_us - part->allowed_us <= SIM_COLD_GRACE_MS * 1000;
        if (part->is_cold && !is_allowed) {
            sim_trace(n->world, "%s: cold bytes are sent, at %llu", n->name,
                      (unsigned long long)i * SIM_PART_BYTES);
            n->disk.cold_sends++;
            return;
        }
    }
}

struct sim_warm {
    struct sim_node *node;
    struct sim_inode *inode; /* a reference: an end of the process closes files without asking */
    struct env_range range;
    env_fn done;
    void *arg;
};

/* Sometimes what was read is gone again when the reader hears of it. */
static void warm_run(void *arg)
{
    struct sim_warm *w = arg;
    struct sim_node *n = w->node;
    if (!prng_chance(&n->world->cold_prng, 1, 8)) {
        heat(w->inode, w->range.pos, w->range.len + w->range.ahead);
    }
    allow(w->inode, &w->range, n->world->now_us);
    n->disk.warmings++;
    sim_inode_unref(&n->disk, w->inode);
    sim_post(&n->env, w->done, w->arg);
    free(w);
}

void sim_file_warm(struct env_file *f, struct env_range range, env_fn done, void *arg)
{
    struct sim_node *n = sim_of(f->env);
    struct sim_warm *w = xalloc(sizeof *w);
    *w = (struct sim_warm){.node = n,
                           .inode = sim_inode_ref(sim_file_inode(f)),
                           .range = range,
                           .done = done,
                           .arg = arg};
    int64_t cost = prng_range(&n->world->cold_prng, 100, 2000);
    if (n->disk.slow_ms > 0) {
        cost += prng_range(&n->world->cold_prng, 0, n->disk.slow_ms * 1000);
    }
    n->last_warm_us = MAX(n->last_warm_us, n->world->now_us) + cost;
    sim_schedule_message(n, n->last_warm_us - n->world->now_us, warm_run, w);
}
