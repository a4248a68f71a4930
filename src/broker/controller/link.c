/*
 * The link between the two envs. A call goes over with its arena, the answer is copied into the same
 * arena on the controller's env and comes back; nobody but the holder of the message touches it.
 * Order of one sender's posts makes the end safe: the message that frees the controller is behind all
 * calls, and its echo, which frees the link, is behind all answers.
 */
#include "broker/controller/link.h"

#include "base/alloc.h"
#include "base/check.h"
#include "broker/controller/report.h"
#include "env/env.h"
#include "moves/moves.h"

#include <stdlib.h>

#define CALL_BYTES_MAX ((size_t)256 << 20) /* request and answer of one call */

struct controller_link {
    struct controller_link_config config;
    struct controller_config controller_config;
    char *listener; /* of controller_config: the broker's may be gone when the controller is made */
    struct controller *controller; /* touched on controller_env only; NULL before and after */
    struct list calls;             /* answers due */
    bool is_free;                  /* the broker is gone: only the echo is awaited */
    bool is_clean;
};

/* A small fact on its way between the envs. */
struct note {
    struct controller_link *link;
    int64_t epoch; /* the broker's, or the controller's */
    int32_t broker_id;
    char *text; /* owned */
};

/* On one env nothing is posted, so that nothing is under way when the link is freed. */
static void run_on(const struct controller_link *link, struct env *to, env_fn fn, void *arg)
{
    if (link->config.broker_env == link->config.controller_env) {
        fn(arg);
    } else {
        env_post(to, fn, arg);
    }
}

struct limits_note {
    struct controller_link *link;
    struct moves_limits limits;
};

static void note_send(struct controller_link *link, struct env *to, env_fn fn, struct note note)
{
    struct note *copy = xmemdup(&note, sizeof note);
    copy->link = link;
    run_on(link, to, fn, copy);
}

/* ---- on the broker's env ---- */

static void changed_arrived(void *arg)
{
    struct note *note = arg;
    struct controller_link *link = note->link;
    if (!link->is_free) {
        link->config.changed(link->config.arg, note->broker_id, (int32_t)note->epoch);
    }
    free(note);
}

static void log_arrived(void *arg)
{
    struct note *note = arg;
    struct controller_link *link = note->link;
    if (!link->is_free && link->config.log != NULL) {
        link->config.log(link->config.arg, note->text);
    }
    free(note->text);
    free(note);
}

static void link_destroy(void *arg)
{
    struct controller_link *link = arg;
    struct list_node *node;
    CHECK(link->is_free);
    while ((node = list_pop(&link->calls)) != NULL) {
        controller_ask_free(CONTAINER_OF(node, struct controller_ask, pending));
    }
    free(link->listener);
    free(link);
}

/* ---- on the controller's env ---- */

static void on_changed(void *arg, int32_t broker_id, int32_t epoch)
{
    struct controller_link *link = arg;
    note_send(link, link->config.broker_env, changed_arrived,
              (struct note){.epoch = epoch, .broker_id = broker_id});
}

static void on_log(void *arg, enum control_level level, const char *text)
{
    struct controller_link *link = arg;
    const char *prefix = level == CONTROL_WARNING ? "warning: controller: " : "controller: ";
    note_send(link, link->config.broker_env, log_arrived,
              (struct note){.text = xasprintf("%s%s", prefix, text)});
}

static void controller_start(void *arg)
{
    struct controller_link *link = arg;
    link->controller =
        controller_new(link->config.controller_env, link->config.factory, &link->controller_config);
}

static void controller_end(void *arg)
{
    struct controller_link *link = arg;
    controller_free(link->controller, link->is_clean);
    link->controller = NULL;
    run_on(link, link->config.broker_env, link_destroy, link);
}

static void epoch_arrived(void *arg)
{
    struct note *note = arg;
    controller_set_broker_epoch(note->link->controller, note->epoch);
    free(note);
}

/* ---- memory of a call ---- */

void *controller_ask_array(struct controller_ask *call, int64_t count, size_t size)
{
    void *items = call->failed ? NULL : arena_array(&call->arena, (size_t)MAX(count, 1), size);
    call->failed = items == NULL;
    return items;
}

struct slice controller_ask_slice(struct controller_ask *call, struct slice s)
{
    if (slice_is_null(s) || call->failed) {
        return SLICE_NULL;
    }
    char *text = arena_str(&call->arena, s);
    call->failed = text == NULL;
    return slice_of(text, text == NULL ? 0 : s.len);
}

int32_t *controller_ask_ids(struct controller_ask *call, const int32_t *list, int32_t count)
{
    int32_t *copy = controller_ask_array(call, count, sizeof *copy);
    if (copy != NULL && count > 0) {
        memcpy(copy, list, (size_t)count * sizeof *copy);
    }
    return copy;
}

/* ---- the copy of an answer ---- */

static const char *copy_text(struct controller_ask *call, const char *text)
{
    return (const char *)controller_ask_slice(call, slice_str(text)).ptr;
}

static struct ids copy_ids(struct controller_ask *call, const struct ids *ids)
{
    int32_t *list = controller_ask_ids(call, ids->list, ids->count);
    return (struct ids){.count = ids->count, .list = ids->count > 0 ? list : NULL};
}

static void *copy_array(struct controller_ask *call, const void *items, int32_t count, size_t size)
{
    void *copy = controller_ask_array(call, count, size);
    if (copy != NULL && count > 0) {
        memcpy(copy, items, (size_t)count * size);
    }
    return copy;
}

static void copy_results(struct controller_ask *call, struct control_reply *reply)
{
    struct control_result *items = copy_array(call, reply->results, reply->count, sizeof *items);
    for (int32_t i = 0; !call->failed && i < reply->count; i++) {
        items[i].topic = controller_ask_slice(call, items[i].topic);
        items[i].message = copy_text(call, items[i].message);
    }
    reply->results = items;
}

/* A piece of the list, behind those that came before. */
static void copy_moving(struct controller_ask *call, struct control_reply *reply)
{
    if (reply->error != KERR_NONE) {
        return;
    }
    int32_t total = call->moving_count + reply->count;
    if (total > call->moving_cap) {
        call->moving_cap = MAX(total, 2 * call->moving_cap);
        call->moving = xrealloc(call->moving, (size_t)call->moving_cap * sizeof *call->moving);
    }
    struct slice from = SLICE_NULL; /* names repeat */
    struct slice name = SLICE_NULL;
    for (int32_t i = 0; !call->failed && i < reply->count; i++) {
        struct control_moving *item = &call->moving[call->moving_count + i];
        *item = reply->moving[i];
        if (item->topic.ptr != from.ptr) {
            from = item->topic;
            name = controller_ask_slice(call, from);
        }
        item->topic = name;
        item->replicas = copy_ids(call, &item->replicas);
        item->adding = copy_ids(call, &item->adding);
        item->removing = copy_ids(call, &item->removing);
        /* The rest is for the driver; what is told of it is in the report. */
        item->original = item->isr = item->offline = (struct ids){0};
        item->details = reply->report == NULL ? NULL : &reply->report->details[i];
    }
    call->moving_count = total;
    reply->moving = call->moving;
    reply->count = total;
}

static void copy_isr_results(struct controller_ask *call, struct control_reply *reply)
{
    struct control_isr_result *items =
        copy_array(call, reply->isr_results, reply->count, sizeof *items);
    for (int32_t i = 0; !call->failed && i < reply->count; i++) {
        items[i].topic = controller_ask_slice(call, items[i].topic);
        items[i].isr = copy_ids(call, &items[i].isr);
    }
    reply->isr_results = items;
}

static void copy_created(struct controller_ask *call, struct control_reply *reply)
{
    struct control_created *items = copy_array(call, reply->created, reply->count, sizeof *items);
    for (int32_t i = 0; !call->failed && i < reply->count; i++) {
        items[i].topic = controller_ask_slice(call, items[i].topic);
        items[i].message = copy_text(call, items[i].message);
    }
    reply->created = items;
}

static void copy_remaining(struct controller_ask *call, struct control_reply *reply)
{
    struct control_tp *items = copy_array(call, reply->remaining, reply->count, sizeof *items);
    for (int32_t i = 0; !call->failed && i < reply->count; i++) {
        items[i].topic = controller_ask_slice(call, items[i].topic);
    }
    reply->remaining = items;
}

/* All or nothing: when the arena is full the call is answered with an error instead. */
static void copy_reply(struct controller_ask *call, const struct control_reply *from)
{
    struct control_reply *reply = &call->reply;
    *reply = *from;
    reply->message = copy_text(call, from->message);
    reply->job = controller_ask_slice(call, from->job);
    switch (reply->kind) {
    case CONTROL_ALTER_REASSIGNMENTS:
    case CONTROL_ELECT_LEADERS:
    case CONTROL_CREATE_PARTITIONS:
    case CONTROL_DELETE_TOPICS:
        copy_results(call, reply);
        break;
    case CONTROL_LIST_REASSIGNMENTS:
        copy_moving(call, reply);
        break;
    case CONTROL_ALTER_PARTITION:
        copy_isr_results(call, reply);
        break;
    case CONTROL_CREATE_TOPICS:
        copy_created(call, reply);
        break;
    case CONTROL_SHUTDOWN:
        copy_remaining(call, reply);
        break;
    case CONTROL_ALLOCATE_PRODUCER_IDS:
        reply->block = copy_array(call, from->block, from->count, sizeof *reply->block);
        break;
    }
    /* A piece without its report: the memory is full. */
    call->failed = call->failed ||
                   (from->has_more && from->report == NULL && call->request.list.memory != NULL);
    if (call->failed) {
        *reply = (struct control_reply){.kind = from->kind, .error = KERR_UNKNOWN_SERVER_ERROR};
    }
}

/* ---- calls ---- */

struct controller_ask *controller_ask_new(enum control_request_kind kind)
{
    struct controller_ask *call = xalloc(sizeof *call);
    arena_init(&call->arena, CALL_BYTES_MAX);
    call->request.kind = kind;
    return call;
}

void controller_ask_free(struct controller_ask *call)
{
    if (call != NULL) {
        arena_deinit(&call->arena);
        free(call->moving);
        free(call);
    }
}

/* On the broker's env. */
static void reply_arrived(void *arg)
{
    struct controller_ask *call = arg;
    list_remove(&call->link->calls, &call->pending);
    if (!call->link->is_free) {
        call->done(call->arg, &call->reply);
    }
    controller_ask_free(call);
}

/* On the controller's env. */
static void reply_done(void *arg, const struct control_reply *reply)
{
    struct controller_ask *call = arg;
    copy_reply(call, reply);
    if (!reply->has_more) {
        run_on(call->link, call->link->config.broker_env, reply_arrived, call);
    }
}

/* On the controller's env. */
static void call_arrived(void *arg)
{
    struct controller_ask *call = arg;
    controller_request(call->link->controller, &call->request, reply_done, call);
}

void controller_link_send(struct controller_link *link, struct controller_ask *call,
                          controller_ask_fn done, void *arg)
{
    CHECK(!call->failed);
    call->link = link;
    call->done = done;
    call->arg = arg;
    list_push_back(&link->calls, &call->pending);
    run_on(link, link->config.controller_env, call_arrived, call);
}

static void limits_arrived(void *arg)
{
    struct limits_note *note = arg;
    controller_set_move_limits(note->link->controller, &note->limits);
    free(note);
}

void controller_link_set_move_limits(struct controller_link *link,
                                     const struct moves_limits *limits)
{
    struct limits_note *note = xalloc(sizeof *note);
    *note = (struct limits_note){link, *limits};
    run_on(link, link->config.controller_env, limits_arrived, note);
}

void controller_link_set_epoch(struct controller_link *link, int64_t epoch)
{
    note_send(link, link->config.controller_env, epoch_arrived, (struct note){.epoch = epoch});
}

/* ---- figures ---- */

struct figures_ask {
    struct controller_link *link;
    struct controller_figures figures;
    controller_figures_fn done;
    void *arg;
};

/* On the broker's env. */
static void figures_arrived(void *arg)
{
    struct figures_ask *ask = arg;
    if (!ask->link->is_free) {
        ask->done(ask->arg, &ask->figures);
    }
    controller_figures_deinit(&ask->figures);
    free(ask);
}

/* On the controller's env. */
static void figures_asked(void *arg)
{
    struct figures_ask *ask = arg;
    controller_figures(ask->link->controller, &ask->figures);
    run_on(ask->link, ask->link->config.broker_env, figures_arrived, ask);
}

void controller_link_ask_figures(struct controller_link *link, controller_figures_fn done,
                                 void *arg)
{
    struct figures_ask *ask = xalloc(sizeof *ask);
    *ask = (struct figures_ask){.link = link, .done = done, .arg = arg};
    run_on(link, link->config.controller_env, figures_asked, ask);
}

/* ---- life ---- */

struct controller_link *controller_link_new(const struct controller_link_config *config)
{
    struct controller_link *link = xalloc(sizeof *link);
    link->config = *config;
    link->controller_config = *config->controller;
    link->listener = xstrdup(config->controller->listener);
    link->controller_config.listener = link->listener;
    link->controller_config.log = on_log;
    link->controller_config.changed = on_changed;
    link->controller_config.arg = link;
    list_init(&link->calls);
    run_on(link, config->controller_env, controller_start, link);
    return link;
}

void controller_link_free(struct controller_link *link, bool is_clean)
{
    if (link == NULL) {
        return;
    }
    link->is_free = true;
    link->is_clean = is_clean;
    run_on(link, link->config.controller_env, controller_end, link);
}
