package fidelity

import (
	"encoding/json"
	"fmt"

	"orrery/scheduler/model"
	"orrery/sim/metric"
)

// pair is a key of an object and its value.
type pair struct {
	key   string
	value any
}

// object writes an object with its keys in this order.
func object(pairs []pair) ([]byte, error) {
	out := []byte{'{'}
	for i, p := range pairs {
		value, err := json.Marshal(p.value)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", p.key, err)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), p.key...), '"', ':'), value...)
	}
	return append(out, '}'), nil
}

// pairs are the figures of a row: a measure is its value, and the interval under the same key with _low and
// _high behind it.
func (r *Row) pairs() []pair {
	out := []pair{{"jobs", r.Jobs}, {"mean_wait_recorded_s", r.MeanWait}, {"median_wait_recorded_s", r.MedianWait}, {"p95_wait_recorded_s", r.P95Wait}}
	for _, m := range r.has() {
		out = append(out, r.Measures[m].pairs(m)...)
	}
	return append(out, pair{"notes", listOf(r.Notes)})
}

func (i Interval) pairs(m Measure) []pair {
	return []pair{{m.Key(), i.Value}, {m.Key() + "_low", i.Low}, {m.Key() + "_high", i.High}}
}

// MarshalJSON implements json.Marshaler, of a group.
func (r Row) MarshalJSON() ([]byte, error) {
	return object(append([]pair{{"name", r.Name}}, r.pairs()...))
}

// MarshalJSON implements json.Marshaler.
func (r *Report) MarshalJSON() ([]byte, error) {
	head := []pair{
		{"schema", Schema}, {"trace", r.Trace}, {"trace_hash", r.Hash}, {"spec_id", r.Spec},
		{"rows", r.Rows}, {"left_out", listOf(r.LeftOut)}, {"unheeded", listOf(r.Unheeded)}, {"draws", r.Draws}, {"seed", r.Seed},
		{"resolution_s", float64(r.Resolution) / float64(model.Second)}, {"utilisation_unit", r.Unit},
	}
	return object(append(append(head, r.All.pairs()...), []pair{
		{"by_partition", listOf(r.Partitions)}, {"by_size", listOf(r.Sizes)}, {"by_qos", listOf(r.QOS)}, {"by_user", listOf(r.Users)},
		{"real_spread", r.Spread}, {"conclusions", listOf(r.Conclusions)},
	}...))
}

// listOf is a list that JSON writes as one when it is empty too.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Against is a replay of the first run beside the record of another.
type Against struct {
	Run                                                    string
	WaitError, RankCorrelationWaits, RankCorrelationStarts Interval
}

// MarshalJSON implements json.Marshaler.
func (a Against) MarshalJSON() ([]byte, error) {
	out := append([]pair{{"run", a.Run}}, a.WaitError.pairs(WaitError)...)
	out = append(out, a.RankCorrelationWaits.pairs(RankCorrelationWaits)...)
	return object(append(out, a.RankCorrelationStarts.pairs(RankCorrelationStarts)...))
}

// Between is how far two recorded runs of one workload are apart.
type Between struct {
	A                     string        `json:"a"`
	B                     string        `json:"b"`
	Jobs                  int           `json:"jobs"`                   // that started in both
	MeanWaitDifference    metric.Number `json:"mean_wait_difference_s"` // of B from A
	RelativeDifference    metric.Number `json:"mean_wait_difference"`   // as a part of that of A
	RankCorrelationWaits  metric.Number `json:"rank_correlation_waits"`
	RankCorrelationStarts metric.Number `json:"rank_correlation_starts"`
	PerJob                metric.Number `json:"mean_difference_per_job_s"` // of waits, without sign
}
