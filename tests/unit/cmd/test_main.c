/*
 * The program as it was built: commands reach the folder that has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* The exit status; what was printed goes to text. */
static int run(const char *arguments, char *text, size_t size)
{
    char line[512];
    (void)snprintf(line, sizeof line, KLAMM_BINARY_DIR "/klamm %s 2>&1", arguments);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    size_t len = fread(text, 1, size - 1, pipe);
    text[len] = '\0';
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void commands_reach_their_folder(void **state)
{
    (void)state;
    char text[16384];
    assert_int_equal(run("dev --help", text, sizeof text), 0);
    assert_non_null(strstr(text, "Usage: klamm dev [options]"));
    assert_int_equal(run("topics --help", text, sizeof text), 0);
    assert_non_null(strstr(text, "klamm topics"));
    assert_int_equal(run("--help", text, sizeof text), 0);
    assert_non_null(strstr(text, "  dev "));
    assert_non_null(strstr(text, "  server "));
    assert_int_equal(run("server --help", text, sizeof text), 0);
    assert_non_null(strstr(text, "Usage: klamm server [options]"));
    assert_int_equal(run("frob", text, sizeof text), 2);
    assert_non_null(strstr(text, "frob"));
}

static void output_that_a_full_disk_refuses_is_a_failure(void **state)
{
    (void)state;
    char text[16384];
    assert_int_equal(run("topics --help >/dev/full", text, sizeof text), 1);
}

/* A file that got the number of a closed standard stream would be damaged by messages. */
static void closed_streams_are_filled(void **state)
{
    (void)state;
    char text[16384];
    assert_int_equal(run("topics --help <&- >&- #", text, sizeof text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_streams_are_filled),
        cmocka_unit_test(output_that_a_full_disk_refuses_is_a_failure),
        cmocka_unit_test(commands_reach_their_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
