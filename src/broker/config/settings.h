/*
 * The configuration of one broker as a whole: its static settings, the dynamic ones of the cluster and
 * of this broker, and each topic's overrides; kept up to date from /config (docs/spec/
 * zookeeper-mode.md section 2.5). Other folders get plain structs filled from here.
 *
 * Invariant: only values that passed config_check are ever visible; a stored value that does not is
 * ignored with a log line. One home shard.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"
#include "model/config.h"
#include "model/ibp.h"

struct metastore;
struct model_setting;
struct replicas_config;
struct replicas_rates;
struct replicas_topic_config;
struct settings;

/* Called from the loop. topic is NULL when the change may touch every topic. */
struct settings_events {
    void *arg;
    void (*changed)(void *arg, const char *topic);
};

/* log is told of stored values that are ignored; may be NULL. */
struct settings *settings_new(int32_t broker_id, void (*log)(void *arg, const char *line),
                              void *log_arg);
/* Detaches. NULL is fine. */
void settings_free(struct settings *s);
/* Sets a static value: -E_NOT_FOUND (a key that is unknown, or never read from a file) or -E_INVALID;
 * em names key, value and reason. */
int settings_put(struct settings *s, const char *key, const char *value,
                 struct errmsg *em) MUST_CHECK;

/* The broker's effective values. */
const struct config_set *settings_broker(const struct settings *s);
/* inter.broker.protocol.version. */
enum ibp settings_level(const struct settings *s);
/* The cluster's dynamic defaults; their own values are what /config/brokers/<default> holds. */
const struct config_set *settings_broker_default(const struct settings *s);
/* The topic's effective values; an unknown topic has the broker's. Borrowed until the loop is next
 * reached. */
const struct config_set *settings_topic(const struct settings *s, struct slice topic);

/*
 * The controller says what a new topic was created with: that holds until /config is read. What was
 * known of a topic of this name may be of one that was deleted; but it may be newer as well, so that it
 * is read again. Values that are not accepted are left out.
 */
void settings_topic_created(struct settings *s, struct slice topic,
                            const struct model_setting *list, int32_t count);

/* Settings as the replicas want them. The text in ret_config is borrowed from the caller's log_dirs. */
void settings_fill_replicas(const struct settings *s, struct replicas_config *ret_config);
/* Text in ret_config is borrowed as from settings_topic. */
void settings_fill_topic(const struct settings *s, struct slice topic,
                         struct replicas_topic_config *ret_config);
void settings_fill_rates(const struct settings *s, struct replicas_rates *ret_rates);
/* The limits of the queue of moves: those of the whole cluster. */
struct moves_limits;
void settings_fill_move_limits(const struct settings *s, struct moves_limits *ret_limits);

/*
 * Reads all of /config that concerns this broker through session m, then follows its changes until
 * settings_detach. loaded(events->arg) is called once, when the first reading is complete. Values that
 * were read from an earlier session and are gone now are forgotten.
 */
void settings_attach(struct settings *s, struct metastore *m, const struct settings_events *events,
                     void (*loaded)(void *arg));
/* Before the session is closed or abandoned, which it must be before the next attach; no callback comes
 * afterwards. Values stay. */
void settings_detach(struct settings *s);
