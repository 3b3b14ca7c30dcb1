package batch

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"orrery/traces"
	"orrery/traces/importer/format"
)

// lsfGPUNames are GPUs among the resources of a host, as LSF names them.
var lsfGPUNames = []string{"ngpus", "ngpus_physical", "ngpus_shared", "ngpus_excl_p", "ngpus_excl_t", "ngpus_excl"}

// gpuOptions are those of -gpu that say how GPUs are used and not which; rusageOptions those of rusage that are no resources.
var gpuOptions, rusageOptions = []string{"mode", "mps", "j_exclusive", "aff", "block", "gpack", "gvendor"}, []string{"duration", "decay"}

// behindLimit finds the requirement that LSF made of all, and the option -gpu, among the fields behind a run limit: which stand
// there depends on the version.
func behindLimit(f []string) (effective, gpu string) {
	for i, text := range f {
		switch {
		case i < 6 && effective == "" && (strings.Contains(text, "select[") || strings.Contains(text, "rusage[") || strings.Contains(text, "span[")):
			effective = text
		case gpu == "" && (strings.HasPrefix(text, "num=") || strings.Contains(text, ":num=")) && !strings.ContainsAny(text, " []"):
			gpu = text
		}
	}
	return effective, gpu
}

// section is the text between the brackets of NAME[...].
func section(text, name string) (inside string, there bool) {
	_, rest, there := strings.Cut(text, name+"[")
	if !there {
		return "", false
	}
	inside, _, _ = strings.Cut(rest, "]")
	return inside, true
}

// gpuRequest is how many GPUs a job asks for.
type gpuRequest struct {
	n    int64
	of   string // "job", "task", "host", or "" where it is not said
	kind string
}

// number takes 4.00, 2/task or 1/host; ok is false for what is no number of GPUs.
func (g *gpuRequest) number(value string) (ok bool) {
	value, of, _ := strings.Cut(strings.TrimSpace(value), "/")
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || !(x >= 0 && x <= format.MostCount) {
		return false
	}
	if n := int64(math.Ceil(x)); n > g.n {
		g.n, g.of = n, of
	}
	return true
}

// rusage takes the GPUs of rusage[ngpus_physical=4.00:mem=100], and names what it does not take.
func (g *gpuRequest) rusage(text string) (left []string, ok bool) {
	if strings.ContainsAny(text, "{}") { // several requirements, for parts of the job or one of which will do
		return []string{"compound"}, true
	}
	inside, _ := section(text, "rusage")
	inside, _, several := strings.Cut(inside, "||")
	if several {
		left = append(left, "rusage ||")
	}
	for _, term := range strings.FieldsFunc(inside, func(r rune) bool { return r == ':' || r == ',' || r == '&' }) {
		name, value, given := strings.Cut(strings.TrimSpace(term), "=")
		switch name = strings.TrimSpace(name); {
		case !given || slices.Contains(rusageOptions, name):
		case !slices.Contains(lsfGPUNames, name):
			left = append(left, "rusage "+name)
		case !g.number(value):
			return left, false
		}
	}
	return left, true
}

// option takes the GPUs of -gpu, num=2:mode=shared:gmodel=V100.
func (g *gpuRequest) option(text string) (left []string, ok bool) {
	for _, term := range strings.Split(text, ":") {
		name, value, _ := strings.Cut(term, "=")
		switch {
		case name == "num":
			if !g.number(value) {
				return left, false
			}
		case name == "gmodel":
			g.kind = value
		case name != "" && !slices.Contains(gpuOptions, name):
			left = append(left, "-gpu "+name)
		}
	}
	return left, true
}

// lsfRequests makes columns of what a job asks for beside its processors, and counts what is left.
func lsfRequests(c *format.Cells, a *format.Account, j *traces.Job, hosts int64) {
	var own, made, want gpuRequest
	own1, ok := own.rusage(c.Raw(lsfResReq))
	if !ok {
		c.Fail(lsfResReq, "numbers of GPUs such as rusage[ngpus_physical=2.00]")
	}
	if _, there := section(c.Raw(lsfResReq), "select"); there {
		own1 = append(own1, "select")
	}
	leftOut(c, a, "resReq", own1)
	asked, ok := want.option(c.Raw(lsfGPU))
	if !ok {
		c.Fail(lsfGPU, "options of -gpu such as num=2:mode=shared")
	}
	leftOut(c, a, "gpuReq", asked)
	queue, ok := made.rusage(c.Raw(lsfEffective))
	if !ok {
		c.Fail(lsfEffective, "numbers of GPUs such as rusage[ngpus_physical=2.00]")
	}
	leftOut(c, a, "effectiveResReq", queue)
	if len(asked)+len(queue) > 0 {
		c.Keep("gpu_req", c.Raw(lsfGPU))
		c.Keep("effective_res_req", c.Raw(lsfEffective))
	}
	if c.Has(lsfAsked) {
		c.Keep("asked_hosts", c.Raw(lsfAsked))
		leftOut(c, a, "askedHosts", []string{"-m"})
	}
	for _, g := range []*gpuRequest{&want, &own, &made} {
		if g.n > 0 {
			g.kind = want.kind
			lsfGPUs(c, a, j, g, hosts)
			return
		}
	}
}

// lsfGPUs writes GPUs over the hosts of a job: those that span says, one for one slot, else those that it ran on.
func lsfGPUs(c *format.Cells, a *format.Account, j *traces.Job, g *gpuRequest, hosts int64) {
	slots := int64(max(j.ProcsRequested.V, 1))
	nodes := lsfNodes(c.Raw(lsfResReq)+" "+c.Raw(lsfEffective), slots)
	if nodes == 0 && hosts > 0 {
		nodes = hosts
		c.Repair("nodes-as-allocated")
	}
	total := g.n * max(nodes, 1)
	switch g.of {
	case "job":
		total = g.n
	case "task":
		total = g.n * slots
	case "":
		a.Assume("jobs.gpus_per_node of LSF", "the number of rusage or -gpu, on each host", "nothing stands behind it, and the record does not have RESOURCE_RESERVE_PER_TASK and LSB_GPU_REQ of the site")
		c.Repair("gpus-per-host-assumed")
	}
	if total > format.MostCount {
		c.Fail(lsfResReq, "at most 2^30 GPUs")
		return
	}
	j.GPUType = g.kind
	if nodes == 0 { // so many on one, however many there are
		j.GPUsTotal, j.GPUsPerNode = traces.Some(int32(total)), traces.Some(int32(total))
		return
	}
	spread(c, j, chunk{nodes: nodes, cpus: int64(j.ProcsRequested.V), gpus: total})
}

// lsfNodes is the number of hosts that span[hosts=1] or span[ptile=8] leads to, 0 where nothing says it.
func lsfNodes(requirement string, slots int64) int64 {
	span, _ := section(requirement, "span")
	if slots == 1 || slices.Contains(strings.Fields(span), "hosts=1") {
		return 1
	}
	if _, tile, there := strings.Cut(span, "ptile="); there {
		if n, err := strconv.ParseInt(strings.TrimSpace(tile), 10, 31); err == nil && n > 0 {
			return (slots + n - 1) / n
		}
	}
	return 0
}
