/*
 * What settings.c and alter.c share.
 */
#pragma once

#include "base/list.h"
#include "broker/config/settings.h"
#include "env/env.h"

struct altering;
struct settings_topic;

/* What is known of the settings stored for an entity. */
struct settings_known {
    bool was_read;   /* once, in this life of the broker */
    bool is_unknown; /* never, although it was tried */
};

struct settings {
    int32_t broker_id;
    void (*log)(void *arg, const char *line); /* may be NULL */
    void *log_arg;
    struct config_set fixed;           /* static */
    struct config_set dynamic_default; /* /config/brokers/<default> */
    struct config_set dynamic;         /* /config/brokers/N */
    struct settings_known dynamic_default_known;
    struct settings_known dynamic_known;
    struct config_set no_overrides; /* what unknown topics have */
    struct settings_topic *topics;
    struct metastore *metastore; /* NULL while detached */
    struct settings_events events;
    void (*loaded)(void *arg); /* NULL once called */
    bool has_topic_list;
    struct list readings;
    struct list alterings;
    /* Given up by a detach: their calls may still be answered. */
    struct list readings_lost;
    struct list alterings_lost;
    struct env_timer retry; /* while attached */
    bool is_trouble_told;   /* that lists cannot be read; of this attachment */
    bool is_following;      /* the first list of notifications was seen */
    int64_t last_change;    /* sequence of the newest notification seen; -1 = none */
};

/* The set whose lists an alteration appends to; topic NULL: the broker's. */
const struct config_set *settings_alter_set(const struct settings *s, const char *topic);
/* Ends it: done(err) is called. */
void settings_altering_end(struct altering *a, int err, const char *reason);
/* Ends all with -E_CLOSED; what their calls need is kept. */
void settings_alterings_drop(struct settings *s);
/* No call of those that were dropped will be answered any more. */
void settings_alterings_forget(struct settings *s);
