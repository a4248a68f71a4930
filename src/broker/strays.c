/*
 * Two rounds over the topics of all replicas that no controller named, one read at a time. The first round
 * remembers what looks stray, the second sets aside what does so again.
 * What could not be read proves nothing; then everything is looked at again later.
 * Invariant: at most one read is under way; nothing is set aside in the first round.
 */
#include "broker/strays.h"

#include "base/alloc.h"
#include "base/check.h"
#include "broker/replicas/replicas.h"
#include "env/env.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/znode.h"

#include <stdlib.h>

#define FIRST_MS  10000 /* by then the controller has sent what is ours */
#define SECOND_MS 30000

enum evidence {
    EVIDENCE_NONE,
    EVIDENCE_ID,   /* the topic has another id */
    EVIDENCE_LIST, /* we are not in the list of replicas; the state is to be looked at, too */
};

/* A replica that was not named. */
struct stray {
    char *topic;
    int32_t partition;
    struct uuid topic_id;
    enum evidence evidence; /* of this round */
    bool is_stray;          /* by the first round */
};

struct broker_strays {
    struct broker_strays_config config;
    struct metastore *metastore; /* NULL while stopped */
    bool is_remade;
    struct env_timer timer;
    int round;       /* 1 or 2 */
    bool is_reading; /* a read is out */
    bool is_again;   /* when it ends, everything starts anew */
    bool has_room;   /* a replica of a topic that is gone was set aside */
    bool has_failed; /* something could not be read */
    struct stray *list;
    int32_t count;
    int32_t cap;
    int32_t next;   /* the first one whose topic is not read yet */
    int32_t judged; /* the first one of the topic read last that is not judged yet */
};

static void read_next(struct broker_strays *s);

static void forget(struct broker_strays *s)
{
    for (int32_t i = 0; i < s->count; i++) {
        free(s->list[i].topic);
    }
    free(s->list);
    s->list = NULL;
    s->count = s->cap = s->next = 0;
    s->has_room = s->has_failed = false;
}

static void note(void *arg, const struct replicas_idle_info *info)
{
    struct broker_strays *s = arg;
    if (s->count == s->cap) {
        s->cap = MAX(16, s->cap * 2);
        s->list = xrealloc(s->list, (size_t)s->cap * sizeof *s->list);
    }
    s->list[s->count++] = (struct stray){
        .topic = xstrdup(info->topic), .partition = info->partition, .topic_id = info->topic_id};
}

static int by_name(const void *a, const void *b)
{
    const struct stray *left = a;
    const struct stray *right = b;
    int order = strcmp(left->topic, right->topic);
    return order != 0 ? order
                      : (left->partition > right->partition) - (left->partition < right->partition);
}

static void round_due(void *arg)
{
    struct broker_strays *s = arg;
    if (s->round == 0) {
        replicas_each_idle(s->config.replicas, note, s);
        if (s->count > 0) {
            qsort(s->list, (size_t)s->count, sizeof *s->list, by_name);
        }
    }
    s->round++;
    s->next = 0;
    read_next(s);
}

static enum evidence evidence_of(const struct broker_strays *s, const struct stray *stray,
                                 const struct model_topic *topic)
{
    bool has_ids = !uuid_is_zero(stray->topic_id) && !uuid_is_zero(topic->id);
    bool is_same = has_ids && uuid_equal(stray->topic_id, topic->id);
    if (s->is_remade && !is_same) {
        return EVIDENCE_NONE;
    }
    if (has_ids && !is_same) {
        return EVIDENCE_ID;
    }
    if (stray->partition < topic->partition_count &&
        topic->partitions[stray->partition].replicas.count > 0 &&
        !ids_has(&topic->partitions[stray->partition].replicas, s->config.broker_id)) {
        return EVIDENCE_LIST;
    }
    return EVIDENCE_NONE;
}

static void set_aside(struct broker_strays *s, const struct stray *stray)
{
    if (!replicas_set_aside(s->config.replicas, slice_str(stray->topic), stray->partition)) {
        return;
    }
    s->has_room = s->has_room || stray->evidence == EVIDENCE_ID;
    if (s->config.log != NULL) {
        char *line = xasprintf("replica %s-%d is not ours any more: set aside for deletion",
                               stray->topic, stray->partition);
        s->config.log(s->config.log_arg, line);
        free(line);
    }
}

static void begin(struct broker_strays *s)
{
    forget(s);
    s->round = 0;
    env_timer_start(&s->timer, FIRST_MS);
}

/* A read ended; false when what it was for was given up meanwhile. */
static bool read_counts(struct broker_strays *s, int err)
{
    s->is_reading = false;
    s->has_failed = s->has_failed || (err != 0 && err != -E_NOT_FOUND);
    if (s->metastore != NULL && s->is_again) {
        s->is_again = false;
        begin(s);
        return false;
    }
    return s->metastore != NULL;
}

static void judge(struct broker_strays *s, struct stray *stray, bool is_stray)
{
    if (s->round == 1) {
        stray->is_stray = is_stray;
    } else if (stray->is_stray && is_stray) {
        set_aside(s, stray);
    }
}

static void judge_next(struct broker_strays *s);

/* A partition that counts on this replica keeps it, whatever the list says: it may be the last one. */
static void state_read(void *arg, const struct metastore_result *result)
{
    struct broker_strays *s = arg;
    if (!read_counts(s, result->err)) {
        return;
    }
    struct model_partition_state state = {0};
    struct errmsg em;
    bool is_needed = result->err != -E_NOT_FOUND;
    if (result->err == 0 && metastore_partition_state_decode(result->data, &state, &em) == 0) {
        is_needed = state.leader == s->config.broker_id || ids_has(&state.isr, s->config.broker_id);
    }
    ids_deinit(&state.isr);
    judge(s, &s->list[s->judged++], !is_needed);
    judge_next(s);
}

/* Judges the replicas of the topic read last, which may need a look at their states. */
static void judge_next(struct broker_strays *s)
{
    while (s->judged < s->next && s->list[s->judged].evidence != EVIDENCE_LIST) {
        struct stray *stray = &s->list[s->judged++];
        judge(s, stray, stray->evidence == EVIDENCE_ID);
    }
    if (s->judged == s->next) {
        read_next(s);
        return;
    }
    struct metastore_path path;
    const struct stray *stray = &s->list[s->judged];
    s->is_reading = true;
    metastore_get(s->metastore,
                  metastore_path_state(&path, slice_str(stray->topic), stray->partition), NULL,
                  NULL, state_read, s);
}

static void topic_read(void *arg, const struct metastore_result *result)
{
    struct broker_strays *s = arg;
    if (!read_counts(s, result->err)) {
        return;
    }
    const char *name = s->list[s->next].topic;
    struct model_topic topic = {0};
    struct errmsg em;
    bool is_known =
        result->err == 0 && metastore_topic_decode(result->data, slice_str(name), &topic, &em) == 0;
    int32_t first = s->next;
    s->judged = first;
    while (s->next < s->count && strcmp(s->list[s->next].topic, s->list[first].topic) == 0) {
        struct stray *stray = &s->list[s->next++];
        stray->evidence = is_known ? evidence_of(s, stray, &topic) : EVIDENCE_NONE;
    }
    model_topic_deinit(&topic);
    judge_next(s);
}

static void read_next(struct broker_strays *s)
{
    if (s->next < s->count) {
        struct metastore_path path;
        s->is_reading = true;
        metastore_get(s->metastore, metastore_path_topic(&path, slice_str(s->list[s->next].topic)),
                      NULL, NULL, topic_read, s);
    } else if (s->round == 1 && s->count > 0) {
        env_timer_start(&s->timer, SECOND_MS);
    } else {
        bool has_room = s->has_room;
        if (s->has_failed) {
            begin(s);
        } else {
            forget(s);
        }
        if (has_room && s->config.made_room != NULL) {
            s->config.made_room(s->config.arg);
        }
    }
}

struct broker_strays *broker_strays_new(const struct broker_strays_config *config)
{
    struct broker_strays *s = xalloc(sizeof *s);
    s->config = *config;
    env_timer_init(&s->timer, config->env, round_due, s);
    return s;
}

void broker_strays_start(struct broker_strays *s, const struct broker_strays_source *from)
{
    if (s->metastore == from->metastore && s->is_reading) {
        s->is_again = true;
        return;
    }
    broker_strays_stop(s);
    s->metastore = from->metastore;
    s->is_remade = from->is_remade;
    begin(s);
}

void broker_strays_stop(struct broker_strays *s)
{
    if (s != NULL) {
        env_timer_stop(&s->timer);
        s->metastore = NULL;
        s->is_reading = s->is_again = false;
        forget(s);
    }
}

void broker_strays_free(struct broker_strays *s)
{
    broker_strays_stop(s);
    free(s);
}
