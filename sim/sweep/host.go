package sweep

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// origin says where a writer runs, so that another process of the same machine
// sees at once that it is gone. Elsewhere its lease has to run out.
type origin struct {
	Host  string `json:"host"`
	Boot  string `json:"boot,omitempty"`  // this start of the machine; "" where the system does not say
	Space string `json:"space,omitempty"` // the name space in which PID counts
	PID   int    `json:"pid"`
	Start string `json:"start,omitempty"` // of the process, in ticks since Boot
}

// here is the origin of this process.
func here() origin {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	o := origin{Host: host, PID: os.Getpid()}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		o.Boot = strings.TrimSpace(string(boot))
	}
	if space, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		o.Space = space
	}
	o.Start, _ = startOf(o.PID)
	return o
}

// gone says whether the process is known to have ended, as seen from here.
func (o origin) gone(here origin) bool {
	if o.Boot == "" || o.Space == "" || o.Start == "" || o.Host != here.Host || o.Boot != here.Boot || o.Space != here.Space {
		return false
	}
	start, alive := startOf(o.PID)
	return !alive || start != o.Start
}

// startOf reads when a process of this machine started, in ticks since boot. A
// zombie is not alive.
func startOf(pid int) (start string, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The name in parentheses may hold anything; state is the third field,
	// the start the twenty-second.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", false
	}
	return fields[19], true
}

var writers atomic.Int64 // named so far

// newWriterID names a writer, unlike any other anywhere: the host, the process,
// the instant of asking and a count.
func newWriterID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	host = strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, host)
	return fmt.Sprintf("%.64s-%d-%s-%d", host, os.Getpid(), strconv.FormatInt(time.Now().UnixNano(), 36), writers.Add(1))
}
