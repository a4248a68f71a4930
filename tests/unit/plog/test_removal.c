/*
 * Removing logs and leftovers in steps.
 */
#include "plog/removal.h"

#include "plog_fixture.h"

struct names {
    int count;
    char last[300];
};

static int count_name(void *arg, const char *name, bool is_dir)
{
    struct names *n = arg;
    (void)is_dir;
    n->count++;
    (void)snprintf(n->last, sizeof n->last, "%s", name);
    return 0;
}

static struct names list_dir(struct fixture *f)
{
    struct names n = {0};
    assert_int_equal(0, env_dir_list(f->env, FIXTURE_DIR, count_name, &n));
    return n;
}

static void a_removed_log_is_renamed_at_once_and_gone_after_its_steps(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_removal *removal = NULL;
    fixture_init(&f, 1);
    f.config.segment_bytes_max = 500;
    fixture_open(&f, false);
    fixture_fill(&f, 9, 0, 100);
    assert_int_equal(0, plog_remove(f.p, &removal, &f.em));
    f.p = NULL;
    fixture_crash(&f, false); /* the rename is synced */
    struct names n = list_dir(&f);
    assert_int_equal(1, n.count);
    assert_int_equal(strlen("t-0.") + 32 + strlen("-delete"), strlen(n.last));
    assert_memory_equal("t-0.", n.last, 4);
    assert_string_equal("-delete", n.last + 36);
    int steps = 0;
    int more = 1;
    while (more == 1) {
        more = plog_removal_step(removal);
        steps++;
    }
    assert_int_equal(0, more);
    assert_true(steps > 9);
    assert_int_equal(0, plog_removal_step(removal));
    plog_removal_free(removal);
    assert_int_equal(0, list_dir(&f).count);
    fixture_deinit(&f);
}

static void a_log_without_files_is_just_gone(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_removal *removal = NULL;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    assert_int_equal(0, plog_remove(f.p, &removal, &f.em));
    f.p = NULL;
    assert_null(removal);
    fixture_deinit(&f);
}

static void a_stray_stays_on_disk(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    fixture_fill(&f, 1, 0, 10);
    assert_int_equal(0, plog_set_aside(f.p, &f.em));
    f.p = NULL;
    struct names n = list_dir(&f);
    assert_int_equal(1, n.count);
    assert_string_equal("-stray", n.last + 36);
    fixture_deinit(&f);
}

static void a_long_topic_gives_way_to_the_suffix(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_removal *removal = NULL;
    char topic[250];
    memset(topic, 'x', 249);
    topic[249] = '\0';
    fixture_init(&f, 1);
    struct plog_open_args args = {.files = f.files,
                                  .dir = FIXTURE_DIR,
                                  .topic = topic,
                                  .partition = 12345,
                                  .config = &f.config};
    assert_int_equal(0, plog_open(&args, &f.p, &f.em));
    fixture_fill(&f, 1, 0, 10);
    assert_int_equal(0, plog_remove(f.p, &removal, &f.em));
    f.p = NULL;
    struct names n = list_dir(&f);
    assert_int_equal(255, strlen(n.last));
    assert_memory_equal("xxx-12345.", n.last + 255 - 49, 10);
    fixture_remove(removal);
    fixture_deinit(&f);
}

static void large_files_shrink_step_by_step(void **state)
{
    (void)state;
    struct fixture f;
    struct env_file *file = NULL;
    uint64_t size = 0;
    fixture_init(&f, 1);
    assert_int_equal(
        0, env_file_open(f.env, FIXTURE_DIR "/big", ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file));
    assert_int_equal(0, env_file_truncate(file, (uint64_t)150 << 20));
    struct plog_removal *removal = plog_removal_new(f.env, FIXTURE_DIR "/big");
    assert_int_equal(1, plog_removal_step(removal));
    assert_int_equal(0, env_file_size(file, &size));
    assert_int_equal((uint64_t)86 << 20, size);
    assert_int_equal(1, plog_removal_step(removal));
    assert_int_equal(0, plog_removal_step(removal));
    assert_false(fixture_exists(&f, FIXTURE_DIR "/big"));
    plog_removal_free(removal);
    env_file_unref(file);
    fixture_deinit(&f);
}

/* What is gone already is fine; other errors end the removal and leave the rest for the next start. */
static void errors_are_told_and_the_rest_can_be_tried_again(void **state)
{
    (void)state;
    int err = -1;
    for (int64_t n = 1; err != 0; n++) {
        struct fixture f;
        struct plog_removal *removal = NULL;
        fixture_init(&f, 1);
        fixture_open(&f, false);
        fixture_fill(&f, 1, 0, 10);
        assert_int_equal(0, plog_remove(f.p, &removal, &f.em));
        f.p = NULL;
        struct names before = list_dir(&f);
        sim_disk_fail_at(f.node, n, E_IO);
        do {
            err = plog_removal_step(removal);
        } while (err == 1);
        sim_disk_fail_at(f.node, 0, E_IO);
        plog_removal_free(removal);
        char path[400];
        (void)snprintf(path, sizeof path, FIXTURE_DIR "/%s", before.last);
        fixture_remove(plog_removal_new(f.env, path));
        assert_int_equal(0, list_dir(&f).count);
        fixture_deinit(&f);
    }
}

static void a_failed_rename_frees_the_log_and_keeps_the_folder(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_removal *removal = NULL;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    fixture_fill(&f, 1, 0, 10);
    sim_disk_fail_at(f.node, 1, E_IO);
    assert_int_equal(-E_IO, plog_remove(f.p, &removal, &f.em));
    f.p = NULL;
    assert_null(removal);
    assert_string_equal("/data/t-0: cannot rename the folder: input/output error", f.em.text);
    assert_string_equal("t-0", list_dir(&f).last);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_removed_log_is_renamed_at_once_and_gone_after_its_steps),
        cmocka_unit_test(a_log_without_files_is_just_gone),
        cmocka_unit_test(a_stray_stays_on_disk),
        cmocka_unit_test(a_long_topic_gives_way_to_the_suffix),
        cmocka_unit_test(large_files_shrink_step_by_step),
        cmocka_unit_test(errors_are_told_and_the_rest_can_be_tried_again),
        cmocka_unit_test(a_failed_rename_frees_the_log_and_keeps_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
