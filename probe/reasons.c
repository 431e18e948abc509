/* probe/reasons.c - see reasons.h. */
#include "probe/reasons.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void reasons_add(struct reasons *reasons, const char *path, const char *fmt, ...)
{
    if (reasons->n == REASONS_MAX || reasons_find(reasons, path))
        return;
    va_list ap;
    va_start(ap, fmt);
    snprintf(reasons->entry[reasons->n].path, sizeof reasons->entry[0].path, "%s", path);
    vsnprintf(reasons->entry[reasons->n].text, sizeof reasons->entry[0].text, fmt, ap);
    va_end(ap);
    reasons->n++;
}

const char *reasons_find(const struct reasons *reasons, const char *path)
{
    for (int i = 0; i < reasons->n; i++)
        if (strcmp(reasons->entry[i].path, path) == 0)
            return reasons->entry[i].text;
    return NULL;
}
