package profiles

import (
	"fmt"
	"reflect"
	"strings"
)

// retiredKey is a key that files of earlier versions had.
type retiredKey struct {
	in      reflect.Type // the block that had it
	key     string
	was     string // what it said, and until when
	instead string // what to write now; VALUE is what the file has
}

// retired are all of them: files have no version number, their keys say how old they
// are. A file with one is refused, because what it asked for would not happen.
var retired = []retiredKey{
	{
		reflect.TypeFor[Preemption](), "kill_grace",
		"the time from TERM to KILL, until semantics 2",
		"it is one of the whole site now: write agents: {kill_grace: VALUE} in the cluster file",
	},
	{
		reflect.TypeFor[WindowAxis](), "warm",
		"whether a window begins with what the log had running, until studies of tasks 2",
		"write lead: 7d for a replay of a week before each window, from what the log has running then, or nothing for one replay of the whole trace before it",
	},
	{
		reflect.TypeFor[Experiment](), "machine",
		"a cluster of equal nodes, in studies of tasks 3",
		"write plain_cluster: in place of machine:",
	},
	{
		reflect.TypeFor[Experiment](), "shake",
		"arrivals that are jittered, in studies of tasks 3",
		"write jitter: in place of shake:, and in it as_logged: for unshaken:",
	},
	{
		reflect.TypeFor[JitterAxis](), "unshaken",
		"whether arrivals count as they are in the log, in studies of tasks 3",
		"write as_logged: VALUE",
	},
	{
		reflect.TypeFor[GateRun](), "shake",
		"by how much arrivals are jittered, until baselines of schema 3",
		"write jitter: VALUE",
	},
	{
		reflect.TypeFor[GateWindows](), "warm",
		"whether a window begins with what the log had running, until baselines of schema 1",
		"all windows are parts of one replay of the whole trace now: leave it out",
	},
	{
		reflect.TypeFor[GatePaired](), "block",
		"the windows that are resampled together, until baselines of schema 1",
		"intervals find the correlation of windows themselves now: leave it out",
	},
}

// retirement says what became of a key of a block, "" where it never was one. value is
// what the file has for it.
func retirement(in reflect.Type, key, value string) string {
	for _, r := range retired {
		if r.in == in && r.key == key {
			return fmt.Sprintf("is a key of earlier versions (%s): %s", r.was, strings.ReplaceAll(r.instead, "VALUE", value))
		}
	}
	return ""
}
