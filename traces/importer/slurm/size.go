package slurm

import (
	"slices"
	"strconv"
	"strings"

	"orrery/traces"
	"orrery/traces/importer/format"
)

// Rules by which what a job was allocated stands for what it asked for, where the log does not
// tell that.
const (
	nodesAsAllocated  = "nodes-as-allocated"
	nodesAtLeast      = "more-nodes-than-requested"
	cpusAsAllocated   = "cpus-as-allocated"
	gpusAsAllocated   = "gpus-as-allocated"
	memoryAsAllocated = "memory-as-allocated"
	exclusiveByGPUs   = "exclusive-by-allocation"
)

// size is what the job asked for and held. NNodes and NCPUS are the allocation of a job that
// ran, and the request of one that did not: nodes that it got are taken for those it asked for only where its processors do not tell its size.
func size(c *format.Cells, j *traces.Job) {
	nodes, holds := count(c, colReqNodes), count(c, colAllocNodes)
	shown := count(c, colNodes)
	cpus, held := count(c, colReqCPUs), count(c, colCPUs)
	if !held.OK {
		held = count(c, colAllocCPUs)
	}
	asked, given := tresOf(c, colReqTRES), tresOf(c, colAllocTRES)
	if given.nodes > 0 {
		holds = traces.Some(given.nodes)
	}
	if holds.V == 0 && j.Start.OK {
		holds = shown
	}
	if asked.nodes > 0 {
		nodes = traces.Some(asked.nodes)
	}
	if asked.cpus > 0 && !cpus.OK {
		cpus = traces.Some(asked.cpus)
	}
	spread := j.Start.OK && inProcessors(c, cpus.V, held.V, asked, given)
	if spread && nodes.V > 0 && holds.V > nodes.V && held.V == cpus.V { // the least that it asked for, and not those that its processors are for
		nodes = traces.Opt[int32]{}
		c.Repair(nodesAtLeast)
	} else if spread = spread && nodes.V == 0 && !memoryByNode(c); !spread && nodes.V == 0 {
		if nodes = shown; nodes.V == 0 {
			nodes = holds
		}
		if j.Start.OK && nodes.V > 0 {
			c.Repair(nodesAsAllocated)
		}
	}
	if holds.V > 0 {
		j.NodesAllocated = holds
	}
	fill(c.Row, j, nodes.V, cpus.V, held.V)
	if submitsExclusive(c.Raw(colSubmitLine)) {
		j.Exclusive = traces.Some(true)
	}
	gpus(c, j, asked, given)
	if c.Has(colReqMem) {
		memory(c, j, cpus.V)
	} else if asked.memory > 0 {
		j.MemPerNode = traces.Some(asked.memory / parts(j, cpus.V))
	}
}

// inProcessors says whether the processors tell what a job asked for whose row does not say for how many nodes it asked: then those
// that it got are where there was room (sbatch -n 16), and no request. Of a row without any request all is as allocated. A job that got more processors than it asked for had whole nodes;
// GPUs and memory of a node are known by the number of nodes alone, and components of a heterogeneous job are joined by theirs.
func inProcessors(c *format.Cells, cpus, held int32, asked, given tres) bool {
	if _, _, part := component(c.Raw(colID)); part || cpus <= 0 || held > cpus || submitsExclusive(c.Raw(colSubmitLine)) {
		return false
	}
	generic := func(k int) bool { // it may have GPUs
		n, _, ok := parseGRES(c.Raw(k))
		return c.Has(k) && (!ok || n > 0)
	}
	return max(asked.gpus, given.gpus) == 0 && !generic(colReqGRES) && !generic(colAllocGRES)
}

// memoryByNode says whether a row has memory that counts by node, or of the job in all.
func memoryByNode(c *format.Cells) bool {
	return c.Has(colReqMem) && !strings.HasSuffix(c.Raw(colReqMem), "c")
}

// leftOut keeps requests of which no column is made in extra, and counts the row.
func leftOut(c *format.Cells) {
	licences, others := c.Has(colLicenses), false
	c.Keep("Licenses", c.Raw(colLicenses))
	for _, k := range [...]int{colReqTRES, colReqGRES} {
		if !c.Has(k) {
			continue
		}
		licensed, other := unmade(c.Raw(k), k == colReqGRES)
		licences, others = licences || licensed, others || other
		if licensed || other {
			c.Keep(strings.TrimSuffix(sacctColumns[k], "?"), c.Raw(k))
		}
	}
	if licences {
		c.Repair("licences-left-out")
	}
	if others {
		c.Repair("resources-left-out")
	}
}

// noRequests are trackable resources that a column has, or that are none a job can ask for.
var noRequests = []string{"cpu", "mem", "node", "billing", "energy", "vmem", "pages", "fs/disk", "gres/gpumem", "gres/gpuutil"}

// unmade says whether a list of trackable or generic resources has licences, or others that no column has.
func unmade(list string, generic bool) (licences, others bool) {
	if generic {
		list, _, _ = strings.Cut(list, "(")
	}
	for term := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(term, "=")
		if generic {
			name, value, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(term, "gres:"), "gres/"), ":")
			name = "gres/" + name
		}
		switch {
		case name == "" || name == "gres/" || name == "gres/0" || value == "0" || strings.Trim(name, "0123456789") == "" || slices.Contains(noRequests, name):
		case name == "gres/gpu" || strings.HasPrefix(name, "gres/gpu:"):
		case strings.HasPrefix(name, "license/"):
			licences = true
		default:
			others = true
		}
	}
	return licences, others
}

// fill sets the nodes and CPUs; 0 is not known.
func fill(r *format.Row, j *traces.Job, nodes, cpus, held int32) {
	if cpus > 0 {
		j.ProcsRequested = traces.Some(cpus)
	}
	if held > 0 {
		j.ProcsAllocated = traces.Some(held)
	}
	if nodes == 0 {
		return
	}
	j.NodesMin = traces.Some(nodes)
	if cpus == 0 && held > 0 {
		cpus = held
		r.Repair(cpusAsAllocated)
	}
	if cpus > 0 {
		j.CPUsPerNode = traces.Some((cpus + nodes - 1) / nodes)
		if cpus%nodes != 0 {
			r.Repair("cpus-per-node-rounded-up")
		}
	}
}

// tres is what a list of trackable resources says of a job.
type tres struct {
	there       bool
	cpus, nodes int32
	memory      int64 // B
	gpus, typed int32 // gres/gpu, and the sum of gres/gpu:TYPE
	gpuType     string
	mixed       bool // GPUs of several types
}

// tresOf reads a list such as billing=4,cpu=4,mem=62.50G,node=1,gres/gpu=2,gres/gpu:a100=2.
func tresOf(c *format.Cells, k int) tres {
	t, ok := parseTRES(c.Raw(k))
	if !ok {
		c.Fail(k, "resources such as cpu=4,mem=8000M,node=1,gres/gpu=2")
	}
	return t
}

func parseTRES(text string) (t tres, ok bool) {
	if text == "" {
		return t, true
	}
	t.there = true
	for text != "" {
		term, rest, _ := strings.Cut(text, ",")
		text = rest
		name, value, found := strings.Cut(term, "=")
		if !found {
			return t, false
		}
		if name == "mem" || name == "2" {
			bytes, ok := byteCount(value, "M")
			if !ok {
				return t, false
			}
			t.memory = bytes
			continue
		}
		kind, isGPU := strings.CutPrefix(name, "gres/gpu")
		if !isGPU && name != "cpu" && name != "node" {
			continue
		}
		n, _, suffixed := units(value)
		if !suffixed {
			v, err := strconv.ParseUint(value, 10, 30)
			if err != nil {
				return t, false
			}
			n = int32(v)
		}
		switch {
		case name == "cpu":
			t.cpus = n
		case name == "node":
			t.nodes = n
		case kind == "":
			t.gpus = n
		case kind[0] == ':' && n > 0:
			t.typed = min(t.typed, format.MostCount-n) + n
			t.mixed = t.mixed || t.gpuType != "" && t.gpuType != kind[1:]
			t.gpuType = kind[1:]
		}
	}
	t.gpus = max(t.gpus, t.typed)
	return t, true
}

// wholeNode is by how much more CPUs than it asked for a job must have been allocated for the
// allocation to be one of whole nodes: cores are allocated with all their threads, of which
// there are up to four.
const wholeNode = 4

// request is what a job asked for of what it may have been allocated without: GPUs that no
// request names were allocated to a job that had its nodes for itself (--exclusive, or a partition of
// whole nodes), if it got many more CPUs too; else the log does not tell the request. rule says
// which, "" where the request is told.
func request(asked, given tres, cpus int32) (t tres, exclusive bool, rule string) {
	switch {
	case given.gpus == 0 && !asked.there:
		return given, false, ""
	case asked.gpus > 0 || given.gpus == 0:
		return asked, false, ""
	case asked.there && cpus > 0 && given.cpus > wholeNode*cpus:
		return tres{there: true}, true, exclusiveByGPUs
	}
	return given, false, gpusAsAllocated
}

// tellsGPUs says whether an allocation has the GPUs of a job that asked for t: where the site does not
// account for them it has none.
func (given tres) tellsGPUs(t tres) bool { return given.there && (given.gpus > 0 || t.gpus == 0) }

// otherType is the one type of the GPUs that a job got which had not asked for a type.
func (given tres) otherType(t tres) string {
	if given.mixed || given.gpuType == t.gpuType {
		return ""
	}
	return given.gpuType
}

// submitsExclusive says whether a command line of sbatch, srun or salloc asks for whole nodes.
// The options in a script do not stand there.
func submitsExclusive(line string) bool {
	return strings.Contains(line, "--exclusive") && slices.ContainsFunc(strings.Fields(line), func(word string) bool { return word == "--exclusive" })
}

// gres are the GPUs of a column of generic resources, on each node.
func gres(c *format.Cells, k int, nodes int32) (t tres) {
	if !c.Has(k) {
		return t
	}
	n, kind, ok := parseGRES(c.Raw(k))
	if !ok {
		c.Fail(k, "generic resources such as gpu:2 or gpu:a100:2")
		return t
	}
	return tres{there: true, gpus: n * max(nodes, 1), gpuType: kind}
}

// gpus are those of the TRES, else those of the GRES of each node: of the request, where it is told.
func gpus(c *format.Cells, j *traces.Job, asked, given tres) {
	cpus := asked.cpus
	if asked.gpus == 0 {
		if t := gres(c, colReqGRES, j.NodesMin.V); t.there {
			if asked = t; given.gpus > 0 { // a total, where that of the GRES is of each node
				asked.gpus = min(asked.gpus, given.gpus)
			}
		}
	}
	if given.gpus == 0 {
		if t := gres(c, colAllocGRES, j.NodesMin.V); t.there && t.gpus > 0 {
			t.cpus, given = given.cpus, t
		}
	}
	t, exclusive, rule := request(asked, given, cpus)
	if given.tellsGPUs(t) {
		j.GPUsAllocated = traces.Some(given.gpus)
	}
	c.Keep("gpu_type_allocated", given.otherType(t))
	if rule != "" {
		c.Repair(rule)
	}
	if exclusive {
		j.Exclusive = traces.Some(true)
	}
	if !t.there {
		return
	}
	j.GPUsTotal = traces.Some(t.gpus)
	if nodes := j.NodesMin.V; nodes > 0 {
		j.GPUsPerNode = traces.Some((t.gpus + nodes - 1) / nodes)
		if t.gpus%nodes != 0 {
			c.Repair("gpus-per-node-rounded-up")
		}
	}
	if !t.mixed {
		j.GPUType = t.gpuType
	} else {
		c.Repair("several-gpu-types")
	}
}

// parseGRES sums the GPUs of a list such as gpu:2, gpu:a100:2(IDX:0-1), gres:gpu:1.
func parseGRES(text string) (n int32, kind string, ok bool) {
	if i := strings.IndexByte(text, '('); i >= 0 {
		text = text[:i]
	}
	for _, term := range strings.Split(text, ",") {
		words := strings.Split(strings.TrimPrefix(strings.TrimPrefix(term, "gres:"), "gres/"), ":")
		if words[0] != "gpu" {
			continue
		}
		count := "1"
		if len(words) > 1 {
			count = words[len(words)-1]
		}
		if len(words) == 3 {
			kind = words[1]
		}
		v, err := strconv.ParseUint(count, 10, 20)
		if err != nil || len(words) > 3 || n > 1<<20 {
			return 0, "", false
		}
		n += int32(v)
	}
	return n, kind, true
}

// memory is ReqMem.
func memory(c *format.Cells, j *traces.Job, cpus int32) {
	text := c.Raw(colReqMem)
	per := byte(0)
	if end := len(text) - 1; end > 0 && (text[end] == 'n' || text[end] == 'c') {
		per, text = text[end], text[:end]
	}
	unit := "M"
	if c.At[colMemPerCore] >= 0 { // as the tools of the Slurm simulator print it
		unit = ""
		if c.Raw(colMemPerCore) == "True" {
			per = 'c'
		}
	}
	text, flagged := withoutFlag(text)
	if flagged {
		per = 'c'
		c.Repair("reqmem-flag")
	}
	bytes, ok := byteCount(text, unit)
	if !ok {
		c.Fail(colReqMem, "memory such as 4000M, 4Gn or 3000Mc")
		return
	}
	nodes := parts(j, cpus)
	switch {
	case bytes == 0:
		return
	case per == 'c':
		bytes *= int64(max(j.CPUsPerNode.V, 1))
	case per == 0:
		bytes = (bytes + nodes - 1) / nodes
	}
	if bytes < 0 || bytes > 1<<60 {
		c.Fail(colReqMem, "memory of less than 2^60 B")
		return
	}
	j.MemPerNode = traces.Some(bytes)
}

// parts is what the memory of a job in all is divided by: its nodes, or its processors where they may be on any nodes.
func parts(j *traces.Job, cpus int32) int64 {
	if j.NodesMin.V == 0 {
		return int64(max(cpus, 1))
	}
	return int64(j.NodesMin.V)
}

// withoutFlag takes bit 31 or 63 from a number of MB: it marks memory per CPU.
func withoutFlag(text string) (string, bool) {
	digits, suffix := text, ""
	if i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits, suffix = text[:i], text[i:]
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || suffix != "" && suffix != "M" {
		return text, false
	}
	switch {
	case n>>63 == 1:
		n &^= 1 << 63
	case n>>31 == 1 && n>>32 == 0:
		n &^= 1 << 31
	default:
		return text, false
	}
	return strconv.FormatUint(n, 10) + suffix, true
}

// byteCount reads a size with the suffix K, M, G, T or P, of 1024, and unit where there is none.
func byteCount(text, unit string) (int64, bool) {
	if text == "" {
		return 0, false
	}
	if i := strings.IndexByte("KMGTP", text[len(text)-1]); i >= 0 {
		text, unit = text[:len(text)-1], "KMGTP"[i:i+1]
	}
	scale := int64(1)
	if unit != "" {
		scale <<= 10 * (strings.Index("KMGTP", unit) + 1)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return n * scale, n >= 0 && n <= 1<<60/scale
	}
	x, err := strconv.ParseFloat(text, 64)
	x = float64(x * float64(scale))
	if err != nil || !(x >= 0 && x <= 1<<60) || strings.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	return int64(x), true
}
