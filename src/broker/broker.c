/*
 * The assembly of one broker. Order of birth: settings, metadata, replicas, channel, controller, api,
 * session; the session's events then drive: connected -> /config read -> register -> registered ->
 * the controller's first UpdateMetadata -> ready. Order of death is the reverse, so that whoever could
 * call back goes before what it calls.
 */
#include "broker/broker.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "broker/api/api.h"
#include "broker/config/settings.h"
#include "broker/controller/channel.h"
#include "broker/controller/link.h"
#include "broker/http.h"
#include "broker/isr_store.h"
#include "broker/metadata/metadata.h"
#include "broker/metrics.h"
#include "broker/producer_blocks.h"
#include "broker/rebalance.h"
#include "broker/replicas/replicas.h"
#include "broker/session.h"
#include "broker/shutdown.h"
#include "broker/status.h"
#include "broker/strays.h"
#include "broker/withdrawal.h"
#include "moves/moves.h"

#include <stdio.h>
#include <stdlib.h>

#define SESSION_TIMEOUT_MS 18000
#define SEGMENT_FILES      3 /* descriptors of an open log segment */

enum phase {
    PHASE_NEW,
    PHASE_STARTED,
    PHASE_STOPPING, /* leaderships are handed over; everything still serves */
    PHASE_CLOSING,  /* logs are flushed; nothing serves */
    PHASE_STOPPED,
};

struct broker {
    struct env *env;
    struct env *controller_env;
    struct metastore_factory *factory;
    struct broker_config config; /* its numbers and callbacks; text and lists are below */
    enum ibp level;              /* inter.broker.protocol.version */
    struct broker_listener listeners[BROKER_LISTENERS_MAX]; /* text of their own: listener_texts */
    char *listener_texts[BROKER_LISTENERS_MAX][3];
    const char *listener; /* the name of the one between brokers */
    char *http_host;      /* NULL = there is no HTTP port */
    char **log_dirs;
    struct broker_events events;
    enum phase phase;
    struct settings *settings;
    struct metadata *metadata;
    struct replicas *replicas;
    struct controller_channel *channel;
    struct controller_link *controller;
    struct api *api;
    struct model_broker registration;
    struct broker_session *session;
    struct metastore *metastore; /* of the session; NULL while there is none */
    struct broker_strays *strays;
    struct broker_isr_store *isr_store;    /* NULL at levels that ask the controller */
    struct broker_producer_blocks *blocks; /* ditto */
    struct broker_withdrawal *withdrawal;  /* NULL but before a registration that needs it */
    struct broker_rebalance *rebalance;    /* NULL when it is switched off */
    struct broker_shutdown *shutdown;
    struct broker_http *http;                 /* NULL = there is no HTTP port */
    const struct controller_figures *figures; /* as last gathered */
    char *cluster_id;                         /* NULL until known */
    int64_t epoch;                            /* -1 while not registered */
    bool is_ready;
    bool is_controller;
    struct env_timer dirs_check; /* after a directory failed */
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static void tell(const struct broker *b, const char *line)
{
    if (b->config.log != NULL) {
        b->config.log(b->config.log_arg, line);
    }
}

static void fatal(struct broker *b, const char *reason)
{
    if (b->events.on_fatal != NULL) {
        b->events.on_fatal(b->events.arg, reason);
    }
}

/* ---- hooks of the replicas ---- */

static void hook_topic_config(void *arg, const char *topic,
                              struct replicas_topic_config *ret_config)
{
    const struct broker *b = arg;
    settings_fill_topic(b->settings, slice_str(topic), ret_config);
}

static bool hook_endpoint(void *arg, int32_t id, const char **ret_host, uint16_t *ret_port)
{
    const struct broker *b = arg;
    const struct metadata_broker *broker = metadata_broker_find(b->metadata, id);
    if (broker == NULL) {
        return false;
    }
    *ret_host = broker->host;
    *ret_port = broker->port;
    return true;
}

static void strays_look(struct broker *b)
{
    struct broker_strays_source from = {.metastore = b->metastore,
                                        .is_remade = broker_session_is_remade(b->session)};
    broker_strays_start(b->strays, &from);
}

/* Inside a request: only timers are set. */
static void hook_controller_changed(void *arg)
{
    struct broker *b = arg;
    if (b->metastore != NULL && b->epoch >= 0 && b->phase != PHASE_CLOSING) {
        strays_look(b);
    }
}

static bool hook_is_alive(void *arg, int32_t id)
{
    const struct broker *b = arg;
    return metadata_broker_find(b->metadata, id) != NULL;
}

static bool hook_has_topic_id(void *arg, struct uuid id)
{
    const struct broker *b = arg;
    return metadata_topic_find_id(b->metadata, id) != NULL;
}

static int32_t hook_controller(void *arg)
{
    const struct broker *b = arg;
    return metadata_controller(b->metadata);
}

static int64_t hook_broker_epoch(void *arg)
{
    const struct broker *b = arg;
    return b->epoch;
}

static bool hook_store_isr(void *arg, const char *topic, int32_t partition,
                           const struct model_partition_state *state)
{
    const struct broker *b = arg;
    return broker_isr_store_put(b->isr_store, slice_str(topic), partition, state);
}

static void hook_dir_failed(void *arg, const char *path, const char *reason)
{
    struct broker *b = arg;
    char *line = xasprintf(BROKER_LOG_WARNING "log directory %s is offline: %s", path, reason);
    tell(b, line);
    free(line);
    env_timer_start(&b->dirs_check, 0);
}

/* Later than the hook, which must not call back. */
static void dirs_check(void *arg)
{
    struct broker *b = arg;
    int32_t online = 0;
    for (int32_t i = 0; i < replicas_dir_count(b->replicas); i++) {
        struct replicas_dir_info info;
        replicas_dir_get(b->replicas, i, &info);
        online += !info.is_offline;
    }
    if (online == 0) {
        fatal(b, "all log directories are offline");
    } else if (b->session != NULL) {
        broker_session_ask_roles(b->session);
    }
}

/* ---- events of the parts ---- */

static void check_ready(struct broker *b)
{
    bool is_known = b->epoch >= 0 && metadata_broker_find(b->metadata, b->config.id) != NULL;
    if (!b->is_ready && is_known) {
        b->is_ready = true;
        if (b->events.on_ready != NULL) {
            b->events.on_ready(b->events.arg);
        }
    }
}

static const char *on_cluster_id_asked(void *arg)
{
    const struct broker *b = arg;
    return b->cluster_id == NULL ? "" : b->cluster_id;
}

static void on_metadata_changed(void *arg)
{
    struct broker *b = arg;
    controller_channel_metadata_changed(b->channel);
    replicas_metadata_changed(b->replicas);
    check_ready(b);
}

static void rates_apply(struct broker *b)
{
    struct replicas_rates rates;
    settings_fill_rates(b->settings, &rates);
    replicas_set_throttle(b->replicas, rates);
}

static void move_limits_apply(struct broker *b)
{
    struct moves_limits limits;
    settings_fill_move_limits(b->settings, &limits);
    if (b->controller != NULL) {
        controller_link_set_move_limits(b->controller, &limits);
    }
}

static void on_settings_changed(void *arg, const char *topic)
{
    struct broker *b = arg;
    replicas_topic_config_changed(b->replicas, topic);
    if (topic == NULL) {
        rates_apply(b);
        move_limits_apply(b);
    }
}

static void withdrawal_end(struct broker *b)
{
    broker_withdrawal_free(b->withdrawal);
    b->withdrawal = NULL;
}

static void on_withdrawn(void *arg)
{
    struct broker *b = arg;
    withdrawal_end(b);
    if (b->phase != PHASE_CLOSING) {
        replicas_accept_records(b->replicas);
        broker_session_register(b->session);
    }
}

/* Of parts that tell of nothing else. */
static void on_trouble(void *arg, const char *text)
{
    char *line = xasprintf(BROKER_LOG_WARNING "%s", text);
    tell(arg, line);
    free(line);
}

static void on_settings_loaded(void *arg)
{
    struct broker *b = arg;
    rates_apply(b);
    move_limits_apply(b);
    if (!replicas_any_may_lack_records(b->replicas)) {
        on_withdrawn(b);
        return;
    }
    struct broker_withdrawal_config config = {.env = b->env,
                                              .metastore = b->metastore,
                                              .replicas = b->replicas,
                                              .broker_id = b->config.id,
                                              .done = on_withdrawn,
                                              .arg = b,
                                              .log = on_trouble,
                                              .log_arg = b};
    b->withdrawal = broker_withdrawal_new(&config);
}

static void on_room_made(void *arg)
{
    struct broker *b = arg;
    broker_session_ask_roles(b->session);
}

static void on_controller_changed(void *arg, int32_t broker_id, int32_t epoch)
{
    struct broker *b = arg;
    (void)epoch;
    b->is_controller = broker_id == b->config.id;
    if (b->rebalance != NULL) {
        broker_rebalance_set_active(b->rebalance, b->is_controller);
    }
}

static void on_controller_log(void *arg, const char *line)
{
    tell(arg, line);
}

static void on_connected(void *arg, struct metastore *m, const char *cluster_id)
{
    struct broker *b = arg;
    struct settings_events events = {.arg = b, .changed = on_settings_changed};
    struct errmsg em;
    if (replicas_bind_cluster(b->replicas, cluster_id, &em) < 0) {
        fatal(b, em.text);
        return;
    }
    free(b->cluster_id);
    b->cluster_id = xstrdup(cluster_id);
    b->metastore = m;
    settings_attach(b->settings, m, &events, on_settings_loaded);
}

/* What this broker writes into the metastore itself, at levels that do not leave it to the controller. */
static void store_start(struct broker *b)
{
    if (b->isr_store != NULL) {
        broker_isr_store_start(b->isr_store, b->metastore);
    }
    if (b->blocks != NULL) {
        broker_producer_blocks_start(b->blocks, b->metastore);
    }
}

static void store_stop(struct broker *b)
{
    broker_isr_store_stop(b->isr_store);
    broker_producer_blocks_stop(b->blocks);
}

static void on_registered(void *arg, int64_t epoch)
{
    struct broker *b = arg;
    b->epoch = epoch;
    if (b->phase == PHASE_CLOSING) {
        return; /* logs are being closed: nothing is served under the new epoch */
    }
    controller_link_set_epoch(b->controller, epoch);
    strays_look(b);
    store_start(b);
    check_ready(b);
}

static void on_lost(void *arg)
{
    struct broker *b = arg;
    tell(b, BROKER_LOG_WARNING "the metastore session has expired");
    b->epoch = -1;
    withdrawal_end(b);
    if (b->phase == PHASE_CLOSING) {
        return; /* the controller and the settings are gone already */
    }
    controller_link_set_epoch(b->controller, -1);
    broker_strays_stop(b->strays);
    store_stop(b);
    b->metastore = NULL;
    settings_detach(b->settings);
}

static void on_emptied(void *arg, const char *cluster_id)
{
    char *line = xasprintf(BROKER_LOG_WARNING
                           "the metastore has lost what it knew of cluster %s: its topics are gone "
                           "there; their logs are kept here",
                           cluster_id);
    tell(arg, line);
    free(line);
}

static void on_id_held(void *arg, const char *text)
{
    tell(arg, text);
}

static void on_session_trouble(void *arg, const char *line)
{
    tell(arg, line);
}

static void on_session_failed(void *arg, const char *reason)
{
    fatal(arg, reason);
}

/* ---- the HTTP port ---- */

static void on_figures(void *arg, const struct controller_figures *figures)
{
    struct broker *b = arg;
    b->figures = figures;
    broker_http_gathered(b->http);
    b->figures = NULL;
}

static void on_gather(void *arg)
{
    struct broker *b = arg;
    controller_link_ask_figures(b->controller, on_figures, b);
}

static void on_metrics_asked(void *arg, struct buf *out)
{
    struct broker *b = arg;
    struct broker_metrics_input in = {
        .replicas = b->replicas,
        .api = b->api,
        .facts = {.state = b->phase != PHASE_STARTED ? BROKER_METRICS_STOPPING
                           : b->is_ready             ? BROKER_METRICS_RUNNING
                                                     : BROKER_METRICS_STARTING,
                  .is_registered = b->epoch >= 0,
                  .controller = *b->figures},
    };
    broker_metrics_write(&in, out);
}

static const char *state_name(const struct broker *b)
{
    if (b->phase != PHASE_STARTED) {
        return "stopping";
    }
    if (!b->is_ready) {
        return "starting";
    }
    return b->epoch >= 0 ? "running" : "not registered";
}

static void on_status_asked(void *arg, struct buf *out)
{
    struct broker *b = arg;
    struct broker_status_input in = {
        .replicas = b->replicas,
        .broker = b->config.id,
        .state = state_name(b),
        .epoch = b->epoch,
        .cluster_id = b->cluster_id,
        .controller_id = metadata_controller(b->metadata),
        .controller = b->figures,
    };
    broker_status_write(&in, out);
}

/* A broker without a registration goes on serving what it led: it is well. */
static bool on_health_asked(void *arg, struct buf *out)
{
    const struct broker *b = arg;
    buf_putf(out, "%s\n", state_name(b));
    return b->phase == PHASE_STARTED && b->is_ready;
}

static int http_start(struct broker *b, struct errmsg *em)
{
    struct broker_http_config config = {
        .env = b->env,
        .http_env = b->config.http_env,
        .host = b->http_host,
        .port = b->config.http_port,
        .gather = on_gather,
        .metrics = on_metrics_asked,
        .status = on_status_asked,
        .health = on_health_asked,
        .arg = b,
    };
    int err = b->config.http_env == NULL ? 0 : broker_http_new(&config, &b->http, em);
    if (err < 0) {
        errmsg_prefix(em, err == -E_INVALID ? "klamm.http.host" : "klamm.http.port");
    }
    return err;
}

/* ---- birth ---- */

static void listener_copy(struct broker *b, int32_t index, const struct broker_listener *from)
{
    char **texts = b->listener_texts[index];
    texts[0] = xstrdup(from->name);
    texts[1] = xstrdup(from->host);
    texts[2] = xstrdup(from->advertised_host == NULL ? from->host : from->advertised_host);
    b->listeners[index] = *from;
    b->listeners[index].name = texts[0];
    b->listeners[index].host = texts[1];
    b->listeners[index].advertised_host = texts[2];
}

static void config_copy(struct broker *b, const struct broker_config *config)
{
    b->config = *config;
    b->config.listeners = b->listeners;
    b->config.http_host = NULL;
    b->config.log_dirs = NULL;
    b->config.settings = NULL; /* they are in b->settings from now on */
    for (int32_t i = 0; i < config->listener_count; i++) {
        listener_copy(b, i, &config->listeners[i]);
        if (i == 0 || (config->inter_broker_listener != NULL &&
                       strcmp(b->listeners[i].name, config->inter_broker_listener) == 0)) {
            b->listener = b->listeners[i].name;
        }
    }
    b->config.inter_broker_listener = b->listener;
    b->http_host = config->http_env == NULL ? NULL : xstrdup(config->http_host);
    b->log_dirs = xalloc((size_t)config->log_dir_count * sizeof *b->log_dirs);
    for (int32_t i = 0; i < config->log_dir_count; i++) {
        b->log_dirs[i] = xstrdup(config->log_dirs[i]);
    }
}

/* What came as fields is shown as the properties it stands for. */
static int fields_to_settings(struct broker *b, struct errmsg *em)
{
    char number[24];
    struct buf dirs;
    (void)snprintf(number, sizeof number, "%d", b->config.id);
    int err = settings_put(b->settings, "broker.id", number, em);
    buf_init(&dirs);
    for (int32_t i = 0; i < b->config.log_dir_count; i++) {
        buf_putf(&dirs, "%s%s", i == 0 ? "" : ",", b->log_dirs[i]);
    }
    char *text = slice_dup(buf_slice(&dirs));
    buf_deinit(&dirs);
    if (err == 0) {
        err = settings_put(b->settings, "log.dirs", text, em);
    }
    free(text);
    if (err == 0 && b->config.session_timeout_ms > 0) {
        (void)snprintf(number, sizeof number, "%lld", (long long)b->config.session_timeout_ms);
        err = settings_put(b->settings, "zookeeper.session.timeout.ms", number, em);
    }
    return err;
}

static int settings_take(struct broker *b, const struct broker_config *config, struct errmsg *em)
{
    for (int32_t i = 0; i < config->setting_count; i++) {
        const struct broker_setting *setting = &config->settings[i];
        struct errmsg reason;
        int err = settings_put(b->settings, setting->key, setting->value, &reason);
        if (err == -E_NOT_FOUND) {
            on_trouble(b, reason.text);
        } else if (err < 0) {
            return errmsg_set(em, (enum error) - err, "%s", reason.text);
        }
    }
    return fields_to_settings(b, em);
}

struct broker *broker_new(struct env *env, struct env *controller_env,
                          const struct broker_config *config, struct metastore_factory *factory,
                          struct errmsg *em)
{
    if (config->id < 0 || config->log_dir_count < 1 ||
        config->log_dir_count > BROKER_LOG_DIRS_MAX || config->listener_count < 1 ||
        config->listener_count > BROKER_LISTENERS_MAX) {
        (void)errmsg_set(em, E_INVALID,
                         "a broker needs an id >= 0, 1 to %d log directories and 1 to %d listeners",
                         BROKER_LOG_DIRS_MAX, BROKER_LISTENERS_MAX);
        return NULL;
    }
    struct broker *b = xalloc(sizeof *b);
    b->env = env;
    b->controller_env = controller_env;
    b->factory = factory;
    b->epoch = -1;
    config_copy(b, config);
    env_timer_init(&b->dirs_check, env, dirs_check, b);
    b->settings = settings_new(config->id, on_trouble, b);
    if (settings_take(b, config, em) < 0) {
        broker_free(b);
        return NULL;
    }
    b->config.session_timeout_ms =
        config_get_number(settings_broker(b->settings), CONFIG_BROKER_SESSION_TIMEOUT_MS);
    b->level = settings_level(b->settings);
    return b;
}

static int replicas_start(struct broker *b, struct errmsg *em)
{
    struct replicas_config config;
    struct replicas_hooks hooks = {
        .arg = b,
        .topic_config = hook_topic_config,
        .endpoint = hook_endpoint,
        .controller_changed = hook_controller_changed,
        .is_alive = hook_is_alive,
        .has_topic_id = hook_has_topic_id,
        .controller = hook_controller,
        .broker_epoch = hook_broker_epoch,
        .dir_failed = hook_dir_failed,
        .store_isr = hook_store_isr,
    };
    settings_fill_replicas(b->settings, &config);
    config.log_dirs = (const char *const *)b->log_dirs;
    config.log_dir_count = b->config.log_dir_count;
    if (b->config.open_files_max > 0) {
        int64_t segments = b->config.open_files_max / SEGMENT_FILES;
        config.segments_open_max = (int32_t)MIN(segments, config.segments_open_max);
    }
    return replicas_open(b->env, &config, &hooks, &b->replicas, em);
}

static void controller_start(struct broker *b)
{
    const struct config_set *settings = settings_broker(b->settings);
    struct controller_config controller = {
        .broker_id = b->config.id,
        .listener = b->listener,
        .level = b->level,
        .session_timeout_ms = b->config.session_timeout_ms,
        .socket_timeout_ms =
            config_get_number(settings, CONFIG_BROKER_CONTROLLER_SOCKET_TIMEOUT_MS),
        .partitions_default = (int32_t)config_get_number(settings, CONFIG_BROKER_NUM_PARTITIONS),
        .replication_factor_default =
            (int32_t)config_get_number(settings, CONFIG_BROKER_DEFAULT_REPLICATION_FACTOR),
        .min_insync_replicas =
            (int32_t)config_get_number(settings, CONFIG_BROKER_MIN_INSYNC_REPLICAS),
        .is_unclean_election_enabled = config_get_bool(settings, CONFIG_BROKER_UNCLEAN_ELECTION),
        .refuses_deletions = !config_get_bool(settings, CONFIG_BROKER_DELETE_TOPICS),
        .faults = b->config.faults,
    };
    struct controller_link_config link = {
        .broker_env = b->env,
        .controller_env = b->controller_env,
        .factory = b->factory,
        .controller = &controller,
        .changed = on_controller_changed,
        .log = on_controller_log,
        .arg = b,
    };
    b->controller = controller_link_new(&link);
    move_limits_apply(b);
    if (config_get_bool(settings, CONFIG_BROKER_AUTO_LEADER_REBALANCE)) {
        struct broker_rebalance_config rebalance = {
            .env = b->env,
            .controller = b->controller,
            .metadata = b->metadata,
            .interval_ms =
                config_get_number(settings, CONFIG_BROKER_LEADER_IMBALANCE_CHECK_S) * 1000,
            .percent_max =
                (int32_t)config_get_number(settings, CONFIG_BROKER_LEADER_IMBALANCE_PERCENT),
        };
        b->rebalance = broker_rebalance_new(&rebalance);
    }
}

static int api_start(struct broker *b, struct errmsg *em)
{
    struct api_listener listeners[BROKER_LISTENERS_MAX];
    for (int32_t i = 0; i < b->config.listener_count; i++) {
        const struct broker_listener *l = &b->listeners[i];
        listeners[i] = (struct api_listener){.name = l->name, .host = l->host, .port = l->port};
    }
    struct api_parts parts = {
        .env = b->env,
        .broker_id = b->config.id,
        .listeners = listeners,
        .listener_count = b->config.listener_count,
        .settings = b->settings,
        .metadata = b->metadata,
        .replicas = b->replicas,
        .controller = b->controller,
        .channel = b->channel,
        .blocks = b->blocks,
        .acls = b->config.acls,
        .arg = b,
        .cluster_id = on_cluster_id_asked,
        .broker_epoch = hook_broker_epoch,
        .metadata_changed = on_metadata_changed,
    };
    return api_new(&parts, &b->api, em);
}

static void session_start(struct broker *b)
{
    const char *rack = config_get_string(settings_broker(b->settings), CONFIG_BROKER_RACK);
    b->registration = (struct model_broker){
        .id = b->config.id,
        .rack = rack == NULL ? NULL : xstrdup(rack),
        .endpoints = xalloc((size_t)b->config.listener_count * sizeof *b->registration.endpoints),
    };
    for (int32_t i = 0; i < b->config.listener_count; i++) {
        const struct broker_listener *l = &b->listeners[i];
        if (!l->is_hidden) {
            b->registration.endpoints[b->registration.endpoint_count++] = (struct model_endpoint){
                .listener = xstrdup(l->name),
                .host = xstrdup(l->advertised_host),
                .port = l->advertised_port == 0 ? api_port(b->api, i) : l->advertised_port,
            };
        }
    }
    struct broker_session_config config = {
        .env = b->env,
        .factory = b->factory,
        .timeout_ms = b->config.session_timeout_ms,
        .level = b->level,
        .broker = &b->registration,
        .cluster_id = replicas_cluster_id(b->replicas),
    };
    struct broker_session_events events = {
        .arg = b,
        .connected = on_connected,
        .registered = on_registered,
        .lost = on_lost,
        .held = on_id_held,
        .trouble = on_session_trouble,
        .emptied = on_emptied,
        .failed = on_session_failed,
    };
    b->session = broker_session_new(&config, &events);
}

int broker_start(struct broker *b, const struct broker_events *events, struct errmsg *em)
{
    CHECK(b->phase == PHASE_NEW);
    b->events = *events;
    b->metadata = metadata_new(b->listener);
    int err = replicas_start(b, em);
    if (err < 0) {
        return err;
    }
    b->isr_store =
        ibp_has(b->level, IBP_ALTER_PARTITION) ? NULL : broker_isr_store_new(b->env, b->replicas);
    b->blocks =
        ibp_has(b->level, IBP_PRODUCER_ID_BLOCKS) ? NULL : broker_producer_blocks_new(b->config.id);
    b->channel = controller_channel_new(b->env, b->config.id, b->metadata);
    controller_start(b);
    err = api_start(b, em);
    if (err == 0) {
        err = http_start(b, em);
    }
    if (err < 0) {
        return err;
    }
    struct broker_strays_config strays = {.env = b->env,
                                          .replicas = b->replicas,
                                          .broker_id = b->config.id,
                                          .made_room = on_room_made,
                                          .arg = b,
                                          .log = b->config.log,
                                          .log_arg = b->config.log_arg};
    b->strays = broker_strays_new(&strays);
    session_start(b);
    b->phase = PHASE_STARTED;
    return 0;
}

/* ---- death ---- */

/* Nothing is served, asked or answered any more; the replicas and the session are still there. */
static void serving_end(struct broker *b, bool is_clean)
{
    broker_shutdown_free(b->shutdown);
    b->shutdown = NULL;
    broker_http_free(b->http);
    b->http = NULL;
    broker_rebalance_free(b->rebalance);
    b->rebalance = NULL;
    controller_link_free(b->controller, is_clean);
    b->controller = NULL;
    settings_detach(b->settings);
    broker_strays_stop(b->strays);
    store_stop(b);
    controller_channel_free(b->channel);
    b->channel = NULL;
    api_free(b->api);
    b->api = NULL;
}

static void replicas_stopped(void *arg)
{
    struct broker *b = arg;
    withdrawal_end(b);
    broker_session_free(b->session, true);
    b->session = NULL;
    b->epoch = -1;
    b->phase = PHASE_STOPPED;
    b->stopped(b->stopped_arg);
}

static void handed_over(void *arg)
{
    struct broker *b = arg;
    b->phase = PHASE_CLOSING;
    env_timer_stop(&b->dirs_check);
    serving_end(b, true);
    replicas_stop(b->replicas, replicas_stopped, b);
}

void broker_stop(struct broker *b, void (*done)(void *arg), void *arg)
{
    const struct config_set *settings = settings_broker(b->settings);
    CHECK(b->phase == PHASE_STARTED);
    b->phase = PHASE_STOPPING;
    b->stopped = done;
    b->stopped_arg = arg;
    /* Without a registration it is not known to the controller, and leads nothing. */
    bool is_handing_over =
        b->epoch >= 0 && config_get_bool(settings, CONFIG_BROKER_CONTROLLED_SHUTDOWN);
    struct broker_shutdown_config config = {
        .env = b->env,
        .channel = b->channel,
        .level = b->level,
        .broker_id = b->config.id,
        .broker_epoch = b->epoch,
        .timeout_ms = config_get_number(settings, CONFIG_BROKER_CONTROLLER_SOCKET_TIMEOUT_MS),
        .retries_max = is_handing_over
                           ? (int32_t)config_get_number(
                                 settings, CONFIG_BROKER_CONTROLLED_SHUTDOWN_MAX_RETRIES)
                           : 0,
        .backoff_ms = config_get_number(settings, CONFIG_BROKER_CONTROLLED_SHUTDOWN_BACKOFF_MS),
        .done = handed_over,
        .arg = b,
    };
    b->shutdown = broker_shutdown_new(&config);
}

void broker_free(struct broker *b)
{
    if (b == NULL) {
        return;
    }
    env_timer_stop(&b->dirs_check);
    serving_end(b, false);
    withdrawal_end(b);
    broker_session_free(b->session, false);
    broker_strays_free(b->strays);
    broker_isr_store_free(b->isr_store);
    broker_producer_blocks_free(b->blocks);
    replicas_free(b->replicas);
    metadata_free(b->metadata);
    settings_free(b->settings);
    model_broker_deinit(&b->registration);
    for (int32_t i = 0; i < b->config.log_dir_count; i++) {
        free(b->log_dirs[i]);
    }
    free(b->log_dirs);
    for (int32_t i = 0; i < b->config.listener_count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(b->listener_texts[i]); k++) {
            free(b->listener_texts[i][k]);
        }
    }
    free(b->http_host);
    free(b->cluster_id);
    free(b);
}

/* ---- facts ---- */

int32_t broker_id(const struct broker *b)
{
    return b->config.id;
}

uint16_t broker_port(const struct broker *b, int32_t listener)
{
    return b->api == NULL ? 0 : api_port(b->api, listener);
}

uint16_t broker_metrics_port(const struct broker *b)
{
    return b->http == NULL ? 0 : broker_http_port(b->http);
}

int64_t broker_epoch(const struct broker *b)
{
    return b->epoch;
}

bool broker_is_ready(const struct broker *b)
{
    return b->is_ready;
}

bool broker_is_controller(const struct broker *b)
{
    return b->is_controller;
}

struct replicas *broker_replicas(const struct broker *b)
{
    return b->replicas;
}
