package history_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/history"
	"orrery/scheduler/model"
	"orrery/traces"
)

const begin = model.Time(1_793_491_200_000_000) // 2026-11-01, µs since 1970

func at(seconds int) model.Time { return begin.Add(model.Duration(seconds) * model.Second) }

// server is a real Prometheus that has kept three hours of two nodes with two GPUs each, scraped every 15 s, and of a power supply of
// one of them. Node n2 was not scraped from 3600 s to 4200 s.
func server(t *testing.T) string {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no prometheus: install the Debian package of that name")
	}
	var text bytes.Buffer
	put := func(name, kind string, value func(second, gpu int) float64) {
		fmt.Fprintf(&text, "# TYPE %s %s\n", name, kind)
		for _, node := range []string{"n1", "n2"} {
			for gpu := range 2 {
				for s := 0; s < 3*3600; s += 15 {
					if node == "n1" || s < 3600 || s >= 4200 {
						fmt.Fprintf(&text, "%s{gpu=\"%d\",Hostname=%q,modelName=\"NVIDIA H100\",instance=\"%s:9400\"} %g %d\n", name, gpu, node, node, value(s, gpu), int64(at(s))/1_000_000)
					}
				}
			}
		}
	}
	put("DCGM_FI_DEV_GPU_UTIL", "gauge", func(s, gpu int) float64 { return float64(s / 15 % 100) })
	put("DCGM_FI_DEV_POWER_USAGE", "gauge", func(s, gpu int) float64 { return float64(100 + gpu*100 + s%60) })
	put("DCGM_FI_DEV_UNRELATED", "gauge", func(s, gpu int) float64 { return 1 })
	text.WriteString("# TYPE node_hwmon_power_average_watt gauge\n")
	for s := 0; s < 3*3600; s += 15 {
		for supply := range 2 {
			fmt.Fprintf(&text, "node_hwmon_power_average_watt{chip=\"acpi\",sensor=\"power%d\",instance=\"n1:9100\"} 700.5 %d\n", supply, int64(at(s))/1_000_000)
		}
	}
	text.WriteString("# EOF\n")
	dir := t.TempDir()
	file := filepath.Join(dir, "metrics")
	require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
	said, err := exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", file, filepath.Join(dir, "data")).CombinedOutput()
	require.NoError(t, err, "%s", said)
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, nil, 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	cmd := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--storage.tsdb.retention.time=100y", "--web.listen-address="+address)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed, and says so
	})
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + address + "/-/ready")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}, time.Minute, 100*time.Millisecond)
	return "http://" + address
}

func query(at string) history.Query {
	return history.Query{URL: at, Select: history.DefaultSelect, From: begin, To: begin.Add(3 * model.Hour), Timeout: 30 * time.Second, MaxBody: 16 << 20}
}

func rows(t *testing.T, q history.Query) ([]traces.Telemetry, *history.Found) {
	t.Helper()
	require.NoError(t, q.Validate())
	var list []traces.Telemetry
	found := history.New()
	require.NoError(t, q.Rows(context.Background(), found, func(r *traces.Telemetry) error {
		list = append(list, *r)
		return nil
	}))
	return list, found
}

// gaps are the records of missing samples.
func gaps(t *testing.T, q history.Query, found *history.Found) (out []string) {
	t.Helper()
	for _, e := range found.Events(&q) {
		r, err := capture.ReadRecord(&e)
		require.NoError(t, err)
		if r.Record == capture.RecordGap {
			out = append(out, fmt.Sprintf("%s at %ds for %ds: %d %s", e.Subject, e.Time.Sub(begin)/model.Second, r.Span/model.Second, r.Samples, r.Reason))
		}
	}
	return out
}

func TestRealPrometheus(t *testing.T) {
	q := query(server(t))
	all, found := rows(t, q)
	require.Len(t, all, 720*5-2*40, "720 scrapes of four GPUs and of one node, less 40 of two GPUs")
	require.Equal(t, []traces.Telemetry{
		{Node: "n1", Time: at(15), Power: traces.Some(1401.0)},
		{Node: "n1", GPU: traces.Some[int32](0), Time: at(15), SMUtil: traces.Some(0.01), Power: traces.Some(115.0)},
		{Node: "n1", GPU: traces.Some[int32](1), Time: at(15), SMUtil: traces.Some(0.01), Power: traces.Some(215.0)},
		{Node: "n2", GPU: traces.Some[int32](0), Time: at(15), SMUtil: traces.Some(0.01), Power: traces.Some(115.0)},
		{Node: "n2", GPU: traces.Some[int32](1), Time: at(15), SMUtil: traces.Some(0.01), Power: traces.Some(215.0)},
	}, all[5:10])
	require.Equal(t, []traces.Node{{Name: "n1", GPUs: 2, GPUModel: "NVIDIA H100", Up: true}, {Name: "n2", GPUs: 2, GPUModel: "NVIDIA H100", Up: true}}, found.Nodes())
	require.Equal(t, []string{"n2/0 at 3600s for 600s: 40 unscraped", "n2/1 at 3600s for 600s: 40 unscraped"}, gaps(t, q, found))

	pieces := q
	pieces.MaxBody = 60_000
	again, more := rows(t, pieces)
	require.Equal(t, all, again, "the pieces in which it is asked for make no difference")
	require.Greater(t, more.Requests, found.Requests)

	part := q
	part.From, part.To = at(3500), at(4210)
	some, found := rows(t, part)
	require.Len(t, some, 47*3+2*(6+1))
	require.Equal(t, gaps(t, part, found), []string{"n2/0 at 3600s for 600s: 40 unscraped", "n2/1 at 3600s for 600s: 40 unscraped"})

	wide := q
	wide.From, wide.To = at(-600), at(3*3600+600)
	same, found := rows(t, wide)
	require.Equal(t, all, same)
	require.Contains(t, gaps(t, wide, found), "n1/0 at -600s for 600s: 40 unscraped")
	require.Contains(t, gaps(t, wide, found), "n1 at 10800s for 600s: 40 unscraped")

	grid := q
	grid.Step = model.Minute
	minutes, found := rows(t, grid)
	require.Len(t, minutes, 180*3+2*(180-5), "the values of 3585 s stand until 3885 s")
	require.Equal(t, []string{"n2/0 at 3900s for 300s: 5 unscraped", "n2/1 at 3900s for 300s: 5 unscraped"}, gaps(t, grid, found))
	require.Equal(t, at(60), minutes[5].Time)

	labelled := q
	labelled.Label, labelled.Select = "instance", `DCGM_FI_DEV_GPU_UTIL{Hostname="n2"}`
	only, _ := rows(t, labelled)
	require.Len(t, only, 2*680)
	require.Equal(t, "n2", only[0].Node)

	wrong := q
	wrong.Select = "{"
	require.ErrorContains(t, wrong.Rows(context.Background(), history.New(), nil), "400 Bad Request")
}

// What is no answer is an error that names neither the query nor a password.
func TestRefused(t *testing.T) {
	status, reply := http.StatusUnprocessableEntity, `{"status":"error","error":"query processing would load too many samples into memory in query execution"}`
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		require.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		w.WriteHeader(status)
		fmt.Fprint(w, reply)
	}))
	defer s.Close()
	q := query(s.URL)
	q.Token = "secret"
	require.ErrorContains(t, q.Rows(context.Background(), history.New(), nil), "too many samples")
	require.Equal(t, 7, asked, "an hour, and halves of it down to a minute")
	status, reply = http.StatusServiceUnavailable, "<html>"
	require.ErrorContains(t, q.Rows(context.Background(), history.New(), nil), "503")
	status, reply = http.StatusOK, "<html>"
	require.ErrorContains(t, q.Rows(context.Background(), history.New(), nil), "JSON of query_range")
	status, reply = http.StatusOK, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0"},"values":[[1793491200,"1"]]}]}}`
	require.ErrorContains(t, q.Rows(context.Background(), history.New(), nil), "do not name a node")
	s.Close()
	err := q.Rows(context.Background(), history.New(), nil)
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "query=")
	for _, bad := range []history.Query{{}, {URL: "ftp://x", To: 1, Select: "x"}, {URL: "http://x", Select: "x"}, {URL: "http://x", To: 1, Select: "x", Step: 1}, {URL: "http://x", To: 1}} {
		require.Error(t, bad.Validate())
	}
}
