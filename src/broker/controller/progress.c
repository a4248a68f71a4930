/*
 * Progress of running moves: while there are any, the core is asked each second what moves, the brokers
 * that lead or take a moving partition how large its log is (log_dirs.c), and moves/progress makes bytes,
 * rates, times and reasons of it. The list of moves is told with these to those who ask (report.c).
 * The core lists in pieces, and what is to be done afterwards (TIDY_MOVES at a time) waits for its turn too.
 * Invariant: a move is known here as long as the core lists it, and a few looks longer when very many end at once;
 * `moves_by_look` has those that were seen longest ago in front.
 * Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

#define LOOK_MS      1000
#define TIDY_MOVES   1000
#define KEY_SIZE_MAX (MODEL_TOPIC_NAME_MAX + 16)

struct progress_move {
    char *key; /* "topic-partition" */
    int32_t partition;
    struct moves_progress progress;
    struct controller_start start;
    int64_t born_ms; /* monotonic, as the core has it: another value is another move */
    uint64_t seen;   /* the look that saw it last */
    struct list_node by_look;
    UT_hash_handle hh;
};

/* A move that was asked for since the last look. */
struct progress_wish {
    char *key; /* as progress_move.key */
    struct controller_submitter *submitter;
    uint64_t look; /* the last one that had begun */
    UT_hash_handle hh;
};

struct controller_progress {
    struct controller *c;
    struct progress_move *moves;
    struct list moves_by_look; /* by progress_move.by_look */
    struct progress_wish *wishes;
    uint64_t look;
    bool is_looking; /* the core is asked */
    struct control_request request;
    struct env_timer timer;
    struct env_timer tidy_timer;
    struct ids target; /* of the move at hand: kept for its memory */
};

/* "topic-partition" in key, and its length; 0 when there is no such topic or partition. Called for every
 * move at each look, hence by hand. */
static size_t key_make(char *key, struct slice topic, int32_t partition)
{
    char digits[16];
    size_t at = sizeof digits;
    if (topic.len == 0 || topic.len > MODEL_TOPIC_NAME_MAX || partition < 0) {
        return 0;
    }
    for (int32_t rest = partition; at == sizeof digits || rest > 0; rest /= 10) {
        digits[--at] = (char)('0' + rest % 10);
    }
    size_t digit_count = sizeof digits - at;
    memcpy(key, topic.ptr, topic.len);
    key[topic.len] = '-';
    memcpy(key + topic.len + 1, digits + at, digit_count);
    key[topic.len + 1 + digit_count] = '\0';
    return topic.len + 1 + digit_count;
}

static struct progress_move *move_find(const struct controller_progress *p, struct slice topic,
                                       int32_t partition)
{
    char key[KEY_SIZE_MAX];
    struct progress_move *m = NULL;
    size_t len = key_make(key, topic, partition);
    if (len > 0) {
        HASH_FIND(hh, p->moves, key, len, m);
    }
    return m;
}

/* ---- who asked ---- */

static void text_copy(char *to, size_t size, struct slice from)
{
    size_t len = MIN(from.len, size - 1);
    for (size_t i = 0; i < len; i++) {
        to[i] = from.ptr[i] >= ' ' && from.ptr[i] <= '~' ? (char)from.ptr[i] : '?';
    }
    to[len] = '\0';
}

struct controller_submitter *controller_submitter_new(struct slice principal,
                                                      struct slice client_id)
{
    struct controller_submitter *s = xalloc(sizeof *s);
    s->refs = 1;
    text_copy(s->principal, sizeof s->principal, principal);
    text_copy(s->client_id, sizeof s->client_id, client_id);
    return s;
}

void controller_submitter_unref(struct controller_submitter *s)
{
    if (s != NULL && --s->refs == 0) {
        free(s);
    }
}

static void wish_free(struct controller_progress *p, struct progress_wish *wish)
{
    HASH_DEL(p->wishes, wish);
    controller_submitter_unref(wish->submitter);
    free(wish->key);
    free(wish);
}

/* Those that were there before the look began. */
static void wishes_free(struct controller_progress *p, uint64_t look)
{
    struct progress_wish *wish = NULL;
    struct progress_wish *next = NULL;
    HASH_ITER(hh, p->wishes, wish, next)
    {
        if (wish->look < look) {
            wish_free(p, wish);
        }
    }
}

static void wish_add(struct controller_progress *p, const struct control_alter_entry *entry,
                     struct controller_submitter *submitter)
{
    char key[KEY_SIZE_MAX];
    struct progress_wish *wish = NULL;
    size_t len = key_make(key, entry->topic, entry->partition);
    if (len == 0) {
        return;
    }
    HASH_FIND(hh, p->wishes, key, len, wish);
    if (wish == NULL) {
        wish = xalloc(sizeof *wish);
        wish->key = xstrdup(key);
        HASH_ADD_KEYPTR(hh, p->wishes, wish->key, len, wish);
    }
    controller_submitter_unref(wish->submitter);
    wish->submitter = submitter;
    wish->look = p->look;
    submitter->refs++;
}

void controller_progress_submitted(struct controller *c, const struct control_alter *alter,
                                   const struct control_reply *reply)
{
    if (slice_is_null(alter->submitted_by)) {
        return;
    }
    struct controller_submitter *submitter =
        controller_submitter_new(alter->submitted_by, alter->client_id);
    for (int32_t i = 0; i < alter->count && i < reply->count; i++) {
        if (reply->results[i].error == KERR_NONE && !alter->entries[i].is_cancel) {
            wish_add(c->progress, &alter->entries[i], submitter);
        }
    }
    controller_submitter_unref(submitter);
}

/* Whoever asked last. */
static void submitter_take(struct controller_progress *p, struct progress_move *m)
{
    struct progress_wish *wish = NULL;
    if (p->wishes != NULL) {
        HASH_FIND(hh, p->wishes, m->key, strlen(m->key), wish);
    }
    if (wish != NULL) {
        controller_submitter_unref(m->start.submitter);
        m->start.submitter = wish->submitter;
        wish->submitter = NULL;
        wish_free(p, wish);
        controller_starts_touch(&m->start);
    }
}

/* ---- moves ---- */

static struct progress_move *move_add(struct controller_progress *p,
                                      const struct control_moving *moving)
{
    struct controller *c = p->c;
    struct progress_move *m = xalloc(sizeof *m);
    m->key = xasprintf("%.*s-%d", SLICE_ARG(moving->topic), moving->partition);
    m->partition = moving->partition;
    moves_progress_init(&m->progress);
    m->start.started_ms = env_wall_ms(c->env) - (env_now_ms(c->env) - moving->started_ms);
    m->born_ms = moving->started_ms;
    moves_progress_set(&m->progress, &moving->adding, moving->leader);
    m->start.progress = &m->progress;
    controller_starts_add(c, &m->start, moving);
    m->seen = p->look;
    list_push_back(&p->moves_by_look, &m->by_look);
    HASH_ADD_KEYPTR(hh, p->moves, m->key, strlen(m->key), m);
    return m;
}

static void move_free(struct controller_progress *p, struct progress_move *m)
{
    HASH_DEL(p->moves, m);
    list_remove(&p->moves_by_look, &m->by_look);
    controller_starts_remove(&m->start);
    controller_submitter_unref(m->start.submitter);
    moves_progress_deinit(&m->progress);
    free(m->key);
    free(m);
}

static int64_t down_since(void *arg, int32_t broker)
{
    return controller_log_dirs_down_since(arg, broker);
}

/* The move with what the core knows of it now. */
static struct progress_move *move_take(struct controller_progress *p,
                                       const struct control_moving *moving)
{
    struct controller *c = p->c;
    struct progress_move *m = move_find(p, moving->topic, moving->partition);
    if (m != NULL && m->born_ms != moving->started_ms) {
        move_free(p, m);
        m = NULL;
    }
    if (m == NULL) {
        m = move_add(p, moving);
    }
    submitter_take(p, m);
    struct moves_view view = {0};
    struct moves *queue = controller_moves_core(c);
    if (queue != NULL) {
        (void)moves_find_running(queue, moving->topic, moving->partition, &view);
    }
    ids_minus(&p->target, &moving->replicas, &moving->removing);
    struct moves_facts facts = {.now_ms = env_now_ms(c->env),
                                .wall_ms = env_wall_ms(c->env),
                                .isr = &moving->isr,
                                .offline = &moving->offline,
                                .target = &p->target,
                                .has_leader = moving->has_leader,
                                .is_stopping = moving->is_stopping,
                                .min_insync = moving->min_insync,
                                .is_paused = view.state != MOVES_RUNNING && view.job != NULL,
                                .limit_rate = view.job == NULL ? -1 : view.job->rate,
                                .down_since = down_since,
                                .arg = c};
    moves_progress_set(&m->progress, &moving->adding, moving->leader);
    uint32_t changes_before = m->progress.changes;
    moves_progress_step(&m->progress, &facts);
    if (m->progress.changes != changes_before) {
        controller_starts_touch(&m->start);
    }
    controller_starts_look(c, &m->start);
    if (queue != NULL) {
        moves_set_copied(queue, moving->topic, moving->partition, m->progress.to_copy,
                         m->progress.copied);
    }
    return m;
}

const struct controller_start *controller_progress_of(struct controller *c,
                                                      const struct control_moving *moving)
{
    return &move_take(c->progress, moving)->start;
}

void controller_progress_heard(struct controller *c, int32_t broker, struct slice topic,
                               int32_t partition, const struct moves_log *log)
{
    struct progress_move *m = move_find(c->progress, topic, partition);
    controller_sizes_heard(c, broker, topic, partition, log->size);
    if (m != NULL) {
        moves_progress_heard(&m->progress, broker, log, env_now_ms(c->env));
    }
}

const struct moves_progress *controller_progress_find(const struct controller *c,
                                                      struct slice topic, int32_t partition)
{
    const struct progress_move *m = move_find(c->progress, topic, partition);
    return m == NULL ? NULL : &m->progress;
}

/* ---- figures ---- */

static void figures_fill(const struct controller *c, const struct progress_move *m,
                         struct controller_move_figures *ret)
{
    const struct moves_progress *progress = &m->progress;
    const struct moves_wait *wait = &progress->wait;
    int64_t wall_ms = env_wall_ms(c->env);
    const char *dash = strrchr(m->key, '-'); /* a topic's name may have more of them */
    *ret = (struct controller_move_figures){
        .partition = m->partition,
        .age_ms = MAX(wall_ms - m->start.started_ms, 0),
        .to_copy = progress->to_copy,
        .copied = progress->copied,
        .rate = progress->rate,
        .eta_ms = progress->eta_ms,
        .reason = wait->reason,
        .reason_age_ms = wait->since_ms == 0 ? 0 : MAX(wall_ms - wait->since_ms, 0),
        .replica_count = MIN(progress->replica_count, CONTROLLER_FIGURES_REPLICAS_MAX),
    };
    memcpy(ret->topic, m->key, (size_t)(dash - m->key));
    for (int32_t i = 0; i < ret->replica_count; i++) {
        const struct moves_replica *r = &progress->replicas[i];
        ret->replicas[i].broker = r->broker;
        ret->replicas[i].state = r->state;
        ret->replicas[i].lag_bytes = r->lag_bytes;
    }
}

void controller_progress_figures(const struct controller *c, struct controller_figures *ret)
{
    const struct controller_progress *p = c->progress;
    int32_t count = MIN((int32_t)HASH_COUNT(p->moves), CONTROLLER_FIGURES_MOVES_MAX);
    ret->moves = xalloc((size_t)MAX(count, 1) * sizeof *ret->moves);
    for (const struct progress_move *m = p->moves; m != NULL; m = m->hh.next) {
        ret->by_reason[m->progress.wait.reason]++;
        if (ret->move_count < count) {
            figures_fill(c, m, &ret->moves[ret->move_count++]);
        }
    }
}

/* ---- looking ---- */

/* Of those that stay only who is not in sync. */
static void sizes_want(struct controller *c, const struct control_moving *moving)
{
    if (moving->leader >= 0) {
        controller_log_dirs_want(c, moving->leader, moving->topic, moving->partition);
    }
    for (int32_t i = 0; i < moving->replicas.count; i++) {
        int32_t broker = moving->replicas.list[i];
        bool is_behind = !ids_has(&moving->isr, broker) && !ids_has(&moving->removing, broker);
        if (broker != moving->leader && (is_behind || ids_has(&moving->adding, broker))) {
            controller_log_dirs_want(c, broker, moving->topic, moving->partition);
        }
    }
}

static void seen(struct controller_progress *p, struct progress_move *m)
{
    m->seen = p->look;
    list_remove(&p->moves_by_look, &m->by_look);
    list_push_back(&p->moves_by_look, &m->by_look);
}

/* Forgets moves that the last look has not seen, and stores what changed. */
static void tidy(void *arg)
{
    struct controller_progress *p = arg;
    int32_t left = TIDY_MOVES;
    struct list_node *n = NULL;
    while (left > 0 && (n = list_first(&p->moves_by_look)) != NULL) {
        struct progress_move *m = CONTAINER_OF(n, struct progress_move, by_look);
        if (m->seen == p->look) {
            break;
        }
        move_free(p, m);
        left--;
    }
    if (left == 0 || controller_starts_flush(p->c, TIDY_MOVES)) {
        env_timer_start(&p->tidy_timer, 0);
    }
}

/* Runs inside the core's step: nothing here may step it. */
static void looked(void *arg, const struct control_reply *reply)
{
    struct controller_progress *p = arg;
    p->is_looking = reply->has_more;
    if (reply->error != KERR_NONE) {
        return;
    }
    for (int32_t i = 0; i < reply->count; i++) {
        seen(p, move_take(p, &reply->moving[i]));
        sizes_want(p->c, &reply->moving[i]);
    }
    if (!reply->has_more) {
        wishes_free(p, p->look); /* of moves that are over already */
        controller_log_dirs_ask(p->c);
        tidy(p);
    }
    if (reply->count > 0 && controller_moves_core(p->c) != NULL) {
        /* What was copied may be worth storing. */
        controller_moves_step(p->c, &(struct moves_event){.kind = MOVES_ON_TICK});
    }
}

static void look(void *arg)
{
    struct controller_progress *p = arg;
    env_timer_stop(&p->tidy_timer); /* it goes on with what this look finds */
    p->is_looking = true;
    p->look++;
    p->request =
        (struct control_request){.kind = CONTROL_LIST_REASSIGNMENTS, .list = {.wants_all = true}};
    controller_request(p->c, &p->request, looked, p);
}

void controller_progress_arm(struct controller *c)
{
    struct controller_progress *p = c->progress;
    bool is_idle = !control_has_moves(c->core) && p->moves == NULL && p->wishes == NULL &&
                   controller_starts_is_settled(c);
    if (c->role == ROLE_ACTIVE && !is_idle && !p->is_looking && !env_timer_is_active(&p->timer)) {
        env_timer_start(&p->timer, LOOK_MS);
    }
}

/* ---- life ---- */

void controller_progress_new(struct controller *c)
{
    struct controller_progress *p = xalloc(sizeof *p);
    p->c = c;
    list_init(&p->moves_by_look);
    env_timer_init(&p->timer, c->env, look, p);
    env_timer_init(&p->tidy_timer, c->env, tidy, p);
    c->progress = p;
}

void controller_progress_reset(struct controller *c)
{
    struct controller_progress *p = c->progress;
    struct progress_move *m = NULL;
    struct progress_move *next = NULL;
    env_timer_stop(&p->timer);
    env_timer_stop(&p->tidy_timer);
    HASH_ITER(hh, p->moves, m, next)
    {
        move_free(p, m);
    }
    wishes_free(p, UINT64_MAX);
    controller_log_dirs_free(c);
    controller_starts_reset(c);
}

void controller_progress_free(struct controller *c)
{
    controller_progress_reset(c);
    ids_deinit(&c->progress->target);
    free(c->progress);
    c->progress = NULL;
}
