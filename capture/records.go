package capture

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
)

// EventKind is the kind of the events that say how telemetry was measured.
const EventKind = "capture"

// Words of Record.Record.
const (
	RecordGap         = "gap"         // samples that were due and are not there
	RecordClock       = "clock"       // the wall clock beside the monotonic one
	RecordInventory   = "inventory"   // what the node is made of, and its fingerprint
	RecordFingerprint = "fingerprint" // it has changed
	RecordAlert       = "alert"       // what an operator should look at
	RecordXID         = "xid"         // an error that the driver reported
	RecordMode        = "mode"        // how much is written from now on
	RecordRemoved     = "removed"     // a bundle that made room for newer ones
	RecordRestart     = "restart"     // a counter that began anew
	RecordBoot        = "boot"        // a node that booted, or did not
	RecordLeftOut     = "left_out"    // values that their columns cannot have, or that the source does not take
)

// Words of Record.Reason of gaps.
const (
	GapHung      = "hung"      // the call of an earlier sample has not come back
	GapLate      = "late"      // the answer came after the next sample was due
	GapLost      = "lost"      // the GPU has fallen off the bus
	GapFailed    = "failed"    // the source answered with an error
	GapBehind    = "behind"    // the disk did not keep up
	GapKilled    = "killed"    // measured, and lost with the file that was being written
	GapStopped   = "stopped"   // no agent ran
	GapSkipped   = "skipped"   // the agent was not given the processor in time
	GapUnwritten = "unwritten" // the bundle could not be written
	GapUnscraped = "unscraped" // of a history: Prometheus has nothing of that time
)

// Record is the value of an event of kind capture.
type Record struct {
	Record  string         `json:"record"`
	Samples int64          `json:"samples,omitempty"` // of gap: how many are missing; of left_out: values
	Span    model.Duration `json:"span_us,omitempty"` // of gap: from the first due to the last due, and one interval
	Reason  string         `json:"reason,omitempty"`  // of gap, alert, restart, removed, left_out

	Wall      int64  `json:"wall_us,omitempty"`      // of clock: µs since 1970 as the system says
	Monotonic int64  `json:"monotonic_us,omitempty"` // of clock: µs since the agent started
	Step      int64  `json:"step_us,omitempty"`      // of clock: by how much the wall clock is ahead of the times in this bundle
	Synced    string `json:"synced,omitempty"`       // of clock: yes, no, or unknown

	Fingerprint string     `json:"fingerprint,omitempty"`
	Changed     []string   `json:"changed,omitempty"`
	Inventory   *Inventory `json:"inventory,omitempty"`

	Alert    string         `json:"alert,omitempty"` // temperature, ecc, hang, lost, failed, answers, records
	Value    float64        `json:"value,omitempty"`
	Code     uint64         `json:"code,omitempty"` // of xid
	Mode     string         `json:"mode,omitempty"`
	Interval model.Duration `json:"interval_us,omitempty"`
	Window   model.Duration `json:"window_us,omitempty"`
	Jitter   model.Duration `json:"jitter_us,omitempty"` // of mode: samples are taken up to so much later than their rows say
	Bundle   string         `json:"bundle,omitempty"`

	// Of boot: that it took between these. Most is 0 where it had not ended. Reason is one of the words for how that is known.
	Least model.Duration `json:"least_us,omitempty"`
	Most  model.Duration `json:"most_us,omitempty"`
}

// Words of Record.Reason of boots.
const (
	BootPowered = "powering_up" // from when the scheduler had it switched on or booted anew until it took work
	BootKernel  = "kernel"      // from the start of its kernel until the scheduler had it back; its firmware is not in it
	BootFailed  = "failed"      // it was given up
)

// Names in the extra of a job that say how long its end took: from the recorded end until its nodes were free.
const (
	CompletingLeast = "completing_least_us"
	CompletingMost  = "completing_most_us"
)

// Event puts a record on a subject at an instant.
func (r *Record) Event(at model.Time, subject string) traces.Event {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // text and finite numbers alone
	}
	return traces.Event{Time: at, Kind: EventKind, Subject: subject, Value: string(text)}
}

// ReadRecord reads the value of an event of kind capture.
func ReadRecord(e *traces.Event) (*Record, error) {
	r := &Record{}
	if err := json.Unmarshal([]byte(e.Value), r); err != nil {
		return nil, &traces.DataError{Found: fmt.Sprintf("the event %s of %s with the value %.40q", e.Kind, e.Subject, e.Value), Expected: "a JSON object with record"}
	}
	return r, nil
}

// Recorded is what a node is made of from an instant on.
type Recorded struct {
	At   model.Time
	Node string
	*Inventory
}

// Inventories are those that events tell, in their order. The error is that of the first record
// that cannot be read; the others are there all the same.
func Inventories(events []traces.Event) (list []Recorded, err error) {
	for i := range events {
		e := &events[i]
		if e.Kind != EventKind {
			continue
		}
		r, wrong := ReadRecord(e)
		if wrong != nil {
			err = cmp.Or(err, wrong)
		} else if r.Record == RecordInventory && r.Inventory != nil {
			list = append(list, Recorded{e.Time, e.Subject, r.Inventory})
		}
	}
	return list, err
}

// Subject is how events name a GPU, or the node for NodeSeries.
func Subject(node string, gpu int32) string {
	if gpu == NodeSeries {
		return node
	}
	return node + "/" + strconv.Itoa(int(gpu))
}
