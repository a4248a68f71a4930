/*
 * What the controller reads: brokers, topics with their states and settings, queued deletions, the
 * block of producer ids; first all of it in pipelined reads, then what watches tell.
 * Invariant: every topic znode that the core knows is watched, from a version not newer than the one
 * the core was told. A topic znode that we wrote ourselves is not read again: its watch is set by a
 * call that brings the version alone. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

#define READINGS_MAX 64  /* topics that are read at once */
#define STATES_MAX   500 /* and states of partitions: their answers come at once too */

enum reading_why {
    READING_LOAD,
    READING_NEW,
    READING_CHANGED,
    READING_CONFLICT,
};

/* One topic being read. */
struct controller_reading {
    struct list_node link; /* controller.readings */
    enum reading_why why;
    uint64_t write_id; /* CONFLICT */
    char *name;
    bool is_running;
    bool is_gone;
    bool is_broken;  /* gone for the core, but there */
    int32_t pending; /* answers due */
    struct model_topic node;
    bool has_partitions_node;
    int32_t min_insync_replicas;
    bool is_unclean_election_enabled;
    int32_t state_at;                     /* LOAD: those before are asked for */
    struct model_partition_state *states; /* LOAD: one a partition */
    const struct model_partition_state **state_refs;
    int64_t *mzxids;
    int64_t czxid; /* of the topic znode */
    int64_t mzxid;
};

struct controller_broker_reading {
    int32_t pending;
    int32_t count;
    struct model_broker *brokers; /* id -1: vanished meanwhile, or unreadable */
};

static void readings_run(struct controller *c);

static void unreadable(struct controller *c, const char *what, const char *name,
                       const struct errmsg *why)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_MALFORMED, "%s %s is left out: %.300s", what, name, why->text);
    controller_log(c, CONTROL_WARNING, em.text);
}

/* ---- brokers ---- */

static void brokers_read(struct controller *c);
static void broker_read(void *arg, const struct metastore_result *result);

static void brokers_free(struct controller *c)
{
    struct controller_broker_reading *r = c->broker_reading;
    for (int32_t i = 0; r != NULL && i < r->count; i++) {
        model_broker_deinit(&r->brokers[i]);
    }
    if (r != NULL) {
        free(r->brokers);
        free(r);
        c->broker_reading = NULL;
    }
}

static void topics_list(struct controller *c);

static void brokers_tell(struct controller *c)
{
    struct controller_broker_reading *r = c->broker_reading;
    struct control_event event = {.kind = CONTROL_ON_BROKERS, .brokers = r->brokers};
    for (int32_t i = 0; i < r->count; i++) {
        if (r->brokers[i].id >= 0) {
            struct model_broker kept = r->brokers[event.broker_count];
            r->brokers[event.broker_count++] = r->brokers[i];
            r->brokers[i] = kept;
        }
    }
    controller_peers_keep(c, event.brokers, event.broker_count);
    controller_log_dirs_brokers(c, event.brokers, event.broker_count);
    uint64_t term = c->term;
    controller_step(c, &event);
    if (term != c->term) {
        return; /* the reading went with the term */
    }
    brokers_free(c);
    c->is_reading_brokers = false;
    if (c->role == ROLE_LOADING && !c->is_topics_asked) {
        controller_readers_open(c);
        topics_list(c);
    }
    if (c->read_brokers_again && c->role != ROLE_LOADING) {
        c->read_brokers_again = false;
        brokers_read(c);
    }
}

/* A broker that changes what it registered (listeners, say) keeps its epoch: the list of brokers stays
 * the same. */
static void broker_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t id = ((struct controller_pending *)arg)->index;
    (void)path;
    if (controller_pending_end(arg, &c, &item)) {
        ids_remove(&c->watched, id);
        if (event == METASTORE_CHANGED) {
            brokers_read(c);
        }
    }
}

/* Reads a registration and watches it from then on. */
static void broker_get(struct controller *c, int32_t index, int32_t id)
{
    struct metastore_path path;
    struct controller_pending *call = controller_pending_new(c, NULL);
    call->index = index;
    if (ids_has(&c->watched, id)) {
        metastore_get(c->store, metastore_path_broker(&path, id), NULL, NULL, broker_read, call);
        return;
    }
    call->watch = controller_pending_new(c, NULL);
    call->watch->index = id;
    ids_add(&c->watched, id);
    metastore_get(c->store, metastore_path_broker(&path, id), broker_changed, call->watch,
                  broker_read, call);
}

static void broker_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t index = ((struct controller_pending *)arg)->index;
    struct controller_pending *watch = ((struct controller_pending *)arg)->watch;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct controller_broker_reading *r = c->broker_reading;
    struct model_broker *b = &r->brokers[index];
    struct errmsg em;
    if (result->err == -E_NOT_FOUND && watch != NULL) {
        ids_remove(&c->watched, b->id);
        (void)controller_pending_end(watch, &c, &item);
    }
    if (result->err == 0 && metastore_broker_decode(result->data, b, &em) == 0) {
        b->epoch = result->stat.czxid;
    } else {
        if (result->err == 0) {
            char *name = xasprintf("%d", b->id);
            unreadable(c, "broker", name, &em);
            free(name);
        }
        b->id = -1;
    }
    r->pending--;
    if (r->pending == 0) {
        brokers_tell(c);
    }
}

/* -1 when the name is no broker id. */
static int32_t id_parse(struct slice name)
{
    int64_t id = 0;
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9' || id > INT32_MAX / 10) {
            return -1;
        }
        id = id * 10 + (name.ptr[i] - '0');
    }
    return name.len == 0 || id > INT32_MAX ? -1 : (int32_t)id;
}

/* Without it nothing can be controlled; the next one in the role may be luckier. */
static void list_failed(struct controller *c, const char *path, int err)
{
    char *reason = err == -E_NOT_FOUND ? xasprintf("%s is gone from the metastore", path)
                                       : xasprintf("%s cannot be read: %s", path, error_name(err));
    controller_resign(c, reason);
    free(reason);
}

static void brokers_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err != 0) {
        list_failed(c, METASTORE_BROKER_IDS, result->err);
        return;
    }
    struct controller_broker_reading *r = xalloc(sizeof *r);
    r->brokers = xalloc((size_t)(result->child_count + 1) * sizeof *r->brokers);
    c->broker_reading = r;
    for (int32_t i = 0; i < result->child_count; i++) {
        int32_t id = id_parse(result->children[i]);
        if (id < 0) {
            continue;
        }
        r->brokers[r->count].id = id;
        r->pending++;
        broker_get(c, r->count++, id);
    }
    if (r->pending == 0) {
        brokers_tell(c);
    }
}

static void brokers_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)event;
    (void)path;
    if (controller_pending_end(arg, &c, &item)) {
        brokers_read(c);
    }
}

static void brokers_read(struct controller *c)
{
    /* While it loads, the core is told once who is there; what changed since it hears when it can act. */
    if (c->is_reading_brokers || (c->role == ROLE_LOADING && c->is_topics_asked)) {
        c->read_brokers_again = true;
        return;
    }
    c->is_reading_brokers = true;
    metastore_children(c->store, slice_str(METASTORE_BROKER_IDS), brokers_changed,
                       controller_pending_new(c, NULL), brokers_listed,
                       controller_pending_new(c, NULL));
}

/* ---- topics that are known ---- */

static struct controller_topic *topic_find(const struct controller *c, struct slice name)
{
    struct controller_topic *t = NULL;
    HASH_FIND(hh, c->topics, name.ptr, name.len, t);
    return t;
}

static struct controller_topic *topic_add(struct controller *c, struct slice name)
{
    struct controller_topic *t = topic_find(c, name);
    if (t == NULL) {
        t = xalloc(sizeof *t);
        t->name = slice_dup(name);
        t->version = -1;
        t->serial = c->next_topic++;
        HASH_ADD_KEYPTR(hh, c->topics, t->name, name.len, t);
    }
    return t;
}

static void topic_remove(struct controller *c, struct controller_topic *t)
{
    HASH_DEL(c->topics, t);
    free(t->name);
    free(t);
}

/* ---- settings of a topic ---- */

struct settings {
    int32_t min_insync_replicas;
    bool is_unclean_election_enabled;
};

static struct settings settings_default(const struct controller *c)
{
    return (struct settings){c->config.min_insync_replicas, c->config.is_unclean_election_enabled};
}

static void setting_take(void *arg, struct slice key, struct slice value)
{
    struct settings *s = arg;
    if (slice_equal_str(key, "min.insync.replicas")) {
        int32_t number = id_parse(value);
        s->min_insync_replicas = number > 0 ? number : s->min_insync_replicas;
    } else if (slice_equal_str(key, "unclean.leader.election.enable")) {
        s->is_unclean_election_enabled = slice_equal_str(value, "true");
    }
}

static struct settings settings_of(const struct controller *c,
                                   const struct metastore_result *result)
{
    struct settings s = settings_default(c);
    struct errmsg em;
    if (result->err == 0 && metastore_config_decode(result->data, setting_take, &s, &em) != 0) {
        s = settings_default(c);
    }
    return s;
}

static void settings_changed(void *arg, enum metastore_event event, struct slice path);

/* Reads the settings and watches them from then on. named: the call's name; else the item. */
static void settings_get(struct controller *c, struct slice name, metastore_done_fn done,
                         struct controller_pending *call)
{
    struct metastore_path path;
    call->watch = controller_pending_named(c, name);
    metastore_get(c->store, metastore_path_topic_config(&path, name), settings_changed, call->watch,
                  done, call);
}

static void settings_read(void *arg, const struct metastore_result *result);

static void settings_checked(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    char *name = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item) && result->err == 0) {
        struct metastore_path path; /* made just now; the watch is set */
        metastore_get(c->store, metastore_path_topic_config(&path, slice_str(name)), NULL, NULL,
                      settings_read, controller_pending_named(c, slice_str(name)));
    }
    free(name);
}

/* A topic without settings gets them by a node that is created: that is watched instead. */
static void settings_await(struct controller *c, const struct metastore_result *result,
                           struct controller_pending *watch)
{
    struct metastore_path path;
    if (result->err == -E_NOT_FOUND && watch != NULL) {
        struct slice name = slice_str(watch->name);
        metastore_exists(c->store, metastore_path_topic_config(&path, name), settings_changed,
                         watch, settings_checked, controller_pending_named(c, name));
    }
}

static void settings_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    struct controller_pending *watch = ((struct controller_pending *)arg)->watch;
    char *name = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item)) {
        settings_await(c, result, watch);
        struct settings s = settings_of(c, result);
        struct control_event event = {.kind = CONTROL_ON_TOPIC_CONFIG,
                                      .name = slice_str(name),
                                      .min_insync_replicas = s.min_insync_replicas,
                                      .is_unclean_election_enabled = s.is_unclean_election_enabled};
        controller_step(c, &event);
    }
    free(name);
}

static void settings_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)path;
    char *name = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item) && event != METASTORE_DELETED) {
        settings_get(c, slice_str(name), settings_read,
                     controller_pending_named(c, slice_str(name)));
    }
    free(name);
}

/* ---- the watch of a topic ---- */

static void reading_start(struct controller *c, enum reading_why why, struct slice name,
                          uint64_t write_id);
static void topic_arm(struct controller *c, struct controller_topic *t);

static void topic_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)path;
    int32_t serial = ((struct controller_pending *)arg)->index;
    char *name = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item)) {
        struct controller_topic *t = topic_find(c, slice_str(name));
        if (t != NULL && t->serial == serial && event == METASTORE_CHANGED) {
            topic_arm(c, t);
        } else if (t != NULL && t->serial == serial && event == METASTORE_DELETED) {
            t->is_deleted = true; /* the list of topics, which follows, tells what is there now */
        }
    }
    free(name);
}

/* False: the term ended. */
static bool topic_vanish(struct controller *c, struct controller_topic *t)
{
    uint64_t term = c->term;
    char *name = xstrdup(t->name);
    topic_remove(c, t);
    controller_step(
        c, &(struct control_event){.kind = CONTROL_ON_TOPIC_GONE, .name = slice_str(name)});
    free(name);
    return term == c->term;
}

/* A znode that is news to the core. */
static void topic_begin(struct controller *c, struct slice name)
{
    (void)topic_add(c, name);
    reading_start(c, c->role == ROLE_LOADING ? READING_LOAD : READING_NEW, name, 0);
}

/* The znode is another one than the one we knew. */
static void topic_replace(struct controller *c, struct controller_topic *t)
{
    char *name = xstrdup(t->name);
    if (topic_vanish(c, t)) {
        topic_begin(c, slice_str(name));
    }
    free(name);
}

/* As it is now, watched again. */
static void topic_looked(struct controller *c, struct controller_topic *t,
                         const struct metastore_stat *stat)
{
    if (t->czxid != 0 && t->czxid != stat->czxid) {
        topic_replace(c, t);
        return;
    }
    t->czxid = stat->czxid;
    if (stat->version > t->version) {
        /* Mended, it is as new to the core as at the load. */
        enum reading_why why = t->is_broken ? READING_LOAD : READING_CHANGED;
        reading_start(c, why, slice_str(t->name), 0);
    }
}

static void topic_armed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t serial = ((struct controller_pending *)arg)->index;
    char *name = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item) && result->err == 0) {
        struct controller_topic *t = topic_find(c, slice_str(name));
        if (t != NULL && t->serial == serial) {
            topic_looked(c, t, &result->stat);
        }
    }
    free(name);
}

static void topic_arm(struct controller *c, struct controller_topic *t)
{
    struct metastore_path path;
    struct slice name = slice_str(t->name);
    struct controller_pending *watch = controller_pending_named(c, name);
    struct controller_pending *call = controller_pending_named(c, name);
    watch->index = call->index = t->serial;
    metastore_exists(c->store, metastore_path_topic(&path, name), topic_changed, watch, topic_armed,
                     call);
}

/* ---- reading a topic ---- */

static void reading_free(struct controller *c, struct controller_reading *r)
{
    list_remove(&c->readings, &r->link);
    for (int32_t i = 0; r->states != NULL && i < r->node.partition_count; i++) {
        model_partition_state_deinit(&r->states[i]);
    }
    free(r->states);
    free(r->state_refs);
    free(r->mzxids);
    model_topic_deinit(&r->node);
    free(r->name);
    free(r);
}

static void load_check(struct controller *c);

/* Tells the core what was read. The reading is not in use any more. */
static void reading_tell(struct controller *c, const struct controller_reading *r)
{
    struct control_topic_read read = {
        .topic = &r->node,
        .states = r->state_refs,
        .state_mzxids = r->mzxids,
        .mzxid = r->mzxid,
        .has_partitions_node = r->has_partitions_node,
        .min_insync_replicas = r->min_insync_replicas,
        .is_unclean_election_enabled = r->is_unclean_election_enabled,
    };
    struct control_event event = {.kind = CONTROL_ON_TOPIC};
    if (r->why == READING_CONFLICT) {
        event.kind = CONTROL_ON_WRITE_DONE;
        event.write_id = r->write_id;
        event.outcome = r->is_gone ? CONTROL_MISSING : CONTROL_CONFLICT;
        event.read = r->is_gone ? NULL : &read;
    } else if (r->is_gone) {
        return; /* the list of topics will tell */
    } else {
        event.topic = read;
    }
    controller_step(c, &event);
}

static void reading_over(struct controller *c, struct controller_reading *r)
{
    struct controller_topic *t = topic_find(c, slice_str(r->name));
    c->readings_running--;
    if (t != NULL && (!r->is_gone || r->is_broken)) {
        bool is_first = t->version < 0;
        t->czxid = is_first ? r->czxid : t->czxid;
        t->is_broken = r->is_broken;
        t->version = MAX(t->version, r->node.version);
        if (is_first) {
            topic_arm(c, t);
        }
    }
    /* Out of the list first: the step may end the term, which frees what is listed. */
    list_remove(&c->readings, &r->link);
    uint64_t term = c->term;
    reading_tell(c, r);
    reading_free(c, r);
    if (term == c->term) {
        readings_run(c);
        load_check(c);
        controller_legacy_tell(c);
    }
}

static void reading_answered(struct controller *c, struct controller_reading *r)
{
    r->pending--;
    if (r->pending == 0) {
        reading_over(c, r);
    }
}

static void state_read(void *arg, const struct metastore_result *result);

/* Asks for more states of the topic, as many as may be out. */
static void states_read(struct controller *c, struct controller_reading *r)
{
    int32_t count = r->states == NULL ? 0 : r->node.partition_count;
    for (; r->state_at < count && c->states_out < STATES_MAX; r->state_at++) {
        struct metastore_path path;
        struct controller_pending *call = controller_pending_new(c, r);
        call->index = r->state_at;
        c->states_out++;
        controller_readers_get(c, metastore_path_state(&path, slice_str(r->name), r->state_at),
                               state_read, call);
    }
}

/* Of whichever topic is read; those are in front. */
static void states_go_on(struct controller *c)
{
    struct list_node *n = NULL;
    list_foreach (n, &c->readings) {
        struct controller_reading *r = CONTAINER_OF(n, struct controller_reading, link);
        if (!r->is_running || c->states_out >= STATES_MAX) {
            return;
        }
        states_read(c, r);
    }
}

static void state_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t index = ((struct controller_pending *)arg)->index;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct controller_reading *r = item;
    struct errmsg em;
    if (result->err == 0) {
        if (metastore_partition_state_decode(result->data, &r->states[index], &em) == 0) {
            r->states[index].version = result->stat.version;
            r->state_refs[index] = &r->states[index];
            r->mzxids[index] = result->stat.mzxid;
        } else {
            char *name = xasprintf("%s-%d", r->name, index);
            unreadable(c, "the state of", name, &em);
            free(name);
        }
    }
    c->states_out--;
    states_go_on(c);
    reading_answered(c, r);
}

static void states_start(struct controller *c, struct controller_reading *r)
{
    size_t count = (size_t)r->node.partition_count + 1;
    r->states = xalloc(count * sizeof *r->states);
    r->state_refs = xalloc(count * sizeof *r->state_refs);
    r->mzxids = xalloc(count * sizeof *r->mzxids);
    r->pending += r->node.partition_count;
    states_read(c, r);
}

/* A name that no topic has would not fit into paths and folders. */
static int node_decode(struct controller_reading *r, struct slice json, struct errmsg *em)
{
    struct slice name = slice_str(r->name);
    return model_topic_name_is_valid(name)
               ? metastore_topic_decode(json, name, &r->node, em)
               : errmsg_set(em, E_INVALID, "it is not the name of a topic");
}

static void node_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct controller_reading *r = item;
    struct errmsg em;
    r->czxid = result->stat.czxid;
    if (result->err != 0) {
        r->is_gone = true;
    } else if (node_decode(r, result->data, &em) != 0) {
        unreadable(c, "topic", r->name, &em);
        r->is_gone = r->is_broken = true;
        r->node.version = result->stat.version;
    } else {
        r->node.version = result->stat.version;
        r->mzxid = result->stat.mzxid;
        if (r->why == READING_LOAD) {
            states_start(c, r);
        }
    }
    reading_answered(c, r);
}

static void partitions_node_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (controller_pending_end(arg, &c, &item)) {
        struct controller_reading *r = item;
        r->has_partitions_node = result->err == 0;
        reading_answered(c, r);
    }
}

static void reading_settings_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    struct controller_pending *watch = ((struct controller_pending *)arg)->watch;
    if (controller_pending_end(arg, &c, &item)) {
        settings_await(c, result, watch);
        struct controller_reading *r = item;
        struct settings s = settings_of(c, result);
        r->min_insync_replicas = s.min_insync_replicas;
        r->is_unclean_election_enabled = s.is_unclean_election_enabled;
        reading_answered(c, r);
    }
}

static void reading_run(struct controller *c, struct controller_reading *r)
{
    struct metastore_path path;
    struct slice name = slice_str(r->name);
    r->is_running = true;
    r->pending = 3;
    c->readings_running++;
    metastore_get(c->store, metastore_path_topic(&path, name), NULL, NULL, node_read,
                  controller_pending_new(c, r));
    metastore_exists(c->store, metastore_path_partitions(&path, name), NULL, NULL,
                     partitions_node_read, controller_pending_new(c, r));
    if (r->why == READING_LOAD || r->why == READING_NEW) {
        settings_get(c, name, reading_settings_read, controller_pending_new(c, r));
    } else {
        metastore_get(c->store, metastore_path_topic_config(&path, name), NULL, NULL,
                      reading_settings_read, controller_pending_new(c, r));
    }
}

/* Running ones are in front. */
static void readings_run(struct controller *c)
{
    struct list_node *n = NULL;
    list_foreach (n, &c->readings) {
        struct controller_reading *r = CONTAINER_OF(n, struct controller_reading, link);
        if (c->readings_running >= READINGS_MAX) {
            break;
        }
        if (!r->is_running) {
            reading_run(c, r);
        }
    }
}

static void reading_start(struct controller *c, enum reading_why why, struct slice name,
                          uint64_t write_id)
{
    struct controller_reading *r = xalloc(sizeof *r);
    *r = (struct controller_reading){.why = why, .write_id = write_id, .name = slice_dup(name)};
    list_push_back(&c->readings, &r->link);
    readings_run(c);
}

void controller_topic_conflict(struct controller *c, struct slice name, uint64_t write_id)
{
    reading_start(c, READING_CONFLICT, name, write_id);
}

/* ---- the list of topics ---- */

static void topics_compare(struct controller *c, const struct metastore_result *result)
{
    for (int32_t i = 0; i < result->child_count; i++) {
        struct controller_topic *known = topic_find(c, result->children[i]);
        if (known != NULL && known->is_deleted && !topic_vanish(c, known)) {
            return;
        }
        if (topic_find(c, result->children[i]) == NULL) {
            topic_begin(c, result->children[i]);
        }
        topic_find(c, result->children[i])->is_seen = true;
    }
    struct controller_topic *t = NULL;
    struct controller_topic *next = NULL;
    HASH_ITER(hh, c->topics, t, next)
    {
        if (t->is_seen) {
            t->is_seen = false;
            continue;
        }
        if (!topic_vanish(c, t)) {
            return;
        }
    }
}

static void topics_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)event;
    (void)path;
    if (controller_pending_end(arg, &c, &item)) {
        topics_list(c);
    }
}

static void topics_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err != 0) {
        list_failed(c, METASTORE_TOPICS, result->err);
        return;
    }
    c->is_topics_listed = true;
    c->topic_lists_due--;
    uint64_t term = c->term;
    topics_compare(c, result);
    if (term == c->term) {
        load_check(c);
        controller_legacy_tell(c);
    }
}

static void topics_list(struct controller *c)
{
    c->is_topics_asked = true;
    c->topic_lists_due++;
    metastore_children(c->store, slice_str(METASTORE_TOPICS), topics_changed,
                       controller_pending_new(c, NULL), topics_listed,
                       controller_pending_new(c, NULL));
}

bool controller_topics_are_known(const struct controller *c)
{
    return c->topic_lists_due == 0 && list_is_empty(&c->readings);
}

void controller_topic_written(struct controller *c, struct slice name, int32_t version)
{
    struct controller_topic *t = topic_find(c, name);
    if (t != NULL) {
        t->version = MAX(t->version, version);
    }
}

void controller_topic_created(struct controller *c, struct slice name)
{
    struct controller_topic *t = topic_add(c, name);
    t->version = 0;
    t->czxid = 0;
    t->is_deleted = false;
    t->serial = c->next_topic++;
    topic_arm(c, t);
    settings_get(c, name, settings_read, controller_pending_named(c, name));
}

void controller_topic_removed(struct controller *c, struct slice name)
{
    struct controller_topic *t = topic_find(c, name);
    if (t != NULL) {
        topic_remove(c, t);
    }
    controller_moves_partition(c, name, MOVES_WHOLE_TOPIC);
}

/* ---- the end of loading ---- */

static void deletions_list(struct controller *c);

void controller_loaded(struct controller *c)
{
    c->role = ROLE_ACTIVE;
    controller_active_note(c);
    uint64_t term = c->term;
    controller_step(c, &(struct control_event){.kind = CONTROL_ON_LOADED});
    if (term == c->term) {
        if (c->read_brokers_again) {
            c->read_brokers_again = false;
            brokers_read(c);
        }
        controller_notices_start(c);
        controller_preferred_start(c);
        controller_features_write(c);
    }
}

static void block_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct model_producer_block block = {.broker = -1, .end = -1};
    struct errmsg em = {0};
    bool is_there = result->err == 0;
    if (is_there && result->data.len > 0 &&
        metastore_producer_block_decode(result->data, &block, &em) != 0) {
        unreadable(c, "the block of producer ids in", METASTORE_PRODUCER_BLOCK, &em);
        is_there = false; /* the first who wants ids is told why there are none */
    }
    block.version = result->stat.version;
    controller_step(c, &(struct control_event){.kind = CONTROL_ON_PRODUCER_BLOCK,
                                               .block = is_there ? &block : NULL});
    controller_starts_load(c);
}

static void deletions_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)event;
    (void)path;
    if (controller_pending_end(arg, &c, &item)) {
        deletions_list(c);
    }
}

/* A name too long for its path is no topic's, and stays. */
static void deletions_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct slice *names = xalloc(((size_t)result->child_count + 1) * sizeof *names);
    int32_t count = 0;
    for (int32_t i = 0; result->err == 0 && i < result->child_count; i++) {
        struct metastore_path path;
        names[count] = result->children[i];
        count += slice_is_null(metastore_path_delete_topic(&path, names[count])) ? 0 : 1;
    }
    uint64_t term = c->term;
    controller_step(c, &(struct control_event){
                           .kind = CONTROL_ON_DELETE_TOPICS, .names = names, .name_count = count});
    free(names);
    if (term == c->term && c->role == ROLE_LOADING) {
        metastore_get(c->store, slice_str(METASTORE_PRODUCER_BLOCK), NULL, NULL, block_read,
                      controller_pending_new(c, NULL));
    }
}

static void deletions_list(struct controller *c)
{
    metastore_children(c->store, slice_str(METASTORE_DELETE_TOPICS), deletions_changed,
                       controller_pending_new(c, NULL), deletions_listed,
                       controller_pending_new(c, NULL));
}

/* All topics are read: goes on to what is left, once. */
static void load_check(struct controller *c)
{
    if (c->role == ROLE_LOADING && c->is_topics_listed && !c->is_load_ending &&
        list_is_empty(&c->readings)) {
        c->is_load_ending = true;
        controller_readers_close(c);
        deletions_list(c);
    }
}

void controller_load(struct controller *c)
{
    c->is_topics_asked = c->is_topics_listed = c->is_load_ending = false;
    controller_step(
        c, &(struct control_event){.kind = CONTROL_ON_ELECTED, .controller_epoch = c->epoch});
    brokers_read(c);
}

void controller_reads_free(struct controller *c)
{
    brokers_free(c);
    c->is_reading_brokers = c->read_brokers_again = false;
    controller_readers_close(c);
    c->readings_running = 0;
    c->states_out = 0;
    c->topic_lists_due = 0;
    ids_deinit(&c->watched);
    struct list_node *n = NULL;
    while ((n = list_first(&c->readings)) != NULL) {
        reading_free(c, CONTAINER_OF(n, struct controller_reading, link));
    }
    struct controller_topic *t = NULL;
    struct controller_topic *next = NULL;
    HASH_ITER(hh, c->topics, t, next)
    {
        topic_remove(c, t);
    }
}
