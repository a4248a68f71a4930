/*
 * Brokers that come, go and bounce, and the walks over the partitions that follow.
 */
#include "unit/control/harness.h"

/* Broker 3, which has replicas of "t", comes: what is sent then. */
static const char *sent_to_a_new_broker(struct world *w)
{
    world_with(w, 3, "1,2,3");
    world_kill(w, 3);
    world_run(w);
    buf_clear(&w->sent);
    world_start(w, 3);
    world_run(w);
    return buf_text(&w->sent);
}

static void a_new_broker_gets_metadata_before_its_replicas(void **state)
{
    struct world w;
    (void)state;
    const char *text = sent_to_a_new_broker(&w);
    const char *metadata = strstr(text, "3 metadata t-0");
    const char *replica = strstr(text, "3 state t-0");
    assert_non_null(metadata);
    assert_non_null(replica);
    assert_true(metadata < replica);
    world_deinit(&w);
}

/* It serves clients from the moment when it knows itself: it must know what there is by then. */
static void a_new_broker_hears_of_topics_first(void **state)
{
    struct world w;
    (void)state;
    const char *text = sent_to_a_new_broker(&w);
    const char *topic = strstr(text, "3 metadata t-0");
    const char *brokers = strstr(text, "3 brokers 3");
    assert_non_null(topic);
    assert_non_null(brokers);
    assert_true(topic < brokers);
    world_deinit(&w);
}

/* Registrations that change while a new controller reads are changes like any other. */
static void brokers_that_bounce_and_go_while_it_loads_are_seen(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    world_resign(&w);
    w.epoch++;
    world_event(&w,
                &(struct control_event){.kind = CONTROL_ON_ELECTED, .controller_epoch = w.epoch});
    world_brokers_tell(&w);
    world_topic_load(&w, world_topic(&w, "t"));
    world_broker_make(&w, 2); /* registers again */
    world_brokers_tell(&w);
    w.is_registered[3] = false;
    world_broker_make(&w, 5);
    world_brokers_tell(&w);
    buf_clear(&w.sent);
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_PRODUCER_BLOCK});
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_LOADED});
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1] epoch 1");
    assert_non_null(strstr(buf_text(&w.sent), "2 state t-0 leader 1 epoch 1"));
    assert_non_null(strstr(buf_text(&w.sent), "5 metadata t-0"));
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), KERR_INELIGIBLE_REPLICA);
    world_deinit(&w);
}

static void a_dead_leader_is_followed_by_the_next_in_sync(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_kill(&w, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 2 isr [2,3] epoch 1");
    assert_non_null(strstr(buf_text(&w.sent), "3 state t-0 leader 2 epoch 1"));
    world_deinit(&w);
}

static void a_dead_follower_leaves_the_isr(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_kill(&w, 3);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2] epoch 1");
    world_deinit(&w);
}

/* All in sync replicas die in one event: each of them may lead when it returns. */
static void the_last_isr_is_kept_whole(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    w.is_registered[1] = w.is_registered[2] = w.is_registered[3] = false;
    world_brokers_tell(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader -1 isr [1,2,3] epoch 1");
    world_start(&w, 3);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 3 isr [3] epoch 2");
    world_deinit(&w);
}

/* A broker that restarted between two looks has lost its place, as if it had been seen dead. */
static void a_bounced_broker_leaves_the_isr_before_it_is_back(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    buf_clear(&w.sent);
    world_start(&w, 1);
    assert_null(strstr(buf_text(&w.sent), "1 state"));
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 2 isr [2,3] epoch 1");
    assert_non_null(strstr(buf_text(&w.sent), "1 state t-0 leader 2 epoch 1"));
    world_deinit(&w);
}

/* Who waits for it, the queue of moves, is told so: no change of the registrations follows. */
static void a_bounced_broker_lives_when_its_absence_is_over(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    w.brokers_told = 0;
    world_start(&w, 1);
    assert_false(control_has_live(w.core, 1));
    assert_int_equal(w.brokers_told, 1);
    world_run(&w);
    assert_true(control_has_live(w.core, 1));
    assert_int_equal(w.brokers_told, 2);
    world_deinit(&w);
}

/* Had it come back with less, it would have left the ISR by itself; it hears a new epoch. */
static void a_broker_that_bounced_unseen_gets_a_new_epoch(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_resign(&w);
    world_broker_make(&w, 1);
    world_elect(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 1");
    world_deinit(&w);
}

static void a_member_that_bounced_unseen_may_lead(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    world_resign(&w);
    world_broker_make(&w, 2);
    w.is_registered[1] = false;
    world_elect(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 2 isr [2] epoch 1");
    world_deinit(&w);
}

static void when_all_bounced_unseen_the_isr_stays_and_the_epoch_rises(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_resign(&w);
    world_broker_make(&w, 1);
    world_broker_make(&w, 2);
    world_broker_make(&w, 3);
    world_elect(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 1");
    world_deinit(&w);
}

static void changed_endpoints_are_told_to_all(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1");
    struct model_endpoint endpoint = {.listener = (char[]){"A"}, .host = (char[]){"h"}, .port = 1};
    w.brokers[2].endpoints = &endpoint;
    w.brokers[2].endpoint_count = 1;
    world_brokers_tell(&w);
    assert_text(&w.sent, "1 brokers 2\n2 brokers 2\n");
    buf_clear(&w.sent);
    world_brokers_tell(&w);
    assert_text(&w.sent, "");
    world_deinit(&w);
}

static void sweeps_are_cut_into_steps(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 3, 1);
    control_free(w.core);
    w.core = control_new(&(struct control_config){.seed = 1, .partitions_per_step = 4});
    world_elect(&w);
    world_run(&w);
    const char *lists[16];
    for (int32_t i = 0; i < 15; i++) {
        lists[i] = "1,2,3";
    }
    lists[15] = NULL;
    assert_int_equal(world_create(&w, "t", lists), 0);
    world_kill(&w, 1);
    assert_true(w.out.has_more);
    world_run(&w);
    for (int32_t i = 0; i < 15; i++) {
        assert_string_equal(world_text(&w, "t", i), "RS[1,2,3] leader 2 isr [2,3] epoch 1");
    }
    world_start(&w, 1);
    world_run(&w);
    world_failover(&w);
    assert_true(list_is_empty(&w.core->sweeps));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_broker_gets_metadata_before_its_replicas),
        cmocka_unit_test(a_new_broker_hears_of_topics_first),
        cmocka_unit_test(brokers_that_bounce_and_go_while_it_loads_are_seen),
        cmocka_unit_test(a_dead_leader_is_followed_by_the_next_in_sync),
        cmocka_unit_test(a_dead_follower_leaves_the_isr),
        cmocka_unit_test(the_last_isr_is_kept_whole),
        cmocka_unit_test(a_bounced_broker_leaves_the_isr_before_it_is_back),
        cmocka_unit_test(a_bounced_broker_lives_when_its_absence_is_over),
        cmocka_unit_test(a_broker_that_bounced_unseen_gets_a_new_epoch),
        cmocka_unit_test(a_member_that_bounced_unseen_may_lead),
        cmocka_unit_test(when_all_bounced_unseen_the_isr_stays_and_the_epoch_rises),
        cmocka_unit_test(changed_endpoints_are_told_to_all),
        cmocka_unit_test(sweeps_are_cut_into_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
