/*
 * The table of limits on copying: one group of rate 0 for the moves that are paused or wait for their slots
 * back, one for each job with a rate. It is told as a whole when it changed, before the moves it is for are
 * asked for. Pure.
 */
#include "moves/core.h"

#include <stdlib.h>

static int entry_compare(const void *a, const void *b)
{
    const struct moves_entry *x = a;
    const struct moves_entry *y = b;
    int order = slice_compare(x->topic, y->topic);
    return order != 0 ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

static int32_t job_take(struct moves *m, const struct queue_job *job, bool takes_stopped,
                        struct moves_entry *entries)
{
    int32_t count = 0;
    struct list_node *n = NULL;
    list_foreach (n, &job->running) {
        const struct queue_move *v = CONTAINER_OF(n, struct queue_move, link);
        if (moves_is_stopped(v) == takes_stopped) {
            entries[count++] = (struct moves_entry){.topic = moves_effect_text(m, v->topic),
                                                    .partition = v->partition};
        }
    }
    return count;
}

static void group_add(struct moves_limit_table *table, struct moves_limit_group *groups,
                      const struct moves_limit_group *group, struct moves_entry *entries)
{
    if (group->count > 0) {
        qsort(entries, (size_t)group->count, sizeof *entries, entry_compare);
        groups[table->count++] = *group;
    }
}

void moves_limits_flush(struct moves *m)
{
    if (!m->is_limits_dirty || !m->is_loaded) {
        return;
    }
    m->is_limits_dirty = false;
    size_t running = 0;
    struct list_node *n = NULL;
    list_foreach (n, &m->jobs) {
        running += CONTAINER_OF(n, struct queue_job, link)->running.count;
    }
    struct moves_limit_table table = {0};
    struct moves_limit_group *groups = moves_effect_array(m, m->jobs.count + 1, sizeof *groups);
    struct moves_entry *entries = moves_effect_array(m, 2 * running, sizeof *entries);
    struct moves_limit_group stopped = {.rate = 0, .partitions = entries};
    list_foreach (n, &m->jobs) {
        const struct queue_job *job = CONTAINER_OF(n, struct queue_job, link);
        stopped.count += job_take(m, job, true, entries + stopped.count);
    }
    group_add(&table, groups, &stopped, entries);
    entries += stopped.count;
    list_foreach (n, &m->jobs) {
        const struct queue_job *job = CONTAINER_OF(n, struct queue_job, link);
        if (job->node.rate > 0) {
            struct moves_limit_group group = {.rate = job->node.rate, .partitions = entries};
            group.count = job_take(m, job, false, entries);
            group_add(&table, groups, &group, entries);
            entries += group.count;
        }
    }
    table.groups = groups;
    if (table.count > 0 || m->has_limits) {
        moves_effect_add(m, MOVES_EFFECT_LIMITS)->limits = table;
    }
    m->has_limits = table.count > 0;
}
