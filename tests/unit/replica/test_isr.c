/*
 * In-sync sets: who joins, who falls out, and what the controller's answers do
 * (docs/spec/reassignment.md 11.4, 11.5, rows 64, 66 to 68).
 */
#include "replica/isr.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool is_alive(void *arg, int32_t broker)
{
    (void)arg;
    return broker != 99;
}

static const struct replica_context now = {
    .now_ms = 100000, .lag_time_max_ms = 30000, .min_isr = 1, .is_alive = is_alive};

static struct ids ids_of(int32_t *list, int32_t count)
{
    return (struct ids){.list = list, .count = count};
}

/* Broker 1 leads [1,2,3,99] with ISR {1,2} at epoch 5, partition epoch 7, log end 100 = epoch start,
 * high watermark 90. */
static struct replica_core leader(void)
{
    static int32_t rs[] = {1, 2, 3, 99};
    static int32_t isr[] = {1, 2};
    struct replica_core c;
    replica_core_init(&c, 1, 100, 90);
    struct replica_state s = {.leader = 1,
                              .leader_epoch = 5,
                              .partition_epoch = 7,
                              .isr = ids_of(isr, 2),
                              .replicas = ids_of(rs, 4)};
    bool is_new_epoch = false;
    assert_true(replica_core_apply(&c, &s, &now, &is_new_epoch));
    return c;
}

static bool expand_at(struct replica_core *c, int32_t id, int64_t offset)
{
    struct replica_remote *remote = replica_core_remote(c, id);
    assert_non_null(remote);
    replica_core_fetched(c, remote, offset, 0, now.now_ms);
    return replica_isr_expand(c, remote, &now);
}

/* Row 66: at the high watermark but below the epoch start is not enough. */
static void replica_joins_at_high_watermark_and_epoch_start(void **state)
{
    (void)state;
    struct replica_core c = leader();
    assert_false(expand_at(&c, 3, 89));
    assert_false(expand_at(&c, 3, 95));
    assert_true(expand_at(&c, 3, 100));
    assert_int_equal(c.pending, REPLICA_PENDING_EXPAND);
    static const int32_t want[] = {1, 2, 3};
    assert_int_equal(c.pending_isr.count, 3);
    assert_memory_equal(c.pending_isr.list, want, sizeof want);
    assert_true(replica_core_in_maximal_isr(&c, 3));
    replica_core_deinit(&c);
}

static void only_one_change_is_pending(void **state)
{
    (void)state;
    struct replica_core c = leader();
    assert_true(expand_at(&c, 3, 100));
    assert_false(expand_at(&c, 3, 100));
    assert_false(replica_isr_shrink(&c, &now));
    replica_core_deinit(&c);
}

static void dead_broker_and_member_do_not_join(void **state)
{
    (void)state;
    struct replica_core c = leader();
    assert_false(expand_at(&c, 99, 100));
    assert_false(expand_at(&c, 2, 100));
    replica_core_deinit(&c);
}

/* Row 64: what is not in RS falls out, the leader never does. */
static void shrink_removes_laggards_and_strangers(void **state)
{
    (void)state;
    static int32_t isr[] = {4, 1, 2, 3};
    static int32_t rs[] = {1, 2, 3};
    struct replica_core c;
    replica_core_init(&c, 1, 100, 90);
    struct replica_state s = {
        .leader = 1, .leader_epoch = 5, .isr = ids_of(isr, 4), .replicas = ids_of(rs, 3)};
    bool is_new_epoch = false;
    assert_true(replica_core_apply(&c, &s, &now, &is_new_epoch));
    struct replica_context late = now;
    late.now_ms += 30001;
    replica_core_fetched(&c, replica_core_remote(&c, 3), 100, 0, now.now_ms);
    assert_true(replica_isr_shrink(&c, &late));
    static const int32_t want[] = {1, 3};
    assert_int_equal(c.pending_isr.count, 2);
    assert_memory_equal(c.pending_isr.list, want, sizeof want);
    assert_true(replica_core_in_maximal_isr(&c, 2)); /* a pending shrink still counts the old set */
    replica_core_deinit(&c);
}

static void nothing_to_shrink_proposes_nothing(void **state)
{
    (void)state;
    struct replica_core c = leader();
    assert_false(replica_isr_shrink(&c, &now));
    assert_int_equal(c.pending, REPLICA_PENDING_NONE);
    assert_int_equal(c.pending_isr.count, 0);
    replica_core_deinit(&c);
}

static struct replica_isr_answer answer_of(int16_t error)
{
    static int32_t isr[] = {1, 2, 3};
    return (struct replica_isr_answer){.sent_leader_epoch = 5,
                                       .sent_partition_epoch = 7,
                                       .error = error,
                                       .leader_epoch = 5,
                                       .partition_epoch = 8,
                                       .isr = ids_of(isr, 3)};
}

static void success_commits_set_and_epoch(void **state)
{
    (void)state;
    struct replica_core c = leader();
    assert_true(expand_at(&c, 3, 100));
    struct replica_isr_answer answer = answer_of(0);
    bool is_committed = false;
    assert_int_equal(replica_isr_answered(&c, &answer, &is_committed), REPLICA_ISR_DONE);
    assert_true(is_committed);
    assert_int_equal(c.pending, REPLICA_PENDING_NONE);
    assert_int_equal(c.state.partition_epoch, 8);
    assert_int_equal(c.state.isr.count, 3);
    assert_int_equal(c.state.leader_epoch, 5);
    replica_core_deinit(&c);
}

/* Row 67: the answer to a repeat is a success with the state of the first write, or with our own. */
static void repeated_success_is_accepted(void **state)
{
    (void)state;
    struct replica_core c = leader();
    assert_true(expand_at(&c, 3, 100));
    struct replica_isr_answer answer = answer_of(0);
    answer.partition_epoch = 7;
    bool is_committed = false;
    assert_int_equal(replica_isr_answered(&c, &answer, &is_committed), REPLICA_ISR_DONE);
    assert_true(is_committed);
    assert_int_equal(c.state.partition_epoch, 7);
    assert_int_equal(replica_isr_answered(&c, &answer, &is_committed), REPLICA_ISR_DONE);
    assert_false(is_committed);
    replica_core_deinit(&c);
}

static void success_of_another_leader_epoch_waits_for_the_controller(void **state)
{
    (void)state;
    struct replica_core c = leader();
    assert_true(expand_at(&c, 3, 100));
    struct replica_isr_answer answer = answer_of(0);
    answer.leader_epoch = 6;
    bool is_committed = true;
    assert_int_equal(replica_isr_answered(&c, &answer, &is_committed), REPLICA_ISR_DONE);
    assert_false(is_committed);
    assert_true(c.is_pending_settled);
    assert_int_equal(c.state.isr.count, 2);
    replica_core_deinit(&c);
}

/* The table of 11.5. */
static void errors_drop_settle_or_retry(void **state)
{
    (void)state;
    static const struct {
        int16_t error;
        enum replica_isr_verdict verdict;
        enum replica_pending pending;
        bool is_settled;
    } rows[] = {
        {KERR_OPERATION_NOT_ATTEMPTED, REPLICA_ISR_DONE, REPLICA_PENDING_NONE, false},
        {KERR_INELIGIBLE_REPLICA, REPLICA_ISR_DONE, REPLICA_PENDING_NONE, false},
        {KERR_UNKNOWN_TOPIC_OR_PARTITION, REPLICA_ISR_DONE, REPLICA_PENDING_EXPAND, true},
        {KERR_FENCED_LEADER_EPOCH, REPLICA_ISR_DONE, REPLICA_PENDING_EXPAND, true},
        {KERR_INVALID_UPDATE_VERSION, REPLICA_ISR_DONE, REPLICA_PENDING_EXPAND, true},
        {KERR_INVALID_REQUEST, REPLICA_ISR_DONE, REPLICA_PENDING_EXPAND, true},
        {KERR_UNKNOWN_TOPIC_ID, REPLICA_ISR_DONE, REPLICA_PENDING_EXPAND, true},
        {KERR_NEW_LEADER_ELECTED, REPLICA_ISR_DONE, REPLICA_PENDING_EXPAND, true},
        {KERR_NOT_CONTROLLER, REPLICA_ISR_RETRY, REPLICA_PENDING_EXPAND, false},
        {KERR_UNKNOWN_SERVER_ERROR, REPLICA_ISR_RETRY, REPLICA_PENDING_EXPAND, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct replica_core c = leader();
        assert_true(expand_at(&c, 3, 100));
        struct replica_isr_answer answer = answer_of(rows[i].error);
        bool is_committed = true;
        assert_int_equal(replica_isr_answered(&c, &answer, &is_committed), rows[i].verdict);
        assert_false(is_committed);
        assert_int_equal(c.pending, rows[i].pending);
        assert_int_equal(c.is_pending_settled, rows[i].is_settled);
        assert_int_equal(c.state.isr.count, 2);
        replica_core_deinit(&c);
    }
}

/* A LeaderAndIsr came while the request was under way. */
static void answer_to_an_earlier_state_is_ignored(void **state)
{
    (void)state;
    struct replica_core c = leader();
    assert_true(expand_at(&c, 3, 100));
    struct replica_isr_answer answer = answer_of(KERR_OPERATION_NOT_ATTEMPTED);
    answer.sent_partition_epoch = 6;
    bool is_committed = true;
    assert_int_equal(replica_isr_answered(&c, &answer, &is_committed), REPLICA_ISR_DONE);
    assert_false(is_committed);
    assert_int_equal(c.pending, REPLICA_PENDING_EXPAND);
    replica_core_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replica_joins_at_high_watermark_and_epoch_start),
        cmocka_unit_test(only_one_change_is_pending),
        cmocka_unit_test(dead_broker_and_member_do_not_join),
        cmocka_unit_test(shrink_removes_laggards_and_strangers),
        cmocka_unit_test(nothing_to_shrink_proposes_nothing),
        cmocka_unit_test(success_commits_set_and_epoch),
        cmocka_unit_test(repeated_success_is_accepted),
        cmocka_unit_test(success_of_another_leader_epoch_waits_for_the_controller),
        cmocka_unit_test(errors_drop_settle_or_retry),
        cmocka_unit_test(answer_to_an_earlier_state_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
