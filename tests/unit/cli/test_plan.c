/*
 * The bad plan files B01 to B37 of the field cases, each under our rules and under Kafka's. Topic foo
 * has partitions 0..2 on [1,2,3]; a.b and a_b have one; brokers are 1..6. What a person reads is
 * compared whole.
 */
#include "base/alloc.h"
#include "cli/plan.h"
#include "env/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const int32_t old_list[] = {1, 2, 3};
static const struct klamm_partition foo_partitions[] = {
    {.index = 0, .leader_id = 1, .replicas = {old_list, 3}},
    {.index = 1, .leader_id = 1, .replicas = {old_list, 3}},
    {.index = 2, .leader_id = 1, .replicas = {old_list, 3}},
};
static char name_249[250];
static struct klamm_topic topic_rows[] = {
    {.name = "a.b", .partition_count = 1, .partitions = foo_partitions},
    {.name = "a_b", .partition_count = 1, .partitions = foo_partitions},
    {.name = "foo", .partition_count = 3, .partitions = foo_partitions},
    {.name = name_249, .code = 3},
};
static const struct klamm_broker brokers[] = {{.id = 1}, {.id = 2}, {.id = 3},
                                              {.id = 4}, {.id = 5}, {.id = 6}};
static const struct klamm_cluster cluster = {
    .controller_id = 1, .broker_count = 6, .brokers = brokers};
static const struct klamm_topics topics = {.count = 4, .list = topic_rows};

static const struct cli_plan_rules ours = {.is_strict = true};
static const struct cli_plan_rules kafkas = {.is_strict = false};

struct result {
    struct cli_plan *plan;
    struct cli_faults faults;
    char *text;
};

static struct result read_plan(struct slice text, const struct cli_plan_rules *rules)
{
    struct result r = {0};
    struct cli_plan_view view = {.cluster = &cluster, .topics = &topics};
    cli_faults_init(&r.faults);
    r.plan = cli_plan_parse(text, rules, &r.faults);
    cli_plan_check(r.plan, rules, &view, &r.faults);
    cli_faults_sort(&r.faults);
    struct buf out;
    buf_init(&out);
    cli_faults_print(&r.faults, "p", &out);
    r.text = slice_dup(buf_slice(&out));
    buf_deinit(&out);
    return r;
}

static void result_deinit(struct result *r)
{
    cli_plan_free(r->plan);
    cli_faults_deinit(&r->faults);
    free(r->text);
}

static void expect_text(struct slice text, const struct cli_plan_rules *rules, const char *expected,
                        int line)
{
    struct result r = read_plan(text, rules);
    if (strcmp(r.text, expected) != 0) {
        print_error("line %d:\n  got  %s\n  want %s\n", line, r.text, expected);
        fail();
    }
    result_deinit(&r);
}

#define EXPECT(content, expected)       expect_text(slice_str(content), &ours, expected, __LINE__)
#define EXPECT_KAFKA(content, expected) expect_text(slice_str(content), &kafkas, expected, __LINE__)
#define ENTRY(rest)                     "{\"version\":1,\"partitions\":[{\"topic\":\"foo\",\"partition\":0," rest "}]}"
#define REPLICAS(list)                  ENTRY("\"replicas\":" list)
#define PARTITION(text)                                                                            \
    "{\"partitions\":[{\"topic\":\"foo\",\"partition\":" text ",\"replicas\":[4,5,6]}]}"
#define TOPIC(text) "{\"partitions\":[{\"topic\":" text ",\"partition\":0,\"replicas\":[4,5,6]}]}"

/* What Kafka's tool would say in one sentence. */
static void expect_kafka_message(const char *content, const char *expected)
{
    struct result r = read_plan(slice_str(content), &kafkas);
    struct buf out;
    buf_init(&out);
    cli_faults_print_kafka(&r.faults, &out);
    char *text = slice_dup(buf_slice(&out));
    assert_string_equal(text, expected);
    free(text);
    buf_deinit(&out);
    result_deinit(&r);
}

static void good_plan_is_read_in_order_of_partition(void **state)
{
    (void)state;
    struct result r =
        read_plan(slice_str("{\"version\":1,\"partitions\":["
                            "{\"topic\":\"foo\",\"partition\":2,\"replicas\":[4,5,6]},"
                            "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[6,5,4],"
                            "\"log_dirs\":[\"any\",\"/d1\",\"any\"]}]}"),
                  &ours);
    assert_string_equal(r.text, "");
    assert_int_equal(r.plan->count, 2);
    assert_int_equal(r.plan->entries[0].partition, 0);
    assert_int_equal(r.plan->entries[0].replicas.list[0], 6);
    assert_true(r.plan->entries[0].asks_log_dirs);
    assert_int_equal(r.plan->entries[1].partition, 2);
    assert_false(r.plan->entries[1].asks_log_dirs);
    result_deinit(&r);
}

static void b01_to_b03_nothing_to_read(void **state)
{
    (void)state;
    EXPECT("", "p: the file is empty\n");
    EXPECT("\xef\xbb\xbf \n", "p: the file is empty\n");
    EXPECT("{\"version\":1,\"partitions\":[]}",
           "p:1:27: Partition reassignment list cannot be empty\n");
    EXPECT("{\"version\":1}", "p:1:1: the key \"partitions\" is missing\n");
    EXPECT("{\"partition\":[]}", "p:1:1: the key \"partitions\" is missing\n"
                                 "p:1:2: warning: unknown key \"partition\"\n");
    EXPECT("[]", "p:1:1: the file must hold an object, not an array\n");
    EXPECT("{\"partitions\":{}}", "p:1:15: \"partitions\" must be an array, not an object\n");
}

static void b04_b05_duplicates_show_both_lines(void **state)
{
    (void)state;
    static const char file[] = "{\"partitions\":[\n"
                               "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]},\n"
                               "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[4,5,6]},\n"
                               "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[6,5,1]}]}";
    EXPECT(file, "p:4:1: foo-0: duplicate partition (lines 2 and 4)\n");
    EXPECT_KAFKA(file, "p:4:1: foo-0: duplicate partition (lines 2 and 4)\n");
    expect_kafka_message(file, "Partition reassignment contains duplicate topic partitions: foo-0");
}

static void b06_to_b09_replica_lists(void **state)
{
    (void)state;
    EXPECT(REPLICAS("[]"), "p:1:68: foo-0: Partition replica list cannot be empty\n");
    EXPECT(REPLICAS("[1,2,2]"), "p:1:73: foo-0: broker 2 is in the replica list twice\n");
    EXPECT(REPLICAS("[1,2,99]"),
           "p:1:73: foo-0: broker 99 is unknown (the cluster has 1, 2, 3, 4, 5, 6)\n");
    EXPECT("{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,77]},\n"
           "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[1,2,88]}]}",
           "p:1:61: foo-0: broker 77 is unknown (the cluster has 1, 2, 3, 4, 5, 6)\n"
           "p:2:46: foo-1: broker 88 is unknown (the cluster has 1, 2, 3, 4, 5, 6)\n");
    expect_kafka_message(REPLICAS("[1,2,2]"),
                         "Partition replica lists may not contain duplicate entries: foo-0 "
                         "contains multiple entries for 2");
    expect_kafka_message(REPLICAS("[1,2,99]"), "Unknown broker id 99");
    expect_kafka_message(REPLICAS("[]"), "Partition replica list cannot be empty");
}

static void b10_version_is_one_or_absent(void **state)
{
    (void)state;
#define VERSION(text)                                                                              \
    "{\"version\":" text                                                                           \
    ",\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}"
    EXPECT(VERSION("1"), "");
    EXPECT(VERSION("2"), "p:1:12: Not supported version field value 2 (it must be 1)\n");
    EXPECT(VERSION("0"), "p:1:12: Not supported version field value 0 (it must be 1)\n");
    EXPECT(VERSION("1.0"), "p:1:12: Not supported version field value 1.0 (it must be 1)\n");
    EXPECT(VERSION("\"1\""), "p:1:12: version must be the integer 1, not a string\n");
    EXPECT(VERSION("null"), "p:1:12: version must be the integer 1, not null\n");
    EXPECT_KAFKA(VERSION("18446744073709551617"), "p:1:12: Not supported version field value "
                                                  "18446744073709551617 (it must be 1)\n");
}

static void b11_b12_log_dirs(void **state)
{
    (void)state;
    EXPECT(ENTRY("\"replicas\":[4,5,6],\"log_dirs\":[\"any\"]"),
           "p:1:87: foo-0: the size of the replica list (3) is different from the size of the list "
           "of log directories (1)\n");
    EXPECT(ENTRY("\"replicas\":[4,5,6],\"log_dirs\":[\"any\",\"any\",\"relative/x\"]"),
           "p:1:100: foo-0: a log directory must be \"any\" or an absolute path\n");
    EXPECT(ENTRY("\"replicas\":[4,5,6],\"log_dirs\":[\"any\",\"any\",null]"),
           "p:1:100: foo-0: a log directory must be a string, not null\n");
}

static void b13_b33_syntax_errors_have_a_place(void **state)
{
    (void)state;
    EXPECT("{\"partitions\":[\n {\"topic\":\"foo\",\"partition\":0,\"replicas\":[4]},\n]}",
           "p:3:1: syntax error: a value is missing (is there a comma too many?)\n");
    EXPECT("{\"version\":1,}", "p:1:14: syntax error: a comma in front of the closing brace\n");
    EXPECT("// plan\n{}", "p:1:1: syntax error: JSON has no comments\n");
    EXPECT("{'version':1}", "p:1:2: syntax error: JSON strings stand in double quotes\n");
    EXPECT("{\"version\":NaN}", "p:1:12: syntax error: a value is expected\n");
    EXPECT("{\"version\":nul}",
           "p:1:12: syntax error: unknown word; JSON has true, false and null\n");
    EXPECT("{\"version\":01}", "p:1:14: syntax error: a number must not start with 0\n");
    EXPECT("{\"version\" 1}", "p:1:12: syntax error: a colon is expected behind a key\n");
    EXPECT("{\"partitions\":[", "p:1:16: syntax error: the file ends where a value is expected\n");
    EXPECT("{\"a\":\"\xff\"}", "p:1:7: syntax error: the text is not UTF-8\n");
}

static void b14_b37_bom_crlf_and_tabs_are_accepted(void **state)
{
    (void)state;
    EXPECT("\xef\xbb\xbf" REPLICAS("[4,5,6]"), "");
    EXPECT("{\r\n\t\"partitions\":[\r\n\t{\"topic\":\"foo\",\t\"partition\":0,\r\n\"replicas\":"
           "[4,5,6]}]}\r\n",
           "");
}

static void b15_utf16_is_named(void **state)
{
    (void)state;
    static const char little[] = "\xff\xfe{\0}\0";
    static const char bare[] = "{\0}\0";
    expect_text(slice_of(little, sizeof little - 1), &ours,
                "p: the file is UTF-16 or UTF-32 (or binary); save it as UTF-8\n", __LINE__);
    expect_text(slice_of(bare, sizeof bare - 1), &kafkas,
                "p: the file is UTF-16 or UTF-32 (or binary); save it as UTF-8\n", __LINE__);
}

static void b17_repeated_keys_are_refused_in_both_modes(void **state)
{
    (void)state;
    static const char file[] = ENTRY("\"replicas\":[4,5,6],\n\"replicas\":[1,2,4]");
    EXPECT(file, "p:2:1: foo-0: key \"replicas\" is given twice (first in line 1)\n");
    EXPECT_KAFKA(file, "p:2:1: foo-0: key \"replicas\" is given twice (first in line 1)\n");
}

static void b18_unknown_keys_warn_or_refuse(void **state)
{
    (void)state;
    static const char file[] = ENTRY("\"replicas\":[4,5,6],\"logdirs\":[\"any\"]");
    EXPECT(file, "p:1:76: warning: foo-0: unknown key \"logdirs\"\n");
    struct cli_plan_rules picky = {.is_strict = true, .refuses_unknown_keys = true};
    expect_text(slice_str(file), &picky, "p:1:76: foo-0: unknown key \"logdirs\"\n", __LINE__);
    EXPECT(ENTRY("\"replcias\":[4,5,6]"), "p:1:28: foo-0: the key \"replicas\" is missing\n"
                                          "p:1:57: warning: foo-0: unknown key \"replcias\"\n");
}

static void b19_b20_b23_numbers_out_of_range(void **state)
{
    (void)state;
    EXPECT(PARTITION("-1"), "p:1:43: foo--1: the partition is negative: -1\n");
    EXPECT(PARTITION("3"), "p:1:16: foo-3: Unable to find partition: foo-3 does not exist, the "
                           "topic has partitions 0..2\n");
    EXPECT(PARTITION("2147483647"),
           "p:1:16: foo-2147483647: Unable to find partition: foo-2147483647 does not exist, the "
           "topic has partitions 0..2\n");
    EXPECT_KAFKA(PARTITION("2147483648"),
                 "p:1:43: foo-2147483648: the partition is beyond 2147483647: 2147483648\n");
    EXPECT_KAFKA(PARTITION("4294967296"), "p:1:43: foo-4294967296: the partition is beyond "
                                          "2147483647: 4294967296\n");
    EXPECT_KAFKA(PARTITION("18446744073709551616"),
                 "p:1:43: foo-18446744073709551616: the partition is beyond 2147483647: "
                 "18446744073709551616\n");
    EXPECT_KAFKA(REPLICAS("[-1,2,3]"), "p:1:69: foo-0: a broker id is negative: -1\n");
    EXPECT_KAFKA(REPLICAS("[4294967297,2,3]"),
                 "p:1:69: foo-0: a broker id is beyond 2147483647: 4294967297\n");
}

static void b24_partition_must_be_an_integer(void **state)
{
    (void)state;
    EXPECT(PARTITION("\"0\""), "p:1:43: foo-?: the partition must be an integer, not a string\n");
    EXPECT(PARTITION("0.0"),
           "p:1:43: foo-0.0: the partition must be written as a plain integer, not 0.0\n");
    EXPECT(PARTITION("1e0"),
           "p:1:43: foo-1e0: the partition must be written as a plain integer, not 1e0\n");
    EXPECT(PARTITION("true"),
           "p:1:43: foo-?: the partition must be an integer, not true or false\n");
    EXPECT(PARTITION("null"), "p:1:43: foo-?: the partition must be an integer, not null\n");
}

static void b25_to_b28_topic_names(void **state)
{
    (void)state;
#define ILLEGAL(shown)                                                                             \
    "p:1:25: " shown "-0: the topic name holds a character other than letters, digits, \".\", "    \
    "\"_\" and \"-\"\n"
    EXPECT(TOPIC("7"), "p:1:25: ?-0: \"topic\" must be a string, not a number\n");
    EXPECT(TOPIC("null"), "p:1:25: ?-0: \"topic\" must be a string, not null\n");
    EXPECT(TOPIC("\"\""), "p:1:25: ?-0: the topic name is empty\n");
    EXPECT(TOPIC("\"t\xc3\xa4st-\xc3\xb8\""), ILLEGAL("t\\u00e4st-\\u00f8"));
    EXPECT(TOPIC("\"foo\\u0000\""), ILLEGAL("foo\\u0000"));
    EXPECT(TOPIC("\"foo\\ud800\""), ILLEGAL("foo\\ud800"));
    EXPECT(TOPIC("\"\\ud83d\\ude00\""), ILLEGAL("\\ud83d\\ude00"));
    EXPECT(TOPIC("\"a/b\""), ILLEGAL("a/b"));
    EXPECT(TOPIC("\".\""), "p:1:25: .-0: the topic name must not be \".\" or \"..\"\n");
    EXPECT(TOPIC("\"..\""), "p:1:25: ..-0: the topic name must not be \".\" or \"..\"\n");
    memset(name_249, 'x', 249);
    char *file = xasprintf(TOPIC("\"%s\""), name_249);
    char *expected = xasprintf("p:1:16: %s-0: Topic %s not found\n", name_249, name_249);
    EXPECT(file, expected);
    free(expected);
    free(file);
    file = xasprintf(TOPIC("\"%sx\""), name_249);
    EXPECT(file, "p:1:25: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...-0: the topic name is longer "
                 "than 249 characters\n");
    free(file);
}

static void b29_similar_names_are_kept_apart(void **state)
{
    (void)state;
    EXPECT("{\"partitions\":[{\"topic\":\"a.b\",\"partition\":0,\"replicas\":[4,5,6]},"
           "{\"topic\":\"a_b\",\"partition\":0,\"replicas\":[4,5,6]}]}",
           "");
}

static void b30_depth_is_limited(void **state)
{
    (void)state;
    char *deep = xalloc(10001);
    memset(deep, '[', 10000);
    EXPECT(deep, "p:1:65: syntax error: nested deeper than 64 levels\n");
    free(deep);
}

/* 100 MB of blanks inside valid JSON, from a source that makes them up: nothing of it is stored. */
struct blanks {
    int64_t left;
    const char *text;
};

static int read_blanks(void *arg, uint8_t *ptr, size_t len, size_t *ret_len)
{
    struct blanks *blanks = arg;
    if (blanks->left > 0) {
        *ret_len = (size_t)(blanks->left < (int64_t)len ? blanks->left : (int64_t)len);
        memset(ptr, ' ', *ret_len);
        if (blanks->left == 100000000) {
            ptr[0] = '{';
        }
        blanks->left -= (int64_t)*ret_len;
        return 0;
    }
    *ret_len = strlen(blanks->text);
    memcpy(ptr, blanks->text, *ret_len);
    blanks->text = "";
    return 0;
}

static void b31_blanks_cost_no_memory(void **state)
{
    (void)state;
    struct blanks blanks = {.left = 100000000, .text = "}"};
    struct arena arena;
    arena_init(&arena, 65536);
    struct cli_json *root = NULL;
    struct cli_json_error error;
    assert_int_equal(cli_json_read(read_blanks, &blanks, &arena, &root, &error), 0);
    assert_int_equal(root->kind, CLI_JSON_OBJECT);
    assert_true(arena.used < 1024);
    arena_deinit(&arena);
}

static void b32_output_of_generate_gets_a_hint(void **state)
{
    (void)state;
    EXPECT("Current partition replica assignment\n{\"version\":1,\"partitions\":[]}\n",
           "p:1:1: a value is expected; this looks like the whole output of --generate: save the "
           "current and the proposed assignment in two files\n");
    EXPECT_KAFKA("{\"version\":1,\"partitions\":[]}\n\nProposed partition reassignment "
                 "configuration\n{\"version\":1,\"partitions\":[]}\n",
                 "p:3:1: more text follows the JSON value; this looks like the whole output of "
                 "--generate: save the current and the proposed assignment in two files\n");
}

static void b34_unreadable_files_give_a_reason(void **state)
{
    (void)state;
    struct errmsg em;
    struct env *env = loop_new(&(struct loop_config){.name = "test"}, &em);
    assert_non_null(env);
    char directory[] = "/tmp/klamm-plan-XXXXXX";
    assert_non_null(mkdtemp(directory));
    char *fifo = xasprintf("%s/fifo", directory);
    char *missing = xasprintf("%s/missing", directory);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *paths[] = {directory, fifo, missing};
    const char *reasons[] = {"not a regular file", "not a regular file", "no such file"};
    for (size_t i = 0; i < 3; i++) {
        struct cli_faults faults;
        cli_faults_init(&faults);
        struct cli_plan *plan = cli_plan_read(env, paths[i], &ours, &faults);
        assert_int_equal(faults.error_count, 1);
        char *expected = xasprintf("cannot be read: %s", reasons[i]);
        assert_string_equal(faults.list[0].text, expected);
        free(expected);
        cli_plan_free(plan);
        cli_faults_deinit(&faults);
    }
    (void)unlink(fifo); /* what stays behind is a test's directory in /tmp */
    (void)rmdir(directory);
    free(fifo);
    free(missing);
    loop_free(env);
}

static void b35_factor_change_needs_consent(void **state)
{
    (void)state;
    EXPECT(REPLICAS("[1,2]"), "p:1:68: foo-0: factor 3 -> 2\n");
    struct cli_plan_rules agreed = {.is_strict = true, .allows_factor_change = true};
    expect_text(slice_str(REPLICAS("[1,2]")), &agreed, "p:1:68: warning: foo-0: factor 3 -> 2\n",
                __LINE__);
    EXPECT_KAFKA(REPLICAS("[1,2]"), "p:1:68: warning: foo-0: factor 3 -> 2\n");
}

static void b36_equal_and_reordered_entries_are_counted(void **state)
{
    (void)state;
    struct result r = read_plan(
        slice_str("{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,3]},"
                  "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[3,1,2]},"
                  "{\"topic\":\"foo\",\"partition\":2,\"replicas\":[4,1,2]}]}"),
        &ours);
    assert_string_equal(r.text, "");
    assert_int_equal(r.plan->unchanged_count, 1);
    assert_int_equal(r.plan->reordered_count, 1);
    result_deinit(&r);
}

static void running_moves_do_not_count_as_factor(void **state)
{
    (void)state;
    static const int32_t all[] = {1, 2, 3, 4};
    static const int32_t adding[] = {4};
    struct klamm_reassignment row = {
        .topic = "foo", .partition = 0, .replicas = {all, 4}, .adding = {adding, 1}};
    struct klamm_reassignments running = {.count = 1, .list = &row};
    struct klamm_partition moving = {.index = 0, .replicas = {all, 4}};
    struct klamm_topic topic = {.name = "foo", .partition_count = 1, .partitions = &moving};
    struct klamm_topics now = {.count = 1, .list = &topic};
    struct cli_plan_view view = {.cluster = &cluster, .topics = &now, .running = &running};
    struct cli_faults faults;
    cli_faults_init(&faults);
    struct cli_plan *plan = cli_plan_parse(slice_str(REPLICAS("[1,2,5]")), &ours, &faults);
    cli_plan_check(plan, &ours, &view, &faults);
    assert_int_equal(faults.count, 0);
    assert_int_equal(plan->unchanged_count, 0);
    /* The move ended between the two looks. */
    static const int32_t after[] = {1, 2, 4};
    moving.replicas = (struct klamm_ids){after, 3};
    cli_plan_check(plan, &ours, &view, &faults);
    assert_int_equal(faults.count, 0);
    cli_plan_free(plan);
    cli_faults_deinit(&faults);
}

static void verify_and_cancel_only_warn_about_lists(void **state)
{
    (void)state;
    struct cli_plan_rules verify = {.purpose = CLI_PLAN_VERIFY};
    expect_text(slice_str(PARTITION("3")), &verify,
                "p:1:16: warning: foo-3: Unable to find partition: foo-3 does not exist, the topic "
                "has partitions 0..2\n",
                __LINE__);
    expect_text(slice_str(REPLICAS("[]")), &verify,
                "p:1:68: warning: foo-0: Partition replica list cannot be empty\n", __LINE__);
}

static void topics_of_a_plan_are_distinct(void **state)
{
    (void)state;
    struct result r = read_plan(
        slice_str("{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]},"
                  "{\"topic\":\"a.b\",\"partition\":0,\"replicas\":[4,5,6]},"
                  "{\"topic\":\"foo\",\"partition\":2,\"replicas\":[4,5,6]}]}"),
        &ours);
    int32_t count = 0;
    const char *const *names = cli_plan_topics(r.plan, &count);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "a.b");
    assert_string_equal(names[1], "foo");
    result_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_plan_is_read_in_order_of_partition),
        cmocka_unit_test(b01_to_b03_nothing_to_read),
        cmocka_unit_test(b04_b05_duplicates_show_both_lines),
        cmocka_unit_test(b06_to_b09_replica_lists),
        cmocka_unit_test(b10_version_is_one_or_absent),
        cmocka_unit_test(b11_b12_log_dirs),
        cmocka_unit_test(b13_b33_syntax_errors_have_a_place),
        cmocka_unit_test(b14_b37_bom_crlf_and_tabs_are_accepted),
        cmocka_unit_test(b15_utf16_is_named),
        cmocka_unit_test(b17_repeated_keys_are_refused_in_both_modes),
        cmocka_unit_test(b18_unknown_keys_warn_or_refuse),
        cmocka_unit_test(b19_b20_b23_numbers_out_of_range),
        cmocka_unit_test(b24_partition_must_be_an_integer),
        cmocka_unit_test(b25_to_b28_topic_names),
        cmocka_unit_test(b29_similar_names_are_kept_apart),
        cmocka_unit_test(b30_depth_is_limited),
        cmocka_unit_test(b31_blanks_cost_no_memory),
        cmocka_unit_test(b32_output_of_generate_gets_a_hint),
        cmocka_unit_test(b34_unreadable_files_give_a_reason),
        cmocka_unit_test(b35_factor_change_needs_consent),
        cmocka_unit_test(b36_equal_and_reordered_entries_are_counted),
        cmocka_unit_test(running_moves_do_not_count_as_factor),
        cmocka_unit_test(verify_and_cancel_only_warn_about_lists),
        cmocka_unit_test(topics_of_a_plan_are_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
