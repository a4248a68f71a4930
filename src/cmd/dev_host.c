/*
 * See dev_host.h. The host lives on a loop on the main thread; the store, the controllers' cores and
 * each broker have a loop of their own, which runs until everything has been freed.
 *
 * Phases: starting -> ready -> ending (brokers stop one by one, the active controller last, so that
 * leadership always has somewhere to go) -> closing (the store) -> the loop ends.
 */
#include "cmd/dev_host.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "cli/text.h"
#include "cmd/dev_broker.h"
#include "cmd/dev_control.h"
#include "cmd/dev_directory.h"
#include "cmd/ending.h"
#include "env/loop.h"
#include "metastore/store.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define HOST_ADDRESS "127.0.0.1"
#define PATIENCE_MS  10000 /* between lines that tell what is waited for */

enum host_phase {
    HOST_STARTING,
    HOST_READY,
    HOST_ENDING,
    HOST_CLOSING,
};

struct host_slot {
    struct cmd_dev_broker *broker;
    struct env *env;
    char *directories[CMD_DEV_LOG_DIRS_MAX];
    const char *log_dirs[CMD_DEV_LOG_DIRS_MAX]; /* the same, as broker_config wants them */
    struct cmd_dev_request *request; /* a command that waits for this broker; NULL = none */
    enum cmd_dev_action wanted;      /* by request */
};

struct host {
    const struct cmd_dev_command *command;
    struct env *env;
    struct env *store_env;
    struct env *controller_env;
    struct env *http_env; /* NULL without HTTP ports */
    struct cmd_dev_directory directory;
    struct metastore_store *store;
    struct cmd_dev_control *control;
    struct host_slot *slots; /* index = id - 1 */
    int32_t broker_count;
    int64_t file_count;   /* descriptors for files, of all brokers together */
    int32_t closed_count; /* of host_close's stations */
    enum host_phase phase;
    int64_t signal_ms; /* when the first signal came; -1 = none did */
    bool is_stalled;   /* the store cannot write, as far as the host knows */
    int exit_code;
    struct env_timer patience;
    /* status: requests that wait for the answers of all brokers */
    struct {
        struct cmd_dev_request *request;
        bool is_json;
    } asking[CMD_DEV_BROKERS_MAX];
    int32_t asking_count;
    int32_t answers_due; /* brokers that were asked and have not answered */
};

static void host_say(const char *format, ...) PRINTF_LIKE(1, 2);

static void host_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)printf("klamm dev: ");
    (void)vprintf(format, args);
    (void)printf("\n");
    (void)fflush(stdout); /* a pipe's reader waits for the line */
    va_end(args);
}

static void host_complain(const char *text)
{
    (void)fprintf(stderr, "klamm dev: %s\n", text);
}

/* ---- commands ---- */

static void request_refuse(struct cmd_dev_request *request, const char *format, ...)
    PRINTF_LIKE(2, 3);

static void request_refuse(struct cmd_dev_request *request, const char *format, ...)
{
    struct errmsg em;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(em.text, sizeof em.text, format, args);
    va_end(args);
    char *text = xasprintf("klamm dev: %s\n", em.text);
    cmd_dev_request_answer(request, false, slice_str(text));
    free(text);
}

static void host_collect(const struct host *h, struct cmd_dev_status *list)
{
    for (int32_t i = 0; i < h->broker_count; i++) {
        list[i] = cmd_dev_broker_status(h->slots[i].broker);
    }
}

static void host_answer_status(struct host *h)
{
    struct cmd_dev_status list[CMD_DEV_BROKERS_MAX];
    host_collect(h, list);
    for (int32_t i = 0; i < h->asking_count; i++) {
        struct buf text;
        buf_init(&text);
        if (h->asking[i].is_json) {
            cmd_dev_status_put_json(&text, list, h->broker_count);
        } else {
            cmd_dev_status_put_text(&text, list, h->broker_count);
        }
        cmd_dev_request_answer(h->asking[i].request, true, buf_slice(&text));
        buf_deinit(&text);
    }
    h->asking_count = 0;
}

static void host_ask_all(struct host *h)
{
    if (h->answers_due == 0) {
        h->answers_due = h->broker_count;
        for (int32_t i = 0; i < h->broker_count; i++) {
            cmd_dev_broker_ask(h->slots[i].broker);
        }
    }
}

static void host_status(struct host *h, struct cmd_dev_request *request, bool is_json)
{
    if (h->asking_count == (int32_t)ARRAY_LEN(h->asking)) {
        request_refuse(request, "too many commands at once");
        return;
    }
    h->asking[h->asking_count].request = request;
    h->asking[h->asking_count].is_json = is_json;
    h->asking_count++;
    host_ask_all(h);
}

/* Why the broker cannot do what is asked now; NULL when it can. */
static const char *slot_obstacle(const struct host_slot *slot, enum cmd_dev_action action)
{
    struct cmd_dev_status status = cmd_dev_broker_status(slot->broker);
    bool is_down = cmd_dev_broker_is_down(slot->broker);
    if (action == CMD_DEV_START) {
        return is_down ? NULL : cmd_dev_state_name(status.state);
    }
    if (action == CMD_DEV_STOP) {
        return status.state == CMD_DEV_RUNNING ? NULL : cmd_dev_state_name(status.state);
    }
    return is_down ? cmd_dev_state_name(status.state) : NULL;
}

static void host_change(struct host *h, struct cmd_dev_request *request, enum cmd_dev_action action,
                        int32_t id)
{
    if (id < 1 || id > h->broker_count) {
        request_refuse(request, "there is no broker %d: they are 1 to %d", id, h->broker_count);
        return;
    }
    struct host_slot *slot = &h->slots[id - 1];
    const char *obstacle = slot_obstacle(slot, action);
    if (obstacle != NULL) {
        request_refuse(request, "broker %d is %s", id, obstacle);
        return;
    }
    if (slot->request != NULL) { /* only a kill comes between */
        request_refuse(slot->request, "broker %d was killed meanwhile", id);
    }
    slot->request = request;
    slot->wanted = action;
    if (action == CMD_DEV_START) {
        cmd_dev_broker_start(slot->broker);
    } else if (action == CMD_DEV_STOP) {
        cmd_dev_broker_stop(slot->broker);
    } else {
        cmd_dev_broker_kill(slot->broker);
    }
}

/* "stop 3": the words of the command line are those of the socket. */
static bool parse_change(struct slice line, enum cmd_dev_action *ret_action, int32_t *ret_id)
{
    static const struct {
        const char *word;
        enum cmd_dev_action action;
    } words[] = {{"stop ", CMD_DEV_STOP}, {"kill ", CMD_DEV_KILL}, {"start ", CMD_DEV_START}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t len = strlen(words[i].word);
        if (line.len <= len || memcmp(line.ptr, words[i].word, len) != 0) {
            continue;
        }
        char *text = slice_dup(slice_of(line.ptr + len, line.len - len));
        int64_t id;
        bool is_number = cli_text_parse_int(text, 0, INT32_MAX, &id);
        free(text);
        if (is_number) {
            *ret_action = words[i].action;
            *ret_id = (int32_t)id;
        }
        return is_number;
    }
    return false;
}

static void host_on_request(void *arg, struct cmd_dev_request *request, struct slice line)
{
    struct host *h = arg;
    enum cmd_dev_action action;
    int32_t id;
    if (slice_equal_str(line, "status")) {
        host_status(h, request, false);
    } else if (slice_equal_str(line, "status json")) {
        host_status(h, request, true);
    } else if (parse_change(line, &action, &id)) {
        host_change(h, request, action, id);
    } else {
        request_refuse(request, "unknown command");
    }
}

/* ---- the end ---- */

static void host_close_done(void *arg)
{
    struct host *h = arg;
    loop_stop(h->env);
}

/* On the store's env. */
static void store_stopped(void *arg)
{
    struct host *h = arg;
    metastore_store_free(h->store);
    h->store = NULL;
    env_post(h->env, host_close_done, h);
}

static void store_stop(void *arg)
{
    struct host *h = arg;
    metastore_store_stop(h->store, store_stopped, h);
}

/* Goes through the envs of all brokers, then the controller's, then stops the store: what freed brokers
 * left under way there is over then, and the echo of their controllers is in their mailboxes. */
static void host_close(void *arg)
{
    struct host *h = arg;
    int32_t at = h->closed_count++;
    if (at < h->broker_count) {
        env_post(h->slots[at].env, host_close, h);
    } else if (at == h->broker_count) {
        env_post(h->controller_env, host_close, h);
    } else {
        env_post(h->store_env, store_stop, h);
    }
}

/* The next one to go: the active controller is the last. NULL when all are down. */
static struct host_slot *host_next_to_stop(struct host *h)
{
    struct host_slot *next = NULL;
    for (int32_t i = 0; i < h->broker_count; i++) {
        struct host_slot *slot = &h->slots[i];
        if (cmd_dev_broker_is_down(slot->broker)) {
            continue;
        }
        if (!cmd_dev_broker_status(slot->broker).is_controller) {
            return slot;
        }
        next = slot;
    }
    return next;
}

static void host_stop_next(struct host *h)
{
    struct host_slot *slot = host_next_to_stop(h);
    if (slot == NULL) {
        h->phase = HOST_CLOSING;
        env_timer_stop(&h->patience);
        host_close(h);
        return;
    }
    struct cmd_dev_status status = cmd_dev_broker_status(slot->broker);
    if (status.state == CMD_DEV_STARTING || h->is_stalled) {
        cmd_dev_broker_kill(slot->broker); /* it has nothing to hand over yet, or never will have */
    } else if (status.state == CMD_DEV_RUNNING) {
        host_say("stopping broker %d", status.id);
        cmd_dev_broker_stop(slot->broker);
    } /* else it is stopping already */
    env_timer_start(&h->patience, PATIENCE_MS);
}

static void host_end(struct host *h, int exit_code)
{
    if (h->phase >= HOST_ENDING) {
        return;
    }
    h->phase = HOST_ENDING;
    h->exit_code = exit_code;
    cmd_dev_control_free(h->control);
    h->control = NULL;
    for (int32_t i = 0; i < h->broker_count; i++) {
        if (h->slots[i].request != NULL) {
            request_refuse(h->slots[i].request, "the cluster is ending");
            h->slots[i].request = NULL;
        }
    }
    host_ask_all(h); /* who is the controller; then host_stop_next */
}

static void host_on_signal(void *arg, int signal_number)
{
    struct host *h = arg;
    int64_t now_ms = env_now_ms(h->env);
    if (cmd_signal_is_repeat(h->signal_ms, now_ms)) {
        return;
    }
    if (h->phase >= HOST_ENDING) {
        host_complain("ended at once");
        _Exit(CMD_EXIT_OF_SIGNAL(signal_number));
    }
    h->signal_ms = now_ms;
    if (h->is_stalled) {
        host_complain("metadata cannot be written: brokers end without handing over");
    }
    host_end(h, h->is_stalled ? 1 : 0);
}

/* ---- what brokers tell ---- */

static void host_check_ready(struct host *h)
{
    for (int32_t i = 0; i < h->broker_count; i++) {
        if (cmd_dev_broker_status(h->slots[i].broker).state != CMD_DEV_RUNNING) {
            return;
        }
    }
    h->phase = HOST_READY;
    env_timer_stop(&h->patience);
    struct cmd_dev_status list[CMD_DEV_BROKERS_MAX];
    host_collect(h, list);
    struct buf bootstrap;
    buf_init(&bootstrap);
    cmd_dev_status_put_bootstrap(&bootstrap, list, h->broker_count);
    host_say("%d broker%s ready, bootstrap %.*s", h->broker_count, h->broker_count > 1 ? "s" : "",
             SLICE_ARG(buf_slice(&bootstrap)));
    buf_deinit(&bootstrap);
}

/* Answers the command that waited for this. */
static void slot_answer(struct host_slot *slot, const struct cmd_dev_status *status)
{
    static const enum cmd_dev_state goals[] = {[CMD_DEV_STOP] = CMD_DEV_STOPPED,
                                               [CMD_DEV_KILL] = CMD_DEV_KILLED,
                                               [CMD_DEV_START] = CMD_DEV_RUNNING};
    struct cmd_dev_request *request = slot->request;
    slot->request = NULL;
    if (status->state == goals[slot->wanted]) {
        char *text =
            xasprintf("klamm dev: broker %d %s\n", status->id,
                      slot->wanted == CMD_DEV_START ? "ready" : cmd_dev_state_name(status->state));
        cmd_dev_request_answer(request, true, slice_str(text));
        free(text);
    } else {
        request_refuse(request, "broker %d: %s", status->id,
                       status->reason != NULL ? status->reason : cmd_dev_state_name(status->state));
    }
}

static struct host_slot *host_slot_of(struct host *h, const struct cmd_dev_broker *b)
{
    return &h->slots[cmd_dev_broker_status(b).id - 1];
}

static void host_on_changed(void *arg, struct cmd_dev_broker *b)
{
    struct host *h = arg;
    struct host_slot *slot = host_slot_of(h, b);
    struct cmd_dev_status status = cmd_dev_broker_status(b);
    if (status.state == CMD_DEV_FAILED && h->phase < HOST_ENDING) {
        char *text = xasprintf("broker %d: %s", status.id, status.reason);
        host_complain(text);
        free(text);
    } else if (h->phase != HOST_STARTING && status.state != CMD_DEV_FAILED) {
        host_say("broker %d %s", status.id,
                 status.state == CMD_DEV_RUNNING ? "ready" : cmd_dev_state_name(status.state));
    }
    if (slot->request != NULL) {
        slot_answer(slot, &status);
    }
    if (h->phase == HOST_STARTING && status.state == CMD_DEV_FAILED) {
        host_end(h, 1);
    } else if (h->phase == HOST_STARTING) {
        host_check_ready(h);
    } else if (h->phase == HOST_ENDING && h->answers_due == 0 && cmd_dev_broker_is_down(b)) {
        host_stop_next(h);
    }
}

static void host_on_said(void *arg, struct cmd_dev_broker *b, const char *line)
{
    (void)arg;
    char *text = xasprintf("broker %d: %s", cmd_dev_broker_status(b).id, line);
    host_complain(text);
    free(text);
}

static void host_on_answered(void *arg, struct cmd_dev_broker *b)
{
    struct host *h = arg;
    (void)b;
    CHECK(h->answers_due > 0);
    h->answers_due--;
    if (h->answers_due == 0) {
        host_answer_status(h);
        if (h->phase == HOST_ENDING) {
            host_stop_next(h);
        }
    }
}

/* No leadership can be handed over while the metadata cannot be written: an end does not wait for it. */
static void host_stalled(void *arg)
{
    struct host *h = arg;
    h->is_stalled = true;
    if (h->phase >= HOST_ENDING) {
        h->exit_code = 1;
    }
    if (h->phase == HOST_ENDING && h->answers_due == 0) {
        host_stop_next(h);
    }
}

static void host_recovered(void *arg)
{
    struct host *h = arg;
    h->is_stalled = false;
}

/* On the store's env: only stderr is touched. */
static void host_on_stall(void *arg, const struct errmsg *em)
{
    struct host *h = arg;
    if (em != NULL) {
        char *text = xasprintf("metadata cannot be written, trying again: %s", em->text);
        host_complain(text);
        free(text);
    } else {
        host_complain("metadata is written again");
    }
    env_post(h->env, em != NULL ? host_stalled : host_recovered, h);
}

static void host_on_patience(void *arg)
{
    struct host *h = arg;
    for (int32_t i = 0; i < h->broker_count; i++) {
        struct cmd_dev_status status = cmd_dev_broker_status(h->slots[i].broker);
        if (status.state == CMD_DEV_STARTING || status.state == CMD_DEV_STOPPING) {
            host_say("broker %d is still %s", status.id, cmd_dev_state_name(status.state));
        }
    }
    env_timer_start(&h->patience, PATIENCE_MS);
}

/* ---- the beginning ---- */

static void refuse_accept(void *arg, struct env_conn *conn)
{
    (void)arg;
    env_conn_close(conn);
}

/* Whether somebody listens on the port now. It may change until the broker listens, which then fails
 * with a message of its own. */
static bool port_is_taken(struct env *env, int32_t port)
{
    struct env_listener *listener = NULL;
    struct errmsg em;
    if (env_listen(env, HOST_ADDRESS, (uint16_t)port, refuse_accept, NULL, &listener, &em) != 0) {
        return true;
    }
    env_listener_close(listener);
    return false;
}

static uint16_t host_choose_port(const struct host *h, int32_t index)
{
    int32_t base = h->command->port;
    if (base == CMD_DEV_PORT_ANY_BASE) {
        int32_t port = CMD_DEV_PORT_DEFAULT + index;
        return port_is_taken(h->env, port) ? 0 : (uint16_t)port;
    }
    return base == 0 ? 0 : (uint16_t)(base + index);
}

static uint16_t host_http_port(const struct host *h, int32_t index)
{
    int32_t base = h->command->http_port;
    return base > 0 ? (uint16_t)(base + index) : 0;
}

static int host_open_store(struct host *h, struct errmsg *em)
{
    h->store_env = loop_new(&(struct loop_config){.name = "metastore"}, em);
    h->controller_env = loop_spawn("controller", em);
    if (h->store_env == NULL || h->controller_env == NULL) {
        return -E_SYSTEM;
    }
    if (h->command->http_port != CMD_DEV_HTTP_PORT_NONE) {
        h->http_env = loop_spawn("http", em);
        if (h->http_env == NULL) {
            return -E_SYSTEM;
        }
    }
    struct metastore_store_config config = {.env = h->store_env,
                                            .directory =
                                                h->command->is_in_memory ? NULL : h->directory.path,
                                            .on_stall = host_on_stall,
                                            .arg = h};
    int err = metastore_store_new(&config, &h->store, em);
    return err != 0 ? err : loop_start(h->store_env, em);
}

static int host_add_broker(struct host *h, int32_t index, int32_t count, struct errmsg *em)
{
    struct host_slot *slot = &h->slots[index];
    char name[16];
    (void)snprintf(name, sizeof name, "broker-%d", index + 1);
    slot->env = loop_spawn(name, em);
    if (slot->env == NULL) {
        return -E_SYSTEM;
    }
    const struct cmd_dev_command *command = h->command;
    for (int32_t i = 0; i < command->log_dir_count; i++) {
        slot->directories[i] = cmd_dev_directory_broker(&h->directory, index + 1, i);
        slot->log_dirs[i] = slot->directories[i];
    }
    struct cmd_dev_broker_config config = {
        .host_env = h->env,
        .env = slot->env,
        .controller_env = h->controller_env,
        .factory = metastore_store_factory(h->store),
        .broker = {.id = index + 1,
                   .log_dirs = slot->log_dirs,
                   .log_dir_count = command->log_dir_count,
                   .session_timeout_ms = command->session_timeout_ms,
                   .open_files_max = h->file_count / 2 / count, /* the rest is for short use */
                   .http_env = h->http_env,
                   .http_host = HOST_ADDRESS,
                   .http_port = host_http_port(h, index),
                   .settings = command->settings,
                   .setting_count = command->setting_count},
        .listener = {.name = BROKER_LISTENER,
                     .host = HOST_ADDRESS,
                     .port = host_choose_port(h, index)},
        .events = {.changed = host_on_changed,
                   .answered = host_on_answered,
                   .said = host_on_said,
                   .arg = h}};
    slot->broker = cmd_dev_broker_new(&config);
    h->broker_count++;
    return 0;
}

/* How many brokers, from the command and from what the directory has. */
static int32_t host_count_brokers(const struct host *h)
{
    int32_t found = MIN(h->directory.broker_found, CMD_DEV_BROKERS_MAX);
    int32_t count = h->command->broker_count;
    if (count == 0) {
        count = found > 0 ? found : CMD_DEV_BROKERS_DEFAULT;
    }
    if (count < found) {
        host_say("%s has data of %d brokers; only 1 to %d are started", h->directory.path, found,
                 count);
    }
    return count;
}

static int host_begin(struct host *h, struct errmsg *em)
{
    h->env = loop_new(&(struct loop_config){.name = "klamm"}, em);
    if (h->env == NULL) {
        return -E_SYSTEM;
    }
    hash_seed(env_random_u64(h->env), env_random_u64(h->env));
    env_timer_init(&h->patience, h->env, host_on_patience, h);
    int err = cmd_dev_directory_open(h->env, h->command->directory, h->command->is_in_memory,
                                     &h->directory, em);
    if (err != 0) {
        return err;
    }
    int32_t count = host_count_brokers(h);
    int32_t highest = MAX(h->command->port, h->command->http_port);
    if (highest + count - 1 > UINT16_MAX) {
        return errmsg_set(em, E_INVALID, "there are no %d ports from %d up", count, highest);
    }
    err = host_open_store(h, em);
    if (err == 0) {
        err = cmd_dev_control_new(h->env, h->directory.path, host_on_request, h, &h->control, em);
    }
    h->slots = xalloc((size_t)count * sizeof *h->slots);
    for (int32_t i = 0; i < count && err == 0; i++) {
        err = host_add_broker(h, i, count, em);
    }
    return err != 0 ? err : loop_on_signal(h->env, host_on_signal, h, em);
}

/* Everything that is left: all brokers are down, or were never started. The loops of the brokers and
 * the controllers outlive the store, whose last messages go to them. */
static void host_free(struct host *h)
{
    cmd_dev_control_free(h->control);
    loop_end(h->http_env);
    loop_end(h->store_env);
    metastore_store_free(h->store); /* only when it was never stopped: nobody used it */
    for (int32_t i = 0; i < h->broker_count; i++) {
        loop_end(h->slots[i].env);
        cmd_dev_broker_free(h->slots[i].broker);
        for (int32_t k = 0; k < CMD_DEV_LOG_DIRS_MAX; k++) {
            free(h->slots[i].directories[k]);
        }
    }
    free(h->slots);
    loop_end(h->controller_env);
    if (h->directory.path != NULL) {
        cmd_dev_directory_close(&h->directory);
    }
    if (h->env != NULL) {
        env_timer_stop(&h->patience);
        loop_free(h->env);
        loop_ignore_signals();
    }
}

int cmd_dev_host_run(const struct cmd_dev_command *command)
{
    struct host h = {.command = command, .signal_ms = -1, .exit_code = 1};
    struct errmsg em = {""};
    h.file_count = loop_raise_file_limit();
    if (host_begin(&h, &em) == 0) {
        env_timer_start(&h.patience, PATIENCE_MS);
        for (int32_t i = 0; i < h.broker_count; i++) {
            cmd_dev_broker_start(h.slots[i].broker);
        }
        loop_run(h.env);
        host_say("ended");
    } else {
        host_complain(em.text);
    }
    host_free(&h);
    return h.exit_code;
}
