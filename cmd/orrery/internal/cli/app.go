// Package cli is what all verbs share: the streams of a run, exit codes, tables and documents in the format
// asked for, flags and their values, progress, files that are written whole, and what is found at a path. It
// must not know a verb.
package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"orrery/internal/spelling"
)

// App is the program with everything it takes from its surroundings, so that a
// test can run it in its own process.
type App struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Executable is the program that verify starts twice; "" is the running one.
	Executable string

	Args  []string // of this run
	Logs  LogFlags // of the verb, where it reads raw logs
	Trust []int    // the owners whose files in a study are read too
}

// New is an App of the process it runs in.
func New() *App {
	return &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
}

// Group is the run of a command that only holds others: without arguments it
// shows its help, and a word that none of them answers to is refused.
func Group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if word := spelling.Word(args[0], names); word != "" {
		text += ": did you mean " + word + "?"
	}
	return Usagef("%s", text)
}
