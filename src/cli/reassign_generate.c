/*
 * klamm reassign --generate: proposes, changes nothing. Every partition keeps its own replication
 * factor. Unlike Kafka's tool it does not drop unknown brokers of the list without a word.
 */
#include "cli/reassign.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/placement.h"
#include "cli/text.h"
#include "cli/topic_names.h"

#include <inttypes.h>
#include <stdlib.h>

struct generate {
    struct cli_reassign *run;
    struct klamm_broker *brokers; /* the chosen ones, in the cluster's order */
    int32_t broker_count;
    struct cli_topic_names *names;
    struct klamm_topics *topics;
};

/* ---- the brokers ---- */

static int choose_broker(struct generate *g, const char *word, struct errmsg *em)
{
    const struct klamm_cluster *cluster = g->run->cluster;
    int64_t id = 0;
    if (!cli_text_parse_int(word, 0, INT32_MAX, &id)) {
        return errmsg_set(em, E_INVALID, "Broker list: \"%.50s\" is no broker id", word);
    }
    for (int32_t i = 0; i < g->broker_count; i++) {
        if (g->brokers[i].id == id) {
            return errmsg_set(em, E_INVALID, "Broker list contains duplicate entries: %" PRId64,
                              id);
        }
    }
    for (int32_t i = 0; i < cluster->broker_count; i++) {
        if (cluster->brokers[i].id == id) {
            g->brokers[g->broker_count++] = cluster->brokers[i];
            return 0;
        }
    }
    return errmsg_set(em, E_INVALID, "Unknown broker id %" PRId64, id);
}

static int compare_broker(const void *a, const void *b)
{
    int32_t x = ((const struct klamm_broker *)a)->id;
    int32_t y = ((const struct klamm_broker *)b)->id;
    return x < y ? -1 : x > y;
}

/* "1, 2,3": blanks around numbers are fine, anything else is named. */
static int choose_brokers(struct generate *g, struct errmsg *em)
{
    char *copy = xstrdup(g->run->options.broker_list);
    char *rest = copy;
    int err = 0;
    g->brokers = xalloc((size_t)MAX(g->run->cluster->broker_count, 1) * sizeof *g->brokers);
    while (err == 0 && rest != NULL) {
        char *word = strsep(&rest, ",");
        word += strspn(word, " ");
        size_t len = strlen(word);
        while (len > 0 && word[len - 1] == ' ') {
            word[--len] = '\0';
        }
        err = choose_broker(g, word, em);
    }
    free(copy);
    if (err == 0) {
        qsort(g->brokers, (size_t)g->broker_count, sizeof *g->brokers, compare_broker);
    }
    return err;
}

/* Racks count when all have one and nobody said otherwise. */
static int check_racks(const struct generate *g, bool *ret_uses_racks, struct errmsg *em)
{
    int32_t with_rack = 0;
    for (int32_t i = 0; i < g->broker_count; i++) {
        with_rack += g->brokers[i].rack != NULL;
    }
    bool is_aware = !g->run->options.disables_rack_awareness;
    if (is_aware && with_rack > 0 && with_rack < g->broker_count) {
        return errmsg_set(em, E_INVALID,
                          "Not all brokers have rack information. Add --disable-rack-aware in "
                          "command line to make replica assignment without rack information.");
    }
    *ret_uses_racks = is_aware && with_rack > 0;
    return 0;
}

/* ---- the topics ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_topics(struct generate *g, struct errmsg *em)
{
    struct cli_topic_names *names = g->names;
    if (names->count == 0) {
        return errmsg_set(em, E_INVALID, "The list of topics is empty");
    }
    qsort(names->list, (size_t)names->count, sizeof *names->list, compare_names);
    for (int32_t i = 1; i < names->count; i++) {
        if (strcmp(names->list[i], names->list[i - 1]) == 0) {
            return errmsg_set(em, E_INVALID,
                              "List of topics to reassign contains duplicate "
                              "entries: %.250s",
                              names->list[i]);
        }
    }
    struct klamm_error err = {0};
    if (klamm_describe_topics(g->run->session->client, names->list, names->count, &g->topics,
                              &err) != 0) {
        return errmsg_set(em, E_IO, "%s", err.message);
    }
    for (int32_t i = 0; i < names->count; i++) {
        const struct klamm_topic *topic = cli_topics_find(g->topics, names->list[i]);
        if (topic == NULL || topic->code != 0) {
            return errmsg_set(em, E_NOT_FOUND, "Topic %.250s not found", names->list[i]);
        }
    }
    return 0;
}

/* ---- the proposal ---- */

static int32_t partition_count(const struct klamm_topics *topics)
{
    int32_t count = 0;
    for (int32_t t = 0; t < topics->count; t++) {
        count += topics->list[t].partition_count;
    }
    return count;
}

static int propose_topic(const struct klamm_topic *topic, const struct cli_placement *placement,
                         struct cli_assignment *list, struct errmsg *em)
{
    struct cli_dealer dealer;
    int err = 0;
    cli_dealer_init(&dealer, placement);
    for (int32_t p = 0; err == 0 && p < topic->partition_count; p++) {
        int32_t factor = MAX(topic->partitions[p].replicas.count, 1);
        if (factor > placement->broker_count) {
            err = errmsg_set(em, E_INVALID,
                             "Replication factor: %" PRId32
                             " larger than available brokers: %" PRId32 ".",
                             factor, placement->broker_count);
            break;
        }
        int32_t *ids = xalloc((size_t)factor * sizeof *ids);
        cli_dealer_assign(&dealer, p, factor, ids);
        list[p] = (struct cli_assignment){topic->name, p, {ids, factor}};
    }
    cli_dealer_deinit(&dealer);
    return err;
}

static int propose(const struct generate *g, struct cli_assignment *list, struct errmsg *em)
{
    bool uses_racks = false;
    int err = check_racks(g, &uses_racks, em);
    int32_t used = 0;
    for (int32_t t = 0; err == 0 && t < g->topics->count; t++) {
        uint64_t random = env_random_u64(g->run->session->files);
        struct cli_placement placement = {.brokers = g->brokers,
                                          .broker_count = g->broker_count,
                                          .uses_racks = uses_racks,
                                          .start = (uint32_t)random,
                                          .shift = (uint32_t)(random >> 32)};
        err = propose_topic(&g->topics->list[t], &placement, list + used, em);
        used += g->topics->list[t].partition_count;
    }
    return err;
}

static void print_current(const struct generate *g, struct cli_assignment *list)
{
    int32_t used = 0;
    for (int32_t t = 0; t < g->topics->count; t++) {
        const struct klamm_topic *topic = &g->topics->list[t];
        for (int32_t p = 0; p < topic->partition_count; p++) {
            list[used++] = (struct cli_assignment){topic->name, p, topic->partitions[p].replicas};
        }
    }
    cli_reassign_put_json(&g->run->terminal->out, list, used);
}

static int generate(struct generate *g, struct errmsg *em)
{
    int err = choose_brokers(g, em);
    if (err == 0) {
        err = check_topics(g, em);
    }
    if (err < 0) {
        return err;
    }
    int32_t count = partition_count(g->topics);
    struct cli_assignment *proposed = xalloc((size_t)MAX(count, 1) * sizeof *proposed);
    struct cli_assignment *current = xalloc((size_t)MAX(count, 1) * sizeof *current);
    err = propose(g, proposed, em);
    if (err == 0) {
        struct buf *out = &g->run->terminal->out;
        bool is_json = g->run->options.is_json;
        buf_put_str(out, is_json ? "{\"current\":" : "Current partition replica assignment\n");
        print_current(g, current);
        buf_put_str(out, is_json ? ",\"proposed\":"
                                 : "\n\nProposed partition reassignment configuration\n");
        cli_reassign_put_json(out, proposed, count);
        buf_put_str(out, is_json ? "}\n" : "\n");
    }
    for (int32_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)proposed[i].replicas.list);
    }
    free(proposed);
    free(current);
    return err;
}

int cli_reassign_generate(struct cli_reassign *run)
{
    struct generate g = {.run = run};
    struct errmsg em = {""};
    struct cli_faults faults;
    int exit_code = CLI_EXIT_FAILED;
    cli_faults_init(&faults);
    g.names = cli_topic_names_read(run->session->files, run->options.topics_file, &faults);
    if (!cli_reassign_refuses(run, run->options.topics_file, &faults)) {
        if (generate(&g, &em) < 0) {
            buf_putf(&run->terminal->out, "Error: %s\n", em.text);
        } else {
            exit_code = CLI_EXIT_OK;
        }
    }
    klamm_topics_free(g.topics);
    cli_topic_names_free(g.names);
    cli_faults_deinit(&faults);
    free(g.brokers);
    return exit_code;
}
