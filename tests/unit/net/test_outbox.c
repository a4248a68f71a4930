/*
 * Frames onto a socket: gaps filled, answers coalesced, partial writes gone on with.
 */
#include "net/outbox.h"

#include "fake_conn.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>

static const uint8_t file_bytes[] = "0123456789abcdefghijklmnopqrstuvwxyz";

struct fixture {
    struct fake_conn conn;
    struct fake_file file;
    struct outbox outbox;
};

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    fake_conn_init(&f->conn);
    f->file = (struct fake_file){
        .file = {.env = &f->conn.env, .refs = 1}, .bytes = file_bytes, .len = 36};
    net_outbox_init(&f->outbox);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    net_outbox_deinit(&f->outbox);
    buf_deinit(&f->conn.output);
    env_file_unref(&f->file.file);
    assert_int_equal(f->file.closed, 1); /* no reference was lost or dropped twice */
    free(f);
    return 0;
}

static struct span file_span(struct fixture *f, uint64_t pos, size_t len)
{
    return (struct span){
        .kind = SPAN_FILE, .file = env_file_ref(&f->file.file), .pos = pos, .len = len};
}

/* A Fetch-like answer: text with two gaps, the second filled by two ranges. */
static struct outbox_frame *answer_with_gaps(struct fixture *f)
{
    struct buf body;
    buf_init(&body);
    buf_put_str(&body, "<");
    buf_put_gap(&body, 3);
    buf_put_str(&body, "|");
    buf_put_gap(&body, 5);
    buf_put_str(&body, ">");
    struct span spans[] = {file_span(f, 10, 3), file_span(f, 0, 1), file_span(f, 32, 4)};
    struct outbox_frame *frame = net_outbox_frame_new(&body, spans, 3);
    assert_null(body.ptr);
    assert_null(body.gaps);
    return frame;
}

static struct outbox_frame *plain_answer(const char *text)
{
    struct buf body;
    buf_init(&body);
    buf_put_str(&body, text);
    return net_outbox_frame_new(&body, NULL, 0);
}

static void assert_output(const struct fixture *f, const void *bytes, size_t len)
{
    assert_int_equal(f->conn.output.len, len);
    assert_memory_equal(f->conn.output.ptr, bytes, len);
}

static void gaps_are_filled_in_order(void **state)
{
    struct fixture *f = *state;
    net_outbox_add(&f->outbox, answer_with_gaps(f));
    assert_int_equal(f->outbox.bytes, 15);
    assert_int_equal(net_outbox_flush(&f->outbox, &f->conn.conn), 0);
    assert_output(f, "\0\0\0\x0b<abc|0wxyz>", 15);
    assert_int_equal(f->conn.writes, 3); /* around two gaps; the bytes before one may wait for it */
    assert_int_equal(f->conn.writes_with_more, 2);
    assert_int_equal(f->outbox.bytes, 0);
    assert_false(f->conn.conn.wants_write);
}

static void many_answers_leave_in_one_write(void **state)
{
    struct fixture *f = *state;
    net_outbox_add(&f->outbox, plain_answer("one"));
    net_outbox_add(&f->outbox, plain_answer(""));
    net_outbox_add(&f->outbox, plain_answer("three"));
    assert_int_equal(net_outbox_flush(&f->outbox, &f->conn.conn), 0);
    assert_output(f, "\0\0\0\3one\0\0\0\0\0\0\0\5three", 20);
    assert_int_equal(f->conn.writes, 1);
}

static void partial_writes_go_on_where_they_stopped(void **state)
{
    struct fixture *f = *state;
    for (size_t write_max = 1; write_max < 17; write_max++) {
        buf_clear(&f->conn.output);
        f->conn.write_max = write_max;
        net_outbox_add(&f->outbox, plain_answer("one"));
        net_outbox_add(&f->outbox, answer_with_gaps(f));
        for (int turns = 0; f->outbox.bytes > 0; turns++) {
            f->conn.window = 2;
            assert_true(turns < 50);
            assert_int_equal(net_outbox_flush(&f->outbox, &f->conn.conn), 0);
            assert_int_equal(f->conn.conn.wants_write, f->outbox.bytes > 0);
        }
        assert_output(f, "\0\0\0\3one\0\0\0\x0b<abc|0wxyz>", 22);
    }
}

static void short_file_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct buf body;
    buf_init(&body);
    buf_put_gap(&body, 10);
    struct span span = file_span(f, 30, 10); /* 6 bytes are there */
    net_outbox_add(&f->outbox, net_outbox_frame_new(&body, &span, 1));
    assert_int_equal(net_outbox_flush(&f->outbox, &f->conn.conn), -E_TRUNCATED);
    assert_output(f, "\0\0\0\x0auvwxyz", 10);
}

static void memory_spans_keep_their_block_until_sent(void **state)
{
    struct fixture *f = *state;
    struct block *block = block_new(NULL, 16);
    memcpy(block->data, "hello world", 11);
    struct buf body;
    buf_init(&body);
    buf_put_gap(&body, 5);
    struct span span = {
        .kind = SPAN_MEMORY, .block = block_ref(block), .ptr = block->data + 6, .len = 5};
    net_outbox_add(&f->outbox, net_outbox_frame_new(&body, &span, 1));
    assert_int_equal(block->refs, 2);
    assert_int_equal(net_outbox_flush(&f->outbox, &f->conn.conn), 0);
    assert_int_equal(block->refs, 1);
    assert_output(f, "\0\0\0\5world", 9);
    block_unref(block);
}

static void unsent_frames_release_their_references(void **state)
{
    struct fixture *f = *state;
    net_outbox_add(&f->outbox, answer_with_gaps(f));
    f->conn.window = 9; /* into the second gap */
    assert_int_equal(net_outbox_flush(&f->outbox, &f->conn.conn), 0);
    net_outbox_frame_free(answer_with_gaps(f));
    struct span span = file_span(f, 0, 1);
    net_outbox_spans_release(&span, 1);
    net_outbox_deinit(&f->outbox);
    assert_int_equal(f->file.file.refs, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gaps_are_filled_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(many_answers_leave_in_one_write, setup, teardown),
        cmocka_unit_test_setup_teardown(partial_writes_go_on_where_they_stopped, setup, teardown),
        cmocka_unit_test_setup_teardown(short_file_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_spans_keep_their_block_until_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(unsent_frames_release_their_references, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
