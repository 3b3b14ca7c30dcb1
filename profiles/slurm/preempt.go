package slurm

import (
	"strings"

	"orrery/traces/hostlist"
)

func (c *converter) preemptType(p pair) error {
	c.byQOS, c.preempts = false, false
	switch strings.ToLower(p.value) {
	case "preempt/none", "":
		c.understood(p)
	case "preempt/qos":
		c.byQOS, c.preempts = true, true
		c.approximated(p, "a quality of service has a class above all that it may preempt, and its jobs preempt jobs of any lower class")
	default:
		c.preempts = true
		c.ignored(p, "preemption by partition is not modelled: no job is preempted")
	}
	return nil
}

func (c *converter) preemptMode(p pair) error {
	c.exit = ""
	for _, word := range hostlist.Terms(strings.ToLower(p.value), ",") {
		switch word {
		case "off", "gang", "within", "priority":
		case "requeue", "cancel", "suspend", "checkpoint":
			c.exit = word
		default:
			return c.errorf(p.line, "PreemptMode=%s: want OFF, CANCEL, GANG, REQUEUE, SUSPEND, WITHIN or PRIORITY, apart by commas", p.value)
		}
	}
	switch c.exit {
	case "":
		if strings.EqualFold(p.value, "OFF") {
			c.understood(p)
		} else {
			c.ignored(p, "jobs do not take turns on nodes")
		}
	case "requeue":
		c.understood(p)
	case "cancel":
		c.approximated(p, "a job is not requeued after a failure of its nodes either")
	default:
		c.approximated(p, "victims leave their nodes with their work, and go on wherever there is room")
	}
	return nil
}

// jobRequeue says whether jobs return to the queue after failures of their nodes, and as victims
// of PreemptMode=REQUEUE.
func (c *converter) jobRequeue(p pair) error {
	n, err := c.number(p, 0, 1)
	if err == nil {
		c.noRequeue = n == 0
		c.understood(p)
	}
	return err
}

// exits says how jobs leave whose rows do not say it. Slurm requeues without a limit, and knows
// no checkpoints.
func (c *converter) exits() {
	if c.byQOS {
		c.cluster.JobRequeueMax = unlimitedRequeues
	}
	switch {
	case !c.byQOS:
	case c.exit == "suspend", c.exit == "checkpoint":
		c.cluster.JobCheckpoint = "auto"
	case c.exit == "cancel":
		c.noRequeue = true
	}
	if c.noRequeue {
		c.cluster.JobRequeue = "never"
	}
}

// unlimitedRequeues is more often than any job is requeued.
const unlimitedRequeues = 1e9
