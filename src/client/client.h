/*
 * The inside of libklamm: a client owns a private real loop and runs it, on the caller's thread, until
 * the answer it waits for is there. Nothing happens between calls.
 */
#pragma once

#include "base/arena.h"
#include "base/block.h"
#include "env/env.h"
#include "klamm/klamm.h"
#include "net/net.h"
#include "wire/wire.h"

#define CLIENT_KEY_MAX      128               /* api keys below this are remembered */
#define CLIENT_NODES_MAX    10000             /* brokers of one cluster */
#define CLIENT_RESPONSE_MAX (256 << 20)       /* bytes of one answer */
#define CLIENT_MEMORY_MAX   ((size_t)1 << 30) /* bytes of one decoded answer or result */
#define CLIENT_HANDSHAKE_MS 3000              /* how long a broker may take to say hello */
#define CLIENT_FRESH_MS     1000              /* an answer this old no longer proves a connection */
#define CLIENT_BACKOFF_MS   100               /* between attempts of one call */
#define CLIENT_TIMEOUT_MS   30000             /* of a call, unless configured */
#define CLIENT_SLOW_MS      5000 /* a call that takes longer says so, unless configured */

struct client_version_range {
    int16_t first;
    int16_t last; /* below first: not offered */
};

/* A place where a broker listens. */
struct client_node {
    int32_t id; /* -1: a bootstrap server, whose id we do not know */
    uint16_t port;
    char *host;
    struct net_peer *peer; /* NULL until it is first used, and after an interruption */
    int64_t answered_ms;   /* when it last answered; -1 = never, or it failed since */
    struct client_version_range versions[CLIENT_KEY_MAX];
};

struct client_nodes {
    struct client_node **list;
    int32_t count;
};

struct klamm_client {
    struct env *env;
    char *client_id;
    int32_t timeout_ms;
    bool is_interrupted; /* a signal came and no call has told so yet */
    struct client_nodes seeds;
    struct client_nodes brokers; /* by id, as Metadata told last */
    int32_t controller_id;       /* -1 = unknown */
    int32_t next_broker;         /* where the search for any broker starts */
    klamm_slow_fn on_slow;       /* may be NULL */
    void *on_slow_arg;
    int32_t slow_ms;
};

enum client_target {
    CLIENT_TARGET_ANY,
    CLIENT_TARGET_CONTROLLER,
    CLIENT_TARGET_BROKER,
};

/* The code of the whole answer; NOT_CONTROLLER makes the call look for the controller again. */
typedef int16_t (*client_code_fn)(const void *response);

struct client_call {
    int16_t key;
    int16_t version_min; /* the oldest version that can say what the request says */
    enum client_target target;
    int32_t broker_id;      /* of CLIENT_TARGET_BROKER */
    int64_t deadline_ms;    /* 0: the client's timeout, from the call's start */
    bool is_repeatable;     /* sending it twice does no harm */
    const void *request;    /* the wire struct */
    void *response;         /* the wire struct; borrows from frame and arena */
    client_code_fn code_of; /* NULL: no code of the whole */
    bool was_sent;          /* private: the request of the last attempt may have arrived */
    bool was_given_up;      /* one before was answered with 41: it may have had an effect */
    struct arena arena;     /* private */
    struct block *frame;    /* private */
};

/* Sends the request and decodes the answer, over as many attempts as the time allows. The response is
 * good until client_call_deinit, which must follow in either case. Returns 0 or the code in err. */
int client_call(struct klamm_client *c, struct client_call *call, struct klamm_error *err);
void client_call_deinit(struct client_call *call);
/* One attempt at this node. */
int client_call_node(struct klamm_client *c, struct client_node *node, struct client_call *call,
                     int64_t deadline_ms, struct klamm_error *err);

struct client_node *client_node_new(const char *host, size_t host_len, uint16_t port, int32_t id);
void client_node_free(struct client_node *node);
/* The live broker of that id, or NULL. */
struct client_node *client_find_broker(const struct klamm_client *c, int32_t id);
/* Asks any node for the brokers and the controller. */
int client_refresh(struct klamm_client *c, int64_t deadline_ms, struct klamm_error *err);

/* Fills err (may be NULL) and returns code. */
int client_fail(struct klamm_error *err, int32_t code, const char *format, ...) PRINTF_LIKE(3, 4);
/* Runs the loop once until something stopped it. Returns KLAMM_ERR_INTERRUPTED when a signal came. */
int client_run(struct klamm_client *c, struct klamm_error *err);
