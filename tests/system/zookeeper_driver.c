/*
 * Sessions of the ZooKeeper backend by remote control, for tests that stop, pause and kill the server
 * under them. Commands come as lines on the standard input, words parted by spaces; what happens
 * leaves as lines on the standard output, each beginning with the session's name.
 *
 *   open NAME TIMEOUT_MS CONNECT [DIGEST [acl]]     ->  NAME state connected|disconnected|expired
 *                                                       NAME trouble TEXT
 *   get|exists|children NAME TAG PATH [watch]       ->  NAME answer TAG ERROR [VERSION DATA]
 *   create NAME TAG PATH DATA [ephemeral]               NAME event KIND PATH
 *   set NAME TAG PATH DATA VERSION
 *   delete NAME TAG PATH VERSION
 *   owner NAME TAG PATH                             ->  NAME answer TAG ERROR [HEX]: of an ephemeral node
 *   id NAME                                         ->  NAME id HEX
 *   close|abandon NAME
 *
 * It ends with its input.
 */
#include "env/loop.h"
#include "metastore/zookeeper.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSIONS_MAX 16
#define WORDS_MAX    8

struct session {
    char name[16];
    struct metastore *m; /* NULL = the slot is free */
    struct metastore_factory *factory;
    struct list calls; /* under way */
};

struct driver {
    struct env *env;
    struct env_fd_watch *input;
    struct session sessions[SESSIONS_MAX];
    char line[2 << 20]; /* a node as large as ZooKeeper takes */
    size_t line_len;
};

/* One call under way. */
struct call {
    struct list_node link;
    struct session *session;
    char tag[32];
    bool is_owner; /* whose node it is, not what is in it, is asked for */
};

/* ---- what is told ---- */

static void on_state(void *arg, enum metastore_state state)
{
    static const char *const names[] = {"connected", "disconnected", "expired"};
    struct session *s = arg;
    printf("%s state %s\n", s->name, names[state]);
}

static void on_event(void *arg, enum metastore_event event, struct slice path)
{
    static const char *const names[] = {"created", "deleted", "changed", "children"};
    struct session *s = arg;
    printf("%s event %s %.*s\n", s->name, names[event], SLICE_ARG(path));
}

static void on_trouble(void *arg, const char *text)
{
    struct session *s = arg;
    printf("%s trouble %s\n", s->name, text);
}

static void on_done(void *arg, const struct metastore_result *r)
{
    struct call *c = arg;
    printf("%s answer %s %s", c->session->name, c->tag, r->err == 0 ? "ok" : error_name(r->err));
    if (r->err == 0 && c->is_owner) {
        printf(" %" PRIx64, (uint64_t)r->stat.ephemeral_owner);
    } else if (r->err == 0) {
        int32_t version = r->op_count > 0 ? r->op_stats[0].version : r->stat.version;
        printf(" %d %.*s", version, (int)MIN(r->data.len, 4096), (const char *)r->data.ptr);
        for (int32_t i = 0; i < r->child_count; i++) {
            printf("%s%.*s", i > 0 ? "," : "", SLICE_ARG(r->children[i]));
        }
    }
    printf("\n");
    list_remove(&c->session->calls, &c->link);
    free(c);
}

/* ---- commands ---- */

static struct session *session_find(struct driver *d, const char *name)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (d->sessions[i].m != NULL && strcmp(d->sessions[i].name, name) == 0) {
            return &d->sessions[i];
        }
    }
    CHECKF(false, "no session %s", name);
    return NULL;
}

static void command_open(struct driver *d, char **words)
{
    size_t i = 0;
    while (d->sessions[i].name[0] != 0) {
        i++;
        CHECK(i < SESSIONS_MAX);
    }
    struct session *s = &d->sessions[i];
    (void)snprintf(s->name, sizeof s->name, "%s", words[1]);
    list_init(&s->calls);
    struct metastore_zookeeper_config config = {.connect = words[3],
                                                .digest = words[4],
                                                .is_acl_set = words[4] != NULL && words[5] != NULL,
                                                .on_trouble = on_trouble,
                                                .arg = s};
    struct errmsg em = {""};
    int err = metastore_zookeeper_new(&config, &s->factory, &em);
    CHECKF(err == 0, "%s", em.text);
    s->m = s->factory->open(s->factory, d->env, strtoll(words[2], NULL, 10), on_state, s);
}

static void command_call(struct session *s, char **words)
{
    struct call *c = xalloc(sizeof *c);
    c->session = s;
    list_push_back(&s->calls, &c->link);
    (void)snprintf(c->tag, sizeof c->tag, "%s", words[2]);
    struct slice path = slice_str(words[3]);
    metastore_watch_fn watch = words[4] == NULL ? NULL : on_event;
    struct metastore_op op = {.path = path, .version = -1};
    c->is_owner = strcmp(words[0], "owner") == 0;
    if (strcmp(words[0], "get") == 0) {
        metastore_get(s->m, path, watch, s, on_done, c);
        return;
    }
    if (strcmp(words[0], "exists") == 0 || c->is_owner) {
        metastore_exists(s->m, path, watch, s, on_done, c);
        return;
    }
    if (strcmp(words[0], "children") == 0) {
        metastore_children(s->m, path, watch, s, on_done, c);
        return;
    }
    if (strcmp(words[0], "create") == 0) {
        op.kind = METASTORE_CREATE;
        op.data = slice_str(words[4]);
        op.is_ephemeral = words[5] != NULL;
    } else if (strcmp(words[0], "set") == 0) {
        op.kind = METASTORE_SET;
        op.data = slice_str(words[4]);
        op.version = (int32_t)strtol(words[5], NULL, 10);
    } else {
        CHECKF(strcmp(words[0], "delete") == 0, "what is %s", words[0]);
        op.kind = METASTORE_DELETE;
    }
    metastore_multi(s->m, &op, 1, on_done, c);
}

static void command_run(struct driver *d, char **words)
{
    if (strcmp(words[0], "open") == 0) {
        command_open(d, words);
        return;
    }
    struct session *s = session_find(d, words[1]);
    if (strcmp(words[0], "close") == 0) {
        metastore_close(s->m);
        s->m = NULL;
    } else if (strcmp(words[0], "abandon") == 0) {
        metastore_abandon(s->m);
        s->m = NULL;
    } else if (strcmp(words[0], "id") == 0) {
        printf("%s id %" PRIx64 "\n", s->name, (uint64_t)metastore_session_id(s->m));
    } else {
        command_call(s, words);
    }
}

static void line_run(struct driver *d, char *line)
{
    char *words[WORDS_MAX + 1] = {NULL};
    char *rest = line;
    for (size_t i = 0; i < WORDS_MAX && rest != NULL; i++) {
        words[i] = strsep(&rest, " ");
    }
    command_run(d, words);
}

/* ---- input ---- */

static void on_input(void *arg, int events)
{
    (void)events;
    struct driver *d = arg;
    ssize_t got = read(STDIN_FILENO, d->line + d->line_len, sizeof d->line - d->line_len - 1);
    if (got <= 0) {
        loop_stop(d->env);
        return;
    }
    d->line_len += (size_t)got;
    char *end;
    while ((end = memchr(d->line, '\n', d->line_len)) != NULL) {
        *end = 0;
        line_run(d, d->line);
        size_t used = (size_t)(end - d->line) + 1;
        d->line_len -= used;
        memmove(d->line, end + 1, d->line_len);
    }
    CHECK(d->line_len < sizeof d->line - 1);
}

/* Closing dropped the callbacks of what was under way. */
static void session_free(struct session *s)
{
    metastore_zookeeper_free(s->factory);
    struct list_node *n;
    while ((n = list_pop(&s->calls)) != NULL) {
        free(CONTAINER_OF(n, struct call, link));
    }
}

int main(void)
{
    static struct driver driver;
    struct loop_config config = {.name = "driver"};
    struct errmsg em = {""};
    driver.env = loop_new(&config, &em);
    CHECKF(driver.env != NULL, "%s", em.text);
    setlinebuf(stdout);
    struct env_fd_interest interest = {
        .fd = STDIN_FILENO, .events = ENV_FD_READABLE, .fn = on_input, .arg = &driver};
    int err = env_fd_watch(driver.env, &interest, &driver.input);
    CHECK(err == 0);
    loop_run(driver.env);
    env_fd_unwatch(driver.input);
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        metastore_close(driver.sessions[i].m);
    }
    loop_free(driver.env);
    for (size_t i = 0; i < SESSIONS_MAX && driver.sessions[i].factory != NULL; i++) {
        session_free(&driver.sessions[i]);
    }
    return 0;
}
