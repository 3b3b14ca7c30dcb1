package sample

import "embed"

//go:embed files/*.yaml
var files embed.FS

// FileNames are the files that stand beside the bundle: the cluster file of the site before
// anything was measured, and an experiment.
var FileNames = []string{"site.yaml", "weights.yaml"}

// File is one of them.
func File(name string) []byte {
	text, err := files.ReadFile("files/" + name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return text
}
