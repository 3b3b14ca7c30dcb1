// Command orrery replays captured workload logs through the production
// scheduler core and reports how it did. This package turns flags, files and
// signals into calls of the packages below and their answers into text and exit
// codes; it must not know how a schedule, a metric or a trace comes about.
package main

import (
	"os"
)

func main() { os.Exit(inItsProcess()) }
