package prometheus

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/autoscale/lattice"
	"orrery/scheduler/model"
)

func client(t *testing.T, at string, queries ...Query) *Client {
	t.Helper()
	c, err := New(Config{URL: at, Label: "node", Nodes: []string{"n.1", "n.2"}, Queries: queries, Timeout: 2 * time.Second, MaxBody: 1 << 20})
	require.NoError(t, err)
	return c
}

// Whatever a server answers that is no value is a missing sample.
func TestFailuresAreNoMetric(t *testing.T) {
	good := func(v string) string {
		return `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"` + v + `"]}]}}`
	}
	for name, reply := range map[string]string{
		"error": `{"status":"error","error":"bad"}`, "empty": `{"status":"success","data":{"resultType":"vector","result":[]}}`, "garbage": "<html>", "nan": good("NaN"),
		"infinite": good("+Inf"), "word": good("many"), "matrix": `{"status":"success","data":{"resultType":"matrix","result":[]}}`, "long": good(strings.Repeat(" ", 2<<20)), "nothing": "",
		"two":    `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]},{"metric":{"a":"b"},"value":[1,"2"]}]}}`,
		"number": `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,3]}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, reply) }))
			defer s.Close()
			c := client(t, s.URL, Query{Series: "x", Reduce: "avg"})
			facts := c.Facts(context.Background(), 5, time.Unix(2, 0), nil)
			require.Len(t, facts, 1)
			require.True(t, facts[0].Missing)
			require.False(t, facts[0].HasValue())
		})
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); fmt.Fprint(w, good("1")) }))
	defer broken.Close()
	c := client(t, broken.URL, Query{Series: "x", Reduce: "avg"}, Query{Series: "y"})
	facts := c.Facts(context.Background(), 5, time.Unix(2, 0), nil)
	require.Len(t, facts, 3, "one of the whole, and one of each node")
	for _, f := range facts {
		require.True(t, f.Missing)
	}
	require.Equal(t, int64(2), c.Failures())
	require.ErrorContains(t, c.Last(), "503")
}

// Queries are of the nodes of the allocation alone, with names that are regular expressions
// taken as they are.
func TestExpressions(t *testing.T) {
	c := client(t, "http://x")
	require.Equal(t, `avg(avg_over_time(gpu{node=~"n\\.1|n\\.2",job="a\"b"}[60000ms]))`, c.expression(&Query{Series: "gpu", Reduce: "avg", Window: model.Minute, Matchers: []Matcher{{"job", `a"b`}}}, false))
	require.Equal(t, `gpu{node=~"n\\.1|n\\.2"}`, c.expression(&Query{Series: "gpu"}, false))
	require.Equal(t, `min by (node) (timestamp(gpu{node=~"n\\.1|n\\.2"}))`, c.expression(&Query{Series: "gpu"}, true))
	for _, bad := range []Config{
		{URL: "ftp://x"}, {URL: "http://x", Label: "a b"}, {URL: "http://x", Label: "node"}, {URL: "http://x", Label: "node", Nodes: []string{"a"}},
		{URL: "http://x", Label: "node", Nodes: []string{"a"}, Timeout: 1, MaxBody: 1, Queries: []Query{{Series: "x}", Reduce: "avg"}}},
		{URL: "http://x", Label: "node", Nodes: []string{"a"}, Timeout: 1, MaxBody: 1, Queries: []Query{{Series: "x", Reduce: "count"}}},
		{URL: "http://x", Label: "node", Nodes: []string{"a"}, Timeout: 1, MaxBody: 1, Queries: []Query{{Series: "x", Matchers: []Matcher{{"node", "b"}}}}},
	} {
		_, err := New(bad)
		require.Error(t, err)
	}
}

// server starts a real Prometheus that scrapes an exporter of three nodes, whose load the
// test sets.
func server(t *testing.T, load *atomic.Int64) (at string, kill func()) {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("no prometheus: install the Debian package of that name")
	}
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i, n := range []string{"n.1", "n.2", "other"} {
			fmt.Fprintf(w, "gpu_utilization{node=%q} %d\n", n, load.Load()+int64(i)*10)
		}
	}))
	t.Cleanup(exporter.Close)
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, []byte(fmt.Sprintf("global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs: [{job_name: test, static_configs: [{targets: [%q]}]}]\n", strings.TrimPrefix(exporter.URL, "http://"))), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	require.NoError(t, cmd.Start())
	killed := false
	kill = func() {
		if !killed {
			killed = true
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait() // it was killed, and says so
		}
	}
	t.Cleanup(kill)
	return "http://" + address, kill
}

// Against a real Prometheus: samples are of the own nodes alone; a policy scales by them; and
// when the server is killed in mid-run the size stays, and blind evaluations are counted.
func TestRealPrometheus(t *testing.T) {
	var load atomic.Int64
	load.Store(80)
	at, kill := server(t, &load)
	c := client(t, at, Query{Metric: 0, Series: "gpu_utilization", Reduce: "avg"}, Query{Metric: 1, Series: "gpu_utilization"})
	began := time.Now()
	read := func() []autoscale.Fact {
		wall := time.Now()
		return c.Facts(context.Background(), model.Time(wall.Sub(began).Microseconds()), wall, nil)
	}
	require.Eventually(t, func() bool { f := read(); return f[0].HasValue() && f[2].HasValue() }, 60*time.Second, 200*time.Millisecond, "no first sample: %v", c.Last())
	facts := read()
	require.Equal(t, []float64{85, 80, 90}, []float64{facts[0].Value, facts[1].Value, facts[2].Value}, "n.1 and n.2, and not the other")
	require.Equal(t, []autoscale.Entity{autoscale.Whole, 0, 1}, []autoscale.Entity{facts[0].Entity, facts[1].Entity, facts[2].Entity})

	cfg := lattice.Defaults()
	cfg.Min, cfg.Max, cfg.Target = 1, 50, 50
	cfg.Interval, cfg.UpWindow, cfg.Cooldown, cfg.MaxAge = 200*model.Millisecond, 400*model.Millisecond, 200*model.Millisecond, 2*model.Second
	p, err := lattice.New(cfg)
	require.NoError(t, err)
	size := int64(1)
	evaluate := func() (proposed bool) {
		wall := time.Now()
		now := model.Time(wall.Sub(began).Microseconds())
		p.Observe(now, c.Facts(context.Background(), now, wall, nil)[:1])
		for _, x := range p.Plan(now).Proposals {
			proposed = true
			size += x.N
			p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}})
		}
		time.Sleep(200 * time.Millisecond)
		return proposed
	}
	require.Eventually(t, evaluate, 30*time.Second, time.Millisecond, "above the target")
	before := size
	kill()
	failures, blind := c.Failures(), p.Counters().Blind
	for range 12 {
		require.False(t, evaluate(), "no action without a metric")
	}
	require.Equal(t, before, size)
	require.GreaterOrEqual(t, c.Failures(), failures+12)
	require.Greater(t, p.Counters().Blind, blind)
	require.True(t, p.Alerting())
}
