/*
 * The way from the HTTP port, which is served on an env of its own, to the broker and back: questions
 * and answers cross as messages. The broker gathers its facts once for all who ask at the same time,
 * and not so often that asking could slow it down.
 *
 * Everything here is touched on the broker's env only.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct env;
struct broker_http;

struct broker_http_config {
    struct env *env;      /* the broker's */
    struct env *http_env; /* where the port is served; its loop must outlive the broker's */
    const char *host;     /* a literal address */
    uint16_t port;        /* 0 = any free one */
    /* Starts to gather what metrics and status need; the owner calls broker_http_gathered when it is
     * there, at once or later, once. */
    void (*gather)(void *arg);
    /* Write the pages from what was gathered. */
    void (*metrics)(void *arg, struct buf *out);
    void (*status)(void *arg, struct buf *out);
    /* From what is known anyhow. True: the broker is well. */
    bool (*health)(void *arg, struct buf *out);
    void *arg;
};

/* Listens at once. -E_INVALID or -E_SYSTEM with em. */
int broker_http_new(const struct broker_http_config *config, struct broker_http **ret_http,
                    struct errmsg *em) MUST_CHECK;
uint16_t broker_http_port(const struct broker_http *h);
/* No callback comes afterwards; the port is closed soon. NULL is fine. */
void broker_http_free(struct broker_http *h);

void broker_http_gathered(struct broker_http *h);
/* Questions that wait; for tests. */
int32_t broker_http_waiting(const struct broker_http *h);
