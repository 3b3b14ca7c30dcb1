package gate

import (
	"embed"
	"io/fs"
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
