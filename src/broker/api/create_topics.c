/*
 * CreateTopics, versions 2-7 (protocol.md 5.4). Configurations are checked here, names, counts and
 * placement by the controller. Every topic of the request has its row in the answer; a name given
 * twice is refused in all its rows.
 */
#include "wire/create_topics.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/map.h"
#include "broker/api/control_answer.h"
#include "broker/api/handlers.h"
#include "broker/config/settings.h"

#include <stdlib.h>

/* How often a name occurs in the request. */
struct name_count {
    UT_hash_handle hh;
    struct slice name;
    int32_t count;
};

/* The settings of one topic as a set over the broker's; -E_INVALID with the reason. */
static int settings_of(const struct api_request *r,
                       const struct wire_create_topics_request_topics *topic,
                       struct config_set *ret_set, struct errmsg *em)
{
    config_set_init(ret_set, CONFIG_SCOPE_TOPIC, CONFIG_SOURCE_TOPIC,
                    settings_broker(r->api->parts.settings));
    for (int32_t i = 0; i < topic->configs_count; i++) {
        int err = config_set_put(ret_set, topic->configs[i].name, topic->configs[i].value, em);
        if (err < 0) {
            return -E_INVALID;
        }
    }
    return 0;
}

/* ---- answering ---- */

static bool fill_configs(struct api_request *r,
                         const struct wire_create_topics_request_topics *topic,
                         struct wire_create_topics_response_topics *out)
{
    struct config_set set;
    struct errmsg em;
    bool is_ok = settings_of(r, topic, &set, &em) == 0;
    int count = config_count(CONFIG_SCOPE_TOPIC);
    out->configs = api_array(r, count, sizeof *out->configs);
    for (int key = 0; is_ok && out->configs != NULL && key < count; key++) {
        char number[CONFIG_NUMBER_SIZE];
        enum config_source source;
        struct wire_create_topics_response_topics_configs *config = &out->configs[key];
        config->name = slice_str(config_def_at(CONFIG_SCOPE_TOPIC, key)->name);
        const char *text = config_get_text(&set, key, number, &source);
        if (text != NULL) {
            config->value = slice_str(arena_str(&r->arena, slice_str(text)));
        }
        config->config_source = (int8_t)source;
        out->configs_count++;
    }
    config_set_deinit(&set);
    return is_ok && out->configs != NULL;
}

static void create_done(struct api_request *r, const struct control_reply *reply)
{
    const struct wire_create_topics_request *req = r->body;
    struct wire_create_topics_response resp;
    bool is_ok = true;
    wire_create_topics_response_init(&resp);
    resp.topics_count = req->topics_count;
    resp.topics = api_array(r, req->topics_count, sizeof *resp.topics);
    for (int32_t i = 0; resp.topics != NULL && i < req->topics_count; i++) {
        struct wire_create_topics_response_topics *out = &resp.topics[i];
        wire_create_topics_response_topics_init(out);
        out->name = req->topics[i].name;
        out->error_code = reply->error;
        out->error_message = slice_str(reply->message);
        out->configs_count = -1;
        if (reply->error != KERR_NONE) {
            continue;
        }
        CHECK(i < reply->count);
        const struct control_created *created = &reply->created[i];
        out->topic_id = created->topic_id;
        out->error_code = created->error;
        out->error_message = slice_str(created->message);
        out->num_partitions = created->partition_count;
        out->replication_factor = (int16_t)created->replication_factor;
        if (created->error == KERR_NONE) {
            out->configs_count = 0;
            is_ok = is_ok && fill_configs(r, &req->topics[i], out);
        }
    }
    if (resp.topics == NULL || !is_ok) {
        api_close(r);
        return;
    }
    api_respond(r, &resp);
}

/* ---- asking ---- */

static void refuse(struct controller_ask *call, struct control_new_topic *topic, int16_t error,
                   const char *message)
{
    topic->error = error;
    topic->message = (const char *)controller_ask_slice(call, slice_str(message)).ptr;
}

static void fill_settings(struct api_request *r, struct controller_ask *call,
                          const struct wire_create_topics_request_topics *topic,
                          struct control_new_topic *out)
{
    struct config_set set;
    struct errmsg em;
    if (settings_of(r, topic, &set, &em) < 0) {
        refuse(call, out, KERR_INVALID_CONFIG, em.text);
    }
    out->min_insync_replicas = (int32_t)config_get_number(&set, CONFIG_TOPIC_MIN_INSYNC_REPLICAS);
    out->is_unclean_election_enabled = config_get_bool(&set, CONFIG_TOPIC_UNCLEAN_ELECTION);
    struct model_setting *settings =
        controller_ask_array(call, config_count(CONFIG_SCOPE_TOPIC), sizeof *settings);
    for (int key = 0; settings != NULL && key < config_count(CONFIG_SCOPE_TOPIC); key++) {
        const char *value = config_set_own(&set, key);
        if (value != NULL) {
            settings[out->setting_count].key =
                slice_str(config_def_at(CONFIG_SCOPE_TOPIC, key)->name);
            settings[out->setting_count].value = controller_ask_slice(call, slice_str(value));
            out->setting_count++;
        }
    }
    out->settings = settings;
    config_set_deinit(&set);
}

static void fill_assignments(struct controller_ask *call,
                             const struct wire_create_topics_request_topics *topic,
                             struct control_new_topic *out)
{
    struct control_new_partition *partitions =
        controller_ask_array(call, topic->assignments_count, sizeof *partitions);
    out->assignments = partitions;
    out->assignment_count = topic->assignments_count;
    for (int32_t i = 0; !call->failed && i < topic->assignments_count; i++) {
        partitions[i].partition = topic->assignments[i].partition_index;
        partitions[i].replica_count = topic->assignments[i].broker_ids_count;
        partitions[i].replicas = controller_ask_ids(call, topic->assignments[i].broker_ids,
                                                    topic->assignments[i].broker_ids_count);
    }
}

/* One count a distinct name; freed with the list. NULL when the request has no topics. */
static struct name_count *count_names(const struct wire_create_topics_request *req)
{
    struct name_count *names = NULL;
    for (int32_t i = 0; i < req->topics_count; i++) {
        struct slice name = req->topics[i].name;
        struct name_count *known;
        HASH_FIND(hh, names, name.ptr, name.len, known);
        if (known == NULL) {
            known = xalloc(sizeof *known);
            known->name = name;
            HASH_ADD_KEYPTR(hh, names, known->name.ptr, known->name.len, known);
        }
        known->count++;
    }
    return names;
}

static void names_free(struct name_count *names)
{
    struct name_count *name;
    struct name_count *next;
    HASH_ITER(hh, names, name, next)
    {
        HASH_DELETE(hh, names, name);
        free(name);
    }
}

static void fill_topic(struct api_request *r, struct controller_ask *call,
                       const struct wire_create_topics_request_topics *topic,
                       struct control_new_topic *out)
{
    out->name = controller_ask_slice(call, topic->name);
    out->partition_count = topic->num_partitions;
    out->replication_factor = topic->replication_factor;
    fill_assignments(call, topic, out);
    fill_settings(r, call, topic, out);
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_CREATE) &&
        !api_is_allowed_on_topic(r, AUTH_OPERATION_CREATE, topic->name)) {
        refuse(call, out, KERR_TOPIC_AUTHORIZATION_FAILED, "CREATE is not allowed");
    }
}

void api_handle_create_topics(struct api_request *r, const void *body)
{
    const struct wire_create_topics_request *req = body;
    struct controller_ask *call = controller_ask_new(CONTROL_CREATE_TOPICS);
    struct control_create_topics *create = &call->request.create_topics;
    struct control_new_topic *topics =
        controller_ask_array(call, req->topics_count, sizeof *topics);
    struct name_count *names = count_names(req);
    create->topics = topics;
    create->is_validate_only = req->validate_only;
    create->timeout_ms = req->timeout_ms;
    for (int32_t i = 0; !call->failed && i < req->topics_count; i++) {
        struct name_count *known;
        fill_topic(r, call, &req->topics[i], &topics[create->count]);
        HASH_FIND(hh, names, req->topics[i].name.ptr, req->topics[i].name.len, known);
        if (known->count > 1) {
            refuse(call, &topics[create->count], KERR_INVALID_REQUEST,
                   "The topic is named more than once in the request");
        }
        create->count++;
    }
    names_free(names);
    api_control_answer(r, call, create_done);
}
