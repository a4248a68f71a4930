/*
 * What brokers leave for the controller in sequential nodes (docs/spec/zookeeper-mode.md 2.6): that a log
 * directory failed, and, old ones, that they changed the ISR of partitions by themselves. Each notice is
 * read, deleted and told to the core. What an earlier controller left unread is treated alike; telling
 * it again does no harm. Old leaders may take their time to leave one, so the states that moves wait for
 * are watched, too. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

/* By controller_pending.index. */
static const char *const parents[] = {METASTORE_LOG_DIR_EVENTS, METASTORE_ISR_CHANGES};

#define LOG_DIRS    0
#define ISR_CHANGES 1

static void notices_list(struct controller *c, int32_t kind);

static void notice_deleted(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)result; /* one that is left is read again with the next */
    (void)controller_pending_end(arg, &c, &item);
}

static void notice_delete(struct controller *c, struct slice path)
{
    struct metastore_op ops[] = {
        {.kind = METASTORE_CHECK,
         .path = slice_str(METASTORE_CONTROLLER_EPOCH),
         .version = c->epoch_version},
        {.kind = METASTORE_DELETE, .path = path, .version = -1},
    };
    metastore_multi(c->store, ops, 2, notice_deleted, controller_pending_new(c, NULL));
}

static void state_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    struct model_partition_state state = {0};
    struct errmsg em;
    int32_t partition = ((struct controller_pending *)arg)->index;
    struct controller_pending *watch = ((struct controller_pending *)arg)->watch;
    char *topic = controller_pending_take_name(arg);
    bool is_current = controller_pending_end(arg, &c, &item);
    if (is_current && result->err == 0 &&
        metastore_partition_state_decode(result->data, &state, &em) == 0) {
        state.version = result->stat.version;
        controller_step(c, &(struct control_event){.kind = CONTROL_ON_STATE,
                                                   .of = {slice_str(topic), partition},
                                                   .seen = &state,
                                                   .is_watch_over = item != NULL});
    } else if (is_current && result->err == -E_NOT_FOUND && watch != NULL) {
        (void)controller_pending_end(watch, &c, &item); /* it was not set */
    } else if (is_current && result->err == 0 && item != NULL) {
        controller_state_watch(c, &(struct control_tp){slice_str(topic), partition}); /* broken */
    }
    model_partition_state_deinit(&state);
    free(topic);
}

static void state_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)path;
    int32_t partition = ((struct controller_pending *)arg)->index;
    char *topic = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item) && event == METASTORE_CHANGED) {
        struct metastore_path state;
        struct slice name = slice_str(topic);
        struct controller_pending *call = controller_pending_named(c, name);
        call->index = partition;
        call->item = c; /* the watch is over */
        metastore_get(c->store, metastore_path_state(&state, name, partition), NULL, NULL,
                      state_read, call);
    }
    free(topic);
}

void controller_state_watch(struct controller *c, const struct control_tp *of)
{
    struct metastore_path path;
    struct controller_pending *call = controller_pending_named(c, of->topic);
    call->watch = controller_pending_named(c, of->topic);
    call->index = call->watch->index = of->partition;
    metastore_get(c->store, metastore_path_state(&path, of->topic, of->partition), state_changed,
                  call->watch, state_read, call);
}

static void unreadable(struct controller *c, const char *path, const struct errmsg *why)
{
    struct errmsg line;
    (void)errmsg_set(&line, E_MALFORMED, "%s cannot be read and is deleted: %.300s", path,
                     why->text);
    controller_log(c, CONTROL_WARNING, line.text);
}

static void isr_changes_take(struct controller *c, const char *notice, struct slice json)
{
    struct metastore_legacy_move *list = NULL;
    int32_t count = 0;
    struct errmsg em;
    if (metastore_partitions_decode(json, &list, &count, &em) != 0) {
        unreadable(c, notice, &em);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        struct metastore_path path;
        struct slice topic = slice_str(list[i].topic);
        struct controller_pending *call = controller_pending_named(c, topic);
        call->index = list[i].partition;
        metastore_get(c->store, metastore_path_state(&path, topic, list[i].partition), NULL, NULL,
                      state_read, call);
    }
    metastore_legacy_moves_free(list, count);
}

static void notice_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t broker = -1;
    struct errmsg em;
    int32_t kind = ((struct controller_pending *)arg)->index;
    char *path = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item) && result->err == 0) {
        notice_delete(c, slice_str(path));
        if (kind == ISR_CHANGES) {
            isr_changes_take(c, path, result->data);
        } else if (metastore_log_dir_event_decode(result->data, &broker, &em) == 0) {
            controller_step(c, &(struct control_event){.kind = CONTROL_ON_LOG_DIR_FAILURE,
                                                       .failed_broker = broker});
        } else {
            unreadable(c, path, &em);
        }
    }
    free(path);
}

static void notices_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t kind = ((struct controller_pending *)arg)->index;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    for (int32_t i = 0; result->err == 0 && i < result->child_count; i++) {
        struct metastore_path path;
        struct slice child = metastore_path_child(&path, parents[kind], result->children[i]);
        struct controller_pending *call = controller_pending_named(c, child);
        call->index = kind;
        metastore_get(c->store, child, NULL, NULL, notice_read, call);
    }
}

static void notices_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t kind = ((struct controller_pending *)arg)->index;
    (void)event;
    (void)path;
    if (controller_pending_end(arg, &c, &item)) {
        notices_list(c, kind);
    }
}

static void notices_list(struct controller *c, int32_t kind)
{
    struct controller_pending *watch = controller_pending_new(c, NULL);
    struct controller_pending *call = controller_pending_new(c, NULL);
    watch->index = kind;
    call->index = kind;
    metastore_children(c->store, slice_str(parents[kind]), notices_changed, watch, notices_listed,
                       call);
}

void controller_notices_start(struct controller *c)
{
    notices_list(c, LOG_DIRS);
    notices_list(c, ISR_CHANGES);
}
