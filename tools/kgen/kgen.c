/*
 * kgen: replays one encoded batch into a topic and measures. See usage below. The topic must exist.
 * Ends with status 0 when every batch was acknowledged, 1 when not, 2 on wrong usage.
 */
#include "load.h"

#include "base/check.h"
#include "env/loop.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage_text[] =
    "usage: kgen -b HOST:PORT -t TOPIC [options]\n"
    "  --bytes N         batch bytes in all (default 100000000)\n"
    "  --records N       records in all, instead of --bytes\n"
    "  --record-size N   bytes of a record's value (default 1000)\n"
    "  --batch-bytes N   bytes of a batch, at most (default 16384)\n"
    "  --partitions N    use partitions 0 to N-1 (default all)\n"
    "  --acks 1|all      (default all; -1 is all)\n"
    "  --inflight N      closed loop: batches on their way a connection (default 5)\n"
    "  --rate N          open loop: batches a second; latency counts from the scheduled\n"
    "                    time, the first tenth of the batches is not counted\n"
    "  --connections N   to each leader (default 1)\n"
    "  --json            one line of JSON\n";

struct options {
    char *host;
    uint16_t port;
    bool is_json;
    struct load_config load;
};

static _Noreturn void usage(const char *why)
{
    (void)fprintf(stderr, "kgen: %s\n%s", why, usage_text);
    exit(2);
}

static uint64_t number(const char *name, const char *text, uint64_t min, uint64_t max)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || value < min || value > max) {
        char *why = xasprintf("--%s %s: not a number from %llu to %llu", name, text,
                              (unsigned long long)min, (unsigned long long)max);
        usage(why);
    }
    return value;
}

/* Of a list of servers the first one is asked for the rest of the cluster. */
static void take_bootstrap(struct options *options, const char *text)
{
    char *server = slice_dup(slice_of(text, strcspn(text, ",")));
    char *colon = strrchr(server, ':');
    if (colon == NULL || colon == server) {
        usage("-b wants HOST:PORT");
    }
    options->host = slice_dup(slice_of(server, (size_t)(colon - server)));
    options->port = (uint16_t)number("b", colon + 1, 1, 65535);
    free(server);
}

static int16_t acks_of(const char *text)
{
    if (strcmp(text, "1") == 0) {
        return 1;
    }
    if (strcmp(text, "all") != 0 && strcmp(text, "-1") != 0) {
        usage("--acks wants 1 or all: without an answer there is nothing to measure");
    }
    return -1;
}

static const struct option long_options[] = {{"bytes", required_argument, NULL, 'B'},
                                             {"records", required_argument, NULL, 'R'},
                                             {"record-size", required_argument, NULL, 's'},
                                             {"batch-bytes", required_argument, NULL, 'z'},
                                             {"partitions", required_argument, NULL, 'p'},
                                             {"acks", required_argument, NULL, 'a'},
                                             {"inflight", required_argument, NULL, 'i'},
                                             {"rate", required_argument, NULL, 'r'},
                                             {"connections", required_argument, NULL, 'c'},
                                             {"json", no_argument, NULL, 'j'},
                                             {NULL, 0, NULL, 0}};

static void take_option(struct options *options, int letter)
{
    struct load_config *load = &options->load;
    switch (letter) {
    case 'b':
        take_bootstrap(options, optarg);
        break;
    case 't':
        load->topic = optarg;
        break;
    case 'B':
        load->bytes = number("bytes", optarg, 1, (uint64_t)1 << 50);
        break;
    case 'R':
        load->records = number("records", optarg, 1, (uint64_t)1 << 50);
        break;
    case 's':
        load->record_size = (int32_t)number("record-size", optarg, 0, 64 << 20);
        break;
    case 'z':
        load->batch_bytes = (int32_t)number("batch-bytes", optarg, 100, 64 << 20);
        break;
    case 'p':
        load->partitions = (int32_t)number("partitions", optarg, 1, 1 << 20);
        break;
    case 'a':
        load->acks = acks_of(optarg);
        break;
    case 'i':
        load->inflight = (int32_t)number("inflight", optarg, 1, 10000);
        break;
    case 'r':
        load->rate = (double)number("rate", optarg, 1, 1000000);
        break;
    case 'c':
        load->connections = (int32_t)number("connections", optarg, 1, 1000);
        break;
    case 'j':
        options->is_json = true;
        break;
    default:
        usage("unknown option");
    }
}

static struct options parse(int argc, char **argv)
{
    struct options options = {.load = {.acks = -1,
                                       .record_size = 1000,
                                       .batch_bytes = 16384,
                                       .inflight = 5,
                                       .connections = 1}};
    for (int letter = getopt_long(argc, argv, "b:t:", long_options, NULL); letter != -1;
         letter = getopt_long(argc, argv, "b:t:", long_options, NULL)) {
        take_option(&options, letter);
    }
    if (options.host == NULL || options.load.topic == NULL || optind != argc) {
        usage("-b and -t are needed, and nothing but options");
    }
    if (options.load.bytes == 0 && options.load.records == 0) {
        options.load.bytes = 100000000;
    }
    return options;
}

static void print_result(const struct load_result *result, bool is_json)
{
    const struct histogram *h = &result->latency_us;
    static const char text[] =
        "%llu records, %llu bytes in %.3f s: %.2f MB/s; latency p50 %.3f ms, "
        "p99 %.3f ms, p99.9 %.3f ms, max %.3f ms; %llu retries\n";
    double mb_per_s = (double)result->bytes / 1e6 / result->seconds;
    long long p50 = (long long)histogram_quantile(h, 0.5);
    long long p99 = (long long)histogram_quantile(h, 0.99);
    long long p999 = (long long)histogram_quantile(h, 0.999);
    if (is_json) {
        (void)printf("{\"batches\": %llu, \"records\": %llu, \"bytes\": %llu, \"seconds\": %.6f, "
                     "\"mb_per_s\": %.3f, \"p50_us\": %lld, \"p99_us\": %lld, \"p999_us\": %lld, "
                     "\"max_us\": %lld, \"retries\": %llu}\n",
                     (unsigned long long)result->batches, (unsigned long long)result->records,
                     (unsigned long long)result->bytes, result->seconds, mb_per_s, p50, p99, p999,
                     (long long)h->max, (unsigned long long)result->retries);
    } else {
        (void)printf(text, (unsigned long long)result->records, (unsigned long long)result->bytes,
                     result->seconds, mb_per_s, (double)p50 / 1e3, (double)p99 / 1e3,
                     (double)p999 / 1e3, (double)h->max / 1e3, (unsigned long long)result->retries);
    }
}

/* Requests are large and come and go: giving their memory back to the system each time would cost more
 * than sending them. */
static void keep_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    keep_memory();
    struct errmsg em;
    struct env *env = loop_new(&(struct loop_config){.name = "kgen"}, &em);
    if (env == NULL) {
        (void)fprintf(stderr, "kgen: %s\n", em.text);
        return 1;
    }
    struct cluster cluster;
    static struct load_result result; /* large */
    cluster_init(&cluster, env, options.host, options.port);
    int err = load_run(env, &cluster, &options.load, &result, &em);
    if (err == 0) {
        print_result(&result, options.is_json);
    } else {
        (void)fprintf(stderr, "kgen: %s\n", em.text);
    }
    cluster_deinit(&cluster);
    loop_free(env);
    free(options.host);
    return err == 0 ? 0 : 1;
}
