package profiles

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"orrery/hwmodel"
	"orrery/hwmodel/catalogue"
	"orrery/internal/spelling"
	"orrery/scheduler/model"
)

// RuntimeTerms says which reasons for a longer or shorter run time count.
type RuntimeTerms struct {
	Type       bool `yaml:"type" default:"true" doc:"other GPUs than those of the record"`
	Placement  bool `yaml:"placement" default:"true" doc:"other numbers of nodes, of GPUs on a node and of network groups"`
	Contention bool `yaml:"contention" default:"true" doc:"other jobs on the uplinks of the network groups; without an uplink in the file there is no such term"`
	Cap        bool `yaml:"cap" default:"true" doc:"a limit on power below what the job draws, or a lock of the clocks (gpu_clock)"`
}

// Facility turns the power of nodes into energy, cost and carbon.
type Facility struct {
	PUE      float64 `yaml:"pue" default:"1" min:"1" max:"10" unit:"factor" list:"pue_by_load" doc:"what the facility draws for each watt of its nodes; of cost and carbon, not of energy. A list in its place is pue_by_load"`
	ByLoad   []PUEAt `yaml:"pue_by_load" doc:"the PUE by load, in the place of pue: lines lie between the loads, and beyond the ends the nearest counts"`
	Capacity Power   `yaml:"it_capacity" zero:"none" default:"none" min:"1W" max:"1000000MW" unit:"power" doc:"that the nodes draw at load 1, by the design of the facility; for pue_by_load"`
	Overhead Power   `yaml:"overhead" default:"0W" min:"0" unit:"power" doc:"that the facility draws beyond that, whatever the load"`
	Price    float64 `yaml:"price" zero:"none" default:"none" min:"0" max:"1e6" unit:"currency/kWh" doc:"of energy, where the trace has no table of prices; a table may have prices of 0 and below"`
	Carbon   float64 `yaml:"carbon" zero:"none" default:"none" min:"0" max:"1e5" unit:"g/kWh" doc:"emitted for energy, where the table of prices does not say"`
	Currency string  `yaml:"currency" default:"EUR" unit:"name" doc:"of prices"`
	JobPower string  `yaml:"job_power" of:"meter,nvml,nvml-corrected,unknown" default:"unknown" doc:"what measured the power of rows, which says how far it may be wrong: 4, 6, 4 and 10 %"`
}

// PUEAt is the PUE at a load.
type PUEAt struct {
	Load float64 `yaml:"load" default:"1" min:"0" max:"1" unit:"of it_capacity" doc:"what the nodes draw"`
	PUE  float64 `yaml:"pue" default:"1" min:"1" max:"10" unit:"factor" doc:"what the facility draws for each watt of them"`
}

// Workload is a class of work.
type Workload struct {
	Name       string          `yaml:"name" unit:"name" doc:"that results name"`
	From       string          `yaml:"from" unit:"name" doc:"a class of orrery cluster catalogue, whose throughput and caps it has where it does not say its own"`
	Columns    []string        `yaml:"columns" unit:"COLUMN=PATTERN" doc:"what rows of the class have: name, user, account, partition, qos, tenant, vcluster, kind, gpu_type or group, and patterns with * and ?, apart by a bar; all of the list. A job is in the first class that holds it"`
	MinGPUs    int64           `yaml:"min_gpus" default:"0" min:"0" max:"1000000000" unit:"GPUs" doc:"that such a job asks for in all at least"`
	MaxGPUs    int64           `yaml:"max_gpus" zero:"none" default:"none" min:"1" max:"1000000000" unit:"GPUs" doc:"at most"`
	Spread     string          `yaml:"spread" of:"median,draw" default:"median" doc:"what of the range of a factor counts: its value for all jobs, or one drawn for each job"`
	Throughput []GPUThroughput `yaml:"throughput" doc:"on the kinds of GPUs, all relative to one of them"`
	Steps      []StepTime      `yaml:"steps" doc:"how long a step takes by placement, relative to one of the rows; of several rows that hold the last"`
	Caps       []CapThroughput `yaml:"caps" doc:"throughput under caps on power, ascending; between them and up to 1 at 1 lines"`
	Clocks     []ClockResponse `yaml:"clocks" doc:"throughput and draw at locked clocks by GPU, those of a GPU ascending; between them and up to 1 at 1 lines"`
	Power      []GPUPower      `yaml:"power" doc:"that one GPU draws at work, without a lock of its clock"`

	Communication Communication `yaml:"communication" doc:"how a job that spans network groups uses the links between them"`

	CheckpointBytes *Bytes `yaml:"checkpoint_bytes" zero:"unknown" default:"unknown" min:"0B" unit:"size" doc:"of one checkpoint of a job, in all, where its row has no ckpt_bytes; unknown: all the memory of its GPUs, or of its nodes without GPUs"`
	InputBytes      *Bytes `yaml:"input_bytes" zero:"unknown" default:"unknown" min:"0B" unit:"size" doc:"that a job stages before its work begins, in all, where its row has no mounts; see storage.stage_bandwidth. unknown: nothing"`
	FileSystem      string `yaml:"file_system" unit:"name" doc:"of file_systems, that its jobs write checkpoints to and read them from; the first where it is left out"`
	InputFileSystem string `yaml:"input_file_system" unit:"name" doc:"that its jobs stage their input from; file_system where it is left out"`
}

// GPUThroughput is the throughput of a class on a kind of GPU.
type GPUThroughput struct {
	GPU   string  `yaml:"gpu" unit:"name" doc:"a GPU of the catalogue, or of a node type"`
	Value float64 `yaml:"value" default:"1" min:"1e-6" max:"1e6" unit:"factor" doc:"relative throughput"`
	Low   float64 `yaml:"low" zero:"value" default:"value" min:"0" max:"1e6" unit:"factor" doc:"10 % of jobs lie below"`
	High  float64 `yaml:"high" zero:"value" default:"value" min:"0" max:"1e6" unit:"factor" doc:"10 % of jobs lie above"`
}

// StepTime is the time of a step on a placement.
type StepTime struct {
	Nodes  int32   `yaml:"nodes" default:"1" min:"1" max:"4194304" unit:"nodes" doc:"from so many on"`
	GPUs   int32   `yaml:"gpus" default:"0" min:"0" max:"64" unit:"GPUs" doc:"from so many on, on the node with most of them"`
	Groups int32   `yaml:"groups" default:"0" min:"0" max:"4096" unit:"groups" doc:"from so many network groups on"`
	Time   float64 `yaml:"time" default:"1" min:"1e-6" max:"1e6" unit:"factor" doc:"relative time of a step; below 1 is legal"`
	Low    float64 `yaml:"low" zero:"time" default:"time" min:"0" max:"1e6" unit:"factor" doc:"10 % of jobs lie below"`
	High   float64 `yaml:"high" zero:"time" default:"time" min:"0" max:"1e6" unit:"factor" doc:"10 % of jobs lie above"`
}

// GPUPower is what a GPU draws at work.
type GPUPower struct {
	GPU   string `yaml:"gpu" unit:"name" doc:"a GPU of the catalogue, or of a node type"`
	Value Power  `yaml:"value" default:"0W" min:"0" max:"100kW" unit:"power" doc:"at work, most likely"`
	Low   Power  `yaml:"low" zero:"value" default:"value" min:"0" unit:"power" doc:"at least"`
	High  Power  `yaml:"high" zero:"value" default:"value" min:"0" unit:"power" doc:"at most"`
}

// Hardware is what a cluster file says of its hardware, in the words of package hwmodel.
type Hardware struct {
	Modelled bool // run times are
	Model    hwmodel.Model
	// Names are the numbers of the GPU models, by all the names that they have.
	Names    map[string]int32
	Recorded uint64 // models on which rows ran that do not say, as bits
	Rules    []Workload
	Facility Facility
	Slow     bool // GPUs are held back above the cap
	// Transfers is nil where none shares anything.
	Transfers *Transfers
}

// filled puts the figures of the catalogue where a node type or a class names one of its
// parts and does not say its own.
func (c *Cluster) filled() error {
	all := problems{src: c.src}
	for i := range c.NodeTypes {
		c.fillNodeType(&all, i)
	}
	for i := range c.Workloads {
		w, at := &c.Workloads[i], fmt.Sprintf("workloads[%d]", i)
		if w.From == "" {
			continue
		}
		known, ok := catalogue.FindClass(w.From)
		if !ok {
			names := namesOf(catalogue.Classes(), func(k catalogue.Class) string { return k.Name })
			all.add(at+".from", "found %q, which is no class of the catalogue%s: orrery cluster catalogue lists them", w.From, spelling.Hint(w.From, names))
			continue
		}
		w.fill(&known)
		w.From = ""
	}
	return all.err()
}

func (w *Workload) fill(known *catalogue.Class) {
	if len(w.Throughput) == 0 {
		for _, r := range known.Throughput {
			w.Throughput = append(w.Throughput, GPUThroughput{r.GPU, r.Value, r.Low, r.High})
		}
	}
	if len(w.Caps) == 0 {
		for _, p := range known.Caps {
			w.Caps = append(w.Caps, CapThroughput{p.Draw, p.Throughput})
		}
	}
}

// fillNodeType takes what a node type does not say from the catalogue.
func (c *Cluster) fillNodeType(all *problems, i int) {
	t, at := &c.NodeTypes[i], fmt.Sprintf("node_types[%d]", i)
	if t.From == "" {
		return
	}
	node, ok := catalogue.Find(t.From)
	if !ok || node.Kind != catalogue.Node {
		all.add(at+".from", "found %q, which is no node of the catalogue%s: orrery cluster catalogue lists them", t.From, spelling.Hint(t.From, catalogue.Names()))
		return
	}
	gpu, _ := catalogue.Find(node.GPU)
	said := func(key string) bool { return c.src.has(at + "." + key) }
	watts := func(of *Power) func(float64) { return func(x float64) { *of = Power(math.Round(x)) } }
	if !said("gpu") {
		t.GPU = node.GPU
	}
	if !said("gpu_model") {
		t.GPUModel = node.GPU
	}
	for _, f := range []struct {
		key  string
		part *catalogue.Part
		name string
		set  func(float64)
	}{
		{"gpus", &node, catalogue.GPUs, func(x float64) { t.GPUs = int32(x) }},
		{"gpu_memory", &gpu, catalogue.Memory, func(x float64) { t.GPUMemory = Bytes(math.Round(float64(x * 1e9))) }},
		{"idle_power", &node, catalogue.IdlePower, watts(&t.IdlePower)},
		{"busy_power", &node, catalogue.Nameplate, watts(&t.BusyPower)},
		{"busy_power", &node, catalogue.BusyPower, watts(&t.BusyPower)},
		{"gpu_idle_power", &gpu, catalogue.IdlePower, watts(&t.GPUIdlePower)},
		{"gpu_held_power", &gpu, catalogue.HeldPower, watts(&t.GPUHeldPower)},
	} {
		if x, known := f.part.Figure(f.name); known && !said(f.key) {
			f.set(x.Value)
		}
	}
	t.From = ""
}

// WithRuntime is a copy of c with other run times, recorded or modelled. Terms of modelled
// ones go back to their default where they are recorded.
func (c *Cluster) WithRuntime(runtime string) (*Cluster, error) {
	out := *c
	out.Runtime = runtime
	if runtime == "recorded" {
		out.RuntimeTerms = DefaultCluster().RuntimeTerms
		if c.src != nil {
			src := *c.src
			src.at = maps.Clone(src.at)
			maps.DeleteFunc(src.at, func(path string, _ place) bool { return root(path) == "runtime_terms" })
			out.src = &src
		}
	}
	return &out, out.validate()
}

// checkPUE holds the keys of the PUE against each other.
func (f *Facility) checkPUE(k *checker) {
	const at = "facility.pue_by_load"
	switch {
	case len(f.ByLoad) == 0 && f.Capacity > 0:
		k.add("facility.it_capacity", "is there without a list of loads: give facility.pue as a list, as in pue: [{load: 0.3, pue: 1.5}, {load: 1, pue: 1.2}], or leave it out")
	case len(f.ByLoad) > 0 && f.Capacity == 0:
		k.add(at, "is there without facility.it_capacity: give what the nodes draw at load 1, for example it_capacity: 4MW")
	case len(f.ByLoad) > 0 && f.PUE != 1:
		k.add("facility.pue", "found %g beside pue_by_load: leave one out", f.PUE)
	}
	for i := 1; i < len(f.ByLoad); i++ {
		if before, now := micro(f.ByLoad[i-1].Load), micro(f.ByLoad[i].Load); now <= before {
			k.add(fmt.Sprintf("%s[%d].load", at, i), "found %g after %g: want them ascending, by a millionth or more", f.ByLoad[i].Load, f.ByLoad[i-1].Load)
		}
	}
}

// Curve is what the facility draws for its nodes.
func (f *Facility) Curve() hwmodel.PUE {
	if len(f.ByLoad) == 0 {
		return hwmodel.FixedPUE(micro(f.PUE))
	}
	p := hwmodel.PUE{Capacity: int64(f.Capacity)}
	for _, x := range f.ByLoad {
		p.Points = append(p.Points, hwmodel.PUEPoint{Load: micro(x.Load), PUE: micro(x.PUE)})
	}
	return p
}

// micro is x in millionths.
func micro(x float64) int64 { return int64(math.Round(float64(x * 1e6))) }

// checkWorkloads holds the keys of classes of work against each other.
func (c *Cluster) checkWorkloads(k *checker) {
	gpus := c.gpuNames()
	for i, name := range c.RecordedGPU {
		k.known(fmt.Sprintf("recorded_gpu[%d]", i), "GPU of the catalogue or of a node type", name, gpus)
	}
	for i, text := range c.GPUNames {
		_, of, ok := strings.Cut(text, "=")
		if at := fmt.Sprintf("gpu_names[%d]", i); !ok {
			k.add(at, "found %q, want NAME=GPU, for example V100M32=v100-sxm2", text)
		} else {
			k.known(at, "GPU of the catalogue or of a node type", strings.TrimSpace(of), gpus)
		}
	}
	for i := range c.Workloads {
		c.checkWorkload(k, i, gpus)
	}
	c.checkGPUs(k)
	c.Facility.checkPUE(k)
	if c.OverPowerCap == "slow" && !(c.Runtime == "modelled" && c.RuntimeTerms.Cap && slices.ContainsFunc(c.Workloads, func(w Workload) bool { return len(w.Caps) > 0 })) {
		k.add("over_power_cap", "found slow, and nothing says what holding a GPU back costs: it needs runtime: modelled with runtime_terms.cap, and a class under workloads with caps; or use delay")
	}
	c.checkPowerCap(k)
}

// checkGPUs holds what node types say of their GPUs against each other and against classes.
func (c *Cluster) checkGPUs(k *checker) {
	drawn := map[string]bool{} // GPUs whose whole draw at work some class knows
	for i := range c.Workloads {
		for _, p := range c.Workloads[i].Power {
			drawn[p.GPU] = true
		}
	}
	type figures struct {
		model             string
		idle, held, limit Power
		clock             float64
	}
	first := map[string]int{} // node type, by the names of its GPU
	of := func(t *NodeType) figures {
		return figures{cmp.Or(t.GPUModel, t.GPU), t.GPUIdlePower, t.GPUHeldPower, t.GPUPowerLimit, t.GPUClock}
	}
	for i := range c.NodeTypes {
		t, at := &c.NodeTypes[i], fmt.Sprintf("node_types[%d]", i)
		if t.GPU == "" || t.GPU == AnyGPU && t.GPUModel == "" {
			continue
		}
		for _, name := range []string{t.GPU, cmp.Or(t.GPUModel, t.GPU)} {
			j, met := first[name]
			if !met {
				first[name] = i
				continue
			}
			if o := &c.NodeTypes[j]; j != i && of(o) != of(t) {
				k.add(at, "has GPUs called %s, as node_types[%d] has, with another gpu_model, gpu_idle_power, gpu_held_power, gpu_power_limit or gpu_clock: give both the same, or GPUs of its own names", name, j)
				break
			}
		}
		switch {
		case t.GPUHeldPower > 0 && t.GPUIdlePower == 0:
			k.add(at+".gpu_held_power", "is there without gpu_idle_power, which idle_power has in it: give it too")
		case t.GPUIdlePower == 0 && (drawn[t.GPU] || drawn[t.GPUModel]):
			k.add(at, "has no gpu_idle_power, and a class under workloads says what its GPUs draw: give it, for idle_power has it in it")
		}
		if t.GPUHeldPower > 0 && t.GPUHeldPower < t.GPUIdlePower {
			k.add(at+".gpu_held_power", "found %dW, want at least gpu_idle_power, %dW", t.GPUHeldPower, t.GPUIdlePower)
		}
		// What a job draws is idle_power without that of its GPUs, and their draw: it would be below 0.
		if most := t.IdlePower / Power(max(t.GPUs, 1)); t.IdlePower > 0 && t.GPUs > 0 && t.GPUIdlePower > most {
			k.add(at+".gpu_idle_power", "found %dW for each of %d GPUs, want at most %dW: idle_power, %dW, has them in it", t.GPUIdlePower, t.GPUs, most, t.IdlePower)
		}
	}
}

func (c *Cluster) checkWorkload(k *checker, i int, gpus []string) {
	w, at := &c.Workloads[i], fmt.Sprintf("workloads[%d]", i)
	for j, text := range w.Columns {
		column, patterns, ok := strings.Cut(text, "=")
		if at := fmt.Sprintf("%s.columns[%d]", at, j); !ok || !slices.Contains(classColumns, strings.TrimSpace(column)) {
			k.add(at, "found %q, want COLUMN=PATTERN with one of %s", text, oneOf(classColumns))
		} else if strings.TrimSpace(patterns) == "" {
			k.add(at, "has no pattern behind =: want text with * and ?, for example name=*bert*")
		}
	}
	if w.MaxGPUs > 0 && w.MaxGPUs < w.MinGPUs {
		k.add(at+".max_gpus", "found %d, want at least min_gpus, %d", w.MaxGPUs, w.MinGPUs)
	}
	seen := map[string]bool{}
	for j, t := range w.Throughput {
		at := fmt.Sprintf("%s.throughput[%d]", at, j)
		k.known(at+".gpu", "GPU of the catalogue or of a node type", t.GPU, gpus)
		if t.GPU == "" || seen[t.GPU] {
			k.add(at+".gpu", "found %q, want a GPU that no other row has", t.GPU)
		}
		seen[t.GPU] = true
		k.within3(at, t.Low, t.Value, t.High)
	}
	if len(w.Throughput) > 0 {
		for _, name := range c.RecordedGPU {
			if !seen[name] && slices.Contains(gpus, name) {
				k.add(at+".throughput", "has no row for %s, on which jobs were recorded (recorded_gpu): add it, or nothing can be relative to it", name)
			}
		}
	}
	for j, s := range w.Steps {
		k.within3(fmt.Sprintf("%s.steps[%d]", at, j), s.Low, s.Time, s.High)
	}
	w.checkCaps(k, at)
	w.checkClocks(k, at, gpus, c.gpuModel)
	for j, p := range w.Power {
		at := fmt.Sprintf("%s.power[%d]", at, j)
		k.known(at+".gpu", "GPU of the catalogue or of a node type", p.GPU, gpus)
		if p.GPU == "" || p.Value == 0 {
			k.add(at, "want a gpu and the value that it draws")
		}
		k.within3(at, float64(p.Low), float64(p.Value), float64(p.High))
	}
	w.Communication.check(k, at+".communication")
}

// classColumns are the columns by which rows are put into classes.
var classColumns = []string{"name", "user", "account", "partition", "qos", "tenant", "vcluster", "kind", "gpu_type", "group"}

// within3 notes a range that does not hold its value; 0 is the value itself.
func (c *checker) within3(at string, low, value, high float64) {
	if low > value {
		c.add(at+".low", "found %g, want at most the value, %g", low, value)
	}
	if high > 0 && high < value {
		c.add(at+".high", "found %g, want at least the value, %g", high, value)
	}
}

// gpuNames are the GPUs that classes may name.
func (c *Cluster) gpuNames() []string {
	var out []string
	for i := range c.NodeTypes {
		for _, name := range []string{c.NodeTypes[i].GPU, c.NodeTypes[i].GPUModel} {
			if name != "" {
				out = append(out, name)
			}
		}
	}
	for _, p := range catalogue.All() {
		if p.Kind == catalogue.GPU {
			out = append(out, p.Name)
		}
	}
	return out
}

// mostModels is how many GPU models one site and its record may have, at the size of a set
// of them.
const mostModels = 64

// hardware turns the file into what package hwmodel knows. Nodes are in their order.
func (r *resolver) hardware() {
	c, h := r.c, &Hardware{Names: map[string]int32{}}
	h.Modelled, h.Facility, h.Rules, h.Slow = c.Runtime == "modelled", c.Facility, c.Workloads, c.OverPowerCap == "slow"
	h.Transfers = c.transfers()
	m := &h.Model
	number := func(name string) int32 {
		id, ok := h.Names[name]
		if !ok {
			id = int32(len(m.GPUs))
			h.Names[name] = id
			m.GPUs = append(m.GPUs, hwmodel.GPU{Name: name})
		}
		return id
	}
	for i := range c.NodeTypes {
		t := &c.NodeTypes[i]
		if t.GPU == "" || t.GPU == AnyGPU && t.GPUModel == "" {
			continue
		}
		name := cmp.Or(t.GPUModel, t.GPU)
		g := &m.GPUs[number(name)]
		g.Idle, g.Held, g.Limit = stated(t.GPUIdlePower), stated(t.GPUHeldPower), int64(t.GPUPowerLimit)
		g.Clock = model.FixedOf(t.GPUClock)
		h.Names[t.GPU] = h.Names[name]
	}
	for i := range c.Workloads {
		m.Classes = append(m.Classes, c.Workloads[i].class(number, c.FileSystems))
	}
	for _, name := range c.RecordedGPU {
		h.Recorded |= 1 << (number(name) % mostModels)
	}
	for _, text := range c.GPUNames {
		name, of, _ := strings.Cut(text, "=")
		h.Names[strings.TrimSpace(name)] = number(strings.TrimSpace(of))
	}
	if len(m.GPUs) > mostModels {
		r.checker.add("workloads", "names %d GPU models with those of the nodes, want at most %d", len(m.GPUs), mostModels)
		return
	}
	r.network(m)
	terms := &c.RuntimeTerms
	for t, on := range [hwmodel.NumTerms]bool{
		hwmodel.ByType: terms.Type, hwmodel.ByPlacement: terms.Placement, hwmodel.ByContention: terms.Contention && len(m.Uplinks) > 0, hwmodel.ByCap: terms.Cap,
	} {
		if on {
			m.Terms = m.Terms.With(hwmodel.Term(t))
		}
	}
	for i := range r.site.Nodes {
		n := &r.site.Nodes[i]
		gpu := int32(-1)
		if n.GPUType >= 0 {
			if id, ok := h.Names[r.site.GPUTypes[n.GPUType]]; ok {
				gpu = id
			}
		}
		m.NodeGPU, m.NodeGPUs, m.NodeGroup = append(m.NodeGPU, gpu), append(m.NodeGPUs, n.GPUs), append(m.NodeGroup, n.Group)
	}
	r.site.Hardware = h
}

// stated is a power that a file states; 0 is none.
func stated(p Power) hwmodel.Power {
	w := int64(p)
	return hwmodel.Power{Watts: hwmodel.Watts{Low: w, Value: w, High: w}, Known: w > 0}
}

// class is the class in the words of package hwmodel; number gives the id of a GPU model.
func (w *Workload) class(number func(string) int32, systems []FileSystem) hwmodel.Class {
	k := hwmodel.Class{Name: w.Name, Spread: w.Spread == "draw", Bytes: w.bytes(systems), Network: w.Communication.model()}
	for _, t := range w.Throughput {
		id := int(number(t.GPU))
		k.Throughput = append(k.Throughput, make([]hwmodel.Factor, max(0, id+1-len(k.Throughput)))...)
		k.Throughput[id] = factor(t.Low, t.Value, t.High)
	}
	for _, s := range w.Steps {
		k.Steps = append(k.Steps, hwmodel.Step{Nodes: s.Nodes, PerNode: s.GPUs, Groups: s.Groups, Time: factor(s.Low, s.Time, s.High)})
	}
	for _, p := range w.Caps {
		k.Caps = append(k.Caps, hwmodel.CapStep{Draw: model.FixedOf(p.Draw), Throughput: model.FixedOf(p.Throughput)})
	}
	k.Clocks = w.clocks(number)
	for _, p := range w.Power {
		id := int(number(p.GPU))
		k.Power = append(k.Power, make([]hwmodel.Watts, max(0, id+1-len(k.Power)))...)
		k.Power[id] = hwmodel.Watts{Low: int64(cmp.Or(p.Low, p.Value)), Value: int64(p.Value), High: int64(cmp.Or(p.High, p.Value))}
	}
	return k
}

// factor has its value at the ends of its range that the file leaves out.
func factor(low, value, high float64) hwmodel.Factor {
	return hwmodel.Factor{Low: model.FixedOf(cmp.Or(low, value)), Value: model.FixedOf(value), High: model.FixedOf(cmp.Or(high, value))}
}
