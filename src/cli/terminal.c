/*
 * Standard streams. A closed pipe swallows what follows: the exit code of a command tells about its
 * work, not about its audience. Output that a file did not take is a loss, and remembered.
 */
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ANSWER_WAIT_MS 100
#define ANSWER_SIZE    100 /* of a typed line; the rest of a longer one is never read */

void cli_terminal_init_captured(struct cli_terminal *t)
{
    *t = (struct cli_terminal){.is_captured = true, .columns = 80, .rows = 24};
    buf_init(&t->out);
    buf_init(&t->err);
}

void cli_terminal_init(struct cli_terminal *t)
{
    cli_terminal_init_captured(t);
    t->is_captured = false;
    const char *kind = getenv("TERM");
    bool is_dumb = kind == NULL || strcmp(kind, "dumb") == 0;
    const char *no_color = getenv("NO_COLOR");
    t->is_terminal = isatty(STDOUT_FILENO) == 1 && !is_dumb;
    t->has_color = t->is_terminal && (no_color == NULL || no_color[0] == '\0');
    t->has_reader = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    cli_terminal_measure(t);
}

void cli_terminal_deinit(struct cli_terminal *t)
{
    buf_deinit(&t->out);
    buf_deinit(&t->err);
}

void cli_terminal_measure(struct cli_terminal *t)
{
    struct winsize size;
    if (!t->is_captured && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        t->columns = size.ws_col;
        t->rows = size.ws_row;
    }
}

/* False when bytes were lost that somebody wanted. */
static bool write_all(int fd, const struct buf *b)
{
    size_t done = 0;
    while (done < b->len) {
        ssize_t taken = write(fd, b->ptr + done, b->len - done);
        if (taken < 0 && errno == EINTR) {
            continue;
        }
        if (taken <= 0) {
            return taken < 0 && errno == EPIPE;
        }
        done += (size_t)taken;
    }
    return true;
}

void cli_terminal_flush(struct cli_terminal *t)
{
    if (!t->is_captured) {
        (void)write_all(STDERR_FILENO, &t->err);
        t->is_out_lost = !write_all(STDOUT_FILENO, &t->out) || t->is_out_lost;
        buf_clear(&t->err);
        buf_clear(&t->out);
    }
}

void cli_terminal_ask(struct cli_terminal *t, const char *question)
{
    cli_terminal_flush(t);
    buf_putf(&t->err, "%s [y/N] ", question);
    cli_terminal_flush(t);
}

static enum cli_answer judge_answer(const char *line, size_t len)
{
    while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r' || line[len - 1] == ' ')) {
        len--;
    }
    bool is_yes = (len == 1 && (line[0] == 'y' || line[0] == 'Y')) ||
                  (len == 3 && strncmp(line, "yes", 3) == 0);
    return is_yes ? CLI_ANSWER_YES : CLI_ANSWER_NO;
}

enum cli_answer cli_terminal_read_answer(struct cli_terminal *t)
{
    if (t->is_captured) {
        return t->typed == NULL ? CLI_ANSWER_NOT_YET : judge_answer(t->typed, strlen(t->typed));
    }
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, ANSWER_WAIT_MS) <= 0) {
        return CLI_ANSWER_NOT_YET;
    }
    /* A terminal gives whole lines. */
    char line[ANSWER_SIZE];
    ssize_t len = read(STDIN_FILENO, line, sizeof line);
    return len <= 0 ? CLI_ANSWER_NO : judge_answer(line, (size_t)len);
}

const char *cli_terminal_style(const struct cli_terminal *t, enum cli_style style)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[32m", "\033[33m", "\033[31m"};
    return t->has_color ? codes[style] : "";
}
