/*
 * tests/json_at.c - json_at FILE PATH prints the value at PATH ("summary.step_s.median", "nodes.0.name").
 *
 * For shell tests: FILE must hold exactly one strict JSON document. Strings are printed bare, other values as
 * JSON, arrays and objects as their size. 0 found, 1 no such member, 2 no JSON.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static void show(const json_t *value)
{
    if (json_is_string(value)) {
        puts(json_string_value(value));
    } else if (json_is_array(value) || json_is_object(value)) {
        printf("%zu\n", json_is_array(value) ? json_array_size(value) : json_object_size(value));
    } else {
        json_dumpf(value, stdout, JSON_ENCODE_ANY);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    json_error_t e;
    if (argc != 3)
        return 64;
    json_t *root = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &e), *value = root;
    if (!root) {
        fprintf(stderr, "%s:%d: %s\n", argv[1], e.line, e.text);
        return 2;
    }
    for (char *key = strtok(argv[2], "."); key && value; key = strtok(NULL, "."))
        value = json_is_array(value) && isdigit((unsigned char)*key) ? json_array_get(value, strtoul(key, NULL, 10))
                                                                     : json_object_get(value, key);
    if (value)
        show(value);
    int found = value != NULL;
    json_decref(root);
    return !found;
}
