/*
 * The configuration of `klamm server`: what a file means, and that every fault is found with its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/server_config.h"

#include "base/check.h"
#include "sim/env/sim.h"

#include <stdlib.h>

#define GOOD "zookeeper.connect=zoo:2181/k\nlog.dirs=/a\n"

struct result {
    struct cmd_server_config config;
    char *errors;
    char *warnings;
    int err;
};

static struct result parse(const char *text, const char *override)
{
    struct result r = {0};
    struct cmd_server_faults faults;
    struct cmd_server_sources sources = {
        .path = "f", .overrides = &override, .override_count = override == NULL ? 0 : 1};
    cmd_server_faults_init(&faults);
    r.err = cmd_server_config_parse(slice_str(text), &sources, &r.config, &faults);
    r.errors = slice_dup(buf_slice(&faults.errors));
    r.warnings = slice_dup(buf_slice(&faults.warnings));
    cmd_server_faults_deinit(&faults);
    assert_int_equal(r.err, r.errors[0] == '\0' ? 0 : -E_INVALID);
    return r;
}

static void result_free(struct result *r)
{
    if (r->err == 0) {
        cmd_server_config_deinit(&r->config);
    }
    free(r->errors);
    free(r->warnings);
}

static void values_become_what_the_broker_needs(void **state)
{
    (void)state;
    struct result r = parse("zookeeper.connect = zoo1,zoo2:2182/k\n"
                            "log.dirs = /a, /b/ ,/c\n"
                            "listeners = PLAINTEXT://[::1]:9093\n"
                            "advertised.listeners = PLAINTEXT://kafka1.example.net:19093\n"
                            "broker.id = 1\n"
                            "num.partitions = 3\n",
                            "broker.id=7");
    assert_string_equal(r.errors, "");
    assert_string_equal(r.warnings, "");
    assert_int_equal(r.config.id, 7);
    assert_string_equal(r.config.listeners.list[0].host, "::1");
    assert_int_equal(r.config.listeners.list[0].port, 9093);
    assert_string_equal(r.config.listeners.list[0].advertised_host, "kafka1.example.net");
    assert_int_equal(r.config.listeners.list[0].advertised_port, 19093);
    assert_int_equal(r.config.log_dir_count, 3);
    assert_string_equal(r.config.log_dirs[0], "/a");
    assert_string_equal(r.config.log_dirs[1], "/b");
    assert_string_equal(r.config.log_dirs[2], "/c");
    assert_int_equal(r.config.setting_count, 6);
    assert_null(r.config.digest);
    result_free(&r);
}

static void what_is_left_out_has_kafkas_defaults(void **state)
{
    (void)state;
    struct result r = parse(GOOD, NULL);
    assert_string_equal(r.errors, "");
    assert_int_equal(r.config.id, -1);
    assert_string_equal(r.config.listeners.list[0].host, "");
    assert_int_equal(r.config.listeners.list[0].port, 9092);
    assert_string_equal(r.config.listeners.list[0].advertised_host, "");
    assert_int_equal(r.config.listeners.list[0].advertised_port, 9092);
    result_free(&r);
    r = parse("zookeeper.connect=zoo\nlog.dir=/one\nlisteners=PLAINTEXT://0.0.0.0:1\n", NULL);
    assert_string_equal(r.errors, "");
    assert_int_equal(r.config.log_dir_count, 1);
    assert_string_equal(r.config.log_dirs[0], "/one");
    assert_string_equal(r.config.listeners.list[0].host, "0.0.0.0");
    assert_string_equal(r.config.listeners.list[0].advertised_host, "");
    result_free(&r);
}

static void unknown_keys_warn(void **state)
{
    (void)state;
    struct result r = parse(GOOD "no.such.key=1\ninter.broker.protocol.version=2.8-IV1\n", "x=1");
    assert_string_equal(r.errors, "");
    assert_string_equal(r.warnings, "f:3: Unknown configuration no.such.key is ignored\n"
                                    "--override: Unknown configuration x is ignored\n");
    result_free(&r);
}

static void faults_are_found_at_once_with_their_places(void **state)
{
    (void)state;
    struct result r = parse(GOOD "num.partitions=0\n\nmin.insync.replicas=x\n", "broker.id");
    assert_string_equal(
        r.errors,
        "f:3: Invalid value 0 for configuration num.partitions: must be from 1 to 2147483647\n"
        "f:5: Invalid value x for configuration min.insync.replicas: not a whole number\n"
        "--override: \"broker.id\" is not KEY=VALUE\n");
    result_free(&r);
    r = parse("", NULL);
    assert_string_equal(
        r.errors, "f: Missing configuration log.dirs: the directories of the logs, comma between\n"
                  "f: Missing configuration zookeeper.connect: where ZooKeeper is, as "
                  "host:port,.../chroot\n");
    result_free(&r);
    r = parse("a=\\u12", NULL);
    assert_string_equal(r.errors, "f:1: \\u needs four hexadecimal digits\n");
    result_free(&r);
}

static void values_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *override;
        const char *error;
    } rows[] = {
        {"listeners=PLAINTEXT://a:1,PLAINTEXT://b:2", "PLAINTEXT is there twice"},
        {"listeners=SSL://a:1", "SSL is to speak SSL: PLAINTEXT is all there is"},
        {"listeners=PLAINTEXT://a", "the port must be a number from 0 to 65535"},
        {"listeners=PLAINTEXT://a:65536", "the port must be a number from 0 to 65535"},
        {"listeners=PLAINTEXT://::1:9", "an IPv6 address needs brackets"},
        {"listeners=PLAINTEXT://a b:9", "the host has a character that no name has"},
        {"advertised.listeners=PLAINTEXT://0.0.0.0:9",
         "nobody can connect to every address; name one"},
        {"log.dirs=/a,/b,/a/", "a directory is named twice"},
        {"log.dirs=/a,,/b", "a directory without a name"},
        {"broker.id=1001", "must not be greater than reserved.broker.max.id"},
        {"zookeeper.connect=zoo:0",
         "ZooKeeper host \"zoo:0\": the port is not a number from 1 to 65535"},
        {"zookeeper.set.acl=true",
         "needs klamm.zookeeper.digest.file, whose user will own the nodes"},
        {"klamm.http.host=localhost", "must be a literal address"},
        {"replica.lag.time.max.ms=499", "must not be greater than replica.lag.time.max.ms"},
        {"replica.socket.timeout.ms=499", "must not be greater than replica.socket.timeout.ms"},
        {"broker.id.generation.enable=false",
         "an id is needed while broker.id.generation.enable is false"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct result r = parse(GOOD, rows[i].override);
        size_t len = strlen(r.errors);
        size_t tail = strlen(rows[i].error);
        assert_true(len > tail);
        r.errors[len - 1] = '\0';
        assert_string_equal(r.errors + len - 1 - tail, rows[i].error);
        result_free(&r);
    }
}

static void file_put(struct env *env, const char *path, const char *text)
{
    struct env_file *file = NULL;
    assert_int_equal(env_file_open(env, path, ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file), 0);
    assert_int_equal(env_file_write(file, text, strlen(text), 0), 0);
    env_file_unref(file);
}

static void digest_is_read_from_its_file(void **state)
{
    (void)state;
    static const struct {
        const char *text; /* NULL = no file */
        const char *error;
    } rows[] = {
        {"user:secret\n", ""},
        {"user\n", "/digest:1: must be user:password\n"},
        {"", "/digest:1: must be user:password\n"},
        {NULL, "/digest: cannot be read: not found\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sim_world *world = sim_world_new(1);
        struct env *env = sim_node_env(sim_node_new(world, "n"));
        file_put(env, "/f", GOOD "klamm.zookeeper.digest.file=/digest\n");
        if (rows[i].text != NULL) {
            file_put(env, "/digest", rows[i].text);
        }
        struct cmd_server_sources sources = {.path = "/f"};
        struct cmd_server_config config = {0};
        struct cmd_server_faults faults;
        cmd_server_faults_init(&faults);
        int err = cmd_server_config_read(env, &sources, &config, &faults);
        char *errors = slice_dup(buf_slice(&faults.errors));
        assert_string_equal(errors, rows[i].error);
        assert_int_equal(err, rows[i].error[0] == '\0' ? 0 : -E_INVALID);
        if (err == 0) {
            assert_string_equal(config.digest, "user:secret");
            cmd_server_config_deinit(&config);
        }
        free(errors);
        cmd_server_faults_deinit(&faults);
        sim_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_become_what_the_broker_needs),
        cmocka_unit_test(what_is_left_out_has_kafkas_defaults),
        cmocka_unit_test(unknown_keys_warn),
        cmocka_unit_test(faults_are_found_at_once_with_their_places),
        cmocka_unit_test(values_that_do_not_fit_are_refused),
        cmocka_unit_test(digest_is_read_from_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
