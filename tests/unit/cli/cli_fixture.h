/*
 * Command lines against a fake cluster: runs one and keeps its exit code and both outputs.
 */
#pragma once

#include "unit/client/fake_cluster.h"

#include "cli/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#define CLI_WORDS_MAX 32

struct cli_fixture {
    struct fake_cluster *cluster;
    char *bootstrap; /* one server */
    char *folder;
    char *plan;        /* path of the file that cli_plan_file writes */
    char *rollback;    /* path of the rollback file that goes with it */
    const char *typed; /* what the operator answers the next command; NULL = nobody is there */
    bool is_terminal;  /* what the next command believes its output is */
    int32_t slow_ms;   /* when the next command says that a call takes long */
    int exit_code;
    char *out;
    char *err;
};

static inline int cli_fixture_setup(void **state)
{
    struct cli_fixture *x = xalloc(sizeof *x);
    x->cluster = fake_cluster_new();
    x->bootstrap = xasprintf("127.0.0.1:%u", (unsigned)x->cluster->brokers[0].port);
    x->folder = xstrdup("/tmp/klamm-cli-XXXXXX");
    if (mkdtemp(x->folder) == NULL) {
        return -1;
    }
    x->plan = xasprintf("%s/plan.json", x->folder);
    x->rollback = xasprintf("%s/plan.rollback.json", x->folder);
    *state = x;
    return 0;
}

static inline int cli_fixture_teardown(void **state)
{
    struct cli_fixture *x = *state;
    fake_cluster_free(x->cluster);
    (void)unlink(x->plan); /* not every test writes them */
    (void)unlink(x->rollback);
    (void)rmdir(x->folder);
    free(x->bootstrap);
    free(x->folder);
    free(x->plan);
    free(x->rollback);
    free(x->out);
    free(x->err);
    free(x);
    return 0;
}

#define CLI_TEST(name)                                                                             \
    cmocka_unit_test_setup_teardown(name, cli_fixture_setup, cli_fixture_teardown)

static inline void cli_plan_file(struct cli_fixture *x, const char *text)
{
    FILE *file = fopen(x->plan, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Runs the words of the line (no quoting); "@B" stands for the bootstrap server, "@P" for the plan, "@R" for its
 * rollback file. */
static inline int cli_run(struct cli_fixture *x, cli_command_fn command, const char *line)
{
    char *copy = xstrdup(line);
    char *words[CLI_WORDS_MAX];
    int count = 0;
    char *rest = copy;
    while (rest != NULL && line[0] != '\0') {
        char *word = strsep(&rest, " ");
        assert_true(count < CLI_WORDS_MAX);
        words[count++] = strcmp(word, "@B") == 0   ? x->bootstrap
                         : strcmp(word, "@P") == 0 ? x->plan
                         : strcmp(word, "@R") == 0 ? x->rollback
                                                   : word;
    }
    struct cli_terminal terminal;
    struct cli_session session;
    cli_terminal_init_captured(&terminal);
    terminal.is_terminal = x->is_terminal;
    terminal.has_reader = x->typed != NULL;
    terminal.typed = x->typed;
    cli_session_init(&session, &terminal);
    session.slow_ms = x->slow_ms;
    x->exit_code = command(&session, (struct cli_words){words, count});
    cli_session_deinit(&session);
    free(x->out);
    free(x->err);
    x->out = slice_dup(buf_slice(&terminal.out));
    x->err = slice_dup(buf_slice(&terminal.err));
    cli_terminal_deinit(&terminal);
    free(copy);
    return x->exit_code;
}

static inline void cli_expect(const struct cli_fixture *x, int exit_code, const char *out,
                              const char *err)
{
    assert_string_equal(x->err, err);
    assert_string_equal(x->out, out);
    assert_int_equal(x->exit_code, exit_code);
}

/* The text contains the part; else the test fails and shows it. */
static inline void cli_expect_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is missing in:\n%s", part, text);
    }
}

static inline int32_t cli_count(struct cli_fixture *x, int16_t key)
{
    pthread_mutex_lock(&x->cluster->lock);
    int32_t count = x->cluster->counts[key];
    pthread_mutex_unlock(&x->cluster->lock);
    return count;
}

/* Foo-partition starts to move to the list. */
static inline void cli_move(struct cli_fixture *x, int32_t partition, const int32_t *target,
                            int32_t count)
{
    pthread_mutex_lock(&x->cluster->lock);
    fake_start(&x->cluster->topics[0].partitions[partition], target, count);
    pthread_mutex_unlock(&x->cluster->lock);
}
