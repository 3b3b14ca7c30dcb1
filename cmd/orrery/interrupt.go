package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // zones of raw files are the same on every computer

	"orrery/internal/disk"
)

// patience is how long a verb may take to end by itself.
const patience = 1500 * time.Millisecond

// inItsProcess runs the program that a process was started as, and returns its exit code.
func inItsProcess() int {
	ctx, stop := interruptible(os.Stderr)
	defer stop()
	return newMain().Run(ctx, os.Args[1:])
}

// interruptible returns a context that the first interrupt cancels, so that
// verbs clean up; the second ends the process at once. A verb that does not look at its
// context in time, in a long pass for instance, is ended too. Either way what it has not
// put in its place is removed.
func interruptible(stderr io.Writer) (context.Context, func()) {
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
		os.Exit(exitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}
