package traces

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"orrery/scheduler/model"
)

// Words that the schema fixes. A null is legal wherever a column is optional.
var (
	kinds       = []string{kindBounded, "service", "reactive", "session"}
	topologies  = []string{"", "tight", "spread", "any"}
	checkpoints = []string{"", "auto", "manual", "none"}
	conditions  = []string{"success", "failure", "any", "corresponding", "mutex"}
)

// maxNice bounds the adjustment of sbatch --nice, and of a site factor, either way.
const maxNice = 2147483645

// jobRule is one thing that cannot be true of a job.
type jobRule struct {
	name   string
	broken func(*Job) bool
}

// jobRules are tried in order; the first that a row breaks counts it.
var jobRules = []jobRule{
	{"negative span", func(j *Job) bool { return below(j.Runtime, 0) || below(j.Walltime, 0) || below(j.ThinkTime, 0) }},
	{"start before submission", func(j *Job) bool { return j.Start.OK && j.Start.V < j.Submit }},
	{"end before start", func(j *Job) bool { return j.Start.OK && j.End.OK && j.End.V < j.Start.V }},
	{"end before submission", func(j *Job) bool { return j.End.OK && j.End.V < j.Submit }},
	{"cancelled before submission", func(j *Job) bool { return j.CancelledAt.OK && j.CancelledAt.V < j.Submit }},
	{"released before submission", func(j *Job) bool { return j.Released.OK && j.Released.V < j.Submit }},
	{"released without a hold", func(j *Job) bool { return j.Released.OK && !(j.Hold.OK && j.Hold.V) }},
	{"nice outside the range of Slurm", func(j *Job) bool { return below(j.Nice, -maxNice) || j.Nice.OK && j.Nice.V > maxNice }},
	{"site_factor outside the range of Slurm", func(j *Job) bool { return below(j.SiteFactor, -maxNice) || j.SiteFactor.OK && j.SiteFactor.V > maxNice }},
	{"negative count", func(j *Job) bool {
		for _, n := range []Opt[int32]{j.NodesMin, j.NodesMax, j.GPUsPerNode, j.CPUsPerNode, j.ProcsRequested,
			j.ProcsAllocated, j.NodesAllocated, j.GPUsAllocated, j.RequeueMax, j.MaxConcurrent, j.Index} {
			if below(n, 0) {
				return true
			}
		}
		return false
	}},
	{"nodes_max below nodes_min", func(j *Job) bool { return j.NodesMax.OK && j.NodesMin.OK && j.NodesMax.V < j.NodesMin.V }},
	{"negative size", func(j *Job) bool {
		for _, n := range []Opt[int64]{j.GPUMem, j.MemPerNode, j.CkptBytes, j.IODemand, j.Power} {
			if below(n, 0) {
				return true
			}
		}
		return false
	}},
	{"class outside 0 to 10", func(j *Job) bool { return j.Class.OK && (j.Class.V < 0 || j.Class.V > 10) }},
	{"comm_fraction outside 0 to 1", func(j *Job) bool {
		return j.CommFraction.OK && !(j.CommFraction.V >= 0 && j.CommFraction.V <= 1)
	}},
	{"gpu_milli outside 1 to 1000", func(j *Job) bool { return below(j.GPUMilli, 1) || j.GPUMilli.OK && j.GPUMilli.V > 1000 }},
	{"gpus_total below 0", func(j *Job) bool { return below(j.GPUsTotal, 0) }},
	{"deadline before submission", func(j *Job) bool { return j.Deadline.OK && j.Deadline.V < j.Submit }},
	{"scale_target that is no number", func(j *Job) bool { return j.ScaleTarget.OK && !isNumber(j.ScaleTarget.V) }},
	{"unknown kind", func(j *Job) bool { return !slices.Contains(kinds, j.Kind) }},
	{"unknown topology", func(j *Job) bool { return !slices.Contains(topologies, j.Topology) }},
	{"unknown checkpoint", func(j *Job) bool { return !slices.Contains(checkpoints, j.Checkpoint) }},
	{"text that is not UTF-8", func(j *Job) bool {
		for i := range jobFields {
			if jobFields[i].Type == String && !utf8.ValidString(jobFields[i].load(j).s) {
				return true
			}
		}
		return false
	}},
	{"mounts or extra is no JSON object", func(j *Job) bool { return !isObject(j.Mounts) || !isObject(j.Extra) }},
}

func below[T int32 | int64 | model.Duration](o Opt[T], n T) bool { return o.OK && o.V < n }

// isObject accepts a null and a JSON object.
func isObject(s string) bool {
	return s == "" || strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// atLeast accepts a null and a finite number of low or more.
func atLeast(o Opt[float64], low float64) bool {
	return !o.OK || o.V >= low && !math.IsInf(o.V, 0)
}

// What the subject of an event names; any other non-empty word is a name that
// no table lists.
const (
	subjectNode   = "node"
	subjectTenant = "tenant"
	subjectJob    = "job" // by its id
)

// eventKind says what an event of a kind must hold.
type eventKind struct {
	subject string // what it names, "" when it needs none
	value   func(string) bool
}

var eventKinds = map[string]eventKind{
	"down":              {subjectNode, isEmpty},
	"up":                {subjectNode, isEmpty},
	"degraded":          {subjectNode, isEmpty},
	"drain":             {subjectNode, isEmpty},
	"undrain":           {subjectNode, isEmpty},
	"quota":             {subjectTenant, isFilledObject},
	"power_cap":         {"", isCount},
	"storage_bandwidth": {"", isCount},
	"sensitive_pool":    {"", isCount},
	"demand":            {subjectJob, isPositive},
	"price":             {"", isReal},
	"weights":           {"vCluster", isFilledObject},
	"reservation":       {"reservation", isReserved},
	"quorum_outage":     {"", isCount},
	"metric_gap":        {"", isCount},
	"capture":           {"", isFilledObject},
}

func isEmpty(s string) bool { return s == "" }

func isFilledObject(s string) bool { return s != "" && isObject(s) }

func isReserved(s string) bool {
	_, ok := ParseReserved(s)
	return ok
}

// isCount accepts a whole number of 0 or more.
func isCount(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n >= 0
}

// isPositive accepts a whole number of 1 or more.
func isPositive(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n >= 1
}

// isID accepts what may be the id of a job.
func isID(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func isReal(s string) bool {
	x, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}
