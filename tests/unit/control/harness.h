/*
 * A world for the controller core: a metastore that keeps topics and states, brokers that take what
 * they are told, and a clock. Writes are carried out in order when the world runs; everything the core
 * sends is kept as text lines. Include it in one test program each.
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
    uint32_t steps; /* bits of all writes so far */
    bool has_block;
    struct model_producer_block block;
    struct buf legacy;      /* /admin/reassign_partitions as "t-0 1,2;", an entry each */
    int32_t legacy_version; /* -1 = it is not there */
    int32_t legacy_writes;
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
        } else if (e->kind == CONTROL_EFFECT_LOG) {
            buf_putf(&w->log, "%s\n", e->text);
        }
    }
}

static inline void world_event(struct world *w, const struct control_event *event)
{
    world_events(w, event, 1);
}

/* ---- the metastore ---- */

static inline void world_partitions_make(struct world_topic *t, int32_t from)
{
    size_t count = (size_t)t->node.partition_count + 1;
    if (t->partitions != NULL && from == t->node.partition_count) {
        return; /* events that wait may point into it */
    }
    t->partitions = xrealloc(t->partitions, count * sizeof *t->partitions);
    for (int32_t i = from; i < t->node.partition_count; i++) {
        memset(&t->partitions[i], 0, sizeof t->partitions[i]);
        t->partitions[i].state.leader = -1;
    }
}

static inline struct world_topic *world_topic_put(struct world *w, const struct model_topic *node)
{
    CHECK(w->topic_count < WORLD_TOPICS);
    struct world_topic *t = &w->topics[w->topic_count++];
    t->exists = true;
    t->min_insync_replicas = 1;
    world_topic_copy(&t->node, node);
    world_partitions_make(t, 0);
    return t;
}

static inline void world_topic_clear(struct world_topic *t)
{
    for (int32_t i = 0; t->exists && i < t->node.partition_count; i++) {
        model_partition_state_deinit(&t->partitions[i].state);
        for (int32_t b = 0; b < WORLD_BROKERS; b++) {
            model_partition_state_deinit(&t->partitions[i].told[b].state);
            ids_deinit(&t->partitions[i].told[b].replicas);
        }
    }
    free(t->partitions);
    t->partitions = NULL;
    model_topic_deinit(&t->node);
    t->exists = false;
}

static inline struct control_topic_read world_read_of(struct world_topic *t)
{
    return (struct control_topic_read){.topic = &t->node,
                                       .has_partitions_node = t->has_partitions_node,
                                       .min_insync_replicas = t->min_insync_replicas,
                                       .is_unclean_election_enabled = t->is_unclean};
}

static inline void world_state_write(struct world *w, struct world_write *k,
                                     struct control_event *done)
{
    struct world_topic *t = world_topic_find(w, slice_str(k->topic));
    if (t == NULL) {
        done->outcome = CONTROL_MISSING;
        return;
    }
    struct world_partition *p = &t->partitions[k->body.partition];
    bool is_create = k->body.kind == CONTROL_WRITE_STATE_CREATE;
    if (is_create != !p->has_state || (!is_create && k->state.version != p->state.version)) {
        done->outcome = CONTROL_CONFLICT;
        done->state = &p->state;
        return;
    }
    struct model_partition_state before = p->state;
    p->state.isr = (struct ids){0};
    int32_t version = is_create ? 0 : before.version + 1;
    model_partition_state_copy(&p->state, &k->state);
    p->state.version = version;
    p->has_state = true;
    p->mzxid = ++w->zxid;
    p->state_writes++;
    done->outcome = CONTROL_WRITTEN;
    done->version = version;
    if (w->on_state != NULL) {
        w->on_state(w, t, k->body.partition, is_create ? NULL : &before);
    }
    ids_deinit(&before.isr);
}

static inline void world_topic_write(struct world *w, struct world_write *k,
                                     struct control_event *done, struct control_topic_read *read)
{
    struct world_topic *t = world_topic_find(w, slice_str(k->topic));
    done->outcome = CONTROL_WRITTEN;
    if (k->body.kind == CONTROL_WRITE_TOPIC_CREATE) {
        if (t != NULL) {
            done->outcome = CONTROL_CONFLICT;
            *read = world_read_of(t);
            done->read = read;
            return;
        }
        t = world_topic_put(w, &k->node);
        t->has_partitions_node = true;
        done->version = 0;
    } else if (t == NULL) {
        done->outcome = CONTROL_MISSING;
    } else if (k->body.kind == CONTROL_WRITE_PARTITIONS_NODE) {
        t->has_partitions_node = true;
    } else if (k->node.version != t->node.version) {
        done->outcome = CONTROL_CONFLICT;
        *read = world_read_of(t);
        done->read = read;
    } else {
        int32_t had = t->node.partition_count;
        if (w->on_node != NULL) {
            w->on_node(w, t, &k->node);
        }
        world_topic_copy(&t->node, &k->node);
        t->node.version++;
        t->node_writes++;
        world_partitions_make(t, had);
        done->version = t->node.version;
    }
}

static inline void world_other_write(struct world *w, struct world_write *k,
                                     struct control_event *done)
{
    struct world_topic *t = k->topic == NULL ? NULL : world_topic_find(w, slice_str(k->topic));
    done->outcome = CONTROL_WRITTEN;
    if (k->body.kind == CONTROL_WRITE_DELETE_QUEUE) {
        t->is_queued = true;
    } else if (k->body.kind == CONTROL_WRITE_DELETE_DROP && t != NULL) {
        t->is_queued = false;
    } else if (k->body.kind == CONTROL_WRITE_TOPIC_DELETE) {
        world_topic_clear(t);
    } else if (k->body.kind == CONTROL_WRITE_PRODUCER_BLOCK) {
        bool is_fine = w->has_block ? k->block.version == w->block.version : k->block.version < 0;
        if (is_fine) {
            int32_t version = w->has_block ? w->block.version + 1 : 0;
            w->block = k->block;
            w->block.version = done->version = version;
            w->has_block = true;
        } else {
            done->outcome = CONTROL_CONFLICT;
            done->conflict_block = &w->block;
        }
    }
}

/* The znode as the core is told it. Texts and lists stay in the static storage. */
static inline struct control_legacy *world_legacy(struct world *w)
{
    static struct control_legacy legacy;
    static struct control_legacy_move moves[WORLD_LEGACY];
    static int32_t lists[WORLD_LEGACY][WORLD_BROKERS];
    legacy = (struct control_legacy){.moves = moves, .version = w->legacy_version};
    const char *at = buf_text(&w->legacy);
    while (w->legacy_version >= 0 && *at != 0) {
        const char *blank = strchr(at, ' ');
        const char *dash = blank;
        while (*dash != '-') {
            dash--;
        }
        CHECK(legacy.count < WORLD_LEGACY);
        moves[legacy.count].topic = slice_of(at, (size_t)(dash - at));
        moves[legacy.count].partition = (int32_t)strtol(dash + 1, NULL, 10);
        struct ids *ids = &moves[legacy.count].replicas;
        *ids = (struct ids){.list = lists[legacy.count]};
        for (at = blank + 1; *at != ';'; at += *at == ',') {
            char *end = NULL;
            ids->list[ids->count++] = (int32_t)strtol(at, &end, 10);
            at = end;
        }
        legacy.count++;
        at++;
    }
    return &legacy;
}

static inline void world_legacy_write(struct world *w, struct world_write *k,
                                      struct control_event *done)
{
    if (w->legacy_version < 0) {
        done->outcome = CONTROL_MISSING;
    } else if (k->block.version != w->legacy_version) {
        done->outcome = CONTROL_CONFLICT;
        done->conflict_legacy = world_legacy(w);
    } else {
        buf_clear(&w->legacy);
        buf_put_slice(&w->legacy, buf_slice(&k->legacy));
        w->legacy_version = k->legacy.len == 0 ? -1 : w->legacy_version + 1;
        w->legacy_writes++;
        done->outcome = CONTROL_WRITTEN;
        done->version = w->legacy_version;
    }
}

/* Carries out the oldest write and fills done. The event may point into read and into the world. */
static inline void world_write_carry(struct world *w, struct control_event *done,
                                     struct control_topic_read *read)
{
    struct world_write *k = CONTAINER_OF(list_pop(&w->writes), struct world_write, link);
    *done = (struct control_event){.kind = CONTROL_ON_WRITE_DONE, .write_id = k->body.id};
    switch (k->body.kind) {
    case CONTROL_WRITE_STATE_CREATE:
    case CONTROL_WRITE_STATE_SET:
        world_state_write(w, k, done);
        break;
    case CONTROL_WRITE_TOPIC_CREATE:
    case CONTROL_WRITE_TOPIC_SET:
    case CONTROL_WRITE_PARTITIONS_NODE:
        world_topic_write(w, k, done, read);
        break;
    case CONTROL_WRITE_LEGACY:
        world_legacy_write(w, k, done);
        break;
    case CONTROL_WRITE_DELETE_QUEUE:
    case CONTROL_WRITE_DELETE_DROP:
    case CONTROL_WRITE_TOPIC_DELETE:
    case CONTROL_WRITE_PRODUCER_BLOCK:
    default:
        world_other_write(w, k, done);
    }
    world_write_free(k);
}

/* Carries out up to max writes and tells their outcomes in one step, as one transaction's. */
static inline void world_write_some(struct world *w, int32_t max)
{
    int32_t count = (int32_t)MIN((size_t)max, w->writes.count);
    struct control_event *events = xalloc((size_t)(count + 1) * sizeof *events);
    struct control_topic_read *reads = xalloc((size_t)(count + 1) * sizeof *reads);
    for (int32_t i = 0; i < count; i++) {
        world_write_carry(w, &events[i], &reads[i]);
    }
    world_events(w, events, count);
    free(events);
    free(reads);
}

static inline void world_answer_one(struct world *w)
{
    struct world_answer *a = CONTAINER_OF(list_pop(&w->answers), struct world_answer, link);
    if (a->kind != CONTROL_SEND_UPDATE_METADATA) {
        world_event(w, &(struct control_event){.kind = CONTROL_ON_ANSWER,
                                               .send_kind = a->kind,
                                               .from = a->from,
                                               .is_deletion = a->is_deletion,
                                               .send_id = a->send_id,
                                               .answers = a->list,
                                               .answer_count = a->count});
    }
    world_answer_free(a);
}

/* One thing that is due. False when nothing is. */
static inline bool world_run_one(struct world *w)
{
    if (w->out.has_more) {
        world_event(w, &(struct control_event){.kind = CONTROL_ON_TICK});
    } else if (!list_is_empty(&w->writes)) {
        world_write_some(w, 1000);
    } else if (!w->holds_answers && !list_is_empty(&w->answers)) {
        world_answer_one(w);
    } else {
        return false;
    }
    return true;
}

static inline void world_run(struct world *w)
{
    for (int32_t i = 0; i < WORLD_STEPS_MAX; i++) {
        if (!world_run_one(w)) {
            return;
        }
    }
    fail_msg("the world does not come to rest");
}

/* ---- life ---- */

static inline void world_broker_make(struct world *w, int32_t id)
{
    w->brokers[id].id = id;
    w->brokers[id].epoch = ++w->zxid;
    w->is_registered[id] = true;
}

static inline void world_init_config(struct world *w, int32_t count,
                                     const struct control_config *config)
{
    *w = (struct world){.next_token = 1, .legacy_version = -1};
    w->core = control_new(config);
    control_effects_init(&w->out);
    list_init(&w->writes);
    list_init(&w->answers);
    buf_init(&w->sent);
    buf_init(&w->log);
    buf_init(&w->legacy);
    buf_init(&w->reply.text);
    for (int32_t id = 1; id <= count; id++) {
        world_broker_make(w, id);
    }
}

/* Brokers 1..count are up; nobody is controller. */
static inline void world_init(struct world *w, int32_t count, uint64_t seed)
{
    world_init_config(w, count,
                      &(struct control_config){.broker_id = 1,
                                               .seed = seed,
                                               .partitions_default = 1,
                                               .replication_factor_default = 1});
}

/* The same, with a controller of that level. */
static inline void world_init_at(struct world *w, int32_t count, enum ibp level)
{
    world_init_config(w, count,
                      &(struct control_config){.broker_id = 1,
                                               .seed = 1,
                                               .level = level,
                                               .partitions_default = 1,
                                               .replication_factor_default = 1});
}

static inline void world_pending_drop(struct world *w)
{
    struct list_node *n = NULL;
    while ((n = list_pop(&w->writes)) != NULL) {
        world_write_free(CONTAINER_OF(n, struct world_write, link));
    }
    while ((n = list_pop(&w->answers)) != NULL) {
        world_answer_free(CONTAINER_OF(n, struct world_answer, link));
    }
}

static inline void world_deinit(struct world *w)
{
    control_free(w->core);
    control_effects_deinit(&w->out);
    world_pending_drop(w);
    for (int32_t i = 0; i < w->topic_count; i++) {
        world_topic_clear(&w->topics[i]);
    }
    buf_deinit(&w->sent);
    buf_deinit(&w->log);
    buf_deinit(&w->legacy);
    buf_deinit(&w->reply.text);
}

static inline void world_brokers_tell(struct world *w)
{
    struct model_broker list[WORLD_BROKERS];
    int32_t count = 0;
    for (int32_t id = 0; id < WORLD_BROKERS; id++) {
        if (w->is_registered[id]) {
            list[count++] = w->brokers[id];
        }
    }
    world_event(w, &(struct control_event){
                       .kind = CONTROL_ON_BROKERS, .brokers = list, .broker_count = count});
}

/* Everything that is told with CONTROL_ON_TOPIC at load. */
static inline void world_topic_load(struct world *w, struct world_topic *t)
{
    size_t count = (size_t)t->node.partition_count + 1;
    const struct model_partition_state **states = xalloc(count * sizeof *states);
    int64_t *mzxids = xalloc(count * sizeof *mzxids);
    for (int32_t i = 0; i < t->node.partition_count; i++) {
        states[i] = t->partitions[i].has_state ? &t->partitions[i].state : NULL;
        mzxids[i] = t->partitions[i].mzxid;
    }
    struct control_event event = {.kind = CONTROL_ON_TOPIC, .topic = world_read_of(t)};
    event.topic.states = states;
    event.topic.state_mzxids = mzxids;
    world_event(w, &event);
    free(states);
    free(mzxids);
}

/* A controller is elected and reads everything; the world does not run yet. */
static inline void world_elect(struct world *w)
{
    w->is_resigned = false;
    w->epoch++;
    world_event(w,
                &(struct control_event){.kind = CONTROL_ON_ELECTED, .controller_epoch = w->epoch});
    world_brokers_tell(w);
    struct slice queued[WORLD_TOPICS];
    int32_t queued_count = 0;
    for (int32_t i = 0; i < w->topic_count; i++) {
        if (w->topics[i].exists) {
            world_topic_load(w, &w->topics[i]);
            if (w->topics[i].is_queued) {
                queued[queued_count++] = slice_str(w->topics[i].node.name);
            }
        }
    }
    world_event(w, &(struct control_event){.kind = CONTROL_ON_DELETE_TOPICS,
                                           .names = queued,
                                           .name_count = queued_count});
    world_event(w, &(struct control_event){.kind = CONTROL_ON_PRODUCER_BLOCK,
                                           .block = w->has_block ? &w->block : NULL});
    if (w->legacy_version >= 0) {
        world_event(w,
                    &(struct control_event){.kind = CONTROL_ON_LEGACY, .legacy = *world_legacy(w)});
    }
    world_event(w, &(struct control_event){.kind = CONTROL_ON_LOADED});
}

/* The role is lost; writes and answers that are out are forgotten. */
static inline void world_resign(struct world *w)
{
    world_pending_drop(w);
    world_event(w, &(struct control_event){.kind = CONTROL_ON_RESIGNED});
}

static inline void world_failover(struct world *w)
{
    world_resign(w);
    world_elect(w);
    world_run(w);
}

/* /admin/reassign_partitions is created with these entries; NULL: it is deleted. */
static inline void world_legacy_put(struct world *w, const char *text)
{
    buf_clear(&w->legacy);
    buf_put_str(&w->legacy, text == NULL ? "" : text);
    w->legacy_version = text == NULL ? -1 : 0;
    world_event(w, &(struct control_event){.kind = CONTROL_ON_LEGACY, .legacy = *world_legacy(w)});
}

static inline void world_kill(struct world *w, int32_t id)
{
    w->is_registered[id] = false;
    for (int32_t i = 0; i < w->topic_count; i++) {
        for (int32_t k = 0; w->topics[i].exists && k < w->topics[i].node.partition_count; k++) {
            w->topics[i].partitions[k].told[id].is_known = false;
        }
    }
    world_brokers_tell(w);
}

static inline void world_start(struct world *w, int32_t id)
{
    world_broker_make(w, id);
    world_brokers_tell(w);
}

/* ---- requests ---- */

/* "1,2,3" */
static inline int32_t list_parse(const char *text, int32_t list[WORLD_BROKERS])
{
    int32_t count = 0;
    while (*text != 0) {
        char *end = NULL;
        CHECK(count < WORLD_BROKERS);
        list[count++] = (int32_t)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

static inline void world_request(struct world *w, struct control_request *request)
{
    request->token = w->next_token++;
    w->reply.is_there = false;
    world_event(w, &(struct control_event){.kind = CONTROL_ON_REQUEST, .request = *request});
}

/* What one partition was answered; the world ran until rest. list NULL: cancel. */
static inline int32_t world_alter_with(struct world *w, const char *topic, int32_t partition,
                                       const char *list, struct control_alter options)
{
    int32_t replicas[WORLD_BROKERS];
    struct control_alter_entry entry = {.topic = slice_str(topic), .partition = partition};
    entry.is_cancel = list == NULL;
    if (list != NULL) {
        entry.replicas = replicas;
        entry.replica_count = list_parse(list, replicas);
    }
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS, .alter = options};
    request.alter.entries = &entry;
    request.alter.count = 1;
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there);
    if (w->reply.error != 0) {
        return w->reply.error;
    }
    const char *line = buf_text(&w->reply.text);
    return (int32_t)strtol(strrchr(line, ' '), NULL, 10);
}

static inline int32_t world_alter(struct world *w, const char *topic, int32_t partition,
                                  const char *list)
{
    return world_alter_with(w, topic, partition, list, (struct control_alter){0});
}

/* The answer as text: one line a move. */
static inline struct buf *world_list(struct world *w)
{
    struct control_request request = {.kind = CONTROL_LIST_REASSIGNMENTS,
                                      .list = {.wants_all = true}};
    world_request(w, &request);
    assert_true(w->reply.is_there);
    return &w->reply.text;
}

/* The stored leader proposes an ISR with what is stored; v3. Runs. The error of the partition. */
static inline int32_t world_isr(struct world *w, const char *topic, int32_t partition,
                                const char *list)
{
    const struct model_partition_state *s = world_state(w, topic, partition);
    int32_t isr[WORLD_BROKERS];
    struct control_isr_entry entry = {.topic_id = world_topic(w, topic)->node.id,
                                      .partition = partition,
                                      .leader_epoch = s->leader_epoch,
                                      .partition_epoch = s->version,
                                      .isr = isr,
                                      .isr_count = list_parse(list, isr)};
    struct control_request request = {
        .kind = CONTROL_ALTER_PARTITION,
        .alter_partition = {.broker = s->leader,
                            .broker_epoch = w->brokers[s->leader].epoch,
                            .knows_ineligible = true,
                            .entries = &entry,
                            .count = 1}};
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there && w->reply.kind == CONTROL_ALTER_PARTITION);
    return w->reply.error != 0 ? w->reply.error
                               : (int32_t)strtol(strchr(buf_text(&w->reply.text), ' '), NULL, 10);
}

static inline int32_t world_elect_leader(struct world *w, const char *topic, int32_t partition,
                                         bool is_unclean)
{
    struct control_tp entry = {slice_str(topic), partition};
    struct control_request request = {
        .kind = CONTROL_ELECT_LEADERS,
        .elect = {.is_unclean = is_unclean, .entries = &entry, .count = 1}};
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there);
    return (int32_t)strtol(strrchr(buf_text(&w->reply.text), ' '), NULL, 10);
}

/* Creates the topic with the lists, "1,2,3" each, NULL at the end. Runs. */
static inline int32_t world_create(struct world *w, const char *name, const char *const *lists)
{
    struct control_new_partition partitions[16] = {0};
    int32_t ids[16][WORLD_BROKERS];
    int32_t count = 0;
    for (; lists[count] != NULL; count++) {
        partitions[count].partition = count;
        partitions[count].replicas = ids[count];
        partitions[count].replica_count = list_parse(lists[count], ids[count]);
    }
    struct control_new_topic topic = {.name = slice_str(name),
                                      .partition_count = -1,
                                      .replication_factor = -1,
                                      .assignments = partitions,
                                      .assignment_count = count,
                                      .min_insync_replicas = 1};
    struct control_request request = {
        .kind = CONTROL_CREATE_TOPICS,
        .create_topics = {.topics = &topic, .count = 1, .timeout_ms = 30000}};
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there);
    return (int32_t)strtol(strchr(buf_text(&w->reply.text), ' '), NULL, 10);
}

/* A world of `brokers` brokers with an elected controller and topic t with the one list. */
static inline void world_with(struct world *w, int32_t brokers, const char *list)
{
    world_init(w, brokers, 1);
    world_elect(w);
    world_run(w);
    assert_int_equal(world_create(w, "t", (const char *const[]){list, NULL}), 0);
    buf_clear(&w->sent);
}
