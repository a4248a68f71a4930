/*
 * A connection without an env behind it: reads come from a prepared run of bytes, writes go to a
 * buffer, both in pieces of a chosen size. For the tests of the two halves of a connection.
 */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "env/env.h"

struct fake_conn {
    struct env env;
    struct env_conn conn;
    struct slice input;
    size_t input_pos;
    size_t read_max; /* bytes a read gives at most */
    struct buf output;
    size_t write_max; /* bytes a write takes at most */
    size_t window;    /* bytes it takes before -E_AGAIN */
    int reads;
    int writes;
    int writes_with_more; /* that came with env_conn_hint_more */
};

struct fake_file {
    struct env_file file;
    const uint8_t *bytes;
    size_t len;
    int closed;
};

static int64_t fake_read(struct env_conn *c, void *ptr, size_t len)
{
    struct fake_conn *f = CONTAINER_OF(c, struct fake_conn, conn);
    size_t got = MIN(MIN(len, f->read_max), f->input.len - f->input_pos);
    f->reads++;
    if (got == 0) {
        return -E_AGAIN;
    }
    memcpy(ptr, f->input.ptr + f->input_pos, got);
    f->input_pos += got;
    return (int64_t)got;
}

static int64_t fake_take(struct fake_conn *f, const void *ptr, size_t len)
{
    size_t took = MIN(MIN(len, f->write_max), f->window);
    buf_put_bytes(&f->output, ptr, took);
    f->window -= took;
    return took == 0 ? -E_AGAIN : (int64_t)took;
}

static int64_t fake_writev(struct env_conn *c, const struct iovec *iov, int count)
{
    struct fake_conn *f = CONTAINER_OF(c, struct fake_conn, conn);
    int64_t total = 0;
    f->writes++;
    f->writes_with_more += c->has_more ? 1 : 0;
    for (int i = 0; i < count; i++) {
        int64_t took = fake_take(f, iov[i].iov_base, iov[i].iov_len);
        total += took < 0 ? 0 : took;
        if (took != (int64_t)iov[i].iov_len) {
            break;
        }
    }
    return total == 0 ? -E_AGAIN : total;
}

static int64_t fake_sendfile(struct env_conn *c, struct env_file *file, uint64_t pos, size_t len)
{
    struct fake_conn *f = CONTAINER_OF(c, struct fake_conn, conn);
    const struct fake_file *from = CONTAINER_OF(file, struct fake_file, file);
    if (pos >= from->len) {
        return -E_TRUNCATED;
    }
    return fake_take(f, from->bytes + pos, MIN(len, from->len - (size_t)pos));
}

static void fake_interest(struct env_conn *c)
{
    (void)c;
}

static void fake_file_close(struct env_file *file)
{
    CONTAINER_OF(file, struct fake_file, file)->closed++;
}

static const struct env_ops fake_ops = {.conn_read = fake_read,
                                        .conn_writev = fake_writev,
                                        .conn_sendfile = fake_sendfile,
                                        .conn_interest = fake_interest,
                                        .file_close = fake_file_close};

static inline void fake_conn_init(struct fake_conn *f)
{
    *f = (struct fake_conn){
        .env = {.ops = &fake_ops}, .read_max = SIZE_MAX, .write_max = SIZE_MAX, .window = SIZE_MAX};
    f->conn.env = &f->env;
    buf_init(&f->output);
}
