/*
 * Two rounds over the topics of all replicas without a role, one read at a time. The first round
 * remembers what looks stray, the second sets aside what does so again.
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

/* A replica without a role. */
struct stray {
    char *topic;
    int32_t partition;
    struct uuid topic_id;
    bool is_stray; /* by the first round */
};

struct broker_strays {
    struct broker_strays_config config;
    struct metastore *metastore; /* NULL while stopped */
    struct env_timer timer;
    int round; /* 1 or 2 */
    struct stray *list;
    int32_t count;
    int32_t cap;
    int32_t next; /* the first one whose topic is not read yet */
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

/* The znode says that this replica is not ours. */
static bool is_evidence(const struct broker_strays *s, const struct stray *stray,
                        const struct model_topic *topic)
{
    if (!uuid_is_zero(stray->topic_id) && !uuid_is_zero(topic->id) &&
        !uuid_equal(stray->topic_id, topic->id)) {
        return true;
    }
    return stray->partition < topic->partition_count &&
           topic->partitions[stray->partition].replicas.count > 0 &&
           !ids_has(&topic->partitions[stray->partition].replicas, s->config.broker_id);
}

static void set_aside(struct broker_strays *s, const struct stray *stray)
{
    if (!replicas_set_aside(s->config.replicas, slice_str(stray->topic), stray->partition)) {
        return;
    }
    if (s->config.log != NULL) {
        char *line = xasprintf("replica %s-%d is not ours any more: set aside for deletion",
                               stray->topic, stray->partition);
        s->config.log(s->config.log_arg, line);
        free(line);
    }
}

static void judge(struct broker_strays *s, struct stray *stray, const struct model_topic *topic)
{
    bool is_stray = topic != NULL && is_evidence(s, stray, topic);
    if (s->round == 1) {
        stray->is_stray = is_stray;
    } else if (stray->is_stray && is_stray) {
        set_aside(s, stray);
    }
}

static void topic_read(void *arg, const struct metastore_result *result)
{
    struct broker_strays *s = arg;
    if (s->metastore == NULL) {
        return; /* stopped meanwhile */
    }
    const char *name = s->list[s->next].topic;
    struct model_topic topic = {0};
    struct errmsg em;
    bool is_known =
        result->err == 0 && metastore_topic_decode(result->data, slice_str(name), &topic, &em) == 0;
    int32_t first = s->next;
    while (s->next < s->count && strcmp(s->list[s->next].topic, s->list[first].topic) == 0) {
        judge(s, &s->list[s->next++], is_known ? &topic : NULL);
    }
    model_topic_deinit(&topic);
    read_next(s);
}

static void read_next(struct broker_strays *s)
{
    if (s->next < s->count) {
        struct metastore_path path;
        metastore_get(s->metastore, metastore_path_topic(&path, slice_str(s->list[s->next].topic)),
                      NULL, NULL, topic_read, s);
    } else if (s->round == 1 && s->count > 0) {
        env_timer_start(&s->timer, SECOND_MS);
    } else {
        forget(s);
    }
}

struct broker_strays *broker_strays_new(const struct broker_strays_config *config)
{
    struct broker_strays *s = xalloc(sizeof *s);
    s->config = *config;
    env_timer_init(&s->timer, config->env, round_due, s);
    return s;
}

void broker_strays_start(struct broker_strays *s, struct metastore *m)
{
    broker_strays_stop(s);
    s->metastore = m;
    s->round = 0;
    env_timer_start(&s->timer, FIRST_MS);
}

void broker_strays_stop(struct broker_strays *s)
{
    if (s != NULL) {
        env_timer_stop(&s->timer);
        s->metastore = NULL;
        forget(s);
    }
}

void broker_strays_free(struct broker_strays *s)
{
    broker_strays_stop(s);
    free(s);
}
