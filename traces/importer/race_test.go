//go:build race

package importer

func init() { underRace = true }
