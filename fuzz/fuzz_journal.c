/*
 * Any bytes as the file of a journal. It is refused, or read; then it takes a value, and reads the same once
 * more.
 */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "cli/journal.h"
#include "env/loop.h"

#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int append_value(void *arg, const char *name, struct slice value, struct errmsg *em)
{
    struct buf *out = arg;
    (void)em; /* it cannot fail */
    buf_putf(out, "%s=", name);
    buf_put_slice(out, value);
    buf_put_u8(out, '\n');
    return 0;
}

static void list(struct cli_journal *journal, struct buf *out)
{
    struct errmsg em;
    buf_init(out);
    CHECK(cli_journal_each(journal, "", append_value, out, &em) == 0);
}

static void check_again(struct env *env, const char *path, struct cli_journal *journal)
{
    struct errmsg em;
    struct buf before;
    struct buf after;
    CHECK(cli_journal_put(journal, "new", slice_str("value"), &em) == 0);
    CHECK(cli_journal_sync(journal, &em) == 0);
    list(journal, &before);
    cli_journal_close(journal);
    CHECK(cli_journal_open(env, path, &journal, &em) == 0);
    list(journal, &after);
    CHECK(slice_equal(buf_slice(&before), buf_slice(&after)));
    CHECK(!cli_journal_is_empty(journal));
    buf_deinit(&before);
    buf_deinit(&after);
    cli_journal_close(journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errmsg em;
    struct cli_journal *journal = NULL;
    char path[] = "/tmp/klamm-fuzz-XXXXXX";
    struct env *env = loop_new(&(struct loop_config){.name = "fuzz"}, &em);
    int fd = mkstemp(path);
    CHECK(env != NULL && fd >= 0);
    CHECK(write(fd, data, size) == (ssize_t)size);
    CHECK(close(fd) == 0);
    if (cli_journal_open(env, path, &journal, &em) == 0) {
        check_again(env, path, journal);
    }
    CHECK(unlink(path) == 0);
    loop_free(env);
    return 0;
}
