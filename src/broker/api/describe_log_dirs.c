/*
 * DescribeLogDirs, versions 1-4 (protocol.md 5.5): one result a log directory, its partitions grouped
 * by topic. Those who ask with klamm_extensions get details of each partition, and the partitions of
 * directories that are offline (docs/protocol-extensions.md).
 */
#include "wire/describe_log_dirs.h"

#include "base/check.h"
#include "broker/api/handlers.h"
#include "broker/api/request.h"
#include "broker/replicas/replicas.h"

#include <stdlib.h>

/* One hosted partition; its topic is kept in the request's arena. */
struct entry {
    const char *topic;
    int32_t dir; /* of one that was asked for */
    struct replicas_log_info info;
};

struct listing {
    struct api_request *r;
    bool has_details;
    bool is_full;                          /* the directory has no room */
    const struct replicas_log_key *wanted; /* sorted, each once */
    int32_t wanted_count;                  /* -1 = all */
    const struct entry *found;             /* of those wanted, in that order */
    int32_t found_count;
    struct entry *entries; /* NULL while counting */
    int32_t count;
    bool failed;
};

static int wanted_compare(const void *a, const void *b)
{
    const struct replicas_log_key *x = a;
    const struct replicas_log_key *y = b;
    int order = slice_compare(x->topic, y->topic);
    return order != 0 ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

/* The partitions of the request: they are looked up, however many this broker has. */
static bool wanted_collect(struct listing *listing,
                           const struct wire_describe_log_dirs_request *req)
{
    int64_t count = 0;
    listing->wanted_count = -1;
    if (req->topics_count < 0) {
        return true;
    }
    for (int32_t i = 0; i < req->topics_count; i++) {
        count += req->topics[i].partitions_count;
    }
    struct replicas_log_key *wanted =
        count > WIRE_COUNT_MAX ? NULL : api_array(listing->r, (int32_t)count, sizeof *wanted);
    if (wanted == NULL) {
        return false;
    }
    listing->wanted_count = 0;
    for (int32_t i = 0; i < req->topics_count; i++) {
        for (int32_t j = 0; j < req->topics[i].partitions_count; j++) {
            wanted[listing->wanted_count++] =
                (struct replicas_log_key){req->topics[i].topic, req->topics[i].partitions[j]};
        }
    }
    qsort(wanted, (size_t)listing->wanted_count, sizeof *wanted, wanted_compare);
    int32_t kept = 0;
    for (int32_t i = 0; i < listing->wanted_count; i++) {
        if (kept == 0 || wanted_compare(&wanted[kept - 1], &wanted[i]) != 0) {
            wanted[kept++] = wanted[i];
        }
    }
    listing->wanted_count = kept;
    listing->wanted = wanted;
    return true;
}

static void entry_add(struct listing *listing, const struct entry *entry)
{
    if (listing->entries != NULL) {
        listing->entries[listing->count] = *entry;
    }
    listing->count++;
}

static void note_log(void *arg, const struct replicas_log_info *info)
{
    struct listing *listing = arg;
    struct entry entry = {.topic = "", .info = *info};
    if (listing->entries != NULL && !listing->failed) {
        entry.topic = arena_str(&listing->r->arena, slice_str(info->topic));
        listing->failed = entry.topic == NULL;
    }
    entry_add(listing, &entry);
}

/* Looks those up that were asked for, each once. */
static bool wanted_find(struct listing *listing)
{
    struct api_request *r = listing->r;
    struct entry *found = api_array(r, MAX(listing->wanted_count, 0), sizeof *found);
    const char *topic = NULL;
    listing->found = found;
    for (int32_t i = 0; found != NULL && i < listing->wanted_count; i++) {
        struct entry *entry = &found[listing->found_count];
        const struct replicas_log_key *key = &listing->wanted[i];
        entry->dir = replicas_find_log(r->api->parts.replicas, key, &entry->info);
        if (entry->dir < 0) {
            continue;
        }
        if (topic == NULL || !slice_equal_str(key->topic, topic)) {
            topic = arena_str(&r->arena, key->topic);
        }
        if (topic == NULL) {
            return false;
        }
        entry->topic = topic;
        listing->found_count++;
    }
    return found != NULL;
}

static int entry_compare(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = strcmp(x->topic, y->topic);
    int32_t p = x->info.partition;
    int32_t q = y->info.partition;
    return order != 0 ? order : (p > q) - (p < q);
}

static int16_t fetch_code(const struct replicas_log_info *info)
{
    if (info->is_offline) {
        return KERR_KAFKA_STORAGE_ERROR;
    }
    switch (info->fetch_error) {
    case 0:
        return info->leader_code;
    case -E_NOT_AVAILABLE:
        return KERR_LEADER_NOT_AVAILABLE;
    case -E_CLOSED:
        return KERR_NETWORK_EXCEPTION;
    default:
        return api_error(API_ERROR_PARTITION, info->fetch_error);
    }
}

static void
fill_details(const struct listing *listing, const struct replicas_log_info *info,
             struct wire_describe_log_dirs_response_results_topics_partitions_details *out)
{
    wire_describe_log_dirs_response_results_topics_partitions_details_init(out);
    out->fetch_error_code = fetch_code(info);
    out->is_throttled = info->is_throttled;
    out->throttle_rate = info->throttle_rate;
    out->write_rate = info->write_rate;
    out->log_start_offset = info->log_start;
    out->log_end_offset = info->log_end;
    out->is_leader = info->is_leader;
    out->disk_full = info->is_disk_full || listing->is_full;
}

/* Sorted entries become topics with partitions. */
static bool fill_topics(struct api_request *r, const struct listing *listing,
                        struct wire_describe_log_dirs_response_results *out)
{
    struct wire_describe_log_dirs_response_results_topics_partitions *partitions =
        api_array(r, listing->count, sizeof *partitions);
    out->topics = api_array(r, listing->count, sizeof *out->topics);
    int32_t detail_count = listing->has_details ? listing->count : 0;
    struct wire_describe_log_dirs_response_results_topics_partitions_details *details =
        api_array(r, detail_count, sizeof *details);
    if (partitions == NULL || out->topics == NULL || details == NULL) {
        return false;
    }
    for (int32_t i = 0; i < listing->count; i++) {
        const struct entry *entry = &listing->entries[i];
        if (i == 0 || strcmp(entry->topic, listing->entries[i - 1].topic) != 0) {
            out->topics[out->topics_count].name = slice_str(entry->topic);
            out->topics[out->topics_count].partitions = &partitions[i];
            out->topics_count++;
        }
        out->topics[out->topics_count - 1].partitions_count++;
        partitions[i].partition_index = entry->info.partition;
        partitions[i].partition_size = entry->info.size;
        partitions[i].offset_lag = entry->info.offset_lag;
        if (listing->has_details) {
            fill_details(listing, &entry->info, &details[i]);
            partitions[i].details = &details[i];
        }
    }
    return true;
}

static void each_log(struct replicas *replicas, int32_t dir, struct listing *listing)
{
    listing->count = 0;
    if (listing->wanted_count < 0) {
        replicas_each_log(replicas, dir, note_log, listing);
    }
    for (int32_t i = 0; i < listing->found_count; i++) {
        if (listing->found[i].dir == dir) {
            entry_add(listing, &listing->found[i]);
        }
    }
}

/* wanted: the listing's request part, filled. */
static bool fill_dir(const struct listing *wanted, int32_t dir,
                     struct wire_describe_log_dirs_response_results *out)
{
    struct listing listing = *wanted;
    struct api_request *r = listing.r;
    struct replicas *replicas = r->api->parts.replicas;
    struct replicas_dir_info info;
    replicas_dir_get(replicas, dir, &info);
    wire_describe_log_dirs_response_results_init(out);
    out->log_dir = slice_str(info.path);
    out->total_bytes = info.total_bytes;
    out->usable_bytes = info.usable_bytes;
    out->disk = listing.has_details ? (int64_t)info.disk : 0;
    listing.is_full = info.usable_bytes == 0;
    if (info.is_offline) {
        out->error_code = KERR_KAFKA_STORAGE_ERROR;
        if (!listing.has_details) {
            return true;
        }
    }
    each_log(replicas, dir, &listing);
    listing.entries = api_array(r, listing.count, sizeof *listing.entries);
    if (listing.entries == NULL) {
        return false;
    }
    each_log(replicas, dir, &listing);
    if (listing.failed) {
        return false;
    }
    if (listing.wanted_count < 0) {
        qsort(listing.entries, (size_t)listing.count, sizeof *listing.entries, entry_compare);
    }
    return fill_topics(r, &listing, out);
}

void api_handle_describe_log_dirs(struct api_request *r, const void *body)
{
    const struct wire_describe_log_dirs_request *req = body;
    struct wire_describe_log_dirs_response resp;
    wire_describe_log_dirs_response_init(&resp);
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_DESCRIBE)) {
        resp.error_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
        api_respond(r, &resp);
        return;
    }
    resp.results_count = replicas_dir_count(r->api->parts.replicas);
    resp.results = api_array(r, resp.results_count, sizeof *resp.results);
    struct listing wanted = {.r = r, .has_details = req->klamm_extensions == 1};
    bool is_ok = resp.results != NULL && wanted_collect(&wanted, req) && wanted_find(&wanted);
    for (int32_t i = 0; is_ok && i < resp.results_count; i++) {
        is_ok = fill_dir(&wanted, i, &resp.results[i]);
    }
    if (is_ok) {
        api_respond(r, &resp);
    } else {
        api_close(r);
    }
}
