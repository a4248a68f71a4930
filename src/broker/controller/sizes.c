/*
 * How large the partitions of the queue are: asked of their leaders each second while moves wait whose size is
 * not known, or have just ended without, and heard beside the looks at running moves. Partitions grow while they
 * wait: with a limit on bytes in flight what was heard is asked again after REFRESH_MS, and not known any more
 * after STALE_MS. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

#define ASK_MS     1000
#define ASKED_MAX  5000 /* partitions at a time */
#define REFRESH_MS 5000
#define STALE_MS   30000

struct controller_size {
    char *topic;
    int32_t partition;
    int64_t bytes;
    int64_t heard_ms;
    uint64_t key;
    UT_hash_handle hh;
};

static uint64_t key_of(struct slice topic, int32_t partition)
{
    return hash_bytes(topic.ptr, topic.len) * 31 + (uint64_t)(uint32_t)partition;
}

static struct controller_size *find(const struct controller_moves *v, struct slice topic,
                                    int32_t partition)
{
    struct controller_size *s = NULL;
    uint64_t key = key_of(topic, partition);
    HASH_FIND(hh, v->sizes, &key, sizeof key, s);
    return s != NULL && s->partition == partition && slice_equal_str(topic, s->topic) ? s : NULL;
}

int64_t controller_sizes_get(const struct controller *c, struct slice topic, int32_t partition)
{
    const struct controller_size *s = c->moves == NULL ? NULL : find(c->moves, topic, partition);
    return s == NULL || env_now_ms(c->env) > s->heard_ms + STALE_MS ? -1 : s->bytes;
}

void controller_sizes_heard(struct controller *c, int32_t broker, struct slice topic,
                            int32_t partition, int64_t bytes)
{
    struct control_view view;
    if (c->moves == NULL || bytes < 0 || !control_view(c->core, topic, partition, &view) ||
        view.leader != broker) {
        return;
    }
    struct controller_size *s = find(c->moves, topic, partition);
    if (s == NULL) {
        uint64_t key = key_of(topic, partition);
        struct controller_size *other = NULL;
        HASH_FIND(hh, c->moves->sizes, &key, sizeof key, other);
        if (other != NULL) {
            return; /* of another partition with the same hash: that one stays known */
        }
        s = xalloc(sizeof *s);
        s->topic = slice_dup(topic);
        s->partition = partition;
        s->key = key;
        HASH_ADD(hh, c->moves->sizes, key, sizeof s->key, s);
    }
    s->bytes = bytes;
    s->heard_ms = env_now_ms(c->env);
    const struct moves *core = controller_moves_core(c);
    if (core != NULL && moves_wants_size(core, topic, partition)) {
        controller_moves_step(
            c, &(struct moves_event){
                   .kind = MOVES_ON_SIZE, .topic = topic, .partition = partition, .bytes = bytes});
    }
}

struct asking {
    struct controller *c;
    int64_t age_ms; /* what was heard longer ago is asked for */
    int32_t count;
};

static void ask_about(void *arg, const struct moves_view *view)
{
    struct asking *asking = arg;
    struct controller *c = asking->c;
    struct control_view now;
    if (asking->count >= ASKED_MAX) {
        return;
    }
    const struct controller_size *s = find(c->moves, view->topic, view->partition);
    bool is_due = s == NULL || env_now_ms(c->env) > s->heard_ms + asking->age_ms;
    if (is_due && control_view(c->core, view->topic, view->partition, &now) && now.leader >= 0) {
        controller_log_dirs_want(c, now.leader, view->topic, view->partition);
        asking->count++;
    }
}

static void ask_unknown(void *arg, const struct moves_view *view)
{
    if (view->bytes_to_copy < 0) {
        ask_about(arg, view);
    }
}

/* While bytes are limited first those without which nothing starts. */
static void ask(void *arg)
{
    struct controller *c = arg;
    bool is_limited = c->move_limits.bytes_in_flight >= 0;
    struct asking asking = {.c = c, .age_ms = is_limited ? STALE_MS : -1};
    if (c->moves->is_loaded && c->role == ROLE_ACTIVE) {
        moves_each_queued(c->moves->core, is_limited ? ask_about : ask_unknown, &asking);
        if (is_limited && asking.count == 0) {
            asking.age_ms = REFRESH_MS;
            moves_each_queued(c->moves->core, ask_about, &asking);
        }
        asking.age_ms = -1;
        moves_each_unheard(c->moves->core, ask_unknown, &asking);
        if (asking.count > 0) {
            controller_log_dirs_ask(c);
        }
    }
    env_timer_start(&c->moves->size_timer, ASK_MS);
}

void controller_sizes_init(struct controller *c, struct controller_moves *v)
{
    env_timer_init(&v->size_timer, c->env, ask, c);
    env_timer_start(&v->size_timer, ASK_MS);
}

void controller_sizes_free(struct controller_moves *v)
{
    struct controller_size *s = NULL;
    struct controller_size *next = NULL;
    HASH_ITER(hh, v->sizes, s, next)
    {
        HASH_DEL(v->sizes, s);
        free(s->topic);
        free(s);
    }
}
