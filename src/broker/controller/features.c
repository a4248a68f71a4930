/*
 * /feature (docs/spec/zookeeper-mode.md 2.7), which nothing of klamm depends on: a new controller looks
 * at it once, and writes it when it is missing or of another level. What fails is told and left: the
 * next controller looks again. Runs on the driver's env.
 */
#include "broker/controller/private.h"

static void trouble(struct controller *c, const char *reason)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_OK, METASTORE_FEATURE " is left as it is: %.300s", reason);
    controller_log(c, CONTROL_WARNING, em.text);
}

static void features_written(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (controller_pending_end(arg, &c, &item) && result->err != 0) {
        trouble(c, error_name(result->err));
    }
}

static void features_write(struct controller *c, enum metastore_op_kind kind, int32_t version)
{
    struct buf json;
    buf_init(&json);
    metastore_features_encode(&json, c->config.level);
    struct metastore_op ops[] = {
        {.kind = METASTORE_CHECK,
         .path = slice_str(METASTORE_CONTROLLER_EPOCH),
         .version = c->epoch_version},
        {.kind = kind,
         .path = slice_str(METASTORE_FEATURE),
         .data = buf_slice(&json),
         .version = version},
    };
    metastore_multi(c->store, ops, 2, features_written, controller_pending_new(c, NULL));
    buf_deinit(&json);
}

static void features_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    bool is_outdated = false;
    struct errmsg em;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err == -E_NOT_FOUND) {
        features_write(c, METASTORE_CREATE, -1);
    } else if (result->err != 0) {
        trouble(c, error_name(result->err));
    } else if (metastore_features_check(result->data, c->config.level, &is_outdated, &em) != 0) {
        trouble(c, em.text);
    } else if (is_outdated) {
        features_write(c, METASTORE_SET, result->stat.version);
    }
}

void controller_features_write(struct controller *c)
{
    metastore_get(c->store, slice_str(METASTORE_FEATURE), NULL, NULL, features_read,
                  controller_pending_new(c, NULL));
}
