package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"orrery/internal/spelling"
)

// once is the value of a flag that may be given one time: the last of several
// would win in silence. The same value again changes nothing; completion parses the
// words of a line twice.
type once struct {
	pflag.Value
	given bool
	text  string // as it was given
}

// Set implements pflag.Value.
func (o *once) Set(s string) error {
	if o.given && s != o.text {
		return fmt.Errorf("it was given as %s already: give it once", o.Value.String())
	}
	if err := o.Value.Set(s); err != nil {
		return err
	}
	o.given, o.text = true, s
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
		return fmt.Errorf("unknown %s%s: want %s", c.what, spelling.Hint(word, c.of), oneOf(c.of))
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
