package swf

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"orrery/traces"
)

// FuzzImport feeds the parser with anything: it neither panics nor hangs, its
// counts add up, what it refuses it refuses with a DataError, and what it keeps
// survives an export and a second import.
func FuzzImport(f *testing.F) {
	f.Add([]byte(line(nil) + "\n"))
	f.Add([]byte("; UnixStartTime: 843480031\n; MaxProcs: 100\n" + line(map[int]string{2: "7.25", 6: "1.5"})))
	f.Add([]byte(line(nil) + " 0.317\n" + line(map[int]string{2: "-1"}) + " 1e-3"))
	f.Add([]byte("0 1356996147 0 56011 64 1 1024 64 86400 68719476736 1 62 1 1 -1 1 1 1 {1} q_1d 1:ppn=64\n"))
	f.Add([]byte(line(map[int]string{1: "1", 2: "9"}) + "\r\n\t" + line(map[int]string{4: "-1", 11: "5"})))
	f.Add([]byte("1001;0;-1;15;12;-1"))
	f.Add([]byte("\x00\xff; \n1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
		l, err := Scan("fuzz.swf", open, traces.BadRows{})
		if err != nil {
			var data *traces.DataError
			if !errors.As(err, &data) {
				t.Fatalf("refused without a DataError: %v", err)
			}
			return
		}
		r := l.Report()
		if !r.Balanced() || r.Kept < 1 {
			t.Fatalf("counts do not add up: %+v", r)
		}
		var c collector
		if err := l.Write(&c); err != nil {
			t.Fatal(err)
		}
		if int64(len(c.jobs)) != r.Kept {
			t.Fatalf("%d rows written, %d kept", len(c.jobs), r.Kept)
		}
		for i := 1; i < len(c.jobs); i++ {
			if c.jobs[i].Submit < c.jobs[i-1].Submit {
				t.Fatalf("row %d is out of order", i)
			}
		}
		again(t, l, c.jobs)
	})
}

// again exports the rows and imports the result.
func again(t *testing.T, l *Log, jobs []traces.Job) {
	m, err := l.Meta(l.Report())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	info := traces.Info{Name: "fuzz", Epoch: m.Epoch, EpochKnown: m.EpochKnown, TimeZone: m.TimeZone, MaxProcs: m.MaxProcs, MaxNodes: m.MaxNodes}
	if _, err := Export(&b, info, rowsOf(jobs)); err != nil {
		t.Fatal(err)
	}
	second, err := Scan("again.swf", func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }, traces.BadRows{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.Bytes())
	}
	m2, err := second.Meta(second.Report())
	if err != nil || m2.Epoch != m.Epoch || m2.MaxProcs != m.MaxProcs || m2.TimeZone != m.TimeZone {
		t.Fatalf("metadata %+v became %+v (%v)", m, m2, err)
	}
	var c collector
	if err := second.Write(&c); err != nil || len(c.jobs) != len(jobs) {
		t.Fatalf("%d rows of %d, %v", len(c.jobs), len(jobs), err)
	}
	for i := range jobs {
		if l.dialect != standard {
			c.jobs[i].Extra = jobs[i].Extra // holds fields that SWF has no place for
		}
		if c.jobs[i] != jobs[i] {
			t.Fatalf("row %d: %+v became %+v", i, jobs[i], c.jobs[i])
		}
	}
}
