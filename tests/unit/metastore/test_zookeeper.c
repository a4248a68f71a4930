/*
 * The ZooKeeper backend's configuration: what connect strings mean, who may read what is created, and
 * the codes of the client. No server is needed.
 */
#include "metastore/zookeeper_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

static struct metastore_zk_factory *factory_of(const struct metastore_zookeeper_config *config)
{
    struct metastore_factory *factory = NULL;
    struct errmsg em = {""};
    int err = metastore_zookeeper_new(config, &factory, &em);
    assert_string_equal(em.text, "");
    assert_int_equal(err, 0);
    return CONTAINER_OF(factory, struct metastore_zk_factory, base);
}

static void assert_parsed(const char *connect, const char *hosts, const char *chroot)
{
    struct metastore_zookeeper_config config = {.connect = connect};
    struct metastore_zk_factory *f = factory_of(&config);
    assert_string_equal(f->hosts, hosts);
    assert_string_equal(f->chroot, chroot);
    metastore_zookeeper_free(&f->base);
}

static void assert_refused(const struct metastore_zookeeper_config *config, const char *reason)
{
    struct metastore_factory *factory = NULL;
    struct errmsg em = {""};
    assert_int_equal(metastore_zookeeper_new(config, &factory, &em), -E_INVALID);
    assert_string_equal(em.text, reason);
    assert_null(factory);
}

static void assert_connect_refused(const char *connect, const char *reason)
{
    struct metastore_zookeeper_config config = {.connect = connect};
    assert_refused(&config, reason);
}

static void connect_string_has_hosts_ports_and_a_chroot(void **state)
{
    (void)state;
    assert_parsed("a", "a:2181", "");
    assert_parsed("a:1,b,c:65535", "a:1,b:2181,c:65535", "");
    assert_parsed("127.0.0.1:2182/", "127.0.0.1:2182", "");
    assert_parsed("a:1,b:2/kafka/one", "a:1,b:2", "/kafka/one");
    assert_parsed("[::1]:2182,[fe80::1]", "::1:2182,fe80::1:2181", "");
}

static void bad_connect_strings_are_named(void **state)
{
    (void)state;
    static const char bad_port[] = "the port is not a number from 1 to 65535";
    char text[128];
    static const char *const hosts[] = {"a:", "a:0", "a:65536", "a:1x", "[::1]x", "::1"};
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        (void)snprintf(text, sizeof text, "ZooKeeper host \"%s\": %s", hosts[i], bad_port);
        assert_connect_refused(hosts[i], text);
    }
    assert_connect_refused("", "ZooKeeper host \"\": the name is empty");
    assert_connect_refused("a,,b", "ZooKeeper host \"\": the name is empty");
    assert_connect_refused("a, b",
                           "ZooKeeper host \" b\": the name has a character that no name has");
    assert_connect_refused("a/b/", "ZooKeeper chroot \"/b/\" is not a path");
    assert_connect_refused("a/b/c/../d", "ZooKeeper chroot \"/b/c/../d\" is not a path");
    assert_connect_refused("a:1,b:2/x,c:3/x",
                           "\"/x,c:3/x\" is no chroot, which comes once, behind the last "
                           "ZooKeeper host");
}

static void number_of_hosts_is_bounded(void **state)
{
    (void)state;
    char connect[130] = "";
    for (size_t i = 0; i < 64; i++) {
        memcpy(connect + 2 * i, i == 63 ? "a" : "a,", 2);
    }
    struct metastore_zookeeper_config config = {.connect = connect};
    metastore_zookeeper_free(&factory_of(&config)->base);
    memcpy(connect + 127, ",a", 3);
    assert_connect_refused(connect, "more than 64 ZooKeeper hosts");
}

static void access_lists_need_a_digest(void **state)
{
    (void)state;
    struct metastore_zookeeper_config config = {.connect = "a", .is_acl_set = true};
    assert_refused(&config, "access lists for ZooKeeper need a digest user that owns the nodes");
    config.digest = "user";
    assert_refused(&config, "the ZooKeeper digest is not of the form user:password");
}

static void assert_acl(const struct metastore_zk_factory *f, const char *path, bool is_readable)
{
    const struct ACL_vector *acl = metastore_zk_acl(f, slice_str(path));
    assert_int_equal(acl->count, is_readable ? 2 : 1);
    assert_int_equal(acl->data[0].perms, ZOO_PERM_ALL);
    assert_string_equal(acl->data[0].id.scheme, "auth");
    if (is_readable) {
        assert_int_equal(acl->data[1].perms, ZOO_PERM_READ);
        assert_string_equal(acl->data[1].id.scheme, "world");
        assert_string_equal(acl->data[1].id.id, "anyone");
    }
}

/* Spec section 1. */
static void everybody_may_read_all_but_secrets(void **state)
{
    (void)state;
    struct metastore_zookeeper_config config = {
        .connect = "a", .digest = "user:password", .is_acl_set = true};
    struct metastore_zk_factory *f = factory_of(&config);
    static const char *const open[] = {"/", "/brokers/ids/1", "/config/topics/users",
                                       "/config/users_", "/delegation_token"};
    for (size_t i = 0; i < ARRAY_LEN(open); i++) {
        assert_acl(f, open[i], true);
    }
    static const char *const secret[] = {"/config/users", "/config/users/u", "/config/brokers",
                                         "/config/brokers/1", "/delegation_token/tokens/t"};
    for (size_t i = 0; i < ARRAY_LEN(secret); i++) {
        assert_acl(f, secret[i], false);
    }
    metastore_zookeeper_free(&f->base);

    config.is_acl_set = false;
    f = factory_of(&config);
    assert_ptr_equal(metastore_zk_acl(f, slice_str("/config/users")), &ZOO_OPEN_ACL_UNSAFE);
    metastore_zookeeper_free(&f->base);
}

static void assert_path(const char *connect, const char *path, const char *expected)
{
    struct metastore_zookeeper_config config = {.connect = connect};
    struct metastore_zk_factory *f = factory_of(&config);
    char *got = metastore_zk_path(f, slice_str(path));
    assert_string_equal(got, expected);
    free(got);
    metastore_zookeeper_free(&f->base);
}

static void paths_are_below_the_chroot(void **state)
{
    (void)state;
    assert_path("a", "/", "/");
    assert_path("a", "/x", "/x");
    assert_path("a/k", "/", "/k");
    assert_path("a/k/l", "/x/y", "/k/l/x/y");
}

static void every_code_is_lost_or_an_error(void **state)
{
    (void)state;
    assert_int_equal(metastore_zk_error(ZOK), 0);
    assert_int_equal(metastore_zk_error(ZNONODE), -E_NOT_FOUND);
    assert_int_equal(metastore_zk_error(ZNODEEXISTS), -E_EXISTS);
    assert_int_equal(metastore_zk_error(ZBADVERSION), -E_BAD_VERSION);
    assert_int_equal(metastore_zk_error(ZNOTEMPTY), -E_NOT_EMPTY);
    assert_int_equal(metastore_zk_error(ZNOCHILDRENFOREPHEMERALS), -E_INVALID);
    assert_int_equal(metastore_zk_error(ZNOAUTH), -E_REFUSED);
    assert_int_equal(metastore_zk_error(ZTHROTTLEDOP), -E_SYSTEM);
    static const int lost[] = {ZCONNECTIONLOSS, ZOPERATIONTIMEOUT, ZSESSIONEXPIRED,
                               ZSESSIONMOVED,   ZAUTHFAILED,       ZCLOSING};
    for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
        assert_true(metastore_zk_is_lost(lost[i]));
    }
    assert_false(metastore_zk_is_lost(ZOK));
    assert_false(metastore_zk_is_lost(ZNONODE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connect_string_has_hosts_ports_and_a_chroot),
        cmocka_unit_test(bad_connect_strings_are_named),
        cmocka_unit_test(number_of_hosts_is_bounded),
        cmocka_unit_test(access_lists_need_a_digest),
        cmocka_unit_test(everybody_may_read_all_but_secrets),
        cmocka_unit_test(paths_are_below_the_chroot),
        cmocka_unit_test(every_code_is_lost_or_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
