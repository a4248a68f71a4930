/*
 * Which orders of the controller a replica follows (docs/spec/reassignment.md 10.1, 10.2; rows 62, 63).
 */
#include "replica/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ID_A ((struct uuid){{1}})
#define ID_B ((struct uuid){{2}})

struct row {
    struct replica_claim claim;
    int err;
    bool is_applied;
    bool is_id_stored;
};

static void check(const struct row *row)
{
    bool is_applied = true;
    bool is_id_stored = true;
    assert_int_equal(replica_accept_leader_and_isr(&row->claim, &is_applied, &is_id_stored),
                     row->err);
    assert_int_equal(is_applied, row->is_applied);
    assert_int_equal(is_id_stored, row->is_id_stored);
}

/* Row 63: epoch 5 here; 4 and 5 are stale, 6 is applied. */
static void only_newer_epochs_are_applied(void **state)
{
    (void)state;
    const struct row rows[] = {
        {{.is_hosted = true, .local_epoch = 5, .request_epoch = 5, .is_member = true},
         -E_STALE,
         false,
         false},
        {{.is_hosted = true, .local_epoch = 5, .request_epoch = 4, .is_member = true},
         -E_STALE,
         false,
         false},
        {{.is_hosted = true, .local_epoch = 5, .request_epoch = 6, .is_member = true},
         0,
         true,
         false},
        {{.is_hosted = false, .local_epoch = -1, .request_epoch = 0, .is_member = true},
         0,
         true,
         false},
        {{.is_hosted = true, .local_epoch = 5, .request_epoch = 6, .is_member = false},
         -E_NOT_FOUND,
         false,
         false},
        {{.is_hosted = true,
          .local_epoch = 5,
          .request_epoch = 5,
          .is_member = true,
          .is_kraft_controller = true},
         0,
         true,
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&rows[i]);
    }
}

static void offline_comes_before_ids_and_ids_before_epochs(void **state)
{
    (void)state;
    const struct row rows[] = {
        {{.is_hosted = true,
          .is_offline = true,
          .local_id = ID_A,
          .request_id = ID_B,
          .local_epoch = 5,
          .request_epoch = 6,
          .is_member = true},
         -E_OFFLINE,
         false,
         false},
        {{.is_hosted = true,
          .local_id = ID_A,
          .request_id = ID_B,
          .local_epoch = 5,
          .request_epoch = 4,
          .is_member = true},
         -E_ID_MISMATCH,
         false,
         false},
        {{.is_hosted = true,
          .local_id = ID_A,
          .request_id = UUID_ZERO,
          .local_epoch = 5,
          .request_epoch = 6,
          .is_member = true},
         0,
         true,
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&rows[i]);
    }
}

static void log_without_id_takes_one_even_at_an_equal_epoch(void **state)
{
    (void)state;
    const struct row rows[] = {
        {{.is_hosted = true,
          .request_id = ID_A,
          .local_epoch = 5,
          .request_epoch = 5,
          .is_member = true},
         0,
         false,
         true},
        {{.is_hosted = true,
          .request_id = ID_A,
          .local_epoch = 5,
          .request_epoch = 6,
          .is_member = true},
         0,
         true,
         true},
        {{.is_hosted = true,
          .request_id = ID_A,
          .local_epoch = 5,
          .request_epoch = 4,
          .is_member = true},
         -E_STALE,
         false,
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&rows[i]);
    }
}

/* Row 62: epoch 5 here. */
static void stop_is_accepted_from_its_own_epoch_on(void **state)
{
    (void)state;
    static const struct {
        int32_t epoch;
        int err;
    } rows[] = {{6, 0}, {5, 0}, {4, -E_FENCED}, {-1, 0}, {-2, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(replica_accept_stop(false, 5, rows[i].epoch), rows[i].err);
        assert_int_equal(replica_accept_stop(true, 5, rows[i].epoch), -E_OFFLINE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_newer_epochs_are_applied),
        cmocka_unit_test(offline_comes_before_ids_and_ids_before_epochs),
        cmocka_unit_test(log_without_id_takes_one_even_at_an_equal_epoch),
        cmocka_unit_test(stop_is_accepted_from_its_own_epoch_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
