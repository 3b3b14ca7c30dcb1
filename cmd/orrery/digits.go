package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orrery/profiles"
)

// digits is a flag of a whole number, which is written as in files: the library of flags
// would take 010 for 8 and 0x10 for 16.
type digits struct{ pflag.Value }

var inDigits = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// Set implements pflag.Value.
func (d digits) Set(text string) error {
	if hint := profiles.InDigits(text); hint != "" && !inDigits.MatchString(text) {
		return errors.New("want a whole number" + hint)
	}
	return d.Value.Set(text)
}

// wholeInDigits holds the flags of whole numbers of a command, and of those below it, to digits.
func wholeInDigits(cmd *cobra.Command) {
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			kind := strings.TrimRight(strings.TrimPrefix(f.Value.Type(), "u"), "0123456789") // of lists each number is decimal
			if _, done := f.Value.(digits); !done && kind == "int" {
				f.Value = digits{f.Value}
			}
		})
	}
	for _, c := range cmd.Commands() {
		wholeInDigits(c)
	}
}
