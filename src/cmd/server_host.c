/*
 * See server_host.h. Phases: entering (ZooKeeper is looked for) -> starting (the broker registers) ->
 * ready -> stopping (leaderships are handed over, logs flushed) -> ended (the loop stops).
 * The broker lives on the main loop, so that its callbacks need no letters; none of them frees it.
 */
#include "cmd/server_host.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "broker/broker.h"
#include "cmd/ending.h"
#include "cmd/server_entry.h"
#include "cmd/server_fault.h"
#include "env/loop.h"
#include "metastore/path.h"
#include "metastore/zookeeper.h"

#include <stdlib.h>

#define PATIENCE_MS 10000 /* between lines that tell what is waited for */

enum phase {
    PHASE_ENTERING,
    PHASE_STARTING,
    PHASE_READY,
    PHASE_STOPPING,
    PHASE_ENDED,
};

struct host {
    struct env *env;
    struct env *controller_env;
    struct env *http_env; /* NULL without an HTTP port */
    const struct cmd_server_config *config;
    const struct cmd_server_log *log;
    struct metastore_factory *factory;
    struct cmd_server_entry *entry;
    int32_t id;            /* -1 = not known yet */
    struct broker *broker; /* NULL until started */
    enum phase phase;
    int64_t signal_ms; /* when the first signal came; -1 = none did */
    int exit_code;
    struct env_timer patience;
    struct cmd_server_fault fault;
};

#define SAY(h, level, ...) cmd_server_log((h)->log, CMD_SERVER_LOG_##level, __VA_ARGS__)

static const char *zookeeper_of(const struct host *h)
{
    return config_get_string(&h->config->set, CONFIG_BROKER_ZOOKEEPER_CONNECT);
}

static int64_t number_of(const struct host *h, int key)
{
    return config_get_number(&h->config->set, key);
}

/* ---- the end ---- */

/* On the last of the envs. What a freed broker has there was told to end before, and what that sent
 * back to our env comes before the stop. */
static void others_ended(void *arg)
{
    const struct host *h = arg;
    loop_stop(h->env);
}

/* On the controller's env: the same. */
static void controller_ended(void *arg)
{
    struct host *h = arg;
    if (h->http_env != NULL) {
        env_post(h->http_env, others_ended, h);
    } else {
        others_ended(h);
    }
}

static void host_free_broker(void *arg)
{
    struct host *h = arg;
    broker_free(h->broker);
    h->broker = NULL;
    env_post(h->controller_env, controller_ended, h);
}

/* May be called from a callback of the broker, which must not be freed there. */
static void host_end(struct host *h, int exit_code)
{
    if (h->phase == PHASE_ENDED) {
        return;
    }
    h->phase = PHASE_ENDED;
    h->exit_code = exit_code;
    env_timer_stop(&h->patience);
    env_post(h->env, host_free_broker, h);
}

static void broker_stopped(void *arg)
{
    struct host *h = arg;
    SAY(h, INFO, "broker %d stopped cleanly", h->id);
    host_end(h, 0);
}

static void on_signal(void *arg, int number)
{
    struct host *h = arg;
    int64_t now_ms = env_now_ms(h->env);
    if (cmd_signal_is_repeat(h->signal_ms, now_ms)) {
        return;
    }
    h->signal_ms = now_ms;
    switch (h->phase) {
    case PHASE_ENTERING:
        SAY(h, INFO, "ended by signal %d before the broker was started", number);
        cmd_server_entry_free(h->entry);
        h->entry = NULL;
        host_end(h, 0);
        break;
    case PHASE_STARTING:
    case PHASE_READY:
        SAY(h, INFO, "signal %d: handing leaderships over", number);
        h->phase = PHASE_STOPPING;
        env_timer_start(&h->patience, PATIENCE_MS);
        broker_stop(h->broker, broker_stopped, h);
        break;
    case PHASE_STOPPING:
    case PHASE_ENDED:
        SAY(h, WARN, "ended at once by another signal %d", number);
        _Exit(CMD_EXIT_OF_SIGNAL(number));
    }
}

/* ---- what is told ---- */

static void on_patience(void *arg)
{
    struct host *h = arg;
    if (h->phase == PHASE_STARTING) {
        SAY(h, WARN, "broker %d is %s", h->id,
            broker_epoch(h->broker) < 0 ? "not registered yet"
                                        : "registered; waiting for a controller");
    } else {
        SAY(h, WARN, "broker %d is still stopping", h->id);
    }
    env_timer_start(&h->patience, PATIENCE_MS);
}

static void on_trouble(void *arg, const char *text)
{
    const struct host *h = arg; /* on either env: only the log is touched */
    SAY(h, WARN, "%s", text);
}

static void on_broker_log(void *arg, const char *line)
{
    const struct host *h = arg;
    size_t mark = strlen(BROKER_LOG_WARNING);
    if (strncmp(line, BROKER_LOG_WARNING, mark) == 0) {
        SAY(h, WARN, "%s", line + mark);
    } else {
        SAY(h, INFO, "%s", line);
    }
}

static void on_ready(void *arg)
{
    struct host *h = arg;
    if (h->phase != PHASE_STARTING) {
        return;
    }
    h->phase = PHASE_READY;
    env_timer_stop(&h->patience);
    SAY(h, INFO, "broker %d is ready, epoch %lld", h->id, (long long)broker_epoch(h->broker));
}

static void on_fatal(void *arg, const char *reason)
{
    struct host *h = arg;
    SAY(h, ERROR, "broker %d cannot go on: %s", h->id, reason);
    host_end(h, 1);
}

/* ---- the beginning ---- */

/* One line a listener. */
static void tell_listeners(const struct host *h, const struct broker_listener *listeners)
{
    for (int32_t i = 0; i < h->config->listeners.count; i++) {
        const struct broker_listener *l = &listeners[i];
        unsigned port = broker_port(h->broker, i);
        if (l->is_hidden) {
            SAY(h, INFO, "broker %d listens on port %u (%s), which nobody is told", h->id, port,
                l->name);
        } else {
            SAY(h, INFO, "broker %d listens on port %u and is known as %s:%u (%s)", h->id, port,
                l->advertised_host, l->advertised_port == 0 ? port : (unsigned)l->advertised_port,
                l->name);
        }
    }
}

/* machine: its name, for what is told without a host. False: that is needed, and there is none. */
static bool fill_listeners(const struct host *h, const char *machine,
                           struct broker_listener listeners[BROKER_LISTENERS_MAX])
{
    for (int32_t i = 0; i < h->config->listeners.count; i++) {
        const struct cmd_server_listener *from = &h->config->listeners.list[i];
        bool needs_name = from->advertised_host[0] == '\0' && !from->is_hidden;
        if (needs_name && machine == NULL) {
            return false;
        }
        listeners[i] = (struct broker_listener){
            .name = from->name,
            .host = from->host,
            .port = from->port,
            .advertised_host = needs_name ? machine : from->advertised_host,
            .advertised_port = from->advertised_port,
            .is_hidden = from->is_hidden,
        };
    }
    return true;
}

static int start_broker(struct host *h, struct errmsg *em)
{
    struct broker_listener listeners[BROKER_LISTENERS_MAX];
    char *machine = loop_host_name();
    struct broker_config config = {
        .id = h->id,
        .listeners = listeners,
        .listener_count = h->config->listeners.count,
        .inter_broker_listener = h->config->listeners.list[h->config->listeners.inter_broker].name,
        .log_dirs = (const char *const *)h->config->log_dirs,
        .log_dir_count = h->config->log_dir_count,
        .settings = h->config->settings,
        .setting_count = h->config->setting_count,
        .open_files_max = loop_raise_file_limit() / 2, /* the rest is for short use */
        .log = on_broker_log,
        .log_arg = h,
        .http_env = h->http_env,
        .http_host = config_get_string(&h->config->set, CONFIG_BROKER_HTTP_HOST),
        .http_port = (uint16_t)MAX(number_of(h, CONFIG_BROKER_HTTP_PORT), 0),
        .faults = cmd_server_fault_hook(&h->fault),
    };
    struct broker_events events = {.on_ready = on_ready, .on_fatal = on_fatal, .arg = h};
    int err = -E_INVALID;
    if (!fill_listeners(h, machine, listeners)) {
        (void)errmsg_set(em, E_INVALID,
                         "this machine has no name: set advertised.listeners"); /* err says it */
    } else {
        h->broker = broker_new(h->env, h->controller_env, &config, h->factory, em);
    }
    if (h->broker != NULL) {
        err = broker_start(h->broker, &events, em);
    }
    if (err == 0) {
        tell_listeners(h, listeners);
    }
    if (err == 0 && h->http_env != NULL) {
        SAY(h, INFO, "broker %d answers HTTP on %s port %u", h->id, config.http_host,
            (unsigned)broker_metrics_port(h->broker));
    }
    free(machine);
    return err;
}

static void host_start(struct host *h)
{
    struct errmsg em = {""};
    h->phase = PHASE_STARTING;
    env_timer_start(&h->patience, PATIENCE_MS);
    if (start_broker(h, &em) != 0) {
        SAY(h, ERROR, "broker %d cannot start: %s", h->id, em.text);
        host_end(h, 1);
    }
}

static void entry_waiting(void *arg, int64_t waited_ms)
{
    const struct host *h = arg;
    SAY(h, INFO, "waiting for ZooKeeper at %s, %lld of %lld ms", zookeeper_of(h),
        (long long)waited_ms,
        (long long)number_of(h, CONFIG_BROKER_ZOOKEEPER_CONNECTION_TIMEOUT_MS));
}

static void entry_done(void *arg, int err, int32_t id)
{
    struct host *h = arg;
    cmd_server_entry_free(h->entry);
    h->entry = NULL;
    if (err == -E_TIMEOUT) {
        SAY(h, ERROR,
            "ZooKeeper at %s could not be reached, or not be used, within "
            "zookeeper.connection.timeout.ms = %lld",
            zookeeper_of(h),
            (long long)number_of(h, CONFIG_BROKER_ZOOKEEPER_CONNECTION_TIMEOUT_MS));
        host_end(h, 1);
    } else if (err == -E_REFUSED) {
        SAY(h, ERROR,
            "no broker id could be generated: " METASTORE_BROKER_SEQUENCE
            " cannot be written: refused by its access list. Is klamm.zookeeper.digest.file "
            "right?");
        host_end(h, 1);
    } else if (err != 0) {
        SAY(h, ERROR, "no broker id could be generated: %s", error_name(err));
        host_end(h, 1);
    } else {
        if (id >= 0) {
            SAY(h, INFO, "broker id %d was generated", id);
            h->id = id;
        }
        host_start(h);
    }
}

/* The id as configured or remembered. */
static int host_find_id(struct host *h, struct errmsg *em)
{
    h->id = h->config->id;
    if (h->id >= 0) {
        return 0; /* the broker compares it with what the directories say */
    }
    return cmd_server_entry_remembered_id(h->env, (const char *const *)h->config->log_dirs,
                                          h->config->log_dir_count, &h->id, em);
}

static int host_open(struct host *h, struct errmsg *em)
{
    const struct config_set *set = &h->config->set;
    struct metastore_zookeeper_config zookeeper = {
        .connect = zookeeper_of(h),
        .digest = h->config->digest,
        .is_acl_set = config_get_bool(set, CONFIG_BROKER_ZOOKEEPER_SET_ACL),
        .on_trouble = on_trouble,
        .arg = h,
    };
    int err = host_find_id(h, em);
    if (err == 0) {
        err = metastore_zookeeper_new(&zookeeper, &h->factory, em);
    }
    if (err == 0) {
        h->controller_env = loop_spawn("controller", em);
        err = h->controller_env == NULL ? -E_SYSTEM : 0;
    }
    if (err == 0 && number_of(h, CONFIG_BROKER_HTTP_PORT) >= 0) {
        h->http_env = loop_spawn("http", em);
        err = h->http_env == NULL ? -E_SYSTEM : 0;
    }
    h->fault = (struct cmd_server_fault){h->controller_env, cmd_server_fault_dir()};
    if (h->fault.dir != NULL) {
        SAY(h, WARN, "this is a test: ends at the fault points that %s names", h->fault.dir);
    }
    return err == 0 ? loop_on_signal(h->env, on_signal, h, em) : err;
}

static void host_enter(struct host *h)
{
    struct cmd_server_entry_config config = {
        .env = h->env,
        .factory = h->factory,
        .session_timeout_ms = number_of(h, CONFIG_BROKER_SESSION_TIMEOUT_MS),
        .patience_ms = number_of(h, CONFIG_BROKER_ZOOKEEPER_CONNECTION_TIMEOUT_MS),
        .is_id_wanted = h->id < 0,
        .reserved_id_max = (int32_t)number_of(h, CONFIG_BROKER_RESERVED_ID_MAX),
        .waiting = entry_waiting,
        .done = entry_done,
        .arg = h,
    };
    h->entry = cmd_server_entry_new(&config);
}

/* The loops run until the sessions, which they free, are gone; then nobody uses the factory. */
static void host_close(struct host *h)
{
    env_timer_stop(&h->patience);
    loop_end(h->controller_env);
    loop_end(h->http_env);
}

int cmd_server_host_run(struct env *env, const struct cmd_server_config *config,
                        const struct cmd_server_log *log)
{
    struct host h = {.env = env, .config = config, .log = log, .signal_ms = -1, .exit_code = 1};
    struct errmsg em = {""};
    env_timer_init(&h.patience, env, on_patience, &h);
    hash_seed(env_random_u64(env), env_random_u64(env));
    if (host_open(&h, &em) == 0) {
        host_enter(&h);
        loop_run(env);
    } else {
        SAY(&h, ERROR, "cannot start: %s", em.text);
    }
    host_close(&h);
    loop_free(env);
    loop_ignore_signals();
    metastore_zookeeper_free(h.factory);
    return h.exit_code;
}
