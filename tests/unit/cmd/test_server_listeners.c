/*
 * Listeners: what the four properties mean together, and which combinations are refused under which
 * name.
 */
#include "cmd/server_listeners.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#define TWO "listeners=internal://10.0.0.1:9093, Client://:9092"
#define MAP "listener.security.protocol.map=INTERNAL:PLAINTEXT,client:PLAINTEXT"

/* Lines of KEY=VALUE, NULL at the end. */
static int parse(const char *const *lines, struct cmd_server_listeners *ret, int *ret_key,
                 struct errmsg *em)
{
    struct config_set set;
    config_set_init(&set, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_STATIC, NULL);
    for (int i = 0; lines[i] != NULL; i++) {
        struct slice key;
        struct slice value;
        assert_int_equal(config_parse_line(slice_str(lines[i]), &key, &value, em), 0);
        assert_int_equal(config_set_put(&set, key, value, em), 0);
    }
    int err = cmd_server_listeners_parse(&set, ret, ret_key, em);
    config_set_deinit(&set);
    return err;
}

static void assert_listener(const struct cmd_server_listener *l, const char *expected)
{
    char text[200];
    (void)snprintf(text, sizeof text, "%s at %s:%u told as %s:%u%s", l->name, l->host,
                   (unsigned)l->port, l->advertised_host, (unsigned)l->advertised_port,
                   l->is_hidden ? " hidden" : "");
    assert_string_equal(text, expected);
}

static void one_plain_listener_is_the_default(void **state)
{
    (void)state;
    struct cmd_server_listeners l;
    struct errmsg em = {""};
    int key;
    assert_int_equal(parse((const char *const[]){NULL}, &l, &key, &em), 0);
    assert_int_equal(l.count, 1);
    assert_int_equal(l.inter_broker, 0);
    assert_listener(&l.list[0], "PLAINTEXT at :9092 told as :9092");
    cmd_server_listeners_deinit(&l);
}

static void brokers_and_clients_have_listeners_of_their_own(void **state)
{
    (void)state;
    struct cmd_server_listeners l;
    struct errmsg em = {""};
    int key;
    const char *const lines[] = {TWO, MAP, "inter.broker.listener.name=Internal",
                                 "advertised.listeners=CLIENT://kafka1.example.net:19092,"
                                 "INTERNAL://[fd00::1]:9093",
                                 NULL};
    assert_int_equal(parse(lines, &l, &key, &em), 0);
    assert_string_equal(em.text, "");
    assert_int_equal(l.count, 2);
    assert_int_equal(l.inter_broker, 0);
    assert_listener(&l.list[0], "INTERNAL at 10.0.0.1:9093 told as fd00::1:9093");
    assert_listener(&l.list[1], "CLIENT at :9092 told as kafka1.example.net:19092");
    cmd_server_listeners_deinit(&l);
}

static void listener_that_is_not_advertised_is_hidden(void **state)
{
    (void)state;
    struct cmd_server_listeners l;
    struct errmsg em = {""};
    int key;
    const char *const lines[] = {TWO, MAP, "inter.broker.listener.name=INTERNAL",
                                 "advertised.listeners=INTERNAL://b:1", NULL};
    assert_int_equal(parse(lines, &l, &key, &em), 0);
    assert_listener(&l.list[0], "INTERNAL at 10.0.0.1:9093 told as b:1");
    assert_listener(&l.list[1], "CLIENT at :9092 told as :0 hidden");
    cmd_server_listeners_deinit(&l);
}

static void faults_name_their_property(void **state)
{
    (void)state;
    static const struct {
        const char *lines[4];
        int key;
        const char *reason;
    } rows[] = {
        {{"listeners=A"}, CONFIG_BROKER_LISTENERS, "must be NAME://HOST:PORT"},
        {{"listeners=,"}, CONFIG_BROKER_LISTENERS, "must be NAME://HOST:PORT"},
        {{"listeners=://a:1"},
         CONFIG_BROKER_LISTENERS,
         "a listener's name has letters, digits, '.', '_' and '-'"},
        {{"listeners=A b://a:1"},
         CONFIG_BROKER_LISTENERS,
         "a listener's name has letters, digits, '.', '_' and '-'"},
        {{"listeners=A://a:1,a://b:2"}, CONFIG_BROKER_LISTENERS, "A is there twice"},
        {{"listeners=A://a:1,B://b:1"}, CONFIG_BROKER_LISTENERS, "two listeners have port 1"},
        {{TWO},
         CONFIG_BROKER_LISTENERS,
         "INTERNAL needs its protocol in listener.security.protocol.map, as in INTERNAL:PLAINTEXT"},
        {{TWO, "listener.security.protocol.map=INTERNAL:PLAINTEXT"},
         CONFIG_BROKER_LISTENER_PROTOCOL_MAP,
         "CLIENT needs its protocol in listener.security.protocol.map, as in CLIENT:PLAINTEXT"},
        {{"listeners=SSL://:9092"},
         CONFIG_BROKER_LISTENERS,
         "SSL is to speak SSL: PLAINTEXT is all there is"},
        {{TWO, "listener.security.protocol.map=INTERNAL:PLAINTEXT,CLIENT:SASL_SSL"},
         CONFIG_BROKER_LISTENER_PROTOCOL_MAP,
         "CLIENT is to speak SASL_SSL: PLAINTEXT is all there is"},
        {{TWO, MAP},
         CONFIG_BROKER_INTER_BROKER_LISTENER,
         "must be one of the listeners, by which brokers talk"},
        {{TWO, MAP, "inter.broker.listener.name=OTHER"},
         CONFIG_BROKER_INTER_BROKER_LISTENER,
         "must be one of the listeners, by which brokers talk"},
        {{"inter.broker.listener.name=PLAINTEXT", "security.inter.broker.protocol=PLAINTEXT"},
         CONFIG_BROKER_INTER_BROKER_LISTENER,
         "only one of it and security.inter.broker.protocol"},
        {{"advertised.listeners=CLIENT://a:1"},
         CONFIG_BROKER_ADVERTISED_LISTENERS,
         "CLIENT is not among the listeners"},
        {{"advertised.listeners=PLAINTEXT://a:1,PLAINTEXT://b:2"},
         CONFIG_BROKER_ADVERTISED_LISTENERS,
         "PLAINTEXT is there twice"},
        {{"listeners=PLAINTEXT://:1,CLIENT://:2", MAP ",PLAINTEXT:PLAINTEXT",
          "advertised.listeners=CLIENT://a:2"},
         CONFIG_BROKER_INTER_BROKER_LISTENER,
         "other brokers need it: add it to advertised.listeners"},
        {{"advertised.listeners=PLAINTEXT://:::1"},
         CONFIG_BROKER_ADVERTISED_LISTENERS,
         "an IPv6 address needs brackets"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cmd_server_listeners l;
        struct errmsg em = {""};
        int key = CONFIG_KEY_NONE;
        assert_int_equal(parse(rows[i].lines, &l, &key, &em), -E_INVALID);
        assert_string_equal(em.text, rows[i].reason);
        assert_int_equal(key, rows[i].key);
    }
}

static void only_so_many_listeners_are_taken(void **state)
{
    (void)state;
    char line[1000] = "listeners=A0://a:1";
    for (int i = 1; i <= BROKER_LISTENERS_MAX; i++) {
        size_t len = strlen(line);
        (void)snprintf(line + len, sizeof line - len, ",A%d://a:%d", i, i + 1);
    }
    struct cmd_server_listeners l;
    struct errmsg em = {""};
    int key;
    assert_int_equal(parse((const char *const[]){line, NULL}, &l, &key, &em), -E_INVALID);
    assert_string_equal(em.text, "more than 16 listeners");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_plain_listener_is_the_default),
        cmocka_unit_test(brokers_and_clients_have_listeners_of_their_own),
        cmocka_unit_test(listener_that_is_not_advertised_is_hidden),
        cmocka_unit_test(faults_name_their_property),
        cmocka_unit_test(only_so_many_listeners_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
