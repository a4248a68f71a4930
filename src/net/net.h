/*
 * Kafka frames over TCP: servers that take request frames and answer in order, and peers that send
 * requests and match answers. Knows sizes and correlation ids, nothing else of the protocol.
 * Everything runs on the env given at creation.
 */
#pragma once

#include "base/alloc.h"
#include "base/block.h"
#include "base/buf.h"
#include "env/env.h"

/* ---- spans: what an answer is made of ---- */

enum span_kind {
    SPAN_MEMORY,
    SPAN_FILE,
};

struct span {
    enum span_kind kind;
    struct block *block;   /* memory: holds a reference to what ptr points into */
    const uint8_t *ptr;    /* memory */
    struct env_file *file; /* file: holds a reference */
    uint64_t pos;          /* file: first byte */
    size_t len;            /* bytes */
};

/* ---- server ---- */

struct net_server;
struct net_conn;
struct outbox_frame;

struct net_server_config {
    const char *host;
    uint16_t port;                  /* 0 = any */
    int32_t connections_max;        /* further ones are closed at once */
    int32_t request_bytes_max;      /* socket.request.max.bytes */
    int32_t requests_in_flight_max; /* a connection with as many is not read until answers leave */
    int64_t output_bytes_max;       /* a connection with more queued is not read */
    int64_t idle_ms;                /* connections.max.idle.ms */
    /* For request frames above 4 KiB; when it refuses, the connection is not read for a while. Must
     * outlive the frames. May be NULL: unbounded. */
    struct budget *budget;
};

/* One request. Lives until net_respond, net_no_response or net_close_conn; if the connection goes
 * first, `orphaned` turns true and the owner must still finish it by one of the three. */
struct net_request {
    struct list_node link; /* private: in the connection's order */
    struct list *order;    /* private: the list of link, NULL = in none */
    struct net_conn *conn; /* NULL once orphaned */
    struct block *frame;   /* owns one reference; the bytes after the size field are data[0..len) */
    bool orphaned;
    bool is_answered;            /* private */
    bool ends_conn;              /* private: the connection closes when its turn comes */
    struct outbox_frame *answer; /* private: waits for its turn; NULL = none */
    int64_t received_us;         /* env_now_us when the read began that completed the frame */
    void *user;                  /* the server's owner may use it */
};

typedef void (*net_request_fn)(void *arg, struct net_request *request);
/* Tells that a request's connection went away, so that a parked one can be dropped early. May be NULL. */
typedef void (*net_orphan_fn)(void *arg, struct net_request *request);

int net_server_new(struct env *env, const struct net_server_config *config,
                   net_request_fn on_request, net_orphan_fn on_orphan, void *arg,
                   struct net_server **ret_server, struct errmsg *em) MUST_CHECK;
uint16_t net_server_port(const struct net_server *s);
int32_t net_server_connection_count(const struct net_server *s);
/* Stops accepting and closes all connections; their requests turn orphaned without on_orphan. The
 * owner finishes its requests before or after. Idempotent. */
void net_server_close(struct net_server *s);
/* Closes when that was not done. Not from inside on_request and on_orphan. NULL is fine. */
void net_server_free(struct net_server *s);

/* Answers: takes body (its memory moves away; body is empty afterwards) and fills its gaps, in order,
 * with the spans (references are taken over; the lengths of one gap's spans sum up to the gap's).
 * body starts with the response header; the size is added here. Answers leave in the order of the
 * requests, whatever order they are given in. A failed body closes the connection. The request and
 * its frame are finished with. */
void net_respond(struct net_request *request, struct buf *body, struct span *spans,
                 int32_t span_count);
/* The request has no answer (acks=0). */
void net_no_response(struct net_request *request);
/* The request breaks the protocol: its connection is closed after earlier answers left. */
void net_close_conn(struct net_request *request);
/* Who is on the other side, "host:port". "" when orphaned. */
const char *net_request_peer(const struct net_request *request);
/* Connection-wide state for the owner (sessions, principal); 0 until set. Per connection. */
void **net_conn_user(struct net_conn *conn);

/* ---- peer: an outbound connection that is kept up ---- */

struct net_peer;

struct net_peer_config {
    const char *host; /* copied */
    uint16_t port;
    int32_t response_bytes_max;
    int64_t backoff_ms; /* between the starts of two attempts to connect */
    int64_t connect_timeout_ms;
    bool gives_up; /* calls that wait end when an attempt to connect fails, with its error */
};

/* err 0: payload holds the bytes after the size field (correlation id first), borrowed until the
 * callback returns unless block_ref'd through `frame`. Else frame is NULL and err is
 * -E_CLOSED: the connection ended after the request may have been sent, or net_peer_reset;
 * -E_TIMEOUT: no answer in time (the connection is dropped when the request was sent);
 * -E_REFUSED: not sent in time, because nobody accepts connections there;
 * -E_MALFORMED: the answer breaks the protocol or response_bytes_max (the connection is dropped);
 * -E_TOO_LARGE: the request's buffer had failed.
 * Inside, every net_peer function may be called. */
typedef void (*net_answer_fn)(void *arg, int err, struct block *frame, struct slice payload);

/* Connects at the first call. */
struct net_peer *net_peer_new(struct env *env, const struct net_peer_config *config);
/* Sends one request frame: the bytes of request (header first, without size; memory is taken). The
 * correlation id at bytes 4..8 is overwritten here. Calls are pipelined; answers come in order. When
 * there is no connection, the call waits for one until timeout_ms. Every call is answered once,
 * never from inside net_peer_call. */
void net_peer_call(struct net_peer *p, struct buf *request, int64_t timeout_ms, net_answer_fn done,
                   void *arg);
/* Calls that are due. */
int32_t net_peer_pending(const struct net_peer *p);
/* Drops the connection; pending calls get -E_CLOSED from inside this call. The next call connects. */
void net_peer_reset(struct net_peer *p);
/* Frees it; pending calls are dropped without a callback. NULL is fine. */
void net_peer_free(struct net_peer *p);
