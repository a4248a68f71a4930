/*
 * Nodes of the queue of moves: golden JSON, round trips, and hostile input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "metastore/metastore.h"
#include "metastore/znode_job.h"

#include <stdlib.h>

static void assert_text(struct buf *b, const char *expected)
{
    assert_false(buf_failed(b));
    char *text = slice_dup(buf_slice(b));
    assert_string_equal(text, expected);
    free(text);
}

static const char job_json[] = "{\"version\":1,\"serial\":7,\"fate\":1,\"submitted_by\":\"User:a\","
                               "\"client_id\":\"c\",\"submitted_ms\":5,"
                               "\"finished_ms\":-1,\"rate\":100,\"priority\":2,\"one_at_a_time\":1,"
                               "\"stock\":0,\"pieces\":3,\"moves\":9,\"done\":4,"
                               "\"cancelled\":1,\"bytes\":1000,\"copied\":10}";

static void a_job_survives_a_round_trip(void **state)
{
    (void)state;
    struct model_job job = {.id = slice_str("j"),
                            .serial = 7,
                            .fate = MODEL_JOB_OPEN,
                            .submitted_by = slice_str("User:a"),
                            .client_id = slice_str("c"),
                            .submitted_ms = 5,
                            .finished_ms = -1,
                            .rate = 100,
                            .priority = 2,
                            .is_one_at_a_time = true,
                            .piece_count = 3,
                            .moves_total = 9,
                            .moves_done = 4,
                            .moves_cancelled = 1,
                            .bytes_to_copy = 1000,
                            .bytes_copied = 10};
    struct buf b;
    struct arena a;
    struct errmsg em = {0};
    buf_init(&b);
    arena_init(&a, 1 << 16);
    metastore_job_encode(&b, &job);
    assert_text(&b, job_json);
    struct model_job again = {.id = slice_str("j")};
    assert_int_equal(metastore_job_decode(buf_slice(&b), &again, &a, &em), 0);
    buf_clear(&b);
    metastore_job_encode(&b, &again);
    assert_text(&b, job_json);
    arena_deinit(&a);
    buf_deinit(&b);
}

static const char piece_json[] = "{\"version\":1,\"topics\":[{\"name\":\"a\",\"moves\":[[0,[4,5],["
                                 "1,2],[],0,-1],[7,[4],[1],[9],18,55]]},"
                                 "{\"name\":\"b\",\"moves\":[[3,[1],[2],[],32,1]]}]}";

static void a_piece_survives_a_round_trip(void **state)
{
    (void)state;
    struct buf b;
    struct arena a;
    struct errmsg em = {0};
    struct model_job_piece piece = {0};
    buf_init(&b);
    arena_init(&a, 1 << 16);
    assert_int_equal(metastore_job_piece_decode(slice_str(piece_json), &piece, &a, &em), 0);
    assert_int_equal(piece.count, 3);
    assert_int_equal(piece.moves[1].marks, MODEL_JOB_DONE | MODEL_JOB_BEGUN);
    assert_int_equal(piece.moves[1].started_ms, 55);
    metastore_job_piece_encode(&b, &piece);
    assert_text(&b, piece_json);
    buf_clear(&b);
    metastore_job_piece_encode(&b, &(struct model_job_piece){0});
    assert_text(&b, "{\"version\":1,\"topics\":[]}");
    arena_deinit(&a);
    buf_deinit(&b);
}

static const char known_json[] = "{\"version\":1,\"topics\":[{\"name\":\"a\",\"moves\":[[0,[4,5],["
                                 "1,2],[],0,-1],[7,[4],[1],[],1,55]]}],"
                                 "\"known\":[0,0,0,0,0,300,120,100,10,1700000000000]}";

/* What is known of moves goes with them; what cannot be right is left out, and costs no move. */
static void what_is_known_goes_with_the_moves(void **state)
{
    (void)state;
    static const char *const odd[] = {"[0,0,0,0,0,300,120,100,10]",
                                      "[0,0,0,0,0,-1,0,0,0,0]",
                                      "[0,0,0,0,0,1,1,0,128,7]",
                                      "[0,0,0,0,0,1,1,0,\"x\",7]",
                                      "{}",
                                      "7"};
    struct buf b;
    struct arena a;
    struct errmsg em = {0};
    struct model_job_piece piece = {0};
    buf_init(&b);
    arena_init(&a, 1 << 20);
    assert_int_equal(metastore_job_piece_decode(slice_str(known_json), &piece, &a, &em), 0);
    assert_int_equal(piece.moves[1].to_copy, 300);
    assert_int_equal(piece.moves[1].copied, 120);
    assert_int_equal(piece.moves[1].before, 100);
    assert_int_equal(piece.moves[1].reason, 10);
    assert_int_equal(piece.moves[1].since_ms, 1700000000000);
    metastore_job_piece_encode(&b, &piece);
    assert_text(&b, known_json);
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        buf_clear(&b);
        buf_putf(&b, "%.*s%s}", (int)(strstr(known_json, "[0,0,0") - known_json), known_json,
                 odd[i]);
        piece = (struct model_job_piece){0};
        assert_int_equal(metastore_job_piece_decode(buf_slice(&b), &piece, &a, &em), 0);
        assert_int_equal(piece.count, 2);
        assert_int_equal(piece.moves[1].to_copy, 0);
        assert_int_equal(piece.moves[1].since_ms, 0);
    }
    arena_deinit(&a);
    buf_deinit(&b);
}

static void assert_piece_refused(const char *json, int code, const char *why)
{
    struct arena a;
    struct errmsg em = {0};
    struct model_job_piece piece = {.count = 99};
    arena_init(&a, 1 << 16);
    assert_string_equal(error_name(metastore_job_piece_decode(slice_str(json), &piece, &a, &em)),
                        error_name(code));
    assert_int_equal(piece.count, 99);
    if (strstr(em.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", em.text, why);
    }
    arena_deinit(&a);
}

static void broken_pieces_are_refused(void **state)
{
    (void)state;
    assert_piece_refused("", -E_MALFORMED, "");
    assert_piece_refused("[]", -E_MALFORMED, "");
    assert_piece_refused("{\"version\":2,\"topics\":[]}", -E_UNSUPPORTED, "version 2");
    assert_piece_refused("{\"version\":1}", -E_MALFORMED, "'topics' is missing");
    assert_piece_refused("{\"version\":1,\"topics\":[7]}", -E_MALFORMED, "not an object");
    assert_piece_refused("{\"version\":1,\"topics\":[{\"name\":\"a\"}]}", -E_MALFORMED, "no moves");
    assert_piece_refused("{\"version\":1,\"topics\":[{\"name\":\"\",\"moves\":[]}]}", -E_MALFORMED,
                         "no name");
#define MOVE(text) "{\"version\":1,\"topics\":[{\"name\":\"a\",\"moves\":[" text "]}]}"
    assert_piece_refused(MOVE("7"), -E_MALFORMED, "places");
    assert_piece_refused(MOVE("[0,[1],[2],[],0]"), -E_MALFORMED, "places");
    assert_piece_refused(MOVE("[-1,[1],[2],[],0,-1]"), -E_MALFORMED, "place 0");
    assert_piece_refused(MOVE("[0,[],[2],[],0,-1]"), -E_MALFORMED, "empty list");
    assert_piece_refused(MOVE("[0,[1,1],[2],[],0,-1]"), -E_MALFORMED, "twice");
    assert_piece_refused(MOVE("[0,[4294967297],[2],[],0,-1]"), -E_MALFORMED, "broker id");
    assert_piece_refused(MOVE("[0,[1],[2],[],64,-1]"), -E_MALFORMED, "place 4");
    assert_piece_refused(MOVE("[0,[1],[2],[],0,-2]"), -E_MALFORMED, "place 5");
    assert_piece_refused(MOVE("[0,[1],[2],{},0,-1]"), -E_MALFORMED, "missing or too long");
}

static void broken_jobs_are_refused(void **state)
{
    (void)state;
    static const char *const broken[] = {"", "{}", "{\"version\":1}", "{\"version\":9}"};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct arena a;
        struct errmsg em = {0};
        struct model_job job = {.serial = 42};
        arena_init(&a, 1 << 16);
        assert_true(metastore_job_decode(slice_str(broken[i]), &job, &a, &em) < 0);
        assert_int_equal(job.serial, 42);
        arena_deinit(&a);
    }
}

/* No more memory than the arena has: refused, not aborted. */
static void a_small_arena_refuses(void **state)
{
    (void)state;
    struct arena a;
    struct errmsg em = {0};
    struct model_job_piece piece = {0};
    arena_init(&a, 8);
    assert_int_equal(metastore_job_piece_decode(slice_str(piece_json), &piece, &a, &em),
                     -E_TOO_LARGE);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_survives_a_round_trip),
        cmocka_unit_test(a_piece_survives_a_round_trip),
        cmocka_unit_test(what_is_known_goes_with_the_moves),
        cmocka_unit_test(broken_pieces_are_refused),
        cmocka_unit_test(broken_jobs_are_refused),
        cmocka_unit_test(a_small_arena_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
