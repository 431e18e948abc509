/* report/page_parts.c - see page_parts.h. */
#include "report/page_parts.h"

#include <stdlib.h>

#include "report/clean.h"
#include "report/page_style.h"

void page_head(FILE *f, const char *title)
{
    fprintf(f, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
               "base-uri 'none'; form-action 'none'\">\n"
               "<meta name=\"referrer\" content=\"no-referrer\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    clean_html(f, title);
    fprintf(f, " - report</title>\n<style>\n%s</style>\n</head>\n<body>\n", page_style);
}

void page_foot(FILE *f, const char *version, const char *about)
{
    fprintf(f, "<footer>Page made by version ");
    clean_html(f, version);
    fprintf(f, ". %s</footer>\n</body>\n</html>\n", about);
}

void page_number(FILE *f, const json_t *value, const char *path, const char *text)
{
    char *digits = json_dumps(value, JSON_ENCODE_ANY);
    fprintf(f, "<span data-value=\"%s\" data-path=\"%s\">%s</span>", digits ? digits : "", path, text);
    free(digits);
}
