/*
 * model/data_source.h - where tokens come from: the readers and the generator behind data_open().
 *
 * Private to model/data*.c. Each fills data->V, n, token (and symbol) of a zeroed struct data whose format
 * and path are set; on failure data_fini() frees what is there. Readers get a file that is open and rewound.
 */
#ifndef MODEL_DATA_SOURCE_H
#define MODEL_DATA_SOURCE_H

#include "model/data.h"
#include "model/infile.h"

/* llm.c's by its magic, else nanoGPT's by the name's ending, else text. Reads the first bytes and rewinds. */
int data_detect(struct infile *in, enum data_format *format, struct err *e);

/* data->format DATA_NANOGPT or DATA_LLMC; ids are checked against spec->V, which becomes data->V. */
int data_read_tokens(struct data *data, struct infile *in, const struct model_spec *spec, struct err *e);

/* UTF-8 as it is: no newline is translated, a byte order mark is a character. */
int data_read_text(struct data *data, struct infile *in, struct err *e);

/* V ids; V = 65 is text in the 65 characters of tiny Shakespeare. A function of (V, seed) alone. */
int data_make_builtin(struct data *data, int V, uint64_t seed, struct err *e);

/* Is there room for that, and is this machine large enough? Overcommit would grant more than there is, and the kernel would end the
 * process later without a word. ERR_MEMORY with the size. */
int data_check_room(const struct data *data, const char *path, uint64_t bytes, struct err *e);

/* malloc; NULL: ERR_MEMORY with the size. bytes 0 gives a pointer too. */
void *data_alloc(const char *path, uint64_t bytes, struct err *e);

#endif
