/*
 * klamm moves limits: how much the queue runs at a time, the cluster-wide settings klamm.moves.max.*. Shows
 * them; with options changes them first.
 */
#include "cli/moves_run.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LIMIT_IN,
    LIMIT_OUT,
    LIMIT_CLUSTER,
    LIMIT_BYTES,
    LIMITS
};

static const struct {
    const char *setting;
    const char *json;
    const char *meaning;
    const char *unset; /* what holds when it is not set */
    bool is_bytes;
} limits[LIMITS] = {
    [LIMIT_IN] = {"klamm.moves.max.in.per.broker", "in_per_broker", "moves to one broker",
                  "not set: 4 of submitted jobs", false},
    [LIMIT_OUT] = {"klamm.moves.max.out.per.broker", "out_per_broker", "moves from one broker",
                   "not set: 4 of submitted jobs", false},
    [LIMIT_CLUSTER] = {"klamm.moves.max.per.cluster", "per_cluster", "moves in the cluster",
                       "not set: no limit", false},
    [LIMIT_BYTES] = {"klamm.moves.max.bytes.in.flight", "bytes_in_flight", "bytes on their way",
                     "not set: no limit", true},
};

/* The options' texts, in the order of the table; NULL = not given. */
static void take_options(const struct cli_moves_options *options, const char *given[LIMITS])
{
    given[LIMIT_IN] = options->in_per_broker;
    given[LIMIT_OUT] = options->out_per_broker;
    given[LIMIT_CLUSTER] = options->per_cluster;
    given[LIMIT_BYTES] = options->bytes_in_flight;
}

/* Makes the value of a setting, which the caller frees; NULL = the setting is to go. */
static int make_value(int limit, const char *text, char **ret_value, struct errmsg *em)
{
    int64_t number = 0;
    *ret_value = NULL;
    if (strcmp(text, "none") == 0) {
        return 0;
    }
    if (limits[limit].is_bytes) {
        int err = cli_text_parse_rate(text, &number, em);
        if (err < 0) {
            return errmsg_set(
                em, E_INVALID,
                "\"%.40s\" is no number of bytes above 0, as in 50000000 or 50MB, nor "
                "none",
                text);
        }
    } else if (!cli_text_parse_int(text, 0, INT32_MAX, &number)) {
        return errmsg_set(em, E_INVALID,
                          "\"%.40s\" is no number of moves, from 0 to 2147483647, nor none", text);
    }
    *ret_value = xasprintf("%" PRId64, number);
    return 0;
}

static int change(struct cli_moves *run, const struct klamm_setting_change *changes, int32_t count)
{
    struct klamm_error err = {0};
    struct klamm_alter_results *results = NULL;
    struct klamm_alteration alteration = {
        .broker_id = KLAMM_ALL_BROKERS, .changes = changes, .change_count = count};
    if (klamm_alter_settings(run->session->client, &alteration, 1, &results, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    int exit_code = results->list[0].code == 0
                        ? CLI_EXIT_OK
                        : cli_moves_fail(run, "%s", results->list[0].message);
    klamm_alter_results_free(results);
    return exit_code;
}

/* The limit's value among the settings; -1 = it is not set. */
static int64_t value_of(const struct klamm_settings *settings, int limit)
{
    int64_t value = -1;
    for (int32_t i = 0; i < settings->count; i++) {
        const struct klamm_setting *setting = &settings->list[i];
        if (strcmp(setting->name, limits[limit].setting) == 0 && setting->value != NULL) {
            (void)cli_text_parse_int(setting->value, 0, INT64_MAX, &value); /* else it stays -1 */
        }
    }
    return value;
}

static void print_limit(const struct cli_moves *run, int limit, int64_t value)
{
    struct buf *out = &run->terminal->out;
    if (run->options.is_json) {
        buf_putf(out, "%s\"%s\":%" PRId64, limit == 0 ? "{" : ",", limits[limit].json, value);
        return;
    }
    buf_putf(out, "%-21s  ", limits[limit].meaning);
    if (value < 0) {
        buf_put_str(out, limits[limit].unset);
    } else if (limits[limit].is_bytes) {
        cli_text_put_bytes(out, value);
    } else {
        buf_putf(out, "%" PRId64, value);
    }
    buf_put_str(out, "\n");
}

static int show(struct cli_moves *run)
{
    struct klamm_error err = {0};
    struct klamm_settings *settings = NULL;
    if (klamm_describe_broker_settings(run->session->client, KLAMM_ALL_BROKERS, &settings, &err) !=
        0) {
        return cli_session_fail(run->session, &err);
    }
    for (int i = 0; i < LIMITS; i++) {
        print_limit(run, i, value_of(settings, i));
    }
    buf_put_str(&run->terminal->out, run->options.is_json ? "}\n" : "");
    klamm_settings_free(settings);
    return CLI_EXIT_OK;
}

static int open_and_change(struct cli_moves *run, const struct klamm_setting_change *changes,
                           int32_t count)
{
    struct klamm_error err = {0};
    if (cli_moves_open(run, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    if (cli_moves_lacks_queue(run, "it has no such limits")) {
        return CLI_EXIT_FAILED;
    }
    return count == 0 ? CLI_EXIT_OK : change(run, changes, count);
}

int cli_moves_limits(struct cli_moves *run)
{
    const char *given[LIMITS];
    char *values[LIMITS] = {NULL};
    struct klamm_setting_change changes[LIMITS];
    int32_t count = 0;
    struct errmsg em = {""};
    int exit_code = CLI_EXIT_OK;
    take_options(&run->options, given);
    for (int i = 0; i < LIMITS && exit_code == CLI_EXIT_OK; i++) {
        if (given[i] == NULL) {
            continue;
        }
        if (make_value(i, given[i], &values[i], &em) < 0) {
            exit_code = cli_session_usage(run->session, run->command, em.text);
            break;
        }
        changes[count++] = (struct klamm_setting_change){limits[i].setting, values[i]};
    }
    if (exit_code == CLI_EXIT_OK) {
        exit_code = open_and_change(run, changes, count);
    }
    /* With a change the new values are known, and brokers hear of them a little later. */
    if (exit_code == CLI_EXIT_OK && count == 0) {
        exit_code = show(run);
    } else if (exit_code == CLI_EXIT_OK) {
        buf_put_str(&run->terminal->out,
                    run->options.is_json ? "{}\n" : "The limits are changed.\n");
    }
    for (int i = 0; i < LIMITS; i++) {
        free(values[i]);
    }
    return exit_code;
}
