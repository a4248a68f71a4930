/*
 * Any bytes as a job or a piece of one in a journal. What is accepted reads the same when it is written
 * again. Input: one byte for the kind, then the text.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "cli/job_text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(struct slice text)
{
    struct model_job job;
    struct model_job again;
    struct cli_job_text *memory = NULL;
    struct cli_job_text *memory_again = NULL;
    struct buf first;
    struct buf second;
    if (cli_job_text_read(text, slice_str("j"), &job, &memory, NULL) < 0) {
        return;
    }
    buf_init(&first);
    buf_init(&second);
    cli_job_text_put(&job, &first);
    CHECK(cli_job_text_read(buf_slice(&first), slice_str("j"), &again, &memory_again, NULL) == 0);
    cli_job_text_put(&again, &second);
    CHECK(slice_equal(buf_slice(&first), buf_slice(&second)));
    cli_job_text_free(memory);
    cli_job_text_free(memory_again);
    buf_deinit(&first);
    buf_deinit(&second);
}

static void check_piece(struct slice text)
{
    struct model_job_piece piece;
    struct model_job_piece again;
    struct cli_job_text *memory = NULL;
    struct cli_job_text *memory_again = NULL;
    struct buf first;
    struct buf second;
    if (cli_job_text_read_piece(text, &piece, &memory, NULL) < 0) {
        return;
    }
    buf_init(&first);
    buf_init(&second);
    cli_job_text_put_piece(&piece, &first);
    CHECK(cli_job_text_read_piece(buf_slice(&first), &again, &memory_again, NULL) == 0);
    CHECK(again.count == piece.count);
    cli_job_text_put_piece(&again, &second);
    CHECK(slice_equal(buf_slice(&first), buf_slice(&second)));
    cli_job_text_free(memory);
    cli_job_text_free(memory_again);
    buf_deinit(&first);
    buf_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct slice text = slice_of(data + 1, size - 1);
    if ((data[0] & 1) == 0) {
        check_job(text);
    } else {
        check_piece(text);
    }
    return 0;
}
