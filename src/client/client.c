/*
 * A client's life: bootstrap list, brokers by Metadata, waiting, signals.
 * Invariant: brokers has at most one node an id; a node keeps its connection over refreshes as long as
 * its address stays.
 */
#include "client/client.h"

#include "base/alloc.h"
#include "base/check.h"
#include "env/loop.h"
#include "model/kerr.h"
#include "wire/metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEDS_MAX 100

int client_fail(struct klamm_error *err, int32_t code, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        err->code = code;
    }
    return code;
}

const char *klamm_version(void)
{
    return KLAMM_VERSION;
}

const char *klamm_code_name(int32_t code)
{
    switch (code) {
    case KLAMM_ERR_TIMEOUT:
        return "TIMEOUT";
    case KLAMM_ERR_CONNECT:
        return "CONNECT";
    case KLAMM_ERR_UNSUPPORTED:
        return "UNSUPPORTED";
    case KLAMM_ERR_PROTOCOL:
        return "PROTOCOL";
    case KLAMM_ERR_ARGUMENT:
        return "ARGUMENT";
    case KLAMM_ERR_MEMORY:
        return "MEMORY";
    case KLAMM_ERR_INTERRUPTED:
        return "INTERRUPTED";
    default:
        return kerr_name((int16_t)(code < INT16_MIN || code > INT16_MAX ? -1 : code));
    }
}

/* ---- nodes ---- */

struct client_node *client_node_new(const char *host, size_t host_len, uint16_t port, int32_t id)
{
    struct client_node *node = xalloc(sizeof *node);
    node->id = id;
    node->port = port;
    node->host = slice_dup(slice_of(host, host_len));
    node->answered_ms = -1;
    return node;
}

void client_node_free(struct client_node *node)
{
    net_peer_free(node->peer);
    free(node->host);
    free(node);
}

static void nodes_deinit(struct client_nodes *nodes)
{
    for (int32_t i = 0; i < nodes->count; i++) {
        client_node_free(nodes->list[i]);
    }
    free(nodes->list);
    *nodes = (struct client_nodes){NULL, 0};
}

static void nodes_add(struct client_nodes *nodes, struct client_node *node)
{
    size_t count = (size_t)nodes->count + 1;
    nodes->list = xrealloc(nodes->list, count * sizeof *nodes->list);
    nodes->list[nodes->count++] = node;
}

struct client_node *client_find_broker(const struct klamm_client *c, int32_t id)
{
    for (int32_t i = 0; i < c->brokers.count; i++) {
        if (c->brokers.list[i]->id == id) {
            return c->brokers.list[i];
        }
    }
    return NULL;
}

/* ---- the bootstrap list ---- */

/* One "host:port" or "[address]:port" of len bytes. */
static int parse_seed(struct klamm_client *c, const char *text, size_t len, struct klamm_error *err)
{
    const char *end = text + len;
    const char *colon = end;
    while (colon > text && colon[-1] != ':') {
        colon--;
    }
    int32_t port = 0;
    bool is_number = colon < end && end - colon <= 5;
    for (const char *p = colon; is_number && p < end; p++) {
        is_number = *p >= '0' && *p <= '9';
        port = port * 10 + (*p - '0');
    }
    const char *host = text;
    size_t host_len = colon > text ? (size_t)(colon - 1 - text) : 0;
    if (host_len >= 2 && host[0] == '[' && host[host_len - 1] == ']') {
        host++;
        host_len -= 2;
    }
    if (!is_number || port < 1 || port > UINT16_MAX || host_len == 0 || host_len > 255) {
        return client_fail(err, KLAMM_ERR_ARGUMENT,
                           "\"%.*s\" is no bootstrap server: host:port is expected",
                           (int)MIN(len, 200), text);
    }
    nodes_add(&c->seeds, client_node_new(host, host_len, (uint16_t)port, -1));
    return 0;
}

static int parse_seeds(struct klamm_client *c, const char *text, struct klamm_error *err)
{
    while (*text != '\0') {
        size_t blank = strspn(text, " ");
        text += blank;
        size_t len = strcspn(text, ",");
        size_t trimmed = len;
        while (trimmed > 0 && text[trimmed - 1] == ' ') {
            trimmed--;
        }
        if (c->seeds.count == SEEDS_MAX) {
            return client_fail(err, KLAMM_ERR_ARGUMENT, "more than %d bootstrap servers",
                               SEEDS_MAX);
        }
        int code = parse_seed(c, text, trimmed, err);
        if (code != 0) {
            return code;
        }
        text += len;
        if (*text == ',') {
            text++;
        }
    }
    if (c->seeds.count == 0) {
        return client_fail(err, KLAMM_ERR_ARGUMENT, "no bootstrap server is given");
    }
    return 0;
}

/* ---- metadata ---- */

/* The node of the old set with that identity, taken out of it; NULL when there is none. */
static struct client_node *take_node(struct client_nodes *old,
                                     const struct wire_metadata_response_brokers *row)
{
    for (int32_t i = 0; i < old->count; i++) {
        struct client_node *node = old->list[i];
        if (node->id == row->node_id && node->port == row->port &&
            slice_equal_str(row->host, node->host)) {
            old->list[i] = old->list[--old->count];
            return node;
        }
    }
    return NULL;
}

static void apply_metadata(struct klamm_client *c, const struct wire_metadata_response *response)
{
    struct client_nodes old = c->brokers;
    c->brokers = (struct client_nodes){NULL, 0};
    int32_t count = MIN(response->brokers_count, CLIENT_NODES_MAX);
    for (int32_t i = 0; i < count; i++) {
        const struct wire_metadata_response_brokers *row = &response->brokers[i];
        if (row->port < 1 || row->port > UINT16_MAX || row->node_id < 0 ||
            client_find_broker(c, row->node_id) != NULL) {
            continue; /* unusable as an address; the rest of the answer still helps */
        }
        struct client_node *node = take_node(&old, row);
        if (node == NULL) {
            node = client_node_new((const char *)row->host.ptr, row->host.len, (uint16_t)row->port,
                                   row->node_id);
        }
        nodes_add(&c->brokers, node);
    }
    c->controller_id = response->controller_id;
    nodes_deinit(&old);
}

static int refresh_from(struct klamm_client *c, struct client_node *node, int64_t deadline_ms,
                        struct klamm_error *err)
{
    struct wire_metadata_request request;
    struct wire_metadata_response response;
    struct client_call call = {
        .key = WIRE_KEY_METADATA, .version_min = 4, .request = &request, .response = &response};
    wire_metadata_request_init(&request);
    request.topics_count = 0; /* none, not all */
    request.allow_auto_topic_creation = false;
    int code = client_call_node(c, node, &call, deadline_ms, err);
    if (code == 0 && response.brokers_count <= 0) {
        code = client_fail(err, KLAMM_ERR_CONNECT, "%s:%u knows no broker of its cluster yet",
                           node->host, (unsigned)node->port);
    } else if (code == 0) {
        apply_metadata(c, &response);
    }
    client_call_deinit(&call);
    return code;
}

static int refresh_from_any(struct klamm_client *c, struct client_nodes *nodes, int64_t deadline_ms,
                            struct klamm_error *err)
{
    int code = client_fail(err, KLAMM_ERR_CONNECT, "the cluster has no broker");
    int32_t count = nodes->count;
    for (int32_t i = 0; i < count; i++) {
        struct client_node *node = nodes->list[(c->next_broker + i) % count];
        code = refresh_from(c, node, deadline_ms, err);
        if (code == 0 || code == KLAMM_ERR_INTERRUPTED || env_now_ms(c->env) >= deadline_ms) {
            return code;
        }
    }
    return code;
}

int client_refresh(struct klamm_client *c, int64_t deadline_ms, struct klamm_error *err)
{
    int code = refresh_from_any(c, &c->brokers, deadline_ms, err);
    if (code == 0 || code == KLAMM_ERR_INTERRUPTED) {
        return code;
    }
    return refresh_from_any(c, &c->seeds, deadline_ms, err);
}

/* ---- waiting ---- */

int client_run(struct klamm_client *c, struct klamm_error *err)
{
    if (!c->is_interrupted) {
        loop_run(c->env);
    }
    if (c->is_interrupted) {
        c->is_interrupted = false;
        return client_fail(err, KLAMM_ERR_INTERRUPTED, "interrupted");
    }
    return 0;
}

static void on_signal(void *arg, int signal)
{
    (void)signal; /* SIGINT and SIGTERM mean the same here */
    struct klamm_client *c = arg;
    c->is_interrupted = true;
    loop_stop(c->env);
}

static void on_timer(void *arg)
{
    loop_stop(arg);
}

int klamm_wait(struct klamm_client *client, int32_t wait_ms, struct klamm_error *err)
{
    struct env_timer timer;
    int64_t end_ms = env_now_ms(client->env) + wait_ms;
    int code = 0;
    env_timer_init(&timer, client->env, on_timer, client->env);
    for (int64_t left_ms = wait_ms; code == 0 && left_ms > 0;
         left_ms = end_ms - env_now_ms(client->env)) {
        env_timer_start(&timer, left_ms);
        code = client_run(client, err);
    }
    env_timer_stop(&timer);
    return code;
}

/* ---- life ---- */

int klamm_connect(const struct klamm_config *config, struct klamm_client **ret_client,
                  struct klamm_error *err)
{
    struct errmsg em = {""};
    struct env *env = loop_new(&(struct loop_config){.name = "libklamm"}, &em);
    if (env == NULL) {
        return client_fail(err, KLAMM_ERR_CONNECT, "cannot start: %s", em.text);
    }
    struct klamm_client *c = xalloc(sizeof *c);
    c->env = env;
    c->client_id = xstrdup(config->client_id == NULL ? "libklamm" : config->client_id);
    c->timeout_ms = config->timeout_ms <= 0 ? CLIENT_TIMEOUT_MS : config->timeout_ms;
    c->controller_id = -1;
    c->on_slow = config->on_slow;
    c->on_slow_arg = config->on_slow_arg;
    c->slow_ms = config->slow_ms <= 0 ? CLIENT_SLOW_MS : config->slow_ms;
    int code =
        parse_seeds(c, config->bootstrap_servers == NULL ? "" : config->bootstrap_servers, err);
    if (code == 0 && config->catches_signals && loop_on_signal(env, on_signal, c, &em) < 0) {
        code = client_fail(err, KLAMM_ERR_CONNECT, "cannot catch signals: %s", em.text);
    }
    if (code == 0) {
        code = client_refresh(c, env_now_ms(env) + c->timeout_ms, err);
    }
    if (code != 0) {
        klamm_close(c);
        return code;
    }
    *ret_client = c;
    return 0;
}

void klamm_set_timeout(struct klamm_client *client, int32_t timeout_ms)
{
    client->timeout_ms = MAX(timeout_ms, 1);
}

void klamm_close(struct klamm_client *client)
{
    if (client == NULL) {
        return;
    }
    nodes_deinit(&client->brokers);
    nodes_deinit(&client->seeds);
    loop_free(client->env);
    free(client->client_id);
    free(client);
}
