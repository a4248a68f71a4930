/*
 * The way from a broker to its controller, which lives on an env of its own (or on the same one):
 * calls and answers cross as messages that own their data. The link itself is touched on the broker's
 * env only.
 */
#pragma once

#include "base/arena.h"
#include "base/list.h"
#include "broker/controller/controller.h"

struct controller_link;
struct controller_ask;

/* On the broker's env: the active controller as /controller says, -1 = none known */
typedef void (*controller_link_changed_fn)(void *arg, int32_t broker_id, int32_t epoch);
typedef void (*controller_ask_fn)(void *arg, const struct control_reply *reply);

/* figures are borrowed until it returns. */
typedef void (*controller_figures_fn)(void *arg, const struct controller_figures *figures);

/* One request, built by the caller and taken by controller_link_send. */
struct controller_ask {
    struct control_request request; /* points into arena only */
    struct arena arena;
    bool failed; /* the arena's bound was passed: the call must be freed, not made */
    /* Private. */
    struct controller_link *link;
    struct list_node pending; /* while the answer is due */
    controller_ask_fn done;
    void *arg;
    struct control_reply reply;    /* points into arena, and to moving */
    struct control_moving *moving; /* a list, as its pieces come; owned */
    int32_t moving_count;
    int32_t moving_cap;
};

struct controller_link_config {
    struct env *broker_env;
    struct env *controller_env;
    struct metastore_factory *factory;          /* borrowed until the controller is gone */
    const struct controller_config *controller; /* copied; log, changed and arg are replaced */
    controller_link_changed_fn changed;
    void (*log)(void *arg, const char *line); /* on the broker's env; may be NULL */
    void *arg;                                /* of the two */
};

struct controller_link *controller_link_new(const struct controller_link_config *config);
/* No callback runs afterwards. The controller is freed on its env: at once when that is the broker's,
 * else soon. is_clean as controller_free. NULL is fine. */
void controller_link_free(struct controller_link *link, bool is_clean);
/* As controller_set_broker_epoch. */
void controller_link_set_epoch(struct controller_link *link, int64_t epoch);
/* As controller_set_move_limits. */
void controller_link_set_move_limits(struct controller_link *link,
                                     const struct moves_limits *limits);

/* Never NULL; kind is set, the rest is for the caller, who may also free it again. */
struct controller_ask *controller_ask_new(enum control_request_kind kind);
void controller_ask_free(struct controller_ask *call);
/* Memory of the call. All three turn call->failed and give NULL (the null slice) past the bound; a
 * null slice stays null; an array of 0 is not NULL. */
void *controller_ask_array(struct controller_ask *call, int64_t count, size_t size);
struct slice controller_ask_slice(struct controller_ask *call, struct slice s);
int32_t *controller_ask_ids(struct controller_ask *call, const int32_t *list, int32_t count);
/* Takes call. done runs once on the broker's env, not from inside; reply is borrowed until it
 * returns. After controller_link_free it never runs. */
void controller_link_send(struct controller_link *link, struct controller_ask *call,
                          controller_ask_fn done, void *arg);

/* Asks this broker's controller, active or not, for its figures: done runs once on the broker's env,
 * from inside when both envs are one. After controller_link_free it never runs. */
void controller_link_ask_figures(struct controller_link *link, controller_figures_fn done,
                                 void *arg);
