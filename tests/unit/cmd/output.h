/*
 * Sends a line to a control socket and compares all that was printed. Include it once, after cmocka.
 */
#pragma once

#include "cmd/dev_control.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void assert_sent(const char *directory, const char *line, int code, const char *expected)
{
    char path[] = "/tmp/klamm-output-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)fflush(stdout);
    int saved[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    assert_true(dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    int got = cmd_dev_control_send(directory, line);
    (void)fflush(stdout);
    assert_true(dup2(saved[0], STDOUT_FILENO) >= 0 && dup2(saved[1], STDERR_FILENO) >= 0);
    char text[512] = "";
    assert_true(pread(fd, text, sizeof text - 1, 0) >= 0);
    (void)close(saved[0]);
    (void)close(saved[1]);
    (void)close(fd);
    (void)unlink(path);
    assert_string_equal(text, expected);
    assert_int_equal(got, code);
}
