/* comm/code.c - see code.h. */
#include "comm/code.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"

enum { CHARACTERS = 12, GROUP = 4 };

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* Places i of 12 characters into groups of four with dashes between them. */
static int place(int i)
{
    return i + i / GROUP;
}

int code_init(struct code *code, struct err *e)
{
    unsigned char random[CHARACTERS];
    code_fini(code);
    if (crypto_random(random, sizeof random, e) || crypto_random(code->salt, sizeof code->salt, e))
        return -1;
    char text[CODE_TEXT_BYTES];
    memset(text, '-', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < CHARACTERS; i++)
        text[place(i)] = alphabet[random[i] & 31]; /* 256 is a multiple of 32: no character is likelier */
    crypto_wipe(random, sizeof random);
    int result = code_key(code->key, text, code->salt, e);
    if (result == 0) {
        memcpy(code->text, text, sizeof text);
        code->tries_left = CODE_TRIES;
        code->until_ns = clock_now_ns() + (uint64_t)CODE_MINUTES * 60 * 1000000000u;
    }
    crypto_wipe(text, sizeof text);
    return result;
}

bool code_valid(struct code *code)
{
    if (*code->text && clock_now_ns() >= code->until_ns)
        code_fini(code);
    return *code->text;
}

void code_count_try(struct code *code)
{
    if (*code->text && --code->tries_left <= 0)
        code_fini(code);
}

void code_fini(struct code *code)
{
    crypto_wipe(code, sizeof *code);
}

int code_normalize(char out[static CODE_TEXT_BYTES], const char *typed)
{
    int n = 0;
    memset(out, '-', CODE_TEXT_BYTES - 1);
    out[CODE_TEXT_BYTES - 1] = '\0';
    for (; *typed; typed++) {
        if (*typed == '-' || isspace((unsigned char)*typed))
            continue;
        int c = tolower((unsigned char)*typed);
        c = c == 'o' ? '0' : c == 'i' || c == 'l' ? '1' : c;
        if (!strchr(alphabet, c) || n == CHARACTERS)
            return -1;
        out[place(n++)] = (char)c;
    }
    return n == CHARACTERS ? 0 : -1;
}

int code_key(unsigned char out[static CRYPTO_KEY_BYTES], const char *text,
             const unsigned char salt[static CODE_SALT_BYTES], struct err *e)
{
    return crypto_stretch(out, text, salt, CODE_SALT_BYTES, e);
}
