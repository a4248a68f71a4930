/*
 * The table of properties: every row is complete, accepts its own default, and falls back in finitely
 * many steps.
 */
#include "model/config.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void each_row(void (*check)(enum config_scope scope, int key, const struct config_def *def))
{
    for (int scope = CONFIG_SCOPE_BROKER; scope <= CONFIG_SCOPE_TOPIC; scope++) {
        for (int key = 0; key < config_count((enum config_scope)scope); key++) {
            check((enum config_scope)scope, key, config_def_at((enum config_scope)scope, key));
        }
    }
}

static void check_default(enum config_scope scope, int key, const struct config_def *def)
{
    struct errmsg em = {""};
    if (def->default_text != NULL) {
        assert_int_equal(config_check(def, slice_str(def->default_text), &em), 0);
    }
    assert_string_equal(em.text, "");
    assert_int_equal(config_find(scope, slice_str(def->name)), key);
}

static void defaults_pass_their_own_check(void **state)
{
    (void)state;
    each_row(check_default);
}

static void check_doc(enum config_scope scope, int key, const struct config_def *def)
{
    (void)scope;
    (void)key;
    assert_non_null(def->doc);
    assert_true(strlen(def->doc) > 10);
    assert_int_equal(def->doc[strlen(def->doc) - 1], '.');
}

static void rows_are_documented_in_sentences(void **state)
{
    (void)state;
    each_row(check_doc);
}

/* Every topic property has a broker's to fall back to, or a default. */
static void check_fallback(enum config_scope scope, int key, const struct config_def *def)
{
    (void)key;
    for (int steps = 0; def->fallback != CONFIG_KEY_NONE; steps++) {
        assert_true(steps < 4);
        assert_null(def->default_text);
        assert_true(def->fallback_factor >= 1);
        def = config_def_at(CONFIG_SCOPE_BROKER, def->fallback);
    }
    assert_true(scope == CONFIG_SCOPE_BROKER || def->default_text != NULL);
}

static void fallbacks_end_at_a_default(void **state)
{
    (void)state;
    each_row(check_fallback);
}

static void unknown_names_are_not_found(void **state)
{
    (void)state;
    assert_int_equal(config_find(CONFIG_SCOPE_TOPIC, slice_str("log.retention.ms")),
                     CONFIG_KEY_NONE);
    assert_int_equal(config_find(CONFIG_SCOPE_BROKER, slice_str("")), CONFIG_KEY_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_pass_their_own_check),
        cmocka_unit_test(rows_are_documented_in_sentences),
        cmocka_unit_test(fallbacks_end_at_a_default),
        cmocka_unit_test(unknown_names_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
