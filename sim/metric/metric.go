// Package metric defines what is measured on a replay: each metric once, with
// unit, formula, source and edge cases, a streaming accumulator for the state
// over time, and the reduction of finished jobs to a table. It must not know
// files, figures or how a schedule came about.
package metric

import "slices"

//go:generate go test . -run Document -update

// Windows of a metric.
const (
	All    = "all"    // every job; the series from the first submission to the last end
	Steady = "steady" // without warm-up and cool-down, see Config
)

// Definition says what a metric is.
type Definition struct {
	Name    string // as in metrics.json
	Unit    string
	Sense   Sense  // which way it is better
	Formula string // in the symbols of Legend
	Source  string // of the formula; "" when it is elementary
	Edge    string // what is left out, and when the value is undefined
	Windows []string
}

// Legend explains the symbols of the formulas, one line each.
const Legend = `t, s, e     submission, first start and end of a job (departure, when it never ran)
w = s - t   wait; R = e - t turnaround; n size asked for
r           work done in the replay, at speed 1: the time that it ran, where it was neither slower nor faster than recorded
P           size of the cluster, in what n counts: processors, or nodes or GPUs of a site
N           number of the jobs that the metric is over
a, b        ends of the window: all is [first submission, last end of a job that ran],
            steady is [warm-up boundary, last submission - cool-down]
q(x)        jobs waiting at instant x; Q(x) what they ask for; B(x) what is busy
pK          percentile K by nearest rank: of N values the one of rank ceil(K*N/100), exact
G           GPUs of the site; u_i, l_i GPU time of job i's attempts that counted, that was thrown away; g_i held
h_k         node time (GPU time, where jobs share nodes) held within the window by tenant k; s_k = h_k/sum(h) its share; f_k its fair share, its target
T           tenants that have a target and submitted a job in the window`

// Definitions lists every metric in the order of a window of Table.
func Definitions() []Definition { return published(definitions) }

// SiteDefinitions lists the metrics that only the run of a site has; they
// follow the others of a window.
func SiteDefinitions() []Definition { return published(siteDefinitions) }

// AllDefinitions lists the metrics of any run, in the order of a window.
func AllDefinitions() []Definition {
	return slices.Concat(Definitions(), SiteDefinitions(), SupplyDefinitions(), ServiceDefinitions())
}

func published(list []definition) []Definition {
	out := make([]Definition, len(list))
	for i, d := range list {
		out[i] = d.Definition
		out[i].Windows = []string{All, Steady}
		if d.onlyAll {
			out[i].Windows = out[i].Windows[:1]
		}
	}
	return out
}

// definition is a Definition that can be evaluated.
type definition struct {
	Definition
	onlyAll bool
	eval    func(*reduction) value
}

// value is what a definition came to.
type value struct {
	x     float64
	ok    bool
	count int64
	note  string
}
