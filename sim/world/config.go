package world

import (
	"errors"
	"fmt"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/preempt"
	"orrery/sim/world/translate"
)

// SiteConfig is what a simulated site is made of. What no log tells (how long a
// checkpoint is written and read, how often agents fall silent, how often nodes
// fail) is an assumption, and the zero value assumes that it takes no time and
// never happens.
type SiteConfig struct {
	// Site is the site as the scheduler knows it. Site.Constraints grows when a
	// row brings a set of constraints that is new.
	Site *model.Site
	Rows translate.Rows // how rows of the trace are read
	Seed uint64         // of every draw
	// The answer to a proposal comes after Latency and a uniform part of
	// Jitter, drawn by Seed, job and try; 0 and 0 answer at once.
	Latency, Jitter model.Duration
	// Outages of the quorum, ascending by their begin: what would be answered
	// during one is answered at its end.
	Outages []translate.Outage
	// History says that what was used before Rows.Warm is told, see Site.Usage.
	History bool
	// Expected is that of Config.
	Expected bool
	// Visible bounds how long after an end the quorum learns of it: a uniform
	// draw by job and attempt. Until then the job holds its nodes.
	Visible model.Duration

	// Exit is how jobs give their nodes up. Its KillGrace lies between TERM and
	// KILL at the walltime as well: a job that exceeds its walltime ends by
	// itself within the grace or is killed, and is TIMEOUT either way. With a
	// grace of 0 it ends at its walltime.
	Exit preempt.Config
	// StartDelay lies between the grant of nodes and the start of the work, and
	// BootDelay before a node that was down takes work again.
	StartDelay, BootDelay model.Duration
	// ReadBandwidth is at what a job reads its checkpoint when it goes on, in B/s;
	// 0 takes no time. Exit.Bandwidth is at what it writes.
	ReadBandwidth int64
	// Storage is what transfers share; nil lets each take its size ÷ its rate, whatever
	// others do, and stages nothing.
	Storage *StorageConfig
	// Checkpoints says when running jobs save their work of their own accord; nil
	// never. Its Bandwidth is that of Exit.
	Checkpoints *preempt.CheckpointConfig
	// Wipe is how long the nodes of sensitive work are cleaned afterwards.
	Wipe   model.Duration
	Faults Faults
	// Hardware is how fast jobs run and what they draw; nil is hwmodel.Recorded.
	Hardware Hardware
	Power    PowerConfig
	// Changes of the site, ascending.
	Changes []translate.Change
}

var (
	visibleStream = draw.StreamOf("completion visible")
	exitStream    = draw.StreamOf("victim's exit")
)

// Validate says what is wrong with c and how to mend it, or nil.
func (c *SiteConfig) Validate() error {
	if c.Site == nil || len(c.Site.Nodes) == 0 || len(c.Site.VClusters) == 0 {
		return errors.New("world: a site needs at least one node and one vCluster")
	}
	for _, d := range []struct {
		name string
		d    model.Duration
	}{
		{"latency", c.Latency}, {"jitter", c.Jitter}, {"completion visibility", c.Visible}, {"wipe", c.Wipe},
		{"start delay", c.StartDelay}, {"boot delay", c.BootDelay},
	} {
		if d.d < 0 {
			return fmt.Errorf("world: the %s is %s: give 0 or more", d.name, d.d)
		}
	}
	for _, p := range []struct {
		name string
		p    float64
	}{
		{"slow", c.Faults.Slow}, {"unresponsive", c.Faults.Unresponsive}, {"partial", c.Faults.Partial}, {"defers", c.Faults.Defers},
	} {
		if !(p.p >= 0 && p.p <= 1) {
			return fmt.Errorf("world: the probability %s is %v: give 0 to 1", p.name, p.p)
		}
	}
	if err := c.Faults.validate(len(c.Site.Nodes)); err != nil {
		return err
	}
	if c.Faults.Slow > 0 && c.Faults.SlowBy < 1 {
		return fmt.Errorf("world: slow checkpoints take %d times as long: give 1 or more", c.Faults.SlowBy)
	}
	if c.ReadBandwidth < 0 {
		return fmt.Errorf("world: the read bandwidth is %d B/s: give 0 or more", c.ReadBandwidth)
	}
	if c.Storage != nil {
		if err := c.Storage.Validate(); err != nil {
			return err
		}
	}
	if k := c.Checkpoints; k != nil {
		switch {
		case k.Bandwidth != c.Exit.Bandwidth:
			return fmt.Errorf("world: periodic checkpoints are written at %d B/s and those of victims at %d: make them equal", k.Bandwidth, c.Exit.Bandwidth)
		case k.Strategy != preempt.ValueOverCost && k.MTBF == model.Forever:
			return fmt.Errorf("world: %s needs the mean time between the failures of a node: give MTBF, or use %s", k.Strategy, preempt.ValueOverCost)
		}
		if err := k.Validate(); err != nil {
			return err
		}
	}
	for i := 1; i < len(c.Changes); i++ {
		if c.Changes[i].At < c.Changes[i-1].At {
			return fmt.Errorf("world: change %d at %s comes after one at %s: sort them by time", i, c.Changes[i].At, c.Changes[i-1].At)
		}
	}
	for i, o := range c.Outages {
		if o.Until < o.From || i > 0 && o.From < c.Outages[i-1].From {
			return fmt.Errorf("world: outage %d of the quorum is from %s to %s: give the end last, and sort them by their begin", i, o.From, o.Until)
		}
	}
	return c.Exit.Validate()
}
