package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// A row is written where an answer has changed; that nothing but the next pass is missing is told after a pass only, and so is
// why none is preempted.
func TestAnswersThatAreRecorded(t *testing.T) {
	var l lastAnswer
	answer := func(r model.Reason, behind model.JobID, v scheduler.NoVictims) *scheduler.Answer {
		return &scheduler.Answer{Reason: r, Behind: behind, NoVictims: v}
	}
	for i, c := range []struct {
		a              *scheduler.Answer
		passed         bool
		waits, victims bool
	}{
		{answer(model.ReasonNone, -1, 0), false, false, false},
		{answer(model.ReasonNone, -1, 0), true, true, false},
		{answer(model.ReasonResources, -1, scheduler.VictimsNone), false, true, false},
		{answer(model.ReasonResources, -1, scheduler.VictimsNone), true, false, true},
		{answer(model.ReasonResources, -1, scheduler.VictimsNone), true, false, false},
		{answer(model.ReasonNone, -1, 0), false, false, false},
		{answer(model.ReasonPriority, 3, 0), true, true, false},
		{answer(model.ReasonPriority, 4, 0), false, true, false},
		{answer(model.ReasonResources, -1, scheduler.VictimsNone), true, true, false},
		{answer(model.ReasonResources, -1, scheduler.VictimsFound), true, false, false},
		{answer(model.ReasonResources, -1, scheduler.VictimsNone), true, false, true},
	} {
		waits, victims := l.changes(c.a, c.passed)
		require.Equal(t, [2]bool{c.waits, c.victims}, [2]bool{waits, victims}, i)
	}
	l.begins(true)
	waits, victims := l.changes(answer(model.ReasonNone, -1, scheduler.VictimsTooMany), true)
	require.False(t, waits, "a service that runs")
	require.True(t, victims)
	l.begins(false)
	waits, _ = l.changes(answer(model.ReasonResources, -1, 0), true)
	require.True(t, waits, "it waits again")
}
