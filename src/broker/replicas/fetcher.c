/*
 * Fetchers: which partitions copy from which leader over which connection, and the requests that are
 * sent. One request a connection is under way; the next names what has changed since (a fetch session,
 * KIP-227), so that idle partitions cost nothing. Answers are in fetch_answer.c.
 * Invariant: a partition is in exactly the list that its state names, and in `dirty` only while it is
 * in `on`; what the leader's session holds beyond `on` is in `forgotten`.
 * Runs on the broker's env.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "broker/replicas/internal.h"
#include "wire/fetch.h"
#include "wire/header.h"
#include "wire/list_offsets.h"
#include "wire/offset_for_leader_epoch.h"

#include <stdlib.h>

#define FETCH_CONNECT_MS    10000
#define FETCH_ANSWER_SPARE  (4 << 20)  /* beyond the records: headers of many partitions */
#define FETCH_ANSWER_BATCH  (64 << 20) /* one batch may be larger than the limits */
#define LONG_COPY_ANSWERS   8          /* full ones in a row make a long copy */
#define DELAY_FIRST_MS      20         /* of a refused partition, doubled each time */
#define DELAY_DOUBLINGS_MAX 16
#define FETCH_SESSION_LAST  INT32_MAX

static void fetcher_step(struct replicas_fetcher *f);

/* ---- life of a fetcher ---- */

static void step_due(void *arg)
{
    fetcher_step(arg);
}

static void reset_session(struct replicas_fetcher *f)
{
    f->session_id = 0;
    f->is_session_refused = false;
    for (int32_t i = 0; i < f->forgotten_count; i++) {
        free(f->forgotten[i].topic);
    }
    f->forgotten_count = 0;
    struct list_node *node;
    list_foreach (node, &f->on) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, fetch.link);
        p->fetch.is_in_session = false;
        if (!list_has(&p->fetch.dirty_link)) {
            list_push_back(&f->dirty, &p->fetch.dirty_link);
        }
    }
}

static void connect_peer(struct replicas_fetcher *f, const char *host, uint16_t port)
{
    struct replicas *r = f->replicas;
    net_peer_free(f->peer);
    free(f->host);
    f->host = xstrdup(host);
    f->port = port;
    f->busy_count = 0;
    f->answer_count = f->sent_count;
    struct net_peer_config config = {
        .host = f->host,
        .port = port,
        .response_bytes_max =
            MAX(r->config.fetch_response_bytes_max, FETCH_ANSWER_BATCH) + FETCH_ANSWER_SPARE,
        .backoff_ms = r->config.fetch_backoff_ms,
        .connect_timeout_ms = FETCH_CONNECT_MS,
    };
    f->peer = net_peer_new(r->env, &config);
    reset_session(f);
}

static void fetcher_free(struct replicas_fetcher *f)
{
    env_timer_stop(&f->step);
    net_peer_free(f->peer);
    for (int32_t i = 0; i < f->forgotten_count; i++) {
        free(f->forgotten[i].topic);
    }
    free(f->forgotten);
    free(f->host);
    list_remove(&f->replicas->fetchers, &f->link);
    free(f);
}

static struct replicas_fetcher *fetcher_get(struct replicas *r, int32_t broker, int32_t index)
{
    struct list_node *node;
    list_foreach (node, &r->fetchers) {
        struct replicas_fetcher *f = CONTAINER_OF(node, struct replicas_fetcher, link);
        if (f->broker == broker && f->index == index) {
            return f;
        }
    }
    const char *host;
    uint16_t port;
    if (!r->hooks.endpoint(r->hooks.arg, broker, &host, &port)) {
        return NULL;
    }
    struct replicas_fetcher *f = xalloc(sizeof *f);
    f->replicas = r;
    f->broker = broker;
    f->index = index;
    list_init(&f->on);
    list_init(&f->asking);
    list_init(&f->parting);
    list_init(&f->delayed);
    list_init(&f->paused);
    list_init(&f->dirty);
    env_timer_init(&f->step, r->env, step_due, f);
    list_push_back(&r->fetchers, &f->link);
    connect_peer(f, host, port);
    return f;
}

static bool is_unused(const struct replicas_fetcher *f)
{
    return list_is_empty(&f->on) && list_is_empty(&f->asking) && list_is_empty(&f->parting) &&
           list_is_empty(&f->delayed) && list_is_empty(&f->paused);
}

void replicas_fetchers_drain(struct replicas *r)
{
    struct list_node *node;
    struct list_node *next;
    list_foreach_safe (node, next, &r->fetchers) {
        struct replicas_fetcher *f = CONTAINER_OF(node, struct replicas_fetcher, link);
        if (is_unused(f)) {
            fetcher_free(f);
        }
    }
}

void replicas_fetchers_free(struct replicas *r)
{
    struct list_node *node;
    while ((node = list_first(&r->fetchers)) != NULL) {
        fetcher_free(CONTAINER_OF(node, struct replicas_fetcher, link));
    }
}

/* ---- where a partition is ---- */

static struct list *state_list(struct replicas_partition *p)
{
    struct replicas_fetcher *f = p->fetch.fetcher;
    switch (p->fetch.state) {
    case REPLICAS_FETCH_HOMELESS:
        return &p->replicas->homeless;
    case REPLICAS_FETCH_ON:
        return &f->on;
    case REPLICAS_FETCH_LATEST:
    case REPLICAS_FETCH_EARLIEST:
        return &f->asking;
    case REPLICAS_FETCH_EPOCH:
        return &f->parting;
    case REPLICAS_FETCH_DELAYED:
        return &f->delayed;
    case REPLICAS_FETCH_PAUSED:
        return &f->paused;
    case REPLICAS_FETCH_OFF:
    case REPLICAS_FETCH_FAILED:
        break;
    }
    return NULL;
}

/* The leader would go on answering for it. */
static void forget(struct replicas_partition *p)
{
    struct replicas_fetcher *f = p->fetch.fetcher;
    p->fetch.is_in_session = false;
    if (f->forgotten_count == f->forgotten_cap) {
        f->forgotten_cap = MAX(16, f->forgotten_cap * 2);
        f->forgotten = xrealloc(f->forgotten, (size_t)f->forgotten_cap * sizeof *f->forgotten);
    }
    f->forgotten[f->forgotten_count++] = (struct replicas_forgotten){
        .topic = xstrdup(replicas_partition_topic(p)),
        .topic_id = p->topic_id,
        .partition = replicas_partition_index(p),
    };
}

/* The fetcher looks again at that time, or before. */
static void step_at(struct replicas_fetcher *f, int64_t at_ms)
{
    if (!env_timer_is_active(&f->step) || at_ms < f->step_at_ms) {
        f->step_at_ms = at_ms;
        env_timer_start(&f->step, at_ms - env_now_ms(f->replicas->env));
    }
}

static void insert_delayed(struct list *delayed, struct replicas_partition *p)
{
    struct list_node *at = delayed->head.prev;
    while (at != &delayed->head &&
           CONTAINER_OF(at, struct replicas_partition, fetch.link)->fetch.retry_ms >
               p->fetch.retry_ms) {
        at = at->prev;
    }
    list_insert_after(delayed, at, &p->fetch.link);
}

/* Moves p to another state of the same fetcher; lists and session follow. */
static void set_state(struct replicas_partition *p, enum replicas_fetch_state state)
{
    struct list *from = state_list(p);
    if (from != NULL) {
        list_remove(from, &p->fetch.link);
    }
    if (p->fetch.state == REPLICAS_FETCH_ON) {
        list_remove(&p->fetch.fetcher->dirty, &p->fetch.dirty_link);
        if (p->fetch.is_in_session) {
            forget(p);
        }
    }
    p->fetch.is_asked = false;
    p->fetch.is_held = false;
    p->fetch.state = state;
    struct list *to = state_list(p);
    if (state == REPLICAS_FETCH_DELAYED) {
        insert_delayed(to, p);
        step_at(p->fetch.fetcher, p->fetch.retry_ms);
    } else if (to != NULL) {
        list_push_back(to, &p->fetch.link);
    }
    if (state == REPLICAS_FETCH_ON) {
        list_push_back(&p->fetch.fetcher->dirty, &p->fetch.dirty_link);
    }
}

/* Something new is to be asked for. A long poll that is under way may last: the next request of the
 * session is sent behind it, and a leader like ours then answers both at once. */
static void step_soon(struct replicas_fetcher *f)
{
    f->is_urgent = true;
    step_at(f, env_now_ms(f->replicas->env));
}

void replicas_fetch_stop(struct replicas_partition *p)
{
    struct replicas_fetcher *f = p->fetch.fetcher;
    set_state(p, REPLICAS_FETCH_OFF);
    replicas_copy_forget(p);
    p->fetch.fetcher = NULL;
    p->fetch.error = 0;
    p->fetch.leader_code = 0;
    p->fetch.lag = -1;
    if (f != NULL && is_unused(f)) {
        replicas_drain_soon(p->replicas);
    }
}

void replicas_fetch_fail(struct replicas_partition *p, int error)
{
    if (p->fetch.state != REPLICAS_FETCH_OFF) {
        replicas_fetch_stop(p);
        p->fetch.state = REPLICAS_FETCH_FAILED;
        p->fetch.error = error;
    }
}

void replicas_fetch_delay_ms(struct replicas_partition *p, int64_t delay_ms)
{
    p->fetch.retry_ms = env_now_ms(p->replicas->env) + delay_ms;
    set_state(p, REPLICAS_FETCH_DELAYED);
}

void replicas_fetch_delay(struct replicas_partition *p)
{
    int32_t doublings = MIN(p->fetch.refusal_count, DELAY_DOUBLINGS_MAX);
    p->fetch.refusal_count++;
    replicas_fetch_delay_ms(
        p, MIN((int64_t)DELAY_FIRST_MS << doublings, p->replicas->config.fetch_backoff_ms));
}

void replicas_fetch_touch(struct replicas_partition *p)
{
    if (p->fetch.state == REPLICAS_FETCH_ON && !list_has(&p->fetch.dirty_link)) {
        list_push_back(&p->fetch.fetcher->dirty, &p->fetch.dirty_link);
    }
}

void replicas_fetch_ask(struct replicas_partition *p, enum replicas_fetch_state state)
{
    set_state(p, state);
}

static enum replicas_fetch_state next_state(const struct replicas_partition *p)
{
    return p->fetch.is_parted ? REPLICAS_FETCH_EPOCH : REPLICAS_FETCH_ON;
}

void replicas_fetch_resume(struct replicas_partition *p)
{
    set_state(p, next_state(p));
    step_soon(p->fetch.fetcher);
}

void replicas_fetch_pause(struct replicas_partition *p)
{
    set_state(p, REPLICAS_FETCH_PAUSED);
}

/* abs(31 * hash(topic) + partition) mod fetchers, in Java's arithmetic. Long copies have as many fetchers
 * of their own behind those. */
static int32_t fetcher_index(const struct replicas_partition *p)
{
    int32_t fetchers = p->replicas->config.fetchers;
    uint32_t hash = 31 * (uint32_t)p->key.topic->java_hash + (uint32_t)replicas_partition_index(p);
    int32_t value = (int32_t)hash;
    uint32_t magnitude = value < 0 ? 0u - hash : hash;
    int32_t index = (int32_t)((magnitude & INT32_MAX) % (uint32_t)fetchers);
    return p->fetch.is_long_copy ? fetchers + index : index;
}

void replicas_fetch_choose(struct replicas_partition *p)
{
    struct replicas *r = p->replicas;
    int64_t long_bytes = (int64_t)LONG_COPY_ANSWERS * r->config.fetch_partition_bytes_max;
    bool is_long =
        p->fetch.lag > 0 && (p->fetch.is_long_copy || p->fetch.streak_bytes >= long_bytes);
    if (is_long == p->fetch.is_long_copy || p->fetch.state != REPLICAS_FETCH_ON) {
        return;
    }
    p->fetch.is_long_copy = is_long;
    struct replicas_fetcher *from = p->fetch.fetcher;
    struct replicas_fetcher *to = fetcher_get(r, from->broker, fetcher_index(p));
    if (to == NULL) {
        p->fetch.is_long_copy = !is_long; /* the leader's address is unknown just now */
        return;
    }
    set_state(p, REPLICAS_FETCH_OFF);
    p->fetch.fetcher = to;
    set_state(p, REPLICAS_FETCH_ON);
    step_soon(to);
    if (is_unused(from)) {
        replicas_drain_soon(r);
    }
}

/* Below this level a fetch does not say where the logs part: that is asked for first. A log without
 * epochs has nothing to ask about. */
static bool asks_epoch_first(const struct replicas_partition *p)
{
    return !ibp_has(p->replicas->config.level, IBP_TRUNCATION_ON_FETCH) &&
           plog_epoch_latest(p->log) >= 0;
}

/* A log without epochs cannot tell where it parted from the leader's: only what was committed is
 * sure (11.7). False when the log failed. */
static bool cut_unknown(struct replicas_partition *p)
{
    if (plog_epoch_latest(p->log) >= 0 || p->core.high_watermark >= p->core.log_end) {
        return true;
    }
    return replicas_truncate(p, p->core.high_watermark);
}

void replicas_fetch_start(struct replicas_partition *p)
{
    struct replicas *r = p->replicas;
    int32_t leader = p->core.state.leader;
    if (leader < 0 || leader == r->config.broker_id) {
        replicas_fetch_stop(p);
        return;
    }
    struct replicas_fetcher *f = fetcher_get(r, leader, fetcher_index(p));
    if (f != p->fetch.fetcher || f == NULL) {
        replicas_fetch_stop(p);
        p->fetch.fetcher = f;
    }
    p->fetch.error = 0;
    p->fetch.leader_code = 0;
    p->fetch.lag = -1;
    p->fetch.refusal_count = 0;
    p->fetch.initial_offset = p->core.high_watermark;
    p->fetch.is_parted = asks_epoch_first(p);
    if (f == NULL) {
        set_state(p, REPLICAS_FETCH_HOMELESS);
        return;
    }
    set_state(p, next_state(p));
    if (cut_unknown(p)) {
        step_soon(f);
    } else {
        replicas_fetch_fail(p, -E_OFFLINE);
    }
}

void replicas_fetchers_metadata_changed(struct replicas *r)
{
    struct list_node *node;
    list_foreach (node, &r->fetchers) {
        struct replicas_fetcher *f = CONTAINER_OF(node, struct replicas_fetcher, link);
        const char *host;
        uint16_t port;
        if (r->hooks.endpoint(r->hooks.arg, f->broker, &host, &port) &&
            (f->port != port || strcmp(f->host, host) != 0)) {
            connect_peer(f, host, port);
            f->pause_until_ms = 0;
            step_soon(f);
        }
    }
    /* Those that stay homeless are put at the end again. */
    for (size_t left = r->homeless.count; left > 0; left--) {
        struct list_node *first = list_first(&r->homeless);
        replicas_fetch_start(CONTAINER_OF(first, struct replicas_partition, fetch.link));
    }
}

/* ---- requests ---- */

/* A transport or top-level error, or a request that cannot be made: the fetcher starts again after the
 * back-off, in a new session. */
static void back_off(struct replicas_fetcher *f)
{
    f->is_broken = true;
    f->replicas->totals.fetch_restarts++;
    reset_session(f);
    f->pause_until_ms = env_now_ms(f->replicas->env) + f->replicas->config.fetch_backoff_ms;
    step_at(f, f->pause_until_ms);
}

static void send_request(struct replicas_fetcher *f, struct buf *body, net_answer_fn done)
{
    if (buf_failed(body)) {
        buf_deinit(body);
        back_off(f);
        return;
    }
    f->busy_count++;
    f->sent_count++;
    net_peer_call(f->peer, body, f->replicas->config.socket_timeout_ms, done, f);
}

static int32_t bytes_wanted(struct replicas_partition *p)
{
    struct replicas *r = p->replicas;
    int32_t bytes_max = replicas_limit_holds(p)  ? p->fetch.piece
                        : p->fetch.is_far_behind ? r->config.fetch_catch_up_bytes_max
                                                 : r->config.fetch_partition_bytes_max;
    return p->is_follower_throttled
               ? replica_throttle_piece(&r->follower_throttle, bytes_max, env_now_us(r->env))
               : bytes_max;
}

static void fill_fetch_partition(struct replicas_partition *p,
                                 struct wire_fetch_request_topics_partitions *out)
{
    wire_fetch_request_topics_partitions_init(out);
    p->fetch.sent_offset = p->core.log_end;
    p->fetch.sent_epoch = p->core.state.leader_epoch;
    p->fetch.sent_request = p->fetch.fetcher->sent_count + 1;
    out->partition = replicas_partition_index(p);
    out->current_leader_epoch = p->core.state.leader_epoch;
    out->fetch_offset = p->core.log_end;
    out->last_fetched_epoch = plog_epoch_latest(p->log);
    out->log_start_offset = plog_start_offset(p->log);
    out->partition_max_bytes = bytes_wanted(p);
}

/* Partitions to name, neighbours of one topic together. False when the arena is full. */
static bool fill_fetch_topics(struct replicas_fetcher *f, struct wire_fetch_request *req)
{
    struct replicas *r = f->replicas;
    bool is_full = f->session_id == 0;
    struct list *source = is_full ? &f->on : &f->dirty;
    size_t count = source->count;
    struct wire_fetch_request_topics *topics = arena_array(&r->arena, count + 1, sizeof *topics);
    struct wire_fetch_request_topics_partitions *parts =
        arena_array(&r->arena, count + 1, sizeof *parts);
    if (topics == NULL || parts == NULL) {
        return false;
    }
    const struct replicas_topic *last = NULL;
    req->topics = topics;
    req->topics_count = 0;
    struct list_node *node;
    list_foreach (node, source) {
        struct replicas_partition *p =
            is_full ? CONTAINER_OF(node, struct replicas_partition, fetch.link)
                    : CONTAINER_OF(node, struct replicas_partition, fetch.dirty_link);
        if (p->key.topic != last) {
            last = p->key.topic;
            topics[req->topics_count++] = (struct wire_fetch_request_topics){
                .topic = slice_of(last->name, last->name_len),
                .topic_id = p->topic_id,
                .partitions = parts,
            };
        }
        fill_fetch_partition(p, parts++);
        topics[req->topics_count - 1].partitions_count++;
        p->fetch.is_in_session = true;
    }
    for (size_t left = f->dirty.count; left > 0; left--) {
        (void)list_pop(&f->dirty); /* named now; only the membership is undone */
    }
    return true;
}

/* What left the session and has not come back. */
static bool fill_forgotten(struct replicas_fetcher *f, struct wire_fetch_request *req)
{
    struct replicas *r = f->replicas;
    req->forgotten_topics_data =
        arena_array(&r->arena, (size_t)f->forgotten_count + 1, sizeof *req->forgotten_topics_data);
    req->forgotten_topics_data_count = 0;
    if (req->forgotten_topics_data == NULL) {
        return false;
    }
    int32_t count = f->session_id == 0 ? 0 : f->forgotten_count;
    for (int32_t i = 0; i < count; i++) {
        struct replicas_forgotten *forgotten = &f->forgotten[i];
        const struct replicas_partition *p =
            replicas_partition_find(r, slice_str(forgotten->topic), forgotten->partition);
        if (p != NULL && p->fetch.fetcher == f && p->fetch.is_in_session &&
            uuid_equal(p->topic_id, forgotten->topic_id)) {
            continue;
        }
        req->forgotten_topics_data[req->forgotten_topics_data_count++] =
            (struct wire_fetch_request_forgotten_topics_data){
                .topic = slice_str(forgotten->topic),
                .topic_id = forgotten->topic_id,
                .partitions = &forgotten->partition,
                .partitions_count = 1,
            };
    }
    return true;
}

/* The leader hears the same controller as we do: an id that our metadata cache does not have, because
 * the present controller is of a level without ids, would say nothing there either. */
static bool has_topic_id(const struct replicas_partition *p)
{
    const struct replicas *r = p->replicas;
    return ibp_has(r->config.level, IBP_FETCH_BY_ID) && !uuid_is_zero(p->topic_id) &&
           r->hooks.has_topic_id(r->hooks.arg, p->topic_id);
}

static int16_t fetch_version(const struct replicas_fetcher *f)
{
    int16_t newest = ibp_version(f->replicas->config.level, IBP_CALL_FETCH);
    return f->is_by_id ? newest : MIN(newest, IBP_FETCH_NAMES_MAX);
}

/* All that the next request names have topic ids. */
static bool can_name_by_id(const struct replicas_fetcher *f)
{
    struct list_node *node;
    if (f->session_id == 0) {
        list_foreach (node, &f->on) {
            if (!has_topic_id(CONTAINER_OF(node, struct replicas_partition, fetch.link))) {
                return false;
            }
        }
        return true;
    }
    list_foreach (node, &f->dirty) {
        if (!has_topic_id(CONTAINER_OF(node, struct replicas_partition, fetch.dirty_link))) {
            return false;
        }
    }
    return true;
}

/* Topics are named by id when all of them have one; a session is bound to one way. */
static void choose_naming(struct replicas_fetcher *f)
{
    bool is_by_id = can_name_by_id(f);
    if (f->session_id == 0) {
        f->is_by_id = is_by_id;
    } else if (f->is_by_id && !is_by_id) {
        reset_session(f);
        f->is_by_id = false;
    }
}

static void fetch_done(void *arg, int err, struct block *frame, struct slice payload)
{
    (void)frame; /* records are appended before this returns */
    struct replicas_fetcher *f = arg;
    struct replicas *r = f->replicas;
    int16_t version = fetch_version(f);
    f->busy_count--;
    f->answer_count++;
    arena_reset(&r->arena);
    struct wire_fetch_response resp;
    struct wire_response_header header;
    struct reader reader;
    reader_init(&reader, payload);
    if (err == 0) {
        err = wire_response_header_read(&header, &reader, WIRE_KEY_FETCH, version);
    }
    if (err == 0) {
        err = wire_fetch_response_decode(&resp, &reader, version, &r->arena);
    }
    if (err != 0 || resp.error_code != 0) {
        /* Also for lost sessions (70, 71, 106): the back-off bounds a leader that keeps losing them. */
        back_off(f);
        return;
    }
    if (resp.session_id != f->session_id) {
        f->session_id = resp.session_id;
        f->session_epoch = 1;
    }
    f->is_session_refused = resp.session_id == 0;
    f->is_broken = false;
    replicas_fetch_answered(f, &resp);
    fetcher_step(f);
}

/* The epoch of this request; requests of a session are numbered as they leave. */
static int32_t take_session_epoch(struct replicas_fetcher *f)
{
    if (f->session_id == 0) {
        return 0;
    }
    int32_t epoch = f->session_epoch;
    f->session_epoch = epoch == FETCH_SESSION_LAST ? 1 : epoch + 1;
    return epoch;
}

static void send_fetch(struct replicas_fetcher *f)
{
    struct replicas *r = f->replicas;
    choose_naming(f);
    arena_reset(&r->arena);
    struct wire_fetch_request req;
    wire_fetch_request_init(&req);
    int16_t version = fetch_version(f);
    req.replica_id = r->config.broker_id;
    req.replica_state.replica_id = r->config.broker_id;
    req.replica_state.replica_epoch = r->hooks.broker_epoch(r->hooks.arg);
    /* The request that opens a session does not wait: others can follow only when its id is known. */
    bool is_opening = f->session_id == 0 && !f->is_session_refused;
    req.max_wait_ms = is_opening ? 0 : r->config.fetch_wait_max_ms;
    req.min_bytes = r->config.fetch_min_bytes;
    /* A long copy needs no larger answers than its pieces: the loop has others to serve. */
    req.max_bytes = f->index >= r->config.fetchers ? r->config.fetch_catch_up_bytes_max
                                                   : r->config.fetch_response_bytes_max;
    req.session_id = f->session_id;
    req.session_epoch = take_session_epoch(f);
    req.rack_id = slice_of("", 0);
    struct wire_request_header header = {
        .api_key = WIRE_KEY_FETCH,
        .api_version = version,
        .client_id = slice_str("klamm-replica"),
    };
    struct buf body;
    buf_init(&body);
    bool is_filled = fill_fetch_topics(f, &req) && fill_forgotten(f, &req);
    wire_request_header_write(&header, &body);
    if (is_filled) {
        wire_fetch_request_encode(&req, &body, version);
    }
    body.failed = body.failed || !is_filled;
    for (int32_t i = 0; i < f->forgotten_count; i++) {
        free(f->forgotten[i].topic);
    }
    f->forgotten_count = 0;
    send_request(f, &body, fetch_done);
}

static void offsets_done(void *arg, int err, struct block *frame, struct slice payload)
{
    (void)frame; /* everything is used before this returns */
    struct replicas_fetcher *f = arg;
    struct replicas *r = f->replicas;
    int16_t version = ibp_version(r->config.level, IBP_CALL_LIST_OFFSETS);
    f->busy_count--;
    f->answer_count++;
    arena_reset(&r->arena);
    struct wire_list_offsets_response resp;
    struct wire_response_header header;
    struct reader reader;
    reader_init(&reader, payload);
    if (err == 0) {
        err = wire_response_header_read(&header, &reader, WIRE_KEY_LIST_OFFSETS, version);
    }
    if (err == 0) {
        err = wire_list_offsets_response_decode(&resp, &reader, version, &r->arena);
    }
    if (err != 0) {
        back_off(f);
        return;
    }
    f->is_broken = false;
    replicas_offsets_answered(f, &resp);
    fetcher_step(f);
}

static void send_offsets(struct replicas_fetcher *f)
{
    struct replicas *r = f->replicas;
    arena_reset(&r->arena);
    struct wire_list_offsets_request req;
    wire_list_offsets_request_init(&req);
    req.replica_id = r->config.broker_id;
    size_t count = f->asking.count;
    req.topics = arena_array(&r->arena, count, sizeof *req.topics);
    struct wire_list_offsets_request_topics_partitions *parts =
        arena_array(&r->arena, count, sizeof *parts);
    struct buf body;
    buf_init(&body);
    struct list_node *node;
    list_foreach (node, &f->asking) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, fetch.link);
        if (req.topics == NULL || parts == NULL) {
            body.failed = true;
            break;
        }
        p->fetch.is_asked = true;
        p->fetch.sent_epoch = p->core.state.leader_epoch;
        p->fetch.sent_request = f->sent_count + 1;
        *parts = (struct wire_list_offsets_request_topics_partitions){
            .partition_index = replicas_partition_index(p),
            .current_leader_epoch = p->core.state.leader_epoch,
            .timestamp = p->fetch.state == REPLICAS_FETCH_LATEST ? -1 : -2,
        };
        req.topics[req.topics_count++] = (struct wire_list_offsets_request_topics){
            .name = slice_str(replicas_partition_topic(p)),
            .partitions = parts++,
            .partitions_count = 1,
        };
    }
    struct wire_request_header header = {
        .api_key = WIRE_KEY_LIST_OFFSETS,
        .api_version = ibp_version(r->config.level, IBP_CALL_LIST_OFFSETS),
        .client_id = slice_str("klamm-replica"),
    };
    wire_request_header_write(&header, &body);
    wire_list_offsets_request_encode(&req, &body, header.api_version);
    send_request(f, &body, offsets_done);
}

/* ---- where the logs part, below 2.7-IV1 ---- */

static void epochs_done(void *arg, int err, struct block *frame, struct slice payload)
{
    (void)frame; /* everything is used before this returns */
    struct replicas_fetcher *f = arg;
    struct replicas *r = f->replicas;
    int16_t version = ibp_version(r->config.level, IBP_CALL_OFFSET_FOR_LEADER_EPOCH);
    f->busy_count--;
    f->answer_count++;
    arena_reset(&r->arena);
    struct wire_offset_for_leader_epoch_response resp;
    struct wire_response_header header;
    struct reader reader;
    reader_init(&reader, payload);
    if (err == 0) {
        err =
            wire_response_header_read(&header, &reader, WIRE_KEY_OFFSET_FOR_LEADER_EPOCH, version);
    }
    if (err == 0) {
        err = wire_offset_for_leader_epoch_response_decode(&resp, &reader, version, &r->arena);
    }
    if (err != 0) {
        back_off(f);
        return;
    }
    replicas_epochs_answered(f, &resp);
    fetcher_step(f);
}

static bool fill_epochs(struct replicas_fetcher *f,
                        struct wire_offset_for_leader_epoch_request *req)
{
    struct replicas *r = f->replicas;
    size_t count = f->parting.count;
    struct wire_offset_for_leader_epoch_request_topics_partitions *parts =
        arena_array(&r->arena, count, sizeof *parts);
    req->topics = arena_array(&r->arena, count, sizeof *req->topics);
    req->topics_count = 0;
    if (req->topics == NULL || parts == NULL) {
        return false;
    }
    struct list_node *node;
    list_foreach (node, &f->parting) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, fetch.link);
        p->fetch.is_asked = true;
        p->fetch.sent_epoch = p->core.state.leader_epoch;
        p->fetch.sent_request = f->sent_count + 1;
        *parts = (struct wire_offset_for_leader_epoch_request_topics_partitions){
            .partition = replicas_partition_index(p),
            .current_leader_epoch = p->core.state.leader_epoch,
            .leader_epoch = plog_epoch_latest(p->log),
        };
        req->topics[req->topics_count++] = (struct wire_offset_for_leader_epoch_request_topics){
            .topic = slice_str(replicas_partition_topic(p)),
            .partitions = parts++,
            .partitions_count = 1,
        };
    }
    return true;
}

static void send_epochs(struct replicas_fetcher *f)
{
    struct replicas *r = f->replicas;
    arena_reset(&r->arena);
    struct wire_offset_for_leader_epoch_request req;
    wire_offset_for_leader_epoch_request_init(&req);
    req.replica_id = r->config.broker_id;
    struct wire_request_header header = {
        .api_key = WIRE_KEY_OFFSET_FOR_LEADER_EPOCH,
        .api_version = ibp_version(r->config.level, IBP_CALL_OFFSET_FOR_LEADER_EPOCH),
        .client_id = slice_str("klamm-replica"),
    };
    struct buf body;
    buf_init(&body);
    bool is_filled = fill_epochs(f, &req);
    wire_request_header_write(&header, &body);
    if (is_filled) {
        wire_offset_for_leader_epoch_request_encode(&req, &body, header.api_version);
    }
    body.failed = body.failed || !is_filled;
    send_request(f, &body, epochs_done);
}

/* ---- what comes next ---- */

/* Those whose time has come take part again; they do not wait for a long poll to end. */
static void wake_delayed(struct replicas_fetcher *f, int64_t now_ms)
{
    struct list_node *node;
    while ((node = list_first(&f->delayed)) != NULL) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, fetch.link);
        if (p->fetch.retry_ms > now_ms) {
            step_at(f, p->fetch.retry_ms);
            return;
        }
        set_state(p, next_state(p));
        f->is_urgent = true;
    }
}

/* While the rate is exceeded, throttled partitions that have something to fetch stay out (13.3). */
static void hold_throttled(struct replicas_fetcher *f)
{
    struct replicas *r = f->replicas;
    int64_t now_us = env_now_us(r->env);
    if (!replica_throttle_is_exceeded(&r->follower_throttle, now_us)) {
        return;
    }
    int64_t wait_ms = replica_throttle_wait_ms(&r->follower_throttle, now_us);
    struct list_node *node;
    struct list_node *next;
    list_foreach_safe (node, next, &f->on) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, fetch.link);
        if (p->is_follower_throttled && p->fetch.lag != 0) {
            p->limited_ms = env_now_ms(r->env);
            replicas_fetch_delay_ms(p, wait_ms);
        }
    }
}

static void fetcher_step(struct replicas_fetcher *f)
{
    int64_t now_ms = env_now_ms(f->replicas->env);
    if (f->replicas->is_stopping) {
        return;
    }
    wake_delayed(f, now_ms);
    bool can_pipeline = f->busy_count == 1 && f->is_urgent && f->session_id != 0 &&
                        !list_is_empty(&f->dirty) && (!f->is_by_id || can_name_by_id(f));
    if (f->busy_count > 0 && !can_pipeline) {
        return;
    }
    f->is_urgent = false;
    hold_throttled(f);
    replicas_limit_hold_back(f);
    if (f->busy_count > 0 && list_is_empty(&f->dirty)) {
        return; /* all that was new has to wait */
    }
    if (now_ms < f->pause_until_ms) {
        step_at(f, f->pause_until_ms);
    } else if (!list_is_empty(&f->asking) && f->busy_count == 0) {
        send_offsets(f);
    } else if (!list_is_empty(&f->parting) && f->busy_count == 0) {
        send_epochs(f);
    } else if (!list_is_empty(&f->on)) {
        send_fetch(f);
    }
}
