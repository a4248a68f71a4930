/*
 * A world for the controller core: a metastore that keeps topics and states, brokers that take what
 * they are told, and a clock. Writes are carried out in order when the world runs; everything the core
 * sends is kept as text lines. Include it in one test program each.
 */
#pragma once

#include "unit/control/world_store.h"

/* ---- running ---- */

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

/* Asks for the topic's deletion. Runs. */
static inline void world_delete(struct world *w, const char *name)
{
    struct slice names = slice_str(name);
    struct control_request request = {
        .kind = CONTROL_DELETE_TOPICS,
        .delete_topics = {.names = &names, .count = 1, .timeout_ms = 30000}};
    world_request(w, &request);
    world_run(w);
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
