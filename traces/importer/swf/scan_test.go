package swf

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// collector is a JobWriter that keeps the rows.
type collector struct{ jobs []traces.Job }

func (c *collector) WriteJob(j *traces.Job) error {
	c.jobs = append(c.jobs, *j)
	return nil
}

func opener(text string) Opener {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

// read imports a text.
func read(t *testing.T, text string) (*Log, []traces.Job) {
	t.Helper()
	l, err := Scan("test.swf", opener(text), traces.BadRows{})
	require.NoError(t, err)
	var c collector
	require.NoError(t, l.Write(&c))
	r := l.Report()
	require.True(t, r.Balanced(), "%+v", r)
	require.Len(t, c.jobs, int(r.Kept))
	return l, c.jobs
}

// rules writes counted rules as "name=count ...".
func rules(rs []traces.Rule) string {
	var b strings.Builder
	for _, r := range rs {
		fmt.Fprintf(&b, "%s=%d ", r.Rule, r.Count)
	}
	return strings.TrimSpace(b.String())
}

const s = model.Second

func TestRowOfStandardLine(t *testing.T) {
	_, jobs := read(t, "  15   599850 192180   3477    4  31405.50  1024    5  53940  2048  1  12  13  14 3 2 9 60\n")
	require.Equal(t, traces.Job{
		ID: 15, User: "12", Account: "13", Name: "14", QOS: "3", Partition: "2",
		Submit:         model.Time(599850 * s),
		Start:          traces.Some(model.Time(792030 * s)),
		End:            traces.Some(model.Time(795507 * s)),
		Runtime:        traces.Some(3477 * s),
		Walltime:       traces.Some(53940 * s),
		ProcsAllocated: traces.Some[int32](4),
		ProcsRequested: traces.Some[int32](5),
		ExitState:      "COMPLETED",
		AfterJob:       traces.Some[int64](9),
		ThinkTime:      traces.Some(60 * s),
		Extra:          `{"avg_cpu_s":31405.5,"req_mem_kb":2048,"used_mem_kb":1024}`,
	}, jobs[0])
}

// TestRules has one line for each way a field can be odd: the rule it falls
// under and what is kept.
func TestRules(t *testing.T) {
	var none traces.Opt[model.Duration]
	for name, c := range map[string]struct {
		replace  map[int]string
		dropped  string
		repaired string
		check    func(*testing.T, traces.Job)
	}{
		"job number below zero": {replace: map[int]string{1: "-1"}, dropped: "negative-job-number=1"},
		"no submit time":        {replace: map[int]string{2: "-1"}, dropped: "no-submit-time=1"},
		"negative submit time":  {replace: map[int]string{2: "-0.5"}, dropped: "no-submit-time=1"},
		"negative run time":     {replace: map[int]string{4: "-1359980917"}, dropped: "negative-run-time=1"},
		"no processors":         {replace: map[int]string{5: "-1", 8: "0"}, dropped: "no-processors=1"},
		"first rule counts":     {replace: map[int]string{2: "-1", 5: "-1", 8: "-1"}, dropped: "no-submit-time=1"},
		"no wait": {replace: map[int]string{3: "-1"}, check: func(t *testing.T, j traces.Job) {
			require.False(t, j.Start.OK || j.End.OK)
			require.Equal(t, traces.Some(3477*s), j.Runtime)
		}},
		"wait below -1": {replace: map[int]string{3: "-7"}, repaired: "negative-wait-time=1", check: func(t *testing.T, j traces.Job) {
			require.False(t, j.Start.OK || j.End.OK)
		}},
		"run time zero": {replace: map[int]string{4: "0"}, check: func(t *testing.T, j traces.Job) {
			require.Equal(t, j.Start, j.End)
			require.Equal(t, traces.Some(0*s), j.Runtime)
		}},
		"run beyond request": {replace: map[int]string{9: "10"}, check: func(t *testing.T, j traces.Job) {
			require.Equal(t, traces.Some(3477*s), j.Runtime)
			require.Equal(t, traces.Some(10*s), j.Walltime)
		}},
		"cancelled before it ran": {replace: map[int]string{4: "-1", 11: "5"}, check: func(t *testing.T, j traces.Job) {
			require.Equal(t, traces.Some(model.Time(792030*s)), j.CancelledAt)
			require.Equal(t, none, j.Runtime)
			require.Equal(t, "CANCELLED", j.ExitState)
			require.False(t, j.Start.OK || j.End.OK)
		}},
		"cancelled at an unknown time": {replace: map[int]string{3: "-1", 4: "-1", 11: "5"}, check: func(t *testing.T, j traces.Job) {
			require.False(t, j.CancelledAt.OK)
		}},
		"still running": {replace: map[int]string{4: "-1", 11: "2"}, check: func(t *testing.T, j traces.Job) {
			require.Equal(t, "PARTIAL", j.ExitState)
			require.Equal(t, `{"wait_s":192180}`, j.Extra)
			require.False(t, j.Start.OK || j.CancelledAt.OK)
		}},
		"allocation only": {replace: map[int]string{8: "-1"}, check: func(t *testing.T, j traces.Job) {
			require.Equal(t, traces.Some[int32](4), j.ProcsAllocated)
			require.False(t, j.ProcsRequested.OK)
		}},
		"zero allocated":       {replace: map[int]string{5: "0"}, repaired: "zero-allocated-processors=1"},
		"zero requested":       {replace: map[int]string{8: "0"}, repaired: "zero-requested-processors=1"},
		"negative allocated":   {replace: map[int]string{5: "-4"}, repaired: "negative-value=1"},
		"zero requested time":  {replace: map[int]string{9: "0"}, repaired: "zero-requested-time=1"},
		"negative requests":    {replace: map[int]string{9: "-3600", 10: "-2"}, repaired: "negative-value=1"},
		"memory below zero":    {replace: map[int]string{7: "-0.5"}, repaired: "negative-value=1"},
		"unknown status":       {replace: map[int]string{11: "6"}, repaired: "unknown-status=1"},
		"negative status":      {replace: map[int]string{11: "-3"}, repaired: "unknown-status=1"},
		"queue zero":           {replace: map[int]string{15: "0"}, check: func(t *testing.T, j traces.Job) { require.Equal(t, "0", j.QOS) }},
		"predecessor zero":     {replace: map[int]string{17: "0"}, repaired: "zero-preceding-job=1"},
		"finer than the clock": {replace: map[int]string{4: "3477.0000001"}, repaired: "rounded-to-microsecond=1"},
	} {
		t.Run(name, func(t *testing.T) {
			l, jobs := read(t, line(nil)+"\n"+line(c.replace)+"\n")
			require.Equal(t, c.dropped, rules(l.Report().Dropped))
			require.Equal(t, c.repaired, rules(l.Report().Repaired))
			if c.dropped == "" && c.check != nil {
				c.check(t, jobs[1])
			}
		})
	}
}

// Words in the header count as unknown, and are counted.
func TestHeaderWordsAreCounted(t *testing.T) {
	l, _ := read(t, "; MaxProcs: many\n; MaxNodes: -1\n; UnixStartTime: -7\n; TimeZoneString: ?\n; TimeZoneString: Europe/Oslo\n; Note: words\n"+line(nil))
	require.Equal(t, []traces.Rule{{Rule: "unreadable-header", Count: 3, Example: "line 1: MaxProcs: \"many\""}}, l.Report().Repaired)
	m, err := l.Meta(l.Report())
	require.NoError(t, err)
	require.Equal(t, "Europe/Oslo", m.TimeZone)
	require.Zero(t, m.MaxProcs)
}

func TestExamplesNameTheFirstRow(t *testing.T) {
	l, _ := read(t, "; Version: 2\n"+line(nil)+"\n\n"+line(map[int]string{1: "77", 4: "-5"})+"\n"+line(map[int]string{4: "-6"}))
	require.Equal(t, []traces.Rule{{Rule: "negative-run-time", Count: 2, Example: "line 4: job 77, run time -5"}}, l.Report().Dropped)
}

func TestUnsortedRowsAreSortedStably(t *testing.T) {
	var b strings.Builder
	for i, submit := range []int{50, 10, 50, 7, 10, 60} {
		b.WriteString(line(map[int]string{1: fmt.Sprint(i), 2: fmt.Sprint(submit)}) + "\n")
	}
	l, jobs := read(t, b.String())
	var ids []int64
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	require.Equal(t, []int64{3, 1, 4, 0, 2, 5}, ids)
	require.Equal(t, "sorted=2", rules(l.Report().Repaired))
}

func TestTimeOfLog(t *testing.T) {
	for name, c := range map[string]struct {
		header  string
		submits []string
		epoch   int64
		known   bool
		first   model.Time
	}{
		"relative":                  {"; UnixStartTime: 843480031\n", []string{"599850"}, 843480031, true, model.Time(599850 * s)},
		"no start":                  {"", []string{"5"}, 0, false, model.Time(5 * s)},
		"start zero":                {"; UnixStartTime: 0\n", []string{"5"}, 0, false, model.Time(5 * s)},
		"start unknown":             {"; UnixStartTime: -1\n", []string{"5"}, 0, false, model.Time(5 * s)},
		"absolute":                  {"", []string{"1356996147", "1356996150"}, 1356996147, true, 0},
		"absolute with start":       {"; UnixStartTime: 1672543000\n", []string{"1672543325"}, 1672543000, true, model.Time(325 * s)},
		"absolute before its start": {"; UnixStartTime: 1700000000\n", []string{"1672543325.5"}, 1672543325, true, model.Time(s / 2)},
		"absolute, unsorted":        {"", []string{"1356996150", "1356996147"}, 1356996147, true, 0},
		"one row is early":          {"; UnixStartTime: 99\n", []string{"5", "1356996147"}, 99, true, model.Time(5 * s)},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.header
			for _, submit := range c.submits {
				text += line(map[int]string{2: submit}) + "\n"
			}
			l, jobs := read(t, text)
			m, err := l.Meta(l.Report())
			require.NoError(t, err)
			require.Equal(t, model.Time(c.epoch*int64(s)), m.Epoch)
			require.Equal(t, c.known, m.EpochKnown)
			require.Equal(t, c.first, jobs[0].Submit)
		})
	}
}

func TestHeader(t *testing.T) {
	l, _ := read(t, strings.Join([]string{
		"\xef\xbb\xbf;   --- converted ---",
		"; Version: 2.2",
		";UnixStartTime: 1296571124 (approximately)",
		"; TimeZone: 3600",
		"; TimeZoneString: Europe/Paris",
		"; Note: hybrid nodes are not part of",
		";\tMaxProcs: 77 as this continuation says",
		";   MaxNodes: 88",
		"; MaxNodes: 5544",
		"; MaxNodes: 1",
		"; MaxProcs: unknown",
		"; MaxProcs: 12-ish",
		"; UnixStartTime: 2014-05-22T00:00:00",
		"; MaxProcs: 93312",
		"; Partition:  1  caf\xe9",
		";    #   sub   runtime",
		";",
		line(nil),
	}, "\r\n"))
	m, err := l.Meta(l.Report())
	require.NoError(t, err)
	require.Equal(t, int32(5544), m.MaxNodes)
	require.Equal(t, int32(93312), m.MaxProcs)
	require.Equal(t, "Europe/Paris", m.TimeZone)
	require.Equal(t, model.Time(1296571124*s), m.Epoch)
	require.Contains(t, m.Import, `"; Partition:  1  caf?"`)
	require.True(t, m.Sorted)
}

func TestDialects(t *testing.T) {
	t.Run("theta", func(t *testing.T) {
		l, jobs := read(t, line(nil)+" 0.317\n"+line(nil)+" 00.50\n")
		require.Equal(t, "swf (19 fields, Theta)", l.Report().Format)
		require.Equal(t, `{"carbon_weight":0.317}`, jobs[0].Extra)
		require.Equal(t, `{"carbon_weight":0.5}`, jobs[1].Extra)
	})
	t.Run("alea", func(t *testing.T) {
		l, jobs := read(t, "0 1356996147 0 56011 2 1 1024 2 86400 68719476736 1 62 1 1 -1 1 1 1 {1241,1241} q_1d 1:ppn=2:x86_64#excl\n")
		require.Equal(t, "swf (21 fields, Alea)", l.Report().Format)
		require.Equal(t, `{"alea_memory":"{1241,1241}","alea_placement":"1:ppn=2:x86_64#excl","alea_queue":"q_1d",`+
			`"avg_cpu_s":1,"preceding_job":1,"req_mem_bytes":68719476736,"think_time_s":1,"used_mem_kb":1024}`, jobs[0].Extra)
		require.False(t, jobs[0].AfterJob.OK || jobs[0].ThinkTime.OK)
	})
	t.Run("tabs", func(t *testing.T) {
		_, jobs := read(t, strings.ReplaceAll(line(nil), " ", "\t"))
		require.Equal(t, int64(15), jobs[0].ID)
	})
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct{ text, found string }{
		"empty":               {"", "an empty file"},
		"blank":               {"\n \n\t\n", "an empty file"},
		"header without rows": {"; Version: 2\n; MaxProcs: 4\n", "a header without rows"},
		"all dropped":         {line(map[int]string{2: "-1"}), "1 rows, all dropped; no-submit-time: 1 (first on line 1: job 15, submit time -1)"},
		"NaN":                 {line(nil) + "\n" + line(map[int]string{4: "NaN"}), `line 2, column 4 (run time): found "NaN"`},
		"text":                {line(map[int]string{12: "alice"}), `line 1, column 12 (user): found "alice"`},
		"overflow":            {line(map[int]string{9: "99999999999999999999"}), `column 9 (requested time): found "99999999999999999999"`},
		"processors overflow": {line(map[int]string{5: "4294967296"}), "expected a whole number up to 2147483647"},
		"fraction of a job":   {line(map[int]string{1: "1.5"}), `column 1 (job number): found "1.5"`},
		"cut short":           {line(nil) + "\n" + line(nil)[:20], "line 2: found 4 fields"},
		"17 fields":           {strings.TrimSuffix(line(nil), " -1"), "line 1: found 17 fields"},
		"20 fields":           {line(nil) + " a b", "line 1: found 20 fields"},
		"dialect changes":     {line(nil) + "\n" + line(nil) + " 0.5", "line 2: found 19 fields"},
		"carbon is text":      {line(nil) + " green", "column 19 (carbon weight)"},
		"semicolons":          {"1001;0;-1;15;12;-1;-1;-1;420;-1;-1;user5;account2;-1;normal;normal;;-1;", "fields separated by ';'"},
		"machines":            {"0\tzewura\t20\t80\t1\t529426432\n", "line 1: found 6 fields"},
		"long line":           {line(nil) + "\n" + strings.Repeat("1 ", maxLine), "line 2: found a line longer than 1048576 bytes"},
		"long comment":        {";" + strings.Repeat("x", 2*maxLine), "a line longer than"},
		"long token":          {line(map[int]string{4: strings.Repeat("9", maxLine/2)}), "bytes more"},
		"header overflow":     {"; MaxProcs: 99999999999\n" + line(nil), "line 1, column MaxProcs"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Scan("test.swf", opener(c.text), traces.BadRows{})
			require.Nil(t, l)
			var data *traces.DataError
			require.ErrorAs(t, err, &data)
			require.ErrorContains(t, err, c.found)
			require.Equal(t, "test.swf", data.File)
			require.NotEmpty(t, data.Mend)
			require.Less(t, len(err.Error()), 700)
		})
	}
}

func TestErrorsOfTheReaderPass(t *testing.T) {
	broken := errors.New("the disk is on fire")
	open := func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(line(nil)+"\n"), errReader{broken})), nil
	}
	_, err := Scan("test.swf", open, traces.BadRows{})
	require.ErrorIs(t, err, broken)
	var data *traces.DataError
	require.False(t, errors.As(err, &data), "a device that fails is not bad data")

	_, err = Scan("test.swf", func() (io.ReadCloser, error) { return nil, broken }, traces.BadRows{})
	require.ErrorIs(t, err, broken)
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

// TestFileThatChanges reads a log that loses a row between the two passes.
func TestFileThatChanges(t *testing.T) {
	texts := []string{line(nil) + "\n" + line(nil), line(nil)}
	l, err := Scan("test.swf", func() (io.ReadCloser, error) {
		text := texts[0]
		texts = texts[1:]
		return io.NopCloser(strings.NewReader(text)), nil
	}, traces.BadRows{})
	require.NoError(t, err)
	require.ErrorContains(t, l.Write(&collector{}), "changes while it is read")
}

func TestSniff(t *testing.T) {
	for text, found := range map[string]string{
		line(nil) + "\n":               "",
		"; Version: 2\n" + line(nil):   "",
		"; a header that does not end": "",
		"":                             "an empty file",
		"PK\x03\x04\x00\x00":           "a binary file (byte 0x03 at offset 2)",
		"id,submit,start,end,procs":    "fields separated by commas",
		"hello world, how are you":     "5 fields",
		"\x00\x00":                     "a binary file",
	} {
		err := Sniff([]byte(text), true)
		if found == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, found)
		}
	}
	require.NoError(t, Sniff([]byte("1 2 3"), false), "a line that may go on is not judged")
}
