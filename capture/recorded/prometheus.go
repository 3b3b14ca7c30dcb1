package recorded

import (
	"encoding/json"
	"math"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
)

// matrix is what Prometheus answers to query_range.
type matrix struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Type   string `json:"resultType"`
		Result []struct {
			Metric map[string]string    `json:"metric"`
			Values [][2]json.RawMessage `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

// Prometheus reads the answer of /api/v1/query_range, or of /api/v1/query about a range, for metrics that Exposition knows, for
// example of the query {__name__=~"DCGM_FI_.*"}.
func Prometheus(text []byte, o Options) ([]traces.Telemetry, error) {
	var m matrix
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, bad(1, "", err.Error(), "the JSON of query_range")
	}
	if m.Status != "success" || m.Data.Type != "matrix" {
		return nil, bad(1, "", m.Status+" "+m.Data.Type+" "+m.Error, "an answer of query_range: success, with a matrix")
	}
	table := newIndex(o)
	for i, series := range m.Data.Result {
		o.read(int64(len(series.Values)))
		for _, pair := range series.Values {
			at, v, err := point(int64(i+1), pair)
			if err != nil {
				if err := o.unread(err); err != nil {
					return nil, err
				}
				continue
			}
			if err := table.put(int64(i+1), series.Metric["__name__"], series.Metric, at, v); err != nil {
				return nil, err
			}
		}
	}
	return table.end()
}

// point reads a time and its value.
func point(series int64, pair [2]json.RawMessage) (at model.Time, v float64, err error) {
	seconds, err := strconv.ParseFloat(string(pair[0]), 64)
	if err != nil || !(math.Abs(seconds) <= 1<<40) {
		return 0, 0, bad(series, "", string(pair[0]), "s since 1970")
	}
	var number string
	if err := json.Unmarshal(pair[1], &number); err != nil {
		return 0, 0, bad(series, "", string(pair[1]), "a number as text")
	}
	if v, err = strconv.ParseFloat(number, 64); err != nil {
		return 0, 0, bad(series, "", number, "a number")
	}
	return model.Time(math.Round(float64(seconds * 1e6))), v, nil
}
