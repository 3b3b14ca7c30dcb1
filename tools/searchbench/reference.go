package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"orrery/sim/search"
)

// cell names a row of the table: a function, its dimensions and the trials of a
// search.
type cell struct {
	function   string
	dimensions int
	trials     int
}

// outcomes are the true values that runs of a tool found, less the least one, by
// seed from 0 on.
type outcomes map[string]map[cell][]float64

// add notes what a run came to. Runs of a cell come in the order of their seeds.
func (o outcomes) add(tool string, at cell, regret float64) {
	if o[tool] == nil {
		o[tool] = map[cell][]float64{}
	}
	o[tool][at] = append(o[tool][at], regret)
}

// read takes a file of outcomes: tool, function, dimensions, trials, seed and
// outcome, with a line of headings. rename may give the tool another name.
func (o outcomes) read(path string, rename func(tool string) string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i, row := range rows[min(1, len(rows)):] {
		if len(row) != 6 {
			return fmt.Errorf("%s: line %d has %d fields; tool, function, dimensions, trials, seed and outcome are expected", path, i+2, len(row))
		}
		dimensions, err1 := strconv.Atoi(row[2])
		trials, err2 := strconv.Atoi(row[3])
		seed, err3 := strconv.Atoi(row[4])
		regret, err4 := strconv.ParseFloat(row[5], 64)
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				return fmt.Errorf("%s: line %d: %w", path, i+2, err)
			}
		}
		tool, at := rename(row[0]), cell{row[1], dimensions, trials}
		if next := len(o[tool][at]); seed != next {
			return fmt.Errorf("%s: line %d: seed %d of %s follows %d others; seeds count from 0 without a gap", path, i+2, seed, tool, next)
		}
		o.add(tool, at, regret)
	}
	return nil
}

// save writes outcomes of some tools as read takes them.
func (o outcomes) save(path string, tools []string, cells []cell) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := csv.NewWriter(file)
	_ = out.Write([]string{"tool", "function", "dimensions", "budget", "seed", "best"})
	for _, tool := range tools {
		for _, c := range cells {
			for seed, regret := range o[tool][c] {
				_ = out.Write([]string{tool, c.function, strconv.Itoa(c.dimensions), strconv.Itoa(c.trials), strconv.Itoa(seed), strconv.FormatFloat(regret, 'g', 9, 64)})
			}
		}
	}
	out.Flush()
	return errors.Join(out.Error(), file.Close())
}

// planted says where the minima of the reference are, by seed.
type planted struct {
	Shift   [][]float64 `json:"shift"`   // of the functions that can be moved, in the unit cube
	Simplex [][]float64 `json:"simplex"` // of the function of weights
	Scale   [][]float64 `json:"scale"`   // of its squares
}

// readPlanted takes the minima by dimensions.
func readPlanted(folder string) (map[int]planted, error) {
	path := filepath.Join(folder, "shifts.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out map[int]planted
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// function is one of the reference, of a seed.
func (p planted) function(name string, seed int) (function, error) {
	if seed >= len(p.Shift) || seed >= len(p.Simplex) || seed >= len(p.Scale) {
		return function{}, fmt.Errorf("the minimum of seed %d is not in shifts.json, which has %d", seed, len(p.Shift))
	}
	d := len(p.Shift[seed])
	if name == inCube {
		weigh := weighted(p.Simplex[seed], p.Scale[seed])
		return function{name: name, space: box(len(p.Simplex[seed]), 0, 1), value: func(u []float64) float64 { return weigh(shares(u)) }}, nil
	}
	if name == "simplex" {
		var parts []string
		for i := range p.Simplex[seed] {
			parts = append(parts, string(rune('a'+i)))
		}
		return function{name: name, space: search.Space{{Name: "w", Kind: search.Simplex, Parts: parts}}, value: weighted(p.Simplex[seed], p.Scale[seed])}, nil
	}
	for _, m := range moved {
		if m.name == name {
			return function{name: name, space: box(d, 0, 1), value: at(p.Shift[seed], m.of), noise: m.noise}, nil
		}
	}
	return function{}, fmt.Errorf("function %q is not known", name)
}
