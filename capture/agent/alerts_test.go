package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/scheduler/model"
)

// Alerts of the node as a whole are of the node, and not of its first GPU.
func TestAlertsOfTheNode(t *testing.T) {
	w := newWatcher(&Options{HungAfter: time.Second}, []int32{0, capture.NodeSeries}, &capture.Inventory{})
	require.Empty(t, w.silence(1, capture.NodeSeries, model.Time(model.Second), capture.GapHung))
	raised := w.silence(1, capture.NodeSeries, model.Time(3*model.Second), capture.GapHung)
	raised = append(raised, w.reading(1, &capture.Reading{})...)
	require.Len(t, raised, 2)
	require.Equal(t, []string{"hang", "answers"}, []string{raised[0].Kind, raised[1].Kind})
	require.Equal(t, []int32{capture.NodeSeries, capture.NodeSeries}, []int32{raised[0].GPU, raised[1].GPU})
}
