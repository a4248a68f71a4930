/*
 * Fetch, versions 4-17 (protocol.md 5.1 and 6.3): decides which partitions are wanted (this request's,
 * or its session's), reads them, and answers at once or waits for more. The records never pass through
 * here: the answer has gaps that the net fills from files.
 *
 * While a fetch waits it holds no files: when watches fire, everything it may answer with is read again
 * at once, which is what gives one consistent answer. A session is held by at most one waiting fetch; a
 * second request for it ends the wait of the first. Of a session only the hot partitions are read.
 */
#include "wire/fetch.h"

#include "base/alloc.h"
#include "base/check.h"
#include "broker/api/answers.h"
#include "broker/api/fetch_session.h"
#include "broker/api/handlers.h"
#include "broker/config/settings.h"
#include "broker/replicas/replicas.h"
#include "record/batch.h"

#define SESSION_EPOCH_NONE  (-1)
#define SESSION_EPOCH_FIRST 0
#define VERSION_TOPIC_IDS   13
#define VERSION_ZSTD        10
#define VERSION_SESSIONS    7

struct fetch {
    struct api_request *r;
    const struct wire_fetch_request *req;
    int32_t replica_id;            /* the follower, else negative */
    struct fetch_session *session; /* NULL = none */
    bool is_incremental;
    /* What is read: the partitions of the request, or the hot ones of the session. */
    struct fetch_item **items;
    struct replicas_read *reads; /* one an item */
    int16_t *codes;              /* one an item: the error to say */
    int32_t count;
    int32_t capacity;     /* of the arrays */
    bool is_empty;        /* no partition is wanted at all */
    int64_t bytes;        /* found by the latest reading */
    bool has_news;        /* an error, a divergence: what must be told now */
    bool is_role_changed; /* while it waited: answered with whatever there is */
    struct env_timer timer;
    struct env_timer wake; /* watches have fired: once for all that fire together */
};

static const uint8_t no_records[1];

/* ---- which partitions ---- */

static struct fetch_item item_of(const struct wire_fetch_request_topics *topic,
                                 const struct wire_fetch_request_topics_partitions *p)
{
    return (struct fetch_item){
        .topic = topic->topic,
        .topic_id = topic->topic_id,
        .partition = p->partition,
        .current_leader_epoch = p->current_leader_epoch,
        .last_fetched_epoch = p->last_fetched_epoch,
        .fetch_offset = p->fetch_offset,
        .log_start_offset = p->log_start_offset,
        .bytes_max = p->partition_max_bytes,
        .told_high_watermark = -1,
        .told_log_start = -1,
    };
}

static int64_t count_partitions(const struct wire_fetch_request *req)
{
    int64_t count = 0;
    for (int32_t i = 0; i < req->topics_count; i++) {
        count += req->topics[i].partitions_count;
    }
    return count;
}

/* Room for count partitions in the arrays. */
static bool reserve(struct fetch *f, int64_t count)
{
    if (count > WIRE_COUNT_MAX) {
        return false;
    }
    if (f->capacity >= count && f->capacity > 0) {
        return true;
    }
    f->capacity = MAX((int32_t)count, MIN(f->capacity * 2, WIRE_COUNT_MAX));
    f->items = api_array(f->r, f->capacity, sizeof *f->items);
    f->reads = api_array(f->r, f->capacity, sizeof *f->reads);
    f->codes = api_array(f->r, f->capacity, sizeof *f->codes);
    return f->items != NULL && f->reads != NULL && f->codes != NULL;
}

/* The partitions of the request, from its arena. */
static bool items_from_request(struct fetch *f)
{
    int64_t count = count_partitions(f->req);
    if (!reserve(f, count)) {
        return false;
    }
    struct fetch_item *items = api_array(f->r, (int32_t)count, sizeof *items);
    if (items == NULL) {
        return false;
    }
    for (int32_t i = 0; i < f->req->topics_count; i++) {
        const struct wire_fetch_request_topics *topic = &f->req->topics[i];
        for (int32_t j = 0; j < topic->partitions_count; j++) {
            items[f->count] = item_of(topic, &topic->partitions[j]);
            items[f->count].waiter = f;
            f->items[f->count] = &items[f->count];
            f->count++;
        }
    }
    return true;
}

/* The hot partitions of the session, in its order. */
static bool items_from_session(struct fetch *f)
{
    f->count = 0;
    if (!reserve(f, (int64_t)f->session->hot.count)) {
        return false;
    }
    struct list_node *node;
    list_foreach (node, &f->session->hot) {
        f->items[f->count++] = CONTAINER_OF(node, struct fetch_item, hot_link);
    }
    return true;
}

/* Takes the request's partitions into the session and drops the forgotten ones. */
static int session_update(struct fetch *f)
{
    int err = 0;
    for (int32_t i = 0; i < f->req->forgotten_topics_data_count; i++) {
        const struct wire_fetch_request_forgotten_topics_data *topic =
            &f->req->forgotten_topics_data[i];
        for (int32_t j = 0; j < topic->partitions_count; j++) {
            struct fetch_item key = {.topic = topic->topic,
                                     .topic_id = topic->topic_id,
                                     .partition = topic->partitions[j]};
            api_fetch_session_forget(f->session, &key);
        }
    }
    for (int32_t i = 0; err == 0 && i < f->req->topics_count; i++) {
        const struct wire_fetch_request_topics *topic = &f->req->topics[i];
        for (int32_t j = 0; err == 0 && j < topic->partitions_count; j++) {
            struct fetch_item item = item_of(topic, &topic->partitions[j]);
            err = api_fetch_session_put(f->session, &item);
        }
    }
    return err;
}

/* ---- reading ---- */

static void files_release(struct fetch *f)
{
    for (int32_t i = 0; i < f->count; i++) {
        env_file_unref(f->reads[i].file);
        f->reads[i].file = NULL;
    }
}

/* The name behind an id, by the metadata cache. */
static struct slice topic_of(const struct fetch *f, const struct fetch_item *item)
{
    if (f->r->version < VERSION_TOPIC_IDS) {
        return item->topic;
    }
    const struct metadata_topic *topic =
        metadata_topic_find_id(f->r->api->parts.metadata, item->topic_id);
    return topic == NULL ? SLICE_NULL : slice_str(topic->name);
}

static void item_woken(void *arg, struct replicas_watch *watch, int events);

/* From now on news of the partition are told. */
static bool item_watch(struct fetch *f, struct fetch_item *item, struct slice topic)
{
    if (replicas_watch_is_active(&item->watch)) {
        return true;
    }
    item->watch.arg = item;
    item->watch.fn = item_woken;
    item->watch.mask =
        REPLICAS_HIGH_WATERMARK | REPLICAS_WARM | (f->replica_id >= 0 ? REPLICAS_NEW_DATA : 0);
    return replicas_watch_start(f->r->api->parts.replicas, &item->watch, topic, item->partition);
}

/* A client that is too old for zstd must be told (76), not given what it cannot read. A header that
 * cannot be read is left to the client's own checks. */
static bool holds_zstd(const struct replicas_read *read)
{
    uint64_t end = read->pos + read->len;
    uint8_t header[RECORD_HEADER_SIZE];
    struct record_batch batch;
    size_t len;
    for (uint64_t pos = read->pos; pos < end; pos += batch.len) {
        if (env_file_read(read->file, header, sizeof header, pos, &len) < 0 ||
            record_batch_parse(slice_of(header, len), &batch) < 0) {
            return false;
        }
        if (record_batch_codec(&batch) == RECORD_CODEC_ZSTD) {
            return true;
        }
    }
    return false;
}

static void read_one(struct fetch *f, int32_t index, int64_t bytes_left)
{
    struct fetch_item *item = f->items[index];
    struct replicas_read *read = &f->reads[index];
    *read = (struct replicas_read){
        .topic = topic_of(f, item),
        .topic_id = item->topic_id,
        .partition = item->partition,
        .replica_id = f->replica_id,
        .is_read_committed = f->req->isolation_level == 1,
        .current_leader_epoch = item->current_leader_epoch,
        .last_fetched_epoch = item->last_fetched_epoch,
        .fetch_offset = item->fetch_offset,
        .log_start_offset = item->log_start_offset,
        .bytes_max = (int32_t)MAX(MIN((int64_t)item->bytes_max, bytes_left), 0),
        .is_minimum_needed = f->bytes == 0,
        .high_watermark = -1,
        .last_stable_offset = -1,
        .log_start = -1,
    };
    if (slice_is_null(read->topic)) {
        f->codes[index] = KERR_UNKNOWN_TOPIC_ID;
        return;
    }
    if (f->replica_id < 0 && !api_is_allowed_on_topic(f->r, AUTH_OPERATION_READ, read->topic)) {
        f->codes[index] = KERR_TOPIC_AUTHORIZATION_FAILED;
        return;
    }
    if (f->session != NULL) {
        (void)item_watch(f, item,
                         read->topic); /* not hosted: then the read says so, and it stays hot */
    }
    replicas_read(f->r->api->parts.replicas, read);
    if (read->err == -E_NOT_FOUND) {
        struct api_leader leader;
        read->err =
            api_not_hosted(f->r->api->parts.metadata, read->topic, read->partition, &leader);
        read->leader = leader.id;
        read->leader_epoch = leader.epoch;
    }
    f->codes[index] = api_error(API_ERROR_PARTITION, read->err);
    if (f->r->version < VERSION_ZSTD && read->len > 0 && holds_zstd(read)) {
        env_file_unref(read->file);
        *read =
            (struct replicas_read){.high_watermark = -1, .last_stable_offset = -1, .log_start = -1};
        f->codes[index] = KERR_UNSUPPORTED_COMPRESSION_TYPE;
    }
}

/* False when the request is too large for its arena. */
static bool read_all(struct fetch *f)
{
    int64_t max = MIN((int64_t)f->req->max_bytes,
                      config_get_number(settings_broker(f->r->api->parts.settings),
                                        CONFIG_BROKER_FETCH_MAX_BYTES));
    files_release(f);
    if (f->session != NULL && !items_from_session(f)) {
        f->count = 0;
        return false;
    }
    f->bytes = 0;
    f->has_news = false;
    replicas_read_begin(f->r->api->parts.replicas);
    for (int32_t i = 0; i < f->count; i++) {
        read_one(f, i, max - f->bytes);
        f->bytes += (int64_t)f->reads[i].len;
        f->has_news = f->has_news || f->codes[i] != KERR_NONE || f->reads[i].is_diverging;
    }
    return true;
}

/* The reader has all it may have of this partition. */
static bool is_exhausted(const struct fetch *f, int32_t index)
{
    const struct replicas_read *read = &f->reads[index];
    return f->codes[index] == KERR_NONE && !read->is_diverging &&
           read->fetch_offset >= read->readable_end;
}

/* ---- answering ---- */

/* An incremental answer leaves out what has not changed. */
static bool is_told(const struct fetch *f, int32_t index)
{
    const struct fetch_item *item = f->items[index];
    const struct replicas_read *read = &f->reads[index];
    return !f->is_incremental || f->codes[index] != KERR_NONE || read->len > 0 ||
           read->is_diverging || read->high_watermark != item->told_high_watermark ||
           read->log_start != item->told_log_start;
}

static void fill_partition(const struct fetch *f, int32_t index,
                           struct wire_fetch_response_responses_partitions *out)
{
    const struct replicas_read *read = &f->reads[index];
    wire_fetch_response_responses_partitions_init(out);
    out->partition_index = f->items[index]->partition;
    out->error_code = f->codes[index];
    out->high_watermark = read->high_watermark;
    out->last_stable_offset = read->last_stable_offset;
    out->log_start_offset = read->log_start;
    out->aborted_transactions_count = f->req->isolation_level == 1 ? 0 : -1;
    out->records = (struct wire_records){.ptr = no_records, .len = 0};
    if (read->len > 0) {
        out->records = (struct wire_records){.ptr = NULL, .len = read->len};
    }
    if (read->is_diverging) {
        out->diverging_epoch.epoch = read->diverging_epoch;
        out->diverging_epoch.end_offset = read->diverging_end;
    }
    if (read->err == -E_NOT_LEADER || read->err == -E_FENCED) {
        out->current_leader.leader_id = read->leader;
        out->current_leader.leader_epoch = read->leader_epoch;
    }
}

/* What the session must remember of this answer. */
static void session_note(struct fetch *f, int32_t index)
{
    struct fetch_item *item = f->items[index];
    bool is_ok = f->codes[index] == KERR_NONE;
    item->told_high_watermark = is_ok ? f->reads[index].high_watermark : -1;
    item->told_log_start = is_ok ? f->reads[index].log_start : -1;
    if (f->reads[index].len > 0) {
        api_fetch_session_rotate(f->session, item);
    } else if (is_exhausted(f, index)) {
        api_fetch_session_cool(f->session, item);
    }
}

static bool is_same_topic(const struct fetch_item *a, const struct fetch_item *b)
{
    return uuid_equal(a->topic_id, b->topic_id) && slice_equal(a->topic, b->topic);
}

/* Partitions that follow each other in one topic share its entry. */
static bool fill_topics(struct fetch *f, struct wire_fetch_response *resp)
{
    struct wire_fetch_response_responses_partitions *partitions =
        api_array(f->r, f->count, sizeof *partitions);
    const struct fetch_item *previous = NULL;
    resp->responses = api_array(f->r, f->count, sizeof *resp->responses);
    if (partitions == NULL || resp->responses == NULL) {
        return false;
    }
    for (int32_t i = 0; i < f->count; i++) {
        if (!is_told(f, i)) {
            continue;
        }
        if (previous == NULL || !is_same_topic(previous, f->items[i])) {
            struct wire_fetch_response_responses *topic = &resp->responses[resp->responses_count++];
            topic->topic = f->items[i]->topic;
            topic->topic_id = f->items[i]->topic_id;
            topic->partitions = partitions;
        }
        previous = f->items[i];
        resp->responses[resp->responses_count - 1].partitions_count++;
        fill_partition(f, i, partitions++);
    }
    return true;
}

static bool fill_endpoints(struct fetch *f, struct wire_fetch_response *resp)
{
    int32_t *leaders = api_array(f->r, f->count, sizeof *leaders);
    int32_t count = 0;
    for (int32_t i = 0; leaders != NULL && i < f->count; i++) {
        if (f->reads[i].err == -E_NOT_LEADER || f->reads[i].err == -E_FENCED) {
            leaders[count++] = f->reads[i].leader;
        }
    }
    struct api_endpoint *found = api_array(f->r, count, sizeof *found);
    resp->node_endpoints = api_array(f->r, count, sizeof *resp->node_endpoints);
    if (leaders == NULL || found == NULL || resp->node_endpoints == NULL) {
        return false;
    }
    resp->node_endpoints_count = api_endpoints(f->r, leaders, count, found, count);
    for (int32_t i = 0; i < resp->node_endpoints_count; i++) {
        resp->node_endpoints[i] = (struct wire_fetch_response_node_endpoints){
            .node_id = found[i].node_id,
            .host = found[i].host,
            .port = found[i].port,
            .rack = found[i].rack,
        };
    }
    return true;
}

/* Hands the files over, in the order of the gaps. Session facts change here, at the last moment when
 * nothing can fail any more. */
static int32_t take_spans(struct fetch *f, struct span *spans)
{
    int32_t count = 0;
    for (int32_t i = 0; i < f->count; i++) {
        struct replicas_read *read = &f->reads[i];
        if (read->len > 0) {
            spans[count++] = (struct span){
                .kind = SPAN_FILE, .file = read->file, .pos = read->pos, .len = read->len};
            replicas_read_sent(f->r->api->parts.replicas, read);
            read->file = NULL;
        }
        if (f->session != NULL) {
            session_note(f, i);
        }
    }
    return count;
}

/* Stops waiting; the session may be used by others again. Its watches stand. */
static void wait_end(struct fetch *f)
{
    env_timer_stop(&f->timer);
    env_timer_stop(&f->wake);
    if (f->session != NULL) {
        f->session->holder = NULL;
        return;
    }
    for (int32_t i = 0; i < f->count; i++) {
        replicas_watch_stop(&f->items[i]->watch);
    }
}

static void give_up(struct fetch *f)
{
    wait_end(f);
    files_release(f);
    api_close(f->r);
}

static void answer(struct fetch *f)
{
    struct wire_fetch_response resp;
    wire_fetch_response_init(&resp);
    struct span *spans = api_array(f->r, f->count, sizeof *spans);
    wait_end(f);
    if (spans == NULL || !fill_topics(f, &resp) || !fill_endpoints(f, &resp)) {
        give_up(f);
        return;
    }
    resp.session_id = f->session == NULL ? 0 : f->session->id;
    int32_t span_count = take_spans(f, spans);
    api_respond_spans(f->r, &resp, spans, span_count);
}

/* A whole fetch refused: no partitions. */
static void answer_error(struct api_request *r, int16_t error)
{
    struct wire_fetch_response resp;
    wire_fetch_response_init(&resp);
    resp.error_code = error;
    api_respond(r, &resp);
}

/* ---- waiting ---- */

static bool is_enough(const struct fetch *f)
{
    return f->has_news || f->is_empty || f->bytes >= f->req->min_bytes || f->req->max_wait_ms <= 0;
}

static void fetch_timeout(void *arg)
{
    struct fetch *f = arg;
    if (read_all(f)) {
        answer(f);
    } else {
        give_up(f);
    }
}

/* It goes on waiting: what has nothing to tell need not be read again until its watch fires. */
static void settle(struct fetch *f)
{
    files_release(f);
    for (int32_t i = 0; f->session != NULL && i < f->count; i++) {
        if (is_exhausted(f, i) && !is_told(f, i)) {
            api_fetch_session_cool(f->session, f->items[i]);
        }
    }
}

static void fetch_woken(void *arg)
{
    struct fetch *f = arg;
    if (!read_all(f)) {
        give_up(f);
    } else if (f->is_role_changed || is_enough(f)) {
        answer(f);
    } else {
        settle(f);
    }
}

static void item_woken(void *arg, struct replicas_watch *watch, int events)
{
    (void)watch;
    struct fetch_item *item = arg;
    struct fetch *f = item->waiter;
    if (item->session != NULL) {
        api_fetch_session_heat(item->session, item);
        f = item->session->holder;
    }
    if (f == NULL) {
        return;
    }
    bool has_role = (events & (REPLICAS_ROLE | REPLICAS_GONE)) != 0;
    int data = REPLICAS_WARM | (f->replica_id >= 0 ? REPLICAS_NEW_DATA : REPLICAS_HIGH_WATERMARK);
    f->is_role_changed = f->is_role_changed || has_role;
    if ((has_role || (events & data) != 0) && !env_timer_is_active(&f->wake)) {
        env_timer_start(&f->wake, 0);
    }
}

static void fetch_orphaned(struct api_request *r)
{
    wait_end(r->state);
}

static void wait_start(struct fetch *f)
{
    settle(f);
    for (int32_t i = 0; f->session == NULL && i < f->count; i++) {
        if (!item_watch(f, f->items[i], topic_of(f, f->items[i]))) {
            fetch_timeout(f);
            return;
        }
    }
    if (f->session != NULL) {
        f->session->holder = f;
    }
    env_timer_start(&f->timer, f->req->max_wait_ms);
    api_park(f->r, fetch_orphaned);
}

/* ---- the session part of a request ---- */

static void session_end(struct fetch_sessions *sessions, struct fetch_session *session)
{
    if (session->holder != NULL) {
        fetch_timeout(session->holder);
    }
    api_fetch_session_close(sessions, session);
}

/* A full fetch: the session named is closed, a new one is opened when asked for and possible. */
static void session_open(struct fetch *f)
{
    struct api *a = f->r->api;
    int64_t now_ms = env_now_ms(a->parts.env);
    struct fetch_session *old =
        f->req->session_id == 0
            ? NULL
            : api_fetch_session_find(a->fetch_sessions, f->req->session_id, now_ms);
    if (old != NULL) {
        session_end(a->fetch_sessions, old);
    }
    if (f->req->session_epoch != SESSION_EPOCH_FIRST || f->req->topics_count == 0) {
        return;
    }
    struct fetch_session_wish wish = {
        .id = (int32_t)(env_random_u64(a->parts.env) % INT32_MAX) + 1,
        .is_by_id = f->r->version >= VERSION_TOPIC_IDS,
        .is_follower = f->replica_id >= 0,
        .now_ms = now_ms,
    };
    f->session = api_fetch_session_open(a->fetch_sessions, &wish);
    if (f->session != NULL && session_update(f) < 0) {
        api_fetch_session_close(a->fetch_sessions, f->session);
        f->session = NULL;
    }
}

/* An incremental fetch: 0, or the error of the whole request. */
static int16_t session_continue(struct fetch *f)
{
    struct api *a = f->r->api;
    struct fetch_session *session =
        api_fetch_session_find(a->fetch_sessions, f->req->session_id, env_now_ms(a->parts.env));
    if (session == NULL) {
        return KERR_FETCH_SESSION_ID_NOT_FOUND;
    }
    if (session->is_by_id != (f->r->version >= VERSION_TOPIC_IDS)) {
        return KERR_FETCH_SESSION_TOPIC_ID_ERROR;
    }
    if (session->next_epoch != f->req->session_epoch) {
        return KERR_INVALID_FETCH_SESSION_EPOCH;
    }
    if (session->holder != NULL) {
        fetch_timeout(session->holder);
    }
    session->next_epoch = api_fetch_epoch_next(session->next_epoch);
    f->session = session;
    f->is_incremental = true;
    if (session_update(f) < 0) {
        api_fetch_session_close(a->fetch_sessions, session);
        return KERR_FETCH_SESSION_ID_NOT_FOUND;
    }
    if (list_is_empty(&session->items)) {
        api_fetch_session_close(a->fetch_sessions, session);
        f->session = NULL;
    }
    return KERR_NONE;
}

static int16_t session_start(struct fetch *f)
{
    if (f->r->version < VERSION_SESSIONS) {
        return KERR_NONE;
    }
    if (f->req->session_epoch == SESSION_EPOCH_NONE ||
        f->req->session_epoch == SESSION_EPOCH_FIRST) {
        session_open(f);
        return KERR_NONE;
    }
    return session_continue(f);
}

/* Finds out what is wanted and reads it. False when it is too large for the request's arena. */
static bool first_reading(struct fetch *f)
{
    bool is_listed = f->session == NULL && !f->is_incremental;
    if (is_listed && !items_from_request(f)) {
        return false;
    }
    f->is_empty = f->session != NULL ? list_is_empty(&f->session->items) : f->count == 0;
    return read_all(f);
}

void api_handle_fetch(struct api_request *r, const void *body)
{
    struct fetch *f = arena_alloc(&r->arena, sizeof *f);
    if (f == NULL) {
        api_close(r);
        return;
    }
    r->state = f;
    f->r = r;
    f->req = body;
    f->replica_id = r->version < 15 ? f->req->replica_id : f->req->replica_state.replica_id;
    env_timer_init(&f->timer, r->api->parts.env, fetch_timeout, f);
    env_timer_init(&f->wake, r->api->parts.env, fetch_woken, f);
    if (f->replica_id >= 0 && !api_is_allowed_on_cluster(r, AUTH_OPERATION_CLUSTER_ACTION)) {
        answer_error(r, KERR_CLUSTER_AUTHORIZATION_FAILED);
        return;
    }
    int16_t error = session_start(f);
    if (error != KERR_NONE) {
        answer_error(r, error);
        return;
    }
    if (f->replica_id >= 0) {
        replicas_follower_fetched(r->api->parts.replicas, f->replica_id);
    }
    if (!first_reading(f)) {
        give_up(f);
    } else if (is_enough(f)) {
        answer(f);
    } else {
        wait_start(f);
    }
}
