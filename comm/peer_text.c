/* comm/peer_text.c - see peer_text.h. */
#include "comm/peer_text.h"

#include <stdint.h>
#include <string.h>

/* Decodes one character of n bytes; returns its length, or 0 if it is no UTF-8 (too long a form, a surrogate). */
static int decode(const unsigned char *s, uint32_t *c)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    *c = length == 1 ? s[0] : length ? s[0] & (0x7fu >> length) : 0;
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) /* the text's end is no such byte either */
            return 0;
        *c = *c << 6 | (s[i] & 0x3f);
    }
    return *c < least[length] || (*c >= 0xd800 && *c < 0xe000) || *c > 0x10ffff ? 0 : length;
}

static int harmless(uint32_t c)
{
    if (c < 0x20 || (c >= 0x7f && c < 0xa0))
        return 0;
    return !(c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
             (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || c >= 0xe0000);
}

void peer_text_clean(char *out, size_t size, const char *text)
{
    size_t used = 0;
    for (const unsigned char *s = (const unsigned char *)(text ? text : ""); *s;) {
        uint32_t c;
        int length = decode(s, &c);
        int keep = length ? harmless(c) : 1;
        int bytes = length ? length : 1;
        if (keep && used + (size_t)bytes + 1 > size)
            break;
        if (keep) {
            memcpy(out + used, length ? (const char *)s : "?", (size_t)bytes);
            used += (size_t)bytes;
        }
        s += bytes;
    }
    out[used] = '\0';
}
