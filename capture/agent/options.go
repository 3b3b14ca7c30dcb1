// Package agent measures a GPU node for as long as it runs: it asks a source at an interval, sums up
// windows or keeps every sample, and writes bundles of telemetry that appear whole. What was due and is not in
// them is in them as gaps. It must not know what answers its questions, nor what is made of the
// bundles.
package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// Mode is how much is written.
type Mode string

// The modes of Lattice's telemetry. Sampling is the same in all.
const (
	Prod  Mode = "prod"  // summaries of windows of 30 s
	Debug Mode = "debug" // every sample; the mode before comes back by itself
	Audit Mode = "audit" // summaries of windows of 10 s
)

// Modes lists them.
var Modes = []Mode{Prod, Debug, Audit}

// Options say what an agent does. Defaults returns them filled.
type Options struct {
	Out      string        // the folder for bundles; made when it is not there
	Node     string        // name of the node, as schedulers have it
	Root     string        // where the file systems of the node are: "/" unless in a container
	Pods     string        // the kubelet's socket for pod resources; "" for none
	Interval time.Duration // between samples, 10 ms to 1 min
	Jitter   float64       // share of the interval, 0 to 0.5, by up to which each sample is asked for later than it was due
	Mode     Mode
	Window   time.Duration // of prod, a multiple of Interval
	Audit    time.Duration // of audit, a multiple of Interval
	DebugFor time.Duration // until debug ends by itself
	Rotate   time.Duration // a bundle holds no more than this
	MaxDisk  int64         // B that the folder may hold; the oldest bundles are removed
	Again    time.Duration // until the inventory is taken again
	For      time.Duration // until the agent ends; 0 for ever

	HotAt     float64       // °C from which on an alert is raised; 0 for 3 below where the GPU slows down, or 87
	HungAfter time.Duration // without an answer until an alert is raised
}

// Defaults are the options of production.
func Defaults() Options {
	return Options{
		Root: "/", Interval: time.Second, Mode: Prod, Window: 30 * time.Second, Audit: 10 * time.Second, DebugFor: 30 * time.Minute,
		Rotate: 10 * time.Minute, MaxDisk: 2 << 30, Again: 6 * time.Hour, HungAfter: 10 * time.Second,
	}
}

// smallestDisk leaves room for some bundles beside the one that is being written.
const smallestDisk = 4 << 20

// Validate says what is wrong, all at once.
func (o *Options) Validate() error {
	var wrong []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	check(o.Out != "", "the folder for bundles is not named")
	check(o.Node != "" && !strings.ContainsAny(o.Node, "/ \t\n") && !strings.HasPrefix(o.Node, "."), "node name %q: want a name without blanks, slashes and a dot in front", o.Node)
	check(o.Interval >= 10*time.Millisecond && o.Interval <= time.Minute, "interval %s: want 10ms to 1m", o.Interval)
	check(o.Jitter >= 0 && o.Jitter <= 0.5, "jitter %v: want a share of the interval, 0 to 0.5", o.Jitter)
	check(o.Mode == Prod || o.Mode == Debug || o.Mode == Audit, "mode %q: want prod, debug or audit", o.Mode)
	for _, w := range []time.Duration{o.Window, o.Audit} {
		check(w >= o.Interval && w%max(o.Interval, 1) == 0 && w <= time.Hour, "window %s: want a multiple of the interval %s, 1h at most", w, o.Interval)
	}
	check(o.DebugFor > 0, "debug for %s: want more than 0", o.DebugFor)
	check(o.Rotate >= o.Interval && o.Rotate <= 24*time.Hour, "rotate %s: want the interval at least and 24h at most", o.Rotate)
	check(o.MaxDisk >= smallestDisk, "disk bound of %d B: want %d at least", o.MaxDisk, smallestDisk)
	check(o.Again >= time.Second, "inventory every %s: want 1s at least", o.Again)
	check(o.For >= 0, "run for %s: want 0 or more", o.For)
	check(o.HungAfter > 0, "hung after %s: want more than 0", o.HungAfter)
	return errors.Join(wrong...)
}

// delay is by how much later than it was due the sample of an instant is asked for: without it, samples and a load that repeats in step
// with them show one part of the load alone.
func (o *Options) delay(due model.Time) model.Duration {
	if o.Jitter == 0 {
		return 0
	}
	rng := draw.New(0, draw.StreamOf("capture/agent/jitter"), uint64(due), 0)
	return model.Duration(rng.Float64() * o.Jitter * float64(o.Interval/time.Microsecond))
}

// window is the length of the windows of a mode, 0 when every sample is written.
func (o *Options) window(m Mode) time.Duration {
	switch m {
	case Prod:
		return o.Window
	case Audit:
		return o.Audit
	}
	return 0
}
