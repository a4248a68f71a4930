/*
 * One request inside the server, and what handlers may do with it. Private to broker/api.
 *
 * A handler gets the decoded body and ends the request with exactly one of api_respond,
 * api_respond_spans, api_no_response and api_close: at once, or later after api_park. Everything in
 * the request's arena and frame lives until then. A parked request whose connection goes gets
 * on_orphan, which lets go of what would call back; the core ends it after that.
 */
#pragma once

#include "auth/acl.h"
#include "base/arena.h"
#include "base/list.h"
#include "broker/api/api.h"
#include "broker/api/errors.h"
#include "model/ibp.h"
#include "model/kerr.h"
#include "net/net.h"
#include "wire/header.h"
#include "wire/wire.h"

struct api_figures;
struct api_request;
struct auto_create;
struct fetch_sessions;
struct producer_ids;

typedef void (*api_handler_fn)(struct api_request *r, const void *body);

/* One API we serve. */
struct api_row {
    int16_t key;
    int16_t min_version; /* advertised; what has no schema is refused by closing all the same */
    int16_t max_version; /* advertised and served */
    api_handler_fn fn;
};

struct api_request {
    struct list_node link; /* of api->requests, or of the pool */
    struct api *api;
    const char *listener;              /* by which it came; borrowed from the parts */
    struct net_request *net;           /* owns the frame; ended with this */
    const struct wire_api *schema;     /* of header.api_key */
    int32_t row;                       /* of header.api_key: index in api_rows */
    struct wire_request_header header; /* its client_id lies in the frame */
    int16_t version;                   /* of the answer: header.api_version */
    struct arena arena;                /* body, answer and state */
    bool is_parked;
    void (*on_orphan)(struct api_request *r); /* set by api_park */
    const void *body;                         /* the decoded request */
    void *state;                              /* the handler's, from the arena */
};

/* A listener at work. */
struct api_door {
    struct api *api;
    const char *name;
    struct net_server *server;
};

struct api {
    struct api_parts parts; /* what they point to is borrowed */
    enum ibp level;         /* inter.broker.protocol.version */
    struct api_door *doors; /* one a listener */
    struct budget budget;   /* request frames */
    struct list requests;   /* parked */
    struct list pool;       /* idle, arenas kept */
    struct fetch_sessions *fetch_sessions;
    struct producer_ids *producer_ids;
    struct auto_create *auto_create;
    struct api_figures *figures;
};

/* Sorted by key. */
extern const struct api_row api_rows[];
extern const int32_t api_row_count;

/* resp is the struct of the request's API. When it cannot be encoded the connection closes. */
void api_respond(struct api_request *r, const void *resp);
/* The same with gaps filled from spans, in order; their references are taken over. */
void api_respond_spans(struct api_request *r, const void *resp, struct span *spans,
                       int32_t span_count);
void api_no_response(struct api_request *r);
void api_close(struct api_request *r);
/* The answer comes later. on_orphan as above. */
void api_park(struct api_request *r, void (*on_orphan)(struct api_request *r));

/* May the sender do this? Plaintext connections are User:ANONYMOUS. */
bool api_is_allowed_on_cluster(const struct api_request *r, enum auth_operation operation);
bool api_is_allowed_on_topic(const struct api_request *r, enum auth_operation operation,
                             struct slice topic);
/* Zeroed array from the request's arena, not NULL for count 0; NULL past the arena's bound: the handler
 * then calls api_close. */
void *api_array(struct api_request *r, int32_t count, size_t size) MUST_CHECK;
