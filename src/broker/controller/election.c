/*
 * Standing for election (docs/spec/zookeeper-mode.md section 5). The winner is who creates the
 * ephemeral /controller and raises /controller_epoch in one transaction. When the answer is lost, the
 * owner of the node tells whether it was us. Runs on the driver's env.
 */
#include "broker/controller/private.h"

static void look(struct controller *c);

static void known_set(struct controller *c, int32_t id, int32_t epoch)
{
    if (c->known_id != id) {
        c->known_id = id;
        if (c->config.changed != NULL) {
            c->config.changed(c->config.arg, id, epoch);
        }
    }
}

static void node_changed(void *arg, enum metastore_event event, struct slice path);

/* ---- while we are it: is the node still ours? ---- */

static void guarded(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err != 0 || result->stat.ephemeral_owner != metastore_session_id(c->store)) {
        controller_resign(c, "/controller is not ours any more");
    }
}

/* Sets the watch, unless it is set. */
static void node_exists(struct controller *c, metastore_done_fn done)
{
    bool needs_watch = !c->is_watching;
    c->is_watching = true;
    metastore_exists(c->store, slice_str(METASTORE_CONTROLLER), needs_watch ? node_changed : NULL,
                     needs_watch ? controller_pending_new(c, NULL) : NULL, done,
                     controller_pending_new(c, NULL));
}

static void node_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)event;
    (void)path;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    c->is_watching = false;
    if (c->role == ROLE_LOADING || c->role == ROLE_ACTIVE) {
        node_exists(c, guarded); /* our own creation fires it, too */
    } else {
        controller_stand(c);
    }
}

static void won(struct controller *c, int32_t epoch, int32_t version)
{
    c->epoch = epoch;
    c->epoch_version = version;
    c->role = ROLE_LOADING;
    c->trouble = NULL;
    known_set(c, c->config.broker_id, epoch);
    if (!c->is_watching) {
        node_exists(c, guarded);
    }
    controller_load(c);
}

static void follow(struct controller *c, int32_t id)
{
    c->role = ROLE_FOLLOWER;
    c->trouble = NULL;
    known_set(c, id, -1);
    if (!c->is_watching) {
        controller_stand(c); /* the watch fired while we looked: look again, and set it */
    }
}

/* Looking goes on, twice a second; it is told once. */
static void trouble_tell(struct controller *c, const char *trouble)
{
    if (c->trouble != trouble) {
        c->trouble = trouble;
        controller_log(c, CONTROL_WARNING, trouble);
    }
}

/* Something cannot be read: tried again a little later. */
static void give_up(struct controller *c)
{
    c->role = ROLE_FOLLOWER;
    env_timer_start(&c->stand_timer, CONTROLLER_STAND_AGAIN_MS);
}

/* ---- the node is ours, but the answer to its creation was lost ---- */

static void won_epoch_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t epoch = 0;
    struct errmsg em;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err == 0 && metastore_controller_epoch_decode(result->data, &epoch, &em) == 0) {
        won(c, epoch, result->stat.version);
    } else {
        give_up(c);
    }
}

static void node_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    struct metastore_controller node = {0};
    struct errmsg em;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err == -E_NOT_FOUND) {
        look(c);
        return;
    }
    bool is_good = result->err == 0;
    if (is_good && metastore_controller_decode(result->data, &node, &em) != 0) {
        trouble_tell(c, "nobody can be elected: /controller cannot be read");
        is_good = false;
    }
    if (!is_good) {
        give_up(c);
        return;
    }
    if (node.broker_id == c->config.broker_id &&
        result->stat.ephemeral_owner == metastore_session_id(c->store)) {
        metastore_get(c->store, slice_str(METASTORE_CONTROLLER_EPOCH), NULL, NULL, won_epoch_read,
                      controller_pending_new(c, NULL));
        return;
    }
    follow(c, node.broker_id);
}

/* ---- nobody is controller: try ---- */

static void node_created(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t epoch = ((struct controller_pending *)arg)->index;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err == 0) {
        won(c, epoch, result->op_stats[1].version);
    } else if (result->err == -E_REFUSED) {
        trouble_tell(c, result->failed_op == 0
                            ? "cannot be elected: /controller cannot be created: refused"
                            : "cannot be elected: /controller_epoch cannot be written: refused");
        give_up(c);
    } else {
        look(c); /* somebody was faster, or the outcome is unknown */
    }
}

static void node_create(struct controller *c, int32_t epoch, int32_t version)
{
    struct buf node;
    struct buf text;
    buf_init(&node);
    buf_init(&text);
    metastore_controller_encode(&node, c->config.broker_id, env_wall_ms(c->env));
    metastore_controller_epoch_encode(&text, epoch + 1);
    struct metastore_op ops[] = {
        {.kind = METASTORE_CREATE,
         .path = slice_str(METASTORE_CONTROLLER),
         .data = buf_slice(&node),
         .is_ephemeral = true},
        {.kind = METASTORE_SET,
         .path = slice_str(METASTORE_CONTROLLER_EPOCH),
         .data = buf_slice(&text),
         .version = version},
    };
    struct controller_pending *call = controller_pending_new(c, NULL);
    call->index = epoch + 1;
    metastore_multi(c->store, ops, 2, node_created, call);
    buf_deinit(&node);
    buf_deinit(&text);
}

static void look_again(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err == -E_REFUSED) {
        trouble_tell(c, "cannot be elected: /controller_epoch cannot be created: refused");
        give_up(c);
    } else {
        look(c); /* made now, or by somebody else: reading tells */
    }
}

static void epoch_node_create(struct controller *c)
{
    struct metastore_op op = {.kind = METASTORE_CREATE,
                              .path = slice_str(METASTORE_CONTROLLER_EPOCH),
                              .data = slice_str("0")};
    metastore_multi(c->store, &op, 1, look_again, controller_pending_new(c, NULL));
}

static void epoch_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t epoch = 0;
    struct errmsg em = {0};
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err == -E_NOT_FOUND) {
        epoch_node_create(c);
        return;
    }
    if (result->err != 0) {
        give_up(c);
        return;
    }
    if (metastore_controller_epoch_decode(result->data, &epoch, &em) != 0 || epoch == INT32_MAX) {
        trouble_tell(c, "nobody can be elected: /controller_epoch holds no usable number");
        give_up(c);
        return;
    }
    node_create(c, epoch, result->stat.version);
}

static void node_checked(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err == 0) {
        metastore_get(c->store, slice_str(METASTORE_CONTROLLER), NULL, NULL, node_read,
                      controller_pending_new(c, NULL));
    } else if (result->err == -E_NOT_FOUND) {
        metastore_get(c->store, slice_str(METASTORE_CONTROLLER_EPOCH), NULL, NULL, epoch_read,
                      controller_pending_new(c, NULL));
    } else {
        give_up(c);
    }
}

/* Finds out who is controller. */
static void look(struct controller *c)
{
    node_exists(c, node_checked);
}

void controller_stand(struct controller *c)
{
    bool is_idle = c->role == ROLE_IDLE || c->role == ROLE_FOLLOWER;
    if (is_idle && c->store != NULL && c->is_connected && c->broker_epoch >= 0) {
        c->role = ROLE_STANDING;
        look(c);
    }
}

static void left(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)result; /* refused: it was not ours any more */
    (void)controller_pending_end(arg, &c, &item);
}

void controller_leave(struct controller *c)
{
    if (c->store == NULL || (c->role != ROLE_LOADING && c->role != ROLE_ACTIVE)) {
        return;
    }
    struct metastore_op ops[] = {
        {.kind = METASTORE_CHECK,
         .path = slice_str(METASTORE_CONTROLLER_EPOCH),
         .version = c->epoch_version},
        {.kind = METASTORE_DELETE, .path = slice_str(METASTORE_CONTROLLER), .version = -1},
    };
    metastore_multi(c->store, ops, 2, left, controller_pending_new(c, NULL));
}
