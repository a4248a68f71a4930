/*
 * What the tests of moves share: several entries asked for at once, and what was sent and written.
 */
#pragma once

#include "unit/control/harness.h"

#include <stdio.h>

/* Asks for several entries at once; lists as in world_alter. The errors as "39 39 0". */
struct wish {
    const char *topic;
    int32_t partition;
    const char *list; /* NULL: cancel; "": the empty list */
};

static inline const char *alter_all(struct world *w, const struct wish *wishes, int32_t count)
{
    static char text[256];
    struct control_alter_entry entries[16];
    int32_t replicas[16][WORLD_BROKERS];
    for (int32_t i = 0; i < count; i++) {
        entries[i] = (struct control_alter_entry){.topic = slice_str(wishes[i].topic),
                                                  .partition = wishes[i].partition,
                                                  .is_cancel = wishes[i].list == NULL};
        if (wishes[i].list != NULL) {
            entries[i].replicas = replicas[i];
            entries[i].replica_count = list_parse(wishes[i].list, replicas[i]);
        }
    }
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = entries, .count = count}};
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there);
    assert_int_equal(w->reply.error, 0);
    assert_int_equal(w->reply.count, count);
    struct buf b;
    buf_init(&b);
    const char *at = buf_text(&w->reply.text);
    for (int32_t i = 0; i < count; i++) {
        const char *end = strchr(at, '\n');
        const char *blank = end;
        while (*blank != ' ') {
            blank--;
        }
        buf_putf(&b, "%s%.*s", i == 0 ? "" : " ", (int)(end - blank - 1), blank + 1);
        at = end + 1;
    }
    memcpy(text, buf_text(&b), b.len + 1);
    buf_deinit(&b);
    return text;
}

static inline int32_t node_writes(struct world *w)
{
    return world_topic(w, "t")->node_writes;
}

/* Topic t with partitions 0..count-1 on the lists; the brokers are up. */
static inline void world_many(struct world *w, int32_t brokers, const char *const *lists)
{
    world_init(w, brokers, 1);
    world_elect(w);
    world_run(w);
    assert_int_equal(world_create(w, "t", lists), 0);
    buf_clear(&w->sent);
}

/* The lines of sent for one broker, without metadata. */
static inline const char *sent_to(struct world *w, int32_t broker)
{
    static char text[1024];
    struct buf b;
    buf_init(&b);
    char *prefix = xasprintf("%d ", broker);
    for (const char *at = buf_text(&w->sent); *at != 0; at = strchr(at, '\n') + 1) {
        size_t len = (size_t)(strchr(at, '\n') - at);
        if (strncmp(at, prefix, strlen(prefix)) == 0 && strstr(at, "metadata") != at + 2) {
            buf_putf(&b, "%.*s; ", (int)(len - strlen(prefix)), at + strlen(prefix));
        }
    }
    CHECK(b.len < sizeof text);
    memcpy(text, buf_text(&b), b.len + 1);
    free(prefix);
    buf_deinit(&b);
    return text;
}

/* Broker 1 leads t-0 and proposes this ISR; nothing has run yet. */
static inline void isr_propose(struct world *w, const char *list)
{
    const struct model_partition_state *s = world_state(w, "t", 0);
    int32_t isr[WORLD_BROKERS];
    struct control_isr_entry entry = {.topic_id = world_topic(w, "t")->node.id,
                                      .leader_epoch = s->leader_epoch,
                                      .partition_epoch = s->version,
                                      .isr = isr,
                                      .isr_count = list_parse(list, isr)};
    struct control_request request = {
        .kind = CONTROL_ALTER_PARTITION,
        .alter_partition = {
            .broker = 1, .broker_epoch = w->brokers[1].epoch, .entries = &entry, .count = 1}};
    world_request(w, &request);
}
