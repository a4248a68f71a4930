/*
 * The list of all that moves, in pieces.
 */
#include "harness.h"

#define ROWS 2 /* of a piece */

/* Topics a and b of three partitions each, and c that does not move; all of a and b move. */
static void world_moving(struct world *w)
{
    static const char *const lists[] = {"1,2", "1,2", "1,2", NULL};
    world_init_config(w, 3,
                      &(struct control_config){.broker_id = 1,
                                               .seed = 1,
                                               .partitions_default = 1,
                                               .replication_factor_default = 1,
                                               .partitions_per_step = ROWS});
    world_elect(w);
    world_run(w);
    static const char *const names[] = {"b", "a", "c"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(world_create(w, names[i], lists), 0);
    }
    for (int32_t i = 2; i >= 0; i--) {
        assert_int_equal(world_alter(w, "b", i, "1,3"), 0);
        assert_int_equal(world_alter(w, "a", i, "1,3"), 0);
    }
}

static void list_ask(struct world *w)
{
    struct control_request request = {.kind = CONTROL_LIST_REASSIGNMENTS,
                                      .list = {.wants_all = true}};
    world_request(w, &request);
}

/* What the step that was just made tells. */
static void assert_piece(struct world *w, const char *text, bool has_more)
{
    const struct control_effect *e = &w->out.list[w->out.count - 1];
    assert_int_equal(e->kind, CONTROL_EFFECT_REPLY);
    assert_int_equal(e->reply.error, KERR_NONE);
    assert_int_equal(e->reply.has_more, has_more);
    assert_string_equal(buf_text(&w->reply.text), text);
}

static void tick(struct world *w)
{
    assert_true(w->out.has_more);
    world_event(w, &(struct control_event){.kind = CONTROL_ON_TICK});
}

static void pieces_are_in_order(void **state)
{
    struct world w;
    (void)state;
    world_moving(&w);
    list_ask(&w);
    assert_piece(&w, "a-0 RS[1,3,2] AR[3] RR[2]\na-1 RS[1,3,2] AR[3] RR[2]\n", true);
    tick(&w);
    assert_piece(&w, "a-2 RS[1,3,2] AR[3] RR[2]\nb-0 RS[1,3,2] AR[3] RR[2]\n", true);
    tick(&w);
    assert_piece(&w, "b-1 RS[1,3,2] AR[3] RR[2]\nb-2 RS[1,3,2] AR[3] RR[2]\n", false);
    assert_false(w.out.has_more);
    world_deinit(&w);
}

/* Two lists: the second one begins when the first is told. */
static void lists_wait_for_each_other(void **state)
{
    struct world w;
    (void)state;
    world_moving(&w);
    list_ask(&w);
    uint64_t first = w.reply_token;
    list_ask(&w);
    assert_int_equal(w.reply_token, first);
    tick(&w);
    assert_int_equal(w.out.count, 2);
    assert_int_equal(w.out.list[0].reply.token, first + 1);
    assert_true(w.out.list[0].reply.has_more);
    assert_int_equal(w.out.list[1].reply.token, first);
    assert_false(w.out.list[1].reply.has_more);
    while (w.out.has_more) {
        tick(&w);
    }
    assert_int_equal(w.reply_token, first + 1);
    assert_piece(&w, "b-1 RS[1,3,2] AR[3] RR[2]\nb-2 RS[1,3,2] AR[3] RR[2]\n", false);
    world_deinit(&w);
}

/* A topic that goes, and a move that ends, before their turn. */
static void what_goes_meanwhile_is_left_out(void **state)
{
    struct world w;
    (void)state;
    world_moving(&w);
    list_ask(&w);
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_TOPIC_GONE, .name = slice_str("b")});
    assert_piece(&w, "a-2 RS[1,3,2] AR[3] RR[2]\n", false);
    world_deinit(&w);
}

static void the_end_of_the_role_ends_a_list(void **state)
{
    struct world w;
    (void)state;
    world_moving(&w);
    list_ask(&w);
    world_resign(&w);
    assert_int_equal(w.reply.error, KERR_NOT_CONTROLLER);
    assert_int_equal(w.reply.count, 0);
    world_elect(&w);
    world_run(&w);
    list_ask(&w);
    assert_int_equal(w.reply.error, KERR_NONE);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_in_order),
        cmocka_unit_test(lists_wait_for_each_other),
        cmocka_unit_test(what_goes_meanwhile_is_left_out),
        cmocka_unit_test(the_end_of_the_role_ends_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
