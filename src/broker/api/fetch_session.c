/*
 * Fetch sessions. Items are found by a byte key (id or name, then the partition), so that names and
 * ids share one map; sessions are in a list ordered by last use.
 */
#include "broker/api/fetch_session.h"

#include "base/alloc.h"
#include "base/endian.h"

#include <stdlib.h>

struct fetch_sessions {
    int32_t slots;
    struct fetch_session *by_id;
    struct list by_use;
    int64_t bytes; /* of all items */
    int64_t bytes_max;
};

struct fetch_sessions *api_fetch_sessions_new(int32_t slots, int64_t bytes_max)
{
    struct fetch_sessions *s = xalloc(sizeof *s);
    s->slots = slots;
    s->bytes_max = bytes_max;
    list_init(&s->by_use);
    return s;
}

int32_t api_fetch_sessions_count(const struct fetch_sessions *s)
{
    return (int32_t)s->by_use.count;
}

static int64_t item_bytes(size_t key_len)
{
    return (int64_t)(sizeof(struct fetch_item) + key_len);
}

static void item_remove(struct fetch_session *session, struct fetch_item *item)
{
    session->sessions->bytes -= item_bytes(item->hh.keylen);
    replicas_watch_stop(&item->watch);
    HASH_DELETE(hh, session->by_key, item);
    list_remove(&session->hot, &item->hot_link);
    list_remove(&session->items, &item->link);
    free(item->key);
    free(item);
}

void api_fetch_session_close(struct fetch_sessions *s, struct fetch_session *session)
{
    CHECK(session->holder == NULL);
    while (session->by_key != NULL) {
        item_remove(session, session->by_key);
    }
    HASH_DELETE(hh, s->by_id, session);
    list_remove(&s->by_use, &session->link);
    free(session);
}

void api_fetch_sessions_free(struct fetch_sessions *s)
{
    if (s == NULL) {
        return;
    }
    while (s->by_id != NULL) {
        api_fetch_session_close(s, s->by_id);
    }
    free(s);
}

/* The session that gives way: the one used longest ago that may. */
static struct fetch_session *find_victim(const struct fetch_sessions *s,
                                         const struct fetch_session_wish *wish)
{
    struct list_node *node;
    list_foreach (node, &s->by_use) {
        struct fetch_session *session = CONTAINER_OF(node, struct fetch_session, link);
        bool is_idle = wish->now_ms - session->used_ms > FETCH_SESSION_IDLE_MS;
        bool is_lesser = wish->is_follower && !session->is_follower;
        if (session->holder == NULL && (is_idle || is_lesser)) {
            return session;
        }
    }
    return NULL;
}

/* Whether there is a slot. What may give way does, when there is none or much memory is in use. */
static bool make_room(struct fetch_sessions *s, const struct fetch_session_wish *wish)
{
    for (;;) {
        bool has_slot = (int32_t)s->by_use.count < s->slots;
        if (has_slot && s->bytes <= s->bytes_max / 2) {
            return true;
        }
        struct fetch_session *victim = find_victim(s, wish);
        if (victim == NULL) {
            return has_slot;
        }
        api_fetch_session_close(s, victim);
    }
}

struct fetch_session *api_fetch_session_open(struct fetch_sessions *s,
                                             const struct fetch_session_wish *wish)
{
    struct fetch_session *session;
    HASH_FIND(hh, s->by_id, &wish->id, sizeof wish->id, session);
    if (session != NULL) {
        return NULL;
    }
    if (!make_room(s, wish)) {
        return NULL;
    }
    session = xalloc(sizeof *session);
    session->sessions = s;
    session->id = wish->id;
    session->next_epoch = 1;
    session->is_by_id = wish->is_by_id;
    session->is_follower = wish->is_follower;
    session->used_ms = wish->now_ms;
    list_init(&session->items);
    list_init(&session->hot);
    HASH_ADD(hh, s->by_id, id, sizeof session->id, session);
    list_push_back(&s->by_use, &session->link);
    return session;
}

struct fetch_session *api_fetch_session_find(struct fetch_sessions *s, int32_t id, int64_t now_ms)
{
    struct fetch_session *session;
    HASH_FIND(hh, s->by_id, &id, sizeof id, session);
    if (session != NULL) {
        session->used_ms = now_ms;
        list_remove(&s->by_use, &session->link);
        list_push_back(&s->by_use, &session->link);
    }
    return session;
}

/* Owned by the caller. */
static uint8_t *key_make(const struct fetch_session *session, const struct fetch_item *item,
                         size_t *ret_len)
{
    struct slice topic = session->is_by_id
                             ? slice_of(item->topic_id.bytes, sizeof item->topic_id.bytes)
                             : item->topic;
    uint8_t *key = xalloc(topic.len + sizeof(int32_t));
    if (topic.len > 0) {
        memcpy(key, topic.ptr, topic.len);
    }
    store_be32(key + topic.len, (uint32_t)item->partition);
    *ret_len = topic.len + sizeof(int32_t);
    return key;
}

int api_fetch_session_put(struct fetch_session *session, const struct fetch_item *facts)
{
    size_t len;
    uint8_t *key = key_make(session, facts, &len);
    struct fetch_item *item;
    HASH_FIND(hh, session->by_key, key, len, item);
    if (item != NULL) {
        free(key);
        item->current_leader_epoch = facts->current_leader_epoch;
        item->last_fetched_epoch = facts->last_fetched_epoch;
        item->fetch_offset = facts->fetch_offset;
        item->log_start_offset = facts->log_start_offset;
        item->bytes_max = facts->bytes_max;
        api_fetch_session_heat(session, item);
        return 0;
    }
    if (session->items.count >= FETCH_SESSION_ITEMS_MAX ||
        session->sessions->bytes + item_bytes(len) > session->sessions->bytes_max) {
        free(key);
        return -E_TOO_LARGE;
    }
    item = xmemdup(facts, sizeof *facts);
    item->key = key;
    session->sessions->bytes += item_bytes(len);
    item->session = session;
    item->link = (struct list_node){0};
    if (!session->is_by_id) {
        item->topic = slice_of(key, len - sizeof(int32_t));
    }
    HASH_ADD_KEYPTR(hh, session->by_key, item->key, len, item);
    list_push_back(&session->items, &item->link);
    api_fetch_session_heat(session, item);
    return 0;
}

void api_fetch_session_forget(struct fetch_session *session, const struct fetch_item *wanted)
{
    size_t len;
    uint8_t *key = key_make(session, wanted, &len);
    struct fetch_item *item;
    HASH_FIND(hh, session->by_key, key, len, item);
    free(key);
    if (item != NULL) {
        item_remove(session, item);
    }
}

void api_fetch_session_heat(struct fetch_session *session, struct fetch_item *item)
{
    if (!list_has(&item->hot_link)) {
        list_push_back(&session->hot, &item->hot_link);
    }
}

void api_fetch_session_cool(struct fetch_session *session, struct fetch_item *item)
{
    list_remove(&session->hot, &item->hot_link);
}

void api_fetch_session_rotate(struct fetch_session *session, struct fetch_item *item)
{
    list_remove(&session->items, &item->link);
    list_push_back(&session->items, &item->link);
    list_remove(&session->hot, &item->hot_link);
    list_push_back(&session->hot, &item->hot_link);
}

int32_t api_fetch_epoch_next(int32_t epoch)
{
    return epoch == INT32_MAX ? 1 : epoch + 1;
}
