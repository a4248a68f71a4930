/*
 * See local.h. The file has two tables: `metastore` with one row (format, zxid), and `node` with one
 * row a persistent node. It is locked by SQLite's exclusive locking mode, which ends with the process
 * whatever happens to it.
 */
#include "metastore/local.h"

#include "base/alloc.h"
#include "base/check.h"

#include <sqlite3.h>
#include <stdlib.h>

#define LOCAL_FORMAT 1

struct metastore_local {
    char *path;
    sqlite3 *db;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    sqlite3_stmt *rollback;
    sqlite3_stmt *put;
    sqlite3_stmt *remove;
    sqlite3_stmt *set_zxid;
    int64_t zxid;
};

/* ---- batches ---- */

struct metastore_change {
    struct metastore_row row; /* slices point behind the struct */
    bool is_removed;
};

static void batch_add(struct metastore_batch *b, const struct metastore_row *row, bool is_removed)
{
    struct metastore_change *change = xalloc(sizeof *change + row->path.len + row->data.len + 1);
    uint8_t *bytes = (uint8_t *)(change + 1);
    change->row = *row;
    change->is_removed = is_removed;
    memcpy(bytes, row->path.ptr, row->path.len);
    change->row.path.ptr = bytes;
    if (!slice_is_null(row->data)) {
        memcpy(bytes + row->path.len, row->data.ptr, row->data.len);
        change->row.data.ptr = bytes + row->path.len;
    }
    if (b->count == b->cap) {
        b->cap = b->cap == 0 ? 64 : b->cap * 2;
        b->changes = xrealloc(b->changes, b->cap * sizeof *b->changes);
    }
    b->changes[b->count++] = change;
}

void metastore_batch_put(struct metastore_batch *b, const struct metastore_row *row)
{
    batch_add(b, row, false);
}

void metastore_batch_remove(struct metastore_batch *b, struct slice path)
{
    struct metastore_row row = {.path = path};
    batch_add(b, &row, true);
}

void metastore_batch_clear(struct metastore_batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->changes[i]);
    }
    free(b->changes);
    *b = (struct metastore_batch){0};
}

/* ---- SQLite ---- */

static int local_error(struct metastore_local *l, struct errmsg *em)
{
    int code = sqlite3_errcode(l->db) & 0xff; /* without the extension */
    enum error error = E_SYSTEM;
    switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return errmsg_set(em, E_LOCKED, "%s: in use by another process", l->path);
    case SQLITE_FULL:
        error = E_DISK_FULL;
        break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        error = E_CORRUPT;
        break;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        error = E_IO;
        break;
    case SQLITE_NOMEM:
        error = E_NO_MEMORY;
        break;
    default:
        break;
    }
    return errmsg_set(em, error, "%s: %s", l->path, sqlite3_errmsg(l->db));
}

static int local_exec(struct metastore_local *l, const char *sql, struct errmsg *em)
{
    return sqlite3_exec(l->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : local_error(l, em);
}

static int local_prepare(struct metastore_local *l, const char *sql, sqlite3_stmt **ret_statement,
                         struct errmsg *em)
{
    int rc = sqlite3_prepare_v3(l->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, NULL);
    return rc == SQLITE_OK ? 0 : local_error(l, em);
}

/* Runs a statement that returns no rows; it can be used again afterwards. */
static int local_run(struct metastore_local *l, sqlite3_stmt *statement, struct errmsg *em)
{
    int err = sqlite3_step(statement) == SQLITE_DONE ? 0 : local_error(l, em);
    /* reset repeats the error of step. */
    (void)sqlite3_reset(statement);
    return err;
}

static int local_prepare_all(struct metastore_local *l, struct errmsg *em)
{
    const struct {
        const char *sql;
        sqlite3_stmt **statement;
    } list[] = {
        {"BEGIN IMMEDIATE", &l->begin},
        {"COMMIT", &l->commit},
        {"ROLLBACK", &l->rollback},
        {"INSERT OR REPLACE INTO node (path, data, czxid, mzxid, version, next_sequence) "
         "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
         &l->put},
        {"DELETE FROM node WHERE path = ?1", &l->remove},
        {"UPDATE metastore SET zxid = ?1", &l->set_zxid},
    };
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        int err = local_prepare(l, list[i].sql, list[i].statement, em);
        if (err != 0) {
            return err;
        }
    }
    return 0;
}

/* Reads the one row of `metastore`, and refuses what we cannot read. */
static int local_check_format(struct metastore_local *l, struct errmsg *em)
{
    sqlite3_stmt *query;
    int err = local_prepare(l, "SELECT format, zxid FROM metastore", &query, em);
    if (err != 0) {
        return err;
    }
    if (sqlite3_step(query) != SQLITE_ROW) {
        err = errmsg_set(em, E_CORRUPT, "%s: its format is not stated", l->path);
    } else {
        int64_t format = sqlite3_column_int64(query, 0);
        l->zxid = sqlite3_column_int64(query, 1);
        if (format > LOCAL_FORMAT) {
            err = errmsg_set(em, E_UNSUPPORTED,
                             "%s: format %lld was made by a newer klamm; this one reads up to %d",
                             l->path, (long long)format, LOCAL_FORMAT);
        } else if (format != LOCAL_FORMAT || l->zxid < 0) {
            err = errmsg_set(em, E_CORRUPT, "%s: format %lld, zxid %lld", l->path,
                             (long long)format, (long long)l->zxid);
        }
    }
    sqlite3_finalize(query);
    return err;
}

static int local_prepare_file(struct metastore_local *l, struct errmsg *em)
{
    /* The format is checked before the tables are made: a newer file stays as it is. A small cache is
     * enough, because the tree in memory answers all reads. */
    static const char *const pragmas = "PRAGMA locking_mode = EXCLUSIVE;"
                                       "PRAGMA journal_mode = WAL;"
                                       "PRAGMA synchronous = FULL;"
                                       "PRAGMA cache_size = -512;";
    static const char *const tables =
        "BEGIN EXCLUSIVE;"
        "CREATE TABLE IF NOT EXISTS metastore (format INTEGER NOT NULL, zxid INTEGER NOT NULL);"
        "INSERT INTO metastore SELECT 1, 0 WHERE NOT EXISTS (SELECT * FROM metastore);"
        "CREATE TABLE IF NOT EXISTS node (path TEXT PRIMARY KEY, data BLOB, "
        "czxid INTEGER NOT NULL, mzxid INTEGER NOT NULL, version INTEGER NOT NULL, "
        "next_sequence INTEGER NOT NULL) WITHOUT ROWID;"
        "COMMIT;";
    int err = local_exec(l, pragmas, em);
    if (err != 0) {
        return err;
    }
    sqlite3_stmt *query;
    err = local_prepare(l, "SELECT 1 FROM sqlite_master WHERE name = 'metastore'", &query, em);
    if (err != 0) {
        return err;
    }
    int rc = sqlite3_step(query);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        err = local_error(l, em);
    }
    sqlite3_finalize(query);
    if (err == 0 && rc == SQLITE_ROW) {
        err = local_check_format(l, em);
    }
    return err != 0 ? err : local_exec(l, tables, em);
}

int metastore_local_open(const char *directory, struct metastore_local **ret_local,
                         struct errmsg *em)
{
    struct metastore_local *l = xalloc(sizeof *l);
    l->path = xasprintf("%s/" METASTORE_LOCAL_FILE, directory);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int err = 0;
    if (sqlite3_open_v2(l->path, &l->db, flags, NULL) != SQLITE_OK) {
        err = local_error(l, em);
    }
    if (err == 0) {
        err = local_prepare_file(l, em);
    }
    if (err == 0) {
        err = local_prepare_all(l, em);
    }
    if (err != 0) {
        metastore_local_close(l);
        return err;
    }
    *ret_local = l;
    return 0;
}

int64_t metastore_local_zxid(const struct metastore_local *l)
{
    return l->zxid;
}

static struct slice column_slice(sqlite3_stmt *query, int column)
{
    if (sqlite3_column_type(query, column) == SQLITE_NULL) {
        return SLICE_NULL;
    }
    const void *ptr = sqlite3_column_blob(query, column);
    size_t len = (size_t)sqlite3_column_bytes(query, column);
    return slice_of(ptr == NULL ? "" : ptr, len); /* SQLite gives no address for empty blobs */
}

/* A number that int32_t cannot hold turns negative, which the tree refuses. */
static int32_t column_int32(sqlite3_stmt *query, int column)
{
    int64_t value = sqlite3_column_int64(query, column);
    return value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

int metastore_local_load(struct metastore_local *l, struct metastore_tree *t, struct errmsg *em)
{
    sqlite3_stmt *query;
    /* In byte order of paths a parent comes before its children. */
    int err = local_prepare(l,
                            "SELECT path, data, czxid, mzxid, version, next_sequence FROM node "
                            "ORDER BY path",
                            &query, em);
    if (err != 0) {
        return err;
    }
    int rc = SQLITE_ROW;
    while (err == 0 && (rc = sqlite3_step(query)) == SQLITE_ROW) {
        struct metastore_row row = {.path = column_slice(query, 0),
                                    .data = column_slice(query, 1),
                                    .czxid = sqlite3_column_int64(query, 2),
                                    .mzxid = sqlite3_column_int64(query, 3),
                                    .version = column_int32(query, 4),
                                    .next_sequence = column_int32(query, 5)};
        err = metastore_tree_load(t, &row);
        if (err != 0) {
            err = errmsg_set(em, E_CORRUPT, "%s: node '%.*s' does not fit the tree", l->path,
                             (int)MIN(row.path.len, 200), (const char *)row.path.ptr);
        }
    }
    if (err == 0 && rc != SQLITE_DONE) {
        err = local_error(l, em);
    }
    sqlite3_finalize(query);
    return err;
}

static int local_write(struct metastore_local *l, const struct metastore_change *change,
                       struct errmsg *em)
{
    const struct metastore_row *row = &change->row;
    sqlite3_stmt *statement = change->is_removed ? l->remove : l->put;
    int rc = sqlite3_bind_text(statement, 1, (const char *)row->path.ptr, (int)row->path.len,
                               SQLITE_STATIC);
    if (!change->is_removed) {
        /* A NULL pointer binds NULL, which is null data. */
        rc |= sqlite3_bind_blob(statement, 2, row->data.ptr, (int)row->data.len, SQLITE_STATIC);
        rc |= sqlite3_bind_int64(statement, 3, row->czxid);
        rc |= sqlite3_bind_int64(statement, 4, row->mzxid);
        rc |= sqlite3_bind_int(statement, 5, row->version);
        rc |= sqlite3_bind_int(statement, 6, row->next_sequence);
    }
    CHECK(rc == SQLITE_OK);
    return local_run(l, statement, em);
}

int metastore_local_commit(struct metastore_local *l, const struct metastore_batch *b,
                           struct errmsg *em)
{
    int err = local_run(l, l->begin, em);
    if (err != 0) {
        return err;
    }
    for (size_t i = 0; i < b->count && err == 0; i++) {
        err = local_write(l, b->changes[i], em);
    }
    if (err == 0) {
        CHECK(sqlite3_bind_int64(l->set_zxid, 1, b->zxid) == SQLITE_OK);
        err = local_run(l, l->set_zxid, em);
    }
    if (err == 0) {
        err = local_run(l, l->commit, em);
    }
    if (err != 0 && sqlite3_get_autocommit(l->db) == 0) {
        /* The message of the first failure counts; SQLite may have rolled back by itself already. */
        (void)local_run(l, l->rollback, NULL);
    }
    if (err == 0) {
        l->zxid = b->zxid;
    }
    return err;
}

void metastore_local_close(struct metastore_local *l)
{
    if (l == NULL) {
        return;
    }
    sqlite3_finalize(l->begin);
    sqlite3_finalize(l->commit);
    sqlite3_finalize(l->rollback);
    sqlite3_finalize(l->put);
    sqlite3_finalize(l->remove);
    sqlite3_finalize(l->set_zxid);
    int rc = sqlite3_close(l->db);
    CHECK(rc == SQLITE_OK);
    free(l->path);
    free(l);
}
