/*
 * A log directory: lock, clean mark, identity, checkpoints, the folders in it.
 */
#include "plog/dir.h"

#include "plog/partition.h"
#include "plog_fixture.h"

struct bench {
    struct fixture f;
    struct plog_dir *dir;
    struct errmsg em;
};

static void bench_open(struct bench *b)
{
    int err = plog_dir_open(b->f.env, FIXTURE_DIR, &b->dir, &b->em);
    if (err == 0) {
        err = plog_dir_begin(b->dir, &b->em);
    }
    if (err != 0) {
        fail_msg("%s", b->em.text);
    }
}

static void bench_init(struct bench *b)
{
    *b = (struct bench){0};
    fixture_init(&b->f, 1);
    bench_open(b);
}

static void bench_deinit(struct bench *b)
{
    plog_dir_free(b->dir);
    fixture_deinit(&b->f);
}

static void write_file(struct bench *b, const char *name, const char *text)
{
    assert_int_equal(0, plog_file_replace(b->f.env, FIXTURE_DIR, name, slice_str(text)));
}

static void one_holder_at_a_time(void **state)
{
    (void)state;
    struct bench b;
    struct plog_dir *second = NULL;
    bench_init(&b);
    assert_int_equal(-E_LOCKED, plog_dir_open(b.f.env, FIXTURE_DIR, &second, &b.em));
    assert_string_equal("log directory /data: in use by another broker", b.em.text);
    plog_dir_free(b.dir);
    bench_open(&b);
    assert_string_equal("/data", plog_dir_name(b.dir));
    bench_deinit(&b);
}

static void a_file_is_no_directory(void **state)
{
    (void)state;
    struct bench b;
    struct plog_dir *second = NULL;
    bench_init(&b);
    write_file(&b, "file", "");
    assert_int_equal(-E_IO, plog_dir_open(b.f.env, FIXTURE_DIR "/file", &second, &b.em));
    assert_string_equal("it is not a directory", b.em.text);
    assert_true(fixture_exists(&b.f, FIXTURE_DIR "/file"));
    bench_deinit(&b);
}

static void the_clean_mark_counts_once(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    assert_false(plog_dir_was_clean(b.dir));
    assert_int_equal(0, plog_dir_accept_records(b.dir, &b.em));
    assert_int_equal(0, plog_dir_mark_clean(b.dir, &b.em));
    plog_dir_free(b.dir);
    bench_open(&b);
    assert_true(plog_dir_was_clean(b.dir));
    plog_dir_free(b.dir);
    fixture_crash(&b.f, false);
    bench_open(&b);
    assert_false(plog_dir_was_clean(b.dir));
    bench_deinit(&b);
}

/* A directory that is refused is left as it was for those whose it is. */
static void the_clean_mark_stays_until_the_logs_are_opened(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    assert_int_equal(0, plog_dir_accept_records(b.dir, &b.em));
    assert_int_equal(0, plog_dir_mark_clean(b.dir, &b.em));
    for (int i = 0; i < 2; i++) {
        plog_dir_free(b.dir);
        assert_int_equal(0, plog_dir_open(b.f.env, FIXTURE_DIR, &b.dir, &b.em));
        assert_false(plog_dir_was_clean(b.dir));
    }
    assert_int_equal(0, plog_dir_begin(b.dir, &b.em));
    assert_true(plog_dir_was_clean(b.dir));
    bench_deinit(&b);
}

static void bench_reopen(struct bench *b, bool keeps_power)
{
    plog_dir_free(b->dir);
    fixture_crash(&b->f, keeps_power);
    bench_open(b);
}

static void records_may_be_lacking_after_a_power_loss_alone(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    assert_true(plog_dir_may_lack_records(b.dir)); /* it may stand in for a lost one */
    bench_reopen(&b, true);
    assert_true(plog_dir_may_lack_records(b.dir)); /* nobody has accepted it */
    assert_int_equal(0, plog_dir_accept_records(b.dir, &b.em));
    assert_false(plog_dir_may_lack_records(b.dir));
    bench_reopen(&b, true);
    assert_false(plog_dir_may_lack_records(b.dir));
    bench_reopen(&b, false);
    assert_true(plog_dir_may_lack_records(b.dir));
    assert_int_equal(0, plog_dir_accept_records(b.dir, &b.em));
    assert_int_equal(0, plog_dir_mark_clean(b.dir, &b.em));
    bench_reopen(&b, false);
    assert_false(plog_dir_may_lack_records(b.dir)); /* the stop was clean */
    bench_deinit(&b);
}

/* A clean stop before that was accepted must not hide it. */
static void lacking_records_outlive_a_clean_stop(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    assert_int_equal(0, plog_dir_mark_clean(b.dir, &b.em));
    bench_reopen(&b, true);
    assert_false(plog_dir_was_clean(b.dir));
    assert_true(plog_dir_may_lack_records(b.dir));
    bench_deinit(&b);
}

static void odd_boot_ids_are_unknown_and_newer_versions_refused(void **state)
{
    (void)state;
    static const char *const odd[] = {"", "0\n", "x\n", "0\nshort\n",
                                      "-1\nAAAAAAAAAAAAAAAAAAAAAA\n"};
    struct bench b;
    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        write_file(&b, "klamm-boot", odd[i]);
        bench_reopen(&b, true);
        assert_true(plog_dir_may_lack_records(b.dir));
    }
    write_file(&b, "klamm-boot", "1\nwhatever\n");
    plog_dir_free(b.dir);
    b.dir = NULL;
    assert_int_equal(-E_UNSUPPORTED, plog_dir_open(b.f.env, FIXTURE_DIR, &b.dir, &b.em));
    assert_string_equal("/data/klamm-boot: version 1 is not known here", b.em.text);
    bench_deinit(&b);
}

static void a_new_directory_is_claimed_and_then_compared(void **state)
{
    (void)state;
    struct bench b;
    struct plog_dir_meta meta = {.broker_id = 4, .cluster_id = "abc"};
    struct plog_dir_meta found;
    bench_init(&b);
    assert_int_equal(-E_NOT_FOUND, plog_dir_read_meta(b.dir, &found, &b.em));
    assert_int_equal(0, plog_dir_claim(b.dir, &meta, &b.em));
    assert_int_equal(0, plog_dir_read_meta(b.dir, &found, &b.em));
    assert_int_equal(4, found.broker_id);
    assert_string_equal("abc", found.cluster_id);
    assert_int_equal(0, plog_dir_claim(b.dir, &meta, &b.em));
    meta.broker_id = 5;
    assert_int_equal(-E_INVALID, plog_dir_claim(b.dir, &meta, &b.em));
    assert_string_equal("log directory /data belongs to broker 4, this is broker 5", b.em.text);
    meta = (struct plog_dir_meta){.broker_id = 4, .cluster_id = "xyz"};
    assert_int_equal(-E_INVALID, plog_dir_claim(b.dir, &meta, &b.em));
    assert_string_equal("log directory /data belongs to cluster abc, this is cluster xyz",
                        b.em.text);
    bench_deinit(&b);
}

static void kafkas_meta_properties_are_read(void **state)
{
    (void)state;
    struct bench b;
    struct plog_dir_meta found;
    bench_init(&b);
    write_file(&b, "meta.properties",
               "#\n#Tue Dec 01 03:00:00 UTC 2026\ncluster.id=MkU3OEVBNTcwNTJENDM2Qk\nversion=0\n"
               "broker.id=12\n");
    assert_int_equal(0, plog_dir_read_meta(b.dir, &found, &b.em));
    assert_int_equal(12, found.broker_id);
    assert_string_equal("MkU3OEVBNTcwNTJENDM2Qk", found.cluster_id);
    bench_deinit(&b);
}

static void bad_meta_properties_name_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int err;
        const char *message;
    } cases[] = {
        {"version=1\nnode.id=1\n", -E_UNSUPPORTED,
         "/data/meta.properties: version 1 is not known here"},
        {"broker.id=1\n", -E_MALFORMED, "/data/meta.properties: version is missing"},
        {"version=0\n", -E_MALFORMED, "/data/meta.properties: broker.id is missing"},
        {"version=0\nbroker.id=x\n", -E_MALFORMED,
         "/data/meta.properties: broker.id has a bad value"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bench b;
        struct plog_dir_meta found;
        bench_init(&b);
        write_file(&b, "meta.properties", cases[i].text);
        assert_int_equal(cases[i].err, plog_dir_read_meta(b.dir, &found, &b.em));
        assert_string_equal(cases[i].message, b.em.text);
        bench_deinit(&b);
    }
}

static void checkpoints_are_files_of_their_own(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    for (int kind = PLOG_CHECKPOINT_HIGH_WATERMARK; kind <= PLOG_CHECKPOINT_CLEANER; kind++) {
        struct plog_checkpoint c = {0};
        plog_checkpoint_add(&c, "t", 0, 100 + kind);
        assert_int_equal(0, plog_dir_write_checkpoint(b.f.env, FIXTURE_DIR,
                                                      (enum plog_checkpoint_kind)kind, &c, &b.em));
        plog_checkpoint_deinit(&c);
    }
    for (int kind = PLOG_CHECKPOINT_HIGH_WATERMARK; kind <= PLOG_CHECKPOINT_CLEANER; kind++) {
        struct plog_checkpoint c;
        assert_int_equal(0, plog_dir_read_checkpoint(b.f.env, FIXTURE_DIR,
                                                     (enum plog_checkpoint_kind)kind, &c, &b.em));
        assert_int_equal(100 + kind, plog_checkpoint_find(&c, "t", 0, -1));
        plog_checkpoint_deinit(&c);
    }
    assert_true(fixture_exists(&b.f, "/data/replication-offset-checkpoint"));
    assert_true(fixture_exists(&b.f, "/data/recovery-point-offset-checkpoint"));
    assert_true(fixture_exists(&b.f, "/data/log-start-offset-checkpoint"));
    assert_true(fixture_exists(&b.f, "/data/cleaner-offset-checkpoint"));
    bench_deinit(&b);
}

static void a_missing_checkpoint_is_empty_and_a_bad_one_an_error(void **state)
{
    (void)state;
    struct bench b;
    struct plog_checkpoint c;
    bench_init(&b);
    assert_int_equal(0, plog_dir_read_checkpoint(b.f.env, FIXTURE_DIR,
                                                 PLOG_CHECKPOINT_RECOVERY_POINT, &c, &b.em));
    assert_int_equal(0, c.count);
    write_file(&b, "recovery-point-offset-checkpoint", "0\n1\n");
    assert_int_equal(
        -E_MALFORMED,
        plog_dir_read_checkpoint(b.f.env, FIXTURE_DIR, PLOG_CHECKPOINT_RECOVERY_POINT, &c, &b.em));
    assert_string_equal("/data/recovery-point-offset-checkpoint: 0 entries where 1 are announced",
                        b.em.text);
    bench_deinit(&b);
}

struct seen {
    char text[600];
};

static int see(void *arg, const struct plog_folder *folder)
{
    struct seen *s = arg;
    char id[UUID_TEXT_SIZE];
    uuid_format(folder->topic_id, id);
    size_t len = strlen(s->text);
    (void)snprintf(s->text + len, sizeof s->text - len, "%d %.*s %d %s\n", (int)folder->kind,
                   SLICE_ARG(folder->topic), folder->partition,
                   uuid_is_zero(folder->topic_id) ? "-" : id);
    return 0;
}

#define HEX "0123456789abcdef0123456789abcdef"

static void folders_are_told_apart_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a-0",
        "a-b-12",
        "a-1." HEX "-delete",
        "a-2." HEX "-future",
        "a-3." HEX "-stray",
        "no",
        "-5",
        "a--1",
        "a-x",
        "a-99999999999",
        "b-delete",
        "b-4-delete",
    };
    struct bench b;
    struct seen seen = {{0}};
    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[200];
        (void)snprintf(path, sizeof path, FIXTURE_DIR "/%s", names[i]);
        assert_int_equal(0, env_mkdir(b.f.env, path));
    }
    write_file(&b, "file-7", "not a folder");
    struct uuid id = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64}};
    assert_int_equal(0, plog_partition_write_id(b.f.env, FIXTURE_DIR "/a-0", id, true));
    assert_int_equal(0, plog_dir_list_folders(b.dir, see, &seen, &b.em));
    assert_string_equal("0 a- 1 -\n"
                        "0 a 0 AAAAAAAAAAAAAAAAAAAAQA\n"
                        "1 a 1 -\n"
                        "2 a 2 -\n"
                        "3 a 3 -\n"
                        "0 a-b 12 -\n",
                        seen.text);
    bench_deinit(&b);
}

static void a_newer_partition_metadata_stops_the_listing(void **state)
{
    (void)state;
    struct bench b;
    struct seen seen = {{0}};
    bench_init(&b);
    assert_int_equal(0, env_mkdir(b.f.env, FIXTURE_DIR "/a-0"));
    write_file(&b, "a-0/partition.metadata", "version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAQA\n");
    assert_int_equal(-E_UNSUPPORTED, plog_dir_list_folders(b.dir, see, &seen, &b.em));
    assert_string_equal("/data/a-0: bad partition.metadata: unsupported", b.em.text);
    bench_deinit(&b);
}

/* Each disk operation of a start fails once: the start fails, and nothing stays open. */
static void each_disk_error_fails_the_open(void **state)
{
    (void)state;
    int err = -1;
    for (int64_t n = 1; err != 0; n++) {
        struct bench b = {0};
        struct plog_dir_meta meta = {.broker_id = 1, .cluster_id = "c"};
        fixture_init(&b.f, 1);
        sim_disk_fail_at(b.f.node, n, E_IO);
        err = plog_dir_open(b.f.env, FIXTURE_DIR, &b.dir, &b.em);
        if (err == 0) {
            err = plog_dir_begin(b.dir, &b.em);
        }
        if (err == 0) {
            err = plog_dir_claim(b.dir, &meta, &b.em);
        }
        if (err == 0) {
            err = plog_dir_mark_clean(b.dir, &b.em);
        }
        assert_true(err == 0 || err == -E_IO);
        sim_disk_fail_at(b.f.node, 0, E_IO);
        bench_deinit(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_holder_at_a_time),
        cmocka_unit_test(a_file_is_no_directory),
        cmocka_unit_test(the_clean_mark_counts_once),
        cmocka_unit_test(the_clean_mark_stays_until_the_logs_are_opened),
        cmocka_unit_test(records_may_be_lacking_after_a_power_loss_alone),
        cmocka_unit_test(lacking_records_outlive_a_clean_stop),
        cmocka_unit_test(odd_boot_ids_are_unknown_and_newer_versions_refused),
        cmocka_unit_test(a_new_directory_is_claimed_and_then_compared),
        cmocka_unit_test(kafkas_meta_properties_are_read),
        cmocka_unit_test(bad_meta_properties_name_the_key),
        cmocka_unit_test(checkpoints_are_files_of_their_own),
        cmocka_unit_test(a_missing_checkpoint_is_empty_and_a_bad_one_an_error),
        cmocka_unit_test(folders_are_told_apart_by_name),
        cmocka_unit_test(a_newer_partition_metadata_stops_the_listing),
        cmocka_unit_test(each_disk_error_fails_the_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
