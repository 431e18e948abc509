/* probe/cpu.c - see cpu.h. Nothing else includes libcpuid.h. Start at cpu_read(). */
#include "probe/cpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ERR_OK libcpuid_err_ok /* one name that libcpuid's error list and ours share */
#include <libcpuid/libcpuid.h>
#undef ERR_OK

const char *const cpu_isa_name[CPU_ISAS] = {
    [ISA_AVX] = "avx",
    [ISA_F16C] = "f16c",
    [ISA_FMA] = "fma",
    [ISA_AVX2] = "avx2",
    [ISA_AVX_VNNI] = "avx_vnni",
    [ISA_AVX512F] = "avx512f",
    [ISA_AVX512DQ] = "avx512dq",
    [ISA_AVX512BW] = "avx512bw",
    [ISA_AVX512VL] = "avx512vl",
    [ISA_AVX512_VNNI] = "avx512_vnni",
    [ISA_AVX512_BF16] = "avx512_bf16",
    [ISA_AVX512_FP16] = "avx512_fp16",
    [ISA_AMX_TILE] = "amx_tile",
    [ISA_AMX_BF16] = "amx_bf16",
    [ISA_AMX_INT8] = "amx_int8",
};

/* Copies text with runs of white space as one blank and none at the ends. */
static void squeeze(char *to, size_t size, const char *text)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++) {
        if (!isspace((unsigned char)*text))
            to[n++] = *text;
        else if (n > 0 && to[n - 1] != ' ')
            to[n++] = ' ';
    }
    while (n > 0 && to[n - 1] == ' ')
        n--;
    to[n] = '\0';
}

static void parse_flags(struct cpu *cpu, char *flags)
{
    char *rest;
    cpu->isa_known = true;
    cpu->hypervisor = 0;
    for (char *word = strtok_r(flags, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
        if (strcmp(word, "hypervisor") == 0)
            cpu->hypervisor = 1;
        for (int i = 0; i < CPU_ISAS; i++)
            if (strcmp(word, cpu_isa_name[i]) == 0)
                cpu->isa[i] = true;
    }
}

/* Arm, POWER and others use other words for the name; the first line that has one wins. */
static const char *const name_keys[] = {"model name", "Processor", "cpu model", "cpu", "Hardware"};

void cpu_parse_cpuinfo(struct cpu *cpu, FILE *f)
{
    char *line = NULL, *flags = NULL;
    size_t room = 0;
    int rank = 100; /* of the name found so far */
    while (getline(&line, &room, f) > 0) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        char key[32];
        *colon = '\0';
        squeeze(key, sizeof key, line);
        const char *value = colon + 1;
        for (int i = 0; i < (int)(sizeof name_keys / sizeof *name_keys); i++)
            if (i < rank && strcmp(key, name_keys[i]) == 0) {
                squeeze(cpu->name, sizeof cpu->name, value);
                rank = i;
            }
        if (!*cpu->vendor && strcmp(key, "vendor_id") == 0)
            squeeze(cpu->vendor, sizeof cpu->vendor, value);
        else if (cpu->family < 0 && strcmp(key, "cpu family") == 0)
            cpu->family = atoi(value);
        else if (cpu->model < 0 && strcmp(key, "model") == 0)
            cpu->model = atoi(value);
        else if (cpu->stepping < 0 && strcmp(key, "stepping") == 0)
            cpu->stepping = atoi(value);
        else if (!flags && strcmp(key, "flags") == 0)
            flags = strdup(value);
        if (flags && rank == 0 && cpu->stepping >= 0)
            break; /* an x86 block is complete; servers have hundreds of them */
    }
    if (flags)
        parse_flags(cpu, flags);
    if (*cpu->name || flags)
        strcpy(cpu->source, "proc/cpuinfo");
    free(flags);
    free(line);
}

void cpu_clear(struct cpu *cpu)
{
    memset(cpu, 0, sizeof *cpu);
    cpu->family = cpu->model = cpu->stepping = cpu->hypervisor = -1;
}

#ifdef __x86_64__
enum { XCR0_AVX = 0x6, XCR0_AVX512 = 0xe6, XCR0_AMX = 0x60000 }; /* register sets the system saves */

/* Where CPUID says what (Intel SDM volume 2A, CPUID; AMD uses the same bits). */
static const struct {
    unsigned leaf, subleaf;
    int reg, bit;
    unsigned xcr0;
} isa_bits[CPU_ISAS] = {
    [ISA_AVX] = {1, 0, ECX, 28, XCR0_AVX},           [ISA_F16C] = {1, 0, ECX, 29, XCR0_AVX},
    [ISA_FMA] = {1, 0, ECX, 12, XCR0_AVX},           [ISA_AVX2] = {7, 0, EBX, 5, XCR0_AVX},
    [ISA_AVX_VNNI] = {7, 1, EAX, 4, XCR0_AVX},       [ISA_AVX512F] = {7, 0, EBX, 16, XCR0_AVX512},
    [ISA_AVX512DQ] = {7, 0, EBX, 17, XCR0_AVX512},   [ISA_AVX512BW] = {7, 0, EBX, 30, XCR0_AVX512},
    [ISA_AVX512VL] = {7, 0, EBX, 31, XCR0_AVX512},   [ISA_AVX512_VNNI] = {7, 0, ECX, 11, XCR0_AVX512},
    [ISA_AVX512_BF16] = {7, 1, EAX, 5, XCR0_AVX512}, [ISA_AVX512_FP16] = {7, 0, EDX, 23, XCR0_AVX512},
    [ISA_AMX_TILE] = {7, 0, EDX, 24, XCR0_AMX},      [ISA_AMX_BF16] = {7, 0, EDX, 22, XCR0_AMX},
    [ISA_AMX_INT8] = {7, 0, EDX, 25, XCR0_AMX},
};

static unsigned saved_registers(void)
{
    unsigned regs[4] = {1, 0, 0, 0}, low, high;
    cpu_exec_cpuid_ext(regs);
    if (!(regs[ECX] >> 27 & 1)) /* OSXSAVE: the system uses XSAVE at all */
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void read_isa(struct cpu *cpu)
{
    unsigned top[4] = {0, 0, 0, 0}, sub[4] = {7, 0, 0, 0}, saved = saved_registers();
    cpu_exec_cpuid_ext(top);
    if (top[EAX] >= 7)
        cpu_exec_cpuid_ext(sub); /* EAX: highest subleaf of 7 */
    for (int i = 0; i < CPU_ISAS; i++) {
        unsigned regs[4] = {isa_bits[i].leaf, 0, isa_bits[i].subleaf, 0};
        if (isa_bits[i].leaf > top[EAX] || (isa_bits[i].leaf == 7 && isa_bits[i].subleaf > sub[EAX]))
            continue;
        cpu_exec_cpuid_ext(regs);
        cpu->isa[i] = (regs[isa_bits[i].reg] >> isa_bits[i].bit & 1) && (saved & isa_bits[i].xcr0) == isa_bits[i].xcr0;
    }
    cpu->isa_known = true;
}

static void silent(const char *message)
{
    (void)message;
}

static const char *hypervisor_name(hypervisor_vendor_t vendor)
{
    static const char *const names[] = {
        [HYPERVISOR_BHYVE] = "bhyve",         [HYPERVISOR_HYPERV] = "Hyper-V", [HYPERVISOR_KVM] = "KVM",
        [HYPERVISOR_PARALLELS] = "Parallels", [HYPERVISOR_QEMU] = "QEMU",      [HYPERVISOR_VIRTUALBOX] = "VirtualBox",
        [HYPERVISOR_VMWARE] = "VMware",       [HYPERVISOR_XEN] = "Xen",
    };
    return vendor > HYPERVISOR_NONE && vendor < NUM_HYPERVISOR_VENDORS ? names[vendor] : "";
}

static void read_cpuid(struct cpu *cpu)
{
    struct cpu_raw_data_t raw;
    struct cpu_id_t id;
    cpuid_set_warn_function(silent);
    if (!cpuid_present() || cpuid_get_raw_data(&raw) != 0 || cpu_identify(&raw, &id) != 0)
        return;
    squeeze(cpu->name, sizeof cpu->name, id.brand_str);
    squeeze(cpu->vendor, sizeof cpu->vendor, id.vendor_str);
    cpu->family = id.ext_family;
    cpu->model = id.ext_model;
    cpu->stepping = id.stepping;
    cpu->hypervisor = id.flags[CPU_FEATURE_HYPERVISOR] != 0;
    if (cpu->hypervisor)
        strcpy(cpu->hypervisor_name, hypervisor_name(cpuid_get_hypervisor(&raw, &id)));
    cpu->hint_cores = id.num_cores > 0 ? id.num_cores : 0;
    cpu->hint_threads = id.num_logical_cpus > 0 ? id.num_logical_cpus : 0;
    strcpy(cpu->source, "CPUID");
    read_isa(cpu);
}
#else
static void read_cpuid(struct cpu *cpu)
{
    (void)cpu;
}
#endif

void cpu_read(struct cpu *cpu, const struct sysroot *root)
{
    cpu_clear(cpu);
    if (root->live)
        read_cpuid(cpu);
    if (*cpu->name)
        return;
    FILE *f = sysroot_fopen(root, "proc/cpuinfo");
    if (!f)
        return;
    cpu_clear(cpu);
    cpu_parse_cpuinfo(cpu, f);
    fclose(f);
}
