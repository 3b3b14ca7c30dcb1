// Package catalogue holds figures of GPUs and of nodes, each with where it is from and how
// far it is to be trusted. What is not known is not there: no figure is made up. It must not
// know what is done with the figures.
package catalogue

import "slices"

// Basis says what a figure rests on, the surest first.
type Basis string

// Bases.
const (
	Measured  Basis = "measured"   // computed from a public data file, which the source names
	Published Basis = "published"  // read in a public page or repository
	DataSheet Basis = "data sheet" // of the vendor, not checked against the part
)

// Figure is a number of a GPU or a node.
type Figure struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	// Low and High are the range that was seen; both are Value where one value is known.
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Basis  Basis   `json:"basis"`
	Source string  `json:"source"`
	Doubt  string  `json:"doubt,omitempty"`
}

// Names of figures, with their units.
const (
	Memory     = "memory"      // GB, of one GPU
	Bandwidth  = "bandwidth"   // GB/s, of its memory
	PowerLimit = "power_limit" // W, that it is sold with
	LeastLimit = "power_limit_min"
	MostLimit  = "power_limit_max"
	IdlePower  = "idle_power" // W, without work
	HeldPower  = "held_power" // W, while a process holds memory and does nothing
	BusyPower  = "busy_power" // W, of a node at work
	Nameplate  = "nameplate"  // W, that a node may draw at most
	FP64       = "fp64"       // TFLOP/s, dense, without tensor units
	FP64Tensor = "fp64_tensor"
	FP32       = "fp32"
	FP16       = "fp16_tensor" // dense, and the same for BF16
	FP8        = "fp8_tensor"  // dense
	Link       = "link"        // GB/s, both ways together, to other GPUs of the node
	GPUs       = "gpus"        // of a node
)

// Part is a GPU or a node.
type Part struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // gpu, node or class of work
	Title string `json:"title"`
	// GPU is the model that the nodes have, a name of this catalogue.
	GPU     string   `json:"gpu,omitempty"`
	Figures []Figure `json:"figures"`
}

// Kinds of parts.
const (
	GPU  = "gpu"
	Node = "node"
	Work = "class of work"
)

// All are the parts: GPUs, nodes, and classes of work, each kind in the order of its table.
func All() []Part {
	all := append(slices.Clone(gpus), nodes...)
	for i := range classes {
		all = append(all, classes[i].part())
	}
	return all
}

// Find is a part by its name.
func Find(name string) (Part, bool) {
	all := All()
	i := slices.IndexFunc(all, func(p Part) bool { return p.Name == name })
	if i < 0 {
		return Part{}, false
	}
	return all[i], true
}

// Names of all parts.
func Names() []string {
	var out []string
	for _, p := range All() {
		out = append(out, p.Name)
	}
	return out
}

// Figure is a figure by its name; false where it is not known.
func (p *Part) Figure(name string) (Figure, bool) {
	i := slices.IndexFunc(p.Figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		return Figure{}, false
	}
	return p.Figures[i], true
}

// units of the figures.
var units = map[string]string{
	Memory: "GB", Bandwidth: "GB/s", PowerLimit: "W", LeastLimit: "W", MostLimit: "W", IdlePower: "W", HeldPower: "W", BusyPower: "W", Nameplate: "W",
	FP64: "TFLOP/s", FP64Tensor: "TFLOP/s", FP32: "TFLOP/s", FP16: "TFLOP/s", FP8: "TFLOP/s", Link: "GB/s", GPUs: "GPUs",
}
