package workload

import (
	"fmt"
	"time"

	"orrery/reports/plot"
	"orrery/traces"
)

// Capacity is what a cluster has in all, by the units of traces.HeldUnits; 0 is not known.
type Capacity struct {
	By  string // who says so
	Has traces.Held
}

// Held is the most that the jobs of a trace held at once.
func Held(b *traces.Bundle) (*traces.Peaks, error) {
	p, sorted := &traces.Peaks{}, b.Info().Sorted
	for j, err := range b.Rows() {
		if err != nil {
			return nil, err
		}
		end := j.End
		if !end.OK && j.Start.OK && j.Runtime.OK {
			end = traces.Some(j.Start.V.Add(j.Runtime.V))
		}
		if !j.Start.OK || !end.OK {
			continue
		}
		submit := j.Submit
		if !sorted { // a later row may be of any instant
			submit = -1 << 62
		}
		p.Add(submit, j.Start.V, end.V, traces.HeldBy(j))
	}
	p.Finish()
	return p, nil
}

// CheckHeld lists of what more was held at once than a cluster has: by how much, and from when
// on for the first time.
func CheckHeld(info traces.Info, p *traces.Peaks, clusters ...Capacity) (all []Odd) {
	for i, unit := range traces.HeldUnits {
		for _, c := range clusters {
			has, most := c.Has[i], p.Most[i]
			if has == 0 || most <= has {
				continue
			}
			at := p.At[i].String() + " of the log"
			if info.EpochKnown {
				at = time.UnixMicro(int64(info.Epoch)+int64(p.At[i])).UTC().Format("2006-01-02 15:04:05") + " UTC"
			}
			by := int64(1)
			if unit == "GPUs" {
				by = 1000
			}
			all = append(all, Odd{
				What:  fmt.Sprintf("more %s were held at once than there are (%s): %s, from %s on, by %s", unit, plot.Count(has/by), plot.Count((most+by-1)/by), at, c.By),
				Count: (most - has + by - 1) / by, Effect: "the replayed machine is smaller than the recorded one was: waits are longer than they were",
			})
		}
	}
	return all
}
