/*
 * Requests to brokers: one queue and one connection for each, one request in flight; it is sent again
 * after 100 ms when it failed, or found the broker not registered yet, until the broker leaves the
 * registered set (docs/spec/zookeeper-mode.md section 6). Order is kept for each broker. Invariant: a
 * queue belongs to one registration (broker epoch); with another epoch it starts empty. Runs on the
 * driver's env.
 */
#include "broker/controller/private.h"

#include "net/net.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_MS           100
#define BACKOFF_MS         50
#define RESPONSE_BYTES_MAX (64 * 1024 * 1024)
#define ANSWER_BYTES_MAX   ((size_t)256 * 1024 * 1024)
#define QUEUE_BYTES_MAX    ((size_t)512 * 1024 * 1024)

struct peer_request {
    struct list_node link;
    enum control_send_kind kind;
    bool is_deletion;
    bool is_bare; /* an UpdateMetadata that names no partition: the next one says all of it again */
    uint64_t id;  /* control_send.id */
    struct buf frame;
};

struct controller_peer {
    struct controller *c;
    int32_t id;
    int64_t epoch;
    char *host;
    uint16_t port;
    struct net_peer *net;
    struct list queue; /* the first is in flight while is_out */
    size_t queue_bytes;
    bool is_out;
    struct env_timer retry_timer;
    UT_hash_handle hh;
};

static void peer_next(struct controller_peer *p);

static void request_free(struct controller_peer *p, struct peer_request *request)
{
    list_remove(&p->queue, &request->link);
    p->queue_bytes -= request->frame.len;
    buf_deinit(&request->frame);
    free(request);
}

static void peer_free(struct controller *c, struct controller_peer *p)
{
    HASH_DEL(c->peers, p);
    env_timer_stop(&p->retry_timer);
    net_peer_free(p->net);
    struct list_node *n = NULL;
    while ((n = list_first(&p->queue)) != NULL) {
        request_free(p, CONTAINER_OF(n, struct peer_request, link));
    }
    free(p->host);
    free(p);
}

static void peer_retry(void *arg)
{
    peer_next(arg);
}

static void peer_connect(struct controller_peer *p, const struct model_endpoint *endpoint)
{
    struct controller *c = p->c;
    free(p->host);
    p->host = xstrdup(endpoint->host);
    p->port = (uint16_t)endpoint->port;
    p->net = net_peer_new(
        c->env, &(struct net_peer_config){.host = p->host,
                                          .port = p->port,
                                          .response_bytes_max = RESPONSE_BYTES_MAX,
                                          .backoff_ms = BACKOFF_MS,
                                          .connect_timeout_ms = c->config.socket_timeout_ms});
}

/* The broker listens elsewhere now: what was not answered is sent there, again or for the first time. */
static void peer_follow(struct controller_peer *p, const struct model_endpoint *endpoint)
{
    if (endpoint == NULL ||
        (strcmp(p->host, endpoint->host) == 0 && p->port == (uint16_t)endpoint->port)) {
        return;
    }
    net_peer_free(p->net);
    p->is_out = false;
    peer_connect(p, endpoint);
    peer_next(p);
}

static struct controller_peer *peer_new(struct controller *c, const struct control_receiver *to,
                                        const struct model_endpoint *endpoint)
{
    struct controller_peer *p = xalloc(sizeof *p);
    p->c = c;
    p->id = to->broker;
    p->epoch = to->broker_epoch;
    list_init(&p->queue);
    env_timer_init(&p->retry_timer, c->env, peer_retry, p);
    peer_connect(p, endpoint);
    HASH_ADD(hh, c->peers, id, sizeof p->id, p);
    return p;
}

static void answer_tell(struct controller *c, struct control_event *event, const char *who)
{
    if (event->error != 0) {
        struct errmsg em;
        (void)errmsg_set(&em, E_OK, "broker %s refused a control request with error %d", who,
                         event->error);
        controller_log(c, CONTROL_WARNING, em.text);
    }
    if (event->send_kind != CONTROL_SEND_UPDATE_METADATA) {
        controller_step(c, event);
    }
}

static void answered(void *arg, int err, struct block *frame, struct slice payload)
{
    struct controller_peer *p = arg;
    struct controller *c = p->c;
    struct peer_request *request = CONTAINER_OF(list_first(&p->queue), struct peer_request, link);
    struct control_event event = {.kind = CONTROL_ON_ANSWER, .send_kind = request->kind};
    struct arena a;
    (void)frame;
    p->is_out = false;
    arena_init(&a, ANSWER_BYTES_MAX);
    if (err == 0) {
        err = controller_decode_answer(payload, c->config.level, &a, &event);
    }
    if (err == 0 && event.error == KERR_STALE_BROKER_EPOCH) {
        /* It has not heard yet that it is registered; or it is another life than is meant, and then
         * this registration, and the queue with it, is about to go. */
        err = -E_STALE;
    }
    if (err != 0) {
        env_timer_start(&p->retry_timer, RETRY_MS);
    } else {
        char *who = xasprintf("%d", p->id);
        event.is_deletion = request->is_deletion;
        event.send_id = request->id;
        event.from = (struct control_receiver){p->id, p->epoch};
        request_free(p, request);
        peer_next(p);
        answer_tell(c, &event, who); /* may free p */
        free(who);
    }
    arena_deinit(&a);
}

static void peer_next(struct controller_peer *p)
{
    if (p->is_out || list_is_empty(&p->queue) || env_timer_is_active(&p->retry_timer)) {
        return;
    }
    const struct peer_request *request =
        CONTAINER_OF(list_first(&p->queue), struct peer_request, link);
    struct buf copy; /* the queue keeps the frame: it may have to go out again */
    buf_init(&copy);
    buf_put_bytes(&copy, request->frame.ptr, request->frame.len);
    p->is_out = true;
    net_peer_call(p->net, &copy, p->c->config.socket_timeout_ms, answered, p);
}

static const struct model_endpoint *receiver_endpoint(const struct controller *c,
                                                      const struct control_send *send, int32_t id)
{
    for (int32_t i = 0; i < send->broker_count; i++) {
        if (send->brokers[i]->id == id) {
            return controller_endpoint(send->brokers[i], c->listener);
        }
    }
    return NULL;
}

/* The queue of the receiver's present registration and address; NULL when it cannot be reached. */
static struct controller_peer *peer_for(struct controller *c, const struct control_send *send,
                                        const struct control_receiver *to)
{
    const struct model_endpoint *endpoint = receiver_endpoint(c, send, to->broker);
    struct controller_peer *p = NULL;
    HASH_FIND(hh, c->peers, &to->broker, sizeof to->broker, p);
    if (p != NULL && p->epoch != to->broker_epoch) {
        peer_free(c, p);
        p = NULL;
    }
    if (p == NULL && endpoint != NULL) {
        p = peer_new(c, to, endpoint);
    } else if (p != NULL) {
        peer_follow(p, endpoint);
    }
    return p;
}

/* Nothing lies between this request and the last one, which waits and says the same or less. */
static void drop_repeated(struct controller_peer *p, const struct control_send *send)
{
    size_t waiting = p->queue.count - (p->is_out ? 1 : 0);
    if (waiting == 0 || send->kind != CONTROL_SEND_UPDATE_METADATA || send->partition_count > 0) {
        return;
    }
    struct peer_request *last = CONTAINER_OF(p->queue.head.prev, struct peer_request, link);
    if (last->is_bare) {
        request_free(p, last);
    }
}

void controller_send(struct controller *c, const struct control_send *send)
{
    for (int32_t i = 0; i < send->receiver_count; i++) {
        struct controller_peer *p = peer_for(c, send, &send->receivers[i]);
        if (p == NULL) {
            continue;
        }
        drop_repeated(p, send);
        struct peer_request *request = xalloc(sizeof *request);
        request->kind = send->kind;
        request->is_deletion = send->is_deletion;
        request->is_bare = send->kind == CONTROL_SEND_UPDATE_METADATA && send->partition_count == 0;
        request->id = send->id;
        buf_init(&request->frame);
        controller_encode(&request->frame, send,
                          &(struct controller_sender){.controller_id = c->config.broker_id,
                                                      .listener = c->listener,
                                                      .level = c->config.level,
                                                      .broker_epoch = p->epoch,
                                                      .limits = c->limits});
        list_push_back(&p->queue, &request->link);
        p->queue_bytes += request->frame.len;
        if (p->queue_bytes > QUEUE_BYTES_MAX) {
            c->resign_reason = "a broker takes no control requests, and its queue is full";
        }
        peer_next(p);
    }
}

void controller_peers_keep(struct controller *c, const struct model_broker *brokers, int32_t count)
{
    struct controller_peer *p = NULL;
    struct controller_peer *next = NULL;
    HASH_ITER(hh, c->peers, p, next)
    {
        bool is_registered = false;
        for (int32_t i = 0; i < count && !is_registered; i++) {
            is_registered = brokers[i].id == p->id && brokers[i].epoch == p->epoch;
        }
        if (!is_registered) {
            peer_free(c, p);
        }
    }
}

void controller_peers_free(struct controller *c)
{
    struct controller_peer *p = NULL;
    struct controller_peer *next = NULL;
    HASH_ITER(hh, c->peers, p, next)
    {
        peer_free(c, p);
    }
}
