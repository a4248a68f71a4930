/*
 * The size of requests to ZooKeeper, which must not be underestimated: a server drops the connection of
 * who sends too much. What requests do is tested against a real server, in tests/system.
 */
#include "metastore/zookeeper_private.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#define JUTE_MAXBUFFER 0xfffff /* a server's default */

static struct metastore_op create_of(const char *path, size_t data_len, const uint8_t *data)
{
    return (struct metastore_op){
        .kind = METASTORE_CREATE, .path = slice_str(path), .data = slice_of(data, data_len)};
}

static void largest_node_fits_one_request(void **state)
{
    (void)state;
    uint8_t *data = xalloc(METASTORE_DATA_MAX);
    struct metastore_op op = create_of("/config/topics/a-topic", METASTORE_DATA_MAX, data);
    assert_in_range(metastore_zk_request_bytes(&op, 1, strlen("/kafka/cluster")),
                    METASTORE_DATA_MAX, JUTE_MAXBUFFER);
    free(data);
}

/* What the client writes for a create: a header of 9 for the multi, the path, the data and an access
 * list of two entries, each with its length, and the flags. */
static void estimate_is_an_upper_bound(void **state)
{
    (void)state;
    static const uint8_t data[100] = {0};
    struct metastore_op ops[2] = {create_of("/a", sizeof data, data),
                                  create_of("/a/b", sizeof data, data)};
    const size_t chroot_len = 10;
    size_t acl =
        4 + (4 + 4 + strlen("auth") + 4) + (4 + 4 + strlen("world") + 4 + strlen("anyone"));
    size_t each = 9 + 4 + chroot_len + 4 + sizeof data + acl + 4;
    size_t wire = 8 + 2 * each + strlen("/a") + strlen("/a/b") + 9;
    assert_true(metastore_zk_request_bytes(ops, 2, chroot_len) >= wire);
}

static void every_part_counts(void **state)
{
    (void)state;
    static const uint8_t data[3] = {0};
    struct metastore_op op = create_of("/abc", 0, data);
    size_t base = metastore_zk_request_bytes(&op, 1, 0);
    op.data = slice_of(data, 3);
    assert_int_equal(metastore_zk_request_bytes(&op, 1, 0), base + 3);
    op.path = slice_str("/abcdef");
    assert_int_equal(metastore_zk_request_bytes(&op, 1, 0), base + 6);
    assert_true(metastore_zk_request_bytes(&op, 1, 5) >= base + 11);
    assert_true(metastore_zk_request_bytes(&op, 0, 0) < base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_node_fits_one_request),
        cmocka_unit_test(estimate_is_an_upper_bound),
        cmocka_unit_test(every_part_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
