/*
 * One broker: a metastore session, a listener with its API handlers, the metadata cache, the replicas
 * and a controller that may become active. Assembly and life only; the parts live in
 * broker/{api,controller,replicas,metadata,config}.
 *
 * Life: broker_new -> broker_start -> (on_ready) -> broker_stop -> (done) -> broker_free,
 * or broker_free at any moment, which is what a killed process leaves: sockets closed, nothing
 * flushed, the metastore session left to expire.
 *
 * Everything runs on the env given to broker_new; the controller's core runs on controller_env, which
 * may be the same one. Callbacks come from the loop, never from inside a call. Spec:
 * docs/spec/zookeeper-mode.md sections 4, 5, 9, 10, 14.
 */
#pragma once

#include "base/error.h"
#include "base/fault.h"
#include "model/ids.h"

struct env;
struct broker;
struct metastore_factory;
struct auth_acls;

#define BROKER_LOG_DIRS_MAX 64
#define BROKER_LOG_WARNING  "warning: "

/* One key=value of a properties file or of a command line. */
struct broker_setting {
    const char *key;
    const char *value;
};

#define BROKER_LISTENERS_MAX 16
#define BROKER_LISTENER      "PLAINTEXT" /* the only one, where no other name is given */

/* One place to listen, and what clients and brokers are told of it. */
struct broker_listener {
    const char *name;            /* each has another */
    const char *host;            /* where to listen; "" = every address */
    uint16_t port;               /* 0 = any free one */
    const char *advertised_host; /* NULL = host */
    uint16_t advertised_port;    /* 0 = the one it listens on */
    bool is_hidden;              /* it is told to nobody; not the one between brokers */
};

/* Everything is copied by broker_new, unless said otherwise. */
struct broker_config {
    int32_t id;                              /* broker.id, >= 0 */
    const struct broker_listener *listeners; /* 1 to BROKER_LISTENERS_MAX */
    int32_t listener_count;
    const char *inter_broker_listener; /* one of their names; NULL = the first */
    const char *const *log_dirs; /* at least one, at most BROKER_LOG_DIRS_MAX; made when missing */
    int32_t log_dir_count;
    int64_t session_timeout_ms;            /* zookeeper.session.timeout.ms; 0 = 18000 */
    const struct broker_setting *settings; /* Kafka's property names; later ones win */
    int32_t setting_count;
    int64_t open_files_max;       /* descriptors that logs may keep open, about; 0 = 3072 */
    const struct auth_acls *acls; /* borrowed; NULL = everybody may do everything */
    /* Where the HTTP port is served; must outlive env's loop. NULL = there is no HTTP port. */
    struct env *http_env;
    const char *http_host; /* with http_env: a literal address */
    uint16_t http_port;    /* ditto; 0 = any free one */
    /* For the operator; a line of trouble begins with BROKER_LOG_WARNING. May be NULL. */
    void (*log)(void *arg, const char *line);
    void *log_arg;
    struct fault_hook faults; /* of the controller; all zero outside tests */
};

/* on_ready: registered in /brokers/ids and the first UpdateMetadata has arrived; comes once.
 * on_fatal: the broker cannot go on (duplicate id, other cluster id, all log directories offline); the
 * owner frees it, not from inside the callback. Either may be NULL. Neither may free the broker. */
struct broker_events {
    void (*on_ready)(void *arg);
    void (*on_fatal)(void *arg, const char *reason);
    void *arg;
};

/*
 * NULL with em when a setting is wrong: em names key, value and reason. Touches neither disk nor
 * network. factory must outlive the broker, and so must controller_env's loop: the controller is
 * freed there, soon after broker_free. Unknown setting keys are told by log lines.
 */
struct broker *broker_new(struct env *env, struct env *controller_env,
                          const struct broker_config *config, struct metastore_factory *factory,
                          struct errmsg *em) MUST_CHECK;
/* Opens the log directories, listens, opens the session and registers. Fails at once when the
 * directories or the port cannot be had; what comes later is told through events. Call it once. */
int broker_start(struct broker *b, const struct broker_events *events,
                 struct errmsg *em) MUST_CHECK;
/* Controlled shutdown: leadership is moved away by the controller (bounded by
 * controlled.shutdown.max.retries), logs are flushed, the session is closed. Then done(arg). After
 * that only broker_free is allowed. */
void broker_stop(struct broker *b, void (*done)(void *arg), void *arg);
/* At any moment. Without a completed broker_stop it is a kill. NULL is fine. */
void broker_free(struct broker *b);

int32_t broker_id(const struct broker *b);
/* The port of the listener with that index; 0 before broker_start. */
uint16_t broker_port(const struct broker *b, int32_t listener);
/* Of the HTTP port; 0 = there is none. */
uint16_t broker_metrics_port(const struct broker *b);
/* The czxid of the registration; -1 while not registered. */
int64_t broker_epoch(const struct broker *b);
bool broker_is_ready(const struct broker *b);
/* This broker's controller is the active one, as far as the broker knows. */
bool broker_is_controller(const struct broker *b);
/* What this broker hosts, for gauges and for the checks of the simulator; borrowed, NULL before
 * broker_start. */
struct replicas;
struct replicas *broker_replicas(const struct broker *b);
