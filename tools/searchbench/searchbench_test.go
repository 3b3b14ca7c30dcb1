package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/search"
)

// TestMinima: each function has its least value where it is said to be, and no less
// at a thousand other points.
func TestMinima(t *testing.T) {
	known := map[string][]float64{
		"hartmann":      {0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573},
		"noisyhartmann": {0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573},
		"levy":          {1, 1, 1, 1, 1, 1, 1, 1},
		"styblinski":    {-2.903534, -2.903534, -2.903534, -2.903534, -2.903534},
		"griewank":      {0, 0, 0, 0, 0, 0},
		"wood":          {1, 1, 1, 1},
		"powell":        {0, 0, 0, 0},
		"helical":       {1, 0, 0},
		"branin":        {9.42477796, 2.475},
	}
	for _, f := range others(3) {
		if v, ok := known[f.name]; ok {
			require.InDelta(t, f.least, f.value(v), 1e-6, f.name)
			delete(known, f.name)
		}
		points, err := search.Sample(f.space, "sobol", 1000, 1)
		require.NoError(t, err)
		for _, v := range points {
			require.GreaterOrEqual(t, f.value(v), f.least-1e-9, f.name)
		}
	}
	require.Empty(t, known)
	p := drawn(4, 2)
	for _, name := range []string{"sphere", "rosenbrock", "ackley", "rastrigin", "noisysphere"} {
		f, err := p.function(name, 1)
		require.NoError(t, err)
		require.InDelta(t, 0, f.value(p.Shift[1]), 1e-9, name)
	}
	f, err := p.function("simplex", 1)
	require.NoError(t, err)
	require.Zero(t, f.value(p.Simplex[1]))
	require.Contains(t, p.Simplex[1], 0.0)
	_, err = p.function("sphere", 2)
	require.ErrorContains(t, err, "seed 2 is not in shifts.json, which has 2")
}

// TestTruths: the volumes that the true fronts dominate, by many points of each.
func TestTruths(t *testing.T) {
	for name, d := range map[string]int{"zdt1": 6, "zdt2": 6, "dtlz2": 7} {
		f, err := frontOf(name, d)
		require.NoError(t, err)
		var costs [][]float64
		const side = 40
		for i := range side * side {
			v := make([]float64, d)
			if name == "dtlz2" {
				for k := range v {
					v[k] = 0.5
				}
				v[1] = float64(i/side) / (side - 1)
			}
			v[0] = float64(i%side) / (side - 1)
			costs = append(costs, f.values(v))
		}
		volume, err := search.Hypervolume(costs, f.reference)
		require.NoError(t, err)
		require.Less(t, volume, f.truth)
		require.InEpsilon(t, f.truth, volume, 0.01, name)
	}
}

// TestTable: the table is the same for any number of workers; rows of an earlier run
// stand beside it, and those of another tool pair by seed.
func TestTable(t *testing.T) {
	folder := t.TempDir()
	oracle := filepath.Join(folder, "oracle", "search")
	require.NoError(t, os.MkdirAll(oracle, 0o750))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(oracle, name), []byte(text), 0o600))
	}
	write("shifts.json", `{"4":{"shift":[[0.3,0.5,0.5,0.6]],"simplex":[[0,0.2,0.2,0.3,0.3]],"scale":[[1,2,3,4,5]]},"9":{"shift":[],"simplex":[],"scale":[]}}`)
	write("single.csv", "tool,function,dimensions,budget,seed,best\n")
	out := filepath.Join(folder, "out.csv")
	o := options{data: folder, functions: "reference", minima: "drawn", methods: []string{"sobol", "random"}, trials: []int{8}, only: "sphere", seeds: 6, workers: 1, out: out, against: "random"}
	var tables []string
	for _, workers := range []int{1, 3} {
		o.workers = workers
		var text bytes.Buffer
		require.NoError(t, o.run(&text))
		tables = append(tables, text.String())
	}
	require.Equal(t, tables[0], tables[1])
	require.Regexp(t, `\| sphere +\| +4 \| +8 \|`, tables[0])
	o.with = out
	var text bytes.Buffer
	require.NoError(t, o.run(&text))
	require.Contains(t, text.String(), "sobol before")

	o = options{data: folder, functions: "reference", minima: "reference", methods: []string{"random"}, trials: []int{8}, seeds: 1, against: "optuna-gp"}
	require.ErrorContains(t, o.run(&text), "the minimum of seed 0 is not in shifts.json")
	write("single.csv", "tool,function,dimensions,budget,seed,best\nx,sphere,4,64,1,3\n")
	require.ErrorContains(t, o.run(&text), "line 2: seed 1 of x follows 0 others")
	write("single.csv", "tool,function,dimensions,budget,seed,best\nx,sphere,4,64,zero,3\n")
	require.ErrorContains(t, o.run(&text), "line 2: ")
	o.only = "nothing"
	write("single.csv", "tool,function,dimensions,budget,seed,best\n")
	require.ErrorContains(t, o.run(&text), `no function is called "nothing"`)
}

func TestDifference(t *testing.T) {
	v, err := difference([]float64{1, 1, 1, 1, 1, 1}, []float64{10, 10, 10, 10, 10, 10, 99})
	require.NoError(t, err)
	require.InDelta(t, -1, v.interval.Estimate, 1e-9)
	require.Equal(t, "6 of 6", v.wins())
	require.Equal(t, "**−1.00 [−1.00, −1.00]**", v.text())
	v, err = difference([]float64{1}, []float64{10})
	require.NoError(t, err)
	require.Empty(t, v.text())
	require.Equal(t, "1 of 1", v.wins())
}

// TestSensitivity: the table of what is known, put into a document between its markers.
func TestSensitivity(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "doc.md")
	require.NoError(t, os.WriteFile(doc, []byte("a\n<!-- measured: known, by x -->\nold\n<!-- end -->\nb\n"), 0o600))
	o := options{functions: "known", doc: doc}
	var text bytes.Buffer
	require.NoError(t, o.run(&text))
	require.Regexp(t, `\| Ishigami \| x2 \| 0\.44\d\d \| 0\.4424 \|.*\| 7\.8\d \[`, text.String())
	b, err := os.ReadFile(doc)
	require.NoError(t, err)
	require.Equal(t, "a\n<!-- measured: known, by x -->\n\n"+text.String()+"\n<!-- end -->\nb\n", string(b))
	o.doc = filepath.Join(filepath.Dir(doc), "empty.md")
	require.NoError(t, os.WriteFile(o.doc, []byte("nothing"), 0o600))
	require.ErrorContains(t, o.run(&text), "has no <!-- measured: known")
}

func TestParseRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"is not a number of trials":     {"-trials", "64,x"},
		"give reference, other, fronts": {"-functions", "odd"},
		"such as bayes:4":               {"-methods", "bayes,bayes:x"},
		"-minima odd: give reference ":  {"-minima", "odd"},
	} {
		_, err := parse(args)
		require.ErrorContains(t, err, want)
	}
}
