/*
 * The limits of moves as the brokers are told them (docs/protocol-extensions.md, UpdateMetadata): kept
 * in the form of the request, so that each frame is only encoded. Invariant: what is kept is what the
 * last controller_limits_set of this term said. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include "wire/update_metadata.h"

#include <stdlib.h>

#define LIMITS_BYTES_MAX ((size_t)1 << 30)

struct controller_limits {
    struct arena arena; /* holds the list and its text */
    struct wire_update_metadata_request_move_limits *list;
    int32_t count;
};

static void *array(struct controller_limits *l, int32_t count, size_t size)
{
    void *list = arena_array(&l->arena, (size_t)count + 1, size);
    CHECK(list != NULL);
    return list;
}

/* How many partitions of one topic lie from `at` on. */
static int32_t run_length(const struct controller_limit *group, int32_t at)
{
    int32_t end = at + 1;
    while (end < group->partition_count &&
           slice_equal(group->partitions[at].topic, group->partitions[end].topic)) {
        end++;
    }
    return end - at;
}

static void topic_fill(struct controller_limits *l, const struct control_tp *partitions,
                       int32_t count, struct wire_update_metadata_request_move_limits_topics *to)
{
    char *name = arena_str(&l->arena, partitions[0].topic);
    CHECK(name != NULL);
    to->topic = slice_str(name);
    to->partition_indexes = array(l, count, sizeof *to->partition_indexes);
    to->partition_indexes_count = count;
    for (int32_t i = 0; i < count; i++) {
        to->partition_indexes[i] = partitions[i].partition;
    }
}

static void group_fill(struct controller_limits *l, const struct controller_limit *group,
                       struct wire_update_metadata_request_move_limits *to)
{
    to->rate = group->rate;
    to->topics = array(l, group->partition_count, sizeof *to->topics);
    for (int32_t at = 0; at < group->partition_count;) {
        int32_t count = run_length(group, at);
        topic_fill(l, &group->partitions[at], count, &to->topics[to->topics_count++]);
        at += count;
    }
}

void controller_limits_set(struct controller *c, const struct controller_limit *groups,
                           int32_t count)
{
    controller_limits_free(c);
    struct controller_limits *l = xalloc(sizeof *l);
    arena_init(&l->arena, LIMITS_BYTES_MAX);
    l->list = array(l, count, sizeof *l->list);
    l->count = count;
    for (int32_t i = 0; i < count; i++) {
        group_fill(l, &groups[i], &l->list[i]);
    }
    c->limits = l;
    c->is_limits_untold = true;
    if (!c->is_stepping) {
        env_timer_start(&c->step_timer, 0);
    }
}

void controller_limits_fill(const struct controller_limits *limits,
                            struct wire_update_metadata_request *req)
{
    if (limits != NULL) {
        req->move_limits = limits->list;
        req->move_limits_count = limits->count;
    }
}

void controller_limits_free(struct controller *c)
{
    if (c->limits != NULL) {
        arena_deinit(&c->limits->arena);
        free(c->limits);
        c->limits = NULL;
    }
    c->is_limits_untold = false;
}
