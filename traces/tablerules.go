package traces

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// Rules says of rows, table by table in their order, which rule the first that is
// impossible breaks. It remembers names and the last instants, and no rows; the
// cost is a map entry for each node, tenant, service and GPU.
type Rules struct {
	names                                     map[string]bool // of nodes
	tenants                                   map[string]bool
	nodesKnown, tenantsKnown                  bool // there is a table that events and telemetry must agree with
	lastEvent, lastPrice, lastLoad, lastGauge model.Time
	lastPart                                  model.Time            // of the table mig
	busy                                      map[string]model.Time // until when a service has a sample
	seen                                      map[gauge]model.Time  // the last sample of a GPU or node
	parts                                     map[gaugePart]model.Time
}

type gauge struct {
	node string
	gpu  Opt[int32]
	stat string
}

// gaugePart is a GPU instance of MIG.
type gaugePart struct {
	node          string
	gpu, instance int32
	uuid, stat    string // one that was made anew has another UUID
}

// NewRules are those for the rows of one bundle.
func NewRules() *Rules {
	return &Rules{
		names: map[string]bool{}, tenants: map[string]bool{}, busy: map[string]model.Time{}, seen: map[gauge]model.Time{}, parts: map[gaugePart]model.Time{},
		lastEvent: model.AbsentTime, lastPrice: model.AbsentTime, lastLoad: model.AbsentTime, lastGauge: model.AbsentTime, lastPart: model.AbsentTime,
	}
}

// Job is the rule that a job breaks, "" when it breaks none.
func (v *Rules) Job(j *Job) string {
	for i := range jobRules {
		if jobRules[i].broken(j) {
			return jobRules[i].name
		}
	}
	return ""
}

// Node is the rule that a node breaks, "" when it breaks none.
func (v *Rules) Node(n *Node) (rule string) {
	switch {
	case n.Name == "":
		rule = "node without a name"
	case v.names[n.Name]:
		rule = "node name used twice"
	case n.GPUs < 0 || n.CPUs < 0 || n.Memory < 0:
		rule = "negative size of a node"
	}
	v.names[n.Name] = true
	return rule
}

func (v *Rules) tenant(t *Tenant) (rule string) {
	switch {
	case t.Name == "":
		rule = "tenant without a name"
	case v.tenants[t.Name]:
		rule = "tenant name used twice"
	case below(t.MaxNodes, 0) || below(t.MaxConcurrent, 0) || !atLeast(t.GPUHours, 0) || !atLeast(t.NodeHours, 0):
		rule = "negative limit of a tenant"
	case !atLeast(t.FairShare, 0) || t.FairShare.V > 1:
		rule = "fair_share outside 0 to 1"
	case !atLeast(t.Burst, 1):
		rule = "burst below 1"
	}
	v.tenants[t.Name] = true
	return rule
}

// Event is the rule that an event breaks, "" when it breaks none.
func (v *Rules) Event(e *Event) (rule string) {
	kind, known := eventKinds[e.Kind]
	switch {
	case e.Time < v.lastEvent:
		rule = "event earlier than the one before it"
	case !known:
		rule = "unknown kind of an event"
	case kind.subject != "" && e.Subject == "":
		rule = "event without a subject"
	case kind.subject == subjectNode && v.nodesKnown && !v.names[e.Subject]:
		rule = "event of a node that is not in the nodes table"
	case kind.subject == subjectTenant && v.tenantsKnown && !v.tenants[e.Subject]:
		rule = "event of a tenant that is not in the tenants table"
	case kind.subject == subjectJob && !isID(e.Subject):
		rule = "event of a job that is named by no number"
	case !kind.value(e.Value):
		rule = "value that does not fit the kind of the event"
	}
	v.lastEvent = e.Time
	return rule
}

// Price is the rule that a price breaks, "" when it breaks none.
func (v *Rules) Price(p *Price) (rule string) {
	switch {
	case p.Time <= v.lastPrice:
		rule = "price not later than the one before it"
	case math.IsNaN(p.Price) || math.IsInf(p.Price, 0):
		rule = "price that is no number"
	case !atLeast(p.Carbon, 0):
		rule = "carbon below 0"
	case p.Supply.OK && p.Supply.V < 0:
		rule = "supply below 0"
	}
	v.lastPrice = p.Time
	return rule
}

// Load is the rule that a sample breaks, "" when it breaks none.
func (v *Rules) Load(l *Load) (rule string) {
	until, known := v.busy[l.Service]
	switch {
	case l.Service == "":
		rule = "load without a service"
	case l.Time < v.lastLoad:
		rule = "load earlier than the sample before it"
	case l.Width < 0 || !finite(int64(l.Width)):
		rule = "negative width of a sample"
	case known && l.Time < until:
		rule = "load that overlaps the sample before it of the same service"
	case !l.Arrivals.OK && !l.Concurrent.OK:
		rule = "load without arrivals and without sessions"
	case !atLeast(l.Arrivals, 0) || !atLeast(l.Concurrent, 0):
		rule = "negative number of arrivals or sessions"
	case below(l.Work, 0) || !atLeast(l.WorkCV, 0):
		rule = "negative work of a request"
	case !atLeast(l.TokensIn, 0) || !atLeast(l.TokensOut, 0):
		rule = "negative number of tokens"
	}
	if rule == "" {
		v.busy[l.Service] = l.Time.Add(l.Width)
	}
	v.lastLoad = max(v.lastLoad, l.Time)
	return rule
}

// Stats are the words of the column stat of the telemetry table.
var Stats = [...]string{"mean", "p50", "p95", "p99", "max"}

func (v *Rules) telemetry(t *Telemetry) (rule string) {
	of := gauge{t.Node, t.GPU, t.Stat}
	last, known := v.seen[of]
	switch {
	case t.Node == "":
		rule = "telemetry without a node"
	case v.nodesKnown && !v.names[t.Node]:
		rule = "telemetry of a node that is not in the nodes table"
	case t.Time < v.lastGauge:
		rule = "telemetry earlier than the sample before it"
	case known && t.Time == last:
		rule = "two samples of one GPU at one instant"
	case !isShare(t.SMUtil) || !isShare(t.MemUtil):
		rule = "sm_util or mem_util outside 0 to 1"
	case !isShare(t.SMActive):
		rule = "sm_active outside 0 to 1"
	case !isShare(t.TensorActive) || !isShare(t.DRAMActive) || !isShare(t.CPUUtil):
		rule = "tensor_active, dram_active or cpu_util outside 0 to 1"
	case !isStat(t.Stat, t.Width):
		rule = "stat that is no word of the format, or without a width"
	case !atLeast(t.Power, 0) || t.Temperature.OK && !isNumber(t.Temperature.V) || t.MemTemperature.OK && !isNumber(t.MemTemperature.V):
		rule = "power or temperature that cannot be"
	case t.negative():
		rule = "negative index, clock, size or counter"
	case !isArray(t.Processes):
		rule = "processes is no JSON array"
	default:
		rule = t.wrong()
	}
	if rule == "" {
		v.seen[of] = t.Time
	}
	v.lastGauge = max(v.lastGauge, t.Time)
	return rule
}

// isStat accepts a sample, and a word of the format with the length of its window.
func isStat(stat string, width Opt[model.Duration]) bool {
	if stat == "" {
		return !width.OK
	}
	return width.OK && width.V > 0 && finite(int64(width.V)) && slices.Contains(Stats[:], stat)
}

func (v *Rules) instance(i *Instance) (rule string) {
	of := gaugePart{i.Node, i.GPU, i.GPUInstance, i.UUID, i.Stat}
	last, known := v.parts[of]
	switch {
	case i.Node == "":
		rule = "mig without a node"
	case v.nodesKnown && !v.names[i.Node]:
		rule = "mig of a node that is not in the nodes table"
	case i.Time < v.lastPart:
		rule = "mig earlier than the sample before it"
	case known && i.Time == last:
		rule = "two samples of one GPU instance at one instant"
	case !isStat(i.Stat, i.Width):
		rule = "stat that is no word of the format, or without a width"
	case i.GPU < 0 || i.GPUInstance < 0 || below(i.Multiprocessors, 0) || below(i.MemTotal, 0) || below(i.MemUsed, 0):
		rule = "negative index, number or size"
	case !isArray(i.Processes):
		rule = "processes is no JSON array"
	default:
		t := i.asTelemetry()
		rule = t.wrong()
	}
	if rule == "" {
		v.parts[of] = i.Time
	}
	v.lastPart = max(v.lastPart, i.Time)
	return rule
}

func (t *Telemetry) negative() bool {
	negative := func(n Opt[int64]) bool { return below(n, 0) }
	return below(t.GPU, 0) || below(t.SMClock, 0) || below(t.MemClock, 0) || slices.ContainsFunc([]Opt[int64]{
		t.MemUsed, t.Energy, t.RetiredPages, t.Throttle, t.ECCCorrected, t.ECCUncorrected, t.NVLinkRx, t.NVLinkTx, t.PCIeRx, t.PCIeTx,
		t.PowerViolation, t.ThermalViolation, t.NVLinkErrors, t.CPUEnergy, t.DiskRead, t.DiskWritten, t.NetRx, t.NetTx}, negative)
}

// isShare accepts a null and a number from 0 to 1.
func isShare(o Opt[float64]) bool { return !o.OK || o.V >= 0 && o.V <= 1 }

func isNumber(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// isArray accepts a null and a JSON array.
func isArray(s string) bool { return s == "" || strings.HasPrefix(s, "[") && json.Valid([]byte(s)) }
