package task

import (
	"fmt"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/traces/transform"
)

// LeastJobs of a window, below which its metrics say nothing.
const LeastJobs = 20

// Divide places count windows over a trace: with a length of 0 as long as they can
// be, one behind the other, after a part as long as each of them that warms the
// cluster up, and before another in which the last jobs leave under load; with a
// length, so many of that length with equal gaps before, between and after them. It
// costs a pass over the rows.
func Divide(set *transform.Set, count int, length model.Duration) ([]metric.Span, error) {
	var out []metric.Span
	if length > 0 {
		spans, err := set.Spans(length, count)
		for _, s := range spans {
			out = append(out, metric.Span{From: s.Begin, To: s.End})
		}
		return out, err
	}
	first, last, ok, err := set.Bounds()
	if err != nil {
		return nil, err
	}
	each := wholeSeconds(int64(last.Sub(first)) / int64(count+2))
	if !ok || each < 1 {
		return nil, fmt.Errorf("%d windows do not fit into the %s between the first and the last submission: take fewer", count, last.Sub(first))
	}
	for i := range count {
		at := first.Add(model.Duration(int64(i+1) * each))
		out = append(out, metric.Span{From: at, To: at.Add(model.Duration(each))})
	}
	return out, nil
}

// wholeSeconds leaves out fractions of seconds of what is a minute or more.
func wholeSeconds(us int64) int64 {
	if us < int64(model.Minute) {
		return us
	}
	return us - us%int64(model.Second)
}

// Around is the window that holds windows, which ascend: with them as parts of the
// task, one replay of all of the trace before its end measures each of them.
func Around(windows []metric.Span, follow model.Duration) *Window {
	return &Window{Begin: windows[0].From, End: windows[len(windows)-1].To, Follow: follow}
}

// Submitted counts the jobs of a trace that are submitted in each window. It costs a
// pass over the rows and 8 bytes a job.
func Submitted(set *transform.Set, windows []metric.Span) ([]int, error) {
	at, err := Submissions(set)
	if err != nil {
		return nil, err
	}
	return SubmittedAt(at, windows), nil
}

// SubmittedAt counts submissions, which ascend, in each window.
func SubmittedAt(at []model.Time, windows []metric.Span) []int {
	out := make([]int, len(windows))
	for i, w := range windows {
		from, _ := slices.BinarySearch(at, w.From)
		to, _ := slices.BinarySearch(at, w.To)
		out[i] = to - from
	}
	return out
}

// EqualJobs divides submissions, which ascend, into n windows of equal numbers of jobs, from
// the first to the last. Jobs that were submitted together stay together. Where that would
// leave a window with less than half of its jobs there is one less.
func EqualJobs(at []model.Time, n int) []metric.Span {
	var begins []model.Time
	last := 0
	for i := range n {
		k, _ := slices.BinarySearch(at, at[i*len(at)/n]) // the first of those that came with it
		if half := len(at) / n / 2; i > 0 && (k == last || k-last < half || len(at)-k < half) {
			continue
		}
		begins, last = append(begins, at[k]), k
	}
	return oneBehindTheOther(begins, at)
}

// EqualLengths divides the time from the first submission to the last, which ascend, into n
// windows, or fewer where it is not so many µs.
func EqualLengths(at []model.Time, n int) []metric.Span {
	if len(at) == 0 {
		return nil
	}
	var begins []model.Time
	first, length := at[0], int64(at[len(at)-1].Sub(at[0]))
	for i := range int64(n) {
		from := first.Add(model.Duration(i * (length / int64(n))))
		if i == 0 || from > begins[len(begins)-1] {
			begins = append(begins, from)
		}
	}
	return oneBehindTheOther(begins, at)
}

// oneBehindTheOther are windows that end where the next begins, the last one behind the last
// submission.
func oneBehindTheOther(begins, at []model.Time) (out []metric.Span) {
	for i, from := range begins {
		to := at[len(at)-1] + 1
		if i+1 < len(begins) {
			to = begins[i+1]
		}
		out = append(out, metric.Span{From: from, To: to})
	}
	return out
}

// Started says whether a trace says of any job when it started. Without that a lead
// cannot begin with what ran then. It costs a pass over the rows at most.
func Started(set *transform.Set) (bool, error) {
	for job, err := range set.Rows() {
		if err != nil {
			return false, err
		}
		if job.Start.OK {
			return true, nil
		}
	}
	return false, nil
}

// Submissions are the times at which the jobs of a trace are submitted, ascending. It
// costs a pass over the rows and 8 bytes a job.
func Submissions(set *transform.Set) ([]model.Time, error) {
	var at []model.Time
	for job, err := range set.Rows() {
		if err != nil {
			return nil, err
		}
		at = append(at, job.Submit)
	}
	slices.Sort(at)
	return at, nil
}
