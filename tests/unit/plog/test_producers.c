/*
 * Producer state: duplicates, gaps, epochs, transactions, expiry, the snapshot.
 */
#include "plog/producers.h"

#include "base/check.h"
#include "record/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct record_batch batch(int64_t offset, int16_t epoch, int32_t sequence, int32_t count)
{
    return (struct record_batch){.base_offset = offset,
                                 .len = 100,
                                 .last_offset_delta = count - 1,
                                 .max_timestamp = 1000 + offset,
                                 .producer_id = 7,
                                 .producer_epoch = epoch,
                                 .base_sequence = sequence,
                                 .count = count};
}

static int check(const struct plog_producers *p, struct record_batch b, int64_t *ret_offset)
{
    struct plog_producer_duplicate duplicate = {-1, -1};
    int verdict = plog_producers_check(p, &b, &duplicate);
    if (ret_offset != NULL) {
        *ret_offset = duplicate.base_offset;
    }
    return verdict;
}

static void add(struct plog_producers *p, struct record_batch b)
{
    plog_producers_add(p, &b);
}

static void sequences_must_follow_each_other(void **state)
{
    (void)state;
    struct plog_producers p;
    plog_producers_init(&p);
    assert_int_equal(0, check(&p, batch(0, 1, 55, 5), NULL)); /* unknown: anything goes */
    add(&p, batch(0, 1, 55, 5));
    assert_int_equal(0, check(&p, batch(5, 1, 60, 1), NULL));
    assert_int_equal(-E_OUT_OF_ORDER, check(&p, batch(5, 1, 61, 1), NULL));
    assert_int_equal(-E_OUT_OF_ORDER, check(&p, batch(5, 1, 58, 2), NULL));
    assert_int_equal(-E_FENCED, check(&p, batch(5, 0, 60, 1), NULL));
    assert_int_equal(-E_OUT_OF_ORDER, check(&p, batch(5, 2, 60, 1), NULL));
    assert_int_equal(0, check(&p, batch(5, 2, 0, 1), NULL)); /* a new epoch starts at 0 */
    add(&p, batch(5, 2, 0, 1));
    assert_int_equal(-E_FENCED, check(&p, batch(6, 1, 60, 1), NULL));
    plog_producers_deinit(&p);
}

static void sequences_wrap(void **state)
{
    (void)state;
    struct plog_producers p;
    plog_producers_init(&p);
    add(&p, batch(0, 1, INT32_MAX - 1, 2));
    assert_int_equal(0, check(&p, batch(2, 1, 0, 1), NULL));
    plog_producers_deinit(&p);
}

static void the_last_five_batches_are_known_again(void **state)
{
    (void)state;
    struct plog_producers p;
    int64_t offset = -1;
    plog_producers_init(&p);
    for (int i = 0; i < 6; i++) {
        add(&p, batch(10 * i, 1, 3 * i, 3));
    }
    for (int i = 1; i < 6; i++) {
        assert_int_equal(1, check(&p, batch(99, 1, 3 * i, 3), &offset));
        assert_int_equal(10 * i, offset);
    }
    assert_int_equal(-E_OUT_OF_ORDER, check(&p, batch(99, 1, 0, 3), NULL)); /* too old */
    assert_int_equal(-E_OUT_OF_ORDER, check(&p, batch(99, 1, 3, 2), NULL)); /* other length */
    plog_producers_deinit(&p);
}

static void batches_without_producer_pass_and_leave_nothing(void **state)
{
    (void)state;
    struct plog_producers p;
    plog_producers_init(&p);
    struct record_batch b = batch(0, 0, -1, 1);
    b.producer_id = -1;
    assert_int_equal(0, check(&p, b, NULL));
    add(&p, b);
    assert_int_equal(0, plog_producers_count(&p));
    plog_producers_deinit(&p);
}

/* A control batch as a coordinator writes it: key (version, type), value (version, epoch). */
static void marker_encode(int64_t offset, int16_t epoch, uint16_t type, struct buf *out)
{
    struct record_builder b;
    struct buf key;
    struct buf value;
    buf_init(&key);
    buf_init(&value);
    buf_put_u16(&key, 0);
    buf_put_u16(&key, type);
    buf_put_u16(&value, 0);
    buf_put_u32(&value, 12);
    record_builder_init(&b, RECORD_CODEC_NONE);
    b.batch.base_offset = offset;
    b.batch.attributes = RECORD_ATTR_CONTROL | RECORD_ATTR_TRANSACTIONAL;
    b.batch.producer_id = 7;
    b.batch.producer_epoch = epoch;
    struct record_input record = {.key = buf_slice(&key), .value = buf_slice(&value)};
    record_builder_add(&b, &record);
    assert_int_equal(0, record_builder_finish(&b, out));
    record_builder_deinit(&b);
    buf_deinit(&key);
    buf_deinit(&value);
}

static int add_marker(struct plog_producers *p, int64_t offset, int16_t epoch, uint16_t type,
                      struct plog_transaction_end *ret_end)
{
    struct buf bytes;
    struct record_batch b;
    buf_init(&bytes);
    marker_encode(offset, epoch, type, &bytes);
    assert_int_equal(0, record_batch_parse(buf_slice(&bytes), &b));
    int err = plog_producers_add_control(p, &b, buf_slice(&bytes), ret_end);
    buf_deinit(&bytes);
    return err;
}

static void an_open_transaction_holds_the_stable_end(void **state)
{
    (void)state;
    struct plog_producers p;
    struct plog_transaction_end end;
    plog_producers_init(&p);
    assert_int_equal(50, plog_producers_stable_end(&p, 50));
    struct record_batch b = batch(10, 1, 0, 2);
    b.attributes = RECORD_ATTR_TRANSACTIONAL;
    add(&p, b);
    assert_int_equal(10, plog_producers_stable_end(&p, 50));
    assert_int_equal(5, plog_producers_stable_end(&p, 5));
    assert_int_equal(-E_INVALID, check(&p, batch(12, 1, 2, 1), NULL)); /* not transactional */
    assert_int_equal(1, add_marker(&p, 20, 1, 0, &end));
    assert_true(end.is_abort);
    assert_int_equal(7, end.producer_id);
    assert_int_equal(10, end.first_offset);
    assert_int_equal(20, end.last_offset);
    assert_int_equal(10, plog_producers_stable_end(&p, 20)); /* the marker may still be lost */
    assert_int_equal(21, plog_producers_stable_end(&p, 21));
    plog_producers_deinit(&p);
}

static void a_marker_with_a_new_epoch_fences_and_restarts_sequences(void **state)
{
    (void)state;
    struct plog_producers p;
    struct plog_transaction_end end;
    plog_producers_init(&p);
    add(&p, batch(0, 1, 0, 5));
    assert_int_equal(1, add_marker(&p, 5, 2, 1, &end));
    assert_false(end.is_abort);
    assert_int_equal(-1, end.first_offset);
    assert_int_equal(-E_FENCED, check(&p, batch(6, 1, 5, 1), NULL));
    assert_int_equal(-E_OUT_OF_ORDER, check(&p, batch(6, 2, 5, 1), NULL));
    assert_int_equal(0, check(&p, batch(6, 2, 0, 1), NULL));
    assert_int_equal(0, add_marker(&p, 6, 2, 2, &end)); /* leader change: no transaction */
    plog_producers_deinit(&p);
}

static void idle_producers_expire_but_not_in_a_transaction(void **state)
{
    (void)state;
    struct plog_producers p;
    plog_producers_init(&p);
    add(&p, batch(0, 1, 0, 1));
    struct record_batch b = batch(1, 1, 0, 1);
    b.producer_id = 8;
    b.attributes = RECORD_ATTR_TRANSACTIONAL;
    add(&p, b);
    plog_producers_expire(&p, 1999, 1000);
    assert_int_equal(2, plog_producers_count(&p));
    plog_producers_expire(&p, 5000, 1000);
    assert_int_equal(1, plog_producers_count(&p));
    assert_int_equal(0, check(&p, batch(2, 1, 77, 1), NULL));
    plog_producers_deinit(&p);
}

static void the_longest_idle_makes_room(void **state)
{
    (void)state;
    struct plog_producers p;
    plog_producers_init(&p);
    for (int64_t id = 0; id <= PLOG_PRODUCERS_MAX; id++) {
        struct record_batch b = batch(id, 1, 0, 1);
        b.producer_id = id;
        add(&p, b);
    }
    assert_int_equal(PLOG_PRODUCERS_MAX, plog_producers_count(&p));
    struct record_batch first = batch(0, 1, 40, 1);
    first.producer_id = 0;
    assert_int_equal(0, check(&p, first, NULL)); /* forgotten */
    first.producer_id = 1;
    assert_int_equal(-E_OUT_OF_ORDER, check(&p, first, NULL));
    plog_producers_deinit(&p);
}

static void many_ended_transactions_stay_bounded_and_safe(void **state)
{
    (void)state;
    struct plog_producers p;
    struct plog_transaction_end end;
    plog_producers_init(&p);
    for (int i = 0; i < 3000; i++) {
        struct record_batch b = batch(2 * i, 1, i, 1);
        b.attributes = RECORD_ATTR_TRANSACTIONAL;
        add(&p, b);
        assert_int_equal(1, add_marker(&p, 2 * i + 1, 1, 1, &end));
    }
    assert_true(p.ended_count <= 1024);
    assert_int_equal(0, plog_producers_stable_end(&p, 100) % 2);
    assert_true(plog_producers_stable_end(&p, 100) <= 100);
    assert_int_equal(6000, plog_producers_stable_end(&p, 6000));
    plog_producers_deinit(&p);
}

static void a_snapshot_comes_back(void **state)
{
    (void)state;
    struct plog_producers p;
    struct plog_producers again;
    struct buf bytes;
    int64_t offset = -1;
    buf_init(&bytes);
    plog_producers_init(&p);
    plog_producers_init(&again);
    struct record_batch open = batch(10, 3, 0, 2);
    open.attributes = RECORD_ATTR_TRANSACTIONAL;
    add(&p, batch(0, 3, 0, 2));
    open.base_sequence = 2;
    add(&p, open);
    plog_producers_format(&p, &bytes);
    assert_int_equal(10 + 46, bytes.len);
    assert_int_equal(0, plog_producers_parse(&again, buf_slice(&bytes)));
    assert_int_equal(1, check(&again, open, &offset));
    assert_int_equal(10, offset);
    assert_int_equal(10, plog_producers_stable_end(&again, 99));
    plog_producers_deinit(&again);
    plog_producers_deinit(&p);
    buf_deinit(&bytes);
}

/* docs/spec/log-format.md 3, byte by byte. */
static void snapshot_bytes_are_kafkas(void **state)
{
    (void)state;
    static const uint8_t entry[] = {
        0,    0,    0,    1,                            /* count */
        0,    0,    0,    0,    0,    0,    0,    7,    /* producer id */
        0,    2,                                        /* epoch */
        0,    0,    0,    8,                            /* last sequence */
        0,    0,    0,    0,    0,    0,    0,    0x29, /* last offset */
        0,    0,    0,    3,                            /* offset delta */
        0,    0,    0,    0,    0,    0,    4,    0x0e, /* timestamp */
        0xff, 0xff, 0xff, 0xff,                         /* coordinator epoch */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* open transaction */
    };
    struct plog_producers p;
    struct buf bytes;
    buf_init(&bytes);
    plog_producers_init(&p);
    add(&p, batch(38, 2, 5, 4));
    plog_producers_format(&p, &bytes);
    assert_int_equal(6 + sizeof entry, bytes.len);
    assert_int_equal(0, bytes.ptr[0]);
    assert_int_equal(1, bytes.ptr[1]);
    assert_memory_equal(entry, bytes.ptr + 6, sizeof entry);
    plog_producers_deinit(&p);
    buf_deinit(&bytes);
}

static void damaged_snapshots_are_refused(void **state)
{
    (void)state;
    struct plog_producers p;
    struct buf bytes;
    buf_init(&bytes);
    plog_producers_init(&p);
    add(&p, batch(0, 3, 0, 2));
    plog_producers_format(&p, &bytes);
    plog_producers_clear(&p);
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.ptr[i] ^= 1;
        assert_int_not_equal(0, plog_producers_parse(&p, buf_slice(&bytes)));
        assert_int_equal(0, plog_producers_count(&p));
        bytes.ptr[i] ^= 1;
    }
    for (size_t len = 0; len < bytes.len; len++) {
        assert_int_not_equal(0, plog_producers_parse(&p, slice_of(bytes.ptr, len)));
    }
    bytes.ptr[1] = 2;
    assert_int_equal(-E_UNSUPPORTED, plog_producers_parse(&p, buf_slice(&bytes)));
    plog_producers_deinit(&p);
    buf_deinit(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_must_follow_each_other),
        cmocka_unit_test(sequences_wrap),
        cmocka_unit_test(the_last_five_batches_are_known_again),
        cmocka_unit_test(batches_without_producer_pass_and_leave_nothing),
        cmocka_unit_test(an_open_transaction_holds_the_stable_end),
        cmocka_unit_test(a_marker_with_a_new_epoch_fences_and_restarts_sequences),
        cmocka_unit_test(idle_producers_expire_but_not_in_a_transaction),
        cmocka_unit_test(the_longest_idle_makes_room),
        cmocka_unit_test(many_ended_transactions_stay_bounded_and_safe),
        cmocka_unit_test(a_snapshot_comes_back),
        cmocka_unit_test(snapshot_bytes_are_kafkas),
        cmocka_unit_test(damaged_snapshots_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
