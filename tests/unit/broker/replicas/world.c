/*
 * The cluster of tests/unit/broker/replicas: see world.h. Everything runs on the simulated world.
 */
#include "world.h"

#include "base/alloc.h"
#include "base/check.h"
#include "model/cluster.h"
#include "model/kerr.h"
#include "record/records.h"
#include "wire/alter_partition.h"
#include "wire/fetch.h"
#include "wire/header.h"
#include "wire/leader_and_isr.h"
#include "wire/list_offsets.h"
#include "wire/offset_for_leader_epoch.h"
#include "wire/stop_replica.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOST_FORMAT "broker-%d"
#define ARENA_MAX   (64 << 20)

/* ---- hooks ---- */

static void topic_config(void *arg, const char *topic, struct replicas_topic_config *ret_config)
{
    (void)topic;
    const struct world_broker *b = arg;
    *ret_config = (struct replicas_topic_config){
        .log = plog_config_default(),
        .min_insync_replicas = b->world->min_insync_replicas,
        .message_bytes_max = 1 << 20,
        .timestamp_before_max_ms = INT64_MAX,
        .timestamp_after_max_ms = INT64_MAX,
        .leader_throttled = b->world->leader_throttled,
        .follower_throttled = b->world->follower_throttled,
    };
    ret_config->log.delete_old = !b->world->is_compacted_only;
}

static bool endpoint(void *arg, int32_t broker, const char **ret_host, uint16_t *ret_port)
{
    struct world *w = ((struct world_broker *)arg)->world;
    if (broker < 1 || broker > w->broker_count || w->brokers[broker].port == 0) {
        return false;
    }
    *ret_host = sim_node_name(w->brokers[broker].node);
    *ret_port = w->brokers[broker].port;
    return true;
}

static bool is_alive(void *arg, int32_t broker)
{
    struct world *w = ((struct world_broker *)arg)->world;
    return broker >= 1 && broker <= w->broker_count && w->brokers[broker].replicas != NULL;
}

static bool has_topic_id(void *arg, struct uuid id)
{
    const struct world *w = ((struct world_broker *)arg)->world;
    (void)id;
    return !w->lacks_topic_ids;
}

static int32_t controller(void *arg)
{
    (void)arg;
    return 1;
}

static int64_t broker_epoch(void *arg)
{
    return ((struct world_broker *)arg)->id * 100;
}

static void dir_failed(void *arg, const char *path, const char *reason)
{
    (void)path;
    (void)reason;
    ((struct world_broker *)arg)->dir_failures++;
}

/* Stores the first put, or refuses it with err. */
static void put_answer(struct world *w, int err)
{
    struct world_put put = w->puts[0];
    w->put_count--;
    memmove(&w->puts[0], &w->puts[1], (size_t)w->put_count * sizeof put);
    struct replicas_isr_outcome outcome = {
        .topic = slice_str(put.topic),
        .partition = put.partition,
        .leader_epoch = put.leader_epoch,
        .partition_epoch = put.version,
        .err = err,
        .version = put.version + 1,
    };
    for (int32_t i = 0; err == 0 && i < w->partition_count; i++) {
        struct world_partition *p = &w->partitions[i];
        if (strcmp(p->topic, put.topic) == 0 && p->partition == put.partition) {
            p->partition_epoch = outcome.version;
            p->isr_count = put.isr_count;
            memcpy(p->isr, put.isr, sizeof p->isr);
        }
    }
    if (w->brokers[put.by].replicas != NULL) {
        replicas_isr_stored(w->brokers[put.by].replicas, &outcome);
    }
}

static void puts_due(void *arg)
{
    struct world *w = ((struct world_broker *)arg)->world;
    while (!w->holds_puts && w->put_count > 0) {
        put_answer(w, 0);
    }
}

static bool store_isr(void *arg, const char *topic, int32_t partition,
                      const struct model_partition_state *state)
{
    struct world_broker *b = arg;
    struct world *w = b->world;
    if (w->has_no_store) {
        return false;
    }
    assert_true(w->put_count < WORLD_PARTITIONS_MAX);
    struct world_put *put = &w->puts[w->put_count++];
    *put = (struct world_put){
        .by = b->id,
        .topic = topic,
        .partition = partition,
        .controller_epoch = state->controller_epoch,
        .leader = state->leader,
        .leader_epoch = state->leader_epoch,
        .version = state->version,
        .isr_count = state->isr.count,
    };
    memcpy(put->isr, state->isr.list, (size_t)state->isr.count * sizeof *put->isr);
    env_timer_start(&b->puts_timer, 10);
    return true;
}

/* ---- answering ---- */

static struct world_partition *find_by_id(struct world *w, struct uuid id, int32_t partition)
{
    for (int32_t i = 0; i < w->partition_count; i++) {
        if (uuid_equal(w->partitions[i].topic_id, id) && w->partitions[i].partition == partition) {
            return &w->partitions[i];
        }
    }
    return NULL;
}

/* Topics are named in old versions, and have ids in new ones. */
static struct uuid id_of(struct world *w, struct slice topic, struct uuid id)
{
    for (int32_t i = 0; uuid_is_zero(id) && i < w->partition_count; i++) {
        if (slice_equal_str(topic, w->partitions[i].topic)) {
            return w->partitions[i].topic_id;
        }
    }
    return id;
}

static int16_t code_of(int err)
{
    switch (err) {
    case 0:
        return KERR_NONE;
    case -E_NOT_FOUND:
        return KERR_UNKNOWN_TOPIC_OR_PARTITION;
    case -E_NOT_LEADER:
        return KERR_NOT_LEADER_OR_FOLLOWER;
    case -E_FENCED:
        return KERR_FENCED_LEADER_EPOCH;
    case -E_UNKNOWN_EPOCH:
        return KERR_UNKNOWN_LEADER_EPOCH;
    case -E_OUT_OF_RANGE:
        return KERR_OFFSET_OUT_OF_RANGE;
    case -E_OFFLINE:
        return KERR_KAFKA_STORAGE_ERROR;
    default:
        return KERR_UNKNOWN_SERVER_ERROR;
    }
}

static void respond(struct net_request *request, const struct wire_request_header *header,
                    const struct wire_message *message, const void *resp)
{
    struct buf body;
    buf_init(&body);
    wire_response_header_write(header, &body);
    wire_message_encode(message, resp, &body, header->api_version);
    assert_false(buf_failed(&body));
    net_respond(request, &body, NULL, 0);
}

/* ---- fetch ---- */

static void read_item(struct world_session *s, struct world_item *item, struct replicas_read *read)
{
    struct world_broker *b = s->broker;
    const struct world_partition *p = find_by_id(b->world, item->topic_id, item->partition);
    *read = (struct replicas_read){
        .topic = slice_str(p == NULL ? "gone" : p->topic),
        .topic_id = item->topic_id,
        .partition = item->partition,
        .replica_id = s->id % WORLD_SESSIONS,
        .current_leader_epoch = item->leader_epoch,
        .last_fetched_epoch = item->last_epoch,
        .fetch_offset = item->offset,
        .log_start_offset = item->log_start,
        .bytes_max = item->bytes_max,
        .is_minimum_needed = true,
    };
    replicas_read(b->replicas, read);
    if (b->refuse_error != 0 && b->refuse_partition == item->partition) {
        env_file_unref(read->file);
        read->file = NULL;
        read->len = 0;
        read->err = b->refuse_error > 0 ? -E_OFFLINE : -E_CORRUPT;
    }
}

static void session_end_wait(struct world_session *s)
{
    for (int32_t i = 0; i < WORLD_ITEMS_MAX; i++) {
        replicas_watch_stop(&s->watches[i]);
    }
    env_timer_stop(&s->timer);
    s->parked = NULL;
}

/* Reads the whole session; answers when there is something to tell, or is_forced. */
static bool session_try(struct world_session *s, bool is_forced)
{
    struct world_broker *b = s->broker;
    static struct replicas_read reads[WORLD_ITEMS_MAX];
    static struct wire_fetch_response_responses topics[WORLD_ITEMS_MAX];
    static struct wire_fetch_response_responses_partitions parts[WORLD_ITEMS_MAX];
    struct span spans[WORLD_ITEMS_MAX];
    int32_t span_count = 0;
    struct wire_fetch_response resp;
    wire_fetch_response_init(&resp);
    resp.responses = topics;
    resp.session_id = b->world->is_session_refused ? 0 : s->id;
    bool has_news = false;
    replicas_read_begin(b->replicas);
    for (int32_t i = 0; i < s->count; i++) {
        struct world_item *item = &s->items[i];
        read_item(s, item, &reads[i]);
        bool is_news = reads[i].err != 0 || reads[i].len > 0 || reads[i].is_diverging;
        has_news = has_news || is_news;
        if (!is_news && reads[i].high_watermark == item->told_high_watermark &&
            reads[i].log_start == item->told_log_start) {
            continue;
        }
        int32_t n = resp.responses_count++;
        wire_fetch_response_responses_partitions_init(&parts[n]);
        parts[n].partition_index = item->partition;
        parts[n].error_code = code_of(reads[i].err);
        parts[n].high_watermark = reads[i].high_watermark;
        parts[n].last_stable_offset = reads[i].last_stable_offset;
        parts[n].log_start_offset = reads[i].log_start;
        parts[n].diverging_epoch.epoch = reads[i].diverging_epoch;
        parts[n].diverging_epoch.end_offset = reads[i].diverging_end;
        parts[n].records = (struct wire_records){.ptr = NULL, .len = reads[i].len};
        if (reads[i].len > 0) {
            spans[span_count++] = (struct span){
                .kind = SPAN_FILE, .file = reads[i].file, .pos = reads[i].pos, .len = reads[i].len};
        }
        topics[n] = (struct wire_fetch_response_responses){.topic = reads[i].topic,
                                                           .topic_id = item->topic_id,
                                                           .partitions = &parts[n],
                                                           .partitions_count = 1};
    }
    if (!has_news && !is_forced) {
        return false;
    }
    for (int32_t i = 0; i < s->count; i++) {
        replicas_read_sent(b->replicas, &reads[i]);
        s->items[i].told_high_watermark = reads[i].high_watermark;
        s->items[i].told_log_start = reads[i].log_start;
    }
    struct buf body;
    buf_init(&body);
    struct wire_request_header header = {
        .api_key = WIRE_KEY_FETCH, .api_version = s->version, .correlation_id = s->correlation_id};
    wire_response_header_write(&header, &body);
    wire_fetch_response_encode(&resp, &body, s->version);
    assert_false(buf_failed(&body));
    struct net_request *request = s->parked;
    session_end_wait(s);
    net_respond(request, &body, spans, span_count);
    return true;
}

static void session_timeout(void *arg)
{
    assert_true(session_try(arg, true));
}

static void session_woken(void *arg, struct replicas_watch *watch, int events)
{
    (void)watch;
    (void)session_try(arg, (events & (REPLICAS_ROLE | REPLICAS_GONE)) != 0);
}

static void session_put(struct world_session *s, struct uuid topic_id,
                        const struct wire_fetch_request_topics_partitions *p)
{
    int32_t i = 0;
    while (i < s->count &&
           !(uuid_equal(s->items[i].topic_id, topic_id) && s->items[i].partition == p->partition)) {
        i++;
    }
    assert_true(i < WORLD_ITEMS_MAX);
    s->count = MAX(s->count, i + 1);
    s->items[i] = (struct world_item){
        .topic_id = topic_id,
        .partition = p->partition,
        .leader_epoch = p->current_leader_epoch,
        .last_epoch = p->last_fetched_epoch,
        .offset = p->fetch_offset,
        .log_start = p->log_start_offset,
        .bytes_max = p->partition_max_bytes,
        .told_high_watermark = -1,
        .told_log_start = -1,
    };
}

static void session_forget(struct world_session *s, struct uuid topic_id, int32_t partition)
{
    for (int32_t i = 0; i < s->count; i++) {
        if (uuid_equal(s->items[i].topic_id, topic_id) && s->items[i].partition == partition) {
            s->items[i] = s->items[--s->count];
            return;
        }
    }
}

static void session_update(struct world_session *s, const struct wire_fetch_request *req)
{
    struct world_broker *b = s->broker;
    b->fetch_requests++;
    for (int32_t t = 0; t < req->forgotten_topics_data_count; t++) {
        for (int32_t i = 0; i < req->forgotten_topics_data[t].partitions_count; i++) {
            session_forget(s,
                           id_of(b->world, req->forgotten_topics_data[t].topic,
                                 req->forgotten_topics_data[t].topic_id),
                           req->forgotten_topics_data[t].partitions[i]);
        }
    }
    for (int32_t t = 0; t < req->topics_count; t++) {
        for (int32_t i = 0; i < req->topics[t].partitions_count; i++) {
            session_put(s, id_of(b->world, req->topics[t].topic, req->topics[t].topic_id),
                        &req->topics[t].partitions[i]);
            b->fetch_partitions++;
        }
    }
}

static void answer_fetch(struct world_broker *b, struct net_request *request,
                         const struct wire_request_header *header,
                         const struct wire_fetch_request *req)
{
    int32_t follower = header->api_version >= 15 ? req->replica_state.replica_id : req->replica_id;
    struct replicas_config config;
    replicas_config_default(&config);
    bool is_long = req->max_bytes != config.fetch_response_bytes_max;
    struct world_session *s = &b->sessions[is_long ? WORLD_SESSIONS + follower : follower];
    b->world->fetch_version = header->api_version;
    if (s->parked != NULL) {
        assert_true(session_try(s, true));
    }
    if (req->session_id == 0) {
        s->count = 0;
        s->epoch = 1;
    } else if (req->session_epoch != s->epoch) {
        struct wire_fetch_response resp;
        wire_fetch_response_init(&resp);
        resp.error_code = KERR_INVALID_FETCH_SESSION_EPOCH;
        respond(request, header, &wire_fetch_response_message, &resp);
        return;
    } else {
        s->epoch++;
    }
    session_update(s, req);
    s->parked = request;
    s->version = header->api_version;
    s->correlation_id = header->correlation_id;
    if (session_try(s, req->max_wait_ms == 0)) {
        return;
    }
    for (int32_t i = 0; i < s->count; i++) {
        const struct world_partition *p =
            find_by_id(b->world, s->items[i].topic_id, s->items[i].partition);
        s->watches[i].arg = s;
        s->watches[i].fn = session_woken;
        s->watches[i].mask = REPLICAS_NEW_DATA | REPLICAS_WARM;
        assert_true(
            replicas_watch_start(b->replicas, &s->watches[i], slice_str(p->topic), p->partition));
    }
    env_timer_start(&s->timer, req->max_wait_ms);
}

/* ---- other requests ---- */

static void answer_offsets(struct world_broker *b, struct net_request *request,
                           const struct wire_request_header *header,
                           const struct wire_list_offsets_request *req)
{
    struct wire_list_offsets_response_topics topics[WORLD_ITEMS_MAX];
    struct wire_list_offsets_response_topics_partitions parts[WORLD_ITEMS_MAX];
    struct wire_list_offsets_response resp;
    wire_list_offsets_response_init(&resp);
    resp.topics = topics;
    b->world->offsets_version = header->api_version;
    for (int32_t t = 0; t < req->topics_count; t++) {
        struct replicas_offset_query query = {
            .topic = req->topics[t].name,
            .partition = req->topics[t].partitions[0].partition_index,
            .replica_id = req->replica_id,
            .current_leader_epoch = req->topics[t].partitions[0].current_leader_epoch,
            .timestamp = req->topics[t].partitions[0].timestamp,
        };
        int err = replicas_find_offset(b->replicas, &query);
        wire_list_offsets_response_topics_partitions_init(&parts[t]);
        parts[t].partition_index = query.partition;
        parts[t].error_code = code_of(err);
        parts[t].offset = query.ret_offset;
        topics[resp.topics_count++] = (struct wire_list_offsets_response_topics){
            .name = query.topic, .partitions = &parts[t], .partitions_count = 1};
    }
    respond(request, header, &wire_list_offsets_response_message, &resp);
}

static void answer_epochs(struct world_broker *b, struct net_request *request,
                          const struct wire_request_header *header,
                          const struct wire_offset_for_leader_epoch_request *req)
{
    struct wire_offset_for_leader_epoch_response_topics topics[WORLD_ITEMS_MAX];
    struct wire_offset_for_leader_epoch_response_topics_partitions parts[WORLD_ITEMS_MAX];
    struct wire_offset_for_leader_epoch_response resp;
    wire_offset_for_leader_epoch_response_init(&resp);
    resp.topics = topics;
    b->world->epoch_requests++;
    for (int32_t t = 0; t < req->topics_count; t++) {
        struct replicas_epoch_query query = {
            .topic = req->topics[t].topic,
            .partition = req->topics[t].partitions[0].partition,
            .current_leader_epoch = req->topics[t].partitions[0].current_leader_epoch,
            .leader_epoch = req->topics[t].partitions[0].leader_epoch,
        };
        int err = replicas_find_epoch_end(b->replicas, &query);
        wire_offset_for_leader_epoch_response_topics_partitions_init(&parts[t]);
        parts[t].partition = query.partition;
        parts[t].error_code = code_of(err);
        parts[t].leader_epoch = query.ret_epoch;
        parts[t].end_offset = query.ret_end_offset;
        topics[resp.topics_count++] = (struct wire_offset_for_leader_epoch_response_topics){
            .topic = query.topic, .partitions = &parts[t], .partitions_count = 1};
    }
    respond(request, header, &wire_offset_for_leader_epoch_response_message, &resp);
}

/* The controller's side, as far as tests need it: every proposal is taken unless alter_error is set. */
static void answer_alter(struct world_broker *b, struct net_request *request,
                         const struct wire_request_header *header,
                         const struct wire_alter_partition_request *req)
{
    struct world *w = b->world;
    struct wire_alter_partition_response_topics topics[WORLD_ITEMS_MAX];
    struct wire_alter_partition_response_topics_partitions parts[WORLD_ITEMS_MAX];
    struct wire_alter_partition_response resp;
    wire_alter_partition_response_init(&resp);
    resp.topics = topics;
    w->alter_requests++;
    w->alter_version = header->api_version;
    for (int32_t t = 0; t < req->topics_count; t++) {
        const struct wire_alter_partition_request_topics_partitions *asked =
            &req->topics[t].partitions[0];
        struct uuid id = id_of(w, req->topics[t].topic_name, req->topics[t].topic_id);
        struct world_partition *p = find_by_id(w, id, asked->partition_index);
        assert_non_null(p);
        wire_alter_partition_response_topics_partitions_init(&parts[t]);
        parts[t].partition_index = p->partition;
        parts[t].error_code = w->alter_error;
        if (w->alter_error == 0) {
            bool has_epochs = header->api_version >= 3;
            p->isr_count = has_epochs ? asked->new_isr_with_epochs_count : asked->new_isr_count;
            for (int32_t i = 0; i < p->isr_count; i++) {
                p->isr[i] =
                    has_epochs ? asked->new_isr_with_epochs[i].broker_id : asked->new_isr[i];
            }
            p->partition_epoch++;
            parts[t].leader_id = p->leader;
            parts[t].leader_epoch = p->leader_epoch;
            parts[t].partition_epoch = p->partition_epoch;
            parts[t].isr = p->isr;
            parts[t].isr_count = p->isr_count;
        }
        topics[resp.topics_count++] =
            (struct wire_alter_partition_response_topics){.topic_name = slice_str(p->topic),
                                                          .topic_id = p->topic_id,
                                                          .partitions = &parts[t],
                                                          .partitions_count = 1};
    }
    respond(request, header, &wire_alter_partition_response_message, &resp);
}

static void on_request(void *arg, struct net_request *request)
{
    struct world_broker *b = arg;
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    struct reader reader;
    reader_init(&reader, slice_of(request->frame->data, request->frame->len));
    struct wire_request_header header;
    assert_int_equal(wire_request_header_read(&header, &reader), 0);
    const struct wire_api *api = wire_api_find(header.api_key);
    assert_non_null(api);
    void *body = arena_alloc(&arena, wire_message_size(api->request));
    assert_int_equal(wire_message_decode(api->request, body, &reader, header.api_version, &arena),
                     0);
    switch (header.api_key) {
    case WIRE_KEY_FETCH:
        answer_fetch(b, request, &header, body);
        break;
    case WIRE_KEY_LIST_OFFSETS:
        answer_offsets(b, request, &header, body);
        break;
    case WIRE_KEY_OFFSET_FOR_LEADER_EPOCH:
        answer_epochs(b, request, &header, body);
        break;
    case WIRE_KEY_ALTER_PARTITION:
        answer_alter(b, request, &header, body);
        break;
    default:
        fail_msg("request %d is not expected", header.api_key);
    }
    arena_deinit(&arena);
}

static void on_orphan(void *arg, struct net_request *request)
{
    struct world_broker *b = arg;
    for (int32_t i = 0; i < 2 * WORLD_SESSIONS; i++) {
        if (b->sessions[i].parked == request) {
            session_end_wait(&b->sessions[i]);
        }
    }
    net_no_response(request);
}

/* ---- life ---- */

struct world *world_new(uint64_t seed, int32_t broker_count)
{
    assert_true(broker_count <= WORLD_BROKERS_MAX);
    struct world *w = xalloc(sizeof *w);
    w->sim = sim_world_new(seed);
    w->broker_count = broker_count;
    w->min_insync_replicas = 1;
    w->lag_time_max_ms = 30000;
    w->dir_count = 1;
    w->controller_epoch = 1;
    for (int32_t id = 1; id <= broker_count; id++) {
        char name[32];
        (void)snprintf(name, sizeof name, HOST_FORMAT, id); /* fits */
        w->brokers[id].world = w;
        w->brokers[id].id = id;
        w->brokers[id].node = sim_node_new(w->sim, name);
    }
    return w;
}

void world_free(struct world *w)
{
    for (int32_t id = 1; id <= w->broker_count; id++) {
        if (w->brokers[id].replicas != NULL) {
            world_kill(w, id);
        }
    }
    sim_world_free(w->sim);
    free(w);
}

static void open_replicas(struct world_broker *b, struct env *env)
{
    struct world *w = b->world;
    static const char *const dirs[] = {"/data/0", "/data/1"};
    struct replicas_config config;
    replicas_config_default(&config);
    config.broker_id = b->id;
    config.level = w->level;
    config.log_dirs = dirs;
    config.log_dir_count = w->dir_count;
    config.lag_time_max_ms = w->lag_time_max_ms;
    if (w->copy_cached_bytes_max != 0) {
        config.catch_up_lag_bytes = w->catch_up_lag_bytes;
        config.copy_cached_bytes_max = w->copy_cached_bytes_max;
        config.fetch_catch_up_bytes_max = w->fetch_catch_up_bytes_max;
        config.fetch_partition_bytes_max = w->fetch_catch_up_bytes_max;
    }
    struct replicas_hooks hooks = {
        .arg = b,
        .topic_config = topic_config,
        .endpoint = endpoint,
        .is_alive = is_alive,
        .has_topic_id = has_topic_id,
        .store_isr = store_isr,
        .controller = controller,
        .broker_epoch = broker_epoch,
        .dir_failed = dir_failed,
    };
    struct errmsg em = {""};
    int err = replicas_open(env, &config, &hooks, &b->replicas, &em);
    assert_string_equal(em.text, "");
    assert_int_equal(err, 0);
    assert_int_equal(replicas_bind_cluster(b->replicas, "test-cluster", &em), 0);
}

void world_start(struct world *w, int32_t id)
{
    struct world_broker *b = &w->brokers[id];
    if (!sim_node_is_alive(b->node)) {
        sim_node_start(b->node);
    }
    struct env *env = sim_node_env(b->node);
    env_timer_init(&b->puts_timer, env, puts_due, b);
    open_replicas(b, env);
    replicas_accept_records(b->replicas); /* nobody counts on anything before the first order */
    for (int32_t i = 0; i < 2 * WORLD_SESSIONS; i++) {
        b->sessions[i] = (struct world_session){.id = i, .broker = b};
        env_timer_init(&b->sessions[i].timer, env, session_timeout, &b->sessions[i]);
    }
    struct net_server_config config = {
        .host = sim_node_name(b->node),
        .port = b->port,
        .connections_max = 100,
        .request_bytes_max = 64 << 20,
        .requests_in_flight_max = 8,
        .output_bytes_max = 64 << 20,
        .idle_ms = 600000,
    };
    struct errmsg em = {""};
    int err = net_server_new(env, &config, on_request, on_orphan, b, &b->server, &em);
    assert_string_equal(em.text, "");
    assert_int_equal(err, 0);
    b->port = net_server_port(b->server);
    for (int32_t other = 1; other <= w->broker_count; other++) {
        if (w->brokers[other].replicas != NULL) {
            replicas_metadata_changed(w->brokers[other].replicas);
        }
    }
}

void world_kill(struct world *w, int32_t id)
{
    struct world_broker *b = &w->brokers[id];
    net_server_close(b->server);
    for (int32_t i = 0; i < 2 * WORLD_SESSIONS; i++) {
        struct net_request *parked = b->sessions[i].parked;
        session_end_wait(&b->sessions[i]);
        if (parked != NULL) {
            net_no_response(parked);
        }
    }
    net_server_free(b->server);
    b->server = NULL;
    env_timer_stop(&b->puts_timer);
    replicas_free(b->replicas);
    b->replicas = NULL;
    sim_node_crash(b->node);
}

struct replicas *world_replicas(struct world *w, int32_t id)
{
    assert_non_null(w->brokers[id].replicas);
    return w->brokers[id].replicas;
}

/* ---- the test as controller ---- */

struct world_partition *world_create(struct world *w, const char *topic, int32_t partition,
                                     const int32_t *replicas, int32_t count)
{
    assert_true(w->partition_count < WORLD_PARTITIONS_MAX);
    struct world_partition *p = &w->partitions[w->partition_count++];
    *p = (struct world_partition){.topic = topic, .partition = partition};
    p->topic_id.bytes[0] = 1;
    memcpy(&p->topic_id.bytes[1], topic, MIN(strlen(topic), sizeof p->topic_id.bytes - 1));
    p->leader = replicas[0];
    p->replica_count = p->isr_count = count;
    memcpy(p->replicas, replicas, sizeof *replicas * (size_t)count);
    memcpy(p->isr, replicas, sizeof *replicas * (size_t)count);
    world_announce(w, p, false);
    return p;
}

int16_t world_send(struct world *w, int32_t to, const struct world_partition *p)
{
    struct world_partition copy = *p;
    struct wire_leader_and_isr_request_topic_states_partition_states state;
    wire_leader_and_isr_request_topic_states_partition_states_init(&state);
    state.partition_index = copy.partition;
    state.controller_epoch = w->controller_epoch;
    state.leader = copy.leader;
    state.leader_epoch = copy.leader_epoch;
    state.isr = copy.isr;
    state.isr_count = copy.isr_count;
    state.partition_epoch = copy.partition_epoch;
    state.replicas = copy.replicas;
    state.replicas_count = copy.replica_count;
    state.adding_replicas = copy.adding;
    state.adding_replicas_count = copy.adding_count;
    state.is_new = true;
    struct wire_leader_and_isr_request_topic_states topic = {
        .topic_name = slice_str(copy.topic),
        .topic_id = copy.topic_id,
        .partition_states = &state,
        .partition_states_count = 1,
        .settings_count = -1,
    };
    struct wire_leader_and_isr_request req;
    wire_leader_and_isr_request_init(&req);
    req.controller_epoch = w->controller_epoch;
    req.broker_epoch = to * 100;
    req.topic_states = &topic;
    req.topic_states_count = 1;
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    struct wire_leader_and_isr_response resp;
    assert_int_equal(replicas_leader_and_isr(world_replicas(w, to), &req, 7, &arena, &resp), 0);
    assert_int_equal(resp.error_code, 0);
    assert_int_equal(resp.topics_count, 1);
    assert_int_equal(resp.topics[0].partition_errors_count, 1);
    assert_int_equal(resp.topics[0].partition_errors[0].partition_index, copy.partition);
    int16_t code = resp.topics[0].partition_errors[0].error_code;
    arena_deinit(&arena);
    return code;
}

void world_announce(struct world *w, struct world_partition *p, bool is_raised)
{
    if (is_raised) {
        p->leader_epoch++;
        p->partition_epoch++;
    }
    for (int32_t i = 0; i < p->replica_count; i++) {
        if (w->brokers[p->replicas[i]].replicas != NULL) {
            assert_int_equal(world_send(w, p->replicas[i], p), KERR_NONE);
        }
    }
}

int16_t world_stop_replica(struct world *w, int32_t at, const struct world_partition *p,
                           bool is_deleted, int32_t epoch)
{
    struct wire_stop_replica_request_topic_states_partition_states state = {
        .partition_index = p->partition, .leader_epoch = epoch, .delete_partition = is_deleted};
    struct wire_stop_replica_request_topic_states topic = {
        .topic_name = slice_str(p->topic), .partition_states = &state, .partition_states_count = 1};
    struct wire_stop_replica_request req;
    wire_stop_replica_request_init(&req);
    req.controller_epoch = w->controller_epoch;
    req.broker_epoch = at * 100;
    req.topic_states = &topic;
    req.topic_states_count = 1;
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    struct wire_stop_replica_response resp;
    assert_int_equal(replicas_stop_replica(world_replicas(w, at), &req, 4, &arena, &resp), 0);
    assert_int_equal(resp.error_code, 0);
    assert_int_equal(resp.partition_errors_count, 1);
    int16_t code = resp.partition_errors[0].error_code;
    arena_deinit(&arena);
    return code;
}

/* ---- producing ---- */

static void produce_done(void *arg, struct replicas_produce *produce)
{
    (void)produce;
    ((struct world_produce *)arg)->is_done = true;
}

static void make_batch(struct buf *out, int32_t count)
{
    struct record_builder builder;
    record_builder_init(&builder, RECORD_CODEC_NONE);
    for (int32_t i = 0; i < count; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "record %d", i); /* fits */
        struct record_input record = {
            .key = slice_str("key"), .value = slice_str(text), .timestamp = 1000 + i};
        record_builder_add(&builder, &record);
    }
    assert_int_equal(record_builder_finish(&builder, out), 0);
    record_builder_deinit(&builder);
}

static void append(struct world *w, int32_t at, const struct world_partition *p, int32_t count,
                   struct world_produce *ret_produce)
{
    int16_t acks = ret_produce->produce.acks;
    buf_init(&ret_produce->records);
    make_batch(&ret_produce->records, count);
    ret_produce->item = (struct replicas_append){
        .topic = slice_str(p->topic),
        .topic_id = p->topic_id,
        .partition = p->partition,
        .records = ret_produce->records.ptr,
        .records_len = ret_produce->records.len,
    };
    ret_produce->produce = (struct replicas_produce){
        .items = &ret_produce->item,
        .count = 1,
        .acks = acks,
        .timeout_ms = 10000,
        .done = produce_done,
        .arg = ret_produce,
    };
    ret_produce->is_done = replicas_produce(world_replicas(w, at), &ret_produce->produce);
}

void world_append(struct world *w, int32_t at, const struct world_partition *p, int32_t count,
                  struct world_produce *ret_produce)
{
    *ret_produce = (struct world_produce){.produce = {.acks = 1}};
    append(w, at, p, count, ret_produce);
    assert_int_equal(ret_produce->item.err, 0);
}

void world_append_acks(struct world *w, int32_t at, const struct world_partition *p, int16_t acks,
                       struct world_produce *ret_produce)
{
    *ret_produce = (struct world_produce){.produce = {.acks = acks}};
    append(w, at, p, 1, ret_produce);
}

void world_produce_deinit(struct world_produce *produce)
{
    replicas_produce_cancel(&produce->produce);
    buf_deinit(&produce->records);
}

/* ---- waiting and looking ---- */

void world_on_watch(void *arg, struct replicas_watch *watch, int events)
{
    (void)watch;
    struct world_seen *seen = arg;
    seen->events |= events;
    seen->calls++;
}

struct replicas_partition_info world_info(struct world *w, int32_t at,
                                          const struct world_partition *p)
{
    struct replicas_partition_info info;
    assert_true(
        replicas_partition_get(world_replicas(w, at), slice_str(p->topic), p->partition, &info));
    return info;
}

struct await {
    struct world *w;
    int32_t at;
    const struct world_partition *p;
    int64_t wanted;
};

static bool has_end(void *arg)
{
    const struct await *a = arg;
    return world_info(a->w, a->at, a->p).log_end == a->wanted;
}

static bool has_mark(void *arg)
{
    const struct await *a = arg;
    return world_info(a->w, a->at, a->p).high_watermark == a->wanted;
}

static bool has_isr(void *arg)
{
    const struct await *a = arg;
    return world_info(a->w, a->p->leader, a->p).isr_count == a->wanted;
}

void world_await_end(struct world *w, int32_t at, const struct world_partition *p, int64_t end)
{
    struct await a = {.w = w, .at = at, .p = p, .wanted = end};
    (void)sim_world_run(w->sim, 60000, has_end, &a); /* the assertion tells more */
    assert_int_equal(world_info(w, at, p).log_end, end);
}

void world_await_high_watermark(struct world *w, int32_t at, const struct world_partition *p,
                                int64_t offset)
{
    struct await a = {.w = w, .at = at, .p = p, .wanted = offset};
    (void)sim_world_run(w->sim, 60000, has_mark, &a); /* the assertion tells more */
    assert_int_equal(world_info(w, at, p).high_watermark, offset);
}

void world_await_isr(struct world *w, const struct world_partition *p, int32_t count)
{
    struct await a = {.w = w, .p = p, .wanted = count};
    (void)sim_world_run(w->sim, 60000, has_isr, &a); /* the assertion tells more */
    assert_int_equal(world_info(w, p->leader, p).isr_count, count);
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

void world_pass(struct world *w, int64_t ms)
{
    (void)sim_world_run(w->sim, ms, never, NULL); /* time is what is wanted */
}

static void load_log(struct world *w, int32_t at, const struct world_partition *p,
                     struct buf *ret_bytes)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/data/0/%s-%d/%020d.log", p->topic, p->partition, 0);
    struct env_file *file = NULL;
    uint64_t size = 0;
    size_t len = 0;
    assert_int_equal(env_file_open(sim_node_env(w->brokers[at].node), path, ENV_OPEN_READ, &file),
                     0);
    assert_int_equal(env_file_size(file, &size), 0);
    buf_init(ret_bytes);
    uint8_t *ptr = buf_put_space(ret_bytes, size);
    assert_int_equal(env_file_read(file, ptr, size, 0, &len), 0);
    assert_int_equal(len, size);
    env_file_unref(file);
}

void world_assert_same_log(struct world *w, int32_t a, int32_t b, const struct world_partition *p)
{
    struct buf left;
    struct buf right;
    load_log(w, a, p, &left);
    load_log(w, b, p, &right);
    assert_int_equal(left.len, right.len);
    assert_memory_equal(left.ptr, right.ptr, left.len);
    buf_deinit(&left);
    buf_deinit(&right);
}

static bool has_put(void *arg)
{
    const struct world *w = arg;
    return w->put_count > 0;
}

void world_await_put(struct world *w)
{
    assert_true(sim_world_run(w->sim, 60000, has_put, w));
}

void world_answer_put(struct world *w, int err)
{
    world_await_put(w);
    put_answer(w, err);
}
