package study

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/doc"
	"orrery/reports/internal/reporttest"
	"orrery/reports/page"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// nasty is what a user may call things.
const nasty = `<script>alert("x")</script>'&"</script><img src=x onerror=alert(1)>`

// study is a search of n trials with everything that a page can show.
func study(n int) *Study {
	rng := rand.New(rand.NewPCG(11, 12))
	s := &Study{
		Name: "KTH, spring", Kind: "tune", Verdict: "change the weights", Good: true,
		Summary: []string{"The recommended profile shortens the 95th percentile of waits by 31 % on windows that the search did not see.", "Utilisation stays within its noise."},
		Facts:   []doc.Fact{{Name: "trace", Value: "kth-sp2 (cafe0001)"}, {Name: "budget", Value: fmt.Sprintf("%d trials of 12 windows", n)}},
		Parameters: []Parameter{
			{Name: "weights.wait_time", Kind: KindWeight}, {Name: "weights.job_size", Kind: KindWeight}, {Name: "weights.fair_share", Kind: KindWeight},
			{Name: "backfill", Kind: KindChoice, Choices: []string{"easy", "conservative", "none"}},
			{Name: "reference_wait", Kind: KindReal, Unit: "s", Low: 600, High: 86400, Log: true},
		},
		Metrics: []Metric{
			{Name: "wait_p95", Unit: "s", Direction: Minimise, Objective: true},
			{Name: "utilisation", Share: true, Direction: Maximise, Objective: true},
			{Name: "wait_max", Unit: "s", Direction: Minimise, Bound: &Bound{"<=", 3 * 86400}},
			{Name: "wait_p95 (acceptance)", Unit: "s", Direction: Minimise},
		},
	}
	for i := range n {
		w := []float64{rng.ExpFloat64(), rng.ExpFloat64(), rng.ExpFloat64()}
		sum := w[0] + w[1] + w[2]
		r := Row{ID: fmt.Sprintf("trial %d", i+1), Feasible: true, Link: fmt.Sprintf("runs/%d/report.html", i+1)}
		for k := range w {
			w[k] /= sum
		}
		most := 86400 * (1 + 2.2*rng.Float64()*(1+w[1]))
		wait := 3600 * (2 + 9*math.Abs(w[0]-0.45) + 2*rng.Float64())
		r.Values = metric.Numbers(w[0], w[1], w[2], float64(rng.IntN(3)), 600*math.Pow(144, rng.Float64()))
		r.Metrics = metric.Numbers(wait, 0.9-0.2*math.Abs(w[0]-0.75)-0.02*rng.Float64(), most, wait*(1+0.1*rng.NormFloat64()))
		r.Feasible = most <= 3*86400
		s.Rows = append(s.Rows, r)
	}
	s.markFront()
	base := func(name, role string, wait, use float64) {
		s.Rows = append(s.Rows, Row{
			ID: "base-" + name, Name: name, Role: role, Feasible: true,
			Values: []metric.Number{1. / 3, 1. / 3, 1. / 3, 0, metric.Undefined}, Metrics: metric.Numbers(3600*wait, use, 2*86400, 3600*wait*1.02),
		})
	}
	base("FCFS", RoleBaseline, 9.4, 0.80)
	base("SJF", RoleBaseline, 7.2, 0.82)
	base("production", RoleCurrent, 6.3, 0.833)
	for i := range s.Rows {
		if r := &s.Rows[i]; r.Front {
			r.Role, r.Name, r.Verdict = RoleChosen, "recommended", "better"
			break
		}
	}
	s.Rows[7].Metrics[0], s.Rows[7].State, s.Rows[7].Feasible = metric.Undefined, "overloaded", false
	s.addFindings(n, rng)
	return s
}

func (s *Study) addFindings(n int, rng *rand.Rand) {
	h := History{Metric: "wait_p95", Lines: []HistoryLine{{"production", 6.3 * 3600}, {"FCFS", 9.4 * 3600}}}
	c := HistoryCurve{Name: "cma-es"}
	best := metric.Undefined
	for i := range n {
		if v := s.Rows[i].Metrics[0]; !(best < v) && v.Defined() {
			best = v
		}
		c.Best, c.Each = append(c.Best, best), append(c.Each, s.Rows[i].Metrics[0])
	}
	h.Curves = []HistoryCurve{c}
	s.Histories = []History{h}
	s.Sensitivity = []Sensitivity{{Metric: "wait_p95", Unit: "s", What: "mean change when a setting moves by half its range", Floor: 600, Parts: []SensitivityPart{
		{"weights.wait_time", 5400, 4800, 6100, Active}, {"weights.job_size", 120, 30, 240, Inert},
		{"weights.fair_share", 1800, 400, 3600, Unclear}, {"reference_wait", 2500, metric.Undefined, metric.Undefined, Active},
	}}}
	e := Interaction{Metric: "wait_p95", First: "weights.wait_time", Second: "reference_wait", FirstAt: []float64{0.1, 0.5, 0.9}, SecondAt: []float64{600, 7200, 86400}, JointShare: 0.12, Floor: 600}
	for i := range 3 {
		e.Values = append(e.Values, metric.Numbers(7200*float64(1+i), 9000, 8000+1000*float64(i)))
	}
	s.Interactions = []Interaction{e}
	s.Groups = []GroupChange{
		{"tenant", "physics", 4120, "wait_p95", "s", 24000, 15000, -9900, -7000, "better"},
		{"tenant", "bio", 310, "wait_p95", "s", 9000, 12000, 500, 5100, "worse"},
		{"size", "65-128", 12, "wait_p95", "s", 90000, 88000, metric.Undefined, metric.Undefined, "not enough evidence"},
	}
	for _, title := range []string{"before", "after"} {
		e := ShareSeries{Title: title, Unit: "node", EpochUS: 1_704_067_200_000_000, Known: true, WidthUS: 6 * int64(model.Hour)}
		for k, name := range []string{"physics", "bio", "vision"} {
			line := ShareLine{Name: name, Target: metric.Number(0.5 - 0.15*float64(k))}
			for range 120 {
				line.Shares = append(line.Shares, metric.Number((0.5-0.15*float64(k))*(0.9+0.1*rng.Float64())))
			}
			e.Tenants = append(e.Tenants, line)
		}
		s.Shares = append(s.Shares, e)
	}
}

func studyHTMLOf(t testing.TB, s *Study) string {
	t.Helper()
	require.NoError(t, s.check())
	var b bytes.Buffer
	p, err := s.page(s.figures())
	require.NoError(t, err)
	require.NoError(t, p.HTML(&b))
	return b.String()
}

func TestStudyIsWrittenTwiceAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("draws sixteen figures")
	}
	dir := filepath.Join(t.TempDir(), "study")
	require.NoError(t, Write(dir, study(60), page.Made{Version: "1.0", Command: "orrery tune x", Date: "2026-01-02"}))
	first := map[string][]byte{}
	names := []string{page.FileHTML, fileName}
	for _, f := range []string{"pareto", "parallel", "settings", "history", "sensitivity", "interaction", "shares", "shares-2"} {
		names = append(names, page.DirFigures+"/"+f+".svg", page.DirFigures+"/"+f+".png")
	}
	for _, n := range names {
		first[n] = reporttest.Read(t, dir, n)
	}
	again, err := Read(filepath.Join(dir, fileName))
	require.NoError(t, err)
	require.NoError(t, Write(dir, again, page.Made{Version: "1.0", Command: "orrery tune x", Date: "2026-01-02"}), "drawn from its own file")
	for _, n := range names {
		require.True(t, bytes.Equal(first[n], reporttest.Read(t, dir, n)), n)
	}
	require.Equal(t, filepath.Join(dir, fileName), In(dir))
	require.Equal(t, filepath.Join(dir, fileName), In(filepath.Join(dir, fileName)))
	require.Empty(t, In(reporttest.TempRun(t, reporttest.Tiny("fcfs"))))
	require.Empty(t, In(filepath.Join(dir, "absent")))
}

// TestStudyEscapesWhatUsersWrote puts markup wherever a text may stand.
func TestStudyEscapesWhatUsersWrote(t *testing.T) {
	s := study(20)
	s.Name, s.Kind, s.Verdict, s.Summary, s.Warn = nasty, nasty, nasty, []string{nasty}, []string{nasty}
	s.Facts = []doc.Fact{{Name: nasty, Value: nasty}}
	s.Parameters[0].Name, s.Parameters[0].Unit, s.Parameters[3].Choices[0] = nasty, nasty, nasty
	s.Metrics[0].Name, s.Metrics[0].Unit = nasty+"2", nasty
	for i := range s.Rows {
		s.Rows[i].ID, s.Rows[i].Name, s.Rows[i].Verdict, s.Rows[i].State, s.Rows[i].Link = nasty+fmt.Sprint(i), nasty, nasty, nasty, "runs/"+nasty
	}
	s.Groups[0].Name, s.Groups[0].By, s.Groups[0].Verdict = nasty, nasty, nasty
	s.Sensitivity[0].Metric, s.Sensitivity[0].What, s.Sensitivity[0].Parts[0].Parameter = nasty, nasty, nasty
	s.Interactions[0].First, s.Interactions[0].Metric = nasty, nasty
	s.Histories[0].Curves[0].Name, s.Histories[0].Lines[0].Name, s.Histories[0].Metric = nasty, nasty, nasty
	s.Shares[0].Title, s.Shares[0].Tenants[0].Name, s.Shares[0].Unit = nasty, nasty, nasty
	html := studyHTMLOf(t, s)
	require.NotContains(t, html, "<script>alert")
	require.NotContains(t, html, "<img")
	require.Len(t, regexp.MustCompile(`<script[^>]*>`).FindAllString(html, -1), 2, "the data and our own script")
}

func TestStudyPageAsksForNothing(t *testing.T) {
	html := studyHTMLOf(t, study(20))
	require.Contains(t, html, `content="default-src &#39;none&#39;; img-src data:`)
	require.NotRegexp(t, `(src|href)="(https?:)?//`, html)
	require.NotContains(t, html, "@import")
}

func TestLargeStudyMakesASmallPage(t *testing.T) {
	if testing.Short() {
		t.Skip("draws 5,000 rows")
	}
	html := studyHTMLOf(t, study(5000))
	require.Less(t, len(html), 3<<20)
	t.Logf("5,000 rows: %d kB", len(html)>>10)
}

func TestEmptyStudies(t *testing.T) {
	for _, s := range []*Study{
		{Name: "nothing yet", Kind: "sweep"},
		{Name: "no rows", Kind: "sweep", Parameters: study(8).Parameters, Metrics: study(8).Metrics},
		{Name: "no parameters", Kind: "sweep", Metrics: []Metric{{Name: "wait_mean", Unit: "s"}}, Rows: []Row{{ID: "1", Metrics: metric.Numbers(3)}}},
		{Name: "nothing defined", Kind: "search", Metrics: []Metric{{Name: "a", Direction: Minimise, Objective: true}, {Name: "b", Direction: Minimise, Objective: true}},
			Rows: []Row{{ID: "1", Metrics: []metric.Number{metric.Undefined, metric.Undefined}}}},
	} {
		require.Contains(t, studyHTMLOf(t, s), "</html>", s.Name)
	}
}

func TestStudyChecks(t *testing.T) {
	for want, spoil := range map[string]func(s *Study){
		"no name":                                    func(s *Study) { s.Name = "" },
		"schema 9, where this program knows 2":       func(s *Study) { s.Schema = 9 },
		`kind of parameter backfill is "list"`:       func(s *Study) { s.Parameters[3].Kind = "list" },
		"give each a name of its own":                func(s *Study) { s.Parameters[1].Name = s.Parameters[0].Name },
		"a choice without choices":                   func(s *Study) { s.Parameters[3].Choices = nil },
		"the first must not be larger":               func(s *Study) { s.Parameters[4].Low = 0 },
		"objective wait_p95 has no direction":        func(s *Study) { s.Metrics[0].Direction = "" },
		`direction of metric wait_max is "less"`:     func(s *Study) { s.Metrics[2].Direction = "less" },
		`relation of the bound on wait_max is "<"`:   func(s *Study) { s.Metrics[2].Bound.Relation = "<" },
		"give each an id of its own":                 func(s *Study) { s.Rows[1].ID = s.Rows[0].ID },
		"row trial 1 has 4 values and 4 metrics":     func(s *Study) { s.Rows[0].Values = s.Rows[0].Values[1:] },
		`role of row trial 1 is "best"`:              func(s *Study) { s.Rows[0].Role = "best" },
		"row trial 1 has 3 for backfill":             func(s *Study) { s.Rows[0].Values[3] = 3 },
		`row trial 1 links to "javascript:alert(1)"`: func(s *Study) { s.Rows[0].Link = "javascript:alert(1)" },
		`row trial 2 links to "//host/x"`:            func(s *Study) { s.Rows[1].Link = "//host/x" },
		"3 values beside 30 trials":                  func(s *Study) { s.Histories[0].Curves[0].Each = metric.Numbers(1, 2, 3) },
		"an interval with one end":                   func(s *Study) { s.Histories[0].Curves[0].Low = s.Histories[0].Curves[0].Best },
		`influence of reference_wait on wait_p95`:    func(s *Study) { s.Sensitivity[0].Parts[3].Influence = "" },
		"interaction of weights.wait_time":           func(s *Study) { s.Interactions[0].Values[0] = nil },
		"within two centuries of 1970":               func(s *Study) { s.Shares[0].EpochUS = 1 << 62 },
		"a grid of 41 by 3":                          func(s *Study) { s.Interactions[0].FirstAt = make([]float64, 41) },
		"stretches of 0 µs":                          func(s *Study) { s.Shares[0].WidthUS = 0 },
		`tenant "bio" has 0 stretches`:               func(s *Study) { s.Shares[0].Tenants[1].Shares = nil },
	} {
		s := study(30)
		require.NoError(t, s.check())
		spoil(s)
		require.ErrorContains(t, s.check(), want)
		require.Error(t, Write(t.TempDir(), s, page.Made{}))
	}
}

func TestReadStudyRefusesDamage(t *testing.T) {
	good, err := study(8).json()
	require.NoError(t, err)
	for name, raw := range map[string]string{
		"not JSON": "{", "more after its end": string(good) + "{}", "unknown field": strings.Replace(string(good), `"kind"`, `"kin"`, 1), "empty": "",
	} {
		path := filepath.Join(t.TempDir(), "s.json")
		require.NoError(t, os.WriteFile(path, []byte(raw), 0o644))
		_, err := Read(path)
		var bad *record.DataError
		require.True(t, errors.As(err, &bad), name)
	}
	_, err = Read(filepath.Join(t.TempDir(), "absent.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzReadStudy(f *testing.F) {
	good, err := study(8).json()
	require.NoError(f, err)
	f.Add(good)
	f.Add([]byte(`{"name":"a","rows":[{"id":"1","values":[],"metrics":[null]}],"metrics":[{"name":"x","direction":"minimise","objective":true}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "s.json")
		require.NoError(t, os.WriteFile(path, raw, 0o644))
		s, err := Read(path)
		if err != nil {
			return
		}
		for _, fig := range s.figures() {
			require.NoError(t, fig.WriteSVG(&bytes.Buffer{}))
		}
		p, err := s.page(nil)
		require.NoError(t, err)
		require.NoError(t, p.HTML(&bytes.Buffer{}))
	})
}

// TestDocsDescribeTheStudy looks for every key of report.json, and every
// figure, in REPORTS.md.
func TestDocsDescribeTheStudy(t *testing.T) {
	docs := string(reporttest.Read(t, "..", "..", "docs", "REPORTS.md"))
	raw, err := study(8).json()
	require.NoError(t, err)
	for _, key := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(raw), -1) {
		require.Contains(t, docs, "`"+key[1]+"`")
	}
	for _, f := range study(8).figures() {
		name, _, _ := strings.Cut(f.Name, "-")
		require.Contains(t, docs, "`"+name+"`")
	}
	for _, name := range []string{"gantt-moves", "shares-by-tenant", "utilisation", "wait-cdf", "slowdown-by-size", "waits-by-hour", "gantt"} {
		require.Contains(t, docs, "`"+name+"`")
	}
}

func TestMarkFront(t *testing.T) {
	s := &Study{
		Name: "a", Kind: "sweep",
		Metrics: []Metric{{Name: "wait", Direction: Minimise, Objective: true}, {Name: "x"}, {Name: "use", Direction: Maximise, Objective: true}},
	}
	for _, c := range []struct {
		wait, use metric.Number
		refused   bool
	}{
		{10, 0.8, false},
		{20, 0.9, false},
		{20, 0.85, false}, // as long, and less used
		{10, 0.8, false},  // the same twice: neither is better
		{5, 0.95, true},   // breaks a bound, and dominates none
		{metric.Undefined, 0.99, false},
	} {
		s.Rows = append(s.Rows, Row{ID: fmt.Sprint(len(s.Rows)), Metrics: []metric.Number{c.wait, 0, c.use}, Feasible: !c.refused})
	}
	s.markFront()
	var got []bool
	for i := range s.Rows {
		got = append(got, s.Rows[i].Front)
	}
	require.Equal(t, []bool{true, true, false, true, false, false}, got)
}

func TestEffectsWithoutANoiseFloorAreDrawn(t *testing.T) {
	e := study(20).Sensitivity[0]
	var drawn []string
	for _, floor := range []metric.Number{0, metric.Undefined} {
		e.Floor = floor
		var b bytes.Buffer
		require.NoError(t, sensitivityFigure("sensitivity", e).WriteSVG(&b))
		drawn = append(drawn, b.String())
	}
	require.Equal(t, drawn[0], drawn[1])
	require.NotContains(t, drawn[1], "NaN")
}
