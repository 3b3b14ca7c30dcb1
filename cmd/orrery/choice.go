package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// once is the value of a flag that may be given one time: the last of several
// would win in silence.
type once struct {
	pflag.Value
	given bool
}

// Set implements pflag.Value.
func (o *once) Set(s string) error {
	if o.given {
		return fmt.Errorf("it was given as %s already: give it once", o.Value.String())
	}
	if err := o.Value.Set(s); err != nil {
		return err
	}
	o.given = true
	return nil
}

// onlyOnce lets the flags that hold one value be given once. Switches and lists
// may be repeated.
func onlyOnce(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		_, list := f.Value.(pflag.SliceValue)
		_, already := f.Value.(*once)
		if !list && !already && f.NoOptDefVal == "" {
			f.Value = &once{Value: f.Value}
		}
	})
}

// choice is a flag whose value is one of a few words.
type choice struct {
	word *string
	of   []string
	also []string // spellings that are accepted and not advertised
	what string   // the singular noun of what is chosen
}

// Set implements pflag.Value.
func (c choice) Set(s string) error {
	word := strings.ToLower(strings.TrimSpace(s))
	if !slices.Contains(c.of, word) && !slices.Contains(c.also, word) {
		return fmt.Errorf("unknown %s%s: want %s", c.what, didYouMean(word, c.of), oneOf(c.of))
	}
	*c.word = word
	return nil
}

// String implements pflag.Value.
func (c choice) String() string {
	if c.word == nil {
		return ""
	}
	return *c.word
}

// Type implements pflag.Value: it is what help shows for the value.
func (c choice) Type() string { return strings.Join(c.of, "|") }

// oneOf joins words like "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func didYouMean(word string, of []string) string {
	if near := closest(word, of); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

// closest is the word that s was most likely meant to be: the first with the
// fewest edits, at most a third of its length, or one that s begins.
func closest(s string, words []string) string {
	best, least := "", 0
	for _, w := range words {
		d := edits(s, w)
		if strings.HasPrefix(w, s) && len(s) > 1 {
			d = 1
		}
		if d <= max(1, len(w)/3) && (best == "" || d < least) {
			best, least = w, d
		}
	}
	return best
}

// edits counts the insertions, deletions, replacements and swaps of neighbours
// that turn a into b (optimal string alignment).
func edits(a, b string) int {
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
