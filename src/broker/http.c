/*
 * See http.h. The order of one sender's posts makes the end safe: the message that frees the server is
 * behind all answers, and its echo, which frees the link, is behind all questions.
 */
#include "broker/http.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/list.h"
#include "env/env.h"
#include "http/server.h"

#include <stdlib.h>

#define CONNECTIONS_MAX 64
#define IDLE_S          10
#define EXCHANGE_MS     30000
#define ANSWER_MS       5000
#define REST_FACTOR     20 /* gathering may take a twentieth of the broker's time */
#define REST_MS_MAX     2000
#define PAGES           3

struct broker_http {
    struct broker_http_config config;
    struct http_server *server; /* touched on http_env once it runs */
    uint16_t port;
    struct list waiting; /* question: their answer is due */
    bool is_gathering;
    bool is_free;          /* the broker is gone: only the echo is awaited */
    struct env_timer rest; /* until the next gathering may begin */
};

/* One question on its way. */
struct question {
    struct list_node link; /* broker_http.waiting */
    struct broker_http *http;
    struct http_question *question;
    enum http_page page;
    enum http_code code;
    struct buf body;
};

/* ---- on the HTTP env ---- */

static void answer_arrived(void *arg)
{
    struct question *q = arg;
    http_answer(q->question, q->code, &q->body);
    free(q);
}

static void question_arrived(void *arg);

static void on_ask(void *arg, struct http_question *question, enum http_page page)
{
    struct broker_http *h = arg;
    struct question *q = xalloc(sizeof *q);
    *q = (struct question){.http = h, .question = question, .page = page};
    buf_init(&q->body);
    env_post(h->config.env, question_arrived, q);
}

static void server_start(void *arg)
{
    struct broker_http *h = arg;
    http_server_run(h->server, h->config.http_env);
}

static void link_destroy(void *arg);

static void server_end(void *arg)
{
    struct broker_http *h = arg;
    http_server_free(h->server);
    env_post(h->config.env, link_destroy, h);
}

/* ---- on the broker's env ---- */

static void answer(struct question *q, enum http_code code)
{
    q->code = code;
    env_post(q->http->config.http_env, answer_arrived, q);
}

static void gather(void *arg)
{
    struct broker_http *h = arg;
    if (!h->is_gathering && !list_is_empty(&h->waiting)) {
        h->is_gathering = true;
        h->config.gather(h->config.arg);
    }
}

static void question_arrived(void *arg)
{
    struct question *q = arg;
    struct broker_http *h = q->http;
    if (h->is_free) {
        answer(q, HTTP_UNAVAILABLE);
        return;
    }
    if (q->page == HTTP_HEALTH) { /* at once: nothing else may make a broker look ill */
        answer(q, h->config.health(h->config.arg, &q->body) ? HTTP_OK : HTTP_UNAVAILABLE);
        return;
    }
    list_push_back(&h->waiting, &q->link);
    if (!env_timer_is_active(&h->rest)) {
        gather(h);
    }
}

/* Of those that need what was gathered. */
static void page_write(struct broker_http *h, enum http_page page, struct buf *out)
{
    if (page == HTTP_METRICS) {
        h->config.metrics(h->config.arg, out);
    } else {
        h->config.status(h->config.arg, out);
    }
}

/* Many who ask for one page share the work of writing it. */
static void waiting_answer(struct broker_http *h)
{
    struct buf texts[PAGES];
    bool is_written[PAGES] = {false};
    struct list_node *node;
    while ((node = list_pop(&h->waiting)) != NULL) {
        struct question *q = CONTAINER_OF(node, struct question, link);
        struct buf *text = &texts[q->page];
        if (!is_written[q->page]) {
            is_written[q->page] = true;
            buf_init(text);
            page_write(h, q->page, text);
        }
        buf_put_slice(&q->body, buf_slice(text));
        q->body.failed = q->body.failed || buf_failed(text);
        answer(q, HTTP_OK);
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (is_written[i]) {
            buf_deinit(&texts[i]);
        }
    }
}

void broker_http_gathered(struct broker_http *h)
{
    CHECK(h->is_gathering && !h->is_free);
    int64_t begin_us = env_now_us(h->config.env);
    waiting_answer(h);
    h->is_gathering = false;
    int64_t rest_ms = (env_now_us(h->config.env) - begin_us) * REST_FACTOR / 1000;
    if (rest_ms > 0) {
        env_timer_start(&h->rest, MIN(rest_ms, REST_MS_MAX));
    }
}

int32_t broker_http_waiting(const struct broker_http *h)
{
    return (int32_t)h->waiting.count;
}

/* ---- life ---- */

int broker_http_new(const struct broker_http_config *config, struct broker_http **ret_http,
                    struct errmsg *em)
{
    struct broker_http *h = xalloc(sizeof *h);
    h->config = *config;
    h->config.host = NULL;
    list_init(&h->waiting);
    env_timer_init(&h->rest, config->env, gather, h);
    struct http_config server = {
        .host = config->host,
        .port = config->port,
        .connections_max = CONNECTIONS_MAX,
        .idle_s = IDLE_S,
        .exchange_ms = EXCHANGE_MS,
        .answer_ms = ANSWER_MS,
        .ask = on_ask,
        .arg = h,
    };
    int err = http_server_open(&server, &h->server, em);
    if (err != 0) {
        free(h);
        return err;
    }
    h->port = http_server_port(h->server);
    env_post(config->http_env, server_start, h);
    *ret_http = h;
    return 0;
}

uint16_t broker_http_port(const struct broker_http *h)
{
    return h->port;
}

static void link_destroy(void *arg)
{
    struct broker_http *h = arg;
    CHECK(h->is_free && list_is_empty(&h->waiting));
    free(h);
}

void broker_http_free(struct broker_http *h)
{
    if (h == NULL) {
        return;
    }
    h->is_free = true;
    env_timer_stop(&h->rest);
    struct list_node *node;
    while ((node = list_pop(&h->waiting)) != NULL) {
        struct question *q = CONTAINER_OF(node, struct question, link);
        buf_put_str(&q->body, "the broker is ending\n");
        answer(q, HTTP_UNAVAILABLE);
    }
    env_post(h->config.http_env, server_end, h);
}
