/*
 * A log directory. The clean-shutdown mark stays while the directory may still be refused, and is taken
 * away before its logs are opened, so that whatever happens next counts as unclean until
 * plog_dir_mark_clean. Runs on the home env.
 */
#include "plog/dir.h"

#include "base/alloc.h"
#include "plog/partition.h"
#include "plog/removal.h"
#include "plog/state.h"
#include "plog/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LOCK_NAME           ".lock"
#define CLEAN_NAME          ".kafka_cleanshutdown"
#define META_NAME           "meta.properties"
#define BOOT_NAME           "klamm-boot" /* our own: the line "0", then the boot id */
#define BOOT_SIZE_MAX       ((size_t)4096)
#define META_SIZE_MAX       ((size_t)64 << 10)
#define CHECKPOINT_SIZE_MAX ((size_t)64 << 20)
#define ASIDE_HEX           32

struct plog_dir {
    struct env *env;
    char *path;
    struct env_file *lock;
    bool was_clean;
    bool may_lack_records;
    bool is_boot_noted; /* klamm-boot has the present boot id */
};

static char *path_in(const char *dir, const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

/* Reads and removes the mark. Its content (a version, or nothing) does not matter. */
static int take_clean_mark(struct plog_dir *d)
{
    char *path = path_in(d->path, CLEAN_NAME);
    int err = env_unlink(d->env, path);
    free(path);
    if (err == -E_NOT_FOUND) {
        return 0;
    }
    if (err == 0) {
        d->was_clean = true;
        err = env_dir_sync(d->env, d->path);
    }
    return err;
}

/* What klamm-boot says; UUID_ZERO when it says nothing that can be used. */
static int read_boot(struct plog_dir *d, struct uuid *ret_id, struct errmsg *em)
{
    struct buf text;
    buf_init(&text);
    char *path = path_in(d->path, BOOT_NAME);
    int err = plog_file_load(d->env, path, BOOT_SIZE_MAX, &text);
    struct slice rest = buf_slice(&text);
    struct slice line;
    int64_t version = -1;
    struct uuid id = UUID_ZERO;
    if (err == 0 && plog_text_line(&rest, &line) && plog_text_number(line, &version) == 0 &&
        version > 0) {
        err = errmsg_set(em, E_UNSUPPORTED, "%s: version %" PRId64 " is not known here", path,
                         version);
    } else if (err == 0 &&
               (version != 0 || !plog_text_line(&rest, &line) || uuid_parse(line, &id) != 0)) {
        id = UUID_ZERO;
    } else if (err == -E_NOT_FOUND || err == -E_TOO_LARGE) {
        err = 0;
    } else if (err != 0) {
        (void)errmsg_set(em, (enum error) - err, "%s: %s", path, error_name(err));
    }
    free(path);
    buf_deinit(&text);
    if (err == 0) {
        *ret_id = id;
    }
    return err;
}

static int compare_boot(struct plog_dir *d, struct errmsg *em)
{
    struct uuid noted = UUID_ZERO;
    struct uuid present = UUID_ZERO;
    int err = read_boot(d, &noted, em);
    d->is_boot_noted = err == 0 && !uuid_is_zero(noted) && env_boot_id(d->env, &present) == 0 &&
                       uuid_equal(noted, present);
    d->may_lack_records = !d->is_boot_noted;
    return err;
}

int plog_dir_open(struct env *env, const char *path, struct plog_dir **ret_dir, struct errmsg *em)
{
    struct plog_dir *d = xalloc(sizeof *d);
    d->env = env;
    d->path = xstrdup(path);
    char *lock_path = path_in(path, LOCK_NAME);
    int err = env_mkdir(env, path);
    if (err == 0) {
        err = env_lock(env, lock_path, &d->lock);
    }
    free(lock_path);
    if (err == -E_LOCKED) {
        (void)errmsg_set(em, E_LOCKED, "log directory %s: in use by another broker", path);
    } else if (err == -E_EXISTS) {
        err = errmsg_set(em, E_IO, "it is not a directory");
    } else if (err != 0) {
        (void)errmsg_set(em, (enum error) - err, "it cannot be opened: %s", error_name(err));
    } else {
        err = compare_boot(d, em);
    }
    if (err != 0) {
        plog_dir_free(d);
        return err;
    }
    *ret_dir = d;
    return 0;
}

int plog_dir_begin(struct plog_dir *d, struct errmsg *em)
{
    int err = take_clean_mark(d);
    if (err != 0) {
        return errmsg_set(em, (enum error) - err, CLEAN_NAME ": %s", error_name(err));
    }
    d->may_lack_records = !d->was_clean && !d->is_boot_noted;
    return 0;
}

void plog_dir_free(struct plog_dir *d)
{
    if (d != NULL) {
        env_file_unref(d->lock);
        free(d->path);
        free(d);
    }
}

const char *plog_dir_name(const struct plog_dir *d)
{
    return d->path;
}

bool plog_dir_was_clean(const struct plog_dir *d)
{
    return d->was_clean;
}

int plog_dir_mark_clean(struct plog_dir *d, struct errmsg *em)
{
    if (d->may_lack_records) {
        return 0;
    }
    int err = plog_file_replace(d->env, d->path, CLEAN_NAME, slice_str("{\"version\":0}"));
    return err == 0 ? 0
                    : errmsg_set(em, (enum error) - err, "it cannot be marked as clean: %s",
                                 error_name(err));
}

bool plog_dir_may_lack_records(const struct plog_dir *d)
{
    return d->may_lack_records;
}

int plog_dir_accept_records(struct plog_dir *d, struct errmsg *em)
{
    struct uuid id;
    char id_text[UUID_TEXT_SIZE];
    char text[64];
    d->may_lack_records = false;
    if (d->is_boot_noted || env_boot_id(d->env, &id) != 0) {
        return 0; /* without a boot id every stop that is not clean is taken for a power loss */
    }
    uuid_format(id, id_text);
    int len = snprintf(text, sizeof text, "0\n%s\n", id_text);
    int err = plog_file_replace(d->env, d->path, BOOT_NAME, slice_of(text, (size_t)len));
    d->is_boot_noted = err == 0;
    return err == 0 ? 0
                    : errmsg_set(em, (enum error) - err, "%s/" BOOT_NAME ": %s", d->path,
                                 error_name(err));
}

/* ---- meta.properties ---- */

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static struct slice trim(struct slice s)
{
    while (s.len > 0 && is_space(s.ptr[0])) {
        s = slice_of(s.ptr + 1, s.len - 1);
    }
    while (s.len > 0 && is_space(s.ptr[s.len - 1])) {
        s.len--;
    }
    return s;
}

/* key=value of a Java properties file, as far as Kafka writes it: no escapes, no continued lines. */
static bool parse_property(struct slice line, struct slice *ret_key, struct slice *ret_value)
{
    line = trim(line);
    if (line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == '!') {
        return false;
    }
    const uint8_t *equals = memchr(line.ptr, '=', line.len);
    if (equals == NULL) {
        return false;
    }
    size_t key_len = (size_t)(equals - line.ptr);
    *ret_key = trim(slice_of(line.ptr, key_len));
    *ret_value = trim(slice_of(equals + 1, line.len - key_len - 1));
    return true;
}

static int parse_meta(struct slice text, struct plog_dir_meta *ret_meta, struct errmsg *em)
{
    int64_t version = -1;
    int64_t broker_id = -1;
    struct plog_dir_meta meta = {0};
    struct slice line;
    while (plog_text_line(&text, &line)) {
        struct slice key;
        struct slice value;
        if (!parse_property(line, &key, &value)) {
            continue;
        }
        bool is_bad = false;
        if (slice_equal_str(key, "version")) {
            is_bad = plog_text_number(value, &version) != 0;
        } else if (slice_equal_str(key, "broker.id")) {
            is_bad =
                plog_text_number(value, &broker_id) != 0 || broker_id < 0 || broker_id > INT32_MAX;
        } else if (slice_equal_str(key, "cluster.id")) {
            is_bad = value.len >= sizeof meta.cluster_id;
            memcpy(meta.cluster_id, value.ptr, is_bad ? 0 : value.len);
        }
        if (is_bad) {
            return errmsg_set(em, E_MALFORMED, "%.*s has a bad value", SLICE_ARG(key));
        }
    }
    if (version != 0) {
        return version < 0 ? errmsg_set(em, E_MALFORMED, "version is missing")
                           : errmsg_set(em, E_UNSUPPORTED, "version %" PRId64 " is not known here",
                                        version);
    }
    if (broker_id < 0) {
        return errmsg_set(em, E_MALFORMED, "broker.id is missing");
    }
    meta.broker_id = (int32_t)broker_id;
    *ret_meta = meta;
    return 0;
}

int plog_dir_read_meta(struct plog_dir *d, struct plog_dir_meta *ret_meta, struct errmsg *em)
{
    struct buf text;
    buf_init(&text);
    char *path = path_in(d->path, META_NAME);
    int err = plog_file_load(d->env, path, META_SIZE_MAX, &text);
    if (err != 0) {
        (void)errmsg_set(em, (enum error) - err, "%s: %s", path, error_name(err));
    } else {
        err = parse_meta(buf_slice(&text), ret_meta, em);
        if (err != 0) {
            errmsg_prefix(em, "%s", path);
        }
    }
    free(path);
    buf_deinit(&text);
    return err;
}

int plog_dir_write_meta(struct plog_dir *d, const struct plog_dir_meta *meta, struct errmsg *em)
{
    char text[160];
    int len = snprintf(text, sizeof text, "version=0\nbroker.id=%" PRId32 "\ncluster.id=%s\n",
                       meta->broker_id, meta->cluster_id);
    CHECK(len > 0 && (size_t)len < sizeof text);
    int err = plog_file_replace(d->env, d->path, META_NAME, slice_of(text, (size_t)len));
    return err == 0 ? 0
                    : errmsg_set(em, (enum error) - err, "%s/" META_NAME ": %s", d->path,
                                 error_name(err));
}

int plog_dir_claim(struct plog_dir *d, const struct plog_dir_meta *meta, struct errmsg *em)
{
    struct plog_dir_meta found;
    int err = plog_dir_read_meta(d, &found, em);
    if (err == -E_NOT_FOUND) {
        return plog_dir_write_meta(d, meta, em);
    }
    if (err != 0) {
        return err;
    }
    if (found.broker_id != meta->broker_id) {
        return errmsg_set(em, E_INVALID,
                          "log directory %s belongs to broker %" PRId32 ", this is broker %" PRId32,
                          d->path, found.broker_id, meta->broker_id);
    }
    if (found.cluster_id[0] == '\0') {
        return plog_dir_write_meta(d, meta, em);
    }
    if (strcmp(found.cluster_id, meta->cluster_id) != 0) {
        return errmsg_set(em, E_INVALID,
                          "log directory %s belongs to cluster %s, this is cluster %s", d->path,
                          found.cluster_id, meta->cluster_id);
    }
    return 0;
}

/* ---- checkpoints ---- */

static const char *checkpoint_name(enum plog_checkpoint_kind kind)
{
    switch (kind) {
    case PLOG_CHECKPOINT_HIGH_WATERMARK:
        return "replication-offset-checkpoint";
    case PLOG_CHECKPOINT_RECOVERY_POINT:
        return "recovery-point-offset-checkpoint";
    case PLOG_CHECKPOINT_LOG_START:
        return "log-start-offset-checkpoint";
    case PLOG_CHECKPOINT_CLEANER:
        return "cleaner-offset-checkpoint";
    }
    CHECKF(false, "checkpoint kind %d", (int)kind);
    return NULL;
}

int plog_dir_read_checkpoint(struct env *env, const char *dir, enum plog_checkpoint_kind kind,
                             struct plog_checkpoint *ret_entries, struct errmsg *em)
{
    struct buf text;
    struct plog_checkpoint entries = {0};
    buf_init(&text);
    char *path = path_in(dir, checkpoint_name(kind));
    int err = plog_file_load(env, path, CHECKPOINT_SIZE_MAX, &text);
    if (err == 0) {
        err = plog_checkpoint_parse(buf_slice(&text), &entries, em);
        if (err != 0) {
            errmsg_prefix(em, "%s", path);
        }
    } else if (err == -E_NOT_FOUND) {
        err = 0;
    } else {
        (void)errmsg_set(em, (enum error) - err, "%s: %s", path, error_name(err));
    }
    free(path);
    buf_deinit(&text);
    if (err == 0) {
        *ret_entries = entries;
    }
    return err;
}

int plog_dir_write_checkpoint(struct env *env, const char *dir, enum plog_checkpoint_kind kind,
                              const struct plog_checkpoint *entries, struct errmsg *em)
{
    struct buf text;
    buf_init(&text);
    plog_checkpoint_format(entries, &text);
    int err = buf_failed(&text)
                  ? -E_TOO_LARGE
                  : plog_file_replace(env, dir, checkpoint_name(kind), buf_slice(&text));
    buf_deinit(&text);
    return err == 0 ? 0
                    : errmsg_set(em, (enum error) - err, "%s/%s: %s", dir, checkpoint_name(kind),
                                 error_name(err));
}

/* ---- folders ---- */

static const struct {
    const char *suffix;
    enum plog_folder_kind kind;
} aside_kinds[] = {
    {PLOG_DELETE_SUFFIX, PLOG_FOLDER_DELETE},
    {PLOG_FUTURE_SUFFIX, PLOG_FOLDER_FUTURE},
    {PLOG_STRAY_SUFFIX, PLOG_FOLDER_STRAY},
};

static bool is_hex(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = s.ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
    }
    return true;
}

/* Takes ".<32 hex>-delete" and kin off the name. */
static enum plog_folder_kind take_suffix(struct slice *name)
{
    for (size_t i = 0; i < ARRAY_LEN(aside_kinds); i++) {
        struct slice suffix = slice_str(aside_kinds[i].suffix);
        size_t tail = 1 + ASIDE_HEX + suffix.len;
        if (name->len <= tail) {
            continue;
        }
        const uint8_t *at = name->ptr + name->len - tail;
        if (at[0] == '.' && is_hex(slice_of(at + 1, ASIDE_HEX)) &&
            slice_equal(slice_of(at + 1 + ASIDE_HEX, suffix.len), suffix)) {
            name->len -= tail;
            return aside_kinds[i].kind;
        }
    }
    return PLOG_FOLDER_LIVE;
}

/* "<topic>-<partition>" and its forms with a suffix; false for any other name. */
static bool parse_folder(const char *name, struct plog_folder *ret_folder)
{
    struct slice rest = slice_str(name);
    enum plog_folder_kind kind = take_suffix(&rest);
    const uint8_t *dash = memrchr(rest.ptr, '-', rest.len);
    if (dash == NULL || dash == rest.ptr) {
        return false;
    }
    size_t topic_len = (size_t)(dash - rest.ptr);
    struct slice digits = slice_of(dash + 1, rest.len - topic_len - 1);
    int64_t partition = 0;
    if (digits.len == 0 || digits.ptr[0] == '-' || plog_text_number(digits, &partition) != 0 ||
        partition > INT32_MAX) {
        return false;
    }
    *ret_folder = (struct plog_folder){.kind = kind,
                                       .name = name,
                                       .topic = slice_of(rest.ptr, topic_len),
                                       .partition = (int32_t)partition};
    return true;
}

struct folder_walk {
    struct plog_dir *dir;
    plog_folder_fn fn;
    void *arg;
    struct errmsg *em;
};

static int walk_entry(void *arg, const char *name, bool is_dir)
{
    struct folder_walk *walk = arg;
    struct plog_folder folder;
    if (!is_dir || !parse_folder(name, &folder)) {
        return 0;
    }
    char *path = path_in(walk->dir->path, name);
    int err = plog_partition_read_id(walk->dir->env, path, &folder.topic_id);
    if (err != 0) {
        (void)errmsg_set(walk->em, (enum error) - err, "%s: bad partition.metadata: %s", path,
                         error_name(err));
    }
    free(path);
    return err == 0 ? walk->fn(walk->arg, &folder) : err;
}

int plog_dir_list_folders(struct plog_dir *d, plog_folder_fn fn, void *arg, struct errmsg *em)
{
    struct folder_walk walk = {d, fn, arg, em};
    if (em != NULL) {
        em->text[0] = '\0';
    }
    int err = env_dir_list(d->env, d->path, walk_entry, &walk);
    if (err != 0 && em != NULL && em->text[0] == '\0') {
        (void)errmsg_set(em, (enum error) - err, "it cannot be listed: %s", error_name(err));
    }
    return err;
}
