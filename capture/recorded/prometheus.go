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
			seconds, err := strconv.ParseFloat(string(pair[0]), 64)
			if err != nil || math.Abs(seconds) > 1<<40 {
				return nil, bad(int64(i+1), "", string(pair[0]), "s since 1970")
			}
			var number string
			if err := json.Unmarshal(pair[1], &number); err != nil {
				return nil, bad(int64(i+1), "", string(pair[1]), "a number as text")
			}
			v, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return nil, bad(int64(i+1), "", number, "a number")
			}
			if err := table.put(series.Metric["__name__"], series.Metric, model.Time(math.Round(float64(seconds*1e6))), v); err != nil {
				return nil, err
			}
		}
	}
	return table.end(), nil
}
