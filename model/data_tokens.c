/*
 * model/data_tokens.c - token files as nanoGPT and llm.c write them.
 *
 * nanoGPT: uint16 tokens and nothing else. llm.c: 256 int32 (magic, version, count, zeros), then count
 * uint16 tokens. All little-endian. The count is believed only if the file has exactly that size, so no
 * header can ask for more memory than the file itself takes.
 */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "model/data_source.h"

enum { LLMC_MAGIC = 20240520, LLMC_VERSION = 1, LLMC_HEADER_BYTES = 1024 };

int data_detect(struct infile *in, enum data_format *format, struct err *e)
{
    uint32_t magic = 0;
    if (in->bytes >= sizeof magic && infile_read(in, &magic, sizeof magic, e))
        return -1;
    size_t length = strlen(in->path);
    if (le32toh(magic) == LLMC_MAGIC)
        *format = DATA_LLMC;
    else if (length >= 4 && !strcmp(in->path + length - 4, ".bin"))
        *format = DATA_NANOGPT;
    else
        *format = DATA_TEXT;
    return infile_rewind(in, e);
}

/* Reads llm.c's header and checks it against the file; leaves the file at the first token. */
static int read_llmc_header(struct infile *in, uint64_t *n, struct err *e)
{
    uint32_t header[LLMC_HEADER_BYTES / 4];
    if (in->bytes < sizeof header)
        return err_set(e, ERR_DATA, "%s: an llm.c token file has a header of %zu bytes, this file ends after %" PRIu64,
                       in->path, sizeof header, in->bytes);
    if (infile_read(in, header, sizeof header, e))
        return -1;
    uint32_t version = le32toh(header[1]), count = le32toh(header[2]);
    if (version != LLMC_VERSION)
        return err_set(e, ERR_DATA, "%s: llm.c token file of version %" PRIu32 ", this program reads version %d",
                       in->path, version, LLMC_VERSION);
    uint64_t expected = sizeof header + (uint64_t)count * sizeof(uint16_t);
    if (expected != in->bytes)
        return err_set(e, ERR_DATA,
                       "%s: its header announces %" PRIu32 " tokens, which makes %" PRIu64
                       " bytes, but it has %" PRIu64,
                       in->path, count, expected, in->bytes);
    *n = count;
    return 0;
}

int data_read_tokens(struct data *data, struct infile *in, const struct model_spec *spec, struct err *e)
{
    if (data->format == DATA_LLMC) {
        if (read_llmc_header(in, &data->n, e))
            return -1;
    } else {
        if (in->bytes % sizeof(uint16_t))
            return err_set(e, ERR_DATA, "%s: a nanoGPT file is a list of 2-byte tokens, this one has %" PRIu64 " bytes",
                           in->path, in->bytes);
        data->n = in->bytes / sizeof(uint16_t);
    }
    if (data_check_room(data, in->path, in->bytes, e))
        return -1;
    data->token = data_alloc(in->path, data->n * sizeof(uint16_t), e);
    if (!data->token || infile_read(in, data->token, data->n * sizeof(uint16_t), e) || infile_finish(in, e))
        return -1;
    data->V = spec->V;
    for (uint64_t i = 0; i < data->n; i++) {
        data->token[i] = le16toh(data->token[i]);
        if (data->token[i] >= spec->V)
            return err_set(e, ERR_DATA, "%s: token %" PRIu64 " is %d, and %s has the ids 0 to %d", in->path, i,
                           data->token[i], spec->name, spec->V - 1);
    }
    return 0;
}
