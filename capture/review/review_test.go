package review_test

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/review"
	"orrery/scheduler/model"
	"orrery/traces"
)

func second(n int) model.Time { return model.Time(model.Duration(n) * model.Second) }

// source is one GPU at 1 s: rows at 0 to 3, a gap of two samples, then nothing at 6 and 7, rows at 8 and 9. The energy counter begins
// anew at 8.
func source() review.Source {
	mode := capture.Record{Record: capture.RecordMode, Mode: "debug", Interval: model.Second}
	gap := capture.Record{Record: capture.RecordGap, Samples: 2, Span: 2 * model.Second, Reason: capture.GapLate}
	alert := capture.Record{Record: capture.RecordAlert, Alert: "temperature", Reason: "90 °C"}
	var rows []traces.Telemetry
	for _, at := range []int{0, 1, 2, 3, 8, 9} {
		energy := int64(1_000_000 + at*100_000)
		if at >= 8 {
			energy = int64((at - 8) * 100_000)
		}
		rows = append(rows, traces.Telemetry{Node: "n1", GPU: traces.Some[int32](0), Time: second(at), Power: traces.Some(100 + float64(at)), Energy: traces.Some(energy),
			SMUtil: traces.Some(0.5), Throttle: traces.Some(int64(at % 2 * 4)), Temperature: traces.Some(60 + float64(at))})
	}
	return review.Source{
		Nodes:  []traces.Node{{Name: "n1", GPUs: 1, GPUModel: "X"}},
		Events: []traces.Event{mode.Event(0, "n1"), gap.Event(second(4), "n1/0"), alert.Event(second(9), "n1/0")},
		Telemetry: func() iter.Seq2[*traces.Telemetry, error] {
			return func(yield func(*traces.Telemetry, error) bool) {
				for i := range rows {
					if !yield(&rows[i], nil) {
						return
					}
				}
			}
		},
	}
}

func TestReviewByHand(t *testing.T) {
	sum, err := review.Of(source())
	require.NoError(t, err)
	require.Len(t, sum.Series, 1)
	s := sum.Series[0]
	require.Equal(t, int64(6), s.Rows)
	require.Equal(t, []review.Gap{{Reason: "late", Samples: 2, Times: 1}}, s.Gaps)
	require.Equal(t, 2*model.Second, s.Unaccounted, "6 and 7 are neither rows nor a gap")
	require.Equal(t, int64(1), s.Holes)
	require.Equal(t, []model.Time{0, 0, second(9), second(10)}, []model.Time{s.Due, s.First, s.Last, s.Until})
	require.InDelta(t, (100+101+102+103+108+109)/6.0, s.Power.V, 1e-9)
	require.InDelta(t, 300+103+100+109, s.Energy.V, 1e-9, "by the counter, and by the power of the second in which it began anew and of the last")
	require.Equal(t, []float64{2, 4}, []float64{s.ByPower, s.NoEnergy}, "of 4 to 7 nothing is known, for the counter began anew in that time")
	require.Equal(t, int64(1), s.Restarts)
	require.InDelta(t, 0.5, s.Throttled.V, 1e-9)
	require.Equal(t, 69.0, s.TempMax.V)
	require.False(t, s.SMActive.OK, "what no row has is not known")
	require.Equal(t, []review.Alert{{Time: second(9), Subject: "n1/0", Kind: "temperature", Text: "90 °C"}}, sum.Alerts)
}

// GPU instances are summed up apart: the GPU has what it has without them.
func TestInstancesApart(t *testing.T) {
	alone, err := review.Of(source())
	require.NoError(t, err)
	src := source()
	parts := []traces.Instance{
		{Node: "n1", GPUInstance: 2, UUID: "MIG-b", Profile: "1g.10gb", Time: 0, MemUsed: traces.Some[int64](7)},
		{Node: "n1", GPUInstance: 1, UUID: "MIG-a", Profile: "3g.40gb", Time: 0, MemUsed: traces.Some[int64](5), SMActive: traces.Some(0.2), MemTotal: traces.Some[int64](40)},
		{Node: "n1", GPUInstance: 1, UUID: "MIG-a", Profile: "3g.40gb", Time: second(1), Stat: "mean", Width: traces.Some(3 * model.Second), MemUsed: traces.Some[int64](900), SMActive: traces.Some(0.6)},
		{Node: "n1", GPUInstance: 1, UUID: "MIG-a", Profile: "3g.40gb", Time: second(1), Stat: "max", Width: traces.Some(3 * model.Second), MemUsed: traces.Some[int64](9), SMActive: traces.Some(1.0)},
		{Node: "n1", GPUInstance: 1, UUID: "MIG-c", Profile: "3g.40gb", Time: second(5)},
	}
	src.Instances = func() iter.Seq2[*traces.Instance, error] {
		return func(yield func(*traces.Instance, error) bool) {
			for i := range parts {
				if !yield(&parts[i], nil) {
					return
				}
			}
		}
	}
	sum, err := review.Of(src)
	require.NoError(t, err)
	require.Len(t, sum.Instances, 3, "one that was made anew is another")
	one := sum.Instances[0]
	require.Equal(t, []string{"MIG-a", "MIG-c", "MIG-b"}, []string{one.UUID, sum.Instances[1].UUID, sum.Instances[2].UUID})
	require.InDelta(t, 0.5, one.SMActive.V, 1e-9, "a second of 0.2 and three of 0.6")
	require.Equal(t, []int64{9, 40, 3}, []int64{one.MemMax.V, one.MemTotal.V, one.Rows})
	require.False(t, sum.Instances[2].SMActive.OK, "absent is not 0")
	require.Len(t, sum.Series, 1)
	require.Equal(t, alone.Series[0].Rows, sum.Series[0].Rows)
	require.Equal(t, alone.Series[0].Energy, sum.Series[0].Energy)
	require.Equal(t, alone.Series[0].MemMax, sum.Series[0].MemMax)
}

func TestCurves(t *testing.T) {
	src := source()
	sum, err := review.Of(src)
	require.NoError(t, err)
	curves, err := review.Curves(src, sum, "n1", 0, second(10), 10)
	require.NoError(t, err)
	require.Len(t, curves, 1)
	require.Equal(t, 103.0, curves[0].Values[0][3].V)
	require.False(t, curves[0].Values[0][5].OK, "a gap has no value")
	require.Equal(t, []bool{false, true, false, true, false, false, false, false, false, true}, curves[0].Throttled)
}
