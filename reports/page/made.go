package page

import (
	"strings"

	"orrery/internal/doc"
)

// Made is what made the results of a page, and when. A page has it in its foot, in
// the element with the id made, and nowhere else: all the rest of a page depends on the
// results alone.
type Made struct {
	Version string `json:"version"` // of this program
	Command string `json:"command"`
	Date    string `json:"date"` // UTC
}

// CommandLine writes a command as a shell takes it, where it has no control characters.
func CommandLine(args []string) string {
	if len(args) == 0 {
		return ""
	}
	words := []string{"orrery"}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\$`&|;<>()*?[]#~!{}") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return doc.Escaped(strings.Join(words, " "), "")
}
