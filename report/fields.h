/*
 * report/fields.h - the figures of a document that people ask for: one list, from which every format is written.
 *
 * A field has a path in the document (results/README.md), a name for machines, a title for people, a unit and a kind. A path with
 * "[]" stands for every element of an array. Documents of all kinds share the list: a field whose member a document does not
 * have is left out, one that is null is there with the reason why it is.
 *
 *     fields_each(document, visit, ctx)     calls visit() in the list's order
 *
 * Pure; values are borrowed from the document.
 */
#ifndef REPORT_FIELDS_H
#define REPORT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

enum field_kind { FIELD_TEXT, FIELD_COUNT, FIELD_GAUGE, FIELD_FLAG };

/* What a number is of; the name of a field ends with its OpenMetrics unit. */
enum field_unit { UNIT_NONE, UNIT_SECONDS, UNIT_BYTES, UNIT_BYTES_PER_S, UNIT_TOKENS_PER_S, UNIT_FLOPS, UNIT_RATIO };

struct field {
    const char *group; /* heading under which people find it */
    const char *path;
    const char *name;
    const char *title;
    const char
        *brief; /* title where several results stand beside each other (report/digest.h); NULL: it is not compared */
    enum field_unit unit;
    enum field_kind kind;
};

extern const struct field fields[]; /* ends with a row of NULLs */

enum { FIELD_PATH = 128 };

struct field_value {
    const struct field *field;
    char path[FIELD_PATH]; /* with the index in place of [] */
    int index;             /* of the element; -1: the path has no [] */
    const char *of;        /* the element's name, as the document has it; NULL: none */
    const json_t *value;   /* string, number, boolean or null */
    const char *reason;    /* of a null; never NULL then */
};

void fields_each(const json_t *document, void (*visit)(void *ctx, const struct field_value *v), void *ctx);

/* The row of a path; NULL: the list does not have it. */
const struct field *field_find(const char *path);

/* "s", "bytes", ...: as the formats name a unit; "" for none. */
const char *field_unit_name(enum field_unit unit);
const char *field_kind_name(enum field_kind kind);

/* What people read for a null, before its reason: a text that is not there is none, a number is not known. */
const char *field_null(const struct field *field);

/* A number as people read it, four digits with its unit: "5.730 s", "497.8 MB". Returns buf. */
const char *field_format(char *buf, size_t size, enum field_unit unit, double x);

/* Why the value at a path is null: the reason of the path or of what it is in; otherwise, if the document gives none. */
const char *field_reason(const json_t *document, const char *path, const char *otherwise);

#endif
