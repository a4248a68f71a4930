/*
 * Jobs as text: a round trip, and each way in which a text can be wrong.
 */
#include "cli/job_text.h"

#include "base/alloc.h"
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define JOB                                                                                        \
    "{\"serial\":7,\"fate\":1,\"submitted_by\":\"User:a \\\"b\\\"\",\"client_id\":\"klamm\","      \
    "\"submitted_ms\":1700000000000,\"finished_ms\":-1,\"rate\":-1,\"priority\":2,"                \
    "\"one_at_a_time\":1,\"stock\":0,\"pieces\":2,\"total\":9,\"done\":3,\"cancelled\":1,"         \
    "\"to_copy\":5000,\"copied\":4000}"
#define PIECE                                                                                      \
    "[[\"foo\",0,[4,5,6],[1,2,3],1,1700000000000,[]],[\"b.r\",2147483647,[1],[],0,-1,[7,8]]]"

static char *taken(struct buf *b)
{
    char *text = slice_dup(buf_slice(b));
    buf_deinit(b);
    return text;
}

static void job_survives_a_round_trip(void **state)
{
    (void)state;
    struct cli_job_text *memory = NULL;
    struct model_job job;
    struct errmsg em = {""};
    struct buf out;
    assert_int_equal(cli_job_text_read(slice_str(JOB), slice_str("j1"), &job, &memory, &em), 0);
    assert_true(slice_equal_str(job.id, "j1"));
    assert_int_equal(job.serial, 7);
    assert_int_equal(job.fate, MODEL_JOB_OPEN);
    assert_true(slice_equal_str(job.submitted_by, "User:a \"b\""));
    assert_int_equal(job.submitted_ms, 1700000000000);
    assert_int_equal(job.finished_ms, -1);
    assert_int_equal(job.rate, -1);
    assert_int_equal(job.priority, MODEL_JOB_BALANCE);
    assert_true(job.is_one_at_a_time);
    assert_false(job.is_stock);
    assert_int_equal(job.piece_count, 2);
    assert_int_equal(job.moves_total, 9);
    assert_int_equal(job.moves_done, 3);
    assert_int_equal(job.moves_cancelled, 1);
    assert_int_equal(job.bytes_to_copy, 5000);
    assert_int_equal(job.bytes_copied, 4000);
    buf_init(&out);
    cli_job_text_put(&job, &out);
    char *text = taken(&out);
    assert_string_equal(text, JOB);
    free(text);
    cli_job_text_free(memory);
}

static void piece_survives_a_round_trip(void **state)
{
    (void)state;
    struct cli_job_text *memory = NULL;
    struct model_job_piece piece;
    struct errmsg em = {""};
    struct buf out;
    assert_int_equal(cli_job_text_read_piece(slice_str(PIECE), &piece, &memory, &em), 0);
    assert_int_equal(piece.count, 2);
    assert_true(slice_equal_str(piece.moves[0].topic, "foo"));
    assert_int_equal(piece.moves[0].target.count, 3);
    assert_int_equal(piece.moves[0].target.list[2], 6);
    assert_int_equal(piece.moves[0].original.list[0], 1);
    assert_int_equal(piece.moves[0].marks, MODEL_JOB_PAUSED);
    assert_int_equal(piece.moves[0].started_ms, 1700000000000);
    assert_int_equal(piece.moves[1].partition, INT32_MAX);
    assert_int_equal(piece.moves[1].original.count, 0);
    assert_int_equal(piece.moves[1].started_ms, -1);
    assert_int_equal(piece.moves[1].replaces.list[1], 8);
    buf_init(&out);
    cli_job_text_put_piece(&piece, &out);
    char *text = taken(&out);
    assert_string_equal(text, PIECE);
    free(text);
    cli_job_text_free(memory);
    assert_int_equal(cli_job_text_read_piece(slice_str("[]"), &piece, &memory, &em), 0);
    assert_int_equal(piece.count, 0);
    cli_job_text_free(memory);
}

/* The text with one part of it replaced. */
static char *with(const char *text, const char *part, const char *other)
{
    const char *at = strstr(text, part);
    assert_non_null(at);
    return xasprintf("%.*s%s%s", (int)(at - text), text, other, at + strlen(part));
}

static void wrong_jobs_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"\"serial\":7", "\"serial\":-1"},
                                          {"\"fate\":1", "\"fate\":4"},
                                          {"\"fate\":1", "\"fate\":\"1\""},
                                          {"\"client_id\":\"klamm\"", "\"client_id\":7"},
                                          {"\"rate\":-1", "\"rate\":0"},
                                          {"\"rate\":-1", "\"rate\":-2"},
                                          {"\"priority\":2", "\"priority\":3"},
                                          {"\"one_at_a_time\":1", "\"one_at_a_time\":2"},
                                          {"\"pieces\":2", "\"pieces\":2147483648"},
                                          {"\"total\":9", "\"total\":9.0"},
                                          {"\"to_copy\":5000", "\"to\":5000"},
                                          {"\"copied\":4000}", "\"copied\":4000"},
                                          {JOB, "[]"},
                                          {JOB, ""}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cli_job_text *memory = NULL;
        struct model_job job;
        struct errmsg em = {""};
        char *text = with(JOB, rows[i][0], rows[i][1]);
        assert_int_equal(cli_job_text_read(slice_str(text), slice_str("j1"), &job, &memory, &em),
                         -E_CORRUPT);
        assert_null(memory);
        assert_true(strlen(em.text) > 0);
        free(text);
    }
    struct cli_job_text *memory = NULL;
    struct model_job job;
    assert_int_equal(cli_job_text_read(slice_str(JOB), slice_str(""), &job, &memory, NULL),
                     -E_CORRUPT);
}

static void wrong_pieces_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"\"foo\"", "\"f/o\""}, {"\"foo\"", "7"},
                                          {",0,[4", ",-1,[4"},    {"[4,5,6]", "[]"},
                                          {"[4,5,6]", "[4,4]"},   {"[4,5,6]", "[-1]"},
                                          {"[1,2,3]", "{}"},      {"1,1700000000000", "1,0.5"},
                                          {"3],1,", "3],1024,"},  {",[]],", "],"},
                                          {PIECE, "{}"},          {PIECE, "[7]"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cli_job_text *memory = NULL;
        struct model_job_piece piece;
        struct errmsg em = {""};
        char *text = with(PIECE, rows[i][0], rows[i][1]);
        assert_int_equal(cli_job_text_read_piece(slice_str(text), &piece, &memory, &em),
                         -E_CORRUPT);
        assert_null(memory);
        assert_true(strlen(em.text) > 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_survives_a_round_trip),
        cmocka_unit_test(piece_survives_a_round_trip),
        cmocka_unit_test(wrong_jobs_are_refused),
        cmocka_unit_test(wrong_pieces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
