// Command orrery replays captured workload logs through the production
// scheduler core and reports how it did. The packages below turn flags, files and
// signals into calls of the library and its answers into text and exit codes;
// none of them may know how a schedule, a metric or a trace comes about.
package main

import (
	"os"

	"orrery/cmd/orrery/internal/app"
)

func main() { os.Exit(app.Main()) }
