/*
 * Effects live until the next step and can be reset and thrown away at any time.
 */
#include "unit/control/harness.h"

static void effects_are_replaced_by_the_next_step(void **state)
{
    struct control_effects out;
    (void)state;
    struct control *c = control_new(&(struct control_config){.seed = 1});
    control_effects_init(&out);
    struct control_event events[] = {{.kind = CONTROL_ON_ELECTED, .controller_epoch = 4},
                                     {.kind = CONTROL_ON_LOADED}};
    control_step(c, 0, events, 2, &out);
    assert_int_equal(out.count, 1);
    assert_int_equal(out.list[0].kind, CONTROL_EFFECT_LOG);
    assert_string_equal(out.list[0].text, "controller with epoch 4: 0 brokers, 0 topics, 0 moves");
    assert_true(control_is_active(c));
    control_step(c, 0, &(struct control_event){.kind = CONTROL_ON_TICK}, 1, &out);
    assert_int_equal(out.count, 0);
    assert_true(out.wake_ms == INT64_MAX);
    control_effects_reset(&out);
    control_effects_deinit(&out);
    control_free(c);
}

static void the_reason_to_resign_is_told_once(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_kill(&w, 1);
    struct world_write *k = CONTAINER_OF(list_pop(&w.writes), struct world_write, link);
    struct control_event done = {
        .kind = CONTROL_ON_WRITE_DONE, .write_id = k->body.id, .outcome = CONTROL_FENCED};
    world_write_free(k);
    world_event(&w, &done);
    world_event(&w, &done);
    world_brokers_tell(&w);
    assert_int_equal(w.out.count, 0);
    const char *line = strstr(buf_text(&w.log), "resign: ");
    assert_non_null(line);
    assert_null(strstr(line + 1, "resign: "));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_are_replaced_by_the_next_step),
        cmocka_unit_test(the_reason_to_resign_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
