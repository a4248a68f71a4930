/*
 * klamm leader-election: preferred leaders, with the options of Kafka's tool.
 */
#include "cli/session.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"

#include <inttypes.h>

#define CODE_NOT_NEEDED 84

struct election_options {
    const char *bootstrap_servers;
    const char *type;
    const char *topic;
    int64_t partition;
    int64_t timeout_ms;
    bool is_all;
    bool is_json;
    bool is_help;
};

#define AT(field) offsetof(struct election_options, field)

static const struct cli_option options[] = {
    {"bootstrap-server", "HOST:PORT,...",
     "brokers to ask first (default " CLI_BOOTSTRAP_DEFAULT ")", CLI_OPTION_TEXT,
     AT(bootstrap_servers), 0, 0},
    {"election-type", "preferred", "the only type there is yet", CLI_OPTION_TEXT, AT(type), 0, 0},
    {"topic", "NAME", "elect for this topic; needs --partition", CLI_OPTION_TEXT, AT(topic), 0, 0},
    {"partition", "N", "and this partition of it", CLI_OPTION_NUMBER, AT(partition), 0, INT32_MAX},
    {"all-topic-partitions", NULL, "elect for all partitions", CLI_OPTION_FLAG, AT(is_all), 0, 0},
    {"timeout", "MS", "how long to wait for an answer (default 30000)", CLI_OPTION_NUMBER,
     AT(timeout_ms), 1, 3600000},
    {"json", NULL, "print JSON", CLI_OPTION_FLAG, AT(is_json), 0, 0},
    {"help", NULL, "print this text", CLI_OPTION_FLAG, AT(is_help), 0, 0},
};

static const struct cli_command command = {
    "leader-election",
    "",
    "Gives leadership back to the preferred replicas.",
    "The preferred replica is the first of a partition's list. Where it leads already nothing\n"
    "happens, and that is no error.\n"
    "\n"
    "Examples:\n"
    "  klamm leader-election --election-type preferred --all-topic-partitions\n"
    "  klamm leader-election --election-type preferred --topic orders --partition 0\n"
    "\n"
    "Exit codes: 0 done, 1 failed for at least one partition, 2 wrong usage.\n",
    options,
    ARRAY_LEN(options)};

static int print_results(struct cli_session *session, const struct klamm_partition_results *results,
                         bool is_json)
{
    struct buf *out = &session->terminal->out;
    int failed = 0;
    buf_put_str(out, is_json ? "{\"results\":[" : "");
    for (int32_t i = 0; i < results->count; i++) {
        const struct klamm_partition_result *result = &results->list[i];
        bool is_failed = result->code != 0 && result->code != CODE_NOT_NEEDED;
        failed += is_failed;
        if (is_json) {
            buf_putf(out, "%s{\"topic\":", i == 0 ? "" : ",");
            cli_text_put_json(out, result->topic);
            buf_putf(out, ",\"partition\":%" PRId32 ",\"code\":%d,\"message\":", result->partition,
                     result->code);
            cli_text_put_json(out, result->message);
            buf_put_str(out, "}");
        } else if (is_failed) {
            buf_putf(&session->terminal->err, "klamm: %s-%" PRId32 ": %s\n", result->topic,
                     result->partition, result->message);
        } else {
            buf_putf(out, "%s-%" PRId32 ": %s\n", result->topic, result->partition,
                     result->code == 0 ? "the preferred replica leads now"
                                       : "the preferred replica led already");
        }
    }
    if (!is_json && results->count == 0) {
        buf_put_str(out, "All preferred replicas lead already.\n");
    }
    buf_put_str(out, is_json ? "]}\n" : "");
    return failed > 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

static int elect(struct cli_session *session, const struct election_options *given)
{
    struct klamm_error err = {0};
    struct cli_session_config config = {.bootstrap_servers = given->bootstrap_servers,
                                        .timeout_ms = (int32_t)given->timeout_ms};
    if (cli_session_connect(session, &config, &err) != 0) {
        return cli_session_fail(session, &err);
    }
    struct klamm_partition_ref ref = {given->topic, (int32_t)given->partition};
    struct klamm_partition_refs refs = {&ref, 1};
    struct klamm_partition_results *results = NULL;
    if (klamm_elect_leaders(session->client, given->is_all ? NULL : &refs, &results, &err) != 0) {
        return cli_session_fail(session, &err);
    }
    int exit_code = print_results(session, results, given->is_json);
    klamm_partition_results_free(results);
    return exit_code;
}

static const char *find_mistake(const struct election_options *given)
{
    if (strcmp(given->type, "preferred") != 0 && strcmp(given->type, "PREFERRED") != 0) {
        return "--election-type must be preferred";
    }
    bool has_one = given->topic != NULL && given->partition >= 0;
    bool has_half = given->topic != NULL || given->partition >= 0;
    if (given->is_all ? has_half : !has_one) {
        return "give either --all-topic-partitions, or --topic and --partition";
    }
    return NULL;
}

int cli_election_run(struct cli_session *session, struct cli_words words)
{
    struct election_options given = {.bootstrap_servers = CLI_BOOTSTRAP_DEFAULT,
                                     .type = "preferred",
                                     .partition = -1,
                                     .timeout_ms = 30000};
    struct cli_given ignored = {0};
    struct errmsg em = {""};
    if (cli_options_parse(&command, words, &given, &ignored, &em) < 0) {
        return cli_session_usage(session, &command, em.text);
    }
    cli_given_deinit(&ignored);
    if (given.is_help) {
        cli_options_print_help(&command, &session->terminal->out);
        return CLI_EXIT_OK;
    }
    const char *mistake = find_mistake(&given);
    return mistake != NULL ? cli_session_usage(session, &command, mistake) : elect(session, &given);
}
