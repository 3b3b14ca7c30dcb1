package recorded_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture/recorded"
	"orrery/scheduler/model"
	"orrery/traces"
)

// A line that lacks what others have, or has a time that cannot be, is one line that cannot be read.
func TestOneOddSample(t *testing.T) {
	const good = `DCGM_FI_DEV_POWER_USAGE{gpu="0",Hostname="n1"} 300 1777593600000` + "\n"
	open := strings.Replace(good, "600000\n", "600\n", 1)
	for name, c := range map[string]struct{ text, says string }{
		"node":          {good + `DCGM_FI_DEV_POWER_USAGE{gpu="2"} 100 1777593600000` + "\n", "no name of a node"},
		"time":          {good + `DCGM_FI_DEV_POWER_USAGE{gpu="2",Hostname="n1"} 100` + "\n", "without a time"},
		"NaN":           {open + strings.Replace(open, " 1777593600", " NaN", 1) + "# EOF\n", "2000 to 2100"},
		"1e300":         {open + strings.Replace(open, " 1777593600", " 1e300", 1) + "# EOF\n", "2000 to 2100"},
		"1970":          {good + strings.Replace(good, "1777593600000", "0", 1), "2000 to 2100"},
		"of other unit": {good + strings.Replace(good, "1777593600000", "1777593600", 1), "OpenMetrics"},
	} {
		_, err := recorded.Exposition([]byte(c.text), recorded.Options{Unread: func(e *traces.DataError) error { return e }})
		require.ErrorContains(t, err, c.says, name)
		var told []*traces.DataError
		rows, err := recorded.Exposition([]byte(c.text), recorded.Options{Unread: func(e *traces.DataError) error { told = append(told, e); return nil }})
		require.NoError(t, err, name)
		require.Len(t, told, 1, name)
		require.Equal(t, int64(2), told[0].Row, name)
		require.Len(t, rows, 1, name)
		require.Equal(t, []any{"n1", traces.Some(300.0), model.Time(1_777_593_600_000_000)}, []any{rows[0].Node, rows[0].Power, rows[0].Time}, name)
	}
	rows, err := recorded.Exposition([]byte(`DCGM_FI_DEV_POWER_USAGE{gpu="2"} 100 1777593600000`+"\n"), recorded.Options{Unread: func(e *traces.DataError) error { return e }})
	require.NoError(t, err, "where none names a node the rows have none, of which whoever writes them complains")
	require.Len(t, rows, 1)
}

// A value of an answer of Prometheus, and a GPU of amd-smi, that cannot be read cost no other.
func TestOneOddValueOfJSON(t *testing.T) {
	left := 0
	o := recorded.Options{Node: "n", At: traces.Some(model.Time(7)), Unread: func(*traces.DataError) error { left++; return nil }}
	const series = `{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0","Hostname":"n"},"values":[[1790000000,"5"],[1e300,"5"],["x","5"],[1790000001,5],[1790000002,"many"]]}`
	rows, err := recorded.Prometheus([]byte(`{"status":"success","data":{"resultType":"matrix","result":[`+series+`]}}`), o)
	require.NoError(t, err)
	require.Equal(t, []int{1, 4}, []int{len(rows), left})
	rows, err = recorded.AMD([]byte(`[{"gpu":0},{"usage":{}}]`), o)
	require.NoError(t, err)
	require.Equal(t, []int{1, 5}, []int{len(rows), left})
}

// An answer of Prometheus is read by its members in any order, and whole.
func TestAnswersOfPrometheus(t *testing.T) {
	series := func(gpu string) string {
		return `{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"` + gpu + `","Hostname":"n"},"values":[[1790000000,"5"]]}`
	}
	for text, says := range map[string]string{
		`{"data":{"stats":{"a":[1]},"result":[` + series("0") + "," + series("1") + `],"resultType":"matrix"},"warnings":["w"],"status":"success"}`: "",
		`{"status":"error","errorType":"bad_data","error":"no such query"}`:                                                                         "no such query",
		`{"status":"success","data":{"resultType":"vector","result":[]}}`:                                                                           "a matrix",
		`{"status":"success","data":{"resultType":"matrix","result":[` + series("0"):                                                                "the JSON of query_range",
		`{"status":"success","data":{"resultType":"matrix","result":[]}} {}`:                                                                        "more behind the answer",
		`[]`: "the JSON of query_range", "": "the JSON of query_range", `{"status":"success","data":{"resultType":"matrix","result":{}}}`: "no list of series",
	} {
		rows, err := recorded.Prometheus([]byte(text), recorded.Options{})
		if says != "" {
			require.ErrorContains(t, err, says, text)
			continue
		}
		require.NoError(t, err)
		require.Len(t, rows, 2)
	}
}
