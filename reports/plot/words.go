package plot

import (
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// fitted cuts a text that is wider than its room.
func fitted(s string, sty text.Style, room vg.Length) string {
	r := []rune(s)
	for len(r) > 1 && sty.Width(string(r)) > room {
		r = r[:len(r)-1]
		if len(r) > 1 {
			r[len(r)-1] = '…'
		}
	}
	return string(r)
}

// broken parts a name such as weights.wait_time into at most three lines that
// fit: it may end a line after a dot, an underscore, a blank or a hyphen.
func broken(s string, sty text.Style, room vg.Length) []string {
	var words []string
	for rest := s; rest != ""; {
		k := strings.IndexAny(rest, "._ -")
		if k < 0 {
			k = len(rest) - 1
		}
		words = append(words, rest[:k+1])
		rest = rest[k+1:]
	}
	var lines []string
	for _, w := range words {
		if n := len(lines); n > 0 && (n == 3 || sty.Width(lines[n-1]+w) <= room) {
			lines[n-1] += w
			continue
		}
		lines = append(lines, w)
	}
	for i := range lines {
		lines[i] = fitted(strings.TrimSpace(lines[i]), sty, room)
	}
	return lines
}

// wrapped parts a text between words into lines that fit. A word that is too long
// for a line is broken like a name.
func wrapped(s string, sty text.Style, room vg.Length) []string {
	var lines []string
	for _, w := range strings.Fields(s) {
		if n := len(lines); n > 0 && sty.Width(lines[n-1]+" "+w) <= room {
			lines[n-1] += " " + w
			continue
		}
		if sty.Width(w) > room {
			lines = append(lines, broken(w, sty, room)...)
			continue
		}
		lines = append(lines, w)
	}
	return lines
}
