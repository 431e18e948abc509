/* base/notes.c - see notes.h. */
#include "base/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void notes_add(struct notes *notes, const char *fmt, ...)
{
    if (!notes)
        return;
    char text[sizeof notes->text[0]];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (int i = 0; i < notes->n; i++)
        if (strcmp(notes->text[i], text) == 0)
            return;
    if (notes->n == NOTES_MAX) {
        notes->dropped++;
        return;
    }
    memcpy(notes->text[notes->n++], text, sizeof text);
}
