package model

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Time is an instant in microseconds since the epoch of the trace being
// replayed (or since the Unix epoch in a live scheduler). It is an argument
// everywhere below the shells: nothing in the core asks a clock.
type Time int64

// Duration is a span in microseconds.
type Duration int64

// Units of Duration.
const (
	Microsecond Duration = 1
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
	Day                  = 24 * Hour
)

// Never is the instant that does not come and Forever the span without an
// end; arithmetic on them saturates (see Time.Add). Both are legal walltimes:
// a job that states no request has Forever.
const (
	Never   Time     = math.MaxInt64
	Forever Duration = math.MaxInt64
)

// Absent marks a missing instant or span in memory; on disk it is null.
const (
	AbsentTime     Time     = math.MinInt64
	AbsentDuration Duration = math.MinInt64
)

// Add returns t+d, saturating at Never and, to the past, at -Never. Neither operand may be absent.
func (t Time) Add(d Duration) Time {
	s := t + Time(d)
	if t|Time(d) < 0 {
		return t.addToPast(d)
	}
	if s < 0 { // Never and Forever are the largest numbers
		return Never
	}
	return s
}

// addToPast is Add where an operand is negative, which is rare.
func (t Time) addToPast(d Duration) Time {
	if t == Never || d == Forever {
		return Never
	}
	s := t + Time(d)
	if d < 0 && s > t {
		return -Never
	}
	return s
}

// Sub returns t-u, saturating at Forever and -Forever. Never minus anything finite is Forever.
func (t Time) Sub(u Time) Duration {
	if t|u >= 0 && t != Never { // then it cannot overflow
		return Duration(t - u)
	}
	return t.subSaturated(u)
}

func (t Time) subSaturated(u Time) Duration {
	d := Duration(t - u)
	switch {
	case t == Never || u < 0 && Time(d) < t:
		return Forever
	case u > 0 && Time(d) > t:
		return -Forever
	}
	return d
}

// Of is n times the span, as node·µs and GPU·µs are counted; neither is negative. It
// saturates at the largest number.
func (d Duration) Of(n int64) int64 {
	if hi, lo := bits.Mul64(uint64(n), uint64(d)); hi|lo>>63 == 0 {
		return int64(lo)
	}
	return math.MaxInt64
}

// Plus adds amounts that are not negative, saturating at the largest number.
func Plus(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return math.MaxInt64
}

// Grid is the first instant phase + n*cycle, n from 0 on, at or after t; Never stays
// so. cycle must be positive, and phase not negative.
func (t Time) Grid(cycle, phase Duration) Time {
	first := Time(phase)
	if t <= first {
		return first
	}
	past := Duration(t-first) % cycle
	if past == 0 || t == Never {
		return t
	}
	return t.Add(cycle - past)
}

// Ticks are the instants Phase + n*Every, n from 0 on, of a cycle; with an Every of 0 any
// instant is one.
type Ticks struct{ Every, Phase Duration }

// Next is the first of them at or after an instant.
func (t Ticks) Next(at Time) Time {
	if t.Every == 0 {
		return at
	}
	return at.Grid(t.Every, t.Phase)
}

// Whole is a span up to the next multiple of Every, so that it ends at a tick when it begins
// at one.
func (t Ticks) Whole(d Duration) Duration {
	if t.Every == 0 {
		return d
	}
	return Duration(Time(d).Grid(t.Every, 0)) // which keeps Forever
}

// String formats like 2d03:15:07.25, the form in which logs and tables show
// instants and spans; trailing zeros of the fraction are dropped.
func (t Time) String() string {
	switch t {
	case Never:
		return "never"
	case AbsentTime:
		return "-"
	}
	return Duration(t).String()
}

// String formats like 2d03:15:07.25.
func (d Duration) String() string {
	switch d {
	case Forever:
		return "forever"
	case AbsentDuration:
		return "-"
	}
	var b strings.Builder
	u := uint64(d)
	if d < 0 {
		b.WriteByte('-')
		u = uint64(-d)
	}
	if days := u / uint64(Day); days > 0 {
		fmt.Fprintf(&b, "%dd", days)
	}
	s := u % uint64(Day) / uint64(Second)
	fmt.Fprintf(&b, "%02d:%02d:%02d", s/3600, s/60%60, s%60)
	if us := u % uint64(Second); us > 0 {
		b.WriteByte('.')
		b.WriteString(strings.TrimRight(fmt.Sprintf("%06d", us), "0"))
	}
	return b.String()
}

// Seconds returns the span in seconds, rounded to the nearest float64.
func (d Duration) Seconds() float64 { return float64(d) / float64(Second) }

// ParseDuration reads the spellings operators use: Go's (90s, 1h30m, 250ms),
// Slurm's (MM:SS, HH:MM:SS, D-HH:MM:SS, D-HH), the output of String
// (2d03:15:07.25), a count of days (3d), and "forever" or "infinite". A bare
// number is refused, since Slurm means minutes by it and SWF seconds.
func ParseDuration(s string) (Duration, error) {
	in := strings.TrimSpace(s)
	switch strings.ToLower(in) {
	case "":
		return 0, errors.New("empty duration: write for example 90s, 1h30m or 1-02:03:04")
	case "forever", "infinite", "unlimited":
		return Forever, nil
	}
	if isDigits(in) {
		return 0, fmt.Errorf("duration %q has no unit: write %ss for seconds or %sm for minutes", s, in, in)
	}
	neg := strings.HasPrefix(in, "-")
	d, err := parseSpan(strings.TrimPrefix(in, "-"))
	if err != nil {
		return 0, fmt.Errorf("duration %q: %w", s, err)
	}
	if neg {
		d = -d
	}
	return d, nil
}

// maxDays bounds what is read, so that sums of parts do not overflow.
const maxDays = 50_000_000

var errLong = errors.New("too long: at most 50,000,000 days")

var errSpan = errors.New("not a duration: write for example 90s, 1h30m, 02:30:00 or 1-02:03:04")

func parseSpan(s string) (Duration, error) {
	days, rest := int64(0), s
	dashed := false
	if i := strings.IndexByte(s, 'd'); i > 0 && isDigits(s[:i]) {
		n, err := parseDays(s[:i])
		if err != nil {
			return 0, err
		}
		days, rest = n, s[i+1:]
		if rest == "" {
			return Duration(days) * Day, nil
		}
	} else if i := strings.IndexByte(s, '-'); i > 0 && isDigits(s[:i]) {
		n, err := parseDays(s[:i])
		if err != nil {
			return 0, err
		}
		days, rest, dashed = n, s[i+1:], true
	}
	if strings.ContainsRune(rest, ':') || (dashed && isDigits(rest)) {
		d, err := parseClock(rest, dashed)
		return Duration(days)*Day + d, err
	}
	g, err := time.ParseDuration(rest)
	if err != nil {
		return 0, errSpan
	}
	if g%time.Microsecond != 0 {
		return 0, errors.New("finer than a microsecond, the resolution of the clock")
	}
	return Duration(days)*Day + Duration(g/time.Microsecond), nil
}

func parseDays(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > maxDays {
		return 0, errLong
	}
	return n, nil
}

// parseClock reads HH, HH:MM (after a day count), MM:SS or HH:MM:SS, with an
// optional fraction of a second.
func parseClock(s string, dashed bool) (Duration, error) {
	s, frac, hasFrac := strings.Cut(s, ".")
	parts := strings.Split(s, ":")
	unit := []Duration{Hour, Minute, Second}
	if len(parts) == 2 && !dashed {
		unit = unit[1:]
	}
	if len(parts) > len(unit) || (hasFrac && len(parts) != len(unit)) {
		return 0, errSpan
	}
	var d Duration
	for i, p := range parts {
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil || n < 0 || !isDigits(p) {
			return 0, errSpan
		}
		if n > int64(maxDays*Day/unit[i]) {
			return 0, errLong
		}
		if d += Duration(n) * unit[i]; d > maxDays*Day {
			return 0, errLong
		}
	}
	if hasFrac {
		if !isDigits(frac) || len(frac) > 6 {
			return 0, errSpan
		}
		n, _ := strconv.ParseInt((frac + "000000")[:6], 10, 64)
		d += Duration(n)
	}
	return d, nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
