/*
 * Steps of one session, each started by the answer of the one before:
 * CONNECTING -> ROOTS (base nodes) -> CLUSTER (id) -> CHECKING (nobody else has our broker id) ->
 * WAITING (for register) -> REGISTERING -> REGISTERED. Expiry leads back to CONNECTING from everywhere. A write whose outcome is unknown is
 * looked at again by reading.
 */
#include "broker/session.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/uuid.h"
#include "broker/broker.h"
#include "env/env.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/znode.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_MS 500

enum step {
    STEP_CONNECTING,
    STEP_ROOTS,
    STEP_CLUSTER,
    STEP_CHECKING,
    STEP_WAITING,
    STEP_REGISTERING,
    STEP_REGISTERED,
    STEP_FAILED,
};

struct broker_session {
    struct broker_session_config config;
    struct broker_session_events events;
    struct metastore *metastore;
    enum step step;
    int32_t root;               /* ROOTS: the one being made */
    int64_t earlier_session_id; /* our own, expired; 0 = none */
    char *cluster_id;           /* from CHECKING on; NULL before */
    bool is_remade;             /* with cluster_id */
    int64_t give_up_ms;         /* CHECKING, REGISTERING: until then a stranger's node may expire */
    bool is_held_told;          /* that a stranger's node is waited for */
    char *refused;              /* the path whose refusal was told last; NULL = none */
    struct env_timer retry;
};

static void session_open(struct broker_session *s);
static void root_make(struct broker_session *s);
static void cluster_read(struct broker_session *s);
static void node_create(struct broker_session *s);
static void node_read(struct broker_session *s);

/* An access list is in the way: told, and tried again. */
static void retry_refused(struct broker_session *s, const char *path, const char *what)
{
    if ((s->refused == NULL || strcmp(s->refused, path) != 0) && s->events.trouble != NULL) {
        char *text = xasprintf(BROKER_LOG_WARNING
                               "%s cannot be %s: refused by its access list; tried again. Is "
                               "klamm.zookeeper.digest.file right?",
                               path, what);
        s->events.trouble(s->events.arg, text);
        free(text);
    }
    free(s->refused);
    s->refused = xstrdup(path);
    env_timer_start(&s->retry, RETRY_MS);
}

static void fail(struct broker_session *s, const char *reason)
{
    s->step = STEP_FAILED;
    s->events.failed(s->events.arg, reason);
}

/* Runs the present step again, a little later. */
static void retry_later(struct broker_session *s)
{
    env_timer_start(&s->retry, RETRY_MS);
}

static void step_retry(void *arg)
{
    struct broker_session *s = arg;
    switch (s->step) {
    case STEP_ROOTS:
        root_make(s);
        break;
    case STEP_CLUSTER:
        cluster_read(s);
        break;
    case STEP_CHECKING:
        node_read(s);
        break;
    case STEP_REGISTERING:
        node_create(s);
        break;
    case STEP_CONNECTING:
    case STEP_WAITING:
    case STEP_REGISTERED:
    case STEP_FAILED:
        break;
    }
}

/* A stranger's session lasts as long as the servers let it, which may be longer than ours was to be. */
static void patience_begin(struct broker_session *s)
{
    int64_t session_ms = MAX(s->config.timeout_ms, metastore_session_timeout_ms(s->metastore));
    s->give_up_ms = env_now_ms(s->config.env) + 2 * session_ms;
    s->is_held_told = false;
}

/* ---- base nodes ---- */

static void root_next(struct broker_session *s);

/* Who may not make a node that is there need not. */
static void root_looked(void *arg, const struct metastore_result *result)
{
    struct broker_session *s = arg;
    if (result->err == 0) {
        root_next(s);
    } else if (result->err != -E_SESSION_EXPIRED) {
        retry_refused(s, metastore_path_roots[s->root], "created");
    }
}

static void root_made(void *arg, const struct metastore_result *result)
{
    struct broker_session *s = arg;
    if (result->err == -E_SESSION_EXPIRED) {
        return;
    }
    if (result->err == -E_REFUSED) {
        metastore_exists(s->metastore, slice_str(metastore_path_roots[s->root]), NULL, NULL,
                         root_looked, s);
    } else if (result->err < 0 && result->err != -E_EXISTS) {
        retry_later(s);
    } else {
        root_next(s);
    }
}

static void root_next(struct broker_session *s)
{
    s->root++;
    if (s->root < metastore_path_root_count) {
        root_make(s);
    } else {
        s->step = STEP_CLUSTER;
        cluster_read(s);
    }
}

static void root_make(struct broker_session *s)
{
    struct metastore_op op = {.kind = METASTORE_CREATE,
                              .path = slice_str(metastore_path_roots[s->root])};
    metastore_multi(s->metastore, &op, 1, root_made, s);
}

/* ---- the cluster id ---- */

static void cluster_created(void *arg, const struct metastore_result *result)
{
    struct broker_session *s = arg;
    if (result->err == -E_REFUSED) {
        retry_refused(s, METASTORE_CLUSTER_ID, "created");
    } else if (result->err != -E_SESSION_EXPIRED) {
        cluster_read(s);
    }
}

/* The first broker names the cluster: as it was known before, to us or to the directories, else at
 * random. */
static void cluster_create(struct broker_session *s)
{
    const char *known = s->cluster_id != NULL ? s->cluster_id : s->config.cluster_id;
    char text[UUID_TEXT_SIZE];
    struct buf json;
    struct env *env = s->config.env;
    uuid_format(uuid_from_random(env_random_u64(env), env_random_u64(env)), text);
    buf_init(&json);
    metastore_cluster_id_encode(&json, slice_str(known != NULL ? known : text), known != NULL);
    struct metastore_op op = {.kind = METASTORE_CREATE,
                              .path = slice_str(METASTORE_CLUSTER_ID),
                              .data = buf_slice(&json)};
    metastore_multi(s->metastore, &op, 1, cluster_created, s);
    buf_deinit(&json);
}

static void cluster_read_done(void *arg, const struct metastore_result *result)
{
    struct broker_session *s = arg;
    struct errmsg em;
    char *id = NULL;
    if (result->err == -E_SESSION_EXPIRED) {
        return;
    }
    if (result->err == -E_NOT_FOUND) {
        cluster_create(s);
        return;
    }
    if (result->err == -E_REFUSED) {
        retry_refused(s, METASTORE_CLUSTER_ID, "read");
        return;
    }
    if (result->err < 0) {
        retry_later(s);
        return;
    }
    if (metastore_cluster_id_decode(result->data, &id, &s->is_remade, &em) < 0) {
        errmsg_prefix(&em, "%s", METASTORE_CLUSTER_ID);
        fail(s, em.text);
        return;
    }
    free(s->cluster_id);
    s->cluster_id = id;
    if (s->is_remade && s->events.emptied != NULL) {
        s->events.emptied(s->events.arg, id);
    }
    s->step = STEP_CHECKING;
    patience_begin(s);
    node_read(s);
}

static void cluster_read(struct broker_session *s)
{
    metastore_get(s->metastore, slice_str(METASTORE_CLUSTER_ID), NULL, NULL, cluster_read_done, s);
}

/* ---- registration ---- */

static void node_watch(struct broker_session *s);

static void node_gone(struct broker_session *s)
{
    if (s->events.trouble != NULL) {
        char *line = xasprintf(BROKER_LOG_WARNING "the registration of broker %d was deleted by "
                                                  "somebody: the others take it for dead until it "
                                                  "is restarted",
                               s->config.broker->id);
        s->events.trouble(s->events.arg, line);
        free(line);
    }
}

static void node_changed(void *arg, enum metastore_event event, struct slice path)
{
    (void)event;
    (void)path;
    node_watch(arg);
}

static void node_watched(void *arg, const struct metastore_result *result)
{
    struct broker_session *s = arg;
    if (s->step == STEP_REGISTERED && result->err == -E_NOT_FOUND) {
        node_gone(s);
    }
}

/* As long as the session lives nobody but us should end it. */
static void node_watch(struct broker_session *s)
{
    struct metastore_path path;
    if (s->step == STEP_REGISTERED) {
        metastore_exists(s->metastore, metastore_path_broker(&path, s->config.broker->id),
                         node_changed, s, node_watched, s);
    }
}

static void registered(struct broker_session *s, int64_t epoch)
{
    s->step = STEP_REGISTERED;
    free(s->refused);
    s->refused = NULL;
    node_watch(s);
    s->events.registered(s->events.arg, epoch);
}

static void node_refused(struct broker_session *s, const char *what)
{
    struct metastore_path path;
    char *text = slice_dup(metastore_path_broker(&path, s->config.broker->id));
    retry_refused(s, text, what);
    free(text);
}

static void node_removed(void *arg, const struct metastore_result *result)
{
    struct broker_session *s = arg;
    if (result->err == -E_REFUSED) {
        node_refused(s, "removed");
    } else if (result->err != -E_SESSION_EXPIRED) {
        node_create(s);
    }
}

/* The node of our own earlier session: nobody else will mind. */
static void node_remove(struct broker_session *s, int32_t version)
{
    struct metastore_path path;
    struct metastore_op op = {.kind = METASTORE_DELETE,
                              .path = metastore_path_broker(&path, s->config.broker->id),
                              .version = version};
    metastore_multi(s->metastore, &op, 1, node_removed, s);
}

/* "HOST:PORT" of whoever registered, as far as the node says. */
static char *holder_text(struct slice json)
{
    struct model_broker holder = {0};
    struct errmsg em;
    char *text = NULL;
    if (metastore_broker_decode(json, &holder, &em) == 0 && holder.endpoint_count > 0) {
        text = xasprintf("%s:%u", holder.endpoints[0].host, (unsigned)holder.endpoints[0].port);
    } else {
        text = xstrdup("unknown address");
    }
    model_broker_deinit(&holder);
    return text;
}

/* Either its session is about to expire, or a second broker has our id. */
static void node_is_held(struct broker_session *s, struct slice json)
{
    char *holder = holder_text(json);
    int64_t left_ms = s->give_up_ms - env_now_ms(s->config.env);
    if (left_ms <= 0) {
        char *reason = xasprintf("broker id %d is in use by another broker (%s)",
                                 s->config.broker->id, holder);
        fail(s, reason);
        free(reason);
    } else {
        if (!s->is_held_told && s->events.held != NULL) {
            char *text = xasprintf("broker id %d is registered by %s; waiting up to %lld ms for "
                                   "that session to end",
                                   s->config.broker->id, holder, (long long)left_ms);
            s->events.held(s->events.arg, text);
            free(text);
        }
        s->is_held_told = true;
        retry_later(s);
    }
    free(holder);
}

/* Before anything is done in the name of our id, no living stranger may have it. */
static void id_is_free(struct broker_session *s)
{
    s->step = STEP_WAITING;
    s->events.connected(s->events.arg, s->metastore, s->cluster_id);
}

static void node_read_done(void *arg, const struct metastore_result *result)
{
    struct broker_session *s = arg;
    int64_t owner = result->err == 0 ? result->stat.ephemeral_owner : 0;
    if (result->err == -E_SESSION_EXPIRED) {
        return;
    }
    bool is_ours = owner == s->earlier_session_id && owner != 0;
    if (s->step == STEP_CHECKING && (result->err == -E_NOT_FOUND || is_ours)) {
        id_is_free(s);
    } else if (result->err == -E_REFUSED) {
        node_refused(s, "read");
    } else if (result->err < 0) {
        retry_later(s);
    } else if (owner == metastore_session_id(s->metastore)) {
        registered(s, result->stat.czxid);
    } else if (is_ours) {
        node_remove(s, result->stat.version);
    } else {
        node_is_held(s, result->data);
    }
}

static void node_read(struct broker_session *s)
{
    struct metastore_path path;
    metastore_get(s->metastore, metastore_path_broker(&path, s->config.broker->id), NULL, NULL,
                  node_read_done, s);
}

static void node_created(void *arg, const struct metastore_result *result)
{
    struct broker_session *s = arg;
    if (result->err == 0) {
        CHECK(result->op_count == 1);
        registered(s, result->op_stats[0].czxid);
    } else if (result->err == -E_REFUSED) {
        node_refused(s, "created");
    } else if (result->err != -E_SESSION_EXPIRED) {
        node_read(s);
    }
}

static void node_create(struct broker_session *s)
{
    struct metastore_path path;
    struct buf json;
    buf_init(&json);
    metastore_broker_encode(&json, s->config.broker, s->config.level, env_wall_ms(s->config.env));
    struct metastore_op op = {.kind = METASTORE_CREATE,
                              .path = metastore_path_broker(&path, s->config.broker->id),
                              .data = buf_slice(&json),
                              .is_ephemeral = true};
    metastore_multi(s->metastore, &op, 1, node_created, s);
    buf_deinit(&json);
}

void broker_session_register(struct broker_session *s)
{
    CHECK(s->step == STEP_WAITING);
    s->step = STEP_REGISTERING;
    patience_begin(s);
    node_create(s);
}

bool broker_session_is_remade(const struct broker_session *s)
{
    return s->is_remade;
}

/* ---- replicas that are to be named again ---- */

static void roles_asked(void *arg, const struct metastore_result *result)
{
    (void)arg;
    (void)result; /* Told at best: a controller that starts later reads everything. */
}

void broker_session_ask_roles(struct broker_session *s)
{
    struct buf json;
    if (s->step != STEP_REGISTERED) {
        return;
    }
    buf_init(&json);
    metastore_log_dir_event_encode(&json, s->config.broker->id);
    struct metastore_op op = {.kind = METASTORE_CREATE,
                              .path = slice_str(METASTORE_LOG_DIR_EVENT_NEW),
                              .data = buf_slice(&json),
                              .is_sequential = true};
    metastore_multi(s->metastore, &op, 1, roles_asked, NULL);
    buf_deinit(&json);
}

/* ---- sessions ---- */

static void on_state(void *arg, enum metastore_state state)
{
    struct broker_session *s = arg;
    if (s->step == STEP_FAILED) {
        return;
    }
    if (state == METASTORE_CONNECTED && s->step == STEP_CONNECTING) {
        s->step = STEP_ROOTS;
        s->root = 0;
        root_make(s);
    } else if (state == METASTORE_EXPIRED) {
        s->earlier_session_id = metastore_session_id(s->metastore);
        env_timer_stop(&s->retry);
        s->events.lost(s->events.arg);
        metastore_close(s->metastore);
        session_open(s);
    }
}

static void session_open(struct broker_session *s)
{
    s->step = STEP_CONNECTING;
    s->metastore = s->config.factory->open(s->config.factory, s->config.env, s->config.timeout_ms,
                                           on_state, s);
}

struct broker_session *broker_session_new(const struct broker_session_config *config,
                                          const struct broker_session_events *events)
{
    struct broker_session *s = xalloc(sizeof *s);
    s->config = *config;
    s->events = *events;
    env_timer_init(&s->retry, config->env, step_retry, s);
    session_open(s);
    return s;
}

void broker_session_free(struct broker_session *s, bool is_clean)
{
    if (s == NULL) {
        return;
    }
    env_timer_stop(&s->retry);
    if (is_clean) {
        metastore_close(s->metastore);
    } else {
        metastore_abandon(s->metastore);
    }
    free(s->cluster_id);
    free(s->refused);
    free(s);
}
