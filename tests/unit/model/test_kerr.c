/*
 * The names of protocol errors, against the table of docs/spec/protocol.md section 10.
 */
#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A row has up to three entries "| code | NAME | retriable |". */
static int check_row(const char *line)
{
    int checked = 0;
    for (const char *at = line; at != NULL; at = strchr(at + 1, '|')) {
        int code;
        char name[64];
        if (sscanf(at, "| %d | %63[A-Z_] |", &code, name) == 2) {
            assert_string_equal(name, kerr_name((int16_t)code));
            checked++;
        }
    }
    return checked;
}

static void names_are_those_of_the_specification(void **state)
{
    (void)state;
    FILE *file = fopen(KLAMM_SOURCE_DIR "/docs/spec/protocol.md", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    int checked = 0;
    bool is_in_table = false;
    while (getline(&line, &cap, file) > 0) {
        if (strncmp(line, "## ", 3) == 0) {
            is_in_table = strncmp(line, "## 10 ", 6) == 0;
        }
        checked += is_in_table ? check_row(line) : 0;
    }
    free(line);
    fclose(file);
    assert_int_equal(135, checked); /* -1 to 133 */
}

static void other_codes_have_the_unknown_name(void **state)
{
    (void)state;
    assert_string_equal("UNKNOWN_SERVER_ERROR", kerr_name(-2));
    assert_string_equal("UNKNOWN_SERVER_ERROR", kerr_name(INT16_MAX));
    assert_int_equal(6, KERR_NOT_LEADER_OR_FOLLOWER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_specification),
        cmocka_unit_test(other_codes_have_the_unknown_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
