/*
 * AlterPartition: every check of docs/spec/reassignment.md 11.5 in its order, rows 56, 67 and 68.
 */
#include "unit/control/harness.h"

/* A proposal by broker 1 with everything settable; the answer's text, or "top N". */
struct proposal {
    int32_t broker;
    int64_t broker_epoch;
    struct uuid topic_id;
    const char *topic; /* NULL: by id */
    int32_t partition;
    int32_t leader_epoch;
    int32_t partition_epoch;
    const char *isr;
    int8_t recovery;
    bool is_old_version;
};

static struct proposal proposal_by(struct world *w, int32_t broker, const char *isr)
{
    const struct model_partition_state *s = world_state(w, "t", 0);
    return (struct proposal){.broker = broker,
                             .broker_epoch = w->brokers[broker].epoch,
                             .topic_id = world_topic(w, "t")->node.id,
                             .leader_epoch = s->leader_epoch,
                             .partition_epoch = s->version,
                             .isr = isr};
}

static const char *propose(struct world *w, const struct proposal *p)
{
    static char text[256];
    int32_t isr[WORLD_BROKERS];
    struct control_isr_entry entry = {.topic = slice_str(p->topic),
                                      .topic_id = p->topic_id,
                                      .partition = p->partition,
                                      .leader_epoch = p->leader_epoch,
                                      .partition_epoch = p->partition_epoch,
                                      .isr = isr,
                                      .isr_count = list_parse(p->isr, isr),
                                      .recovery = p->recovery};
    struct control_request request = {.kind = CONTROL_ALTER_PARTITION,
                                      .alter_partition = {.broker = p->broker,
                                                          .broker_epoch = p->broker_epoch,
                                                          .knows_ineligible = !p->is_old_version,
                                                          .entries = &entry,
                                                          .count = 1}};
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there);
    struct buf b;
    buf_init(&b);
    if (w->reply.error != 0) {
        buf_putf(&b, "top %d", w->reply.error);
    } else {
        buf_put_bytes(&b, w->reply.text.ptr, w->reply.text.len - 1);
    }
    memcpy(text, buf_text(&b), b.len + 1);
    buf_deinit(&b);
    return text;
}

static void a_change_raises_the_partition_epoch_alone(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    struct proposal p = proposal_by(&w, 1, "1,2");
    assert_string_equal(propose(&w, &p), "0 0 leader 1 epoch 0 isr [1,2] version 1");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2] epoch 0");
    assert_non_null(strstr(buf_text(&w.sent), "3 metadata t-0 leader 1 epoch 0"));
    assert_null(strstr(buf_text(&w.sent), "state"));
    p = proposal_by(&w, 1, "1,2,3");
    p.topic = "t";
    p.topic_id = UUID_ZERO;
    assert_string_equal(propose(&w, &p), "0 0 leader 1 epoch 0 isr [1,2,3] version 2");
    world_deinit(&w);
}

static void check_2_the_sender_must_be_registered(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    struct proposal p = proposal_by(&w, 1, "1,2");
    p.broker_epoch++;
    assert_string_equal(propose(&w, &p), "top 77");
    p.broker_epoch -= 2;
    assert_string_equal(propose(&w, &p), "top 77");
    p.broker = 9;
    assert_string_equal(propose(&w, &p), "top 77");
    world_deinit(&w);
}

static void checks_3_to_5_name_what_is_unknown(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    struct proposal p = proposal_by(&w, 1, "1,2");
    p.recovery = 2;
    assert_string_equal(propose(&w, &p), "top -1");
    p = proposal_by(&w, 1, "1,2");
    p.topic_id.bytes[3] ^= 1;
    assert_string_equal(propose(&w, &p), "0 100");
    p.topic = "none";
    assert_string_equal(propose(&w, &p), "0 3");
    p.topic = "t";
    p.partition = 1;
    assert_string_equal(propose(&w, &p), "1 3");
    p.partition = -1;
    assert_string_equal(propose(&w, &p), "-1 3");
    world_deinit(&w);
}

static void row_68_epochs_that_do_not_fit(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,3"), 0); /* leader epoch 1 */
    struct proposal p = proposal_by(&w, 1, "1,2");
    p.leader_epoch = 2;
    assert_string_equal(propose(&w, &p), "0 41");
    p.leader_epoch = 0;
    assert_string_equal(propose(&w, &p), "0 74");
    p = proposal_by(&w, 1, "1,2");
    p.partition_epoch++;
    assert_string_equal(propose(&w, &p), "0 41");
    p.partition_epoch -= 2;
    assert_string_equal(propose(&w, &p), "0 95");
    world_deinit(&w);
}

static void row_67_a_repeated_change_is_answered_without_a_write(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    struct proposal p = proposal_by(&w, 1, "1,3");
    assert_string_equal(propose(&w, &p), "0 0 leader 1 epoch 0 isr [1,3] version 1");
    assert_string_equal(propose(&w, &p), "0 0 leader 1 epoch 0 isr [1,3] version 1");
    p.isr = "3,1"; /* another order is another proposal */
    assert_string_equal(propose(&w, &p), "0 95");
    world_deinit(&w);
}

static void only_the_leader_may_propose(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    struct proposal p = proposal_by(&w, 2, "2,3");
    assert_string_equal(propose(&w, &p), "0 42");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 0");
    world_deinit(&w);
}

static void an_isr_must_be_a_list_of_replicas_with_the_leader(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    const char *const lists[] = {"2,3", "1,1", "", "1,2,3,1"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct proposal p = proposal_by(&w, 1, lists[i]);
        assert_string_equal(propose(&w, &p), "0 42");
    }
    world_deinit(&w);
}

static void checks_10_11_recovering_comes_from_elections_alone(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    struct proposal p = proposal_by(&w, 1, "1");
    p.recovery = MODEL_RECOVERING;
    assert_string_equal(propose(&w, &p), "0 42");
    p.isr = "1,2";
    assert_string_equal(propose(&w, &p), "0 42");
    world_deinit(&w);
}

static void row_56_a_broker_that_leaves_cannot_join(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    struct control_request request = {
        .kind = CONTROL_SHUTDOWN, .shutdown = {.broker = 2, .broker_epoch = w.brokers[2].epoch}};
    world_request(&w, &request);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,3] epoch 1");
    struct proposal p = proposal_by(&w, 1, "1,3,2");
    assert_string_equal(propose(&w, &p), "0 107");
    p.is_old_version = true;
    assert_string_equal(propose(&w, &p), "0 55");
    p = proposal_by(&w, 1, "1,9");
    assert_string_equal(propose(&w, &p), "0 107");
    world_deinit(&w);
}

/* All replicas are proposed, which is more than the brokers left. */
static void a_broker_that_has_gone_cannot_join(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_kill(&w, 3);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2] epoch 1");
    struct proposal p = proposal_by(&w, 1, "1,2,3");
    assert_string_equal(propose(&w, &p), "0 107");
    world_deinit(&w);
}

static void check_13_a_conflict_is_answered_with_95(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    struct proposal p = proposal_by(&w, 1, "1,2");
    world_state(&w, "t", 0)->version++; /* somebody else wrote */
    assert_string_equal(propose(&w, &p), "0 95");
    p = proposal_by(&w, 1, "1,2");
    assert_string_equal(propose(&w, &p), "0 0 leader 1 epoch 0 isr [1,2] version 2");
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_raises_the_partition_epoch_alone),
        cmocka_unit_test(check_2_the_sender_must_be_registered),
        cmocka_unit_test(checks_3_to_5_name_what_is_unknown),
        cmocka_unit_test(row_68_epochs_that_do_not_fit),
        cmocka_unit_test(row_67_a_repeated_change_is_answered_without_a_write),
        cmocka_unit_test(only_the_leader_may_propose),
        cmocka_unit_test(an_isr_must_be_a_list_of_replicas_with_the_leader),
        cmocka_unit_test(checks_10_11_recovering_comes_from_elections_alone),
        cmocka_unit_test(row_56_a_broker_that_leaves_cannot_join),
        cmocka_unit_test(a_broker_that_has_gone_cannot_join),
        cmocka_unit_test(check_13_a_conflict_is_answered_with_95),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
