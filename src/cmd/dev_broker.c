/*
 * See dev_broker.h. Two halves in one struct: what the host's env touches, and `there`, which only
 * the broker's env touches. They talk by letters that carry the incarnation they belong to, so that
 * what an earlier one said is not heard after a kill.
 */
#include "cmd/dev_broker.h"

#include "base/alloc.h"
#include "base/check.h"
#include "env/env.h"

#include <stdlib.h>

struct cmd_dev_broker {
    struct cmd_dev_broker_config config;
    struct cmd_dev_status status;
    uint64_t incarnation;
    struct errmsg reason; /* FAILED: why */
    /* on the broker's env */
    struct {
        struct broker *broker; /* NULL = none */
        uint64_t incarnation;
    } there;
};

enum letter_kind {
    /* to the broker's env */
    LETTER_START,
    LETTER_STOP,
    LETTER_KILL,
    LETTER_ASK, /* and back */
    /* to the host */
    LETTER_LISTENING,
    LETTER_READY,
    LETTER_STOPPED,
    LETTER_KILLED,
    LETTER_FAILED,
    LETTER_LINE,
};

struct letter {
    struct cmd_dev_broker *b;
    enum letter_kind kind;
    uint64_t incarnation;
    uint16_t port;
    uint16_t http_port;
    bool is_controller;
    int64_t epoch;
    struct errmsg em;
    char *line;
};

/* ---- on the broker's env ---- */

static void host_receive(void *arg);

static struct letter *letter_new(struct cmd_dev_broker *b, enum letter_kind kind)
{
    struct letter *letter = xalloc(sizeof *letter);
    letter->b = b;
    letter->kind = kind;
    return letter;
}

static void tell(struct cmd_dev_broker *b, enum letter_kind kind, const struct errmsg *em)
{
    struct letter *letter = letter_new(b, kind);
    letter->incarnation = b->there.incarnation;
    if (em != NULL) {
        letter->em = *em;
    }
    if (kind == LETTER_LISTENING) {
        letter->port = broker_port(b->there.broker, 0);
        letter->http_port = broker_metrics_port(b->there.broker);
    }
    env_post(b->config.host_env, host_receive, letter);
}

static void there_drop(struct cmd_dev_broker *b)
{
    broker_free(b->there.broker);
    b->there.broker = NULL;
}

static void there_ready(void *arg)
{
    tell(arg, LETTER_READY, NULL);
}

static void there_failed(void *arg)
{
    there_drop(arg);
}

/* The broker must not be freed from inside its callback. */
static void there_fatal(void *arg, const char *reason)
{
    struct cmd_dev_broker *b = arg;
    struct errmsg em;
    (void)errmsg_set(&em, E_INVALID, "%s", reason);
    env_post(b->config.env, there_failed, b);
    tell(b, LETTER_FAILED, &em);
}

static void there_line(void *arg, const char *line)
{
    struct cmd_dev_broker *b = arg;
    struct letter *letter = letter_new(b, LETTER_LINE);
    letter->incarnation = b->there.incarnation;
    letter->line = xstrdup(line);
    env_post(b->config.host_env, host_receive, letter);
}

static void there_start(struct cmd_dev_broker *b)
{
    struct errmsg em = {""};
    struct broker_config config = b->config.broker;
    config.listeners = &b->config.listener;
    config.listener_count = 1;
    config.log = there_line;
    config.log_arg = b;
    b->there.broker =
        broker_new(b->config.env, b->config.controller_env, &config, b->config.factory, &em);
    struct broker_events events = {.on_ready = there_ready, .on_fatal = there_fatal, .arg = b};
    if (b->there.broker == NULL) {
        tell(b, LETTER_FAILED, &em);
    } else if (broker_start(b->there.broker, &events, &em) != 0) {
        there_drop(b);
        tell(b, LETTER_FAILED, &em);
    } else {
        tell(b, LETTER_LISTENING, NULL);
    }
}

static void there_stopped_drop(void *arg)
{
    struct cmd_dev_broker *b = arg;
    if (b->there.broker != NULL) { /* else it was killed meanwhile */
        there_drop(b);
        tell(b, LETTER_STOPPED, NULL);
    }
}

static void there_stopped(void *arg)
{
    struct cmd_dev_broker *b = arg;
    env_post(b->config.env, there_stopped_drop, b);
}

static void there_receive(void *arg)
{
    struct letter *letter = arg;
    struct cmd_dev_broker *b = letter->b;
    enum letter_kind kind = letter->kind;
    if (kind == LETTER_ASK) {
        letter->is_controller = b->there.broker != NULL && broker_is_controller(b->there.broker);
        letter->epoch = b->there.broker == NULL ? -1 : broker_epoch(b->there.broker);
        env_post(b->config.host_env, host_receive, letter);
        return;
    }
    b->there.incarnation = letter->incarnation;
    free(letter);
    if (kind == LETTER_START) {
        there_start(b);
    } else if (kind == LETTER_STOP && b->there.broker != NULL) {
        broker_stop(b->there.broker, there_stopped, b);
    } else if (kind == LETTER_KILL) {
        there_drop(b);
        tell(b, LETTER_KILLED, NULL);
    } /* else it failed meanwhile, which the host knows soon */
}

/* ---- on the host's env ---- */

static void send(struct cmd_dev_broker *b, enum letter_kind kind)
{
    struct letter *letter = letter_new(b, kind);
    letter->incarnation = b->incarnation;
    env_post(b->config.env, there_receive, letter);
}

static void become(struct cmd_dev_broker *b, enum cmd_dev_state state)
{
    b->status.state = state;
    if (cmd_dev_broker_is_down(b)) {
        b->status.is_controller = false;
        b->status.epoch = -1;
    }
    b->status.reason = state == CMD_DEV_FAILED ? b->reason.text : NULL;
    b->config.events.changed(b->config.events.arg, b);
}

static void host_receive(void *arg)
{
    struct letter *letter = arg;
    struct cmd_dev_broker *b = letter->b;
    if (letter->kind == LETTER_ASK) {
        b->status.is_controller = letter->is_controller;
        b->status.epoch = letter->epoch;
        b->config.events.answered(b->config.events.arg, b);
    } else if (letter->incarnation == b->incarnation) {
        switch (letter->kind) {
        case LETTER_LISTENING:
            /* The next start asks for the same port, which clients know by then. */
            b->status.port = letter->port;
            b->config.listener.port = letter->port;
            b->status.http_port = letter->http_port;
            b->config.broker.http_port = letter->http_port;
            break;
        case LETTER_READY:
            become(b, CMD_DEV_RUNNING);
            break;
        case LETTER_STOPPED:
            become(b, CMD_DEV_STOPPED);
            break;
        case LETTER_KILLED:
            become(b, CMD_DEV_KILLED);
            break;
        case LETTER_FAILED:
            b->reason = letter->em;
            become(b, CMD_DEV_FAILED);
            break;
        case LETTER_LINE:
            b->config.events.said(b->config.events.arg, b, letter->line);
            break;
        case LETTER_START:
        case LETTER_STOP:
        case LETTER_KILL:
        case LETTER_ASK:
            CHECK(false); /* these travel the other way, or are done above */
        }
    }
    free(letter->line);
    free(letter);
}

struct cmd_dev_broker *cmd_dev_broker_new(const struct cmd_dev_broker_config *config)
{
    struct cmd_dev_broker *b = xalloc(sizeof *b);
    b->config = *config;
    b->status = (struct cmd_dev_status){.id = config->broker.id,
                                        .state = CMD_DEV_STOPPED,
                                        .epoch = -1,
                                        .directory = config->broker.log_dirs[0]};
    return b;
}

void cmd_dev_broker_free(struct cmd_dev_broker *b)
{
    if (b != NULL) {
        CHECK(cmd_dev_broker_is_down(b));
        free(b);
    }
}

struct cmd_dev_status cmd_dev_broker_status(const struct cmd_dev_broker *b)
{
    return b->status;
}

bool cmd_dev_broker_is_down(const struct cmd_dev_broker *b)
{
    enum cmd_dev_state state = b->status.state;
    return state == CMD_DEV_STOPPED || state == CMD_DEV_KILLED || state == CMD_DEV_FAILED;
}

void cmd_dev_broker_start(struct cmd_dev_broker *b)
{
    CHECK(cmd_dev_broker_is_down(b));
    b->incarnation++;
    b->status.state = CMD_DEV_STARTING;
    b->status.reason = NULL;
    send(b, LETTER_START);
}

void cmd_dev_broker_stop(struct cmd_dev_broker *b)
{
    CHECK(b->status.state == CMD_DEV_RUNNING);
    b->status.state = CMD_DEV_STOPPING;
    send(b, LETTER_STOP);
}

/* What the living one still says is not heard any more. */
void cmd_dev_broker_kill(struct cmd_dev_broker *b)
{
    CHECK(!cmd_dev_broker_is_down(b));
    b->incarnation++;
    send(b, LETTER_KILL);
}

void cmd_dev_broker_ask(struct cmd_dev_broker *b)
{
    send(b, LETTER_ASK);
}
