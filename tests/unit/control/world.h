/*
 * The world of the tests of the controller core: what is stored, who is there, and what the core did, as text.
 * See harness.h.
 */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "base/list.h"
#include "control/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define WORLD_BROKERS   16 /* ids 0..15 */
#define WORLD_TOPICS    64
#define WORLD_LEGACY    16
#define WORLD_STEPS_MAX 200000

/* What a broker was last told about a partition. */
struct world_told {
    bool is_known;
    struct model_partition_state state;
    struct ids replicas;
};

struct world_partition {
    bool has_state;
    struct model_partition_state state;
    int64_t mzxid;
    struct world_told told[WORLD_BROKERS];
    int32_t state_writes;
};

struct world_topic {
    bool exists;
    bool is_queued; /* for deletion */
    struct model_topic node;
    int64_t mzxid; /* of the node */
    bool has_partitions_node;
    struct world_partition *partitions;
    int32_t node_writes;
    int32_t min_insync_replicas;
    bool is_unclean;
};

struct world_write {
    struct list_node link;
    struct control_write body; /* deep copy */
    struct model_topic node;
    struct model_partition_state state;
    struct model_producer_block block;
    char *topic;
    struct buf legacy; /* the moves that are left, as text */
};

struct world_answer {
    struct list_node link;
    enum control_send_kind kind;
    struct control_receiver from;
    bool is_deletion;
    uint64_t send_id;
    int32_t count;
    struct control_answer_partition *list;
    char **names;
};

struct world_reply {
    bool is_there;
    enum control_request_kind kind;
    int16_t error;
    int32_t count;
    struct buf text; /* one line an entry */
};

struct world {
    struct control *core;
    struct control_effects out;
    int64_t now_ms;
    int32_t epoch;
    int64_t zxid;
    bool is_resigned;
    struct world_topic topics[WORLD_TOPICS];
    int32_t topic_count;
    struct model_broker brokers[WORLD_BROKERS];
    bool is_registered[WORLD_BROKERS];
    bool has_bad_dir[WORLD_BROKERS]; /* answers 56 to everything */
    bool is_mute[WORLD_BROKERS];     /* registered, but gone: takes nothing, answers nothing */
    bool holds_answers;
    struct list writes;
    struct list answers;
    struct buf sent; /* lines "4 leader t-0 ..." */
    struct buf log;
    uint32_t steps;       /* bits of all writes so far */
    int32_t brokers_told; /* times that some broker became a live one, or is none any more */
    bool has_block;
    struct model_producer_block block;
    struct buf legacy;      /* /admin/reassign_partitions as "t-0 1,2;", an entry each */
    int32_t legacy_version; /* -1 = it is not there */
    int32_t legacy_writes;
    uint32_t refused_kinds;    /* bits CONTROL_WRITE_...: such writes fail */
    const char *refused_topic; /* ... of this topic; NULL = any */
    int32_t refused_count;
    uint64_t next_token;
    struct world_reply reply; /* of the last request that was answered */
    uint64_t reply_token;
    /* Called for each state written; may be NULL. */
    void (*on_state)(struct world *w, struct world_topic *t, int32_t partition,
                     const struct model_partition_state *before);
    /* Called for each topic znode before it is changed; may be NULL. */
    void (*on_node)(struct world *w, struct world_topic *t, const struct model_topic *next);
    void *arg;
};

/* ---- text ---- */

static inline void text_ids(struct buf *b, const struct ids *ids)
{
    buf_put_str(b, "[");
    for (int32_t i = 0; i < ids->count; i++) {
        buf_putf(b, "%s%d", i == 0 ? "" : ",", ids->list[i]);
    }
    buf_put_str(b, "]");
}

static inline const char *buf_text(struct buf *b)
{
    static const char empty[] = "";
    if (b->len == 0) {
        return empty;
    }
    buf_put_u8(b, 0);
    b->len--;
    return (const char *)b->ptr;
}

/* Asserts whole texts, printing both sides at the caller's line. */
#define assert_text(b, expected) assert_string_equal(buf_text(b), (expected))

/* ---- finding ---- */

static inline struct world_topic *world_topic_find(struct world *w, struct slice name)
{
    for (int32_t i = 0; i < w->topic_count; i++) {
        if (w->topics[i].exists && slice_equal_str(name, w->topics[i].node.name)) {
            return &w->topics[i];
        }
    }
    return NULL;
}

static inline struct world_topic *world_topic(struct world *w, const char *name)
{
    struct world_topic *t = world_topic_find(w, slice_str(name));
    assert_non_null(t);
    return t;
}

static inline struct model_partition_state *world_state(struct world *w, const char *name,
                                                        int32_t partition)
{
    struct world_topic *t = world_topic(w, name);
    assert_true(partition < t->node.partition_count);
    return &t->partitions[partition].state;
}

static inline struct assignment *world_node(struct world *w, const char *name, int32_t partition)
{
    return &world_topic(w, name)->node.partitions[partition];
}

/* "RS[1,2,3] AR[] RR[] leader 1 isr [1,2,3] epoch 5": what is stored. */
static inline const char *world_text(struct world *w, const char *name, int32_t partition)
{
    static char text[512];
    struct buf b;
    buf_init(&b);
    const struct assignment *a = world_node(w, name, partition);
    const struct model_partition_state *s = world_state(w, name, partition);
    buf_put_str(&b, "RS");
    text_ids(&b, &a->replicas);
    if (assignment_is_reassigning(a)) {
        buf_put_str(&b, " AR");
        text_ids(&b, &a->adding);
        buf_put_str(&b, " RR");
        text_ids(&b, &a->removing);
    }
    buf_putf(&b, " leader %d isr ", s->leader);
    text_ids(&b, &s->isr);
    buf_putf(&b, " epoch %d", s->leader_epoch);
    CHECK(b.len < sizeof text);
    memcpy(text, buf_text(&b), b.len + 1);
    buf_deinit(&b);
    return text;
}

/* ---- collecting effects ---- */

static inline void world_topic_copy(struct model_topic *to, const struct model_topic *from)
{
    model_topic_deinit(to);
    to->name = xstrdup(from->name);
    to->id = from->id;
    to->version = from->version;
    to->partition_count = from->partition_count;
    to->partitions = xalloc((size_t)(from->partition_count + 1) * sizeof *to->partitions);
    for (int32_t i = 0; i < from->partition_count; i++) {
        assignment_copy(&to->partitions[i], &from->partitions[i]);
    }
}

static inline void world_legacy_text(struct buf *b, const struct control_legacy *legacy)
{
    for (int32_t i = 0; i < legacy->count; i++) {
        const struct control_legacy_move *move = &legacy->moves[i];
        buf_putf(b, "%.*s-%d ", SLICE_ARG(move->topic), move->partition);
        for (int32_t k = 0; k < move->replicas.count; k++) {
            buf_putf(b, "%s%d", k == 0 ? "" : ",", move->replicas.list[k]);
        }
        buf_put_str(b, ";");
    }
}

static inline void world_write_keep(struct world *w, const struct control_write *write)
{
    struct world_write *k = xalloc(sizeof *k);
    k->body = *write;
    k->topic = slice_is_null(write->topic) ? NULL : slice_dup(write->topic);
    if (write->topic_node != NULL) {
        world_topic_copy(&k->node, write->topic_node);
    }
    if (write->state != NULL) {
        model_partition_state_copy(&k->state, write->state);
    }
    if (write->block != NULL) {
        k->block = *write->block;
    }
    buf_init(&k->legacy);
    if (write->legacy != NULL) {
        world_legacy_text(&k->legacy, write->legacy);
        k->block.version = write->legacy->version;
    }
    list_push_back(&w->writes, &k->link);
}

static inline void world_write_free(struct world_write *k)
{
    model_topic_deinit(&k->node);
    model_partition_state_deinit(&k->state);
    buf_deinit(&k->legacy);
    free(k->topic);
    free(k);
}

static inline void world_sent_line(struct world *w, int32_t to, enum control_send_kind kind,
                                   const struct control_partition *p)
{
    struct buf *b = &w->sent;
    if (kind == CONTROL_SEND_STOP_REPLICA) {
        buf_putf(b, "%d stop%s %.*s-%d epoch %d\n", to, p->is_delete ? "-delete" : "",
                 SLICE_ARG(p->topic), p->partition, p->stop_epoch);
        return;
    }
    buf_putf(b, "%d %s %.*s-%d leader %d epoch %d RS", to,
             kind == CONTROL_SEND_UPDATE_METADATA ? "metadata"
             : p->is_new                          ? "new"
                                                  : "state",
             SLICE_ARG(p->topic), p->partition, p->state.leader, p->state.leader_epoch);
    text_ids(b, &p->replicas);
    if (p->adding.count + p->removing.count > 0 && kind == CONTROL_SEND_LEADER_AND_ISR) {
        buf_put_str(b, " AR");
        text_ids(b, &p->adding);
        buf_put_str(b, " RR");
        text_ids(b, &p->removing);
    }
    for (int32_t i = 0; p->is_new && i < p->setting_count; i++) {
        buf_putf(b, " %.*s=%.*s", SLICE_ARG(p->settings[i].key), SLICE_ARG(p->settings[i].value));
    }
    buf_put_str(b, "\n");
}

static inline int16_t world_take(struct world *w, int32_t broker, enum control_send_kind kind,
                                 const struct control_partition *p)
{
    struct world_topic *t = world_topic_find(w, p->topic);
    if (t == NULL || p->partition >= t->node.partition_count) {
        return 0;
    }
    struct world_told *told = &t->partitions[p->partition].told[broker];
    if (kind == CONTROL_SEND_STOP_REPLICA) {
        told->is_known = false;
        return 0;
    }
    if (w->has_bad_dir[broker]) {
        return KERR_KAFKA_STORAGE_ERROR;
    }
    if (told->is_known && p->state.leader_epoch <= told->state.leader_epoch) {
        return KERR_STALE_CONTROLLER_EPOCH;
    }
    told->is_known = true;
    model_partition_state_copy(&told->state, &p->state);
    ids_copy(&told->replicas, &p->replicas);
    return 0;
}

static inline void world_answer_free(struct world_answer *a)
{
    for (int32_t i = 0; i < a->count; i++) {
        free(a->names[i]);
    }
    free(a->names);
    free(a->list);
    free(a);
}

static inline void world_send_take(struct world *w, const struct control_send *send)
{
    for (int32_t r = 0; r < send->receiver_count; r++) {
        int32_t broker = send->receivers[r].broker;
        struct world_answer *answer = xalloc(sizeof *answer);
        *answer = (struct world_answer){.kind = send->kind,
                                        .from = send->receivers[r],
                                        .is_deletion = send->is_deletion,
                                        .send_id = send->id};
        answer->list = xalloc((size_t)(send->partition_count + 1) * sizeof *answer->list);
        answer->names = xalloc((size_t)(send->partition_count + 1) * sizeof(char *));
        for (int32_t i = 0; i < send->partition_count; i++) {
            const struct control_partition *p = &send->partitions[i];
            world_sent_line(w, broker, send->kind, p);
            if (send->kind != CONTROL_SEND_UPDATE_METADATA) {
                int16_t error = w->is_registered[broker] && !w->is_mute[broker]
                                    ? world_take(w, broker, send->kind, p)
                                    : 0;
                answer->names[answer->count] = slice_dup(p->topic);
                answer->list[answer->count] = (struct control_answer_partition){
                    .topic = slice_str(answer->names[answer->count]),
                    .partition = p->partition,
                    .error = error};
                answer->count++;
            }
        }
        if (send->partition_count == 0) {
            buf_putf(&w->sent, "%d brokers %d\n", broker, send->broker_count);
        }
        if (!w->is_registered[broker] || w->is_mute[broker]) {
            world_answer_free(answer);
            continue;
        }
        list_push_back(&w->answers, &answer->link);
    }
}

static inline void world_reply_take(struct world *w, const struct control_reply *reply)
{
    struct buf *b = &w->reply.text;
    buf_clear(b);
    w->reply.is_there = true;
    w->reply.kind = reply->kind;
    w->reply.error = reply->error;
    w->reply.count = reply->count;
    w->reply_token = reply->token;
    for (int32_t i = 0; i < reply->count; i++) {
        switch (reply->kind) {
        case CONTROL_LIST_REASSIGNMENTS:
            buf_putf(b, "%.*s-%d RS", SLICE_ARG(reply->moving[i].topic),
                     reply->moving[i].partition);
            text_ids(b, &reply->moving[i].replicas);
            buf_put_str(b, " AR");
            text_ids(b, &reply->moving[i].adding);
            buf_put_str(b, " RR");
            text_ids(b, &reply->moving[i].removing);
            break;
        case CONTROL_ALTER_PARTITION:
            buf_putf(b, "%d %d", reply->isr_results[i].partition, reply->isr_results[i].error);
            if (reply->isr_results[i].error == 0) {
                buf_putf(b, " leader %d epoch %d isr ", reply->isr_results[i].leader,
                         reply->isr_results[i].leader_epoch);
                text_ids(b, &reply->isr_results[i].isr);
                buf_putf(b, " version %d", reply->isr_results[i].partition_epoch);
            }
            break;
        case CONTROL_CREATE_TOPICS:
            buf_putf(b, "%.*s %d %d %d", SLICE_ARG(reply->created[i].topic),
                     reply->created[i].error, reply->created[i].partition_count,
                     reply->created[i].replication_factor);
            break;
        case CONTROL_SHUTDOWN:
            buf_putf(b, "%.*s-%d", SLICE_ARG(reply->remaining[i].topic),
                     reply->remaining[i].partition);
            break;
        case CONTROL_ALLOCATE_PRODUCER_IDS:
            buf_putf(b, "%d %lld %lld", reply->block->broker, (long long)reply->block->start,
                     (long long)reply->block->end);
            break;
        case CONTROL_ALTER_REASSIGNMENTS:
        case CONTROL_ELECT_LEADERS:
        case CONTROL_CREATE_PARTITIONS:
        case CONTROL_DELETE_TOPICS:
        default:
            buf_putf(b, "%.*s-%d %d", SLICE_ARG(reply->results[i].topic),
                     reply->results[i].partition, reply->results[i].error);
        }
        buf_put_str(b, "\n");
    }
}

static inline void world_events(struct world *w, const struct control_event *events, int32_t count)
{
    control_step(w->core, w->now_ms, events, count, &w->out);
    for (int32_t i = 0; i < w->out.count; i++) {
        const struct control_effect *e = &w->out.list[i];
        if (e->kind == CONTROL_EFFECT_WRITE) {
            w->steps |= e->write.steps;
            world_write_keep(w, &e->write);
        } else if (e->kind == CONTROL_EFFECT_SEND) {
            world_send_take(w, &e->send);
        } else if (e->kind == CONTROL_EFFECT_REPLY) {
            world_reply_take(w, &e->reply);
        } else if (e->kind == CONTROL_EFFECT_WATCH) {
            buf_putf(&w->log, "watch %.*s-%d\n", SLICE_ARG(e->watched.topic), e->watched.partition);
        } else if (e->kind == CONTROL_EFFECT_RESIGN) {
            w->is_resigned = true;
            buf_putf(&w->log, "resign: %s\n", e->text);
        } else if (e->kind == CONTROL_EFFECT_BROKERS) {
            w->brokers_told++;
        } else if (e->kind == CONTROL_EFFECT_LOG) {
            buf_putf(&w->log, "%s%s\n", e->level == CONTROL_WARNING ? "warning: " : "", e->text);
        }
    }
}

static inline void world_event(struct world *w, const struct control_event *event)
{
    world_events(w, event, 1);
}
