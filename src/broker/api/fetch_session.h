/*
 * Incremental fetch sessions (KIP-227, protocol.md 6.3): what a client or follower wants to fetch is
 * remembered between its requests, in an order that rotates for fairness. Bookkeeping only: reading
 * and answering is fetch.c.
 *
 * Of the partitions of a session only the hot ones have to be read: those that were asked anew, that had
 * data or an error, or whose watch fired. So idle partitions cost nothing, however many they are.
 *
 * Invariants: at most `slots` sessions, of bytes_max together; a held session (one whose request is parked)
 * is never evicted; a session speaks names or ids, never both. One home shard.
 */
#pragma once

#include "base/error.h"
#include "base/list.h"
#include "base/map.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "broker/replicas/replicas.h"

#define FETCH_SESSION_ITEMS_MAX 200000               /* partitions of one session */
#define FETCH_SESSION_BYTES_MAX ((int64_t)256 << 20) /* of all sessions, about */
#define FETCH_SESSION_IDLE_MS   120000               /* an idle one may be evicted for a newcomer */

struct fetch_sessions;

/* One partition, in a session or in a single request. */
struct fetch_item {
    struct slice topic;   /* by name; null in id-based requests */
    struct uuid topic_id; /* by id; zero in name-based requests */
    int32_t partition;
    int32_t current_leader_epoch; /* -1 = not checked */
    int32_t last_fetched_epoch;   /* -1 = not given */
    int64_t fetch_offset;
    int64_t log_start_offset; /* the follower's; -1 */
    int32_t bytes_max;
    int64_t told_high_watermark; /* what the last answer said; -1 = nothing, or an error */
    int64_t told_log_start;
    void *waiter;                  /* without a session: the request that waits for it */
    struct fetch_session *session; /* NULL = none */
    struct replicas_watch watch;   /* standing in a session, else while the request waits */
    struct list_node hot_link;     /* in session->hot */
    /* Private: in a session only. */
    struct list_node link;
    UT_hash_handle hh;
    uint8_t *key; /* owned */
};

struct fetch_session {
    int32_t id;
    int32_t next_epoch; /* what the next incremental request must carry */
    bool is_by_id;
    bool is_follower;
    void *holder;      /* the parked request that uses it, or NULL */
    struct list items; /* of struct fetch_item */
    struct list hot;   /* those to be read, in that order */
    /* Private. */
    struct fetch_sessions *sessions;
    struct fetch_item *by_key;
    int64_t used_ms;
    struct list_node link; /* least recently used first */
    UT_hash_handle hh;
};

/* bytes_max: of all sessions together, about. */
struct fetch_sessions *api_fetch_sessions_new(int32_t slots, int64_t bytes_max);
void api_fetch_sessions_free(struct fetch_sessions *s);
int32_t api_fetch_sessions_count(const struct fetch_sessions *s);

/* What decides whether a newcomer gets a slot. */
struct fetch_session_wish {
    int32_t id; /* random, > 0 */
    bool is_by_id;
    bool is_follower; /* may take the slot of a client */
    int64_t now_ms;
};
/* NULL when there is no slot, or the id is taken. next_epoch is 1. When more than half of the memory of all
 * sessions is in use, those that may give way do so. */
struct fetch_session *api_fetch_session_open(struct fetch_sessions *s,
                                             const struct fetch_session_wish *wish);
/* NULL when unknown. Counts as use. */
struct fetch_session *api_fetch_session_find(struct fetch_sessions *s, int32_t id, int64_t now_ms);
/* Frees it; it must not be held. */
void api_fetch_session_close(struct fetch_sessions *s, struct fetch_session *session);

/* Adds the partition or updates what is asked of it; facts told stay; it is hot. -E_TOO_LARGE at the
 * bound. */
int api_fetch_session_put(struct fetch_session *session, const struct fetch_item *facts) MUST_CHECK;
void api_fetch_session_forget(struct fetch_session *session, const struct fetch_item *key);
/* It has to be read. */
void api_fetch_session_heat(struct fetch_session *session, struct fetch_item *item);
/* There is nothing to read until its watch fires. */
void api_fetch_session_cool(struct fetch_session *session, struct fetch_item *item);
/* Behind all others: it has just returned data. */
void api_fetch_session_rotate(struct fetch_session *session, struct fetch_item *item);
/* From epoch to the next: 2^31-1 goes to 1. */
int32_t api_fetch_epoch_next(int32_t epoch);
