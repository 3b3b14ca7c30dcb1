package recorded

import (
	"errors"
	"iter"
	"slices"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Polled is a source of which each sample is a text that a function fetches, and a parser reads. All GPUs are
// one unit: they come in one answer.
type Polled struct {
	Name  string
	Fetch func() ([]byte, error)
	Parse Parser
	gpus  []int32
}

// Open fetches once, to learn which GPUs there are.
func (p *Polled) Open() error {
	readings, err := p.Sample(0, nil)
	if err != nil {
		return err
	}
	for i := range readings {
		p.gpus = append(p.gpus, indexed(&readings[i].Telemetry))
	}
	if len(p.gpus) == 0 {
		return errors.New(p.Name + " names no GPU")
	}
	return nil
}

// Units is one of all GPUs.
func (p *Polled) Units() [][]int32 { return [][]int32{p.gpus} }

// Inventory names the GPUs; such a source knows no more.
func (p *Polled) Inventory() (*capture.Inventory, error) { return gpusOnly(p.Name, p.gpus), nil }

func gpusOnly(source string, gpus []int32) *capture.Inventory {
	v := &capture.Inventory{}
	v.Add("source", source)
	v.Lack(capture.FactDriver, source+" does not say")
	for _, gpu := range gpus {
		if gpu != capture.NodeSeries {
			v.GPUs = append(v.GPUs, capture.GPU{Index: gpu})
		}
	}
	return v
}

// Sample fetches and reads.
func (p *Polled) Sample(_ int, out []capture.Reading) ([]capture.Reading, error) {
	text, err := p.Fetch()
	if err != nil {
		return out, err
	}
	var account Account
	rows, err := p.Parse(text, Options{At: traces.Some(model.Time(0)), Account: &account})
	if err != nil {
		return out, err
	}
	for i := range rows {
		r := capture.Reading{Telemetry: rows[i]}
		if i == 0 {
			r.Left = account.Left
		}
		out = append(out, r)
	}
	return out, nil
}

// Close does nothing.
func (p *Polled) Close() error { return nil }

// replay is a source of rows that were recorded.
type replay struct {
	gpus []int32
	next func() (*traces.Telemetry, error, bool)
	stop func()
	row  *traces.Telemetry // read, and of a later instant than those before

	nextPart func() (*traces.Instance, error, bool)
	stopPart func()
	part     *traces.Instance // as row
}

// Replay is a source that gives the rows of one node again, an instant with each sample and as fast as it is asked, and ErrEnd after the last. Rows
// must ascend by time; of windows the means count. The GPUs are those named; parts are the rows of their GPU instances.
func Replay(rows iter.Seq2[*traces.Telemetry, error], parts iter.Seq2[*traces.Instance, error], gpus []int32) capture.Source {
	r := &replay{gpus: slices.Clone(gpus)}
	r.next, r.stop = iter.Pull2(rows)
	r.nextPart, r.stopPart = iter.Pull2(parts)
	return r
}

func (r *replay) Units() [][]int32 { return [][]int32{r.gpus} }

func (r *replay) Inventory() (*capture.Inventory, error) { return gpusOnly("recording", r.gpus), nil }

func (r *replay) Sample(_ int, out []capture.Reading) ([]capture.Reading, error) {
	var at model.Time
	for {
		if r.row == nil {
			t, err, ok := r.next()
			switch {
			case err != nil:
				return out, err
			case !ok && len(out) > 0:
				return out, r.parts(at, out)
			case !ok:
				return out, capture.ErrEnd
			case t.Stat != "" && t.Stat != "mean":
				continue
			}
			row := *t
			row.Stat, row.Width = "", traces.Opt[model.Duration]{}
			r.row = &row
		}
		if len(out) > 0 && r.row.Time != at {
			return out, r.parts(at, out)
		}
		at = r.row.Time
		procs, err := capture.Decode(r.row.Processes)
		if err != nil {
			return out, err
		}
		out = append(out, capture.Reading{Telemetry: *r.row, Procs: procs})
		r.row = nil
	}
}

// parts adds the GPU instances of an instant to the readings of their GPUs.
func (r *replay) parts(at model.Time, out []capture.Reading) error {
	for {
		if r.part == nil {
			i, err, ok := r.nextPart()
			if err != nil || !ok {
				return err
			}
			if i.Stat != "" && i.Stat != "mean" {
				continue
			}
			row := *i
			row.Stat, row.Width = "", traces.Opt[model.Duration]{}
			r.part = &row
		}
		if r.part.Time > at {
			return nil
		}
		procs, err := capture.Decode(r.part.Processes)
		if err != nil {
			return err
		}
		of := slices.IndexFunc(out, func(o capture.Reading) bool { return o.GPU.OK && o.GPU.V == r.part.GPU })
		if of >= 0 && r.part.Time == at {
			out[of].Parts = append(out[of].Parts, capture.Part{Instance: *r.part, Procs: procs})
		} else if len(out) > 0 {
			out[0].Left.Add("GPU instances whose GPU has no row then", capture.Subject(r.part.Node, r.part.GPU), 1)
		}
		r.part = nil
	}
}

func (r *replay) Close() error {
	r.stop()
	r.stopPart()
	return nil
}
