package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // zones of raw files are the same on every computer

	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/disk"
)

// Main runs the program that a process was started as, and returns its exit code.
func Main() int {
	ctx, stop := Interruptible(os.Stderr)
	defer stop()
	return Run(ctx, cli.New(), os.Args[1:])
}

// patience is how long a verb may take to end by itself.
const patience = 1500 * time.Millisecond

// Interruptible returns a context that the first interrupt cancels, so that
// verbs clean up; the second ends the process at once. A verb that does not look at its
// context in time, in a long pass for instance, is ended too. Either way what it has not
// put in its place is removed.
func Interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		fmt.Fprintln(stderr, "\norrery: stopping; interrupt again to abort at once")
		cancel()
		select {
		case <-signals:
		case <-time.After(patience): // what is being done does not look at its context
			fmt.Fprintln(stderr, "orrery: interrupted; nothing was left half-written")
		}
		disk.Abandon()
		time.Sleep(10 * time.Millisecond) // for what was in the middle of a step
		disk.Abandon()
		os.Exit(cli.ExitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}
