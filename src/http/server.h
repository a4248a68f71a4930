/*
 * The HTTP port: GET and HEAD of three pages. Requests, limits and answers are here; what a page says
 * is somebody else's knowledge, asked for by a question that may travel to another thread and back.
 *
 * Input is hostile: connections, their memory and their time are bounded, bodies are refused, other
 * paths get 404, other methods 405; a connection is for one request. libmicrohttpd does the I/O, driven from one env.
 *
 * Life: http_server_open (any thread: it listens, nobody is served) -> http_server_run -> http_server_free,
 * both on the env that serves.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct env;
struct http_server;
struct http_question;

enum http_page {
    HTTP_METRICS, /* /metrics: Prometheus text */
    HTTP_HEALTH,  /* /healthz: plain text */
    HTTP_STATUS,  /* /status: JSON */
};

enum http_code {
    HTTP_OK = 200,
    HTTP_UNAVAILABLE = 503,
};

/* The page is wanted: http_answer is called once, later, on the env that serves; never from inside. */
typedef void (*http_ask_fn)(void *arg, struct http_question *q, enum http_page page);

struct http_config {
    const char *host; /* a literal address: "127.0.0.1", "::" */
    uint16_t port;    /* 0 = any free one */
    int32_t connections_max;
    int64_t idle_s;      /* a connection that says nothing for so long is closed */
    int64_t exchange_ms; /* and one that takes so long for its request and the answer */
    int64_t answer_ms;   /* a question that takes so long is answered with 503 */
    http_ask_fn ask;
    void *arg;
};

bool http_host_is_literal(const char *host);
/* -E_INVALID (no literal address) or -E_SYSTEM, with em. */
int http_server_open(const struct http_config *config, struct http_server **ret_server,
                     struct errmsg *em) MUST_CHECK;
uint16_t http_server_port(const struct http_server *s);
void http_server_run(struct http_server *s, struct env *env);
/* Closes everything; questions that are out are let go when they come back. NULL is fine. */
void http_server_free(struct http_server *s);

/* Ends the question. The body's memory is taken; body is empty afterwards. A failed body is a 500. */
void http_answer(struct http_question *q, enum http_code code, struct buf *body);
