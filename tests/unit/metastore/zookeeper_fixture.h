/*
 * A ZooKeeper session whose server does not answer: the port is bound but nobody listens, so that each
 * attempt to connect is refused. Include it once, after cmocka.
 */
#pragma once

#include "base/check.h"
#include "env/loop.h"
#include "metastore/zookeeper_private.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 20000

struct fixture {
    struct env *env;
    struct env_timer watchdog;
    struct metastore_factory *factory;
    struct metastore *m;
    int port_fd;
    int stop_after; /* answers, or troubles; then the loop stops */
    bool is_late;
    int state_count;
    char trouble[512];
    int trouble_count;
    char answers[512]; /* "1:invalid; 2:ok; " */
    int answer_count;
};

struct answer {
    struct fixture *fixture;
    int number;
};

static inline void fixture_late(void *arg)
{
    struct fixture *f = arg;
    f->is_late = true;
    loop_stop(f->env);
}

static inline void fixture_state(void *arg, enum metastore_state state)
{
    (void)state;
    struct fixture *f = arg;
    f->state_count++;
}

static inline void fixture_trouble(void *arg, const char *text)
{
    struct fixture *f = arg;
    (void)snprintf(f->trouble, sizeof f->trouble, "%s", text);
    if (++f->trouble_count == f->stop_after) {
        loop_stop(f->env);
    }
}

static inline void fixture_done(void *arg, const struct metastore_result *r)
{
    struct answer *a = arg;
    struct fixture *f = a->fixture;
    size_t len = strlen(f->answers);
    (void)snprintf(f->answers + len, sizeof f->answers - len, "%d:%s@%d; ", a->number,
                   r->err == 0 ? "ok" : error_name(r->err), r->failed_op);
    if (++f->answer_count == f->stop_after) {
        loop_stop(f->env);
    }
}

/* A port that stays ours and refuses. */
static inline uint16_t fixture_port(struct fixture *f)
{
    f->port_fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    union {
        struct sockaddr_in *v4;
        struct sockaddr *any;
    } at = {.v4 = &address};
    CHECK(bind(f->port_fd, at.any, len) == 0);
    CHECK(getsockname(f->port_fd, at.any, &len) == 0);
    return ntohs(address.sin_port);
}

static inline int fixture_setup(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    *f = (struct fixture){0};
    struct loop_config loop = {.name = "test"};
    struct errmsg em = {""};
    f->env = loop_new(&loop, &em);
    CHECKF(f->env != NULL, "%s", em.text);
    env_timer_init(&f->watchdog, f->env, fixture_late, f);
    char connect[64];
    (void)snprintf(connect, sizeof connect, "127.0.0.1:%u/k", fixture_port(f));
    struct metastore_zookeeper_config config = {
        .connect = connect, .on_trouble = fixture_trouble, .arg = f};
    int err = metastore_zookeeper_new(&config, &f->factory, &em);
    CHECKF(err == 0, "%s", em.text);
    f->m = f->factory->open(f->factory, f->env, 5000, fixture_state, f);
    *state = f;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    metastore_close(f->m);
    env_timer_stop(&f->watchdog);
    loop_free(f->env);
    metastore_zookeeper_free(f->factory);
    CHECK(close(f->port_fd) == 0);
    return 0;
}

/* Runs until `count` answers or troubles came. */
static inline void fixture_run(struct fixture *f, int count)
{
    f->stop_after = count;
    env_timer_start(&f->watchdog, PATIENCE_MS);
    loop_run(f->env);
    assert_false(f->is_late);
}
