/*
 * Notices of brokers that lost a log directory (docs/spec/zookeeper-mode.md 2.6): each is read, told to
 * the core and deleted. What an earlier controller left unread is deleted too; telling it again does no
 * harm. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

static void notices_list(struct controller *c);

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

static void notice_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t broker = -1;
    struct errmsg em;
    char *path = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item) && result->err == 0) {
        notice_delete(c, slice_str(path));
        if (metastore_log_dir_event_decode(result->data, &broker, &em) == 0) {
            controller_step(c, &(struct control_event){.kind = CONTROL_ON_LOG_DIR_FAILURE,
                                                       .failed_broker = broker});
        }
    }
    free(path);
}

static void notices_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    for (int32_t i = 0; result->err == 0 && i < result->child_count; i++) {
        struct metastore_path path;
        struct slice child =
            metastore_path_child(&path, METASTORE_LOG_DIR_EVENTS, result->children[i]);
        metastore_get(c->store, child, NULL, NULL, notice_read, controller_pending_named(c, child));
    }
}

static void notices_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)event;
    (void)path;
    if (controller_pending_end(arg, &c, &item)) {
        notices_list(c);
    }
}

static void notices_list(struct controller *c)
{
    metastore_children(c->store, slice_str(METASTORE_LOG_DIR_EVENTS), notices_changed,
                       controller_pending_new(c, NULL), notices_listed,
                       controller_pending_new(c, NULL));
}

void controller_notices_start(struct controller *c)
{
    notices_list(c);
}
