/* base/json.c - see json.h. */
#include "base/json.h"

#include <math.h>

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

void json_unknown(json_t *root, json_t *object, const char *key, const char *path, const char *reason)
{
    json_object_set_new(object, key, json_null());
    json_t *reasons = json_object_get(root, "reasons");
    if (!reasons) {
        reasons = json_object();
        json_object_set_new(root, "reasons", reasons);
    }
    json_object_set_new(reasons, path, json_string(reason));
}
