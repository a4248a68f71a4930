/*
 * See server_config.h. First each value by itself, then what the broker needs from them; a value that
 * was refused by itself is not judged again. Faults name where the value came from.
 */
#include "cmd/server_config.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"
#include "env/env.h"
#include "http/server.h"
#include "metastore/zookeeper.h"
#include "model/properties.h"

#include <stdlib.h>

#define FILE_SIZE_MAX   (1024 * 1024)
#define ORIGIN_NONE     0
#define ORIGIN_OVERRIDE (-1)

struct reader {
    const struct cmd_server_sources *sources;
    struct cmd_server_config *config;
    struct cmd_server_faults *faults;
    int32_t origins[CONFIG_BROKER_COUNT]; /* line of the file, or ORIGIN_... */
};

void cmd_server_faults_init(struct cmd_server_faults *faults)
{
    buf_init(&faults->errors);
    buf_init(&faults->warnings);
}

void cmd_server_faults_deinit(struct cmd_server_faults *faults)
{
    buf_deinit(&faults->errors);
    buf_deinit(&faults->warnings);
}

/* ---- faults ---- */

static void put_fault(const struct reader *r, struct buf *to, int32_t origin, const char *text)
{
    if (origin == ORIGIN_OVERRIDE) {
        buf_putf(to, "--override: %s\n", text);
    } else if (origin == ORIGIN_NONE) {
        buf_putf(to, "%s: %s\n", r->sources->path, text);
    } else {
        buf_putf(to, "%s:%d: %s\n", r->sources->path, origin, text);
    }
}

/* A value that is fine by itself but not for this broker. */
static void refuse(struct reader *r, int key, const char *reason)
{
    const char *name = config_def_at(CONFIG_SCOPE_BROKER, key)->name;
    const char *value = config_get_string(&r->config->set, key);
    char *text = NULL;
    if (value == NULL) {
        text = xasprintf("Missing configuration %s: %s", name, reason);
    } else {
        text = xasprintf("Invalid value %.200s for configuration %s: %s", value, name, reason);
    }
    put_fault(r, &r->faults->errors, r->origins[key], text);
    free(text);
}

/* ---- values by themselves ---- */

static void take_value(struct reader *r, const char *key, const char *value, int32_t origin)
{
    struct errmsg em;
    int err = config_set_put(&r->config->set, slice_str(key), slice_str(value), &em);
    if (err == 0) {
        r->origins[config_find(CONFIG_SCOPE_BROKER, slice_str(key))] = origin;
    } else if (err == -E_NOT_FOUND) {
        char *text = xasprintf("%s is ignored", em.text);
        put_fault(r, &r->faults->warnings, origin, text);
        free(text);
    } else {
        put_fault(r, &r->faults->errors, origin, em.text);
    }
}

static void take_file(struct reader *r, struct slice text)
{
    struct model_properties properties = {0};
    struct errmsg em;
    if (model_properties_parse(text, &properties, &em) != 0) {
        buf_putf(&r->faults->errors, "%s:%s\n", r->sources->path, em.text);
        return;
    }
    for (int32_t i = 0; i < properties.count; i++) {
        const struct model_property *p = &properties.list[i];
        take_value(r, p->key, p->value, p->line);
    }
    model_properties_deinit(&properties);
}

static void take_overrides(struct reader *r)
{
    for (int32_t i = 0; i < r->sources->override_count; i++) {
        struct slice key;
        struct slice value;
        struct errmsg em;
        struct slice line = slice_str(r->sources->overrides[i]);
        if (config_parse_line(line, &key, &value, &em) != 0 || key.len == 0) {
            char *text = xasprintf("\"%.100s\" is not KEY=VALUE", r->sources->overrides[i]);
            put_fault(r, &r->faults->errors, ORIGIN_OVERRIDE, text);
            free(text);
            continue;
        }
        char *key_text = slice_dup(key);
        char *value_text = slice_dup(value);
        take_value(r, key_text, value_text, ORIGIN_OVERRIDE);
        free(key_text);
        free(value_text);
    }
}

/* ---- what a broker needs ---- */

static int64_t number_of(const struct reader *r, int key)
{
    return config_get_number(&r->config->set, key);
}

static void take_id(struct reader *r)
{
    int64_t id = number_of(r, CONFIG_BROKER_ID);
    bool is_generated = config_get_bool(&r->config->set, CONFIG_BROKER_ID_GENERATION);
    if (id < 0 && !is_generated) {
        refuse(r, CONFIG_BROKER_ID, "an id is needed while broker.id.generation.enable is false");
    } else if (is_generated && id > number_of(r, CONFIG_BROKER_RESERVED_ID_MAX)) {
        refuse(r, CONFIG_BROKER_ID, "must not be greater than reserved.broker.max.id");
    }
    r->config->id = (int32_t)id;
}

static void take_listeners(struct reader *r)
{
    struct errmsg em;
    int key;
    if (cmd_server_listeners_parse(&r->config->set, &r->config->listeners, &key, &em) != 0) {
        refuse(r, key, em.text);
    }
}

/* Which of the two properties names the directories. */
static int log_dirs_key(const struct reader *r)
{
    bool has_list = config_set_own(&r->config->set, CONFIG_BROKER_LOG_DIRS) != NULL;
    bool has_one = config_set_own(&r->config->set, CONFIG_BROKER_LOG_DIR) != NULL;
    return has_one && !has_list ? CONFIG_BROKER_LOG_DIR : CONFIG_BROKER_LOG_DIRS;
}

static bool has_log_dir(const struct cmd_server_config *c, const char *path)
{
    for (int32_t i = 0; i < c->log_dir_count; i++) {
        if (strcmp(c->log_dirs[i], path) == 0) {
            return true;
        }
    }
    return false;
}

/* The reason why path cannot be one more directory, or NULL. Takes path. */
static const char *log_dir_add(struct cmd_server_config *c, char *path)
{
    const char *reason = NULL;
    if (path[0] == '\0') {
        reason = "a directory without a name";
    } else if (c->log_dir_count == BROKER_LOG_DIRS_MAX) {
        reason = "more than 64 directories";
    } else if (has_log_dir(c, path)) {
        reason = "a directory is named twice";
    }
    if (reason != NULL) {
        free(path);
        return reason;
    }
    c->log_dirs[c->log_dir_count++] = path;
    return NULL;
}

static void take_log_dirs(struct reader *r)
{
    int key = log_dirs_key(r);
    const char *rest = config_get_string(&r->config->set, key);
    if (rest == NULL) {
        refuse(r, key, "the directories of the logs, comma between");
        return;
    }
    r->config->log_dirs = xalloc(BROKER_LOG_DIRS_MAX * sizeof *r->config->log_dirs);
    const char *reason = NULL;
    while (reason == NULL) {
        rest += strspn(rest, " \t");
        size_t len = strcspn(rest, ",");
        size_t kept = len;
        while (kept > 1 && strchr(" \t/", rest[kept - 1]) != NULL) {
            kept--;
        }
        reason = log_dir_add(r->config, slice_dup(slice_of(rest, kept)));
        if (rest[len] == '\0') {
            break;
        }
        rest += len + 1;
    }
    if (reason != NULL) {
        refuse(r, key, reason);
    }
}

static void check_zookeeper(struct reader *r)
{
    const char *connect = config_get_string(&r->config->set, CONFIG_BROKER_ZOOKEEPER_CONNECT);
    struct metastore_factory *factory = NULL;
    struct errmsg em;
    if (connect == NULL) {
        refuse(r, CONFIG_BROKER_ZOOKEEPER_CONNECT, "where ZooKeeper is, as host:port,.../chroot");
        return;
    }
    struct metastore_zookeeper_config config = {.connect = connect};
    if (metastore_zookeeper_new(&config, &factory, &em) != 0) {
        refuse(r, CONFIG_BROKER_ZOOKEEPER_CONNECT, em.text);
        return;
    }
    metastore_zookeeper_free(factory);
    if (config_get_bool(&r->config->set, CONFIG_BROKER_ZOOKEEPER_SET_ACL) &&
        config_get_string(&r->config->set, CONFIG_BROKER_ZOOKEEPER_DIGEST_FILE) == NULL) {
        refuse(r, CONFIG_BROKER_ZOOKEEPER_SET_ACL,
               "needs klamm.zookeeper.digest.file, whose user will own the nodes");
    }
}

/* What a follower waits for must end before others give it up. */
static void check_replica_times(struct reader *r)
{
    int64_t wait_ms = number_of(r, CONFIG_BROKER_REPLICA_FETCH_WAIT_MAX_MS);
    if (wait_ms > number_of(r, CONFIG_BROKER_REPLICA_LAG_TIME_MAX_MS)) {
        refuse(r, CONFIG_BROKER_REPLICA_FETCH_WAIT_MAX_MS,
               "must not be greater than replica.lag.time.max.ms");
    }
    if (wait_ms > number_of(r, CONFIG_BROKER_REPLICA_SOCKET_TIMEOUT_MS)) {
        refuse(r, CONFIG_BROKER_REPLICA_FETCH_WAIT_MAX_MS,
               "must not be greater than replica.socket.timeout.ms");
    }
}

static void check_http(struct reader *r)
{
    if (!http_host_is_literal(config_get_string(&r->config->set, CONFIG_BROKER_HTTP_HOST))) {
        refuse(r, CONFIG_BROKER_HTTP_HOST, "must be a literal address");
    }
}

static void collect_settings(struct cmd_server_config *c)
{
    c->settings = xalloc(CONFIG_BROKER_COUNT * sizeof *c->settings);
    for (int key = 0; key < CONFIG_BROKER_COUNT; key++) {
        const char *value = config_set_own(&c->set, key);
        if (value != NULL) {
            c->settings[c->setting_count++] = (struct broker_setting){
                .key = config_def_at(CONFIG_SCOPE_BROKER, key)->name, .value = value};
        }
    }
}

int cmd_server_config_parse(struct slice text, const struct cmd_server_sources *sources,
                            struct cmd_server_config *ret, struct cmd_server_faults *faults)
{
    struct cmd_server_config config = {.id = -1};
    struct reader r = {.sources = sources, .config = &config, .faults = faults};
    config_set_init(&config.set, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_STATIC, NULL);
    take_file(&r, text);
    take_overrides(&r);
    if (faults->errors.len == 0) {
        take_id(&r);
        take_listeners(&r);
        take_log_dirs(&r);
        check_zookeeper(&r);
        check_replica_times(&r);
        check_http(&r);
    }
    if (faults->errors.len > 0) {
        cmd_server_config_deinit(&config);
        return -E_INVALID;
    }
    collect_settings(&config);
    *ret = config;
    return 0;
}

void cmd_server_config_deinit(struct cmd_server_config *config)
{
    config_set_deinit(&config->set);
    cmd_server_listeners_deinit(&config->listeners);
    for (int32_t i = 0; i < config->log_dir_count; i++) {
        free(config->log_dirs[i]);
    }
    free(config->log_dirs);
    free(config->digest);
    free(config->settings);
    *config = (struct cmd_server_config){0};
}

/* ---- files ---- */

int cmd_server_file_read(struct env *env, const char *path, struct buf *ret_text, struct errmsg *em)
{
    struct env_file *file = NULL;
    uint64_t size = 0;
    size_t len = 0;
    struct buf text;
    buf_init(&text);
    int err = env_file_open(env, path, ENV_OPEN_READ, &file);
    if (err == 0) {
        err = env_file_size(file, &size);
    }
    if (err == 0 && size > FILE_SIZE_MAX) {
        err = -E_TOO_LARGE;
    }
    if (err == 0 && size > 0) {
        uint8_t *space = buf_put_space(&text, (size_t)size);
        err = env_file_read(file, space, (size_t)size, 0, &len);
        text.len = len;
    }
    env_file_unref(file);
    if (err < 0) {
        buf_deinit(&text);
        return errmsg_set(em, (enum error) - err, "%s: cannot be read: %s", path, error_name(err));
    }
    *ret_text = text;
    return 0;
}

static int read_digest(struct env *env, struct cmd_server_config *config,
                       struct cmd_server_faults *faults)
{
    const char *path = config_get_string(&config->set, CONFIG_BROKER_ZOOKEEPER_DIGEST_FILE);
    struct buf text;
    struct errmsg em;
    if (path == NULL) {
        return 0;
    }
    if (cmd_server_file_read(env, path, &text, &em) != 0) {
        buf_putf(&faults->errors, "%s\n", em.text);
        return -E_INVALID;
    }
    const uint8_t *newline = text.len == 0 ? NULL : memchr(text.ptr, '\n', text.len);
    size_t len = newline == NULL ? text.len : (size_t)(newline - text.ptr);
    struct slice line = slice_of(text.ptr, len);
    bool is_good = line.len > 0 && memchr(line.ptr, ':', line.len) != NULL &&
                   memchr(line.ptr, '\0', line.len) == NULL;
    if (is_good) {
        config->digest = slice_dup(line);
    } else {
        buf_putf(&faults->errors, "%s:1: must be user:password\n", path);
    }
    buf_deinit(&text);
    return is_good ? 0 : -E_INVALID;
}

int cmd_server_config_read(struct env *env, const struct cmd_server_sources *sources,
                           struct cmd_server_config *ret, struct cmd_server_faults *faults)
{
    struct buf text;
    struct errmsg em;
    struct cmd_server_config config;
    if (cmd_server_file_read(env, sources->path, &text, &em) != 0) {
        buf_putf(&faults->errors, "%s\n", em.text);
        return -E_INVALID;
    }
    int err = cmd_server_config_parse(buf_slice(&text), sources, &config, faults);
    buf_deinit(&text);
    if (err != 0) {
        return err;
    }
    err = read_digest(env, &config, faults);
    if (err != 0) {
        cmd_server_config_deinit(&config);
        return err;
    }
    *ret = config;
    return 0;
}
