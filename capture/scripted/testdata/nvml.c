// A libnvidia-ml that answers by a scenario file; scripted.go says what stands in one.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GPUS = 16, SERIES = 23, PROCS = 16, MIGS = 16 };

static const char *series_names[SERIES] = {"util", "mem_util", "mem_used", "power", "energy", "sm_clock", "mem_clock", "throttle", "temperature",
	"mem_temperature", "ecc_corrected", "ecc_uncorrected", "retired", "sm_active", "nvlink_rx", "nvlink_tx", "pcie_rx", "pcie_tx",
	"tensor_active", "dram_active", "power_violation", "thermal_violation", "link_errors"};
enum { UTIL, MEM_UTIL, MEM_USED, POWER, ENERGY, SM_CLOCK, MEM_CLOCK, THROTTLE, TEMPERATURE, MEM_TEMPERATURE, ECC_C, ECC_U, RETIRED, SM_ACTIVE,
	NVLINK_RX, NVLINK_TX, PCIE_RX, PCIE_TX, TENSOR_ACTIVE, DRAM_ACTIVE, POWER_VIOLATION, THERMAL_VIOLATION, LINK_ERRORS };

struct curve { char kind; double a, b, c; }; // kind 0: not set

struct gpu {
	int index, instances, nprocs, unsupported[SERIES], failing[SERIES];
	struct curve curves[SERIES];
	nvmlProcessInfo_t procs[PROCS];
	double hang_after, hang_for, lost_after, xid_after;
	int xid_told, no_events;
	unsigned long long xid;
	struct gpu *whole; // of a MIG device, which the rest here is of: its GPU
	int gi, ci, computes, sms;
	char profile[16];
	long long mib;
	double from, until; // it is there
};

// The header of go-nvml has handles as structs of one pointer, which are passed as the pointer is.
#define OF(d) ((struct gpu *)(d).handle)

static struct gpu gpus[GPUS];
static struct gpu instances[GPUS][MIGS];
static int ngpus, nlinks;
static char name[96] = "NVIDIA Scripted 80GB", driver[80] = "550.54.15", vbios[32] = "96.00.61.00.01";
static double began, dead_after;

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int series_of(const char *word) {
	for (int i = 0; i < SERIES; i++)
		if (!strcmp(series_names[i], word)) return i;
	fprintf(stderr, "scenario: no series %s\n", word);
	exit(97);
}

static void set(const char *which, const char *series, const char *rest) {
	struct curve c = {0};
	char kind[16] = "";
	int s = series_of(series);
	sscanf(rest, "%15s %lf %lf %lf", kind, &c.a, &c.b, &c.c);
	c.kind = !strcmp(kind, "const") ? 'c' : !strcmp(kind, "ramp") ? 'r' : !strcmp(kind, "sine") ? 's' : !strcmp(kind, "square") ? 'q' : 'n';
	const char *part = strchr(which, '/');
	for (int i = 0; i < GPUS; i++) {
		if (*which != '*' && atoi(which) != i) continue;
		if (!part) gpus[i].curves[s] = c;
		for (int m = 0; part && m < gpus[i].instances; m++)
			if (instances[i][m].gi == atoi(part + 1)) instances[i][m].curves[s] = c;
	}
}

// instance adds the MIG devices of a GPU instance, one for each of its compute instances.
static void instance(int gpu, int gi, const char *profile, long long mib, int sms, int computes, double from, double until) {
	struct gpu *g = &gpus[gpu];
	for (int ci = 0; ci < computes && g->instances < MIGS; ci++) {
		struct gpu *m = &instances[gpu][g->instances];
		m->whole = g, m->gi = gi, m->ci = ci, m->computes = computes, m->mib = mib, m->sms = sms, m->from = from, m->until = until;
		m->index = 100 * (gpu + 1) + g->instances++;
		m->hang_after = m->lost_after = m->xid_after = -1;
		snprintf(m->profile, sizeof m->profile, "%s", profile);
	}
}

static void fault(const char *which, const char *kind, const char *rest) {
	for (int i = 0; i < GPUS; i++) {
		struct gpu *g = &gpus[i];
		if (*which != '*' && atoi(which) != i) continue;
		const char *part = strchr(which, '/');
		for (int m = 0; part && m < g->instances; m++)
			if (instances[i][m].gi == atoi(part + 1)) {
				char series[32] = "";
				sscanf(rest, "%31s", series);
				if (!strcmp(kind, "failing")) instances[i][m].failing[series_of(series)] = 1;
				else instances[i][m].unsupported[series_of(series)] = 1;
			}
		if (part) continue;
		if (!strcmp(kind, "hang")) sscanf(rest, "%lf %lf", &g->hang_after, &g->hang_for);
		else if (!strcmp(kind, "lost")) sscanf(rest, "%lf", &g->lost_after);
		else if (!strcmp(kind, "xid")) sscanf(rest, "%lf %llu", &g->xid_after, &g->xid);
		else {
			char series[32] = "";
			sscanf(rest, "%31s", series);
			if (!strcmp(series, "xid")) g->no_events = 1;
			else if (!strcmp(kind, "failing")) g->failing[series_of(series)] = 1;
			else g->unsupported[series_of(series)] = 1;
		}
	}
}

static void statement(char *line) {
	char verb[32] = "", a[32] = "", b[32] = "", *rest;
	line[strcspn(line, "#\n")] = 0;
	if (sscanf(line, "%31s", verb) != 1) return;
	rest = strstr(line, verb) + strlen(verb);
	while (*rest == ' ') rest++;
	int used = 0;
	sscanf(rest, "%31s %31s %n", a, b, &used);
	if (!strcmp(verb, "gpus")) ngpus = atoi(rest) < GPUS ? atoi(rest) : GPUS;
	else if (!strcmp(verb, "links")) nlinks = atoi(rest);
	else if (!strcmp(verb, "name")) snprintf(name, sizeof name, "%s", rest);
	else if (!strcmp(verb, "driver")) snprintf(driver, sizeof driver, "%s", rest);
	else if (!strcmp(verb, "vbios")) snprintf(vbios, sizeof vbios, "%s", rest);
	else if (!strcmp(verb, "dead")) dead_after = atof(rest);
	else if (!strcmp(verb, "mig")) for (int i = 0; i < atoi(b); i++) instance(atoi(a), i + 1, "1g.10gb", 9856, 16, 1, 0, 1e18);
	else if (!strcmp(verb, "instance")) {
		char profile[16] = "";
		long long mib = 0;
		int sms = 0, computes = 1;
		double from = 0, until = 1e18;
		sscanf(rest + used, "%15s %lld %d %d %lf %lf", profile, &mib, &sms, &computes, &from, &until);
		instance(atoi(a), atoi(b), profile, mib, sms, computes, from, until);
	}
	else if (!strcmp(verb, "set")) set(a, b, rest + used);
	else if (!strcmp(verb, "fault")) fault(a, b, rest + used);
	else if (!strcmp(verb, "process")) {
		struct gpu *g = &gpus[atoi(a)];
		if (g->nprocs < PROCS) {
			long long bytes = 0;
			int instance = -1;
			sscanf(rest + used, "%lld %d", &bytes, &instance);
			g->procs[g->nprocs].pid = atoi(b);
			g->procs[g->nprocs].usedGpuMemory = bytes;
			g->procs[g->nprocs].gpuInstanceId = instance;
			g->procs[g->nprocs++].computeInstanceId = instance < 0 ? instance : 0;
		}
	} else {
		fprintf(stderr, "scenario: no statement %s\n", verb);
		exit(97);
	}
}

static nvmlReturn_t start(void) {
	char line[512];
	const char *path = getenv("ORRERY_NVML_SCENARIO");
	FILE *f = path ? fopen(path, "r") : NULL;
	memset(gpus, 0, sizeof gpus);
	memset(instances, 0, sizeof instances);
	for (int i = 0; i < GPUS; i++) gpus[i].index = i, gpus[i].hang_after = gpus[i].lost_after = gpus[i].xid_after = -1;
	ngpus = 0, dead_after = -1;
	if (!f) return NVML_ERROR_DRIVER_NOT_LOADED;
	while (fgets(line, sizeof line, f)) statement(line);
	fclose(f);
	began = now();
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void) { return start(); }
nvmlReturn_t nvmlInit(void) { return start(); }
nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t r) { return "scripted"; }

static nvmlReturn_t text(char *out, unsigned length, const char *in) {
	snprintf(out, length, "%s", in);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *v, unsigned n) { return text(v, n, driver); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *v, unsigned n) { return text(v, n, "12.550.54"); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *n) { return *n = ngpus, NVML_SUCCESS; }
// ready is what every call on a GPU asks first.
static nvmlReturn_t ready(nvmlDevice_t d) {
	struct gpu *g = OF(d);
	if (dead_after >= 0 && now() - began >= dead_after) return NVML_ERROR_UNKNOWN;
	if (g->whole && (now() - began < g->from || now() - began >= g->until)) return NVML_ERROR_INVALID_ARGUMENT; // the handle is of one that is gone
	if (g->whole) g = g->whole;
	return g->lost_after >= 0 && now() - began >= g->lost_after ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *d) {
	if (i >= (unsigned)ngpus) return NVML_ERROR_INVALID_ARGUMENT;
	d->handle = (void *)&gpus[i];
	return ready(*d) == NVML_ERROR_GPU_IS_LOST ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

static nvmlReturn_t value(nvmlDevice_t d, int series, double *v) {
	struct gpu *g = OF(d);
	struct curve c = g->curves[series];
	double t = now() - began;
	nvmlReturn_t r = ready(d);
	if (r) return r;
	if (g->unsupported[series] || !c.kind) return NVML_ERROR_NOT_SUPPORTED;
	if (g->failing[series]) return NVML_ERROR_UNKNOWN;
	switch (c.kind) {
	case 'c': *v = c.a; break;
	case 'r': *v = c.a + (c.b - c.a) * fmin(1, t / c.c); break;
	case 's': *v = c.a + c.b * sin(2 * M_PI * t / c.c); break;
	case 'q': *v = fmod(t, c.c) < c.c / 2 ? c.a : c.b; break;
	default: *v = c.a + c.b * t; if (c.c > 0) *v = fmod(*v, c.c);
	}
	return NVML_SUCCESS;
}

#define ANSWER(series, out, type) do { double v_; nvmlReturn_t r_ = value(d, series, &v_); if (!r_) *(out) = (type)v_; return r_; } while (0)

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *mw) {
	struct gpu *g = OF(d);
	double left = g->hang_after + g->hang_for - (now() - began);
	if (g->hang_after >= 0 && left > 0 && left <= g->hang_for) usleep((useconds_t)(left * 1e6));
	ANSWER(POWER, mw, unsigned);
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *mj) { ANSWER(ENERGY, mj, unsigned long long); }
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, nvmlClockType_t c, unsigned *mhz) { ANSWER(c == NVML_CLOCK_MEM ? MEM_CLOCK : SM_CLOCK, mhz, unsigned); }
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *bits) { ANSWER(THROTTLE, bits, unsigned long long); }
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *bits) { ANSWER(THROTTLE, bits, unsigned long long); }
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t s, unsigned *c) { ANSWER(TEMPERATURE, c, unsigned); }
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t e, nvmlEccCounterType_t k, unsigned long long *n) {
	ANSWER(e == NVML_MEMORY_ERROR_TYPE_CORRECTED ? ECC_C : ECC_U, n, unsigned long long);
}
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t d, nvmlPerfPolicyType_t p, nvmlViolationTime_t *v) {
	v->referenceTime = (unsigned long long)(now() * 1e6);
	if (p != NVML_PERF_POLICY_POWER && p != NVML_PERF_POLICY_THERMAL) return NVML_ERROR_NOT_SUPPORTED;
	ANSWER(p == NVML_PERF_POLICY_POWER ? POWER_VIOLATION : THERMAL_VIOLATION, &v->violationTime, unsigned long long);
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u) {
	double sm, mem;
	nvmlReturn_t r = value(d, UTIL, &sm);
	if (!r) r = value(d, MEM_UTIL, &mem);
	if (!r) u->gpu = (unsigned)sm, u->memory = (unsigned)mem;
	return r;
}
enum { RESERVED = 503316480 };
// total is the memory of a GPU, or of a GPU instance.
static unsigned long long total(nvmlDevice_t d) { return OF(d)->whole ? (unsigned long long)OF(d)->mib << 20 : 85899345920ull; }
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m) {
	double used;
	nvmlReturn_t r = value(d, MEM_USED, &used);
	// With what the driver reserves, as the real call.
	if (!r) m->total = total(d), m->used = (unsigned long long)used + (OF(d)->whole ? 0 : RESERVED), m->free = m->total - m->used;
	return r;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m) {
	double used;
	if (m->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	nvmlReturn_t r = value(d, MEM_USED, &used);
	if (!r) m->total = total(d), m->reserved = OF(d)->whole ? 0 : RESERVED, m->used = (unsigned long long)used, m->free = m->total - m->used - m->reserved;
	return r;
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
	*uncorrected = *pending = *failed = 0;
	ANSWER(RETIRED, corrected, unsigned);
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *f) {
	nvmlReturn_t r = ready(d);
	for (int i = 0; !r && i < n; i++) {
		double v;
		unsigned id = f[i].fieldId;
		int s = id == NVML_FI_DEV_MEMORY_TEMP ? MEM_TEMPERATURE : id == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX ? NVLINK_TX :
			id == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX ? NVLINK_RX : id == NVML_FI_DEV_PCIE_COUNT_TX_BYTES ? PCIE_TX :
			id == NVML_FI_DEV_PCIE_COUNT_RX_BYTES ? PCIE_RX :
			// Of the four counters of errors the last has twice as many.
			id == NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL || id == NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL ||
			id == NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL || id == NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL ? LINK_ERRORS : -1;
		f[i].nvmlReturn = s < 0 ? NVML_ERROR_NOT_SUPPORTED : value(d, s, &v);
		if (f[i].nvmlReturn) continue;
		if (id == NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL) v *= 2;
		f[i].valueType = s == MEM_TEMPERATURE ? NVML_VALUE_TYPE_UNSIGNED_INT : NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
		if (s == MEM_TEMPERATURE) f[i].value.uiVal = (unsigned)v;
		else f[i].value.ullVal = (unsigned long long)v;
	}
	return r;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *out) {
	struct gpu *g = OF(d);
	nvmlReturn_t r = ready(d);
	if (r) return r;
	struct gpu *of = g->whole ? g->whole : g;
	unsigned room = *n, found = 0;
	for (int i = 0; i < of->nprocs; i++) {
		nvmlProcessInfo_t *p = &of->procs[i];
		if (g->whole && (p->gpuInstanceId != (unsigned)g->gi || p->computeInstanceId != (unsigned)g->ci)) continue;
		if (found < room) out[found] = *p;
		found++;
	}
	*n = found;
	return found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

struct sample { nvmlDevice_t d; double at; };
nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *s) { return s->handle = calloc(1, sizeof(struct sample)), NVML_SUCCESS; }
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t s) { return free(s.handle), NVML_SUCCESS; }
nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t d, nvmlGpmSample_t s) {
	struct sample *p = (struct sample *)s.handle;
	struct gpu *g = OF(d);
	p->d = d, p->at = now();
	nvmlReturn_t r = ready(d);
	return !r && (g->unsupported[SM_ACTIVE] || !g->curves[SM_ACTIVE].kind) ? NVML_ERROR_NOT_SUPPORTED : r;
}
nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t d, unsigned gi, nvmlGpmSample_t s) {
	struct gpu *g = OF(d);
	for (int i = 0; i < g->instances; i++) {
		nvmlDevice_t m = {(void *)&instances[g->index][i]};
		if (OF(m)->gi == (int)gi && ready(m) == NVML_SUCCESS) return nvmlGpmSampleGet(m, s);
	}
	return NVML_ERROR_INVALID_ARGUMENT;
}
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *g) {
	struct sample *one = (struct sample *)g->sample1.handle, *two = (struct sample *)g->sample2.handle;
	if (!one->d.handle || one->d.handle != two->d.handle || two->at <= one->at) return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < g->numMetrics; i++) {
		unsigned id = g->metrics[i].metricId;
		int s = id == NVML_GPM_METRIC_SM_UTIL ? SM_ACTIVE : id == NVML_GPM_METRIC_ANY_TENSOR_UTIL ? TENSOR_ACTIVE : id == NVML_GPM_METRIC_DRAM_BW_UTIL ? DRAM_ACTIVE : -1;
		g->metrics[i].nvmlReturn = s < 0 ? NVML_ERROR_NOT_SUPPORTED : value(two->d, s, &g->metrics[i].value);
	}
	return NVML_SUCCESS;
}

struct set { nvmlDevice_t d; };
static int sets; // that are not freed
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *s) {
	if (sets == GPUS) return NVML_ERROR_INSUFFICIENT_RESOURCES;
	return sets++, s->handle = calloc(1, sizeof(struct set)), NVML_SUCCESS;
}
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t s) { return sets--, free(s.handle), NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, nvmlEventSet_t s) {
	if (OF(d)->no_events) return NVML_ERROR_NOT_SUPPORTED;
	return ((struct set *)s.handle)->d = d, NVML_SUCCESS;
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t s, nvmlEventData_t *e, unsigned ms) {
	struct gpu *g = OF(((struct set *)s.handle)->d);
	if (!g || g->xid_after < 0 || g->xid_told || now() - began < g->xid_after) return NVML_ERROR_TIMEOUT;
	g->xid_told = 1;
	e->device = ((struct set *)s.handle)->d, e->eventType = nvmlEventTypeXidCriticalError, e->eventData = g->xid;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *out, unsigned n) {
	struct gpu *g = OF(d);
	char full[160];
	if (!g->whole) return text(out, n, name);
	snprintf(full, sizeof full, g->computes > 1 ? "%s MIG 1c.%s" : "%s MIG %s", name, g->profile);
	return text(out, n, full);
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *out, unsigned n) {
	char uuid[80];
	snprintf(uuid, sizeof uuid, OF(d)->whole ? "MIG-00000000-0000-4000-8000-%012d" : "GPU-00000000-0000-4000-8000-%012d", OF(d)->index);
	return text(out, n, uuid);
}
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t d, char *out, unsigned n) { return text(out, n, "1650000000001"); }
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t d, char *out, unsigned n) { return text(out, n, vbios); }
nvmlReturn_t nvmlDeviceGetInforomImageVersion(nvmlDevice_t d, char *out, unsigned n) { return text(out, n, "G520.0200.00.05"); }
nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t d, char *out) { return text(out, 64, driver); }
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *p) {
	memset(p, 0, sizeof *p);
	p->bus = 0x10 + OF(d)->index;
	snprintf(p->busId, sizeof p->busId, "%08X:%02X:00.0", 0, p->bus);
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *current, unsigned *pending) {
	return *current = *pending = OF(d)->instances > 0, NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned *n) { return *n = MIGS, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned i, nvmlDevice_t *out) {
	struct gpu *g = OF(d);
	if ((int)i >= g->instances) return NVML_ERROR_NOT_FOUND;
	out->handle = (void *)&instances[g->index][i];
	return ready(*out) == NVML_ERROR_INVALID_ARGUMENT ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, unsigned *id) { return OF(d)->whole ? (*id = OF(d)->gi, ready(d)) : NVML_ERROR_INVALID_ARGUMENT; }
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t d, unsigned *id) { return OF(d)->whole ? (*id = OF(d)->ci, ready(d)) : NVML_ERROR_INVALID_ARGUMENT; }
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t d, nvmlDeviceAttributes_t *a) {
	struct gpu *g = OF(d);
	memset(a, 0, sizeof *a);
	if (!g->whole) return NVML_ERROR_INVALID_ARGUMENT;
	a->multiprocessorCount = g->sms / g->computes, a->memorySizeMB = g->mib;
	a->gpuInstanceSliceCount = atoi(g->profile), a->computeInstanceSliceCount = a->gpuInstanceSliceCount / g->computes;
	return ready(d);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t d, unsigned *low, unsigned *high) { return *low = 200000, *high = 700000, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t d, unsigned *mw) { return *mw = 700000, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *mw) { return *mw = 650000, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, nvmlClockType_t c, unsigned *mhz) { return *mhz = c == NVML_CLOCK_MEM ? 2619 : 1980, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t d, nvmlClockType_t c, nvmlClockId_t id, unsigned *mhz) {
	if (c != NVML_CLOCK_SM || id != NVML_CLOCK_ID_APP_CLOCK_TARGET) return NVML_ERROR_NOT_SUPPORTED;
	return *mhz = 1755, NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned *v) { return *v = 5, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned *v) { return *v = 16, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned *v) { return *v = 5, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned *v) { return *v = 16, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t d, nvmlEnableState_t *current, nvmlEnableState_t *pending) { return *current = *pending = 1, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t d, nvmlTemperatureThresholds_t k, unsigned *v) {
	return *v = k == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN ? 87 : 92, NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned link, nvmlEnableState_t *on) {
	if ((int)link >= nlinks) return NVML_ERROR_INVALID_ARGUMENT;
	return *on = 1, NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t d, unsigned link, unsigned *v) { return *v = 4, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t d, unsigned link, nvmlIntNvLinkDeviceType_t *k) {
	return *k = link ? NVML_NVLINK_DEVICE_TYPE_SWITCH : NVML_NVLINK_DEVICE_TYPE_GPU, NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d, unsigned link, nvmlPciInfo_t *p) {
	struct gpu *g = OF(d);
	memset(p, 0, sizeof *p);
	snprintf(p->busId, sizeof p->busId, "%08X:%02X:00.0", 0, link ? 0x80 + link : 0x10 + (g->index + 1) % ngpus);
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t d, nvmlGpuFabricInfo_t *f) {
	memset(f, 0, sizeof *f);
	f->state = nlinks > 1 ? NVML_GPU_FABRIC_STATE_COMPLETED : NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
	f->cliqueId = 1;
	return NVML_SUCCESS;
}
