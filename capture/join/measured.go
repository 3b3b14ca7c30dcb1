package join

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"orrery/capture"
	"orrery/capture/energy"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Measured is what was measured of one row of the jobs: a job, or one attempt of one that was requeued.
type Measured struct {
	start, end  model.Time // when it ran, absolute; start is Never where that is not recorded
	row         int
	First, Last model.Time // of its samples, the end of the last one
	GPUSeconds  float64    // measured, split where GPUs were shared
	Shared      float64    // part of GPUSeconds on GPUs with processes of other jobs
	Bytes       int64      // read from and written to storage by its processes
	BytesKnown  bool
	Memory      traces.Opt[int64] // B, the most in use on one of its GPUs while it was alone there
	sms, active sums
	nodes       int              // that it had: recorded, else requested; 0 when that is not known
	beside      bool             // another job was on a node of its own whose power was measured
	draws       map[series]*draw // by GPU, and by node
}

// Row is its row of the jobs, from 0.
func (m *Measured) Row() int { return m.row }

// draw is what a job drew from a GPU, or from a node as a whole.
type draw struct {
	joules         float64 // in the time that is known; of a shared GPU an equal part
	known, unknown float64 // s that the job had it
}

// series is a GPU, or a node as a whole.
type series struct {
	node string
	gpu  int32 // NodeSeries for a node
}

type sums struct{ sum, weight float64 }

func (s *sums) add(v traces.Opt[float64], weight float64) {
	if v.OK {
		s.sum += float64(v.V * weight)
		s.weight += weight
	}
}

func (s *sums) mean() traces.Opt[float64] {
	return traces.Opt[float64]{V: s.sum / max(s.weight, 1e-9), OK: s.weight > 0}
}

func (m *Measured) add(t *traces.Telemetry, stands energy.Stretch, sharing int) {
	if m.GPUSeconds == 0 {
		m.First = stands.From
	}
	m.Last = max(m.Last, stands.To)
	part := stands.Width().Seconds() / float64(sharing)
	m.GPUSeconds += part
	if sharing > 1 {
		m.Shared += part
	}
	if sharing == 1 && t.MemUsed.OK {
		m.Memory = traces.Some(max(m.Memory.V, t.MemUsed.V))
	}
	m.sms.add(t.SMUtil, part)
	m.active.add(t.SMActive, part)
}

func (m *Measured) measured() bool { return m.GPUSeconds > 0 || len(m.draws) > 0 }

// Joules is what its GPUs are known to have consumed for it; of a shared GPU an equal part.
func (m *Measured) Joules() (sum traces.Opt[float64]) {
	for _, of := range slices.SortedStableFunc(maps.Keys(m.draws), ascending) {
		if d := m.draws[of]; of.gpu != capture.NodeSeries && d.known > 0 {
			sum = traces.Some(sum.V + d.joules)
		}
	}
	return sum
}

// GPUPower is the mean power in W of all its GPUs together from its first to its last sample; null where that of any is not known. The
// time of a GPU that is not known counts with the mean of the time that is.
func (m *Measured) GPUPower() (watts traces.Opt[float64]) {
	seconds := m.Last.Sub(m.First).Seconds()
	if seconds <= 0 {
		return traces.Opt[float64]{}
	}
	for _, of := range slices.SortedStableFunc(maps.Keys(m.draws), ascending) {
		d := m.draws[of]
		switch {
		case of.gpu == capture.NodeSeries || d.known+d.unknown == 0:
		case d.known == 0:
			return traces.Opt[float64]{}
		default:
			watts = traces.Some(watts.V + d.joules/d.known*(d.known+d.unknown)/seconds)
		}
	}
	return watts
}

// NodePower is the mean power in W of all its nodes together, each as a whole; null where that of any is not known, or it was not alone there.
func (m *Measured) NodePower() (watts traces.Opt[float64]) {
	known := map[string]bool{}
	for _, of := range slices.SortedStableFunc(maps.Keys(m.draws), ascending) {
		if d := m.draws[of]; of.gpu == capture.NodeSeries && d.known > 0 {
			watts = traces.Some(watts.V + d.joules/d.known)
			known[of.node] = true
		}
	}
	for _, of := range slices.SortedStableFunc(maps.Keys(m.draws), ascending) {
		if !known[of.node] {
			return traces.Opt[float64]{}
		}
	}
	if m.beside || len(known) < max(m.nodes, 1) {
		return traces.Opt[float64]{}
	}
	return watts
}

// Apply writes into a job what was measured: power (mean W of its nodes as a whole, where that was measured), io_demand (B/s from its first
// to its last sample), and in extra the mean power of its GPUs alone, the means of utilisation and SM activity, the most memory in use on a GPU, the GPU time, and which part
// of it was on shared GPUs. What the job had in these columns is replaced, and stays where nothing was measured. An extra that is no JSON
// object is an error.
func (m *Measured) Apply(job *traces.Job) error {
	if watts := m.NodePower(); watts.OK {
		job.Power = traces.Some(int64(math.Round(watts.V)))
	}
	seconds := m.Last.Sub(m.First).Seconds()
	if m.GPUSeconds == 0 || seconds <= 0 {
		return nil
	}
	if m.BytesKnown {
		job.IODemand = traces.Some(int64(math.Round(float64(m.Bytes) / seconds)))
	}
	extra := map[string]json.RawMessage{}
	if job.Extra != "" {
		if err := json.Unmarshal([]byte(job.Extra), &extra); err != nil {
			return &traces.DataError{Column: "extra", Found: job.Extra, Expected: "a JSON object"}
		}
	}
	put := func(name string, v traces.Opt[float64]) {
		delete(extra, name)
		if v.OK {
			extra[name] = strconv.AppendFloat(nil, v.V, 'g', 6, 64)
		}
	}
	put("measured_gpu_power", m.GPUPower())
	put("measured_gpu_seconds", traces.Some(m.GPUSeconds))
	put("measured_shared", traces.Some(m.Shared/m.GPUSeconds))
	put("measured_gpu_memory", traces.Opt[float64]{V: float64(m.Memory.V), OK: m.Memory.OK})
	put("measured_sm_util", m.sms.mean())
	put("measured_sm_active", m.active.mean())
	text, err := json.Marshal(extra) // keys ascend
	if err != nil {
		return err
	}
	job.Extra = string(text)
	return nil
}
