/*
 * See server_listeners.h. Lists are split at commas; each step looks at all listeners before the next
 * one begins.
 */
#include "cmd/server_listeners.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"

#include <ctype.h>
#include <stdlib.h>

#define NAME_LEN_MAX 64

/* Takes the next item off *rest, without the blanks around it. False at the end. */
static bool item_take(struct slice *rest, struct slice *ret_item)
{
    if (slice_is_null(*rest)) {
        return false;
    }
    const uint8_t *comma = rest->len == 0 ? NULL : memchr(rest->ptr, ',', rest->len);
    size_t len = comma == NULL ? rest->len : (size_t)(comma - rest->ptr);
    struct slice item = slice_of(rest->ptr, len);
    *rest = comma == NULL ? SLICE_NULL : slice_of(comma + 1, rest->len - len - 1);
    while (item.len > 0 && isspace(item.ptr[0])) {
        item = slice_of(item.ptr + 1, item.len - 1);
    }
    while (item.len > 0 && isspace(item.ptr[item.len - 1])) {
        item.len--;
    }
    *ret_item = item;
    return true;
}

/* In upper case; NULL when it is no name. Heap. */
static char *name_dup(struct slice text)
{
    if (text.len == 0 || text.len > NAME_LEN_MAX) {
        return NULL;
    }
    char *name = slice_dup(text);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c >= 128 || (!isalnum(c) && strchr("._-", c) == NULL)) {
            free(name);
            return NULL;
        }
        name[i] = (char)toupper(c);
    }
    return name;
}

struct endpoint {
    char *name;
    char *host;
    uint16_t port;
};

/* NAME://HOST:PORT. The reason why it is none, or NULL. */
static const char *endpoint_parse(struct slice text, struct endpoint *ret)
{
    const char *start = (const char *)text.ptr;
    const char *mark = text.len == 0 ? NULL : memmem(start, text.len, "://", 3);
    int64_t port = -1;
    if (mark == NULL) {
        return "must be NAME://HOST:PORT";
    }
    char *host = slice_dup(slice_of(mark + 3, text.len - (size_t)(mark - start) - 3));
    char *colon = strrchr(host, ':');
    const char *reason = NULL;
    if (colon == NULL || !cli_text_parse_int(colon + 1, 0, UINT16_MAX, &port)) {
        reason = "the port must be a number from 0 to 65535";
    } else if (host[strcspn(host, " \t/")] != '\0') {
        reason = "the host has a character that no name has";
    }
    struct slice name = slice_of(host, colon == NULL ? 0 : (size_t)(colon - host));
    if (name.len >= 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']') {
        name = slice_of(name.ptr + 1, name.len - 2);
    } else if (reason == NULL && memchr(name.ptr, ':', name.len) != NULL) {
        reason = "an IPv6 address needs brackets";
    }
    ret->name = name_dup(slice_of(start, (size_t)(mark - start)));
    if (reason == NULL && ret->name == NULL) {
        reason = "a listener's name has letters, digits, '.', '_' and '-'";
    }
    if (reason == NULL) {
        ret->host = slice_dup(name);
        ret->port = (uint16_t)port;
    } else {
        free(ret->name);
    }
    free(host);
    return reason;
}

static struct cmd_server_listener *listener_find(struct cmd_server_listeners *l, const char *name)
{
    for (int32_t i = 0; i < l->count; i++) {
        if (strcmp(l->list[i].name, name) == 0) {
            return &l->list[i];
        }
    }
    return NULL;
}

static bool has_port(const struct cmd_server_listeners *l, uint16_t port)
{
    for (int32_t i = 0; i < l->count; i++) {
        if (port != 0 && l->list[i].port == port) {
            return true;
        }
    }
    return false;
}

/* ---- the steps: 0, or -E_INVALID with em ---- */

static int listeners_take(const struct config_set *set, struct cmd_server_listeners *l,
                          struct errmsg *em)
{
    struct slice rest = slice_str(config_get_string(set, CONFIG_BROKER_LISTENERS));
    struct slice item;
    while (item_take(&rest, &item)) {
        struct endpoint e = {0};
        const char *reason =
            l->count == BROKER_LISTENERS_MAX ? "more than 16 listeners" : endpoint_parse(item, &e);
        if (reason != NULL) {
            return errmsg_set(em, E_INVALID, "%s", reason);
        }
        int err = 0;
        if (listener_find(l, e.name) != NULL) {
            err = errmsg_set(em, E_INVALID, "%s is there twice", e.name);
        } else if (has_port(l, e.port)) {
            err = errmsg_set(em, E_INVALID, "two listeners have port %u", (unsigned)e.port);
        }
        if (err != 0) {
            free(e.name);
            free(e.host);
            return err;
        }
        l->list[l->count++] =
            (struct cmd_server_listener){.name = e.name, .host = e.host, .port = e.port};
    }
    return 0;
}

/* The protocol of the map's entry for name; the null slice: it has none. */
static struct slice protocol_of(const struct config_set *set, const char *name)
{
    struct slice rest = slice_str(config_get_string(set, CONFIG_BROKER_LISTENER_PROTOCOL_MAP));
    struct slice item;
    struct slice found = SLICE_NULL;
    while (item_take(&rest, &item)) {
        const uint8_t *colon = item.len == 0 ? NULL : memchr(item.ptr, ':', item.len);
        char *key = colon == NULL ? NULL : name_dup(slice_of(item.ptr, (size_t)(colon - item.ptr)));
        if (key != NULL && strcmp(key, name) == 0) {
            found = slice_of(colon + 1, item.len - (size_t)(colon - item.ptr) - 1);
        }
        free(key);
    }
    return found;
}

/* The fault is that of the map where there is one, else of the listeners. */
static int protocols_check(const struct config_set *set, const struct cmd_server_listeners *l,
                           int *ret_key, struct errmsg *em)
{
    *ret_key = config_set_own(set, CONFIG_BROKER_LISTENER_PROTOCOL_MAP) != NULL
                   ? CONFIG_BROKER_LISTENER_PROTOCOL_MAP
                   : CONFIG_BROKER_LISTENERS;
    for (int32_t i = 0; i < l->count; i++) {
        struct slice protocol = protocol_of(set, l->list[i].name);
        if (slice_is_null(protocol)) {
            return errmsg_set(em, E_INVALID,
                              "%s needs its protocol in listener.security.protocol.map, as in "
                              "%s:PLAINTEXT",
                              l->list[i].name, l->list[i].name);
        }
        if (!slice_equal_str(protocol, "PLAINTEXT")) {
            return errmsg_set(em, E_INVALID, "%s is to speak %.*s: PLAINTEXT is all there is",
                              l->list[i].name, (int)MIN(protocol.len, 20),
                              (const char *)protocol.ptr);
        }
    }
    return 0;
}

static bool is_any_address(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* Without advertised.listeners each is told as it is. */
static void advertise_all(struct cmd_server_listeners *l)
{
    for (int32_t i = 0; i < l->count; i++) {
        struct cmd_server_listener *one = &l->list[i];
        one->advertised_host = xstrdup(is_any_address(one->host) ? "" : one->host);
        one->advertised_port = one->port;
    }
}

static int advertised_take(const struct config_set *set, struct cmd_server_listeners *l,
                           struct errmsg *em)
{
    const char *text = config_get_string(set, CONFIG_BROKER_ADVERTISED_LISTENERS);
    if (text == NULL) {
        advertise_all(l);
        return 0;
    }
    struct slice rest = slice_str(text);
    struct slice item;
    while (item_take(&rest, &item)) {
        struct endpoint e = {0};
        const char *reason = endpoint_parse(item, &e);
        if (reason != NULL) {
            return errmsg_set(em, E_INVALID, "%s", reason);
        }
        struct cmd_server_listener *one = listener_find(l, e.name);
        if (one == NULL) {
            (void)errmsg_set(em, E_INVALID, "%s is not among the listeners", e.name);
        } else if (one->advertised_host != NULL) {
            (void)errmsg_set(em, E_INVALID, "%s is there twice", e.name);
        } else if (is_any_address(e.host)) {
            (void)errmsg_set(em, E_INVALID, "nobody can connect to every address; name one");
        } else {
            one->advertised_host = e.host;
            one->advertised_port = e.port;
            free(e.name);
            continue;
        }
        free(e.name);
        free(e.host);
        return -E_INVALID;
    }
    for (int32_t i = 0; i < l->count; i++) {
        l->list[i].is_hidden = l->list[i].advertised_host == NULL;
        if (l->list[i].is_hidden) {
            l->list[i].advertised_host = xstrdup("");
        }
    }
    return 0;
}

static int inter_broker_take(const struct config_set *set, struct cmd_server_listeners *l,
                             struct errmsg *em)
{
    const char *text = config_get_string(set, CONFIG_BROKER_INTER_BROKER_LISTENER);
    char *name = name_dup(slice_str(text == NULL ? BROKER_LISTENER : text));
    const struct cmd_server_listener *one = name == NULL ? NULL : listener_find(l, name);
    free(name);
    if (text != NULL && config_set_own(set, CONFIG_BROKER_SECURITY_PROTOCOL) != NULL) {
        return errmsg_set(em, E_INVALID, "only one of it and security.inter.broker.protocol");
    }
    if (one == NULL) {
        return errmsg_set(em, E_INVALID, "must be one of the listeners, by which brokers talk");
    }
    if (one->is_hidden) {
        return errmsg_set(em, E_INVALID, "other brokers need it: add it to advertised.listeners");
    }
    l->inter_broker = (int32_t)(one - l->list);
    return 0;
}

int cmd_server_listeners_parse(const struct config_set *set, struct cmd_server_listeners *ret,
                               int *ret_key, struct errmsg *em)
{
    struct cmd_server_listeners l = {.count = 0};
    *ret_key = CONFIG_BROKER_LISTENERS;
    int err = listeners_take(set, &l, em);
    if (err == 0) {
        err = protocols_check(set, &l, ret_key, em);
    }
    if (err == 0) {
        *ret_key = CONFIG_BROKER_ADVERTISED_LISTENERS;
        err = advertised_take(set, &l, em);
    }
    if (err == 0) {
        *ret_key = CONFIG_BROKER_INTER_BROKER_LISTENER;
        err = inter_broker_take(set, &l, em);
    }
    if (err == 0) {
        *ret = l;
    } else {
        cmd_server_listeners_deinit(&l);
    }
    return err;
}

void cmd_server_listeners_deinit(struct cmd_server_listeners *l)
{
    for (int32_t i = 0; i < l->count; i++) {
        free(l->list[i].name);
        free(l->list[i].host);
        free(l->list[i].advertised_host);
    }
    l->count = 0;
}
