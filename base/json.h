/*
 * base/json.h - the one door to jansson, with the rules this project keeps.
 *
 * A number that is not finite becomes null (json_num); a value that cannot be known is null and its
 * reason stands in the document's "reasons" object under the value's path (json_unknown). Doubles are
 * written with up to 17 digits, always with a point: jansson follows LC_NUMERIC and undoes it, and this program
 * never calls setlocale(LC_NUMERIC). Out of memory inside jansson shows as NULL from json_dumps.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "base/stats.h"

/* A real, or null if x is NaN or infinite. */
json_t *json_num(double x);

/* {"median", "mad", "n"}: null in median and mad when n is 0. */
json_t *json_summary(struct summary s);

/* Sets object[key] = null and root["reasons"][path] = reason. */
void json_unknown(json_t *root, json_t *object, const char *key, const char *path, const char *reason);

/* The same for a value that may be unknown, key of the object that stands at that path in the document ("": the document itself):
 * object[key] becomes the value, which is taken over; if it is NULL or null, null with the reason under "path.key". */
void json_known(json_t *root, json_t *object, const char *path, const char *key, json_t *value, const char *reason);

/* object[key] = json_summary(s); of nothing, or if its median is not finite, {null, null, 0} with the reason. */
void json_known_summary(json_t *root, json_t *object, const char *path, const char *key, struct summary s,
                        const char *reason);

#endif
