/* cli/cmd_doctor.c - what this machine lacks for a good measurement, each with its remedy. See probe/doctor.h. */
#include "config.h" /* _GNU_SOURCE, for open_memstream */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/doctor_host.h"
#include "cli/options.h"
#include "cli/output.h"
#include "probe/doctor.h"
#include "report/clean.h"

static const char purpose[] = "What this machine lacks for a good measurement, and what to do about it.\n\n"
                              "Exit status: 0, or 78 if something makes measuring impossible.\n";

static const char *const verdicts[] = {"ready", "ready", "measuring works; figures suffer from what is marked",
                                       "measuring is impossible until what is marked is mended"};

static void put(FILE *f, const char *text)
{
    clean_put(f, text);
    fputc('\n', f);
}

static char *render(const struct doctor *d, bool colour)
{
    static const char *const marks[] = {"ok", "?", "!", "STOP"};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    for (int i = 0; i < d->n; i++) {
        const struct doctor_finding *one = &d->finding[i];
        bool loud = colour && one->state >= DOCTOR_ATTENTION;
        fprintf(f, "%s%-4s %-14s%s ", loud ? "\033[1m" : "", marks[one->state], one->name, loud ? "\033[0m" : "");
        put(f, one->text);
        if (*one->remedy) {
            fprintf(f, "%20s-> ", "");
            put(f, one->remedy);
        }
    }
    fprintf(f, "\n%s\n", verdicts[doctor_worst(d)]);
    return fclose(f) == 0 ? text : (free(text), NULL);
}

static json_t *document(const struct doctor *d, const struct probe *probe)
{
    json_t *o = output_document(), *list = json_array();
    json_object_set_new(o, "command", json_string("doctor"));
    json_object_set_new(o, "kind", json_string("doctor"));
    json_object_set_new(o, "name", output_string(*probe->name ? probe->name : "recorded machine"));
    json_object_set_new(o, "verdict", json_string(doctor_state_name[doctor_worst(d)]));
    for (int i = 0; i < d->n; i++) {
        const struct doctor_finding *one = &d->finding[i];
        json_t *finding = json_object();
        json_object_set_new(finding, "name", json_string(one->name));
        json_object_set_new(finding, "state", json_string(doctor_state_name[one->state]));
        json_object_set_new(finding, "text", output_string(one->text));
        json_object_set_new(finding, "remedy", *one->remedy ? output_string(one->remedy) : json_null());
        json_array_append_new(list, finding);
    }
    json_object_set_new(o, "findings", list);
    return o;
}

int cmd_doctor(const struct invocation *in)
{
    static struct probe probe;
    static struct doctor doctor;
    static struct blas_choice choice;
    struct options o;
    struct notes notes = {0}, blas_notes = {0};
    struct err e, blas = {ERR_OK, ""};
    if (options_parse(&o, OPTIONS_DOCTOR, in->argc, in->argv, &e))
        return output_fail(in, &e);
    if (o.help || o.version)
        return output_help(in, &o, OPTIONS_DOCTOR, purpose);
    /* First, for it may start the program again. A library that cannot be used is a finding here. */
    int failed = o.sysroot ? 0 : blas_choice_apply(&choice, in->full_argv, &blas_notes, &blas);
    if (probe_read(&probe, o.sysroot, 0, &notes, &e))
        return output_fail(in, &e);
    doctor_examine(&doctor, &probe);
    if (probe.root.live)
        doctor_host_examine(&doctor, &o, &choice, &blas_notes, failed ? blas.text : NULL);
    output_notes(in, &notes);
    int code = doctor_worst(&doctor) == DOCTOR_IMPOSSIBLE ? ERR_CONFIG : ERR_OK;
    char *text = NULL;
    if (o.json)
        code = output_json(in, document(&doctor, &probe), code);
    else if ((text = render(&doctor, output_wants_colour(1))))
        code = output_text(in, text, code);
    else
        code = output_fail(in, &(struct err){ERR_MEMORY, "out of memory"});
    free(text);
    probe_fini(&probe);
    return code;
}
