// Package spelling finds the word that a misspelt one was most likely meant to be, for
// errors that say so. It knows nothing of what the words mean.
package spelling

import "strings"

// longest is how many bytes of a word are compared, so that a text of any length costs
// no more than a long word.
const longest = 64

// Word is the word that s was most likely meant to be: the first with the fewest
// edits, at most a third of its length, or one that s begins. "" is none. Cost: a table
// of 64 by 64 for each word.
func Word(s string, words []string) string {
	best, least := "", 0
	for _, w := range words {
		d := edits(s, w)
		if strings.HasPrefix(w, s) && len(s) > 1 && w != s {
			d = 1
		}
		if d <= max(1, len(w)/3) && d < len(w) && (best == "" || d < least) {
			best, least = w, d
		}
	}
	return best
}

// Hint is " (did you mean WORD?)", "" where there is none, or s is one of the words and
// stands in the wrong place.
func Hint(s string, words []string) string {
	best := Word(s, words)
	if best == "" || best == s {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// edits counts the insertions, deletions, replacements and swaps of neighbours that
// turn a into b (optimal string alignment).
func edits(a, b string) int {
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
