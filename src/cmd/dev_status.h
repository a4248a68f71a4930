/*
 * What `klamm dev status` prints. Pure.
 */
#pragma once

#include "base/buf.h"

enum cmd_dev_state {
    CMD_DEV_STOPPED, /* also before the first start */
    CMD_DEV_STARTING,
    CMD_DEV_RUNNING,
    CMD_DEV_STOPPING,
    CMD_DEV_KILLED,
    CMD_DEV_FAILED,
};

struct cmd_dev_status {
    int32_t id;
    enum cmd_dev_state state;
    uint16_t port;      /* 0 = none yet */
    uint16_t http_port; /* 0 = none */
    bool is_controller;
    int64_t epoch;         /* -1 = not registered */
    const char *directory; /* of its log */
    const char *reason;    /* FAILED: why; else NULL */
};

/* "running", ... */
const char *cmd_dev_state_name(enum cmd_dev_state state);
void cmd_dev_status_put_text(struct buf *b, const struct cmd_dev_status *list, int32_t count);
void cmd_dev_status_put_json(struct buf *b, const struct cmd_dev_status *list, int32_t count);
/* "127.0.0.1:9092,127.0.0.1:9093" of the brokers that have a port. */
void cmd_dev_status_put_bootstrap(struct buf *b, const struct cmd_dev_status *list, int32_t count);
