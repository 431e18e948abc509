/*
 * model/checkpoint.h - parameters from and to llm.c's gpt2_124M.bin layout.
 *
 * 256 int32 of header: magic 20240326, version 3 (fp32), context, V, L, NH, C, padded V (a multiple of
 * 128; rows past V are dropped on loading and written as zeros); then wte, wpe and each kind of tensor
 * for all layers together (ln1w, ln1b, qkvw, qkvb, attprojw, attprojb, ln2w, ln2b, fcw, fcb, fcprojw,
 * fcprojb, lnfw, lnfb). Little-endian. Models without biases write zeros and, on loading, demand zeros.
 * A model that is no GPT has no such file: ERR_USAGE from each of these.
 */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include "base/err.h"
#include "model/spec.h"

/* Reads the header only, and checks it and the file's size against spec: 66 missing, 65 anything wrong,
 * each sentence naming the path and both values. To be called before memory is taken. */
int checkpoint_check(const char *path, const struct model_spec *spec, struct err *e);

/* Fills param[layout->params]. Checks first as above; non-finite values are ERR_DATA naming the tensor; a file
 * that changes meanwhile is ERR_IO. After a failure param holds a part of the file. */
int checkpoint_load(const char *path, const struct model_spec *spec, const struct layout *layout, float *param,
                    struct err *e);

/* Could checkpoint_save() create its file? Creates and removes path.tmp-PID. A file of another kind is not replaced (73). To be called before a run whose
 * weights would be lost otherwise. */
int checkpoint_save_check(const char *path, const struct model_spec *spec, struct err *e);

/* Writes path.tmp-PID, syncs, renames: the old file stays whole on any failure (73, 74; see model/outfile.h). */
int checkpoint_save(const char *path, const struct model_spec *spec, const struct layout *layout, const float *param,
                    struct err *e);

#endif
