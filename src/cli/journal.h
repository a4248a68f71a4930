/*
 * A journal: named values that survive kill -9 and power loss, in one file that is only appended to. For the
 * queue that klamm moves keeps itself where the controller has none.
 *
 * The file: a line "klamm-journal 1", then one line a change: the CRC-32C of the rest in 8 hex digits, a
 * blank, the name, a blank, the value, or "-" for a value that is taken away. Neither names nor values have
 * line ends, names no blanks. What a crash left half written at the end is cut off; damage before the end,
 * another version and a file in use are refused.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"
#include "env/env.h"

#define CLI_JOURNAL_BYTES_MAX (INT64_C(1) << 30) /* of a file that is read */
#define CLI_JOURNAL_NAME_MAX  200                /* bytes */

struct cli_journal;

/* Makes the file, or reads what is there. It stays locked until cli_journal_close. */
int cli_journal_open(struct env *env, const char *path, struct cli_journal **ret_journal,
                     struct errmsg *em) MUST_CHECK;
/* Closes; what was not synced may be lost. NULL is fine. */
void cli_journal_close(struct cli_journal *journal);
/* No value is in it. */
bool cli_journal_is_empty(const struct cli_journal *journal);
/* Appends; on disk after the next cli_journal_sync. value SLICE_NULL: takes it away. After a failure the
 * journal takes nothing more. */
int cli_journal_put(struct cli_journal *journal, const char *name, struct slice value,
                    struct errmsg *em) MUST_CHECK;
/* Takes all values away. */
int cli_journal_clear(struct cli_journal *journal, struct errmsg *em) MUST_CHECK;
/* Waits for the disk. Rewrites the file when most of it is out of date. */
int cli_journal_sync(struct cli_journal *journal, struct errmsg *em) MUST_CHECK;
/* Calls fn for each value whose name begins so, in byte order of the names. */
typedef int (*cli_journal_fn)(void *arg, const char *name, struct slice value, struct errmsg *em);
int cli_journal_each(struct cli_journal *journal, const char *prefix, cli_journal_fn fn, void *arg,
                     struct errmsg *em) MUST_CHECK;
