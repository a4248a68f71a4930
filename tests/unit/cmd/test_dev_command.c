/*
 * The command lines of `klamm dev`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "cmd/dev_command.h"

#include <stdio.h>
#include <stdlib.h>

static const struct cmd_dev_home user = {.home = "/home/u"};

/* Words are split at blanks. */
static int parse(const char *line, const struct cmd_dev_home *home, struct cmd_dev_command *ret,
                 struct errmsg *em)
{
    char *copy = slice_dup(slice_str(line));
    char *words[24];
    int count = 0;
    char *rest = copy;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] != '\0') {
            words[count++] = word;
        }
    }
    int err = cmd_dev_command_parse(count, words, home, ret, em);
    free(copy);
    return err;
}

static struct cmd_dev_command parsed(const char *line)
{
    struct cmd_dev_command c = {0};
    struct errmsg em = {""};
    int err = parse(line, &user, &c, &em);
    assert_string_equal(em.text, "");
    assert_int_equal(err, 0);
    return c;
}

static void bare_command_hosts_with_defaults(void **state)
{
    (void)state;
    struct cmd_dev_command c = parsed("");
    assert_int_equal(c.action, CMD_DEV_HOST);
    assert_int_equal(c.broker_count, 0);
    assert_int_equal(c.port, CMD_DEV_PORT_ANY_BASE);
    assert_int_equal(c.http_port, CMD_DEV_HTTP_PORT_NONE);
    assert_int_equal(c.log_dir_count, 1);
    assert_false(c.is_in_memory);
    assert_int_equal(c.session_timeout_ms, 2000);
    assert_int_equal(c.setting_count, 1);
    assert_string_equal(c.settings[0].key, "controlled.shutdown.retry.backoff.ms");
    assert_string_equal(c.directory, "/home/u/.local/share/klamm/dev");
    cmd_dev_command_deinit(&c);
}

static void host_takes_its_options(void **state)
{
    (void)state;
    struct cmd_dev_command c =
        parsed("--brokers 6 --dir /d --port=0 --http-port 9192 --log-dirs 2 --in-memory "
               "--session-timeout-ms 500 --set a=b --set c=d=e --set f=");
    assert_int_equal(c.broker_count, 6);
    assert_string_equal(c.directory, "/d");
    assert_int_equal(c.port, 0);
    assert_int_equal(c.http_port, 9192);
    assert_int_equal(c.log_dir_count, 2);
    assert_true(c.is_in_memory);
    assert_int_equal(c.session_timeout_ms, 500);
    assert_int_equal(c.setting_count, 4); /* one is ours; these come behind it and win */
    assert_string_equal(c.settings[1].key, "a");
    assert_string_equal(c.settings[1].value, "b");
    assert_string_equal(c.settings[2].value, "d=e");
    assert_string_equal(c.settings[3].value, "");
    cmd_dev_command_deinit(&c);
}

static void data_home_wins_when_it_is_absolute(void **state)
{
    (void)state;
    static const struct {
        struct cmd_dev_home home;
        const char *directory;
    } cases[] = {{{"/data", "/home/u"}, "/data/klamm/dev"},
                 {{"data", "/home/u"}, "/home/u/.local/share/klamm/dev"},
                 {{"", "/home/u"}, "/home/u/.local/share/klamm/dev"},
                 {{"/data", NULL}, "/data/klamm/dev"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cmd_dev_command c;
        struct errmsg em;
        assert_int_equal(parse("status", &cases[i].home, &c, &em), 0);
        assert_string_equal(c.directory, cases[i].directory);
        cmd_dev_command_deinit(&c);
    }
    struct cmd_dev_command c;
    struct errmsg em;
    assert_int_equal(parse("status", &(struct cmd_dev_home){0}, &c, &em), -E_INVALID);
    assert_non_null(strstr(em.text, "neither --dir nor HOME"));
}

static void brokers_are_named_by_id(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum cmd_dev_action action;
    } cases[] = {{"stop 3", CMD_DEV_STOP},
                 {"kill --dir /d 3", CMD_DEV_KILL},
                 {"start 3 --dir /d", CMD_DEV_START}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cmd_dev_command c = parsed(cases[i].line);
        assert_int_equal(c.action, cases[i].action);
        assert_int_equal(c.broker_id, 3);
        cmd_dev_command_deinit(&c);
    }
    struct cmd_dev_command c = parsed("status --json");
    assert_int_equal(c.action, CMD_DEV_STATUS);
    assert_true(c.is_json);
    cmd_dev_command_deinit(&c);
}

static void help_wins_over_what_is_missing(void **state)
{
    (void)state;
    static const char *const lines[] = {"--help", "stop --help", "kill --help", "start --help",
                                        "status --help"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct cmd_dev_command c = parsed(lines[i]);
        assert_int_equal(c.action, CMD_DEV_HELP);
        char *text = slice_dup(buf_slice(&c.help));
        bool tells_130 = strstr(text, "130 ended at once") != NULL;
        assert_int_equal(tells_130, i == 0); /* only the cluster itself gets signals */
        assert_non_null(strstr(text, "Usage: klamm dev"));
        assert_non_null(strstr(text, "Example"));
        assert_non_null(strstr(text, "Exit status: 0 done"));
        free(text);
        cmd_dev_command_deinit(&c);
    }
}

static void wrong_lines_are_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *reason;
    } cases[] = {
        {"restart 3", "\"restart\" is not one of"},
        {"stop", "name one broker"},
        {"stop 1 2", "name one broker"},
        {"stop 0", "\"0\" is no broker id"},
        {"kill 4294967299", "is no broker id"},
        {"start x", "\"x\" is no broker id"},
        {"--brokers 0", "--brokers"},
        {"--brokers 65", "--brokers"},
        {"--port 65536", "--port"},
        {"--set nothing", "\"nothing\" is not KEY=VALUE"},
        {"--set =v", "is not KEY=VALUE"},
        {"--http-port 65536", "--http-port"},
        {"--frob", "--frob"},
        {"status 3", "unexpected argument"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cmd_dev_command c;
        struct errmsg em = {""};
        assert_int_equal(parse(cases[i].line, &user, &c, &em), -E_INVALID);
        assert_non_null(strstr(em.text, cases[i].reason));
    }
}

/* They would be accepted and mean nothing: each broker has its own, or an option says it. */
static void properties_that_are_not_everybodys_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "broker.id",
        "broker.id.generation.enable",
        "reserved.broker.max.id",
        "listeners",
        "advertised.listeners",
        "listener.security.protocol.map",
        "inter.broker.listener.name",
        "log.dir",
        "log.dirs",
        "zookeeper.connect",
        "zookeeper.session.timeout.ms",
        "klamm.http.host",
        "klamm.http.port",
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct cmd_dev_command c;
        struct errmsg em = {""};
        char line[80];
        char start[80];
        (void)snprintf(line, sizeof line, "--set a=b --set %s=1", keys[i]);
        (void)snprintf(start, sizeof start, "option --set: %s cannot be set here: ", keys[i]);
        assert_int_equal(parse(line, &user, &c, &em), -E_INVALID);
        assert_memory_equal(em.text, start, strlen(start));
        assert_true(strlen(em.text) > strlen(start));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bare_command_hosts_with_defaults),
        cmocka_unit_test(host_takes_its_options),
        cmocka_unit_test(data_home_wins_when_it_is_absolute),
        cmocka_unit_test(brokers_are_named_by_id),
        cmocka_unit_test(help_wins_over_what_is_missing),
        cmocka_unit_test(wrong_lines_are_refused_with_the_reason),
        cmocka_unit_test(properties_that_are_not_everybodys_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
