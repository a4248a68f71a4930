/*
 * CreateTopics: judges each topic, reserves its name while the write is out, and answers when every
 * partition has its first state. Placement is Kafka's round robin without racks, from a random start.
 * Errors: docs/spec/protocol.md 5.4, key 19.
 */
#include "control/core.h"

#include <stdlib.h>
#include <string.h>

#define PARTITIONS_PER_TOPIC_MAX 100000 /* a topic znode could not hold more anyway */

/* ---- placement ---- */

static int int_compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Live brokers by id. */
static void live_list(const struct control *c, struct ids *ret)
{
    for (const struct core_broker *b = c->brokers; b != NULL; b = b->hh.next) {
        if (b->is_alive && !b->is_shutting_down) {
            ids_add(ret, b->model.id);
        }
    }
    if (ret->count > 0) {
        qsort(ret->list, (size_t)ret->count, sizeof *ret->list, int_compare);
    }
}

void control_place(struct control *c, int32_t first_index, int32_t count, int32_t factor,
                   struct assignment *ret)
{
    struct ids live = {0};
    live_list(c, &live);
    int32_t n = live.count;
    CHECK(factor >= 1 && factor <= n);
    int32_t start = (int32_t)prng_below(&c->prng, (uint64_t)n);
    int32_t shift = (int32_t)prng_below(&c->prng, (uint64_t)n);
    for (int32_t i = 0; i < count; i++) {
        int32_t index = first_index + i;
        if (index > 0 && index % n == 0) {
            shift = (shift + 1) % n;
        }
        int32_t first = (int32_t)(((int64_t)index + start) % n);
        ids_add(&ret[i].replicas, live.list[first]);
        for (int32_t k = 0; k < factor - 1; k++) {
            ids_add(&ret[i].replicas, live.list[(first + 1 + (shift + k) % (n - 1)) % n]);
        }
    }
    ids_deinit(&live);
}

/* ---- judging ---- */

static enum kerr name_check(const struct control *c, struct slice name, struct errmsg *em)
{
    if (!model_topic_name_is_valid(name)) {
        (void)errmsg_set(em, E_INVALID,
                         "a topic name has 1 to 249 characters of a-z A-Z 0-9 . _ -");
        return KERR_INVALID_TOPIC_EXCEPTION;
    }
    if (control_topic_find_any(c, name) != NULL) {
        (void)errmsg_set(em, E_EXISTS, "topic '%.*s' exists already", SLICE_ARG(name));
        return KERR_TOPIC_ALREADY_EXISTS;
    }
    char key[MODEL_TOPIC_NAME_MAX];
    for (size_t i = 0; i < name.len; i++) {
        key[i] = name.ptr[i] == '.' ? '_' : (char)name.ptr[i];
    }
    struct core_topic *other = NULL;
    HASH_FIND(hh_collision, c->topics_by_collision, key, name.len, other);
    if (other != NULL) {
        (void)errmsg_set(em, E_INVALID,
                         "topic '%.*s' collides with '%s': '.' and '_' count as equal",
                         SLICE_ARG(name), other->name);
        return KERR_INVALID_TOPIC_EXCEPTION;
    }
    return KERR_NONE;
}

/* Explicit lists: partitions 0..n-1 in any order, known and distinct brokers, one length. */
static enum kerr assignments_take(const struct control *c, const struct control_new_topic *topic,
                                  struct assignment *ret, struct errmsg *em)
{
    for (int32_t i = 0; i < topic->assignment_count; i++) {
        const struct control_new_partition *p = &topic->assignments[i];
        if (p->partition < 0 || p->partition >= topic->assignment_count ||
            ret[p->partition].replicas.count > 0) {
            (void)errmsg_set(em, E_INVALID, "the partitions must be 0 to %d, each once",
                             topic->assignment_count - 1);
            return KERR_INVALID_REPLICA_ASSIGNMENT;
        }
        if (p->replica_count == 0 || p->replica_count > (int32_t)HASH_COUNT(c->brokers) ||
            p->replica_count != topic->assignments[0].replica_count) {
            (void)errmsg_set(em, E_INVALID,
                             "partition %d: the lists must have one length, of at least one broker "
                             "and at most as many as there are",
                             p->partition);
            return KERR_INVALID_REPLICA_ASSIGNMENT;
        }
        struct ids *replicas = &ret[p->partition].replicas;
        ids_set(replicas, p->replicas, p->replica_count);
        for (int32_t k = 0; k < replicas->count; k++) {
            if (control_broker_find(c, replicas->list[k]) == NULL) {
                (void)errmsg_set(em, E_INVALID, "partition %d: there is no broker %d", p->partition,
                                 replicas->list[k]);
                return KERR_INVALID_REPLICA_ASSIGNMENT;
            }
        }
        if (ids_has_duplicate(replicas)) {
            (void)errmsg_set(em, E_INVALID, "partition %d names a broker twice", p->partition);
            return KERR_INVALID_REPLICA_ASSIGNMENT;
        }
    }
    return KERR_NONE;
}

static enum kerr counts_check(const struct control *c, int32_t partitions, int32_t factor,
                              struct errmsg *em)
{
    struct ids live = {0};
    live_list(c, &live);
    int32_t live_count = live.count;
    ids_deinit(&live);
    if (partitions < 1 || partitions > PARTITIONS_PER_TOPIC_MAX) {
        (void)errmsg_set(em, E_INVALID, "the number of partitions must be 1 to %d",
                         PARTITIONS_PER_TOPIC_MAX);
        return KERR_INVALID_PARTITIONS;
    }
    if (factor < 1 || factor > live_count) {
        (void)errmsg_set(em, E_INVALID, "replication factor %d with %d live brokers", factor,
                         live_count);
        return KERR_INVALID_REPLICATION_FACTOR;
    }
    return KERR_NONE;
}

static void list_free(struct assignment *list, int32_t count)
{
    for (int32_t i = 0; list != NULL && i < count; i++) {
        assignment_deinit(&list[i]);
    }
    free(list);
}

/* *ret_list: heap. */
static enum kerr layout_make(struct control *c, const struct control_new_topic *topic,
                             struct assignment **ret_list, int32_t *ret_count, struct errmsg *em)
{
    bool is_explicit = topic->assignment_count > 0;
    int32_t count = is_explicit ? topic->assignment_count : topic->partition_count;
    int32_t factor = topic->replication_factor;
    if (is_explicit && (topic->partition_count != -1 || topic->replication_factor != -1)) {
        (void)errmsg_set(em, E_INVALID, "explicit assignments leave both counts at -1");
        return KERR_INVALID_REQUEST;
    }
    count = count == -1 ? c->config.partitions_default : count;
    factor = factor == -1 ? c->config.replication_factor_default : factor;
    if (is_explicit) {
        factor = 1; /* judged with the lists */
    }
    enum kerr error = counts_check(c, count, factor, em);
    if (error != KERR_NONE) {
        return error;
    }
    struct assignment *list = xalloc((size_t)count * sizeof *list);
    if (is_explicit) {
        error = assignments_take(c, topic, list, em);
    } else {
        control_place(c, 0, count, factor, list);
    }
    if (error != KERR_NONE) {
        list_free(list, count);
        return error;
    }
    *ret_list = list;
    *ret_count = count;
    return KERR_NONE;
}

/* ---- the request ---- */

static struct slice slice_keep(struct slice s)
{
    return slice_of(slice_dup(s), s.len);
}

static void settings_keep(struct core_topic *t, const struct control_new_topic *topic)
{
    t->has_settings = true;
    t->setting_count = topic->setting_count;
    t->settings = xalloc((size_t)MAX(topic->setting_count, 1) * sizeof *t->settings);
    for (int32_t i = 0; i < topic->setting_count; i++) {
        t->settings[i].key = slice_keep(topic->settings[i].key);
        t->settings[i].value = slice_keep(topic->settings[i].value);
    }
}

static void text_free(struct slice s)
{
    union {
        const uint8_t *in;
        uint8_t *out;
    } view = {.in = s.ptr};
    free(view.out);
}

void control_create_forget(struct control *c, struct core_topic *t)
{
    list_remove(&c->settled, &t->settled);
    for (int32_t i = 0; i < t->setting_count; i++) {
        text_free(t->settings[i].key);
        text_free(t->settings[i].value);
    }
    free(t->settings);
    t->settings = NULL;
    t->setting_count = 0;
    t->has_settings = false;
}

void control_create_settle(struct control *c, struct core_topic *t)
{
    if (t->has_settings && !list_has(&t->settled)) {
        list_push_back(&c->settled, &t->settled);
    }
}

void control_create_forget_settled(struct control *c)
{
    struct list_node *n = NULL;
    while ((n = list_first(&c->settled)) != NULL) {
        control_create_forget(c, CONTAINER_OF(n, struct core_topic, settled));
    }
}

static void create_write(struct control *c, struct core_op *op, struct assignment *list,
                         int32_t count)
{
    struct core_request *r = op->request;
    const struct control_new_topic *topic = &r->body.create_topics.topics[op->index];
    struct core_topic *t = control_topic_new(c, topic->name, r->created[op->index].topic_id);
    t->is_creating = true;
    t->min_insync_replicas = topic->min_insync_replicas;
    t->is_unclean_election_enabled = topic->is_unclean_election_enabled;
    t->grow = list;
    t->grow_count = count;
    settings_keep(t, topic);
    control_op_wait(op, &t->creates);
    struct model_topic *node = control_effect_array(c, 1, sizeof *node);
    *node = (struct model_topic){
        .name = t->name, .id = t->id, .partition_count = count, .partitions = list};
    t->write = control_write_add(c, CONTROL_WRITE_TOPIC_CREATE, t);
    struct control_write *write = control_write_emit(c, t->write);
    write->topic_node = node;
    write->settings = topic->settings;
    write->setting_count = topic->setting_count;
}

static enum kerr topic_judge(struct control *c, const struct control_new_topic *topic,
                             struct assignment **ret_list, int32_t *ret_count, struct errmsg *em)
{
    if (topic->error != KERR_NONE) {
        (void)errmsg_set(em, E_INVALID, "%s", topic->message == NULL ? "" : topic->message);
        return (enum kerr)topic->error;
    }
    enum kerr error = name_check(c, topic->name, em);
    return error != KERR_NONE ? error : layout_make(c, topic, ret_list, ret_count, em);
}

static void topic_start(struct control *c, struct core_request *r, int32_t index)
{
    const struct control_new_topic *topic = &r->body.create_topics.topics[index];
    struct core_op *op = control_op_new(r, index);
    struct assignment *list = NULL;
    int32_t count = 0;
    struct errmsg em = {0};
    enum kerr error = (enum kerr)r->created[index].error;
    if (error != KERR_NONE) {
        (void)errmsg_set(&em, E_DUPLICATE, "the topic is named more than once in the request");
    } else {
        error = topic_judge(c, topic, &list, &count, &em);
    }
    if (error != KERR_NONE) {
        control_op_fail(c, op, error, em.text);
        return;
    }
    struct control_created *created = &r->created[index];
    created->partition_count = count;
    created->replication_factor = list[0].replicas.count;
    if (r->body.create_topics.is_validate_only) {
        list_free(list, count);
        control_request_done(c, r);
        return;
    }
    if (ibp_has(c->config.level, IBP_TOPIC_IDS)) {
        created->topic_id = uuid_from_random(prng_u64(&c->prng), prng_u64(&c->prng));
    }
    create_write(c, op, list, count);
}

static int created_compare(const void *a, const void *b)
{
    return slice_compare((*(struct control_created *const *)a)->topic,
                         (*(struct control_created *const *)b)->topic);
}

/* Every topic that is named twice is refused with 42. */
static void duplicates_mark(struct control *c, struct core_request *r)
{
    int32_t count = r->reply.count;
    struct control_created **order =
        control_effect_array(c, (size_t)count + 1, sizeof(struct control_created *));
    for (int32_t i = 0; i < count; i++) {
        order[i] = &r->created[i];
    }
    qsort(order, (size_t)count, sizeof(struct control_created *), created_compare);
    for (int32_t i = 1; i < count; i++) {
        if (slice_equal(order[i - 1]->topic, order[i]->topic)) {
            order[i - 1]->error = order[i]->error = KERR_INVALID_REQUEST;
        }
    }
}

void control_create_start(struct control *c, struct core_request *r)
{
    int32_t count = r->body.create_topics.count;
    control_request_expect(r, count);
    for (int32_t i = 0; i < count; i++) {
        r->created[i].topic = r->body.create_topics.topics[i].name;
    }
    duplicates_mark(c, r);
    for (int32_t i = 0; i < count; i++) {
        topic_start(c, r, i);
    }
    r->is_expanding = false;
    control_request_done(c, r);
}

static void creates_fail(struct control *c, struct core_topic *t, enum kerr error,
                         const char *message)
{
    struct core_op *op = NULL;
    while ((op = control_op_pop(&t->creates)) != NULL) {
        control_op_fail(c, op, error, message);
    }
}

void control_create_check(struct control *c, struct core_topic *t)
{
    struct core_op *op = NULL;
    while (t->stateless_count == 0 && (op = control_op_pop(&t->creates)) != NULL) {
        control_request_done(c, op->request);
    }
}

void control_create_written(struct control *c, struct core_topic *t,
                            const struct control_event *event)
{
    struct errmsg em;
    if (event->outcome == CONTROL_WRITTEN) {
        t->is_creating = false;
        t->version = event->version;
        t->has_partitions_node = true;
        control_topic_add_partitions(c, t, t->grow, t->grow_count);
        control_grow_forget(t);
        (void)errmsg_set(&em, E_OK, "topic %s is created with %d partitions", t->name,
                         t->partition_count);
        control_log_add(c, CONTROL_INFO, em.text);
        return;
    }
    if (event->outcome == CONTROL_CONFLICT) {
        creates_fail(c, t, KERR_TOPIC_ALREADY_EXISTS, "the topic exists already");
    } else {
        creates_fail(c, t, KERR_INVALID_REQUEST,
                     event->message == NULL ? "the topic could not be stored" : event->message);
    }
    control_topic_free(c, t, KERR_UNKNOWN_SERVER_ERROR);
    if (event->outcome == CONTROL_CONFLICT && event->read != NULL) {
        control_topic_read(c, event->read);
    }
}
