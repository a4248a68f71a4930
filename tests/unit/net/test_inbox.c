/*
 * Frames out of bytes: whatever the sizes of frames and reads, the frames come whole and in order.
 */
#include "net/inbox.h"

#include "fake_conn.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>

#define FRAMES_MAX 256

struct fixture {
    struct fake_conn conn;
    struct inbox_config config;
    struct inbox inbox;
    struct buf input;
    struct budget budget; /* in use when config.budget says so */
    struct block *frames[FRAMES_MAX];
    int frame_count;
    int stop_every; /* on_frame says stop after so many; 0 = never */
};

static bool on_frame(void *arg, struct block *frame)
{
    struct fixture *f = arg;
    assert_true(f->frame_count < FRAMES_MAX);
    f->frames[f->frame_count++] = frame;
    return f->stop_every == 0 || f->frame_count % f->stop_every != 0;
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    fake_conn_init(&f->conn);
    f->config = (struct inbox_config){.frame_bytes_max = 4 << 20,
                                      .pool = block_pool_new(4 << 20),
                                      .scratch = xalloc(65536),
                                      .scratch_size = 65536,
                                      .on_frame = on_frame};
    net_inbox_init(&f->inbox, &f->config);
    buf_init(&f->input);
    *state = f;
    return 0;
}

static void drop_frames(struct fixture *f)
{
    for (int i = 0; i < f->frame_count; i++) {
        block_unref(f->frames[i]);
    }
    f->frame_count = 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    drop_frames(f);
    net_inbox_deinit(&f->inbox);
    block_pool_free(f->config.pool);
    free(f->config.scratch);
    buf_deinit(&f->input);
    buf_deinit(&f->conn.output);
    free(f);
    return 0;
}

/* The byte at pos of frame number `index`. */
static uint8_t pattern(int index, size_t pos)
{
    return (uint8_t)((size_t)index * 31 + pos * 7 + (pos >> 8));
}

static void add_frame(struct fixture *f, int index, size_t len)
{
    buf_put_u32(&f->input, (uint32_t)len);
    uint8_t *at = buf_put_space(&f->input, len);
    for (size_t i = 0; i < len; i++) {
        at[i] = pattern(index, i);
    }
    f->conn.input = buf_slice(&f->input);
}

static void assert_frame(const struct fixture *f, int at, int index, size_t len)
{
    assert_true(at < f->frame_count);
    assert_int_equal(f->frames[at]->len, len);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(f->frames[at]->data[i], pattern(index, i));
    }
}

static enum inbox_state read_all(struct fixture *f)
{
    enum inbox_state state;
    int turns = 0;
    do {
        state = net_inbox_read(&f->inbox, &f->conn.conn, 65536, f);
        assert_true(++turns < 1000000);
    } while (state != INBOX_BROKEN &&
             (f->conn.input_pos < f->conn.input.len || f->inbox.stash != NULL));
    return state;
}

static void frames_come_whole_at_any_chopping(void **state)
{
    struct fixture *f = *state;
    static const size_t sizes[] = {0,     1,     4,     100,    4092,   4096,    4097,    20000,
                                   65536, 65537, 65532, 200000, 500000, 1048576, 1500000, 7};
    static const size_t choppings[] = {1000003, 65536, 4096, 1021, 97};
    for (size_t c = 0; c < ARRAY_LEN(choppings); c++) {
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            add_frame(f, (int)i, sizes[i]);
        }
        f->conn.read_max = choppings[c];
        assert_int_equal(read_all(f), INBOX_DRAINED);
        assert_int_equal(f->frame_count, ARRAY_LEN(sizes));
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            assert_frame(f, (int)i, (int)i, sizes[i]);
        }
        drop_frames(f);
    }
}

static void size_field_may_arrive_byte_by_byte(void **state)
{
    struct fixture *f = *state;
    add_frame(f, 1, 5);
    add_frame(f, 2, 3);
    f->conn.read_max = 1;
    assert_int_equal(read_all(f), INBOX_DRAINED);
    assert_int_equal(f->frame_count, 2);
    assert_frame(f, 0, 1, 5);
    assert_frame(f, 1, 2, 3);
}

static void one_read_takes_in_many_frames(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 100; i++) {
        add_frame(f, i, 200);
    }
    assert_int_equal(net_inbox_read(&f->inbox, &f->conn.conn, 65536, f), INBOX_DRAINED);
    assert_int_equal(f->frame_count, 100);
    assert_int_equal(f->conn.reads, 1);
}

static void stopping_keeps_what_was_read(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 10; i++) {
        add_frame(f, i, 50);
    }
    f->stop_every = 3;
    static const int counts[] = {3, 6, 9, 10};
    for (int i = 0; i < 4; i++) {
        enum inbox_state expected = i < 3 ? INBOX_STOPPED : INBOX_DRAINED;
        assert_int_equal(net_inbox_read(&f->inbox, &f->conn.conn, 65536, f), expected);
        assert_int_equal(f->frame_count, counts[i]);
    }
    for (int i = 0; i < 10; i++) {
        assert_frame(f, i, i, 50);
    }
}

static void impossible_sizes_break_the_connection(void **state)
{
    struct fixture *f = *state;
    static const uint32_t sizes[] = {0xffffffff, 0x80000000, (4u << 20) + 1, 0x7fffffff};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        buf_put_u32(&f->input, sizes[i]);
        f->conn.input = buf_slice(&f->input);
        assert_int_equal(net_inbox_read(&f->inbox, &f->conn.conn, 65536, f), INBOX_BROKEN);
        assert_int_equal(f->frame_count, 0);
        net_inbox_deinit(&f->inbox);
        net_inbox_init(&f->inbox, &f->config);
    }
}

/* 4 MiB declared, 10 bytes sent: the budget is promised, the memory is not taken. */
static void declared_size_costs_no_memory(void **state)
{
    struct fixture *f = *state;
    f->budget.max = 8 << 20;
    f->config.budget = &f->budget;
    buf_put_u32(&f->input, 4 << 20);
    buf_put_bytes(&f->input, "0123456789", 10);
    f->conn.input = buf_slice(&f->input);
    assert_int_equal(net_inbox_read(&f->inbox, &f->conn.conn, 65536, f), INBOX_DRAINED);
    assert_int_equal(f->inbox.frame->cap, 65536);
    assert_int_equal(f->budget.used, block_pool_cost(4 << 20));
    net_inbox_deinit(&f->inbox);
    assert_int_equal(f->budget.used, 0);
}

static void frame_beyond_the_whole_budget_breaks_the_connection(void **state)
{
    struct fixture *f = *state;
    f->budget.max = 1 << 20;
    f->config.budget = &f->budget;
    add_frame(f, 0, 1 << 20);
    assert_int_equal(net_inbox_read(&f->inbox, &f->conn.conn, 65536, f), INBOX_BROKEN);
}

static void refused_memory_starves_and_later_memory_goes_on(void **state)
{
    struct fixture *f = *state;
    f->budget.max = 40 << 10;
    f->config.budget = &f->budget;
    add_frame(f, 0, 20000);
    add_frame(f, 1, 4096); /* small: needs no budget, but waits behind the next */
    add_frame(f, 2, 20000);
    add_frame(f, 3, 4096);
    assert_int_equal(net_inbox_read(&f->inbox, &f->conn.conn, 65536, f), INBOX_STARVED);
    assert_int_equal(net_inbox_read(&f->inbox, &f->conn.conn, 65536, f), INBOX_STARVED);
    assert_int_equal(f->frame_count, 2);
    drop_frames(f);
    assert_int_equal(net_inbox_read(&f->inbox, &f->conn.conn, 65536, f), INBOX_DRAINED);
    assert_int_equal(f->frame_count, 2);
    assert_frame(f, 0, 2, 20000);
    assert_frame(f, 1, 3, 4096);
    drop_frames(f);
    assert_int_equal(f->budget.used, 0);
}

static void large_frame_survives_a_refusal(void **state)
{
    struct fixture *f = *state;
    f->budget.max = 64 << 20;
    f->config.budget = &f->budget;
    for (int fail_at = 1; fail_at < 3; fail_at++) {
        add_frame(f, fail_at, 1000000);
        f->budget.fail_at = fail_at;
        (void)read_all(f);
        assert_int_equal(f->frame_count, 1);
        assert_frame(f, 0, fail_at, 1000000);
        drop_frames(f);
        block_pool_trim(f->config.pool);
        assert_int_equal(f->budget.used, 0);
    }
}

/* The second large frame needs no growing: the first one's block is at hand. */
static void memory_is_used_again(void **state)
{
    struct fixture *f = *state;
    add_frame(f, 0, 1000000);
    assert_int_equal(read_all(f), INBOX_DRAINED);
    struct block *first = f->frames[0];
    drop_frames(f);
    add_frame(f, 1, 1000000);
    assert_int_equal(read_all(f), INBOX_DRAINED);
    assert_ptr_equal(f->frames[0], first);
    assert_frame(f, 0, 1, 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_come_whole_at_any_chopping, setup, teardown),
        cmocka_unit_test_setup_teardown(size_field_may_arrive_byte_by_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(one_read_takes_in_many_frames, setup, teardown),
        cmocka_unit_test_setup_teardown(stopping_keeps_what_was_read, setup, teardown),
        cmocka_unit_test_setup_teardown(impossible_sizes_break_the_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(declared_size_costs_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(frame_beyond_the_whole_budget_breaks_the_connection, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(refused_memory_starves_and_later_memory_goes_on, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(large_frame_survives_a_refusal, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_is_used_again, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
