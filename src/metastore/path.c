/*
 * See path.h. Pure.
 */
#include "metastore/path.h"

#include "base/check.h"
#include "base/error.h"

#include <stdio.h>

#define SEQUENCE_DIGITS 10

const char *const metastore_path_roots[] = {
    "/cluster",
    "/consumers",
    METASTORE_BROKERS,
    METASTORE_BROKER_IDS,
    METASTORE_TOPICS,
    METASTORE_BROKER_SEQUENCE,
    "/config",
    METASTORE_CONFIG_CHANGES,
    METASTORE_TOPIC_CONFIGS,
    "/config/clients",
    "/config/users",
    METASTORE_BROKER_CONFIGS,
    "/config/ips",
    "/admin",
    METASTORE_DELETE_TOPICS,
    METASTORE_ISR_CHANGES,
    METASTORE_PRODUCER_BLOCK,
    METASTORE_LOG_DIR_EVENTS,
    "/klamm",
    METASTORE_MOVES,
    METASTORE_JOBS,
};
const int32_t metastore_path_root_count = (int32_t)ARRAY_LEN(metastore_path_roots);

static struct slice path_format(struct metastore_path *p, const char *format, ...)
    PRINTF_LIKE(2, 3);

static struct slice path_format(struct metastore_path *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(p->text, sizeof p->text, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof p->text) {
        return SLICE_NULL;
    }
    return slice_of(p->text, (size_t)len);
}

/* prefix, topic, suffix; a topic with a slash or a NUL would name another node. */
static struct slice path_topic(struct metastore_path *p, const char *prefix, struct slice topic,
                               const char *suffix)
{
    if (topic.len == 0 || topic.len >= sizeof p->text ||
        memchr(topic.ptr, '/', topic.len) != NULL || memchr(topic.ptr, 0, topic.len) != NULL) {
        return SLICE_NULL;
    }
    return path_format(p, "%s/%.*s%s", prefix, SLICE_ARG(topic), suffix);
}

struct slice metastore_path_broker(struct metastore_path *p, int32_t broker_id)
{
    return path_format(p, METASTORE_BROKER_IDS "/%d", broker_id);
}

struct slice metastore_path_topic(struct metastore_path *p, struct slice topic)
{
    return path_topic(p, METASTORE_TOPICS, topic, "");
}

struct slice metastore_path_partitions(struct metastore_path *p, struct slice topic)
{
    return path_topic(p, METASTORE_TOPICS, topic, "/partitions");
}

struct slice metastore_path_partition(struct metastore_path *p, struct slice topic,
                                      int32_t partition)
{
    char suffix[32];
    (void)snprintf(suffix, sizeof suffix, "/partitions/%d", partition);
    return path_topic(p, METASTORE_TOPICS, topic, suffix);
}

struct slice metastore_path_state(struct metastore_path *p, struct slice topic, int32_t partition)
{
    char suffix[40];
    (void)snprintf(suffix, sizeof suffix, "/partitions/%d/state", partition);
    return path_topic(p, METASTORE_TOPICS, topic, suffix);
}

struct slice metastore_path_delete_topic(struct metastore_path *p, struct slice topic)
{
    return path_topic(p, METASTORE_DELETE_TOPICS, topic, "");
}

struct slice metastore_path_topic_config(struct metastore_path *p, struct slice topic)
{
    return path_topic(p, METASTORE_TOPIC_CONFIGS, topic, "");
}

struct slice metastore_path_broker_config(struct metastore_path *p, int32_t broker_id)
{
    if (broker_id < 0) {
        return path_format(p, METASTORE_BROKER_CONFIGS "/<default>");
    }
    return path_format(p, METASTORE_BROKER_CONFIGS "/%d", broker_id);
}

struct slice metastore_path_child(struct metastore_path *p, const char *parent, struct slice name)
{
    return path_topic(p, parent, name, "");
}

int64_t metastore_path_sequence(struct slice name)
{
    if (name.len < SEQUENCE_DIGITS) {
        return -1;
    }
    int64_t number = 0;
    for (size_t i = name.len - SEQUENCE_DIGITS; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9') {
            return -1;
        }
        number = number * 10 + (name.ptr[i] - '0');
    }
    return number;
}

bool metastore_path_is_valid(struct slice path)
{
    if (path.len == 0 || path.len > METASTORE_PATH_MAX || path.ptr[0] != '/' ||
        memchr(path.ptr, 0, path.len) != NULL) {
        return false;
    }
    if (path.len == 1) {
        return true;
    }
    size_t start = 1;
    for (size_t i = 1; i <= path.len; i++) {
        if (i < path.len && path.ptr[i] != '/') {
            continue;
        }
        struct slice component = slice_of(path.ptr + start, i - start);
        if (component.len == 0 || slice_equal_str(component, ".") ||
            slice_equal_str(component, "..")) {
            return false;
        }
        start = i + 1;
    }
    return true;
}

struct slice metastore_path_job(struct metastore_path *p, struct slice job)
{
    return path_topic(p, METASTORE_JOBS, job, "");
}

struct slice metastore_path_job_piece(struct metastore_path *p, struct slice job, int32_t piece)
{
    char suffix[16];
    (void)snprintf(suffix, sizeof suffix, "/%d", piece);
    return path_topic(p, METASTORE_JOBS, job, suffix);
}
