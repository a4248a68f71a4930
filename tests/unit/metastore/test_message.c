/*
 * Messages own what they carry. Run under ASan, which sees what is freed twice or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "metastore/message.h"

static void failed_call_keeps_nothing_of_its_answer(void **state)
{
    (void)state;
    struct metastore_message *m = metastore_message_new(MESSAGE_MULTI, NULL, NULL);
    assert_int_equal(m->result.failed_op, -1);
    m->ops = xalloc(2 * sizeof *m->ops);
    m->op_count = 2;
    m->op_stats = xalloc(2 * sizeof *m->op_stats);
    m->op_texts = xalloc(2 * sizeof *m->op_texts);
    m->op_texts[0] = xstrdup("/a");
    m->op_paths = xalloc(2 * sizeof *m->op_paths);
    m->result.op_stats = m->op_stats;
    m->result.op_count = 2;
    m->is_applied = true;
    metastore_message_fail(m, -E_UNKNOWN_OUTCOME);
    assert_int_equal(m->result.err, -E_UNKNOWN_OUTCOME);
    assert_int_equal(m->result.failed_op, -1);
    assert_int_equal(m->result.op_count, 0);
    assert_null(m->result.op_stats);
    assert_true(m->is_applied);
    metastore_message_free(m);
}

static void calls_are_told_from_the_rest(void **state)
{
    (void)state;
    const struct {
        enum metastore_message_kind kind;
        bool is_call;
    } cases[] = {{MESSAGE_OPEN, false}, {MESSAGE_CLOSE, false}, {MESSAGE_ABANDON, false},
                 {MESSAGE_GET, true},   {MESSAGE_EXISTS, true}, {MESSAGE_CHILDREN, true},
                 {MESSAGE_MULTI, true}, {MESSAGE_EVENT, false}, {MESSAGE_STATE, false},
                 {MESSAGE_GONE, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct metastore_message *m = metastore_message_new(cases[i].kind, NULL, NULL);
        assert_int_equal(metastore_message_is_call(m), cases[i].is_call);
        metastore_message_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_call_keeps_nothing_of_its_answer),
        cmocka_unit_test(calls_are_told_from_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
