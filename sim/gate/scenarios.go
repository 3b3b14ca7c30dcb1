package gate

import (
	"embed"
	"io/fs"

	"orrery/profiles"
)

//go:embed scenarios/*.yaml
var scenarios embed.FS

// BuiltinFile is the name of the gate file among Builtin.
const BuiltinFile = "gate.yaml"

// Builtin are the files of the gate that is part of the program: six situations
// that a scheduler has to master, each with a small site of its own.
func Builtin() fs.FS {
	files, err := fs.Sub(scenarios, "scenarios")
	if err != nil {
		panic(err) // it is part of the program
	}
	return files
}

// builtinWork is the part by which the counted work of the gate of the program may
// grow over its baseline.
var builtinWork = profiles.Amount{Number: 5, Unit: "%"}

// HoldToBaseline adds to a gate what a baseline is for: that every run schedules as
// it did when the baseline was stored, and costs no more work. The gate of the
// program asserts limits alone, so it is added where a baseline of it is named.
func HoldToBaseline(g *profiles.Gate) {
	for i := range g.Runs {
		run := g.Runs[i].Name
		g.Exact = append(g.Exact, profiles.GateExact{Run: run})
		g.Counted = append(g.Counted, profiles.GateCounted{Run: run, Relative: builtinWork, Side: "above"})
	}
}
