package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"orrery/capture"
	"orrery/capture/archive"
	"orrery/capture/review"
	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/traces"
)

// follower shows agents at work until it is stopped.
type follower struct {
	*inspectVerb
	paths  []string
	before string                   // the bundles that were summed up
	shown  map[string]model.Time    // by node: the sample that was shown
	power  map[liveSeries][]float64 // the last ones that were shown, W; NaN for none
	told   bool                     // that there is nothing to show
	failed string                   // what could not be read, as it was said last
	set    *archive.Set
	sum    *review.Summary
}

type liveSeries struct {
	node string
	gpu  int32
}

// kept is how many samples the curve of power has.
const kept = 30

func (f *follower) run(ctx context.Context) error {
	f.shown, f.power = map[string]model.Time{}, map[liveSeries][]float64{}
	for {
		if err := f.look(time.Now()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(f.every):
		}
	}
}

// look prints what is new.
func (f *follower) look(now time.Time) error {
	fresh, err := f.bundles()
	if err != nil && err.Error() != f.failed { // a bundle may have been removed meanwhile
		f.failed = err.Error()
		f.m.say("not all could be read, looking again: %v", err)
	}
	if f.print.forPrograms() {
		if fresh {
			return f.show(f.set, f.sum)
		}
		return nil
	}
	agents, _ := archive.Live(f.paths...) // what cannot be read was said above
	moved := f.keep(agents)
	if !f.told && f.sum == nil && len(agents) == 0 {
		f.told = true
		f.m.say("no bundle and no agent at work yet; looking every %s", f.every)
	}
	terminal := f.m.screen(f.m.Stdout).terminal
	if terminal && (fresh || len(agents) > 0) {
		fmt.Fprint(f.m.Stdout, "\x1b[H\x1b[2J") // the screen anew
	}
	if f.sum != nil && (fresh || terminal && len(agents) > 0) {
		if err := f.show(f.set, f.sum); err != nil {
			return err
		}
	}
	if len(agents) == 0 || !moved && !terminal {
		return nil
	}
	return f.print.section("live", f.table(agents, now))
}

// bundles sums up what is finished, when that is other than before.
func (f *follower) bundles() (fresh bool, err error) {
	found, err := archive.Find(f.paths...)
	if err != nil || strings.Join(found, "\n") == f.before {
		return false, err
	}
	set, err := captured(f.paths)
	if err != nil {
		return false, err
	}
	sum, err := review.Of(reviewSource(set))
	if err != nil {
		return false, err
	}
	f.before, f.set, f.sum = strings.Join(found, "\n"), set, sum
	return true, nil
}

// keep stores the power of samples that were not seen before, and says whether there are any.
func (f *follower) keep(agents []*capture.Live) (moved bool) {
	for _, a := range agents {
		if f.shown[a.Node] == a.At {
			continue
		}
		f.shown[a.Node], moved = a.At, true
		for i := range a.GPUs {
			g := &a.GPUs[i]
			of, w := liveSeries{a.Node, g.GPU}, math.NaN()
			if g.Power != nil && g.Silent == "" {
				w = *g.Power
			}
			list := append(f.power[of], w)
			f.power[of] = list[max(0, len(list)-kept):]
		}
	}
	return moved
}

// table is the last sample of each GPU.
func (f *follower) table(agents []*capture.Live, now time.Time) *doc.Table {
	t := doc.New("node", "gpu", "sampled (UTC)", "ago (s)", "utilisation (%)", "SM activity (%)", "power (W)", "power so far", "memory (GiB)",
		"temperature (°C)", "SM clock (MHz)", "held down", "processes", "remark")
	ascii := f.m.screen(f.m.Stdout).ascii
	for _, a := range agents {
		late := model.Time(now.UnixMicro()).Sub(a.At) > max(3*a.Interval, 5*model.Second)
		for i := range a.GPUs {
			g := &a.GPUs[i]
			remark := g.Silent
			if late {
				remark = "no sample since: the agent was stopped or killed, or cannot write"
			}
			var sampled, ago, memory, clock, held any
			if g.Time > 0 {
				sampled = time.UnixMicro(int64(g.Time)).UTC().Format(time.TimeOnly)
				ago = doc.Float(model.Time(now.UnixMicro()).Sub(g.Time).Seconds(), 1)
			}
			if g.MemUsed != nil {
				memory = doc.Float(float64(*g.MemUsed)/(1<<30), 1)
			}
			if g.SMClock != nil {
				clock = int64(*g.SMClock)
			}
			if g.Throttle != nil {
				held = map[bool]string{true: "yes", false: "no"}[*g.Throttle&review.Throttling != 0]
			}
			t.Row(a.Node, gpuCell(g.GPU), sampled, ago, liveCell(g.SMUtil, 100, 0), liveCell(g.SMActive, 100, 1), liveCell(g.Power, 1, 1),
				spark(f.power[liveSeries{a.Node, g.GPU}], ascii), memory, liveCell(g.Temperature, 1, 0), clock, held, int64(g.Processes), remark)
		}
	}
	return t
}

func liveCell(v *float64, by float64, digits int) any {
	if v == nil {
		return nil
	}
	return realCell(traces.Some(*v), by, digits)
}

// spark draws values as blocks between the smallest and the largest of them, with a blank for none.
func spark(values []float64, ascii bool) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	if ascii {
		levels = []rune("_.-=+*#@")
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case high <= low:
			b.WriteRune(levels[0])
		default:
			b.WriteRune(levels[int(math.Round((v-low)/(high-low)*float64(len(levels)-1)))])
		}
	}
	return b.String()
}
