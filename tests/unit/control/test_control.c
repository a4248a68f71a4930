/*
 * Random sequences of moves, overrides, cancels, deaths, returns, ISR changes, conflicting writes and
 * failovers against the whole core. After every write: one leader an epoch, leaders only from the ISR,
 * ISR growth only by leaders, the original list kept exactly. After healing: everything comes to rest,
 * complete. A failing seed is printed.
 */
#include "unit/control/harness.h"

#define PARTITIONS 4
#define BROKERS    6
#define STEPS      400
#define SEEDS      300
#define WISHES_MAX 64

struct chaos {
    struct world w;
    struct prng prng;
    uint64_t seed;
    struct ids origin[PARTITIONS];             /* the list before the first move */
    struct ids wishes[PARTITIONS][WISHES_MAX]; /* lists that were asked for */
    int32_t wish_count[PARTITIONS];
    bool was_bad[BROKERS + 1]; /* its directory failed at some time: it may leave any ISR */
};

#define check(c, condition)                                                                        \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("seed %llu: %s", (unsigned long long)(c)->seed, #condition);                  \
        }                                                                                          \
    } while (0)

static void state_written(struct world *w, struct world_topic *t, int32_t partition,
                          const struct model_partition_state *before)
{
    struct chaos *k = w->arg;
    const struct model_partition_state *s = &t->partitions[partition].state;
    if (before == NULL) {
        return;
    }
    check(k, s->isr.count > 0);
    check(k, !ids_has_duplicate(&s->isr));
    check(k, s->leader_epoch >= before->leader_epoch);
    check(k, s->leader_epoch <= before->leader_epoch + 1);
    if (s->leader_epoch == before->leader_epoch) {
        check(k, s->leader == before->leader);
    } else {
        check(k, ids_subset(&s->isr, &before->isr));
        check(k, s->leader == -1 || ids_has(&before->isr, s->leader));
    }
    check(k, s->leader == -1 || ids_has(&s->isr, s->leader));
    /* Who is in sync and fine is only dropped when the leader took the epoch before. */
    bool is_move = before->leader >= 0 && s->leader_epoch > before->leader_epoch &&
                   s->controller_epoch == before->controller_epoch;
    for (int32_t i = 0; is_move && i < before->isr.count; i++) {
        int32_t id = before->isr.list[i];
        const struct core_broker *b = control_broker_find(w->core, id);
        if (!ids_has(&s->isr, id) && w->is_registered[id] && !w->is_mute[id] && b != NULL &&
            b->is_alive && !b->is_shutting_down && !k->was_bad[id]) {
            check(k, s->leader >= 0);
            check(k, t->partitions[partition].told[s->leader].state.leader_epoch >=
                         before->leader_epoch);
        }
    }
}

static bool is_wish(const struct chaos *k, int32_t partition, const struct ids *list)
{
    for (int32_t i = 0; i < k->wish_count[partition]; i++) {
        if (ids_equal(&k->wishes[partition][i], list)) {
            return true;
        }
    }
    return false;
}

static void node_changes(struct world *w, struct world_topic *t, const struct model_topic *next)
{
    struct chaos *k = w->arg;
    check(k, uuid_equal(next->id, t->node.id));
    for (int32_t i = 0; i < t->node.partition_count; i++) {
        const struct assignment *a = &t->node.partitions[i];
        const struct assignment *b = &next->partitions[i];
        struct ids target = {0};
        assignment_target(a, &target);
        if (!assignment_is_reassigning(a)) {
            ids_copy(&k->origin[i], &a->replicas);
        }
        if (assignment_is_reassigning(b)) {
            check(k, ids_equal(&b->original, &k->origin[i]));
        } else {
            check(k, b->original.count == 0);
            check(k, ids_equal(&b->replicas, &target) || ids_equal(&b->replicas, &k->origin[i]) ||
                         is_wish(k, i, &b->replicas));
        }
        ids_deinit(&target);
    }
}

/* The figures are kept as things change: they say what a count would. */
static void figures_check(struct chaos *k)
{
    const struct control *c = k->w.core;
    struct control_figures figures;
    struct control_figures counted = {0};
    control_figures(c, &figures);
    struct list_node *n = NULL;
    list_foreach (n, &c->topic_list) {
        const struct core_topic *t = CONTAINER_OF(n, struct core_topic, link);
        counted.topics++;
        counted.partitions += t->partition_count;
        for (int32_t i = 0; t->deletion == DELETION_NONE && i < t->partition_count; i++) {
            const struct core_partition *p = t->partitions[i];
            counted.leaderless += p->has_state && p->state.leader < 0;
            counted.unpreferred +=
                p->has_state && p->state.leader != control_partition_replicas(p)->list[0];
        }
    }
    check(k, figures.topics == counted.topics);
    check(k, figures.partitions == counted.partitions);
    check(k, figures.leaderless == counted.leaderless);
    check(k, figures.unpreferred == counted.unpreferred);
    check(k, figures.moves >= control_moving_count(c));
    check(k, figures.queued == 0);
}

/* At rest: nobody waits for a leader that could be had. */
static void rest_check(struct chaos *k)
{
    struct world *w = &k->w;
    struct world_topic *t = world_topic(w, "t");
    check(k, control_writes_pending(w->core) == 0);
    figures_check(k);
    for (int32_t i = 0; i < t->node.partition_count; i++) {
        const struct core_partition *p = control_partition_find(w->core, slice_str("t"), i);
        const struct model_partition_state *s = &t->partitions[i].state;
        check(k, p != NULL && p->has_state);
        if (p->state.version != s->version) {
            continue; /* do_conflict wrote, and nothing made the core look */
        }
        check(k, model_partition_state_equal(&p->state, s));
        check(k, assignment_equal(&p->stored, &t->node.partitions[i]));
        bool is_led = s->leader >= 0 && control_replica_is_alive(w->core, p, s->leader);
        int32_t candidate = control_elect_first(w->core, p, control_partition_replicas(p));
        /* The last one has to show that it lives. */
        check(k, is_led || candidate < 0 || w->is_mute[candidate]);
    }
}

/* ---- what happens ---- */

static int32_t draw(struct chaos *k, int32_t bound)
{
    return (int32_t)prng_below(&k->prng, (uint64_t)bound);
}

static void do_alter(struct chaos *k, bool is_cancel)
{
    int32_t partition = draw(k, PARTITIONS);
    int32_t list[BROKERS];
    int32_t count = 0;
    int32_t wanted = 1 + draw(k, 3);
    while (count < wanted) {
        int32_t id = 1 + draw(k, BROKERS);
        bool has = false;
        for (int32_t i = 0; i < count; i++) {
            has |= list[i] == id;
        }
        if (!has) {
            list[count++] = id;
        }
    }
    struct control_alter_entry entry = {.topic = slice_str("t"),
                                        .partition = partition,
                                        .is_cancel = is_cancel,
                                        .replicas = list,
                                        .replica_count = count};
    if (!is_cancel && k->wish_count[partition] < WISHES_MAX) {
        ids_set(&k->wishes[partition][k->wish_count[partition]++], list, count);
    } else if (!is_cancel) {
        return;
    }
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    world_request(&k->w, &request);
}

/* The broker that believes to lead proposes: with add, all replicas it was told and that are alive;
 * else one member less. */
static void do_isr(struct chaos *k, int32_t partition, bool is_add)
{
    struct world *w = &k->w;
    struct world_topic *t = world_topic(w, "t");
    for (int32_t id = 1; id <= BROKERS; id++) {
        const struct world_told *told = &t->partitions[partition].told[id];
        if (!told->is_known || told->state.leader != id || !w->is_registered[id] ||
            w->is_mute[id]) {
            continue;
        }
        const struct model_partition_state *s = &t->partitions[partition].state;
        bool is_current = told->state.leader_epoch == s->leader_epoch;
        struct ids isr = {0};
        ids_copy(&isr, is_current ? &s->isr : &told->state.isr);
        for (int32_t i = 0; is_add && i < told->replicas.count; i++) {
            int32_t replica = told->replicas.list[i];
            if (!ids_has(&isr, replica) && w->is_registered[replica] && !w->is_mute[replica]) {
                ids_add(&isr, replica);
            }
        }
        if (!is_add && isr.count > 1) {
            int32_t victim = isr.list[draw(k, isr.count)];
            if (victim != id) {
                ids_remove(&isr, victim);
            }
        }
        struct control_isr_entry entry = {.topic_id = t->node.id,
                                          .partition = partition,
                                          .leader_epoch = told->state.leader_epoch,
                                          .partition_epoch =
                                              is_current ? s->version : told->state.version,
                                          .isr = isr.list,
                                          .isr_count = isr.count};
        struct control_request request = {.kind = CONTROL_ALTER_PARTITION,
                                          .alter_partition = {.broker = id,
                                                              .broker_epoch = w->brokers[id].epoch,
                                                              .knows_ineligible = true,
                                                              .entries = &entry,
                                                              .count = 1}};
        world_request(w, &request);
        ids_deinit(&isr);
    }
}

/* An old leader writes the state by itself, as before inter.broker.protocol.version 2.7. */
static void do_conflict(struct chaos *k)
{
    struct world_topic *t = world_topic(&k->w, "t");
    struct world_partition *p = &t->partitions[draw(k, PARTITIONS)];
    if (p->has_state && p->state.leader >= 0 && p->state.isr.count > 1) {
        int32_t victim = p->state.isr.list[draw(k, p->state.isr.count)];
        if (victim != p->state.leader) {
            ids_remove(&p->state.isr, victim);
        }
        p->state.version++;
        p->mzxid = ++k->w.zxid;
    }
}

static void do_broker(struct chaos *k)
{
    struct world *w = &k->w;
    int32_t id = 1 + draw(k, BROKERS);
    int32_t up = 0;
    for (int32_t i = 1; i <= BROKERS; i++) {
        up += w->is_registered[i];
    }
    if (!w->is_registered[id]) {
        w->is_mute[id] = false;
        world_start(w, id);
    } else if (w->is_mute[id]) {
        world_kill(w, id);
    } else if (draw(k, 4) == 0) {
        world_kill(w, id);
        world_start(w, id); /* as fast as the controller can hear of it */
    } else if (draw(k, 3) == 0) {
        for (int32_t i = 0; i < PARTITIONS; i++) {
            world_topic(w, "t")->partitions[i].told[id].is_known = false;
        }
        world_start(w, id); /* bounced unseen: only the epoch tells */
    } else if (up > 2) {
        world_kill(w, id);
    }
}

static void do_failover(struct chaos *k)
{
    struct world *w = &k->w;
    int32_t written = draw(k, 4); /* writes that arrived before the controller died */
    for (int32_t i = 0; i < written && !list_is_empty(&w->writes); i++) {
        struct control_event done;
        struct control_topic_read read;
        world_write_carry(w, &done, &read);
    }
    world_resign(w);
    if (draw(k, 3) == 0) {
        do_broker(k); /* while nobody watches */
    }
    world_elect(w);
}

static void do_other(struct chaos *k)
{
    struct world *w = &k->w;
    struct control_tp entry = {slice_str("t"), draw(k, PARTITIONS)};
    int32_t id = 1 + draw(k, BROKERS);
    struct control_request request = {.kind = CONTROL_ELECT_LEADERS,
                                      .elect = {.entries = &entry, .count = 1}};
    if (draw(k, 3) == 0) {
        request = (struct control_request){
            .kind = CONTROL_SHUTDOWN,
            .shutdown = {.broker = id, .broker_epoch = w->brokers[id].epoch}};
    } else if (draw(k, 3) == 0) {
        w->has_bad_dir[id] = !w->has_bad_dir[id];
        k->was_bad[id] = true;
    } else if (draw(k, 3) == 0 && w->is_registered[id]) {
        w->is_mute[id] = true;
    }
    world_request(w, &request);
}

static void one_event(struct chaos *k)
{
    int32_t roll = draw(k, 100);
    if (roll < 20 && !list_is_empty(&k->w.writes)) {
        world_write_some(&k->w, 1);
    } else if (roll < 60) {
        (void)world_run_one(&k->w);
    } else if (roll < 70) {
        do_alter(k, false);
    } else if (roll < 75) {
        do_alter(k, true);
    } else if (roll < 86) {
        do_isr(k, draw(k, PARTITIONS), draw(k, 4) != 0);
    } else if (roll < 90) {
        do_broker(k);
    } else if (roll < 92) {
        do_conflict(k);
    } else if (roll < 94) {
        do_failover(k);
    } else if (roll < 98) {
        do_other(k);
    } else {
        world_run(&k->w);
        rest_check(k);
    }
}

static void heal(struct chaos *k)
{
    struct world *w = &k->w;
    for (int32_t id = 1; id <= BROKERS; id++) {
        w->has_bad_dir[id] = false;
        w->is_mute[id] = false;
        world_kill(w, id);
    }
    for (int32_t id = 1; id <= BROKERS; id++) {
        world_start(w, id); /* restarts those that were up, too: directories and shutdowns clear */
        world_run(w);
        for (int32_t i = 0; i < PARTITIONS; i++) {
            do_isr(k, i, true);
            world_run(w);
        }
    }
    for (int32_t round = 0; round < 6; round++) {
        for (int32_t i = 0; i < PARTITIONS; i++) {
            do_isr(k, i, true);
            world_run(w);
        }
    }
    rest_check(k);
    check(k, control_moving_count(w->core) == 0);
    check(k, list_is_empty(&w->core->moves));
    check(k, list_is_empty(&w->core->requests));
    check(k, list_is_empty(&w->core->sweeps));
    for (int32_t i = 0; i < PARTITIONS; i++) {
        const struct assignment *a = world_node(w, "t", i);
        const struct model_partition_state *s = world_state(w, "t", i);
        check(k, !assignment_is_reassigning(a));
        check(k, s->leader >= 0 && ids_has(&a->replicas, s->leader));
        check(k, ids_same_set(&s->isr, &a->replicas));
    }
}

static void chaos_run(uint64_t seed)
{
    struct chaos *k = xalloc(sizeof *k);
    struct world *w = &k->w;
    k->seed = seed;
    prng_init(&k->prng, seed);
    world_init(w, BROKERS, seed);
    w->arg = k;
    w->on_state = state_written;
    w->on_node = node_changes;
    world_elect(w);
    world_run(w);
    const char *const lists[] = {"1,2,3", "4,5,6", "6,1,2", "2,4,6", NULL};
    assert_int_equal(world_create(w, "t", lists), 0);
    for (int32_t i = 0; i < STEPS; i++) {
        one_event(k);
    }
    world_run(w);
    rest_check(k);
    heal(k);
    for (int32_t i = 0; i < PARTITIONS; i++) {
        ids_deinit(&k->origin[i]);
        for (int32_t n = 0; n < k->wish_count[i]; n++) {
            ids_deinit(&k->wishes[i][n]);
        }
    }
    world_deinit(w);
    free(k);
}

static void whatever_happens_the_rules_hold(void **state)
{
    (void)state;
    const char *range = getenv("CONTROL_SEEDS"); /* "A" or "A..B" */
    char *end = NULL;
    uint64_t first = range == NULL ? 1 : strtoull(range, &end, 10);
    uint64_t last = range == NULL ? SEEDS : *end == '.' ? strtoull(end + 2, NULL, 10) : first;
    for (uint64_t seed = first; seed <= last; seed++) {
        chaos_run(seed);
    }
}

static void figures_follow_the_cluster(void **state)
{
    (void)state;
    struct world w;
    struct control_figures f;
    world_with(&w, 4, "1,2,3");
    control_figures(w.core, &f);
    assert_int_equal(f.brokers, 4);
    assert_int_equal(f.topics, 1);
    assert_int_equal(f.partitions, 1);
    assert_int_equal(f.leaderless, 0);
    assert_int_equal(f.unpreferred, 0);
    world_kill(&w, 1);
    world_run(&w);
    control_figures(w.core, &f);
    assert_int_equal(f.brokers, 3);
    assert_int_equal(f.unpreferred, 1); /* 2 leads */
    world_resign(&w);
    control_figures(w.core, &f);
    assert_int_equal(f.partitions, 0);
    assert_int_equal(f.unpreferred, 0);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_follow_the_cluster),
        cmocka_unit_test(whatever_happens_the_rules_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
