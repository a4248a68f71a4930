/*
 * See server_entry.h. Steps: connecting -> (an id is wanted: the nodes above the sequence are made, the
 * sequence is written, its version is the id) -> done. A write whose outcome is unknown is made again:
 * an id that nobody uses does no harm.
 */
#include "cmd/server_entry.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "cli/text.h"
#include "cmd/server_config.h"
#include "env/env.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "model/properties.h"

#include <stdlib.h>

#define PROGRESS_MS 2000
#define RETRY_MS    200

static const char *const sequence_nodes[] = {METASTORE_BROKERS, METASTORE_BROKER_SEQUENCE};

struct cmd_server_entry {
    struct cmd_server_entry_config config;
    struct metastore *metastore;
    int64_t begun_ms;
    size_t node; /* of sequence_nodes, the next to make */
    bool is_node_refused;
    bool is_connected;
    int trouble; /* what the store answered last, if that kept us; 0 = it did not answer */
    int err;     /* what done is told */
    int32_t id;
    struct env_timer progress;
    struct env_timer retry;
    struct env_timer patience;
    struct env_timer finish; /* outside of the metastore's callbacks, which must not free it */
};

static void entry_step(void *arg);
static void session_open(struct cmd_server_entry *e);

static void entry_finish(struct cmd_server_entry *e, int err, int32_t id)
{
    e->err = err;
    e->id = id;
    env_timer_stop(&e->progress);
    env_timer_stop(&e->retry);
    env_timer_stop(&e->patience);
    env_timer_start(&e->finish, 0);
}

static void on_finish(void *arg)
{
    struct cmd_server_entry *e = arg;
    metastore_close(e->metastore);
    e->metastore = NULL;
    e->config.done(e->config.arg, e->err, e->id);
}

static void on_patience(void *arg)
{
    struct cmd_server_entry *e = arg;
    entry_finish(e, e->trouble != 0 ? e->trouble : -E_TIMEOUT, -1);
}

static void retry_later(struct cmd_server_entry *e, int err)
{
    if (err != -E_SESSION_EXPIRED) {
        e->trouble = err;
        env_timer_start(&e->retry, RETRY_MS);
    }
}

static void on_progress(void *arg)
{
    struct cmd_server_entry *e = arg;
    e->config.waiting(e->config.arg, env_now_ms(e->config.env) - e->begun_ms);
    env_timer_start(&e->progress, PROGRESS_MS);
}

static void sequence_written(void *arg, const struct metastore_result *result)
{
    struct cmd_server_entry *e = arg;
    if (result->err == 0) {
        CHECK(result->op_count == 1);
        int64_t id = (int64_t)e->config.reserved_id_max + result->op_stats[0].version;
        bool is_id = id <= INT32_MAX;
        entry_finish(e, is_id ? 0 : -E_OUT_OF_RANGE, is_id ? (int32_t)id : -1);
    } else if (result->err == -E_REFUSED) {
        entry_finish(e, -E_REFUSED, -1);
    } else if (result->err == -E_NOT_FOUND && e->is_node_refused) {
        entry_finish(e, -E_REFUSED, -1);
    } else {
        retry_later(e, result->err);
    }
}

static void node_made(void *arg, const struct metastore_result *result)
{
    struct cmd_server_entry *e = arg;
    e->is_node_refused |= result->err == -E_REFUSED; /* it may be there: writing to it shows */
    if (result->err == 0 || result->err == -E_EXISTS || result->err == -E_REFUSED ||
        (result->err == -E_NOT_FOUND && e->is_node_refused)) {
        e->node++;
        entry_step(e);
    } else {
        retry_later(e, result->err);
    }
}

static void entry_step(void *arg)
{
    struct cmd_server_entry *e = arg;
    if (!e->config.is_id_wanted) {
        entry_finish(e, 0, -1);
    } else if (e->node < ARRAY_LEN(sequence_nodes)) {
        struct metastore_op op = {.kind = METASTORE_CREATE,
                                  .path = slice_str(sequence_nodes[e->node])};
        metastore_multi(e->metastore, &op, 1, node_made, e);
    } else {
        struct metastore_op op = {
            .kind = METASTORE_SET, .path = slice_str(METASTORE_BROKER_SEQUENCE), .version = -1};
        metastore_multi(e->metastore, &op, 1, sequence_written, e);
    }
}

static void on_state(void *arg, enum metastore_state state)
{
    struct cmd_server_entry *e = arg;
    if (state == METASTORE_EXPIRED) {
        env_timer_stop(&e->retry);
        metastore_close(e->metastore);
        session_open(e);
    } else if (state == METASTORE_CONNECTED && !e->is_connected) {
        e->is_connected = true;
        entry_step(e);
    }
}

static void session_open(struct cmd_server_entry *e)
{
    e->is_connected = false;
    e->metastore = e->config.factory->open(e->config.factory, e->config.env,
                                           e->config.session_timeout_ms, on_state, e);
}

struct cmd_server_entry *cmd_server_entry_new(const struct cmd_server_entry_config *config)
{
    struct cmd_server_entry *e = xalloc(sizeof *e);
    e->config = *config;
    e->begun_ms = env_now_ms(config->env);
    env_timer_init(&e->progress, config->env, on_progress, e);
    env_timer_init(&e->retry, config->env, entry_step, e);
    env_timer_init(&e->patience, config->env, on_patience, e);
    env_timer_init(&e->finish, config->env, on_finish, e);
    env_timer_start(&e->progress, PROGRESS_MS);
    env_timer_start(&e->patience, config->patience_ms);
    session_open(e);
    return e;
}

void cmd_server_entry_free(struct cmd_server_entry *e)
{
    if (e == NULL) {
        return;
    }
    env_timer_stop(&e->progress);
    env_timer_stop(&e->retry);
    env_timer_stop(&e->patience);
    env_timer_stop(&e->finish);
    if (e->metastore != NULL) {
        metastore_close(e->metastore);
    }
    free(e);
}

/* ---- the id that is remembered ---- */

/* The id in the text of a meta.properties; -E_INVALID when there is none. */
static int meta_id(struct slice text, int32_t *ret_id, struct errmsg *em)
{
    struct model_properties properties = {0};
    int64_t id = -1;
    int err = model_properties_parse(text, &properties, em);
    for (int32_t i = 0; i < properties.count && err == 0; i++) {
        const struct model_property *p = &properties.list[i];
        if (strcmp(p->key, "broker.id") == 0 && !cli_text_parse_int(p->value, 0, INT32_MAX, &id)) {
            err = errmsg_set(em, E_INVALID, "broker.id has a bad value");
        }
    }
    model_properties_deinit(&properties);
    if (err == 0 && id < 0) {
        err = errmsg_set(em, E_INVALID, "broker.id is missing");
    }
    if (err == 0) {
        *ret_id = (int32_t)id;
    }
    return err == 0 ? 0 : -E_INVALID;
}

/* -1 when the directory is new. */
static int dir_id(struct env *env, const char *dir, int32_t *ret_id, struct errmsg *em)
{
    char *path = xasprintf("%s/meta.properties", dir);
    struct buf text;
    struct env_file *file = NULL;
    int err = env_file_open(env, path, ENV_OPEN_READ, &file);
    env_file_unref(file);
    if (err == -E_NOT_FOUND) {
        *ret_id = -1;
        err = 0;
    } else if (err == -E_NOT_DIRECTORY) {
        err = errmsg_set(em, E_IO, "log directory %s: it is not a directory", dir);
    } else if (cmd_server_file_read(env, path, &text, em) != 0) {
        err = -E_IO;
    } else {
        err = meta_id(buf_slice(&text), ret_id, em);
        buf_deinit(&text);
        if (err != 0) {
            errmsg_prefix(em, "%s", path);
        }
    }
    free(path);
    return err;
}

int cmd_server_entry_remembered_id(struct env *env, const char *const *log_dirs, int32_t count,
                                   int32_t *ret_id, struct errmsg *em)
{
    int32_t found = -1;
    const char *found_in = NULL;
    bool has_unread = false;
    for (int32_t i = 0; i < count; i++) {
        int32_t id = -1;
        int err = dir_id(env, log_dirs[i], &id, em);
        if (err == -E_INVALID) {
            return err;
        }
        has_unread = has_unread || err != 0;
        if (err == 0 && id >= 0 && found >= 0 && id != found) {
            return errmsg_set(em, E_INVALID, "%s belongs to broker %d, %s to broker %d", found_in,
                              found, log_dirs[i], id);
        }
        if (err == 0 && id >= 0) {
            found = id;
            found_in = log_dirs[i];
        }
    }
    if (found < 0 && has_unread) {
        return -E_IO; /* em tells of the last one; a new id would split the data */
    }
    *ret_id = found;
    return 0;
}
