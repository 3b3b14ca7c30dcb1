package site_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
)

// A blocked job is told why no job is preempted for it: four jobs of one node each run on four
// nodes, and it wants some of them.
func TestNoVictims(t *testing.T) {
	for _, c := range []struct {
		name   string
		runs   []func(*model.Allocation)
		need   int32
		class  int32
		most   int32
		wanted scheduler.NoVictims
	}{
		{"all are of its class", []func(*model.Allocation){class(5), wall(90000)}, 1, 5, 3, scheduler.VictimsNone},
		{"all are of higher classes", []func(*model.Allocation){class(6), ckpt(model.CheckpointAuto), wall(90000)}, 1, 5, 3, scheduler.VictimsNone},
		{"no checkpoints at a high class", []func(*model.Allocation){class(7), ckpt(model.CheckpointNone), wall(90000)}, 1, 8, 3, scheduler.VictimsProtected},
		{"about to end", []func(*model.Allocation){class(2), wall(300)}, 1, 8, 3, scheduler.VictimsProtected},
		{"four for three", []func(*model.Allocation){class(2), wall(90000)}, 4, 8, 3, scheduler.VictimsTooMany},
		{"three", []func(*model.Allocation){class(2), wall(90000)}, 3, 8, 3, scheduler.VictimsFound},
	} {
		p := fcfs(order.Easy)
		p.Preempts, p.Preemption = true, preempt.DefaultConfig()
		p.Preemption.MaxVictims = c.most
		cfg := alike(4, p)
		s := newStand(t, cfg)
		for range 4 {
			s.submit(0, append(c.runs, size(1))...)
		}
		require.Len(t, s.pass(0), 4, c.name)
		s.submit(10, size(c.need), class(c.class), wall(1000))
		s.plan = s.core.Plan(seconds(10))
		require.Equal(t, scheduler.Answer{Reason: model.ReasonResources, Behind: -1, NoVictims: c.wanted}, s.core.Why(4, seconds(10)).Answer, c.name)
		require.Equal(t, c.wanted == scheduler.VictimsFound, len(s.plan.Proposals) > 0, c.name)
	}
}

// The queue is told in order, with the instants of reservations and of the plan: of four nodes two
// are taken until 1000.
func TestQueueInOrder(t *testing.T) {
	for _, c := range []struct {
		rule order.Backfill
		want []string
	}{
		{order.Easy, []string{"1: job 1 RESOURCES 1000", "2: job 2 PRIORITY -", "3: job 3 RESOURCES -"}},
		{order.Conservative, []string{"1: job 1 RESOURCES 1000", "2: job 2 PRIORITY 2000", "3: job 3 RESOURCES 7000"}},
		{order.FirstFit, []string{"1: job 1 RESOURCES -", "2: job 3 RESOURCES -"}},
	} {
		p := fcfs(c.rule)
		if c.rule == order.Conservative {
			p.Depth = 10
		}
		cfg := alike(4, p)
		s := newStand(t, cfg)
		s.submit(0, size(2), wall(1000))
		s.submit(0, size(4), wall(1000))
		s.submit(0, size(2), wall(5000))
		s.submit(0, size(4), wall(1000))
		s.pass(0)
		var have []string
		for _, x := range s.core.Queue(seconds(5), nil) {
			if x.Position == 0 {
				continue // its start is proposed
			}
			at := "-"
			if x.Start != model.AbsentTime {
				at = fmt.Sprintf("%.0f", model.Duration(x.Start).Seconds())
			}
			have = append(have, fmt.Sprintf("%d: job %d %s %s", x.Position, x.Job, x.Reason, at))
		}
		require.Equal(t, c.want, have, c.rule)
	}
}
