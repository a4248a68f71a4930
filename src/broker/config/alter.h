/*
 * Changing stored configuration: /config/topics/T, /config/brokers/N and /config/brokers/<default>,
 * each with its notification in one transaction, guarded by the node's version
 * (docs/spec/zookeeper-mode.md section 2.5).
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

struct settings;

/* IncrementalAlterConfigs' operations, as on the wire. */
enum config_operation {
    CONFIG_OPERATION_SET = 0,
    CONFIG_OPERATION_DELETE = 1,
    CONFIG_OPERATION_APPEND = 2,   /* lists only */
    CONFIG_OPERATION_SUBTRACT = 3, /* lists only */
};

struct settings_change {
    struct slice name;
    struct slice value;
    int8_t operation;
};

/* Runs once; inside settings_alter only when the change is refused at once. reason is borrowed; NULL
 * when err is 0. err: -E_INVALID (names key, value and reason), -E_TOO_LARGE, -E_CLOSED (no session),
 * -E_TIMEOUT (others kept changing it), -E_UNKNOWN_OUTCOME. */
typedef void (*settings_alter_fn)(void *arg, int err, const char *reason);

/* Borrowed by settings_alter for the call, but for arg. */
struct settings_alteration {
    struct slice topic; /* null: a broker's */
    int32_t broker_id;  /* -1 = the cluster's default; without topic */
    const struct settings_change *changes;
    int32_t change_count;
    bool is_validate_only;
    bool is_replacement; /* what the changes do not name goes */
    settings_alter_fn done;
    void *arg;
};

void settings_alter(struct settings *s, const struct settings_alteration *alteration);
