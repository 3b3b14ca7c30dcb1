package fit

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// State is what a GPU does.
type State uint8

// States of a GPU.
const (
	StateIdle   State = iota // no process
	StateHeld                // a process holds memory, and no kernel runs
	StateActive              // a job is at work
)

// Sample is one reading of power.
type Sample struct {
	At    int64 // µs
	Watts float64
}

// Span is a time in which a GPU is in one state.
type Span struct {
	GPU      int // numbered from 0
	State    State
	Job      int // of StateActive, numbered from 0; a job has one span or more, on one GPU or more
	Class    int // of the job, numbered from 0
	From, To int64
	Samples  []Sample // ascending; those outside From to To are not read
}

// Sensor is what is known of the sensor that took the readings: reading = Gain · power + Offset.
type Sensor struct {
	Period, Window model.Duration // a new reading each Period, the mean over Window before it
	Gain           hwmodel.Band   // 95 % interval where Metered, else the range that cards lie in
	Offset         hwmodel.Band   // W
	Metered        bool           // Gain is from a meter
}

// cardGain is how far gains of cards lie from 1 where no meter was there: within 6 %, unknown in
// sign (JimZeyuYang/GPU_Power_Benchmark, cards of the data centre).
const cardGain = 0.06

// Unmetered is a sensor whose gain no meter has told.
func Unmetered(period, window model.Duration) Sensor {
	return Sensor{Period: period, Window: window, Gain: hwmodel.Band{Value: 1, Low: 1 - cardGain, High: 1 + cardGain}}
}

// Validate says what a sensor lacks.
func (s *Sensor) Validate() error {
	if s.Period < 0 || s.Window < 0 || s.Period > model.Hour || s.Window > model.Hour {
		return fmt.Errorf("sensor: found a period of %v and a window of %v, want times from 0 to 1h", s.Period, s.Window)
	}
	if err := s.Gain.Validate("gain of the sensor"); err != nil {
		return err
	}
	if !(s.Gain.Low > 0.2) || s.Gain.High > 5 {
		return fmt.Errorf("gain of the sensor: found %v to %v, want numbers from 0.2 to 5", s.Gain.Low, s.Gain.High)
	}
	return s.Offset.Validate("offset of the sensor")
}

// corrected is an estimate of readings turned into one of power. The error of a gain that was
// measured is independent of that of the readings. One that is known as a range alone adds its
// whole range.
func (s *Sensor) corrected(e Estimate) Estimate {
	of := func(x float64) float64 { return (x - s.Offset.Value) / s.Gain.Value }
	out := e
	out.Value = of(e.Value)
	out.Spread = Range{of(e.Spread.Low), of(e.Spread.High)}
	out.Valid = Range{of(e.Valid.Low), of(e.Valid.High)}
	out.Of = make([]float64, len(e.Of))
	for i, x := range e.Of {
		out.Of[i] = of(x)
	}
	if !s.Metered {
		low, high := e.Low-s.Offset.High, e.High-s.Offset.Low
		out.Low = min(low/s.Gain.High, low/s.Gain.Low) // a reading may lie below the offset
		out.High = max(high/s.Gain.Low, high/s.Gain.High)
		return out
	}
	below, above := of(e.Value)-of(e.Low), of(e.High)-of(e.Value)
	lowest, highest := (e.Value-s.Offset.Value)/s.Gain.High, (e.Value-s.Offset.Value)/s.Gain.Low // in either order
	shiftUp, shiftDown := (s.Offset.Value-s.Offset.Low)/s.Gain.Value, (s.Offset.High-s.Offset.Value)/s.Gain.Value
	out.Low = out.Value - math.Sqrt(below*below+(out.Value-lowest)*(out.Value-lowest)+shiftDown*shiftDown)
	out.High = out.Value + math.Sqrt(above*above+(highest-out.Value)*(highest-out.Value)+shiftUp*shiftUp)
	return out
}

// Corrected is a figure of readings turned into one of power, with the error of the sensor in its
// interval.
func (s *Sensor) Corrected(f Figure) Figure {
	if f.Known() {
		f.Estimate = s.corrected(f.Estimate)
	}
	return f
}

// StateFit is what a type of GPU draws by state, in W.
type StateFit struct {
	Idle, Held Figure // medians over spans of one GPU, over GPUs (of two to five the mean), or over parts of few spans
	Active     Figure // median over jobs of all classes
	Classes    []ClassDraw
	Counts     StateCounts
}

// ClassDraw is what jobs of a class draw on one GPU. The draw of a job is its mean over time.
type ClassDraw struct {
	Class  int
	Median Figure // over jobs; its Spread is for a further job
	Mean   Figure // over jobs
}

// StateCounts are what was read and what was not.
type StateCounts struct {
	Spans, Samples int
	Invalid        int // samples below 0 W or without a number
	Settling       int // samples whose window reaches back before the span
	Repeated       int // samples that show the reading of the one before
	Outliers       int // readings that differ from their neighbours alone
	Gaps           int // pauses of five usual steps or more
	Short          int // spans with fewer than 5 readings left
}

const (
	leastReadings = 5
	gapSteps      = 5
)

// States fits what GPUs of one type draw.
//
// Readings of one span depend on each other, and a sensor shows each several times. So the
// median of a span, or of 5 minutes of it, is one unit of the idle and held draw. Where fewer than six are there,
// their parts are: the figure is then that of these spans alone, and its Units say so. The unit of the
// active draw is the job: jobs differ from one another by far more than readings of one job do.
func States(spans []Span, sensor Sensor) (StateFit, error) {
	var out StateFit
	if err := sensor.Validate(); err != nil {
		return out, err
	}
	var rest [2][]restSpan // of StateIdle and StateHeld
	jobs := map[int]*jobDraw{}
	for i := range spans {
		s := &spans[i]
		if err := s.validate(); err != nil {
			return out, fmt.Errorf("span %d: %w", i, err)
		}
		out.Counts.Spans++
		readings := readingsOf(s, &sensor, &out.Counts)
		if len(readings) < leastReadings {
			out.Counts.Short++
			continue
		}
		if s.State != StateActive {
			rest[s.State] = append(rest[s.State], restSpan{s.GPU, s.From, s.To, readings})
			continue
		}
		if jobs[s.Job] == nil {
			jobs[s.Job] = &jobDraw{class: s.Class}
		}
		if jobs[s.Job].class != s.Class {
			return out, fmt.Errorf("span %d: found job %d in class %d, want class %d as before", i, s.Job, s.Class, jobs[s.Job].class)
		}
		joules, seconds := energy(readings)
		jobs[s.Job].joules += joules
		jobs[s.Job].seconds += seconds
	}
	out.Idle = restFigure("idle draw", rest[StateIdle], &sensor, "record some minutes without a job on each of six GPUs, or six spans of a GPU")
	out.Held = restFigure("held draw", rest[StateHeld], &sensor, "let a process hold memory without work (such as a notebook) for a minute, six times or on six GPUs")
	out.classes(jobs, &sensor)
	return out, nil
}

func (s *Span) validate() error {
	switch {
	case s.State > StateActive:
		return fmt.Errorf("found state %d, want 0 to 2", s.State)
	case s.GPU < 0 || s.State == StateActive && (s.Job < 0 || s.Class < 0):
		return fmt.Errorf("found GPU %d, job %d of class %d, want numbers from 0", s.GPU, s.Job, s.Class)
	case s.From >= s.To || s.To-s.From < 0:
		return fmt.Errorf("found it from %d to %d µs, want an end after the start", s.From, s.To)
	}
	for i := 1; i < len(s.Samples); i++ {
		if s.Samples[i].At < s.Samples[i-1].At {
			return fmt.Errorf("sample %d: found %d µs after %d, want ascending times", i, s.Samples[i].At, s.Samples[i-1].At)
		}
	}
	return nil
}

// jobDraw is the energy of a job over the time that was read, on all its GPUs.
type jobDraw struct {
	class           int
	joules, seconds float64
}

func (out *StateFit) classes(jobs map[int]*jobDraw, sensor *Sensor) {
	byClass := map[int][]float64{}
	var all []float64
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		j := jobs[id]
		watts := j.joules / j.seconds
		byClass[j.class], all = append(byClass[j.class], watts), append(all, watts)
	}
	const obtain = "record more jobs of the class, one at a time on a GPU"
	figure := func(what string, of func([]float64, string) Estimate, watts []float64) Figure {
		if len(watts) < leastMedian {
			return few(watts, "jobs", fewer(what, len(watts), leastMedian, "jobs", obtain))
		}
		return Figure{Estimate: sensor.corrected(of(watts, "jobs"))}
	}
	out.Active = figure("active draw", middle, all)
	for _, c := range slices.Sorted(maps.Keys(byClass)) {
		out.Classes = append(out.Classes, ClassDraw{c, figure("active draw of a class", middle, byClass[c]), figure("mean active draw of a class", average, byClass[c])})
	}
}
