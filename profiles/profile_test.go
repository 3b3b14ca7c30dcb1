package profiles

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// TestLibraryVectors holds the profiles of the program against the published
// tables, w1 to w9.
func TestLibraryVectors(t *testing.T) {
	const other = ""
	table := []struct {
		name    string
		weights [score.NumFactors]float64
		sum     float64
	}{
		//                          w1   w2   w3   w4   w5   w6   w7   w8   w9
		{"default", [score.NumFactors]float64{.20, .20, .20, .15, .10, .05, 0, 0, .10}, 1},
		{"hpc-batch", [score.NumFactors]float64{.15, .20, .20, .15, .10, .05, 0, .05, .10}, 1},
		{"ml-training", [score.NumFactors]float64{.10, .10, .10, .25, .15, .05, .05, .10, .10}, 1},
		{"service", [score.NumFactors]float64{.15, .05, .10, .05, .10, .05, .10, .10, .30}, 1},
		{"sensitive", [score.NumFactors]float64{.90, 0, 0, 0, 0, 0, 0, 0, .10}, 1},
		{"interactive", [score.NumFactors]float64{.10, .30, .10, 0, .05, .15, 0, 0, .30}, 1},
		{"tuning-baseline", [score.NumFactors]float64{.20, .25, .25, .15, .10, .05, 0, 0, .10}, 1.10},
		{"fairness-boost", [score.NumFactors]float64{.15, .20, .35, .15, .10, .05, 0, 0, .10}, 1.10},
		{"examples-baseline", [score.NumFactors]float64{1.0, .8, .7, .6, .5, .4, .3, .5, .4}, 5.2},
		{"fairness-tuned", [score.NumFactors]float64{.5, 1.5, 2.0, .6, .5, .4, .1, .5, .4}, 6.5},
		{"energy-optimized", [score.NumFactors]float64{.8, .5, .7, .6, .5, .3, 2.0, .8, .4}, 6.6},
		{"ml-training-conformance", [score.NumFactors]float64{.10, .10, .10, .25, .15, .05, .05, .10, .25}, 1.15},
		{"service-conformance", [score.NumFactors]float64{.15, .05, .10, .05, .10, .05, .10, .10, .05}, .75},
		{"interactive-conformance", [score.NumFactors]float64{.10, .30, .10, 0, .05, .15, 0, 0, 0}, .70},
	}
	names := map[string]bool{}
	for _, row := range table {
		p, err := Load(row.name)
		require.NoError(t, err)
		require.Equal(t, row.name, p.Name)
		require.Equal(t, row.weights, p.Weights.vector(), row.name)
		sum := 0.0
		for _, w := range row.weights {
			sum += w
		}
		require.InDelta(t, row.sum, sum, 1e-12, row.name)
		require.NotEqual(t, other, p.Source, row.name)
		require.NotEqual(t, other, p.Description, row.name)
		if math.Abs(sum-1) > 1e-9 {
			require.Contains(t, p.Description, fmt.Sprintf("sum to %.2f", sum), row.name)
		}
		names[row.name] = true
	}
	for _, name := range Names() {
		require.True(t, names[name], "%s is not in the table of this test", name)
	}
	require.Equal(t, "default", Names()[0])
}

func TestProfileDefaults(t *testing.T) {
	p, err := Parse("mine.yaml", []byte("{}"))
	require.NoError(t, err)
	want := Default()
	want.Name = "mine"
	require.Equal(t, string(want.YAML()), string(p.YAML()))
	require.Equal(t, `{"name":"mine"}`, string(p.JSON()))
	require.Equal(t, balanced(), p.Weights)
	require.Equal(t, model.Hour, p.ReferenceWait)
	require.Nil(t, p.MinScore)
	require.Equal(t, "easy", p.Backfill)
	require.Equal(t, model.Duration(0), p.Cycle)
	require.Equal(t, int32(3), p.Preemption.MaxVictims)
	require.Equal(t, 90*model.Day, p.Usage.Window)
}

// TestSameMeaningSameBytes writes one profile in many ways.
func TestSameMeaningSameBytes(t *testing.T) {
	want := `{"name":"x","order":"expansion","backfill":"conservative","bf_window":"1d","cycle":"15s","preemption":{"enabled":true}}`
	for _, text := range []string{
		"name: x\norder: expansion\nbackfill: conservative\nbf_window: 1d\ncycle: 15s\npreemption: {enabled: true}\n",
		"cycle: 15000ms\nname: 'x'\norder: exp\nbackfill: conservative\ndepth: all\nbf_window: 24h\npreemption: {enabled: true, max_victims: 3}\n",
		"# a remark\nname: \"x\"\ndescription: of no effect\norder: exp\nbackfill: conservative\nbf_window: 1-00:00:00\ncycle: 0.25m\npreemption:\n  enabled: true\n  rule: strict\n  timeout: 600s\n",
		want,
	} {
		p, err := Parse("f", []byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, string(p.JSON()), text)
	}
}

func TestProfileErrors(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"weights:\n  fairshar: 1", `p.yaml:2:3: weights.fairshar: there is no such key (did you mean fair_share?): the keys in weights are priority, wait_time`},
		{"weights: [1]", "p.yaml:1:10: weights: found a list, want a block of keys"},
		{"cycle: 15", `p.yaml:1:8: cycle: duration "15" has no unit: write 15s for seconds or 15m for minutes, or event`},
		{"cycle: ~", "p.yaml:1:8: cycle: found nothing, want span"},
		{"cycle: -5s", "p.yaml:1:8: cycle: found -5s, want 0s or more"},
		{"cycle: forever", `p.yaml:1:8: cycle: found "forever", want a span that ends, or event`},
		{"cycle: 10s\nphase: 10s", "p.yaml:2:8: phase: found 10s, want less than the cycle of 10s"},
		{"phase: 1s", "p.yaml:1:8: phase: does not apply with cycle: event: leave it out"},
		{"backfill: esay", `p.yaml:1:11: backfill: found "esay" (did you mean easy?), want none, first-fit, easy, conservative or slurm`},
		{"depth: 5", "p.yaml:1:8: depth: does not apply with backfill: easy: leave it out"},
		{"depth: all", "p.yaml:1:8: depth: does not apply with backfill: easy: leave it out"},
		{"backfill: conservative\ndepth: 1.5", `p.yaml:2:8: depth: found "1.5", want a whole number, or all`},
		{"backfill: conservative\ndepth: 99999999999", "p.yaml:2:8: depth: found 99999999999, which is out of range"},
		{"backfill: conservative\ndepth: 010", `p.yaml:2:8: depth: found "010", want a whole number, or all`},
		{"min_score: -1", "p.yaml:1:12: min_score: found -1, want 0 or more"},
		{"min_score: .nan", `p.yaml:1:12: min_score: found ".nan", want a number, or off`},
		{"min_score: '1'", `p.yaml:1:12: min_score: found the text "1", want number: leave the quotes out`},
		{"order: fcfs\nmin_score: 1", "p.yaml:2:12: min_score: does not apply with order: fcfs: leave it out"},
		{"order: fcfs\nweights: {priority: 1}", "p.yaml:2:10: weights: does not apply with order: fcfs: leave it out"},
		{"multifactor: {age: 1}", "p.yaml:1:20: multifactor.age: does not apply with order: score: leave it out"},
		{"usage: {half_life: 1d}", "p.yaml:1:20: usage.half_life: does not apply with usage.rule: instantaneous: leave it out"},
		{"preemption: {max_victims: 4}", "p.yaml:1:27: preemption.max_victims: does not apply with preemption.enabled: false: leave it out"},
		{"mode: as-coded\nbackfill: easy", "p.yaml:2:11: backfill: does not apply with mode: as-coded: leave it out"},
		{"mode: as-coded\norder: sjf", "p.yaml:2:8: order: found sjf, but the as-coded mode orders by score only"},
		{"weights: {}", "p.yaml:1:10: weights: all weights from"},
		{"mode: as-coded\nweights: {energy: 2000}", "p.yaml:2:10: weights: weight "},
		{"weights: {priority: -0.5}", "p.yaml:1:21: weights.priority: found -0.5, want 0 to 1e9"},
		{"name: a\nname: b", `p.yaml:2:1`},
		{"name: 5", "p.yaml:1:7: name: found 5, want text: put it in quotes"},
		{"name: ''", ""},
		{"name: -x y", `p.yaml:1:7: name: found the name "-x y", want letters`},
		{"weights: &a {priority: 1}", "p.yaml:1:10: weights: found an anchor or alias"},
		{"energy: *a", "p.yaml:1:9"},
		{"<<: {name: x}", "p.yaml:1:1"},
		{"- a", "p.yaml:1:1: found a list, want a block of keys"},
		{"a: b\n---\nc: d", "p.yaml:3:1: a second YAML document begins here, want one"},
		{"a: [", "p.yaml:1:"},
		{"a\tb: \x00", "p.yaml:1:1: found a zero byte, want a YAML file"},
		{"a: \xff", "p.yaml:1:1: found a byte that is not UTF-8 text"},
		{strings.Repeat("[", 500), "p.yaml:1:1: is nested too deeply"},
		{strings.Repeat("- ", 500), "p.yaml:1:1: is nested too deeply"},
	} {
		_, err := Parse("p.yaml", []byte(row.text))
		if row.want == "" {
			require.NoError(t, err, row.text)
			continue
		}
		require.ErrorContains(t, err, row.want, row.text)
	}
}

func TestErrorListsAllWithExcerpts(t *testing.T) {
	_, err := Parse("p.yaml", []byte("name: x\ncycle: soon\nbackfil: easy\nweights:\n  priority: high\n"))
	require.EqualError(t, err, strings.TrimLeft(`
p.yaml:2:8: cycle: duration "soon": not a duration: write for example 90s, 1h30m, 02:30:00 or 1-02:03:04, or event
      1 | name: x
>     2 | cycle: soon
        |        ^
p.yaml:3:1: backfil: there is no such key (did you mean backfill?): the keys here are `+oneOf(keysIn(fieldsOfProfile()))+`
      2 | cycle: soon
>     3 | backfil: easy
        | ^
p.yaml:5:13: weights.priority: found "high", want a number
      4 | weights:
>     5 |   priority: high
        |             ^`, "\n"))
}

func TestLoadSuggests(t *testing.T) {
	_, err := Load("hpc-bach")
	require.ErrorContains(t, err, `there is no profile "hpc-bach" (did you mean hpc-batch?)`)
	_, err = Load("./none.yaml")
	require.ErrorContains(t, err, "none.yaml")
}

// TestRoundTrips reads back what is printed, for every profile of the program.
func TestRoundTrips(t *testing.T) {
	for _, name := range Names() {
		p, err := Load(name)
		require.NoError(t, err)
		roundTrip(t, &p)
	}
	p := Default()
	p.Name, p.Order, p.Multifactor.Age = "slurm", "multifactor", 1000
	roundTrip(t, &p)
	low := 0.25
	p = Default()
	p.Name, p.Mode, p.Description = "coded", "as-coded", "no: \"yes\" #1\nsecond"
	roundTrip(t, &p)
	p.Mode, p.MinScore, p.Energy = "documented", &low, "expected"
	roundTrip(t, &p)
}

func roundTrip(t *testing.T, p *Profile) {
	t.Helper()
	require.NoError(t, p.Validate())
	for _, text := range [][]byte{p.YAML(), p.JSON(), p.FullJSON()} {
		again, err := Parse("again.yaml", text)
		require.NoError(t, err, string(text))
		require.Equal(t, string(p.JSON()), string(again.JSON()))
	}
	again, err := Parse("again.yaml", p.YAML())
	require.NoError(t, err)
	require.Equal(t, string(p.YAML()), string(again.YAML()))
}

func FuzzProfile(f *testing.F) {
	for _, name := range Names() {
		text, err := library.ReadFile("library/" + name + ".yaml")
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"name":"x","min_score":0.5,"weights":{"energy":1}}`))
	f.Add([]byte("a: &x [*x, {<<: *x}]\n? b\n: !!int c\n--- |\n d"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("f.yaml", text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		roundTrip(t, &p)
	})
}
