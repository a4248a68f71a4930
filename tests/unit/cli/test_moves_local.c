/*
 * The queue that klamm moves submit keeps itself, over a cluster that knows no tags: it submits, waits for
 * slots, survives an interruption by its journal, and leaves nothing behind.
 */
#include "unit/cli/cli_fixture.h"

#include "base/crc32c.h"

#define PLAN                                                                                       \
    "{\"partitions\":["                                                                            \
    "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]},"                                    \
    "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[4,5,6]},"                                    \
    "{\"topic\":\"foo\",\"partition\":2,\"replicas\":[1,2,4]}]}"
#define SUBMIT "submit @P --bootstrap-server @B --yes --interval 100"

static char *journal_of(const struct cli_fixture *x)
{
    return xasprintf("%s/plan.journal", x->folder);
}

static bool has_journal(const struct cli_fixture *x)
{
    char *path = journal_of(x);
    bool has = access(path, F_OK) == 0;
    free(path);
    return has;
}

static void remove_journal(const struct cli_fixture *x)
{
    char *path = journal_of(x);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void expect_list(struct cli_fixture *x, int32_t partition, const char *expected)
{
    char text[64] = "";
    pthread_mutex_lock(&x->cluster->lock);
    const struct fake_partition *p = &x->cluster->topics[0].partitions[partition];
    snprintf(text, sizeof text, "%d,%d,%d%s", p->replicas.list[0], p->replicas.list[1],
             p->replicas.list[2], fake_is_moving(p) ? " moving" : "");
    pthread_mutex_unlock(&x->cluster->lock);
    assert_string_equal(text, expected);
}

static void all_moves_run_to_their_end(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->copy_per_poll = 1000;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, SUBMIT);
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->err,
                    "The controller of this cluster is not klamm's: the queue is kept by this "
                    "command, in a journal. ");
    cli_expect_part(x->out, "Plan: 3 partitions, 3 to change\n");
    cli_expect_part(x->out, "The way back is in ");
    cli_expect_part(x->out, "foo-0  done\nfoo-1  done\nfoo-2  done\n");
    expect_list(x, 0, "4,5,6");
    expect_list(x, 1, "4,5,6");
    expect_list(x, 2, "1,2,4");
    assert_false(has_journal(x));
    assert_int_equal(access(x->rollback, F_OK), 0);
}

/* One at a time: each look starts the next when the last one has ended. */
static void concurrency_bounds_what_runs(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->does_not_advance = true;
    x->cluster->interrupt_at = 20;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, SUBMIT " --concurrency 1");
    assert_int_equal(x->exit_code, 130);
    cli_expect_part(x->out, "foo-1  queued");
    cli_expect_part(x->err, "Interrupted. ");
    cli_expect_part(x->err, "2 moves wait in the journal ");
    int32_t moving = 0;
    pthread_mutex_lock(&x->cluster->lock);
    for (int32_t i = 0; i < 3; i++) {
        moving += fake_is_moving(&x->cluster->topics[0].partitions[i]);
    }
    x->cluster->does_not_advance = false;
    x->cluster->copy_per_poll = 1000;
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(moving, 1);
    assert_true(has_journal(x));
    /* The journal goes on; the rollback file of the first time stays as it is. */
    cli_run(x, cli_moves_run, SUBMIT);
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->err, "Going on with what waits in ");
    expect_list(x, 0, "4,5,6");
    expect_list(x, 1, "4,5,6");
    expect_list(x, 2, "1,2,4");
    assert_false(has_journal(x));
}

static void journal_of_another_plan_is_refused(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->does_not_advance = true;
    x->cluster->interrupt_at = 14;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, SUBMIT);
    assert_int_equal(x->exit_code, 130);
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,5,6]}]}");
    cli_run(x, cli_moves_run, SUBMIT);
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "the journal is of another plan, whose moves have not all ended: ");
    assert_true(has_journal(x));
    remove_journal(x);
}

static void what_needs_a_klamm_controller_is_refused(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, SUBMIT " --throttle 5MB");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "a job has no throttle and no priority there");
    cli_run(x, cli_moves_run, SUBMIT " --dry-run");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "\nDry run: nothing was changed.\n");
    x->cluster->is_stock = false;
    cli_run(x, cli_moves_run, SUBMIT " --concurrency 5");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "this one obeys klamm.moves.max.*");
    assert_false(has_journal(x));
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    x->cluster->is_stock = true;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,3]}]}");
    cli_run(x, cli_moves_run, SUBMIT);
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "Nothing to do: ");
    assert_false(has_journal(x));
}

/* A crash between the end and the removal, or before the submission, leaves a journal that counts for nothing. */
static void journal_without_an_open_job_is_used_anew(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->copy_per_poll = 1000;
    char *path = journal_of(x);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("klamm-journal 1\n", file) >= 0);
    struct buf line;
    buf_init(&line);
    buf_put_str(&line, "plan another-plan");
    assert_true(fprintf(file, "%08x %.*s\n", crc32c(0, line.ptr, line.len), (int)line.len,
                        (const char *)line.ptr) > 0);
    buf_deinit(&line);
    assert_int_equal(fclose(file), 0);
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}");
    cli_run(x, cli_moves_run, SUBMIT);
    assert_int_equal(x->exit_code, 0);
    expect_list(x, 0, "4,5,6");
    assert_false(has_journal(x));
    free(path);
}

/* A refusal of the controller is tried again, and the command waits for it. */
static void refusals_are_tried_again(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->copy_per_poll = 1000;
    x->cluster->drop_key = WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS;
    x->cluster->drops = 2;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}");
    cli_run(x, cli_moves_run, SUBMIT);
    assert_int_equal(x->exit_code, 0);
    expect_list(x, 0, "4,5,6");
    assert_false(has_journal(x));
}

static void damaged_journal_is_refused(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    char *path = journal_of(x);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("klamm-journal 2\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, SUBMIT);
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "the journal is of another version of klamm; nothing was changed\n");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    remove_journal(x);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(all_moves_run_to_their_end),
        CLI_TEST(concurrency_bounds_what_runs),
        CLI_TEST(journal_of_another_plan_is_refused),
        CLI_TEST(what_needs_a_klamm_controller_is_refused),
        CLI_TEST(journal_without_an_open_job_is_used_anew),
        CLI_TEST(refusals_are_tried_again),
        CLI_TEST(damaged_journal_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
