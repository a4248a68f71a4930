/*
 * How large the logs of moving partitions are: each broker that has one is asked by DescribeLogDirs, over
 * a connection of its own, so that no control request waits behind it. It works with any broker: what it
 * serves is asked first (ApiVersions), what only klamm tells is taken where it comes.
 * Invariant: one question is out for each broker; the next is made of what is wanted then, at most
 * WANTED_MAX partitions at a time, in turns. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include "net/net.h"
#include "wire/api_versions.h"
#include "wire/describe_log_dirs.h"
#include "wire/header.h"

#include <stdlib.h>

#define WANTED_MAX         2000
#define VERSION_MAX        4
#define VERSION_UNKNOWN    (-1)
#define VERSION_NONE       (-2) /* the broker does not serve it */
#define BACKOFF_MS         200
#define RESPONSE_BYTES_MAX (64 * 1024 * 1024)
#define ARENA_BYTES_MAX    ((size_t)128 * 1024 * 1024)
#define FULL_BYTES         (1024 * 1024) /* a file system with less room than this is full */

/* A partition that the next question is about. */
struct wanted {
    struct slice topic; /* in names */
    int32_t partition;
};

struct log_dirs_broker {
    struct controller *c;
    int32_t id;
    int64_t epoch;         /* -1 = not registered */
    int64_t down_since_ms; /* wall clock, with epoch -1 */
    bool is_seen;          /* private to the comparison of registrations */
    char *host;
    uint16_t port;
    struct net_peer *net;
    int16_t version;
    bool is_out;
    bool is_refusal_logged;
    struct wanted *wanted;
    struct arena names;
    int32_t wanted_count;
    int32_t wanted_cap;
    int32_t offered; /* partitions of this round, those past the bound included */
    int32_t skip;    /* of those offered, so many had their turn */
    UT_hash_handle hh;
};

struct controller_log_dirs {
    struct log_dirs_broker *brokers;
    int64_t began_ms; /* wall clock: no broker was looked for before */
};

static struct log_dirs_broker *broker_find(const struct controller *c, int32_t id)
{
    struct log_dirs_broker *b = NULL;
    if (c->log_dirs != NULL) {
        HASH_FIND(hh, c->log_dirs->brokers, &id, sizeof id, b);
    }
    return b;
}

/* ---- registrations ---- */

static void broker_disconnect(struct log_dirs_broker *b)
{
    net_peer_free(b->net);
    b->net = NULL;
    free(b->host);
    b->host = NULL;
    b->is_out = false;
    b->version = VERSION_UNKNOWN;
    b->is_refusal_logged = false;
}

/* Not registered, as far as is known. */
static struct log_dirs_broker *broker_add(struct controller *c, int32_t id)
{
    struct log_dirs_broker *b = xalloc(sizeof *b);
    *b = (struct log_dirs_broker){.c = c, .id = id, .epoch = -1, .version = VERSION_UNKNOWN};
    arena_init(&b->names, ARENA_BYTES_MAX);
    HASH_ADD(hh, c->log_dirs->brokers, id, sizeof b->id, b);
    return b;
}

static void broker_set(struct controller *c, const struct model_broker *model)
{
    const struct model_endpoint *endpoint = controller_endpoint(model, c->listener);
    struct log_dirs_broker *b = broker_find(c, model->id);
    if (b == NULL) {
        b = broker_add(c, model->id);
    } else if (b->epoch != model->epoch) {
        broker_disconnect(b);
    }
    b->epoch = model->epoch;
    b->is_seen = true;
    if (b->host == NULL && endpoint != NULL) {
        b->host = xstrdup(endpoint->host);
        b->port = (uint16_t)endpoint->port;
    }
}

void controller_log_dirs_brokers(struct controller *c, const struct model_broker *brokers,
                                 int32_t count)
{
    int64_t wall_ms = env_wall_ms(c->env);
    if (c->log_dirs == NULL) {
        c->log_dirs = xalloc(sizeof *c->log_dirs);
        c->log_dirs->began_ms = wall_ms;
    }
    for (int32_t i = 0; i < count; i++) {
        broker_set(c, &brokers[i]);
    }
    struct log_dirs_broker *b = NULL;
    struct log_dirs_broker *next = NULL;
    HASH_ITER(hh, c->log_dirs->brokers, b, next)
    {
        if (!b->is_seen && b->epoch >= 0) {
            broker_disconnect(b);
            b->epoch = -1;
            b->down_since_ms = wall_ms;
        }
        b->is_seen = false;
    }
}

int64_t controller_log_dirs_down_since(const struct controller *c, int32_t broker)
{
    const struct log_dirs_broker *b = broker_find(c, broker);
    if (b == NULL) {
        return c->log_dirs == NULL ? 1 : c->log_dirs->began_ms;
    }
    return b->epoch >= 0 ? 0 : b->down_since_ms;
}

void controller_log_dirs_was_down(struct controller *c, int32_t broker, int64_t since_ms)
{
    struct log_dirs_broker *b = broker_find(c, broker);
    if (c->log_dirs == NULL || since_ms <= 0 || since_ms >= c->log_dirs->began_ms) {
        return;
    }
    if (b == NULL) { /* it was never seen in this term */
        broker_add(c, broker)->down_since_ms = since_ms;
    }
}

void controller_log_dirs_free(struct controller *c)
{
    struct log_dirs_broker *b = NULL;
    struct log_dirs_broker *next = NULL;
    if (c->log_dirs == NULL) {
        return;
    }
    HASH_ITER(hh, c->log_dirs->brokers, b, next)
    {
        HASH_DEL(c->log_dirs->brokers, b);
        broker_disconnect(b);
        free(b->wanted);
        arena_deinit(&b->names);
        free(b);
    }
    free(c->log_dirs);
    c->log_dirs = NULL;
}

/* ---- questions ---- */

void controller_log_dirs_want(struct controller *c, int32_t broker, struct slice topic,
                              int32_t partition)
{
    struct log_dirs_broker *b = broker_find(c, broker);
    if (b == NULL || b->host == NULL || b->is_out) {
        return;
    }
    int32_t index = b->offered++;
    if (index < b->skip || b->wanted_count == WANTED_MAX) {
        return;
    }
    if (b->wanted_count == b->wanted_cap) {
        b->wanted_cap = b->wanted_cap == 0 ? 16 : b->wanted_cap * 2;
        b->wanted = xrealloc(b->wanted, (size_t)b->wanted_cap * sizeof *b->wanted);
    }
    const struct wanted *last = b->wanted_count == 0 ? NULL : &b->wanted[b->wanted_count - 1];
    if (last != NULL && slice_equal(last->topic, topic)) {
        topic = last->topic;
    } else {
        char *name = arena_str(&b->names, topic);
        CHECK(name != NULL); /* WANTED_MAX of them fit */
        topic = slice_of(name, topic.len);
    }
    b->wanted[b->wanted_count++] = (struct wanted){topic, partition};
}

static void call(struct log_dirs_broker *b, int16_t key, int16_t version, const void *req,
                 net_answer_fn done)
{
    struct buf frame;
    struct buf client_id;
    struct wire_request_header header;
    buf_init(&frame);
    buf_init(&client_id);
    buf_putf(&client_id, "%d", b->c->config.broker_id);
    wire_request_header_init(&header);
    header.api_key = key;
    header.api_version = version;
    header.client_id = buf_slice(&client_id);
    wire_request_header_write(&header, &frame);
    wire_message_encode(wire_api_find(key)->request, req, &frame, version);
    buf_deinit(&client_id);
    if (b->net == NULL) {
        b->net = net_peer_new(b->c->env, &(struct net_peer_config){
                                             .host = b->host,
                                             .port = b->port,
                                             .response_bytes_max = RESPONSE_BYTES_MAX,
                                             .backoff_ms = BACKOFF_MS,
                                             .connect_timeout_ms = b->c->config.socket_timeout_ms});
    }
    b->is_out = true;
    net_peer_call(b->net, &frame, b->c->config.socket_timeout_ms, done, b);
}

/* The answer's body from a; NULL when it cannot be read. */
static const void *answer_read(int16_t key, int16_t version, struct slice payload, struct arena *a)
{
    const struct wire_message *message = wire_api_find(key)->response;
    struct wire_response_header header;
    struct reader r;
    void *resp = arena_alloc(a, wire_message_size(message));
    reader_init(&r, payload);
    bool is_read = resp != NULL && wire_response_header_read(&header, &r, key, version) == 0 &&
                   wire_message_decode(message, resp, &r, version, a) == 0;
    return is_read ? resp : NULL;
}

static void versions_answered(void *arg, int err, struct block *frame, struct slice payload)
{
    struct log_dirs_broker *b = arg;
    struct arena a;
    (void)frame;
    arena_init(&a, ARENA_BYTES_MAX);
    b->is_out = false;
    const struct wire_api_versions_response *resp =
        err == 0 ? answer_read(WIRE_KEY_API_VERSIONS, 0, payload, &a) : NULL;
    if (resp != NULL && resp->error_code == KERR_NONE) {
        b->version = VERSION_NONE;
        for (int32_t i = 0; i < resp->api_keys_count; i++) {
            int16_t version = MIN(resp->api_keys[i].max_version, VERSION_MAX);
            if (resp->api_keys[i].api_key == WIRE_KEY_DESCRIBE_LOG_DIRS &&
                wire_api_has_version(wire_api_find(WIRE_KEY_DESCRIBE_LOG_DIRS), version)) {
                b->version = version;
            }
        }
    }
    arena_deinit(&a);
}

/* has_room: of the directory, as far as the broker tells. */
static struct moves_log
log_of(const struct wire_describe_log_dirs_response_results_topics_partitions *p, bool has_room)
{
    struct moves_log log = {.size = p->partition_size,
                            .log_end = -1,
                            .write_rate = -1,
                            .throttle_rate = -1,
                            .is_disk_full = !has_room,
                            .knows_no_limits = p->details == NULL};
    if (p->details != NULL) {
        log.log_end = p->details->log_end_offset;
        log.write_rate = p->details->write_rate;
        log.throttle_rate = p->details->throttle_rate;
        log.fetch_error = p->details->fetch_error_code;
        log.is_throttled = p->details->is_throttled;
        log.is_disk_full = p->details->disk_full;
    }
    return log;
}

static void dir_heard(struct log_dirs_broker *b,
                      const struct wire_describe_log_dirs_response_results *dir)
{
    bool has_room = dir->usable_bytes < 0 || dir->usable_bytes >= FULL_BYTES;
    for (int32_t i = 0; i < dir->topics_count; i++) {
        for (int32_t k = 0; k < dir->topics[i].partitions_count; k++) {
            struct moves_log log = log_of(&dir->topics[i].partitions[k], has_room);
            if (!dir->topics[i].partitions[k].is_future_key) {
                controller_progress_heard(b->c, b->id, dir->topics[i].name,
                                          dir->topics[i].partitions[k].partition_index, &log);
            }
        }
    }
}

static void refused(struct log_dirs_broker *b, int16_t error)
{
    if (!b->is_refusal_logged) {
        char *text = xasprintf("broker %d does not tell sizes of logs: error %d", b->id, error);
        b->is_refusal_logged = true;
        controller_log(b->c, CONTROL_WARNING, text);
        free(text);
    }
}

static void dirs_answered(void *arg, int err, struct block *frame, struct slice payload)
{
    struct log_dirs_broker *b = arg;
    struct arena a;
    (void)frame;
    arena_init(&a, ARENA_BYTES_MAX);
    b->is_out = false;
    const struct wire_describe_log_dirs_response *resp =
        err == 0 ? answer_read(WIRE_KEY_DESCRIBE_LOG_DIRS, b->version, payload, &a) : NULL;
    if (resp == NULL) {
        b->version = VERSION_UNKNOWN; /* it may be another program by now */
    } else if (resp->error_code != KERR_NONE) {
        refused(b, resp->error_code);
    } else {
        for (int32_t i = 0; i < resp->results_count; i++) {
            dir_heard(b, &resp->results[i]);
        }
    }
    arena_deinit(&a);
}

static void dirs_ask(struct log_dirs_broker *b)
{
    struct arena a;
    struct wire_describe_log_dirs_request req;
    arena_init(&a, ARENA_BYTES_MAX);
    wire_describe_log_dirs_request_init(&req);
    req.klamm_extensions = 1;
    size_t count = (size_t)b->wanted_count;
    int32_t *partitions = arena_array(&a, count, sizeof *partitions);
    req.topics = arena_array(&a, count, sizeof *req.topics);
    CHECK(partitions != NULL && req.topics != NULL);
    req.topics_count = 0;
    for (int32_t i = 0; i < b->wanted_count; i++) {
        if (i == 0 || !slice_equal(b->wanted[i - 1].topic, b->wanted[i].topic)) {
            req.topics[req.topics_count].topic = b->wanted[i].topic;
            req.topics[req.topics_count].partitions = &partitions[i];
            req.topics_count++;
        }
        partitions[i] = b->wanted[i].partition;
        req.topics[req.topics_count - 1].partitions_count++;
    }
    call(b, WIRE_KEY_DESCRIBE_LOG_DIRS, b->version, &req, dirs_answered);
    arena_deinit(&a);
}

void controller_log_dirs_ask(struct controller *c)
{
    struct log_dirs_broker *b = NULL;
    struct log_dirs_broker *next = NULL;
    if (c->log_dirs == NULL) {
        return;
    }
    HASH_ITER(hh, c->log_dirs->brokers, b, next)
    {
        if (!b->is_out && b->wanted_count > 0 && b->version == VERSION_UNKNOWN) {
            struct wire_api_versions_request req;
            wire_api_versions_request_init(&req);
            call(b, WIRE_KEY_API_VERSIONS, 0, &req, versions_answered);
        } else if (!b->is_out && b->wanted_count > 0 && b->version != VERSION_NONE) {
            dirs_ask(b);
            int32_t reached = b->skip + b->wanted_count;
            b->skip = reached >= b->offered ? 0 : reached;
        } else if (b->wanted_count == 0) {
            b->skip = 0;
        }
        b->wanted_count = b->offered = 0;
        arena_reset(&b->names);
    }
}
