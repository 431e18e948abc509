/* base/json.c - see json.h. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>

json_t *json_num(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *json_summary(struct summary s)
{
    json_t *o = json_object();
    json_object_set_new(o, "median", json_num(s.median));
    json_object_set_new(o, "mad", json_num(s.mad));
    json_object_set_new(o, "n", json_integer((json_int_t)s.n));
    return o;
}

static void give_reason(json_t *root, const char *path, const char *reason)
{
    json_t *reasons = json_object_get(root, "reasons");
    if (!reasons) {
        reasons = json_object();
        json_object_set_new(root, "reasons", reasons);
    }
    json_object_set_new(reasons, path, json_string(reason));
}

void json_unknown(json_t *root, json_t *object, const char *key, const char *path, const char *reason)
{
    json_object_set_new(object, key, json_null());
    give_reason(root, path, reason);
}

enum { PATH_BYTES = 256 };

/* "path.key", or "key" of the document itself. */
static const char *join(char where[PATH_BYTES], const char *path, const char *key)
{
    snprintf(where, PATH_BYTES, "%s%s%s", path, *path ? "." : "", key);
    return where;
}

void json_known(json_t *root, json_t *object, const char *path, const char *key, json_t *value, const char *reason)
{
    char where[PATH_BYTES];
    if (!value || json_is_null(value))
        json_unknown(root, object, key, join(where, path, key), reason);
    else
        json_object_set_new(object, key, value);
}

void json_known_summary(json_t *root, json_t *object, const char *path, const char *key, struct summary s,
                        const char *reason)
{
    char where[PATH_BYTES];
    if (!isfinite(s.median))
        s.n = 0;
    json_object_set_new(object, key, json_summary(s));
    if (s.n == 0)
        give_reason(root, join(where, path, key), reason);
}
