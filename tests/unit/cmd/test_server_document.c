/*
 * docs/configuration.md is what the table of properties makes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/server_document.h"

#include <stdio.h>
#include <stdlib.h>

static void committed_document_is_the_present_one(void **state)
{
    (void)state;
    FILE *file = fopen(KLAMM_SOURCE_DIR "/docs/configuration.md", "r");
    assert_non_null(file);
    struct buf made;
    struct buf found;
    buf_init(&made);
    buf_init(&found);
    uint8_t *space = buf_put_space(&found, 1024 * 1024);
    found.len = fread(space, 1, 1024 * 1024, file);
    (void)fclose(file);
    cmd_server_document_put(&made);
    char *made_text = slice_dup(buf_slice(&made));
    char *found_text = slice_dup(buf_slice(&found));
    assert_string_equal(found_text, made_text);
    free(made_text);
    free(found_text);
    buf_deinit(&made);
    buf_deinit(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(committed_document_is_the_present_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
