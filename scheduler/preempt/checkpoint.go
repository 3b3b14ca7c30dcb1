package preempt

import (
	"fmt"

	"orrery/scheduler/model"
)

// Strategy says what decides whether a running job writes a checkpoint.
type Strategy uint8

const (
	// ValueOverCost compares what a checkpoint saves with what it takes.
	ValueOverCost Strategy = iota
	// YoungInterval writes one every Young.
	YoungInterval
	// DalyInterval writes one every Daly.
	DalyInterval
)

var strategies = [...]string{"value-over-cost", "young", "daly"}

// String is the spelling in files.
func (s Strategy) String() string { return strategies[s] }

// CheckpointConfig is how the broker decides. DefaultCheckpointConfig has the
// defaults.
type CheckpointConfig struct {
	// Strategy is ValueOverCost.
	Strategy Strategy
	// Bandwidth at which a job writes, in B/s: 10 GiB/s. At 0 the storage is out
	// and writing never ends.
	Bandwidth int64
	// Bytes of a checkpoint, on each GPU, of a job that does not say: 80 GiB.
	Bytes int64
	// Price of keeping one GiB: 0.02.
	Price model.Fixed
	// PFail is the probability that a job which does not say fails before its
	// next checkpoint: 0.001.
	PFail model.Fixed
	// Urgency is what one waiting job of a higher class is worth to a job of
	// class 0: 100 GPU-seconds.
	Urgency model.Duration
	// BacklogScale is what a full backlog is worth on each node: 60 GPU-seconds.
	BacklogScale model.Duration
	// MTBF of one node, for the two intervals; Forever, the default, when
	// unknown.
	MTBF model.Duration
}

// DefaultCheckpointConfig has the figures of Lattice's broker, which documents
// and code share.
func DefaultCheckpointConfig() CheckpointConfig {
	return CheckpointConfig{
		Bandwidth:    10 * gib,
		Bytes:        80 * gib,
		Price:        model.Ratio(2, 100),
		PFail:        model.Ratio(1, 1000),
		Urgency:      100 * model.Second,
		BacklogScale: 60 * model.Second,
		MTBF:         model.Forever,
	}
}

// Validate says what is wrong with c and how to mend it.
func (c *CheckpointConfig) Validate() error {
	switch {
	case c.Strategy > DalyInterval:
		return fmt.Errorf("checkpoints: strategy %d is unknown: use value-over-cost (0), young (1) or daly (2)", c.Strategy)
	case c.PFail > model.One:
		return fmt.Errorf("checkpoints: p_fail is %s: a probability is at most 1", c.PFail)
	}
	return firstBelow("checkpoints", []bound{
		{"bandwidth in B/s", c.Bandwidth, 0},
		{"bytes", c.Bytes, 0},
		{"price", int64(c.Price), 0},
		{"p_fail", int64(c.PFail), 0},
		{"urgency in microseconds", int64(c.Urgency), 0},
		{"backlog_scale in microseconds", int64(c.BacklogScale), 0},
		{"mtbf in microseconds", int64(c.MTBF), 1},
	})
}

// Decision is what is known when it is asked whether a running job should write
// a checkpoint.
type Decision struct {
	Nodes int32
	GPUs  int32 // on each node; nodes without GPUs count as one
	Class int32
	Bytes int64 // of a checkpoint on each GPU; 0 when unknown
	Start model.Time
	// LastCheckpoint is AbsentTime when there is none.
	LastCheckpoint model.Time
	Waiting        int32       // jobs of higher classes
	Backlog        model.Fixed // 0 to 1
	PFail          model.Fixed // negative when unknown
}

// WriteTime is how long the job takes to write, on all its nodes at once.
func (c *CheckpointConfig) WriteTime(d *Decision) model.Duration {
	if c.Bandwidth <= 0 {
		return model.Forever
	}
	return model.Duration(scaled(c.size(d), int64(model.Second), c.Bandwidth))
}

func (c *CheckpointConfig) size(d *Decision) int64 {
	bytes := d.Bytes
	if bytes <= 0 {
		bytes = c.Bytes
	}
	return times(bytes, d.held())
}

// Cost of a checkpoint in GPU-microseconds: the time to write it, the same on
// every GPU that waits meanwhile, and the price of keeping it, one unit of money
// counting as a GPU-second. It saturates.
func (c *CheckpointConfig) Cost(d *Decision) int64 {
	write := int64(c.WriteTime(d))
	keep := model.Fixed(scaled(c.size(d), int64(model.Second), gib)).Mul(c.Price)
	return plus(plus(write, times(write, d.held())), int64(keep))
}

// Value of a checkpoint at now in GPU-microseconds: the work at risk times the
// probability of losing it, the urgency of the jobs that wait (less the higher
// the class of this one), and the relief of the backlog if its nodes came free.
// It saturates.
func (c *CheckpointConfig) Value(d *Decision, now model.Time) int64 {
	p := d.PFail
	if p < 0 {
		p = c.PFail
	}
	risk := model.Fixed(times(int64(d.since(now)), d.held())).Mul(p)
	lower := max(0, model.SensitiveClass-int64(d.Class))
	urgency := times(times(int64(max(d.Waiting, 0)), int64(c.Urgency)), lower) / model.SensitiveClass
	relief := model.Fixed(times(d.nodes(), int64(c.BacklogScale))).Mul(max(d.Backlog, 0))
	return plus(plus(int64(risk), urgency), int64(relief))
}

// Due says whether the job should write a checkpoint at now: never before the
// minimum interval of its policy, always from the maximum on, and in between
// when the value exceeds the cost or, by the other strategies, from their
// interval on.
func (c *CheckpointConfig) Due(d *Decision, p Policy, now model.Time) bool {
	since := d.since(now)
	if p.Min == model.Forever || since < p.Min {
		return false
	}
	if since >= p.Max {
		return true
	}
	switch c.Strategy {
	case YoungInterval:
		return since >= Young(c.WriteTime(d), c.meanTime(d))
	case DalyInterval:
		return since >= Daly(c.WriteTime(d), c.meanTime(d))
	}
	return c.Value(d, now) > c.Cost(d)
}

func (d *Decision) since(now model.Time) model.Duration {
	return max(0, now.Sub(max(d.Start, d.LastCheckpoint)))
}

// meanTime to a failure of the whole job: any of its nodes ends it.
func (c *CheckpointConfig) meanTime(d *Decision) model.Duration {
	if c.MTBF == model.Forever {
		return model.Forever
	}
	return max(c.MTBF/model.Duration(d.nodes()), 1)
}

func (d *Decision) nodes() int64 { return int64(max(d.Nodes, 1)) }
func (d *Decision) held() int64  { return d.nodes() * int64(max(d.GPUs, 1)) }

// Policy bounds the checkpoints of a job. Forever as Min is never, as Max never
// forced.
type Policy struct {
	Min, Max model.Duration // between checkpoints
	Timeout  model.Duration // to write one
	// Deferrals of DeferralTime each that the job may ask for.
	Deferrals    int32
	DeferralTime model.Duration
}

// PolicyOf is Lattice's table of policies: sensitive work writes more often and
// is given more time.
func PolicyOf(ck model.Checkpoint, sensitive bool) Policy {
	p := Policy{Min: model.Forever, Max: model.Forever}
	switch ck {
	case model.CheckpointAuto:
		p = Policy{300 * model.Second, 21_600 * model.Second, 600 * model.Second, 3, 300 * model.Second}
		if sensitive {
			p.Min, p.Max, p.Timeout = 600*model.Second, 3600*model.Second, 900*model.Second
		}
	case model.CheckpointManual:
		p = Policy{0, model.Forever, 600 * model.Second, 5, 300 * model.Second}
	}
	return p
}

// Young is the interval between checkpoints that loses the least time, to first
// order: the root of 2*write*mtbf, rounded down to the microsecond. Forever when
// either is. After J. W. Young, A first order approximation to the optimum
// checkpoint interval, CACM 17(9), 1974.
func Young(write, mtbf model.Duration) model.Duration {
	if write == model.Forever || mtbf == model.Forever {
		return model.Forever
	}
	root := rootOfProduct(2*uint64(max(write, 0)), uint64(max(mtbf, 0)))
	return model.Duration(min(root, uint64(model.Forever)))
}

// Daly is the interval to higher order: with Y the interval of Young, Y +
// write/3 + Y*write/(18*mtbf) - write, and mtbf when writing takes twice that or
// longer; less than 3 us too short. Forever when mtbf is. That is his equation 37 multiplied
// out, from J. T. Daly, A higher order estimate of the optimum checkpoint
// interval for restart dumps, Future Generation Computer Systems 22(3), 2006.
func Daly(write, mtbf model.Duration) model.Duration {
	switch {
	case mtbf == model.Forever:
		return model.Forever
	case write/2 >= mtbf:
		return mtbf
	}
	y := int64(Young(write, mtbf))
	third := scaled(y, int64(write), int64(mtbf)) / 18
	return model.Duration(y - int64(write) + int64(write)/3 + third)
}
