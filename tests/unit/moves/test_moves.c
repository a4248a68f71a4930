/*
 * The queue as a whole: random sequences of submissions, stock alters, overrides, pauses, cancels, undos,
 * broker deaths and crashes of the controller, with answers in random order. Caps hold after every step, what
 * comes one at a time does, nothing that fits waits, everything comes to an end, and what is cancelled is where
 * it was before the first move. And size.
 */
#include "world.h"

#define PARTITIONS 12
#define ROUNDS     300
#define SEEDS      150

/* What an exact undo has to lead to. */
struct history {
    struct ids settled; /* the list at rest, as of the last move that reached what was asked for */
    struct ids targets[64];
    int32_t target_count;
};

struct play {
    struct world w;
    struct moves_limits limits;
    struct history history[PARTITIONS];
    bool is_loose
        [PARTITIONS]; /* a target of its move was down: it gave its slots back, and takes them unasked */
    uint64_t seed;
    int round;
};

static void play_fail(const struct play *s, const char *what, int32_t partition)
{
    fail_msg("seed %llu: partition %d: %s", (unsigned long long)s->seed, partition, what);
}

/* ---- invariants ---- */

static bool has_dead_target(const struct play *s, const struct world_partition *p)
{
    bool has = false;
    for (int32_t i = 0; i < p->a.adding.count; i++) {
        has = has || !s->w.is_live[p->a.adding.list[i]];
    }
    return has;
}

static void check_caps(struct play *s)
{
    int32_t in[WORLD_BROKERS + 1] = {0};
    int32_t out[WORLD_BROKERS + 1] = {0};
    int64_t bytes = 0;
    int32_t count = 0;
    int32_t copying = 0;
    for (int32_t i = 0; i < PARTITIONS; i++) {
        const struct world_partition *p = &s->w.partitions[i];
        s->is_loose[i] =
            assignment_is_reassigning(&p->a) && (s->is_loose[i] || has_dead_target(s, p));
        if (!assignment_is_reassigning(&p->a) || p->is_stopped || s->is_loose[i]) {
            continue;
        }
        count++;
        for (int32_t j = 0; j < p->a.adding.count; j++) {
            in[p->a.adding.list[j]]++;
        }
        out[world_leader(p)] += p->a.adding.count > 0;
        bytes += p->bytes * p->a.adding.count;
        copying += p->bytes * p->a.adding.count > 0;
    }
    for (int32_t b = 1; b <= WORLD_BROKERS; b++) {
        if (in[b] > s->limits.in_per_broker || out[b] > s->limits.out_per_broker) {
            play_fail(s, "more moves at a broker than allowed", b);
        }
    }
    if (count > s->limits.per_cluster || (bytes > s->limits.bytes_in_flight && copying > 1)) {
        play_fail(s, "more moves or bytes than allowed", -1);
    }
}

/* What a move of the partition to `list` would take on top of the others fits into every limit. Sizes count
 * double: moves of about one size wait in one place, the first of them for all. */
static bool would_fit(const struct play *s, int32_t partition, const struct ids *list)
{
    int32_t in[WORLD_BROKERS + 1] = {0};
    int32_t out[WORLD_BROKERS + 1] = {0};
    int64_t bytes = 0;
    int32_t count = 0;
    const struct world_partition *me = &s->w.partitions[partition];
    for (int32_t i = 0; i < PARTITIONS; i++) {
        const struct world_partition *p = &s->w.partitions[i];
        if (i == partition || !assignment_is_reassigning(&p->a) || p->is_stopped ||
            has_dead_target(s, p)) {
            continue;
        }
        count++;
        bytes += p->bytes * p->a.adding.count;
        out[world_leader(p)] += p->a.adding.count > 0;
        for (int32_t j = 0; j < p->a.adding.count; j++) {
            in[p->a.adding.list[j]]++;
        }
    }
    int32_t gained = 0;
    bool fits = count < s->limits.per_cluster;
    struct ids origin = {0};
    assignment_origin(&me->a, &origin);
    for (int32_t j = 0; j < list->count; j++) {
        int32_t id = list->list[j];
        if (!ids_has(&origin, id)) {
            gained++;
            fits = fits && in[id] < s->limits.in_per_broker && s->w.is_live[id];
        }
    }
    ids_deinit(&origin);
    bool fits_bytes = me->bytes * gained == 0 || bytes == 0 ||
                      bytes + 2 * me->bytes * gained <= s->limits.bytes_in_flight;
    return fits && fits_bytes && (gained == 0 || out[world_leader(me)] < s->limits.out_per_broker);
}

static bool is_quiet(const struct world *w)
{
    return w->alter_count == 0 && w->write_count == 0 && !w->out.has_more &&
           list_is_empty(&w->m->requests);
}

/* When nothing is under way, nothing that fits waits: but for what was refused a moment ago, and while
 * something is kept for one that was passed too often. */
static void check_nothing_waits_idly(struct play *s)
{
    struct moves *m = s->w.m;
    if (!is_quiet(&s->w) || m->reservation != NULL) {
        return;
    }
    for (int32_t i = 0; i < PARTITIONS; i++) {
        const struct queue_place *p = moves_place_find(m, slice_str(WORLD_TOPIC), i);
        const struct queue_move *v = p == NULL ? NULL : p->waiting;
        if (v == NULL || v->park == &m->retry || (v->marks & MODEL_JOB_PAUSED) != 0 ||
            p->running != NULL || p->is_moving) {
            continue; /* what overrides is looked at when the other changes */
        }
        struct ids step = {0};
        moves_step_of(v, &s->w.partitions[i].a, &step);
        bool is_idle = would_fit(s, i, &step);
        ids_deinit(&step);
        if (is_idle) {
            play_fail(s, "it fits, and waits", i);
        }
    }
}

/* One replica of a partition at a time. */
static void check_steps(struct play *s)
{
    for (int32_t i = 0; i < PARTITIONS; i++) {
        const struct queue_place *p = moves_place_find(s->w.m, slice_str(WORLD_TOPIC), i);
        const struct assignment *a = &s->w.partitions[i].a;
        struct ids target = {0};
        assignment_target(a, &target);
        bool is_step = p != NULL && p->running != NULL && p->running->job->node.is_one_at_a_time &&
                       ids_equal(&p->running->step, &target);
        if (is_step && a->adding.count > 1) {
            play_fail(s, "replicas that come one at a time come together", i);
        }
        ids_deinit(&target);
    }
}

static void check_all(struct play *s)
{
    check_caps(s);
    check_steps(s);
    check_nothing_waits_idly(s);
}

/* ---- what happens ---- */

static void draw_list(struct prng *prng, int32_t ret[4], int32_t *ret_count)
{
    *ret_count = (int32_t)prng_range(prng, 2, 4);
    for (int32_t i = 0; i < *ret_count;) {
        ret[i] = (int32_t)prng_range(prng, 1, WORLD_BROKERS);
        bool is_new = true;
        for (int32_t j = 0; j < i; j++) {
            is_new = is_new && ret[j] != ret[i];
        }
        i += is_new;
    }
}

static void play_submit(struct play *s, enum moves_action action)
{
    struct moves_entry entries[PARTITIONS];
    int32_t lists[PARTITIONS][4];
    int32_t count = 0;
    struct prng *prng = &s->w.prng;
    for (int32_t i = 0; i < PARTITIONS; i++) {
        if (!prng_chance(prng, 1, 3)) {
            continue;
        }
        int32_t size = 0;
        draw_list(prng, lists[count], &size);
        entries[count] = world_entry(i, lists[count], size);
        struct history *h = &s->history[i];
        if (action == MOVES_ACTION_ALTER && prng_chance(prng, 1, 4)) {
            entries[count].is_cancel = true;
        } else if (h->target_count < 64) {
            ids_set(&h->targets[h->target_count++], lists[count], size);
        } else {
            continue;
        }
        count++;
    }
    struct moves_request r = world_request(action);
    r.entries = entries;
    r.count = count;
    r.priority = (int8_t)prng_range(prng, 0, 2);
    r.rate = prng_chance(prng, 1, 3) ? 1000 : MOVES_RATE_KEEP;
    r.is_one_at_a_time = prng_chance(prng, 1, 3);
    r.is_validate_only = prng_chance(prng, 1, 20);
    world_ask(&s->w, &r);
}

static void play_select(struct play *s, enum moves_action action)
{
    struct moves_request r = world_request(action);
    struct moves_entry entries[2];
    char name[80];
    int32_t broker = (int32_t)prng_range(&s->w.prng, 1, WORLD_BROKERS);
    switch (prng_below(&s->w.prng, 4)) {
    case 0:
        entries[0] = world_entry((int32_t)prng_below(&s->w.prng, PARTITIONS), NULL, 0);
        entries[1] = world_entry((int32_t)prng_below(&s->w.prng, PARTITIONS), NULL, 0);
        r.entries = entries;
        r.count = entries[0].partition == entries[1].partition ? 1 : 2;
        break;
    case 1:
        r.brokers = &broker;
        r.broker_count = 1;
        break;
    case 2:
        (void)snprintf(name, sizeof name, "job-%d", (int)prng_range(&s->w.prng, 1, 20));
        r.job = slice_str(name);
        break;
    default:
        break; /* everything */
    }
    if (action == MOVES_ACTION_SETTINGS) {
        (void)snprintf(name, sizeof name, "job-%d", (int)prng_range(&s->w.prng, 1, 20));
        r.job = slice_str(name);
        r.count = r.broker_count = 0;
        r.priority = (int8_t)prng_range(&s->w.prng, -1, 2);
        r.rate = prng_chance(&s->w.prng, 1, 2) ? 500 : MOVES_RATE_REMOVE;
    }
    world_ask(&s->w, &r);
}

static bool is_target_of(const struct queue_move *v, const struct ids *list)
{
    return v != NULL && (v->marks & MODEL_JOB_RETURNING) == 0 && ids_equal(&v->target, list);
}

/* What a move reached that somebody asked for is where a later undo has to lead; a step on the way is not.
 * The queue knows which it was; when it has just died, what was asked for so far has to do. */
static void play_ended(struct world *w, int32_t partition)
{
    struct play *s = CONTAINER_OF(w, struct play, w);
    struct history *h = &s->history[partition];
    const struct ids *list = &w->partitions[partition].a.replicas;
    bool is_wanted = false;
    if (w->m != NULL) {
        const struct queue_place *p = moves_place_find(w->m, slice_str(WORLD_TOPIC), partition);
        is_wanted = p != NULL && (is_target_of(p->running, list) || is_target_of(p->waiting, list));
    }
    for (int32_t t = 0; w->m == NULL && t < h->target_count; t++) {
        is_wanted = is_wanted || ids_equal(list, &h->targets[t]);
    }
    if (is_wanted) {
        ids_copy(&h->settled, list);
    }
}

/* Asked for a list that a partition already had, on the way elsewhere: it is where it was wanted. Looked at
 * after each step, since the next request may send it on at once. */
static void play_reached(struct world *w)
{
    struct play *s = CONTAINER_OF(w, struct play, w);
    for (int32_t i = 0; w->m->is_loaded && i < PARTITIONS; i++) {
        struct history *h = &s->history[i];
        const struct ids *list = &s->w.partitions[i].a.replicas;
        const struct queue_place *p = moves_place_find(s->w.m, slice_str(WORLD_TOPIC), i);
        if (world_is_moving(&s->w, i) ||
            (p != NULL && (p->running != NULL || p->waiting != NULL))) {
            continue;
        }
        for (int32_t t = 0; t < h->target_count; t++) {
            if (ids_equal(list, &h->targets[t])) {
                ids_copy(&h->settled, list);
            }
        }
    }
}

static void play_end_a_move(struct play *s)
{
    int32_t i = (int32_t)prng_below(&s->w.prng, PARTITIONS);
    struct world_partition *p = &s->w.partitions[i];
    if (!assignment_is_reassigning(&p->a) || p->is_stopped) {
        return;
    }
    world_move_end(&s->w, i);
}

static void play_answer(struct play *s)
{
    if (s->w.alter_count > 0 && prng_chance(&s->w.prng, 1, 2)) {
        world_alter_answer(&s->w);
    } else if (s->w.write_count > 0) {
        world_write_answer(&s->w);
    } else {
        s->w.now_ms += (int64_t)prng_below(&s->w.prng, 3000);
        world_tick(&s->w);
    }
}

static void play_once(struct play *s)
{
    struct world *w = &s->w;
    int64_t dice = (int64_t)prng_below(&w->prng, 100);
    if (dice < 4) {
        play_submit(s, MOVES_ACTION_SUBMIT);
    } else if (dice < 6) {
        play_submit(s, MOVES_ACTION_ALTER);
    } else if (dice < 8) {
        play_select(s, MOVES_ACTION_CANCEL);
    } else if (dice < 10) {
        play_select(s, MOVES_ACTION_PAUSE);
    } else if (dice < 13) {
        play_select(s, MOVES_ACTION_RESUME);
    } else if (dice < 14) {
        play_select(s, MOVES_ACTION_SETTINGS);
    } else if (dice < 16) {
        int32_t broker = (int32_t)prng_range(&w->prng, 1, WORLD_BROKERS);
        world_broker_set(w, broker, !w->is_live[broker]);
    } else if (dice < 18) {
        world_crash(w, s->limits);
    } else if (dice < 30) {
        play_end_a_move(s);
    } else {
        play_answer(s);
    }
}

/* ---- the end: everything is cancelled, and every partition is where it was ---- */

static void play_out(struct play *s)
{
    for (int32_t b = 1; b <= WORLD_BROKERS; b++) {
        world_broker_set(&s->w, b, true);
    }
    for (int32_t round = 0; round < 3000; round++) {
        bool is_moving = false;
        world_pass(&s->w, 1000);
        check_all(s);
        for (int32_t i = 0; i < PARTITIONS; i++) {
            if (world_is_moving(&s->w, i) && !s->w.partitions[i].is_stopped) {
                world_move_end(&s->w, i);
                world_settle(&s->w);
                check_all(s);
            }
        }
        for (int32_t i = 0; i < PARTITIONS; i++) {
            is_moving = is_moving || world_is_moving(&s->w, i);
        }
        if (!is_moving && moves_queued_count(s->w.m) == 0) {
            return;
        }
    }
    play_fail(s, "the moves do not come to an end", -1);
}

static void check_undone(struct play *s)
{
    struct moves_request r = world_request(MOVES_ACTION_CANCEL);
    world_settle(&s->w);
    world_ask(&s->w, &r);
    world_settle(&s->w);
    assert_int_equal(s->w.error, 0);
    play_out(s);
    for (int32_t i = 0; i < PARTITIONS; i++) {
        if (!ids_equal(&s->w.partitions[i].a.replicas, &s->history[i].settled)) {
            play_fail(s, "a cancel did not lead to the list from before the first move", i);
        }
    }
    assert_int_equal(s->w.m->holding, 0);
    assert_int_equal(s->w.m->bytes_used, 0);
    assert_int_equal(s->w.m->jobs.count, 0);
    assert_null(s->w.m->topics);
}

static void play_init(struct play *s, uint64_t seed)
{
    struct prng prng;
    prng_init(&prng, seed);
    *s = (struct play){.seed = seed};
    s->limits = (struct moves_limits){.in_per_broker = (int32_t)prng_range(&prng, 1, 3),
                                      .out_per_broker = (int32_t)prng_range(&prng, 1, 3),
                                      .per_cluster = (int32_t)prng_range(&prng, 1, 8),
                                      .bytes_in_flight = prng_range(&prng, 100, 3000)};
    world_init(&s->w, PARTITIONS, s->limits);
    s->w.prng = prng;
    s->w.on_end = play_ended;
    s->w.on_step = play_reached;
    for (int32_t i = 0; i < PARTITIONS; i++) {
        s->w.partitions[i].bytes = (int64_t)prng_below(&s->w.prng, 1000);
        ids_copy(&s->history[i].settled, &s->w.partitions[i].a.replicas);
    }
}

static void play_deinit(struct play *s)
{
    for (int32_t i = 0; i < PARTITIONS; i++) {
        ids_deinit(&s->history[i].settled);
        for (int32_t t = 0; t < 64; t++) {
            ids_deinit(&s->history[i].targets[t]);
        }
    }
    world_deinit(&s->w);
}

static void whatever_happens_caps_hold_and_undo_is_exact(void **state)
{
    (void)state;
    const char *range = getenv("MOVES_SEEDS"); /* "A" or "A..B" */
    char *end = NULL;
    uint64_t first = range == NULL ? 1 : strtoull(range, &end, 10);
    uint64_t last = range == NULL ? SEEDS : *end == '.' ? strtoull(end + 2, NULL, 10) : first;
    for (uint64_t seed = first; seed <= last; seed++) {
        struct play s;
        play_init(&s, seed);
        for (int32_t i = 0; i < ROUNDS; i++) {
            s.round = i;
            play_once(&s);
            check_all(&s);
        }
        check_undone(&s);
        play_deinit(&s);
    }
}

/* A new controller's queue holds what the old one held. */
struct count {
    int32_t queued;
    int32_t jobs;
};

static void count_queued(void *arg, const struct moves_view *view)
{
    struct count *c = arg;
    c->queued += view->state == MOVES_QUEUED;
}

static void count_jobs(void *arg, const struct moves_job_view *view)
{
    struct count *c = arg;
    (void)view;
    c->jobs++;
}

/* 50,000 partitions: every step looks at a bounded number of them, the memory of a step is small, all are
 * run, and a failover in the middle loses none. */
static void fifty_thousand_partitions_are_queued_and_run(void **state)
{
    (void)state;
    enum {
        COUNT = 50000
    };
    struct world w;
    world_init(&w, COUNT, (struct moves_limits){20, 20, MOVES_OFF, MOVES_OFF});
    world_submit(&w, 0, COUNT - 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_int_equal(w.error, 0);
    assert_int_equal(w.result_count, COUNT);
    assert_int_equal(world_moving_count(&w), 20);
    assert_true(w.out.arena.used < (size_t)64 << 20);
    struct count c = {0};
    moves_each_queued(w.m, count_queued, &c);
    moves_each_job(w.m, count_jobs, &c);
    assert_int_equal(c.queued, COUNT - 20);
    assert_int_equal(c.jobs, 1);
    world_crash(&w, (struct moves_limits){2000, 2000, MOVES_OFF, MOVES_OFF});
    world_settle(&w);
    assert_int_equal(world_moving_count(&w), 2000);
    int32_t done = 0;
    while (done < COUNT) {
        int32_t before = done;
        for (int32_t i = 0; i < COUNT; i++) {
            if (world_is_moving(&w, i)) {
                world_move_end(&w, i);
                done++;
            }
        }
        world_pass(&w, 1000);
        assert_true(done > before);
    }
    for (int32_t i = 0; w.m->jobs.count > 0 && i < 100; i++) {
        world_pass(&w, 1000); /* what ended is stored a few pieces at a time */
    }
    assert_int_equal(moves_queued_count(w.m), 0);
    assert_int_equal(w.m->jobs.count, 0);
    assert_int_equal(w.m->holding, 0);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_happens_caps_hold_and_undo_is_exact),
        cmocka_unit_test(fifty_thousand_partitions_are_queued_and_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
