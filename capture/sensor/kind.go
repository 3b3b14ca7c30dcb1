package sensor

import (
	"slices"
	"strconv"
	"strings"
)

// Reading is what a reading of power is.
type Reading string

// The readings. On what a driver calls power.draw they depend on the generation of the GPU.
const (
	Instant Reading = "instant" // the mean over a window not longer than some 0.1 s
	Average Reading = "average" // the mean over about a second
	Counter Reading = "counter" // the mean between two steps of the energy counter
	NotSaid Reading = "unknown"
)

// CounterKind is that of power by the energy counter, which has seen all of the time.
var CounterKind = Kind{Reading: Counter, Source: nvmlDocs}

// Kind is what is published of a reading.
type Kind struct {
	Generation string  // "" where the model is not known
	Reading    Reading // what the column is
	Period     float64 // s, 0 where it is not known
	Window     float64 // s, 0 where it is not known
	Source     string
}

// Sources of what is published.
const (
	nvmlDocs  = "NVML API reference, nvmlDeviceGetPowerUsage and nvmlFieldValue 185 and 186; nvidia-smi --help-query-gpu"
	benchmark = "Yang, Adamek, Armour: Part-time Power Measurements, SC24 (JimZeyuYang/GPU_Power_Benchmark)"
)

// generation of GPUs. Words are looked for in the order of the table, so that A100 is found before A10.
type generation struct {
	name    string
	words   []string
	average bool    // power.draw is an average of a second
	period  float64 // s
	instant float64 // s: window of the instant reading, 0 where it was not measured
}

// generations have of NVIDIA's documents which reading power.draw is, and of the benchmark period and window.
var generations = []generation{
	{"Blackwell", []string{"B200", "B100", "B300", "RTX PRO", "RTX 50"}, true, 0, 0},
	{"Hopper", []string{"H100", "H200", "H800", "H20", "GH200"}, true, 0.100, 0.025},
	{"Ada", []string{"L40", "L20", "L4", "RTX 40", "ADA GENERATION", "6000 ADA"}, true, 0.100, 0},
	{"GA100", []string{"A100", "A800", "A30"}, false, 0.100, 0},
	{"Ampere", []string{"RTX 30", "A10", "A16", "A40", "A2", "RTX A"}, true, 0.100, 0.100},
	{"Turing", []string{"T4", "RTX 20", "GTX 16", "QUADRO RTX", "TITAN RTX"}, false, 0.100, 0.100},
	{"Volta", []string{"V100", "TITAN V"}, false, 0.020, 0.010},
	{"Pascal", []string{"P100", "P40", "P4", "GTX 10"}, false, 0.020, 0.010},
}

// KindOf is the one place that says what a column of nvidia-smi, or the column power of telemetry, is for a model and a driver, as
// nvidia-smi or NVML name them; both may be "". Telemetry has the value of nvmlDeviceGetPowerUsage, which is power.draw.
func KindOf(column, model, driver string) Kind {
	k := Kind{Reading: NotSaid}
	switch {
	case strings.HasSuffix(column, ".instant"):
		k.Reading, k.Source = Instant, nvmlDocs
	case strings.HasSuffix(column, ".average"):
		k.Reading, k.Window, k.Source = Average, 1, nvmlDocs
	}
	name := strings.ToUpper(model)
	at := slices.IndexFunc(generations, func(g generation) bool {
		return slices.ContainsFunc(g.words, func(w string) bool { return hasWord(name, w) })
	})
	if at < 0 {
		return k
	}
	g := &generations[at]
	k.Generation, k.Period = g.name, g.period
	if k.Reading == NotSaid {
		k.Reading, k.Source = Instant, nvmlDocs
		if g.average && !drivenBy530(driver) {
			k.Reading, k.Window = Average, 1
		}
	}
	if k.Reading == Instant && g.instant > 0 {
		k.Window, k.Source = g.instant, k.Source+"; "+benchmark
	}
	return k
}

// hasWord says whether a name has a word that no letter stands before, so that L4 is not found in RTX 6000L4; what follows may be part of
// it, as in A100-SXM4.
func hasWord(name, word string) bool {
	for i := 0; ; {
		at := strings.Index(name[i:], word)
		if at < 0 {
			return false
		}
		at += i
		before := at == 0 || !isAlphanumeric(name[at-1])
		end := at + len(word)
		after := end == len(name) || !isDigit(name[end]) || strings.Contains(word, " ") // RTX 30 is a series
		if before && after {
			return true
		}
		i = at + 1
	}
}

func isDigit(c byte) bool        { return c >= '0' && c <= '9' }
func isAlphanumeric(c byte) bool { return isDigit(c) || c >= 'A' && c <= 'Z' }

// drivenBy530 says whether the driver is of the one series in which power.draw was the instant reading on cards of Ampere too
// (GPU_Power_Benchmark, RTX 3090 and 3070 Ti: rise time 0.26 s with 530.30, 0.9 s with 525.89 and 535.54).
func drivenBy530(driver string) bool {
	major, _, _ := strings.Cut(driver, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n == 530
}

// Preferred is which of several columns to take for energy: the counter misses nothing, an instant reading follows the load, and an average
// of a second smears it. -1 of none.
func Preferred(kinds []Kind) int {
	for _, want := range []Reading{Counter, Instant, NotSaid, Average} {
		if at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Reading == want }); at >= 0 {
			return at
		}
	}
	return -1
}

// Same says whether two columns hold the same readings: where power.draw repeats power.draw.average it is that.
func Same(a, b Series) bool {
	if len(a.Times) == 0 || len(a.Times) != len(b.Times) {
		return false
	}
	differ := 0
	for i := range a.Watts {
		if a.Watts[i] != b.Watts[i] {
			differ++
		}
	}
	return differ*50 <= len(a.Watts)
}
