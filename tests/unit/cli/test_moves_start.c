/*
 * The plan-file cases of the field scenarios (S05) held by klamm moves submit: each fails cleanly, with
 * nothing sent and nothing configured. And what happens when answers get lost.
 */
#include "unit/cli/cli_fixture.h"

#include <stdio.h>

#define SUBMIT         "submit @P --bootstrap-server @B --throttle 1000 --yes"
#define ENTRY(rest)    "{\"version\":1,\"partitions\":[{\"topic\":\"foo\",\"partition\":0," rest "}]}"
#define REPLICAS(list) ENTRY("\"replicas\":" list)
#define PARTITION(text)                                                                            \
    "{\"partitions\":[{\"topic\":\"foo\",\"partition\":" text ",\"replicas\":[4,5,6]}]}"
#define TOPIC(text) "{\"partitions\":[{\"topic\":" text ",\"partition\":0,\"replicas\":[4,5,6]}]}"
#define VERSION(text)                                                                              \
    "{\"version\":" text                                                                           \
    ",\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}"

struct bad {
    const char *name; /* of the case */
    const char *file;
    const char *message; /* part of the error output, behind the file's path */
};

static void expect_clean_failure(struct cli_fixture *x, const struct bad *bad)
{
    char *expected = xasprintf("%s%s", x->plan, bad->message);
    if (x->exit_code != 1 || strstr(x->err, expected) == NULL || x->out[0] != '\0') {
        fail_msg("%s: exit code %d, \"%s\" is missing in:\n%s%s", bad->name, x->exit_code, expected,
                 x->err, x->out);
    }
    free(expected);
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    assert_int_equal(cli_count(x, WIRE_KEY_INCREMENTAL_ALTER_CONFIGS), 0);
    assert_int_equal(access(x->rollback, F_OK), -1);
}

static const struct bad bad_files[] = {
    {"B01", "", ": the file is empty"},
    {"B02", "{\"version\":1,\"partitions\":[]}",
     ":1:27: Partition reassignment list cannot be empty\nNothing to do.\n"},
    {"B03", "{\"version\":1}", ":1:1: the key \"partitions\" is missing"},
    {"B03", "{\"version\":1,\"partition\":[]}", ":1:1: the key \"partitions\" is missing"},
    {"B04",
     "{\"partitions\":[\n{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]},\n"
     "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}",
     ":3:1: foo-0: duplicate partition (lines 2 and 3)"},
    {"B05",
     "{\"partitions\":[\n{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]},\n"
     "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[6,5,1]}]}",
     ":3:1: foo-0: duplicate partition (lines 2 and 3)"},
    {"B06", REPLICAS("[]"), ":1:68: foo-0: Partition replica list cannot be empty"},
    {"B07", REPLICAS("[1,2,2]"), ":1:73: foo-0: broker 2 is in the replica list twice"},
    {"B08", REPLICAS("[1,2,99]"),
     ":1:73: foo-0: broker 99 is unknown (the cluster has 1, 2, 3, 4, 5, 6)"},
    {"B09",
     "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,77]},\n"
     "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[1,2,88]}]}",
     ":2:46: foo-1: broker 88 is unknown"},
    {"B10", VERSION("2"), ":1:12: Not supported version field value 2"},
    {"B10", VERSION("0"), ":1:12: Not supported version field value 0"},
    {"B10", VERSION("\"1\""), ":1:12: version must be the integer 1, not a string"},
    {"B10", VERSION("1.0"), ":1:12: Not supported version field value 1.0"},
    {"B10", VERSION("null"), ":1:12: version must be the integer 1, not null"},
    {"B11", ENTRY("\"replicas\":[4,5,6],\"log_dirs\":[\"any\"]"),
     ":1:87: foo-0: the size of the replica list (3) is different from the size of the list of "
     "log directories (1)"},
    {"B12", ENTRY("\"replicas\":[4,5,6],\"log_dirs\":[\"any\",\"any\",\"relative/x\"]"),
     ":1:100: foo-0: a log directory must be \"any\" or an absolute path"},
    {"B12", ENTRY("\"replicas\":[4,5,6],\"log_dirs\":[\"any\",\"any\",\"/d\"]"),
     ":1:28: foo-0: moves between log directories are not available yet"},
    {"B13", "{\"partitions\":[\n {\"topic\":\"foo\",\"partition\":0,\"replicas\":[4]},\n]}",
     ":3:1: syntax error: a value is missing (is there a comma too many?)"},
    {"B17", ENTRY("\"replicas\":[4,5,6],\n\"replicas\":[1,2,4]"),
     ":2:1: foo-0: key \"replicas\" is given twice (first in line 1)"},
    {"B18", ENTRY("\"replcias\":[4,5,6]"), ":1:28: foo-0: the key \"replicas\" is missing"},
    {"B19", PARTITION("-1"), ":1:43: foo--1: the partition is negative: -1"},
    {"B20", PARTITION("3"),
     ":1:16: foo-3: Unable to find partition: foo-3 does not exist, "
     "the topic has partitions 0..2"},
    {"B20", PARTITION("2147483647"), ":1:16: foo-2147483647: Unable to find partition"},
    {"B20", PARTITION("4294967296"), ":1:43: foo-4294967296: the partition is beyond"},
    {"B23", REPLICAS("[-1,2,3]"), ":1:69: foo-0: a broker id is negative: -1"},
    {"B24", PARTITION("\"0\""), ":1:43: foo-?: the partition must be an integer"},
    {"B24", PARTITION("0.0"), ":1:43: foo-0.0: the partition must be written as a plain"},
    {"B24", PARTITION("1e0"), ":1:43: foo-1e0: the partition must be written as a plain"},
    {"B24", PARTITION("true"), ":1:43: foo-?: the partition must be an integer"},
    {"B24", PARTITION("null"), ":1:43: foo-?: the partition must be an integer, not null"},
    {"B25", TOPIC("7"), ":1:25: ?-0: \"topic\" must be a string, not a number"},
    {"B25", TOPIC("null"), ":1:25: ?-0: \"topic\" must be a string, not null"},
    {"B25", TOPIC("\"\""), ":1:25: ?-0: the topic name is empty"},
    {"B27", TOPIC("\"t\xc3\xa4st-\xc3\xb8\""), ":1:25: t\\u00e4st-\\u00f8-0: the topic name"},
    {"B27", TOPIC("\"foo\\u0000\""), ":1:25: foo\\u0000-0: the topic name holds"},
    {"B27", TOPIC("\"foo\\ud800\""), ":1:25: foo\\ud800-0: the topic name holds"},
    {"B28", TOPIC("\".\""), ":1:25: .-0: the topic name must not be"},
    {"B28", TOPIC("\"..\""), ":1:25: ..-0: the topic name must not be"},
    {"B28", TOPIC("\"a/b\""), ":1:25: a/b-0: the topic name holds"},
    {"B32", "{\"version\":1,\"partitions\":[]}\n\nProposed partition reassignment\n{}",
     ":3:1: more text follows the JSON value; this looks like the whole output of --generate"},
    {"B33", "// plan\n{}", ":1:1: syntax error: JSON has no comments"},
    {"B33", "{'version':1}", ":1:2: syntax error: JSON strings stand in double quotes"},
    {"B33", "{\"version\":NaN}", ":1:12: syntax error: a value is expected"},
    {"B35", REPLICAS("[1,2]"), ":1:68: foo-0: factor 3 -> 2\n"},
};

static void s05_bad_plan_files_fail_cleanly(void **state)
{
    struct cli_fixture *x = *state;
    for (size_t i = 0; i < ARRAY_LEN(bad_files); i++) {
        cli_plan_file(x, bad_files[i].file);
        cli_run(x, cli_moves_run, SUBMIT);
        expect_clean_failure(x, &bad_files[i]);
    }
    cli_plan_file(x, REPLICAS("[1,2]"));
    cli_run(x, cli_moves_run, SUBMIT);
    cli_expect_part(x->err, "--allow-factor-change accepts that.\n");
    cli_plan_file(x, bad_files[9].file); /* B09: both are named */
    cli_run(x, cli_moves_run, SUBMIT);
    cli_expect_part(x->err, "broker 77");
}

static void write_bytes(const struct cli_fixture *x, const char *bytes, size_t len)
{
    FILE *file = fopen(x->plan, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void s05_odd_files_fail_cleanly(void **state)
{
    struct cli_fixture *x = *state;
    static const char utf16[] = "\xff\xfe{\0}\0";
    write_bytes(x, utf16, sizeof utf16 - 1);
    cli_run(x, cli_moves_run, SUBMIT);
    expect_clean_failure(x, &(struct bad){"B15", "", ": the file is UTF-16 or UTF-32"});
    char *long_name = xasprintf("{\"partitions\":[{\"topic\":\"%0250d\",\"partition\":0,"
                                "\"replicas\":[4,5,6]}]}",
                                7);
    cli_plan_file(x, long_name);
    cli_run(x, cli_moves_run, SUBMIT);
    cli_expect_part(x->err, "the topic name is longer than 249 characters");
    assert_int_equal(x->exit_code, 1);
    free(long_name);
    long_name = xasprintf("{\"partitions\":[{\"topic\":\"%0249d\",\"partition\":0,"
                          "\"replicas\":[4,5,6]}]}",
                          7);
    cli_plan_file(x, long_name);
    cli_run(x, cli_moves_run, SUBMIT);
    cli_expect_part(x->err, "7-0: Topic 0000"); /* B26: looked up */
    cli_expect_part(x->err, " not found\n");
    free(long_name);
    char deep[10001];
    memset(deep, '[', 10000);
    deep[10000] = '\0';
    cli_plan_file(x, deep);
    cli_run(x, cli_moves_run, SUBMIT);
    expect_clean_failure(x, &(struct bad){"B30", "", ":1:65: syntax error: nested deeper than 64"});
    assert_int_equal(unlink(x->plan), 0);
    cli_run(x, cli_moves_run, SUBMIT);
    expect_clean_failure(x, &(struct bad){"B34", "", ": cannot be read: no such file"});
    assert_int_equal(mkfifo(x->plan, 0600), 0);
    cli_run(x, cli_moves_run, SUBMIT);
    expect_clean_failure(x, &(struct bad){"B34", "", ": cannot be read: not a regular file"});
    assert_int_equal(unlink(x->plan), 0);
    assert_int_equal(mkdir(x->plan, 0700), 0);
    cli_run(x, cli_moves_run, SUBMIT);
    expect_clean_failure(x, &(struct bad){"B34", "", ": cannot be read: not a regular file"});
    assert_int_equal(rmdir(x->plan), 0);
}

static void s05_good_files_are_accepted(void **state)
{
    struct cli_fixture *x = *state;
    static const char *const files[] = {
        "\xef\xbb\xbf" REPLICAS("[4,5,6]"), /* B14 */
        "{\r\n\t\"partitions\":[\r\n\t{\"topic\":\"foo\",\t\"partition\":0,\r\n\"replicas\":"
        "[4,5,6]}]}\r\n",                                    /* B37 */
        ENTRY("\"replicas\":[4,5,6],\"logdirs\":[\"any\"]"), /* B18: a warning */
        "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}", /* B10 */
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        cli_plan_file(x, files[i]);
        cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run");
        assert_int_equal(x->exit_code, 0);
        cli_expect_part(x->out, "Plan: 1 partition, 1 to change\n");
    }
    cli_plan_file(x, files[2]);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run");
    cli_expect_part(x->err, ":1:76: warning: foo-0: unknown key \"logdirs\"\n");
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run --strict");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, ":1:76: foo-0: unknown key \"logdirs\"\n");
    cli_plan_file(x, REPLICAS("[1,2]"));
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run --allow-factor-change");
    assert_int_equal(x->exit_code, 0); /* B35 with consent */
    cli_expect_part(x->err, "warning: foo-0: factor 3 -> 2\n");
    cli_expect_part(x->out, "Factor changes: 1\n");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
}

/* B29: names that metrics would mix up. */
static void s05_similar_names_are_kept_apart(void **state)
{
    struct cli_fixture *x = *state;
    pthread_mutex_lock(&x->cluster->lock);
    (void)fake_topic_add(x->cluster, slice_str("a.b"));
    (void)fake_topic_add(x->cluster, slice_str("a_b"));
    pthread_mutex_unlock(&x->cluster->lock);
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"a.b\",\"partition\":0,\"replicas\":[4,5,6]},"
                     "{\"topic\":\"a_b\",\"partition\":0,\"replicas\":[1,2,4]}]}");
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 0);
    cli_run(x, cli_moves_run, "status --bootstrap-server @B");
    cli_expect_part(x->out, "a.b-0      copying  4,5,6");
    cli_expect_part(x->out, "a_b-0      copying  1,2,4");
}

/* B36: nothing to do is no failure. */
static void s05_a_plan_that_equals_the_present_does_nothing(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, REPLICAS("[1,2,3]"));
    cli_run(x, cli_moves_run, SUBMIT);
    cli_expect(x, 0,
               "Nothing to do: each partition of the plan has its list already, or moves or waits "
               "to get it.\n",
               "");
    cli_run(x, cli_moves_run, SUBMIT " --json");
    cli_expect(x, 0, "{\"results\":[],\"job\":null}\n", "");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    assert_int_equal(cli_count(x, WIRE_KEY_INCREMENTAL_ALTER_CONFIGS), 0);
}

/* S15: a target that is down takes a flag; one that nobody has heard of takes none. */
static void dead_targets_need_a_flag(void **state)
{
    struct cli_fixture *x = *state;
    static const int32_t with_6[] = {1, 2, 6};
    pthread_mutex_lock(&x->cluster->lock);
    struct fake_topic *bar = fake_topic_add(x->cluster, slice_str("bar"));
    fake_ids_set(&bar->partitions[0].replicas, with_6, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    fake_kill(x->cluster, 6);
    bool is_gone = false;
    while (!is_gone) {
        pthread_mutex_lock(&x->cluster->lock);
        is_gone = x->cluster->brokers[5].server == NULL;
        pthread_mutex_unlock(&x->cluster->lock);
    }
    cli_plan_file(x, REPLICAS("[1,2,6]"));
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, ":1:73: foo-0: broker 6 is down: the move would wait for it "
                            "(--allow-down-targets accepts that)\n");
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes --allow-down-targets");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->err, "warning: broker 6 is down: what goes to it waits until it is back\n");
    /* What stays on a dead broker is no target. */
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"bar\",\"partition\":0,\"replicas\":[6,2,4]}]}");
    assert_int_equal(unlink(x->rollback), 0);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 0);
    cli_plan_file(x, REPLICAS("[1,2,7]"));
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes --allow-down-targets");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "broker 7 is unknown (the cluster has 1, 2, 3, 4, 5)");
}

/* S40: a submission whose answer got lost is looked for, not made twice and not called a failure. */
static void lost_answer_is_looked_for(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, REPLICAS("[4,5,6]"));
    x->cluster->forgets_answers = true;
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes --job j1");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->err,
                    "The answer got lost, but the job is there: its moves were accepted.\n");
    cli_expect_part(x->out, "Job j1: 1 move accepted.\n");
    pthread_mutex_lock(&x->cluster->lock);
    assert_string_equal(x->cluster->jobs[0].id, "j1");
    assert_string_equal(x->cluster->jobs[1].id, "");
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(access(x->rollback, F_OK), 0);
    assert_int_equal(unlink(x->rollback), 0);
    cli_plan_file(x, REPLICAS("[1,2,4]"));
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes --job j1");
    cli_expect(x, 1, "", "klamm: there is a job of this name already\n");
}

/* A request that did not arrive is sent again. */
static void lost_request_is_repeated(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, REPLICAS("[4,5,6]"));
    x->cluster->drop_key = WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS;
    x->cluster->drops = 2;
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 0);
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 3);
}

/* S40: a controller that does not answer in time may have accepted: the way back stays. */
static void no_answer_in_time_is_no_failure(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, REPLICAS("[4,5,6]"));
    x->cluster->drop_key = WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS;
    x->cluster->drops = 1;
    x->cluster->keeps_silent = true;
    x->slow_ms = 100;
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes --timeout 1000 --job j1");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err,
                    "klamm: the controller has not answered AlterPartitionReassignments yet; "
                    "waiting for up to 1 s more\n");
    cli_expect_part(x->err,
                    "Job j1 may have been accepted all the same: see klamm moves status. The "
                    "rollback file stays.\n");
    assert_int_equal(access(x->rollback, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(s05_bad_plan_files_fail_cleanly),
        CLI_TEST(s05_odd_files_fail_cleanly),
        CLI_TEST(s05_good_files_are_accepted),
        CLI_TEST(s05_similar_names_are_kept_apart),
        CLI_TEST(s05_a_plan_that_equals_the_present_does_nothing),
        CLI_TEST(dead_targets_need_a_flag),
        CLI_TEST(lost_answer_is_looked_for),
        CLI_TEST(lost_request_is_repeated),
        CLI_TEST(no_answer_in_time_is_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
