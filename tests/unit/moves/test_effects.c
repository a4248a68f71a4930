/*
 * Effects own their texts until the next step.
 */
#include "world.h"

static void texts_of_effects_are_their_own(void **state)
{
    (void)state;
    struct moves_effects out;
    struct moves *m = moves_new(&(struct moves_lookup){NULL, world_lookup, world_is_live});
    char text[] = "changed later";
    moves_effects_init(&out);
    m->out = &out;
    struct slice copy = moves_effect_text(m, slice_str(text));
    moves_log(m, text);
    text[0] = 'C';
    assert_true(slice_equal_str(copy, "changed later"));
    assert_int_equal(out.count, 1);
    assert_int_equal(out.list[0].kind, MOVES_EFFECT_LOG);
    assert_string_equal(out.list[0].text, "changed later");
    for (int32_t i = 0; i < 200; i++) {
        moves_log(m, "more than the list had room for");
    }
    assert_int_equal(out.count, 201);
    m->out = NULL;
    moves_effects_deinit(&out);
    moves_effects_deinit(NULL);
    moves_free(m);
    moves_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_effects_are_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
