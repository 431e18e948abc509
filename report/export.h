/*
 * report/export.h - the fields of a document (fields.h) in the formats that other programs and people read.
 *
 *     md           a heading, the verdict and tables
 *     csv          path,name,unit,kind,of,value,reason: one line per field, RFC 4180, the first line names the columns
 *     json         one object: document, fields[] of {path, name, unit, kind, of, value, reason}
 *     jsonl        one such field a line
 *     openmetrics  gauges with the unit in the name, and one info of the texts; ends with # EOF. What is null is left out
 *
 * Numbers are written as the document has them, with a point whatever the locale. Texts of strangers are inert (clean.h).
 */
#ifndef REPORT_EXPORT_H
#define REPORT_EXPORT_H

#include "base/err.h"
#include "base/json.h"

struct export_format {
    const char *name;
    char *(*render)(const json_t *document, const char *run); /* NULL: out of memory */
};

extern const struct export_format export_formats[]; /* ends with a row of NULLs */

/* ERR_USAGE with what is accepted if there is none of that name. */
const struct export_format *export_find(const char *name, struct err *e);

#endif
